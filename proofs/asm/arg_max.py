"""The contract of arg_max (FloatKernels in contracts.hpp), and of the functions that it calls, of any size.

Of each block of 256 elements `greatest` tells the greatest number (softmax.py). It is ranked: an integer that
is ordered as numbers are, behind it the block's number, of which the first one is the greatest. `best_block`
returns the greatest of these integers, which is proved as what holds for any threshold: it is above the
threshold just if a block's is. So it names a block of the array in which the greatest number occurs.
`first_equal` may leave its loop where data says so; proved is that no element before the one that it returns
is equal, and that this one is, or is the last."""

import z3

import floats
import terms as t
from float_rows import ANY, MOST, array
from machine import InVector, Refused, same
from regions import Interval, claimed
from run import WORK
from sizes import divided
from softmax import returned, symbol
from spec import SPACE, value

BLOCK, ENTRIES, LAST = 256, 1 << 40, 0xffffffff  # of elements at most: 2^32 blocks


def is_number(v):
    return [z3.ULE(t.term(t.band(v, 0x7fffffff, 32), 32), floats.INFINITY[32])]


def rank(number):
    """32 bits that are ordered as numbers are."""
    bits = floats.ADD[32](number, 0)  # +0 for -0
    return t.bxor(bits, t.bor(t.sar(bits, 31, 32), 1 << 31, 32), 32)


def lemma_of_ranks(zero=0):
    """What is wrong with this: of two numbers one is less just if its rank is, and they are equal just if
    their ranks are; None if it holds. `zero`: what is added."""
    solver, sort = z3.Solver(), z3.Float32()
    solver.set("rlimit", WORK)
    a, b = (z3.FP(name, sort) for name in "ab")

    def ranked(v):
        bits = z3.BitVec(f"bits of {v}", 32)
        solver.add(z3.Not(z3.fpIsNaN(v)), z3.fpBVToFP(bits, sort) == z3.fpAdd(
            z3.RNE(), v, z3.fpBVToFP(value(zero, 32), sort)))
        return bits ^ (bits >> 31 | value(1 << 31, 32))
    x, y = ranked(a), ranked(b)
    solver.add(z3.Not(z3.And(z3.fpLT(a, b) == z3.ULT(x, y), z3.fpEQ(a, b) == (x == y))))
    answer = solver.check()
    return None if answer == z3.unsat else f"the lemma of ranks: {answer}"


def refuse_load(_):
    raise Refused("an element that is read, but by greatest")


def best_block(image, run, backend):
    machine, explorer = run.of_any_size()
    machine.tells_width = 64
    n, threshold = machine.sizes.symbol("n", 1, ENTRIES), run.fresh("threshold[0]", 64)
    x_at, _ = array(run, machine, "x", n)
    maxima_at = machine.input("maxima", t.scale(n, 4, 64), 4, [run.family("maxima", 32, is_number)])
    maxima = machine.regions[t.ident(maxima_at)]
    machine.watch_elements(x_at, refuse_load)
    machine.tells = lambda v: z3.UGT(v, threshold)

    def greatest(machine):
        """Of the next block, or of what is left."""
        where, count = (machine.general[name] for name in machine.ARGUMENTS[:2])
        if machine.scouting:
            return InVector(machine.unknown("greatest", 32), 32)
        number = machine.sizes.value(count)
        region, chunk, offset = machine.located(where, 4 * number)
        k, whole = divided(offset, 4 * BLOCK), machine.sizes.total(n)
        if region.base is not x_at or k is None or not machine.proved(*map(claimed, (
                number >= 1, number <= BLOCK)), z3.Or(
                    claimed(number == BLOCK),
                    claimed(machine.sizes.total(offset) + 4 * number == 4 * whole))):
            raise Refused("not a block of elements")
        here = machine.element(maxima, maxima.chunks[0], k)
        ranked = t.bor(t.shl(t.zero_extend(rank(here), 32, 64), 32, 64), t.sub(LAST, k, 64), 64)
        if not machine.rehearsing:
            machine.seen = z3.Or(machine.seen, z3.UGT(t.term(ranked, 64), threshold))
            machine.written.append(Interval(chunk, offset, t.add(offset, t.scale(count, 4, 64), 64)))
        return InVector(here, 32)
    machine.hooks[symbol(backend, "greatest")] = greatest

    def conclude():
        run.outputs += 1
        if not run.holds(machine.seen == machine.tells(t.term(machine.returned(), 64))):
            raise Refused("a result that is not the greatest")
    explorer.call(symbol(backend, "best_block"), [x_at, n], conclude)


def are_equal(a, b):
    """Whether two floats are, and so no NaN is among them."""
    _, equal, unordered = floats.ordered(a, b, 32)
    return t.both(equal, t.negation(unordered), "and")


def first_equal(image, run, backend):
    machine, explorer = run.of_any_size()
    machine.follows_data = machine.left_by_data = True
    n, number = machine.sizes.symbol("n", 1, MOST), run.fresh("number[0]", 32)
    x_at, x = array(run, machine, "x", n)
    machine.watch_elements(x_at, lambda v: are_equal(v, number))

    def conclude():
        """All before the element that is returned were read, and if that one were not equal, none of all that
        were read would be. If it is the last one, it need not be."""
        state, at = explorer.state, machine.returned()
        chunk, v, other = machine.regions[t.ident(x_at)].chunks[0], x(0, at), run.fresh("other[0]", 32)
        explorer.settle(state)
        if not machine.proved(*map(claimed, (machine.sizes.value(at) >= 0, machine.sizes.total(at)
                                             < machine.sizes.total(n)))):
            raise Refused("an element that is none of the array's")
        before = chunk._replace(end=t.scale(at, 4, 64))
        read = [Interval(before, one.low, one.high) for one in state.written if one.chunk is chunk]
        if id(chunk) not in state.whole and not is_read(explorer, before, read, state):
            raise Refused("elements before the one that is returned are not proved to be read")
        said = z3.And([z3.BoolVal(True), *machine.data])
        run.outputs += 1
        if not run.holds(z3.Implies(z3.And(z3.Not(are_equal(other, number)), said), z3.Not(
                z3.substitute(machine.seen, (v, other))))):
            raise Refused("an element before the one that is returned may be equal")
        if not run.holds(z3.Implies(said, are_equal(v, number))) and not machine.proved(
                machine.sizes.total(at) == machine.sizes.total(n) - 1):
            raise Refused("what is returned is neither equal nor the last")
    explorer.call(symbol(backend, "first_equal"), [x_at, n, number], conclude)


