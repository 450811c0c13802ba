"""The contracts of kernels between floats and integers, of which each operation is proved (floats.py)."""

import z3

import floats
import terms as t
from carried import Chains
from machine import Refused
from run import WORK
from spec import SPACE, value

# Bits of binary32: infinity, 1, -1, 2^-100; of binary64: 1, 1/2 and 1.5 * 2^52; the upper 32 bits of 2^52 and
# of 2^84, and 2^84 + 2^63 + 2^52.
INFINITY, ONE, MINUS_ONE, SMALLEST = 0x7f800000, 0x3f800000, 0xbf800000, 27 << 23
WIDE_ONE, WIDE_HALF, SHIFT = 1023 << 52, 1022 << 52, 0x4338000000000000
LOW, HIGH, OFFSET = 0x43300000, 0x45300000, 0x4530000080100000


def by_instruction(y):
    """The integer of 64 bits as the nearest binary64."""
    return floats.FROM_INTEGER[64, 64](y)


def by_halves(y):
    """The same: its upper half is a multiple of 2^32 in a binary64, and its lower half is added
    (`lemma_of_halves`)."""
    high = t.bxor(t.shr(y, 32, 64), HIGH << 32 | 1 << 31, 64)
    low = t.concat([(LOW, 32), (t.extract(y, 0, 32), 32)])
    return floats.ADD[64](floats.SUBTRACT[64](high, OFFSET), low)


def lemma_of_halves(offset=OFFSET):
    """What is wrong with this: what `by_halves` adds is 2^32 h - 2^52 and 2^52 + l, exactly, of y = 2^32 h +
    l, so that the sum is y, rounded once; None if it holds. A number is an integer exactly just if that
    integer, rounded down and rounded up, is the number."""
    sort, upper, lower = z3.Float64(), z3.BitVec("h", 32), z3.BitVec("l", 32)
    high = z3.fpBVToFP(z3.Concat(value(HIGH, 32), upper ^ value(1 << 31, 32)), sort)
    difference = z3.fpSub(z3.RNE(), high, z3.fpBVToFP(value(offset, 64), sort))
    low = z3.fpBVToFP(z3.Concat(value(LOW, 32), lower), sort)
    for number, integer in (
            (difference, z3.Concat(z3.SignExt(8, upper), value(0, 32)) - value(1 << 52, 72)),
            (low, z3.ZeroExt(40, lower) + value(1 << 52, 72))):
        solver = z3.Solver()
        solver.set("rlimit", WORK)
        solver.add(z3.Or([number != z3.fpSignedToFP(rounding, integer, sort)
                          for rounding in (z3.RTN(), z3.RTP())]))
        if solver.check() != z3.unsat:
            return f"the lemma of halves: {solver.check()}"
    return None


def dequantise(image, run, backend, converted):
    """ENC-2, of any m: every operation of the clause, from left to right. `converted`: the integer in
    binary64, as the backend may write it."""
    machine, explorer = run.of_any_size()
    m = machine.sizes.symbol("m", 0, 1 << 60)
    y_at = machine.input("y", t.scale(m, 8, 64), 8, [run.family("y", 64)])
    row_at = machine.input("row_scale", t.scale(m, 4, 64), 4, [run.family("row_scale", 32)])
    y, row, column = machine.reader(y_at), machine.reader(row_at), run.fresh("column_scale[0]", 32)

    def check(_, code, read):
        def scaled(integer):
            by_row = floats.MULTIPLY[64](integer, floats.WIDEN(read[1]))
            return floats.NARROW(floats.MULTIPLY[64](by_row, floats.WIDEN(column)))
        forms = [scaled(convert(read[0])) for convert in converted]
        expected = next((form for form in forms if t.term(form, 32).eq(code)), forms[0])
        run.expect(code, expected, 32, "an element of out")
    out = machine.output("out", t.scale(m, 4, 64), 4, lambda _, i: [y(0, i), row(0, i)], check)
    explorer.call(f"{SPACE}{backend}::dequantise", [y_at, row_at, column, m, out])


def squares(machine, x_at, n):
    """S of ENC-1: in 8 lanes, each from 0 on, lane l of every 8th element from the l-th on."""
    def step(before, element):
        wide = floats.WIDEN(element)
        return floats.ADD[64](before, floats.MULTIPLY[64](wide, wide))
    return Chains(machine, x_at, 8, 0, step, lambda lane, k: 8 * k + lane,
                  lambda lane, done: (done + 7 - lane) / 8 if z3.is_expr(done) else (done + 7 - lane) // 8,
                  n)


def total_of(lanes):
    """The ordered sum from its lanes."""
    halves = [floats.ADD[64](lanes[l], lanes[l + 4]) for l in range(4)]
    total = halves[0]
    for half in halves[1:]:
        total = floats.ADD[64](total, half)
    return total


def by_conversion(v):
    """(the 16 bits of the nearest integer, what ENC-1 ensures of it)."""
    return of_integer(floats.ROUND[64](v))


def by_rounding(v):
    """The same of a number that is rounded first."""
    return of_integer(floats.ROUND[64](floats.WHOLE(v)))


def of_integer(q):
    return t.extract(q, 0, 16), [q >= -32768, q <= 32767]


