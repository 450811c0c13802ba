"""Statistics on a recorded view of David: are the masked columns uniform, was a mask used twice or
shifted, are masks combinations of few vectors, do lattice masks lack their noise?
conformance/README.md defines the recording."""

import array
import collections
import dataclasses
import functools
import itertools
import json
import math
import os
import sys

from . import (artifact, errors, fields, held, hiding, lattice, parameters, randomness, ring, synthetic_views,
               wire)

VERSION = 2
FALSE_ALARMS = 0.001   # of all checks of one recording together
SHARES = {"single bits": 4, "high bits": 8, "low bits": 8, "planes": 8, "multiplicity": 8,
          "reuse": 8, "rank": 16, "noise": 16}
MOST_ROWS = 128        # columns of one input that the rank is computed of
BINS = 64
CERTAIN = 3.1          # standard deviations: a power of 0.999
SURPLUS = 16           # equations beyond the number of unknowns


@dataclasses.dataclass(frozen=True)
class Column:
    session: int
    sequence: int
    group: int
    place: int           # in its message
    label: str | None    # the input, where the experimenter knows it
    data: bytes          # plane after plane
    primes: tuple

    @functools.cached_property
    def values(self):
        """Its residues mod L."""
        return ring.join(self.data, self.primes)


@dataclasses.dataclass(frozen=True)
class Finding:
    check: str
    p: float | None      # None: not enough data
    threshold: float
    detail: str
    power: str

    @property
    def flagged(self):
        return self.p is not None and self.p < self.threshold


def read(path):
    """(parameter set, columns) of a recording. Throws BadInput, naming the line."""
    number = 1
    try:
        with path.open() as lines:
            head = json.loads(next(lines, "{}"))
            if (head["format"], head["version"]) != ("slip-view", VERSION):
                raise ValueError(f"not a slip-view, version {VERSION}")
            if head["set"] not in hiding.SETS:
                raise ValueError(f"set {head['set']}: expected one of {', '.join(hiding.SETS)}")
            own, columns = hiding.SETS[head["set"]], []
            for number, line in enumerate(lines, 2):
                columns += columns_of(json.loads(line), own)
    except (KeyError, TypeError, ValueError) as error:
        raise errors.BadInput("read view", "THREAT-1",
                              f"{path}, line {number}: {type(error).__name__}: {error}") from error
    return own, columns


def columns_of(message, own):
    """Those of one line."""
    result = []
    for place, residues in enumerate(message["columns"]):
        data = bytes(list(residues))
        found = ring.fault(data, own.primes) if data else "it is empty"
        if found:
            raise ValueError(f"column {place}, {found}")
        result.append(Column(message["session"], message["sequence"], message["group"], place,
                             message.get("input"), data, own.primes))
    return result


class Recorder:
    """Writes what a David received: one line per message, a file that only its owner reads."""

    def __init__(self, path, own):
        self.primes, self.sessions = own.primes, 0
        self.file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w")
        self.write({"format": "slip-view", "version": VERSION, "set": own.name})

    def write(self, entry):
        self.file.write(json.dumps(entry, separators=(",", ":")) + "\n")
        self.file.flush()

    def add(self, frames, shapes):
        """One session."""
        for data in frames:
            if data[4] == wire.APPLY:
                frame = wire.decode(data, self.primes, shapes)
                self.write({"session": self.sessions, "sequence": frame["sequence"],
                            "group": frame["group"], "columns": list(map(list, frame["columns"]))})
        self.sessions += 1


# Distributions -----------------------------------------------------------------------------------

def normal_tail(z):
    """Pr[|Z| >= |z|]."""
    return math.erfc(abs(z) / math.sqrt(2))


def chi_square_tail(statistic, degrees):
    """Pr[X >= statistic]: the upper incomplete gamma function, by series or continued fraction."""
    a, x = degrees / 2, statistic / 2
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for k in itertools.count(1):
            term *= x / (a + k)
            total += term
            if term < total * 1e-15:
                return max(0.0, 1 - front * total)
    b = x + 1 - a
    c, d = 1e300, 1 / b
    fraction = d
    for k in itertools.count(1):
        step = -k * (k - a)
        b += 2
        d = 1 / (step * d + b)
        c = b + step / c
        fraction *= c * d
        if abs(c * d - 1) < 1e-14:
            return front * fraction


