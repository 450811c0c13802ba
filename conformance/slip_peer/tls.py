"""Frames over TLS 1.3 with mutual authentication: the clause SESS-7. A folder has ca.pem, cert.pem
and key.pem of one party."""

import contextlib
import socket
import ssl
import time

from . import errors

LENGTH = 4


def context(folder, server):
    """TLS 1.3 only, the deployment's own authority only, a certificate of the peer required."""
    result = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    result.minimum_version = ssl.TLSVersion.TLSv1_3
    result.check_hostname = False  # the role is checked instead, see require_role
    result.verify_mode = ssl.CERT_REQUIRED
    result.load_verify_locations(folder / "ca.pem")
    result.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    if server:
        result.num_tickets = 0  # no resumption
    return result


def require_role(connection, role):
    """Common name and DNS name of the peer's certificate are its role."""
    certificate = connection.getpeercert()
    names = [value for part in certificate.get("subject", ()) for name, value in part
             if name == "commonName"]
    hosts = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"]
    if names != [role] or role not in hosts:
        raise errors.ProtocolError("TLS", "SESS-7", f"the peer is not {role}")


class Channel:
    """A connection as frames."""

    def __init__(self, connection, log=None):
        self.connection = connection
        self.log = log if log is not None else []

    def send(self, data):
        try:
            self.connection.sendall(data)
        except OSError as error:
            raise errors.ProtocolError("send", "SESS-4", str(error)) from error

    def receive(self, greatest):
        """WIRE-9: the length is compared before the body is read."""
        head = self.exactly(LENGTH)
        length = int.from_bytes(head, "little")
        if not 1 <= length <= greatest:
            raise errors.ProtocolError("receive", "WIRE-9", f"a frame of {length} bytes")
        data = head + self.exactly(length)
        self.log.append(data)
        return data

    def exactly(self, count):
        data = bytearray()
        while len(data) < count:
            try:
                piece = self.connection.recv(count - len(data))
            except OSError as error:
                raise errors.ProtocolError("receive", "SESS-4", str(error)) from error
            if not piece:
                raise errors.ProtocolError("receive", "SESS-4", "the connection ended")
            data += piece
        return bytes(data)

    def finish(self, seconds=1.0):
        """SESS-9: the end of David, who reads what still arrives, so that his last frame does."""
        end = time.monotonic() + seconds
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            while (left := end - time.monotonic()) > 0:
                self.connection.settimeout(left)
                if not self.connection.recv(1 << 16):
                    break
        self.close()

    def close(self):
        self.connection.close()


def endpoint(text):
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise errors.BadInput("endpoint", "SESS-7", f"expected HOST:PORT, found {text}")
    return host.strip("[]"), int(port)


def connect(text, folder, timeout=30.0):
    """Charlie's channel to David."""
    try:
        raw = socket.create_connection(endpoint(text), timeout)
        connection = context(folder, server=False).wrap_socket(raw, server_hostname="david")
    except OSError as error:
        raise errors.ProtocolError("TLS", "SESS-7", f"{text}: {error}") from error
    require_role(connection, "david")
    return Channel(connection)


def accept(listener, folder, timeout=30.0):
    """The next connection, which must be Charlie's."""
    raw, _ = listener.accept()
    raw.settimeout(timeout)
    try:
        connection = context(folder, server=True).wrap_socket(raw, server_side=True)
        require_role(connection, "charlie")
    except OSError as error:
        raw.close()
        raise errors.ProtocolError("TLS", "SESS-7", str(error)) from error
    return Channel(connection)
