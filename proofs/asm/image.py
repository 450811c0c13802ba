"""The leaf kernels as a compiler builds them: objects with the build's own flags, linked at fixed
addresses so that calls and constants are resolved, and disassembled."""

import functools
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
from pathlib import Path

from instructions import X86
from names import plain

ROOT = Path(__file__).resolve().parents[2]

OUTSIDE = """
namespace slip::base { void wipe(void*, unsigned long); void wipe(void*, unsigned long) {} }
extern "C" { void* memset(void* p, int, unsigned long) { return p; }
void* memcpy(void* p, const void*, unsigned long) { return p; }
void* memmove(void* p, const void*, unsigned long) { return p; }
void* __memcpy_chk(void* p, const void*, unsigned long, unsigned long) { return p; }
void __stack_chk_fail() {} }
"""

RELRO = 0x6474e552  # of a segment: read-only after relocation

UNKNOWN_TO_CLANG = {"-fno-ipa-ra"}  # a flag of g++'s, in the commands of a build with it


def compile_leaves(build, compiler, folder, room="kernels"):
    """Objects of every leaf file of a room, from the compile commands of a build folder. `compiler` takes
    the place of the compiler in them."""
    commands = json.loads((Path(build) / "compile_commands.json").read_text())
    objects = []
    for command in commands:
        if f"/optimized/{room}/leaf/" not in command["file"] or "/neon/" in command["file"]:
            continue
        words = shlex.split(command["command"])
        while "ccache" in words[0]:
            words.pop(0)
        own, words[0] = words[0], compiler
        name = command["file"].split("/leaf/")[1].replace("/", "_").replace(".cpp", ".o")
        built = Path(command["directory"]) / words[words.index("-o") + 1]
        words[words.index("-o") + 1] = str(folder / name)
        if "clang" in compiler:
            words = [w for w in words if w not in UNKNOWN_TO_CLANG]
        # Sanitizers would change what is proved; warnings are the build's affair.
        changes = [w for w in words if w.startswith(("-fsanitize", "-fno-sanitize"))]
        if not changes and is_same(own, compiler) and is_up_to_date(built, room):
            shutil.copyfile(built, folder / name)
        else:
            words = [w for w in words if not w.startswith("-W") and w not in changes]
            subprocess.run(words, cwd=command["directory"], check=True)
        objects.append(folder / name)
    if not objects:
        raise FileNotFoundError(f"{build}/compile_commands.json names no file of {room}/leaf")
    return objects


def is_same(one, other):
    found = [shutil.which(compiler) for compiler in (one, other)]
    return None not in found and os.path.realpath(found[0]) == os.path.realpath(found[1])


def is_up_to_date(built, room):
    """Whether an object of the build is there, and newer than all that a leaf of a room may include."""
    if not built.exists():
        return False
    sources = [path for folder in (room, "base") for path in (ROOT / "optimized" / folder).rglob("*.?pp")]
    return built.stat().st_mtime > max(path.stat().st_mtime for path in sources)


def link(objects, compiler, folder, machine=X86):
    """The image of a processor's machine."""
    stub = folder / "outside.cpp"
    stub.write_text(OUTSIDE)
    subprocess.run([compiler, "-O1", "-fno-builtin", "-c", stub, "-o", folder / "outside.o"],
                   check=True)
    image = folder / "image"
    subprocess.run([*machine.LINKER, "-e", "0", "--no-warn-mismatch", "-z", "noexecstack", "-z", "relro",
                    "-o", image, *objects, folder / "outside.o"], check=True, stderr=subprocess.PIPE)
    return image


@functools.cache
def disassembly(path, disassembler):
    return subprocess.run([*disassembler, "-d", "-C", "--no-show-raw-insn", path], check=True,
                          capture_output=True, text=True).stdout


@functools.cache  # mutants change one function of many
def function_in(block):
    """({symbol: address}, [(address, instruction, function)]) of a block of a listing."""
    symbols, instructions, function = {}, [], None
    for line in block.splitlines():
        label = re.match(r"([0-9a-f]+) <(.*)>:$", line)
        if label:
            function = plain(label[2])
            symbols[function] = symbols[label[2]] = int(label[1], 16)
            continue
        match = re.match(r" +([0-9a-f]+):\t(.*)", line)
        if match:
            text = re.sub(r"<(.*)>$", lambda m: f"<{plain(m[1])}>", match[2].strip())
            instructions.append((int(match[1], 16), text, function))
    return symbols, instructions


class Image:
    """Instructions, symbols (without parameter lists) and constants of a linked file."""

    def __init__(self, path, edit=None, machine=X86):
        self.machine = machine
        self.instructions, self.following, self.symbols = {}, {}, {}
        self.function_of, self.sizes = {}, {}
        listing = disassembly(path, machine.DISASSEMBLER)
        if edit:
            listing = edit(listing)
        previous = None
        for block in listing.split("\n\n"):
            symbols, instructions = function_in(block)
            self.symbols.update(symbols)
            for address, text, function in instructions:
                self.instructions[address] = LazyInstruction(address, text, machine.DECODE)
                self.function_of[address] = function
                if previous is not None:
                    self.following[previous] = address
                previous = address
        self.segments = list(segments(Path(path).read_bytes()))

    def constant(self, address, size):
        for start, content in self.segments:
            if start <= address and address + size <= start + len(content):
                return content[address - start:address - start + size]
        return None


class LazyInstruction:
    """Decoded when it is first executed: what never runs need not be known."""

    def __init__(self, address, text, decode):
        self.address, self.raw, self.decode, self.decoded = address, text, decode, None

    def get(self):
        if self.decoded is None:
            self.decoded = self.decode(self.address, self.raw)
        return self.decoded


def segments(elf):
    """(address, bytes) of what is loaded and not writable, or no more once it is loaded."""
    offset, = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for i in range(count):
        kind, flags, start, address, _, length = struct.unpack_from("<IIQQQQ", elf, offset + i * size)
        if kind == 1 and not flags & 2 or kind == RELRO:
            yield address, elf[start:start + length]
