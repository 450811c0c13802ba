"""`slip serve` as a process, and a client of it that takes nothing on trust."""

import concurrent.futures
import contextlib
import fcntl
import http.client
import json
import pathlib
import re
import select
import shutil
import signal
import ssl
import subprocess
import tempfile
import time

from slip_system import BUILD, LIMIT_S, TINYSTORIES, SystemTest, run

ID = {"chat": re.compile(r"chatcmpl-[0-9a-f]{24}"), "text": re.compile(r"cmpl-[0-9a-f]{24}")}
PATHS = {"chat": "/v1/chat/completions", "text": "/v1/completions"}


def make_certificate(folder):
    """key.pem and cert.pem of localhost, in a new folder."""
    folder.mkdir()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost", "-keyout", folder / "key.pem", "-out",
                    folder / "cert.pem"], check=True, capture_output=True)


class Served:
    """`slip serve` on a free port, until the end of the with block. Its log goes to a file, or to the
    descriptor `stderr`."""

    def __init__(self, *arguments, wait=True, cafile=None, stderr=None):
        self.arguments = ["serve", "--listen", "127.0.0.1:0", *map(str, arguments)]
        self.wait, self.cafile, self.descriptor = wait, cafile, stderr

    def __enter__(self):
        self.stderr = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([BUILD / "slip", *self.arguments], stdout=subprocess.PIPE,
                                        stderr=self.descriptor or self.stderr, text=True)
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT_S)
        line = self.process.stdout.readline() if ready else ""
        if not line.startswith("listening on "):
            self.process.kill()
            raise AssertionError(f"it does not listen: {line} {self.log()}")
        self.endpoint = line.removeprefix("listening on ").strip()
        if self.wait:
            self.wait_for(lambda: self.get("/health")[0] == 200)
        return self

    def wait_for(self, condition):
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise AssertionError(f"it does not come so far: {self.log()}")
            time.sleep(0.02)

    def connect(self):
        host, port = self.endpoint.rsplit(":", 1)
        if self.cafile is None:
            return http.client.HTTPConnection(host, int(port), timeout=LIMIT_S)
        context = ssl.create_default_context(cafile=self.cafile)
        context.check_hostname = False
        return http.client.HTTPSConnection(host, int(port), timeout=LIMIT_S, context=context)

    def ask(self, method, path, body=None, headers=None):
        """(status, fields, body) of one request on a connection of its own."""
        connection = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def post(self, kind, order, **headers):
        """The same for an order; `kind` is "chat" or "text", or a path."""
        body = order if isinstance(order, (bytes, str)) else json.dumps(order)
        fields = {"Content-Type": "application/json"} | {
            k.replace("_", "-"): v for k, v in headers.items()}
        return self.ask("POST", PATHS.get(kind, kind), body, fields)

    def metric(self, name):
        for line in self.get("/metrics")[2].decode().splitlines():
            if line.startswith(f"slip_{name} "):
                return float(line.split()[1])
        raise AssertionError(f"no metric slip_{name}")

    def stop(self, number=signal.SIGTERM):
        """(exit status, stderr)."""
        self.process.send_signal(number)
        self.process.wait(timeout=LIMIT_S)
        return self.process.returncode, self.log()

    def log(self):
        """What it has said on standard error."""
        self.stderr.seek(0)
        return self.stderr.read()

    def warnings(self):
        """Its lines that tell of something wrong, of a server whose log is text."""
        return [line for line in self.log().splitlines() if " level=info " not in line]

    def lines(self):
        """The fields of its log's lines, of a server with --log-format json."""
        return [json.loads(line) for line in self.log().splitlines()]

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        self.process.stdout.close()
        self.stderr.close()


class Wrong(AssertionError):
    """What a server sent is not what the interface says."""


def require(condition, what, shown=""):
    if not condition:
        raise Wrong(f"{what}: {shown}")


def events_of(body):
    """The data of each event of a whole stream: lines "data: " with an object, each followed by an empty
    one; the last is [DONE], or an error if the answer could not be completed."""
    text = body.decode("utf-8")
    require("\r" not in text and not text.startswith("\ufeff"), "characters that mean something", text[:80])
    require(text.endswith("\n\n"), "the stream does not end with an event", text[-80:])
    events = text[:-2].split("\n\n")
    for event in events:
        require(event.startswith("data: ") and "\n" not in event, "no event of one line", event)
    data = [event.removeprefix("data: ") for event in events]
    for each in data[:-1]:
        require(each.startswith("{") and "error" not in json.loads(each), "an event before the last", each)
    require(data[-1] == "[DONE]" or list(json.loads(data[-1])) == ["error"], "the last event", data[-1])
    return data


