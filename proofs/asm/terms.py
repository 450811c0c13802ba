"""Values of the symbolic machine: Python integers where known, Z3 bit-vectors elsewhere.

Three normal forms make code and specification meet without a solver:
* registers and memory are cells, one a byte, each an integer or (term, index of the byte in it);
* sums are linear combinations, one term for the same atoms in any order;
* a product of two unknowns is an atom, the uninterpreted `product` of two named operands with a
  known range ("cut"): what a product is never reaches the solver, only where it goes.
"""

import functools
import operator

import z3

import sums
from sums import RANGE, Sum

NODES = {}    # Z3's address of a term -> the one object that stands for it
LINEAR = {}   # id -> ({atom id: (atom, coefficient)}, constant) of a sum
SIGNS = {}    # id of a term that is all ones or all zeros -> the term whose sign it repeats
PRODUCTS = {}  # id of a product atom -> (operand, operand)
APPLIED = {}   # id of an application of an uninterpreted function -> the application
APPLICATIONS = {}  # (the function's name, ids of operands) -> the application
MAXIMA = {}    # id of a signed maximum -> ({id: operand}, constant or None)
COUNTS = {}    # id of a number of accepted words -> its greatest value
BITS = {}      # id of such a number that is 1 or 0 by a condition -> the number
PRODUCTIVE = {}  # id of a term -> whether a product is in it
POSITIVE = {}  # id of a sum of floats that is never -0 -> the sum
NEGATED = {}   # id of a float with the other sign -> (the float, what has the sign)
SIZES = {}     # id of a size, a counter or a pointer (sizes.py) -> the term
XORS = {}      # id of a sum of bytes modulo 2 -> ({id: byte}, constant)
XOR_ORDER = {}  # id of a byte in such a sum -> its place: what lanes do alike looks alike
MODULO_2 = {}  # id of a sum of words modulo 2 -> (ids of the words, constant)
MODULO_2_SUMS = {}  # (width, ids of words, constant) -> the sum


def keep(v):
    """The id of a term, which stays its own until `forget`."""
    return ident(one(v))


def one(v):
    """The one object of those that stand for a term; it stays alive until `forget`."""
    return NODES.setdefault(v.ast.value, v)


def forget():
    for table in (LINEAR, SIGNS, PRODUCTS, APPLIED, APPLICATIONS, MAXIMA, COUNTS, BITS, XORS, XOR_ORDER,
                  POSITIVE, NEGATED, PRODUCTIVE, SIZES, MODULO_2, MODULO_2_SUMS):
        table.clear()
    sums.forget()
    SUMS.clear()
    NODES.clear()


def is_int(v):
    return isinstance(v, int)


@functools.lru_cache(1 << 16)
def number(v, width):
    return z3.BitVecVal(v, width)


def term(v, width):
    return number(v, width) if is_int(v) else v


CONTEXT = z3.main_ctx()


def made(function, *operands):
    """What one of the library's functions makes of terms, without what Python's operators look at first."""
    return z3.BitVecRef(function(CONTEXT.ref(), *[v.as_ast() for v in operands]), CONTEXT)


def mask(width):
    return (1 << width) - 1


def signed(v, width):
    return v - (1 << width) if v >> (width - 1) & 1 else v


# Z3's Python functions check what the library behind them checks too, sorts and indices, at several
# times the cost of what they do.
z3.z3.Z3_DEBUG = False


def remembered(function):
    """What a term is made of is asked for again and again: the answer stays in its object."""
    name = "remembered_" + function.__name__

    @functools.wraps(function)
    def answer(v):
        known = v.__dict__.get(name)
        if known is None:
            known = v.__dict__[name] = function(v)
        return known
    return answer


@remembered
def kind(v):
    return z3.Z3_get_decl_kind(v.ctx_ref(), z3.Z3_get_app_decl(v.ctx_ref(), v.as_ast()))


@remembered
def parts_of(v):
    """The operands of its operation."""
    context, ast = v.ctx_ref(), v.as_ast()
    parts = [z3.Z3_get_app_arg(context, ast, i)
             for i in range(z3.Z3_get_app_num_args(context, ast))]
    return [NODES[part.value] if part.value in NODES else one(z3.z3._to_expr_ref(part, v.ctx))
            for part in parts]


@remembered
def lowest(v):
    """Where an extract begins."""
    return v.params()[1]


