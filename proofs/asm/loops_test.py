"""What loops.py guesses must be proved: an invariant that a loop does not keep, or that does not hold
where it begins, and a bound that is not found must be refused."""

import z3

import carried
import grids_test
import loops
import run
import shapes
import sums
import terms as t
import totals
from machine import Exhausted, Refused
from sizes import WORK, Contradictions, Sizes, conjuncts

MASK, BELOW, QUANTISE = ("avx512", "mask"), ("avx512", "below"), ("avx512", "quantise")
PANEL, COMBINE = ("avx2", "multiply_panel_by_1"), ("avx512", "combine")
GEMM, BLOCK = ("avx512", "gemm"), ("avx512", "multiply_block<1>")
SUMS, VECTORS = ("portable", "add_products_2_4"), ("portable", "multiply_vectors<4, 1>")
JOINED, PASS = ("avx2", "multiply_block"), ("avx2", "multiply_pass<1>")
EXPONENT = "portable", "least_exponent"


class NoBound(loops.Explorer):
    """Finds no bound of the number of passes."""

    def guesses(self, first, backs, passes):
        return []


class NoWayBack(loops.Explorer):
    """That no pass that is tried out goes on."""

    def one_pass(self, state, loop, scouting):
        ways, is_decided = super().one_pass(state, loop, scouting)
        if not scouting:
            return ways, is_decided
        return [(way, at) for way, at in ways if at != loop.head], True


class Wrong(loops.Explorer):
    """Spoils what was found of the first loop."""

    def generic(self, first, loop, backs, passes):
        shape, bounds = super().generic(first, loop, backs, passes)
        if self.machine.scouting:
            return shape, bounds
        return self.spoilt(shape, bounds, self.sizes.symbols[t.ident(passes)])

    def spoilt(self, shape, bounds, number):
        raise NotImplementedError


class NotKept(Wrong):
    """That there is no second pass."""

    def spoilt(self, shape, bounds, number):
        return shape, [*bounds, number <= 0]


class NotAtFirst(Wrong):
    """That the first pass is the second."""

    def spoilt(self, shape, bounds, number):
        return shape, [*bounds, number >= 1]


class TooFast(Wrong):
    """That a register grows by one more than it does."""

    def spoilt(self, shape, bounds, number):
        place, form = next((place, form) for place, form in shape.forms.items()
                           if type(form) is shapes.Affine)
        faster = shapes.Affine(form.first, form.step + 1, form.width)
        return shapes.Shape(shape.first, shape.forms | {place: faster}, shape.passes), bounds


class NoChange(Wrong):
    """That what changes in an unknown way does not change."""

    def spoilt(self, shape, bounds, number):
        forms = {place: form for place, form in shape.forms.items() if type(form) is shapes.Affine}
        return shapes.Shape(shape.first, forms, shape.passes), bounds


class WrongChain(loops.Explorer):
    """That a register carries the sum of another lane."""

    def carrying(self, shape, bounds, loop):
        return self.spoilt(super().carrying(shape, bounds, loop), lambda form: carried.Chain(
            form.chains, (form.number + 1) % form.chains.count, form.first, form.step, form.byte))

    def spoilt(self, shape, change):
        forms = {place: change(form) if type(form) is carried.Chain else form
                 for place, form in shape.forms.items()}
        return shapes.Shape(shape.first, forms, shape.passes)


class MoreSteps(WrongChain):
    """That a pass adds one square more than it does."""

    def carrying(self, shape, bounds, loop):
        return self.spoilt(loops.Explorer.carrying(self, shape, bounds, loop), lambda form: carried.Chain(
            form.chains, form.number, form.first, form.step + form.chains.count, form.byte))


class LaterFirst(WrongChain):
    """That what is carried begins one step later."""

    def carrying(self, shape, bounds, loop):
        return self.spoilt(loops.Explorer.carrying(self, shape, bounds, loop), lambda form: carried.Chain(
            form.chains, form.number, form.first + form.chains.count, form.step, form.byte))


class WrongTotal(loops.Explorer):
    """That a pass adds the products of another row."""

    def adding(self, shape, bounds, loop):
        return self.spoilt(super().adding(shape, bounds, loop), lambda end: end._replace(
            first=t.add(end.first, 1, 64)))

    def spoilt(self, shape, change):
        for place, form in shape.forms.items():
            if type(form) is totals.Total:
                added = [(one.with_ends([change(one.ends[0]), *one.ends[1:]], one.length, one.most), count)
                         for one, count in form.added]
                shape.forms[place] = totals.Total(form.totals, form.first, form.width, added, form.most,
                                                  form.byte)
        return shape


