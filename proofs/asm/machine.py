"""A symbolic x86-64: executes disassembled instructions on the values of terms.py.

What it does not know it refuses: an unknown instruction, a branch or an address that depends on
unknown data (unless the run forks), an access outside the memory that the run declared.

A function is called as the System V ABI says (`call`). It finds its arguments, the return address,
rsp, and everything else unknown: the other registers, what is above an argument narrower than 64
bits, flags, the stack. It must return with rbx, rbp, rsp and r12 to r15 as they were. The stack is
aligned to 16 bytes before a call and to no more; of what is below rsp only the red zone is kept.
No instruction here changes the direction flag, which is clear, MXCSR, which is the default (round
to nearest, subnormals kept, no traps), or the state of x87 and MMX: those that do are unknown.
"""

import re

import z3

import abi
import terms as t


STACK, STACK_SIZE = 0x7fff00000010, 1 << 22  # above the return address; 16 modulo 32; the size
RED_ZONE = 128


class Refused(Exception):
    """The run stopped: what was found, and at which instruction."""


KEPT_BY_CALLS = ["rbx", "rbp", "r12", "r13", "r14", "r15"]
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


def undefined():
    raise Refused("reads a flag that nothing defined")


class Flags:
    """What the last comparison or arithmetic left; each condition is decided when it is read. Carry
    and overflow are conditions or functions that give them; `undefined` is one. Without a result,
    sign and zero are undefined."""

    def __init__(self, result, width, carry=False, overflow=False, operands=None):
        self.result, self.width = result, width
        self.carry, self.overflow, self.operands = carry, overflow, operands

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


