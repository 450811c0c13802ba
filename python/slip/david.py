"""David: his half of a model, and serving it."""

from __future__ import annotations

import sys
import threading
from ctypes import byref, c_uint16
from socket import socket
from typing import TypedDict

from .c import StrPath, call, library
from .handles import Callbacks, Note, Object, c_path, c_text, opened
from .structs import DavidOptions

if sys.version_info >= (3, 11):  # an older Python runs the package, but cannot resolve its hints
    from typing import Unpack


class DavidKeywords(TypedDict, total=False):
    """The options of a David: members of DavidOptions."""
    threads: int
    max_sessions: int
    timeout_ms: int
    patience_ms: int
    gpu: bool


class David(Object):
    """David, who multiplies with his half of a split model. `artifact`: the folder OUT/david. Options are
    the members of DavidOptions. Raises BadInput for a folder that is not David's half alone."""
    _free = "free_david"

    def __init__(self, artifact: StrPath, **options: Unpack[DavidKeywords]) -> None:
        chosen = DavidOptions(**options)
        super().__init__(opened("open_david", c_path(artifact), byref(chosen)))

    def serve(self, endpoint: str, certificates: StrPath, report: Note | None = None) -> Server:
        """A Server that listens at "HOST:PORT" over TLS. `certificates`: the folder TLS/david. report(line)
        gets the errors of connections, from any thread."""
        return Server(self, endpoint, certificates, report)

    def serve_socket(self, connection: socket) -> None:
        """Serves one session over the connected socket `connection`, until its end, and closes it."""
        end = connection.detach()
        call("serve_fd", self._handle, end, end)


class Server(Object):
    """Serves a David's sessions over TLS, in a thread, until close(). `port` is where it listens, also if
    port 0 was asked for. Made by David.serve()."""
    _free = "free_server"
    port: int

    def __init__(self, david: David, endpoint: str, certificates: StrPath, report: Note | None) -> None:
        self._report = Callbacks().report(report)
        super().__init__(opened("open_server", david._handle, c_text(endpoint), c_path(certificates),
                                self._report, None))
        port = c_uint16()
        call("server_port", self._handle, byref(port))
        self.port = port.value
        # The handle as it is now: close() forgets it.
        self._thread = threading.Thread(target=library().slip_run_server, args=(self._handle,))
        self._thread.start()

    def reload(self) -> None:
        """Reads the certificates again, for connections that come from now on. Raises BadInput, naming the
        file, if they are not usable; the old ones stay."""
        call("reload_server", self._handle)

    def close(self) -> None:
        """Stops taking sessions, waits until those that run have ended, and frees the server."""
        if self._handle:
            call("stop_server", self._handle)
            self._thread.join()
        super().close()
