"""Outputs that are written part by part, and of which a part is read back before it is written.

An output has two extents: planes and groups of rows, planes and columns, or one alone. A part of it is a
rectangle. What a kernel adds to, it reads first: so a part may be written only once, or what it is added to
is not what the contract speaks of. Of a state it is known which parts may have been read or written, no fewer
(`touched`), and which ones are written, no more (`done`). That two passes of a loop touch no part in common
is seen from one extent in which each pass has a range of its own. Parts that passes have written together
are one, if in one extent each begins where the one before ends. In the end they must be all of it."""

import functools
import itertools
from typing import NamedTuple

import z3

import terms as t
from machine import Refused, same


class Part(NamedTuple):
    """From `low` to `high` in either extent."""
    low: tuple
    high: tuple

    def with_extent(self, at, low, high):
        lows, highs = list(self.low), list(self.high)
        lows[at], highs[at] = low, high
        return Part(tuple(lows), tuple(highs))

    def ends(self):
        return (*self.low, *self.high)

    def is_like(self, other, but=None):
        """Whether it has the same ends, in all extents but one."""
        return all(same(a, b) for ends in ((self.low, other.low), (self.high, other.high))
                   for at, (a, b) in enumerate(zip(*ends)) if at != but)


class Touch(NamedTuple):
    part: Part
    is_written: bool


class Done:
    """What a state has touched and written; `needed`: parts that the passes before one must have written."""

    def __init__(self, touched=(), done=(), needed=()):
        self.touched, self.done, self.needed = list(touched), list(done), list(needed)

    def copy(self):
        return Done(self.touched, self.done, self.needed)

    def terms(self):
        """What its parts depend on."""
        return [end for part in (*(one.part for one in self.touched), *self.done, *self.needed)
                for end in part.ends()]


