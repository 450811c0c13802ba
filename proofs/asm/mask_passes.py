"""Contracts of the functions that products of lattice masks consist of, optimized/masks/leaf/products.hpp,
each proved by itself of any content, and of passes over any number of rows, proved from these."""

import functools
import itertools
import os

import z3

import ring
import terms as t
from grids import Part
from machine import Refused, same
from mask_groups import Groups
from mask_products import (CENTRED, PAIRS, RESIDUES, ROUNDED, Residues, as_integer, parts_of, reduced,
                           row_bytes, stored_integers)
from masks import DEGREE, EXTENT, LANES, MOST_BLOCKS, PLANES, POINTS, SPACE, symbol, transform_of
from regions import Chunk
from sizes import divided
from spec import PRIMES, remainder

DOUBLE = 8
CODINGS = [(ROUNDED, 6), (RESIDUES, 6), (CENTRED, 5), (RESIDUES, 5)]  # and planes
MOST_ELEMENTS = {RESIDUES: 16, CENTRED: 8, ROUNDED: 9}
TILE, AT_ONCE = 64, 8  # rows, coefficients
FACTORS = [17, 240, 99, 3, 180, 7]  # of the planes
STRIDE = POINTS + 1  # of transforms, in complex numbers


def of_halves(backend, function, halves):
    """A function of a backend's lanes for one half or two."""
    return f"{symbol(backend, function)[:-1]}, {halves}u>"


class Product:
    """`halves` polynomials in each lane, of any numbers: of each lane `numbers[half][lane][k]`."""

    def __init__(self, run, backend, halves=1):
        lanes = LANES[backend]
        size = 2 * lanes  # doubles of a point
        self.at, self.doubles = run.array("product", halves * STRIDE * size, 64, alignment=DOUBLE * lanes)
        self.length = DOUBLE * len(self.doubles)
        self.numbers = [[[ring.Complex(*self.doubles[(half * STRIDE + k) * size + lane:][:size:lanes])
                          for k in range(POINTS)] for lane in range(lanes)] for half in range(halves)]


def inverse(image, run, backend):
    """128 times the coefficients of each lane's polynomial, in the place of its values; nothing else is
    written."""
    lanes = LANES[backend]
    roots_at, transform = transform_of(run, backend)
    product = Product(run, backend)
    run.machine.free.append((product.at, product.at + 2 * DOUBLE * lanes * POINTS))
    run.machine.call(symbol(backend, "inverse"), [roots_at, product.at])
    for lane, values in enumerate(product.numbers[0]):
        for k, coefficient in enumerate(transform.coefficients(values)):
            for part, v in enumerate(coefficient):
                code = run.output(product.at + DOUBLE * ((2 * k + part) * lanes + lane), 64)
                run.expect_same(code, v, f"part {part} of coefficient {k} in lane {lane}")


