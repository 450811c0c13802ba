"""IEEE 754 as the proofs see it: each operation is an uninterpreted function of its operands' bits.

What is proved of float code is that it performs the same operations on the same operands as the
specification, in the same order. Sums and products are commutative: their operands are sorted. (The
processor's are not in one case: of two NaNs the result is the first.)

On numbers an operation is what the processor does in its default mode: to nearest, ties to even.
hardware.py compares. A binary32 result is rounded from binary64, which is exact or has so many bits
more that rounding twice is rounding once."""

import math
import struct
from fractions import Fraction

import terms as t

SIGN = {32: 1 << 31, 64: 1 << 63}
INFINITY = {32: 0x7f800000, 64: 0x7ff << 52}
QUIET = {32: 1 << 22, 64: 1 << 51}


def magnitude(bits, width):
    return bits & ~SIGN[width]


def is_nan(bits, width):
    return magnitude(bits, width) > INFINITY[width]


def number(bits, width):
    return struct.unpack("<f" if width == 32 else "<d", bits.to_bytes(width // 8, "little"))[0]


def bits_of(x, width):
    try:
        return int.from_bytes(struct.pack("<f" if width == 32 else "<d", x), "little")
    except OverflowError:
        return INFINITY[width] | (SIGN[width] if x < 0 else 0)


def arithmetic(function):
    def run(width, a, b):
        for bits in (a, b):
            if is_nan(bits, width):
                return bits | QUIET[width]
        x = function(number(a, width), number(b, width))
        return SIGN[width] | INFINITY[width] | QUIET[width] if math.isnan(x) else bits_of(x, width)
    return run


def divide(x, y):
    if y:
        return x / y
    return math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1, y)


def narrow(bits):
    if is_nan(bits, 64):
        return bits >> 32 & SIGN[32] | INFINITY[32] | QUIET[32] | bits >> 29 & (QUIET[32] - 1)
    return bits_of(number(bits, 64), 32)


def widen(bits):
    if is_nan(bits, 32):
        return (bits & SIGN[32]) << 32 | INFINITY[64] | QUIET[64] | (bits & (QUIET[32] - 1)) << 29
    return bits_of(number(bits, 32), 64)


def nearest_integer(width):
    def run(bits):
        x = number(bits, width)
        whole = round(x) if math.isfinite(x) else 1 << 31
        return whole & t.mask(32) if -(1 << 31) <= whole < 1 << 31 else 1 << 31
    return run


def integer_part(bits):
    x = number(bits, 64)
    whole = math.trunc(x) if math.isfinite(x) else 1 << 31
    return whole & t.mask(32) if -(1 << 31) <= whole < 1 << 31 else 1 << 31


def whole_number(bits):
    """The nearest integer, as a binary64."""
    if is_nan(bits, 64):
        return bits | QUIET[64]
    x = number(bits, 64)
    return bits & SIGN[64] | magnitude(bits_of(float(round(x)), 64), 64) if math.isfinite(x) else bits


def root(width):
    def run(bits):
        if is_nan(bits, width):
            return bits | QUIET[width]
        x = number(bits, width)
        if x < 0:
            return SIGN[width] | INFINITY[width] | QUIET[width]
        return bits_of(math.sqrt(x), width) if x else bits
    return run


def fused(bits, negative):
    """a b + c, or -a b + c, rounded once, of binary64; of several NaNs the first."""
    for v in bits:
        if is_nan(v, 64):
            return v | QUIET[64]
    a, b, c = (number(v, 64) for v in bits)
    a = -a if negative else a
    if not all(map(math.isfinite, (a, b, c))):
        x = math.copysign(1, a) * math.copysign(1, b) * (
            math.nan if 0 in (a, b) else math.inf) + c if math.inf in map(abs, (a, b)) else c
        return SIGN[64] | INFINITY[64] | QUIET[64] if math.isnan(x) else bits_of(x, 64)
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:  # the sign of a sum of zeros, or +0
        return bits_of(a * b + c if a * b == 0 == c and 0 in (a, b) else 0.0, 64)
    try:
        size = float(abs(exact))
    except OverflowError:
        size = math.inf
    return bits_of(-size if exact < 0 else size, 64)


def operation(name, widths, result, function, commutative=False):
    opaque = t.opaque(name, widths, result, function)

    def apply(*operands):
        if commutative and not any(map(t.is_int, operands)):
            operands = sorted(operands, key=t.ident)
        elif commutative:
            operands = sorted(operands, key=t.is_int)
        return opaque(*operands)
    return apply if commutative else opaque


def of_width(name, function, commutative=False):
    """An operation of two operands in binary32 and in binary64."""
    run = arithmetic(function)
    return {w: operation(f"{name}{w}", (w, w), w, lambda a, b, w=w: run(w, a, b), commutative)
            for w in (32, 64)}


def add(width):
    """a + b. A sum of +0 and anything is never -0, nor is one of such a sum, and it stays as it is when
    +0 is added."""
    plain = of_width("add", lambda x, y: x + y, True)[width]

    def apply(a, b):
        for one, other in ((a, b), (b, a)):
            if t.is_int(one) and one == 0 and not t.is_int(other) and t.ident(other) in t.POSITIVE:
                return other
        total = plain(a, b)
        if not t.is_int(total) and any(v == 0 if t.is_int(v) else t.ident(v) in t.POSITIVE
                                       for v in (a, b)):
            t.POSITIVE[t.keep(total)] = total
        return total
    return apply


ADD = {w: add(w) for w in (32, 64)}
MULTIPLY = of_width("multiply", lambda x, y: x * y, True)


def subtract(width):
    """a - b. Of a number c, a - c is a + -c, and a - b c is a + b (-c): compilers write either."""
    plain = of_width("subtract", lambda x, y: x - y)[width]

    def negated(b):
        """-b where b is a number or a product with one; else None."""
        if t.is_int(b):
            return b ^ SIGN[width]
        if t.ident(b) in t.APPLIED and b.decl().name() == f"multiply{width}":
            factor, number = t.parts_of(b)
            if t.is_number(number):
                return MULTIPLY[width](factor, number.as_long() ^ SIGN[width])
        return None

    def apply(a, b):
        other = None if t.is_int(a) and t.is_int(b) else negated(b)
        return plain(a, b) if other is None else ADD[width](a, other)
    return apply


SUBTRACT = {w: subtract(w) for w in (32, 64)}
DIVIDE = of_width("divide", divide)


def fused_operation(name, negative):
    """Of a number b, c - a b is c + a (-b): compilers write either."""
    opaque = t.opaque(name, (64, 64, 64), 64, lambda *bits: fused(bits, negative))

    def apply(a, b, c):
        if t.is_int(a) != t.is_int(b):
            a, b = (b, a) if t.is_int(a) else (a, b)
        elif not t.is_int(a) and t.ident(a) > t.ident(b):
            a, b = b, a
        if negative and t.is_int(b) and not t.is_int(a) and not is_nan(b, 64):
            return PLUS_PRODUCT(a, b ^ SIGN[64], c)
        return opaque(a, b, c)
    return apply


# c + a b and c - a b, rounded once; the factors are commutative.
PLUS_PRODUCT = fused_operation("plus product", False)
MINUS_PRODUCT = fused_operation("minus product", True)
NARROW = operation("binary32 of binary64", (64,), 32, narrow)
WIDEN = operation("binary64 of binary32", (32,), 64, widen)
ROUND = {w: operation(f"nearest integer of binary{w}", (w,), 32, nearest_integer(w)) for w in (32, 64)}
TRUNCATE = operation("integer part of binary64", (64,), 32, integer_part)
WHOLE = operation("nearest whole number", (64,), 64, whole_number)
SQUARE_ROOT = {w: operation(f"square root {w}", (w,), w, root(w)) for w in (32, 64)}


def nearest(v, width):
    """The float that an integer is rounded to, once: of its lowest bits binary32 only takes whether any is
    set."""
    size = abs(v)
    lost = max(0, size.bit_length() - 40) if width == 32 else 0
    size = (size >> lost | bool(size & t.mask(lost))) << lost
    return bits_of(float(-size if v < 0 else size), width)


# (width of the integer, width of the float)
FROM_INTEGER = {(i, f): operation(f"binary{f} of int{i}", (i,), f, lambda v, i=i, f=f: nearest(
    t.signed(v, i), f)) for i, f in ((32, 32), (32, 64), (64, 32), (64, 64))}
# Of an integer without a sign, by its width, in binary64.
FROM_UNSIGNED = {i: operation(f"binary64 of uint{i}", (i,), 64, lambda v: bits_of(float(v), 64))
                 for i in (32, 64)}


def ordered(a, b, width):
    """(a < b or unordered, a = b or unordered, unordered) of two floats, exactly: their bits without the
    sign are ordered as they are."""
    keys, unordered = [], []
    for v in (a, b):
        size = t.band(v, t.mask(width - 1), width)
        keys.append(t.choose(t.compare("slt", v, 0, width), t.sub(0, size, width), size, width))
        unordered.append(t.compare("ult", INFINITY[width], size, width))
    either = t.both(*unordered, "or")
    return (t.both(either, t.compare("slt", *keys, width), "or"),
            t.both(either, t.compare("eq", *keys, width), "or"), either)


# Whether a < b, and so neither is a NaN: a bit, and the condition.
LESS = {w: operation(f"less{w}", (w, w), 1, lambda a, b, w=w: int(number(a, w) < number(b, w)))
        for w in (32, 64)}


def is_so(bit):
    """The condition that a bit of LESS stands for."""
    return bit == 1


def is_less(a, b, width=64):
    return is_so(LESS[width](a, b))


def greater(a, b, width):
    """a if a > b, else b: what max instructions leave of two operands. Of zeros, or if one is a NaN, b."""
    return t.choose(is_less(b, a, width), a, b, width)
