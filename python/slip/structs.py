"""The structs and callbacks of slip/slip.h.

A member of a struct has one hint that says both what Python reads from it and its type in C."""

import ctypes
import operator
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int32, c_size_t, c_uint32, c_uint64, \
    c_void_p
from typing import Annotated, Any, Optional, TypeVar, get_type_hints

ON_TOKEN = ctypes.CFUNCTYPE(c_int, c_void_p, c_int32, POINTER(c_float), c_size_t)
REPORT = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)

Size = Annotated[int, c_size_t]
Int = Annotated[int, c_int]
Flag = Annotated[bool, c_int]
Int32 = Annotated[int, c_int32]
UInt32 = Annotated[int, c_uint32]
UInt64 = Annotated[int, c_uint64]
Double = Annotated[float, c_double]
Text = Annotated[Optional[bytes], c_char_p]
Address = Annotated[Optional[int], c_void_p]

_Struct = TypeVar("_Struct", bound=ctypes.Structure)


class _FlagMember:
    """A member of a struct that is 0 or 1 in C and a bool in Python."""

    def __init__(self, field: Any) -> None:
        self._field = field

    def __get__(self, struct: Optional[ctypes.Structure], owner: Optional[type] = None) -> Any:
        return self._field if struct is None else bool(self._field.__get__(struct, owner))

    def __set__(self, struct: ctypes.Structure, value: bool) -> None:
        self._field.__set__(struct, int(operator.index(value) != 0))


def c_struct(cls: type[_Struct]) -> type[_Struct]:
    """Gives a ctypes.Structure its members: those that it has hints for, after those of its base."""
    hints = get_type_hints(cls, include_extras=True)
    cls._fields_ = [(name, hint.__metadata__[0]) for name, hint in hints.items()]
    for name in [name for name, hint in hints.items() if hint.__origin__ is bool]:
        setattr(cls, name, _FlagMember(getattr(cls, name)))
    return cls


class Options(ctypes.Structure):
    """Base of the structs that begin with their size. Members are given by name; the others stay 0, which
    stands for the library's default. Raises TypeError for a member that does not exist."""
    size: Size

    def __init__(self, **members: Any) -> None:
        unknown = sorted(set(members) - {name for name, _ in self._fields_[1:]})
        if unknown:
            raise TypeError(f"{type(self).__name__} has no member {unknown[0]}")
        super().__init__(size=ctypes.sizeof(self), **members)


@c_struct
class CharlieOptions(Options):
    """How Charlie connects. masks_ready: uniform masks per group to keep ready (of the set "paper", and of
    convolutions), 1 to 65536; 0 is 64. mask_memory: bytes for lattice masks, which the other sets have; 0 is
    a little more than a block of 256 masks per group. A model that does not have such masks is refused with
    either option. timeout_ms: for a connection, a handshake, or a frame that has begun.
    patience_ms: for the next frame to begin. busy_limit_ms: how long a busy David is asked again over TLS;
    0 asks once. seal: path of the key that sealed the artifact's hints. `note` and note_context are set by
    this package."""
    masks_ready: Size
    mask_memory: Size
    timeout_ms: UInt32
    patience_ms: UInt32
    busy_limit_ms: UInt32
    note: Annotated[Any, REPORT]
    note_context: Address
    seal: Text


@c_struct
class RunStatistics(Options):
    """What the runs of a model have cost since it was opened; what does not apply is 0. rounds: messages to
    David, with `columns` in all, bytes_up and bytes_down. checks: replies that passed the integrity check.
    charlie_seconds: processor time of Charlie's online work. round_seconds: that he waited for replies.
    david_seconds: of the products of a David in this process. offline_seconds: processor time for masks, of
    which late_seconds for masks that a message made for itself. mask_wait_seconds: until messages had masks
    that were not ready. *_multiplications: Charlie's and David's online ones, and Charlie's for the masks
    that were used. masks_made, masks_used, masks_waited_for: of all sessions of the model."""
    rounds: UInt64
    columns: UInt64
    bytes_up: UInt64
    bytes_down: UInt64
    checks: UInt64
    charlie_seconds: Double
    round_seconds: Double
    david_seconds: Double
    offline_seconds: Double
    late_seconds: Double
    mask_wait_seconds: Double
    charlie_multiplications: UInt64
    david_multiplications: UInt64
    offline_multiplications: UInt64
    masks_made: UInt64
    masks_used: UInt64
    masks_waited_for: UInt64


@c_struct
class TokenBias(ctypes.Structure):
    """What is added to the logit of one token: its id, and the bias."""
    id: Int32
    bias: Double


@c_struct
class SamplingOptions(Options):
    """How tokens are chosen. max_tokens: new tokens at most; 0 generates nothing. temperature: 0 takes the
    likeliest token; above 0, `seed` seeds the random choices. top_k, top_p, min_p: 0 keeps all tokens;
    otherwise only the top_k likeliest, the fewest likeliest of probability top_p together, or those with at
    least min_p of the likeliest one's probability. repetition_penalty: divides positive logits of tokens
    that the text has already; 0 stands for 1. presence_penalty, frequency_penalty: subtracted from logits
    of generated tokens, once or per occurrence. guesses: 0 to 15 tokens to guess per message; a Scheduler
    has an option of its own for this. sampling() fills logit_bias."""
    max_tokens: Size
    temperature: Double
    seed: UInt64
    top_k: Size
    top_p: Double
    min_p: Double
    repetition_penalty: Double
    presence_penalty: Double
    frequency_penalty: Double
    logit_bias: Annotated[Any, POINTER(TokenBias)]
    logit_bias_count: Size
    guesses: Size


