"""Mutants of the machine code that g++ makes of the leaf kernels, each of which assumes something
that neither the ABI nor the processor gives. All must be rejected."""

import re

from runs import ANY

# (backend, kernel, sizes, function that is changed, its instructions, what they become, what this
# assumes). Several instructions stand between semicolons; `\g<0>` is the instruction itself.
MUTANTS = []


def assumes(what, *rows):
    MUTANTS.extend((*row, what) for row in rows)


PORTABLE, AVX2, AVX512 = ((backend, "mask", ANY, "mask") for backend in ("portable", "avx2", "avx512"))
VECTORS = "portable", "multiply_vectors<4, 1>", ANY, "multiply_vectors<4ul, 1ul>"
FRAMES = [("avx2", "widen_plane", ANY, "widen_plane"),
          ("avx512", "multiply_block<4>", ANY, "multiply_block<4ul>")]
CALLS = [VECTORS, FRAMES[0],
         ("avx512", "multiply_block<1>", ANY, "multiply_block<1ul>")]
FIRST, RETURN = r"test +rcx,rcx|cmp +rdx,0xf\b", r"\tret"
PANEL = "avx2", "multiply_panel_by_2", ANY, "multiply_panel_by_2"
WIPE = r"call +[0-9a-f]+ <slip::base::wipe[^\n]*"
assumes("a general register is 0 at the start",
        *((*row, FIRST, r"add rdx,r11; \g<0>") for row in (PORTABLE, AVX2, AVX512)))
assumes("a vector register is 0 at the start",
        (*PORTABLE, r"pxor +(xmm\d+),\1", "nop"),
        (*AVX2, "vpaddw ymm0,ymm0,ymm4", r"vpaddw ymm0,ymm0,ymm9; \g<0>"),
        (*AVX512, "vpaddw zmm0,zmm0,zmm4", r"vpaddw zmm0,zmm0,zmm19; \g<0>"))
assumes("a mask register is 0 at the start",
        (*AVX512, r"kmovd +k1,r13d", r"\g<0>; korw k1,k1,k2"))
assumes("the carry is clear at the start",
        *((*row, FIRST, r"adc rdx,0x0; \g<0>") for row in (PORTABLE, AVX2, AVX512)))
assumes("a narrow argument is extended with zeros",
        ("portable", "quantise", ANY, "quantise", r"mov +r8d,edx",
         r"\g<0>; mov r11,rdx; shr r11,0x20; add rsi,r11"),
        ("avx2", "low_rank_outer", ANY, "low_rank_outer",
         r"mov +eax,ecx", r"\g<0>; mov r11,rcx; shr r11,0x20; add rsi,r11"),
        ("avx512", "low_rank_outer", ANY, "low_rank_outer",
         r"mov +edi,ecx", r"\g<0>; mov r11,rcx; shr r11,0x20; add rsi,r11"))
assumes("vzeroupper leaves the upper halves",
        (*AVX2, "vpaddw ymm0,ymm0,ymm4", r"vzeroupper; \g<0>"),
        (*AVX512, "vpaddw zmm0,zmm0,zmm4", r"vzeroupper; \g<0>"))
assumes("a register of the caller's is changed",
        (*PORTABLE, RETURN, r"\txor ebp,ebp; ret"),
        (*AVX2, "vzeroupper", r"mov r15,rcx; \g<0>"),
        (*AVX512, RETURN, r"\tadd rbx,0x1; ret"))
assumes("the stack's pointer is changed",
        (*PORTABLE, RETURN, r"\tmov rcx,QWORD PTR [rsp]; add rsp,0x10; jmp rcx"),
        (*PANEL, RETURN, r"\tmov rcx,QWORD PTR [rsp]; add rsp,0x10; jmp rcx"),
        (*AVX512, RETURN, r"\tmov rcx,QWORD PTR [rsp]; jmp rcx"))
assumes("the caller's stack is written",
        (*PORTABLE, RETURN, r"\tmov QWORD PTR [rsp+0x10],rcx; ret"),
        (*AVX2, "vzeroupper", r"vmovdqu YMMWORD PTR [rsp+0x8],ymm0; \g<0>"),
        (*AVX512, RETURN, r"\tmov QWORD PTR [rsp+0x8],rdi; ret"))
