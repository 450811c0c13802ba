"""The machine code that ships is the machine code that is proved: objects compared with those of an
archive, and with what was linked into a program or a shared library."""

import struct

from elf import ALLOCATED, EXECUTABLE, MERGED, NOBITS, PROGBITS, SPECIAL, UNDEFINED, Elf, members

R_64, R_PC32, R_PLT32 = 1, 2, 4
WIDTH = {R_64: 8, R_PC32: 4, R_PLT32: 4}


class Different(Exception):
    """Names object and function."""


def loaded(elf):
    """{name: section} of code and constants; unwinding tables and notes are no part of a proof."""
    return {s.name: s for s in elf.sections
            if s.kind == PROGBITS and s.flags & ALLOCATED and s.content and s.name != ".eh_frame"
            and not s.name.startswith(".note")}


def at_offset(elf, section, offset):
    """What stands there: a function, or the section."""
    for symbol in elf.functions():
        if symbol.section == section.index and 0 <= offset - symbol.value < symbol.size:
            return symbol.name
    return section.name


def relocations(elf, section):
    def target(symbol):
        where = elf.sections[symbol.section].name if UNDEFINED < symbol.section < SPECIAL else ""
        return symbol.name, where, symbol.value
    return [(r.offset, r.kind, *target(r.symbol), r.addend)
            for r in elf.relocations.get(section.index, [])]


def first_difference(one, two):
    """The index of the first element in which two sequences differ."""
    return next((i for i, (a, b) in enumerate(zip(one, two)) if a != b), min(len(one), len(two)))


def compare(proved, shipped):
    """Raises Different unless both objects have the same code, constants, relocations and functions."""
    sections, others = loaded(proved), loaded(shipped)
    for name in sorted(sections.keys() & others.keys(), reverse=True):  # .text first: it names functions
        section, other = sections[name], others[name]
        if section.content != other.content:
            offset = first_difference(section.content, other.content)
            raise Different(f"{shipped.name}: {at_offset(proved, section, offset)} differs from what is "
                            f"proved, at {name}+{offset:#x}")
        one, two = relocations(proved, section), relocations(shipped, other)
        if one != two:
            i = first_difference(one, two)
            place = (one[i:] or two[i:])[0][0]
            raise Different(f"{shipped.name}: a relocation of {at_offset(proved, section, place)} differs "
                            f"from what is proved, at {name}+{place:#x}")
    if sections.keys() != others.keys():
        raise Different(f"{shipped.name}: sections {sorted(others)}, proved {sorted(sections)}")

    def functions(elf):
        return {(s.name, elf.sections[s.section].name, s.value, s.size) for s in elf.functions()}
    for function in functions(proved) ^ functions(shipped):
        raise Different(f"{shipped.name}: {function[0]} begins or ends elsewhere than what is proved")


def defined(elf):
    """Symbols by which an object is known."""
    return frozenset(s.name for s in elf.symbols if s.is_global and UNDEFINED < s.section < SPECIAL)


def compare_archive(objects, archive):
    """Each proved object with its member; returns how many."""
    found = list(members(archive))
    for proved in objects.values():
        same = [elf for _, elf in found if defined(elf) == defined(proved)]
        if len(same) != 1:
            raise Different(f"{archive}: {len(same)} members define what {proved.name} defines")
        compare(proved, same[0])
    return len(objects)


class Program:
    """A linked program or shared library: where each proved function stands in it."""

    def __init__(self, content, name):
        self.elf = Elf(content, name)
        self.addresses = {}
        for symbol in self.elf.symbols:
            if UNDEFINED < symbol.section < SPECIAL:
                self.addresses.setdefault(symbol.name, set()).add(symbol.value)

    def read(self, address, size):
        for section in self.elf.sections:
            if section.flags & ALLOCATED and section.kind != NOBITS and \
                    0 <= address - section.address <= len(section.content) - size:
                return section.content[address - section.address:address - section.address + size]
        return b""

    def in_table_of_calls(self, address):
        """Whether the linker's stub of a function from a shared library stands there."""
        return any(s.name.startswith(".plt") and 0 <= address - s.address < len(s.content)
                   for s in self.elf.sections)

    def place(self, proved):
        """Where the code of an object stands: its address. Raises Different unless its bytes are
        there and everything that they refer to is what the object refers to."""
        sections = [s for s in proved.sections if s.flags & EXECUTABLE and s.content]
        if not sections:
            return None
        if len(sections) > 1:
            names = ", ".join(section.name for section in sections)
            raise Different(f"{proved.name}: code in {names}: expected one section")
        code, = sections
        inside = [s for s in proved.functions() if s.section == code.index]
        bases = set.intersection(*({a - s.value for a in self.addresses.get(s.name, ())} for s in inside))
        if len(bases) != 1:
            raise Different(f"{self.elf.name}: the functions of {proved.name} stand in {len(bases)} places")
        base, = bases
        self.compare_code(proved, code, base)
        for relocation in proved.relocations.get(code.index, []):
            if not self.resolved(proved, code, base, relocation):
                raise Different(f"{self.elf.name}: {at_offset(proved, code, relocation.offset)} refers to "
                                f"something else than {relocation.symbol.name} of {proved.name}")
        return base

    def compare_code(self, proved, code, base):
        """The bytes but for those that the linker filled in."""
        def blank(content):
            content = bytearray(content)
            for relocation in proved.relocations.get(code.index, []):
                width = WIDTH[relocation.kind]
                content[relocation.offset:relocation.offset + width] = bytes(width)
            return content
        linked = self.read(base, len(code.content))
        if len(linked) != len(code.content) or blank(linked) != blank(code.content):
            offset = first_difference(blank(linked), blank(code.content)) if linked else 0
            raise Different(f"{self.elf.name}: {at_offset(proved, code, offset)} differs from "
                            f"{proved.name}, at {base + offset:#x}")

    def resolved(self, proved, code, base, relocation):
        """Whether a field holds the distance to what it refers to."""
        symbol = relocation.symbol
        if relocation.kind not in (R_PC32, R_PLT32):
            return False
        distance, = struct.unpack("<i", self.read(base + relocation.offset, 4))
        target = base + relocation.offset + distance - relocation.addend
        if symbol.section == code.index:
            return target == base + symbol.value
        if symbol.section == UNDEFINED:
            known = self.addresses.get(symbol.name)
            return target in known if known else self.in_table_of_calls(target)
        constants = proved.sections[symbol.section]
        if constants.index in proved.relocations:
            return False
        if constants.flags & MERGED:
            wanted = constants.content[symbol.value:symbol.value + constants.entry]
        else:
            target, wanted = target - symbol.value, constants.content
        return len(wanted) > 0 and self.read(target, len(wanted)) == wanted
