"""AES as the proofs see it. On unknowns a round (aesenc, aesenclast) is an uninterpreted function of
its state and key, and the S-box one of its byte; on numbers they are what FIPS 197 says."""

import terms as t


def times2(v):
    return v << 1 ^ (0x11b if v & 0x80 else 0)


def sbox_table():
    """FIPS 197, 5.1.1: the affine map of the inverse. 3 generates all that have one."""
    powers, v = [], 1
    for _ in range(255):
        powers.append(v)
        v ^= times2(v)
    inverse = {powers[k]: powers[-k % 255] for k in range(255)}
    table = []
    for b in range(256):
        x = inverse.get(b, 0) * 0x101
        table.append((x ^ x >> 4 ^ x >> 5 ^ x >> 6 ^ x >> 7 ^ 0x63) & 255)
    return table


TABLE = sbox_table()


def last_round(state, key):
    """SubBytes, ShiftRows, AddRoundKey of 16 bytes, column after column."""
    s = state.to_bytes(16, "little")
    moved = bytes(TABLE[s[(4 * (c + r) + r) % 16]] for c in range(4) for r in range(4))
    return int.from_bytes(moved, "little") ^ key


def inner_round(state, key):
    """The same with MixColumns before AddRoundKey."""
    s, out = last_round(state, 0).to_bytes(16, "little"), []
    for c in range(0, 16, 4):
        column = s[c:c + 4]
        for r in range(4):
            a, b = column[r], column[(r + 1) % 4]
            out.append(times2(a) ^ times2(b) ^ b ^ column[(r + 2) % 4] ^ column[(r + 3) % 4])
    return int.from_bytes(bytes(out), "little") ^ key


ROUND = t.opaque("aesenc", (128, 128), 128, inner_round)
LAST_ROUND = t.opaque("aesenclast", (128, 128), 128, last_round)
SBOX = t.opaque("S-box", (8,), 8, lambda v: TABLE[v])


def substituted(word):
    """SubWord of 4 bytes."""
    return [SBOX(b) for b in word]


def rotated(word):
    return word[1:] + word[:1]


def exclusive(*words):
    """The sum of words of 4 bytes."""
    out = []
    for columns in zip(*words):
        total = 0
        for b in columns:
            total = t.exclusive(total, b, 8)
        out.append(total)
    return out


def schedule(key):
    """FIPS 197, 5.2: the 60 words, each 4 bytes, of a key of 32 bytes."""
    words = [key[4 * i:4 * i + 4] for i in range(8)]
    constant = 1
    for i in range(8, 60):
        last = words[i - 1]
        if i % 8 == 0:
            last = exclusive(substituted(rotated(last)), [constant, 0, 0, 0])
            constant = times2(constant)
        elif i % 8 == 4:
            last = substituted(last)
        words.append(exclusive(words[i - 8], last))
    return words


def encrypt(block, round_keys):
    """AES-256 of a block of 16 bytes (one value, lowest first) with 15 round keys."""
    state = t.from_bytes([t.exclusive(a, b, 8) for a, b in zip(
        t.bytes_of(block, 128), t.bytes_of(round_keys[0], 128))])
    for key in round_keys[1:14]:
        state = ROUND(state, key)
    return LAST_ROUND(state, round_keys[14])


def known_answer():
    """FIPS 197, appendix C.3: what is wrong with this AES-256, or None."""
    words = schedule(list(range(32)))
    keys = [int.from_bytes(bytes(sum(words[4 * i:4 * i + 4], [])), "little") for i in range(15)]
    plain = int.from_bytes(bytes(0x11 * i for i in range(16)), "little")
    found = encrypt(plain, keys).to_bytes(16, "little").hex()
    return None if found == "8ea2b7ca516745bfeafc49904b496089" else f"AES-256 of C.3 is {found}"
