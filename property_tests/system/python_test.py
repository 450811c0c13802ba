"""python/slip: what it gives is what the programs give, and its wheel is all that a user needs."""
# test: once

import ast
import contextlib
import ctypes
import importlib
import inspect
import json
import os
import pkgutil
import re
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
import typing
import unittest
import unittest.mock
import zipfile

from c_api_library import LIBRARY, library_is_loadable, slip
from cnn_test import write_images, write_network
from slip_system import ROOT, TINYSTORIES, Outside, SystemTest, write_checkpoint

PROMPT = "Once upon a time"


class Python:
    """With the build's library."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.environ["SLIP_LIBRARY"] = str(LIBRARY)

    def program(self, *flags):
        out = self.slip("generate", "--model", TINYSTORIES, "--engine", "float", "--prompt", PROMPT,
                        "--max-tokens", "30", "--json", *flags).stdout
        return json.loads(out)


@library_is_loadable
class LanguageModels(Python, SystemTest):
    def setUp(self):
        self.model = slip.LanguageModel.checkpoint(TINYSTORIES)
        self.addCleanup(self.model.close)
        self.prompt = self.model.encode_prompt(PROMPT)

    def test_text_and_ids_are_the_program_s(self):
        expected = self.program()
        self.assertEqual(self.prompt, expected["prompt_ids"])
        self.assertEqual(self.model.generate(self.prompt, 30), expected["ids"])
        self.assertEqual(self.model.decode(expected["ids"], self.prompt), expected["text"])
        pieces = []
        self.assertEqual(self.model.complete(PROMPT, 30, on_text=pieces.append), expected["text"])
        self.assertEqual("".join(pieces), expected["text"])
        word = expected["text"].split()[4]
        self.assertEqual(self.model.complete(PROMPT, 30, stop=[word]), self.program("--stop", word)["text"])
        self.assertEqual(self.model.generate(self.prompt, 30, temperature=1.2, seed=9, top_k=4),
                         self.program("--temperature", "1.2", "--seed", "9", "--top-k", "4")["ids"])

    def test_buffers_grow(self):
        text = PROMPT * 40
        self.assertEqual(self.model.decode(self.model.encode(text)).strip(), text)
        long = self.model.encode_chat([{"role": "user", "content": text}] * 9, "mistral")[0]
        self.assertGreater(len(long), 1024)

    def test_logits_of_forward_choose_what_generate_chooses(self):
        rows = self.model.forward(self.prompt)
        self.assertEqual((len(rows), len(rows[0])), (len(self.prompt), self.model.vocabulary_size))
        self.assertEqual([rows[-1].index(max(rows[-1]))], self.model.generate(self.prompt, 1))

    def test_what_a_callback_raises_ends_the_call_and_reaches_the_caller(self):
        seen = []

        def fail(token, logits):
            seen.append(len(logits))
            raise KeyError(token)

        with self.assertRaises(KeyError):
            self.model.generate(self.prompt, 30, fail)
        self.assertEqual(seen, [self.model.vocabulary_size])
        self.assertEqual(len(self.model.generate(self.prompt, 3)), 3)
        self.assertEqual(self.model.generate(self.prompt, 0, fail), [])

    def test_errors_have_their_kinds_and_messages(self):
        with self.assertRaisesRegex(slip.BadInput, "/nowhere"):
            slip.LanguageModel.checkpoint("/nowhere")
        with self.assertRaisesRegex(slip.BadInput, "temperature"):
            self.model.generate(self.prompt, 1, temperature=-1.0)
        with self.assertRaisesRegex(slip.BadInput, "narrator"):
            self.model.encode_chat([{"role": "narrator", "content": "It rained."}], "mistral")
        with self.assertRaises(slip.Busy):
            self.model.generate(self.prompt, 1, lambda *_: self.model.forward([1]))
        with self.assertRaises(TypeError):
            self.model.generate(self.prompt, 1, warmth=1)
        other = slip.LanguageModel.checkpoint(TINYSTORIES)
        other.close()
        other.close()
        with self.assertRaises(slip.InvalidHandle):
            other.vocabulary_size

    def test_a_text_with_a_nul_is_refused_where_c_would_cut_it(self):
        for call in [lambda: self.model.encode_chat([{"role": "user", "content": "one\0two"}], "mistral"),
                     lambda: self.model.complete(PROMPT, 4, stop=["\0"]),
                     lambda: slip.LanguageModel.unsplit("model\0"),
                     lambda: slip.split("model", "out\0")]:
            with self.assertRaisesRegex(slip.BadInput, "expected a text without NUL"):
                call()
        self.assertEqual(len(self.model.encode("\0\0")), 1 + 2)  # a blank before it, as before every text
        for call in [lambda: self.model.complete(PROMPT, 4, stop=["\udcff"]),
                     lambda: self.model.encode("\udcff")]:
            with self.assertRaisesRegex(slip.BadInput, "expected a text of Unicode"):
                call()

    def test_paths_and_files_that_are_not_unicode_are_named_in_errors(self):
        for path in [os.fsencode(self.folder) + b"/\xff", self.folder / "spoilt"]:
            os.mkdir(path)
            with open(os.path.join(path, os.fsencode("config.json") if isinstance(path, bytes)
                                   else "config.json"), "wb") as file:
                file.write(b'{"\xff\xfe": 1}')
            with self.assertRaisesRegex(slip.BadInput, r"config[.]json.*\\xff"):
                slip.LanguageModel.checkpoint(os.fsdecode(path))
        with self.assertRaisesRegex(slip.BadInput, "expected a path"):
            slip.LanguageModel.checkpoint("\ud800")
        generation, lines = slip.Generation(), []
        generation._end(slip.structs.GenerationEnd(status=1, message=b"\xff"), None)
        with self.assertRaisesRegex(slip.BadInput, r"\\xff"):
            generation.result(0)
        slip.handles.Callbacks().report(lines.append)(None, b"\xff")
        self.assertEqual(lines, ["\\xff"])

    def test_a_socket_is_closed_also_if_its_model_cannot_be_opened(self):
        for artifact, options in [("model\0", {}), ("model", {"seal": "key\0"})]:
            ours, theirs = socket.socketpair()
            with theirs, self.assertRaises(slip.BadInput):
                slip.LanguageModel.over_socket(artifact, ours, **options)
            self.assertEqual(ours.fileno(), -1)
        ours, theirs = socket.socketpair()
        with theirs, unittest.mock.patch("slip.models.library", side_effect=slip.BadInput("no libslip")), \
                self.assertRaises(slip.BadInput):
            slip.LanguageModel.over_socket("model", ours)
        self.assertEqual(ours.fileno(), -1)

    def test_a_sequence_goes_on(self):
        whole = self.model.generate(self.prompt, 8)
        with slip.Sequence(self.model) as sequence:
            self.assertEqual(sequence.generate(self.prompt, 3), whole[:3])
            self.assertEqual(sequence.generate(self.prompt + whole[:3], 5), whole[3:])


@library_is_loadable
class Schedulers(Python, SystemTest):
    def setUp(self):
        self.model = slip.LanguageModel.checkpoint(TINYSTORIES)
        self.prompt = self.model.encode_prompt(PROMPT)
        self.alone = self.model.generate(self.prompt, 12)

    def test_generations_at_once(self):
        with slip.Scheduler(self.model, live=3) as scheduler:
            running = [scheduler.submit(self.prompt, 12, tenant="one") for _ in range(5)]
            json_text = scheduler.submit(self.prompt, 60, json_schema='{"enum": ["yes", "no"]}')
            for generation in running:
                self.assertEqual(generation.result(60), self.alone)
                self.assertEqual((generation.reason, generation.receipt["generated_tokens"]), ("length", 12))
            self.assertIn(json.loads(self.model.decode(json_text.result(60), self.prompt)), ("yes", "no"))
            with self.assertRaises(slip.Busy):
                self.model.generate(self.prompt, 1)
            scheduler.drain()
            with self.assertRaises(slip.Overloaded):
                scheduler.submit(self.prompt, 1)

    def test_SERVE_4_prompts_are_kept_unless_none_are_wanted(self):
        for options, kept in ({}, True), ({"keeps_no_prompts": True}, False):
            lines = []
            with slip.LanguageModel.checkpoint(TINYSTORIES) as model, \
                    slip.Scheduler(model, lines.append, **options) as scheduler:
                for _ in range(2):
                    generation = scheduler.submit(self.prompt, 12, tenant="one")
                    self.assertEqual(generation.result(60), self.alone)
                self.assertEqual(generation.receipt["cached_tokens"] > 0, kept)
            self.assertEqual(lines, [])

    def test_generations_that_fail_or_are_cancelled(self):
        began, go = threading.Event(), threading.Event()

        def hold(*_):
            began.set()
            go.wait(60)

        with slip.Scheduler(self.model) as scheduler:
            def fail(*_):
                raise KeyError("of the callback")
            failed = scheduler.submit(self.prompt, 12, fail)
            with self.assertRaises(KeyError):
                failed.result(60)
            held = scheduler.submit(self.prompt, 12, hold)
            self.assertTrue(began.wait(60))
            waiting = scheduler.submit(self.prompt, 12)
            scheduler.cancel(waiting)
            with self.assertRaises(TimeoutError):
                waiting.result(0.01)
            go.set()
            self.assertEqual(held.result(60), self.alone)
            self.assertEqual((waiting.result(60), waiting.reason), ([], "cancelled"))


@library_is_loadable
class Splits(Python, SystemTest):
    def test_MODEL_13_a_split_shows_how_far_it_is_and_may_be_stopped(self):
        model, seen = write_checkpoint(self.folder / "model"), []
        slip.split(model, self.folder / "out", on_progress=lambda p: seen.append(p.finished), rank=3)
        self.assertEqual(seen, list(range(len(seen))))
        with self.assertRaises(slip.Stopped):
            slip.split(model, self.folder / "stopped", on_progress=lambda _: False, rank=3)
        with self.assertRaises(KeyError):
            slip.split(model, self.folder / "stopped", on_progress=lambda _: {}[0], rank=3)
        self.assertFalse((self.folder / "stopped").exists())
        with self.assertRaisesRegex(slip.BadInput, "set"):
            slip.split(model, self.folder / "stopped", set="none")
        with slip.LanguageModel.in_process(self.folder / "out") as charlie, \
                slip.LanguageModel.unsplit(self.folder / "out") as unsplit:
            self.assertEqual(charlie.forward([1, 2, 3]), unsplit.forward([1, 2, 3]))

    def test_MODEL_22_SERVE_2_a_scheduler_goes_on_when_the_david_of_a_shard_comes_back(self):
        out, tls = self.folder / "sharded", self.folder / "tls"
        self.slip("keys", "--out", tls)
        slip.split(write_checkpoint(self.folder / "model of two"), out, rank=3, shards=2)
        with contextlib.ExitStack() as stack:
            davids = [stack.enter_context(slip.David(out / f"david-{i}", threads=1)) for i in range(2)]
            servers = [stack.enter_context(david.serve("127.0.0.1:0", tls / "david")) for david in davids]
            places = [f"127.0.0.1:{server.port}" for server in servers]
            with self.assertRaisesRegex(slip.BadInput, "split for 2 Davids"):
                slip.LanguageModel.over_tls(out, places[0], tls / "charlie")
            charlie = stack.enter_context(slip.LanguageModel.over_tls(out, ",".join(places), tls / "charlie"))
            scheduler = stack.enter_context(slip.Scheduler(charlie, reopen_limit_ms=600000))
            expected = scheduler.submit([1, 2, 3], 8).result(600)
            servers[0].close()
            stack.enter_context(davids[0].serve(places[0], tls / "david"))
            self.assertEqual(scheduler.submit([1, 2, 3], 8).result(600), expected)

    def test_a_scheduler_tells_what_it_has_done_and_what_that_has_cost(self):
        out = self.folder / "counted"
        slip.split(write_checkpoint(self.folder / "model of counted"), out, rank=3)
        with slip.LanguageModel.in_process(out) as charlie, slip.Scheduler(charlie) as scheduler:
            generation = scheduler.submit([1, 2, 3], 8)
            generation.result(60)
            scheduler.drain()
            with self.assertRaises(slip.Busy):
                charlie.statistics()
            now = scheduler.statistics()
        self.assertEqual((now.serving, now.damaged, now.live, now.waiting, now.generations, now.sessions,
                          now.rejects), (True, False, 0, 0, 1, 1, 0))
        self.assertIs(now.serving, True)
        self.assertIs(now.damaged, False)
        self.assertEqual(now.generated_tokens, len(generation.ids))
        self.assertGreaterEqual(now.full_stock_tokens, now.stock_tokens)
        self.assertGreater(now.full_stock_tokens, 0)
        for name in ("rounds", "checks", "bytes_up", "bytes_down", "charlie_multiplications",
                     "david_multiplications"):
            self.assertEqual(getattr(now.run, name), generation.receipt[name], name)
            self.assertGreater(getattr(now.run, name), 0, name)

    def test_SERVE_2_generations_end_when_david_is_lost_if_they_are_not_to_wait(self):
        out, tls = self.folder / "one", self.folder / "tls of one"
        self.slip("keys", "--out", tls)
        slip.split(write_checkpoint(self.folder / "model of one"), out, rank=3)
        with slip.David(out / "david", threads=1) as david, \
                david.serve("127.0.0.1:0", tls / "david") as server, \
                slip.LanguageModel.over_tls(out, f"127.0.0.1:{server.port}", tls / "charlie") as charlie, \
                slip.Scheduler(charlie, ends_when_lost=True) as scheduler:
            scheduler.submit([1, 2, 3], 8).result(600)
            server.close()
            with self.assertRaisesRegex(slip.ProtocolError, "there is none after 0 ms"):
                scheduler.submit([1, 2, 3], 8).result(600)

    def test_SESS_10_a_server_takes_other_certificates_while_it_runs(self):
        out, tls = self.folder / "reloaded", self.folder / "tls of the server"
        self.slip("keys", "--out", tls)
        self.slip("keys", "--out", self.folder / "next")
        slip.split(write_checkpoint(self.folder / "model of reloaded"), out, rank=3)
        with slip.David(out / "david", threads=1) as david, \
                david.serve("127.0.0.1:0", tls / "david", lambda line: None) as server:
            place = f"127.0.0.1:{server.port}"

            def generate(keys):
                with slip.LanguageModel.over_tls(out, place, keys / "charlie") as charlie:
                    return charlie.generate([1, 2, 3], 4)

            expected = generate(tls)
            shutil.copytree(self.folder / "next/david", tls / "david", dirs_exist_ok=True)
            self.assertEqual(generate(tls), expected)  # nothing has been read
            server.reload()
            self.assertEqual(generate(self.folder / "next"), expected)
            with self.assertRaises(slip.ProtocolError):
                generate(tls)
            (tls / "david/cert.pem").write_text("no certificate")
            with self.assertRaisesRegex(slip.BadInput, "cert.pem"):
                server.reload()
            self.assertEqual(generate(self.folder / "next"), expected)
        with self.assertRaises(slip.InvalidHandle):
            server.reload()

    def test_masks_are_kept_ready_as_asked_for(self):
        out = self.folder / "uniform"
        slip.split(write_checkpoint(self.folder / "model of uniform"), out, set="paper", rank=3)
        with slip.LanguageModel.in_process(out, masks_ready=1) as charlie, \
                slip.LanguageModel.unsplit(out) as unsplit:
            self.assertEqual(charlie.generate([1, 2, 3], 8), unsplit.generate([1, 2, 3], 8))
        with self.assertRaisesRegex(slip.BadInput, "masks_ready is 65537: expected 1 to 65536"):
            slip.LanguageModel.in_process(out, masks_ready=65537)

    def test_CNN_5_images(self):
        network = write_network(self.folder / "net.onnx")
        write_images(self.folder, 2, 9, 8)
        with self.assertRaisesRegex(slip.BadInput, "cannot be hidden"):
            slip.split(network, self.folder / "images-out")
        slip.split(network, self.folder / "images-out", rank=3)
        pixels = list((self.folder / "images").read_bytes()[16:])
        with slip.ImageClassifier.in_process(self.folder / "images-out") as charlie, \
                slip.ImageClassifier.unsplit(self.folder / "images-out") as unsplit:
            self.assertEqual((charlie.image_size, charlie.class_count), (72, 4))
            self.assertEqual(charlie.classify(pixels), unsplit.classify(pixels))
            self.assertGreater(charlie.statistics().checks, 0)
            self.assertEqual(unsplit.statistics().rounds, 0)
            with self.assertRaisesRegex(slip.BadInput, "multiple of 72"):
                charlie.classify(pixels[1:])


# What a user writes: the owner splits, one machine serves David, another is Charlie.
PROGRAM = """
import sys
import slip
model, out, tls, prompt = sys.argv[1:]
slip.split(model, out, threads=2)
with slip.David(out + "/david", threads=1) as david, david.serve("127.0.0.1:0", tls + "/david") as server:
    with slip.LanguageModel.over_tls(out, f"127.0.0.1:{server.port}", tls + "/charlie") as charlie:
        print(charlie.complete(prompt, max_tokens=12))
