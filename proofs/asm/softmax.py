"""The contracts of softmax and sampling_weights (FloatKernels in contracts.hpp), and of the functions that
they call, of any size.

`greatest` compares as max instructions do: m becomes v if v > m, and stays where v is a NaN. That the result
is the greatest number is proved as what holds for any threshold: the result is above it just if an element
is. So which zero is the greatest is not told. Of comparisons nothing is known but `lemma_of_maxima`. No
element is above infinity, and so the result is a number."""

import z3

import floats
import terms as t
from carried import Chains
from float_rows import ANY, MOST, ONE, array, bits, difference, exponential, in_place, ordered, product, total
from machine import InVector, Refused, same
from run import WORK, variables
from spec import SPACE

INFINITY = floats.INFINITY[32]
LEAST = bits(-87.0)
IS_NAN = floats.operation("is a NaN", (32,), 1, lambda v: int(floats.is_nan(v, 32)))


def symbol(backend, function):
    return f"{SPACE}floats::{function}<{SPACE}{backend}::Leaf>"


def returned(machine):
    return t.from_cells(machine.vectors[0][:4])


# --- the greatest element ------------------------------------------------------------------------

def lemma_of_maxima(passed_over=True):
    """What is wrong with this: m, or v if v > m, is above a threshold just if m is no NaN and one of both is,
    and a NaN just if m is; nothing is above infinity, or below minus infinity. None if it holds. Unless
    `passed_over`: the same, but that m may be a NaN."""
    sort = z3.Float32()
    m, v, threshold = (z3.FP(name, sort) for name in ("m", "v", "threshold"))
    kept = z3.If(z3.fpLT(m, v), v, m)
    either = z3.Or(z3.fpLT(threshold, m), z3.fpLT(threshold, v))
    claims = [z3.fpLT(threshold, kept) == (z3.And(z3.Not(z3.fpIsNaN(m)), either) if passed_over else either),
              z3.fpIsNaN(kept) == z3.fpIsNaN(m), z3.Not(z3.fpLT(z3.fpPlusInfinity(sort), v)),
              z3.Not(z3.fpLT(threshold, z3.fpMinusInfinity(sort)))]
    solver = z3.Solver()
    solver.set("rlimit", WORK)
    solver.add(z3.Not(z3.And(claims)))
    answer = solver.check()
    return None if answer == z3.unsat else f"the lemma of maxima: {answer}"


class Threshold:
    """Any float, and what is known of terms that are compared with it."""

    def __init__(self, bits):
        self.bits, self.known = bits, {}

    def told(self, v):
        """(whether a term is above the threshold, whether it is a NaN)."""
        if t.keep(v) not in self.known:
            self.known[t.ident(v)] = self.of_greater(v) or self.of_any(v)
        return self.known[t.ident(v)]

    def of_greater(self, v):
        """The same of the greater of two, by the lemma; None of other terms."""
        if t.kind(v) != z3.Z3_OP_ITE:
            return None
        _, new, kept = t.parts_of(v)
        if not t.term(floats.greater(new, kept, 32), 32).eq(v):
            return None
        (is_above, is_nan), (is_new_above, _) = self.told(kept), self.told(new)
        return z3.And(z3.Not(is_nan), z3.Or(is_above, is_new_above)), is_nan

    def of_any(self, v):
        if t.is_number(v) and v.as_long() == INFINITY | floats.SIGN[32]:
            return z3.BoolVal(False), z3.BoolVal(False)
        return floats.is_less(self.bits, v, 32), floats.is_so(IS_NAN(v))

    def is_above(self, v):
        return self.told(v)[0]

    def may_be_above(self, v):
        """Whether it is above, or a NaN: of what a loop has found so far, which may be anything."""
        return z3.Or(*self.told(v))

    def nothing_is_above_infinity(self, seen):
        """What holds of all that was seen: with infinity for the threshold there is nothing. Where `seen` is
        more than conditions of `told`, nothing is known of it."""
        there = self.at_infinity(seen)
        return z3.BoolVal(True) if there is None else z3.Not(there)

    def at_infinity(self, seen):
        """`seen` of another threshold, infinity; None if it cannot be written."""
        parts = t.parts_of(seen)
        for kind, operation in (z3.is_and, z3.And), (z3.is_or, z3.Or), (z3.is_not, lambda one: z3.Not(*one)):
            if kind(seen):
                there = [self.at_infinity(part) for part in parts]
                return None if any(part is None for part in there) else operation(there)
        if z3.is_true(seen) or z3.is_false(seen):
            return seen
        if not z3.is_eq(seen) or t.ident(parts[0]) not in t.APPLIED or (
                not seen.eq(floats.is_so(parts[0]))):
            return None
        name, operands = parts[0].decl().name(), t.parts_of(parts[0])
        if any(self.bits.eq(v) for operand in operands[name == "less32":] for v in variables(operand)):
            return None
        if name == "less32" and operands[0].eq(self.bits):
            return z3.BoolVal(False)
        return seen if name == "is a NaN" else None