def is_read(explorer, chunk, read, state):
    return explorer.is_above(chunk.begin, chunk.end, state) or explorer.is_written(
        chunk, type("Read", (), {"written": read, "path": state.path}))


def arg_max(image, run, backend):
    """Each function is called once, in order, with what those before it returned."""
    machine, explorer = run.of_any_size()
    machine.follows_data = True
    n, best = machine.sizes.symbol("n", 1, ENTRIES), run.fresh("best[0]", 64)
    most, index = run.fresh("most[0]", 32), run.fresh("index[0]", 64)
    x_at, x = array(run, machine, "x", n)
    at = t.scale(t.sub(LAST, t.zero_extend(t.extract(best, 0, 32), 32, 64), 64), BLOCK, 64)
    left = t.sub(n, at, 64)
    block = t.add(x_at, t.scale(at, 4, 64), 64), t.choose(t.compare("ult", left, BLOCK, 64), left, BLOCK, 64)
    calls = [("best_block", (x_at, n), best), ("greatest", block, InVector(most, 32)),
             ("first_equal", block, index)]
    made = {}

    def hook(number, function, arguments, result):
        def call(machine):
            for name, wanted in zip(machine.ARGUMENTS, arguments):
                run.expect(machine.general[name], wanted, 64, f"an argument of {function}")
            if made.get("calls", 0) != number or number == 2 and not same(returned(machine), most):
                raise Refused(f"a call of {function} that is not the contract's")
            made["calls"] = number + 1
            return result
        return call
    machine.hooks |= {symbol(backend, function): hook(number, function, arguments, result)
                      for number, (function, arguments, result) in enumerate(calls)}

    def conclude():
        """Paths that the first element's being a NaN parts; on one nothing is called."""
        first, calls_made = x(0, 0), made.pop("calls", 0)
        is_nan, said = z3.Not(z3.And(is_number(first))), z3.And([z3.BoolVal(True), *machine.data])
        if calls_made not in (0, len(calls)) or not run.holds(z3.Implies(
                said, is_nan if calls_made == 0 else z3.Not(is_nan))):
            raise Refused("not the calls of the contract")
        run.expect(machine.returned(), t.add(at, index, 64) if calls_made else 0, 64, "the index")
    explorer.call(f"{SPACE}{backend}::arg_max", [x_at, n], conclude)


def add_rows(table, backends):
    for backend in backends:
        for name, function in (("best_block", best_block), ("first_equal", first_equal),
                               ("arg_max", arg_max)):
            table(backend, name, ANY, function)


# As in mutants.py. Negative numbers ranked as positive ones; the last of equal blocks; NaNs that are equal,
# or numbers that are not; another block's number. A block's first element for its greatest.
MUTANTS = [
    ("avx2", "best_block", ANY, "best_block", r"sar +eax,0x1f", "xor eax,eax"),
    ("portable", "best_block", ANY, "best_block", r"sub +r12,0x1\b", "add r12,0x1"),
    ("avx2", "best_block", ANY, "best_block", r"call [^\n]*greatest[^\n]*", "vmovss xmm0,DWORD PTR [r14]"),
    ("portable", "first_equal", ANY, "first_equal", r"\bjp\b", "jnp"),
    ("avx512", "first_equal", ANY, "first_equal", r"\bjne( +\w+ <[^\n]*\+0x10>)", r"je\1"),
    ("avx2", "arg_max", ANY, "arg_max", r"not +eax", "nop"),
    ("portable", "arg_max", ANY, "arg_max", r"shl +rax,0xa", "shl rax,0xb"),
]
# A last block of one element left out, blocks that begin elsewhere; what is counted in 8 or 32 bits.
SIZE_MUTANTS = [
    ("portable", "best_block", ANY, "best_block", r"lea +r13,\[rsi\+0xff\]", "lea r13,[rsi+0xfe]", "n=5"),
    ("avx512", "best_block", ANY, "best_block", r"add +r14,0x400", "add r14,0x3fc", "n=5"),
    ("avx2", "first_equal", ANY, "first_equal", r"sub +rsi,0x1\b", "sub sil,0x1", "n=5"),
    ("portable", "first_equal", ANY, "first_equal", r"sub +rsi,0x1\b", "sub esi,0x1", "n=5"),
    ("portable", "arg_max", ANY, "arg_max", r"mov +rbx,rsi", "mov ebx,esi", "n=5"),
    ("avx512", "arg_max", ANY, "arg_max", r"mov +rbx,rsi", "mov ebx,esi", "n=5"),
]
# The same of clang's code.
SIZE_MUTANTS_OF_CLANG = [
    ("avx2", "best_block", ANY, "best_block", r"cmp +rbx,0x100", "cmp ebx,0x100", "n=5"),
    ("avx512", "first_equal", ANY, "first_equal", r"dec +rsi", "dec esi", "n=5"),
    ("portable", "arg_max", ANY, "arg_max", r"mov +r14,rsi", "mov r14d,esi", "n=5"),
]
