"""Sizes, counters and pointers as integers.

Registers hold them as bit-vectors in the normal form of terms.py. What is claimed of them is decided
over Z: a term of `width` bits is its integer value, a sum is the sum of its atoms less a multiple of
2^width, which is exact. Symbols are what the contract leaves open, each with the facts that the contract
gives, and counters of loops, which are integers without a bound. A term of anything else is data, of
which nothing here may depend."""

import math
import operator

import z3

import terms as t
from machine import Exhausted, Refused, same

# What Z3 may spend on one query, in its own units, which do not depend on how busy the machine is: a quick
# try, and the second one. No query of a proof needs a tenth of the first.
WORK = 500_000, 20_000_000
# The same on all queries of a proof that no quick try decides.
PROOF = 1_000_000_000
SMALL = 1 << 26, 1 << 32  # ends of factors, whose product has 64 bits


ROWS = 1, 4  # rows that a pass takes of a matrix: counted together, their bounds are too


INTEGERS = {}  # id of a claim -> the claim, its integers, their ids


class Data(Refused):
    """A term depends on more than sizes."""

    def __init__(self, term):
        super().__init__(f"an address or a size depends on data, {str(term)[:100]}")


RELATIONS = {z3.Z3_OP_ULT: operator.lt, z3.Z3_OP_ULEQ: operator.le, z3.Z3_OP_UGT: operator.gt,
             z3.Z3_OP_UGEQ: operator.ge, z3.Z3_OP_SLT: operator.lt, z3.Z3_OP_SLEQ: operator.le,
             z3.Z3_OP_SGT: operator.gt, z3.Z3_OP_SGEQ: operator.ge, z3.Z3_OP_EQ: operator.eq}
SIGNED = {z3.Z3_OP_SLT, z3.Z3_OP_SLEQ, z3.Z3_OP_SGT, z3.Z3_OP_SGEQ}
OPPOSITE = {operator.lt: operator.ge, operator.le: operator.gt, operator.gt: operator.le,
            operator.ge: operator.lt, operator.eq: operator.ne}


def parts_in(root):
    """A term and all that it is made of."""
    seen, stack = {}, [root]
    while stack:
        node = stack.pop()
        if node.get_id() not in seen:
            seen[node.get_id()] = node
            stack += node.children()
    return list(seen.values())


