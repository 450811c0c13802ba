"""The table of attacks: those of `slip attack all --full`, and the trained ones of the restorations."""

import json

from figures import restoration
from figures.figure import number, with_interval
from figures.statistics import interval

HEADER = ("attack", "rule", "without the rule", "against the paper's split", "against the hidden split")
# spec/errata.md: an attacker who knows the span trains what is left.
TRAINED_RULE = "none: E-17, E-33"


def outcome(found):
    """A cell: whether it succeeded, by which error, from how many queries."""
    if found is None:
        return ""
    verdict = "succeeds" if found["succeeded"] else "fails"
    text = (f"{verdict}: error {number(found['error'], 3)}, threshold {number(found['threshold'], 3)}, "
            f"{number(found['queries'])} {'query' if found['queries'] == 1 else 'queries'}")
    return f"{text}; {found['note']}" if found.get("note") else text


def succeeds(attack):
    return attack["paper"] is not None and attack["paper"]["succeeded"]


def laboratory_rows(attacks):
    """What succeeds against the paper's split comes first; otherwise the order of the program."""
    ordered = sorted(attacks, key=lambda attack: not succeeds(attack))
    return [(f"{attack['name']}: {attack['measure']}", attack["rule"],
             *(outcome(attack[column]) for column in ("twin", "paper", "hidden"))) for attack in ordered]


def trained_rows(collection):
    """Attackers who train David's share: none of them has a rule that would stop him."""
    rows = []
    for attack in restoration.attacks(collection):
        if attack.target.strategy in restoration.UNIFORM.values():
            continue
        share, *_ = interval(list(attack.share.values()))
        restored = with_interval(*interval(list(attack.restored.values())))
        text = (f"{restored}, where David's share as it is has {number(share)} and the model itself "
                f"{number(attack.original)}")
        is_hidden = attack.target.strategy in restoration.UNIFORM
        rows.append((f"{attack.label()} on {attack.target.model}, {attack.target.plan()}, labels "
                     f"{attack.labels}, {number(attack.parameters)} numbers trained: perplexity",
                     "HIDE-1" if is_hidden else TRAINED_RULE, "", "" if is_hidden else text,
                     text if is_hidden else ""))
    return rows


def read_attacks(path):
    """The list that `slip attack all --json` prints; none if the file is missing."""
    return json.loads(path.read_text()) if path.is_file() else []


def rows_of(attacks, collection):
    """Attacks that succeed, trained ones, attacks that fail."""
    laboratory = laboratory_rows(attacks)
    succeed = sum(succeeds(attack) for attack in attacks)
    return [*laboratory[:succeed], *trained_rows(collection), *laboratory[succeed:]]
