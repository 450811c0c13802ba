"""The contracts of Charlie's float kernels (FloatKernels in contracts.hpp), of any size: the operations of
each element in their order (floats.py). What stands in an array that is changed in place is read before it is
written there (grids.py)."""

import z3

import floats
import terms as t
from carried import Chains
from grids import Grid, Part
from machine import Refused
from run import walk
from spec import SPACE

ANY, MOST = "any size", 1 << 60  # as in runs.py; elements
TWO_ROOT, CUBIC = 1.59576912, 0.044715  # 2 sqrt(2 / pi), gelu_cubic


def total(a, b):
    return floats.ADD[32](a, b)


def product(a, b):
    return floats.MULTIPLY[32](a, b)


def difference(a, b):
    return floats.SUBTRACT[32](a, b)


def in_place(run, machine, name, n, reads, result):
    """An array of n floats: element j becomes result(code, what it was, the others of which `reads` are)."""
    at = machine.output(
        name, t.scale(n, 4, 64), 4, lambda _, j: [own(0, j), *(of(0, j) for of in reads)],
        lambda _, code, read: run.expect(code, result(code, *read), 32, f"an element of {name}"))
    machine.add_to(at, run.family(name, 32))
    own = machine.reader(at)
    return at


def array(run, machine, name, n):
    """(its pointer, its reader) of an input of n floats."""
    at = machine.input(name, t.scale(n, 4, 64), 4, [run.family(name, 32)])
    return at, machine.reader(at)


def add(image, run, backend):
    machine, explorer = run.of_any_size()
    n = machine.sizes.symbol("n", 0, MOST)
    x_at, x = array(run, machine, "x", n)
    sum_at = in_place(run, machine, "sum", n, [x], lambda _, a, b: total(a, b))
    explorer.call(f"{SPACE}{backend}::add", [x_at, n, sum_at])


class Halves(Grid):
    """Of an array of two halves: its extents are the halves, and the bytes in a half."""

    def __init__(self, machine, half):
        super().__init__(machine, (2, half))
        self.half = half

    def part(self, low, high):
        if self.is_least(high, self.half):
            return Part((0, low), (1, high))
        if self.is_least(self.half, low):
            return Part((1, t.sub(low, self.half, 64)), (2, t.sub(high, self.half, 64)))
        raise Refused("bytes of both halves")


def rotate(image, run, backend):
    """Of an element of either half what it becomes depends on one of the other."""
    machine, explorer = run.of_any_size()
    half = machine.sizes.symbol("half", 0, MOST)
    (cosines_at, cosine), (sines_at, sine) = (
        array(run, machine, name, half) for name in ("cosines", "sines"))

    def check(number, code, read):
        a, b, c, s = read
        result = total(product(b, c), product(a, s)) if number else difference(product(a, c), product(b, s))
        run.expect(code, result, 32, "an element of head")
    head_at = machine.output(
        "head", t.scale(half, 8, 64), 4,
        lambda _, j: [head(0, j), head(1, j), cosine(0, j), sine(0, j)], check, half, 2)
    machine.add_to(head_at, run.family("head", 32))
    Halves(machine, t.scale(half, 4, 64)).region = machine.regions[t.ident(head_at)]
    head = machine.reader(head_at)
    explorer.call(f"{SPACE}{backend}::rotate", [head_at, cosines_at, sines_at, half])


def bits(number):
    return floats.bits_of(number, 32)


ONE, SHIFT = bits(1.0), bits(12582912.0)  # 1.5 * 2^23
INVERSE_LN2 = bits(1.44269504)
SERIES = [floats.DIVIDE[32](ONE, bits(float(k))) for k in (5040, 720, 120, 24, 6, 2, 1, 1)]


def clamped(x):
    """The nearest number in [-87, 87], or the NaN."""
    size = t.band(x, 0x7fffffff, 32)
    least = t.choose(t.compare("slt", size, bits(87.0), 32), size, bits(87.0), 32)
    within = t.bor(t.bxor(x, size, 32), least, 32)
    return t.choose(t.compare("slt", floats.INFINITY[32], size, 32), x, within, 32)


def clamped_in(run, code, arguments):
    """The number that code multiplies by 1 / ln 2 first, which is proved to be `clamped` of one of some
    forms of an argument: of the many ways to write it, the code's."""
    for node in walk(t.term(code, 32)):
        if t.ident(node) in t.APPLIED and node.decl().name() == "multiply32":
            v, factor = t.parts_of(node)
            if t.is_number(factor) and factor.as_long() == INVERSE_LN2:
                forms = [t.term(clamped(x), 32) for x in arguments]
                known = next((form for form in forms if run.holds(v == form)), forms[0])
                run.expect(v, known, 32, "the operand of an exponential")
                return v
    raise Refused("no exponential")


def exponential(run, code, arguments):
    """exp(x) as exponential.hpp says: 2^e times a polynomial in r; x in any of its forms."""
    v = clamped_in(run, code, arguments)
    rounded = total(product(v, INVERSE_LN2), SHIFT)
    e = difference(rounded, SHIFT)
    r = difference(difference(v, product(e, bits(0.693359375))), product(e, bits(-2.12194440e-4)))
    series = SERIES[0]
    for coefficient in SERIES[1:]:
        series = total(product(series, r), coefficient)
    return product(series, t.add(t.shl(rounded, 23, 32), 127 << 23, 32))


def negative(x):
    return t.bxor(x, floats.SIGN[32], 32)


