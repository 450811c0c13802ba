"""Instructions on vectors of integers."""

import floats
import terms as t
from arithmetic import conjunction, conjunction_of_not, disjunction, exclusive, product
from machine import Refused

from .scalar import TABLE, instruction, multiplied


def vector(*names):
    return instruction(*names, of=True)


def value(operand):
    """Of an immediate."""
    if operand.kind != "immediate":
        raise Refused(f"operand '{operand.text}'")
    kind, count = operand.modifier or ("lsl", 0)
    return operand.value << count | (t.mask(count) if kind == "msl" else 0)


# --- lane by lane --------------------------------------------------------------------------------

def lanewise(function, *names, adds=False):
    """function(machine, a, b, width) of the lanes of two vectors, of the second perhaps one for all; `adds`:
    function(machine, before, a, b, width)."""
    def run(m, i):
        destination, *sources = i.operands
        lanes = [m.lanes(operand) for operand in sources]
        if len(lanes) != 2 or any(o.element != destination.element for o in sources):
            raise Refused("lanes of several sizes")
        lanes = [own * destination.count if o.place is not None else own for own, o in zip(lanes, sources)]
        lanes = ([m.lanes(destination)] if adds else []) + lanes
        m.write_lanes(destination, [function(m, *of, 8 * destination.element) for of in zip(*lanes)])
    for name in names:
        TABLE[name, True] = run


def whether(relation):
    """All ones if a comparison holds."""
    def run(m, a, b, w):
        condition = {"eq": lambda: t.compare("eq", a, b, w), "gt": lambda: t.compare("slt", b, a, w),
                     "ge": lambda: t.negation(t.compare("slt", a, b, w)),
                     "hi": lambda: t.compare("ult", b, a, w),
                     "hs": lambda: t.negation(t.compare("ult", a, b, w))}[relation]()
        return t.choose(condition, t.mask(w), 0, w)
    return run


def chosen(relation, greatest):
    def run(m, a, b, w):
        condition = t.compare(relation, a, b, w)
        return t.choose(condition, b, a, w) if greatest else t.choose(condition, a, b, w)
    return run


lanewise(lambda m, a, b, w: t.add(a, b, w), "add")
lanewise(lambda m, a, b, w: t.sub(a, b, w), "sub")
lanewise(lambda m, a, b, w: multiplied(m, a, b, w), "mul")
lanewise(lambda m, c, a, b, w: t.add(c, multiplied(m, a, b, w), w), "mla", adds=True)
lanewise(lambda m, c, a, b, w: t.sub(c, multiplied(m, a, b, w), w), "mls", adds=True)
for sign, relation in (("s", "slt"), ("u", "ult")):
    lanewise(chosen(relation, False), sign + "min")
    lanewise(chosen(relation, True), sign + "max")


@vector(*(f"cm{relation}" for relation in ("eq", "gt", "ge", "hi", "hs", "lt", "le", "tst")))
def compare_lanes(m, i):
    """With another vector, or with 0."""
    destination, first, second = i.operands
    a, w = m.lanes(first), 8 * destination.element
    b = m.lanes(second) if second.kind == "vector" else [value(second)] * len(a)
    relation = i.name[2:]
    if relation == "tst":
        found = [t.invert(whether("eq")(m, t.band(x, y, w), 0, w), w) for x, y in zip(a, b)]
    elif relation in ("lt", "le"):
        found = [t.sar(x, w - 1, w) if relation == "lt" and t.is_int(y) and y == 0 else whether(
            {"lt": "gt", "le": "ge"}[relation])(m, y, x, w) for x, y in zip(a, b)]
    else:
        found = [whether(relation)(m, x, y, w) for x, y in zip(a, b)]
    m.write_lanes(destination, found)


LOGIC = {"and": conjunction, "orr": disjunction, "eor": exclusive, "bic": lambda m, a, b, w: (
    conjunction_of_not(m, b, a, w))}


