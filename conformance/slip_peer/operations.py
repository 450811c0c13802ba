"""The operations of the vectors, answered by this package. An operation takes the input of a case
and the profile of its group and returns the output, or raises a SlipError."""

import pathlib
import tempfile

from . import (artifact, attention, convolution, decomposition, encoding, errors, integrity, latency, linear,
               parameters, randomness, ring, session, wire)

FEATURES = ["david", "charlie", "arithmetic", "keystream", "owner", "attention", "convolution",
            "latency", "artifact"]


def answer(operation, profile, case):
    """{"result": "valid", "output"} or {"result": "invalid", "failure", maybe "output"}."""
    function = TABLE.get(operation)
    if function is None:
        return {"result": "unimplemented"}
    try:
        return {"result": "valid", "output": function(case, parameters.BY_NAME.get(profile))}
    except Ended as end:
        return {"result": "invalid", "failure": end.failure, "output": end.output}
    except errors.SlipError as error:
        return {"result": "invalid", "failure": {"step": error.step, "clause": error.clause}}


class Ended(Exception):
    """A session that ended badly, with what was sent until then."""

    def __init__(self, step, clause, output):
        super().__init__(step)
        self.failure = {"step": step, "clause": clause}
        self.output = output


def floats(values):
    return [encoding.float32_of(bits) for bits in values]


def bits(values):
    return [encoding.bits_of(value) for value in values]


def norms(W_D):
    return [sum(map(abs, row)) for row in W_D]


def shapes(groups):
    return [(group["n"], group["M"]) for group in groups]


def pairs(function):
    """An operation of two lists, entry by entry."""
    def apply(case, profile):
        for side in ("a", "b"):
            ring.require_canonical(case[side], profile.L, "arithmetic")
        return {"result": [function(a, b, profile.L) for a, b in zip(case["a"], case["b"])]}
    return apply


def lift(case, profile):
    ring.require_canonical(case["residues"], profile.L, "lift")
    return {"values": [ring.lift(r, profile.L) for r in case["residues"]]}


