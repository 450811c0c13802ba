"""What each instruction does. hardware.py compares every one that is used with the processor."""

from machine import Refused

from . import floating, moves, rounds  # noqa: F401  (they fill VECTOR)
from .scalar import SCALAR, cmov, setcc
from .vectors import VECTOR


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