class OtherStep(WrongTotal):
    """That a pass begins twice as far behind the one before."""

    def adding(self, shape, bounds, loop):
        return self.spoilt(loops.Explorer.adding(self, shape, bounds, loop), lambda end: end._replace(
            step=2 * end.step))


class OtherRow(loops.Explorer):
    """That a loop around loops leaves in memory what it adds up in another register."""

    def adding(self, shape, bounds, loop):
        shape = super().adding(shape, bounds, loop)
        places = sorted(place for place, form in shape.forms.items()
                        if place[0] == "byte" and type(form) is totals.Total and form.byte == 0)
        forms = [shape.forms[place] for place in places]
        return shape.richer(dict(zip(places, forms[1:] + forms[:1])))


class NotFromZero(loops.Explorer):
    """That there were products before the first pass."""

    def adding(self, shape, bounds, loop):
        shape = super().adding(shape, bounds, loop)
        for place, form in shape.forms.items():
            if type(form) is totals.Total:
                form.first = sums.Sum(form.width, (form.first, form.after(1, 1)), [])
        return shape


class WrongWithin(loops.Explorer):
    """That a register which joins magnitudes is always 0."""

    def bounding(self, shape, bounds, loop):
        return self.spoilt(shape, lambda v: v == 0)

    def spoilt(self, shape, fact):
        forms = {place: shapes.Within(self.machine.run, fact) for place, form in shape.forms.items()
                 if form == shapes.UNKNOWN and place[0] == "general"
                 and t.is_int(shape.first.general[place[1]])}
        return shapes.Shape(shape.first, shape.forms | forms, shape.passes)


class NotWithinAtFirst(WrongWithin):
    """That it is never 0."""

    def bounding(self, shape, bounds, loop):
        return self.spoilt(shape, lambda v: v != 0)


class WrongFree(Wrong):
    """That a number of planes that lie behind is always 0."""

    def spoilt(self, shape, bounds, number):
        free = [form.number for form in shape.forms.values() if type(form) is shapes.Free]
        return shape, bounds + [self.sizes.symbols[t.ident(one)] <= 0 for one in free]


class SmallFree(Wrong):
    """That it is less than 64."""

    def spoilt(self, shape, bounds, number):
        for form in shape.forms.values():
            if type(form) is shapes.Free:
                form.most = 63
        return shape, bounds


class OnePart(loops.Explorer):
    """That passes which write different parts cannot be told."""

    def summary(self, first, loop, backs):
        self.machine.grid.range_of_pass = lambda *_: None
        return super().summary(first, loop, backs)


class NoneBefore(loops.Explorer):
    """That no pass has written a part before another one."""

    def summary(self, first, loop, backs):
        self.machine.grid.before_pass = lambda *_: []
        return super().summary(first, loop, backs)


class InNoRegister(loops.Explorer):
    """That no register tells what has been read."""

    def tellers(self, shape):
        return []


class InWrongRegister(loops.Explorer):
    """That a register that every pass overwrites tells what has been read."""

    def tellers(self, shape):
        return [lambda state: t.term(state.general["rax"], 64) != 0]


# (what is wrong, in which kernel, what the refusal says)
SPOILT = [(NoBound, MASK, "not proved to lie in it"),
          (NoWayBack, MASK, "an invariant that a loop does not keep"),
          (NotKept, MASK, "a bound that a loop does not keep"),
          (NotAtFirst, MASK, "a bound that does not hold where a loop begins"),
          (TooFast, MASK, "not proved to lie in it"),
          (NoChange, MASK, "an invariant that a loop does not keep"),
          (WrongChain, QUANTISE, "an invariant that a loop does not keep"),
          (WrongChain, ("avx2", "dot"), "a value that a loop does not begin with"),
          (MoreSteps, ("avx2", "dot"), "an invariant that a loop does not keep"),
          (LaterFirst, ("avx512", "dot"), "a value that a loop does not begin with"),
          (MoreSteps, QUANTISE, "an invariant that a loop does not keep"),
          (LaterFirst, QUANTISE, "a value that a loop does not begin with"),
          (WrongTotal, PANEL, "an invariant that a loop does not keep"),
          (WrongTotal, SUMS, "an invariant that a loop does not keep"),
          (NotFromZero, SUMS, "a value that a loop does not begin with"),
          (OtherStep, PANEL, "an invariant that a loop does not keep"),
          (NotFromZero, PANEL, "a value that a loop does not begin with"),
          (OtherRow, COMBINE, "an invariant that a loop does not keep"),
          (WrongWithin, EXPONENT, "an invariant that a loop does not keep"),
          (NotWithinAtFirst, EXPONENT, "a value that a loop does not begin with"),
          (WrongFree, GEMM, "a bound that a loop does not keep"),
          (SmallFree, GEMM, "an invariant that a loop does not keep"),
          (OnePart, BLOCK, "not proved to write different parts"),
          (NoneBefore, BLOCK, "not all parts of an output are proved to be written"),
          (OnePart, VECTORS, "not proved to write different parts"),
          (NoneBefore, VECTORS, "what is added to is not proved to be written before"),
          (NoneBefore, GEMM, "what is added to is not proved to be written before"),
          (OnePart, JOINED, "not proved to write different parts"),
          (NoneBefore, JOINED, "what is added to is not proved to be written before"),
          (NotFromZero, PASS, "a value that a loop does not begin with"),
          (InNoRegister, BELOW, "is in no register"), (InWrongRegister, BELOW, "is in no register")]


