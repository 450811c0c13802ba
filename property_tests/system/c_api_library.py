"""What the tests of slip/slip.h share: libslip.so through the types of python/slip."""

import contextlib
import ctypes
import re
import sys
import threading
import unittest

from slip_system import BUILD, ROOT

sys.path.insert(0, str(ROOT / "python"))
import slip  # noqa: E402
from slip import SamplingOptions  # noqa: E402
from slip.structs import ON_TOKEN, REPORT  # noqa: E402

LIBRARY = BUILD / "libslip.so"
OK, BAD_INPUT, PROTOCOL, INTEGRITY, INTERNAL, MEMORY, HANDLE, BUSY, SMALL, OVERLOADED, STOPPED = range(11)
STATUSES = ["OK", "BAD_INPUT", "PROTOCOL_ERROR", "INTEGRITY_ERROR", "INTERNAL_ERROR", "OUT_OF_MEMORY",
            "INVALID_HANDLE", "BUSY", "BUFFER_TOO_SMALL", "OVERLOADED", "STOPPED"]
TOKENS = 16


def sanitized():
    settings = (BUILD / "CMakeCache.txt").read_text()
    return re.search(r"^SLIP_SANITIZE:\w+=(.+)$", settings, re.MULTILINE)


def library_is_loadable(case):
    """Skips the class where there is nothing that this interpreter can load."""
    reason = "an interpreter without sanitizers cannot load a sanitized library"
    case = unittest.skipIf(sanitized(), reason)(case)
    return unittest.skipUnless(LIBRARY.is_file(), "this build has no libslip.so")(case)


class Library:
    """Calls by name, without `slip_`; what a call must return is its first argument."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.library = slip.c.load(LIBRARY)
        cls.tls, cls.artifact = cls.folder / "tls", cls.folder / "artifact"
        cls.slip(cls(), "keys", "--out", cls.tls)

    def call(self, expected, name, *arguments, says=()):
        arguments = [str(a).encode() if hasattr(a, "joinpath") or isinstance(a, str) else a
                     for a in arguments]
        status = getattr(self.library, f"slip_{name}")(*arguments)
        message = self.library.slip_last_error().decode() if status else ""
        self.assertEqual(status, expected, f"{name}: {message}")
        for text in says:
            self.assertIn(str(text), message)

    def open(self, how, *arguments):
        """A language model."""
        model = ctypes.c_void_p()
        self.call(OK, f"open_{how}", *arguments, ctypes.byref(model), None)
        return model

    def encode(self, model, text):
        ids, count = (ctypes.c_int32 * 64)(), ctypes.c_size_t()
        self.call(OK, "encode_prompt", model, text, len(text.encode()), ids, 64,
                  ctypes.byref(count))
        return ids[:count.value]

    def decode(self, model, prompt, ids):
        text, count = ctypes.create_string_buffer(4096), ctypes.c_size_t()
        self.call(OK, "decode", model, (ctypes.c_int32 * len(prompt))(*prompt), len(prompt),
                  (ctypes.c_int32 * len(ids))(*ids), len(ids), text, 4096, ctypes.byref(count))
        self.assertEqual(len(text.value), count.value)
        return text.value.decode()

    def generate(self, model, prompt, on_token=None, expected=OK, tokens=TOKENS, says=()):
        """The new ids, and the bytes of the logits that they were chosen from."""
        logits, seen = [], []

        def see(_, token, row, width):
            logits.append(ctypes.string_at(row, 4 * width))
            seen.append(token)
            return 1 if on_token is None else on_token(token)

        ids, count = (ctypes.c_int32 * tokens)(), ctypes.c_size_t()
        self.call(expected, "generate", model, (ctypes.c_int32 * len(prompt))(*prompt), len(prompt),
                  ctypes.byref(SamplingOptions(max_tokens=tokens)), ON_TOKEN(see), None, ids,
                  ctypes.byref(count), says=says)
        if expected == OK:
            self.assertEqual(ids[:count.value], seen)
        return ids[:count.value], b"".join(logits)

    @contextlib.contextmanager
    def served(self, options=None):
        """A David of the library's; yields where he listens."""
        david, server, port = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint16()
        lines, ended = [], []
        report = REPORT(lambda _, line: lines.append(line))
        self.call(OK, "open_david", self.artifact / "david", options, ctypes.byref(david))
        self.call(OK, "open_server", david, "127.0.0.1:0", self.tls / "david", report, None,
                  ctypes.byref(server))
        self.call(OK, "free_david", david)  # the server goes on
        self.call(OK, "server_port", server, ctypes.byref(port))
        thread = threading.Thread(target=lambda: ended.append(self.library.slip_run_server(server)))
        thread.start()
        try:
            yield f"127.0.0.1:{port.value}"
        finally:
            self.call(OK, "stop_server", server)
            thread.join()
        self.assertEqual((ended, lines), ([OK], []))
        self.call(BUSY, "run_server", server, says=["before"])
        self.call(OK, "free_server", server)
        self.call(HANDLE, "stop_server", server)
