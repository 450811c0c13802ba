"""Text and logits do not depend on the kernels: every backend that this machine has, byte for byte."""
# test: once

import json
import subprocess
import unittest

import slip_system
from slip_system import SystemTest

# A name that no backend has makes the program list those that it has.
UNKNOWN = {"SLIP_KERNELS": "abacus"}


class Backends(SystemTest):
    def backends(self, *arguments):
        error = self.slip(*arguments, status=2, env=UNKNOWN).stderr
        names = error.rsplit("it has: ", 1)[1].strip().split(", ")
        self.assertEqual(names[0], "portable")
        return names

    def test_model_5_generate_and_forward_are_the_same_under_every_backend(self):
        """MODEL-5, RAND-2, LIN-1: the hybrid and the unsplit engine."""
        artifact = self.folder / "artifact"
        self.slip("split", "--model", slip_system.TINYSTORIES, "--rank", 4, "--out", artifact)
        generate = ["--artifact", artifact, "--prompt", "Once upon a time", "--max-tokens", 6]
        forward = ["forward", "--artifact", artifact, "--engine", "hybrid", "--ids", "1,5,9",
                   "--json"]
        outputs = {}
        for name in self.backends(*forward):
            env = {"SLIP_KERNELS": name}
            for engine in ["hybrid", "unsplit"]:
                logits = self.folder / f"{name}.{engine}"
                out = self.slip("generate", *generate, "--engine", engine, "--logits", logits,
                                "--json", env=env)
                outputs[name, engine] = (json.loads(out.stdout)["text"], logits.read_bytes())
            outputs[name, "forward"] = self.slip(*forward, env=env).stdout
        self.assertEqual(outputs["portable", "hybrid"], outputs["portable", "unsplit"])
        for (name, what), output in outputs.items():
            self.assertEqual(output, outputs["portable", what], f"{name} {what}")


class Leaves(SystemTest):
    def test_no_leaf_leaves_code_that_the_linker_could_use_for_another_processor(self):
        """A weak function of a file compiled for AVX could replace the baseline one everywhere."""
        leaves = slip_system.BUILD / "CMakeFiles/slip_kernels.dir/optimized/kernels/leaf"
        objects = [path for leaf in ["avx2", "avx512"] for path in (leaves / leaf).glob("*.o")]
        if not objects:
            self.skipTest("this processor's family has no such leaf")
        symbols = subprocess.run(["nm", *objects], capture_output=True, text=True, check=True).stdout
        self.assertIn(" T ", symbols)
        self.assertEqual([line for line in symbols.splitlines() if " W " in line], [])


if __name__ == "__main__":
    unittest.main()
