"""What grids.py says of parts, and sizes.py of quotients, must be so: parts that are written twice, or not at
all, are refused."""

from types import SimpleNamespace

import z3

import terms as t
from grids import Done, Grid, Part, Touch
from instructions.processor import ANYTHING, Vectors
from machine import Machine, Refused, same
from panels import Bytes
from regions import RegionMachine
from shapes import changes_of_registers
from sizes import Sizes


def check():
    """What is wrong."""
    t.forget()
    return (passes_apart() + passes_before() + passes_around() + one_behind_another() + nothing()
            + up_to_the_end() + one_way() + quotients() + exact_quotients() + products_of_quotients()
            + multiples_below() + rows() + bytes_of_panels() + lost_registers())


def grid():
    """(a grid of planes and panels, the number of passes of a loop, of both extents)"""
    sizes = Sizes()
    planes, panels = (sizes.symbol(name, 1, 1 << 20) for name in ("planes", "panels"))
    machine = SimpleNamespace(sizes=sizes, path=[], finished=Done())
    return Grid(machine, (planes, panels)), sizes.counter("pass"), planes, panels


def part(low, count, first, number):
    """`count` planes from `low` on, and `number` panels from `first` on."""
    return Part((low, first), (t.add(low, count, 64), t.add(first, number, 64)))


def state(path=(), **what):
    return SimpleNamespace(path=list(path), finished=Done(**what), copy=lambda: None)


def is_refused(function):
    try:
        function()
    except Refused:
        return True
    return False


def after(one, passes, own, path=(), free=None):
    """What is known behind a loop of which each pass goes on and writes some parts."""
    one.machine.finished, before = Done(), state()
    for v in own:
        one.read(v)
        one.write(v)
    way = SimpleNamespace(path=list(path), finished=one.machine.finished)
    way.copy = lambda: way
    moving = [(passes, 0, lambda _: t.add(passes, 1, 64))] + ([free] if free else [])
    one.after_passes(before, [way], [True], moving)
    return way.finished


def passes_apart():
    """Passes that touch a part in common are found, and no others."""
    one, i, planes, panels = grid()
    j = one.sizes.counter("inner")
    free = one.sizes.symbol("free", 0, 1 << 20)
    more = one.sizes.symbol("more", 1, 1 << 20)
    moves, stays = ((free, 0, lambda _, by=by: t.add(free, by, 64)) for by in (more, 0))
    four = [part(t.add(t.scale(i, 4, 64), l, 64), 1, 0, 1) for l in range(4)]
    five = [*four, part(t.add(t.scale(i, 4, 64), 4, 64), 1, 0, 1)]
    cases = [("four planes", [four], True), ("five planes", [five], False),
             ("always the first", [[part(0, 1, 0, 1)]], False),
             ("a panel each", [[part(0, planes, i, 1)]], True),
             ("two panels, by one", [[part(0, planes, i, 2)]], False),
             ("as an inner loop counts", [[part(j, 1, 0, 1)]], False),
             ("as many as a number grows by", [[part(free, more, 0, 1)], (), moves], True),
             ("one more than that", [[part(free, t.add(more, 1, 64), 0, 1)], (), moves], False),
             ("a number that stays", [[part(free, 1, 0, 1)], (), stays], False),
             ("two numbers that change", [[part(t.add(free, i, 64), 1, 0, 1)], (), moves], False)]
    return [f"grids: passes that write {what} are {'not ' if is_apart else ''}taken to be apart"
            for what, of, is_apart in cases if is_refused(lambda of=of: after(one, i, *of)) == is_apart]