def wrong_at_infinity():
    """What is wrong with what is known where infinity is the threshold: nothing, if more was seen than what
    is above it."""
    t.forget()
    v, threshold, seen = z3.BitVec("v", 32), Threshold(z3.BitVec("threshold", 32)), z3.Bool("seen")
    is_above, is_nan = threshold.told(v)
    cases = [(z3.Or(is_above, is_nan), z3.Not(is_nan)), (z3.Or(is_above, seen), z3.BoolVal(True)),
             (floats.is_less(v, threshold.bits, 32), z3.BoolVal(True)), (v == 0, z3.BoolVal(True)),
             (threshold.is_above(threshold.bits), z3.BoolVal(True))]
    return [f"at infinity: {claim}" for claim, known in cases if not z3.simplify(
        threshold.nothing_is_above_infinity(claim)).eq(z3.simplify(known))]


def greatest(image, run, backend):
    machine, explorer = run.of_any_size()
    n = machine.sizes.symbol("n", 0, MOST)
    x_at, _ = array(run, machine, "x", n)
    threshold = Threshold(run.fresh("threshold[0]", 32))
    machine.watch_elements(x_at, threshold.is_above)
    machine.tells, machine.of_seen = threshold.may_be_above, threshold.nothing_is_above_infinity

    def conclude():
        is_above, is_nan = threshold.told(t.term(returned(machine), 32))
        run.outputs += 1
        if not run.holds(z3.Implies(machine.of_seen(machine.seen), z3.And(
                machine.seen == is_above, z3.Not(is_nan)))):
            raise Refused("a result that is not the greatest number")
    explorer.call(symbol(backend, "greatest"), [x_at, n], conclude)


# --- sums and elements ---------------------------------------------------------------------------

def add_up(image, run, backend):
    """The ordered sum."""
    machine, explorer = run.of_any_size()
    n = machine.sizes.symbol("n", 0, MOST)
    x_at, _ = array(run, machine, "x", n)
    sums = Chains(machine, x_at, 8, 0, total, lambda lane, k: 8 * k + lane,
                  lambda lane, done: (done + 7 - lane) / 8 if z3.is_expr(done) else (done + 7 - lane) // 8,
                  machine.sizes.total(n), 32)

    def conclude():
        code = returned(machine)
        run.expect(code, ordered(sums.concluded(code)), 32, "the sum")
    explorer.call(symbol(backend, "add_up"), [x_at, n], conclude)


def changed(run, backend, function, name, result):
    """A function that changes each element of an array by a number."""
    machine, explorer = run.of_any_size()
    n, by = machine.sizes.symbol("n", 0, MOST), run.fresh(f"{name}[0]", 32)
    x_at = in_place(run, machine, "x", n, [], lambda code, x: result(code, x, by))
    explorer.call(symbol(backend, function), [x_at, n, by])


def raised(image, run, backend):
    changed(run, backend, "raise", "largest", lambda code, x, largest: exponential(
        run, code, [difference(x, largest)]))


def multiplied(image, run, backend):
    changed(run, backend, "multiply", "factor", lambda _, x, factor: product(x, factor))


# --- the kernels ---------------------------------------------------------------------------------

