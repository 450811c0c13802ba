"""Functions that are wrong, of which mutants.py makes implementations. One that takes `original`
returns a replacement for it."""

import copy
import dataclasses
import math
import struct

from . import decomposition, encoding, errors, hiding, lattice, linear, parameters, ring, session, wire


def instead(function):
    """A replacement that does not use the original."""
    return lambda original: function


def truncated(value, modulus):
    """The remainder of C: it has the sign of the value."""
    return abs(value) % modulus if value >= 0 else -(abs(value) % modulus)


def binary64_dot(row, x):
    """A sum that is rounded to binary64 at every step."""
    total = 0.0
    for a, b in zip(row, x):
        total += float(a) * b
    return int(total)


def summed_in(bits):
    """Products of bytes, summed in a signed integer that wraps."""
    def times(W_D, column, primes):
        half = 2**(bits - 1)
        return b"".join(bytes(((linear.dot(row, plane) + half) % (2 * half) - half) % p
                              for row in W_D)
                        for p, plane in zip(primes, ring.planes(column, primes)))
    return instead(times)


def inverses_exchanged(original):
    """Those of the first two planes."""
    def inverses(primes):
        found = original(primes)
        return [*reversed(found[:2]), *found[2:]]
    return inverses


def planes_reversed(column, primes):
    n = len(column) // len(primes)
    return [column[p * n:(p + 1) * n] for p in reversed(range(len(primes)))]


def split_by_residue(residues, primes):
    """The bytes of a residue beside each other."""
    return bytes(r % p for r in residues for p in primes)


def except_prime(number):
    """INTEG-3 without one of the planes."""
    def make(original):
        def check(w, s, x, y, primes):
            kept = [p for p in range(len(primes)) if p != number]
            fewer = tuple(primes[p] for p in kept)

            def without(columns):
                return [b"".join(ring.planes(column, primes)[p] for p in kept) for column in columns]
            original(*map(without, (w, s, x, y)), fewer)
        return check
    return make


def summed_columns(original):
    """One equation for the sum of all columns."""
    def total(columns, primes):
        of_planes = zip(*(ring.planes(column, primes) for column in columns))
        return b"".join(bytes(sum(entries) % p for entries in zip(*own))
                        for p, own in zip(primes, of_planes))
    return lambda w, s, x, y, primes: original(w, s, [total(x, primes)], [total(y, primes)], primes)


def by_recomputing(w, s, x, y, primes):
    """Too strict: accepts nothing but zeros and its own idea of a reply."""
    if any(any(column) for column in y):
        raise errors.IntegrityError("integrity check", "INTEG-3", "the reply is wrong")


def first_combinations(count):
    return lambda original: lambda w, s, x, y, primes: original(w[:count], s[:count], x, y, primes)


def prefix_of_bytes(original):
    """INTEG-1: the prefix taken of a combination and not of each of its planes."""
    return lambda w, W_D, primes: original([own[:len(W_D) * len(primes)] for own in w], W_D, primes)


def combinations_per_group(original):
    """INTEG-1: w drawn with the number of the group."""
    def check(self, group, x_masked, y_masked):
        other = copy.copy(self)
        other.w = self.w[group:] + self.w[:group]
        original(other, group, x_masked, y_masked)
    return check


def no_sequence_check(original):
    def answer(self, data):
        header = wire.header_of(data)
        if self.open and header:
            self.sequence = header[0]
        return original(self, data)
    return answer


def echo_without(*names):
    """SESS-3 with some of its three comparisons left out."""
    def require_echo(self, reply, sequence, group, columns):
        if reply["type"] != "REPLY":
            self.fail(errors.ProtocolError("APPLY", "SESS-1", f"David answers {reply['type']}"))
        given = {"sequence": reply["sequence"], "group": reply["group"],
                 "columns": len(reply["columns"])}
        asked = {"sequence": sequence, "group": group, "columns": columns}
        if any(given[name] != asked[name] for name in asked if name not in names):
            self.fail(errors.ProtocolError("APPLY", "SESS-3", "the reply answers another message"))
    return lambda original: require_echo


def without_canonical_check(original):
    """INTEG-3 on bytes as they are: what is equal modulo each prime is accepted."""
    def check(w, s, x, y, primes):
        original(w, s, x, [reduced(column, primes) for column in y], primes)
    return check


def reduced(column, primes):
    return b"".join(bytes(r % p for r in plane)
                    for p, plane in zip(primes, ring.planes(column, primes)))


def scales_first(y_int, row_scale, token_scale):
    return [encoding.float32(float(y) * (delta * token_scale))
            for y, delta in zip(y_int, row_scale)]


def largest_entry(x, activation_norm):
    """The scale of protocol version 1."""
    top = max(map(abs, x))
    return ([round(value * (activation_norm / top)) for value in x],
            encoding.float32(top / activation_norm))


