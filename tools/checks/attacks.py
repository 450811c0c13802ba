"""The results of the attacks, the threat model's table and docs/claims.md agree: every attack has a row, and
those that the page names succeed with the figures that it gives."""

import json
import re

RESULTS = "experiments/attacks/results.json"
TABLE = "spec/threat-model.md"
CLAIMS = "docs/claims.md"


def logits(paper):
    found = re.match(r"(\d+) of (\d+) hidden coordinates", paper["note"])
    return (f"{found[1]} of the {found[2]} coordinates of every final hidden state to "
            f"{100 * paper['error']:.1f} %")


def layer_oracle(paper):
    words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    rank = re.match(r"k = \d+", paper["note"])[0]
    return (f"{words[paper['queries']]} inputs and outputs of one layer (`{rank}`) give its matrix but for "
            f"{100 * paper['error']:.0f} % of Charlie's part")


def ternary(twin):
    return f"David's half alone gives {100 - 100 * twin['error']:.1f} % or more of the entries of ternary"


def four_bits(twin):
    rounded = 1 - float(re.search(r"leaves (\S+) wrong", twin["note"])[1])
    return (f"{100 - 100 * twin['error']:.0f} % of those of 4 bits at `k = 2` "
            f"({100 * rounded:.0f} % by rounding `W_D`)")


# What CLAIMS says of attacks that succeed, by the column of the results.
PHRASES = {"logits": ("paper", logits), "layer-oracle": ("paper", layer_oracle),
           "grid-ternary": ("twin", ternary), "grid-4-bits": ("twin", four_bits)}


def check(root):
    if not (root / RESULTS).is_file():
        return []
    attacks = {attack["name"]: attack for attack in json.loads((root / RESULTS).read_text())}
    order = [attack["paper"]["succeeded"] for attack in attacks.values() if attack["paper"]]
    problems = [] if order == sorted(order, reverse=True) else [
        f"{RESULTS}: attacks that succeed against the paper's split come first"]
    table = (root / TABLE).read_text()
    problems += [f"{TABLE}: no row of the table of attacks names {name}, which is in {RESULTS}"
                 for name in attacks if not re.search(rf"^\| .*\b{name}\b", table, re.MULTILINE)]
    claims = (root / CLAIMS).read_text()
    for name, (column, phrase_of) in PHRASES.items():
        if name not in attacks or not attacks[name][column]["succeeded"]:
            problems.append(f"{RESULTS}: {name} does not succeed against the {column}, but {CLAIMS} says so")
            continue
        phrase = phrase_of(attacks[name][column])
        if phrase not in claims:
            problems.append(f"{CLAIMS}: does not say what {RESULTS} has of {name}: expected '{phrase}'")
    return problems
