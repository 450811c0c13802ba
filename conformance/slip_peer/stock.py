"""Charlie with offline Davids over TLS: the clauses OFF-8, OFF-11 and OFF-14. He has one thread, and
before each step requests the masks that the last step spent."""

import os
import time

from . import errors, offline, parameters, session

INTERVAL_NS = 100_000_000


class Charlie(offline.Charlie):
    """`connects` make channels to offline Davids, each used once the one before is lost; `columns` is
    the number of columns per group that a step may have."""

    def __init__(self, channel, davids, connects, columns):
        profile, shapes = davids.profile, session.shapes_of(davids.weights)
        errors.require(1 <= columns <= parameters.COLUMNS_MAX
                       and all(offline.fits(columns, shape, profile) for shape in shapes),
                       "charlie", "OFF-3", f"a step of {columns} columns is too large")
        life = offline.Life(profile, os.urandom(32), davids.weights)
        super().__init__(channel, profile, davids.digest, shapes, life)
        self.connects, self.columns, self.connection = list(connects), columns, None

    def begin_step(self):
        """OFF-14: waits a whole number of intervals before a step."""
        ready = time.monotonic_ns()
        for group in range(len(self.shapes)):
            while missing := self.columns - len(self.life.stock[group]):
                self.ask(group, missing)
        waited = offline.intervals(ready, [time.monotonic_ns()], INTERVAL_NS)
        time.sleep(max(0, ready + waited * INTERVAL_NS - time.monotonic_ns()) / 1e9)

    def ask(self, group, count):
        """OFF-11: masks requested from a lost offline David are abandoned; a reject ends the life."""
        connection = self.connected()
        try:
            connection.request(group, count)
        except errors.ProtocolError:
            self.connection = None
        except errors.IntegrityError:
            connection.abort()
            self.abort()
            raise

    def connected(self):
        while self.connection is None:
            if not self.connects:
                self.fail(errors.ProtocolError("KEY", "OFF-11", "no offline David is left"))
            self.connection = self.opened(self.connects.pop(0))
        return self.connection

    def opened(self, connect):
        """A connection with a key of its own (OFF-8), or None."""
        try:
            connection = offline.Connection(connect(), self.profile, self.digest, self.shapes,
                                            os.urandom(32), self.life)
            connection.open()
        except errors.ProtocolError:
            return None
        return connection

    def close(self):
        super().close()
        if self.connection:
            self.connection.close()
