"""JSON files of an artifact, read as strictly as MODEL-7 says: no field twice, none that is unknown, no
number of another type."""

import json

from . import errors


def fail(path, message):
    raise errors.BadInput("load artifact", "MODEL-7", f"{path}: {message}")


def once(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a name stands twice in one object")
    return dict(pairs)


def no_number(text):
    raise ValueError(f"{text} is no JSON number")


def parse(data, path):
    """The value of JSON in UTF-8. Minus zero is kept apart from zero: it becomes a float."""
    try:
        value = json.loads(data.decode(), object_pairs_hook=once, parse_constant=no_number,
                           parse_int=lambda text: -0.0 if text == "-0" else int(text))
        json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is no character
    except ValueError as error:
        fail(path, f"is not JSON in UTF-8: {error}")
    return value


def read(path):
    try:
        return parse(path.read_bytes(), path)
    except OSError as error:
        return fail(path, error.strerror)


def record(path, value, fields, optional=()):
    """An object with these fields and no others. A field is given by its type, or by the least and
    the greatest integer that it may be."""
    if not isinstance(value, dict):
        fail(path, "expected an object")
    for name in fields.keys() - value.keys() - set(optional):
        fail(path, f'field "{name}" is missing')
    for name, entry in value.items():
        if name not in fields:
            fail(path, f'field "{name}" is unknown')
        kind = fields[name]
        if isinstance(kind, tuple):
            require_integer(path, name, entry, *kind)
        elif not isinstance(entry, kind):
            fail(path, f'field "{name}" has another type')
    return value


def require_integer(path, name, value, least, most):
    if type(value) is not int or not least <= value <= most:
        fail(path, f'field "{name}": expected an integer from {least} to {most}')


def require_digest(path, name, text):
    if len(text) != 64 or not set(text) <= set("0123456789abcdef"):
        fail(path, f'field "{name}": expected 64 lower-case hexadecimal digits')
