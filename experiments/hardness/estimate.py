#!/usr/bin/env python3
"""Hardness of the Module-LWE problems behind the lattice masks: two estimates per set, and a verdict.

    estimate.py                      the sets of spec/parameters.md: set | h | N | d | ell | eta
    estimate.py --parameters FILE    those of another Markdown file
    estimate.py --try ELL LOG2Q ETA  any other set; ETA + ETA bits of centred binomial
    estimate.py --json               the same as JSON
    estimate.py --exponent 0.257     another cost of one SVP call (default 0.292, classical)
    estimate.py --page               every other figure of spec/hardness.md (about 20 s more)

Exit status: 0 if every set keeps its margin over ML-KEM-512 in both methods, 1 if one does not, 2 for bad
input.

Model: core-SVP. Lattice reduction of block size beta costs as much as one call of a sieve in dimension beta,
2^(0.292 beta), and nothing else. This undercounts, so the figures rank problems; they are not running times.
Both methods see a Module-LWE problem as an LWE problem of dimension ell = N d with a secret and a noise of
one variance.

Sources, all used by their formulas:
  ADPS16   Alkim, Ducas, Poppelmann, Schwabe, USENIX Security 2016: core-SVP, the uSVP condition, the plain
           dual attack
  BG14     Bai, Galbraith, ACISP 2014: scaling of a secret that is smaller than the noise
  AGVW17   Albrecht, Gopfert, Virdia, Wunderer, ASIACRYPT 2017: the uSVP condition, checked by experiment
  Che13    Chen, thesis, 2013: the root Hermite factor of BKZ
  Alb17    Albrecht, EUROCRYPT 2017: dual attacks on small secrets
  EJK20    Espitau, Joux, Kharchenko, INDOCRYPT 2020: dual attacks that guess a part of the secret
  GJ21     Guo, Johansson, ASIACRYPT 2021: guessing by a Fourier transform, with all vectors of a sieve
  MATZOV22 Report on the Security of LWE, 2022, theorem 7.6: the same mod p, and what it costs
  Ari96    Arikan, IEEE Trans. Inf. Theory 42, 1996: expected number of guesses, most likely first
"""
import argparse
import functools
import json
import math
import pathlib
import re
import sys

PARAMETERS = pathlib.Path(__file__).resolve().parents[2] / 'spec' / 'parameters.md'
COLUMNS = ('set', 'h', 'N', 'd', 'ell', 'eta')
PRIMES = (251, 241, 239, 233, 229, 227, 223)        # L is the product of the first h (RING-5)
MARGIN = 4                                          # bits over ML-KEM-512, by each method
CLASSICAL = 0.292                                   # log2 of a sieve's time over its dimension
SIEVE_LIST = math.log2(4 / 3) / 2                   # log2 of the number of its vectors, likewise
LEAST_BLOCK = 50                                    # the formula for delta holds from about here


class BadInput(Exception):
    """A table or an argument that cannot be read; the message is for the user."""


class Lwe:
    """An LWE problem: dimension, log2 of the modulus, deviations, bits per guessed coordinate, samples."""

    def __init__(self, ell, log2_q, sigma_secret, sigma_noise, guess_bits, samples=math.inf):
        self.ell, self.log2_q, self.guess_bits, self.samples = ell, log2_q, guess_bits, samples
        self.sigma_secret, self.sigma_noise = sigma_secret, sigma_noise
        self.ln_q = log2_q * math.log(2)


@functools.lru_cache(maxsize=None)
def binomial_lwe(ell, log2_q, eta, samples=math.inf):
    """Secret and noise centred binomial of eta + eta bits: variance eta / 2.

    Guessing a coordinate, most likely value first, costs about (sum of sqrt(P(x)))^2 trials (Ari96).
    """
    weights = [math.comb(2 * eta, i) / 4 ** eta for i in range(2 * eta + 1)]
    guess_bits = 2 * math.log2(sum(math.sqrt(w) for w in weights))
    return Lwe(ell, log2_q, math.sqrt(eta / 2), math.sqrt(eta / 2), guess_bits, samples)


