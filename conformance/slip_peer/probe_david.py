"""Cases for a foreign David: this program is a Charlie, well-behaved and not."""

import socket
import ssl
import time

from . import artifact, errors, live, parameters, report, ring, session, tls, wire
from .live import Case, NotApplicable, expect


class Bench:
    """Where the David listens, and what he should hold."""

    def __init__(self, arguments):
        self.endpoint, self.folder = arguments.connect, arguments.tls
        self.other = arguments.other_tls
        self.model = artifact.David(arguments.artifact)
        self.set, self.weights = self.model.set, self.model.weights
        self.shapes = session.shapes_of(self.weights)

    def connect(self):
        return Probe(self, tls.connect(self.endpoint, self.folder, timeout=live.PATIENCE_S))

    def open(self):
        """A session whose HELLO was accepted."""
        probe = self.connect()
        probe.send(self.hello())
        probe.expect_ready()
        return probe

    def encode(self, **frame):
        return wire.encode(frame, self.set.primes, self.shapes)

    def hello(self, **changes):
        fields = {"version": parameters.VERSION, "set": self.set.code,
                  "digest": self.model.digest} | changes
        return self.encode(type="HELLO", **fields)

    def apply(self, sequence, group=0, columns=1, values=None):
        if values is None:
            values = live.random_columns(self.set, self.shapes[group][0], columns)
        return self.encode(type="APPLY", sequence=sequence, group=group, columns=values)


class Probe:
    """One connection, and what is expected on it."""

    def __init__(self, bench, channel):
        self.bench, self.channel = bench, channel

    def send(self, data):
        self.channel.send(data)

    def receive(self):
        return self.channel.receive(live.ANY)

    def expect_ready(self):
        answer = self.receive()
        expect(answer == bytes([1, 0, 0, 0, wire.READY]), f"expected READY, got {answer[:16].hex()}")

    def expect_product(self, data):
        """The reply to an APPLY is the product, and echoes its header."""
        bench = self.bench
        sent = wire.decode(data, bench.set.primes, bench.shapes)
        got = wire.decode(self.receive(), bench.set.primes, bench.shapes)
        y = bench.weights[sent["group"]].product(sent["columns"], bench.set.primes)
        expect(got == sent | {"type": "REPLY", "columns": y}, "the REPLY is not W_D x~ mod L")

    def expect_refusal(self, *reasons):
        answer = self.receive()
        expected = [live.raw_frame(wire.REFUSE, bytes([reason])) for reason in reasons]
        expect(answer in expected, f"expected REFUSE {reasons}, got {answer[:16].hex()}")
        self.expect_silence()

    def expect_silence(self):
        """Nothing comes any more: the end of the stream, or a second of silence."""
        self.channel.connection.settimeout(1.0)
        try:
            answer = self.receive()
        except errors.ProtocolError:
            return
        raise live.Broken(f"a frame after the end of the session: {answer[:16].hex()}")

    def done(self):
        self.channel.close()


def good_session(bench):
    probe = bench.open()
    for sequence in range(len(bench.weights)):
        data = bench.apply(sequence, group=sequence)
        probe.send(data)
        probe.expect_product(data)
    probe.send(bench.encode(type="CLOSE"))
    probe.expect_silence()


