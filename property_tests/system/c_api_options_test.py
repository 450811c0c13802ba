"""Options of slip/slip.h: their layout, their sizes, and that each reaches the library."""
# test: once

import ctypes
import re
import threading
import unittest

from c_api_library import BAD_INPUT, BUSY, HANDLE, OK, OVERLOADED, TOKENS, Library, library_is_loadable, slip
from slip.c import FUNCTIONS
from slip.structs import ON_END, ON_TOKEN
from slip_system import ROOT, TINYSTORIES, Outside, SystemTest, setting

PROMPT = "Once upon a time"
STRUCTS = {"charlie_options": slip.CharlieOptions, "token_bias": slip.TokenBias,
           "sampling_options": slip.SamplingOptions, "chat_message": slip.ChatMessage,
           "scheduler_options": slip.SchedulerOptions, "generation_end": slip.GenerationEnd,
           "generation_request": slip.GenerationRequest, "split_progress": slip.SplitProgress,
           "split_options": slip.SplitOptions, "david_options": slip.DavidOptions,
           "run_statistics": slip.RunStatistics, "scheduler_statistics": slip.SchedulerStatistics}


class Layouts(Outside):
    """What python/slip and a compiler of C make of the header."""

    def test_structs_of_c_and_of_python_are_the_same(self):
        declared = re.findall(r"^typedef struct slip_(\w+) \{", (ROOT / "include/slip/slip.h").read_text(),
                              re.MULTILINE)
        self.assertEqual(sorted(declared), sorted(STRUCTS))
        lines = ["#include <stddef.h>", "#include <stdio.h>", "#include <slip/slip.h>", "int main(void) {"]
        expected = []
        for name, struct in STRUCTS.items():
            lines.append(f'printf("{name} %zu\\n", sizeof(slip_{name}));')
            expected.append(f"{name} {ctypes.sizeof(struct)}")
            for member, _ in struct._fields_:
                lines.append(f'printf("{name}.{member} %zu\\n", offsetof(slip_{name}, {member}));')
                expected.append(f"{name}.{member} {getattr(struct, member).offset}")
        source, program = self.folder / "layouts.c", self.folder / "layouts"
        source.write_text("\n".join([*lines, "return 0; }"]) + "\n")
        self.command(setting("CMAKE_CXX_COMPILER"), "-x", "c", "-std=c99", "-I", ROOT / "include", source,
                     "-o", program)
        self.assertEqual(self.command(program).splitlines(), expected)

    def test_a_status_that_is_ignored_is_a_warning(self):
        source = self.folder / "ignores.c"
        compiler = [setting("CMAKE_CXX_COMPILER"), "-x", "c", "-std=c99", "-Wall", "-Werror", "-I",
                    ROOT / "include", "-c", "-o", self.folder / "ignores.o", source]

        def calls(statement):
            source.write_text("#include <slip/slip.h>\nint use(void);\n"
                              f"int use(void) {{ {statement}; return 0; }}\n")
        for allowed in ["return slip_drain(0)", "slip_free_scheduler(0)", "slip_cancel(0, 1)"]:
            calls(allowed)
            self.command(*compiler)
        for ignored in ["slip_drain(0)", 'slip_open_checkpoint("", 0, 0)', '(void)slip_split("", "", 0)']:
            calls(ignored)
            with self.assertRaisesRegex(AssertionError, "unused-result", msg=ignored):
                self.command(*compiler)

    def test_python_declares_every_function(self):
        header = (ROOT / "include/slip/slip.h").read_text()
        declared = re.findall(r"^SLIP_C_(?:API|END) slip_status slip_(\w+)\(", header, re.MULTILINE)
        self.assertEqual(sorted(declared), sorted(FUNCTIONS))


class Model(Library):
    """The bundled model in float32."""

    def setUp(self):
        self.model = self.open("checkpoint", TINYSTORIES)
        self.prompt = self.encode(self.model, PROMPT)

    def tearDown(self):
        self.call(OK, "free_language_model", self.model)

    def generated(self, sampling, function="generate", handle=None):
        """The new ids by a struct of options, which may be of another type than the library's."""
        ids, count = (ctypes.c_int32 * sampling.max_tokens)(), ctypes.c_size_t()
        self.call(OK, function, handle or self.model, (ctypes.c_int32 * len(self.prompt))(*self.prompt),
                  len(self.prompt), ctypes.byref(sampling), ON_TOKEN(), None, ids, ctypes.byref(count))
        return ids[:count.value]


