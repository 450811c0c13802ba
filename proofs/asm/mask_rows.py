"""The runs that prove the leaves of lattice masks (optimized/masks), and mutants of x86-64's that they must
refuse."""

import os

import keccak
import mask_columns
import mask_groups
import mask_passes
import masks
from mutants import Mutant, first_per
from runs import ANY


def rows(backends):
    """(backend, kernel, sizes, function(image, run)), as runs.runs gives them."""
    table = []

    def add(backend, kernel, sizes, function, *arguments):
        table.append((backend, kernel, sizes, lambda image, run: function(image, run, backend, *arguments)))
    for backend in backends:
        add(backend, "add_noise", ANY, masks.add_noise)
        add(backend, "workspace_bytes", ANY, masks.workspace_bytes)
        add(backend, "small_matrix_doubles", ANY, masks.small_matrix_doubles)
    for backend in backends:
        for kernel in ("transform_secret_group", "transform_secret", "transform_small_group",
                       "transform_small_matrix"):
            add(backend, kernel, ANY, getattr(mask_groups, kernel))
    for backend in backends:
        add(backend, "decode", ANY, masks.decode)
    for backend in backends:
        add(backend, "inverse", ANY, mask_passes.inverse)
        for halves in (1, 2):
            add(backend, f"reduce_product<{halves}>", ANY, mask_passes.reduce_product, halves)
            add(backend, f"multiply_points<{halves}>", ANY, mask_passes.multiply_points, halves)
        for kernel in ("transform_element", "transform_rows", "write_runs", "write_columns", "multiply_tile",
                       "multiply"):
            add(backend, kernel, ANY, getattr(mask_passes, kernel))
    for backend in backends:
        for kernel in ("transform_halves", "multiply_small_points", "write_small_row", "write_small_rows",
                       "multiply_small_matrix"):
            add(backend, kernel, ANY, getattr(mask_columns, kernel))
    for backend in backends:
        for kernel in ("absorb", "permute", "squeeze"):
            add(backend, kernel, ANY, getattr(keccak, kernel))
        add(backend, "shake128", ANY, keccak.of_each)
    return table