def by_shift(v):
    """The same: 1.5 * 2^52 is added (`lemma`)."""
    return t.extract(floats.ADD[64](v, SHIFT), 0, 16), []


def lemma():
    """What is wrong with this: for |v| <= 2^15 the low 16 bits of v + 1.5 * 2^52 are those of the
    nearest integer, ties to even, and rounding v first does not change it; None if it holds."""
    nearest, sort = z3.RNE(), z3.Float64()
    v, shifted = z3.BitVec("v", 64), z3.BitVec("shifted", 64)
    number = z3.fpBVToFP(v, sort)
    bounded = z3.fpLEQ(z3.fpAbs(number), z3.FPVal(1 << 15, sort))
    added = z3.fpBVToFP(shifted, sort) == z3.fpAdd(nearest, number, z3.fpBVToFP(value(SHIFT, 64), sort))
    integer = z3.fpToSBV(nearest, number, z3.BitVecSort(32))
    for goal in (z3.Implies(added, z3.Extract(15, 0, shifted) == z3.Extract(15, 0, integer)),
                 z3.fpToSBV(nearest, z3.fpRoundToIntegral(nearest, number), z3.BitVecSort(32)) == integer):
        solver = z3.Solver()
        solver.set("rlimit", WORK)
        solver.add(bounded, z3.Not(goal))
        if solver.check() != z3.unsat:
            return f"the lemma of rounding: {solver.check()}"
    return None


def at_least(v, threshold):
    """Whether a signed maximum is: whether one of its operands is."""
    v = t.term(v, 32)
    operands, constant = t.MAXIMA.get(t.ident(v), ({0: v}, None))
    numbers = [*operands.values(), *([] if constant is None else [value(constant, 32)])]
    return z3.Or([number >= z3.ZeroExt(1, threshold) for number in numbers])


def quantise(image, run, backend, rounded):
    """ENC-1, of any n, but for the bound of q, which it proves: |q| <= B_q. The maximum is that of the bits
    without the sign; infinities and NaNs are above every number. `rounded`: the nearest integer, as the
    backend may write it."""
    machine, explorer = run.of_any_size()
    machine.logic_width, machine.follows_data = 32, True
    n = machine.sizes.symbol("n", 0, 1 << 20)
    norm = run.fresh("norm[0]", 32, lambda v: [v >= 790, v <= 32767])
    x_at = machine.input("x", t.scale(n, 4, 64), 4, [run.family("x", 32)])
    x = machine.reader(x_at)
    threshold = run.fresh("threshold[0]", 31, lambda v: [v != 0])
    machine.watch_elements(x_at, lambda v: at_least(t.band(v, 0x7fffffff, 32), threshold),
                           lambda v: at_least(v, threshold))
    sums = squares(machine, x_at, machine.sizes.total(n))

    def reaches(bits):
        """Whether an element does, in magnitude."""
        return z3.substitute(machine.seen, (threshold, value(bits, 31)))

    def is_so(claim):
        return run.holds(z3.Implies(z3.And([z3.BoolVal(True), *machine.data]), claim))

    def length_and_target(code):
        more = floats.ADD[64](floats.SQUARE_ROOT[64](floats.FROM_INTEGER[64, 64](n)), WIDE_ONE)
        return floats.SQUARE_ROOT[64](total_of(sums.concluded(code))), floats.SUBTRACT[64](
            floats.FROM_INTEGER[32, 64](norm), floats.MULTIPLY[64](more, WIDE_HALF))

    def check(_, code, read):
        if not machine.is_told:
            raise Refused("an element of q before all of x is read")
        if is_so(z3.Not(reaches(SMALLEST))):
            run.expect(code, 0, 16, "an element of q")
        elif is_so(z3.And(reaches(SMALLEST), z3.Not(reaches(INFINITY)))):
            length, target = length_and_target(code)
            scaled = floats.MULTIPLY[64](floats.WIDEN(read[0]), floats.DIVIDE[64](target, length))
            forms = [nearest(scaled) for nearest in rounded]
            q, ensured = next((form for form in forms if t.term(form[0], 16).eq(code)), forms[0])
            run.expect(code, q, 16, "an element of q", ensured)
        elif not is_so(reaches(INFINITY)):  # with it, q is not specified
            raise Refused("an element of q that does not depend on the greatest of x")
    q_at = machine.output("q", t.scale(n, 2, 64), 2, lambda _, j: [x(0, j)], check)
    machine.excused = lambda: is_so(reaches(INFINITY))

    def conclude():
        returned = t.from_cells(machine.vectors[0][:4])
        if is_so(z3.And(reaches(SMALLEST), z3.Not(reaches(INFINITY)))):
            length, target = length_and_target(returned)
            run.expect(returned, floats.NARROW(floats.DIVIDE[64](length, target)), 32, "the scale")
        else:
            expected = z3.If(reaches(INFINITY), value(MINUS_ONE, 32), value(ONE, 32))
            run.expect(returned, expected, 32, "the scale", [
                z3.Or(reaches(INFINITY), z3.Not(reaches(SMALLEST))), *machine.data])
            if not is_so(z3.Or(reaches(INFINITY), z3.Not(reaches(SMALLEST)))):
                raise Refused("a scale that does not depend on the greatest of x")
    explorer.call(f"{SPACE}{backend}::quantise", [x_at, n, norm, q_at], conclude)
