"""Compares the model of every instruction that the proofs executed with qemu's processor.

Of instructions that differ in the numbers of registers and in the displacement only, one is compared, as it
stands in the code: all general registers, vectors, flags and the memory around its operands are loaded, it is
executed, and all of them are stored; of a branch also whether it is taken. sp, and the registers of a memory
operand, point into that memory. The model executes the same on unknowns (on numbers where it needs them); the
state then stands for the unknowns. Jumps, calls, returns and adrp are not compared."""

import functools
import itertools
import random
import re
import shutil
import subprocess

import z3

import pool
import terms as t
from hardware import FAILURES, float_states, pack
from machine import Refused
from run import variables

from .decoding import CONDITIONS, GENERAL, Instruction
from .execution import execute
from .flags import Flags
from .processor import AArch64

TOOLS = "aarch64-linux-gnu-as", "aarch64-linux-gnu-ld", "qemu-aarch64"
NOT_COMPARED = re.compile(r"(b|bl|br|blr|ret|nop|prfm|adr|adrp|brk|udf)\b(?!\.)")
FLOATING = re.compile(r"f|scvtf")
VECTORS = 32
# A record: the vectors, the general registers, the flags, whether a branch was taken, which case; memory.
GENERAL_AT, FLAGS_AT, TAKEN_AT, CASE_AT, STATE, ROOM = 512, 768, 776, 784, 1024, 1024
RECORD, MEMORY = 0x10000000, 0x10000000 + STATE
WORDS = (STATE + ROOM) // 8
# What the processor executes, and a wrong model of it: the comparison must tell them apart.
WRONG = [
    ("add x0, x1, x2", "sub x0, x1, x2"),
    ("add w0, w1, w2", "add x0, x1, x2"),
    ("add x0, x1, w2, uxtw #2", "add x0, x1, w2, sxtw #2"),
    ("and w0, w1, w2, asr #31", "and w0, w1, w2, lsr #31"),
    ("subs x0, x1, x2", "sub x0, x1, x2"),
    ("cmp x0, x1", "cmn x0, x1"),
    ("cmp x0, x1", "cmp w0, w1"),
    ("ccmp x0, x1, #0x2, ls", "ccmp x0, x1, #0x0, ls"),
    ("ccmp x0, x1, #0x0, ls", "ccmp x0, x1, #0x0, cc"),
    ("tst x0, #0xf", "ands x0, x0, #0xf"),
    ("cset w0, hi", "cset w0, cs"),
    ("csel x0, x1, x2, ge", "csel x0, x1, x2, pl"),
    ("msub w0, w1, w2, w3", "madd w0, w1, w2, w3"),
    ("udiv w0, w1, w2", "sdiv w0, w1, w2"),
    ("movk x0, #0x1234, lsl #16", "mov x0, #0x12340000"),
    ("ldr x0, [x1, x2, lsl #3]", "ldr x0, [x1, x2]"),
    ("ldr q0, [x1], #16", "ldr q0, [x1, #16]!"),
    ("ldr q0, [x1], #16", "ldr q0, [x1]"),
    ("ldrsh w0, [x1]", "ldrh w0, [x1]"),
    ("ldrsw x0, [x1]", "ldr w0, [x1]"),
    ("strb w0, [x1, x2]", "strh w0, [x1, x2]"),
    ("stp x0, x1, [sp, #-32]!", "stp x0, x1, [sp, #-32]"),
    ("ldp q0, q1, [x0]", "ldp q1, q0, [x0]"),
    ("str d0, [x0]", "str q0, [x0]"),
    ("ldr d0, [x0]", "mov v0.d[0], v1.d[0]"),
    ("cbz w0, 1f", "cbz x0, 1f"),
    ("tbnz x0, #3, 1f", "tbz x0, #3, 1f"),
    ("b.hi 1f", "b.cs 1f"),
    ("uxtl v0.8h, v1.8b", "sxtl v0.8h, v1.8b"),
    ("uxtl2 v0.8h, v1.16b", "uxtl v0.8h, v1.8b"),
    ("usubw2 v0.4s, v1.4s, v2.8h", "uaddw2 v0.4s, v1.4s, v2.8h"),
    ("mls v0.4s, v1.4s, v2.4s", "mla v0.4s, v1.4s, v2.4s"),
    ("sdot v0.4s, v1.16b, v2.4b[1]", "sdot v0.4s, v1.16b, v2.4b[0]"),
    ("sdot v0.4s, v1.16b, v2.16b", "udot v0.4s, v1.16b, v2.16b"),
    ("cmlt v0.4s, v1.4s, #0", "cmle v0.4s, v1.4s, #0"),
    ("uzp1 v0.8h, v1.8h, v2.8h", "zip1 v0.8h, v1.8h, v2.8h"),
    ("ext v0.16b, v1.16b, v2.16b, #4", "ext v0.16b, v2.16b, v1.16b, #4"),
    ("fmov w0, s1", "fmov x0, d1"),
    ("fmov s0, w1", "mov v0.s[0], w1"),
    ("xtn2 v0.8h, v1.4s", "xtn v0.4h, v1.4s"),
    ("lsl x0, x1, x2", "lsl w0, w1, w2"),
    ("cinc x0, x1, cc", "cinc x0, x1, ls"),
    ("ld1r {v0.16b}, [x1]", "ld1r {v0.8b}, [x1]"),
    ("ld1 {v0.16b, v1.16b}, [x1]", "ldp q1, q0, [x1]"),
    ("st1 {v0.16b, v1.16b}, [x0]", "stp q1, q0, [x0]"),
    ("ld1 {v0.s}[1], [x1]", "ld1 {v0.s}[2], [x1]"),
    ("ld1 {v0.s}[0], [x1]", "ldr s0, [x1]"),
    ("sshl v0.4s, v1.4s, v2.4s", "sshl v0.8h, v1.8h, v2.8h"),
    ("fadd v0.2d, v1.2d, v2.2d", "fsub v0.2d, v1.2d, v2.2d"),
    ("fmul s0, s1, s2", "fmul v0.2s, v1.2s, v2.2s"),
    ("fdiv d0, d1, d2", "fdiv d0, d2, d1"),
    ("fcvtl2 v0.2d, v1.4s", "fcvtl v0.2d, v1.2s"),
    ("fcvtn2 v0.4s, v1.2d", "fcvtn v0.2s, v1.2d"),
    ("scvtf d0, x1", "scvtf d0, w1"),
    ("fmov d0, #-1.0", "fmov d0, #1.0"),
    ("fcmpe s0, s1", "fcmpe s1, s0"),
    ("fcmpe d0, d1", "fcmpe s0, s1"),
    ("fmla v0.2d, v1.2d, v2.2d", "fmls v0.2d, v1.2d, v2.2d"),
    ("fmls v0.2d, v1.2d, v2.d[0]", "fmls v0.2d, v1.2d, v2.d[1]"),
    ("fnmul s0, s1, s2", "fmul s0, s1, s2"),
    ("fneg v0.2d, v1.2d", "fneg v0.4s, v1.4s"),
    ("fcmgt v0.2d, v1.2d, v2.2d", "fcmgt v0.2d, v2.2d, v1.2d"),
    ("fcvtzs w0, d1", "fmov w0, s1"),
    ("ld2 {v0.8h, v1.8h}, [x1]", "ld1 {v0.8h, v1.8h}, [x1]"),
]


