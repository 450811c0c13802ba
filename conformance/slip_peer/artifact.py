"""Artifacts on disk: the clause MODEL-7."""

import array
import functools
import hashlib
import math
import mmap
import os
import pathlib
import struct

from . import (convolution, decomposition, documents, encoding, hiding, integrity, lattice, linear,
               parameters, ring, session)
from .documents import fail

# dtype -> (typecode of array or None, bytes)
TYPES = {"I8": ("b", 1), "I16": ("h", 2), "I32": ("i", 4), "U8": ("B", 1), "F32": ("f", 4),
         "F16": (None, 2), "BF16": (None, 2)}
EXTENT, EXTENT_OR_ZERO = (1, parameters.MATRIX_MAX), (0, parameters.MATRIX_MAX)
CONVOLUTION = {"height": EXTENT, "width": EXTENT, "channels": EXTENT, "kernel_height": EXTENT,
               "kernel_width": EXTENT, "stride": EXTENT, "padding": EXTENT_OR_ZERO}
WINDOW = {"kernel": list, "stride": EXTENT}
OFFLOADED = {"tensor": str, "bias": str}
LAYERS = {"convolution": OFFLOADED | WINDOW | {"filters": EXTENT, "padding": EXTENT_OR_ZERO},
          "linear": OFFLOADED | {"outputs": EXTENT}, "relu": {}, "max_pool": WINDOW,
          "average_pool": WINDOW}
RANDOM_STRATEGIES = ("rcs", "random")
STRATEGIES = ("lsc", "norm", "fms", *RANDOM_STRATEGIES)


def read_bytes(path):
    """As they are read: a file of hints is greater than most memories."""
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) \
                if os.fstat(file.fileno()).st_size else b""
    except OSError as error:
        return fail(path, error.strerror)


class SafeTensors:
    """A safetensors file: tensors by name, as flat lists with their shapes."""

    def __init__(self, path):
        self.path = path
        self.data = read_bytes(path)
        size = int.from_bytes(self.data[:8], "little")
        if len(self.data) < 8 or size > len(self.data) - 8 or self.data[8:9] != b"{":
            fail(path, "the header is cut")
        self.header = documents.parse(self.data[8:8 + size], path)
        self.metadata = self.header.pop("__metadata__", None)
        self.begin = 8 + size
        self.require_tiling()

    def require_tiling(self):
        """Each tensor begins where the one before it ends, and the last ends with the file."""
        position = 0
        for entry in self.header.values():
            documents.record(self.path, entry, {"dtype": str, "shape": list, "data_offsets": list})
            for number in entry["shape"] + entry["data_offsets"]:
                documents.require_integer(self.path, "shape or data_offsets", number, 0, 2**63)
            if entry["dtype"] not in TYPES or len(entry["data_offsets"]) != 2:
                fail(self.path, f"a tensor has a type among {', '.join(TYPES)} and two offsets")
        for entry in sorted(self.header.values(), key=lambda entry: entry["data_offsets"]):
            first, last = entry["data_offsets"]
            if first != position or last - first != math.prod(entry["shape"]) * \
                    TYPES[entry["dtype"]][1]:
                fail(self.path, "the tensors' bytes do not fit their shapes, gaps or overlaps")
            position = last
        if position != len(self.data) - self.begin:
            fail(self.path, "bytes behind the last tensor")

    @property
    def digest(self):
        return hashlib.sha256(self.data).digest()

    def shape(self, name):
        if name not in self.header:
            fail(self.path, f"no tensor {name}")
        return self.header[name]["shape"]

    def flat(self, name, dtype=None):
        """The elements of a tensor, row by row."""
        self.shape(name)
        entry = self.header[name]
        if dtype is not None and entry["dtype"] != dtype:
            fail(self.path, f"{name}: expected {dtype}, found {entry['dtype']}")
        first, last = entry["data_offsets"]
        data = self.data[self.begin + first:self.begin + last]
        code, size = TYPES[entry["dtype"]]
        if code is None:
            return half_floats(entry["dtype"], data)
        if dtype is not None and (self.begin + first) % size:
            fail(self.path, f"{name}: does not begin at a multiple of {size} bytes")
        return array.array(code, data).tolist()

    def matrix(self, name, dtype=None):
        flat, shape = self.flat(name, dtype), self.shape(name)
        if len(shape) != 2:
            fail(self.path, f"{name}: expected a matrix")
        return [flat[i * shape[1]:(i + 1) * shape[1]] for i in range(shape[0])]


