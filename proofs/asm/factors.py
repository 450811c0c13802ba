"""The layout of B in AVX-512, with entries of 12 bits (twelve_bits.hpp)."""

import z3

import linear
import terms as t
from run import Part

LANES = 32              # of a register of 16-bit numbers
SLICE = 4 * LANES       # columns that stand together
GROUP = 8               # rows of B that stand together
PACKED = 3 * 2 * LANES  # bytes of a slice of one row


def entry(number):
    """An entry of a row's slice: of the first three registers the upper 12 bits of a word each, of the
    fourth 4 bits below each of these, the lowest first."""
    register, lane = divmod(number, LANES)

    def value(v):
        words = [16 * (LANES * g + lane) for g in range(3)]
        if register < 3:
            return z3.SignExt(52, z3.Extract(words[register] + 15, words[register] + 4, v))
        return z3.SignExt(52, z3.Concat([z3.Extract(low + 3, low, v) for low in reversed(words)]))
    return Part(f"entry {number}", value, (-2047, 2047))


def right_of_slices(image, run, backend, k, n):
    """What pack_right leaves: [groups][slices][GROUP] of PACKED bytes, padded with zeros."""
    right, size, b = linear.packed_right(run, backend, k, n)
    slices = -(-n // SLICE)
    run.expect(size, -(-k // GROUP) * GROUP * slices * PACKED, 64, "right_bytes")
    for place in range(size // PACKED):
        group, slice_, r = place // GROUP // slices, place // GROUP % slices, place % GROUP
        c, packed = group * GROUP + r, run.output(right + place * PACKED, 8 * PACKED)
        for i in range(SLICE):
            j = slice_ * SLICE + i
            own = z3.SignExt(48, b[c * n + j]) if c < k and j < n else 0
            run.expect(entry(i).value(t.term(packed, 8 * PACKED)), own, 64, f"b[{c}][{j}]")
