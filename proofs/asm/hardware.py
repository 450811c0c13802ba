"""Compares the model of every instruction that the proofs executed with this processor.

Of instructions that differ in the numbers of registers and in the displacement only, one is
compared, as it stands in the code: all general registers, vectors, masks, flags and the memory around
its operands are loaded, it is executed, and all of them are stored. rsp, and the registers of a memory
operand, point into that memory. The model executes the same on unknowns (masks, or everything, on
numbers where it needs them); the state then stands for the unknowns. Jumps, calls and returns are
not compared, the conditions that decide them are. A processor without AVX-512 executes what code
of other backends consists of, on 16 vectors of 32 bytes and no masks."""

import ctypes
import functools
import itertools
import os
import random
import re
import resource
import signal
import subprocess

import z3

import pool
import terms as t
from instructions.decoding import GENERAL, REGISTERS, Instruction
from instructions.execution import execute
from instructions.flags import Flags
from instructions.processor import X86
from machine import Refused
from run import variables

NOT_COMPARED = re.compile(r"j\w+|call|ret|nop|endbr64")
# Whether a misaligned address faults depends on the processor and on the model: tried.
ALIGNED = re.compile(r"^v?mov(dqa|ap|nt)|^[^v].*\bXMMWORD PTR")
FLOATING = re.compile(
    r"v?(cvt|u?comis|cmp\w*[ps][sd]\b|round|sqrt|fn?m(add|sub)|(add|sub|mul|div|max)[ps][sd])")
NEEDS = {"avx2", "fma", "aes"}
WIDE_NEEDS = NEEDS | {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vbmi", "avx512_vnni",
                      "avx512_vbmi2", "vaes"}
WIDE = re.compile(r"\bzmm\d|\bk[0-7]\b|cvtusi")  # in the instructions of WRONG
VECTORS, MASKS = 32, 8
MASK_AT, GENERAL_AT, FLAGS_AT, STATE = 2048, 2112, 2240, 2304  # of a state, behind its vectors
ROOM = 1024  # bytes of memory, behind the state
MARGIN = 1 << 16  # bytes around the memory, for a signal's handler, since rsp points into it
CONDITIONS = {"b": lambda c, z, s, o, p: c, "e": lambda c, z, s, o, p: z, "s": lambda c, z, s, o, p: s,
              "o": lambda c, z, s, o, p: o, "p": lambda c, z, s, o, p: p, "be": lambda c, z, s, o, p: c | z,
              "l": lambda c, z, s, o, p: s ^ o, "le": lambda c, z, s, o, p: z | s ^ o}
CONDITIONS |= {negated: lambda *flags, of=of: 1 - CONDITIONS[of](*flags) for negated, of in (
    ("ae", "b"), ("ne", "e"), ("ns", "s"), ("no", "o"), ("np", "p"), ("a", "be"), ("ge", "l"), ("g", "le"))}