def half_floats(dtype, data):
    count = len(data) // 2
    if dtype == "F16":
        return list(struct.unpack(f"<{count}e", data))
    words = struct.unpack(f"<{count}H", data)
    return [struct.unpack("<f", struct.pack("<I", word << 16))[0] for word in words]


def read_description(path, form, fields_of):
    """(parameter set, manifest.json or plan.json). The version comes first: in another one everything may
    differ. fields_of(set) is (the fields of a set, those of them that may be absent)."""
    document = documents.read(path)
    if not isinstance(document, dict) or document.get("format") != form:
        fail(path, f"expected format {form}")
    version = document.get("version")
    own = parameters.VERSION_OF_ARTIFACTS
    if type(version) is not int or version != own:
        fail(path, f"version {version}, expected {own}: split the model again with this version's "
                   "'slip split' (PARAM-4)")
    name, names = document.get("set"), hiding.SETS
    if not isinstance(name, str) or name not in names:
        fail(path, f'field "set": expected one of {", ".join(names)}')
    fields, optional = fields_of(names[name])
    common = {"format": str, "version": (own, own), "set": str, "groups": list}
    documents.record(path, document, common | fields, optional)
    if not 1 <= len(document["groups"]) <= parameters.GROUPS_MAX:
        fail(path, "expected 1 to 2^16 groups")
    return names[name], document


def require_range(path, name, values, greatest):
    """PARAM-2: every range is symmetric."""
    if any(not -greatest <= value <= greatest for value in values):
        fail(path, f"{name}: a value is beyond {greatest} (PARAM-2)")


def require_left_factor(path, name, significands, exponents):
    """PARAM-2: the rows of A and their exponents, which are stored in one way only."""
    for i, (row, e) in enumerate(zip(significands, exponents, strict=True)):
        require_range(path, name + ".A", row, parameters.FACTOR_MAX)
        if not decomposition.is_exponent_of(row, e):
            fail(path, f"{name}.A_exponent: row {i} has {e}, expected the least exponent from 0 to "
                       f"{parameters.ROW_EXPONENT_MAX} (PARAM-2)")


def require_digests(folder):
    """SHA256SUMS is a line for each other file of Charlie's folder, in the order of the names."""
    expected = "".join(f"{hashlib.sha256(read_bytes(path)).hexdigest()}  {path.name}\n"
                       for path in sorted(folder.iterdir()) if path.name != "SHA256SUMS")
    if read_bytes(folder / "SHA256SUMS")[:] != expected.encode():
        fail(folder / "SHA256SUMS", "does not list exactly the files beside it")


def convolution_of(path, entry, rows, cols):
    """CNN-6: the shape of a group that is a convolution, or None."""
    if "convolution" not in entry:
        return None
    found = documents.record(path, entry["convolution"], CONVOLUTION)
    H, W, C, kH, kW, stride, padding = (found[name] for name in CONVOLUTION)
    shape = convolution.Shape(H, W, C, kH, kW, rows, stride, padding)
    if padding >= min(kH, kW) or H + 2 * padding < kH or W + 2 * padding < kW \
            or shape.patch != cols \
            or max(shape.inputs, shape.patch, shape.outputs) > parameters.MATRIX_MAX:
        fail(path, "a convolution whose sizes do not fit (CNN-6, PARAM-3)")
    return shape