"""


def modules_of(package):
    return [package, *(importlib.import_module(f"{package.__name__}.{module.name}")
                       for module in pkgutil.iter_modules(package.__path__))]


def functions_of(value):
    """The functions that are behind an attribute of a module or a class."""
    if isinstance(value, property):
        return [value.fget]
    value = getattr(value, "__func__", value)
    return [value] if inspect.isfunction(value) else []


def assigned(cls):
    """The attributes without an underscore that the class's own code gives to `self`."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    return {node.attr for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            and getattr(node.value, "id", None) == "self" and not node.attr.startswith("_")}


def unhinted(package):
    """The functions and attributes of a package that lack a hint, or have one that does not resolve."""
    missing = []

    def look(owner, name, expected):
        try:
            missing.extend(f"{name}: {one}" for one in sorted(expected - set(typing.get_type_hints(owner))))
        except (NameError, AttributeError) as error:
            missing.append(f"{name}: {error}")

    for module in modules_of(package):
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) != module.__name__:
                continue
            members = [value, *vars(value).values()] if inspect.isclass(value) else [value]
            for function in [one for member in members for one in functions_of(member)]:
                look(function, function.__qualname__,
                     {*inspect.signature(function).parameters, "return"} - {"self", "cls"})
            if inspect.isclass(value) and value.__module__ == module.__name__:
                look(value, name, assigned(value))
    return missing


