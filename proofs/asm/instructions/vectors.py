"""Instructions that compute in the lanes of vectors of integers."""

import operator

import terms as t
from arithmetic import (by_parts, conjunction, conjunction_of_not, disjunction, exclusive, looked_up_modulo_2,
                        part_width, product)
from machine import Refused

from .flags import Flags

VECTOR = {}


def vector(*names):
    def register(function):
        for name in names:
            VECTOR[name] = function
        return function
    return register


def size_of(i):
    return max(o.width for o in i.operands if o.kind == "vector") // 8


def sources(i, vex):
    """The operands read, of an instruction with two sources."""
    return i.operands[-2:] if vex or len(i.operands) == 3 else i.operands[:2]


def each(function, *lanes):
    """The function of every lane; where a lane has what the one before it has, its result too."""
    results, before = [], None
    for operands in zip(*lanes):
        if before is None or not all(map(operator.is_, operands, before)):
            results.append(function(*operands))
        else:
            results.append(results[-1])
        before = operands
    return results


def put(m, i, lanes, element, vex):
    cells = [cell for lane in lanes for cell in t.to_cells(lane, 8 * element)]
    m.write_vector(i.operands[0], cells, vex, element)


def lanewise(element, function, *names):
    """An instruction that treats every lane of two operands alike."""
    def run(m, i, vex):
        if i.operands[0].kind == "mask":
            relation = "eq" if "eq" in i.name else "sgt"
            return compare_lanes(m, i, relation, False, element)
        a, b = sources(i, vex)
        size = size_of(i)
        if a.text == b.text and names[0] in ("pxor", "psubd", "psubb"):
            return put(m, i, [0] * (size // element), element, vex)
        put(m, i, each(lambda x, y: function(m, x, y, 8 * element), m.lanes(a, size, element),
                       m.lanes(b, size, element)), element, vex)
    for name in names:
        VECTOR[name] = run


def added(m, a, b, width):
    """Of polynomials modulo 2, twice a word is the word, shifted."""
    if m.modulo_2 and not t.is_int(a) and not t.is_int(b) and a.eq(b):
        return t.concat([(t.extract(a, 0, width - 1), width - 1), (0, 1)])
    return t.add(a, b, width)


def compare_lanes(m, i, relation, negated, element):
    """A comparison of lanes whose result is a mask register."""
    a, b = i.operands[1:3]
    size = max(o.width for o in (a, b) if o.kind == "vector") // 8
    bits = []
    for k, (x, y) in enumerate(zip(m.lanes(a, size, element), m.lanes(b, size, element))):
        own = m.mask_bit(i.operands[0].mask, k) if i.operands[0].mask else 1
        if t.is_int(own) and not own:
            bits.append((0, 1))
            continue
        if relation == "sgt":
            condition = t.compare("slt", y, x, 8 * element)
        else:
            condition = t.compare(relation, x, y, 8 * element)
        condition = m.decided(t.negation(condition) if negated else condition)
        bits.append((t.band(own, t.choose(condition, 1, 0, 1), 1), 1))
    value = t.concat(list(reversed(bits)))
    m.write(i.operands[0], t.zero_extend(value, len(bits), 64))


def swapped(m, i, relation, negated, element):
    i.operands[1], i.operands[2] = i.operands[2], i.operands[1]
    try:
        compare_lanes(m, i, relation, negated, element)
    finally:
        i.operands[1], i.operands[2] = i.operands[2], i.operands[1]


for letter, bytes_ in (("b", 1), ("w", 2), ("d", 4), ("q", 8)):
    for sign, relation in (("", "slt"), ("u", "ult")):
        for name, negated, function in (("lt", False, compare_lanes), ("nlt", True, compare_lanes),
                                        ("le", True, swapped), ("nle", False, swapped)):
            VECTOR[f"pcmp{name}{sign}{letter}"] = (
                lambda m, i, vex, f=function, r=relation, n=negated, e=bytes_: f(m, i, r, n, e))
    for sign in ("", "u"):
        VECTOR[f"pcmpneq{sign}{letter}"] = (
            lambda m, i, vex, e=bytes_: compare_lanes(m, i, "eq", True, e))


def equal_mask(relation):
    def run(m, a, b, width):
        if relation == "sgt":
            if t.is_int(a) and a == 0:
                return t.sar(b, width - 1, width)
            return t.choose(t.compare("slt", b, a, width), t.mask(width), 0, width)
        return t.choose(t.compare(relation, a, b, width), t.mask(width), 0, width)
    return run


def least(relation, greatest=False):
    def run(m, a, b, width):
        same = all(t.not_negative(v, width) for v in (a, b))  # signed or not
        first = t.compare("slt" if same else relation, a, b, width)
        if width == 64 and not greatest:  # of sizes it is decided, and of equal ones the first is taken
            first = m.decided(t.negation(t.compare("slt" if same else relation, b, a, width)))
        return t.choose(first, b, a, width) if greatest else t.choose(first, a, b, width)
    return run


for letter, bytes_ in (("b", 1), ("w", 2), ("d", 4), ("q", 8)):
    lanewise(bytes_, added, "padd" + letter)
    lanewise(bytes_, lambda m, a, b, w: t.sub(a, b, w), "psub" + letter)
    lanewise(bytes_, equal_mask("eq"), "pcmpeq" + letter)
    lanewise(bytes_, equal_mask("sgt"), "pcmpgt" + letter)
    lanewise(bytes_, least("ult"), "pminu" + letter)
    lanewise(bytes_, least("slt"), "pmins" + letter)
    lanewise(bytes_, least("ult", True), "pmaxu" + letter)
    lanewise(bytes_, least("slt", True), "pmaxs" + letter)
for suffix, bytes_ in (("", 8), ("d", 4), ("q", 8)):
    lanewise(bytes_, conjunction, "pand" + suffix)
    lanewise(bytes_, disjunction, "por" + suffix)
    lanewise(bytes_, exclusive, "pxor" + suffix)
    lanewise(bytes_, conjunction_of_not, "pandn" + suffix)
for suffix, bytes_ in (("ps", 4), ("pd", 8)):
    lanewise(bytes_, conjunction, "and" + suffix)
    lanewise(bytes_, disjunction, "or" + suffix)
    lanewise(bytes_, exclusive, "xor" + suffix)
    lanewise(bytes_, conjunction_of_not, "andn" + suffix)
VECTOR["xorps"] = lambda m, i, vex, of_halves=VECTOR["xorps"]: (  # of polynomials modulo 2, of whole words
    VECTOR["xorpd"] if m.modulo_2 and not i.operands[0].mask and not any(
        o.broadcast for o in i.operands) else of_halves)(m, i, vex)
for letter, bytes_ in (("b", 1), ("w", 2)):
    lanewise(bytes_, lambda m, a, b, w: t.choose(t.compare("ult", a, b, w), 0, t.sub(a, b, w), w),
             "psubus" + letter)
lanewise(8, lambda m, a, b, w: t.extract(
    product(m, t.extract(a, 0, 32), t.extract(b, 0, 32), 32, False), 0, 64), "pmuludq")
lanewise(8, lambda m, a, b, w: t.extract(
    product(m, t.extract(a, 0, 32), t.extract(b, 0, 32), 32, True), 0, 64), "pmuldq")
lanewise(2, lambda m, a, b, w: t.extract(product(m, a, b, 16, True), 0, 16), "pmullw")
lanewise(2, lambda m, a, b, w: t.extract(product(m, a, b, 16, True), 16, 16), "pmulhw")
lanewise(2, lambda m, a, b, w: t.extract(product(m, a, b, 16, False), 16, 16), "pmulhuw")
lanewise(4, lambda m, a, b, w: t.extract(product(m, a, b, 32, True), 0, 32), "pmulld")
lanewise(8, lambda m, a, b, w: t.extract(product(m, a, b, 64, True), 0, 64), "pmullq")


def add_products(m, totals, a, b, element):
    """To each lane of 32 bits the products of its elements: unsigned bytes and signed bytes, or
    signed words."""
    for lane, total in enumerate(totals):
        x, y = (cells[4 * lane:4 * lane + 4] for cells in (a, b))
        if m.add_products:
            totals[lane] = m.add_products(total, x, y, element)
            continue
        for at in range(0, 4, element):
            left, right = (t.from_cells(cells[at:at + element]) for cells in (x, y))
            if element == 1:
                left, right = t.zero_extend(left, 8, 16), t.sign_extend(right, 8, 16)
            totals[lane] = t.add(totals[lane], product(m, left, right, 16, True), 32)
    return totals


@vector("pmaddwd")
def pmaddwd(m, i, vex):
    """a[0] b[0] + a[1] b[1], signed, wrapping."""
    size = size_of(i)
    a, b = (m.cells(o, size) for o in sources(i, vex))
    put(m, i, add_products(m, [0] * (size // 4), a, b, 2), 4, vex)


@vector("pdpbusd", "pdpwssd")
def dot_product(m, i, vex):
    """The sum before, plus the products of unsigned bytes of a and signed bytes of b or of signed
    words, wrapping."""
    size = size_of(i)
    a, b = (m.cells(o, size) for o in i.operands[1:])
    totals = m.lanes(i.operands[0], size, 4)
    put(m, i, add_products(m, totals, a, b, 1 if "bus" in i.name else 2), 4, vex)


@vector(*(f"ptest{n}m{c}" for n in ("", "n") for c in "bwdq"))
def test_mask(m, i, vex):
    element = {"b": 1, "w": 2, "d": 4, "q": 8}[i.name[-1]]
    a, b = i.operands[1:]
    size = max(o.width for o in (a, b) if o.kind == "vector") // 8
    bits = []
    for k, (x, y) in enumerate(zip(m.lanes(a, size, element), m.lanes(b, size, element))):
        zero = t.compare("eq", t.band(x, y, 8 * element), 0, 8 * element)
        condition = m.decided(zero if "nm" in i.name else t.negation(zero))
        own = m.mask_bit(i.operands[0].mask, k) if i.operands[0].mask else 1
        bits.append((t.band(own, t.choose(condition, 1, 0, 1), 1), 1))
    m.write(i.operands[0], t.zero_extend(t.concat(list(reversed(bits))), len(bits), 64))


@vector("ptest", "testps", "testpd")
def test_vector(m, i, vex):
    """Whether a AND b is zero, and whether (NOT a) AND b is; of floats only the signs."""
    size, element = size_of(i), 4 if i.name.endswith("ps") else 8
    width = 8 * element if i.name.endswith("ptest") else 1
    a, b = ([t.extract(lane, 8 * element - width, width) for lane in m.lanes(o, size, element)]
            for o in i.operands)
    both, other = (t.concat([(t.band(x, y, width), width) for x, y in zip(lanes, b)])
                   for lanes in (a, [t.invert(x, width) for x in a]))
    total = width * len(a)
    m.flags = Flags(t.zero_extend(both, total, total + 1), total + 1,
                    t.compare("eq", other, 0, total))


def shifts():
    def run(function, element):
        def shift_lanes(m, i, vex):
            value, by = sources(i, vex) if len(i.operands) > 2 else i.operands
            size = size_of(i)
            if by.kind == "immediate":
                count = by.value
            else:
                count = t.from_cells(m.cells(by, 16)[:8])
                if not t.is_int(count):
                    raise Refused("a shift count depends on data")
            put(m, i, each(lambda x: function(x, count, 8 * element), m.lanes(value, size, element)),
                element, vex)
        return shift_lanes
    for letter, element in (("w", 2), ("d", 4), ("q", 8)):
        VECTOR["psll" + letter] = run(t.shl, element)
        VECTOR["psrl" + letter] = run(t.shr, element)
        VECTOR["psra" + letter] = run(t.sar, element)
    for letter, element in (("d", 4), ("q", 8)):
        for name, function in (("sll", t.shl), ("srl", t.shr), ("sra", t.sar)):
            def by_lane(m, a, b, w, function=function):
                if not t.is_int(b) and function is t.shl:  # 0 if the count is no less than the width
                    return t.term(a, w) << t.term(b, w)
                if not t.is_int(b):
                    raise Refused("a shift count depends on data")
                return function(a, b, w)
            lanewise(element, by_lane, f"p{name}v{letter}")


shifts()


def rotations():
    def run(left, element):
        width = 8 * element

        def rotate_lanes(m, i, vex):
            count = i.operands[2].value % width
            to = count if left else -count % width

            def rotated(x):
                return t.concat([(t.extract(x, 0, width - to), width - to),
                                 (t.extract(x, width - to, to), to)]) if to else x
            put(m, i, each(rotated, m.lanes(i.operands[1], size_of(i), element)), element, vex)
        return rotate_lanes
    for letter, element in (("d", 4), ("q", 8)):
        VECTOR["prol" + letter], VECTOR["pror" + letter] = run(True, element), run(False, element)


rotations()


@vector(*(f"pabs{c}" for c in "bwdq"))
def absolute(m, i, vex):
    element = {"b": 1, "w": 2, "d": 4, "q": 8}[i.name[-1]]
    width = 8 * element
    put(m, i, [t.choose(t.compare("slt", x, 0, width), t.sub(0, x, width), x, width)
               for x in m.lanes(i.operands[1], i.operands[0].width // 8, element)], element, vex)


@vector("pternlogd", "pternlogq")
def ternary(m, i, vex):
    element = 4 if i.name[-1] == "d" else 8
    size, table, w = size_of(i), i.operands[3].value, 8 * element
    lanes = zip(*(m.lanes(o, size, element) for o in i.operands[:3]))
    out = []
    for abc in lanes:
        if m.modulo_2:
            out.append(looked_up_modulo_2(table, abc, w))
            continue
        if table == 0x96:
            out.append(exclusive(m, exclusive(m, abc[0], abc[1], w), abc[2], w))
            continue
        size = part_width(m, abc, w)
        out.append(looked_up(table, abc, w) if size == w else by_parts(
            lambda parts, width: looked_up(table, parts, width), abc, w, size))
    put(m, i, out, element, vex)


def looked_up(table, operands, w):
    """Every bit is that of the table whose number the operands' bits are, the first the highest."""
    count = len(operands)
    if count == 0:
        return t.mask(w) if table else 0
    for k, known in enumerate(operands):
        clear, set_ = (sum((table >> row & 1) << at for at, row in enumerate(
            row for row in range(1 << count) if row >> (count - 1 - k) & 1 == bit)) for bit in (0, 1))
        others = [*operands[:k], *operands[k + 1:]]
        if clear == set_:
            return looked_up(clear, others, w)
        if t.is_int(known):
            return t.concat([(looked_up(set_ if ones else clear,
                                        [t.extract(v, low, size) for v in others], size), size)
                             for low, size, ones in reversed(stretches(known, w))])
    if count == 1:
        return operands[0] if table == 2 else t.invert(operands[0], w)
    total = 0
    for row in range(1 << count):
        if table >> row & 1:
            part = t.mask(w)
            for k, v in enumerate(operands):
                part = t.band(part, v if row >> (count - 1 - k) & 1 else t.invert(v, w), w)
            total = t.bor(total, part, w)
    return total


def stretches(number, w):
    """The maximal runs of equal bits, (low, size, whether ones)."""
    found = []
    for at in range(w):
        bit = number >> at & 1
        if found and found[-1][2] == bit:
            found[-1] = found[-1][0], found[-1][1] + 1, bit
        else:
            found.append((at, 1, bit))
    return found
