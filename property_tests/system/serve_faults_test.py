"""slip serve and its Davids: lost, hung, silent, slow or flooding at each point of an answer, and while
nothing runs; what health and the metrics say meanwhile; the end of the server whatever it waits for
(SERVE-2, SERVE-9, SERVE-13, SERVE-14)."""

import contextlib
import http.client
import json
import shutil
import signal
import socket
import time
import types
import unittest

from fake_peers import Between, FakeDavid
from serve_client import (PROMPT, Served, ServeTest, events_of, order, read_error, read_stream,
                          read_whole)
from slip_system import LIMIT_S, David, LocalDavid

FOREVER = 10 * LIMIT_S  # longer than any test waits


class ServeWithDavids:
    """Nothing but what the classes below share."""

    def david(self, *extra):
        return David(self.artifact / "david", self.tls / "david", *extra)

    def between(self, david, fault, at=0):
        """A David who works until `fault` befalls him at the reply to frame `at`."""
        return FakeDavid(self.tls / "david", Between(david.endpoint, self.tls, fault, at))

    def hybrid(self, *davids, more=(), wait=True, artifact=None):
        flags = [*more, *(word for david in davids for word in ("--david", david.endpoint))]
        return Served("--artifact", artifact or self.artifact, "--model-name", "tiny", "--tls",
                      self.tls / "charlie", *flags, wait=wait)

    def health(self, served):
        status, _, body = served.get("/health")
        return status, json.loads(body)


class ServeFaultyDavids(ServeWithDavids, ServeTest):
    """Each David of a list has the same fault at another point of one answer; the last is honest."""

    POINTS = (1, 0, 5, 60)  # replies: the first product's, that to HELLO, within a step, some steps later

    def goes_on_after(self, fault):
        """Within the first limit under which the honest one answers: a loaded machine needs longer ones."""
        if not self.went_on_after(fault, "0.25", "5"):
            self.assertTrue(self.went_on_after(fault, "1", FOREVER))

    def went_on_after(self, fault, limit, reopen):
        """Whether there is an answer, which then has to be right; or else an error, for want of a David."""
        expected = self.alone(PROMPT, 40)["text"]
        with contextlib.ExitStack() as stack:
            honest = stack.enter_context(self.david())
            faulty = [stack.enter_context(self.between(honest, fault, at)) for at in self.POINTS]
            served = stack.enter_context(self.hybrid(
                *faulty, honest, more=("--david-timeout", limit, "--reopen", reopen)))
            status, _, body = served.post("text", order(stream=True, max_tokens=40))
            if status == 503 or b'"error"' in body:
                return False
            answer = read_stream("text", body)
            self.assertEqual(answer["text"], expected)
            self.assertTrue(all(david.behave.struck.is_set() for david in faulty))
            self.assertGreaterEqual(answer["slip"]["repeated_steps"], 3)
            self.assertEqual(served.metric("rejects_total"), 0)
            self.assertEqual(self.health(served), (200, {"status": "ok"}))
            return True

    def test_SERVE_2_SERVE_13_killed(self):
        self.goes_on_after("killed")

    def test_SERVE_2_SERVE_13_silent(self):
        self.goes_on_after("silent")

    def test_SERVE_2_SERVE_13_silent_within_a_frame(self):
        self.goes_on_after("half")

    def test_SERVE_2_SERVE_13_slow(self):
        self.goes_on_after("slow")

    def test_SERVE_2_SERVE_13_flooding(self):
        self.goes_on_after("flooding")


