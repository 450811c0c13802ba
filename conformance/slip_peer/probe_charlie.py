"""Cases for a foreign Charlie: this program is a David, well-behaved and not. Each case starts the
Charlie with a command, serves his session, and looks at what he sends and how he ends."""

import shlex
import socket
import subprocess
import time

from . import artifact, errors, hiding, live, parameters, report, ring, session, tls, view, wire
from .live import Case, NotApplicable, expect

ABORT = bytes([1, 0, 0, 0, wire.ABORT])
CLOSE = bytes([1, 0, 0, 0, wire.CLOSE])
READY = bytes([1, 0, 0, 0, wire.READY])
EXIT_S = 60


class Bench:
    """How the Charlie is started, and what David serves."""

    def __init__(self, arguments):
        self.command, self.folder = arguments.implementation, arguments.tls
        self.other = arguments.other_tls
        self.model = artifact.David(arguments.artifact)
        self.set, self.weights = self.model.set, self.model.weights
        self.shapes = session.shapes_of(self.weights)
        self._honest = None

    @property
    def honest(self):
        """A visit without any misbehaviour, for comparison."""
        if self._honest is None:
            self._honest = Visit(self).run(lambda number, answer, visit: answer)
        return self._honest

    def replies(self):
        return len(self.honest.answers) - 1


class Last(bytes):
    """What is sent before David closes the connection."""


