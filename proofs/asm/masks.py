"""The contracts of the leaves of lattice masks, optimized/masks/contracts.hpp."""

import z3

import floats
import ring
import terms as t
from spec import PRIMES, below, modulus, remainder

SPACE = "slip::masks::"
LANES = {"portable": 2, "avx2": 4, "avx512": 8}


def symbol(backend, function):
    """A function of a backend's lanes, as Image names it."""
    return f"{SPACE}{function}<{SPACE}{backend}::Lanes>"


def small_integer(nibble):
    """RAND-9 with eta = 2: the sum of two bits less that of the two above them, as one of 8 bits."""
    bits = [z3.ZeroExt(7, t.term(t.extract(nibble, k, 1), 1)) for k in range(4)]
    return bits[0] + bits[1] - bits[2] - bits[3]


def add_noise(image, run, backend, n, planes):
    """MASK-7: tau e is added to each residue of a column, in place, for any residues of tau."""
    run.machine.logic_width = 8
    run.machine.is_public = lambda v: all(
        x.decl().name().startswith("tau_") for x in run.variables_of(v))
    stream_at, stream = run.array("stream", (n + 1) // 2, 8)
    tau_at = run.place(planes, 1)
    column_at = run.room(planes * n, 1)
    taus, columns = [], []
    for p, prime in enumerate(PRIMES[:planes]):
        taus += run.elements(f"tau_{p}", 1, 8, below(prime))
        columns.append(run.elements(f"column_{p}", n, 8, below(prime)))
        run.machine.memory[tau_at + p] = taus[p], 0
        run.machine.memory |= {column_at + p * n + j: (v, 0) for j, v in enumerate(columns[p])}
    run.machine.call(symbol(backend, "add_noise_to_column"), [stream_at, n, planes, tau_at, column_at])
    for p, prime in enumerate(PRIMES[:planes]):
        for j in range(n):
            e = small_integer(t.extract(stream[j // 2], 4 * (j % 2), 4))
            # Of magnitude 2 at most: so many times tau less, and 2 primes more, is positive.
            more = z3.SignExt(8, e) * z3.ZeroExt(8, taus[p]) + 2 * prime
            spec = remainder(z3.ZeroExt(8, columns[p][j]) + more, prime)
            run.expect(run.output(column_at + p * n + j, 8), z3.Extract(7, 0, spec), 8,
                       f"residue {j} of plane {p}")


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


def workspace(run, backend, elements, blocks):
    """Room of which anything may be the content, as large as the backend says."""
    run.machine.call(f"{SPACE}Places<{SPACE}{backend}::Lanes>::bytes", [elements, blocks])
    size = run.machine.returned()
    run.machine.junk, run.machine.words_apart = set(), True
    at = run.room(size, 64)
    run.machine.memory |= enumerate(run.machine.unknown_cells(size), at)
    return at


def small_elements(run, count):
    """(address, their coefficients) of ring elements of small integers."""
    at, numbers = run.array("small", count * DEGREE, 8)
    return at, [numbers[k * DEGREE:(k + 1) * DEGREE] for k in range(count)]


def small_values(transform, element):
    """The values of an element over 128, whose coefficients are small integers."""
    def scaled(v):
        integer = floats.FROM_INTEGER[32, 64](t.term(t.sign_extend(v, 8, 32), 32))
        return ring.MULTIPLY(integer, bits(1 / POINTS))
    return transform.values([ring.Complex(scaled(element[j]), scaled(element[j + POINTS]))
                             for j in range(POINTS)])


def transform_secret(image, run, backend, elements):
    """Every operation of transform_secret, of any roots."""
    roots_at, transform = transform_of(run, backend)
    small_at, small = small_elements(run, elements)
    workspace_at = workspace(run, backend, elements, 1)
    spectrum_at = run.room(2 * elements * POINTS * 8, 8)
    run.machine.call(symbol(backend, "transform_secret_elements"),
                     [roots_at, small_at, elements, workspace_at, spectrum_at])
    for l, element in enumerate(small):
        for k, value in enumerate(small_values(transform, element)):
            at = spectrum_at + 16 * (k * elements + l)
            for part, expected in enumerate(value):
                run.expect_same(run.output(at + 8 * part, 64), expected, f"value {k} of element {l}")


def nearest(x):
    """The nearest integer: 3 * 2^51 is added, and subtracted."""
    return ring.SUBTRACT(ring.ADD(x, bits(3 << 51)), bits(3 << 51))


# --- a small matrix -------------------------------------------------------------------------------

def matrix_doubles(run, backend, rows, elements):
    """What small_matrix_doubles returns, proved: whole groups of lanes."""
    run.machine.call(symbol(backend, "small_matrix_doubles"), [rows, elements])
    lanes = LANES[backend]
    count = -(-rows // lanes) * lanes * 2 * POINTS * elements
    run.expect(run.machine.returned(), count, 64, "the number of doubles")
    return count


def place_in_matrix(lanes, elements, row, l, k):
    """Where the real part of value k of element l of a row stands, in doubles; the imaginary one `lanes`
    further."""
    return ((row // lanes * POINTS + k) * elements + l) * 2 * lanes + row % lanes


def transform_matrix(image, run, backend, rows, elements):
    """HIDE-4: every operation of transform_small_matrix, of any roots. In lanes behind the last row stand
    the values of 0."""
    lanes = LANES[backend]
    count = matrix_doubles(run, backend, rows, elements)
    roots_at, transform = transform_of(run, backend)
    small_at, small = small_elements(run, rows * elements)
    workspace_at = workspace(run, backend, elements, 1)
    matrix_at = run.room(8 * count, 64)
    run.machine.call(symbol(backend, "transform_small_rows"),
                     [roots_at, small_at, rows, elements, workspace_at, matrix_at])
    nothing = transform.values([ring.Complex(0, 0)] * POINTS)
    for row in range(count // (2 * POINTS * elements)):
        for l in range(elements):
            values = small_values(transform, small[row * elements + l]) if row < rows else nothing
            for k, value in enumerate(values):
                at = matrix_at + 8 * place_in_matrix(lanes, elements, row, l, k)
                for part, expected in enumerate(value):
                    run.expect_same(run.output(at + 8 * lanes * part, 64), expected,
                                    f"value {k} of element {l} of row {row}")


def within(x, least, whole):
    """The representative from `least` on of what is less than `whole` away from one."""
    above = floats.is_less(ring.SUBTRACT(ring.ADD(least, whole), bits(1)), x)
    x = ring.SUBTRACT(x, t.choose(above, whole, 0, 64))
    return ring.ADD(x, t.choose(floats.is_less(x, least), whole, 0, 64))


def lifted(y, u):
    """HIDE-5: u y mod L, centred, from halves of y and of L."""
    whole, unit = modulus(6), 1 << LOW_BITS
    multiply, subtract = ring.MULTIPLY, ring.SUBTRACT
    high = nearest(multiply(y, bits(1 / unit)))
    low = subtract(y, multiply(high, bits(unit)))
    quotient = nearest(multiply(multiply(y, u), bits(1 / whole)))
    upper = subtract(multiply(high, u), multiply(quotient, bits(whole // unit)))
    lower = subtract(multiply(low, u), multiply(quotient, bits(whole % unit)))
    return within(ring.ADD(multiply(upper, bits(unit)), lower), bits(-(whole // 2)), bits(whole))


def decode(image, run, backend, count):
    """HIDE-5: every operation of decode, of any numbers of a width. No operation is fused."""
    by_at, (u_1, u_2, of_1, of_2, s, reciprocal, least) = doubles(run, "by", 7)
    y_at, y = run.array("y", count, 64)
    run.machine.free.append((y_at, y_at + 8 * count))
    run.machine.call(symbol(backend, "decode_all"), [by_at, count, y_at])
    shift = bits(3 << 51)
    for k, v in enumerate(y):
        product = ring.SUBTRACT(t.add(v, shift, 64), shift)
        z = nearest(ring.SUBTRACT(ring.MULTIPLY(lifted(product, u_1), of_1),
                                  ring.MULTIPLY(lifted(product, u_2), of_2)))
        z = ring.SUBTRACT(z, ring.MULTIPLY(nearest(ring.MULTIPLY(z, reciprocal)), s))
        expected = t.sub(ring.ADD(within(z, least, s), shift), shift, 64)
        run.expect_same(run.output(y_at + 8 * k, 64), expected, f"element {k}")
