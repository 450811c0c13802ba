"""What a term of unsigned words is as an integer: a linear form in products and quotients.

Every value is written exactly, over Z, as a sum of products, of quotients floor(F / 2^k) of such
sums, and of a constant; with it goes an interval that the operations allow. The low k bits of F are
F - 2^k floor(F / 2^k), so folding modulo p = 2^e - 1 leaves a form whose quotients have coefficients
that p divides. If the products that are left are those of the contract, modulo p, and the value is
below p, then it is the contract's residue; no solver is asked."""

import z3

import terms as t


class Inexact(Exception):
    """A term that has no form here: what was found."""


class Value:
    """sum of coefficient * atom, plus a constant; least <= value <= greatest."""

    def __init__(self, form, constant, least, greatest):
        self.form = {atom: c for atom, c in form.items() if c}
        self.constant, self.least, self.greatest = constant, least, greatest

    def key(self):
        return tuple(sorted(self.form.items())), self.constant

    def plus(self, other, factor=1):
        form = dict(self.form)
        for atom, c in other.form.items():
            form[atom] = form.get(atom, 0) + factor * c
        ends = factor * other.least, factor * other.greatest
        return Value(form, self.constant + factor * other.constant, self.least + min(ends),
                     self.greatest + max(ends))

    def within(self, least, greatest):
        return Value(self.form, self.constant, max(self.least, least),
                     min(self.greatest, greatest))


def number(n):
    return Value({}, n, n, n)


def addends(term):
    """What a sum adds."""
    if t.kind(term) != z3.Z3_OP_BADD:
        return [term]
    return [part for child in term.children() for part in addends(child)]


