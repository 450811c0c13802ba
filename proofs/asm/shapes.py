"""The graph of a function's loops, and what the state in which a pass begins looks like (loops.py)."""

import z3

import terms as t
import totals
from carried import Chain, bytes_from
from machine import same
from sizes import Data
from totals import Total


# --- the graph of a function ---------------------------------------------------------------------

class Loop:
    """The instructions from which a jump back to `head` is reached without passing it; those of them
    that may leave it; how many functions deep it runs."""

    def __init__(self, head, body, leaving, calls=0):
        self.head, self.body, self.leaving, self.calls = head, body, leaving, calls


def successors(image, at):
    """Where an instruction may lead in its function, calls apart."""
    instruction, following = image.instructions[at].get(), image.following.get(at)
    if instruction.flow in ("return", "stop") or instruction.flow == "jump" and not instruction.target:
        return []
    if instruction.flow == "jump":
        return [instruction.target[0]]
    return [instruction.target[0], following] if instruction.flow == "branch" else [following]


def loops_of(image, entry):
    """{head: Loop} of what an entry reaches."""
    edges, order, stack = {}, {}, [entry]
    while stack:
        at = stack.pop()
        if at not in edges and at in image.instructions:
            edges[at], order[at] = successors(image, at), len(order)
            stack += edges[at]
    return {loop.head: loop for loop in nested(set(edges), edges, order)}


def nested(nodes, edges, order):
    """The loops that some instructions make up among themselves. Those that reach each other are a loop. Its
    head is the one that is reached first; where others are reached from outside too, what is done before the
    head is no pass. Without the head, there are the loops within."""
    found, stack = [], [nodes]
    while stack:
        for body in reaching_each_other(stack.pop(), edges):
            head = min(body, key=order.get)
            if len(body) > 1 or head in edges[head]:
                found.append(Loop(head, body, {at for at in body if any(to not in body for to in edges[at])}))
                stack.append(body - {head})
    return found


def reaching_each_other(nodes, edges):
    """Sets of nodes, together all of some: each is as large as it can be."""
    before, done, left = {}, [], set(nodes)
    for at in nodes:
        for to in edges[at]:
            before.setdefault(to, []).append(at)

    def walk(start, following, within):
        """The nodes that a node leads to, the last ones first."""
        seen, order, stack = set(), [], [(start, False)]
        while stack:
            at, is_done = stack.pop()
            if is_done:
                order.append(at)
            elif at not in seen:
                seen.add(at)
                stack += [(at, True), *((to, False) for to in following(at) if to in within)]
        return order
    while left:
        found = walk(next(iter(left)), lambda at: edges[at], left)
        left -= set(found)
        done += found
    sets, left = [], set(nodes)
    for start in reversed(done):
        if start in left:
            sets.append(set(walk(start, lambda at: before.get(at, ()), left)))
            left -= sets[-1]
    return sets


# --- what a pass changes -------------------------------------------------------------------------

class Affine:
    """A register or 8 bytes of the stack that begin as `first` and grow by `step` in their low `width`
    bits; above these are zeros. A step that is no number is a sum of sizes, of 64 bits."""

    def __init__(self, first, step, width):
        self.first, self.step, self.width = first, step, width

    def after(self, passes, sizes):
        grown = t.scale(t.extract(passes, 0, self.width), self.step, self.width) if t.is_int(
            self.step) else sizes.multiple(passes, self.step)
        return t.zero_extend(t.add(self.first, grown, self.width), self.width, 64)

    def is_like(self, other):
        return type(other) is Affine and self.width == other.width and same(self.step, other.step)


class Free:
    """A register that changes in another way: some number of at most `most`, of which bounds say more."""

    def __init__(self, number, most):
        self.number, self.most = number, most

    def is_one(self, v, state, sizes):
        """Whether a value is proved to be such a number."""
        return is_of_sizes(v, sizes) and sizes.holds(sizes.value(v) <= self.most, state.path)


class Within:
    """A register that holds data of which the contract says what loops keep: `fact`, a claim on 64 bits."""

    def __init__(self, run, fact):
        self.run, self.fact = run, fact
        self.variable = run.fresh(f"within[{len(run.facts)}]", 64, lambda v: [fact(v)])

    def is_kept(self, v):
        return self.run.holds(self.fact(t.term(v, 64)))


UNKNOWN = "unknown"


def growth(first, second):
    """The form of a value that changed."""
    for width in (64, 32):
        low = [t.extract(v, 0, width) for v in (first, second)]
        above = [t.extract(v, width, 64 - width) for v in (first, second)] if width < 64 else []
        step = t.sub(low[1], low[0], width)
        if all(t.is_int(v) and v == 0 for v in above) and (
                t.is_int(step) or width == 64 and is_size(step)):
            return Affine(low[0], step, width)
    return UNKNOWN


def is_size(v):
    """Whether a value is a sum of sizes, counters and pointers."""
    return all(key in t.SIZES for key in t.linear(v, 64)[0])


