"""The operations of the vectors, answered by this package. An operation takes the input of a case
and the parameter set of its group and returns the output, or raises a SlipError. A column of
residues is bytes here, and hexadecimal in a case."""

import pathlib
import tempfile

from . import (artifact, attention, convolution, decomposition, encoding, errors, hiding, integrity, latency,
               lattice, linear, parameters, randomness, ring, scripted, wire)
from .forms import bits, floats, in_hex, read, written

FEATURES = ["david", "charlie", "arithmetic", "keystream", "owner", "attention", "convolution",
            "latency", "artifact", "randomness", "lattice", "hidden"]


def answer(operation, name, case):
    """{"result": "valid", "output"} or {"result": "invalid", "failure", maybe "output"}."""
    function = TABLE.get(operation)
    if function is None:
        return {"result": "unimplemented"}
    try:
        return {"result": "valid", "output": function(case, hiding.SETS.get(name))}
    except scripted.Ended as end:
        return {"result": "invalid", "failure": end.failure, "output": end.output}
    except errors.SlipError as error:
        return {"result": "invalid", "failure": {"step": error.step, "clause": error.clause}}


def shapes(groups):
    return [(group["n"], group["M"]) for group in groups]


def require_residues(values, L, step):
    errors.require(all(0 <= value < L for value in values), step, "CONV-1",
                   "a residue is not in 0..L-1")


def pairs(function):
    """An operation of two lists, entry by entry."""
    def apply(case, own):
        L = ring.modulus(own.primes)
        for side in ("a", "b"):
            require_residues(case[side], L, "arithmetic")
        return {"result": [function(a, b, L) for a, b in zip(case["a"], case["b"])]}
    return apply


def embed(case, own):
    L = ring.modulus(own.primes)
    return {"residues": [ring.embed(v, L) for v in case["values"]]}


def lift(case, own):
    L = ring.modulus(own.primes)
    require_residues(case["residues"], L, "lift")
    return {"values": [ring.lift(r, L) for r in case["residues"]]}


def residue_encode(case, _):
    return {"bytes": ring.encode(case["residues"], parameters.PRIMES[:case["planes"]]).hex()}


def residue_decode(case, _):
    return {"residues": ring.decode(bytes.fromhex(case["bytes"]),
                                    parameters.PRIMES[:case["planes"]])}


def keystream(case, _):
    stream = randomness.keystream(bytes.fromhex(case["key"]),
                                  randomness.field_of(case["plane"], case["purpose"]), case["index"])
    return {"bytes": randomness.start_of(stream, case["count"]).hex()}


def sample(case, _):
    return {"residues": randomness.sample(case["modulus"], [bytes.fromhex(case["bytes"])],
                                          case["count"])}


def public_residues(case, own):
    return {"residues": randomness.public_column(
        own, case["purpose"], case["width"], case["index"], bytes.fromhex(case["seed"]),
        case["count"]).hex()}


def public_matrix(case, own):
    row = lattice.public_row(own, bytes.fromhex(case["public_seed"]), case["width"], case["row"])
    return {"coefficients": ring.split(row[case["element"]], own.primes).hex()}


def lattice_block(case, own):
    W_D = case["W_D"]
    width, seed = len(W_D[0]), bytes.fromhex(case["public_seed"])
    T = [lattice.public_row(own, seed, width, row) for row in range(width)]
    block = lattice.Block(own, bytes.fromhex(case["key"]), case["block"], T, lattice.hint(own, W_D, T))
    masks = [block.mask(i) for i in case["offsets"]]
    return {"masks": [{"index": index, "r": r.hex(), "c": c.hex()} for index, r, c in masks]}


def unmask_lattice(case, own):
    return {"y_D": lattice.unmask(bytes.fromhex(case["y_masked"]), bytes.fromhex(case["c"]), own)}


def hidden_width(case, _):
    width = hiding.width_of(case["width"])
    return {"B": width.B, "s": width.s, "tau": width.tau, "u": list(width.u), "v": list(width.v)}


def hidden_model(case, _):
    W_int, row_scale = hiding.model([floats(row) for row in case["W"]])
    return {"W_int": W_int, "row_scale": bits(row_scale)}


def hiding_key(case, own):
    return {"key": hiding.key(own, bytes.fromhex(case["secret"]), bytes.fromhex(case["public_seed"]),
                              case["group"], case["W"]).hex()}


def weight_secret(case, own):
    row = hiding.secret_row(own, bytes.fromhex(case["key"]), case["block"])
    return {"coefficients": row[case["element"]]}


def weight_error(case, own):
    return {"integers": hiding.error_row(own, bytes.fromhex(case["key"]), case["row"], case["width"])}


