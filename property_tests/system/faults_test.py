"""What David does when Charlie fails or attacks: real processes over TLS. spec/threat-model.md
lists every fault with its test."""

import contextlib
import json
import os
import re
import resource
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time
import unittest
from unittest import mock

from fake_peers import (ABORT, APPLY, BUSY, CLOSE, HELLO, LIMITS_S, MALFORMED, OUT_OF_ORDER, PLANES,
                        PRIMES, READY, REFUSE, REPLY, UNKNOWN_GROUP, columns, connect, frame, hello_of,
                        receive_frame, vanish)
from slip_system import BUILD, LIMIT_S, Deployment, setting


class CharlieFails(Deployment):
    """David reports it, frees the place, and serves the others."""

    SET = "paper"  # that of fake_peers

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        manifest = json.loads((cls.artifact / "david/manifest.json").read_text())
        cls.widths = [group["cols"] for group in manifest["groups"]]
        cls.hello = hello_of(cls.artifact)

    def connect(self, david):
        """A Charlie with the right certificate."""
        secured = connect(david.endpoint, self.tls)
        self.addCleanup(secured.close)
        return secured

    def open_session(self, david):
        charlie = self.connect(david)
        charlie.sendall(self.hello)
        self.assertEqual(receive_frame(charlie), frame(READY))
        return charlie

    def apply(self, sequence=0, group=0, count=1):
        return columns(APPLY, sequence, group, count, [7] * (count * self.widths[group]))

    def kill(self, connection):
        """What the end of a process does to its connection, at its worst: a reset."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        socket.socket(fileno=connection.detach()).close()

    def steps(self, david):
        """Connections that have come to each step of a session and no further."""
        host, port = david.endpoint.split(":")
        connected, within = [socket.create_connection((host, int(port))) for _ in range(2)]
        for plain in [connected, within]:
            self.addCleanup(plain.close)
        yield "connected", connected
        within.sendall(b"\x16\x03\x01\x02\x00\x01")
        yield "within the handshake", within
        yield "after the handshake", self.connect(david)
        for name, sent in [("within HELLO", self.hello[:20]), ("after HELLO", self.hello),
                           ("within a length field", self.hello + b"\x20\x00"),
                           ("within APPLY", self.hello + self.apply()[:40]),
                           ("after APPLY", self.hello + self.apply())]:
            charlie = self.connect(david)
            charlie.sendall(sent)
            yield name, charlie
        between = self.open_session(david)
        between.sendall(self.apply())
        receive_frame(between)
        yield "between messages", between

    def test_killed_at_every_step(self):
        with self.david("--max-sessions", "2") as david:  # fewer than there are steps
            for name, connection in self.steps(david):
                with self.subTest(name):
                    self.kill(connection)
                    self.assert_served(david.endpoint)
            self.assertEqual(david.stop()[0], 0)

    def within_some_limit(self, attempt):
        """attempt(seconds) must succeed under one of the limits: under a short one a loaded machine
        is cut off before it comes to the fault, or when it is served."""
        for seconds in LIMITS_S[:-1]:
            with contextlib.suppress(AssertionError, OSError, EOFError):
                return attempt(str(seconds))
        attempt(str(LIMITS_S[-1]))

    def test_SESS_8_hung_at_every_step(self):
        def attempt(seconds):
            limits = ["--timeout", seconds, "--patience", seconds]
            with self.david("--max-sessions", "16", *limits) as david:
                hung = list(self.steps(david))
                for _, connection in hung:
                    connection.settimeout(LIMIT_S)
                    with contextlib.suppress(ConnectionError, ssl.SSLError):
                        while connection.recv(1 << 16):  # READY and REPLY may come first
                            pass
                self.assert_served(david.endpoint)
                reports = david.stop()[1]
                self.assertGreaterEqual(reports.count("did not act in time"), len(hung), reports)
        self.within_some_limit(attempt)

    def test_SESS_8_his_machine_is_gone(self):
        """While David waits for a frame, and while his reply is under way: long before the patience ends."""
        def attempt(seconds):
            limits = ["--timeout", seconds, "--patience", str(2 * LIMIT_S)]
            with self.david("--max-sessions", "2", *limits) as david:
                gone = [self.open_session(david) for _ in range(2)]
                for charlie in gone:
                    vanish(charlie)
                # It comes to David; what he answers is not acknowledged.
                gone[0].sendall(self.apply())
                command = self.charlie_command(david.endpoint, "--timeout", str(LIMIT_S))
                self.assertEqual(json.loads(self.slip(*command).stdout)["ids"], self.honest_ids)
                reports = david.stop()[1]
                self.assertEqual(reports.count("did not act in time"), 2, reports)
        self.within_some_limit(attempt)

    def test_the_process_killed_within_a_session(self):
        with self.david() as david:
            command = self.charlie_command(david.endpoint)
            command[command.index("8")] = "29"
            for _ in range(3):
                process = subprocess.Popen([str(BUILD / "slip"), *map(str, command)],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(0.02)  # somewhere between its start and its end
                process.kill()
                process.wait()
            self.assert_served(david.endpoint)

    def refusal(self, david, sent, opened=True):
        """David's answer to `sent` must be a REFUSE and the end; returns the reason."""
        charlie = self.open_session(david) if opened else self.connect(david)
        charlie.sendall(sent)
        answer = receive_frame(charlie)
        self.assertEqual(answer[:5], frame(REFUSE, b"x")[:5], answer)
        self.assertEqual(charlie.recv(1), b"")
        return answer[5]

    def test_WIRE_8_malformed_frames(self):
        good = self.apply()
        n = self.widths[0]
        # A byte that is not below the prime of its plane.
        planes = [good[:21 + plane * n] + bytes([prime]) + good[22 + plane * n:]
                  for plane, prime in enumerate(PRIMES)]
        cases = [*planes, bytes(4), frame(0), frame(8), frame(APPLY), good[:-4] + b"\xff\xff\xff\xff",
                 struct.pack("<I", len(good) - 3) + good[4:] + b"\x00",
                 columns(APPLY, 0, 0, 0, []), columns(APPLY, 0, 0, 4097, []),
                 columns(APPLY, 0, 0, 2, [7] * n), frame(CLOSE, b"\x00"),
                 frame(ABORT, b"\x00"), b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64]
        with self.david() as david:
            for sent in cases:
                with self.subTest(sent[:32]):
                    self.assertEqual(self.refusal(david, sent), MALFORMED)
            for sent in [frame(HELLO), frame(HELLO, b"SLAP" + self.hello[9:]),
                         self.hello[:-1] + b"\x00\x00", b"\x16\x03\x01" + bytes(60)]:
                with self.subTest(sent[:32]):
                    self.assertIn(self.refusal(david, sent, False), (MALFORMED, 3))
            self.assert_served(david.endpoint)

    def test_SESS_1_SESS_3_frames_out_of_order(self):
        with self.david() as david:
            for sent in [self.hello, frame(READY), frame(REFUSE, b"\x07"), self.apply(sequence=1),
                         columns(REPLY, 0, 0, 1, [0] * 32)]:
                with self.subTest(sent[:32]):
                    self.assertIn(self.refusal(david, sent), (OUT_OF_ORDER, MALFORMED))
            for sent in [frame(CLOSE), self.apply()]:
                with self.subTest(sent[:32]):
                    # An APPLY is longer than a HELLO, so this one is malformed (WIRE-9).
                    expected = OUT_OF_ORDER if sent == frame(CLOSE) else MALFORMED
                    self.assertEqual(self.refusal(david, sent, False), expected)
            unknown = columns(APPLY, 0, len(self.widths), 1, [0])
            self.assertEqual(self.refusal(david, unknown), UNKNOWN_GROUP)
            self.assert_served(david.endpoint)

    def test_SESS_2_another_version_set_or_artifact(self):
        with self.david() as david:
            for reason, at in [(1, 9), (2, 11), (3, 12)]:
                hello = bytearray(self.hello)
                hello[at] ^= 0x40
                self.assertEqual(self.refusal(david, bytes(hello), False), reason)
            self.assert_served(david.endpoint)

    def peak_memory(self, david):
        """The most memory that the process has had so far, in bytes."""
        with open(f"/proc/{david.process.pid}/status") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if "VmHWM" in line)

    def test_WIRE_9_announcements_do_not_take_memory(self):
        with self.david("--timeout", "2") as david:
            self.assert_served(david.endpoint)
            before = self.peak_memory(david)
            largest = 17 + 4096 * PLANES * max(self.widths)
            for length in [largest + 1, 1 << 26, (1 << 26) + 64, (1 << 32) - 1]:
                self.assertEqual(self.refusal(david, struct.pack("<I", length)), MALFORMED)
            self.assertEqual(self.refusal(david, struct.pack("<I", 41), False), MALFORMED)
            waiting = [self.open_session(david) for _ in range(12)]
            for charlie in waiting:
                charlie.sendall(struct.pack("<IB", largest, APPLY))
            self.assert_served(david.endpoint)
            # Some pages of each thread beside the frames. AddressSanitizer's shadow takes an eighth, and
            # what was freed stays in its quarantine.
            frames = 3 if setting("SLIP_SANITIZE") else 2
            allowed = frames * len(waiting) * (largest + (1 << 20))
            self.assertLess(self.peak_memory(david) - before, allowed)

    def test_a_flood_is_refused_and_not_read(self):
        with self.david() as david:
            flooding = self.open_session(david)
            with self.assertRaises((OSError, ssl.SSLError)):
                while True:  # David reads on for a second, so that his REFUSE arrives
                    flooding.sendall(b"\xff" * (1 << 16))
            self.assert_served(david.endpoint)

    def test_requests_without_end_hurt_no_other(self):
        stop = threading.Event()

        def request(charlie):
            sequence = 0
            with contextlib.suppress(OSError, EOFError, ssl.SSLError):
                while not stop.is_set():
                    charlie.sendall(self.apply(sequence, count=256))
                    receive_frame(charlie)
                    sequence += 1
        with self.david() as david:
            threads = [threading.Thread(target=request, args=(self.open_session(david),))
                       for _ in range(2)]
            for thread in threads:
                thread.start()
            try:
                self.assert_served(david.endpoint)
            finally:
                stop.set()
                for thread in threads:
                    thread.join()

    def test_several_charlies_beside_malicious_ones(self):
        """All at once: peers hung at every step, malformed frames, a flood, half frames."""
        with self.david("--max-sessions", "32") as david:
            hung = list(self.steps(david))
            honest = [subprocess.Popen(
                [str(BUILD / "slip"), *map(str, self.charlie_command(david.endpoint))],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
            for sent in [b"\xff" * 64, self.apply(sequence=3), frame(CLOSE, b"x")]:
                self.refusal(david, sent)
            for _, connection in hung[3:5]:
                self.kill(connection)
            drip = self.open_session(david)
            for byte in self.apply()[:20]:
                drip.sendall(bytes([byte]))
            for process in honest:
                out, err = process.communicate(timeout=LIMIT_S)
                self.assertEqual(process.returncode, 0, err)
                self.assertEqual(json.loads(out)["ids"], self.honest_ids)
            for _, connection in hung:
                connection.close()

    def garbage(self, david):
        """A connection that David reports."""
        host, port = david.endpoint.split(":")
        with socket.create_connection((host, int(port)), timeout=LIMIT_S) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                while plain.recv(1 << 16):
                    pass

    def test_the_reader_of_davids_log_is_gone(self):
        with self.david() as david:
            david.process.stderr.close()
            for _ in range(3):
                self.garbage(david)
            self.assert_served(david.endpoint)
            david.process.send_signal(signal.SIGTERM)
            self.assertEqual(david.process.wait(LIMIT_S), 0)

    def test_the_terminal_of_david_is_gone(self):
        """His log goes to it."""
        terminal, log = os.openpty()
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, terminal)
            with os.fdopen(log, "w") as stderr:
                david = stack.enter_context(self.david(stderr=stderr))
            self.open_session(david)
            self.assertEqual(david.stop(signal.SIGHUP)[0], 0)

    def certificate(self, david):
        with contextlib.closing(connect(david.endpoint, self.tls)) as connection:
            return connection.getpeercert(True)

    def test_certificates_are_read_again(self):
        with self.david() as david:
            before = self.certificate(david)
            session = self.open_session(david)
            self.slip("keys", "--renew", self.tls)
            david.process.send_signal(signal.SIGHUP)
            deadline = time.monotonic() + LIMIT_S
            while self.certificate(david) == before:
                self.assertLess(time.monotonic(), deadline)
            session.sendall(self.apply())
            self.assertEqual(receive_frame(session)[4], REPLY)
            renewed = self.certificate(david)
            path = self.tls / "david/cert.pem"
            good = path.read_text()
            try:
                path.write_text("no certificate")
                david.process.send_signal(signal.SIGHUP)
                line = ""
                while "cert.pem" not in line:  # the first is that of the good ones
                    line = david.process.stderr.readline()
                    self.assertTrue(line)
            finally:
                path.write_text(good)
            self.assertEqual(self.certificate(david), renewed)
            self.assert_served(david.endpoint)

    def test_THREAT_3_no_core_file_unless_asked(self):
        """Not even where somebody raises the limit: the process cannot be dumped."""
        for asked in [False, True]:
            with tempfile.TemporaryDirectory(dir=self.folder) as folder, \
                    mock.patch.dict(os.environ, {"SLIP_CORE_FILES": str(int(asked))}):
                david = self.david()
                david.folder = folder
                with david:
                    pid = david.process.pid
                    soft, hard = resource.prlimit(pid, resource.RLIMIT_CORE)
                    if hard == 0:
                        self.skipTest("no process may write core files here")
                    if not asked:
                        self.assertEqual(soft, 0)
                    resource.prlimit(pid, resource.RLIMIT_CORE, (hard, hard))
                    david.process.send_signal(signal.SIGABRT)
                    status = os.waitpid(pid, 0)[1]
                    david.process.returncode = -os.WTERMSIG(status)
                    self.assertEqual(os.WCOREDUMP(status), asked)

    def test_refusals_are_logged(self):
        line = r'slip david: time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ peer=127\.0\.0\.1:\d+ reason="(.*)"'
        with self.david() as david:
            self.assertEqual(self.refusal(david, self.apply(sequence=3)), OUT_OF_ORDER)
            self.refusal(david, self.hello[:-1] + bytes([self.hello[-1] ^ 1]), opened=False)
            status, log = david.stop()
        self.assertEqual(status, 0)
        reasons = [re.fullmatch(line, text)[1] for text in log.splitlines()[1:]]
        self.assertEqual(reasons, ["refused: a frame was out of order",
                                   "refused: he holds another weight file"])

    def test_a_flood_of_reports_is_counted_and_not_printed(self):
        with self.david() as david:
            for _ in range(300):
                self.garbage(david)
            self.assert_served(david.endpoint)
            log = david.stop()[1]
        told = log.count(" reason=")
        suppressed = sum(map(int, re.findall(r" suppressed=(\d+)$", log, re.MULTILINE)))
        self.assertEqual(told + suppressed, 300, log)
        self.assertGreater(suppressed, 0)

    def test_WIRE_7_places_are_limited_and_come_back(self):
        def attempt(seconds):
            with self.david("--max-sessions", "4", "--timeout", seconds) as david:
                taken = [self.open_session(david) for _ in range(4)]
                third = self.connect(david)
                third.sendall(self.hello)
                self.assertEqual(receive_frame(third), frame(REFUSE, bytes([BUSY])))
                mute = self.connect(david)  # gets the timeout, not the patience of a session
                self.assertEqual(mute.recv(1), b"")
                for charlie in taken:
                    charlie.sendall(frame(CLOSE))
                    self.assertEqual(charlie.recv(1), b"")
                self.assert_served(david.endpoint)
        self.within_some_limit(attempt)


if __name__ == "__main__":
    unittest.main()