def softmax(image, run, backend):
    """Each function is called once, in order, with what those before it returned."""
    machine, explorer = run.of_any_size()
    n = machine.sizes.symbol("n", 1, MOST)
    x_at, _ = array(run, machine, "x", n)
    largest, whole = run.fresh("largest[0]", 32), run.fresh("sum[0]", 32)
    calls = [("greatest", None, largest), ("raise", largest, None), ("add_up", None, whole),
             ("multiply", floats.DIVIDE[32](ONE, whole), None)]
    made = []

    def hook(function):
        def call(machine):
            wanted, by, result = calls[len(made)] if len(made) < len(calls) else (None, None, None)
            found = [machine.general[name] for name in machine.ARGUMENTS[:2]]
            if wanted != function or not all(map(same, found, (x_at, n))) or (
                    by is not None and not same(returned(machine), by)):
                raise Refused(f"call {len(made)} is not the contract's")
            made.append(function)
            run.outputs += 1
            return None if result is None else InVector(result, 32)
        return call
    machine.hooks |= {symbol(backend, function): hook(function) for function, _, _ in calls}

    def conclude():
        if len(made) != len(calls):
            raise Refused("not all calls of the contract are made")
    explorer.call(f"{SPACE}{backend}::softmax", [x_at, n], conclude)


def sampling_weights(image, run, backend):
    """Weights in another array, and in the place of x."""
    for is_in_place in (False, True):
        sampling_weights_of(run, backend, is_in_place)


def sampling_weights_of(run, backend, is_in_place):
    machine, explorer = run.of_any_size()
    n = machine.sizes.symbol("n", 0, MOST)
    largest, temperature, whole = (run.fresh(f"{name}[0]", 32) for name in ("largest", "temperature", "sum"))

    def weight(code, x):
        v = floats.DIVIDE[32](difference(x, largest), temperature)
        return t.choose(floats.is_less(v, LEAST, 32), 0, exponential(run, code, [v]), 32)
    if is_in_place:
        x_at = weights_at = in_place(run, machine, "x", n, [], weight)
    else:
        x_at, x = array(run, machine, "x", n)
        weights_at = machine.output(
            "weights", t.scale(n, 4, 64), 4, lambda _, j: [x(0, j)],
            lambda _, code, read: run.expect(code, weight(code, *read), 32, "an element of weights"))

    def sum_of_all(machine):
        """Of an array that is written: what is stored there later is the same."""
        if machine.scouting:
            return InVector(whole, 32)
        if not all(map(same, (machine.general[name] for name in machine.ARGUMENTS[:2]), (weights_at, n))):
            raise Refused("a sum of something else")
        explorer.conclude(explorer.left())
        run.outputs += 1
        return InVector(whole, 32)
    machine.hooks[symbol(backend, "add_up")] = sum_of_all

    def conclude():
        run.expect(returned(machine), whole, 32, "the sum")
    explorer.call(f"{SPACE}{backend}::sampling_weights", [x_at, n, largest, temperature, weights_at],
                  conclude)


def add_rows(table, backends):
    for backend in backends:
        for name, function in (("greatest", greatest), ("add_up", add_up), ("raise", raised),
                               ("multiply", multiplied), ("softmax", softmax),
                               ("sampling_weights", sampling_weights)):
            table(backend, name, ANY, function)


