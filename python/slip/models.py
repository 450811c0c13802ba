"""Models: of texts, with their streams and sequences, and of images."""

from __future__ import annotations

import ctypes
import sys
from collections import abc
from collections.abc import Callable, Mapping
from ctypes import byref, c_char_p, c_float, c_int, c_int32, c_size_t, c_void_p
from socket import socket
from typing import Any, ClassVar, TypedDict

from .c import StrPath, call, library
from .errors import BadInput
from .handles import Callbacks, Note, Object, OnToken, c_ids, c_path, c_text, opened, utf8, with_buffer
from .structs import CharlieOptions, ChatMessage, RunStatistics, SamplingOptions, TokenBias

if sys.version_info >= (3, 11):  # an older Python runs the package, but cannot resolve its hints
    from typing import Self, Unpack


class CharlieKeywords(TypedDict, total=False):
    """The options of whatever connects to a David: members of CharlieOptions."""
    masks_ready: int
    mask_memory: int
    timeout_ms: int
    patience_ms: int
    busy_limit_ms: int
    seal: StrPath | None


class SamplingNumbers(TypedDict, total=False):
    """The members of SamplingOptions that are optional numbers."""
    temperature: float
    seed: int
    top_k: int
    top_p: float
    min_p: float
    repetition_penalty: float
    presence_penalty: float
    frequency_penalty: float
    guesses: int


class SamplingKeywords(SamplingNumbers, total=False):
    """The options of sampling()."""
    logit_bias: Mapping[int, float] | None


def sampling(max_tokens: int, logit_bias: Mapping[int, float] | None = None,
             **options: Unpack[SamplingNumbers]) -> SamplingOptions:
    """SamplingOptions. `logit_bias`: a mapping from token id to what is added to its logit. Other options:
    temperature, seed, top_k, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty,
    guesses."""
    chosen = SamplingOptions(max_tokens=max_tokens, **options)
    if logit_bias:
        chosen.logit_bias = (TokenBias * len(logit_bias))(*[TokenBias(*pair) for pair in logit_bias.items()])
        chosen.logit_bias_count = len(logit_bias)
    return chosen


def _generate(name: str, handle: c_void_p, prompt: abc.Sequence[int], max_tokens: int,
              on_token: OnToken | None, options: SamplingKeywords) -> list[int]:
    chosen, callbacks = sampling(max_tokens, **options), Callbacks()
    ids, count = (c_int32 * max_tokens)(), c_size_t()
    call(name, handle, c_ids(prompt), len(prompt), byref(chosen), callbacks.on_token(on_token), None, ids,
         byref(count))
    callbacks.check()
    return ids[:count.value]


class Model(Object):
    """The ways to open a model. Each raises BadInput for files that are missing, damaged or of the other
    kind of model, and keeps the functions that C calls later."""
    _kind: ClassVar[str]
    _kept: object

    def __init__(self, handle: c_void_p, callbacks: object = None) -> None:
        super().__init__(handle)
        self._kept = callbacks

    @classmethod
    def _open(cls, name: str, *arguments: Any, kept: object = None) -> Self:
        handle = c_void_p()
        places = (byref(handle), None) if cls._kind == "language" else (None, byref(handle))
        call(f"open_{name}", *arguments, *places)
        return cls(handle, kept)

    def statistics(self) -> RunStatistics:
        """The RunStatistics of this model. Raises Busy while another call computes with it, and for a model
        that runs in a scheduler; see Scheduler.statistics()."""
        statistics = RunStatistics()
        call(f"get_{'language' if self._kind == 'language' else 'image'}_statistics", self._handle,
             byref(statistics))
        return statistics

    @classmethod
    def checkpoint(cls, path: StrPath) -> Self:
        """The checkpoint at `path`, a Hugging Face folder, a GGUF file or an ONNX file, computed in float32,
        without a protocol."""
        return cls._open("checkpoint", c_path(path))

    @classmethod
    def unsplit(cls, artifact: StrPath, audit: StrPath | None = None) -> Self:
        """The integer model of a split, without a protocol. `artifact`: what split() wrote. `audit`: for a
        hidden split, the folder that its option `audit` made."""
        return cls._open("unsplit", c_path(artifact), c_path(audit))

    @classmethod
    def over_tls(cls, artifact: StrPath, endpoint: str, certificates: StrPath, note: Note | None = None,
                 **options: Unpack[CharlieKeywords]) -> Self:
        """Over the protocol, with the David at "HOST:PORT"; for a split in shards, with one David at each
        of "HOST:PORT,HOST:PORT,...". `artifact`: what split() wrote. `certificates`: the folder
        TLS/charlie. note(line) gets messages for the user. Options are the members of CharlieOptions.
        Raises ProtocolError if David cannot be reached, refuses, or has sent this process a wrong reply."""
        kept, chosen = cls._options(note, options)
        return cls._open("charlie_tls", c_path(artifact), c_text(endpoint), c_path(certificates),
                         byref(chosen), kept=kept)

    @classmethod
    def over_socket(cls, artifact: StrPath, connection: socket, note: Note | None = None,
                    **options: Unpack[CharlieKeywords]) -> Self:
        """As over_tls(), over the connected socket `connection`, which belongs to the model from now on, and
        is closed also if this fails."""
        with connection:  # until C has it, which closes it in every case
            kept, chosen = cls._options(note, options)
            path = c_path(artifact)
            library()  # which may not be there
            end = connection.detach()
        return cls._open("charlie_fd", path, end, end, byref(chosen), kept=kept)

    @classmethod
    def in_process(cls, artifact: StrPath, note: Note | None = None,
                   **options: Unpack[CharlieKeywords]) -> Self:
        """As over_tls(), with a David in this process: it protects nothing."""
        kept, chosen = cls._options(note, options)
        return cls._open("charlie_in_process", c_path(artifact), byref(chosen), kept=kept)

    @staticmethod
    def _options(note: Note | None, options: CharlieKeywords) -> tuple[Any, CharlieOptions]:
        report, seal = Callbacks().report(note), options.pop("seal", None)
        return report, CharlieOptions(note=report, seal=c_path(seal), **options)


