"""The runs that prove AArch64's kernels, and the mutants that they must refuse."""

import combinations
import encoding
import exponents
import layouts
import linear
import neon_products
import panels
import portable_outer
import portable_products
import residues
from mutants import Mutant, first_per
from runs import ANY, FLOATS, is_due

from . import float_mutants


def rows():
    """(backend, kernel, sizes, function(image, run)) of those that are due, as runs.runs gives them."""
    table = []

    def add(backend, kernel, sizes, function, *arguments):
        table.append((backend, kernel, sizes,
                      lambda image, run: function(image, run, backend, *arguments)))
    add("portable", "mask", ANY, residues.mask)
    add("portable", "unmask", ANY, residues.unmask)
    add("portable", "below", ANY, residues.below_prime)
    add("portable", "pack_entries", ANY, combinations.entries)
    add("portable", "pack_combinations", ANY, combinations.pack)
    for kernel in ("packed_bytes", "combinations_bytes", "right_bytes", "left_bytes"):
        add("portable", kernel, ANY, layouts.bytes_of, kernel)
    add("portable", "pack", ANY, layouts.pack)
    add("portable", "pack_right", ANY, layouts.pack_right)
    add("portable", "low_rank_inner", ANY, linear.inner_of_rows)
    portable_outer.add_rows(add)
    add("portable", "least_exponent", ANY, exponents.exponents)
    add("portable", "shift_row", ANY, exponents.rows)
    add("portable", "pack_left", ANY, exponents.pack)
    add("portable", "dequantise", ANY, encoding.dequantise, [encoding.by_instruction])
    add("portable", "quantise", ANY, encoding.quantise, [encoding.by_shift])
    add("portable", "sample", "n=4", residues.sample_in_place, 4)
    add("portable", "sample", "n=21", residues.sample, 21)
    portable_products.add_rows(add)
    add_products(add)
    for chapter in FLOATS:
        chapter.add_rows(add, ("portable", "neon"))
    return [row for row in table if is_due(row[2])]


def add_products(add):
    """As of the other processors' (runs.add_products)."""
    add("neon", "packed_bytes", ANY, layouts.bytes_of, "packed_bytes")
    add("neon", "pack_panel", ANY, panels.panel)
    add("neon", "pack", ANY, panels.pack)
    neon_products.add_rows(add)
    add("neon", "combine", ANY, linear.combine_of_blocks)


# (kernel, its instruction, what it becomes, sizes at which it is right: a row's, if the kernel has none of
# any size). Wrong from 2^32, 2^16 or 2^8 on, where 15 numbers are left, in a second panel or block.
MASK, UNMASK, BELOW, COMBINATIONS, RIGHT, LEFT, PACK_RIGHT, INNER, OUTER, DEQUANTISE, QUANTISE = (
    ("portable", kernel, ANY, kernel) for kernel in (
        "mask", "unmask", "below", "combinations_bytes", "right_bytes", "left_bytes", "pack_right",
        "low_rank_inner", "low_rank_outer", "dequantise", "quantise"))
ROWS_4, ROWS_1 = (("portable", f"combine_rows<{rows}>", ANY, f"combine_rows<{rows}ul>") for rows in (4, 1))
EXPONENT, SHIFT, PACK_LEFT = (("portable", kernel, ANY, kernel) for kernel in (
    "least_exponent", "shift_row", "pack_left"))
SAMPLE = "portable", "sample", "n=4", "sample"
ENTRIES, ALL_ENTRIES = (("portable", kernel, ANY, kernel) for kernel in ("pack_entries", "pack_combinations"))
BYTES, PRODUCTS = (("neon", kernel, ANY, kernel) for kernel in ("packed_bytes", "multiply_panel"))
PACK, PACK_PANEL = (("neon", kernel, ANY, kernel) for kernel in ("pack", "pack_panel"))
LIFTS, REMAINDERS, BLOCK, PLANES, PRODUCT, PRODUCT_OF_PLANE, COMBINE = (
    ("neon", kernel, ANY, kernel) for kernel in (
        "lift_planes", "finish", "multiply_block", "multiply_planes", "gemm", "gemm_plane", "combine"))
