"""Figures of attackers who train David's share: by strategy, by plan, by queries, by public text, by
hidden span, and against what the plan costs Charlie."""

import dataclasses

from figures.chart import Axis, Panel, Point, Series
from figures.figure import Figure, number, with_interval
from figures.statistics import interval, mean

# As `slip split --strategy` names them, and the paper.
STRATEGIES = {"lsc": "LSC", "rcs": "RCS", "norm": "Norm CS", "random": "Random CS", "fms": "FMS"}
# David's half of the hidden split with rows of the model's norms, with those of random weights, and what is
# compared with it.
HIDDEN = {"hidden": "David's half of the hidden split", "hidden-small": "David's half, small rows",
          "uniform": "uniform residues in its place", "uniform-small": "uniform residues, small rows"}
# What each kind of David's half is compared with.
UNIFORM = {"hidden": "uniform", "hidden-small": "uniform-small"}
ATTACKERS = {"random-start": "random start", "lora": "LoRA", "full": "full fine-tuning", "core": "core"}
# Who trains a core in spans that he has looked for, and one who is told them: a bound, and no attacker.
SEARCHERS = {"core-gradient": "core, by gradient", "core-movement": "core, by movement",
             "core-movement-wide": "core, by movement, 4 k"}
TOLD = "core-told"


@dataclasses.dataclass(frozen=True)
class Attacked:
    """A plan, and the tokens that its attackers read: `rank`, the largest; `blocks`, only the first and the
    last so many; `planned`, the file that has its ranks. `offload`: David's share of the linear
    multiplications."""

    model: str
    strategy: str
    rank: int
    blocks: str
    known: str
    offload: float
    planned: str
    tokens: int

    def plan(self):
        if self.strategy in HIDDEN:
            return HIDDEN[self.strategy]
        where = f", ±{self.blocks} blocks" if self.blocks else ""
        ranks = f"planned ranks up to {self.rank}" if self.planned else f"k = {self.rank}"
        return f"{STRATEGIES.get(self.strategy, self.strategy)}, {ranks}{where}"


@dataclasses.dataclass(frozen=True)
class Attack:
    """Results of one attacker on one plan, by seed: perplexities, and the part of the hidden spans that he
    has found."""

    target: Attacked
    attacker: str
    labels: str
    public_tokens: int
    parameters: int
    original: float
    share: dict
    restored: dict
    spans_found: dict

    def label(self):
        return (ATTACKERS | SEARCHERS | {TOLD: "core, told"}).get(self.attacker, self.attacker)

    def of_the_four(self):
        return self.attacker in ATTACKERS


def share_of(result, collection):
    """The run that made David's share, or None."""
    for name in result.get("needs", {}):
        found = collection.results.get(name)
        if found is not None and found["experiment"] == "share":
            return found
    return None


def target_of(result, share):
    settings = {} if share is None else share["settings"]
    epsilon = None if share is None else share["result"].get("epsilon_online")
    own = result["settings"]
    return Attacked(result["model"]["name"], own["strategy"], own["rank"],
                    str(settings.get("blocks") or ""), own["known"],
                    None if epsilon is None else 1 - epsilon, settings.get("plan", ""),
                    result["result"]["tokens"])


def attacks(collection, left_out=("tuning-", "again-", "data-", "restored-")):
    """Of all restorations, seeds gathered. Left out are other learning rates than the usual ones, who began
    from what another had restored, who had less public text, and models that were restored for tasks."""
    groups = {}
    for name, result in collection.of("restoration"):
        if name.startswith(left_out):
            continue
        own = result["settings"]
        key = (target_of(result, share_of(result, collection)), own["attacker"], own["labels"],
               own.get("public_tokens", 0))
        groups.setdefault(key, {})[result["seed"]] = result["result"]
    return [Attack(target, attacker, labels, public_tokens, next(iter(seeds.values()))["parameters_trained"],
                   mean([found["perplexity"]["original"] for found in seeds.values()]),
                   {seed: found["perplexity"]["share"] for seed, found in seeds.items()},
                   {seed: found["perplexity"]["restored"] for seed, found in seeds.items()},
                   {seed: found["spans_found"] for seed, found in seeds.items() if "spans_found" in found})
            for (target, attacker, labels, public_tokens), seeds in groups.items()]


def order(names, known):
    """Those that are known first, in their order."""
    return [name for name in known if name in names] + sorted(set(names) - set(known))


def point(x, values):
    middle, low, high = interval(list(values))
    return Point(x, middle, low, high)


