"""The transforms of small integers (optimized/masks/contracts.hpp), of any number of elements or rows: what a
group of them is, one element in each lane, is proved for each number of lanes that have one, and then that
every group is made once and in its place."""

import functools
import itertools
import os

import z3

import ring
import terms as t
from grids import Grid, Part
from machine import Refused, same
from masks import (DEGREE, EXTENT, LANES, MOST_ELEMENTS, POINTS, SPACE, small_values, symbol, transform_of)
from regions import Chunk, claimed
from sizes import divided

DOUBLE = 8


def counts(run, backend):
    """How many lanes of a group have an element: one and all; with SLIP_FULL each number."""
    if "count" in run.fixed:
        return [run.fixed["count"]]
    lanes = LANES[backend]
    return range(1, lanes + 1) if "SLIP_FULL" in os.environ else (1, lanes)


class Group:
    """`count` elements of any content, stride_of(elements) bytes from one to the next; `elements`: at least
    and at most so many."""

    def __init__(self, run, backend, count, stride_of, elements):
        self.run, self.lanes = run, LANES[backend]
        self.machine, self.explorer = run.of_any_size()
        self.machine.words_apart = True
        least, most = elements
        self.elements = least if least == most else self.machine.sizes.symbol("elements", least, most)
        self.roots_at, self.transform = transform_of(run, backend)
        self.small_at = self.input(count, stride_of(self.elements))
        self.x_at = run.room(2 * DOUBLE * self.lanes * POINTS, 64)
        self.values = [small_values(self.transform, self.element(lane)) for lane in range(count)]
        nothing = self.transform.values([ring.Complex(0, 0)] * POINTS)
        self.values += [nothing] * (self.lanes - count)

    def input(self, count, stride):
        begin = [t.scale(stride, lane, 64) for lane in range(count)]
        chunks = [Chunk(first, t.add(first, DEGREE, 64), 1, family=self.run.family(f"small_{lane}", 8))
                  for lane, first in enumerate(begin)]
        return self.machine.region("small", chunks[-1].end, 1, chunks)

    def element(self, lane):
        """The coefficients of a lane's element."""
        region = self.machine.regions[t.ident(self.small_at)]
        chunk = region.chunks[lane]
        return [self.machine.element(region, chunk, t.add(chunk.begin, j, 64)) for j in range(DEGREE)]

    def output(self, name, numbers, stride, value, alignment):
        """Room of so many doubles for each point, `stride` doubles from one to the next; value(point, number
        of the double): what stands there."""
        begin = [t.scale(stride, DOUBLE * k, 64) for k in range(POINTS)]

        def check(k, code, index):
            number = t.sub(index, divided(begin[k], DOUBLE), 64)
            self.run.expect_same(code, value(k, number), f"double {number} of point {k}")
        chunks = [Chunk(first, t.add(first, DOUBLE * numbers, 64), DOUBLE, check=functools.partial(check, k))
                  for k, first in enumerate(begin)]
        return self.machine.region(name, chunks[-1].end, DOUBLE, chunks, alignment)

    def call(self, backend, function, count, out_at):
        self.explorer.call(symbol(backend, function), [
            self.roots_at, self.small_at, self.elements, count, self.x_at, out_at])


