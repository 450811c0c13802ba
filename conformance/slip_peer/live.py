"""What the live cases of both roles share: a case, its outcome, and raw connections."""

import dataclasses
import os
import ssl
from collections.abc import Callable

from . import errors, report, ring, tls, wire

PATIENCE_S = 10.0
ANY = 2**26 + 64


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


def random_columns(profile, n, count):
    return [[int.from_bytes(os.urandom(8), "little") % profile.L for _ in range(n)]
            for _ in range(count)]


def patched(data, offset, size, value):
    """`data` with an integer written over `size` bytes."""
    return data[:offset] + value.to_bytes(size, "little") + data[offset + size:]


def raw_frame(code, body):
    return (len(body) + 1).to_bytes(4, "little") + bytes([code]) + body


def plus_modulus(data, profile, position=0):
    """Residue `position` of an APPLY or REPLY with L added: the same class, not canonical."""
    offset = 21 + position * profile.residue_bytes
    residue = int.from_bytes(data[offset:offset + profile.residue_bytes], "little")
    return patched(data, offset, profile.residue_bytes, residue + profile.L)


def plus_one(data, profile, position):
    """A residue replaced by the next one; a negative position counts from the end."""
    count = (len(data) - 21) // profile.residue_bytes
    offset = 21 + position % count * profile.residue_bytes
    residue = int.from_bytes(data[offset:offset + profile.residue_bytes], "little")
    return patched(data, offset, profile.residue_bytes, ring.add(residue, 1, profile.L))


def old_tls(folder, server):
    """A context that speaks TLS 1.2 and nothing later."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


def malformed_frames(profile):
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
