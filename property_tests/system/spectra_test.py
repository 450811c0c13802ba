"""`spectra` against hand-made spectra, and against `slip eval` of checkpoints whose files were changed."""
# test: once, studies

import json
import math
import random
import shutil
import struct
import unittest

from slip_system import CONFIG, STORIES260K, STORIES_TEXT, SystemTest, run, tensor_shapes

TOKENS = 100


def read_safetensors(path):
    """(header, bytes of the tensors)."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    return json.loads(data[8:8 + size]), bytearray(data[8 + size:])


def write_safetensors(path, header, body):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def largest_component(w, m, n):
    """sigma u v^T of row-major w, by power iteration."""
    v = [1.0 + 0.01 * j for j in range(n)]
    for _ in range(300):
        u = [sum(w[i * n + j] * v[j] for j in range(n)) for i in range(m)]
        v = [sum(w[i * n + j] * u[i] for i in range(m)) for j in range(n)]
        length = math.sqrt(sum(x * x for x in v))
        v = [x / length for x in v]
    u = [sum(w[i * n + j] * v[j] for j in range(n)) for i in range(m)]
    return [u[i] * v[j] for i in range(m) for j in range(n)]


class Measured:
    def spectra(self, *arguments, status=0):
        result = run("spectra", *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        return json.loads(result.stdout) if status == 0 else result.stderr


class Spectra(Measured, SystemTest):
    def test_decay_of_known_matrices(self):
        model = self.folder / "known"
        model.mkdir()
        (model / "config.json").write_text(json.dumps(CONFIG))
        values = [8.0, 4.0, 2.0, 1.0] + [0.5] * 12
        numbers = random.Random(1)
        header, body = {}, b""
        for name, shape in tensor_shapes(CONFIG).items():
            entries = [numbers.gauss(0, 0.3) for _ in range(math.prod(shape))]
            if name.endswith("q_proj.weight"):  # a permuted diagonal, the second block's tripled
                order = numbers.sample(range(16), 16)
                factor = -3.0 if ".1." in name else 1.0
                entries = [factor * values[i] if order[i] == j else 0.0
                           for i in range(16) for j in range(16)]
            data = struct.pack(f"<{len(entries)}f", *entries)
            header[name] = {"dtype": "F32", "shape": shape,
                            "data_offsets": [len(body), len(body) + len(data)]}
            body += data
        write_safetensors(model / "model.safetensors", header, body)
        found = self.spectra("decay", "--model", model)
        self.assertEqual(found["model"]["name"], "known")
        self.assertEqual(found["model"]["parameters"], len(body) // 4)
        types = {each["name"]: each for each in found["result"]["layer_types"]}
        self.assertEqual(list(types), ["q", "k", "v", "o", "gate", "up", "down"])
        for key in ("mean", "least", "most"):
            for got, expected in zip(types["q"][key], values, strict=True):
                self.assertAlmostEqual(got, expected / 8, 6)
        self.assertEqual((types["down"]["m"], types["down"]["n"], len(types["down"]["mean"])), (16, 24, 16))
        self.assertLess(types["k"]["least"][3], types["k"]["most"][3])

    def test_bad_input_is_named(self):
        text = ("--text", "x", "--tokens", "5")
        for said, arguments in [
                ("expected decay, bypass or removal", ["other"]), ("--model is missing", ["decay"]),
                ("config.json", ["decay", "--model", self.folder]),
                ("--tokens is missing", ["bypass", "--model", STORIES260K]),
                ("--tokens '1x': expected", ["bypass", "--model", STORIES260K, "--tokens", "1x"]),
                ("--widths: 2 is not odd", ["bypass", "--model", STORIES260K, *text, "--widths", "2"]),
                ("--components '1,,2': expected",
                 ["removal", "--model", STORIES260K, *text, "--components", "1,,2"])]:
            if STORIES260K not in arguments or STORIES260K.exists():
                self.assertIn(said, self.spectra(*arguments, status=2))


@unittest.skipUnless(STORIES260K.is_dir() and STORIES_TEXT.is_file(), "no shared data")
class SpectraOfStories(Measured, SystemTest):
    text = ("--text", STORIES_TEXT, "--tokens", str(TOKENS))

    def perplexity_with(self, name, change):
        """By `slip eval`, of a copy whose tensors' float values are change(tensor, values, shape)."""
        copy = self.folder / name
        shutil.copytree(STORIES260K, copy)
        path = copy / "model.safetensors"
        path.chmod(0o644)
        header, body = read_safetensors(path)
        for tensor, entry in header.items():
            if tensor == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            self.assertEqual(entry["dtype"], "F32")
            values = list(struct.unpack(f"<{(end - begin) // 4}f", body[begin:end]))
            body[begin:end] = struct.pack(f"<{len(values)}f", *change(tensor, values, entry["shape"]))
        write_safetensors(path, header, body)
        out = self.slip("eval", "--model", copy, "--engine", "float", "--text", STORIES_TEXT,
                        "--max-tokens", TOKENS, "--json").stdout
        return json.loads(out)["perplexity"]

    def test_bypassed_blocks_add_nothing(self):
        found = self.spectra("bypass", "--model", STORIES260K, *self.text)["result"]
        self.assertEqual([(window["blocks"], [at["center"] for at in window["positions"]])
                          for window in found["windows"]],
                         [(1, [0, 1, 2, 3, 4]), (3, [1, 2, 3]), (5, [2])])
        same = self.perplexity_with("same", lambda _, values, __: values)
        self.assertAlmostEqual(found["baseline"], same, 6)

        def without(blocks):
            return lambda name, values, shape: (
                [0.0] * len(values) if len(shape) == 2 and any(f"layers.{b}." in name for b in blocks)
                else values)

        self.assertAlmostEqual(found["windows"][0]["positions"][3]["perplexity"],
                               self.perplexity_with("one", without([3])), 4)
        self.assertAlmostEqual(found["windows"][1]["positions"][2]["perplexity"],
                               self.perplexity_with("three", without([2, 3, 4])), 2)

    def test_removed_components_are_the_largest(self):
        found = self.spectra("removal", "--model", STORIES260K, *self.text, "--components", "1,32")["result"]
        types = {each["name"]: each["points"] for each in found["layer_types"]}
        k = "model.layers.1.self_attn.k_proj.weight"

        def without_largest(name, values, shape):
            if name != k:
                return values
            return [w - c for w, c in zip(values, largest_component(values, *shape))]

        one, all_of_them = (point["perplexities"][1] for point in types["k"])
        self.assertAlmostEqual(one / self.perplexity_with("largest", without_largest), 1, 4)
        zero = self.perplexity_with(
            "zero", lambda name, values, _: [0.0] * len(values) if name == k else values)
        self.assertAlmostEqual(all_of_them / zero, 1, 4)  # k is 32 x 64
        self.assertIn("no layers of type 'x'", self.spectra(
            "removal", "--model", STORIES260K, *self.text, "--components", "1", "--type", "x", status=2))
        self.assertIn("32 singular components", self.spectra(
            "removal", "--model", STORIES260K, *self.text, "--components", "33", status=2))


if __name__ == "__main__":
    unittest.main()
