"""SHAKE-128 as FIPS 202 defines it, of words of 64 bits that are numbers or terms, and the contract of
shake128 (optimized/masks/contracts.hpp).

A state is 25 words: bit z of word x + 5 y is the standard's A[x, y, z]."""

import functools
import hashlib

import masks
import terms as t
from machine import Refused, same
from regions import Chunk, Interval
from sizes import divided

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


def padded(message):
    """5.1 and 6.2: the first state, of a message of less than RATE bytes."""
    block = list(message) + [0x1f] + [0] * (RATE - 1 - len(message))
    block[-1] ^= 0x80
    return [t.from_bytes(block[k:k + 8]) for k in range(0, RATE, 8)] + [0] * (STATE - RATE // 8)


def shake128(message, permutations):
    """4: the first bytes, of a message of less than RATE bytes; as many as some permutations
    give."""
    state = padded(message)
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


# --- the contracts --------------------------------------------------------------------------------

def name_of(backend, function):
    if function == "permute":
        return f"{masks.symbol(backend, 'Keccak')}::permute"
    return masks.symbol(backend, function)


def word_at(state, lanes, k, lane):
    """Where word k of a lane's state stands."""
    return state + 8 * (k * lanes + lane)


def absorb(image, run, backend):
    """The state before the first permutation, of inputs of every length that is admitted."""
    run.machine.modulo_2 = True
    lanes = masks.LANES[backend]
    for length in [run.fixed["length"]] if "length" in run.fixed else range(RATE):
        inputs_at, inputs = run.array(f"input_{length}", lanes * length, 8)
        state_at = run.room(8 * lanes * STATE, min(8 * lanes, 64))
        run.machine.call(name_of(backend, "absorb"), [inputs_at, length, state_at])
        for lane in range(lanes):
            state = padded(inputs[lane * length:(lane + 1) * length])
            for k, word in enumerate(state):
                run.expect_same(run.output(word_at(state_at, lanes, k, lane), WORD), word,
                                f"word {k} of input {lane} of {length} bytes")


def permute(image, run, backend):
    """Keccak-f[1600] of any state in each lane."""
    run.machine.modulo_2 = True
    lanes = masks.LANES[backend]
    state_at, words = run.array("state", STATE * lanes, WORD, alignment=min(8 * lanes, 64))
    run.machine.free.append((state_at, state_at + 8 * len(words)))
    run.machine.call(name_of(backend, "permute"), [state_at])
    for lane in range(lanes):
        for k, word in enumerate(permuted(words[lane::lanes])):
            run.expect_same(run.output(word_at(state_at, lanes, k, lane), WORD), word,
                            f"word {k} of lane {lane}")


def squeeze(image, run, backend):
    """The bytes of any state that are output, of each lane in a part of its own."""
    machine, explorer = run.of_any_size()
    lanes = masks.LANES[backend]
    state_at, words = run.array("state", STATE * lanes, WORD, alignment=min(8 * lanes, 64))
    stride = t.scale(machine.sizes.symbol("words", RATE // 8, 1 << 55), 8, 64)
    begin = [t.scale(stride, lane, 64) for lane in range(lanes)]

    def check(lane, code, index):
        k = t.sub(index, divided(begin[lane], 8), 64)
        run.expect_same(code, words[k * lanes + lane], f"word {k} of lane {lane}")
    out_at = machine.region("out", t.add(begin[-1], RATE, 64), 8, [
        Chunk(first, t.add(first, RATE, 64), 8, check=functools.partial(check, lane))
        for lane, first in enumerate(begin)], 1)
    explorer.call(name_of(backend, "squeeze"), [state_at, stride, out_at])


class States:
    """The states of `shake128`, known by how often they were permuted: that is what stands where they are,
    for the functions that are called."""

    def __init__(self, run, backend):
        self.run, (self.machine, self.explorer) = run, run.of_any_size()
        self.lanes, self.at, sizes = masks.LANES[backend], None, self.machine.sizes
        self.length, self.permutations = (sizes.symbol(name, 0, most) for name, most in (
            ("length", RATE - 1), ("permutations", 1 << 50)))
        self.stride = t.scale(self.permutations, RATE, 64)
        self.inputs_at = self.machine.input("inputs", t.scale(self.length, self.lanes, 64), 1, [
            run.family("input", 8)])
        self.out_at = self.machine.output("out", t.scale(self.stride, self.lanes, 64), 1, None, refuse_store,
                                          self.stride, self.lanes)
        self.machine.hooks |= {name_of(backend, function): getattr(self, function)
                               for function in ("absorb", "permute", "squeeze")}

    def is_permuted(self, machine, times):
        """From now on the state is permuted so often."""
        machine.memory.update(enumerate(t.to_cells(times, WORD), self.at))

    def times(self, machine, state):
        """How often it is permuted."""
        if not same(state, self.at):
            raise Refused("another state than the one that was absorbed")
        return t.from_cells([machine.memory[self.at + k] for k in range(8)])

    def absorb(self, machine):
        """What `absorb` does, by its contract."""
        inputs, length, state = (machine.general[name] for name in machine.ARGUMENTS[:3])
        size = 8 * self.lanes * STATE
        if not all(map(same, (inputs, length), (self.inputs_at, self.length))):
            raise Refused("absorbs something else than the inputs")
        if not t.is_int(state) or state % min(8 * self.lanes, 64) or (
                state < machine.general[machine.POINTER]) or not machine.on_stack(state, size):
            raise Refused("a state that does not stand on the function's own stack")
        if self.at not in (None, state):
            raise Refused("states in several places")
        self.at, machine.sealed = state, (state, state + size)
        self.is_permuted(machine, 0)

    def permute(self, machine):
        """What `permute` does, by its contract."""
        self.is_permuted(machine, t.add(self.times(machine, machine.general[machine.ARGUMENTS[0]]), 1, WORD))

    def squeeze(self, machine):
        """What `squeeze` does, by its contract, with the parts of the output that it is for."""
        state, stride, out = (machine.general[name] for name in machine.ARGUMENTS[:3])
        machine.stores += 1
        times = self.times(machine, state)
        if machine.scouting:
            return
        region, chunk, offset = machine.located(out, RATE)
        if region.base is not self.out_at or chunk is not region.chunks[0] or not all(map(same, (
                stride, t.add(offset, RATE, 64)), (self.stride, t.scale(times, RATE, 64)))):
            raise Refused("bytes of another state than the output's, or in another place")
        for lane, own in enumerate(region.chunks):
            low = t.add(offset, t.scale(stride, lane, 64), 64)
            machine.written.append(Interval(own, low, t.add(low, RATE, 64)))
        self.run.outputs += 1


def refuse_store(*_):
    raise Refused("a store to the output that is none of a state's bytes")


def of_each(image, run, backend):
    """RAND-8: the outputs of as many inputs as the backend has lanes, of any content, length and number of
    permutations, by the contracts above."""
    states = States(run, backend)
    states.explorer.call(name_of(backend, "shake128_of_each"), [
        states.inputs_at, states.length, states.permutations, states.out_at])
