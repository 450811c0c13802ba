"""A point of each figure is measured again, on the smallest model that it has, and is what was committed:
here those of `spectra` and, with SLIP_FULL set and libtorch, those of attackers who train; costs_test.py and
tasks_test.py have theirs."""
# test: once, studies

import math
import os
import subprocess
import sys
import unittest

from slip_system import BUILD, ROOT, STORIES260K, SystemTest

sys.path.insert(0, str(ROOT / "experiments"))

from harness.execution import PLACE  # noqa: E402
from harness.lists import read_lists  # noqa: E402
from harness.results import is_current, parse_output, read_result  # noqa: E402

RUNS = read_lists(ROOT / "experiments/runs")
# To ask for one point of many, of a committed result: words after the command, in place of earlier ones.
ONE_POINT = {"bypass": lambda result: {"--widths": "5"},
             "removal": lambda result: {"--components": "4", "--type": result["layer_types"][0]["name"]}}
# A run behind each figure of attackers.
TRAINED = {"strategies": "restoration-stories260K-lsc-k4-core-seed1",
           "plans": "restoration-stories260K-lsc-k4-core-seed1",
           "planned": "restoration-tinystories-llama-lsc-plan16-core-seed1",
           "queries": "queries-32-stories260K-lsc-k4-core-seed1",
           "data": "data-8000-stories260K-lsc-k4-core-seed1",
           "spans": "spans-stories260K-random-core-k4-short-full-seed1",
           "hidden": "restoration-stories260K-hidden-small-full-seed1"}


def smallest(experiment):
    """(run, result) of the committed result that took least, without runs before it; or None."""
    found = []
    for name, run in RUNS.items():
        path = ROOT / f"experiments/results/{name}.json"
        if not run.needs and is_current(path, run, RUNS):
            result = read_result(path)
            if result["experiment"] == experiment:
                found.append((result["processor_s"], name))
    if not found:
        return None
    name = min(found)[1]
    return RUNS[name], read_result(ROOT / f"experiments/results/{name}.json")


def numbers(value, place=""):
    """Every number in a result, by where it stands; members of a list of objects by their names."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return {}
    if isinstance(value, (int, float)):
        return {place: value}
    found = {}
    for key, member in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(member, dict) and isinstance(value, list):
            named = [f"{name}={member[name]}" for name in ("name", "blocks", "components", "center")
                     if name in member]
            key = ",".join(named) or key
        found.update(numbers(member, f"{place}/{key}"))
    return found


def differences(now, then):
    """The places where a number is not what was committed, but for the last digits."""
    return [place for place, value in now.items() if place not in then
            or not math.isclose(value, then[place], rel_tol=1e-5, abs_tol=2e-6)]


@unittest.skipUnless(STORIES260K.is_dir(), "no shared data")
class Recompute(SystemTest):
    def again(self, run, result):
        """What the run's program prints now, of one point where it can."""
        places = {"root": ROOT, "shared": STORIES260K.parents[2], "work": self.folder}
        words = [PLACE.sub(lambda match: str(places[match[1]]), word) for word in run.command]
        one_point = ONE_POINT.get(result["experiment"], lambda result: {})(result["result"])
        for flag, value in one_point.items():
            if flag in words:
                words[words.index(flag) + 1] = value
            else:
                words += [flag, value]
        program = subprocess.run([BUILD / words[0], *words[1:]], capture_output=True, text=True, timeout=600)
        self.assertEqual(program.returncode, 0, program.stderr)
        return parse_output(program.stdout)

    def compare(self, experiment):
        committed = smallest(experiment)
        self.assertIsNotNone(committed, f"no result of {experiment} is committed")
        run, result = committed
        now = numbers(self.again(run, result)["result"])
        self.assertGreater(len(now), 0)
        self.assertEqual(differences(now, numbers(result["result"])), [], run.name)

    def test_decay(self):
        self.compare("decay")

    def test_bypass(self):
        self.compare("bypass")

    def test_removal(self):
        self.compare("removal")

    def test_another_number_is_refused(self):
        _, result = smallest("decay")
        then = numbers(result["result"])
        place = "/layer_types/name=q/mean/1"
        self.assertEqual(differences(then, then), [])
        self.assertEqual(differences(then | {place: then[place] + 1e-4}, then), [place])
        self.assertEqual(differences(then | {"/other": 1}, then), ["/other"])

    @unittest.skipUnless("SLIP_FULL" in os.environ, "trains for a minute and a half")
    @unittest.skipUnless((ROOT / "build/safety/restore").exists(), "needs -DSLIP_SAFETY=ON")
    def test_attackers_train_again(self):
        for name in sorted(set(TRAINED.values())):
            with self.subTest(name):
                now, then = (numbers(result["result"]) for result in self.train_again(name))
                self.assertEqual(now.keys(), then.keys())
                # Training amplifies how a processor rounds; other seeds are 20 % apart.
                self.assertEqual([place for place in now
                                  if not math.isclose(now[place], then[place], rel_tol=0.05)], [])

    def train_again(self, name):
        """(result now, committed result) of a run of `restore`."""
        results = self.folder / "results"
        subprocess.run([ROOT / "experiments/run", "--only", name, "--jobs", "1", "--results",
                        results, "--work", self.folder / "work", "--programs", BUILD, "--programs",
                        ROOT / "build/safety"], check=True, capture_output=True, timeout=3600)
        return (read_result(results / f"{name}.json"),
                read_result(ROOT / f"experiments/results/{name}.json"))


if __name__ == "__main__":
    unittest.main()
