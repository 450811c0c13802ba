"""The exceptions of this package, and the statuses of slip/slip.h that they stand for."""

from __future__ import annotations


class Error(Exception):
    """Base class of the errors below; raised itself for a status that this package does not know."""


class BadInput(Error):
    """A file or an argument that the caller can correct."""


class ProtocolError(Error):
    """The connection failed, or the peer broke the protocol, refused, or came too late."""


class IntegrityError(Error):
    """A wrong reply was rejected; the process opens no further session with the same peer."""


class InternalError(Error):
    """A defect in the library, or damaged files or memory of Charlie's machine (MASK-10)."""


class InvalidHandle(Error):
    """The object was closed."""


class Busy(Error):
    """Another call uses the model."""


class BufferTooSmall(Error):
    """Raised inside this package alone, which asks again with a larger buffer."""


class Overloaded(Error):
    """Too many generations wait already; the same may be asked again later."""


class Stopped(Error):
    """A callback asked to stop."""


OK, BAD_INPUT, PROTOCOL_ERROR, INTEGRITY_ERROR, INTERNAL_ERROR, OUT_OF_MEMORY, INVALID_HANDLE, BUSY, \
    BUFFER_TOO_SMALL, OVERLOADED, STOPPED = range(11)
_ERRORS: dict[int, type[Exception]] = {
    BAD_INPUT: BadInput, PROTOCOL_ERROR: ProtocolError, INTEGRITY_ERROR: IntegrityError,
    INTERNAL_ERROR: InternalError, OUT_OF_MEMORY: MemoryError, INVALID_HANDLE: InvalidHandle, BUSY: Busy,
    BUFFER_TOO_SMALL: BufferTooSmall, OVERLOADED: Overloaded, STOPPED: Stopped}


def raise_for(status: int, message: str) -> None:
    """Raises the exception that `status` stands for, with the text `message`; returns if it is OK."""
    if status != OK:
        raise _ERRORS.get(status, Error)(message)
