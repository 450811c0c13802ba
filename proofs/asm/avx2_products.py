"""The contracts of AVX2's products with packed weights, of any size: what is called below them is known by
its own contract.

Two planes of a column are one vector, of numbers that are congruent to the residues of either (`join_pair`);
a last plane without a second is a vector of its own (`widen_plane`). The vectors of a block of columns stand
one after the other in a scratch array, each filled up with zeros to whole registers. Each panel of W meets
them, four or fewer at a time (`multiply_pass`): the sums of a panel and a vector leave their remainder in the
planes of the vector (`finish_plane`). A sum of products with a vector's numbers is congruent to that with the
residues of either plane, and so its remainders are those of W X."""

import itertools

import z3

import sums
import terms as t
from grids import Grid, Part
from layouts import EXTENT
from linear import joined
from machine import Refused, same
from products import at_sizes, modulus, numbers_at, refuse_store, words
from regions import claimed
from sizes import divided
from spec import PRIMES, SPACE, below
from totals import End, Stretch, Totals, sum_of

STEP, ROWS, LANES = 2, 16, 16    # of a panel: columns and rows; numbers of a register
WIDE = 32768                     # columns of a block of one column of X: the widest
AT_ONCE, CAPACITY = 64, 1 << 17  # vectors of a block of several columns; numbers of the scratch array
PASS = 256                       # steps whose products 32 bits hold
WEIGHT, NUMBER = 127, 30245      # the greatest in magnitude
LARGEST = WEIGHT * NUMBER * WIDE


# --- vectors -------------------------------------------------------------------------------------

def widen_plane(image, run, backend):
    """Of a plane without a second one, of any prime: the residues as numbers of 16 bits."""
    vector_of(run, f"{SPACE}{backend}::widen_plane", [250], lambda v: z3.ZeroExt(8, v), [])


def join_pair(image, run, backend):
    """Of each pair of planes: the number of least magnitude that is congruent to both residues."""
    for q in range(3):
        pair = PRIMES[2 * q:2 * q + 2]
        vector_of(run, f"{SPACE}{backend}::join_pair", [p - 1 for p in pair],
                  lambda *both, of=joined(*pair).value: z3.Extract(15, 0, of(z3.Concat(*both[::-1]))), [q])


def vector_of(run, function, greatest, number, arguments):
    """A vector of any width of planes of residues up to some: number(residues) of each column; 0 from the
    last column to the end of a register."""
    machine, explorer = run.of_any_size()
    width = machine.sizes.symbol("width", 0, EXTENT)
    registers = machine.sizes.named_quotient(t.add(width, LANES - 1, 64), 4, "registers")
    planes = [machine.input(f"plane_{k}", width, 1, [run.family(f"plane_{k}", 8, lambda v, most=most: [
        z3.ULE(v, most)])]) for k, most in enumerate(greatest)]

    def guard_of(index):
        """None if the columns have this one, 0 if not, or else the bit that says so."""
        lane = t.linear(index, 64)[1] % LANES
        left = t.sub(width, t.sub(index, lane, 64), 64)  # from the register's first column on
        is_whole = machine.proved(claimed(machine.sizes.total(left) >= LANES))
        return None if is_whole else machine.guard_bit(machine.known_number(left), lane)

    def check(_, code, index):
        guard, regions = guard_of(index), [machine.regions[t.ident(at)] for at in planes]
        residues = [t.term(0, 8) if t.is_int(guard) else machine.element(
            region, region.chunks[0], index, guard) for region in regions]
        run.expect(code, number(*residues), 16, "a number of a vector")
        if len(residues) > 1:
            check_congruent(run, number(*residues), residues, [most + 1 for most in greatest])
    out = machine.output("joined", t.scale(registers, 2 * LANES, 64), 2, None, check)
    explorer.call(function, [*planes, width, *arguments, out])


def check_congruent(run, number, residues, primes):
    """That a number is what a product may take for either residue."""
    product, v = primes[0] * primes[1], z3.SignExt(16, number)
    for residue, prime in zip(residues, primes):
        run.expect_that(z3.URem(v + product, prime) == z3.ZeroExt(24, residue), "a number of a vector")
    run.expect_that(z3.And(v >= -NUMBER, v <= NUMBER), "a number of a vector")


# --- what is left of a panel's sums --------------------------------------------------------------

