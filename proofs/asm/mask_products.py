"""The contracts of the products of lattice masks, optimized/masks/contracts.hpp: every operation on floats in
its order, and the residues of what these leave.

The last float of a coefficient, reduced modulo a pair of primes, is assumed to be an integer of at most half
the pair's product and 1 in magnitude, as optimized/masks/leaf/rows.hpp derives."""

import z3

import floats
import ring
import terms as t
from masks import (DEGREE, LANES, LOW_BITS, POINTS, bits, doubles, nearest, place_in_matrix, symbol,
                   transform_of, workspace)
from spec import PRIMES, remainder

THREE_TO_51 = bits(3 << 51)


class Pair:
    """Two primes, modulo whose product a float is reduced."""

    def __init__(self, first):
        self.modulus = PRIMES[first] * PRIMES[first + 1]
        weight = (1 << LOW_BITS) % self.modulus
        self.weight = weight - self.modulus if weight > self.modulus // 2 else weight
        self.largest = self.modulus // 2 + 1


PAIRS = [Pair(first) for first in (0, 2, 4)]


def reduced(arithmetic, pair, low, high=None):
    """The float congruent to low + 2^24 high modulo a pair of primes."""
    total = nearest(low)
    if high is not None:
        total = arithmetic.plus(total, nearest(high), bits(pair.weight))
    quotient = arithmetic.plus(THREE_TO_51, total, bits(1 / pair.modulus))
    return arithmetic.minus(total, ring.SUBTRACT(quotient, THREE_TO_51), bits(pair.modulus))


def as_integer(backend, x):
    """Of a float that is an integer: how the backend converts it, one of 32 bits."""
    return (floats.TRUNCATE if backend == "portable" else floats.ROUND[64])(x)


class Residues:
    """Proves bytes to be residues of reduced floats times a factor."""

    def __init__(self, run, backend):
        self.run, self.backend = run, backend
        self.any = [run.fresh(f"reduced_{q}[0]", 16, lambda v, most=pair.largest: [v >= -most, v <= most])
                    for q, pair in enumerate(PAIRS)]

    def expect(self, where, x, plane, what, factor=1):
        """That the byte at `where` is x factor modulo the plane's prime, for every x that is an integer in
        the range of its pair."""
        prime, v = PRIMES[plane], self.any[plane // 2]
        code = z3.substitute(t.term(self.run.output(where, 8), 8),
                             (as_integer(self.backend, x), z3.SignExt(16, v)))
        most = -(-PAIRS[plane // 2].largest // prime) * prime
        spec = remainder((z3.SignExt(16, v) + most) * factor, prime)
        self.run.expect(code, z3.Extract(7, 0, spec), 8, what)


# --- a small matrix -------------------------------------------------------------------------------

def halves_of(v):
    """The low 24 bits of a signed number of 64, and those above, as floats."""
    return [floats.FROM_INTEGER[64, 64](half) for half in (
        t.band(v, t.mask(LOW_BITS), 64), t.sar(v, LOW_BITS, 64))]


def point(arithmetic, row, column):
    """The sum over the elements of a row's value times a column's."""
    re = im = 0
    for a, b in zip(row, column):
        re = arithmetic.minus(arithmetic.plus(re, a.re, b.re), a.im, b.im)
        im = arithmetic.plus(arithmetic.plus(im, a.re, b.im), a.im, b.re)
    return ring.Complex(re, im)


def multiply_matrix(image, run, backend, elements, m, planes):
    """HIDE-4: every operation of multiply_small_matrix, of any roots, any matrix and any column, and the
    residues of what they give."""
    lanes = LANES[backend]
    roots_at, transform = transform_of(run, backend)
    rows = -(-m // (lanes * DEGREE)) * lanes
    matrix_at, matrix = doubles(run, "matrix", 2 * rows * POINTS * elements, 64)
    y_at, y = run.array("y", elements * DEGREE, 64)
    workspace_at = workspace(run, backend, elements, 1)
    out_at = run.room(planes * m, 1)
    run.machine.call(symbol(backend, "multiply_small_rows"),
                     [roots_at, matrix_at, elements, y_at, m, planes, workspace_at, out_at])
    halves = [halves_of(v) for v in y]
    columns = [[transform.values([ring.Complex(halves[l * DEGREE + j][h], halves[l * DEGREE + j + POINTS][h])
                                  for j in range(POINTS)]) for l in range(elements)] for h in (0, 1)]
    residues = Residues(run, backend)
    for row in range(-(-m // DEGREE)):
        products = []
        for column in columns:
            values = []
            for k in range(POINTS):
                places = [place_in_matrix(lanes, elements, row, l, k) for l in range(elements)]
                values.append(point(transform.arithmetic, [
                    ring.Complex(matrix[at], matrix[at + lanes]) for at in places], [
                        element[k] for element in column]))
            products.append(transform.coefficients(values))
        for i in range(min(DEGREE, m - row * DEGREE)):
            low, high = (product[i % POINTS][i // POINTS] for product in products)
            for q, pair in enumerate(PAIRS[:(planes + 1) // 2]):
                x = reduced(transform.arithmetic, pair, low, high)
                for p in range(2 * q, min(2 * q + 2, planes)):
                    at = row * DEGREE + i
                    residues.expect(out_at + p * m + at, x, p, f"residue {at} of plane {p}")
