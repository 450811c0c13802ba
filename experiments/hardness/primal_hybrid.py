"""Primal hybrids: guess some coordinates of the secret, reduce the lattice of the rest once, and decode it
for every guess. `estimate.py --page` prints the table of hardness.md.

With zeta guessed coordinates, block size beta, a set of G guesses that holds the right one with probability
p, and a last step that costs F and finds the rest of the secret with probability f, the cost is

  2^(0.292 beta) max(1, 1 / (p f N))  +  G^r F / (p f)

The N rotations of a secret by powers of X are N targets for one reduction. r is 1 if guesses are made one by
one, 1/2 if the two halves of a guess meet in the middle, and 1/4 for what representations might do. Memory
is free. The halves of a right guess always meet, and wrong ones never do. Wun19 finds probabilities down to
2^-80 that the right ones do, so r = 1/2 gives a lower bound of the cost.

The set holds the most likely guesses, and its size is chosen with zeta and beta. The last step is one of

  nearest plane   F = 1. Succeeds if the noise is inside the box of the Gram-Schmidt norms.
  SVP call        F = 2^(0.292 k) for the last k dimensions, where the noise is found if it is below the
                  Gaussian heuristic; nearest plane for the others, or for all of them (k = 0). G = 1 is to
                  drop coordinates in the hope that they are zero. Without guesses it is estimate.usvp.
  free            F = 1 as soon as beta meets the condition of estimate.usvp for the rest: as if one call
                  served all guesses. No algorithm does this, so it gives a lower bound of the cost.

Sources, beside those of estimate.py:
  HG07    Howgrave-Graham, CRYPTO 2007: the hybrid of reduction and meeting in the middle
  BGPW16  Buchmann, Gopfert, Player, Wunderer, AFRICACRYPT 2016: the same for LWE with binary noise
  Wun19   Wunderer, J. Math. Cryptology 13, 2019: its probabilities
  ACW19   Albrecht, Curtis, Wunderer, SAC 2019: SVP calls as the last step
  May21   May, CRYPTO 2021: ternary secrets in about the fourth root of their number, asymptotically
  HKLS22  Hhan, Kim, Lee, Son, ePrint 2022/1473: May21 in a primal hybrid; it pays for sparse secrets
"""
import bisect
import functools
import math
import pathlib

import estimate
from estimate import CLASSICAL, LEAST_BLOCK, Lwe, binomial_lwe, least, ln_delta, log2_sum, print_table, usvp

HIDING = pathlib.Path(__file__).resolve().parents[2] / 'spec' / 'hiding.md'
PLANE, CALL, FREE = 'nearest plane', 'SVP call', 'free'
ROOTS = (1, 0.5, 0.25)          # r above: guessed, met in the middle, representations
SCORES = 4                      # steps per bit when values of a coordinate are ordered by probability
LONGEST_SCORE = 2000            # sets of less likely guesses are not tried
MOST_GUESSED = 448              # coordinates
ZETA_STEPS = (32, 8, 2)         # the search over the number of guessed coordinates becomes finer


# ---- sets of guesses ---------------------------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def scored_vectors(eta, zeta):
    """(counts, probabilities) of the vectors of zeta coordinates, by score.

    The score of a vector is about SCORES times log2 of the probability of zero over its own.
    """
    if zeta == 0:
        return [1.0], [1.0]
    counts, probabilities = scored_vectors(eta, zeta - 1)
    size = LONGEST_SCORE + 1
    more, likely = [0.0] * size, [0.0] * size
    zero = math.comb(2 * eta, eta)
    for value in range(eta + 1):
        weight = math.comb(2 * eta, eta + value)
        score, signs = round(SCORES * math.log2(zero / weight)), 1 if value == 0 else 2
        for i in range(min(len(counts), size - score)):
            more[i + score] += signs * counts[i]
            likely[i + score] += signs * weight / 4 ** eta * probabilities[i]
    while more[-1] == 0:
        del more[-1], likely[-1]
    return more, likely


@functools.lru_cache(maxsize=None)
def guess_sets(eta, zeta):
    """[(log2 G, log2 p)]: all vectors up to a score, for scores that are half a bit of G apart or more."""
    sets, guesses, probability = [], 0.0, 0.0
    for count, likely in zip(*scored_vectors(eta, zeta)):
        guesses, probability = guesses + count, probability + likely
        if count and (not sets or math.log2(guesses) >= sets[-1][0] + 0.5):
            sets.append((math.log2(guesses), math.log2(min(probability, 1))))
    return sets


# ---- the last step -----------------------------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def rest(lwe, zeta):
    """The problem without zeta coordinates of the secret."""
    return Lwe(lwe.ell - zeta, lwe.log2_q, lwe.sigma_secret, lwe.sigma_noise, lwe.guess_bits, lwe.samples)


def last_norm(lwe, beta):
    """Logarithm of the last Gram-Schmidt norm over sigma_e, with the best number of samples.

    The lattice has the volume q^m nu^ell, nu as in estimate.usvp_slack; norms are a geometric series with the
    quotient delta^-2.
    """
    defect = lwe.ell * (lwe.ln_q - math.log(lwe.sigma_noise / lwe.sigma_secret))
    d = estimate.best_dimension(defect, beta, max(lwe.ell, beta), lwe.ell + lwe.samples)
    return -(d - 1) * ln_delta(beta) + lwe.ln_q - defect / d - math.log(lwe.sigma_noise)


LOWEST, HIGHEST, POINTS_PER_UNIT = -8, 3, 200


def log2_inside(u):
    """log2 of the probability that one coordinate of the noise is inside an interval of e^u deviations."""
    return math.log2(math.erf(math.exp(u) / math.sqrt(8)))