PACKED, ROWS_PACKED, JOIN, FINISH, GEMM, GEMM_PLANE = (("portable", kernel, ANY, kernel) for kernel in (
    "packed_bytes", "pack", "join_planes", "finish", "gemm", "gemm_plane"))


def of_shape(function, rows, vectors):
    """What the portable products consist of, for so many rows and vectors."""
    own, symbol = portable_products.of_shape(function, rows, vectors)
    return "portable", own, ANY, symbol


SIZES = [
    (MASK, r"cmp\s+x9, x13", "cmp w9, w13", "n=37 planes=1"),
    (MASK, r"cmp\s+x18, #0xe", "cmp x18, #0xd", "n=37 planes=1"),
    (UNMASK, r"cmp\s+x2, x7", "cmp w2, w7", "m=21 planes=4"),
    (UNMASK, r"add\s+x7, x7, #0x1\b", "add w7, w7, #0x1", "m=21 planes=4"),
    (BELOW, r"and\s+x3, x1, #0xf+0\b", "and w3, w1, #0xfffffff0", "n=21"),
    (BELOW, r"cmp\s+x3, #0xe\b", "cmp x3, #0xd", "n=21"),
    (COMBINATIONS, r"add\s+x0, x0, #0x3f", "add x0, x0, #0x3e", "n=3 planes=7"),
    (COMBINATIONS, r"lsr\s+x0, x0, #6", "and x0, x0, #0xffff; lsr x0, x0, #6", "n=3 planes=7"),
    (ENTRIES, r"cmp\s+x1, x4", "mov x6, #0x20; cmp x6, x4", "count=32"),
    (ENTRIES, r"mov\s+w5, #0x0", "mov w5, w2", "count=64"),
    (ALL_ENTRIES, r"sub\s+x21, x26, x0", r"\g<0>; and x21, x21, #0xffff", "n=67 planes=2"),
    (ALL_ENTRIES, r"csel\s+x21, x21, x1, ls", "mov x21, x1", "n=64 planes=2"),
    (RIGHT, r"lsl\s+x0, x0, #1", "lsl w0, w0, #1", "k=3 n=5"),
    (RIGHT, r"mul\s+x0, x0, x1", "mul w0, w0, w1", "k=3 n=5"),
    (LEFT, r"lsl\s+x1, x1, #1", "and x1, x1, #0xffff; lsl x1, x1, #1", "m=3 k=5"),
    (LEFT, r"madd\s+x0, x1, x0, x0", "madd w0, w1, w0, w0", "m=3 k=5"),
    (PACK_RIGHT, r"lsl\s+x2, x2, #1", "lsl w2, w2, #1", "k=2 n=9"),
    (PACK_RIGHT, r"mul\s+x2, x1, x2", "mul w2, w1, w2", "k=2 n=9"),
    (INNER, r"cmp\s+x11, #0x1f", "cmp x11, #0x1e", "k=1 n=70"),
    (INNER, r"tst\s+x4, #0x7", "tst x4, #0x3", "k=1 n=70"),
    (OUTER, r"cmp\s+x1, #0x3\b", "cmp x1, #0x2", "m=6 k=9"),
    (OUTER, r"mov\s+x20, x1", "and x20, x1, #0xffff", "m=6 k=9"),
    (DEQUANTISE, r"cmp\s+x4, x6", "cmp w4, w6", "m=21"),
    (DEQUANTISE, r"cmp\s+x4, #0x2\b", "cmp x4, #0x1", "m=21"),
    (QUANTISE, r"and\s+x6, x4, #0x7\b", "and x6, x4, #0x3", "n=4"),
    (QUANTISE, r"cmp\s+x9, #0x6\b", "cmp x9, #0x5", "n=18"),
    (EXPONENT, r"cmp\s+w2, #0x15", "cmp w2, #0x13", "e=3"),
    (EXPONENT, r"orr\s+x1, x1, x2", "mov x1, x2", "k=1"),
    (SHIFT, r"asr(\s+w5, w5, w2)", r"lsr\1", "e=3"),
    (SHIFT, r"cmp\s+x1, x4", "eor x5, x1, x4; tst x5, #0xffff", "k=5"),
    (PACK_LEFT, r"mul\s+x21, x1, x24", "mul w21, w1, w24", "m=3 k=5"),
    (PACK_LEFT, r"add\s+x23, x21, x1", "and x23, x1, #0xffff; add x23, x21, x23", "m=3 k=5"),
    (BYTES, r"mul\s+x0, x0, x2", "mul w0, w0, w2", "m=3 n=5"),
    (BYTES, r"add\s+x2, x0, #0x7", "add x2, x0, #0x6", "m=3 n=5"),
    (PRODUCTS, r"subs\s+x2, x2, #0x1", "sub x2, x2, #0x1; tst x2, #0xffff", "steps=3"),
    (PRODUCTS, r"cbz\s+x2, ([^\n]*)", r"tst x2, #0xff; b.eq \1", "steps=3"),
    (PACK_PANEL, r"cmp\s+x2, x0", "cmp w2, w0", "rows=3 n=5"),
    (PACK_PANEL, r"add\s+x0, x2, #0x3", "add x0, x2, #0x2", "rows=3 n=6"),
    (PACK, r"sub\s+x1, x22, x19", r"\g<0>; and x1, x1, #0xffff", "m=35 n=5"),
    (PACK, r"add\s+x24, x2, #0x3", "add x24, x2, #0x2", "m=35 n=6"),
    (LIFTS, r"cmp\s+x11, #0x3", "cmp x11, #0x2", "rest=1"),
    (LIFTS, r"cmp\s+x6, x0", "and x5, x6, #0x7f; cmp x5, x0", "whole=5"),
    (REMAINDERS, r"cmp\s+x1, x3", "and x2, x1, #0x7; cmp x2, x3", "rows=3"),
    (REMAINDERS, r"cmp\s+x1, x5", "and x2, x1, #0x7; cmp x2, x5", "rows=3"),
    (BLOCK, r"add\s+x28, x28, #0x8\b", "add x28, x28, #0x10", "m=5 count=1"),
    (BLOCK, r"lsr\s+x0, x28, #3", "mov x0, #0x0", "m=8 count=1"),
    (BLOCK, r"lsr\s+x0, x3, #2", "mov x0, #0x0", "quarter=0"),
    (PLANES, r"add\s+x28, x28, #0x2, lsl #12", "add x28, x28, #0x1, lsl #12", "n=5"),
    (PLANES, r"cmp\s+x4, #0x2, lsl #12", "cmp x4, #0x3, lsl #12", "n=8192"),
    (PLANES, r"csel\s+x0, x20, x0, ls", "mov x0, x20", "count=3"),
    (PRODUCT, r"add\s+x20, x20, x23", "nop", "m=3 n=5 b=1 planes=4"),
    (PRODUCT, r"cmp\s+x22, x19", "and x2, x22, #0xff; cmp x2, x19", "m=3 n=5 b=1 planes=5"),
    (PRODUCT_OF_PLANE, r"add\s+x21, x21, x24", "nop", "m=3 n=5 b=4 plane=5"),
    (PRODUCT_OF_PLANE, r"cmp\s+x22, x19", "and x2, x22, #0xff; cmp x2, x19", "m=3 n=5 b=6 plane=2"),
    (COMBINE, r"add\s+x26, x26, #0x10, lsl #12", "nop", "n=70 b=2 planes=1"),
    (COMBINE, r"and\s+x25, x23, #0xf+c0\b", "mov x25, #0x0", "n=3 b=2 planes=7"),
    (COMBINE, r"and(\s+x25, x23, #0xf+)c0\b", r"and\1e0", "n=3 b=2 planes=7"),
    (COMBINE, r"sub\s+x2, x23, x25", "and x2, x23, #0x3", "n=3 b=2 planes=7"),
]
# As in mutants.py.
SIZES += [
    (PACKED, r"mul\s+x0, x0, x1", "mul w0, w0, w1", "m=3 n=5"),
    (PACKED, r"mul\s+x0, x0, x1", r"and x0, x0, #0xffff; \g<0>", "m=3 n=5"),
    (ROWS_PACKED, r"mul\s+x2, x1, x2", "mul w2, w1, w2", "m=3 n=5"),
    (ROWS_PACKED, r"cbnz\s+x2", "cbnz w2", "m=3 n=5"),
    (JOIN, r"cmp\s+x3, #0x6\b", "cmp x3, #0x5", "width=3"),
    (JOIN, r"tst\s+x3, #0xf", "tst x3, #0x7", "width=3"),
    (FINISH, r"add\s+x6, x1, #0x2\b", "add x6, x1, #0x3", "planes=2"),
    (FINISH, r"madd\s+x8, x8, x7, x1", "mul x8, x8, x7", "planes=1"),
    (GEMM, r"cmp\s+x20, #0x3\b", "cmp x20, #0x2", "m=3 n=5 b=1 planes=3"),
    (GEMM, r"mul\s+x20, x20, x4", r"\g<0>; and x20, x20, #0xffff", "m=5 n=6 b=2 planes=3"),
    (GEMM_PLANE, r"cmp\s+x20, #0x3\b", "cmp x20, #0x2", "m=3 n=5 b=2 plane=5"),
    (GEMM_PLANE, r"mov\s+x20, x4", "and x20, x4, #0xffff", "m=3 n=5 b=2 plane=5")]
