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

import ctypes
import ctypes.util
import os
import threading
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int, c_int32, c_size_t, c_uint16, \
    c_uint32, c_uint64, c_void_p

__version__ = "0.1.0"


# --- errors --------------------------------------------------------------------------------------

class Error(Exception):
    """Base class of the errors below; raised itself for a status that this module does not know."""


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
    """Raised inside this module alone, which asks again with a larger buffer."""


class Overloaded(Error):
    """Too many generations wait already; the same may be asked again later."""


class Stopped(Error):
    """A callback asked to stop."""


OK, BAD_INPUT, PROTOCOL_ERROR, INTEGRITY_ERROR, INTERNAL_ERROR, OUT_OF_MEMORY, INVALID_HANDLE, BUSY, \
    BUFFER_TOO_SMALL, OVERLOADED, STOPPED = range(11)
_ERRORS = {BAD_INPUT: BadInput, PROTOCOL_ERROR: ProtocolError, INTEGRITY_ERROR: IntegrityError,
           INTERNAL_ERROR: InternalError, OUT_OF_MEMORY: MemoryError, INVALID_HANDLE: InvalidHandle,
           BUSY: Busy, BUFFER_TOO_SMALL: BufferTooSmall, OVERLOADED: Overloaded, STOPPED: Stopped}

# --- slip/slip.h ---------------------------------------------------------------------------------

ON_TOKEN = ctypes.CFUNCTYPE(c_int, c_void_p, c_int32, POINTER(c_float), c_size_t)
REPORT = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class Options(ctypes.Structure):
    """Base of the structs that begin with their size. Members are given by name; the others stay 0, which
    stands for the library's default. Raises TypeError for a member that does not exist."""

    def __init__(self, **members):
        unknown = sorted(set(members) - {name for name, _ in self._fields_[1:]})
        if unknown:
            raise TypeError(f"{type(self).__name__} has no member {unknown[0]}")
        super().__init__(size=ctypes.sizeof(self), **members)


class CharlieOptions(Options):
    """How Charlie connects. masks_ready: uniform masks per group to keep ready (of the set "paper", and of
    convolutions); fewer than 64 count as 64. mask_memory: bytes for lattice masks, which the other sets
    have; 0 is a little more than a block of 256 masks per group. A model that does not have such masks is
    refused with either option. timeout_ms: for a connection, a handshake, or a frame that has begun.
    patience_ms: for the next frame to begin. busy_limit_ms: how long a busy David is asked again over TLS;
    0 asks once. seal: path of the key that sealed the artifact's hints. `note` and note_context are set by
    this module."""
    _fields_ = [("size", c_size_t), ("masks_ready", c_size_t), ("mask_memory", c_size_t),
                ("timeout_ms", c_uint32), ("patience_ms", c_uint32), ("busy_limit_ms", c_uint32),
                ("note", REPORT), ("note_context", c_void_p), ("seal", c_char_p)]


class RunStatistics(Options):
    """What the runs of a model have cost since it was opened; what does not apply is 0. rounds: messages to
    David, with `columns` in all, bytes_up and bytes_down. checks: replies that passed the integrity check.
    charlie_seconds: processor time of Charlie's online work. round_seconds: that he waited for replies.
    david_seconds: of the products of a David in this process. offline_seconds: processor time for masks, of
    which late_seconds for masks that a message made for itself. mask_wait_seconds: until messages had masks
    that were not ready. *_multiplications: Charlie's and David's online ones, and Charlie's for the masks
    that were used. masks_made, masks_used, masks_waited_for: of all sessions of the model."""
    _fields_ = [("size", c_size_t), ("rounds", c_uint64), ("columns", c_uint64), ("bytes_up", c_uint64),
                ("bytes_down", c_uint64), ("checks", c_uint64), ("charlie_seconds", c_double),
                ("round_seconds", c_double), ("david_seconds", c_double), ("offline_seconds", c_double),
                ("late_seconds", c_double), ("mask_wait_seconds", c_double),
                ("charlie_multiplications", c_uint64), ("david_multiplications", c_uint64),
                ("offline_multiplications", c_uint64), ("masks_made", c_uint64), ("masks_used", c_uint64),
                ("masks_waited_for", c_uint64)]


