"""Floats to integers and back, and the bounds: the chapter encoding.md. A binary32 number is a
Python float whose value fits it."""

import math
import struct

from . import errors, parameters

ZERO_TOKEN = 2.0**-100


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


def round_even(value):
    """CONV-3. Python's round is exact and takes the even one of two."""
    return round(value)


def quantise(x, qa_max):
    """ENC-1: (q, scale)."""
    if not all(math.isfinite(value) for value in x):
        raise errors.BadInput("quantise", "ENC-1", "activation is not finite")
    max_abs = max((abs(value) for value in x), default=0.0)
    if max_abs < ZERO_TOKEN:
        return [0] * len(x), 1.0
    scale = float32(max_abs / qa_max)
    inverse = float32(qa_max / max_abs)
    q = [max(-qa_max, min(qa_max, round_even(float32(value * inverse)))) for value in x]
    return q, scale


def dequantise(y_int, row_scale, token_scale):
    """ENC-2: binary64, from left to right, then binary32."""
    return [float32(float(y) * delta * token_scale)
            for y, delta in zip(y_int, row_scale, strict=True)]


def activation_bound(row_norms, L):
    """ENC-3: qa_max of a group, by the L1 norms of the rows of its W_D."""
    row_max = max(row_norms, default=0)
    qa_max = parameters.QA_MAX
    if row_max:
        qa_max = min(qa_max, (L - 1) // 2 // row_max)
    errors.require(qa_max >= parameters.QA_MIN, "activation bound", "ENC-3",
                   "the group's activations would have fewer than 8 bits")
    return qa_max


def modulus_bound(row_norms, qa_max, L):
    """ENC-4."""
    errors.require(L >= 2 * qa_max * max(row_norms, default=0) + 1, "static bound", "ENC-4",
                   "the modulus does not hold every product")


def product_bound(W_int, qa_max):
    """ENC-5."""
    for row in W_int:
        errors.require(qa_max * sum(map(abs, row)) <= 2**63 - 1, "static bound", "ENC-5",
                       "a product does not fit 64 bits")
