"""David's share as a checkpoint, and the attackers who train from it (experiments/safety)."""
# test: once, studies

import itertools
import json
import math
import random
import struct
import unittest

from families_test import GPT2, PHI, gpt2_shapes, phi_shapes, write_model
from slip_system import BUILD, CONFIG, TINYSTORIES, SystemTest, run, tensor_shapes, write_checkpoint

FORMATS = {"F32": "f", "I8": "b", "I16": "h"}
STEP = 2.0 ** 16                                             # 2^t of DECO-1
PRIMES = [251, 241, 239, 233, 229, 227]                      # of the hidden split (RING-5)
NUMBERS = random.Random(3)


def tensors_of(path):
    """{name: (shape, values, row-major)} of a safetensors file."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, _ = entry["data_offsets"]
        tensors[name] = entry["shape"], struct.unpack_from(
            f"<{math.prod(entry['shape'])}{FORMATS[entry['dtype']]}", data, 8 + size + begin)
    return tensors


def as_rows(tensor, transposed=False):
    """A matrix as a list of rows, outputs first."""
    (m, n), values = tensor
    rows = [values[i * n:(i + 1) * n] for i in range(m)]
    return list(zip(*rows)) if transposed else rows


def is_stored_transposed(name):
    return any(part in name for part in [".attn.c_", ".mlp.c_"])


class Shares:
    """Small random checkpoints of all families, and David's shares of them."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models = {"llama": write_checkpoint(cls.folder / "llama"),
                      "gpt2": write_model(cls.folder / "gpt2", GPT2, gpt2_shapes()),
                      "phi": write_model(cls.folder / "phi", PHI, phi_shapes())}

    def share(self, model, *arguments):
        """Runs david_share; returns (its JSON, the folder)."""
        out = self.folder / f"share{NUMBERS.getrandbits(64)}"
        result = run("david_share", "--model", self.models[model], "--out", out, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout), out