def passes_before():
    """What passes have written together is no more than they have."""
    one, i, planes, panels = grid()
    two = t.scale(i, 2, 64)
    cases = [([part(two, 1, 0, 1), part(t.add(two, 1, 64), 1, 0, 1)], part(0, two, 0, 1), True),
             ([part(two, 1, 0, 1)], part(0, two, 0, 1), False),
             ([part(0, planes, i, 1)], part(0, planes, 0, i), True),
             ([part(i, 1, i, 1)], part(0, i, 0, i), False)]
    wrong = [f"grids: {own} in each pass is {'not ' if is_so else ''}taken for {whole}"
             for own, whole, is_so in cases
             if any(map(whole.is_like, after(one, i, own).done)) != is_so]
    needed = part(0, 1, 0, i)
    for own, is_so in ((part(0, 1, i, 1), True), (part(0, 1, t.add(i, 1, 64), 1), False)):
        if needed_after(one, i, own, needed) != ([] if is_so else [part(0, 1, 0, panels)]):
            wrong.append(f"grids: what is added to is {'not ' if is_so else ''}written before, by {own}")
    return wrong


def needed_after(one, passes, own, needed):
    """What is needed behind a loop of which each pass goes on, writes a part, and needs another one."""
    way = state(done=[own], needed=[needed])
    one.after_passes(state(), [way], [True], [(passes, 0, lambda _: t.add(passes, 1, 64))])
    return way.finished.needed


def passes_around():
    """What the passes of a loop need, those of a loop around it may have written: all that any may need."""
    one, i, planes, panels = grid()
    j = one.sizes.counter("inner")
    inner = needed_after(one, j, part(j, 1, i, 1), part(j, 1, 0, i))
    cases = (part(0, planes, i, 1), True), (part(0, t.sub(planes, 1, 64), i, 1), False), (
        part(0, planes, t.add(i, 1, 64), 1), False)
    return [f"grids: {inner} is {'not ' if is_so else ''}written before, by {own}" for own, is_so in cases
            if len(inner) != 1 or (needed_after(one, i, own, inner[0]) == []) != is_so]


def one_behind_another():
    """A part that begins where a loop's passes end is none of theirs; one that begins before is."""
    wrong = []
    for begin, is_apart in ((4, True), (3, False)):
        one, i, planes, panels = grid()
        after(one, i, [part(t.scale(i, 4, 64), 4, 0, 1)])
        if is_refused(lambda one=one, i=i, begin=begin: one.read(
                part(t.add(t.scale(i, 4, 64), begin, 64), 1, 0, 1))) == is_apart:
            wrong.append(f"grids: what begins {begin} behind a pass is {'not ' if is_apart else ''}apart")
    return wrong


def nothing():
    """A part in which nothing is has been written, in a way or in a pass; no other one has."""
    wrong = []
    for most, is_nothing in ((1, True), (2, False)):
        one, i, planes, panels = grid()
        rest = t.sub(panels, 1, 64)
        own, path = part(i, 1, 1, rest), [one.sizes.total(panels) < most + 1]
        ways = [state(touched=[Touch(own, True)], done=[own]), state(path)]
        if any(map(own.is_like, one.merged([state(done=[own]), state(path)]).done)) != is_nothing:
            wrong.append(f"grids: of {most} panels at most, all but one are not taken for what they are")
        one.machine.path, one.machine.finished = path, Done()
        one.need(own)
        if (one.machine.finished.needed == []) != is_nothing:
            wrong.append(f"grids: needed are all but one of {most} panels at most")
        one.after_passes(state(), ways, [True, True], [(i, 0, lambda _: t.add(i, 1, 64))])
        if any(map(part(0, i, 1, rest).is_like, ways[0].finished.done)) != is_nothing:
            wrong.append(f"grids: passes of which some write nothing, of {most} panels at most")
    return wrong


