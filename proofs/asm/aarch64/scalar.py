"""Instructions on general registers."""

import z3

import terms as t
from arithmetic import product
from machine import Refused

from .flags import Chosen, Difference, of_number, of_result, of_sum

TABLE = {}  # (name, whether a vector is among its operands; None: either) -> function(machine, instruction)


def instruction(*names, of=False):
    def register(function):
        for name in names:
            TABLE[name, of] = function
        return function
    return register


@instruction("nop", "prfm", of=None)
def nothing(m, i):
    pass


def plain(operand):
    """A general register or an immediate; anything else is refused by what reads it."""
    if operand.kind not in ("general", "immediate"):
        raise Refused(f"operand '{operand.text}'")
    return operand


def sides(m, i, first, second):
    """(two operands, width)"""
    width = i.operands[first].width
    return m.read(i.operands[first]), m.read(plain(i.operands[second]), width), width


@instruction("add", "sub", "adds", "subs")
def add(m, i):
    a, b, width = sides(m, i, 1, 2)
    m.write(i.operands[0], t.add(a, b, width, -1 if i.name[0] == "s" else 1))
    if i.name == "subs":
        m.flags = Difference(a, b, width)
    elif i.name == "adds":
        m.flags = of_sum(a, b, width)


@instruction("cmp", "cmn")
def compare(m, i):
    a, b, width = sides(m, i, 0, 1)
    m.flags = Difference(a, b, width) if i.name == "cmp" else of_sum(a, b, width)


@instruction("ccmp", "ccmn")
def compare_if(m, i):
    a, b, width = sides(m, i, 0, 1)
    flags = Difference(a, b, width) if i.name == "ccmp" else of_sum(a, b, width)
    number, condition = i.operands[2].value, m.decided(m.flags.condition(i.operands[3].text))
    if isinstance(condition, bool):
        m.flags = flags if condition else of_number(number)
    else:
        m.flags = Chosen(condition, flags, number)


@instruction("neg", "negs")
def negate(m, i):
    width = i.operands[0].width
    v = m.read(i.operands[1])
    m.write(i.operands[0], t.sub(0, v, width))
    if i.name == "negs":
        m.flags = Difference(0, v, width)


LOGIC = {"and": (t.band, False), "ands": (t.band, False), "tst": (t.band, False), "orr": (t.bor, False),
         "eor": (t.bxor, False), "bic": (t.band, True), "bics": (t.band, True), "orn": (t.bor, True),
         "eon": (t.bxor, True)}


@instruction(*LOGIC)
def logic(m, i):
    a, b, width = sides(m, i, *((0, 1) if i.name == "tst" else (1, 2)))
    function, inverts = LOGIC[i.name]
    v = function(a, t.invert(b, width) if inverts else b, width)
    if i.name == "and" and width == 64:
        multiple = m.multiple_below(a, b)
        v = v if multiple is None else multiple
    if i.name != "tst":
        m.write(i.operands[0], v)
    if i.name in ("ands", "tst", "bics"):
        m.flags = of_result(v, width)


@instruction("mvn")
def invert(m, i):
    m.write(i.operands[0], t.invert(m.read(i.operands[1]), i.operands[0].width))


@instruction("mov")
def move(m, i):
    m.write(i.operands[0], m.read(plain(i.operands[1]), i.operands[0].width))


@instruction("movk")
def move_part(m, i):
    """16 bits of a register, the others stay."""
    width, part = i.operands[0].width, i.operands[1]
    low, old = part.modifier[1] if part.modifier else 0, m.read(i.operands[0])
    m.write(i.operands[0], t.concat([(t.extract(old, low + 16, width - low - 16), width - low - 16),
                                     (part.value, 16), (t.extract(old, 0, low) if low else 0, low)]))


@instruction("adr", "adrp", of=None)
def place(m, i):
    m.write(i.operands[0], i.target[0])


@instruction("lsl", "lsr", "asr", "ror")
def shift(m, i):
    width = i.operands[0].width
    v, count = m.read(i.operands[1]), m.read(i.operands[2], width)
    if not t.is_int(count) and i.name == "lsl":
        by = t.band(count, width - 1, width)
        return m.write(i.operands[0], t.term(v, width) << t.term(by, width))
    if not t.is_int(count):
        raise Refused("a shift count depends on data")
    quotient = m.quotient(v, count) if i.name == "lsr" and width == 64 and 0 < count < 64 and (
        not t.is_int(v)) else None
    return m.write(i.operands[0], quotient if quotient is not None else m.modified(
        v, width, (i.name, count % width), width))