class TokenBias(ctypes.Structure):
    """What is added to the logit of one token: its id, and the bias."""
    _fields_ = [("id", c_int32), ("bias", c_double)]


class SamplingOptions(Options):
    """How tokens are chosen. max_tokens: new tokens at most. temperature: 0 takes the likeliest token; above
    0, `seed` seeds the random choices. top_k, top_p, min_p: 0 keeps all tokens; otherwise only the top_k
    likeliest, the fewest likeliest of probability top_p together, or those with at least min_p of the
    likeliest one's probability. repetition_penalty: divides positive logits of tokens that the text has
    already; 0 stands for 1. presence_penalty, frequency_penalty: subtracted from logits of generated
    tokens, once or per occurrence. guesses: 0 to 15 tokens to guess per message; a Scheduler has an
    option of its own for this. sampling() fills logit_bias."""
    _fields_ = [("size", c_size_t), ("max_tokens", c_size_t), ("temperature", c_double),
                ("seed", c_uint64), ("top_k", c_size_t), ("top_p", c_double), ("min_p", c_double),
                ("repetition_penalty", c_double), ("presence_penalty", c_double),
                ("frequency_penalty", c_double), ("logit_bias", POINTER(TokenBias)),
                ("logit_bias_count", c_size_t), ("guesses", c_size_t)]


class ChatMessage(ctypes.Structure):
    """One message of a conversation: role 0 (system), 1 (user) or 2 (assistant), and its UTF-8 text."""
    _fields_ = [("role", c_int), ("text", c_char_p)]


class SchedulerOptions(Options):
    """Limits of a Scheduler. live: generations computed together. waiting, waiting_per_tenant: generations
    that may wait, in all and of one tenant. prompt_tokens_per_step: tokens of prompts in one step.
    guesses: 0 to 15 tokens that each generation guesses at a time, while a step has at most guess_columns
    columns of answers. kept_prompt_bytes: bytes of keys and values kept for prompts; 1 keeps none.
    kept_prompt_tenants: tenants among whom that memory is divided. reopen_limit_ms: how long a lost David
    is called again. `note` and note_context are set by this module."""
    _fields_ = [("size", c_size_t), ("live", c_size_t), ("waiting", c_size_t),
                ("waiting_per_tenant", c_size_t), ("prompt_tokens_per_step", c_size_t),
                ("guesses", c_size_t), ("guess_columns", c_size_t),
                ("kept_prompt_bytes", c_size_t), ("kept_prompt_tenants", c_size_t),
                ("reopen_limit_ms", c_uint32), ("note", REPORT), ("note_context", c_void_p)]


class GenerationEnd(ctypes.Structure):
    """How a generation ended: the index of its reason in Generation.REASONS, a status with its message, the
    seconds that it waited, and the counts that Generation.receipt holds."""
    _fields_ = [("reason", c_int), ("status", c_int), ("message", c_char_p), ("waited_seconds", c_double),
                ("prompt_tokens", c_uint64), ("cached_tokens", c_uint64), ("generated_tokens", c_uint64),
                ("rounds", c_uint64), ("checks", c_uint64), ("bytes_up", c_uint64),
                ("bytes_down", c_uint64), ("repeated_steps", c_uint64)]


ON_END = ctypes.CFUNCTYPE(None, c_void_p, POINTER(GenerationEnd))


class GenerationRequest(Options):
    """What Scheduler.submit() hands to the library."""
    _fields_ = [("size", c_size_t), ("prompt", POINTER(c_int32)), ("prompt_count", c_size_t),
                ("sampling", POINTER(SamplingOptions)), ("tenant", c_char_p), ("gbnf", c_char_p),
                ("json_schema", c_char_p), ("ends", POINTER(c_int32)), ("ends_count", c_size_t),
                ("on_token", ON_TOKEN), ("on_end", ON_END), ("context", c_void_p)]