@functools.lru_cache(maxsize=None)
def ln_delta(beta):
    """Logarithm of the root Hermite factor of BKZ with block size beta (Che13)."""
    return (math.log(math.pi * beta) / beta + math.log(beta / (2 * math.pi * math.e))) / (2 * (beta - 1))


def best_dimension(volume_defect, beta, low, high):
    """The dimension d in low..high that maximises -d ln(delta) - volume_defect / d, a concave function."""
    d = math.sqrt(max(volume_defect, 0) / ln_delta(beta))
    return int(max(low, min(high, round(d))))


# ---- method 1: primal, unique SVP --------------------------------------------------------------------------

def usvp_slack(lwe, beta):
    """(slack, m): how far block size beta is beyond the 2016 condition (natural logarithm), with the best m.

    The lattice of dimension d = m + ell + 1 has the short vector (e, nu s, sigma_e), nu = sigma_e / sigma_s
    (BG14), and volume q^m nu^ell sigma_e. The projection of that vector on the last beta dimensions has norm
    sigma_e sqrt(beta). It is found if that is at most the Gram-Schmidt norm there, which is
    delta^(2 beta - d - 1) vol^(1/d) (ADPS16, AGVW17).
    """
    ell, noise = lwe.ell, math.log(lwe.sigma_noise)
    scale = ell * (noise - math.log(lwe.sigma_secret))
    defect = (ell + 1) * lwe.ln_q - scale - noise           # ln vol = d ln q - defect
    d = best_dimension(defect, beta, max(ell + 1, beta), ell + 1 + lwe.samples)
    slope = (2 * beta - d - 1) * ln_delta(beta) + lwe.ln_q - defect / d
    return slope - noise - math.log(beta) / 2, d - ell - 1


@functools.lru_cache(maxsize=None)
def usvp(lwe, exponent=CLASSICAL):
    """The primal attack: the least block size that meets the condition, and its cost in bits."""
    limit = max(2 * lwe.ell, 4096)
    for beta in range(LEAST_BLOCK, limit):
        slack, m = usvp_slack(lwe, beta)
        if slack >= 0:
            return {'bits': exponent * beta, 'beta': beta, 'samples': m}
    return {'bits': exponent * limit, 'beta': None, 'samples': None}            # at least so many


# ---- method 2: dual hybrid ---------------------------------------------------------------------------------

FFT_UNIT = 32 ** 2          # bit operations of a multiplication (MATZOV22, used in theorem 7.6)
TABLE_UNIT = 4 * 5 * 32     # bit operations per dual vector and update of the table (the same theorem)


def log2_sum(*terms):
    top = max(terms)
    return top if math.isinf(top) else top + math.log2(sum(2 ** (t - top) for t in terms))


def dual_noise(lwe, beta, kept):
    """((tau / q)^2, m): the noise left by dual vectors on `kept` coordinates of the secret, with the best m.

    The lattice {(sigma_e x, sigma_s y): A^T x = y mod q} of dimension d = m + kept has the volume
    sigma_e^m (sigma_s q)^kept. After BKZ its first block has the Gaussian heuristic
    sqrt(beta / (2 pi e)) delta^(d - beta) vol^(1/d), and a sieve there returns vectors sqrt(4/3) times as
    long; such a length is the deviation tau of <x, e> + <y, s>.
    """
    noise = math.log(lwe.sigma_noise)
    defect = kept * (math.log(lwe.sigma_secret) + lwe.ln_q - noise)
    d = best_dimension(defect, beta, max(kept, beta), kept + lwe.samples)
    length = math.log(4 / 3 * beta / (2 * math.pi * math.e)) / 2 + (d - beta) * ln_delta(beta)
    ln_tau = length + noise + defect / d
    return math.exp(2 * min(ln_tau - lwe.ln_q, 300)), d - kept


