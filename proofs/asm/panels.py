"""The contract of `pack` where W stands in panels of rows, of any size: [panels][steps][rows][columns] bytes,
padded with zeros. A panel is proved on its own, and then that each panel is laid out once."""

import z3

import terms as t
from grids import Grid, Part
from layouts import EXTENT
from machine import Refused, same
from regions import claimed
from sizes import divided
from spec import SPACE

# Rows of W in a packed panel, and columns in its step.
PANELS = {"avx2": (16, 2), "avx512": (64, 4), "neon": (8, 4)}


class Bytes(Grid):
    """The bytes of a panel: as many columns as its steps have, and rows."""

    def __init__(self, machine, steps, rows, columns):
        super().__init__(machine, (t.scale(steps, columns, 64), rows))
        self.rows, self.columns = rows, columns

    def place(self, offset):
        """(step, row, column in the step) of a byte."""
        step, within = self.sizes.parted(offset, self.rows * self.columns)
        column = t.linear(within, 64)[1] % self.columns
        row = divided(t.sub(within, column, 64), self.columns)
        number = self.sizes.total(within)
        if row is None or not self.machine.proved(claimed(number >= 0), claimed(
                number < self.rows * self.columns)):
            raise Refused("a byte of a panel of which row and column are not known")
        return step, row, column

    def part(self, low, high):
        """Of bytes of one row in one step, or of whole rows."""
        (step, row, column), size = self.place(low), t.sub(high, low, 64)
        if not t.is_int(size) or column + size > self.columns and (column or size % self.columns):
            raise Refused("bytes of a panel that are no part of its rows")
        first, rows = t.add(t.scale(step, self.columns, 64), column, 64), max(size // self.columns, 1)
        return Part((first, row), (t.add(first, min(size, self.columns), 64), t.add(row, rows, 64)))


def panel(image, run, backend):
    """A panel of which W has some rows, at least one: the others, and the columns behind the last, are 0."""
    rows, columns = PANELS[backend]
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    own, n = sizes.symbol("rows", 1, rows), sizes.symbol("n", 1, EXTENT)
    steps = sizes.named_quotient(t.add(n, columns - 1, 64), columns.bit_length() - 1, "steps")
    w_at = machine.input("w", sizes.product_of(own, n), 1, [run.family("w", 8)])
    element = machine.reader(w_at)
    grid = Bytes(machine, steps, rows, columns)

    def check(_, code, index):
        step, r, column = grid.place(index)
        j = t.add(t.scale(step, columns, 64), column, 64)
        inside = z3.And(claimed(sizes.total(r) < sizes.total(own)), claimed(sizes.total(j) < sizes.total(n)))
        if machine.proved(inside):
            run.expect(code, element(0, t.add(sizes.multiple(r, n), j, 64)), 8, "a byte of a panel")
        elif machine.proved(z3.Not(inside)):
            run.expect(code, 0, 8, "a byte behind W")
        else:
            raise Refused("a byte of a panel of which it is not known whether W has it")
    packed = machine.output("packed", t.scale(steps, rows * columns, 64), 1, None, check)
    grid.region = machine.regions[t.ident(packed)]
    explorer.call(f"{SPACE}{backend}::pack_panel", [w_at, own, n, packed])


def pack(image, run, backend):
    """All panels, each by the contract of `panel`."""
    rows, columns = PANELS[backend]
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    m, n = (sizes.symbol(name, 0, EXTENT) for name in "mn")
    panels, steps = (sizes.named_quotient(t.add(v, unit - 1, 64), unit.bit_length() - 1, name)
                     for v, unit, name in ((m, rows, "panels"), (n, columns, "steps")))
    w_at = machine.input("w", sizes.product_of(m, n), 1, [run.family("w", 8)])
    grid = Grid(machine, (panels, steps))
    packed = machine.output("packed", t.scale(sizes.product_of(panels, steps), rows * columns, 64), 1, None,
                            refuse_store, alignment=64)
    grid.region = machine.regions[t.ident(packed)]

    def pack_panel(machine):
        machine.stores += 1
        if machine.scouting:
            return
        w, own, columns_of_w, to = (machine.general[name] for name in machine.ARGUMENTS[:4])
        number = sizes.row_of(t.sub(to, packed, 64), t.scale(steps, rows * columns, 64))
        if number is None or not all(map(same, (w, columns_of_w), (
                t.add(w_at, sizes.multiple(t.scale(number, rows, 64), n), 64), n))):
            raise Refused("a panel that is none of W's")
        if not machine.proved(claimed(sizes.total(n) >= 1)):
            raise Refused("a panel that may have no columns")
        check_rows(machine, t.scale(number, rows, 64), own, m, rows)
        grid.write(Part((number, 0), (t.add(number, 1, 64), steps)))
        run.outputs += 1
    machine.hooks[f"{SPACE}{backend}::pack_panel"] = pack_panel
    explorer.call(f"{SPACE}{backend}::pack", [w_at, m, n, packed])


def check_rows(machine, first, own, m, rows):
    """They are all that W has of a panel, and there are some."""
    at, number, all_rows = machine.sizes.total(first), machine.sizes.value(own), machine.sizes.total(m)
    if not machine.proved(*map(claimed, (at >= 0, number >= 1, number <= rows, at + number <= all_rows)),
                          z3.Or(claimed(number == rows), claimed(at + number == all_rows))):
        raise Refused("rows that are not proved to be all of a panel")


def refuse_store(*_):
    raise Refused("a store that is none of a panel's")
