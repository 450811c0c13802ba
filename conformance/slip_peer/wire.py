"""Frames, byte by byte: the chapter wire.md. A frame is a dict with "type" and its fields."""

import struct

from . import errors, parameters, ring

HELLO, READY, APPLY, REPLY, ABORT, CLOSE, REFUSE = range(1, 8)
NAMES = {HELLO: "HELLO", READY: "READY", APPLY: "APPLY", REPLY: "REPLY", ABORT: "ABORT",
         CLOSE: "CLOSE", REFUSE: "REFUSE"}
CODES = {name: code for code, name in NAMES.items()}
MAGIC = b"SLIP"
HEADER = struct.Struct("<QII")
REASONS = range(1, 8)
VERSION, SET, DIGEST, MALFORMED, OUT_OF_ORDER, UNKNOWN_GROUP, BUSY = REASONS


class UnknownGroup(errors.ProtocolError):
    """An APPLY or REPLY to a group that does not exist."""


def malformed(clause, message):
    return errors.ProtocolError("decode", clause, message)


def rows_of(code, shape):
    """The entries of a column: n in an APPLY, M in a REPLY. A shape is (n, M)."""
    return shape[0] if code == APPLY else shape[1]


def encode(frame, primes, shapes):
    """WIRE-1 to WIRE-7: the one canonical form; WIRE-8: refuses what no decoder accepts."""
    code = CODES[frame["type"]]
    if code == HELLO:
        body = MAGIC + struct.pack("<HB", frame["version"], frame["set"]) + frame["digest"]
    elif code in (APPLY, REPLY):
        body = encode_columns(code, frame, primes, shapes)
    elif code == REFUSE:
        errors.require(frame["reason"] in REASONS, "encode", "WIRE-8", "an unknown reason")
        body = bytes([frame["reason"]])
    else:
        body = b""
    return struct.pack("<IB", len(body) + 1, code) + body


def encode_columns(code, frame, primes, shapes):
    columns, group = frame["columns"], frame["group"]
    errors.require(group < len(shapes), "encode", "WIRE-8", "an unknown group")
    errors.require(1 <= len(columns) <= parameters.COLUMNS_MAX, "encode", "WIRE-8",
                   "1 to 4096 columns")
    rows = rows_of(code, shapes[group])
    errors.require(all(len(column) == rows * len(primes) for column in columns), "encode", "WIRE-8",
                   "a column has the length of its group")
    for column in columns:
        ring.require_canonical(column, primes, "encode")
    return HEADER.pack(frame["sequence"], group, len(columns)) + b"".join(columns)


def decode(data, primes, shapes):
    """WIRE-8: the frame that `data` is, or a ProtocolError that names the clause."""
    code, body = split(data)
    if code == HELLO:
        return decode_hello(body)
    if code in (APPLY, REPLY):
        return decode_columns(code, body, primes, shapes)
    if code == REFUSE:
        if len(body) != 1 or body[0] not in REASONS:
            raise malformed("WIRE-7", "REFUSE has one byte, a reason from 1 to 7")
        return {"type": "REFUSE", "reason": body[0]}
    if body:
        raise malformed("WIRE-3" if code == READY else "WIRE-6", "the body is empty")
    return {"type": NAMES[code]}


def split(data):
    """WIRE-1: (type, body) of one frame."""
    if len(data) < 4:
        raise malformed("WIRE-1", "the length is cut")
    length = int.from_bytes(data[:4], "little")
    if not 1 <= length <= parameters.FRAME_MAX:
        raise malformed("WIRE-1", "the length is out of range")
    if len(data) != 4 + length:
        raise malformed("WIRE-8", "bytes are missing or too many")
    if data[4] not in NAMES:
        raise malformed("WIRE-1", "an unknown type")
    return data[4], data[5:]


def decode_hello(body):
    if len(body) != 39:
        raise malformed("WIRE-2", "HELLO has another length")
    if body[:4] != MAGIC:
        raise malformed("WIRE-2", "another magic")
    version, code = struct.unpack("<HB", body[4:7])
    return {"type": "HELLO", "version": version, "set": code, "digest": body[7:]}


def decode_columns(code, body, primes, shapes):
    clause = "WIRE-4" if code == APPLY else "WIRE-5"
    if len(body) < HEADER.size:
        raise malformed(clause, "the header is cut")
    sequence, group, count = HEADER.unpack(body[:HEADER.size])
    if not 1 <= count <= parameters.COLUMNS_MAX:
        raise malformed(clause, "1 to 4096 columns")
    if group >= len(shapes):
        raise UnknownGroup("decode", "WIRE-7", "an unknown group")
    size, residues = rows_of(code, shapes[group]) * len(primes), body[HEADER.size:]
    if len(residues) != count * size or len(residues) > parameters.RESIDUE_BYTES_MAX:
        raise malformed(clause, "the length does not fit the shape")
    columns = [residues[c * size:(c + 1) * size] for c in range(count)]
    for c, column in enumerate(columns):
        found = ring.fault(column, primes)
        if found:
            raise malformed(clause, f"column {c}, {found}")
    return {"type": NAMES[code], "sequence": sequence, "group": group, "columns": columns}


def header_of(data):
    """(sequence, group, columns) of bytes that are an APPLY as far as its header, else None."""
    try:
        code, body = split(data)
    except errors.ProtocolError:
        return None
    if code != APPLY or len(body) < HEADER.size:
        return None
    sequence, group, count = HEADER.unpack(body[:HEADER.size])
    return (sequence, group, count) if 1 <= count <= parameters.COLUMNS_MAX else None
