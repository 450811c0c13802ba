"""The contracts of layouts, of any size: how many bytes a packed matrix has, and the portable layouts,
which are copies of the matrix.

How many bytes a layout takes is its backend's own affair. What is stated here is what the layouts of
layout.hpp and of the portable files say, as a number without bounds: no size below 2^24 makes it wrap."""

import terms as t
from machine import Refused
from spec import SPACE

EXTENT = (1 << 24) - 1  # the greatest of a matrix that contracts.hpp allows


def groups(v, of):
    """How many groups of so many, a power of 2, take v numbers."""
    return t.shr(t.add(v, of - 1, 64), of.bit_length() - 1, 64)


# {(backend, kernel): function of both extents -> two factors and a number, whose product it is}
BYTES = {
    ("portable", "packed_bytes"): lambda m, n: (m, n, 1),
    ("avx2", "packed_bytes"): lambda m, n: (groups(m, 16), groups(n, 2), 32),
    ("avx512", "packed_bytes"): lambda m, n: (groups(m, 64), groups(n, 4), 256),
    ("neon", "packed_bytes"): lambda m, n: (groups(m, 8), groups(n, 4), 32),
    ("portable", "combinations_bytes"): lambda n, planes: (groups(n, 64), planes, 512),
    ("portable", "right_bytes"): lambda k, n: (k, n, 2),
    ("avx512", "right_bytes"): lambda k, n: (groups(k, 8), groups(n, 128), 1536),
    ("portable", "left_bytes"): lambda m, k: (m, t.add(t.scale(k, 2, 64), 1, 64), 1),
    ("avx2", "left_bytes"): lambda m, k: (
        groups(m, 8), t.add(t.scale(groups(k, 2), 32, 64), 8, 64), 1),
    ("avx512", "left_bytes"): lambda m, k: (
        groups(m, 64), t.add(t.scale(groups(k, 2), 192, 64), 64, 64), 1),
}
EXTENTS = {"packed_bytes": "m n", "combinations_bytes": "n planes", "right_bytes": "k n", "left_bytes": "m k"}


def bytes_of(image, run, backend, kernel):
    """What a kernel of BYTES returns."""
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    extents = [sizes.symbol(name, 0, 7 if name == "planes" else EXTENT) for name in EXTENTS[kernel].split()]

    def conclude():
        *factors, number = BYTES[backend, kernel](*extents)
        expected = sizes.value(sizes.product_of(*factors)) * number
        run.outputs += 1
        if not machine.proved(sizes.value(machine.returned()) == expected):
            raise Refused(f"{kernel} differs from the layout")
    explorer.call(f"{SPACE}{backend}::{kernel}", extents, conclude)


def pack(image, run, backend):
    """W as it is."""
    copied(run, f"{SPACE}{backend}::pack", "m", "n", "w", 1)


def pack_right(image, run, backend):
    """B as it is."""
    copied(run, f"{SPACE}{backend}::pack_right", "k", "n", "b", 2)


def copied(run, function, rows, columns, name, size):
    """A matrix of elements of `size` bytes, to memory of as many."""
    machine, explorer = run.of_any_size()
    extents = [machine.sizes.symbol(extent, 0, EXTENT) for extent in (rows, columns)]
    length = t.scale(machine.sizes.product_of(*extents), size, 64)
    from_at = machine.input(name, length, size, [run.family(name, 8 * size)])
    element = machine.reader(from_at)
    to = machine.output("packed", length, size, lambda _, i: [element(0, i)],
                        lambda _, code, read: run.expect(code, read[0], 8 * size, "an element packed"),
                        alignment=64)
    explorer.call(function, [from_at, *extents, to])
