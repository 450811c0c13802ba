"""The table of accuracy in spec/hiding.md is what the committed results give."""

import json

RESULTS = "experiments/measure/rounding.json"
CHAPTER = "spec/hiding.md"


def row(found):
    """As the table has it: both means at every width."""
    means = (f"{found['simulated'][width]['mean']:.3f}, {found['activations'][width]['mean']:.3f}"
             for width in found["simulated"])
    return f"| {found['model']} | {found['integer']:+.3f} | {' | '.join(means)} |"


def check(root):
    if not (root / RESULTS).is_file():
        return []
    lines = (root / CHAPTER).read_text().splitlines()
    return [f"{CHAPTER}: does not say what {RESULTS} has of {found['model']}: expected '{row(found)}'"
            for found in json.loads((root / RESULTS).read_text()) if row(found) not in lines]