class LanguageModel(Model):
    """A model of texts: text and token ids in; text, token ids and logits out. Opened by the class methods
    checkpoint(), unsplit(), over_tls(), over_socket() and in_process(). Over the protocol, what computes
    raises IntegrityError for a wrong reply, and ProtocolError if the connection is lost."""
    _free, _kind = "free_language_model", "language"

    @property
    def vocabulary_size(self) -> int:
        """How many token ids there are: the length of a row of logits."""
        return self._size("vocabulary_size")

    @property
    def max_positions(self) -> int:
        """The longest sequence, in tokens."""
        return self._size("max_positions")

    def encode(self, text: str) -> list[int]:
        """The token ids of `text`, without BOS. Raises BadInput for a model without a tokenizer."""
        return self._ids_of("encode", text)

    def encode_prompt(self, text: str) -> list[int]:
        """The token ids of a prompt: those of encode(), behind BOS if the model's prompts begin with it.
        Raises BadInput for a model without a tokenizer."""
        return self._ids_of("encode_prompt", text)

    def _ids_of(self, name: str, text: str) -> list[int]:
        data = utf8(text)
        ids: list[int] = with_buffer(c_int32, len(data) + 8, lambda *room: call(
            name, self._handle, data, len(data), *room))
        return ids

    def decode(self, ids: abc.Sequence[int], prompt: abc.Sequence[int] = ()) -> str:
        """The text that the token ids `ids` add to the text of the token ids `prompt`."""
        text: bytes = with_buffer(ctypes.c_char, 16 * len(ids) + 64, lambda *room: call(
            "decode", self._handle, c_ids(prompt), len(prompt), c_ids(ids), len(ids), *room))
        return text.decode(errors="replace")

    def encode_chat(self, messages: abc.Sequence[Mapping[str, str]],
                    format: str | None = None) -> tuple[list[int], int]:
        """A pair for a conversation: the list of token ids up to where the assistant's next answer begins,
        and the token id that ends an answer. `messages`: a sequence of {"role": ROLE, "content": TEXT}, where
        ROLE is "system", "user" or "assistant". `format`: "chatml", "llama3", ...; None for the one that
        the model's template shows. Raises BadInput for another role or format."""
        roles = {"system": 0, "user": 1, "assistant": 2}
        unknown = [m["role"] for m in messages if m["role"] not in roles]
        if unknown:
            raise BadInput(f"role {unknown[0]!r} of a message: expected one of {', '.join(roles)}")
        spoken = (ChatMessage * len(messages))(*[ChatMessage(roles[m["role"]], c_text(m["content"]))
                                                 for m in messages])
        end = c_int32()
        ids = with_buffer(c_int32, 1024, lambda *room: call(
            "encode_chat", self._handle, c_text(format), spoken, len(messages), *room, byref(end)))
        return ids, end.value

    def generate(self, prompt: abc.Sequence[int], max_tokens: int, on_token: OnToken | None = None,
                 **options: Unpack[SamplingKeywords]) -> list[int]:
        """The new token ids after the token ids `prompt`: a list of at most `max_tokens`, shorter if the
        model chooses EOS, which is not in it. on_token(id, logits) sees each, and returns False to stop;
        `logits` has vocabulary_size floats, valid during the call. Raises BadInput for an empty prompt,
        an id outside the vocabulary, or more than max_positions tokens in all. Options are those
        of sampling()."""
        return _generate("generate", self._handle, prompt, max_tokens, on_token, options)

    def complete(self, text: str, max_tokens: int, stop: abc.Sequence[str] = (),
                 on_text: Callable[[str], object] | None = None,
                 **options: Unpack[SamplingKeywords]) -> str:
        """The text that follows `text`: at most `max_tokens` tokens, up to the first occurrence of one of
        the texts `stop`. on_text(piece) gets it piece by piece. Options are those of sampling()."""
        prompt = self.encode_prompt(text)
        pieces: list[str] = []

        def take(piece: str) -> None:
            if piece:
                pieces.append(piece)
                if on_text is not None:
                    on_text(piece)

        with TextStream(self, prompt, stop) as stream:
            def see(token: int, _: object) -> bool:
                take(stream.push(token))
                return not stream.stopped
            self.generate(prompt, max_tokens, see, **options)
            take(stream.finish())
        return "".join(pieces)

    def forward(self, ids: abc.Sequence[int]) -> list[list[float]]:
        """The logits at every position: a list with a row of vocabulary_size floats for each of `ids`."""
        width = self.vocabulary_size
        logits = (c_float * (len(ids) * width))()
        call("forward", self._handle, c_ids(ids), len(ids), logits)
        return [logits[i:i + width] for i in range(0, len(logits), width)]


