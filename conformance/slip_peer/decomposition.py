"""What an owner fixes when splitting: the chapter decomposition.md."""

import math

from . import encoding, errors, linear, parameters

FLT_MIN = 2.0**-126


def integer_weights(A, B, W_D):
    """DECO-1: W_int = 2^t W_D + A B over Z."""
    columns = list(zip(*B)) if B else []
    return [[(w << parameters.T) + (linear.dot(left, columns[j]) if columns else 0)
             for j, w in enumerate(row)] for left, row in zip(A, W_D, strict=True)]


def retained_rank(m, n, K):
    """DECO-2."""
    return min(K, min(m, n) - 1)


def row_exponent(row):
    """PARAM-2: the least e with abs(A[i][c]) <= 2047 * 2^e for all c."""
    largest, e = max(map(abs, row), default=0), 0
    while largest > parameters.FACTOR_MAX << e:
        e += 1
    return e


def is_exponent_of(significands, e):
    """PARAM-2: whether a row of A, 2^e times the significands, has the exponent e."""
    return 0 <= e <= parameters.ROW_EXPONENT_MAX and \
        row_exponent([a << e for a in significands]) == e


def next_float32(value):
    """The next greater binary32 number of a positive one."""
    bits = int(encoding.bits_of(value), 16)
    return encoding.float32_of(f"{bits + 1:08x}")


def norm(row):
    """DECO-3: the 2-norm in binary64, with the squares added in the order of the entries."""
    total = 0.0
    for entry in row:
        total += entry * entry
    return math.sqrt(total)


def room(weight_norm, n):
    """DECO-3: the 2-norm that a row may have before it is rounded."""
    return weight_norm - (math.sqrt(n) + 1) / 2


def largest_residual(row, weight_norm=None):
    """DECO-3: g_i. With lattice masks the norm of a row counts, too."""
    largest = max(map(abs, row))
    if weight_norm is None:
        return largest
    return max(largest, parameters.WEIGHT_MAX * norm(row) / room(weight_norm, len(row)))


def row_scale(largest_residual, largest_factor, row_norm):
    """DECO-4: delta_i."""
    if row_norm == 0:
        return 1.0
    step = largest_residual / parameters.WEIGHT_MAX
    floor = max(largest_factor / parameters.A_MAX, row_norm * 2.0**-46)
    delta = max(encoding.float32(max(step / 2.0**parameters.T, floor)), FLT_MIN)
    errors.require(math.isfinite(delta), "row scale", "DECO-5", "the scale is not finite")
    return next_float32(delta) if delta < floor else delta


def ranks(plan, layers):
    """DECO-6: K of every layer; what the plan does not name has 0."""
    known = [tuple(layer) for layer in layers]
    named = {}
    for block, layer_type, K in plan:
        place = (block, layer_type)
        errors.require(place in known, "read plan", "DECO-6", f"no matrix {list(place)}")
        errors.require(place not in named, "read plan", "DECO-6", f"{list(place)} is named twice")
        errors.require(isinstance(K, int) and K >= 0, "read plan", "DECO-6", "K is negative")
        named[place] = K
    return [named.get(place, 0) for place in known]