def check(image, prover, table):
    """What is wrong."""
    functions, wrong = {row[:2]: row[3] for row in table}, []
    for spoilt, kernel, saying in SPOILT:
        if kernel not in functions:
            continue
        what, own = spoilt.__doc__.strip(), run.Run(image, prover)
        own.explorer, own.fixed = spoilt, {"planes": 1}
        try:
            functions[kernel](image, own)
            wrong.append(f"loops of any size: not refused: {what}")
        except Refused as refused:
            if saying not in str(refused):
                wrong.append(f"loops of any size: {what} is refused for another reason: {refused}")
            print(f"  refused, loops of any size: {what} {str(refused)[:60]}")
    return wrong + graphs() + integers() + too_much_work() + grids_test.check()


def graphs():
    """Which instructions are a loop: one in another, one that is entered at two places, one of a single
    instruction, none."""
    cases = (({0: [1], 1: [2], 2: [1, 3], 3: [0, 4], 4: []}, {0: {0, 1, 2, 3}, 1: {1, 2}}, {3, 2}),
             ({0: [1], 1: [2, 3], 2: [3], 3: [2, 4], 4: [1, 5], 5: []}, {1: {1, 2, 3, 4}, 2: {2, 3}}, {4, 3}),
             ({0: [0, 1], 1: []}, {0: {0}}, {0}), ({0: [1, 2], 1: [2], 2: []}, {}, set()))
    found = [shapes.nested(set(edges), edges, {at: at for at in edges}) for edges, *_ in cases]
    return [f"shapes: the loops of {edges} are {[(one.head, one.body) for one in own]}"
            for (edges, loops_, leaving), own in zip(cases, found)
            if {one.head: one.body for one in own} != loops_ or set().union(
                *(one.leaving for one in own)) != leaving]


def integers():
    """Sums and products of 64 bits may wrap, and 32 bits of a register may not be all of it."""
    t.forget()
    sizes = Sizes()
    a, b = sizes.symbol("a", 0, t.mask(64)), sizes.symbol("b", 0, (1 << 63) - 1)
    grown = z3.ULE(a, t.add(a, b, 64))
    low = t.zero_extend(t.extract(a, 0, 32), 32, 64)
    claims = [(grown, False), (z3.ULE(b, t.add(b, b, 64)), True), (low == a, False), (z3.ULE(low, a), True),
              (z3.ULE(b, b), True), (z3.ULE(b, a), False)]  # the last is not the one before with other names
    wrong = [f"sizes: {claim} is {'not ' if is_so else ''}proved" for claim, is_so in claims
             if sizes.holds(sizes.condition(claim), []) != is_so]
    if sizes.product_of(a, b) is not None:
        wrong.append("sizes: a product that may wrap is a number")
    return wrong + parts_of_claims() + normal_forms() + alternations() + multiples()


def parts_of_claims():
    """What a claim, or its opposite, is taken apart into says the same."""
    x, y = z3.Ints("x y")
    bit = z3.If(z3.And(x < 3, z3.Not(y < x)), 1, 0)
    claims = [bit == 1, bit == 0, bit == 5, z3.If(z3.Or(bit == 1, y == 2), 0, 1) == 0,
              z3.If(x < y, 2, 2) == 2]
    return [f"sizes: {claim}, {holds}, is taken for {parts}" for claim in claims for holds in (True, False)
            for parts in [conjuncts(claim, holds)]
            if not is_always(z3.And(parts) == (claim if holds else z3.Not(claim)))
            or is_always(z3.And(parts) == (z3.Not(claim) if holds else claim))]


