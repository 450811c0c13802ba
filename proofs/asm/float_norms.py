"""The contracts of the norms (FloatKernels in contracts.hpp), of any size.

A norm is a few functions in turn, each of which is proved by itself: of `mean` and `inverse_deviation` the
ordered sums (carried.py) and what is made of them; of the others each element, where `out` is an array of its
own and where it is `x`. Of `rms_norm` and `layer_norm` it is proved that they call these in order, with no
others of their arguments and results, and touch no array themselves: so what is proved of a norm holds in
both cases too."""

import functools

import floats
import terms as t
from carried import Chains
from float_rows import (ANY, MOST, ONE, array, difference, in_place, lane_index, lane_steps, ordered, product,
                        total)
from machine import InVector, Refused, same
from softmax import returned, symbol
from spec import SPACE


# --- sums ----------------------------------------------------------------------------------------

def of_sum(run, backend, function, term, result, *arguments):
    """result(the ordered sum of term(x[j]), n as a float) of any n elements."""
    machine, explorer = run.of_any_size()
    n = machine.sizes.symbol("n", 0, MOST)
    x_at, _ = array(run, machine, "x", n)
    sums = Chains(machine, x_at, 8, 0, lambda before, element: total(before, term(element)), lane_index,
                  lane_steps, machine.sizes.total(n), 32)

    def conclude():
        code, number = returned(machine), floats.FROM_INTEGER[64, 32](n)
        run.expect(code, result(ordered(sums.concluded(code)), number), 32, "the result")
    explorer.call(symbol(backend, function), [x_at, n, *arguments], conclude)


def mean(image, run, backend):
    of_sum(run, backend, "mean", lambda x: x, lambda whole, n: floats.DIVIDE[32](whole, n))


def inverse_deviation(image, run, backend):
    epsilon = run.fresh("epsilon[0]", 32)

    def result(whole, n):
        return floats.DIVIDE[32](ONE, floats.SQUARE_ROOT[32](total(floats.DIVIDE[32](whole, n), epsilon)))
    of_sum(run, backend, "inverse_deviation", lambda x: product(x, x), result, epsilon)


# --- elements ------------------------------------------------------------------------------------

def out_of(run, machine, n, is_in_place, others, result):
    """(x, out), the same array if it is changed in place: out[j] is result(x[j], those of the others)."""
    if is_in_place:
        return [in_place(run, machine, "x", n, others, lambda _, *read: result(*read))] * 2
    x_at, x = array(run, machine, "x", n)
    out_at = machine.output(
        "out", t.scale(n, 4, 64), 4, lambda _, j: [x(0, j), *(of(0, j) for of in others)],
        lambda _, code, read: run.expect(code, result(*read), 32, "an element of out"))
    return x_at, out_at


def scale(image, run, backend, is_in_place):
    machine, explorer = run.of_any_size()
    n, factor = machine.sizes.symbol("n", 0, MOST), run.fresh("factor[0]", 32)
    weight_at, weight = array(run, machine, "weight", n)
    x_at, out_at = out_of(run, machine, n, is_in_place, [weight],
                          lambda x, by: product(by, product(x, factor)))
    explorer.call(symbol(backend, "scale"), [x_at, weight_at, n, factor, out_at])


def centre(image, run, backend, is_in_place):
    machine, explorer = run.of_any_size()
    n, middle = machine.sizes.symbol("n", 0, MOST), run.fresh("middle[0]", 32)
    x_at, out_at = out_of(run, machine, n, is_in_place, [], lambda x: difference(x, middle))
    explorer.call(symbol(backend, "centre"), [x_at, n, middle, out_at])


def scale_and_shift(image, run, backend):
    machine, explorer = run.of_any_size()
    n, factor = machine.sizes.symbol("n", 0, MOST), run.fresh("factor[0]", 32)
    (weight_at, weight), (bias_at, bias) = (array(run, machine, name, n) for name in ("weight", "bias"))
    x_at, _ = out_of(run, machine, n, True, [weight, bias],
                     lambda x, by, more: total(product(product(x, factor), by), more))
    explorer.call(symbol(backend, "scale_and_shift"), [x_at, weight_at, bias_at, n, factor])


# --- the norms -----------------------------------------------------------------------------------

class Calls:
    """The calls that a kernel must make, in their order: (function, general arguments, the float or None, the
    float that it returns or None)."""

    def __init__(self, run, backend, wanted):
        self.run, self.wanted = run, list(wanted)
        for function in {one[0] for one in wanted}:
            run.machine.hooks[symbol(backend, function)] = functools.partial(self.made, function)

    def made(self, function, machine):
        name, arguments, number, result = self.wanted.pop(0) if self.wanted else (None, [], None, None)
        if name != function:
            raise Refused(f"a call of {function} that is not the contract's")
        found = [machine.general[name] for name in machine.ARGUMENTS[:len(arguments)]]
        is_right = number is None or same(returned(machine), number)
        if not is_right or not all(map(same, found, arguments)):
            raise Refused(f"an argument of {function} that is not the contract's")
        self.run.outputs += 1
        return None if result is None else InVector(result, 32)

    def conclude(self):
        if self.wanted:
            raise Refused("not all calls of the contract are made")


def pointers_and_size(run, *names):
    return [run.fixed.get(name, run.fresh(name, 64)) for name in names]


def norm(run, backend, kernel, arguments, wanted):
    calls = Calls(run, backend, wanted)
    run.machine.call(f"{SPACE}{backend}::{kernel}", arguments)
    calls.conclude()


def rms_norm(image, run, backend):
    x, weight, n, out = pointers_and_size(run, "x", "weight", "n", "out")
    epsilon, factor = (run.fresh(name, 32) for name in ("epsilon", "factor"))
    norm(run, backend, "rms_norm", [x, weight, n, epsilon, out], [
        ("inverse_deviation", [x, n], epsilon, factor), ("scale", [x, weight, n, out], factor, None)])


