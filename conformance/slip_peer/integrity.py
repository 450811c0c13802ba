"""The check of David's replies: the chapter integrity.md."""

from . import errors, linear, ring


def companion(rho, W_D, L):
    """INTEG-2: s, n rows of kappa, with s^T = rho^T W_D mod L."""
    by_repetition = list(zip(*rho))
    return [[linear.dot(column, repetition) % L for repetition in by_repetition]
            for column in zip(*W_D)]


def check(rho, s, x_masked, y_masked, L):
    """INTEG-3: one verdict on all columns and repetitions; IntegrityError on a reject."""
    for column in y_masked:
        ring.require_canonical(column, L, "integrity check")
    repetitions = list(zip(zip(*rho), zip(*s), strict=True))
    verdicts = [linear.dot(rho_p, y) % L == linear.dot(s_p, x) % L
                for rho_p, s_p in repetitions for x, y in zip(x_masked, y_masked, strict=True)]
    if not all(verdicts):
        raise errors.IntegrityError("integrity check", "INTEG-3", "the reply is wrong")
