"""Products of a small secret matrix with a column (optimized/masks/contracts.hpp), of any number of
coefficients: contracts of the functions that they consist of, optimized/masks/leaf/small_matrix.hpp, each
proved by itself of any content, and of the loop over groups of rows, proved from these."""

import functools
import os

import z3

import floats
import ring
import terms as t
from grids import Grid, Part
from machine import Refused, same
from mask_groups import refuse_store
from mask_passes import DOUBLE, STRIDE, of_halves
from mask_products import PAIRS, point
from masks import (DEGREE, EXTENT, LANES, LOW_BITS, MOST_ELEMENTS, PLANES, POINTS, SPACE, doubles, symbol,
                   transform_of)
from regions import Chunk, claimed
from sizes import divided
from spec import PRIMES, remainder

HALF = 32  # bits of a half: |y| < 2^47


def halves_of(v):
    """The low 24 bits of a signed number of 64, and those above, as floats."""
    halves = t.band(v, t.mask(LOW_BITS), 64), t.sar(v, LOW_BITS, 64)
    return [floats.FROM_INTEGER[HALF, 64](t.extract(half, 0, HALF)) for half in halves]


def due_planes(run):
    return [run.fixed["planes"]] if "planes" in run.fixed else PLANES


def transform_halves(image, run, backend):
    """The values of both halves of elements of any content, those of the last one in the lanes behind them:
    everyday of one and of as many as there is room for, with SLIP_FULL of each number."""
    most = LANES[backend] // 2
    everyday = range(1, most + 1) if "SLIP_FULL" in os.environ else (1, most)
    for count in [run.fixed["count"]] if "count" in run.fixed else sorted(set(everyday)):
        transform_halves_of(run, backend, count)


