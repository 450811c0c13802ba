"""Artifacts on disk: the clause MODEL-7."""

import array
import hashlib
import json
import math
import pathlib
import struct

from . import convolution, decomposition, encoding, errors, linear, parameters

# dtype -> (typecode of array, bytes)
TYPES = {"I8": ("b", 1), "I16": ("h", 2), "I32": ("i", 4), "F32": ("f", 4)}


def fail(path, message):
    raise errors.BadInput("read artifact", "MODEL-7", f"{path}: {message}")


class SafeTensors:
    """A safetensors file: tensors by name, as flat lists with their shapes."""

    def __init__(self, path):
        self.path = path
        self.data = path.read_bytes()
        size = int.from_bytes(self.data[:8], "little")
        if len(self.data) < 8 or size > len(self.data) - 8:
            fail(path, "the header is cut")
        try:
            self.header = json.loads(self.data[8:8 + size])
        except ValueError:
            fail(path, "the header is not JSON")
        self.header.pop("__metadata__", None)
        self.begin = 8 + size

    @property
    def digest(self):
        return hashlib.sha256(self.data).digest()

    def shape(self, name):
        if name not in self.header:
            fail(self.path, f"no tensor {name}")
        return self.header[name]["shape"]

    def flat(self, name, dtype=None):
        """The elements of a tensor, row by row."""
        shape = self.shape(name)
        entry = self.header[name]
        if dtype is not None and entry["dtype"] != dtype:
            fail(self.path, f"{name}: expected {dtype}, found {entry['dtype']}")
        first, last = entry["data_offsets"]
        data = self.data[self.begin + first:self.begin + last]
        if entry["dtype"] in ("F16", "BF16"):
            return half_floats(entry["dtype"], data)
        if entry["dtype"] not in TYPES:
            fail(self.path, f"{name}: unknown type {entry['dtype']}")
        code, size = TYPES[entry["dtype"]]
        if len(data) != math.prod(shape) * size:
            fail(self.path, f"{name}: its bytes do not fit its shape")
        return array.array(code, data).tolist()

    def matrix(self, name, dtype=None):
        flat, (rows, cols) = self.flat(name, dtype), self.shape(name)
        return [flat[i * cols:(i + 1) * cols] for i in range(rows)]


def half_floats(dtype, data):
    count = len(data) // 2
    if dtype == "F16":
        return list(struct.unpack(f"<{count}e", data))
    words = struct.unpack(f"<{count}H", data)
    return [struct.unpack("<f", struct.pack("<I", word << 16))[0] for word in words]


def read_json(path, form):
    document = json.loads(path.read_text())
    if document.get("format") != form:
        fail(path, f"expected format {form}")
    if document.get("version") != parameters.VERSION:
        fail(path, f"version {document.get('version')}, this is {parameters.VERSION} (PARAM-4)")
    return document


def require_range(path, name, values, greatest):
    """PARAM-2: every range is symmetric."""
    if any(not -greatest <= value <= greatest for value in values):
        fail(path, f"{name}: a value is beyond {greatest} (PARAM-2)")


def require_digests(folder):
    """SHA256SUMS lists every other file of Charlie's folder, with its digest."""
    listed = {}
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, _, name = line.partition("  ")
        listed[name] = digest
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
             for path in folder.iterdir() if path.name != "SHA256SUMS"}
    for name in sorted(listed.keys() | found.keys()):
        if listed.get(name) != found.get(name):
            fail(folder / name, "is not the file that SHA256SUMS lists")


def convolution_of(path, entry, rows, cols):
    """CNN-6: the shape of a group that is a convolution, or None."""
    if "convolution" not in entry:
        return None
    found = entry["convolution"]
    names = ("height", "width", "channels", "kernel_height", "kernel_width", "stride", "padding")
    if found.keys() != set(names) or not all(type(found[name]) is int for name in names):
        fail(path, f"a convolution has the fields {', '.join(names)}")
    H, W, C, kH, kW, stride, padding = (found[name] for name in names)
    shape = convolution.Shape(H, W, C, kH, kW, rows, stride, padding)
    if min(H, W, C, kH, kW, stride) < 1 or not 0 <= padding < min(kH, kW) \
            or H + 2 * padding < kH or W + 2 * padding < kW or shape.patch != cols \
            or max(shape.inputs, shape.patch, shape.outputs, stride) > parameters.MATRIX_MAX:
        fail(path, "a convolution whose sizes do not fit (CNN-6, PARAM-3)")
    return shape


