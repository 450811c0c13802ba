"""What was found, in a few sentences: every number in them is computed from the results, and a sentence whose
results are missing is left out."""

import dataclasses

from figures.costs import best_attacks, cost_of, cost_of_plans
from figures.figure import number
from figures.hidden import difference, found_by, groups_of
from figures.restoration import HIDDEN, STRATEGIES, TOLD, UNIFORM, are_comparable, attacks
from figures.statistics import mean


def listed(words):
    """a, b and c."""
    words = list(words)
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def order_of_blocks(collection):
    """Whether single blocks matter in the paper's order: the first most, then the last, then the middle."""
    held, broken = [], []
    for _, result in collection.of("bypass"):
        single = [at["perplexity"] for window in result["result"]["windows"] if window["blocks"] == 1
                  for at in window["positions"]]
        if len(single) < 3:
            continue
        middle = mean(single[1:-1])
        text = (f"{result['model']['name']} ({number(single[0], 3)} without the first block, "
                f"{number(single[-1], 3)} without the last, {number(middle, 3)} on average without one "
                f"between, {number(result['result']['baseline'], 3)} whole)")
        (held if single[0] > single[-1] > middle else broken).append(text)
    if not held and not broken:
        return ""
    parts = [f"holds for {listed(held)}"] if held else []
    parts += [f"does not hold for {listed(broken)}"] if broken else []
    return ("The paper's order of blocks by perplexity, first, last, middle, " + " and ".join(parts) + ".")


def public(collection):
    return [attack for attack in attacks(collection) if attack.labels == "public"]


def restored(attack):
    return mean(list(attack.restored.values()))


def pairs_of(collection, one, other):
    """(attack of one, attack of other) on the same plan."""
    by_target = {}
    for attack in public(collection):
        by_target.setdefault(attack.target, {})[attack.attacker] = attack
    return [(found[one], found[other]) for found in by_target.values() if one in found and other in found]


def core_against_lora(collection):
    """Whether knowing the span beats LoRA on LSC."""
    pairs = [pair for pair in pairs_of(collection, "core", "lora") if pair[0].target.strategy == "lsc"]
    if not pairs:
        return ""
    better = [pair for pair in pairs if restored(pair[0]) < restored(pair[1])]
    core, lora = max(pairs, key=lambda pair: restored(pair[1]) / restored(pair[0]))
    return (f"Against LSC the attacker who trains only the core does better than LoRA on {len(better)} of "
            f"{len(pairs)} plans; at most apart they are on {core.target.model} with {core.target.plan()}, "
            f"where David's share has perplexity {number(mean(list(core.share.values())), 3)}, LoRA reaches "
            f"{number(restored(lora), 3)}, the core {number(restored(core), 3)}, and the model has "
            f"{number(core.original, 3)}: LoRA alone, the paper's attacker, understates what leaks.")


def ranking(collection):
    """Which strategy is safest against LoRA, and which against the best attacker, model by model."""
    groups = {}
    for attack in public(collection):
        if (attack.target.strategy in STRATEGIES and attack.of_the_four() and not attack.target.planned
                and attack.attacker != "random-start"):
            key = (attack.target.model, attack.target.known, attack.target.tokens, attack.target.blocks)
            groups.setdefault(key, []).append(attack)
    sentences = []
    for (model, *_), found in groups.items():
        best, lora = {}, {}
        for attack in found:
            name = STRATEGIES[attack.target.strategy]
            best[name] = min(best.get(name, float("inf")), restored(attack))
            if attack.attacker == "lora":
                lora[name] = max(lora.get(name, 0.0), restored(attack))
        if len(lora) > 1 and len(best) > 1:
            safest = max(best, key=best.get)
            sentences.append(f"on {model} {max(lora, key=lora.get)} is the safest against LoRA "
                             f"and {safest} against the best attacker ({number(best[safest], 3)})")
    return f"By strategy: {'; '.join(sentences)}." if sentences else ""


def price(collection):
    """Whether a plan is both safe, at 0.9 of the random start's perplexity, and efficient."""
    of_plans = cost_of_plans(collection)
    best, random_starts = best_attacks(collection)
    drawn = [(target, perplexity / original, cost_of(target, of_plans))
             for target, (perplexity, original, _) in best.items() if target.strategy == "lsc"
             and cost_of(target, of_plans) is not None and (target.model, target.tokens) in random_starts]
    if not drawn:
        return ""

    # Of a plan that was attacked with several budgets the longest counts.
    longest = {}
    for point in drawn:
        plan = dataclasses.replace(point[0], tokens=0)
        longest[plan] = max(longest.get(plan, point), point, key=lambda each: each[0].tokens)
    drawn = list(longest.values())

    def of_random_start(point):
        return random_starts[point[0].model, point[0].tokens]

    safe = [point for point in drawn if point[1] >= 0.9 * of_random_start(point) and point[2] < 1]
    if safe:
        target, _, cost = min(safe, key=lambda point: point[2])
        return (f"{len(safe)} of {len(drawn)} plans leave the best attacker no better than nine tenths of "
                f"a random start's perplexity at less online work than the model's own; the cheapest is "
                f"{target.model} with {target.plan()}, at ε_online = {number(cost, 3)}.")
    target, ratio, cost = nearest = max(drawn, key=lambda point: point[1] / of_random_start(point))
    return (f"None of {len(drawn)} plans is both safe and efficient: the nearest, {target.model} with "
            f"{target.plan()}, costs ε_online = {number(cost, 3)} and leaves its best attacker at "
            f"{number(ratio, 3)} times the model's perplexity, against "
            f"{number(of_random_start(nearest), 3)} of a random start.")