def normal_forms():
    """Terms that are written in another way are the same, and no others."""
    v, count = z3.BitVecs("v count", 64)
    ones, sum_ = z3.BitVecVal(-1, 64) << count, t.scale(t.add(v, 3, 64), 16, 64)
    high = z3.Concat(z3.Extract(58, 0, v), z3.BitVecVal(0, 5))
    pairs = [(t.invert(ones, 64), ~ones), (t.invert(t.extract(ones, 0, 8), 8), ~z3.Extract(7, 0, ones)),
             (t.bor(high, 20, 64), high | 20), (t.bor(high, 48, 64), high | 48),
             *((t.extract(sum_, low, width), z3.Extract(low + width - 1, low, sum_))
               for low, width in ((2, 62), (4, 60), (5, 59), (5, 8)))]
    return [f"terms: {form} for {plain}" for form, plain in pairs
            if not is_always(form == plain) or is_always(form == plain + 1)]


def alternations():
    """Stretches are one only if their elements alternate, in both arrays."""
    def ends_of(places, count):
        ends = [totals.End(("a",), 0, 64), totals.End(("b",), 0, 4)]
        found = totals.alternating({place: totals.Stretch([end._replace(first=at) for end, at in zip(
            ends, place)], 5, 5, (0, 1)) for place in places}, [64 // count, 4 // count], count)
        return None if found is None else [(*((end.first, end.step) for end in one.ends), one.length)
                                           for one in found]
    pairs = [(0, 0), (1, 1), (32, 2), (33, 3)]
    found = [ends_of(places, count) for places, count in (
        (pairs, 2), (pairs, 4), (pairs[:3], 2), ([*pairs[:3], (33, 2)], 2))]
    right = [((0, 32), (0, 2), 10), ((1, 32), (1, 2), 10)]
    return [] if found == [right, None, None, None] else [f"totals: stretches that alternate: {found}"]


def is_always(claim):
    solver = z3.Solver()
    solver.add(z3.Not(claim))
    return solver.check() == z3.unsat


def too_much_work():
    """What is true is not proved if the solver may not do the work."""
    t.forget()
    sizes = Sizes(contradictions=Contradictions((1, 1)))
    half = sizes.symbol("half", 0, (1 << 63) - 1)
    wrong = [] if not sizes.holds(sizes.condition(z3.ULE(half, t.add(half, half, 64))), []) else [
        "sizes: a claim is proved without work"]
    sizes = Sizes(contradictions=Contradictions((1, WORK[1])), work=1)
    half = sizes.symbol("half", 0, (1 << 63) - 1)
    doubled = sizes.condition(z3.ULE(half, t.add(half, half, 64)))
    sizes.holds(doubled, [])
    try:
        sizes.holds(z3.Not(doubled), [])
        wrong.append("sizes: a proof goes on when its work is spent")
    except Exhausted:
        pass
    x, y = z3.BitVecs("x[0] y[0]", 64)
    found = [run.Prover(work).holds(x * (y + 1) == x * y + x, run.no_facts) for work in (1, run.WORK)]
    return wrong + ([] if found == [None, True] else [f"a statement with and without work: {found}"])


def multiples():
    """Row i of k rows of n elements ends where k rows do or before; no other row does."""
    t.forget()
    sizes = Sizes()
    k, n = (sizes.symbol(name, 0, 1 << 24) for name in "kn")
    whole, i = sizes.total(sizes.product_of(k, n)), sizes.counter("i")
    at, rows, passes = sizes.total(sizes.multiple(i, n)), sizes.total(k), sizes.total(i)
    claims = [(z3.Implies(passes < rows, at + sizes.total(n) <= whole), True), (at <= whole, False),
              (z3.Implies(passes < rows, at + 2 * sizes.total(n) <= whole), False), (at >= 0, True),
              (z3.Implies(rows > 0, sizes.total(n) <= whole), True), (sizes.total(n) <= whole, False),
              (z3.Implies(4 * passes + 4 <= rows, 4 * at + 4 * sizes.total(n) <= whole), True),
              (z3.Implies(4 * passes + 3 <= rows, 4 * at + 4 * sizes.total(n) <= whole), False)]
    behind = t.add(sizes.symbol("behind", 0, 1 << 24), 4, 64)
    begin, j = sizes.total(sizes.product_of(behind, n)), sizes.counter("j")
    row, passes = begin + sizes.total(sizes.multiple(j, n)), sizes.total(behind) + sizes.total(j)
    claims += [(z3.Implies(passes < rows, row + sizes.total(n) <= whole), True),
               (z3.Implies(passes <= rows, row + sizes.total(n) <= whole), False)]
    return [f"sizes: {claim} is {'not ' if is_so else ''}proved" for claim, is_so in claims
            if sizes.holds(claim, []) != is_so]
