"""What a term of unsigned words is as an integer: a linear form in variables and quotients.

Every value is written exactly, over Z, as a sum of variables, of quotients floor(F / 2^k) of such sums,
and of a constant; with it goes an interval that the operations allow. The low k bits of F are
F - 2^k floor(F / 2^k).

A remainder by a reciprocal is recognised: with M = ceil(2^k / p) and e = M p - 2^k, for all F with
0 <= F and F e < 2^k, floor(F M / 2^k) is floor(F / p), so F - p floor(F M / 2^k) is below p. (F M /
2^k = F / p + F e / (p 2^k) is less than 1 / p above F / p.) `lemma` checks this for small F and k. If the
form that is left is the contract's, modulo p, the value is the contract's remainder; no solver is
asked."""

import z3

import terms as t


def within_reach(greatest, p, k):
    """Whether the quotient by M = ceil(2^k / p) is right for all F up to `greatest`."""
    reciprocal = -(-(1 << k) // p)
    return greatest * (reciprocal * p - (1 << k)) < 1 << k


def lemma(primes):
    """Of `within_reach`, for all F of 12 bits and k up to 16: what is wrong, or None."""
    for p in primes:
        for k in range(8, 17):
            reciprocal = -(-(1 << k) // p)
            for f in range(1 << 12):
                if within_reach(f, p, k) and f * reciprocal >> k != f // p:
                    return f"the lemma of reciprocals: {f} modulo {p}"
    return None


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


class Integers:
    """The forms of terms modulo p. Atoms are (kind, number); `ranges`: {id: (least, greatest)} of the
    variables."""

    def __init__(self, p, ranges):
        self.p, self.of_variables = p, ranges
        self.values, self.names, self.ranges, self.kept, self.divided = {}, {}, {}, [], []

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
        self.divided.append((v, k, result))
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
        if term.get_id() in self.of_variables:
            return self.atom(("variable", term.get_id()), *self.of_variables[term.get_id()])
        if kind == z3.Z3_OP_EXTRACT:
            high, low = term.params()
            return self.bits_of(term, low, high + 1)
        if kind == z3.Z3_OP_SIGN_EXT:
            v = self.of(term.arg(0))
            if v.least >= 0 and v.greatest < 1 << term.arg(0).size() - 1:
                return v
        if kind == z3.Z3_OP_BOR:
            return self.side_by_side(*map(self.of, term.children()))
        if kind == z3.Z3_OP_CONCAT:
            total, shift = number(0), 0
            for part in reversed(term.children()):
                total = total.plus(self.of(part), 1 << shift)
                shift += part.size()
            return total
        if kind == z3.Z3_OP_SIGN_EXT:
            raise Inexact(f"no form of {str(term)[:200]}")
        total = self.sum_of(term)
        return self.remainder(total, width) or self.wrapped(total, width)

    def side_by_side(self, *values):
        """a OR b of which one is below a power of 2 that divides the other."""
        for low, high in (values, values[::-1]):
            unit = 1 << low.greatest.bit_length()
            if low.least >= 0 <= high.least and all(
                    n % unit == 0 for n in (high.constant, *high.form.values())):
                return low.plus(high)
        raise Inexact("a disjunction of bits that are not side by side")

    def bits_of(self, term, low, end):
        v = self.of(term.arg(0))
        return self.wrapped(self.quotient(v, low), end - low)

    def sum_of(self, term):
        """A sum before it wraps."""
        kind, parts, width = t.kind(term), term.children(), term.size()
        if z3.is_bv_value(term):  # what is added may be a negative number
            return number(t.signed(term.as_long(), width))
        if kind == z3.Z3_OP_BADD:
            total = number(0)
            for part in parts:
                total = total.plus(self.sum_of(part))
            return total
        if kind == z3.Z3_OP_BMUL and z3.is_bv_value(parts[1]):
            return number(0).plus(self.of(parts[0]), t.signed(parts[1].as_long(), width))
        if kind == z3.Z3_OP_BMUL and z3.is_bv_value(parts[0]):
            return number(0).plus(self.of(parts[1]), t.signed(parts[0].as_long(), width))
        if kind == z3.Z3_OP_BSUB:
            return self.sum_of(parts[0]).plus(self.sum_of(parts[1]), -1)
        if kind == z3.Z3_OP_BSHL and z3.is_bv_value(parts[1]):
            return number(0).plus(self.of(parts[0]), 1 << parts[1].as_long())
        if kind == z3.Z3_OP_BNEG:
            return number(0).plus(self.of(parts[0]), -1)
        if kind in (z3.Z3_OP_EXTRACT, z3.Z3_OP_CONCAT, z3.Z3_OP_SIGN_EXT, z3.Z3_OP_BOR) or (
                term.get_id() in self.of_variables):
            return self.of(term)
        raise Inexact(f"no form of {str(term)[:200]}")

    def remainder(self, total, width):
        """A sum modulo 2^width that is F - p floor(F / p) modulo it, as that integer; else None."""
        for scaled, k, quotient in self.divided:
            reciprocal = -(-(1 << k) // self.p)
            if k < 16 or scaled.constant % reciprocal or any(c % reciprocal for c in scaled.form.values()):
                continue
            form = {atom: c // reciprocal for atom, c in scaled.form.items()}
            v = Value(form, scaled.constant // reciprocal, scaled.least // reciprocal,
                      scaled.greatest // reciprocal)
            result = v.plus(quotient, -self.p)
            left = result.plus(total, -1)
            if v.least >= 0 and within_reach(v.greatest, self.p, k) and all(
                    number_ % (1 << width) == 0 for number_ in (left.constant, *left.form.values())):
                result.least, result.greatest = 0, self.p - 1
                return result
        return None

    # --- the conclusion --------------------------------------------------------------------------

    def is_residue_of(self, code, expected, constant):
        """Whether code is the sum of expected variables and a constant mod p. What was found instead, or
        None."""
        v = self.of(code)
        if v.least < 0 or v.greatest >= self.p:
            return f"the result is only known to be in {v.least} .. {v.greatest}"
        left = {("variable", variable.get_id()): 1 for variable in expected}
        found = {self.key_of(atom): c for atom, c in v.form.items()}
        for key in set(left) | set(found):
            if (found.get(key, 0) - left.get(key, 0)) % self.p:
                return f"{str(key)[:120]} counts {found.get(key, 0)} times, not {left.get(key, 0)}"
        return None if (v.constant - constant) % self.p == 0 else f"the constant is {v.constant}"
