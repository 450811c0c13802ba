"""The contracts of the portable products with packed weights, of any size: what is called below them is known
by its own contract.

Two planes of a column are joined to a vector of 16-bit numbers (linear.joined). Vector v has pair v mod
`pairs` of column v / pairs: with b columns v < b pairs, and so every plane of every column belongs to one
vector. The functions are, from the lowest up: `join_planes`, a panel's columns of a vector; `add_products`,
the sums of at most 512 products of R rows and V vectors; `finish`, what is left of one sum; `multiply_rows`,
R rows of V vectors from one panel; `multiply_vectors`, V vectors from all panels; `gemm` and `gemm_plane`.
What a panel leaves is added to what the panel before left: so each may be done only once, in order
(grids.py)."""

import itertools

import z3

import linear
import sums
import terms as t
from grids import Grid, Part
from layouts import EXTENT
from machine import Refused, same
from products import WEIGHT, at_sizes, numbers_at, words
from regions import Chunk, claimed
from sizes import divided
from spec import PRIMES, SPACE, below
from totals import End, Stretch, Totals, sum_of

PANEL, PASS = 8192, 512  # columns: linear_panel.hpp, plane_pairs.hpp
JOINED = PRIMES[0] * PRIMES[1] // 2  # the greatest joined number in magnitude
LARGEST = WEIGHT * JOINED * (EXTENT + 1)
FIELDS = 7  # of a Product
# Rows and vectors at a time.
SHAPES = (2, 4), (4, 2), (4, 1), (1, 4), (1, 2), (1, 1)
WIDEST = {vectors: rows for rows, vectors in SHAPES[:3]}


def of_shape(function, rows, vectors):
    """(the row, the symbol) of a function for so many rows and vectors. `add_products` is no template's."""
    if function == "add_products":
        return (f"{function}_{rows}_{vectors}",) * 2
    return f"{function}<{rows}, {vectors}>", f"{function}<{rows}ul, {vectors}ul>"


def pairs_of(planes):
    return (planes + 1) // 2


def product_at(run, fields):
    """The address of a Product. What a function has no use for is None: it may be anything."""
    where = run.place(8 * FIELDS, 8)
    words(run.machine, where, [run.fresh(f"field_{k}[0]", 64) if v is None else v
                               for k, v in enumerate(fields)])
    return where


# --- one vector ----------------------------------------------------------------------------------

class Vector:
    """A vector of any column: pair q of so many planes, the primes of which begin with that of `offset`. What
    `rows` names is how long a plane is, the columns of W for X, and its rows for Y."""

    def __init__(self, run, planes, offset, q, rows):
        self.run, (self.machine, self.explorer) = run, run.of_any_size()
        sizes = self.sizes = self.machine.sizes
        self.planes, self.offset, self.q = planes, offset, q
        self.primes = PRIMES[offset:][2 * q:min(2 * q + 2, planes)]
        self.length = sizes.symbol(rows, 1, EXTENT)
        b, column = sizes.symbol("b", 1, EXTENT), sizes.symbol("column", 0, EXTENT)
        before, self.whole = (sizes.product_of(v, self.length) for v in (column, b))
        sizes.assume([sizes.total(column)], claimed(sizes.total(column) < sizes.total(b)))
        sizes.assume([sizes.total(before)], claimed(  # column < b
            sizes.total(before) + sizes.total(self.length) <= sizes.total(self.whole)))
        self.number = t.add(t.scale(column, pairs_of(planes), 64), q, 64)
        sizes.name_division(self.number, pairs_of(planes), column, q)
        first = t.add(t.scale(column, planes, 64), 2 * q, 64)
        self.at = sizes.product_of(first, self.length)
        if not t.is_int(self.at):
            product = sizes.symbols[next(iter(t.linear(self.at, 64)[0]))]
            sizes.assume([product], sizes.total(self.at) == (
                planes * sizes.total(before) + 2 * q * sizes.total(self.length)))

    def begin(self, k):
        """Where its plane k begins."""
        return t.add(self.at, t.scale(self.length, k, 64), 64)

    def region(self, name, chunks):
        return self.machine.region(name, t.scale(self.whole, self.planes, 64), 1, chunks)


