"""`slip plan`: from measurements of a checkpoint to a plan that `slip split` takes."""
# test: once

import hashlib
import json
import os
import struct
import subprocess
import unittest

from cnn_test import write_network
from slip_system import BUILD, TINYSTORIES, SystemTest, write_checkpoint

STORY = """Once upon a time, there was a little girl named Lily. She liked to play in the park with her
dog. One day, her dog found a big red ball. Lily was very happy. She threw the ball and the dog ran
after it. They played all day. Then her mom called her. "Lily, it is time to go home," she said.
Lily gave her dog a hug and they went home together. The end.
"""


OTHER_STORY = """Tom had a small blue boat. Every morning he took it to the pond near his house. The sun was
warm and the water was clear. A duck came to see the boat. "Hello, duck," said Tom. The duck wanted to
ride in the boat. Tom laughed and put some bread in it. The duck ate the bread and was not hungry any
more. They became good friends and played at the pond until it was dark.
"""


def remove_charlies_factors(artifact):
    """Sets every A to zero and writes the digests anew: the unsplit model is then David's share, with
    the embedding, the norms and the row scales given."""
    weights = artifact / "charlie/charlie.safetensors"
    data = bytearray(weights.read_bytes())
    (header_size,) = struct.unpack_from("<Q", data)
    for name, tensor in json.loads(data[8:8 + header_size]).items():
        if name.endswith((".A", ".A_exponent")):
            first, last = (8 + header_size + offset for offset in tensor["data_offsets"])
            data[first:last] = bytes(last - first)
    weights.write_bytes(data)
    sums = artifact / "charlie/SHA256SUMS"
    names = [line.split("  ")[1] for line in sums.read_text().splitlines()]
    digests = [hashlib.sha256((artifact / "charlie" / name).read_bytes()).hexdigest()
               for name in names]
    sums.write_text("".join(f"{digest}  {name}\n" for digest, name in zip(digests, names)))


