"""Statistics on what David holds of a hidden split: do the rows of A look uniform, does a V serve two of
them, do they lack their noise, is U that of its seed? What needs the owner's files is left out without
them."""

import dataclasses
import itertools

from . import artifact, errors, fields, lattice, linear, randomness, ring, view

SHARES = {"single bits": 4, "high bits": 8, "low bits": 8, "planes": 8, "multiplicity": 8, "reuse": 8,
          "noise": 16}
NOISELESS = "finds a matrix without E, if a block of rows gives enough equations"


@dataclasses.dataclass(frozen=True)
class Held:
    """A group: the rows of A, each a column of residues, and the seed of U."""
    number: int
    rows: list
    seed: bytes

    @classmethod
    def of(cls, number, weights):
        return cls(number, [b"".join(planes) for planes in zip(*weights.A)], weights.public.seed)

    def columns(self, own):
        return [view.Column(0, 0, self.number, place, None, row, own.primes)
                for place, row in enumerate(self.rows)]


def findings(own, groups, false_alarms, models=None):
    """Of every statistical check. `models` are the W' by group, where the owner gives them."""
    columns = [column for group in groups for column in group.columns(own)]
    values, L = [value for column in columns for value in column.values], ring.modulus(own.primes)
    part = {check: false_alarms / share for check, share in SHARES.items()}
    return [view.single_bits(values, L, part["single bits"]),
            view.bits(values, "high bits", lambda v: v * view.BINS // L, part["high bits"]),
            view.bits(values, "low bits", lambda v: v % view.BINS, part["low bits"]),
            view.each_plane(columns, own.primes, part["planes"]),
            view.multiplicity(values, L, part["multiplicity"]), view.reuse(columns, own, part["reuse"]),
            noise(own, groups, models, part["noise"])]


def noise(own, groups, models, alpha):
    """A - W' = V^T U without its noise: for a block of rows more equations than V[b] has unknowns, mod the
    first prime. Do they have a solution?"""
    if models is None:
        return view.Finding("noise", None, alpha, "it needs the integer model (--audit)", "none")
    needed, p = own.public_rows + view.SURPLUS, own.primes[0]
    blocks = [(group, first) for group in groups for first in range(0, len(group.rows), own.lattice.N)]
    tried = most = 0
    for group, first in blocks:
        there = len(group.rows[first:first + own.lattice.N]) * len(models[group.number][0])
        most = max(most, min(there, needed))
        if there < needed:
            continue
        equations = list(itertools.islice(equations_of(own, group, models[group.number], first), needed))
        tried += 1
        implied = fields.left_over(equations, p)
        if implied is not None:
            return view.Finding("noise", min(1.0, len(blocks) * p ** -implied), alpha,
                                f"one V explains the rows from {first} on of group {group.number}", NOISELESS)
    if not tried:
        return view.too_few("noise", alpha, most, needed, "equations")
    return view.Finding("noise", 1.0, alpha, f"no V explains any of {tried} blocks of rows", NOISELESS)


def equations_of(own, group, model, first):
    """The coefficients of V[b] and the right side, mod the first prime, of each entry of a block of rows."""
    p, N, n = own.primes[0], own.lattice.N, len(model[0])
    U = zip(*(randomness.public_plane(own, randomness.PUBLIC_WEIGHTS, n, row, group.seed, n, 0)
              for row in range(own.public_rows)))
    elements = [lattice.elements(list(column), N) for column in U]
    for i in range(first, min(first + N, len(model))):
        for j in range(n):
            yield [entry % p for entry in view.turned(elements[j], i - first)] + \
                [(group.rows[i][j] - model[i][j]) % p]


def companions(own, weights, check):
    """INTEG-2: what Charlie's check expects of W_t, in its first combination. A U that is not the one that
    was split, or another A, gives other companions."""
    rows = max(group.outputs for group in weights)
    w = ring.planes(randomness.column(check["seed"], randomness.INTEGRITY, 0, rows, own.primes), own.primes)
    wrong = []
    for g, group in enumerate(weights):
        s = b"".join(bytes(linear.dot(plane[:group.outputs], column) % p for column in zip(*of_plane))
                     for p, plane, of_plane in zip(own.primes, w, group.planes, strict=True))
        if s != check[f"group.{g}"][:len(s)]:
            wrong.append(g)
    found = f"not those of groups {wrong}" if wrong else f"those of all {len(weights)} groups"
    return view.Finding("companions", 0.0 if wrong else 1.0, 0.5, f"the companions are {found}",
                        "finds a U that is not expanded from its seed, which no statistic can")


def read_models(path, weights, digest):
    """HIDE-8, MODEL-7: W' by group, of the audit of the same split."""
    tensors = artifact.SafeTensors(path / "audit.safetensors")
    errors.require(bytes(tensors.flat("david_sha256", "U8")) == digest, "view", "MODEL-7",
                   f"{path}: the audit of another split")
    models = [tensors.matrix(f"group.{g}", "I16") for g in range(len(weights))]
    for g, (W, group) in enumerate(zip(models, weights)):
        errors.require((len(W[0]), len(W)) == (group.inputs, len(group.A[0])), "view", "MODEL-7",
                       f"{path}: group {g} has another shape")
    return models


def read_companions(path):
    tensors = artifact.SafeTensors(path)
    return {name: bytes(tensors.flat(name, "U8")) for name in tensors.header}


def of_artifact(arguments):
    """The findings of OUT/david."""
    david = artifact.David(arguments.held)
    errors.require(david.set.hides, "view", "HIDE-1",
                   f"{arguments.held}: what the set {david.set.name} gives David is no secret to him")
    groups = [Held.of(g, weights) for g, weights in enumerate(david.weights)]
    models = arguments.audit and read_models(arguments.audit, david.weights, david.digest)
    results = findings(david.set, groups, arguments.false_alarms, models)
    if arguments.check:
        results.append(companions(david.set, david.weights, read_companions(arguments.check)))
    return results
