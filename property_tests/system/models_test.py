"""Trained models: the protocol changes no byte, and the integer model is as good as the floats.

With SLIP_FULL set, perplexity is taken over the whole validation text, otherwise over its start."""

import json
import os
import shutil
import struct
import unittest

from slip_system import (STORIES260K, STORIES_TEXT, TINYSTORIES, SystemTest, TrainedModel, run,
                         weights_of)


def set_to_one_magnitude(path, suffix):
    """Every tensor of that suffix (F16) keeps its signs; each value becomes 0.02 or -0.02."""
    data = bytearray(path.read_bytes())
    (header_size,) = struct.unpack_from("<Q", data)
    for name, tensor in json.loads(data[8:8 + header_size]).items():
        if not name.endswith(suffix):
            continue
        assert tensor["dtype"] == "F16", name
        begin, end = (8 + header_size + offset for offset in tensor["data_offsets"])
        values = struct.iter_unpack("<e", data[begin:end])
        data[begin:end] = b"".join(struct.pack("<e", 0.02 if value > 0 else -0.02)
                                   for (value,) in values)
    path.write_bytes(data)


@unittest.skipUnless(STORIES260K.exists(), f"the published model is absent: {STORIES260K}")
class Stories260K(TrainedModel):
    def test_LIN_4_rank_1(self):
        self.compare(STORIES260K, 1, "", 100)

    def test_LIN_4_rank_4(self):
        self.compare(STORIES260K, 4, "One day, Tom", 100)

    def test_LIN_4_rank_40(self):
        self.compare(STORIES260K, 40, "", 200)

    def test_LIN_4_rank_4_in_the_wide_profile(self):
        self.compare(STORIES260K, 4, "One day, Tom", 100, "P61")

    def test_LIN_4_DECO_3_weights_of_4_bits_in_both_profiles(self):
        for profile in ("P31", "P61"):
            self.compare(STORIES260K, 4, "One day, Tom", 100, profile, 4)
            self.assertEqual(weights_of(self.folder / f"rank4-{profile}-4"), set(range(-7, 8)))

    def test_MODEL_4_the_published_text(self):
        out = self.slip("generate", "--model", STORIES260K, "--engine", "float", "--prompt", "",
                        "--max-tokens", "200", "--json").stdout
        self.assertEqual(json.loads(out)["text"], (STORIES260K / "greedy_200.txt").read_text())
        self.assertEqual(json.loads(out)["ids"],
                         json.loads((STORIES260K / "greedy_ids.json").read_text())["greedy_ids"])


@unittest.skipUnless(STORIES260K.exists() and STORIES_TEXT.exists(),
                     f"the published model or text is absent: {STORIES260K}, {STORIES_TEXT}")
class Perplexity(SystemTest):
    def test_MODEL_4_the_integer_model_is_within_half_a_percent_of_the_floats(self):
        artifact = self.folder / "artifact"
        self.slip("split", "--model", STORIES260K, "--rank", "4", "--out", artifact)

        part = [] if "SLIP_FULL" in os.environ else ["--max-tokens", "10000"]

        def measure(*engine):
            out = self.slip("eval", *engine, "--text", STORIES_TEXT, *part, "--json").stdout
            report = json.loads(out)
            self.assertEqual(list(report), ["tokens", "nll", "perplexity", "bits_per_byte"])
            self.assertGreaterEqual(report["tokens"], 10000)
            return report["perplexity"]

        in_float = measure("--model", STORIES260K, "--engine", "float")
        hybrid = measure("--artifact", artifact, "--engine", "hybrid")
        self.assertEqual(hybrid, measure("--artifact", artifact, "--engine", "unsplit"))
        self.assertLess(abs(hybrid / in_float - 1), 0.005)


@unittest.skipUnless((TINYSTORIES / "model.safetensors").exists() and STORIES_TEXT.exists(),
                     f"the bundled model or the text is absent: {TINYSTORIES}, {STORIES_TEXT}")
