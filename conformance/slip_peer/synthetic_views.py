"""Recordings made from a seed, right and wrong ones, on which the checks of view.py are measured."""

import dataclasses
import math
import random

from . import held, hiding, lattice, parameters, randomness, ring, view

ENOUGH = 620_000        # residues in which a bit that leans by 1% is found
REDUCED = 20_000
WIDTH = 64              # entries of a column
SEED = bytes(range(32))  # of T
# A secret of fewer elements is solved for in less time.
SMALL_LATTICE = dataclasses.replace(
    parameters.PAPER_LATTICE, lattice=dataclasses.replace(parameters.PAPER_LATTICE.lattice, d=2))


def uniform(own, count):
    """Residues mod L from Python's generator."""
    L = ring.modulus(own.primes)
    return [random.randrange(L) for _ in range(count)]


def activation(own, n):
    most = view.largest_norm(own) // math.isqrt(n - 1)
    return [random.randint(1 - most, most - 1) for _ in range(n)]


def masked(own, masks, q=None, label=None):
    """Columns of one session under the given masks, which are residues mod L."""
    result, L = [], ring.modulus(own.primes)
    for place, mask in enumerate(masks):
        data = ring.split([(r + v) % L for r, v in zip(mask, q or activation(own, len(mask)))],
                          own.primes)
        result.append(view.Column(0, place, 0, 0, label, data, own.primes))
    return result


def honest(own):
    return masked(own, [uniform(own, WIDTH) for _ in range(60)], activation(own, WIDTH), "one")


def few_vectors(own):
    """50 vectors, of which every mask is a random combination; one input; 60 messages, n = 60."""
    basis = [uniform(own, 60) for _ in range(50)]
    masks = []
    for _ in range(60):
        factors = uniform(own, 50)
        masks.append([sum(map(int.__mul__, factors, row)) for row in zip(*basis)])
    return masked(own, masks, activation(own, 60), "one")


def reused(own):
    """The last mask of 60 is that of an earlier message."""
    masks = [uniform(own, 16) for _ in range(60)]
    masks[59] = masks[random.randrange(59)]
    return masked(own, masks)


def shifted(own):
    """The last mask begins inside an earlier one."""
    masks = [uniform(own, 16) for _ in range(60)]
    masks[59] = masks[random.randrange(59)][4:] + uniform(own, 4)
    return masked(own, masks)


def reduced(own):
    """In the last plane, bytes beyond the prime are reduced in place of being rejected."""
    result = []
    for column in in_columns(uniform(own, REDUCED), own):
        *others, last = ring.planes(column.data, own.primes)
        last = bytes(byte % own.primes[-1] for byte in random.randbytes(len(last)))
        result.append(dataclasses.replace(column, data=b"".join(others) + last))
    return result


def in_columns(values, own):
    return [view.Column(0, i, 0, 0, None, ring.split(values[at:at + 500], own.primes), own.primes)
            for i, at in enumerate(range(0, len(values), 500))]


