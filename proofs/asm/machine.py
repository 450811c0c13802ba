"""A symbolic processor: executes disassembled instructions on the values of terms.py.

What it does not know it refuses: an unknown instruction, a branch or an address that depends on
unknown data (unless the run forks), an access outside the memory that the run declared.

Here is what all processors have in common: memory, the stack, conditions, calls. instructions/ has x86-64,
aarch64/ has AArch64: registers, decoding, what each instruction does, how functions are called. The stack is
aligned to 16 bytes before a call and to no more; of what is below its pointer only the red zone is kept.
"""

from typing import NamedTuple

import z3

import abi
import terms as t


# Where the stack's pointer is before a call, 16 modulo 32; the size of a function's own part.
STACK, STACK_SIZE = 0x7fff00000010, 1 << 22


class Refused(Exception):
    """The run stopped: what was found, and at which instruction."""


class InVector(NamedTuple):
    """What a function that is not executed returns in the lowest bits of a vector register."""
    value: object
    width: int


class Exhausted(Refused):
    """The run stopped because the solver has done as much work as a proof may take: no other guess is
    tried."""


class Machine:
    """What is common. Of each processor: `POINTER`, the stack's, and `RED_ZONE`, the bytes below it that a
    function may use; `ARGUMENTS` and `RESULT`, general registers; `VECTOR_SIZE`, bytes of a register;
    `NO_FLAGS`; `DECODE(address, text)`, an instruction; `COMPARISONS`, instructions that only set flags;
    `JUMP`, the one that jumps; `DISASSEMBLER` and `LINKER`, commands; `ELF`, its number in files."""

    def __init__(self, image, limit=2_000_000):
        self.image, self.limit = image, limit
        self.memory = {}      # address -> cell; reads elsewhere are refused
        self.free = []        # (low, high) in which writes may create cells
        self.unknowns = 0
        self.general, self.vectors, self.masks, self.flags = {}, [], {}, None  # set by `call`
        self.own_stack = STACK, STACK  # what the function may write, from the lowest to above it
        self.deepest = STACK  # of the stack's bytes that were used, the lowest
        self.sealed = None    # (low, high) of the stack that only functions use which are not executed
        self.aligned = set()  # pointers whose alignment to 64 a contract promises
        self.hooks = {}       # symbol -> function(machine) -> what it returns, instead of a function's code
        self.outsides = {}    # address -> hook, of those that the image has
        self.executed = {}    # address -> times
        self.decide = None    # function(condition) -> bool, for runs that fork
        self.logic_width = 0  # bits at a time in which vectors' AND, OR, XOR are written; 0: a lane
        self.apart = 0        # bits at a time in which they are written where operands are of several parts
        self.modulo_2 = False  # whether they are written as polynomials modulo 2
        self.multiply = None  # function(machine, a, b, width, signed) -> 128-bit product
        self.add_products = None  # what adds the products of a lane's bytes or words: run.py
        self.is_public = None  # function(term) -> whether divisions may depend on it
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
        if self.sealed and address < self.sealed[1] and self.sealed[0] < address + size:
            raise Refused("uses what only the functions below it may use")
        low, high = self.own_stack
        if not (low <= address and address + size <= high):
            return False
        if address < self.general[self.POINTER] - self.RED_ZONE:
            raise Refused("uses the stack below the red zone")
        self.deepest = min(self.deepest, address)
        return True

    def unknown(self, what, width):
        """Anything: what an uninitialised register or byte of the stack holds."""
        self.unknowns += 1
        v = z3.BitVec(f"{what}[{self.unknowns}]", width)
        t.keep(v)
        return v

    def unknown_cells(self, size):
        return t.to_cells(self.unknown("any", 8 * size), 8 * size) if size else []

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

    def is_at_most(self, size, room):
        """Whether a number of bytes is no greater than another one."""
        if not all(map(t.is_int, (size, room))):
            raise Refused("a number of bytes depends on data")
        return size & t.mask(64) <= room & t.mask(64)

    def numbers(self, *names):
        """What general registers hold, where it must not depend on data."""
        found = [self.general[name] for name in names]
        if not all(map(t.is_int, found)):
            raise Refused(f"one of {', '.join(names)} depends on data")
        return found

    def arguments(self, count):
        """What the first general registers for arguments hold, where it must not depend on data."""
        return self.numbers(*self.ARGUMENTS[:count])

    def returned(self):
        return self.general[self.RESULT]

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

    def shifted(self, v, count, width):
        """v to the left."""
        return t.shl(v, count, width)

    def product(self, a, b, width, signed):
        """Of two unknown numbers, 2 * width bits."""
        return self.multiply(self, a, b, width, signed)

    def quotient(self, v, count):
        """floor(v / 2^count) of 64 bits as a sum; None if it is not known as one."""
        return None

    def multiple_below(self, v, mask):
        """The bits of v that a mask of 64 bits leaves, all but the lowest, as a sum; None of other masks or
        where it is not known as one."""
        if t.is_int(v) or not t.is_int(mask) or not mask:
            return None
        zeros = (mask & -mask).bit_length() - 1
        quotient = self.quotient(v, zeros) if zeros and mask == t.mask(64) - t.mask(zeros) else None
        return None if quotient is None else t.shl(quotient, zeros, 64)

    def division(self, a, b):
        """(quotient, remainder) of two numbers of 64 or 32 bits, in 64; None if they depend on data."""
        return None

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
        self.general[self.POINTER] = STACK
        self.place(abi.parameters(self.image, symbol), arguments)
        back = self.unknown("return address", 64)
        self.return_to(back)
        return back, self.kept_by_calls()

    def leave(self, kept):
        """What a function must leave."""
        if self.general[self.POINTER] != STACK:
            raise Refused("returns with another stack than it was called with")
        now = self.kept_by_calls()
        for name, v in kept.items():
            if not same(now[name], v):
                raise Refused(f"does not keep {name}")

    def place(self, types, arguments):
        """Arguments where the ABI has them; what is above a narrow one is unknown."""
        try:
            parts = [part for type_ in types for part in abi.parts(type_)]
        except KeyError as unknown:
            raise Refused(f"a parameter of type {unknown}") from None
        if len(parts) != len(arguments):
            raise Refused(f"{len(arguments)} arguments for {types}")
        general, vectors = list(self.ARGUMENTS), list(range(8))
        for (kind, width), v in zip(parts, arguments):
            size = 8 * self.VECTOR_SIZE if kind == "float" else 64
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

    def advance(self, at):
        """Executes the instruction at an address, or a function of which only the contract is known; the
        next address. Where a call returns to is unknown, so that only a return leads there."""
        if not t.is_int(at):
            raise Refused("jumps where an address depends on data")
        if at in self.outsides:
            return self.outside(self.outsides[at])
        instruction = self.image.instructions.get(at)
        if instruction is None:
            raise Refused(f"jumps to {at:#x}, where no instruction is")
        self.executed[at] = self.executed.get(at, 0) + 1
        pointer = self.general[self.POINTER]
        try:
            at = self.step(instruction.get())
            if self.general[self.POINTER] is not pointer:
                self.drop_stack(pointer - self.RED_ZONE, self.general[self.POINTER] - self.RED_ZONE)
        except Exhausted:
            raise
        except Refused as refused:
            raise Refused(f"{refused}: {instruction.address:x}: {instruction.raw}") from None
        return at

    def drop_stack(self, low, high):
        """What is below the stack's pointer, but for the red zone, does not last."""
        if not t.is_int(high):
            raise Refused(f"{self.POINTER} depends on data")
        low = max(low, self.deepest)
        if high - low > len(self.memory):
            for at in [at for at in self.memory if low <= at < high]:
                del self.memory[at]
        else:
            for at in range(low, high):
                self.memory.pop(at, None)


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
