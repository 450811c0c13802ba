"""The hardness of the lattice problems of spec/parameters.md (PARAM-5): published figures, sets that must be
refused, tables that must not be read."""

import contextlib
import io
import json
import math
import re
import sys
import tempfile
import unittest

from slip_system import ROOT, SystemTest

sys.path.insert(0, str(ROOT / "experiments" / "hardness"))

import decoding  # noqa: E402
import estimate  # noqa: E402
import other_attacks  # noqa: E402
from estimate import (binomial_lwe, dual_bits, dual_hybrid, log2_modulus, ml_kem,  # noqa: E402
                      plain_dual, usvp)

PAGE = ROOT / "spec" / "hardness.md"


HIDING = ROOT / "spec" / "hiding.md"


def run(*argv, main=estimate.main):
    """(exit status, standard output, standard error) of the command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(list(argv))
        except SystemExit as stop:                  # argparse
            status = stop.code
    return status, out.getvalue(), err.getvalue()


def table(*rows):
    return '\n'.join(['| set | h | N | d | ell | eta |', '|---|---|---|---|---|---|', *rows, ''])


SETS = table('| `paper-lattice` | 5 | 256 | 8 | 2048 | 2 |')


class HardnessPublished(SystemTest):
    """Figures that others have published for the same problems in the same model."""

    def test_ml_kem_512_usvp(self):
        # README of the lattice estimator, `rough`: 118.6, block size 406
        found = usvp(ml_kem(2, 3))
        self.assertAlmostEqual(found['bits'], 118.6, delta=0.05)
        self.assertEqual(found['beta'], 406)

    def test_ml_kem_512_dual_hybrid(self):
        # the same: 115.5 with block size 395, p = 5, 40 coordinates transformed, none enumerated
        self.assertAlmostEqual(dual_bits(ml_kem(2, 3), 0.292, 395, 5, 0, 40), 115.5, delta=0.15)
        self.assertAlmostEqual(dual_hybrid(ml_kem(2, 3))['bits'], 115.5, delta=0.65)

    def test_kyber_specification(self):
        # Kyber, round 3, and its script: core-SVP of the primal attack, rounded down
        for (k, eta), bits in {(2, 3): 118, (3, 2): 182, (4, 2): 256}.items():
            self.assertLess(abs(usvp(ml_kem(k, eta))['bits'] - bits), 1)

    def test_kyber_plain_dual(self):
        # the same script, plain dual attack, rounded down
        for (k, eta), bits in {(2, 3): 117, (3, 2): 181, (4, 2): 253}.items():
            self.assertEqual(math.floor(plain_dual(ml_kem(k, eta))['bits']), bits)

    def test_lattice_estimator_on_wide_moduli(self):
        # h, ell, eta, uSVP, dual hybrid, all from the lattice estimator
        for h, ell, eta, primal, dual in ((6, 2304, 2, 134.0, 132.6), (6, 2304, 1, 130.2, 128.2),
                                          (7, 2560, 2, 126.1, 125.0), (7, 2560, 1, 122.9, 121.2),
                                          (7, 2816, 1, 140.2, 137.8), (5, 1792, 2, 121.5, 120.0),
                                          (3, 1024, 2, 111.8, 110.4), (3, 1152, 2, 130.8, 128.0)):
            with self.subTest(h=h, ell=ell, eta=eta):
                lwe = binomial_lwe(ell, log2_modulus(h), eta)
                self.assertAlmostEqual(usvp(lwe)['bits'], primal, delta=0.35)
                found = dual_hybrid(lwe)['bits']
                self.assertLess(found, dual + 0.05)             # a finer search finds no worse attack
                self.assertGreater(found, dual - 0.85)

    def test_lattice_estimator_on_wide_noise(self):
        # deviations 2 and 4: its search of the dual attack stops at a p that is too small
        for h, ell, eta, primal, dual in ((4, 1280, 32, 123.2, 125.6), (3, 1024, 8, 125.3, 127.6),
                                          (3, 1152, 8, 146.0, 148.5)):
            with self.subTest(h=h, ell=ell, eta=eta):
                lwe = binomial_lwe(ell, log2_modulus(h), eta)
                self.assertAlmostEqual(usvp(lwe)['bits'], primal, delta=0.05)
                found = dual_hybrid(lwe)['bits']
                self.assertLess(found, dual)
                self.assertGreater(found, dual - 5)

    def test_the_set(self):
        lwe = binomial_lwe(2048, log2_modulus(5), 2)
        self.assertAlmostEqual(usvp(lwe)['bits'], 145, delta=0.5)
        self.assertAlmostEqual(dual_hybrid(lwe)['bits'], 142.9, delta=0.05)


class HardnessSearch(SystemTest):
    """The optimisers, against plain enumeration and common sense."""

    def test_usvp_is_least_and_m_is_best(self):
        lwe = binomial_lwe(512, 20, 2)
        found = usvp(lwe)
        slack = estimate.usvp_slack(lwe, found['beta'])[0]
        self.assertGreaterEqual(slack, 0)
        self.assertLess(estimate.usvp_slack(lwe, found['beta'] - 1)[0], 0)
        for m in range(found['samples'] - 30, found['samples'] + 30):
            capped = binomial_lwe(512, 20, 2, samples=m)
            self.assertLessEqual(estimate.usvp_slack(capped, found['beta'])[0], slack + 1e-5)

    def test_dual_against_enumeration(self):
        lwe = binomial_lwe(2048, log2_modulus(5), 2)
        found = dual_hybrid(lwe)
        best = min(dual_bits(lwe, 0.292, beta, p, enumerated, transformed)
                   for beta in range(found['beta'] - 4, found['beta'] + 5) for p in (3, 4, 5, 6)
                   for enumerated in range(0, 24, 2) for transformed in range(30, 70))
        self.assertAlmostEqual(found['bits'], best, delta=0.12)
        self.assertGreaterEqual(found['bits'], best - 1e-9)

    def test_directions(self):
        def both(ell, log2_q, eta):
            lwe = binomial_lwe(ell, log2_q, eta)
            return usvp(lwe)['bits'], dual_hybrid(lwe)['bits']
        base = both(1024, 24, 2)
        for easier in (both(960, 24, 2), both(1024, 25, 2), both(1024, 24, 1)):
            self.assertTrue(all(a < b for a, b in zip(easier, base)), easier)

    def test_small_secret_is_scaled(self):
        even = estimate.Lwe(1024, 24, 1, 1, 2)
        self.assertLess(usvp(estimate.Lwe(1024, 24, 0.5, 1, 2))['bits'], usvp(even)['bits'])
        self.assertGreater(usvp(estimate.Lwe(1024, 24, 0.5, 1, 2))['bits'],
                           usvp(estimate.Lwe(1024, 24, 0.5, 0.5, 2))['bits'])

    def test_cheaper_sieve(self):
        lwe = binomial_lwe(2048, log2_modulus(5), 2)
        self.assertEqual(usvp(lwe, 0.257)['beta'], usvp(lwe)['beta'])
        self.assertLess(dual_hybrid(lwe, 0.257)['bits'], dual_hybrid(lwe)['bits'])


class HardnessRefusals(SystemTest):
    """A set below ML-KEM-512 plus four bits, in either method, is refused with a sentence."""

    def test_PARAM_5_the_set_is_kept(self):
        status, out, _ = run()
        self.assertEqual(status, 0)
        self.assertNotIn('refused', out)

    def test_HIDE_1_the_hidden_set_is_kept(self):
        status, out, _ = run('--parameters', str(HIDING))
        self.assertEqual(status, 0)
        self.assertIn('hidden', out)

    def test_weaker_sets(self):
        for ell, h, eta in ((1536, 5, 2), (1792, 5, 2), (1792, 5, 1), (2048, 6, 2)):
            with self.subTest(ell=ell, h=h, eta=eta):
                status, out, _ = run('--try', str(ell), str(log2_modulus(h)), str(eta))
                self.assertEqual(status, 1)
                self.assertIn(f'refused: tried (ell {ell}, ', out)
                self.assertIn('ML-KEM-512 has', out)

    def test_one_method_is_enough(self):
        # ell = 1792: 2.9 bits more by uSVP, 4.8 by dual hybrid
        verdict = json.loads(run('--json', '--try', '1792', str(log2_modulus(5)), '2')[1])
        margin = verdict['sets'][0]['margin']
        self.assertLess(margin['usvp'], 4)
        self.assertGreater(margin['dual'], 4)
        self.assertEqual(len(verdict['refused']), 1)
        self.assertIn('by uSVP', verdict['refused'][0])

    def test_other_sets_are_kept(self):
        for ell, h, eta in ((2048, 5, 1), (2304, 6, 1), (2560, 7, 2)):
            self.assertEqual(run('--try', str(ell), str(log2_modulus(h)), str(eta))[0], 0)

    def test_yardstick_itself_is_refused(self):
        self.assertEqual(run('--try', '512', str(math.log2(3329)), '3')[0], 1)

    def test_one_weak_set_among_others(self):
        with tempfile.NamedTemporaryFile('w', suffix='.md') as file:
            file.write(table('| `good` | 5 | 256 | 8 | 2048 | 2 |', '| `weak` | 5 | 256 | 6 | 1536 | 2 |'))
            file.flush()
            status, out, _ = run('--parameters', file.name)
        self.assertEqual(status, 1)
        self.assertIn('refused: weak', out)
        self.assertNotIn('refused: good', out)


class HardnessTables(SystemTest):
    """What is read from a Markdown file, and what is not."""

    def refused(self, text, message):
        with self.assertRaises(estimate.BadInput) as caught:
            estimate.read_sets(text)
        self.assertIn(message, str(caught.exception))

    def test_reads(self):
        text = ('# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n'
                '| code | set | masks | h | N | d | ell | eta |\n|---|---|---|---|---|---|---|---|\n'
                '| 1 | `paper` | uniform | 4 | - | - | - | - |\n'
                '| 2 | `paper-lattice` | lattice | 5 | 256 | 8 | 2048 (= 256 * 8) | 2 |\n\ntext\n')
        found = estimate.read_sets(text)
        self.assertEqual([one['set'] for one in found], ['paper-lattice'])
        self.assertEqual([found[0][c] for c in estimate.COLUMNS[1:]], [5, 256, 8, 2048, 2])
        self.assertAlmostEqual(found[0]['log2_q'], 39.489, places=3)

    def test_page_has_the_same_sets(self):
        self.assertEqual(estimate.read_sets(PAGE.read_text()),
                         estimate.read_sets(estimate.PARAMETERS.read_text()))

    def test_bad_tables(self):
        self.refused('', 'found 0 tables')
        self.refused(table(), 'at least one')
        self.refused(table('| a | 4 | - | - | - | - |'), 'at least one')
        self.refused(SETS + '\n' + SETS, 'found 2 tables')
        self.refused(table('| a | 5 | 256 | 8 | 2049 | 2 |'), 'N d is 2048')
        self.refused(table('| a | 5 | 255 | 8 | 2040 | 2 |'), 'power of two')
        self.refused(table('| a | 8 | 256 | 8 | 2048 | 2 |'), 'h <= 7')
        self.refused(table('| a | 5 | 256 | 8 | 2048 | 0 |'), 'eta >= 1')
        self.refused(table('| a | 5 | 256 | 8 | 2048 | two |'), 'whole number')
        self.refused(table('| a | 5 | 256 | 8 | 2048 |'), '5 cells')
        self.refused(table(*['| a | 5 | 256 | 8 | 2048 | 2 |'] * 2), 'twice')

    def test_exit_status_of_bad_input(self):
        for argv in (('--parameters', '/nonexistent'), ('--try', 'x', '30', '2'),
                     ('--try', '2048', '39', '0'),
                     ('--try', '2048', 'nan', '2'), ('--exponent', '3'), ('--json', '--page')):
            with self.subTest(argv=argv):
                status, out, err = run(*argv)
                self.assertEqual((status, out), (2, ''))
                self.assertTrue(err)

    def test_json(self):
        status, out, _ = run('--json')
        verdict = json.loads(out)
        self.assertEqual(status, 0)
        self.assertEqual(verdict['required_margin'], 4)
        self.assertEqual(verdict['sets'][0]['usvp']['beta'], 498)
        self.assertEqual(out, run('--json')[1])                 # the same every time


class HiddenWidths(SystemTest):
    """The table of HIDE-2: that it holds, that wrong ones are refused, that a row can be found."""

    def check(self, text):
        with tempfile.NamedTemporaryFile('w', suffix='.md') as file:
            file.write(text)
            file.flush()
            return run('--table', file.name, main=decoding.main)

    def test_HIDE_2_the_table_holds(self):
        status, out, _ = run(main=decoding.main)
        self.assertEqual((status, out.count('holds')), (0, 14))
        self.assertEqual([row[0] for row in decoding.read_table(HIDING)][-1], 6144)

    def test_HIDE_2_every_copy_of_the_table_is_this_one(self):
        rows = decoding.read_table(HIDING)
        interleaved = [(*row[:5], row[5], row[7], row[6], row[8]) for row in rows]     # u, then v
        for path, numbers, expected in (
                ("reference/hidden_widths.cpp", 9, interleaved),
                ("conformance/slip_peer/hiding.py", 8, [(row[0], *row[2:]) for row in interleaved]),
                ("proofs/coq/Hiding.v", 9, rows)):
            text = re.sub(r"\s+", "", (ROOT / path).read_text())
            found = re.findall(r"[({](-?\d+(?:,[({]?-?\d+[)}]?){%d})[)}]" % (numbers - 1), text)
            found = [tuple(map(int, re.sub("[(){}]", "", row).split(","))) for row in found]
            self.assertEqual(found, expected, path)

    def test_HIDE_2_wrong_rows_are_refused(self):
        text = HIDING.read_text()
        row = decoding.read_table(HIDING)[0]
        for column, words in {'R^2': 'R^2 is', 'B': 'above (L-1)/2', 's': 'square root', 'tau': 'square root',
                              'u_1': 'v_1 is not', 'v_2': 'v_2 is not'}.items():
            with self.subTest(column):
                cells = list(row)
                cells[decoding.COLUMNS.index(column)] += 100
                status, out, _ = self.check(text.replace(
                    '| ' + ' | '.join(map(str, row)) + ' |', '| ' + ' | '.join(map(str, cells)) + ' |'))
                self.assertEqual(status, 1)
                self.assertIn(words, out)
        twice = (*row[:7], *row[5:7])
        self.assertIn('u_1 v_2 - u_2 v_1 is not L or -L', list(decoding.faults(twice)))

    def test_bad_tables(self):
        text = HIDING.read_text()
        for wrong, words in ((text.replace('`R^2`', '`R`'), 'no table'),
                             (text.replace('| 64 | 64 |', '| 64 | many |'), 'integers'),
                             (text.replace('| 96 | 96 |', '| 64 | 96 |'), 'do not rise')):
            status, out, err = self.check(wrong)
            self.assertEqual((status, out), (2, ''))
            self.assertIn(words, err)
        for argv in (('--search', '0'), ('--search', '64', '--tries', '0'), ('--search', 'x')):
            self.assertEqual(run(*argv, main=decoding.main)[0], 2)

    def test_a_row_that_is_found_holds(self):
        row = decoding.row_for(64, 1)
        self.assertEqual(list(decoding.faults(row)), [])
        self.assertLessEqual(row[2], decoding.read_table(HIDING)[0][2])    # more tries find longer rows


class HardnessOtherAttacks(SystemTest):

    def test_degrees_of_factors(self):
        for prime, degree in {251: 128, 241: 32, 239: 32, 233: 64, 229: 128, 227: 128, 223: 16}.items():
            self.assertEqual(other_attacks.factor_degree(prime, 256), degree)

    def test_arora_ge(self):
        # ell = 1024, and ell = 2048 with eta = 1, both with 2.8M samples
        self.assertEqual(other_attacks.arora_ge(1024, 5, 11008 * 256)[0], 67)
        self.assertAlmostEqual(other_attacks.arora_ge(2048, 3, 11008 * 256)[1], 305, delta=0.5)

    def test_bkw_is_below_the_published_figure(self):
        # README of the lattice estimator: 178.8 for ML-KEM-512, steps and memory counted
        self.assertLess(other_attacks.coded_bkw(ml_kem(2, 3)), 178.8)

    def test_dropped_coordinates(self):
        self.assertEqual(other_attacks.dropped_coordinates(14, 1), 14)         # zero with probability 1/2
        self.assertEqual(other_attacks.dropped_coordinates(0, 2), 0)

    def test_page(self):
        """Every row of a table of hardness.md is printed by --page, but for the table of the set."""
        _, out, _ = run('--page')
        printed = {tuple(estimate.cells(line)) for line in out.splitlines() if line.startswith('|')}
        sets = {tuple(estimate.cells(line)) for line in SETS.splitlines()}
        rows = [line for line in PAGE.read_text().splitlines() if line.startswith('|')]
        for line in rows:
            row = tuple(estimate.cells(line))
            if set(line) - set('|-: '):
                self.assertTrue(row in printed or row in sets, line)


if __name__ == '__main__':
    unittest.main()
