"""Instructions on floats.

Of unknowns they are the operations of floats.py. Of numbers they differ from those of x86-64 in NaNs alone:
of several operands that are NaNs the result is the first that signals, or else the first; the NaN of an
operation that has no result has no sign."""

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


BINARY = {"fadd": floats.ADD, "fsub": floats.SUBTRACT, "fmul": floats.MULTIPLY, "fdiv": floats.DIVIDE}
for name, functions in BINARY.items():
    operations = {width: operation(function, width) for width, function in functions.items()}
    lanewise(lambda m, a, b, w, of=operations: of[w](a, b), name)
ROOTS = {width: operation(function, width) for width, function in floats.SQUARE_ROOT.items()}


@vector("fsqrt")
def root(m, i):
    destination, source = i.operands
    m.write_lanes(destination, [ROOTS[8 * source.element](v) for v in m.lanes(source)])


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
    less, equal = floats.ordered(a, b, width)
    unordered = t.both(*(t.compare("ult", floats.INFINITY[width], t.band(v, t.mask(width - 1), width), width)
                         for v in (a, b)), "or")
    is_ordered = t.negation(unordered)
    less, equal = (t.both(is_ordered, one, "and") for one in (less, equal))
    m.flags = Flags(less, equal, t.negation(less), unordered)
