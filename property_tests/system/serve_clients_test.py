"""slip serve: clients who are slow, go away, are too many or have no key; Davids who are lost or lie; the
end of the server (SERVE-6, SERVE-8, SERVE-9)."""
# test: once

import base64
import concurrent.futures
import contextlib
import http.client
import json
import shutil
import signal
import socket
import ssl
import time
import unittest

from serve_client import (PROMPT, Served, ServeTest, Wrong, events_of, make_certificate, order, read_error,
                          read_stream, read_whole)
from slip_system import LIMIT_S, David

KEY, OTHER_KEY = "a-key-of-24-characters-1", "a-key-of-24-characters-2"


class ServeClients(ServeTest):
    """Clients who are slow, go away or are too many; the end of the server."""

    def begin(self, served, **fields):
        """A connection on which the head of a stream has come."""
        connection = served.connect()
        connection.request("POST", "/v1/completions", json.dumps(order(stream=True, **fields)),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        return connection, answer

    LONG = {"max_tokens": 400, "temperature": 2, "seed": 1}

    @staticmethod
    def given_up(served):
        return sum(served.metric(f'generations_total{{reason="{reason}"}}')
                   for reason in ("cancelled", "stopped"))

    def test_SERVE_8_a_client_who_goes_ends_his_generation(self):
        with self.unsplit() as served:
            for stream in (True, False):
                before = self.given_up(served)
                for _ in range(50):  # a fast server may have answered before the client goes
                    connection = served.connect()
                    connection.request("POST", "/v1/completions",
                                       json.dumps(order(stream=stream, **self.LONG)),
                                       {"Content-Type": "application/json"})
                    served.wait_for(lambda: served.metric("live_generations") == 1)
                    connection.close()
                    served.wait_for(lambda: served.metric("live_generations") == 0)
                    if self.given_up(served) > before:
                        break
                else:
                    self.fail("no generation ends with its client")

    def test_SERVE_8_a_client_who_does_not_read_is_given_up(self):
        with self.unsplit("--client-timeout", "1", "--allow-all-logprobs") as served:
            self.assertTrue(any(self.is_given_up(served, seconds) for seconds in (4, 16, 64, 256)))
            served.wait_for(lambda: served.metric("live_generations") == 0)
            self.assertEqual(served.post("text", order())[0], 200)

    def is_given_up(self, served, seconds):
        """Whether a client who begins to read after so long finds his connection reset. He has to read: his
        kernel may have refused the segment that says so while its buffer was full."""
        # An answer that ended early would fit the buffers of both sides.
        endless = order(stream=True, logprobs=20, logit_bias={"2": -100}, **self.LONG)
        host, port = served.endpoint.rsplit(":", 1)
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect((host, int(port)))
            body = json.dumps(endless).encode()
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                               b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
                               + body)
            time.sleep(seconds)
            try:
                while connection.recv(65536):
                    pass
            except ConnectionError:
                return True
        return False

    def test_SERVE_8_too_many_generations_are_told_to_come_later(self):
        with self.unsplit("--live", "1", "--queue", "1") as served:
            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                answers = list(pool.map(lambda _: served.post("text", order(**self.LONG)), range(16)))
            late = [answer for answer in answers if answer[0] != 200]
            self.assertTrue(0 < len(late) < 16)
            for answer in late:
                error = read_error(answer, 429)
                self.assertEqual((error["type"], error["code"]), ("rate_limit_error", "overloaded"))
                self.assertEqual(answer[1]["Retry-After"], "1")
            self.assertEqual(served.post("text", order())[0], 200)

    def test_SERVE_8_an_idle_connection_makes_room_for_another(self):
        with self.unsplit("--max-connections", "2") as served:
            idle = [served.connect() for _ in range(3)]
            for connection in idle:
                connection.connect()
                connection.request("GET", "/health")
                self.assertEqual(connection.getresponse().read(), b'{"status":"ok"}')
            with self.assertRaises((ConnectionError, http.client.HTTPException)):
                idle[0].auto_open = False
                idle[0].request("GET", "/health")
                idle[0].getresponse()
            for connection in idle:
                connection.close()

    def test_SERVE_8_who_stalls_makes_room_for_another(self):
        with self.unsplit("--max-connections", "3") as served:
            host, port = served.endpoint.rsplit(":", 1)
            stalled = [socket.create_connection((host, int(port)), timeout=LIMIT_S) for _ in range(3)]
            for connection in stalled:
                connection.sendall(b"GET / HT")
            time.sleep(0.2)  # until the server has read them: nothing tells when
            self.assertEqual(served.get("/health")[0], 200)
            answered = 0
            for connection in stalled:
                with contextlib.suppress(ConnectionError):
                    connection.sendall(b"TP/1.1\r\nHost: localhost\r\n\r\n")
                    answered += connection.recv(9) == b"HTTP/1.1 "
                connection.close()
            self.assertEqual(answered, 2)

    def test_SERVE_8_who_waits_for_an_answer_keeps_his_place(self):
        with self.unsplit("--max-connections", "2") as served:
            begun = [self.begin(served, **self.LONG) for _ in range(2)]
            for _ in range(5):
                with contextlib.suppress(ConnectionError, http.client.HTTPException):
                    served.get("/health")
            for connection, answer in begun:
                read_stream("text", answer.read())
                connection.close()

    def test_SERVE_9_what_was_begun_is_answered_before_the_end(self):
        with self.unsplit() as served:
            expected = self.alone(PROMPT, 60)["text"]
            connection, answer = self.begin(served, max_tokens=60)
            spare = served.connect()
            spare.connect()
            served.process.send_signal(signal.SIGTERM)
            self.assertEqual(read_stream("text", answer.read())["text"], expected)
            self.assertEqual(answer.headers["Connection"], None)
            self.assertEqual((served.stop()[0], served.warnings()), (0, []))
            connection.close()
            spare.close()

    def test_SERVE_9_a_second_signal_ends_what_was_begun(self):
        with Served("--artifact", self.artifact, "--engine", "hybrid", "--model-name", "tiny") as served:
            begun = [self.begin(served, **self.LONG) for _ in range(4)]
            served.process.send_signal(signal.SIGTERM)
            served.process.send_signal(signal.SIGINT)
            for connection, answer in begun:
                with self.assertRaises((Wrong, ConnectionError, http.client.IncompleteRead)):
                    read_stream("text", answer.read())
                connection.close()
            self.assertEqual(served.process.wait(LIMIT_S), 0)


