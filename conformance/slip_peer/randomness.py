"""From a key or a seed to residues: the chapter randomness.md."""

import functools
import hashlib
import struct

from . import aes, parameters

MASK, INTEGRITY = 1, 2  # the purposes of RAND-1 that are drawn here
BLOCK_SECRET, NOISE, PRODUCT_CHECK, WEIGHT_SECRET, WEIGHT_ERROR = 4, 5, 6, 7, 8
PUBLIC_MASKS, PUBLIC_WEIGHTS = 1, 2  # the purposes of RAND-8


def field_of(plane, purpose):
    """RAND-1."""
    return 256 * plane + purpose


def counter_block(field, index, counter):
    """RAND-1: field[4] || index[8] || counter[4], each big-endian."""
    return struct.pack(">IQI", field, index, counter)


def keystream(key, field, index):
    """RAND-1: the blocks of stream (field, index), one after the other, in pieces that grow: many blocks
    at once are encrypted sooner."""
    given, count = 0, 16
    while given < 2**32:
        yield aes.encrypt(key, b"".join(counter_block(field, index, counter)
                                        for counter in range(given, given + count)))
        given, count = given + count, given + count


def start_of(pieces, count):
    """The first `count` bytes of a stream of bytes, given in pieces."""
    data = b""
    while len(data) < count:
        data += next(pieces)
    return data[:count]


@functools.cache
def word_size(modulus):
    """RAND-2: (e, w), the bits of modulus - 1 and the bytes of a word."""
    e = (modulus - 1).bit_length()
    return e, next((w for w in (1, 2, 4, 8) if 8 * w >= e), -(-e // 8))


def sample(modulus, pieces, count):
    """RAND-2: the first `count` residues of a stream of bytes, given in pieces."""
    e, w = word_size(modulus)
    if w == 1:
        return sample_bytes(modulus, pieces, count)
    residues, buffer, at = [], b"", 0
    pieces = iter(pieces)
    while len(residues) < count:
        while len(buffer) - at < w:
            buffer, at = buffer[at:] + next(pieces), 0
        word = accept(int.from_bytes(buffer[at:at + w], "little"), e, modulus)
        at += w
        if word is not None:
            residues.append(word)
    return residues


def sample_bytes(modulus, pieces, count):
    """The same of words of one byte, many at a time."""
    table, discarded = table_of_bytes(modulus)
    residues, pieces = b"", iter(pieces)
    while len(residues) < count:
        residues += next(pieces).translate(table, discarded)
    return list(residues[:count])


@functools.cache
def table_of_bytes(modulus):
    """What becomes of each byte that is accepted, and the bytes that are discarded."""
    accepted = [accept(word, word_size(modulus)[0], modulus) for word in range(256)]
    return (bytes(residue or 0 for residue in accepted),
            bytes(word for word in range(256) if accepted[word] is None))


def accept(word, e, modulus):
    """RAND-2: the residue of a word, or None if the word is discarded."""
    v = word & 2**e - 1
    return v if v < modulus else None


def column(key, purpose, index, n, primes):
    """A uniform column: each plane is sampled from a stream of its own."""
    return b"".join(bytes(sample(p, keystream(key, field_of(plane, purpose), index), n))
                    for plane, p in enumerate(primes))


def mask(key, index, n, primes):
    """MASK-1: the mask with this index, for a column of n residues."""
    return column(key, MASK, index, n, primes)


def combinations(seed, rows, primes):
    """INTEG-1: the secret w, a column of `rows` residues for each combination."""
    return [column(seed, INTEGRITY, number, rows, primes) for number in range(parameters.KAPPA)]


def public_header(code, purpose, plane, width, index):
    """RAND-8: what stands before the seed."""
    return b"SLIP-2" + struct.pack("<BBBII", code, purpose, plane, width, index)


def expanded(data):
    """The output of SHAKE-128, in pieces."""
    shake, size, given = hashlib.shake_128(data), 1 << 8, 0
    while True:
        yield shake.digest(size)[given:]
        size, given = 2 * size, size


def public_column(own, purpose, width, index, seed, count):
    """RAND-8: a column of a public vector, for the parameter set `own`."""
    return b"".join(public_plane(own, purpose, width, index, seed, count, plane)
                    for plane in range(own.planes))


def public_plane(own, purpose, width, index, seed, count, plane):
    """RAND-8: a plane of it."""
    data = public_header(own.code, purpose, plane, width, index) + seed
    return bytes(sample(own.primes[plane], expanded(data), count))


def bits_of(data):
    """RAND-9: the bits of each byte, the least significant first."""
    return [byte >> place & 1 for byte in data for place in range(8)]


def small_integers(eta, data, count):
    """RAND-9: each is the sum of eta bits less the sum of the next eta."""
    bits = bits_of(data)
    return [sum(bits[at:at + eta]) - sum(bits[at + eta:at + 2 * eta])
            for at in range(0, 2 * eta * count, 2 * eta)]


def small(key, purpose, index, eta, count):
    """RAND-9: small integers of stream (plane 0, purpose, index)."""
    stream = keystream(key, field_of(0, purpose), index)
    return small_integers(eta, start_of(stream, -(-2 * eta * count // 8)), count)
