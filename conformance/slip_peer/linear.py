"""Masking and one linear layer: the chapters masking.md and linear.md. A matrix is a list of
rows, a message a list of columns."""

import operator

from . import errors, parameters, ring

WIDTH = 2**64


def dot(row, x):
    return sum(map(operator.mul, row, x))


def mask(q, r, L):
    """MASK-1: x~ = embed(q) + r mod L."""
    return [ring.add(ring.embed(value, L), mask_value, L)
            for value, mask_value in zip(q, r, strict=True)]


def cancellation(W_D, r, L):
    """MASK-3: c = W_D r mod L."""
    return [dot(row, r) % L for row in W_D]


def unmask(y, c, L):
    """MASK-4: lift(y~ - c mod L)."""
    return [ring.lift(ring.subtract(a, b, L), L) for a, b in zip(y, c, strict=True)]


def product(W_D, columns, L):
    """LIN-1: David's product with every column."""
    for column in columns:
        ring.require_canonical(column, L, "multiply")
        errors.require(all(len(row) == len(column) for row in W_D), "multiply", "LIN-1",
                       "a column has as many entries as the matrix has columns")
    return [[dot(row, column) % L for row in W_D] for column in columns]


class Dense:
    """What David holds of a group: the stacked W_D. A column is a vector of `inputs` entries; what
    comes back has `outputs`."""

    def __init__(self, W_D):
        self.W_D = W_D
        self.inputs, self.outputs = len(W_D[0]), len(W_D)

    def product(self, columns, L):
        return product(self.W_D, columns, L)

    def cancellation(self, r, L):
        return cancellation(self.W_D, r, L)

    def checked(self, x_masked, y_masked):
        """INTEG-3: the columns on which the check looks, and the replies to them."""
        return x_masked, y_masked


def low_rank(A, B, q, y_D):
    """LIN-2, DECO-7: 2^t y_D + A (B q), in 64 bits that may wrap on the way."""
    z = [dot(row, q) for row in B]
    return [signed((davids << parameters.T) + dot(row, z))
            for row, davids in zip(A, y_D, strict=True)]


def signed(value):
    """A number mod 2^64, read as two's complement."""
    value %= WIDTH
    return value - WIDTH if value >= WIDTH // 2 else value
