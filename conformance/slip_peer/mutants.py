"""Wrong implementations: this package with one function replaced. Each must be caught by the case
that is named beside it; a vector set that lets one pass has a hole."""

import contextlib
import dataclasses
import struct
from collections.abc import Callable

from . import (artifact, decomposition, documents, encoding, errors, integrity, linear,
               parameters, randomness, ring, session, vectors, wire)


@dataclasses.dataclass(frozen=True)
class Mutant:
    kind: str            # the class of MUST clauses
    name: str
    owner: object        # a module or class
    attribute: str
    make: Callable       # original -> replacement
    killer: str          # the id of a case that fails


@contextlib.contextmanager
def applied(mutant):
    original = getattr(mutant.owner, mutant.attribute)
    setattr(mutant.owner, mutant.attribute, mutant.make(original))
    try:
        yield
    finally:
        setattr(mutant.owner, mutant.attribute, original)


def instead(function):
    """A replacement that does not use the original."""
    return lambda original: function


def truncated(value, modulus):
    """The remainder of C: it has the sign of the value."""
    return abs(value) % modulus if value >= 0 else -(abs(value) % modulus)


def float_dot(row, x):
    """A sum in binary64, of which nothing is reduced on the way."""
    total = 0.0
    for a, b in zip(row, x):
        total += a * b
    return int(total)


def product_by_limbs(W_D, columns, L):
    """Limbs of a byte, each summed in 32 bits."""
    def dot(row, x):
        total = 0
        for shift in range(0, 32, 8):
            limb = sum(a * (b >> shift & 255) for a, b in zip(row, x))
            total += ((limb + 2**31) % 2**32 - 2**31) << shift
        return total % L
    return [[dot(row, column) for row in W_D] for column in columns]


def one_repetition(rho, s, x, y, L):
    for rows, keys in list(zip(zip(*rho), zip(*s)))[:1]:
        if any(linear.dot(rows, b) % L != linear.dot(keys, a) % L for a, b in zip(x, y)):
            raise errors.IntegrityError("integrity check", "INTEG-3", "the reply is wrong")


def summed_columns(rho, s, x, y, L):
    """One equation for the sum of all columns."""
    x_sum, y_sum = [list(map(sum, zip(*columns))) for columns in (x, y)]
    for rows, keys in zip(zip(*rho), zip(*s)):
        if linear.dot(rows, y_sum) % L != linear.dot(keys, x_sum) % L:
            raise errors.IntegrityError("integrity check", "INTEG-3", "the reply is wrong")


def by_recomputing(rho, s, x, y, L):
    """Too strict: accepts nothing but zeros and its own idea of a reply."""
    if any(any(column) for column in y):
        raise errors.IntegrityError("integrity check", "INTEG-3", "the reply is wrong")


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
    """INTEG-3 on numbers as they are: what is equal mod L is accepted."""
    return lambda rho, s, x, y, L: original(rho, s, x, [[v % L for v in c] for c in y], L)


def scales_first(y_int, row_scale, token_scale):
    return [encoding.float32(float(y) * (delta * token_scale))
            for y, delta in zip(y_int, row_scale)]


def up_to_2_63(W_int, qa_max):
    for row in W_int:
        errors.require(qa_max * sum(map(abs, row)) <= 2**63, "static bound", "ENC-5", "too large")


def answer_whatever_fits(self, frame):
    """PARAM-3 without its last sentence."""
    self.sequence += 1
    y = self.weights[frame["group"]].product(frame["columns"], self.profile.L)
    return {"type": "REPLY", "sequence": frame["sequence"], "group": frame["group"], "columns": y}


def group_before_sequence(original):
    def answer(self, data):
        try:
            wire.decode(data, self.profile, self.shapes)
        except wire.UnknownGroup:
            return session.refuse(wire.UNKNOWN_GROUP if self.open else wire.OUT_OF_ORDER)
        except errors.ProtocolError:
            pass
        return original(self, data)
    return answer


def length_before_group(original):
    def answer(self, data):
        if self.open and data[4] == wire.APPLY and (len(data) - 21) % self.profile.residue_bytes:
            return session.refuse(wire.MALFORMED)
        return original(self, data)
    return answer


def lenient_record(path, value, fields, optional=()):
    return value


def without_abort(original):
    def require_accepted(self, group, x, y):
        integrity.check(self.rho[group], self.s[group], x, y, self.profile.L)
    return require_accepted


