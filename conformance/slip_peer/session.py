"""Both parties of a session: the chapter session.md. A channel has send(frame bytes) and
receive(greatest length field) -> frame bytes; receive raises ProtocolError at the end."""

from . import errors, hiding, lattice, linear, parameters, randomness, wire


def shapes_of(weights):
    """(n, M) of each group, which is a linear.Dense or a convolution.Kernel."""
    return [(group.inputs, group.outputs) for group in weights]


class David:
    """SESS-6: he holds his weights, whether HELLO was accepted, and the next sequence."""

    def __init__(self, own, digest, weights):
        self.set, self.digest, self.weights = own, digest, weights
        self.shapes = shapes_of(weights)
        self.open = self.dead = False
        self.sequence = 0

    def greatest_length(self):
        """WIRE-9: the greatest length field that he accepts in this state."""
        if not self.open:
            return 40
        inputs = max(n for n, _ in self.shapes)
        size = parameters.COLUMNS_MAX * inputs * self.set.planes
        return 17 + min(parameters.RESIDUE_BYTES_MAX, size)

    def receive(self, data):
        """The bytes that answer a frame, or None. SESS-4: after the end nothing is answered."""
        if self.dead:
            return None
        answer = self.answer(data)
        if answer is None or answer["type"] == "REFUSE":
            self.dead = True
        return answer and wire.encode(answer, self.set.primes, self.shapes)

    def answer(self, data):
        header = wire.header_of(data)
        if self.open and header and header[0] != self.sequence:  # SESS-3
            return refuse(wire.OUT_OF_ORDER)
        try:
            frame = wire.decode(data, self.set.primes, self.shapes)
        except wire.UnknownGroup:  # of an APPLY, which has a header, or of a REPLY
            return refuse(wire.UNKNOWN_GROUP if self.open and header else wire.OUT_OF_ORDER)
        except errors.ProtocolError:
            return refuse(wire.MALFORMED)
        if not self.open:
            return self.answer_hello(frame)
        if frame["type"] == "APPLY":
            return self.answer_apply(frame)
        return None if frame["type"] in ("CLOSE", "ABORT") else refuse(wire.OUT_OF_ORDER)

    def answer_hello(self, frame):
        """SESS-2: the first of version, set, digest that differs is the reason."""
        if frame["type"] != "HELLO":
            return refuse(wire.OUT_OF_ORDER)
        for reason, given, own in ((wire.VERSION, frame["version"], parameters.VERSION),
                                   (wire.SET, frame["set"], self.set.code),
                                   (wire.DIGEST, frame["digest"], self.digest)):
            if given != own:
                return refuse(reason)
        self.open = True
        return {"type": "READY"}

    def answer_apply(self, frame):
        """PARAM-3: a message whose reply does not fit a frame is malformed."""
        _, outputs = self.shapes[frame["group"]]
        size = len(frame["columns"]) * outputs * self.set.planes
        if size > parameters.RESIDUE_BYTES_MAX:
            return refuse(wire.MALFORMED)
        self.sequence += 1
        y = self.weights[frame["group"]].product(frame["columns"], self.set.primes)
        return {"type": "REPLY", "sequence": frame["sequence"], "group": frame["group"],
                "columns": y}


def refuse(reason):
    return {"type": "REFUSE", "reason": reason}


class UniformMasks:
    """MASK-1, MASK-3: the masks of one session."""

    def __init__(self, own, key, weights):
        self.set, self.key, self.weights, self.next_index = own, key, weights, 0

    def indices(self, group, count):
        """MASK-5: the next ones; none comes twice."""
        first = self.next_index
        self.next_index += count
        return range(first, first + count)

    def take(self, group, index):
        """(r, c)."""
        davids = self.weights[group]
        r = randomness.mask(self.key, index, davids.inputs, self.set.primes)
        return r, davids.cancellation(r, self.set.primes)

    def products(self, group, q, y, c):
        """MASK-4: y_D of each column."""
        return [linear.unmask(reply, own, self.set.primes)
                for reply, own in zip(y, c, strict=True)]


class LatticeMasks:
    """MASK-7 to MASK-10: the masks of a process, and the check of its products. hint_of(group, T) is H;
    `rows` and `zW` are by group."""

    def __init__(self, own, key, public_seed, check_seed, hint_of, rows, zW):
        self.set, self.rows, self.zW = own, rows, zW
        self.widths = {group: len(row) for group, row in zW.items()}
        sets = {group: hiding.at_width(own, n) for group, n in self.widths.items()}
        self.masks = lattice.Masks(sets, key, public_seed, self.widths, hint_of)
        self.z = lattice.product_z(check_seed, max(rows.values()))
        self.next_block, self.left = 0, {}

    @classmethod
    def of_weights(cls, own, key, public_seed, check_seed, weights, masked=None, **more):
        """With what the owner computes of them: the matrices of the groups, and where they differ those
        whose H makes masks."""
        z = lattice.product_z(check_seed, max(map(len, weights)))
        return cls(own, key, public_seed, check_seed,
                   lambda group, T: lattice.hint(own, (masked or weights)[group], T),
                   {g: len(W) for g, W in enumerate(weights)},
                   {g: lattice.product_companion(z, W) for g, W in enumerate(weights)}, **more)

    def indices(self, group, count):
        """MASK-5, MASK-9: the next ones of the group's blocks; none comes twice."""
        found, N = [], self.set.lattice.N
        while len(found) < count:
            left = self.left.get(group)
            if not left:
                left = range(N * self.next_block, N * (self.next_block + 1))
                self.next_block += 1
            missing = count - len(found)
            found += left[:missing]
            self.left[group] = left[missing:]
        return found

    def take(self, group, index):
        """(r, c)."""
        return self.masks.take(group, index)

    def products(self, group, q, y, c):
        """MASK-8, MASK-10: y_D of each column."""
        y_D = [self.unmask(group, reply, own) for reply, own in zip(y, c, strict=True)]
        lattice.check_products(self.z, self.zW[group], q, y_D)
        return y_D

    def unmask(self, group, y, c):
        return lattice.unmask(y, c, self.set)