# The keywords of a call, the struct that gets them, and the members that others set.
KEYWORDS = {"CharlieKeywords": ("CharlieOptions", {"note", "note_context"}),
            "SamplingKeywords": ("SamplingOptions", {"max_tokens", "logit_bias_count"}),
            "SchedulerKeywords": ("SchedulerOptions", {"note", "note_context"}),
            "SplitKeywords": ("SplitOptions", {"on_progress", "note", "context"}),
            "DavidKeywords": ("DavidOptions", set())}


def numbers(hints):
    """From each name to int, float or bool, or None for what C gets a pointer to."""
    return {name: hint if hint in (int, float, bool) else None for name, hint in hints.items()}


def differing(package):
    """The keywords that are not the members of their struct, or are other numbers."""
    found = []
    for keywords, (struct, others) in KEYWORDS.items():
        given = numbers(typing.get_type_hints(getattr(package, keywords)))
        members = numbers(typing.get_type_hints(getattr(package, struct)))
        expected = {(name, kind) for name, kind in members.items() if name not in others | {"size"}}
        found += [f"{keywords}: {name}" for name, _ in expected ^ set(given.items())]
    return sorted(set(found))


def unnamed(package):
    """Errors and structs that __all__ leaves out, and names in it that do not exist."""
    public = {name for module in modules_of(package)[1:] for name, value in vars(module).items()
              if inspect.isclass(value) and issubclass(value, (package.Error, ctypes.Structure))
              and value.__module__ == module.__name__}
    absent = {name for name in package.__all__ if not hasattr(package, name)}
    return sorted(absent | public - set(package.__all__))


