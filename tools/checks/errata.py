"""spec/errata.md and its tests: every row names a test E_N_... that exists, and every such test is
named by its row."""

import re

from checks import tree

CHAPTER = "spec/errata.md"
ROW = re.compile(r"^## E-([0-9]+) (.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"\bE_([0-9]+)_\w+")


def check(root):
    chapter = root / CHAPTER
    rows = dict(ROW.findall(chapter.read_text())) if chapter.is_file() else {}
    if not rows:
        return [f"{CHAPTER}: has no row '## E-N title'"]
    existing = set()
    for path in tree.files(root, ("_test.cpp",), "property_tests"):
        existing |= {match[0] for match in NAME.finditer(path.read_text())}
    problems = []
    for number, text in rows.items():
        named = {match[0] for match in NAME.finditer(text) if match[1] == number}
        if not named:
            problems.append(f"{CHAPTER}: E-{number} names no test E_{number}_...")
        for name in sorted(named - existing):
            problems.append(f"{CHAPTER}: E-{number} names {name}, which does not exist")
        existing -= named
    for name in sorted(existing):
        problems.append(f"{CHAPTER}: no row of that number names {name}")
    return problems
