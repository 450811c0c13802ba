"""The table of mutants fits the tree: what each changes occurs exactly once, and the test that refuses
it exists."""

import re
import tomllib

TABLE = "property_tests/mutants/mutants.toml"
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


def check(root):
    if not (root / TABLE).is_file():
        return [f"{TABLE}: is missing"]
    mutants = tomllib.loads((root / TABLE).read_text()).get("mutant", [])
    return [f"{TABLE}: '{mutant.get('name', 'a mutant without a name')}': {problem}"
            for mutant in mutants for problem in problems_of(mutant, root)]