def every_vector(run):
    """(planes, the number of the first one's prime, pair) of all vectors: gemm_plane's one plane is any."""
    for planes in [run.fixed["planes"]] if "planes" in run.fixed else range(1, len(PRIMES) + 1):
        for offset in range(len(PRIMES)) if planes == 1 else (0,):
            yield from ((planes, offset, q) for q in range(pairs_of(planes)))


def join_planes(image, run, backend):
    """Of any columns of a panel, at most."""
    for vector in every_vector(run):
        join_planes_of(Vector(run, *vector, "n"), backend)


def join_planes_of(one, backend):
    run, machine, sizes = one.run, one.machine, one.sizes
    first, width = sizes.symbol("first", 0, EXTENT), sizes.symbol("width", 0, PANEL)
    sizes.assume([sizes.total(first)], sizes.total(first) + sizes.total(width) <= sizes.total(one.length))
    chunks = [Chunk(one.begin(k), one.begin(k + 1), 1, family=run.family(f"x_{k}", 8, below(p)))
              for k, p in enumerate(one.primes)]
    x_at = one.region("x", chunks)
    of_x = machine.regions[t.ident(x_at)]

    def reads(_, j):
        return [machine.element(of_x, chunk, t.total([(chunk.begin, 1), (first, 1), (j, 1)], 64),
                                machine.guard, is_wanted=True) for chunk in chunks]

    def check(_, code, elements):
        if len(elements) == 1:
            spec = z3.ZeroExt(8, elements[0])
        else:
            spec = z3.Extract(15, 0, linear.joined(*one.primes).value(z3.Concat(*reversed(elements))))
        run.expect(code, spec, 16, "an element of a vector")
    out = machine.output("joined", t.scale(width, 2, 64), 2, reads, check)
    product = product_at(run, (None, None, one.length, one.planes, one.offset, x_at, None))
    one.explorer.call(f"{SPACE}{backend}::join_planes", [product, one.number, first, width, out])


class Remainders(Grid):
    """Elements of an output of which some must be written, and no others may."""

    def __init__(self, machine, region, wanted):
        super().__init__(machine, (region.length,))
        self.region, self.wanted = region, wanted

    def conclude(self, state):
        done = state.finished.done
        if len(done) != len(self.wanted) or not all(
                any(self.is_in(part, one, state.path) for one in done) for part in self.wanted):
            raise Refused("not every plane's remainder is written once")


def finish(image, run, backend):
    """Of any row, of each prime, of the first panel and of a later one."""
    for is_first, vector in itertools.product((1, 0), every_vector(run)):
        finish_of(Vector(run, *vector, "m"), is_first, backend)


def finish_of(one, is_first, backend):
    run, machine, sizes = one.run, one.machine, one.sizes
    i = sizes.symbol("i", 0, EXTENT)
    sizes.assume([sizes.total(i)], claimed(sizes.total(i) < sizes.total(one.length)))
    places = [t.add(one.begin(k), i, 64) for k in range(len(one.primes))]
    sum_ = run.fresh("sum_of_products[0]", 64, lambda v: [v >= -LARGEST, v <= LARGEST])
    region = None

    def check(k):
        def prove(code, index):
            before = 0 if is_first else machine.element(region, region.chunks[k], index, is_wanted=True)
            run.expect_residue(code, sum_, (-LARGEST, LARGEST), before, one.primes[k], "an element of y")
        return prove
    y_at = one.region("y", [Chunk(at, t.add(at, 1, 64), 1, run.family(f"before_{k}", 8, below(p)),
                                  check=check(k)) for k, (at, p) in enumerate(zip(places, one.primes))])
    region = machine.regions[t.ident(y_at)]
    Remainders(machine, region, [Part((at,), (t.add(at, 1, 64),)) for at in places])
    product = product_at(run, (None, one.length, None, one.planes, one.offset, None, y_at))
    one.explorer.call(f"{SPACE}{backend}::finish", [product, one.number, i, is_first, sum_])


