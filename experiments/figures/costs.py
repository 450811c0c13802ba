"""Figures of what protection costs Charlie, alone and against what it protects."""

import dataclasses
import pathlib

from figures.chart import Axis, Panel, Point, Series
from figures.figure import Figure, number
from figures.restoration import ATTACKERS, TOLD, attacks, with_knowledge
from figures.statistics import mean

HIDDEN_LABEL = "the hidden split, its best attacker"
# (what varies, its axis, which figure of a point, its axis, drawn on a logarithmic scale)
VIEWS = (
    ("rank", "rank k", lambda point: point["epsilon_online"], "ε_online"),
    ("tokens", "tokens of the sequence", lambda point: point["epsilon_online_with_attention"],
     "ε_online, attention included"),
)


def varies(result):
    """The setting that the points of a run differ in, or None."""
    points = result["result"]["points"]
    for key in ("rank", "tokens"):
        if len({point.get(key) for point in points}) > 1:
            return key
    return None


def panel(found, view):
    key, x_label, value, y_label = view
    series = tuple(Series(result["model"]["name"], tuple(
        Point(point[key], value(point)) for point in sorted(result["result"]["points"],
                                                            key=lambda point: point[key])))
        for result in found if varies(result) == key)
    return Panel(y_label, Axis(x_label, log=True), Axis("share of the multiplications", log=True), series,
                 (("the whole model", 1.0),))


def costs(collection):
    found = [result for _, result in collection.of("costs")]
    panels = tuple(panel(found, view) for view in VIEWS if any(varies(result) == view[0] for result in found))
    rows = tuple(
        (result["model"]["name"], number(point["rank"]) if "rank" in point else point.get("set", "plan"),
         number(point["tokens"]), number(point["epsilon_online"]),
         number(point["epsilon_total"]), number(point["attention_share"]))
        for result in found for point in result["result"]["points"])
    return Figure(
        "costs", "What Charlie computes, by rank and length",
        "Charlie's multiplications in parts of the model's linear ones, counted and not timed. Above 1 he "
        "would do better to run the model himself. In total he also computes every cancellation, of the "
        "paper's split as many multiplications as the model has. Attention is his in any case and is counted "
        "apart. The table also has the hidden split, whose masks are the lattice's.",
        "ε = 1.54 % online for one plan of Llama-2-7B without integrity; cancellations, the check and "
        "attention are not counted (appendix “Compute & latency analysis details”).",
        panels, ("model", "k", "tokens", "ε_online", "ε_total", "attention"),
        rows, tuple(collection.missing(["costs-*"])))


def plan_of(result):
    """The name of the plan's file in a run's command, without its ending; empty if it has none."""
    words = result["command"]
    return pathlib.PurePath(words[words.index("--plan") + 1]).stem if "--plan" in words[:-1] else ""


def cost_of_plans(collection):
    """(model, rank, "hidden" or name of a plan, blocks) -> epsilon_online."""
    found = {}
    for _, result in collection.of("costs"):
        for point in result["result"]["points"]:
            if varies(result) in ("rank", None):
                split = point.get("set") or point.get("rank", plan_of(result))
                key = (result["model"]["name"], split, str(point.get("blocks") or ""))
                found.setdefault(key, point["epsilon_online"])
    return found


def cost_of(target, of_plans):
    """epsilon_online of a plan of LSC or of the hidden split, or None."""
    split = "hidden" if target.strategy == "hidden" else target.planned or target.rank
    return of_plans.get((target.model, split, target.blocks))


def best_attacks(collection):
    """By plan: the lowest mean perplexity of any attacker with public labels, and the model's own; and
    by model and tokens read the mean of the random starts. A plan that some of the four attackers have not
    tried is left out: its best attacker is not known."""
    best, random_starts, tried = {}, {}, {}
    for attack in attacks(collection):
        if attack.labels != "public" or attack.attacker == TOLD:
            continue
        restored = mean(list(attack.restored.values()))
        # Whichever norms an attacker gives the rows of the hidden half, it is one split.
        strategy = "hidden" if attack.target.strategy == "hidden-small" else attack.target.strategy
        target = dataclasses.replace(attack.target, strategy=strategy)
        tried.setdefault(target, set()).add(attack.attacker)
        if attack.attacker == "random-start":
            key = (attack.target.model, attack.target.tokens)
            random_starts.setdefault(key, []).append(restored / attack.original)
        elif target not in best or restored < best[target][0]:
            best[target] = (restored, attack.original, attack.label())
    needed = set(ATTACKERS) - {"random-start"}
    return ({target: found for target, found in best.items() if needed <= tried[target]},
            {key: mean(values) for key, values in random_starts.items()})


def tradeoff(collection):
    of_plans = cost_of_plans(collection)
    best, random_starts = best_attacks(collection)
    points, rows, unknown = {}, [], []
    for target, (restored, original, attacker) in best.items():
        if target.strategy not in ("lsc", "hidden"):
            continue
        cost = cost_of(target, of_plans)
        if cost is None:
            unknown.append(f"the cost of {target.model}, {target.plan()}")
            continue
        described = (target.model, target.known, target.tokens)
        label = "planned ranks" if target.planned else "a plan, its best attacker"
        if target.strategy == "hidden":
            label = HIDDEN_LABEL
        points.setdefault(described, {}).setdefault(label, []).append(Point(cost, restored / original))
        rows.append((target.model, target.plan(), target.known, attacker, number(target.tokens),
                     number(restored),
                     number(restored / original), number(cost)))
    panels = tuple(
        Panel(with_knowledge(model, known, tokens), Axis("ε_online", log=True),
              Axis("restored / original", log=True),
              tuple(Series(label, tuple(sorted(found[label], key=lambda point: point.x)), joined=False)
                    for label in sorted(found)),
              (("all of the model", 1.0),) + ((("random start", random_starts[model, tokens]),)
                                              if (model, tokens) in random_starts else ()))
        for (model, known, tokens), found in points.items() if set(found) != {HIDDEN_LABEL})
    return Figure(
        "tradeoff", "Leakage against cost, a point per plan",
        "To the left a plan is cheap for Charlie; upwards its best attacker is worse off. A plan that is "
        "safe and efficient would be at the top left: at the height of the random start, far "
        "below ε_online = 1. The hidden split is cheap for large models only: Charlie's work per row of a "
        "matrix hardly grows with the row's length.",
        "Efficiency and safety are shown for different plans: 1.54 % for k = 50, while only 92 to 97.5 % "
        "offload, with k = 200, are called safe.",
        panels, ("model", "plan", "David also has", "best attacker", "tokens read", "restored",
                 "restored / original", "ε_online"),
        tuple(rows), (*collection.missing(["costs-*-rank", "restoration-*"]), *unknown))