class Integers:
    """The forms of terms modulo p = 2^bits - 1. Atoms are (kind, number); their ranges are kept."""

    def __init__(self, bits):
        self.bits, self.p = bits, (1 << bits) - 1
        self.values, self.names, self.ranges, self.kept = {}, {}, {}, []

    def atom(self, key, least, greatest):
        """The atom of a key with its range, as a value."""
        atom = self.names.setdefault(key, len(self.names))
        known = self.ranges.get(atom, (least, greatest))
        self.ranges[atom] = max(known[0], least), min(known[1], greatest)
        return Value({atom: 1}, 0, least, greatest)

    def bounds(self, form, constant):
        """The interval that the ranges of the atoms give a form."""
        least = greatest = constant
        for atom, c in form.items():
            ends = [c * end for end in self.ranges[atom]]
            least, greatest = least + min(ends), greatest + max(ends)
        return least, greatest

    def quotient(self, v, k):
        """floor(v / 2^k)."""
        unit, least, greatest = 1 << k, v.least >> k, v.greatest >> k
        if least == greatest:
            return number(least)
        whole = {atom: c // unit for atom, c in v.form.items() if c % unit == 0}
        rest = {atom: c for atom, c in v.form.items() if c % unit}
        result = Value(whole, v.constant // unit, 0, 0)
        left = v.constant % unit
        low, high = (end >> k for end in self.bounds(rest, left))
        if low == high:
            result.constant += low
        else:
            result = result.plus(self.nested(rest, left, k, low, high))
        result.least, result.greatest = least, greatest
        return result

    def nested(self, form, constant, k, least, greatest):
        """The same of a form without multiples of 2^k: a quotient of a quotient is one."""
        if constant == 0 and list(form.values()) == [1]:
            key = self.key_of(next(iter(form)))
            if key[0] == "quotient":
                return self.atom(("quotient", key[1], key[2] + k), least, greatest)
        return self.atom(("quotient", (tuple(sorted(form.items())), constant), k), least, greatest)

    def key_of(self, atom):
        return next(key for key, number_ in self.names.items() if number_ == atom)

    def wrapped(self, v, width):
        """v modulo 2^width."""
        over = self.quotient(v, width)
        result = v.plus(over, -(1 << width))
        if over.form or over.constant:
            result.least, result.greatest = 0, (1 << width) - 1
        else:
            result.least, result.greatest = v.least, v.greatest
        return result

    # --- terms -----------------------------------------------------------------------------------

    def of(self, term):
        if t.is_int(term):
            return number(term)
        key = term.get_id()
        if key not in self.values:
            self.kept.append(term)
            self.values[key] = self.evaluate(term)
        return self.values[key]

    def evaluate(self, term):
        width, kind = term.size(), t.kind(term)
        if z3.is_bv_value(term):
            return number(term.as_long())
        if key := t.PRODUCTS.get(term.get_id()):
            least, greatest = t.RANGE[term.get_id()]
            return self.atom(("product", *(str(o) for o in key)), least, greatest)
        if kind == z3.Z3_OP_EXTRACT:
            high, low = term.params()
            return self.bits_of(term, low, high + 1)
        if kind == z3.Z3_OP_CONCAT:
            total, shift = number(0), 0
            for part in reversed(term.children()):
                total = total.plus(self.of(part), 1 << shift)
                shift += part.size()
            return total
        return self.wrapped(self.sum_of(term), width)

    def bits_of(self, term, low, end):
        source = term.arg(0)
        if low == 0 and end == self.bits and (residue := self.canonical(source)):
            return residue
        v = self.of(source)
        return self.wrapped(self.quotient(v, low), end - low)

    def sum_of(self, term):
        """A sum before it wraps."""
        kind, parts = t.kind(term), term.children()
        if kind == z3.Z3_OP_BADD:
            total = number(0)
            for part in parts:
                total = total.plus(self.sum_of(part))
            return total
        if kind == z3.Z3_OP_BMUL and z3.is_bv_value(parts[1]):
            return number(0).plus(self.of(parts[0]), parts[1].as_long())
        if kind == z3.Z3_OP_BSHL and z3.is_bv_value(parts[1]):
            return number(0).plus(self.of(parts[0]), 1 << parts[1].as_long())
        if kind == z3.Z3_OP_BNEG:
            return number(0).plus(self.of(parts[0]), -1)
        if kind in (z3.Z3_OP_EXTRACT, z3.Z3_OP_CONCAT) or z3.is_bv_value(term) or (
                term.get_id() in t.PRODUCTS):
            return self.of(term)
        raise Inexact(f"no form of {str(term)[:200]}")

    def canonical(self, source):
        """The low bits of x + ((x + 1) >> bits) for 0 <= x < 2 p: x, or x - p from p on (RING-1).
        None if the term is not of this form."""
        for carry in addends(source):
            parts = carry.children()
            if t.kind(carry) != z3.Z3_OP_CONCAT or not t.is_zero(parts[0]) or len(parts) != 2:
                continue
            bit = parts[1]
            if t.kind(bit) != z3.Z3_OP_EXTRACT or bit.params()[1] != self.bits:
                continue
            x = self.of(t.sub(source, carry, source.size()))
            following = self.of(bit.arg(0))
            if following.greatest >> bit.params()[0] + 1 or x.least < 0 or x.greatest >= 2 * self.p:
                continue
            if following.key() != x.plus(number(1)).key():
                continue
            over = self.atom(("from p on", x.key()), 0, 1)
            result = x.plus(over, -self.p)
            return result.within(0, self.p - 1)
        return None

    # --- the conclusion --------------------------------------------------------------------------

    def is_residue_of(self, code, expected):
        """Whether code is sum(coefficient * product) mod p, of expected: {(name, name): coefficient}.
        What was found instead, or None."""
        v = self.of(code)
        if v.least < 0 or v.greatest >= self.p:
            return f"the result is only known to be in {v.least} .. {v.greatest}"
        left = {("product", *pair): c for pair, c in expected.items()}
        found = {self.key_of(atom): c for atom, c in v.form.items()}
        for key in set(left) | set(found):
            if (found.get(key, 0) - left.get(key, 0)) % self.p:
                return f"{str(key)[:120]} counts {found.get(key, 0)} times, not {left.get(key, 0)}"
        return None if v.constant % self.p == 0 else f"the constant is {v.constant}"
