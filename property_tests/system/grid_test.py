"""`slip split` and checkpoints whose weights lie on a coarse grid (DECO-13)."""
# test: once

import json
import os
import random
import unittest

from slip_system import CONFIG, SystemTest, tensor_shapes, write_checkpoint, write_safetensors


class Ternary(random.Random):
    """Draws the weights of a ternary checkpoint."""

    def gauss(self, mu=0, sigma=1):
        return mu + sigma * self.choice((-1, 0, 1))


class CoarseGrid(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.folder / "model"
        cls.model.mkdir()
        (cls.model / "config.json").write_text(json.dumps(CONFIG))
        write_safetensors(cls.model / "model.safetensors", tensor_shapes(CONFIG), Ternary(1))

    def arguments(self, name, *rest):
        return ["split", "--model", self.model, "--out", self.folder / name, *rest]

    def inspected(self, name, model=None):
        return json.loads(self.slip("inspect", "--artifact", self.folder / name, "--model",
                                    model or self.model, "--json").stdout)

    def test_DECO_13_it_is_refused_and_nothing_stays(self):
        before = sorted(os.listdir(self.folder))
        for strategy in ("lsc", "rcs"):
            self.refused(*self.arguments("refused", "--rank", "3", "--strategy", strategy),
                         says=["model.layers.0.self_attn.q_proj.weight", "--accept-grid"])
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_DECO_13_it_is_split_if_it_is_accepted(self):
        self.slip(*self.arguments("accepted", "--rank", "3", "--accept-grid"))
        report = self.inspected("accepted")
        for layer in report["layers"]:
            self.assertLess(layer["grid_share"], 0.2, layer)
        self.assertIn("14 of 15 matrices lie on a coarse grid", " ".join(report["warnings"]))
        table = self.slip("inspect", "--artifact", self.folder / "accepted", "--model",
                          self.model).stdout
        self.assertRegex(table, r"layers\.1\.mlp\.up_proj .* \d+%  coarse grid\n")

    def test_THREAT_4_a_fine_grid_and_columns_that_are_left_out_are_no_warning(self):
        self.slip(*self.arguments("columns", "--rank", "3", "--strategy", "norm"))
        self.assertNotIn("coarse", " ".join(self.inspected("columns")["warnings"]))
        fine = write_checkpoint(self.folder / "fine")
        self.slip("split", "--model", fine, "--out", self.folder / "split", "--rank", "3")
        report = self.inspected("split", fine)
        self.assertGreater(min(layer["grid_share"] for layer in report["layers"]), 0.95)
        self.assertNotIn("coarse", " ".join(report["warnings"]))

    def test_THREAT_4_another_checkpoint_is_refused(self):
        self.slip(*self.arguments("own", "--rank", "3", "--accept-grid"))
        other = write_checkpoint(self.folder / "other")
        self.refused("inspect", "--artifact", self.folder / "own", "--model", other,
                     says=[str(other), "q_proj", "the checkpoint from which"])

    def test_DECO_13_what_david_holds_whole_or_lacks_whole_does_not_count(self):
        plan = self.folder / "plan.json"
        plan.write_text('[[0, "q_proj", 0], [0, "k_proj", 3]]')
        self.slip(*self.arguments("whole", "--plan", plan, "--strategy", "norm"))
        for strategy in ("norm", "random", "fms"):
            self.slip(*self.arguments(strategy, "--rank", "3", "--strategy", strategy))


if __name__ == "__main__":
    unittest.main()
