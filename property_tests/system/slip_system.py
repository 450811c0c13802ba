"""What the system tests share: the programs under test, David as a process, small checkpoints.

The environment variable SLIP_BUILD names the build folder."""

import json
import math
import os
import pathlib
import random
import re
import select
import signal
import struct
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["SLIP_BUILD"]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("SLIP_SHARED_DIR", ROOT.parent / "shared"))
STORIES260K = SHARED / "data/models/stories260K"
STORIES_TEXT = SHARED / "data/text/stories-valid.txt"
TINYSTORIES = ROOT / "models/tinystories-llama"
# Seconds that one command may take; sanitized builds and whole texts are slow.
LIMIT_S = 2400 if "SLIP_FULL" in os.environ else 900
BUILD_LIMIT_S = 3600  # to build what uses the library, and the library with it


def run(program, *arguments, env=None):
    """Runs a program of the build to its end; returns subprocess.CompletedProcess."""
    return subprocess.run([str(BUILD / program), *map(str, arguments)], capture_output=True,
                          text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL,
                          env=os.environ | (env or {}))


class SystemTest(unittest.TestCase):
    """Tests of one topic; each class has a folder of its own."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="slip-system-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def slip(self, *arguments, status=0, says=(), env=None):
        """Runs `slip`, checks the status, and that stderr holds every string of `says`."""
        result = run("slip", *arguments, env=env)
        self.assertEqual(result.returncode, status, f"slip {arguments}: {result.stderr}")
        for text in says:
            self.assertIn(text, result.stderr)
        return result

    def refused(self, *arguments, says=()):
        """Bad input: status 2, nothing on stdout, one line that names the command, behind the lines of
        progress that work of more than a second shows."""
        result = self.slip(*arguments, status=2, says=says)
        self.assertEqual(result.stdout, "")
        said = re.sub(r"\A(slip .*: .* [0-9]+ of [0-9]+, [0-9]+ s.*\n)+", "", result.stderr)
        self.assertTrue(said.startswith(f"slip {arguments[0]}: error: "), result.stderr)
        return result

    def generate(self, name, *arguments):
        """`slip generate --json` with the logits in a file; returns (the JSON, the file's bytes)."""
        logits = self.folder / f"{name}.logits"
        out = self.slip("generate", *arguments, "--logits", logits, "--json").stdout
        return json.loads(out), logits.read_bytes()

    def hybrid_equals_unsplit(self, artifact, tls, *tail, audit=None, davids=None):
        """LIN-4: generates with and without the protocol and compares ids and the logits' bytes;
        returns the JSON of hybrid. `audit`: of a hidden split, the owner's integer model. `davids`: one
        after the other; over TLS, if there are none."""
        model = ["--audit", audit] if audit else []
        unsplit, expected = self.generate("unsplit", "--artifact", artifact, "--engine", "unsplit",
                                          *model, *tail)
        for david in davids or [David(artifact / "david", tls / "david")]:
            with david:
                hybrid, logits = self.generate("hybrid", "--artifact", artifact, "--engine", "hybrid",
                                               *david.flags(tls), *tail)
            self.assertEqual(hybrid["ids"], unsplit["ids"])
            self.assertEqual(hybrid["text"], unsplit["text"])
            self.assertEqual(logits, expected)
            self.assertEqual(hybrid["checks"], hybrid["rounds"])
        return hybrid

    def over_every_transport(self, artifact, tls):
        """Davids of the same half, over TLS and in shared memory."""
        return [David(artifact / "david", tls / "david"),
                LocalDavid(artifact / "david", self.folder / "david")]


def setting(name):
    """A variable of the build's CMake cache."""
    line = re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    return line[1] if line else ""


class Outside(SystemTest):
    """Tests of SLIP as a library, from outside the tree."""

    @classmethod
    def command(cls, *arguments):
        """Runs a command that must succeed; returns its output. No include path leads back here."""
        environment = {name: value for name, value in os.environ.items() if "PATH" not in name}
        result = subprocess.run(list(map(str, arguments)), capture_output=True, text=True,
                                timeout=BUILD_LIMIT_S, cwd=cls.folder,
                                env=environment | {"PATH": os.environ["PATH"]})
        assert result.returncode == 0, f"{arguments}:\n{result.stdout}{result.stderr}"
        return result.stdout

    def configure(self, source, build, *options):
        """CMake with the compiler of the build, and with its cache of objects."""
        self.command("cmake", "-G", "Ninja", "-S", source, "-B", build, *options,
                     *(f"-D{name}={setting(name)}" for name in
                       ("CMAKE_CXX_COMPILER", "CMAKE_CXX_COMPILER_LAUNCHER")))

    def assert_links(self, program, shared):
        needed = self.command("readelf", "--dynamic", program)
        self.assertEqual("[libslip.so.0.2]" in needed, shared, needed)


class David:
    """`slip david` as a process of its own, on a free port of the loopback device."""

    program = [str(BUILD / "slip")]
    folder = None  # where he works: this process's folder

    def __init__(self, artifact, tls, *extra, stderr=subprocess.PIPE):
        self.stderr = stderr
        self.arguments = ["david", "--artifact", artifact, "--listen", "127.0.0.1:0", "--tls", tls]
        self.arguments += extra

    def flags(self, tls):
        """By which Charlie, whose certificates are in `tls`, finds him."""
        return ["--david", self.endpoint, "--tls", tls / "charlie"]

    def __enter__(self):
        self.process = subprocess.Popen([*self.program, *map(str, self.arguments)], cwd=self.folder,
                                        stdout=subprocess.PIPE, stderr=self.stderr, text=True)
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT_S)
        line = self.process.stdout.readline() if ready else ""
        if not line.startswith("listening on "):
            self.process.kill()
            raise AssertionError(f"David does not listen: {line} {self.process.communicate()[1]}")
        self.endpoint = line.removeprefix("listening on ").strip()
        return self

    def hang(self):
        """Returns when none of his threads runs any more: the signal alone reaches them one by one."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def stop(self, number=signal.SIGTERM):
        """Asks him to stop, also if he hangs; returns (exit status, stderr)."""
        # In this order: a SIGCONT during his exit would cancel the SIGSTOP by which a sanitizer halts
        # his threads, and it would wait for them without end.
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(number)
        stderr = self.process.communicate(timeout=LIMIT_S)[1]
        return self.process.returncode, stderr

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        self.process.stdout.close()
        if self.process.stderr:
            self.process.stderr.close()


class LocalDavid(David):
    """The same in shared memory, beside a socket of this name."""

    def __init__(self, artifact, name, *extra, stderr=subprocess.PIPE):
        super().__init__(artifact, None, *extra, stderr=stderr)
        self.arguments[3:7] = ["--listen", f"shm:{name}"]

    def flags(self, tls):
        return ["--david", self.endpoint]


class TrainedModel(SystemTest):
    """Byte for byte: hybrid against the unsplit integer model, over every transport."""

    def compare(self, model, rank, prompt, tokens):
        artifact, tls = self.folder / f"rank{rank}", self.folder / "tls"
        self.slip("split", "--model", model, "--rank", rank, "--out", artifact)
        if not tls.exists():
            self.slip("keys", "--out", tls)
        tail = ["--prompt", prompt, "--max-tokens", tokens]
        hybrid = self.hybrid_equals_unsplit(artifact, tls, *tail,
                                            davids=self.over_every_transport(artifact, tls))
        # Without --json the text streams to stdout and the summary to stderr.
        streamed = self.slip("generate", "--artifact", artifact, "--engine", "unsplit", *tail)
        self.assertEqual(streamed.stdout, hybrid["text"] + "\n")
        self.assertIn("tokens", streamed.stderr)
        return hybrid


CONFIG = {
    "model_type": "llama", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 32,
    "max_position_embeddings": 32, "rms_norm_eps": 1e-5, "tie_word_embeddings": True,
}


def tensor_shapes(config):
    """The tensors of a checkpoint with a tied head, by name."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    keys = hidden * config["num_key_value_heads"] // config["num_attention_heads"]
    shapes = {"model.embed_tokens.weight": [config["vocab_size"], hidden],
              "model.norm.weight": [hidden]}
    for block in range(config["num_hidden_layers"]):
        for name, shape in [
                ("input_layernorm", [hidden]), ("post_attention_layernorm", [hidden]),
                ("self_attn.q_proj", [hidden, hidden]), ("self_attn.k_proj", [keys, hidden]),
                ("self_attn.v_proj", [keys, hidden]), ("self_attn.o_proj", [hidden, hidden]),
                ("mlp.gate_proj", [inner, hidden]), ("mlp.up_proj", [inner, hidden]),
                ("mlp.down_proj", [hidden, inner])]:
            shapes[f"model.layers.{block}.{name}.weight"] = shape
    return shapes