def compares(*names):
    """A HELLO of which only these fields are compared."""
    def answer_hello(self, frame):
        checks = {"version": (parameters.VERSION, wire.VERSION),
                  "profile": (self.profile.code, wire.PROFILE),
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


def lenient_decode(data, profile):
    size = profile.residue_bytes
    return [int.from_bytes(data[i:i + size], "little") % profile.L
            for i in range(0, len(data), size)]


def unreduced_decode(data, profile):
    size = profile.residue_bytes
    return [int.from_bytes(data[i:i + size], "little") for i in range(0, len(data), size)]


def lenient_hello(body):
    version, profile = struct.unpack("<HB", body[4:7])
    return {"type": "HELLO", "version": version, "profile": profile, "digest": body[7:39]}


def rho_by_repetition(key, group, rows, profile):
    flat = randomness.residues(key, randomness.RHO, group, rows * profile.kappa, profile.L)
    return list(map(list, zip(*(flat[i:i + rows] for i in range(0, len(flat), rows)))))


def in_words(key, tag, index, count, L):
    """A sampler that takes words through the blocks in the wrong order."""
    blocks = [next_block[::-1] for _, next_block in
              zip(range(count * 8 // 16 + 2), randomness.keystream(key, tag, index))]
    return randomness.sample(L, blocks, count)


MUTANTS = [
    Mutant("arithmetic", "products are summed in binary64", linear, "dot", instead(float_dot),
           "LIN-1/37"),
    Mutant("arithmetic", "limbs are summed in 32 bits", linear, "product",
           instead(product_by_limbs), "LIN-1/37"),
    Mutant("arithmetic", "a sum is reduced by comparing with > L", ring, "add",
           instead(lambda a, b, L: a + b if a + b <= L else a + b - L), "MASK-1/10"),
    Mutant("arithmetic", "2^t is 2^20", parameters, "T", instead(20), "LIN-2/1"),
    Mutant("arithmetic", "a row of the left factor has no exponent", parameters, "A_MAX",
           instead(parameters.FACTOR_MAX), "DECO-4/3"),
    Mutant("arithmetic", "quantisation divides by the scale", encoding, "quantise",
           lambda original: lambda x, qa_max: (
               [round(encoding.float32(v / original(x, qa_max)[1])) for v in x],
               original(x, qa_max)[1]), "ENC-1/13"),
    Mutant("arithmetic", "rounding goes away from zero", encoding, "round_even",
           instead(lambda v: int(abs(v) + 0.5) * (1 if v >= 0 else -1)), "ENC-1/6"),
    Mutant("signs", "embed keeps the sign of C's remainder", ring, "embed",
           instead(lambda v, L: truncated(v, L)), "RING-2/2"),
    Mutant("signs", "lift is left out", ring, "lift", instead(lambda r, L: r), "MASK-4/2"),
    Mutant("signs", "lift begins one too early", ring, "lift",
           instead(lambda r, L: r if r < (L - 1) // 2 else r - L), "MASK-4/3"),
    Mutant("signs", "the cancellation is added", ring, "subtract",
           instead(lambda a, b, L: (a + b) % L), "MASK-4/1"),
    Mutant("endianness", "residues are big-endian", ring, "encode",
           instead(lambda residues, profile: b"".join(
               r.to_bytes(profile.residue_bytes, "big") for r in residues)), "CONV-2/1"),
    Mutant("endianness", "the counter block is little-endian", randomness, "counter_block",
           instead(lambda tag, index, counter: struct.pack("<IQI", tag, index, counter)), "RAND-1/5"),
    Mutant("endianness", "the header is big-endian", wire, "HEADER",
           instead(struct.Struct(">QII")), "WIRE-4/2"),
    Mutant("masks", "a rejected word is reduced", randomness, "accept",
           instead(lambda word, e, L: (word & 2**e - 1) % L), "RAND-2/2"),
    Mutant("masks", "words are reduced without their mask of bits", randomness, "accept",
           instead(lambda word, e, L: word if word < L else None), "RAND-2/4"),
    Mutant("masks", "every column has mask 0", randomness, "mask",
           lambda original: lambda key, index, n, L: original(key, 0, n, L), "MASK-5/1"),
    Mutant("masks", "masks and rho share a tag", randomness, "RHO", instead(1), "INTEG-1/1"),
    Mutant("masks", "the index has 32 bits", randomness, "counter_block",
           lambda original: lambda tag, index, counter: original(tag, index % 2**32, counter), "MASK-1/5"),
    Mutant("masks", "the zero token is not masked", linear, "mask",
           lambda original: lambda q, r, L: original(q, r, L) if any(q) else list(q), "MASK-1/8"),
    Mutant("integrity", "every reply is accepted", integrity, "check",
           instead(lambda rho, s, x, y, L: None), "INTEG-3/6"),
    Mutant("integrity", "one repetition is checked", integrity, "check",
           instead(one_repetition), "INTEG-3/17"),
    Mutant("integrity", "columns are checked in sum", integrity, "check",
           instead(summed_columns), "INTEG-3/16"),
    Mutant("integrity", "honest replies are rejected", integrity, "check",
           instead(by_recomputing), "INTEG-3/1"),
    Mutant("integrity", "the first column alone is checked", integrity, "check",
           lambda original: lambda rho, s, x, y, L: original(rho, s, x[:1], y[:1], L), "INTEG-3/10"),
    Mutant("ordering", "columns of a reply are reversed", linear, "product",
           lambda original: lambda W_D, columns, L: original(W_D, columns, L)[::-1], "LIN-1/30"),
    Mutant("ordering", "rho is filled repetition by repetition", randomness, "rho",
           instead(rho_by_repetition), "INTEG-1/2"),
    Mutant("ordering", "bytes of a block are taken backwards", randomness, "residues",
           instead(in_words), "MASK-1/2"),
    Mutant("ordering", "HELLO is compared digest first", session.David, "answer_hello",
           compares("digest", "profile", "version"), "SESS-2/7"),
    Mutant("session", "the sequence is not compared", session.David, "answer",
           no_sequence_check, "SESS-3/2"),
    Mutant("session", "the digest is not compared", session.David, "answer_hello",
           compares("version", "profile"), "SESS-2/6"),
    Mutant("session", "the version is not compared", session.David, "answer_hello",
           compares("profile", "digest"), "SESS-2/1"),
    Mutant("session", "the echo is not compared", session.Charlie, "require_echo",
           instead(lambda self, reply, sequence, group, columns: None), "SESS-3/5"),
    Mutant("session", "a reject sends no ABORT", session.Charlie, "require_accepted",
           without_abort, "INTEG-6/1"),
    Mutant("session", "frames are answered after the end", session.David, "receive",
           never_dead, "SESS-4/2"),
    Mutant("wire", "residues are reduced in place of being refused", ring, "decode",
           instead(lenient_decode), "CONV-1/2"),
    Mutant("wire", "residues are not compared with L", ring, "decode",
           instead(unreduced_decode), "WIRE-5/5"),
    Mutant("wire", "bytes behind a frame are ignored", wire, "split", split_without("length"), "WIRE-1/4"),
    Mutant("wire", "the magic is not compared", wire, "decode_hello", instead(lenient_hello), "WIRE-2/5"),
    Mutant("arithmetic", "the two scales are multiplied first", encoding, "dequantise",
           instead(scales_first), "ENC-2/8"),
    Mutant("arithmetic", "a product of 2^63 is accepted", encoding, "product_bound",
           instead(up_to_2_63), "ENC-5/7"),
    Mutant("integrity", "a reply plus L is accepted", integrity, "check",
           without_canonical_check, "INTEG-3/20"),
    Mutant("session", "the group is not compared with the one that was asked", session.Charlie,
           "require_echo", echo_without("group"), "SESS-3/8"),
    Mutant("session", "the number of columns is not compared with what was asked", session.Charlie,
           "require_echo", echo_without("columns"), "SESS-3/9"),
    Mutant("session", "a message is answered whose reply exceeds 2^26 bytes", session.David,
           "answer_apply", instead(answer_whatever_fits), "PARAM-3/2"),
    Mutant("session", "the group is examined before the sequence", session.David, "answer",
           group_before_sequence, "WIRE-7/23"),
    Mutant("session", "the length is examined before the group", session.David, "answer",
           length_before_group, "WIRE-7/25"),
    Mutant("wire", "4096 columns are too many", parameters, "COLUMNS_MAX", instead(4095),
           "WIRE-4/18"),
    Mutant("wire", "2^26 bytes of residues are too many", parameters, "RESIDUE_BYTES_MAX",
           instead(2**26 - 1), "PARAM-3/1"),
    Mutant("signs", "what is no residue is lifted", ring, "require_canonical",
           lambda original: lambda residues, L, step:
               None if step == "lift" else original(residues, L, step), "CONV-1/5"),
    Mutant("files", "unknown fields are ignored", documents, "record", instead(lenient_record),
           "MODEL-7/4"),
    Mutant("files", "of two fields of one name the last counts", documents, "once", instead(dict),
           "MODEL-7/6"),
    Mutant("files", "a fraction of zero is an integer", documents, "require_integer",
           lambda original: lambda path, name, value, least, most:
               original(path, name, int(value), least, most), "MODEL-7/8"),
    Mutant("files", "Charlie's digests are not compared", artifact, "require_digests",
           instead(lambda folder: None), "MODEL-7/55"),
    Mutant("files", "gaps between tensors are ignored", artifact.SafeTensors, "require_tiling",
           instead(lambda self: None), "MODEL-7/38"),
    Mutant("files", "the ranks are not compared with the plan", artifact, "require_planned_ranks",
           instead(lambda path, plan, strategy, groups: None), "DECO-6/11"),
    Mutant("files", "an exponent need not be the least", decomposition, "is_exponent_of",
           instead(lambda row, e: 0 <= e <= parameters.ROW_EXPONENT_MAX), "PARAM-2/10"),
    Mutant("files", "exponents have no greatest", decomposition, "is_exponent_of",
           instead(lambda row, e: decomposition.row_exponent([a << max(e, 0) for a in row]) == e),
           "PARAM-2/4"),
    Mutant("files", "entries of A may have 16 bits", artifact, "require_left_factor",
           lambda original: lambda path, name, significands, exponents: None, "PARAM-2/3"),
    Mutant("wire", "reasons are not compared", wire, "REASONS", instead(range(256)), "WIRE-7/15"),
]


def fate(mutant, case):
    """How the mutant fails the case, or None if it survives."""
    with applied(mutant):
        try:
            return vectors.judge(case, vectors.OwnImplementation().ask(case))
        except Exception as error:  # a mutant may break in any way
            return f"{type(error).__name__}: {error}"
