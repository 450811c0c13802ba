"""Means over seeds, with 95 % intervals by Student's t."""

import math

# The 0.975 quantile of Student's t by degrees of freedom, from 1.
QUANTILES = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788,
             2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930)  # beyond: the last, which is too large


def mean(values):
    return math.fsum(values) / len(values)


def interval(values):
    """(mean, low, high); low and high are None for fewer than two values, which show no spread."""
    middle = mean(values)
    freedom = len(values) - 1
    if freedom < 1:
        return middle, None, None
    deviation = math.sqrt(math.fsum((value - middle) ** 2 for value in values) / freedom)
    quantile = QUANTILES[min(freedom, len(QUANTILES)) - 1]
    half = quantile * deviation / math.sqrt(len(values))
    return middle, middle - half, middle + half