class Calibration(SystemTest):
    def test_ENC_3_both_profiles_are_as_good_as_the_floats(self):
        part = [] if "SLIP_FULL" in os.environ else ["--max-tokens", "2000"]
        command = ["split", "--model", TINYSTORIES, "--rank", "16", "--calibrate", STORIES_TEXT]
        report = json.loads(self.slip(*command, *part, "--json").stdout)
        self.assertGreaterEqual(report["tokens"], 2000)
        narrow, wide = report["profiles"]
        self.assertEqual((narrow["profile"], wide["profile"]), ("P31", "P61"))
        self.assertLess(abs(narrow["difference"]), 0.005)
        self.assertLess(abs(wide["difference"]), 0.001)
        for quality in [narrow, wide]:
            self.assertAlmostEqual(quality["difference"],
                                   quality["perplexity"] / report["float_perplexity"] - 1)
        # The rule, from its parts.
        enough = [quality["profile"] for quality in [narrow, wide]
                  if abs(quality["difference"]) <= report["tolerance"]]
        self.assertEqual(report["sufficient"], enough[0])

        # What is measured is what an artifact of that profile gives.
        short = ["--max-tokens", "300"]
        report = json.loads(self.slip(*command, *short, "--json").stdout)
        for quality in report["profiles"]:
            artifact = self.folder / quality["profile"]
            self.slip("split", "--model", TINYSTORIES, "--rank", "16", "--profile",
                      quality["profile"], "--out", artifact)
            measured = self.slip("eval", "--artifact", artifact, "--engine", "hybrid", "--text",
                                 STORIES_TEXT, *short, "--json").stdout
            self.assertEqual(json.loads(measured)["perplexity"], quality["perplexity"])

    def test_ENC_3_profiles_that_give_other_activations_give_other_figures(self):
        """512 weights of 127 per row: P31 allows (2^30 - 1) / (512 * 127) = 16,513, P61 all 32,767."""
        model = self.folder / "one-magnitude"
        shutil.copytree(TINYSTORIES, model)
        set_to_one_magnitude(model / "model.safetensors", "mlp.down_proj.weight")
        short = ["--max-tokens", "200", "--json"]
        report = json.loads(self.slip("split", "--model", model, "--rank", "0", "--calibrate",
                                      STORIES_TEXT, *short).stdout)
        narrow, wide = report["profiles"]
        self.assertEqual((narrow["least_qa_max"], wide["least_qa_max"]), (16513, 32767))
        self.assertNotEqual(narrow["perplexity"], wide["perplexity"])
        for quality in [narrow, wide]:
            artifact = self.folder / f"one-magnitude-{quality['profile']}"
            self.slip("split", "--model", model, "--rank", "0", "--profile", quality["profile"],
                      "--out", artifact)
            measured = self.slip("eval", "--artifact", artifact, "--engine", "hybrid", "--text",
                                 STORIES_TEXT, *short).stdout
            self.assertEqual(json.loads(measured)["perplexity"], quality["perplexity"])

    def test_DECO_3_weights_of_4_bits_are_named_where_they_are_the_cause(self):
        text = self.folder / "text"
        text.write_text("Lily Lily Lily Lily\n")  # too short for either: 2.4 % and 7 % from float
        for bits in (8, 4):
            command = ["split", "--model", TINYSTORIES, "--rank", "0", "--weight-bits", bits,
                       "--calibrate", text]
            out = self.slip(*command).stdout
            report = json.loads(self.slip(*command, "--json").stdout)
            self.assertEqual(report["weight_bits"], bits)
            self.assertIsNone(report["sufficient"])
            self.assertEqual(report["profiles"][1]["least_qa_max"], 32767)
            self.assertIn("No profile suffices, measured on", out)
            self.assertEqual("The profiles are not the cause: P61 leaves every activation its 16 "
                             "bits. Weights of 4 bits are coarse" in out, bits == 4)

    def test_a_table_for_people_and_no_files(self):
        text = self.folder / "text"
        text.write_text("Once upon a time, there was a little girl named Lily.\n")
        before = sorted(self.folder.iterdir())
        out = self.slip("split", "--model", TINYSTORIES, "--rank", "1", "--calibrate", text).stdout
        for words in ["float32", "P31", "P61", "least qa_max", "Rule: the narrowest profile"]:
            self.assertIn(words, out)
        self.assertNotIn("4 bits", out)
        self.assertEqual(sorted(self.folder.iterdir()), before)
        text.write_text("")
        self.refused("split", "--model", TINYSTORIES, "--rank", "1", "--calibrate", text,
                     says=["no token"])


@unittest.skipUnless((TINYSTORIES / "model.safetensors").exists(),
                     f"the bundled model is absent: {TINYSTORIES}")
class BundledModel(TrainedModel):
    def test_LIN_4_rank_16_and_readable_text(self):
        report = self.compare(TINYSTORIES, 16, "Once upon a time", 60)
        self.assertEqual(len(report["ids"]), 60)
        self.assertTrue(report["text"].isprintable() or "\n" in report["text"])

    def test_LIN_4_DECO_3_weights_of_4_bits(self):
        self.compare(TINYSTORIES, 16, "Once upon a time", 60, bits=4)

    def test_eval_of_a_short_text(self):
        text = self.folder / "text"
        text.write_text("Once upon a time, there was a little girl named Lily.\n")
        out = self.slip("eval", "--model", TINYSTORIES, "--engine", "float", "--text", text).stdout
        self.assertIn("perplexity", out)
        self.assertEqual(run("slip", "eval", "--model", TINYSTORIES, "--engine", "float", "--text",
                             text, "--max-tokens", "0").returncode, 2)


if __name__ == "__main__":
    unittest.main()
