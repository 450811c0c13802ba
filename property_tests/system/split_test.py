"""`slip split` and the artifacts: what is refused, what is left behind, who may read what."""
# test: once

import json
import os
import pathlib
import random
import stat
import subprocess
import tempfile
import unittest

from slip_system import CONFIG, SystemTest, tensor_shapes, write_checkpoint, write_safetensors


class Split(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = write_checkpoint(cls.folder / "model")

    def assert_nothing_left(self, *expected):
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(["model", *expected]))

    def split(self, name, *arguments):
        result = self.slip("split", "--model", self.model, "--out", self.folder / name, *arguments)
        self.addCleanup(self.remove, name)
        return result

    def remove(self, name):
        for folder, _, files in os.walk(self.folder / name, topdown=False):
            for file in files:
                os.unlink(os.path.join(folder, file))
            os.rmdir(folder)

    def ranks(self, name):
        report = json.loads(self.slip("inspect", "--artifact", self.folder / name, "--json").stdout)
        return {(layer["block"], layer["layer_type"]): layer["rank"] for layer in report["layers"]}

    def test_MODEL_7_modes_and_files(self):
        self.split("out", "--rank", "2")
        out = self.folder / "out"
        self.assertEqual(sorted(os.listdir(out)), ["charlie", "david"])
        self.assertEqual(sorted(os.listdir(out / "charlie")),
                         ["SHA256SUMS", "charlie.safetensors", "check.safetensors", "config.json",
                          "masks.safetensors", "plan.json"])
        self.assertEqual(sorted(os.listdir(out / "david")), ["david.safetensors", "manifest.json"])
        self.assertEqual(stat.S_IMODE((out / "charlie").stat().st_mode), 0o700)
        for file in (out / "charlie").iterdir():
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600, file)

    def test_MODEL_7_davids_half_shows_no_plan_and_no_rank(self):
        self.split("a", "--rank", "2")
        self.split("b", "--rank", "5")
        manifests = [json.loads((self.folder / name / "david/manifest.json").read_text())
                     for name in "ab"]
        # Only the digest of his own file differs between two plans.
        self.assertEqual(list(manifests[0]), list(manifests[1]))
        for key in manifests[0]:
            if manifests[0][key] != manifests[1][key]:
                self.assertRegex(str(manifests[0][key]), "^[0-9a-f]{64}$", key)

    def refuses_changed(self, says, config=None, extra=None, poison=None, tokenizer=None):
        """A checkpoint with a change is refused before anything is written."""
        with tempfile.TemporaryDirectory() as folder:
            model = write_checkpoint(pathlib.Path(folder) / "model", config, poison)
            if extra:
                write_safetensors(model / "model.safetensors", tensor_shapes(CONFIG) | extra,
                                  random.Random(1))
            if tokenizer:
                (model / "tokenizer.model").write_bytes(tokenizer)
            self.refused("split", "--model", model, "--rank", "2", "--out", f"{folder}/out",
                         says=says)
            self.assertEqual(os.listdir(folder), ["model"])

    def test_DECO_5_a_parameter_that_is_not_finite(self):
        for name in ["model.norm.weight", "model.embed_tokens.weight",
                     "model.layers.1.input_layernorm.weight"]:
            self.refuses_changed([name], poison=name)

    def test_MODEL_10_another_model_than_that_of_config_json(self):
        self.refuses_changed(["model.layers.1.", "num_hidden_layers is 1"],
                             config={"num_hidden_layers": 1})
        self.refuses_changed(["model.layers.0.self_attn.q_norm.weight"],
                             extra={"model.layers.0.self_attn.q_norm.weight": [4]})
        # A tied head that is not the embedding.
        self.refuses_changed(["lm_head.weight"], extra={"lm_head.weight": [32, 16]})

    def test_MODEL_11_a_broken_tokenizer(self):
        self.refuses_changed(["tokenizer.model"], tokenizer=b"no pieces")

    def test_a_split_ends_with_what_it_exposes(self):
        (self.model / "notes.json").write_text("{}")
        self.addCleanup((self.model / "notes.json").unlink)
        some = self.split("some", "--rank", "2").stderr
        self.assertIn("note: David holds 1 of 15 matrices whole, up to row scales: 1 lm_head\n", some)
        self.assertIn("not used: notes.json\n", some)
        self.assertTrue(some.endswith(f"next: slip inspect --artifact {self.folder}/some\n"), some)

    def test_DECO_6_a_plan_that_leaves_david_everything_is_refused(self):
        plan = self.folder / "plan.json"
        self.addCleanup(plan.unlink)
        plan.write_text('[[0, "q_proj", 0], [null, "lm_head", 0]]')
        for flags in [["--rank", "0"], ["--rank", "0", "--blocks", "1"], ["--plan", plan]]:
            self.refused("split", "--model", self.model, "--out", self.folder / "out", *flags,
                         says=["plan.json: names no layer" if plan in flags else "--rank '0'"])
        plan.write_text('[[0, "q_proj", 1], [null, "lm_head", 0]]')
        self.split("one", "--plan", plan)
        self.assertEqual(sum(self.ranks("one").values()), 1)

    def test_DECO_6_the_papers_split_has_a_rank_by_default(self):
        self.split("default", "--set", "paper-lattice")
        self.split("named", "--rank", "16")
        self.assertEqual(self.ranks("default"), self.ranks("named"))
        self.assertGreater(self.ranks("default")[1, "down_proj"], 0)

    def test_THREAT_2_an_artifact_that_others_may_read(self):
        self.split("read", "--rank", "2")
        command = ["forward", "--artifact", self.folder / "read", "--engine", "unsplit", "--ids", "1"]
        self.assertEqual(self.slip(*command).stderr, "")
        weights = self.folder / "read/charlie/charlie.safetensors"
        weights.chmod(0o644)
        self.assertEqual(self.slip(*command).stderr, "")  # in a folder that nobody else can enter
        weights.parent.chmod(0o755)
        says = ["read/charlie: other users may read it", f"chmod -R go= {weights.parent}'"]
        artifact = ["--artifact", self.folder / "read"]
        for engine in ["unsplit", "hybrid"]:
            self.refused("forward", *artifact, "--engine", engine, "--ids", "1", says=says)
        self.refused("generate", *artifact, "--ids", "1", says=says)
        self.refused("inspect", *artifact, says=says)
        self.assertIn(says[0], self.slip("check", self.folder / "read", status=2).stdout)
        weights.chmod(0o600)
        self.assertEqual(self.slip(*command).stderr, "")
        for mode in [0o604, 0o640]:  # as secret as the factors
            (weights.parent / "check.safetensors").chmod(mode)
            if mode == 0o604 or os.geteuid() != 0:
                self.refused(*command, says=says)
            else:  # a container's secret, which belongs to root and which a group may read
                self.assertEqual(self.slip(*command).stderr, "")
        subprocess.run(["chmod", "-R", "go=", weights.parent], check=True)
        self.assertEqual(self.slip(*command).stderr, "")

    def test_THREAT_2_an_audit_that_others_may_read(self):
        audit = self.folder / "audit"
        self.addCleanup(self.remove, "audit")
        self.split("hidden", "--audit", audit)
        command = ["forward", "--artifact", self.folder / "hidden", "--engine", "unsplit", "--audit", audit,
                   "--ids", "1"]
        self.slip(*command)
        audit.chmod(0o755)
        (audit / "audit.safetensors").chmod(0o644)
        self.refused(*command, says=["audit: other users may read it"])

    def test_DECO_6_rank_blocks_and_plans(self):
        self.split("all", "--rank", "2")
        self.assertEqual(self.ranks("all")[1, "down_proj"], 2)
        self.assertEqual(self.ranks("all")[None, "lm_head"], 0)
        said = self.split("cut", "--rank", "100").stderr
        self.assertEqual(self.ranks("cut")[0, "k_proj"], 7)
        self.assertIn("k_proj", said)
        plan = self.folder / "plan.json"
        self.addCleanup(plan.unlink)
        plan.write_text('[[1, "q_proj", 4], [null, "lm_head", 3]]')
        self.split("plan", "--plan", plan)
        ranks = self.ranks("plan")
        self.assertEqual({layer: rank for layer, rank in ranks.items() if rank > 0},
                         {(1, "q_proj"): 4, (None, "lm_head"): 3})

    def test_THREAT_4_neighbouring_blocks_that_david_holds_whole_are_shown(self):
        plan = self.folder / "plan.json"
        self.addCleanup(plan.unlink)
        plan.write_text('[[0, "q_proj", 4], [0, "v_proj", 2], [1, "v_proj", 3], [1, "up_proj", 3]]')
        self.split("part", "--plan", plan)
        report = json.loads(self.slip("inspect", "--artifact", self.folder / "part", "--json").stdout)
        shown = {(layer["block"], layer["layer_type"]): layer["whole_neighbours"]
                 for layer in report["layers"] if layer["whole_neighbours"]}
        self.assertEqual(shown, {(0, "q_proj"): [1], (1, "up_proj"): [0]})
        self.assertIn("2 of 15 matrices are split, but", " ".join(report["warnings"]))
        table = self.slip("inspect", "--artifact", self.folder / "part").stdout
        self.assertRegex(table, r"layers\.1\.mlp\.up_proj .*  whole in block 0\n")

    def test_bad_plans_are_named_and_leave_nothing(self):
        plan = self.folder / "plan.json"
        self.addCleanup(plan.unlink)
        for text, named in [('[[9, "q_proj", 1]]', '[9, "q_proj"]'),
                            ('[[0, "z_proj", 1]]', '[0, "z_proj"]'),
                            ('[[0, "q_proj", 1], [0, "q_proj", 2]]', '[0, "q_proj"]'),
                            ('[[0, "q_proj", -1]]', "triplet 0"),
                            ('[[0, "q_proj", 1], [0, "k_proj"]]', "triplet 1"),
                            ("[]", "names no layer"), ("{}", "plan.json"), ("x", "plan.json")]:
            plan.write_text(text)
            self.refused("split", "--model", self.model, "--out", self.folder / "out", "--plan",
                         plan, says=[named])
            self.assert_nothing_left("plan.json")

    def test_bad_checkpoints_are_named_and_leave_nothing(self):
        out = ["--out", self.folder / "out", "--rank", "1"]
        self.refused("split", "--model", self.folder / "none", *out, says=["none"])
        bad = write_checkpoint(self.folder / "bad", poison="model.layers.1.mlp.up_proj.weight")
        self.addCleanup(self.remove, "bad")
        self.refused("split", "--model", bad, *out, says=["model.layers.1.mlp.up_proj"])
        (bad / "model.safetensors").write_bytes(b"\x10")
        self.refused("split", "--model", bad, *out, says=["model.safetensors"])
        (bad / "config.json").write_text('{"model_type": "bert"}')
        self.refused("split", "--model", bad, *out, says=["config.json", "model_type"])
        self.assert_nothing_left("bad")

    def test_an_existing_folder_is_never_touched(self):
        out = self.folder / "out"
        out.mkdir()
        self.addCleanup(self.remove, "out")
        (out / "mine").write_text("precious")
        self.refused("split", "--model", self.model, "--out", out, "--rank", "1", says=[str(out)])
        self.assertEqual((out / "mine").read_text(), "precious")
        self.assert_nothing_left("out")
        self.refused("split", "--model", self.model, "--out", self.folder / "no/such", "--rank",
                     "1", says=["no/such"])

    def test_halves_of_two_splits_are_refused(self):
        self.split("a", "--rank", "2")
        self.split("b", "--rank", "3")
        mixed = self.folder / "mixed"
        mixed.mkdir()
        self.addCleanup(self.remove, "mixed")
        for half, source in [("charlie", "a"), ("david", "b")]:
            (mixed / half).mkdir(mode=0o700)
            for file in (self.folder / source / half).iterdir():
                (mixed / half / file.name).write_bytes(file.read_bytes())
        for engine in ["unsplit", "hybrid"]:
            self.refused("forward", "--artifact", mixed, "--engine", engine, "--ids", "1")

    def test_ENC_3_the_longer_the_rows_the_smaller_the_activations(self):
        """Rows of 2^18 weights of one size: B_w = 127 * 2^9, and (L-1)/2 / B_w = 25,902. Lattice masks
        have one bound for all, and scale such rows down, even 2^12 of them."""
        (self.folder / "plan.json").write_text('[[0, "q_proj", 1]]')
        self.addCleanup((self.folder / "plan.json").unlink)
        for set_, long, long_rows, others in (("paper", 1 << 18, 25902, 32767),
                                              ("paper-lattice", 1 << 12, 4832, 4832)):
            model, out = self.folder / f"long-{set_}", self.folder / set_
            self.write_long_rows(model, long)
            self.slip("split", "--model", model, "--plan", self.folder / "plan.json", "--set", set_,
                      "--out", out)
            self.addCleanup(self.remove, set_)
            report = json.loads(self.slip("inspect", "--artifact", out, "--json").stdout)
            norms = {layer["layer_type"]: layer["activation_norm"] for layer in report["layers"]}
            self.assertEqual(norms.pop("down_proj"), long_rows)
            self.assertEqual({*norms.values()}, {others})
            hybrid, unsplit = (self.slip("forward", "--artifact", out, "--engine", engine, "--ids",
                                         "1,2", "--json").stdout for engine in ("hybrid", "unsplit"))
            self.assertEqual(hybrid, unsplit)

    def write_long_rows(self, model, long):
        config = CONFIG | {"hidden_size": 2, "num_attention_heads": 1, "num_key_value_heads": 1,
                           "num_hidden_layers": 1, "intermediate_size": long}
        model.mkdir()
        self.addCleanup(self.remove, model.name)
        (model / "config.json").write_text(json.dumps(config))
        write_safetensors(model / "model.safetensors", tensor_shapes(config), Signs())

    def test_PARAM_1_the_parameter_set(self):
        self.split("default", "--rank", "2")
        self.split("named", "--rank", "2", "--set", "paper")
        for name, set_ in (("default", "paper-lattice"), ("named", "paper")):
            for file in ("charlie/plan.json", "david/manifest.json"):
                description = json.loads((self.folder / name / file).read_text())
                self.assertEqual((description["version"], description["set"]), (3, set_))
        for other in ("P31", "Paper", ""):
            self.refused("split", "--model", self.model, "--rank", "2", "--set", other, "--out",
                         self.folder / "out", says=[f"set '{other}': expected one of paper"])
        self.assert_nothing_left("default", "named")

    def test_a_changed_byte_of_davids_half_is_refused(self):
        self.split("out", "--rank", "2")
        weights = self.folder / "out/david/david.safetensors"
        data = bytearray(weights.read_bytes())
        data[-1] ^= 1
        weights.write_bytes(data)
        self.refused("forward", "--artifact", self.folder / "out", "--engine", "unsplit", "--ids",
                     "1", says=["david"])


class Signs(random.Random):
    """Values of one magnitude."""

    def gauss(self, mean=0.0, deviation=1.0):
        return self.choice((-deviation, deviation))


class Keys(SystemTest):
    def test_THREAT_2_each_party_has_a_folder_of_its_own(self):
        tls = self.folder / "tls"
        self.slip("keys", "--out", tls)
        for party in ["ca", "charlie", "david"]:
            self.assertEqual(stat.S_IMODE((tls / party).stat().st_mode), 0o700)
            self.assertEqual(stat.S_IMODE((tls / party / "key.pem").stat().st_mode), 0o600)
        self.refused("keys", "--out", tls, says=[str(tls)])


if __name__ == "__main__":
    unittest.main()