assumes("the return address is a certain number",
        *((*row, RETURN, r"\tadd rsp,0x8; mov ecx,0xdead0000; jmp rcx")
          for row in (PORTABLE, PANEL, AVX512)))
assumes("what is below the red zone lasts",
        *((*row, FIRST, r"mov QWORD PTR [rsp-0x90],rdx; mov rdx,QWORD PTR [rsp-0x90]; \g<0>")
          for row in (PORTABLE, AVX2, AVX512)))
assumes("an input is aligned",
        (*PORTABLE, "movdqu", "movdqa"),
        (*AVX2, r"vpmovzxbw ymm0,XMMWORD PTR", r"vmovdqa xmm7,XMMWORD PTR [rdi+rdx*1]; \g<0>"),
        (*AVX512, r"vmovdqu16 zmm0", r"vmovdqa64 zmm7,ZMMWORD PTR [rdx-0x40]; \g<0>"))
assumes("an output is aligned",
        (*PORTABLE, "movups", "movaps"), (*AVX2, "vmovdqu", "vmovdqa"),
        (*AVX512, "vpmovwb YMMWORD", r"vmovdqa YMMWORD PTR [rax],ymm0; \g<0>"))
assumes("the stack is aligned to more than 16", *(
    (*row, r"and +rsp,0xf+[ce]0", "nop") for row in FRAMES))
assumes("a call leaves general registers", *(
    (*row, WIPE, r"mov r11,rsp; \g<0>; mov rsp,r11") for row in CALLS))
assumes("a call leaves vector registers", *(
    (*row, WIPE, rf"{v}movq xmm7,rsp; \g<0>; {v}movq rsp,xmm7")
    for row, v in zip(CALLS, ("", "v", "v"))))
assumes("a call leaves mask registers",
        (*CALLS[2], WIPE, r"kmovq k3,rsp; \g<0>; kmovq rsp,k3"))
assumes("a call leaves flags", *(
    (*row, WIPE, r"cmp rsp,rsp; \g<0>; sbb rax,rax; add rsp,rax") for row in CALLS))
assumes("a call leaves the red zone", *(
    (*row, WIPE, r"mov QWORD PTR [rsp-0x20],rsp; \g<0>; mov rsp,QWORD PTR [rsp-0x20]")
    for row in CALLS))
assumes("a call needs no alignment of the stack", *(
    (*row, WIPE, r"sub rsp,0x8; \g<0>; add rsp,0x8") for row in CALLS))


def edited(listing, backend, changed, pattern, replacement, jump):
    """A listing with the instructions of one function that a pattern finds replaced; `jump`: the instruction
    that jumps."""
    names = rf"{backend}::(\(anonymous namespace\)::)?{changed}\(", rf"{changed}<slip::\w+::{backend}::"
    function = next(filter(None, (
        re.search(rf"^[0-9a-f]+ <[^\n]*::{name}", listing, re.MULTILINE) for name in names)), None)
    start = function.start() if function else len(listing)
    end = listing.find("\n\n", start)
    lines = re.sub(pattern, replacement, listing[start:end]).split("\n")
    if lines == listing[start:end].split("\n"):
        raise ValueError(f"'{pattern}' changes nothing in {backend} {changed}")
    elsewhere, detours = ["", "", "1000000000 <mutant>:"], 0x1000000000
    for at, line in enumerate(lines):
        address, _, text = line.partition(":\t")
        if ";" not in text:
            continue
        # Several do not fit where one was: they stand elsewhere, between jumps.
        following = lines[at + 1].partition(":")[0].strip()
        lines[at] = f"{address}:\t{jump} {detours:x} <mutant>"
        for part in [*text.split(";"), f"{jump} {following} <back>"]:
            elsewhere.append(f" {detours:x}:\t{part.strip()}")
            detours += 16
    elsewhere.append(f" {detours:x}:\tnop")
    return listing[:start] + "\n".join(lines) + listing[end:] + "\n".join(elsewhere)
