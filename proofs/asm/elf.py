"""What the proofs read of ELF files: sections, symbols, relocations; and of archives."""

import struct
from collections import namedtuple

Section = namedtuple("Section", "index name kind flags address content entry")
Symbol = namedtuple("Symbol", "name kind is_global section value size")
Relocation = namedtuple("Relocation", "offset kind symbol addend")

EXECUTABLE, ALLOCATED, MERGED = 4, 2, 16
PROGBITS, SYMTAB, RELA, NOBITS = 1, 2, 4, 8
FUNCTION, OF_SECTION, GLOBAL = 2, 3, 1
UNDEFINED, SPECIAL = 0, 0xff00


def text(strings, offset):
    return strings[offset:strings.index(b"\0", offset)].decode()


class Elf:
    """sections: by index; symbols: of .symtab; relocations: {section index: [Relocation]}."""

    def __init__(self, content, name, machine=62):
        """`machine`: the processor's number, x86-64's by default."""
        self.name = name
        if content[:6] != b"\x7fELF\2\1" or struct.unpack_from("<H", content, 18)[0] != machine:
            raise ValueError(f"{name}: expected an ELF file of processor {machine}")
        start, = struct.unpack_from("<Q", content, 40)
        size, count, names = struct.unpack_from("<HHH", content, 58)
        raw = [struct.unpack_from("<IIQQQQIIQQ", content, start + i * size) for i in range(count)]

        def bytes_of(header):
            return b"" if header[1] == NOBITS else content[header[4]:header[4] + header[5]]
        strings = bytes_of(raw[names])
        self.sections = [Section(i, text(strings, h[0]), h[1], h[2], h[3], bytes_of(h), h[9])
                         for i, h in enumerate(raw)]
        self.symbols = []
        for header in raw:
            if header[1] == SYMTAB:
                strings, entries = bytes_of(raw[header[6]]), bytes_of(header)
                for at in range(0, len(entries), 24):
                    label, info, _, section, value, length = struct.unpack_from("<IBBHQQ", entries, at)
                    self.symbols.append(Symbol(text(strings, label), info & 15, info >> 4 == GLOBAL,
                                               section, value, length))
        self.relocations = {}
        for section, header in zip(self.sections, raw):
            if header[1] == RELA:
                self.relocations[header[7]] = [
                    Relocation(offset, info & 0xffffffff, self.symbols[info >> 32], addend)
                    for offset, info, addend in struct.iter_unpack("<QQq", section.content)]

    def functions(self):
        """The functions that are defined here."""
        return [s for s in self.symbols
                if s.kind == FUNCTION and UNDEFINED < s.section < SPECIAL]


def members(archive):
    """(name, Elf) of every object in an archive."""
    content = archive.read_bytes()
    if content[:8] != b"!<arch>\n":
        raise ValueError(f"{archive}: expected an archive of objects")
    at, names = 8, b""
    while at < len(content):
        name, size = content[at:at + 16].decode().rstrip(), int(content[at + 48:at + 58])
        member = content[at + 60:at + 60 + size]
        at += 60 + size + size % 2
        if name == "//":
            names = member
        elif name not in ("/", "/SYM64/"):
            end = names.index(b"/\n", int(name[1:])) if name[0] == "/" else 0
            name = names[int(name[1:]):end].decode() if name[0] == "/" else name.rstrip("/")
            yield name, Elf(member, f"{archive.name}({name})")
