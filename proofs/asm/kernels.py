"""The contracts of optimized/kernels/contracts.hpp, a lane at a time, and runs that prove them.

Each function below is a run: it fixes sizes, declares unknown inputs with the contract's ranges,
executes the kernel and states its outputs. Modular reduction is stated by the formula of RING-4,
which `lemmas` proves to be the remainder with a quotient written out."""

import z3

import aes
import floats
import sums
import terms as t
from machine import Refused
from run import Appended, Part, Results

BITS = 31
P = (1 << BITS) - 1
SPACE = "slip::kernels::"
FACTOR_PASS = 128  # columns of A whose products sum in 32 bits: contracts.hpp
# Bits of binary32: 2^-100, 1.5 * 2^23.
INFINITY, ONE, MINUS_ONE, SMALLEST, SHIFT = 0x7f800000, 0x3f800000, 0xbf800000, 27 << 23, 0x4b400000


def value(number, width):
    return z3.BitVecVal(number, width)


# --- the specification ---------------------------------------------------------------------------

def canonical(x, p):
    """x mod p for 0 <= x < 2 p."""
    return z3.If(z3.ULT(x, p), x, x - p)


def folded(x, times):
    """(x AND p) + (x >> 31), repeated: RING-4."""
    for _ in range(times):
        x = (x & P) + z3.LShR(x, BITS)
    return x


def reduced(x):
    """x mod p, for x of 64 bits."""
    return canonical(folded(x, 2), value(P, 64))


def residue(x):
    """The 32 bits of reduced(x)."""
    return z3.Extract(31, 0, reduced(x))


