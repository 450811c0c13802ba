"""The program costs: its counts are those of sessions that ran, and of the specification."""
# test: once

import json
import unittest

from bench_test import LINEAR_7B, OF_7B
from slip_system import ROOT, STORIES260K, David, Deployment, SystemTest, run, write_checkpoint

RESULTS = ROOT / "experiments/results"


def points_of(*arguments):
    """The result's points, one per rank, prompt and tokens."""
    result = run("costs", *arguments)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["experiment"] == "costs", found
    return found["result"]["points"]


class CostsOfSessions(Deployment):
    """A small model that is split, and sessions that run, with the paper's masks."""

    SET = "paper"

    def costs(self, out, *arguments):
        (point,) = points_of("--model", self.folder / "model", "--rank", 3, "--prompt",
                             len(out["prompt_ids"]), "--tokens", len(out["ids"]), *arguments)
        return point

    def test_DEF_6_the_counts_are_those_of_a_session(self):
        with self.david() as david:
            out = json.loads(self.slip(*self.charlie_command(david.endpoint)).stdout)
        point = self.costs(out)
        counts = point["multiplications"]
        self.assertGreater(len(out["ids"]), 1)
        self.assertEqual(counts["linear"], out["david_multiplications"])
        self.assertEqual(counts["online"], out["charlie_multiplications"])
        self.assertEqual(counts["offline"], out["offline_multiplications"])
        total = ((out["charlie_multiplications"] + out["offline_multiplications"])
                 / out["david_multiplications"])
        self.assertEqual(point["epsilon_total"], total)

    def test_LAT_9_attention_is_what_a_hand_counts(self):
        # 2 blocks, 4 heads of width 4, 5 positions, which attend to 1, 2, 3, 4 and 5 tokens.
        (point,) = points_of("--model", self.folder / "model", "--rank", 1, "--prompt", 3,
                             "--tokens", 3)
        attention = 2 * 2 * 16 * (1 + 2 + 3 + 4 + 5)
        linear = point["multiplications"]["linear"]
        self.assertEqual(point["multiplications"]["attention"], attention)
        self.assertEqual(point["attention_share"], attention / linear)
        charlie = point["epsilon_online"] * linear
        self.assertAlmostEqual(point["epsilon_online_with_attention"],
                               (charlie + attention) / (linear + attention), places=12)

    def test_DECO_6_a_plan_costs_what_the_same_ranks_cost(self):
        plan = self.folder / "plan.json"
        names = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
        plan.write_text(json.dumps([[block, name, 2] for block in (0, 1) for name in names]
                                   + [[None, "lm_head", 5]]))
        model = ("--model", self.folder / "model")
        (planned,) = points_of(*model, "--plan", plan)
        (uniform,) = points_of(*model, "--rank", 2, "--head-rank", 5)
        self.assertEqual(planned["multiplications"], uniform["multiplications"])
        (whole,) = points_of(*model, "--rank", 2, "--strategy", "fms")
        self.assertGreater(whole["epsilon_online"], 1)  # Charlie keeps whole matrices


class CostsOfHiddenSessions(SystemTest):
    """A small model with all of every matrix hidden, and a session that runs."""

    def test_DEF_6_the_counts_are_those_of_a_session(self):
        model = write_checkpoint(self.folder / "model")
        artifact, tls = self.folder / "artifact", self.folder / "tls"
        self.slip("split", "--model", model, "--set", "hidden", "--out", artifact)
        self.slip("keys", "--out", tls)
        with David(artifact / "david", tls / "david") as david:
            out = json.loads(self.slip("generate", "--artifact", artifact, "--engine", "hybrid", "--david",
                                       david.endpoint, "--tls", tls / "charlie", "--ids", "1,5,9",
                                       "--max-tokens", 8, "--json").stdout)
        (point,) = points_of("--model", model, "--hidden", "--prompt", len(out["prompt_ids"]),
                             "--tokens", len(out["ids"]))
        self.assertEqual(point["set"], "hidden")
        self.assertGreater(point["epsilon_online"], 1)       # a row of V is longer than one of this model
        self.assertEqual(point["multiplications"]["online"], out["charlie_multiplications"])


class CostsOfShapes(SystemTest):
    """Models of which no weight is read."""

    def test_DEF_6_large_models_cost_what_a_hand_computes(self):
        (tiny,) = points_of("--shape", "tinyllama", "--rank", 16, "--head-rank", 16)
        # 22 blocks of q, k, v; o; gate, up; down, and the head, 32000 x 2048.
        self.assertEqual(tiny["multiplications"]["linear"],
                         22 * (2048 * 2560 + 2048 * 2048 + 2048 * 11264 + 5632 * 2048) + 32000 * 2048)
        low_rank = 16 * (22 * (2 * 4096 + 2 * 2304 + 3 * 7680) + 34048)
        checks = 8 * (22 * (4608 + 4096 + 13312 + 7680) + 34048)
        quantising_and_scales = 22 * (11776 + 2 * 17920) + 2048 + 2 * 32000
        self.assertEqual(tiny["multiplications"]["online"],
                         low_rank + checks + quantising_and_scales)
        (large,) = points_of("--shape", "llama2-7b", "--rank", 16, "--head-rank", 16)
        self.assertEqual(large["epsilon_online"], OF_7B / LINEAR_7B)

    @unittest.skipUnless(STORIES260K.is_dir(), "the shared data are not there")
    def test_the_object_says_what_was_counted(self):
        found = json.loads(run("costs", "--model", STORIES260K, "--rank", "1,4").stdout)
        self.assertEqual(found["model"]["name"], "stories260K")
        self.assertEqual(found["model"]["family"], "llama")
        self.assertEqual(found["model"]["parameters"], 260032)
        self.assertEqual([point["rank"] for point in found["result"]["points"]], [1, 4])
        self.assertLess(*[point["epsilon_online"] for point in found["result"]["points"]])

    def test_the_committed_results_are_what_the_program_counts(self):
        for path in sorted(RESULTS.glob("costs-tinystories-llama-*.json")):
            committed = json.loads(path.read_text())
            arguments = [word.replace("{root}", str(ROOT)) for word in committed["command"]]
            result = run(*arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(json.loads(result.stdout)["result"], committed["result"], path.name)

    def test_CONV_4_bad_input_is_named(self):
        small = ("--shape", "small", "--rank", "1")
        for arguments, says in [((), "--model or --shape"),
                                (("--shape", "large", "--rank", "1"), "tinyllama"),
                                (("--shape", "small"), "--rank, --plan"),
                                ((*small, "--hidden"), "--rank, --plan"),
                                (("--shape", "small", "--hidden", "--blocks", "1"), "--blocks"),
                                (("--shape", "small", "--rank", "1,x"), "--rank 'x'"),
                                (("--shape", "small", "--rank", ""), "--rank"),
                                ((*small, "--tokens", "0"), "--tokens '0'"),
                                ((*small, "--head-rank", "1,2"), "--head-rank '1,2'"),
                                ((*small, "--strategy", "best"), "--strategy 'best'"),
                                (("--model", "/absent", "--rank", "1"), "/absent")]:
            result = run("costs", *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertEqual(result.stdout, "")
            self.assertIn(says, result.stderr)


if __name__ == "__main__":
    unittest.main()