@c_struct
class ChatMessage(ctypes.Structure):
    """One message of a conversation: role 0 (system), 1 (user) or 2 (assistant), and its UTF-8 text, in which
    special tokens are not interpreted."""
    role: Int
    text: Text


@c_struct
class SchedulerOptions(Options):
    """Limits of a Scheduler. live: generations computed together. waiting, waiting_per_tenant: generations
    that are not live yet, in all and of one tenant. prompt_tokens_per_step: tokens of prompts in one step.
    guesses: 0 to 15 tokens that each generation guesses at a time, while a step has at most guess_columns
    columns of answers. kept_prompt_bytes: bytes of keys and values kept for prompts; keeps_no_prompts: True
    keeps none. kept_prompt_tenants: tenants among whom that memory is divided. reopen_limit_ms: how long
    generations wait for a lost David to come back; ends_when_lost: True ends them at once. `note` and
    note_context are set by this package."""
    live: Size
    waiting: Size
    waiting_per_tenant: Size
    prompt_tokens_per_step: Size
    guesses: Size
    guess_columns: Size
    kept_prompt_bytes: Size
    kept_prompt_tenants: Size
    reopen_limit_ms: UInt32
    note: Annotated[Any, REPORT]
    note_context: Address
    keeps_no_prompts: Flag
    ends_when_lost: Flag


@c_struct
class SchedulerStatistics(Options):
    """What a Scheduler has done so far and does now. serving: whether a session is open, or the model needs
    none. damaged: whether Charlie's own files or memory are damaged, so that generations end at once. live:
    generations in the next step. waiting: those that are not live yet. generations: those that have ended.
    prompt_tokens: computed; cached_tokens: of prompts, not computed again. generated_tokens: of all
    generations. sessions: opened, the first among them. rejects: wrong replies. stock_tokens: tokens for
    which every group has masks in stock; full_stock_tokens: the same when the stock is full, 0 if there is
    none."""
    serving: Flag
    damaged: Flag
    live: Size
    waiting: Size
    generations: UInt64
    prompt_tokens: UInt64
    cached_tokens: UInt64
    generated_tokens: UInt64
    sessions: UInt64
    rejects: UInt64
    stock_tokens: Size
    full_stock_tokens: Size

    def __init__(self, **members: Any) -> None:
        super().__init__(**members)
        self._run = RunStatistics()

    @property
    def run(self) -> RunStatistics:
        """The RunStatistics of the scheduler's model, of all sessions together, at the same time."""
        return self._run


@c_struct
class GenerationEnd(ctypes.Structure):
    """How a generation ended: the index of its reason in Generation.REASONS, a status with its message, the
    seconds that it waited, and the counts that Generation.receipt holds."""
    reason: Int
    status: Int
    message: Text
    waited_seconds: Double
    prompt_tokens: UInt64
    cached_tokens: UInt64
    generated_tokens: UInt64
    rounds: UInt64
    checks: UInt64
    bytes_up: UInt64
    bytes_down: UInt64
    repeated_steps: UInt64
    charlie_multiplications: UInt64
    david_multiplications: UInt64


ON_END = ctypes.CFUNCTYPE(None, c_void_p, POINTER(GenerationEnd))


@c_struct
class GenerationRequest(Options):
    """What Scheduler.submit() hands to the library."""
    prompt: Annotated[Any, POINTER(c_int32)]
    prompt_count: Size
    sampling: Annotated[Any, POINTER(SamplingOptions)]
    tenant: Text
    gbnf: Text
    json_schema: Text
    ends: Annotated[Any, POINTER(c_int32)]
    ends_count: Size
    on_token: Annotated[Any, ON_TOKEN]
    on_end: Annotated[Any, ON_END]
    context: Address


@c_struct
class SplitProgress(ctypes.Structure):
    """How far a split is: finished of `matrices` matrices, finished_weights of `weights` entries, and the
    `name` (bytes) of the matrix that was just finished, empty at the start."""
    finished: Size
    matrices: Size
    finished_weights: Size
    weights: Size
    name: Text


ON_PROGRESS = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(SplitProgress))


@c_struct
class SplitOptions(Options):
    """What split() does. set: "hidden", "paper-lattice" or "paper"; by default hidden, and paper-lattice
    with a plan or a rank. plan: path of a plan's JSON file. rank: without a plan, K for every linear layer
    of the blocks; 0 is no plan. threads: 0 is all of the machine's. paper_attention: True for the order of
    the paper's figure. accept_grid: True also splits matrices on a coarse grid. audit: folder to make for
    the owner's copy of a hidden split's integer model. seal: path of a key of 32 random bytes that encrypts
    Charlie's hints. shards: Davids among whom David's half is divided; 0 is one. split() sets the
    callbacks."""
    set: Text
    plan: Text
    rank: Size
    threads: Size
    paper_attention: Flag
    accept_grid: Flag
    audit: Text
    seal: Text
    on_progress: Annotated[Any, ON_PROGRESS]
    note: Annotated[Any, REPORT]
    context: Address
    shards: Size


@c_struct
class DavidOptions(Options):
    """How David computes and serves. threads: that share a product; 0 is all of the machine's. max_sessions:
    of a Server at one time. timeout_ms: for a handshake or a frame that has begun. patience_ms: for the
    peer's next frame to begin. gpu: True multiplies on the first NVIDIA GPU."""
    threads: Size
    max_sessions: Size
    timeout_ms: UInt32
    patience_ms: UInt32
    gpu: Flag
