"""How often a program executes each instruction of its kernels: its branches are counted while it
runs (branches.cpp), and what lies between two branches runs as often as they say. A repeated string
instruction counts once."""

import os
import re
import struct
import subprocess
from collections import namedtuple

PHASES = 3  # the initial thread before it begins, since then, and the other threads
RECORD = struct.Struct("<QII" + "Q" * (2 * PHASES))
LIBRARY = "branches.so"
GIVEN_UP = 70  # the exit status of branches.cpp

Instruction = namedtuple("Instruction", "address mnemonic target")


class Failed(Exception):
    """The counts do not fit together, or a program cannot be counted."""


class NotAllowed(Exception):
    """No program may change its own code here."""


def is_branch(instruction):
    return instruction.mnemonic[0] == "j" or instruction.mnemonic in ("call", "ret", "repz ret")


def disassemble(program, functions):
    """{name: [Instruction]} of functions: [(address, size, name)], in rising order of address."""
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-M", "intel", program],
                             check=True, capture_output=True, text=True).stdout
    lines = {}
    for address, words in re.findall(r"^ +([0-9a-f]+):\t(.*)$", listing, re.MULTILINE):
        match = re.match(r"((?:repz ret|\S+))(?: +([0-9a-f]+)(?= <|$))?", words)
        lines[int(address, 16)] = Instruction(int(address, 16), match[1],
                                              int(match[2], 16) if match[2] else None)
    code = {}
    for start, size, name in functions:
        code[name] = [lines[a] for a in range(start, start + size) if a in lines]
        for one in code[name]:
            odd = re.match(r"loop|j[er]?cxz|bnd|notrack|xbegin|sys|int", one.mnemonic)
            if odd or (is_branch(one) and "ret" not in one.mnemonic and one.target is None):
                raise Failed(f"{name}: '{one.mnemonic}' at {one.address:#x} is a branch that is not counted")
    return code


def write(path, program, code, begins):
    """The file that branches.cpp reads. `begins`: the functions whose first branch begins a phase."""
    records = []
    for name, instructions in code.items():
        for one in filter(is_branch, instructions):
            records.append((one.address, int(name in begins), program.read(one.address, 1)[0]))
    path.write_bytes(b"".join(RECORD.pack(*record, *[0] * (2 * PHASES)) for record in sorted(records)))


def read(path):
    """{address: [(not taken, taken) of each phase]}."""
    return {address: list(zip(counts[::2], counts[1::2]))
            for address, _, _, *counts in RECORD.iter_unpack(path.read_bytes())}


def executions(code, counts, phase):
    """{address: times} in one phase. An instruction runs as often as the next, less what jumps to
    the next. What falls through a branch must agree with that, or a branch was not counted."""
    jumps = {}
    for instructions in code.values():
        for one in instructions:
            if is_branch(one) and one.mnemonic != "call" and one.target is not None:
                jumps[one.target] = jumps.get(one.target, 0) + counts[one.address][phase][1]
    times = {}
    for name, instructions in code.items():
        falls_into_next = 0
        for one in reversed(instructions):
            if is_branch(one):
                passed, taken = counts[one.address][phase]
                goes_on = taken if one.mnemonic == "call" else passed
                if goes_on != falls_into_next:
                    raise Failed(f"{name}: {goes_on} times past {one.address:#x}, but {falls_into_next} "
                                 "times to what follows")
                times[one.address] = passed + taken
            else:
                times[one.address] = falls_into_next
            falls_into_next = times[one.address] - jumps.get(one.address, 0)
            if falls_into_next < 0:
                raise Failed(f"{name}: more jumps to {one.address:#x} than executions")
    return times


def environment(file, more):
    """In which a program counts its branches in `file`. It must begin in the folder of LIBRARY; a path
    to it may hold what LD_PRELOAD takes for a separator."""
    return {**os.environ, **more, "SLIP_BRANCHES": str(file), "LD_PRELOAD": f"./{LIBRARY}"}