def rows_of(found):
    return tuple((attack.target.model, attack.target.plan(), attack.target.known, attack.labels,
                  attack.label(), number(attack.target.tokens), number(attack.parameters),
                  number(mean(list(attack.share.values()))),
                  with_interval(*interval(list(attack.restored.values()))), number(attack.original),
                  ", ".join(map(str, sorted(attack.restored)))) for attack in found)


HEADER = ("model", "plan", "David also has", "labels", "attacker", "tokens read", "parameters trained",
          "perplexity of the share", "restored", "of the model", "seeds")


def gather(found, key):
    groups = {}
    for attack in found:
        groups.setdefault(key(attack), []).append(attack)
    return groups


def with_knowledge(model, known, tokens):
    """For a title; who knows nothing of embeddings and norms is the exception."""
    return f"{model}, {number(tokens)} tokens" + (", norms unknown" if known == "nothing" else "")


def strategy_panel(title, found, known_strategies):
    """Categories: strategies; series: the share itself, then attackers."""
    strategies = order({attack.target.strategy for attack in found}, known_strategies)
    names = tuple(STRATEGIES.get(name, name) for name in strategies)
    shares = []
    for index, name in enumerate(strategies):
        of_strategy = [attack for attack in found if attack.target.strategy == name]
        # Every attacker on a plan begins with the share of his seed.
        shares.append(point(index, {seed: value for attack in of_strategy
                                    for seed, value in attack.share.items()}.values()))
    series = [Series("David's share", tuple(shares), joined=False)]
    # What needs nothing of a share is the same for every strategy.
    starts = [value for attack in found if attack.attacker == "random-start"
              for value in attack.restored.values()]
    references = (("the model itself", found[0].original),) + (
        (("random start", mean(starts)),) if starts else ())
    for attacker in order({attack.attacker for attack in found} - {"random-start"}, [*ATTACKERS, *SEARCHERS]):
        own = [attack for attack in found if attack.attacker == attacker]
        points = [point(strategies.index(attack.target.strategy), attack.restored.values()) for attack in own]
        points.sort(key=lambda of_strategy: of_strategy.x)
        series.append(Series(own[0].label(), tuple(points), joined=False))
    return Panel(title, Axis("what Charlie keeps", names=names), Axis("perplexity", log=True),
                 tuple(series), references)


def panels_by_strategy(found, known_strategies):
    panels = []
    groups = gather(found, lambda attack: (attack.target.model, attack.target.known, attack.target.tokens,
                                           attack.target.blocks))
    for (*described, blocks), group in groups.items():
        lsc_ranks = {attack.target.rank for attack in group if attack.target.strategy == "lsc"}
        others = [attack for attack in group if attack.target.strategy != "lsc"]
        # A strategy is compared with LSC of the rank that it stands beside; FMS has a rank of its own.
        rank = next((rank for rank in sorted(lsc_ranks)
                     if any(attack.target.rank == rank for attack in others)), None)
        chosen = others + [attack for attack in group
                           if attack.target.strategy == "lsc" and attack.target.rank == rank]
        if rank is not None:
            title = f"{with_knowledge(*described)}, k = {rank}" + (f", ±{blocks}" if blocks else "")
            panels.append(strategy_panel(title, chosen, known_strategies))
    return tuple(panels)


def strategies(collection):
    found = [attack for attack in attacks(collection) if attack.labels == "public" and attack.of_the_four()
             and attack.target.strategy in STRATEGIES
             and not (attack.target.strategy == "lsc" and attack.target.planned)]
    return Figure(
        "strategies", "What attackers restore, by strategy",
        "Five ways to choose what Charlie keeps, at equal work. Each attacker trains on the same public "
        "text; the lower a point, the more of the model he has. “Core” trains only what the strategy leaves "
        "open: for LSC and RCS what the null spaces of David's matrices do not determine. A random start "
        "uses nothing of the share: a share that is worth less than that protects everything it can.",
        "A table of perplexity and accuracy after LoRA fine-tuning for LSC, RCS, Norm CS, Random CS and FMS "
        "at 97.5 % offload, where LSC is the safest most often (table “Benchmark results”). It has no "
        "attacker who uses the null spaces, and no intervals.",
        panels_by_strategy(found, list(STRATEGIES)), HEADER, rows_of(found),
        tuple(collection.missing(["restoration-*"])))