def public_weights(case, own):
    return {"residues": hiding.public_row(own, bytes.fromhex(case["public_seed"]), case["row"],
                                          case["width"]).hex()}


def hidden_matrix(case, own):
    return {"A": [column.hex() for column in hiding.matrix(
        own, bytes.fromhex(case["secret"]), bytes.fromhex(case["public_seed"]), case["group"], case["W"])]}


def remove_weight_secret(case, own):
    return {"y": hiding.without_secret(own, bytes.fromhex(case["key"]), bytes.fromhex(case["reply"]),
                                       case["rows"]).hex()}


def unmask_hidden(case, own):
    return {"y_D": hiding.unmask(own, case["width"], bytes.fromhex(case["y"]), bytes.fromhex(case["c"]))}


def product_secret(case, _):
    z = lattice.product_z(bytes.fromhex(case["seed"]), case["rows"])
    return {"z": z, "zW": lattice.product_companion(z, case["W_D"])}


def product_check(case, _):
    z = lattice.product_z(bytes.fromhex(case["seed"]), case["rows"])
    lattice.check_products(z, case["zW"], case["q"], case["y_D"])
    return {}


def draw_mask(case, own):
    return {"mask": randomness.mask(bytes.fromhex(case["key"]), case["index"], case["n"],
                                    own.primes).hex()}


def draw_w(case, own):
    return {"w": written(randomness.combinations(bytes.fromhex(case["seed"]), case["rows"],
                                                 own.primes))}


def mask(case, own):
    return {"x_masked": linear.mask(case["q"], bytes.fromhex(case["r"]), own.primes).hex()}


def cancellation(case, own):
    return {"c": linear.cancellation(case["W_D"], bytes.fromhex(case["r"]), own.primes).hex()}


def unmask(case, own):
    return {"y_D": linear.unmask(bytes.fromhex(case["y_masked"]), bytes.fromhex(case["c"]),
                                 own.primes)}


def david_product(case, own):
    return {"y_masked": written(linear.product(case["W_D"], read(case["x_masked"]), own.primes))}


def integrity_s(case, own):
    return {"s": written(integrity.companion(read(case["w"]), case["W_D"], own.primes))}


def integrity_check(case, own):
    y_masked = read(case["y_masked"])
    rows = len(y_masked[0]) // own.planes
    w = randomness.combinations(bytes.fromhex(case["seed"]), rows, own.primes)
    integrity.check(w, read(case["s"]), read(case["x_masked"]), y_masked, own.primes)
    return {}


def quantise(case, _):
    q, scale = encoding.quantise(floats(case["x"]), case["activation_norm"])
    return {"q": q, "scale": encoding.bits_of(scale)}


def dequantise(case, _):
    return {"y": bits(encoding.dequantise(case["y_int"], floats(case["row_scale"]),
                                          encoding.float32_of(case["token_scale"])))}


def activation_bound(case, own):
    return {"row_norm": encoding.row_norm(case["row_squares"]),
            "activation_norm": encoding.activation_bound(case["row_squares"],
                                                         ring.modulus(own.primes))}


def modulus_bound(case, own):
    encoding.modulus_bound(case["row_squares"], case["activation_norm"], ring.modulus(own.primes))
    return {}


def lattice_bound(case, own):
    encoding.lattice_bound(case["row_squares"], case["activation_norm"], own.lattice)
    return {}


def largest_residual(case, _):
    residual = [encoding.float64_of(entry) for entry in case["residual"]]
    largest = decomposition.largest_residual(residual, case.get("weight_norm"))
    return {"largest_residual": encoding.bits64_of(largest)}


def product_bound(case, _):
    W_int = decomposition.integer_weights(case["A"], case["B"], case["W_D"])
    encoding.product_bound(W_int, case["activation_norm"])
    return {}


def row_scale(case, _):
    values = [encoding.float64_of(case[name])
              for name in ("largest_residual", "largest_factor", "row_norm")]
    return {"delta": encoding.bits_of(decomposition.row_scale(*values))}


def attention_figure(case, own):
    masks = {"q": read(case["masks"]["q"]), "k": read(case["masks"]["k"]),
             "v": [read(head) for head in case["masks"]["v"]]}
    return in_hex(attention.figure(case["weights"], case["a"], masks, case["P"], own.primes))


def attention_one_round(case, own):
    return in_hex(attention.one_round(case["weights"], case["a"], read(case["masks"]), case["P"],
                                      own.primes))


def decode_frame(case, own):
    return {"frame": in_hex(wire.decode(bytes.fromhex(case["bytes"]), own.primes,
                                        shapes(case["groups"])))}


