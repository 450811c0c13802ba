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


def part_width(m, operands, width):
    """The bits at a time in which a function of bits is written: `apart` where an operand is of several
    parts, as concatenations that are nested otherwise are different terms."""
    is_of_parts = any(not t.is_int(v) and type(v) is not t.Sum and t.kind(v) == z3.Z3_OP_CONCAT
                      for v in operands)
    return min(width, m.apart) if m.apart and is_of_parts else width


def by_parts(function, operands, width, size):
    """A function of bits, written `size` of them at a time."""
    return t.concat([(function([t.extract(v, low, size) for v in operands], size), size)
                     for low in reversed(range(0, width, size))])


def in_parts(function):
    """A function of bits, written in parts of the machine's logic_width, or of what consists of parts in
    `apart` bits."""
    def run(m, a, b, width):
        size = part_width(m, (a, b), min(width, m.logic_width or width))
        return by_parts(lambda parts, w: function(*parts, w), (a, b), width, size)
    return run


def of_words(polynomial, function):
    """The same, or of machines that write it so, as a polynomial of words modulo 2."""
    plain = in_parts(function)

    def run(m, a, b, width):
        return polynomial(a, b, width) if m.modulo_2 else plain(m, a, b, width)
    return run


def rest_modulo_2(a, b, width):
    """(a + 1) b = a b + b."""
    return t.sum_modulo_2(t.product_modulo_2(a, b, width), b, width)


disjunction = in_parts(t.bor)
conjunction = of_words(t.product_modulo_2, t.band)
conjunction_of_not = of_words(rest_modulo_2, lambda a, b, w: t.band(t.invert(a, w), b, w))
exclusive = of_words(t.sum_modulo_2, lambda a, b, w: (t.exclusive if w == 8 else t.bxor)(a, b, w))


def looked_up_modulo_2(table, operands, width):
    """A function of 3 bits as a polynomial modulo 2 of words: that of a, b, c is bit 4 a + 2 b + c of the
    table."""
    total = 0
    for chosen in range(8):
        rows = [row for row in range(8) if row & chosen == row]
        if sum(table >> row & 1 for row in rows) % 2:
            product = t.mask(width)
            for k, v in enumerate(operands):
                if chosen >> (2 - k) & 1:
                    product = t.product_modulo_2(product, v, width)
            total = t.sum_modulo_2(total, product, width)
    return total


def lemma():
    """What is wrong with the polynomials of some table, of 8 operands that have all combinations of bits; or
    None."""
    operands = [sum((row >> 2 - k & 1) << row for row in range(8)) for k in range(3)]
    wrong = [table for table in range(256) if looked_up_modulo_2(table, operands, 8) != table]
    return f"the polynomials of the tables {wrong} are wrong" if wrong else None