class Hints(Outside):
    """A type checker sees what a function takes and gives."""

    def broken(self, file, before, after):
        """A copy of the package with one change."""
        name = f"slip_copy_{len(list(self.folder.glob('slip_copy_*')))}"
        copy = self.folder / name
        shutil.copytree(ROOT / "python/slip", copy, ignore=shutil.ignore_patterns("__pycache__"))
        text = (copy / file).read_text()
        self.assertEqual(text.count(before), 1, before)
        (copy / file).write_text(text.replace(before, after))
        importlib.invalidate_caches()
        with unittest.mock.patch.object(sys, "path", [str(self.folder), *sys.path]):
            return modules_of(importlib.import_module(name))[0]

    def test_every_function_and_attribute_has_hints_that_resolve(self):
        self.assertEqual(unhinted(slip), [])
        for *change, expected in [
                ("models.py", "def class_count(self) -> int:", "def class_count(self):",
                 "ImageClassifier.class_count: return"),
                ("models.py", "def push(self, token: int)", "def push(self, token)",
                 "TextStream.push: token"),
                ("models.py", "def checkpoint(cls, path: StrPath)", "def checkpoint(cls, path)",
                 "Model.checkpoint: path"),
                ("david.py", "connection: socket)", "connection: soket)",
                 "David.serve_socket: name 'soket' is not defined"),
                ("david.py", "    port: int\n", "", "Server: port"),
                ("c.py", "load(path: StrPath)", "load(path)", "load: path")]:
            with self.subTest(expected):
                self.assertEqual(unhinted(self.broken(*change)), [expected])

    def test_keywords_are_the_members_of_the_structs(self):
        self.assertEqual(differing(slip), [])
        for *change, expected in [
                ("david.py", "    gpu: bool\n", "", "DavidKeywords: gpu"),
                ("splits.py", "    shards: int\n", "    shards: int\n    shard: int\n",
                 "SplitKeywords: shard"),
                ("models.py", "    top_k: int\n", "    top_k: float\n", "SamplingKeywords: top_k"),
                ("david.py", "    gpu: bool\n", "    gpu: int\n", "DavidKeywords: gpu")]:
            with self.subTest(expected):
                self.assertEqual(differing(self.broken(*change)), [expected])

    def test_switches_of_c_are_bools_of_python_both_ways(self):
        header = (ROOT / "include/slip/slip.h").read_text()
        switches = set(re.findall(r"^    int (\w+);\s*/\*\*< 1:", header, re.MULTILINE))
        self.assertIn("gpu", switches)
        found = set()
        for struct in {value for value in vars(slip).values()
                       if inspect.isclass(value) and issubclass(value, slip.Options) and value.__doc__}:
            for name, hint in typing.get_type_hints(struct).items():
                if hint is not bool:
                    continue
                found.add(name)
                one = struct()
                self.assertIs(getattr(one, name), False)
                for given, read in ((True, True), (False, False), (1, True), (0, False), (256, True)):
                    setattr(one, name, given)
                    self.assertIs(getattr(one, name), read)
                    self.assertIs(getattr(struct(**{name: given}), name), read)
                    field = ctypes.c_int.from_buffer(one, getattr(struct, name).offset)
                    self.assertEqual(field.value, int(read))
                with self.assertRaises(TypeError):
                    setattr(one, name, "no")
        self.assertEqual(found, switches)

    def test_what_a_user_imports_is_named(self):
        self.assertEqual(unnamed(slip), [])
        for before, after, expected in [('"Busy", ', "", "Busy"),
                                        ('"split",', '"divide", "split",', "divide")]:
            self.assertEqual(unnamed(self.broken("__init__.py", before, after)), [expected])