class David:
    """OUT/david: the stacked W_D, the kernel matrix or, of the hidden split, [A ; U] of each group."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        if any((folder / name).exists() for name in ("charlie", "charlie.safetensors",
                                                     "plan.json")):
            fail(folder, "holds a part of Charlie's artifact")
        self.set, manifest = read_description(folder / "manifest.json", "slip-david", lambda own: (
            {"sha256": str} | ({"seed": str} if own.hides else {}), []))
        documents.require_digest(folder, "sha256", manifest["sha256"])
        if self.set.hides:
            documents.require_digest(folder, "seed", manifest["seed"])
            self.public = hiding.PublicRows(self.set, bytes.fromhex(manifest["seed"]))
        tensors = SafeTensors(folder / "david.safetensors")
        self.digest = tensors.digest
        if self.digest.hex() != manifest["sha256"]:
            fail(folder, "david.safetensors has another digest than the manifest says")
        if len(tensors.header) != len(manifest["groups"]):
            fail(folder, "david.safetensors holds other tensors than the groups of the manifest")
        read = self.hidden_group if self.set.hides else self.group
        self.weights = [read(tensors, group, entry) for group, entry in enumerate(manifest["groups"])]

    def hidden_group(self, tensors, group, entry):
        """HIDE-1: representatives of least magnitude in the file, residues here."""
        name, path = f"group.{group}", tensors.path
        documents.record(path, entry, {"rows": EXTENT, "cols": (1, hiding.WIDTHS[-1].n)})
        M, n = entry["rows"], entry["cols"]
        if tensors.shape(name) != [self.set.planes, M, n]:
            fail(path, f"{name} has another shape than the manifest says")
        flat = tensors.flat(name, "I8")
        planes = [flat[at:at + M * n] for at in range(0, len(flat), M * n)]
        for plane, p in zip(planes, self.set.primes, strict=True):
            if any(not -(p // 2) <= entry <= p // 2 for entry in plane):
                fail(path, f"{name}: an entry is beyond half of {p} (MODEL-7)")
        A = [[bytes(entry % p for entry in plane[at:at + n]) for at in range(0, M * n, n)]
             for plane, p in zip(planes, self.set.primes)]
        return hiding.Stacked(self.set, A, self.public)

    @staticmethod
    def group(tensors, group, entry):
        name = f"group.{group}"
        documents.record(tensors.path, entry, {"rows": EXTENT, "cols": EXTENT, "convolution": dict},
                         ["convolution"])
        if tensors.shape(name) != [entry["rows"], entry["cols"]]:
            fail(tensors.path, f"{name} has another shape than the manifest says")
        W_D = tensors.matrix(name, "I8")
        for row in W_D:
            require_range(tensors.path, name, row, parameters.WEIGHT_MAX)
        shape = convolution_of(tensors.path, entry, entry["rows"], entry["cols"])
        return convolution.Kernel(shape, W_D) if shape else linear.Dense(W_D)


MEMBER = {"tensor": str, "layer_type": str, "block": object, "m": EXTENT,
          "first_row": (0, parameters.MATRIX_MAX), "tensor_rows": EXTENT}


class Member:
    """The row scales of one matrix and, but of the hidden split, A and B."""

    def __init__(self, tensors, entry, n, own):
        path = tensors.path
        rank = {} if own.hides else {"rank": (0, parameters.MATRIX_MAX)}
        documents.record(path, entry, MEMBER | rank, ["first_row", "tensor_rows"])
        self.layer_type, self.block, self.m = entry["layer_type"], entry["block"], entry["m"]
        if self.block is not None:
            documents.require_integer(path, "block", self.block, 0, parameters.GROUPS_MAX)
        self.tensor = name = self.name(path, entry)
        self.row_scale = tensors.flat(name + ".row_scale", "F32")
        if tensors.shape(name + ".row_scale") != [self.m]:
            fail(path, f"{name}.row_scale: a shape that does not fit the plan")
        if not all(scale > 0 and math.isfinite(scale) for scale in self.row_scale):
            fail(path, f"{name}.row_scale: not positive")
        self.A = self.B = None
        if not own.hides:
            self.read_factors(tensors, entry["rank"], n)

    def read_factors(self, tensors, rank, n):
        path, name = tensors.path, self.tensor
        significands = tensors.matrix(name + ".A", "I16")
        exponents = tensors.flat(name + ".A_exponent", "I8")
        self.B = tensors.matrix(name + ".B", "I16")
        if tensors.shape(name + ".A") != [self.m, rank] \
                or tensors.shape(name + ".A_exponent") != [self.m] \
                or tensors.shape(name + ".B") != [rank, n]:
            fail(path, f"{name}: shapes that do not fit the plan")
        require_left_factor(path, name, significands, exponents)
        self.A = [[a << e for a in row] for row, e in zip(significands, exponents, strict=True)]
        for row in self.B:
            require_range(path, name + ".B", row, parameters.FACTOR_MAX)

    def integers(self, q, y):
        """LIN-2: W_int q, from David's part of it, which of the hidden split is all (HIDE-8)."""
        return y if self.A is None else linear.low_rank(self.A, self.B, q, y)

    @staticmethod
    def name(path, entry):
        """ATTN-8: a matrix that is some rows of a tensor says which."""
        if ("first_row" in entry) != ("tensor_rows" in entry):
            fail(path, "first_row and tensor_rows stand together")
        if "first_row" not in entry:
            return entry["tensor"]
        if entry["m"] >= entry["tensor_rows"] \
                or entry["first_row"] > entry["tensor_rows"] - entry["m"]:
            fail(path, "first_row: the rows are not inside the tensor")
        return f"{entry['tensor']}.rows_from_{entry['first_row']}"