def dual_bits(lwe, exponent, beta, p, enumerated, transformed):
    """log2 of the cost of a dual attack with the choices given.

    `enumerated` coordinates of the secret are guessed one by one; `transformed` ones by a Fourier transform
    over (Z/p)^transformed, for which they are rounded mod p (GJ21). The number of vectors is the inverse
    square of what noise and rounding leave of the bias, times the logarithm of the number of guesses
    (MATZOV22, theorem 7.6).
    """
    relative, _ = dual_noise(lwe, beta, lwe.ell - enumerated - transformed)
    rounding = transformed / 3 * (math.pi * lwe.sigma_secret / p) ** 2
    guesses = enumerated * lwe.guess_bits + transformed * math.log2(p)
    bias = (4 * math.pi ** 2 * relative + rounding) / math.log(2)
    vectors = bias + math.log2((guesses + 1) * math.log(2))
    sieves = exponent * beta + max(0, vectors - SIEVE_LIST * beta)
    transform = math.log2(FFT_UNIT * max(transformed, 1)) + (transformed + 1) * math.log2(p)
    table = math.log2(TABLE_UNIT) + vectors
    if enumerated + transformed == 0:
        return sieves
    return log2_sum(sieves, enumerated * lwe.guess_bits + log2_sum(transform, table))


def least(function, low, high, window=4):
    """(value, argument) of the minimum of a function of low..high that falls and then rises.

    The last `window` values are all tried, for functions that do so but for small steps.
    """
    known = {}

    def value(x):
        if x not in known:
            known[x] = function(x)
        return known[x]

    while high - low > window:
        middle = (low + high) // 2
        if value(middle) <= value(middle + 1):
            high = middle + 1
        else:
            low = middle
    return min((value(x), x) for x in range(low, high + 1))


