"""Statements about few values, decided by evaluating them for all of these.

What depends on one variable alone is evaluated for every value of it that the facts allow; of values
that agree in all of this one is kept. Then the statement is evaluated for every combination of what is
kept. Arithmetic modulo a prime, of products and shifts, so needs no solver."""

import functools
import itertools
import operator

import z3

MOST = 1 << 18    # combinations
FEW = 8  # variables: with more, combinations are many or the solver is as fast
VALUES = 1 << 17  # of one variable


class Unknown(Exception):
    """An operation that has no evaluation here, or too many values."""


def mask(width):
    return (1 << width) - 1


def signed(v, width):
    return v - (1 << width) if v >> width - 1 else v


def shift_right(x, y, width):
    return signed(x, width) >> min(y, width - 1) & mask(width)


# Of two columns, the width of what they give, and a number of so many ones.
FOLDED = {z3.Z3_OP_BADD: lambda a, b, w, ones: [x + y & ones for x, y in zip(a, b)],
          z3.Z3_OP_BMUL: lambda a, b, w, ones: [x * y & ones for x, y in zip(a, b)],
          z3.Z3_OP_BSUB: lambda a, b, w, ones: [x - y & ones for x, y in zip(a, b)],
          z3.Z3_OP_BAND: lambda a, b, w, ones: [x & y for x, y in zip(a, b)],
          z3.Z3_OP_BOR: lambda a, b, w, ones: [x | y for x, y in zip(a, b)],
          z3.Z3_OP_BXOR: lambda a, b, w, ones: [x ^ y for x, y in zip(a, b)],
          z3.Z3_OP_BSHL: lambda a, b, w, ones: [x << y & ones if y < w else 0 for x, y in zip(a, b)],
          z3.Z3_OP_BLSHR: lambda a, b, w, ones: [x >> y for x, y in zip(a, b)],
          z3.Z3_OP_BASHR: lambda a, b, w, ones: [shift_right(x, y, w) for x, y in zip(a, b)],
          z3.Z3_OP_BUREM: lambda a, b, w, ones: [x % y if y else x for x, y in zip(a, b)],
          z3.Z3_OP_IMPLIES: lambda a, b, w, ones: [int(not x or y) for x, y in zip(a, b)]}
FOLDED |= {z3.Z3_OP_AND: FOLDED[z3.Z3_OP_BAND], z3.Z3_OP_OR: FOLDED[z3.Z3_OP_BOR],
           z3.Z3_OP_XOR: FOLDED[z3.Z3_OP_BXOR], z3.Z3_OP_BUREM_I: FOLDED[z3.Z3_OP_BUREM]}
UNSIGNED = {z3.Z3_OP_ULT: operator.lt, z3.Z3_OP_ULEQ: operator.le, z3.Z3_OP_UGT: operator.gt,
            z3.Z3_OP_UGEQ: operator.ge, z3.Z3_OP_EQ: operator.eq, z3.Z3_OP_IFF: operator.eq,
            z3.Z3_OP_DISTINCT: operator.ne}
SIGNED = {z3.Z3_OP_SLT: operator.lt, z3.Z3_OP_SLEQ: operator.le, z3.Z3_OP_SGT: operator.gt,
          z3.Z3_OP_SGEQ: operator.ge}


def applied(node, kind, columns):
    """The values of an operation from those of its operands: lists of one length, or one number for all."""
    if all(isinstance(column, int) for column in columns):
        return applied(node, kind, [[number] for number in columns])[0]
    width = node.size() if z3.is_bv(node) else 1
    if kind in FOLDED:
        return functools.reduce(lambda a, b: pairwise(FOLDED[kind], a, b, width, mask(width)), columns)
    if kind == z3.Z3_OP_CONCAT:
        return joined(node, columns)
    return combined(node, kind, width, [
        itertools.repeat(column) if isinstance(column, int) else column for column in columns])


def pairwise(function, a, b, *arguments):
    """A function of two columns, of which either may be one number for all."""
    if isinstance(a, int) and isinstance(b, int):
        return function([a], [b], *arguments)[0]
    a, b = (itertools.repeat(column) if isinstance(column, int) else column for column in (a, b))
    return function(a, b, *arguments)


def joined(node, columns):
    """Numbers side by side, the first the highest."""
    total = columns[0]
    for part, column in zip(node.children()[1:], columns[1:]):
        total = column if isinstance(total, int) and total == 0 else pairwise(
            lambda a, b, size: [x << size | y for x, y in zip(a, b)], total, column, part.size())
    return total


