"""The contracts of `mix` and `scores` (FloatKernels in contracts.hpp) and of the functions that they consist
of (optimized/kernels/leaf/floats.hpp, four_keys.hpp), each of any size: the operations of each element in
their order (floats.py).

A prefetch reads nothing, and may be of any address: only how many bytes a step takes is a size, as a loop's
end depends on it."""

import functools
import itertools

import z3

import terms as t
from carried import Chains
from float_rows import MOST, array, ordered, product, sums_of_products, total
from grids import Grid, Part, Touch
from layouts import EXTENT
from machine import InVector, Refused, same
from products import numbers_at
from regions import Chunk, claimed
from sizes import divided
from spec import SPACE

ANY = "any size"  # as in runs.py
AHEAD = 1 << 16  # bytes that are prefetched in a step, at most
WIDTHS = {"portable": 4, "avx2": 8, "avx512": 16, "neon": 4}  # of a register
ROWS = {"portable": (2, 1), "avx2": (2, 1), "avx512": (4, 2, 1), "neon": (4, 2, 1)}  # of a pass of mix
SCORED = {"portable": (), "avx2": (2, 1), "avx512": (4, 2, 1), "neon": ()}  # of a group of rows of scores


def leaf(backend):
    return f"{SPACE}{backend}::Leaf"


def place(run, values):
    """Where some numbers of 8 bytes stand, one after the other."""
    where = run.place(8 * len(values), 8)
    for k, v in enumerate(values):
        run.machine.memory.update(enumerate(t.to_cells(v, 64), where + 8 * k))
    return where


def any_product(machine, a, b, width, signed):
    """Of numbers on which nothing depends but where something is prefetched."""
    return machine.unknown("product", 2 * width)


class Prefetched:
    """What is prefetched: any address, which may be changed, and a size, of bytes in a step."""

    def __init__(self, run):
        self.machine = run.machine
        self.step = run.machine.sizes.symbol("per_step", 0, AHEAD)
        self.at = place(run, [run.fresh("ahead", 64), self.step])
        run.machine.free.append((self.at, self.at + 16))
        run.machine.multiply = any_product

    def is_kept(self):
        return same(number_at(self.machine, self.at + 8), self.step)

    def conclude(self):
        if not self.is_kept():
            raise Refused("another number of bytes in a step than before")


def number_at(machine, where):
    cells = [machine.memory.get(where + k) for k in range(8)]
    return None if None in cells else t.from_cells(cells)


# --- one tile of mix -------------------------------------------------------------------------------

class Mixtures(Chains):
    """Of each output of a tile what it was, and position after position its weight times the value."""

    are_deep = True  # what is prefetched in a pass is a loop

    def __init__(self, tile):
        self.tile, self.machine, self.width = tile, tile.machine, 32
        self.count = tile.rows * tile.columns
        self.whole = self.count * tile.machine.sizes.total(tile.positions)
        self.values, self.forms, self.kept, self.known, self.begun = {}, {}, [], {}, {}
        self.machine.chains = self
        for number in range(self.count):
            self.begin(number)

    def taken(self, number, done):
        """Each position is a step of all chains."""
        return done / self.count if z3.is_expr(done) else done // self.count

    def begin(self, number):
        """What an output was."""
        if number not in self.begun:
            self.begun[number] = self.tile.before(*divmod(number, self.tile.columns))
            self.forms[t.ident(self.begun[number])] = number, 0
        return self.begun[number]

    def at(self, number, steps):
        steps = steps if t.is_int(steps) else z3.simplify(steps)
        steps = steps.as_long() if z3.is_int_value(steps) else steps
        return self.begin(number) if t.is_int(steps) and steps == 0 else super().at(number, steps)

    def is_first(self, v):
        return False

    def mark(self, v):
        """It may be -0."""

    def last_step(self, v):
        """A sum of a chain and of the product of the weight and the value that its next step takes."""
        if not is_applied(v, "add32"):
            return None
        for before, own in itertools.permutations(t.parts_of(v)):
            known = self.found(before) if is_applied(own, "multiply32") else None
            for weight, value in itertools.permutations(t.parts_of(own)) if known else ():
                if self.tile.are_next(weight, value, *known):
                    return known[0], known[1] + 1
        return None

    def integers(self, state):
        return integers_in(self, state)


