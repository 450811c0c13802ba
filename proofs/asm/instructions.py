"""What each instruction does. hardware.py compares every one that is used with the processor."""

import re

import aes
import floats
import terms as t
from machine import Flags, Refused


def execute(m, i):
    name = i.name
    if name in SCALAR:
        return SCALAR[name](m, i)
    for prefix, function in (("cmov", cmov), ("set", setcc)):
        if name.startswith(prefix):
            return function(m, i, name[len(prefix):])
    vex = name.startswith("v")
    plain = name[1:] if vex else name
    if plain in VECTOR:
        return VECTOR[plain](m, i, vex)
    raise Refused(f"unknown instruction '{name}'")


# --- scalar --------------------------------------------------------------------------------------

SCALAR = {}


def scalar(*names):
    def register(function):
        for name in names:
            SCALAR[name] = function
        return function
    return register


def width_of(i):
    return next(o.width for o in i.operands if o.width)


@scalar("nop", "vzeroupper", "prefetcht0", "prefetcht1", "prefetcht2", "prefetchnta", "endbr64", "xchg_nop")
def nothing(m, i):
    pass


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
    total = source.offset & t.mask(64)
    from machine import REGISTERS
    for name, factor in source.parts:
        register, low, width = REGISTERS[name]
        total = t.add(total, t.scale(t.extract(m.general[register], low, width), factor, 64), 64)
    m.write(destination, t.extract(total, 0, destination.width))


@scalar("xchg")
def xchg(m, i):
    a, b = i.operands
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
    if i.name == "adc" and width == 64 and old.low_halves:
        result = high_of_sum((a, b), old, result)
    m.flags = (subtract_flags if subtract else add_flags)(a, b, carry, result, width)
    if i.name == "add" and width == 64:
        m.flags.low_halves = a, b
    if i.name in ("inc", "dec"):
        m.flags.carry = old.carry
    if i.name != "cmp":
        m.write(destination, result, width)


def high_of_sum(highs, flags, result):
    """adc after add: the upper half of a 128-bit sum, kept as one sum."""
    for lows in (flags.low_halves, flags.low_halves[::-1]):
        wide = [t.wide(high, low) for high, low in zip(highs, lows)]
        if None not in wide:
            return t.high_half(t.add(wide[0], wide[1], 128), flags.result)
    return t.high_half(t.add(*(t.concat([(high, 64), (low, 64)])
                               for high, low in zip(highs, flags.low_halves)), 128), flags.result)


@scalar("and", "or", "xor", "test")
def logic(m, i):
    width = width_of(i)
    a, b = m.read(i.operands[0], width), m.read(i.operands[1], width)
    function = {"and": t.band, "test": t.band, "or": t.bor, "xor": t.bxor}[i.name]
    result = function(a, b, width)
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
    if not t.is_int(count):
        raise Refused("a shift count depends on data")
    count &= 63 if width == 64 else 31
    result = {"shl": t.shl, "shr": t.shr, "sar": t.sar}[i.name[:3]](a, count, width)
    if not i.name.endswith("x") and count:
        def last_bit():
            at = width - count if i.name == "shl" else count - 1
            return t.compare("eq", t.extract(a, at, 1), 1, 1)
        m.flags = Flags(result, width, last_bit)
    m.write(i.operands[0], result, width)


@scalar("shld", "shrd")
def double_shift(m, i):
    width = i.operands[1].width
    a, b = m.read(i.operands[0], width), m.read(i.operands[1])
    count = m.read(i.operands[2], 8) & (63 if width == 64 else 31)
    if not t.is_int(count):
        raise Refused("a shift count depends on data")
    if count == 0:
        return
    if i.name == "shld":
        result = t.concat([(t.extract(a, 0, width - count), width - count),
                           (t.extract(b, width - count, count), count)])
        whole = t.wide(a, b) if width == 64 else None
        if whole is not None and not t.is_int(result):
            t.HALVES[t.keep(result)] = (t.scale(whole, 1 << count, 128),
                                        t.term(t.shl(b, count, 64), 64))
    else:
        result = t.concat([(t.extract(b, 0, count), count),
                           (t.extract(a, count, width - count), width - count)])
    m.flags = Flags(result, width)
    m.write(i.operands[0], result, width)


def product(m, a, b, width, signed):
    """a * b as 2 * width bits."""
    if t.is_int(a) and t.is_int(b):
        if signed:
            a, b = t.signed(a, width), t.signed(b, width)
        return a * b & t.mask(2 * width)
    if t.is_int(b):
        a, b = b, a
    if t.is_int(a):
        extend = t.sign_extend if signed else t.zero_extend
        factor = t.signed(a, width) if signed else a
        return t.scale(extend(b, width, 2 * width), factor & t.mask(2 * width), 2 * width)
    return t.extract(m.multiply(m, a, b, width, signed), 0, 2 * width)