@library_is_loadable
class Sizes(Model, SystemTest):
    def refused(self, sampling, *says):
        count = ctypes.c_size_t()
        self.call(BAD_INPUT, "generate", self.model, (ctypes.c_int32 * 1)(1), 1, ctypes.byref(sampling),
                  ON_TOKEN(), None, None, ctypes.byref(count), says=says)

    def test_members_that_an_older_caller_does_not_have_are_not_read(self):
        greedy = self.generated(slip.SamplingOptions(max_tokens=TOKENS))
        older = slip.SamplingOptions(max_tokens=TOKENS, temperature=float("nan"), top_k=1, top_p=-1)
        older.size = slip.SamplingOptions.temperature.offset
        self.assertEqual(self.generated(older), greedy)
        older.size = slip.SamplingOptions.top_k.offset
        self.refused(older, "temperature")

    def test_members_that_the_library_does_not_have_must_be_0(self):
        class Newer(ctypes.Structure):
            _fields_ = [*slip.SamplingOptions._fields_, ("later", ctypes.c_double)]

        newer = Newer(size=ctypes.sizeof(Newer), max_tokens=TOKENS)
        self.assertEqual(self.generated(newer), self.generated(slip.SamplingOptions(max_tokens=TOKENS)))
        newer.later = 1
        self.refused(newer, "options sets members that this version does not have",
                     ctypes.sizeof(slip.SamplingOptions))

    def test_a_size_that_was_not_set_is_bad_input(self):
        for size in (0, 7, 4097, 2**63):
            sampling = slip.SamplingOptions(max_tokens=TOKENS)
            sampling.size = size
            self.refused(sampling, f"options.size is {size}")
        david = slip.DavidOptions()
        david.size = 1
        self.call(BAD_INPUT, "open_david", self.folder, ctypes.byref(david), ctypes.byref(ctypes.c_void_p()),
                  says=["options.size is 1"])


@library_is_loadable
class Choices(Model, SystemTest):
    """MODEL-17 and MODEL-21 by C."""

    def program(self, *flags, tokens=TOKENS):
        out, _ = SystemTest.generate(self, "program", "--model", TINYSTORIES, "--engine", "float", "--prompt",
                                     PROMPT, "--max-tokens", tokens, *flags)
        return out["ids"]

    def test_MODEL_17_every_member_does_what_its_flag_does(self):
        warm, tokens = dict(temperature=1.5, seed=7), 40
        choices = [{}, dict(repetition_penalty=9), dict(presence_penalty=50), dict(frequency_penalty=50),
                   warm, warm | dict(top_k=3), warm | dict(top_p=0.5), warm | dict(min_p=0.2)]
        found = []
        for chosen in choices:
            flags = [word for name, value in chosen.items()
                     for word in (f"--{name.replace('_', '-')}", str(value))]
            found.append(self.generated(slip.SamplingOptions(max_tokens=tokens, **chosen)))
            self.assertEqual(found[-1], self.program(*flags, tokens=tokens), chosen)
        for plain, others in ((found[0], found[1:5]), (found[4], found[5:])):
            self.assertNotIn(plain, others)

    def test_a_generation_of_no_token_has_none_and_its_prompt_is_verified(self):
        none = slip.SamplingOptions(max_tokens=0)
        self.assertEqual(self.generated(none), [])
        sequence = ctypes.c_void_p()
        self.call(OK, "open_sequence", self.model, ctypes.byref(sequence))
        self.assertEqual(self.generated(none, "generate_in_sequence", sequence), [])
        self.call(OK, "free_sequence", sequence)
        self.prompt = [10**6]
        count = ctypes.c_size_t()
        self.call(BAD_INPUT, "generate", self.model, (ctypes.c_int32 * 1)(*self.prompt), 1,
                  ctypes.byref(none), ON_TOKEN(), None, None, ctypes.byref(count), says=["1000000"])

    def test_MODEL_17_a_bias_chooses_and_guesses_change_nothing(self):
        biased = slip.sampling(TOKENS, logit_bias={5: 1000.0})
        self.assertEqual(self.generated(biased), [5] * TOKENS)
        self.assertEqual(self.generated(slip.SamplingOptions(max_tokens=TOKENS, guesses=7)), self.program())

    def test_MODEL_3_a_sequence_goes_on_and_keeps_its_model(self):
        sequence = ctypes.c_void_p()
        self.call(OK, "open_sequence", self.model, ctypes.byref(sequence))
        greedy = slip.SamplingOptions(max_tokens=TOKENS)
        whole = self.generated(greedy)
        for _ in range(2):
            self.assertEqual(self.generated(greedy, "generate_in_sequence", sequence), whole)
        self.prompt += whole[:3]
        self.assertEqual(self.generated(greedy, "generate_in_sequence", sequence)[:4], whole[3:7])
        self.call(BUSY, "open_scheduler", self.model, None, ctypes.byref(ctypes.c_void_p()),
                  says=["sequences or text streams"])
        self.call(OK, "free_sequence", sequence)
        self.call(HANDLE, "free_sequence", sequence)


