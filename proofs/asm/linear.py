"""The contracts of kernels that sum products: of weights, combinations and factors.

Each function is a run: it fixes sizes, declares unknown inputs with the contract's ranges, executes
the kernel and states its outputs. A sum modulo a prime is stated as the remainder of the sum of
products, whatever that is in the range that its products give it (Run.expect_remainder)."""

import os

import z3

import sums
import terms as t
from layouts import EXTENT
from machine import Refused
from run import Part, Results
from sizes import divided
from spec import KAPPA, PRIMES, SPACE, below, value
from totals import Totals


def sum_of(pairs, width):
    """The sum of products of operands."""
    return sums.Sum(width, (), [sums.product(a.number, b.number) for a, b in pairs])


# --- what is multiplied --------------------------------------------------------------------------

# The facts and the part of a weight.
WEIGHT = (lambda v: [v >= -127, v <= 127],
          [Part("value", lambda v: z3.SignExt(56, v), (-127, 127))])


def whole(p):
    """A residue as it is."""
    return Part("whole", lambda v: z3.ZeroExt(56, v), (0, p - 1))


def lift(r, p):
    return z3.If(z3.UGT(r, (p - 1) // 2), r - p, r)


def centred(p, name="centred"):
    """The lift of a residue (RING-3)."""
    return Part(name, lambda v: lift(z3.ZeroExt(56, v), p), (-(p // 2), p // 2))


def joined(first, second):
    """Of residues of two planes, the byte of the second above that of the first: the number of least
    magnitude that is congruent to them modulo their primes."""
    product = first * second
    of_first, of_second = second * pow(second, -1, first), first * pow(first, -1, second)

    def number(v):
        wide = [z3.ZeroExt(24, z3.Extract(low + 7, low, v)) for low in (0, 8)]
        r = z3.URem(wide[0] * of_first + wide[1] * of_second, value(product, 32))
        return z3.SignExt(32, lift(r, product))
    return Part("joined", number, (-(product // 2), product // 2))


def operands(run, elements):
    return [run.operands[v.get_id()][0] for v in elements]


def columns_of_pairs(run, n, primes, count):
    """`count` columns of n residues modulo these primes, whose planes are multiplied in pairs, a last one
    without a second as it is: (address, [column][plane][entry] operands). A pair is one unknown, the number
    that `joined` makes of it, which is congruent to either residue."""
    planes = len(primes)
    where = run.place(count * planes * n, 1)
    found = [[] for _ in range(count)]
    for p in range(0, planes, 2):
        pair = primes[p:p + 2]
        facts = (lambda v, pair=pair: [z3.ULT(z3.Extract(8 * k + 7, 8 * k, v), prime)
                                       for k, prime in enumerate(pair)])
        part = joined(*pair) if len(pair) == 2 else whole(*pair)
        elements = run.elements(f"x_{p}", count * n, 8 * len(pair), facts, [part])
        for number, v in enumerate(elements):
            c, j = divmod(number, n)
            for k in range(len(pair)):
                run.machine.memory[where + (c * planes + p + k) * n + j] = v, k
        for c in range(count):
            found[c] += [operands(run, elements[c * n:(c + 1) * n])] * len(pair)
    return where, found


def columns_of_bytes(run, name, n, primes, count, part=whole):
    """The same of planes that are multiplied one by one."""
    planes = len(primes)
    where = run.place(count * planes * n, 1)
    found = [[] for _ in range(count)]
    for p, prime in enumerate(primes):
        elements = run.elements(f"{name}_{p}", count * n, 8, below(prime), [part(prime)])
        for c in range(count):
            found[c].append(operands(run, elements[c * n:(c + 1) * n]))
            for j, v in enumerate(elements[c * n:(c + 1) * n]):
                run.machine.memory[where + (c * planes + p) * n + j] = v, 0
    return where, found


# --- products with packed weights ----------------------------------------------------------------

STEPS = (1 << 24) // 2  # of a product: n < 2^24


def panel_of_pairs(image, run, backend, vectors):
    """AVX2: sums[v][r] = sum_j w[r][j] vector_v[j] in 32 bits; w [steps][16][2], of any number of steps."""
    machine, explorer = run.of_any_size()
    run.sum_products()
    sums_of, (steps, stride) = Totals(machine), (
        machine.sizes.symbol(name, 0, STEPS << more) for more, name in enumerate(("steps", "stride")))
    machine.sizes.assume([machine.sizes.total(stride)],
                         2 * machine.sizes.total(steps) <= machine.sizes.total(stride))
    part = Part("value", lambda v: z3.SignExt(48, v), (-(1 << 15), (1 << 15) - 1))
    w_at = machine.input("w", t.scale(steps, 32, 64), 1, [run.family("w", 8, *WEIGHT)])
    length = t.add(t.scale(stride, vectors - 1, 64), t.scale(steps, 2, 64), 64)
    x_at = machine.input("x", t.scale(length, 2, 64), 2, [run.family("x", 16, parts=[part])], alignment=2)
    out = run.room(4 * vectors * 16, 4)

    def conclude():
        w, x = sums_of.of(w_at, "value"), sums_of.of(x_at, "value")
        for v in range(vectors):
            for r in range(16):
                products = [(sums_of.stretch(((w, 2 * r + d, 32), (
                    x, t.add(t.scale(stride, v, 64), d, 64), 2)), steps, STEPS), 1) for d in range(2)]
                code = run.output(out + 4 * (16 * v + r), 32)
                sums_of.expect(code, 32, (products, {}), f"sums[{v}][{r}]")
    explorer.call(f"{SPACE}{backend}::multiply_panel_by_{vectors}", [w_at, x_at, stride, steps, out],
                  conclude)


def panel_of_bytes(image, run, backend, planes):
    """AVX-512: sums[l][r] += sum_j w[r][j] x_l[j] in 32 bits; w [steps][64][4], of any number of steps. What
    the sums were is unknown."""
    machine, explorer = run.of_any_size()
    run.sum_products()
    sums_of, steps = Totals(machine), machine.sizes.symbol("steps", 0, STEPS // 2)
    w_at = machine.input("w", t.scale(steps, 256, 64), 1, [run.family("w", 8, *WEIGHT)])
    part = Part("value", lambda v: z3.ZeroExt(56, v), (0, 255))
    x = [machine.input(f"x{l}", t.scale(steps, 4, 64), 1, [run.family(f"x{l}", 8, parts=[part])])
         for l in range(planes)]
    x_at, out = run.room(8 * planes, 8), run.room(256 * planes, 4)
    machine.store(x_at, [cell for where in x for cell in t.to_cells(where, 64)])
    before = [sums_of.unknown(32) for _ in range(64 * planes)]
    machine.store(out, [cell for number in before for cell in sums.Sum(32, (), [number]).cells])

    def conclude():
        w = sums_of.of(w_at, "value")
        for l in range(planes):
            own = sums_of.of(x[l], "value")
            for r in range(64):
                products = [(sums_of.stretch(((w, 4 * r + d, 256), (own, d, 4)), steps, STEPS // 2), 1)
                            for d in range(4)]
                code = run.output(out + 4 * (64 * l + r), 32)
                sums_of.expect(code, 32, (products, {before[64 * l + r]: 1}), f"sums[{l}][{r}]")
    ahead = run.fresh("ahead[0]", 64), run.fresh("ahead_step[0]", 64)
    explorer.call(f"{SPACE}{backend}::multiply_panel_by_{planes}", [w_at, x_at, steps, out, *ahead],
                  conclude)


def panel_of_four_planes(image, run, backend):
    """NEON: sums[l][r] = sum_j w[r][j] x_l[j] in 32 bits; w [steps][8][4], x [steps][4 planes][4], signed
    bytes, of any number of steps."""
    machine, explorer = run.of_any_size()
    run.sum_products()
    sums_of, steps = Totals(machine), machine.sizes.symbol("steps", 0, STEPS // 2)
    part = Part("value", lambda v: z3.SignExt(56, v), (-128, 127))
    w_at = machine.input("w", t.scale(steps, 32, 64), 1, [run.family("w", 8, *WEIGHT)])
    x_at = machine.input("x", t.scale(steps, 16, 64), 1, [run.family("x", 8, parts=[part])])
    out = run.room(4 * 4 * 8, 4)

    def conclude():
        w, x = sums_of.of(w_at, "value"), sums_of.of(x_at, "value")
        for l in range(4):
            for r in range(8):
                products = [(sums_of.stretch(((w, 4 * r + d, 32), (x, 4 * l + d, 16)), steps, STEPS // 2), 1)
                            for d in range(4)]
                code = run.output(out + 4 * (8 * l + r), 32)
                sums_of.expect(code, 32, (products, {}), f"sums[{l}][{r}]")
    explorer.call(f"{SPACE}{backend}::multiply_panel", [w_at, x_at, steps, out], conclude)


def gemm(image, run, backend, m, n, b, planes, plane=None):
    """`plane`: of gemm_plane, which multiplies one plane modulo its prime; `planes` is 1 then. All columns of
    W are one block, after which the outputs are stored."""
    run.sum_products()
    primes = PRIMES[:planes] if plane is None else [PRIMES[plane]]
    w_at, elements = run.array("w", m * n, 8, *WEIGHT)
    w = operands(run, elements)
    if backend in ("avx512", "neon"):
        x_at, x = columns_of_bytes(run, "x", n, primes, b, whole if backend == "avx512" else centred)
    else:
        x_at, x = columns_of_pairs(run, n, primes, b)
    y = Results(run, b * planes * m, 8, lambda number: primes[number // m % planes])
    w_at = pack(run, backend, w_at, m, n)
    function, last = ("gemm", planes) if plane is None else ("gemm_plane", plane)
    run.machine.call(f"{SPACE}{backend}::{function}", [w_at, m, n, x_at, b, last, y.base])
    for c in range(b):
        for p in range(planes):
            for i in range(m):
                total = sum_of([(w[i * n + j], x[c][p][j]) for j in range(n)], 64)
                (code, before), = y.stored((c * planes + p) * m + i, 1)
                run.expect_remainder(code, total, before, primes[p], f"y[{c}][{p}][{i}]")


def pack(run, backend, w_at, m, n):
    """W as the backend's own pack leaves it."""
    run.machine.call(f"{SPACE}{backend}::packed_bytes", [m, n])
    packed = run.room(run.machine.returned(), 64)
    run.machine.call(f"{SPACE}{backend}::pack", [w_at, m, n, packed])
    return packed


# --- the check -----------------------------------------------------------------------------------

def combine(image, run, backend, most, n, b, planes):
    """INTEG-3 with the layout that pack_combinations leaves of `most` entries, of which n count."""
    run.sum_products()
    w_at, w = columns_of_bytes(run, "w", most, PRIMES[:planes], KAPPA, centred)
    v_at, v = columns_of_bytes(run, "v", n, PRIMES[:planes], b, centred if backend == "neon" else whole)
    run.machine.call(f"{SPACE}portable::combinations_bytes", [most, planes])
    packed = run.room(run.machine.returned(), 64)
    run.machine.call(f"{SPACE}portable::pack_combinations", [w_at, most, planes, packed])
    out = run.room(b * planes * KAPPA, 1)
    run.machine.call(f"{SPACE}{backend}::combine", [packed, n, planes, v_at, b, out])
    for c in range(b):
        for p in range(planes):
            for a in range(KAPPA):
                total = sum_of(list(zip(w[a][p][:n], v[c][p])), 64)
                code = run.output(out + (c * planes + p) * KAPPA + a, 8)
                run.expect_remainder(code, total, 0, PRIMES[p], f"out[{c}][{p}][{a}]")


BLOCK = 64  # entries of a combination side by side: combination_blocks.hpp


def combine_of_blocks(image, run, backend):
    """INTEG-3 of any number of entries, and any number of columns; packed is the layout that
    pack_combinations is proved to leave. Each number of planes is executed separately: everyday, for time,
    2 alone of AVX-512 and 1 of the others."""
    if "n" in run.fixed:
        n, b, planes = (run.fixed[name] for name in ("n", "b", "planes"))
        return combine(image, run, backend, n + 2, n, b, planes)
    everyday = run.fixed.get("planes", 2 if backend == "avx512" else 1)
    for planes in range(1, 8) if os.environ.get("SLIP_FULL") else (everyday,):
        combine_planes(run, backend, planes)
    return None


def combine_planes(run, backend, planes):
    """The same of so many planes and n = 64 blocks + rest entries. The combinations stand as [blocks][planes]
    [kappa][64], and an output is the sum of 64 sums of every 64th entry, and of what the rest adds."""
    machine, explorer = run.of_any_size()
    run.sum_products()
    sums_of, sizes, out_size = Totals(machine), machine.sizes, planes * KAPPA
    sums_of.are_deep = True
    blocks, rest, last, b = (sizes.symbol(name, 0, most) for name, most in (
        ("blocks", EXTENT // BLOCK), ("rest", BLOCK - 1), ("last", 1), ("b", EXTENT)))
    is_last = sizes.total(last)  # of a block that the rest takes
    sizes.assume([is_last], z3.If(sizes.total(rest) > 0, is_last == 1, is_last == 0))
    n = t.add(t.scale(blocks, BLOCK, 64), rest, 64)
    length = t.add(t.scale(sizes.product_of(b, blocks), BLOCK, 64), sizes.product_of(b, rest), 64)
    entry = Part("value", lambda v: z3.SignExt(56, v), (-125, 125))
    w_at = machine.input("w", t.scale(t.add(blocks, last, 64), out_size * BLOCK, 64), 1, [run.family(
        "w", 8, lambda v: [v >= -125, v <= 125], [entry])], alignment=64)
    factors = [centred(p, f"modulo {p}") for p in PRIMES[:planes]] if backend == "neon" else [whole(251)]
    v_at = machine.input("v", t.scale(length, planes, 64), 1, [run.family(
        "v", 8, lambda v: [z3.ULE(v, 250)], factors)])

    def check(_, code, index):
        number = t.linear(index, 64)[1]
        column, (p, a) = divided(t.sub(index, number, 64), out_size), divmod(number, KAPPA)
        if column is None or p >= planes:
            raise Refused("an output of which column and plane are not known")
        what = f"out[c][{p}][{a}]"
        first = t.add(t.scale(sizes.multiple(column, n), planes, 64), t.scale(n, p, 64), 64)
        total = sums_of.named(code, products(number * BLOCK, first, factors[p % len(factors)].name), what)
        if t.is_int(code):  # of no entries
            run.expect(code, 0, 8, what)
        else:
            run.expect_remainder(code, total, 0, PRIMES[p], what)

    def products(row, first, name):
        """Of a combination whose first entry, and a column whose first residue, have these indexes."""
        w, v, step = sums_of.of(w_at, "value"), sums_of.of(v_at, name), out_size * BLOCK
        found = [sums_of.stretch(((w, row + i, step), (v, t.add(first, i, 64), BLOCK)), blocks, EXTENT)
                 for i in range(BLOCK)]
        if not machine.proved(sizes.total(rest) == 0):
            row, first = (t.add(at, t.scale(blocks, by, 64), 64) for at, by in ((row, step), (first, BLOCK)))
            for i in range(BLOCK - 1):  # residue i if the rest has it, and else 0
                own = sums_of.of(v_at, name, machine.guard_bit(rest, i))
                found.append(sums_of.stretch((
                    (w, t.add(row, i, 64), 0), (own, t.add(first, i, 64), 0)), 1, 1))
        return [(one, 1) for one in found]
    out = machine.output("out", t.scale(b, out_size, 64), 1, None, check)
    explorer.call(f"{SPACE}{backend}::combine", [w_at, n, planes, v_at, b, out])


# --- the low rank part ---------------------------------------------------------------------------

def factor(largest):
    """The facts and the part of a number of 16 bits."""
    return (lambda v: [v >= -largest, v <= largest],
            [Part("value", lambda v: z3.SignExt(48, v), (-largest, largest))])


def inner_of_rows(image, run, backend):
    """z = B q of any size, with B row by row, as the portable pack_right leaves it."""
    machine, explorer = run.of_any_size()
    run.sum_products()
    sums_of, sizes = Totals(machine), machine.sizes
    k, n = (sizes.symbol(name, 0, EXTENT) for name in "kn")
    whole = sizes.product_of(k, n)
    right = machine.input("right", t.scale(whole, 2, 64), 2, [run.family("b", 16, *factor(2047))],
                          alignment=64)
    q_at = machine.input("q", t.scale(n, 2, 64), 2, [run.family("q", 16, *factor(32767))])
    b, q = sums_of.of(right, "value"), sums_of.of(q_at, "value")

    def check(_, code, c):
        row = sums_of.stretch(((b, sizes.multiple(c, n), 1), (q, 0, 1)), n, EXTENT)
        sums_of.expect(code, 64, ([(row, 1)], {}), "an element of z")
    z_at = machine.output("z", t.scale(k, 8, 64), 8, None, check)
    explorer.call(f"{SPACE}{backend}::low_rank_inner", [right, k, n, q_at, z_at])


def packed_right(run, backend, k, n):
    """(the layout that the backend's pack_right leaves, its size, B's entries)"""
    b_at, b = run.array("b", k * n, 16, *factor(2047))
    run.machine.call(f"{SPACE}{backend}::right_bytes", [k, n])
    size = run.machine.returned()
    right = run.room(size, 64)
    run.machine.call(f"{SPACE}{backend}::pack_right", [b_at, k, n, right])
    return right, size, b


def low_rank_inner(image, run, backend, k, n):
    """The layout that pack_right leaves is the kernel's own, so both are run."""
    run.sum_products()
    right, _, b = packed_right(run, backend, k, n)
    q_at, q = run.array("q", n, 16, *factor(32767))
    b, q = ([run.operands[v.get_id()][0] for v in elements] for elements in (b, q))
    z_at = run.room(8 * k, 8)
    run.machine.call(f"{SPACE}{backend}::low_rank_inner", [right, k, n, q_at, z_at])
    for c in range(k):
        expected = sum_of([(b[c * n + j], q[j]) for j in range(n)], 64)
        run.expect(run.output(z_at + 8 * c, 64), expected, 64, f"z[{c}]")
