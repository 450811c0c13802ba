"""Trained models: the protocol changes no byte, and the integer model is as good as the floats.

With SLIP_FULL set, perplexity is taken over the whole validation text, otherwise over its start."""
# test: unsanitized

import json
import os
import unittest

from slip_system import STORIES260K, STORIES_TEXT, TINYSTORIES, SystemTest, TrainedModel, run


@unittest.skipUnless(STORIES260K.exists(), f"the published model is absent: {STORIES260K}")
class Stories260K(TrainedModel):
    def test_LIN_4_rank_1(self):
        self.compare(STORIES260K, 1, "", 100)

    def test_LIN_4_rank_4(self):
        self.compare(STORIES260K, 4, "One day, Tom", 100)

    def test_LIN_4_rank_40(self):
        self.compare(STORIES260K, 40, "", 200)

    def test_MODEL_4_the_published_text(self):
        out = self.slip("generate", "--model", STORIES260K, "--engine", "float", "--prompt", "",
                        "--max-tokens", "200", "--json").stdout
        self.assertEqual(json.loads(out)["text"], (STORIES260K / "greedy_200.txt").read_text())
        self.assertEqual(json.loads(out)["ids"],
                         json.loads((STORIES260K / "greedy_ids.json").read_text())["greedy_ids"])


@unittest.skipUnless(STORIES260K.exists() and STORIES_TEXT.exists(),
                     f"the published model or text is absent: {STORIES260K}, {STORIES_TEXT}")
class Perplexity(SystemTest):
    def assert_as_good_as_the_floats(self, model, rank, tokens):
        artifact = self.folder / f"rank{rank}"
        self.slip("split", "--model", model, "--rank", rank, "--out", artifact)

        part = [] if "SLIP_FULL" in os.environ else ["--max-tokens", tokens]

        def measure(*engine):
            out = self.slip("eval", *engine, "--text", STORIES_TEXT, *part, "--json").stdout
            report = json.loads(out)
            self.assertEqual(list(report), ["tokens", "nll", "perplexity", "bits_per_byte"])
            self.assertGreaterEqual(report["tokens"], tokens)
            return report["perplexity"]

        in_float = measure("--model", model, "--engine", "float")
        hybrid = measure("--artifact", artifact, "--engine", "hybrid")
        self.assertEqual(hybrid, measure("--artifact", artifact, "--engine", "unsplit"))
        self.assertLess(abs(hybrid / in_float - 1), 0.005)

    def test_MODEL_4_the_integer_model_is_within_half_a_percent_of_the_floats(self):
        self.assert_as_good_as_the_floats(STORIES260K, 4, 2500)

    @unittest.skipUnless((TINYSTORIES / "model.safetensors").exists(),
                         f"the bundled model is absent: {TINYSTORIES}")
    def test_MODEL_4_so_is_the_bundled_one(self):
        self.assert_as_good_as_the_floats(TINYSTORIES, 16, 500)


@unittest.skipUnless((TINYSTORIES / "model.safetensors").exists(),
                     f"the bundled model is absent: {TINYSTORIES}")
class BundledModel(TrainedModel):
    def test_LIN_4_rank_16_and_readable_text(self):
        report = self.compare(TINYSTORIES, 16, "Once upon a time", 60)
        self.assertEqual(len(report["ids"]), 60)
        self.assertTrue(report["text"].isprintable() or "\n" in report["text"])

    def test_eval_of_a_short_text(self):
        text = self.folder / "text"
        text.write_text("Once upon a time, there was a little girl named Lily.\n")
        out = self.slip("eval", "--model", TINYSTORIES, "--engine", "float", "--text", text).stdout
        self.assertIn("perplexity", out)
        self.assertEqual(run("slip", "eval", "--model", TINYSTORIES, "--engine", "float", "--text",
                             text, "--max-tokens", "0").returncode, 2)


if __name__ == "__main__":
    unittest.main()
