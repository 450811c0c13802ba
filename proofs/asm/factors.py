"""The contracts of the low rank part of AVX-512, of any size, with entries of 12 bits (twelve_bits.hpp)."""

import os

import z3

import linear
import terms as t
from layouts import EXTENT
from machine import Refused
from run import Part
from sizes import divided
from spec import SPACE
from totals import Totals

LANES = 32              # of a register of 16-bit numbers
SLICE = 4 * LANES       # columns that stand together
GROUP = 8               # rows of B that stand together
PACKED = 3 * 2 * LANES  # bytes of a slice of one row


def entry(number):
    """An entry of a row's slice: of the first three registers the upper 12 bits of a word each, of the
    fourth 4 bits below each of these, the lowest first."""
    register, lane = divmod(number, LANES)

    def value(v):
        words = [16 * (LANES * g + lane) for g in range(3)]
        if register < 3:
            return z3.SignExt(52, z3.Extract(words[register] + 15, words[register] + 4, v))
        return z3.SignExt(52, z3.Concat([z3.Extract(low + 3, low, v) for low in reversed(words)]))
    return Part(f"entry {number}", value, (-2047, 2047))


# How many columns the last slice has, from the least to the greatest number: of each range other masks
# are made. Everyday one of them.
RESTS = ((0, 0), (1, 31), (32, 63), (64, 95), (96, 127))
EVERYDAY = (32, 63)


def right_of_slices(image, run, backend, k, n):
    """What pack_right leaves: [groups][slices][GROUP] of PACKED bytes, padded with zeros."""
    right, size, b = linear.packed_right(run, backend, k, n)
    slices = -(-n // SLICE)
    run.expect(size, -(-k // GROUP) * GROUP * slices * PACKED, 64, "right_bytes")
    for place in range(size // PACKED):
        group, slice_, r = place // GROUP // slices, place // GROUP % slices, place % GROUP
        c, packed = group * GROUP + r, run.output(right + place * PACKED, 8 * PACKED)
        for i in range(SLICE):
            j = slice_ * SLICE + i
            own = z3.SignExt(48, b[c * n + j]) if c < k and j < n else 0
            run.expect(entry(i).value(t.term(packed, 8 * PACKED)), own, 64, f"b[{c}][{j}]")


def inner_of_slices(image, run, backend):
    """z = B q of any size, with B as pack_right leaves it (right_of_slices). n = SLICE whole + rest, and each
    range of the rest is executed separately: everyday, for time, one alone."""
    if "n" in run.fixed:
        return linear.low_rank_inner(image, run, backend, run.fixed["k"], run.fixed["n"])
    for ends in RESTS if os.environ.get("SLIP_FULL") else (EVERYDAY,):
        inner_of_rest(run, backend, *ends)
    return None


def inner_of_rest(run, backend, least, greatest):
    machine, explorer = run.of_any_size()
    run.sum_products()
    sums_of, sizes, last = Totals(machine), machine.sizes, 1 if greatest else 0
    groups, pad, slices, rest = (sizes.symbol(name, *ends) for name, ends in (
        ("groups", (0, EXTENT // GROUP + 1)), ("pad", (0, GROUP - 1)),
        ("slices", (last, EXTENT // SLICE + 1)), ("rest", (least, greatest))))
    k, whole = t.sub(t.scale(groups, GROUP, 64), pad, 64), t.sub(slices, last, 64)
    sizes.assume([sizes.total(pad)], sizes.total(k) >= 0)
    n = t.add(t.scale(whole, SLICE, 64), rest, 64)
    right = machine.input("right", t.scale(sizes.product_of(groups, slices), GROUP * PACKED, 64), PACKED, [
        run.family("slice", 8 * PACKED, parts=[entry(i) for i in range(SLICE)])], alignment=64)
    q_at = machine.input("q", t.scale(n, 2, 64), 2, [run.family(
        "q", 16, lambda v: [v >= -32767], [Part("value", lambda v: z3.SignExt(48, v), (-32767, 32767))])])

    def products(row):
        """Of a row whose first slice has this index."""
        b, q = [sums_of.of(right, f"entry {i}") for i in range(SLICE)], sums_of.of(q_at, "value")
        found = [sums_of.stretch(((b[i], row, GROUP), (q, i, SLICE)), whole, EXTENT // SLICE)
                 for i in range(SLICE)]
        behind, first = t.add(row, t.scale(whole, GROUP, 64), 64), t.scale(whole, SLICE, 64)
        for i in range(-(-greatest // LANES) * LANES):  # column i of the last slice if n has it, and else 0
            before = i // LANES * LANES
            bit = machine.guard_bit(t.sub(rest, before, 64), i - before) if before + LANES > least else None
            found.append(sums_of.stretch(((b[i], behind, 0), (
                sums_of.of(q_at, "value", bit), t.add(first, i, 64), 0)), 1, 1))
        return [(one, 1) for one in found]

    def check(_, code, c):
        r = t.linear(c, 64)[1] % GROUP
        group = divided(t.sub(c, r, 64), GROUP)
        if group is None:
            raise Refused("an element of z of which the row in its group is not known")
        row = t.add(t.scale(sizes.multiple(group, slices), GROUP, 64), r, 64)
        sums_of.expect(code, 64, (products(row), {}), "an element of z")
    z_at = machine.output("z", t.scale(k, 8, 64), 8, None, check)
    explorer.call(f"{SPACE}{backend}::low_rank_inner", [right, k, n, q_at, z_at])
