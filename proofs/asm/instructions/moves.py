"""Instructions that move the lanes of vectors: loads and stores, shuffles, widening, narrowing."""

import re

import z3

import terms as t
from machine import Refused

from .vectors import VECTOR, each, put, size_of, sources, vector


BYTES = {"b": 1, "w": 2, "d": 4, "q": 8}
OTHERS = frozenset(VECTOR)


class Plain:
    """A vector register without its mask."""
    kind, mask = "vector", None

    def __init__(self, operand):
        self.register = operand.register


@vector(*(f"pcompress{c}" for c in "bwdq"))
def compress(m, i, vex):
    element = BYTES[i.name[-1]]
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
    element = 8 if i.name.endswith("pd") else {"8": 1, "16": 2, "32": 4, "64": 8}.get(
        re.sub(r"^v?movdq[au]", "", i.name), 4)
    size = size_of(i)
    if source.kind == "memory" and destination.mask:
        cells = m.load_lanes(m.address(source), size, element, destination.mask)
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
    bits = m.places and m.places(control[:8])
    if bits is not None:
        chosen = m.kept(bits, [t.from_cells([cell]) for cell in cells[:8]], 1)
        return m.write_vector(i.operands[0], chosen + m.unknown_cells(size - 8), vex, 1)
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


@vector("inserti128", "insertf128", "inserti64x4", "insertf64x4", "inserti32x4", "insertf32x4",
        "inserti64x2", "insertf64x2", "inserti32x8", "insertf32x8")
