"""Mutants of the machine code of the leaf kernels, most of them of g++'s: what is computed is changed
(abi_mutants.py: how it is called). Each must be rejected, and so must be proofs without the ranges
that the contracts require."""

import os
from typing import NamedTuple

import abi_mutants
import portable_products
from image import Image
from instructions import X86
from machine import Refused
from run import Run, Unbounded
from runs import ANY, FLOATS, fixed_sizes, is_due

# (backend, kernel, sizes, function that is changed, its instruction, what it becomes): each must be
# rejected.
MUTANTS = [
    ("portable", "mask", ANY, "mask", r"(shr|psrld)( .*,)0x17", r"\g<1>\g<2>0x16"),
    ("avx2", "mask", ANY, "mask", "vpminuw", "vpmaxuw"),
    ("avx512", "mask", ANY, "mask", "vpmulhuw", "vpmulhw"),
    ("portable", "unmask", ANY, "unmask", r"(shr|psrld)( .*,)0x17", r"\g<1>\g<2>0x16"),
    ("avx2", "unmask", ANY, "unmask", "vpcmpgtq", "vpcmpeqq"),
    ("avx512", "unmask", ANY, "unmask", "vpminuq", "vpmaxuq"),
    ("avx2", "below", ANY, "below", "vpmaxub", "vpminub"),
    ("avx512", "sample", "n=21", "sample", "vpcmpltub", "vpcmpleub"),
    ("avx2", "expand", "blocks=3", "expand", "vpmaxub", "vpminub"),
    ("avx2", "expand", "blocks=3", "expand", "vpaddd", "vpsubd"),
    ("avx512", "expand", "blocks=3", "expand", "vaesenclast", "vaesenc"),
    ("avx512", "expand", "blocks=3", "expand", r"(vaesenc )(.*),(zmm\d+)", r"vmovdqa64 \2"),
    ("avx512", "aes256_schedule", "", "aes256_schedule", r"(vaeskeygenassist .*,)0x20", r"\g<1>0x21"),
    ("avx2", "multiply_panel_by_2", ANY, "multiply_panel_by_2", "vpaddd", "vpsubd"),
    ("avx512", "multiply_panel_by_5", ANY, "multiply_panel_by_5", "vpdpbusd", "vpdpwssd"),
    ("portable", "finish", ANY, "finish", r"(shr +\w+,)0x27", r"\g<1>0x26"),
    # A pair without its inverse; a row's weights are those of the row before; the vectors are
    # not joined, or written to; planes that belong to nothing; another prime.
    ("portable", "join_planes", ANY, "join_planes", r"imul +edx,ebp", "nop"),
    ("portable", "add_products_2_4", ANY, "add_products_2_4", r"add +r14,rdi", "mov r14,rdi"),
    ("portable", "multiply_rows<2, 4>", ANY, "multiply_rows<2ul, 4ul>", r"sete +(\w+)", r"setne \1"),
    ("portable", "multiply_vectors<4, 1>", ANY, "multiply_vectors<4ul, 1ul>", r"call [^\n]*join_planes[^\n]*",
     "nop"),
    ("portable", "multiply_vectors<4, 2>", ANY, "multiply_vectors<4ul, 2ul>", r"mov +r14d,0x4\b",
     r"\g<0>; mov WORD PTR [rsp+0x60],r12w"),
    # The number of a plane's prime added to where the plane, or W, begins.
    ("portable", "join_planes", ANY, "join_planes", r"mov +rbx,QWORD PTR \[r10\+0x28\]",
     r"\g<0>; add rbx,QWORD PTR [r10+0x20]"),
    ("portable", "multiply_rows<2, 4>", ANY, "multiply_rows<2ul, 4ul>", r"add +rdi,QWORD PTR \[rbx\]",
     r"\g<0>; add rdi,QWORD PTR [rbx+0x20]"),
    ("portable", "gemm", ANY, "gemm", r"mov +QWORD PTR \[rsp\+0x18\],r9", "mov QWORD PTR [rsp+0x18],r8"),
    ("portable", "gemm_plane", ANY, "gemm_plane", r"mov +QWORD PTR \[rsp\+0x20\],r9",
     "mov QWORD PTR [rsp+0x20],0x0"),
    ("avx2", "finish_plane", ANY, "finish_plane", r"(vpsrlq +.*,)0x27", r"\g<1>0x26"),
    # A negative sum's sign lost; a difference of residues that is not the least; half of the numbers wiped.
    ("avx2", "multiply_pass<3>", ANY, "multiply_pass<3ul>", "vpmovsxdq", "vpmovzxdq"),
    ("avx2", "join_pair", ANY, "join_pair", "vpminuw", "vpmaxuw"),
    ("avx2", "multiply_block", ANY, "multiply_block", r"lea +rsi,\[r15\+r15\*1\]", "mov rsi,r15"),
    ("avx512", "finish", ANY, "finish", r"(vpsrlq +.*,)0x27", r"\g<1>0x26"),
    # Another modulus, another row of sums, no last columns, another place of X.
    ("avx512", "multiply_block<1>", ANY, "multiply_block<1ul>", r"add +rdx,QWORD PTR \[\w+\+0x40\]", "nop"),
    ("avx512", "multiply_block<4>", ANY, "multiply_block<4ul>", r"(shl +rdi,)0x8", r"\g<1>0x9"),
    ("avx512", "multiply_block<5>", ANY, "multiply_block<5ul>", r"mov +edx,0x1\b", "mov edx,0x0"),
    ("avx512", "gemm", ANY, "gemm", r"mov +rsi,r12", "mov rsi,rbx"),
    # A padding that is not 0, behind a row and behind the last one; another place of the next panel.
    ("avx2", "pack_panel", ANY, "pack_panel", r"(mov +BYTE PTR .*,)0x0\b", r"\g<1>0x1"),
    ("avx512", "pack_panel", ANY, "pack_panel", r"(mov +DWORD PTR .*,)0x0\b", r"\g<1>0x1"),
    ("avx2", "pack", ANY, "pack", r"(shl +\w+,)0x5", r"\g<1>0x6"),
    # Half of the prime; the next plane's, or the same combination in the next one.
    ("portable", "pack_entries", ANY, "pack_entries", r"lea +r10d,\[rdx-0x1\]", "lea r10d,[rdx-0x3]"),
    ("portable", "pack_combinations", ANY, "pack_combinations", r"add +rdx,0x18", "add rdx,0x30"),
    ("portable", "pack_combinations", ANY, "pack_combinations", r"imul +r14,rdx", "nop"),
    # What is behind the rest of a column is not 0.
    ("avx512", "combine", ANY, "combine", r"vmovdqa64 +ZMMWORD PTR \[rsp\+0x140\],zmm2",
     "vpxor xmm2,xmm2,xmm2"),
    ("avx2", "combine", ANY, "combine", r"(shr +\w+,)0x27", r"\g<1>0x26"),
    ("portable", "dequantise", ANY, "dequantise", "mulsd", "addsd"),
    # A bit of the upper half lost; the upper half taken for the lower.
    ("avx2", "dequantise", ANY, "dequantise", r"(vpsrlq .*,)0x20", r"\g<1>0x21"),
    ("avx2", "dequantise", ANY, "dequantise", r"(vpblendd .*,)0xaa", r"\g<1>0x55"),
    ("portable", "quantise", ANY, "quantise", "divsd", "mulsd"),
    ("avx2", "quantise", ANY, "quantise", "vpmaxsd", "vpminsd"),
    ("avx512", "quantise", ANY, "quantise", "vpmaxsd", "vpminsd"),
    # The factors: a sum's sign lost, an entry's place, the fourth's bits, a row's exponent left out, a limb's
    # weight, an exponent that is not the least, an entry's sign lost, 2^t.
    ("avx2", "low_rank_inner", ANY, "low_rank_inner", r"vpmovsxdq", "vpmovzxdq"),
    ("avx512", "low_rank_inner", ANY, "multiply_8_rows", r"(vpsllw .*,)0x4", r"\g<1>0x3"),
    ("avx512", "low_rank_inner", ANY, "multiply_8_rows", r"(vpternlogd .*,)0xf8",
     r"\g<1>0xf4"),
    ("avx512", "multiply_panel<4>", ANY, "multiply_panel<4u>", r"(vpsraw .*,)0x4", r"\g<1>0x3"),
    ("avx512", "add_rows<4>", ANY, "add_rows<4u>", r"vpsllvq( +zmm\d+,zmm\d+),zmm\d+", r"vmovdqa64\1"),
    ("avx512", "add_rows<3>", ANY, "add_rows<3u>", r"(vpsllq .*,)0xe", r"\g<1>0xd"),
    ("avx512", "add_pass<3>", ANY, "add_pass<3u>", r"add +rbx,0x200", "add rbx,0x100"),
    ("avx512", "low_rank_outer", ANY, "low_rank_outer", r"(add +r14,)0x400", r"\g<1>0x200"),
    ("avx512", "split_pass<3>", ANY, "split_pass<3u>", r"(sar .*,)0xe", r"\g<1>0xd"),
    ("avx512", "pack_slice", ANY, "pack_slice", r"(shl +ebx,)0x4", r"\g<1>0x3"),
    ("avx512", "pack_right", ANY, "pack_right", r"(shl +r12,)0x4", r"\g<1>0x3"),
    ("avx2", "add_groups<4>", ANY, "add_groups<4u>", r"(vpsllq .*,)0xe", r"\g<1>0xd"),
    ("avx2", "multiply_group<3>", ANY, "multiply_group<3u>", "vpmovsxdq", "vpmovzxdq"),
    ("avx2", "begin", ANY, "begin", r"((shl|vpsllq) .*,)0x10", r"\g<1>0x11"),
    ("avx2", "add_pass<3>", ANY, "add_pass<3u>", r"(\[rcx\+r13\*8-0x)80", r"\g<1>78"),
    ("avx2", "low_rank_outer", ANY, "outer_product<4u>", r"(add +r12,)0x800", r"\g<1>0x400"),
    ("portable", "least_exponent", ANY, "least_exponent", r"0x7ff", "0x3ff"),
    ("portable", "shift_row", ANY, "shift_row", r"\bsar( +\w+,cl)", r"shl\1"),
    ("portable", "pack_left", ANY, "pack_left", r"add +r12,r14", "add r12,r15"),
    # Another row's place; a row that is not wiped; the exponents of another place.
    ("avx2", "pack_row", ANY, "pack_row", r"\bsar( +\w+,cl)", r"shl\1"),
    ("avx2", "pack_left", ANY, "pack_left", r"add +rbp,0x4\b", "add rbp,0x8"),
    ("avx512", "shift_row", ANY, "shift_row", r"\bsar( +\w+,cl)", r"shl\1"),
    ("avx512", "pack_pairs", ANY, "pack_pairs", r"shl +ebx,0x4", "shl ebx,0x3"),
    ("avx512", "pack_left_panel", ANY, "pack_left_panel", r"mov +esi,0x4000", "mov esi,0x3f00"),
    # A function that writes where another one's numbers stand.
    ("avx512", "pack_left_panel", ANY, "pack_left_panel", r"add +r14,0x1\b",
     r"\g<0>; mov BYTE PTR [rsp+0x30],r14b"),
    ("avx512", "add_pass<4>", ANY, "add_pass<4u>", r"add +r14,0x40", r"\g<0>; mov DWORD PTR [rsp+0x80],esi"),
    ("avx512", "low_rank_outer", ANY, "low_rank_outer", r"(add +r14,)0x400",
     r"\g<0>; mov WORD PTR [rsp+0x80],bx"),
    ("avx2", "low_rank_outer", ANY, "outer_product<3u>", r"(add +r12,)0x800",
     r"\g<0>; mov WORD PTR [rsp+0x80],bx"),
    ("avx512", "pack_pass", ANY, "pack_pass", r"lea +r8,\[r14\+rbx\*1\]", "mov r8,r14"),
    ("avx512", "pack_left", ANY, "pack_left", r"add +r15,0x200", "add r15,0x100"),
    ("portable", "combine_rows<4>", ANY, "combine_rows<4ul>", r"(shl +rcx,)0x10", r"\g<1>0x14"),
    ("portable", "combine_rows<1>", ANY, "combine_rows<1ul>", r"psllq( +xmm0,)0x20", r"psllq\g<1>0x1f"),
    # The next rows' exponents for those of the last ones.
    ("portable", "low_rank_outer", ANY, "low_rank_outer", r"add +rbx,0x1\b", "add rbx,0x2"),
]
# The same; and the last sizes must accept it, for they do not come to what is changed: a second block
# of columns of W, a size that is not the proof's one.
SIZE_MUTANTS = [
    # The portable products: columns counted in 8 bits, 7 taken for 8; a third plane, and a second pair in the
    # place of the first; 3 vectors taken for 4; vectors counted in 16 bits.
    ("portable", "join_planes", ANY, "join_planes", r"cmp +r9,rcx", "cmp r9b,cl", "width=5"),
    ("portable", "join_planes", ANY, "join_planes", r"cmp +rsi,0x6\b", "cmp rsi,0x5", "width=3"),
    ("portable", "finish", ANY, "finish", r"lea +r9,\[rdx\+0x2\]", "lea r9,[rdx+0x3]", "planes=2"),
    ("portable", "finish", ANY, "finish", r"lea +rcx,\[rax\+rdx\*1\]", "lea rcx,[rax]", "planes=1"),
    ("portable", "gemm", ANY, "gemm", r"cmp +rbp,0x3\b", "cmp rbp,0x2", "m=3 n=5 b=1 planes=3"),
    ("portable", "gemm", ANY, "gemm", r"imul +rbp,r8", "imul bp,r8w", "m=5 n=6 b=2 planes=3"),
    ("portable", "gemm_plane", ANY, "gemm_plane", r"cmp +r8,0x3\b", "cmp r8,0x2", "m=3 n=5 b=2 plane=5"),
    ("portable", "gemm_plane", ANY, "gemm_plane", r"cmp +rbp,rbx", "cmp bp,bx", "m=3 n=5 b=2 plane=5"),
    # Blocks of 4098 columns, which begin between two steps; no planes where 4 are left of 8.
    ("avx512", "gemm", ANY, "gemm", r"(mov +eax,)0x1000\b", r"\g<1>0x1002", "m=5 n=6 b=2 planes=3"),
    ("avx512", "gemm", ANY, "gemm", r"and +rax,0xf+c", "and rax,0xfffffffffffffff8", "m=5 n=6 b=2 planes=3"),
    ("avx512", "gemm_plane", ANY, "gemm_plane", r"0x1000\b", "0x1002", "m=3 n=5 b=2 plane=5"),
    ("avx512", "gemm_plane", ANY, "gemm_plane", r"cmp +\w+,0x5\b", r"cmp rdi,0x6", "m=3 n=5 b=2 plane=5"),
    # A third column behind the last step; planes counted in 16 bits; rows 16 to 31 left out, 15 rows taken
    # for 16.
    ("avx512", "multiply_block<1>", ANY, "multiply_block<1ul>", r"cmp +\w+,0x3\b", "cmp rax,rax", "rest=1"),
    ("avx512", "multiply_block<4>", ANY, "multiply_block<4ul>", r"cmp +r12,rcx", "cmp r12w,cx",
     "count=3 rest=0"),
    ("avx512", "multiply_block<5>", ANY, "multiply_block<5ul>", r"cmp +\w+,0x3\b", "cmp rax,rax", "rest=1"),
    ("avx512", "finish", ANY, "finish", r"add +rsi,0x10\b", "add rsi,0x20", "rows=9"),
    ("avx512", "finish", ANY, "finish", r"cmp +rcx,0xf\b", "cmp rcx,0xe", "rows=20"),
    # The same of AVX2; 65 vectors at once.
    ("avx2", "gemm", ANY, "gemm", r"(mov +eax,)0x800\b", r"\g<1>0x801", "m=5 n=6 b=2 planes=3"),
    ("avx2", "gemm", ANY, "gemm", r"(mov +r8d,)0x40\b", r"\g<1>0x41", "m=5 n=6 b=2 planes=3"),
    ("avx2", "gemm_plane", ANY, "gemm_plane", r"(mov +r13d,)0x800\b", r"\g<1>0x801", "m=3 n=5 b=2 plane=5"),
    ("avx2", "gemm_plane", ANY, "gemm_plane", r"(\[rsp\+0x28\],)0x40\b", r"\g<1>0x41", "m=3 n=5 b=2 plane=5"),
    # 7 vectors that are left taken for 4; panels counted in 16 bits; only the first vector.
    ("avx2", "multiply_block", ANY, "multiply_block", r"cmp +rbx,0x3\b", "cmp rbx,0x7", "count=2"),
    ("avx2", "multiply_block", ANY, "multiply_block", r"cmp +r12,rax", "cmp r12w,ax", "m=40"),
    ("avx2", "multiply_block", ANY, "multiply_block", r"cmp +r12,r15", "cmp r15,r15", "count=1"),
    # 257 steps added up in 32 bits; no second plane; second steps that begin elsewhere; a block that begins
    # elsewhere.
    ("avx2", "multiply_pass<1>", ANY, "multiply_pass<1ul>", r"(mov +ecx,)0x100\b", r"\g<1>0x101",
     "width=100 planes=1"),
    ("avx2", "multiply_pass<1>", ANY, "multiply_pass<1ul>", r"cmp +r9,r13", "cmp r9,r9", "planes=1"),
    ("avx2", "multiply_pass<2>", ANY, "multiply_pass<2ul>", r"(add +r15,)0x400\b", r"\g<1>0x3fe",
     "width=100 planes=2"),
    ("avx2", "multiply_pass<2>", ANY, "multiply_pass<2ul>", r"shr +rax,1\b", "nop", "half=0 planes=2"),
    ("avx2", "multiply_pass<3>", ANY, "multiply_pass<3ul>", r"(add +r12,)0x400\b", r"\g<1>0x200",
     "width=100 planes=1"),
    ("avx2", "multiply_pass<3>", ANY, "multiply_pass<3ul>", r"cmp +r15,r10", "cmp r15,r15", "planes=1"),
    ("avx2", "multiply_pass<4>", ANY, "multiply_pass<4ul>", r"(mov +r15d,)0x100\b", r"\g<1>0x101",
     "width=100 planes=1"),
    ("avx2", "multiply_pass<4>", ANY, "multiply_pass<4ul>", r"shr +rax,1\b", "nop", "half=0 planes=1"),
    # No second plane; the first block's columns for those of any; 15 columns taken for 16, the beginning of a
    # plane for its rest; columns counted in 16 bits; what is behind a rest is not 0; rows of one bit of their
    # number left out.
    ("avx2", "join_planes", ANY, "join_planes", r"cmp +r9,r10", "cmp r9,r9", "planes=1"),
    ("avx2", "join_planes", ANY, "join_planes", r"add +rdi,QWORD PTR \[rcx\+0x28\]", "nop", "half=0"),
    ("avx2", "join_pair", ANY, "join_pair", r"cmp +rdx,0xf\b", "cmp rdx,0xe", "width=40"),
    ("avx2", "join_pair", ANY, "join_pair", r"lea +rsi,\[r9\+rbx\*1\]", "lea rsi,[r9]", "width=9"),
    ("avx2", "widen_plane", ANY, "widen_plane", r"cmp +rdx,0xf\b", "cmp rdx,0xe", "width=40"),
    ("avx2", "widen_plane", ANY, "widen_plane", r"cmp +rbx,r12", "cmp bx,r12w", "width=40"),
    ("avx2", "widen_plane", ANY, "widen_plane", r"vmovdqa +XMMWORD PTR \[rsp\+0x30\],xmm0", "nop",
     "width=32"),
    ("avx2", "finish_plane", ANY, "finish_plane", r"and +r10d,0x2\b", "and r10d,0x0", "rows=9"),
    ("avx2", "finish_plane", ANY, "finish_plane", r"and +eax,0x8\b", "and eax,0x0", "rows=4"),
    # Of any size: wrong from 2^32 on, or where one number is left over.
    ("portable", "mask", ANY, "mask", "and +r13,0xfffffffffffffff0", "and r13d,0xfffffff0", "n=37 planes=1"),
    ("portable", "mask", ANY, "mask", r"lea +rdx,\[r14\+0xe\]", "lea rdx,[r14+0xf]", "n=37 planes=1"),
    ("avx2", "mask", ANY, "mask", "cmp +rax,rsi", "cmp eax,esi", "n=37 planes=1"),
    ("avx2", "mask", ANY, "mask", r"cmp +rdx,0xf\b", "cmp rdx,0xe", "n=37 planes=1"),
    # The first 8 lanes are right, and what was proved of them is not of the others.
    ("avx2", "mask", ANY, "mask", r"vpackuswb +xmm0,xmm0,xmm1", "vpackuswb xmm0,xmm0,xmm0", "n=5 planes=1"),
    ("avx512", "mask", ANY, "mask", "cmp +rax,rdi", "cmp eax,edi", "n=37 planes=1"),
    ("avx512", "mask", ANY, "mask", r"cmp +rcx,0x20\b", "cmp rcx,0x1f", "n=37 planes=1"),
    ("portable", "unmask", ANY, "unmask", "cmp +r13,rsi", "cmp r13d,esi", "m=21 planes=4"),
    ("portable", "unmask", ANY, "unmask", r"add +r10,0x1\b", "add r10d,0x1", "m=21 planes=4"),
    ("avx2", "unmask", ANY, "unmask", "cmp +r13,r9", "cmp r13d,r9d", "m=21 planes=4"),
    ("avx2", "unmask", ANY, "unmask", r"cmp +rdx,0xf\b", "cmp rdx,0xe", "m=21 planes=4"),
    ("avx512", "unmask", ANY, "unmask", r"cmp +rsi,0x7\b", "cmp esi,0x7", "m=21 planes=4"),
    ("avx512", "unmask", ANY, "unmask", r"cmp +rcx,0x7\b", "cmp rcx,0x6", "m=21 planes=4"),
    ("portable", "below", ANY, "below", "and +rdx,0xfffffffffffffff0", "and edx,0xfffffff0", "n=21"),
    ("portable", "below", ANY, "below", r"lea +rdx,\[rcx\+0x6\]", "lea rdx,[rcx+0x7]", "n=21"),
    ("avx512", "below", ANY, "below", "cmp +rax,rsi", "cmp eax,esi", "n=69"),
    ("avx512", "below", ANY, "below", r"cmp +rcx,0x3f\b", "cmp rcx,0x3e", "n=69"),
    ("avx2", "below", ANY, "below", "cmp +rbx,rax", "cmp ebx,eax", "n=69"),
    ("avx2", "below", ANY, "below", r"add +rax,0x20", "add eax,0x20", "n=69"),
    ("portable", "dequantise", ANY, "dequantise", "cmp +rdx,rax", "cmp edx,eax", "m=21"),
    ("portable", "dequantise", ANY, "dequantise", "test +rdx,rdx", "test edx,edx", "m=21"),
    ("avx2", "dequantise", ANY, "dequantise", "cmp +rax,rdx", "cmp eax,edx", "m=21"),
    ("avx2", "dequantise", ANY, "dequantise", r"cmp +rdx,0x3\b", "cmp rdx,0x2", "m=21"),
    ("avx512", "dequantise", ANY, "dequantise", "cmp +rdi,rax", "cmp edi,eax", "m=21"),
    ("avx512", "dequantise", ANY, "dequantise", r"cmp +rdi,0x7\b", "cmp rdi,0x6", "m=21"),
    # A lane that the fifth square goes to; passes counted in 16 bits; half a rest, or one of 7.
    ("portable", "quantise", ANY, "quantise", r"and +edx,0x7\b", "and edx,0x3", "n=4"),
    ("portable", "quantise", ANY, "quantise", "cmp +rsi,rax", "cmp si,ax", "n=18"),
    ("avx2", "quantise", ANY, "quantise", r"shl +rdx,0x2\b", "shl rdx,0x1", "n=8"),
    ("avx2", "quantise", ANY, "quantise", "cmp +r13,rax", "cmp r13w,ax", "n=11"),
    ("avx512", "quantise", ANY, "quantise", r"cmp +rcx,0x7\b", "cmp rcx,0x6", "n=21"),
    ("avx512", "quantise", ANY, "quantise", "cmp +rsi,rax", "cmp si,ax", "n=21"),
    # Steps counted in 8 or 16 bits, their bytes in 8.
    ("avx2", "multiply_panel_by_2", ANY, "multiply_panel_by_2", r"sub +rcx,0x1\b", "sub cl,0x1", "steps=3"),
    ("avx2", "multiply_panel_by_4", ANY, "multiply_panel_by_4", r"sub +rcx,0x1\b", "sub cx,0x1", "steps=3"),
    ("avx512", "multiply_panel_by_1", ANY, "multiply_panel_by_1", "cmp +rdi,rdx", "cmp di,dx", "steps=3"),
    ("avx512", "multiply_panel_by_5", ANY, "multiply_panel_by_5", r"shl +rdx,0x2", "shl dl,0x2", "steps=3"),
    # Blocks of a pass counted in 16 bits; the second pass begins elsewhere.
    ("avx512", "combine", ANY, "combine", r"cmp +rax,rcx", "cmp ax,cx", "n=70 b=2 planes=1"),
    ("avx512", "combine", ANY, "combine", r"shr +r12,0x6", "shr r12,0x7", "n=70 b=2 planes=1"),
    ("portable", "combine", ANY, "combine", r"cmp +rax,r8", "cmp ax,r8w", "n=70 b=2 planes=1"),
    ("avx2", "combine", ANY, "combine", r"cmp +rdi,rcx", "cmp di,cx", "n=70 b=2 planes=1"),
    ("avx2", "combine", ANY, "combine", r"shr +r13,0x6", "shr r13,0x7", "n=70 b=2 planes=1"),
    # 31 or 255 products taken for 32 or 256; a rest of 4 products left out.
    ("portable", "low_rank_inner", ANY, "low_rank_inner", r"cmp +rbx,0x1f\b", "cmp rbx,0x1e", "k=1 n=70"),
    ("portable", "low_rank_inner", ANY, "low_rank_inner", r"test +cl,0x7\b", "test cl,0x3", "k=1 n=70"),
    ("avx2", "low_rank_inner", ANY, "low_rank_inner", r"cmp +rsi,0xff\b", "cmp rsi,0xfe", "k=2 n=280"),
    ("avx2", "low_rank_inner", ANY, "low_rank_inner", r"and +r13d,0x7\b", "and r13d,0x3", "k=5 n=9"),
    # Columns counted in 8 bits; 7 of them taken for 8, a rest of 4 left out; 3 rows taken for 4, the place of
    # the exponents cut to 32 bits.
    ("portable", "combine_rows<4>", ANY, "combine_rows<4ul>", r"cmp +r11,rax", "cmp r11b,al", "k=3"),
    ("portable", "combine_rows<4>", ANY, "combine_rows<4ul>", r"test +r11,r11", "test r11b,r11b", "k=3"),
    ("portable", "combine_rows<1>", ANY, "combine_rows<1ul>", r"cmp +rax,0x6\b", "cmp rax,0x5", "k=9"),
    ("portable", "combine_rows<1>", ANY, "combine_rows<1ul>", r"test +dl,0x7\b", "test dl,0x3", "k=9"),
    ("portable", "low_rank_outer", ANY, "low_rank_outer", r"cmp +rsi,0x3\b", "cmp rsi,0x2", "m=6 k=9"),
    ("portable", "low_rank_outer", ANY, "low_rank_outer", r"imul +r10,rsi", "imul r10d,esi", "m=6 k=9"),
    # The same of layouts; also wrong from 2^16 on.
    ("portable", "packed_bytes", ANY, "packed_bytes", r"imul +rax,rsi", "imul eax,esi", "m=3 n=5"),
    ("portable", "packed_bytes", ANY, "packed_bytes", r"mov +rax,rdi", "movzx eax,di", "m=3 n=5"),
    ("avx2", "packed_bytes", ANY, "packed_bytes", r"imul +rsi,rdi", "imul esi,edi", "m=3 n=5"),
    ("avx2", "packed_bytes", ANY, "packed_bytes", r"add +rdi,0xf", "add rdi,0xe", "m=3 n=5"),
    ("avx512", "packed_bytes", ANY, "packed_bytes", r"imul +rsi,rdi", "imul esi,edi", "m=3 n=5"),
    ("avx512", "packed_bytes", ANY, "packed_bytes", r"add +rsi,0x3\b", "add rsi,0x2", "m=3 n=6"),
    ("portable", "combinations_bytes", ANY, "combinations_bytes", r"add +rdi,0x3f", "add rdi,0x3e",
     "n=3 planes=7"),
    ("portable", "combinations_bytes", ANY, "combinations_bytes", r"shr +rdi,0x6", "shr di,0x6",
     "n=3 planes=7"),
    ("portable", "right_bytes", ANY, "right_bytes", r"imul +rdi,rsi", "imul edi,esi", "k=3 n=5"),
    ("portable", "right_bytes", ANY, "right_bytes", r"lea +rax,", "lea eax,", "k=3 n=5"),
    ("avx512", "right_bytes", ANY, "right_bytes", r"imul +rsi,rdi", "imul esi,edi", "k=3 n=5"),
    ("avx512", "right_bytes", ANY, "right_bytes", r"add +rdi,0x7\b", "add rdi,0x6", "k=3 n=5"),
    ("portable", "left_bytes", ANY, "left_bytes", r"imul +rax,rdi", "imul eax,edi", "m=3 k=5"),
    ("portable", "left_bytes", ANY, "left_bytes", r"lea +rax,\[rsi\+rsi\*1\+0x1\]",
     "movzx eax,si; lea rax,[rax+rax*1+0x1]", "m=3 k=5"),
    ("avx2", "left_bytes", ANY, "left_bytes", r"imul +rax,rdi", "imul eax,edi", "m=3 k=5"),
    ("avx2", "left_bytes", ANY, "left_bytes", r"add +rdi,0x7\b", "add rdi,0x6", "m=3 k=5"),
    ("avx512", "left_bytes", ANY, "left_bytes", r"imul +rax,rdi", "imul eax,edi", "m=3 k=5"),
    ("avx512", "left_bytes", ANY, "left_bytes", r"and +rsi,0xf+e", "and esi,0xfffe", "m=3 k=5"),
    ("portable", "pack", ANY, "pack", r"imul +rdx,rsi", "imul edx,esi", "m=3 n=5"),
    ("portable", "pack", ANY, "pack", r"test +rdx,rdx", "test edx,edx", "m=3 n=5"),
    # Columns and rows counted in 16 or 8 bits; the padding of a last step left out; panels that have no room
    # for one.
    ("avx2", "pack_panel", ANY, "pack_panel", r"cmp +rdx,rax", "cmp dx,ax", "rows=3 n=5"),
    ("avx2", "pack_panel", ANY, "pack_panel", r"add +rdx,0x1\b", "nop", "rows=3 n=4"),
    ("avx2", "pack", ANY, "pack", r"cmp +rbx,r14", "cmp bx,r14w", "m=35 n=5"),
    ("avx2", "pack", ANY, "pack", r"lea +r13,\[rdx\+0x1\]", "mov r13,rdx", "m=35 n=4"),
    ("avx512", "pack_panel", ANY, "pack_panel", r"cmp +rsi,rax", "cmp si,ax", "rows=3 n=9"),
    ("avx512", "pack_panel", ANY, "pack_panel", r"cmp +rsi,0x3\b", "cmp sil,0x3", "rows=3 n=9"),
    ("avx512", "pack_panel", ANY, "pack_panel", r"add +rsi,0x3\b", "add rsi,0x2", "rows=3 n=6"),
    ("avx512", "pack", ANY, "pack", r"cmp +rbx,r14", "cmp bx,r14w", "m=67 n=5"),
    ("avx512", "pack", ANY, "pack", r"lea +r13,\[rdx\+0x3\]", "lea r13,[rdx+0x2]", "m=67 n=6"),
    # Another number of entries; a padding that is not 0; entries counted in 16 bits; never less than 64.
    ("portable", "pack_entries", ANY, "pack_entries", r"cmp +rax,r8", "cmp rax,0x20", "count=32"),
    ("portable", "pack_entries", ANY, "pack_entries", r"xor +esi,esi", "mov esi,edx", "count=64"),
    ("portable", "pack_combinations", ANY, "pack_combinations", r"cmp +rbp,rdx", "cmp bp,dx",
     "n=67 planes=2"),
    ("portable", "pack_combinations", ANY, "pack_combinations", r"cmova +r13,rax", "mov r13,rax",
     "n=64 planes=2"),
    # An exponent that is never found; the last entry's alone, of 2^16 none; a sign lost, if 16 bits show it.
    ("portable", "least_exponent", ANY, "least_exponent", r"cmp +ecx,0x15", "cmp ecx,0x13", "e=3"),
    ("portable", "least_exponent", ANY, "least_exponent", r"or +rsi,rax", "mov rsi,rax", "k=1"),
    ("portable", "least_exponent", ANY, "least_exponent", r"test +rsi,rsi", "test si,si", "k=3"),
    ("portable", "shift_row", ANY, "shift_row", r"\bsar( +\w+,cl)", r"shr\1", "e=3"),
    ("portable", "shift_row", ANY, "shift_row", r"cmp +rsi,rax", "cmp si,ax", "k=5"),
    ("portable", "pack_left", ANY, "pack_left", r"imul +rbp,r14", "imul ebp,r14d", "m=3 k=5"),
    ("portable", "pack_left", ANY, "pack_left", r"test +rsi,rsi", "test si,si", "m=3 k=5"),
    # The last of 128 entries left out, those from 64 on left out; rows or columns counted in 16 bits.
    ("avx512", "pack_slice", ANY, "pack_slice", r"lea +rcx,\[rdx\+0x60\]", "lea rcx,[rdx+0x61]",
     "count=33"),
    ("avx512", "pack_slice", ANY, "pack_slice", r"cmp +r8,rsi", "cmp r8,0x40", "count=33"),
    ("avx512", "pack_right", ANY, "pack_right", r"cmp +rcx,rbx", "cmp cx,bx", "k=9 n=133"),
    ("avx512", "pack_right", ANY, "pack_right", r"cmp +rax,rdx", "cmp ax,dx", "k=9 n=133"),
    ("portable", "pack_right", ANY, "pack_right", r"imul +rsi,rdx", "imul esi,edx", "k=2 n=9"),
    ("portable", "pack_right", ANY, "pack_right", r"add +rsi,rsi", "add esi,esi", "k=2 n=9"),
]
# The layouts of A: every 256th number of columns, pairs or rows left out, or every 2^16th; the padding of an
# odd column; 64 columns or one row alone; a row that the last panel has not; another place of the second
# pair; a panel of 63 rows; a pass of 127 columns.
SIZE_MUTANTS += [
    ("avx2", "pack_row", ANY, "pack_row", r"cmp +rsi,0x1\b", "cmp sil,0x1", "k=5"),
    ("avx2", "pack_row", ANY, "pack_row", r"xor +eax,eax", "mov eax,ecx", "k=4"),
    ("avx2", "clear_row", ANY, "clear_row", r"sub +rdi,0x1\b", "sub dil,0x1", "k=5"),
    ("avx2", "clear_row", ANY, "clear_row", r"test +rdi,rdi", "test dil,dil", "k=5"),
    ("avx2", "pack_left", ANY, "pack_left", r"imul +r13,r11", "imul r13d,r11d", "m=3 k=5"),
    ("avx2", "pack_left", ANY, "pack_left", r"cmp +r12,r14", "cmp r12w,r14w", "m=19 k=5"),
    ("avx512", "find_exponents", ANY, "find_exponents", r"test +rsi,rsi", "test si,si", "m=3"),
    ("avx512", "find_exponents", ANY, "find_exponents", r"lea +rdx,\[r13\+0x3f\]", "lea rdx,[r13+0x3e]",
     "m=3"),
    ("avx512", "shift_row", ANY, "shift_row", r"cmp +rax,rsi", "cmp rax,0x40", "width=64"),
    ("avx512", "shift_row", ANY, "shift_row", r"\bsar( +\w+,cl)", r"shr\1", "e=3"),
    ("avx512", "pack_pairs", ANY, "pack_pairs", r"add +r9,0xc0", "add r9,0xc1", "pairs=1"),
    ("avx512", "pack_pairs", ANY, "pack_pairs", r"add +rdi,0x4\b", "add rdi,0x2", "pairs=1"),
    ("avx512", "pack_left_panel", ANY, "pack_left_panel", r"cmp +r14,r13", "cmp r14,0x1", "rows=1"),
    ("avx512", "pack_left_panel", ANY, "pack_left_panel", r"add +rsi,0x1\b", "nop", "width=2"),
    ("avx512", "pack_pass", ANY, "pack_pass", r"cmp +rbx,r13", "cmp bx,r13w", "m=67"),
    ("avx512", "pack_pass", ANY, "pack_pass", r"(mov +edx,)0x40\b", r"\g<1>0x3f", "m=5"),
    ("avx512", "pack_left", ANY, "pack_left", r"imul +rax,rbp", "imul eax,ebp", "m=3 k=5"),
    ("avx512", "pack_left", ANY, "pack_left", r"(mov +eax,)0x80\b", r"\g<1>0x7f", "k=5"),
]
for backend in ("avx2", "avx512"):
    SIZE_MUTANTS += [
        (backend, "least_exponent", ANY, "least_exponent", r"cmp +ecx,0x15", "cmp ecx,0x13", "e=3"),
        (backend, "least_exponent", ANY, "least_exponent", r"test +rsi,rsi", "test si,si", "k=3")]
