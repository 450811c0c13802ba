"""Token ids to text by the pieces of a SentencePiece model file, which is a protocol buffer."""

NORMAL, BYTE = 1, 6  # types of pieces; others have no text


def fields(data):
    """(number, value) of each field of a message; a value is an int or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size, at = (4, at) if kind == 5 else (8, at) if kind == 1 else varint(data, at)
            value = data[at:at + size]
            at += size
        yield key >> 3, value


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def pieces(data):
    """(text, type) of every piece, by id."""
    result = []
    for number, value in fields(data):
        if number == 1:
            piece = dict(fields(value))
            result.append((piece[1].decode(), piece.get(3, NORMAL)))
    return result


def decode(data, ids):
    """The text of `ids`, with the space that the first word brings."""
    known, text = pieces(data), b""
    for token in ids:
        piece, kind = known[token]
        if kind == BYTE:
            text += bytes([int(piece[3:5], 16)])
        elif kind == NORMAL:
            text += piece.replace("\u2581", " ").encode()
    return text.decode(errors="replace")
