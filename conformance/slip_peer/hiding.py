"""The hidden split: the chapter hiding.md."""

import dataclasses
import functools
import hashlib
import struct

from . import encoding, errors, lattice, linear, parameters, randomness, ring

DOMAIN = b"SLIP-2 hide"  # HIDE-3
# Its tau, B_w and B_q depend on the width.
HIDDEN = parameters.ParameterSet("hidden", 3, 6, parameters.Lattice(256, 9, 1, 0, 0, 0, 4096), True)
SETS = parameters.BY_NAME | {HIDDEN.name: HIDDEN}


@dataclasses.dataclass(frozen=True)
class Width:
    """HIDE-2: a row of the table."""
    n: int               # the greatest number of columns of the class
    B: int               # greatest 2-norm of a row and of an activation
    s: int
    tau: int             # a square root of s mod L
    u: tuple             # the multipliers
    v: tuple


WIDTHS = (
    Width(64, 2417, 11689577, 67385541262649, (-2596, 95683), (1831849585, -65057364)),
    Width(96, 2172, 9439047, 154564924175515, (94130, -2847), (80072793, 1857856238)),
    Width(128, 2036, 8292601, 45270694512092, (95045, -762), (54242648, 1841934263)),
    Width(192, 1875, 7034647, 141120226416014, (95968, 1355), (47692201, -1823976242)),
    Width(256, 1740, 6056635, 119031886471910, (94939, -1349), (21967994, -1844738303)),
    Width(384, 1589, 5052243, 118983647248094, (-96511, 78), (45340124, 1814346949)),
    Width(512, 1493, 4463318, 50377737265853, (5697, -103123), (-1697872888, -3199771)),
    Width(768, 1357, 3683023, 63579297666527, (-98657, 661), (-112063608, 1775667707)),
    Width(1024, 1276, 3258719, 131330553077436, (102255, 4), (-10124021, -1712464089)),
    Width(1536, 1159, 2687482, 71066053310250, (2294, 106825), (1638900659, -14129044)),
    Width(2048, 1072, 2299063, 97234407770624, (-107457, -407), (-31329409, -1629681882)),
    Width(3072, 962, 1851852, 170860076830838, (-110723, 371), (-10677267, 1581531716)),
    Width(4096, 888, 1583868, 164699464333749, (113357, -286), (-6314816, -1544731855)),
    Width(6144, 790, 1251326, 103345070613107, (3238, 121985), (-1435691155, -7662328)),
)


def width_of(n):
    """HIDE-2: the row of the first class whose n is not below the number of columns."""
    errors.require(1 <= n, "width", "HIDE-2", "a matrix has no column")
    found = next((row for row in WIDTHS if n <= row.n), None)
    errors.require(found is not None, "width", "HIDE-2", f"{n} columns are more than the table has")
    return found


def at_width(own, n):
    """HIDE-2: the set, with what depends on the number of columns where it hides weights."""
    if not own.hides:
        return own
    width = width_of(n)
    return dataclasses.replace(own, lattice=dataclasses.replace(
        own.lattice, tau=width.tau, B_w=width.B, B_q=width.B))


