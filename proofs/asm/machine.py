"""A symbolic x86-64: executes disassembled instructions on the values of terms.py.

What it does not know it refuses: an unknown instruction, a branch or an address that depends on
unknown data (unless the run forks), an access outside the memory that the run declared.
"""

import re

import z3

import terms as t


STACK, STACK_SIZE = 0x7fff00000000, 1 << 22  # the first address above, the size


class Refused(Exception):
    """The run stopped: what was found, and at which instruction."""


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
MEMORY = re.compile(r"(?:(\w+) (PTR|BCST) )?(?:[defgs]s:)?\[(.*)\]$|[defgs]s:0x[0-9a-f]+$")
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
        elif memory:
            self.kind = "memory"
            self.width = 8 * SIZES[memory[1]] if memory[1] else None
            self.broadcast = self.broadcast or memory[2] == "BCST"
            self.parts, self.offset = [], 0
            for sign, scaled, factor, number, register in TERM.findall(memory[3]):
                if number:
                    self.offset += int(number, 0) * (-1 if sign == "-" else 1)
                elif (scaled or register) == "rip":
                    self.parts, self.offset = [], int(comment.split()[0], 16)
                    break
                else:
                    self.parts.append((scaled or register, int(factor or 1)))
        elif re.fullmatch(r"-?(0x)?[0-9a-f]+", text):
            self.kind, self.width = "immediate", None
            self.value = int(text, 16)
        else:
            raise Refused(f"operand '{self.text}'")


class Instruction:
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
        jump = re.match(r"([0-9a-f]+) <(.*)>$", rest)
        if jump:
            self.target, self.operands = (int(jump[1], 16), jump[2]), []
        elif self.name == "nop":
            self.operands = []
        else:
            self.operands = [Operand(part.strip(), comment)
                             for part in re.split(r",(?![^\[]*\])", rest) if part]


class Flags:
    """What the last comparison or arithmetic left; each condition is decided when it is read."""

    def __init__(self, result, width, carry=False, overflow=False, operands=None):
        self.result, self.width = result, width
        self.carry, self.overflow, self.operands = carry, overflow, operands
        self.low_halves = None  # of a 64-bit addition, for the adc that may follow

    def condition(self, code):
        for prefix in (("n",) if code not in ("np",) else ()):
            if code.startswith(prefix):
                return t.negation(self.condition(code[1:]))
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