def up_to_the_end():
    """A number that is proved to be the end of an extent is that, in passes and behind a loop; no other."""
    one, i, planes, panels = grid()
    end, other = one.sizes.symbol("end", 0, 1 << 20), one.sizes.symbol("other", 0, 1 << 20)
    is_end, are_same = (one.sizes.total(v) >= one.sizes.total(least)
                        for v, least in ((end, panels), (end, other)))
    whole, found = part(0, i, 0, panels), []
    for path in ([is_end], []):
        done = after(one, i, [part(i, 1, 0, end)], path).done
        found.append(any(map(whole.is_like, done)))
        both = [Part((0, 0), (planes, end)), Part((0, other), (planes, panels))]
        met = state(path and [are_same], done=both)
        found.append(is_refused(lambda met=met: one.conclude(met)))
    either = z3.Or(one.sizes.total(planes) == 0, one.sizes.total(panels) == 0)
    found += [is_refused(lambda path=path: one.conclude(state(path))) for path in ([either], [])]
    return [] if found == [True, False, False, True, False, True] else [
        f"grids: what ends where an output does: {found}"]


def one_way():
    """What is written is read no more, and in the end all must be written and set."""
    one, _, planes, panels = grid()
    whole, panel = part(0, planes, 0, panels), part(0, planes, 0, 1)
    one.write(panel)
    wrong = [] if is_refused(lambda: one.read(part(0, 1, 0, 1))) and not is_refused(
        lambda: one.read(part(0, 1, 1, 1))) else ["grids: an output that is read back after it was written"]
    ends = [(state(done=[whole]), False), (state(done=[panel]), True), (state(), True),
            (state(done=[panel, part(0, planes, 1, t.sub(panels, 1, 64))]), False),
            (state(done=[whole], needed=[panel]), True)]
    wrong += [f"grids: {way.finished.done} is {'' if is_less else 'not '}taken for all"
              for way, is_less in ends if is_refused(lambda way=way: one.conclude(way)) != is_less]
    met = one.merged([state(done=[whole, panel]), state(done=[panel], touched=[])])
    return wrong + ([] if met.done == [panel] else [f"grids: of two ways, {met.done} is written"])


def quotients():
    """What is known of a quotient and a remainder, of a disjunction, and of rows of a matrix."""
    sizes = Sizes()
    a, b, c = (sizes.symbol(name, 0, 1 << 40) for name in "abc")
    i, n, k = sizes.counter("i"), sizes.symbol("n", 0, 1 << 20), sizes.symbol("k", 0, 1 << 20)
    quotient, rest = (sizes.total(v) for v in sizes.division(a, b))
    x, y = sizes.total(a), sizes.total(b)
    groups = sizes.total(sizes.named_quotient(t.add(c, 3, 64), 2, "groups"))
    either, z, whole = sizes.value(a | b), sizes.total(c), sizes.total(sizes.product_of(k, n))
    at, one = sizes.total(sizes.counted_product(i, n)), sizes.total(n)
    passes, rows = sizes.total(i), sizes.total(k)
    claims = [(z3.Implies(y >= 1, rest < y), True), (rest < y, False), (quotient <= x, True),
              (z3.Implies(z3.And(y >= 1, x >= y), quotient >= 1), True), (quotient >= 1, False),
              (z3.Implies(x >= y, quotient >= 1), False), (rest == 0, False), (rest <= x, True),
              (4 * groups >= z, True), (4 * groups > z, False), (4 * groups <= z + 3, True),
              (either >= x, True), (either <= x + y, True), (either <= x, False),
              (z3.Implies(4 * passes + 2 <= rows, 4 * at + 2 * one <= whole), True),
              (z3.Implies(4 * passes + 1 <= rows, 4 * at + 2 * one <= whole), False)]
    wrong = [f"sizes: {claim} is {'not ' if is_so else ''}proved" for claim, is_so in claims
             if sizes.holds(claim, []) != is_so]
    wrong += named_quotients(sizes, i)
    row, rest = sizes.rows_of(t.total([(sizes.counted_product(i, n), 4), (n, 3), (c, 1)], 64), n)
    return wrong + ([] if t.is_int(t.sub(row, t.add(t.scale(i, 4, 64), 3, 64), 64)) and rest.eq(c) else [
        f"sizes: 4 i rows, 3 more and c are taken for {row} and {rest}"])


