"""SLIP from Python: libslip through ctypes, by the C interface of slip/slip.h.

    import slip
    slip.split("MODEL", "OUT")                                   # the owner, once
    with slip.David("OUT/david").serve("0.0.0.0:7401", "TLS/david"):  # the machine that is not trusted
        ...
    with slip.LanguageModel.over_tls("OUT", "david.example:7401", "TLS/charlie") as model:
        print(model.complete("Once upon a time", max_tokens=100))

The shared library is found by SLIP_LIBRARY, a path, or else by the system's linker. What fails raises
slip.Error or one of its kinds, with the library's message. A model computes for one call at a time:
another one raises Busy."""

import ctypes
import ctypes.util
import os
import threading
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int, c_int32, c_size_t, c_uint16, \
    c_uint32, c_uint64, c_void_p

__version__ = "0.1.0"


# --- errors --------------------------------------------------------------------------------------

class Error(Exception):
    """Base of all that this module raises on purpose, and what is none of its kinds."""


class BadInput(Error):
    """A file or an argument that the caller can correct."""


class ProtocolError(Error):
    """The connection, or the peer."""


class IntegrityError(Error):
    """A wrong reply was rejected; the process opens no further session with the same peer."""


class InternalError(Error):
    """A defect."""


class InvalidHandle(Error):
    """The object was closed."""


class Busy(Error):
    """Another call uses the model."""


class BufferTooSmall(Error):
    """Raised inside this module alone, which asks again with a larger buffer."""


class Overloaded(Error):
    """Too much is waiting; the same may be asked again later."""


class Stopped(Error):
    """A callback said so."""


OK, BAD_INPUT, PROTOCOL_ERROR, INTEGRITY_ERROR, INTERNAL_ERROR, OUT_OF_MEMORY, INVALID_HANDLE, BUSY, \
    BUFFER_TOO_SMALL, OVERLOADED, STOPPED = range(11)
_ERRORS = {BAD_INPUT: BadInput, PROTOCOL_ERROR: ProtocolError, INTEGRITY_ERROR: IntegrityError,
           INTERNAL_ERROR: InternalError, OUT_OF_MEMORY: MemoryError, INVALID_HANDLE: InvalidHandle,
           BUSY: Busy, BUFFER_TOO_SMALL: BufferTooSmall, OVERLOADED: Overloaded, STOPPED: Stopped}

# --- slip/slip.h ---------------------------------------------------------------------------------

ON_TOKEN = ctypes.CFUNCTYPE(c_int, c_void_p, c_int32, POINTER(c_float), c_size_t)
REPORT = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class Options(ctypes.Structure):
    """A struct that begins with its size; its members are given by name, the others stay 0."""

    def __init__(self, **members):
        unknown = sorted(set(members) - {name for name, _ in self._fields_[1:]})
        if unknown:
            raise TypeError(f"{type(self).__name__} has no member {unknown[0]}")
        super().__init__(size=ctypes.sizeof(self), **members)


class CharlieOptions(Options):
    _fields_ = [("size", c_size_t), ("masks_ready", c_size_t), ("mask_memory", c_size_t),
                ("timeout_ms", c_uint32), ("patience_ms", c_uint32), ("busy_limit_ms", c_uint32),
                ("note", REPORT), ("note_context", c_void_p), ("seal", c_char_p)]


class TokenBias(ctypes.Structure):
    _fields_ = [("id", c_int32), ("bias", c_double)]


class SamplingOptions(Options):
    _fields_ = [("size", c_size_t), ("max_tokens", c_size_t), ("temperature", c_double),
                ("seed", c_uint64), ("top_k", c_size_t), ("top_p", c_double), ("min_p", c_double),
                ("repetition_penalty", c_double), ("presence_penalty", c_double),
                ("frequency_penalty", c_double), ("logit_bias", POINTER(TokenBias)),
                ("logit_bias_count", c_size_t), ("guesses", c_size_t)]


class ChatMessage(ctypes.Structure):
    _fields_ = [("role", c_int), ("text", c_char_p)]


