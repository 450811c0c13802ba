"""The contracts of kernels between floats and integers, of which each operation is proved (floats.py)."""

import z3

import floats
import terms as t
from spec import SPACE, value

# Bits of binary32: infinity, 1, -1, 2^-100; of binary64: 1, 1/2 and 1.5 * 2^52.
INFINITY, ONE, MINUS_ONE, SMALLEST = 0x7f800000, 0x3f800000, 0xbf800000, 27 << 23
WIDE_ONE, WIDE_HALF, SHIFT = 1023 << 52, 1022 << 52, 0x4338000000000000


def dequantise(image, run, backend):
    """ENC-2, of any m: every operation of the clause, from left to right."""
    machine, explorer = run.of_any_size()
    m = machine.sizes.symbol("m", 0, 1 << 60)
    y_at = machine.input("y", t.scale(m, 8, 64), 8, [run.family("y", 64)])
    row_at = machine.input("row_scale", t.scale(m, 4, 64), 4, [run.family("row_scale", 32)])
    y, row, column = machine.reader(y_at), machine.reader(row_at), run.fresh("column_scale[0]", 32)

    def check(_, code, read):
        by_row = floats.MULTIPLY[64](floats.FROM_INTEGER[64, 64](read[0]), floats.WIDEN(read[1]))
        expected = floats.NARROW(floats.MULTIPLY[64](by_row, floats.WIDEN(column)))
        run.expect(code, expected, 32, "an element of out")
    out = machine.output("out", t.scale(m, 4, 64), 4, lambda _, i: [y(0, i), row(0, i)], check)
    explorer.call(f"{SPACE}{backend}::dequantise", [y_at, row_at, column, m, out])


def ordered_sum(terms):
    """ENC-1: in 8 lanes, each from 0 on."""
    lanes = [0] * 8
    for j, term in enumerate(terms):
        lanes[j % 8] = floats.ADD[64](lanes[j % 8], term)
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
        solver.set("timeout", 120_000)
        solver.add(bounded, z3.Not(goal))
        if solver.check() != z3.unsat:
            return f"the lemma of rounding: {solver.check()}"
    return None


def quantise(image, run, backend, n, rounded):
    """ENC-1, but for the bound of q, which it proves: |q| <= B_q. The maximum is that of the bits without
    the sign; infinities and NaNs are above every number. `rounded`: the nearest integer as the backend
    writes it."""
    x_at, x = run.array("x", n, 32)
    norm = run.fresh("norm[0]", 32, lambda v: [v >= 790, v <= 32767])
    q_at = run.room(2 * n, 2)
    run.machine.logic_width = 32
    memory, largest = dict(run.machine.memory), 0
    for v in x:
        largest = t.maximum(largest, t.band(v, 0x7fffffff, 32), 32)
    wide = [floats.WIDEN(v) for v in x]
    length = floats.SQUARE_ROOT[64](ordered_sum([floats.MULTIPLY[64](v, v) for v in wide]))
    more = floats.ADD[64](floats.SQUARE_ROOT[64](floats.FROM_INTEGER[64, 64](n)), WIDE_ONE)
    target = floats.SUBTRACT[64](floats.FROM_INTEGER[32, 64](norm), floats.MULTIPLY[64](more, WIDE_HALF))
    scale, inverse = floats.NARROW(floats.DIVIDE[64](length, target)), floats.DIVIDE[64](target, length)
    finite, zero = z3.ULT(largest, INFINITY), z3.ULT(largest, SMALLEST)
    expected = [rounded(floats.MULTIPLY[64](v, inverse)) for v in wide]
    for decide, taken in run.paths(None):
        run.machine.memory = dict(memory)
        run.machine.decide, run.machine.decided = decide, lambda condition: condition
        run.machine.call(f"{SPACE}{backend}::quantise", [x_at, n, norm, q_at])
        path = [condition for _, condition in taken]
        returned = t.from_cells(run.machine.vectors[0][:4])
        run.expect(returned, z3.If(finite, z3.If(zero, value(ONE, 32), scale), value(MINUS_ONE, 32)),
                   32, "the scale", path)
        if run.holds(z3.Not(z3.And(finite, *path))):
            continue  # q is not specified
        for j, (q, ensured) in enumerate(expected):
            run.expect(run.output(q_at + 2 * j, 16), z3.If(zero, value(0, 16), q), 16, f"q[{j}]",
                       [*path, finite, z3.Or(zero, z3.And(ensured))])