def integers_in(chains, state):
    """The ids of the sizes and counters on which the chains in a state depend, of elements of any arrays."""
    found = set()
    for v in (v for _, variables in chains.terms_in(state) for v in variables):
        for region in chains.machine.regions.values():
            if t.ident(v) in region.places:
                found |= chains.machine.sizes.symbols_in([region.places[t.ident(v)][0]])
        steps = chains.forms.get(t.ident(v), (0, 0))[1]
        found |= frozenset() if t.is_int(steps) else chains.machine.sizes.bases_of(steps)
    return found


def is_applied(v, name):
    return not t.is_int(v) and t.ident(v) in t.APPLIED and v.decl().name() == name


class Tile(Grid):
    """`rows` outputs of so many columns, from any column on, over any number of positions. They are read
    before they are written."""

    def __init__(self, run, rows, columns, is_empty):
        machine, self.explorer = run.of_any_size()
        super().__init__(machine, (0, 0))
        self.run, self.rows, self.columns = run, rows, columns
        sizes = self.sizes
        self.positions = 0 if is_empty else sizes.symbol("positions", 1, EXTENT)
        self.stride, self.column = sizes.symbol("stride", 0, EXTENT), sizes.symbol("column", 0, EXTENT)
        end = t.add(self.column, columns, 64)
        whole = sizes.product_of(self.positions, self.stride)
        length = 0 if is_empty else t.add(t.sub(whole, self.stride, 64), end, 64)
        self.weights = [self.input_of(f"weights_{r}", self.positions) for r in range(rows)]
        self.values = self.input_of("values", length)
        self.outs = [machine.region(f"out_{r}", t.scale(end, 4, 64), 4, [Chunk(
            t.scale(self.column, 4, 64), t.scale(end, 4, 64), 4, run.family(f"out_{r}", 32),
            check=functools.partial(self.check, r))]) for r in range(rows)]
        self.own = {t.ident(at): r for r, at in enumerate(self.outs)}
        machine.check_read = self.check_read
        self.mixtures = Mixtures(self)

    def input_of(self, name, length):
        return self.machine.input(name, t.scale(length, 4, 64), 4, [self.run.family(name, 32)])

    def before(self, r, i):
        region = self.machine.regions[t.ident(self.outs[r])]
        return self.machine.element(region, region.chunks[0], t.add(self.column, i, 64))

    def index_in(self, v, pointer):
        """Of an element of an array; None of others."""
        return self.machine.regions[t.ident(pointer)].places.get(t.ident(v), (None,))[0]

    def are_next(self, weight, value, number, steps):
        """Whether two elements are the weight and the value of the step of a chain after so many."""
        r, i = divmod(number, self.columns)
        p, index = self.index_in(weight, self.weights[r]), self.index_in(value, self.values)
        return p is not None and index is not None and same(
            index, t.total([(self.sizes.multiple(p, self.stride), 1), (self.column, 1), (i, 1)], 64)) and (
                self.machine.proved(self.sizes.total(p) == steps))

    def check_read(self, region, chunk, low, high):
        if region.is_output:
            r = self.own[t.ident(region.base)]
            self.read(Part((r, low), (r + 1, high)))

    def check(self, r, code, index):
        low = t.scale(index, 4, 64)
        self.machine.finished.touched.append(Touch(Part((r, low), (r + 1, t.add(low, 4, 64))), True))
        i = t.sub(index, self.column, 64)
        known = self.mixtures.found(code)
        if not t.is_int(i) or known is None or known[0] != r * self.columns + i or (
                not self.mixtures.is_whole(known)):
            raise Refused(f"column {i} of row {r} is not its mixture of all positions: {known}")
        self.run.outputs += 1

    def prove(self, function):
        run, ahead = self.run, Prefetched(self.run)
        values = place(run, [self.values, self.stride, self.positions])
        self.explorer.call(function, [place(run, self.weights), values, place(run, self.outs), self.column,
                                      ahead.at], ahead.conclude)


def mix_tile(image, run, backend, rows, width, vectors):
    """With positions and without."""
    for is_empty in (False, True):
        Tile(run, rows, width * vectors, is_empty).prove(name_of_tile(backend, rows, width, vectors))


