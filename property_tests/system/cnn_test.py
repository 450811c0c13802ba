"""Convolutional networks from ONNX files: David convolves the masked image, and no bit changes."""
# test: once

import json
import random
import struct
import unittest

from slip_system import SHARED, David, SystemTest, run

PUBLISHED = SHARED / "data/cnn"


def varint(value):
    encoded = b""
    while value >= 0x80:
        encoded, value = encoded + bytes([value & 0x7f | 0x80]), value >> 7
    return encoded + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def field(number_, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(number_ << 3 | 2) + varint(len(value)) + value


def initializer(name, shape, numbers):
    count = 1
    for extent in shape:
        count *= extent
    values = struct.pack(f"<{count}f", *(numbers.gauss(0, 0.3) for _ in range(count)))
    return field(5, b"".join(number(1, extent) for extent in shape) + number(2, 1) +
                 field(8, name) + field(9, values))


def integers(name, values):
    return field(5, field(1, name) + b"".join(number(8, value) for value in values))


def node(kind, inputs, output, attributes=b""):
    return field(1, b"".join(field(1, name) for name in inputs) + field(2, output) +
                 field(4, kind) + attributes)


def value(field_number, name, shape):
    dimensions = b"".join(field(1, number(1, extent)) for extent in shape)
    return field(field_number, field(1, name) + field(2, field(1, number(1, 1) +
                                                               field(2, dimensions))))


def write_network(path):
    """9 x 8 image; Conv to 6 (stride 2, padding 1), Relu, Conv to 6 (padding 1), Conv to 5, MaxPool,
    Flatten, Gemm to 4."""
    numbers = random.Random(1)
    graph = (initializer("conv1.weight", [6, 1, 3, 3], numbers) +
             initializer("conv1.bias", [6], numbers) +
             initializer("conv2.weight", [6, 6, 3, 3], numbers) +
             initializer("conv3.weight", [5, 6, 2, 2], numbers) +
             initializer("fc.weight", [10, 4], numbers) + initializer("fc.bias", [4], numbers) +
             value(11, "x", [1, 1, 9, 8]) + value(12, "y", [1, 4]) +
             node("Conv", ["x", "conv1.weight", "conv1.bias"], "a",
                  integers("strides", [2, 2]) + integers("pads", [1, 1, 1, 1])) +
             node("Relu", ["a"], "b") +
             node("Conv", ["b", "conv2.weight"], "c", integers("pads", [1, 1, 1, 1])) +
             node("Conv", ["c", "conv3.weight"], "d") +
             node("MaxPool", ["d"], "p",
                  integers("kernel_shape", [2, 2]) + integers("strides", [2, 2])) +
             node("Flatten", ["p"], "f") + node("Gemm", ["f", "fc.weight", "fc.bias"], "y"))
    path.write_bytes(number(1, 7) + field(7, graph))
    return path


def write_images(folder, count, height, width):
    numbers = random.Random(2)
    pixels = bytes(numbers.randrange(256) for _ in range(count * height * width))
    labels = bytes(numbers.randrange(4) for _ in range(count))
    (folder / "images").write_bytes(struct.pack(">I3I", 0x803, count, height, width) + pixels)
    (folder / "labels").write_bytes(struct.pack(">II", 0x801, count) + labels)
    return ["--images", folder / "images", "--labels", folder / "labels"]


class Network:
    """A network with images, and how its three engines are compared."""

    def measure(self, *model):
        out = self.slip("eval", *model, *self.images, "--json", "--logits").stdout
        report = json.loads(out)
        self.assertEqual(list(report), ["images", "correct", "accuracy", "classes", "logits"])
        self.assertEqual(report["accuracy"], report["correct"] / report["images"])
        return report

    def compare(self):
        """Hybrid, in process and over TLS, against unsplit; returns what unsplit says."""
        artifact, tls = self.folder / "artifact", self.folder / "tls"
        self.slip("split", "--model", self.network, *self.plan, "--out", artifact)
        self.slip("keys", "--out", tls)
        unsplit = self.measure("--artifact", artifact, "--engine", "unsplit")
        hybrid = ["--artifact", artifact, "--engine", "hybrid"]
        self.assertEqual(self.measure(*hybrid), unsplit)
        with David(artifact / "david", tls / "david") as david:
            remote = self.measure(*hybrid, "--david", david.endpoint, "--tls", tls / "charlie")
        self.assertEqual(remote, unsplit)
        return unsplit


class GeneratedNetwork(Network, SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.network = write_network(cls.folder / "net.onnx")
        cls.images = write_images(cls.folder, 150, 9, 8)
        (cls.folder / "plan.json").write_text('[[0, "conv", 2], [3, "linear", 1]]')
        cls.plan = ["--plan", cls.folder / "plan.json"]

    def test_CNN_6_LIN_4_hybrid_equals_unsplit(self):
        self.assertEqual(self.compare()["images"], 150)

    def test_INTEG_6_a_dishonest_david_is_rejected(self):
        artifact, tls = self.folder / "rejected", self.folder / "tls2"
        self.slip("split", "--model", self.network, *self.plan, "--out", artifact)
        self.slip("keys", "--out", tls)
        with David(artifact / "david", tls / "david", "--misbehave", "flip") as david:
            result = self.slip("eval", "--artifact", artifact, "--engine", "hybrid", "--david",
                               david.endpoint, "--tls", tls / "charlie", *self.images, status=1,
                               says=["integrity"])
            self.assertEqual(result.stdout, "")

    def test_CNN_6_inspect_shows_the_convolutions_and_a_plan_without_a_layer_has_rank_0(self):
        artifact = self.folder / "inspected"
        self.slip("split", "--model", self.network, *self.plan, "--out", artifact)
        report = json.loads(self.slip("inspect", "--artifact", artifact, "--json").stdout)
        self.assertEqual([(layer["tensor"], layer["layer_type"], layer["block"], layer["m"],
                           layer["n"], layer["rank"]) for layer in report["layers"]],
                         [("conv1", "conv", 0, 6, 9, 2), ("conv2", "conv", 1, 6, 54, 0),
                          ("conv3", "conv", 2, 5, 24, 0), ("fc", "linear", 3, 4, 10, 1)])
        self.assertEqual(report["layers"][0]["convolution"],
                         {"image": [9, 8, 1], "kernel": [3, 3], "stride": 2, "padding": 1,
                          "positions": 20})
        self.assertIsNone(report["layers"][3]["convolution"])
        self.assertEqual(report["david_multiplications_per_token"],
                         20 * 6 * 9 + 20 * 6 * 54 + 12 * 5 * 24 + 4 * 10)
        manifest = json.loads((artifact / "david/manifest.json").read_text())
        self.assertNotIn("rank", json.dumps(manifest))

    def test_CONV_4_what_does_not_fit_is_refused(self):
        artifact = self.folder / "refused"
        self.slip("split", "--model", self.network, "--rank", "1", "--out", artifact)
        unsplit = ["--artifact", artifact, "--engine", "unsplit"]
        self.refused("generate", *unsplit, "--ids", "1", "--max-tokens", "1",
                     says=["convolutional network"])
        self.refused("forward", *unsplit, "--ids", "1", says=["convolutional network"])
        self.refused("eval", *unsplit, "--images", self.images[1], says=["--labels"])
        self.refused("eval", *unsplit, *self.images, "--text", "t", says=["--text", "--images"])
        self.refused("eval", *unsplit, "--text", self.network, says=["convolutional network"])
        self.refused("eval", *unsplit, "--images", self.network, "--labels", self.images[3],
                     says=["net.onnx", "IDX"])
        other = self.folder / "other"
        other.mkdir()
        self.refused("eval", *unsplit, *write_images(other, 2, 8, 9),
                     says=["8 x 9 x 1", "9 x 8 x 1"])
        self.refused("eval", *unsplit, *self.images[:2], "--labels", other / "labels",
                     says=["2 labels", "150 images"])
        self.refused("split", "--model", self.network, "--out", self.folder / "o",
                     says=[str(self.network), "cannot be hidden", "a plan or a rank"])
        split = ["split", "--model", self.network, "--rank", "1"]
        self.refused(*split, "--out", self.folder / "o", "--attention", "paper",
                     says=["--attention", "convolutional network"])
        dilated = number(1, 7) + field(7, initializer("K", [1, 1, 2, 2], random.Random(3)) +
                                       value(11, "x", [1, 1, 9, 8]) + value(12, "y", [1, 1]) +
                                       node("Conv", ["x", "K"], "y",
                                            integers("dilations", [2, 2])))
        (self.folder / "dilated.onnx").write_bytes(dilated)
        self.refused("split", "--model", self.folder / "dilated.onnx", "--rank", "1", "--out",
                     self.folder / "o", says=["dilated.onnx", "Conv", "no dilation"])
        self.assertFalse((self.folder / "o").exists())


@unittest.skipUnless(PUBLISHED.exists(), f"the published network is absent: {PUBLISHED}")
class PublishedNetwork(Network, SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.network = PUBLISHED / "mnist.onnx"
        cls.images = ["--images", PUBLISHED / "mnist-1000-images.idx3-ubyte",
                      "--labels", PUBLISHED / "mnist-1000-labels.idx1-ubyte"]
        cls.plan = ["--rank", "2"]

    def test_CNN_6_LIN_4_as_good_as_the_floats(self):
        report = self.compare()
        in_float = self.measure("--model", self.network, "--engine", "float")
        self.assertEqual(report["images"], 1000)
        self.assertGreaterEqual(report["accuracy"], 0.98)
        others = sum(a != b for a, b in zip(report["classes"], in_float["classes"]))
        self.assertLessEqual(others, 2)

    def test_limit(self):
        out = run("slip", "eval", "--model", self.network, "--engine", "float", *self.images,
                  "--limit", "7", "--json").stdout
        report = json.loads(out)
        self.assertEqual((report["images"], len(report["classes"])), (7, 7))
        self.assertNotIn("logits", report)


if __name__ == "__main__":
    unittest.main()
