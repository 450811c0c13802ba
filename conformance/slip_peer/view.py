"""Statistics on a recorded view of David: are the masked columns uniform, was a mask used twice or
shifted, are masks combinations of few vectors? conformance/README.md defines the recording."""

import array
import collections
import dataclasses
import itertools
import json
import math
import os
import random

from . import errors, parameters, wire

ALPHA = 0.001          # false alarms of all checks of one recording together
SHARES = {"half": 8, "high bits": 8, "low bits": 8, "multiplicity": 8, "reuse": 4, "rank": 4}
SMALL = 2 * parameters.QA_MAX  # two activations differ by at most this
MOST_ROWS = 128        # columns of one input that the rank is computed of
BINS = 64


@dataclasses.dataclass(frozen=True)
class Column:
    session: int
    sequence: int
    group: int
    place: int           # in its message
    label: str | None    # the input, where the experimenter knows it
    values: list


@dataclasses.dataclass(frozen=True)
class Finding:
    check: str
    p: float | None      # None: not enough data
    detail: str
    power: str

    @property
    def threshold(self):
        return ALPHA / SHARES[self.check]

    @property
    def flagged(self):
        return self.p is not None and self.p < self.threshold


def read(path):
    """(profile, columns) of a recording."""
    with path.open() as lines:
        head = json.loads(next(lines, "{}"))
        if head.get("format") != "slip-view" or head.get("version") != 1:
            raise errors.BadInput("read view", "THREAT-1", f"{path}: not a slip-view, version 1")
        profile = parameters.BY_NAME[head["profile"]]
        columns = []
        for line in lines:
            message = json.loads(line)
            for place, values in enumerate(message["columns"]):
                if not all(0 <= v < profile.L for v in values):
                    raise errors.BadInput("read view", "CONV-1", f"{path}: not a residue")
                columns.append(Column(message["session"], message["sequence"], message["group"],
                                      place, message.get("input"), values))
    return profile, columns


class Recorder:
    """Writes what a David received: a line a message, a file that only its owner reads."""

    def __init__(self, path, profile):
        self.profile, self.sessions = profile, 0
        self.file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w")
        self.write({"format": "slip-view", "version": 1, "profile": profile.name})

    def write(self, entry):
        self.file.write(json.dumps(entry, separators=(",", ":")) + "\n")
        self.file.flush()

    def add(self, frames, shapes):
        """One session."""
        for data in frames:
            if data[4] == wire.APPLY:
                frame = wire.decode(data, self.profile, shapes)
                self.write({"session": self.sessions, "sequence": frame["sequence"],
                            "group": frame["group"], "columns": frame["columns"]})
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

def half(values, L):
    """Residues below (L-1)/2, against those from there on: the test for a tilt."""
    total, middle = len(values), (L - 1) // 2
    share = middle / L
    low = sum(v < middle for v in values)
    z = (low - total * share) / math.sqrt(total * share * (1 - share)) if total else 0.0
    reach = 0.01 * math.sqrt(total) - critical(ALPHA / SHARES["half"])
    power = 1 - math.erfc(reach / math.sqrt(2)) / 2
    return Finding("half", normal_tail(z), f"{low} of {total} residues in the lower half",
                   f"a lower half 1% too dense is found with probability {power:.4f}")


def bits(values, L, check, bin_of):
    total = len(values)
    if total < 16 * BINS:
        return Finding(check, None, f"{total} residues, {16 * BINS} are needed", "none")
    p = chi_square(collections.Counter(map(bin_of, values)), BINS, total)
    return Finding(check, p, f"{total} residues in {BINS} bins",
                   "finds a bin that is sqrt(2000 / residues) too dense")


def multiplicity(values, L):
    """How often the most frequent residue occurs: Pr <= N^k / (k! L^(k-1))."""
    total = len(values)
    value, k = collections.Counter(values).most_common(1)[0] if values else (0, 0)
    log_p = k * math.log(max(total, 1)) - math.lgamma(k + 1) - (k - 1) * math.log(L)
    return Finding("multiplicity", math.exp(min(0.0, log_p)) if k > 1 else 1.0,
                   f"the most frequent residue occurs {k} times",
                   "finds a residue that is returned in place of another")