def tiles(backend):
    """(rows, floats of a register, registers) of each tile."""
    widest = WIDTHS[backend]
    widths = [(width, 1) for width in (16, 8, 4, 1) if width <= widest]
    return [(rows, *shape) for rows in ROWS[backend] for shape in [(widest, 4), *widths]]


# --- all of mix --------------------------------------------------------------------------------------

def arguments_of(machine, count):
    return [machine.general[name] for name in machine.ARGUMENTS[:count]]


class Steps(Grid):
    """An output's parts, along one extent, each of which a function changes that is proved by itself."""

    def __init__(self, run, name):
        self.run, (machine, self.explorer) = run, run.of_any_size()
        self.length = machine.sizes.symbol(name, 0, EXTENT)
        super().__init__(machine, (self.length,))

    def change(self, begin, size):
        """That a part is changed once."""
        number = self.sizes.total(begin)
        if not self.machine.proved(*map(claimed, (
                number >= 0, number + size <= self.sizes.total(self.length)))):
            raise Refused("a part that is not proved to be there")
        part = Part((begin,), (t.add(begin, size, 64),))
        self.read(part)
        self.write(part)
        self.run.outputs += 1


class RowsOfMix(Steps):
    """A few rows: each column once."""

    def __init__(self, run, backend, rows):
        super().__init__(run, "width")
        self.rows = rows
        self.fixed = [run.fresh(name, 64) for name in ("weights", "values", "out", "ahead")]
        self.machine.hooks |= {
            name_of_tile(backend, *shape): functools.partial(self.mix_tile, shape[1] * shape[2])
            for shape in tiles(backend) if shape[0] == rows}
        weights, values, out, ahead = self.fixed
        self.explorer.call(name_of_rows(backend, rows), [weights, values, self.length, out, ahead])

    def mix_tile(self, columns, machine):
        machine.stores += 1
        if machine.scouting:
            return
        weights, values, out, column, ahead = arguments_of(machine, 5)
        if not all(map(same, (weights, values, out, ahead), self.fixed)):
            raise Refused("a tile of other rows or values")
        self.change(column, columns)


def mix_rows(image, run, backend, rows):
    RowsOfMix(run, backend, rows)


class Mix(Steps):
    """Any number of rows, each once."""

    def __init__(self, run, backend):
        super().__init__(run, "rows")
        sizes = self.sizes
        self.width, self.positions, self.stride = (
            sizes.symbol(name, 0, EXTENT) for name in ("width", "positions", "stride"))
        self.weights, self.values, self.out, self.next = (
            run.fresh(name, 64) for name in ("weights", "values", "out", "next"))
        self.ahead = Stepped(self.machine, backend)
        self.machine.hooks |= {name_of_rows(backend, rows): functools.partial(self.mix_rows, rows)
                               for rows in ROWS[backend]}
        self.explorer.call(f"{SPACE}{backend}::mix", [
            self.weights, self.length, self.values, self.stride, self.positions, self.width, self.out,
            self.next])

    def mix_rows(self, rows, machine):
        machine.stores += 1
        weights, values, width, out, ahead = arguments_of(machine, 5)
        self.ahead.take(ahead)
        if machine.scouting:
            return
        if not same(width, self.width) or not all(map(same, numbers_at(machine, values, 3), (
                self.values, self.stride, self.positions))):
            raise Refused("rows of other values")
        first = t.sub(weights, self.weights, 64)
        if not same(first, t.sub(out, self.out, 64)) or divided(first, 8) is None:
            raise Refused("other rows than their weights'")
        self.change(divided(first, 8), rows)


class Stepped:
    """What a kernel prefetches: the function that says how much in a step is proved by itself."""

    def __init__(self, machine, backend):
        self.machine, self.step = machine, machine.sizes.symbol("per_step", 0, AHEAD)
        machine.hooks[f"{SPACE}floats::prefetched_in_step<{leaf(backend)}>"] = lambda _: self.step

    def take(self, where):
        """What a function does with it."""
        if not same(number_at(self.machine, t.add(where, 8, 64)), self.step):
            raise Refused("prefetches another number of bytes in a step")
        self.machine.store(where, self.machine.unknown_cells(8))


def mix(image, run, backend):
    Mix(run, backend)


