"""What slip-bench says of Charlie with an offline David: counts by hand, and every figure's name."""

import json
import unittest
import xml.etree.ElementTree

from offline_test import OfflineDavid
from slip_system import Deployment, run

# The matrices of slip_system.CONFIG, m x n: q, k, v | o | gate, up | down in each of 2 blocks, and
# the tied head, which has rank 0. Rank 3, kappa = 2.
#   online   n + kappa (n + M) + 2 M + sum of 3 (n + m) over the group's matrices
#            16 +  2 * 48  +  64 + 3 * (32 + 24 + 24) = 416     q, k, v: 16, 8 and 8 rows
#            16 +  2 * 32  +  32 + 3 * 32             = 208     o: 16 rows
#            16 +  2 * 64  +  96 + 3 * (40 + 40)      = 480     gate, up: 24 rows each
#            24 +  2 * 40  +  32 + 3 * 40             = 256     down: 16 rows
#            16 +  2 * 48  +  64                      = 176     head: 32 rows
#   checks   2 * (48 + 32 + 64 + 40) = 368, head 2 * 48 = 96
#   linear   16 * 32 + 16 * 16 + 16 * 48 + 24 * 16 = 1920, head 16 * 32 = 512
BLOCKS = 2
OF_BLOCK = {"online": 416 + 208 + 480 + 256, "checks": 368, "linear": 1920}
OF_HEAD = {"online": 176, "checks": 96, "linear": 512}
OF_TOKEN = {key: BLOCKS * OF_BLOCK[key] + OF_HEAD[key] for key in OF_BLOCK}

# Llama-2-7B at rank 16, from the derivation "What it costs" of spec/offline.md, and its head, 32000 x
# 4096: quantising and scales n + 2 M, checks 4 (M + n), low rank 16 (m + n).
OF_7B = 32 * (1249280 + 263168 + 108288) + (4096 + 64000) + 4 * 36096 + 16 * 36096
LINEAR_7B = 32 * 202375168 + 32000 * 4096

SVG = "{http://www.w3.org/2000/svg}"


class Bench(Deployment):
    """One deployment at rank 3 in the blocks."""

    def bench(self, *arguments):
        result = run("slip-bench", *arguments, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        return report, {figure["name"]: figure["value"] for figure in report["figures"]}

    def test_OFF_16_a_token_costs_what_a_hand_computes(self):
        report, figures = self.bench("cost", "--artifact", self.artifact)
        counts = report["multiplications"]
        pair = 2 * OF_TOKEN["linear"]
        self.assertEqual({key: counts[key] for key in [*OF_TOKEN, "pair"]},
                         OF_TOKEN | {"pair": pair})
        charlie = OF_TOKEN["online"] + OF_TOKEN["checks"]
        self.assertEqual(figures["epsilon_total"], charlie / OF_TOKEN["linear"])
        self.assertEqual(figures["epsilon_total_own_pair"],
                         (charlie + pair / 1000) / OF_TOKEN["linear"])
        self.assertEqual(figures["epsilon_total_7b"], OF_7B / LINEAR_7B)

    def test_OFF_16_a_run_counts_what_a_hand_computes(self):
        with self.david() as david, OfflineDavid(self.artifact / "david",
                                                 self.tls / "offline") as second:
            out = json.loads(self.slip(*self.charlie_command(
                david.endpoint, "--offline", second.endpoint)).stdout)
        forwards = len(out["ids"])                           # each ends at the head
        tokens = len(out["prompt_ids"]) + forwards - 1       # through the blocks
        for key, counter in [("online", "charlie_multiplications"),
                             ("checks", "offline_multiplications"),
                             ("linear", "david_multiplications")]:
            self.assertEqual(out[counter],
                             tokens * BLOCKS * OF_BLOCK[key] + forwards * OF_HEAD[key], counter)

    def test_every_figure_of_the_chapter_is_there(self):
        _, cost = self.bench("cost", "--artifact", self.artifact)
        _, figures = self.bench("offline", "--artifact", self.artifact, "--model",
                                self.folder / "model", "--tokens", "8", "--repetitions", "2")
        for name in ["charlie_memory", "offline_rate"]:
            self.assertGreater(figures[name], 0, name)
        for name in ["charlie_cpu_share", "charlie_cpu_share_16", "charlie_cpu_share_16_bound",
                     "offline_rate_cpu"]:
            if figures[name] is not None:  # a processor's clock may count nothing of so small a model
                self.assertGreater(figures[name], 0, name)
        for name, value in cost.items():  # counted in a run
            self.assertEqual(figures[name], value, name)

    def test_every_figure_of_a_long_context_is_there(self):
        plot = self.folder / "context.svg"
        report, figures = self.bench("context", "--artifact", self.artifact, "--model",
                                     self.folder / "model", "--tokens", "4", "--repetitions", "2",
                                     "--plot", plot)
        for name in ["decode_context", "decode_context_tls", "decode_in_process_1536",
                     "decode_tls_1536", "prefill_context", "attention_read"]:
            self.assertGreater(figures[name], 0, name)
        self.assert_chart(plot, report["rows"])

    def test_every_figure_of_serving_is_there(self):
        _, figures = self.bench("serve", "--artifact", self.artifact, "--model",
                                self.folder / "model", "--tokens", "4", "--repetitions", "2")
        for name in ["batch8_over_batch1", "batch8_over_unprotected", "batch8_bound", "first_token",
                     "endpoint_over_library"]:
            self.assertGreater(figures[name], 0, name)

    def assert_chart(self, plot, rows):
        """A point per row of a decode, as high as its tokens per second."""
        picture = xml.etree.ElementTree.parse(plot).getroot()
        points = [point.attrib for point in picture.iter(SVG + "circle")]
        decodes = [row for row in rows if row["name"].startswith("decode after ")]
        self.assertEqual(len(points), 3 * 2)  # of 32 positions: 7 and 28 tokens of context
        self.assertEqual(len(decodes), len(points))
        heights = [-float(point["cy"]) for point in points]
        for i, row in enumerate(decodes):
            share = ((heights[i] - min(heights)) / (max(heights) - min(heights)))
            speeds = [row["per_second"] for row in decodes]
            expected = (row["per_second"] - min(speeds)) / (max(speeds) - min(speeds))
            self.assertAlmostEqual(share, expected, delta=0.01)
        texts = {text.text for text in picture.iter(SVG + "text")}
        self.assertTrue({"7", "28", "unprotected int8", "hybrid in process",
                         "hybrid over TLS"} <= texts, texts)

    def test_CONV_4_what_is_missing_is_named(self):
        for command, missing in [("offline", "--artifact"), ("context", "--artifact"),
                                 ("serve", "--artifact"),
                                 ("cost", "--artifact")]:
            result = run("slip-bench", command)
            self.assertEqual(result.returncode, 2)
            self.assertIn(missing, result.stderr)


if __name__ == "__main__":
    unittest.main()
