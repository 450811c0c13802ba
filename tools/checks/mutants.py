"""The tables of mutants fit the tree: each stands in that of its room, what it changes occurs exactly once,
and the test that refuses it exists."""

import re
import tomllib

FOLDER = "property_tests/mutants"
KEYS = {"name", "file", "before", "after", "program", "test"}
OPTIONAL = {"environment", "processor", "builds", "also"}
CHANGE = {"file", "before", "after"}


def problems_of_change(change, root):
    path = root / change["file"]
    count = path.read_text().count(change["before"]) if path.is_file() else 0
    if count != 1:
        yield f"'before' occurs {count} times in {change['file']}: expected once"
    if change["before"] == change["after"]:
        yield "changes nothing"


def problems_of(mutant, root):
    if not KEYS <= mutant.keys() <= KEYS | OPTIONAL:
        return [f"expected {', '.join(sorted(KEYS))}, and at most {', '.join(sorted(OPTIONAL))}"]
    also = mutant.get("also", [])
    if any(change.keys() != CHANGE for change in also):
        return [f"'also': expected {', '.join(sorted(CHANGE))} in each entry"]
    problems = [problem for change in [mutant, *also]
                for problem in problems_of_change(change, root)]
    sources = list((root / "property_tests").glob(f"**/{mutant['program']}.*"))
    test = mutant["test"].split(".")[-1].split("/")[0].rstrip("*")
    if not any(re.search(rf"\b{re.escape(test)}", source.read_text()) for source in sources):
        problems.append(f"{mutant['program']} has no test {mutant['test']}")
    return problems


def table_of(file):
    """The table for changes of `file`: that of its room, or of its folder outside optimized/."""
    folder, *rest = file.split("/")
    return {"optimized": rest[0] if rest else "", "include": "api"}.get(folder, folder) + ".toml"


def read_tables(root):
    """(table, mutant) of each."""
    return [(path.name, mutant) for path in sorted((root / FOLDER).glob("*.toml"))
            for mutant in tomllib.loads(path.read_text())["mutant"]]


def check(root):
    found = read_tables(root)
    problems = [] if found else [f"{FOLDER}: has no mutant"]
    for table, mutant in found:
        expected = table_of(mutant.get("file", ""))
        faults = problems_of(mutant, root) + [f"expected in {expected}"] * (table != expected)
        problems += [f"{FOLDER}/{table}: '{mutant.get('name', 'a mutant without a name')}': {fault}"
                     for fault in faults]
    return problems