def named_quotients(sizes, i):
    """What a contract calls a quotient and a remainder must be that."""
    column, wrong = sizes.symbol("column", 0, 1 << 24), []
    for rest, factor, by, is_so in (2, 3, 3, True), (3, 3, 3, False), (2, 4, 3, False), (2, 3, i, False):
        v = t.add(t.scale(column, factor, 64), rest, 64)
        if is_refused(lambda v=v, by=by, rest=rest: sizes.name_division(v, by, column, rest)) == is_so:
            wrong.append(f"sizes: {v} by {by} is {'not ' if is_so else ''}column, and {rest} are left")
    found = sizes.division(t.add(t.scale(column, 3, 64), 2, 64), 3)
    return wrong + ([] if found[0].eq(column) and found[1] == 2 else [f"sizes: a quotient's name is {found}"])


def exact_quotients():
    """A quotient and a remainder by a number are known of a multiple and a number that do not wrap, and a
    size as a number where it can be no other."""
    sizes = Sizes()
    a, b, wide = (sizes.symbol(name, 0, most) for name, most in (
        ("a", 100), ("b", 100), ("wide", t.mask(64))))
    i = sizes.counter("i")
    sizes.assume([sizes.total(i)], sizes.total(i) < sizes.total(b))
    machine = machine_of(sizes)
    cases = [(t.add(t.scale(i, 3, 64), 2, 64), i, 2), (t.add(t.scale(i, 3, 64), 4, 64), t.add(i, 1, 64), 1),
             (t.add(t.scale(i, 3, 64), b, 64), None, 0), (t.sub(t.scale(i, 3, 64), 1, 64), None, 0),
             (t.scale(wide, 3, 64), None, 0)]
    wrong = []
    for v, quotient, rest in cases:
        found = RegionMachine.divided_exactly(machine, v, 3)
        if found != quotient if quotient is None or found is None else (
                found[1] != rest or not t.is_int(t.sub(found[0], quotient, 64))):
            wrong.append(f"regions: {v} divided by 3 is taken for {found}")
    for value, path in ((a, []), (7, [sizes.total(a) == 7]), (a, [sizes.total(a) >= 7])):
        machine.path = path
        found = RegionMachine.known_number(machine, a)
        if found is not value:
            wrong.append(f"regions: a size of which {path} is known is taken for {found}")
    return wrong


def machine_of(sizes):
    machine = SimpleNamespace(sizes=sizes, path=[], regions={}, proved=lambda *claims: all(
        sizes.holds(claim, machine.path) for claim in claims))
    machine.quotient = lambda v, count: RegionMachine.quotient(machine, v, count)
    return machine


def products_of_quotients():
    """A quotient times its own divisor is the dividend without what is left, if the divisor is not 0."""
    sizes = Sizes()
    a, b, c = (sizes.symbol(name, 0, 1 << 40) for name in "abc")
    machine, (quotient, rest) = machine_of(sizes), sizes.division(a, b)
    wrong = []
    for factor, divisor, least, is_so in ((quotient, b, 1, True), (quotient, b, 0, False),
                                          (quotient, c, 1, False), (rest, b, 1, False)):
        machine.path = [sizes.total(divisor) >= least]
        found = RegionMachine.without_rest(machine, factor, divisor)
        if (found is not None) != is_so or is_so and not same(found, t.sub(a, rest, 64)):
            wrong.append(f"regions: {factor} times {divisor}, at least {least}, is taken for {found}")
    return wrong