@vector(*LOGIC)
def logic(m, i):
    """Of whole vectors, 64 bits at a time; orr and bic also with an immediate in each lane."""
    destination = i.operands[0]
    if i.operands[-1].kind == "immediate":
        w, number = 8 * destination.element, value(i.operands[-1])
        lanes = [LOGIC[i.name](m, lane, number, w) for lane in m.lanes(destination)]
        return m.write_lanes(destination, lanes)
    a, b = (m.cells(operand) for operand in i.operands[1:])
    if i.name == "eor" and i.operands[1].text == i.operands[2].text:
        return m.write_cells(destination, [0] * destination.size)
    cells = []
    for at in range(0, destination.size, 8):
        if i.name == "bic" and lanes_chosen(b[at:at + 8]):
            cells += selected(m, b[at:at + 8], [0] * 8, a[at:at + 8])
            continue
        v = LOGIC[i.name](m, t.from_cells(a[at:at + 8]), t.from_cells(b[at:at + 8]), 64)
        cells += t.to_cells(v, 64)
    return m.write_cells(destination, cells)


@vector("bsl", "bit", "bif")
def select(m, i):
    """Of each bit one of two, by a third."""
    destination, first, second = i.operands
    old, a, b = (m.cells(operand) for operand in i.operands)
    cells = []
    by, yes, no = {"bsl": (old, a, b), "bit": (b, a, old), "bif": (b, old, a)}[i.name]
    for at in range(0, destination.size, 8):
        cells += selected(m, *(own[at:at + 8] for own in (by, yes, no)))
    m.write_cells(destination, cells)


def lanes_chosen(by):
    """(bytes of a lane, the conditions) of 8 bytes that are lanes of ones where a condition holds and zeros
    elsewhere; None of others."""
    for size in (4, 8):
        found = [condition_of(t.from_cells(by[at:at + size]), 8 * size) for at in range(0, 8, size)]
        if None not in found:
            return size, found
    return None


def condition_of(v, width):
    if t.is_int(v):
        return {0: False, t.mask(width): True}.get(v)
    if not t.all_or_nothing(v):
        return None
    condition, where_it_holds, _ = t.parts_of(v)
    return condition if t.is_ones(where_it_holds) else t.negation(condition)


def selected(m, by, yes, no):
    """Of 8 bytes: whole lanes, where it is known which, or else bits."""
    found = lanes_chosen(by)
    if found is None:
        by, yes, no = map(t.from_cells, (by, yes, no))
        v = disjunction(m, conjunction(m, by, yes, 64), conjunction_of_not(m, by, no, 64), 64)
        return t.to_cells(v, 64)
    size, cells = found[0], []
    for at, condition in zip(range(0, 8, size), found[1]):
        lanes = (t.from_cells(own[at:at + size]) for own in (yes, no))
        cells += t.to_cells(t.choose(condition, *lanes, 8 * size), 8 * size)
    return cells


@vector("mvn", "not")
def invert(m, i):
    lanes, w = m.lanes(i.operands[1]), 8 * i.operands[0].element
    m.write_lanes(i.operands[0], [t.invert(lane, w) for lane in lanes])


@vector("neg", "abs")
def negate(m, i):
    w = 8 * i.operands[0].element
    m.write_lanes(i.operands[0], [
        t.sub(0, x, w) if i.name == "neg" else t.choose(t.compare("slt", x, 0, w), t.sub(0, x, w), x, w)
        for x in m.lanes(i.operands[1])])


@vector("shl", "ushr", "sshr", "usra", "ssra")
def shift(m, i):
    destination, source, count = i.operands
    w, by = 8 * destination.element, value(count)
    function = {"shl": t.shl, "ushr": t.shr, "sshr": t.sar, "usra": t.shr, "ssra": t.sar}[i.name]
    found = [function(x, by, w) for x in m.lanes(source)]
    if i.name.endswith("sra"):
        found = [t.add(old, x, w) for old, x in zip(m.lanes(destination), found)]
    m.write_lanes(destination, found)