class SplitProgress(ctypes.Structure):
    """How far a split is: finished of `matrices` matrices, finished_weights of `weights` entries, and the
    `name` (bytes) of the matrix that was just finished, empty at the start."""
    _fields_ = [("finished", c_size_t), ("matrices", c_size_t), ("finished_weights", c_size_t),
                ("weights", c_size_t), ("name", c_char_p)]


ON_PROGRESS = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(SplitProgress))


class SplitOptions(Options):
    """What split() does. set: "hidden", "paper-lattice" or "paper"; by default hidden, and paper-lattice
    with a plan or a rank. plan: path of a plan's JSON file. rank: without a plan, K for every linear layer
    of the blocks; 0 is no plan. threads: 0 is all of the machine's. paper_attention: 1 for the order of the
    paper's figure. accept_grid: 1 also splits matrices on a coarse grid. audit: folder to make for the
    owner's copy of a hidden split's integer model. seal: path of a key of 32 random bytes that encrypts
    Charlie's hints. shards: Davids among whom David's half is divided; 0 is one. split() sets the
    callbacks."""
    _fields_ = [("size", c_size_t), ("set", c_char_p), ("plan", c_char_p), ("rank", c_size_t),
                ("threads", c_size_t), ("paper_attention", c_int), ("accept_grid", c_int),
                ("audit", c_char_p), ("seal", c_char_p), ("on_progress", ON_PROGRESS), ("note", REPORT),
                ("context", c_void_p), ("shards", c_size_t)]


class DavidOptions(Options):
    """How David computes and serves. threads: that share a product; 0 is all of the machine's. max_sessions:
    of a Server at one time. timeout_ms: for a handshake or a frame that has begun. patience_ms: for the
    peer's next frame to begin. gpu: 1 multiplies on the first NVIDIA GPU."""
    _fields_ = [("size", c_size_t), ("threads", c_size_t), ("max_sessions", c_size_t),
                ("timeout_ms", c_uint32), ("patience_ms", c_uint32), ("gpu", c_int)]


_P, _BOTH = c_void_p, [c_void_p, c_void_p]
_GENERATE = [_P, _P, c_size_t, _P, ON_TOKEN, _P, _P, _P]
FUNCTIONS = {
    "open_checkpoint": [c_char_p, *_BOTH], "open_unsplit": [c_char_p, c_char_p, *_BOTH],
    "open_charlie_tls": [c_char_p, c_char_p, c_char_p, _P, *_BOTH],
    "open_charlie_fd": [c_char_p, c_int, c_int, _P, *_BOTH],
    "open_charlie_in_process": [c_char_p, _P, *_BOTH],
    "free_language_model": [_P], "free_image_classifier": [_P],
    "language_statistics": [_P, _P], "image_statistics": [_P, _P],
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
    "cancel": [_P, c_uint64], "drain": [_P],
    "split": [c_char_p, c_char_p, _P],
    "open_david": [c_char_p, _P, _P], "free_david": [_P], "serve_fd": [_P, c_int, c_int],
    "open_server": [_P, c_char_p, c_char_p, REPORT, _P, _P], "server_port": [_P, _P],
    "run_server": [_P], "stop_server": [_P], "free_server": [_P],
}


def load(path):
    """The shared library at `path` (a ctypes.CDLL), with the types of its functions. Raises OSError if it
    cannot be loaded."""
    library = ctypes.CDLL(str(path))
    for name, types in FUNCTIONS.items():
        function = getattr(library, f"slip_{name}")
        function.argtypes, function.restype = types, c_int
    for name in ("last_error", "library_version"):
        getattr(library, f"slip_{name}").restype = c_char_p
    return library


_loaded = None


