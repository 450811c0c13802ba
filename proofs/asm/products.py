"""The contracts of products with packed weights, of any size: what is called below them is known by its own
contract.

A product takes planes of X and panels of rows of W, block by block of columns. A micro-kernel adds up a
panel's rows (linear.py). What is left of a panel's sums is their remainder, with what the block before left
added to it, if there was one: a residue below the prime. So a part of the output, a panel's rows of a plane,
may be written only once for each block, and blocks must come in order (grids.py)."""

import struct

import z3

import linear
import sums
import terms as t
from grids import Grid, Part
from layouts import EXTENT
from machine import Refused, same
from regions import claimed
from sizes import divided
from spec import PRIMES, SPACE, below
from totals import End, Stretch, Totals, sum_of

STEP, ROWS = 4, 64      # of a panel: columns and rows
PASS = 32768            # columns whose products 31 bits hold: layout.hpp
WEIGHT, RESIDUE = 127, 250  # the greatest in magnitude
LARGEST = WEIGHT * RESIDUE * PASS


def modulus(p):
    """The bytes of residues.hpp's Modulus."""
    return struct.pack("<IIIIq", p, (1 << 23) // p, -(-(1 << 39) // p), (1 << 24) % p, -(-(1 << 46) // p) * p)


def numbers_at(machine, where, count):
    """So many numbers of 64 bits in memory."""
    return [t.from_cells(machine.load(where + 8 * k, 8)) for k in range(count)]


def extents(sizes, m, n):
    """How many panels and steps of a panel W has."""
    return [sizes.named_quotient(t.add(v, unit - 1, 64), unit.bit_length() - 1, name)
            for v, unit, name in ((m, ROWS, "panels"), (n, STEP, "n_steps"))]


def words(machine, where, values):
    for k, v in enumerate(values):
        machine.memory.update(zip(range(where + 8 * k, where + 8 * k + 8), t.to_cells(v, 64)))


# --- what is left of a panel's sums --------------------------------------------------------------

def finish(image, run, backend, most=ROWS, largest=LARGEST):
    """Of up to so many rows and sums of at most so much, of each prime, in the first block and in a later
    one."""
    for prime in PRIMES:
        for is_first in (1, 0):
            finish_of(run, backend, prime, is_first, most, largest)


def finish_of(run, backend, prime, is_first, most, largest):
    machine, explorer = run.of_any_size()
    rows = machine.sizes.symbol("rows", 0, most)
    sums_at = machine.input("sums", 4 * most, 4, [run.family(
        "sum", 32, lambda v: [v >= -largest, v <= largest])])
    where = run.place(24, 8)
    machine.memory.update(enumerate(modulus(prime), where))
    total, region = machine.regions[t.ident(sums_at)], None

    def reads(_, r):
        found = [machine.element(total, total.chunks[0], r, None, is_wanted=True)]
        return found if is_first else [*found, machine.element(
            region, region.chunks[0], r, machine.guard, is_wanted=True)]

    def check(_, code, elements):
        before = 0 if is_first else elements[1]
        total = t.sign_extend(elements[0], 32, 64)
        run.expect_residue(code, total, (-largest, largest), before, prime, "an element of y")
    y_at = machine.output("y", rows, 1, reads, check)
    region = machine.regions[t.ident(y_at)]
    machine.add_to(y_at, run.family("before", 8, below(prime)))
    explorer.call(f"{SPACE}{backend}::finish", [sums_at, rows, is_first, where, y_at])


# --- a block -------------------------------------------------------------------------------------

class Blocks:
    """What a block is made of, as a caller of `multiply_block` states it: planes of X, the panels of W, and
    which columns of W it takes."""
    rows, largest = ROWS, LARGEST  # of a panel, and its sums

    def __init__(self, run, rest):
        self.run, (self.machine, self.explorer), self.rest = run, run.of_any_size(), rest
        self.most = (PASS - rest) // STEP  # steps
        self.sums_of, self.sizes = Totals(self.machine), self.machine.sizes

    def declare(self, at_once):
        """All that is open; the arguments of the call."""
        sizes = self.sizes
        self.m, self.n, quarter, self.steps = (sizes.symbol(name, 0, most) for name, most in (
            ("m", EXTENT), ("n", EXTENT), ("quarter", EXTENT // STEP), ("steps", self.most)))
        self.declare_planes()
        self.count = sizes.symbol("count", 1, 7 * EXTENT) if at_once == 4 else at_once
        self.j, self.quarter = t.scale(quarter, STEP, 64), quarter
        self.width = t.add(t.scale(self.steps, STEP, 64), self.rest, 64)
        sizes.assume([sizes.total(quarter), sizes.total(self.n)],
                     sizes.total(self.j) + sizes.total(self.width) <= sizes.total(self.n))
        self.panels, self.n_steps = extents(sizes, self.m, self.n)
        sizes.named_quotient(t.add(self.count, 3, 64), 2, "passes")
        self.declare_arrays()
        block = self.run.place(72, 8)
        words(self.machine, block, (self.w_at, self.m, self.n, self.j, self.width, self.first, self.count,
                                    self.planes, self.offset))
        return [block, self.x_at, self.y_at]

    def declare_planes(self):
        self.first, self.planes, self.offset = planes_of(self.sizes)

    def declare_arrays(self):
        machine, sizes, run = self.machine, self.sizes, self.run
        whole = sizes.product_of(self.panels, self.n_steps)
        self.w_at = machine.input("w", t.scale(whole, ROWS * STEP, 64), STEP, [run.family("w", 32)],
                                  alignment=64)
        self.x_at = machine.input("x", sizes.product_of(self.count, self.n), 1, [run.family(
            "x", 8, lambda v: [z3.ULE(v, RESIDUE)])])
        self.y_at = machine.output("y", sizes.product_of(self.count, self.m), 1, None, refuse_store)
        self.grid = Grid(machine, (self.count, self.panels))
        self.grid.region = machine.regions[t.ident(self.y_at)]

    # --- a panel's sums --------------------------------------------------------------------------

    def stretch(self, ends, length, most, product):
        return Stretch(sorted((End(*end) for end in ends), key=lambda end: end.of), length, most, product)

    def of_steps(self, w, x, length):
        """The products of a row in so many steps, 4 columns in each: `w`, its first four weights; `x`, the
        first residue."""
        most = STEP * WEIGHT * RESIDUE
        return self.stretch(((self.sums_of.of(self.w_at, "four"), w, ROWS),
                             (self.sums_of.of(self.x_at, "four"), x, STEP)), length, self.most, (-most, most))

    def of_one(self, w, x, d):
        """The product of column d of a row's four and a residue."""
        return self.stretch(((self.sums_of.of(self.w_at, f"weight {d}"), w, 0),
                             (self.sums_of.of(self.x_at, "residue"), x, 0)), 1, 1,
                            (-WEIGHT * RESIDUE, WEIGHT * RESIDUE))

    def multiply_panel(self, planes):
        """What `multiply_panel_by_1`, `_4` and `_5` do, by their contract (linear.panel_of_bytes)."""
        def hook(machine):
            w, x, steps, out = (machine.general[name] for name in machine.ARGUMENTS[:4])
            size = 4 * planes * ROWS
            if machine.scouting:
                return machine.store(out, machine.unknown_cells(size)) if t.is_int(out) else None
            region, _, offset = machine.located(w, ROWS * STEP * self.sizes.value(steps))
            row = divided(offset, STEP)
            if region.base is not self.w_at or row is None or not machine.proved(
                    claimed(self.sizes.value(steps) <= self.most)):
                raise Refused("not some steps of a panel of W's")
            cells = []
            for l, where in enumerate(numbers_at(machine, x, planes)):
                added = self.products_at(where, steps)
                for r in range(ROWS):
                    before = t.from_cells(machine.load(out + 4 * (l * ROWS + r), 4))
                    if t.is_int(before) and before or not t.is_int(before) and sum_of(before, 32) is None:
                        raise Refused("adds to what is no sum")
                    cells += sums.Sum(32, () if t.is_int(before) else (sum_of(before, 32),), [
                        self.sums_of.product(one) for one in added(t.add(row, r, 64))]).cells
            return machine.store(out, cells)
        return hook

    def products_at(self, where, steps):
        """function(first four weights of a row) -> its products with the residues at a place."""
        machine = self.machine
        if t.is_int(where):  # of the last columns, on the stack
            if not t.is_int(steps) or steps != 1:
                raise Refused("several steps on the stack")
            places = {d: self.place_of(cell) for d, cell in enumerate(machine.load(where, STEP)) if cell != 0}
            return lambda row: [self.of_one(row, place, d) for d, place in places.items()]
        region, _, offset = machine.located(where, STEP * self.sizes.value(steps))
        if region.base is not self.x_at:
            raise Refused("residues that are none of X's")
        return lambda row: [self.of_steps(row, offset, steps)]

    def place_of(self, cell):
        """The index of a residue of X on the stack."""
        places = self.machine.regions[t.ident(self.x_at)].places
        if t.is_int(cell) or t.ident(cell[0]) not in places or places[t.ident(cell[0])][1] is not None:
            raise Refused("a product of what is no residue")
        return places[t.ident(cell[0])][0]

    # --- their remainders ------------------------------------------------------------------------

    def finish(self, machine):
        """What `finish` does, by its contract, with the part of the output that it is for."""
        machine.stores += 1
        if machine.scouting:
            return
        sums_at, rows, is_first, prime, y = (machine.general[name] for name in machine.ARGUMENTS[:5])
        region, offset = machine.split(y)
        plane, row = self.sizes.rows_of(offset, self.m)
        panel = divided(row, self.rows)
        if region.base is not self.y_at or panel is None:
            raise Refused("rows that are not a panel's")
        self.check_rows(plane, row, rows)
        self.check_first(t.extract(is_first, 0, 8))
        check_modulus(machine, prime, t.add(self.first, plane, 64), self.planes, self.offset)
        expected = self.expected(plane, panel)
        for r in range(self.rows):
            code = t.from_cells(machine.load(sums_at + 4 * r, 4))
            self.sums_of.expect(code, 32, ([(one, 1) for one in expected(r)], {}), f"row {r} of a panel")
            if not sums.fits_in(sum_of(code, 32).interval(), self.largest):
                raise Refused("a sum that may be too large")
        part = Part((plane, panel), (t.add(plane, 1, 64), t.add(panel, 1, 64)))
        self.grid.read(part)
        self.grid.write(part)

    def check_rows(self, plane, row, rows):
        """They are all of a panel."""
        p, r, count, m = (self.sizes.total(v) for v in (plane, row, self.count, self.m))
        number = self.sizes.value(rows)
        if not self.machine.proved(z3.And([claimed(claim) for claim in (
                p >= 0, p < count, r >= 0, number >= 0, number <= self.rows, r + number <= m)]), z3.Or(
                    number == self.rows, r + number == m)):
            raise Refused("rows that are not proved to be all of a panel")

    def check_first(self, flag):
        number = self.sizes.value(flag)
        if not self.machine.proved(claimed(z3.If(self.sizes.total(self.j) == 0, number == 1, number == 0))):
            raise Refused("what is thought to be the first block is not proved to be it")

    def expected(self, plane, panel):
        """function(row of a panel) -> the block's products of it and a plane."""
        first = t.scale(t.add(self.sizes.multiple(panel, self.n_steps), self.quarter, 64), ROWS, 64)
        last = t.add(first, t.scale(self.steps, ROWS, 64), 64)
        x = t.add(self.sizes.multiple(plane, self.n), self.j, 64)
        behind = t.add(x, t.scale(self.steps, STEP, 64), 64)
        return lambda r: [self.of_steps(t.add(first, r, 64), x, self.steps)] + [
            self.of_one(t.add(last, r, 64), t.add(behind, d, 64), d) for d in range(self.rest)]


def planes_of(sizes):
    """(the number of the first plane among those of all columns, how many a column has, the number of the
    first one's prime): any."""
    first, planes, offset = (sizes.symbol(name, *ends) for name, ends in (
        ("first", (0, 7 * EXTENT)), ("planes", (1, 7)), ("offset", (0, 6))))
    sizes.assume([sizes.total(planes)], sizes.total(planes) + sizes.total(offset) <= 7)
    return first, planes, offset


def check_modulus(machine, address, number, planes, offset):
    """An address is that of the modulus of a plane of all columns: the table begins where the sum's constant
    says."""
    own = t.add(machine.division(number, planes)[1], offset, 64)
    at = t.sub(address, t.scale(own, 24, 64), 64)
    if not t.is_int(at) or any(machine.image.constant(at + 24 * k, 24) != modulus(p)
                               for k, p in enumerate(PRIMES)):
        raise Refused("a modulus that is not proved to be the plane's")


def refuse_store(*_):
    raise Refused("a store to y that is none of a panel's remainders")


def block(image, run, backend, at_once):
    """Of so many planes at once, of each number of columns behind the last step."""
    for rest in [run.fixed["rest"]] if "rest" in run.fixed else range(STEP):
        one = Blocks(run, rest)
        arguments = one.declare(at_once)
        one.machine.hooks |= {f"{SPACE}{backend}::finish": one.finish,
                              f"{SPACE}{backend}::multiply_panel_by_{at_once}": one.multiply_panel(at_once)}
        one.explorer.call(f"{SPACE}{backend}::multiply_block<{at_once}ul>", arguments)


# --- all blocks ----------------------------------------------------------------------------------

def gemm(image, run, backend, kernel):
    """Of any number of planes and columns; gemm_plane, of any columns of one plane, whose number is open."""
    if "n" in run.fixed:
        return at_sizes(image, run, backend)
    for has_columns in (True, False):
        one = Product(run, kernel, has_columns)
        one.machine.hooks |= {f"{SPACE}{backend}::multiply_block<{at_once}ul>": one.multiply_block(at_once)
                              for at_once in (1, 4, 5)}
        one.explorer.call(f"{SPACE}{backend}::{kernel}", one.arguments)
    return None


def at_sizes(image, run, backend):
    """Of sizes that are not left open, of no more columns than a block has."""
    m, n, b = (run.fixed[name] for name in "mnb")
    return linear.gemm(image, run, backend, m, n, b, run.fixed.get("planes", 1), run.fixed.get("plane"))


class Product:
    """The planes of all columns of X times W, which has columns or none. Each block of columns of W is taken
    once for each plane, one after the other; where there are none, the outputs are set once."""

    def __init__(self, run, kernel, has_columns):
        self.run, (self.machine, self.explorer) = run, run.of_any_size()
        sizes = self.sizes = self.machine.sizes
        self.machine.most_free, self.has_columns = 7 * EXTENT, has_columns
        self.m, b = sizes.symbol("m", 0, EXTENT), sizes.symbol("b", 0, EXTENT)
        self.n = sizes.symbol("n", 1, EXTENT) if has_columns else 0
        if kernel == "gemm":
            self.planes, self.offset = sizes.symbol("planes", 1, 7), 0
            self.count, last = sizes.product("columns", self.planes, b), self.planes
        else:
            self.planes, self.offset, self.count = 1, sizes.symbol("plane", 0, 6), b
            last = self.offset
        whole = sizes.product_of(*extents(sizes, self.m, self.n))
        self.w_at = self.machine.input("w", t.scale(whole, ROWS * STEP, 64), 1, [run.family("w", 8)],
                                       alignment=64)
        self.x_at = self.machine.input("x", sizes.product_of(self.count, self.n), 1, [run.family("x", 8)])
        self.y_at = self.machine.output("y", sizes.product_of(self.count, self.m), 1, None, refuse_store)
        self.grid = Grid(self.machine, (self.count, self.n if has_columns else 1))
        self.grid.region = self.machine.regions[t.ident(self.y_at)]
        self.arguments = [self.w_at, self.m, self.n, self.x_at, b, last, self.y_at]

    def multiply_block(self, at_once):
        """What `multiply_block` does, by its contract (`block`), with what it takes."""
        def hook(machine):
            machine.stores += 1
            if not machine.scouting:
                block, x, y = (machine.general[name] for name in machine.ARGUMENTS[:3])
                self.take(at_once, numbers_at(machine, block, 9), x, y)
        return hook

    def take(self, at_once, block, x, y):
        w_at, m, n, j, width, first, count, planes, offset = block
        places = [t.add(base, self.sizes.product_of(first, rows), 64) for base, rows in (
            (self.x_at, self.n), (self.y_at, self.m))]
        if not all(map(same, (w_at, m, n, planes, offset, x, y), (
                self.w_at, self.m, self.n, self.planes, self.offset, *places))):
            raise Refused("a block of something else than the product's")
        self.check_part(at_once, *(self.sizes.value(v) for v in (j, width, first, count)))
        low, high = (first, j), (t.add(first, count, 64), t.add(j, width, 64))
        if self.has_columns:
            self.grid.need(Part((first, 0), (high[0], j)))
        else:
            low, high = (first, 0), (high[0], 1)
        self.grid.read(Part(low, high))
        self.grid.write(Part(low, high))
        self.run.outputs += 1

    def check_part(self, at_once, j, width, first, count):
        """What the contract of a block requires."""
        planes, columns = self.sizes.value(self.count), self.sizes.value(self.n)
        claims = [first + count <= planes, count >= 1, j + width <= columns, width <= PASS, j % STEP == 0]
        claims += [] if at_once == 4 else [count == at_once]
        if not self.machine.proved(z3.And([claimed(claim) for claim in claims])):
            raise Refused("a block that is not proved to lie in the product")
