"""The lists of runs, experiments/runs/*.toml: reads them and refuses what is wrong with them.

    [[run]]
    name = "decay-stories260K"                     # of its result, results/NAME.json
    command = ["spectra", "decay", "--model", "{shared}/data/models/stories260K"]
    seconds = 1.5                                  # measured, on one core
    needs = ["NAME", ...]                          # optional: runs that come before
    gpu = true                                     # optional: it needs an NVIDIA GPU

The first word of a command is a program of experiments/programs.toml. {root} is replaced by the
repository, {shared} by the data beside it, {work} by a folder in which runs leave files for those
that need them. experiments/runs/quick/*.toml are the runs of `experiments/run --quick`."""

import dataclasses
import graphlib
import re
import tomllib

KEYS = {"name": str, "command": list, "seconds": (int, float), "needs": list, "gpu": bool}
REQUIRED = ("name", "command", "seconds")
PLACES = ("root", "shared", "work")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
PLACE = re.compile(r"\{(\w*)\}")
CORES = 2
# What all runs, and the quick ones without the builds, may take on CORES cores, in seconds.
BUDGET_S = 6 * 3600
QUICK_BUDGET_S = 4 * 60


class BadList(Exception):
    """A list that cannot be used; the message names the file, the run and what was expected."""


@dataclasses.dataclass(frozen=True)
class Run:
    """One call of a program, with a result of its own. `command` still has its placeholders."""

    name: str
    command: tuple
    seconds: float
    needs: tuple = ()
    gpu: bool = False
    origin: str = ""


def list_of_words(where, key, value):
    if not all(isinstance(word, str) and word for word in value):
        raise BadList(f"{where}: '{key}' must be a list of words")
    return tuple(value)


def parse_run(entry, origin):
    """One [[run]] of a list; `origin` is the name of the file."""
    where = f"{origin}: run {entry.get('name', '(without a name)')!r}"
    for key, value in entry.items():
        if key not in KEYS:
            raise BadList(f"{where}: unknown key '{key}'; expected {', '.join(KEYS)}")
        if not isinstance(value, KEYS[key]) or isinstance(value, bool) != (KEYS[key] is bool):
            raise BadList(f"{where}: '{key}' has the wrong type")
    for key in REQUIRED:
        if key not in entry:
            raise BadList(f"{where}: '{key}' is missing")
    if not NAME.fullmatch(entry["name"]):
        raise BadList(f"{where}: a name has letters, digits and . _ + - only")
    if not entry["seconds"] > 0:
        raise BadList(f"{where}: 'seconds' must be a measured time, above 0")
    command = list_of_words(where, "command", entry["command"])
    if not command:
        raise BadList(f"{where}: 'command' is empty")
    for place in PLACE.findall(" ".join(command)):
        if place not in PLACES:
            raise BadList(f"{where}: unknown place {{{place}}}; there are "
                          f"{', '.join('{' + known + '}' for known in PLACES)}")
    return Run(entry["name"], command, float(entry["seconds"]),
               list_of_words(where, "needs", entry.get("needs", [])), entry.get("gpu", False), origin)


def parse_list(path):
    """The runs of one file."""
    try:
        content = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadList(f"{path.name}: {error}") from error
    for key in content:
        if key != "run":
            raise BadList(f"{path.name}: unknown key '{key}'; expected tables [[run]] only")
    runs = content.get("run", [])
    if not isinstance(runs, list):
        raise BadList(f"{path.name}: expected tables [[run]]")
    return [parse_run(entry, path.name) for entry in runs]


def in_order(runs):
    """The runs by name, each after those that it needs."""
    for run in runs.values():
        for need in run.needs:
            if need not in runs:
                raise BadList(f"{run.origin}: run '{run.name}' needs '{need}', which does not exist")
    try:
        order = list(graphlib.TopologicalSorter({run.name: run.needs for run in runs.values()})
                     .static_order())
    except graphlib.CycleError as error:
        raise BadList(f"runs need each other: {' <- '.join(error.args[1])}") from error
    return {name: runs[name] for name in order}


def require_budget(runs, budget_s, what):
    total = sum(run.seconds for run in runs)
    if total > CORES * budget_s:
        raise BadList(f"{what} take {total / CORES / 60:.0f} minutes on {CORES} cores; at most "
                      f"{budget_s / 60:.0f} are allowed")


def read_lists(folder, quick=False):
    """All runs by name, each after those that it needs; `quick` decides what they may take. Throws
    BadList."""
    runs = {}
    for path in sorted(folder.glob("*.toml")):
        for run in parse_list(path):
            if run.name in runs:
                raise BadList(f"{path.name}: the name '{run.name}' is taken by a run of "
                              f"{runs[run.name].origin}")
            runs[run.name] = run
    if not runs:
        raise BadList(f"{folder}: expected lists of runs, *.toml")
    runs = in_order(runs)
    if quick:
        require_budget(runs.values(), QUICK_BUDGET_S, "the quick runs")
    else:
        require_budget(runs.values(), BUDGET_S, "all runs")
    return runs


def all_needs(run, runs):
    """The names of what comes before `run`, directly or not."""
    found = set()
    waiting = list(run.needs)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += runs[name].needs
    return found


def data_of(run, runs):
    """What `run`, or a run that it needs, reads from {shared}; empty if nothing."""
    return next((word for name in [run.name, *sorted(all_needs(run, runs))] for word in runs[name].command
                 if "{shared}" in word), "")


def part_of(runs, index, count):
    """Part `index` of `count`, from 1: every run is in exactly one, and the parts take about as long
    as each other."""
    load = [0.0] * count
    names = []
    for run in sorted(runs, key=lambda run: (-run.seconds, run.name)):
        least = load.index(min(load))
        load[least] += run.seconds
        if least == index - 1:
            names.append(run.name)
    return [run for run in runs if run.name in set(names)]