def library():
    """libslip (a ctypes.CDLL), loaded when it is first needed. Raises BadInput if it is not found."""
    global _loaded
    if _loaded is None:
        path = os.environ.get("SLIP_LIBRARY") or ctypes.util.find_library("slip")
        if path is None:
            raise BadInput("libslip.so is not installed where the linker looks: expected its path in "
                           "SLIP_LIBRARY")
        _loaded = load(path)
    return _loaded


def raise_for(status, message):
    """Raises the exception that `status` stands for, with the text `message`; returns if it is OK."""
    if status != OK:
        raise _ERRORS.get(status, Error)(message)


def _call(name, *arguments):
    status = getattr(library(), f"slip_{name}")(*arguments)
    raise_for(status, library().slip_last_error().decode() if status != OK else "")


# --- what Python has and C does not --------------------------------------------------------------

def _text(value):
    """A path or a text for C; None stays NULL."""
    return None if value is None else os.fspath(value).encode()


def _ids(ids):
    return (c_int32 * len(ids))(*ids)


def _with_buffer(element, capacity, ask):
    """The elements that ask(buffer, capacity, count) gives, with a buffer that is large enough."""
    count = c_size_t()
    while True:
        buffer = (element * capacity)()
        try:
            ask(buffer, capacity, byref(count))
            return buffer[:count.value]
        except BufferTooSmall:
            capacity = count.value + 1


class _Callbacks:
    """The caller's functions, called from C. If one raises, the call stops and raises the same."""

    def __init__(self):
        self.raised = None

    def guard(self, function, otherwise, *arguments):
        """What function(*arguments) returns; `otherwise` if it raises."""
        try:
            return function(*arguments)
        except BaseException as error:  # also KeyboardInterrupt: C cannot pass it on
            self.raised = self.raised or error
            return otherwise

    def on_token(self, function):
        """The C callback for a Python function on_token(id, logits), which returns False to stop. `logits`
        is a view of the library's memory, one float per token of the vocabulary, valid during the call:
        copy what you keep."""
        if function is None:
            return ON_TOKEN()

        def see(_, token, logits, width):
            row = ctypes.cast(logits, POINTER(c_float * width)).contents
            return int(self.guard(function, False, token, row) is not False)
        return ON_TOKEN(see)

    def report(self, function):
        if function is None:
            return REPORT()
        return REPORT(lambda _, line: self.guard(function, None, line.decode()))

    def check(self):
        if self.raised is not None:
            raise self.raised