def write_safetensors(path, shapes, numbers, poison=None):
    """Tensors of normally distributed values. `poison` names a tensor that gets a NaN."""
    header, data = {}, b""
    for name, shape in shapes.items():
        values = [numbers.gauss(0, 0.3) for _ in range(math.prod(shape))]
        if name == poison:
            values[-1] = float("nan")
        values = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_checkpoint(folder, change_config=None, poison=None):
    """A small random checkpoint without a tokenizer. `poison` names a tensor that gets a NaN."""
    config = CONFIG | (change_config or {})
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", tensor_shapes(CONFIG), random.Random(1), poison)
    return folder


class Deployment(SystemTest):
    """One small model, split once, with keys for both parties, and the text that it must give."""

    SET = "paper-lattice"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        model = write_checkpoint(cls.folder / "model")
        cls.artifact, cls.tls = cls.folder / "artifact", cls.folder / "tls"
        cls.tail = ["--ids", "1,5,9", "--max-tokens", "8", "--json"]
        for command in [["split", "--model", model, "--rank", "3", "--set", cls.SET, "--out", cls.artifact],
                        ["keys", "--out", cls.tls]]:
            result = run("slip", *command)
            assert result.returncode == 0, result.stderr
        honest = run("slip", "generate", "--artifact", cls.artifact, "--engine", "unsplit",
                     *cls.tail)
        cls.honest_ids = json.loads(honest.stdout)["ids"]

    def david(self, *extra, **more):
        return David(self.artifact / "david", self.tls / "david", *extra, **more)

    def charlie_command(self, endpoint, *extra):
        certificates = [] if endpoint.startswith("shm:") else ["--tls", self.tls / "charlie"]
        return ["generate", "--artifact", self.artifact, "--engine", "hybrid", "--david", endpoint,
                *certificates, *self.tail, *extra]

    def assert_served(self, endpoint):
        """An honest Charlie gets his text, whatever has happened before him."""
        out = self.slip(*self.charlie_command(endpoint)).stdout
        self.assertEqual(json.loads(out)["ids"], self.honest_ids)
