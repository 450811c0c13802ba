"""Instructions on floats.

Of unknowns they are the operations of floats.py. Of numbers they differ from those of x86-64 in NaNs alone,
and where a float is no integer of 32 bits: of several operands that are NaNs the result is the first that
signals, or else the first; the NaN of an operation that has no result has no sign."""

import floats
import terms as t
from machine import Refused

from .flags import Flags
from .vectors import half, lanewise, vector


def nan_of(operands, width):
    """The operand that a result is made from; None if no operand is a NaN."""
    nans = [v for v in operands if floats.is_nan(v, width)]
    signalling = [v for v in nans if not v & floats.QUIET[width]]
    return next(iter(signalling + nans), None)


def operation(function, width):
    """One of floats.py, of operands and a result of a width, as AArch64 does it of numbers."""
    def run(*operands):
        result = function(*operands)
        if not all(map(t.is_int, operands)):
            return result
        nan = nan_of(operands, width)
        if nan is not None:
            return nan | floats.QUIET[width]
        return floats.magnitude(result, width) if floats.is_nan(result, width) else result
    return run


def lane(m, operand):
    """The only lane of a register, and its bits."""
    if operand.kind != "vector" or operand.count != 1:
        raise Refused(f"operand '{operand.text}'")
    return t.from_cells(m.cells(operand)), 8 * operand.element


def negative(v, width):
    negated = t.bxor(v, floats.SIGN[width], width)
    if not t.is_int(v):
        t.NEGATED[t.keep(negated)] = v, negated
    return negated


BINARY = {name: {width: operation(function, width) for width, function in functions.items()}
          for name, functions in (("fadd", floats.ADD), ("fsub", floats.SUBTRACT), ("fmul", floats.MULTIPLY),
                                  ("fdiv", floats.DIVIDE))}
for name, functions in BINARY.items():
    lanewise(lambda m, a, b, w, of=functions: of[w](a, b), name)


def without_sign(v):
    """(v with the other sign, True) if it was made so; else (v, False)."""
    found = None if t.is_int(v) else t.NEGATED.get(t.ident(v))
    return (v, False) if found is None else (found[0], True)


def fused(negates):
    """One of floats.py's fused operations: what is added comes first, of a and b a is negated. Compilers
    negate a factor too: -a b is a (-b)."""
    def run(m, c, a, b, width):
        if width != 64:
            raise Refused("a fused operation of another width")
        (a, other), (b, another) = without_sign(a), without_sign(b)
        is_minus = negates ^ other ^ another
        result = (floats.MINUS_PRODUCT if is_minus else floats.PLUS_PRODUCT)(a, b, c)
        if not all(map(t.is_int, (a, b, c))):
            return result
        a ^= floats.SIGN[64] if is_minus else 0
        nan = nan_of((c, a, b), 64)
        is_invalid = {floats.magnitude(a, 64), floats.magnitude(b, 64)} == {0, floats.INFINITY[64]}
        if nan is not None and not (is_invalid and nan & floats.QUIET[64]):
            return nan | floats.QUIET[64]
        return floats.magnitude(result, 64) if floats.is_nan(result, 64) else result
    return run


lanewise(fused(False), "fmla", adds=True)
lanewise(fused(True), "fmls", adds=True)
lanewise(lambda m, a, b, w: negative(BINARY["fmul"][w](a, b), w), "fnmul")
ROOTS = {width: operation(function, width) for width, function in floats.SQUARE_ROOT.items()}


@vector("fsqrt")
def root(m, i):
    destination, source = i.operands
    m.write_lanes(destination, [ROOTS[8 * source.element](v) for v in m.lanes(source)])


@vector("fneg")
def negate(m, i):
    destination, source = i.operands
    width = 8 * source.element
    m.write_lanes(destination, [negative(v, width) for v in m.lanes(source)])


@vector("fcmgt")
def greater(m, i):
    """All ones in the lanes in which the first source is greater."""
    destination, first, second = i.operands
    width = 8 * destination.element
    if width not in floats.LESS or second.kind != "vector":
        raise Refused("a comparison of another width, or with 0")
    bits = [floats.LESS[width](b, a) for a, b in zip(m.lanes(first), m.lanes(second))]
    m.write_lanes(destination, [t.choose(floats.is_so(bit), t.mask(width), 0, width) for bit in bits])


@vector("fcvt")
def convert(m, i):
    """Between binary32 and binary64."""
    destination, source = i.operands
    v, width = lane(m, source)
    function = {(32, 8): floats.WIDEN, (64, 4): floats.NARROW}.get((width, destination.element))
    if function is None:
        raise Refused("a conversion of another width")
    m.write_lanes(destination, [function(v)])


@vector("fcvtl", "fcvtl2")
def widen(m, i):
    destination, source = i.operands
    if source.element != 4:
        raise Refused("a conversion of another width")
    m.write_lanes(destination, [floats.WIDEN(v) for v in half(m, source, i)])


@vector("fcvtn", "fcvtn2")
def narrow(m, i):
    """"2" writes the upper half and keeps the lower one."""
    destination, source = i.operands
    if source.element != 8:
        raise Refused("a conversion of another width")
    cells = [cell for v in m.lanes(source) for cell in t.to_cells(floats.NARROW(v), 32)]
    kept = m.vectors[destination.register][:8] if i.name.endswith("2") else []
    m.write_cells(destination, kept + cells)


def integer_part(v):
    """The nearest integer towards 0 of 32 bits; beyond them the least or the greatest, 0 of a NaN."""
    result = floats.TRUNCATE(v)
    if not t.is_int(v):
        return result
    number = floats.number(v, 64)
    if number != number:
        return 0
    return result if abs(number) < 1 << 31 else (1 << 31) - (number > 0)


@vector("fcvtzs")
def to_integer(m, i):
    destination, source = i.operands
    v, width = lane(m, source)
    if destination.kind != "general" or (width, destination.width) != (64, 32):
        raise Refused("a conversion of another width")
    m.write(destination, integer_part(v))


@vector("scvtf")
def from_integer(m, i):
    """Of a general register, or of each lane of a vector."""
    destination, source = i.operands
    width = 8 * destination.element
    if source.kind == "general":
        function = floats.FROM_INTEGER.get((source.width, width))
        lanes = [m.read(source)]
    else:
        function = floats.FROM_INTEGER.get((8 * source.element, width))
        lanes = m.lanes(source)
    if function is None:
        raise Refused("a conversion of another width")
    m.write_lanes(destination, [function(v) for v in lanes])


@vector("fcmp", "fcmpe")
def compare(m, i):
    """Of two that are not ordered, carry and overflow are set."""
    (a, width), (b, _) = (lane(m, operand) for operand in i.operands)
    less, equal, _ = floats.ordered(a, b, width)
    unordered = t.both(*(t.compare("ult", floats.INFINITY[width], t.band(v, t.mask(width - 1), width), width)
                         for v in (a, b)), "or")
    is_ordered = t.negation(unordered)
    less, equal = (t.both(is_ordered, one, "and") for one in (less, equal))
    m.flags = Flags(less, equal, t.negation(less), unordered)