class Group:
    def __init__(self, tensors, entry, own):
        path = tensors.path
        (self.hidden_record if own.hides else self.record)(path, entry)
        self.n, self.activation_norm = entry["n"], entry["activation_norm"]
        self.members = [Member(tensors, member, self.n, own) for member in entry["members"]]
        if not self.members or "convolution" in entry and len(self.members) != 1:
            fail(path, "a group has members, and a convolution is one alone")
        self.convolution = convolution_of(path, entry, self.members[0].m, self.n)

    @staticmethod
    def record(path, entry):
        norm = parameters.NORM_MIN, parameters.NORM_MAX
        documents.record(path, entry, {"n": EXTENT, "activation_norm": norm, "members": list,
                                       "convolution": dict}, ["convolution"])

    @staticmethod
    def hidden_record(path, entry):
        """HIDE-2, HIDE-7."""
        part = {"first_column": (0, parameters.MATRIX_MAX), "width": EXTENT}
        widest, norm = hiding.WIDTHS[-1].n, (1, hiding.WIDTHS[0].B)
        documents.record(path, entry, {"n": (1, widest), "activation_norm": norm, "members": list} | part,
                         part)
        if entry["activation_norm"] != hiding.width_of(entry["n"]).B:
            fail(path, "an activation norm that is not that of the width (HIDE-2)")
        if part.keys() & entry.keys():
            fail(path, f"this Charlie runs no matrix of more than {widest} columns (HIDE-7)")

    def shape(self):
        """(inputs, outputs) of a column."""
        if self.convolution:
            return self.convolution.inputs, self.convolution.outputs
        return self.n, sum(member.m for member in self.members)


def require_planned_ranks(path, plan, strategy, groups):
    """DECO-6, DECO-8: the ranks are those that the plan gives."""
    members = [(member, group.n) for group in groups for member in group.members]
    for triplet in plan:
        block, layer_type, K = triplet if isinstance(triplet, list) and len(triplet) == 3 \
            else fail(path, "a plan is a list of [block, layer_type, K]")
        if block is not None:
            documents.require_integer(path, "block", block, 0, parameters.GROUPS_MAX)
        if not isinstance(layer_type, str):
            fail(path, "a layer type is a string")
        documents.require_integer(path, "K", K, 0, 2**64 - 1)
    wanted = decomposition.ranks(plan, [(member.block, member.layer_type) for member, _ in members])
    for (member, n), K in zip(members, wanted):
        m = len(member.A)
        rank = (min(m, n) if K else 0) if strategy == "fms" else \
            decomposition.retained_rank(m, n, K)
        if len(member.B) != rank:
            fail(path, "a rank is not the one that the plan gives")