class Machine:
    def __init__(self, image, limit=2_000_000):
        self.image, self.limit = image, limit
        self.general = dict.fromkeys(GENERAL, 0)
        self.vectors = [[0] * 64 for _ in range(32)]
        self.masks = {f"k{i}": 0 for i in range(8)}
        self.memory = {}      # address -> cell; reads elsewhere are refused
        self.free = []        # (low, high) in which writes may create cells
        self.unknowns = 0
        self.flags = Flags(0, 64)
        self.hooks = {}       # symbol -> function(machine)
        self.executed = {}    # address -> times
        self.decide = None    # function(condition) -> bool, for runs that fork
        self.logic_width = 0  # bits at a time in which vectors' AND, OR, XOR are written; 0: a lane
        self.only = None      # function(term) -> the one number that it can be, or None
        self.multiply = None  # function(machine, a, b, width, signed) -> 128-bit product
        self.population = self.kept = None  # of masks that depend on data: run.Appended
        self.appended = None  # memory whose places depend on data: run.Appended

    # --- memory and operands -------------------------------------------------------------------

    def load(self, address, size):
        if not t.is_int(address):
            raise Refused("reads where an address depends on data")
        try:
            return [self.memory[address + i] for i in range(size)]
        except KeyError:
            constant = self.image.constant(address, size)
            if constant is None and self.on_stack(address, size):
                return [self.memory.setdefault(address + i, (self.unknown(), 0))
                        for i in range(size)]
            if constant is None:
                raise Refused(f"reads {size} bytes at {address:#x}, which nothing set") from None
            return list(constant)

    def on_stack(self, address, size):
        return STACK - STACK_SIZE <= address and address + size <= STACK

    def unknown(self):
        """What an uninitialised byte of the stack holds: anything."""
        self.unknowns += 1
        v = z3.BitVec(f"uninitialised[{self.unknowns}]", 8)
        t.keep(v)
        return v

    def store(self, address, cells):
        if self.appended and self.appended.takes(address):
            return self.appended.append(address, cells)
        if not any(low <= address and address + len(cells) <= high for low, high in self.free):
            raise Refused(f"writes {len(cells)} bytes at {address:#x}, outside its memory")
        for i, cell in enumerate(cells):
            self.memory[address + i] = cell

    def address(self, operand):
        total = operand.offset
        for name, factor in operand.parts:
            register, low, width = REGISTERS[name]
            total = t.add(total, t.scale(t.extract(self.general[register], low, width), factor, 64),
                          64)
        if not t.is_int(total):
            form = t.counted(total, 64) if self.appended else None
            if form:
                return total if form[0] else form[1]
            total = self.value_if_known(total)
        return total & t.mask(64)

    def value_if_known(self, total):
        known = z3.simplify(total)
        if z3.is_bv_value(known):
            return known.as_long()
        raise Refused("an address depends on data")

    def count(self, v):
        """What a shift is by: a number, or what the contract's ranges leave only one number for; a
        term of others."""
        number = None if t.is_int(v) or self.only is None else self.only(v)
        return v if number is None else number

    def read(self, operand, width=None):
        """The value of an operand; `width` where its text does not say it."""
        width = operand.width or width
        if operand.kind == "immediate":
            return operand.value & t.mask(width)
        if operand.kind == "general":
            return t.extract(self.general[operand.register], operand.low, operand.width)
        if operand.kind == "mask":
            return self.masks[operand.register]
        if operand.kind == "vector":
            return t.from_cells(self.vectors[operand.register][:width // 8])
        return t.from_cells(self.load(self.address(operand), width // 8))

    def write(self, operand, value, width=None):
        width = operand.width or width
        if operand.kind == "general":
            old = self.general[operand.register]
            if width == 32:
                value = t.zero_extend(value, 32, 64)
            elif width < 32:
                top = 64 - operand.low - width
                value = t.concat([(t.extract(old, operand.low + width, top), top), (value, width),
                                  (t.extract(old, 0, operand.low) if operand.low else 0,
                                   operand.low)])
            self.general[operand.register] = value
        elif operand.kind == "memory":
            self.store(self.address(operand), t.to_cells(value, width))
        elif operand.kind == "mask":
            self.masks[operand.register] = value
        else:
            raise Refused(f"write to '{operand.text}'")

    def cells(self, operand, size, element=4):
        """`size` bytes of a vector operand, a broadcast element repeated."""
        if operand.kind == "vector":
            return self.vectors[operand.register][:size]
        if operand.kind == "general":
            return t.to_cells(self.read(operand), operand.width)[:size]
        if operand.broadcast:
            return self.load(self.address(operand), element) * (size // element)
        return self.load(self.address(operand), size)

    def lanes(self, operand, size, element):
        cells = self.cells(operand, size, element)
        return [t.from_cells(cells[i:i + element]) for i in range(0, size, element)]

    def write_vector(self, operand, cells, vex, element=4):
        if operand.kind == "memory":
            where = self.address(operand)
            lanes = self.masks[operand.mask] if operand.mask else 0
            if not t.is_int(lanes) and self.appended and self.appended.takes(where):
                self.appended.append(where, cells, lanes)
            elif operand.mask:
                for i in range(0, len(cells), element):
                    if self.known_bit(operand.mask, i // element):
                        self.store(where + i, cells[i:i + element])
            else:
                self.store(where, cells)
            return
        old = self.vectors[operand.register]
        cells = list(cells)
        if operand.mask:
            for i in range(0, len(cells), element):
                bit = self.mask_bit(operand.mask, i // element)
                kept = [0] * element if operand.zeroing else old[i:i + element]
                if not t.is_int(bit):
                    kept = t.to_cells(t.choose(bit == 1, t.from_cells(cells[i:i + element]),
                                               t.from_cells(kept), 8 * element), 8 * element)
                if not t.is_int(bit) or not bit:
                    cells[i:i + element] = kept
        rest = [0] * (64 - len(cells)) if vex else old[len(cells):]
        self.vectors[operand.register] = cells + rest

    def mask_bit(self, name, i):
        """Bit i of a lane mask, a number or a term of one bit."""
        return t.extract(self.masks[name], i, 1)

    def known_bit(self, name, i):
        """The same where it decides what is read or written."""
        bit = self.mask_bit(name, i)
        if not t.is_int(bit):
            raise Refused("a lane mask of a load or a store depends on data")
        return bit

    # --- control -------------------------------------------------------------------------------

    def holds(self, condition):
        if isinstance(condition, bool):
            return condition
        known = z3.simplify(condition)
        if z3.is_true(known) or z3.is_false(known):
            return z3.is_true(known)
        if self.decide is None:
            raise Refused("a branch depends on data")
        return self.decide(condition)

    def decided(self, condition):
        """A condition that becomes data; a run that forks decides it here."""
        if isinstance(condition, bool) or self.decide is None:
            return condition
        return self.holds(condition)

    def call(self, symbol, arguments):
        """Runs a function to its end; the rest of the arguments go on the stack."""
        end = 0xdead0000
        for register, value in zip(("rdi", "rsi", "rdx", "rcx", "r8", "r9"), arguments):
            self.general[register] = value
        top = STACK
        self.free.append((top - STACK_SIZE, top + 4096))
        for i, value in enumerate(arguments[6:]):
            self.store(top + 8 * i, t.to_cells(value, 64))
        self.general["rsp"] = top - 8
        self.store(top - 8, t.to_cells(end, 64))
        at, steps = self.image.symbols[symbol], 0
        while at != end:
            instruction = self.image.instructions.get(at)
            if instruction is None:
                raise Refused(f"jumps to {at:#x}, where no instruction is")
            self.executed[at] = self.executed.get(at, 0) + 1
            steps += 1
            if steps > self.limit:
                raise Refused("runs too long")
            try:
                at = self.step(instruction.get())
            except Refused as refused:
                raise Refused(f"{refused}: {at:x}: {instruction.raw}") from None

    def push(self, value):
        self.general["rsp"] -= 8
        self.store(self.general["rsp"], t.to_cells(value, 64))

    def pop(self):
        self.general["rsp"] += 8
        return t.from_cells(self.load(self.general["rsp"] - 8, 8))

    def step(self, instruction):
        """Executes one instruction; the address of the next."""
        name, following = instruction.name, self.image.following[instruction.address]
        if name == "ret":
            return self.pop()
        if name == "jmp":
            if instruction.target is None:
                target = self.read(instruction.operands[0])
                return target
            hook = self.hooks.get(instruction.target[1])
            if hook:
                hook(self)
                return self.pop()
            return instruction.target[0]
        if name == "call":
            hook = self.hooks.get(instruction.target[1]) if instruction.target else None
            if hook:
                hook(self)
                return following
            self.push(following)
            return instruction.target[0]
        if name[0] == "j":
            taken = self.holds(self.flags.condition(name[1:]))
            return instruction.target[0] if taken else following
        import instructions
        instructions.execute(self, instruction)
        return following