# (backend, kernel, sizes, function that is changed, its instruction, what it becomes). Noise: a comparison
# lost or with equals, another bit, a sign. Floats: a root of another node, a sign, a product that is not
# fused, another order of operands, a comparison the other way round; a whole register for a part. SHAKE-128:
# a rotation, a complement, the padding of the last input. Products: a sign, a lane, halves; of stored
# rows bytes that overlap where they are put together, a minimum, a sum, where the upper half begins, what
# is multiplied, a comparison the other way round, the modulus kept where it must not be.
NOISE = "add_noise_to_column"
SECRET, SECRET_GROUP = "transform_secret_elements", "transform_secret_group"
MATRIX, MATRIX_GROUP = "transform_small_rows", "transform_small_group"
DECODE = "decode_all"
SHAKE = "shake128_of_each"
ABSORB, KECCAK, SQUEEZE = "absorb", "Keccak", "squeeze"
HALVES, SUMS = "transform_halves", "multiply_small_points"
SMALL_ROW, SMALL_ROWS = "write_small_row", "write_small_rows"
PRODUCT = "multiply_small_rows"
REDUCE = r"reduce_product(?=<[^\n]*, {}u>)"
OF_CODING, POINTS = r"{}(?=<[^\n]*Coding\){}>)", r"multiply_points(?=<[^\n]*, {}u>)"
PASS, TILE, COLUMNS = "multiply_pass", "multiply_tile", "write_columns"
ELEMENT, ROWS, RUNS = "transform_element", "transform_rows", "write_runs"
MUTANTS = [
    ("portable", "add_noise", ANY, NOISE, r"psubusb", "psubb"),
    ("portable", "add_noise", ANY, NOISE, r"(psrlw .*,)0x2", r"\g<1>0x1"),
    ("avx2", "add_noise", ANY, NOISE, r"vpaddb", "vpsubb"),
    ("avx2", "add_noise", ANY, NOISE, r"vpsubusb", "vpsubb"),
    ("avx512", "add_noise", ANY, NOISE, r"vpcmpltub", "vpcmpleub"),
    ("avx512", "add_noise", ANY, NOISE, r"(vpsrlw .*,)0x2", r"\g<1>0x1"),
    ("portable", "transform_secret_group", ANY, SECRET_GROUP, r"subpd", "addpd"),
    ("portable", "transform_secret_group", ANY, SECRET_GROUP, r"mulsd", "addsd"),
    ("avx2", "transform_secret_group", ANY, SECRET_GROUP, r"vfmadd132pd", "vfmadd213pd"),
    ("avx2", "transform_secret_group", ANY, SECRET_GROUP, r"vfnmadd231pd", "vfmadd231pd"),
    ("avx512", "transform_secret_group", ANY, SECRET_GROUP, r"vfnmadd132pd (zmm\d+),(zmm\d+),(\S+)",
     r"vmulpd \1,\1,\3; vsubpd \1,\2,\1"),
    ("avx512", "transform_secret_group", ANY, SECRET_GROUP, r"vbroadcastsd (zmm\d+),QWORD PTR \[(\w+)\]",
     r"vbroadcastsd \1,QWORD PTR [\2+0x8]"),
    ("avx2", "workspace_bytes", ANY, "Places", r"lea +rax,\[rax\+rsi\*1.*", "sub rax,rsi"),
    ("avx2", "workspace_bytes", ANY, "Places", r"imul +rsi,rsi,0x18400", "imul rsi,rsi"),
    ("portable", "small_matrix_doubles", ANY, "small_matrix_doubles", r"add +rdi,0x1\b", "add rdi,0x0"),
    ("portable", "transform_small_group", ANY, MATRIX_GROUP, r"addpd", "subpd"),
    ("portable", "transform_small_group", ANY, MATRIX_GROUP, r"mulsd", "addsd"),
    ("avx2", "transform_small_group", ANY, MATRIX_GROUP, r"vfnmadd231pd", "vfmadd231pd"),
    ("avx2", "transform_small_group", ANY, MATRIX_GROUP, r"vmulsd", "vaddsd"),
    ("avx512", "transform_small_group", ANY, MATRIX_GROUP, r"vfmadd231pd", "vfmadd213pd"),
    ("avx512", "transform_small_group", ANY, MATRIX_GROUP, r"vsubpd", "vaddpd"),
    ("portable", "decode", ANY, DECODE, "subpd", "addpd"),
    ("portable", "decode", ANY, DECODE, r"cmpltpd +(xmm\d+),(xmm\d+)",
     r"cmpltpd \2,\1; movapd \1,\2"),
    ("avx2", "decode", ANY, DECODE, r"vaddpd", "vsubpd"),
    ("avx2", "decode", ANY, DECODE, "vmulpd", "vaddpd"),
    ("avx512", "decode", ANY, DECODE, r"vcmpltpd (k\d),(zmm\d+),(zmm\d+)", r"vcmpltpd \1,\3,\2"),
    ("avx512", "decode", ANY, DECODE, r"vmulpd", "vaddpd"),
    ("portable", "permute", ANY, KECCAK, r"(psrlq .*,)0x13\b", r"\g<1>0x12"),
    ("portable", "absorb", ANY, ABSORB, r"(xor +BYTE PTR \[rcx.*,)0x1f", r"\g<1>0x1e"),
    ("portable", "squeeze", ANY, SQUEEZE, "punpcklqdq", "punpckhqdq"),
    ("portable", "squeeze", ANY, SQUEEZE, r"add +rdx,rsi", "add rdx,rdi"),
    ("avx2", "permute", ANY, KECCAK, r"vpandn", "vpand"),
    ("avx2", "absorb", ANY, ABSORB, r"(add +BYTE PTR .*,)0x80", r"\g<1>0x40"),
    ("avx2", "squeeze", ANY, SQUEEZE, r"vpunpcklqdq", "vpunpckhqdq"),
    ("avx512", "permute", ANY, KECCAK, r"(vprorq .*,)0x13\b", r"\g<1>0x14"),
    ("avx512", "permute", ANY, KECCAK, r"(vpternlogq .*,)0xb4", r"\g<1>0xd2"),
    ("portable", "inverse", ANY, "inverse", r"subpd", "addpd"),
    ("avx2", "inverse", ANY, "inverse", r"vfnmadd132pd", "vfmadd132pd"),
    ("avx512", "inverse", ANY, "inverse", r"vaddpd", "vsubpd"),
    ("portable", "reduce_product<1>", ANY, REDUCE.format(1), r"unpckhpd", "unpcklpd"),
    ("avx2", "reduce_product<1>", ANY, REDUCE.format(1), r"vfnmadd", "vfmadd"),
    ("avx512", "reduce_product<1>", ANY, REDUCE.format(1), r"vfnmadd", "vfmadd"),
    ("avx512", "reduce_product<2>", ANY, REDUCE.format(2), r"vfmadd132pd", "vfmadd213pd"),
    ("portable", "write_small_row", ANY, SMALL_ROW, r"psubusw", "psubw"),
    ("avx2", "write_small_row", ANY, SMALL_ROW, r"vpminuw", "vpmaxuw"),
    ("avx512", "write_small_row", ANY, SMALL_ROW, r"vpminuw", "vpmaxuw"),
    ("portable", "transform_halves", ANY, HALVES, r"(sar +\w+,)0x18", r"\g<1>0x17"),
    ("avx2", "transform_halves", ANY, HALVES, r"vpunpcklqdq", "vpunpckhqdq"),
    ("avx512", "transform_halves", ANY, HALVES, r"(and +\w+,)0xffffff", r"\g<1>0x7fffff"),
    ("portable", "write_small_rows", ANY, SMALL_ROWS, r"add +rbx,0x1\b", "add rbx,0x2"),
    ("portable", "multiply_small_matrix", ANY, PRODUCT, r"cmova +rsi,rdx", "mov rsi,rdx"),
    ("portable", "multiply_small_points", ANY, SUMS, r"subpd", "addpd"),
    ("avx2", "multiply_small_points", ANY, SUMS, r"vfnmadd231pd", "vfmadd231pd"),
    ("avx512", "multiply_small_points", ANY, SUMS, r"vfnmadd231pd", "vfmadd231pd"),
    ("portable", "transform_element", ANY, OF_CODING.format(ELEMENT, 2), r"(shl +r\w+,)0x20", r"\g<1>0x1c"),
    ("portable", "transform_element", ANY, OF_CODING.format(ELEMENT, 1), r"pand ", "pandn "),
    ("avx2", "transform_element", ANY, OF_CODING.format(ELEMENT, 2), r"vsubpd", "vaddpd"),
    ("avx2", "transform_element", ANY, OF_CODING.format(ELEMENT, 1),
     r"vcmpltpd +(ymm\d+),(ymm\d+),(ymm\d+)", r"vcmpltpd \1,\3,\2"),
    ("avx512", "transform_element", ANY, OF_CODING.format(ELEMENT, 2), r"vpunpckhqdq", "vpunpcklqdq"),
    ("avx512", "transform_element", ANY, OF_CODING.format(ELEMENT, 0), r"(vpsrlq .*,)0x18", r"\g<1>0x10"),
    ("portable", "multiply_points<1>", ANY, POINTS.format(1), "subpd", "addpd"),
    ("avx2", "multiply_points<1>", ANY, POINTS.format(1), "vsubpd", "vaddpd"),
    ("avx512", "multiply_points<2>", ANY, POINTS.format(2), "vsubpd", "vaddpd"),
    ("avx2", "multiply_points<2>", ANY, POINTS.format(2), r"cmp +r13,0x2000", "cmp r13,0x1fc0"),
    ("avx512", "multiply_points<1>", ANY, POINTS.format(1), r"cmp +r13,0x4000", "cmp r13,0x4080"),
    ("portable", "write_runs", ANY, RUNS, "psubusw", "psubw"),
    ("avx2", "write_runs", ANY, RUNS, "vpminuw", "vpmaxuw"),
    ("avx512", "write_runs", ANY, RUNS, "vpminuw", "vpmaxuw"),
    ("portable", "multiply_tile", ANY, OF_CODING.format(TILE, 0), r"(shr +r\w+,)1\b", r"\g<1>0x2"),
]
# The same; and the last sizes must accept it, for they do not come to what is changed: counts in 32 bits,
# whole registers taken twice, an input of one byte as of none, where the bytes of the second permutation go.
SIZE_MUTANTS = [
    ("portable", "add_noise", ANY, NOISE, r"cmp +rbx,rax", "cmp ebx,eax", "n=37"),
    ("portable", "add_noise", ANY, NOISE, r"shr +rax,1\b", "shr ax,1", "n=37"),
    ("avx2", "add_noise", ANY, NOISE, r"cmp +rbx,rax", "cmp ebx,eax", "n=37"),
    ("avx2", "add_noise", ANY, NOISE, r"shr +rdx,1\b", "shr edx,1", "n=37"),
    ("avx512", "add_noise", ANY, NOISE, r"cmp +rbx,rax", "cmp ebx,eax", "n=69"),
    ("avx512", "add_noise", ANY, NOISE, r"shr +rdx,1\b", "shr edx,1", "n=69"),
    ("avx2", "small_matrix_doubles", ANY, "small_matrix_doubles", r"shr +rdi,0x2\b", "shr di,0x2", "rows=5"),
    ("portable", "transform_secret", ANY, SECRET, r"cmp +rax,0x1\b", "cmp al,0x1", "elements=3"),
    ("portable", "transform_secret", ANY, SECRET, r"add +r12,0x200", "add r12,0x100", "elements=2"),
    ("avx2", "transform_secret", ANY, SECRET, r"cmp +rcx,rax", "cmp cl,al", "elements=5"),
    ("avx2", "transform_secret", ANY, SECRET, r"add +rbp,0x40", "add rbp,0x20", "elements=4"),
    ("avx512", "transform_secret", ANY, SECRET, r"cmp +rcx,rax", "cmp cl,al", "elements=9"),
    ("avx512", "transform_secret", ANY, SECRET, r"add +r14,0x800", "add r14,0x400", "elements=8"),
    ("portable", "transform_small_matrix", ANY, MATRIX, r"cmp +rbp,0x1\b", "cmp bpl,0x1", "rows=3"),
    ("portable", "transform_small_matrix", ANY, MATRIX, r"shl +rax,0x9\b", "shl rax,0x8", "rows=2"),
    ("avx2", "transform_small_matrix", ANY, MATRIX, r"cmp +rbx,rsi", "cmp bl,sil", "rows=5"),
    ("avx2", "transform_small_matrix", ANY, MATRIX, r"shl +rax,0xa\b", "shl rax,0x9", "rows=4"),
    ("avx512", "transform_small_matrix", ANY, MATRIX, r"cmp +rbx,rsi", "cmp bl,sil", "rows=9"),
    ("avx512", "transform_small_matrix", ANY, MATRIX, r"shl +rax,0xe\b", "shl rax,0xd", "rows=8"),
    ("portable", "transform_rows", ANY, OF_CODING.format(ROWS, 2),
     r"cmp +rcx,0x1\b", "cmp rcx,0x2", "count=1"),
    ("avx2", "transform_rows", ANY, OF_CODING.format(ROWS, 0), r"cmp +rcx,0x3\b", "cmp rcx,0x4", "count=2"),
    ("avx2", "transform_rows", ANY, OF_CODING.format(ROWS, 2), r"add +(r\w+),0x580", r"add \1,0x57f",
     "elements=1"),
    ("avx512", "transform_rows", ANY, OF_CODING.format(ROWS, 1), r"cmp +rcx,0x1\b", "cmp rcx,0x2", "count=1"),
    ("avx512", "transform_rows", ANY, OF_CODING.format(ROWS, 2), r"add +r15,0x580", "add r15,0x57f",
     "elements=2"),
    ("portable", "multiply_tile", ANY, OF_CODING.format(TILE, 2),
     r"shr +(r\w+),1\b", r"shr \1,0x2", "count=2"),
    ("portable", "multiply_tile", ANY, OF_CODING.format(TILE, 2), r"add +(r\w+),0x18800", r"add \1,0x18000",
     "blocks=1"),
    ("avx2", "multiply_tile", ANY, OF_CODING.format(TILE, 1), r"shr +(r\w+),0x2\b", r"shr \1,0x1", "count=4"),
    ("avx2", "multiply_tile", ANY, OF_CODING.format(TILE, 0), r"add +(r\w+),0x18400", r"add \1,0x18000",
     "blocks=1"),
    ("avx512", "multiply_tile", ANY, OF_CODING.format(TILE, 2),
     r"shr +(r\w+),0x3\b", r"shr \1,0x2", "count=8"),
    ("avx512", "multiply_tile", ANY, OF_CODING.format(TILE, 0), r"add +(r\w+),0x18200", r"add \1,0x18000",
     "blocks=1"),
    ("portable", "multiply_points<2>", ANY, POINTS.format(2), r"add +rdi,r10", "sub rdi,r10", "blocks=1"),
    ("portable", "multiply_points<1>", ANY, POINTS.format(1), r"add +r8,r11", "sub r8,r11", "blocks=1"),
    ("avx2", "multiply_points<2>", ANY, POINTS.format(2), r"\*8\+0x48", "*4+0x48", "blocks=1"),
    ("avx2", "multiply_points<1>", ANY, POINTS.format(1), r"add +rdx,0x2040",
     "add rdx,0x2080", "elements=1"),
    ("avx512", "multiply_points<2>", ANY, POINTS.format(2), r"\*8\+0x48", "*4+0x48", "blocks=1"),
    ("avx512", "multiply_points<1>", ANY, POINTS.format(1), r"add +rax,0x10\b", "add rax,0x18", "elements=1"),
    ("portable", "write_columns", ANY, COLUMNS, r"imul +(\w+),(\w+),0x18800", r"imul \1,\2,0x18000", "b=0"),
    ("avx2", "write_columns", ANY, COLUMNS, r"imul +(\w+),(\w+),0x18400", r"imul \1,\2,0x18000", "b=0"),
    ("avx512", "write_columns", ANY, COLUMNS, r"imul +(\w+),(\w+),0x18200", r"imul \1,\2,0x18000", "b=0"),
    ("portable", "write_runs", ANY, RUNS, r"cmp +(\w+|QWORD.*),0x40\b", r"cmp \1,0x3f", "count=64"),
    ("avx2", "write_runs", ANY, RUNS, r"cmp +(\w+|QWORD.*),0x40\b", r"cmp \1,0x3f", "count=64"),
    ("avx512", "write_runs", ANY, RUNS, r"cmp +(\w+|QWORD.*),0x40\b", r"cmp \1,0x3f", "count=64"),
    ("portable", "decode", ANY, DECODE, r"(and +\w+,0xf+)e\b", r"\g<1>c", "count=3"),
    ("portable", "decode", ANY, DECODE, r"shr +rcx,1", "shr ecx,1", "count=3"),
    ("avx2", "decode", ANY, DECODE, r"(and +\w+,0xf+)c\b", r"\g<1>8", "count=5"),
    ("avx2", "decode", ANY, DECODE, r"shr +rdx,0x2\b", "shr edx,0x2", "count=5"),
    ("avx512", "decode", ANY, DECODE, r"(and +\w+,0xf+)8\b", r"\g<1>0", "count=9"),
    ("avx512", "decode", ANY, DECODE, r"shr +rdx,0x3\b", "shr edx,0x3", "count=9"),
]
# The second element elsewhere; the second group of halves; planes, an odd number of them or not; residues
# behind the 64th or in the second row; rows in part taken for whole ones; the second group of rows, in the
# matrix and in the output; residues counted in 32 bits.
SIZE_MUTANTS += [
    ("avx2", "transform_halves", ANY, HALVES, r"\[rsi\+0x800\]", "[rsi+0x400]", "count=1"),
    ("avx512", "transform_halves", ANY, HALVES, r"(vpsllq .*,)0xb\b", r"\g<1>0xa", "count=1"),
    ("portable", "multiply_small_points", ANY, SUMS, r"shr +rax,1\b", "shr rax,0x2", "elements=1"),
    ("avx2", "multiply_small_points", ANY, SUMS, r"and +edx,0x3\b", "and edx,0x1", "elements=1"),
    ("avx2", "multiply_small_points", ANY, SUMS, r"shr +rax,0x2\b", "shr rax,0x3", "elements=2"),
    ("avx512", "multiply_small_points", ANY, SUMS, r"and +ebx,0x7\b", "and ebx,0x3", "elements=2"),
    ("avx512", "multiply_small_points", ANY, SUMS, r"shr +rax,0x3\b", "shr rax,0x4", "elements=4"),
    ("portable", "write_small_row", ANY, SMALL_ROW, r"cmp +rax,0x1f0\b", "cmp rax,0xf0", "count=64"),
]
for backend, pass_of_rows, group, number, shift in (
        ("portable", "r14", 512, "ebx", 0xc), ("avx2", "r12", 1024, "ebp", 0xd),
        ("avx512", "r13", 2048, "ebx", 0xe)):
    SIZE_MUTANTS += [
        (backend, "write_small_row", ANY, SMALL_ROW, r"\[r8\+0x1\]", "[r8+0x0]", "planes=6"),
        (backend, "write_small_row", ANY, SMALL_ROW, r"cmovbe +r\d+,r(dx|1[01])", "nop", "planes=6"),
        (backend, "write_small_rows", ANY, SMALL_ROWS, r"cmova +rdx,rax", "mov rdx,rax", "count=256"),
        (backend, "write_small_rows", ANY, SMALL_ROWS, r"add +rbp,0x100\b", "add rbp,0x80", "count=256"),
        (backend, "multiply_small_matrix", ANY, PRODUCT, rf"shl +rax,{shift:#x}\b", f"shl rax,{shift - 1:#x}",
         f"m={group}"),
        (backend, "multiply_small_matrix", ANY, PRODUCT, rf"add +{pass_of_rows},{group:#x}\b",
         f"add {pass_of_rows},{group // 2:#x}", f"m={group // 2}"),
        (backend, "multiply_small_matrix", ANY, PRODUCT, rf"cmp +{pass_of_rows},r{number[1:]}",
         f"cmp {pass_of_rows}d,{number}", f"m={group + 5}")]
