"""Results of runs: one JSON object each, written whole or not at all."""

import contextlib
import json
import os
import tempfile

from harness.lists import all_needs

# What a program prints, and what is added to it.
OF_PROGRAM = ("experiment", "model", "settings", "result")
ADDED = ("command", "needs", "duration_s", "processor_s", "machine", "threads")


class BadResult(Exception):
    """What a program printed is no result; the message says what was expected."""


def refuse_constant(name):
    raise BadResult(f"a result has no {name}")


def parse_output(text):
    """The object that a program printed. Throws BadResult."""
    try:
        found = json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise BadResult(f"expected one JSON object on standard output: {error}") from error
    if not isinstance(found, dict):
        raise BadResult("expected one JSON object on standard output")
    for key in OF_PROGRAM:
        if key not in found:
            raise BadResult(f"its JSON object has no '{key}'")
    for key in ADDED:
        if key in found:
            raise BadResult(f"its JSON object has '{key}', which is not the program's to say")
    if not isinstance(found["experiment"], str):
        raise BadResult("'experiment' must be a name")
    for key in ("model", "settings", "result"):
        if not isinstance(found[key], dict):
            raise BadResult(f"'{key}' must be an object")
    return found


def identity(run, runs):
    """What decides whether a result is this run's: its command and those of all that it needs."""
    return {"command": list(run.command),
            "needs": {name: list(runs[name].command) for name in sorted(all_needs(run, runs))}}


def read_result(path):
    """The result in a file, or None if there is none that can be read."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def is_current(path, run, runs):
    """Whether the file holds what this run, as it is listed now, has left."""
    found = read_result(path)
    expected = identity(run, runs)
    return found is not None and {key: found.get(key) for key in expected} == expected


def write_atomically(path, value):
    """The file has all of the object's JSON, a key per line, or is as before."""
    lines = [f"{json.dumps(key)}: {json.dumps(of_key, ensure_ascii=False)}" for key, of_key in value.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write("{\n" + ",\n".join(lines) + "\n}\n")
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