def scaled_with(inverse=lambda target, norm: target / norm, scale=lambda target, norm: norm / target):
    """ENC-1 with another inverse or another scale."""
    def make(original):
        def quantise(x, activation_norm):
            q, right = original(x, activation_norm)
            if not any(q):
                return q, right
            norm = math.sqrt(encoding.ordered_sum(value * value for value in x))
            target = encoding.target_norm(activation_norm, len(x))
            return ([encoding.round_even(value * inverse(target, norm)) for value in x],
                    encoding.float32(scale(target, norm)))
        return quantise
    return make


def divided(original):
    """ENC-1 with a division by norm / target in place of the product with the inverse."""
    def quantise(x, activation_norm):
        q, scale = original(x, activation_norm)
        if not any(q):
            return q, scale
        norm = math.sqrt(encoding.ordered_sum(value * value for value in x))
        unit = norm / encoding.target_norm(activation_norm, len(x))
        return [encoding.round_even(value / unit) for value in x], scale
    return quantise


def half_up(value):
    return math.floor(value + 0.5)


def in_four_lanes(terms):
    lanes = [0.0] * 4
    for index, term in enumerate(terms):
        lanes[index % 4] += term
    return ((lanes[0] + lanes[1]) + lanes[2]) + lanes[3]


def plain_sum(terms):
    total = 0.0
    for term in terms:
        total += term
    return total


def up_to_2_63(W_int, activation_norm):
    for row in W_int:
        errors.require(activation_norm * sum(map(abs, row)) <= 2**63, "static bound", "ENC-5", "too large")


def answer_whatever_fits(original):
    """PARAM-3 without its last sentence. What should be refused gets an answer that takes no time."""
    def answer_apply(self, frame):
        answer = original(self, frame)
        return {"type": "READY"} if answer == session.refuse(wire.MALFORMED) else answer
    return answer_apply


def rows_of_a_alone(original):
    """PARAM-3: the reply is measured without the rows of U. A message that is not refused gets an answer
    that takes no time."""
    def answer_apply(self, frame):
        _, outputs = self.shapes[frame["group"]]
        size = len(frame["columns"]) * (outputs - self.set.public_rows) * self.set.planes
        return {"type": "READY"} if size <= parameters.RESIDUE_BYTES_MAX else original(self, frame)
    return answer_apply


def group_before_sequence(original):
    def answer(self, data):
        try:
            wire.decode(data, self.set.primes, self.shapes)
        except wire.UnknownGroup:
            return session.refuse(wire.UNKNOWN_GROUP if self.open else wire.OUT_OF_ORDER)
        except errors.ProtocolError:
            pass
        return original(self, data)
    return answer


def length_before_group(original):
    def answer(self, data):
        if self.open and data[4] == wire.APPLY and (len(data) - 21) % self.set.planes:
            return session.refuse(wire.MALFORMED)
        return original(self, data)
    return answer


def lenient_record(path, value, fields, optional=()):
    return value


def without_abort(original):
    def require_accepted(self, group, x, y):
        self.secret.check(group, x, y)
    return require_accepted


def compares(*names):
    """A HELLO of which only these fields are compared."""
    def answer_hello(self, frame):
        checks = {"version": (parameters.VERSION, wire.VERSION),
                  "set": (self.set.code, wire.SET),
                  "digest": (self.digest, wire.DIGEST)}
        if frame["type"] != "HELLO":
            return session.refuse(wire.OUT_OF_ORDER)
        for name in names:
            own, reason = checks[name]
            if frame[name] != own:
                return session.refuse(reason)
        self.open = True
        return {"type": "READY"}
    return lambda original: answer_hello


def never_dead(original):
    def receive(self, data):
        self.dead = False
        return original(self, data)
    return receive


def split_without(*rules):
    """WIRE-1 with some of its rules left out."""
    def split(data):
        if len(data) < 5:
            raise wire.malformed("WIRE-1", "cut")
        if "length" not in rules and len(data) != 4 + int.from_bytes(data[:4], "little"):
            raise wire.malformed("WIRE-8", "length")
        if data[4] not in wire.NAMES:
            raise wire.malformed("WIRE-1", "type")
        return data[4], data[5:]
    return lambda original: split


def lenient_hello(body):
    version, code = struct.unpack("<HB", body[4:7])
    return {"type": "HELLO", "version": version, "set": code, "digest": body[7:39]}


def blocks_backwards(original):
    def keystream(key, field, index):
        return (b"".join(piece[at:at + 16][::-1] for at in range(0, len(piece), 16))
                for piece in original(key, field, index))
    return keystream


def header_of(order, *, code=True):
    """RAND-8 in another order of bytes, or without the set."""
    def public_header(own, purpose, plane, width, index):
        return b"SLIP-2" + bytes([own] * code + [purpose, plane]) + struct.pack(f"{order}II", width, index)
    return instead(public_header)


def mask_with(**changed):
    """MASK-7 with other constants of the set."""
    def make(original):
        def mask(self, i):
            other = copy.copy(self)
            other.own = dataclasses.replace(
                self.own, lattice=dataclasses.replace(self.own.lattice, **changed))
            return original(other, i)
        return mask
    return make


