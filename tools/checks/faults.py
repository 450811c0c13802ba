"""The tables of faults in the specification and the tests that they name: every row names one, every
named test exists, and no test of a *faults_test is missing from the tables."""

import re

from checks import tree

CHAPTERS = ["spec/threat-model.md", "spec/serving.md"]
SECTION = re.compile(r"^## Faults$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"`(\w+_test\.\w+\.\w+)`")
CPP = re.compile(r"^(?:TEST|TEST_F|PROFILE_TEST|RC_GTEST_PROP)\((\w+),\s*(\w+)", re.MULTILINE)
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


def check_chapter(root, chapter, existing):
    """Returns what is wrong with its table, and the tests that the table names."""
    path = root / chapter
    section = SECTION.search(path.read_text()) if path.is_file() else None
    if section is None:
        return [f"{chapter}: has no section 'Faults'"], set()
    problems, named = [], set()
    for row in re.findall(r"^\| (.*) \|$", section[1], re.MULTILINE)[1:]:
        fault, tests = row.split(" | ")[0], NAME.findall(row)
        if not tests:
            problems.append(f"{chapter}: '{fault}' names no test")
        for name in tests:
            if name not in existing:
                problems.append(f"{chapter}: '{fault}' names {name}, which does not exist")
        named |= set(tests)
    return problems, named


def check(root):
    existing = set()
    for path in tree.files(root, ("_test.cpp", "_test.py"), "property_tests"):
        existing |= tests_of(path)
    problems, named = [], set()
    for chapter in CHAPTERS:
        found, tests = check_chapter(root, chapter, existing)
        problems += found
        named |= tests
    for name in sorted(existing - named):
        if name.split(".")[0].endswith("faults_test"):
            problems.append(f"no table of faults names {name}: expected a row under 'Faults' of "
                            f"{' or '.join(CHAPTERS)}")
    return problems
