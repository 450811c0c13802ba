"""What each instruction does."""

import re

from machine import Refused

from . import floating, moves, rounds  # noqa: F401  (they fill VECTOR)
from .scalar import SCALAR, cmov, setcc
from .vectors import VECTOR

ALIGNED = re.compile(r"mov(dqa(32|64)?|ap[sd]|nt(dqa?|p[sd]))$")
UNALIGNED = {"movdqu", "movups", "movupd", "lddqu"}
WIDENS = re.compile(r"pmov[sz]x")
CLEARS = re.compile(r"pxor[dq]?$|xorp[sd]$")  # if it is of one register


def check_alignment(m, i, plain, vex):
    """The processor faults at a misaligned address of an aligned move, and of 16 bytes of an
    instruction without VEX, whether a mask leaves lanes out or not."""
    for operand in i.operands:
        if operand.kind == "memory" and (ALIGNED.match(plain) or not vex and operand.width == 128
                                         and plain not in UNALIGNED):
            if not m.is_aligned(m.address(operand), operand.width // 8):
                raise Refused("a misaligned address")


def leaves_number(plain, operands):
    """Whether an instruction clears a register, or widens a constant: it may be a permutation."""
    return CLEARS.match(plain) and is_of_one(operands[-2:]) or WIDENS.match(plain) and (
        operands[-1].kind == "memory" and not operands[-1].parts)


def is_of_one(operands):
    """Whether two operands are the same vector register."""
    return all(o.kind == "vector" for o in operands) and len({o.register for o in operands}) == 1


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
        if plain not in moves.SCATTERS and any(o.kind == "memory" and o.places for o in i.operands):
            raise Refused("an operand with a place per lane")
        check_alignment(m, i, plain, vex)
        if plain not in moves.NAMES and i.operands[0].kind in ("vector", "mask") and (
                m.scouting and not leaves_number(plain, i.operands) and "comis" not in plain):
            return m.leave_unknown(i.operands[0], vex)  # data, which decides nothing
        return VECTOR[plain](m, i, vex)
    raise Refused(f"unknown instruction '{name}'")
