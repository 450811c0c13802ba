"""SLIP from Python: libslip through ctypes, by the C interface of slip/slip.h.

    import slip
    slip.split("MODEL", "OUT")                                   # the owner, once
    with slip.David("OUT/david").serve("0.0.0.0:7401", "TLS/david"):  # the machine that is not trusted
        ...
    with slip.LanguageModel.over_tls("OUT", "david.example:7401", "TLS/charlie") as model:
        print(model.complete("Once upon a time", max_tokens=100))

The shared library is found by SLIP_LIBRARY, a path, or else by the system's linker. What fails raises
slip.Error or one of its kinds, with the library's message, or MemoryError. A model computes for one call
at a time: another one raises Busy. Token ids are ints, from 0 to below LanguageModel.vocabulary_size."""

from .c import FUNCTIONS, StrPath, library, load
from .david import David, DavidKeywords, Server
from .errors import BAD_INPUT, BUFFER_TOO_SMALL, BUSY, INTEGRITY_ERROR, INTERNAL_ERROR, INVALID_HANDLE, OK, \
    OUT_OF_MEMORY, OVERLOADED, PROTOCOL_ERROR, STOPPED, BadInput, BufferTooSmall, Busy, Error, \
    IntegrityError, InternalError, InvalidHandle, Overloaded, ProtocolError, Stopped, raise_for
from .handles import Note, OnProgress, OnToken
from .models import CharlieKeywords, ImageClassifier, LanguageModel, SamplingKeywords, SamplingNumbers, \
    Sequence, TextStream, sampling
from .schedulers import Generation, Scheduler, SchedulerKeywords
from .splits import SplitKeywords, split
from .structs import ON_END, ON_PROGRESS, ON_TOKEN, REPORT, CharlieOptions, ChatMessage, DavidOptions, \
    GenerationEnd, GenerationRequest, Options, RunStatistics, SamplingOptions, SchedulerOptions, \
    SchedulerStatistics, SplitOptions, SplitProgress, TokenBias

__version__ = "0.2.0"
__all__ = [
    "BAD_INPUT", "BUFFER_TOO_SMALL", "BUSY", "INTEGRITY_ERROR", "INTERNAL_ERROR", "INVALID_HANDLE", "OK",
    "OUT_OF_MEMORY", "OVERLOADED", "PROTOCOL_ERROR", "STOPPED",
    "FUNCTIONS", "ON_END", "ON_PROGRESS", "ON_TOKEN", "REPORT", "Note", "OnProgress", "OnToken", "StrPath",
    "BadInput", "BufferTooSmall", "Busy", "Error", "IntegrityError", "InternalError", "InvalidHandle",
    "Overloaded", "ProtocolError", "Stopped",
    "CharlieOptions", "ChatMessage", "DavidOptions", "GenerationEnd", "GenerationRequest", "Options",
    "RunStatistics", "SamplingOptions", "SchedulerOptions", "SchedulerStatistics", "SplitOptions",
    "SplitProgress", "TokenBias",
    "CharlieKeywords", "DavidKeywords", "SamplingKeywords", "SamplingNumbers", "SchedulerKeywords",
    "SplitKeywords",
    "David", "Generation", "ImageClassifier", "LanguageModel", "Scheduler", "Sequence", "Server",
    "TextStream", "library", "load", "raise_for", "sampling", "split",
]
