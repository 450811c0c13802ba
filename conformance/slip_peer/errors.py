"""The typed errors of CONV-4. Each names the step that failed and the clause that says so."""


class SlipError(Exception):
    """step: what was being done; clause: the rule that was broken."""

    def __init__(self, step, clause, message):
        super().__init__(f"{step}: {message} ({clause})")
        self.step = step
        self.clause = clause


class BadInput(SlipError):
    """A file, a flag or a number given by the user is not acceptable."""


class ProtocolError(SlipError):
    """The peer broke the protocol, or the connection failed."""


class IntegrityError(SlipError):
    """A reply did not pass the integrity check."""


class InternalError(SlipError):
    """This program's own files, memory or arithmetic are damaged."""


def require(condition, step, clause, message):
    if not condition:
        raise BadInput(step, clause, message)
