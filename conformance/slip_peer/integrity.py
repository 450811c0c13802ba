"""The check of David's replies: the chapter integrity.md."""

import functools

from . import errors, linear, randomness, ring


def companion(w, W_D, primes):
    """INTEG-2: s, for each combination of w a column of n residues, s^T = w^T W_D in each field.
    The rows of W_D meet the first entries of a combination."""
    columns = list(zip(*W_D))
    return [b"".join(bytes(linear.dot(column, plane[:len(W_D)]) % p for column in columns)
                     for p, plane in zip(primes, ring.planes(combination, primes), strict=True))
            for combination in w]


def check(w, s, x_masked, y_masked, primes):
    """INTEG-3: one verdict on all columns, planes and combinations; IntegrityError on a reject."""
    for column in y_masked:
        ring.require_canonical(column, primes, "integrity check")
    secrets = [(ring.planes(combination, primes), ring.planes(own, primes))
               for combination, own in zip(w, s, strict=True)]
    verdicts = [linear.dot(w_a[number], y[number]) % p == linear.dot(s_a[number], x[number]) % p
                for x, y in zip(each_in_planes(x_masked, primes),
                                each_in_planes(y_masked, primes), strict=True)
                for number, p in enumerate(primes) for w_a, s_a in secrets]
    if not all(verdicts):
        raise errors.IntegrityError("integrity check", "INTEG-3", "the reply is wrong")


def each_in_planes(columns, primes):
    return [ring.planes(column, primes) for column in columns]


class Secret:
    """The check of a split: w from the seed, and the companion of every group. It serves all
    sessions."""

    def __init__(self, seed, companions, rows, primes):
        """rows: of the group that has most."""
        self.seed, self.companions, self.rows, self.primes = seed, companions, rows, primes

    @functools.cached_property
    def w(self):
        return randomness.combinations(self.seed, self.rows, self.primes)

    def check(self, group, x_masked, y_masked):
        check(self.w, self.companions[group], x_masked, y_masked, self.primes)
