"""Mutants of the leaves of lattice masks that their proofs must refuse, as in mask_rows.py."""

from mask_rows import (ABSORB, COLUMNS, DECODE, ELEMENT, HALVES, KECCAK, MATRIX, MATRIX_GROUP, NOISE,
                       OF_CODING, PASS, POINTS, PRODUCT, REDUCE, ROWS, RUNS, SECRET, SECRET_GROUP, SHAKE,
                       SMALL_ROW, SMALL_ROWS, SQUEEZE, SUMS, TILE)
from mutants import Mutant, first_per
from runs import ANY

# What is computed: a sign, a root's part, a rounding, a comparison the other way round, a rotation, bytes.
MUTANTS = [
    ("add_noise", NOISE, "cmhi", "cmhs"),
    ("transform_secret_group", SECRET_GROUP, "fsub", "fadd"),
    ("transform_small_group", MATRIX_GROUP, "fmls", "fmla"),
    ("transform_small_group", MATRIX_GROUP, r"fneg(\s+)(v\d+.2d), (v\d+.2d)", r"mov\1\2, \3"),
    ("decode", DECODE, r"fcmgt\s+(v\S+), (v\S+), (v\S+)", r"fcmgt \1, \3, \2"),
    ("inverse", "inverse", "fadd", "fsub"),
    ("reduce_product<1>", REDUCE.format(1), "fmls", "fmla"),
    ("reduce_product<2>", REDUCE.format(2), "fmla", "fmls"),
    ("multiply_points<1>", POINTS.format(1), "fsub", "fadd"),
    ("multiply_points<2>", POINTS.format(2), r"fmla\s+(v\S+), (v\S+), (v\S+)d.0.", r"fmla \1, \2, \3d[1]"),
    ("transform_element", OF_CODING.format(ELEMENT, 2), "fsub", "fadd"),
    ("write_runs", RUNS, r"umin", "umax"),
    ("transform_halves", HALVES, "fmls", "fmla"),
    ("multiply_small_points", SUMS, "fmls", "fmla"),
    ("write_small_row", SMALL_ROW, r"umin", "umax"),
    ("permute", KECCAK, "bic", "and"),
    ("squeeze", SQUEEZE, "ld2", "ld1"),
]
# The same; and the last sizes must accept it, for they do not come to what is changed.
SIZE_MUTANTS = [
    ("add_noise", NOISE, r"cmp\s+x21, #0xf\b", "cmp x21, #0xe", "n=37"),
    ("small_matrix_doubles", "small_matrix_doubles", r"lsr\s+x0, x0, #1", r"\g<0>; and x0, x0, #0xff",
     "rows=5"),
    ("transform_secret", SECRET, r"cmp\s+x6, #0x1\b", "tst x6, #0xfe", "elements=3"),
    ("transform_small_matrix", MATRIX, r"lsl\s+x0, x3, #12", "lsl x0, x3, #11", "rows=2"),
    ("decode", DECODE, r"and\s+x0, x4, #0xf+e\b", "and x0, x4, #0xfffffffffffffffc", "count=3"),
    ("multiply_points<1>", POINTS.format(1), r"mul\s+x0, x5, x11", "mul x0, x5, x5", "blocks=1"),
    ("multiply_points<2>", POINTS.format(2), r"mul\s+x0, x5, x13", "mul x0, x5, x5", "blocks=1"),
    ("transform_rows", OF_CODING.format(ROWS, 2), r"cmp\s+x3, #0x1\b", "cmp x3, #0x2", "count=1"),
    ("write_runs", RUNS, r"cmp\s+x27, #0x40", "cmp x27, #0x3f", "count=64"),
    ("write_columns", COLUMNS, r"lsl\s+x21, x21, #11", "lsl x21, x21, #10", "b=0"),
    ("multiply_tile", OF_CODING.format(TILE, 2), r"lsr\s+x0, x23, #1\b", "lsr x0, x23, #2", "count=2"),
    ("multiply", PASS, r"csel\s+(x\d+), \1, (x\d+), ls", "nop", "rows=64"),
    ("multiply_small_points", SUMS, r"lsr\s+x1, x2, #1", "lsr x1, x2, #2", "elements=1"),
    ("write_small_rows", SMALL_ROWS, r"csel\s+x2, x2, x25, ls", "mov x2, x25", "count=256"),
    ("write_small_row", SMALL_ROW, r"csel\s+x19, x19, x0, ls", "nop", "planes=6"),
    ("multiply_small_matrix", PRODUCT, r"lsl\s+x28, x23, #12", "lsl x28, x23, #11", "m=512"),
    ("absorb", ABSORB, r"cbnz\s+x22, ([^\n]*)", r"tst x22, #0xfe; b.ne \1", "length=49"),
    ("shake128", SHAKE, r"cmp\s+x22, x20", "cmp w22, w20", "permutations=2"),
]


def mutants():
    """With SLIP_FULL all; everyday one of each kernel's: of its operations, or else of its sizes."""
    found = [(*row, "") for row in MUTANTS] + SIZE_MUTANTS
    return first_per(lambda mutant: mutant.kernel, [
        Mutant("neon", kernel, ANY, function, pattern, replacement, f"with '{pattern}' changed", small)
        for kernel, function, pattern, replacement, small in found])
