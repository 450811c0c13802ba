"""Convolutional networks on a session: the clauses CNN-5 and CNN-6. A batch is a list of images,
each its vec(); floats are rounded to binary32 after every operation."""

from . import convolution, encoding, errors


class Cnn:
    def __init__(self, artifact, charlie):
        self.groups, self.charlie = artifact.groups, charlie
        self.input, self.layers = artifact.config["input"], artifact.config["layers"]
        self.biases = [artifact.tensors.flat(layer["bias"]) if "bias" in layer else None
                       for layer in self.layers]

    def logits(self, images):
        """Of every image, through the groups as one batch."""
        height, width, channels = (self.input[key] for key in ("height", "width", "channels"))
        group, batch = 0, [list(map(float, image)) for image in images]
        for layer, bias in zip(self.layers, self.biases):
            if layer["type"] in ("convolution", "linear"):
                batch = [with_bias(outputs, bias) for outputs in self.apply(group, batch)]
                shape = self.groups[group].convolution
                if shape:
                    height, width, channels = shape.H_o, shape.W_o, shape.N
                group += 1
            elif layer["type"] == "relu":
                batch = [[max(value, 0.0) for value in image] for image in batch]
            else:
                windows = convolution.Shape(height, width, channels, *layer["kernel"], channels,
                                            layer["stride"], 0)
                batch = [pooled(layer["type"], windows, image) for image in batch]
                height, width = windows.H_o, windows.W_o
        return batch

    def apply(self, group_id, batch):
        """LIN-1 to LIN-4 on whole images: one exchange, one mask and one scale per image."""
        group, member = self.groups[group_id], self.groups[group_id].members[0]
        quantised = [encoding.quantise(image, group.activation_norm) for image in batch]
        y_D = self.charlie.apply(group_id, [q for q, _ in quantised])
        outputs = []
        for (q, scale), y in zip(quantised, y_D):
            columns, replies = [q], [y]
            if group.convolution:  # CNN-5: a patch is a column of the low-rank part
                columns = convolution.patches(group.convolution, q)
                replies = convolution.by_position(group.convolution, y)
            outputs.append([output for column, reply in zip(columns, replies)
                            for output in encoding.dequantise(
                                member.integers(column, reply), member.row_scale, scale)])
        return outputs


def with_bias(outputs, bias):
    """A number for each filter or output, at every position."""
    if bias is None:
        return outputs
    return [encoding.float32(y + bias[i % len(bias)]) for i, y in enumerate(outputs)]


def pooled(kind, windows, image):
    """The largest entry or the mean of each window, channel by channel."""
    result = []
    for i, j in windows.positions():
        entries = [image[index] for index in windows.window(i, j)]
        for channel in range(windows.C):
            own = entries[channel::windows.C]
            result.append(max(own) if kind == "max_pool" else mean(own))
    return result


def mean(values):
    total = 0.0
    for value in values:
        total = encoding.float32(total + value)
    return encoding.float32(total * encoding.float32(1 / len(values)))


def read_images(path, limit, height, width):
    """The first images of an IDX file of bytes, `limit` of them; all without one."""
    data = path.read_bytes()
    found = [int.from_bytes(data[at:at + 4], "big") for at in range(0, 16, 4)]
    size = height * width
    if found[0] != 0x803 or found[2:] != [height, width] or len(data) != 16 + found[1] * size:
        raise errors.BadInput("read images", "CNN-6",
                              f"{path}: is not an IDX file of {height} x {width} images of bytes")
    count = found[1] if limit is None else min(limit, found[1])
    return [data[16 + k * size:16 + (k + 1) * size] for k in range(count)]