@remembered
def width_of(v):
    """Its bits."""
    return z3.Z3_get_bv_sort_size(v.ctx_ref(), z3.Z3_get_sort(v.ctx_ref(), v.as_ast()))


@remembered
def ident(v):
    return v.get_id()


def is_number(v):
    return not is_int(v) and kind(v) == z3.Z3_OP_BNUM


def extract(v, low, width):
    """Bits low .. low + width - 1."""
    if is_int(v):
        return v >> low & mask(width)
    known = v.__dict__.setdefault("extracts", {})
    if (low, width) not in known:
        known[low, width] = extracted(v, low, width)
    return known[low, width]


def extracted(v, low, width):
    if type(v) is Sum:
        if low == 0 and width >= sums.WORD:
            return v if width == v.width else Sum(width, (v,))
        v = v.named()
    while not is_int(v):
        if is_number(v):
            v = v.as_long()
            break
        if low == 0 and width_of(v) == width:
            return v
        k = kind(v)
        if k == z3.Z3_OP_EXTRACT:
            low += lowest(v)
            v = parts_of(v)[0]
            continue
        if k == z3.Z3_OP_SIGN_EXT and low + width <= width_of(parts_of(v)[0]):
            v = parts_of(v)[0]
            continue
        if k == z3.Z3_OP_CONCAT:
            at, parts = 0, []
            for part in reversed(parts_of(v)):
                first, last = max(low, at), min(low + width, at + width_of(part))
                if first < last:
                    parts.insert(0, (extract(part, first - at, last - first), last - first))
                at += width_of(part)
            return concat(parts)
        if k == z3.Z3_OP_BOR:
            a, b = (extract(part, low, width) for part in parts_of(v))
            return bor(a, b, width)
        if ident(v) in LINEAR:
            atoms, constant = LINEAR[ident(v)]
            if all(number % (1 << low + width) == 0 for number in (
                    constant, *(factor for _, factor in atoms.values()))):
                return 0
            if constant == 0 and low and [factor for _, factor in atoms.values()] == [1 << low]:
                return extract(*(atom for atom, _ in atoms.values()), 0, width)
            if low and multiple_of(v, 2) and not has_product(v):
                half = build({i: (atom, factor >> 1) for i, (atom, factor) in atoms.items()},
                             constant >> 1, width_of(v))
                return extract(half, low - 1, width)
        if low == 0 and ident(v) in LINEAR and not has_product(v):
            return truncate(v, width)
        if ident(v) in PRODUCTS:
            return piece(v, low, width)
        break
    if is_int(v):
        return v >> low & mask(width)
    return one(z3.Extract(low + width - 1, low, v))


def piece(atom, low, width):
    """Bits of a product; if they are all of it, their range is the product's."""
    bits = z3.Extract(low + width - 1, low, atom)
    least, greatest = RANGE[ident(atom)]
    if low == 0 and -(1 << width - 1) <= least and greatest < 1 << width - 1:
        RANGE[keep(bits)] = least, greatest
    return bits


def truncate(v, width):
    """The low bits of a sum are the sum of low bits."""
    atoms, constant = LINEAR[ident(v)]
    if not all(kind(atom) in (z3.Z3_OP_SIGN_EXT, z3.Z3_OP_CONCAT) for atom, _ in atoms.values()):
        return z3.Extract(width - 1, 0, v)
    total = constant & mask(width)
    for atom, coefficient in atoms.values():
        total = add(total, scale(extract(atom, 0, width), coefficient, width), width)
    return total


def concat(parts):
    """parts from the highest to the lowest, (value, width)."""
    merged, flat = [], []
    for v, width in parts:
        if width and not is_int(v) and type(v) is not Sum and kind(v) == z3.Z3_OP_CONCAT:
            flat += [(part.as_long() if is_number(part) else part, width_of(part))
                     for part in parts_of(v)]
        else:
            flat.append((v, width))
    for v, width in flat:
        if merged and is_int(v) and is_int(merged[-1][0]):
            merged[-1] = (merged[-1][0] << width | v, merged[-1][1] + width)
        elif merged and adjacent(merged[-1][0], v):
            low = lowest(v)
            merged[-1] = (extract(parts_of(v)[0], low, merged[-1][1] + width), merged[-1][1] + width)
        elif width:
            merged.append((v, width))
    if len(merged) == 1:
        return merged[0][0]
    return one(z3.Concat(*[term(v, width) for v, width in merged]))