def keystream(case, _):
    stream = randomness.keystream(bytes.fromhex(case["key"]), case["tag"], case["index"])
    data = b"".join(next(stream) for _ in range(-(-case["count"] // 16)))
    return {"bytes": data[:case["count"]].hex()}


def sample(case, profile):
    return {"residues": randomness.sample(profile.L, [bytes.fromhex(case["bytes"])],
                                          case["count"])}


def check(case, profile):
    rho = randomness.rho(bytes.fromhex(case["key"]), case["group"], len(case["W_D"]), profile)
    s = integrity.companion(rho, case["W_D"], profile.L)
    integrity.check(rho, s, case["x_masked"], case["y_masked"], profile.L)
    return {}


def quantise(case, _):
    q, scale = encoding.quantise(floats(case["x"]), case["qa_max"])
    return {"q": q, "scale": encoding.bits_of(scale)}


def dequantise(case, _):
    return {"y": bits(encoding.dequantise(case["y_int"], floats(case["row_scale"]),
                                          encoding.float32_of(case["token_scale"])))}


def modulus_bound(case, profile):
    encoding.modulus_bound(case["row_norms"], case["qa_max"], profile.L)
    return {}


def product_bound(case, _):
    W_int = decomposition.integer_weights(case["A"], case["B"], case["W_D"])
    encoding.product_bound(W_int, case["qa_max"])
    return {}


def row_scale(case, _):
    values = [encoding.float64_of(case[name])
              for name in ("largest_residual", "largest_factor", "row_norm")]
    return {"delta": encoding.bits_of(decomposition.row_scale(*values))}


def decode_frame(case, profile):
    frame = wire.decode(bytes.fromhex(case["bytes"]), profile, shapes(case["groups"]))
    if "digest" in frame:
        frame["digest"] = frame["digest"].hex()
    return {"frame": frame}


def encode_frame(case, profile):
    frame = dict(case["frame"])
    if "digest" in frame:
        frame["digest"] = bytes.fromhex(frame["digest"])
    return {"bytes": wire.encode(frame, profile, shapes(case["groups"])).hex()}


def dense(groups):
    return [linear.Dense(W_D) for W_D in groups]


def david_session(case, profile):
    """The answers to the frames of a scripted Charlie; those after David's end get none."""
    david = session.David(profile, bytes.fromhex(case["digest"]), dense(case["groups"]))
    answers, ended = [], False
    for frame in case["frames"]:
        reply = david.receive(bytes.fromhex(frame))
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


def run_charlie(case, profile, weights, work):
    """Opens a session with a script, does the work, closes; (what was sent, the work's result)."""
    script = Script(case["answers"])
    charlie = session.Charlie(script, profile, bytes.fromhex(case["digest"]),
                              dense(weights), bytes.fromhex(case["key"]))
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


def charlie_session(case, profile):
    def work(charlie):
        return [charlie.apply(message["group"], message["q"], message["mask_indices"])
                for message in case["messages"]]
    sent, y_D = run_charlie(case, profile, case["groups"], work)
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


def model_transcript(case, profile):
    """Every exchange of a model, from the floats that enter a group to those that leave it."""
    groups = case["groups"]

    def work(charlie):
        results = []
        for message in case["messages"]:
            group = groups[message["group"]]
            tokens = [encoding.quantise(floats(x), group["qa_max"]) for x in message["x"]]
            y_D = charlie.apply(message["group"], [q for q, _ in tokens], message["mask_indices"])
            results.append([group_outputs(group, q, scale, y)
                            for (q, scale), y in zip(tokens, y_D)])
        return results
    sent, y = run_charlie(case, profile, [group["W_D"] for group in groups], work)
    return {"sent": sent, "y": y}


def convolution_check(case, profile):
    convolution.check(convolution.Shape(**case["shape"]), case["rho"], case["s"],
                      case["x_masked"], case["y_masked"], profile.L)
    return {}


def load_artifact(case, _):
    """MODEL-7: the files of one half, or of both for Charlie, written to an empty folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path, data in case["files"].items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(bytes.fromhex(data))
        if case["half"] == "david":
            half, loaded = artifact.David(folder / "david"), {}
        else:
            charlie = artifact.Charlie(folder)
            half = charlie.david
            loaded = {group: {"qa_max": entry.qa_max, "ranks": [len(m.B) for m in entry.members]}
                      for group, entry in enumerate(charlie.groups)}
    return {"profile": half.profile.name, "digest": half.digest.hex(),
            "groups": [{"inputs": davids.inputs, "outputs": davids.outputs} | loaded.get(group, {})
                       for group, davids in enumerate(half.weights)]}


TABLE = {
    "embed": lambda case, p: {"residues": [ring.embed(v, p.L) for v in case["values"]]},
    "lift": lift,
    "ring_add": pairs(lambda a, b, L: ring.add(a, b, L)),
    "ring_subtract": pairs(lambda a, b, L: ring.subtract(a, b, L)),
    "ring_multiply": pairs(lambda a, b, L: ring.multiply(a, b, L)),
    "residue_encode": lambda case, p: {"bytes": ring.encode(case["residues"], p).hex()},
    "residue_decode": lambda case, p: {"residues": ring.decode(bytes.fromhex(case["bytes"]), p)},
    "keystream": keystream,
    "sample": sample,
    "draw_mask": lambda case, p: {"mask": randomness.mask(bytes.fromhex(case["key"]),
                                                          case["index"], case["n"], p.L)},
    "draw_rho": lambda case, p: {"rho": randomness.rho(bytes.fromhex(case["key"]), case["group"],
                                                       case["rows"], p)},
    "mask": lambda case, p: {"x_masked": linear.mask(case["q"], case["r"], p.L)},
    "unmask": lambda case, p: {"y_D": linear.unmask(case["y_masked"], case["c"], p.L)},
    "cancellation": lambda case, p: {"c": linear.cancellation(case["W_D"], case["r"], p.L)},
    "david_product": lambda case, p: {"y_masked": linear.product(case["W_D"], case["x_masked"],
                                                                 p.L)},
    "low_rank": lambda case, _: {"y_int": linear.low_rank(case["A"], case["B"], case["q"],
                                                          case["y_D"])},
    "integrity_s": lambda case, p: {"s": integrity.companion(case["rho"], case["W_D"], p.L)},
    "integrity_check": check,
    "round": lambda case, _: {"integers": [encoding.round_even(encoding.float64_of(v))
                                           for v in case["values"]]},
    "quantise": quantise,
    "dequantise": dequantise,
    "activation_bound": lambda case, p: {"qa_max": encoding.activation_bound(case["row_norms"],
                                                                             p.L)},
    "modulus_bound": modulus_bound,
    "product_bound": product_bound,
    "plan": lambda case, _: {"ranks": decomposition.ranks(case["plan"], case["layers"])},
    "retained_rank": lambda case, _: {"rank": decomposition.retained_rank(case["m"], case["n"],
                                                                          case["K"])},
    "row_scale": row_scale,
    "integer_weights": lambda case, _: {"W_int": decomposition.integer_weights(
        case["A"], case["B"], case["W_D"])},
    "attention_figure": lambda case, p: attention.figure(case["weights"], case["a"],
                                                         case["masks"], case["P"], p.L),
    "attention_one_round": lambda case, p: attention.one_round(case["weights"], case["a"],
                                                               case["masks"], case["P"], p.L),
    "convolve": lambda case, _: {"o": convolution.convolve(convolution.Shape(**case["shape"]),
                                                           case["kernel"], case["x"])},
    "patches": lambda case, _: {"patches": list(map(list, zip(*convolution.patches(
        convolution.Shape(**case["shape"]), case["x"]))))},
    "dense_matrix": lambda case, _: {"W": convolution.dense_matrix(
        convolution.Shape(**case["shape"]), case["kernel"])},
    "convolution_exchange": lambda case, p: convolution.exchange(
        convolution.Shape(**case["shape"]), case["kernel"], case["q"], case["r"], p.L),
    "convolution_check": convolution_check,
    "decode_frame": decode_frame,
    "encode_frame": encode_frame,
    "david_session": david_session,
    "charlie_session": charlie_session,
    "model_transcript": model_transcript,
    "load_artifact": load_artifact,
    "latency": lambda case, _: latency.sums(latency.parse(case["parameters"])),
    "protocol_cost": lambda case, _: latency.protocol(latency.parse(case["parameters"])),
}
