"""The contracts of the low rank part of AVX-512, of any size, with entries of 12 bits (twelve_bits.hpp)."""

import os

import z3

import linear
import terms as t
from grids import Grid, Part
from layouts import EXTENT
from machine import Refused, same
from panels import refuse_store
from regions import claimed
from run import Part as Number
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
    return Number(f"entry {number}", value, (-2047, 2047))


# How many columns the last slice has, from the least to the greatest number: of each range other masks
# are made. Everyday one of them.
RESTS = ((0, 0), (1, 31), (32, 63), (64, 95), (96, 127))
EVERYDAY = (32, 63)


def word(register, own, fourth):
    """The word of a register's entry in a slice, with 4 bits of the fourth's: terms of 16 bits."""
    return own << 4 | z3.LShR(fourth, 4 * register) & 15


def check_words(run):
    """That words hold the entries (entry)."""
    entries = [run.fresh(f"e[{i}]", 16, lambda v: [v >= -2047, v <= 2047]) for i in range(SLICE)]
    packed = z3.Concat([word(g, entries[LANES * g + lane], entries[3 * LANES + lane])
                        for g in reversed(range(3)) for lane in reversed(range(LANES))])
    for i, own in enumerate(entries):
        run.expect(entry(i).value(packed), z3.SignExt(48, own), 64, "an entry of a slice")


def slice_of_right(image, run, backend):
    """The first entries of a slice, and zeros."""
    machine, explorer = run.of_any_size()
    check_words(run)
    sizes = machine.sizes
    count = sizes.symbol("count", 0, SLICE)
    row = machine.input("row", t.scale(count, 2, 64), 2, [run.family("row", 16)])
    element = machine.reader(row)

    def entry_of(i):
        if machine.proved(claimed(sizes.total(i) < sizes.total(count))):
            return element(0, i)
        if machine.proved(claimed(sizes.total(i) >= sizes.total(count))):
            return z3.BitVecVal(0, 16)
        raise Refused("a place of a slice of which it is not known whether the row has it")

    def check(_, code, index):
        register, within = sizes.parted(index, 2 * LANES)
        byte = t.linear(within, 64)[1] % 2
        lane = divided(t.sub(within, byte, 64), 2)
        if lane is None or not t.is_int(register) or not machine.proved(
                claimed(sizes.total(lane) >= 0), claimed(sizes.total(lane) < LANES)):
            raise Refused("a byte of a slice of which the place is not known")
        own, fourth = (entry_of(t.add(lane, LANES * g, 64)) for g in (register, 3))
        run.expect(code, t.extract(word(register, own, fourth), 8 * byte, 8), 8, "a byte of a slice")
    packed = machine.output("packed", PACKED, 1, None, check)
    explorer.call(f"{SPACE}{backend}::pack_slice", [row, count, packed])


def right_of_slices(image, run, backend):
    """What pack_right leaves: [groups][slices][GROUP] of PACKED bytes, padded with zeros, each by what is
    proved of a slice (slice_of_right)."""
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    k, n = (sizes.symbol(name, 0, EXTENT) for name in "kn")
    groups, slices = (sizes.named_quotient(t.add(v, unit - 1, 64), unit.bit_length() - 1, name)
                      for v, unit, name in ((k, GROUP, "groups"), (n, SLICE, "slices")))
    b_at = machine.input("b", t.scale(sizes.product_of(k, n), 2, 64), 2, [run.family("b", 16)])
    grid = Grid(machine, (groups, slices, GROUP))
    right = machine.output("right", t.scale(sizes.product_of(groups, slices), GROUP * PACKED, 64), 1, None,
                           refuse_store, alignment=64)
    grid.region = machine.regions[t.ident(right)]

    def pack_slice(machine):
        machine.stores += 1
        if machine.scouting:
            return
        row, count, to = (machine.general[name] for name in machine.ARGUMENTS[:3])
        group, at, r = place_of(sizes, t.sub(to, right, 64), slices)
        c, first = t.add(t.scale(group, GROUP, 64), r, 64), t.scale(at, SLICE, 64)
        own, all_columns = sizes.value(count), sizes.total(n)
        if machine.proved(claimed(sizes.total(c) < sizes.total(k))):
            place = t.add(sizes.multiple(c, n), first, 64)
            begin, end = sizes.total(first), sizes.total(first) + own
            if not same(row, t.add(b_at, t.scale(place, 2, 64), 64)) or not machine.proved(
                    *map(claimed, (begin >= 0, own >= 1, own <= SLICE, end <= all_columns)),
                    z3.Or(claimed(own == SLICE), claimed(end == all_columns))):
                raise Refused("entries that are not proved to be all of a slice's")
        elif not machine.proved(*map(claimed, (
                sizes.total(c) >= sizes.total(k), own == 0, sizes.total(group) < sizes.total(groups),
                sizes.total(at) < sizes.total(slices)))):
            raise Refused("a slice of a row that B may have or not")
        grid.write(Part((group, at, r), (t.add(group, 1, 64), t.add(at, 1, 64), r + 1)))
        run.outputs += 1
    machine.hooks[f"{SPACE}{backend}::pack_slice"] = pack_slice
    explorer.call(f"{SPACE}{backend}::pack_right", [b_at, k, n, right])


def place_of(sizes, offset, slices):
    """(group, slice, row in the group) of packed bytes that begin at an offset."""
    if t.is_int(slices):
        group, within = sizes.parted(offset, slices * GROUP * PACKED)
    else:
        groups, within = sizes.rows_of(offset, slices)
        group = divided(groups, GROUP * PACKED)
    at, rest = sizes.parted(within, GROUP * PACKED)
    r = divided(rest, PACKED)
    if group is None or not t.is_int(r):
        raise Refused("bytes of B that are no row's slice")
    return group, at, r


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
    sums_of.are_shared = True
    groups, pad, slices, rest = (sizes.symbol(name, *ends) for name, ends in (
        ("groups", (0, EXTENT // GROUP + 1)), ("pad", (0, GROUP - 1)),
        ("slices", (last, EXTENT // SLICE + 1)), ("rest", (least, greatest))))
    k, whole = t.sub(t.scale(groups, GROUP, 64), pad, 64), t.sub(slices, last, 64)
    sizes.assume([sizes.total(pad)], sizes.total(k) >= 0)
    n = t.add(t.scale(whole, SLICE, 64), rest, 64)
    right = machine.input("right", t.scale(sizes.product_of(groups, slices), GROUP * PACKED, 64), PACKED, [
        run.family("slice", 8 * PACKED, parts=[entry(i) for i in range(SLICE)])], alignment=64)
    q_at = machine.input("q", t.scale(n, 2, 64), 2, [run.family(
        "q", 16, lambda v: [v >= -32767], [Number("value", lambda v: z3.SignExt(48, v), (-32767, 32767))])])

    def products(row):
        """Of a row whose first slice has this index."""
        b, q = [sums_of.of(right, f"entry {i}") for i in range(SLICE)], sums_of.of(q_at, "value")
        found = [sums_of.stretch(((b[i], row, GROUP), (q, i, SLICE)), whole, EXTENT // SLICE)
                 for i in range(SLICE)]
        behind, first = t.add(row, t.scale(whole, GROUP, 64), 64), t.scale(whole, SLICE, 64)
        # Column i of the last slice if n has it, and else 0; none of a register of which n has nothing.
        for before, i in ((before, before + lane) for before in range(0, greatest, LANES)
                          if before < least or not machine.proved(claimed(sizes.total(rest) <= before))
                          for lane in range(LANES)):
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