@vector("sshl")
def shift_by_lanes(m, i):
    """To the left by the lowest byte of the second source's lane, to the right if it is negative."""
    destination, first, second = i.operands
    w, found = 8 * destination.element, []
    for x, by in zip(m.lanes(first), m.lanes(second)):
        count = t.extract(by, 0, 8)
        if not t.is_int(count):
            raise Refused("a shift count depends on data")
        count = t.signed(count, 8)
        found.append(t.shl(x, count, w) if count >= 0 else t.sar(x, -count, w))
    m.write_lanes(destination, found)


# --- wider and narrower lanes --------------------------------------------------------------------

def half(m, operand, i):
    """The lanes of a source of which a half counts: of a "2" instruction the upper one."""
    lanes = m.lanes(operand)
    if operand.size == 16:
        if not i.name.endswith("2"):
            raise Refused("half of a vector without saying which")
        return lanes[len(lanes) // 2:]
    return lanes


@vector(*(f"{s}xtl{u}" for s in "us" for u in ("", "2")),
        *(f"{s}shll{u}" for s in "us" for u in ("", "2")))
def widen(m, i):
    destination, source, *count = i.operands
    extend, w = t.sign_extend if i.name[0] == "s" else t.zero_extend, 8 * destination.element
    by = value(count[0]) if count else 0
    m.write_lanes(destination, [t.shl(extend(x, w // 2, w), by, w) for x in half(m, source, i)])


@vector(*(f"{s}{op}w{u}" for s in "us" for op in ("add", "sub") for u in ("", "2")))
def add_wide(m, i):
    """The second source is narrower."""
    destination, first, second = i.operands
    extend, w = t.sign_extend if i.name[0] == "s" else t.zero_extend, 8 * destination.element
    m.write_lanes(destination, [
        t.add(a, extend(b, w // 2, w), w, -1 if i.name[1:4] == "sub" else 1)
        for a, b in zip(m.lanes(first), half(m, second, i))])


@vector(*(f"{s}{op}l{u}" for s in "us" for op in ("add", "sub", "mul", "mla", "mls") for u in ("", "2")))
def long_lanes(m, i):
    """Both sources are narrower; mla and mls add to what the lane was."""
    destination, first, second = i.operands
    is_signed, w = i.name[0] == "s", 8 * destination.element
    extend, operation = t.sign_extend if is_signed else t.zero_extend, i.name[1:4]
    a = half(m, first, i)
    b = m.lanes(second) * len(a) if second.place is not None else half(m, second, i)
    found = []
    for x, y in zip(a, b):
        if operation in ("add", "sub"):
            x, y = (extend(v, w // 2, w) for v in (x, y))
            found.append(t.add(x, y, w, -1 if operation == "sub" else 1))
        else:
            found.append(t.extract(product(m, x, y, w // 2, is_signed), 0, w))
    if operation in ("mla", "mls"):
        sign = -1 if operation == "mls" else 1
        found = [t.add(old, x, w, sign) for old, x in zip(m.lanes(destination), found)]
    m.write_lanes(destination, found)


@vector("xtn", "xtn2", "shrn", "shrn2")
def narrow(m, i):
    """The low halves, or those after a shift; "2" writes the upper half and keeps the lower one."""
    destination, source, *count = i.operands
    w, by = 8 * destination.element, value(count[0]) if count else 0
    lanes = [t.extract(x, by, w) for x in m.lanes(source)]
    cells = [cell for lane in lanes for cell in t.to_cells(lane, w)]
    if i.name.endswith("2"):
        cells = m.vectors[destination.register][:8] + cells
    if len(cells) != destination.size:
        raise Refused("a vector of another size")
    m.write_cells(destination, cells)


# --- across lanes --------------------------------------------------------------------------------

@vector("addv", "smaxv", "sminv", "umaxv", "uminv")
def across(m, i):
    destination, source = i.operands
    lanes, w = m.lanes(source), 8 * source.element
    v = lanes[0]
    for x in lanes[1:]:
        v = t.add(v, x, w) if i.name == "addv" else chosen(
            "slt" if i.name[0] == "s" else "ult", i.name[1:4] == "max")(m, v, x, w)
    m.write_cells(destination, t.to_cells(v, w))


@vector("saddlv", "uaddlv")
def add_across(m, i):
    destination, source = i.operands
    extend, w = t.sign_extend if i.name[0] == "s" else t.zero_extend, 8 * source.element
    total = 0
    for x in m.lanes(source):
        total = t.add(total, extend(x, w, 2 * w), 2 * w)
    m.write_cells(destination, t.to_cells(total, 2 * w))


@vector("addp")
def add_pairs(m, i):
    destination, *sources = i.operands
    lanes, w = [x for o in sources for x in m.lanes(o)], 8 * destination.element
    m.write_lanes(destination, [t.add(a, b, w) for a, b in zip(lanes[::2], lanes[1::2])])


@vector("sdot", "udot")
def dot_product(m, i):
    """To each lane of 32 bits the products of its four bytes; of the second source perhaps one lane's."""
    destination, first, second = i.operands
    is_signed, a, b = i.name[0] == "s", m.cells(first), m.cells(second)
    if second.place is not None:  # .4b[k]: four bytes
        at = 4 * second.place
        b = m.vectors[second.register][at:at + 4] * destination.count
    totals = []
    for k, total in enumerate(m.lanes(destination)):
        x, y = (cells[4 * k:4 * k + 4] for cells in (a, b))
        if m.add_products:
            totals.append(m.add_products(total, x, y, 1, (is_signed, is_signed)))
            continue
        for left, right in zip(x, y):
            v = product(m, *(t.from_cells([cell]) for cell in (left, right)), 8, is_signed)
            extend = t.sign_extend if is_signed else t.zero_extend
            total = t.add(total, extend(v, 16, 32), 32)
        totals.append(total)
    m.write_lanes(destination, totals)


COMPUTED = frozenset(TABLE)  # what follows moves what there is


# --- moves ---------------------------------------------------------------------------------------

@vector("mov", "fmov", "umov", "smov", "ins")
def move(m, i):
    """Between vectors, lanes of them and general registers."""
    destination, source = i.operands
    if source.kind == "float":
        number = floats.bits_of(source.value, 8 * destination.element)
        return m.write_lanes(destination, [number] * destination.count)
    if source.kind == "general":
        size = destination.size
        return m.write_cells(destination, t.to_cells(t.extract(m.read(source), 0, 8 * size), 8 * size))
    cells = m.cells(source)
    if destination.kind == "vector":
        return m.write_cells(destination, cells)
    extend = t.sign_extend if i.name == "smov" else t.zero_extend
    return m.write(destination, extend(t.from_cells(cells), 8 * len(cells), destination.width))


@vector("movi", "mvni")
def move_immediate(m, i):
    destination, number = i.operands
    w = 8 * destination.element
    lane = value(number) & t.mask(w)
    m.write_lanes(destination, [lane ^ t.mask(w) if i.name == "mvni" else lane] * destination.count)


@vector("dup")
def repeat(m, i):
    destination, source = i.operands
    w = 8 * destination.element
    lane = t.extract(m.read(source), 0, w) if source.kind == "general" else t.from_cells(m.cells(source))
    m.write_lanes(destination, [lane] * destination.count)


@vector("ext")
def bytes_of_two(m, i):
    destination, first, second, at = i.operands
    both = m.cells(first) + m.cells(second)
    m.write_cells(destination, both[value(at):value(at) + destination.size])


@vector("uzp1", "uzp2", "zip1", "zip2", "trn1", "trn2")
def permute(m, i):
    destination = i.operands[0]
    a, b = (m.lanes(operand) for operand in i.operands[1:])
    odd, count = i.name[3] == "2", destination.count
    if i.name[:3] == "uzp":
        found = (a + b)[odd::2]
    elif i.name[:3] == "zip":
        found = [x for pair in zip(a, b) for x in pair][odd * count:][:count]
    else:
        found = [x for pair in zip(a[odd::2], b[odd::2]) for x in pair]
    m.write_lanes(destination, found)


@vector("rev16", "rev32", "rev64")
def reverse(m, i):
    destination, source = i.operands
    lanes, count = m.lanes(source), int(i.name[3:]) // 8 // destination.element
    m.write_lanes(destination, [x for at in range(0, len(lanes), count)
                                for x in reversed(lanes[at:at + count])])
