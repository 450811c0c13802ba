"""Sums of products, whose terms are built on demand.

A kernel adds products by the thousand. As terms, every addition would repeat all that it adds. A
Sum remembers what it was added from, and that is all that an addition costs. Whatever looks at it
(a shift, a comparison, the solver) sees a variable instead, sum[k], of which only the range is
known. The same products are the same variable, in whatever order and in however many steps they
were added: code and contract meet there. Had the code added other products, its variable would be
another one, and nothing could be proved of it.
"""

import functools
from collections import Counter

import z3

FACTORS = []  # what products may be of, objects with a `range`; their numbers are their places
NAMED = {}    # frozenset of (product, times) -> its variable
FORMS = {}    # id of such a variable -> the Sum
RANGE = {}    # id of a term -> (least, greatest) as a signed number, of a product or a sum
WORD = 32     # bits of the narrowest variable: a narrower sum is part of it
SHIFTS = []   # whether a sum that is shifted to the left is one: not empty if so


def forget():
    for table in (FACTORS, NAMED, FORMS, RANGE, SHIFTS):
        table.clear()


def factor(of):
    """The number of something that products may be of."""
    FACTORS.append(of)
    return len(FACTORS) - 1


def product(a, b):
    """The product of two factors, by their numbers: a number in turn."""
    return a << 32 | b if a < b else b << 32 | a


@functools.lru_cache
def ends(a, b):
    """The least and the greatest product of numbers from two ranges."""
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def fits(bounds, width):
    return -(1 << width - 1) <= bounds[0] and bounds[1] < 1 << width - 1


class Sum(z3.BitVecRef):
    """The sum of `parts`, which are Sums, and of `products`, modulo 2^width.

    To Z3 it is the term that named() returns, from the moment that Z3 asks."""

    def __init__(self, width, parts, products=()):
        self.width, self.parts, self.products = width, parts, products
        self.form = self.bounds = self.term = None

    def __del__(self):
        pass  # the term belongs to NAMED

    @functools.cached_property
    def cells(self):
        """Its bytes in registers and memory."""
        return [(self, k) for k in range(self.width // 8)]

    ctx = property(lambda self: z3.main_ctx())
    ast = property(lambda self: self.named().ast)

    def size(self):
        return self.width

    def shifted(self, count):
        """2^count times it."""
        one = Sum(self.width, ())
        one.form = Counter({p: times << count for p, times in self.times().items()})
        return one

    def times(self):
        """How many times each product is added."""
        if self.form is None:
            added, counted, stack = [], [], [self]
            while stack:
                node = stack.pop()
                if node.form is None:
                    added += node.products
                    stack += node.parts
                else:
                    counted.append(node.form)
            self.form = Counter(added)
            for form in counted:
                self.form.update(form)
            self.parts = self.products = ()
        return self.form

    def interval(self):
        """(least, greatest) of the sum as an integer, before it wraps."""
        if self.bounds is None:
            least = greatest = 0
            for p, times in self.times().items():
                low, high = ends(FACTORS[p >> 32].range, FACTORS[p & 0xffffffff].range)
                least, greatest = least + times * low, greatest + times * high
            self.bounds = least, greatest
        return self.bounds

    def exact(self):
        """Whether it cannot wrap."""
        return fits(self.interval(), self.width)

    def named(self):
        """The variable of these products, cut or extended to the sum's width."""
        if self.term is None:
            variable = NAMED.get(key := frozenset(self.times().items()))
            if variable is None:
                size = next(s for s in (WORD, 64, 128) if fits(self.interval(), s))
                variable = NAMED[key] = z3.BitVec(f"sum[{len(NAMED)}]", size)
                RANGE[variable.get_id()] = self.interval()
                FORMS[variable.get_id()] = self
            size = variable.size()
            self.term = (variable if size == self.width else
                         z3.SignExt(self.width - size, variable) if size < self.width else
                         z3.Extract(self.width - 1, 0, variable))
        return self.term


def without(v, product):
    """A sum without one of its products."""
    one = Sum(v.width, ())
    one.form = Counter({p: times for p, times in v.times().items() if p != product})
    return one


def as_sum(v, width):
    """A term as a Sum; None if it is not one."""
    if type(v) is Sum:
        return v
    if isinstance(v, int):
        return None
    kind = v.decl().kind()
    is_part = kind == z3.Z3_OP_SIGN_EXT or (
        kind == z3.Z3_OP_EXTRACT and v.params()[1] == 0 and v.size() == width)
    known = FORMS.get((v.arg(0) if is_part else v).get_id())
    return None if known is None else Sum(width, (known,))


def added(a, b, width):
    """a + b as a Sum; None if one is of other things than products."""
    a, b = as_sum(a, width), as_sum(b, width)
    return Sum(width, (a, b)) if a is not None and b is not None else None


def fits_in(bounds, most):
    """Whether numbers from the least to the greatest are at most so great in magnitude."""
    return -most <= bounds[0] and bounds[1] <= most
