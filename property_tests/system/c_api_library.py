"""What the tests of slip/slip.h share: libslip.so through ctypes, and its types."""

import contextlib
import ctypes
import re
import threading
import unittest

from slip_system import BUILD

LIBRARY = BUILD / "libslip.so"
OK, BAD_INPUT, PROTOCOL, INTEGRITY, INTERNAL, MEMORY, HANDLE, BUSY, SMALL = range(9)
STATUSES = ["OK", "BAD_INPUT", "PROTOCOL_ERROR", "INTEGRITY_ERROR", "INTERNAL_ERROR", "OUT_OF_MEMORY",
            "INVALID_HANDLE", "BUSY", "BUFFER_TOO_SMALL"]
ON_TOKEN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int32,
                            ctypes.POINTER(ctypes.c_float), ctypes.c_size_t)
REPORT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
TOKENS = 16


class CharlieOptions(ctypes.Structure):
    _fields_ = [("masks_ready", ctypes.c_size_t), ("timeout_ms", ctypes.c_uint32),
                ("patience_ms", ctypes.c_uint32), ("note", REPORT), ("note_context", ctypes.c_void_p),
                ("seal", ctypes.c_char_p)]


class DavidOptions(ctypes.Structure):
    _fields_ = [("threads", ctypes.c_size_t), ("max_sessions", ctypes.c_size_t),
                ("timeout_ms", ctypes.c_uint32), ("patience_ms", ctypes.c_uint32)]


class Sampling(ctypes.Structure):
    _fields_ = [("max_tokens", ctypes.c_size_t), ("temperature", ctypes.c_double),
                ("seed", ctypes.c_uint64)]


def sanitized():
    settings = (BUILD / "CMakeCache.txt").read_text()
    return re.search(r"^SLIP_SANITIZE:\w+=(.+)$", settings, re.MULTILINE)


def load():
    """libslip.so with the types of its functions, which ctypes would otherwise take for ints."""
    library = ctypes.CDLL(str(LIBRARY))
    size, pointer, text = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p
    both = [pointer, pointer]
    for name, types in {
            "open_checkpoint": [text, *both], "open_unsplit": [text, text, *both],
            "open_charlie_in_process": [text, pointer, *both],
            "open_charlie_tls": [text, text, text, pointer, *both],
            "open_charlie_fd": [text, ctypes.c_int, ctypes.c_int, pointer, *both],
            "free_language_model": [pointer], "free_image_classifier": [pointer],
            "vocabulary_size": [pointer, pointer], "max_positions": [pointer, pointer],
            "encode_prompt": [pointer, text, size, pointer, size, pointer],
            "encode": [pointer, text, size, pointer, size, pointer],
            "decode": [pointer, pointer, size, pointer, size, pointer, size, pointer],
            "generate": [pointer, pointer, size, pointer, ON_TOKEN, pointer, pointer, pointer],
            "forward": [pointer, pointer, size, pointer],
            "image_size": [pointer, pointer], "class_count": [pointer, pointer],
            "classify": [pointer, pointer, size, pointer],
            "open_david": [text, pointer, pointer], "free_david": [pointer],
            "serve_fd": [pointer, ctypes.c_int, ctypes.c_int],
            "open_server": [pointer, text, text, REPORT, pointer, pointer],
            "server_port": [pointer, pointer], "run_server": [pointer], "stop_server": [pointer],
            "free_server": [pointer]}.items():
        function = getattr(library, f"slip_{name}")
        function.argtypes, function.restype = types, ctypes.c_int
    for name in ("last_error", "library_version"):
        getattr(library, f"slip_{name}").restype = text
    return library


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
        cls.library = load()
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
                  ctypes.byref(Sampling(tokens, 0, 0)), ON_TOKEN(see), None, ids,
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
