"""Attacks beside the two of estimate.py, and the tables of hardness.md: `estimate.py --page` prints them.

Each function says what it counts. Where it simplifies it leans towards the attacker, or says otherwise.

Sources, beside those of estimate.py:
  AG11    Arora, Ge, ICALP 2011: noise with few values
  ACFP14  Albrecht, Cid, Faugere, Fitzpatrick, Perret, ePrint 2014/1018: what that costs with Groebner bases
  KF15    Kirchner, Fouque, CRYPTO 2015; GJS15: Guo, Johansson, Stankovski, CRYPTO 2015: BKW with quantised
          tables
  KF17    Kirchner, Fouque, EUROCRYPT 2017; DvW21: Ducas, van Woerden, ASIACRYPT 2021: dense sublattices
  ELOS16  Elias, Lauter, Ozman, Stange, WIN 2016: guessing a secret modulo a small factor
"""
import itertools
import math

import estimate
from estimate import Lwe, binomial_lwe, dual_hybrid, ln_delta, plain_dual, print_table, usvp
from primal_hybrid import print_hybrids

BLOCKS = (0, 20, 40, 60)                    # log2 of the number of blocks that share one T
EXPONENTS = (('classical', 0.292), ('quantum, 2016', 0.265), ('quantum, 2021', 0.257),
             ('length of the list', 0.2075))
# h, ell, eta
NEIGHBOURS = ((5, 1536, 2), (5, 1792, 2), (5, 1920, 2), (5, 2048, 2), (5, 2304, 2), (5, 1792, 1),
              (5, 2048, 1), (4, 2048, 2), (6, 2048, 2), (6, 2304, 2), (6, 2304, 1), (7, 2560, 2))


# ---- factors of X^N + 1 and of L ---------------------------------------------------------------------------

def factor_degree(prime, n):
    """Degree of every irreducible factor of X^n + 1 mod an odd prime: the order of the prime mod 2 n."""
    degree, power = 1, prime % (2 * n)
    while power != 1:
        degree, power = degree + 1, power * prime % (2 * n)
    return degree