SIZES += [(rows, *change) for rows in (ROWS_4, ROWS_1) for change in (
    (r"cmp\s+x2, x6", "and x15, x6, #0xff; cmp x2, x15", "k=3"),
    (r"cbz\s+x2, ([^\n]*)", r"tst x2, #0xff; b.eq \1", "k=3"))]
SIZES += [(of_shape(function, *shape), *change)
          for shape in portable_products.SHAPES for function, changes in (
    ("add_products", ((r"cmp\s+(x\d+), #0xe\b", r"cmp \1, #0xd", "n=3"),
                      (r"tst\s+x3, #0xf\b", "tst x3, #0x7", "n=3"))),
    ("multiply_rows", ((r"(and\s+x\d+, x0, #0xfffffffffffff)e00", r"\1c00", "width=513"),
                       (r"(add\s+x\d+, x\d+, )#0x400\b", r"\1#0x402", "width=512")))) for change in changes]
SIZES += [(of_shape("multiply_vectors", rows, vectors), *change)
          for vectors, rows in portable_products.WIDEST.items() for change in (
              (rf"cmp\s+x0, #{rows - 1:#x}\b", f"cmp x0, #{rows - 2:#x}", f"m={rows} n=5"),
              (r"(add\s+x23, x23, )#0x2, lsl #12", r"\1#0x1, lsl #12", "n=5"))]