def is_absent():
    return any(shutil.which(tool) is None for tool in TOOLS)


# --- which instructions --------------------------------------------------------------------------

def plain(raw):
    """The instruction without comment, a branch to 1f; None if it is not compared."""
    text = " ".join(raw.partition("//")[0].split())
    return None if NOT_COMPARED.match(text) else re.sub(r"[0-9a-f]+ <.*>$", "1f", text)


def form(text):
    """The instruction with its registers numbered as they occur, and no displacement's value."""
    renamed = {}

    def number(match):
        kind = "v" if match[1] in "vqdshb" else "x"
        renamed.setdefault((kind, match[2]), len(renamed))
        return f"{match[1]}{renamed[kind, match[2]]}"
    name, _, rest = text.partition(" ")
    return f"{name} " + re.sub(r"\b([xwvqdshb])(\d+)\b", number, re.sub(r", #-?\w+\](!?)", r", D]\1", rest))


def one_of_each(raws):
    """{form: the first instruction of it}"""
    forms = {}
    for text in sorted({text for text in map(plain, raws) if text}):
        forms.setdefault(form(text), text)
    return forms


# --- the processor -------------------------------------------------------------------------------

LOAD = [f"ldp q{v}, q{v + 1}, [x0, #{16 * v}]" for v in range(0, VECTORS, 2)] + [
    f"ldr x1, [x0, #{FLAGS_AT}]", "msr nzcv, x1", f"ldr x1, [x0, #{GENERAL_AT + 8 * 31}]", "mov sp, x1",
    *(f"ldr x{k}, [x0, #{GENERAL_AT + 8 * k}]" for k in range(1, 31)), f"ldr x0, [x0, #{GENERAL_AT}]"]
