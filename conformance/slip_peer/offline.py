"""The offline David, and Charlie with two Davids: the chapter offline.md. A frame is a dict with
"type" and its fields; weights are as in session.py."""

import struct

from . import errors, integrity, linear, parameters, randomness, session, wire

KEY, REQUEST, CANCELLATIONS = 0x11, 0x12, 0x13
NAMES = {KEY: "KEY", wire.READY: "READY", REQUEST: "REQUEST", CANCELLATIONS: "CANCELLATIONS",
         wire.ABORT: "ABORT", wire.CLOSE: "CLOSE", wire.REFUSE: "REFUSE"}
CODES = {name: code for code, name in NAMES.items()}
KEY_LENGTH, REQUEST_LENGTH = 72, 17
INDEX_END = 2**64
ABORT = "0100000005"


def fits(columns, shape, profile):
    """PARAM-3, OFF-3: masks and cancellations of one REQUEST, each within 2^26 bytes."""
    return columns * max(shape) * profile.residue_bytes <= parameters.RESIDUE_BYTES_MAX


def encode(frame, profile, shapes):
    code = CODES[frame["type"]]
    if code == KEY:
        body = (wire.MAGIC + struct.pack("<HB", frame["version"], frame["profile"]) +
                frame["digest"] + frame["key"])
    elif code == REQUEST:
        body = wire.HEADER.pack(frame["index"], frame["group"], frame["count"])
    elif code == CANCELLATIONS:
        body = wire.encode_columns(wire.REPLY, frame | {"sequence": frame["index"]}, profile, shapes)
    else:
        body = bytes([frame["reason"]]) if code == wire.REFUSE else b""
    return struct.pack("<IB", len(body) + 1, code) + body


def decode(data, profile, shapes):
    """OFF-7: the frame that `data` is, or a ProtocolError that names the clause."""
    code, body = wire.split(data, NAMES)
    if code == KEY:
        return decode_key(body)
    if code == REQUEST:
        return decode_request(body, profile, shapes)
    if code == CANCELLATIONS:
        frame = wire.decode_columns(wire.REPLY, body, profile, shapes)
        return {"type": "CANCELLATIONS", "index": frame["sequence"], "group": frame["group"],
                "columns": frame["columns"]}
    return wire.decode(data, profile, shapes)


def decode_key(body):
    if len(body) != 71:
        raise wire.malformed("OFF-2", "KEY has another length")
    return wire.decode_hello(body[:39]) | {"type": "KEY", "key": body[39:]}


def fields_of(body):
    """OFF-3: (index, group, columns) of the body of a REQUEST."""
    if len(body) != wire.HEADER.size:
        raise wire.malformed("OFF-3", "REQUEST has another length")
    index, group, count = wire.HEADER.unpack(body)
    if not 1 <= count <= parameters.COLUMNS_MAX:
        raise wire.malformed("OFF-3", "1 to 4096 columns")
    return index, group, count


def decode_request(body, profile, shapes):
    index, group, count = fields_of(body)
    if group >= len(shapes):
        raise wire.UnknownGroup("decode", "OFF-6", "an unknown group")
    if not fits(count, shapes[group], profile):
        raise wire.malformed("OFF-3", "more masks than fit")
    return {"type": "REQUEST", "index": index, "group": group, "count": count}


def request_of(data):
    """(index, group, columns) of bytes that are a REQUEST as far as its own fields say, or None."""
    try:
        code, body = wire.split(data, NAMES)
        return fields_of(body) if code == REQUEST else None
    except errors.ProtocolError:
        return None


class OfflineDavid:
    """OFF-5, OFF-8: he holds his weights, the key of the connection, and the next index."""

    def __init__(self, profile, digest, weights):
        self.profile, self.digest, self.weights = profile, digest, weights
        self.shapes = session.shapes_of(weights)
        self.key, self.next_index, self.dead = None, 0, False

    def receive(self, data):
        """The bytes that answer a frame, or None. After the end nothing is answered."""
        if self.dead:
            return None
        answer = self.answer(data)
        if answer is None or answer["type"] == "REFUSE":
            self.dead, self.key = True, None
        return answer and encode(answer, self.profile, self.shapes)

    def answer(self, data):
        """OFF-6: of several reasons the first."""
        if int.from_bytes(data[:4], "little") > self.greatest_length():
            return session.refuse(wire.MALFORMED)
        request = request_of(data)
        if request and self.key is None:
            return session.refuse(wire.OUT_OF_ORDER)
        if request and (reason := self.wrong_index(*request)):
            return session.refuse(reason)
        try:
            frame = decode(data, self.profile, self.shapes)
        except wire.UnknownGroup:
            return session.refuse(wire.UNKNOWN_GROUP if request else wire.OUT_OF_ORDER)
        except errors.ProtocolError:
            return session.refuse(wire.MALFORMED)
        if self.key is None:
            return self.answer_key(frame)
        if frame["type"] == "REQUEST":
            return self.answer_request(frame)
        return None if frame["type"] in ("CLOSE", "ABORT") else session.refuse(wire.OUT_OF_ORDER)

    def greatest_length(self):
        """OFF-7: the greatest length field that he accepts in this state."""
        return KEY_LENGTH if self.key is None else REQUEST_LENGTH

    def wrong_index(self, index, _, count):
        """OFF-5: the reason why a REQUEST with these indices is refused, or None."""
        if index + count > INDEX_END:
            return wire.MALFORMED
        return wire.OUT_OF_ORDER if index < self.next_index else None

    def answer_key(self, frame):
        """OFF-2."""
        if frame["type"] != "KEY":
            return session.refuse(wire.OUT_OF_ORDER)
        for reason, given, own in ((wire.VERSION, frame["version"], parameters.VERSION),
                                   (wire.PROFILE, frame["profile"], self.profile.code),
                                   (wire.DIGEST, frame["digest"], self.digest)):
            if given != own:
                return session.refuse(reason)
        self.key = frame["key"]
        return {"type": "READY"}

    def answer_request(self, frame):
        """OFF-4: c = W_D r of each mask, in the order of the indices."""
        index, group, count = frame["index"], frame["group"], frame["count"]
        self.next_index = index + count
        davids, L = self.weights[group], self.profile.L
        c = [davids.cancellation(randomness.mask(self.key, index + j, davids.inputs, L), L)
             for j in range(count)]
        return {"type": "CANCELLATIONS", "index": index, "group": group, "columns": c}