def prefetched_in_step(image, run, backend):
    """It returns, and no more than a bound, whatever products and quotients are."""
    function = f"{SPACE}floats::prefetched_in_step<{leaf(backend)}>"
    machine = run.machine
    arguments = [run.fresh(name, 64) for name in ("first", "elements", "times", "passes")]
    machine.multiply = any_product
    memory, general = machine.memory, machine.general
    for decide, taken in run.paths(None):
        machine.memory, machine.general = dict(memory), dict(general)
        machine.decide, machine.division = decide, functools.partial(divided_by_any, run, taken)
        machine.call(function, arguments)
        run.expect_that(z3.Implies(all_of(taken), z3.ULE(t.term(machine.returned(), 64), AHEAD)),
                        "the bytes of a step")


def all_of(taken):
    return z3.And([z3.BoolVal(True), *(condition for _, condition in taken)])


def divided_by_any(run, taken, a, b):
    """Anything, if the divisor is proved not to be 0."""
    if not run.holds(z3.Implies(all_of(taken), t.term(b, 64) != 0)):
        raise Refused("a divisor that may be 0")
    return run.machine.unknown("quotient", 64), run.machine.unknown("remainder", 64)


# --- scores ------------------------------------------------------------------------------------------

LANES = 8  # over which a dot product's terms are spread


class Products(Chains):
    """The sums of the products of some rows with four keys or fewer: of each row and key those of 8 lanes,
    each from 0 on, lane l of every 8th product from the l-th on."""

    are_deep = True

    def __init__(self, keys):
        self.keys, self.machine, self.width = keys, keys.machine, 32
        self.first, self.pairs = 0, keys.rows * keys.count
        self.count, self.whole = LANES * self.pairs, self.pairs * keys.machine.sizes.total(keys.d)
        self.values, self.forms, self.kept, self.known = {}, {}, [], {}
        self.machine.chains = self

    def taken(self, number, done):
        """An element is a step of one lane of each row and key."""
        done = done + (LANES - 1 - number % LANES) * self.pairs
        return done / self.count if z3.is_expr(done) else done // self.count

    def last_step(self, v):
        """A sum of a chain, or 0, and of the product of the elements that its next step takes."""
        if not is_applied(v, "add32"):
            return None
        for before, own in itertools.permutations(t.parts_of(v)):
            if not is_applied(own, "multiply32"):
                continue
            base = None if t.is_number(before) else self.found(before)
            if base is None and not (t.is_number(before) and before.as_long() == 0):
                continue
            for pair in itertools.permutations(t.parts_of(own)):
                found = self.after_products(before, base, *pair)
                if found is not None:
                    return found
        return None

    def after_products(self, before, base, q, key):
        """The same with a row's element and a key's."""
        place = self.keys.place_of(q, key)
        if place is None:
            return None
        r, p, index, guard = place
        first = (r * self.keys.count + p) * LANES
        for number in range(first, first + LANES) if base is None else [base[0]]:
            steps = 0 if base is None else base[1]
            if number // LANES * LANES != first or not self.machine.proved(claimed(
                    self.machine.sizes.total(index) == LANES * steps + number % LANES)):
                continue
            if guard is None:
                return number, steps + 1
            plain = 0 if base is None else before
            if same_terms(total(plain, product(0, 0)), plain):  # elements that are left out are 0
                return number, z3.If(self.machine.guards[t.ident(guard)], steps + 1, steps)
        return None

    def integers(self, state):
        return integers_in(self, state)

    def sum_of(self, code, r, p):
        """The ordered sum of a row and a key, of what the code has of its lanes after all elements."""
        first = (r * self.keys.count + p) * LANES
        return ordered(self.concluded(code, range(first, first + LANES)))


def same_terms(a, b):
    return t.term(a, 32).eq(t.term(b, 32))