class HiddenMasks(LatticeMasks):
    """The same of the hidden split. `keys` are those of V and E, by group (HIDE-3)."""

    def __init__(self, *given, keys):
        super().__init__(*given)
        self.keys = keys

    def unmask(self, group, y, c):
        """HIDE-4, HIDE-5."""
        y = hiding.without_secret(self.set, self.keys[group], y, self.rows[group])
        return hiding.unmask(self.set, self.widths[group], y, c)


class MixedMasks:
    """Lattice masks, and uniform ones for convolutions (MASK-7)."""

    def __init__(self, lattice_masks, uniform):
        self.lattice, self.uniform = lattice_masks, uniform

    def of(self, group):
        return self.lattice if group in self.lattice.zW else self.uniform

    def indices(self, group, count):
        return self.of(group).indices(group, count)

    def take(self, group, index):
        return self.of(group).take(group, index)

    def products(self, group, q, y, c):
        return self.of(group).products(group, q, y, c)


class Charlie:
    """One session. `weights` are what David holds: they serve the cancellations only. `secret` is
    the check of the split, which outlives the session. `masks` are the session's or the process's."""

    def __init__(self, channel, own, digest, weights, secret, masks):
        self.channel, self.set, self.digest = channel, own, digest
        self.weights, self.secret, self.masks = weights, secret, masks
        self.shapes = shapes_of(weights)
        self.sequence = 0
        self.open = self.dead = False

    def fail(self, error):
        """SESS-4: any error ends the session and wipes its secrets."""
        self.wipe()
        raise error

    def wipe(self):
        self.dead, self.open = True, False
        self.masks = None

    def hello(self):
        """SESS-2."""
        if self.dead or self.open:
            self.fail(errors.ProtocolError("HELLO", "SESS-1", "the session has begun"))
        self.send({"type": "HELLO", "version": parameters.VERSION,
                   "set": self.set.code, "digest": self.digest})
        answer = self.receive(2)
        if answer["type"] != "READY":
            self.fail(errors.ProtocolError("HELLO", "SESS-1", f"David answers {answer}"))
        self.open = True

    def apply(self, group, q, indices=None):
        """One message: the columns q, masked, sent, checked, unmasked. Returns y_D.

        indices: the mask index of each column; without it the next ones (MASK-5)."""
        if not self.open:
            self.fail(errors.ProtocolError("APPLY", "SESS-4", "the session is not open"))
        _, M = self.shapes[group]
        indices = self.masks.indices(group, len(q)) if indices is None else indices
        taken = [self.masks.take(group, index) for index in indices]
        x = [linear.mask(column, r, self.set.primes)
             for column, (r, _) in zip(q, taken, strict=True)]
        sequence = self.sequence
        self.sequence += 1
        self.send({"type": "APPLY", "sequence": sequence, "group": group, "columns": x})
        size = len(q) * M * self.set.planes
        reply = self.receive(17 + size)
        self.require_echo(reply, sequence, group, len(q))
        self.require_accepted(group, x, reply["columns"])
        try:
            return self.masks.products(group, q, reply["columns"], [c for _, c in taken])
        except errors.InternalError as error:
            return self.fail(error)

    def require_echo(self, reply, sequence, group, columns):
        """SESS-3."""
        if reply["type"] != "REPLY":
            self.fail(errors.ProtocolError("APPLY", "SESS-1", f"David answers {reply['type']}"))
        if (reply["sequence"], reply["group"], len(reply["columns"])) != (sequence, group, columns):
            self.fail(errors.ProtocolError("APPLY", "SESS-3", "the reply answers another message"))

    def require_accepted(self, group, x, y):
        """INTEG-5, INTEG-6: check before anything else; a reject sends ABORT."""
        try:
            self.secret.check(group, *self.weights[group].checked(x, y, self.set.primes))
        except errors.IntegrityError as error:
            self.wipe()
            self.send({"type": "ABORT"})
            raise error

    def close(self):
        if not self.open:
            self.fail(errors.ProtocolError("CLOSE", "SESS-4", "the session is not open"))
        self.send({"type": "CLOSE"})
        self.wipe()

    def send(self, frame):
        self.channel.send(wire.encode(frame, self.set.primes, self.shapes))

    def receive(self, greatest):
        try:
            return wire.decode(self.channel.receive(greatest), self.set.primes, self.shapes)
        except errors.ProtocolError as error:
            return self.fail(error)
