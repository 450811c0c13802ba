"""A symbolic x86-64.

A function is called as the System V ABI says. It finds its arguments, the return address, rsp, and
everything else unknown: the other registers, what is above an argument narrower than 64 bits, flags, the
stack. It must return with rbx, rbp, rsp and r12 to r15 as they were. No instruction here changes the
direction flag, which is clear, MXCSR, which is the default (round to nearest, subnormals kept, no traps), or
the state of x87 and MMX: those that do are unknown.
"""

import terms as t
from machine import InVector, Machine, Refused

from .decoding import GENERAL, GUARD_AT, REGISTERS, Instruction
from .execution import execute
from .flags import NO_FLAGS


class Anything(tuple):
    """What a vector register holds after a call. It is made up when it is read, and so two reads of it, or of
    states that both have it, are of two different things."""


ANYTHING = Anything()


class Vectors(list):
    """The vector registers, of which some may hold anything."""

    def __init__(self, machine, cells):
        super().__init__(cells)
        self.machine = machine

    def __getitem__(self, number):
        cells = super().__getitem__(number)
        if cells is ANYTHING:
            cells = self[number] = t.to_cells(self.machine.unknown(f"zmm{number}", 512), 512)
        return cells

    def copy(self):
        return Vectors(self.machine, self)

    def lose(self, number):
        self[number] = ANYTHING


class X86(Machine):
    NO_FLAGS = NO_FLAGS
    POINTER, RED_ZONE = "rsp", 128
    ARGUMENTS, RESULT, VECTOR_SIZE = ("rdi", "rsi", "rdx", "rcx", "r8", "r9"), "rax", 64
    KEPT = "rbx", "rbp", "r12", "r13", "r14", "r15"
    DECODE, COMPARISONS = Instruction, ("cmp", "test")
    DISASSEMBLER, LINKER, JUMP, ELF = ("objdump", "-M", "intel"), ("ld",), "jmp", 62

    # --- operands ------------------------------------------------------------------------------

    def leave_unknown(self, operand, vex):
        """Puts anything into a vector or a mask register."""
        if operand.kind == "mask":
            self.masks[operand.register] = self.unknown(operand.register, 64)
            return
        size = operand.width // 8
        above = [0] * (64 - size) if vex else self.vectors[operand.register][size:]
        self.vectors[operand.register] = self.unknown_cells(size) + above

    def address(self, operand, place=0):
        """Where an operand of memory is; `place`: a lane's, of an operand that has one per lane."""
        total = operand.offset + place
        for name, factor in operand.parts:
            register, low, width = REGISTERS[name]
            total = t.add(total, t.scale(t.extract(self.general[register], low, width), factor, 64),
                          64)
        return self.placed(total)

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
        """Lanes that the mask leaves out are not read; if it depends on data, all must be there."""
        if not all(t.is_int(self.mask_bit(mask, lane)) for lane in range(size // element)):
            return self.load(where, size)
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

    def enter(self, symbol, arguments):
        entered = super().enter(symbol, arguments)
        self.memory.update(enumerate(t.to_cells(self.unknown("guard", 64), 64), GUARD_AT))
        return entered

    def return_to(self, back):
        self.push(back)

    def kept_by_calls(self):
        """{name: value} of the registers that a function must leave as they were."""
        return {name: self.general[name] for name in self.KEPT}

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
        execute(self, instruction)
        return following

    def outside(self, hook):
        """A function of which only the contract is known; where it returns to."""
        rsp = self.general["rsp"]
        if (rsp + 8) % 16:
            raise Refused("calls a function with a stack that is not aligned to 16 bytes")
        result = hook(self)
        self.forget([*self.KEPT, "rsp"])
        if isinstance(result, InVector):
            cells = t.to_cells(result.value, result.width)
            self.vectors[0] = cells + self.vectors[0][len(cells):]
        elif result is not None:
            self.general["rax"] = result
        back = self.pop()
        self.drop_stack(self.own_stack[0], rsp + 8)
        return back

    def forget(self, kept):
        """Makes everything unknown that a call may change: `kept`, general registers, remain."""
        for name in GENERAL:
            if name not in kept:
                self.general[name] = self.unknown(name, 64)
        self.vectors = Vectors(self, [ANYTHING] * 32)
        self.masks = {f"k{i}": self.unknown(f"k{i}", 64) for i in range(8)}
        self.flags = NO_FLAGS
