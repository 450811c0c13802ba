"""Loops with any number of passes.

A loop's head is the target of a jump back. If the sizes decide after a pass whether another one follows,
the loop is executed pass by pass. Otherwise one pass is executed from a generic state, the state in which
pass i begins: what a pass does not change stays, what grows by a constant is linear in i, everything
else is unknown. Which is which is guessed from one pass, and bounds on i from its branches (`generic`).
Guesses that do not hold at the first pass, or after a pass that begins with all of them, are dropped
until the rest are inductive. Then the pass is executed for good, and the rest is proved (`check`).
Execution goes on from where the generic pass leaves the loop. What every pass that continues the loop
has written, the passes before pass i have written together (`in_passes_before`)."""

import itertools

import z3

import terms as t
from carried import REHEARSED, bytes_from, guessed, of_whole
from machine import Exhausted, Refused, same
from regions import Fork, Interval, claimed
from shapes import (UNKNOWN, Affine, Free, Loop, Shape, Within, changes, common, is_of_sizes, loops_of,
                    loosened, value_at)
from sizes import conjuncts, parts_in
from totals import MOST, places_of, sum_at, write

ROUNDS = 8      # of guesses
NESTED = 5      # passes from which on one with loops inside is not, if the contract asks for that
LONG = 16       # passes from which on a loop that adds up products is not executed pass by pass
PASSES = 10000  # of a loop that is executed pass by pass


class State:
    """A machine's registers and memory, and what led there: `path`, facts on sizes; `branches`, the
    conditions among them and which way they went; `written`, intervals; `whole`, the chunks of
    outputs that are written; `calls`, how many functions deep; `data`, conditions on what arrays hold."""

    def __init__(self, of, path=(), branches=(), written=(), whole=frozenset(), calls=0, data=()):
        self.seen = of.seen
        self.general, self.vectors = dict(of.general), of.vectors.copy()
        self.masks, self.flags, self.memory = dict(of.masks), of.flags, dict(of.memory)
        self.path, self.branches, self.written = list(path), list(branches), list(written)
        self.whole, self.calls, self.data = whole, calls, list(data)
        self.finished = of.finished.copy()
        self.last = None  # where its last instruction is
        self.is_named = False  # whether a variable stands for what tells what was seen

    def copy(self):
        one = State(self, self.path, self.branches, self.written, self.whole, self.calls, self.data)
        one.is_named = self.is_named
        return one


# --- all ways ------------------------------------------------------------------------------------

