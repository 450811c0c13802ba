"""SHAKE-128 as FIPS 202 defines it, of words of 64 bits that are numbers or terms, and the contract of
shake128 (optimized/masks/contracts.hpp).

A state is 25 words: bit z of word x + 5 y is the standard's A[x, y, z]."""

import hashlib

import masks
import terms as t

WORD = 64
STATE = 25
RATE = 168  # bytes: 200 less twice the strength of 16
ROUNDS = 24


# --- FIPS 202 -------------------------------------------------------------------------------------

def exclusive(*words):
    total = 0
    for word in words:
        total = t.sum_modulo_2(total, word, WORD)
    return total


def rotated(word, count):
    """Bit z becomes bit z + count modulo 64."""
    count %= WORD
    return t.concat([(t.extract(word, 0, WORD - count), WORD - count),
                     (t.extract(word, WORD - count, count), count)]) if count else word


def columns_added(a):
    """3.2.1, theta: to each bit the parities of two columns."""
    parity = [exclusive(*(a[x + 5 * y] for y in range(5))) for x in range(5)]
    return [exclusive(a[x + 5 * y], parity[(x - 1) % 5], rotated(parity[(x + 1) % 5], 1))
            for y in range(5) for x in range(5)]


def words_rotated(a):
    """3.2.2, rho."""
    moved, (x, y) = list(a), (1, 0)
    for k in range(24):
        moved[x + 5 * y] = rotated(a[x + 5 * y], (k + 1) * (k + 2) // 2)
        x, y = y, (2 * x + 3 * y) % 5
    return moved


def words_moved(a):
    """3.2.3, pi: A'[x, y] = A[x + 3 y, x]."""
    return [a[(x + 3 * y) % 5 + 5 * x] for y in range(5) for x in range(5)]


def rows_mixed(a):
    """3.2.4, chi: A'[x] = A[x] + (A[x + 1] + 1) A[x + 2] modulo 2."""
    return [exclusive(a[x + 5 * y], t.product_modulo_2(
        t.sum_modulo_2(a[(x + 1) % 5 + 5 * y], t.mask(WORD), WORD), a[(x + 2) % 5 + 5 * y], WORD))
        for y in range(5) for x in range(5)]


def feedback_bits():
    """3.2.5, rc(0), rc(1), ...: bit 0 of a register of 8 bits that starts as 1."""
    register = 1
    while True:
        yield register & 1
        register <<= 1
        register ^= 0x171 if register >> 8 else 0


def constants():
    """3.2.5: of the rounds; bit 2^j - 1 is rc(j + 7 round)."""
    bits = feedback_bits()
    return [sum(next(bits) << (1 << j) - 1 for j in range(7)) for _ in range(ROUNDS)]


CONSTANTS = constants()


def permuted(a):
    """3.3, Keccak-f[1600]."""
    for constant in CONSTANTS:
        a = rows_mixed(words_moved(words_rotated(columns_added(a))))
        a[0] = exclusive(a[0], constant)
    return a


def shake128(message, permutations):
    """4, 5.1 and 6.2: the first bytes, of a message of less than RATE bytes; as many as some permutations
    give."""
    block = list(message) + [0x1f] + [0] * (RATE - 1 - len(message))
    block[-1] ^= 0x80
    state = [t.from_bytes(block[k:k + 8]) for k in range(0, RATE, 8)] + [0] * (STATE - RATE // 8)
    output = []
    for _ in range(permutations):
        state = permuted(state)
        output += [byte for word in state[:RATE // 8] for byte in t.bytes_of(word, WORD)]
    return output


def known_answer():
    """What is wrong with this SHAKE-128, or None."""
    for length in (0, 49, RATE - 1):
        message = bytes(range(3, 3 + length))
        if bytes(shake128(message, 2)) != hashlib.shake_128(message).digest(2 * RATE):
            return f"SHAKE-128 of {length} bytes is not that of OpenSSL"
    return None


# --- the contract ---------------------------------------------------------------------------------

def of_each(image, run, backend, length, permutations):
    """RAND-8: the outputs of as many inputs as the backend has lanes, of any content."""
    run.machine.modulo_2 = True
    lanes = masks.LANES[backend]
    inputs_at, inputs = run.array("input", lanes * length, 8)
    size = permutations * RATE
    out_at = run.room(lanes * size, 1)
    run.machine.call(masks.symbol(backend, "shake128_of_each"), [inputs_at, length, permutations, out_at])
    for lane in range(lanes):
        expected = shake128(inputs[lane * length:(lane + 1) * length], permutations)
        for k in range(0, size, 8):
            run.expect_same(run.output(out_at + lane * size + k, WORD), t.from_bytes(expected[k:k + 8]),
                            f"bytes {k} to {k + 7} of input {lane}")
