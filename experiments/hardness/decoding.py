#!/usr/bin/env python3
"""The table of the hidden split: for each class of widths a norm, a modulus s with a square root tau
modulo L, and the two multipliers that decode a product (HIDE-2).

    decoding.py                      checks the table of spec/hiding.md, row by row
    decoding.py --table FILE         that of another Markdown file
    decoding.py --search WIDTH       tries moduli s and their roots; prints the row of the largest norm

Exit status: 0 if every row holds, 1 if one does not, 2 for bad input.

A product is Y = Z + tau B mod L with Z = W' q + s E e and B = E q + W' e + delta. For a pair (u, v) with
v = u tau mod L, u Y = u Z + v B mod L, which is lifted rightly if |u| X + |v| X' <= (L-1)/2 for bounds X of
|Z| and X' of |B|. Two such pairs of determinant +-L give Z and B. The pairs are a lattice, and the norm is
largest where it has a basis that is nearly parallel to the axes: then X X' may come close to L/4.
"""
import argparse
import fractions
import itertools
import math
import pathlib
import re
import sys

TABLE = pathlib.Path(__file__).resolve().parents[2] / 'spec' / 'hiding.md'
COLUMNS = ('n', 'R^2', 'B', 's', 'tau', 'u_1', 'v_1', 'u_2', 'v_2')
PRIMES = (251, 241, 239, 233, 229, 227)
L = math.prod(PRIMES)
TAIL = fractions.Fraction(75, 8)        # standard deviations times sigma = 2^-1/2: 2^-124 for both sums
DELTA = 4096                            # what a cancellation may be off by, in multiples of tau
ROW_BITS = 128                          # a row of E exceeds R with a probability of at most 2^-128


class BadInput(Exception):
    """A table or an argument that cannot be read; the message is for the user."""


def squared_norm_bound(n):
    """The least R^2 with Pr[|E_i|^2 > R^2] <= 2^-128: |E_i|^2 is the number of heads of n coins."""
    above, r, exactly = 0, n, 1         # how many outcomes of n coins have more than r heads, and r heads
    while r > 0 and (above + exactly) << ROW_BITS <= 1 << n:
        above += exactly
        exactly = exactly * r // (n - r + 1)
        r -= 1
    return r


def root_above(square):
    """The square root of an integer, rounded up to a multiple of 1/64."""
    return fractions.Fraction(math.isqrt(64 * 64 * square - 1) + 1, 64)


def bounds(R, norm, s):
    """Of |Z| and of |B|, rounded up."""
    return (norm * norm + math.ceil(s * TAIL * R), math.ceil((R + TAIL) * norm) + DELTA)


def used(pair, X, Y):
    return abs(pair[0]) * X + abs(pair[1]) * Y


def short_pairs(tau, X, Y):
    """Two pairs (u, v) with v = u tau mod L of determinant +-L: by Gauss's reduction."""
    a, b = (1, tau), (0, L)

    def size(p):
        return (p[0] * X) ** 2 + (p[1] * Y) ** 2

    while True:
        if size(a) > size(b):
            a, b = b, a
        m = (2 * (a[0] * b[0] * X * X + a[1] * b[1] * Y * Y) + size(a)) // (2 * size(a))
        if m == 0:
            return a, b
        b = (b[0] - m * a[0], b[1] - m * a[1])


def roots_modulo_primes(s):
    """A square root of s modulo each prime; None if one has none."""
    found = []
    for p in PRIMES:
        r = s % p
        x = next((x for x in range(1, p) if x * x % p == r), None) if r else None
        if x is None:
            return None
        found.append(x)
    return found


