"""The contracts of the leaves of lattice masks, optimized/masks/contracts.hpp."""

import z3

import floats
import ring
import terms as t
from grids import Grid, Part
from machine import Refused, same
from run import WORK
from sizes import divided
from spec import PRIMES, below, modulus, remainder

SPACE = "slip::masks::"
PLANES = 5, 6  # of a column
LANES = {"portable": 2, "avx2": 4, "avx512": 8, "neon": 2}
X86, AARCH64 = ("portable", "avx2", "avx512"), ("portable", "neon")  # the processors' backends


def symbol(backend, function):
    """A function of a backend's lanes, as Image names it."""
    return f"{SPACE}{function}<{SPACE}{backend}::Lanes>"


def small_integer(nibble):
    """RAND-9 with eta = 2: the sum of two bits less that of the two above them, as one of 8 bits."""
    bits = [z3.ZeroExt(7, t.term(t.extract(nibble, k, 1), 1)) for k in range(4)]
    return bits[0] + bits[1] - bits[2] - bits[3]


def with_noise(x, nibble, tau, prime):
    """(x + tau e) mod prime."""
    # Of magnitude 2 at most: so many times tau less, and 2 primes more, is positive.
    more = z3.SignExt(8, small_integer(nibble)) * z3.ZeroExt(8, tau) + 2 * prime
    return z3.Extract(7, 0, remainder(z3.ZeroExt(8, x) + more, prime))


class Columns(Grid):
    """Planes of a column, and the places in each."""

    def part(self, low, high):
        n = self.lengths[1]
        plane, j = divmod(low, n) if t.is_int(n) and t.is_int(low) else self.sizes.rows_of(low, n)
        return Part((plane, j), (t.add(plane, 1, 64), t.add(j, t.sub(high, low, 64), 64)))


def add_noise(image, run, backend):
    """MASK-7, of any n: tau e is added to each residue of a column, in place, for any residues of tau."""
    for planes in PLANES:
        if run.fixed.get("planes", planes) == planes:
            add_noise_to(run, backend, planes)


def add_noise_to(run, backend, planes):
    machine, explorer = run.of_any_size()
    machine.logic_width = 8
    machine.is_public = lambda v: all(x.decl().name().startswith("tau_") for x in run.variables_of(v))
    n = machine.sizes.symbol("n", 0, 1 << 60)
    stream_at = machine.input("stream", machine.sizes.named_quotient(t.add(n, 1, 64), 1, "bytes"), 1, [
        run.family("byte", 8)])
    tau_at = run.place(planes, 1)
    taus = [run.elements(f"tau_{p}", 1, 8, below(prime))[0] for p, prime in enumerate(PRIMES[:planes])]
    machine.memory |= {tau_at + p: (tau, 0) for p, tau in enumerate(taus)}

    any_x, any_byte, proved = z3.BitVec("x", 8), z3.BitVec("byte", 8), set()

    def check(p, code, index):
        chunk = column.chunks[p]
        j = t.sub(index, chunk.begin, 64)
        parity = t.linear(j, 64)[1] % 2
        of_stream = divided(t.sub(j, parity, 64), 2)
        if of_stream is None:
            raise Refused("a residue of which it is not known which half of a byte is added to it")
        x = machine.element(column, chunk, index, machine.guard, is_wanted=True)
        byte = machine.element_under_any_guard(stream_at, of_stream)
        pattern = z3.substitute(t.term(code, 8), (x, any_x), (byte, any_byte))
        if (p, parity, t.keep(pattern)) not in proved:
            run.expect(code, with_noise(x, t.extract(byte, 4 * parity, 4), taus[p], PRIMES[p]), 8,
                       f"a residue of plane {p}")
            if all(v.eq(any_x) or v.eq(any_byte) or v.eq(taus[p]) for v in run.variables_of(pattern)):
                proved.add((p, parity, t.ident(pattern)))
        else:
            run.outputs += 1
    column_at = machine.output("column", t.scale(n, planes, 64), 1, None, check, n, planes)
    column = machine.regions[t.ident(column_at)]
    column.chunks = [chunk._replace(family=run.family(f"column_{p}", 8, below(prime)))
                     for p, (chunk, prime) in enumerate(zip(column.chunks, PRIMES))]
    Columns(machine, (planes, n)).region = column
    explorer.call(symbol(backend, "add_noise_to_column"), [stream_at, n, planes, tau_at, column_at])


# --- transforms -----------------------------------------------------------------------------------

DEGREE, POINTS = 256, 128
LOW_BITS = 24


def bits(x):
    """Of a number as binary64."""
    return floats.bits_of(float(x), 64)


def doubles(run, name, count, alignment=None):
    return run.array(name, count, 64, alignment=alignment)


def transform_of(run, backend):
    """(where the roots are, the transform with them): of any numbers in the table."""
    at, numbers = doubles(run, "root", 2 * (21 * 3 + 16 * 2))
    roots = [ring.Complex(*numbers[k:k + 2]) for k in range(0, len(numbers), 2)]
    return at, ring.Transform(ring.Arithmetic(backend != "portable"), [
        roots[k:k + 3] for k in range(0, 63, 3)], [roots[k:k + 2] for k in range(63, 95, 2)])


EXTENT = 1 << 32  # of rows
MOST_ELEMENTS, MOST_BLOCKS = 16, 4