# --- sums of products ----------------------------------------------------------------------------

def add_products(image, run, backend, rows, vectors):
    """Of any number of columns that 32 bits allow. What the sums were is unknown."""
    machine, explorer = run.of_any_size()
    run.sum_products()
    sums_of, sizes = Totals(machine), machine.sizes
    stride, n = sizes.symbol("stride", 0, EXTENT), sizes.symbol("n", 0, PASS)
    sizes.assume([sizes.total(stride), sizes.total(n)], sizes.total(n) <= sizes.total(stride))
    w_at = machine.input("w", t.add(t.scale(stride, rows - 1, 64), n, 64), 1, [
        run.family("w", 8, *linear.WEIGHT)])
    x_at = machine.input("x", t.add(2 * PANEL * (vectors - 1), t.scale(n, 2, 64), 64), 2, [run.family(
        "x", 16, lambda v: [v >= -JOINED, v <= JOINED], [
            linear.Part("value", lambda v: z3.SignExt(48, v), (-JOINED, JOINED))])])
    out, before = run.room(8 * rows * vectors, 8), [sums_of.unknown(64) for _ in range(rows * vectors)]
    machine.store(out, [cell for number in before for cell in sums.Sum(64, (), [number]).cells])

    def conclude():
        w, x = sums_of.of(w_at, "value"), sums_of.of(x_at, "value")
        for k, (r, v) in enumerate(itertools.product(range(rows), range(vectors))):
            products = sums_of.stretch(((w, t.scale(stride, r, 64), 1), (x, v * PANEL, 1)), n, PASS)
            code = run.output(out + 8 * k, 64)
            sums_of.expect(code, 64, ([(products, 1)], {before[k]: 1}), f"sums[{r}][{v}]")
    explorer.call(f"{SPACE}{backend}::{of_shape('add_products', rows, vectors)[1]}", [
        w_at, stride, x_at, n, out], conclude)


# --- rows of Y -----------------------------------------------------------------------------------

