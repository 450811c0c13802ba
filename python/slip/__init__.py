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

from .c import StrPath
from .david import David, DavidKeywords, Server
from .errors import BadInput, BufferTooSmall, Busy, Error, IntegrityError, InternalError, InvalidHandle, \
    Overloaded, ProtocolError, Stopped
from .handles import Note, OnProgress, OnToken
from .models import CharlieKeywords, ImageClassifier, LanguageModel, SamplingKeywords, SamplingNumbers, \
    Sequence, TextStream, sampling
from .schedulers import Generation, Scheduler, SchedulerKeywords
from .splits import SplitKeywords, split
from .structs import CharlieOptions, ChatMessage, DavidOptions, GenerationEnd, GenerationRequest, Options, \
    RunStatistics, SamplingOptions, SchedulerOptions, SchedulerStatistics, SplitOptions, SplitProgress, \
    TokenBias

__version__ = "0.2.0"
__all__ = [
    "Note", "OnProgress", "OnToken", "StrPath",
    "BadInput", "BufferTooSmall", "Busy", "Error", "IntegrityError", "InternalError", "InvalidHandle",
    "Overloaded", "ProtocolError", "Stopped",
    "CharlieOptions", "ChatMessage", "DavidOptions", "GenerationEnd", "GenerationRequest", "Options",
    "RunStatistics", "SamplingOptions", "SchedulerOptions", "SchedulerStatistics", "SplitOptions",
    "SplitProgress", "TokenBias",
    "CharlieKeywords", "DavidKeywords", "SamplingKeywords", "SamplingNumbers", "SchedulerKeywords",
    "SplitKeywords",
    "David", "Generation", "ImageClassifier", "LanguageModel", "Scheduler", "Sequence", "Server",
    "TextStream", "sampling", "split",
]