def adjacent(above, below):
    """Whether two extracts lie side by side in one term."""
    return (not is_int(above) and not is_int(below) and kind(above) == z3.Z3_OP_EXTRACT
            and kind(below) == z3.Z3_OP_EXTRACT and parts_of(above)[0].eq(parts_of(below)[0])
            and lowest(above) == below.params()[0] + 1)


def zero_extend(v, width, to):
    return v if is_int(v) or width == to else concat([(0, to - width), (v, width)])


def interval(v, width):
    """(least, greatest) of a sum as an integer, without wrapping; None if not known."""
    if is_int(v):
        return signed(v, width), signed(v, width)
    if ident(v) in LINEAR:
        atoms, constant = LINEAR[ident(v)]
        low = high = signed(constant, width)
        for atom, coefficient in atoms.values():
            bounds = interval(atom, width)
            if bounds is None:
                return None
            ends = [bound * signed(coefficient, width) for bound in bounds]
            low, high = low + min(ends), high + max(ends)
        return low, high
    if ident(v) in RANGE:
        return RANGE[ident(v)]
    if kind(v) == z3.Z3_OP_SIGN_EXT:
        return interval(parts_of(v)[0], width_of(parts_of(v)[0]))
    if kind(v) == z3.Z3_OP_CONCAT and is_number(parts_of(v)[0]) and parts_of(v)[0].as_long() == 0:
        return 0, mask(width_of(v) - width_of(parts_of(v)[0]))
    return None


def sign_extend(v, width, to):
    if width == to:
        return v
    if is_int(v):
        return signed(v, width) & mask(to)
    if type(v) is Sum and v.exact():
        return Sum(to, (v,))
    if ident(v) in sums.FORMS:
        return Sum(to, (sums.FORMS[ident(v)],))
    if kind(v) == z3.Z3_OP_EXTRACT and lowest(v) == 0:
        known = sums.FORMS.get(ident(parts_of(v)[0]))
        if known is not None and sums.fits(known.interval(), width):
            return Sum(to, (known,))
    if ident(v) in RANGE and kind(v) == z3.Z3_OP_EXTRACT and ident(parts_of(v)[0]) in PRODUCTS:
        return extract(parts_of(v)[0], 0, to)
    if ident(v) in LINEAR and has_product(v):
        bounds = interval(v, width)
        if bounds and -(1 << width - 1) <= bounds[0] and bounds[1] < 1 << width - 1:
            # A sum that cannot wrap: the extension of each atom.
            atoms, constant = LINEAR[ident(v)]
            total = signed(constant, width) & mask(to)
            for atom, coefficient in atoms.values():
                total = add(total, scale(sign_extend(atom, width, to),
                                         signed(coefficient, width) & mask(to), to), to)
            return total
    core = parts_of(v)[0] if kind(v) == z3.Z3_OP_SIGN_EXT else v
    return one(z3.SignExt(to - width_of(core), core))


def has_product(v):
    if is_int(v):
        return False
    key = ident(v)
    if key not in PRODUCTIVE:
        PRODUCTIVE[keep(v)] = key in RANGE or contains_product(v)
    return PRODUCTIVE[key]


def contains_product(v):
    if kind(v) == z3.Z3_OP_SIGN_EXT or kind(v) == z3.Z3_OP_EXTRACT:
        return has_product(parts_of(v)[0])
    if kind(v) == z3.Z3_OP_CONCAT:
        return any(map(has_product, parts_of(v)))
    entry = LINEAR.get(ident(v))
    return entry is not None and any(has_product(atom) for atom, _ in entry[0].values())


# --- sums ----------------------------------------------------------------------------------------

SUMS = {}  # (width, atoms, constant) -> the term


def linear(v, width):
    if is_int(v):
        return {}, v
    if ident(v) in LINEAR:
        return LINEAR[ident(v)]
    if is_number(v):
        return {}, v.as_long()
    return {keep(v): (v, 1)}, 0