# The outer products: an even number of columns taken for an odd one; an address compared, or an end
# computed, in 8 bits; limbs that do not follow each other; rows 8 to 15 taken twice, 7 rows taken for 8; rows
# counted in 16 bits; panels of 63 rows, groups of 7; passes of 127 columns; an odd pair left out; a rest
# elsewhere.
ONE_PLACE = {("avx512", 3): ("rdi,rsi", "dil,sil"), ("avx512", 4): ("rsi,r8", "sil,r8b"),
             ("avx2", 3): ("rsi,rdi", "sil,dil"), ("avx2", 4): ("r9,rbx", "r9b,bl")}
for (backend, limbs), (whole, low) in ONE_PLACE.items():
    own = backend, f"split_pass<{limbs}>", ANY, f"split_pass<{limbs}u>"
    SIZE_MUTANTS += [(*own, r"(test +\w+,)0x1\b", r"\g<1>0x3", "whole=2 odd=0"),
                     (*own, rf"cmp +{whole}", f"cmp {low}", "whole=5 odd=0")]
SIZE_MUTANTS += [
    ("avx512", "multiply_panel<3>", ANY, "multiply_panel<3u>", r"add +rsi,0xc\b", "add rsi,0x10", "pairs=1"),
    ("avx512", "multiply_panel<3>", ANY, "multiply_panel<3u>", r"cmp +rdi,rax", "cmp dil,al", "pairs=3"),
    ("avx512", "multiply_panel<4>", ANY, "multiply_panel<4u>", r"shl +rdx,0x4", "shl dl,0x4", "pairs=3"),
    ("avx512", "multiply_panel<4>", ANY, "multiply_panel<4u>", r"cmp +rdi,rsi", "cmp dil,sil", "pairs=3"),
    ("avx512", "low_rank_outer", ANY, "low_rank_outer", r"imul +rdx,rcx", "imul edx,ecx", "m=3 k=5"),
    ("avx512", "low_rank_outer", ANY, "low_rank_outer", r"(mov +edx,)0x80\b", r"\g<1>0x7f", "k=5"),
    ("avx2", "add_groups<3>", ANY, "add_groups<3u>", r"and +r8d,0x20", "and r8d,0x0", "odd=0"),
    ("avx2", "add_groups<3>", ANY, "add_groups<3u>", r"cmp +rsi,rdi", "cmp sil,dil", "half=2 odd=0"),
    ("avx2", "add_groups<4>", ANY, "add_groups<4u>", r"and +r8d,0x10", "and r8d,0x0", "odd=0"),
    ("avx2", "add_groups<4>", ANY, "add_groups<4u>", r"cmp +rsi,rcx", "cmp sil,cl", "half=2 odd=0"),
    ("avx2", "multiply_group<3>", ANY, "multiply_group<3u>", r"and +ecx,0x20", "and ecx,0x0", "odd=0"),
    ("avx2", "multiply_group<3>", ANY, "multiply_group<3u>", r"cmp +rax,rdi", "cmp al,dil", "half=2 odd=0"),
    ("avx2", "multiply_group<4>", ANY, "multiply_group<4u>", r"and +ecx,0x10", "and ecx,0x0", "odd=0"),
    ("avx2", "multiply_group<4>", ANY, "multiply_group<4u>", r"cmp +rax,rdx", "cmp al,dl", "half=2 odd=0"),
    ("avx2", "begin", ANY, "begin", r"cmp +rdi,rax", "cmp di,ax", "m=5"),
    ("avx2", "begin", ANY, "begin", r"test +dil,0x3", "test dil,0x1", "m=5"),
    ("avx2", "add_rows", ANY, "add_rows", r"(shr +rdx,)0x2\b", r"\g<1>0x1", "rows=3"),
    ("avx2", "add_rows", ANY, "add_rows", r"(mov +edx,)0x4\b", r"\g<1>0x3", "rows=4"),
    ("avx2", "low_rank_outer", ANY, "outer_product<3u>", r"imul +rdx,rcx", "imul edx,ecx", "m=3 k=5"),
    ("avx2", "low_rank_outer", ANY, "outer_product<3u>", r"(mov +edx,)0x80\b", r"\g<1>0x7f", "k=5"),
]
for limbs in (3, 4):
    rows, panels = (("avx512", f"{name}<{limbs}>", ANY, f"{name}<{limbs}u>") for name in (
        "add_rows", "add_pass"))
    groups = ("avx2", *panels[1:])
    SIZE_MUTANTS += [(*rows, r"and +rdi,0xf+8", "and rdi,0xfffffffffffffff0", "rows=9"),
                     (*rows, r"cmp +rdx,0x7\b", "cmp rdx,0x6", "rows=20"),
                     (*panels, r"cmp +r14,r13", "cmp r14w,r13w", "m=67"),
                     (*panels, r"(mov +ecx,)0x40\b", r"\g<1>0x3f", "m=5"),
                     (*groups, r"cmp +r14,rbx", "cmp r14w,bx", "m=35"),
                     (*groups, r"(mov +edx,)0x8\b", r"\g<1>0x7", "m=19")]
