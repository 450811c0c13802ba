"""Instructions on general registers and on mask registers."""

import z3

import terms as t
from arithmetic import by_parts, part_width, product
from machine import Refused, simplified

from .decoding import REGISTERS
from .flags import NO_FLAGS, Flags, undefined

SCALAR = {}


def scalar(*names):
    def register(function):
        for name in names:
            SCALAR[name] = function
        return function
    return register


def width_of(i):
    return next(o.width for o in i.operands if o.width)


@scalar("nop", "prefetcht0", "prefetcht1", "prefetcht2", "prefetchnta", "endbr64", "xchg_nop")
def nothing(m, i):
    pass


@scalar("vzeroupper")
def vzeroupper(m, i):
    """Registers 16 to 31 remain."""
    m.vectors[:16] = [m.vectors[number][:16] + [0] * 48 for number in range(16)]


@scalar("mov", "movabs")
def mov(m, i):
    destination, source = i.operands
    m.write(destination, m.read(source, destination.width), source.width)


@scalar("movzx")
def movzx(m, i):
    destination, source = i.operands
    m.write(destination, t.zero_extend(m.read(source), source.width, destination.width))


@scalar("movsx", "movsxd")
def movsx(m, i):
    destination, source = i.operands
    m.write(destination, t.sign_extend(m.read(source), source.width, destination.width))


@scalar("lea")
def lea(m, i):
    destination, source = i.operands
    width = destination.width  # above it nothing matters
    total = source.offset & t.mask(width)
    for name, factor in source.parts:
        register, low, size = REGISTERS[name]
        part = t.extract(m.general[register], low, min(size, width))
        total = t.add(total, t.scale(part, factor, width) if size >= width else t.scale(
            t.zero_extend(part, size, width), factor, width), width)
    m.write(destination, total)


@scalar("xchg")
def xchg(m, i):
    a, b = i.operands
    if a.text == b.text and a.width == 16:
        return  # `xchg ax,ax` is padding; writing 16 bits back would take the register's term apart
    first, second = m.read(a), m.read(b)
    m.write(a, second)
    m.write(b, first)


@scalar("push")
def push(m, i):
    m.push(m.read(i.operands[0], 64))


@scalar("pop")
def pop(m, i):
    m.write(i.operands[0], m.pop())


@scalar("leave")
def leave(m, i):
    m.general["rsp"] = m.general["rbp"]
    m.general["rbp"] = m.pop()


def add_flags(a, b, carry, result, width):
    def carry_out():
        if carry is False:
            return t.compare("ult", result, a, width)
        wide = [t.zero_extend(v, width, width + 1) for v in (a, b)]
        total = t.add(t.add(wide[0], wide[1], width + 1), t.choose(carry, 1, 0, width + 1),
                      width + 1)
        return t.compare("eq", t.extract(total, width, 1), 1, 1)

    def overflow():
        signs = [t.compare("slt", v, 0, width) for v in (a, b, result)]
        same = t.negation(t.both(signs[0], signs[1], "xor"))
        return t.both(same, t.both(signs[0], signs[2], "xor"), "and")
    return Flags(result, width, carry_out, overflow)


def subtract_flags(a, b, borrow, result, width):
    def carry_out():
        if borrow is False:
            return t.compare("ult", a, b, width)
        more = t.add(t.zero_extend(b, width, width + 1), t.choose(borrow, 1, 0, width + 1),
                     width + 1)
        return t.compare("ult", t.zero_extend(a, width, width + 1), more, width + 1)

    def overflow():
        signs = [t.compare("slt", v, 0, width) for v in (a, b, result)]
        return t.both(t.both(signs[0], signs[1], "xor"), t.both(signs[0], signs[2], "xor"), "and")
    return Flags(result, width, carry_out, overflow, (a, b) if borrow is False else None)


def carry_in(m):
    return m.decided(m.flags.condition("b"))


@scalar("add", "adc", "sub", "sbb", "cmp", "inc", "dec", "neg")
def arithmetic(m, i):
    width = width_of(i)
    destination = i.operands[0]
    a = m.read(destination, width)
    if i.name in ("inc", "dec", "neg"):
        b = 1
    else:
        b = m.read(i.operands[1], width)
    old = m.flags
    if i.name == "neg":
        a, b = 0, a
    carry = carry_in(m) if i.name in ("adc", "sbb") else False
    subtract = i.name in ("sub", "sbb", "cmp", "dec", "neg")
    same = subtract and len(i.operands) == 2 and i.operands[0].text == i.operands[1].text
    result = t.add(a, b, width, -1 if subtract else 1) if not same else 0
    if carry is not False:
        result = t.add(result, t.choose(carry, 1, 0, width), width, -1 if subtract else 1)
    m.flags = (subtract_flags if subtract else add_flags)(a, b, carry, result, width)
    if i.name in ("inc", "dec"):
        m.flags.carry = old.carry
    if i.name != "cmp":
        m.write(destination, result, width)


