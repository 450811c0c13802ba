"""What Charlie does when David fails, attacks, or lets him wait: real processes over TLS.
spec/threat-model.md lists every fault with its test."""

import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest

from fake_peers import (BUSY, CLOSE, LIMITS_S, MALFORMED, OUT_OF_ORDER, PLANES, PRIMES, READY, REFUSE,
                        FakeDavid, connect, frame, hello_of, receive, receive_frame, vanish)
from slip_system import BUILD, LIMIT_S, Deployment


def start(command):
    """`slip` as a process that goes on beside the test."""
    return subprocess.Popen([str(BUILD / "slip"), *map(str, command)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


class DavidFails(Deployment):
    """Charlie's run ends with status 1, one line on stderr that says why, and no output."""

    SET = "paper"  # that of fake_peers

    def between(self, endpoint, edit):
        """Passes frames between Charlie and the honest David at `endpoint`. David's frame number i
        (READY is 0) goes through edit(i, frame, connection), which returns what Charlie gets."""
        def behave(connection):
            with connect(endpoint, self.tls) as david:
                number = 0
                while True:
                    david.sendall(receive_frame(connection))
                    connection.sendall(edit(number, receive_frame(david), connection))
                    number += 1
        return FakeDavid(self.tls / "david", behave)

    def fails(self, endpoint, *extra, says):
        logits = self.folder / "failed.logits"
        result = self.slip(*self.charlie_command(endpoint, "--logits", logits, *extra), status=1,
                           says=["slip generate: error: ", *says])
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertFalse(logits.exists())
        return result.stderr

    def fails_after_edit(self, edit, *extra, says):
        with self.david() as david:
            with self.between(david.endpoint, edit) as between:
                self.fails(between.endpoint, *extra, says=says)
            self.assert_served(david.endpoint)

    def test_killed_within_a_session(self):
        with self.david() as david:
            def edit(number, reply, _):
                if number == 5:
                    david.process.kill()
                return reply
            with self.between(david.endpoint, edit) as between:
                self.fails(between.endpoint, says=["session with David failed"])

    def gives_up_at(self, reached, attempt):
        """Charlie fails under every limit, and in time once he has come to where David hangs."""
        for seconds in LIMITS_S:
            attempt(str(seconds))
            if reached.is_set():
                return
        self.fail(f"Charlie did not come to the fault within {LIMITS_S[-1]} s")

    def test_SESS_8_hung_within_a_session(self):
        reached = threading.Event()
        with self.david() as david:
            def edit(number, reply, _):
                if number == 5:
                    david.hang()
                    reached.set()
                return reply

            def attempt(seconds):
                with self.between(david.endpoint, edit) as between:
                    self.fails(between.endpoint, "--patience", seconds, says=["did not act in time"])
                    david.process.send_signal(signal.SIGCONT)
            self.gives_up_at(reached, attempt)
            self.assert_served(david.endpoint)

    def test_SESS_8_his_machine_is_gone(self):
        """While Charlie waits for a reply, and just before he sends: long before the patience ends."""
        for answers in (False, True):
            reached = threading.Event()

            def attempt(seconds):
                given_up = threading.Event()

                def edit(number, reply, connection):
                    if number != 5:
                        return reply
                    vanish(connection)
                    if answers:
                        connection.sendall(reply)
                    reached.set()
                    given_up.wait(LIMIT_S)
                    raise EOFError

                with self.david() as david, self.between(david.endpoint, edit) as between:
                    try:
                        self.fails(between.endpoint, "--timeout", seconds, "--patience",
                                   str(2 * LIMIT_S), says=["did not act in time"])
                    finally:
                        given_up.set()
            with self.subTest(answers=answers):
                self.gives_up_at(reached, attempt)

    def test_SESS_8_hung_within_a_frame(self):
        reached = threading.Event()

        def edit(number, reply, connection):
            if number != 3:
                return reply
            connection.sendall(reply[:30])
            reached.set()
            receive(connection, 1)  # until Charlie has gone

        def attempt(seconds):
            self.fails_after_edit(edit, "--timeout", seconds, says=["in time"])
        self.gives_up_at(reached, attempt)

    def test_SESS_8_hung_before_the_handshake(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            endpoint = f"127.0.0.1:{silent.getsockname()[1]}"
            for seconds in LIMITS_S:
                error = self.fails(endpoint, "--timeout", str(seconds), says=["in time"])
                if "not resolved" not in error:
                    break
            self.assertIn("the TLS handshake failed: the peer did not act in time", error)

    def test_slow(self):
        def edit(number, reply, connection):
            if number in (0, 2):  # a byte at a time, with pauses
                for byte in reply[:-1]:
                    connection.sendall(bytes([byte]))
                    time.sleep(0.002)
                return reply[-1:]
            return reply
        with self.david() as david, self.between(david.endpoint, edit) as between:
            self.assert_served(between.endpoint)

    def test_WIRE_9_floods_after_READY(self):
        def behave(connection):
            receive_frame(connection)
            while True:
                connection.sendall(frame(READY) * 10000)
        with FakeDavid(self.tls / "david", behave) as david:
            self.fails(david.endpoint, says=["session with David failed", "READY"])

    def test_WIRE_9_announces_more_than_was_asked(self):
        for length in [1 << 26, (1 << 32) - 1]:
            self.fails_after_edit(
                lambda number, reply, _: struct.pack("<I", length) + bytes(1000) if number == 2
                else reply, says=[f"announces {length} bytes"])

    def test_SESS_1_sends_a_reply_that_nobody_asked_for(self):
        self.fails_after_edit(lambda number, reply, _: 2 * reply if number == 1 else reply,
                              says=["session with David failed"])

    def test_SESS_3_answers_an_earlier_message(self):
        earlier = []

        def edit(number, reply, _):
            earlier.append(reply)
            return earlier[10] if number == 19 else reply  # the same group, one token before
        self.fails_after_edit(edit, says=["REPLY", "not those of the APPLY"])

    def test_WIRE_8_sends_another_length(self):
        self.fails_after_edit(
            lambda number, reply, _: struct.pack("<I", len(reply) - 8) + reply[4:-4] if number == 4
            else reply, says=["REPLY", "length"])

    def in_plane(self, plane, change):
        """An edit: reply 4 has change(residue) for the last residue of this plane of its last column."""
        def edit(number, reply, _):
            if number != 4:
                return reply
            columns, = struct.unpack_from("<I", reply, 17)
            rows = (len(reply) - 21) // (PLANES * columns)
            at = len(reply) - (PLANES - 1 - plane) * rows - 1
            return reply[:at] + bytes([change(reply[at])]) + reply[at + 1:]
        return edit

    def test_WIRE_8_sends_a_byte_that_is_no_residue(self):
        for plane, prime in enumerate(PRIMES):
            for byte in (prime, 255):
                self.fails_after_edit(self.in_plane(plane, lambda _, byte=byte: byte),
                                      says=[f"REPLY: the residue in plane {plane} of column 2, row ",
                                            f"is not below {prime}"])

    def test_INTEG_3_INTEG_6_changes_one_residue_in_one_plane(self):
        for plane, prime in enumerate(PRIMES):
            for error in (1, prime - 1):
                edit = self.in_plane(plane, lambda byte, error=error, prime=prime: (byte + error) % prime)
                with self.david() as david:
                    with self.between(david.endpoint, edit) as between:
                        self.fails(between.endpoint, says=[
                            "an answer was rejected and nothing of it was used",
                            between.endpoint, "fails the integrity check"])
                    self.assert_served(david.endpoint)

    def test_WIRE_8_sends_nonsense(self):
        for nonsense in [b"HTTP/1.1 200 OK\r\n\r\n", bytes(100), b"\xff" * 100, frame(9),
                         frame(READY, b"x"), frame(REFUSE, b"\x00"), frame(CLOSE)]:
            self.fails_after_edit(lambda number, reply, _: nonsense if number == 0 else reply,
                                  says=["session with David failed"])

    def test_ends_the_connection_anywhere(self):
        def edit_at(frames, size):
            def edit(number, reply, connection):
                if number < frames:
                    return reply
                connection.sendall(reply[:size])
                raise EOFError
            return edit
        for frames, size in [(0, 0), (0, 3), (1, 0), (1, 4), (1, 40), (9, 0)]:
            self.fails_after_edit(edit_at(frames, size), says=["ended the connection"])

    def test_a_partial_answer_and_the_error_are_lines_of_their_own(self):
        def edit(number, reply, _):
            if number < 40:
                return reply
            raise EOFError
        with self.david() as david, self.between(david.endpoint, edit) as between:
            command = self.charlie_command(between.endpoint)
            command.remove("--json")
            result = self.slip(*command, status=1, says=["slip generate: error: "])
        self.assertRegex(result.stdout, r"^(\d+ )+\n$")

    def test_SESS_2_refuses_for_every_reason(self):
        for reason, named in [(1, "version"), (2, "parameter set"), (3, "weight file"),
                              (MALFORMED, "malformed"), (OUT_OF_ORDER, "out of order")]:
            refusals = []

            def edit(*_):
                refusals.append(reason)
                return frame(REFUSE, bytes([reason]))
            self.fails_after_edit(edit, says=["refuses", named])
            self.assertEqual(len(refusals), 1)  # he is not asked again
        self.fails_after_edit(
            lambda number, reply, _: frame(REFUSE, bytes([OUT_OF_ORDER])) if number == 3 else reply,
            says=["ends the session"])


class DavidIsBusy(Deployment):
    """Charlie asks again, says so once, and gives up in time."""

    SET = "paper"  # that of fake_peers

    def busy_first(self, endpoint, refusals):
        """A David who is busy `refusals` times, and leads to the honest one at `endpoint` then."""
        seen = []

        def behave(connection):
            hello = receive_frame(connection)
            if len(seen) < refusals:
                seen.append(hello)
                connection.sendall(frame(REFUSE, bytes([BUSY])))
                return
            with connect(endpoint, self.tls) as david:
                while True:
                    david.sendall(hello)
                    connection.sendall(receive_frame(david))
                    hello = receive_frame(connection)
        return FakeDavid(self.tls / "david", behave), seen

    def test_he_is_asked_again(self):
        with self.david() as david:
            fake, seen = self.busy_first(david.endpoint, 3)
            with fake:
                result = self.slip(*self.charlie_command(fake.endpoint), "--timeout", LIMIT_S)
        self.assertEqual(json.loads(result.stdout)["ids"], self.honest_ids)
        self.assertEqual(len(seen), 3)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)  # said once
        self.assertIn(f"slip: note: David at {fake.endpoint} is busy", result.stderr)

    def test_he_is_given_up_in_time(self):
        for seconds in LIMITS_S:
            fake, seen = self.busy_first("", 1 << 30)
            with fake:
                result = self.slip(*self.charlie_command(fake.endpoint), "--timeout", str(seconds),
                                   status=1)
            self.assertEqual(result.stdout, "")
            if len(seen) > 1 and "he is busy" in result.stderr:
                break
        note, error = result.stderr.splitlines()
        self.assertIn("is busy", note)
        self.assertIn("error: the session with David failed: David refuses the session: he is busy",
                      error)

    def test_a_real_david_whose_place_comes_free(self):
        with self.david("--max-sessions", "1") as david:
            other = connect(david.endpoint, self.tls)
            other.sendall(hello_of(self.artifact))
            self.assertEqual(receive_frame(other), frame(READY))
            process = start(self.charlie_command(david.endpoint, "--timeout", LIMIT_S))
            self.assertIn("is busy", process.stderr.readline())
            other.close()
            out, _ = process.communicate(timeout=LIMIT_S)
        self.assertEqual(json.loads(out)["ids"], self.honest_ids)


class DavidIsSlow(Deployment):
    """Who waits for 30 s is told what for."""

    SET = "paper"  # that of fake_peers

    @unittest.skipUnless("SLIP_FULL" in os.environ, "waits for 30 s")
    def test_a_hint_after_30_s(self):
        told = threading.Event()

        def behave(connection):
            receive_frame(connection)
            told.wait(LIMIT_S)
        with FakeDavid(self.tls / "david", behave) as david:
            begin = time.monotonic()
            process = start(self.charlie_command(david.endpoint))
            line = process.stderr.readline()
            self.assertGreaterEqual(time.monotonic() - begin, 30)
            told.set()
            out, rest = process.communicate(timeout=LIMIT_S)
        self.assertIn(f"slip: note: David at {david.endpoint} has not answered for 30 s", line)
        self.assertEqual(out, "")
        self.assertEqual(rest.count("\n"), 1, rest)  # the error


if __name__ == "__main__":
    unittest.main()