class Life:
    """OFF-10, OFF-13: a pair (rho, s) from its taking to its first reject or its return."""

    def __init__(self, profile, pair_key, weights):
        self.profile, self.weights = profile, weights
        self.rho = [randomness.rho(pair_key, group, len(davids.W_D), profile)
                    for group, davids in enumerate(weights)]
        self.s = [integrity.companion(rho, davids.W_D, profile.L)
                  for rho, davids in zip(self.rho, weights)]
        self.stock = {group: [] for group in range(len(weights))}
        self.over = False
        self.begun = self.given = 0

    def verdict(self, group, x, y):
        """One verdict after the other; after a reject nothing is accepted."""
        self.begun += 1
        accepted = not self.over and self.compare(group, x, y)
        self.given += 1
        if not accepted:
            self.end()
        return accepted

    def compare(self, group, x, y):
        """INTEG-3."""
        try:
            integrity.check(self.rho[group], self.s[group], *self.weights[group].checked(x, y),
                            self.profile.L)
        except errors.IntegrityError:
            return False
        return True

    def end(self):
        """OFF-11: nothing of the stock outlives its life."""
        self.over, self.stock = True, {group: [] for group in self.stock}

    def give_back(self):
        """OFF-13: what becomes of the pair."""
        free = not self.over and self.begun == self.given
        self.end()
        return "free" if free else "deleted"


class Connection:
    """Charlie's side of a connection to an offline David."""

    def __init__(self, channel, profile, digest, shapes, key, life):
        self.channel, self.profile, self.digest, self.shapes = channel, profile, digest, shapes
        self.key, self.life = key, life
        self.next_index, self.dead = 0, False

    def open(self):
        """OFF-2."""
        self.send({"type": "KEY", "version": parameters.VERSION, "profile": self.profile.code,
                   "digest": self.digest, "key": self.key})
        if self.receive(2)["type"] != "READY":
            raise errors.ProtocolError("KEY", "OFF-2", "the answer is not READY")

    def request(self, group, count):
        """OFF-3, OFF-9: asks for masks, checks their cancellations, puts them into the stock."""
        index = self.next_index
        self.next_index += count
        self.send({"type": "REQUEST", "index": index, "group": group, "count": count})
        n, M = self.shapes[group]
        answer = self.receive(17 + count * M * self.profile.residue_bytes)
        self.require_echo(answer, index, group, count)
        r = [randomness.mask(self.key, index + j, n, self.profile.L) for j in range(count)]
        self.put(group, r, answer["columns"])

    def require_echo(self, answer, index, group, count):
        """OFF-5."""
        if answer["type"] != "CANCELLATIONS" or (index, group, count) != (
                answer["index"], answer["group"], len(answer["columns"])):
            raise errors.ProtocolError("REQUEST", "OFF-5", "an answer to something else")

    def put(self, group, r, c):
        if not self.life.verdict(group, r, c):
            raise errors.IntegrityError("integrity check", "OFF-9", "the cancellations are wrong")
        self.life.stock[group] += zip(r, c)

    def send(self, frame):
        self.channel.send(encode(frame, self.profile, self.shapes))

    def receive(self, greatest):
        return decode(self.channel.receive(greatest), self.profile, self.shapes)

    def close(self):
        self.send({"type": "CLOSE"})

    def abort(self):
        self.send({"type": "ABORT"})


class Charlie(session.Charlie):
    """A session with David whose masks come from the stock of a life."""

    def __init__(self, channel, profile, digest, shapes, life):
        self.channel, self.profile, self.digest = channel, profile, digest
        self.shapes, self.life = shapes, life
        self.sequence, self.open, self.dead = 0, False, False

    def wipe(self):
        self.dead, self.open = True, False

    def apply(self, group, q, indices=None):
        """LIN-1 with masks of the stock: y_D after both verdicts."""
        L, (_, M) = self.profile.L, self.shapes[group]
        masks = [self.life.stock[group].pop(0) for _ in q]
        x = [linear.mask(column, r, L) for column, (r, _) in zip(q, masks, strict=True)]
        sequence = self.sequence
        self.sequence += 1
        self.send({"type": "APPLY", "sequence": sequence, "group": group, "columns": x})
        reply = self.receive(17 + len(q) * M * self.profile.residue_bytes)
        self.require_echo(reply, sequence, group, len(q))
        if not self.life.verdict(group, x, reply["columns"]):
            self.abort()
            raise errors.IntegrityError("integrity check", "INTEG-3", "the reply is wrong")
        return [linear.unmask(y, c, L) for y, (_, c) in zip(reply["columns"], masks)]

    def abort(self):
        """OFF-11: the last frame of a session whose life is over."""
        self.wipe()
        self.send({"type": "ABORT"})


def new_key(keys, connection):
    """OFF-8: every connection has a key of its own."""
    return keys[connection]


def intervals(ready, arrivals, interval):
    """OFF-14: the whole intervals between the time at which a step could begin and its beginning."""
    return -(-(max([ready, *arrivals]) - ready) // interval)
