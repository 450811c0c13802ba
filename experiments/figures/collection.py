"""The results that figures are made from: those of listed runs that are up to date."""

import fnmatch
import json

from harness.lists import data_of, read_lists
from harness.results import is_current, read_result


class Collection:
    """`results` by the runs' names, in the order of the lists; `runs` as listed; `skipped`, those without a
    result that read `shared`, a folder that is not there."""

    def __init__(self, runs_folder, results_folder, quick=False, shared=None):
        self.quick = quick
        self.runs = read_lists(runs_folder, quick)
        self.results, self.orphans = {}, []
        for name, run in self.runs.items():
            path = results_folder / f"{name}.json"
            if is_current(path, run, self.runs):
                self.results[name] = read_result(path)
        for path in sorted(results_folder.glob("*.json")):
            if path.stem not in self.runs:
                self.orphans.append(path.name)

        here = shared is None or shared.is_dir()
        self.skipped = {name for name, run in self.runs.items()
                        if not here and name not in self.results and data_of(run, self.runs)}

    def of(self, experiment):
        """The results of one experiment, as (run's name, result)."""
        return [(name, result) for name, result in self.results.items() if result["experiment"] == experiment]

    def missing(self, patterns):
        """Listed runs with such names that have no result, or one of another command."""
        return [name for name in self.runs if name not in self.results
                and any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


def by_seed(results, ignore=()):
    """[(settings, {seed: result})] of runs that differ in nothing but the seed, and what is ignored."""
    groups = {}
    for _, result in results:
        settings = {key: value for key, value in result["settings"].items()
                    if key not in ("seed", *ignore)}
        key = json.dumps([result["model"]["name"], settings], sort_keys=True)
        groups.setdefault(key, (result["model"], settings, {}))[2][result.get("seed")] = result["result"]
    return list(groups.values())
