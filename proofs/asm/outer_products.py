"""The contracts of `low_rank_outer` where A stands in groups or panels (left_layouts.py), of any size.

z meets A in passes of 128 columns. `split_pass` makes limbs of 14 bits of a pass's numbers, which are proved
to make them up. What a row's entries and each limb add up to has 32 bits. What is added to a row is
2^e sum_l 2^(14 l) sum_l, of its exponent and these sums: as integers 2^e times the row's products with the
numbers that the limbs make up, modulo 2^64 (DECO-7). AVX-512's `multiply_panel` leaves a panel's sums, and
`add_rows` adds them, in the first pass to 2^16 y_david. AVX2's `add_groups` does both for two groups;
`multiply_group` leaves what is to be added to one, for which A may have fewer rows, and `add_rows` adds it.
`add_pass` is proved to take every panel or group once, and `low_rank_outer` every pass. The limbs, and what a
panel or a group leaves, stand on the stack of a function that neither reads nor writes them (Marked)."""

import itertools

import z3

import sums
import terms as t
from factors import LANES, PACKED, entry
from grids import Grid, Part
from layouts import EXTENT
from left_layouts import COLUMNS, GROUP, PAIR, ROWS, Scratch, pairs_of
from linear import factor
from machine import Refused, same
from panels import check_rows
from products import numbers_at, words
from regions import claimed
from run import Part as Number
from sizes import divided
from spec import SPACE
from totals import Totals

BITS, SHIFT = 14, 16
LIMB = 1 << BITS - 1                    # the greatest in magnitude
BOUNDS = {3: 1 << 40, 4: 1 << 53}       # of z, by the number of limbs
LARGEST, MOST = 2047, 20                # of an entry; the greatest exponent
assert COLUMNS * LARGEST * LIMB < 1 << 31


# --- limbs ---------------------------------------------------------------------------------------

def limbs_of(v, limbs):
    """Terms of 64 bits."""
    found = []
    for _ in range(limbs - 1):
        low = z3.SignExt(64 - BITS, z3.Extract(BITS - 1, 0, v))
        found.append(low)
        v = (v - low) >> BITS
    return [*found, v]


def check_limbs(run, limbs):
    """That they are a number's."""
    v = run.fresh("z[0]", 64, lambda v: [v >= -BOUNDS[limbs], v <= BOUNDS[limbs]])
    found = limbs_of(v, limbs)
    run.expect(sum((low << BITS * l for l, low in enumerate(found)), z3.BitVecVal(0, 64)), v, 64,
               "what limbs make up")
    for low in found:
        run.expect_that(z3.And(low >= -LIMB, low <= LIMB), "a limb")


