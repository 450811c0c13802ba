"""The families beside LLaMA-2, as a user runs them: split, served over TLS, evaluated."""
# test: once

import json
import os
import random
import shutil
import unittest

from slip_system import (SHARED, TINYSTORIES, David, SystemTest, run, write_checkpoint,
                         write_safetensors)

GPT2 = {"model_type": "gpt2", "n_embd": 12, "n_layer": 2, "n_head": 3, "n_positions": 64,
        "vocab_size": 258, "bos_token_id": 257, "eos_token_id": 257}
PHI = {"model_type": "phi", "hidden_size": 12, "intermediate_size": 20, "num_hidden_layers": 2,
       "num_attention_heads": 2, "partial_rotary_factor": 0.7, "vocab_size": 258,
       "max_position_embeddings": 64, "bos_token_id": 257, "eos_token_id": 257}
MODELS = SHARED / "data/models"
GPT_NANO_SORT = MODELS / "gpt-nano-sort"
PHI_SYNTHETIC = MODELS / "phi-synthetic"
HELLASWAG = SHARED / "data/eval/hellaswag-500.txt"
ARC = SHARED / "data/eval/arc-easy-500.jsonl"
# Everyday those with most differences; with SLIP_FULL set, all.
RELATIVES = ["phi4-mini", "gemma2", "gemma3"] + (
    ["llama3", "smollm2", "mistral-window", "mistral-nemo", "qwen2", "qwen3", "phi3", "phi3-longrope"]
    if "SLIP_FULL" in os.environ else [])


def with_bias(name, shape, outputs):
    return {f"{name}.weight": shape, f"{name}.bias": [outputs]}


def gpt2_shapes(prefix="transformer."):
    d, shapes = GPT2["n_embd"], {}
    for block in range(GPT2["n_layer"]):
        for name, shape in [("ln_1", [d]), ("ln_2", [d]), ("attn.c_attn", [d, 3 * d]),
                            ("attn.c_proj", [d, d]), ("mlp.c_fc", [d, 4 * d]),
                            ("mlp.c_proj", [4 * d, d])]:
            shapes |= with_bias(f"{prefix}h.{block}.{name}", shape, shape[-1])
    shapes |= with_bias(f"{prefix}ln_f", [d], d)
    return shapes | {f"{prefix}wte.weight": [GPT2["vocab_size"], d],
                     f"{prefix}wpe.weight": [GPT2["n_positions"], d]}


def phi_shapes():
    d, inner, vocabulary = PHI["hidden_size"], PHI["intermediate_size"], PHI["vocab_size"]
    shapes = {"model.embed_tokens.weight": [vocabulary, d]}
    for block in range(PHI["num_hidden_layers"]):
        prefix = f"model.layers.{block}."
        shapes |= with_bias(prefix + "input_layernorm", [d], d)
        for name in ["q_proj", "k_proj", "v_proj", "dense"]:
            shapes |= with_bias(f"{prefix}self_attn.{name}", [d, d], d)
        shapes |= with_bias(prefix + "mlp.fc1", [inner, d], inner)
        shapes |= with_bias(prefix + "mlp.fc2", [d, inner], d)
    shapes |= with_bias("model.final_layernorm", [d], d)
    return shapes | with_bias("lm_head", [vocabulary, d], vocabulary)


