"""What slip-bench counts, by hand, and every figure's name."""
# test: once

import json
import re
import unittest
import xml.etree.ElementTree

from slip_system import ROOT, Deployment, run

# The matrices of slip_system.CONFIG, m x n: q, k, v | o | gate, up | down in each of 2 blocks, and
# the tied head, which has rank 0. Rank 3, kappa = 8.
#   online   n + kappa (n + M) + 2 M + sum of 3 (n + m) over the group's matrices
#            16 +  8 * 48  +  64 + 3 * (32 + 24 + 24) = 704     q, k, v: 16, 8 and 8 rows
#            16 +  8 * 32  +  32 + 3 * 32             = 400     o: 16 rows
#            16 +  8 * 64  +  96 + 3 * (40 + 40)      = 864     gate, up: 24 rows each
#            24 +  8 * 40  +  32 + 3 * 40             = 496     down: 16 rows
#            16 +  8 * 48  +  64                      = 464     head: 32 rows
#   linear   16 * 32 + 16 * 16 + 16 * 48 + 24 * 16 = 1920, head 16 * 32 = 512
#   "offline"  a cancellation W_D r per column (MASK-3): as many; a lattice mask 66.5 per output and
#            twice as many per input (MASK-7): of a row of 8 elements, 8 transforms of 1408, their
#            products of 512, a transform back and 256 for the scale, divided by 256 masks
BLOCKS = 2
OF_BLOCK = {"online": 704 + 400 + 864 + 496, "offline": 1920, "linear": 1920}
OF_HEAD = {"online": 464, "offline": 512, "linear": 512}
OF_TOKEN = {key: BLOCKS * OF_BLOCK[key] + OF_HEAD[key] for key in OF_BLOCK}

# With lattice masks: n + M more per group online (MASK-10), for n, M of the groups above.
GROUPS, HEAD = [(16, 32), (16, 16), (16, 48), (24, 16)], (16, 32)