def build(atoms, constant, width):
    atoms = {i: (a, c & mask(width)) for i, (a, c) in atoms.items() if c & mask(width)}
    constant &= mask(width)
    if not atoms:
        return constant
    if constant == 0 and len(atoms) == 1:
        (atom, coefficient), = atoms.values()
        if coefficient == 1:
            return atom
    # The term adds in the order of the code, so that what the code does alike looks alike.
    key = width, frozenset((i, c) for i, (_, c) in atoms.items()), constant
    if key not in SUMS:
        total = None
        for atom, coefficient in atoms.values():
            part = scaled(atom, coefficient, width)
            total = part if total is None else made(z3.Z3_mk_bvadd, total, part)
        if constant:
            total = made(z3.Z3_mk_bvadd, total, number(constant, width))
        LINEAR[keep(total)] = atoms, constant
        SUMS[key] = total
    return SUMS[key]


def total(terms, width):
    """sum of coefficient * value over [(value, coefficient)]."""
    atoms, constant = {}, 0
    for v, coefficient in terms:
        more, other = linear(v, width)
        constant += coefficient * other
        for i, (atom, factor) in more.items():
            atoms[i] = atom, atoms.get(i, (atom, 0))[1] + coefficient * factor
    return build(atoms, constant, width)


def scaled(atom, coefficient, width):
    if coefficient == 1:
        return atom
    if coefficient == mask(width):
        return made(z3.Z3_mk_bvneg, atom)
    if coefficient & (coefficient - 1) == 0:
        return made(z3.Z3_mk_bvshl, atom, number(coefficient.bit_length() - 1, width))
    return made(z3.Z3_mk_bvmul, atom, number(coefficient, width))


def add(a, b, width, sign=1):
    if is_int(a) and is_int(b):
        return a + sign * b & mask(width)
    if sums.FACTORS and sign == 1:
        if is_int(a) or is_int(b):
            number, other = (a, b) if is_int(a) else (b, a)
            if number == 0:
                return other
        joined = sums.added(a, b, width)
        if joined is not None:
            return joined
    atoms, constant = linear(a, width)
    more, other = linear(b, width)
    atoms = dict(atoms)
    for i, (atom, coefficient) in more.items():
        atoms[i] = atom, atoms.get(i, (atom, 0))[1] + sign * coefficient
    return build(atoms, constant + sign * other, width)


def sub(a, b, width):
    return add(a, b, width, -1)


def scale(v, factor, width):
    if is_int(v):
        return v * factor & mask(width)
    if factor == 1:
        return v
    atoms, constant = linear(v, width)
    return build({i: (a, c * factor) for i, (a, c) in atoms.items()}, constant * factor, width)


# --- bits ----------------------------------------------------------------------------------------

def runs(v, width):
    """The maximal runs of ones of a mask, (low, width)."""
    found, at = [], 0
    while at < width:
        start = at
        while at < width and v >> at & 1:
            at += 1
        if at > start:
            found.append((start, at - start))
        at += 1
    return found


def band(a, b, width):
    if is_int(a) and is_int(b):
        return a & b
    if is_int(a):
        a, b = b, a
    if is_int(b):
        if b and b >> low_zeros(b) == mask(width) >> low_zeros(b) and multiple_of(a, b & -b):
            return a
        if all_or_nothing(a) and of_floats(parts_of(a)[0]):
            return choose(parts_of(a)[0], b if is_ones(parts_of(a)[1]) else 0,
                          b if is_ones(parts_of(a)[2]) else 0, width)
        parts, at = [], 0
        for low, size in runs(b, width):
            parts = [(extract(a, low, size), size), (0, low - at)] + parts
            at = low + size
        return concat([(0, width - at)] + parts) if parts else 0
    for selected, other in ((a, b), (b, a)):
        if all_or_nothing(selected):
            return choose(selected.arg(0), other if is_ones(selected.arg(1)) else 0,
                          other if is_ones(selected.arg(2)) else 0, width)
    return a if a.eq(b) else a & b


def low_zeros(number):
    return (number & -number).bit_length() - 1


def multiple_of(v, power):
    """Whether a sum's coefficients and constant are multiples of a power of 2."""
    atoms, constant = LINEAR.get(ident(v), ({}, 1))
    return all(number % power == 0 for number in (constant, *(c for _, c in atoms.values())))


def is_ones(v):
    return is_number(v) and v.as_long() == mask(width_of(v))


def all_or_nothing(v):
    """Whether a term is all ones or all zeros, by a condition."""
    return kind(v) == z3.Z3_OP_ITE and (is_ones(parts_of(v)[1]) and is_zero(parts_of(v)[2])
                                        or is_zero(parts_of(v)[1]) and is_ones(parts_of(v)[2]))


