"""A machine whose arrays stand anywhere and have any size.

An address is a sum: the pointer to one array, a region, and an offset in sizes and counters. What is
read or written is proved to lie in its array for all of them (sizes.py). An element that is read is a
variable of its index: the same normal form of the index is the same element. A store is compared with
the contract at once, and so the order of stores, and what was there before, do not matter; loops.py
proves that together they leave nothing out.

The stack and constants are at numbers, as in machine.py. Arrays lie below 2^63, and what is written
overlaps nothing else."""

import functools
import math
from typing import Callable, NamedTuple

import z3

import abi
import terms as t
from grids import Done, Grid
from machine import Machine, Refused, same
from sizes import Data, Sizes, divided, parts_in
from sums import Sum

END = 1 << 63
COPIED = 64  # bytes between an array and the stack, of an unknown number that bounds tell
MOST_COPIED = 256  # the same where it must be proved
FEW = 16  # places on the stack, or numbers of bytes, between which sizes decide


def claimed(claim):
    return z3.BoolVal(claim) if isinstance(claim, bool) else claim


class Fork(Exception):
    """A condition of sizes that is not decided: both ways are to be followed."""

    def __init__(self, condition, claim):
        super().__init__("a condition that is not decided")
        self.condition, self.claim = condition, claim


class Chunk(NamedTuple):
    """Bytes of a region, from offset `begin` to `end`, that are of one kind: of inputs `family`; of
    outputs, what the contract says of each element stored, `check(code, elements)`, which proves it, where
    elements are those that `reads(index)` gives. Elements have `size` bytes."""
    begin: object
    end: object
    size: int
    family: object = None
    reads: Callable = None
    check: Callable = None


class Interval(NamedTuple):
    """Bytes of a chunk that were written, of a watched one read, from offset `low` to `high`."""
    chunk: object
    low: object
    high: object


class Region:
    def __init__(self, name, base, length, size, alignment, chunks):
        """`length` in bytes; `size`: bytes of an element."""
        self.name, self.base, self.length, self.size = name, base, length, size
        self.alignment, self.chunks, self.elements = alignment, chunks, {}
        self.places = {}  # id of an element that was met -> (its index, its guard)
        self.is_output = chunks[0].check is not None


