"""What is committed of the experiments: each figure has its result, and a number in the text that links to a
result is that result's."""
# test: once

import re
import sys
import unittest

from recompute_test import RUNS, TRAINED
from slip_system import ROOT, STORIES260K, SystemTest

sys.path.insert(0, str(ROOT / "experiments"))

from figures.catalogue import FIGURES  # noqa: E402
from harness.results import is_current, read_result  # noqa: E402

# In a text: a number that is a link to a result, [5.8](.../results/NAME.json): what an attacker reaches, or a
# percentage for a task.
CITED = re.compile(r"\[([0-9,]+(?:\.([0-9]+))?)\]\([a-z./]*results/"
                   r"((?:restoration|queries|logits|data|spans|again|tuning|tasks)-[^)]*)\.json\)")
# Figures without a run of TRAINED; `tradeoff` is made from those of `plans` and from costs.
ELSEWHERE = {"decay", "bypass", "removal", "costs", "tradeoff", "tasks", "convolution"}


@unittest.skipUnless(STORIES260K.is_dir(), "no shared data")
class Committed(SystemTest):
    def test_each_figure_has_a_committed_result(self):
        self.assertEqual({figure.__name__ for figure in FIGURES}, TRAINED.keys() | ELSEWHERE)
        for name in TRAINED.values():
            committed = ROOT / f"experiments/results/{name}.json"
            self.assertTrue(is_current(committed, RUNS[name], RUNS), f"{name} is not committed")

    def test_numbers_in_the_text_are_those_of_their_results(self):
        wrong, found = [], 0
        for path in ["spec/errata.md", "spec/decomposition.md", "experiments/README.md"]:
            for shown, decimals, name in CITED.findall((ROOT / path).read_text()):
                found += 1
                result = read_result(ROOT / f"experiments/results/{name}.json")
                measured = 100 * result["result"]["accuracy"] if result["experiment"] == "tasks" else \
                    result["result"]["perplexity"]["restored"]
                if shown != f"{measured:,.{len(decimals)}f}":
                    wrong.append(f"{path}: {shown} for {name}, expected {measured}")
        self.assertEqual(wrong, [])
        self.assertGreater(found, 20)


if __name__ == "__main__":
    unittest.main()
