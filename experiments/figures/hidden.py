"""What David's half of the hidden split is worth to attackers, against uniform residues in its place."""

from figures.chart import Axis, Panel, Series
from figures.figure import Figure, number, with_interval
from figures.restoration import ATTACKERS, HIDDEN, UNIFORM, attacks, gather, order, point
from figures.statistics import interval, mean


def labels_of(attack):
    return "public text" if attack.labels == "public" else attack.labels


def of_hidden(collection):
    return [attack for attack in attacks(collection) if attack.target.strategy in HIDDEN]


def found_by(group, strategy, attacker):
    """The attack of that kind in a group, or None."""
    return next((attack for attack in group
                 if (attack.target.strategy, attack.attacker) == (strategy, attacker)), None)


def difference(attack, other):
    """(mean, low, high) of attack less other, seed by seed; None without a seed that both have."""
    if attack is None or other is None:
        return None
    seeds = sorted(attack.restored.keys() & other.restored.keys())
    return interval([attack.restored[seed] - other.restored[seed] for seed in seeds]) if seeds else None


def groups_of(collection):
    """(model, labels, tokens read) -> the attacks on either kind of share."""
    return gather(of_hidden(collection),
                  lambda attack: (attack.target.model, labels_of(attack), attack.target.tokens))


def panel(title, group):
    names = order({attack.attacker for attack in group} - {"random-start"}, ATTACKERS)
    series = []
    for strategy, label in HIDDEN.items():
        points = [point(x, found.restored.values()) for x, name in enumerate(names)
                  if (found := found_by(group, strategy, name)) is not None]
        series.append(Series(label, tuple(points), joined=False))
    start = found_by(group, "hidden", "random-start")
    references = [("the model itself", group[0].original)]
    if start is not None:
        references.append(("random start", mean(list(start.restored.values()))))
    return Panel(title, Axis("attacker", names=tuple(ATTACKERS.get(name, name) for name in names)),
                 Axis("perplexity", log=True), tuple(series), tuple(references))


def rows_of(described, group):
    """A row per attacker from either kind of David's half, and the random start, which uses none."""
    model, labels, tokens = described
    start = found_by(group, "hidden", "random-start")
    rows = []
    for attack in group:
        strategy, is_start = attack.target.strategy, attack is start
        if strategy not in UNIFORM:
            continue
        uniform = None if is_start else found_by(group, UNIFORM[strategy], attack.attacker)
        differences = (difference(attack, uniform), None if is_start else difference(attack, start))
        rows.append((model, labels, "" if is_start else HIDDEN[strategy],
                     ATTACKERS.get(attack.attacker, attack.attacker), number(tokens),
                     with_interval(*interval(list(attack.restored.values()))),
                     *("" if each is None else with_interval(*each) for each in differences),
                     ", ".join(map(str, sorted(attack.restored)))))
    return rows


def hidden(collection):
    groups = groups_of(collection)
    return Figure(
        "hidden", "What attackers restore from David's half of the hidden split",
        "The same attackers start from David's half, lifted and scaled to the norms of the model's rows, and "
        "from uniform residues in its place, which tell nothing. The distance between the two is what the "
        "half is worth. Small rows have the deviation of random weights, others the norms of the model's.",
        "Not considered: its share is a function of the model.",
        tuple(panel(f"{model}, {labels}, {number(tokens)} tokens", group)
              for (model, labels, tokens), group in groups.items()),
        ("model", "labels", "from", "attacker", "tokens read", "restored", "less that from uniform residues",
         "less a random start's", "seeds"),
        tuple(row for described, group in groups.items() for row in rows_of(described, group)),
        tuple(collection.missing([f"{labels}-*-{rows}-*" for labels in ("restoration", "queries", "logits")
                                  for rows in ("hidden", "uniform")])))
