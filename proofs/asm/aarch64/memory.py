"""Loads and stores. They need no alignment, but for what processor.py says of sp."""

import contextlib

import terms as t
from machine import Refused

from .scalar import instruction

# Bytes that a name says, and whether a sign is extended; else an operand says how many.
SIZES = {"b": (1, False), "h": (2, False), "sb": (1, True), "sh": (2, True), "sw": (4, True),
         "": (None, False)}


def size_of(operand):
    """Bytes of a register."""
    if operand.kind == "vector":
        return operand.size
    if operand.kind != "general":
        raise Refused(f"operand '{operand.text}'")
    return operand.width // 8


def put(m, operand, cells, is_signed=False):
    """What was loaded, into a register."""
    if operand.kind == "vector":
        return m.write_cells(operand, cells)
    v, width = t.from_cells(cells), 8 * len(cells)
    extend = t.sign_extend if is_signed else t.zero_extend
    return m.write(operand, extend(v, width, operand.width))


def cells_of(m, operand, size):
    """What is stored of a register."""
    if operand.kind == "vector":
        return m.cells(operand)[:size]
    return t.to_cells(t.extract(m.read(operand), 0, 8 * size), 8 * size)


@contextlib.contextmanager
def access(m, memory):
    """The address of an operand, whose register changes before the access or after it."""
    at = m.address(memory)
    m.index(memory, True)
    yield at
    m.index(memory, False)


@instruction(*(f"ld{u}r{suffix}" for u in ("", "u") for suffix in SIZES), of=None)
def load(m, i):
    operand, memory = i.operands
    size, is_signed = SIZES[i.name[2:].lstrip("u").removeprefix("r")]
    with access(m, memory) as at:
        cells = m.load(at, size or size_of(operand))
    put(m, operand, cells, is_signed)


@instruction(*(f"st{u}r{suffix}" for u in ("", "u") for suffix in ("b", "h", "")), of=None)
def store(m, i):
    operand, memory = i.operands
    size, _ = SIZES[i.name[2:].lstrip("u").removeprefix("r")]
    with access(m, memory) as at:
        m.store(at, cells_of(m, operand, size or size_of(operand)))


@instruction("ldp", "ldpsw", of=None)
def load_pair(m, i):
    first, second, memory = i.operands
    size = 4 if i.name == "ldpsw" else size_of(first)
    with access(m, memory) as at:
        cells = m.load(at, size), m.load(t.add(at, size, 64), size)
    for operand, own in zip((first, second), cells):
        put(m, operand, own, i.name == "ldpsw")


@instruction("stp", of=None)
def store_pair(m, i):
    first, second, memory = i.operands
    size = size_of(first)
    with access(m, memory) as at:
        m.store(at, cells_of(m, first, size))
        m.store(t.add(at, size, 64), cells_of(m, second, size))


@instruction("ld1", "st1", of=None)
def several(m, i):
    """Whole registers, one behind the other, or a lane of one."""
    operand, memory = i.operands
    own = operand.vectors if operand.kind == "vectors" else [operand]
    if any(one.kind != "vector" or one.place is not None and len(own) > 1 for one in own):
        raise Refused(f"operand '{operand.text}'")
    with access(m, memory) as at:
        for number, one in enumerate(own):
            where = t.add(at, number * one.size, 64)
            if i.name == "ld1":
                m.write_cells(one, m.load(where, one.size))
            else:
                m.store(where, m.cells(one))


@instruction("ld2", of=None)
def load_by_turns(m, i):
    """Each element to the next of two registers."""
    operand, memory = i.operands
    if operand.kind != "vectors" or len(operand.vectors) != 2 or any(
            one.kind != "vector" or one.place is not None for one in operand.vectors):
        raise Refused(f"operand '{operand.text}'")
    size, element = operand.vectors[0].size, operand.vectors[0].element
    with access(m, memory) as at:
        cells = m.load(at, size) + m.load(t.add(at, size, 64), size)
    for number, one in enumerate(operand.vectors):
        m.write_cells(one, [cell for first in range(number * element, 2 * size, 2 * element)
                            for cell in cells[first:first + element]])


@instruction("ld1r", of=None)
def load_repeated(m, i):
    operand, memory = i.operands
    with access(m, memory) as at:
        cells = m.load(at, operand.element)
    m.write_cells(operand, cells * operand.count)