def divided(v, by):
    """The index of an element from its offset; None if it is between two for some sizes."""
    if by == 1:
        return v
    atoms, constant = t.linear(v, 64)
    factors = [t.signed(number, 64) for number in (constant, *(c for _, c in atoms.values()))]
    if any(number % by for number in factors):
        return None
    return t.build({i: (atom, t.signed(c, 64) // by) for i, (atom, c) in atoms.items()},
                   t.signed(constant, 64) // by, 64)


def conjuncts(claim, holds=True):
    """Claims that all hold just if a claim does, or does not; each speaks of as little as possible."""
    kind, parts = t.kind(claim), t.parts_of(claim)
    if kind == z3.Z3_OP_NOT:
        return conjuncts(parts[0], not holds)
    if kind == (z3.Z3_OP_AND if holds else z3.Z3_OP_OR):
        return [one for part in parts for one in conjuncts(part, holds)]
    if kind == z3.Z3_OP_EQ and t.kind(parts[0]) == z3.Z3_OP_ITE and all(
            map(z3.is_int_value, (parts[1], *t.parts_of(parts[0])[1:]))):
        here, *sides = t.parts_of(parts[0])
        is_equal = [side.eq(parts[1]) for side in sides]
        if is_equal[0] != is_equal[1]:
            return conjuncts(here, holds == is_equal[0])
    return [claim if holds else z3.Not(claim)]


def integers_in(claim):
    """The ids of its integers."""
    if claim.get_id() not in INTEGERS:
        found = [node for node in parts_in(claim)
                 if z3.is_const(node) and node.decl().kind() == z3.Z3_OP_UNINTERPRETED]
        INTEGERS[claim.get_id()] = claim, found, frozenset(node.get_id() for node in found)
    return INTEGERS[claim.get_id()][2]


def is_bit(v):
    """Whether a term shows that it is 1 or 0."""
    if t.is_number(v):
        return v.as_long() < 2
    return t.is_bit(v) or t.kind(v) in (z3.Z3_OP_BOR, z3.Z3_OP_BAND) and all(map(is_bit, t.parts_of(v)))


class Contradictions:
    """Which facts on integers contradict each other. Facts that differ from earlier ones in the names of
    integers alone are not given to the solver again."""

    def __init__(self, work=WORK):
        self.known, self.kept, self.queries, self.work = {}, [], 0, work
        self.spent = 0  # of Z3's units, on queries that no quick try decides

    def holds(self, facts, forms):
        """Whether no integers satisfy all facts; forms: of each, its id and those of its integers, in which
        alone it differs from others of the same id."""
        names = {}
        key = tuple((number, *(names.setdefault(i, len(names)) for i in own)) for number, own in forms)
        if key not in self.known:
            self.known[key] = self.solved(facts)
        return self.known[key]

    def form(self, fact):
        """(id, ids of integers) of a fact."""
        integers_in(fact)
        own = INTEGERS[fact.get_id()][1]
        nameless = z3.substitute(fact, *((v, z3.Const(f"#{k}", v.sort())) for k, v in enumerate(own)))
        self.kept.append(nameless)
        return nameless.get_id(), [v.get_id() for v in own]

    def solved(self, facts):
        """A quick try first. What it does not decide is tried in a context of its own, with more work in the
        end: the solver orders terms by when they were made, so that in the context of all proofs its way
        depends on what was proved before. What no try decides is not proved."""
        self.queries += 1
        quick, work = self.work
        answer = checked(z3.SimpleSolver(), facts, quick)
        if answer == z3.unknown:
            context = z3.Context()
            own = [fact.translate(context) for fact in facts]
            for solver, most in ((z3.SimpleSolver(ctx=context), quick),
                                 (z3.SolverFor("QF_LIA", context), work)):
                answer = checked(solver, own, most)
                if answer != z3.unknown:
                    break
            self.spent += quick + solver.statistics().get_key_value("rlimit count")  # of both
        return answer == z3.unsat


def checked(solver, facts, work):
    """The solver's answer to whether all facts can hold, if it may spend so much."""
    solver.set("rlimit", work)
    solver.add(*facts)
    return solver.check()


class Sizes:
    def __init__(self, fixed=(), contradictions=None, work=PROOF):
        """`fixed`: {name: number} of symbols that are not left open; `contradictions`: what is known of them
        already; `work`: what the solver may spend, in its own units."""
        INTEGERS.clear()
        self.fixed, self.contradictions, self.forms = dict(fixed), contradictions or Contradictions(), {}
        self.work, self.limit = work, self.contradictions.spent + work
        self.symbols, self.counters, self.few = {}, set(), set()
        self.values, self.ranges, self.kept = {}, {}, []
        self.ages = {}   # id of a symbol's integer -> the number of symbols before it
        self.bases = {}  # id of an integer -> ids of the symbols' integers that it depends on
        self.inner = set()  # ids of the integers of counters
        self.quotients = {}  # id of a term, by what power of 2 -> remainder and quotient
        self.monomials = {}  # ids of integers -> the integer of their product
        self.products = {}  # ids of two terms -> the symbol of their product, None of a term of data
        self.divisions = {}  # ids of two terms -> the symbols of their quotient and remainder
        self.dividends = {}  # id of a quotient, and of its divisor -> what it is of, without what is left
        self.groups = {}  # id of a term, by what power of 2 -> what the contract calls the quotient
        self.factors = []   # (a, b, symbol) of those that have one
        self.factors_of = {}  # id of a symbol -> the two whose product it is
        self.facts, self.auxiliary = {}, 0
        self.born = {}  # id of such a fact -> the number of what was kept before it
        self.proved, self.pointers = {}, set()

    # --- symbols ---------------------------------------------------------------------------------

    def symbol(self, name, least, greatest, few=False):
        """A register's worth of an unknown number in a range; `few`: of so few values that a loop of
        so many passes is executed pass by pass."""
        if name in self.fixed:
            return self.fixed[name]
        v, number = self.declared(name)
        self.ranges[t.ident(v)] = least, greatest
        self.assume([number], number >= least, number <= greatest)
        if few:
            self.few.add(t.ident(v))
        return v

    def counter(self, name):
        """The number of passes of a loop that lie behind."""
        v, number = self.declared(name)
        self.counters.add(t.ident(v))
        self.inner.add(number.get_id())
        self.assume([number], number >= 0)
        return v

    def declared(self, name):
        """(the term, the integer) of a new symbol."""
        v, number = z3.BitVec(name, 64), z3.Int(name)
        self.symbols[t.keep(v)], t.SIZES[t.ident(v)] = number, v
        self.ages[number.get_id()] = len(self.symbols)
        self.bases[number.get_id()] = frozenset([number.get_id()])
        return v, number

    def product(self, name, few, size):
        """The product of a symbol of few values and a size."""
        if t.is_int(few) or t.is_int(size):
            return self.product_of(few, size)
        v = self.symbol(name, 0, 1 << 63)
        self.products[frozenset((t.ident(few), t.ident(size)))] = v
        self.factors_of[t.ident(v)] = few, size
        self.factors.append((few, size, v))
        least, greatest = self.ranges[t.ident(few)]
        for number in range(least, greatest + 1):
            self.assume([self.total(v)], z3.Implies(
                self.total(few) == number, self.total(v) == number * self.total(size)))
        return v

    def named_quotient(self, v, power, name):
        """The symbol of a sum of sizes divided by a power of 2, without what is left."""
        number, unit = self.total(v), 1 << power
        if t.is_int(v):
            return v >> power
        _, greatest = self.bounds(v)
        quotient = self.symbol(name, 0, greatest >> power)
        own = self.total(quotient)
        self.assume([own], unit * own <= number, number < unit * own + unit)
        self.groups[t.keep(v), power] = quotient
        return quotient

    def division(self, a, b):
        """The symbols of a quotient and of a remainder of numbers that depend on sizes and counters alone;
        a Data otherwise. Of a divisor that is 0 nothing is known of them."""
        key = tuple(v if t.is_int(v) else ("term", t.keep(v)) for v in (a, b))
        if key not in self.divisions:
            values, number = [self.value(v) for v in (a, b)], len(self.divisions)
            found = [self.declared(f"{what}[{number}]") for what in ("quotient", "remainder")]
            (quotient, whole), (left, rest) = found
            for v, one in found:
                self.ranges[t.ident(v)] = 0, t.mask(64)
                self.bases[one.get_id()] |= self.symbols_in((a, b))
                self.assume([one], one >= 0)
            self.assume([whole], whole <= values[0], z3.Implies(
                z3.And(values[1] >= 1, values[0] >= values[1]), whole >= 1))
            self.assume([rest], rest <= values[0], z3.Implies(values[1] >= 1, rest < values[1]))
            self.divisions[key] = quotient, left
            self.dividends[t.ident(quotient), key[1]] = t.sub(a, left, 64)
        return self.divisions[key]

    def dividend_of(self, quotient, divisor):
        """What a quotient by a divisor other than 0 was made from, without what is left; None of others."""
        key = divisor if t.is_int(divisor) else ("term", t.keep(divisor))
        return None if t.is_int(quotient) else self.dividends.get((t.ident(quotient), key))

    def name_division(self, a, b, quotient, rest):
        """What a contract calls the quotient and the remainder of two numbers, which they must be."""
        x, whole, left = (self.total(v) for v in (a, quotient, rest))
        if not t.is_int(b) or not all(self.holds(claim, []) for claim in (
                x == b * whole + left, left >= 0, left < b, x < 1 << 64)):
            raise Refused("what a contract calls a quotient is none")
        if not t.is_int(a):
            self.divisions[("term", t.keep(a)), b] = quotient, rest

    def counted_product(self, a, b):
        """The product of two numbers, modulo 2^64, of which one depends on a counter; None of others."""
        for passes, size in ((a, b), (b, a)):
            atoms, others = t.linear(passes, 64)[0], t.linear(size, 64)[0]
            if set(atoms) & self.counters and not set(others) & self.counters and all(
                    key in self.symbols for key in (*atoms, *others)):
                try:
                    return self.multiple(passes, size)
                except Refused:
                    return None
        return None

    def multiple(self, passes, size):
        """The product of a sum with a counter and a sum of sizes."""
        (atoms, constant), (others, number) = t.linear(passes, 64), t.linear(size, 64)
        counters = {i: one for i, one in atoms.items() if i in self.counters}
        first = t.sub(passes, t.build(counters, 0, 64), 64)
        begin = t.scale(size, constant, 64) if len(counters) == len(atoms) else self.product_of(first, size)
        if begin is None:
            raise Refused("a product of sizes that may wrap")
        parts = [(begin, 1), (t.build(counters, 0, 64), number)]
        parts += [(self.counted(counter, one), t.signed(c, 64) * t.signed(d, 64))
                  for counter, c in counters.values() for one, d in others.values()]
        return t.total(parts, 64)

    def counted(self, counter, size):
        """The symbol of the product of a counter and a size. Known of it is that it grows (`growth`)."""
        key = frozenset(map(t.keep, (counter, size)))
        if self.products.get(key) is None:
            v, product = self.declared(f"counted[{len(self.products)}]")
            self.counters.add(t.ident(v))
            passes, one = (self.symbols[t.ident(of)] for of in (counter, size))
            self.bases[product.get_id()] |= {passes.get_id()}
            self.assume([product], product >= 0, z3.Implies(passes == 0, product == 0))
            self.assume([product], *self.growth(passes, product, size, one))
            self.products[key], self.factors_of[t.ident(v)] = v, (counter, size)
        return self.products[key]

    def rows_of(self, v, length):
        """(row, what is behind its beginning) of an offset among rows of a length, by the products that it
        adds."""
        rows, rest = [], []
        for key, (atom, factor) in t.linear(v, 64)[0].items():
            others = [other for one, other in zip(self.factors_of.get(key, ()), reversed(
                self.factors_of.get(key, ()))) if same(one, length)]
            if same(atom, length):
                rows.append((1, factor))
            elif others:
                rows.append((others[0], factor))
            else:
                rest.append((atom, factor))
        return t.total(rows, 64), t.total([*rest, (t.linear(v, 64)[1], 1)], 64)

    def row_of(self, v, length):
        """The row that begins at an offset, of rows of a length; None if that is not seen."""
        if t.is_int(length):
            return divided(v, length) if length else 0
        (_, (atom, factor)), = t.linear(length, 64)[0].items()
        row, rest = self.rows_of(v, atom)
        return divided(row, factor) if t.is_int(rest) and rest == 0 else None

    def parted(self, v, by):
        """(a, b) with v = a by + b, where a has what v adds of multiples of a number."""
        atoms, constant = t.linear(v, 64)
        whole = {key: one for key, one in atoms.items() if t.signed(one[1], 64) % by == 0}
        above = t.build(whole, t.signed(constant, 64) // by * by & t.mask(64), 64)
        return divided(above, by), t.sub(v, above, 64)

    def growth(self, passes, product, size, one):
        """Before the last of so many steps of a size, or of so many times ROWS, there is one less than their
        product; and also where other steps come before."""
        known = [(self.value(b if same(a, size) else a), self.total(whole)) for a, b, whole in self.factors
                 if same(a, size) or same(b, size)]
        for count, whole in known:
            for rows in ROWS:
                for more in range(1, rows + 1):
                    yield z3.Implies(rows * passes + more <= count, rows * product + more * one <= whole)
                    yield z3.Implies(rows * passes + more >= count, rows * product + more * one >= whole)
            for before, begin in known:
                if begin is not whole:
                    yield z3.Implies(before + passes + 1 <= count, begin + product + one <= whole)

    def product_of(self, a, b):
        """The symbol of a product that the contract speaks of, or of one of two numbers that depend on sizes
        alone and are proved to be small; None of others."""
        if t.is_int(a) or t.is_int(b):
            return t.scale(b, a, 64) if t.is_int(a) else t.scale(a, b, 64)
        units = [self.unit(v) for v in (a, b)]
        if units != [1, 1]:
            whole = self.product_of(*(divided(v, by) for v, by in zip((a, b), units)))
            return None if whole is None else t.scale(whole, math.prod(units), 64)
        key = frozenset(map(t.keep, (a, b)))
        if key not in self.products:
            whole = self.products[key] = self.small_product(a, b, len(self.products))
            if whole is not None:
                self.factors.append((a, b, whole))
                self.factors_of[t.ident(whole)] = a, b
        return self.products[key]

    def unit(self, v):
        """The number that a sum is a multiple of, by its coefficients; 1 of one that may wrap."""
        atoms, constant = t.linear(v, 64)
        unit = math.gcd(*(t.signed(factor, 64) for factor in (constant, *(c for _, c in atoms.values()))))
        if unit > 1 and all(key in self.symbols for key in atoms):
            total = self.total(v)
            return unit if self.holds(z3.And(total >= 0, total < SMALL[-1]), []) else 1
        return 1

    def small_product(self, a, b, number):
        try:
            values = [self.value(v) for v in (a, b)]
        except Data:
            return None
        ends = [next((end for end in SMALL if self.holds(v < end, [])), None) for v in values]
        if None in ends or self.symbols_in((a, b)) & self.inner:
            return None
        v, product = self.declared(f"product[{number}]")
        self.ranges[t.ident(v)] = 0, ends[0] * ends[1]
        self.assume([product], product >= 0, product < ends[0] * ends[1],
                    product == self.linear_in_monomials(values[0] * values[1]),
                    *(z3.Implies(one >= 1, product >= other) for one, other in (values, values[::-1])))
        return v

    def linear_in_monomials(self, v):
        """A polynomial as a sum, in which each product of integers is an integer of its own: so products of
        equal sums are equal without a solver for products."""
        v, pairs = z3.simplify(v, som=True), []
        for node in parts_in(v):
            factors = [part for part in node.children() if not z3.is_int_value(part)]
            if z3.is_mul(node) and len(factors) > 1:
                key = tuple(sorted(part.get_id() for part in factors))
                if key not in self.monomials:
                    self.kept.append(factors)
                    one = self.monomials[key] = self.integer(0)
                    self.bases[one.get_id()] = frozenset().union(*map(self.bases_of, factors))
                numbers = [part.as_long() for part in node.children() if z3.is_int_value(part)]
                pairs.append((node, math.prod(numbers) * self.monomials[key]))
        return z3.substitute(v, *pairs)

    def assume(self, of, *facts):
        """What the contract says of some integers, or what defines one. It counts where all of these are
        spoken of."""
        for fact in facts:
            subjects = frozenset(number.get_id() for number in of if not t.is_int(number))
            entry = fact, subjects, integers_in(fact), self.born.setdefault(fact.get_id(), len(self.kept))
            self.kept.append(entry)
            for number in subjects:
                self.facts.setdefault(number, []).append(entry)

    # --- terms -----------------------------------------------------------------------------------

    def total(self, v, width=64):
        """The sum that a term is, with signed coefficients, before it is reduced modulo 2^width."""
        if t.is_int(v):
            return t.signed(v, width)
        atoms, constant = t.linear(v, width)
        parts = [t.signed(constant, width)] if constant else []
        for key, (atom, factor) in atoms.items():
            number = self.symbols[key] if key in self.symbols else self.value(atom)
            parts.append(number if factor == 1 else t.signed(factor, width) * number)
        return sum(parts[1:], parts[0]) if parts else 0

    def bounds(self, v):
        """(least, greatest) of total(v), None where there is no bound."""
        width = t.width_of(v)
        atoms, constant = t.linear(v, width)
        low = high = t.signed(constant, width)
        for key, (atom, factor) in atoms.items():
            if key in self.counters:
                return None
            self.value(atom)
            ends = [t.signed(factor, width) * end for end in self.ranges[key]]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def value(self, v, width=None):
        """The integer that a term is, without a sign: a number or a term of Z3's."""
        if t.is_int(v):
            return v
        key = t.keep(v)
        if key in self.symbols and key not in self.counters:
            return self.symbols[key]
        if key not in self.values:
            self.values[key] = self.evaluated(v)
        return self.values[key]

    def evaluated(self, v):
        width, kind, key = t.width_of(v), t.kind(v), t.ident(v)
        self.ranges[key] = 0, t.mask(width)
        if key in t.LINEAR or key in self.counters:
            return self.wrapped(v, width)
        parts = t.parts_of(v)
        if kind == z3.Z3_OP_BNUM:
            self.ranges[key] = v.as_long(), v.as_long()
            return v.as_long()
        if kind == z3.Z3_OP_CONCAT:
            total, at, least, greatest = 0, 0, 0, 0
            for part in reversed(parts):
                total = total + self.value(part) * (1 << at)
                low, high = self.ranges[t.ident(part)]
                at, least, greatest = at + t.width_of(part), least + (low << at), greatest + (high << at)
            self.ranges[key] = least, greatest
            return total
        if kind == z3.Z3_OP_EXTRACT:
            return self.bits(v, parts[0], t.lowest(v), width)
        if kind == z3.Z3_OP_SIGN_EXT:
            size = t.width_of(parts[0])
            inner = self.value(parts[0])
            return z3.If(inner >= 1 << size - 1, inner + (1 << width) - (1 << size), inner)
        if kind == z3.Z3_OP_ITE:
            return z3.If(self.condition(parts[0]), *map(self.value, parts[1:]))
        if is_bit(v):
            return z3.If((z3.Or if kind == z3.Z3_OP_BOR else z3.And)(
                [self.value(part) == 1 for part in parts]), 1, 0)
        if kind == z3.Z3_OP_BOR:
            values, either = [self.value(part) for part in parts], self.integer(v)
            self.assume([either], *(either >= one for one in values), either <= z3.IntVal(0) + sum(values))
            return either
        raise Data(v)

    def bits(self, key, v, low, width):
        """Bits low .. low + width - 1, which `key` is."""
        self.value(v)
        greatest, quotient = self.ranges[t.ident(v)][1], self.divided(v, low)[1]
        if greatest >> low + width == 0:
            self.ranges[t.ident(key)] = 0, greatest >> low
            return quotient
        if low == 0:
            return self.divided(v, width)[0]
        here = self.unknown(v, 1 << width)
        self.assume([here], quotient == here + self.divided(v, low + width)[1] * (1 << width))
        return here

    def divided(self, v, by):
        """(remainder, quotient) of the division by 2^by, the same integers whoever asks."""
        key, value = (t.ident(v), by), self.value(v)
        if by == 0:
            return 0, value
        if key not in self.quotients:
            parts = [self.unknown(v, end) for end in (1 << by, (self.ranges[key[0]][1] >> by) + 1)]
            for part in parts:
                if not t.is_int(part):
                    self.assume([part], value == parts[0] + parts[1] * (1 << by))
            self.quotients[key] = parts
        return self.quotients[key]

    def unknown(self, of, end):
        """An integer that a term defines, of which 0 <= it < end; 0 if that is the only one."""
        if end == 1:
            return 0
        v = self.integer(of)
        self.assume([v], v >= 0, v < end)
        return v

    def integer(self, of):
        self.auxiliary += 1
        v = z3.Int(f"auxiliary[{self.auxiliary}]")
        self.kept.append(v)
        self.bases[v.get_id()] = self.symbols_in([of])
        return v

    def symbols_in(self, terms):
        """The ids of the integers of symbols that some terms have."""
        seen, found, stack = set(), set(), [v for v in terms if not t.is_int(v)]
        while stack:
            node = stack.pop()
            key = t.ident(node)
            if key not in seen:
                seen.add(key)
                if key in self.symbols:
                    found |= self.bases[self.symbols[key].get_id()]
                stack += t.parts_of(node)
        return frozenset(found)

    def bases_of(self, claim):
        """The same of a claim on integers."""
        return frozenset().union(*(self.bases[number] for number in integers_in(claim)))

    def loops_behind(self, claim):
        """Those of them that are counters of loops."""
        return self.bases_of(claim) & self.inner

    def is_claim_on(self, counter, claim):
        """Whether a claim is of a counter, and of nothing else that depends on it or is younger."""
        number = self.symbols[t.ident(counter)].get_id()
        return number in integers_in(claim) and all(
            self.ages[base] < self.ages[number] for of in integers_in(claim) - {number}
            for base in self.bases[of])

    def wrapped(self, v, width):
        total, known = self.total(v, width), self.bounds(v)
        if known and 0 <= known[0] and known[1] < 1 << width:
            self.ranges[t.ident(v)] = known
            return total
        over = self.integer(v)
        value = total - over * (1 << width)
        self.assume([over], value >= 0, value < 1 << width)
        return value

    def condition(self, c):
        """A condition of bit-vectors as one of integers."""
        if isinstance(c, bool):
            return z3.BoolVal(c)
        kind, parts = t.kind(c), t.parts_of(c)
        if kind in (z3.Z3_OP_TRUE, z3.Z3_OP_FALSE):
            return c
        if kind in (z3.Z3_OP_AND, z3.Z3_OP_OR, z3.Z3_OP_NOT, z3.Z3_OP_XOR) or (
                kind == z3.Z3_OP_EQ and z3.is_bool(parts[0])):
            inner = [self.condition(part) for part in parts]
            return {z3.Z3_OP_AND: z3.And, z3.Z3_OP_OR: z3.Or, z3.Z3_OP_NOT: z3.Not, z3.Z3_OP_XOR: z3.Xor,
                    z3.Z3_OP_EQ: operator.eq}[kind](*inner)
        if kind not in RELATIONS:
            raise Data(c)
        if kind == z3.Z3_OP_EQ:
            parts = self.sides_of_equality(*parts)
        sides = [self.value(part) for part in parts]
        if kind in SIGNED:
            width = t.width_of(parts[0])
            sides = [t.signed(side, width) if t.is_int(side) else
                     z3.If(side >= 1 << width - 1, side - (1 << width), side) for side in sides]
        claim = RELATIONS[kind](*sides)
        return z3.BoolVal(claim) if isinstance(claim, bool) else claim

    def sides_of_equality(self, a, b):
        """What is compared for equality. If it is one term and a number, the term stands without its sign.
        Pointers to one array are equal if their offsets are, of which alone it is spoken then."""
        width = t.width_of(a)
        difference = t.sub(a, b, width)
        atoms, constant = t.linear(difference, width)
        if [factor for _, factor in atoms.values()] in ([1], [t.mask(width)]):
            (atom, sign), = atoms.values()
            return atom, (-constant if sign == 1 else constant) & t.mask(width)
        return (difference, 0) if self.symbols_in((a, b)) & self.pointers else (a, b)

    def is_of_few(self, c):
        """Whether a condition depends on nothing but symbols of few values."""
        return all(t.ident(node) in self.few for node in parts_in(c)
                   if not t.parts_of(node) and t.kind(node) == z3.Z3_OP_UNINTERPRETED)

    def readings(self, c, holds=True):
        """What a condition says of the sums it compares, if none of them wraps: guesses, which are
        proved where they are used."""
        kind, parts = t.kind(c), t.parts_of(c)
        if kind == z3.Z3_OP_NOT:
            return self.readings(parts[0], not holds)
        if kind == z3.Z3_OP_OR and len(parts) == 2 and t.kind(parts[0]) in RELATIONS and (
                t.kind(parts[1]) == z3.Z3_OP_EQ):
            return self.comparison(operator.le, parts[0], holds)
        if kind in (z3.Z3_OP_AND, z3.Z3_OP_OR) and holds == (kind == z3.Z3_OP_AND):
            return [reading for part in parts for reading in self.readings(part, holds)]
        if kind in RELATIONS and not z3.is_bool(parts[0]):
            return self.comparison(RELATIONS[kind], c, holds)
        return []

    def comparison(self, relation, c, holds):
        a, b = t.parts_of(c)
        more = self.total(t.sub(a, b, t.width_of(a)), t.width_of(a))
        if t.is_int(more):
            return []
        relation = relation if holds else OPPOSITE[relation]
        return [more < 0, more > 0] if relation is operator.ne else [relation(more, 0)]

    # --- decisions -------------------------------------------------------------------------------

    def holds(self, claim, path):
        """Whether a claim is proved of all integers that a path, a list of facts, allows."""
        if isinstance(claim, bool):
            return claim
        key = claim.get_id(), tuple(fact.get_id() for fact in path)
        if key not in self.proved:
            self.kept.append((claim, list(path)))
            chosen = self.telling(claim, path)
            self.proved[key] = self.contradict([z3.Not(claim), *chosen, *self.background([claim, *chosen])])
        return self.proved[key]

    def contradict(self, facts):
        """Whether no integers satisfy all facts. `Exhausted` if the proof has taken all its work."""
        if self.contradictions.spent >= self.limit:
            raise Exhausted(f"the solver has spent all the work that a proof may take, {self.work} units")
        forms = []
        for fact in facts:
            key = fact.get_id()
            if key not in self.forms:
                self.kept.append(fact)
                self.forms[key] = self.contradictions.form(fact)
            forms.append(self.forms[key])
        return self.contradictions.holds(facts, forms)

    def telling(self, claim, path):
        """The facts of a path that speak of what the claim does, or of what other such facts do; of
        pointers only if the claim does."""
        spoken, chosen, left = self.spoken([claim]), [], list(path)
        with_pointers = bool(spoken & self.pointers)
        while True:
            more = [fact for fact in left if self.speaks(fact, spoken, with_pointers)]
            if not more:
                return chosen
            chosen += more
            left = [fact for fact in left if not any(fact is one for one in more)]
            spoken |= self.spoken(more)

    def spoken(self, claims):
        """The ids of the symbols' integers that claims and their definitions depend on."""
        return frozenset().union(*(self.bases[number] for number in self.closure(claims)))

    def speaks(self, fact, spoken, with_pointers):
        bases = self.bases_of(fact)
        return not bases or bool(bases & spoken) and (with_pointers or not bases & self.pointers)

    def closure(self, claims):
        """The integers that claims speak of, or what defines these."""
        spoken, new = set(), set().union(*map(integers_in, claims))
        while new:
            number = new.pop()
            if number not in spoken:
                spoken.add(number)
                for _, subjects, others, _ in self.facts.get(number, ()):
                    new |= others if subjects <= spoken else set()
        return spoken

    def background(self, claims):
        """What is assumed of the integers that claims speak of."""
        spoken = self.closure(claims)
        found = {age: fact for number in spoken for fact, subjects, _, age in self.facts.get(number, ())
                 if subjects <= spoken}
        return [found[age] for age in sorted(found)]
