"""Sums of products that loops add up in any number of passes.

A stretch is the sum over k < length of a[i + s k] b[j + t k], elements of two arrays, where i, j and length
are sums of sizes and counters, and s and t numbers. In the sums of sums.py it takes the place of a product,
with the range that its products give at its greatest length.

Which places of a loop add up products, and which ones a pass adds, is found out by a pass that begins with
something unknown there. If a pass adds a[i + s p] b[j + t p], where p passes lie behind, the invariant is
that the place holds what it did at first and a stretch of p products; if it adds a stretch of c products
that begins where that of the pass before ends, a stretch of c p of them. That every pass keeps this is
proved like any other invariant: of two sums that are equal one has the other's products, a stretch being
followed from its beginning by products and stretches that continue each other; m stretches whose elements
alternate are one. Sums are modulo 2^64 at most, and so the three products of words that code adds where it
has no product of 64 bits are that product."""

from typing import NamedTuple

import sums
import terms as t
from machine import Refused, same

SEVERAL = 8  # times that a pass adds the same product, at most
MANY = 8  # stretches that may begin another one, which to compare takes longer than to ask if it is over
MOST = 25  # the passes of a loop are fewer than 2 to this


class End(NamedTuple):
    """The elements of one array: the array, what is taken of each, and the id of the bit without which it
    is 0; the index of the first; how much further the next one is."""
    of: tuple
    first: object
    step: int

    def at(self, k):
        """The index of element k."""
        return t.total([(self.first, 1), (k, self.step)], 64)


class Unknown:
    """A factor of which only the range is known."""

    def __init__(self, least, greatest):
        self.range = least, greatest


class Stretch:
    """A factor: the sum of `length` products of two arrays' elements, length <= most. One product has no
    steps yet."""

    def __init__(self, ends, length, most, product):
        """`product`: (least, greatest) of one."""
        self.ends, self.length, self.most, self.product = ends, length, most, product
        self.range = min(0, product[0] * most), max(0, product[1] * most)
        self.of = tuple(end.of for end in ends)

    def key(self):
        return tuple((end.of, key_of(end.first), end.step) for end in self.ends), key_of(
            self.length), self.most

    def singles(self):
        """Its products, one by one, if their number is known."""
        if not t.is_int(self.length):
            return [self]
        return [self.with_ends([End(end.of, end.at(k), 0) for end in self.ends], 1, 1)
                for k in range(self.length)]

    def place(self, times):
        """What tells where it begins."""
        return self.of, times, tuple(key_of(end.first) for end in self.ends)

    def group(self, times):
        """What those have in common of which one may be made."""
        return self.of, times, key_of(self.length), tuple(end.step for end in self.ends)

    def may_begin(self, whole):
        """Whether it has the arrays and the steps of another one that has products, as one that has one."""
        is_single, more = t.is_int(self.length), 0 if t.is_int(self.length) else 1
        return self.of == whole.of and (not t.is_int(whole.length) or whole.length > more) and (
            is_single or all(x.step == y.step for x, y in zip(self.ends, whole.ends)))

    def is_behind(self, other):
        """Whether it begins a known number of elements behind another one."""
        moved = t.sub(self.ends[0].first, other.ends[0].first, 64)
        return t.is_int(moved) and t.signed(moved, 64) > 0

    def following(self):
        """The indexes behind the last."""
        return [end._replace(first=end.at(self.length)) for end in self.ends]

    def after(self, beginning):
        """What is left of it without its beginning, with indexes as that one has them."""
        ends = [end._replace(first=own.at(beginning.length) if own.step else t.add(own.first, end.step, 64))
                for end, own in zip(self.ends, beginning.ends)]
        return self.with_ends(ends, t.sub(self.length, beginning.length, 64), self.most)

    def with_ends(self, ends, length, most):
        return Stretch(ends, length, most, self.product)


def key_of(v):
    return v if t.is_int(v) else ("term", t.keep(v))


