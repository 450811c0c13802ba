"""Many generations of one model at once."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Sequence
from ctypes import byref, c_float, c_uint64
from typing import Any, ClassVar, TypedDict

from .c import call, message_of
from .errors import Error, raise_for
from .handles import Callbacks, Note, Object, OnToken, c_ids, c_text, opened
from .models import LanguageModel, SamplingKeywords, sampling
from .structs import ON_END, GenerationEnd, GenerationRequest, SchedulerOptions, SchedulerStatistics

if sys.version_info >= (3, 11):  # an older Python runs the package, but cannot resolve its hints
    from typing import Unpack


class SchedulerKeywords(TypedDict, total=False):
    """The options of a Scheduler: members of SchedulerOptions."""
    live: int
    waiting: int
    waiting_per_tenant: int
    prompt_tokens_per_step: int
    guesses: int
    guess_columns: int
    kept_prompt_bytes: int
    kept_prompt_tenants: int
    reopen_limit_ms: int
    keeps_no_prompts: bool
    ends_when_lost: bool


class Generation:
    """A generation that Scheduler.submit() began.

    id: the scheduler's number for it. ids: the new token ids so far. After the end, reason: one of
    REASONS; receipt: a dict of waited_seconds and counts, such as prompt_tokens, rounds, checks and
    bytes_up. Before the end, reason is None and receipt is empty."""
    REASONS: ClassVar[list[str]] = ["end_of_text", "length", "stopped", "cancelled", "failed"]
    id: int | None
    ids: list[int]
    reason: str | None
    receipt: dict[str, float]
    _error: BaseException | None

    def __init__(self) -> None:
        self.id, self.ids, self.reason, self.receipt = None, [], None, {}
        self._error, self._ended = None, threading.Event()

    def result(self, timeout: float | None = None) -> list[int]:
        """Waits for the end and returns the new token ids, a list. Raises what the generation failed with or
        what its on_token raised, and TimeoutError after `timeout` seconds (None: waits for ever)."""
        if not self._ended.wait(timeout):
            raise TimeoutError(f"the generation has not ended after {timeout} s")
        if self._error is not None:
            raise self._error
        return self.ids

    def _end(self, end: GenerationEnd, raised: BaseException | None) -> None:
        try:
            self.reason = self.REASONS[end.reason]
            self.receipt = {name: getattr(end, name) for name, _ in end._fields_[3:]}
            raise_for(end.status, message_of(end.message))
            self._error = raised
        except (Error, MemoryError) as error:
            self._error = error
        finally:
            self._ended.set()


class Scheduler(Object):
    """Many generations of one LanguageModel at once. It takes the model over: encode(), decode() and sizes
    still work, computing raises Busy. Options are the members of SchedulerOptions; note(line) gets messages
    for the user. close() cancels what is live or waiting."""
    _free = "free_scheduler"

    def __init__(self, model: LanguageModel, note: Note | None = None,
                 **options: Unpack[SchedulerKeywords]) -> None:
        self._model, self._report = model, Callbacks().report(note)
        chosen = SchedulerOptions(note=self._report, **options)
        super().__init__(opened("open_scheduler", model._handle, byref(chosen)))
        self._running: dict[Generation, tuple[Any, Any]] = {}  # the functions that C calls
        self._ended: list[tuple[Any, Any]] = []  # those that it has called

    def submit(self, prompt: Sequence[int], max_tokens: int, on_token: OnToken | None = None,
               tenant: str | None = None, gbnf: str | None = None, json_schema: str | None = None,
               ends: Sequence[int] = (), **options: Unpack[SamplingKeywords]) -> Generation:
        """Begins a generation of at most `max_tokens` tokens after the token ids `prompt`; returns it, a
        Generation, at once. on_token(id, logits) is called in the scheduler's thread, so it must return
        soon; False stops the generation. `tenant`: requests that name the same tenant share keys and values
        of equal prompts; None shares with nobody. `gbnf` or `json_schema`: a grammar or a schema, as text,
        that the new text must match; `ends`: token ids besides EOS that may come where it may end. Other
        options are those of sampling(). Raises Overloaded if too many wait."""
        chosen, callbacks, generation = sampling(max_tokens, **options), Callbacks(), Generation()

        def see(token: int, logits: ctypes.Array[c_float]) -> object:
            generation.ids.append(token)
            return on_token is None or on_token(token, logits)

        def end(_: int | None, told: Any) -> None:
            self._ended.clear()  # the scheduler has one thread: earlier calls have returned
            self._ended.append(self._running.pop(generation))
            generation._end(told.contents, callbacks.raised)

        kept = (callbacks.on_token(see), ON_END(end))
        request = GenerationRequest(
            prompt=c_ids(prompt), prompt_count=len(prompt), sampling=ctypes.pointer(chosen),
            tenant=c_text(tenant), gbnf=c_text(gbnf), json_schema=c_text(json_schema), ends=c_ids(ends),
            ends_count=len(ends), on_token=kept[0], on_end=kept[1])
        number = c_uint64()
        self._running[generation] = kept
        try:
            call("submit", self._handle, byref(request), byref(number))
        except BaseException:
            del self._running[generation]
            raise
        generation.id = number.value
        return generation

    def cancel(self, generation: Generation) -> None:
        """Ends `generation`, a Generation, before its next token; its result() then returns what it has."""
        call("cancel", self._handle, generation.id)

    def drain(self) -> None:
        """Takes no further generations, and returns when all have ended."""
        call("drain", self._handle)

    def statistics(self) -> SchedulerStatistics:
        """The SchedulerStatistics as they are now, with the model's RunStatistics as their `run`."""
        statistics = SchedulerStatistics()
        call("get_scheduler_statistics", self._handle, byref(statistics), byref(statistics.run))
        return statistics
