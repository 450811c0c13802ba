"""Adds up JUnit files: one line per file, the skipped tests with their reasons, what --say gives, and a
closing line "N passed, N failed, N skipped". Exit status 1 if a test failed or a file holds no test."""

import argparse
import pathlib
import sys
import xml.etree.ElementTree as xml


def outcome(case):
    """'passed', 'failed' or 'skipped', as CTest and tools/check write them."""
    if case.find("failure") is not None or case.get("status") == "fail":
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def main(paths, said=()):
    total = {"passed": 0, "failed": 0, "skipped": 0}
    empty = False
    for path in paths:
        cases = [(case, outcome(case)) for case in xml.parse(path).getroot().iter("testcase")]
        counts = {kind: sum(1 for _, result in cases if result == kind) for kind in total}
        print(f"{pathlib.Path(path).stem:10}", ", ".join(f"{n} {kind}" for kind, n in counts.items()))
        for case, result in cases:
            if result != "passed":
                print(f"    {result}: {case.get('name')}")
        for kind in total:
            total[kind] += counts[kind]
        empty = empty or not cases
    if empty or not paths:
        print("a result file holds no test: something did not run")
    print(*said, ", ".join(f"{n} {kind}" for kind, n in total.items()), sep="\n")
    return 1 if total["failed"] or empty or not paths else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", metavar="FILE")
    parser.add_argument("--say", action="append", default=[], metavar="TEXT", help="a line before the last")
    arguments = parser.parse_args()
    sys.exit(main(arguments.paths, arguments.say))