# The same of what the portable products consist of, for so many rows and vectors: 15 columns taken for 16, a
# rest of 8 left out; every other pass left out, a vector's second pass elsewhere.
OF_ROWS = {"add_products": ((r"cmp +rax,0xe\b", "cmp rax,0xd", "n=3"),
                            (r"(and +[re]\w+|test +\w+),0xf\b", r"\1,0x7", "n=3")),
           "multiply_rows": ((r"(and +\w+,0xfffffffffffff)e00", r"\1c00", "width=513"),
                             (r"(add +\w+,0x)400\b", r"\g<1>402", "width=512"))}
for function, changes in OF_ROWS.items():
    for own, symbol in (portable_products.of_shape(function, *shape) for shape in portable_products.SHAPES):
        SIZE_MUTANTS += [("portable", own, ANY, symbol, *change) for change in changes]
# A row less than there must be for a group; a panel of another width; the second one elsewhere.
SIZE_MUTANTS += [("portable", f"multiply_vectors<{rows}, {vectors}>", ANY,
                  f"multiply_vectors<{rows}ul, {vectors}ul>", *change)
                 for vectors, rows in portable_products.WIDEST.items() for change in (
                     (rf"cmp +rdx,0x{rows - 1}\b", f"cmp rdx,0x{rows - 2}", f"m={rows} n=5"),
                     (r"0x2000\b", "0x2001", "n=5"), (r"add +r13,0x2000\b", "add r13,0x1000", "n=5"))]
