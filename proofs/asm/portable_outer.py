"""The contracts of the portable `low_rank_outer`, of any size, with A row by row, as the portable `pack_left`
leaves it: behind the entries stands the exponent of each row. `combine_rows` is what is left of 4 rows or of
one, and `low_rank_outer` is proved to take each row once."""

import z3

import sums
import terms as t
from grids import Grid, Part
from layouts import EXTENT
from machine import Refused, same
from regions import claimed
from run import Part as Number
from spec import SPACE
from totals import Totals

TOGETHER = 4, 1  # rows


def words(name, width, largest):
    """The facts and the parts of a number of so many bits: itself, and its words of 32 bits, which kernels
    multiply that have no product of 64 bits."""
    mask = (1 << 32) - 1

    def wide(v):
        return z3.SignExt(64 - width, v)
    return (lambda v: [v >= -largest, v <= largest],
            [Number("value", wide, (-largest, largest)), Number("low", lambda v: wide(v) & mask, (0, mask)),
             Number("high", lambda v: z3.LShR(wide(v), 32), (0, mask))])


def combine_rows(image, run, backend, rows):
    """y = 2^16 y_david + 2^e A z of so many rows, of some columns and of none. Sums of products are modulo
    2^64 (DECO-7)."""
    for least, most in ((1, EXTENT), (0, 0)) if "k" not in run.fixed else ((0, EXTENT),):
        combine_columns(run, backend, rows, least, most)


def combine_columns(run, backend, rows, least, most):
    machine, explorer = run.of_any_size()
    run.sum_products()
    sums.SHIFTS.append(True)
    sums_of, sizes = Totals(machine), machine.sizes
    k = sizes.symbol("k", least, most) if most else 0
    a_at = machine.input("a", t.scale(k, 2 * rows, 64), 2, [run.family("a", 16, *words("a", 16, 2047))])
    exponents_at = machine.input("exponents", rows, 1, [run.family("exponent", 8, lambda v: [z3.ULE(v, 20)])])
    z_at = machine.input("z", t.scale(k, 8, 64), 8, [run.family("z", 64, *words("z", 64, 1 << 53))])
    david = machine.input("y_david", 8 * rows, 8, [run.family("y_david", 64)])
    before, exponent = machine.reader(david), machine.reader(exponents_at)
    a, z = sums_of.of(a_at, "value"), sums_of.of(z_at, "value")

    def check(_, code, r):
        total = t.term(0, 64)
        if most:
            row = sums_of.stretch(((a, sizes.multiple(r, k), 1), (z, 0, 1)), k, EXTENT)
            total = t.term(sums_of.named(code, [(row, 1)], "an element of y").named(), 64)
        spec = t.add(t.shl(before(0, r), 16, 64), total << t.zero_extend(exponent(0, r), 8, 64), 64)
        run.expect(code, spec, 64, "an element of y")
    y_at = machine.output("y", 8 * rows, 8, None, check)
    explorer.call(f"{SPACE}{backend}::combine_rows<{rows}ul>", [a_at, exponents_at, k, z_at, david, y_at])


def low_rank_outer(image, run, backend):
    """All rows, by the contract of `combine_rows`."""
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    m, k = (sizes.symbol(name, 0, EXTENT) for name in "mk")
    z, david, y = (run.fresh(f"{name}[0]", 64) for name in ("z", "y_david", "y"))
    behind = t.scale(sizes.product_of(m, k), 2, 64)
    left = machine.input_of_two("left", (behind, m), (2, 1), [
        run.family("a", 16), run.family("exponent", 8)], 64)
    grid = Grid(machine, (m,))

    def combine_rows(rows):
        def hook(machine):
            machine.stores += 1
            if machine.scouting:
                return
            a, exponents, entries, factors, before, to = (
                machine.general[name] for name in machine.ARGUMENTS[:6])
            number = row_at(a, rows)
            if not all(map(same, (exponents, entries, factors, before, to), (
                    t.total([(left, 1), (behind, 1), (number, 1)], 64), k, z,
                    *(t.add(at, t.scale(number, 8, 64), 64) for at in (david, y))))):
                raise Refused("exponents, or numbers, that are not those of A's rows")
            part = Part((number,), (t.add(number, rows, 64),))
            grid.read(part)
            grid.write(part)
            run.outputs += 1
        return hook

    def row_at(a, rows):
        """The number of the first one."""
        number = sizes.row_of(t.sub(a, left, 64), t.scale(k, 2, 64))
        if number is None or not machine.proved(claimed(sizes.total(number) >= 0), claimed(
                sizes.total(number) + rows <= sizes.total(m))):
            raise Refused("rows that are none of A's")
        return number
    machine.hooks |= {f"{SPACE}{backend}::combine_rows<{rows}ul>": combine_rows(rows) for rows in TOGETHER}
    explorer.call(f"{SPACE}{backend}::low_rank_outer", [left, m, k, run.fresh("limbs[0]", 32), z, david, y])


def add_rows(add):
    """Of all that the product consists of, from the lowest up: add(backend, kernel, sizes, function,
    arguments)."""
    any_size = "any size"
    for rows in TOGETHER:
        add("portable", f"combine_rows<{rows}>", any_size, combine_rows, rows)
    add("portable", "low_rank_outer", any_size, low_rank_outer)
