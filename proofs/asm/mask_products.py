"""The contracts of the products of lattice masks, optimized/masks/contracts.hpp: every operation on floats in
its order, and the residues of what these leave.

The last float of a coefficient, reduced modulo a pair of primes, is assumed to be an integer of at most half
the pair's product and 1 in magnitude, as optimized/masks/leaf/rows.hpp derives."""

import z3

import floats
import ring
import terms as t
from masks import DEGREE, LOW_BITS, POINTS, bits, nearest
from spec import PRIMES, modulus, remainder

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
    return (floats.TRUNCATE if backend in ("portable", "neon") else floats.ROUND[64])(x)


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

def point(arithmetic, row, column):
    """The sum over the elements of a row's value times a column's."""
    re = im = 0
    for a, b in zip(row, column):
        re = arithmetic.minus(arithmetic.plus(re, a.re, b.re), a.im, b.im)
        im = arithmetic.plus(arithmetic.plus(im, a.re, b.im), a.im, b.re)
    return ring.Complex(re, im)


# --- stored rows ----------------------------------------------------------------------------------

RESIDUES, CENTRED, ROUNDED = range(3)  # Coding
TWO_TO_52, TWO_TO_43 = 1 << 52, 1 << 43
ROUNDED_PAIR = 11  # bytes


def stored_integers(coding, planes, stored):
    """The integers of an element as it is stored, its coefficients in order: of each its bytes, or what of a
    byte it has, (value, width), the highest first."""
    if coding != ROUNDED:
        return [[(v, 8) for v in reversed(stored[k:k + planes])] for k in range(0, DEGREE * planes, planes)]
    pairs = [stored[k:k + ROUNDED_PAIR] for k in range(0, POINTS * ROUNDED_PAIR, ROUNDED_PAIR)]
    return [[(t.extract(pair[5], 0, 4), 4), *((v, 8) for v in pair[4::-1])] for pair in pairs] + [
        [*((v, 8) for v in pair[:5:-1]), (t.extract(pair[5], 4, 4), 4)] for pair in pairs]


def parts_of(coding, stored, subtracts_nothing=False):
    """What is transformed of an integer: the halves, or the one number. Its bits below those of 2^52 are a
    float that is 2^52 more. Where nothing is to be subtracted, code subtracts 0 or nothing
    (`masks.lemma_of_zero`)."""
    def number(own, offset=TWO_TO_52):
        width = sum(size for _, size in own)
        return ring.SUBTRACT(t.concat([(bits(TWO_TO_52) >> width, 64 - width), *own]), bits(offset))
    if coding == RESIDUES:
        return [number(stored[-3:]), number(stored[:-3])]
    if coding == ROUNDED:
        return [number(stored, TWO_TO_52 + TWO_TO_43)]
    x, whole = number(stored), modulus(5)
    is_above = floats.is_less(bits((whole - 1) // 2), x)
    return [t.choose(is_above, ring.SUBTRACT(x, bits(whole)), x, 64) if subtracts_nothing
            else ring.SUBTRACT(x, t.choose(is_above, bits(whole), 0, 64))]


def row_bytes(coding, planes):
    """Of an element."""
    return POINTS * ROUNDED_PAIR if coding == ROUNDED else DEGREE * planes