# x0 is kept in a register of the system's meanwhile.
SAVE = ["msr tpidr_el0, x0", f"mov x0, #{RECORD}",
        *(f"str x{k}, [x0, #{GENERAL_AT + 8 * k}]" for k in range(1, 31)),
        "mrs x1, tpidr_el0", f"str x1, [x0, #{GENERAL_AT}]", "mov x1, sp",
        f"str x1, [x0, #{GENERAL_AT + 8 * 31}]", "mrs x1, nzcv", f"str x1, [x0, #{FLAGS_AT}]",
        *(f"stp q{v}, q{v + 1}, [x0, #{16 * v}]" for v in range(0, VECTORS, 2))]


def program(texts):
    """One that reads records from its input and writes each back as the case that it names leaves it."""
    lines = ['.section .record,"aw"', f".zero {STATE + ROOM}", ".text", ".globl _start", "_start:",
             "mov x0, #0", f"mov x1, #{RECORD}", f"mov x2, #{STATE + ROOM}", "mov x8, #63", "svc #0",
             "cbz x0, .Lend", f"mov x0, #{RECORD}", f"ldr x1, [x0, #{CASE_AT}]", "adr x2, .Lcases",
             "ldr x1, [x2, x1, lsl #3]", "br x1",
             ".Lend:", "mov x0, #0", "mov x8, #93", "svc #0",
             ".Ldone:", f"mov x0, #{RECORD}", f"str x1, [x0, #{TAKEN_AT}]",
             "mov x0, #1", f"mov x1, #{RECORD}", f"mov x2, #{STATE + ROOM}", "mov x8, #64", "svc #0",
             "b _start", ".balign 8", ".Lcases:", *(f".quad .Lcase{i}" for i in range(len(texts)))]
    for i, text in enumerate(texts):
        lines += [f".Lcase{i}:", *LOAD, text, *SAVE, "mov x1, #0", "b .Ldone"]
        if "1f" in text:
            lines += ["1:", *SAVE, "mov x1, #1", "b .Ldone"]
    return "\n".join(lines) + "\n"