@scalar("imul")
def imul(m, i):
    if len(i.operands) == 1:
        return wide_multiply(m, i, True)
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
    m.flags = Flags(result, width, overflow, overflow)
    m.write(i.operands[0], result)


@scalar("mul")
def mul(m, i):
    wide_multiply(m, i, False)


def wide_multiply(m, i, signed):
    width = i.operands[0].width
    if width != 64:
        raise Refused(f"{width}-bit '{i.name}'")
    both = product(m, m.general["rax"], m.read(i.operands[0]), 64, signed)
    m.general["rax"], m.general["rdx"] = t.extract(both, 0, 64), t.extract(both, 64, 64)
    m.flags = Flags(m.general["rax"], 64)


@scalar("cqo")
def cqo(m, i):
    m.general["rdx"] = t.sar(m.general["rax"], 63, 64)


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
    count = m.general["rcx"] if i.prefixes else 1
    for _ in range(count):
        m.store(m.general["rdi"], t.to_cells(value, width))
        m.general["rdi"] += width // 8
    if i.prefixes:
        m.general["rcx"] = 0


@scalar("div")
def div(m, i):
    width = i.operands[0].width
    divisor, low, high = (m.read(i.operands[0]), t.extract(m.general["rax"], 0, width),
                          t.extract(m.general["rdx"], 0, width))
    if not all(map(t.is_int, (divisor, low, high))):
        raise Refused("a division depends on data")
    number = high << width | low
    m.general["rax"], m.general["rdx"] = number // divisor, number % divisor


def cmov(m, i, code):
    destination, source = i.operands
    condition = m.decided(m.flags.condition(code))
    m.write(destination, t.choose(condition, m.read(source), m.read(destination), source.width))


def setcc(m, i, code):
    m.write(i.operands[0], t.choose(m.decided(m.flags.condition(code)), 1, 0, 8))


@scalar("kmovb", "kmovw", "kmovd", "kmovq")
def kmov(m, i):
    destination, source = i.operands
    width = {"b": 8, "w": 16, "d": 32, "q": 64}[i.name[-1]]
    value = t.extract(m.read(source), 0, width)
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
    count = m.read(i.operands[2]) & 255
    width = i.operands[0].width
    value = t.band(m.read(i.operands[1]), t.mask(min(count, width)), width)
    m.flags = Flags(value, width)
    m.write(i.operands[0], value)


@scalar("popcnt")
def popcnt(m, i):
    width = i.operands[0].width
    v = m.read(i.operands[1], width)
    count = bin(v).count("1") if t.is_int(v) else m.population(v, width)
    m.flags = Flags(count, width)
    m.write(i.operands[0], count)


MASK_WIDTH = {"b": 8, "w": 16, "d": 32, "q": 64}


@scalar(*(f"k{op}{c}" for op in ("and", "andn", "or", "xor", "not", "ortest") for c in "bwdq"))
def mask_logic(m, i):
    width = MASK_WIDTH[i.name[-1]]
    values = [t.extract(m.read(o), 0, width) for o in i.operands]
    operation = i.name[1:-1]
    if operation == "ortest":
        both = t.bor(values[0], values[1], width)
        m.flags = Flags(both, width, t.compare("eq", both, t.mask(width), width))
        return
    result = {"not": lambda: t.invert(values[1], width),
              "and": lambda: t.band(values[1], values[2], width),
              "andn": lambda: t.band(t.invert(values[1], width), values[2], width),
              "or": lambda: t.bor(values[1], values[2], width),
              "xor": lambda: t.bxor(values[1], values[2], width)}[operation]()
    m.write(i.operands[0], t.zero_extend(result, width, 64))


# --- vectors -------------------------------------------------------------------------------------

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
        lanes = zip(m.lanes(a, size, element), m.lanes(b, size, element))
        put(m, i, [function(m, x, y, 8 * element) for x, y in lanes], element, vex)
    for name in names:
        VECTOR[name] = run


def compare_lanes(m, i, relation, negated, element):
    """A comparison of lanes whose result is a mask register."""
    a, b = i.operands[1:3]
    size = max(o.width for o in (a, b) if o.kind == "vector") // 8
    bits = []
    for k, (x, y) in enumerate(zip(m.lanes(a, size, element), m.lanes(b, size, element))):
        if i.operands[0].mask and not m.mask_bit(i.operands[0].mask, k):
            bits.append((0, 1))
            continue
        if relation == "sgt":
            condition = t.compare("slt", y, x, 8 * element)
        else:
            condition = t.compare(relation, x, y, 8 * element)
        condition = m.decided(t.negation(condition) if negated else condition)
        bits.append((t.choose(condition, 1, 0, 1), 1))
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