def write_model(folder, config, shapes, shards=1):
    """A random checkpoint, as one file or dealt out to shards."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    numbers = random.Random(2)
    if shards == 1:
        write_safetensors(folder / "model.safetensors", shapes, numbers)
        return folder
    places = {}
    for shard in range(shards):
        name = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        part = dict(list(shapes.items())[shard::shards])
        write_safetensors(folder / name, part, numbers)
        places |= dict.fromkeys(part, name)
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": 0}, "weight_map": places}))
    return folder


def write_tokenizer(folder, others=None):
    """Byte-level BPE: one token per byte, then one merge and the end of a text, or so many tokens that
    no text has."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    letters = {byte: chr(byte) for byte in shown} | {
        byte: chr(256 + i) for i, byte in enumerate(hidden)}
    tokens = [letters[byte] for byte in range(256)] + (
        ["th", "<|endoftext|>"] if others is None else [f"never{i}" for i in range(others)])
    (folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("#version: 0.2\n" + ("t h\n" if others is None else ""))


class Family:
    """What every family is put through."""

    def check_every_command(self, family, model, layer_types, tls):
        """plan, split, david, generate, inspect and eval; `layer_types` are those of a block."""
        text, plan, artifact = (self.folder / f"{family}-{name}" for name in ("text", "plan", "split"))
        text.write_text("the other thing that they gathered there")
        # By spectra alone: random weights predict no text.
        plan.write_text(self.slip("plan", "--model", model, "--offload", "0.8", "--json").stdout)
        self.slip("split", "--model", model, "--plan", plan, "--out", artifact)
        # Beyond the windows, and beyond the 16 tokens of longrope's original context.
        hybrid = self.hybrid_equals_unsplit(artifact, tls, "--prompt", "the other", "--max-tokens", "20",
                                            davids=self.over_every_transport(artifact, tls))
        self.assertGreaterEqual(len(hybrid["ids"]), 1)
        report = json.loads(self.slip("inspect", "--artifact", artifact, "--json").stdout)
        self.assertEqual([layer["layer_type"] for layer in report["layers"][:len(layer_types)]],
                         layer_types)
        losses = [json.loads(self.slip("eval", *source, "--text", text, "--json").stdout)["nll"]
                  for source in [["--model", model, "--engine", "float"],
                                 ["--artifact", artifact, "--engine", "unsplit"]]]
        self.assertAlmostEqual(losses[0] / losses[1], 1, delta=0.05)


class Families(Family, SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models = {"gpt2": write_model(cls.folder / "gpt2", GPT2, gpt2_shapes()),
                      "phi": write_model(cls.folder / "phi", PHI, phi_shapes())}
        for model in cls.models.values():
            write_tokenizer(model)
        cls.tls = cls.folder / "tls"
        assert run("slip", "keys", "--out", cls.tls).returncode == 0

    def test_LIN_4_hybrid_over_TLS_equals_unsplit(self):
        for family, model in self.models.items():
            artifact = self.folder / f"{family}-artifact"
            self.slip("split", "--model", model, "--rank", "3", "--out", artifact)
            hybrid = self.hybrid_equals_unsplit(artifact, self.tls, "--prompt", "the th\u00e9",
                                                "--max-tokens", "20")
            # MODEL-11: no BOS; "th" is one token, the other bytes one each.
            self.assertEqual(hybrid["prompt_ids"], [256, 101, 32, 256, 195, 169])
            empty, _ = self.generate("empty", "--artifact", artifact, "--engine", "unsplit",
                                     "--prompt", "", "--max-tokens", "1")
            self.assertEqual(empty["prompt_ids"], [257])

    def test_MODEL_8_MODEL_9_every_command_takes_them(self):
        layers = {"gpt2": ["c_attn", "attn.c_proj", "c_fc", "mlp.c_proj"],
                  "phi": ["q_proj", "k_proj", "v_proj", "fc1", "dense", "fc2"]}
        for family, model in self.models.items():
            self.check_every_command(family, model, layers[family], self.tls)

    def test_DECO_6_plans_name_the_families_layers(self):
        names = {"gpt2": ["c_attn", "attn.c_proj", "c_fc", "mlp.c_proj"],
                 "phi": ["q_proj", "k_proj", "v_proj", "fc1", "dense", "fc2"]}
        for family, layers in names.items():
            plan = self.folder / f"{family}.json"
            plan.write_text(json.dumps([[1, layer, 2] for layer in layers]
                                       + [[None, "lm_head", 1]]))
            artifact = self.folder / f"{family}-planned"
            self.slip("split", "--model", self.models[family], "--plan", plan, "--out", artifact)
            report = json.loads(self.slip("inspect", "--artifact", artifact, "--json").stdout)
            ranks = [(layer["block"], layer["layer_type"], layer["rank"])
                     for layer in report["layers"]]
            self.assertEqual(ranks, [(0, layer, 0) for layer in layers]
                             + [(1, layer, 2) for layer in layers] + [(None, "lm_head", 1)])
            if family == "gpt2":
                self.check_separate_ranks(plan)
            plan.write_text('[[0, "o_proj", 1]]')
            self.refused("split", "--model", self.models[family], "--plan", plan, "--out",
                         self.folder / "never", says=["o_proj"])

    def check_separate_ranks(self, plan):
        """MODEL-8: c_attn in three parts, in every block, and never beside the whole."""
        plan.write_text('[[0, "c_attn.q", 1], [0, "c_attn.v", 5], [1, "c_attn.k", 7]]')
        for order in ["fused", "paper"]:
            artifact = self.folder / f"gpt2-apart-{order}"
            self.slip("split", "--model", self.models["gpt2"], "--plan", plan, "--attention", order,
                      "--out", artifact)
            self.hybrid_equals_unsplit(artifact, self.tls, "--ids", "1,5,9", "--max-tokens", "12")
            report = json.loads(self.slip("inspect", "--artifact", artifact, "--json").stdout)
            ranks = [(layer["block"], layer["layer_type"], layer["rank"])
                     for layer in report["layers"] if layer["layer_type"].startswith("c_attn")]
            values = 1 if order == "fused" else GPT2["n_head"]
            width = GPT2["n_embd"] // values
            self.assertEqual(ranks, [(0, "c_attn.q", 1), (0, "c_attn.k", 0)]
                             + [(0, "c_attn.v", min(5, width - 1))] * values
                             + [(1, "c_attn.q", 0), (1, "c_attn.k", 7)] + [(1, "c_attn.v", 0)] * values)
        for bad, says in [('[[0, "c_attn.q", 1], [0, "c_attn", 1]]', "c_attn"),
                          ('[[0, "c_attn.w", 1]]', "c_attn.w")]:
            plan.write_text(bad)
            self.refused("split", "--model", self.models["gpt2"], "--plan", plan, "--out",
                         self.folder / "never", says=[says])
        plan.write_text('[[0, "c_attn.q", 1]]')
        self.refused("split", "--model", self.models["phi"], "--plan", plan, "--out",
                     self.folder / "never", says=["c_attn"])

    def test_MODEL_10_shards_and_names_without_prefix(self):
        ids = ["--engine", "float", "--ids", "1,2,3", "--json"]
        whole = write_model(self.folder / "whole", GPT2, gpt2_shapes())
        bare = write_model(self.folder / "bare", GPT2, gpt2_shapes(prefix=""))
        logits = self.slip("forward", "--model", whole, *ids).stdout
        self.assertEqual(self.slip("forward", "--model", bare, *ids).stdout, logits)

        sharded = write_model(self.folder / "sharded", PHI, phi_shapes(), shards=3)
        self.slip("forward", "--model", sharded, *ids)
        self.slip("split", "--model", sharded, "--rank", "1", "--out", self.folder / "from-shards")
        (sharded / "model-00002-of-00003.safetensors").unlink()
        self.refused("forward", "--model", sharded, *ids, says=["model-00002-of-00003"])

    def test_MODEL_12_questions(self):
        question = {"query": "Question: the?", "choices": ["one", "three", "two"], "gold": 2}
        arc = self.folder / "arc.jsonl"
        arc.write_text(json.dumps(question) + "\n" + json.dumps(question | {"gold": 0}) + "\n")
        model = ["--model", self.models["gpt2"], "--engine", "float"]
        report = json.loads(self.slip("eval", *model, "--choices", arc, "--json").stdout)
        self.assertEqual(list(report), ["items", "correct", "accuracy", "accuracy_norm", "choices"])
        self.assertEqual(report["items"], 2)
        self.assertEqual(report["choices"][0], report["choices"][1])
        self.assertEqual(report["correct"], [2, 0].count(report["choices"][0]))
        self.assertEqual(report["accuracy"], report["correct"] / 2)
        out = self.slip("eval", *model, "--choices", arc, "--limit", "1").stdout
        self.assertIn("questions            1\n", out)

        file = self.folder / "malformed"
        for text, says in [("", "no question"), ("a\n1\nb\nc\nd\n", "line 5"),
                           ("a\n4\nb\nc\nd\ne\n", "line 2"), ("a\n1\nb\n\nd\ne\n", "line 4"),
                           ('{"query": "a"}\n', "choices"),
                           (json.dumps(question | {"gold": 3}), "gold"),
                           (json.dumps(question | {"choices": ["a", ""]}), "choices"),
                           ("{\n", "line 1")]:
            file.write_text(text)
            self.refused("eval", *model, "--choices", file, says=[says])
        self.refused("eval", *model, "--choices", arc, "--text", arc, says=["--text"])
        self.refused("eval", *model, "--text", arc, "--limit", "1", says=["--limit"])

    def test_MODEL_12_accuracy_and_accuracy_norm_differ(self):
        # The fewer tokens the likelier; per byte, the blank before an ending counts least for the longest.
        questions = self.folder / "lengths.jsonl"
        endings = ["x", "x" * 24]
        for gold in (0, 1):
            questions.write_text(json.dumps({"query": "the", "choices": endings, "gold": gold}) + "\n")
            report = json.loads(self.slip("eval", "--model", self.models["gpt2"], "--engine", "float",
                                          "--choices", questions, "--json").stdout)
            self.assertEqual(report["choices"], [0])
            self.assertEqual((report["accuracy"], report["accuracy_norm"]), (1 - gold, gold))

    def test_MODEL_12_windows(self):
        text = self.folder / "text"
        text.write_text("the other thing that they gathered there, though thin. " * 3)
        for model in self.models.values():
            def measure(*flags):
                return json.loads(self.slip("eval", "--model", model, "--engine", "float", "--text",
                                            text, "--json", *flags).stdout)
            default = measure()
            self.assertEqual(default, measure("--window", "64", "--stride", "64"))
            self.assertEqual(default["tokens"], measure("--window", "7", "--stride", "3")["tokens"])
            self.assertNotEqual(default["nll"], measure("--window", "7")["nll"])
            for flags in [["--window", "65"], ["--window", "0"], ["--stride", "65"],
                          ["--window", "7", "--stride", "8"]]:
                self.refused("eval", "--model", model, "--engine", "float", "--text", text, *flags,
                             says=[flags[-2]])


class PapersOrder(SystemTest):
    def test_ATTN_8_LIN_4_hybrid_over_TLS_equals_unsplit_in_every_family(self):
        tls = self.folder / "tls"
        self.slip("keys", "--out", tls)
        models = {"llama": write_checkpoint(self.folder / "llama"),
                  "gpt2": write_model(self.folder / "gpt2", GPT2, gpt2_shapes()),
                  "phi": write_model(self.folder / "phi", PHI, phi_shapes())}
        # Messages per token: for two blocks query, key, a value group for each key-value head, and
        # what else the block has; and the head.
        groups = {"llama": 2 * (2 + 2 + 3) + 1, "gpt2": 2 * (2 + 3 + 3) + 1,
                  "phi": 2 * (2 + 2 + 3) + 1}
        for family, model in models.items():
            artifact = self.folder / f"{family}-artifact"
            self.slip("split", "--model", model, "--rank", "2", "--attention", "paper", "--out", artifact,
                      says=["attention in the paper's order", f"in {groups[family]} messages"])
            hybrid = self.hybrid_equals_unsplit(artifact, tls, "--ids", "1,5,9", "--max-tokens", "12")
            self.assertEqual(hybrid["rounds"], groups[family] * len(hybrid["ids"]))


class HiddenSplit(SystemTest):
    """HIDE-1 to HIDE-8 as a user runs them."""

    def hide(self, model, *flags):
        artifact = self.folder / f"{model.name}-{'-'.join(flags) or 'hidden'}"
        audit = self.folder / f"{artifact.name}-audit"
        self.slip("split", "--model", model, "--out", artifact, "--audit", audit, *flags)
        return artifact, audit

    def test_LIN_4_hybrid_over_TLS_equals_unsplit_in_every_family_and_order(self):
        tls = self.folder / "tls"
        self.slip("keys", "--out", tls)
        models = [write_checkpoint(self.folder / "llama"),
                  write_model(self.folder / "gpt2", GPT2, gpt2_shapes()),
                  write_model(self.folder / "phi", PHI, phi_shapes())]
        for model in models:
            for order in ["fused", "paper"]:
                artifact, audit = self.hide(model, "--attention", order)
                self.hybrid_equals_unsplit(artifact, tls, "--ids", "1,5,9", "--max-tokens", "12", audit=audit,
                                           davids=self.over_every_transport(artifact, tls))

    def test_commands_say_what_a_hidden_split_is(self):
        model = write_checkpoint(self.folder / "model")
        artifact, audit = self.hide(model)
        report = json.loads(self.slip("inspect", "--artifact", artifact, "--json").stdout)
        self.assertEqual(report["set"], "hidden")
        for group in report["groups"]:
            self.assertEqual(group["hint_bytes"], 12672 * group["m"])
            self.assertAlmostEqual(group["david_factor"], 6 * (1 + 2304 / group["m"]))
            self.assertFalse(group["pays"])
        self.assertIn("costs more than it offloads", report["warnings"][0])
        table = self.slip("inspect", "--artifact", artifact).stdout
        self.assertIn("set hidden", table)
        self.slip("check", artifact)
        wrong = self.folder / "wrong"
        shutil.copytree(artifact, wrong)
        other, _ = self.hide(model, "--threads", "1")
        shutil.rmtree(wrong / "david")
        shutil.copytree(other / "david", wrong / "david")
        self.assertIn("different splits", self.slip("check", wrong, status=2).stdout)
        text = self.folder / "text"
        text.write_text("1 2 3")
        self.refused("forward", "--artifact", artifact, "--engine", "unsplit", "--ids", "1", says=["--audit"])
        self.refused("forward", "--artifact", artifact, "--engine", "hybrid", "--audit", audit,
                     "--ids", "1", says=["--audit"])
        self.refused("split", "--model", model, "--out", self.folder / "x", "--set", "hidden", "--rank", "2",
                     says=["--rank"])
        self.refused("split", "--model", model, "--out", self.folder / "x", "--rank", "2", "--audit",
                     self.folder / "y", says=["--audit"])
        self.assertFalse((self.folder / "x").exists())


@unittest.skipUnless(GPT_NANO_SORT.exists() and PHI_SYNTHETIC.exists(),
                     f"the shared models are absent: {GPT_NANO_SORT}, {PHI_SYNTHETIC}")
class SharedModels(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tls = cls.folder / "tls"
        assert run("slip", "keys", "--out", cls.tls).returncode == 0

    def test_MODEL_4_golden_logits_and_LIN_4(self):
        for model in [GPT_NANO_SORT, PHI_SYNTHETIC]:
            golden = json.loads((model / "golden_logits.json").read_text())
            ids = ["--ids", ",".join(map(str, golden["ids"])), "--json"]

            def logits(*engine):
                return json.loads(self.slip("forward", *engine, *ids).stdout)["logits"]

            for found, expected in zip(logits("--model", model, "--engine", "float"),
                                       golden["logits"], strict=True):
                for a, b in zip(found, expected, strict=True):
                    self.assertLess(abs(a - b), 1e-4)
            for rank in ["1", "4", "40"]:
                artifact = self.folder / f"{model.name}-{rank}"
                self.slip("split", "--model", model, "--rank", rank, "--out", artifact)
                self.assertEqual(logits("--artifact", artifact, "--engine", "hybrid"),
                                 logits("--artifact", artifact, "--engine", "unsplit"))
                self.hybrid_equals_unsplit(artifact, self.tls, "--ids", "2,1,0", "--max-tokens", "6")

    def test_MODEL_8_a_trained_model_sorts(self):
        artifact = self.folder / "sort"
        self.slip("split", "--model", GPT_NANO_SORT, "--rank", "8", "--out", artifact)
        for letters in ["2,1,0,2,1,0", "0,0,0,2,2,1", "1,1,1,1,0,1"]:
            sorted_letters, _ = self.generate("sort", "--artifact", artifact, "--engine", "hybrid",
                                              "--ids", letters, "--max-tokens", "6")
            self.assertEqual(sorted_letters["ids"], sorted(map(int, letters.split(","))))


@unittest.skipUnless((MODELS / "gemma3").exists(), f"the shared models are absent: {MODELS}")
class Relatives(Family, SystemTest):
    """LLaMA's relatives (MODEL-13) as a user runs them. Their logits are in relatives_test.cpp."""

    def model(self, name):
        """The checkpoint, with a tokenizer, in a folder of this test."""
        model = self.folder / f"{name}-{self._testMethodName}"
        shutil.copytree(MODELS / name, model)
        vocabulary = json.loads((model / "config.json").read_text())["vocab_size"]
        write_tokenizer(model, others=vocabulary - 256)
        return model

    def keys(self):
        tls = self.folder / f"tls-{self._testMethodName}"
        self.slip("keys", "--out", tls)
        return tls

    def test_MODEL_13_every_command_takes_every_family(self):
        tls = self.keys()
        for family in RELATIVES:
            self.check_every_command(family, self.model(family),
                                     ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj",
                                      "down_proj"], tls)

    def test_MODEL_13_each_matrix_of_a_stacked_tensor_has_a_rank_of_its_own(self):
        model, plan, artifact = self.model("phi4-mini"), self.folder / "plan", self.folder / "stacked"
        ranks = {"q_proj": 1, "k_proj": 2, "v_proj": 5, "gate_proj": 3, "up_proj": 4}
        plan.write_text(json.dumps([[0, layer, rank] for layer, rank in ranks.items()]))
        self.slip("split", "--model", model, "--plan", plan, "--out", artifact)
        report = json.loads(self.slip("inspect", "--artifact", artifact, "--json").stdout)
        self.assertEqual({layer["layer_type"]: layer["rank"] for layer in report["layers"]
                          if layer["block"] == 0}, ranks | {"o_proj": 0, "down_proj": 0})
        self.hybrid_equals_unsplit(artifact, self.keys(), "--ids", "1,5,9", "--max-tokens", "12")
        plan.write_text('[[0, "qkv_proj", 1]]')
        self.refused("split", "--model", model, "--plan", plan, "--out", self.folder / "never",
                     says=["qkv_proj"])

    def test_MODEL_10_a_field_that_no_graph_computes_is_named_with_its_value(self):
        model = self.model("qwen3")
        config = json.loads((model / "config.json").read_text())
        config["rope_scaling"] = {"rope_type": "yarn", "factor": 4.0}
        (model / "config.json").write_text(json.dumps(config))
        self.refused("split", "--model", model, "--rank", "1", "--out", self.folder / "never",
                     says=["rope_type", "yarn"])


@unittest.skipUnless(MODELS.exists(), f"the shared models are absent: {MODELS}")
class EveryModel(SystemTest):
    """The protocol changes no bit: every shared model, hidden, in both orders of attention; with SLIP_FULL
    set by the paper's split as well."""

    def test_ATTN_8_LIN_4_MODEL_13_hybrid_in_process_and_over_TLS_equals_unsplit(self):
        """A prompt of each; with SLIP_FULL set every golden one, some as long as the windows or longer."""
        tls = self.folder / "tls"
        self.slip("keys", "--out", tls)
        models = sorted(path.parent for path in MODELS.glob("*/golden_logits.json"))
        self.assertGreaterEqual(len(models), 14)
        for model in models:
            golden = json.loads((model / "golden_logits.json").read_text())
            prompts = [golden["ids"]] + ([more["ids"] for more in golden.get("more", [])]
                                         if "SLIP_FULL" in os.environ else [])
            for order in ("fused", "paper"):
                with self.subTest(f"{model.name}, {order}"):
                    audit = self.folder / f"{model.name}-{order}-audit"
                    self.compare(model, order, prompts, tls, ["--audit", audit], ["--audit", audit])
                    if "SLIP_FULL" in os.environ:
                        self.compare(model, order, prompts, tls, ["--rank", "3"], [])

    def compare(self, model, order, prompts, tls, split, unsplit):
        artifact = self.folder / f"{model.name}-{order}-{split[0]}"
        self.slip("split", "--model", model, *split, "--attention", order, "--out", artifact)
        with David(artifact / "david", tls / "david") as david:
            engines = {"unsplit": ["unsplit", *unsplit], "hybrid": ["hybrid"],
                       "over TLS": ["hybrid", "--david", david.endpoint, "--tls", tls / "charlie"]}
            for ids in prompts:
                logits = {}
                for name, engine in engines.items():
                    out = self.slip("forward", "--artifact", artifact, "--engine", *engine, "--ids",
                                    ",".join(map(str, ids)), "--json").stdout
                    logits[name] = json.loads(out)["logits"]
                    self.assertEqual(len(logits[name]), len(ids))
                self.assertEqual(logits["hybrid"], logits["unsplit"])
                self.assertEqual(logits["over TLS"], logits["unsplit"])
            answers = {name: self.generate(name, "--artifact", artifact, "--engine", *engine, "--ids",
                                           ",".join(map(str, prompts[0][:4])), "--max-tokens", "2")
                       for name, engine in engines.items()}
            for name in ("hybrid", "over TLS"):
                self.assertEqual(answers[name][0]["ids"], answers["unsplit"][0]["ids"])
                self.assertEqual(answers[name][1], answers["unsplit"][1])
                self.assertEqual(answers[name][0]["checks"], answers[name][0]["rounds"])
                self.assertGreater(answers[name][0]["checks"], 0)


@unittest.skipUnless((TINYSTORIES / "model.safetensors").exists() and HELLASWAG.exists(),
                     f"the bundled model or the questions are absent: {TINYSTORIES}, {HELLASWAG}")
class Choices(SystemTest):
    """With SLIP_FULL set, every question; otherwise the first ones."""

    def test_MODEL_12_hybrid_and_unsplit_answer_alike(self):
        artifact = self.folder / "artifact"
        self.slip("split", "--model", TINYSTORIES, "--rank", "16", "--out", artifact)
        part = [] if "SLIP_FULL" in os.environ else ["--limit", "6"]
        for file in [HELLASWAG, ARC]:
            hybrid, unsplit = [
                json.loads(self.slip("eval", "--artifact", artifact, "--engine", engine,
                                     "--choices", file, *part, "--json").stdout)
                for engine in ["hybrid", "unsplit"]]
            self.assertEqual(hybrid, unsplit)
            self.assertEqual(hybrid["items"], 6 if part else 500)
            self.assertEqual(len(hybrid["choices"]), hybrid["items"])


if __name__ == "__main__":
    unittest.main()