def encode_frame(case, own):
    frame = dict(case["frame"])
    if "digest" in frame:
        frame["digest"] = bytes.fromhex(frame["digest"])
    if "columns" in frame:
        frame["columns"] = read(frame["columns"])
    return {"bytes": wire.encode(frame, own.primes, shapes(case["groups"])).hex()}


def convolution_exchange(case, own):
    return in_hex(convolution.exchange(convolution.Shape(**case["shape"]), case["kernel"], case["q"],
                                       bytes.fromhex(case["r"]), own.primes))


def convolution_check(case, own):
    convolution.check(convolution.Shape(**case["shape"]), read(case["w"]), read(case["s"]),
                      bytes.fromhex(case["x_masked"]), bytes.fromhex(case["y_masked"]), own.primes)
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
            half = artifact.Charlie(folder)
            loaded = {group: {"activation_norm": entry.activation_norm,
                              "ranks": [len(m.B) for m in entry.members]}
                      for group, entry in enumerate(half.groups)}
    return {"set": half.set.name, "digest": half.digest.hex(),
            "groups": [{"inputs": davids.inputs, "outputs": davids.outputs} | loaded.get(group, {})
                       for group, davids in enumerate(half.weights)]}


TABLE = {
    "embed": embed,
    "lift": lift,
    "ring_add": pairs(lambda a, b, L: ring.add(a, b, L)),
    "ring_subtract": pairs(lambda a, b, L: ring.subtract(a, b, L)),
    "ring_multiply": pairs(lambda a, b, L: ring.multiply(a, b, L)),
    "residue_encode": residue_encode,
    "residue_decode": residue_decode,
    "keystream": keystream,
    "sample": sample,
    "public_residues": public_residues,
    "small_integers": lambda case, _: {"integers": randomness.small_integers(
        case["eta"], bytes.fromhex(case["bytes"]), case["count"])},
    "public_matrix": public_matrix,
    "lattice_block": lattice_block,
    "unmask_lattice": unmask_lattice,
    "hidden_width": hidden_width,
    "column_parts": lambda case, _: {"bounds": hiding.part_bounds(case["width"])},
    "hidden_model": hidden_model,
    "hiding_key": hiding_key,
    "weight_secret": weight_secret,
    "weight_error": weight_error,
    "public_weights": public_weights,
    "hidden_matrix": hidden_matrix,
    "remove_weight_secret": remove_weight_secret,
    "unmask_hidden": unmask_hidden,
    "product_secret": product_secret,
    "product_check": product_check,
    "draw_mask": draw_mask,
    "draw_w": draw_w,
    "mask": mask,
    "unmask": unmask,
    "cancellation": cancellation,
    "david_product": david_product,
    "low_rank": lambda case, _: {"y_int": linear.low_rank(case["A"], case["B"], case["q"],
                                                          case["y_D"])},
    "integrity_s": integrity_s,
    "integrity_check": integrity_check,
    "round": lambda case, _: {"integers": [encoding.round_even(encoding.float64_of(v))
                                           for v in case["values"]]},
    "quantise": quantise,
    "dequantise": dequantise,
    "activation_bound": activation_bound,
    "modulus_bound": modulus_bound,
    "product_bound": product_bound,
    "lattice_bound": lattice_bound,
    "largest_residual": largest_residual,
    "plan": lambda case, _: {"ranks": decomposition.ranks(case["plan"], case["layers"])},
    "retained_rank": lambda case, _: {"rank": decomposition.retained_rank(case["m"], case["n"],
                                                                          case["K"])},
    "row_scale": row_scale,
    "integer_weights": lambda case, _: {"W_int": decomposition.integer_weights(
        case["A"], case["B"], case["W_D"])},
    "attention_figure": attention_figure,
    "attention_one_round": attention_one_round,
    "convolve": lambda case, _: {"o": convolution.convolve(convolution.Shape(**case["shape"]),
                                                           case["kernel"], case["x"])},
    "patches": lambda case, _: {"patches": list(map(list, zip(*convolution.patches(
        convolution.Shape(**case["shape"]), case["x"]))))},
    "dense_matrix": lambda case, _: {"W": convolution.dense_matrix(
        convolution.Shape(**case["shape"]), case["kernel"])},
    "convolution_exchange": convolution_exchange,
    "convolution_check": convolution_check,
    "decode_frame": decode_frame,
    "encode_frame": encode_frame,
    "david_session": scripted.david_session,
    "charlie_session": scripted.charlie_session,
    "model_transcript": scripted.model_transcript,
    "load_artifact": load_artifact,
    "latency": lambda case, _: latency.sums(latency.parse(case["parameters"])),
    "protocol_cost": lambda case, _: latency.protocol(latency.parse(case["parameters"])),
}