class Share(Shares, SystemTest):
    """Splits by every strategy."""

    def factors(self, share, matrix):
        """(delta, exponents, A, B) of one matrix in Charlie's half."""
        charlie = tensors_of(share / "split/charlie/charlie.safetensors")
        name = matrix.removesuffix(".weight")
        return (charlie[f"{name}.row_scale"][1], charlie[f"{name}.A_exponent"][1],
                as_rows(charlie[f"{name}.A"]), as_rows(charlie[f"{name}.B"]))

    def test_DECO_1_the_share_and_Charlies_part_are_the_model(self):
        for family, strategy in [("llama", "lsc"), ("llama", "norm"), ("gpt2", "rcs"),
                                 ("phi", "lsc"), ("phi", "fms")]:
            with self.subTest(family=family, strategy=strategy):
                _, share = self.share(family, "--rank", 3, "--strategy", strategy)
                original = tensors_of(self.models[family] / "model.safetensors")
                given = tensors_of(share / "model.safetensors")
                self.assertEqual({n: t[0] for n, t in given.items()},
                                 {n: t[0] for n, t in original.items()})
                ranks = json.loads((share / "share.json").read_text())["ranks"]
                for name, rank in ranks.items():
                    if rank > 0:
                        self.check_matrix(share, name, original[name], given[name])
                for name in set(given) - set(ranks):
                    self.assertEqual(given[name], original[name])

    def check_matrix(self, share, name, original, given):
        turned = "gpt2" in share.joinpath("config.json").read_text() and is_stored_transposed(name)
        scales, exponents, a, b = self.factors(share, name)
        for delta, exponent, kept, w, residual in zip(
                scales, exponents, a, as_rows(original, turned), as_rows(given, turned),
                strict=True):
            unit = 2 ** exponent
            for j, (value, share_value) in enumerate(zip(w, residual, strict=True)):
                integer = round(share_value / (delta * STEP))
                self.assertLessEqual(abs(integer), 127)
                self.assertEqual(struct.pack("f", delta * STEP * integer),
                                 struct.pack("f", share_value))
                # DECO-3: half a step of W_D, of A and of B, and the roundings of binary32.
                factors = sum(unit * (abs(c) + abs(row[j]) + 0.5) / 2 for c, row in zip(kept, b))
                bound = delta * (STEP / 2 + factors) * (1 + 1e-6) + 1e-6 * abs(value)
                whole = STEP * integer + sum(unit * c * row[j] for c, row in zip(kept, b))
                self.assertLessEqual(abs(delta * whole - value), bound, (name, j))

    def test_a_David_who_knows_nothing_has_no_value_of_Charlies(self):
        _, share = self.share("llama", "--rank", 3, "--known", "nothing", "--seed", 5)
        original = tensors_of(self.models["llama"] / "model.safetensors")
        given = tensors_of(share / "model.safetensors")
        for name, (shape, values) in given.items():
            if "norm" in name:
                self.assertEqual(set(values), {1.0}, name)
                continue
            self.assertFalse(set(values) & set(original[name][1]) - {0.0}, name)
            for row in as_rows((shape, values)):             # random weights have deviation 0.02
                self.assertAlmostEqual(math.sqrt(sum(v * v for v in row) / len(row)), 0.02,
                                       delta=1e-5, msg=name)

    def test_bad_input_is_refused(self):
        model = self.models["llama"]
        for arguments, says in [
                (["--model", model], "--out is required"),
                (["--model", model, "--out", self.folder / "x", "--known", "all"], "--known"),
                (["--model", model, "--out", self.folder / "x", "--rank", 3, "--strategy", "top"],
                 "--strategy"),
                (["--model", model, "--out", model, "--rank", 3], "exists"),
                (["--model", self.models["phi"], "--out", self.folder / "x", "--artifact",
                  self.share("llama", "--rank", 3)[1] / "split"], "another model")]:
            with self.subTest(says=says):
                result = run("david_share", *arguments)
                self.assertEqual(result.returncode, 2)
                self.assertIn(says, result.stderr)