class Processor:
    def __init__(self, texts, folder):
        self.path = folder / "cases"
        source, target = folder / "cases.s", folder / "cases.o"
        source.write_text(program(texts))
        subprocess.run([TOOLS[0], "-march=armv8.2-a+dotprod", "-o", target, source], check=True)
        subprocess.run([TOOLS[1], "-Ttext=0x400000", f"--section-start=.record={RECORD:#x}", "-o", self.path,
                        target], check=True)

    def execute(self, records):
        """[words after] of [(case, words before)]."""
        sent = b"".join(pack([*words[:CASE_AT // 8], case, *words[CASE_AT // 8 + 1:]])
                        for case, words in records)
        after = subprocess.run([TOOLS[2], "-cpu", "max", self.path], input=sent, capture_output=True,
                               check=True).stdout
        if len(after) != len(sent):
            raise ValueError(f"qemu executed {len(after) // (8 * WORDS)} of {len(records)} cases")
        return [[int.from_bytes(after[at:at + 8], "little") for at in range(first, first + 8 * WORDS, 8)]
                for first in range(0, len(after), 8 * WORDS)]


# --- states --------------------------------------------------------------------------------------

CORNERS = [0, (1 << 64) - 1, 1 << 63, 1 << 32, (1 << 63) - 1, (1 << 31) - 1, 1 << 31,
           0x80008000 * ((1 << 32) + 1), 0x7fff7fff7fff7fff, 0x8080808080808080, 0x7f7f7f7f80808080]


@functools.cache
def states():
    """Words that are 0, -1, the least, the greatest; any; small ones."""
    generator = random.Random(1)
    kinds = [lambda: generator.choice(CORNERS), lambda: generator.getrandbits(64),
             lambda: generator.randrange(72) | generator.randrange(40) << 32,
             lambda: kinds[generator.randrange(3)]()]
    return [[kinds[k % 4]() for _ in range(WORDS)] for k in range(32)]


class Case:
    """An instruction, and states in which the processor can execute it."""

    def __init__(self, text, seed):
        self.text, self.seed = text, seed
        self.memory = next((o for o in decoded(text).operands if o.kind == "memory"), None)
        self.pointers = {"sp"} | {part.register for part in (self.memory.parts if self.memory else ())
                                  if part.kind == "general"}

    def states(self):
        generator = random.Random(self.seed)
        for k in range(len(states()) if "1f" in self.text else 8):  # a branch has less to show in each
            yield self.prepared(states()[(8 * self.seed + k) % len(states())], generator, k)
        for k, words in enumerate(float_states() if FLOATING.match(self.text) else ()):
            yield self.prepared(words[:WORDS], generator, k)

    def prepared(self, words, generator, k):
        """`words` with all that points into the memory."""
        words = list(words)
        words[FLAGS_AT // 8] = generator.randrange(16) << 28
        words[index("sp")] = MEMORY + 512
        if self.memory and self.memory.parts[0].register != "sp":
            base, *more = self.memory.parts
            at = MEMORY + 512 + generator.randrange(64)
            for part in more:
                if part.kind == "immediate":
                    at -= part.value
                else:
                    number = generator.randrange(-8, 9) if part.width == 64 or (part.modifier or "u")[0][
                        0] == "s" else generator.randrange(9)
                    high = generator.getrandbits(32) << 32 if part.width == 32 else 0
                    words[index(part.register)] = number & t.mask(part.width) | high
            words[index(base.register)] = at
        if self.text.startswith(("sdiv", "udiv")) and k % 2:  # small ones too
            words[index(decoded(self.text).operands[2].register)] &= 0xff000000ff
        return words


def index(name):
    """The place of a general register in the words of a state."""
    return GENERAL_AT // 8 + GENERAL.index(name)


def decoded(text):
    return Instruction(0, re.sub(r"\b1f$", "10", text))


# --- the model -----------------------------------------------------------------------------------

UNKNOWNS = [z3.BitVec(f"word{k}", 64) for k in range(WORDS)]
PLACE = {v.get_id(): k for k, v in enumerate(UNKNOWNS)}
UNKNOWN_CELLS = [cell for v in UNKNOWNS for cell in t.to_cells(v, 64)]
FLAG_BITS = {"mi": 31, "eq": 30, "cs": 29, "vs": 28}


def multiply(machine, a, b, width, signed):
    extend = t.sign_extend if signed else t.zero_extend
    return t.term(extend(a, width, 128), 128) * t.term(extend(b, width, 128), 128)


class NoImage:
    instructions, following, function_of = {}, {}, {}

    def constant(self, address, size):
        return None


class Model:
    """A machine with a state: of unknowns but for pointers, or of numbers."""

    def __init__(self, words, pointers, of_numbers):
        t.forget()
        self.words = words
        known = words if of_numbers else UNKNOWNS
        self.cells = list(pack(words)) if of_numbers else UNKNOWN_CELLS
        m = self.machine = AArch64(NoImage())
        m.multiply = multiply
        self.vectors = [self.cells[16 * v:16 * v + 16] for v in range(VECTORS)]
        m.vectors = list(self.vectors)
        m.general = {r: (words if r in pointers else known)[index(r)] for r in GENERAL}
        m.memory = dict(enumerate(self.cells[STATE:], MEMORY))
        m.free = [(MEMORY, MEMORY + ROOM)]
        word = known[FLAGS_AT // 8]
        m.flags = Flags(*(t.compare("eq", t.extract(word, bit, 1), 1, 1) for bit in (31, 30, 29, 28)))
        self.taken = False

    def execute(self, text):
        i = decoded(text)
        if i.flow == "branch":
            self.taken = self.machine.branches(i)
        else:
            execute(self.machine, i)

    def value(self, v):
        if isinstance(v, (int, bool)):
            return int(v)
        if v.get_id() in PLACE:
            return self.words[PLACE[v.get_id()]]
        pairs = [(u, z3.BitVecVal(self.words[PLACE[u.get_id()]], 64)) for u in variables(v)]
        v = z3.simplify(z3.substitute(v, *pairs))
        return int(z3.is_true(v)) if z3.is_bool(v) else v.as_long()

    def after(self):
        """({place: name}, words): all but the flags."""
        m, names, words = self.machine, {}, list(self.words)
        found = [(f"v{v}", 2 * v + k, t.from_cells(cells[8 * k:8 * k + 8]))
                 for v, cells in enumerate(m.vectors) if cells is not self.vectors[v] for k in range(2)]
        found += [(r, index(r), v) for r, v in m.general.items()]
        for at in range(0, ROOM, 8):
            cells = [m.memory[MEMORY + at + i] for i in range(8)]
            if any(new is not old for new, old in zip(cells, self.cells[STATE + at:])):
                found.append((f"memory {at}", (STATE + at) // 8, t.from_cells(cells)))
        for name, at, v in [*found, ("taken", TAKEN_AT // 8, self.taken)]:
            names[at], words[at] = name, self.value(v)
        return names, words

    def conditions(self):
        return {code: self.value(self.machine.flags.condition(code)) for code in sorted(CONDITIONS)}


def modelled(text, case, words):
    """The model after an instruction, of unknowns if it can."""
    for of_numbers in (False, True):
        try:
            model = Model(words, case.pointers, of_numbers)
            model.execute(text)
            return *model.after(), model.conditions()
        except FAILURES as failure:
            if of_numbers:
                raise Refused(f"{type(failure).__name__}: {failure}") from None


def expected_conditions(word):
    n, z, c, v = (word >> bit & 1 for bit in (31, 30, 29, 28))
    held = {"eq": z, "cs": c, "mi": n, "vs": v, "hi": c & (1 - z), "ge": 1 - (n ^ v),
            "gt": (1 - z) & (1 - (n ^ v)), "al": 1}
    opposite = {"ne": "eq", "cc": "cs", "pl": "mi", "vc": "vs", "ls": "hi", "lt": "ge", "le": "gt"}
    return held | {code: 1 - held[other] for code, other in opposite.items()}


# --- the comparison ------------------------------------------------------------------------------

def differences(case, text, executed):
    """What the processor and the model differ in; `text`: what the model executes; `executed`: [(words
    before, words after)]."""
    for words, after in executed:
        try:
            names, expected, conditions = modelled(text, case, words)
        except Refused as refused:
            yield f"{text}: the model refuses, {refused}"
            return
        held = expected_conditions(after[FLAGS_AT // 8])
        yield from (f"{text}: condition '{code}' differs" for code, v in conditions.items()
                    if v != held[code])
        for at in (FLAGS_AT // 8, CASE_AT // 8):
            after[at] = expected[at]
        yield from (f"{text}: {names.get(at, f'word {at}')} is {a:#x}, the model says {b:#x}"
                    for at, (a, b) in enumerate(zip(after, expected)) if a != b)


def check(raws, folder, jobs):
    """(instructions compared, differences found), in `jobs` processes."""
    texts = list(one_of_each(raws).values())
    pairs = [(text, text) for text in texts] + WRONG
    cases = [Case(text, number) for own in (pairs[:len(texts)], WRONG)
             for number, (text, _) in enumerate(own)]
    before = [(number, words) for number, case in enumerate(cases) for words in case.states()]
    after = Processor([text for text, _ in pairs], folder).execute(before)
    executed = {}
    for (number, words), found in zip(before, after):
        executed.setdefault(number, []).append((words, found))

    def compared(first):
        found = []
        for number in range(first, len(pairs), jobs):
            text, model = pairs[number]
            differ = list(itertools.islice(differences(cases[number], model, executed[number]), 3))
            if text == model:
                found += differ
            elif not differ:
                found.append(f"a model of '{text}' that does '{model}' is not found")
        return found
    parts = pool.results([functools.partial(compared, first) for first in range(jobs)], jobs)
    found = [difference for part in parts
             for difference in (["a comparison was not carried out"] if part is None else part)]
    return len(texts), found