def plan_panel(title, found):
    targets = sorted({attack.target for attack in found}, key=lambda target: target.offload)
    shares = tuple(Point(100 * target.offload, mean([value for attack in found if attack.target == target
                                                     for value in attack.share.values()]))
                   for target in targets)
    series = [Series("David's share", shares)]
    references = [("the model itself", found[0].original)]
    for attacker in order({attack.attacker for attack in found}, ATTACKERS):
        own = sorted((attack for attack in found if attack.attacker == attacker),
                     key=lambda attack: attack.target.offload)
        if attacker == "random-start":
            references.append(("random start", mean([value for attack in own
                                                     for value in attack.restored.values()])))
            continue
        series.append(Series(ATTACKERS.get(attacker, attacker), tuple(
            point(100 * attack.target.offload, attack.restored.values()) for attack in own)))
    return Panel(title, Axis("multiplications that David does, %"), Axis("perplexity", log=True),
                 tuple(series), tuple(references))


def plans(collection):
    found = [attack for attack in attacks(collection) if attack.labels == "public" and attack.of_the_four()
             and attack.target.strategy == "lsc" and not attack.target.planned
             and attack.target.offload is not None]
    panels = [plan_panel(with_knowledge(*described), group)
              for described, group in gather(found, lambda attack: (
                  attack.target.model, attack.target.known, attack.target.tokens)).items()
              if len({attack.target.offload for attack in group}) > 1]
    return Figure(
        "plans", "What attackers restore, by how much David computes",
        "Plans of LSC with more or fewer components and blocks, as in the paper's table, its ranks scaled by "
        "k / n. Where an attacker's line lies near the model itself the plan protects nothing against him; "
        "where it lies at the random start the share is worth nothing to him.",
        "Phi-2 with six plans of 85 to 99.9 % offload: after fine-tuning, the more David computes the lower "
        "the perplexity, and 92 to 97.5 % are called safe (figure “Impact of fine-tuning”).",
        tuple(panels), HEADER, rows_of(found), tuple(collection.missing(["restoration-*"])))


def are_comparable(one, other):
    """Whether two plans of a model cost Charlie the same, and their attackers have and read the same."""
    same = (one.model, one.known, one.tokens) == (other.model, other.known, other.tokens)
    return same and None not in (one.offload, other.offload) and abs(one.offload - other.offload) < 0.01


def planned_panel(title, targets, found):
    """Categories: plans; series: the share itself, then attackers."""
    names = tuple("planned ranks" if target.planned else f"k = {target.rank} everywhere"
                  for target in targets)
    own = {target: [attack for attack in found if attack.target == target] for target in targets}
    shares = tuple(point(x, {seed: value for attack in own[target]
                             for seed, value in attack.share.items()}.values())
                   for x, target in enumerate(targets))
    series = [Series("David's share", shares, joined=False)]
    for attacker in order({attack.attacker for attack in found}, ATTACKERS):
        points = tuple(point(x, attack.restored.values()) for x, target in enumerate(targets)
                       for attack in own[target] if attack.attacker == attacker)
        series.append(Series(ATTACKERS[attacker], points, joined=False))
    return Panel(title, Axis("plan, at equal offload", names=names), Axis("perplexity", log=True),
                 tuple(series), (("the model itself", found[0].original),))


def planned(collection):
    found = [attack for attack in attacks(collection) if attack.labels == "public" and attack.of_the_four()
             and attack.target.strategy == "lsc"]
    panels, shown = [], []
    for target in sorted({attack.target for attack in found if attack.target.planned}, key=str):
        uniform = {attack.target for attack in found if not attack.target.planned
                   and are_comparable(attack.target, target)}
        if uniform:
            compared = [min(uniform, key=lambda other: abs(other.offload - target.offload)), target]
            own = [attack for attack in found if attack.target in compared]
            title = with_knowledge(target.model, target.known, target.tokens)
            panels.append(planned_panel(title, compared, own))
            shown += own
    return Figure(
        "planned", "What attackers restore from a plan of slip plan, and from one rank everywhere",
        "Both plans cost Charlie the same. slip plan has chosen its ranks by singular values and by the loss "
        "that bypassing a block costs, and knows nothing of attackers. A plan is better where its points lie "
        "higher, for the attacker whose points lie lowest.",
        "One rank for chosen layers of the first and the last blocks; the “optimal list” is named and not "
        "given.",
        tuple(panels), HEADER, rows_of(shown), tuple(collection.missing(["restoration-*-plan[0-9]*"])))


def query_count(attack):
    return int(attack.labels.split("-")[1])


