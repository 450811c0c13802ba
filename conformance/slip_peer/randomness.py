"""From a key to residues: the chapter randomness.md."""

import struct

from . import aes

MASK, RHO = 1, 2  # the tags of RAND-1


def counter_block(tag, index, counter):
    """RAND-1: tag[4] || index[8] || counter[4], each big-endian."""
    return struct.pack(">IQI", tag, index, counter)


def keystream(key, tag, index):
    """RAND-1: the blocks of stream (tag, index), one after the other."""
    for counter in range(2**32):
        yield aes.encrypt(key, counter_block(tag, index, counter))


def word_size(L):
    """RAND-2: (e, w), the bits of L - 1 and the bytes of a word."""
    e = (L - 1).bit_length()
    return e, next(w for w in (1, 2, 4, 8) if 8 * w >= e)


def sample(L, blocks, count):
    """RAND-2: the first `count` residues of a stream of bytes, given in pieces."""
    e, w = word_size(L)
    residues, buffer = [], b""
    blocks = iter(blocks)
    while len(residues) < count:
        while len(buffer) < w:
            buffer += next(blocks)
        word = accept(int.from_bytes(buffer[:w], "little"), e, L)
        buffer = buffer[w:]
        if word is not None:
            residues.append(word)
    return residues


def accept(word, e, L):
    """RAND-2: the residue of a word, or None if the word is discarded."""
    v = word & 2**e - 1
    return v if v < L else None


def residues(key, tag, index, count, L):
    return sample(L, keystream(key, tag, index), count)


def mask(key, index, n, L):
    """MASK-1: the mask with this index, for a column of n residues."""
    return residues(key, MASK, index, n, L)


def rho(key, group, rows, profile):
    """INTEG-1: M rows of kappa residues each."""
    flat = residues(key, RHO, group, rows * profile.kappa, profile.L)
    return [flat[i:i + profile.kappa] for i in range(0, len(flat), profile.kappa)]