def finish_plane(image, run, backend):
    """Of each number of rows, of each prime, in the first block and in a later one."""
    for rows in [run.fixed["rows"]] if "rows" in run.fixed else range(ROWS + 1):
        for prime in PRIMES:
            for is_first in (True, False):
                finish_rows(run, backend, rows, prime, is_first)


def finish_rows(run, backend, rows, prime, is_first):
    machine, explorer = run.of_any_size()
    j = 0 if is_first else machine.sizes.symbol("j", 1, EXTENT)
    sums_at = machine.input("sums", 8 * ROWS, 8, [run.family(
        "sum", 64, lambda v: [v >= -LARGEST, v <= LARGEST])])
    where = run.place(24, 8)
    machine.memory.update(enumerate(modulus(prime), where))
    total, before = machine.regions[t.ident(sums_at)], machine.reader

    def reads(_, r):
        found = [machine.element(total, total.chunks[0], r)]
        return found if is_first else [*found, before(y_at)(0, r)]

    def check(_, code, elements):
        run.expect_residue(code, elements[0], (-LARGEST, LARGEST), 0 if is_first else elements[1], prime,
                           "an element of y")
    y_at = machine.output("y", rows, 1, reads, check)
    machine.add_to(y_at, run.family("before", 8, below(prime)))
    explorer.call(f"{SPACE}{backend}::finish_plane", [sums_at, rows, j, where, y_at])


# --- a block -------------------------------------------------------------------------------------

