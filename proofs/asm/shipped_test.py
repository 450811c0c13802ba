"""Machine code that differs from what is proved must be refused, with object and function named."""

import copy
import json
import shlex
import subprocess

import report
import shipped
from elf import members

SOURCE = "/leaf/portable/masking.cpp"  # a leaf that every processor's build has
OBJECT = "portable_masking.o"


def refused(what, naming, attempt):
    """A list of one failure unless `attempt` raises Different with all of `naming`."""
    try:
        attempt()
    except shipped.Different as different:
        if all(word in str(different) for word in naming):
            print(f"refused: {what}: {different}")
            return []
        return [f"{what}: the refusal does not name {', '.join(naming)}: {different}"]
    return [f"{what} is not refused"]


def with_flag(build, compiler, folder, flag):
    """An archive's one object, compiled with one flag more."""
    commands = json.loads((build / "compile_commands.json").read_text())
    command, = (c for c in commands if c["file"].endswith(SOURCE))
    words = shlex.split(command["command"])
    while "ccache" in words[0]:
        words.pop(0)
    words[0] = compiler
    words[words.index("-o") + 1] = str(folder / "masking.cpp.o")
    subprocess.run([*words, flag], cwd=command["directory"], check=True)
    archive = folder / f"{flag}.a"
    subprocess.run(["ar", "rc", archive, folder / "masking.cpp.o"], check=True)
    return archive


def flipped(content, proved, function, after):
    """`content` with one bit of one instruction changed, `after` bytes into a function."""
    code = proved.sections[function.section].content
    at = content.index(code[function.value:function.value + function.size]) + after
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1:]


def check(build, objects, compiler, folder):
    """Failures."""
    archive = build / "libslip_kernels.a"
    proved = objects[OBJECT]
    function = next(f for f in proved.functions() if "4mask" in f.name)
    failures = refused("an archive compiled with -O2", ["masking.cpp.o"], lambda: shipped.compare_archive(
        {OBJECT: proved}, with_flag(build, compiler, folder, "-O2")))
    (_, scattered), = members(with_flag(build, compiler, folder, "-ffunction-sections"))
    program = shipped.Program((build / "slip").read_bytes(), "slip")
    failures += refused("code in several sections", [scattered.name, "expected one section"],
                        lambda: program.place(scattered))
    wrong = folder / archive.name
    wrong.write_bytes(flipped(archive.read_bytes(), proved, function, 3))
    failures += refused("one bit of an archive", ["masking.cpp.o", function.name],
                        lambda: shipped.compare_archive(objects, wrong))
    for name in ("slip", "libslip.so"):
        content = (build / name).read_bytes()
        placed = shipped.Program(flipped_program(content, proved, function), f"{name} with one bit changed")
        failures += refused(f"one bit of {name}", [function.name, name], lambda: placed.place(proved))
    return failures + relocated(build, proved) + stale(build, compiler, folder)


def flipped_program(content, proved, function):
    """A program with the lowest bit of the last byte of a function changed."""
    program = shipped.Program(content, "what ships")
    address = program.place(proved) + function.value + function.size - 1
    section = next(s for s in program.elf.sections
                   if s.content and 0 <= address - s.address < len(s.content) and s.address)
    at = content.index(section.content) + address - section.address
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1:]


def with_addend(proved):
    """A copy in which the first reference to a constant is to 4 bytes behind it."""
    copied = copy.deepcopy(proved)
    code = next(s for s in copied.sections if s.name == ".text")
    entries = copied.relocations[code.index]
    i = next(i for i, r in enumerate(entries) if copied.sections[r.symbol.section].name.startswith(".rodata"))
    entries[i] = entries[i]._replace(addend=entries[i].addend + 4)
    return copied


def with_constant(proved):
    """A copy in which one bit of the constant that code refers to first is changed."""
    copied = copy.deepcopy(proved)
    code = next(s for s in copied.sections if s.name == ".text")
    symbol = next(r.symbol for r in copied.relocations[code.index]
                  if copied.sections[r.symbol.section].name.startswith(".rodata"))
    section = copied.sections[symbol.section]
    content = bytearray(section.content)
    content[symbol.value] ^= 1
    copied.sections[symbol.section] = section._replace(content=bytes(content))
    return copied


def relocated(build, proved):
    """References and constants: what is proved is changed, so that what ships differs from it."""
    failures, program = [], shipped.Program((build / "slip").read_bytes(), "slip")
    for what, change in (("another addend of a relocation", with_addend),
                         ("one bit of a constant", with_constant)):
        other = change(proved)
        failures += refused(f"{what}, in an object", [proved.name],
                            lambda: shipped.compare(other, proved))
        failures += refused(f"{what}, in a program", [proved.name], lambda: program.place(other))
    return failures


def stale(build, compiler, folder):
    """A report that another state of the prover wrote."""
    content = json.loads(report.path(build).read_text())
    content["sources"]["kernels.py"] = "0" * 64
    report.path(folder).write_text(json.dumps(content))
    try:
        report.read(folder, compiler)
    except report.Stale as refusal:
        print(f"refused: {refusal}")
        return []
    return ["a report of another state of kernels.py is not refused"]
