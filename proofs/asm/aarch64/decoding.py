"""AArch64 as objdump writes it: its registers, operands and instructions."""

import re

from machine import Refused

GENERAL = [f"x{i}" for i in range(31)] + ["sp"]
SCALARS = {"b": 1, "h": 2, "s": 4, "d": 8, "q": 16}  # bytes of a lane, and of a vector's name as one
MODIFIER = re.compile(r"(lsl|msl|lsr|asr|ror|uxt[bhwx]|sxt[bhwx])(?: #(0x[0-9a-f]+|\d+))?$")
LANES = re.compile(r"v(\d+)\.(\d*)([bhsdq])(?:\[(\d+)\])?$")
ONE_VECTOR = re.compile(r"^\{([^{},]*)\}(\[\d+\])?$")  # a list of one, or a lane of it
SEVERAL = re.compile(r"^\{([^{}]*,[^{}]*)\}$")
FROM_TO = re.compile(r"^\{v(\d+)\.(\w+)-v(\d+)\.\2\}$")
MEMORY = re.compile(r"\[([^\]]*)\](!?)$")
ADDRESS = re.compile(r"(?:^|,)\s*([0-9a-f]+)(?: <(.*)>)?$")  # of code, or of what adr and adrp name
CONDITIONS = {"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al"}
BRANCHES = "cbz", "cbnz", "tbz", "tbnz"


class Operand:
    """One operand: `kind` is "general", "vector", "vectors" of a list, "immediate", "float", "memory",
    "condition" or "address". A general register of None is the zero register."""

    def __init__(self, text):
        self.text, self.modifier = text, None
        general = re.fullmatch(r"([wx])(\d+|zr)|(w?)sp", text)
        lanes, memory = LANES.match(ONE_VECTOR.sub(r"\1\2", text)), MEMORY.match(text)
        number = re.fullmatch(r"#(-?(?:0x[0-9a-f]+|\d+))", text)
        real = re.fullmatch(r"#(-?\d+\.\d+(?:e[+-]\d+)?)", text)
        if general:
            self.kind, self.width = "general", 32 if "w" in (general[1], general[3]) else 64
            self.register = "sp" if text.endswith("sp") else None if general[2] == "zr" else f"x{general[2]}"
        elif lanes:
            self.kind, self.register, self.element = "vector", int(lanes[1]), SCALARS[lanes[3]]
            self.count = int(lanes[2] or 1)
            self.place = None if lanes[4] is None else int(lanes[4])
        elif SEVERAL.match(text):
            self.kind, self.vectors = "vectors", operands_of(SEVERAL.match(text)[1])
        elif FROM_TO.match(text):
            first, lanes, last = FROM_TO.match(text).groups()
            self.kind = "vectors"
            self.vectors = [Operand(f"v{number}.{lanes}") for number in range(int(first), int(last) + 1)]
        elif re.fullmatch(r"[bhsdq]\d+", text):
            self.kind, self.register, self.element = "vector", int(text[1:]), SCALARS[text[0]]
            self.count, self.place = 1, None
        elif number:
            self.kind, self.value = "immediate", int(number[1], 0)
        elif real:
            self.kind, self.value = "float", float(real[1])
        elif memory:
            self.kind, self.is_before, self.after = "memory", memory[2] == "!", None
            self.parts = operands_of(memory[1])
            if any(part.kind not in ("general", "immediate") for part in self.parts):
                raise Refused(f"operand '{text}'")
        elif text in CONDITIONS:
            self.kind = "condition"
        else:
            raise Refused(f"operand '{text}'")

    @property
    def size(self):
        """Bytes of a vector operand."""
        return self.count * self.element

    def modify(self, name, amount):
        self.text += f", {name} #{amount}"
        self.modifier = name, amount


def operands_of(text):
    """The operands, a shift or an extension with the one that it is of."""
    found = []
    for part in map(str.strip, re.split(r",(?![^\[]*\])(?![^{]*\})", text)):
        modifier = MODIFIER.match(part)
        if modifier and found:
            found[-1].modify(modifier[1], int(modifier[2] or "0", 0))
        elif part:
            found.append(Operand(part))
    return found


class Instruction:
    """`flow`: how it goes on, "return", "stop", "jump", "call", "branch", None with the next one; `target`:
    (address, function) of a jump, or what adr and adrp name."""

    def __init__(self, address, text):
        self.address = address
        self.text = text.partition("//")[0].strip()
        self.name, _, rest = self.text.partition("\t") if "\t" in self.text else self.text.partition(" ")
        self.flow = {"ret": "return", "brk": "stop", "udf": "stop", "b": "jump", "br": "jump", "bl": "call",
                     "blr": "call"}.get(self.name)
        if self.name.startswith("b.") or self.name in BRANCHES:
            self.flow = "branch"
        self.target, self.operands = None, []
        address = ADDRESS.search(rest)
        if address and (self.flow in ("jump", "call", "branch") or self.name in ("adr", "adrp")):
            self.target, rest = (int(address[1], 16), address[2]), rest[:address.start()]
        if self.name not in ("nop", "prfm", "brk", "udf"):
            self.operands = operands_of(rest)
        self.index_behind()

    def index_behind(self):
        """[x0], #16 is one operand, which adds to its register afterwards."""
        for at, operand in enumerate(self.operands[:-1]):
            if operand.kind == "memory" and len(operand.parts) == 1 and not operand.is_before:
                operand.after = self.operands.pop(at + 1)
                return