def reduce_product(image, run, backend, halves):
    """Of each pair of primes, coefficient and lane the reduced float as 16 bits, for every float that is an
    integer in the range of its pair."""
    lanes, arithmetic = LANES[backend], ring.Arithmetic(backend != "portable")
    product, any_reduced = Product(run, backend, halves), Residues(run, backend).any
    out_at = run.room(2 * len(PAIRS) * DEGREE * lanes, 2)
    run.machine.call(of_halves(backend, "reduce_product", halves), [product.at, out_at])
    for (q, pair), i, lane in itertools.product(enumerate(PAIRS), range(DEGREE), range(lanes)):
        parts = [numbers[lane][i % POINTS][i // POINTS] for numbers in product.numbers]
        x = as_integer(backend, reduced(arithmetic, pair, *parts))
        code = t.term(run.output(out_at + 2 * ((q * DEGREE + i) * lanes + lane), 16), 16)
        v = any_reduced[q]
        run.expect(z3.substitute(code, (x, z3.SignExt(16, v))), v, 16,
                   f"coefficient {i} modulo pair {q} in lane {lane}")


# --- a stored element -------------------------------------------------------------------------------

def of_coding(backend, function, coding):
    return f"{symbol(backend, function)[:-1]}, ({SPACE}Coding){coding}>"


def halves_of(coding):
    return 2 if coding == RESIDUES else 1


def place(run, values, size=8):
    """Where numbers of so many bytes stand, one after the other."""
    where = run.place(size * len(values), 8)
    for k, v in enumerate(values):
        run.machine.memory.update(enumerate(t.to_cells(v, 8 * size), where + size * k))
    return where


def transform_element(image, run, backend):
    """The values of one element of any content in each lane; nothing but these and the words is written.
    Everyday of rounded integers alone."""
    for coding, planes in CODINGS if IS_FULL else CODINGS[:1]:
        element_of_each_lane(run, backend, coding, planes)


def element_of_each_lane(run, backend, coding, planes):
    lanes, size = LANES[backend], row_bytes(coding, planes)
    roots_at, transform = transform_of(run, backend)
    rows = [run.array(f"row_{lane}", size, 8) for lane in range(lanes)]
    words_at = run.room(DOUBLE * lanes * DEGREE, DOUBLE * lanes)
    to_next = 2 * DOUBLE * lanes
    x_at = run.place(halves_of(coding) * STRIDE * to_next, DOUBLE * lanes)
    for half in range(halves_of(coding)):
        run.machine.free.append(tuple(x_at + (half * STRIDE + k) * to_next for k in (0, POINTS)))
    run.machine.apart = 4  # rounded integers begin and end in the middle of a byte
    run.machine.call(of_coding(backend, "transform_element", coding), [
        roots_at, place(run, [at for at, _ in rows]),
        run.fresh("planes", 64) if coding == ROUNDED else planes, words_at, x_at])
    forms = (False, True) if coding == CENTRED else (False,)
    for lane, (_, stored) in enumerate(rows):
        ways = [values_of(transform, coding, planes, stored, *form) for form in zip(forms)]
        first = run.output(x_at + DOUBLE * lane, 64)
        values = next((own for own in ways if same(first, own[0][0].re)), ways[0])
        for half, k, part in itertools.product(range(len(values)), range(POINTS), range(2)):
            at = x_at + (half * STRIDE + k) * to_next + DOUBLE * (part * lanes + lane)
            run.expect_same(run.output(at, 64), values[half][k][part],
                            f"part {part} of value {k} in lane {lane}")


def values_of(transform, coding, planes, stored, subtracts_nothing):
    """[the values of each half] of an element as it is stored."""
    numbers = [parts_of(coding, v, subtracts_nothing) for v in stored_integers(coding, planes, stored)]
    return [transform.values([ring.Complex(numbers[j][half], numbers[j + POINTS][half])
                              for j in range(POINTS)]) for half in range(halves_of(coding))]


# --- calls in their order ---------------------------------------------------------------------------

IS_FULL = "SLIP_FULL" in os.environ


def sampled(run, name, most, least=0):
    """The numbers that a size may be: with SLIP_FULL each; everyday the two least and the greatest."""
    if name in run.fixed:
        return [run.fixed[name]]
    return range(least, most + 1) if IS_FULL else sorted({least, least + 1, most})


def of_codings(function):
    """A proof of every coding and its numbers of planes."""
    @functools.wraps(function)
    def prove(image, run, backend):
        for coding, planes in CODINGS:
            function(run, backend, coding, planes)
    return prove


class Pass:
    """What contracts.hpp's Pass holds, numbers or terms. Of rounded rows `planes` may be any number."""

    def __init__(self, run, coding, planes, elements, blocks, rows=0, count=0, secrets=None):
        self.first, self.total = (run.fresh(name, 64) for name in ("first", "total"))
        self.columns = [run.place(DOUBLE * DEGREE, DOUBLE) for _ in range(blocks)]
        self.secrets = secrets or [run.fresh(f"secrets_{b}", 64) for b in range(blocks)]
        self.planes = run.fresh("planes", 64) if same(coding, ROUNDED) else planes
        self.at = run.place(136, 8)
        memory = run.machine.memory
        nothing = [0] * (MOST_BLOCKS - blocks)
        for at, v, size in (
                *zip(itertools.count(0, 8), (rows, count, self.planes, elements), [8] * 4),
                (32, t.extract(coding, 0, 32), 4),
                *zip(itertools.count(36), FACTORS, [1] * len(FACTORS)),
                *zip(itertools.count(48, 8), (self.first, self.total, blocks, *self.secrets, *nothing,
                                              *self.columns, *nothing), [8] * 11)):
            memory.update(enumerate(t.to_cells(v, 8 * size), self.at + at))


class Places:
    """Where things lie in the workspace: anywhere."""

    NAMES = "words", "factors", "products", "residues", "runs"

    def __init__(self, run, backend, halves, **known):
        self.lanes, self.halves = LANES[backend], halves
        of = {name: run.fresh(name, 64) for name in self.NAMES} | known
        self.words, self.factors, self.products, self.residues_at, self.runs = of.values()
        self.at = place(run, [*of.values(), halves])

    def transform(self, begin, number):
        """A half of a factor or a product."""
        return t.add(begin, number * STRIDE * 2 * DOUBLE * self.lanes, 64)

    def residues(self, b, group):
        """Of a block and `width` rows."""
        size = 2 * self.lanes * (len(PAIRS) * DEGREE) + 64
        return t.add(self.residues_at, (b * TILE // self.lanes + group) * size, 64)


class Calls:
    """The calls that a function must make, in their order: (function, arguments)."""

    def __init__(self, run, wanted):
        self.run, self.wanted, self.next = run, wanted, 0
        for function in {name for name, _ in wanted}:
            run.machine.hooks[function] = functools.partial(self.made, function)

    def made(self, function, machine):
        name, arguments = self.wanted[self.next] if self.next < len(self.wanted) else (None, [])
        if name != function:
            raise Refused(f"call {self.next} is not the contract's")
        for k, wanted in enumerate(arguments):
            v = machine.general[machine.ARGUMENTS[k]]
            if not (wanted(v) if callable(wanted) else same(v, wanted)):
                raise Refused(f"argument {k} of call {self.next} is not the contract's")
        self.next += 1
        self.run.outputs += 1

    def conclude(self):
        if self.next != len(self.wanted):
            raise Refused("not all calls of the contract are made")


@of_codings
def transform_rows(run, backend, coding, planes):
    """Every element of each lane's row, in its place; lanes behind the last row have the last one."""
    for count, elements in itertools.product(sampled(run, "count", LANES[backend], 1),
                                             sampled(run, "elements", MOST_ELEMENTS[coding])):
        rows_of_elements(run, backend, coding, planes, count, elements)


def rows_of_elements(run, backend, coding, planes, count, elements):
    lanes, size, halves = LANES[backend], row_bytes(coding, planes), halves_of(coding)
    roots, first = run.fresh("roots", 64), run.fresh("from", 64)
    described, places = Pass(run, coding, planes, elements, 0), Places(run, backend, halves)

    def of_planes(v):
        return coding == ROUNDED or same(v, planes)

    def are_rows(l, at):
        return all(same(t.from_cells(run.machine.load(at + 8 * lane, 8)), t.add(
            first, (min(lane, count - 1) * elements + l) * size, 64)) for lane in range(lanes))
    calls = Calls(run, [(of_coding(backend, "transform_element", coding), [
        roots, functools.partial(are_rows, l), of_planes, places.words,
        places.transform(places.factors, l * halves)]) for l in range(elements)])
    run.machine.call(of_coding(backend, "transform_rows", coding), [
        roots, described.at, first, count, places.at])
    calls.conclude()


@of_codings
def multiply_tile(run, backend, coding, planes):
    """Of 1 to 64 rows, in each group of lanes: transforms, products, inverses, residues; then the columns.
    Of any number of elements."""
    for count, blocks in itertools.product(sampled(run, "count", TILE, 1),
                                           sampled(run, "blocks", MOST_BLOCKS)):
        tile(run, backend, coding, planes, count, blocks)


def tile(run, backend, coding, planes, count, blocks):
    lanes, halves = LANES[backend], halves_of(coding)
    roots, rows, first, elements = (run.fresh(name, 64) for name in ("roots", "rows", "number", "elements"))
    t.SIZES[t.keep(elements)] = elements  # so that a shift of it is a multiple
    described, places = Pass(run, coding, planes, elements, blocks), Places(run, backend, halves)
    wanted = []
    for row in range(0, count, lanes):
        from_row = t.add(rows, t.scale(elements, row * row_bytes(coding, planes), 64), 64)
        wanted += [(of_coding(backend, "transform_rows", coding), [
            roots, described.at, from_row, min(lanes, count - row), places.at]),
                   (of_halves(backend, "multiply_points", halves), [described.at, places.at])]
        for b in range(blocks):
            products = [places.transform(places.products, b * halves + half) for half in range(halves)]
            wanted += [(symbol(backend, "inverse"), [roots, product]) for product in products]
            wanted += [(of_halves(backend, "reduce_product", halves), [
                products[0], places.residues(b, row // lanes)])]
    wanted += [(symbol(backend, "write_columns"), [
        described.at, places.at, b, t.add(described.first, first, 64), count]) for b in range(blocks)]
    calls = Calls(run, wanted)
    run.machine.call(of_coding(backend, "multiply_tile", coding), [
        roots, described.at, rows, first, count, places.at])
    calls.conclude()


# --- columns ----------------------------------------------------------------------------------------

def write_columns(image, run, backend):
    """All columns of a block, 8 at a time, from the residues of all groups, in order."""
    for b in sampled(run, "b", MOST_BLOCKS - 1) if IS_FULL or run.fixed else [MOST_BLOCKS - 1]:
        columns_of_block(run, backend, b)


def columns_of_block(run, backend, b):
    lanes = LANES[backend]
    first, count = run.fresh("place", 64), run.fresh("count", 64)
    any_other = [run.fresh(name, 64) for name in ("coding", "planes", "elements", "halves")]
    described = Pass(run, *any_other[:3], MOST_BLOCKS)
    runs_at = run.room(2 * len(PAIRS) * AT_ONCE * TILE, DOUBLE * lanes)
    places = Places(run, backend, any_other[3], runs=runs_at, residues=run.place(1 << 24, DOUBLE * lanes))
    known = {}
    for group in range(TILE // lanes):
        own = run.elements(f"residue_{group}", len(PAIRS) * DEGREE * lanes, 16)
        for k, v in enumerate(own):
            known[group, k] = v
            run.machine.memory.update(enumerate(t.to_cells(v, 16), places.residues(b, group) + 2 * k))

    def are_runs(coefficient, at):
        return same(at, runs_at) and all(
            same(t.from_cells(run.machine.load(at + 2 * ((q * AT_ONCE + i) * TILE + row), 2)),
                 known[row // lanes, (q * DEGREE + coefficient + i) * lanes + row % lanes])
            for q in range(len(PAIRS)) for i in range(AT_ONCE) for row in range(TILE))
    calls = Calls(run, [(symbol(backend, "write_runs"), [
        described.at, functools.partial(are_runs, i), described.columns[b] + DOUBLE * i, first, count])
                        for i in range(0, DEGREE, AT_ONCE)])
    run.machine.call(symbol(backend, "write_columns"), [described.at, places.at, b, first, count])
    calls.conclude()


def write_runs(image, run, backend):
    """MASK-7: of 8 columns of any length the residues of 1 to 64 rows, in each plane: the reduced number
    times the plane's factor. Everyday of 6 planes alone."""
    for planes in reversed(PLANES) if IS_FULL else PLANES[-1:]:
        runs_of_planes(run, backend, planes)


def runs_of_planes(run, backend, planes):
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    count = sizes.symbol("count", 1, TILE)
    first, total = (sizes.symbol(name, 0, EXTENT) for name in ("first", "total"))
    numbers = [sizes.total(v) for v in (first, count, total)]
    sizes.assume(numbers, numbers[0] + numbers[1] <= numbers[2])
    reduced_of = Residues(run, backend)
    runs_at = run.place(2 * len(PAIRS) * AT_ONCE * TILE, DOUBLE * LANES[backend])
    known = {}
    for q, any_one in enumerate(reduced_of.any):
        family = run.family(f"reduced_{q}", 16, lambda v, most=PAIRS[q].largest: [v >= -most, v <= most])
        for i, row in itertools.product(range(AT_ONCE), range(TILE)):
            known[q, i, row] = v = run.element(family)
            at = runs_at + 2 * ((q * AT_ONCE + i) * TILE + row)
            machine.memory.update(enumerate(t.to_cells(v, 16), at))
    described = Pass(run, run.fresh("coding", 64), planes, run.fresh("elements", 64), 0)
    for at, v in (48, run.fresh("of_pass", 64)), (56, total):
        machine.memory.update(enumerate(t.to_cells(v, 64), described.at + at))

    def output(i):
        """Each plane's place, from the first row's on; what is between is no part of it."""
        def check(p, code, index):
            k = t.sub(index, t.scale(total, p, 64), 64)
            if not t.is_int(k):
                raise Refused("a residue of an unknown row")
            factor, prime, v = FACTORS[p], PRIMES[p], known[p // 2, i, k]
            most = -(-PAIRS[p // 2].largest // prime) * prime
            run.expect(code, z3.Extract(7, 0, remainder((z3.SignExt(16, v) + most) * factor, prime)), 8,
                       f"row {k} of column {i} in plane {p}")
        chunks = [Chunk(begin, t.add(begin, count, 64), 1, check=functools.partial(check, p))
                  for p, begin in enumerate(t.scale(total, p, 64) for p in range(planes))]
        return t.sub(machine.region(f"column_{i}", chunks[-1].end, 1, chunks), first, 64)
    columns_at = place(run, [output(i) for i in range(AT_ONCE)])
    explorer.call(symbol(backend, "write_runs"), [described.at, runs_at, columns_at, first, count])


# --- points -----------------------------------------------------------------------------------------

def multiply_points(image, run, backend, halves):
    """Of each point, block and lane the sum over the elements of a row's value times a secret's; each of the
    four products is summed on its own."""
    most = MOST_ELEMENTS[RESIDUES if halves == 2 else ROUNDED]
    for elements, blocks in itertools.product(sampled(run, "elements", most),
                                              sampled(run, "blocks", MOST_BLOCKS)):
        points_of(run, backend, halves, elements, blocks)


def points_of(run, backend, halves, elements, blocks):
    machine, explorer = run.of_any_size()
    machine.summarised = True
    lanes, plus = LANES[backend], ring.Arithmetic(backend != "portable").plus
    point, alignment = 2 * lanes, DOUBLE * lanes  # doubles of a point
    length = halves * STRIDE * point * DOUBLE
    factors_at = machine.input("factors", elements * length, DOUBLE, [run.family("factor", 64)],
                               alignment=alignment)
    secrets_at = [machine.input(f"secret_{b}", elements * DEGREE * DOUBLE, DOUBLE, [
        run.family(f"secret_{b}", 64)]) for b in range(blocks)]

    def element(pointer, index):
        region = machine.regions[t.ident(pointer)]
        return machine.element(region, region.chunks[0], index, is_wanted=True)

    def check(b, half, code, index):
        index = t.sub(index, (b * halves + half) * STRIDE * point, 64)
        number = t.linear(index, 64)[1] % point
        k, sums = divided(t.sub(index, number, 64), point), [0] * 4
        if k is None:
            raise Refused("a double that is not known as a part of a point")
        for l in range(elements):
            at = t.add(t.scale(k, point, 64), (l * halves + half) * STRIDE * point + number % lanes, 64)
            re, im = (element(factors_at, t.add(at, part * lanes, 64)) for part in range(2))
            of_secret = t.scale(t.add(t.scale(k, elements, 64), l, 64), 2, 64)
            u, v = (element(secrets_at[b], t.add(of_secret, part, 64)) for part in range(2))
            sums = [plus(total, x, y) for total, x, y in zip(sums, (re, im, re, im), (u, v, v, u))]
        spec = ring.ADD(sums[2], sums[3]) if number // lanes else ring.SUBTRACT(sums[0], sums[1])
        run.expect_same(code, spec, f"double {number} of a point of half {half} in block {b}")
    chunks = [Chunk(at := (b * halves + half) * length // halves, at + POINTS * point * DOUBLE, DOUBLE,
                    check=functools.partial(check, b, half)) for b in range(blocks) for half in range(halves)]
    products_at = machine.region("products", blocks * length, DOUBLE, chunks, alignment) if blocks else 0
    coding, planes = (run.fresh(name, 64) for name in ("coding", "planes"))
    described = Pass(run, coding, planes, elements, blocks, secrets=secrets_at)
    places = Places(run, backend, halves, factors=factors_at, products=products_at)
    explorer.call(of_halves(backend, "multiply_points", halves), [described.at, places.at])


# --- the whole --------------------------------------------------------------------------------------

@of_codings
def multiply(run, backend, coding, planes):
    """MASK-7, of any number of rows: every tile once and in its place, and what lies in the workspace lies
    apart."""
    for elements, blocks in itertools.product(sampled(run, "elements", MOST_ELEMENTS[coding]),
                                              sampled(run, "blocks", MOST_BLOCKS)):
        tiles(run, backend, coding, planes, elements, blocks)


def tiles(run, backend, coding, planes, elements, blocks):
    run.machine.call(f"{SPACE}Places<{SPACE}{backend}::Lanes>::bytes", [elements, blocks])
    groups = Tiles(run, backend, "rows", run.machine.returned())
    machine, count, rows = groups.machine, groups.number, run.fresh("stored", 64)
    row = elements * row_bytes(coding, planes)
    _, grid = groups.output("columns", t.scale(count, DOUBLE, 64), (count,), DOUBLE)
    described = Pass(run, coding, planes, elements, blocks, rows, count)

    def tile(machine):
        machine.stores += 1
        if machine.scouting:
            return
        roots, given, own, first, number, places = (machine.general[name] for name in machine.ARGUMENTS[:6])
        if not same(roots, groups.roots_at) or not same(given, described.at) or not same(
                own, t.add(rows, t.scale(first, row, 64), 64)):
            raise Refused("other rows than the tile's")
        groups.group(number, first)
        groups.check_places(places, halves_of(coding), elements, blocks)
        grid.write(Part((first,), (t.add(first, number, 64),)))
        run.outputs += 1
    machine.hooks[of_coding(backend, "multiply_tile", coding)] = tile
    groups.explorer.call(symbol(backend, "multiply_pass"), [
        groups.roots_at, described.at, groups.workspace_at])


class Tiles(Groups):
    """Any number of rows, 64 to a tile."""

    def __init__(self, run, backend, name, room):
        super().__init__(run, backend, name, room)
        self.width, self.lanes = self.lanes, TILE

    def check_places(self, at, halves, elements, blocks):
        """That what a tile uses lies in the workspace, aligned to vectors and each apart from the others."""
        *begins, own = (t.from_cells(self.machine.load(t.add(at, 8 * k, 64), 8)) for k in range(6))
        transform = halves * STRIDE * 2 * DOUBLE * self.width
        sizes = (DOUBLE * self.width * DEGREE, elements * transform, blocks * transform,
                 blocks * TILE // self.width * (2 * self.width * len(PAIRS) * DEGREE + 64),
                 2 * len(PAIRS) * AT_ONCE * TILE)
        end = self.workspace_at
        for begin, size in zip(begins, sizes):
            if not t.is_int(begin) or (begin - self.workspace_at) % (DOUBLE * self.width) or begin < end:
                raise Refused("parts of the workspace that are not apart")
            end = begin + size
        if not same(own, halves) or end > self.workspace_at + self.room:
            raise Refused("no room in the workspace")
