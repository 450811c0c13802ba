"""How cases of the vectors write floats and columns."""

from . import encoding


def floats(values):
    return [encoding.float32_of(bits) for bits in values]


def bits(values):
    return [encoding.bits_of(value) for value in values]


def read(columns):
    return [bytes.fromhex(column) for column in columns]


def written(columns):
    return [column.hex() for column in columns]


def in_hex(value):
    """A tree of lists and objects with every column in hexadecimal."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {name: in_hex(entry) for name, entry in value.items()}
    return [in_hex(entry) for entry in value] if isinstance(value, list) else value
