"""slip/slip.h with offline Davids: libslip.so through ctypes, three parties over TLS."""

import ctypes
import socket
import threading
import unittest

from c_api_library import (BAD_INPUT, INTEGRITY, OK, REPORT, CharlieOptions, Library,
                           library_is_loadable, with_offline)
from slip_system import OfflineDavid, SystemTest, write_checkpoint


@library_is_loadable
class OfflineDavids(Library, SystemTest):
    """Cancellations from an offline David, and what Charlie keeps on his host."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.slip(cls(), "split", "--model", write_checkpoint(cls.folder / "model"), "--rank", "3",
                 "--out", cls.artifact)
        cls.half = cls.folder / "half"
        cls.half.mkdir()
        (cls.half / "charlie").symlink_to(cls.artifact / "charlie")

    def setUp(self):
        self.state = self.folder / self.id().rsplit(".", 1)[1]

    def prepare(self, count=1):
        self.call(OK, "prepare_check_vectors", self.half, self.state, count,
                  self.artifact / "david/david.safetensors")

    def kept(self):
        """How many pairs are free or taken in the state folder."""
        (folder,) = self.state.iterdir()
        return len(list(folder.glob("*-*.free"))), len(list(folder.glob("*-*.taken")))

    def assert_same(self, model):
        unsplit = self.open("unsplit", self.artifact)
        self.assertEqual(self.generate(model, [1, 5, 9]), self.generate(unsplit, [1, 5, 9]))
        for opened in [model, unsplit]:
            self.call(OK, "free_language_model", opened)

    def test_LIN_4_with_an_offline_david_charlies_half_is_enough(self):
        self.prepare()
        with self.served() as david, self.served("offline") as offline:
            place = ctypes.byref(ctypes.c_void_p())
            where = [self.half, david, self.tls / "charlie"]
            for missing in [with_offline(offline), with_offline(state=self.state)]:
                self.call(BAD_INPUT, "open_charlie_tls", *where, ctypes.byref(missing), place, None,
                          says=[self.half / "david"])
            options = with_offline(offline, state=self.state)
            model = self.open("charlie_tls", *where, ctypes.byref(options))
            self.assertEqual(self.kept(), (0, 1))
            self.assert_same(model)
            self.assertEqual(self.kept(), (1, 0))

    def test_LIN_4_david_over_descriptors_and_an_offline_david_over_tls(self):
        david, ends = ctypes.c_void_p(), [end.detach() for end in socket.socketpair()]
        self.call(OK, "open_david", self.artifact / "david", None, ctypes.byref(david))
        thread = threading.Thread(target=self.library.slip_serve_fd, args=(david, ends[0], ends[0]))
        thread.start()
        self.prepare()
        with self.served("offline") as offline:
            options = with_offline(offline, state=self.state,
                                   offline_certificates=self.tls / "charlie")
            self.assert_same(self.open("charlie_fd", self.half, ends[1], ends[1],
                                       ctypes.byref(options)))
        thread.join()
        self.call(OK, "free_david", david)

    def test_INTEG_6_OFF_11_wrong_cancellations_are_an_integrity_error_and_end_the_pair(self):
        self.prepare(2)
        with self.served() as david, OfflineDavid(self.artifact / "david", self.tls / "offline",
                                                  "--misbehave", "flip") as wrong:
            options = with_offline(wrong.endpoint, state=self.state)
            model = self.open("charlie_tls", self.half, david, self.tls / "charlie",
                              ctypes.byref(options))
            self.generate(model, [1, 5], expected=INTEGRITY, says=[wrong.endpoint])
            self.call(OK, "free_language_model", model)
        self.assertEqual(self.kept(), (1, 0))

    def test_options_that_cannot_be(self):
        place = ctypes.byref(ctypes.c_void_p())
        here = "127.0.0.1:1"
        for options, says in [(with_offline(here), "offline 127.0.0.1:1: is David"),
                              (with_offline("nowhere"), "nowhere"),
                              (with_offline(None), "an element of offline is NULL"),
                              (CharlieOptions(offline_count=1), "offline is NULL")]:
            self.call(BAD_INPUT, "open_charlie_tls", self.artifact, here, self.tls / "charlie",
                      ctypes.byref(options), place, None, says=[says])
        self.call(BAD_INPUT, "open_charlie_fd", self.artifact,
                  *[end.detach() for end in socket.socketpair()],
                  ctypes.byref(with_offline(here)), place, None, says=["offline_certificates is NULL"])

    def test_check_vectors_that_cannot_be_made(self):
        weights = self.artifact / "david/david.safetensors"
        other = self.artifact / "david/manifest.json"
        for arguments, says in [((self.half, None, 1, None), "state is NULL"),
                                ((None, self.state, 1, None), "artifact is NULL"),
                                ((self.half, self.state, 0, weights), "count is 0"),
                                ((self.half, self.state, 1, None), self.half / "david"),
                                ((self.half, self.state, 1, self.folder / "none"), "none: cannot be"),
                                ((self.half, self.state, 1, other), "the weight file of David")]:
            self.call(BAD_INPUT, "prepare_check_vectors", *arguments, says=[says])

    def test_INTEG_7_an_unusable_state_folder_is_reported(self):
        (self.folder / "a file").write_text("")
        said = []
        note = REPORT(lambda context, line: said.append((context, line.decode())))
        options = with_offline(state=self.folder / "a file/state", note=note, note_context=7)
        model = self.open("charlie_in_process", self.artifact, ctypes.byref(options))
        self.assertEqual([context for context, _ in said], [7])
        self.assertIn("a file/state", said[0][1])
        self.call(OK, "free_language_model", model)


if __name__ == "__main__":
    unittest.main()