def of_floats(condition):
    """Whether a condition is what an opaque operation says."""
    return z3.is_eq(condition) and ident(parts_of(condition)[0]) in APPLIED


def bor(a, b, width):
    if is_int(a) and is_int(b):
        return a | b
    if is_int(a):
        a, b = b, a
    if is_int(b):
        if b == 0:
            return a
        if b == mask(width):
            return b
        if multiple_of(a, 1 << b.bit_length()):
            return add(a, b, width)
        return filled(a, b, width) if kind(a) == z3.Z3_OP_CONCAT else a | z3.BitVecVal(b, width)
    if a.eq(b):
        return a
    if kind(a) == kind(b) == z3.Z3_OP_ITE and parts_of(a)[0].eq(parts_of(b)[0]):
        if is_zero(parts_of(a)[2]) and is_zero(parts_of(b)[1]):
            return choose(parts_of(a)[0], parts_of(a)[1], parts_of(b)[2], width)
        if is_zero(parts_of(a)[1]) and is_zero(parts_of(b)[2]):
            return choose(parts_of(a)[0], parts_of(b)[1], parts_of(a)[2], width)
    both = side_by_side(a, b)
    return a | b if both is None else both


def filled(a, number, width):
    """a | number, as a concatenation where every bit of the number stands at a zero of a."""
    parts, top = [], width
    for low, size in reversed(runs(number, width)):
        here = extract(a, low, size)
        if not is_int(here) or here:
            return a | z3.BitVecVal(number, width)
        parts += [(low + size, top - low - size, None), (low, size, mask(size))]
        top = low
    parts.append((0, top, None))
    return concat([(extract(a, low, size) if ones is None else ones, size)
                   for low, size, ones in parts if size])


def side_by_side(a, b):
    """a | b as a concatenation, where every part of one stands at zeros of the other, or at itself;
    else None."""
    if kind(a) != z3.Z3_OP_CONCAT or kind(b) != z3.Z3_OP_CONCAT:
        return None
    lists = [[(is_zero(part), width_of(part)) for part in parts_of(v)] for v in (a, b)]
    top, parts = width_of(a), []
    while top:
        size = min(children[0][1] for children in lists)
        zeros = [children[0][0] for children in lists]
        part, other = (extract(v, top - size, size) for v in (a, b))
        if not any(zeros) and (is_int(part) or is_int(other) or not part.eq(other)):
            return None
        parts.append((other if zeros[0] else part, size))
        top -= size
        lists = [[(zero, left - size)] * (left > size) + rest for (zero, left), *rest in lists]
    return concat(parts)


def bxor(a, b, width):
    if is_int(a) and is_int(b):
        return a ^ b
    if not is_int(a) and not is_int(b) and a.eq(b):
        return 0
    if is_int(a):
        a, b = b, a
    if is_int(b):
        if b == 0:
            return a
        return ~a if b == mask(width) else a ^ z3.BitVecVal(b, width)
    return a ^ b


def invert(a, width):
    if is_int(a):
        return a ^ mask(width)
    if all_or_nothing(a):
        condition, yes, no = parts_of(a)
        return z3.If(condition, *(z3.BitVecVal(0 if is_ones(v) else mask(width), width)
                                  for v in (yes, no)))
    if kind(a) == z3.Z3_OP_BSHL and is_ones(parts_of(a)[0]):  # the low bits that it leaves out
        return sub(made(z3.Z3_mk_bvshl, number(1, width), parts_of(a)[1]), 1, width)
    if kind(a) == z3.Z3_OP_EXTRACT and not lowest(a) and kind(parts_of(a)[0]) == z3.Z3_OP_BSHL:
        return extract(invert(parts_of(a)[0], width_of(parts_of(a)[0])), 0, width)
    return ~a


def exclusive(a, b, width):
    """a XOR b, a byte at a time: each byte a sum of sorted atoms, whose order does not matter."""
    if is_int(a) and is_int(b):
        return a ^ b
    return from_bytes([exclusive_byte(x, y)
                       for x, y in zip(bytes_of(a, width), bytes_of(b, width))])


def bytes_of(v, width):
    return [extract(v, low, 8) for low in range(0, width, 8)]


def from_bytes(parts):
    return concat([(part, 8) for part in reversed(parts)])


