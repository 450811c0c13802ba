"""Mutants of NEON's float kernels: (kernel, function that is changed, its instruction, what it becomes)."""

from float_attention import tile

TILE, _, TILE_OF_LEAF = tile(4, 4, 4)
ROWS = "mix_rows<4>", r"mix_rows(?=<[^\n]*, 4ul>)"

# What is computed: another operation, the operands of a comparison exchanged, another exponent, another
# array, numbers that are ranked as integers, an instruction left out.
COMPUTED = [
    ("add", "add", "fadd", "fsub"),
    ("rotate", "rotate", "fsub", "fadd"),
    ("swiglu", "swiglu", r"(shl\s+\S+, \S+, )#23", r"\1#22"),
    ("gelu", "gelu", "fnmul", "fmul"),
    ("dot", r"floats::dot(?=<)", "fadd", "fsub"),
    ("mean", "mean", "fdiv", "fmul"),
    ("inverse_deviation", "inverse_deviation", "fsqrt", "fneg"),
    ("scale", "scale", r"fmul(\s+v1.4s, v1.4s, v2)", r"fadd\1"),
    ("centre", "centre", "fsub", "fadd"),
    ("scale_and_shift", "scale_and_shift", "fadd", "fsub"),
    ("rms_norm", "rms_norm", r"mov\s+x0, x20", "mov x0, x22"),
    ("layer_norm", "layer_norm", r"fmov\s+s0, s8", "nop"),
    ("greatest", "greatest", r"fcmgt\s+(v1.4s), (v2.4s), (v0.4s)", r"fcmgt \1, \3, \2"),
    ("add_up", "add_up", "fadd", "fsub"),
    ("raise", "raise", r"(shl\s+\S+, \S+, )#23", r"\1#22"),
    ("multiply", "multiply", "fmul", "fadd"),
    ("softmax", "softmax", "fdiv", "fmul"),
    ("sampling_weights", "sampling_weights", r"fcmgt\s+(v3.4s), (v6.4s), (v2.4s)", r"fcmgt \1, \3, \2"),
    ("best_block", "best_block", r"orr\s+w2, w2, #0x80000000", "nop"),
    ("first_equal", "first_equal", r"fcmp\s+s1, s0", "fcmp s1, s1"),
    ("arg_max", "arg_max", r"csel\s+x19, x19, x1, ls", "mov x19, x1"),
    (TILE, TILE_OF_LEAF, "fadd", "fsub"),
    (*ROWS, r"sub\s+x3, x19, #0x10", "sub x3, x19, #0x8"),
    ("mix", "mix", r"sub\s+x19, x19, #0x4", "sub x19, x19, #0x2"),
    ("scaled_dot", "scaled_dot", "fmul", "fadd"),
    ("score_row", "score_row", r"bl\s[^\n]*scaled_dot[^\n]*", "nop"),
    ("scores", "scores", r"bl\s[^\n]*score_row[^\n]*", "nop"),
]
# The same; and the last sizes must accept it: counts in 32 bits, vectors or blocks that are left out.
OF_SIZES = [
    ("add", "add", r"cmp\s+x6, x3", "cmp w6, w3", "n=6"),
    ("rotate", "rotate", r"and\s+x4, x8, #0xf+c\b", "and x4, x8, #0xfffffffffffffff8", "half=6"),
    ("swiglu", "swiglu", r"cmp\s+x5, x7", "cmp w5, w7", "n=6"),
    ("gelu", "gelu", r"and\s+x2, x3, #0xf+c\b", "and x2, x3, #0xfffffffffffffff8", "n=6"),
    ("mean", "mean", r"scvtf\s+(s\d), x1", r"scvtf \1, w1", "n=9"),
    ("mean", "mean", r"cmp\s+x5, x2", "cmp w5, w2", "n=9"),
    ("inverse_deviation", "inverse_deviation", r"scvtf\s+(s\d), x19", r"scvtf \1, w19", "n=9"),
    ("scale", "scale", r"cmp\s+x2, x4", "cmp w2, w4", "n=6"),
    ("centre", "centre", r"cmp\s+x1, x3", "cmp w1, w3", "n=6"),
    ("scale_and_shift", "scale_and_shift", r"cmp\s+x3, x4", "cmp w3, w4", "n=6"),
    ("rms_norm", "rms_norm", r"mov\s+x2, x19", "mov w2, w19", "n=9"),
    ("layer_norm", "layer_norm", r"mov\s+x3, x19", "mov w3, w19", "n=9"),
    ("greatest", "greatest", r"and\s+x4, x5, #0xf+c\b", "and x4, x5, #0xfffffffffffffff8", "n=6"),
    ("add_up", "add_up", r"cmp\s+x1, #0x6", "cmp x1, #0x5", "n=4"),
    ("raise", "raise", r"cmp\s+x1, #0x3\b", "cmp w1, #0x3", "n=6"),
    ("multiply", "multiply", r"cmp\s+x1, #0x3\b", "cmp w1, #0x3", "n=6"),
    ("sampling_weights", "sampling_weights", r"and\s+x3, x5, #0xf+c\b", "and x3, x5, #0xfffffffffffffff8",
     "n=6"),
    ("best_block", "best_block", r"csel\s+x1, x19, x23, ls", "mov x1, x19", "n=200"),
    (TILE, TILE_OF_LEAF, r"cmp\s+x8, x5", "cmp w8, w5", "positions=1"),
    ("mix", "mix", r"and\s+x19, x19, #0xf+c\b", "and x19, x19, #0xfffffffffffffff8", "rows=7"),
    ("scores", "scores", r"cmp\s+x20, x19", "cmp w20, w19", "rows=3"),
]
