"""What the operator of slip serve sees: its log, its metrics, its page (SERVE-12); token ids (SERVE-11)."""

import base64
import collections
import fcntl
import hashlib
import html.parser
import json
import os
import re
import socket
import subprocess
import unittest

from serve_client import (CHAT, PROMPT, Served, ServeTest, Wrong, order, read_error, read_stream,
                          read_whole, require)
from slip_system import LIMIT_S, SystemTest

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')


def family_of(name, kinds):
    """The family that a sample belongs to."""
    for ending in ("_bucket", "_sum", "_count"):
        if name.endswith(ending) and kinds.get(name.removesuffix(ending)) == "histogram":
            return name.removesuffix(ending)
    return name


def check_histogram(name, samples):
    """The buckets rise, the last one has all, and there is one sum."""
    buckets = [(labels["le"], value) for each, labels, value in samples if each == name + "_bucket"]
    limits = [float(limit.replace("+Inf", "inf")) for limit, _ in buckets]
    counts = [value for _, value in buckets]
    require(limits == sorted(set(limits)) and limits[-1] == float("inf"), "limits", limits)
    require(counts == sorted(counts), "buckets do not rise", counts)
    ends = {each: value for each, _, value in samples if not each.endswith("_bucket")}
    require(set(ends) == {name + "_sum", name + "_count"}, "sum and count", ends)
    require(ends[name + "_count"] == counts[-1], "the last bucket has not all", ends)