def reuse(columns, L):
    """A column whose difference to another one, possibly shifted, is small in every entry."""
    buckets = first_entries(columns, L)
    chance = (2 * SMALL + 1) / L
    alignments = len(columns) * sum(len(column.values) for column in columns)
    best, detail = 1.0, "no two columns are close"
    for other, theirs in enumerate(columns):
        for start, value in enumerate(theirs.values):
            for c in buckets.get(value // (SMALL + 1), ()):
                if c == other or (start == 0 and other < c):
                    continue
                overlap = agreement(columns[c].values, theirs.values, start, L)
                p = math.exp(min(0.0, math.log(alignments) + overlap * math.log(chance)))
                if overlap and p < best:
                    best = p
                    detail = f"{describe(columns[c])} and {describe(theirs)}, shifted by {start}, " \
                             f"agree in {overlap} entries"
    return Finding("reuse", best, detail, "finds the first mask that is used twice, if its column "
                   f"has {needed(alignments, chance)} entries or more; shifted, if so many overlap")


def first_entries(columns, L):
    """{bucket: columns whose first entry is within SMALL of a residue in the bucket}."""
    buckets = collections.defaultdict(set)
    for c, column in enumerate(columns):
        value = column.values[0]
        ends = {(value - SMALL) % L, value, (value + SMALL) % L}
        if value < SMALL or value + SMALL >= L:
            ends |= {0, L - 1}
        for end in ends:
            buckets[end // (SMALL + 1)].add(c)
    return buckets


def agreement(own, theirs, start, L):
    """The entries that overlap if all of them are close, else 0."""
    overlap = min(len(own), len(theirs) - start)
    return overlap if all(close(own[i], theirs[start + i], L) for i in range(overlap)) else 0


def needed(alignments, chance):
    """The least overlap that is flagged."""
    bound = math.log(ALPHA / SHARES["reuse"]) - math.log(max(alignments, 1))
    return math.floor(bound / math.log(chance)) + 1


def close(a, b, L):
    distance = (a - b) % L
    return distance <= SMALL or L - distance <= SMALL


def describe(column):
    return f"session {column.session} message {column.sequence} column {column.place}"


def rank_of(rows, L):
    """The rank over F_L."""
    rows, rank = [list(row) for row in rows], 0
    for j in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        inverse = pow(rows[rank][j], -1, L)
        head = [v * inverse % L for v in rows[rank]]
        rows[rank] = head
        for i in range(rank + 1, len(rows)):
            factor = rows[i][j]
            if factor:
                rows[i] = [(a - factor * b) % L for a, b in zip(rows[i], head)]
        rank += 1
        if rank == len(rows):
            break
    return rank


def rank(columns, L):
    """Columns of one input differ by differences of masks, which have full rank over F_L."""
    inputs = collections.defaultdict(list)
    for column in columns:
        if column.label is not None:
            inputs[column.label, column.group, len(column.values)].append(column.values)
    best, detail, most = None, "no input with 3 columns or more", 0
    for (label, _, n), values in inputs.items():
        rows = [[(a - b) % L for a, b in zip(row, values[0])] for row in values[1:MOST_ROWS]]
        if len(rows) < 2:
            continue
        found, full = rank_of(rows, L), min(len(rows), n)
        most = max(most, full)
        # Pr[rank <= r] of a uniform k x n matrix is below 4 L^-((k - r)(n - r)).
        p = 1.0 if found == full else \
            4 * math.exp(max(-700.0, -(len(rows) - found) * (n - found) * math.log(L)))
        if best is None or p < best:
            best, detail = p, f"input {label}: rank {found} of {full}, {len(rows) + 1} columns"
    return Finding("rank", best, detail, f"finds masks that combine fewer than {most} vectors")


def critical(alpha):
    """z with Pr[|Z| >= z] = alpha."""
    low, high = 0.0, 40.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if normal_tail(middle) > alpha else (low, middle)
    return low


def findings(profile, columns):
    L = profile.L
    values = [v for column in columns for v in column.values]
    return [half(values, L), bits(values, L, "high bits", lambda v: v * BINS // L),
            bits(values, L, "low bits", lambda v: v % BINS), multiplicity(values, L),
            reuse([column for column in columns if column.values], L), rank(columns, L)]


# Calibration -------------------------------------------------------------------------------------

def uniform(profile, count):
    """Residues from the operating system, rejected as RAND-2 says."""
    code, size = ("I", 4) if profile is parameters.P31 else ("Q", 8)
    result = []
    while len(result) < count:
        words = array.array(code, os.urandom((count - len(result) + 8) * size))
        result += [v for v in (word & profile.L for word in words) if v < profile.L]
    return result[:count]


def masked(profile, masks, q=None, label=None):
    """Columns of one session under the given masks."""
    result = []
    for place, mask in enumerate(masks):
        activation = q or [random.randint(-9999, 9999) for _ in mask]
        values = [(r + v) % profile.L for r, v in zip(mask, activation)]
        result.append(Column(0, place, 0, 0, label, values))
    return result


def honest(profile):
    q = [random.randint(-9999, 9999) for _ in range(64)]
    return masked(profile, [uniform(profile, 64) for _ in range(60)], q, "one")


def few_vectors(profile):
    """50 vectors, of which every mask is a random combination; one input; 60 messages, n = 60."""
    basis = [uniform(profile, 60) for _ in range(50)]
    masks = []
    for _ in range(60):
        factors = uniform(profile, 50)
        masks.append([sum(map(int.__mul__, factors, row)) % profile.L for row in zip(*basis)])
    return masked(profile, masks, [random.randint(-9999, 9999) for _ in range(60)], "one")


def reused(profile):
    """The last mask of 60 is that of an earlier message."""
    masks = [uniform(profile, 16) for _ in range(60)]
    masks[59] = masks[random.randrange(59)]
    return masked(profile, masks)


def shifted(profile):
    """The last mask begins inside an earlier one."""
    masks = [uniform(profile, 16) for _ in range(60)]
    masks[59] = masks[random.randrange(59)][4:] + uniform(profile, 4)
    return masked(profile, masks)


def tilted(profile):
    """Half a million residues, of which the lower half is 1% too dense and the upper 1% too thin."""
    values = uniform(profile, 500_000)
    middle = (profile.L - 1) // 2
    for index in random.sample(range(len(values)), len(values) // 100):
        values[index] %= middle
    return [Column(0, i, 0, 0, None, values[at:at + 500])
            for i, at in enumerate(range(0, len(values), 500))]


RECORDINGS = [("honest", honest, False), ("50 vectors, 60 messages of one input", few_vectors, True),
              ("one mask used twice", reused, True), ("one mask shifted by 4", shifted, True),
              ("lower half 1% too dense, 500000 residues", tilted, True)]


def calibrate(count, profile=parameters.P31):
    """How many of `count` synthetic recordings of each kind are flagged."""
    rows = []
    for name, make, wrong in RECORDINGS:
        flagged = sum(any(finding.flagged for finding in findings(profile, make(profile)))
                      for _ in range(count))
        rows.append({"recordings": name, "wrong": wrong, "count": count, "flagged": flagged})
        print(f"{name}: {flagged} of {count} flagged", flush=True)
    return rows


# The command -------------------------------------------------------------------------------------

def labelled(columns):
    """--repeats: every session has the same input, so message and place name it."""
    return [dataclasses.replace(column, label=f"message {column.sequence} column {column.place}")
            for column in columns]


def command(arguments):
    if arguments.calibrate:
        rows = calibrate(arguments.calibrate)
        if arguments.json:
            print(json.dumps(rows))
        return 0
    if arguments.file is None:
        raise errors.BadInput("view", "THREAT-1", "a recording, or --calibrate N, is needed")
    profile, columns = read(arguments.file)
    if arguments.each_session:
        return each_session(profile, columns)
    results = findings(profile, labelled(columns) if arguments.repeats else columns)
    if arguments.json:
        print(json.dumps([dataclasses.asdict(result) | {
            "threshold": result.threshold, "flagged": result.flagged} for result in results]))
    else:
        show(results)
    return 1 if any(result.flagged for result in results) else 0


def each_session(profile, columns):
    """Every session as a recording of its own: how many are flagged."""
    sessions = collections.defaultdict(list)
    for column in columns:
        sessions[column.session].append(column)
    flagged = [number for number, own in sessions.items()
               if any(finding.flagged for finding in findings(profile, own))]
    print(f"{len(flagged)} of {len(sessions)} sessions flagged; each with probability at most "
          f"{ALPHA} if masks are uniform")
    return 1 if len(flagged) > 3 + 3 * ALPHA * len(sessions) else 0


def show(results):
    for result in results:
        verdict = "FLAGGED" if result.flagged else "-" if result.p is None else "pass"
        p = "" if result.p is None else f"p = {result.p:.3g}, threshold {result.threshold:.3g}; "
        print(f"{verdict:8}{result.check}: {p}{result.detail}\n        {result.power}")
    print(f"false alarms of all checks together: at most {ALPHA} a recording of uniform masks")
