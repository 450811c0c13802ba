"""Splitting a checkpoint."""

from __future__ import annotations

import sys
from ctypes import byref
from typing import Any, TypedDict

from .c import StrPath, call
from .errors import Stopped
from .handles import Callbacks, Note, OnProgress, c_path, c_text
from .structs import SplitOptions

if sys.version_info >= (3, 11):  # an older Python runs the package, but cannot resolve its hints
    from typing import Unpack


class SplitKeywords(TypedDict, total=False):
    """The options of split(): members of SplitOptions."""
    set: str | None
    plan: StrPath | None
    rank: int
    threads: int
    paper_attention: bool
    accept_grid: bool
    audit: StrPath | None
    seal: StrPath | None
    shards: int


def split(model: StrPath, out: StrPath, on_progress: OnProgress | None = None, note: Note | None = None,
          **options: Unpack[SplitKeywords]) -> None:
    """Splits the checkpoint at the path `model`, a Hugging Face folder, a GGUF file or an ONNX file, into
    `out`/charlie and `out`/david; the folder `out` must not exist. on_progress(SplitProgress) is called at
    the start and after every matrix; it returns False to stop, which raises Stopped and leaves nothing
    behind. note(line) gets messages for the user. Other options are the members of SplitOptions: set, plan,
    rank, threads, ..."""
    callbacks = Callbacks()
    members: dict[str, Any] = dict(options)
    members |= {name: c_path(members[name]) for name in {"plan", "audit", "seal"} & members.keys()}
    members |= {name: c_text(members[name]) for name in {"set"} & members.keys()}
    chosen = SplitOptions(on_progress=callbacks.on_progress(on_progress), note=callbacks.report(note),
                          **members)
    try:
        call("split", c_path(model), c_path(out), byref(chosen))
    except Stopped:
        callbacks.check()
        raise
    callbacks.check()