def split_pass(image, run, backend, limbs):
    """[pairs][limbs][2] of 16 bits; the last pair has a zero if the number of columns is odd."""
    check_limbs(run, limbs)
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    whole, odd = sizes.symbol("whole", 0, COLUMNS // 2), sizes.symbol("odd", 0, 1)
    columns, pairs = t.add(t.scale(whole, 2, 64), odd, 64), t.add(whole, odd, 64)
    least = 1 if backend == "avx2" else 0  # what the backend's pass has
    sizes.assume([sizes.total(whole), sizes.total(odd)], *map(claimed, (
        sizes.total(columns) <= COLUMNS, sizes.total(columns) >= least)))
    z_at = machine.input("z", t.scale(columns, 8, 64), 8, [run.family(
        "z", 64, lambda v: [v >= -BOUNDS[limbs], v <= BOUNDS[limbs]])])
    element = machine.reader(z_at)

    def check(_, code, index):
        pair, within = sizes.parted(index, 2 * limbs)
        if not t.is_int(within):
            raise Refused("a limb of which the place is not known")
        l, side = divmod(within, 2)
        column = t.add(t.scale(pair, 2, 64), side, 64)
        if machine.proved(claimed(sizes.total(column) < sizes.total(columns))):
            run.expect(code, z3.Extract(15, 0, limbs_of(element(0, column), limbs)[l]), 16, "a limb")
        elif machine.proved(claimed(sizes.total(column) >= sizes.total(columns))):
            run.expect(code, 0, 16, "a limb that z has not")
        else:
            raise Refused("a limb of which it is not known whether z has it")
    out = machine.output("limbs", t.scale(pairs, 4 * limbs, 64), 2, None, check, alignment=64)
    explorer.call(f"{SPACE}{backend}::split_pass<{limbs}u>", [z_at, columns, out])


def limb_part(limb, side):
    """A limb of one column, among those of a pair."""
    low = 16 * (2 * limb + side)
    return Number(f"limb {limb} of {side}", lambda v: z3.SignExt(48, z3.Extract(low + 15, low, v)),
                  (-LIMB, LIMB))


def limbs_input(machine, run, limbs, pairs, alignment, name="limbs"):
    """The limbs of a pass, those of a pair together."""
    parts = [limb_part(*place) for place in itertools.product(range(limbs), range(2))]
    return machine.input("limbs", t.scale(pairs, 4 * limbs, 64), 4 * limbs, [run.family(
        name, 32 * limbs, lambda v: [claim for part in parts for claim in (
            part.value(v) >= -LIMB, part.value(v) <= LIMB)], parts)], alignment=alignment)


# --- a panel: AVX-512 -------------------------------------------------------------------------------

def multiply_panel(image, run, backend, limbs):
    """sums[l][row] of a panel and any pairs of columns of a pass."""
    machine, explorer = run.of_any_size()
    run.sum_products()
    sums_of, pairs = Totals(machine), machine.sizes.symbol("pairs", 0, COLUMNS // 2)
    left = machine.input("left", t.scale(pairs, PACKED, 64), PACKED, [run.family(
        "pair", 8 * PACKED, parts=[entry(i) for i in range(2 * ROWS)])], alignment=1)
    limbs_at, out = limbs_input(machine, run, limbs, pairs, 2), run.room(4 * ROWS * limbs, 64)

    def conclude():
        for l, row in itertools.product(range(limbs), range(ROWS)):
            register, lane = divmod(2 * row, LANES)
            products = [(sums_of.stretch((
                (sums_of.of(left, f"entry {LANES * register + lane + side}"), 0, 1),
                (sums_of.of(limbs_at, f"limb {l} of {side}"), 0, 1)), pairs, COLUMNS // 2), 1)
                        for side in range(2)]
            code = run.output(out + 4 * (ROWS * l + row), 32)
            sums_of.expect(code, 32, (products, {}), f"sums[{l}][{row}]")
    explorer.call(f"{SPACE}{backend}::multiply_panel<{limbs}u>", [left, limbs_at, pairs, out], conclude)


def combined(of_limbs, exponent):
    """What the sums of a row are together, as terms."""
    total = sum((z3.SignExt(32, v) << BITS * l for l, v in enumerate(of_limbs)), z3.BitVecVal(0, 64))
    return total << z3.ZeroExt(56, exponent)


def add_rows(image, run, backend, limbs):
    """Of a panel's rows, at most, in the first pass and in a later one."""
    for is_first in (1, 0):
        add_rows_of(run, backend, limbs, is_first)


def add_rows_of(run, backend, limbs, is_first):
    machine, explorer = run.of_any_size()
    rows = machine.sizes.symbol("rows", 1, ROWS)
    sums_at = machine.input("sums", 4 * ROWS * limbs, 4, [run.family("sum", 32)])
    exponents_at = machine.input("exponents", ROWS, 1, [run.family("exponent", 8)])
    length = t.scale(rows, 8, 64)
    david = machine.input("y_david", length, 8, [run.family("y_david", 64)])

    def reads(_, r):
        own = [machine.element(total, total.chunks[0], t.add(r, l * ROWS, 64), None, is_wanted=True)
               for l in range(limbs)]
        of, before = (machine.regions[t.ident(at)] for at in (exponents_at, david if is_first else y_at))
        return [*own, machine.element(of, of.chunks[0], r, None, is_wanted=True),
                machine.element(before, before.chunks[0], r, machine.guard, is_wanted=True)]

    def check(_, code, elements):
        *own, exponent, before = elements
        run.expect(code, (before << SHIFT if is_first else before) + combined(own, exponent), 64,
                   "an element of y")
    total = machine.regions[t.ident(sums_at)]
    y_at = machine.output("y", length, 8, reads, check)
    if not is_first:
        machine.add_to(y_at, run.family("before", 64))
    explorer.call(f"{SPACE}{backend}::add_rows<{limbs}u>", [
        sums_at, exponents_at, rows, is_first, david if is_first else y_at, y_at])


# --- all panels: AVX-512 ----------------------------------------------------------------------------

class Marked(Scratch):
    """Such an array that begins with a mark of what was left there last."""

    def __init__(self, machine, size, alignment):
        super().__init__(machine, size)
        self.marks, self.alignment = {}, alignment

    def leave(self, where, what):
        if not self.is_at(where) or where % self.alignment:
            raise Refused("an array that is not known, stands in several places, or is not aligned")
        mark = self.machine.unknown("left", 64)
        self.marks[t.ident(mark)] = what
        self.machine.memory.update(enumerate(t.to_cells(mark, 64), where))

    def holds(self, where):
        """What is there."""
        if not self.is_at(where):
            raise Refused("another array")
        mark = t.from_cells([self.machine.memory.get(where + k, 0) for k in range(8)])
        known = None if t.is_int(mark) else self.marks.get(t.ident(mark))
        if known is None:
            raise Refused("an array of which it is not known what it holds")
        return known

    def wipe(self, machine):
        """All of it."""
        where, size = (machine.general[name] for name in machine.ARGUMENTS[:2])
        if machine.scouting and not t.is_int(where):
            return
        if size != self.size:
            raise Refused("wipes something else than the array")
        self.leave(where, None)


def split_hook(of_z, z, k, least):
    """What `split_pass` does, by its contract: of all columns of a pass, and no fewer than `least`."""
    def split_pass(machine):
        machine.stores += 1
        source, width, to = (machine.general[name] for name in machine.ARGUMENTS[:3])
        if machine.scouting:
            return of_z.leave(to, None) if t.is_int(to) else None
        sizes, column = machine.sizes, divided(t.sub(source, z, 64), 8)
        own, all_columns = sizes.value(width), sizes.total(k)
        if column is None:
            raise Refused("columns that are not z's")
        first = sizes.total(column)
        if not machine.proved(*map(claimed, (first >= 0, own >= least, own <= COLUMNS,
                                             first + own <= all_columns)),
                              z3.Or(claimed(own == COLUMNS), claimed(first + own == all_columns))):
            raise Refused("columns that are not proved to be all of a pass's")
        return of_z.leave(to, (column, width))
    return split_pass


def check_pairs(machine, count, column, width, pairs):
    """They are as many as the columns of a pass have, and A has them from that column on."""
    sizes = machine.sizes
    own, double = sizes.value(width), 2 * sizes.value(count)
    if not machine.proved(*map(claimed, (double >= own, double <= own + 1, (
            sizes.total(column) + double <= 2 * sizes.total(pairs))))):
        raise Refused("another number of pairs than the columns have")


def add_pass(image, run, backend, limbs):
    """Of the first pass, and of a later one."""
    for is_first in (True, False):
        add_pass_of(run, backend, limbs, is_first)


def add_pass_of(run, backend, limbs, is_first):
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    m, pairs = sizes.symbol("m", 0, EXTENT), sizes.symbol("pairs", 0, COLUMNS // 2)
    column = 0 if is_first else sizes.symbol("column", 1, EXTENT)
    panels = sizes.named_quotient(t.add(m, ROWS - 1, 64), 6, "panels")
    left, limbs_at, exponents_at, david, y = (run.fresh(f"{name}[0]", 64) for name in (
        "left", "limbs", "exponents", "y_david", "y"))
    outer = run.place(32, 8)
    words(machine, outer, (exponents_at, m, david, y))
    grid, held = Grid(machine, (panels,)), Marked(machine, 4 * ROWS * limbs, 64)

    def multiply_panel(machine):
        machine.stores += 1
        a, of_z, count, out = (machine.general[name] for name in machine.ARGUMENTS[:4])
        if machine.scouting:
            return held.leave(out, None) if t.is_int(out) else None
        number = sizes.row_of(t.sub(a, left, 64), t.scale(pairs, PACKED, 64))
        if number is None or not same(of_z, limbs_at) or not same(count, pairs) or not machine.proved(*map(
                claimed, (sizes.total(number) >= 0, sizes.total(number) < sizes.total(panels)))):
            raise Refused("a panel that is none of the pass's")
        return held.leave(out, number)

    def add_rows(machine):
        machine.stores += 1
        if machine.scouting:
            return
        of, exponents, rows, flag, before, to = (machine.general[name] for name in machine.ARGUMENTS[:6])
        number = held.holds(of)
        first = t.scale(number, ROWS, 64)
        if not all(map(same, (exponents, before, to), (t.add(exponents_at, first, 64), *(
                t.add(at, t.scale(first, 8, 64), 64) for at in (david if is_first else y, y))))) or (
                    not same(t.extract(flag, 0, 8), int(is_first))):
            raise Refused("rows that are not those of the sums, or another pass's")
        check_rows(machine, first, rows, m, ROWS)
        part = Part((number,), (t.add(number, 1, 64),))
        grid.read(part)
        grid.write(part)
        run.outputs += 1
    machine.hooks |= {f"{SPACE}{backend}::multiply_panel<{limbs}u>": multiply_panel,
                      f"{SPACE}{backend}::add_rows<{limbs}u>": add_rows, "slip::base::wipe": held.wipe}
    explorer.call(f"{SPACE}{backend}::add_pass<{limbs}u>", [outer, left, limbs_at, pairs, column])


# --- all passes -----------------------------------------------------------------------------------

def low_rank_outer(image, run, backend):
    """Of three limbs and of four, of some columns and of none."""
    for limbs, has_columns in itertools.product((3, 4), (True, False)):
        outer_of_panels(run, backend, limbs, has_columns)


def outer_of_panels(run, backend, limbs, has_columns):
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    m, k = sizes.symbol("m", 0, EXTENT), sizes.symbol("k", 1, EXTENT) if has_columns else 0
    pairs, panels = pairs_of(sizes, k), sizes.named_quotient(t.add(m, ROWS - 1, 64), 6, "panels")
    left, z, david, y = (run.fresh(f"{name}[0]", 64) for name in ("left", "z", "y_david", "y"))
    exponents_at = t.add(left, t.scale(sizes.product_of(panels, pairs), PACKED, 64), 64)
    # Where there are no columns, y is set once.
    grid = Grid(machine, (k if has_columns else 1,))
    of_z = Marked(machine, 4 * limbs * COLUMNS // 2, 64)

    def add_pass(machine):
        machine.stores += 1
        if machine.scouting:
            return
        outer, a, limbs_at, count, flag = (machine.general[name] for name in machine.ARGUMENTS[:5])
        column, width = of_z.holds(limbs_at)
        number = divided(column, COLUMNS)
        if number is None or not same(a, t.add(left, t.scale(
                sizes.multiple(number, panels), COLUMNS // 2 * PACKED, 64), 64)) or not same(
                    flag, column) or not all(map(same, numbers_at(machine, outer, 4), (
                        exponents_at, m, david, y))):
            raise Refused("a pass of something else than A, or of other columns than z's")
        check_pairs(machine, count, column, width, pairs)
        low, high = (column, t.add(column, width, 64)) if has_columns else (0, 1)
        if has_columns:
            grid.need(Part((0,), (column,)))
        grid.read(Part((low,), (high,)))
        grid.write(Part((low,), (high,)))
        run.outputs += 1
    machine.hooks |= {f"{SPACE}{backend}::split_pass<{limbs}u>": split_hook(of_z, z, k, 0),
                      "slip::base::wipe": of_z.wipe, f"{SPACE}{backend}::add_pass<{limbs}u>": add_pass}
    explorer.call(f"{SPACE}{backend}::low_rank_outer", [left, m, k, limbs, z, david, y])


# --- groups: AVX2 ---------------------------------------------------------------------------------

class Groups:
    """Rows of A and their exponents: some groups of GROUP rows, [pairs][GROUP][2] entries each, which lie
    some number of entries apart; and the limbs of a pass. Whether the number of pairs is odd is given: so
    two pairs at a time and one more are no more products than 32 bits hold."""

    def __init__(self, run, limbs, groups, odd):
        self.run, self.limbs, (self.machine, self.explorer) = run, limbs, run.of_any_size()
        run.sum_products()
        machine, sizes = self.machine, self.machine.sizes
        self.sums_of, half = Totals(machine), sizes.symbol("half", 1 - odd, COLUMNS // 4 - odd)
        self.pairs = t.add(t.scale(half, 2, 64), odd, 64)
        self.stride = sizes.symbol("stride", 0, (EXTENT + 1) * GROUP) if groups > 1 else 0
        own = t.scale(self.pairs, 2 * GROUP, 64)
        if groups > 1:
            sizes.assume([sizes.total(self.stride)], sizes.total(own) <= sizes.total(self.stride))
        length = t.add(t.scale(self.stride, groups - 1, 64), own, 64)
        self.a_at = machine.input("a", t.scale(length, 2, 64), 2, [
            run.family(f"a_{odd}", 16, *factor(LARGEST))])
        self.exponents_at = machine.input("exponents", groups * GROUP, 1, [run.family("exponent", 8)])
        self.limbs_at = limbs_input(machine, run, limbs, self.pairs, 64, f"limbs_{odd}")
        self.exponent = machine.reader(self.exponents_at)

    def stretches(self, row, l):
        """What limb l's sum of a row is."""
        group, r = divmod(row, GROUP)
        first = t.scale(self.stride, group, 64)
        return [(self.sums_of.stretch((
            (self.sums_of.of(self.a_at, "value"), t.add(first, 2 * r + side, 64), 2 * GROUP),
            (self.sums_of.of(self.limbs_at, f"limb {l} of {side}"), 0, 1)), self.pairs, COLUMNS // 2), 1)
                for side in range(2)]

    def products(self, code, row):
        """What a row's products are together: of the sums that code is made of, every limb's is proved to be
        one."""
        if not t.is_int(row) or t.is_int(code):
            raise Refused("a row of which the number is not known, or which is not made of sums")
        found = {}
        for v in self.run.variables_of(code):
            if t.ident(v) in sums.FORMS:
                own, others = self.sums_of.stretches(sums.FORMS[t.ident(v)])
                found |= {l: v for l in range(self.limbs) if not others and v.size() == 32 and (
                    self.sums_of.are_equal(own, self.stretches(row, l)))}
        if len(found) < self.limbs:
            raise Refused("sums that are not proved to be the limbs'")
        return combined([found[l] for l in range(self.limbs)], self.exponent(0, row))


def parities(run):
    return [run.fixed["odd"]] if "odd" in run.fixed else (0, 1)


def add_groups(image, run, backend, limbs):
    """To what the rows of two groups were their products are added."""
    for odd in parities(run):
        add_groups_of(run, backend, limbs, odd)


def add_groups_of(run, backend, limbs, odd):
    one = Groups(run, limbs, 2, odd)
    machine = one.machine
    region = None

    def check(_, code, r):
        before = machine.element(region, region.chunks[0], r, is_wanted=True)
        run.expect(code, before + one.products(code, r), 64, "a row")
    y_at = machine.output("y", 2 * GROUP * 8, 8, None, check)
    region = machine.regions[t.ident(y_at)]
    machine.add_to(y_at, run.family("before", 64))
    one.explorer.call(f"{SPACE}{backend}::add_groups<{limbs}u>", [
        one.a_at, one.exponents_at, one.stride, one.limbs_at, one.pairs, y_at])


def multiply_group(image, run, backend, limbs):
    """The products of one group."""
    for odd in parities(run):
        multiply_group_of(run, backend, limbs, odd)


def multiply_group_of(run, backend, limbs, odd):
    one = Groups(run, limbs, 1, odd)

    def check(_, code, r):
        run.expect(code, one.products(code, r), 64, "a row's products")
    out = one.machine.output("products", GROUP * 8, 8, None, check)
    one.explorer.call(f"{SPACE}{backend}::multiply_group<{limbs}u>", [
        one.a_at, one.exponents_at, one.limbs_at, one.pairs, out])


def begin(image, run, backend):
    machine, explorer = run.of_any_size()
    m = machine.sizes.symbol("m", 0, EXTENT)
    length = t.scale(m, 8, 64)
    david = machine.input("y_david", length, 8, [run.family("y_david", 64)])
    element = machine.reader(david)
    y_at = machine.output("y", length, 8, lambda _, i: [element(0, i)], lambda _, code, read: run.expect(
        code, read[0] << SHIFT, 64, "an element of y"))
    explorer.call(f"{SPACE}{backend}::begin", [david, m, y_at])


def add_rows_of_group(image, run, backend):
    """To some rows, at most a group's, their products are added."""
    machine, explorer = run.of_any_size()
    rows = machine.sizes.symbol("rows", 1, GROUP)
    products = machine.input("products", 8 * GROUP, 8, [run.family("products", 64)])
    own, of_y = machine.reader(products), machine.reader
    y_at = machine.output("y", t.scale(rows, 8, 64), 8, lambda _, r: [own(0, r), of_y(y_at)(0, r)],
                          lambda _, code, read: run.expect(code, read[0] + read[1], 64, "an element of y"))
    machine.add_to(y_at, run.family("before", 64))
    explorer.call(f"{SPACE}{backend}::add_rows", [products, rows, y_at])


# --- all groups, all passes: AVX2 -------------------------------------------------------------------

class Pass:
    """A pass of columns, which adds its products to each row of all groups once."""

    def __init__(self, run, limbs):
        self.run, self.limbs, (self.machine, self.explorer) = run, limbs, run.of_any_size()
        sizes = self.sizes = self.machine.sizes
        self.m, self.pairs, of_group = (sizes.symbol(name, 1, most) for name, most in (
            ("m", EXTENT), ("pairs", COLUMNS // 2), ("pairs_of_group", (EXTENT + 1) // 2)))
        sizes.assume([sizes.total(self.pairs)], sizes.total(self.pairs) <= sizes.total(of_group))
        groups = sizes.named_quotient(t.add(self.m, GROUP - 1, 64), 3, "groups")
        self.stride = t.scale(of_group, PAIR, 64)
        self.a_at, self.limbs_at, self.exponents_at, self.y = (
            run.fresh(f"{name}[0]", 64) for name in ("a", "limbs", "exponents", "y"))
        self.grid, self.held = Grid(self.machine, (groups,)), Marked(self.machine, 8 * GROUP, 8)

    def prove(self, space):
        outer = self.run.place(32, 8)
        words(self.machine, outer, (self.exponents_at, self.m, divided(self.stride, 2), self.y))
        self.machine.hooks |= {f"{space}add_groups<{self.limbs}u>": self.add_groups,
                               f"{space}multiply_group<{self.limbs}u>": self.multiply_group,
                               f"{space}add_rows": self.add_rows, "slip::base::wipe": self.held.wipe}
        self.explorer.call(f"{space}add_pass<{self.limbs}u>", [outer, self.a_at, self.limbs_at, self.pairs])

    def group_at(self, a, exponents, limbs, count):
        """The number of the group whose entries and exponents begin at these addresses."""
        number = self.sizes.row_of(t.sub(a, self.a_at, 64), self.stride)
        if number is None or not all(map(same, (exponents, limbs, count), (
                t.add(self.exponents_at, t.scale(number, GROUP, 64), 64), self.limbs_at, self.pairs))) or (
                    not self.machine.proved(claimed(self.sizes.total(number) >= 0))):
            raise Refused("a group that is none of the pass's")
        return number

    def write(self, number, count, to):
        if not same(to, t.add(self.y, t.scale(number, 8 * GROUP, 64), 64)):
            raise Refused("rows of another group")
        part = Part((number,), (t.add(number, count, 64),))
        self.grid.read(part)
        self.grid.write(part)
        self.run.outputs += 1

    def add_groups(self, machine):
        machine.stores += 1
        if machine.scouting:
            return
        a, exponents, apart, limbs, count, to = (machine.general[name] for name in machine.ARGUMENTS[:6])
        number = self.group_at(a, exponents, limbs, count)
        if not same(apart, divided(self.stride, 2)) or not machine.proved(claimed(
                GROUP * (self.sizes.total(number) + 2) <= self.sizes.total(self.m))):
            raise Refused("two groups that A is not proved to have")
        self.write(number, 2, to)

    def multiply_group(self, machine):
        machine.stores += 1
        *group, to = (machine.general[name] for name in machine.ARGUMENTS[:5])
        if machine.scouting:
            return self.held.leave(to, None) if t.is_int(to) else None
        return self.held.leave(to, self.group_at(*group))

    def add_rows(self, machine):
        machine.stores += 1
        if machine.scouting:
            return
        of, rows, to = (machine.general[name] for name in machine.ARGUMENTS[:3])
        number = self.held.holds(of)
        check_rows(machine, t.scale(number, GROUP, 64), rows, self.m, GROUP)
        self.write(number, 1, to)


def add_pass_of_groups(image, run, backend, limbs):
    """Of any number of groups."""
    Pass(run, limbs).prove(f"{SPACE}{backend}::")


def outer_of_groups(image, run, backend):
    """Of three limbs and of four."""
    for limbs in (3, 4):
        outer_of_groups_by(run, backend, limbs)


def outer_of_groups_by(run, backend, limbs):
    """y is set once, and then each pass of columns is added once."""
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    m, k = (sizes.symbol(name, 0, EXTENT) for name in "mk")
    pairs, groups = pairs_of(sizes, k), sizes.named_quotient(t.add(m, GROUP - 1, 64), 3, "groups")
    left, z, david, y = (run.fresh(f"{name}[0]", 64) for name in ("left", "z", "y_david", "y"))
    outer = (t.add(left, t.scale(sizes.product_of(groups, pairs), PAIR, 64), 64), m,
             t.scale(pairs, PAIR // 2, 64), y)
    grid = Grid(machine, (m, t.add(k, 1, 64)))  # the beginning, and the columns behind it
    of_z, of_y = Marked(machine, 4 * limbs * COLUMNS // 2, 64), Part((0, 0), (m, 1))

    def begin(machine):
        machine.stores += 1
        if machine.scouting:
            return
        if not all(map(same, (machine.general[name] for name in machine.ARGUMENTS[:3]), (david, m, y))):
            raise Refused("begins with something else than y_david")
        grid.read(of_y)
        grid.write(of_y)

    def add_pass(machine):
        machine.stores += 1
        if machine.scouting:
            return
        common, a, limbs_at, count = (machine.general[name] for name in machine.ARGUMENTS[:4])
        column, width = of_z.holds(limbs_at)
        if not same(a, t.add(left, t.scale(column, PAIR // 2, 64), 64)) or not all(map(
                same, numbers_at(machine, common, 4), outer)):
            raise Refused("a pass of something else than A, or of other columns than z's")
        check_pairs(machine, count, column, width, pairs)
        if not machine.proved(claimed(sizes.total(m) >= 1)):
            raise Refused("a pass of no rows")
        part = Part((0, t.add(column, 1, 64)), (m, t.total([(column, 1), (width, 1), (1, 1)], 64)))
        grid.need(of_y)
        grid.read(part)
        grid.write(part)
        run.outputs += 1
    machine.hooks |= {f"{SPACE}{backend}::split_pass<{limbs}u>": split_hook(of_z, z, k, 1),
                      "slip::base::wipe": of_z.wipe, f"{SPACE}{backend}::begin": begin,
                      f"{SPACE}{backend}::add_pass<{limbs}u>": add_pass}
    explorer.call(f"{SPACE}{backend}::low_rank_outer", [left, m, k, limbs, z, david, y])


# --- the rows ------------------------------------------------------------------------------------

def add_runs(add):
    """Of all that the products consist of, from the lowest up: add(backend, kernel, sizes, function,
    arguments)."""
    any_size = "any size"
    for limbs in (3, 4):
        for function in (split_pass, multiply_panel, add_rows, add_pass):
            add("avx512", f"{function.__name__}<{limbs}>", any_size, function, limbs)
        for function in (split_pass, add_groups, multiply_group):
            add("avx2", f"{function.__name__}<{limbs}>", any_size, function, limbs)
        add("avx2", f"add_pass<{limbs}>", any_size, add_pass_of_groups, limbs)
    add("avx2", "begin", any_size, begin)
    add("avx2", "add_rows", any_size, add_rows_of_group)
    add("avx2", "low_rank_outer", any_size, outer_of_groups)
    add("avx512", "low_rank_outer", any_size, low_rank_outer)