KEYS = {"id", "object", "created", "model", "choices"}


def check_chunk(kind, chunk, first, usage_asked):
    require(KEYS <= set(chunk) <= KEYS | {"usage", "slip"}, "keys of a chunk", chunk)
    expected = "chat.completion.chunk" if kind == "chat" else "text_completion"
    require(chunk["object"] == expected, "object", chunk)
    require(ID[kind].fullmatch(chunk["id"]), "id", chunk)
    for key in ("id", "created", "model"):
        require(chunk[key] == first[key], f"{key} changes", chunk)
    require(("usage" in chunk) == usage_asked, "usage is there if it was asked for", chunk)


def check_choice(kind, choice, is_first):
    """Its text."""
    name = "delta" if kind == "chat" else "text"
    require(set(choice) == {"index", name, "logprobs", "finish_reason"}, "keys of a choice", choice)
    require(choice["index"] == 0, "index", choice)
    if kind == "text":
        require(isinstance(choice["text"], str), "text", choice)
        return choice["text"]
    delta = choice["delta"]
    require(("role" in delta) == is_first, "the role stands in the first chunk alone", choice)
    require(set(delta) <= {"role", "content"}, "keys of a delta", delta)
    require(not is_first or delta == {"role": "assistant", "content": ""}, "first delta", delta)
    return delta.get("content", "")


def check_usage(usage):
    require(set(usage) == {"prompt_tokens", "completion_tokens", "total_tokens",
                           "prompt_tokens_details"}, "keys of the usage", usage)
    require(usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"], "total",
            usage)
    require(0 <= usage["prompt_tokens_details"]["cached_tokens"] < usage["prompt_tokens"], "cached",
            usage)


SLIP = {"engine", "artifact", "set", "rounds", "checks", "bytes_up", "bytes_down", "epsilon",
        "kernels", "repeated_steps"}


def check_receipt(receipt):
    require(set(receipt) == SLIP, "keys of a receipt", receipt)
    whole = receipt["checks"] == receipt["rounds"]
    require(whole or receipt["repeated_steps"] > 0, "rounds whose reply was not checked", receipt)
    require(receipt["artifact"] is None or re.fullmatch("[0-9a-f]{64}", receipt["artifact"]),
            "digest", receipt)


def read_stream(kind, body, usage_asked=False, receipt=True):
    """The whole answer of a stream that ends well: {text, finish_reason, chunks, usage, slip}."""
    events = events_of(body)
    require(events[-1] == "[DONE]", "the last event", events[-1])
    chunks = [json.loads(event) for event in events[:-1]]
    text, reason = "", None
    with_choice = chunks[:-1] if usage_asked else chunks
    for number, chunk in enumerate(chunks):
        check_chunk(kind, chunk, chunks[0], usage_asked)
        last = number == len(chunks) - 1
        require(("slip" in chunk) == (last and receipt), "the receipt stands in the last chunk", chunk)
        if number >= len(with_choice):
            require(chunk["choices"] == [], "choices of the chunk with the usage", chunk)
            continue
        require(not usage_asked or chunk["usage"] is None, "usage before the end", chunk)
        (choice,) = chunk["choices"]
        require(reason is None, "a choice behind the finish reason", chunk)
        text += check_choice(kind, choice, number == 0)
        reason = choice["finish_reason"]
    require(reason in ("stop", "length"), "finish reason", reason)
    if usage_asked:
        check_usage(chunks[-1]["usage"])
    if receipt:
        check_receipt(chunks[-1]["slip"])
    return {"text": text, "finish_reason": reason, "chunks": len(chunks),
            "usage": chunks[-1].get("usage"), "slip": chunks[-1].get("slip")}


def read_whole(kind, body, receipt=True):
    """The same of an answer that is not streamed."""
    answer = json.loads(body)
    require(set(answer) == KEYS | {"usage"} | ({"slip"} if receipt else set()), "keys", answer)
    require(answer["object"] == ("chat.completion" if kind == "chat" else "text_completion"),
            "object", answer)
    require(ID[kind].fullmatch(answer["id"]), "id", answer)
    require(abs(answer["created"] - time.time()) < LIMIT_S, "created", answer)
    (choice,) = answer["choices"]
    if kind == "chat":
        message = choice["message"]
        require(message.keys() == {"role", "content", "refusal"}, "keys of a message", message)
        require(message["role"] == "assistant" and message["refusal"] is None, "message", message)
        text = message["content"]
    else:
        text = choice["text"]
    require(choice["finish_reason"] in ("stop", "length"), "finish reason", choice)
    check_usage(answer["usage"])
    if receipt:
        check_receipt(answer["slip"])
    return {"text": text, "finish_reason": choice["finish_reason"], "usage": answer["usage"],
            "slip": answer.get("slip"), "logprobs": choice["logprobs"]}