def layer_norm(image, run, backend):
    x, weight, bias, n, out = pointers_and_size(run, "x", "weight", "bias", "n", "out")
    epsilon, middle, factor = (run.fresh(name, 32) for name in ("epsilon", "middle", "factor"))
    norm(run, backend, "layer_norm", [x, weight, bias, n, epsilon, out], [
        ("mean", [x, n], None, middle), ("centre", [x, n, out], middle, None),
        ("inverse_deviation", [out, n], epsilon, factor),
        ("scale_and_shift", [out, weight, bias, n], factor, None)])


def add_rows(table, backends):
    for backend in backends:
        for function in (mean, inverse_deviation, scale_and_shift, rms_norm, layer_norm):
            table(backend, function.__name__, ANY, function)
        for function in (scale, centre):
            table(backend, function.__name__, ANY, function, False)
            table(backend, f"{function.__name__}_in_place", ANY, function, True)


# As in mutants.py. Another operation; what is read was written before, which shows where out is x.
MUTANTS = [
    ("portable", "mean", ANY, "mean", "divss", "mulss"),
    ("avx512", "inverse_deviation", ANY, "inverse_deviation", "vsqrtss", "vmulss"),
    ("avx2", "scale", ANY, "scale", r"vmulps +ymm1,ymm1", "vaddps ymm1,ymm1"),
    ("portable", "centre", ANY, "centre", "subps", "addps"),
    ("avx2", "centre_in_place", ANY, "centre", r"vmovdqu +(YMMWORD PTR) \[rdx(.*)\],ymm1",
     r"\g<0>; vmovups ymm1,\1 [rdi\2]; vsubps ymm1,ymm1,ymm2; vmovdqu \1 [rdx\2],ymm1"),
    ("avx512", "scale_and_shift", ANY, "scale_and_shift", "vaddps", "vsubps"),
    # A call left out; x in the place of what is centred; epsilon is not kept; out read in the place of x.
    ("portable", "layer_norm", ANY, "layer_norm", r"call [^\n]*centre[^\n]*", "nop"),
    ("avx512", "layer_norm", ANY, "layer_norm", r"mov +rdi,rbp", "mov rdi,r12"),
    ("avx2", "layer_norm", ANY, "layer_norm", r"vmovd +xmm0,r15d", "nop"),
    ("avx2", "rms_norm", ANY, "rms_norm", r"mov +rdi,rbx", "mov rdi,r13"),
]
# n, addresses or vectors taken for less than they are; what is left begins behind two vectors; a rest of 3 or
# of 7 taken for a vector.
SIZE_MUTANTS = [
    ("portable", "mean", ANY, "mean", r"(cvtsi2ss +xmm\d),rsi", r"\1,esi", "n=9"),
    ("avx2", "mean", ANY, "mean", r"cmp +rdx,rax", "cmp edx,eax", "n=9"),
    ("avx512", "mean", ANY, "mean", r"(and +rcx,0xf+)8\b", r"\g<1>0", "n=9"),
    ("avx2", "inverse_deviation", ANY, "inverse_deviation", r"(vcvtsi2ss .*),rsi", r"\1,esi", "n=9"),
    ("avx512", "inverse_deviation", ANY, "inverse_deviation", r"cmp +rax,rdx", "cmp eax,edx", "n=9"),
    ("avx2", "inverse_deviation", ANY, "inverse_deviation", r"(and +rcx,0xf+)8\b", r"\g<1>0", "n=9"),
    ("portable", "scale", ANY, "scale", r"cmp +rsi,rax", "cmp sil,al", "n=6"),
    ("avx512", "scale", ANY, "scale", r"(lea +rax,\[rdx\+0x)8\b", r"\g<1>7", "n=20"),
    ("avx2", "scale_in_place", ANY, "scale", r"cmp +rsi,rax", "cmp sil,al", "n=9"),
    ("avx2", "centre", ANY, "centre", r"(lea +rax,\[rcx\+0x)4\b", r"\g<1>3", "n=9"),
    ("avx512", "centre_in_place", ANY, "centre", r"cmp +rsi,rax", "cmp sil,al", "n=20"),
    ("portable", "scale_and_shift", ANY, "scale_and_shift", r"cmp +rdx,rax", "cmp dl,al", "n=6"),
    ("avx2", "scale_and_shift", ANY, "scale_and_shift", r"(lea +rax,\[rdx\+0x)4\b", r"\g<1>3", "n=9"),
    ("avx2", "rms_norm", ANY, "rms_norm", r"mov +rdx,rbp", "mov edx,ebp", "n=9"),
    ("avx512", "rms_norm", ANY, "rms_norm", r"mov +rbp,rdx", "movzx ebp,dl", "n=9"),
    ("portable", "layer_norm", ANY, "layer_norm", r"mov +rbx,rcx", "mov ebx,ecx", "n=9"),
    ("avx2", "layer_norm", ANY, "layer_norm", r"mov +rcx,rbx", "movzx ecx,bx", "n=9"),
]
# The same of the code that clang makes, and of `dot`: a last vector that is no pair left out; pairs counted
# in 8 bits; n in 32.
SIZE_MUTANTS_OF_CLANG = [
    ("avx2", "dot", ANY, "floats::dot", r"test +r8b,0x8\b", "test r8b,0x18", "n=12"),
    ("avx512", "dot", ANY, "floats::dot", r"add +rax,0xf+e", "add al,0xfe", "n=21"),
    ("portable", "mean", ANY, "mean", r"(cvtsi2ss +xmm2),rsi", r"\1,esi", "n=9"),
]