def tilted(own):
    """Residues of which the lower half is 1% too dense and the upper 1% too thin."""
    values, L = uniform(own, ENOUGH), ring.modulus(own.primes)
    for index in random.sample(range(ENOUGH), ENOUGH // 100):
        values[index] %= L // 2
    return in_columns(values, own)


def odd(own):
    """Residues of which the odd ones are 1% too frequent."""
    values, L = uniform(own, ENOUGH), ring.modulus(own.primes)
    for index in random.sample(range(ENOUGH), ENOUGH // 100):
        values[index] |= 1
    return in_columns([v if v < L else 1 for v in values], own)


class Block:
    """Lattice masks from Python's generator."""

    def __init__(self, own, n):
        self.own, self.L = own, ring.modulus(own.primes)
        N, d = own.lattice.N, own.lattice.d
        self.T = [lattice.public_row(own, SEED, n, row) for row in range(n)]
        self.S = lattice.elements(small(own, d * N), N)

    def mask(self, i, with_noise=True):
        e = small(self.own, len(self.T)) if with_noise else [0] * len(self.T)
        return [(lattice.coefficient(row, self.S, i, self.L) + self.own.lattice.tau * noise) % self.L
                for row, noise in zip(self.T, e)]


def small(own, count):
    eta = own.lattice.eta
    return randomness.small_integers(eta, random.randbytes(-(-2 * eta * count // 8)), count)


def of_one_block(own, with_noise=True):
    """Columns of one input, as many as looking for the noise needs."""
    unknowns = own.lattice.N * own.lattice.d
    count = 1 + -(-(unknowns + view.SURPLUS) // WIDTH)
    block = Block(own, WIDTH)
    return masked(own, [block.mask(i, with_noise) for i in range(count)], activation(own, WIDTH), "one")


def without_noise(own):
    return of_one_block(own, with_noise=False)


def index_twice(own):
    """The last mask of 60 has the index of an earlier one, and noise of its own."""
    block = Block(own, 16)
    return masked(own, [block.mask(i) for i in [*range(59), random.randrange(59)]])


def block_twice(own):
    """A block that serves two groups: the first 8 masks of each."""
    block = Block(own, 16)
    columns = masked(own, [block.mask(i % 8) for i in range(16)])
    return [dataclasses.replace(column, group=i // 8) for i, column in enumerate(columns)]


# What David holds of a hidden split ---------------------------------------------------------------

def models():
    """W' of two groups of 48 rows and 48 columns, which are 4608 residues."""
    most = hiding.width_of(48).B // 7
    return [[[random.randint(-most, most) for _ in range(48)] for _ in range(48)] for _ in range(2)]


def hidden_group(own, number, W, key, with_secret=True, with_noise=True):
    """A as the owner makes it, or with a part left out."""
    n, L = len(W[0]), ring.modulus(own.primes)
    sums = hiding.noisy(own, key, W) if with_noise else W
    U = [ring.join(hiding.public_row(own, SEED, row, n), own.primes) for row in range(own.public_rows)]
    products = [hiding.times_secret(own, key, [row[j] for row in U], len(W)) for j in range(n)]
    rows = [[(entry + with_secret * product[i]) % L for entry, product in zip(row, products, strict=True)]
            for i, row in enumerate(sums)]
    return held.Held(number, [ring.split(row, own.primes) for row in rows], SEED)


def hidden_split(own, one_key=False, **left_out):
    """(groups, W' by group)."""
    W, secret = models(), random.randbytes(32)
    keys = [hiding.key(own, secret, SEED, 0 if one_key else g, W[0 if one_key else g]) for g in range(2)]
    return [hidden_group(own, g, W[g], keys[g], **left_out) for g in range(2)], W


# (name, what is wrong)
HELD = [("A as it should be", {}),
        ("A without V^T U", {"with_secret": False}),
        ("A without E", {"with_noise": False}),
        ("A without V^T U and E", {"with_secret": False, "with_noise": False}),
        ("one V and E for two groups", {"one_key": True})]

PAPER = parameters.PAPER
SMALL_HIDDEN_SPLIT = dataclasses.replace(
    hiding.HIDDEN, lattice=dataclasses.replace(hiding.HIDDEN.lattice, d=2))
SMALL_HIDDEN = hiding.at_width(SMALL_HIDDEN_SPLIT, WIDTH)
# (set, name, how it is made, whether it is wrong)
RECORDINGS = [
    (PAPER, "honest", honest, False),
    (PAPER, "50 vectors, 60 messages of one input", few_vectors, True),
    (PAPER, "one mask used twice", reused, True),
    (PAPER, "one mask shifted by 4", shifted, True),
    (PAPER, f"the last plane reduced in place of rejected, {REDUCED} residues", reduced, True),
    (PAPER, f"the lower half is 1% too dense, {ENOUGH} residues", tilted, True),
    (PAPER, f"odd residues are 1% too frequent, {ENOUGH} residues", odd, True),
    (SMALL_LATTICE, "honest, secrets of 2 elements", of_one_block, False),
    (SMALL_LATTICE, "no noise, secrets of 2 elements", without_noise, True),
    (SMALL_LATTICE, "one index used twice, with noise of its own each time", index_twice, True),
    (SMALL_LATTICE, "one block for two groups", block_twice, True),
    (SMALL_HIDDEN, "honest, secrets of 2 elements", of_one_block, False),
    (SMALL_HIDDEN, "no noise, secrets of 2 elements", without_noise, True),
    (SMALL_HIDDEN, "one index used twice, with noise of its own each time", index_twice, True)]


def calibrate(count, seed):
    """How many of `count` synthetic recordings of each kind are flagged."""
    random.seed(seed)
    rows = []
    for own, name, make, wrong in RECORDINGS:
        flagged = sum(any(finding.flagged for finding in view.findings(own, make(own), seed=SEED))
                      for _ in range(count))
        rows.append({"set": own.name, "recordings": name, "wrong": wrong, "count": count,
                     "flagged": flagged})
    return rows + [calibrate_held(count, *kind) for kind in HELD]


def calibrate_held(count, name, wrong):
    """The same of what David holds."""
    own, flagged = SMALL_HIDDEN_SPLIT, 0
    for _ in range(count):
        groups, W = hidden_split(own, **wrong)
        found = held.findings(own, groups, view.FALSE_ALARMS, W)
        flagged += any(finding.flagged for finding in found)
    return {"set": own.name, "recordings": name, "wrong": bool(wrong), "count": count, "flagged": flagged}
