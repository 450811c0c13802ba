"""`slip split` and checkpoints whose weights lie on a coarse grid (DECO-13)."""

import json
import os
import random
import unittest

from slip_system import CONFIG, SystemTest, tensor_shapes, write_safetensors


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

    def test_DECO_13_it_is_refused_and_nothing_stays(self):
        before = sorted(os.listdir(self.folder))
        for strategy in ("lsc", "rcs"):
            self.refused(*self.arguments("refused", "--rank", "3", "--strategy", strategy),
                         says=["model.layers.0.self_attn.q_proj.weight", "--accept-grid"])
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_DECO_13_it_is_split_if_it_is_accepted(self):
        self.slip(*self.arguments("accepted", "--rank", "3", "--accept-grid"))

    def test_DECO_13_what_david_holds_whole_or_lacks_whole_does_not_count(self):
        plan = self.folder / "plan.json"
        plan.write_text('[[0, "q_proj", 0]]')
        self.slip(*self.arguments("whole", "--plan", plan))
        for strategy in ("norm", "random", "fms"):
            self.slip(*self.arguments(strategy, "--rank", "3", "--strategy", strategy))


if __name__ == "__main__":
    unittest.main()
