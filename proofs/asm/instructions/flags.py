"""The flags of x86-64."""

import terms as t
from machine import Refused


def undefined():
    raise Refused("reads a flag that nothing defined")


class Flags:
    """What the last comparison or arithmetic left; each condition is decided when it is read. Carry
    and overflow are conditions or functions that give them; `undefined` is one. Without a result,
    sign and zero are undefined. Parity is known of comparisons of floats alone."""

    def __init__(self, result, width, carry=False, overflow=False, operands=None, parity=None):
        self.result, self.width = result, width
        self.carry, self.overflow, self.operands, self.parity = carry, overflow, operands, parity

    def condition(self, code):
        if code.startswith("n"):
            return t.negation(self.condition(code[1:]))
        if code == "p" and self.parity is not None:
            return self.parity
        if code in ("ae", "a", "ge", "g"):
            return t.negation(self.condition({"ae": "b", "a": "be", "ge": "l", "g": "le"}[code]))
        if code == "be":
            return t.both(self.condition("b"), self.condition("e"), "or")
        if code == "le":
            return t.both(self.condition("l"), self.condition("e"), "or")
        if code in ("b", "c"):
            return self.carry() if callable(self.carry) else self.carry
        if self.operands and code in ("e", "l"):
            return t.compare({"e": "eq", "l": "slt"}[code], *self.operands, self.width)
        if code in ("e", "s") and self.result is None:
            undefined()
        if code == "e":
            return t.compare("eq", self.result, 0, self.width)
        if code == "s":
            return t.compare("slt", self.result, 0, self.width)
        overflow = self.overflow() if callable(self.overflow) else self.overflow
        if code == "o":
            return overflow
        if code == "l":
            return t.both(self.condition("s"), overflow, "xor")
        raise Refused(f"condition '{code}'")


NO_FLAGS = Flags(None, 64, undefined, undefined)
