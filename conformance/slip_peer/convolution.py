"""Convolution of a masked image: the chapter convolution.md. A tensor is its vec(), the last
index fastest; a kernel is its N x (kH kW C) matrix."""

import dataclasses

from . import integrity, linear, ring


@dataclasses.dataclass(frozen=True)
class Shape:
    H: int
    W: int
    C: int
    kH: int
    kW: int
    N: int
    stride: int
    padding: int

    @property
    def inputs(self):
        return self.H * self.W * self.C

    @property
    def patch(self):
        return self.kH * self.kW * self.C

    @property
    def outputs(self):
        return self.H_o * self.W_o * self.N

    @property
    def H_o(self):
        return (self.H + 2 * self.padding - self.kH) // self.stride + 1

    @property
    def W_o(self):
        return (self.W + 2 * self.padding - self.kW) // self.stride + 1

    def window(self, i, j):
        """CNN-3: the index in vec(X) of each entry under the window at (i, j); None is padding."""
        for u in range(self.kH):
            for v in range(self.kW):
                row = i * self.stride + u - self.padding
                column = j * self.stride + v - self.padding
                inside = 0 <= row < self.H and 0 <= column < self.W
                for c in range(self.C):
                    yield (row * self.W + column) * self.C + c if inside else None

    def positions(self):
        return [(i, j) for i in range(self.H_o) for j in range(self.W_o)]


def patches(shape, x):
    """CNN-3: the columns of the patch matrix."""
    return [[0 if index is None else x[index] for index in shape.window(i, j)]
            for i, j in shape.positions()]


def convolve(shape, kernel, x):
    """CNN-1: vec(O) over Z."""
    return [linear.dot(row, patch) for patch in patches(shape, x) for row in kernel]


def dense_matrix(shape, kernel):
    """CNN-2."""
    rows = []
    for i, j in shape.positions():
        for kernel_row in kernel:
            row = [0] * shape.inputs
            for weight, index in zip(kernel_row, shape.window(i, j)):
                if index is not None:
                    row[index] = weight
            rows.append(row)
    return rows


class Kernel:
    """What David holds of a group that is a convolution: its kernel matrix. A column is a whole
    image (CNN-4)."""

    def __init__(self, shape, W_D):
        self.shape, self.W_D = shape, W_D
        self.inputs, self.outputs = shape.inputs, shape.outputs

    def product(self, columns, primes):
        for column in columns:
            linear.require_column(column, self.inputs, primes, "CNN-4")
        return [self.cancellation(column, primes) for column in columns]

    def cancellation(self, r, primes):
        return b"".join(bytes(y % p for y in convolve(self.shape, self.W_D, plane))
                        for p, plane in zip(primes, ring.planes(r, primes)))

    def checked(self, x_masked, y_masked, primes):
        """Each output position is a column of the check."""
        return ([patch for x in x_masked for patch in in_planes(
                    x, primes, lambda plane: patches(self.shape, plane))],
                [reply for y in y_masked for reply in in_planes(
                    y, primes, lambda plane: by_position(self.shape, plane))])


def in_planes(column, primes, parts):
    """The columns that `parts` makes of the planes of one column."""
    of_planes = [parts(plane) for plane in ring.planes(column, primes)]
    return [b"".join(map(bytes, own)) for own in zip(*of_planes)]


def by_position(shape, y):
    """vec(O) as its columns of N entries."""
    return [y[k:k + shape.N] for k in range(0, len(y), shape.N)]


def exchange(shape, kernel, q, r, primes):
    """CNN-4: the whole image is masked; the padding is not."""
    davids = Kernel(shape, kernel)
    x_masked = linear.mask(q, r, primes)
    y_masked, = davids.product([x_masked], primes)
    c = davids.cancellation(r, primes)
    return {"x_masked": x_masked, "y_masked": y_masked, "c": c,
            "y_D": linear.unmask(y_masked, c, primes)}


def check(shape, w, s, x_masked, y_masked, primes):
    """CNN-4."""
    integrity.check(w, s, *Kernel(shape, []).checked([x_masked], [y_masked], primes), primes)
