"""`--seal KEYFILE` (MODEL-20): hints that are encrypted on Charlie's disk, as a user runs them."""
# test: once

import ctypes
import json
import os
import shutil
import unittest

from c_api_library import BAD_INPUT, Library, library_is_loadable, slip
from serve_client import Served
from slip_system import TINYSTORIES, David, SystemTest, run, write_checkpoint

SETS = {"hidden": [], "paper-lattice": ["--rank", "3"]}
TAIL = ["--ids", "1,5,9", "--max-tokens", "8"]


def write_key(path):
    path.write_bytes(os.urandom(32))
    path.chmod(0o600)
    return path


class Seal(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model, cls.tls = write_checkpoint(cls.folder / "model"), cls.folder / "tls"
        cls.key, cls.other = (write_key(cls.folder / name) for name in ("key", "other"))
        commands = [["keys", "--out", cls.tls]]
        for name, flags in SETS.items():
            split = ["split", "--model", cls.model, "--set", name, *flags, "--out"]
            commands += [[*split, cls.folder / name],
                         [*split, cls.folder / f"{name}-sealed", "--seal", cls.key]]
        for command in commands:
            result = run("slip", *command)
            assert result.returncode == 0, result.stderr

    def hybrid(self, artifact, *flags):
        """Over TLS; returns the ids and the logits' bytes."""
        with David(artifact / "david", self.tls / "david") as david:
            said, logits = self.generate("hybrid", "--artifact", artifact, "--david", david.endpoint,
                                         "--tls", self.tls / "charlie", *TAIL, *flags)
        return said["ids"], logits

    def test_MODEL_20_LIN_4_sealed_over_tls_equals_unsealed(self):
        for name in SETS:
            with self.subTest(name):
                sealed = self.hybrid(self.folder / f"{name}-sealed", "--seal", self.key)
                if name == "hidden":  # the integer model of a hidden split is the same every time
                    self.assertEqual(sealed, self.hybrid(self.folder / name))
                else:
                    unsplit, logits = self.generate("unsplit", "--engine", "unsplit", "--artifact",
                                                    self.folder / f"{name}-sealed", *TAIL)
                    self.assertEqual(sealed, (unsplit["ids"], logits))

    def test_MODEL_20_keys_that_do_not_fit(self):
        loose = write_key(self.folder / "loose")
        loose.chmod(0o644)
        short = write_key(self.folder / "short")
        short.write_bytes(b"1234")
        cases = [("-sealed", [], "masks.safetensors: the hints are sealed: expected the file"),
                 ("-sealed", ["--seal", self.other], "tensor group.0, rows 0 to "),
                 ("-sealed", ["--seal", self.folder / "none"], "head -c 32 /dev/urandom"),
                 ("-sealed", ["--seal", loose], "loose: other users may use this secret: expected"),
                 ("-sealed", ["--seal", short], "short: has 4 bytes: expected a secret of exactly 32"),
                 ("", ["--seal", self.key], "the hints are not sealed: expected no key (--seal)")]
        for name in SETS:
            for sealed, flags, says in cases:
                with self.subTest(f"{name}{sealed} {flags}"):
                    # Before David is called: nobody listens.
                    self.refused("generate", "--artifact", self.folder / (name + sealed), "--david",
                                 "127.0.0.1:1", "--tls", self.tls / "charlie", *TAIL, *flags,
                                 says=[says])

    def test_MODEL_20_an_empty_name_does_not_mean_that_nothing_is_sealed(self):
        self.refused("split", "--model", self.model, "--out", self.folder / "none", "--seal", "",
                     says=["--seal: expected the name of a file"])
        self.assertFalse((self.folder / "none").exists())

    def test_MODEL_20_every_command_that_reads_hints_takes_the_key(self):
        artifact = ["--artifact", self.folder / "hidden-sealed", "--engine", "hybrid"]
        self.slip("forward", *artifact, "--ids", "1,2", "--seal", self.key)
        for command in ["generate", "serve", "chat", "eval", "forward", "check"]:
            self.assertIn("--seal KEYFILE", self.slip(command, "--help").stdout)
        self.slip("inspect", "--artifact", self.folder / "hidden-sealed")  # which reads none
        self.slip("generate", "--artifact", self.folder / "paper-lattice-sealed", "--engine",
                  "unsplit", *TAIL)
        self.refused("generate", "--model", self.model, "--engine", "float", *TAIL, "--seal", self.key,
                     says=["--seal has no meaning with --engine float"])

    def test_MODEL_20_served_to_clients_over_tls_and_chatted_with(self):
        out, key = self.folder / "stories", ["--seal", self.key]
        self.slip("split", "--model", TINYSTORIES, "--out", out, *key)
        with David(out / "david", self.tls / "david") as david:
            remote = ["--artifact", out, "--david", david.endpoint, "--tls", self.tls / "charlie"]
            said = json.loads(self.slip("generate", *remote, *key, "--prompt", "Once", "--max-tokens",
                                        "6", "--json").stdout)
            order = {"model": "stories", "prompt": "Once", "max_tokens": 6, "temperature": 0}
            with Served(*remote, *key) as served:
                status, _, answer = served.post("text", order)
            self.assertEqual((status, json.loads(answer)["choices"][0]["text"]), (200, said["text"]))
            self.slip("chat", *remote, *key, "--chat-format", "llama2")  # nothing is said
            for command in [["serve", "--listen", "127.0.0.1:0"], ["chat", "--chat-format", "llama2"]]:
                self.slip(*command, *remote, status=2, says=["the hints are sealed"])

    def test_MODEL_20_check_lists_what_does_not_open(self):
        for name in SETS:
            out = self.folder / "copy"
            shutil.copytree(self.folder / f"{name}-sealed", out)
            self.addCleanup(shutil.rmtree, out, ignore_errors=True)
            self.assertIn("with --seal KEYFILE they are opened", self.slip("check", out).stdout)
            self.slip("check", out, "--seal", self.key)
            masks = out / "charlie/masks.safetensors"
            good = masks.read_bytes()
            length = int.from_bytes(good[:8], "little")
            tensors = json.loads(good[8:8 + length])
            for tensor, key in [("group.1", []), ("group.1", self.key), ("tag.1", self.key)]:
                with self.subTest(f"{name} {tensor} {bool(key)}"):
                    at = 8 + length + tensors[tensor]["data_offsets"][0]
                    masks.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
                    seal = ["--seal", key] if key else []
                    said = self.slip("check", out, *seal, status=2).stdout
                    self.assertIn("masks.safetensors: tensor group.1, rows 0 to ", said)
            shutil.rmtree(out)
        self.refused("check", self.model, "--seal", self.key, says=["no path holds Charlie's half"])

    def test_MODEL_20_a_damaged_chunk_ends_the_session_and_blames_the_disk(self):
        out = self.folder / "damaged"
        shutil.copytree(self.folder / "paper-lattice-sealed", out)
        masks = out / "charlie/masks.safetensors"
        good = masks.read_bytes()
        length = int.from_bytes(good[:8], "little")
        at = 8 + length + json.loads(good[8:8 + length])["tag.4"]["data_offsets"][0]
        masks.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
        with David(out / "david", self.tls / "david") as david:
            self.refused("generate", "--artifact", out, "--david", david.endpoint, "--tls",
                         self.tls / "charlie", *TAIL, "--seal", self.key,
                         says=["masks.safetensors: tensor group.4, rows 0 to ", "does not open them"])


@library_is_loadable
class SealFromC(Library, SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.key = write_key(cls.folder / "key")
        for command in [["split", "--model", write_checkpoint(cls.folder / "model"), "--out",
                         cls.folder / "out", "--seal", cls.key]]:
            result = run("slip", *command)
            assert result.returncode == 0, result.stderr

    def test_MODEL_20_the_option_seal(self):
        options = slip.CharlieOptions(seal=bytes(self.key))
        self.open("charlie_in_process", self.folder / "out", ctypes.byref(options))
        model = ctypes.c_void_p()
        self.call(BAD_INPUT, "open_charlie_in_process", self.folder / "out", None,
                  ctypes.byref(model), None)


if __name__ == "__main__":
    unittest.main()