def workspace_bytes(image, run, backend):
    """Monotone in both of its arguments: a sum of multiples of them, which does not wrap."""
    machine, explorer = run.of_any_size()
    elements, blocks = (machine.sizes.symbol(name, 0, most) for name, most in (
        ("elements", MOST_ELEMENTS), ("blocks", MOST_BLOCKS)))

    def conclude():
        atoms, constant = t.linear(machine.returned(), 64)
        factors = [t.signed(factor, 64) for _, factor in atoms.values()]
        if atoms.keys() - {t.ident(elements), t.ident(blocks)} or any(
                not 0 <= number < 1 << 32 for number in (constant, *factors)):
            raise Refused("not a sum of multiples of the sizes")
        run.outputs += 1
    explorer.call(f"{SPACE}Places<{SPACE}{backend}::Lanes>::bytes", [elements, blocks], conclude)


def small_matrix_doubles(image, run, backend):
    """Whole groups of lanes, of any number of rows, and every number of elements."""
    lanes = LANES[backend]
    for elements in range(MOST_ELEMENTS + 1):
        machine, explorer = run.of_any_size()
        rows = machine.sizes.symbol("rows", 0, EXTENT)
        groups = machine.sizes.named_quotient(t.add(rows, lanes - 1, 64), lanes.bit_length() - 1, "groups")

        def conclude(machine=machine, groups=groups, elements=elements):
            run.outputs += 1
            if not same(machine.returned(), t.scale(groups, lanes * 2 * POINTS * elements, 64)):
                raise Refused("another number of doubles")
        explorer.call(symbol(backend, "small_matrix_doubles"), [rows, elements], conclude)


def small_values(transform, element):
    """The values of an element over 128, whose coefficients are small integers."""
    def scaled(v):
        integer = floats.FROM_INTEGER[32, 64](t.term(t.sign_extend(v, 8, 32), 32))
        return ring.MULTIPLY(integer, bits(1 / POINTS))
    return transform.values([ring.Complex(scaled(element[j]), scaled(element[j + POINTS]))
                             for j in range(POINTS)])


def nearest(x):
    """The nearest integer: 3 * 2^51 is added, and subtracted."""
    return ring.SUBTRACT(ring.ADD(x, bits(3 << 51)), bits(3 << 51))


# --- decoding -------------------------------------------------------------------------------------

def lemma_of_zero(zero=0):
    """What is wrong with this: x - 0 = x of every x but NaNs, so that code may subtract nothing; None if it
    holds."""
    x = z3.BitVec("x", 64)
    number, solver = z3.fpBVToFP(x, z3.Float64()), z3.Solver()
    solver.set("rlimit", WORK)
    solver.add(z3.Not(z3.fpIsNaN(number)), z3.fpSub(z3.RNE(), number, z3.fpBVToFP(
        z3.BitVecVal(zero, 64), z3.Float64())) != number)
    return None if solver.check() == z3.unsat else "the lemma of zero"


def within(x, least, whole, subtracts_nothing):
    """The representative from `least` on of what is less than `whole` away from one. Where it is not above,
    code subtracts 0 or nothing (`lemma_of_zero`)."""
    above = floats.is_less(ring.SUBTRACT(ring.ADD(least, whole), bits(1)), x)
    x = (t.choose(above, ring.SUBTRACT(x, whole), x, 64) if subtracts_nothing
         else ring.SUBTRACT(x, t.choose(above, whole, 0, 64)))
    return ring.ADD(x, t.choose(floats.is_less(x, least), whole, 0, 64))


def lifted(y, u, subtracts_nothing):
    """HIDE-5: u y mod L, centred, from halves of y and of L."""
    whole, unit = modulus(6), 1 << LOW_BITS
    multiply, subtract = ring.MULTIPLY, ring.SUBTRACT
    high = nearest(multiply(y, bits(1 / unit)))
    low = subtract(y, multiply(high, bits(unit)))
    quotient = nearest(multiply(multiply(y, u), bits(1 / whole)))
    upper = subtract(multiply(high, u), multiply(quotient, bits(whole // unit)))
    lower = subtract(multiply(low, u), multiply(quotient, bits(whole % unit)))
    return within(ring.ADD(multiply(upper, bits(unit)), lower), bits(-(whole // 2)), bits(whole),
                  subtracts_nothing)


def decode(image, run, backend):
    """HIDE-5: every operation of decode, of any numbers of a width and any count. No operation is fused."""
    machine, explorer = run.of_any_size()
    count = machine.sizes.symbol("count", 0, 1 << 59)
    by_at, by = doubles(run, "by", 7)

    def reads(_, k):
        return [machine.element(y, y.chunks[0], k, machine.guard, is_wanted=True)]

    def check(_, code, elements):
        forms = [decoded(elements[0], *by, subtracts_nothing) for subtracts_nothing in (True, False)]
        run.expect_same(code, next(filter(code.eq, forms), forms[0]), "an element of y")
    y_at = machine.output("y", t.scale(count, 8, 64), 8, reads, check)
    y = machine.regions[t.ident(y_at)]
    machine.add_to(y_at, run.family("y", 64))
    explorer.call(symbol(backend, "decode_all"), [by_at, count, y_at])


def decoded(y, u_1, u_2, of_1, of_2, s, reciprocal, least, subtracts_nothing):
    shift = bits(3 << 51)
    product = ring.SUBTRACT(t.add(y, shift, 64), shift)
    z = nearest(ring.SUBTRACT(ring.MULTIPLY(lifted(product, u_1, subtracts_nothing), of_1),
                              ring.MULTIPLY(lifted(product, u_2, subtracts_nothing), of_2)))
    z = ring.SUBTRACT(z, ring.MULTIPLY(nearest(ring.MULTIPLY(z, reciprocal)), s))
    return t.sub(ring.ADD(within(z, least, s, subtracts_nothing), shift), shift, 64)
