"""A symbolic AArch64.

A function is called as the AAPCS64 says. It finds its arguments, the return address in x30, and everything
else unknown: the other registers, what is above an argument narrower than 64 bits, flags, the stack. It must
return with x19 to x29, sp and the low halves of v8 to v15 as they were. Nothing below sp is kept. Where sp is
the base of an access, it must be a multiple of 16. A call or a jump to another function may change x16 and
x17, as a linker's veneer may. No instruction here changes FPCR, which is the default (round to nearest,
subnormals kept, no traps).
"""

import terms as t
from machine import InVector, Machine, Refused

from .decoding import GENERAL, Instruction
from .execution import execute
from .flags import NO_FLAGS

VEILED = "x16", "x17"
GUARD_AT = 0x8000000  # of the stack protector: 8 bytes that no function changes


class AArch64(Machine):
    NO_FLAGS = NO_FLAGS
    POINTER, RED_ZONE = "sp", 0
    ARGUMENTS, RESULT, VECTOR_SIZE = tuple(f"x{i}" for i in range(8)), "x0", 16
    KEPT, KEPT_HALVES = tuple(f"x{i}" for i in range(19, 30)), range(8, 16)
    DECODE, COMPARISONS = Instruction, ("cmp", "cmn", "tst")
    # A jump to where a mutant stands is no call: `b` may go through a veneer.
    DISASSEMBLER, JUMP, ELF = ("aarch64-linux-gnu-objdump",), "b.al", 183
    LINKER = "aarch64-linux-gnu-ld", f"--defsym=__stack_chk_guard={GUARD_AT:#x}"

    def enter(self, symbol, arguments):
        entered = super().enter(symbol, arguments)
        self.memory.update(enumerate(t.to_cells(self.unknown("guard", 64), 64), GUARD_AT))
        return entered

    # --- operands ------------------------------------------------------------------------------

    def read(self, operand, width=None):
        """The value of a general register, shifted or extended to `width`, or an immediate."""
        if operand.kind == "immediate":
            value = operand.value << (operand.modifier[1] if operand.modifier else 0)
            return value & t.mask(width)
        if operand.kind != "general":
            raise Refused(f"operand '{operand.text}'")
        size = operand.width
        v = 0 if operand.register is None else t.extract(self.general[operand.register], 0, size)
        return v if operand.modifier is None else self.modified(v, size, operand.modifier, width or size)

    def modified(self, v, size, modifier, width):
        name, amount = modifier
        if name == "ror":
            amount %= size
            return t.bor(t.shr(v, amount, size), t.shl(v, size - amount, size), size)
        if name in ("lsl", "lsr", "asr"):
            return {"lsl": self.shifted, "lsr": t.shr, "asr": t.sar}[name](v, amount, size)
        part = min({"b": 8, "h": 16, "w": 32, "x": 64}[name[-1]], width)
        extend = t.sign_extend if name[0] == "s" else t.zero_extend
        return self.shifted(extend(t.extract(v, 0, part), part, width), amount, width)

    def write(self, operand, v):
        """Of 32 bits, above them are zeros then."""
        if operand.register is not None:
            self.general[operand.register] = t.zero_extend(v, operand.width, 64)

    def address(self, operand):
        """Where an operand of memory is."""
        base, *index = operand.parts
        if base.register == "sp" and not self.is_aligned(self.general["sp"], 16):
            raise Refused("an access by a misaligned sp")
        total = self.general[base.register]
        for part in index:
            total = t.add(total, self.read(part, 64), 64)
        return self.placed(total)

    def index(self, operand, is_before):
        """Changes the register of an operand that says so: before the access, for nothing may be below sp, or
        after it."""
        base, *index = operand.parts
        more = index[0] if operand.is_before and is_before else None if is_before else operand.after
        if more is not None:
            self.general[base.register] = t.add(self.general[base.register], self.read(more, 64), 64)

    def cells(self, operand):
        """The bytes of a vector operand, of all its lanes or the one that it names."""
        own = self.vectors[operand.register]
        if operand.place is None:
            return own[:operand.size]
        return own[operand.place * operand.size:(operand.place + 1) * operand.size]

    def lanes(self, operand):
        cells, element = self.cells(operand), operand.element
        return [t.from_cells(cells[at:at + element]) for at in range(0, len(cells), element)]

    def write_cells(self, operand, cells):
        """All of a vector, above what is written zeros, or the lane that the operand names."""
        old = self.vectors[operand.register]
        if operand.place is None:
            self.vectors[operand.register] = list(cells) + [0] * (16 - len(cells))
        else:
            at = operand.place * operand.size
            self.vectors[operand.register] = old[:at] + list(cells) + old[at + operand.size:]

    def write_lanes(self, operand, lanes):
        if len(lanes) != operand.count:
            raise Refused(f"{len(lanes)} lanes for '{operand.text}'")
        self.write_cells(operand, [cell for lane in lanes for cell in t.to_cells(lane, 8 * operand.element)])

    def leave_unknown(self, operand):
        """Puts anything into a vector register."""
        self.vectors[operand.register] = self.unknown_cells(16)

    # --- control -------------------------------------------------------------------------------

    def return_to(self, back):
        self.general["x30"] = back

    def kept_by_calls(self):
        """{name: value} of the registers that a function must leave as they were."""
        kept = {name: self.general[name] for name in self.KEPT}
        return kept | {f"d{i}": t.from_cells(self.vectors[i][:8]) for i in self.KEPT_HALVES}

    def forget(self, kept):
        """Makes everything unknown that a call may change: `kept`, general registers, remain."""
        for name in GENERAL:
            if name not in kept:
                self.general[name] = self.unknown(name, 64)
        halves = self.vectors
        self.vectors = [t.to_cells(self.unknown(f"v{i}", 128), 128) for i in range(32)]
        if kept:
            for i in self.KEPT_HALVES:
                self.vectors[i][:8] = halves[i][:8]
        self.flags = NO_FLAGS

    def outside(self, hook):
        """A function of which only the contract is known; where it returns to."""
        if not self.is_aligned(self.general["sp"], 16):
            raise Refused("calls a function with a stack that is not aligned to 16 bytes")
        back, result = self.general["x30"], hook(self)
        self.forget([*self.KEPT, "sp"])
        if isinstance(result, InVector):
            cells = t.to_cells(result.value, result.width)
            self.vectors[0] = cells + self.vectors[0][len(cells):]
        elif result is not None:
            self.general["x0"] = result
        self.drop_stack(self.own_stack[0], self.general["sp"])
        return back

    def step(self, instruction):
        """Executes one instruction; the address of the next."""
        i, following = instruction, self.image.following[instruction.address]
        if i.flow == "return":
            return self.read(i.operands[0]) if i.operands else self.general["x30"]
        if i.flow in ("jump", "call"):
            target = i.target[0] if i.target else self.read(i.operands[0])
            if i.flow == "call":
                self.general["x30"] = following
            if i.flow == "call" or self.is_elsewhere(i.address, target):
                for name in VEILED:
                    self.general[name] = self.unknown(name, 64)
            return target
        if i.flow == "branch":
            return i.target[0] if self.holds(self.branches(i)) else following
        execute(self, i)
        return following

    def is_elsewhere(self, at, target):
        """Whether a target is, or may be, in another function."""
        names = self.image.function_of
        return not t.is_int(target) or names.get(at) != names.get(target)

    def branches(self, i):
        """The condition of a branch."""
        if i.name.startswith("b."):
            return self.flags.condition(i.name[2:])
        v, width = self.read(i.operands[0]), i.operands[0].width
        if i.name.startswith("tb"):
            v, width = t.extract(v, i.operands[1].value, 1), 1
        is_zero = t.compare("eq", v, 0, width)
        return t.negation(is_zero) if "nz" in i.name else is_zero