def half_of_the_secret(original):
    """MASK-7: the second half of S is 0."""
    def block_secret(own, key, block):
        S = original(own, key, block)
        return S[:len(S) // 2] + [[0] * own.lattice.N] * (len(S) // 2)
    return block_secret


def noise_times(factor):
    """MASK-7 with another multiple of the noise."""
    return lambda original: lambda own, key, index, n: [factor * e for e in original(own, key, index, n)]


def interleaved(values, N):
    """MASK-7: residue a d + l in place of l N + a."""
    d = len(values) // N
    return [values[element::d] for element in range(d)]


def cancellation_off_by(units):
    """MASK-7 with an error of c in its first entry: `units(tau)` more."""
    def make(original):
        def cancellation(self, i):
            first, *rest = original(self, i)
            return [(first + units(self.own.lattice.tau)) % self.L, *rest]
        return cancellation
    return make


def reply_from_behind(original):
    """HIDE-4: y_U is looked for in front of y_A."""
    def without_secret(own, key_of_matrix, reply, M):
        rows = len(reply) // own.planes
        turned = [ring.rows(reply, own.primes, *ends) for ends in ((rows - M, rows), (0, rows - M))]
        return original(own, key_of_matrix, b"".join(map(b"".join, zip(*(
            ring.planes(part, own.primes) for part in turned)))), M)
    return without_secret


def upper_rows_last(original):
    """HIDE-1: [U ; A]."""
    def times(self, column, primes):
        M, result = len(self.A[0]), original(self, column, primes)
        return b"".join(plane[M:] + plane[:M] for plane in ring.planes(result, primes))
    return times


def first_plane_alone(original):
    """HIDE-1: A and U modulo the first prime in every plane."""
    def times(self, column, primes):
        other = copy.copy(self)
        other.planes = [self.planes[0]] * len(primes)
        return original(other, column, primes)
    return times


def with_the_secret(original):
    """HIDE-4 left out."""
    def unmask(self, group, y, c):
        y_A = ring.rows(y, self.set.primes, 0, self.rows[group])
        return hiding.unmask(self.set, self.widths[group], y_A, c)
    return unmask


def first_key(original):
    """HIDE-3: one V for all groups."""
    def unmask(self, group, y, c):
        other = copy.copy(self)
        other.keys = [self.keys[0]] * len(self.keys)
        return original(other, group, y, c)
    return unmask


def one_multiplier(width, Y, L):
    """HIDE-5 as if v_1 B were nothing."""
    return lattice.centred(ring.lift(width.u[0] * Y % L, L) // width.u[0], width.s)


def positive_residue(value, tau):
    return value % tau


def centred_upwards(value, tau):
    """The residue in -floor((tau-1)/2) .. floor(tau/2)."""
    return (value + (tau - 1) // 2) % tau - (tau - 1) // 2


def truncated_residue(value, tau):
    """The remainder of C, centred once more only where it is positive."""
    rest = truncated(value, tau)
    return rest - tau if rest >= tau // 2 else rest


def from_the_reply(original):
    """MASK-8 without the lift: tau does not divide L."""
    def unmask(y, c, own):
        L = ring.modulus(own.primes)
        return [lattice.centred(Y % L, own.lattice.tau) for Y in linear.unmask(y, c, own.primes)]
    return unmask


def last_entries(z, W_D):
    """MASK-10: the end of z in place of its beginning."""
    return [linear.dot(z[-len(W_D):], column) % parameters.PRODUCT_MODULUS for column in zip(*W_D)]


def products_of_64_bits(z, zW, q, y_D):
    """MASK-10 modulo 2^64."""
    if any((linear.dot(z, y) - linear.dot(zW, x)) % 2**64 for x, y in zip(q, y_D)):
        raise errors.InternalError("check of products", "MASK-10", "wrong")


def products_of(columns=slice(None), rows=slice(None)):
    """MASK-10 on some columns alone, or on some rows."""
    return lambda original: lambda z, zW, q, y_D: original(
        z, zW, q[columns], [[y if row in range(len(own))[rows] else 0 for row, y in enumerate(own)]
                            for own in y_D[columns]])


def summed_products(original):
    """MASK-10: one equation for the sum of all columns."""
    return lambda z, zW, q, y_D: original(z, zW, [[sum(row) for row in zip(*q)]],
                                          [[sum(row) for row in zip(*y_D)]])


def residual_with(room=lambda weight_norm, n: weight_norm - (math.sqrt(n) + 1) / 2,
                  quotient=lambda norm, room: 127 * norm / room,
                  larger=max):
    """DECO-3 with another room for rounding, another order, or another choice of the two."""
    def make(original):
        def largest_residual(row, weight_norm=None):
            if weight_norm is None:
                return original(row)
            return larger(original(row), quotient(decomposition.norm(row), room(weight_norm, len(row))))
        return largest_residual
    return make


def exact_norm(row):
    """The 2-norm whose sum of squares is rounded once."""
    return math.sqrt(math.fsum(entry * entry for entry in row))