class SchedulerOptions(Options):
    _fields_ = [("size", c_size_t), ("live", c_size_t), ("waiting", c_size_t),
                ("waiting_per_tenant", c_size_t), ("prompt_tokens_per_step", c_size_t),
                ("guesses", c_size_t), ("guess_columns", c_size_t),
                ("kept_prompt_bytes", c_size_t), ("kept_prompt_tenants", c_size_t),
                ("reopen_limit_ms", c_uint32), ("note", REPORT), ("note_context", c_void_p)]


class GenerationEnd(ctypes.Structure):
    _fields_ = [("reason", c_int), ("status", c_int), ("message", c_char_p), ("waited_seconds", c_double),
                ("prompt_tokens", c_uint64), ("cached_tokens", c_uint64), ("generated_tokens", c_uint64),
                ("rounds", c_uint64), ("checks", c_uint64), ("bytes_up", c_uint64),
                ("bytes_down", c_uint64), ("repeated_steps", c_uint64)]


ON_END = ctypes.CFUNCTYPE(None, c_void_p, POINTER(GenerationEnd))


class GenerationRequest(Options):
    _fields_ = [("size", c_size_t), ("prompt", POINTER(c_int32)), ("prompt_count", c_size_t),
                ("sampling", POINTER(SamplingOptions)), ("tenant", c_char_p), ("gbnf", c_char_p),
                ("json_schema", c_char_p), ("ends", POINTER(c_int32)), ("ends_count", c_size_t),
                ("on_token", ON_TOKEN), ("on_end", ON_END), ("context", c_void_p)]


class SplitProgress(ctypes.Structure):
    _fields_ = [("finished", c_size_t), ("matrices", c_size_t), ("finished_weights", c_size_t),
                ("weights", c_size_t), ("name", c_char_p)]


ON_PROGRESS = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(SplitProgress))


class SplitOptions(Options):
    _fields_ = [("size", c_size_t), ("set", c_char_p), ("plan", c_char_p), ("rank", c_size_t),
                ("threads", c_size_t), ("paper_attention", c_int), ("accept_grid", c_int),
                ("audit", c_char_p), ("seal", c_char_p), ("on_progress", ON_PROGRESS), ("note", REPORT),
                ("context", c_void_p), ("shards", c_size_t)]


class DavidOptions(Options):
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
    """The shared library at `path`, with the types of its functions."""
    library = ctypes.CDLL(str(path))
    for name, types in FUNCTIONS.items():
        function = getattr(library, f"slip_{name}")
        function.argtypes, function.restype = types, c_int
    for name in ("last_error", "library_version"):
        getattr(library, f"slip_{name}").restype = c_char_p
    return library


_loaded = None


def library():
    """libslip, loaded when it is first needed."""
    global _loaded
    if _loaded is None:
        path = os.environ.get("SLIP_LIBRARY") or ctypes.util.find_library("slip")
        if path is None:
            raise BadInput("libslip.so is not installed where the linker looks: expected its path in "
                           "SLIP_LIBRARY")
        _loaded = load(path)
    return _loaded