for backend in masks.X86:
    SIZE_MUTANTS += [
        (backend, "multiply", ANY, PASS, r"add +(r\d+),0x40\b", r"add \1,0x80", "rows=64"),
        (backend, "multiply", ANY, PASS, r"cmova +(r\w+),rax", r"mov \1,rax", "rows=64")]
for backend, counter in (("portable", "ebp"), ("avx2", "r15d"), ("avx512", "r15d")):
    SIZE_MUTANTS += [
        (backend, "absorb", ANY, ABSORB, r"test +rsi,rsi", "test sil,0xfe", "length=49"),
        (backend, "shake128", ANY, SHAKE, r"cmp +r13,r\w+", f"cmp r13d,{counter}", "permutations=2"),
        (backend, "shake128", ANY, SHAKE, r"shl +r14,0x3", "shl r14d,0x3", "permutations=2"),
        (backend, "shake128", ANY, SHAKE, r"add +rbx,0xa8", "add rbx,0xa0", "permutations=1")]


# The same of the code that clang makes.
MUTANTS_OF_CLANG = [
    ("portable", "decode", ANY, DECODE, "subpd", "addpd"),
    ("avx2", "decode", ANY, DECODE, "vaddpd", "vsubpd"),
    ("avx512", "decode", ANY, DECODE, "vmulpd", "vaddpd"),
    ("avx512", "decode", ANY, DECODE, r"(vsubpd +zmm\d+)\{k1\}", r"\1"),
    ("portable", "permute", ANY, KECCAK, r"(psrlq .*,)0x13\b", r"\g<1>0x12"),
    ("avx2", "permute", ANY, KECCAK, r"vpandn", "vpand"),
    ("avx512", "permute", ANY, KECCAK, r"(vprolq .*,)0x2d\b", r"\g<1>0x2c"),
    ("portable", "add_noise", ANY, NOISE, "psubb", "paddb"),
    ("avx2", "add_noise", ANY, NOISE, "vpsubb", "vpaddb"),
    ("avx512", "add_noise", ANY, NOISE, "vpsubb", "vpaddb"),
    ("avx2", "transform_small_group", ANY, MATRIX_GROUP, "vsubpd", "vaddpd"),
    ("portable", "transform_halves", ANY, HALVES, "subpd", "addpd"),
    ("portable", "multiply_small_points", ANY, SUMS, "subpd", "addpd"),
    ("avx2", "multiply_small_matrix", ANY, PRODUCT, r"cmovb +rsi,r15", "nop"),
    ("avx512", "inverse", ANY, "inverse", "vsubpd", "vaddpd"),
    ("avx512", "reduce_product<2>", ANY, REDUCE.format(2), r"vfmadd213pd (zmm\d+,zmm\d+),",
     r"vfnmadd213pd \1,"),
    ("portable", "small_matrix_doubles", ANY, "small_matrix_doubles", r"shl +rax,0x9\b", "shl rax,0x8"),
    ("avx2", "small_matrix_doubles", ANY, "small_matrix_doubles", r"shl +rax,0xa\b", "shl rax,0x9"),
    ("avx512", "small_matrix_doubles", ANY, "small_matrix_doubles", r"shl +rax,0xb\b", "shl rax,0xc"),
    ("avx512", "absorb", ANY, ABSORB, r"(xor +BYTE PTR .*,)0x1f", r"\g<1>0x1e"),
    ("avx512", "absorb", ANY, ABSORB, r"(vpbroadcastq zmm\d+)\{k1\}", r"\1"),
    ("avx512", "transform_small_group", ANY, MATRIX_GROUP, "vsubpd", "vaddpd"),
]
SIZE_MUTANTS_OF_CLANG = [
    ("avx2", "multiply_points<1>", ANY, POINTS.format(1), r"\*8\+0x48", "*4+0x48", "blocks=1"),
    ("avx512", "multiply_tile", ANY, OF_CODING.format(TILE, 2),
     r"shr +(r\w+),0x3\b", r"shr \1,0x2", "count=8"),
    ("avx512", "multiply", ANY, PASS, r"cmovae +(r\w+),(r\w+)", r"mov \1,\2", "rows=64"),
    ("avx2", "multiply", ANY, PASS, r"add +(r\d+),0x40\b", r"add \1,0x80", "rows=64"),
    *((backend, "shake128", ANY, SHAKE, r"add +(r\w+),0xa8", r"add \1,0xa0", "permutations=1")
      for backend in ("portable", "avx2")),
    *((backend, "small_matrix_doubles", ANY, "small_matrix_doubles", r"shr +rax\b", "shr ax", "rows=5")
      for backend in masks.X86)]
