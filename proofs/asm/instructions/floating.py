"""Instructions on floats."""

import floats
import terms as t
from machine import Refused

from .flags import Flags
from .vectors import VECTOR, each, lanewise, put, size_of, vector


def first_source(m, i):
    """The 16 bytes whose upper lanes an instruction on one lane keeps."""
    return m.cells(i.operands[1] if len(i.operands) == 3 else i.operands[0], 16)


def one_lane(m, i, vex, result, width):
    cells = t.to_cells(result, width)
    m.write_vector(i.operands[0], cells + first_source(m, i)[len(cells):], vex)


def float_operation(function, width):
    def run(m, i, vex):
        size = width // 8
        result = function(t.from_cells(first_source(m, i)[:size]),
                          t.from_cells(m.cells(i.operands[-1], size)[:size]))
        one_lane(m, i, vex, result, width)
    return run


for letter, bits in (("s", 32), ("d", 64)):
    for name, functions in (("add", floats.ADD), ("sub", floats.SUBTRACT),
                            ("mul", floats.MULTIPLY), ("div", floats.DIVIDE)):
        VECTOR[f"{name}s{letter}"] = float_operation(functions[bits], bits)
        lanewise(bits // 8, lambda m, a, b, w, f=functions[bits]: f(a, b), f"{name}p{letter}")


@vector("comiss", "ucomiss", "comisd", "ucomisd")
def compare_floats(m, i, vex):
    width = 32 if i.name.endswith("ss") else 64
    a, b = (t.from_cells(m.cells(o, width // 8)[:width // 8]) for o in i.operands)
    less, equal, unordered = floats.ordered(a, b, width)
    m.flags = Flags(t.choose(equal, 0, 1, 8), 8, less, parity=unordered)


@vector("cvtsi2ss", "cvtsi2sd")
def from_integer(m, i, vex):
    source, width = i.operands[-1], 32 if i.name.endswith("ss") else 64
    one_lane(m, i, vex, floats.FROM_INTEGER[source.width, width](m.read(source)), width)


@vector("cvtusi2sd")
def from_unsigned(m, i, vex):
    source = i.operands[-1]
    one_lane(m, i, vex, floats.FROM_UNSIGNED[source.width](m.read(source)), 64)


@vector("cvtss2sd", "cvtsd2ss")
def convert_one(m, i, vex):
    width, function = (32, floats.WIDEN) if "ss2" in i.name else (64, floats.NARROW)
    value = t.from_cells(m.cells(i.operands[-1], width // 8)[:width // 8])
    one_lane(m, i, vex, function(value), 96 - width)


@vector("cvttsd2si")
def integer_part(m, i, vex):
    if i.operands[0].width != 32:
        raise Refused("an integer of another width")
    m.write(i.operands[0], floats.TRUNCATE(t.from_cells(m.cells(i.operands[1], 8)[:8])))


# Which operands are multiplied and which is added, of three.
ORDERS = {"132": (0, 2, 1), "213": (1, 0, 2), "231": (1, 2, 0)}


@vector(*(f"f{n}madd{order}{p}d" for n in ("", "n") for order in ORDERS for p in "sp"))
def fused(m, i, vex):
    function = floats.MINUS_PRODUCT if "nmadd" in i.name else floats.PLUS_PRODUCT
    size = 8 if i.name.endswith("sd") else size_of(i)
    lanes = [[t.from_cells(m.cells(o, 8)[:8])] if size == 8 else m.lanes(o, size, 8) for o in i.operands]
    results = each(function, *(lanes[k] for k in ORDERS[i.name[-5:-2]]))
    if size == 8:
        return m.write_vector(i.operands[0], t.to_cells(results[0], 64) + m.cells(
            i.operands[0], 16)[8:], vex)
    put(m, i, results, 8, vex)


def comparison(negated, width, is_of_one):
    """Whether a < b, or whether not, of each lane or of the lowest."""
    element = width // 8

    def run(m, i, vex):
        a, b = (i.operands[0 if len(i.operands) == 2 else 1], i.operands[-1])
        size = element if is_of_one else max(o.width for o in (a, b) if o.kind == "vector") // 8
        found = each(floats.LESS[width], m.lanes(a, size, element), m.lanes(b, size, element))
        found = [t.invert(bit, 1) if negated else bit for bit in found]
        if i.operands[0].kind == "mask":
            if i.operands[0].mask:
                raise Refused("a comparison of some lanes")
            bits = t.concat([(bit, 1) for bit in reversed(found)])
            return m.write(i.operands[0], t.zero_extend(bits, len(found), 64))
        found = [t.choose(floats.is_so(bit), t.mask(width), 0, width) for bit in found]
        if is_of_one:
            return one_lane(m, i, vex, found[0], width)
        put(m, i, found, element, vex)
    return run


for letter, bits in (("s", 32), ("d", 64)):
    for kind in "sp":
        VECTOR[f"cmplt{kind}{letter}"] = comparison(False, bits, kind == "s")
        VECTOR[f"cmpnlt{kind}{letter}"] = comparison(True, bits, kind == "s")
    VECTOR[f"maxs{letter}"] = float_operation(lambda a, b, w=bits: floats.greater(a, b, w), bits)
    lanewise(bits // 8, lambda m, a, b, w: floats.greater(a, b, w), f"maxp{letter}")


@vector("blendvps", "blendvpd")
def blend(m, i, vex):
    """Of each lane the second operand, if the last one is negative."""
    if not vex:
        raise Refused("a blend by xmm0")
    size, width = (4, 32) if i.name.endswith("s") else (8, 64)
    a, b, by = (m.lanes(o, size_of(i), size) for o in i.operands[1:])
    put(m, i, [t.choose(t.compare("slt", sign, 0, width), y, x, width) for x, y, sign in zip(a, b, by)],
        size, vex)


@vector("sqrtss", "sqrtsd")
def root_of_one(m, i, vex):
    width = 32 if i.name.endswith("ss") else 64
    value = t.from_cells(m.cells(i.operands[-1], width // 8)[:width // 8])
    one_lane(m, i, vex, floats.SQUARE_ROOT[width](value), width)


@vector("roundpd")
def round_lanes(m, i, vex):
    """To nearest, ties to even."""
    if i.operands[2].value & 7:
        raise Refused("another rounding")
    put(m, i, [floats.WHOLE(v) for v in m.lanes(i.operands[1], size_of(i), 8)], 8, vex)


# name -> (function, bytes of a source's lane, of a result's)
CONVERSIONS = {"cvtps2pd": (floats.WIDEN, 4, 8), "cvtpd2ps": (floats.NARROW, 8, 4),
               "cvtdq2pd": (floats.FROM_INTEGER[32, 64], 4, 8),
               "cvtqq2pd": (floats.FROM_INTEGER[64, 64], 8, 8), "cvtps2dq": (floats.ROUND[32], 4, 4),
               "cvtpd2dq": (floats.ROUND[64], 8, 4), "cvttpd2dq": (floats.TRUNCATE, 8, 4)}


@vector(*CONVERSIONS)
def convert(m, i, vex):
    function, source, result = CONVERSIONS[i.name[1:] if vex else i.name]
    count = size_of(i) // max(source, result)
    lanes = m.lanes(i.operands[1], count * source, source)
    lanes = each(function, lanes)
    put(m, i, lanes + [0] * (16 // result - count), result, vex)