def swiglu(image, run, backend):
    machine, explorer = run.of_any_size()
    n = machine.sizes.symbol("n", 0, MOST)
    up_at, up = array(run, machine, "up", n)

    def result(code, gate, by):
        raised = exponential(run, code, [negative(gate)])
        return product(floats.DIVIDE[32](gate, total(ONE, raised)), by)
    gate_at = in_place(run, machine, "gate", n, [up], result)
    explorer.call(f"{SPACE}{backend}::swiglu", [gate_at, up_at, n])


def gelu(image, run, backend):
    machine, explorer = run.of_any_size()
    n = machine.sizes.symbol("n", 0, MOST)

    def result(code, x):
        """-(c v) may be written as (-c) v: they differ in the sign of a NaN alone."""
        cubed = total(x, product(bits(CUBIC), product(product(x, x), x)))
        forms = [negative(product(bits(TWO_ROOT), cubed)), product(bits(-TWO_ROOT), cubed)]
        return floats.DIVIDE[32](x, total(ONE, exponential(run, code, forms)))
    x_at = in_place(run, machine, "x", n, [], result)
    explorer.call(f"{SPACE}{backend}::gelu", [x_at, n])


def lane_index(lane, k):
    """Of the term that step k of a lane takes."""
    return 8 * k + lane


def lane_steps(lane, done):
    """How many a lane has taken of so many terms."""
    return (done + 7 - lane) / 8 if z3.is_expr(done) else (done + 7 - lane) // 8


def sums_of_products(machine, a_at, b_at, n):
    """The sums of a[j] b[j] in 8 lanes, each from 0 on, lane l of every 8th product from the l-th on."""
    b = machine.reader(b_at)

    def step(before, element):
        if t.is_int(element):
            raise Refused("a product of a sum under a lane mask")
        index, _ = sums.region.places[t.ident(element)]
        return total(before, product(element, b(0, index)))
    sums = Chains(machine, a_at, 8, 0, step, lane_index, lane_steps, machine.sizes.total(n), 32, [b_at])
    return sums


def ordered(lanes):
    """The ordered sum from its lanes."""
    halves = [total(lanes[l], lanes[l + 4]) for l in range(4)]
    return total(total(total(halves[0], halves[1]), halves[2]), halves[3])


def dot(image, run, backend):
    machine, explorer = run.of_any_size()
    n = machine.sizes.symbol("n", 0, MOST)
    (a_at, _), (b_at, _) = (array(run, machine, name, n) for name in "ab")
    sums = sums_of_products(machine, a_at, b_at, n)

    def conclude():
        code = t.from_cells(machine.vectors[0][:4])
        run.expect(code, ordered(sums.concluded(code)), 32, "the sum")
    explorer.call(f"{SPACE}{backend}::dot", [a_at, b_at, n], conclude)


def add_rows(table, backends):
    for backend in backends:
        for function in (add, rotate, swiglu, gelu, dot):
            table(backend, function.__name__, ANY, function)


# As in mutants.py. Another operation, another exponent, infinity taken for a NaN, the other half.
MUTANTS = [
    ("portable", "add", ANY, "add", "addss", "subss"),
    ("avx2", "rotate", ANY, "rotate", "vsubps", "vaddps"),
    ("avx2", "swiglu", ANY, "swiglu", r"(vpslld .*,)0x17", r"\g<1>0x16"),
    ("avx512", "gelu", ANY, "gelu", "vpcmpled", "vpcmpltd"),
    ("portable", "gelu", ANY, "gelu", "pcmpgtd", "pcmpeqd"),
    ("avx512", "dot", ANY, "dot", "vaddps", "vsubps"),
    # Squares of a.
    ("avx2", "dot", ANY, "dot", r"\[rsi\+rax\*4-0x20\]", "[rcx+rax*4-0x20]"),
]
# Vectors counted in 8 bits; of two vectors the last one taken for what is left.
SIZE_MUTANTS = [
    ("avx2", "dot", ANY, "dot", r"cmp +rdx,rax", "cmp dl,al", "n=9"),
    ("avx2", "dot", ANY, "dot", r"(and +rax,0xf+)8\b", r"\g<1>0", "n=9"),
    ("avx512", "dot", ANY, "dot", r"add +rax,0x8\b", "add al,0x8", "n=9"),
    ("portable", "add", ANY, "add", r"cmp +rcx,rax", "cmp cl,al", "n=6"),
    ("avx2", "add", ANY, "add", r"(and +\w+,0xf+)8\b", r"\g<1>0", "n=9"),
    ("avx512", "add", ANY, "add", r"and +rsi,0xf+0\b", "and rsi,0xffffffffffffffe0", "n=20"),
    ("portable", "rotate", ANY, "rotate", r"cmp +rdx,rax", "cmp dl,al", "half=6"),
    ("avx512", "rotate", ANY, "rotate", r"(and +\w+,0xf+)0\b", r"\g<1>00", "half=20"),
    ("avx2", "swiglu", ANY, "swiglu", r"cmp +rdx,rax", "cmp dl,al", "n=9"),
    ("avx512", "swiglu", ANY, "swiglu", r"(and +\w+,0xf+)0\b", r"\g<1>00", "n=20"),
    ("portable", "gelu", ANY, "gelu", r"(and +rsi,0xf+)c\b", r"\g<1>8", "n=5"),
    ("avx2", "gelu", ANY, "gelu", r"(and +\w+,0xf+)8\b", r"\g<1>0", "n=9"),
]
