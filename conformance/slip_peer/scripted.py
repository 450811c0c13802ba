"""The operations of the vectors that are sessions: a peer whose frames are written down."""

from . import encoding, errors, hiding, integrity, linear, ring, session
from .forms import bits, floats, read


class Ended(Exception):
    """A session that ended badly, with what was sent until then."""

    def __init__(self, step, clause, output):
        super().__init__(step)
        self.failure = {"step": step, "clause": clause}
        self.output = output


def dense(groups):
    return [linear.Dense(W_D) for W_D in groups]


def davids(case, own):
    """What David holds of each group; of the hidden split U comes from its seed."""
    if not own.hides:
        return dense(case["groups"])
    public = hiding.PublicRows(own, bytes.fromhex(case["public_seed"]))
    return [hiding.Stacked(own, planes_of(read(group["A"]), own.primes), public) for group in case["groups"]]


def planes_of(columns, primes):
    """The rows of a matrix of residues in each plane."""
    return [list(zip(*plane)) for plane in zip(*(ring.planes(column, primes) for column in columns))]


def charlies(groups, own):
    """What Charlie knows of each: the weights, or of the hidden split their shapes alone."""
    if own.hides:
        return [linear.Columns(len(group["W"][0]), len(group["W"]) + own.public_rows) for group in groups]
    return dense(group["W_D"] for group in groups)


def david_session(case, own):
    """The answers to the frames of a scripted Charlie; those after David's end get none."""
    david = session.David(own, bytes.fromhex(case["digest"]), davids(case, own))
    answers, ended = [], False
    for frame in case["frames"]:
        data = bytes.fromhex(frame)
        too_long = int.from_bytes(data[:4], "little") > david.greatest_length()
        reply = david.receive(bytes(4) if too_long else data)  # WIRE-9: the body is not read
        if reply or not ended:  # after the end only an answer is worth a note
            answers.append(reply and reply.hex())
        ended = ended or david.dead
    if answers[-1] and answers[-1].startswith("0200000007"):
        raise Ended("receive a frame", "WIRE-7", {"answers": answers})
    return {"answers": answers}


class Script:
    """A channel to a peer whose frames are written down."""

    def __init__(self, answers):
        self.answers = [bytes.fromhex(frame) for frame in answers]
        self.sent = []

    def send(self, data):
        self.sent.append(data.hex())

    def receive(self, greatest):
        if not self.answers:
            raise errors.ProtocolError("receive", "SESS-4", "the stream ended")
        data = self.answers.pop(0)
        if int.from_bytes(data[:4], "little") > greatest:
            raise errors.ProtocolError("receive", "WIRE-9", "a frame is too long")
        return data


def masks_of(case, own, weights):
    """Those of the session, or with lattice masks those of the process."""
    key = bytes.fromhex(case["key"])
    if own.lattice is None:
        return session.UniformMasks(own, key, weights)
    given = own, key, bytes.fromhex(case["public_seed"]), bytes.fromhex(case["seed"])
    if not own.hides:
        return session.LatticeMasks.of_weights(*given, [group.W_D for group in weights])
    models, keys = zip(*((group["W"], bytes.fromhex(group["key"])) for group in case["groups"]))
    masked = [hiding.noisy(own, of_matrix, W) for W, of_matrix in zip(models, keys)]
    return session.HiddenMasks.of_weights(*given, models, masked, keys=keys)


def run_charlie(case, own, work):
    """Opens a session with a script, does the work, closes; (what was sent, the work's result)."""
    script, weights = Script(case["answers"]), charlies(case["groups"], own)
    secret = integrity.Secret(bytes.fromhex(case["seed"]), [read(group["s"]) for group in case["groups"]],
                              max(group.outputs for group in weights), own.primes)
    charlie = session.Charlie(script, own, bytes.fromhex(case["digest"]), weights, secret,
                              masks_of(case, own, weights))
    try:
        charlie.hello()
        result = work(charlie)
        charlie.close()
        return script.sent, result
    except errors.IntegrityError as error:
        abort = script.sent[-1:] == ["0100000005"]
        sent = script.sent[:-1] if abort else script.sent
        raise Ended(error.step, error.clause,
                    {"end": "integrity error", "sent": sent, "abort": abort}) from error
    except errors.ProtocolError as error:
        raise Ended(error.step, error.clause,
                    {"end": "protocol error", "sent": script.sent}) from error


def charlie_session(case, own):
    def work(charlie):
        return [charlie.apply(message["group"], message["q"], message["mask_indices"])
                for message in case["messages"]]
    sent, y_D = run_charlie(case, own, work)
    return {"end": "closed", "sent": sent, "y_D": y_D}


def group_outputs(group, q, scale, y_D):
    """ENC-2 of LIN-2, all members of a group one below the other."""
    outputs, first = [], 0
    for member in group["members"]:
        last = first + len(member["A"])
        y_int = linear.low_rank(member["A"], member["B"], q, y_D[first:last])
        outputs += encoding.dequantise(y_int, floats(member["row_scale"]), scale)
        first = last
    return bits(outputs)


def model_transcript(case, own):
    """Every exchange of a model, from the floats that enter a group to those that leave it."""
    groups = case["groups"]

    def work(charlie):
        results = []
        for message in case["messages"]:
            group = groups[message["group"]]
            tokens = [encoding.quantise(floats(x), group["activation_norm"]) for x in message["x"]]
            y_D = charlie.apply(message["group"], [q for q, _ in tokens], message["mask_indices"])
            results.append([group_outputs(group, q, scale, y)
                            for (q, scale), y in zip(tokens, y_D)])
        return results
    sent, y = run_charlie(case, own, work)
    return {"sent": sent, "y": y}
