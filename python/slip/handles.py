"""What Python has and C does not: texts and lists, callbacks that raise, and objects behind handles."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_float, c_int32, c_size_t, c_void_p
from functools import partial
from typing import Any, ClassVar

from .c import StrPath, call, library, message_of
from .errors import BadInput, BufferTooSmall
from .structs import ON_PROGRESS, ON_TOKEN, REPORT, SplitProgress

if sys.version_info >= (3, 11):  # an older Python runs the package, but cannot resolve its hints
    from typing import Self

Note = Callable[[str], object]
OnProgress = Callable[[SplitProgress], object]
OnToken = Callable[[int, ctypes.Array[c_float]], object]


def utf8(text: str) -> bytes:
    """Raises BadInput for a text that is not Unicode."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadInput(f"{text!r}: expected a text of Unicode") from None


def c_text(text: str | None) -> bytes | None:
    """A text for C; None stays NULL. Raises BadInput for one that is not Unicode, and for a NUL, where C
    would end it."""
    return None if text is None else without_nul(utf8(text), text)


def c_path(path: StrPath | None) -> bytes | None:
    """A path for C, of any bytes but NUL; None stays NULL. Raises BadInput for a NUL, and for what no path
    can be."""
    try:
        return None if path is None else without_nul(os.fsencode(path), path)
    except UnicodeEncodeError:
        raise BadInput(f"{path!r}: expected a path") from None


def without_nul(text: bytes, value: StrPath) -> bytes:
    if b"\0" in text:
        raise BadInput(f"{value!r}: expected a text without NUL")
    return text


def c_ids(ids: Sequence[int]) -> ctypes.Array[c_int32]:
    """Token ids for C."""
    return (c_int32 * len(ids))(*ids)


def with_buffer(element: Any, capacity: int, ask: Callable[..., None]) -> Any:
    """What ask(buffer, capacity, count) gives, with a buffer that is large enough: bytes for c_char, a list
    for other elements."""
    count = c_size_t()
    while True:
        buffer = (element * capacity)()
        try:
            ask(buffer, capacity, byref(count))
            return buffer[:count.value]
        except BufferTooSmall:
            capacity = count.value + 1


class Callbacks:
    """The caller's functions, called from C. If one raises, the call stops and raises the same."""
    raised: BaseException | None

    def __init__(self) -> None:
        self.raised = None

    def guard(self, function: Callable[..., object], otherwise: object, *arguments: Any) -> object:
        """What function(*arguments) returns; `otherwise` if it raises."""
        try:
            return function(*arguments)
        except BaseException as error:  # also KeyboardInterrupt: C cannot pass it on
            self.raised = self.raised or error
            return otherwise

    def on_token(self, function: OnToken | None) -> Any:
        """The C callback for a Python function on_token(id, logits), which returns False to stop. `logits`
        is a view of the library's memory, one float per token of the vocabulary, valid during the call:
        copy what you keep."""
        if function is None:
            return ON_TOKEN(0)
        guarded = partial(self.guard, function, False)

        def see(_: int | None, token: int, logits: Any, width: int) -> int:
            row = ctypes.cast(logits, POINTER(c_float * width)).contents
            return int(guarded(token, row) is not False)
        return ON_TOKEN(see)

    def on_progress(self, function: OnProgress | None) -> Any:
        """The C callback for a Python function on_progress(SplitProgress), which returns False to stop."""
        if function is None:
            return ON_PROGRESS(0)
        guarded = partial(self.guard, function, False)
        return ON_PROGRESS(lambda _, told: int(guarded(told.contents) is not False))

    def report(self, function: Note | None) -> Any:
        """The C callback for a Python function note(line)."""
        if function is None:
            return REPORT(0)
        guarded = partial(self.guard, function, None)
        return REPORT(lambda _, line: guarded(message_of(line)))

    def check(self) -> None:
        """Raises what one of the functions has raised."""
        if self.raised is not None:
            raise self.raised


class Object:
    """What is behind a handle, until close()."""
    _free: ClassVar[str]
    _handle: c_void_p

    def __init__(self, handle: c_void_p) -> None:
        self._handle = handle

    def close(self) -> None:
        """Frees the object. Every later call with it raises InvalidHandle; a second close() does nothing."""
        handle, self._handle = self._handle, c_void_p()
        if handle:
            call(self._free, handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            getattr(library(), f"slip_{self._free}")(self._handle)

    def _size(self, name: str) -> int:
        count = c_size_t()
        call(name, self._handle, byref(count))
        return count.value


def opened(name: str, *arguments: Any) -> c_void_p:
    """The handle that slip_`name` opens."""
    handle = c_void_p()
    call(name, *arguments, byref(handle))
    return handle
