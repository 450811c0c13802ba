"""The block cipher AES-256 of FIPS 197, encryption only (RAND-7). It takes time that depends on
its data: good for small models and tests, not for secrets that matter."""

import functools
import struct


def _multiply(a, b):
    """The product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1."""
    product = 0
    while b:
        if b & 1:
            product ^= a
        a = a << 1 ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return product


def _substitution():
    box = [0x63] * 256
    for value in range(1, 256):
        inverse = next(x for x in range(1, 256) if _multiply(value, x) == 1)
        rotated = inverse
        for shift in range(1, 5):
            rotated ^= (inverse << shift | inverse >> 8 - shift) & 255
        box[value] = rotated ^ 0x63
    return box


@functools.cache
def _tables():
    """The substitution box, and for each byte of a column its part of MixColumns(SubBytes)."""
    box = _substitution()
    first = [_multiply(s, 2) << 24 | s << 16 | s << 8 | _multiply(s, 3) for s in box]
    tables = [first]
    for _ in range(3):
        tables.append([word >> 8 | (word & 255) << 24 for word in tables[-1]])
    return box, tables


@functools.lru_cache(maxsize=16)
def expand(key):
    """KeyExpansion: the 60 words of the round keys of a 32-byte key."""
    if len(key) != 32:
        raise ValueError("a key of AES-256 has 32 bytes")
    box, _ = _tables()

    def substituted(word):
        return (box[word >> 24] << 24 | box[word >> 16 & 255] << 16
                | box[word >> 8 & 255] << 8 | box[word & 255])

    words = list(struct.unpack(">8I", key))
    constant = 1
    for i in range(8, 60):
        word = words[-1]
        if i % 8 == 0:
            word = substituted((word << 8 | word >> 24) & 0xFFFFFFFF) ^ constant << 24
            constant = _multiply(constant, 2)
        elif i % 8 == 4:
            word = substituted(word)
        words.append(words[i - 8] ^ word)
    return tuple(words)


def encrypt(key, block):
    """The 16 bytes that AES-256 makes of `block` under `key`."""
    words = expand(key)
    box, (t0, t1, t2, t3) = _tables()
    a, b, c, d = struct.unpack(">4I", block)
    a, b, c, d = a ^ words[0], b ^ words[1], c ^ words[2], d ^ words[3]
    for k in range(4, 56, 4):
        a, b, c, d = (
            t0[a >> 24] ^ t1[b >> 16 & 255] ^ t2[c >> 8 & 255] ^ t3[d & 255] ^ words[k],
            t0[b >> 24] ^ t1[c >> 16 & 255] ^ t2[d >> 8 & 255] ^ t3[a & 255] ^ words[k + 1],
            t0[c >> 24] ^ t1[d >> 16 & 255] ^ t2[a >> 8 & 255] ^ t3[b & 255] ^ words[k + 2],
            t0[d >> 24] ^ t1[a >> 16 & 255] ^ t2[b >> 8 & 255] ^ t3[c & 255] ^ words[k + 3])

    def last(w, x, y, z, round_key):
        return (box[w >> 24] << 24 | box[x >> 16 & 255] << 16 | box[y >> 8 & 255] << 8
                | box[z & 255]) ^ round_key

    return struct.pack(">4I", last(a, b, c, d, words[56]), last(b, c, d, a, words[57]),
                       last(c, d, a, b, words[58]), last(d, a, b, c, words[59]))
