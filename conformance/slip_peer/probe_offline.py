"""Cases for a foreign Charlie who has his cancellations computed: this program is an honest David, and
an offline David, well-behaved and not. Each case starts the Charlie with a command, serves both of
his connections, and looks at what he sends and how he ends."""

import contextlib
import shlex
import socket
import subprocess
import tempfile
import threading

from . import errors, live, offline, probe_charlie, report, serving, session, tls, wire
from .live import Case, NotApplicable, expect
from .probe_charlie import ABORT, CLOSE, EXIT_S, MEMORY, READY, Last, sends

WINDOW = 4  # OFF-5: REQUESTs that may be unanswered


class Bench(probe_charlie.Bench):
    def __init__(self, arguments):
        super().__init__(arguments)
        self.davids_folder = arguments.david_tls

    @property
    def honest(self):
        """A visit without any misbehaviour, for comparison."""
        if self._honest is None:
            self._honest = Visit(self).run()
        return self._honest


class Link:
    """One connection to the offline David, as he saw it. `answers` are the honest ones, `tail` is
    what came after the first answer that was not honest."""

    def __init__(self, number):
        self.number, self.received, self.answers, self.tail = number, [], [], []
        self.tampered = self.silent = False  # silent: Charlie waits for more

    def requests(self):
        return [request for data in self.received if (request := offline.request_of(data))]


class Visit:
    """One run of the Charlie. `links` are his connections to the offline David, in their order;
    `davids` has what he sent over each of his connections to David."""

    def __init__(self, bench, context=None, change=lambda link, answer: answer):
        self.bench, self.change = bench, change
        self.context = context or tls.context(bench.folder, server=True)
        self.links, self.davids, self.threads = [], [], []
        self.over, self.status = False, None

    def run(self):
        with (socket.create_server(("127.0.0.1", 0)) as david,
              socket.create_server(("127.0.0.1", 0)) as second,
              tempfile.TemporaryDirectory(dir=MEMORY) as state):
            places = {"{endpoint}": david, "{offline}": second}
            words = [word.replace("{state}", state) for word in shlex.split(self.bench.command)]
            for name, listener in places.items():
                where = f"127.0.0.1:{listener.getsockname()[1]}"
                words = [word.replace(name, where) for word in words]
            self.begin(self.accept_each, david, self.serve_david)
            self.begin(self.accept_each, second, self.serve_offline)
            try:
                self.wait_for(words)
            finally:
                self.over = True
                while self.threads:
                    self.threads.pop(0).join()
        return self

    def wait_for(self, words):
        try:
            ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True,
                                   timeout=EXIT_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise live.Broken("Charlie does not end") from error
        self.status = ended.returncode

    def begin(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments)
        self.threads.append(thread)
        thread.start()

    def accept_each(self, listener, serve):
        listener.settimeout(0.05)
        while not self.over:
            with contextlib.suppress(TimeoutError):
                self.begin(serve, listener.accept()[0])

    def serve_david(self, raw):
        bench = self.bench
        channel = channel_of(raw, tls.context(bench.davids_folder, server=True))
        if channel:
            self.davids.append(channel.log)
            serving.serve(session.David(bench.profile, bench.model.digest, bench.weights), channel)
            channel.finish()

    def serve_offline(self, raw):
        link = Link(len(self.links))
        self.links.append(link)
        channel = channel_of(raw, self.context)
        if channel is None:
            return
        try:
            self.converse(channel, link)
        except errors.ProtocolError as error:
            link.silent = "timed out" in str(error)  # else he went; what he sent is judged
        finally:
            channel.close()

    def converse(self, channel, link):
        bench = self.bench
        honest = offline.OfflineDavid(bench.profile, bench.model.digest, bench.weights)
        while True:
            data = channel.receive(live.ANY)
            link.received.append(data)
            if link.tampered:
                link.tail.append(data)
                continue
            answer = honest.receive(data)
            if answer is None:
                continue
            sent = self.change(link, answer)
            link.answers.append(answer)
            link.tampered = sent != answer or isinstance(sent, Last)
            if link.tampered:
                channel.connection.settimeout(live.PATIENCE_S)
            if sent:
                channel.send(sent)
            if isinstance(sent, Last):
                return


def channel_of(raw, context):
    """None if the handshake fails."""
    raw.settimeout(EXIT_S)
    try:
        return tls.Channel(context.wrap_socket(raw, server_side=True))
    except OSError:
        raw.close()
        return None


def misbehave(bench, number, change):
    """A visit in which answer `number` of the first connection is changed; 0 is READY."""
    def at(link, answer):
        here = link.number == 0 and len(link.answers) == number
        return change(bench, answer, link) if here else answer
    visit = Visit(bench, change=at).run()
    expect(visit.links and visit.links[0].tampered, f"Charlie did not wait for answer {number}")
    expect(not visit.links[0].silent, "Charlie neither goes on nor ends")
    return visit


def require_window(tail):
    """REQUESTs that were under way, and nothing else."""
    expect(all(offline.request_of(data) for data in tail) and len(tail) < WINDOW,
           f"expected the end, got {[data[:5].hex() for data in tail]}")


def rejected(number, change):
    """OFF-11: ABORT to both Davids and nothing after it; the program fails; nobody reconnects."""
    def run(bench):
        visit = misbehave(bench, number, change)
        tail = visit.links[0].tail
        expect(tail and tail[-1] == ABORT, "the offline David gets no ABORT")
        require_window(tail[:-1])
        expect(visit.status != 0, "the program reports success")
        expect(len(visit.links) == 1, "Charlie connected again by himself (INTEG-7)")
        expect(all(log and log[-1] == ABORT for log in visit.davids), "David gets no ABORT")
    return run