# What the processor executes, and a wrong model of it: the comparison must tell them apart.
WRONG = [
    ("add rax,rcx", "sub rax,rcx"),
    ("vzeroupper", "nop"),
    ("vzeroupper", "vpxor xmm3,xmm3,xmm3"),
    ("mov rax,QWORD PTR [rbx+rcx*8-0x40]", "mov rax,QWORD PTR [rbx+rcx*4-0x40]"),
    ("mov rax,QWORD PTR [rbx+rcx*8-0x40]", "mov rax,QWORD PTR [rbx+rcx*8+0x40]"),
    ("mov eax,DWORD PTR [rsp+0x18]", "mov eax,DWORD PTR [rsp+0x10]"),
    ("lea rax,[rbx+rcx*2]", "lea rax,[rbx+rcx*1]"),
    ("lea eax,[rbx+rcx*1]", "lea rax,[rbx+rcx*1]"),
    ("push rax", "mov QWORD PTR [rsp-0x8],rax"),
    ("pop rbx", "mov rbx,QWORD PTR [rsp]"),
    ("pop rbx", "lea rsp,[rsp+0x8]"),
    ("leave", "pop rbp"),
    ("xchg rax,rbx", "mov rax,rbx"),
    ("xchg cx,ax", "xchg ax,ax"),
    ("rep stos QWORD PTR es:[rdi],rax", "stos QWORD PTR es:[rdi],rax"),
    ("rep stos QWORD PTR es:[rdi],rax", "rep stos DWORD PTR es:[rdi],eax"),
    ("rep movs QWORD PTR es:[rdi],QWORD PTR ds:[rsi]", "rep stos QWORD PTR es:[rdi],rax"),
    ("div rbx", "div ebx"),
    ("inc rax", "add rax,0x1"),
    ("shl rax,0x3", "lea rax,[rax*8+0x0]"),
    ("movdqa xmm0,XMMWORD PTR [rax]", "movdqu xmm0,XMMWORD PTR [rax]"),
    ("paddd xmm0,XMMWORD PTR [rax]", "vpaddd xmm0,xmm0,XMMWORD PTR [rax]"),
    ("vpscatterdd DWORD PTR [rax+zmm1*1]{k1},zmm2", "vpscatterdd DWORD PTR [rax+zmm1*2]{k1},zmm2"),
    ("kxnorw k1,k2,k3", "kxorw k1,k2,k3"),
    ("psubusb xmm0,xmm1", "psubb xmm0,xmm1"),
    ("vprolq zmm0,zmm1,0x3", "vprorq zmm0,zmm1,0x3"),
    ("vpsllvq ymm0,ymm1,ymm2", "vpsllvd ymm0,ymm1,ymm2"),
    ("vpternlogq zmm0,zmm1,zmm2,0xb4", "vpternlogq zmm0,zmm2,zmm1,0xb4"),
    ("cmpltpd xmm0,xmm1", "cmpltpd xmm1,xmm0"),
    ("cmpnltps xmm0,xmm1", "cmpltps xmm0,xmm1"),
    ("vmaxps ymm0,ymm1,ymm2", "vmaxps ymm0,ymm2,ymm1"),
    ("vmaxss xmm0,xmm1,xmm2", "vmaxps xmm0,xmm1,xmm2"),
    ("vblendvps ymm0,ymm1,ymm2,ymm3", "vblendvps ymm0,ymm2,ymm1,ymm3"),
    ("vpblendvb ymm0,ymm1,ymm2,ymm3", "vpblendvb ymm0,ymm2,ymm1,ymm3"),
    ("vpblendmd zmm0{k1},zmm1,zmm2", "vpblendmd zmm0{k1},zmm2,zmm1"),
    ("vinsertps xmm0,xmm1,xmm2,0xe", "vinsertps xmm0,xmm1,xmm2,0xd"),
    ("vfmadd231pd ymm0,ymm1,ymm2", "vfmadd132pd ymm0,ymm1,ymm2"),
    ("vfnmadd231pd ymm0,ymm1,ymm2", "vfmadd231pd ymm0,ymm1,ymm2"),
    ("vpmovsdw ymm1,zmm2", "vpmovdw ymm1,zmm2"),
    ("vcvtdq2pd ymm0,xmm1", "vcvtps2pd ymm0,xmm1"),
    ("vcvtsi2ss xmm0,xmm1,rcx", "vcvtsi2ss xmm0,xmm1,ecx"),
    ("vcvtusi2sd xmm0,xmm1,rcx", "vcvtsi2sd xmm0,xmm1,rcx"),
    ("vcvtusi2sd xmm0,xmm1,ecx", "vcvtsi2sd xmm0,xmm1,ecx"),
]


@functools.cache
def flags_of_processor():
    with open("/proc/cpuinfo") as file:
        return set(next((line for line in file if line.startswith("flags")), "").split())


# --- which instructions --------------------------------------------------------------------------

def plain(raw):
    """The instruction without comment and idle prefixes; None if it is not compared."""
    text = re.sub(r"^((cs|data16|notrack|bnd) )+", "", raw.partition("#")[0].strip())
    text = text.replace("fs:0x28", "[rip+0x28]")  # what stands there is not asked
    return None if NOT_COMPARED.match(text) else text


ANY_REGISTER = re.compile(r"\b(?:(%s)|([xyz]mm|k)(\d+))\b" % "|".join(
    sorted(set(REGISTERS) - {"rsp", "esp"}, key=len, reverse=True)))


def form(text):
    """The instruction with its registers numbered as they occur, and no displacement's value."""
    renamed = {}

    def number(match):
        general, kind, digits = match.groups()
        base, low, width = REGISTERS[general] if general else (digits, "", kind)
        of = "general" if general else kind[-1]
        renamed.setdefault((of, base), len(renamed))
        return f"{of}{renamed[of, base]}.{low}.{width}"
    return ANY_REGISTER.sub(number, re.sub(r"([+-])0x[1-9a-f][0-9a-f]*\]", r"\1D]", text))