def text_of(pointer, count):
    return ctypes.string_at(pointer, count.value).decode()


@library_is_loadable
class Conversations(Model, SystemTest):
    def stream(self, *stops):
        handle, texts = ctypes.c_void_p(), (ctypes.c_char_p * len(stops))(*[s.encode() for s in stops])
        self.call(OK, "open_text_stream", self.model, (ctypes.c_int32 * len(self.prompt))(*self.prompt),
                  len(self.prompt), texts, len(stops), ctypes.byref(handle))
        return handle

    def pieces(self, handle, ids):
        """(the texts that were completed, whether a stop has come)."""
        text, count, stopped = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_int()
        pieces = []
        for token in ids:
            self.call(OK, "push_token", handle, token, ctypes.byref(text), ctypes.byref(count),
                      ctypes.byref(stopped))
            pieces.append(text_of(text, count))
        self.call(OK, "finish_text", handle, ctypes.byref(text), ctypes.byref(count))
        return [*pieces, text_of(text, count)], stopped.value

    def test_MODEL_15_a_stream_gives_the_text_up_to_its_stop(self):
        ids = self.generated(slip.SamplingOptions(max_tokens=TOKENS))
        whole = self.decode(self.model, self.prompt, ids)
        handle = self.stream()
        pieces, stopped = self.pieces(handle, ids)
        self.assertEqual(("".join(pieces), stopped), (whole, 0))
        self.assertGreater(sum(map(bool, pieces)), 3)
        self.call(OK, "free_text_stream", handle)
        stop = whole.split()[3]
        handle = self.stream("not in it", stop)
        pieces, stopped = self.pieces(handle, ids)
        self.assertEqual(("".join(pieces), stopped), (whole[:whole.index(stop)], 1))
        self.call(BAD_INPUT, "push_token", handle, -1, ctypes.byref(ctypes.c_void_p()),
                  ctypes.byref(ctypes.c_size_t()), ctypes.byref(ctypes.c_int()), says=["-1"])
        self.call(OK, "free_text_stream", handle)
        self.call(BAD_INPUT, "open_text_stream", self.model, None, 0, None, 1,
                  ctypes.byref(ctypes.c_void_p()), says=["stops is NULL"])

    def chat(self, expected, messages, format, says=()):
        spoken = (slip.ChatMessage * len(messages))(*messages)
        ids, count, end = (ctypes.c_int32 * 256)(), ctypes.c_size_t(), ctypes.c_int32()
        self.call(expected, "encode_chat", self.model, format, spoken, len(spoken), ids, 256,
                  ctypes.byref(count), ctypes.byref(end), says=says)
        return ids[:count.value], end.value

    def test_MODEL_18_a_conversation_becomes_ids(self):
        messages = [(0, b"Be brief."), (1, b"Hello?"), (2, b"Hello."), (1, b"And now?")]
        ids, end = self.chat(OK, messages, "mistral")
        self.assertEqual((ids[0], end), (1, 2))
        text = self.decode(self.model, [], ids)
        for _, said in messages:
            self.assertIn(said.decode(), text)
        self.chat(BAD_INPUT, messages, "alpaca", says=["alpaca", "chatml"])
        self.chat(BAD_INPUT, messages, None, says=["template"])
        self.chat(BAD_INPUT, [(7, b"Hello?")], "mistral", says=["role 7"])
        self.chat(BAD_INPUT, [(1, None)], "mistral", says=["text of a message is NULL"])
        self.chat(BAD_INPUT, messages[:1], "mistral")


