"""The newest released section of CHANGELOG.md is the project's version, and sections are dated and in
order, the newest first; Unreleased, if there is one, stands before them."""

import datetime
import re

VERSION = re.compile(r"^project\(slip VERSION ([0-9]+\.[0-9]+\.[0-9]+) ", re.MULTILINE)
HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
RELEASE = re.compile(r"([0-9]+)\.([0-9]+)\.([0-9]+) \(([0-9]{4}-[0-9]{2}-[0-9]{2})\)")


def is_date(text):
    try:
        return bool(datetime.date.fromisoformat(text))
    except ValueError:
        return False


def released(headings):
    """[(version, date)] of the headings that are releases."""
    found = [RELEASE.fullmatch(heading) for heading in headings]
    return [(tuple(map(int, match.groups()[:3])), match[4]) for match in found if match]


def check(root):
    version = VERSION.search((root / "CMakeLists.txt").read_text())
    if not version:
        return ["CMakeLists.txt: expected project(slip VERSION X.Y.Z ...)"]
    headings = HEADING.findall((root / "CHANGELOG.md").read_text())
    releases = released(headings)
    problems = [f"CHANGELOG.md: section '{heading}', expected 'X.Y.Z (YYYY-MM-DD)', or Unreleased first"
                for i, heading in enumerate(headings)
                if not RELEASE.fullmatch(heading) and (heading, i) != ("Unreleased", 0)]
    problems += [f"CHANGELOG.md: {date} is no date" for _, date in releases if not is_date(date)]
    for (newer, later), (older, earlier) in zip(releases, releases[1:]):
        if newer <= older or later < earlier:
            problems.append(f"CHANGELOG.md: {'.'.join(map(str, newer))} ({later}) stands before "
                            f"{'.'.join(map(str, older))} ({earlier}), expected the newest first")
    if releases and ".".join(map(str, releases[0][0])) != version[1]:
        problems.append(f"CHANGELOG.md: the newest release is {'.'.join(map(str, releases[0][0]))}, "
                        f"CMakeLists.txt says {version[1]}")
    return problems