class Keys:
    """The scores of `rows` rows at `count` positions, from any position on."""

    def __init__(self, run, rows, count):
        self.run, self.rows, self.count = run, rows, count
        self.machine, self.explorer = run.of_any_size()
        sizes = self.machine.sizes
        self.d, self.stride, self.position = (
            sizes.symbol(name, 0, EXTENT) for name in ("d", "stride", "position"))
        self.q = [self.input_of(f"q_{r}", self.d) for r in range(rows)]
        self.keys = self.input_of("keys", t.add(t.scale(self.stride, count - 1, 64), self.d, 64))
        end = t.add(self.position, count, 64)
        self.outs = [self.machine.region(f"out_{r}", t.scale(end, 4, 64), 4, [Chunk(
            t.scale(self.position, 4, 64), t.scale(end, 4, 64), 4, check=functools.partial(self.check, r))])
                     for r in range(rows)]
        self.scale = run.fresh("scale", 32)
        self.products = Products(self)

    def input_of(self, name, length):
        return self.machine.input(name, t.scale(length, 4, 64), 4, [self.run.family(name, 32)])

    def place_of(self, q, key):
        """(which row's element, of which key, index, the guard of both) two elements are; None of others."""
        own = self.machine.regions[t.ident(self.keys)].places.get(t.ident(key))
        for r, at in enumerate(self.q):
            index, guard = self.machine.regions[t.ident(at)].places.get(t.ident(q), (None, None))
            if index is None or own is None or not (guard is own[1] or None not in (guard, own[1])
                                                    and guard.eq(own[1])):
                continue
            for p in range(self.count):
                if same(own[0], t.add(index, t.scale(self.stride, p, 64), 64)):
                    return r, p, index, guard
        return None

    def check(self, r, code, index):
        p = t.sub(index, self.position, 64)
        if not t.is_int(p) or not 0 <= p < self.count:
            raise Refused("a score of no position")
        self.run.expect(code, product(self.products.sum_of(code, r, p), self.scale), 32,
                        f"the score of row {r} at position {p}")

    def prove(self, function):
        run, ahead = self.run, Prefetched(self.run)
        four = place(run, [self.keys, self.stride, self.count, self.d, self.position, t.zero_extend(
            self.scale, 32, 64)])
        self.explorer.call(function, [four, place(run, self.q), place(run, self.outs), ahead.at],
                           ahead.conclude)


def multiply_keys(image, run, backend, rows):
    """At 1 to 4 positions."""
    for count in [run.fixed["count"]] if "count" in run.fixed else (4, 3, 2, 1):
        Keys(run, rows, count).prove(name_of_keys(backend, rows))


def name_of_keys(backend, rows):
    if rows == 4:
        return f"{SPACE}{backend}::multiply_keys_by_4"
    return f"{SPACE}floats::multiply_keys<{leaf(backend)}, {rows}ul>"


class Scores(Grid):
    """All scores, of rows and positions: four positions or those that are left, of a group of rows, each
    once."""

    def __init__(self, run, backend):
        self.run, (machine, self.explorer) = run, run.of_any_size()
        sizes = machine.sizes
        self.rows, self.positions, self.stride, self.d = (
            sizes.symbol(name, 0, EXTENT) for name in ("rows", "positions", "stride", "d"))
        super().__init__(machine, (self.rows, self.positions))
        self.q, self.keys, self.out, self.next = (
            run.fresh(name, 64) for name in ("q", "keys", "out", "next"))
        self.scale, self.ahead = run.fresh("scale", 32), Stepped(machine, backend)
        machine.multiply = any_product
        machine.hooks |= {name_of_keys(backend, rows): functools.partial(self.multiply_keys, rows)
                          for rows in SCORED[backend]}
        self.explorer.call(f"{SPACE}{backend}::scores", [
            self.q, self.rows, self.keys, self.stride, self.positions, self.d, self.scale, self.out,
            self.next])

    def multiply_keys(self, rows, machine):
        """What `multiply_keys` does, by its contract."""
        machine.stores += 1
        four, q, out, ahead = arguments_of(machine, 4)
        self.ahead.take(ahead)
        if machine.scouting:
            return
        keys, stride, count, d, position = numbers_at(machine, four, 5)
        scale = t.from_cells(machine.load(four + 40, 4))
        if not all(map(same, (stride, d, scale), (self.stride, self.d, self.scale))) or not same(
                keys, t.add(self.keys, t.scale(self.sizes.multiple(position, self.stride), 4, 64), 64)):
            raise Refused("keys that are not those of their positions")
        first = t.sub(q, self.q, 64)
        if not same(first, t.sub(out, self.out, 64)) or divided(first, 8) is None:
            raise Refused("other rows than the queries'")
        self.change(divided(first, 8), rows, position, count)

    def change(self, row, rows, position, count):
        r, p, number = (self.sizes.total(v) for v in (row, position, count))
        if not self.machine.proved(*map(claimed, (
                r >= 0, r + rows <= self.sizes.total(self.rows), p >= 0, number >= 1, number <= 4,
                p + number <= self.sizes.total(self.positions)))):
            raise Refused("scores that are not proved to be there")
        part = Part((row, position), (t.add(row, rows, 64), t.add(position, count, 64)))
        self.read(part)
        self.write(part)
        self.run.outputs += 1