def multiples_below():
    """A mask of all but the lowest bits leaves a multiple of a sum whose other part is below it; other masks
    and sums do not."""
    sizes = Sizes()
    c, few, many = (sizes.symbol(name, 0, most) for name, most in (("c", 1 << 40), ("few", 63), ("many", 64)))
    machine, whole = machine_of(sizes), t.scale(c, 64, 64)
    wrong = []
    for rest, mask, is_so in ((few, -64, True), (many, -64, False), (few, -32, False), (few, 63, False),
                              (few, (1 << 32) - 64, False), (few, -1, False), (few, 0, False)):
        found = Machine.multiple_below(machine, t.add(whole, rest, 64), mask & t.mask(64))
        if (found is not None) != is_so or is_so and not same(found, whole):
            wrong.append(f"machine: {rest} and 64 c under {mask:#x} are taken for {found}")
    return wrong


def rows():
    """What an offset has of multiples of a number, and the number of a row, are found, and no others."""
    sizes = Sizes()
    i, n, c = sizes.counter("i"), sizes.symbol("n", 0, 1 << 20), sizes.symbol("c", 0, 1 << 20)
    at = t.total([(i, 32), (c, 4), (70, 1)], 64)
    whole, rest = sizes.parted(at, 32)
    row = sizes.counted_product(i, n)
    found = [t.sub(whole, t.add(i, 2, 64), 64), t.sub(rest, t.add(t.scale(c, 4, 64), 6, 64), 64),
             t.sub(sizes.row_of(t.scale(row, 4, 64), t.scale(n, 4, 64)), i, 64),
             sizes.row_of(t.scale(row, 2, 64), t.scale(n, 4, 64)), sizes.row_of(t.add(row, 1, 64), n)]
    return [] if found == [0, 0, 0, None, None] else [f"sizes: rows and what is behind them: {found}"]


def bytes_of_panels():
    """Bytes of one row, and of whole rows, are parts of a panel, and no others."""
    sizes = Sizes()
    machine = SimpleNamespace(sizes=sizes, path=[], finished=Done(), proved=lambda *claims: all(
        sizes.holds(claim, []) for claim in claims))
    i, row, free = sizes.counter("i"), sizes.symbol("row", 0, 15), sizes.symbol("free", 0, 16)
    one = Bytes(machine, sizes.symbol("steps", 0, 1 << 20), 16, 4)
    first = t.scale(i, 64, 64)

    def of(at, size):
        low = t.add(first, at, 64)
        return one.part(low, t.add(low, size, 64))
    column, here = t.scale(i, 4, 64), t.scale(row, 4, 64)
    cases = [(here, 4, Part((column, row), (t.add(column, 4, 64), t.add(row, 1, 64)))),
             (t.add(here, 1, 64), 2,
              Part((t.add(column, 1, 64), row), (t.add(column, 3, 64), t.add(row, 1, 64)))),
             (8, 16, Part((column, 2), (t.add(column, 4, 64), 6))), (2, 4, None), (0, 6, None),
             (t.scale(free, 4, 64), 4, None), (row, 1, None)]
    wrong = []
    for at, size, whole in cases:
        try:
            found = of(at, size)
            is_right = whole is not None and found.is_like(whole)
        except Refused:
            is_right = whole is None
        wrong += [] if is_right else [f"panels: {size} bytes from {at} on are not taken for {whole}"]
    return wrong


def lost_registers():
    """What a call leaves in a vector is one thing in one state, and another one in another."""
    numbers = iter(range(100))
    machine = SimpleNamespace(unknown=lambda what, width: z3.BitVec(f"{what}[{next(numbers)}]", width))
    one = Vectors(machine, [ANYTHING] * 32)
    other = one.copy()
    is_same = one[3] is one[3], one[3][0][0].eq(other[3][0][0]), len(one[3])
    lost = SimpleNamespace(general={}, masks={}, vectors=Vectors(machine, [ANYTHING] * 32))
    known = SimpleNamespace(general={}, masks={}, vectors=Vectors(machine, [ANYTHING] * 31 + [[0] * 64]))
    changed = [len(changes_of_registers(*pair)) for pair in ((known, lost), (lost, known), (lost, lost))]
    return [] if (*is_same, *changed) == (True, False, 64, 64, 0, 0) else [
        f"vectors that a call leaves: {is_same}, {changed}"]