def lifted(residues):
    """RING-2: the integer of least magnitude modulo L with these residues, one for each prime."""
    modulus = math.prod(PRIMES)
    value = sum(residue * (modulus // prime) * pow(modulus // prime, -1, prime)
                for residue, prime in zip(residues, PRIMES, strict=True)) % modulus
    return value - modulus if value > modulus // 2 else value


def cosine(one, other):
    product, squares, others = (sum(a * b for a, b in zip(*pair, strict=True))
                                for pair in [(one, other), (one, one), (other, other)])
    return product / math.sqrt(squares * others)


class HiddenShare(Shares, SystemTest):
    """What an attacker makes of David's half of a hidden split (HIDE-1)."""

    RANK = 2

    def hidden(self, family, *arguments):
        return self.share(family, "--set", "hidden", "--rank", self.RANK, *arguments)

    def matrices(self, share):
        """Name, the first of David's rows, and how many: of every hidden matrix, by group."""
        groups = json.loads((share / "split/charlie/plan.json").read_text())["groups"]
        for number, group in enumerate(groups):
            first = 0
            for member in group["members"]:
                yield number, member["tensor"] + ".weight", first, member["m"], group["n"]
                first += member["m"]

    def test_HIDE_1_the_share_is_A_lifted_with_the_norms_of_the_model(self):
        for family in ["llama", "gpt2", "phi"]:
            with self.subTest(family=family):
                printed, share = self.hidden(family)
                self.assertEqual(printed["settings"]["strategy"], "hidden")
                self.assertNotIn("epsilon_online", printed["result"])
                original = tensors_of(self.models[family] / "model.safetensors")
                given = tensors_of(share / "model.safetensors")
                davids = tensors_of(share / "split/david/david.safetensors")
                hidden = list(self.matrices(share))
                for number, name, first, m, n in hidden:
                    (_, rows, _), planes = davids[f"group.{number}"]
                    places = range(first * n, (first + m) * n)
                    entries = [lifted([planes[p * rows * n + at] for p in range(6)]) for at in places]
                    a = [entries[i * n:(i + 1) * n] for i in range(m)]
                    self.check_matrix(name, a, original[name], given[name], family)
                ranks = json.loads((share / "share.json").read_text())["ranks"]
                self.assertEqual(ranks, {name: self.RANK for _, name, *_ in hidden})
                for name in set(given) - set(ranks):
                    self.assertEqual(given[name], original[name])

    def check_matrix(self, name, a, original, given, family):
        turned = family == "gpt2" and is_stored_transposed(name)
        w, shared = as_rows(original, turned), as_rows(given, turned)
        if given == original:                                # a tied head: he has it as the embedding
            self.assertRegex(name, "wte|embed_tokens")
            return
        for own, row, hidden in zip(w, shared, a, strict=True):
            norm = math.sqrt(sum(v * v for v in own))
            self.assertAlmostEqual(math.sqrt(sum(v * v for v in row)), norm, delta=0.01 * norm)
            self.assertGreater(cosine(row, hidden), 1 - 1e-6)
        # Of numbers that have nothing to do with each other: six deviations.
        entries = [v for row in w for v in row]
        self.assertLess(abs(cosine(entries, [v for row in shared for v in row])), 6 / math.sqrt(len(entries)))

    def test_THREAT_1_uniform_rows_tell_nothing_and_are_the_seeds(self):
        _, hidden = self.hidden("llama")
        split = ("--artifact", hidden / "split", "--rank", self.RANK, "--rows")
        of = {name: tensors_of(self.share("llama", *split, *words)[1] / "model.safetensors")
              for name, words in {"davids": ["davids"], "one": ["uniform"], "again": ["uniform"],
                                  "other": ["uniform", "--seed", 2]}.items()}
        self.assertEqual(of["davids"], tensors_of(hidden / "model.safetensors"))
        self.assertEqual(of["one"], of["again"])
        embedding = tensors_of(self.models["llama"] / "model.safetensors")["model.embed_tokens.weight"]
        for _, name, *_ in self.matrices(hidden):
            if of["davids"][name] == embedding:              # a tied head, which he has whole
                continue
            draws = [of[draw][name][1] for draw in ("davids", "one", "other")]
            for one, other in itertools.combinations(draws, 2):
                self.assertLess(abs(cosine(one, other)), 6 / math.sqrt(len(one)), name)

    def test_rows_may_have_the_deviation_of_random_weights(self):
        original = tensors_of(self.models["llama"] / "model.safetensors")
        for arguments in (["--known", "nothing"], ["--norms", "small"]):
            printed, share = self.hidden("llama", *arguments)
            given = tensors_of(share / "model.safetensors")
            for _, name, *_ in self.matrices(share):
                if given[name] == original[name]:            # a tied head
                    continue
                for row in as_rows(given[name]):
                    deviation = math.sqrt(sum(v * v for v in row) / len(row))
                    self.assertAlmostEqual(deviation, 0.02, delta=1e-5)
        self.assertEqual(printed["settings"]["strategy"], "hidden-small")
        self.assertEqual(given["model.norm.weight"], original["model.norm.weight"])

    def test_bad_input_is_refused(self):
        paper = self.share("llama", "--rank", 3)[1] / "split"
        for arguments, says in [(["--set", "hidden"], "expected --rank"),
                                (["--set", "paper-lattice", "--rank", 2], "--set is paper or hidden"),
                                (["--set", "hidden", "--rank", 2, "--blocks", 1], "no plan or blocks"),
                                (["--set", "hidden", "--rank", 2, "--strategy", "fms"], "strategy"),
                                (["--artifact", paper, "--rows", "uniform"], "expected a hidden split"),
                                (["--artifact", paper, "--norms", "small"], "expected a hidden split"),
                                (["--rank", 2, "--norms", "large"], "--norms is told or small"),
                                (["--rank", 2, "--rows", "zero"], "--rows is davids or uniform")]:
            with self.subTest(says=says):
                result = run("david_share", "--model", self.models["llama"], "--out", self.folder / "x",
                             *arguments)
                self.assertEqual(result.returncode, 2)
                self.assertIn(says, result.stderr)


def without_span(rows, count):
    """The rows less their parts in a span that `count` of them have, the longest first."""
    rows = [list(row) for row in rows]
    for _ in range(count):
        longest = max(rows, key=lambda row: sum(v * v for v in row))
        norm = math.sqrt(sum(v * v for v in longest))
        unit = [v / norm for v in longest]
        for row in rows:
            part = sum(a * b for a, b in zip(row, unit, strict=True))
            row[:] = [a - part * b for a, b in zip(row, unit, strict=True)]
    return rows


class Attacked(Shares):
    IDS = list(itertools.islice(itertools.cycle([3, 1, 4, 1, 5, 9, 2, 6]), 400))

    def restore(self, family, share, *arguments, text=IDS):
        ids = self.folder / "ids"
        ids.write_text(" ".join(map(str, text)) + "\n")
        result = run("restore", "--model", self.models[family], "--share", share, "--public", ids,
                     "--valid", ids, "--window", 16, "--batch", 4, "--steps", 25,
                     "--valid-tokens", 100, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)


class SampledText(SystemTest):
    """Texts that a model makes up."""

    def sample(self, name, *arguments):
        out = self.folder / name
        result = run("sampled_text", "--model", TINYSTORIES, "--out", out, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["result"], out.read_text()

    def test_a_seed_gives_its_text(self):
        found, text = self.sample("a", "--tokens", 90, "--length", 40, "--prompt", "Once upon a time")
        stories = text.rstrip("\n").split("\n\n")
        self.assertEqual((found["tokens"], found["stories"], found["bytes"]),
                         (90, len(stories), len(text.encode())))
        self.assertGreaterEqual(len(stories), 3)
        for story in stories:
            self.assertTrue(story.startswith("Once upon a time"), story)
        same = ("--tokens", 90, "--length", 40, "--prompt", "Once upon a time")
        self.assertEqual(self.sample("b", *same)[1], text)
        other = self.sample("c", *same, "--seed", 2)[1]
        self.assertFalse(set(other.split("\n\n")) & set(stories))

    def test_bad_input_is_refused(self):
        for arguments, says in [(["--tokens", 0], "--tokens"),
                                (["--tokens", 5, "--temperature", 0], "--temperature"),
                                (["--tokens", 5, "--prompt", "once " * 600], "--prompt has")]:
            result = run("sampled_text", "--model", TINYSTORIES, "--out", self.folder / "x", *arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn(says, result.stderr)


@unittest.skipUnless((BUILD / "restore").exists(), "built without -DSLIP_SAFETY=ON (libtorch)")
class Restoration(Attacked, SystemTest):
    """Tiny runs of every attacker."""

    def test_DEF_8_every_attacker_trains_what_it_says(self):
        for family in ["llama", "gpt2", "phi"]:
            _, share = self.share(family, "--rank", 2)
            ranks = json.loads((share / "share.json").read_text())["ranks"]
            shapes = {name: tensor[0] for name, tensor in
                      tensors_of(share / "model.safetensors").items() if ranks.get(name)}
            counts = {"lora": sum(2 * (m + n) for m, n in shapes.values()),
                      "full": sum(m * n for m, n in shapes.values()),
                      "core": sum(2 * (abs(m - n) + 2) for m, n in shapes.values())}
            for attacker, count in counts.items():
                with self.subTest(family=family, attacker=attacker):
                    result = self.restore(family, share, "--attacker", attacker)["result"]
                    self.assertEqual(result["parameters_trained"], count)
                    perplexity = result["perplexity"]
                    self.assertLess(perplexity["restored"], 0.9 * perplexity["share"])

    def test_DEF_8_from_a_hidden_half_they_train_as_much(self):
        _, share = self.share("llama", "--set", "hidden", "--rank", 2)
        ranks = json.loads((share / "share.json").read_text())["ranks"]
        tied = json.loads((share / "config.json").read_text()).get("tie_word_embeddings", False)
        shapes = [tensor[0] for name, tensor in tensors_of(share / "model.safetensors").items()
                  if name in ranks and not (tied and "embed_tokens" in name)]
        for attacker, count in {"lora": sum(2 * (m + n) for m, n in shapes),
                                "full": sum(m * n for m, n in shapes),
                                "core": sum(2 * (abs(m - n) + 2) for m, n in shapes)}.items():
            result = self.restore("llama", share, "--attacker", attacker)["result"]
            self.assertEqual(result["parameters_trained"], count, attacker)

    def test_DEF_4_labels_of_queries_restore_what_the_model_says(self):
        _, share = self.share("llama", "--rank", 2, "--strategy", "norm")
        out = self.restore("llama", share, "--attacker", "core", "--labels", "queries-8")
        self.assertEqual(out["settings"]["labels"], "queries-8")
        self.assertEqual(out["settings"]["strategy"], "norm")
        again = self.restore("llama", share, "--attacker", "core", "--labels", "queries-8")
        self.assertEqual(out, again)

    def test_DEF_4_labels_of_logits_are_distributions(self):
        _, share = self.share("llama", "--rank", 2)
        attacks = {labels: self.restore("llama", share, "--attacker", "full", "--labels", labels)["result"]
                   for labels in ["queries-8", "logits-8"]}
        perplexity = {labels: result["perplexity"] for labels, result in attacks.items()}
        # A distribution is nearer to the model, whose perplexity is high, than its most likely token is.
        self.assertLess(abs(perplexity["logits-8"]["restored"] - perplexity["logits-8"]["original"]),
                        abs(perplexity["queries-8"]["restored"] - perplexity["queries-8"]["original"]))

    def test_labels_that_are_none_are_refused(self):
        for labels in ["logits", "logits-", "logits-0", "queries-x", "-8", "text-8"]:
            result = run("restore", "--model", "m", "--share", "s", "--attacker", "core", "--public", "p",
                         "--valid", "v", "--labels", labels)
            self.assertEqual(result.returncode, 2, labels)
            self.assertIn("--labels expects public, queries-N or logits-N", result.stderr)

    def test_windows_that_begin_with_BOS_need_none_before_them(self):
        _, share = self.share("llama", "--rank", 2)
        windows = [self.IDS[at:at + 16] for at in range(0, 400, 16)]
        behind_bos = [token for window in windows for token in (1, *window)]
        bos = self.restore("llama", share, "--attacker", "core", "--valid-tokens", 400)
        nothing = self.restore("llama", share, "--attacker", "core", "--begin", "nothing", "--window", 17,
                               "--valid-tokens", 425, text=behind_bos)
        for what, perplexity in bos["result"]["perplexity"].items():
            self.assertAlmostEqual(nothing["result"]["perplexity"][what], perplexity, delta=1e-4 * perplexity)
        wrong = run("restore", "--model", "m", "--share", "s", "--attacker", "core", "--public", "p",
                    "--valid", "v", "--begin", "eos")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("--begin: expected bos or nothing, got 'eos'", wrong.stderr)

    def test_untrained_attackers_are_where_they_say_they_start(self):
        _, share = self.share("llama", "--rank", 2)
        for attacker in ["lora", "full", "core"]:
            perplexity = self.restore("llama", share, "--attacker", attacker,
                                      "--steps", 0)["result"]["perplexity"]
            self.assertEqual(perplexity["restored"], perplexity["share"])
        fresh = self.restore("llama", share, "--attacker", "random-start", "--steps", 0)
        self.assertNotEqual(fresh["result"]["perplexity"]["restored"],
                            fresh["result"]["perplexity"]["share"])

    def test_a_restored_model_is_a_checkpoint(self):
        _, share = self.share("llama", "--rank", 2)
        out = self.folder / "restored"
        first = self.restore("llama", share, "--attacker", "full", "--out", out)["result"]["perplexity"]
        again = self.restore("llama", out, "--attacker", "full", "--steps", 0)["result"]["perplexity"]
        self.assertAlmostEqual(again["share"], first["restored"], delta=1e-5 * first["restored"])
        self.assertNotAlmostEqual(first["share"], first["restored"], delta=1)


@unittest.skipUnless((BUILD / "spans").exists(), "built without -DSLIP_SAFETY=ON (libtorch)")
class HiddenSpans(Attacked, SystemTest):
    """Splits that leave no null space, and who looks for the spans behind them."""

    RANK = 2

    def hidden(self, hiding, seed=1):
        """(JSON, folder) of a share that hides the spans of LSC's, and LSC's JSON."""
        lsc, share = self.share("llama", "--rank", self.RANK)
        out = self.folder / f"hidden{NUMBERS.getrandbits(64)}"
        result = run("spans", "--model", self.models["llama"], "--share", share, "--hiding", hiding,
                     "--seed", seed, "--out", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout), out, lsc

    def test_E_33_Charlie_keeps_rank_k_and_David_no_null_space(self):
        original = tensors_of(self.models["llama"] / "model.safetensors")
        for hiding in ["random-core", "tilted", "mixture"]:
            with self.subTest(hiding=hiding):
                printed, share, lsc = self.hidden(hiding)
                self.assertAlmostEqual(printed["result"]["epsilon_online"], lsc["result"]["epsilon_online"])
                given = tensors_of(share / "model.safetensors")
                ranks = json.loads((share / "share.json").read_text())["ranks"]
                kept = [self.check_matrix(as_rows(original[name]), as_rows(given[name]), rank)
                        for name, rank in ranks.items() if rank > 0]
                self.assertGreater(min(kept), 5)              # of each matrix Charlie has something
                for name in set(given) - {name for name, rank in ranks.items() if rank > 0}:
                    self.assertEqual(given[name], original[name])

    def check_matrix(self, w, residual, rank):
        kept = [[a - b for a, b in zip(*rows, strict=True)] for rows in zip(w, residual, strict=True)]
        # Half a step of a grid of 255 values per entry; the rows that give the span have such errors too.
        rounding = max(max(map(abs, row)) for row in residual) / 254
        self.assertLess(max(abs(v) for row in without_span(kept, rank) for v in row), 2.5 * rounding)
        wide = min(residual, [list(column) for column in zip(*residual, strict=True)], key=len)
        self.assertGreater(max(abs(v) for row in without_span(wide, len(wide) - 1) for v in row), rounding)
        return max(abs(v) for row in without_span(kept, 0) for v in row) / rounding

    def test_E_33_the_searches_say_what_they_find(self):
        _, share, _ = self.hidden("random-core")
        ranks = json.loads((share / "share.json").read_text())["ranks"]
        shapes = {name: tensor[0] for name, tensor in tensors_of(share / "model.safetensors").items()}
        found = {}
        for attacker in ["core-gradient", "core-movement", "core-movement-wide", "core-told"]:
            result = self.restore("llama", share, "--attacker", attacker)["result"]
            found[attacker] = result["spans_found"]
            directions = 4 * self.RANK if attacker == "core-movement-wide" else self.RANK
            self.assertEqual(result["parameters_trained"],
                             sum(min(directions, *shapes[name]) ** 2 for name, rank in ranks.items() if rank))
            self.assertEqual(result, self.restore("llama", share, "--attacker", attacker)["result"])
        self.assertGreater(found["core-told"], 0.999)
        self.assertLess(found["core-gradient"], 0.9)
        self.assertLess(found["core-movement"], 0.9)
        self.assertGreater(found["core-movement-wide"], found["core-movement"])

    def test_another_draw_hides_otherwise(self):
        one, again, other = (tensors_of(self.hidden("mixture", seed)[1] / "model.safetensors")
                             for seed in (1, 1, 2))
        self.assertEqual(one, again)
        self.assertNotEqual(one, other)

    def test_bad_input_is_refused(self):
        _, unknown = self.share("llama", "--rank", 2, "--known", "nothing")
        _, norm = self.share("llama", "--rank", 2, "--strategy", "norm")
        _, large = self.share("llama", "--rank", 64)
        _, lsc = self.share("llama", "--rank", 2)
        for share, hiding, says in [(unknown, "tilted", "expected a share of LSC"), (lsc, "top", "--hiding"),
                                    (norm, "tilted", "expected a share of LSC"),
                                    (large, "tilted", "expected at most half")]:
            with self.subTest(says=says):
                result = run("spans", "--model", self.models["llama"], "--share", share, "--hiding", hiding,
                             "--out", self.folder / "never")
                self.assertEqual(result.returncode, 2)
                self.assertIn(says, result.stderr)


class Outputs(SystemTest):
    """What clients learn of the head (outputs)."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        config = CONFIG | {"vocab_size": 300, "max_position_embeddings": 64}
        cls.model = write_model(cls.folder / "model", config, tensor_shapes(config))

    def outputs(self, *arguments, status=0):
        result = run("outputs", "--model", self.model, "--rank", "2", *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        return json.loads(result.stdout)["result"] if status == 0 else result.stderr

    def test_exact_answers_give_the_head_and_noise_does_not(self):
        found = self.outputs("--shown", "all", "--states", "96", "--values", "exact,noise-100")
        exact, noisy = found["points"]
        self.assertEqual(exact["answers"], 96)
        self.assertEqual(exact["width_found"], found["width"])
        self.assertGreater(exact["mean_squared_cosine"], 0.99)
        self.assertLess(noisy["mean_squared_cosine"], 2 * found["squared_cosine_by_chance"])
        few = self.outputs("--shown", "all", "--states", "10")["points"][0]
        self.assertLess(few["mean_squared_cosine"], exact["mean_squared_cosine"] - 0.1)

    def test_a_hidden_half_gives_no_states_and_a_papers_half_does(self):
        arguments = ["--shown", "all", "--states", "96", "--split"]
        self.assertGreater(self.outputs(*arguments, "paper")["points"][0]["share_of_states"], 0.5)
        self.assertLess(self.outputs(*arguments, "hidden")["points"][0]["share_of_states"], 0.3)

    def test_few_tokens_in_each_place_give_the_head_only_with_a_bias_or_known_seeds(self):
        for way in ("bias-4", "chosen"):
            point = self.outputs("--shown", way, "--states", "64")["points"][0]
            self.assertGreater(point["mean_squared_cosine"], 0.99, way)
            self.assertGreater(point["answers"], 64)
        likeliest = self.outputs("--shown", "top-4", "--states", "256")["points"][0]
        self.assertLess(likeliest["by_bounds"]["mean_squared_cosine"], 0.7)

    def test_bad_words_are_refused(self):
        for words, says in {("--shown", "some", "--states", "9"): "expected all, top-K",
                            ("--shown", "bias-1", "--states", "9"): "expected all, top-K",
                            ("--shown", "all", "--states", "0"): "expected numbers from 1",
                            ("--shown", "all", "--states", "9", "--values", "x"): "expected exact",
                            ("--shown", "all", "--states", "9", "--split", "x"): "paper or hidden"}.items():
            self.assertIn(says, self.outputs(*words, status=2))


if __name__ == "__main__":
    unittest.main()