def scores(image, run, backend):
    Scores(run, backend)


# --- scores, one by one --------------------------------------------------------------------------------

def scaled_dot(image, run, backend):
    """An ordered sum of products, times a number."""
    machine, explorer = run.of_any_size()
    n, scale = machine.sizes.symbol("n", 0, MOST), run.fresh("scale", 32)
    (a_at, _), (b_at, _) = (array(run, machine, name, n) for name in "ab")
    sums = sums_of_products(machine, a_at, b_at, n)

    def conclude():
        code = t.from_cells(machine.vectors[0][:4])
        run.expect(code, product(ordered(sums.concluded(code)), scale), 32, "the score")
    explorer.call(f"{SPACE}floats::scaled_dot<{leaf(backend)}>", [a_at, b_at, n, scale], conclude)


class RowOfScores:
    """A row's scores at all positions, of which each is what `scaled_dot` gives of its key."""

    def __init__(self, run, backend):
        self.run, (self.machine, self.explorer) = run, run.of_any_size()
        sizes = self.machine.sizes
        self.positions, self.stride = (sizes.symbol(name, 0, EXTENT) for name in ("positions", "stride"))
        self.d, self.scale = sizes.symbol("d", 0, EXTENT), run.fresh("scale", 32)
        self.q, self.keys = run.fresh("q", 64), run.fresh("keys", 64)
        self.out = self.machine.output("out", t.scale(self.positions, 4, 64), 4, None, self.check)
        self.made = {}  # id of a score -> it, its key's offset
        ahead = Prefetched(run)
        values = place(run, [self.keys, self.stride, self.positions])
        self.machine.hooks[f"{SPACE}floats::scaled_dot<{leaf(backend)}>"] = self.scaled_dot
        self.explorer.call(f"{SPACE}floats::score_row<{leaf(backend)}>", [
            self.q, values, self.d, self.scale, self.out, ahead.at], ahead.conclude)

    def scaled_dot(self, machine):
        """What it does, by its contract: the score is in the first vector register after the call."""
        q, key, d = arguments_of(machine, 3)
        score = machine.unknown("score", 32)
        if not machine.scouting:
            if not all(map(same, (q, d, t.from_cells(machine.vectors[0][:4])), (self.q, self.d, self.scale))):
                raise Refused("another product than the row's")
            self.made[t.ident(score)] = score, t.sub(key, self.keys, 64)
        return InVector(score, 32)

    def check(self, _, code, index):
        made = None if t.is_int(code) else self.made.get(t.ident(code))
        if made is None or not same(made[1], t.scale(self.machine.sizes.multiple(index, self.stride), 4, 64)):
            raise Refused("a score that is not its position's")
        self.run.outputs += 1


def score_row(image, run, backend):
    RowOfScores(run, backend)


class ScoresOneByOne(Steps):
    """Any number of rows, each once. A row's pointers are elements of two arrays."""

    def __init__(self, run, backend):
        super().__init__(run, "rows")
        machine, sizes = self.machine, self.sizes
        self.positions, self.stride, self.d = (
            sizes.symbol(name, 0, EXTENT) for name in ("positions", "stride", "d"))
        self.scale, self.ahead = run.fresh("scale", 32), Stepped(machine, backend)
        machine.multiply = any_product
        self.keys, self.next = run.fresh("keys", 64), run.fresh("next", 64)
        self.pointers = [machine.input(name, t.scale(self.length, 8, 64), 8, [run.family(name, 64)])
                         for name in ("q", "out")]
        machine.hooks[f"{SPACE}floats::score_row<{leaf(backend)}>"] = self.score_row
        q, out = self.pointers
        self.explorer.call(f"{SPACE}{backend}::scores", [
            q, self.length, self.keys, self.stride, self.positions, self.d, self.scale, out, self.next])

    def score_row(self, machine):
        machine.stores += 1
        q, values, d, out, ahead = arguments_of(machine, 5)
        self.ahead.take(ahead)
        if machine.scouting:
            return
        if not all(map(same, (*numbers_at(machine, values, 3), d, t.from_cells(machine.vectors[0][:4])), (
                self.keys, self.stride, self.positions, self.d, self.scale))):
            raise Refused("scores of other keys")
        rows = [machine.regions[t.ident(at)].places.get(t.ident(t.term(v, 64)), (None, None))[0]
                for at, v in zip(self.pointers, (q, out))]
        if None in rows or not same(*rows):
            raise Refused("another row than the query's")
        self.change(rows[0], 1)