class Block:
    """What a block is, as a caller of its functions states it: the panels of W, the vectors of some columns
    of X, and which columns of W it takes. The planes of all columns are numbered, and the vectors too."""

    def __init__(self, run):
        self.run, (self.machine, self.explorer) = run, run.of_any_size()
        sizes = self.sizes = self.machine.sizes
        self.m, self.n, self.half, self.width = (sizes.symbol(name, 0, most) for name, most in (
            ("m", EXTENT), ("n", EXTENT), ("half", EXTENT // STEP), ("width", WIDE)))
        self.j = t.scale(self.half, STEP, 64)
        sizes.assume([sizes.total(self.half), sizes.total(self.n)],
                     sizes.total(self.j) + sizes.total(self.width) <= sizes.total(self.n))
        self.registers, self.steps, self.panels, self.n_steps = (
            sizes.named_quotient(t.add(v, (1 << power) - 1, 64), power, name) for v, power, name in (
                (self.width, 4, "registers"), (self.width, 1, "steps"), (self.m, 4, "panels"),
                (self.n, 1, "n_steps")))
        self.stride = t.scale(self.registers, LANES, 64)  # of one vector to the next
        self.note(sizes.total(self.n_steps), (
            sizes.total(self.half) + sizes.total(self.steps) <= sizes.total(self.n_steps)))
        self.note(sizes.total(self.registers), STEP * sizes.total(self.steps) <= sizes.total(self.stride))

    def note(self, number, claim):
        """Has a claim count wherever a number is spoken of, once it is proved."""
        claim = claimed(claim)
        if not self.machine.proved(claim):
            raise Refused("what is thought to follow from the sizes does not")
        self.sizes.assume([number], claim)

    def place(self, w, planes, offset, x, y):
        """The block in memory."""
        where = self.run.place(80, 8)
        words(self.machine, where, (w, self.m, self.n, planes, offset, self.j, self.width, self.stride, x, y))
        return where

    def one_vector(self, planes, q, vectors):
        """Vector `vector` is pair q of any column, and so many follow: of so many planes in all."""
        sizes, pairs = self.sizes, (planes + 1) // 2
        self.planes, self.q, self.pairs = planes, q, pairs
        self.offset = sizes.symbol("offset", 0, 6) if planes == 1 else 0
        self.b, self.column = sizes.symbol("b", 0, EXTENT), sizes.counter("column")
        self.vector = t.add(t.scale(self.column, pairs, 64), q, 64)
        self.first = t.add(t.scale(self.column, planes, 64), 2 * q, 64)  # of its planes
        self.count = t.scale(self.b, planes, 64)
        sizes.assume([sizes.total(self.column)],
                     sizes.total(self.vector) + vectors <= sizes.total(t.scale(self.b, pairs, 64)))

    def planes_of(self, v):
        """The numbers, from that of the first vector's first one on, of the planes of the v-th from it."""
        carried, pair = divmod(self.q + v, self.pairs)
        first = carried * self.planes + 2 * (pair - self.q)
        return [first] if 2 * pair + 1 == self.planes else [first, first + 1]


def cases(run):
    """(planes, pair) of each vector that a column may have."""
    for planes in [run.fixed["planes"]] if "planes" in run.fixed else range(1, len(PRIMES) + 1):
        for q in range((planes + 1) // 2):
            yield planes, q


def join_planes(image, run, backend):
    """The block's part of each vector."""
    for planes, q in cases(run):
        join_planes_of(run, f"{SPACE}{backend}::", planes, q)


def join_planes_of(run, space, planes, q):
    one = Block(run)
    machine, sizes = one.machine, one.sizes
    one.one_vector(planes, q, 1)
    x_at = machine.input("x", sizes.product_of(one.count, one.n), 1, [run.family("x", 8)])
    joined_at = machine.output("joined", t.scale(one.stride, 2, 64), 2, None, refuse_store)
    grid = Grid(machine, (1,))
    grid.region = machine.regions[t.ident(joined_at)]
    whole = Part((0,), (1,))

    def hook(count, more):
        def join(machine):
            machine.stores += 1
            if machine.scouting:
                return
            found = [machine.general[name] for name in machine.ARGUMENTS[:count + 2 + len(more)]]
            first = t.total([(x_at, 1), (sizes.multiple(one.first, one.n), 1), (one.j, 1)], 64)
            planes_at = [t.add(first, t.scale(one.n, k, 64), 64) for k in range(count)]
            if len(one.planes_of(0)) != count or not all(map(
                    same, found, (*planes_at, one.width, *more, joined_at))):
                raise Refused("numbers that are not the vector's")
            for where in planes_at:
                machine.located(where, sizes.total(one.width))
            run.outputs += 1
            grid.read(whole)
            grid.write(whole)
        return join
    machine.hooks |= {f"{space}widen_plane": hook(1, []), f"{space}join_pair": hook(2, [q])}
    block = one.place(run.fresh("w[0]", 64), planes, one.offset, x_at, run.fresh("y[0]", 64))
    one.explorer.call(f"{space}join_planes", [block, one.vector, joined_at])


# --- a panel's sums ------------------------------------------------------------------------------

class Panels:
    """Sums of products of W's panels and a block's vectors: two weights of a row, and two numbers of a
    vector, are one element each."""

    def __init__(self, block, vectors):
        machine, run = block.machine, block.run
        self.machine, self.sizes, self.block, self.vectors = machine, block.sizes, block, vectors
        self.sums_of = Totals(machine)
        self.sums_of.are_deep = True  # ways out of the loop over a block's steps have other sums
        self.w_at = machine.input("w", t.scale(
            self.sizes.product_of(block.panels, block.n_steps), ROWS * STEP, 64), STEP, [run.family(
                "w", 8 * STEP)], alignment=64)
        self.joined_at = machine.input("joined", t.scale(block.stride, 2 * vectors, 64), 2 * STEP, [
            run.family("joined", 16 * STEP)], alignment=2)

    def of_steps(self, w, x, length, most):
        """The products of a row in so many steps: `w`, its first two weights; `x`, a vector's two numbers."""
        greatest = STEP * WEIGHT * NUMBER
        ends = (End(self.sums_of.of(self.w_at, "two"), w, ROWS),
                End(self.sums_of.of(self.joined_at, "two"), x, 1))
        return Stretch(sorted(ends, key=lambda end: end.of), length, most, (-greatest, greatest))

    def multiply(self, machine):
        """What `multiply_panel_by_1` to `_4` do, by their contract (linear.panel_of_pairs)."""
        w, x, stride, steps, out = (machine.general[name] for name in machine.ARGUMENTS[:5])
        if machine.scouting:
            return machine.store(out, machine.unknown_cells(4 * self.vectors * ROWS))
        number, own = self.sizes.value(steps), self.block.stride
        if not same(stride, own) or not machine.proved(*map(claimed, (
                number <= PASS, STEP * number <= self.sizes.value(own)))):
            raise Refused("sums of more steps than 32 bits are proved to hold, or of other vectors")
        row, cells = self.place_of(self.w_at, w, ROWS * STEP * number, STEP), []
        for v in range(self.vectors):
            where = t.add(x, t.scale(stride, 2 * v, 64), 64)
            first = self.place_of(self.joined_at, where, 2 * STEP * number, 2 * STEP)
            for r in range(ROWS):
                cells += sums.Sum(32, (), [self.sums_of.product(
                    self.of_steps(t.add(row, r, 64), first, steps, PASS))]).cells
        return machine.store(out, cells)

    def place_of(self, array, address, size, unit):
        """The index of an element of an array at which so many bytes begin, which are proved to lie in it."""
        region, _, offset = self.machine.located(address, size)
        index = divided(offset, unit)
        if region.base is not array or index is None:
            raise Refused(f"bytes of {region.name} where other elements are expected")
        return index

    def expect(self, code, panel, r, v):
        """Proves that code is the sum of row r of a panel and a vector, over the block's columns."""
        first = t.scale(t.add(self.sizes.multiple(panel, self.block.n_steps), self.block.half, 64), ROWS, 64)
        expected = self.of_steps(t.add(first, r, 64), t.scale(
            self.block.registers, LANES // STEP * v, 64), self.block.steps, WIDE // STEP)
        self.sums_of.expect(code, 64, ([(expected, 1)], {}), f"row {r} of a panel")
        if not sums.fits_in(sum_of(code, 64).interval(), LARGEST):
            raise Refused("a sum that may be too large")


def multiply_pass(image, run, backend, vectors):
    """A panel and so many vectors, the first of them any of a column's."""
    for planes, q in cases(run):
        Pass(run, planes, q, vectors).prove(f"{SPACE}{backend}::")


class Pass(Block):
    def __init__(self, run, planes, q, vectors):
        super().__init__(run)
        self.one_vector(planes, q, vectors)
        machine, sizes, self.vectors = self.machine, self.sizes, vectors
        self.of_panels = Panels(self, vectors)
        self.panel = sizes.counter("panel")
        sizes.assume([sizes.total(self.panel)], sizes.total(self.panel) + 1 <= sizes.total(self.panels))
        self.y_at = machine.output("y", sizes.product_of(self.count, self.m), 1, None, refuse_store)
        self.grid = Grid(machine, (self.planes_of(vectors - 1)[-1] + 1,))
        self.grid.region = machine.regions[t.ident(self.y_at)]

    def prove(self, space):
        machine = self.machine
        machine.hooks |= {f"{space}finish_plane": self.finish,
                          f"{space}multiply_panel_by_{self.vectors}": self.of_panels.multiply}
        block = self.place(self.of_panels.w_at, self.planes, self.offset, self.run.fresh("x[0]", 64),
                           self.y_at)
        self.explorer.call(f"{space}multiply_pass<{self.vectors}ul>",
                           [block, self.panel, self.vector, self.of_panels.joined_at])

    def finish(self, machine):
        """What `finish_plane` does, by its contract, with the plane that it is for."""
        machine.stores += 1
        if machine.scouting:
            return
        sums_at, rows, j, prime, y = (machine.general[name] for name in machine.ARGUMENTS[:5])
        number, v = self.plane_at(y)
        self.check_rows(number, rows)
        if not same(j, self.j):
            raise Refused("another block than the pass's")
        own = t.add(self.offset, (2 * self.q + number) % self.planes, 64)
        at = t.sub(prime, t.scale(own, 24, 64), 64)
        if not t.is_int(at) or any(machine.image.constant(at + 24 * k, 24) != modulus(p)
                                   for k, p in enumerate(PRIMES)):
            raise Refused("a modulus that is not proved to be the plane's")
        for r in range(ROWS):
            self.of_panels.expect(t.from_cells(machine.load(sums_at + 8 * r, 8)), self.panel, r, v)
        part = Part((number,), (number + 1,))
        self.grid.read(part)
        self.grid.write(part)

    def plane_at(self, y):
        """(which plane of the pass an address is in, of which vector), at the panel's first row."""
        region, offset = self.machine.split(y)
        plane, row = self.sizes.rows_of(offset, self.m)
        number = t.sub(plane, self.first, 64)
        found = [v for v in range(self.vectors) if number in self.planes_of(v)] if t.is_int(number) else []
        if region.base is not self.y_at or not same(row, t.scale(self.panel, ROWS, 64)) or not found:
            raise Refused("rows that are not the panel's, of a plane of its vectors")
        return number, found[0]

    def check_rows(self, number, rows):
        """They are all of the panel, and the plane is one of the columns'."""
        row, m, count, plane = (self.sizes.total(v) for v in (
            t.scale(self.panel, ROWS, 64), self.m, self.count, t.add(self.first, number, 64)))
        size = self.sizes.value(rows)
        if not self.machine.proved(
                *map(claimed, (plane < count, size >= 0, size <= ROWS, row + size <= m)),
                z3.Or(claimed(size == ROWS), claimed(row + size == m))):
            raise Refused("rows that are not proved to be all of a panel")


class Vectors(Block):
    """A block of several vectors. The grid has one group of rows more than there are panels: the first stands
    for the scratch array. A pass over a panel needs the parts of its vectors there to be written."""

    def __init__(self, run):
        super().__init__(run)
        machine, sizes = self.machine, self.sizes
        self.first, self.count = sizes.symbol("first", 0, 4 * EXTENT), sizes.symbol("count", 1, AT_ONCE)
        self.length = t.scale(sizes.product_of(self.count, self.stride), 2, 64)
        self.joined_at = machine.output("joined", self.length, 2, None, refuse_store)
        self.grid = Grid(machine, (self.count, t.add(self.panels, 1, 64)))
        self.grid.region = machine.regions[t.ident(self.joined_at)]
        self.block = self.place(*(run.fresh(f"{name}[0]", 64) for name in (
            "w", "planes", "offset", "x", "y")))

    def prove(self, space):
        """With what the functions do that a block's calls, by their contracts."""
        self.machine.hooks |= {f"{space}multiply_pass<{vectors}ul>": self.multiply_pass(vectors)
                               for vectors in (1, 2, 3, 4)}
        self.machine.hooks |= {f"{space}join_planes": self.join_planes, "slip::base::wipe": self.wipe}
        self.explorer.call(f"{space}multiply_block", [self.block, self.first, self.count, self.joined_at])

    def join_planes(self, machine):
        machine.stores += 1
        if not machine.scouting:
            block, vector, where = (machine.general[name] for name in machine.ARGUMENTS[:3])
            part = self.of_vectors(block, vector, where, 1, 0)
            self.grid.read(part)
            self.grid.write(part)

    def multiply_pass(self, vectors):
        def hook(machine):
            machine.stores += 1
            if machine.scouting:
                return
            block, panel, vector, where = (machine.general[name] for name in machine.ARGUMENTS[:4])
            if not machine.proved(claimed(self.sizes.total(panel) >= 0), claimed(
                    self.sizes.total(panel) < self.sizes.total(self.panels))):
                raise Refused("a panel that W is not proved to have")
            part = self.of_vectors(block, vector, where, vectors, t.add(panel, 1, 64))
            self.grid.need(part.with_extent(1, 0, 1))
            self.grid.read(part)
            self.grid.write(part)
            self.run.outputs += 1
        return hook

    def of_vectors(self, block, vector, where, vectors, group):
        """The part that some of the block's vectors and a group of rows are, once the block is proved to have
        these vectors, and their numbers to stand at an address."""
        own = t.sub(vector, self.first, 64)
        place = t.add(self.joined_at, t.scale(self.sizes.multiple(own, self.stride), 2, 64), 64)
        number, count = self.sizes.total(own), self.sizes.total(self.count)
        if not same(block, self.block) or not same(where, place) or not self.machine.proved(
                *map(claimed, (number >= 0, number + vectors <= count))):
            raise Refused("vectors that are not proved to be the block's")
        return Part((own, group), (t.add(own, vectors, 64), t.add(group, 1, 64)))

    def wipe(self, machine):
        """All of the scratch array is wiped, once nothing is left to be done."""
        where, size = (machine.general[name] for name in machine.ARGUMENTS[:2])
        machine.stores += 1
        if not machine.scouting:
            if not same(where, self.joined_at) or not machine.proved(claimed(
                    self.sizes.total(size) == self.sizes.total(self.length))):
                raise Refused("wipes something else than the block's numbers")
            self.grid.need(Part((0, 1), (self.count, t.add(self.panels, 1, 64))))


def multiply_block(image, run, backend):
    """Of any panels and up to 64 vectors."""
    Vectors(run).prove(f"{SPACE}{backend}::")


# --- all blocks ----------------------------------------------------------------------------------

def gemm(image, run, backend, kernel):
    """Of any size: of one column, which has wider blocks, and of others; of each number of planes, or for
    gemm_plane of one, whose number is open."""
    if "n" in run.fixed:
        return at_sizes(image, run, backend)
    for planes in range(1, len(PRIMES) + 1) if kernel == "gemm" else [1]:
        for is_one, has_columns in itertools.product((True, False), (True, False)):
            Product(run, kernel, planes, is_one, has_columns).prove(f"{SPACE}{backend}::")
    return None


class Product:
    """The vectors of all columns of X times W, which has columns or none. Each block of columns of W is taken
    once for each vector, one after the other; where there are none, the outputs are set once."""

    def __init__(self, run, kernel, planes, is_one, has_columns):
        self.run, (self.machine, self.explorer) = run, run.of_any_size()
        sizes = self.sizes = self.machine.sizes
        self.kernel, self.planes, self.has_columns = kernel, planes, has_columns
        self.m, b = sizes.symbol("m", 0, EXTENT), 1 if is_one else sizes.symbol("b", 0, EXTENT)
        if not is_one:
            sizes.assume([sizes.total(b)], sizes.total(b) != 1)
        self.n = sizes.symbol("n", 1, EXTENT) if has_columns else 0
        self.offset = 0 if kernel == "gemm" else sizes.symbol("plane", 0, 6)
        self.count = t.scale(b, (planes + 1) // 2, 64)
        self.grid = Grid(self.machine, (self.count, self.n if has_columns else 1))
        self.w, self.x, self.y = (run.fresh(f"{name}[0]", 64) for name in "wxy")
        last = planes if kernel == "gemm" else self.offset
        self.arguments = [self.w, self.m, self.n, self.x, b, last, self.y]

    def prove(self, space):
        self.machine.hooks[f"{space}multiply_block"] = self.multiply_block
        self.explorer.call(f"{space}{self.kernel}", self.arguments)

    def multiply_block(self, machine):
        """What `multiply_block` does, by its contract, with what it takes."""
        machine.stores += 1
        if machine.scouting:
            return
        block, first, count, where = (machine.general[name] for name in machine.ARGUMENTS[:4])
        w, m, n, planes, offset, j, width, stride, x, y = numbers_at(machine, block, 10)
        if not all(map(same, (w, m, n, planes, offset, x, y), (
                self.w, self.m, self.n, self.planes, self.offset, self.x, self.y))):
            raise Refused("a block of something else than the product's")
        self.check_scratch(where)
        self.check_part(*(self.sizes.value(v) for v in (j, width, stride, first, count)))
        low, high = (first, j), (t.add(first, count, 64), t.add(j, width, 64))
        if self.has_columns:
            self.grid.need(Part((first, 0), (high[0], j)))
        else:
            low, high = (first, 0), (high[0], 1)
        self.grid.read(Part(low, high))
        self.grid.write(Part(low, high))
        self.run.outputs += 1

    def check_part(self, j, width, stride, first, count):
        """What the contract of a block requires; its vectors, of whole registers, are `CAPACITY` numbers at
        most."""
        vectors, columns = self.sizes.value(self.count), self.sizes.value(self.n)
        claims = [first + count <= vectors, count >= 1, j + width <= columns, j % STEP == 0,
                  stride % LANES == 0, stride >= width, stride < width + LANES]
        few, many = ([count <= most, stride <= CAPACITY // most] for most in (CAPACITY // WIDE, AT_ONCE))
        if not self.machine.proved(*map(claimed, claims), z3.Or(
                z3.And([claimed(claim) for claim in few]), z3.And([claimed(claim) for claim in many]))):
            raise Refused("a block that is not proved to lie in the product")

    def check_scratch(self, where):
        """The scratch array is the function's own, and nothing else stands there: after the call it holds
        anything."""
        machine, (_, high) = self.machine, self.machine.own_stack
        end = where + 2 * CAPACITY if t.is_int(where) else 0
        if not t.is_int(where) or where % 2 or where < machine.general[machine.POINTER] or end > high or any(
                where <= at < end for at in machine.memory):
            raise Refused("a scratch array that is not proved to be free")
