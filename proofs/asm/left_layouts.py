"""The contracts of `pack_left` where A stands in groups or panels of rows, of any size. What its parts do is
proved on its own, for each exponent (exponents.py), and then that each part is laid out once.

AVX2 has [groups][pairs][8][2] entries of 16 bits, padded with zeros: `pack_row` leaves a row's part of each
pair, `clear_row` that of a row that A lacks. AVX-512 has passes of 128 columns, and in each one
[panels][pairs of the pass] of 192 bytes (factors.py): `shift_row` leaves a row's columns of a pass in 16
bits, `pack_pairs` the pairs of a panel, `pack_left_panel` makes a panel of both, and `pack_pass` all panels
of a pass. Behind the entries stand the exponents of all rows, and zeros up to the last group's or panel's
end."""

import z3

import terms as t
from exponents import MOST, entries, exponents
from factors import LANES, PACKED, check_words, word
from grids import Grid, Part
from layouts import EXTENT
from machine import Refused, same
from panels import check_rows, refuse_store
from regions import Chunk, claimed
from sizes import divided
from spec import SPACE

GROUP, PAIR = 8, 32         # AVX2: rows of a group, bytes of its pairs
ROWS, COLUMNS = 64, 128     # AVX-512: rows of a panel, columns of a pass


def every_exponent(run):
    return [run.fixed["e"]] if "e" in run.fixed else range(MOST + 1)


def pairs_of(sizes, k, name="pairs"):
    return sizes.named_quotient(t.add(k, 1, 64), 1, name)


# --- a row's part of its group's pairs: AVX2 --------------------------------------------------------