def best_of(collection, wanted):
    """target -> (lowest mean perplexity, its attack), of attackers with public labels who are not told."""
    best = {}
    for attack in public(collection):
        if wanted(attack.target) and attack.attacker not in ("random-start", TOLD):
            if attack.target not in best or restored(attack) < best[attack.target][0]:
                best[attack.target] = (restored(attack), attack)
    return best


def planned_against_uniform(collection):
    """Whether slip plan's ranks leave the best attacker worse off than one rank everywhere, of the attackers
    who have tried both."""
    by_target = {}
    for attack in public(collection):
        if attack.target.strategy == "lsc" and attack.of_the_four() and attack.attacker != "random-start":
            by_target.setdefault(attack.target, {})[attack.attacker] = attack
    sentences = []
    for target, tried in by_target.items():
        others = [other for other in by_target if not other.planned and are_comparable(other, target)
                  and by_target[other].keys() & tried.keys()]
        if not target.planned or not others:
            continue
        uniform = min(others, key=lambda other: abs(other.offload - target.offload))
        both = by_target[uniform].keys() & tried.keys()
        attack, against = (min((found[name] for name in both), key=restored)
                           for found in (tried, by_target[uniform]))
        value, than = restored(attack), restored(against)
        verdict = "protects more than" if value > than else "does not protect more than"
        sentences.append(f"on {target.model} the plan of slip plan {verdict} k = {uniform.rank} everywhere "
                         f"at equal offload: the best attacker reaches {number(value, 3)} ({attack.label()}) "
                         f"against {number(than, 3)} ({against.label()})")
    return f"Planned ranks: {'; '.join(sentences)}." if sentences else ""


def hidden_spans(collection):
    """Whether hiding the span helps against the best attacker, and what adaptive ones find."""
    best = best_of(collection, lambda target: not target.planned)
    # The paper's attacker at least must have tried: otherwise the best of few is not the best.
    tried = {attack.target for attack in public(collection) if attack.attacker == "lora"}
    sentences = []
    for target, (value, attack) in best.items():
        if target not in tried:
            continue
        lsc = [found for other, found in best.items() if other.strategy == "lsc" and
               (other.model, other.known, other.rank, other.tokens)
               == (target.model, target.known, target.rank, target.tokens)]
        if target.strategy in STRATEGIES | HIDDEN or not lsc:
            continue
        seen = [mean(list(other.spans_found.values())) for other in public(collection)
                if other.target == target and other.spans_found and other.attacker != TOLD]
        part = f", and the searches find at most {number(max(seen), 2)} of the spans" if seen else ""
        sentences.append(f"{target.strategy} on {target.model}, k = {target.rank}, leaves the best attacker "
                         f"at {number(value, 3)} ({attack.label()}) where LSC leaves him at "
                         f"{number(lsc[0][0], 3)}{part}")
    return f"Hiding the span: {'; '.join(sentences)}." if sentences else ""


def hidden_half(collection):
    """What the half of the hidden split adds to uniform residues in its place, attacker by attacker."""
    sentences = []
    for (model, labels, _), group in groups_of(collection).items():
        words = []
        for attack in group:
            uniform = UNIFORM.get(attack.target.strategy)
            found = difference(attack, found_by(group, uniform, attack.attacker))
            if found is not None:
                middle, low, high = found
                rows = ", small rows" if uniform == "uniform-small" else ""
                between = "" if low is None else f", {number(low, 2)} to {number(high, 2)}"
                words.append(f"{number(middle, 2)} ({attack.label()}{rows}{between})")
        if words:
            sentences.append(f"on {model} by {labels} {listed(words)}")
    return ("Perplexity from David's half of the hidden split less that from uniform residues in its place, "
            f"with 95 % intervals over seeds: {'; '.join(sentences)}." if sentences else "")


def shares_on_tasks(collection):
    """What David's share still does, on tasks where the model itself is far above chance."""
    groups = {}
    for _, result in collection.of("tasks"):
        groups.setdefault((result["model"]["name"], result["settings"]["task"]), []).append(result)
    sentences = []
    for (model, task), found in groups.items():
        whole = [each["result"]["accuracy"] for each in found if each["settings"]["engine"] == "float"]
        shares = {each["settings"]["rank"]: each["result"]["accuracy"] for each in found
                  if each["settings"]["engine"] == "share" and each["settings"].get("strategy") == "lsc"
                  and "rank" in each["settings"]}
        if whole and shares and whole[0] > 2 * found[0]["result"]["chance"]:
            ranks = ", ".join(f"{number(100 * shares[rank], 3)} % at k = {rank}" for rank in sorted(shares))
            sentences.append(f"{task} falls from {number(100 * whole[0], 3)} % to {ranks} ({model})")
    return f"David's share by itself: {'; '.join(sentences)}." if sentences else ""


def findings_of(collection):
    sentences = [find(collection) for find in (order_of_blocks, core_against_lora, ranking, price,
                                               planned_against_uniform, hidden_spans, hidden_half,
                                               shares_on_tasks)]
    return [sentence for sentence in sentences if sentence]