class Explorer:
    """Follows all ways of a function."""

    def __init__(self, machine):
        self.machine, self.sizes, self.image = machine, machine.sizes, machine.image
        self.loops, self.unrolled, self.counters, self.free = {}, set(), 0, 0
        self.known = {}   # head of a loop that adds up products -> what its passes change
        self.bounds = {}  # the same -> the number of its passes, and its bounds
        self.places = {}  # head of such a loop -> where its first pass left sums, and their bits
        self.going_on = []  # what holds of all passes of the last loop that go on
        self.long = set()  # heads of loops of a known number of passes, which are too many
        self.forks = []      # (address, condition) of the conditions that were not decided
        self.summaries = []  # heads of the loops that were proved of any number of passes
        self.state = self.finish = None  # whose registers the machine has; what proves how a way ends
        self.waiting = {}  # (address, depth of calls, register, sums of chains) -> states
        self.steps = 0

    def call(self, symbol, arguments, conclude=lambda: None):
        """Follows all ways of a function, which must keep and write what it has to; conclude() proves of
        each what it returns."""
        machine, entry = self.machine, self.image.symbols[symbol]
        back, kept = machine.enter(symbol, arguments)
        self.loops.update(loops_of(self.image, entry))

        def finish(state, at):
            self.enter(state)
            if not same(at, back):
                raise Refused("returns to another place than its caller")
            machine.leave(kept)
            self.conclude(state)
            conclude()
        self.finish = finish
        self.explore([(State(machine), entry)], None)

    def enter(self, state):
        machine = self.machine
        machine.general, machine.vectors, machine.masks = state.general, state.vectors, state.masks
        machine.flags, machine.memory = state.flags, state.memory
        machine.path, machine.written, machine.seen = state.path, state.written, state.seen
        machine.data, machine.is_told = state.data, self.is_all_read(state)
        machine.finished = state.finished
        self.state = state

    def left(self):
        """The state of what the machine has executed."""
        state, machine = self.state, self.machine
        state.general, state.vectors, state.masks = machine.general, machine.vectors, machine.masks
        state.flags, state.memory, state.seen = machine.flags, machine.memory, machine.seen
        return state

    def explore(self, starts, loop):
        """[(state, address)] of all ways from starts back to a loop's head or out of it; without a loop,
        each way out of the function is finished."""
        work, found = [(state, at, False) for state, at in starts], []
        while work or not loop and self.waiting:
            if not work:
                work = self.met()
                continue
            state, at, has_moved = work.pop()
            self.enter(state)
            while True:
                if self.is_done(state, at, loop, has_moved):
                    if loop:
                        found.append((self.left(), at))
                    else:
                        self.finish(self.left(), at)
                    break
                is_own = loop and at == loop.head and state.calls == loop.calls
                if t.is_int(at) and at in self.loops and not is_own:
                    if self.machine.chains and state.data and not loop:
                        totals = self.machine.chains.totals(self.left())
                        self.waiting.setdefault((at, state.calls, None, totals), []).append(state)
                    else:
                        work += [(*way, True) for way in self.inside(self.left(), self.loops[at])]
                    break
                ways = self.step(state, at)
                if type(ways) is list:
                    work += [(way, at, has_moved) for way in ways]
                    break
                at, has_moved = ways, True
        return found

    def is_done(self, state, at, loop, has_moved):
        if state.calls < 0:
            return True
        return loop and state.calls == loop.calls and (
            at not in loop.body or at == loop.head and has_moved)

    def step(self, state, at):
        """The next address; or the states of both ways of a condition, none where a guess led to what is
        refused."""
        self.steps += 1
        if self.steps > self.machine.limit:
            raise Refused("runs too long")
        try:
            following = self.machine.advance(at)
        except Fork as fork:
            self.forks.append((at, fork.condition))
            if fork.claim is None and self.waits(state, fork.condition):
                return []
            return [self.way(fork, holds) for holds in (True, False)]
        except Exhausted:
            raise
        except Refused:
            if self.machine.scouting or self.machine.rehearsing:
                return []
            raise
        instruction, state.last = self.image.instructions.get(at), at
        flow = instruction.get().flow if at not in self.machine.outsides else "return"
        if flow == "call":
            state.calls += 1
            if following not in self.machine.outsides:
                self.loops.update(loops_of(self.image, following))
        state.calls -= flow == "return"
        return following

    def way(self, fork, holds):
        state = self.left().copy()
        if fork.claim is None:
            state.data.append(fork.condition if holds else z3.Not(fork.condition))
        else:
            state.path += conjuncts(fork.claim, holds)
            state.branches.append((fork.condition, holds))
        return state

    # --- what has been read, told by a register -----------------------------------------------------

    def is_all_read(self, state):
        watched = self.machine.watched
        return watched is not None and all(id(chunk) in state.whole for chunk in watched.chunks)

    def waits(self, state, condition):
        """Whether a state at a branch on data has read all that is watched, and a register of the condition
        is proved to tell what was seen: then it waits, where it compares, for others that come there."""
        machine = self.machine
        if not machine.watch or state.is_named or (
                self.image.instructions[state.last].get().name not in machine.COMPARISONS):
            return False
        self.settle(self.left())
        if not self.is_all_read(state):
            return False
        inside, width = {node.get_id() for node in parts_in(condition)}, 8 * machine.watched.size
        for name, v in state.general.items():
            low = t.extract(v, 0, width)
            if not t.is_int(low) and low.get_id() in inside and t.not_negative(low, width) and (
                    same(v, t.zero_extend(low, width, 64)) and machine.run.holds(
                        machine.seen == machine.tells(low))):
                self.waiting.setdefault((state.last, state.calls, name, None), []).append(state)
                return True
        return False

    def met(self):
        """Where the states lead that wait at one place: at a loop's head, or where a register tells what was
        seen, which is any number from then on."""
        (at, _, name, _), states = self.waiting.popitem()
        if name is None:
            return [(*way, True) for way in self.inside(self.merged(states), self.loops[at])]
        for state in states:
            state.seen = z3.BoolVal(False)
        one, machine, width = self.merged(states), self.machine, 8 * self.machine.watched.size
        one.general[name] = t.zero_extend(machine.unknown("told", width - 1), width - 1, 64)
        one.seen = machine.tells(t.extract(one.general[name], 0, width))
        one.is_named = True
        return [(one, at, True)]

    # --- loops -----------------------------------------------------------------------------------

    def inside(self, state, loop):
        """[(state, address)] of the ways out of a loop that a state has come to."""
        loop, out = Loop(loop.head, loop.body, loop.leaving, state.calls), []
        if self.machine.scouting and loop.head in self.known:
            return self.joined(self.summary(state, loop, None))
        first = first_backs = None
        for number in range(PASSES):
            ways, is_decided = self.trial(state, loop)
            backs = [way for way, at in ways if at == loop.head]
            first, first_backs = (state, backs) if number == 0 else (first, first_backs)
            if self.machine.summarised and is_decided and number == NESTED and any(
                    head in loop.body for head in self.loops if head != loop.head):
                return self.joined(self.summary(first, loop, first_backs))
            if self.machine.totals and is_decided and (
                    number == LONG or loop.head in self.long or backs and self.is_open(loop)):
                if not self.machine.scouting:  # of a guess it is not known whether sizes decide
                    self.long.add(loop.head)
                return self.joined(self.summary(first, loop, first_backs))
            if not is_decided:
                return out + self.joined(self.summary(state, loop, backs))
            out += self.joined([(way, at) for way, at in ways if at != loop.head])
            if not backs:
                return out
            state = self.merged(backs)
        raise Refused(f"the loop at {loop.head:x} has too many passes")

    def trial(self, state, loop):
        """(the ways of one pass, whether sizes decide if there is another). That is tried out first,
        unless the loop is known as one of few passes. If it goes on, and was open before, that is enough:
        its passes are summarised."""
        scouting = self.machine.scouting
        if loop.head not in self.unrolled:
            ways, is_decided = self.one_pass(state.copy(), loop, True)
            if not is_decided or scouting or (
                    self.is_open(loop) and any(at == loop.head for _, at in ways)):
                return ways, is_decided
            self.unrolled.add(loop.head)
        ways, is_decided = self.one_pass(state.copy(), loop, scouting)
        if is_decided or scouting:
            return ways, True
        # Sizes do not decide whether another pass follows, whatever is found when it is tried out again.
        return self.one_pass(state.copy(), loop, True)[0], False

    def is_open(self, loop):
        """Whether a loop was summarised, and so is now too. One that writes parts of a grid may be one of few
        passes where more is known."""
        return loop.head in self.known and not self.machine.grid

    def one_pass(self, state, loop, scouting):
        machine = self.machine
        before = machine.scouting, machine.executed, self.forks
        machine.scouting, self.forks = scouting, []
        if scouting:
            machine.executed = {}
        try:
            ways = self.explore([(state, loop.head)], loop)
            # Where no branch out of the loop was open, another condition may have decided it.
            conditions = [c for at, c in self.forks if at in loop.leaving] or [c for _, c in self.forks]
            is_open = any(not self.sizes.is_of_few(c) for c in conditions)
        finally:
            before[2].extend(self.forks)
            machine.scouting, machine.executed, self.forks = before
        backs = sum(at == loop.head for _, at in ways)
        return ways, not (is_open and 0 < backs < len(ways))

    def summary(self, first, loop, backs):
        """The ways out of a loop of any number of passes; `backs`: where its first pass led, None if it was
        not tried."""
        self.counters += 1
        passes = self.sizes.counter(f"pass[{self.counters}]")
        stores = self.machine.stores
        shape, bounds = self.generic(first, loop, backs, passes) if backs is not None else (
            self.known_shape(first, loop, passes), self.known_bounds(loop, passes))
        if self.machine.chains and not self.machine.scouting:
            shape = self.carrying(shape, bounds, loop)
        # A loop whose passes store outputs is thought to carry no sums.
        if self.machine.totals and not self.machine.scouting and stores == self.machine.stores:
            shape = self.adding(shape, bounds, loop)
        if self.machine.bounds_kept and not self.machine.scouting:
            shape = self.bounding(shape, bounds, loop)
        start = shape.state(self.machine, bounds)
        if self.machine.watch and not self.is_all_read(first):
            start.seen = z3.Bool("seen")
        generic = start.copy()
        ways, _ = self.one_pass(start, loop, self.machine.scouting)
        if not self.machine.scouting:
            self.check(shape, bounds, [way for way, at in ways if at == loop.head])
            self.relate(shape, generic, ways, loop.head)
            if self.machine.grid:
                self.machine.grid.after_passes(first, [way for way, _ in ways], [
                    at == loop.head for _, at in ways], shape.moving())
            self.summaries.append(loop.head)
        before, own = len(first.written), [way.written[len(first.written):] for way, at in ways
                                           if at == loop.head]
        written = in_passes_before(own, passes)
        for way, _ in ways:
            way.written[before:before] = written
        for way, at in ways:
            if at != loop.head:
                shape.name_chains(way, self.sizes)
        return [(way, at) for way, at in ways if at != loop.head]

    def generic(self, first, loop, backs, passes):
        """(Shape, bounds): what holds where pass i begins, as far as passes that prove nothing show."""
        forms = common([changes(first, state) for state in backs])
        shape = Shape(first, self.freed(forms, first, backs), passes)
        bounds = None
        for _ in range(ROUNDS):
            ways, _ = self.one_pass(shape.state(self.machine, bounds or []), loop, True)
            backs = [way for way, at in ways if at == loop.head]
            wrong = [place for state in backs for place in shape.broken(state, self.sizes)]
            if bounds is None:
                kept = self.guesses(first, backs, passes) + self.guesses_of_free(shape, backs)
            else:
                kept = [b for b in bounds if all(self.holds_after(b, s, shape) for s in backs)]
                if len(kept) == len(bounds) and not wrong:
                    if self.machine.grid or self.machine.totals and self.machine.totals.are_deep:
                        self.learn(shape, loop, backs)
                        self.bounds[loop.head] = passes, bounds
                    return shape, bounds
            bounds, shape = kept, shape.without(wrong)
        raise Refused(f"no invariant of the loop at {loop.head:x} is found")

    def learn(self, shape, loop, backs):
        """Remembers, for later guesses, what changes in a loop and what holds of all passes that go on."""
        known = self.known.get(loop.head, shape.forms)
        self.known[loop.head] = common([shape.forms, known])
        self.going_on = [fact for fact in backs[0].path if all(
            any(fact.eq(other) for other in state.path) for state in backs[1:])] if backs else []

    def known_shape(self, first, loop, passes):
        """What an earlier summary of a loop found that changes, as a guess that nothing has tried."""
        forms = {}
        for place, form in self.known[loop.head].items():
            v = None if form == UNKNOWN else value_at(first, place)
            if v is None:
                forms |= loosened([place])
            else:
                forms[place] = Affine(t.extract(v, 0, form.width), form.step, form.width)
        return Shape(first, forms, passes)

    def known_bounds(self, loop, passes):
        """The same of bounds, where loops write parts of a grid."""
        counted, bounds = self.bounds[loop.head] if self.machine.grid else (passes, [])
        numbers = [self.sizes.symbols[t.ident(v)] for v in (counted, passes)]
        return [z3.substitute(bound, numbers) for bound in bounds]

    def carrying(self, shape, bounds, loop):
        """The same, with what loops carry, as far as passes that store nothing show."""
        size = self.machine.chains.width // 8
        places = of_whole({place for place, form in shape.forms.items() if form == UNKNOWN}, size)
        if not places or not self.machine.chains.are_deep and any(
                head in loop.body for head in self.loops if head != loop.head):
            return shape
        states, forms, count, known = [shape.first], {}, 1, 0
        while not forms and known < count and len(states) <= REHEARSED:
            backs, known = self.rehearsal(states[-1], loop), count
            if not backs:
                break
            states.append(backs[0])
            forms, count = guessed(self.machine.chains, states, places)
        if not forms and known:
            forms, _ = guessed(self.machine.chains, states, places, True)
        while forms:
            own = {at: form.of_byte(k) for place, form in forms.items()
                   for k, at in enumerate(bytes_from(place, size))}
            richer = Shape(shape.first, shape.forms | own, shape.passes)
            wrong = {place for state in self.rehearsal(richer.state(self.machine, bounds), loop)
                     for place in richer.broken(state, self.sizes)} | richer.not_at_first()
            if not wrong & forms.keys():
                return richer
            forms = {place: form for place, form in forms.items() if place not in wrong}
        return shape

    def bounding(self, shape, bounds, loop):
        """The same, with what the contract says that registers keep, as far as passes that store nothing
        show."""
        forms = {place: Within(self.machine.run, self.machine.bounds_kept)
                 for place, form in shape.forms.items() if form == UNKNOWN and place[0] == "general"}
        while forms:
            richer = Shape(shape.first, shape.forms | forms, shape.passes)
            wrong = {place for state in self.rehearsal(richer.state(self.machine, bounds), loop)
                     for place in richer.broken(state, self.sizes)} | richer.not_at_first()
            if not wrong & forms.keys():
                return richer
            forms = {place: form for place, form in forms.items() if place not in wrong}
        return shape

    def rehearsal(self, state, loop):
        """The states in which one pass ends that goes on, with nothing stored in arrays or noted."""
        machine = self.machine
        before, executed = machine.rehearsing, machine.executed
        machine.rehearsing, machine.executed = True, {}
        try:
            ways, _ = self.one_pass(state.copy(), loop, False)
        finally:
            machine.rehearsing, machine.executed = before, executed
        return [way for way, at in ways if at == loop.head]

    def adding(self, shape, bounds, loop):
        """The same, with the products that loops add up, as far as passes that store nothing show."""
        totals = self.machine.totals
        facts, number = self.going_on, self.sizes.symbols[t.ident(shape.passes)]
        unknown = [place for place, form in shape.forms.items() if form == UNKNOWN]
        if loop.head not in self.places:
            start = shape.first.copy()
            start.path += [z3.substitute(fact, (number, z3.IntVal(0))) for fact in facts]
            backs = self.rehearsal(start, loop)
            self.places[loop.head] = places_of(unknown, backs[0]) if backs else {}
        known = self.places[loop.head]
        places = {place: known[place] for place in unknown if place in known}
        firsts = {place: sum_at(shape.first, place, width) for place, width in places.items()}
        held = totals.held({place: width for place, width in places.items() if firsts[place] is not None})
        if not held:
            return shape
        start = shape.richer(held).state(self.machine, bounds)
        most = self.most_passes(shape.passes, start.path)
        # Of this pass only the ways that go on matter.
        start.path += [fact for fact in facts if not any(fact.eq(other) for other in start.path)]
        backs = self.rehearsal(start, loop)
        forms = {place: totals.form(form, firsts[place], place, backs, shape.passes, most)
                 for place, form in held.items()} if backs and most is not None else {}
        forms = {place: form for place, form in forms.items() if form is not None}
        return shape.richer(forms | totals.copies(held, forms, firsts, backs))

    def most_passes(self, passes, path):
        """How many passes lie behind where one begins, at most: a power of 2 less 1 or less 2, or None if
        there is no such number."""
        def is_most(power):
            return self.sizes.holds(self.sizes.total(passes) <= (1 << power) - 2, path)
        if not is_most(MOST):
            return None
        low, high = 0, MOST
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_most(middle) else (middle, high)
        least = (1 << low) - 1  # 1023, of 1024 passes
        return least if self.sizes.holds(self.sizes.total(passes) <= least, path) else (1 << high) - 2

    def guesses(self, first, backs, passes):
        """Bounds that the branches of a pass suggest for the next, and that hold at the first."""
        number, found = self.sizes.symbols[t.ident(passes)], {}
        for state in backs:
            for condition, holds in state.branches[len(first.branches):]:
                for reading in self.sizes.readings(condition, holds):
                    claim = z3.substitute(reading, (number, number - 1))
                    found[claim.get_id()] = claim
        return [claim for claim in found.values() if self.sizes.is_claim_on(passes, claim) and (
            self.sizes.holds(z3.substitute(claim, (number, z3.IntVal(0))), first.path))]

    def freed(self, forms, first, backs):
        """The same, but that registers which change by sizes in another way than a sum of as much in each
        pass are free numbers, if the contract asks for that."""
        if self.machine.most_free is None:
            return forms
        found = dict(forms)
        for place, form in forms.items():
            values = [state.general[place[1]] for state in backs] if place[0] == "general" else []
            if form == UNKNOWN and values and all(
                    not t.is_int(v) and is_of_sizes(v, self.sizes) for v in values):
                self.free += 1
                free = Free(self.sizes.symbol(f"free[{self.free}]", 0, self.machine.most_free),
                            self.machine.most_free)
                found |= {place: free} if free.is_one(first.general[place[1]], first, self.sizes) else {}
        return found

    def guesses_of_free(self, shape, backs):
        """The same of numbers that are free."""
        found = {}
        for place, form in shape.forms.items():
            for state in backs if type(form) is Free else ():
                following = state.general[place[1]]
                for condition, holds in state.branches[len(shape.first.branches):]:
                    if not isinstance(condition, bool) and not t.is_int(following):
                        own = z3.substitute(condition, (following, form.number))
                        for claim in [] if own.eq(condition) else self.sizes.readings(own, holds):
                            found[claim.get_id()] = form.number, claim
        return [claim for number, claim in found.values() if self.sizes.is_claim_on(number, claim)
                and self.sizes.holds(z3.substitute(claim, *shape.at_first(self.sizes)), shape.first.path)]

    def holds_after(self, bound, state, shape):
        return self.sizes.holds(z3.substitute(bound, *shape.after(state, self.sizes)), state.path)

    def check(self, shape, bounds, backs):
        """Proves of the first pass, and of the next if of one, how it begins."""
        for bound in bounds:
            if not self.sizes.holds(z3.substitute(bound, *shape.at_first(self.sizes)), shape.first.path):
                raise Refused(f"a bound that does not hold where a loop begins: {bound}")
        if shape.not_at_first() or not all(
                form.is_one(value_at(shape.first, place), shape.first, self.sizes)
                for place, form in shape.forms.items() if type(form) is Free):
            raise Refused("a value that a loop does not begin with")
        for state in backs:
            for bound in bounds:
                if not self.holds_after(bound, state, shape):
                    raise Refused(f"a bound that a loop does not keep: {bound}")
            wrong = shape.broken(state, self.sizes)
            if wrong:
                raise Refused(f"an invariant that a loop does not keep, of {wrong[0]}")

    def relate(self, shape, generic, ways, head):
        """Proves which part of what has been seen a register tells, where a pass begins."""
        if not self.machine.watch:
            return
        before = shape.first.seen
        if all(way.seen.eq(generic.seen) for way, _ in ways):
            for way, _ in ways:
                way.seen = before
            return
        for so_far in self.accounts(shape, before):
            seen = [z3.substitute(way.seen, (generic.seen, so_far(generic))) for way, _ in ways]
            claims = [z3.Implies(self.machine.of_seen(before), so_far(shape.first) == before)] + [
                z3.Implies(z3.And([z3.BoolVal(True), *way.data[len(shape.first.data):]]), so_far(way) == now)
                for (way, at), now in zip(ways, seen) if at == head]
            if all(map(self.machine.run.holds, claims)):
                for (way, _), now in zip(ways, seen):
                    way.seen = now
                return
        raise Refused(f"what the loop at {head:x} has seen is in no register")

    def accounts(self, shape, before):
        """What may say in a state whether something was seen: a register all of it, or what was seen in this
        loop, where `before` is what was seen before. Or nothing was seen in passes that go on."""
        if self.machine.left_by_data:
            yield lambda _: before
        for tells in self.tellers(shape):
            if not z3.is_false(before):
                yield tells
            yield lambda state, tells=tells: z3.Or(before, tells(state))

    def tellers(self, shape):
        """Conditions on registers that a pass changes that may say whether something was seen: of a vector,
        that a number of 32 bits is negative or that it holds of one of its elements, or of its lowest one, or
        of several vectors;
        of a general register, that it is not 0 or that its low 32 bits are negative."""
        size = (self.machine.tells_width or 8 * self.machine.watched.size) // 8
        unknown = [place for place, form in shape.forms.items() if form == UNKNOWN]
        vectors = {}
        for place in sorted(place for place in unknown if place[0] == "vector"):
            vectors.setdefault(place[1], []).append(place[2])
        kinds = ((lambda v: negative(v), 4), (
            lambda v: self.machine.tells(t.term(v, 8 * size)), size))

        def tells_of(own, condition, width):
            return lambda state: z3.Or([condition(t.from_cells(state.vectors[number][k:k + width]))
                                        for number, at in own.items() for k in at if k % width == 0])
        for number, at in vectors.items():
            for kind in kinds:
                yield tells_of({number: at}, *kind)
        for number, at in vectors.items():  # of its lowest element alone
            if at[:size] == list(range(size)) and len(at) > size:
                yield tells_of({number: at[:size]}, *kinds[1])
        for kind in kinds:  # of all those in which nothing was seen before the first pass
            clean = {number: at for number, at in vectors.items() if self.machine.run.holds(
                z3.Not(tells_of({number: at}, *kind)(shape.first)))}
            if len(clean) > 1:
                yield tells_of(clean, *kind)
        for name in sorted(place[1] for place, form in shape.forms.items() if type(form) is Within):
            yield lambda state, name=name: self.machine.tells(t.term(
                t.extract(state.general[name], 0, 8 * size), 8 * size))
        for name in sorted(place[1] for place in unknown if place[0] == "general"):
            yield lambda state, name=name: t.term(state.general[name], 64) != 0
            yield lambda state, name=name: negative(state.general[name])
            yield lambda state, name=name: self.machine.tells(t.term(
                t.extract(state.general[name], 0, 8 * size), 8 * size))

    # --- ways that meet --------------------------------------------------------------------------

    def joined(self, ways):
        """One state for all that come to one place, unless they may have seen different things."""
        places = {}
        for state, at in ways:
            key = at if t.is_int(at) else t.keep(at), state.calls, state.seen.get_id()
            if self.machine.totals and self.machine.totals.are_deep and not self.machine.scouting:
                key += self.machine.totals.wide_sums(state),
            if self.machine.left_by_data:
                key += tuple(map(t.keep, state.data)),
            places.setdefault(key, (at, []))[1].append(state)
        return [(self.merged(states), at) for at, states in places.values()]

    def merged(self, states):
        """What holds in each of some states; of facts, those on numbers that are still there."""
        if any(not state.seen.eq(states[0].seen) for state in states):
            raise Refused("ways that may have seen different things come to one place")
        if self.machine.totals and self.machine.totals.are_shared and not self.machine.scouting:
            for state, other in itertools.permutations(states, 2):
                self.take_sums(state, other)
        for state in states:
            self.settle(state)
        first, one = states[0], states[0].copy()
        if len(states) > 1:
            one.branches = one.branches[:prefix([state.branches for state in states])]
            one.written = one.written[:prefix([state.written for state in states])]
            one.whole = frozenset.intersection(*(state.whole for state in states))
            one.data = one.data[:prefix([state.data for state in states])]
            Shape(first, loosened(common([changes(first, state) for state in states[1:]])), None).fill(
                self.machine, one, True)
            if any(state.flags is not first.flags for state in states):
                one.flags = self.machine.NO_FLAGS
        if self.machine.scouting:
            one.path, _ = in_all([state.path for state in states])
        else:
            alive = self.sizes.symbols_in([
                *one.general.values(), *(cell[0] for cell in one.memory.values() if not t.is_int(cell)),
                *(end for interval in one.written for end in (interval.low, interval.high))])
            if self.machine.chains:
                alive |= self.machine.chains.integers(one)
            if self.machine.totals:
                alive |= self.machine.totals.integers(one)
            if self.machine.grid:
                one.finished = self.machine.grid.merged(states)
                alive |= self.sizes.symbols_in(one.finished.terms())
            paths = [[fact for fact in state.path if self.sizes.loops_behind(fact) <= alive]
                     for state in states]
            one.path, others = in_all(paths)
            if all(others):
                any_way = z3.Or([z3.And(facts) for facts in others])
                if not self.sizes.holds(any_way, one.path):  # else it says nothing
                    one.path.append(any_way)
        return one

    def take_sums(self, state, other):
        """Where another state has other sums, writes them as that one has them, as long as they are proved to
        be the same: of 4 products, and of a number that is 4 on this path."""
        self.machine.path = state.path
        for place, width in places_of(changes(state, other), state).items():
            own, its = (sum_at(one, place, width) for one in (state, other))
            if its is not None and not self.machine.totals.is_equal(its, own):
                return
            if its is not None:
                write(state, place, its, width)

    # --- what is written -------------------------------------------------------------------------

    def outputs(self):
        """Every (region, chunk) that must be written, or read if it is watched."""
        of_grid = self.machine.grid and self.machine.grid.region
        return [(region, chunk) for region in self.machine.regions.values()
                if (region.is_output or region is self.machine.watched and not self.machine.left_by_data)
                and region is not of_grid
                for chunk in region.chunks]

    def settle(self, state):
        """Of chunks that are written it is only kept that they are."""
        if self.machine.scouting:
            return
        written = {id(one.chunk): one.chunk for one in state.written}
        state.whole |= {key for key, chunk in written.items() if self.is_written(chunk, state)}
        state.written = [one for one in state.written if id(one.chunk) not in state.whole]

    def is_written(self, chunk, state):
        """Whether intervals, one after the other, reach from a chunk's beginning to its end."""
        at, left = chunk.begin, [one for one in state.written if one.chunk is chunk]
        while True:
            found = next((one for one in left if same(one.low, at)), None) or next(
                (one for one in left if self.is_above(at, one.low, state)), None)
            if found is None:
                return self.is_above(at, chunk.end, state)
            left.remove(found)
            at = found.high

    def is_above(self, a, b, state):
        """Whether a >= b, of offsets."""
        return self.sizes.holds(claimed(self.sizes.total(a) >= self.sizes.total(b)), state.path)

    def conclude(self, state):
        """Every output is written."""
        self.settle(state)
        if self.machine.grid:
            self.machine.grid.conclude(state)
        for region, chunk in self.outputs():
            if region.is_output and self.machine.excused and self.machine.excused():
                continue
            if id(chunk) not in state.whole and not self.is_above(
                    chunk.begin, region.length, state) and not self.is_written(chunk, state):
                what = "written" if region.is_output else "read"
                raise Refused(f"{region.name} is not proved to be {what} from {chunk.begin} to {chunk.end}")