def read_error(answer, status=None):
    """The error of an answer (status, fields, body) in OpenAI's form."""
    code, fields, body = answer
    require(400 <= code < 600 and status in (None, code), "status", (code, body))
    require(fields["Content-Type"] == "application/json", "type", fields["Content-Type"])
    error = json.loads(body)
    require(error.keys() == {"error"}, "keys", error)
    error = error["error"]
    require(error.keys() == {"message", "type", "param", "code"}, "keys of an error", error)
    require(error["message"] and error["type"], "message and type", error)
    return error


PROMPT = "Once upon a time"
CHAT = [{"role": "system", "content": "You tell stories."},
        {"role": "user", "content": "Tell me one."}]


def order(kind="text", **fields):
    """The fields of an order that is answered with few tokens, always the same."""
    what = {"prompt": PROMPT} if kind == "text" else {"messages": CHAT}
    return {"model": "tiny", "temperature": 0, "max_tokens": 8} | what | fields


SERVED_BLOCKS = 2


def write_short_model(folder):
    """The bundled model without its last four blocks: what is served takes a third of the time, and no test
    asks for good text. Tests that interrupt an answer ask for 250 tokens or more."""
    shutil.copytree(TINYSTORIES, folder)
    config = json.loads((TINYSTORIES / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": SERVED_BLOCKS}))
    path = folder / "model.safetensors"
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header, data = {}, b""
    for name, tensor in json.loads(content[8:start]).items():
        block = re.match(r"model\.layers\.(\d+)\.", name)
        if name == "__metadata__" or (block and int(block[1]) >= SERVED_BLOCKS):
            continue
        first, last = tensor["data_offsets"]
        header[name] = tensor | {"data_offsets": [len(data), len(data) + last - first]}
        data += content[start + first:start + last]
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return folder


def split_with(name):
    """The short model, split with these parameters: once for all tests of a build, who wait for the one
    that makes it. Another build of slip, or another model, makes it anew."""
    folder = BUILD / "serve_tests"
    folder.mkdir(exist_ok=True)
    newest = max(path.stat().st_mtime_ns
                 for path in [BUILD / "slip", pathlib.Path(__file__), *TINYSTORIES.iterdir()])
    made, partial = folder / f"{name}@{newest}", folder / f"{name}.partial"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            for old in [partial, *folder.glob(f"{name}@*")]:
                shutil.rmtree(old, ignore_errors=True)
            with tempfile.TemporaryDirectory() as scratch:
                model = write_short_model(pathlib.Path(scratch) / "model")
                result = run("slip", "split", "--model", model, "--rank", "4", "--set", name,
                             "--out", partial)
            assert result.returncode == 0, result.stderr
            partial.rename(made)
    return made


class ServeTest(SystemTest):
    """One artifact, and text that it must give."""

    SET = "paper-lattice"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.artifact, cls.tls = cls.folder / "artifact", cls.folder / "tls"
        shutil.copytree(split_with(cls.SET), cls.artifact)
        result = run("slip", "keys", "--out", cls.tls)
        assert result.returncode == 0, result.stderr

    @classmethod
    def unsplit(cls, *extra, **options):
        return Served("--artifact", cls.artifact, "--engine", "unsplit", "--model-name", "tiny",
                      "--chat-format", "llama2", *extra, **options)

    @classmethod
    def start(cls, *extra):
        """A server for all tests of a class."""
        served = cls.unsplit(*extra)
        served.__enter__()
        cls.addClassCleanup(served.__exit__, None, None, None)
        return served

    @contextlib.contextmanager
    def begun(self, served, **fields):
        """An answer in another thread, as a future, once it has some tokens."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            answer = pool.submit(served.post, "text", order(stream=True, **fields))
            served.wait_for(lambda: served.metric("generated_tokens_total") > 5)
            yield answer

    def alone(self, prompt=PROMPT, tokens=8, *flags):
        """The JSON of slip generate."""
        return json.loads(self.slip("generate", "--artifact", self.artifact, "--engine", "unsplit",
                                    "--prompt", prompt, "--max-tokens", tokens, "--json",
                                    *flags).stdout)
