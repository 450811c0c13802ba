"""Masking and one linear layer: the chapters masking.md and linear.md. A matrix is a list of
rows, a message a list of columns; a masked one is bytes, as ring.py says."""

import operator

from . import errors, parameters, ring

WIDTH = 2**64


def dot(row, x):
    return sum(map(operator.mul, row, x))


def mask(q, r, primes):
    """MASK-1: x~ = embed(q) + r, in each plane."""
    ring.require_canonical(r, primes, "mask")
    return b"".join(bytes(ring.add(ring.embed(value, p), mask_value, p)
                          for value, mask_value in zip(q, plane, strict=True))
                    for p, plane in zip(primes, ring.planes(r, primes)))


def times(W_D, column, primes):
    """W_D times a column, in each plane."""
    return b"".join(bytes(dot(row, plane) % p for row in W_D)
                    for p, plane in zip(primes, ring.planes(column, primes)))


def cancellation(W_D, r, primes):
    """MASK-3: c = W_D r."""
    return times(W_D, r, primes)


def unmask(y, c, primes):
    """MASK-4: lift(y~ - c mod L)."""
    for column in (y, c):
        ring.require_canonical(column, primes, "unmask")
    difference = b"".join(
        bytes(ring.subtract(a, b, p) for a, b in zip(of_y, of_c, strict=True))
        for p, of_y, of_c in zip(primes, ring.planes(y, primes), ring.planes(c, primes)))
    L = ring.modulus(primes)
    return [ring.lift(r, L) for r in ring.join(difference, primes)]


def product(W_D, columns, primes):
    """LIN-1: David's product with every column."""
    for column in columns:
        require_column(column, len(W_D[0]), primes, "LIN-1")
    return [times(W_D, column, primes) for column in columns]


def require_column(column, inputs, primes, clause):
    errors.require(len(column) == inputs * len(primes), "multiply", clause,
                   "a column has as many entries as its group")
    ring.require_canonical(column, primes, "multiply")


class Columns:
    """A group whose columns are vectors, of `inputs` entries; what comes back has `outputs`."""

    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = inputs, outputs

    def checked(self, x_masked, y_masked, primes):
        """INTEG-3: the columns on which the check looks, and the replies to them."""
        return x_masked, y_masked


class Dense(Columns):
    """What David holds of a group: the stacked W_D."""

    def __init__(self, W_D):
        super().__init__(len(W_D[0]), len(W_D))
        self.W_D = W_D

    def product(self, columns, primes):
        return product(self.W_D, columns, primes)

    def cancellation(self, r, primes):
        return cancellation(self.W_D, r, primes)


def low_rank(A, B, q, y_D):
    """LIN-2, DECO-7: 2^t y_D + A (B q), in 64 bits that may wrap on the way."""
    z = [dot(row, q) for row in B]
    return [signed((davids << parameters.T) + dot(row, z))
            for row, davids in zip(A, y_D, strict=True)]


def signed(value):
    """A number mod 2^64, read as two's complement."""
    value %= WIDTH
    return value - WIDTH if value >= WIDTH // 2 else value