class Rows:
    """R rows of V vectors of Y, some of all columns', from a panel of columns. Joined vectors stand side by
    side. Unless the panel is the first, what stands in Y must be what the one before left."""

    def __init__(self, run, rows, vectors):
        machine, self.explorer = run.of_any_size()
        self.machine, self.rows, self.vectors = machine, rows, vectors
        sizes, self.sums_of = machine.sizes, Totals(machine)
        self.sizes, (self.m, self.n, self.i, self.first) = sizes, (
            sizes.symbol(name, 0, EXTENT) for name in ("m", "n", "i", "first"))
        self.width, self.vector = sizes.symbol("width", 0, PANEL), sizes.symbol("vector", 0, 7 * EXTENT)
        i, n = sizes.total(self.i), sizes.total(self.n)
        sizes.assume([sizes.total(self.first)], sizes.total(self.first) + sizes.total(self.width) <= n)
        sizes.assume([i], i + rows <= sizes.total(self.m))
        before, whole = (sizes.product_of(v, self.n) for v in (self.i, self.m))
        sizes.assume([sizes.total(before)],  # i + rows <= m
                     sizes.total(before) + rows * n <= sizes.total(whole))
        self.w_at = machine.input("w", whole, 1, [run.family("w", 8)])
        self.x_at = machine.input("x", 2 * PANEL * vectors, 2, [run.family("x", 16)])
        self.product = product_at(run, (self.w_at, self.m, self.n, None, None, None, None))
        self.begin = t.add(before, self.first, 64)
        self.grid = Grid(machine, (rows, vectors))

    def call(self, backend):
        shape = f"<{self.rows}ul, {self.vectors}ul>"
        added = of_shape("add_products", self.rows, self.vectors)[1]
        self.machine.hooks |= {f"{SPACE}{backend}::{added}": self.add_products,
                               f"{SPACE}{backend}::finish": self.finish}
        self.explorer.call(f"{SPACE}{backend}::multiply_rows{shape}", [
            self.product, self.i, self.vector, self.first, self.width, self.x_at])

    def stretch(self, w, x, length, most):
        """The products of so many weights and joined residues."""
        ends, largest = [End(self.sums_of.of(self.w_at, "weight"), w, 1),
                         End(self.sums_of.of(self.x_at, "joined"), x, 1)], WEIGHT * JOINED
        return Stretch(sorted(ends, key=lambda end: end.of), length, most, (-largest, largest))

    def add_products(self, machine):
        """What `add_products` does, by its contract."""
        w, stride, x, length, out = (machine.general[name] for name in machine.ARGUMENTS[:5])
        count = self.rows * self.vectors
        if machine.scouting:
            return machine.store(out, machine.unknown_cells(8 * count)) if t.is_int(out) else None
        number = self.sizes.value(length)
        region, _, row = machine.located(w, (self.rows - 1) * self.sizes.total(self.n) + number)
        other, _, offset = machine.located(x, 2 * number)
        column = divided(offset, 2)
        if region.base is not self.w_at or other.base is not self.x_at or column is None or not (
                same(stride, self.n)) or not machine.proved(z3.And([claimed(claim) for claim in (
                    number <= PASS, self.sizes.total(column) + number <= self.sizes.total(self.width))])):
            raise Refused("not some columns of rows of W and of vectors")
        cells = []
        for k, (r, v) in enumerate(itertools.product(range(self.rows), range(self.vectors))):
            before = sum_of(t.from_cells(machine.load(out + 8 * k, 8)), 64)
            if before is None:
                raise Refused("adds to what is no sum")
            added = self.stretch(t.add(row, t.scale(self.n, r, 64), 64), t.add(column, v * PANEL, 64),
                                 length, PASS)
            cells += sums.Sum(64, (before,), [self.sums_of.product(added)]).cells
        return machine.store(out, cells)

    def finish(self, machine):
        """What `finish` does, by its contract, with the row and the vector that it is for."""
        machine.stores += 1
        if machine.scouting:
            return
        product, vector, i, is_first, total = (machine.general[name] for name in machine.ARGUMENTS[:5])
        r, v = (t.sub(a, b, 64) for a, b in ((i, self.i), (vector, self.vector)))
        if product != self.product or not all(map(t.is_int, (r, v))) or r >= self.rows or v >= self.vectors:
            raise Refused("a row or a vector that is none of these")
        check_first(machine, t.extract(is_first, 0, 8), self.first)
        expected = self.stretch(t.add(self.begin, t.scale(self.n, r, 64), 64), v * PANEL, self.width, PANEL)
        self.sums_of.expect(total, 64, ([(expected, 1)], {}), f"row {r} of vector {v}")
        if not t.is_int(total) and not sums.fits_in(sum_of(total, 64).interval(), LARGEST):
            raise Refused("a sum that may be too large")
        part = Part((r, v), (r + 1, v + 1))
        self.grid.read(part)
        self.grid.write(part)


def check_first(machine, flag, first):
    """Whether columns begin with the first of W."""
    number = machine.sizes.value(flag)
    if not machine.proved(claimed(z3.If(machine.sizes.total(first) == 0, number == 1, number == 0))):
        raise Refused("what is thought to be the first panel is not proved to be it")


def multiply_rows(image, run, backend, rows, vectors):
    """Of any rows and any columns of a panel, at most."""
    Rows(run, rows, vectors).call(backend)


# --- all rows ------------------------------------------------------------------------------------