def chi_square(counts, bins, total):
    """The p-value of counts of equally likely bins."""
    expected = total / bins
    statistic = sum((counts.get(b, 0) - expected) ** 2 for b in range(bins)) / expected
    return chi_square_tail(statistic, bins - 1)


# Checks ------------------------------------------------------------------------------------------

def single_bits(values, L, alpha):
    """Every bit but the greatest by itself, and the upper half of the residues: a tilt, a parity, a
    bit that leans."""
    total, counts = len(values), bit_counts(values, L.bit_length() - 1)
    found = [(f"bit {bit}", count, share_of_bit(bit, L)) for bit, count in enumerate(counts)]
    found.append(("the upper half", sum(v > L // 2 for v in values), (L // 2) / L))
    worst, z = max(((name, (count - total * share) / math.sqrt(total * share * (1 - share)))
                    for name, count, share in found), key=lambda entry: abs(entry[1]))
    reach = critical(alpha / len(found)) + CERTAIN
    return Finding("single bits", min(1.0, len(found) * normal_tail(z)), alpha,
                   f"{worst} is {z:+.1f} standard deviations from its share of {total} residues",
                   f"finds a bit that leans by 1% in {math.ceil(reach**2 * 1e4)} residues; in these, one "
                   f"that leans by {reach / math.sqrt(total):.2%}")


def share_of_bit(bit, L):
    """The share of the residues 0..L-1 in which a bit is set."""
    whole, rest = divmod(L, 2 << bit)
    return (whole * (1 << bit) + max(0, rest - (1 << bit))) / L


def bit_counts(values, width):
    """How many values have each bit set, from counts of their bytes."""
    data = array.array("Q", values).tobytes()
    counts = [0] * 64
    for place in range(-(-width // 8)):
        own = place if sys.byteorder == "little" else 7 - place
        for byte, count in collections.Counter(data[own::8]).items():
            for bit in range(8):
                counts[8 * place + bit] += count * (byte >> bit & 1)
    return counts[:width]


def bits(values, check, bin_of, alpha):
    total = len(values)
    if total < 16 * BINS:
        return too_few(check, alpha, total, 16 * BINS)
    p = chi_square(collections.Counter(map(bin_of, values)), BINS, total)
    enough = noncentrality(alpha, BINS - 1)
    return Finding(check, p, alpha, f"{total} residues in {BINS} bins",
                   f"finds one bin that is {math.sqrt(enough * BINS / total):.1%} off, or all of "
                   f"them by 1% in {math.ceil(enough * 1e4)} residues")


def too_few(check, alpha, total, least, of="residues"):
    return Finding(check, None, alpha, f"{total} {of}, {least} are needed", "none")


def each_plane(columns, primes, alpha):
    """Every value of a byte in its plane: a sampler that reduces, or draws beyond its prime."""
    total = sum(len(column.data) for column in columns) // len(primes)
    if total < 16 * primes[0]:
        return too_few("planes", alpha, total, 16 * primes[0])
    counts = [collections.Counter() for _ in primes]
    for column in columns:
        for own, plane in zip(counts, ring.planes(column.data, primes)):
            own.update(plane)
    worst, p = min(((plane, chi_square(own, prime, total))
                    for plane, (own, prime) in enumerate(zip(counts, primes))),
                   key=lambda entry: entry[1])
    enough = noncentrality(alpha / len(primes), primes[0] - 1)
    return Finding("planes", min(1.0, len(primes) * p), alpha,
                   f"plane {worst} is the least even one of {len(primes)}, {total} bytes each",
                   f"finds a byte that is {math.sqrt(enough * primes[0] / total):.1%} off in one plane")


def noncentrality(alpha, degrees):
    """At which the chi-square test has a power of about 0.999: mean and deviation of the statistic
    are degrees + x and sqrt(2 (degrees + 2 x))."""
    limit = bisect(lambda x: chi_square_tail(x, degrees) > alpha, 1000.0 + degrees)
    return bisect(lambda x: degrees + x - CERTAIN * math.sqrt(2 * (degrees + 2 * x)) < limit, 4000.0)


def multiplicity(values, L, alpha):
    """How often the most frequent residue occurs: Pr <= N^k / (k! L^(k-1))."""
    total = len(values)
    ordered = sorted(values)
    again = collections.Counter(v for v, next_one in zip(ordered, ordered[1:]) if v == next_one)
    k = 1 + max(again.values(), default=0)
    log_p = k * math.log(total) - math.lgamma(k + 1) - (k - 1) * math.log(L)
    return Finding("multiplicity", math.exp(min(0.0, log_p)) if k > 1 else 1.0, alpha,
                   f"the most frequent residue occurs {k} times",
                   "finds a residue that is returned in place of another")


class Closeness:
    """Of two residues: they differ by as much as two activations may, and with lattice masks also by
    tau times the difference of two small integers. Of the hidden split `own` is that of a width."""

    def __init__(self, own):
        self.L = ring.modulus(own.primes)
        self.small = 2 * largest_norm(own)
        most, tau = (2 * own.lattice.eta, own.lattice.tau) if own.lattice else (0, 0)
        self.offsets = [k * tau for k in range(-most, most + 1)]
        self.width = self.small + 1     # of a bucket
        self.leading = 1 if own.lattice else 2  # entries by which columns are looked up
        self.buckets = self.L // self.width + 1
        self.chance = len(self.offsets) * (2 * self.small + 1) / self.L

    def holds(self, a, b):
        return any((a - b + offset + self.small) % self.L <= 2 * self.small
                   for offset in self.offsets)

    def near(self, value):
        """The buckets in which there are residues that are close."""
        found = set()
        for offset in self.offsets:
            own = (value + offset) % self.L
            found |= {(own - self.small) % self.L // self.width, own // self.width,
                      (own + self.small) % self.L // self.width}
            if own < self.small or own + self.small >= self.L:
                found |= {0, self.buckets - 1}
        return found


def largest_norm(own):
    return own.lattice.B_q if own.lattice else parameters.NORM_MAX


def reuse(columns, own, alpha=FALSE_ALARMS / SHARES["reuse"]):
    """A column that is close to another one, possibly shifted, in every entry. What is close depends on
    tau, and so of the hidden split on the class of widths: columns of two classes are not compared."""
    classes = collections.defaultdict(list)
    for column in columns:
        classes[hiding.at_width(own, len(column.data) // own.planes)].append(column)
    found = [reuse_in_class(theirs, at, alpha / len(classes)) for at, theirs in classes.items()]
    return min(found, key=lambda finding: finding.p)


def reuse_in_class(columns, own, alpha):
    close = Closeness(own)
    alignments = len(columns) * sum(len(column.values) for column in columns)
    best, detail = 1.0, "no two columns are close"
    for c, other, start, overlap in agreements(columns, close):
        p = math.exp(min(0.0, math.log(alignments) + overlap * math.log(close.chance)))
        if p < best:
            best = p
            detail = f"{describe(columns[c])} and {describe(columns[other])}, shifted by {start}, " \
                     f"agree in {overlap} entries"
        if best < alpha:  # the first that is found is enough: there may be very many
            break
    return Finding("reuse", best, alpha, detail, "finds the first mask that is used twice, if its column "
                   f"has {needed(alignments, close.chance, alpha)} entries or more; shifted, if so many "
                   "overlap")


def agreements(columns, close):
    """(one column, another, where the first begins in the other, the entries that overlap), where all of
    these are close."""
    buckets = first_entries(columns, close)
    for other, theirs in enumerate(columns):
        places = [value // close.width for value in theirs.values]
        for start, key in enumerate(zip(*(places[k:] for k in range(close.leading)))):
            for c in buckets.get(key, ()):
                if c == other or (start == 0 and other < c):
                    continue
                overlap = agreement(columns[c].values, theirs.values, start, close)
                if overlap:
                    yield c, other, start, overlap


def first_entries(columns, close):
    """{buckets: columns to whose leading entries there are close residues in these}."""
    buckets = collections.defaultdict(list)
    for c, column in enumerate(columns):
        for key in itertools.product(*map(close.near, column.values[:close.leading])):
            buckets[key].append(c)
    return buckets


def agreement(own, theirs, start, close):
    """The entries that overlap if all of them are close, else 0."""
    overlap = min(len(own), len(theirs) - start)
    return overlap if all(close.holds(own[i], theirs[start + i]) for i in range(overlap)) else 0


def needed(alignments, chance, alpha):
    """The least overlap that is flagged."""
    bound = math.log(alpha) - math.log(alignments)
    return max(1, math.floor(bound / math.log(chance)) + 1)


def describe(column):
    return f"session {column.session} message {column.sequence} column {column.place}"


def rank(columns, primes, alpha):
    """Columns of one input differ by differences of masks, which have full rank in each field."""
    inputs = collections.defaultdict(list)
    for column in columns:
        if column.label is not None:
            inputs[column.label, column.group, len(column.data)].append(column.data)
    inputs = {place: own[:MOST_ROWS] for place, own in inputs.items() if len(own) > 2}
    best, detail, most = None, "no input with 3 columns or more", 0
    for (label, *_), own in inputs.items():
        for plane, p in enumerate(primes):
            rows = differences([ring.planes(data, primes)[plane] for data in own], p)
            found, full = fields.rank_of(rows, p), min(len(rows), len(rows[0]))
            most = max(most, full)
            chance = min(1.0, len(inputs) * len(primes) * fields.chance_of_rank(found, rows, p))
            if best is None or chance < best:
                best = chance
                detail = f"input {label}, plane {plane}: rank {found} of {full}, {len(own)} columns"
    power = f"finds masks that combine {most - 3} vectors" if most > 3 else "none"
    return Finding("rank", best, alpha, detail, power)


def differences(rows, p):
    """Of each but the first to the first."""
    return [[(a - b) % p for a, b in zip(row, rows[0])] for row in rows[1:]]


def noise(columns, own, seed, alpha):
    """Columns of one input and one block differ, without their noise, by coefficients of T S. Mod the
    first prime that is more equations than S has unknowns: do they have a solution?"""
    if own.lattice is None or seed is None:
        return Finding("noise", None, alpha, "it needs lattice masks, and the seed of T (--masks)",
                       "none")
    unknowns, p = own.lattice.N * own.lattice.d, own.primes[0]
    systems, most = {}, 0
    for (group, number), inputs in blocks(columns, own).items():
        if group not in systems:
            equations = list(itertools.islice(equations_of(inputs, own, seed), unknowns + SURPLUS))
            most = max(most, len(equations))
            if len(equations) == unknowns + SURPLUS:
                systems[group] = number, fields.left_over(equations, p)
    if not systems:
        return too_few("noise", alpha, most, unknowns + SURPLUS, "equations")
    for group, (number, implied) in systems.items():
        if implied is not None:
            return Finding("noise", min(1.0, len(systems) * p ** -implied), alpha,
                           f"one secret explains block {number} of group {group}", NOISELESS)
    return Finding("noise", 1.0, alpha,
                   f"{len(systems)} blocks, each of another group; no secret explains any of them",
                   NOISELESS)


NOISELESS = "finds masks without noise, if a group takes those of a block in their order"


def blocks(columns, own):
    """{(group, number): {label: [(i, column)]}}, if a group takes masks in their order."""
    result = collections.defaultdict(lambda: collections.defaultdict(list))
    taken = collections.Counter()
    for column in columns:
        number, i = divmod(taken[column.group], own.lattice.N)
        taken[column.group] += 1
        if column.label is not None:
            result[column.group, number][column.label].append((i, column))
    return result


def equations_of(inputs, own, seed):
    """Of the differences of columns of one input to the first of them: for each entry the coefficients
    of S and the right side, mod the first prime."""
    p = own.primes[0]
    for (base, first), *others in inputs.values():
        T = public_plane(own, seed, len(first.data) // own.planes)
        for i, column in others:
            for row, x, x_0 in zip(T, column.data, first.data):
                yield [(a - b) % p for a, b in zip(turned(row, i), turned(row, base))] + [(x - x_0) % p]


def turned(row, i):
    """What S is multiplied with in coefficient i."""
    return [entry for element in row for entry in lattice.turned(element, i)]


@functools.cache
def public_plane(own, seed, width):
    """T mod the first prime."""
    N, d = own.lattice.N, own.lattice.d
    return [lattice.elements(list(randomness.public_plane(own, randomness.PUBLIC_MASKS, width, row,
                                                          seed, d * N, 0)), N)
            for row in range(width)]


def critical(alpha):
    """z with Pr[|Z| >= z] = alpha."""
    return bisect(lambda z: normal_tail(z) > alpha, 40.0)


def bisect(below, high):
    """The point in 0 .. high at which `below` turns false."""
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return high


def findings(own, columns, false_alarms=FALSE_ALARMS, seed=None):
    """The verdict of every check; columns is not empty. `seed` is that of T."""
    primes, L = own.primes, ring.modulus(own.primes)
    values = [v for column in columns for v in column.values]
    part = {check: false_alarms / share for check, share in SHARES.items()}
    return [single_bits(values, L, part["single bits"]),
            bits(values, "high bits", lambda v: v * BINS // L, part["high bits"]),
            bits(values, "low bits", lambda v: v % BINS, part["low bits"]),
            each_plane(columns, primes, part["planes"]),
            multiplicity(values, L, part["multiplicity"]), reuse(columns, own, part["reuse"]),
            rank(columns, primes, part["rank"]), noise(columns, own, seed, part["noise"])]


# The command -------------------------------------------------------------------------------------

def labelled(columns):
    """--repeats: every session has the same input, so message and place name it."""
    return [dataclasses.replace(column, label=f"message {column.sequence} column {column.place}")
            for column in columns]


def command(arguments):
    if arguments.calibrate:
        return report_calibration(arguments)
    if arguments.held:
        return report(held.of_artifact(arguments), arguments, "a hidden split")
    if arguments.file is None:
        raise errors.BadInput("view", "THREAT-1", "a recording, --held DIR or --calibrate N, is needed")
    own, columns = read(arguments.file)
    errors.require(columns, "view", "THREAT-1", f"{arguments.file}: no message was recorded")
    if arguments.each_session:
        return each_session(own, columns, arguments.false_alarms)
    results = findings(own, labelled(columns) if arguments.repeats else columns,
                       arguments.false_alarms, seed_of(arguments.masks, own))
    return report(results, arguments, "a recording of uniform masks")


def report(results, arguments, of):
    if arguments.json:
        print(json.dumps([dataclasses.asdict(result) | {"flagged": result.flagged}
                          for result in results]))
    else:
        show(results, arguments.false_alarms, of)
    return 1 if any(result.flagged for result in results) else 0


def seed_of(path, own):
    """MODEL-7: of T, in a masks.safetensors of the set."""
    if path is None:
        return None
    tensors, lattice_of = artifact.SafeTensors(path), own.lattice
    errors.require(lattice_of, "view", "MASK-7", f"{path}: masks of the set {own.name} are uniform")
    seed, row = bytes(tensors.flat("seed", "U8")), artifact.hint_row(own)
    errors.require(len(seed) == 32 and all(tensors.shape(name)[1:] == row for name in tensors.header
                                           if name != "seed"),
                   "view", "MODEL-7", f"{path}: expected a seed of 32 bytes, and rows of {row}")
    return seed


def report_calibration(arguments):
    rows = synthetic_views.calibrate(arguments.calibrate, arguments.seed)
    if arguments.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            print("{set}, {recordings}: {flagged} of {count} flagged".format(**row))
    return 0


def each_session(own, columns, false_alarms):
    """Every session as a recording of its own: how many are flagged."""
    sessions = collections.defaultdict(list)
    for column in columns:
        sessions[column.session].append(column)
    flagged = [number for number, theirs in sessions.items()
               if any(finding.flagged for finding in findings(own, theirs, false_alarms))]
    print(f"{len(flagged)} of {len(sessions)} sessions flagged; each with probability at most "
          f"{false_alarms} if masks are uniform")
    return 1 if len(flagged) > 3 + 3 * false_alarms * len(sessions) else 0


def show(results, false_alarms, of):
    for result in results:
        verdict = "FLAGGED" if result.flagged else "-" if result.p is None else "pass"
        p = "" if result.p is None else f"p = {result.p:.3g}, threshold {result.threshold:.3g}; "
        print(f"{verdict:8}{result.check}: {p}{result.detail}\n        {result.power}")
    print(f"false alarms of all checks together: at most {false_alarms} {of}")