@instruction("ubfx", "sbfx", "ubfiz", "sbfiz", "bfi", "bfxil")
def field(m, i):
    """A field of a register, its lowest bits or moved up, to the lowest or above zeros; bfi and bfxil leave
    the other bits."""
    v, (at, size), width = m.read(i.operands[1]), (o.value for o in i.operands[2:]), i.operands[0].width
    if i.name in ("ubfx", "sbfx", "bfxil"):
        part, low = t.extract(v, at, size), 0
    else:
        part, low = t.extract(v, 0, size), at
    if i.name[0] == "b":
        old, above = m.read(i.operands[0]), width - low - size
        return m.write(i.operands[0], t.concat([
            (t.extract(old, low + size, above) if above else 0, above), (part, size),
            (t.extract(old, 0, low) if low else 0, low)]))
    extend = t.sign_extend if i.name[0] == "s" else t.zero_extend
    return m.write(i.operands[0], t.shl(extend(part, size, width), low, width))


@instruction("sxtb", "sxth", "sxtw", "uxtb", "uxth")
def extend_register(m, i):
    m.write(i.operands[0], m.modified(m.read(i.operands[1]), i.operands[1].width, (i.name, 0),
                                      i.operands[0].width))


def multiplied(m, a, b, width):
    """The low half of a product."""
    if t.is_int(a) or t.is_int(b):
        return t.scale(b, a, width) if t.is_int(a) else t.scale(a, b, width)
    return t.extract(product(m, a, b, width, True), 0, width)


@instruction("mul", "mneg", "madd", "msub")
def multiply(m, i):
    width = i.operands[0].width
    total = m.read(i.operands[3]) if len(i.operands) > 3 else 0
    v = multiplied(m, *(m.read(o) for o in i.operands[1:3]), width)
    m.write(i.operands[0], t.add(total, v, width, -1 if i.name in ("mneg", "msub") else 1))


@instruction("smull", "umull", "smnegl", "umnegl", "smaddl", "umaddl", "smsubl", "umsubl")
def multiply_words(m, i):
    total = m.read(i.operands[3]) if len(i.operands) > 3 else 0
    v = product(m, *(m.read(o) for o in i.operands[1:3]), 32, i.name[0] == "s")
    m.write(i.operands[0], t.add(total, v, 64, -1 if i.name[1:] in ("mnegl", "msubl") else 1))


@instruction("smulh", "umulh")
def multiply_high(m, i):
    v = product(m, *(m.read(o) for o in i.operands[1:]), 64, i.name[0] == "s")
    m.write(i.operands[0], t.extract(v, 64, 64))


@instruction("udiv", "sdiv")
def divide(m, i):
    """By 0 it gives 0; the least by -1 itself."""
    a, b, width = sides(m, i, 1, 2)
    if not (t.is_int(a) and t.is_int(b)):
        found = None
        if i.name == "udiv" and t.is_int(b) and b and m.is_public and m.is_public(a):
            found = [z3.UDiv(a, z3.BitVecVal(b, width))]
        elif i.name == "udiv" and width == 64:
            found = m.division(a, b)
        if found is None:
            raise Refused("a division depends on data")
        m.write(i.operands[0], found[0])
        return
    if i.name == "sdiv":
        a, b = t.signed(a, width), t.signed(b, width)
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0
    m.write(i.operands[0], quotient & t.mask(width))


CHOICES = {"csel": lambda v, width: v, "csinc": lambda v, width: t.add(v, 1, width),
           "csinv": lambda v, width: t.invert(v, width), "csneg": lambda v, width: t.sub(0, v, width)}
ALIASES = {"cinc": "csinc", "cinv": "csinv", "cneg": "csneg"}  # of one register, if the condition holds


@instruction(*CHOICES, *ALIASES)
def choose(m, i):
    width, condition = i.operands[0].width, m.decided(m.flags.condition(i.operands[-1].text))
    if i.name == "cinc":
        return m.write(i.operands[0], t.add(m.read(i.operands[1]), t.choose(condition, 1, 0, width), width))
    if i.name in ALIASES:
        v = m.read(i.operands[1])
        a, b = CHOICES[ALIASES[i.name]](v, width), v
    else:
        a, b = m.read(i.operands[1]), CHOICES[i.name](m.read(i.operands[2]), width)
    return m.write(i.operands[0], t.choose(condition, a, b, width))


@instruction("cset", "csetm")
def set_if(m, i):
    width = i.operands[0].width
    condition = m.noted(m.flags.condition(i.operands[1].text))
    m.write(i.operands[0], t.choose(condition, t.mask(width) if i.name == "csetm" else 1, 0, width))


@instruction("rev", "rev16", "rev32")
def reverse(m, i):
    width = i.operands[0].width
    size = {"rev": width, "rev16": 16, "rev32": 32}[i.name] // 8
    parts = t.bytes_of(m.read(i.operands[1]), width)
    m.write(i.operands[0], t.from_bytes([part for at in range(0, len(parts), size)
                                         for part in reversed(parts[at:at + size])]))