def exclusive_byte(a, b):
    atoms, constant = {}, 0
    for v in (a, b):
        more, other = ({}, v) if is_int(v) else XORS.get(ident(v)) or ({keep(v): v}, 0)
        constant ^= other
        for i in more:
            XOR_ORDER.setdefault(i, len(XOR_ORDER))
        atoms = {i: atom for i, atom in (atoms | more).items() if (i in atoms) != (i in more)}
    if not atoms:
        return constant
    total = None
    for _, atom in sorted(atoms.items(), key=lambda item: XOR_ORDER[item[0]]):
        total = atom if total is None else total ^ atom
    if constant:
        total = total ^ z3.BitVecVal(constant, 8)
    if len(atoms) > 1 or constant:
        XORS[keep(total)] = atoms, constant
    return total


def sum_modulo_2(a, b, width):
    """a XOR b as a sum of words: the same words in any order are one term."""
    if is_int(a) and is_int(b):
        return a ^ b
    (words, constant), (more, other) = (summands_modulo_2(v) for v in (a, b))
    key = width, words ^ more, constant ^ other
    if not key[1]:
        return key[2]
    if key not in MODULO_2_SUMS:
        total = one(made(z3.Z3_mk_bvxor, term(a, width), term(b, width)))
        MODULO_2_SUMS[key] = total
        MODULO_2[keep(total)] = key[1:]
    return MODULO_2_SUMS[key]


def summands_modulo_2(v):
    """(ids of words, constant) of a sum."""
    if is_int(v):
        return frozenset(), v
    if ident(v) not in MODULO_2:
        MODULO_2[keep(v)] = frozenset((ident(v),)), 0
        MODULO_2_SUMS[width_of(v), *MODULO_2[ident(v)]] = v
    return MODULO_2[ident(v)]


def product_modulo_2(a, b, width):
    """a AND b, of a and b in either order; of a word x and its complement alike: (x + 1) y = x y + y."""
    if is_int(a) or is_int(b):
        return band(a, b, width)
    for v, other in ((a, b), (b, a)):
        if summands_modulo_2(v)[1] >> width - 1:
            complement = sum_modulo_2(v, mask(width), width)
            return sum_modulo_2(product_modulo_2(complement, other, width), other, width)
    a, b = sorted((a, b), key=keep)
    return a if a.eq(b) else one(made(z3.Z3_mk_bvand, a, b))


def shl(v, count, width):
    if count >= width:
        return 0
    if is_int(v):
        return v << count & mask(width)
    if count == 0:
        return v
    if type(v) is Sum and sums.SHIFTS:
        return v.shifted(count)
    if ident(v) in LINEAR or ident(v) in SIZES or has_product(v):
        return scale(v, 1 << count, width)
    return concat([(extract(v, 0, width - count), width - count), (0, count)])


def shr(v, count, width):
    if count >= width:
        return 0
    return v >> count if is_int(v) else (
        zero_extend(extract(v, count, width - count), width - count, width))


def sar(v, count, width):
    count = min(count, width - 1)
    if is_int(v):
        return signed(v, width) >> count & mask(width)
    if count == 0:
        return v
    top = extract(v, count, width - count)
    if is_int(top):
        return sign_extend(top, width - count, width)
    result = z3.SignExt(count, top)
    if count == width - 1:
        SIGNS[keep(result)] = v
    return result


def choose(condition, a, b, width):
    """condition: bool or a Z3 Bool."""
    if isinstance(condition, bool):
        return a if condition else b
    if is_int(a) and is_int(b) and a == b:
        return a
    if z3.is_not(condition):
        condition, a, b = parts_of(condition)[0], b, a
    sides = less_or_equal(condition)
    if sides and term(b, width).eq(sides[0]) and term(a, width).eq(sides[1]):
        return maximum(a, b, width)
    return made(z3.Z3_mk_ite, condition, term(a, width), term(b, width))


def less_or_equal(condition):
    """(a, b) of a condition a < b or (a < b or a = b), signed; None of others."""
    if z3.is_or(condition) and condition.num_args() == 2:
        less, equal = parts_of(condition)
        sides = less_or_equal(less)
        if sides and z3.is_eq(equal) and {ident(v) for v in sides} == {
                ident(v) for v in parts_of(equal)}:
            return sides
    if condition.decl().kind() == z3.Z3_OP_SLT:
        return parts_of(condition)
    if condition.decl().kind() == z3.Z3_OP_SGT:
        return parts_of(condition)[::-1]
    return None


