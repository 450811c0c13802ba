"""The contract of the portable `pack_left`, of any size: A row by row in 16 bits per entry, shifted by the
row's exponent, and behind the entries the exponents of the rows. The exponent of a row and what is left of a
row are proved on their own, of each exponent, and then that each row is laid out once.

A row valid by PARAM-2 is 2^e times numbers of at most 2047 in magnitude; if e > 0, one of them is at least
1024, which makes e the least exponent. Which one it is is open: a register is proved to tell whether it was
read."""

import z3

import terms as t
from grids import Grid, Part
from layouts import EXTENT
from machine import Refused, same
from panels import refuse_store
from regions import Chunk, claimed
from spec import SPACE

LARGEST, LEAST, MOST = 2047, 1024, 20  # entries without their exponent; exponents


def entries(run, exponent):
    """A valid row's."""
    most, low = LARGEST << exponent, (1 << exponent) - 1
    return run.family("a", 32, lambda v: [v >= -most, v <= most, v & low == 0])


def exponents(image, run, backend):
    for exponent in [run.fixed["e"]] if "e" in run.fixed else range(MOST + 1):
        least_exponent(run, backend, exponent)


def least_exponent(run, backend, exponent):
    """Proves that every entry is read, and that the result is the row's exponent if one of them is an entry
    that makes it the least."""
    machine, explorer = run.of_any_size()
    k = machine.sizes.symbol("k", 0, EXTENT)
    row = machine.input("row", t.scale(k, 4, 64), 4, [entries(run, exponent)])
    least, most, low = LEAST << exponent, LARGEST << exponent, (1 << exponent) - 1
    machine.watch_elements(row, lambda v: z3.Or(v >= least, v <= -least), lambda v: z3.UGE(v, least))
    machine.bounds_kept = lambda v: z3.And(z3.ULE(v, most), v & low == 0)

    def conclude():
        found = t.term(t.extract(machine.returned(), 0, 8), 8)
        is_valid = machine.seen if exponent else z3.BoolVal(True)
        run.expect_that(z3.Implies(is_valid, found == exponent), "the exponent of a row")
    explorer.call(f"{SPACE}{backend}::least_exponent", [row, k], conclude)


def rows(image, run, backend):
    """What shift_row leaves of a row, of each exponent."""
    for exponent in [run.fixed["e"]] if "e" in run.fixed else range(MOST + 1):
        shift_row(run, backend, exponent)


def shift_row(run, backend, exponent):
    machine, explorer = run.of_any_size()
    k = machine.sizes.symbol("k", 0, EXTENT)
    row = machine.input("row", t.scale(k, 4, 64), 4, [entries(run, exponent)])
    element = machine.reader(row)

    def check(_, code, read):
        run.expect(code, z3.Extract(15, 0, read[0] >> exponent), 16, "an entry")
    packed = machine.output("packed", t.scale(k, 2, 64), 2, lambda _, i: [element(0, i)], check)
    explorer.call(f"{SPACE}{backend}::shift_row", [row, k, exponent, packed])


class Rows(Grid):
    """Of each row its entries and its exponent, which stands behind the entries of all."""

    def __init__(self, machine, m, behind):
        super().__init__(machine, (m, 2))
        self.behind = behind

    def part(self, low, high):
        return Part((t.sub(low, self.behind, 64), 1), (t.sub(high, self.behind, 64), 2))


def pack(image, run, backend):
    """All rows, by the contracts of `exponents` and `rows`: what the first finds of a row is its exponent."""
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    m, k = (sizes.symbol(name, 0, EXTENT) for name in "mk")
    whole = sizes.product_of(m, k)
    a_at = machine.input("a", t.scale(whole, 4, 64), 4, [run.family("a", 32)])
    exponent = machine.reader(machine.input("exponents", m, 1, [run.family("exponent", 8)]))
    behind = t.scale(whole, 2, 64)
    end = t.add(behind, m, 64)
    left = machine.region("left", end, 2, [Chunk(0, behind, 2, check=refuse_store), Chunk(
        behind, end, 1, check=lambda code, index: run.expect(
            code, exponent(0, t.sub(index, behind, 64)), 8, "the exponent of a row"))], 64)
    grid = Rows(machine, m, behind)
    grid.region = machine.regions[t.ident(left)]

    def row_at(row, entries):
        """The number of a row of A."""
        number = sizes.row_of(t.sub(row, a_at, 64), t.scale(k, 4, 64))
        if number is None or not same(entries, k) or not machine.proved(*map(claimed, (
                sizes.total(number) >= 0, sizes.total(number) < sizes.total(m)))):
            raise Refused("a row that is none of A's")
        return number

    def least_exponent(machine):
        if machine.scouting:
            return machine.unknown("exponent", 64)
        row, entries = (machine.general[name] for name in machine.ARGUMENTS[:2])
        found = exponent(0, row_at(row, entries))
        return t.concat([(machine.unknown("above", 56), 56), (found, 8)])

    def shift_row(machine):
        machine.stores += 1
        if machine.scouting:
            return
        row, entries, by, to = (machine.general[name] for name in machine.ARGUMENTS[:4])
        number = row_at(row, entries)
        if not same(t.extract(by, 0, 8), exponent(0, number)) or not same(
                to, t.add(left, t.scale(sizes.multiple(number, k), 2, 64), 64)):
            raise Refused("a row that is shifted by another one's exponent, or to another place")
        grid.write(Part((number, 0), (t.add(number, 1, 64), 1)))
        run.outputs += 1
    machine.hooks |= {f"{SPACE}{backend}::least_exponent": least_exponent,
                      f"{SPACE}{backend}::shift_row": shift_row}
    explorer.call(f"{SPACE}{backend}::pack_left", [a_at, m, k, left])