class RegionMachine(Machine):
    def __init__(self, image, run):
        super().__init__(image)
        self.run, self.sizes = run, Sizes(run.fixed, run.prover.contradictions)
        self.regions, self.path, self.written = {}, [], []
        self.guards = {}        # id of a bit of a lane mask -> the claim that it is 1
        self.guarded = {}       # id of an element that is read under such a bit -> the bit's id
        self.stores = 0         # in arrays
        self.copies = 0         # calls of memmove between arrays
        self.compared = {}      # ids of a chunk and of code of an element -> how many outputs were proved
        self.guard = self.assumed = None  # the bit that is 1 where a store is compared, and its id
        self.watched = self.watch = self.tells = None  # a region, and function(element) -> condition
        self.seen = z3.BoolVal(False)     # whether it held of an element of the region that was read
        self.tells_width = None  # bits of a number that `tells` is asked of, if not an element's
        self.of_seen = lambda seen: z3.BoolVal(True)  # what holds of it, whatever was read
        self.is_told = False    # whether all of the region was read: nothing more is noted
        self.data, self.follows_data = [], False  # what branches on data said, if they are followed
        self.left_by_data = False  # whether loops may end where data says so, and not all need be read
        self.excused = None     # function() -> whether outputs need not be written
        self.chains = self.totals = self.grid = None  # carried.py, totals.py, grids.py
        self.finished = Done()  # what has been done of the grid
        self.bounds_kept = None  # function(v) -> facts that loops keep of registers: shapes.Within
        self.most_free = None   # what registers hold at most that change by sizes in any way: shapes.Free
        self.summarised = False  # whether a loop of many passes that has loops inside is summarised
        self.rehearsing = False  # nothing is stored in arrays or noted
        self.decide = self.by_size

    # --- arrays ----------------------------------------------------------------------------------

    def region(self, name, length, size, chunks, alignment=None):
        """An array of elements of `size` bytes: its pointer."""
        base = self.sizes.symbol(name, 0, END)
        one = Region(name, base, length, size, alignment or size, chunks)
        begin, end = self.sizes.total(base), self.sizes.total(base) + self.sizes.total(length)
        self.sizes.pointers.add(begin.get_id())
        self.sizes.assume([begin], end <= END)
        if one.alignment > 1:
            self.sizes.assume([begin], begin % one.alignment == 0)
        for other in self.regions.values():
            if one.is_output or other.is_output:
                low = self.sizes.total(other.base)
                high = low + self.sizes.total(other.length)
                self.sizes.assume([begin, low], z3.Or(end <= low, high <= begin, begin == end, low == high))
        self.regions[t.keep(base)] = one
        return base

    def input(self, name, length, size, families, part=None, alignment=None):
        """An array that is read: its pointer. Each of the families has `part` elements, one after the
        other; the only one has all."""
        chunks = [Chunk(*ends, size, family=family) for ends, family in zip(
            self.parts(length, size, part, len(families)), families)]
        return self.region(name, length, size, chunks, alignment)

    def input_of_two(self, name, lengths, sizes, families, alignment):
        """The same of an array of elements and of others, of another size, behind them."""
        begin, end = lengths[0], t.add(*lengths, 64)
        return self.region(name, end, sizes[0], [Chunk(0, begin, sizes[0], family=families[0]), Chunk(
            begin, end, sizes[1], family=families[1])], alignment)

    def output(self, name, length, size, reads, check, part=None, count=1, alignment=None):
        """The same of one that is written. The contract's value of an element depends on the elements of
        inputs that reads(number of the part, index in it) gives, the k-th always one of the same family;
        check(number of the part, code, elements) proves it. One that depends on any number of elements has no
        `reads`, and check is given its index."""
        chunks = []
        for number, (begin, end) in enumerate(self.parts(length, size, part, count)):
            chunks.append(Chunk(
                begin, end, size,
                reads=reads and (lambda index, number=number, first=divided(begin, size): reads(
                    number, t.sub(index, first, 64))),
                check=lambda code, elements, number=number: check(number, code, elements)))
        return self.region(name, length, size, chunks, alignment)

    def add_to(self, pointer, family):
        """What an output holds at first, to which a kernel may add: elements of a family."""
        region = self.regions[t.ident(pointer)]
        region.chunks = [chunk._replace(family=family) for chunk in region.chunks]
        Grid(self, (region.length,)).region = region

    def parts(self, length, size, part, count):
        """(beginning, end) of each."""
        if part is None:
            return [(0, length)]
        return [(t.scale(part, number * size, 64), t.scale(part, (number + 1) * size, 64))
                for number in range(count)]

    def reader(self, pointer):
        """function(number of the part, index in it) -> what the contract says stands there, in a
        comparison of an output."""
        region = self.regions[t.ident(pointer)]

        def element(number, index):
            chunk = region.chunks[number]
            at = t.add(divided(chunk.begin, chunk.size), index, 64)
            return self.element(region, chunk, at, self.guard, is_wanted=True)
        return element

    def watch_elements(self, pointer, condition, tells=None):
        """From now on `seen` is whether a condition held of an element of an array that was read; all of
        them must be read. `tells`: whether a number as wide in a register says so."""
        self.watched, self.watch = self.regions[t.ident(pointer)], self.of_each(condition)
        self.tells = self.of_each(tells) if tells else self.watch
        self.is_0_unseen = tells is not None and self.run.holds(z3.Not(condition(
            z3.BitVecVal(0, 8 * self.watched.size))))

    def of_each(self, condition):
        """The same condition; of a number that is one of two, that it holds of one of them, where that is
        proved to be the same whichever two these are: of the greater that it is above something."""
        known, others = {}, {}

        def holds(v):
            if t.kind(v) != z3.Z3_OP_ITE:
                return condition(v)
            pair, width = t.parts_of(v)[1:], t.width_of(v)
            if width not in others:
                others[width] = [self.unknown(name, width) for name in ("one", "other")]
            any_two = z3.substitute(v, *zip(pair, others[width]))
            if any_two.get_id() not in known:
                known[any_two.get_id()] = any_two, self.run.holds(condition(any_two) == z3.Or(
                    [condition(one) for one in others[width]]))
            return z3.Or([holds(one) for one in pair]) if known[any_two.get_id()][1] else condition(v)
        return holds

    def note(self, region, chunk, elements, guards, low, high):
        """What is seen in elements that are read."""
        if region is not self.watched or self.is_told or self.rehearsing:
            return
        for v, guard in zip(elements, guards):
            here = self.watch(v)
            is_bare = guard is None or self.is_0_unseen
            self.seen = z3.Or(self.seen, here if is_bare else z3.And(guard == 1, here))
        self.written.append(Interval(chunk, low, high))

    def read_elsewhere(self, where, size):
        """Whether the condition holds of some of so many bytes of the array, which a function reads that is
        not executed."""
        region, chunk, offset = self.located(where, self.sizes.total(size))
        if region is not self.watched:
            raise Refused(f"reads {region.name} elsewhere")
        seen = self.unknown("elsewhere", 1) == 1
        self.seen = z3.Or(self.seen, seen)
        self.written.append(Interval(chunk, offset, t.add(offset, size, 64)))
        return seen

    def split(self, address):
        """(region, offset) of an address."""
        atoms, _ = t.linear(address, 64)
        found = [i for i, (_, factor) in atoms.items() if i in self.regions and factor == 1]
        if len(found) != 1:
            raise Refused("an address that is not in one array")
        region = self.regions[found[0]]
        return region, t.sub(address, region.base, 64)

    def proved(self, *claims):
        return all(self.sizes.holds(claim, self.path) for claim in claims)

    def located(self, address, size):
        """(region, chunk, offset) of so many bytes, proved to lie in one chunk."""
        region, offset = self.split(address)
        if self.rehearsing and len(region.chunks) == 1:
            return region, region.chunks[0], offset  # no more than a guess comes of it
        low, length = self.sizes.total(offset), self.sizes.total(region.length)
        high = low + size
        for chunk in sorted(region.chunks, key=lambda chunk: len(  # the likely one first
                t.linear(t.sub(offset, chunk.begin, 64), 64)[0])):
            begin, end = self.sizes.total(chunk.begin), self.sizes.total(chunk.end)
            inside = low >= 0, high <= length, begin <= low, high <= end
            if self.proved(z3.And(list(map(claimed, inside)))):
                return region, chunk, offset
        raise Refused(f"bytes of {region.name} that are not proved to lie in it, or in one of its parts: "
                      f"from {offset} on, {size} of {region.length}")

    def element(self, region, chunk, index, guard=None, is_wanted=False):
        """The variable that an element is; `guard`: the bit of a lane mask under which it is read, and
        without which it is 0. `is_wanted`: by the contract, which may write the index in another way."""
        atoms, constant = t.linear(index, 64)
        key = (region.chunks.index(chunk), guard is not None and t.keep(guard),
               frozenset((i, c) for i, (_, c) in atoms.items()), constant)
        if key not in region.elements:
            known = self.equal_element(region, key, index) if is_wanted else None
            region.elements[key] = self.new_element(chunk, guard) if known is None else known, index
            region.places.setdefault(t.ident(region.elements[key][0]), (index, guard))
        return region.elements[key][0]

    def element_under_any_guard(self, pointer, index):
        """An element of the only part of an input, whose bit, if it was read under one, is proved to be 1."""
        region = self.regions[t.ident(pointer)]
        for v, at in list(region.elements.values()):
            bit = self.guarded.get(t.ident(v))
            if same(at, index) and (bit is None or self.proved(self.guards[bit])):
                return v
        return self.element(region, region.chunks[0], index)

    def equal_element(self, region, key, index):
        """One whose index is another form of the same number; None if there is none."""
        for other, (v, at) in region.elements.items():
            if other[:2] == key[:2] and not t.is_int(t.sub(at, index, 64)) and self.proved(
                    self.sizes.total(at) == self.sizes.total(index)):
                return v
        return None

    def new_element(self, chunk, guard):
        v = self.run.element(chunk.family, guard is None or chunk.family.may_be_0())
        if guard is not None:
            fact, bit = chunk.family.fact, t.ident(guard)
            self.guarded[t.ident(v)] = bit
            self.run.facts[t.ident(v)] = lambda v: fact(v) if self.assumed == bit else [
                z3.Or(z3.And(fact(v)), v == 0)]
        return v

    # --- memory ----------------------------------------------------------------------------------

    def placed(self, total):
        if t.is_int(total):
            return total
        if not any(i in self.regions for i in t.linear(total, 64)[0]):
            return self.one_of_few(total)
        if not self.scouting:
            self.split(total)
        return total

    def one_of_few(self, total):
        """An address on the stack that depends on sizes, where there are few: each is followed."""
        atoms, constant = t.linear(total, 64)
        unit = math.gcd(*(t.signed(factor, 64) for _, factor in atoms.values()))
        try:
            offset = self.sizes.total(t.sub(total, constant, 64))
        except Data:
            offset = None
        if offset is None or not self.proved(z3.And(offset >= 0, offset < FEW * unit)):
            if self.scouting:
                return total
            raise Refused("an address that is not in one array")
        for number in range(0, FEW * unit, unit):
            if self.proved(offset == number):
                return t.add(constant, number, 64)
            if not self.proved(offset != number):
                raise Fork(t.sub(total, constant, 64) == number, offset == number)
        raise Refused("an address that contradicts itself")

    def load(self, address, size):
        if t.is_int(address):
            cells = super().load(address, size)
            if not self.chains or self.scouting or 8 * size != self.chains.width:
                return cells
            return t.to_cells(self.chains.named(t.from_cells(cells)), self.chains.width)
        if self.scouting:
            return self.unknown_cells(size)
        region, chunk, offset = self.located(address, size)
        self.check_read(region, chunk, offset, t.add(offset, size, 64))
        first, before = self.first_element(region, chunk, offset)
        count = -(-(before + size) // chunk.size)
        elements = [self.element(region, chunk, t.add(first, i, 64)) for i in range(count)]
        self.note(region, chunk, elements, [None] * count, offset, t.add(offset, size, 64))
        return [(v, k) for v in elements for k in range(chunk.size)][before:before + size]

    def check_read(self, region, chunk, low, high):
        """An output is read only where the contract says what stood there, and before it is written."""
        if region.is_output:
            if chunk.family is None:
                raise Refused(f"reads {region.name}, an output")
            self.grid.read(self.grid.part(low, high))

    def first_element(self, region, chunk, offset):
        """(index of the element in which bytes begin, how many of its bytes lie before them)"""
        before = t.signed(t.linear(offset, 64)[1], 64) % chunk.size
        first = divided(t.sub(offset, before, 64), chunk.size)
        if first is None:
            raise Refused(f"bytes of {region.name} that begin anywhere in an element")
        return first, before

    def store(self, address, cells):
        if t.is_int(address):
            return super().store(address, cells)
        self.stores += 1
        if self.scouting:
            return None
        region, chunk, offset = self.located(address, len(cells))
        if self.rehearsing:
            return None
        self.compare(region, chunk, offset, cells, [None] * (len(cells) // chunk.size))
        self.note_written(region, chunk, offset, t.add(offset, len(cells), 64))
        return None

    def note_written(self, region, chunk, low, high):
        if self.grid and region is self.grid.region:
            self.grid.write(self.grid.part(low, high))
        else:
            self.written.append(Interval(chunk, low, high))

    def fill(self, to, size, byte):
        """Of whole elements of an array; one of them, whichever, is compared."""
        to = self.placed(to)
        if t.is_int(to):
            return super().fill(to, self.known_number(size), byte)
        if self.scouting:
            return None
        number, path = self.sizes.total(size), self.path
        region, chunk, offset = self.located(to, number)
        if not self.proved(claimed(number % region.size == 0)):
            raise Refused(f"fills parts of elements of {region.name}")
        self.copies += 1
        index = self.sizes.counter(f"filled[{self.copies}]")
        self.path = [*path, self.sizes.total(t.scale(t.add(index, 1, 64), region.size, 64)) <= number]
        self.compare(region, chunk, t.add(offset, t.scale(index, region.size, 64), 64),
                     t.to_cells(byte, 8) * region.size, [None])
        self.path = path
        self.written.append(Interval(chunk, offset, t.add(offset, size, 64)))
        return None

    def copy(self, to, source, size, may_overlap):
        """Of whole elements from one array to another, which do not overlap; one of them, whichever, is
        compared."""
        if all(map(t.is_int, (to, source))):
            return super().copy(to, source, size, may_overlap)
        if t.is_int(to):
            return self.copy_to_stack(to, source, size)
        if t.is_int(source):
            return self.copy_from_stack(to, source, size)
        if self.scouting:
            return None
        number, path = self.sizes.total(size), self.path
        (origin, part, begin), (region, chunk, offset) = (self.located(at, number) for at in (source, to))
        first, before = self.first_element(origin, part, begin)
        if origin.is_output or part.size != region.size or before or not self.proved(
                number % region.size == 0):
            raise Refused("copies something else than elements of an input")
        self.copies += 1
        index = self.sizes.counter(f"copied[{self.copies}]")
        self.path = [*path, self.sizes.total(t.scale(t.add(index, 1, 64), region.size, 64)) <= number]
        v = self.element(origin, part, t.add(first, index, 64))
        self.compare(region, chunk, t.add(offset, t.scale(index, region.size, 64), 64),
                     [(v, k) for k in range(region.size)], [None])
        self.path = path
        self.written.append(Interval(chunk, offset, t.add(offset, size, 64)))
        return None

    def copy_to_stack(self, to, source, size):
        """Of the first elements of an array, as many as sizes say, to bytes of the stack; unless their number
        is known, all of these are 0."""
        size = self.known_number(size)
        size = size if t.is_int(size) or self.scouting else self.without_multiples(size)
        most = self.most_copied(size)
        if self.scouting:
            return super().store(to, self.unknown_cells(most))
        region, chunk, offset, bits = self.elements_copied(source, size, most)
        first, before = self.first_element(region, chunk, offset)
        if before or region is self.watched and not self.is_told:
            raise Refused("copies something else than elements to the stack")
        self.check_read(region, chunk, offset, t.add(offset, size, 64))
        if not t.is_int(size) and any(cell != 0 for cell in super().load(to, most)):
            raise Refused("copies to bytes of the stack that are not 0")
        elements = [self.element(region, chunk, t.add(first, k, 64), bit) for k, bit in enumerate(bits)]
        return super().store(to, [(v, k) for v in elements for k in range(chunk.size)])

    def copy_from_stack(self, to, source, size):
        """The same the other way round."""
        size = self.known_number(size)
        most = self.most_copied(size)
        self.stores += 1
        if self.scouting:
            return None
        region, chunk, offset, bits = self.elements_copied(to, size, most)
        if self.rehearsing:
            return None
        self.compare(region, chunk, offset, super().load(source, most), bits)
        return self.note_written(region, chunk, offset, t.add(offset, size, 64))

    def elements_copied(self, where, size, most):
        """(region, chunk, offset, the bit of each element that `size` bytes, `most` at most, may have)."""
        number = self.sizes.total(size)
        region, chunk, offset = self.located(where, number)
        if most % chunk.size or not self.proved(*map(claimed, (number >= 0, number % chunk.size == 0))):
            raise Refused("copies parts of elements, or too much, between the stack and an array")
        return region, chunk, offset, [self.guard_bit(size, k) for k in range(0, most, chunk.size)]

    def known_number(self, size):
        """A size as the number that it is proved to be, if that is small."""
        if t.is_int(size):
            return size
        return next((number for number in range(FEW + 1) if self.proved(
            claimed(self.sizes.total(size) == number))), size)

    def without_multiples(self, size):
        """A size that is the low bits of a sum without what these bits lose, if it is proved to be that: of
        64 k + r modulo 64 just r."""
        low = t.parts_of(size)[-1] if t.kind(size) == z3.Z3_OP_CONCAT else size
        if t.kind(low) != z3.Z3_OP_EXTRACT or t.lowest(low) or t.ident(t.parts_of(low)[0]) not in t.LINEAR:
            return size
        (atoms, constant), end = t.LINEAR[t.ident(t.parts_of(low)[0])], 1 << t.width_of(low)
        rest = t.total([(constant % end, 1), *(
            (atom, factor) for atom, factor in atoms.values() if factor % end)], 64)
        return rest if self.proved(self.sizes.value(size) == self.sizes.total(rest)) else size

    def most_copied(self, size):
        """A number that a number of bytes is at most, which is not too great."""
        known = size if t.is_int(size) else (self.sizes.bounds(size) or (0, END))[1]
        if t.is_int(size) or known <= COPIED:
            return known
        for most in (8, 16, 32, COPIED, MOST_COPIED):
            if self.proved(self.sizes.total(size) <= most):
                return most
        raise Refused("copies too much between an array and the stack")

    def guard_bit(self, count, k):
        """The bit that is 1 if `count` is greater than k."""
        if t.is_int(count):
            return None if count > k else 0
        bit = z3.BitVec(f"lane[{t.keep(count)}.{k}]", 1)
        self.guards[t.keep(bit)] = claimed(self.sizes.value(count) > k)
        return bit

    def compare(self, region, chunk, offset, cells, guards):
        """What the contract says of each element stored, under the bit of its lane if it has one."""
        if not region.is_output:
            raise Refused(f"writes {region.name}, an input")
        first, before = self.first_element(region, chunk, offset)
        if before or len(cells) % chunk.size:
            raise Refused(f"writes parts of elements of {region.name}")
        for k, guard in enumerate(guards):
            self.assumed = None if guard is None else t.ident(guard)
            path = self.path
            if guard is not None:
                self.path = [*path, self.guards[self.assumed]]
            code = t.from_cells(cells[k * chunk.size:(k + 1) * chunk.size])
            self.guard = guard
            if chunk.reads:
                self.compare_element(chunk, t.term(code, 8 * region.size), chunk.reads(t.add(first, k, 64)))
            else:
                chunk.check(code, t.add(first, k, 64))
            self.path, self.assumed, self.guard = path, None, None

    def compare_element(self, chunk, code, elements):
        """What was proved of the same code of other elements of the same families holds of these."""
        places = [(v, z3.BitVec(f"element[{k}]", t.width_of(v))) for k, v in enumerate(elements)]
        pattern = z3.substitute(code, *places)
        where = [t.keep(fact) for fact in (*self.path, *self.data)] if self.chains else []
        key = id(chunk), t.keep(pattern), *where
        known = self.compared.get(key)
        if known is not None and self.are_different(elements):
            self.run.outputs += known
            return
        before = self.run.outputs
        chunk.check(code, elements)
        if self.are_different(elements) and not any(
                t.ident(v) in self.guarded for v in self.run.variables_of(pattern)):
            self.compared[key] = self.run.outputs - before

    def are_different(self, elements):
        return len(set(map(t.ident, elements))) == len(elements)

    def is_aligned(self, address, size):
        if t.is_int(address):
            return address % size == 0
        return self.scouting or self.proved(self.sizes.total(address) % size == 0)

    def is_at_most(self, size, room):
        if all(map(t.is_int, (size, room))):
            return super().is_at_most(size, room)
        return self.scouting or self.proved(claimed(self.sizes.value(size) <= self.sizes.value(room)))

    def place(self, types, arguments):
        super().place(types, arguments)
        for type_, v in zip([type_ for type_ in types for _ in abi.parts(type_)], arguments):
            region = None if t.is_int(v) else self.regions.get(t.ident(v))
            if region and region.alignment != 64 and abi.alignment(type_) not in (None, region.alignment):
                raise Refused(f"{region.name} has not just the alignment that a {type_} promises")

    # --- lane masks ------------------------------------------------------------------------------

    def prefix(self, name):
        """(the number of ones that a lane mask (1 << number) - 1 has, how many lanes it is of), or None of
        other masks."""
        v, lanes = self.masks[name], 64
        while not t.is_int(v) and t.kind(v) in (z3.Z3_OP_CONCAT, z3.Z3_OP_EXTRACT):
            lanes, parts = min(lanes, t.width_of(v)), t.parts_of(v)
            if t.kind(v) == z3.Z3_OP_CONCAT and not (len(parts) == 2 and t.is_zero(parts[0])) or (
                    t.kind(v) == z3.Z3_OP_EXTRACT and t.lowest(v)):
                return None
            v = parts[-1]
        if t.is_int(v) or t.ident(v) not in t.LINEAR:
            return None
        atoms, constant = t.LINEAR[t.ident(v)]
        (power, factor), *others = atoms.values()
        if t.kind(power) == z3.Z3_OP_EXTRACT and not t.lowest(power):
            power, = t.parts_of(power)
        if others or factor != 1 or constant != t.mask(t.width_of(v)) or t.kind(power) != z3.Z3_OP_BSHL:
            return None
        one, number = t.parts_of(power)
        if not t.is_number(one) or one.as_long() != 1:
            return None
        return number, min(lanes, t.width_of(v))

    def mask_bit(self, name, i):
        known = self.prefix(name)
        if known is None or i >= known[1]:
            return super().mask_bit(name, i)
        return self.guard_bit(self.whole_number(known[0]), i)

    def whole_number(self, v):
        """What a number of lanes is a part of, if it is proved to be all of it."""
        while not t.is_int(v) and t.kind(v) in (z3.Z3_OP_CONCAT, z3.Z3_OP_EXTRACT):
            parts = t.parts_of(v)
            if t.kind(v) == z3.Z3_OP_CONCAT and not (len(parts) == 2 and t.is_zero(parts[0])) or (
                    t.kind(v) == z3.Z3_OP_EXTRACT and t.lowest(v)) or (
                    not self.proved(self.sizes.value(v) == self.sizes.value(parts[-1]))):
                break
            v = parts[-1]
        return v if t.is_int(v) or self.scouting else self.without_multiples(v)

    def blended(self, bit, new, kept):
        """An element whose lane is guarded, and 0 elsewhere, is what it was when it was read so."""
        if t.ident(bit) in self.guards and not any(kept) and all(
                not t.is_int(cell) and self.guarded.get(t.ident(cell[0])) == t.ident(bit) for cell in new):
            return new
        return super().blended(bit, new, kept)

    def load_lanes(self, where, size, element, mask):
        if t.is_int(self.masks[mask]) and self.masks[mask] == t.mask(size // element):
            return self.load(where, size)
        if t.is_int(where) or self.prefix(mask) is None:
            return super().load_lanes(where, size, element, mask)
        if self.scouting:
            return self.unknown_cells(size)
        region, chunk, offset, bits, end = self.lanes_at(where, size, element, mask)
        first, _ = self.first_element(region, chunk, offset)
        self.check_read(region, chunk, offset, end)
        elements = [self.element(region, chunk, t.add(first, k, 64), bit) for k, bit in enumerate(bits)]
        self.note(region, chunk, elements, bits, offset, end)
        return [(v, k) for v in elements for k in range(element)] + [0] * (size - len(bits) * element)

    def lanes_at(self, where, size, element, mask):
        """(region, chunk, offset, a bit for each lane that it may have, the end) of a mask that is a prefix;
        lanes that it leaves out are neither read nor written."""
        count, lanes = self.prefix(mask)
        number, lanes = self.sizes.value(count), min(lanes, size // element)
        if not self.proved(number <= lanes):
            raise Refused("a mask of more lanes than there are")
        region, chunk, offset = self.located(where, element * number)
        if chunk.size != element or self.first_element(region, chunk, offset)[1]:
            raise Refused(f"lanes that are not elements of {region.name}")
        end = t.add(offset, t.scale(t.zero_extend(count, t.width_of(count), 64), element, 64), 64)
        return region, chunk, offset, [self.mask_bit(mask, k) for k in range(lanes)], end

    def store_lanes(self, where, cells, element, mask):
        if t.is_int(self.masks[mask]) and self.masks[mask] == t.mask(len(cells) // element):
            return self.store(where, cells)
        if t.is_int(where) or self.prefix(mask) is None:
            return super().store_lanes(where, cells, element, mask)
        self.stores += 1
        if self.scouting:
            return None
        region, chunk, offset, bits, end = self.lanes_at(where, len(cells), element, mask)
        if self.rehearsing:
            return None
        self.compare(region, chunk, offset, cells[:len(bits) * element], bits)
        self.note_written(region, chunk, offset, end)
        return None

    # --- conditions ------------------------------------------------------------------------------

    def by_size(self, condition):
        """Which way a branch goes, if sizes decide it."""
        try:
            claim = self.sizes.condition(condition)
        except Data:
            return self.by_data(condition)
        if self.proved(claim):
            return True
        if self.proved(z3.Not(claim)):
            return False
        raise Fork(condition, claim)

    def by_data(self, condition):
        """The same, if data decides it."""
        if not self.follows_data or self.scouting and not self.left_by_data:
            raise Refused("a branch depends on data")
        for known in self.data:
            if known.eq(condition) or known.eq(z3.Not(condition)):
                return known.eq(condition)
        raise Fork(condition, None)

    def decided(self, condition):
        """A condition that becomes data: of sizes it is decided."""
        if isinstance(condition, bool) or self.scouting and self.grid and self.totals and (
                not self.totals.are_deep):
            return condition
        try:
            self.sizes.condition(condition)
        except Data:
            return condition
        return self.by_size(condition)

    def shifted(self, v, count, width):
        """Of sizes a multiple."""
        if not t.is_int(v) and type(v) is not Sum and count < width:
            leaves = [node for node in parts_in(v) if not t.parts_of(node) and not t.is_number(node)]
            if leaves and all(t.ident(node) in t.SIZES for node in leaves):
                return t.scale(v, 1 << count, width)
        return super().shifted(v, count, width)

    def product(self, a, b, width, signed):
        """A product of sizes is a symbol; that of a quotient and its divisor, the dividend without what is
        left."""
        if width == 64:
            for dividend in (self.without_rest(a, b), self.without_rest(b, a)):
                if dividend is not None:
                    return t.zero_extend(dividend, 64, 128)
        v = self.sizes.product_of(a, b) if width == 64 else None
        if v is None and width == 64 and (whole := self.sizes.counted_product(a, b)) is not None:
            return t.concat([(self.unknown("above", 64), 64), (whole, 64)])
        if v is None and (self.totals or self.grid) and self.scouting:
            return self.unknown("product", 128)
        return super().product(a, b, width, signed) if v is None else t.zero_extend(v, 64, 128)

    def without_rest(self, quotient, divisor):
        """The multiple of a divisor, which is proved not to be 0, that a quotient by it stands for; None of
        other numbers."""
        dividend = self.sizes.dividend_of(quotient, divisor)
        is_one = dividend is not None and self.proved(claimed(self.sizes.value(divisor) >= 1))
        return dividend if is_one else None

    def quotient(self, v, count):
        """The same of a sum of sizes and counters of which all but what is proved to be below 2^count is a
        multiple of it, or of one that the contract names."""
        if (t.ident(v), count) in self.sizes.groups:
            return self.sizes.groups[t.ident(v), count]
        for power in range(1, count):
            part = divided(v, 1 << power)
            if part is None:
                break
            if (t.ident(t.term(part, 64)), count - power) in self.sizes.groups and self.proved(
                    *map(claimed, (self.sizes.total(v) >= 0, self.sizes.total(v) < 1 << 64))):
                return self.sizes.groups[t.ident(part), count - power]
        atoms, constant = t.linear(v, 64)
        if any(key not in self.sizes.symbols or key in self.regions for key in atoms):
            return None
        unit = 1 << count
        whole = {key: one for key, one in atoms.items() if t.signed(one[1], 64) % unit == 0}
        rest = {key: one for key, one in atoms.items() if key not in whole}
        if not whole or any(key in self.sizes.counters for key in rest):
            return None
        about = t.build(rest, constant, 64)
        least = (t.signed(about, 64) if t.is_int(about) else self.sizes.bounds(about)[0]) // unit * unit
        left, above = t.build(rest, constant - least, 64), t.build(whole, least & t.mask(64), 64)
        low, high = (self.sizes.total(part) for part in (left, above))
        if not self.proved(*map(claimed, (low >= 0, low < unit, high >= 0, high < 1 << 64))):
            return None
        return divided(above, unit)

    def division(self, a, b):
        """The same of sizes: a divisor that may be 0 is refused."""
        try:
            a, b = self.whole_number(a), self.whole_number(b)
            if t.is_int(b) and b and (exact := self.divided_exactly(a, b)):
                return exact
            is_safe = self.proved(claimed(self.sizes.value(b) >= 1))
            return self.sizes.division(a, b) if is_safe or self.scouting else None
        except Data:
            return (self.unknown("quotient", 64), self.unknown("remainder", 64)) if self.scouting else None

    def divided_exactly(self, v, by):
        """(quotient, remainder) by a number of a multiple of it and a number, which does not wrap; None of
        another sum."""
        rest = t.signed(t.linear(v, 64)[1], 64) % by
        quotient, number = divided(t.sub(v, rest, 64), by), self.sizes.total(v)
        is_one = quotient is not None and self.proved(*map(claimed, (number >= rest, number < 1 << 64)))
        return (quotient, rest) if is_one else None

    def noted(self, condition):
        """The same where both ways can be followed at once."""
        try:
            return self.decided(condition)
        except Fork:
            return condition


@functools.cache
def with_regions(processor):
    """A processor's machine whose arrays stand anywhere."""
    return type(f"Region{processor.__name__}", (RegionMachine, processor), {})
