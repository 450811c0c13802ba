"""slip serve: what clients of OpenAI's interface get, and which requests are refused (SERVE-5, SERVE-7,
SERVE-8). Clients and Davids who misbehave are in serve_clients_test.py."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import shlex
import shutil
import socket
import subprocess
import unittest

from serve_client import (CHAT, PROMPT, Served, ServeTest, Wrong, events_of, order, read_error,
                          read_stream, read_whole)
from slip_system import BUILD, LIMIT_S, ROOT, David, SystemTest, setting


class ServeChecker(SystemTest):
    """The client that these tests believe refuses streams that are wrong."""

    HEAD = {"id": "chatcmpl-" + "0" * 24, "object": "chat.completion.chunk", "created": 1, "model": "m"}
    RECEIPT = {"engine": "unsplit", "artifact": None, "set": "paper", "rounds": 0, "checks": 0,
               "bytes_up": 0, "bytes_down": 0, "epsilon": None, "kernels": "x", "repeated_steps": 0}

    def stream(self, edit=lambda chunks: None, end="data: [DONE]\n\n"):
        def chunk(delta, reason=None, **more):
            return self.HEAD | {"choices": [{"index": 0, "delta": delta, "logprobs": None,
                                             "finish_reason": reason}]} | more
        chunks = [chunk({"role": "assistant", "content": ""}), chunk({"content": "a"}),
                  chunk({"content": "b"}), chunk({}, "stop", slip=dict(self.RECEIPT))]
        edit(chunks)
        return ("".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + end).encode()

    def test_a_right_stream_is_read(self):
        self.assertEqual(read_stream("chat", self.stream())["text"], "ab")

    def test_wrong_streams_are_refused(self):
        def choice(number, **change):
            return lambda chunks: chunks[number]["choices"][0].update(change)
        edits = {
            "id": lambda chunks: chunks[1].update(id="chatcmpl-" + "1" * 24),
            "object": lambda chunks: chunks[1].update(object="chat.completion"),
            "unknown key": lambda chunks: chunks[1].update(more=1),
            "usage unasked": lambda chunks: chunks[1].update(usage=None),
            "no role": choice(0, delta={"content": ""}),
            "role twice": choice(1, delta={"role": "assistant", "content": "a"}),
            "reason too early": choice(1, finish_reason="stop"),
            "no reason": choice(3, finish_reason=None),
            "unknown reason": choice(3, finish_reason="end"),
            "index": choice(1, index=1),
            "no logprobs": lambda chunks: chunks[1]["choices"][0].pop("logprobs"),
            "receipt too early": lambda chunks: chunks[1].update(slip=dict(self.RECEIPT)),
            "no receipt": lambda chunks: chunks[3].pop("slip"),
            "unchecked": lambda chunks: chunks[3]["slip"].update(rounds=1),
            "two choices": lambda chunks: chunks[1]["choices"].append(chunks[1]["choices"][0])}
        for name, edit in edits.items():
            with self.subTest(name), self.assertRaises((Wrong, ValueError)):
                read_stream("chat", self.stream(edit))
        for end in ("", "data: [DONE]\n", "data: [DONE]", "event: x\n\ndata: [DONE]\n\n",
                    "data: [DONE]\n\n\n\n", "data: [DONE]\n\ndata: [DONE]\n\n", "data: [DONE]\r\n\r\n",
                    "data: {}\n\ndata: [DONE]\n\n", 'data: {"error": {}}\n\ndata: [DONE]\n\n',
                    'data: {"error": {}}\n\n', "data: 1\n\ndata: [DONE]\n\n", ": x\n\ndata: [DONE]\n\n"):
            with self.subTest(end), self.assertRaises((Wrong, KeyError)):
                read_stream("chat", self.stream(end=end))
        for wrong in (b"\xef\xbb\xbf" + self.stream(), self.stream().replace(b"\n", b"\r\n"),
                      self.stream().replace(b"data: ", b"data:"), self.stream().replace(b"\n\n", b"\n")):
            with self.assertRaises(Wrong):
                read_stream("chat", wrong)
        failed = self.stream(end='data: {"error": {}}\n\n')
        self.assertEqual(events_of(failed)[-1], '{"error": {}}')  # which is no whole answer, above


class ServeAnswers(ServeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.served = cls.start("--plain-seeds")

    def whole(self, kind="text", **fields):
        status, _, body = self.served.post(kind, order(kind, **fields))
        self.assertEqual(status, 200, body)
        return read_whole(kind, body)

    def stream(self, kind="text", **fields):
        status, head, body = self.served.post(kind, order(kind, stream=True, **fields))
        self.assertEqual((status, head["Content-Type"]), (200, "text/event-stream; charset=utf-8"), body)
        asked = fields.get("stream_options", {}).get("include_usage", False)
        return read_stream(kind, body, asked)

    def test_SERVE_5_streamed_or_not_the_text_is_that_of_generate(self):
        expected = self.alone()
        whole, stream = self.whole(), self.stream()
        self.assertEqual((whole["text"], stream["text"]), (expected["text"],) * 2)
        self.assertEqual((whole["finish_reason"], stream["finish_reason"]), ("length",) * 2)
        self.assertEqual(whole["usage"]["completion_tokens"], 8)
        self.assertEqual(whole["usage"]["prompt_tokens"], len(expected["prompt_ids"]))
        self.assertGreater(stream["chunks"], 4)
        usage = self.stream(stream_options={"include_usage": True})["usage"]
        self.assertEqual(usage, whole["usage"])

    def test_SERVE_5_a_prompt_is_a_text_a_list_of_one_or_its_ids(self):
        expected = self.alone()
        for prompt in ([PROMPT], expected["prompt_ids"], [expected["prompt_ids"]]):
            self.assertEqual(self.whole(prompt=prompt)["text"], expected["text"], prompt)

    def test_SERVE_5_choices_are_those_of_generate(self):
        flags = ["--temperature", "0.9", "--seed", "7", "--top-p", "0.95", "--top-k", "50", "--min-p",
                 "0.01", "--presence-penalty", "0.5", "--frequency-penalty", "0.25",
                 "--repetition-penalty", "1.1"]
        fields = dict(temperature=0.9, seed=7, top_p=0.95, top_k=50, min_p=0.01, presence_penalty=0.5,
                      frequency_penalty=0.25, repetition_penalty=1.1, max_tokens=24)
        expected = self.alone(PROMPT, 24, *flags)["text"]
        self.assertEqual(self.whole(**fields)["text"], expected)
        self.assertEqual(self.stream(**fields)["text"], expected)
        self.assertNotEqual(self.whole(**fields | {"seed": 8})["text"], expected)
        # Without a seed, as OpenAI has it, each answer is another.
        texts = {self.whole(temperature=2, max_tokens=16)["text"] for _ in range(3)}
        self.assertGreater(len(texts), 1)

    def test_SERVE_5_a_stop_ends_the_text_before_it(self):
        whole = self.alone(PROMPT, 40)["text"]
        stop = whole[20:27]
        for stops in (stop, ["nowhere", stop]):
            for answer in (self.whole(max_tokens=40, stop=stops), self.stream(max_tokens=40, stop=stops)):
                self.assertEqual(answer["text"], whole[:whole.index(stop)])
                self.assertEqual(answer["finish_reason"], "stop")

    def test_SERVE_5_conversations(self):
        said = subprocess.run(
            [BUILD / "slip", "chat", "--artifact", self.artifact, "--engine", "unsplit",
             "--chat-format", "llama2", "--system", CHAT[0]["content"], "--temperature", "0",
             "--max-tokens", "8"], input=CHAT[1]["content"] + "\n", text=True, capture_output=True,
            timeout=LIMIT_S)
        expected = said.stdout.removesuffix("\n")
        self.assertTrue(expected, said.stderr)
        parts = [CHAT[0] | {"role": "developer"},
                 {"role": "user", "content": [{"type": "text", "text": "Tell "},
                                              {"type": "text", "text": "me one."}]}]
        for fields in ({}, {"messages": parts}, {"max_tokens": None, "max_completion_tokens": 8}):
            self.assertEqual(self.whole("chat", **fields)["text"], expected)
            self.assertEqual(self.stream("chat", **fields)["text"], expected)

    def test_SERVE_5_neutral_values_of_unsupported_fields_are_taken(self):
        neutral = dict(n=1, logit_bias={}, user="somebody", stop=None, logprobs=None, store=False)
        self.whole(**neutral, best_of=1, echo=False, suffix=None)
        self.whole("chat", **neutral | {"logprobs": False}, tools=[], tool_choice="none",
                   response_format={"type": "text"}, modalities=["text"])

    def test_SERVE_7_the_receipt_of_an_engine_without_a_protocol(self):
        receipt = self.whole()["slip"]
        manifest = json.loads((self.artifact / "david/manifest.json").read_text())
        self.assertEqual((receipt["engine"], receipt["artifact"], receipt["set"]),
                         ("unsplit", manifest["sha256"], "paper-lattice"))
        self.assertEqual((receipt["rounds"], receipt["epsilon"]), (0, None))

    def test_SERVE_5_models(self):
        listed = json.loads(self.served.get("/v1/models")[2])
        (model,) = listed["data"]
        self.assertEqual((listed["object"], model["id"], model["object"]), ("list", "tiny", "model"))
        self.assertEqual(json.loads(self.served.get("/v1/models/tiny")[2]), model)
        self.assertEqual(read_error(self.served.get("/v1/models/other"), 404)["code"], "model_not_found")
        error = read_error(self.served.post("text", order(model="other")), 404)
        self.assertEqual((error["param"], error["code"]), ("model", "model_not_found"))

    def test_SERVE_5_the_page_and_the_metrics_show_what_was_done(self):
        self.served.wait_for(lambda: self.served.metric("live_generations") == 0)
        before = self.served.metric("generated_tokens_total")
        self.whole()
        self.served.wait_for(lambda: self.served.metric("generated_tokens_total") == before + 8)
        status, fields, page = self.served.get("/")
        self.assertEqual((status, fields["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("default-src 'none'", fields["Content-Security-Policy"])
        self.assertIn(f'id="generated">{int(before) + 8}<', page.decode())
        self.assertEqual(page.count(b"<script"), 1)
        self.assertEqual(self.served.ask("HEAD", "/")[2], b"")

    def test_SERVE_6_only_its_own_names_are_answered(self):
        for host in ("localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:80"):
            self.assertEqual(self.served.get("/v1/models", Host=host)[0], 200, host)
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::2]", "["):
            read_error(self.served.get("/v1/models", Host=host), 421)
            self.assertEqual(self.served.get("/health", Host=host)[0], 200, host)
        read_error(self.served.post("text", order(), Host="evil.example"), 421)
        self.assertNotIn("Access-Control-Allow-Origin",
                         self.served.get("/health", Origin="https://a.example")[1])
        read_error(self.served.ask("OPTIONS", "/v1/completions",
                                   headers={"Origin": "https://a.example"}), 405)

    def test_eight_streams_at_once_are_those_that_each_is_alone(self):
        prompts = ["Once upon a time", "The dog", "One day, a little girl", "Tom and Mia went", "A big",
                   "There was a cat who", "She said", "In the park"]
        expected = [self.alone(prompt, 24)["text"] for prompt in prompts]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            texts = list(pool.map(
                lambda prompt: self.stream(prompt=prompt, max_tokens=24)["text"], prompts))
        self.assertEqual(texts, expected)


def bad_orders():
    """(name of the field that the error names, path, body) of orders that nobody can fill."""
    for field, values in {
            "model": [None, 1, ""], "prompt": [None, 1, [], {}, [1, "a"], ["a"] * 129, [-1], [1.5],
                                               [[1], []], [[[1]]], [2048], [2 ** 40], "x " * 2000],
            "max_tokens": [0, -1, 1.5, "8", 10 ** 9, [], True], "temperature": [-0.1, 2.1, "1", [], True],
            "top_p": [0, 1.1, "x"], "top_k": [-1, 1.5], "min_p": [-1, 2], "seed": ["1", 1.5, {}],
            "presence_penalty": [-3, 3], "frequency_penalty": [-3, "1"], "repetition_penalty": [0, -1],
            "stop": ["", 1, [""], ["a"] * 5, [1], "x" * 1025], "stream": [1, "true"],
            "stream_options": [{}, {"include_usage": True}, 1], "n": [0, 129, "1"], "best_of": [2],
            "echo": [1], "suffix": ["x"], "logit_bias": [{"1": 1}], "logprobs": [0, 5, -1, True],
            "user": [1], "store": [1], "metadata": ["x"], "metadata.a": [{"a": 1}], "service_tier": [1],
            "grammar": ["root"], "unknown": [1, "x"], "messages": [CHAT]}.items():
        for value in values:
            if field == "model" and value == "":
                continue  # 404
            yield field, "text", order(**{field.split(".")[0]: value})
    for field, values in {
            "messages": [None, [], {}, "x", CHAT[::-1], [CHAT[1], CHAT[0], CHAT[1]],
                         [{"role": "assistant", "content": "x"}]],
            "messages[0]": [[1]],
            "messages[0].role": [[{}], *([{"role": role, "content": "x"}]
                                         for role in ("function", "x", 1))],
            "messages[0].tool_call_id": [[{"role": "tool", "content": "x"}]],
            "messages[0].content": [[{"role": "user"}], [{"role": "user", "content": 1}],
                                    [{"role": "user", "content": None}]],
            "messages[0].content[0].type": [[{"role": "user", "content": [part]}] for part in (
                {"type": "image_url", "image_url": {"url": "data:,"}}, {"type": "input_audio"}, {})],
            "messages[0].content[0]": [[{"role": "user", "content": ["x"]}]],
            "messages[0].tool_calls": [[{"role": "user", "content": "x", "tool_calls": [{}]}]],
            "messages[0].name": [[{"role": "user", "content": "x", "name": "y"}]],
            "messages[0].more": [[{"role": "user", "content": "x", "more": 1}]]}.items():
        for value in values:
            yield field, "chat", order("chat", messages=value)
    for field, value in {
            "tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "auto",
            "functions": [{}],
            "function_call": "auto", "parallel_tool_calls": 1, "modalities": ["audio"], "audio": {},
            "response_format": "json_object", "prediction": {}, "reasoning_effort": "low",
            "web_search_options": {}, "logprobs": True, "top_logprobs": 3, "prompt": "x",
            "max_completion_tokens": 0, "verbosity": "low"}.items():
        yield field, "chat", order("chat", **{field: value})
    yield "max_tokens", "chat", order("chat", max_completion_tokens=9)
    yield "stream_options.more", "text", order(stream=True, stream_options={"more": 1})


BAD_BODIES = [b"", b"{", b"[]", b"1", b"null", b'"x"', b"\xff\xfe", b'{"model": "tiny", "model": "tiny"}',
              b'{"model": "tiny"} x', b"[" * 5000, b'{"model": "\xc3\x28"}', b'{"prompt": NaN}']


class ServeRefuses(ServeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.served = cls.start("--client-timeout", "2")

    def setUp(self):
        self.before = read_whole("text", self.served.post("text", order())[2])["text"]

    def tearDown(self):
        """Nothing else has happened."""
        self.assertEqual(read_whole("text", self.served.post("text", order())[2])["text"], self.before)
        self.served.wait_for(lambda: self.served.metric("live_generations") == 0)

    def test_SERVE_5_bad_orders_are_refused_with_the_field(self):
        count = 0
        for field, kind, body in bad_orders():
            with self.subTest(field=field, value=str(body)[:200]):
                error = read_error(self.served.post(kind, body), 400)
                self.assertEqual((error["param"], error["type"]),
                                 (None if field == "prompt" and len(str(body)) > 3000 else field,
                                  "invalid_request_error"), error)
                count += 1
        for body in BAD_BODIES:
            with self.subTest(body=body[:40]):
                read_error(self.served.post("text", body), 400)
                count += 1
        self.assertGreaterEqual(count, 100)

    def test_SERVE_5_a_request_that_does_not_fit_the_context_says_so(self):
        error = read_error(self.served.post("text", order(max_tokens=600)), 400)
        self.assertEqual(error["code"], "context_length_exceeded")

    def test_SERVE_5_other_paths_methods_and_types_are_refused(self):
        for method, path, status in [("GET", "/v1", 404), ("GET", "/v1/embeddings", 404),
                                     ("GET", "/../etc/passwd", 404), ("POST", "/health", 405),
                                     ("GET", "/v1/completions", 405), ("DELETE", "/v1/models/tiny", 405),
                                     ("PUT", "/v1/completions", 405), ("TRACE", "/", 405)]:
            answer = self.served.ask(method, path)
            read_error(answer, status)
            self.assertEqual(answer[1]["Allow"] is not None, status == 405)
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "",
                     "application/jsonp", "text/plain; application/json"):
            read_error(self.served.post("text", order(), Content_Type=kind), 415)
        for kind in ("Application/JSON", "application/json;charset=utf-8", "application/json \t; x=y"):
            self.assertEqual(self.served.post("text", order(), Content_Type=kind)[0], 200, kind)

    def raw(self, data):
        """All that the server sends on a connection on which `data` came."""
        host, port = self.served.endpoint.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=LIMIT_S) as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(data)
            received = b""
            with contextlib.suppress(ConnectionError):
                while part := connection.recv(65536):
                    received += part
        return received

    def status(self, data):
        return int(self.raw(data).split(b" ", 2)[1])

    def test_SERVE_15_probes_with_their_defaults_and_targets_in_absolute_form(self):
        close = b"Connection: close\r\n\r\n"
        ok = [b"OPTIONS / HTTP/1.0\r\n\r\n",  # HAProxy
              b"OPTIONS * HTTP/1.1\r\nHost: 10.1.2.3\r\n" + close,
              b"GET /health HTTP/1.1\r\nHost: 10.1.2.3:8080\r\nUser-Agent: kube-probe/1.31\r\n"
              b"Accept: */*\r\n" + close,
              b"HEAD /health HTTP/1.0\r\n\r\n", b"GET /health HTTP/1.0\r\n\r\n",
              b"GET /v1/models HTTP/1.0\r\n\r\n",
              b"GET http://localhost:1/health HTTP/1.1\r\nHost: evil.example\r\n" + close,
              b"GET HTTP://LOCALHOST/v1/models?x=1 HTTP/1.1\r\nHost: evil.example\r\n" + close,
              b"GET http://localhost HTTP/1.1\r\nHost: localhost\r\n" + close]
        for data in ok:
            with self.subTest(data=data):
                self.assertEqual(self.raw(data).split(b"\r\n")[0], b"HTTP/1.1 200 OK")
        for status, data in [
                (b"421 Misdirected Request",
                 b"GET http://evil.example/v1/models HTTP/1.1\r\nHost: localhost"),
                (b"421 Misdirected Request", b"GET /v1/models HTTP/1.0\r\nHost: evil.example"),
                (b"400 Bad Request", b"GET http:///health HTTP/1.1\r\nHost: localhost"),
                (b"400 Bad Request", b"GET /health HTTP/1.1"),
                (b"404 Not Found", b"GET ftp://localhost/health HTTP/1.1\r\nHost: localhost"),
                (b"405 Method Not Allowed", b"OPTIONS /v1/models HTTP/1.0")]:
            with self.subTest(data=data):
                self.assertEqual(self.raw(data + b"\r\n" + close).split(b"\r\n")[0], b"HTTP/1.1 " + status)

    def test_SERVE_8_a_prompt_that_cannot_fit_is_refused_by_its_bytes(self):
        long = "Once upon a time " * 50000
        for kind, what in (("text", {"prompt": long}), ("chat", {"messages": [
                {"role": "user", "content": long}]})):
            error = read_error(self.served.post(kind, order(kind, **what)), 400)
            self.assertEqual(error["code"], "context_length_exceeded")
            self.assertRegex(error["message"], rf"a prompt of {len(long)} bytes .* at most \d+")

    def test_SERVE_8_what_is_no_request_is_refused_and_closed(self):
        head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        for status, data in [
                (400, b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"), (400, b"GET /\r\n\r\n"),
                (400, b"GET / HTTP/3.0\r\n\r\n"), (400, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"),
                (400, b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"),
                (400, b"GET / HTTP/1.1\r\nHo st: localhost\r\n\r\n"),
                (400, head + b"Content-Length: -1\r\n\r\n"),
                (400, head + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n"),
                (400, head + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
                (411, head + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
                (413, head + b"Content-Length: 1048577\r\n\r\n"),
                (431, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20000 + b"\r\n\r\n")]:
            with self.subTest(data=data[:80]):
                self.assertEqual(self.status(data), status)

    def test_SERVE_8_requests_follow_each_other_on_one_connection(self):
        ask = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        last = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        self.assertEqual(self.raw(ask * 3 + last).count(b"HTTP/1.1 200 OK"), 4)
        old = self.raw(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
        self.assertTrue(old.endswith(b'\r\n\r\n{"status":"ok"}'), old)

    def test_SERVE_8_who_does_not_finish_a_request_is_closed(self):
        begun = (b"GET / HT", b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
                 b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            self.assertEqual(list(pool.map(self.raw, begun)), [b"", b""])

    def resident(self):
        """KiB of the server."""
        with open(f"/proc/{self.served.process.pid}/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

    def test_SERVE_8_memory_of_large_bodies_comes_back(self):
        body = json.dumps(order(prompt=[5] * 330000)).encode()
        self.served.post("text", body)
        before = self.resident()
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            for answer in pool.map(lambda _: self.served.post("text", body), range(24)):
                read_error(answer, 400)
        if not setting("SLIP_SANITIZE"):  # AddressSanitizer keeps what is freed
            self.served.wait_for(lambda: self.resident() - before < 8192)

    def test_SERVE_8_many_connections_leave_memory_flat(self):
        def go(count):
            for number in range(count):
                if number % 100 == 0:
                    read_whole("text", self.served.post("text", order(max_tokens=2))[2])
                elif number % 3 == 0:
                    self.raw(b"GET / HTTP/9\r\n\r\n")
                else:
                    self.served.get("/health")
        count = 10000 if "SLIP_FULL" in os.environ else 400
        go(count // 4)
        before = self.resident()
        go(count)
        if "SLIP_FULL" in os.environ:
            print(f"resident: {before} KiB after {count // 4} connections, "
                  f"{self.resident()} KiB after {count} more")
        if not setting("SLIP_SANITIZE"):  # AddressSanitizer keeps what is freed
            self.assertLess(self.resident() - before, 4096)


class ServePage(ServeTest):
    """The commands of docs/serving.md as they are printed, but for the addresses."""

    def test_the_examples_of_the_page(self):
        text = (ROOT / "docs/serving.md").read_text()
        block = text.split("```")[1].replace("\\\n", " ")
        server, *asked = [line for line in block.splitlines() if line.strip()]
        self.assertEqual(len(asked), 3)
        words = shlex.split(server)
        self.assertEqual(words[:2], ["build/release/slip", "serve"])
        flags = dict(zip(words[2::2], words[3::2], strict=True))
        flags |= {"--artifact": self.folder / "split", "--tls": self.tls / "charlie"}
        (self.folder / "split").symlink_to(self.artifact)
        with David(self.artifact / "david", self.tls / "david") as david:
            flags["--david"] = david.endpoint
            address = flags.pop("--listen")
            with Served(*[word for flag in flags.items() for word in flag]) as served:
                said = [subprocess.run(["bash", "-c", line.replace(address, served.endpoint)], check=True,
                                       capture_output=True, timeout=LIMIT_S).stdout for line in asked]
        self.assertEqual(json.loads(said[0])["data"][0]["id"], "split")
        self.assertEqual(read_whole("text", said[1])["text"], self.alone(PROMPT, 40)["text"])
        read_stream("chat", said[2])


class ServeWithheld(ServeTest):
    """What the owner does not allow is not shown (SERVE-10)."""

    FIELDS = dict(temperature=2, seed=3, max_tokens=60, logprobs=20)

    def choices(self, served, **fields):
        """(text, the log-probability of each chosen token, those of the likeliest in its place)."""
        status, _, body = served.post("text", order(**self.FIELDS | fields))
        self.assertEqual(status, 200, body)
        answer = read_whole("text", body)
        shown = answer["logprobs"]
        return answer["text"], shown["token_logprobs"], [list(top.values()) for top in shown["top_logprobs"]]

    def test_SERVE_10_log_probabilities_of_unlikely_tokens(self):
        with self.unsplit("--allow-all-logprobs", "--plain-seeds") as served:
            text, all_shown, tops = self.choices(served)
        with self.unsplit("--allow-logprobs", "--plain-seeds") as served:
            self.assertEqual(self.choices(served)[0], text)
            withheld = self.choices(served)[1]
            self.assertEqual(self.choices(served, logprobs=0)[1], withheld)
        unlikely = [whole < min(top) for whole, top in zip(all_shown, tops, strict=True)]
        self.assertEqual(set(unlikely), {True, False})
        for shown, whole, is_unlikely in zip(withheld, all_shown, unlikely, strict=True):
            self.assertEqual(shown, -9999.0 if is_unlikely else whole)
            self.assertGreater(whole, -100)

    def test_SERVE_10_seeds_are_the_servers_own(self):
        fields = dict(temperature=2, seed=3, max_tokens=24)
        flags = ["--temperature", "2", "--seed", "3"]

        def text(served, **more):
            status, _, body = served.post("text", order(**fields | more))
            self.assertEqual(status, 200, body)
            return read_whole("text", body)["text"]

        plain = self.alone(PROMPT, 24, *flags)["text"]
        with self.unsplit() as served:
            first = text(served)
            self.assertEqual(text(served), first)
            body = served.post("text", order(stream=True, **fields))[2]
            self.assertEqual(read_stream("text", body)["text"], first)
            # The eighth token may be a part of a character, which the end replaces.
            self.assertTrue(first.startswith(text(served, max_tokens=8).rstrip("\ufffd")))
            self.assertNotEqual(text(served, seed=4), first)
            self.assertEqual(text(served, temperature=0, max_tokens=8), self.alone()["text"])
        with self.unsplit() as served:
            self.assertNotIn(text(served), (first, plain))


@unittest.skipUnless("SLIP_OPENAI_NODE" in os.environ,
                     "SLIP_OPENAI_NODE names no folder with npm's package openai")
class ServeOfficialClient(ServeTest):
    """OpenAI's client for JavaScript, which npm has and Debian has not."""

    def test_eight_streams_at_once_are_those_of_the_unsplit_model(self):
        prompts = ["Once upon a time", "The dog", "One day, a little girl", "Tom and Mia went", "A big",
                   "There was a cat who", "She said", "In the park"]
        script = pathlib.Path(os.environ["SLIP_OPENAI_NODE"]) / "openai_client.mjs"
        shutil.copy(ROOT / "property_tests/system/openai_client.mjs", script)
        with self.unsplit() as served:
            said = subprocess.run(["node", script, f"http://{served.endpoint}/v1", *prompts], text=True,
                                  capture_output=True, timeout=LIMIT_S)
        self.assertEqual(said.returncode, 0, said.stderr)
        out = json.loads(said.stdout)
        self.assertEqual(out["models"], ["tiny"])
        self.assertEqual(out["texts"], [self.alone(prompt, 24)["text"] for prompt in prompts])
        self.assertEqual(out["chat"]["streamed"], out["chat"]["whole"])
        self.assertTrue(out["chat"]["whole"])
        self.assertEqual(out["refused"], {"status": 400, "param": "suffix", "kind": "BadRequestError"})


if __name__ == "__main__":
    unittest.main()