class David:
    """OUT/david: the stacked W_D, or the kernel matrix, of each group."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        if any((folder / name).exists() for name in ("charlie", "charlie.safetensors",
                                                     "plan.json")):
            fail(folder, "holds a part of Charlie's artifact")
        manifest = read_json(folder / "manifest.json", "slip-david")
        self.profile = parameters.BY_NAME[manifest["profile"]]
        tensors = SafeTensors(folder / "david.safetensors")
        self.digest = tensors.digest
        if self.digest.hex() != manifest["sha256"]:
            fail(folder, "david.safetensors has another digest than the manifest says")
        self.weights = []
        for group, entry in enumerate(manifest["groups"]):
            name = f"group.{group}"
            if entry.keys() - {"convolution"} != {"rows", "cols"}:
                fail(folder, f"{name}: expected the fields rows and cols")
            if tensors.shape(name) != [entry["rows"], entry["cols"]]:
                fail(folder, f"{name} has another shape than the manifest says")
            W_D = tensors.matrix(name, "I8")
            for row in W_D:
                require_range(tensors.path, name, row, parameters.WEIGHT_MAX)
            shape = convolution_of(folder, entry, entry["rows"], entry["cols"])
            self.weights.append(convolution.Kernel(shape, W_D) if shape else linear.Dense(W_D))


class Member:
    """A, B and the row scales of one matrix."""

    def __init__(self, tensors, entry):
        name = entry["tensor"]
        self.layer_type, self.block = entry["layer_type"], entry["block"]
        self.A = tensors.matrix(name + ".A", "I32")
        self.B = tensors.matrix(name + ".B", "I16")
        self.row_scale = tensors.flat(name + ".row_scale", "F32")
        for i, row in enumerate(self.A):
            if not decomposition.is_left_factor(row):
                fail(tensors.path, f"{name}.A: row {i} is not 2^e times entries of at most "
                                   f"{parameters.FACTOR_MAX}, e <= {parameters.ROW_EXPONENT_MAX} "
                                   "(PARAM-2)")
        for row in self.B:
            require_range(tensors.path, name + ".B", row, parameters.FACTOR_MAX)
        if len(self.A) != entry["m"] or len(self.row_scale) != entry["m"] \
                or len(self.B) != entry["rank"]:
            fail(tensors.path, f"{name}: shapes that do not fit the plan")
        if not all(scale > 0 and math.isfinite(scale) for scale in self.row_scale):
            fail(tensors.path, f"{name}.row_scale: not positive")


class Group:
    def __init__(self, tensors, entry):
        self.n, self.qa_max = entry["n"], entry["qa_max"]
        self.members = [Member(tensors, member) for member in entry["members"]]
        self.convolution = convolution_of(tensors.path, entry, len(self.members[0].A), self.n)


class Charlie:
    """OUT with both halves: Charlie computes cancellations and s from David's W_D."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        plan = read_json(folder / "charlie/plan.json", "slip-charlie")
        require_digests(folder / "charlie")
        self.config = json.loads((folder / "charlie/config.json").read_text())
        self.network = self.config["model_type"] == "cnn"
        if not self.network and (plan["attention"], self.config["model_type"]) != ("fused", "llama"):
            fail(folder, "this Charlie runs convolutional networks, and the LLaMA family in the "
                         "one-round order")
        self.tensors = SafeTensors(folder / "charlie/charlie.safetensors")
        self.groups = [Group(self.tensors, entry) for entry in plan["groups"]]
        self.david = David(folder / "david")
        if plan["david_sha256"] != self.david.digest.hex() or plan["t"] != parameters.T:
            fail(folder, "the halves come from two splits")
        for group, davids in zip(self.groups, self.david.weights, strict=True):
            norms = [sum(map(abs, row)) for row in davids.W_D]
            encoding.modulus_bound(norms, group.qa_max, self.david.profile.L)  # ENC-4
            if group.convolution != getattr(davids, "shape", None):
                fail(folder, "the halves disagree on a convolution (CNN-6)")
        tokenizer = folder / "charlie/tokenizer.model"
        self.tokenizer = tokenizer if tokenizer.exists() else None
