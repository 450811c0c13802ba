"""What each instruction does."""

from machine import Refused

from . import floating, memory, vectors  # noqa: F401  (they fill TABLE)
from .scalar import TABLE


def execute(m, i):
    forms = [operand.kind for operand in i.operands]
    function = TABLE.get((i.name, "vector" in forms)) or TABLE.get((i.name, None))
    if function is None:
        raise Refused(f"unknown instruction '{i.name}'")
    if m.scouting and forms[:1] == ["vector"] and (i.name, True) in vectors.COMPUTED:
        return m.leave_unknown(i.operands[0])  # data, which decides nothing
    return function(m, i)