def with_lattice_masks(count, groups):
    row = 8 * (1408 + 512) + 1408 + 256
    return count | {"online": count["online"] + sum(n + m for n, m in groups),
                    "offline": sum((2 * n + m) * row // 256 for n, m in groups)}


LATTICE_BLOCK, LATTICE_HEAD = with_lattice_masks(OF_BLOCK, GROUPS), with_lattice_masks(OF_HEAD, [HEAD])
LATTICE_TOKEN = {key: BLOCKS * LATTICE_BLOCK[key] + LATTICE_HEAD[key] for key in OF_BLOCK}

# Llama-2-7B at rank 16, online. A block has q, k, v and o of 4096 x 4096, gate and up of 11008 x 4096
# and down of 4096 x 11008; the head is 32000 x 4096.
#   low rank               16 sum of (m + n) = 16 * (4 * 8192 + 3 * 15104)          = 1249280
#   checks                 8 (M + n) per group = 8 * (16384 + 8192 + 26112 + 15104) = 526336
#   quantising and scales  n + 2 M per group = 23296 + 2 * 42496                    = 108288
OF_7B = 32 * (1249280 + 526336 + 108288) + (16 + 8) * 36096 + (4096 + 2 * 32000)
LINEAR_7B = 32 * 202375168 + 32000 * 4096

# The hidden split, of shapes of which no weight is read: hidden size, rows of keys and of values,
# intermediate size, blocks, vocabulary, heads, heads of keys, head width. A group wider than 6144 is
# split into equal parts of columns (HIDE-1).
SHAPES = {"1b": (2048, 256, 5632, 22, 32000, 32, 4, 64),
          "7b": (4096, 4096, 11008, 32, 32000, 32, 32, 128),
          "70b": (8192, 1024, 28672, 80, 32000, 64, 8, 128)}
CONTEXT = 32
FRAME = 21  # bytes of a message beside its residues


def charlies_share(hidden, keys, inner, blocks, vocabulary, heads, key_heads, width):
    """His multiplications for a token, floats included, over the model's linear ones (MODEL-6)."""
    row = 9 * (1408 + 512) + 1408 + 256   # a mask 2 of these per column, a cancellation 1 per row
    linear, online, offline = 0, 0, 0
    for n, m, count in [(hidden, hidden + 2 * keys, blocks), (hidden, hidden, blocks),
                        (hidden, 2 * inner, blocks), (inner, hidden, blocks), (hidden, vocabulary, 1)]:
        parts = -(-n // 6144)
        n, count = n // parts, count * parts
        linear += count * m * n
        online += count * (8 * (m + 2304 + n) + n + 2 * m + m + n
                           + 25344 + 12032 * -(-m // 256) + 6 * m)
        offline += count * ((2 * n + m) * row // 256)
    floats = 3 * hidden + blocks * (
        6 * hidden + 2 * width * (heads + key_heads)
        + heads * (CONTEXT + 1) * (2 * width + 13) + 13 * inner)
    return (online + offline + floats) / linear


def messages_of_a_token(hides, hidden, keys, inner, blocks, vocabulary):
    """Counts of slip-bench shapes, of these dimensions."""
    planes, public, widest = (6, 2304, 6144) if hides else (5, 0, inner)
    counts = dict.fromkeys(["rounds", "bytes_up", "bytes_down", "davids_bytes", "davids_products", "hints",
                            "linear"], 0)
    hints = 9 * 256 // 2 * 11 if hides else 8 * 256 * 5  # of a row
    for n, m, count in [(hidden, hidden + 2 * keys, blocks), (hidden, hidden, blocks),
                        (hidden, 2 * inner, blocks), (inner, hidden, blocks), (hidden, vocabulary, 1)]:
        parts = -(-n // widest)
        matrix = n * (m + public)
        for name, value in [("rounds", parts), ("bytes_up", parts * FRAME + planes * n),
                            ("bytes_down", parts * (FRAME + planes * (m + public))),
                            ("davids_bytes", matrix * (planes if hides else 1)),
                            ("davids_products", matrix * planes), ("hints", parts * m * hints),
                            ("linear", m * n)]:
            counts[name] += count * value
    return counts


def predicted(rows, page):
    """The lines of the last table of docs/cost.md, from its rates and its formula."""
    rates = {name: [float(rate) for rate in line.split("|") if rate.strip()] for name, line in
             re.findall(r"^\| `([lwmpc])`, [^|]*\|(.*)\|$", page, re.MULTILINE)}

    def step(row, who, columns):
        reads = row["davids_bytes"] / rates["m"][who]
        products = columns * row["davids_products"] / rates["p"][who] if who == 0 else 0
        return (row["rounds"] * rates["l"][who]
                + columns * (row["bytes_up"] + row["bytes_down"]) / rates["w"][who]
                + max(reads, products) + columns * (row["online"] + row["floats"]) / rates["c"][who])

    return ["| " + " | ".join([row["shape"], row["set"], *(f"{seconds:.3g}" for seconds in (
        step(row, 0, 1), step(row, 0, 8), step(row, 1, 1), (row["online"] + row["floats"]) / rates["c"][0],
        row["ahead"] / rates["c"][0]))]) + " |" for row in rows]


SVG = "{http://www.w3.org/2000/svg}"


class Bench(Deployment):
    """One deployment at rank 3 in the blocks, with the paper's masks."""

    SET = "paper"
    planes = 4
    of_block, of_head, of_token = OF_BLOCK, OF_HEAD, OF_TOKEN

    def bench(self, *arguments):
        result = run("slip-bench", *arguments, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        return report, {figure["name"]: figure["value"] for figure in report["figures"]}

    def test_DEF_6_a_token_costs_what_a_hand_computes(self):
        report, figures = self.bench("cost", "--artifact", self.artifact)
        counts = report["multiplications"]
        self.assertEqual(counts, self.of_token)
        self.assertEqual(figures["epsilon_online"], counts["online"] / counts["linear"])
        self.assertEqual(figures["epsilon_total"],
                         (counts["online"] + counts["offline"]) / counts["linear"])
        self.assertEqual(figures["epsilon_online_7b"], OF_7B / LINEAR_7B)
        for name in ("1b", "7b"):
            self.assertEqual(figures[f"charlie_total_hidden_{name}"], charlies_share(*SHAPES[name]))

    def test_MODEL_6_the_readme_says_what_the_hidden_split_costs(self):
        says = re.search(r"are ([\d.]+) % of the linear ones of a model of TinyLlama-1.1B's shape and "
                         r"([\d.]+) % of Llama-2-7B's", " ".join((ROOT / "README.md").read_text().split()))
        self.assertIsNotNone(says, "README.md: Charlie's share of the multiplications")
        self.assertEqual(says.groups(),
                         tuple(f"{100 * charlies_share(*SHAPES[name]):.1f}" for name in ("1b", "7b")))

    def test_MODEL_6_a_run_counts_what_a_hand_computes(self):
        with self.david() as david:
            out = json.loads(self.slip(*self.charlie_command(david.endpoint)).stdout)
        forwards = len(out["ids"])                           # each ends at the head
        tokens = len(out["prompt_ids"]) + forwards - 1       # through the blocks
        for key, counter in [("online", "charlie_multiplications"),
                             ("offline", "offline_multiplications"),
                             ("linear", "david_multiplications")]:
            self.assertEqual(out[counter],
                             tokens * BLOCKS * self.of_block[key] + forwards * self.of_head[key], counter)
        self.assertEqual(out["rounds"], forwards * (BLOCKS * len(GROUPS) + 1))
        for counter, of in [("bytes_up", 0), ("bytes_down", 1)]:
            residues = self.planes * (tokens * BLOCKS * sum(group[of] for group in GROUPS)
                                      + forwards * HEAD[of])
            self.assertEqual(out[counter], out["rounds"] * FRAME + residues, counter)

    def test_every_figure_of_a_long_context_is_there(self):
        plot = self.folder / "context.svg"
        report, figures = self.bench("context", "--artifact", self.artifact, "--model",
                                     self.folder / "model", "--tokens", "4", "--repetitions", "2",
                                     "--plot", plot)
        for name in ["decode_context", "decode_context_tls", "decode_in_process_1536",
                     "decode_tls_1536", "prefill_context", "attention_read"]:
            self.assertGreater(figures[name], 0, name)
        self.assert_chart(plot, report["rows"])

    def test_MODEL_21_every_figure_of_guesses_is_there(self):
        _, figures = self.bench("guesses", "--artifact", self.artifact, "--model",
                                self.folder / "model", "--tokens", "16", "--repetitions", "2")
        for text in ["quoting", "free"]:
            self.assertGreater(figures[f"guesses_{text}"], 0)
        self.assertLess(figures["rounds_per_token_quoting"], 1)
        self.assertGreater(figures["columns_per_token_quoting"], 0.9)

    def test_every_figure_of_serving_is_there(self):
        self.assert_figures_of_serving(self.artifact, ["batch8_in_turn"])

    def assert_figures_of_serving(self, artifact, more=()):
        _, figures = self.bench("serve", "--artifact", artifact, "--model", self.folder / "model",
                                "--tokens", "4", "--repetitions", "2")
        for name in ["batch8_over_batch1", "batch8_over_batch1_shm", "batch8_over_unprotected",
                     "batch8_bound", "batch8_bound_shm", "davids_share", "davids_share_shm", "two_batches",
                     "two_batches_shm", "first_token", "first_token_bound", "first_token_bound_shm",
                     "first_token_share", "first_token_share_shm", "endpoint_over_library", *more]:
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
        for command in ["decode", "masks", "guesses", "context", "serve", "cost"]:
            result = run("slip-bench", command)
            self.assertEqual(result.returncode, 2)
            self.assertIn("--artifact", result.stderr)


class LatticeBench(Bench):
    """The same with lattice masks."""

    SET = "paper-lattice"
    planes = 5
    of_block, of_head, of_token = LATTICE_BLOCK, LATTICE_HEAD, LATTICE_TOKEN

    def test_CONV_4_the_wrong_kind_of_split_is_named(self):
        result = run("slip-bench", "hidden", "--artifact", self.artifact, "--model", self.folder / "model")
        self.assertEqual(result.returncode, 2)
        self.assertIn("expected a hidden split", result.stderr)

    def test_every_figure_of_serving_a_hidden_split_is_there(self):
        hidden = self.folder / "hidden"
        self.slip("split", "--model", self.folder / "model", "--out", hidden)
        self.assert_figures_of_serving(hidden)

    def test_MODEL_6_what_a_token_costs_larger_models(self):
        rows = json.loads(run("slip-bench", "shapes", "--json").stdout)
        names = {"tinyllama": "1b", "llama2-7b": "7b", "llama2-70b": "70b"}
        self.assertEqual([(row["shape"], row["set"]) for row in rows],
                         [(shape, of) for shape in names for of in ("paper-lattice", "hidden")])
        for row in rows:
            by_hand = messages_of_a_token(row["set"] == "hidden", *SHAPES[names[row["shape"]]][:5])
            self.assertEqual({name: row[name] for name in by_hand}, by_hand, row)
        page = (ROOT / "docs/cost.md").read_text()
        self.assertIn(run("slip-bench", "shapes").stdout, page)
        self.assertEqual(predicted(rows, page),
                         re.findall(r"^\| (?:tinyllama|llama2).*$", page, re.MULTILINE))

    def test_MODEL_22_what_the_largest_of_eight_shards_takes(self):
        """Of 32 and of 80 blocks it has as many as the others, and the head."""
        asked = ["shapes", "--shards", 8]
        for row in json.loads(run("slip-bench", *asked, "--json").stdout)[2:]:
            hides = row["set"] == "hidden"
            hidden, keys, inner, blocks, vocabulary = SHAPES[row["shape"].removeprefix("llama2-")][:5]
            by_hand = messages_of_a_token(hides, hidden, keys, inner, blocks // 8, vocabulary)
            parts = {n: -(-n // 6144) for n in (hidden, inner)}
            widths = {width for n in parts for width in (n // parts[n], -(-n // parts[n]))}
            by_hand["held"] = 6 * (by_hand["linear"] + 2304 * sum(widths)) if hides else by_hand["linear"]
            shard = row["largest_shard"]
            self.assertEqual({name: shard[name] for name in ("rounds", "bytes_up", "bytes_down", "held")},
                             {name: by_hand[name] for name in ("rounds", "bytes_up", "bytes_down", "held")})
        page = (ROOT / "docs/cost.md").read_text()
        self.assertIn(run("slip-bench", *asked).stdout.split("the largest of")[1], page)

    def test_every_figure_of_masks_is_there(self):
        report, figures = self.bench("masks", "--artifact", self.artifact, "--model",
                                     self.folder / "model", "--tokens", "4", "--repetitions", "2")
        for name in ["block_ns_inputs", "block_ns_outputs", "charlie_cpu_1", "charlie_cpu_16",
                     "charlie_shm_1", "charlie_shm_16",
                     "decode_tls_steady"]:
            self.assertGreater(figures[name], 0, name)
        self.assert_parts(report["charlie_parts"], figures)

    def assert_parts(self, parts, figures):
        """The parts, with the remainders, are all of Charlie's time; the sum leaves those out."""
        ms = {(part["name"], part["columns"]): part["ms_per_token"] for part in parts}
        self.assertEqual(len(ms), len(parts))
        ahead = {name: value for (name, columns), value in ms.items() if columns == 0}
        self.assertEqual(set(ahead), {"products T S", "noise of masks", "products H S",
                                      "remainder ahead of use"})
        for columns in (1, 16):
            online = {name: value for (name, of), value in ms.items() if of == columns}
            self.assertEqual(set(online), {
                "floats", "quantise", "masks taken", "mask", "check of products", "low-rank part",
                "reply read", "check", "unmask", "masks given back", "dequantise",
                "messages over TLS", "remainder online"})
            whole = sum(ahead.values()) + sum(online.values())
            rest = ahead["remainder ahead of use"] + online["remainder online"]
            self.assertAlmostEqual(figures[f"charlie_parts_sum_{columns}"], (whole - rest) / whole)
        bounds = {part["name"]: part["bound"] for part in parts if "bound" in part}
        self.assertEqual(bounds["messages over TLS"], "AES-256-GCM")
        for part in parts:
            self.assertEqual("bound" in part, part.get("bound_ms", 0) > 0, part)


if __name__ == "__main__":
    unittest.main()
