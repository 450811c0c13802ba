"""The committed figures are what the committed results give, and every result belongs to a listed run.

experiments/report --svg writes the figures; a result of another command than the list's is not drawn."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "experiments"))

from figures import chart  # noqa: E402
from figures.catalogue import figures_of  # noqa: E402
from figures.collection import Collection  # noqa: E402
from harness.lists import BadList  # noqa: E402

EXPERIMENTS = "experiments"


def check(root):
    folder = root / EXPERIMENTS
    if not (folder / "runs").is_dir():
        return []
    try:
        collection = Collection(folder / "runs", folder / "results")
    except BadList as error:
        return [f"{EXPERIMENTS}/runs/{error}"]
    problems = [f"{EXPERIMENTS}/results/{name}: belongs to no run of {EXPERIMENTS}/runs"
                for name in collection.orphans]
    expected = {f"{figure.name}.svg": chart.standalone(figure.panels)
                for figure in figures_of(collection) if figure.panels}
    svg = folder / "results/svg"
    found = {path.name: path.read_text() for path in svg.glob("*.svg")} if svg.is_dir() else {}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            problems.append(f"{EXPERIMENTS}/results/svg/{name}: is not what the results give; "
                            f"'{EXPERIMENTS}/report --svg' writes it")
    return problems
