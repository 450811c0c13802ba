"""What loops carry from pass to pass, where the contract defines it by a recurrence.

A contract speaks of some chains: each begins as `first`, and its step k makes of what it was before and of
one element of an array what it is after k + 1 steps. A chain after k steps is a variable, and the same
integer k gives the same variable. Of a value of the code it is found out which chain it is, and after how
many steps: it must be a step of such a value with just the element that the contract names. So a loop that
takes steps has the invariant that where pass i begins a register holds a chain after so many steps, a
number that depends on i (loops.py); it is guessed from a few passes and proved like any other.

A lane mask excludes some elements, which are 0 then: a step with 0 must not change the chain, and counts
only if the mask has the lane."""

import z3

import terms as t
from machine import Refused


class Chain:
    """A form of as many bytes as a chain has, of which it is one: where pass i begins, a chain after the
    steps that it takes in first + step i elements."""

    def __init__(self, chains, number, first, step, byte):
        self.chains, self.number, self.first, self.step, self.byte = chains, number, first, step, byte

    def after(self, passes):
        """The value after so many passes, an integer."""
        return self.chains.at(self.number, self.steps(passes))

    def steps(self, passes):
        return self.chains.taken(self.number, self.first + self.step * passes)

    def of_byte(self, byte):
        return Chain(self.chains, self.number, self.first, self.step, byte)

    def put(self, state, place, passes):
        """Writes the byte to its place."""
        cell = t.to_cells(self.after(passes), self.chains.width)[self.byte]
        if place[0] == "byte":
            state.memory[place[1]] = cell
        else:
            cells = list(state.vectors[place[1]])
            cells[place[2]] = cell
            state.vectors[place[1]] = cells

    def is_after(self, state, place, passes):
        """Whether bytes are what the form says after so many passes."""
        v, self.chains.machine.path = value_at(state, place, self.chains.width // 8), state.path
        if v is None or self.chains.is_first(v):
            return v is not None and self.chains.machine.proved(self.steps(passes) == 0)
        known = self.chains.found(v)
        return known is not None and known[0] == self.number and self.chains.machine.proved(
            known[1] == self.steps(passes))

    def is_kept(self, state, place, passes):
        return self.is_after(state, place, passes + 1)


class Chains:
    """`count` chains of `width` bits. `step(before, element)`, which may take elements of `others`, arrays,
    too; `element(number, k)`: the index of the element that step k of a chain takes, in the array at
    `pointer`; `taken(number, done)`: how many steps it has taken
    after `done` elements, from the first on; both of integers. `whole`: how many elements there are."""

    are_deep = False  # whether loops carry some that have others inside

    def __init__(self, machine, pointer, count, first, step, element, taken, whole, width=64,
                 others=()):
        self.machine, self.region, self.count = machine, machine.regions[t.ident(pointer)], count
        self.width, self.others = width, [machine.regions[t.ident(other)] for other in others]
        self.first, self.step, self.element = first, step, element
        self.taken, self.whole = taken, whole
        self.values, self.forms, self.kept = {}, {}, []
        self.known = {}  # ids of a value and of the facts of a path -> what was found of it
        machine.chains = self

    def at(self, number, steps):
        """A chain after so many steps."""
        steps = steps if t.is_int(steps) else z3.simplify(steps)
        steps = steps.as_long() if z3.is_int_value(steps) else steps
        if t.is_int(steps) and steps == 0:
            return self.first
        key = number, steps if t.is_int(steps) else ("integer", steps.get_id())
        if key not in self.values:
            v = self.machine.unknown(f"chain[{number}]", self.width)
            self.values[key], self.forms[t.ident(v)] = v, (number, steps)
            self.kept.append(steps)
            self.mark(v)
        return self.values[key]

    def mark(self, v):
        """A sum of floats from +0 on is never -0 (floats.add)."""
        t.POSITIVE[t.keep(v)] = v

    def found(self, v):
        """(which chain a value is, after how many steps); None of others, and of `first`, which all are."""
        if t.is_int(v) or t.is_number(v):
            return None
        if t.ident(v) in self.forms:
            return self.forms[t.ident(v)]
        key = t.ident(v), *(fact.get_id() for fact in self.machine.path)
        if key not in self.known:
            self.kept += self.machine.path  # whose ids so stay their own
            self.known[key] = self.last_step(v)
        return self.known[key]

    def last_step(self, v):
        """The same of a value that is no variable."""
        variables = self.machine.run.variables_of(v)
        own = [one for one in variables if t.ident(one) in self.region.places]
        others = [one for one in variables if t.ident(one) not in self.region.places and not any(
            t.ident(one) in other.places for other in self.others)]
        if len(others) > 1 or any(t.ident(one) not in self.forms for one in others):
            return None
        for before in t.parts_of(v) if own else ():
            before = before.as_long() if t.is_number(before) else before
            base = None if t.is_int(before) else self.found(before)
            for one in own if base or t.is_int(before) and before == self.first else ():
                if t.term(self.step(before, one), self.width).eq(v):
                    return self.after_step(base, one, before)
        return None

    def after_step(self, base, one, before):
        """The same of a step with an element."""
        index, guard = self.region.places[t.ident(one)]
        place = self.machine.sizes.total(index)
        for number, steps in [base] if base else [(number, 0) for number in range(self.count)]:
            if self.machine.proved(place == self.element(number, steps)):
                if guard is None:
                    return number, steps + 1
                if self.is_kept(before):
                    return number, z3.If(self.machine.guards[t.ident(guard)], steps + 1, steps)
        return None

    def is_kept(self, before):
        after = self.step(before, 0)
        return t.term(after, self.width).eq(t.term(before, self.width))

    def is_first(self, v):
        return t.is_int(v) and v == self.first

    def is_whole(self, known):
        """Whether what was found of a value is a chain after all elements."""
        if known is None:
            return False
        steps, taken = known[1], self.taken(known[0], self.whole)
        return z3.is_expr(steps) and z3.is_expr(taken) and z3.simplify(taken).eq(steps) or (
            self.machine.proved(steps == taken))

    def named(self, v):
        """The same value; that of a chain after all elements as a variable, whatever it was made from."""
        known = self.found(v)
        return self.at(known[0], self.taken(known[0], self.whole)) if self.is_whole(known) else v

    def concluded(self, code, numbers=None):
        """What the code has of each chain, or of those with these numbers, after all elements: terms in
        `code`, of which that is proved."""
        numbers = range(self.count) if numbers is None else numbers
        lanes, stack, seen = {}, [code], set()
        while stack:
            node = stack.pop()
            if t.is_int(node) or t.ident(node) in seen:
                continue
            seen.add(t.ident(node))
            known = self.found(node) if z3.is_bv(node) and t.width_of(node) == self.width else None
            if known is not None and known[0] in numbers and self.is_whole(known):
                lanes[known[0]] = node
            else:
                stack += t.parts_of(node)
        for number in set(numbers) - set(lanes):
            if not self.machine.proved(self.taken(number, self.whole) == 0):
                raise Refused("a sum that is not the contract's, or not of all elements")
            lanes[number] = self.first
        return [lanes[number] for number in numbers]

    def terms_in(self, state):
        """(a term, its variables) of all in a state that chains are in."""
        cells = {t.ident(cell[0]): cell[0] for cells in (*state.vectors, state.memory.values())
                 for cell in cells if not t.is_int(cell)}
        for term in (*cells.values(), *(v for v in state.general.values() if not t.is_int(v))):
            variables = self.machine.run.variables_of(term)
            if any(t.ident(v) in self.forms for v in variables):
                yield term, variables

    def totals(self, state):
        """The ids of what was made from several chains."""
        return frozenset(t.ident(term) for term, variables in self.terms_in(state)
                         if sum(t.ident(v) in self.forms for v in variables) > 1)

    def integers(self, state):
        """The ids of the sizes and counters on which the chains in a state depend."""
        found = set()
        for v in (v for _, variables in self.terms_in(state) for v in variables):
            if t.ident(v) in self.region.places:
                found |= self.machine.sizes.symbols_in([self.region.places[t.ident(v)][0]])
            steps = self.forms.get(t.ident(v), (0, 0))[1]
            found |= frozenset() if t.is_int(steps) else self.machine.sizes.bases_of(steps)
        return found


# --- loops ---------------------------------------------------------------------------------------

REHEARSED = 8  # passes from which it is guessed what a loop carries


def cells_at(state, place, size):
    """The bytes that begin at the place of a byte; None if they are not all there."""
    if place[0] == "vector":
        cells = state.vectors[place[1]][place[2]:place[2] + size]
        return cells if len(cells) == size else None
    cells = [state.memory.get(place[1] + k) for k in range(size)]
    return None if None in cells else cells


def of_whole(places, size):
    """Those of some places of bytes at which so many of them begin, one after the other."""
    def following(place, k):
        return (*place[:-1], place[-1] + k)
    return [place for place in places if place[0] in ("vector", "byte") and place[-1] % size == 0 and all(
        following(place, k) in places for k in range(size))]


def bytes_from(place, size):
    return [(*place[:-1], place[-1] + k) for k in range(size)]


def guessed(chains, states, places, is_last=False):
    """({place of bytes: Chain of the first one} that one pass after another suggests, how many chains are
    known where not all are); `states`: where the passes begin. Where nothing more is found out (`is_last`),
    chains that have not begun are thought to stand at the places that have not changed, in order."""
    begin, ends = {}, {}
    for place in places:
        first, last = (value_at(state, place, chains.width // 8) for state in (
            states[0], states[-1]))
        known, found = (None if v is None else chains.found(v) for v in (first, last))
        if found and (known and known[0] == found[0] or chains.is_first(first)):
            begin[place], ends[place] = (found[0], known[1] if known else 0), found
    missing = sorted(set(range(chains.count)) - {number for number, _ in begin.values()})
    if is_last:
        idle = [place for place in sorted(places)
                if all(chains.is_first(value_at(one, place, chains.width // 8)) for one in states)]
        for place, number in zip(idle, missing):
            begin[place] = ends[place] = number, 0
    numbers = {number: place for place, (number, _) in reversed(begin.items())}
    if len(numbers) < chains.count:
        return {}, len(numbers)
    first = sum(begin[place][1] for place in numbers.values())
    grown = z3.simplify(z3.IntVal(0) + sum(ends[p][1] - begin[p][1] for p in numbers.values()))
    step, rest = divmod(grown.as_long() if z3.is_int_value(grown) else 0, len(states) - 1)
    if rest or step <= 0:
        return {}, 0
    return {place: Chain(chains, number, first, step, 0) for place, (number, _) in begin.items()}, 0


def value_at(state, place, size):
    cells = cells_at(state, place, size)
    return None if cells is None else t.from_cells(cells)