def lost(number, change):
    """OFF-11: this connection is over, and nothing else: the session goes on with masks of another
    connection, under another key, whose indices begin with 0."""
    def run(bench):
        visit = misbehave(bench, number, change)
        tail = visit.links[0].tail
        require_window(tail[:-1] if tail and tail[-1] == ABORT else tail)
        expect(len(visit.links) > 1, "Charlie asks no other connection")
        expect(visit.status == 0, f"the program fails with {visit.status}")
        expect([log[-1] for log in visit.davids] == [CLOSE], "the session with David is over")
        require_keys([visit])
        require_indices(visit)
    return run


def require_keys(visits):
    """OFF-8: no two connections have one key."""
    keys = [link.received[0][44:76] for visit in visits for link in visit.links if link.received]
    expect(len(keys) > 1 and len(set(keys)) == len(keys), "two connections have one key")


def require_indices(visit):
    """OFF-8: indices rise without a gap from 0, in every connection."""
    for link in visit.links:
        following = 0
        for index, _, count in link.requests():
            expect(index == following, f"index {index} in the place of {following}")
            following = index + count


def honest(bench):
    visit = bench.honest
    expect(visit.status == 0, f"the program fails with {visit.status}")
    expect([log[-1] for log in visit.davids] == [CLOSE], "David gets no CLOSE")
    expect(visit.links, "Charlie has no connection to the offline David")
    for link in visit.links:
        frames = [offline.decode(data, bench.profile, bench.shapes) for data in link.received]
        expect(frames[0] | {"key": b""} == {
            "type": "KEY", "version": 1, "profile": bench.profile.code,
            "digest": bench.model.digest, "key": b""}, "the first frame is not this KEY")
        expect(frames[-1]["type"] == "CLOSE", "the last frame is not CLOSE")
        expect(all(frame["type"] == "REQUEST" for frame in frames[1:-1]), "another frame")
    require_indices(visit)


def keys(bench):
    require_keys([bench.honest, Visit(bench).run()])


def replayed(bench):
    """The residues of an earlier answer for the same group, under the header that is expected."""
    seen = {}
    for number, answer in enumerate(bench.honest.links[0].answers[1:], 1):
        if answer[13:21] in seen:
            old = seen[answer[13:21]]
            rejected(number, lambda bench, answer, link: answer[:21] + link.answers[old][21:])(bench)
            return
        seen[answer[13:21]] = number
    raise NotApplicable("no two REQUESTs of one shape for one group")


def unheard(folder):
    """The handshake fails: no KEY is sent, and the program fails."""
    def run(bench):
        visit = Visit(bench, folder(bench)).run()
        expect(not any(link.received for link in visit.links), "Charlie talks to this peer")
        expect(visit.status != 0, "the program reports success")
    return run


def cases():
    rejects = "wrong CANCELLATIONS MUST be answered with ABORT to both Davids and nothing after it, " \
              "and the run MUST fail"
    loses = "any other frame MUST end this connection alone: the session goes on with another one"

    def wrong(position):
        return lambda bench, answer, link: live.plus_one(answer, bench.profile, position)

    def half(_, answer, __):
        return Last(answer[:len(answer) // 2])

    return [
        Case("OFF-5/charlie-good-session", "Charlie MUST send KEY, REQUEST with rising indices, "
             "CLOSE", "an honest offline David", honest),
        Case("OFF-8/charlie-keys", "each connection MUST have a key of its own", "two runs", keys),
        Case("OFF-9/charlie-one-residue", rejects, "the first residue of the first answer",
             rejected(1, wrong(0))),
        Case("OFF-9/charlie-last-residue", rejects, "the last residue of the first answer",
             rejected(1, wrong(-1))),
        Case("OFF-9/charlie-zeros", rejects, "zeros", rejected(1, probe_charlie.zeros)),
        Case("OFF-9/charlie-replay", rejects, "the answer to an earlier REQUEST", replayed),
        Case("OFF-11/charlie-index", loses, "another index",
             lost(1, probe_charlie.header_field(5))),
        Case("OFF-11/charlie-group", loses, "another group",
             lost(1, probe_charlie.header_field(13))),
        Case("OFF-11/charlie-columns", loses, "a column too many",
             lost(1, probe_charlie.header_field(17))),
        Case("OFF-11/charlie-plus-modulus", loses, "the right residue plus L",
             lost(1, lambda bench, answer, _: live.plus_modulus(answer, bench.profile))),
        Case("OFF-11/charlie-residue-less", loses, "a residue less",
             lost(1, probe_charlie.fewer_residues)),
        Case("OFF-11/charlie-truncated", loses, "half an answer, and the end", lost(1, half)),
        Case("OFF-11/charlie-end", loses, "the end in place of an answer", lost(1, sends(Last()))),
        Case("OFF-11/charlie-refuse", loses, "REFUSE in place of an answer",
             lost(1, sends(live.raw_frame(wire.REFUSE, bytes([wire.BUSY]))))),
        Case("OFF-11/charlie-second-ready", loses, "READY in place of an answer",
             lost(1, sends(READY))),
        Case("OFF-11/charlie-long", loses, "a length of 2^26",
             lost(1, sends((2**26).to_bytes(4, "little")))),
        Case("SESS-7/charlie-offline-is-david", "a peer of role david MUST be refused",
             "David's certificate",
             unheard(lambda bench: tls.context(bench.davids_folder, server=True))),
    ]


def run(arguments, known_failing):
    bench = Bench(arguments)
    outcome = report.Report("Charlie", ["charlie", "offline", bench.profile.name], known_failing,
                            arguments.only)
    live.run_all(cases(), bench, outcome, arguments.only)
    return outcome
