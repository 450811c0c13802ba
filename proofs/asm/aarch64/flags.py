"""The flags of AArch64: negative, zero, carry, overflow."""

import terms as t
from machine import Refused

OPPOSITE = {"ne": "eq", "cc": "cs", "pl": "mi", "vc": "vs", "ls": "hi", "lt": "ge", "le": "gt"}


def called(v):
    return v() if callable(v) else v


class Flags:
    """Each is a condition or a function that gives it. Conditions are decided when they are read."""

    def __init__(self, negative, zero, carry, overflow):
        self.negative, self.zero, self.carry, self.overflow = negative, zero, carry, overflow

    def condition(self, code):
        if code in OPPOSITE:
            return t.negation(self.condition(OPPOSITE[code]))
        if code in ("eq", "cs", "mi", "vs"):
            return called({"eq": self.zero, "cs": self.carry, "mi": self.negative, "vs": self.overflow}[code])
        if code == "hi":
            return t.both(self.condition("cs"), self.condition("ne"), "and")
        if code == "ge":
            return t.negation(t.both(self.condition("mi"), self.condition("vs"), "xor"))
        if code == "gt":
            return t.both(self.condition("ge"), self.condition("ne"), "and")
        if code == "al":
            return True
        raise Refused(f"condition '{code}'")


class Difference(Flags):
    """Those of a - b, whose conditions are comparisons of both."""

    def __init__(self, a, b, width):
        def overflow():
            signs = [t.compare("slt", v, 0, width) for v in (a, b, t.sub(a, b, width))]
            return t.both(t.both(signs[0], signs[1], "xor"), t.both(signs[0], signs[2], "xor"), "and")
        super().__init__(lambda: t.compare("slt", t.sub(a, b, width), 0, width),
                         lambda: t.compare("eq", a, b, width),
                         lambda: t.negation(t.compare("ult", a, b, width)), overflow)
        self.operands, self.width = (a, b), width

    def condition(self, code):
        if code in ("cc", "lt"):
            return t.compare({"cc": "ult", "lt": "slt"}[code], *self.operands, self.width)
        if code in ("ls", "le"):
            return t.both(self.condition({"ls": "cc", "le": "lt"}[code]), self.condition("eq"), "or")
        if code in ("cs", "ge", "hi", "gt"):
            return t.negation(self.condition({"cs": "cc", "ge": "lt", "hi": "ls", "gt": "le"}[code]))
        return super().condition(code)


def of_sum(a, b, width):
    """Those of a + b."""
    total = t.add(a, b, width)

    def overflow():
        signs = [t.compare("slt", v, 0, width) for v in (a, b, total)]
        return t.both(t.negation(t.both(signs[0], signs[1], "xor")), t.both(signs[0], signs[2], "xor"), "and")
    return Flags(lambda: t.compare("slt", total, 0, width), lambda: t.compare("eq", total, 0, width),
                 lambda: t.compare("ult", total, a, width), overflow)


def of_result(v, width):
    """Those of a logical operation."""
    return Flags(lambda: t.compare("slt", v, 0, width), lambda: t.compare("eq", v, 0, width), False, False)


def of_number(number):
    """Those that an immediate says."""
    return Flags(*(bool(number >> at & 1) for at in (3, 2, 1, 0)))


class Chosen(Flags):
    """Those of a comparison where a condition holds, elsewhere those of a number."""

    def __init__(self, condition, flags, number):
        self.chosen, self.flags, self.others = condition, flags, of_number(number)
        super().__init__(None, None, None, None)

    def condition(self, code):
        here = self.flags.condition(code)
        if self.others.condition(code):
            return t.both(t.negation(self.chosen), here, "or")
        return t.both(self.chosen, here, "and")


def undefined():
    raise Refused("reads a flag that nothing defined")


NO_FLAGS = Flags(undefined, undefined, undefined, undefined)
