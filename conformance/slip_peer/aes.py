"""The block cipher AES-256 of FIPS 197, encryption only (RAND-7), of many blocks at once. It takes time
that depends on its data: good for small models and tests, not for secrets that matter.

The state is a string of 16 places, row after row; a place holds a byte of each of the n blocks."""

import functools


def _multiply(a, b):
    """The product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1."""
    product = 0
    while b:
        if b & 1:
            product ^= a
        a = a << 1 ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return product


@functools.cache
def _substitution():
    """The S-box. The powers of 3 are all values but 0: the inverse of 3^i is 3^(255 - i)."""
    powers = [1]
    while len(powers) < 255:
        powers.append(_multiply(powers[-1], 3))
    box = bytearray([0x63]) * 256
    for place, value in enumerate(powers):
        inverse = powers[-place % 255]
        rotated = inverse
        for shift in range(1, 5):
            rotated ^= (inverse << shift | inverse >> 8 - shift) & 255
        box[value] = rotated ^ 0x63
    return bytes(box)


DOUBLE = bytes(_multiply(value, 2) for value in range(256))


@functools.lru_cache(maxsize=16)
def expand(key):
    """KeyExpansion: the 15 round keys of a 32-byte key."""
    if len(key) != 32:
        raise ValueError("a key of AES-256 has 32 bytes")
    words = [key[at:at + 4] for at in range(0, 32, 4)]
    constant = 1
    for i in range(8, 60):
        word = words[-1]
        if i % 8 == 0:
            word = _xor((word[1:] + word[:1]).translate(_substitution()), bytes([constant, 0, 0, 0]))
            constant = _multiply(constant, 2)
        elif i % 8 == 4:
            word = word.translate(_substitution())
        words.append(_xor(words[i - 8], word))
    return [b"".join(words[at:at + 4]) for at in range(0, 60, 4)]


def _xor(first, *others):
    total = int.from_bytes(first, "little")
    for other in others:
        total ^= int.from_bytes(other, "little")
    return total.to_bytes(len(first), "little")


def _places(block):
    """The bytes of a block in the order of the state: row r of column c is byte r + 4 c."""
    return [block[r + 4 * c] for r in range(4) for c in range(4)]


@functools.lru_cache(maxsize=64)
def _round_keys(key, n):
    """The same in every block."""
    return [b"".join(bytes([byte]) * n for byte in _places(round_key)) for round_key in expand(key)]


def _shift_rows(state, n):
    """Row r turns by r places."""
    rows = (state[first:first + 4 * n] for first in range(0, 16 * n, 4 * n))
    return b"".join(row[n * r:] + row[:n * r] for r, row in enumerate(rows))


def _mix_columns(state, n, round_key):
    """Row r becomes 2 a_r + 3 a_(r+1) + a_(r+2) + a_(r+3); AddRoundKey follows."""
    doubled, row = state.translate(DOUBLE), 4 * n
    return _xor(doubled, doubled[row:] + doubled[:row], state[row:] + state[:row],
                state[2 * row:] + state[:2 * row], state[3 * row:] + state[:3 * row], round_key)


def encrypt(key, blocks):
    """What AES-256 makes of each 16 bytes of `blocks` under `key`."""
    n, box = len(blocks) // 16, _substitution()
    first, *between, last = _round_keys(key, n)
    state = _xor(b"".join(_places([blocks[byte::16] for byte in range(16)])), first)
    for round_key in between:
        state = _mix_columns(_shift_rows(state.translate(box), n), n, round_key)
    state = _xor(_shift_rows(state.translate(box), n), last)
    result = bytearray(16 * n)
    for place, byte in enumerate(_places(range(16))):
        result[byte::16] = state[place * n:(place + 1) * n]
    return bytes(result)