class TextStream(Object):
    """The text of one generation after the token ids `prompt`, in whole characters, up to the first
    occurrence of one of the texts `stops`. `stopped` tells whether one has come."""
    _free = "free_text_stream"
    stopped: bool

    def __init__(self, model: LanguageModel, prompt: abc.Sequence[int],
                 stops: abc.Sequence[str] = ()) -> None:
        texts = (c_char_p * len(stops))(*map(c_text, stops))
        super().__init__(opened("open_text_stream", model._handle, c_ids(prompt), len(prompt), texts,
                                len(stops)))
        self.stopped = False

    def push(self, token: int) -> str:
        """The text that the token id `token` completes; often empty."""
        text, count, stopped = c_void_p(), c_size_t(), c_int()
        call("push_token", self._handle, token, byref(text), byref(count), byref(stopped))
        self.stopped = bool(stopped.value)
        return ctypes.string_at(text, count.value).decode()

    def finish(self) -> str:
        """The text that is left at the end of the generation."""
        text, count = c_void_p(), c_size_t()
        call("finish_text", self._handle, byref(text), byref(count))
        return ctypes.string_at(text, count.value).decode()


class Sequence(Object):
    """A conversation with a LanguageModel: each generation goes on where the last one ended, and computes
    only what its prompt adds."""
    _free = "free_sequence"

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(opened("open_sequence", model._handle))

    def generate(self, prompt: abc.Sequence[int], max_tokens: int, on_token: OnToken | None = None,
                 **options: Unpack[SamplingKeywords]) -> list[int]:
        """As LanguageModel.generate(). `prompt` is the whole text so far, not only what is new."""
        return _generate("generate_in_sequence", self._handle, prompt, max_tokens, on_token, options)


class ImageClassifier(Model):
    """A convolutional network: images in, logits of classes out. Opened and failing as a LanguageModel."""
    _free, _kind = "free_image_classifier", "images"

    @property
    def image_size(self) -> int:
        """How many elements an image has: height x width x channels, with the channel fastest."""
        return self._size("image_size")

    @property
    def class_count(self) -> int:
        """How many classes there are: the length of an image's list of logits."""
        return self._size("class_count")

    def classify(self, images: abc.Sequence[float]) -> list[list[float]]:
        """A list of class_count logits for each image. `images`: a sequence of floats, image_size for each
        image, one image after the other. Raises BadInput for another length."""
        size, classes = self.image_size, self.class_count
        count, left = divmod(len(images), size)
        if left:
            raise BadInput(f"images has {len(images)} elements: expected a multiple of {size}")
        logits = (c_float * (count * classes))()
        call("classify", self._handle, (c_float * len(images))(*images), count, logits)
        return [logits[i:i + classes] for i in range(0, len(logits), classes)]
