"""Floats to integers and back, and the bounds: the chapter encoding.md. A binary32 number is a
Python float whose value fits it."""

import math
import struct

from . import errors, parameters

ZERO_TOKEN = 2.0**-100
LANES = 8


def float32(value):
    """Rounds to binary32, to nearest, ties to even; beyond the range infinite."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def float32_of(bits):
    return struct.unpack(">f", bytes.fromhex(bits))[0]


def float64_of(bits):
    return struct.unpack(">d", bytes.fromhex(bits))[0]


def bits_of(value):
    return struct.pack(">f", value).hex()


def bits64_of(value):
    return struct.pack(">d", value).hex()


def round_even(value):
    """CONV-3. Python's round is exact and takes the even one of two."""
    return round(value)


def ordered_sum(terms):
    """ENC-1: the sum in binary64, in eight lanes."""
    lanes = [0.0] * LANES
    for index, term in enumerate(terms):
        lanes[index % LANES] += term
    halves = [low + high for low, high in zip(lanes[:LANES // 2], lanes[LANES // 2:])]
    return ((halves[0] + halves[1]) + halves[2]) + halves[3]


def target_norm(activation_norm, n):
    """ENC-1: the 2-norm before rounding, which adds sqrt(n) / 2 at most."""
    return activation_norm - (math.sqrt(n) + 1) / 2


def quantise(x, activation_norm):
    """ENC-1: (q, scale)."""
    if not all(math.isfinite(value) for value in x):
        raise errors.BadInput("quantise", "ENC-1", "activation is not finite")
    if max((abs(value) for value in x), default=0.0) < ZERO_TOKEN:
        return [0] * len(x), 1.0
    norm = math.sqrt(ordered_sum(value * value for value in x))
    target = target_norm(activation_norm, len(x))
    inverse = target / norm
    return [round_even(value * inverse) for value in x], float32(norm / target)


def dequantise(y_int, row_scale, token_scale):
    """ENC-2: binary64, from left to right, then binary32."""
    return [float32(float(y) * delta * token_scale)
            for y, delta in zip(y_int, row_scale, strict=True)]


def row_norm(row_squares):
    """ENC-3: B_w, the least integer whose square is no less than any of these."""
    largest = max(row_squares, default=0)
    root = math.isqrt(largest)
    return root if root * root == largest else root + 1


def squares(W_D):
    """The sum of squares of each row."""
    return [sum(w * w for w in row) for row in W_D]


def activation_bound(row_squares, L):
    """ENC-3: B_q, the activation norm of a group."""
    B_w, norm = row_norm(row_squares), parameters.NORM_MAX
    if B_w:
        norm = min(norm, (L - 1) // 2 // B_w)
    errors.require(norm >= parameters.NORM_MIN, "activation bound", "ENC-3",
                   f"the group's activation norm is {norm}, less than {parameters.NORM_MIN}")
    return norm


def modulus_bound(row_squares, activation_norm, L):
    """ENC-4."""
    errors.require(row_norm(row_squares) * activation_norm <= (L - 1) // 2, "static bound", "ENC-4",
                   "the modulus does not hold every product")


def lattice_bound(row_squares, activation_norm, lattice):
    """ENC-4 with lattice masks: no more than PARAM-5 allows."""
    errors.require(max(row_squares) <= lattice.B_w**2, "static bound", "ENC-4",
                   f"a row of W_D has a norm above {lattice.B_w}")
    errors.require(activation_norm <= lattice.B_q, "static bound", "ENC-4",
                   f"the activation norm is {activation_norm}, more than {lattice.B_q}")


def product_bound(W_int, activation_norm):
    """ENC-5."""
    for row in W_int:
        errors.require(activation_norm * sum(map(abs, row)) <= 2**63 - 1, "static bound", "ENC-5",
                       "a product does not fit 64 bits")
