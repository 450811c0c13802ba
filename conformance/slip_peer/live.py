"""What the live cases of both roles share: a case, its outcome, and raw connections."""

import dataclasses
import secrets
import ssl
from collections.abc import Callable

from . import errors, report, ring, tls, wire

PATIENCE_S = 10.0
ANY = 2**26 + 64
RESIDUES = 21  # where those of an APPLY or REPLY begin


@dataclasses.dataclass(frozen=True)
class Case:
    """id: a clause and a name; run(bench) raises Broken if the peer does not do what it must."""
    id: str
    requirement: str
    comment: str
    run: Callable
    level: str = "MUST"


class Broken(Exception):
    """The peer under test broke the requirement."""


class NotApplicable(Exception):
    """The bench lacks what the case needs."""


def expect(condition, message):
    if not condition:
        raise Broken(message)


def run_all(cases, bench, outcome, prefix):
    """Every case, each on connections of its own."""
    for case in cases:
        if not case.id.startswith(prefix):
            continue
        status, message = report.PASS, ""
        try:
            case.run(bench)
        except NotApplicable as why:
            status, message = report.UNIMPLEMENTED, str(why)
        except (Broken, errors.SlipError, OSError) as error:
            status, message = report.FAIL, f"{type(error).__name__}: {error}"
        outcome.add(report.Result(case.id, case.level, case.requirement, case.comment, status,
                                  message))


def random_columns(own, n, count):
    return [b"".join(bytes(secrets.randbelow(p) for _ in range(n)) for p in own.primes)
            for _ in range(count)]


def patched(data, offset, size, value):
    """`data` with an integer written over `size` bytes."""
    return data[:offset] + value.to_bytes(size, "little") + data[offset + size:]


def raw_frame(code, body):
    return (len(body) + 1).to_bytes(4, "little") + bytes([code]) + body


def columns_of(data):
    """Of an APPLY or REPLY."""
    return int.from_bytes(data[17:RESIDUES], "little")


def plane_of(data, own, column, plane):
    """The offsets of a plane of an APPLY or REPLY; a negative number counts from the end."""
    rows = (len(data) - RESIDUES) // (columns_of(data) * own.planes)
    first = RESIDUES + (column % columns_of(data) * own.planes + plane % own.planes) * rows
    return range(first, first + rows)


def not_canonical(data, own, plane):
    """One byte of this plane raised by its prime, or the prime itself if no byte is small enough."""
    p = own.primes[plane]
    for column in range(columns_of(data)):
        for offset in plane_of(data, own, column, plane):
            if data[offset] + p < 256:
                return patched(data, offset, 1, data[offset] + p)
    return patched(data, plane_of(data, own, 0, plane)[0], 1, p)


def next_byte(data, own, column, plane, row):
    """A residue replaced by the next one, modulo one prime alone."""
    offset = plane_of(data, own, column, plane)[row]
    return patched(data, offset, 1, ring.add(data[offset], 1, own.primes[plane]))


def next_residue(data, own, column, row):
    """A residue replaced by the next one."""
    for plane in range(own.planes):
        data = next_byte(data, own, column, plane, row)
    return data


def old_tls(folder, server):
    """A context that speaks TLS 1.2 and nothing later."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


def malformed_frames():
    """(name, bytes): not canonical in any state, and complete as far as their length goes."""
    return [("unknown type 0", raw_frame(0, b"")), ("unknown type 9", raw_frame(9, b"x")),
            ("CLOSE with a body", raw_frame(wire.CLOSE, b"\0")),
            ("ABORT with a body", raw_frame(wire.ABORT, b"\1")),
            ("a length of zero", bytes(4)),
            ("an APPLY that ends in its header", raw_frame(wire.APPLY, bytes(9)))]


def is_refusal(data):
    return data[4] == wire.REFUSE


def channel_of(connection):
    connection.settimeout(PATIENCE_S)
    return tls.Channel(connection)