class Plan(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = cls.folder / "story.txt"
        cls.text.write_text(STORY)
        cls.small = write_checkpoint(cls.folder / "small")

    def plan(self, *arguments, model=TINYSTORIES):
        result = self.slip("plan", "--model", model, *arguments, "--json")
        return json.loads(result.stdout), result.stderr

    def split(self, plan, *arguments):
        """`slip split --plan -` with `plan` on standard input."""
        return subprocess.run([str(BUILD / "slip"), "split", "--plan", "-", *map(str, arguments)],
                              input=plan, capture_output=True, text=True, env=os.environ)

    def figures(self, table, name):
        """The plan's figure and the uniform plan's."""
        line = next(line for line in table.splitlines() if line.startswith(name))
        return line.removeprefix(name).split()

    def test_DECO_12_a_plan_leaks_less_than_one_rank_for_no_more_work(self):
        plan, table = self.plan("--as-uniform", "16", "--text", self.text)
        self.assertIn("No attack was measured", table)
        leakage = [float(figure) for figure in self.figures(table, "leakage")]
        self.assertLess(leakage[0], 0.8 * leakage[1])
        charlie = self.figures(table, "Charlie's online multiplications per token")
        self.assertLessEqual(int(charlie[0]), int(charlie[1]))
        whole = self.figures(table, "matrices of the blocks that David holds whole")
        self.assertEqual(whole, [str(42 - len(plan)), "of", "42", "0", "of", "42"])

    def perplexity_of_share(self, name, *plan):
        """Of David's share on a text that no plan was made from."""
        out, text = self.folder / name, self.folder / "other.txt"
        text.write_text(OTHER_STORY)
        self.slip("split", "--model", TINYSTORIES, *plan, "--out", out)
        remove_charlies_factors(out)
        report = self.slip("eval", "--artifact", out, "--engine", "unsplit", "--text", text,
                           "--json")
        return json.loads(report.stdout)["perplexity"]

    def test_DECO_12_davids_share_under_a_plan_from_a_text_and_from_spectra_alone(self):
        """At the work of rank 16 everywhere. Less leakage is no safety by itself: from spectra alone
        the plan leaks less than the uniform one, and yet its share is the more useful to David."""
        shares = {"uniform": self.perplexity_of_share("uniform", "--rank", "16")}
        for name, flags in [("text", ["--text", self.text]), ("spectra", [])]:
            plan, table = self.plan("--as-uniform", "16", *flags)
            leakage = [float(figure) for figure in self.figures(table, "leakage")]
            self.assertLess(leakage[0], leakage[1])
            (self.folder / "plan.json").write_text(json.dumps(plan))
            shares[name] = self.perplexity_of_share(name, "--plan", self.folder / "plan.json")
        self.assertIn("Spectra alone", table)
        self.assertGreater(shares["text"], 2 * shares["uniform"], shares)
        self.assertLess(shares["spectra"], shares["uniform"], shares)

    def test_DECO_12_a_split_takes_the_plan_and_costs_what_it_said(self):
        plan, table = self.plan("--offload", "0.9")
        self.assertIn("Spectra alone: without --text", table)
        self.assertGreaterEqual(float(self.figures(table, "offload")[0]), 0.9)
        out = self.folder / "planned"
        split = self.split(json.dumps(plan), "--model", TINYSTORIES, "--out", out)
        self.assertEqual(split.returncode, 0, split.stderr)
        report = json.loads(self.slip("inspect", "--artifact", out, "--json").stdout)
        ranks = {(layer["block"], layer["layer_type"]): layer["rank"] for layer in report["layers"]}
        for block, layer_type, rank in plan:
            self.assertEqual(ranks.pop((block, layer_type)), rank)
        self.assertEqual(set(ranks.values()), {0})
        charlie = self.figures(table, "Charlie's online multiplications per token")[0]
        self.assertEqual(int(charlie), report["charlie_multiplications_per_token"])

    def test_DECO_12_the_table_without_json_and_a_leakage(self):
        table = self.slip("plan", "--model", self.small, "--leakage", "0.5").stdout
        self.assertLessEqual(float(self.figures(table, "leakage")[0]), 0.5)
        self.assertEqual(table.splitlines()[0].split(),
                         ["block", "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj",
                          "down_proj"])

    def test_DECO_12_a_convolutional_network(self):
        network = write_network(self.folder / "net.onnx")
        plan, table = self.plan("--as-uniform", "2", model=network)
        out = self.folder / "network"
        split = self.split(json.dumps(plan), "--model", network, "--out", out)
        self.assertEqual(split.returncode, 0, split.stderr)
        report = json.loads(self.slip("inspect", "--artifact", out, "--json").stdout)
        charlie = self.figures(table, "Charlie's online multiplications per token")[0]
        self.assertEqual(int(charlie), report["charlie_multiplications_per_token"])
        self.refused("plan", "--model", network, "--offload", "0.5", "--text", self.text,
                     says=["--text needs a tokenizer"])

    def test_CONV_4_bad_flags_are_named(self):
        for flags, says in [
                ([], ["--offload", "--leakage", "--as-uniform"]),
                (["--offload", "0.5", "--leakage", "0.5"], ["--leakage", "--offload"]),
                (["--offload", "1.5"], ["--offload", "'1.5'", "0 to 1"]),
                (["--leakage", "x"], ["--leakage", "'x'"]),
                (["--as-uniform", "0"], ["--as-uniform"]),
                (["--offload", "0.5", "--max-tokens", "9"], ["--max-tokens", "--text"]),
                (["--offload", "1"], ["David would hold the whole model"]),
                (["--leakage", "0"], ["the least is"]),
                (["--offload", "0.5", "--text", self.text], ["--text needs a tokenizer"]),
                (["--offload", "0.5", "--text", "/no/such"], ["--text needs a tokenizer"])]:
            with self.subTest(flags=flags):
                self.refused("plan", "--model", self.small, *flags, says=says)
        self.refused("plan", "--offload", "0.5", says=["--model"])
        self.refused("plan", "--model", TINYSTORIES, "--offload", "0.5", "--text",
                     self.folder / "absent.txt", says=["absent.txt"])

    def test_DECO_6_a_plan_on_standard_input_is_judged_as_a_file(self):
        for text, says in [("[[7, \"q_proj\", 1]]", "[7, \"q_proj\"]"), ("{", "standard input"),
                           ("[]", "standard input: names no layer"), ("", "standard input")]:
            with self.subTest(text=text):
                result = self.split(text, "--model", self.small, "--out", self.folder / "refused")
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(says, result.stderr)
                self.assertFalse((self.folder / "refused").exists())


if __name__ == "__main__":
    unittest.main()