class _Object:
    """What is behind a handle, until close()."""
    _free = None

    def __init__(self, handle):
        self._handle = handle

    def close(self):
        """Frees the object. Every later call with it raises InvalidHandle; a second close() does nothing."""
        handle, self._handle = self._handle, c_void_p()
        if handle:
            _call(self._free, handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            getattr(library(), f"slip_{self._free}")(self._handle)

    def _size(self, name):
        count = c_size_t()
        _call(name, self._handle, byref(count))
        return count.value


def _opened(name, *arguments):
    handle = c_void_p()
    _call(name, *arguments, byref(handle))
    return handle


def sampling(max_tokens, logit_bias=None, **options):
    """SamplingOptions. `logit_bias`: a dict from token id to what is added to its logit. Other options:
    temperature, seed, top_k, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty,
    guesses."""
    chosen = SamplingOptions(max_tokens=max_tokens, **options)
    if logit_bias:
        chosen.logit_bias = (TokenBias * len(logit_bias))(*logit_bias.items())
        chosen.logit_bias_count = len(logit_bias)
    return chosen


def _generate(name, handle, prompt, max_tokens, on_token, options):
    chosen, callbacks = sampling(max_tokens, **options), _Callbacks()
    ids, count = (c_int32 * max_tokens)(), c_size_t()
    _call(name, handle, _ids(prompt), len(prompt), byref(chosen), callbacks.on_token(on_token), None, ids,
          byref(count))
    callbacks.check()
    return ids[:count.value]


class _Model(_Object):
    """The ways to open a model. Each raises BadInput for files that are missing, damaged or of the other
    kind of model, and keeps the functions that C calls later."""
    _kind = None

    def __init__(self, handle, callbacks=None):
        super().__init__(handle)
        self._kept = callbacks

    @classmethod
    def _open(cls, name, *arguments, kept=None):
        handle = c_void_p()
        places = (byref(handle), None) if cls._kind == "language" else (None, byref(handle))
        _call(f"open_{name}", *arguments, *places)
        return cls(handle, kept)

    def statistics(self):
        """The RunStatistics of this model. Raises Busy while another call computes with it, and for a model
        that runs in a scheduler."""
        statistics = RunStatistics()
        _call(f"{'language' if self._kind == 'language' else 'image'}_statistics", self._handle,
              byref(statistics))
        return statistics

    @classmethod
    def checkpoint(cls, path):
        """The checkpoint at `path`, computed in float32, without a protocol."""
        return cls._open("checkpoint", _text(path))

    @classmethod
    def unsplit(cls, artifact, audit=None):
        """The integer model of a split, without a protocol. `artifact`: what split() wrote. `audit`: for a
        hidden split, the folder that its option `audit` made."""
        return cls._open("unsplit", _text(artifact), _text(audit))

    @classmethod
    def over_tls(cls, artifact, endpoint, certificates, note=None, **options):
        """Over the protocol, with the David at "HOST:PORT"; for a split in shards, with one David at each
        of "HOST:PORT,HOST:PORT,...". `artifact`: what split() wrote. `certificates`: the folder
        TLS/charlie. note(line) gets messages for the user. Options are the members of CharlieOptions.
        Raises ProtocolError if David cannot be reached, refuses, or has sent this process a wrong reply."""
        kept, chosen = cls._options(note, options)
        return cls._open("charlie_tls", _text(artifact), _text(endpoint), _text(certificates), byref(chosen),
                         kept=kept)

    @classmethod
    def over_socket(cls, artifact, connection, note=None, **options):
        """As over_tls(), over the connected socket `connection`, which belongs to the model from now on, and
        is closed also if this fails."""
        kept, chosen = cls._options(note, options)
        end = connection.detach()
        return cls._open("charlie_fd", _text(artifact), end, end, byref(chosen), kept=kept)

    @classmethod
    def in_process(cls, artifact, note=None, **options):
        """As over_tls(), with a David in this process: it protects nothing."""
        kept, chosen = cls._options(note, options)
        return cls._open("charlie_in_process", _text(artifact), byref(chosen), kept=kept)

    @staticmethod
    def _options(note, options):
        report = _Callbacks().report(note)
        if "seal" in options:
            options = options | {"seal": _text(options["seal"])}
        return report, CharlieOptions(note=report, **options)


class LanguageModel(_Model):
    """A model of texts: text and token ids in; text, token ids and logits out. Opened by the class methods
    checkpoint(), unsplit(), over_tls(), over_socket() and in_process(). Over the protocol, what computes
    raises IntegrityError for a wrong reply, and ProtocolError if the connection is lost."""
    _free, _kind = "free_language_model", "language"

    @property
    def vocabulary_size(self):
        """How many token ids there are: the length of a row of logits."""
        return self._size("vocabulary_size")

    @property
    def max_positions(self):
        """The longest sequence, in tokens."""
        return self._size("max_positions")

    def encode(self, text, prompt=True):
        """The token ids of `text`, a list of ints. With prompt=True they begin with BOS if the model's
        prompts do; with prompt=False they never do. Raises BadInput for a model without a tokenizer."""
        data = text.encode()
        name = "encode_prompt" if prompt else "encode"
        return _with_buffer(c_int32, len(data) + 8, lambda *room: _call(
            name, self._handle, data, len(data), *room))

    def decode(self, ids, prompt=()):
        """The text that the token ids `ids` add to the text of the token ids `prompt`."""
        text = _with_buffer(ctypes.c_char, 16 * len(ids) + 64, lambda *room: _call(
            "decode", self._handle, _ids(prompt), len(prompt), _ids(ids), len(ids), *room))
        return text.decode(errors="replace")

    def encode_chat(self, messages, format=None):
        """A pair for a conversation: the list of token ids up to where the assistant's next answer begins,
        and the token id that ends an answer. `messages`: a list of {"role": ROLE, "content": TEXT}, where
        ROLE is "system", "user" or "assistant". `format`: "chatml", "llama3", ...; None for the one that
        the model's template shows. Raises BadInput for another role or format."""
        roles = {"system": 0, "user": 1, "assistant": 2}
        unknown = [m["role"] for m in messages if m["role"] not in roles]
        if unknown:
            raise BadInput(f"role {unknown[0]!r} of a message: expected one of {', '.join(roles)}")
        spoken = (ChatMessage * len(messages))(*[(roles[m["role"]], m["content"].encode())
                                                 for m in messages])
        end = c_int32()
        ids = _with_buffer(c_int32, 1024, lambda *room: _call(
            "encode_chat", self._handle, _text(format), spoken, len(messages), *room, byref(end)))
        return ids, end.value

    def generate(self, prompt, max_tokens, on_token=None, **options):
        """The new token ids after the token ids `prompt`: a list of at most `max_tokens`, shorter if the
        model chooses EOS, which is not in it. on_token(id, logits) sees each, and returns False to stop;
        `logits` has vocabulary_size floats, valid during the call. Raises BadInput for an empty prompt,
        an id outside the vocabulary, or more than max_positions tokens in all. Options are those
        of sampling()."""
        return _generate("generate", self._handle, prompt, max_tokens, on_token, options)

    def complete(self, text, max_tokens, stop=(), on_text=None, **options):
        """The text that follows `text`: at most `max_tokens` tokens, up to the first occurrence of one of
        the texts `stop`. on_text(piece) gets it piece by piece. Options are those of sampling()."""
        prompt, pieces = self.encode(text), []

        def take(piece):
            if piece:
                pieces.append(piece)
                if on_text is not None:
                    on_text(piece)

        with TextStream(self, prompt, stop) as stream:
            def see(token, _):
                take(stream.push(token))
                return not stream.stopped
            self.generate(prompt, max_tokens, see, **options)
            take(stream.finish())
        return "".join(pieces)

    def forward(self, ids):
        """The logits at every position: a list with a row of vocabulary_size floats for each of `ids`."""
        width = self.vocabulary_size
        logits = (c_float * (len(ids) * width))()
        _call("forward", self._handle, _ids(ids), len(ids), logits)
        return [logits[i:i + width] for i in range(0, len(logits), width)]


class TextStream(_Object):
    """The text of one generation after the token ids `prompt`, in whole characters, up to the first
    occurrence of one of the texts `stops`. `stopped` tells whether one has come."""
    _free = "free_text_stream"

    def __init__(self, model, prompt, stops=()):
        texts = (c_char_p * len(stops))(*[stop.encode() for stop in stops])
        super().__init__(_opened("open_text_stream", model._handle, _ids(prompt), len(prompt), texts,
                                 len(stops)))
        self.stopped = False

    def push(self, token):
        """The text that the token id `token` completes; often empty."""
        text, count, stopped = c_void_p(), c_size_t(), c_int()
        _call("push_token", self._handle, token, byref(text), byref(count), byref(stopped))
        self.stopped = bool(stopped.value)
        return ctypes.string_at(text, count.value).decode()

    def finish(self):
        """The text that is left at the end of the generation."""
        text, count = c_void_p(), c_size_t()
        _call("finish_text", self._handle, byref(text), byref(count))
        return ctypes.string_at(text, count.value).decode()


class Sequence(_Object):
    """A conversation with a LanguageModel: each generation goes on where the last one ended, and computes
    only what its prompt adds."""
    _free = "free_sequence"

    def __init__(self, model):
        super().__init__(_opened("open_sequence", model._handle))

    def generate(self, prompt, max_tokens, on_token=None, **options):
        """As LanguageModel.generate(). `prompt` is the whole text so far, not only what is new."""
        return _generate("generate_in_sequence", self._handle, prompt, max_tokens, on_token, options)


class Generation:
    """A generation that Scheduler.submit() began.

    id: the scheduler's number for it. ids: the new token ids so far. After the end, reason: one of
    REASONS; receipt: a dict of waited_seconds and counts, such as prompt_tokens, rounds, checks and
    bytes_up. Before the end, reason is None and receipt is empty."""
    REASONS = ["end_of_text", "length", "stopped", "cancelled", "failed"]

    def __init__(self):
        self.id, self.ids, self.reason, self.receipt = None, [], None, {}
        self._error, self._ended = None, threading.Event()

    def result(self, timeout=None):
        """Waits for the end and returns the new token ids, a list. Raises what the generation failed with or
        what its on_token raised, and TimeoutError after `timeout` seconds (None: waits for ever)."""
        if not self._ended.wait(timeout):
            raise TimeoutError(f"the generation has not ended after {timeout} s")
        if self._error is not None:
            raise self._error
        return self.ids

    def _end(self, end, raised):
        self.reason = self.REASONS[end.reason]
        self.receipt = {name: getattr(end, name) for name, _ in end._fields_[3:]}
        try:
            raise_for(end.status, end.message.decode())
            self._error = raised
        except (Error, MemoryError) as error:
            self._error = error
        self._ended.set()


class Scheduler(_Object):
    """Many generations of one LanguageModel at once. It takes the model over: encode(), decode() and sizes
    still work, computing raises Busy. Options are the members of SchedulerOptions; note(line) gets messages
    for the user. close() cancels what is live or waiting."""
    _free = "free_scheduler"

    def __init__(self, model, note=None, **options):
        self._model, self._report = model, _Callbacks().report(note)
        chosen = SchedulerOptions(note=self._report, **options)
        super().__init__(_opened("open_scheduler", model._handle, byref(chosen)))
        self._running, self._ended = {}, []  # functions that C calls, by generation; that it has called

    def submit(self, prompt, max_tokens, on_token=None, tenant=None, gbnf=None, json_schema=None, ends=(),
               **options):
        """Begins a generation of at most `max_tokens` tokens after the token ids `prompt`; returns it, a
        Generation, at once. on_token(id, logits) is called in the scheduler's thread, so it must return
        soon; False stops the generation. `tenant`: requests that name the same tenant share keys and values
        of equal prompts; None shares with nobody. `gbnf` or `json_schema`: a grammar or a schema, as text,
        that the new text must match; `ends`: token ids besides EOS that may come where it may end. Other
        options are those of sampling(). Raises Overloaded if too many wait."""
        chosen, callbacks, generation = sampling(max_tokens, **options), _Callbacks(), Generation()

        def see(token, logits):
            generation.ids.append(token)
            return on_token is None or on_token(token, logits)

        def end(_, told):
            self._ended.clear()  # the scheduler has one thread: earlier calls have returned
            self._ended.append(self._running.pop(generation))
            generation._end(told.contents, callbacks.raised)

        kept = self._running[generation] = (callbacks.on_token(see), ON_END(end))
        request = GenerationRequest(
            prompt=_ids(prompt), prompt_count=len(prompt), sampling=ctypes.pointer(chosen),
            tenant=_text(tenant), gbnf=_text(gbnf), json_schema=_text(json_schema), ends=_ids(ends),
            ends_count=len(ends), on_token=kept[0], on_end=kept[1])
        number = c_uint64()
        try:
            _call("submit", self._handle, byref(request), byref(number))
        except BaseException:
            del self._running[generation]
            raise
        generation.id = number.value
        return generation

    def cancel(self, generation):
        """Ends `generation`, a Generation, before its next token; its result() then returns what it has."""
        _call("cancel", self._handle, generation.id)

    def drain(self):
        """Takes no further generations, and returns when all have ended."""
        _call("drain", self._handle)


class ImageClassifier(_Model):
    """A convolutional network: images in, logits of classes out. Opened and failing as a LanguageModel."""
    _free, _kind = "free_image_classifier", "images"

    @property
    def image_size(self):
        """How many elements an image has: height x width x channels, with the channel fastest."""
        return self._size("image_size")

    @property
    def class_count(self):
        """How many classes there are: the length of an image's list of logits."""
        return self._size("class_count")

    def classify(self, images):
        """A list of class_count logits for each image. `images`: a sequence of floats, image_size for each
        image, one image after the other. Raises BadInput for another length."""
        size, classes = self.image_size, self.class_count
        count, left = divmod(len(images), size)
        if left:
            raise BadInput(f"images has {len(images)} elements: expected a multiple of {size}")
        logits = (c_float * (count * classes))()
        _call("classify", self._handle, (c_float * len(images))(*images), count, logits)
        return [logits[i:i + classes] for i in range(0, len(logits), classes)]


class David(_Object):
    """David, who multiplies with his half of a split model. `artifact`: the folder OUT/david. Options are
    the members of DavidOptions. Raises BadInput for a folder that is not David's half alone."""
    _free = "free_david"

    def __init__(self, artifact, **options):
        chosen = DavidOptions(**options)
        super().__init__(_opened("open_david", _text(artifact), byref(chosen)))

    def serve(self, endpoint, certificates, report=None):
        """A Server that listens at "HOST:PORT" over TLS. `certificates`: the folder TLS/david. report(line)
        gets the errors of connections, from any thread."""
        return Server(self, endpoint, certificates, report)

    def serve_socket(self, connection):
        """Serves one session over the connected socket `connection`, until its end, and closes it."""
        end = connection.detach()
        _call("serve_fd", self._handle, end, end)


class Server(_Object):
    """Serves a David's sessions over TLS, in a thread, until close(). `port` is where it listens, also if
    port 0 was asked for. Made by David.serve()."""
    _free = "free_server"

    def __init__(self, david, endpoint, certificates, report):
        self._report = _Callbacks().report(report)
        super().__init__(_opened("open_server", david._handle, _text(endpoint), _text(certificates),
                                 self._report, None))
        port = c_uint16()
        _call("server_port", self._handle, byref(port))
        self.port = port.value
        # The handle as it is now: close() forgets it.
        self._thread = threading.Thread(target=library().slip_run_server, args=(self._handle,))
        self._thread.start()

    def close(self):
        """Stops taking sessions, waits until those that run have ended, and frees the server."""
        if self._handle:
            _call("stop_server", self._handle)
            self._thread.join()
        super().close()


def split(model, out, on_progress=None, note=None, **options):
    """Splits the checkpoint at the path `model` into `out`/charlie and `out`/david; the folder `out` must not
    exist. on_progress(SplitProgress) is called at the start and after every matrix; it returns False to stop,
    which raises Stopped and leaves nothing behind. note(line) gets messages for the user. Other options are
    the members of SplitOptions: set, plan, rank, threads, ..."""
    callbacks = _Callbacks()
    texts = {name: _text(options.pop(name)) for name in ("set", "plan", "audit", "seal") if name in options}

    def see(_, progress):
        return int(callbacks.guard(on_progress, False, progress.contents) is not False)

    chosen = SplitOptions(on_progress=ON_PROGRESS(see) if on_progress is not None else ON_PROGRESS(),
                          note=callbacks.report(note), **texts, **options)
    try:
        _call("split", _text(model), _text(out), byref(chosen))
    except Stopped:
        callbacks.check()
        raise
    callbacks.check()
