"""Figures of accuracy: tasks for a model whole and split, and two ways to split a convolution."""

from figures.chart import Axis, Panel, Point, Series
from figures.figure import Figure, number
from figures.statistics import interval

ENGINES = {"float": "float", "unsplit": "integer model", "hybrid": "hybrid", "share": "David's share"}


def percent(value):
    return number(100 * value, 3) + " %"


def ran(settings):
    """What ran, for a legend."""
    engine = settings.get("label") or ENGINES.get(settings["engine"], settings["engine"])
    rank = f", k = {settings['rank']}" if "rank" in settings else ""
    return engine + rank


def point(x, found):
    """One run with its own interval, or several draws of items by Student's t."""
    if len(found) == 1:
        result = found[0]["result"]
        return Point(x, 100 * result["accuracy"], *(100 * end for end in result["interval"]))
    return Point(x, *interval([100 * each["result"]["accuracy"] for each in found]))


def task_panel(model, found):
    tasks = list(dict.fromkeys(result["settings"]["task"] for result in found))
    labels = list(dict.fromkeys(ran(result["settings"]) for result in found))
    groups = {}
    for result in found:
        groups.setdefault((ran(result["settings"]), result["settings"]["task"]), []).append(result)
    series = [Series(label, tuple(point(tasks.index(task), group) for (own, task), group in groups.items()
                                  if own == label), joined=False) for label in labels]
    chance = {result["settings"]["task"]: result["result"].get("chance") for result in found}
    series.append(Series("chance", tuple(Point(tasks.index(task), 100 * value)
                                         for task, value in chance.items() if value is not None),
                         joined=False))
    return Panel(model, Axis("task", names=tuple(tasks)), Axis("accuracy, %"), tuple(series))


def tasks(collection):
    found = [result for _, result in collection.of("tasks")]
    models = dict.fromkeys(result["model"]["name"] for result in found)
    rows = tuple((result["model"]["name"], result["settings"]["task"], ran(result["settings"]),
                  number(result["result"]["items"]), percent(result["result"]["accuracy"]),
                  " to ".join(percent(end) for end in result["result"]["interval"]),
                  percent(result["result"]["chance"]) if "chance" in result["result"] else "")
                 for result in found)
    return Figure(
        "tasks", "Accuracy on tasks",
        "The model in float, under the protocol, David's share alone, and restored. Intervals are Wilson's, "
        "over the items, or over draws of items where there are several. Where the model itself is near "
        "chance a task says nothing about its split. MMLU is not reproduced, and no attacker trains the "
        "convolutional network.",
        "HellaSwag, ARC and MMLU for Phi-2 and Llama-2-7B after fine-tuning David's share (table “Benchmark "
        "results”).",
        tuple(task_panel(model, [result for result in found if result["model"]["name"] == model])
              for model in models),
        ("model", "task", "what ran", "items", "accuracy", "95 % interval", "chance"), rows,
        tuple(collection.missing(["tasks-*"])))


def convolution_panel(result, layers):
    points = [point for point in result["result"]["points"] if point["layers"] == layers]
    series = tuple(Series(f"{matrix} matrix", tuple(
        Point(100 * point["share"], 100 * point["accuracy"], *(100 * end for end in point["interval"]))
        for point in points if point["matrix"] == matrix))
        for matrix in dict.fromkeys(point["matrix"] for point in points))
    return Panel(f"{result['model']['name']}, {layers} split", Axis("components that Charlie keeps, %"),
                 Axis("accuracy of David's share, %"), series)


def convolution(collection):
    found = [result for _, result in collection.of("convolution-split")]
    rows = tuple((result["model"]["name"], point["layers"], point["matrix"], percent(point["share"]),
                  ", ".join(map(str, point["ranks"])), percent(point["accuracy"]),
                  " to ".join(percent(end) for end in point["interval"]), number(point["items"]),
                  number(point["charlie_multiplications"]))
                 for result in found for point in result["result"]["points"])
    return Figure(
        "convolution", "Splitting a convolution: dense or kernel matrix",
        "The dense matrix of a convolution is what the paper splits; the product splits the kernel matrix, "
        "which is smaller by far. Drawn is what David's share still recognises when the same share of the "
        "components is kept. The table has what each costs Charlie.",
        "Only the dense form, without a measurement (appendix “Representing a Convolutional Layer”).",
        tuple(convolution_panel(result, layers) for result in found
              for layers in dict.fromkeys(point["layers"] for point in result["result"]["points"])),
        ("model", "layers", "matrix", "kept", "ranks", "accuracy of David's share", "95 % interval", "images",
         "Charlie's multiplications"),
        rows, tuple(collection.missing(["convolution-*"])))
