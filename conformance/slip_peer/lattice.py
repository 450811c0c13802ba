"""Lattice masks: MASK-7 to MASK-10. An element of R = Z_L[X] / (X^N + 1) is a list of N integers, the
coefficient of X^0 first."""

from . import errors, linear, parameters, randomness, ring


def turned(b, i):
    """b_i, b_(i-1), ..., b_0, -b_(N-1), ..., -b_(i+1): what meets a_0, a_1, ... in coefficient i of
    a b, because X^N = -1."""
    return b[i::-1] + [-entry for entry in b[:i:-1]]


def coefficient(row, S, i, L):
    """MASK-7: coefficient i of sum_l row[l] S[l]."""
    return sum(linear.dot(element, turned(secret, i))
               for element, secret in zip(row, S, strict=True)) % L


def elements(values, N):
    """The d N entries of a row of T or of S as d elements of N coefficients."""
    return [values[first:first + N] for first in range(0, len(values), N)]


def public_row(own, seed, width, row):
    """MASK-7: T[row], d elements."""
    N, d = own.lattice.N, own.lattice.d
    column = randomness.public_column(own, randomness.PUBLIC_MASKS, width, row, seed, d * N)
    return elements(ring.join(column, own.primes), N)


def hint(own, W_D, T):
    """MASK-7: H = W_D T."""
    L = ring.modulus(own.primes)
    return [[[linear.dot(weights, entries) % L for entries in zip(*element)]
             for element in zip(*T)] for weights in W_D]


def block_secret(own, key, block):
    """MASK-7: S, d elements whose coefficients are small."""
    N, d = own.lattice.N, own.lattice.d
    return elements(randomness.small(key, randomness.BLOCK_SECRET, block, own.lattice.eta, d * N), N)


def noise(own, key, index, n):
    """MASK-7: e_i."""
    return randomness.small(key, randomness.NOISE, index, own.lattice.eta, n)


class Block:
    """MASK-7: the masks of one block for one group."""

    def __init__(self, own, key, block, T, H):
        self.own, self.key, self.block, self.T, self.H = own, key, block, T, H
        self.S = block_secret(own, key, block)
        self.L = ring.modulus(own.primes)

    def mask(self, i):
        """(mask index, r, c): each a column, and c exact."""
        index = self.own.lattice.N * self.block + i
        e = noise(self.own, self.key, index, len(self.T))
        r = [(coefficient(row, self.S, i, self.L) + self.own.lattice.tau * e_j) % self.L
             for row, e_j in zip(self.T, e, strict=True)]
        return index, ring.split(r, self.own.primes), ring.split(self.cancellation(i), self.own.primes)

    def cancellation(self, i):
        return [coefficient(row, self.S, i, self.L) for row in self.H]


def public_matrix(own, seed, width):
    """MASK-7: T."""
    return [public_row(own, seed, width, row) for row in range(width)]


class Masks:
    """MASK-9: the masks of a process by their index. `sets` and `widths` are by group; `seed` is the
    public one of T, and hint_of(group, T) is H. Both are made for the first block that needs them."""

    def __init__(self, sets, key, seed, widths, hint_of):
        self.sets, self.key, self.seed, self.widths, self.hint_of = sets, key, seed, widths, hint_of
        self.T, self.H, self.blocks = {}, {}, {}

    def begin(self, group, number):
        """The block of this number, for the group."""
        own, width = self.sets[group], self.widths[group]
        if width not in self.T:
            self.T[width] = public_matrix(own, self.seed, width)
        if group not in self.H:
            self.H[group] = self.hint_of(group, self.T[width])
        return Block(own, self.key, number, self.T[width], self.H[group])

    def take(self, group, index):
        """(r, c) of a mask of a group's block."""
        number, i = divmod(index, self.sets[group].lattice.N)
        if number not in self.blocks:
            self.blocks[number] = group, self.begin(group, number)
        owner, block = self.blocks[number]
        errors.require(owner == group, "take a mask", "MASK-7", "a block belongs to one group")
        return block.mask(i)[1:]


def centred(value, tau):
    """MASK-8: the residue mod tau in -floor(tau/2) .. floor((tau-1)/2)."""
    return (value + tau // 2) % tau - tau // 2


def unmask(y, c, own):
    """MASK-8: y_D of a column."""
    return [centred(Y, own.lattice.tau) for Y in linear.unmask(y, c, own.primes)]


def product_z(seed, rows):
    """MASK-10: the secret z."""
    stream = randomness.keystream(seed, randomness.field_of(0, randomness.PRODUCT_CHECK), 0)
    return randomness.sample(parameters.PRODUCT_MODULUS, stream, rows)


def product_companion(z, W_D):
    """MASK-10: z W_D. The rows of W_D meet the first entries of z."""
    return [linear.dot(z[:len(W_D)], column) % parameters.PRODUCT_MODULUS for column in zip(*W_D)]


def check_products(z, zW, q, y_D):
    """MASK-10: one verdict on all columns."""
    if not all((linear.dot(z[:len(y)], y) - linear.dot(zW, x)) % parameters.PRODUCT_MODULUS == 0
               for x, y in zip(q, y_D, strict=True)):
        raise errors.InternalError("check of products", "MASK-10",
                                   "Charlie's own files or memory are damaged")


def within_tolerance(own, exact, given):
    """MASK-7: whether a cancellation is the exact one, up to tau times at most Delta in each entry."""
    if len(given) != len(exact) or ring.fault(given, own.primes):
        return False
    L = ring.modulus(own.primes)
    return all(abs(delta) <= own.lattice.Delta and not rest for delta, rest in (
        divmod(ring.lift((a - b) % L, L), own.lattice.tau)
        for a, b in zip(ring.join(given, own.primes), ring.join(exact, own.primes))))