class Total:
    """A form of a place of `width` bits: what it held at first, and what the passes have added."""

    def __init__(self, totals, first, width, added, most, byte=0):
        """`added`: (Stretch of pass 0, how many products a pass adds) of each; at most `most` passes lie
        behind where one begins."""
        self.totals, self.first, self.width = totals, first, width
        self.added, self.most, self.byte = added, most, byte

    def of_byte(self, byte):
        return Total(self.totals, self.first, self.width, self.added, self.most, byte)

    def after(self, passes, more):
        """The sum after so many passes, `more` than where one begins."""
        products = [self.totals.product(one.with_ends(one.ends, t.scale(passes, count, 64),
                                                      (self.most + more) * count))
                    for one, count in self.added]
        return sums.Sum(self.width, () if t.is_int(self.first) else (self.first,), products)

    def put(self, state, place, passes, more=0):
        write(state, place, self.after(passes, more), self.width)

    def is_after(self, state, place, passes, more):
        v = sum_at(state, place, self.width)
        self.totals.machine.path = state.path
        return v is not None and self.totals.is_equal(v, self.after(passes, more))


class Totals:
    """What a machine's loops add up; their places and counters are loops.py's."""

    def __init__(self, machine):
        self.machine, self.products, self.kept = machine, {}, []
        self.unit = sums.factor(Unknown(1, 1))
        # Whether loops stand in loops three deep: what changes in one is guessed once, and ways out of it
        # with different 64-bit sums stay apart.
        self.are_deep = False
        # Whether it is asked of different sums of ways that meet if one path makes them the same, which takes
        # long.
        self.are_shared = False
        # What is_equal proved on any path, what is_number found, and whether it was asked.
        self.equal, self.zeros, self.asked = {}, {}, False
        # What is known of products: as stretches, and the ids of the integers on which they depend.
        self.known_stretches, self.behind = {}, {}
        machine.totals = self

    def product(self, stretch):
        """The number that stands for a stretch in a sum."""
        key = stretch.key()
        if key not in self.products:
            self.products[key] = sums.product(sums.factor(stretch), self.unit)
        return self.products[key]

    def unknown(self, width):
        """The number of anything of a width."""
        return sums.product(sums.factor(Unknown(-(1 << width - 1), (1 << width - 1) - 1)), self.unit)

    def factor_of(self, product):
        """What a number of `product` or `unknown` stands for; None of other products."""
        numbers = product >> 32, product & 0xffffffff
        if self.unit not in numbers:
            return None
        return sums.FACTORS[numbers[numbers[0] == self.unit]]

    def stretches(self, v):
        """({Stretch: times}, {number: times} of what else is added) of a sum."""
        found, others = [], {}
        for product, times in self.of_whole_numbers(v).items():
            one = self.stretch_of(product)
            if type(one) is Stretch:
                found.append((one, times))
            else:
                others[product] = times
        return found, others

    def stretch_of(self, product):
        """The stretch that a number stands for; what else `factor_of` says of one, None of other products."""
        one = self.known_stretches.get(product)
        if one is None:
            one = self.factor_of(product) or self.single(product)
            if one is not None:
                self.known_stretches[product] = one
        return one

    def of_whole_numbers(self, v):
        """{product: times} of a sum modulo 2^64, in which x_0 y_0 + 2^32 (x_1 y_0 + x_0 y_1) of the words of
        two numbers is x y."""
        if not sums.SHIFTS or v.width > 64:
            return v.times()
        counts = dict(v.times())
        for product, times in list(counts.items()):
            numbers = product >> 32, product & 0xffffffff
            pair = [self.parts_beside(number) for number in numbers]
            if any(own.get("low") != number for own, number in zip(pair, numbers)):
                continue
            mixed = [sums.product(pair[0][x], pair[1][y]) for x, y in (("high", "low"), ("low", "high"))]
            if all(counts.get(one) == times << 32 for one in mixed):
                for one in (product, *mixed):
                    del counts[one]
                whole = sums.product(pair[0]["value"], pair[1]["value"])
                counts[whole] = counts.get(whole, 0) + times
        return counts

    def parts_beside(self, number):
        """{name of a part: number} of the variable that a factor is a part of; {} of others."""
        variable = getattr(sums.FACTORS[number], "variable", None)
        return {} if variable is None else {
            one.part.name: one.number for one in self.machine.run.operands[t.ident(variable)]}

    def single(self, product):
        """A product of two arrays' elements as a stretch of one; None of another one."""
        ends, ranges = [], []
        for number in (product >> 32, product & 0xffffffff):
            operand = sums.FACTORS[number]
            end = self.end_of(operand)
            if end is None:
                return None
            ends.append(end)
            ranges.append(operand.range)
        ends.sort(key=lambda end: end.of)
        return Stretch(ends, 1, 1, sums.ends(*ranges))

    def end_of(self, operand):
        """The element of an array that an operand is a part of."""
        for number, region in enumerate(self.machine.regions.values()):
            place = region.places.get(t.ident(operand.variable))
            if place is not None:
                guard = 0 if place[1] is None else t.ident(place[1])
                return End((number, operand.part.name, guard), place[0], 0)
        return None

    def of(self, pointer, part, guard=None):
        """What End.of says of an array and a part of its elements, read under a bit or none."""
        number = list(self.machine.regions).index(t.ident(pointer))
        return number, part, 0 if guard is None else t.keep(guard)

    def stretch(self, ends, length, most):
        """Of [(what `of` says, the first index, the step)]."""
        return Stretch(sorted((End(*end) for end in ends), key=lambda end: end.of), length, most, (0, 0))

    # --- equality --------------------------------------------------------------------------------

    def is_equal(self, a, b):
        """Whether two sums are proved to be the same integer."""
        if a.times() == b.times():
            return True
        key = tuple(frozenset(v.times().items()) for v in (a, b))
        if key not in self.equal:
            (own, others), (more, rest) = map(self.stretches, (a, b))
            self.asked = False
            is_so = others == rest and self.are_equal(own, more)
            if self.asked or not is_so:
                return is_so
            self.equal[key] = True  # on any path
        return True

    def are_equal(self, own, others):
        """The same of two lists of (Stretch, times)."""
        own, others, places = self.joined(own), self.joined(others), {}
        for one, times in own:
            places.setdefault((one.of, times), {}).setdefault(one.place(times), []).append(one)
        for left, times in others:
            alike = places.get((left.of, times), {})
            while found := self.beginning(left, alike, times):
                alike[found.place(times)].remove(found)
                left = left.after(found)
            if not self.is_number(left.length, 0):
                return False
        return all(self.is_number(one.length, 0) for places_of_one in places.values()
                   for several in places_of_one.values() for one in several)

    def beginning(self, whole, places, times):
        """One of some stretches, by their places, that is proved to be the beginning of another one, if it is
        not longer."""
        for one in places.get(whole.place(times), ()):  # first what needs no solver
            if one.may_begin(whole):
                return one
        alike = [one for several in places.values() for one in several if one.may_begin(whole)]
        if len(alike) > MANY and self.is_number(whole.length, 0):
            return None
        for one in alike:
            if not any(one.is_behind(other) for other in alike) and all(
                    self.is_number(x.first, y.first) for x, y in zip(one.ends, whole.ends)):
                return one
        return None

    def is_number(self, a, b):
        """Whether two sums of sizes and counters are proved to be equal."""
        difference = t.sub(a, b, 64)
        if t.is_int(difference):
            return difference == 0
        key, self.asked = (t.keep(difference), *(fact.get_id() for fact in self.machine.path)), True
        if key not in self.zeros:
            self.kept.append(tuple(self.machine.path))  # whose facts so keep their ids
            self.zeros[key] = self.machine.proved(self.machine.sizes.total(difference) == 0)
        return self.zeros[key]

    def joined(self, stretches):
        """The same with products one by one where their number is known, but those that continue all
        stretches of a length, and m stretches in one whose elements alternate."""
        singles, groups, done = {}, {}, []
        for one, times in ((one, times) for whole, times in stretches for one in whole.singles()):
            if t.is_int(one.length):
                singles.setdefault(one.place(times), []).append((one, times))
            else:
                groups.setdefault(one.group(times), []).append(one)
        for (_, times, *_), group in list(groups.items()) if singles else ():
            longer = self.continued(group, times, singles)
            if longer:
                del groups[group[0].group(times)]
                groups.setdefault(longer[0].group(times), []).extend(longer)
        for (_, times, _, steps), group in groups.items():
            done += [(one, times) for one in self.interleaved(group, steps)]
        return done + [one for several in singles.values() for one in several]

    def continued(self, group, times, singles):
        """Stretches of one length with the products that continue each; None if one has none."""
        following = [one.with_ends(one.following(), 0, 0).place(times) for one in group]
        if len(set(following)) < len(group) or not all(singles.get(place) for place in following):
            return None
        for place in following:
            singles[place].pop()
        return [one.with_ends(one.ends, t.add(one.length, 1, 64), one.most + 1) for one in group]

    def interleaved(self, group, steps):
        """The same of some of equal lengths and steps: in as few as they make up, all of as many."""
        offsets = {}
        for one in group:
            moved = [t.sub(end.first, other.first, 64) for end, other in zip(one.ends, group[0].ends)]
            if not all(map(t.is_int, moved)):
                return group
            offsets[tuple(t.signed(v, 64) for v in moved)] = one
        if len(offsets) < len(group) or not all(steps):
            return group
        for count in range(len(group), 1, -1):
            if len(group) % count == 0 and not any(step % count for step in steps):
                done = alternating(dict(offsets), [step // count for step in steps], count)
                if done is not None:
                    return done
        return group

    # --- loops -----------------------------------------------------------------------------------

    def held(self, places):
        """{place: Total} of places that a pass begins with anything in."""
        return {place: Total(self, sums.Sum(width, (), [self.unknown(width)]), width, [], 0)
                for place, width in places.items()}

    def form(self, held, first, place, backs, passes, most):
        """The form of a place, where a pass began with `held` and the first with `first`; `backs`: states in
        which it ended. None if it does not add products alone, or those that continue its sum."""
        (begun,), ends = held.first.times(), [sum_at(state, place, held.width) for state in backs]
        if any(v is None or v.times().get(begun) != 1 for v in ends):
            return None
        grown = [sums.without(v, begun) for v in ends]
        stretches, others = self.stretches(grown[0])
        if any(times > SEVERAL for _, times in stretches):
            return None
        added = [self.per_pass(one, passes) for one, times in stretches for _ in range(times)]
        if others or not added or None in added:
            return None
        form = Total(self, first, held.width, added, most)
        for state, more in zip(backs, grown):
            self.machine.path = state.path
            if not self.is_equal(sums.Sum(held.width, (form.after(passes, 0), more)),
                                 form.after(t.add(passes, 1, 64), 1)):
                return None
        return form

    def copies(self, held, forms, firsts, backs):
        """{place: Total} of other places, to which a pass brings what it has added up in one of `forms`."""
        owners = {next(iter(held[place].first.times())): place for place in forms}
        found = {}
        for place, form in held.items():
            ends = [sum_at(state, place, form.width) for state in backs] if place not in forms else []
            begun = {next((one for one in v.times() if one in owners), None) for v in ends if v is not None}
            owner = owners.get(begun.pop()) if len(begun) == 1 and None not in ends else None
            if owner is not None and held[owner].width == form.width and self.is_equal(
                    firsts[place], firsts[owner]) and all(
                        v.times() == sum_at(state, owner, form.width).times()
                        for v, state in zip(ends, backs)):
                found[place] = forms[owner]
        return found

    def per_pass(self, one, passes):
        """(the Stretch of pass 0, how many products a pass adds) of what pass `passes` adds."""
        moves = [t.signed(t.linear(end.first, 64)[0].get(t.ident(passes), (None, 0))[1], 64)
                 for end in one.ends]
        if not all(moves):
            return None
        single = t.is_int(one.length) and one.length == 1
        counts = {(1, 0)} if single else {divmod(move, end.step) for move, end in zip(moves, one.ends)}
        if len(counts) != 1 or min(counts)[1]:
            return None
        ends = [End(end.of, t.sub(end.first, t.scale(passes, move, 64), 64), move if single else end.step)
                for end, move in zip(one.ends, moves)]
        return one.with_ends(ends, 1, 1), min(counts)[0]

    def integers(self, state):
        """The ids of the sizes and counters on which the sums in a state depend."""
        products = set().union(*(self.of_whole_numbers(total) for total in sums_in(state)))
        return frozenset().union(*map(self.integers_of, products))

    def integers_of(self, product):
        """The same of a product."""
        if product not in self.behind:
            one = self.stretch_of(product)
            if type(one) is not Stretch:
                return frozenset()
            self.behind[product] = self.machine.sizes.symbols_in(
                [one.length, *(end.first for end in one.ends)])
        return self.behind[product]

    def wide_sums(self, state):
        """What the 64-bit sums of a state's memory are."""
        return frozenset((at, frozenset(cell[0].times().items())) for at, cell in state.memory.items()
                         if type(cell) is tuple and type(cell[0]) is sums.Sum and cell[0].width == 64)

    # --- conclusions -----------------------------------------------------------------------------

    def expect(self, code, width, expected, what):
        """Proves that code is the sum, modulo 2^width, of [(Stretch, times)] and of {number: times} of
        others."""
        self.machine.run.outputs += 1
        v = sum_of(code, width)
        stretches, others = expected
        if v is None and not t.is_int(code) or v is None and code:
            raise Refused(f"{what}: not a sum of products")
        if v is not None and not others and v.times() == self.counted(stretches):
            return
        own, rest = ([], {}) if v is None else self.stretches(v)
        if rest != others or not self.are_equal(own, stretches):
            raise Refused(f"{what}: differs from the contract")

    def counted(self, stretches):
        """{product: times} of [(Stretch, times)]; of one that no sum has yet, nothing."""
        found = {}
        for one, times in stretches:
            product = self.products.get(one.key())
            found[product] = found.get(product, 0) + times
        return found

    def named(self, code, stretches, what):
        """The only sum that code is made from, modulo 2^64, proved to be that of [(Stretch, times)]."""
        variables = [] if t.is_int(code) else self.machine.run.variables_of(code)
        found = [sums.FORMS[t.ident(v)] for v in variables if t.ident(v) in sums.FORMS]
        if len(found) > 1:
            raise Refused(f"{what}: of several sums")
        total = sums.Sum(64, found)
        own, rest = self.stretches(total)
        if rest or not self.are_equal(own, stretches):
            raise Refused(f"{what}: not the contract's sum")
        return total


def alternating(offsets, units, count):
    """Of {offsets of the ends: Stretch} the stretches that `count` at a time make up, each one unit behind
    the one before; None if not all are of one."""
    done = []
    while offsets:
        lowest = min(offsets)
        places = [tuple(low + k * unit for low, unit in zip(lowest, units)) for k in range(count)]
        if not all(place in offsets for place in places):
            return None
        one = [offsets.pop(place) for place in places][0]
        ends = [end._replace(step=unit) for end, unit in zip(one.ends, units)]
        done.append(one.with_ends(ends, t.scale(one.length, count, 64), one.most * count))
    return done


def sum_of(v, width):
    """A value as a Sum of this width; None if it is none."""
    if t.is_int(v):
        return sums.Sum(width, (), []) if v == 0 else None
    known = sums.as_sum(v, width)
    return known if known is not None and known.width == width else None


def places_of(unknown, state):
    """{place: bits} of sums among places that change, as they are in a state."""
    found = {}
    for place in unknown:
        if place[0] == "general":
            if not t.is_int(state.general[place[1]]):
                found[place] = 64 if sum_at(state, place, 64) is not None else 32
        elif place[0] in ("vector", "byte"):
            cell = cells_from(state, place, 1)[0]
            if cell is not None and not t.is_int(cell) and cell[1] == 0 and (
                    type(cell[0]) is sums.Sum or t.ident(cell[0]) in sums.FORMS):
                found[place] = cell[0].size()
    return {place: width for place, width in found.items() if sum_at(state, place, width) is not None}


def bytes_from(place, width):
    if place[0] == "general":
        return [place]
    return [(*place[:-1], place[-1] + k) for k in range(width // 8)]


def cells_from(state, place, count):
    if place[0] == "vector":
        return state.vectors[place[1]][place[2]:place[2] + count]
    return [state.memory.get(place[1] + k) for k in range(count)]


def sum_at(state, place, width):
    """The sum at a place; None if none is there."""
    if place[0] == "general":
        v = state.general[place[1]]
        is_whole = width == 64 or same(t.extract(v, width, 64 - width), 0)
        return sum_of(t.extract(v, 0, width), width) if is_whole else None
    cells = cells_from(state, place, width // 8)
    return None if None in cells or len(cells) < width // 8 else sum_of(t.from_cells(cells), width)


def write(state, place, v, width):
    if place[0] == "general":
        state.general[place[1]] = t.zero_extend(v, width, 64)
        return
    cells = t.to_cells(v, width)
    if place[0] == "byte":
        state.memory.update(zip(range(place[1], place[1] + len(cells)), cells))
    else:
        own = list(state.vectors[place[1]])
        own[place[2]:place[2] + len(cells)] = cells
        state.vectors[place[1]] = own


def sums_in(state):
    """Every Sum of a state."""
    found = {id(v): v for v in state.general.values() if type(v) is sums.Sum}
    for cells in (*state.vectors, state.memory.values()):
        found |= {id(cell[0]): cell[0] for cell in cells if type(cell) is tuple and type(cell[0]) is sums.Sum}
    return list(found.values())