def maximum(a, b, width):
    """The greater of two signed numbers: of sorted operands, whose order does not matter."""
    operands, constant = {}, None
    for v in (a, b):
        if is_number(v):
            v = v.as_long()
        more, other = ({}, v) if is_int(v) else MAXIMA.get(ident(v)) or ({keep(v): v}, None)
        operands |= more
        if other is not None and (constant is None or signed(constant, width) < signed(other, width)):
            constant = other
    if not operands:
        return constant
    if constant == 0 and all(kind(v) == z3.Z3_OP_CONCAT and is_zero(parts_of(v)[0])
                             for v in operands.values()):
        constant = None
    if constant is None and len(operands) == 1:
        return next(iter(operands.values()))
    total = None if constant is None else z3.BitVecVal(constant, width)
    for _, v in sorted(operands.items()):
        total = v if total is None else z3.If(total < v, v, total)
    MAXIMA[keep(total)] = operands, constant
    return total


def not_negative(v, width):
    """Whether a term shows that its highest bit is 0."""
    if is_int(v):
        return not v >> width - 1
    operands, constant = MAXIMA.get(ident(v), ({}, None))
    return (kind(v) == z3.Z3_OP_CONCAT and is_zero(parts_of(v)[0]) or constant is not None and not_negative(
        constant, width) or any(not_negative(operand, width) for operand in operands.values()))


def negation(condition):
    return not condition if isinstance(condition, bool) else z3.Not(condition)


def compare(relation, a, b, width):
    """'eq', 'ult' or 'slt' of two values, a bool or a Z3 Bool."""
    if is_int(a) and is_int(b):
        if relation == "slt":
            a, b = signed(a, width), signed(b, width)
        return a == b if relation == "eq" else a < b
    a, b = term(a, width), term(b, width)
    if a.eq(b):
        return relation == "eq"
    return {"eq": lambda: a == b, "ult": lambda: z3.ULT(a, b), "slt": lambda: a < b}[relation]()


def both(a, b, operation):
    if isinstance(a, bool) and isinstance(b, bool):
        return {"and": a and b, "or": a or b, "xor": a != b}[operation]
    a, b = (z3.BoolVal(x) if isinstance(x, bool) else x for x in (a, b))
    return {"and": z3.And, "or": z3.Or, "xor": z3.Xor}[operation](a, b)


# --- cells ---------------------------------------------------------------------------------------