def products(bench):
    probe = bench.open()
    n, primes = bench.shapes[0][0], bench.set.primes
    L = ring.modulus(primes)
    one_plane = [ring.split([L // p] * n, primes) for p in primes]  # zero in every other one
    for sequence, values in enumerate([*([ring.split([r] * n, primes)] for r in (0, L - 1, L // 2)),
                                       one_plane, live.random_columns(bench.set, n, 5)]):
        data = bench.apply(sequence, values=values)
        probe.send(data)
        probe.expect_product(data)
    probe.done()


def in_pieces(bench):
    probe = bench.connect()
    for byte in bench.hello():
        probe.send(bytes([byte]))
    probe.expect_ready()
    probe.done()


def refused_first(make, *reasons):
    def run(bench):
        probe = bench.connect()
        probe.send(make(bench))
        probe.expect_refusal(*reasons)
    return run


def refused_later(make, *reasons):
    def run(bench):
        probe = bench.open()
        probe.send(make(bench))
        probe.expect_refusal(*reasons)
    return run


def refused_second(make, *reasons):
    """As refused_later, after one good message."""
    def run(bench):
        probe = bench.open()
        data = bench.apply(0)
        probe.send(data)
        probe.expect_product(data)
        probe.send(make(bench))
        probe.expect_refusal(*reasons)
    return run


def silent_after(make):
    """What follows the end of a session gets no answer."""
    def run(bench):
        probe = bench.open()
        probe.send(make(bench))
        try:
            probe.send(bench.apply(0))
            probe.send(bench.hello())
        except errors.ProtocolError:
            return  # the connection is closed already
        probe.expect_silence()
    return run


def late(bench):
    """Two seconds pass before HELLO, before an APPLY, and in the middle of one."""
    probe = bench.connect()
    time.sleep(2)
    probe.send(bench.hello())
    probe.expect_ready()
    time.sleep(2)
    data = bench.apply(0)
    probe.send(data[:30])
    time.sleep(2)
    probe.send(data[30:])
    probe.expect_product(data)
    probe.done()


def begins_anew(bench):
    """A session that broke leaves nothing to the next."""
    probe = bench.open()
    probe.send(bench.apply(0)[:30])
    probe.done()
    good_session(bench)


def too_long_before_hello(bench):
    probe = bench.connect()
    probe.send((41).to_bytes(4, "little"))  # no body: it must not be waited for
    probe.expect_refusal(wire.MALFORMED)


def too_long(bench):
    probe = bench.open()
    inputs = max(n for n, _ in bench.shapes)
    size = min(2**26, 4096 * inputs * bench.set.planes)
    probe.send((17 + size + 1).to_bytes(4, "little"))
    probe.expect_refusal(wire.MALFORMED)


def unready(context, bench):
    """The handshake fails, or HELLO gets no READY."""
    try:
        raw = socket.create_connection(tls.endpoint(bench.endpoint), live.PATIENCE_S)
        channel = live.channel_of(context.wrap_socket(raw, server_hostname="david"))
        channel.send(bench.hello())
        answer = channel.receive(live.ANY)
    except (OSError, errors.ProtocolError):
        return
    raise live.Broken(f"the connection was served: {answer[:16].hex()}")


def without_certificate(bench):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    unready(context, bench)


def as_david(bench):
    if bench.other is None:
        raise NotApplicable("needs --other-tls, the certificates of role david")
    unready(tls.context(bench.other, server=False), bench)


def cut(data):
    """The frame without its last residue byte, with a length that says so."""
    return live.patched(data[:-1], 0, 4, len(data) - 5)


def swapped_shape(bench):
    """An APPLY whose residues have another length than its group takes."""
    data = bench.apply(0)[:-bench.set.planes]
    return live.patched(data, 0, 4, len(data) - 4)


def cases(own):
    """Of a set. Malformed frames are tried in every state."""
    good = "David MUST answer a good session frame by frame"
    result = [
        Case("SESS-1/david-good-session", good, "a message to every group", good_session),
        Case("LIN-1/david-products", "a REPLY MUST hold W_D x~ mod L",
             "zeros, extremes, several columns", products),
        Case("WIRE-1/david-in-pieces", "a frame MUST be read whole, however it arrives",
             "a byte at a time", in_pieces),
        Case("SESS-8/david-late", "a Charlie who pauses for two seconds SHOULD be served", "late",
             late, "SHOULD"),
        Case("SESS-5/david-anew", "a new connection MUST be a new session",
             "after a connection that broke", begins_anew),
        Case("WIRE-9/david-long-hello", "a length beyond the state's bound MUST be refused, "
             "and its body not awaited", "41 before HELLO", too_long_before_hello),
        Case("WIRE-9/david-long-apply", "a length beyond the state's bound MUST be refused, "
             "and its body not awaited", "one more than the greatest APPLY", too_long),
        Case("SESS-7/david-tls-1.2", "TLS before 1.3 MUST be refused", "TLS 1.2",
             lambda bench: unready(live.old_tls(bench.folder, False), bench)),
        Case("SESS-7/david-no-certificate", "a peer without a certificate MUST be refused",
             "no client certificate", without_certificate),
        Case("SESS-7/david-wrong-role", "a certificate of role david MUST not open a session",
             "David's own certificate", as_david),
    ]
    dictated = "David MUST refuse what he does not hold, by the first that differs"
    for name, reason, change in [
            ("version", wire.VERSION, lambda b: {"version": parameters.VERSION - 1}),
            ("set", wire.SET, lambda b: {"set": b.set.code + 1}),
            ("digest", wire.DIGEST, lambda b: {"digest": bytes(32)}),
            ("all", wire.VERSION, lambda b: {"version": 9, "set": 9, "digest": bytes(32)})]:
        result.append(Case(f"SESS-2/david-{name}", dictated, f"another {name}",
                           refused_first(lambda b, c=change: b.hello(**c(b)), reason)))
    order = "a frame that the state does not allow MUST be refused with reason 5"
    result.append(Case("SESS-1/david-apply-first", "an APPLY before HELLO MUST be refused, with "
                       "reason 5, or 4 if it is longer than HELLO", "APPLY before HELLO",
                       refused_first(lambda b: b.apply(0), wire.OUT_OF_ORDER, wire.MALFORMED)))
    for name, make in [("close", lambda b: b.encode(type="CLOSE")),
                       ("abort", lambda b: b.encode(type="ABORT")),
                       ("ready", lambda b: b.encode(type="READY"))]:
        result.append(Case(f"SESS-1/david-{name}-first", order, f"{name.upper()} before HELLO",
                           refused_first(make, wire.OUT_OF_ORDER)))
    for name, make in [("hello", lambda b: b.hello()), ("ready", lambda b: b.encode(type="READY")),
                       ("refuse", lambda b: b.encode(type="REFUSE", reason=7))]:
        result.append(Case(f"SESS-1/david-{name}-later", order, f"{name.upper()} while serving",
                           refused_later(make, wire.OUT_OF_ORDER)))
    sequence = "an APPLY with another sequence MUST be refused with reason 5"
    result += [
        Case("SESS-3/david-begins-at-1", sequence, "the first sequence is 1",
             refused_later(lambda b: b.apply(1), wire.OUT_OF_ORDER)),
        Case("SESS-3/david-repeated", sequence, "sequence 0 twice",
             refused_second(lambda b: b.apply(0), wire.OUT_OF_ORDER)),
        Case("SESS-3/david-skipped", sequence, "sequence 2 after 0",
             refused_second(lambda b: b.apply(2), wire.OUT_OF_ORDER)),
        Case("WIRE-7/david-unknown-group", "an unknown group MUST be refused with reason 6",
             "the group behind the last", refused_later(
                 lambda b: live.patched(b.apply(0), 13, 4, len(b.weights)), wire.UNKNOWN_GROUP)),
    ]
    canonical = "a frame that is not canonical MUST be refused with reason 4"
    result.append(Case("WIRE-2/david-magic", canonical, "HELLO with another magic", refused_first(
        lambda b: live.patched(b.hello(), 5, 1, ord("s")), wire.MALFORMED)))
    for name, make in [
            *((f"not-below-prime-{plane}", lambda b, plane=plane: live.not_canonical(
                b.apply(0, columns=9), b.set, plane)) for plane in range(own.planes)),
            ("all-bits", lambda b: live.patched(b.apply(0), live.RESIDUES, 1, 255)),
            ("no-columns", lambda b: live.patched(live.patched(b.apply(0)[:live.RESIDUES], 17, 4, 0),
                                                  0, 4, 17)),
            ("more-columns", lambda b: live.patched(b.apply(0), 17, 4, 2)),
            ("4097-columns", lambda b: live.patched(b.apply(0), 17, 4, 4097)),
            ("a-byte-less", lambda b: cut(b.apply(0))),
            ("a-residue-less", swapped_shape)]:
        result.append(Case(f"WIRE-8/david-{name}", canonical, f"an APPLY: {name}",
                           refused_later(make, wire.MALFORMED)))
    for name, data in live.malformed_frames():
        slug = name.replace(" ", "-").lower()

        def make(_, data=data):
            return data
        for state, build in (("awaiting-hello", refused_first), ("serving", refused_later),
                             ("after-a-reply", refused_second)):
            result.append(Case(f"WIRE-8/david-{slug}-{state}", canonical, f"{name}, {state}",
                               build(make, wire.MALFORMED)))
    end = "after the end of a session nothing MUST be answered"
    for name, make in [("abort", lambda b: b.encode(type="ABORT")),
                       ("close", lambda b: b.encode(type="CLOSE"))]:
        result.append(Case(f"SESS-4/david-after-{name}", end, f"traffic after {name.upper()}",
                           silent_after(make)))
    return result


def run(arguments, known_failing):
    bench = Bench(arguments)
    outcome = report.Report(f"David at {arguments.connect}", ["david", bench.set.name],
                            known_failing, arguments.only)
    live.run_all(cases(bench.set), bench, outcome, arguments.only)
    return outcome
