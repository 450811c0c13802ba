"""Frames as a test writes them, and peers that do with them what a test says."""

import contextlib
import ctypes
import itertools
import json
import socket
import ssl
import struct
import threading
import time

from slip_system import LIMIT_S

# Seconds that a peer may take, in tests of one who takes longer. The first that is enough to come so
# far on this machine decides: a loaded one needs longer ones.
LIMITS_S = [0.5, 4, 32, 256]
HELLO, READY, APPLY, REPLY, ABORT, CLOSE, REFUSE = range(1, 8)
MALFORMED, OUT_OF_ORDER, UNKNOWN_GROUP, BUSY = 4, 5, 6, 7
# Of the protocol; the code and the bytes of a residue of its parameter set.
VERSION, PAPER, PLANES = 2, 1, 4
PRIMES = [251, 241, 239, 233]  # byte p of a residue is below prime p


def frame(kind, body=b""):
    """WIRE-1: length u32 | type u8 | body."""
    return struct.pack("<IB", 1 + len(body), kind) + body


def columns(kind, sequence, group, count, residues):
    """APPLY or REPLY: the residues of one column, or equal ones of several; each is below every prime."""
    return frame(kind, struct.pack("<QII", sequence, group, count) + PLANES * bytes(residues))


def receive(connection, size):
    """Exactly `size` bytes; EOFError if the stream ends before."""
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def receive_frame(connection):
    """A whole frame, length field included."""
    field = receive(connection, 4)
    return field + receive(connection, struct.unpack("<I", field)[0])


def context(folder, server):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.load_verify_locations(folder / "ca.pem")
    made.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    made.verify_mode = ssl.CERT_REQUIRED
    return made


def hello_of(artifact):
    """The HELLO of a Charlie who holds the other half of `artifact`."""
    manifest = json.loads((artifact / "david/manifest.json").read_text())
    return frame(HELLO, b"SLIP" + struct.pack("<HB", VERSION, PAPER) + bytes.fromhex(manifest["sha256"]))


def connect(endpoint, tls):
    """A Charlie with the right certificate, at David's `endpoint`."""
    host, port = endpoint.split(":")
    plain = socket.create_connection((host, int(port)), timeout=LIMIT_S)
    return context(tls / "charlie", False).wrap_socket(plain, server_hostname="david")


def vanish(connection):
    """From now on the system drops what comes for `connection` and acknowledges nothing, as if this
    machine, or the way to it, were gone."""
    drop = struct.pack("HBBI", 6, 0, 0, 0)  # one instruction: take 0 bytes
    program = ctypes.create_string_buffer(drop, len(drop))
    attach_filter = 26
    connection.setsockopt(socket.SOL_SOCKET, attach_filter,
                          struct.pack("HL", 1, ctypes.addressof(program)))


class FakeDavid:
    """A David with the right certificate who does what `behave(connection)` says, one connection
    after the other."""

    def __init__(self, folder, behave):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.context, self.behave = context(folder, True), behave
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def serve(self):
        with contextlib.suppress(OSError):  # until the listener is closed
            while True:
                connection, _ = self.listener.accept()
                # Charlie ends the connection when he has seen enough.
                with connection, contextlib.suppress(OSError, EOFError), \
                        self.context.wrap_socket(connection, server_side=True) as secured:
                    self.behave(secured)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        self.listener.close()
        self.thread.join(LIMIT_S)


class Between:
    """For a FakeDavid: passes frames between Charlie and a real David, until `fault` befalls the reply to
    one of Charlie's frames. 0 is HELLO; every connection after the first is served at once by the fault."""

    FAULTS = ("killed", "silent", "half", "slow", "flooding")

    def __init__(self, endpoint, tls, fault, at):
        self.endpoint, self.tls, self.fault, self.at = endpoint, tls, getattr(self, fault), at
        self.struck = threading.Event()

    def __call__(self, charlie):
        with connect(self.endpoint, self.tls) as david:
            for number in itertools.count():
                david.sendall(receive_frame(charlie))
                reply = receive_frame(david)
                if number == self.at:
                    self.at = 0
                    self.struck.set()
                    return self.fault(charlie, reply)
                charlie.sendall(reply)

    @staticmethod
    def until_he_goes(charlie):
        while charlie.recv(1 << 16):
            pass

    def killed(self, charlie, reply):
        charlie.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def silent(self, charlie, reply):
        self.until_he_goes(charlie)

    def half(self, charlie, reply):
        charlie.sendall(reply[:len(reply) // 2])
        self.until_he_goes(charlie)

    def slow(self, charlie, reply):
        """A byte now and then: the whole would take longer than anybody waits."""
        for byte in reply:
            charlie.sendall(bytes([byte]))
            time.sleep(0.3)

    def flooding(self, charlie, reply):
        while True:
            charlie.sendall(b"\xff" * (1 << 16))
