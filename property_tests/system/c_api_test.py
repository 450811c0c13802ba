"""slip/slip.h from another language: libslip.so through ctypes, against the programs."""
# test: once

import ctypes
import hashlib
import json
import re
import socket
import threading
import unittest

from c_api_library import (BAD_INPUT, BUSY, HANDLE, INTEGRITY, OK, PROTOCOL, SMALL, STATUSES, STOPPED, TOKENS,
                           Library, library_is_loadable, slip)
from cnn_test import write_images, write_network
from slip.structs import ON_PROGRESS, ON_TOKEN, REPORT
from slip_system import ROOT, TINYSTORIES, David, SystemTest, write_checkpoint

PROMPT = "Once upon a time"


@library_is_loadable
class SameResults(Library, SystemTest):
    """What the C++ program computes, bit for bit, on the bundled model."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.slip(cls(), "split", "--model", TINYSTORIES, "--rank", "16", "--out", cls.artifact)

    def assert_same(self, model, *flags):
        program, logits = SystemTest.generate(self, "program", *flags, "--prompt", PROMPT,
                                              "--max-tokens", TOKENS)
        prompt = self.encode(model, PROMPT)
        self.assertEqual(prompt, program["prompt_ids"])
        ids, rows = self.generate(model, prompt)
        self.assertEqual(ids, program["ids"])
        self.assertEqual(rows, logits)
        self.assertEqual(self.decode(model, prompt, ids), program["text"])
        self.call(OK, "free_language_model", model)

    def test_a_checkpoint_in_float(self):
        self.assert_same(self.open("checkpoint", TINYSTORIES), "--model", TINYSTORIES, "--engine",
                         "float")

    def test_LIN_4_the_unsplit_model_and_charlie_in_process(self):
        flags = ["--artifact", self.artifact, "--engine", "hybrid"]
        self.assert_same(self.open("unsplit", self.artifact, None), *flags)
        self.assert_same(self.open("charlie_in_process", self.artifact, None), *flags)

    def test_MODEL_6_statistics_are_the_programs(self):
        program, _ = SystemTest.generate(self, "program", "--artifact", self.artifact, "--engine", "hybrid",
                                         "--prompt", PROMPT, "--max-tokens", TOKENS)
        model = self.open("charlie_in_process", self.artifact, None)
        self.generate(model, self.encode(model, PROMPT))
        run = slip.RunStatistics()
        self.call(OK, "get_language_statistics", model, ctypes.byref(run))
        for name in ["rounds", "bytes_up", "bytes_down", "checks", "charlie_multiplications",
                     "david_multiplications", "offline_multiplications", "masks_used"]:
            self.assertEqual(getattr(run, name), program[name], name)
            self.assertGreater(getattr(run, name), 0, name)
        self.assertEqual(run.columns, run.masks_used)
        for name in ["charlie_seconds", "round_seconds", "david_seconds", "offline_seconds"]:
            self.assertGreater(getattr(run, name), 0, name)

        older = slip.RunStatistics(rounds=7, columns=7, bytes_up=7)  # whose compiler knew two members
        older.size = slip.RunStatistics.bytes_up.offset
        self.call(OK, "get_language_statistics", model, ctypes.byref(older))
        self.assertEqual((older.rounds, older.columns, older.bytes_up), (run.rounds, run.columns, 7))
        newer = (ctypes.c_size_t * 40)(320, *[7] * 39)
        self.call(OK, "get_language_statistics", model,
                  ctypes.cast(newer, ctypes.POINTER(slip.RunStatistics)))
        words = ctypes.sizeof(slip.RunStatistics) // 8
        self.assertEqual((newer[0], newer[1], list(newer[words:])), (320, run.rounds, [0] * (40 - words)))
        for wrong in [0, 7, 4097]:
            older.size = wrong
            self.call(BAD_INPUT, "get_language_statistics", model, ctypes.byref(older),
                      says=["statistics.size"])
        self.call(BAD_INPUT, "get_language_statistics", model, None, says=["statistics is NULL"])
        self.call(OK, "free_language_model", model)
        self.call(HANDLE, "get_language_statistics", model, ctypes.byref(run))

    def test_LIN_4_charlie_and_david_over_tls(self):
        with self.served(options=ctypes.byref(slip.DavidOptions(threads=2))) as endpoint:
            options = slip.CharlieOptions(mask_memory=2**28)
            model = self.open("charlie_tls", self.artifact, endpoint, self.tls / "charlie",
                              ctypes.byref(options))
            self.assert_same(model, "--artifact", self.artifact, "--engine", "unsplit")

    def test_masks_that_the_model_does_not_have_are_not_kept_ready(self):
        options = slip.CharlieOptions(masks_ready=128)
        self.call(BAD_INPUT, "open_charlie_in_process", self.artifact, ctypes.byref(options),
                  ctypes.byref(ctypes.c_void_p()), None, says=["masks_ready", "mask_memory"])

    def test_more_masks_than_can_be_kept_ready_are_refused(self):
        for wrong in [65537, 2**64 - 1]:
            options = slip.CharlieOptions(masks_ready=wrong)
            self.call(BAD_INPUT, "open_charlie_in_process", self.artifact, ctypes.byref(options),
                      ctypes.byref(ctypes.c_void_p()), None,
                      says=[f"masks_ready is {wrong}: expected 1 to 65536"])

    def test_LIN_4_charlie_and_david_over_descriptors(self):
        david, ends = ctypes.c_void_p(), [end.detach() for end in socket.socketpair()]
        self.call(OK, "open_david", self.artifact / "david", None, ctypes.byref(david))
        ended = []
        thread = threading.Thread(
            target=lambda: ended.append(self.library.slip_serve_fd(david, ends[0], ends[0])))
        thread.start()
        model = self.open("charlie_fd", self.artifact, ends[1], ends[1], None)
        self.assert_same(model, "--artifact", self.artifact, "--engine", "unsplit")
        thread.join()  # freeing the model closed its session in order
        self.assertEqual(ended, [OK])
        self.call(OK, "free_david", david)


@library_is_loadable
class Calls(Library, SystemTest):
    """What a caller can do wrong, and how a callback stops."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = write_checkpoint(cls.folder / "model")
        cls.network = write_network(cls.folder / "net.onnx")
        cls.images = cls.folder / "images-artifact"
        for model, out in [(cls.model, cls.artifact), (cls.network, cls.images)]:
            cls.slip(cls(), "split", "--model", model, "--rank", "3", "--out", out)

    def test_the_statuses_and_the_version_are_the_header_s(self):
        header = (ROOT / "include/slip/slip.h").read_text()
        declared = re.findall(r"^ +SLIP_(\w+) = (\d+)", header, re.MULTILINE)
        self.assertEqual(declared[:len(STATUSES)],
                         [(name, str(number)) for number, name in enumerate(STATUSES)])
        self.assertEqual([name.removeprefix("END_").lower() for name, _ in declared[len(STATUSES):]],
                         [name.removeprefix("end_") for name in slip.Generation.REASONS])
        version = re.search(r'#define SLIP_VERSION "(.*)"',
                            (ROOT / "include/slip/version.h").read_text())[1]
        self.assertEqual(self.library.slip_library_version().decode(), version)

    def test_bad_files_are_named(self):
        nothing = self.folder / "nothing"
        place = ctypes.byref(ctypes.c_void_p())
        self.call(BAD_INPUT, "open_checkpoint", nothing, place, None, says=[nothing])
        self.call(BAD_INPUT, "open_unsplit", nothing, None, place, place, says=[nothing])
        self.call(BAD_INPUT, "open_charlie_in_process", self.model, None, place, None,
                  says=[self.model])
        self.call(BAD_INPUT, "open_david", self.artifact / "charlie", None, place,
                  says=[self.artifact / "charlie"])
        self.call(BAD_INPUT, "open_charlie_tls", self.artifact, "nowhere", nothing, None, place,
                  None, says=["nowhere"])
        self.call(BAD_INPUT, "open_charlie_tls", self.artifact, "127.0.0.1:1", nothing, None, place,
                  None, says=[nothing])
        self.call(BAD_INPUT, "open_checkpoint", None, place, None, says=["path is NULL"])

    def test_a_model_of_another_kind_is_bad_input_and_names_the_file(self):
        place = ctypes.byref(ctypes.c_void_p())
        self.call(BAD_INPUT, "open_checkpoint", self.network, place, None,
                  says=[self.network, "expected a language model"])
        self.call(BAD_INPUT, "open_unsplit", self.artifact, None, None, place,
                  says=[self.artifact, "expected a convolutional network"])
        self.call(BAD_INPUT, "open_unsplit", self.artifact, None, None, None, says=["NULL"])
        language, images = ctypes.c_void_p(1), ctypes.c_void_p(1)
        self.call(OK, "open_checkpoint", self.network, ctypes.byref(language), ctypes.byref(images))
        self.assertIsNone(language.value)
        self.call(OK, "free_image_classifier", images)

    def test_SESS_1_a_david_who_is_not_there_is_a_protocol_error(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            endpoint = f"127.0.0.1:{taken.getsockname()[1]}"
        self.call(PROTOCOL, "open_charlie_tls", self.artifact, endpoint, self.tls / "charlie", None,
                  ctypes.byref(ctypes.c_void_p()), None, says=[endpoint])

    def test_INTEG_3_a_wrong_reply_is_an_integrity_error(self):
        with David(self.artifact / "david", self.tls / "david", "--misbehave", "flip") as david:
            model = self.open("charlie_tls", self.artifact, david.endpoint, self.tls / "charlie",
                              None)
            self.generate(model, [1, 5], expected=INTEGRITY)
            self.generate(model, [1, 5], expected=PROTOCOL)
            self.call(OK, "free_language_model", model)
            # INTEG-7: this process does not go back to him.
            self.call(PROTOCOL, "open_charlie_tls", self.artifact, david.endpoint,
                      self.tls / "charlie", None, ctypes.byref(ctypes.c_void_p()), None,
                      says=[david.endpoint, "sent a wrong reply", "until it is restarted"])

    def test_a_callback_stops_the_generation(self):
        model = self.open("charlie_in_process", self.artifact, None)
        whole, _ = self.generate(model, [1, 5, 9], tokens=8)
        self.assertGreaterEqual(len(whole), 4)
        left = [3]

        def three(_):
            left[0] -= 1
            return int(left[0] > 0)

        some, _ = self.generate(model, [1, 5, 9], on_token=three, tokens=8)
        self.assertEqual(some, whole[:3])
        # A callback that fails says None, which ctypes makes 0.
        none, _ = self.generate(model, [1, 5, 9], on_token=lambda _: 0, tokens=8)
        self.assertEqual(none, whole[:1])
        self.assertEqual(self.generate(model, [1, 5, 9], tokens=8)[0], whole)
        self.call(OK, "free_language_model", model)

    def test_a_callback_may_ask_and_free_but_not_compute(self):
        model = self.open("unsplit", self.artifact, None)
        count, statuses = ctypes.c_size_t(), []

        def meddle(_):
            lib = self.library
            logits = (ctypes.c_float * 32)()
            statuses.append(lib.slip_forward(model, (ctypes.c_int32 * 1)(1), 1, logits))
            statuses.append(lib.slip_vocabulary_size(model, ctypes.byref(count)))
            statuses.append(lib.slip_free_language_model(model))
            return 1

        whole, _ = self.generate(model, [1, 5], on_token=meddle, tokens=2)
        self.assertEqual(len(whole), 2)
        self.assertEqual(statuses, [BUSY, OK, OK, HANDLE, HANDLE, HANDLE])
        self.assertEqual(count.value, 32)

    def test_handles_that_are_null_or_freed_or_of_another_type(self):
        model, david = self.open("unsplit", self.artifact, None), ctypes.c_void_p()
        self.call(OK, "open_david", self.artifact / "david", None, ctypes.byref(david))
        self.assertGreater(david.value, model.value)  # all types have one count
        count = ctypes.byref(ctypes.c_size_t())
        for handle in [None, david, ctypes.c_void_p(2**64 - 1)]:
            self.call(HANDLE, "vocabulary_size", handle, count)
            self.call(HANDLE, "free_language_model", handle)
            self.generate(handle, [1], expected=HANDLE)
        self.call(HANDLE, "free_david", model, says=["another type"])
        self.call(HANDLE, "free_server", None, says=["NULL"])
        self.call(HANDLE, "image_size", model, count)
        self.call(OK, "vocabulary_size", model, count)
        self.call(OK, "free_language_model", model)
        other = self.open("unsplit", self.artifact, None)
        for _ in range(2):
            self.call(HANDLE, "free_language_model", model, says=["freed"])
            self.call(HANDLE, "vocabulary_size", model, count)
        self.assertNotEqual(other.value, model.value)
        self.call(OK, "free_language_model", other)
        self.call(OK, "free_david", david)
        self.call(HANDLE, "serve_fd", david, *[end.detach() for end in socket.socketpair()])

    def test_arguments_that_are_null_or_too_small_or_out_of_range(self):
        model, count = self.open("unsplit", self.artifact, None), ctypes.c_size_t()
        ids, sampling = (ctypes.c_int32 * 1)(1), slip.SamplingOptions(max_tokens=2)
        no_callback = ON_TOKEN(0)
        self.call(BAD_INPUT, "generate", model, ids, 1, None, no_callback, None, None,
                  ctypes.byref(count), says=["options is NULL"])
        self.call(BAD_INPUT, "generate", model, None, 1, ctypes.byref(sampling), no_callback, None,
                  None, ctypes.byref(count), says=["prompt is NULL"])
        self.call(BAD_INPUT, "generate", model, ids, 1, ctypes.byref(sampling), no_callback, None,
                  None, None, says=["count is NULL"])
        self.call(BAD_INPUT, "forward", model, (ctypes.c_int32 * 1)(99), 1, (ctypes.c_float * 32)(),
                  says=["99"])
        self.call(BAD_INPUT, "forward", model, None, 0, (ctypes.c_float * 32)())
        self.call(BAD_INPUT, "encode", model, "text", 4, ids, 1, ctypes.byref(count),
                  says=[self.artifact, "no tokenizer"])
        self.call(OK, "generate", model, ids, 1, ctypes.byref(sampling), no_callback, None, None,
                  ctypes.byref(count))
        self.assertEqual(count.value, 2)
        self.call(OK, "free_language_model", model)

        trained = self.open("checkpoint", TINYSTORIES)
        self.call(SMALL, "encode", trained, PROMPT, len(PROMPT), ids, 1, ctypes.byref(count))
        self.assertGreater(count.value, 1)
        text = ctypes.create_string_buffer(2)
        self.call(SMALL, "decode", trained, None, 0, ids, 1, text, 0, ctypes.byref(count))
        self.call(OK, "free_language_model", trained)

    def test_CNN_5_images(self):
        write_images(self.folder, 3, 9, 8)
        expected = json.loads(self.slip(
            "eval", "--artifact", self.images, "--engine", "hybrid", "--images",
            self.folder / "images", "--labels", self.folder / "labels", "--json",
            "--logits").stdout)["logits"]
        model, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.call(OK, "open_charlie_in_process", self.images, None, None, ctypes.byref(model))
        self.call(OK, "image_size", model, ctypes.byref(size))
        self.assertEqual(size.value, 72)
        self.call(OK, "class_count", model, ctypes.byref(size))
        self.assertEqual(size.value, 4)
        pixels = (ctypes.c_float * 216)(*(self.folder / "images").read_bytes()[16:])
        logits = (ctypes.c_float * 12)()
        self.call(OK, "classify", model, pixels, 3, logits)
        self.assertEqual(list(logits), [value for row in expected for value in row])
        self.call(BAD_INPUT, "classify", model, pixels, 0, logits)
        self.call(BAD_INPUT, "classify", model, pixels, 2**62, logits, says=["image_count"])
        self.call(OK, "free_image_classifier", model)
        self.call(HANDLE, "free_image_classifier", model)

    def test_MODEL_13_a_split_is_the_program_s_and_may_be_stopped(self):
        seen, notes = [], []

        def progress(_, told):
            seen.append((told.contents.finished, told.contents.matrices))
            return 1

        out = self.folder / "by-library"
        on_progress, note = ON_PROGRESS(progress), REPORT(lambda _, line: notes.append(line))
        options = slip.SplitOptions(rank=3, on_progress=on_progress, note=note)
        self.call(OK, "split", self.model, out, ctypes.byref(options))
        self.assertEqual(seen[-1][0], seen[-1][1])
        self.assertEqual(notes, [b"lm_head is tied to model.embed_tokens: David holds the quantised "
                                 b"embedding"])
        own, program = (slip_digest(folder / "david") for folder in (out, self.artifact))
        self.assertEqual(own, program)
        self.call(BAD_INPUT, "split", self.model, out, ctypes.byref(options), says=[out])
        stopped = self.folder / "stopped"
        options.on_progress = ON_PROGRESS(lambda _, told: 0)
        self.call(STOPPED, "split", self.model, stopped, ctypes.byref(options), says=["stopped"])
        self.assertFalse(stopped.exists())
        options = slip.SplitOptions(rank=3, plan=b"plan.json")
        self.call(BAD_INPUT, "split", self.model, stopped, ctypes.byref(options), says=["plan and rank"])


def slip_digest(folder):
    """Of all files of a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


if __name__ == "__main__":
    unittest.main()