def lift(r):
    p = value(P, r.size())
    return z3.If(z3.UGT(r, (P - 1) // 2), r - p, r)


def lemmas(prover):
    """What the formulas of the specification mean: x = q p + r with r < p, for all x."""
    x = z3.BitVec("x", 64)
    first, second = folded(x, 1), folded(x, 2)
    r = reduced(x)
    p = value(P, 64)
    q = z3.LShR(x, BITS) + z3.LShR(first, BITS) + z3.If(z3.ULT(second, p), value(0, 64), value(1, 64))
    wide = [z3.ZeroExt(BITS + 1, v) for v in (x, q, r)]
    # q p = q 2^31 - q
    goal = z3.And(wide[0] == (wide[1] << BITS) - wide[1] + wide[2], z3.ULT(r, p))
    if not prover.holds(goal, lambda v: []):
        raise Refused("the lemma of reduction modulo 2^31 - 1")
    rounding(prover)


# --- inputs --------------------------------------------------------------------------------------

def residues(run, name, count, parts=None):
    """Canonical residues, each with the numbers that it is multiplied by: its `parts`, 'limbs',
    'bytes' or 'whole'."""
    where, elements = run.array(name, count, 32, lambda v: [z3.ULT(v, P)], parts_of(parts))
    return where, [(v, run.operands[v.get_id()]) for v in elements]


def widened(v):
    return z3.ZeroExt(32, v)


def parts_of(parts):
    if parts == "whole":
        return [Part("whole", widened, (0, P - 1))]
    if parts == "bytes":
        return [Part(f"byte{l}", lambda v, l=l: z3.LShR(widened(v), 8 * l) & 255, (0, 255))
                for l in range(4)]
    if parts == "limbs":
        return [Part(f"limb{l}", lambda v, l=l: limb(v, l), (-bound, min(bound, (1 << 15) - 1)))
                for l, bound in enumerate((1 << 15, 1 << 14))]
    return []


def limb(v, number):
    """lift(r) = limb[0] + 2^16 limb[1], the first centred in 16 bits."""
    left = lift(widened(v))
    for _ in range(number):
        left = (left - z3.SignExt(48, z3.Extract(15, 0, left))) >> 16
    return z3.SignExt(48, z3.Extract(15, 0, left))


def weights(run, name, count):
    where, elements = run.array(name, count, 8, *WEIGHT)
    return where, [run.operands[v.get_id()][0] for v in elements]


# The facts and the part of a weight.
WEIGHT = (lambda v: [v >= -127, v <= 127],
          [Part("value", lambda v: z3.SignExt(56, v), (-127, 127))])


def product(a, b):
    return t.extract(t.product(a.symbol, b.symbol, a.range, b.range), 0, 64)


def sum_of(pairs, width):
    """The sum of products of operands."""
    return sums.Sum(width, (), [sums.product(a.number, b.number) for a, b in pairs])


def rounding(prover):
    """Of ENC-1: |x * (qa_max / max_abs)| <= 2^22, and there by_shift is the nearest integer, ties to
    even."""
    def number(v):
        return z3.fpBVToFP(v, z3.Float32())

    def up_to(v, bound):
        return z3.fpLEQ(z3.fpAbs(v), number(value(bound, 32)))
    nearest, four_million = z3.RNE(), (127 + 22) << 23
    x, largest, qa_max, sum_ = z3.BitVecs("x largest qa_max sum", 32)
    scaled = z3.fpMul(nearest, number(x), z3.fpDiv(nearest, number(qa_max), number(largest)))
    admitted = z3.And(z3.fpLEQ(number(value(SMALLEST, 32)), number(largest)),
                      up_to(number(largest), INFINITY - 1), z3.fpLEQ(z3.fpAbs(number(x)), number(largest)),
                      z3.fpLEQ(z3.FPVal(127, z3.Float32()), number(qa_max)),
                      z3.fpLEQ(number(qa_max), z3.FPVal(32767, z3.Float32())))
    shifted = number(sum_) == z3.fpAdd(nearest, number(x), number(value(SHIFT, 32)))
    goals = {"|x * inverse| <= 2^22": z3.Implies(admitted, up_to(scaled, four_million)),
             "rounding by a sum": z3.Implies(
                 z3.And(up_to(number(x), four_million), shifted),
                 sum_ - SHIFT == z3.fpToSBV(nearest, number(x), z3.BitVecSort(32)))}
    for name, goal in goals.items():
        solver = z3.Solver()
        solver.set("timeout", 120_000)
        solver.add(z3.Not(goal))
        if solver.check() != z3.unsat:
            raise Refused(f"the lemma of {name}")


# --- lanes ---------------------------------------------------------------------------------------

def mask(image, run, backend, n):
    q_at, q = run.array("q", n, 16, lambda v: [v >= -32767])
    r_at, r = residues(run, "mask", n)
    out = run.room(4 * n, 4)
    run.machine.call(f"{SPACE}{backend}::mask_p31", [q_at, r_at, n, out])
    for j in range(n):
        wide = z3.SignExt(16, q[j])
        p = value(P, 32)
        embedded = z3.If(q[j] < 0, wide + p, wide)
        run.expect(run.output(out + 4 * j, 32), canonical(embedded + r[j][0], p), 32, f"masked[{j}]")


def unmask(image, run, backend, n):
    y_at, y = residues(run, "y", n)
    c_at, c = residues(run, "cancellation", n)
    out = run.room(4 * n, 4)
    run.machine.call(f"{SPACE}{backend}::unmask_p31", [y_at, c_at, n, out])
    for i in range(n):
        difference = z3.If(z3.ULT(y[i][0], c[i][0]), y[i][0] - c[i][0] + P, y[i][0] - c[i][0])
        run.expect(run.output(out + 4 * i, 32), lift(difference), 32, f"out[{i}]")


def sample(image, run, backend, n):
    """RAND-2, to another place than the words'."""
    words_at, words = run.array("word", n, 32)
    run.machine.decided = lambda condition: condition
    out = Appended(run, 4 * n, 4)
    run.machine.call(f"{SPACE}{backend}::sample_p31", [words_at, n, out.base])
    out.conclude(run.machine.general["rax"], [w & P for w in words], P, [])


def sample_in_place(image, run, backend, n):
    """Every way to accept and reject n words; the output may be where the words are."""
    words_at, words = run.array("word", n, 32)
    fresh_memory, general = dict(run.machine.memory), dict(run.machine.general)
    run.machine.free.append((words_at, words_at + 4 * n))
    p = value(P, 32)
    v = [w & p for w in words]
    for decide, taken in run.paths(None):
        run.machine.memory, run.machine.general = dict(fresh_memory), dict(general)
        run.machine.decide = decide
        run.machine.call(f"{SPACE}{backend}::sample_p31", [words_at, n, words_at])
        path = [condition for _, condition in taken]
        count, outputs = value(0, 8), [value(0, 32)] * n
        for i in range(n):
            accepted = z3.ULT(v[i], p)
            outputs = [z3.If(z3.And(accepted, count == k), v[i], outputs[k]) for k in range(n)]
            count = z3.If(accepted, count + 1, count)
        returned = run.machine.general["rax"]
        run.expect(returned, z3.ZeroExt(56, count), 64, "count", path)
        if not t.is_int(returned):
            raise Refused("the count is not known on a path")
        for k in range(returned):
            run.expect(run.output(words_at + 4 * k, 32), outputs[k], 32, f"out[{k}]", path)


# --- sums of products ----------------------------------------------------------------------------

def dot(image, run, backend, n):
    """The sum of the products modulo p, as integers (integers.py)."""
    a_at, a = residues(run, "a", n, "whole")
    b_at, b = residues(run, "b", n, "whole")
    run.machine.call(f"{SPACE}{backend}::dot_p31", [a_at, b_at, n])
    expected = {}
    for (_, (x,)), (_, (y,)) in zip(a, b):
        atom = t.product(x.symbol, y.symbol, x.range, y.range)
        expected[tuple(str(o) for o in t.PRODUCTS[atom.get_id()])] = 1
    run.expect_residue(t.extract(run.machine.general["rax"], 0, 32), expected, BITS, "the product")


def panel(image, run, backend, function, rows, columns, vectors, unsigned, steps):
    """sums[l][r] = sum_j w[r][j] part_l[j] in 32 bits: w [steps][rows][columns], parts
    [steps][vectors][columns]."""
    run.sum_products()
    w_at, w = weights(run, "w", steps * rows * columns)
    parts_at, named = panel_parts(run, steps * vectors * columns, unsigned)
    out = run.room(4 * vectors * rows, 4)
    ahead = (w_at, 0) if backend == "avx512" else ()  # of prefetches
    run.machine.call(f"{SPACE}{backend}::{function}", [w_at, parts_at, steps, out, *ahead])
    for l in range(vectors):
        for r in range(rows):
            expected = sum_of([(w[(step * rows + r) * columns + d],
                                named[(step * vectors + l) * columns + d])
                               for step in range(steps) for d in range(columns)], 32)
            run.expect(run.output(out + 4 * (l * rows + r), 32), expected, 32, f"sums[{l}][{r}]")


def panel_parts(run, count, unsigned):
    """What a panel's weights meet: bytes without or 16-bit numbers with a sign."""
    if unsigned:
        part = Part("value", lambda v: z3.ZeroExt(56, v), (0, 255))
    else:
        part = Part("value", lambda v: z3.SignExt(48, v), (-(1 << 15), (1 << 15) - 1))
    where, elements = run.array("part", count, 8 if unsigned else 16, parts=[part])
    return where, [run.operands[v.get_id()][0] for v in elements]


def sum_of_parts(parts, terms):
    """The sum of products, over Z, from those of the parts of the residues, and a bound of its
    magnitude. terms: [(weight, parts of the residue)]."""
    shift, total, bound = 8 if parts == "bytes" else 16, 0, 0
    for l in range(len(terms[0][1])):
        single = sum_of([(w, of_residue[l]) for w, of_residue in terms], 64)
        total = t.add(total, t.scale(single, 1 << shift * l, 64), 64)
        # |single| is at most 2^31 for bytes; for limbs what fewer than 2^24 products allow.
        bound += ((1 << 31) if parts == "bytes" else 127 * (1 << 24) * (1 << 15)) << shift * l
    return total, min(bound, 1 << 61)


OFFSET = P << 31  # a multiple of p that makes every sum non-negative


def expect_blocks(run, parts, stored, blocks, what):
    """Proves an output that is the sum of products modulo p, [(weight, parts of a residue)] in each
    of `blocks`, and that is stored once per block: the block's sum plus what the last one left.

    `stored`: [(what the code stores, what it read)]. By `lemmas` each number stored is the remainder
    of the block's sum and the number before it, so the last one is that of the whole sum."""
    for (code, before), terms in zip(stored, blocks):
        total, bound = sum_of_parts(parts, terms)
        any_sum = run.fresh("sum_of_parts[0]", 64, lambda v, bound=bound: [v >= -bound, v <= bound])
        before = t.term(t.zero_extend(before, 32, 64), 64)
        run.expect(run.cut(code, total, any_sum), residue(any_sum + OFFSET + before), 32, what)


def gemm(image, run, backend, parts, packed, m, n, b, columns=None, layout=None):
    """`columns`: so many of W make a block, after which the outputs are stored; all by default.
    `layout`: rows and columns of a packed panel's step, to start from what `pack` leaves
    (pack_layout) instead of running it."""
    run.sum_products()
    columns = columns or n
    w_at, elements = run.array("w", m * n, 8, *WEIGHT)
    w = [run.operands[v.get_id()][0] for v in elements]
    x_at, x = residues(run, "x", n * b, parts)
    y = Results(run, m * b, 32, P)
    if layout:
        w_at = lay_out(run, packed_cells(elements, m, n, *layout))
    elif packed:
        w_at = pack(run, backend, w_at, m, n)
    run.machine.call(f"{SPACE}{backend}::gemm_p31", [w_at, m, n, x_at, b, y.base])
    for c in range(b):
        for i in range(m):
            blocks = [[(w[i * n + j], x[c * n + j][1]) for j in range(n)[at:at + columns]]
                      for at in range(0, n, columns)]
            expect_blocks(run, parts, y.stored(c * m + i, len(blocks)), blocks, f"y[{c}][{i}]")


def check_vector(image, run, backend, parts, packed, m, n, rows=None, layout=None):
    """`rows`: so many of W make a pass, after which the outputs are stored; all by default. `layout`
    as in gemm."""
    run.sum_products()
    w_at, elements = run.array("w", m * n, 8, *WEIGHT)
    w = [run.operands[v.get_id()][0] for v in elements]
    rho_at, rho = residues(run, "rho", m, parts)
    s = Results(run, n, 32, P)
    if layout:
        w_at = lay_out(run, packed_cells(elements, m, n, *layout))
    elif packed:
        w_at = pack(run, backend, w_at, m, n)
    run.machine.call(f"{SPACE}{backend}::check_vector_p31", [w_at, m, n, rho_at, s.base])
    for j in range(n):
        blocks = [[(w[i * n + j], rho[i][1]) for i in range(m)[top:top + (rows or m)]]
                  for top in range(0, m, rows or m)]
        expect_blocks(run, parts, s.stored(j, len(blocks)), blocks, f"s[{j}]")


def pack(run, backend, w_at, m, n):
    """W as the backend's own pack leaves it."""
    run.machine.call(f"{SPACE}{backend}::packed_bytes", [m, n])
    run.packed_bytes = run.machine.general["rax"]
    packed = run.room(run.packed_bytes, 64)
    run.machine.call(f"{SPACE}{backend}::pack", [w_at, m, n, packed])
    return packed


def packed_cells(w, m, n, rows, columns):
    """W packed, [panels][steps][rows][columns] bytes, padded with zeros."""
    for panel_ in range(-(-m // rows)):
        for step in range(-(-n // columns)):
            for i in range(panel_ * rows, (panel_ + 1) * rows):
                for j in range(step * columns, (step + 1) * columns):
                    yield w[i * n + j] if i < m and j < n else 0


def lay_out(run, cells):
    """Memory with bytes that packed_cells gives, as `pack` leaves it (pack_layout)."""
    cells = list(cells)
    where = run.place(len(cells), 64)
    run.machine.memory.update((where + at, v if t.is_int(v) else (v, 0))
                              for at, v in enumerate(cells))
    return where


def pack_layout(image, run, backend, rows, columns, m, n):
    """rows = 0: W as it is."""
    w_at, w = run.array("w", m * n, 8)
    packed = pack(run, backend, w_at, m, n)
    cells = list(packed_cells(w, m, n, rows, columns) if rows else w)
    run.expect(run.packed_bytes, len(cells), 64, "packed_bytes")
    for at, cell in enumerate(cells):
        run.expect(run.output(packed + at, 8), cell, 8, f"packed byte {at}")


def factor(largest):
    """The facts and the part of a number of 16 bits."""
    return (lambda v: [v >= -largest, v <= largest],
            [Part("value", lambda v: z3.SignExt(48, v), (-largest, largest))])


def low_rank_inner(image, run, backend, k, n):
    """The layout that pack_right leaves is the kernel's own, so both are run."""
    run.sum_products()
    b_at, b = run.array("b", k * n, 16, *factor(2047))
    layout = "portable" if backend == "avx2" else backend
    run.machine.call(f"{SPACE}{layout}::right_bytes", [k, n])
    right = run.room(run.machine.general["rax"], 64)
    run.machine.call(f"{SPACE}{layout}::pack_right", [b_at, k, n, right])
    q_at, q = run.array("q", n, 16, *factor(32767))
    b, q = ([run.operands[v.get_id()][0] for v in elements] for elements in (b, q))
    z_at = run.room(8 * k, 8)
    run.machine.call(f"{SPACE}{backend}::low_rank_inner", [right, k, n, q_at, z_at])
    for c in range(k):
        expected = sum_of([(b[c * n + j], q[j]) for j in range(n)], 64)
        run.expect(run.output(z_at + 8 * c, 64), expected, 64, f"z[{c}]")


def factor_rows(run, m, k, exponents):
    """A with rows valid by PARAM-2, and what products may be of: row i is 2^e times 12-bit numbers,
    e = exponents[i mod their count]. If e > 0, the entry that makes e the least exponent, at least
    1024 of 2047 in magnitude, is that of column i mod k."""
    where, entries = run.room(4 * m * k, 4), []
    for i in range(m):
        exponent = exponents[i % len(exponents)]
        for c in range(k):
            greatest = exponent > 0 and c == i % k
            v = run.fresh(f"a[{i * k + c}]", 12, lambda v, greatest=greatest: [
                v >= -2047, *([z3.Or(v <= -1024, v >= 1024)] if greatest else [])])
            entry = t.concat([(t.sign_extend(v, 12, 32 - exponent), 32 - exponent), (0, exponent)])
            run.machine.store(where + 4 * (i * k + c), t.to_cells(entry, 32))
            wide, words = z3.SignExt(52, v), (1 << 32) - 1
            entries.append((run.operand(v, "value", wide, -2047, 2047),
                            run.operand(v, "word0", wide & words, 0, words),
                            run.operand(v, "word1", z3.LShR(wide, 32), 0, words)))
    return where, entries


def low_rank_outer(image, run, backend, limbs, m, k, exponents):
    """|z| <= 2^40 or 2^53: a z is the sum of a times 3 or 4 limbs of z with 14 bits each, which are
    proved to make up z; a pass of columns has a sum for each limb. The portable kernel has one
    product, or, where 64-bit lanes have 32-bit multipliers, a_0 z_0 + 2^32 (a_1 z_0 + a_0 z_1) of
    unsigned words: the same modulo 2^64. The layout that pack_left leaves is the kernel's own, so both
    are run; the exponents that it finds are proved to be those of the rows."""
    bound, step, words = 1 << (40 if limbs == 3 else 53), 14, (1 << 32) - 1
    if backend != "portable":
        run.sum_products()
    a_at, a = factor_rows(run, m, k, exponents)
    z_at, z = run.array("z", k, 64, lambda v: [v >= -bound, v <= bound])
    y_at, y = run.array("y", m, 32)
    run.machine.only = run.only
    run.machine.call(f"{SPACE}{backend}::left_bytes", [m, k])
    left = run.room(run.machine.general["rax"], 64)
    run.machine.call(f"{SPACE}{backend}::pack_left", [a_at, m, k, left])
    parts = []
    for v in z:
        own, rest, sum_ = [], v, value(0, 64)
        for i in range(limbs - 1):
            limb = z3.SignExt(64 - step, z3.Extract(step - 1, 0, rest))
            own.append(run.operand(v, f"limb{i}", limb, -(1 << step - 1), (1 << step - 1) - 1))
            sum_ += limb << (step * i)
            rest = (rest - limb) >> step
        top = (bound >> step * (limbs - 1)) + 1
        own.append(run.operand(v, f"limb{limbs - 1}", rest, -top, top))
        run.expect(sum_ + (rest << (step * (limbs - 1))), v, 64, "the limbs make up z")
        if backend == "portable":
            own = [run.operand(v, "value", v, -bound, bound), run.operand(
                v, "word0", v & words, 0, words), run.operand(v, "word1", z3.LShR(v, 32), 0, words)]
        parts.append(own)
    out = run.room(8 * m, 8)
    run.machine.call(f"{SPACE}{backend}::low_rank_outer_p31", [left, m, k, limbs, z_at, y_at, out])
    for i in range(m):
        code, exponent = run.output(out + 8 * i, 64), exponents[i % len(exponents)]
        terms = [(t.shl(t.sign_extend(y[i], 32, 64), 16, 64), 1)]
        for c in range(0, k, FACTOR_PASS) if backend != "portable" else ():
            terms += [(sum_of([(a[i * k + d][0], parts[d][l]) for d in range(k)[c:c + FACTOR_PASS]],
                              64), 1 << step * l + exponent) for l in range(limbs)]
        for c in range(k) if backend == "portable" else ():
            entry, own = a[i * k + c], parts[c]
            if t.adds(code, product(entry[0], own[0])):
                products = [(product(entry[0], own[0]), 0)]
            else:
                products = [(product(entry[1], own[1]), 0), (product(entry[2], own[1]), 32),
                            (product(entry[1], own[2]), 32)]
            terms += [(p, 1 << place + exponent) for p, place in products]
        run.expect(code, t.total(terms, 64), 64, f"y[{i}]")


# --- floats --------------------------------------------------------------------------------------

def dequantise(image, run, backend, m):
    """ENC-2: every operation of the clause, from left to right."""
    y_at, y = run.array("y", m, 64)
    row_at, row = run.array("row_scale", m, 32)
    token = run.fresh("token_scale[0]", 32)
    out = run.room(4 * m, 4)
    run.machine.call(f"{SPACE}{backend}::dequantise", [y_at, row_at, token, m, out])
    for i in range(m):
        by_row = floats.MULTIPLY[64](floats.FROM_INTEGER[64, 64](y[i]), floats.WIDEN(row[i]))
        expected = floats.NARROW(floats.MULTIPLY[64](by_row, floats.WIDEN(token)))
        run.expect(run.output(out + 4 * i, 32), expected, 32, f"out[{i}]")


def by_conversion(v):
    return floats.ROUND(v)


def by_shift(v):
    """The same for |v| <= 2^22: `lemmas`."""
    return t.sub(floats.ADD[32](v, SHIFT), SHIFT, 32)


def quantise(image, run, backend, n, rounded):
    """ENC-1. The maximum is that of the bits without the sign; infinities and NaNs are above every
    number. `rounded`: the nearest integer as the backend writes it."""
    x_at, x = run.array("x", n, 32)
    qa_max = run.fresh("qa_max[0]", 32, lambda v: [v >= 127, v <= 32767])
    q_at = run.room(2 * n, 2)
    run.machine.logic_width = 32
    memory, largest = dict(run.machine.memory), 0
    for v in x:
        largest = t.maximum(largest, t.band(v, 0x7fffffff, 32), 32)
    as_float = floats.FROM_INTEGER[32, 32](qa_max)
    scale, inverse = floats.DIVIDE[32](largest, as_float), floats.DIVIDE[32](as_float, largest)
    finite, zero = z3.ULT(largest, INFINITY), z3.ULT(largest, SMALLEST)
    expected = []
    for v in x:
        q = t.term(rounded(floats.MULTIPLY[32](v, inverse)), 32)
        q = z3.If(q < -qa_max, -qa_max, z3.If(qa_max < q, qa_max, q))
        expected.append(z3.If(zero, value(0, 16), z3.Extract(15, 0, q)))
    for decide, taken in run.paths(None):
        run.machine.memory = dict(memory)
        run.machine.decide, run.machine.decided = decide, lambda condition: condition
        run.machine.call(f"{SPACE}{backend}::quantise", [x_at, n, qa_max, q_at])
        path = [condition for _, condition in taken]
        returned = t.from_cells(run.machine.vectors[0][:4])
        run.expect(returned, z3.If(finite, z3.If(zero, value(ONE, 32), scale), value(MINUS_ONE, 32)),
                   32, "the scale", path)
        if run.holds(z3.Not(z3.And(finite, *path))):
            continue  # q is not specified
        for j in range(n):
            run.expect(run.output(q_at + 2 * j, 16), expected[j], 16, f"q[{j}]", [*path, finite])


# --- AES -----------------------------------------------------------------------------------------

def aes256_schedule(image, run, backend):
    """FIPS 197, 5.2."""
    run.machine.logic_width = 8
    key_at, key = run.array("key", 32, 8)
    out = run.room(240, 1)
    run.machine.call(f"{SPACE}{backend}::aes256_schedule", [key_at, out])
    for i, word in enumerate(aes.schedule(key)):
        for k, byte in enumerate(word):
            run.expect(run.output(out + 4 * i + k, 8), byte, 8, f"w[{i}] byte {k}")


def expand(image, run, backend, blocks):
    """RAND-1 and RAND-2: the accepted words of AES-256 of the counter blocks."""
    run.machine.logic_width = 8
    keys_at, keys = run.array("round_key", 15, 128, alignment=1)
    tag, first = (run.fresh(f"{name}[0]", 64) for name in ("tag", "first_block"))
    index = run.fresh("index[0]", 64)
    words = []
    for b in range(blocks):
        counter = t.add(t.extract(first, 0, 32), b, 32)
        fields = ((t.extract(tag, 0, 32), 32), (index, 64), (counter, 32))
        block = t.from_bytes([v for field in fields for v in t.bytes_of(*field)[::-1]])
        stream = aes.encrypt(block, keys)
        words += [t.term(t.band(t.extract(stream, low, 32), P, 32), 32) for low in range(0, 128, 32)]
    memory, general = dict(run.machine.memory), dict(run.machine.general)
    for decide, taken in run.paths(None):
        run.machine.memory, run.machine.general = dict(memory), dict(general)
        run.machine.decide, run.machine.decided = decide, lambda condition: condition
        out = Appended(run, 16 * blocks, 4)
        run.machine.call(f"{SPACE}{backend}::expand_p31",
                         [keys_at, tag, index, first, blocks, out.base])
        out.conclude(run.machine.general["rax"], words, P,
                     [condition for _, condition in taken])