def transform_secret_group(image, run, backend):
    """What transform_secret_group leaves of each element in its own place."""
    for count in counts(run, backend):
        group = Group(run, backend, count, lambda _: DEGREE, (count, EXTENT))
        out_at = group.output("spectrum", 2 * count, t.scale(group.elements, 2, 64),
                              lambda k, number, group=group: group.values[number // 2][k][number % 2], DOUBLE)
        group.call(backend, "transform_secret_group", count, out_at)


def transform_small_group(image, run, backend):
    """HIDE-4: what transform_small_group leaves of one element of each row; in lanes behind the last row the
    values of 0. Rows of one element lie without gaps, which compilers know."""
    lanes = LANES[backend]
    for count, elements in itertools.product(counts(run, backend), ((1, 1), (2, EXTENT))):
        group = Group(run, backend, count, lambda elements: t.scale(elements, DEGREE, 64), elements)
        out_at = group.output("out", 2 * lanes, t.scale(group.elements, 2 * lanes, 64),
                              lambda k, number, group=group: group.values[number % lanes][k][number // lanes],
                              DOUBLE * lanes)
        group.call(backend, "transform_small_group", count, out_at)


# --- all groups -----------------------------------------------------------------------------------

def room(run, backend):
    """Bytes of the workspace of one element; that of more has no fewer (masks.workspace_bytes)."""
    run.machine.call(f"{SPACE}Places<{SPACE}{backend}::Lanes>::bytes", [1, 1])
    return run.machine.returned()


class Groups:
    """`number` elements or rows, of which each group is made by a function that is proved above. Of what that
    leaves in the workspace nothing is known."""

    def __init__(self, run, backend, name, room):
        self.run, self.lanes = run, LANES[backend]
        self.machine, self.explorer = run.of_any_size()
        self.sizes = self.machine.sizes
        self.number = self.sizes.symbol(name, 0, EXTENT)
        self.roots_at = run.fresh("roots", 64)
        self.workspace_at, self.room = run.place(room, 64), room

    def output(self, name, length, extents, alignment):
        """Room that no other stores go to than those of groups."""
        chunk = Chunk(0, length, DOUBLE, check=refuse_store)
        out_at = self.machine.region(name, length, DOUBLE, [chunk], alignment)
        grid = Grid(self.machine, extents)
        grid.region = self.machine.regions[t.ident(out_at)]
        return out_at, grid

    def group(self, count, first):
        """That a group of so many begins at an element: whole, or what is left."""
        first, count, number = (self.sizes.total(v) for v in (first, count, self.number))
        left = number - first
        if not self.machine.proved(claimed(first >= 0), claimed(left >= 1), claimed(z3.Or(
                z3.And(count == self.lanes, left >= self.lanes), z3.And(count == left, left <= self.lanes)))):
            raise Refused("a group of another number of elements")

    def arguments(self, machine):
        """(elements, how many there are, lanes, where to) of a call with these roots and room."""
        roots, small, elements, count, x, out = (machine.general[name] for name in machine.ARGUMENTS[:6])
        if not same(roots, self.roots_at):
            raise Refused("other roots")
        most = self.room - 2 * DOUBLE * self.lanes * POINTS
        if not t.is_int(x) or not 0 <= x - self.workspace_at <= most or (x - self.workspace_at) % 64:
            raise Refused("no room in the workspace")
        return small, elements, count, out


def refuse_store(*_):
    raise Refused("a store to the output that is none of a group's")


def transform_secret(image, run, backend):
    """All elements, each once, from small + 256 first to spectrum + 16 first."""
    groups = Groups(run, backend, "elements", room(run, backend))
    machine, number = groups.machine, groups.number
    small_at = run.fresh("small", 64)
    spectrum_at, grid = groups.output("spectrum", t.scale(number, 2 * POINTS * DOUBLE, 64), (number,), DOUBLE)

    def group(machine):
        machine.stores += 1
        if machine.scouting:
            return
        small, elements, count, out = groups.arguments(machine)
        first = divided(t.sub(out, spectrum_at, 64), 2 * DOUBLE)
        if first is None or not same(elements, number) or not same(
                small, t.add(small_at, t.scale(first, DEGREE, 64), 64)):
            raise Refused("other elements, or not in their place")
        groups.group(count, first)
        grid.write(Part((first,), (t.add(first, count, 64),)))
        run.outputs += 1
    machine.hooks[symbol(backend, "transform_secret_group")] = group
    groups.explorer.call(symbol(backend, "transform_secret_elements"), [
        groups.roots_at, small_at, number, groups.workspace_at, spectrum_at])


def transform_small_matrix(image, run, backend):
    """Each element of each group of rows once, of any number of rows and every number of elements."""
    size = room(run, backend)
    for elements in range(MOST_ELEMENTS + 1):
        transform_rows(run, backend, elements, size)


def transform_rows(run, backend, elements, room_of_one):
    groups = Groups(run, backend, "rows", room_of_one)
    machine, rows, lanes = groups.machine, groups.number, groups.lanes
    number = groups.sizes.named_quotient(t.add(rows, lanes - 1, 64), lanes.bit_length() - 1, "groups")
    small_at, place = run.fresh("small", 64), 2 * lanes * DOUBLE  # bytes of one number of each lane
    size = POINTS * elements * place
    matrix_at, grid = groups.output("matrix", t.scale(number, size, 64), (number, elements), 64)

    def group(machine):
        machine.stores += 1
        if machine.scouting:
            return
        small, own, count, out = groups.arguments(machine)
        at, l = groups.sizes.parted(t.sub(out, matrix_at, 64), size)
        l = divided(l, place)
        if not t.is_int(l) or not 0 <= l < elements or not same(own, elements):
            raise Refused("no element's place in a group")
        first = t.scale(at, lanes, 64)
        element = t.add(t.scale(first, elements, 64), l, 64)
        if not same(small, t.add(small_at, t.scale(element, DEGREE, 64), 64)):
            raise Refused("another element than that of the place")
        groups.group(count, first)
        grid.write(Part((at, l), (t.add(at, 1, 64), l + 1)))
        run.outputs += 1
    machine.hooks[symbol(backend, "transform_small_group")] = group
    groups.explorer.call(symbol(backend, "transform_small_rows"), [
        groups.roots_at, small_at, rows, elements, groups.workspace_at, matrix_at])