class Charlie:
    """OUT with both halves: Charlie computes cancellations from David's W_D."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        path = folder / "charlie/plan.json"
        self.set, plan = read_description(path, "slip-charlie", self.fields_of)
        self.config = documents.read(folder / "charlie/config.json")
        if not isinstance(self.config, dict):
            fail(folder, "config.json is not an object")
        self.network = self.config.get("model_type") == "cnn"
        self.require_kind(path, plan)
        self.tensors = SafeTensors(folder / "charlie/charlie.safetensors")
        self.groups = [Group(self.tensors, entry, self.set) for entry in plan["groups"]]
        if not self.set.hides:
            require_planned_ranks(path, plan["plan"], plan["strategy"], self.groups)
        require_digests(folder / "charlie")
        if self.network:
            require_layers(path, self.config, self.groups)
        self.digest = bytes.fromhex(plan["david_sha256"])
        self.weights = self.known_weights(folder, plan)
        check = read_check(folder / "charlie/check.safetensors", self.groups, self.set)
        self.secret = secret_of(check, self.groups, self.set)
        self.masks = functools.partial(masks_of, folder / "charlie/masks.safetensors", check, self)
        tokenizer = folder / "charlie/tokenizer.model"
        self.tokenizer = tokenizer if tokenizer.exists() else None

    @staticmethod
    def fields_of(own):
        fields = {"attention": str, "david_sha256": str}
        if not own.hides:
            fields |= {"strategy": str, "seed": str, "t": (parameters.T, parameters.T), "plan": list}
        return fields, ["attention", "seed"]

    def known_weights(self, folder, plan):
        """What Charlie knows of David's half: all of it, but of the hidden split its shapes alone."""
        if self.set.hides:
            return [linear.Columns(n, M + self.set.public_rows)
                    for n, M in (group.shape() for group in self.groups)]
        david = David(folder / "david")
        self.require_same_split(folder, plan, david)
        return david.weights

    def require_kind(self, path, plan):
        """What this Charlie runs, and DECO-10: a strategy that draws has a seed."""
        if not self.set.hides and plan["strategy"] not in STRATEGIES:
            fail(path, f"strategy: expected one of {', '.join(STRATEGIES)}")
        if ("seed" in plan) != (plan.get("strategy") in RANDOM_STRATEGIES):
            fail(path, "a seed belongs to the strategies that choose at random, and to no other")
        documents.require_digest(path, "david_sha256", plan["david_sha256"])
        if self.network != ("attention" not in plan):
            fail(path, "attention belongs to a language model, and to no network")
        if not self.network and (plan["attention"], self.config.get("model_type")) != \
                ("fused", "llama"):
            fail(path, "this Charlie runs convolutional networks, and the LLaMA family in the "
                       "one-round order")

    def require_same_split(self, folder, plan, david):
        if plan["david_sha256"] != david.digest.hex() \
                or plan["set"] != david.set.name \
                or len(self.groups) != len(david.weights):
            fail(folder, "the halves come from two splits")
        for group, davids in zip(self.groups, david.weights):
            encoding.modulus_bound(encoding.squares(davids.W_D), group.activation_norm,  # ENC-4
                                   ring.modulus(david.set.primes))
            if group.convolution != getattr(davids, "shape", None) \
                    or group.shape() != (davids.inputs, davids.outputs):
                fail(folder, "the halves have different shapes (CNN-6)")


def with_lattice_masks(groups, own):
    """{number: group} of those that have them (MASK-7)."""
    return {g: group for g, group in enumerate(groups) if own.lattice and not group.convolution}


def read_bytes_of(path, shapes):
    """{name: bytes} of a file with tensors of these names and shapes, and no other."""
    tensors = SafeTensors(path)
    if tensors.header.keys() != shapes.keys() or tensors.metadata is not None:
        fail(path, f"expected the tensors {', '.join(shapes)}, and no other")
    for name, shape in shapes.items():
        if tensors.shape(name) != shape:
            fail(path, f"{name}: expected the shape {shape}, found {tensors.shape(name)}")
    return {name: bytes(tensors.flat(name, "U8")) for name in shapes}


