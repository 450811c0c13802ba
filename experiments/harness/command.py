"""Runs the measurements that experiments/runs/*.toml lists and writes a result each, as JSON.

A run whose result exists with the same command is skipped, so what was stopped goes on where it
was. A run that fails is reported, and the others go on; then the exit status is 1. A run that
reads {shared}, the data beside the repository, is skipped where there is no such folder, and one
that needs a GPU where there is none."""

import argparse
import fnmatch
import os
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE))

from harness.execution import Execution  # noqa: E402
from harness.lists import CORES, BadList, part_of, read_lists  # noqa: E402
from harness.places import shared_folder  # noqa: E402
from harness.programs import Programs  # noqa: E402
from harness.results import is_current, read_result  # noqa: E402

ROOT = HERE.parent
BUILD = ROOT / "build/experiments"


def say(text):
    print(text, file=sys.stderr, flush=True)


def part(text):
    """I/N as (I, N)."""
    index, slash, count = text.partition("/")
    if slash and index.isdigit() and count.isdigit() and 1 <= int(index) <= int(count):
        return int(index), int(count)
    raise argparse.ArgumentTypeError(f"expected I/N with 1 <= I <= N, not '{text}'")


def jobs(text):
    if text.isdigit() and int(text) >= 1:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a number from 1, not '{text}'")


def arguments():
    parser = argparse.ArgumentParser(
        prog="run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="show the runs and their state, run nothing")
    parser.add_argument("--quick", action="store_true",
                        help="instead the runs of experiments/runs/quick, in build/experiments/quick, and "
                        "the page of them")
    parser.add_argument("--only", metavar="PATTERN", help="runs whose names match, such as 'decay-*'")
    parser.add_argument("--part", type=part, metavar="I/N",
                        help="the I-th of N parts, for a job array; the parts share a results folder or "
                        "their results are copied together")
    parser.add_argument("--jobs", type=jobs, default=os.cpu_count(), metavar="N",
                        help="runs at once (default: the number of cores)")
    parser.add_argument("--results", type=pathlib.Path, metavar="DIR",
                        help="where results are (default: experiments/results); an empty folder redoes all")
    parser.add_argument("--work", type=pathlib.Path, metavar="DIR",
                        help="files that runs leave for others (default: build/experiments/work)")
    parser.add_argument("--runs", type=pathlib.Path, metavar="DIR",
                        help="the folder of lists (default: experiments/runs, or quick in it)")
    parser.add_argument("--programs", action="append", default=[], metavar="DIR",
                        help="take programs from here and build nothing")
    parsed = parser.parse_args()
    parsed.runs = parsed.runs or HERE / ("runs/quick" if parsed.quick else "runs")
    parsed.results = parsed.results or (BUILD / "quick/results" if parsed.quick else HERE / "results")
    parsed.work = parsed.work or BUILD / ("quick/work" if parsed.quick else "work")
    return parsed


def selection(runs, options):
    """The runs that the options choose."""
    chosen = list(runs.values())
    if options.only:
        chosen = [run for run in chosen if fnmatch.fnmatchcase(run.name, options.only)]
        if not chosen:
            raise BadList(f"no run's name matches '{options.only}'; --list shows them")
    return part_of(chosen, *options.part) if options.part else chosen


def print_table(runs, everything, options):
    width = max([len(run.name) for run in runs] + [4])
    print(f"{'run':<{width}}  {'listed s':>8}  {'cpu s':>8}  state")
    for run in runs:
        path = options.results / f"{run.name}.json"
        found = read_result(path)
        took = f"{found['processor_s']:8.1f}" if found and "processor_s" in found else " " * 8
        state = "missing" if found is None else "out of date"
        state = "done" if is_current(path, run, everything) else state
        print(f"{run.name:<{width}}  {run.seconds:8.1f}  {took}  {state}")
    total = sum(run.seconds for run in runs)
    print(f"{len(runs)} runs, {total:.0f} s: {total / CORES / 60:.1f} minutes on {CORES} cores")


def execute(runs, chosen, options):
    places = {"root": ROOT, "shared": shared_folder(ROOT), "work": options.work.resolve()}
    programs = Programs(ROOT, HERE / "programs.toml", options.programs)
    execution = Execution(runs, programs, places, options.results, options.jobs, say)
    execution.ask_for(chosen)
    began = time.monotonic()
    programs.build({run.command[0] for run in execution.waiting.values()}, say)
    built = time.monotonic()
    succeeded = execution.execute()
    say(f"{len(execution.finished)} runs done, {len(execution.failed)} failed, "
        f"{len(execution.skipped)} skipped, results in {options.results}; "
        f"building took {(built - began) / 60:.1f} min, the runs {(time.monotonic() - built) / 60:.1f} min")
    for name, why in execution.failed.items():
        say(f"  {name}: {why}")
    return succeeded


def write_page(options):
    """Of the quick results."""
    out = BUILD / "quick/report.html"
    command = [HERE / "report", "--quick", "--runs", options.runs, "--results", options.results,
               "--out", out]
    return subprocess.run([sys.executable, *map(str, command)], cwd=ROOT).returncode == 0


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        runs = read_lists(options.runs, options.quick)
        chosen = selection(runs, options)
    except BadList as error:
        say(f"run: {error}")
        return 2
    if options.list:
        print_table(chosen, runs, options)
        return 0
    try:
        succeeded = execute(runs, chosen, options)
    except ValueError as error:
        say(f"run: {error}")
        return 2
    if options.quick and (HERE / "report").is_file() and not options.part:
        succeeded = write_page(options) and succeeded
    return 0 if succeeded else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