@scalar("and", "or", "xor", "test")
def logic(m, i):
    width = width_of(i)
    a, b = m.read(i.operands[0], width), m.read(i.operands[1], width)
    function = {"and": t.band, "test": t.band, "or": t.bor, "xor": t.bxor}[i.name]
    size = part_width(m, (a, b), width) if i.name == "or" else width
    result = function(a, b, width) if size == width else by_parts(
        lambda parts, w: function(*parts, w), (a, b), width, size)
    if i.name == "and" and width == 64:
        multiple = m.multiple_below(a, b)
        result = result if multiple is None else multiple
    m.flags = Flags(result, width)
    if i.name != "test":
        m.write(i.operands[0], result, width)


@scalar("not")
def bit_not(m, i):
    m.write(i.operands[0], t.invert(m.read(i.operands[0]), i.operands[0].width))


@scalar("shl", "shr", "sar", "shlx", "shrx", "sarx")
def shift(m, i):
    width = width_of(i)
    if i.name.endswith("x"):
        a, count = m.read(i.operands[1]), m.read(i.operands[2])
    else:
        a = m.read(i.operands[0], width)
        count = m.read(i.operands[1], 8) if len(i.operands) > 1 else 1
    if not t.is_int(count) and i.name == "shl":
        by = t.zero_extend(t.band(count, 63 if width == 64 else 31, 8), 8, width)
        m.flags = NO_FLAGS
        return m.write(i.operands[0], t.term(a, width) << t.term(by, width), width)
    if not t.is_int(count):
        raise Refused("a shift count depends on data")
    count &= 63 if width == 64 else 31
    result = {"shl": t.shl, "shr": t.shr, "sar": t.sar}[i.name[:3]](a, count, width)
    if i.name[:3] == "shr" and width == 64 and not t.is_int(a) and count:
        quotient = m.quotient(a, count)
        result = result if quotient is None else quotient
    if not i.name.endswith("x") and count:
        def last_bit():
            at = width - count if i.name == "shl" else count - 1
            return t.compare("eq", t.extract(a, at, 1), 1, 1)
        m.flags = Flags(result, width, last_bit, undefined)
    m.write(i.operands[0], result, width)


@scalar("imul")
def imul(m, i):
    width = i.operands[0].width
    a, b = (m.read(o, width) for o in i.operands[-2:])
    factors = a, b
    if t.is_int(a) or t.is_int(b):
        a, b = (b, a) if t.is_int(a) else (a, b)
        result = t.scale(a, b, width)
    else:
        result = t.extract(product(m, a, b, width, True), 0, width)

    def overflow():
        exact = product(m, *factors, width, True)
        return t.negation(t.compare("eq", t.sign_extend(result, width, 2 * width), exact, 2 * width))
    m.flags = Flags(None, width, overflow, overflow)
    m.write(i.operands[0], result)


@scalar("cqo")
def cqo(m, i):
    m.general["rdx"] = t.sar(m.general["rax"], 63, 64)


@scalar("cdq")
def cdq(m, i):
    m.general["rdx"] = t.zero_extend(t.sar(t.extract(m.general["rax"], 0, 32), 31, 32), 32, 64)


@scalar("cdqe")
def cdqe(m, i):
    m.general["rax"] = t.sign_extend(t.extract(m.general["rax"], 0, 32), 32, 64)


@scalar("cwde")
def cwde(m, i):
    value = t.sign_extend(t.extract(m.general["rax"], 0, 16), 16, 32)
    m.general["rax"] = t.zero_extend(value, 32, 64)


@scalar("stos")
def stos(m, i):
    value, width = m.read(i.operands[1]), i.operands[1].width
    for _ in range(repetitions(m, i)):
        m.store(*m.numbers("rdi"), t.to_cells(value, width))
        m.general["rdi"] += width // 8


def repetitions(m, i):
    """Of an instruction on strings; upwards, as the direction flag is clear."""
    if "rep" not in i.prefixes:
        return 1
    count, = m.numbers("rcx")
    m.general["rcx"] = 0
    return count


@scalar("movs")
def movs(m, i):
    size = i.operands[0].width // 8
    for _ in range(repetitions(m, i)):
        to, source = m.numbers("rdi", "rsi")
        m.store(to, m.load(source, size))
        m.general["rdi"] += size
        m.general["rsi"] += size