# The same of the code that clang makes.
SIZE_MUTANTS_OF_CLANG = [
    ("portable", "pack", ANY, "pack", r"imul +rax,rdx", "imul eax,edx", "m=3 n=5"),
    ("portable", "mask", ANY, "mask", r"cmp +r11,rdx", "cmp r11d,edx", "n=37 planes=1"),
    ("portable", "below", ANY, "below", r"cmp +rsi,rcx", "cmp esi,ecx", "n=21"),
    ("portable", "dequantise", ANY, "dequantise", r"test +dl,0x1", "test dl,0x3", "m=4"),
    # The last magnitude for the greatest; 4 lanes for 8.
    ("portable", "quantise", ANY, "quantise", r"cmovle +r8d,r10d", "mov r8d,r10d", "n=1"),
    ("portable", "quantise", ANY, "quantise", r"and +r8d,0x7\b", "and r8d,0x3", "n=4"),
    # Half a rest, or one of 7; passes counted in 16 bits.
    ("avx2", "quantise", ANY, "quantise", r"shl +rax,0x2\b", "shl rax,0x1", "n=8"),
    ("avx2", "quantise", ANY, "quantise", "cmp +rax,rsi", "cmp ax,si", "n=11"),
    ("avx512", "quantise", ANY, "quantise", r"cmp +rcx,0x8\b", "cmp rcx,0x7", "n=21"),
    ("avx512", "quantise", ANY, "quantise", "cmp +rcx,rsi", "cmp cx,si", "n=21"),
    ("portable", "add_products_4_1", ANY, "add_products_4_1", r"cmp +rcx,0x8\b", "cmp rcx,0x7",
     "n=3"),
    ("portable", "multiply_rows<2, 4>", ANY, "multiply_rows<2ul, 4ul>", r"add +r13,0x400\b", "add r13,0x402",
     "width=512"),
    ("portable", "gemm", ANY, "gemm", r"cmp +rbx,0x4\b", "cmp rbx,0x3", "m=3 n=5 b=1 planes=3"),
    ("avx2", "mask", ANY, "mask", r"cmp +rax,r9", "cmp eax,r9d", "n=37 planes=1"),
    ("avx2", "multiply_panel_by_1", ANY, "multiply_panel_by_1", r"test +cl,0x1", "test cl,0x3", "steps=3"),
    ("avx2", "multiply_panel_by_2", ANY, "multiply_panel_by_2", r"dec +rcx", "dec cl", "steps=3"),
    ("avx2", "left_bytes", ANY, "left_bytes", r"\[rdi\+0x7\]", "[rdi+0x6]", "m=3 k=5"),
    ("avx2", "gemm", ANY, "gemm", r"(mov +r8d,)0x800\b", r"\g<1>0x801", "m=5 n=6 b=2 planes=3"),
    ("avx2", "gemm", ANY, "gemm", r"(mov +r11d,)0x40\b", r"\g<1>0x41", "m=5 n=6 b=2 planes=3"),
    ("avx2", "multiply_block", ANY, "multiply_block", r"cmp +r13,rax", "cmp r13w,ax", "m=40"),
    ("avx2", "multiply_pass<2>", ANY, "multiply_pass<2ul>", r"(mov +r15d,)0x100\b", r"\g<1>0x101",
     "width=100 planes=2"),
    ("avx2", "finish_plane", ANY, "finish_plane", r"and +rcx,0x2\b", "and rcx,0x0", "rows=9"),
    ("avx2", "multiply_group<4>", ANY, "multiply_group<4u>", r"test +cl,0x1", "test cl,0x3", "half=4 odd=1"),
    ("avx2", "add_groups<3>", ANY, "add_groups<3u>", r"test +r8b,0x1", "test r8b,0x3", "half=2 odd=1"),
    ("avx2", "low_rank_outer", ANY, "low_rank_outer", r"imul +rcx,rax", "imul ecx,eax", "m=3 k=5"),
    ("avx512", "add_pass<4>", ANY, "add_pass<4u>", r"(mov +eax,)0x40\b", r"\g<1>0x3f", "m=5"),
    ("avx512", "low_rank_outer", ANY, "low_rank_outer", r"imul +rdx,rdi", "imul edx,edi", "m=3 k=5"),
    ("avx2", "pack_row", ANY, "pack_row", r"cmp +rsi,0x2\b", "cmp sil,0x2", "k=5"),
    ("avx2", "pack_left", ANY, "pack_left", r"imul +rdx,rcx", "imul edx,ecx", "m=3 k=5"),
    ("avx512", "pack_pass", ANY, "pack_pass", r"(mov +esi,)0x40\b", r"\g<1>0x3f", "m=5"),
    ("avx512", "pack_left", ANY, "pack_left", r"(mov +ecx,)0x80\b", r"\g<1>0x7f", "k=5"),
    ("avx512", "mask", ANY, "mask", r"cmp +rcx,0x20\b", "cmp rcx,0x21", "n=37 planes=1"),
    ("avx512", "unmask", ANY, "unmask", r"cmp +r9,rdx", "cmp r9d,edx", "m=37 planes=4"),
    ("avx512", "left_bytes", ANY, "left_bytes", r"imul +rsi,rcx", "imul esi,ecx", "m=3 k=5"),
    # Blocks of a pass counted in 16 bits; the second pass begins elsewhere; half of a column's rest left out.
    ("avx512", "combine", ANY, "combine", r"cmp +rcx,r13", "cmp cx,r13w", "n=70 b=2 planes=1"),
    ("avx512", "combine", ANY, "combine", r"shr +rax,0x6", "shr rax,0x7", "n=70 b=2 planes=1"),
    ("avx2", "combine", ANY, "combine", r"cmp +rdx,r13", "cmp dx,r13w", "n=70 b=2 planes=1"),
    ("avx2", "combine", ANY, "combine", r"and +edx,0x3f", "and edx,0x1f", "n=70 b=2 planes=1"),
    ("portable", "combine", ANY, "combine", r"cmp +rbx,r13", "cmp bx,r13w", "n=70 b=2 planes=1"),
    ("portable", "combine", ANY, "combine", r"and +edx,0x3f", "and edx,0x1f", "n=70 b=2 planes=1"),
    # The passes of 8 registers counted in 8 bits; 31 bytes that are left taken for 32.
    ("avx2", "below", ANY, "below", r"add +rcx,0xf+8", "add cl,0xf8", "n=69"),
    ("avx2", "below", ANY, "below", r"cmp +rsi,0x20", "cmp rsi,0x1f", "n=69"),
    # Slices counted in 8 bits; 5 slices added up where 4 are.
    ("avx512", "low_rank_inner", ANY, "multiply_8_rows", r"sub +rdx,rax", "sub dl,al", "k=9 n=133"),
    ("avx512", "low_rank_inner", ANY, "multiply_8_rows", r"(cmp +rdx|mov +eax),0x4\b", r"\1,0x5",
     "k=9 n=133"),
    # Of less than 32 columns, and behind the last 32 of more, 8 or 16 left out.
    ("portable", "low_rank_inner", ANY, "low_rank_inner", r"and +eax,0x18", "and eax,0x10", "k=1 n=70"),
    ("portable", "low_rank_inner", ANY, "low_rank_inner", r"and +r10d,0x1f", "and r10d,0xf", "k=1 n=70"),
    # Columns counted in 8 bits; 3 of them taken for 4, a last one left out; 3 rows taken for 4, rows counted
    # in 16 bits.
    ("portable", "combine_rows<4>", ANY, "combine_rows<4ul>", r"cmp +rdx,r13", "cmp dl,r13b", "k=3"),
    ("portable", "combine_rows<4>", ANY, "combine_rows<4ul>", r"test +rdx,rdx", "test dl,dl", "k=3"),
    ("portable", "combine_rows<1>", ANY, "combine_rows<1ul>", r"cmp +rdx,0x4\b", "cmp rdx,0x3", "k=9"),
    ("portable", "combine_rows<1>", ANY, "combine_rows<1ul>", r"and +eax,0x3\b", "and eax,0x2", "k=8"),
    ("portable", "low_rank_outer", ANY, "low_rank_outer", r"cmp +rsi,0x4\b", "cmp rsi,0x3", "m=6 k=9"),
    ("portable", "low_rank_outer", ANY, "low_rank_outer", r"cmp +r14,r15", "cmp r14w,r15w", "m=6 k=9"),
    # The layouts: a panel, a block or a slice with one row or entry less than it has room for, taken for a
    # whole one; panels, columns and blocks counted in 16 or 8 bits.
    ("portable", "pack_right", ANY, "pack_right", r"imul +rax,rdx", "imul eax,edx", "k=2 n=9"),
    ("portable", "pack_combinations", ANY, "pack_combinations", r"cmp +r13,0x40", "cmp r13,0x3f",
     "n=67 planes=2"),
    ("portable", "pack_combinations", ANY, "pack_combinations", r"cmp +rax,rsi", "cmp ax,si",
     "n=67 planes=2"),
    ("portable", "pack_entries", ANY, "pack_entries", r"cmp +r8,rsi", "cmp r8,0x20", "count=32"),
    ("avx2", "pack", ANY, "pack", r"cmp +r15,0x10", "cmp r15,0xf", "m=35 n=5"),
    ("avx2", "pack", ANY, "pack", r"cmp +r14,QWORD", "cmp r14w,WORD", "m=35 n=5"),
    ("avx2", "pack_panel", ANY, "pack_panel", r"add +r12,0xf+8", "add r12b,0xf8", "rows=3 n=5"),
    ("avx512", "pack", ANY, "pack", r"cmp +r15,0x40", "cmp r15,0x3f", "m=67 n=5"),
    ("avx512", "pack", ANY, "pack", r"cmp +r14,QWORD", "cmp r14w,WORD", "m=67 n=5"),
    ("avx512", "pack_panel", ANY, "pack_panel", r"add +r12,0xf+8", "add r12b,0xf8", "rows=3 n=9"),
    ("avx512", "pack_right", ANY, "pack_right", r"cmp +rsi,0x80", "cmp rsi,0x7f", "k=9 n=133"),
    ("avx512", "pack_right", ANY, "pack_right", r"cmp +rax,rdx", "cmp ax,dx", "k=9 n=133"),
    ("avx512", "pack_slice", ANY, "pack_slice", r"cmp +rcx,rsi", "cmp rcx,0x40", "count=33"),
    # Whether all 64 bytes of a register are kept is not asked.
    ("avx512", "sample", "n=69", "sample", r"cmovb +r11,r8", "nop", "n=21"),
    ("avx512", "expand", "blocks=37", "expand", r"cmovb +\w+,r10", "nop", "blocks=3"),
]
# The same, with SLIP_FULL alone, for time: slices counted in 16 bits, a slice's place cut to 16 bits.
SLOW_SIZE_MUTANTS = [
    ("avx512", "low_rank_inner", ANY, "multiply_8_rows", r"sub +r8,rdi", "sub r8w,di", "k=9 n=133"),
    ("avx512", "low_rank_inner", ANY, "low_rank_inner", r"shr +rbx,0x7", "shr bx,0x7", "k=9 n=133"),
]
# (backend, kernel, sizes) whose proof must fail without the ranges that the contract requires; the last
# has it tried at these sizes alone, for time.
RANGES_NEEDED = [("portable", "unmask", ANY), ("avx512", "unmask", ANY),
                 ("portable", "add_products_1_1", ANY), ("portable", "low_rank_inner", ANY),
                 ("avx2", "join_pair", ANY), ("avx2", "add_groups<4>", ANY),
                 ("avx512", "low_rank_inner", ANY, "k=1 n=645")]


