"""Compares the model of every instruction that the proofs executed with this processor.

Each distinct instruction, its registers renamed and its memory operand replaced by a buffer, is
assembled into a function that loads a state, executes the instruction and stores the state. The
model executes the same on unknowns (on numbers where it needs them: masks, shuffles, shift counts);
the state then stands for the unknowns."""

import ctypes
import random
import re
import subprocess

import z3

import terms as t
from machine import REGISTERS, Instruction, Machine, Refused

POOL = ["rax", "rcx", "rdx", "rbx", "r8", "r9"]
VECTORS, MASKS = 6, 3
VECTOR_AT, MASK_AT, GENERAL_AT, FLAGS_AT, MEMORY_AT, SIZE = 0, 384, 408, 456, 512, 576
CONTROL = re.compile(r"j\w+|call|ret|push|pop|leave|nop|endbr64|prefetch\w+|vzeroupper|stos|movs$|"
                     r"div|xchg$")
FLOATING = re.compile(r"v?(cvt|u?comis|(add|mul|div)[ps][sd])")
FIXED = {"mul", "cqo", "cdqe", "cwde"}
ARITHMETIC = {"add", "adc", "sub", "sbb", "cmp", "neg", "and", "or", "xor", "test"}
TESTS = {"ptest", "vptest", "vtestps", "vtestpd"}
NEEDS = ["avx2", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vbmi", "avx512_vnni",
         "avx512ifma", "aes", "vaes"]


def processor_has_all():
    with open("/proc/cpuinfo") as file:
        flags = next((line for line in file if line.startswith("flags")), "").split()
    return all(need in flags for need in NEEDS)


def normal(raw):
    """The instruction with renamed registers and [rsi] as its memory; None if it is not tested."""
    text = raw.partition("#")[0].strip()
    text = re.sub(r"\b[defgs]s:\[", "[", re.sub(r"^((cs|data16|rep|repz|notrack|bnd) )+", "", text))
    words = text.split(None, 1)
    if CONTROL.match(words[0]) or len(words) == 1 and words[0] not in FIXED:
        return None
    one_operand = len(words) == 2 and "," not in words[1]
    keep = words[0] in FIXED or words[0] == "imul" and one_operand or words[-1].endswith(",cl")
    renamed = {}

    def general(match):
        base, low, width = REGISTERS[match[0]]
        if keep and base in POOL:
            renamed[base] = base
        if base not in renamed:
            renamed[base] = next(r for r in POOL if r not in renamed.values()
                                 and (low == 0 or r in POOL[:4]))
        return next(n for n, v in REGISTERS.items() if v == (renamed[base], low, width))

    def other(match):
        kind, number = match[1], match[2]
        group = renamed.setdefault("k" if kind == "k" else "v", {})
        index = group.setdefault(number, len(group) + (kind == "k"))
        return f"{kind}{index}"
    lea = words[0] == "lea"
    parts = re.split(r"(\[[^\]]*\])", words[1] if len(words) > 1 else "")
    for at, part in enumerate(parts):
        if part.startswith("[") and not lea:
            parts[at] = "[rsi]"
        else:
            part = re.sub(r"\b(%s)\b" % "|".join(sorted(REGISTERS, key=len, reverse=True)), general,
                          part)
            parts[at] = re.sub(r"\b([xyz]mm|k)(\d+)\b", other, part)
    if lea and "rip" in words[1]:
        return None
    return " ".join([words[0], "".join(parts)]).strip()