class ServeHungDavid(ServeWithDavids, ServeTest):
    """A David whose process is stopped: his machine acknowledges everything."""

    def test_SERVE_13_the_next_one_goes_on_within_the_answer(self):
        expected = self.alone(PROMPT, 250)["text"]
        with self.david() as first, self.david() as second, \
                self.hybrid(first, second, more=("--david-timeout", "1", "--reopen", FOREVER)) as served, \
                self.begun(served, max_tokens=250) as answer:
            first.hang()
            self.assertEqual(read_stream("text", answer.result()[2])["text"], expected)
            self.assertGreaterEqual(served.metric("sessions_total"), 2)

    def test_SERVE_13_without_another_one_health_says_so_while_the_answers_wait(self):
        expected = self.alone(PROMPT, 250)["text"]
        with self.david() as david, \
                self.hybrid(david, more=("--david-timeout", "1", "--reopen", FOREVER)) as served, \
                self.begun(served, max_tokens=250) as answer:
            david.hang()
            served.wait_for(lambda: self.health(served)[0] == 503)
            self.assertFalse(answer.done())
            self.assertEqual(self.health(served)[1]["status"], "no David")
            self.assertEqual(served.metric("serving"), 0)
            david.process.send_signal(signal.SIGCONT)
            self.assertEqual(read_stream("text", answer.result()[2])["text"], expected)
            self.assertEqual(self.health(served), (200, {"status": "ok"}))

    def test_SERVE_13_without_another_one_the_answers_end_and_say_so(self):
        with self.david() as david, \
                self.hybrid(david, more=("--david-timeout", "1", "--reopen", "1")) as served:
            with self.begun(served, max_tokens=400) as answer:
                david.hang()
                last = events_of(answer.result()[2])[-1]
            self.assertEqual(json.loads(last)["error"]["code"], "no_david")
            self.assertEqual(self.health(served)[1]["status"], "no David")
            david.process.send_signal(signal.SIGCONT)
            served.wait_for(lambda: self.health(served)[0] == 200)
            answer = read_whole("text", served.post("text", order())[2])
            self.assertEqual(answer["text"], self.alone()["text"])

    def test_SERVE_9_how_long_a_wait_has_lasted_is_told_before_it_ends(self):
        with self.david() as david, self.hybrid(david, more=("--david-timeout", FOREVER)) as served, \
                self.begun(served, max_tokens=400) as answer:
            self.assertLess(served.metric("waiting_for_david_seconds"), LIMIT_S)
            david.hang()
            served.wait_for(lambda: "waiting_for_david_seconds" in self.health(served)[1])
            self.assertGreaterEqual(served.metric("waiting_for_david_seconds"), 1)
            self.assertFalse(answer.done())
            david.process.send_signal(signal.SIGCONT)
            read_stream("text", answer.result()[2])
            self.assertEqual(served.metric("waiting_for_david_seconds"), 0)


class ServeInSharedMemory(ServeWithDavids, ServeTest):
    """From a David in shared memory to one over TLS, and back (SESS-12)."""

    def local(self):
        return LocalDavid(self.artifact / "david", self.folder / "david.socket")

    def test_SERVE_2_the_next_one_goes_on_whatever_carries_his_frames(self):
        expected = self.alone(PROMPT, 250)["text"]
        with self.local() as local, self.david() as remote, \
                self.hybrid(local, remote, more=("--reopen", FOREVER)) as served:
            with self.begun(served, max_tokens=250) as answer:
                local.stop(signal.SIGKILL)
                self.assertEqual(read_stream("text", answer.result()[2])["text"], expected)
            with self.local(), self.begun(served, max_tokens=250) as answer:
                remote.stop(signal.SIGKILL)
                self.assertEqual(read_stream("text", answer.result()[2])["text"], expected)
                self.assertEqual(self.health(served), (200, {"status": "ok"}))
            self.assertEqual(served.metric("rejects_total"), 0)


class ServeWatchesDavids(ServeWithDavids, ServeTest):
    """While nothing runs."""

    def test_SERVE_9_health_says_so_when_the_last_david_is_lost(self):
        with self.david() as david, self.hybrid(david) as served:
            self.assertEqual(self.health(served), (200, {"status": "ok"}))
            david.process.kill()
            served.wait_for(lambda: self.health(served) == (503, {"status": "no David"}))
            self.assertEqual(served.metric("serving"), 0)

    def test_SERVE_9_another_one_takes_his_place_before_anybody_asks(self):
        with self.david() as first, self.david() as second, self.hybrid(first, second) as served:
            first.process.kill()
            served.wait_for(lambda: served.metric("sessions_total") == 2)
            self.assertEqual(self.health(served), (200, {"status": "ok"}))
            answer = read_whole("text", served.post("text", order())[2])
            self.assertEqual((answer["text"], answer["slip"]["repeated_steps"]), (self.alone()["text"], 0))