def raise_for(status, message):
    """Raises what a status other than OK stands for."""
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
    """Functions of the caller's, called from C. What one raises stops the call, which raises it."""

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
        """The function of C for one of Python's, on_token(id, logits): True or None to go on. The
        logits are a view of the library's memory, to be copied by whoever keeps them."""
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
        """Frees it. Whatever is called afterwards raises InvalidHandle."""
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
    """SamplingOptions; `logit_bias` is a dict of what is added by token id. Other options: temperature,
    seed, top_k, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty, guesses."""
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
    """The ways in which a model is opened; each keeps the functions that C calls later."""
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

    @classmethod
    def checkpoint(cls, path):
        """In float32, without a protocol."""
        return cls._open("checkpoint", _text(path))

    @classmethod
    def unsplit(cls, artifact, audit=None):
        """The integer model of a split, without a protocol. `audit`: of a hidden split, the folder of
        its integer model."""
        return cls._open("unsplit", _text(artifact), _text(audit))

    @classmethod
    def over_tls(cls, artifact, endpoint, certificates, note=None, **options):
        """Over the protocol, with the David at "HOST:PORT", or of a split in shards with one at each of
        "HOST:PORT,HOST:PORT,...". `certificates`: the folder TLS/charlie.
        `note` gets lines for the user. Options are the members of CharlieOptions."""
        kept, chosen = cls._options(note, options)
        return cls._open("charlie_tls", _text(artifact), _text(endpoint), _text(certificates), byref(chosen),
                         kept=kept)

    @classmethod
    def over_socket(cls, artifact, connection, note=None, **options):
        """The same over a connected socket, which belongs to the model from now on."""
        kept, chosen = cls._options(note, options)
        end = connection.detach()
        return cls._open("charlie_fd", _text(artifact), end, end, byref(chosen), kept=kept)

    @classmethod
    def in_process(cls, artifact, note=None, **options):
        """The same with a David in this process: it protects nothing."""
        kept, chosen = cls._options(note, options)
        return cls._open("charlie_in_process", _text(artifact), byref(chosen), kept=kept)

    @staticmethod
    def _options(note, options):
        report = _Callbacks().report(note)
        if "seal" in options:
            options = options | {"seal": _text(options["seal"])}
        return report, CharlieOptions(note=report, **options)


class LanguageModel(_Model):
    """Text and token ids in; text, token ids and logits out."""
    _free, _kind = "free_language_model", "language"

    @property
    def vocabulary_size(self):
        return self._size("vocabulary_size")

    @property
    def max_positions(self):
        """The longest sequence, in tokens."""
        return self._size("max_positions")

    def encode(self, text, prompt=True):
        """The ids of `text`: with BOS where a prompt has one, without if it is no prompt."""
        data = text.encode()
        name = "encode_prompt" if prompt else "encode"
        return _with_buffer(c_int32, len(data) + 8, lambda *room: _call(
            name, self._handle, data, len(data), *room))

    def decode(self, ids, prompt=()):
        """What `ids` add to the text of `prompt`."""
        text = _with_buffer(ctypes.c_char, 16 * len(ids) + 64, lambda *room: _call(
            "decode", self._handle, _ids(prompt), len(prompt), _ids(ids), len(ids), *room))
        return text.decode(errors="replace")

    def encode_chat(self, messages, format=None):
        """(ids up to the assistant's next answer, the id that ends an answer) of a list of
        {"role": "system", "user" or "assistant", "content": TEXT}. `format`: "chatml", "llama3", ...;
        without one, that of the model's template."""
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
        """The new ids after the ids `prompt`. on_token(id, logits) sees each, and returns False to stop.
        Options are those of sampling()."""
        return _generate("generate", self._handle, prompt, max_tokens, on_token, options)

    def complete(self, text, max_tokens, stop=(), on_text=None, **options):
        """The text that goes on with `text`, up to the first of the texts `stop`. on_text(piece) sees it
        as it comes. Options are those of sampling()."""
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
        """The logits of every position: a list of rows."""
        width = self.vocabulary_size
        logits = (c_float * (len(ids) * width))()
        _call("forward", self._handle, _ids(ids), len(ids), logits)
        return [logits[i:i + width] for i in range(0, len(logits), width)]


class TextStream(_Object):
    """The text of one generation, in whole characters, up to the first of the texts `stops`."""
    _free = "free_text_stream"

    def __init__(self, model, prompt, stops=()):
        texts = (c_char_p * len(stops))(*[stop.encode() for stop in stops])
        super().__init__(_opened("open_text_stream", model._handle, _ids(prompt), len(prompt), texts,
                                 len(stops)))
        self.stopped = False

    def push(self, token):
        """What `token` completes; often nothing."""
        text, count, stopped = c_void_p(), c_size_t(), c_int()
        _call("push_token", self._handle, token, byref(text), byref(count), byref(stopped))
        self.stopped = bool(stopped.value)
        return ctypes.string_at(text, count.value).decode()

    def finish(self):
        """What is left."""
        text, count = c_void_p(), c_size_t()
        _call("finish_text", self._handle, byref(text), byref(count))
        return ctypes.string_at(text, count.value).decode()