def negative(v):
    """Whether the low 32 bits of a value are, as a signed number."""
    return t.term(t.extract(v, 31, 1), 1) == 1


def prefix(lists):
    """How many elements from the first on some lists have in common."""
    at = 0
    while all(at < len(one) for one in lists) and all(is_like(lists[0][at], one[at]) for one in lists[1:]):
        at += 1
    return at


def in_all(lists):
    """(the facts that all of some lists have, the others of each)."""
    ids = frozenset.intersection(*(frozenset(fact.get_id() for fact in facts) for facts in lists))
    return [fact for fact in lists[0] if fact.get_id() in ids], [
        [fact for fact in facts if fact.get_id() not in ids] for facts in lists]


def is_like(a, b):
    """Whether two facts or two intervals are the same."""
    return a is b or (is_same(a, b) if type(a) is Interval else z3.is_expr(a) and a.eq(b))


def in_passes_before(written, passes):
    """The intervals that passes before pass i have written together; `written`: of each way on which a
    pass comes back."""
    found, ways = [], [adjoined(way) for way in written]
    for one in ways[0] if ways else []:
        atoms, _ = t.linear(one.low, 64)
        step = t.signed(atoms.get(t.ident(passes), (None, 0))[1], 64)
        size = t.sub(one.high, one.low, 64)
        if t.is_int(size) and 0 < step <= size and all(any(is_same(one, o) for o in way) for way in ways):
            found.append(Interval(one.chunk, t.sub(one.low, t.scale(passes, step, 64), 64), one.low))
    return found


def adjoined(intervals):
    """The same with those in one that begin where another ends."""
    left, done = list(intervals), []
    while left:
        one = left.pop(0)
        following = next((o for o in left if o.chunk is one.chunk and same(o.low, one.high)), None)
        before = next((o for o in left if o.chunk is one.chunk and same(o.high, one.low)), None)
        if following is not None:
            left.remove(following)
            left.append(Interval(one.chunk, one.low, following.high))
        elif before is None:
            done.append(one)
        else:
            left.append(one)
    return done


def is_same(a, b):
    return a.chunk is b.chunk and same(a.low, b.low) and same(a.high, b.high)