def to_cells(v, width):
    """The bytes of a value, lowest first."""
    if is_int(v):
        return list(v.to_bytes(width // 8, "little"))
    return v.cells if type(v) is Sum else cells_of(v)


@remembered
def cells_of(v):
    width = width_of(v)
    k = kind(v)
    if is_number(v):
        return list(v.as_long().to_bytes(width // 8, "little"))
    if k == z3.Z3_OP_CONCAT and all(width_of(part) % 8 == 0 for part in parts_of(v)):
        return [cell for part in reversed(parts_of(v)) for cell in to_cells(part, width_of(part))]
    if k == z3.Z3_OP_EXTRACT and lowest(v) % 8 == 0 and width_of(parts_of(v)[0]) % 8 == 0:
        low = lowest(v) // 8
        return to_cells(parts_of(v)[0], width_of(parts_of(v)[0]))[low:low + width // 8]
    v = one(v)
    return [(v, i) for i in range(width // 8)]


def same(a, b):
    """a.eq(b), for most are one object."""
    return a is b or type(a) is not Sum and type(b) is not Sum and a.eq(b)


def from_cells(cells):
    """The value whose bytes are `cells`, lowest first."""
    if all(map(is_int, cells)):
        return int.from_bytes(bytes(cells), "little")
    whole = None if is_int(cells[0]) else cells[0][0]
    if type(whole) is Sum and len(cells) == len(whole.cells) and all(
            map(operator.is_, cells, whole.cells)):
        return whole
    known = None if whole is None else whole.__dict__.get("remembered_cells_of")
    if known is not None and len(known) == len(cells) and all(map(operator.is_, cells, known)):
        return whole
    parts, at = [], 0  # lowest first: (value, width)
    while at < len(cells):
        start = at
        if is_int(cells[at]):
            while at < len(cells) and is_int(cells[at]):
                at += 1
            parts.append((int.from_bytes(bytes(cells[start:at]), "little"), 8 * (at - start)))
            continue
        t, first = cells[at]
        while at < len(cells) and not is_int(cells[at]) and (
                cells[at][1] == first + at - start and same(cells[at][0], t)):
            at += 1
        parts.append((extract(t, 8 * first, 8 * (at - start)), 8 * (at - start)))
    while len(parts) >= 2 and not is_int(parts[-1][0]):
        # The highest part repeats the sign of what is below it.
        top, width = parts[-1]
        source = SIGNS.get(ident(top))
        if source is None or is_int(parts[-2][0]) or not parts[-2][0].eq(source):
            break
        below, size = parts[-2]
        parts[-2:] = [(sign_extend(below, size, size + width), size + width)]
    return parts[0][0] if len(parts) == 1 else concat(list(reversed(parts)))


# --- products ------------------------------------------------------------------------------------

PRODUCT = z3.Function("product", z3.BitVecSort(64), z3.BitVecSort(64), z3.BitVecSort(128))


def product(a, b, a_range, b_range):
    """The atom a * b, 128 bits, of two named operands with their ranges."""
    if ident(a) > ident(b):
        a, b, a_range, b_range = b, a, b_range, a_range
    ends = [x * y for x in a_range for y in b_range]
    atom = PRODUCT(a, b)
    RANGE[keep(atom)] = min(ends), max(ends)
    PRODUCTS[ident(atom)] = a, b
    return atom


def is_zero(v):
    return type(v) is not Sum and is_number(v) and v.as_long() == 0


# --- places that depend on counts ----------------------------------------------------------------

def counted(v, width):
    """({id of a count: factor}, constant) of a term that is such a sum as an integer, without
    wrapping; None of others."""
    if is_int(v) or is_number(v):
        return {}, v if is_int(v) else v.as_long()
    k = kind(v)
    if is_bit(v):
        BITS[keep(v)], COUNTS[ident(v)] = v, 1
    if ident(v) in COUNTS:
        return {ident(v): 1}, 0
    if ident(v) in LINEAR:
        atoms, constant = LINEAR[ident(v)]
        parts = [(counted(atom, width), coefficient) for atom, coefficient in atoms.values()]
        form = {}, constant
    elif k == z3.Z3_OP_EXTRACT and lowest(v) == 0:
        parts, form = [(counted(parts_of(v)[0], width_of(parts_of(v)[0])), 1)], ({}, 0)
    elif k == z3.Z3_OP_CONCAT:
        parts, form, at = [], ({}, 0), 0
        for part in reversed(parts_of(v)):
            parts.append((counted(part, width_of(part)), 1 << at))
            at += width_of(part)
    elif k == z3.Z3_OP_SIGN_EXT:
        form = counted(parts_of(v)[0], width_of(parts_of(v)[0]))
        return form if form and greatest(form) < 1 << width_of(parts_of(v)[0]) - 1 else None
    else:
        return None
    for part, factor in parts:
        if part is None:
            return None
        for i, coefficient in part[0].items():
            form[0][i] = form[0].get(i, 0) + coefficient * factor
        form = form[0], form[1] + part[1] * factor
    return form if greatest(form) < 1 << width else None


def is_bit(v):
    """Whether a term is 1 or 0, by a condition."""
    return kind(v) == z3.Z3_OP_ITE and all(map(is_number, parts_of(v)[1:])) and sorted(
        arm.as_long() for arm in parts_of(v)[1:]) == [0, 1]


def greatest(form):
    return form[1] + sum(factor * COUNTS[i] for i, factor in form[0].items())


# --- uninterpreted functions ---------------------------------------------------------------------

def opaque(name, widths, result, function):
    """A function of bit-vectors of which nothing is known but on numbers."""
    symbol = z3.Function(name, *(z3.BitVecSort(w) for w in (*widths, result)))
    operands_of = z3.Ast * len(widths)

    def apply(*operands):
        if all(map(is_int, operands)):
            return function(*operands)
        terms = [term(v, w) for v, w in zip(operands, widths)]
        key = name, *map(ident, terms)
        applied = APPLICATIONS.get(key)
        if applied is None:
            applied = APPLICATIONS[key] = one(z3.BitVecRef(z3.Z3_mk_app(
                CONTEXT.ref(), symbol.ast, len(terms), operands_of(*[v.as_ast() for v in terms])), CONTEXT))
            APPLIED[ident(applied)] = applied
        return applied
    return apply