class Machine:
    def __init__(self, image, limit=2_000_000):
        self.image, self.limit = image, limit
        self.memory = {}      # address -> cell; reads elsewhere are refused
        self.free = []        # (low, high) in which writes may create cells
        self.unknowns = 0
        self.general, self.vectors, self.masks, self.flags = {}, [], {}, None  # set by `call`
        self.own_stack = STACK, STACK  # what the function may write, from the lowest to above it
        self.aligned = set()  # pointers whose alignment to 64 a contract promises
        self.hooks = {}       # symbol -> function(machine) -> rax, instead of a function's code
        self.outsides = {}    # address -> hook, of those that the image has
        self.executed = {}    # address -> times
        self.decide = None    # function(condition) -> bool, for runs that fork
        self.logic_width = 0  # bits at a time in which vectors' AND, OR, XOR are written; 0: a lane
        self.only = None      # function(term) -> the one number that it can be, or None
        self.multiply = None  # function(machine, a, b, width, signed) -> 128-bit product
        self.add_products = None  # what adds the products of a lane's bytes or words: run.py
        self.population = self.kept = None  # of masks that depend on data: run.Appended
        self.lookup = self.places = None  # of a table of the places of ones: run.Appended
        self.appended = None  # memory whose places depend on data: run.Appended
        self.scouting = False  # whether only places and conditions matter, not data: loops.py

    # --- memory and operands -------------------------------------------------------------------

    def load(self, address, size):
        if not t.is_int(address):
            found = self.lookup and self.lookup(self, address, size)
            if not found:
                raise Refused("reads where an address depends on data")
            return found
        on_stack = self.on_stack(address, size)
        try:
            return [self.memory[address + i] for i in range(size)]
        except KeyError:
            constant = self.image.constant(address, size)
            if constant is None and on_stack:
                return [self.memory.setdefault(address + i, (self.unknown("uninitialised", 8), 0))
                        for i in range(size)]
            if constant is None:
                raise Refused(f"reads {size} bytes at {address:#x}, which nothing set") from None
            return list(constant)

    def on_stack(self, address, size):
        """Whether bytes are on the function's own stack. Those below the red zone may change at any
        time: a signal's handler writes there."""
        low, high = self.own_stack
        if not (low <= address and address + size <= high):
            return False
        if address < self.general["rsp"] - RED_ZONE:
            raise Refused("uses the stack below the red zone")
        return True

    def unknown(self, what, width):
        """Anything: what an uninitialised register or byte of the stack holds."""
        self.unknowns += 1
        v = z3.BitVec(f"{what}[{self.unknowns}]", width)
        t.keep(v)
        return v

    def unknown_cells(self, size):
        return t.to_cells(self.unknown("any", 8 * size), 8 * size) if size else []

    def leave_unknown(self, operand, vex):
        """Puts anything into a vector or a mask register."""
        if operand.kind == "mask":
            self.masks[operand.register] = self.unknown(operand.register, 64)
            return
        size = operand.width // 8
        above = [0] * (64 - size) if vex else self.vectors[operand.register][size:]
        self.vectors[operand.register] = self.unknown_cells(size) + above

    def store(self, address, cells):
        if self.appended and self.appended.takes(address):
            return self.appended.append(address, cells)
        if not self.on_stack(address, len(cells)) and not any(
                low <= address and address + len(cells) <= high for low, high in self.free):
            raise Refused(f"writes {len(cells)} bytes at {address:#x}, outside its memory")
        for i, cell in enumerate(cells):
            self.memory[address + i] = cell

    def fill(self, to, size, byte):
        """What memset does."""
        if not all(map(t.is_int, (to, size))):
            raise Refused("a place or the size of what is filled depends on data")
        self.store(to, t.to_cells(byte, 8) * size)

    def copy(self, to, source, size, may_overlap):
        """What memmove does; memcpy, unless both places may overlap."""
        if not all(map(t.is_int, (to, source, size))):
            raise Refused("a place or the size of what is copied depends on data")
        if not may_overlap and to < source + size and source < to + size:
            raise Refused("memcpy between places that overlap")
        self.store(to, self.load(source, size))

    def address(self, operand, place=0):
        """Where an operand of memory is; `place`: a lane's, of an operand that has one per lane."""
        total = operand.offset + place
        for name, factor in operand.parts:
            register, low, width = REGISTERS[name]
            total = t.add(total, t.scale(t.extract(self.general[register], low, width), factor, 64),
                          64)
        return self.placed(total)

    def placed(self, total):
        """An address, once it is known."""
        if not t.is_int(total):
            form = t.counted(total, 64) if self.appended else None
            if form:
                return total if form[0] else form[1]
            total = simplified(total)
            if not t.is_int(total) and self.lookup:
                return total
            if not t.is_int(total):
                raise Refused("an address depends on data")
        return total & t.mask(64)

    def is_aligned(self, address, size):
        return t.is_int(address) and address % size == 0

    def numbers(self, *names):
        """What general registers hold, where it must not depend on data."""
        found = [self.general[name] for name in names]
        if not all(map(t.is_int, found)):
            raise Refused(f"one of {', '.join(names)} depends on data")
        return found

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
                self.store_lanes(where, cells, element, operand.mask)
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
                    kept = self.blended(bit, cells[i:i + element], kept)
                if not t.is_int(bit) or not bit:
                    cells[i:i + element] = kept
        rest = [0] * (64 - len(cells)) if vex else old[len(cells):]
        self.vectors[operand.register] = cells + rest

    def blended(self, bit, new, kept):
        """An element of a lane that a mask has or not."""
        width = 8 * len(new)
        return t.to_cells(t.choose(bit == 1, t.from_cells(new), t.from_cells(kept), width), width)

    def store_lanes(self, where, cells, element, mask):
        for i in range(0, len(cells), element):
            if self.known_bit(mask, i // element):
                self.store(t.add(where, i, 64), cells[i:i + element])

    def load_lanes(self, where, size, element, mask):
        """Lanes that the mask leaves out are not read."""
        cells = []
        for lane in range(size // element):
            cells += (self.load(t.add(where, lane * element, 64), element)
                      if self.known_bit(mask, lane) else [0] * element)
        return cells

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

    def product(self, a, b, width, signed):
        """Of two unknown numbers, 2 * width bits."""
        return self.multiply(self, a, b, width, signed)

    def noted(self, condition):
        """The same of one that becomes a bit."""
        return self.decided(condition)

    def call(self, symbol, arguments):
        """Runs a function to its return, as the ABI has it called."""
        back, kept = self.enter(symbol, arguments)
        at, steps = self.image.symbols[symbol], 0
        while not same(at, back):
            steps += 1
            if steps > self.limit:
                raise Refused("runs too long")
            at = self.advance(at)
        self.leave(kept)

    def enter(self, symbol, arguments):
        """What a function finds when it is called: (where it returns to, the registers that it keeps)."""
        self.outsides = {self.image.symbols[name]: hook for name, hook in self.hooks.items()
                         if name in self.image.symbols}
        low, high = self.own_stack
        self.memory = {at: cell for at, cell in self.memory.items() if not low <= at < high}
        self.own_stack = STACK - STACK_SIZE, STACK
        self.forget(())
        self.general["rsp"] = STACK
        self.place(abi.parameters(self.image, symbol), arguments)
        back = self.unknown("return address", 64)
        self.push(back)
        return back, {name: self.general[name] for name in KEPT_BY_CALLS}

    def leave(self, kept):
        """What a function must leave."""
        if self.general["rsp"] != STACK:
            raise Refused("returns with another stack than it was called with")
        for name, v in kept.items():
            if not same(self.general[name], v):
                raise Refused(f"does not keep {name}")

    def place(self, types, arguments):
        """Arguments where the ABI has them; what is above a narrow one is unknown."""
        try:
            parts = [part for type_ in types for part in abi.parts(type_)]
        except KeyError as unknown:
            raise Refused(f"a parameter of type {unknown}") from None
        if len(parts) != len(arguments):
            raise Refused(f"{len(arguments)} arguments for {types}")
        general, vectors = ["rdi", "rsi", "rdx", "rcx", "r8", "r9"], list(range(8))
        for (kind, width), v in zip(parts, arguments):
            size = 512 if kind == "float" else 64
            above = self.unknown("above", size - width) if width < size else 0
            v = t.concat([(above, size - width), (t.extract(v, 0, width), width)])
            if kind == "float":
                self.vectors[vectors.pop(0)] = t.to_cells(v, size)
            elif general and kind == "integer":
                self.general[general.pop(0)] = v
            else:
                low, high = self.own_stack
                self.own_stack = low, high + 8
                self.store(high, t.to_cells(v, size))
        pointers = [type_ for type_ in types for _ in abi.parts(type_)]
        for type_, v in zip(pointers, arguments):
            if t.is_int(v) and v not in self.aligned and abi.alignment(type_) not in (None, v % 64):
                raise Refused(f"{v:#x} has not just the alignment that a {type_} promises")

    def forget(self, kept):
        """Makes everything unknown that a call may change: `kept`, general registers, remain."""
        for name in GENERAL:
            if name not in kept:
                self.general[name] = self.unknown(name, 64)
        self.vectors = [t.to_cells(self.unknown(f"zmm{i}", 512), 512) for i in range(32)]
        self.masks = {f"k{i}": self.unknown(f"k{i}", 64) for i in range(8)}
        self.flags = NO_FLAGS

    def advance(self, at):
        """Executes the instruction at an address, or a function of which only the contract is known; the
        next address. Where a call returns to is unknown, so that only `ret` leads there."""
        if not t.is_int(at):
            raise Refused("jumps where an address depends on data")
        if at in self.outsides:
            return self.outside(self.outsides[at])
        instruction = self.image.instructions.get(at)
        if instruction is None:
            raise Refused(f"jumps to {at:#x}, where no instruction is")
        self.executed[at] = self.executed.get(at, 0) + 1
        rsp = self.general["rsp"]
        try:
            at = self.step(instruction.get())
            if self.general["rsp"] is not rsp:
                self.drop_stack(rsp - RED_ZONE, self.general["rsp"] - RED_ZONE)
        except Refused as refused:
            raise Refused(f"{refused}: {instruction.address:x}: {instruction.raw}") from None
        return at

    def outside(self, hook):
        """A function of which only the contract is known; where it returns to."""
        rsp = self.general["rsp"]
        if (rsp + 8) % 16:
            raise Refused("calls a function with a stack that is not aligned to 16 bytes")
        result = hook(self)
        self.forget([*KEPT_BY_CALLS, "rsp"])
        if result is not None:
            self.general["rax"] = result
        back = self.pop()
        self.drop_stack(self.own_stack[0], rsp + 8)
        return back

    def drop_stack(self, low, high):
        """What is below rsp, but for the red zone, does not last."""
        if not t.is_int(high):
            raise Refused("rsp depends on data")
        if high - low > len(self.memory):
            for at in [at for at in self.memory if low <= at < high]:
                del self.memory[at]
        else:
            for at in range(low, high):
                self.memory.pop(at, None)

    def push(self, value):
        self.general["rsp"] -= 8
        self.store(self.general["rsp"], t.to_cells(value, 64))

    def pop(self):
        self.general["rsp"] += 8
        return t.from_cells(self.load(self.general["rsp"] - 8, 8))

    def step(self, instruction):
        """Executes one instruction; the address of the next."""
        name, following = instruction.name, self.image.following[instruction.address]
        if name == "ret" and not instruction.operands:
            return self.pop()
        if name in ("jmp", "call"):
            target = instruction.target[0] if instruction.target else (
                self.read(instruction.operands[0]))
            if name == "call":
                self.push(following)
            return target
        if name[0] == "j":
            taken = self.holds(self.flags.condition(name[1:]))
            return instruction.target[0] if taken else following
        import instructions
        instructions.execute(self, instruction)
        return following


def simplified(v):
    """The number that a term turns out to be, though some of what it was made from is unknown; else
    the term."""
    known = v if t.is_int(v) else z3.simplify(v)
    return v if t.is_int(v) or not z3.is_bv_value(known) else known.as_long()


def same(a, b):
    """Whether two values are the same number or the same term."""
    if t.is_int(a) or t.is_int(b):
        return t.is_int(a) and t.is_int(b) and a == b
    return a.eq(b)