def read_metrics(text):
    """{name: {labels: value}} of Prometheus's text format 0.0.4; whatever else is Wrong."""
    kinds, found = {}, collections.defaultdict(list)
    current = None
    require(text.endswith("\n"), "the last line does not end")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split()[2]
            require(current not in kinds, "a family stands twice", current)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            require(name == current and kind in ("counter", "gauge", "histogram"), "type", line)
            kinds[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            require(match, "no sample", line)
            require(family_of(match[1], kinds) == current, "a sample outside its family", line)
            found[current].append((match[1], dict(LABEL.findall(match[2] or "")), float(match[3])))
    values = {}
    for name, samples in found.items():
        if kinds[name] == "histogram":
            check_histogram(name, samples)
        for each, labels, value in samples:
            key = tuple(sorted(labels.items()))
            require(key not in values.setdefault(each, {}), "a sample stands twice", (each, key))
            values[each][key] = value
    return values


def only(values, name):
    (value,) = values[name].values()
    return value


class MetricsReader(SystemTest):
    """The reader that these tests believe refuses wrong metrics."""

    RIGHT = ('# HELP a b\n# TYPE a histogram\na_bucket{le="1"} 1\na_bucket{le="+Inf"} 2\na_sum 3\n'
             "a_count 2\n# HELP c d\n# TYPE c gauge\nc 1\n")

    def test_right_metrics_are_read(self):
        self.assertEqual(only(read_metrics(self.RIGHT), "c"), 1)

    def test_wrong_metrics_are_refused(self):
        for old, new in [("TYPE a histogram", "TYPE a gauge"), ('le="1"} 1', 'le="1"} 3'),
                         ("a_count 2", "a_count 3"), ("a_sum 3\n", ""), ('"+Inf"', '"9"'), ("c 1", "e 1"),
                         ("c 1\n", "c 1\nc 1\n"), ("HELP c", "HELP a"), ("c 1", "c one two")]:
            with self.subTest(new), self.assertRaises((Wrong, ValueError)):
                read_metrics(self.RIGHT.replace(old, new))


class Page(html.parser.HTMLParser):
    """The texts of elements with an id, and the script."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.open, self.script = {}, [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open.append((tag, dict(attrs).get("id")))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if self.open and self.open[-1][0] == "script":
            self.script += data
        elif self.open and self.open[-1][1]:
            self.texts[self.open[-1][1]] = data


class ServeOperator(ServeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keys = cls.folder / "keys"
        cls.keys.write_text("anna the-key-of-anna-1\nben the-key-of-ben-12\n")
        cls.keys.chmod(0o600)

    def logged(self, served, count):
        """The lines of requests, once there are so many of this path."""
        def lines():
            return [line for line in served.lines() if line.get("path") != "/health" and "status" in line]
        served.wait_for(lambda: len(lines()) >= count)
        return lines()

    def test_SERVE_12_a_line_per_request(self):
        with self.unsplit("--api-keys", self.keys, "--log-format", "json") as served:
            anna = {"Authorization": "Bearer the-key-of-anna-1"}
            status, _, body = served.post("text", order(prompt="A secret tale", max_tokens=5), **anna)
            told = read_whole("text", body)
            streamed = served.post("chat", order("chat", stream=True), **anna)[2]
            read_error(served.post("text", order()), 401)
            read_error(served.get("/nothing", **anna), 404)
            read_error(served.post("text", "{", **anna), 400)
            with socket.create_connection(served.endpoint.rsplit(":", 1)) as raw:
                raw.sendall(b"no request\r\n\r\n")
                self.assertIn(b" 400 ", raw.makefile("rb").readline())
            # A stream's line may come after the next request's.
            lines = sorted(self.logged(served, 6), key=lambda line: (line["status"], "path" not in line))
            ready = next(line for line in served.lines() if "ready" in line)
            log = served.log()
        self.assertEqual((status, [line["status"] for line in lines]), (200, [200, 200, 400, 400, 401, 404]))
        self.assertEqual([line.get("name") for line in lines], ["anna", "anna", "anna", None, None, "anna"])
        first, second, _, unread, _, missing = lines
        self.assertEqual({key: first[key] for key in ("method", "path", "prompt_tokens", "generated_tokens",
                                                      "reason")},
                         {"method": "POST", "path": "/v1/completions", "reason": "length",
                          "prompt_tokens": told["usage"]["prompt_tokens"], "generated_tokens": 5})
        self.assertEqual((missing["path"], "path" in unread), ("/nothing", False))
        self.assertEqual(second["path"], "/v1/chat/completions")
        for line in (first, second):
            self.assertRegex(line["peer"], r"127\.0\.0\.1:\d+")
            self.assertGreaterEqual(line["seconds"], line["first_token_seconds"])
            self.assertGreaterEqual(line["first_token_seconds"], line["queue_seconds"])
            self.assertNotIn("end", line)
        self.assertEqual((ready["role"], ready["ready"]), ("trusted (Charlie)", "tiny"))
        self.assertEqual((ready["engine"], ready["split"]), ("unsplit", self.SET))
        # THREAT-3.
        read_stream("chat", streamed)
        for secret in ("secret tale", "the-key-of", told["text"].strip()[:12], CHAT[1]["content"]):
            self.assertNotIn(secret, log)

    def leave(self, served, stream):
        """The line of a request whose client went at once, or perhaps too late."""
        before = len(self.answered(served))
        connection = served.connect()
        body = json.dumps(order(max_tokens=400, stream=stream))
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        if stream:
            answer = connection.getresponse()
            answer.read(10)
            answer.close()
        connection.close()
        served.wait_for(lambda: len(self.answered(served)) > before)
        return self.answered(served)[-1]

    @staticmethod
    def answered(served):
        return [line for line in served.lines() if line.get("method") == "POST"]

    def test_SERVE_12_a_client_who_goes_is_told_of(self):
        with self.unsplit("--log-format", "json") as served:
            for stream, expected in [(False, 499), (True, 200)]:
                lines = []
                served.wait_for(lambda: "end" in (lines.append(self.leave(served, stream)) or lines[-1]))
                self.assertEqual((lines[-1]["status"], lines[-1]["end"]), (expected, "not whole"))
                # It was cancelled, its next token was not taken, or it had not begun.
                self.assertIn(lines[-1].get("reason"), ("cancelled", "stopped", None))

    def test_SERVE_12_a_log_that_nobody_reads_stops_nothing(self):
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 16384)
        with self.unsplit("--log-format", "json", stderr=writing) as served, open(reading, "rb") as log:
            os.close(writing)
            for number in range(100):
                read_error(served.get(f"/{number}/{'long' * 300}"), 404)
            os.set_blocking(reading, False)
            read_error(served.get("/last"), 404)  # while nothing has been read
            text = log.read().decode()
            read_error(served.get("/read"), 404)
            self.assertEqual(served.stop(), (0, ""))
            text += log.read().decode()
        lines = [json.loads(line) for line in text.splitlines()]
        paths = [line["path"] for line in lines if line.get("status") == 404]
        unread = [line["unread"] for line in lines if "unread" in line]
        self.assertEqual(paths[-1], "/read")
        self.assertEqual(len(unread), 1)
        self.assertEqual(len(paths) + unread[0], 102)
        # They are cut, so that a line fits what a pipe takes at once.
        self.assertEqual({len(path) for path in paths if path not in ("/last", "/read")}, {503})

    def test_the_log_as_text_and_its_level(self):
        with self.unsplit() as served:
            read_error(served.get('/with"quotes'), 404)
            served.wait_for(lambda: "quotes" in served.log())
            line = r"slip serve: time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ level=info status=404 " \
                   r'peer=127\.0\.0\.1:\d+ method=GET path="/with\\"quotes" seconds=0\.\d{4}'
            self.assertRegex(served.log(), f"(?m)^{line}$")
        with self.unsplit("--log-level", "warning") as served:
            served.get("/health")
            self.assertEqual(served.stop(), (0, ""))
        base = ["serve", "--artifact", self.artifact, "--engine", "unsplit", "--listen", "127.0.0.1:0"]
        self.refused(*base, "--log-format", "xml", says=["--log-format 'xml'", "text or json"])
        self.refused(*base, "--log-level", "all", says=["--log-level 'all'", "info or warning"])

    def test_SERVE_12_metrics_under_the_names_of_dashboards(self):
        with self.unsplit() as served:
            served.post("text", order(max_tokens=6))
            served.post("chat", order("chat", max_tokens=3))
            values = read_metrics(served.get("/metrics")[2].decode())
        self.assertEqual(only(values, "slip_generated_tokens_total"), 9)
        for ours, others in [("slip_generated_tokens_total", ("vllm:generation_tokens_total",
                                                              "llamacpp:tokens_predicted_total")),
                             ("slip_prompt_tokens_total", ("vllm:prompt_tokens_total",
                                                           "llamacpp:prompt_tokens_total")),
                             ("slip_live_generations", ("vllm:num_requests_running",
                                                        "llamacpp:requests_processing"))]:
            for other in others:
                self.assertEqual(only(values, other), only(values, ours), other)
        for name, count in [("time_to_first_token_seconds", 2), ("inter_token_latency_seconds", 7),
                            ("request_queue_time_seconds", 2), ("e2e_request_latency_seconds", 2)]:
            for prefix in ("slip_", "vllm:"):
                self.assertEqual(only(values, prefix + name + "_count"), count, prefix + name)
        self.assertGreaterEqual(only(values, "slip_e2e_request_latency_seconds_sum"),
                                only(values, "slip_time_to_first_token_seconds_sum"))
        self.assertEqual(set(values["vllm:num_requests_running"]), {(("model_name", "tiny"),)})
        ended = {dict(key)["finished_reason"]: value
                 for key, value in values["vllm:request_success_total"].items()}
        self.assertEqual((ended["stop"] + ended["length"], ended["abort"]), (2, 0))

    def test_SERVE_12_rounds_are_timed(self):
        with Served("--artifact", self.artifact, "--engine", "hybrid", "--model-name", "tiny") as served:
            served.post("text", order(max_tokens=2))
            values = read_metrics(served.get("/metrics")[2].decode())
        self.assertEqual(only(values, "slip_round_seconds_count"), only(values, "slip_rounds_total"))
        self.assertGreater(only(values, "slip_rounds_total"), 0)

    def test_SERVE_11_token_ids(self):
        with self.unsplit() as served:
            def tokens(**fields):
                return json.loads(served.post("/tokenize", fields)[2])
            whole = tokens(prompt=PROMPT)
            self.assertEqual((whole["count"], len(whole["tokens"])), (len(whole["tokens"]), whole["count"]))
            plain = tokens(prompt=PROMPT, add_special_tokens=False)["tokens"]
            self.assertEqual(whole["tokens"], [1, *plain])  # after BOS
            self.assertEqual(tokens(content=PROMPT)["tokens"], plain)
            with_bos = tokens(content=PROMPT, add_special=True, model="tiny")
            self.assertEqual(with_bos["tokens"], whole["tokens"])
            text = json.loads(served.post("/detokenize", {"tokens": plain})[2])
            self.assertEqual((text["prompt"].strip(), text["content"]), (PROMPT, text["prompt"]))
            # A prompt of these ids, or of the text, is the same request.
            answers = [read_whole("text", served.post("text", order(prompt=prompt))[2])
                       for prompt in (PROMPT, whole["tokens"])]
            self.assertEqual(answers[0]["text"], answers[1]["text"])
            chat = tokens(messages=CHAT)
            usage = read_whole("chat", served.post("chat", order("chat"))[2])["usage"]
            self.assertEqual(chat["count"], usage["prompt_tokens"])
            (model,) = json.loads(served.get("/v1/models")[2])["data"]
            self.assertEqual(model["max_model_len"], whole["max_model_len"])
            self.assertRegex(json.loads(served.get("/version")[2])["version"], r"\d+\.\d+\.\d+")
            for path, fields, param in [("/tokenize", {}, "prompt"), ("/tokenize", {"prompt": 3}, "prompt"),
                                        ("/tokenize", {"prompt": "a", "model": "b"}, "model"),
                                        ("/tokenize", {"prompt": "a", "more": 1}, "more"),
                                        ("/detokenize", {"tokens": "a"}, "tokens"),
                                        ("/detokenize", {"tokens": [1 << 30]}, "tokens"),
                                        ("/detokenize", {"tokens": [-1]}, "tokens")]:
                with self.subTest(path, **fields):
                    self.assertEqual(read_error(served.post(path, fields), 400)["param"], param)

    def test_the_page(self):
        """Its numbers need no script; only its own script may run, and its curl line is one, which is
        answered as it is printed."""
        with Served("--artifact", self.artifact, "--engine", "unsplit", "--model-name", "it's <tiny>",
                    "--chat-format", "llama2", "--api-keys", self.keys, "--operator", "anna") as served:
            anna = {"Authorization": "Bearer the-key-of-anna-1"}
            served.post("chat", order("chat", model="it's <tiny>", max_tokens=4), **anna)
            _, fields, body = served.get("/", **anna)
            page = Page(body.decode())
            said = subprocess.run(["bash", "-c", page.texts["curl"]], capture_output=True, timeout=LIMIT_S,
                                  env=os.environ | {"KEY": "the-key-of-anna-1"}, check=True).stdout
        self.assertTrue(read_whole("chat", said)["text"])
        self.assertEqual((page.texts["state"], page.texts["generated"]), ("ok", "4"))
        self.assertIn("ms", page.texts["first"] + page.texts["between"])
        digest = base64.b64encode(hashlib.sha256(page.script.encode()).digest()).decode()
        self.assertIn(f"script-src 'sha256-{digest}'", fields["Content-Security-Policy"])
        self.assertIn("default-src 'none'", fields["Content-Security-Policy"])
        self.assertEqual(body.count(b'class="spark"'), 2)
        self.assertRegex(page.texts["curl"], r"""^curl http://127\.0\.0\.1:\d+/v1/chat/completions .*"""
                                             r"""-d '\{"model": "it'\\''s <tiny>", "messages": .*\}'$""")


if __name__ == "__main__":
    unittest.main()