def refusal(image, run, table, wanted, fixed=""):
    """Why the proof of a row is refused; None if it is not. `fixed`: a size that is not left open."""
    function, = (row[3] for row in table if row[:3] == wanted)
    run.fixed = fixed_sizes(fixed)
    try:
        function(image, run)
    except Refused as refused:
        return str(refused)
    return None


class Mutant(NamedTuple):
    """A change of machine code that the proof of `sizes` must refuse; that of `too_small` does not
    come to what is changed, and so must not."""
    backend: str
    kernel: str
    sizes: str
    changed: str
    pattern: str
    replacement: str
    what: str
    too_small: str = ""


def first_per(key, entries):
    """With SLIP_FULL all entries; everyday the first of each key."""
    chosen = {}
    for entry in entries:
        chosen.setdefault(entry if os.environ.get("SLIP_FULL") else key(entry), entry)
    return list(chosen.values())


def of_floats(table):
    """The mutants of Charlie's float kernels in a table of their modules."""
    return [row for module in FLOATS for row in getattr(module, table, [])]


def mutants(compiler):
    """Those of the rows that run: of g++ everyday one per kernel, and one per assumption on calls."""
    if compiler != "g++":
        return [Mutant(*row[:6], f"with '{row[4]}' changed", row[6]) for row in (
            SIZE_MUTANTS_OF_CLANG + of_floats("SIZE_MUTANTS_OF_CLANG"))]
    plain = [Mutant(*row, f"with '{row[4]}' changed") for row in MUTANTS + of_floats("MUTANTS")]
    slow = SLOW_SIZE_MUTANTS if os.environ.get("SLIP_FULL") else []
    larger = [Mutant(*row[:6], f"with '{row[4]}' changed", row[6]) for row in (
        SIZE_MUTANTS + of_floats("SIZE_MUTANTS") + slow)]
    calls = [Mutant(*row) for row in abi_mutants.MUTANTS]

    def due(mutants):
        return [m for m in mutants if is_due(m.sizes)]
    # One of combine takes about as long as a proof: everyday the first runs.
    larger = first_per(lambda m: m.kernel if m.kernel == "combine" else m, due(larger))
    return (first_per(lambda m: m.kernel, due(plain)) + larger
            + first_per(lambda m: m.what, due(calls)))