def read_check(path, groups, own):
    """MODEL-7: the secrets of both checks, and the digests of hints."""
    shapes = {"seed": [32]} | {f"group.{g}": [parameters.KAPPA, own.planes, group.n]
                               for g, group in enumerate(groups)}
    for g, group in with_lattice_masks(groups, own).items():
        chunks = -(-group.shape()[1] // parameters.HINT_ROWS)
        shapes |= {f"product.{g}": [group.n, 8], f"hint.{g}": [chunks, 32]}
        if own.hides:
            shapes[f"key.{g}"] = [32]
    check = read_bytes_of(path, shapes)
    for g in with_lattice_masks(groups, own):
        if any(entry >= parameters.PRODUCT_MODULUS for entry in integers(check[f"product.{g}"], 8)):
            fail(path, f"product.{g}: expected integers below 2^61 - 1")
    return check | {"path": path}


def integers(data, size):
    """Little-endian, of so many bytes each."""
    return [int.from_bytes(data[at:at + size], "little") for at in range(0, len(data), size)]


def masks_of(path, check, charlie, session_key, process_key):
    """What makes the masks of a session, and of its process."""
    own, groups = charlie.set, with_lattice_masks(charlie.groups, charlie.set)
    uniform = session.UniformMasks(own, session_key, charlie.weights)
    if not groups:
        return uniform
    public_seed, hints = read_hints(path, check, groups, own)
    given = (own, process_key, public_seed, check["seed"],
             lambda g, T: hint_of(hints[g], hiding.at_width(own, groups[g].n)),
             {g: group.shape()[1] for g, group in groups.items()},
             {g: integers(check[f"product.{g}"], 8) for g in groups})
    if own.hides:
        return session.HiddenMasks(*given, keys={g: check[f"key.{g}"] for g in groups})
    return session.MixedMasks(session.LatticeMasks(*given), uniform)


def hint_row(own):
    """MODEL-7: the shape of a row of a hint."""
    entries = own.lattice.d * own.lattice.N
    return [entries // 2, 11] if own.hides else [entries, own.planes]


def read_hints(path, check, groups, own):
    """MODEL-7: (the seed of T, the rows of each group with lattice masks as they are stored)."""
    shapes = {f"group.{g}": [group.shape()[1], *hint_row(own)] for g, group in groups.items()}
    data = read_bytes_of(path, {"seed": [32]} | shapes)
    chunk = parameters.HINT_ROWS * math.prod(hint_row(own))
    for g in groups:
        rows = data[f"group.{g}"]
        digests = b"".join(hashlib.sha256(data["seed"] + rows[at:at + chunk]).digest()
                           for at in range(0, len(rows), chunk))
        if digests != check[f"hint.{g}"]:
            fail(path, f"group.{g}: the digests in {check['path'].name} are of other rows")
    return data["seed"], {g: data[f"group.{g}"] for g in groups}


def hint_of(rows, own):
    """MODEL-7: H, of its rows as they are stored."""
    N, row_bytes, L = own.lattice.N, math.prod(hint_row(own)), ring.modulus(own.primes)
    entries_of = coarse_entries if own.hides else integers
    return [lattice.elements([own.lattice.tau * entry % L for entry in entries_of(
        rows[at:at + row_bytes], hint_row(own)[1])], N) for at in range(0, len(rows), row_bytes)]


def coarse_entries(data, size):
    """MODEL-7, HIDE-4: entries over 16, rounded; coefficients j and j + N/2 of an element stand together."""
    pairs, half = integers(data, size), hiding.HIDDEN.lattice.N // 2
    result = []
    for at in range(0, len(pairs), half):
        element = pairs[at:at + half]
        result += [pair % 2**44 for pair in element] + [pair >> 44 for pair in element]
    return [16 * (entry - 2**43) for entry in result]


def secret_of(check, groups, own):
    """The secrets of the integrity check."""
    path, kappa, h = check["path"], parameters.KAPPA, own.planes
    companions = [[check[f"group.{g}"][a * h * group.n:(a + 1) * h * group.n] for a in range(kappa)]
                  for g, group in enumerate(groups)]
    for g, companion in enumerate(companions):
        for a, column in enumerate(companion):
            found = ring.fault(column, own.primes)
            if found:
                fail(path, f"group.{g}: combination {a}, {found}")
    rows = max(sum(member.m for member in group.members) for group in groups) + own.public_rows
    return integrity.Secret(check["seed"], companions, rows, own.primes)


def require_layers(path, config, groups):
    """CNN-6: the groups are the convolutions and linear layers of config.json."""
    size = documents.record(path, config.get("input"),
                            {"height": EXTENT, "width": EXTENT, "channels": EXTENT})
    height, width, channels = size["height"], size["width"], size["channels"]
    if not isinstance(config.get("layers"), list):
        fail(path, "config.json: expected a list of layers")
    left = list(groups)
    for layer in config["layers"]:
        kind = layer.get("type") if isinstance(layer, dict) else None
        if not isinstance(kind, str) or kind not in LAYERS:
            fail(path, f"config.json: a layer is one of {', '.join(LAYERS)}")
        documents.record(path, layer, {"type": str} | LAYERS[kind], ["bias"])
        if kind == "relu":
            continue
        if layer["type"] == "linear":
            shape, found = (height * width * channels, layer["outputs"]), None
            height, width, channels = 1, 1, layer["outputs"]
        else:
            found = convolution.Shape(height, width, channels, *layer["kernel"],
                                      layer.get("filters", channels), layer["stride"],
                                      layer.get("padding", 0))
            shape = (found.inputs, found.outputs)
            height, width, channels = found.H_o, found.W_o, found.N
        if layer["type"] in ("linear", "convolution"):
            group = left.pop(0) if left else fail(path, "a layer of config.json without a group")
            if group.shape() != shape or group.convolution != found \
                    or [member.tensor for member in group.members] != [layer["tensor"]]:
                fail(path, "a group is not the layer of config.json")
    if left:
        fail(path, "a group that config.json does not have")