class Plain:
    """A vector register without its mask."""
    kind, mask = "vector", None

    def __init__(self, operand):
        self.register = operand.register


@vector("pcompressd", "pcompressq")
def compress(m, i, vex):
    element = 4 if i.name[-1] == "d" else 8
    destination, source = i.operands
    size = source.width // 8
    lanes = m.lanes(source, size, element)
    if m.kept and not t.is_int(m.masks[destination.mask]) and destination.zeroing:
        bits = t.extract(m.masks[destination.mask], 0, size // element)
        if not t.is_int(bits):
            return m.write_vector(Plain(destination), m.kept(bits, lanes, element), vex)
    kept = [x for k, x in enumerate(lanes) if m.known_bit(destination.mask, k)]
    cells = [c for x in kept for c in t.to_cells(x, 8 * element)]
    if destination.kind == "memory":
        return m.store(m.address(destination), cells)
    old = [0] * size if destination.zeroing else m.vectors[destination.register]
    m.vectors[destination.register] = cells + old[len(cells):size] + [0] * (64 - size)


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
        first = t.compare(relation, a, b, width)
        return t.choose(first, b, a, width) if greatest else t.choose(first, a, b, width)
    return run


def in_parts(function):
    """A function of bits, written in parts of the machine's logic_width."""
    def run(m, a, b, width):
        size = min(width, m.logic_width or width)
        parts = [(function(t.extract(a, low, size), t.extract(b, low, size), size), size)
                 for low in reversed(range(0, width, size))]
        return t.concat(parts)
    return run


conjunction, disjunction = in_parts(t.band), in_parts(t.bor)
conjunction_of_not = in_parts(lambda a, b, w: t.band(t.invert(a, w), b, w))
exclusive = in_parts(lambda a, b, w: (t.exclusive if w == 8 else t.bxor)(a, b, w))


for letter, bytes_ in (("b", 1), ("w", 2), ("d", 4), ("q", 8)):
    lanewise(bytes_, lambda m, a, b, w: t.add(a, b, w), "padd" + letter)
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
lanewise(8, lambda m, a, b, w: t.extract(
    product(m, t.extract(a, 0, 32), t.extract(b, 0, 32), 32, False), 0, 64), "pmuludq")
lanewise(8, lambda m, a, b, w: t.extract(
    product(m, t.extract(a, 0, 32), t.extract(b, 0, 32), 32, True), 0, 64), "pmuldq")
lanewise(2, lambda m, a, b, w: t.extract(product(m, a, b, 16, True), 0, 16), "pmullw")
lanewise(2, lambda m, a, b, w: t.extract(product(m, a, b, 16, True), 16, 16), "pmulhw")
lanewise(2, lambda m, a, b, w: t.extract(product(m, a, b, 16, False), 16, 16), "pmulhuw")
lanewise(4, lambda m, a, b, w: t.extract(product(m, a, b, 32, True), 0, 32), "pmulld")
lanewise(8, lambda m, a, b, w: t.extract(product(m, a, b, 64, True), 0, 64), "pmullq")


def pair_products(m, a, b, width):
    pairs = [product(m, t.extract(a, low, 16), t.extract(b, low, 16), 16, True) for low in (0, 16)]
    return t.add(pairs[0], pairs[1], 32)


lanewise(4, pair_products, "pmaddwd")


@vector("pdpbusd")
def pdpbusd(m, i, vex):
    """sum + sum_d unsigned a[d] * signed b[d], wrapping."""
    size = size_of(i)
    sums, a, b = (m.lanes(o, size, 4) for o in i.operands)
    out = []
    for total, x, y in zip(sums, a, b):
        for low in range(0, 32, 8):
            u = t.zero_extend(t.extract(x, low, 8), 8, 16)
            s = t.sign_extend(t.extract(y, low, 8), 8, 16)
            both = product(m, u, s, 16, True)
            total = t.add(total, both, 32)
        out.append(total)
    put(m, i, out, 4, vex)


@vector("pmadd52luq", "pmadd52huq")
def pmadd52(m, i, vex):
    """sum + the low or the high 52 bits of the product of the low 52 bits."""
    low, out = 0 if i.name.endswith("luq") else 52, []
    for total, a, b in zip(*(m.lanes(o, size_of(i), 8) for o in i.operands)):
        both = product(m, *(t.zero_extend(t.extract(v, 0, 52), 52, 64) for v in (a, b)), 64, False)
        out.append(t.add(total, t.zero_extend(t.extract(both, low, 52), 52, 64), 64))
    put(m, i, out, 8, vex)


@vector("pdpwssd")
def pdpwssd(m, i, vex):
    """sum + a[0] b[0] + a[1] b[1], signed, wrapping."""
    size = size_of(i)
    lanes = zip(*(m.lanes(o, size, 4) for o in i.operands))
    put(m, i, [t.add(total, pair_products(m, a, b, 32), 32) for total, a, b in lanes], 4, vex)


@vector(*(f"ptest{n}m{c}" for n in ("", "n") for c in "bwdq"))
def test_mask(m, i, vex):
    element = {"b": 1, "w": 2, "d": 4, "q": 8}[i.name[-1]]
    a, b = i.operands[1:]
    size = max(o.width for o in (a, b) if o.kind == "vector") // 8
    bits = []
    for k, (x, y) in enumerate(zip(m.lanes(a, size, element), m.lanes(b, size, element))):
        zero = t.compare("eq", t.band(x, y, 8 * element), 0, 8 * element)
        condition = m.decided(zero if "nm" in i.name else t.negation(zero))
        off = i.operands[0].mask and not m.mask_bit(i.operands[0].mask, k)
        bits.append((0 if off else t.choose(condition, 1, 0, 1), 1))
    m.write(i.operands[0], t.zero_extend(t.concat(list(reversed(bits))), len(bits), 64))


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
            put(m, i, [function(x, count, 8 * element) for x in m.lanes(value, size, element)],
                element, vex)
        return shift_lanes
    for letter, element in (("w", 2), ("d", 4), ("q", 8)):
        VECTOR["psll" + letter] = run(t.shl, element)
        VECTOR["psrl" + letter] = run(t.shr, element)
        VECTOR["psra" + letter] = run(t.sar, element)
    for letter, element in (("d", 4), ("q", 8)):
        for name, function in (("sll", t.shl), ("srl", t.shr), ("sra", t.sar)):
            def by_lane(m, a, b, w, function=function):
                if not t.is_int(b):
                    raise Refused("a shift count depends on data")
                return function(a, b, w)
            lanewise(element, by_lane, f"p{name}v{letter}")


shifts()


@vector("psrldq", "pslldq")
def byte_shift(m, i, vex):
    value, by = sources(i, vex) if len(i.operands) > 2 else i.operands
    size, count, out = size_of(i), min(by.value, 16), []
    cells = m.cells(value, size)
    for lane in range(0, size, 16):
        part = cells[lane:lane + 16]
        out += (part[count:] + [0] * count if "psrl" in i.name
                else [0] * count + part[:16 - count])
    m.write_vector(i.operands[0], out, vex)


@vector("palignr")
def palignr(m, i, vex):
    a, b = i.operands[-3:-1] if len(i.operands) == 4 else i.operands[:2]
    size, count, out = size_of(i), i.operands[-1].value, []
    first, second = m.cells(a, size), m.cells(b, size)
    for lane in range(0, size, 16):
        both = second[lane:lane + 16] + first[lane:lane + 16] + [0] * 32
        out += both[count:count + 16]
    m.write_vector(i.operands[0], out, vex)


@vector("alignq", "alignd")
def align(m, i, vex):
    element = 8 if i.name[-1] == "q" else 4
    size = size_of(i)
    both = m.cells(i.operands[2], size, element) + m.cells(i.operands[1], size, element)
    start = i.operands[3].value % (size // element) * element
    m.write_vector(i.operands[0], both[start:start + size], vex, element)


@vector("movdqa", "movdqu", "movaps", "movups", "movapd", "movupd", "movdqa32", "movdqa64",
        "movdqu8", "movdqu16", "movdqu32", "movdqu64", "lddqu", "movntdqa")
def move(m, i, vex):
    destination, source = i.operands
    element = {"8": 1, "16": 2, "32": 4, "64": 8}.get(re.sub(r"^v?movdq[au]", "", i.name), 4)
    size = size_of(i)
    if source.kind == "memory" and destination.mask:
        # Lanes that the mask leaves out are not read.
        where = m.address(source)
        cells = []
        for lane in range(size // element):
            cells += (m.load(where + lane * element, element)
                      if m.known_bit(destination.mask, lane) else [0] * element)
    else:
        cells = m.cells(source, size)
    m.write_vector(destination, cells, vex, element)


@vector("movd", "movq", "movss", "movsd", "movhps", "movlps", "movhpd", "movlpd")
def move_part(m, i, vex):
    plain = i.name.lstrip("v")
    element = 4 if plain in ("movd", "movss") else 8
    destination, source = i.operands[0], i.operands[-1]
    if plain in ("movhps", "movhpd"):
        if destination.kind == "memory":
            return m.store(m.address(destination), m.cells(source, 16)[8:16])
        low = m.cells(i.operands[-2], 16)[:8]
        return m.write_vector(destination, low + m.load(m.address(source), 8), vex)
    if plain in ("movlps", "movlpd") and destination.kind == "vector":
        high = m.cells(i.operands[-2], 16)[8:]
        return m.write_vector(destination, m.load(m.address(source), 8) + high, vex)
    if plain in ("movd", "movq") and "general" in (destination.kind, source.kind):
        # objdump writes movd and movq for either size; the general register has it.
        element = (destination if destination.kind == "general" else source).width // 8
    cells = m.cells(source, element)[:element]
    if destination.kind == "general":
        return m.write(destination, t.from_cells(cells), 8 * element)
    if destination.kind == "memory":
        return m.store(m.address(destination), cells)
    if plain in ("movss", "movsd") and source.kind == "vector":
        cells = cells + m.cells(i.operands[-2], 16)[element:]
        return m.write_vector(destination, cells, vex)
    m.write_vector(destination, cells + [0] * (16 - element), vex)


def unpack(element, high):
    def run(m, i, vex):
        a, b = sources(i, vex)
        size, out = size_of(i), []
        first, second = m.cells(a, size, element), m.cells(b, size, element)
        for lane in range(0, size, 16):
            start = lane + (8 if high else 0)
            for at in range(start, start + 8, element):
                out += first[at:at + element] + second[at:at + element]
        m.write_vector(i.operands[0], out, vex, element)
    return run


for letters, bytes_ in (("bw", 1), ("wd", 2), ("dq", 4), ("qdq", 8)):
    VECTOR["punpckl" + letters] = unpack(bytes_, False)
    VECTOR["punpckh" + letters] = unpack(bytes_, True)
VECTOR["unpcklps"], VECTOR["unpckhps"] = unpack(4, False), unpack(4, True)
VECTOR["unpcklpd"], VECTOR["unpckhpd"] = unpack(8, False), unpack(8, True)


@vector("movlhps", "movhlps")
def move_halves(m, i, vex):
    a, b = sources(i, vex)
    first, second = m.cells(a, 16), m.cells(b, 16)
    out = first[:8] + second[:8] if "lh" in i.name else second[8:] + first[8:]
    m.write_vector(i.operands[0], out, vex)


def pick(cells, element, order):
    return [cell for k in order for cell in cells[k * element:(k + 1) * element]]


@vector("pshufd", "permilps")
def pshufd(m, i, vex):
    size, control, out = size_of(i), i.operands[2].value, []
    cells = m.cells(i.operands[1], size, 4)
    for lane in range(0, size, 16):
        out += pick(cells[lane:lane + 16], 4, [control >> 2 * k & 3 for k in range(4)])
    m.write_vector(i.operands[0], out, vex, 4)


@vector("permilpd")
def permilpd(m, i, vex):
    size, control, out = size_of(i), i.operands[2].value, []
    cells = m.cells(i.operands[1], size, 8)
    for k in range(size // 8):
        at = k // 2 * 2 + (control >> k & 1)
        out += cells[8 * at:8 * at + 8]
    m.write_vector(i.operands[0], out, vex, 8)


@vector("pshuflw", "pshufhw")
def pshufw(m, i, vex):
    size, control, out = size_of(i), i.operands[2].value, []
    cells = m.cells(i.operands[1], size, 4)
    high = 4 if "hw" in i.name else 0
    for lane in range(0, size, 16):
        part = cells[lane:lane + 16]
        order = list(range(8))
        order[high:high + 4] = [high + (control >> 2 * k & 3) for k in range(4)]
        out += pick(part, 2, order)
    m.write_vector(i.operands[0], out, vex, 2)


@vector("shufps", "shufpd")
def shufps(m, i, vex):
    control = i.operands[-1].value
    a, b = i.operands[-3:-1] if len(i.operands) == 4 else i.operands[:2]
    size, out = size_of(i), []
    element = 4 if i.name.endswith("ps") else 8
    first, second = m.cells(a, size, element), m.cells(b, size, element)
    for lane in range(0, size, 16):
        x, y = first[lane:lane + 16], second[lane:lane + 16]
        if element == 4:
            out += pick(x, 4, [control & 3, control >> 2 & 3])
            out += pick(y, 4, [control >> 4 & 3, control >> 6 & 3])
        else:
            k = lane // 8
            out += pick(x, 8, [control >> k & 1]) + pick(y, 8, [control >> k + 1 & 1])
    m.write_vector(i.operands[0], out, vex, element)


@vector("pshufb")
def pshufb(m, i, vex):
    a, b = sources(i, vex)
    size, out = size_of(i), []
    cells, control = m.cells(a, size, 1), m.cells(b, size, 1)
    for at, c in enumerate(control):
        if not t.is_int(c):
            raise Refused("a shuffle depends on data")
        out.append(0 if c & 128 else cells[at // 16 * 16 + (c & 15)])
    m.write_vector(i.operands[0], out, vex, 1)


@vector("permq", "permpd", "permd", "permps", "permb", "permw", "permt2d", "permt2q", "permi2d",
        "permi2q", "permt2b", "permi2b", "permt2ps", "permi2ps", "permt2w", "permi2w", "permi2pd",
        "permt2pd")
def permute(m, i, vex):
    size = size_of(i)
    plain = i.name.lstrip("v")
    element = {"d": 8 if plain.endswith("pd") else 4, "q": 8, "s": 4, "b": 1, "w": 2}[plain[-1]]
    count = size // element
    destination, second, third = i.operands
    if third.kind == "immediate":
        cells = m.cells(second, size, 8)
        out = []
        for lane in range(0, size, 32):
            out += pick(cells[lane:lane + 32], 8, [third.value >> 2 * k & 3 for k in range(4)])
    else:
        if "t2" in plain:
            index, table = second, (destination, third)
        elif "i2" in plain:
            index, table = destination, (second, third)
        else:
            index, table = second, (third,)
        control = m.lanes(index, size, element)
        if not all(map(t.is_int, control)):
            raise Refused("a permutation depends on data")
        cells = [cell for operand in table for cell in m.cells(operand, size, element)]
        out = pick(cells, element, [c % (count * len(table)) for c in control])
    m.write_vector(destination, out, vex, element)


@vector("perm2i128", "perm2f128")
def perm2i128(m, i, vex):
    control = i.operands[3].value
    both = m.cells(i.operands[1], 32) + m.cells(i.operands[2], 32)
    out = []
    for half in (0, 4):
        at = control >> half & 3
        out += [0] * 16 if control >> half & 8 else both[16 * at:16 * at + 16]
    m.write_vector(i.operands[0], out, vex)


@vector("shufi64x2", "shufi32x4", "shuff64x2", "shuff32x4")
def shuffle_128(m, i, vex):
    size, control = size_of(i), i.operands[3].value
    bits, half = (2, 2) if size == 64 else (1, 1)
    out = []
    for k in range(size // 16):
        source = m.cells(i.operands[1 if k < half else 2], size, 8)
        at = control >> bits * k & (1 << bits) - 1
        out += source[16 * at:16 * at + 16]
    m.write_vector(i.operands[0], out, vex, 8 if "64" in i.name else 4)


EXTRACT = re.compile(r"extract[if](128|32x4|64x2|32x8|64x4)")


@vector(*(f"extract{k}{s}" for k in "if" for s in ("128", "32x4", "64x2", "32x8", "64x4")))
def extract_part(m, i, vex):
    size = 32 if i.name[-2:] in ("x8",) or i.name.endswith("64x4") else 16
    source = i.operands[1]
    at = i.operands[2].value % (source.width // 8 // size) * size
    m.write_vector(i.operands[0], m.cells(source, source.width // 8)[at:at + size], vex)


@vector(*(f"insert{k}{s}" for k in "if" for s in ("128", "32x4", "64x2", "32x8", "64x4")))
def insert_part(m, i, vex):
    part = 32 if i.name[-2:] in ("x8",) or i.name.endswith("64x4") else 16
    size = i.operands[0].width // 8
    cells = list(m.cells(i.operands[1], size))
    at = i.operands[3].value % (size // part) * part
    cells[at:at + part] = m.cells(i.operands[2], part)
    m.write_vector(i.operands[0], cells, vex)


@vector(*(f"pinsr{c}" for c in "bwdq"))
def pinsr(m, i, vex):
    element = {"b": 1, "w": 2, "d": 4, "q": 8}[i.name[-1]]
    old = i.operands[0] if len(i.operands) == 3 else i.operands[1]
    cells = list(m.cells(old, 16))
    at = i.operands[-1].value % (16 // element) * element
    cells[at:at + element] = m.cells(i.operands[-2], element)[:element]
    m.write_vector(i.operands[0], cells, vex)


@vector(*(f"pextr{c}" for c in "bwdq"))
def pextr(m, i, vex):
    element = {"b": 1, "w": 2, "d": 4, "q": 8}[i.name[-1]]
    at = i.operands[2].value % (16 // element) * element
    cells = m.cells(i.operands[1], 16)[at:at + element]
    if i.operands[0].kind == "memory":
        return m.store(m.address(i.operands[0]), cells)
    m.write(i.operands[0], t.zero_extend(t.from_cells(cells), 8 * element, i.operands[0].width))


@vector(*(f"pbroadcast{c}" for c in "bwdq"), "broadcastss", "broadcastsd", "movddup")
def broadcast(m, i, vex):
    element = {"b": 1, "w": 2, "d": 4, "q": 8}.get(i.name[-1]) if "pb" in i.name else (
        4 if i.name.endswith("ss") else 8)
    size = i.operands[0].width // 8
    if "movddup" in i.name:
        cells = m.cells(i.operands[1], 8 if size == 16 else size)
        out = [c for lane in range(0, size, 16) for c in cells[lane:lane + 8] * 2]
    else:
        out = m.cells(i.operands[1], element)[:element] * (size // element)
    m.write_vector(i.operands[0], out, vex, element)


@vector("broadcasti128", "broadcastf128", "broadcasti32x4", "broadcasti64x2", "broadcastf32x4",
        "broadcasti64x4", "broadcastf64x2", "broadcasti32x8", "broadcastf64x4", "broadcastf32x8")
def broadcast_part(m, i, vex):
    part = 32 if "x8" in i.name or "64x4" in i.name else 16
    size = i.operands[0].width // 8
    m.write_vector(i.operands[0], m.cells(i.operands[1], part) * (size // part), vex)


WIDEN = re.compile(r"pmov([sz])x([bwd])([wdq])")
NARROW = re.compile(r"pmov([qdw])([dwb])")
BYTES = {"b": 1, "w": 2, "d": 4, "q": 8}


@vector(*(f"pmov{s}x{a}{b}" for s in "sz" for a in "bwd" for b in "wdq"))
def widen(m, i, vex):
    sign, a, b = WIDEN.match(i.name.lstrip("v")).groups()
    size = i.operands[0].width // 8
    count = size // BYTES[b]
    cells = m.cells(i.operands[1], count * BYTES[a])
    extend = t.sign_extend if sign == "s" else t.zero_extend
    lanes = [t.from_cells(cells[k * BYTES[a]:(k + 1) * BYTES[a]]) for k in range(count)]
    put(m, i, [extend(x, 8 * BYTES[a], 8 * BYTES[b]) for x in lanes], BYTES[b], vex)


@vector(*(f"pmov{a}{b}" for a in "qdw" for b in "dwb" if a != b))
def narrow(m, i, vex):
    a, b = NARROW.match(i.name.lstrip("v")).groups()
    size = i.operands[1].width // 8
    lanes = m.lanes(i.operands[1], size, BYTES[a])
    cells = [c for x in lanes for c in t.to_cells(t.extract(x, 0, 8 * BYTES[b]), 8 * BYTES[b])]
    if i.operands[0].kind == "vector":
        cells += [0] * (16 - len(cells))
    m.write_vector(i.operands[0], cells, vex, BYTES[b])


@vector("packuswb", "packusdw", "packsswb", "packssdw")
def pack(m, i, vex):
    element = 2 if i.name.endswith("wb") else 4
    a, b = sources(i, vex)
    size, out = size_of(i), []
    lanes = [m.lanes(o, size, element) for o in (a, b)]
    half = 4 * element
    low, high = (0, (1 << half) - 1) if "us" in i.name else (-(1 << half - 1), (1 << half - 1) - 1)
    width = 8 * element

    def saturate(x):
        x = t.choose(t.compare("slt", x, low & t.mask(width), width), low & t.mask(width), x, width)
        x = t.choose(t.compare("slt", high, x, width), high, x, width)
        return t.extract(x, 0, half)
    for lane in range(size // 16):
        for source in lanes:
            out += [saturate(x) for x in source[lane * 16 // element:(lane + 1) * 16 // element]]
    put(m, i, out, element // 2, vex)


@vector("pblendw", "pblendd", "blendps", "blendpd")
def blend(m, i, vex):
    control = i.operands[-1].value
    a, b = i.operands[-3:-1] if len(i.operands) == 4 else i.operands[:2]
    element = {"pblendw": 2, "pblendd": 4, "blendps": 4, "blendpd": 8}[i.name.lstrip("v")]
    size, out = size_of(i), []
    first, second = m.cells(a, size, element), m.cells(b, size, element)
    for k in range(size // element):
        bit = control >> (k % 8 if element == 2 else k) & 1
        out += (second if bit else first)[k * element:(k + 1) * element]
    m.write_vector(i.operands[0], out, vex)


@vector("pblendvb", "blendvps", "blendvpd")
def blend_variable(m, i, vex):
    operands = i.operands if len(i.operands) == 4 else [i.operands[0], *i.operands]
    element = 1 if "vb" in i.name else 4 if i.name.endswith("ps") else 8
    size = size_of(i)
    a, b, control = (m.lanes(o, size, element) for o in operands[1:])
    put(m, i, [t.choose(t.compare("slt", c, 0, 8 * element), y, x, 8 * element)
               for x, y, c in zip(a, b, control)], element, vex)


@vector("pternlogd", "pternlogq")
def ternary(m, i, vex):
    element = 4 if i.name[-1] == "d" else 8
    size, table, w = size_of(i), i.operands[3].value, 8 * element
    lanes = zip(*(m.lanes(o, size, element) for o in i.operands[:3]))
    out = []
    for abc in lanes:
        if table == 0x96:
            out.append(exclusive(m, exclusive(m, abc[0], abc[1], w), abc[2], w))
            continue
        total = 0
        for row in range(8):
            if table >> row & 1:
                parts = [x if row >> (2 - k) & 1 else t.invert(x, w) for k, x in enumerate(abc)]
                total = t.bor(total, t.band(t.band(parts[0], parts[1], w), parts[2], w), w)
        out.append(total)
    put(m, i, out, element, vex)


@vector("movmskps", "movmskpd", "pmovmskb")
def movmsk(m, i, vex):
    element = {"s": 4, "d": 8, "b": 1}[i.name[-1]]
    source = i.operands[1]
    lanes = m.lanes(source, source.width // 8, element)
    bits = [(t.extract(x, 8 * element - 1, 1), 1) for x in reversed(lanes)]
    m.write(i.operands[0], t.zero_extend(t.concat(bits), len(bits), i.operands[0].width))


# --- floats --------------------------------------------------------------------------------------

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
    for name, functions in (("add", floats.ADD), ("mul", floats.MULTIPLY), ("div", floats.DIVIDE)):
        VECTOR[f"{name}s{letter}"] = float_operation(functions[bits], bits)
        lanewise(bits // 8, lambda m, a, b, w, f=functions[bits]: f(a, b), f"{name}p{letter}")


@vector("comiss", "ucomiss", "comisd", "ucomisd")
def compare_floats(m, i, vex):
    width = 32 if i.name.endswith("ss") else 64
    a, b = (t.from_cells(m.cells(o, width // 8)[:width // 8]) for o in i.operands)
    less, equal = floats.ordered(a, b, width)
    m.flags = Flags(t.choose(equal, 0, 1, 8), 8, less)


@vector("cvtsi2ss", "cvtsi2sd")
def from_integer(m, i, vex):
    source, width = i.operands[-1], 32 if i.name.endswith("ss") else 64
    one_lane(m, i, vex, floats.FROM_INTEGER[source.width, width](m.read(source)), width)


@vector("cvtss2sd", "cvtsd2ss")
def convert_one(m, i, vex):
    width, function = (32, floats.WIDEN) if "ss2" in i.name else (64, floats.NARROW)
    value = t.from_cells(m.cells(i.operands[-1], width // 8)[:width // 8])
    one_lane(m, i, vex, function(value), 96 - width)


# name -> (function, bytes of a source's lane, of a result's)
CONVERSIONS = {"cvtps2pd": (floats.WIDEN, 4, 8), "cvtpd2ps": (floats.NARROW, 8, 4),
               "cvtqq2pd": (floats.FROM_INTEGER[64, 64], 8, 8), "cvtps2dq": (floats.ROUND, 4, 4)}


@vector(*CONVERSIONS)
def convert(m, i, vex):
    function, source, result = CONVERSIONS[i.name[1:] if vex else i.name]
    count = size_of(i) // max(source, result)
    lanes = m.lanes(i.operands[1], count * source, source)
    lanes = [function(v) for v in lanes]
    put(m, i, lanes + [0] * (16 // result - count), result, vex)


# --- AES -----------------------------------------------------------------------------------------

@vector("aesenc", "aesenclast")
def aes_round(m, i, vex):
    a, b = sources(i, vex)
    function = aes.LAST_ROUND if i.name.endswith("last") else aes.ROUND
    put(m, i, [function(x, y) for x, y in zip(m.lanes(a, size_of(i), 16),
                                              m.lanes(b, size_of(i), 16))], 16, vex)


@vector("aeskeygenassist")
def key_assist(m, i, vex):
    """SubWord of words 1 and 3, and the same rotated with the constant."""
    cells = m.cells(i.operands[1], 16)
    out = []
    for at in (4, 12):
        word = aes.substituted([t.from_cells([c]) for c in cells[at:at + 4]])
        out += word + aes.exclusive(aes.rotated(word), [i.operands[2].value, 0, 0, 0])
    put(m, i, out, 1, vex)