def projected(one, parts):
    """The problem that is left modulo one of `parts` equal parts of X^N + 1, for every prime of L at once.

    The ring modulo such a part has N / parts dimensions. A sample is carried there by a multiplier c that
    vanishes modulo the other parts, and its noise becomes c e. These c form an ideal of norm L^(N - N /
    parts); the norm of an element is at most (its 2-norm)^N, by the inequality of the means, so the 2-norm of
    c is at least L^(1 - 1 / parts). The secret is scaled in the same way. The bound is used as if it were
    reached.
    """
    sigma = math.sqrt(one['eta'] / 2) * 2 ** (one['log2_q'] * (1 - 1 / parts))
    return Lwe(one['ell'] // parts, one['log2_q'], sigma, sigma, 0)


# ---- many samples, many secrets ----------------------------------------------------------------------------

def dropped_coordinates(log2_targets, eta):
    """How many coordinates of a secret may be hoped to be zero, if one of 2^log2_targets secrets will do."""
    zero = math.comb(2 * eta, eta) / 4 ** eta
    return int(log2_targets / -math.log2(zero))


def dense_slack(d, ln_vol, rank, ln_norm, beta):
    """How far BKZ-beta is beyond meeting a sublattice of this rank with basis vectors of norm e^ln_norm.

    The first s = d - j basis vectors meet the sublattice in rank - j dimensions; the volume of that part is
    e^(rank ln_norm) over the product of the last j Gram-Schmidt norms. Its shortest vector, by the Gaussian
    heuristic, projected on the last beta of the s dimensions, is found if it is shorter than the norm there.
    """
    slope, best = ln_delta(beta), -math.inf
    for j in range(0, rank, max(1, rank // 32)):
        left, s = rank - j, d - j
        if s <= beta:
            break
        volume = rank * ln_norm - j * ln_vol / d + slope * j * s
        heuristic = math.log(left / (2 * math.pi * math.e)) / 2 + math.log(math.pi * left) / (2 * left)
        there = (d - 1 - 2 * (s - beta)) * slope + ln_vol / d
        best = max(best, there - heuristic - volume / left - math.log(beta / s) / 2)
    return best


def dense_sublattice_block(lwe, n, secrets):
    """Block size, in steps of 5, at which the rotations of `secrets` ring secrets form a dense sublattice.

    The lattice with all of them embedded has dimension d = m + ell + r, r = n secrets, and r short vectors of
    norm sigma sqrt(m + ell + 1), which span a dense sublattice, as in NTRU. The average case in the manner of
    DvW21, with the geometric series for all norms. It errs: for NTRU with n = 256 and 512, at the modulus
    where DvW21 lets both attacks cost the same, the same model (with the flat ends that the norms have there)
    asks a fifth more of the dense sublattice than of uSVP.
    """
    rank = n * secrets
    for beta in range(estimate.LEAST_BLOCK, 2 * lwe.ell, 5):
        for m in range(lwe.ell // 2, 2 * lwe.ell, 128):
            ln_norm = math.log(lwe.sigma_noise) + math.log(m + lwe.ell + 1) / 2
            if dense_slack(m + lwe.ell + rank, m * lwe.ln_q, rank, ln_norm, beta) >= 0:
                return beta
    return None


# ---- algebraic and combinatorial attacks -------------------------------------------------------------------

def arora_ge(ell, degree, samples):
    """(degree of regularity, bits) of Arora-Ge with Groebner bases.

    Noise with `degree` values makes every sample, and every coordinate of the secret, a root of a polynomial
    of that degree. Counted are the degree of regularity of a semi-regular system of so many equations, and
    linear algebra with exponent 2 on all monomials up to it (ACFP14).
    """
    equations = samples + ell
    for total in itertools.count(1):
        coefficient = sum(
            (-1) ** j * math.comb(equations, j) * math.comb(ell - 1 + total - degree * j, ell - 1)
            for j in range(total // degree + 1))
        if coefficient <= 0:
            return total, 2 * math.log2(math.comb(ell + total, total))


def coded_bkw(lwe):
    """Bits of BKW with quantised tables (KF15, GJS15), with as many samples as wanted and every step free.

    Memory is 2^c vectors. Step i of a lets n_i = c / log2(q / D_i) coordinates collide up to D_i; the rest,
    below D_i and evenly distributed, is multiplied by the secret and doubled in variance by every later step.
    Noise and residues together may have the variance q^2 c ln 2 / (4 pi^2), at which 2^c samples still tell.
    The last coordinates are guessed: c of them, at one bit each. The least c for which all coordinates are
    gone.
    """
    def reach(c, steps):
        budget = 2 * lwe.log2_q + math.log2(c * math.log(2) / (4 * math.pi ** 2))        # log2 of a variance
        if steps + 2 * math.log2(lwe.sigma_noise) > budget - 1:
            return 0
        gone = c
        for later in range(steps):
            width = 1.0
            for _ in range(6):                              # n_i and D_i depend on each other; this settles
                allowed = budget - 1 - math.log2(steps) - later + math.log2(12)
                log2_d = (allowed - 2 * math.log2(lwe.sigma_secret) - math.log2(max(width, 1))) / 2
                width = c / max(lwe.log2_q - log2_d, 1)
            gone += width
        return gone

    low, high = 10, 4096                                        # reach grows with c
    while low < high:
        c = (low + high) // 2
        if max(reach(c, steps) for steps in range(1, int(2 * lwe.log2_q) + 2)) >= lwe.ell:
            high = c
        else:
            low = c + 1
    return low


# ---- the tables of hardness.md -----------------------------------------------------------------------------

def bits(result):
    return ('' if result['beta'] else '> ') + f'{result["bits"]:.1f}'


def print_methods(rows):
    print('\nBoth methods, with the choices they make, and the plain dual attack\n')
    table = []
    for name, lwe in rows:
        primal, dual = usvp(lwe), dual_hybrid(lwe)
        table.append([name, bits(primal), primal['beta'], primal['samples'], bits(dual), dual['beta'],
                      dual['p'], dual['enumerated'], dual['transformed'], bits(plain_dual(lwe))])
    print_table(['problem', 'uSVP', 'beta', 'm', 'dual', 'beta', 'p', 'enumerated', 'transformed',
                 'plain dual'], table)


def print_submoduli(one):
    print('\nModulo a product of some of the primes, noise and dimension unchanged\n')
    table = []
    for count in range(1, one['h'] + 1):
        lwe = binomial_lwe(one['ell'], estimate.log2_modulus(count), one['eta'])
        table.append([count, f'{lwe.log2_q:.2f}', bits(usvp(lwe)), bits(dual_hybrid(lwe))])
    print_table(['largest primes', 'log2 modulus', 'uSVP', 'dual'], table)


def print_factors(one):
    primes = estimate.PRIMES[:one['h']]
    degrees = {prime: factor_degree(prime, one['N']) for prime in primes}
    print(f'\nDegrees of the factors of X^{one["N"]} + 1: '
          + ', '.join(f'{degree} mod {prime} ({one["N"] // degree} factors)'
                      for prime, degree in degrees.items()))
    least = min(degrees.values())
    print(f'Fewest residues of a secret modulo one factor: {one["d"]} * {least} = {one["d"] * least}, '
          f'{one["d"] * least * math.log2(min(primes)):.0f} bits at least')
    print('\nModulo one of several equal parts of X^N + 1\n')
    table = []
    for parts in (1, 2, 4, 8):
        lwe = projected(one, parts)
        table.append([parts, lwe.ell, f'{math.log2(lwe.sigma_noise):.2f}', bits(usvp(lwe))])
    print_table(['parts', 'dimension', 'log2 sigma', 'uSVP'], table)


def print_targets(one):
    print('\nMany blocks with one T: coordinates that are zero in one block of so many or its rotations\n')
    table = []
    for log2_blocks in BLOCKS:
        dropped = dropped_coordinates(log2_blocks + math.log2(one['N']), one['eta'])
        lwe = binomial_lwe(one['ell'] - dropped, one['log2_q'], one['eta'])
        table.append([f'2^{log2_blocks}', dropped, bits(usvp(lwe)), bits(dual_hybrid(lwe))])
    print_table(['blocks', 'coordinates', 'uSVP', 'dual'], table)
    lwe = binomial_lwe(one['ell'], one['log2_q'], one['eta'])
    print('\nDense sublattice of the rotations of 1, 2 and 4 secrets: block sizes '
          + ', '.join(str(dense_sublattice_block(lwe, one['N'], secrets)) for secrets in (1, 2, 4))
          + f'; uSVP needs {usvp(lwe)["beta"]}')


def print_exponents(one):
    print('\nOther costs of one SVP call\n')
    table = []
    for name, exponent in EXPONENTS:
        row = [name, f'{exponent}']
        for lwe in (estimate.ml_kem(2, 3), binomial_lwe(one['ell'], one['log2_q'], one['eta'])):
            row += [bits(usvp(lwe, exponent)), bits(dual_hybrid(lwe, exponent))]
        table.append(row)
    print_table(['sieve', 'exponent', 'ML-KEM-512 uSVP', 'dual', f'{one["set"]} uSVP', 'dual'], table)


def print_neighbours(one):
    print('\nNeighbours\n')
    yardstick = estimate.ml_kem(2, 3)
    needed = [usvp(yardstick)['bits'] + estimate.MARGIN, dual_hybrid(yardstick)['bits'] + estimate.MARGIN]
    table = []
    for h, ell, eta in NEIGHBOURS:
        lwe = binomial_lwe(ell, estimate.log2_modulus(h), eta)
        found = [usvp(lwe), dual_hybrid(lwe)]
        verdict = 'kept' if all(a['bits'] >= b for a, b in zip(found, needed)) else 'refused'
        table.append([h, f'{lwe.log2_q:.2f}', ell, eta, bits(found[0]), bits(found[1]), verdict])
    print_table(['h', 'log2 L', 'ell', 'eta', 'uSVP', 'dual', 'verdict'], table)


def print_algebraic(one):
    print('\nArora-Ge and BKW\n')
    table, values = [], 2 * one['eta'] + 1
    for n in (28672, 2 ** 20):
        regularity, cost = arora_ge(one['ell'], values, n * one['N'])
        table.append([f'Arora-Ge, n = {n}', f'degree {regularity}', f'{cost:.0f}'])
    regularity, cost = arora_ge(one['ell'] // 2, values ** 2, 2 ** 20 * one['N'] // 2)
    table.append(['Arora-Ge modulo half of X^N + 1, n = 1048576', f'degree {regularity}', f'{cost:.0f}'])
    table.append(['BKW with quantised tables', 'any number of samples',
                  coded_bkw(binomial_lwe(one['ell'], one['log2_q'], one['eta']))])
    table.append(['the same for ML-KEM-512', 'any number of samples', coded_bkw(estimate.ml_kem(2, 3))])
    print_table(['attack', 'with', 'bits'], table)


def print_page(sets):
    """All tables, for the first of the sets."""
    one = sets[0]
    lwe = binomial_lwe(one['ell'], one['log2_q'], one['eta'])
    print_methods([('ML-KEM-512', estimate.ml_kem(2, 3)), ('ML-KEM-768', estimate.ml_kem(3, 2)),
                   ('ML-KEM-1024', estimate.ml_kem(4, 2)), (one['set'], lwe)])
    for part in (print_submoduli, print_factors, print_targets, print_exponents, print_neighbours,
                 print_algebraic, print_hybrids):
        part(one)