class ServeDamaged(ServeWithDavids, ServeTest):
    """Masks are made with hints that are not those of the split: no David can mend that."""

    def test_MASK_10_SERVE_14_a_server_whose_own_files_are_damaged_says_so(self):
        damaged = self.folder / "damaged"
        shutil.copytree(self.artifact, damaged)
        masks = damaged / "charlie/masks.safetensors"
        masks.chmod(0o600)
        data = bytearray(masks.read_bytes())
        for at in range(8 + int.from_bytes(data[:8], "little"), len(data), 64):
            data[at] ^= 1
        masks.write_bytes(data)
        with self.david() as david, self.hybrid(david, artifact=damaged) as served:
            for _ in range(2):
                self.assertEqual(read_error(served.post("text", order()), 500)["code"], "internal_error")
            status, health = self.health(served)
            self.assertEqual((status, health["status"]), (503, "damaged"))
            self.assertIn("damaged", health["reason"])
            self.assertEqual((served.metric("rejects_total"), served.metric("serving")), (0, 0))
            self.assertIn("masks.safetensors", served.stop()[1])


class ServeStops(ServeWithDavids, ServeTest):
    """Limits that would keep it for longer than the tests wait: a second signal ends every wait, and the
    first one those for what nobody has asked for yet."""

    LIMITS = ("--timeout", FOREVER, "--patience", FOREVER, "--david-timeout", FOREVER, "--reopen", FOREVER,
              "--allow-all-logprobs")
    ENDLESS = {"max_tokens": 400, "logit_bias": {"2": -100}}  # it does not end before David is lost

    def ends(self, served, *signals):
        for number in signals:
            served.process.send_signal(number)
            time.sleep(0.05)  # two that come together may be one
        self.assertEqual(served.process.wait(LIMIT_S), 0)

    def assert_is_cut_off(self, answer):
        """Its connection breaks, or its last event says that the server is being stopped."""
        try:
            events = events_of(answer.result()[2])
        except (ConnectionError, http.client.HTTPException):
            return
        self.assertEqual(json.loads(events[-1])["error"]["code"], "stopped")

    def test_SERVE_9_before_there_is_a_session(self):
        with socket.create_server(("127.0.0.1", 0)) as listener, self.david() as david, \
                self.between(david, "silent") as no_ready:
            no_handshake = types.SimpleNamespace(endpoint=f"127.0.0.1:{listener.getsockname()[1]}")
            for peer in (no_handshake, no_ready):
                with self.hybrid(peer, more=self.LIMITS, wait=False) as served:
                    served.wait_for(lambda served=served: self.waits(served))
                    self.ends(served, signal.SIGTERM)

    @staticmethod
    def waits(served):
        return served.metric("waiting_for_david_seconds") > 0

    def test_SERVE_9_within_an_answer(self):
        with self.david() as david, self.hybrid(david, more=self.LIMITS) as served, \
                self.begun(served, **self.ENDLESS) as answer:
            david.hang()
            served.wait_for(lambda: served.metric("waiting_for_david_seconds") >= 1)
            self.ends(served, signal.SIGTERM, signal.SIGINT)
            self.assert_is_cut_off(answer)

    def test_SERVE_9_while_a_david_is_called_again(self):
        with self.david() as david, self.hybrid(david, more=self.LIMITS) as served, \
                self.begun(served, **self.ENDLESS) as answer:
            david.process.kill()
            served.wait_for(lambda: self.health(served)[0] == 503)
            self.ends(served, signal.SIGTERM, signal.SIGTERM)
            self.assert_is_cut_off(answer)


if __name__ == "__main__":
    unittest.main()