@library_is_loadable
class Schedulers(Model, SystemTest):
    """Many generations at once, with callbacks in the scheduler's thread."""

    def setUp(self):
        super().setUp()
        self.ended, self.kept, self.scheduler = {}, [], ctypes.c_void_p()

    def open_scheduler(self, **options):
        chosen = slip.SchedulerOptions(**options)
        self.call(OK, "open_scheduler", self.model, ctypes.byref(chosen), ctypes.byref(self.scheduler))

    def submit(self, name, expected=OK, on_token=None, says=(), tokens=TOKENS, **members):
        """`name`: under which `ended` gets (reason, status, receipt, ids)."""
        ids, sampling, number = [], slip.SamplingOptions(max_tokens=tokens), ctypes.c_uint64()

        def see(_, token, logits, width):
            ids.append(token)
            return 1 if on_token is None else on_token(token)

        def end(_, told):
            told = told.contents
            self.ended[name] = (slip.Generation.REASONS[told.reason], told.status, told.generated_tokens, ids)

        self.kept += [sampling, ON_TOKEN(see), ON_END(end)]
        prompt = (ctypes.c_int32 * len(self.prompt))(*self.prompt)
        request = slip.GenerationRequest(
            prompt=prompt, prompt_count=len(self.prompt), sampling=ctypes.pointer(sampling),
            on_token=self.kept[-2], on_end=self.kept[-1], **members)
        self.call(expected, "submit", self.scheduler, ctypes.byref(request), ctypes.byref(number), says=says)
        return number.value

    def test_SERVE_1_generations_at_once_are_what_they_are_alone(self):
        alone = self.generated(slip.SamplingOptions(max_tokens=TOKENS))
        self.open_scheduler(live=2, guesses=3)
        for name in "abc":
            self.submit(name, tenant=b"same")
        self.submit("stopped", on_token=lambda _: 0)
        self.submit("none", tokens=0)
        self.submit("json", gbnf=b'root ::= "Once upon a time, "')
        self.call(OK, "drain", self.scheduler)
        for name in "abc":
            self.assertEqual(self.ended[name], ("length", OK, TOKENS, alone))
        self.assertEqual(self.ended["stopped"], ("stopped", OK, 1, alone[:1]))
        self.assertEqual(self.ended["none"], ("length", OK, 0, []))
        reason, _, _, ids = self.ended["json"]
        self.assertEqual((reason, self.decode(self.model, self.prompt, ids)),
                         ("end_of_text", "Once upon a time, "))
        self.submit("late", expected=OVERLOADED, says=["drains"])
        self.call(OK, "free_scheduler", self.scheduler)

    def test_what_a_scheduler_s_model_still_does(self):
        self.open_scheduler()
        count, logits = ctypes.c_size_t(), (ctypes.c_float * 4096)()
        self.assertEqual(self.encode(self.model, PROMPT), self.prompt)
        for name, arguments in (("forward", [(ctypes.c_int32 * 1)(1), 1, logits]),
                                ("open_sequence", [ctypes.byref(ctypes.c_void_p())]),
                                ("open_scheduler", [None, ctypes.byref(ctypes.c_void_p())])):
            self.call(BUSY, name, self.model, *arguments, says=["scheduler"])
        self.call(OK, "free_scheduler", self.scheduler)
        self.call(HANDLE, "vocabulary_size", self.model, ctypes.byref(count), says=["scheduler was freed"])
        self.call(HANDLE, "free_scheduler", self.scheduler)
        self.call(HANDLE, "drain", self.scheduler)

    def test_callbacks_may_call_what_does_not_wait_for_them(self):
        statuses = []
        self.open_scheduler()
        second = threading.Event()

        def meddle(_):
            second.wait(60)  # until there is something to cancel
            for name in ("free_scheduler", "drain"):
                statuses.append(getattr(self.library, f"slip_{name}")(self.scheduler))
            statuses.append(self.library.slip_cancel(self.scheduler, 2))
            return 0

        self.submit("first", on_token=meddle)
        self.submit("second")
        second.set()
        self.call(OK, "drain", self.scheduler)
        self.assertEqual(statuses, [BUSY, BUSY, OK])
        self.assertEqual(self.ended["first"][0], "stopped")
        self.assertEqual(self.ended["second"][0], "cancelled")
        self.call(OK, "free_scheduler", self.scheduler)

    def test_statistics_are_those_of_what_was_generated(self):
        self.open_scheduler(live=2)
        for name in "abc":
            self.submit(name)
        self.call(OK, "drain", self.scheduler)
        now, run = slip.SchedulerStatistics(), slip.RunStatistics()
        self.call(OK, "get_scheduler_statistics", self.scheduler, ctypes.byref(now), ctypes.byref(run))
        self.assertEqual({name: getattr(now, name) for name, _ in now._fields_[1:]},
                         {"serving": 1, "damaged": 0, "live": 0, "waiting": 0, "generations": 3,
                          "prompt_tokens": 3 * len(self.prompt), "cached_tokens": 0,
                          "generated_tokens": 3 * TOKENS, "sessions": 0, "rejects": 0, "stock_tokens": 0,
                          "full_stock_tokens": 0})
        self.assertEqual(run.rounds, 0)
        self.call(OK, "free_scheduler", self.scheduler)
        self.call(HANDLE, "get_scheduler_statistics", self.scheduler, ctypes.byref(now), None)

    def test_statistics_are_written_as_far_as_the_caller_s_structs_go(self):
        self.open_scheduler()
        older = slip.SchedulerStatistics(serving=7, damaged=7, live=7)
        older.size = slip.SchedulerStatistics.live.offset
        self.call(OK, "get_scheduler_statistics", self.scheduler, ctypes.byref(older), None)
        self.assertEqual((older.size, older.serving, older.damaged, older.live),
                         (slip.SchedulerStatistics.live.offset, 1, 0, 7))
        untouched, run = slip.SchedulerStatistics(live=7), slip.RunStatistics(rounds=7)
        run.size = 7
        self.call(BAD_INPUT, "get_scheduler_statistics", self.scheduler, ctypes.byref(untouched),
                  ctypes.byref(run), says=["run.size is 7"])
        untouched.size = 0
        run.size = ctypes.sizeof(run)
        self.call(BAD_INPUT, "get_scheduler_statistics", self.scheduler, ctypes.byref(untouched),
                  ctypes.byref(run), says=["statistics.size is 0"])
        self.assertEqual((untouched.live, run.rounds), (7, 7))
        self.call(BAD_INPUT, "get_scheduler_statistics", self.scheduler, None, ctypes.byref(run),
                  says=["statistics is NULL"])
        self.call(OK, "free_scheduler", self.scheduler)

    def test_freeing_cancels(self):
        self.open_scheduler()
        self.submit("endless", tokens=200)
        self.call(OK, "free_scheduler", self.scheduler)
        self.assertIn(self.ended["endless"][0], ("cancelled", "length"))

    def test_bad_requests_name_the_member(self):
        self.open_scheduler(waiting=1, live=1)
        self.submit("bad", BAD_INPUT, gbnf=b"root ::= ", json_schema=b"{}", says=["gbnf and json_schema"])
        self.submit("bad", BAD_INPUT, json_schema=b"{", says=["JSON"])
        self.submit("bad", BAD_INPUT, tokens=10**9)
        other, options = self.open("checkpoint", TINYSTORIES), slip.SchedulerOptions(guesses=16)
        self.call(BAD_INPUT, "open_scheduler", other, ctypes.byref(options), ctypes.byref(ctypes.c_void_p()),
                  says=["guesses"])
        for switch, number in [("keeps_no_prompts", "kept_prompt_bytes"),
                               ("ends_when_lost", "reopen_limit_ms")]:
            options = slip.SchedulerOptions(**{switch: 1, number: 1})
            self.call(BAD_INPUT, "open_scheduler", other, ctypes.byref(options),
                      ctypes.byref(ctypes.c_void_p()),
                      says=[f"{switch} and {number}: expected one of them at most"])
        self.call(OK, "free_language_model", other)
        request = slip.GenerationRequest(prompt_count=1)
        self.call(BAD_INPUT, "submit", self.scheduler, ctypes.byref(request), None, says=["prompt is NULL"])
        request = slip.GenerationRequest()
        self.call(BAD_INPUT, "submit", self.scheduler, ctypes.byref(request), None, says=["sampling is NULL"])
        self.call(BAD_INPUT, "submit", self.scheduler, None, None, says=["request is NULL"])
        self.assertEqual(self.ended, {})
        self.call(OK, "free_scheduler", self.scheduler)


if __name__ == "__main__":
    unittest.main()