# As in mutants.py. A NaN is kept; a lane left out; another operation, another exponent; half 2 for half 1;
# the sum for its inverse, nothing raised; not below -87.
MUTANTS = [
    ("avx2", "greatest", ANY, "greatest", r"vmaxps +(ymm\d),(ymm\d),(ymm\d)", r"vmaxps \1,\3,\2"),
    ("avx512", "greatest", ANY, "greatest", r"vmovd +xmm5,r11d", "vmovd xmm5,r10d"),
    ("portable", "greatest", ANY, "greatest", r"movd +xmm3,r8d", "movd xmm3,ecx"),
    ("portable", "add_up", ANY, "add_up", "addps", "subps"),
    ("avx2", "add_up", ANY, "add_up", r"vaddss +xmm1,xmm1,xmm3", "vaddss xmm1,xmm1,xmm4"),
    ("avx512", "raise", ANY, "raise", r"(vpslld .*,)0x17", r"\g<1>0x16"),
    ("portable", "raise", ANY, "raise", "pcmpgtd", "pcmpeqd"),
    ("portable", "multiply", ANY, "multiply", "mulps", "addps"),
    ("avx2", "multiply", ANY, "multiply", "vmulss", "vaddss"),
    ("avx2", "softmax", ANY, "softmax", "vdivss", "vmulss"),
    ("portable", "softmax", ANY, "softmax", r"call [^\n]*raise[^\n]*", "nop"),
    ("avx2", "sampling_weights", ANY, "sampling_weights", "vcmpltps", "vcmpnltps"),
    ("portable", "sampling_weights", ANY, "sampling_weights", "divps", "mulps"),
    ("avx512", "sampling_weights", ANY, "sampling_weights", "vcmpnltps", "vcmpltps"),
]
# Elements left out behind the vectors; what is counted in 8 or 32 bits; a seventh element that is not there.
SIZE_MUTANTS = [
    ("portable", "greatest", ANY, "greatest", r"add +rdx,0x10\b", "add rdx,0x20", "n=9"),
    ("avx2", "greatest", ANY, "greatest", r"add +rdx,0x20\b", "add rdx,0x28", "n=9"),
    ("avx512", "greatest", ANY, "greatest", r"lea +rdx,\[rdx\+r8\*1\+0x10\]", "lea rdx,[rdx+r8*1+0x11]",
     "n=9"),
    ("portable", "add_up", ANY, "add_up", r"cmp +rsi,0x6\b", "cmp rsi,0x7", "n=5"),
    ("avx2", "add_up", ANY, "add_up", r"(and +rcx,0xf+)8\b", r"\g<1>0", "n=9"),
    ("avx512", "add_up", ANY, "add_up", r"cmp +rax,rdx", "cmp al,dl", "n=9"),
    ("portable", "raise", ANY, "raise", r"cmp +rsi,rax", "cmp sil,al", "n=6"),
    ("avx2", "raise", ANY, "raise", r"cmp +rsi,rax", "cmp sil,al", "n=9"),
    ("avx512", "raise", ANY, "raise", r"cmp +rsi,rax", "cmp sil,al", "n=20"),
    ("portable", "multiply", ANY, "multiply", r"cmp +rsi,rax", "cmp sil,al", "n=6"),
    ("avx2", "multiply", ANY, "multiply", r"cmp +rsi,rax", "cmp sil,al", "n=9"),
    ("avx512", "multiply", ANY, "multiply", r"cmp +rcx,rax", "cmp cl,al", "n=20"),
    ("portable", "softmax", ANY, "softmax", r"mov +rsi,rbp", "mov esi,ebp", "n=5"),
    ("avx512", "softmax", ANY, "softmax", r"mov +rsi,rbp", "mov esi,ebp", "n=5"),
    ("portable", "sampling_weights", ANY, "sampling_weights", r"cmp +rsi,rax", "cmp sil,al", "n=6"),
    ("avx2", "sampling_weights", ANY, "sampling_weights", r"(and +rdx,0xf+)8\b", r"\g<1>0", "n=9"),
    ("avx512", "sampling_weights", ANY, "sampling_weights", r"cmp +rsi,rax", "cmp sil,al", "n=20"),
]
# The same of clang's code.
SIZE_MUTANTS_OF_CLANG = [
    ("portable", "greatest", ANY, "greatest", r"add +rax,0x10\b", "add rax,0x14", "n=9"),
    ("avx512", "greatest", ANY, "greatest", r"cmp +rcx,0xf\b", "cmp cl,0xf", "n=9"),
    ("avx512", "add_up", ANY, "add_up", r"cmp +rsi,0x6\b", "cmp rsi,0x7", "n=5"),
    ("avx512", "multiply", ANY, "multiply", r"and +eax,0x3\b", "and eax,0x1", "n=20"),
    ("portable", "softmax", ANY, "softmax", r"mov +rsi,rbx", "mov esi,ebx", "n=5"),
    ("avx2", "sampling_weights", ANY, "sampling_weights", r"cmp +rax,rsi", "cmp al,sil", "n=9"),
]