# (kernel, its instruction, what it becomes, what this assumes that neither the AAPCS64 nor the processor
# gives; none: what is computed).
CALL = r"bl\s+[0-9a-f]+ <slip::kernels::neon::multiply_panel[^\n]*"
LAST = r"stp\s+q4, q3, \[x3, #96\]"
OTHERS = [
    (MASK, r"(lsr\s+w13, w13, )#23", r"\1#22", ""),
    (UNMASK, r"(lsr\s+w5, w5, )#23", r"\1#22", ""),
    (PRODUCTS, r"sdot(\s+v18)", r"udot\1", ""),
    (PRODUCTS, r"v0.4b\[3\]", "v0.4b[2]", ""),
    (ROWS_4, r"lsl #16", "lsl #15", ""),
    (ROWS_1, r"lsl #16", "lsl #15", ""),
    (OUTER, r"add\s+x21, x21, #0x1\b", "add x21, x21, #0x2", ""),
    (DEQUANTISE, r"fmul(\s+v0.2d, v0.2d, v5)", r"fadd\1", ""),
    (QUANTISE, r"b\.mi", "b.ls", ""),
    (QUANTISE, r"fdiv(\s+d7)", r"fmul\1", ""),
    (EXPONENT, r"(cinc\s+w0, w0, )cc", r"\1ls", ""),
    (SAMPLE, r"(cinc\s+x0, x0, )cc", r"\1ls", ""),
    (JOIN, r"mul\s+w0, w0, w13", "nop", ""),
    (FINISH, r"(lsr\s+x2, x2, )#39", r"\1#38", ""),
    (of_shape("multiply_rows", 2, 4), r"cset(\s+w24), eq", r"cset\1, ne", ""),
    (of_shape("multiply_vectors", 4, 1), r"bl\s[^\n]*join_planes[^\n]*", "nop", ""),
    (of_shape("multiply_vectors", 4, 2), r"mov\s+x20, #0x4\b", r"\g<0>; strh w22, [x24, #32]", ""),
    (LIFTS, "cmhi", "cmhs", ""),
    (LIFTS, r"mov(\s+v2.s\[2\], )w4", r"mov\1w8", ""),
    (REMAINDERS, r"(lsr\s+x5, x5, )#39", r"\1#38", ""),
    (REMAINDERS, r"ldrsw(\s+)x2", r"ldr\1w2", ""),
    (BLOCK, r"add(\s+x3, x3, )x11", r"sub\1x11", ""),
    (BLOCK, r"cset(\s+w24), eq", r"cset\1, ne", ""),
    (PLANES, r"bl\s[^\n]*lift_planes[^\n]*", "nop", ""),
    (PLANES, r"msub\s+x30, x30, x8, x25", "mov x30, x25", ""),
    (PRODUCT, r"stp(\s+x2), x5, ", r"stp\1, x4, ", ""),
    (PRODUCT_OF_PLANE, r"str\s+x5, \[sp, #120\]", "str xzr, [sp, #120]", ""),
    (COMBINE, "cmhi", "cmhs", ""),
    (COMBINE, "saddlv", "uaddlv", ""),
    (MASK, r"and\s+x10, x2,", r"add x2, x2, x9; \g<0>", "a general register is 0 at the start"),
    (PRODUCTS, r"movi\s+v3.4s, #0x0", "nop", "a vector register is 0 at the start"),
    (BYTES, r"lsr\s+x2, x2, #3", r"cset w9, eq; add x1, x1, x9; \g<0>",
     "the zero flag is clear at the start"),
    (BELOW, r"and\s+w2, w2, #0xff", "nop", "a narrow argument is extended with zeros"),
    (PRODUCTS, LAST, r"mov x19, x2; \g<0>", "a register of the caller's is changed"),
    (PRODUCTS, r"movi\s+v3.4s, #0x0", r"\g<0>; mov v8.16b, v3.16b", "a vector of the caller's is changed"),
    (PRODUCTS, LAST, r"add sp, sp, #0x10; \g<0>", "the stack's pointer is changed"),
    (PRODUCTS, LAST, r"str x2, [sp]; \g<0>", "the caller's stack is written"),
    (MASK, r"stp\s+x29, x30, \[sp, #-192\]!", r"str x2, [sp, #-16]; ldr x2, [sp, #-16]; \g<0>",
     "what is below sp lasts"),
    (MASK, r"stp\s+x29, x30, \[sp, #-192\]!", "stp x29, x30, [sp, #-200]!", "sp need not be aligned"),
    (BLOCK, CALL, r"mov x9, sp; \g<0>; mov sp, x9", "a call leaves general registers"),
    (BLOCK, CALL, r"fmov d7, x19; \g<0>; fmov x19, d7", "a call leaves vector registers"),
    (BLOCK, CALL, r"mov v8.d[1], x19; \g<0>; mov x19, v8.d[1]",
     "a call leaves the upper halves of v8 to v15"),
    (BLOCK, CALL, r"cmp x19, x19; \g<0>; cset x9, ne; add x19, x19, x9", "a call leaves flags"),
    (BLOCK, CALL, r"mov x16, x19; \g<0>; mov x19, x16", "a call leaves x16"),
    (BLOCK, CALL, r"sub sp, sp, #0x8; \g<0>; add sp, sp, #0x8", "a call needs no alignment of the stack"),
]


def mutants():
    """Those that run: everyday of each kernel one that is wrong at some sizes and one of what it computes;
    one per assumption."""
    of_sizes = [Mutant(*kernel, pattern, replacement, f"with '{pattern}' changed", small)
                for kernel, pattern, replacement, small in SIZES if is_due(kernel[2])]
    computed = [Mutant(*kernel, pattern, replacement, f"with '{pattern}' changed")
                for kernel, pattern, replacement, what in OTHERS if not what]
    for own, rows in (of_sizes, float_mutants.OF_SIZES), (computed, float_mutants.COMPUTED):
        own += [Mutant("neon", kernel, ANY, function, pattern, by, f"with '{pattern}' changed", *small)
                for kernel, function, pattern, by, *small in rows]
    calls = [Mutant(*kernel, pattern, replacement, what)
             for kernel, pattern, replacement, what in OTHERS if what]
    return [mutant for own in (of_sizes, computed) for mutant in first_per(lambda m: m.kernel, own)] + calls