def transform_halves_of(run, backend, count):
    lanes = LANES[backend]
    roots_at, transform = transform_of(run, backend)
    y_at, y = run.array(f"y_{count}", count * DEGREE, 64)
    x_at = run.room(2 * DOUBLE * lanes * POINTS, DOUBLE * lanes)
    # Where only one element has room their number is not read, and compilers pass anything.
    number = run.fresh("any_count", 64) if lanes == 2 else count
    run.machine.call(symbol(backend, "transform_halves"), [roots_at, y_at, number, x_at])
    halves = [halves_of(v) for v in y]
    for lane in range(lanes):
        l, h = min(lane // 2, count - 1), lane % 2
        own = [half[h] for half in halves[l * DEGREE:(l + 1) * DEGREE]]
        values = transform.values(list(map(ring.Complex, own[:POINTS], own[POINTS:])))
        expect_values(run, x_at, lanes, lane, values)


def expect_values(run, at, lanes, lane, values):
    for k, value in enumerate(values):
        for part, v in enumerate(value):
            code = run.output(at + DOUBLE * ((2 * k + part) * lanes + lane), 64)
            run.expect_same(code, v, f"part {part} of point {k} in lane {lane}")


def numbers(values, lanes, place, lane):
    """The complex number of a lane, of those that lie `place` points from the first."""
    return ring.Complex(*values[2 * place * lanes + lane:][:2 * lanes:lanes])


def multiply_small_points(image, run, backend):
    """Both halves of the products of each lane's row with a column, of any numbers: everyday of one element
    and of one more than a group of halves has, with SLIP_FULL of every number."""
    everyday = range(MOST_ELEMENTS + 1) if "SLIP_FULL" in os.environ else (1, LANES[backend] // 2 + 1)
    for elements in [run.fixed["elements"]] if "elements" in run.fixed else everyday:
        multiply_points_of(run, backend, elements)


def multiply_points_of(run, backend, elements):
    lanes = LANES[backend]
    groups = -(-2 * elements // lanes)
    rows_at, rows = doubles(run, f"row_{elements}", 2 * lanes * POINTS * elements, DOUBLE * lanes)
    column_at, column = doubles(run, f"column_{elements}", 2 * lanes * POINTS * groups, DOUBLE * lanes)
    size = 2 * DOUBLE * lanes
    product_at = run.place(size * (STRIDE + POINTS), DOUBLE * lanes)
    halves_at = [product_at + half * STRIDE * size for half in (0, 1)]
    run.machine.free += [(at, at + POINTS * size) for at in halves_at]
    run.machine.call(symbol(backend, "multiply_small_points"), [rows_at, elements, column_at, product_at])
    arithmetic = ring.Arithmetic(backend != "portable")
    for half, at in enumerate(halves_at):
        places = [divmod(2 * l + half, lanes) for l in range(elements)]
        factors = [[numbers(column, lanes, group * POINTS + k, lane) for group, lane in places]
                   for k in range(POINTS)]
        for lane in range(lanes):
            own = [[numbers(rows, lanes, k * elements + l, lane) for l in range(elements)]
                   for k in range(POINTS)]
            expect_values(run, at, lanes, lane, [point(arithmetic, *pair) for pair in zip(own, factors)])


def write_small_row(image, run, backend):
    """Of each lane's row the first residues, 1 to 256 of them, of every plane, the planes any number of bytes
    apart, for all numbers that reduce_product leaves."""
    lanes = LANES[backend]
    everyday = range(lanes) if "SLIP_FULL" in os.environ else (1,)
    for planes in due_planes(run):
        for lane in everyday:
            write_row_of(run, backend, planes, lane)


def write_row_of(run, backend, planes, lane):
    lanes = LANES[backend]
    machine, explorer = run.of_any_size()
    count = machine.sizes.symbol("count", 1, DEGREE)
    m = t.add(count, machine.sizes.symbol("more", 0, EXTENT), 64)
    residues_at, stored = run.place(2 * len(PAIRS) * DEGREE * lanes, 2), []
    for q, pair in enumerate(PAIRS):
        stored += run.elements(f"reduced_{q}", DEGREE * lanes, 16,
                               lambda v, most=pair.largest: [v >= -most, v <= most])
    for k, v in enumerate(stored):
        machine.memory |= {residues_at + 2 * k: (v, 0), residues_at + 2 * k + 1: (v, 1)}
    begin = [t.scale(m, p, 64) for p in range(planes)]

    def check(p, code, index):
        i, prime = t.sub(index, begin[p], 64), PRIMES[p]
        most = -(-PAIRS[p // 2].largest // prime) * prime
        v = stored[(p // 2 * DEGREE + i) * lanes + lane]
        run.expect(code, z3.Extract(7, 0, remainder(z3.SignExt(16, v) + most, prime)), 8,
                   f"residue {i} of plane {p}")
    out_at = machine.region("out", t.scale(m, planes, 64), 1, [
        Chunk(first, t.add(first, count, 64), 1, check=functools.partial(check, p))
        for p, first in enumerate(begin)], 1)
    explorer.call(symbol(backend, "write_small_row"), [residues_at, lane, count, m, planes, out_at])


def write_small_rows(image, run, backend):
    """Of a group of rows the first residues, of any number up to all: each row's once and in its place."""
    lanes = LANES[backend]
    for planes in due_planes(run):
        machine, explorer = run.of_any_size()
        count = machine.sizes.symbol("count", 1, lanes * DEGREE)
        m = t.add(count, machine.sizes.symbol("more", 0, EXTENT), 64)
        residues_at = run.fresh("residues", 64)
        out_at, grid = output(machine, m, planes, count)
        machine.hooks[symbol(backend, "write_small_row")] = functools.partial(
            take_row, run, grid, (residues_at, count, m, planes, out_at), lanes)
        explorer.call(symbol(backend, "write_small_rows"), [residues_at, count, m, planes, out_at])


def take_row(run, grid, own, lanes, machine):
    """What write_small_row does, by its contract."""
    residues_at, end, m, planes, out_at = own
    residues, lane, count, *others, out = arguments_of(machine, 6)
    machine.stores += 1
    if machine.scouting:
        return
    if not all(map(same, (residues, *others), (residues_at, m, planes))):
        raise Refused("residues of other rows, or other planes")
    at = t.sub(out, out_at, 64)
    if not same(at, t.scale(lane, DEGREE, 64)):
        raise Refused("a row that is not written in its place")
    is_lane = machine.sizes.total(lane) >= 0, machine.sizes.total(lane) < lanes
    if not machine.proved(*map(claimed, is_lane)):
        raise Refused("a row that is none of the group's")
    take_part(machine, grid, at, count, end, DEGREE)
    run.outputs += 1


def take_part(machine, grid, at, count, end, most):
    """Writes `count` residues of every plane from one on, which must be `most` or all that are left."""
    number, begin, end = (machine.sizes.total(v) for v in (count, at, end))
    left = end - begin
    if not machine.proved(claimed(begin >= 0), claimed(left >= 1), claimed(z3.Or(
            z3.And(number == most, left >= most), z3.And(number == left, left <= most)))):
        raise Refused("another number of residues than are left")
    grid.write(Part((at,), (t.add(at, count, 64),)))


def output(machine, m, planes, length):
    """Planes, m apart, to which no other stores go than those of functions that are proved by themselves, and
    the first `length` residues of all of them."""
    out_at = machine.region("out", t.scale(m, planes, 64), 1, [
        Chunk(0, t.scale(m, planes, 64), 1, check=refuse_store)], 1)
    grid = Grid(machine, (length,))
    grid.region = machine.regions[t.ident(out_at)]
    return out_at, grid


def arguments_of(machine, count):
    return [machine.general[name] for name in machine.ARGUMENTS[:count]]


# --- all rows -------------------------------------------------------------------------------------

class Rows:
    """A product, of which every step is made by a function that is proved by itself. What these leave in the
    workspace is known by marks, which only they may use: of the column which groups of halves are
    transformed, and of a product of which rows it is, as where these begin in the matrix."""

    def __init__(self, run, backend, elements, planes):
        self.run, self.lanes, self.elements, self.planes = run, LANES[backend], elements, planes
        run.machine.call(f"{SPACE}Places<{SPACE}{backend}::Lanes>::bytes", [elements, 1])
        self.size = run.machine.returned()
        self.machine, self.explorer = run.of_any_size()
        self.m = self.machine.sizes.symbol("m", 0, EXTENT)
        self.roots_at, self.matrix_at, self.y_at = (run.fresh(name, 64) for name in ("roots", "matrix", "y"))
        self.workspace_at, self.places = run.place(self.size, 64), {}
        self.marks = run.place(8 * (MOST_ELEMENTS + 4), 8)
        self.machine.sealed = self.marks, self.marks + 8 * (MOST_ELEMENTS + 4)
        self.point_bytes = 2 * DOUBLE * self.lanes
        self.groups = -(-2 * elements // self.lanes)  # of halves
        self.out_at, self.grid = output(self.machine, self.m, planes, self.m)
        self.machine.hooks |= {
            symbol(backend, function): getattr(self, function)
            for function in ("transform_halves", "multiply_small_points", "inverse", "write_small_rows")}
        self.machine.hooks[of_halves(backend, "reduce_product", 2)] = self.reduce_product

    # --- what is where in the workspace ---------------------------------------------------------------

    def place(self, name, at, size, alignment):
        """That something has one place in the workspace, of its own."""
        if not t.is_int(at) or at % alignment or not (
                self.workspace_at <= at and at + size <= self.workspace_at + self.size):
            raise Refused(f"{name} is not in the workspace")
        if self.places.setdefault(name, (at, at + size)) != (at, at + size) or any(
                at < high and low < at + size for other, (low, high) in self.places.items() if other != name):
            raise Refused(f"{name} has another place, or one in which something else is")

    def where(self, name):
        if name not in self.places:
            raise Refused(f"{name} is used before anything makes it")
        return self.places[name][0]

    def mark(self, number, v):
        self.machine.memory.update(enumerate(t.to_cells(v, 64), self.marks + 8 * number))

    def marked(self, number):
        """A mark; None where there is none."""
        cells = [self.machine.memory.get(self.marks + 8 * number + k) for k in range(8)]
        return None if None in cells else t.from_cells(cells)

    REDUCED, PRODUCT, LOW, HIGH = range(4)
    COLUMN = 4  # and of the groups of halves behind the first

    # --- what the functions do, by their contracts ----------------------------------------------------

    def transform_halves(self, machine):
        roots, y, count, x = arguments_of(machine, 4)
        size = self.point_bytes * POINTS
        group = next((group for group in range(self.groups) if same(y, t.add(
            self.y_at, 8 * DEGREE * group * self.lanes // 2, 64))), None)
        left = None if group is None else self.elements - group * self.lanes // 2
        if left is None or not same(roots, self.roots_at) or self.lanes > 2 and not same(
                count, min(self.lanes // 2, left)):
            raise Refused("no halves of the column, or other roots")
        self.place(f"group {group} of halves", x, size, DOUBLE * self.lanes)
        if x != self.where("group 0 of halves") + group * size:
            raise Refused("halves that do not follow those before them")
        self.mark(self.COLUMN + group, 1)

    def multiply_small_points(self, machine):
        rows, elements, column, product = arguments_of(machine, 4)
        if not same(elements, self.elements) or any(
                self.marked(self.COLUMN + group) != 1 for group in range(self.groups)) or (
                    self.groups and not same(column, self.where("group 0 of halves"))):
            raise Refused("multiplies with something else than the column")
        self.place("the product", product, self.point_bytes * (STRIDE + POINTS), DOUBLE * self.lanes)
        self.mark(self.PRODUCT, t.sub(rows, self.matrix_at, 64))
        self.mark(self.LOW, 0)
        self.mark(self.HIGH, 0)

    def inverse(self, machine):
        roots, x = arguments_of(machine, 2)
        at = self.where("the product")
        if not same(roots, self.roots_at) or x not in (at, at + STRIDE * self.point_bytes):
            raise Refused("the inverse transform of something else than a half of the product")
        half = self.LOW if x == at else self.HIGH
        if self.marked(half) != 0:
            raise Refused("the inverse transform of what is no product's values")
        self.mark(half, 1)

    def reduce_product(self, machine):
        product, out = arguments_of(machine, 2)
        if not same(product, self.where("the product")) or any(
                self.marked(half) != 1 for half in (self.LOW, self.HIGH)):
            raise Refused("reduces something else than the product's coefficients")
        self.place("the residues", out, 2 * len(PAIRS) * DEGREE * self.lanes, 2)
        self.mark(self.REDUCED, self.marked(self.PRODUCT))

    def write_small_rows(self, machine):
        residues, count, m, planes, out = arguments_of(machine, 5)
        machine.stores += 1
        if machine.scouting:
            return
        if not same(residues, self.where("the residues")) or not all(
                map(same, (m, planes), (self.m, self.planes))):
            raise Refused("writes something else than residues, or other planes")
        at, group = t.sub(out, self.out_at, 64), self.lanes * DEGREE
        own = divided(at, group)
        if own is None or not same(self.marked(self.REDUCED), t.scale(
                own, POINTS * self.elements * self.point_bytes, 64)):
            raise Refused("rows that are not written in their place")
        take_part(machine, self.grid, at, count, self.m, group)
        self.run.outputs += 1


def multiply_small_matrix(image, run, backend):
    """HIDE-4: each row of the product once and in its place, of any number of coefficients: everyday of 0, 1
    and 9 elements, with SLIP_FULL of every number."""
    everyday = range(MOST_ELEMENTS + 1) if "SLIP_FULL" in os.environ else (0, 1, 9)
    for elements in [run.fixed["elements"]] if "elements" in run.fixed else everyday:
        for planes in due_planes(run):
            rows = Rows(run, backend, elements, planes)
            rows.explorer.call(symbol(backend, "multiply_small_rows"), [
                rows.roots_at, rows.matrix_at, elements, rows.y_at, rows.m, planes, rows.workspace_at,
                rows.out_at])
