"""Arithmetic that instructions of several processors do."""

import z3

import terms as t


def product(m, a, b, width, signed):
    """a * b as 2 * width bits."""
    if t.is_int(a) and t.is_int(b):
        if signed:
            a, b = t.signed(a, width), t.signed(b, width)
        return a * b & t.mask(2 * width)
    if t.is_int(b):
        a, b = b, a
    if t.is_int(a):
        if a == 0:
            return 0
        extend = t.sign_extend if signed else t.zero_extend
        factor = t.signed(a, width) if signed else a
        return t.scale(extend(b, width, 2 * width), factor & t.mask(2 * width), 2 * width)
    return t.extract(m.product(a, b, width, signed), 0, 2 * width)


def in_parts(function):
    """A function of bits, written in parts of the machine's logic_width, or of what consists of parts in
    words."""
    def run(m, a, b, width):
        size = min(width, m.logic_width or width)
        if m.words_apart and any(not t.is_int(v) and t.kind(v) == z3.Z3_OP_CONCAT for v in (a, b)):
            size = min(size, 16)
        parts = [(function(t.extract(a, low, size), t.extract(b, low, size), size), size)
                 for low in reversed(range(0, width, size))]
        return t.concat(parts)
    return run


conjunction, disjunction = in_parts(t.band), in_parts(t.bor)
conjunction_of_not = in_parts(lambda a, b, w: t.band(t.invert(a, w), b, w))
exclusive = in_parts(lambda a, b, w: (t.exclusive if w == 8 else t.bxor)(a, b, w))