class Pairs(Grid):
    """A row's entries, two in each pair."""

    def __init__(self, machine, pairs):
        super().__init__(machine, (t.scale(pairs, 2, 64),))

    def column(self, offset):
        """Of an entry at an offset of bytes."""
        pair, within = self.sizes.parted(offset, PAIR)
        if within not in (0, 2):
            raise Refused("an entry that is none of the row's")
        return t.add(t.scale(pair, 2, 64), within // 2, 64)

    def part(self, low, high):
        first, last = self.column(low), self.column(t.sub(high, 2, 64))
        return Part((first,), (t.add(last, 1, 64),))


def row_of_pairs(run, name, k, source, backend):
    """Proves what a function leaves of a row in its group. `source`: function(machine, k) -> (arguments, what
    the contract says of the entry of a column, or None if A has no such row)."""
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    k = sizes.symbol("k", 1, EXTENT) if k is None else k
    pairs = pairs_of(sizes, k)
    arguments, value = source(machine, k, pairs)

    def check(_, code, index):
        column = grid.column(t.scale(index, 2, 64))
        if value and machine.proved(claimed(sizes.total(column) < sizes.total(k))):
            run.expect(code, value(column), 16, "an entry")
        elif not value or machine.proved(claimed(sizes.total(column) >= sizes.total(k))):
            run.expect(code, 0, 16, "an entry that A has not")
        else:
            raise Refused("an entry of which it is not known whether A has it")
    length = 0 if t.is_int(k) and k == 0 else t.sub(t.scale(pairs, PAIR, 64), PAIR - 4, 64)
    packed = machine.output("packed", length, 2, None, check)
    grid = Pairs(machine, pairs)
    grid.region = machine.regions[t.ident(packed)]
    explorer.call(f"{SPACE}{backend}::{name}", [*arguments, packed])


def pack_row(image, run, backend):
    """Of no columns, and of any number."""
    for exponent in every_exponent(run):
        def source(machine, k, _, exponent=exponent):
            row = machine.input("row", t.scale(k, 4, 64), 4, [entries(run, exponent)])
            element = machine.reader(row)
            return [row, k, exponent], lambda c: z3.Extract(15, 0, element(0, c) >> exponent)
        for k in (0, None):
            row_of_pairs(run, "pack_row", k, source, backend)


def clear_row(image, run, backend):
    for k in (0, None):
        row_of_pairs(run, "clear_row", k, lambda _, __, pairs: ([pairs], None), backend)


# --- all groups: AVX2 -----------------------------------------------------------------------------

class Groups(Grid):
    """Of each row of each group its entries and its exponent, which stands behind the entries of all."""

    def __init__(self, machine, groups, behind):
        super().__init__(machine, (groups, GROUP, 2))
        self.behind = behind

    def part(self, low, high):
        group, r = self.sizes.parted(t.sub(low, self.behind, 64), GROUP)
        size = t.sub(high, low, 64)
        if not t.is_int(r) or not t.is_int(size) or r + size > GROUP:
            raise Refused("bytes that are not exponents of a group's rows")
        return Part((group, r, 1), (t.add(group, 1, 64), r + size, 2))


class Left:
    """A and what is found of it: `a` has m rows, of which the exponents are those that `least_exponent` is
    proved to find."""

    def __init__(self, run):
        self.run, (self.machine, self.explorer) = run, run.of_any_size()
        self.sizes = self.machine.sizes
        self.m, self.k = (self.sizes.symbol(name, 0, EXTENT) for name in "mk")
        self.pairs = pairs_of(self.sizes, self.k)
        self.a_at = self.run.fresh("a[0]", 64)
        self.exponent = self.machine.reader(self.machine.input("exponents", self.m, 1, [
            run.family("exponent", 8)]))

    def is_below(self, a, b):
        return self.machine.proved(claimed(self.sizes.total(a) < self.sizes.total(b)))

    def check_exponent(self, code, row):
        """That of a row, or 0 behind the last."""
        if self.is_below(row, self.m):
            self.run.expect(code, self.exponent(0, row), 8, "the exponent of a row")
        elif self.machine.proved(claimed(self.sizes.total(row) >= self.sizes.total(self.m))):
            self.run.expect(code, 0, 8, "the exponent of a row that A has not")
        else:
            raise Refused("an exponent of which it is not known whether A has the row")

    def row_at(self, row, columns):
        """The number of a row of A."""
        number = self.sizes.row_of(t.sub(row, self.a_at, 64), t.scale(self.k, 4, 64))
        if number is None or not same(columns, self.k) or not self.machine.proved(claimed(
                self.sizes.total(number) >= 0)) or not self.is_below(number, self.m):
            raise Refused("a row that is none of A's")
        return number

    def least_exponent(self, machine):
        """What `least_exponent` finds."""
        if machine.scouting:
            return machine.unknown("exponent", 64)
        found = self.exponent(0, self.row_at(*(machine.general[name] for name in machine.ARGUMENTS[:2])))
        return t.concat([(machine.unknown("above", 56), 56), (found, 8)])


def pack_groups(image, run, backend):
    """All rows of all groups, each once."""
    one = Left(run)
    machine, sizes, pairs = one.machine, one.sizes, one.pairs
    groups = sizes.named_quotient(t.add(one.m, GROUP - 1, 64), 3, "groups")
    behind = t.scale(sizes.product_of(groups, pairs), PAIR, 64)
    end = t.add(behind, t.scale(groups, GROUP, 64), 64)
    left = machine.region("left", end, 2, [Chunk(0, behind, 2, check=refuse_store), Chunk(
        behind, end, 1, check=lambda code, index: one.check_exponent(code, t.sub(index, behind, 64)))], 64)
    grid = Groups(machine, groups, behind)
    grid.region = machine.regions[t.ident(left)]

    def place(to):
        """(group, row in it) of which the entries begin at an address."""
        offset = t.sub(to, left, 64)
        r = divided(t.linear(offset, 64)[1] % PAIR, 4)
        group = None if r is None else sizes.row_of(t.sub(offset, 4 * r, 64), t.scale(pairs, PAIR, 64))
        if group is None:
            raise Refused("entries that are not at a row's place in a group")
        return group, r

    def write(group, r):
        grid.write(Part((group, r, 0), (t.add(group, 1, 64), r + 1, 1)))
        run.outputs += 1

    def pack_row(machine):
        machine.stores += 1
        if machine.scouting:
            return
        row, entries, by, to = (machine.general[name] for name in machine.ARGUMENTS[:4])
        number, (group, r) = one.row_at(row, entries), place(to)
        if not same(t.extract(by, 0, 8), one.exponent(0, number)) or not same(
                number, t.add(t.scale(group, GROUP, 64), r, 64)):
            raise Refused("a row that is shifted by another one's exponent, or to another place")
        write(group, r)

    def clear_row(machine):
        machine.stores += 1
        if machine.scouting:
            return
        count, to = (machine.general[name] for name in machine.ARGUMENTS[:2])
        group, r = place(to)
        if not same(count, pairs) or not one.is_below(group, groups) or not machine.proved(
                claimed(sizes.total(t.add(t.scale(group, GROUP, 64), r, 64)) >= sizes.total(one.m))):
            raise Refused("zeros in the place of a row that A may have")
        write(group, r)
    machine.hooks |= {f"{SPACE}{backend}::{name}": hook for name, hook in (
        ("least_exponent", one.least_exponent), ("pack_row", pack_row), ("clear_row", clear_row))}
    one.explorer.call(f"{SPACE}{backend}::pack_left", [one.a_at, one.m, one.k, left])


# --- a panel: AVX-512 -------------------------------------------------------------------------------

def find_exponents(image, run, backend):
    """Of all rows, and zeros up to the last panel's end."""
    one = Left(run)
    panels = one.sizes.named_quotient(t.add(one.m, ROWS - 1, 64), 6, "panels")
    out = one.machine.output("found", t.scale(panels, ROWS, 64), 1, None,
                             lambda _, code, row: one.check_exponent(code, row))
    one.machine.hooks[f"{SPACE}{backend}::least_exponent"] = one.least_exponent
    one.explorer.call(f"{SPACE}{backend}::find_exponents", [one.a_at, one.m, one.k, out])


def shift_row(image, run, backend):
    """A pass of columns of a row: its entries, and zeros behind them."""
    for exponent in every_exponent(run):
        shift_row_by(run, backend, exponent)


def shift_row_by(run, backend, exponent):
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    width = sizes.symbol("width", 0, COLUMNS)
    row = machine.input("row", t.scale(width, 4, 64), 4, [entries(run, exponent)])
    element = machine.reader(row)

    def check(_, code, c):
        if machine.proved(claimed(sizes.total(c) < sizes.total(width))):
            run.expect(code, z3.Extract(15, 0, element(0, c) >> exponent), 16, "an entry")
        elif machine.proved(claimed(sizes.total(c) >= sizes.total(width))):
            run.expect(code, 0, 16, "an entry that A has not")
        else:
            raise Refused("an entry of which it is not known whether A has it")
    shifted = machine.output("shifted", 2 * COLUMNS, 2, None, check)
    explorer.call(f"{SPACE}{backend}::shift_row", [row, width, exponent, shifted])


def pack_pairs(image, run, backend):
    """The first pairs of columns of ROWS rows of COLUMNS entries: entry (g, lane) of a pair is of row
    16 g + lane / 2."""
    check_words(run)
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    pairs = sizes.symbol("pairs", 0, COLUMNS // 2)
    shifted = machine.input("shifted", 2 * ROWS * COLUMNS, 2, [run.family("entry", 16)])
    element = machine.reader(shifted)

    def check(_, code, index):
        pair, within = sizes.parted(index, PACKED)
        if not t.is_int(within):
            raise Refused("a byte of a pair of which the place is not known")
        (register, lane), byte = divmod(within // 2, LANES), within % 2
        own, fourth = (element(0, t.add(t.scale(pair, 2, 64), (
            LANES // 2 * g + lane // 2) * COLUMNS + lane % 2, 64)) for g in (register, 3))
        run.expect(code, t.extract(word(register, own, fourth), 8 * byte, 8), 8, "a byte of a pair")
    packed = machine.output("packed", t.scale(pairs, PACKED, 64), 1, None, check)
    explorer.call(f"{SPACE}{backend}::pack_pairs", [shifted, pairs, packed])


class Scratch:
    """An array that a function has on its stack for those below it: it may neither read nor write it. What is
    known of it is in the machine's grid."""

    def __init__(self, machine, size):
        self.machine, self.size, self.where = machine, size, None

    def is_at(self, where):
        """Whether it begins at an address; the first that is asked for it may be."""
        machine = self.machine
        if self.where is None and t.is_int(where):
            if where < machine.general[machine.POINTER] or not machine.on_stack(where, self.size):
                raise Refused("an array that does not stand on the function's own stack")
            self.where, machine.sealed = where, (where, where + self.size)
        return t.is_int(where) and where == self.where


class Panel:
    """A panel's part of a pass: each of its rows is shifted by its exponent, or zeros if A has it not; then
    they are packed, and wiped. Of the grid that are ROWS parts, one, and one."""

    def __init__(self, run):
        self.run, (self.machine, self.explorer) = run, run.of_any_size()
        sizes = self.sizes = self.machine.sizes
        self.rows, self.k, self.width = (sizes.symbol(name, 1, most) for name, most in (
            ("rows", ROWS), ("k", EXTENT), ("width", COLUMNS)))
        self.pairs = pairs_of(sizes, self.width)
        self.a_at, self.packed = (run.fresh(f"{name}[0]", 64) for name in ("a", "packed"))
        self.exponents_at = self.machine.input("exponents", ROWS, 1, [run.family("exponent", 8)])
        self.exponent = self.machine.reader(self.exponents_at)
        self.scratch = Scratch(self.machine, 2 * ROWS * COLUMNS)
        self.grid = Grid(self.machine, (ROWS + 2,))

    def prove(self, space):
        self.machine.hooks |= {f"{space}shift_row": self.shift_row, f"{space}pack_pairs": self.pack_pairs,
                               "slip::base::wipe": self.wipe}
        self.explorer.call(f"{space}pack_left_panel", [
            self.a_at, self.rows, self.k, self.width, self.exponents_at, self.packed])

    def write(self, part):
        self.grid.read(Part((part,), (part + 1,)))
        self.grid.write(Part((part,), (part + 1,)))

    def shift_row(self, machine):
        machine.stores += 1
        row, own, by, to = (machine.general[name] for name in machine.ARGUMENTS[:4])
        if not t.is_int(to):
            raise Refused("a row at a place that is not known")
        if self.scratch.where is None:
            self.scratch.is_at(to)
        if machine.scouting:
            return
        r, left = divmod(to - self.scratch.where, 2 * COLUMNS)
        if left or not 0 <= r < ROWS or not same(t.extract(by, 0, 8), self.exponent(0, r)):
            raise Refused("a row that is shifted by another one's exponent, or to another place")
        self.check_row(r, row, own)
        self.write(r)
        self.run.outputs += 1

    def check_row(self, r, row, own):
        """That so many entries, which begin there, are all that A has of a row."""
        sizes, rows = self.sizes, self.sizes.total(self.rows)
        if self.machine.proved(claimed(rows > r)):
            is_right = same(own, self.width) and same(row, t.add(self.a_at, t.scale(self.k, 4 * r, 64), 64))
        else:
            is_right = self.machine.proved(claimed(rows <= r), claimed(sizes.value(own) == 0))
        if not is_right:
            raise Refused("entries that are not proved to be the row's")

    def pack_pairs(self, machine):
        machine.stores += 1
        if machine.scouting:
            return
        source, count, to = (machine.general[name] for name in machine.ARGUMENTS[:3])
        if not self.scratch.is_at(source) or not same(to, self.packed) or not machine.proved(
                claimed(self.sizes.value(count) == self.sizes.total(self.pairs))):
            raise Refused("pairs that are not the panel's")
        self.grid.need(Part((0,), (ROWS,)))
        self.write(ROWS)
        self.run.outputs += 1

    def wipe(self, machine):
        where, size = (machine.general[name] for name in machine.ARGUMENTS[:2])
        if machine.scouting:
            return
        if not self.scratch.is_at(where) or size != self.scratch.size:
            raise Refused("wipes something else than the rows")
        self.grid.need(Part((ROWS,), (ROWS + 1,)))
        self.write(ROWS + 1)


def pack_left_panel(image, run, backend):
    """Of any rows and any columns of a panel and a pass."""
    Panel(run).prove(f"{SPACE}{backend}::")


# --- all panels, all passes: AVX-512 ----------------------------------------------------------------

def pack_pass(image, run, backend):
    """All panels of some columns, each once."""
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    m, k, width = (sizes.symbol(name, *ends) for name, ends in (
        ("m", (0, EXTENT)), ("k", (1, EXTENT)), ("width", (1, COLUMNS))))
    panels = sizes.named_quotient(t.add(m, ROWS - 1, 64), 6, "panels")
    length = t.scale(pairs_of(sizes, width), PACKED, 64)  # of a panel
    a_at, exponents_at, packed = (run.fresh(f"{name}[0]", 64) for name in ("a", "exponents", "packed"))
    grid = Grid(machine, (panels,))

    def pack_left_panel(machine):
        machine.stores += 1
        if machine.scouting:
            return
        a, rows, columns, own, of_rows, to = (machine.general[name] for name in machine.ARGUMENTS[:6])
        number = sizes.row_of(t.sub(to, packed, 64), length)
        first = None if number is None else t.scale(number, ROWS, 64)
        if number is None or not all(map(same, (a, columns, own, of_rows), (
                t.add(a_at, t.scale(sizes.multiple(first, k), 4, 64), 64), k, width,
                t.add(exponents_at, first, 64)))):
            raise Refused("a panel that is none of the pass's")
        check_rows(machine, first, rows, m, ROWS)
        part = Part((number,), (t.add(number, 1, 64),))
        grid.read(part)
        grid.write(part)
        run.outputs += 1
    machine.hooks[f"{SPACE}{backend}::pack_left_panel"] = pack_left_panel
    explorer.call(f"{SPACE}{backend}::pack_pass", [a_at, m, k, width, exponents_at, packed])


def nothing_of_no_rows(run, backend):
    """Then there is no panel, and no store: A and the room for it may be null."""
    machine, explorer = run.of_any_size()

    def refuse(machine):
        raise Refused("a part of A, which has no rows")
    machine.hooks |= {f"{SPACE}{backend}::{name}": refuse for name in ("find_exponents", "pack_pass")}
    explorer.call(f"{SPACE}{backend}::pack_left", [
        run.fresh("a[0]", 64), 0, machine.sizes.symbol("k", 0, EXTENT), run.fresh("left[0]", 64)])
    run.outputs += 1


def pack_passes(image, run, backend):
    """The exponents and then all columns, each once, in passes that begin COLUMNS apart."""
    nothing_of_no_rows(run, backend)
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    m, k = (sizes.symbol(name, least, EXTENT) for name, least in (("m", 1), ("k", 0)))
    pairs = pairs_of(sizes, k)
    panels = sizes.named_quotient(t.add(m, ROWS - 1, 64), 6, "panels")
    a_at, left = (run.fresh(f"{name}[0]", 64) for name in ("a", "left"))
    exponents_at = t.add(left, t.scale(sizes.product_of(panels, pairs), PACKED, 64), 64)
    grid = Grid(machine, (t.add(k, 1, 64),))  # the exponents, and the columns behind them
    of_rows = Part((0,), (1,))

    def find_exponents(machine):
        machine.stores += 1
        if machine.scouting:
            return
        if not all(map(same, (machine.general[name] for name in machine.ARGUMENTS[:4]), (
                a_at, m, k, exponents_at))):
            raise Refused("exponents of something else than A")
        grid.read(of_rows)
        grid.write(of_rows)

    def pack_pass(machine):
        machine.stores += 1
        if machine.scouting:
            return
        a, rows, columns, width, of, to = (machine.general[name] for name in machine.ARGUMENTS[:6])
        column, own, all_columns = divided(t.sub(a, a_at, 64), 4), sizes.value(width), sizes.total(k)
        number = None if column is None else divided(column, COLUMNS)
        if number is None or not all(map(same, (rows, columns, of, to), (m, k, exponents_at, t.add(
                left, t.scale(sizes.multiple(number, panels), COLUMNS // 2 * PACKED, 64), 64)))):
            raise Refused("a pass of something else than A, or at another place")
        end = sizes.total(column) + own
        if not machine.proved(*map(claimed, (sizes.total(column) >= 0, own >= 1, own <= COLUMNS,
                                             end <= all_columns)),
                              z3.Or(claimed(own == COLUMNS), claimed(end == all_columns))):
            raise Refused("columns that are not proved to be all of a pass's")
        part = Part((t.add(column, 1, 64),), (t.total([(column, 1), (width, 1), (1, 1)], 64),))
        grid.need(of_rows)
        grid.read(part)
        grid.write(part)
        run.outputs += 1
    machine.hooks |= {f"{SPACE}{backend}::find_exponents": find_exponents,
                      f"{SPACE}{backend}::pack_pass": pack_pass}
    explorer.call(f"{SPACE}{backend}::pack_left", [a_at, m, k, left])


# --- the rows ------------------------------------------------------------------------------------

def add_rows(add):
    """Of all that the layouts consist of, from the lowest up: add(backend, kernel, sizes, function)."""
    any_size = "any size"
    for function in (pack_row, clear_row):
        add("avx2", function.__name__, any_size, function)
    for function in (find_exponents, shift_row, pack_pairs, pack_left_panel, pack_pass):
        add("avx512", function.__name__, any_size, function)
    for backend, pack_left in (("avx2", pack_groups), ("avx512", pack_passes)):
        add(backend, "least_exponent", any_size, exponents)
        add(backend, "pack_left", any_size, pack_left)