def one_of_each(raws):
    """{form: the first instruction of it}"""
    forms = {}
    for text in sorted({text for text in map(plain, raws) if text}):
        forms.setdefault(form(text), text)
    return forms


# --- the processor -------------------------------------------------------------------------------

def assemble(texts, folder, wide):
    """A library whose `enter(case)` loads `state`, executes the instruction and stores the state.
    `wide`: with AVX-512; else the state has places that are neither loaded nor stored."""
    move, kind, count = ("vmovdqu64", "zmm", VECTORS) if wide else ("vmovdqu", "ymm", VECTORS // 2)
    vectors = [(f"{kind}{v}", f".Lstate+{64 * v}") for v in range(count)]
    masks = [(f"k{k}", f".Lstate+{MASK_AT + 8 * k}") for k in range(MASKS if wide else 0)]
    general = [(r, f".Lstate+{GENERAL_AT + 8 * k}") for k, r in enumerate(GENERAL)]
    kept = ["rbx", "rbp", "r12", "r13", "r14", "r15"]
    lines = [".intel_syntax noprefix", ".data", ".balign 64", ".globl state, memory, cases, enter",
             "state:", ".Lstate:", f".zero {STATE}", ".Lcase: .quad 0", ".Lstack: .quad 0",
             "cases:", *(f".quad .Lcase{i}" for i in range(len(texts))),
             f".zero {MARGIN}", ".balign 64", "memory:", ".Lmemory:", f".zero {ROOM + MARGIN}",
             ".text", "enter:", *(f"push {r}" for r in kept),
             "mov [rip+.Lcase], rdi", "mov [rip+.Lstack], rsp",
             *(f"{move} {v}, [rip+{at}]" for v, at in vectors),
             *(f"kmovq {k}, [rip+{at}]" for k, at in masks),
             f"push qword ptr [rip+.Lstate+{FLAGS_AT}]", "popfq",
             *(f"mov {r}, [rip+{at}]" for r, at in general), "jmp [rip+.Lcase]",
             ".Lleave:", *(f"mov [rip+{at}], {r}" for r, at in general), "mov rsp, [rip+.Lstack]",
             "pushfq", f"pop qword ptr [rip+.Lstate+{FLAGS_AT}]",
             *(f"{move} [rip+{at}], {v}" for v, at in vectors),
             *(f"kmovq [rip+{at}], {k}" for k, at in masks),
             "vzeroupper", *(f"pop {r}" for r in reversed(kept)), "ret"]
    for i, text in enumerate(texts):
        at = f"[rip+.Lmemory+{ROOM // 4}]"
        lines += [f".Lcase{i}:", re.sub(r"\[rip[^\]]*\]", at, text), "jmp .Lleave"]
    lines.append(".section .note.GNU-stack")
    source, library = folder / "cases.s", folder / "cases.so"
    source.write_text("\n".join(lines) + "\n")
    subprocess.run(["gcc", "-shared", "-o", library, source], check=True)
    return Processor(ctypes.CDLL(str(library)), len(texts), wide)


class Processor:
    def __init__(self, library, count, wide):
        def at(name):
            return ctypes.addressof(ctypes.c_char.in_dll(library, name))
        self.state, self.memory, self.enter = at("state"), at("memory"), library.enter
        self.cases = list((ctypes.c_uint64 * count).in_dll(library, "cases"))
        self.stored = range(WORDS) if wide else {  # places of words
            *(8 * v + k for v in range(VECTORS // 2) for k in range(4)), *range(GENERAL_AT // 8, WORDS)}

    def execute(self, case, before):
        """The state and the memory after the instruction."""
        ctypes.memmove(self.state, before[:STATE], STATE)
        ctypes.memmove(self.memory, before[STATE:], ROOM)
        self.enter(ctypes.c_void_p(self.cases[case]))
        return ctypes.string_at(self.state, STATE) + ctypes.string_at(self.memory, ROOM)

    def faults(self, case, before):
        """Whether the instruction does; in a process of its own, which it ends."""
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            for number in (signal.SIGSEGV, signal.SIGBUS):
                signal.signal(number, signal.SIG_DFL)
            self.execute(case, before)
            os._exit(0)
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])


# --- states --------------------------------------------------------------------------------------

WORDS = (STATE + ROOM) // 8
CORNERS = [0, (1 << 64) - 1, 1 << 63, (1 << 63) - 1, (1 << 31) - 1, (1 << 61) - 1, 0x80008000 * (
    (1 << 32) + 1), 0x7fff7fff7fff7fff, 0x8080808080808080]


@functools.cache
def states():
    """Words that are 0, -1, the least, the greatest, moduli; any; counts and places of lanes."""
    generator = random.Random(1)

    def small():
        return generator.randrange(72) | generator.randrange(40) << 32
    kinds = [lambda: generator.choice(CORNERS), lambda: generator.getrandbits(64), small,
             lambda: kinds[generator.randrange(3)]()]
    return [[kinds[k % 4]() for _ in range(WORDS)] for k in range(32)]


@functools.cache
def float_states():
    """The same of floats: zeros, least, greatest, infinite, NaNs of both kinds, halves, and numbers
    near each other."""
    generator = random.Random(2)
    corners = [0, 1, 0x7fffff, 0x800000, 0x3f800000, 0x3f000000, 0x3fc00000, 0x40200000, 0x4b400000,
               0x4f000000, 0x7f7fffff, 0x7f800000, 0x7fc00001, 0x7fa00000]
    wide = [0, 1, 1 << 52, 0x3ff << 52, 0x47efffffe0000000, 0x47efffffefffffff, 0x47effffff0000000,
            0x3690000000000000, 0x3690000000000001, 0x36a8000000000000, 0x7ff << 52,
            0x7fefffffffffffff, 0x7ff8000000000001, 0x7ff4000000000000]
    wide.append((1 << 62) + (1 << 38) + 1)  # an integer, in binary64 half-way between two of binary32

    def word(k):
        signs = generator.choice((0, 1 << 31, 1 << 63, 1 << 63 | 1 << 31))
        if k < 6:
            return signs | generator.choice(corners) << 32 | generator.choice(corners)
        if k < 12 or k >= GENERAL_AT // 8 and generator.randrange(2):
            return signs | generator.choice(wide)
        return signs | (0x3f800000 + generator.getrandbits(26)) << 32 | (
            0x3f800000 + generator.getrandbits(26))
    return [[word(k) for _ in range(WORDS)] for k in range(16)]


class Case:
    """An instruction, and states in which the processor can execute it."""

    def __init__(self, text, memory, seed):
        self.text, self.words, self.memory, self.seed = text, text.split(), memory, seed
        self.operands = [] if self.words[0] == "lea" else re.findall(r"\[([^\]]*)\]", text)
        self.pointers = {"rsp"}  # general registers that the model needs as numbers
        self.prepared(states()[0], random.Random(seed), 0)  # finds the pointers

    def states(self, aligned):
        """Operands at multiples of 64, or at any place."""
        generator = random.Random(self.seed)
        chosen = [states()[(8 * self.seed + k) % len(states())] for k in range(8)]
        chosen += float_states() if FLOATING.match(self.text) else []
        for k, words in enumerate(chosen):
            fixed = aligned or k % 2 or self.words[0] in ("div", "idiv")  # `prepared` sets a divisor
            beyond = 0 if fixed else generator.randrange(64)
            yield self.prepared(words, generator, beyond)

    def prepared(self, words, generator, beyond):
        """`words` with all that points into the memory, and what division and repetition need."""
        words, name = list(words), self.words[0]
        beyond = 0 if name in ("div", "idiv") else beyond
        words[FLAGS_AT // 8] = words[FLAGS_AT // 8] & 0x8d5 | 2  # the six of arithmetic
        self.put(words, "rsp", self.memory + 704)
        for k, operand in enumerate(self.operands):
            self.point(words, operand, self.memory + 256 * (k + 1) + beyond, generator)
        if name == "leave":
            self.put(words, "rbp", self.memory + 640)
        if name == "rep":
            self.put(words, "rcx", generator.randrange(6))
        if name in ("div", "idiv"):
            width = REGISTERS[self.words[1]][2] if not self.operands else (
                64 if self.words[1] == "QWORD" else 32)
            at = (STATE + 256) // 8 if self.operands else index(REGISTERS[self.words[1]][0])
            words[at] |= 1 << width - 2
            if name == "idiv":
                words[at] &= ~(1 << width - 1)
            words[index("rdx")] = generator.getrandbits(width - 3)
        return words

    def put(self, words, name, number):
        words[index(name)] = number & t.mask(64)
        self.pointers.add(name)

    def point(self, words, operand, target, generator):
        """Registers such that an operand is at `target`, or as little further as a factor needs."""
        displacement, factors = 0, {}
        for sign, number, name, factor in re.findall(
                r"([+-]?)(?:(0x[0-9a-f]+)|(\w+)(?:\*(\d))?)", operand):
            if number:
                displacement += int(sign + number, 16)
            elif "mm" in name:
                self.place_lanes(words, name, generator)
            else:
                factors[name] = factors.get(name, 0) + int(factor or 1)
        if "rip" in factors:
            return
        *bases, last = sorted(factors, key=lambda name: (factors[name], name != "rsp"))
        if bases:
            number = generator.randrange(-8, 9)
            self.put(words, last, number)
            displacement += number * factors[last]
            last, = bases
        while (target - displacement) % factors[last]:
            target += 64 if factors[last] % 2 else 1
        self.put(words, last, (target - displacement) // factors[last])

    def place_lanes(self, words, name, generator):
        """Places near an operand in the lanes of a vector, 4 or 8 bytes each: some are the same."""
        first, several = 8 * int(name[3:]), self.words[0][-2] == "d"
        for k in range(8):
            near = [generator.randrange(-8, 9) for _ in range(1 + several)]
            word = near[0] & t.mask(32) | near[1] << 32 if several else near[0]
            words[first + k] = word & t.mask(64)


def index(name):
    """The place of a general register in the words of a state."""
    return (GENERAL_AT + 8 * GENERAL.index(name)) // 8


# --- the model -----------------------------------------------------------------------------------

UNKNOWNS = [z3.BitVec(f"word{k}", 64) for k in range(WORDS)]
PLACE = {v.get_id(): k for k, v in enumerate(UNKNOWNS)}
UNKNOWN_CELLS = [cell for v in UNKNOWNS for cell in t.to_cells(v, 64)]
FLAG_BITS = {"b": 0, "e": 6, "s": 7, "o": 11, "p": 2}
FAILURES = Refused, TypeError, AttributeError, KeyError, z3.Z3Exception


class Given(Flags):
    """The flags of a word, bit by bit."""

    def __init__(self, word):
        self.word = word
        super().__init__(None, 64, self.condition("b"), self.condition("o"))

    def condition(self, code):
        if code in FLAG_BITS:
            return t.compare("eq", t.extract(self.word, FLAG_BITS[code], 1), 1, 1)
        return super().condition(code)


class NoImage:
    instructions, following = {}, {}

    def constant(self, address, size):
        return None


def multiply(machine, a, b, width, signed):
    extend = t.sign_extend if signed else t.zero_extend
    return t.term(extend(a, width, 128), 128) * t.term(extend(b, width, 128), 128)


class Model:
    """A machine with a state: of unknowns but for pointers (level 0), but for masks too (1), of
    numbers (2)."""

    def __init__(self, words, pointers, memory, level):
        t.forget()
        self.words, self.memory = words, memory
        known = words if level == 2 else UNKNOWNS
        self.cells = list(pack(words)) if level == 2 else UNKNOWN_CELLS
        m = self.machine = X86(NoImage())
        m.multiply = multiply
        m.modulo_2 = bool(sum(words) % 2)  # either way of writing AND, OR, XOR
        self.vectors = [self.cells[64 * v:64 * v + 64] for v in range(VECTORS)]
        m.vectors = list(self.vectors)
        m.masks = {f"k{k}": (words if level else known)[MASK_AT // 8 + k] for k in range(MASKS)}
        m.general = {r: (words if r in pointers else known)[index(r)] for r in GENERAL}
        m.memory = dict(enumerate(self.cells[STATE:], memory))
        m.free = [(memory, memory + ROOM)]
        m.flags = Given(known[FLAGS_AT // 8])

    def execute(self, text):
        execute(self.machine, Instruction(0, f"{text} # {self.memory + ROOM // 4:x}"))

    def value(self, v):
        if isinstance(v, (int, bool)):
            return int(v)
        if v.get_id() in PLACE:
            return self.words[PLACE[v.get_id()]]
        pairs = [(u, z3.BitVecVal(self.words[PLACE[u.get_id()]], 64)) for u in variables(v)]
        v = z3.simplify(z3.substitute(v, *pairs))
        return int(z3.is_true(v)) if z3.is_bool(v) else v.as_long()

    def changed(self):
        """(what, its place, the new value) of all words that may differ from those before."""
        m = self.machine
        for v, cells in enumerate(m.vectors):
            if cells is not self.vectors[v]:
                yield from ((f"zmm{v}", 8 * v + k, t.from_cells(cells[8 * k:8 * k + 8]))
                            for k in range(8))
        yield from ((k, MASK_AT // 8 + int(k[1]), v) for k, v in m.masks.items())
        yield from ((r, index(r), v) for r, v in m.general.items())
        for at in range(0, ROOM, 8):
            cells = [m.memory[self.memory + at + i] for i in range(8)]
            if any(new is not old for new, old in zip(cells, self.cells[STATE + at:])):
                yield f"memory {at}", (STATE + at) // 8, t.from_cells(cells)

    def after(self):
        """All words but the flags, and what each is of."""
        names, words = {}, list(self.words)
        for name, at, v in self.changed():
            names[at], words[at] = name, self.value(v)
        return names, words

    def conditions(self):
        """{condition: 0 or 1} of those that are defined."""
        found = {}
        for code in CONDITIONS:
            try:
                found[code] = self.value(self.machine.flags.condition(code))
            except Refused:
                pass
        return found


def modelled(text, case, words, least):
    """The model after an instruction, at the lowest level from `least` at which it can, and this."""
    for level in range(least, 3):
        try:
            model = Model(words, case.pointers, case.memory, level)
            model.execute(text)
            if level == 2 or not t.APPLIED:  # floats and AES are compared on numbers
                return model, level, *model.after(), model.conditions()
        except FAILURES as failure:
            if level == 2:
                raise Refused(f"{type(failure).__name__}: {failure}") from None


def pack(words):
    return b"".join(word.to_bytes(8, "little") for word in words)


# --- the comparison ------------------------------------------------------------------------------

def misaligned(processor, number, text, case):
    """(whether the processor faults where an operand is misaligned, whether the model refuses it)."""
    words = case.prepared(states()[1], random.Random(case.seed), 8)
    try:
        modelled(text, case, words, 2)
        refused = False
    except Refused as why:
        refused = "misaligned" in str(why)
    return processor.faults(number, pack(words)), refused


def differences(processor, number, case, text):
    """What the processor and the model differ in; `text`: what the model executes."""
    aligned = False
    if ALIGNED.search(case.text) and "rip" not in case.text:
        aligned, refused = misaligned(processor, number, text, case)
        if aligned != refused:
            yield f"{text}: a misaligned address faults: {aligned}, the model says {refused}"
    level = 0
    for words in case.states(aligned):
        try:
            _, level, names, expected, conditions = modelled(text, case, words, level)
        except Refused as refused:
            yield f"{text}: the model refuses, {refused}"
            return
        after = processor.execute(number, pack(words))
        found = [int.from_bytes(after[at:at + 8], "little") for at in range(0, len(after), 8)]
        flags = found[FLAGS_AT // 8]
        found[FLAGS_AT // 8] = words[FLAGS_AT // 8]
        yield from (f"{text}: {names.get(at, f'word {at}')} is {a:#x}, the model says {b:#x}"
                    for at, (a, b) in enumerate(zip(found, expected))
                    if a != b and at in processor.stored)
        bits = [flags >> bit & 1 for bit in FLAG_BITS.values()]
        yield from (f"{text}: condition '{code}' differs" for code, v in conditions.items()
                    if v != CONDITIONS[code](*bits))
        if flags >> 10 & 1:
            yield f"{text}: the direction flag is set"


def check(raws, narrow, folder, jobs):
    """(instructions compared, instructions not compared, differences found), in `jobs` processes.
    `narrow`: those of `raws` that code without AVX-512 consists of."""
    wide = WIDE_NEEDS <= flags_of_processor()
    everything = one_of_each(raws)
    forms = everything if wide else one_of_each(narrow) if NEEDS <= flags_of_processor() else {}
    texts = list(forms.values())
    untested = [everything[form] for form in set(everything) - set(forms)]
    if not texts:
        return 0, untested, []
    pairs = [(text, text) for text in texts] + [
        wrong for wrong in WRONG if wide or not WIDE.search(" ".join(wrong))]
    processor = assemble([text for text, _ in pairs], folder, wide)
    parts = pool.results([lambda first=first: compared(processor, pairs, range(first, len(pairs), jobs))
                          for first in range(jobs)], jobs)
    found = [difference for part in parts
             for difference in (["a comparison was not carried out"] if part is None else part)]
    return len(texts), untested, found


def compared(processor, pairs, numbers):
    """The differences found in some of the pairs (instruction, what the model executes)."""
    found = []
    for number in numbers:
        text, model = pairs[number]
        case = Case(text, processor.memory, number)
        differ = list(itertools.islice(differences(processor, number, case, model), 3))
        if text == model:
            found += differ
        elif not differ:
            found.append(f"a model of '{text}' that does '{model}' is not found")
    return found
