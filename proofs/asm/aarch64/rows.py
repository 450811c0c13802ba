"""The runs that prove AArch64's kernels, and the mutants that they must refuse."""

import residues
from mutants import Mutant, first_per
from runs import ANY

KERNELS = [("portable", "mask", residues.mask), ("portable", "unmask", residues.unmask),
           ("portable", "below", residues.below_prime)]


def rows():
    """(backend, kernel, sizes, function(image, run)), as runs.runs gives them."""
    return [row(*kernel) for kernel in KERNELS]


def row(backend, kernel, prove, sizes=ANY):
    return backend, kernel, sizes, lambda image, run: prove(image, run, backend)


# (kernel, its instruction, what it becomes, a size at which it is right; none: what it assumes). Wrong from
# 2^32 on, or where 15 numbers are left; what is computed; what neither the AAPCS64 nor the processor gives.
MASK, UNMASK, BELOW = (("portable", kernel, ANY, kernel) for kernel in ("mask", "unmask", "below"))
SIZES = [
    (MASK, r"cmp\s+x9, x13", "cmp w9, w13", "n=37 planes=1"),
    (MASK, r"cmp\s+x18, #0xe", "cmp x18, #0xd", "n=37 planes=1"),
    (UNMASK, r"cmp\s+x2, x7", "cmp w2, w7", "m=21 planes=4"),
    (UNMASK, r"add\s+x7, x7, #0x1\b", "add w7, w7, #0x1", "m=21 planes=4"),
    (BELOW, r"and\s+x3, x1, #0xf+0\b", "and w3, w1, #0xfffffff0", "n=21"),
    (BELOW, r"cmp\s+x3, #0xe\b", "cmp x3, #0xd", "n=21"),
]
OTHERS = [
    (MASK, r"(lsr\s+w13, w13, )#23", r"\1#22", ""),
    (UNMASK, r"(lsr\s+w5, w5, )#23", r"\1#22", ""),
    (BELOW, r"orr\s+v4.16b", "and v4.16b", ""),
    (MASK, r"and\s+x10, x2,", r"add x2, x2, x9; \g<0>", "a general register is 0 at the start"),
    (BELOW, r"movi\s+v4.4s, #0x0", "nop", "a vector register is 0 at the start"),
    (BELOW, r"cbz\s+x1,", r"cset w9, eq; add x1, x1, x9; \g<0>", "the zero flag is clear at the start"),
    (BELOW, r"and\s+w2, w2, #0xff", "nop", "a narrow argument is extended with zeros"),
    (MASK, r"ldp\s+x27, x28, \[sp, #80\]", "nop", "a register of the caller's is changed"),
    (MASK, r"dup\s+v6.4s, w5", r"mov v8.16b, v6.16b; \g<0>", "a vector of the caller's is changed"),
    (MASK, r"ldp\s+x29, x30, \[sp\], #192", "ldp x29, x30, [sp]", "the stack's pointer is changed"),
    (MASK, r"ldp\s+x19, x20, \[sp, #16\]", r"str x2, [sp, #192]; \g<0>", "the caller's stack is written"),
    (MASK, r"stp\s+x29, x30, \[sp, #-192\]!", r"str x2, [sp, #-16]; ldr x2, [sp, #-16]; \g<0>",
     "what is below sp lasts"),
    (MASK, r"stp\s+x29, x30, \[sp, #-192\]!", "stp x29, x30, [sp, #-200]!", "sp need not be aligned"),
]


def mutants():
    """Those that run: everyday one of each kernel that is wrong at some sizes, and all of OTHERS."""
    of_sizes = [Mutant(*kernel, pattern, replacement, f"with '{pattern}' changed", small)
                for kernel, pattern, replacement, small in SIZES]
    return first_per(lambda mutant: mutant.kernel, of_sizes) + [
        Mutant(*kernel, pattern, replacement, what or f"with '{pattern}' changed")
        for kernel, pattern, replacement, what in OTHERS]