def assemble(texts, folder):
    lines = [".intel_syntax noprefix", ".text"]
    for i, text in enumerate(texts):
        lines += [f".globl case{i}", f"case{i}:", "push rbx", "push rdi",
                  f"lea rsi, [rdi+{MEMORY_AT}]"]
        lines += [f"vmovdqu64 zmm{v}, [rdi+{VECTOR_AT + 64 * v}]" for v in range(VECTORS)]
        lines += [f"kmovq k{k + 1}, [rdi+{MASK_AT + 8 * k}]" for k in range(MASKS)]
        lines += [f"push qword ptr [rdi+{FLAGS_AT}]", "popfq"]
        lines += [f"mov {r}, [rdi+{GENERAL_AT + 8 * k}]" for k, r in enumerate(POOL)]
        lines += [text, "mov rdi, [rsp]", "pushfq",
                  f"pop qword ptr [rdi+{FLAGS_AT}]"]
        lines += [f"mov [rdi+{GENERAL_AT + 8 * k}], {r}" for k, r in enumerate(POOL)]
        lines += [f"vmovdqu64 [rdi+{VECTOR_AT + 64 * v}], zmm{v}" for v in range(VECTORS)]
        lines += [f"kmovq [rdi+{MASK_AT + 8 * k}], k{k + 1}" for k in range(MASKS)]
        lines += ["vzeroupper", "pop rdi", "pop rbx", "ret"]
    lines.append(".section .note.GNU-stack")
    source, library = folder / "cases.s", folder / "cases.so"
    source.write_text("\n".join(lines) + "\n")
    subprocess.run(["gcc", "-shared", "-o", library, source], check=True)
    return ctypes.CDLL(str(library))