class ServeKeys(ServeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keys = cls.folder / "keys"
        cls.keys.write_text(f"# who may ask\n\nanna {KEY}\n{OTHER_KEY}\n")
        cls.keys.chmod(0o600)
        cls.https = cls.folder / "https"
        make_certificate(cls.https)

    def flags(self, *but):
        flags = {"--api-keys": self.keys, "--https-cert": self.https / "cert.pem",
                 "--https-key": self.https / "key.pem"}
        return [word for flag, value in flags.items() if flag not in but for word in (flag, str(value))]

    def test_SERVE_6_keys_over_tls(self):
        with self.unsplit(*self.flags(), "--operator", "anna", "--allow-logprobs", "--no-receipt",
                          "--allow-origin", "https://chat.example",
                          cafile=self.https / "cert.pem") as served:
            self.assertEqual(served.get("/health")[0], 200)
            for path in ("/v1/models", "/metrics", "/"):
                self.assertEqual(read_error(served.get(path), 401)["code"], "invalid_api_key")
                for key in (KEY[:-1], KEY + "x", "", "anna", KEY.upper()):
                    read_error(served.get(path, Authorization=f"Bearer {key}"), 401)
                read_error(served.get(path, Authorization=KEY), 401)
            for key in (KEY, OTHER_KEY):
                self.assertEqual(served.get("/v1/models", Authorization=f"Bearer {key}")[0], 200)
            read_error(served.post("text", order()), 401)
            status, _, body = served.post("text", order(logprobs=2), Authorization=f"Bearer {KEY}")
            answer = read_whole("text", body, receipt=False)
            self.assertEqual((status, len(answer["logprobs"]["tokens"])), (200, 8))
            expected = self.alone(PROMPT, 8, "--log-probabilities", "2")
            for mine, theirs in zip(answer["logprobs"]["token_logprobs"], expected["choices"],
                                    strict=True):
                self.assertAlmostEqual(mine, theirs["log_probability"], places=9)
            body = served.post("chat", order("chat", stream=True, logprobs=True, top_logprobs=1),
                               authorization=f"bearer {OTHER_KEY}")[2]
            read_stream("chat", body, receipt=False)
            # What all ask is shown to operators.
            for path in ("/metrics", "/"):
                self.assertEqual(served.get(path, Authorization=f"Bearer {KEY}")[0], 200)
                read_error(served.get(path, Authorization=f"Bearer {OTHER_KEY}"), 403)
                read_error(served.get(path, Authorization=self.basic("anna", OTHER_KEY)), 403)
            # A browser asks for a password, whatever the name.
            page = served.get("/", Authorization=self.basic("x", KEY))
            self.assertEqual(page[0], 200)
            read_error(served.get("/", Authorization=self.basic("x", "wrong")), 401)
            read_error(served.get("/v1/models", Authorization=self.basic("x", KEY)), 401)
            self.assert_origin(served)
            self.assertEqual((served.stop()[0], served.warnings()), (0, []))

    def test_SERVE_6_operators(self):
        """Without --operator the only name is one; of several, nobody is."""
        two_keys = self.folder / "two_keys"
        two_keys.write_text(f"anna {KEY}\nanna {OTHER_KEY}\n")
        two_keys.chmod(0o600)
        for keys, flags, seen_by in [(two_keys, [], (KEY, OTHER_KEY)), (self.keys, [], ()),
                                     (self.keys, ["--operator", "line 4"], (OTHER_KEY,)),
                                     (self.keys, ["--operator", "line 4", "--operator", "anna"],
                                      (KEY, OTHER_KEY))]:
            with self.unsplit("--api-keys", keys, *flags) as served:
                for key in (KEY, OTHER_KEY):
                    authorization = f"Bearer {key}"
                    self.assertEqual(served.get("/v1/models", Authorization=authorization)[0], 200)
                    answer = served.get("/metrics", Authorization=authorization)
                    if key in seen_by:
                        self.assertEqual(answer[0], 200)
                    else:
                        self.assertIn("--operator", read_error(answer, 403)["message"])
        base = ["serve", "--artifact", self.artifact, "--engine", "unsplit", "--listen", "127.0.0.1:0"]
        self.refused(*base, "--api-keys", self.keys, "--operator", "ben",
                     says=["--operator 'ben'", str(self.keys)])
        self.refused(*base, "--operator", "anna", says=["--operator", "--api-keys"])

    def test_SERVE_6_certificates_and_keys_are_read_again(self):
        folder, keys = self.folder / "renewed", self.folder / "renewed_keys"
        make_certificate(folder)
        (folder / "keys").write_text(f"anna {KEY}\n")
        (folder / "keys").chmod(0o600)
        flags = ["--https-cert", folder / "cert.pem", "--https-key", folder / "key.pem", "--api-keys",
                 folder / "keys"]
        with self.unsplit(*flags, cafile=folder / "cert.pem") as served, \
                contextlib.closing(served.connect()) as old:
            old.request("GET", "/health")
            old.getresponse().read()
            shutil.rmtree(folder)
            make_certificate(folder)
            keys.write_text(f"anna {OTHER_KEY}\n")
            keys.chmod(0o600)
            keys.rename(folder / "keys")
            with self.assertRaises(ssl.SSLCertVerificationError):
                served.get("/health")
            served.process.send_signal(signal.SIGHUP)
            served.wait_for(lambda: "were read again" in served.log())
            for key, status in ((OTHER_KEY, 200), (KEY, 401)):
                for path in ("/v1/models", "/metrics"):
                    self.assertEqual(served.get(path, Authorization=f"Bearer {key}")[0], status)
            old.request("GET", "/health")
            self.assertEqual(old.getresponse().status, 200)
            for path in (folder / "cert.pem", folder / "keys"):
                good = path.read_text()
                path.write_text("short")
                served.process.send_signal(signal.SIGHUP)
                served.wait_for(lambda: str(path) in served.log())
                path.write_text(good)
                self.assertEqual(served.get("/v1/models", Authorization=f"Bearer {OTHER_KEY}")[0], 200)

    def test_SERVE_6_with_keys_any_host_may_be_allowed(self):
        with self.unsplit("--api-keys", self.keys, "--host", "*") as served:
            for host in ("any.example", "10.0.0.1:80"):
                self.assertEqual(served.get("/v1/models", Host=host, Authorization=f"Bearer {KEY}")[0], 200)
                read_error(served.get("/v1/models", Host=host), 401)
        with self.unsplit("--api-keys", self.keys) as served:
            read_error(served.get("/v1/models", Host="any.example", Authorization=f"Bearer {KEY}"), 421)
        self.refused("serve", "--artifact", self.artifact, "--engine", "unsplit", "--listen", "127.0.0.1:0",
                     "--host", "*", says=["--host '*'", "--api-keys"])

    def test_SERVE_8_one_name_does_not_take_all_places_to_wait(self):
        long = order(max_tokens=400, temperature=2, seed=1)

        def ask(key):
            return served.post("text", long, Authorization=f"Bearer {key}")[0]

        with self.unsplit("--api-keys", self.keys, "--operator", "anna", "--live", "1", "--queue", "8",
                          "--queue-share", "2") as served, concurrent.futures.ThreadPoolExecutor() as pool:
            # Those who come first are live or wait, so some of these must be refused.
            greedy = [pool.submit(ask, OTHER_KEY) for _ in range(8)]
            concurrent.futures.wait(greedy, return_when=concurrent.futures.FIRST_COMPLETED)
            modest = [pool.submit(ask, KEY) for _ in range(2)]
            self.assertEqual([each.result() for each in modest], [200, 200])
            statuses = [each.result() for each in greedy]
            self.assertLessEqual(set(statuses), {200, 429})
            self.assertGreater(statuses.count(429), 0)
        self.refused("serve", "--artifact", self.artifact, "--engine", "unsplit", "--listen", "127.0.0.1:0",
                     "--queue-share", "2", says=["--queue-share", "--api-keys"])

    @staticmethod
    def basic(name, password):
        return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()

    def assert_origin(self, served):
        for origin, allowed in (("https://chat.example", True), ("https://evil.example", False)):
            status, fields, _ = served.ask("OPTIONS", "/v1/chat/completions", headers={
                "Origin": origin, "Access-Control-Request-Method": "POST"})
            self.assertEqual(status == 204, allowed)
            self.assertEqual(fields["Access-Control-Allow-Origin"], "https://chat.example")
            if allowed:
                self.assertEqual(fields["Access-Control-Allow-Headers"], "Authorization, Content-Type")

    def test_SERVE_6_other_machines_need_keys_and_tls(self):
        base = ["serve", "--artifact", self.artifact, "--engine", "unsplit"]
        for flags in ([], self.flags("--api-keys"), self.flags("--https-cert", "--https-key")):
            self.refused(*base, "--listen", "0.0.0.0:0", *flags, says=["--listen", "--api-keys"])
        self.refused(*base, "--listen", "127.0.0.1:0", *self.flags("--https-key"), says=["--https-key"])
        self.refused(*base, "--listen", "127.0.0.1:0", "--https-cert", self.keys, "--https-key",
                     self.https / "key.pem", says=[str(self.keys), "certificate"])

    def test_SERVE_6_files_of_keys(self):
        for name, text, says in [
                ("short", "anna short\n", "line 1: expected a key of at least 16 characters"),
                ("twice", f"anna {KEY}\nben {KEY}\n", "line 2: this key stands twice"),
                ("words", f"anna {KEY} x\n", "line 1: expected a key, or a name and a key"),
                ("empty", "# nobody\n", "holds no key")]:
            path = self.folder / name
            path.write_text(text)
            path.chmod(0o600)
            result = self.refused("serve", "--artifact", self.artifact, "--engine", "unsplit", "--listen",
                                  "127.0.0.1:0", "--api-keys", path, says=[str(path), says])
            self.assertNotIn(KEY, result.stderr)
        open_to_all = self.folder / "open"
        shutil.copy(self.keys, open_to_all)
        open_to_all.chmod(0o640)
        self.refused("serve", "--artifact", self.artifact, "--engine", "unsplit", "--listen",
                     "127.0.0.1:0", "--api-keys", open_to_all, says=["0600"])


class ServeFaults(ServeTest):
    """With Davids over TLS, who are lost, wrong or absent."""

    def david(self, *extra):
        return David(self.artifact / "david", self.tls / "david", *extra)

    def hybrid(self, *davids, more=(), wait=True):
        flags = [*more, *(word for endpoint in davids for word in ("--david", endpoint))]
        return Served("--artifact", self.artifact, "--model-name", "tiny", "--tls",
                      self.tls / "charlie", *flags, wait=wait)

    def test_SERVE_7_over_tls_the_text_is_that_of_the_unsplit_model(self):
        expected = self.alone(PROMPT, 12)["text"]
        with self.david() as david, self.hybrid(david.endpoint) as served:
            answer = read_stream("text", served.post("text", order(stream=True, max_tokens=12))[2])
            self.assertEqual(answer["text"], expected)
            receipt = answer["slip"]
            self.assertEqual((receipt["engine"], receipt["repeated_steps"]), ("hybrid", 0))
            self.assertGreater(min(receipt["rounds"], receipt["bytes_up"], receipt["bytes_down"]), 100)
            self.assertTrue(0 < receipt["epsilon"] < 1)
            page = served.get("/")[2].decode()
            self.assertIn(f"<td>{david.endpoint}</td><td class=\"good\">connected</td>", page)

    def test_SERVE_9_before_a_david_is_there_it_says_so(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        with self.hybrid(f"127.0.0.1:{port}", wait=False) as served:
            status, _, body = served.get("/health")
            self.assertEqual((status, json.loads(body)), (503, {"status": "loading"}))
            self.assertEqual(read_error(served.post("text", order()), 503)["code"], "loading")
            served.wait_for(lambda: "refused" in served.log())
            self.assertEqual(served.stop()[0], 0)

    def test_SERVE_9_a_david_who_is_killed_is_replaced_within_an_answer(self):
        expected = self.alone(PROMPT, 250)["text"]
        with self.david() as first, self.david() as second:
            with self.hybrid(first.endpoint, second.endpoint) as served:
                with concurrent.futures.ThreadPoolExecutor(3) as pool:
                    answers = [pool.submit(served.post, "text", order(stream=True, max_tokens=250))
                               for _ in range(3)]
                    served.wait_for(lambda: served.metric("generated_tokens_total") > 30)
                    first.process.kill()
                    read = [read_stream("text", answer.result()[2]) for answer in answers]
                self.assertEqual([each["text"] for each in read], [expected] * 3)
                self.assertGreater(max(each["slip"]["repeated_steps"] for each in read), 0)
                self.assertEqual(served.metric("sessions_total"), 2)
                self.assertEqual(served.get("/health")[0], 200)

    def test_SERVE_9_a_wrong_reply_ends_the_answer_and_another_david_goes_on(self):
        expected = self.alone()["text"]
        with self.david("--misbehave", "flip") as wrong, self.david() as honest:
            with self.hybrid(wrong.endpoint, honest.endpoint) as served:
                error = read_error(served.post("text", order()), 502)
                self.assertEqual(error["code"], "integrity_error")
                self.assertNotIn(wrong.endpoint, json.dumps(error))
                answer = read_whole("text", served.post("text", order())[2])
                self.assertEqual(answer["text"], expected)
                self.assertEqual(served.metric("rejects_total"), 1)
                page = served.get("/")[2].decode()
                self.assertIn(f"<td>{wrong.endpoint}</td><td class=\"bad\">sent a wrong reply</td>", page)
                self.assertIn(f"<td>{honest.endpoint}</td><td class=\"good\">connected</td>", page)

    def assert_no_david(self, served):
        """Orders fail, health says why, and nobody has been asked for another reply."""
        self.assertEqual(read_error(served.post("text", order()), 503)["code"], "no_david")
        status, _, body = served.get("/health")
        health = json.loads(body)
        self.assertEqual((status, health["status"]), (503, "no David"))
        self.assertRegex(health["reason"], "sent a wrong reply, .* until it is restarted")
        self.assertEqual(served.metric("rejects_total"), 1)

    def test_INTEG_7_a_david_who_was_wrong_is_not_gone_back_to(self):
        with self.david("--misbehave", "flip") as wrong, self.david() as honest:
            with self.hybrid(wrong.endpoint, honest.endpoint, more=("--reopen", "1")) as served:
                read_error(served.post("text", order()), 502)
                read_whole("text", served.post("text", order())[2])
                honest.process.kill()
                self.assert_no_david(served)

    def test_INTEG_7_where_the_only_david_was_wrong_orders_fail_at_once_until_a_restart(self):
        with self.david("--misbehave", "flip") as wrong:
            for _ in range(2):
                with self.hybrid(wrong.endpoint, more=("--reopen", LIMIT_S)) as served:
                    error = read_error(served.post("text", order()), 502)
                    self.assertEqual(error["code"], "integrity_error")
                    self.assert_no_david(served)

    def test_SERVE_9_without_any_david_answers_end_and_say_so(self):
        with self.david() as david, self.hybrid(david.endpoint, more=("--reopen", "1")) as served:
            with concurrent.futures.ThreadPoolExecutor() as pool:
                begun = pool.submit(served.post, "text", order(stream=True, max_tokens=400))
                served.wait_for(lambda: served.metric("generated_tokens_total") > 5)
                david.process.kill()
                last = events_of(begun.result()[2])[-1]
            self.assertEqual(json.loads(last)["error"]["code"], "no_david")
            self.assertEqual(read_error(served.post("text", order()), 503)["code"], "no_david")
            status, _, body = served.get("/health")
            self.assertEqual((status, json.loads(body)), (503, {"status": "no David"}))

    def test_THREAT_3_the_log_holds_no_prompt_and_no_answer(self):
        with self.david() as david, self.hybrid(david.endpoint) as served:
            answer = read_whole("text", served.post("text", order(prompt="A secret elephant"))[2])
            david.process.kill()
            served.post("text", order(prompt="A secret elephant", prompt_x="A secret elephant"))
            log = served.stop()[1]
            self.assertNotIn("elephant", log)
            self.assertNotIn(answer["text"].strip(), log)


if __name__ == "__main__":
    unittest.main()
