"""The integers mod L, and their residues in planes: the chapter ring.md. A residue mod L is an int
in 0..L-1 (CONV-1). L is the product of some primes, and a column of n residues is h * n bytes:
plane after plane, that of prime p holding the n residues mod p."""

import functools
import math

from . import errors


def add(a, b, L):
    """RING-1."""
    return (a + b) % L


def subtract(a, b, L):
    """RING-1."""
    return (a - b) % L


def multiply(a, b, L):
    """RING-1."""
    return a * b % L


def embed(v, L):
    """RING-2: Z -> Z_L."""
    return v % L


def lift(r, L):
    """RING-3: the representative of least absolute value."""
    return r if r <= (L - 1) // 2 else r - L


def modulus(primes):
    return math.prod(primes)


def inverses(primes):
    """RING-5: (L / p)^-1 mod p, of each prime p."""
    L = modulus(primes)
    return [pow(L // p, -1, p) for p in primes]


def split(residues, primes):
    """RING-5: the column with these residues mod L."""
    return b"".join(bytes(r % p for r in residues) for p in primes)


def join(column, primes):
    """RING-5: the residues mod L of a column that is canonical."""
    L = modulus(primes)
    parts = [[r * inverse % p * (L // p) for r in plane] for p, inverse, plane
             in zip(primes, inverses(primes), planes(column, primes), strict=True)]
    return [sum(entry) % L for entry in zip(*parts)]


def planes(column, primes):
    """The planes of a column, in the order of their primes."""
    n = len(column) // len(primes)
    return [column[p * n:(p + 1) * n] for p in range(len(primes))]


def rows(column, primes, first, last):
    """Some rows of a column, a column themselves."""
    return b"".join(plane[first:last] for plane in planes(column, primes))


def encode(residues, primes):
    """RING-5: the bytes of residues; one that is not in 0..L-1 is refused."""
    errors.require(all(0 <= r < modulus(primes) for r in residues), "encode", "CONV-1",
                   "a residue is not in 0..L-1")
    return split(residues, primes)


def decode(column, primes):
    """CONV-1, RING-5: the residues of bytes; those that are no column are refused."""
    require_canonical(column, primes, "read residues")
    return join(column, primes)


@functools.cache
def below(p):
    """The bytes that are residues mod p."""
    return bytes(range(p))


def fault(column, primes):
    """CONV-1: why bytes are not a column; None if they are one."""
    if len(column) % len(primes):
        return "a plane is cut"
    for number, (p, plane) in enumerate(zip(primes, planes(column, primes))):
        if plane.translate(None, below(p)):  # a byte that is not below p is left
            row = next(row for row, r in enumerate(plane) if r >= p)
            return f"plane {number}, row {row}: {plane[row]} is not below {p}"
    return None


def require_canonical(column, primes, step):
    found = fault(column, primes)
    errors.require(found is None, step, "CONV-1", found)
