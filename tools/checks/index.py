"""The table of spec/index.md that leads from the paper to the clauses: every clause stands in it, and
every clause in it exists."""

import re

from checks.clauses import read_clauses

TABLE = "## From the paper to the clauses"
RANGE = re.compile(r"\b([A-Z]+)-([0-9]+) to \1-([0-9]+)\b")
CLAUSE = re.compile(r"\b([A-Z]{2,}-[0-9]+)\b")


def check(root):
    chapter = root / "spec/index.md"
    text = chapter.read_text() if chapter.exists() else ""
    if TABLE not in text:
        return [f"spec/index.md: expected the heading '{TABLE}'"]
    rows = [line for line in text.split(TABLE)[1].splitlines() if line.startswith("| ")]
    table = "\n".join(row.rsplit("|", 2)[1] for row in rows)
    named = set(CLAUSE.findall(table))
    for family, first, last in RANGE.findall(table):
        named |= {f"{family}-{number}" for number in range(int(first), int(last) + 1)}
    clauses = read_clauses(root, [])
    return ([f"spec/index.md: {clause} of {clauses[clause][2]} stands in no row of the table"
             for clause in sorted(set(clauses) - named)] +
            [f"spec/index.md: the table names {clause}, which is no clause"
             for clause in sorted(named - set(clauses))])