def same_cell(a, b):
    if a is b:
        return True
    if t.is_int(a) or t.is_int(b):
        return t.is_int(a) and t.is_int(b) and a == b
    return a[1] == b[1] and t.same(a[0], b[0])


def eight_bytes(memory, at):
    """The number that 8 bytes of memory are; None if one is missing."""
    cells = [memory.get(at + k) for k in range(8)]
    return None if any(cell is None for cell in cells) else t.from_cells(cells)


def changes(first, second):
    """{place: form} of what is not the same in two states: ("general", name), ("mask", name), ("vector",
    number, byte), ("stack", address) of 8 bytes or ("byte", address)."""
    return changes_of_registers(first, second) | changes_of_memory(first.memory, second.memory)


def changes_of_registers(first, second):
    forms = {("general", name): growth(v, second.general[name]) for name, v in first.general.items()
             if not same(v, second.general[name])}
    forms |= {("mask", name): UNKNOWN for name, v in first.masks.items()
              if not same(v, second.masks[name])}
    for number, (cells, others) in enumerate(zip(first.vectors, second.vectors)):
        if cells is not others:  # of a register that may hold anything there are none
            forms |= {("vector", number, k): UNKNOWN for k, cell in enumerate(cells)
                      if not others or not same_cell(cell, others[k])}
    return forms


def changes_of_memory(first, second):
    forms = {}
    for at in first:
        if at in second and same_cell(first[at], second[at]):
            continue
        begin = at // 8 * 8
        numbers = [eight_bytes(memory, begin) for memory in (first, second)]
        form = UNKNOWN if any(v is None for v in numbers) else growth(*numbers)
        forms[("byte", at) if form == UNKNOWN else ("stack", begin)] = form
    return forms


def common(forms):
    """What holds of all of several {place: form}."""
    together = {}
    for place in set().union(*forms):
        own = [form.get(place) for form in forms]
        alike = type(own[0]) is Affine and all(own[0].is_like(other) for other in own[1:])
        together[place] = own[0] if alike else UNKNOWN
    known = {place: form for place, form in together.items() if form != UNKNOWN}
    return known | loosened(place for place in together if place not in known)


def value_at(state, place):
    """What stands at the place of a form that grows; None if it is not all there."""
    return state.general[place[1]] if place[0] == "general" else eight_bytes(state.memory, place[1])