@scalar("div")
def div(m, i):
    width = i.operands[0].width
    divisor, low, high = (m.read(i.operands[0]), t.extract(m.general["rax"], 0, width),
                          t.extract(m.general["rdx"], 0, width))
    if t.is_int(divisor) and divisor and high == 0 and not t.is_int(low) and m.is_public and m.is_public(low):
        for name, function in (("rax", z3.UDiv), ("rdx", z3.URem)):
            found = function(low, z3.BitVecVal(divisor, width))
            m.general[name] = t.zero_extend(found, width, 64)
        m.flags = NO_FLAGS
        return
    if not all(map(t.is_int, (divisor, low, high))):
        found = m.division(low, divisor) if width >= 32 and t.is_int(high) and high == 0 else None
        if found is None:
            raise Refused("a division depends on data")
        m.general["rax"], m.general["rdx"] = found
        m.flags = NO_FLAGS
        return
    if width < 16 or high >= divisor:
        raise Refused("a division of bytes, or one that traps")
    number = high << width | low
    for name, found in (("rax", number // divisor), ("rdx", number % divisor)):
        above = t.extract(m.general[name], 16, 48) if width == 16 else 0
        m.general[name] = t.concat([(above, 48), (found, 16)]) if width == 16 else found
    m.flags = NO_FLAGS


@scalar("idiv")
def idiv(m, i):
    """Of numbers without a sign, which it divides as `div` does."""
    width = i.operands[0].width
    high = t.extract(m.general["rdx"], 0, width)
    divisor = m.read(i.operands[0])
    if any(not t.is_int(v) or v >> width - 1 for v in (high, divisor)):
        raise Refused("a division of negative numbers, or one that depends on data")
    div(m, i)
    if t.extract(m.general["rax"], width - 1, 1):
        raise Refused("a division that traps")


def cmov(m, i, code):
    destination, source = i.operands
    condition = m.decided(m.flags.condition(code))
    m.write(destination, t.choose(condition, m.read(source), m.read(destination), source.width))


def setcc(m, i, code):
    m.write(i.operands[0], t.choose(m.noted(m.flags.condition(code)), 1, 0, 8))


@scalar("kmovb", "kmovw", "kmovd", "kmovq")
def kmov(m, i):
    destination, source = i.operands
    width = {"b": 8, "w": 16, "d": 32, "q": 64}[i.name[-1]]
    value = simplified(t.extract(m.read(source), 0, width))
    if destination.kind == "general":
        m.write(destination, t.zero_extend(value, width, destination.width))
    elif destination.kind == "memory":
        m.write(destination, value, width)
    else:
        m.write(destination, value if t.is_int(value) else t.zero_extend(value, width, 64))


@scalar("bswap")
def bswap(m, i):
    width = i.operands[0].width
    parts = t.bytes_of(m.read(i.operands[0]), width)
    m.write(i.operands[0], t.from_bytes(parts[::-1]))


@scalar("bzhi")
def bzhi(m, i):
    count, width = m.read(i.operands[2]), i.operands[0].width
    if not t.is_int(count):
        raise Refused("a count of bits depends on data")
    count &= 255
    value = t.band(m.read(i.operands[1]), t.mask(min(count, width)), width)
    m.flags = Flags(value, width, count >= width)
    m.write(i.operands[0], value)


@scalar("popcnt")
def popcnt(m, i):
    width = i.operands[0].width
    v = m.read(i.operands[1], width)
    if not t.is_int(v) and m.population:
        count = m.population(v, width)
    else:
        count = t.total([(t.zero_extend(t.extract(v, at, 1), 1, width), 1)
                         for at in range(width)], width)
    m.flags = Flags(count, width)
    m.write(i.operands[0], count)


MASK_WIDTH = {"b": 8, "w": 16, "d": 32, "q": 64}


@scalar(*(f"kshift{side}{c}" for side in "lr" for c in "bwdq"))
def mask_shift(m, i):
    width = MASK_WIDTH[i.name[-1]]
    v, count = t.extract(m.read(i.operands[1]), 0, width), i.operands[2].value
    result = (t.shl if i.name[6] == "l" else t.shr)(v, count, width)
    m.write(i.operands[0], t.zero_extend(result, width, 64))


@scalar("kunpckbw", "kunpckwd", "kunpckdq")
def mask_unpack(m, i):
    width = MASK_WIDTH[i.name[-2]]
    high, low = (t.extract(m.read(o), 0, width) for o in i.operands[1:])
    m.write(i.operands[0], t.zero_extend(t.concat([(high, width), (low, width)]), 2 * width, 64))


@scalar(*(f"k{op}{c}" for op in ("and", "andn", "or", "xor", "xnor", "not", "ortest") for c in "bwdq"))
def mask_logic(m, i):
    width = MASK_WIDTH[i.name[-1]]
    values = [t.extract(m.read(o), 0, width) for o in i.operands]
    operation = i.name[1:-1]
    if operation == "ortest":
        both = t.bor(values[0], values[1], width)
        m.flags = Flags(t.zero_extend(both, width, width + 1), width + 1,
                        t.compare("eq", both, t.mask(width), width))
        return
    result = {"not": lambda: t.invert(values[1], width),
              "and": lambda: t.band(values[1], values[2], width),
              "andn": lambda: t.band(t.invert(values[1], width), values[2], width),
              "or": lambda: t.bor(values[1], values[2], width),
              "xor": lambda: t.bxor(values[1], values[2], width),
              "xnor": lambda: t.invert(t.bxor(values[1], values[2], width), width)}[operation]()
    m.write(i.operands[0], t.zero_extend(result, width, 64))