IDEMPOTENTS = [L // p * pow(L // p, -1, p) for p in PRIMES]


def search(R, norm, tries):
    """(the part of the range that it uses, s, tau, pairs) of the best of `tries` moduli s."""
    best, s = None, 2 * norm * norm + 1
    while tries:
        roots = roots_modulo_primes(s)
        if roots:
            tries -= 1
            X, Y = bounds(R, norm, s)
            for signs in itertools.product((1, -1), repeat=len(PRIMES) - 1):
                tau = sum(sign * x * i for sign, x, i in zip((1, *signs), roots, IDEMPOTENTS)) % L
                pairs = short_pairs(tau, X, Y)
                use = max(used(pair, X, Y) for pair in pairs)
                if best is None or use < best[0]:
                    best = (use, s, tau, pairs)
        s += 1
    return best


def row_for(n, tries):
    """The row of a width with the largest norm."""
    square = squared_norm_bound(n)
    R = root_above(square)
    low, high, row = 16, 1 << 14, None
    while high - low > 1:
        norm = (low + high) // 2
        use, s, tau, ((u1, v1), (u2, v2)) = search(R, norm, tries)
        if use <= (L - 1) // 2:
            low, row = norm, (n, square, norm, s, tau, u1, v1, u2, v2)
        else:
            high = norm
    return row


def faults(row):
    """What does not hold of a row."""
    n, square, norm, s, tau, u1, v1, u2, v2 = row
    if square != squared_norm_bound(n):
        yield f'R^2 is {square}, expected {squared_norm_bound(n)}'
    X, Y = bounds(root_above(square), norm, s)
    if not s > 2 * norm * norm:
        yield 's is not above 2 B^2'
    if not 0 <= tau < L or tau * tau % L != s or math.gcd(s, L) != 1:
        yield 'tau is not a square root of a unit s modulo L'
    for j, (u, v) in enumerate(((u1, v1), (u2, v2)), 1):
        if (u * tau - v) % L:
            yield f'v_{j} is not u_{j} tau modulo L'
        if used((u, v), X, Y) > (L - 1) // 2:
            yield f'|u_{j}| X + |v_{j}| Y is above (L-1)/2'
    if abs(u1 * v2 - u2 * v1) != L:
        yield 'u_1 v_2 - u_2 v_1 is not L or -L'


def read_table(path):
    """The rows of the table of a Markdown file; BadInput if there is none or a cell is no number."""
    head = re.compile(r'^\|\s*' + r'\s*\|\s*'.join(re.escape(f'`{c}`') for c in COLUMNS) + r'\s*\|$')
    lines = path.read_text().splitlines()
    start = next((i for i, line in enumerate(lines) if head.match(line)), None)
    if start is None:
        raise BadInput(f"{path}: no table with the columns {', '.join(COLUMNS)}")
    rows = []
    for line in itertools.takewhile(lambda line: line.startswith('|'), lines[start + 2:]):
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        try:
            rows.append(tuple(int(cell) for cell in cells))
        except ValueError:
            raise BadInput(f'{path}: {line!r} is not {len(COLUMNS)} integers') from None
        if len(cells) != len(COLUMNS):
            raise BadInput(f'{path}: {line!r} is not {len(COLUMNS)} integers')
    if [row[0] for row in rows] != sorted({row[0] for row in rows}) or not rows:
        raise BadInput(f'{path}: the widths do not rise')
    return rows


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--table', type=pathlib.Path, default=TABLE)
    parser.add_argument('--search', type=int, metavar='WIDTH')
    parser.add_argument('--tries', type=int, default=100, help='moduli s per norm (default 100)')
    arguments = parser.parse_args(argv)
    if arguments.search is not None:
        if not (1 <= arguments.search <= 1 << 20 and arguments.tries >= 1):
            parser.error('a width is between 1 and 2^20, and there is at least one try')
        print('| ' + ' | '.join(map(str, row_for(arguments.search, arguments.tries))) + ' |')
        return 0
    try:
        rows = read_table(arguments.table)
    except (BadInput, OSError) as error:
        print(f'decoding.py: {error}', file=sys.stderr)
        return 2
    failed = False
    for row in rows:
        wrong = list(faults(row))
        failed |= bool(wrong)
        print(f'n {row[0]:6}   B {row[2]:5}   ' + ('; '.join(wrong) or 'holds'))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
