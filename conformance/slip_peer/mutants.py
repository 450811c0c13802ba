"""Wrong implementations: this package with one function replaced. Each must fail a case of the clause
that is named beside it; a vector set that lets one pass has a hole."""

import contextlib
import dataclasses
import struct
from collections.abc import Callable

from . import (artifact, decomposition, documents, encoding, hiding, integrity, lattice, linear, operations,
               parameters, randomness, ring, session, vectors, wire, wrong)
from .wrong import instead


@dataclasses.dataclass(frozen=True)
class Mutant:
    kind: str            # the class of MUST clauses
    name: str
    owner: object        # a module or class
    attribute: str
    make: Callable       # original -> replacement
    clause: str          # of which a case fails


@contextlib.contextmanager
def applied(mutant):
    original = getattr(mutant.owner, mutant.attribute)
    setattr(mutant.owner, mutant.attribute, mutant.make(original))
    try:
        yield
    finally:
        setattr(mutant.owner, mutant.attribute, original)


ARITHMETIC = [
    ("products are summed in binary64", linear, "dot", instead(wrong.binary64_dot), "LIN-2"),
    ("products are summed in 16 bits", linear, "times", wrong.summed_in(16), "LIN-1"),
    ("products are summed in 32 bits", linear, "times", wrong.summed_in(32), "LIN-1"),
    ("a sum is reduced by comparing with > L", ring, "add",
     instead(lambda a, b, L: a + b if a + b <= L else a + b - L), "MASK-1"),
    ("2^t is 2^20", parameters, "T", instead(20), "LIN-2"),
    ("a row of the left factor has no exponent", parameters, "A_MAX", instead(parameters.FACTOR_MAX),
     "DECO-4"),
    ("activations are scaled by their largest entry", encoding, "quantise",
     instead(wrong.largest_entry), "ENC-1"),
    ("the sum of squares goes from left to right", encoding, "ordered_sum", instead(wrong.plain_sum),
     "ENC-1"),
    ("the sum of squares has four lanes", encoding, "ordered_sum", instead(wrong.in_four_lanes),
     "ENC-1"),
    ("the scale is one over the inverse", encoding, "quantise",
     wrong.scaled_with(scale=lambda target, norm: 1 / (target / norm)), "ENC-1"),
    ("the inverse is rounded to binary32", encoding, "quantise",
     wrong.scaled_with(inverse=lambda target, norm: encoding.float32(target / norm)), "ENC-1"),
    ("an entry is divided by norm / target", encoding, "quantise", wrong.divided, "ENC-1"),
    ("the target leaves no room for rounding", encoding, "target_norm",
     instead(lambda norm, n: float(norm)), "ENC-1"),
    ("the target leaves no half unit", encoding, "target_norm",
     lambda original: lambda norm, n: original(norm, n) + 0.5, "ENC-1"),
    ("rounding goes away from zero", encoding, "round_even",
     instead(lambda v: int(abs(v) + 0.5) * (1 if v >= 0 else -1)), "CONV-3"),
    ("a half is rounded up", encoding, "round_even", instead(wrong.half_up), "CONV-3"),
    ("a row norm is rounded down", encoding, "row_norm",
     lambda original: lambda squares: original([max(squares, default=0) - 1]) if any(squares) else 0,
     "ENC-3"),
    ("activations may have any norm", parameters, "NORM_MIN", instead(1), "ENC-3"),
    ("the bound on products is L", encoding, "modulus_bound",
     lambda original: lambda squares, norm, L: original(squares, norm, 2 * L), "ENC-4"),
    ("a product of 2^63 is accepted", encoding, "product_bound", instead(wrong.up_to_2_63), "ENC-5"),
    ("the norm of a long row is not capped", decomposition, "largest_residual",
     lambda original: lambda row, weight_norm=None: original(row), "DECO-3"),
    ("the cap replaces the greatest entry", decomposition, "largest_residual",
     wrong.residual_with(larger=lambda entry, cap: cap), "DECO-3"),
    ("the squares of a row are added in one rounding", decomposition, "norm", instead(wrong.exact_norm),
     "DECO-3"),
    ("the squares of a row are added backwards", decomposition, "norm",
     lambda original: lambda row: original(row[::-1]), "DECO-3"),
    ("the cap leaves no room for rounding", decomposition, "largest_residual",
     wrong.residual_with(room=lambda weight_norm, n: float(weight_norm)), "DECO-3"),
    ("the cap leaves no half unit", decomposition, "room",
     lambda original: lambda weight_norm, n: original(weight_norm, n) + 0.5, "DECO-3"),
    ("the quotient of the cap is formed first", decomposition, "largest_residual",
     wrong.residual_with(quotient=lambda norm, room: 127 * (norm / room)), "DECO-3"),
    ("the norm of a row under lattice masks is not compared", encoding, "lattice_bound",
     lambda original: lambda squares, norm, own: original([0], norm, own), "ENC-4"),
    ("the first row alone is compared", encoding, "lattice_bound",
     lambda original: lambda squares, norm, own: original(squares[:1], norm, own), "ENC-4"),
    ("the norm of activations under lattice masks is not compared", encoding, "lattice_bound",
     lambda original: lambda squares, norm, own: original(squares, own.B_q, own), "ENC-4"),
    ("a smaller norm of activations is refused", encoding, "lattice_bound",
     lambda original: lambda squares, norm, own: original(
         squares, norm if norm == own.B_q else own.B_q + 1, own), "ENC-4"),
    ("the two scales are multiplied first", encoding, "dequantise", instead(wrong.scales_first),
     "ENC-2"),
]
SIGNS = [
    ("embed keeps the sign of C's remainder", ring, "embed", instead(wrong.truncated), "RING-2"),
    ("lift is left out", ring, "lift", instead(lambda r, L: r), "MASK-4"),
    ("lift begins one too early", ring, "lift",
     instead(lambda r, L: r if r < (L - 1) // 2 else r - L), "RING-3"),
    ("lift begins one too late", ring, "lift",
     instead(lambda r, L: r if r <= (L + 1) // 2 else r - L), "RING-3"),
    ("the cancellation is added", ring, "subtract", instead(lambda a, b, L: (a + b) % L), "MASK-4"),
    ("the residue mod tau is not centred", lattice, "centred", instead(wrong.positive_residue), "MASK-8"),
    ("the residue mod tau is tau / 2 in place of - tau / 2", lattice, "centred",
     instead(wrong.centred_upwards), "MASK-8"),
    ("the residue mod tau keeps the sign of C's remainder", lattice, "centred",
     instead(wrong.truncated_residue), "MASK-8"),
    ("the residue mod tau is not taken", lattice, "centred", instead(lambda value, tau: value), "MASK-8"),
    ("the residue mod tau is taken of a residue mod L", lattice, "unmask", wrong.from_the_reply, "MASK-8"),
    ("tau is 2^23", lattice, "centred",
     lambda original: lambda value, tau: original(value, tau // 2), "MASK-8"),
    ("X^N is 1", lattice, "turned", instead(lambda b, i: b[i::-1] + b[:i:-1]), "MASK-7"),
    ("X^N is forgotten", lattice, "turned", instead(lambda b, i: b[i::-1]), "MASK-7"),
    ("one multiplier decodes", hiding, "decode", instead(wrong.one_multiplier), "HIDE-5"),
    ("a reply's V^T y_U is added", hiding, "times_secret",
     lambda original: lambda *given: [-y for y in original(*given)], "HIDE-4"),
    ("every block of rows has the V of the first", hiding, "secret_row",
     lambda original: lambda own, key, block: original(own, key, 0), "HIDE-3"),
    ("David's matrix has no noise", hiding, "error_row",
     lambda original: lambda *given: [0 for _ in original(*given)], "HIDE-1"),
    ("David multiplies by U first", hiding.Stacked, "times", wrong.upper_rows_last, "HIDE-1"),
    ("David multiplies by A alone", hiding.Stacked, "times",
     lambda original: lambda self, column, primes: ring.rows(
         original(self, column, primes), primes, 0, len(self.A[0])), "HIDE-1"),
    ("David multiplies by the first plane in every plane", hiding.Stacked, "times",
     wrong.first_plane_alone, "HIDE-1"),
    ("the rows of U are taken for the first of a reply", hiding, "without_secret", wrong.reply_from_behind,
     "HIDE-4"),
    ("H is that of the model without noise", hiding, "noisy", instead(lambda own, key_of_matrix, W: W),
     "HIDE-5"),
    ("every width has the tau of the narrowest class", hiding, "at_width",
     lambda original: lambda own, n: original(own, 1), "HIDE-5"),
    ("a reply's V^T y_U is not taken away", session.HiddenMasks, "unmask", wrong.with_the_secret, "HIDE-5"),
    ("products are those of lattice masks", session.HiddenMasks, "unmask",
     instead(session.LatticeMasks.unmask), "HIDE-5"),
    ("all groups have the key of the first", session.HiddenMasks, "unmask", wrong.first_key, "HIDE-5"),
    ("U is expanded as T is", randomness, "PUBLIC_WEIGHTS", instead(randomness.PUBLIC_MASKS), "HIDE-3"),
    ("the secret of a matrix has another domain", hiding, "DOMAIN", instead(b"SLIP-2 Hide"), "HIDE-3"),
    ("a width is that of the widest class", hiding, "width_of",
     lambda original: lambda n: original(n) and hiding.WIDTHS[-1], "HIDE-2"),
    ("parts are cut at multiples of 6144", hiding, "part_bounds",
     instead(lambda n: [*range(0, n, 6144), n]), "HIDE-7"),
    ("noise is subtracted", lattice, "noise", wrong.noise_times(-1), "MASK-7"),
    ("the halves of a small integer are exchanged", randomness, "small_integers",
     lambda original: lambda *given: [-e for e in original(*given)], "RAND-9"),
    ("what is no residue is lifted", operations, "require_residues",
     instead(lambda values, L, step: None), "CONV-1"),
]
PLANES = [
    ("the inverses of two planes are exchanged", ring, "inverses", wrong.inverses_exchanged, "RING-5"),
    ("planes are joined without inverses", ring, "inverses", instead(lambda primes: [1] * len(primes)),
     "RING-5"),
    ("the planes are in the reverse order", ring, "planes", instead(wrong.planes_reversed), "RING-5"),
    ("the bytes of a residue stand together", ring, "split", instead(wrong.split_by_residue), "RING-5"),
    ("coefficients of one power stand together", lattice, "elements", instead(wrong.interleaved),
     "MASK-7"),
    ("two primes are exchanged", parameters, "PRIMES",
     lambda original: (*original[1::-1], *original[2:]), "RING-5"),
]
ENDIANNESS = [
    ("the counter block is little-endian", randomness, "counter_block",
     instead(lambda field, index, counter: struct.pack("<IQI", field, index, counter)), "RAND-1"),
    ("the header is big-endian", wire, "HEADER", instead(struct.Struct(">QII")), "WIRE-4"),
    ("the bits of a byte are taken from the most significant on", randomness, "bits_of",
     instead(lambda data: [byte >> place & 1 for byte in data for place in reversed(range(8))]),
     "RAND-9"),
    ("a public index is big-endian", randomness, "public_header", wrong.header_of(">"), "RAND-8"),
]
MASKS = [
    ("a rejected byte is reduced", randomness, "accept",
     instead(lambda word, e, m: (word & 2**e - 1) % m), "RAND-2"),
    ("a byte that is the prime is accepted", randomness, "accept",
     instead(lambda word, e, m: word & 2**e - 1 if word & 2**e - 1 <= m else None), "RAND-2"),
    ("words are compared without their mask of bits", randomness, "accept",
     instead(lambda word, e, m: word if word < m else None), "RAND-2"),
    ("every column has mask 0", randomness, "mask",
     lambda original: lambda key, index, n, primes: original(key, 0, n, primes), "MASK-5"),
    ("a field has 255 purposes", randomness, "field_of",
     instead(lambda plane, purpose: 255 * plane + purpose), "RAND-1"),
    ("all planes are drawn from one stream", randomness, "field_of",
     instead(lambda plane, purpose: purpose), "MASK-1"),
    ("masks and w share a purpose", randomness, "INTEGRITY", instead(1), "INTEG-1"),
    ("the index has 32 bits", randomness, "counter_block",
     lambda original: lambda field, index, counter: original(field, index % 2**32, counter), "MASK-1"),
    ("the zero token is not masked", linear, "mask",
     lambda original: lambda q, r, primes: original(q, r if any(q) else bytes(len(r)), primes),
     "MASK-1"),
    ("a public vector is drawn without its set", randomness, "public_header",
     wrong.header_of("<", code=False), "RAND-8"),
    ("each small integer begins a byte", randomness, "small_integers",
     lambda original: lambda eta, data, count: [original(eta, data[j:j + 1], 1)[0] if j < len(data) else 0
                                                for j in range(count)], "RAND-9"),
    ("a small integer has one bit less one", randomness, "small_integers",
     lambda original: lambda eta, data, count: original(1, data, count), "RAND-9"),
    ("all rows of T are one", lattice, "public_row",
     lambda original: lambda own, seed, width, row: original(own, seed, width, 0), "MASK-7"),
    ("T does not depend on the width", lattice, "public_row",
     lambda original: lambda own, seed, width, row: original(own, seed, 0, row), "MASK-7"),
    ("all blocks share a secret", lattice, "block_secret",
     lambda original: lambda own, key, block: original(own, key, 0), "MASK-7"),
    ("a number of a block has 32 bits", lattice, "block_secret",
     lambda original: lambda own, key, block: original(own, key, block % 2**32), "MASK-7"),
    ("noise is drawn by the mask's place in its block", lattice, "noise",
     lambda original: lambda own, key, index, n: original(own, key, index % 256, n), "MASK-7"),
    ("a block has one noise", lattice, "noise",
     lambda original: lambda own, key, index, n: original(own, key, index // 256, n), "MASK-7"),
    ("a mask has no noise", lattice, "noise", wrong.noise_times(0), "MASK-7"),
    ("noise is no multiple of tau", lattice.Block, "mask", wrong.mask_with(tau=1), "MASK-7"),
    ("secrets and noise share a purpose", randomness, "NOISE", instead(4), "MASK-7"),
    ("the purposes of secrets and of masks are one", randomness, "BLOCK_SECRET", instead(1), "MASK-7"),
    ("a secret has half its elements", lattice, "block_secret", wrong.half_of_the_secret, "MASK-7"),
    ("a cancellation is off by one", lattice.Block, "cancellation",
     wrong.cancellation_off_by(lambda tau: 1), "MASK-7"),
    ("a cancellation is off by 65 tau", lattice.Block, "cancellation",
     wrong.cancellation_off_by(lambda tau: 65 * tau), "MASK-7"),
    ("a cancellation is off by - 65 tau", lattice.Block, "cancellation",
     wrong.cancellation_off_by(lambda tau: -65 * tau), "MASK-7"),
    ("a second block of a group repeats the first", lattice.Masks, "take",
     lambda original: lambda self, group, index: original(self, group, index % 256), "MASK-5"),
]
INTEGRITY = [
    ("every reply is accepted", integrity, "check", instead(lambda w, s, x, y, primes: None), "INTEG-3"),
    ("one combination is checked", integrity, "check", wrong.first_combinations(1), "INTEG-3"),
    ("seven combinations are checked", integrity, "check", wrong.first_combinations(7), "INTEG-3"),
    ("seven combinations are drawn", parameters, "KAPPA", instead(7), "INTEG-1"),
    *((f"plane {plane} is not checked", integrity, "check", wrong.except_prime(plane), "INTEG-3")
      for plane in range(parameters.PAPER_LATTICE.planes)),
    ("plane 5 is not checked", integrity, "check", wrong.except_prime(5), "INTEG-6"),
    ("columns are checked in sum", integrity, "check", wrong.summed_columns, "INTEG-3"),
    ("honest replies are rejected", integrity, "check", instead(wrong.by_recomputing), "INTEG-3"),
    ("the first column alone is checked", integrity, "check",
     lambda original: lambda w, s, x, y, primes: original(w, s, x[:1], y[:1], primes), "INTEG-3"),
    ("bytes of a reply are reduced", integrity, "check", wrong.without_canonical_check, "CONV-1"),
    ("each group has combinations of its own", integrity.Secret, "check",
     wrong.combinations_per_group, "MASK-5"),
    ("the rows of a combination are a prefix of its bytes", integrity, "companion",
     wrong.prefix_of_bytes, "INTEG-2"),
    ("every product is used", lattice, "check_products", instead(lambda z, zW, q, y_D: None), "MASK-10"),
    ("the first column of a product alone is checked", lattice, "check_products",
     wrong.products_of(columns=slice(1)), "MASK-10"),
    ("the first rows of a product alone are checked", lattice, "check_products",
     wrong.products_of(rows=slice(-1)), "MASK-10"),
    ("columns of a product are checked in sum", lattice, "check_products", wrong.summed_products,
     "MASK-10"),
    ("products are checked mod 2^64", lattice, "check_products", instead(wrong.products_of_64_bits),
     "MASK-10"),
    ("the modulus of the check of products is 2^61", parameters, "PRODUCT_MODULUS", instead(2**61),
     "MASK-10"),
    ("z is drawn with the purpose of w", randomness, "PRODUCT_CHECK", instead(2), "MASK-10"),
    ("a group has the last entries of z", lattice, "product_companion", instead(wrong.last_entries),
     "MASK-10"),
    ("z is shifted by one entry", lattice, "product_z",
     lambda original: lambda seed, rows: original(seed, rows + 1)[1:], "MASK-10"),
]
ORDERING = [
    ("columns of a reply are reversed", linear, "product",
     lambda original: lambda W_D, columns, primes: original(W_D, columns, primes)[::-1], "LIN-1"),
    ("bytes of a block are taken backwards", randomness, "keystream", wrong.blocks_backwards, "MASK-1"),
    ("HELLO is compared digest first", session.David, "answer_hello",
     wrong.compares("digest", "set", "version"), "SESS-2"),
]
SESSION = [
    ("the sequence is not compared", session.David, "answer", wrong.no_sequence_check, "SESS-3"),
    ("the digest is not compared", session.David, "answer_hello", wrong.compares("version", "set"),
     "SESS-2"),
    ("the set is not compared", session.David, "answer_hello", wrong.compares("version", "digest"),
     "SESS-2"),
    ("the version is not compared", session.David, "answer_hello", wrong.compares("set", "digest"),
     "SESS-2"),
    ("the echo is not compared", session.Charlie, "require_echo",
     instead(lambda self, reply, sequence, group, columns: None), "SESS-3"),
    ("the group is not compared with the one that was asked", session.Charlie, "require_echo",
     wrong.echo_without("group"), "SESS-3"),
    ("the number of columns is not compared with what was asked", session.Charlie, "require_echo",
     wrong.echo_without("columns"), "SESS-3"),
    ("a reject sends no ABORT", session.Charlie, "require_accepted", wrong.without_abort, "INTEG-6"),
    ("frames are answered after the end", session.David, "receive", wrong.never_dead, "SESS-4"),
    ("a message is answered whose reply exceeds 2^26 bytes", session.David, "answer_apply",
     wrong.answer_whatever_fits, "PARAM-3"),
    ("a reply is measured without the rows of U", session.David, "answer_apply", wrong.rows_of_a_alone,
     "PARAM-3"),
    ("the group is examined before the sequence", session.David, "answer", wrong.group_before_sequence,
     "WIRE-7"),
    ("the length is examined before the group", session.David, "answer", wrong.length_before_group,
     "WIRE-7"),
]
WIRE = [
    ("residues are reduced in place of being refused", ring, "fault",
     instead(lambda column, primes: None), "CONV-1"),
    ("bytes of a frame are not compared with their primes", ring, "fault",
     instead(lambda column, primes: None), "WIRE-5"),
    ("all bytes are compared with the first prime", ring, "fault",
     lambda original: lambda column, primes: original(column, primes[:1] * len(primes)), "WIRE-4"),
    ("bytes behind a frame are ignored", wire, "split", wrong.split_without("length"), "WIRE-1"),
    ("the magic is not compared", wire, "decode_hello", instead(wrong.lenient_hello), "WIRE-2"),
    ("4096 columns are too many", parameters, "COLUMNS_MAX", instead(4095), "WIRE-4"),
    ("2^26 bytes of residues are too many", parameters, "RESIDUE_BYTES_MAX", instead(2**26 - 1),
     "PARAM-3"),
    ("reasons are not compared", wire, "REASONS", instead(range(256)), "WIRE-7"),
]
FILES = [
    ("unknown fields are ignored", documents, "record", instead(wrong.lenient_record), "MODEL-7"),
    ("of two fields of one name the last counts", documents, "once", instead(dict), "MODEL-7"),
    ("a fraction of zero is an integer", documents, "require_integer",
     lambda original: lambda path, name, value, least, most:
         original(path, name, int(value), least, most), "MODEL-7"),
    ("Charlie's digests are not compared", artifact, "require_digests", instead(lambda folder: None),
     "MODEL-7"),
    ("gaps between tensors are ignored", artifact.SafeTensors, "require_tiling",
     instead(lambda self: None), "MODEL-7"),
    ("the secrets of the check are not examined", artifact, "secret_of",
     instead(lambda check, groups, own: None), "MODEL-7"),
    ("the ranks are not compared with the plan", artifact, "require_planned_ranks",
     instead(lambda path, plan, strategy, groups: None), "DECO-6"),
    ("a byte order mark is skipped", documents, "parse",
     lambda original: lambda data, path: original(data.removeprefix(b"\xef\xbb\xbf"), path),
     "MODEL-7"),
    ("a NUL ends a document", documents, "parse",
     lambda original: lambda data, path: original(data.partition(b"\0")[0], path), "MODEL-7"),
    ("an exponent need not be the least", decomposition, "is_exponent_of",
     instead(lambda row, e: 0 <= e <= parameters.ROW_EXPONENT_MAX), "PARAM-2"),
    ("exponents have no greatest", decomposition, "is_exponent_of",
     instead(lambda row, e: decomposition.row_exponent([a << max(e, 0) for a in row]) == e), "PARAM-2"),
    ("entries of A may have 16 bits", artifact, "require_left_factor",
     instead(lambda path, name, significands, exponents: None), "PARAM-2"),
]
MUTANTS = [Mutant(kind, *row) for kind, rows in (
    ("arithmetic", ARITHMETIC), ("signs", SIGNS), ("planes", PLANES), ("endianness", ENDIANNESS),
    ("masks", MASKS), ("integrity", INTEGRITY), ("ordering", ORDERING), ("session", SESSION),
    ("wire", WIRE), ("files", FILES)) for row in rows]


def fate(mutant, cases):
    """(the case that the mutant fails, how), or None if it survives. The original passes it."""
    for case in cases:
        if case.clause != mutant.clause or answered_by_original(case):
            continue
        with applied(mutant):
            try:
                how = answered(case)
            except Exception as error:  # a mutant may break in any way
                how = f"{type(error).__name__}: {error}"
        if how:
            return case, how
    return None


def answered_by_original(case, known={}):
    """answered(case), computed once; `known` is kept between calls."""
    if case.id not in known:
        known[case.id] = answered(case)
    return known[case.id]


def answered(case):
    """What is wrong with this package's answer, or None."""
    return vectors.judge(case, vectors.OwnImplementation().ask(case))
