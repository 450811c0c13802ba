"""Files that are wrong, one by one, as a user of `slip` meets them: status 2, one line that names the
file and what was expected, and nothing half-written."""

import json
import os
import shutil
import struct
import subprocess
import unittest

from slip_system import BUILD, CONFIG, LIMIT_S, SystemTest, run, write_checkpoint

WEIGHTS = "model.safetensors"
UP = "model.layers.1.mlp.up_proj.weight"
NORM = "model.layers.0.input_layernorm.weight"


def safetensors(header, data):
    """A file with this header, a dict or the bytes of a text."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def hostile_json(good):
    """(name, bytes) of texts that are no acceptable version of the JSON text `good`."""
    deep = 100000
    return [("empty", b""), ("blank", b" \n"), ("a word", b"maybe"), ("cut off", good[:-2]),
            ("followed by more", good + b"{}"), ("a comment", b"// hello\n" + good),
            ("nested arrays", b"[" * deep + b"]" * deep), ("open arrays", b"[" * deep),
            ("nested objects", b'{"a":' * deep + b"1" + b"}" * deep),
            ("a number without end", b'{"a": ' + b"9" * 5000 + b"}"),
            ("a huge exponent", b'{"a": 1e999999}'), ("invalid UTF-8", b'{"\xff\xfe": 1}'),
            ("half a surrogate", b'{"\\ud800": 1}'), ("a zero byte", b'{"a": \x001}'),
            ("a name twice", b'{"a": 1, "a": 2}'), ("a string", b'"text"'), ("null", b"null")]


class BadInput(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.good = write_checkpoint(cls.folder / "good")
        cls.bytes = (cls.good / WEIGHTS).read_bytes()
        length, = struct.unpack("<Q", cls.bytes[:8])
        cls.header = json.loads(cls.bytes[8:8 + length])
        cls.data = cls.bytes[8 + length:]

    def setUp(self):
        self.model = self.folder / "model"
        shutil.copytree(self.good, self.model)
        self.addCleanup(shutil.rmtree, self.model)

    def split_refuses(self, *says, plan=None):
        before = sorted(os.listdir(self.folder))
        how = ["--plan", plan] if plan else ["--rank", "2"]
        self.refused("split", "--model", self.model, "--out", self.folder / "out", *how, says=says)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def changed(self, name, **fields):
        """The header with some fields of one tensor changed."""
        return self.header | {name: self.header[name] | fields}

    def with_values(self, name, change):
        """The data with the bytes of one tensor changed."""
        begin, end = self.header[name]["data_offsets"]
        return self.data[:begin] + change(self.data[begin:end]) + self.data[end:]

    def test_a_safetensors_file_that_lies_about_itself(self):
        begin, end = self.header[UP]["data_offsets"]
        twice = json.dumps(self.header)[:-1] + f', "{UP}": {json.dumps(self.header[UP])}}}'
        cases = [
            ("empty", b"", "is empty"), ("short", self.bytes[:7], "too short"),
            ("cut within the header", self.bytes[:100], "longer than the file"),
            ("a header of 2^63 bytes", struct.pack("<Q", 1 << 63) + self.bytes[8:], "the limit"),
            ("a header beyond the file", struct.pack("<Q", 10 ** 8) + self.bytes[8:],
             "longer than the file"),
            ("an empty header", safetensors(b"", b""), "'{'"),
            ("cut within the data", self.bytes[:-1], "the tensors end at byte"),
            ("a byte too many", self.bytes + b"\0", "the tensors end at byte"),
            ("an overlap", safetensors(self.changed(UP, data_offsets=[begin - 4, end - 4]),
                                       self.data), "without gap or overlap"),
            ("a gap", safetensors(self.changed(UP, data_offsets=[begin + 4, end + 4]), self.data),
             "without gap or overlap"),
            ("an end before the begin",
             safetensors(self.changed(UP, data_offsets=[end, begin]), self.data), "data_offsets"),
            ("a negative offset",
             safetensors(self.changed(UP, data_offsets=[-4, end]), self.data), "data_offsets"),
            ("an offset that is no integer",
             safetensors(self.changed(UP, data_offsets=[float(begin), end]), self.data),
             "data_offsets"),
            ("one offset", safetensors(self.changed(UP, data_offsets=[begin]), self.data),
             "data_offsets"),
            ("more elements than bytes", safetensors(self.changed(UP, shape=[1 << 20, 16]),
                                                     self.data), "data_offsets"),
            ("a shape that overflows",
             safetensors(self.changed(UP, shape=[1 << 33, 1 << 33]), self.data), "data_offsets"),
            ("a shape that is no list", safetensors(self.changed(UP, shape=24), self.data),
             "shape"),
            ("an unknown dtype", safetensors(self.changed(UP, dtype="F128"), self.data), "dtype"),
            ("an unknown field", safetensors(self.changed(UP, colour="red"), self.data), "colour"),
            ("a tensor that is no object", safetensors(self.header | {UP: 7}, self.data), UP),
            ("a tensor twice", safetensors(twice.encode(), self.data), "twice")]
        for name, contents, expected in cases:
            with self.subTest(name):
                (self.model / WEIGHTS).write_bytes(contents)
                self.split_refuses(WEIGHTS, expected)
        for name, text in hostile_json(json.dumps(self.header).encode()):
            with self.subTest(name):
                (self.model / WEIGHTS).write_bytes(safetensors(text, self.data))
                self.split_refuses(WEIGHTS)

    def test_tensors_that_the_model_cannot_use(self):
        def value(number):
            return lambda old: old[:-4] + struct.pack("<f", number)
        missing = {name: entry for name, entry in self.header.items() if name != NORM}
        missing["other"] = self.header[NORM]
        turned = self.header[UP]["shape"][::-1]
        cases = [
            ("NaN", safetensors(self.header, self.with_values(UP, value(float("nan")))), UP, "NaN"),
            ("infinity", safetensors(self.header, self.with_values(UP, value(float("inf")))), UP,
             "infinity"),
            ("minus infinity in a norm",
             safetensors(self.header, self.with_values(NORM, value(float("-inf")))), NORM, ""),
            ("integers", safetensors(self.changed(UP, dtype="I32"), self.data), UP, "F32"),
            ("a matrix that is turned", safetensors(self.changed(UP, shape=turned), self.data), UP,
             "config.json"),
            ("a vector", safetensors(self.changed(UP, shape=[turned[0] * turned[1]]), self.data),
             UP, "config.json"),
            ("no such tensor", safetensors(missing, self.data), NORM, "")]
        for name, contents, tensor, expected in cases:
            with self.subTest(name):
                (self.model / WEIGHTS).write_bytes(contents)
                self.refused("forward", "--model", self.model, "--engine", "float", "--ids", "1",
                             says=[tensor, expected])
                if tensor == UP:
                    self.split_refuses(tensor, expected)

    def test_CONV_4_a_name_that_a_terminal_would_obey(self):
        for name, shown in [("a\x1b[2Jb", "a\\x1b[2Jb"), ("a\nslip: ok", "a\\x0aslip: ok"),
                            ("\x9b2J", "\\xc2\\x9b2J"), ("gr\u00fc\u00df \U0001f512", None)]:
            with self.subTest(name):
                (self.model / WEIGHTS).write_bytes(
                    safetensors(self.header | {name: {"dtype": "F128"}}, self.data))
                self.split_refuses(WEIGHTS, "tensor " + (shown or name))

    def test_CONV_4_bytes_that_are_no_text(self):
        """0x80 to 0xbf continue a character; alone, a terminal may obey them (0x9b is CSI)."""
        for name in [b"\x84\x80", b"\xbf\xbf", b"\x9b2J", b"\xc3", b"\xc0\x80"]:
            result = subprocess.run([BUILD / "slip", "forward", "--model", name, "--engine", "float",
                                     "--ids", "1"], capture_output=True, timeout=LIMIT_S)
            self.assertEqual(result.returncode, 2)
            self.assertTrue(result.stderr.isascii(), result.stderr)
            shown = "".join(chr(byte) if byte < 128 else f"\\x{byte:02x}" for byte in name)
            self.assertIn(shown.encode(), result.stderr)

    def test_a_configuration_that_is_hostile(self):
        file = self.model / "config.json"
        good = file.read_bytes()
        for name, text in hostile_json(good):
            with self.subTest(name):
                file.write_bytes(text)
                self.split_refuses("config.json")
        for field, values in [("hidden_size", [0, -16, 16.0, "16", None, 1 << 64, 1e300, [16]]),
                              ("num_hidden_layers", [0, 1 << 40]),
                              ("num_attention_heads", [3, 1 << 20]),
                              ("rms_norm_eps", [0, -1, "small", 1e300, 1e-300]),
                              ("tie_word_embeddings", ["yes", 1])]:
            for wrong in values:
                with self.subTest(f"{field} = {wrong}"):
                    file.write_text(json.dumps(CONFIG | {field: wrong}))
                    self.split_refuses("config.json", field)

    def test_a_plan_that_is_hostile(self):
        plan = self.folder / "plan.json"
        self.addCleanup(plan.unlink)
        for name, text in hostile_json(b'[[0, "q_proj", 1]]'):
            with self.subTest(name):
                plan.write_bytes(text)
                self.split_refuses("plan.json", plan=plan)
        for text in ['[[0, "q_proj", 1.5]]', '[[0, "q_proj", 1e3]]', '[["0", "q_proj", 1]]',
                     '[[0, 7, 1]]', "[[]]", "[0]", '[[18446744073709551616, "q_proj", 1]]']:
            with self.subTest(text):
                plan.write_text(text)
                self.split_refuses("plan.json", "triplet 0", plan=plan)

    def test_an_index_of_shards_that_is_hostile(self):
        (self.model / WEIGHTS).rename(self.model / "shard.safetensors")
        index = self.model / "model.safetensors.index.json"
        places = {name: "shard.safetensors" for name in self.header}
        good = json.dumps({"weight_map": places}).encode()
        index.write_bytes(good)
        self.slip("forward", "--model", self.model, "--engine", "float", "--ids", "1")
        for name, text in hostile_json(good):
            with self.subTest(name):
                index.write_bytes(text)
                self.split_refuses("index.json")
        for shard in ["../good/" + WEIGHTS, "/etc/passwd", "", ".", "..", "a\0b", 7, None]:
            with self.subTest(shard):
                index.write_text(json.dumps({"weight_map": places | {UP: shard}}))
                self.split_refuses("index.json", UP)
        for shard in ["none.safetensors", "config.json"]:
            with self.subTest(shard):
                index.write_text(json.dumps({"weight_map": places | {UP: shard}}))
                self.split_refuses(shard)
        index.write_text(json.dumps({"weight_map": places | {"other": "shard.safetensors"}}))
        self.split_refuses("index.json", "other")
        del places[UP]
        index.write_text(json.dumps({"weight_map": places}))
        self.split_refuses("shard.safetensors", UP)

    def test_MODEL_7_an_artifact_of_which_a_byte_has_changed(self):
        out = self.folder / "artifact"
        self.slip("split", "--model", self.model, "--rank", "2", "--out", out)
        self.addCleanup(shutil.rmtree, out)
        tail = ["--artifact", out, "--ids", "1,2", "--json"]
        forward, hybrid = (["forward", "--engine", engine, *tail] for engine in ("unsplit", "hybrid"))
        honest, honest_hybrid = self.slip(*forward).stdout, self.slip(*hybrid).stdout
        harmless = 0
        for file in sorted(out.glob("*/*")):
            good = file.read_bytes()
            for at in range(0, len(good), 1 + len(good) // 12):
                with self.subTest(f"{file.name} byte {at}"):
                    file.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1:])
                    # Of hints the products are looked at; what is damaged without changing one, and the
                    # line of the hints in SHA256SUMS, `slip check` alone finds.
                    masks = file.name == "masks.safetensors"
                    result = run("slip", *(hybrid if masks else forward))
                    if result.returncode == 0 and (masks or file.name == "SHA256SUMS"):
                        self.assertEqual(result.stdout, honest_hybrid if masks else honest)
                        checked = run("slip", "check", out)
                        self.assertEqual(checked.returncode, 2)
                        self.assertIn("masks.safetensors", checked.stdout + checked.stderr)
                    elif result.returncode == 0:
                        self.assertEqual((file.name, result.stdout), ("manifest.json", honest))
                        harmless += 1  # the space between two fields became another
                    else:
                        self.assertEqual(result.returncode, 2, result.stderr)
                        self.assertRegex(result.stderr, f"{file.parent.name}|the plan names")
            file.write_bytes(good)
        self.assertLess(harmless, 3)
        self.assertEqual(self.slip(*forward).stdout, honest)

    def test_PARAM_4_an_artifact_of_another_version(self):
        out = self.folder / "artifact"
        self.slip("split", "--model", self.model, "--rank", "2", "--out", out)
        self.addCleanup(shutil.rmtree, out)
        for name in ["charlie/plan.json", "david/manifest.json"]:
            good = (out / name).read_text()
            for version in [1, 2, 4]:
                # As it was in version 2: with other fields and without check.safetensors.
                old = {"profile" if field == "set" else field: value
                       for field, value in json.loads(good).items()} | {"version": version}
                (out / name).write_text(json.dumps(old))
                for command in [["inspect"], ["forward", "--engine", "hybrid", "--ids", "1"]]:
                    with self.subTest(f"{name} {version} {command[0]}"):
                        self.refused(*command, "--artifact", out, says=[
                            f"{name}: is of an artifact of version {version}; this program reads "
                            "version 3: split the model again with this version's 'slip split'"])
            (out / name).write_text(good)


if __name__ == "__main__":
    unittest.main()