@library_is_loadable
class Wheel(Outside):
    def test_the_version_is_the_library_s(self):
        header = (ROOT / "include/slip/version.h").read_text()
        self.assertEqual(re.search(r'#define SLIP_VERSION "(.*)"', header)[1], slip.__version__)

    def test_LIN_4_a_wheel_splits_serves_and_generates(self):
        try:
            import setuptools  # noqa: F401
            import wheel  # noqa: F401
        except ImportError:
            self.skipTest("python3-setuptools or python3-wheel is not installed")
        source = self.folder / "source"
        shutil.copytree(ROOT / "python", source, ignore=shutil.ignore_patterns("__pycache__"))
        build = "from setuptools.build_meta import build_wheel; build_wheel('.')"
        subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
        (built,) = source.glob("*.whl")
        self.assertEqual(built.name, f"slip-{slip.__version__}-py3-none-any.whl")
        packed = zipfile.ZipFile(built)
        self.assertIn("slip/py.typed", packed.namelist())
        packed.extractall(self.folder / "installed")
        self.slip("keys", "--out", self.folder / "tls")
        environment = os.environ | {"PYTHONPATH": str(self.folder / "installed"),
                                    "SLIP_LIBRARY": str(LIBRARY)}
        result = subprocess.run(
            [sys.executable, "-c", PROGRAM, ROOT / "models/tinystories-phi", self.folder / "out",
             self.folder / "tls", PROMPT], env=environment, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        program, _ = self.generate("program", "--artifact", self.folder / "out", "--engine", "hybrid",
                                   "--prompt", PROMPT, "--max-tokens", 12)
        self.assertEqual(result.stdout, program["text"] + "\n")


if __name__ == "__main__":
    unittest.main()