def scores_one_by_one(image, run, backend):
    ScoresOneByOne(run, backend)


def name_of_tile(backend, rows, width, vectors):
    return f"{SPACE}floats::mix_tile<{leaf(backend)}, {rows}ul, {width}ul, {vectors}ul>"


def name_of_rows(backend, rows):
    return f"{SPACE}floats::mix_rows<{leaf(backend)}, {rows}ul>"


def add_rows(table, backends):
    for backend in backends:
        for rows, width, vectors in tiles(backend):
            table(backend, f"mix_tile<{rows}, {width}, {vectors}>", ANY, mix_tile, rows, width, vectors)
        for rows in ROWS[backend]:
            table(backend, f"mix_rows<{rows}>", ANY, mix_rows, rows)
        table(backend, "mix", ANY, mix)
        for rows in SCORED[backend]:
            table(backend, f"multiply_keys<{rows}>", ANY, multiply_keys, rows)
        table(backend, "scores", ANY, scores if SCORED[backend] else scores_one_by_one)
        if not SCORED[backend]:
            table(backend, "scaled_dot", ANY, scaled_dot)
            table(backend, "score_row", ANY, score_row)
        table(backend, "prefetched_in_step", "", prefetched_in_step)


def tile(rows, width, vectors):
    """A tile's name in the table, and in a listing."""
    return f"mix_tile<{rows}, {width}, {vectors}>", ANY, f"Leaf, {rows}ul, {width}ul, {vectors}ul>"