SIZE_MUTANTS_OF_CLANG += [
    ("portable", "multiply_small_points", ANY, SUMS, r"add +r11,0x1000\b", "add r11,0x800", "elements=1"),
    ("avx2", "multiply_small_points", ANY, SUMS, r"add +r10,0x2\b", "add r10,0x1", "elements=1"),
    ("avx512", "multiply_small_points", ANY, SUMS, r"add +r10,0x2\b", "add r10,0x1", "elements=1"),
    ("avx2", "transform_halves", ANY, HALVES, r"shl +eax,0xb\b", "shl eax,0xa", "count=1"),
    ("avx512", "transform_halves", ANY, HALVES, r"shl +r9d,0xb\b", "shl r9d,0xa", "count=1"),
]
for backend, pass_of_rows, group, shift in (("portable", "r15", 512, 0xc), ("avx2", "r14", 1024, 0xd),
                                            ("avx512", "r14", 2048, 0xe)):
    SIZE_MUTANTS_OF_CLANG += [
        (backend, "write_small_row", ANY, SMALL_ROW, r"\[r8\+0x1\]", "[r8+0x0]", "planes=6"),
        (backend, "write_small_rows", ANY, SMALL_ROWS, r"cmovb +rdx,r12", "nop", "count=256"),
        (backend, "write_small_rows", ANY, SMALL_ROWS, r"add +rbx,0x100\b", "add rbx,0x101", "count=256"),
        (backend, "multiply_small_matrix", ANY, PRODUCT, rf"shl +rax,{shift:#x}\b", f"shl rax,{shift - 1:#x}",
         f"m={group}"),
        (backend, "multiply_small_matrix", ANY, PRODUCT, rf"add +{pass_of_rows},{group:#x}\b",
         f"add {pass_of_rows},{group // 2:#x}", f"m={group // 2}")]


def mutants(compiler="g++"):
    """With SLIP_FULL all; everyday one of each kernel."""
    plain, larger = (MUTANTS, SIZE_MUTANTS) if compiler == "g++" else (
        MUTANTS_OF_CLANG, SIZE_MUTANTS_OF_CLANG)
    larger = larger if "SLIP_FULL" in os.environ else []
    return first_per(lambda mutant: mutant.kernel, [
        Mutant(*row[:6], f"with '{row[4]}' changed", *row[6:]) for row in plain + larger])