class Shape:
    """The state in which a pass of a loop begins: `first`, but for `forms`."""

    def __init__(self, first, forms, passes):
        self.first, self.forms, self.passes = first, forms, passes

    def state(self, machine, bounds):
        state = self.first.copy()
        state.path += bounds
        state.flags = machine.NO_FLAGS
        self.fill(machine, state)
        return state

    def fill(self, machine, state, is_lost=False):
        """Puts what the forms say into a state; `is_lost`: whether a vector of which nothing is known is as
        after a call."""
        unknown = {}
        for place, form in self.forms.items():
            if place[0] == "vector" and form == UNKNOWN:
                unknown.setdefault(place[1], []).append(place[2])
            else:
                self.put(machine, state, place, form)
        for number, own in unknown.items():
            if is_lost and len(own) == machine.VECTOR_SIZE and hasattr(state.vectors, "lose"):
                state.vectors.lose(number)
                continue
            v, cells = machine.unknown(f"zmm{number}", 512), list(state.vectors[number])
            for k in own:
                cells[k] = v, k
            state.vectors[number] = cells

    def put(self, machine, state, place, form):
        kind = place[0]
        if type(form) is Free:
            state.general[place[1]] = form.number
        elif type(form) is Within:
            state.general[place[1]] = form.variable
        elif type(form) is Chain:
            form.put(state, place, machine.sizes.symbols[t.ident(self.passes)])
        elif type(form) is Total:
            if form.byte == 0:
                form.put(state, place, self.passes)
        elif kind == "general":
            state.general[place[1]] = machine.unknown(place[1], 64) if form == UNKNOWN else (
                form.after(self.passes, machine.sizes))
        elif kind == "mask":
            state.masks[place[1]] = machine.unknown(place[1], 64)
        elif kind == "vector":
            cells = list(state.vectors[place[1]])
            cells[place[2]] = machine.unknown(f"zmm{place[1]}", 8), 0
            state.vectors[place[1]] = cells
        elif kind == "byte":
            state.memory.pop(place[1], None)
        else:
            for k, cell in enumerate(t.to_cells(form.after(self.passes, machine.sizes), 64)):
                state.memory[place[1] + k] = cell

    def broken(self, state, sizes):
        """The places at which a state is not that of the next pass."""
        wrong, following = [], t.add(self.passes, 1, 64)
        for place, form in self.forms.items():
            if type(form) is Free and not form.is_one(value_at(state, place), state, sizes):
                wrong.append(place)
            if type(form) is Within and not form.is_kept(value_at(state, place)):
                wrong.append(place)
            if type(form) is Affine and not is_equal(
                    value_at(state, place), form.after(following, sizes), state, sizes):
                wrong.append(place)
            if type(form) is Chain and form.byte == 0 and not form.is_kept(
                    state, place, sizes.symbols[t.ident(self.passes)]):
                wrong += bytes_from(place, form.chains.width // 8)
            if type(form) is Total and form.byte == 0 and not form.is_after(state, place, following, 1):
                wrong += totals.bytes_from(place, form.width)
        for place in changes_of_registers(self.first, state):
            if place not in self.forms:
                wrong.append(place)
        for at, cell in self.first.memory.items():
            if ("byte", at) not in self.forms and ("stack", at // 8 * 8) not in self.forms and not (
                    at in state.memory and same_cell(cell, state.memory[at])):
                wrong.append(("byte", at))
        return wrong

    def not_at_first(self):
        """The places that do not hold what they carry where the first pass begins."""
        return {place for place, form in self.forms.items()
                if type(form) is Within and not form.is_kept(value_at(self.first, place))
                or type(form) is Chain and form.byte == 0 and not form.is_after(self.first, place, 0)
                or type(form) is Total and form.byte == 0 and not form.is_after(
                    self.first, place, 0, -form.most)}

    def name_chains(self, state, sizes):
        """On a way out of the loop, what it carries is named as after the pass or before it."""
        number, told = sizes.symbols[t.ident(self.passes)], self.told(state, sizes)
        for place, form in self.forms.items():
            if type(form) is Chain and form.byte == 0:
                for passes in (number + 1, number):
                    if form.is_after(state, place, passes):
                        for k, at in enumerate(bytes_from(place, form.chains.width // 8)):
                            form.of_byte(k).put(state, at, passes)
                        break
            if type(form) is Total and form.byte == 0:
                for passes, more in (*told, (t.add(self.passes, 1, 64), 1), (self.passes, 0)):
                    if form.is_after(state, place, passes, more):
                        form.put(state, place, passes, more)
                        break

    def told(self, state, sizes):
        """[(the number of passes with the last, 1)] on a way out, if its last branch says which sum of sizes
        that is."""
        condition = state.branches[-1][0] if state.branches else None
        if z3.is_not(condition):
            condition = condition.arg(0)
        if condition is None or not z3.is_eq(condition) or not z3.is_bv(condition.arg(0)) or (
                condition.arg(0).size() != 64):
            return []
        difference = t.sub(*(part.as_long() if t.is_number(part) else part
                             for part in condition.children()), 64)
        sign = t.signed(t.linear(difference, 64)[0].get(t.ident(self.passes), (None, 0))[1], 64)
        rest = t.add(self.passes, t.scale(difference, -sign, 64), 64)
        return [(t.add(rest, 1, 64), 1)] if sign in (1, -1) and is_of_sizes(rest, sizes) else []

    def moving(self):
        """(term, first value, function(state) -> its value in the next pass) of the numbers that a pass
        changes and that places of parts may depend on (grids.py)."""
        return [(self.passes, 0, lambda _: t.add(self.passes, 1, 64))] + [
            (form.number, value_at(self.first, place), lambda state, place=place: value_at(state, place))
            for place, form in self.forms.items() if type(form) is Free]

    def at_first(self, sizes):
        """[(integer, its value where the first pass begins)]."""
        return self.integers(sizes, lambda first, _: first)

    def after(self, state, sizes):
        """The same where the next pass begins, after one that ends in a state."""
        return self.integers(sizes, lambda _, following: following(state))

    def integers(self, sizes, chosen):
        found = []
        for term, first, following in self.moving():
            v = chosen(first, following)
            v = sizes.total(v) if term is self.passes else sizes.value(v)
            found.append((sizes.symbols[t.ident(term)], z3.IntVal(v) if t.is_int(v) else v))
        return found

    def richer(self, forms):
        """The same, with sums at some places."""
        own = {at: form.of_byte(k) for place, form in forms.items()
               for k, at in enumerate(totals.bytes_from(place, form.width))}
        return Shape(self.first, self.forms | own, self.passes)

    def without(self, wrong):
        """The same, but that nothing is known of some places."""
        forms = {place: form for place, form in self.forms.items() if place not in wrong}
        return Shape(self.first, forms | loosened(wrong), self.passes)


def is_of_sizes(v, sizes):
    """Whether a value is a number that depends on sizes and counters, and on where no array lies."""
    try:
        sizes.value(v)
    except Data:
        return False
    return not sizes.symbols_in([v]) & sizes.pointers


def is_equal(a, b, state, sizes):
    """Whether two values are the same number in a state."""
    if a is None or same(a, b):
        return a is not None
    try:
        claim = sizes.value(a) == sizes.value(b)
    except Data:
        return False
    return sizes.holds(claim, state.path)


def loosened(places):
    """{place: UNKNOWN}, of 8 bytes of the stack each byte."""
    return {one: UNKNOWN for place in places for one in (
        [("byte", place[1] + k) for k in range(8)] if place[0] == "stack" else [place])}