@functools.lru_cache(maxsize=None)
def dual_hybrid(lwe, exponent=CLASSICAL):
    """The dual attack at its best choice of block size, modulus p and numbers of guessed coordinates."""
    def over_beta(p, enumerated, transformed, bound):
        high = lwe.ell                                                  # the cost is at least exponent beta
        if bound < math.inf:
            high = min(high, int(bound / exponent) + 8)
        return least(lambda b: dual_bits(lwe, exponent, b, p, enumerated, transformed), LEAST_BLOCK, high)

    best = (math.inf,)
    for p in range(max(2, int(2 * lwe.sigma_secret)), 3 + int(7 * lwe.sigma_secret)):
        best_of_p = (math.inf,)
        for enumerated in range(0, lwe.ell // 2, 2):
            bound = best_of_p[0]
            bits, transformed = least(lambda k: over_beta(p, enumerated, k, bound)[0], 0, lwe.ell // 2, 12)
            best_of_p = min(best_of_p, (bits, p, enumerated, transformed))
            if enumerated > best_of_p[2] + 12:
                break
        best = min(best, best_of_p)
    bits, p, enumerated, transformed = best
    beta = over_beta(p, enumerated, transformed, math.inf)[1]
    _, m = dual_noise(lwe, beta, lwe.ell - enumerated - transformed)
    return {'bits': bits, 'beta': beta, 'p': p, 'enumerated': enumerated, 'transformed': transformed,
            'samples': m}


def plain_dual(lwe, exponent=CLASSICAL):
    """The dual attack of ADPS16: no guesses, every vector as short as the shortest. A cross-check."""
    def cost(beta):
        noise = math.log(lwe.sigma_noise)
        defect = lwe.ell * (math.log(lwe.sigma_secret) + lwe.ln_q - noise)
        d = best_dimension(defect, beta, max(lwe.ell, beta), lwe.ell + lwe.samples)
        ln_tau = (d - 1) * ln_delta(beta) + noise + defect / d
        relative = math.exp(2 * min(ln_tau - lwe.ln_q, 300))
        return exponent * beta + max(0, 4 * math.pi ** 2 * relative / math.log(2) - SIEVE_LIST * beta)
    bits, beta = least(cost, LEAST_BLOCK, lwe.ell)
    return {'bits': bits, 'beta': beta}


# ---- sets and verdict --------------------------------------------------------------------------------------

METHODS = {'usvp': usvp, 'dual': dual_hybrid}
TITLES = {'usvp': 'uSVP', 'dual': 'dual hybrid'}


@functools.lru_cache(maxsize=None)
def ml_kem(k, eta):
    """ML-KEM (FIPS 203) with rank k: one public key, so k 256 samples."""
    return binomial_lwe(256 * k, math.log2(3329), eta, 256 * k)


def log2_modulus(h):
    return math.log2(math.prod(PRIMES[:h]))


def cells(line):
    return [cell.strip().strip('`') for cell in line.strip().strip('|').split('|')]


def whole(text, column, name):
    """A cell with a whole number, which may carry its formula: "2048 (= 256 * 8)"."""
    found = re.fullmatch(r'([0-9]+)( \(= [^()]*\))?', text)
    if not found:
        raise BadInput(f'set {name}: column {column} must be a whole number, found "{text}"')
    return int(found.group(1))


def read_set(header, row):
    """One row of the table, checked: ell = N d, N a power of two, known primes."""
    if len(row) != len(header):
        raise BadInput(f'a row has {len(row)} cells, its header {len(header)}: {" | ".join(row)}')
    fields = dict(zip(header, row))
    name = fields['set']
    h, n, d, ell, eta = (whole(fields[column], column, name) for column in COLUMNS[1:])
    if not (1 <= h <= len(PRIMES) and eta >= 1 and d >= 1 and n >= 2 and n & (n - 1) == 0):
        raise BadInput(f'set {name}: needs 1 <= h <= {len(PRIMES)}, N a power of two, d >= 1 and eta >= 1')
    if ell != n * d:
        raise BadInput(f'set {name}: ell is {ell}, but N d is {n * d}')
    return {'set': name, 'h': h, 'N': n, 'd': d, 'ell': ell, 'eta': eta, 'log2_q': log2_modulus(h)}


def read_sets(text):
    """The sets of the one Markdown table whose header has all of COLUMNS.

    A row with "-" for ell is of a set with uniform masks and passed over.
    """
    tables, header = [], None
    for line in text.splitlines():
        if not line.lstrip().startswith('|'):
            header = None
        elif header is None:
            header = cells(line)
            if set(COLUMNS) <= set(header):
                tables.append([])
        elif set(COLUMNS) <= set(header) and set(line) - set('|-: '):
            row = cells(line)
            if row[header.index('ell') if len(row) == len(header) else 0] != '-':
                tables[-1].append(read_set(header, row))
    if len(tables) != 1 or not tables[0]:
        raise BadInput(f'expected one table with the columns {" | ".join(COLUMNS)} and at least one lattice '
                       f'set, found {len(tables)} tables')
    names = [one['set'] for one in tables[0]]
    if len(set(names)) != len(names):
        raise BadInput('a set occurs twice in the table')
    return tables[0]


def judge(sets, exponent=CLASSICAL):
    """Figures of ML-KEM-512 and of each set, and a sentence for each method in which a set falls short."""
    yardstick = {method: attack(ml_kem(2, 3), exponent) for method, attack in METHODS.items()}
    results, refused = [], []
    for one in sets:
        lwe = binomial_lwe(one['ell'], one['log2_q'], one['eta'])
        result = dict(one, sigma=lwe.sigma_noise, margin={})
        for method, attack in METHODS.items():
            result[method] = attack(lwe, exponent)
            result['margin'][method] = result[method]['bits'] - yardstick[method]['bits']
            if result['margin'][method] < MARGIN:
                refused.append(
                    f'refused: {one["set"]} (ell {one["ell"]}, log2 L {one["log2_q"]:.3f}, eta {one["eta"]}) '
                    f'has {result[method]["bits"]:.1f} bits by {TITLES[method]}; ML-KEM-512 has '
                    f'{yardstick[method]["bits"]:.1f}, and {MARGIN} bits more are required')
        results.append(result)
    return {'exponent': exponent, 'required_margin': MARGIN, 'ML-KEM-512': yardstick, 'sets': results,
            'refused': refused}


def print_table(header, rows):
    """A Markdown table with aligned columns."""
    texts = [list(map(str, row)) for row in [header] + rows]
    widths = [max(len(row[i]) for row in texts) for i in range(len(header))]
    for number, row in enumerate(texts):
        print('| ' + ' | '.join(text.ljust(width) for text, width in zip(row, widths)) + ' |')
        if number == 0:
            print('|' + '|'.join('-' * (width + 2) for width in widths) + '|')


def print_verdict(verdict):
    yardstick = verdict['ML-KEM-512']
    rows = [['ML-KEM-512', 512, f'{math.log2(3329):.3f}', f'{math.sqrt(1.5):.3f}',
             f'{yardstick["usvp"]["bits"]:.1f}', f'{yardstick["dual"]["bits"]:.1f}', '', '']]
    for one in verdict['sets']:
        rows.append([one['set'], one['ell'], f'{one["log2_q"]:.3f}', f'{one["sigma"]:.3f}',
                     f'{one["usvp"]["bits"]:.1f}', f'{one["dual"]["bits"]:.1f}',
                     f'{one["margin"]["usvp"]:+.1f}', f'{one["margin"]["dual"]:+.1f}'])
    print_table(['set', 'ell', 'log2 L', 'sigma', 'uSVP', 'dual', 'margin uSVP', 'margin dual'], rows)
    for sentence in verdict['refused']:
        print(sentence)


def arguments(argv):
    parser = argparse.ArgumentParser(description='Hardness of Module-LWE for the parameter sets.')
    which = parser.add_mutually_exclusive_group()
    which.add_argument('--parameters', metavar='FILE', type=pathlib.Path, default=PARAMETERS,
                       help='a Markdown file with the table of sets')
    which.add_argument('--try', dest='tried', nargs=3, metavar=('ELL', 'LOG2Q', 'ETA'),
                       help='one set from numbers')
    form = parser.add_mutually_exclusive_group()
    form.add_argument('--json', action='store_true', help='print JSON')
    form.add_argument('--page', action='store_true', help='print the tables of hardness.md as well')
    parser.add_argument('--exponent', type=float, default=CLASSICAL, metavar='C',
                        help='an SVP call costs 2^(C beta)')
    options = parser.parse_args(argv)
    if not 0.05 <= options.exponent <= 1:
        parser.error('--exponent must be between 0.05 and 1')
    if options.page and options.tried:
        parser.error('--page needs a set with h, N and d, so a table')
    return options


def chosen_sets(options):
    if options.tried:
        ell, log2_q, eta = options.tried
        try:
            one = {'set': 'tried', 'ell': int(ell), 'log2_q': float(log2_q), 'eta': int(eta)}
        except ValueError:
            raise BadInput('--try takes a whole ELL, a number LOG2Q and a whole ETA') from None
        if not (100 <= one['ell'] <= 2 ** 16 and 2 <= one['log2_q'] <= 200 and 1 <= one['eta'] <= 64):
            raise BadInput('--try needs 100 <= ELL <= 65536, 2 <= LOG2Q <= 200 and 1 <= ETA <= 64')
        return [one]
    try:
        return read_sets(options.parameters.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f'cannot read {options.parameters}: {error}') from None


def main(argv=None):
    options = arguments(argv)
    try:
        sets = chosen_sets(options)
    except BadInput as error:
        print(f'estimate.py: {error}', file=sys.stderr)
        return 2
    verdict = judge(sets, options.exponent)
    if options.json:
        print(json.dumps(verdict, indent=2))
    else:
        print_verdict(verdict)
    if options.page:
        import other_attacks
        other_attacks.print_page(verdict['sets'])
    return 1 if verdict['refused'] else 0


if __name__ == '__main__':
    sys.exit(main())
