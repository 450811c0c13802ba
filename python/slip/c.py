"""The functions of slip/slip.h, and where the library is found."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from ctypes import c_char_p, c_int, c_int32, c_size_t, c_uint64, c_void_p
from typing import Any, Union

from .errors import OK, BadInput, raise_for
from .structs import ON_TOKEN, REPORT

StrPath = Union[str, os.PathLike[str]]

_P, _BOTH = c_void_p, [c_void_p, c_void_p]
_GENERATE = [_P, _P, c_size_t, _P, ON_TOKEN, _P, _P, _P]
FUNCTIONS: dict[str, list[Any]] = {
    "open_checkpoint": [c_char_p, *_BOTH], "open_unsplit": [c_char_p, c_char_p, *_BOTH],
    "open_charlie_tls": [c_char_p, c_char_p, c_char_p, _P, *_BOTH],
    "open_charlie_fd": [c_char_p, c_int, c_int, _P, *_BOTH],
    "open_charlie_in_process": [c_char_p, _P, *_BOTH],
    "free_language_model": [_P], "free_image_classifier": [_P],
    "get_language_statistics": [_P, _P], "get_image_statistics": [_P, _P],
    "vocabulary_size": [_P, _P], "max_positions": [_P, _P],
    "encode_prompt": [_P, c_char_p, c_size_t, _P, c_size_t, _P],
    "encode": [_P, c_char_p, c_size_t, _P, c_size_t, _P],
    "decode": [_P, _P, c_size_t, _P, c_size_t, _P, c_size_t, _P],
    "generate": _GENERATE, "forward": [_P, _P, c_size_t, _P],
    "image_size": [_P, _P], "class_count": [_P, _P], "classify": [_P, _P, c_size_t, _P],
    "open_sequence": [_P, _P], "generate_in_sequence": _GENERATE, "free_sequence": [_P],
    "open_text_stream": [_P, _P, c_size_t, _P, c_size_t, _P], "push_token": [_P, c_int32, _P, _P, _P],
    "finish_text": [_P, _P, _P], "free_text_stream": [_P],
    "encode_chat": [_P, c_char_p, _P, c_size_t, _P, c_size_t, _P, _P],
    "open_scheduler": [_P, _P, _P], "free_scheduler": [_P], "submit": [_P, _P, _P],
    "cancel": [_P, c_uint64], "drain": [_P], "get_scheduler_statistics": [_P, _P, _P],
    "split": [c_char_p, c_char_p, _P],
    "open_david": [c_char_p, _P, _P], "free_david": [_P], "serve_fd": [_P, c_int, c_int],
    "open_server": [_P, c_char_p, c_char_p, REPORT, _P, _P], "server_port": [_P, _P],
    "run_server": [_P], "reload_server": [_P], "stop_server": [_P], "free_server": [_P],
}


def load(path: StrPath) -> ctypes.CDLL:
    """The shared library at `path` (a ctypes.CDLL), with the types of its functions. Raises OSError if it
    cannot be loaded."""
    library = ctypes.CDLL(str(path))
    for name, types in FUNCTIONS.items():
        function = getattr(library, f"slip_{name}")
        function.argtypes, function.restype = types, c_int
    for name in ("last_error", "library_version"):
        getattr(library, f"slip_{name}").restype = c_char_p
    return library


_loaded: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """libslip (a ctypes.CDLL), loaded when it is first needed. Raises BadInput if it is not found."""
    global _loaded
    if _loaded is None:
        path = os.environ.get("SLIP_LIBRARY") or ctypes.util.find_library("slip")
        if path is None:
            raise BadInput("libslip.so is not installed where the linker looks: expected its path in "
                           "SLIP_LIBRARY")
        _loaded = load(path)
    return _loaded


def message_of(line: bytes | None) -> str:
    """A message of the library's, which may name a path or a file that is not Unicode."""
    return (line or b"").decode(errors="backslashreplace")


def call(name: str, *arguments: Any) -> None:
    """Calls slip_`name`. Raises what its status stands for, with the library's message."""
    status = getattr(library(), f"slip_{name}")(*arguments)
    raise_for(status, message_of(library().slip_last_error()) if status != OK else "")