def states(seed, floating=False):
    """Extreme and random states: of 64-bit words that are 0, -1, the least, the greatest, moduli."""
    generator = random.Random(seed)
    corners = [0, (1 << 64) - 1, 1 << 63, (1 << 63) - 1, (1 << 31) - 1, (1 << 61) - 1, 0x80008000 * (
        (1 << 32) + 1), 0x7fff7fff7fff7fff, 0x8080808080808080]
    for k in range(8):
        words = [generator.choice(corners) if k < 3 else generator.getrandbits(64)
                 for _ in range(SIZE // 8)]
        words[FLAGS_AT // 8] = 2 | generator.getrandbits(1)
        yield b"".join(word.to_bytes(8, "little") for word in words)
    if floating:
        yield from float_states(generator)


def float_states(generator):
    """The same of floats: zeros, least, greatest, infinite, NaNs of both kinds, halves, and numbers
    near each other."""
    corners = [0, 1, 0x7fffff, 0x800000, 0x3f800000, 0x3f000000, 0x3fc00000, 0x40200000, 0x4b400000,
               0x4f000000, 0x7f7fffff, 0x7f800000, 0x7fc00001, 0x7fa00000]
    wide = [0, 1, 1 << 52, 0x3ff << 52, 0x47efffffe0000000, 0x47efffffefffffff, 0x47effffff0000000,
            0x3690000000000000, 0x3690000000000001, 0x36a8000000000000, 0x7ff << 52, 0x7fefffffffffffff,
            0x7ff8000000000001, 0x7ff4000000000000]
    for k in range(16):
        words = []
        for at in range(SIZE // 8):
            signs = generator.choice((0, 1 << 31, 1 << 63, 1 << 63 | 1 << 31))
            if k < 6:
                word = generator.choice(corners) << 32 | generator.choice(corners)
            elif k < 12:
                word = generator.choice(wide)
            else:
                word = (0x3f800000 + generator.getrandbits(26)) << 32 | (
                    0x3f800000 + generator.getrandbits(26))
            words.append(word | signs if at != FLAGS_AT // 8 else 2)
        yield b"".join(word.to_bytes(8, "little") for word in words)


def multiply(machine, a, b, width, signed):
    extend = t.sign_extend if signed else t.zero_extend
    return t.term(extend(a, width, 128), 128) * t.term(extend(b, width, 128), 128)


class NoImage:
    instructions, following = {}, {}

    def constant(self, address, size):
        return None


def model(text, state, unknown):
    """The machine after the instruction; `unknown` collects {id: (variable, number)}, None for
    numbers."""
    from machine import Flags
    import instructions
    t.forget()
    m = Machine(NoImage())
    m.multiply = multiply
    m.forget(())

    def word(at, name):
        number = int.from_bytes(state[at:at + 8], "little")
        if unknown is None:
            return number
        v = z3.BitVec(f"{name}", 64)
        unknown[v.get_id()] = v, number
        return v
    for v in range(VECTORS):
        m.vectors[v] = [c for k in range(8) for c in t.to_cells(
            word(64 * v + 8 * k, f"v{v}.{k}"), 64)]
    for k in range(MASKS):
        m.masks[f"k{k + 1}"] = int.from_bytes(state[MASK_AT + 8 * k:MASK_AT + 8 * k + 8], "little")
    for k, r in enumerate(POOL):
        m.general[r] = word(GENERAL_AT + 8 * k, r)
    m.general["rsi"] = 0x1000
    for k in range(8):
        for i, c in enumerate(t.to_cells(word(MEMORY_AT + 8 * k, f"m{k}"), 64)):
            m.memory[0x1000 + 8 * k + i] = c
    m.free = [(0x1000, 0x1040)]
    m.flags = Flags(1, 64, bool(state[FLAGS_AT] & 1))
    instructions.execute(m, Instruction(0, text))
    return m


def value(v, unknown):
    if isinstance(v, (int, bool)):
        return int(v)
    if v.get_id() in unknown:
        return unknown[v.get_id()][1]
    result = z3.simplify(z3.substitute(v, *((variable, z3.BitVecVal(number, 64))
                                            for variable, number in unknown.values())))
    if z3.is_bool(result):
        return int(z3.is_true(result))
    return result.as_long()


def differences(text, case, seed):
    """What the model and the processor differ in."""
    for state in states(seed, FLOATING.match(text)):
        room = ctypes.create_string_buffer(SIZE + 64)
        start = -ctypes.addressof(room) % 64  # aligned accesses are among the instructions
        ctypes.memmove(ctypes.addressof(room) + start, state, SIZE)
        case(ctypes.c_void_p(ctypes.addressof(room) + start))
        after = room.raw[start:start + SIZE]
        unknown = {}
        try:
            m = model(text, state, unknown)
        except (Refused, TypeError, AttributeError):
            unknown = None
            m = model(text, state, None)
        if t.APPLIED:  # floats and AES are compared on numbers
            unknown, m = {}, model(text, state, None)
        unknown = unknown or {}
        expected = [(f"zmm{v}", 64 * v + 8 * k, t.from_cells(m.vectors[v][8 * k:8 * k + 8]))
                    for v in range(VECTORS) for k in range(8)]
        expected += [(r, GENERAL_AT + 8 * k, m.general[r]) for k, r in enumerate(POOL)]
        expected += [(f"k{k + 1}", MASK_AT + 8 * k, m.masks[f"k{k + 1}"]) for k in range(MASKS)]
        expected += [("memory", MEMORY_AT + 8 * k, t.from_cells(
            [m.memory[0x1000 + 8 * k + i] for i in range(8)])) for k in range(8)]
        for name, at, v in expected:
            found = int.from_bytes(after[at:at + 8], "little")
            if value(v, unknown) != found:
                yield f"{text}: {name} is {found:#x}, the model says {value(v, unknown):#x}"
        name = text.split()[0]
        if name in ARITHMETIC or name in TESTS or name == "imul" and "," in text:
            flags = int.from_bytes(after[FLAGS_AT:FLAGS_AT + 8], "little")
            known = (("b", 0), ("e", 6), ("s", 7), ("o", 11))
            known = known[3:] if name == "imul" else known[:2] if name in TESTS else known
            for code, bit in known:
                if value(m.flags.condition(code), unknown) != flags >> bit & 1:
                    yield f"{text}: condition '{code}' differs"


def check(raws, folder, seed=1):
    """(instructions compared, instructions not compared, differences found)."""
    texts = sorted({text for text in map(normal, raws) if text} | {"add rax,rcx"})
    if not processor_has_all():
        return 0, texts, []
    library = assemble(texts, folder)
    found = []
    for i, text in enumerate(texts):
        found += list(differences(text, library[f"case{i}"], seed + i))[:3]
    addition = library[f"case{texts.index('add rax,rcx')}"]
    if not list(differences("sub rax,rcx", addition, seed)):
        found.append("a model that subtracts where the processor adds is not found")
    return len(texts), [], found