class Grid:
    def __init__(self, machine, lengths):
        self.machine, self.sizes, self.lengths = machine, machine.sizes, lengths
        self.region = None  # of an output whose stores are no others than of parts
        machine.grid = self

    # --- what a function does --------------------------------------------------------------------

    def part(self, low, high):
        """The part that bytes of the region are, from one offset to another; of one extent, these."""
        return Part((low,), (high,))

    def read(self, part):
        """Of what stood there at first."""
        state = self.machine.finished
        for one in state.touched:
            if one.is_written and not self.are_apart(one.part, part):
                raise Refused("an output that is read back after it was written")
        state.touched.append(Touch(part, False))

    def write(self, part):
        state = self.machine.finished
        state.touched.append(Touch(part, True))
        state.done.append(part)

    def need(self, part):
        """That a part is written before; of one that is not, that the passes before did."""
        state = self.machine.finished
        is_done = self.is_empty(part, self.machine.path) or any(self.is_in(part, one) for one in state.done)
        if not is_done:
            state.needed.append(part)

    def is_in(self, part, whole, path=None):
        ends = zip((*whole.low, *part.high), (*part.low, *whole.high))
        return all(self.is_least(a, b, path) for a, b in ends)

    def are_apart(self, one, other):
        """Whether no element is in both."""
        return any(self.is_least(a, b) for a, b in (
            *zip(one.high, other.low), *zip(other.high, one.low)))

    def is_least(self, a, b, path=None):
        """Whether a <= b."""
        more = t.sub(b, a, 64)
        if t.is_int(more):
            return t.signed(more, 64) >= 0
        return self.sizes.holds(self.sizes.total(more) >= 0, self.machine.path if path is None else path)

    # --- loops -----------------------------------------------------------------------------------

    def after_passes(self, first, ways, is_back, moving):
        """What holds where ways leave a loop of any number of passes, which begins in the state `first`;
        `is_back`: of each way, whether another pass follows; `moving`: the number of passes and the sizes
        that change from pass to pass, (term, first value, function(way) -> its next value)."""
        own = [way.finished.touched[len(first.finished.touched):] for way in ways]
        touched = self.touched_before(own, ways, is_back, moving) if any(own) else []
        backs = [way for way, goes_on in zip(ways, is_back) if goes_on]
        before = []
        for prepare in (self.join, self.settle):
            before = before or [part for number in range(len(moving)) for part in self.before_pass(
                first, backs, moving, number, prepare)]
        for way in ways:
            self.join(way.finished)
            missing = [part for part in way.finished.needed[len(first.finished.needed):]
                       if not any(self.is_in(part, one, way.path) for one in before)]
            # What all passes together need, the passes of a loop around this one may have written.
            way.finished.needed = first.finished.needed + [self.widened(part, moving) for part in missing]
            way.finished.done += before
            at = len(first.finished.touched)
            way.finished.touched[at:at] = touched

    def touched_before(self, own, ways, is_back, moving):
        """What the passes before one may have touched, if no two passes touch a part in common: in the extent
        in which each has a range of its own, from where the first pass's begins to where this one's does."""
        for (number, (term, begin, _)), at in itertools.product(enumerate(moving), range(len(self.lengths))):
            low = self.range_of_pass(own, ways, at, moving, number)
            if low is not None:
                return [one._replace(part=self.widened(one.part, moving).with_extent(
                    at, substituted(low, term, begin), low))
                        for touched, goes_on in zip(own, is_back) for one in touched if goes_on]
        raise Refused("passes that are not proved to write different parts")

    def range_of_pass(self, own, ways, at, moving, number):
        """Where a pass's range begins in an extent, if each has one of its own: it begins where one of the
        pass's parts does, and ends before it begins in the next pass. None if they have not."""
        term, _, following = moving[number]
        lows = [one.part.low[at] for touched in own for one in touched]
        begin = next((low for low in lows if all(map(functools.partial(is_known_least, low), lows))), None)
        if begin is None or not self.is_of(begin, term, moving):
            return None
        for touched, way in zip(own, ways):
            end = substituted(begin, term, following(way))
            if not self.is_least(begin, end, way.path) or not all(
                    self.is_least(one.part.high[at], end, way.path) for one in touched):
                return None
        return begin

    def before_pass(self, first, backs, moving, number, prepare):
        """The parts that the passes before one have written together, as one number that changes shows; what
        each has written is joined or settled."""
        term, begin, following = moving[number]
        own = [(way, Done((), way.finished.done[len(first.finished.done):])) for way in backs]
        for way, finished in own:
            prepare(finished, way.path)
        for part in distinct(part for _, finished in own for part in finished.done):
            for at in range(len(self.lengths)):
                low = part.low[at]
                if not self.is_of(low, term, moving) or not all(
                        self.is_fixed(end, moving) for end in part.with_extent(at, 0, 0).ends()):
                    continue
                if all(self.is_empty(part, way.path, at) or any(
                        self.continues(one, part, at, substituted(low, term, following(way)), way.path)
                        for one in finished.done) for way, finished in own):
                    yield part.with_extent(at, substituted(low, term, begin), low)

    def continues(self, one, part, at, following, path):
        """Whether a part, like another one, ends where the next pass begins, or behind it."""
        return one.is_like(part, at) and same(one.low[at], part.low[at]) and self.is_least(
            following, one.high[at], path)

    def is_empty(self, part, path, but=None):
        """Whether nothing is in a part, as its ends show in all extents but one."""
        return any(self.is_least(high, low, path) for at, (low, high) in enumerate(zip(*part)) if at != but)

    def is_of(self, v, term, moving):
        """Whether a sum adds a number that changes from pass to pass, and nothing else that does."""
        return t.ident(term) in t.linear(v, 64)[0] and self.is_fixed(substituted(v, term, 0), moving)

    def is_fixed(self, v, moving):
        """Whether a number is the same in all passes: it depends on nothing that came with the loop."""
        ages = self.sizes.ages
        begun = min(ages[self.sizes.symbols[t.ident(term)].get_id()] for term, *_ in moving)
        return all(ages[number] < begun for number in self.sizes.symbols_in([v]))

    def widened(self, part, moving):
        """The same of any pass: an extent that depends on it is all of it."""
        for at, length in enumerate(self.lengths):
            if not all(self.is_fixed(end, moving) for end in (part.low[at], part.high[at])):
                part = part.with_extent(at, 0, length)
        return part

    # --- ways that meet, and the end -------------------------------------------------------------

    def settle(self, finished, path):
        """Parts that continue each other are one; an end that is proved to be the whole's is that."""
        self.join(finished)
        done = finished.done
        for number, part in enumerate(done):
            for at, length in enumerate(self.lengths):
                if not same(part.high[at], length) and self.is_least(length, part.high[at], path):
                    done[number] = part = part.with_extent(at, part.low[at], length)
        self.join(finished)

    def join(self, finished, _=None):
        """In either extent, as long as there are some."""
        done = finished.done
        while True:
            found = next(((one, other, at) for one in done for other in done if one is not other
                          for at in range(len(self.lengths))
                          if same(one.high[at], other.low[at]) and one.is_like(other, at)), None)
            if found is None:
                return
            one, other, at = found
            done[:] = [part for part in done if part is not one and part is not other]
            done.append(one.with_extent(at, one.low[at], other.high[at]))

    def merged(self, states):
        """What holds in each of some states."""
        touched, done = list(states[0].finished.touched), []
        for state in states[1:]:
            touched += [one for one in state.finished.touched if not any(
                one.is_written == other.is_written and one.part.is_like(other.part) for other in touched)]
        for prepare in (self.join, self.settle):
            for state in states:
                prepare(state.finished, state.path)
            done += [part for part in distinct(part for state in states for part in state.finished.done)
                     if not any(map(part.is_like, done)) and all(
                         any(map(part.is_like, state.finished.done)) or self.is_empty(part, state.path)
                         for state in states)]
        return Done(touched, done, [part for state in states for part in state.finished.needed])

    def conclude(self, state):
        """Every part is written."""
        self.settle(state.finished, state.path)
        if state.finished.needed:
            raise Refused("what is added to is not proved to be written before")
        is_empty = z3.Or(z3.BoolVal(False), *(self.sizes.total(length) <= 0 for length in self.lengths))
        if self.sizes.holds(is_empty, state.path):
            return
        if not any(self.are_all(state, at) for at in range(len(self.lengths))):
            raise Refused("not all parts of an output are proved to be written")

    def are_all(self, state, at):
        """Whether parts that are all of it in the other extents follow each other from its beginning to its
        end."""
        whole, end = Part((0,) * len(self.lengths), tuple(self.lengths)), 0
        left = [part for part in state.finished.done if part.is_like(whole, at)]
        while not self.is_least(self.lengths[at], end, state.path):
            following = next((part for part in left if self.is_least(part.low[at], end, state.path)), None)
            if following is None:
                return False
            left = [part for part in left if part is not following]
            end = following.high[at]
        return True


def substituted(v, term, by):
    """A sum with another value in the place of a term that it adds."""
    atoms, _ = t.linear(v, 64)
    factor = atoms.get(t.ident(term), (None, 0))[1]
    return t.total([(v, 1), (term, -factor), (by, factor)], 64)


def distinct(parts):
    found = []
    for part in parts:
        if not any(map(part.is_like, found)):
            found.append(part)
    return found


def is_known_least(a, b):
    """Whether a <= b, of sums that differ by a number."""
    more = t.sub(b, a, 64)
    return t.is_int(more) and t.signed(more, 64) >= 0