# As in mutants.py. Another operation, a row's weights for another's, an output read after it is written,
# another number of bytes that are prefetched; a tile's columns, a group's rows or a position's keys for
# others; no bound.
MUTANTS = [
    ("avx2", *tile(2, 8, 4), "vaddps", "vsubps"),
    ("portable", *tile(2, 4, 1), r"mov +r13,QWORD PTR \[rax\+0x8\]", "mov r13,QWORD PTR [rax]"),
    ("avx512", *tile(4, 16, 4), r"add +rsi,0x1\b", "add rsi,0x2"),
    ("avx2", *tile(1, 8, 1), r"vmovdqu +YMMWORD PTR (\[\w+(?:\+\w+\*4)?\]),(ymm\d+)",
     r"\g<0>; vmovdqu \2,YMMWORD PTR \1"),
    ("portable", *tile(1, 4, 1), r"mov +QWORD PTR \[r8\],(\w+)", r"\g<0>; mov QWORD PTR [r8+0x8],\1"),
    ("avx2", "mix_rows<2>", ANY, "mix_rows", r"lea +rcx,\[r15-0x20\]", "mov rcx,r15"),
    ("portable", "mix_rows<2>", ANY, "mix_rows", r"(lea +\w+,\[\w+\+0x)4\]", r"\g<1>8]"),
    ("avx2", "mix", ANY, "mix", r"add +r14,0x10", "add r14,0x8"),
    ("avx2", "multiply_keys<2>", ANY, "multiply_keys", "vunpckhps", "vunpcklps"),
    ("avx512", "multiply_keys<4>", ANY, "multiply_keys_by_4", r"(vshuff32x4 .*,)0xdd", r"\g<1>0x88"),
    ("avx2", "scores", ANY, "scores", r"shl +r15,0x4", "shl r15,0x3"),
    ("avx512", "scores", ANY, "scores", r"(mov +edx,)0x4\b", r"\g<1>0x3"),
    ("portable", "scores", ANY, "scores", r"add +r14,0x1\b", "add r14,0x2"),
    ("portable", "score_row", ANY, "score_row", r"imul +rax,r12", "imul rax,r14"),
    ("portable", "scaled_dot", ANY, "scaled_dot", "mulss", "addss"),
    ("avx2", "prefetched_in_step", "", "prefetched_in_step", "cmova", "cmovb"),
    ("avx512", "prefetched_in_step", "", "prefetched_in_step", r"test +rcx,rcx", "test rdi,rdi"),
]
# The same; and the last sizes must accept it. Positions, columns or rows counted in 8 bits; columns that are
# left counted as whole tiles; a rest of elements taken for none, or of keys for four of them; a sum that is
# changed wherever something is prefetched.
SIZE_MUTANTS = [
    ("portable", *tile(2, 4, 1), r"cmp +r9,rsi", "cmp r9b,sil", "positions=1"),
    ("portable", *tile(2, 4, 1), r"prefetcht1 +[^\n]*", "addps xmm1,xmm1", "per_step=0"),
    ("avx512", "multiply_keys<4>", ANY, "multiply_keys_by_4", r"prefetcht1 +[^\n]*", "vaddps zmm3,zmm3,zmm3",
     "per_step=0 count=4 d=16"),
    ("avx2", *tile(2, 8, 4), r"cmp +r10,rdi", "cmp r10b,dil", "positions=1"),
    ("avx512", *tile(4, 16, 4), r"cmp +r11,rsi", "cmp r11b,sil", "positions=1"),
    ("avx2", "mix_rows<2>", ANY, "mix_rows", r"cmp +rdx,0x1f", "cmp rdx,0x1e", "width=40"),
    ("avx2", "mix_rows<2>", ANY, "mix_rows", r"cmp +rbx,r15", "cmp bl,r15b", "width=70"),
    ("avx512", "mix_rows<4>", ANY, "mix_rows", r"cmp +rdx,0x3f", "cmp rdx,0x3e", "width=70"),
    ("portable", "mix_rows<2>", ANY, "mix_rows", r"cmp +rdx,0xf\b", "cmp rdx,0xe", "width=20"),
    ("avx2", "mix", ANY, "mix", r"cmp +r15,0x1\b", "cmp r15b,0x1", "rows=5"),
    ("avx512", "mix", ANY, "mix", r"cmp +rax,0x1\b", "cmp rax,0x2", "rows=7"),
    ("portable", "mix", ANY, "mix", r"and +rax,0xf+e\b", "and rax,0xfffffffffffffffc", "rows=2"),
    ("avx2", "multiply_keys<2>", ANY, "multiply_keys", r"test +r10b,0x7", "test r10b,0x3", "d=16"),
    ("avx512", "multiply_keys<4>", ANY, "multiply_keys_by_4", r"test +r10b,0x7", "test r10b,0x6", "d=16"),
    ("avx512", "multiply_keys<4>", ANY, "multiply_keys_by_4", r"(cmp +QWORD PTR \[rdi\+0x10\],)0x4",
     r"\g<1>0x3", "count=2 d=12"),
    ("avx2", "scores", ANY, "scores", r"cmp +rbx,r12", "cmp bl,r12b", "rows=5"),
    ("avx2", "scores", ANY, "scores", r"(mov +edx,)0x4\b", r"\g<1>0x5", "positions=4"),
    ("avx512", "scores", ANY, "scores", r"(mov +edx,)0x4\b", r"\g<1>0x5", "positions=4"),
    ("portable", "scores", ANY, "scores", r"cmp +rbx,r14", "cmp bl,r14b", "rows=3"),
    ("portable", "score_row", ANY, "score_row", r"cmp +r12,r14", "cmp r12b,r14b", "positions=3"),
]
# The same of the code that clang makes.
SIZE_MUTANTS_OF_CLANG = [
    ("avx2", *tile(1, 8, 1), r"cmp +rdi,r9", "cmp dil,r9b", "positions=1"),
    ("avx512", "mix", ANY, "mix", r"cmp +rax,0x2\b", "cmp rax,0x1", "rows=6"),
    ("avx2", "scores", ANY, "scores", r"cmp +r15,0x4\b", "cmp r15b,0x4", "positions=3 rows=2"),
    ("portable", "score_row", ANY, "score_row", r"inc +(r\w+)", r"add \1,0x2", "positions=0"),
]