def check_mutant(path, prover, table, mutant, machine=X86):
    """What is wrong."""
    name = f"{mutant.backend} {mutant.kernel}, {mutant.what}"
    try:
        image = Image(path, lambda listing: abi_mutants.edited(
            listing, mutant.backend, mutant.changed, mutant.pattern, mutant.replacement, machine.JUMP),
                      machine)
    except ValueError as nothing:
        return [f"the mutant {name}: {nothing}"]

    def refused(sizes, fixed=""):
        return refusal(image, Run(image, prover), table, (mutant.backend, mutant.kernel, sizes), fixed)
    why, small = refused(mutant.sizes), mutant.too_small
    if small:
        small = refused(ANY, small) if mutant.sizes == ANY else refused(small)
    if why is None:
        return [f"the mutant {name} is not rejected: {mutant.replacement}"]
    if small:
        return [f"the mutant {name} is rejected at {mutant.too_small} too: {small}"]
    print(f"  rejected {name}: {why[:90]}"
          + (f"; not at {mutant.too_small}" if mutant.too_small else ""))
    return []


def check_ranges(path, prover, table, wanted):
    """The ranges of a row's inputs dropped: the proof must fail. What is wrong."""
    image = Image(path)
    why = refusal(image, Unbounded(image, prover), table, wanted[:3], *wanted[3:])
    if why is None:
        return [f"{' '.join(wanted)} does not need the ranges of its contract"]
    print(f"  rejected {' '.join(wanted[:2])} without ranges: {why[:70]}")
    return []
