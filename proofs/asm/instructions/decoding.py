"""x86-64 as objdump writes it: its registers, operands and instructions."""

import re

from machine import Refused


GENERAL = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"] + [f"r{i}" for i in range(8, 16)]
REGISTERS = {}  # name -> (64-bit register, lowest bit, width)
for name in GENERAL:
    REGISTERS[name] = name, 0, 64
    if name[1:].isdigit():
        for suffix, width in (("d", 32), ("w", 16), ("b", 8)):
            REGISTERS[name + suffix] = name, 0, width
    else:
        short = name[1:]
        REGISTERS["e" + short] = name, 0, 32
        REGISTERS[short] = name, 0, 16
        if short[1] == "x":
            REGISTERS[short[0] + "l"] = name, 0, 8
            REGISTERS[short[0] + "h"] = name, 8, 8
        else:
            REGISTERS[short + "l"] = name, 0, 8
SIZES = {"BYTE": 1, "WORD": 2, "DWORD": 4, "QWORD": 8, "XMMWORD": 16, "YMMWORD": 32, "ZMMWORD": 64}
MEMORY = re.compile(r"(?:(\w+) (PTR|BCST) )?(?:[cdes]s:)?\[(.*)\]$")  # fs and gs have bases
# The ABI's place of the stack protector's guard: 8 bytes that no function changes.
GUARD, GUARD_AT = "QWORD PTR fs:0x28", 0x7fffff000000
TERM = re.compile(r"([+-]?)(?:(\w+)\*([1248])|(0x[0-9a-f]+|\d+)|([a-z]\w+))")


class Operand:
    """One operand, as text was decoded: a register, an immediate or memory."""

    def __init__(self, text, comment):
        self.text, self.mask, self.zeroing, self.broadcast = text, None, False, False
        while text.endswith("}"):
            text, _, decoration = text[:-1].rpartition("{")
            if decoration == "z":
                self.zeroing = True
            elif decoration.startswith("1to"):
                self.broadcast = True
            elif decoration.endswith("sae"):
                if decoration not in ("rn-sae", "sae"):
                    raise Refused(f"rounding '{decoration}'")
            else:
                self.mask = decoration
        memory = MEMORY.match(text)
        if text in REGISTERS:
            self.kind, (self.register, self.low, self.width) = "general", REGISTERS[text]
        elif re.fullmatch(r"[xyz]mm\d+", text):
            self.kind, self.register = "vector", int(text[3:])
            self.width = {"x": 128, "y": 256, "z": 512}[text[0]]
        elif re.fullmatch(r"k[0-7]", text):
            self.kind, self.register, self.width = "mask", text, 64
        elif text == GUARD:
            self.kind, self.width, self.parts, self.offset, self.places = "memory", 64, [], GUARD_AT, None
        elif memory:
            self.kind = "memory"
            self.width = 8 * SIZES[memory[1]] if memory[1] else None
            self.broadcast = self.broadcast or memory[2] == "BCST"
            self.parts, self.offset, self.places = [], 0, None
            for sign, scaled, factor, number, register in TERM.findall(memory[3]):
                if number:
                    self.offset += int(number, 0) * (-1 if sign == "-" else 1)
                elif (scaled or register) == "rip":
                    self.parts, self.offset = [], int(comment.split()[0], 16)
                    break
                elif (scaled or register) in REGISTERS:
                    self.parts.append((scaled or register, int(factor or 1)))
                elif re.fullmatch(r"[xyz]mm\d+", scaled or register):
                    # A place per lane: the number of the vector, its bits, the factor.
                    bits = {"x": 128, "y": 256, "z": 512}[(scaled or register)[0]]
                    self.places = int((scaled or register)[3:]), bits, int(factor or 1)
                else:
                    raise Refused(f"operand '{self.text}'")
        elif re.fullmatch(r"-?(0x)?[0-9a-f]+", text):
            self.kind, self.width = "immediate", None
            self.value = int(text, 16)
        else:
            raise Refused(f"operand '{self.text}'")


class Instruction:
    """`flow`: how it goes on, "return", "stop", "jump", "call", "branch", None with the next one."""

    def __init__(self, address, text):
        self.address = address
        text, _, comment = text.partition("#")
        self.text = text.strip()
        words = self.text.split(None, 1)
        self.prefixes = []
        while words and words[0] in ("rep", "repz", "cs", "data16", "notrack", "bnd", "lock"):
            self.prefixes.append(words[0])
            words = words[1].split(None, 1) if len(words) > 1 else []
        self.name = words[0] if words else "nop"
        rest = words[1] if len(words) > 1 else ""
        self.target = None
        self.flow = {"ret": "return", "hlt": "stop", "jmp": "jump", "call": "call"}.get(
            self.name, "branch" if self.name[0] == "j" else None)
        jump = re.match(r"([0-9a-f]+) <(.*)>$", rest)
        if jump:
            self.target, self.operands = (int(jump[1], 16), jump[2]), []
        elif self.name == "nop":
            self.operands = []
        else:
            self.operands = [Operand(part.strip(), comment)
                             for part in re.split(r",(?![^\[]*\])", rest) if part]