def combined(node, kind, width, columns):
    """The same of an operation that is not done pair by pair."""
    if kind in UNSIGNED and len(columns) == 2:
        return list(map(UNSIGNED[kind], *columns))
    if kind in SIGNED:
        size, relation = node.arg(0).size(), SIGNED[kind]
        return [int(relation(signed(x, size), signed(y, size))) for x, y in zip(*columns)]
    if kind == z3.Z3_OP_ITE:
        return [x if c else y for c, x, y in zip(*columns)]
    if kind == z3.Z3_OP_NOT:
        return [1 - x for x in columns[0]]
    if kind == z3.Z3_OP_BNOT:
        return [x ^ mask(width) for x in columns[0]]
    if kind == z3.Z3_OP_BNEG:
        return [-x & mask(width) for x in columns[0]]
    if kind == z3.Z3_OP_EXTRACT:
        low, ones = node.params()[1], mask(width)
        return [x >> low & ones for x in columns[0]]
    if kind == z3.Z3_OP_SIGN_EXT:
        size, above = node.arg(0).size(), mask(width) ^ mask(node.arg(0).size())
        return [x | above if x >> size - 1 else x for x in columns[0]]
    if kind == z3.Z3_OP_ZERO_EXT:
        return columns[0]
    raise Unknown(str(node.decl()))


def constant(node):
    if z3.is_bv_value(node):
        return node.as_long()
    return 1 if z3.is_true(node) else 0 if z3.is_false(node) else None


class Columns:
    """The values of terms in so many cases, a list or one number for all; `known`: {id: column} of some."""

    def __init__(self, count, known):
        self.count, self.known, self.kept = count, dict(known), []

    def of(self, root):
        stack = [root]
        while stack:
            node = stack[-1]
            key = node.get_id()
            if key in self.known:
                stack.pop()
                continue
            number = constant(node)
            if number is not None:
                self.put(node, number)
                continue
            children = node.children()
            if not children:
                raise Unknown(f"a variable without values, {node}")
            missing = [child for child in children if child.get_id() not in self.known]
            if missing:
                stack += missing
                continue
            self.put(node, applied(node, node.decl().kind(), [
                self.known[child.get_id()] for child in children]))
        column = self.known[root.get_id()]
        return [column] * self.count if isinstance(column, int) else column

    def put(self, node, column):
        self.kept.append(node)
        self.known[node.get_id()] = column


def values_of(variable, facts):
    """Those that the facts allow."""
    if variable.size() > 17:
        raise Unknown("a variable of many values")
    every = list(range(1 << variable.size()))
    columns = Columns(len(every), {variable.get_id(): every})
    for fact in facts:
        every = [x for x, allowed in zip(every, columns.of(fact)) if allowed]
        columns = Columns(len(every), {variable.get_id(): every})
    return every


def dependence(root, variables):
    """({id of a part of a term: ids of the variables that it depends on}, the parts)"""
    on, order, stack = {v.get_id(): frozenset([v.get_id()]) for v in variables}, [], [root]
    seen = set()
    while stack:
        node = stack[-1]
        missing = [child for child in node.children() if child.get_id() not in on]
        if node.get_id() not in on and missing:
            stack += missing
            continue
        stack.pop()
        if node.get_id() not in seen:
            seen.add(node.get_id())
            order.append(node)
            on.setdefault(node.get_id(), frozenset().union(
                *(on[child.get_id()] for child in node.children())))
    return on, order


def alone(root, variables):
    """{id of a variable: the largest parts of a term that depend on it alone}"""
    on, order = dependence(root, variables)
    parts = {v.get_id(): {} for v in variables}
    for node in order:
        for child in node.children() if len(on[node.get_id()]) > 1 else ():
            if len(on[child.get_id()]) == 1:
                variable, = on[child.get_id()]
                parts[variable][child.get_id()] = child
    return {variable: list(of.values()) for variable, of in parts.items()}


def holds(statement, variables, facts):
    """Whether a statement holds for all values that the facts allow; facts: one list a variable.
    Raises Unknown."""
    if len(variables) > FEW:
        raise Unknown("many variables")
    allowed = [values_of(v, of) for v, of in zip(variables, facts)]
    if not all(allowed):
        raise Unknown("facts that contradict each other")
    if len(variables) == 1:
        columns = Columns(len(allowed[0]), {variables[0].get_id(): allowed[0]})
        return all(columns.of(statement))
    parts, classes, count = alone(statement, variables), [], 1
    for variable, own in zip(variables, allowed):
        columns = Columns(len(own), {variable.get_id(): own})
        of = parts[variable.get_id()]
        classes.append(sorted(set(zip(*(columns.of(part) for part in of)))) if of else [()])
        count *= len(classes[-1])
        if count > MOST:
            raise Unknown("many combinations")
    known, combinations = {}, list(itertools.product(*classes))
    for k, variable in enumerate(variables):
        for at, part in enumerate(parts[variable.get_id()]):
            known[part.get_id()] = [combination[k][at] for combination in combinations]
    return all(Columns(count, known).of(statement))
