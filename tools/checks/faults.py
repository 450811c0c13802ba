"""The table of faults in spec/threat-model.md and the tests that it names: every row names one,
every named test exists, and no test of a *faults_test.py is missing from the table."""

import re

from checks import tree

CHAPTER = "spec/threat-model.md"
SECTION = re.compile(r"^## Faults$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"`(\w+_test\.\w+\.\w+)`")
CPP = re.compile(r"^(?:TEST|RC_GTEST_PROP)\((\w+),\s*(\w+)", re.MULTILINE)
PYTHON = re.compile(r"^class (\w+)|^    def (test_\w+)", re.MULTILINE)


def tests_of(path):
    """The names STEM.SUITE.TEST of a test's source."""
    text = path.read_text()
    if path.suffix == ".cpp":
        return {f"{path.stem}.{suite}.{name}" for suite, name in CPP.findall(text)}
    names, suite = set(), ""
    for class_name, test in PYTHON.findall(text):
        suite = class_name or suite
        if test:
            names.add(f"{path.stem}.{suite}.{test}")
    return names


def check(root):
    chapter = root / CHAPTER
    section = SECTION.search(chapter.read_text()) if chapter.is_file() else None
    if section is None:
        return [f"{CHAPTER}: has no section 'Faults'"]
    existing = set()
    for path in tree.files(root, ("_test.cpp", "_test.py"), "property_tests"):
        existing |= tests_of(path)
    problems, named = [], set()
    for row in re.findall(r"^\| (.*) \|$", section[1], re.MULTILINE)[1:]:
        fault, tests = row.split(" | ")[0], NAME.findall(row)
        if not tests:
            problems.append(f"{CHAPTER}: '{fault}' names no test")
        for name in tests:
            if name not in existing:
                problems.append(f"{CHAPTER}: '{fault}' names {name}, which does not exist")
        named |= set(tests)
    for name in sorted(existing - named):
        if name.split(".")[0].endswith("faults_test"):
            problems.append(f"{CHAPTER}: no fault names {name}")
    return problems