class Visit:
    """One run of the Charlie. `answers` are the honest ones, `tail` is what came after the first
    answer that was not honest."""

    def __init__(self, bench, context=None):
        self.bench = bench
        self.context = context or tls.context(bench.folder, server=True)
        self.received, self.answers, self.tail = [], [], []
        self.tampered = self.connected_twice = self.silent = False  # silent: he waits for more
        self.status = self.output = None

    def run(self, change):
        """change(number, honest answer, visit) -> the bytes to send in its place, or None.
        Answer 0 is READY, 1 the first REPLY."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(EXIT_S)
            endpoint = f"127.0.0.1:{listener.getsockname()[1]}"
            words = [word.replace("{endpoint}", endpoint)
                     for word in shlex.split(self.bench.command)]
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            try:
                self.serve(listener, change)
                out, _ = process.communicate(timeout=EXIT_S)
            except subprocess.TimeoutExpired as error:
                raise live.Broken("Charlie does not end") from error
            finally:
                process.kill()
                process.wait()
                process.stdout.close()
                process.stderr.close()
            self.status, self.output = process.returncode, out
            self.connected_twice = waiting(listener)
        return self

    def serve(self, listener, change):
        raw, _ = listener.accept()
        raw.settimeout(EXIT_S)
        try:
            connection = self.context.wrap_socket(raw, server_side=True)
        except OSError:
            raw.close()
            return
        channel = live.channel_of(connection)
        try:
            self.converse(channel, change)
        except errors.ProtocolError as error:
            self.silent = "timed out" in str(error)  # else he went; what he sent is judged
        finally:
            channel.close()

    def converse(self, channel, change):
        david = session.David(self.bench.set, self.bench.model.digest, self.bench.weights)
        while True:
            data = channel.receive(live.ANY)
            self.received.append(data)
            if self.tampered:
                self.tail.append(data)
                if data != ABORT:
                    return  # no case allows more, and he would wait for an answer
                continue
            answer = david.receive(data)
            if answer is None:
                continue
            sent = change(len(self.answers), answer, self)
            self.answers.append(answer)
            self.tampered = sent != answer or isinstance(sent, Last)
            if sent:
                channel.send(sent)
            if isinstance(sent, Last):
                return


def waiting(listener):
    """Whether somebody else has connected."""
    listener.settimeout(0.05)
    try:
        raw, _ = listener.accept()
    except OSError:
        return False
    raw.close()
    return True


def misbehave(bench, number, change):
    """A visit in which answer `number` is changed."""
    def at(current, answer, visit):
        return change(answer, visit) if current == number else answer
    visit = Visit(bench).run(at)
    expect(visit.tampered, f"Charlie did not wait for answer {number}")
    expect(not visit.silent, "Charlie neither goes on nor ends")
    return visit


def rejected(number, change):
    """INTEG-6: ABORT and nothing else; the program fails; nobody reconnects."""
    def run(bench):
        visit = misbehave(bench, number % (bench.replies() + 1), lambda answer, visit:
                          change(bench, answer, visit))
        expect(visit.tail == [ABORT],
               f"expected ABORT alone, got {[data[:5].hex() for data in visit.tail]}")
        expect(visit.status != 0, "the program reports success")
        expect(not visit.connected_twice, "Charlie connected again by himself (INTEG-7)")
    return run


def ended(number, change):
    """SESS-4: nothing but, at most, an ABORT; the program fails."""
    def run(bench):
        visit = misbehave(bench, number, lambda answer, visit: change(bench, answer, visit))
        expect(visit.tail in ([], [ABORT]),
               f"expected the end, got {[data[:5].hex() for data in visit.tail]}")
        expect(visit.status != 0, "the program reports success")
    return run


def honest(bench):
    visit = bench.honest
    expect(visit.status == 0, f"the program fails with {visit.status}")
    frames = [wire.decode(data, bench.set.primes, bench.shapes) for data in visit.received]
    hello = {"type": "HELLO", "version": parameters.VERSION, "set": bench.set.code,
             "digest": bench.model.digest}
    expect(frames[0] == hello, "the first frame is not this HELLO")
    expect(frames[-1]["type"] == "CLOSE", "the last frame is not CLOSE")
    applies = frames[1:-1]
    expect(applies and all(frame["type"] == "APPLY" for frame in applies), "an APPLY is missing")
    expect([frame["sequence"] for frame in applies] == list(range(len(applies))),
           "sequences do not rise by one from 0")


def one_time(bench):
    """Two runs with one input: no two masked columns differ by what two activations can."""
    columns = []
    for run, visit in enumerate((bench.honest, Visit(bench).run(lambda number, answer, _: answer))):
        for data in visit.received[1:-1]:
            frame = wire.decode(data, bench.set.primes, bench.shapes)
            columns += [view.Column(run, frame["sequence"], frame["group"], place, None, column,
                                    bench.set.primes)
                        for place, column in enumerate(frame["columns"])]
    found = view.reuse(columns, bench.set)
    expect(not found.flagged, f"a mask was used twice: {found.detail}")
    expect(not any(unmasked(column, bench.set) for column in columns), "a column is not masked")


def unmasked(column, own):
    close = view.Closeness(hiding.at_width(own, len(column.data) // own.planes))
    return all(close.holds(r, 0) for r in column.values)


def replayed(bench, answer, visit):
    """The residues of the last reply to the same group, under the header that is expected."""
    same = [old for old in visit.answers[1:] if old[13:21] == answer[13:21]]
    if not same:
        raise NotApplicable("no two messages of one shape to one group")
    return answer[:live.RESIDUES] + same[-1][live.RESIDUES:]


def replay(bench):
    """At the first message that has a predecessor of its shape."""
    seen = set()
    for number, answer in enumerate(bench.honest.answers[1:], 1):
        if answer[13:21] in seen:
            rejected(number, replayed)(bench)
            return
        seen.add(answer[13:21])
    raise NotApplicable("no two messages of one shape to one group")


def other_layers_product(bench):
    """The residues of a right reply to another group, under the header that is expected."""
    for number, answer in enumerate(bench.honest.answers[1:], 1):
        for donor in range(1, number):
            other = bench.honest.answers[donor]
            if len(other) == len(answer) and other[13:17] != answer[13:17]:
                rejected(number, lambda bench, answer, visit, donor=donor:
                         answer[:live.RESIDUES] + visit.answers[donor][live.RESIDUES:])(bench)
                return
    raise NotApplicable("no two groups answer in one shape")


def exchanged(bench, answer, _):
    """The first two columns exchanged."""
    frame = wire.decode(answer, bench.set.primes, bench.shapes)
    if len(frame["columns"]) < 2:
        raise NotApplicable("the first message has one column")
    columns = frame["columns"]
    frame["columns"] = [columns[1], columns[0], *columns[2:]]
    return wire.encode(frame, bench.set.primes, bench.shapes)


def zeros(_, answer, __):
    return answer[:live.RESIDUES] + bytes(len(answer) - live.RESIDUES)


def planes_exchanged(bench, answer, _):
    """The first plane of every column in the place of the last, and the last in that of the first,
    each below the prime of its new place."""
    frame, primes = wire.decode(answer, bench.set.primes, bench.shapes), bench.set.primes
    for c, column in enumerate(frame["columns"]):
        first, *others, last = ring.planes(column, primes)
        frame["columns"][c] = b"".join([bytes(r % primes[0] for r in last), *others,
                                        bytes(r % primes[-1] for r in first)])
    return wire.encode(frame, primes, bench.shapes)


def other_layer(bench, answer, _):
    """A good REPLY to another group."""
    group = next((g for g in range(1, len(bench.shapes))), None)
    if group is None:
        raise NotApplicable("the model has one group")
    frame = wire.decode(answer, bench.set.primes, bench.shapes)
    columns = live.random_columns(bench.set, bench.shapes[group][1], len(frame["columns"]))
    return wire.encode(frame | {"group": group, "columns": columns}, bench.set.primes,
                       bench.shapes)


def fewer_residues(bench, answer, _):
    """A REPLY whose length says that it lacks its last residue, as it does."""
    size = bench.set.planes
    return live.patched(answer[:-size], 0, 4, len(answer) - 4 - size)


def all_bits(_, answer, __):
    return live.patched(answer, live.RESIDUES, 1, 255)


def more_columns(bench, answer, _):
    frame = wire.decode(answer, bench.set.primes, bench.shapes)
    frame["columns"].append(frame["columns"][0])
    return wire.encode(frame, bench.set.primes, bench.shapes)


def header_field(offset):
    """A header field of the reply raised by one."""
    def change(_, answer, __):
        return live.patched(answer, offset, 1, (answer[offset] + 1) % 256)
    return change


def late(bench):
    """A right answer, two seconds late."""
    def wait(number, answer, _):
        if number == 1:
            time.sleep(2)
        return answer
    visit = Visit(bench).run(wait)
    expect(visit.status == 0 and visit.received[-1] == CLOSE, "a late answer is not accepted")


def after_abort(bench):
    """Traffic behind the wrong reply."""
    def change(answer, _):
        return live.next_residue(answer, bench.set, 0, 0) + READY + answer
    visit = misbehave(bench, 1, change)
    # He may close with bytes unread; then the connection is reset, and the ABORT can be lost.
    expect(visit.tail in ([], [ABORT]), "Charlie goes on after his ABORT")
    expect(visit.status != 0, "the program reports success")


def unheard(context):
    """The handshake fails: no HELLO is sent, and the program fails."""
    def run(bench):
        visit = Visit(bench, context(bench)).run(lambda number, answer, visit: answer)
        expect(not visit.received, "Charlie talks to this peer")
        expect(visit.status != 0, "the program reports success")
    return run


def as_charlie(bench):
    if bench.other is None:
        raise NotApplicable("needs --other-tls, the certificates of role charlie")
    return tls.context(bench.other, server=True)


def sends(data):
    return lambda bench, answer, visit: data


def hidden_cases(own, rejects, dies):
    """HIDE-1: what a David of the hidden split may get wrong. Rows are counted from the ends, because A
    has other rows in every group."""
    last_of_A, first_of_U = -own.public_rows - 1, -own.public_rows

    def wrong(row):
        return lambda bench, answer, _: live.next_residue(answer, bench.set, -1, row)

    def wrong_plane(plane, row):
        return lambda bench, answer, _: live.next_byte(answer, bench.set, -1, plane, row)

    return [
        Case("INTEG-6/charlie-last-of-a", rejects, "the last residue of A", rejected(1, wrong(last_of_A))),
        Case("INTEG-6/charlie-first-of-u", rejects, "the first residue of U",
             rejected(1, wrong(first_of_U))),
        *(Case(f"INTEG-6/charlie-{name}-plane-{plane}", rejects, f"a residue of {name.upper()} wrong "
               f"modulo {p} alone", rejected(1, wrong_plane(plane, row)))
          for name, row in (("a", last_of_A), ("u", -1)) for plane, p in enumerate(own.primes)),
        Case("INTEG-6/charlie-u-first", rejects, "the rows of U above those of A",
             rejected(1, with_rows(lambda M: [*range(M, M + own.public_rows), *range(M)]))),
        Case("INTEG-6/charlie-u-zero", rejects, "zeros in the rows of U",
             rejected(1, without_rows(lambda M: range(M, M + own.public_rows)))),
        Case("INTEG-6/charlie-a-zero", rejects, "zeros in the rows of A",
             rejected(1, without_rows(range))),
        Case("INTEG-6/charlie-mixed-planes", rejects, "the rows of U with two planes exchanged",
             rejected(1, mixed_planes)),
        Case("WIRE-8/charlie-a-alone", dies, "the rows of A alone", ended(1, a_alone))]


def with_columns(change):
    """Each column of the reply changed: change(its planes, M, the set) -> planes."""
    def apply(bench, answer, _):
        frame = wire.decode(answer, bench.set.primes, bench.shapes)
        M = bench.shapes[frame["group"]][1] - bench.set.public_rows
        columns = [b"".join(change(ring.planes(column, bench.set.primes), M, bench.set))
                   for column in frame["columns"]]
        return wire.encode(frame | {"columns": columns}, bench.set.primes, bench.shapes)
    return apply


def with_rows(order):
    """The rows in another order, which depends on M."""
    return with_columns(lambda planes, M, _: [bytes(plane[row] for row in order(M)) for plane in planes])


def without_rows(chosen):
    """Zeros in some rows, which depend on M."""
    return with_columns(lambda planes, M, _: [
        bytes(0 if row in chosen(M) else entry for row, entry in enumerate(plane)) for plane in planes])


def mixed(planes, M, own):
    first, second, *others = planes
    return [first[:M] + bytes(entry % own.primes[0] for entry in second[M:]),
            second[:M] + bytes(entry % own.primes[1] for entry in first[M:]), *others]


mixed_planes = with_columns(mixed)


def a_alone(bench, answer, _):
    """A REPLY as long as the rows of A, as its length says."""
    frame = wire.decode(answer, bench.set.primes, bench.shapes)
    shapes = [(n, rows - bench.set.public_rows) for n, rows in bench.shapes]
    columns = [ring.rows(column, bench.set.primes, 0, shapes[frame["group"]][1])
               for column in frame["columns"]]
    return wire.encode(frame | {"columns": columns}, bench.set.primes, shapes)


def cases(own):
    """Of a set."""
    primes = own.primes
    rejects = "a wrong REPLY MUST be answered with ABORT and nothing after it, and the run MUST fail"
    dies = "any other frame MUST end the session: nothing but an ABORT follows, and the run fails"

    def wrong(column, row):
        return lambda bench, answer, visit: live.next_residue(answer, bench.set, column, row)

    def wrong_plane(plane):
        return lambda bench, answer, visit: live.next_byte(answer, bench.set, -1, plane, 0)

    def not_canonical(plane):
        return lambda bench, answer, visit: live.not_canonical(answer, bench.set, plane)

    result = [
        Case("SESS-1/charlie-good-session", "Charlie MUST send HELLO, APPLY with rising sequences, "
             "CLOSE", "an honest David", honest),
        Case("MASK-5/charlie-one-time", "each column MUST have a mask of its own, in every session",
             "two runs with one input", one_time),
        Case("SESS-4/charlie-late", "a right answer SHOULD be accepted two seconds later",
             "late", late, "SHOULD"),
        Case("INTEG-6/charlie-one-coordinate", rejects, "the first residue of the first reply",
             rejected(1, wrong(0, 0))),
        Case("INTEG-6/charlie-last-coordinate", rejects, "the last residue of the first reply",
             rejected(1, wrong(-1, -1))),
        Case("INTEG-6/charlie-last-reply", rejects, "the last residue of the last reply",
             rejected(-1, wrong(-1, -1))),
        *(Case(f"INTEG-6/charlie-plane-{plane}", rejects, f"wrong modulo {p} alone",
               rejected(1, wrong_plane(plane))) for plane, p in enumerate(primes)),
        Case("INTEG-6/charlie-planes-exchanged", rejects, "the first and the last plane exchanged",
             rejected(1, planes_exchanged)),
        Case("INTEG-6/charlie-replay", rejects, "the reply to an earlier message", replay),
        Case("INTEG-6/charlie-swap", rejects, "two columns exchanged", rejected(1, exchanged)),
        Case("INTEG-6/charlie-zeros", rejects, "zeros", rejected(1, zeros)),
        Case("INTEG-6/charlie-other-product", rejects, "the product of another group",
             other_layers_product),
        Case("SESS-4/charlie-after-abort", "after ABORT nothing MUST be sent",
             "traffic behind a wrong reply", after_abort),
        Case("SESS-3/charlie-sequence", dies, "another sequence", ended(1, header_field(5))),
        Case("SESS-3/charlie-other-layer", dies, "the reply to another group",
             ended(1, other_layer)),
        Case("SESS-3/charlie-columns", dies, "a column too many", ended(1, more_columns)),
        *(Case(f"WIRE-8/charlie-not-below-prime-{plane}", dies, f"a byte of the right class, plus {p}",
               ended(1, not_canonical(plane))) for plane, p in enumerate(primes)),
        Case("WIRE-8/charlie-all-bits", dies, "a byte with all bits set", ended(1, all_bits)),
        Case("WIRE-8/charlie-residue-less", dies, "a residue less", ended(1, fewer_residues)),
        Case("SESS-4/charlie-truncated", dies, "half a reply, and the end",
             ended(1, lambda bench, answer, _: Last(answer[:len(answer) // 2]))),
        Case("SESS-4/charlie-no-answer", dies, "the end in place of READY",
             ended(0, sends(Last()))),
        Case("WIRE-9/charlie-long", "a length beyond what the APPLY implies MUST end the session, "
             "and its body not be awaited", "a length of 2^26",
             ended(1, sends((2**26).to_bytes(4, "little")))),
        Case("WIRE-9/charlie-long-ready", "a length beyond 2 MUST end the session",
             "a length of 40 in place of READY", ended(0, sends((40).to_bytes(4, "little")))),
        Case("SESS-7/charlie-tls-1.2", "TLS before 1.3 MUST be refused", "TLS 1.2",
             unheard(lambda bench: live.old_tls(bench.folder, True))),
        Case("SESS-7/charlie-wrong-role", "a peer of role charlie MUST be refused",
             "Charlie's own certificate", unheard(as_charlie)),
    ]
    refuse = live.raw_frame(wire.REFUSE, bytes([wire.DIGEST]))
    for state, number in (("opening", 0), ("waiting", 1)):
        for name, data in [("refuse", refuse), ("abort", ABORT), ("close", CLOSE),
                           *live.malformed_frames()]:
            slug = name.replace(" ", "-").lower()
            clause = "SESS-1" if name in ("refuse", "abort", "close") else "WIRE-8"
            result.append(Case(f"{clause}/charlie-{slug}-{state}", dies, f"{name}, {state}",
                               ended(number, sends(data))))
    result.append(Case("SESS-1/charlie-second-ready", dies, "READY in place of a REPLY",
                       ended(1, sends(READY))))
    return result + (hidden_cases(own, rejects, dies) if own.hides else [])


def run(arguments, known_failing):
    bench = Bench(arguments)
    outcome = report.Report("Charlie", ["charlie", bench.set.name], known_failing,
                            arguments.only)
    live.run_all(cases(bench.set), bench, outcome, arguments.only)
    return outcome