def part_bounds(n):
    """HIDE-7: where the parts begin, and n."""
    parts = -(-n // WIDTHS[-1].n)
    return [p * n // parts for p in range(parts + 1)]


def model(rows):
    """HIDE-8: (W', the row scales)."""
    B = width_of(len(rows[0])).B
    quantised = [encoding.quantise(row, B) for row in rows]
    return [list(q) for q, _ in quantised], [scale for _, scale in quantised]


def key(own, secret, seed, group, W):
    """HIDE-3: the key of the streams of V and E."""
    entries = b"".join(struct.pack("<h", entry) for row in W for entry in row)
    shape = struct.pack("<BIII", own.code, group, len(W), len(W[0]))
    return hashlib.sha256(DOMAIN + shape + hashlib.sha256(entries).digest() + seed + secret).digest()


def secret_row(own, key_of_matrix, block):
    """HIDE-3: V[b], d elements whose coefficients are small."""
    N, d = own.lattice.N, own.lattice.d
    small = randomness.small(key_of_matrix, randomness.WEIGHT_SECRET, block, own.lattice.eta, d * N)
    return lattice.elements(small, N)


def error_row(own, key_of_matrix, row, n):
    """HIDE-3: E[i]."""
    return randomness.small(key_of_matrix, randomness.WEIGHT_ERROR, row, own.lattice.eta, n)


def public_row(own, seed, row, n):
    """HIDE-3: a row of U, a column of residues."""
    return randomness.public_column(own, randomness.PUBLIC_WEIGHTS, n, row, seed, n)


def times_secret(own, key_of_matrix, y, M):
    """HIDE-4: V^T y, M integers mod L."""
    N, L = own.lattice.N, ring.modulus(own.primes)
    parts, product = lattice.elements(y, N), []
    for i in range(M):
        if i % N == 0:
            V = secret_row(own, key_of_matrix, i // N)
        product.append(lattice.coefficient(V, parts, i % N, L))
    return product


def noisy(own, key_of_matrix, W):
    """HIDE-1: W' + tau E, whose H makes masks (HIDE-4)."""
    tau, n = width_of(len(W[0])).tau, len(W[0])
    return [[entry + tau * error for entry, error in zip(row, error_row(own, key_of_matrix, i, n))]
            for i, row in enumerate(W)]


def matrix(own, secret, seed, group, W):
    """HIDE-1: A, column by column."""
    n, M = len(W[0]), len(W)
    width, L = width_of(n), ring.modulus(own.primes)
    errors.require(all(linear.dot(row, row) <= width.B**2 for row in W), "norm", "HIDE-1",
                   f"a row of W' has a 2-norm above {width.B}")
    of_matrix = key(own, secret, seed, group, W)
    U = [ring.join(public_row(own, seed, row, n), own.primes) for row in range(own.public_rows)]
    sums, columns = noisy(own, of_matrix, W), []
    for j in range(n):
        product = times_secret(own, of_matrix, [row[j] for row in U], M)
        columns.append(ring.split([(product[i] + sums[i][j]) % L for i in range(M)], own.primes))
    return columns


class PublicRows:
    """HIDE-3: U, from its seed: groups of one width have the same."""

    def __init__(self, own, seed):
        self.own, self.seed, self.of_width = own, seed, {}

    def planes(self, n):
        """The rows of each, of n entries."""
        if n not in self.of_width:
            U = [ring.planes(public_row(self.own, self.seed, row, n), self.own.primes)
                 for row in range(self.own.public_rows)]
            self.of_width[n] = list(zip(*U))
        return self.of_width[n]


class Stacked(linear.Columns):
    """HIDE-1: W_t = [A ; U], which differs from plane to plane. `A` has the rows of each."""

    def __init__(self, own, A, public):
        super().__init__(len(A[0][0]), len(A[0]) + own.public_rows)
        self.own, self.A, self.public = own, A, public

    @functools.cached_property
    def planes(self):
        """The rows of each, those of U behind those of A."""
        return [[*own, *rows] for own, rows in zip(self.A, self.public.planes(self.inputs), strict=True)]

    def product(self, columns, primes):
        """LIN-1: David's product with every column."""
        for column in columns:
            linear.require_column(column, self.inputs, primes, "LIN-1")
        return [self.times(column, primes) for column in columns]

    def times(self, column, primes):
        return b"".join(bytes(linear.dot(row, plane) % p for row in rows) for p, rows, plane
                        in zip(primes, self.planes, ring.planes(column, primes), strict=True))


def without_secret(own, key_of_matrix, reply, M):
    """HIDE-4: y_A - V^T y_U mod L."""
    residues, L = ring.join(reply, own.primes), ring.modulus(own.primes)
    product = times_secret(own, key_of_matrix, residues[M:], M)
    return ring.split([(y - known) % L for y, known in zip(residues[:M], product, strict=True)],
                      own.primes)


def decode(width, Y, L):
    """HIDE-5: W' q of one row."""
    l_1, l_2 = (ring.lift(u * Y % L, L) for u in width.u)
    determinant = width.u[0] * width.v[1] - width.u[1] * width.v[0]
    Z, rest = divmod(width.v[1] * l_1 - width.v[0] * l_2, determinant)
    errors.require(rest == 0, "decoding", "HIDE-5", "the multipliers are not those of the width")
    return lattice.centred(Z, width.s)


def unmask(own, n, y, c):
    """HIDE-5: the product of a column, of which V^T y_U has been taken."""
    width, L = width_of(n), ring.modulus(own.primes)
    return [decode(width, (a - b) % L, L)
            for a, b in zip(ring.join(y, own.primes), ring.join(c, own.primes), strict=True)]
