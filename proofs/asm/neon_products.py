"""The contracts of NEON's products with packed weights, of any size: what is called below them is known by
its own contract.

Planes of X are taken four at a time. Their residues become lifts, four columns of each plane side by side
(`lift_planes`); each panel of W meets them (`multiply_panel`, in linear.py), and leaves the remainders of its
sums in the planes of Y (`finish`). `multiply_block` does so for all panels and a block of columns,
`multiply_planes` for all blocks; `gemm` and `gemm_plane` take all planes. A lift is congruent to its residue,
and so the remainders are those of W X."""

import z3

import linear
import products
import sums
import terms as t
from grids import Grid, Part
from layouts import EXTENT
from machine import Refused, same
from panels import PANELS
from products import numbers_at, refuse_store, words
from regions import claimed
from sizes import divided
from spec import PRIMES, SPACE
from totals import End, Stretch

ROWS, STEP = PANELS["neon"]  # of a panel: rows, and columns of a step
AT_ONCE, BLOCK = 4, 8192     # planes; columns of a block
WEIGHT, LIFT = 127, 125      # the greatest in magnitude
LARGEST = WEIGHT * LIFT * BLOCK


# --- lifts, and what is left of a panel's sums ---------------------------------------------------

def lift_planes(image, run, backend):
    """Of any four planes, each modulo any prime, and any number of columns: whole steps and what is left."""
    for rest in [run.fixed["rest"]] if "rest" in run.fixed else range(STEP):
        lift_planes_of(run, backend, rest)