def queries(collection):
    found = [attack for attack in attacks(collection) if attack.labels.startswith(("queries-", "logits-"))
             and attack.target.strategy not in HIDDEN]
    panels = []
    for (model, plan), group in gather(
            found, lambda attack: (attack.target.model, attack.target.plan())).items():
        series = []
        for labels in ("queries", "logits"):
            answered = [attack for attack in group if attack.labels.startswith(labels)]
            for attacker in order({attack.attacker for attack in answered}, ATTACKERS):
                own = sorted((attack for attack in answered if attack.attacker == attacker), key=query_count)
                name = ATTACKERS.get(attacker, attacker)
                label = f"{labels} alone" if attacker == "random-start" else f"share, {name}"
                if labels == "logits" and attacker != "random-start":
                    label += ", logits"
                series.append(Series(label, tuple(point(query_count(attack), attack.restored.values())
                                                  for attack in own)))
        panels.append(Panel(f"{model}, {plan}", Axis("queries to the protected model", log=True),
                            Axis("perplexity", log=True), tuple(series),
                            (("the model itself", group[0].original),)))
    return Figure(
        "queries", "Definition 4 as a game: queries with and without the share",
        "The paper calls a split safe if David, with his share and queries to the protected model, learns no "
        "more than someone with the queries alone. The distance between the lines at one number of queries "
        "is what the share adds; safe means none. The answers are the most likely next tokens or, “logits”, "
        "the probabilities of all next tokens.",
        "Not measured: its attackers use public labels and send no query to the protected model, so the "
        "experiment does not test its Definition 4.",
        tuple(panels), HEADER, rows_of(found), tuple(collection.missing(["*queries*", "logits-*", "game-*"])))


def data(collection):
    """Only of plans whose attackers were given different amounts of text."""
    found = [attack for attack in attacks(collection, ("tuning-", "again-", "restored-"))
             if attack.labels == "public" and attack.of_the_four()]
    panels, shown = [], []
    for target, group in gather(found, lambda attack: attack.target).items():
        if len({attack.public_tokens for attack in group}) < 2:
            continue
        series = []
        for attacker in order({attack.attacker for attack in group}, ATTACKERS):
            own = sorted((attack for attack in group if attack.attacker == attacker),
                         key=lambda attack: attack.public_tokens)
            series.append(Series(ATTACKERS[attacker], tuple(
                point(attack.public_tokens, attack.restored.values()) for attack in own)))
            shown += own
        panels.append(Panel(f"{target.model}, {target.plan()}", Axis("tokens of public text", log=True),
                            Axis("perplexity", log=True), tuple(series),
                            (("the model itself", group[0].original),
                             ("David's share", mean(list(group[0].share.values()))))))
    rows = tuple((*row, number(attack.public_tokens))
                 for row, attack in zip(rows_of(shown), shown, strict=True))
    return Figure(
        "data", "What attackers restore, by how much public text they have",
        "The same number of steps from more or less text: who has little reads it many times. Where an "
        "attacker's line lies above David's share he has learnt the text by heart and lost what the share "
        "knew.",
        "Not measured: its attackers fine-tune on one amount of text.",
        tuple(panels), (*HEADER, "public tokens"), rows, tuple(collection.missing(["data-*"])))


def found_of_spans(attack):
    return number(mean(list(attack.spans_found.values())), 2) if attack.spans_found else ""


def spans(collection):
    found = [attack for attack in attacks(collection)
             if attack.labels == "public" and attack.target.strategy not in STRATEGIES | HIDDEN]
    compared = {(attack.target.model, attack.target.known, attack.target.rank, attack.target.tokens)
                for attack in found}
    found += [attack for attack in attacks(collection) if attack.labels == "public"
              and attack.target.strategy == "lsc" and not attack.target.planned
              and (attack.target.model, attack.target.known, attack.target.rank,
                   attack.target.tokens) in compared]
    rows = tuple((*row, found_of_spans(attack)) for row, attack in zip(rows_of(found), found, strict=True))
    return Figure(
        "spans", "Hiding the span, at equal work for Charlie",
        "LSC leaves a gap in the spectrum of David's matrices, which shows the hidden spans. The "
        "replacements hide them in different ways; the adaptive attackers know which is used and look for "
        "the spans: in the first gradient at the share, or in what a first fine-tuning of every entry has "
        "moved. A replacement is worth something only if its best attacker does worse than the best one "
        "against LSC. “Core, told” is given the spans: what finding them would be worth.",
        "Not considered.",
        panels_by_strategy(found, ["lsc"]), (*HEADER, "spans found"), rows,
        tuple(collection.missing(["spans-*"])))