@functools.lru_cache(maxsize=None)
def integrals():
    """The integral of log2_inside from each point of the grid to HIGHEST, where it is nearly 0."""
    values = [log2_inside(LOWEST + i / POINTS_PER_UNIT)
              for i in range((HIGHEST - LOWEST) * POINTS_PER_UNIT + 1)]
    sums = [0.0]
    for a, b in zip(values[:0:-1], values[-2::-1]):
        sums.append(sums[-1] + (a + b) / 2 / POINTS_PER_UNIT)
    return sums[::-1]


def log2_plane(u, slope):
    """log2 of the probability of nearest plane, if norms in deviations are e^u, e^(u + slope) and so on.

    The sum over all norms is an integral and a correction at its end (Euler, Maclaurin).
    """
    if u >= HIGHEST:
        return 0.0
    if u <= LOWEST:
        return -math.inf
    at = (u - LOWEST) * POINTS_PER_UNIT
    i = int(at)
    integral = integrals()[i] + (at - i) * (integrals()[i + 1] - integrals()[i])
    return integral / slope + log2_inside(u) / 2


def last_steps(lwe, beta, last, exponent):
    """[(log2 F, log2 f, dimension of the SVP call)] for the problem that is left."""
    if last == FREE:
        return [(0, 0.0, None)] if estimate.usvp_slack(lwe, beta)[0] >= 0 else []
    u, slope = last_norm(lwe, beta), 2 * ln_delta(beta)
    steps = [(0, log2_plane(u, slope), 0)]

    def shortest(k):                # sigma sqrt(k) against the Gaussian heuristic
        ball = math.lgamma(k / 2 + 1) / k - math.log(math.pi) / 2
        return ball + u + slope * (k - 1) / 2 >= math.log(k) / 2
    if last == CALL:
        first = bisect.bisect_left(range(2, beta + 1), True, key=shortest) + 2
        steps += [(exponent * k, log2_plane(u + slope * k, slope), k)
                  for k in (first, first + 4, first + 12, first + 32) if k <= beta]
    return steps


# ---- the attack --------------------------------------------------------------------------------------------

def hybrid_bits(lwe, eta, zeta, beta, root, last, log2_targets, exponent=CLASSICAL):
    """log2 of the cost with the choices given, at the best set of guesses and the best last step."""
    sets, best = guess_sets(eta, zeta), math.inf
    for step, found, _ in last_steps(rest(lwe, zeta), beta, last, exponent):
        def cost(i):
            guesses, probability = sets[i][0], sets[i][1] + found
            return log2_sum(exponent * beta + max(0, -probability - log2_targets),
                            root * guesses + step - probability)
        if found > -math.inf:
            best = min(best, least(cost, 0, len(sets) - 1)[0])
    return best if best < math.inf else 1e6 - beta          # falls, so that the search goes on


@functools.lru_cache(maxsize=None)
def primal_hybrid(lwe, eta, root, last, log2_targets=8, exponent=CLASSICAL):
    """The attack at its best choice of block size and number of guessed coordinates."""
    def over_beta(zeta, bound):
        high = 2 * lwe.ell
        if bound < math.inf:
            high = min(high, int(bound / exponent) + 8)         # the cost is at least exponent beta
        return least(lambda b: hybrid_bits(lwe, eta, zeta, b, root, last, log2_targets, exponent),
                     LEAST_BLOCK, high)

    best = (math.inf, None, 0)
    if last == CALL:
        found = usvp(lwe, exponent)
        best = (found['bits'], found['beta'], 0)
    low, high = 0, MOST_GUESSED
    for step in ZETA_STEPS:
        for zeta in range(max(low, step), high + 1, step):
            bits, beta = over_beta(zeta, best[0])
            best = min(best, (bits, beta, zeta))
        low, high = best[2] - step, min(best[2] + step, MOST_GUESSED)
    return {'bits': best[0], 'beta': best[1], 'zeta': best[2]}


# ---- the table of hardness.md ------------------------------------------------------------------------------

def problems(one):
    """(name, problem, eta, log2 of the targets that share a reduction)"""
    hidden = estimate.read_sets(HIDING.read_text(encoding='utf-8'))[0]
    rotations = int(math.log2(one['N']))
    rows = [('ML-KEM-512', estimate.ml_kem(2, 3), 3, 8)]
    for name, a_set, ell, eta, log2_blocks in (
            (one['set'], one, one['ell'], one['eta'], 0),
            (hidden['set'], hidden, hidden['ell'], hidden['eta'], 0),
            (f'{hidden["set"]}, 2^20 blocks', hidden, hidden['ell'], hidden['eta'], 20),
            (f'{hidden["set"]} with eta = 2', hidden, hidden['ell'], 2, 0),
            (f'{hidden["set"]} with ell = 2560', hidden, 2560, hidden['eta'], 0)):
        rows.append((name, binomial_lwe(ell, a_set['log2_q'], eta), eta, rotations + log2_blocks))
    return rows


def print_hybrids(one):
    print('\nPrimal hybrids: bits, and coordinates guessed\n')
    table = []
    for name, lwe, eta, log2_targets in problems(one):
        for last in (PLANE, CALL, FREE):
            row = [name, last]
            for root in ROOTS:
                found = primal_hybrid(lwe, eta, root, last, log2_targets)
                row += [f'{found["bits"]:.1f}', found['zeta']]
            table.append(row)
    print_table(['problem', 'last step', 'guessed', 'zeta', 'met', 'zeta', 'fourth root', 'zeta'], table)
