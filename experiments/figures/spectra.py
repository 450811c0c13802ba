"""Figures from checkpoints alone: decay of singular values, block bypass, removal of components."""

from figures.chart import Axis, Panel, Point, Series
from figures.figure import Figure, number
from figures.statistics import mean


def decay_panel(result):
    series = tuple(Series(each["name"], tuple(Point(j + 1, y) for j, y in enumerate(each["mean"])))
                   for each in result["result"]["layer_types"])
    return Panel(result["model"]["name"], Axis("index j of the singular value"),
                 Axis("σ_j / σ_1, mean over blocks"), series)


def energy_rank(values, share):
    """The least number of components that hold this share of the squares."""
    total = sum(value * value for value in values)
    held = 0.0
    for count, value in enumerate(values, 1):
        held += value * value
        if held >= share * total:
            return count
    return len(values)


def decay(collection):
    found = collection.of("decay")
    rows = [(result["model"]["name"], each["name"], f"{each['m']} × {each['n']}",
             number(each["mean"][len(each["mean"]) // 10]),
             f"{number(each['least'][1])} to {number(each['most'][1])}",
             str(energy_rank(each["mean"], 0.5)), str(energy_rank(each["mean"], 0.9)))
            for _, result in found for each in result["result"]["layer_types"]]
    return Figure(
        "decay", "Singular values by layer type",
        "The faster a line falls, the more of a matrix a few components hold, and the more Charlie takes "
        "away by keeping them. The table gives the number of components that hold half and nine tenths of "
        "the squared singular values: where that is far above the rank, most of the matrix stays with David.",
        "The same curves for GPT-2 Small, Phi-2 and Llama-2-7B, which fall quickly (figure “Singular values "
        "of the weight matrices of each model”).",
        tuple(decay_panel(result) for _, result in found),
        ("model", "layer type", "m × n", "σ at a tenth of the ranks", "σ_2 / σ_1 over the blocks",
         "components for 50 %", "for 90 %"),
        tuple(rows), tuple(collection.missing(["decay-*"])), tuple(name for name, _ in found))


def bypass_panel(result):
    measured = result["result"]
    series = tuple(
        Series(f"{window['blocks']} block{'s' if window['blocks'] > 1 else ''}",
               tuple(Point(at["center"], at["perplexity"]) for at in window["positions"]))
        for window in measured["windows"])
    blocks = len(measured["windows"][0]["positions"])
    names = tuple(str(block + 1) for block in range(blocks))
    return Panel(result["model"]["name"], Axis("block in the middle of the window", names=names),
                 Axis("perplexity", log=True), series, (("whole model", measured["baseline"]),))


def bypass(collection):
    found = collection.of("bypass")
    rows = [(result["model"]["name"], str(window["blocks"]), str(at["center"] + 1),
             number(at["perplexity"]), number(result["result"]["baseline"]),
             number(result["settings"]["tokens"]))
            for _, result in found for window in result["result"]["windows"]
            for at in window["positions"]]
    return Figure(
        "bypass", "Perplexity without a window of blocks",
        "Blocks of the window add nothing to the residual stream. The higher a point, the more the model "
        "loses without these blocks, and the more worth keeping they are. A window of 7 blocks fits a model "
        "of 12 blocks in six places, a model of 5 or 6 not at all.",
        "The first blocks matter most, the last ones slightly less, those in the middle least (figure “Block "
        "Bypass”); hence the plans ±5 and ±10 of its table.",
        tuple(bypass_panel(result) for _, result in found),
        ("model", "blocks left out", "middle", "perplexity", "of the whole model", "tokens"),
        tuple(rows), tuple(collection.missing(["bypass-*"])), tuple(name for name, _ in found))


def removal_panel(result):
    series = tuple(
        Series(each["name"], tuple(Point(point["components"], mean(point["perplexities"]))
                                   for point in each["points"]))
        for each in result["result"]["layer_types"])
    return Panel(result["model"]["name"], Axis("components removed, k", log=True),
                 Axis("perplexity, mean over blocks", log=True), series,
                 (("whole model", result["result"]["baseline"]),))


def removal(collection):
    found = collection.of("removal")
    rows = [(result["model"]["name"], each["name"], str(point["components"]),
             number(mean(point["perplexities"])),
             f"{number(min(point['perplexities']))} to {number(max(point['perplexities']))}",
             number(result["result"]["baseline"]), number(result["settings"]["tokens"]))
            for _, result in found for each in result["result"]["layer_types"]
            for point in each["points"]]
    return Figure(
        "removal", "Perplexity of David's share, by layer type and rank",
        "One matrix of one block loses its k largest singular components; everything else is whole. The mean "
        "over the blocks says which layer type protects most at this rank; the table has the least and the "
        "greatest perplexity over them too. No weight is rounded here.",
        "The same for GPT-2 Small, Phi-2 and Llama-2-7B: the MLP's first matrix is best for the first two, "
        "W_k for Llama-2-7B, and “usually k = 10 is enough” (figure “Decomposition Usefulness”).",
        tuple(removal_panel(result) for _, result in found),
        ("model", "layer type", "k", "perplexity, mean over blocks", "over the blocks",
         "of the whole model", "tokens"),
        tuple(rows), tuple(collection.missing(["removal-*"])), tuple(name for name, _ in found))