class Sequence(_Object):
    """Generations of a model that go on where the last one ended: of a prompt, only what is new is
    computed."""
    _free = "free_sequence"

    def __init__(self, model):
        super().__init__(_opened("open_sequence", model._handle))

    def generate(self, prompt, max_tokens, on_token=None, **options):
        """As LanguageModel.generate()."""
        return _generate("generate_in_sequence", self._handle, prompt, max_tokens, on_token, options)


class Generation:
    """One of a Scheduler's."""
    REASONS = ["end_of_text", "length", "stopped", "cancelled", "failed"]

    def __init__(self):
        self.id, self.ids, self.reason, self.receipt = None, [], None, {}
        self._error, self._ended = None, threading.Event()

    def result(self, timeout=None):
        """The new ids, once it has ended; raises what it failed with, and TimeoutError."""
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
    """Many generations of one model at once, which it takes: the model's texts and sizes can still be
    asked for. Options are the members of SchedulerOptions; `note` gets lines for the user."""
    _free = "free_scheduler"

    def __init__(self, model, note=None, **options):
        self._model, self._report = model, _Callbacks().report(note)
        chosen = SchedulerOptions(note=self._report, **options)
        super().__init__(_opened("open_scheduler", model._handle, byref(chosen)))
        self._running, self._ended = {}, []  # functions that C calls, by generation; that it has called

    def submit(self, prompt, max_tokens, on_token=None, tenant=None, gbnf=None, json_schema=None, ends=(),
               **options):
        """A Generation. on_token(id, logits) is called in the scheduler's thread, which it must not hold
        up. `gbnf` or `json_schema`: what the new text has to be; `ends`: tokens besides EOS that may
        then come. Other options are those of sampling()."""
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
        """Ends a generation before its next token."""
        _call("cancel", self._handle, generation.id)

    def drain(self):
        """Takes no further generations; returns when all have ended."""
        _call("drain", self._handle)


class ImageClassifier(_Model):
    """Images in, logits of classes out."""
    _free, _kind = "free_image_classifier", "images"

    @property
    def image_size(self):
        """Elements of an image: height x width x channels, the channel fastest."""
        return self._size("image_size")

    @property
    def class_count(self):
        return self._size("class_count")

    def classify(self, images):
        """A list of logits for each of the images, which stand one after the other in `images`."""
        size, classes = self.image_size, self.class_count
        count, left = divmod(len(images), size)
        if left:
            raise BadInput(f"images has {len(images)} elements: expected a multiple of {size}")
        logits = (c_float * (count * classes))()
        _call("classify", self._handle, (c_float * len(images))(*images), count, logits)
        return [logits[i:i + classes] for i in range(0, len(logits), classes)]


class David(_Object):
    """The half of a split model that multiplies. `artifact`: OUT/david. Options are the members of
    DavidOptions."""
    _free = "free_david"

    def __init__(self, artifact, **options):
        chosen = DavidOptions(**options)
        super().__init__(_opened("open_david", _text(artifact), byref(chosen)))

    def serve(self, endpoint, certificates, report=None):
        """A Server at "HOST:PORT", over TLS. `certificates`: the folder TLS/david. `report` gets the
        errors of connections."""
        return Server(self, endpoint, certificates, report)

    def serve_socket(self, connection):
        """Serves one session over a connected socket, which it closes, until its end."""
        end = connection.detach()
        _call("serve_fd", self._handle, end, end)


class Server(_Object):
    """A David's sessions over TLS, in a thread, until close()."""
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
        if self._handle:
            _call("stop_server", self._handle)
            self._thread.join()
        super().close()


def split(model, out, on_progress=None, note=None, **options):
    """Splits a checkpoint into OUT/charlie and OUT/david; OUT must not exist. on_progress(SplitProgress)
    sees how far it is, and returns False to stop, which raises Stopped; nothing stays then. `note` gets
    lines for the user. Other options are the members of SplitOptions: set, plan, rank, threads, ..."""
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