class Vectors:
    """V vectors of Y, some of all columns', from all panels of columns, of which there are some or none. The
    joined vectors stand on the stack of the function, which itself neither reads nor writes them: each begins
    with a mark of what `join_planes` left there last."""

    def __init__(self, run, vectors, has_columns):
        self.run, (self.machine, self.explorer), self.vectors = run, run.of_any_size(), vectors
        sizes = self.sizes = self.machine.sizes
        self.m, self.has_columns = sizes.symbol("m", 0, EXTENT), has_columns
        self.n = sizes.symbol("n", 1, EXTENT) if has_columns else 0
        self.vector, self.joined, self.marks = sizes.symbol("vector", 0, 7 * EXTENT), None, {}
        self.grid = Grid(self.machine, (self.m, self.n if has_columns else 1))
        self.product = product_at(run, (None, self.m, self.n, None, None, None, None))

    def call(self, backend):
        name = f"{SPACE}{backend}::multiply"
        self.machine.hooks |= {f"{SPACE}{backend}::join_planes": self.join_planes,
                               "slip::base::wipe": self.wipe}
        self.machine.hooks |= {f"{name}_rows<{rows}ul, {self.vectors}ul>": self.multiply_rows(rows)
                               for rows in (1, WIDEST[self.vectors])}
        self.explorer.call(f"{name}_vectors<{WIDEST[self.vectors]}ul, {self.vectors}ul>", [
            self.product, self.vector])

    def place(self, v):
        """Where a joined vector stands."""
        return self.joined + 2 * PANEL * v

    def seal(self, machine, joined):
        """The vectors stand above what functions that are called may use, and nothing else does there."""
        size = 2 * PANEL * self.vectors
        if self.joined is None:
            if joined < machine.general[machine.POINTER] or not machine.on_stack(joined, size):
                raise Refused("vectors that do not stand on the function's own stack")
            self.joined, machine.sealed = joined, (joined, joined + size)
        if joined != self.joined:
            raise Refused("vectors that stand in several places")

    def mark(self, machine, v, what):
        mark = machine.unknown("joined", 64)
        self.marks[t.ident(mark)] = what
        machine.memory.update(enumerate(t.to_cells(mark, 64), self.place(v)))

    def join_planes(self, machine):
        """What `join_planes` does, by its contract."""
        product, vector, first, width, out = (machine.general[name] for name in machine.ARGUMENTS[:5])
        v = t.sub(vector, self.vector, 64)
        if not all(map(t.is_int, (v, out))) or not v < self.vectors:
            if machine.scouting:
                return
            raise Refused("a vector that is none of these")
        self.seal(machine, out - 2 * PANEL * v)
        if not machine.scouting:
            self.check_panel(product, first, width)
        self.mark(machine, v, None if machine.scouting else (first, width))

    def check_panel(self, product, first, width):
        begin, number = (self.sizes.value(v) for v in (first, width))
        if product != self.product or not self.machine.proved(z3.And([claimed(claim) for claim in (
                begin + number <= self.sizes.total(self.n), number <= PANEL)])):
            raise Refused("columns that are not proved to be those of a panel")

    def multiply_rows(self, rows):
        """What `multiply_rows` does, by its contract, with the rows that it is for."""
        def hook(machine):
            machine.stores += 1
            if machine.scouting:
                return
            product, i, vector, first, width, x = (machine.general[name] for name in machine.ARGUMENTS[:6])
            self.check_panel(product, first, width)
            if not same(vector, self.vector) or x != self.joined or not machine.proved(claimed(
                    self.sizes.value(i) + rows <= self.sizes.total(self.m))):
                raise Refused("rows or vectors of something else than the product's")
            self.check_joined(first, width)
            low, high = (i, first), (t.add(i, rows, 64), t.add(first, width, 64))
            if self.has_columns:
                self.grid.need(Part((i, 0), (high[0], first)))
            else:
                low, high = (i, 0), (high[0], 1)
            self.grid.read(Part(low, high))
            self.grid.write(Part(low, high))
            self.run.outputs += 1
        return hook

    def check_joined(self, first, width):
        """Every vector is that of the panel."""
        for v in range(self.vectors):
            mark = t.from_cells([self.machine.memory.get(self.place(v) + k, 0) for k in range(8)])
            known = None if t.is_int(mark) else self.marks.get(t.ident(mark))
            if known is None or not all(map(same, known, (first, width))):
                raise Refused("vectors that are not proved to be joined")

    def wipe(self, machine):
        """Of no more than a vector."""
        where, size = (machine.general[name] for name in machine.ARGUMENTS[:2])
        if machine.scouting and not t.is_int(where):
            return
        if self.joined is None or where not in map(self.place, range(self.vectors)) or not machine.proved(
                claimed(self.sizes.value(size) <= 2 * PANEL)):
            raise Refused("wipes something else than the vectors")
        self.mark(machine, (where - self.joined) // (2 * PANEL), None)


def multiply_vectors(image, run, backend, vectors):
    """Of any number of rows and columns."""
    for has_columns in (True, False):
        Vectors(run, vectors, has_columns).call(backend)


# --- all vectors ---------------------------------------------------------------------------------

def gemm(image, run, backend, kernel):
    """Of any number of columns, and each number of planes; gemm_plane, of any plane."""
    if "n" in run.fixed:
        return at_sizes(image, run, backend)
    for planes in range(1, len(PRIMES) + 1) if kernel == "gemm" else (1,):
        gemm_of(run, backend, kernel, planes)
    return None


def gemm_of(run, backend, kernel, planes):
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    m, n, b, plane = (sizes.symbol(name, 0, most) for name, most in (
        ("m", EXTENT), ("n", EXTENT), ("b", EXTENT), ("plane", 6)))
    whole = [t.scale(sizes.product_of(b, length), planes, 64) for length in (n, m)]
    w_at = machine.input("w", sizes.product_of(m, n), 1, [run.family("w", 8)], alignment=64)
    x_at = machine.input("x", whole[0], 1, [run.family("x", 8)])
    y_at = machine.input("y", whole[1], 1, [run.family("y", 8)])
    offset, last = (0, planes) if kernel == "gemm" else (plane, plane)
    product, vectors = (w_at, m, n, planes, offset, x_at, y_at), t.scale(b, pairs_of(planes), 64)
    grid = Grid(machine, (vectors,))

    def multiply_vectors(count):
        """What `multiply_vectors` does, by its contract."""
        def hook(machine):
            machine.stores += 1
            if machine.scouting:
                return
            at, vector = (machine.general[name] for name in machine.ARGUMENTS[:2])
            end = t.add(vector, count, 64)
            if not all(map(same, numbers_at(machine, at, FIELDS), product)) or not machine.proved(
                    claimed(sizes.value(vector) + count <= sizes.total(vectors))):
                raise Refused("vectors that are not proved to be the product's")
            grid.read(Part((vector,), (end,)))
            grid.write(Part((vector,), (end,)))
            run.outputs += 1
        return hook
    machine.hooks |= {f"{SPACE}{backend}::multiply_vectors<{rows}ul, {count}ul>": multiply_vectors(count)
                      for count, rows in WIDEST.items()}
    explorer.call(f"{SPACE}{backend}::{kernel}", [w_at, m, n, x_at, b, last, y_at])


# --- the rows ------------------------------------------------------------------------------------

def add_rows(add):
    """Of all that the portable products consist of, from the lowest up: add(backend, kernel, sizes, function,
    arguments)."""
    any_size = "any size"
    add("portable", "join_planes", any_size, join_planes)
    add("portable", "finish", any_size, finish)
    for rows, vectors in SHAPES:
        for function in (add_products, multiply_rows):
            add("portable", of_shape(function.__name__, rows, vectors)[0], any_size, function, rows, vectors)
    for vectors, rows in WIDEST.items():
        add("portable", f"multiply_vectors<{rows}, {vectors}>", any_size, multiply_vectors, vectors)
    for kernel in ("gemm", "gemm_plane"):
        add("portable", kernel, any_size, gemm, kernel)