def lift_planes_of(run, backend, rest):
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    whole = sizes.symbol("whole", 0, BLOCK // STEP)
    width = t.add(t.scale(whole, STEP, 64), rest, 64)
    x = [machine.input(f"x_{l}", width, 1, [run.family(f"x_{l}", 8)]) for l in range(AT_ONCE)]
    primes = [run.fresh(f"prime_{l}[0]", 32, lambda v: [z3.Or([v == p for p in PRIMES])])
              for l in range(AT_ONCE)]
    places = [run.place(24, 8) for _ in primes]
    for l, (where, prime) in enumerate(zip(places, primes)):
        others = run.fresh(f"reciprocals_{l}[0]", 160)
        machine.memory.update(enumerate(t.to_cells(prime, 32) + t.to_cells(others, 160), where))
    readers = [machine.reader(one) for one in x]

    def check(_, code, index):
        step, within = sizes.parted(index, AT_ONCE * STEP)
        if not t.is_int(within):
            raise Refused("a byte of which plane and column are not known")
        l, column = divmod(within, STEP)
        j, number, end = t.add(t.scale(step, STEP, 64), column, 64), *map(sizes.total, (step, whole))
        if machine.proved(claimed(number < end)) or column < rest and machine.proved(claimed(number == end)):
            residue = z3.ZeroExt(24, readers[l](0, j))
            lift = z3.If(z3.UGT(residue, z3.LShR(primes[l] - 1, 1)), residue - primes[l], residue)
            run.expect(code, z3.Extract(7, 0, lift), 8, "a lift")
        elif machine.proved(claimed(number == end)):
            run.expect(code, 0, 8, "a byte behind the last column")
        else:
            raise Refused("a byte that is proved neither to be a column's nor to be behind the last")
    steps = t.add(whole, 1 if rest else 0, 64)
    lifted = machine.output("lifted", t.scale(steps, AT_ONCE * STEP, 64), 1, None, check)
    x_at, of_planes = (run.place(8 * AT_ONCE, 8) for _ in range(2))
    words(machine, x_at, x)
    words(machine, of_planes, places)
    explorer.call(f"{SPACE}{backend}::lift_planes", [x_at, of_planes, width, lifted])


def finish(image, run, backend):
    """As of AVX-512 (products.py)."""
    products.finish(image, run, backend, ROWS, LARGEST)


# --- a block -------------------------------------------------------------------------------------

class Block(products.Blocks):
    """What a block is made of, as a caller of `multiply_block` states it: lifts of planes of X, the panels of
    W, and which columns of W it takes. Four weights of a row, and four lifts of a plane, are one element
    each."""
    rows, largest = ROWS, LARGEST

    def __init__(self, run, count):
        super().__init__(run, 0)
        self.count = count

    def declare(self):
        """All that is open; the arguments of the call."""
        sizes = self.sizes
        self.m, self.n, self.quarter, self.width = (sizes.symbol(name, 0, most) for name, most in (
            ("m", EXTENT), ("n", EXTENT), ("quarter", EXTENT // STEP), ("width", BLOCK)))
        self.j = t.scale(self.quarter, STEP, 64)
        self.declare_planes()
        sizes.assume([sizes.total(self.quarter), sizes.total(self.n)],
                     sizes.total(self.j) + sizes.total(self.width) <= sizes.total(self.n))
        self.steps, self.panels, self.n_steps = (
            sizes.named_quotient(t.add(v, unit - 1, 64), unit.bit_length() - 1, name)
            for v, unit, name in ((self.width, STEP, "steps"), (self.m, ROWS, "panels"),
                                  (self.n, STEP, "n_steps")))
        inside = sizes.total(self.quarter) + sizes.total(self.steps) <= sizes.total(self.n_steps)
        if not self.machine.proved(claimed(inside)):
            raise Refused("what is thought to follow from the sizes does not")
        sizes.assume([sizes.total(self.n_steps)], inside)
        self.declare_arrays()
        product = self.run.place(40, 8)
        words(self.machine, product, (self.w_at, self.m, self.n, self.planes, self.offset))
        return [product, self.first, self.count, self.j, self.width, self.lifted_at, self.y_at]

    def declare_arrays(self):
        machine, sizes, run = self.machine, self.sizes, self.run
        whole = sizes.product_of(self.panels, self.n_steps)
        self.w_at = machine.input("w", t.scale(whole, ROWS * STEP, 64), STEP, [run.family("w", 8 * STEP)],
                                  alignment=64)
        self.lifted_at = machine.input("lifted", t.scale(self.steps, AT_ONCE * STEP, 64), STEP, [
            run.family("lifted", 8 * STEP)], alignment=1)
        self.y_at = machine.output("y", t.scale(self.m, self.count, 64), 1, None, refuse_store)
        self.grid = Grid(machine, (self.count, self.panels))
        self.grid.region = machine.regions[t.ident(self.y_at)]

    def of_steps(self, w, x):
        """The products of a row in the block's steps: `w`, its first four weights; `x`, a plane's lifts."""
        most = STEP * WEIGHT * LIFT
        ends = (End(self.sums_of.of(self.w_at, "four"), w, ROWS),
                End(self.sums_of.of(self.lifted_at, "four"), x, AT_ONCE))
        return Stretch(sorted(ends, key=lambda end: end.of), self.steps, BLOCK // STEP, (-most, most))

    def multiply_panel(self, machine):
        """What `multiply_panel` does, by its contract (linear.panel_of_four_planes)."""
        w, x, steps, out = (machine.general[name] for name in machine.ARGUMENTS[:4])
        if machine.scouting:
            size = 4 * AT_ONCE * ROWS
            return machine.store(out, machine.unknown_cells(size)) if t.is_int(out) else None
        number, places = self.sizes.total(self.steps), []
        for array, where, size in ((self.w_at, w, ROWS), (self.lifted_at, x, AT_ONCE)):
            region, _, offset = machine.located(where, STEP * size * number)
            places.append(divided(offset, STEP))
            if region.base is not array or places[-1] is None or not same(steps, self.steps):
                raise Refused("not the block's steps of a panel of W's and of planes")
        cells = []
        for l in range(AT_ONCE):
            for r in range(ROWS):
                one = self.of_steps(t.add(places[0], r, 64), t.add(places[1], l, 64))
                cells += sums.Sum(32, (), [self.sums_of.product(one)]).cells
        return machine.store(out, cells)

    def expected(self, plane, panel):
        """function(row of a panel) -> the block's products of it and a plane."""
        first = t.scale(t.add(self.sizes.multiple(panel, self.n_steps), self.quarter, 64), ROWS, 64)
        return lambda r: [self.of_steps(t.add(first, r, 64), plane)]


def multiply_block(image, run, backend):
    """Of one to four planes, from any one on."""
    for count in [run.fixed["count"]] if "count" in run.fixed else range(1, AT_ONCE + 1):
        one = Block(run, count)
        arguments = one.declare()
        one.machine.hooks |= {f"{SPACE}{backend}::finish": one.finish,
                              f"{SPACE}{backend}::multiply_panel": one.multiply_panel}
        one.explorer.call(f"{SPACE}{backend}::multiply_block", arguments)


# --- all blocks of some planes -------------------------------------------------------------------

class Planes:
    """One to four planes of Y, of all columns of W, which has some or none. The lifts stand on the stack of
    the function, which itself neither reads nor writes them: they begin with a mark of what `lift_planes`
    left there last."""

    def __init__(self, run, count, has_columns):
        self.run, (self.machine, self.explorer), self.count = run, run.of_any_size(), count
        sizes = self.sizes = self.machine.sizes
        self.has_columns, self.m = has_columns, sizes.symbol("m", 0, EXTENT)
        self.n = sizes.symbol("n", 1, EXTENT) if has_columns else 0
        self.first, self.planes, self.offset = products.planes_of(sizes)
        self.x, self.y = (run.fresh(f"{name}[0]", 64) for name in "xy")
        self.lifted, self.marks = None, {}
        self.grid = Grid(self.machine, (self.n if has_columns else 1,))
        self.product = run.place(40, 8)
        words(self.machine, self.product, (
            run.fresh("w[0]", 64), self.m, self.n, self.planes, self.offset))

    def prove(self, space):
        self.machine.hooks |= {f"{space}lift_planes": self.lift_planes, "slip::base::wipe": self.wipe,
                               f"{space}multiply_block": self.multiply_block}
        self.explorer.call(f"{space}multiply_planes", [
            self.product, self.first, self.count, self.x, self.y])

    def seal(self, machine, lifted):
        """The lifts stand above what functions that are called may use, and nothing else does there."""
        if self.lifted is None:
            size = BLOCK * AT_ONCE
            if not t.is_int(lifted) or lifted < machine.general[machine.POINTER] or not machine.on_stack(
                    lifted, size):
                raise Refused("lifts that do not stand on the function's own stack")
            self.lifted, machine.sealed = lifted, (lifted, lifted + size)
        if lifted != self.lifted:
            raise Refused("lifts that stand in several places")

    def mark(self, machine, what):
        mark = machine.unknown("lifted", 64)
        self.marks[t.ident(mark)] = what
        machine.memory.update(enumerate(t.to_cells(mark, 64), self.lifted))

    def lift_planes(self, machine):
        """What `lift_planes` does, by its contract."""
        x, of_planes, width, out = (machine.general[name] for name in machine.ARGUMENTS[:4])
        self.seal(machine, out)
        if machine.scouting:
            return self.mark(machine, None)
        own = [min(l, self.count - 1) for l in range(AT_ONCE)]
        places = numbers_at(machine, x, AT_ONCE)
        j = t.sub(places[0], self.x, 64)
        if not all(same(place, t.total([(self.x, 1), (self.n, l), (j, 1)], 64))
                   for place, l in zip(places, own)):
            raise Refused("columns that are not the planes'")
        for where, l in zip(numbers_at(machine, of_planes, AT_ONCE), own):
            products.check_modulus(machine, where, t.add(self.first, l, 64), self.planes, self.offset)
        self.check_columns(j, width)
        return self.mark(machine, (j, width))

    def check_columns(self, j, width):
        """That they are some of W's, no more than a block has."""
        begin, number = (self.sizes.value(v) for v in (j, width))
        if not self.machine.proved(z3.And([claimed(claim) for claim in (
                begin % STEP == 0, begin + number <= self.sizes.total(self.n), number <= BLOCK)])):
            raise Refused("columns that are not proved to be those of a block")

    def multiply_block(self, machine):
        """What `multiply_block` does, by its contract, with the columns that it is for."""
        machine.stores += 1
        if machine.scouting:
            return
        found = [machine.general[name] for name in machine.ARGUMENTS[:7]]
        product, first, count, j, width, lifted, y = found
        if not all(map(same, (product, first, count, lifted, y), (
                self.product, self.first, self.count, self.lifted, self.y))):
            raise Refused("a block of something else than the planes'")
        mark = t.from_cells([machine.memory.get(self.lifted + k, 0) for k in range(8)])
        known = None if t.is_int(mark) else self.marks.get(t.ident(mark))
        if known is None or not all(map(same, known, (j, width))):
            raise Refused("planes that are not proved to be lifted")
        self.check_columns(j, width)
        part = Part((0,), (1,))
        if self.has_columns:
            self.grid.need(Part((0,), (j,)))
            part = Part((j,), (t.add(j, width, 64),))
        self.grid.read(part)
        self.grid.write(part)
        self.run.outputs += 1

    def wipe(self, machine):
        where, size = (machine.general[name] for name in machine.ARGUMENTS[:2])
        if machine.scouting and not t.is_int(where):
            return
        if self.lifted is None or where != self.lifted or size != BLOCK * AT_ONCE:
            raise Refused("wipes something else than the lifts")
        self.mark(machine, None)


def multiply_planes(image, run, backend):
    """Of one to four planes, from any one on."""
    for count in [run.fixed["count"]] if "count" in run.fixed else range(1, AT_ONCE + 1):
        for has_columns in (True, False):
            Planes(run, count, has_columns).prove(f"{SPACE}{backend}::")


# --- all planes ----------------------------------------------------------------------------------

def gemm(image, run, backend, kernel):
    """Of any number of planes and columns; gemm_plane, of any columns of one plane, whose number is open."""
    if "n" in run.fixed:
        return products.at_sizes(image, run, backend)
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    m, n, b = (sizes.symbol(name, 0, EXTENT) for name in "mnb")
    if kernel == "gemm":
        planes, offset = sizes.symbol("planes", 1, 7), 0
        count, last = sizes.product("columns", planes, b), planes
    else:
        planes, offset, count = 1, sizes.symbol("plane", 0, 6), b
        last = offset
    w, x, y = (run.fresh(f"{name}[0]", 64) for name in "wxy")
    grid = Grid(machine, (count,))

    def take(product, first, own, x_at, y_at):
        places = [t.add(base, sizes.multiple(first, rows), 64) for base, rows in ((x, n), (y, m))]
        if not all(map(same, (*numbers_at(machine, product, 5), x_at, y_at), (
                w, m, n, planes, offset, *places))):
            raise Refused("planes of something else than the product's")
        number, size = sizes.value(first), sizes.value(own)
        if not machine.proved(*map(claimed, (
                size >= 1, size <= AT_ONCE, number + size <= sizes.total(count)))):
            raise Refused("planes that are not proved to be the product's")
        part = Part((first,), (t.add(first, own, 64),))
        grid.read(part)
        grid.write(part)
        run.outputs += 1

    def hook(machine):
        """What `multiply_planes` does, by its contract, with the planes that it is for."""
        machine.stores += 1
        if not machine.scouting:
            take(*(machine.general[name] for name in machine.ARGUMENTS[:5]))
    machine.hooks[f"{SPACE}{backend}::multiply_planes"] = hook
    explorer.call(f"{SPACE}{backend}::{kernel}", [w, m, n, x, b, last, y])
    return None


# --- the rows ------------------------------------------------------------------------------------

def add_rows(add):
    """Of all that NEON's products consist of, from the lowest up: add(backend, kernel, sizes, function,
    arguments)."""
    any_size = "any size"
    add("neon", "multiply_panel", any_size, linear.panel_of_four_planes)
    for function in (lift_planes, finish, multiply_block, multiply_planes):
        add("neon", function.__name__, any_size, function)
    for kernel in ("gemm", "gemm_plane"):
        add("neon", kernel, any_size, gemm, kernel)