def insert_part(m, i, vex):
    destination, old, source, place = i.operands
    part = 32 if i.name[-2:] == "x8" or i.name.endswith("64x4") else 16
    size = destination.width // 8
    cells = list(m.cells(old, size))
    at = place.value % (size // part) * part
    cells[at:at + part] = m.cells(source, part)
    m.write_vector(destination, cells, vex, 8 if "64" in i.name else 4)


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


def saturated(x, width, half, signed=True):
    """A number of `half` bits, signed or not, the nearest to a signed one of `width`."""
    low, high = (-(1 << half - 1) & t.mask(width), (1 << half - 1) - 1) if signed else (0, t.mask(half))
    x = t.choose(t.compare("slt", x, low, width), low, x, width)
    x = t.choose(t.compare("slt", high, x, width), high, x, width)
    return t.extract(x, 0, half)


@vector("pmovsdw")
def narrow_signed(m, i, vex):
    lanes = m.lanes(i.operands[1], i.operands[1].width // 8, 4)
    cells = [c for x in each(lambda x: saturated(x, 32, 16), lanes) for c in t.to_cells(x, 16)]
    if i.operands[0].kind == "vector":
        cells += [0] * (16 - len(cells))
    m.write_vector(i.operands[0], cells, vex, 2)


@vector("packuswb", "packusdw", "packsswb", "packssdw")
def pack(m, i, vex):
    element = 2 if i.name.endswith("wb") else 4
    a, b = sources(i, vex)
    size, out = size_of(i), []
    lanes = [m.lanes(o, size, element) for o in (a, b)]
    narrowed = [each(lambda x: saturated(x, 8 * element, 4 * element, "us" not in i.name), own)
                for own in lanes]
    for lane in range(size // 16):
        for source in narrowed:
            out += source[lane * 16 // element:(lane + 1) * 16 // element]
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


@vector("movshdup", "movsldup")
def twice(m, i, vex):
    """Of each pair of lanes the upper one, or the lower one, in both."""
    size, odd = size_of(i), i.name.lstrip("v") == "movshdup"
    lanes = m.lanes(i.operands[-1], size, 4)
    put(m, i, [lanes[k | 1 if odd else k & ~1] for k in range(size // 4)], 4, vex)


@vector("insertps")
def insert_lane(m, i, vex):
    """One lane of a vector, or of memory, into another one's; some lanes are 0."""
    control, source = i.operands[-1].value, i.operands[-2]
    lanes = m.lanes(i.operands[1 if vex else 0], 16, 4)
    if source.kind == "memory":
        one = t.from_cells(m.cells(source, 4))
    else:
        one = m.lanes(source, 16, 4)[control >> 6]
    lanes[control >> 4 & 3] = one
    put(m, i, [0 if control >> k & 1 else lane for k, lane in enumerate(lanes)], 4, vex)


@vector("pblendvb")
def blend_bytes(m, i, vex):
    """Of each byte the second operand, if that of the last one is negative; of a lane at once, where a
    condition says it of all its bytes."""
    if not vex:
        raise Refused("a blend by xmm0")
    size, out = size_of(i), []
    for x, y, sign in zip(*(m.lanes(o, size, 4) for o in i.operands[1:])):
        if t.is_int(sign) and sign in (0, t.mask(32)):
            out.append(y if sign else x)
        elif not t.is_int(sign) and t.kind(sign) == z3.Z3_OP_ITE and all(
                map(t.is_number, t.parts_of(sign)[1:])):
            condition, *numbers = t.parts_of(sign)
            sides = [chosen_bytes(x, y, number.as_long()) for number in numbers]
            out.append(t.choose(condition, *sides, 32))
        else:
            out.append(t.from_cells([cell for bytes_ in zip(*(t.to_cells(v, 32) for v in (x, y, sign)))
                                     for cell in chosen_byte(*bytes_)]))
    put(m, i, out, 4, vex)


def chosen_byte(first, second, sign):
    """Its cells."""
    x, y, by = (t.from_cells([cell]) for cell in (first, second, sign))
    return t.to_cells(t.choose(t.compare("slt", by, 0, 8), y, x, 8), 8)


def chosen_bytes(x, y, signs):
    cells = zip(t.to_cells(x, 32), t.to_cells(y, 32), t.to_cells(signs, 32))
    return t.from_cells([second if sign >> 7 else first for first, second, sign in cells])


@vector("pblendmd")
def blend_lanes(m, i, vex):
    """Of each lane the second operand, if the mask has it."""
    to, a, b = i.operands
    if not to.mask or to.zeroing:
        raise Refused("a blend without a mask, or with zeros")
    size = size_of(i)
    bits = [m.mask_bit(to.mask, k) for k in range(size // 4)]
    lanes = [(y if bit else x) if t.is_int(bit) else t.choose(bit == 1, y, x, 32)
             for bit, x, y in zip(bits, m.lanes(a, size, 4), m.lanes(b, size, 4))]
    cells = [cell for lane in lanes for cell in t.to_cells(lane, 32)]
    m.vectors[to.register] = cells + [0] * (64 - size)


@vector(*(f"pmov{c}2m" for c in "bwdq"))
def signs_to_mask(m, i, vex):
    element, source = BYTES[i.name[-3]], i.operands[1]
    bits = [(t.extract(x, 8 * element - 1, 1), 1)
            for x in reversed(m.lanes(source, source.width // 8, element))]
    m.write(i.operands[0], t.zero_extend(t.concat(bits), len(bits), 64))


@vector("movmskps", "movmskpd", "pmovmskb")
def movmsk(m, i, vex):
    element = {"s": 4, "d": 8, "b": 1}[i.name[-1]]
    source = i.operands[1]
    lanes = m.lanes(source, source.width // 8, element)
    bits = [(t.extract(x, 8 * element - 1, 1), 1) for x in reversed(lanes)]
    m.write(i.operands[0], t.zero_extend(t.concat(bits), len(bits), i.operands[0].width))


SCATTERS = {"pscatterdd": (4, 4), "pscatterqd": (8, 4), "pscatterqq": (8, 8)}  # bytes: place, element


@vector(*SCATTERS)
def scatter(m, i, vex):
    """The lanes that the mask has, from the lowest, each to its own place; then the mask is 0."""
    memory, source = i.operands
    register, bits, factor = memory.places
    size, element = SCATTERS[i.name[1:]]
    count = min(bits // 8 // size, source.width // 8 // element)
    cells = m.vectors[register]
    for k in range(count):
        if m.known_bit(memory.mask, k):
            place = t.from_cells(cells[size * k:size * (k + 1)])
            if not t.is_int(place):
                raise Refused("an address depends on data")
            at = m.address(memory, factor * t.signed(place, 8 * size))
            m.store(at, m.vectors[source.register][element * k:element * (k + 1)])
    m.masks[memory.mask] = 0


# Of instructions that move what there is, and compute nothing.
NAMES = frozenset(name for name in frozenset(VECTOR) - OTHERS
                  if not re.match("pack|pmov[sz]x|pmovs?[qdw][dwb]", name))
