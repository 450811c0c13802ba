#!/usr/bin/env python3
"""Conformance: recordings of what David sees, and the statistics on them."""
# test: once

import dataclasses
import json
import math
import os
import random
import stat
import sys
import unittest

import cnn_test
from conformance_peers import CONFORMANCE, SEED, Deployed, PythonPeer, conform
from slip_system import LIMIT_S, David, SystemTest

PLANES = 4  # bytes of a residue


class Views(Deployed, SystemTest):
    """Recordings of what David sees, and the statistics on them."""

    def record(self, david, path, sessions):
        with david:
            for _ in range(sessions):
                self.slip("generate", "--artifact", self.artifact, "--engine", "hybrid",
                          "--david", david.endpoint, "--tls", self.tls / "charlie",
                          "--ids", "1,5,9", "--max-tokens", 4)
            if isinstance(david, PythonPeer):
                david.process.wait(LIMIT_S)
            else:
                self.assertEqual(david.stop()[0], 0)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        return [json.loads(line) for line in path.read_text().splitlines()]

    def test_THREAT_1_both_davids_record_the_same_schedule_and_pass(self):
        found = []
        for kind, options in ((David, {}), (PythonPeer, {"sessions": 3})):
            path = self.folder / f"{kind.__name__}.jsonl"
            david = kind(self.artifact / "david", self.tls / "david", "--record", path, **options)
            head, *messages = self.record(david, path, 3)
            self.assertEqual(head, {"format": "slip-view", "version": 2, "set": "paper"})
            self.assertEqual({message["session"] for message in messages}, {0, 1, 2})
            found.append([(message["session"], message["sequence"], message["group"],
                           list(map(len, message["columns"]))) for message in messages])
            for extra in ([], ["--repeats"], ["--each-session"]):
                conform("view", path, "--false-alarms", 1e-12, *extra)
        self.assertEqual(found[0], found[1])

    def test_CNN_4_masked_images_are_recorded_whole(self):
        """One column per image."""
        out, path = self.folder / "cnn", self.folder / "cnn.jsonl"
        self.slip("split", "--model", cnn_test.write_network(self.folder / "net.onnx"), "--rank", 1,
                  "--set", self.SET, "--out", out)
        images = cnn_test.write_images(self.folder, 6, 9, 8)
        with David(out / "david", self.tls / "david", "--record", path) as david:
            self.slip("eval", "--artifact", out, "--engine", "hybrid", "--david", david.endpoint,
                      "--tls", self.tls / "charlie", *images)
        groups = json.loads((out / "david/manifest.json").read_text())["groups"]
        messages = [json.loads(line) for line in path.read_text().splitlines()[1:]]
        self.assertEqual({message["group"] for message in messages}, set(range(len(groups))))
        for message in messages:
            group = groups[message["group"]]
            shape = group.get("convolution")
            inputs = shape["channels"] * shape["height"] * shape["width"] if shape else group["cols"]
            self.assertEqual({len(column) for column in message["columns"]}, {PLANES * inputs})
        conform("view", path, "--false-alarms", 1e-12)

    def test_the_statistics_flag_what_is_wrong_and_pass_what_is_not(self):
        rows = json.loads(conform("view", "--calibrate", 1, "--seed", SEED, "--json"))
        for row in rows:
            self.assertEqual(row["flagged"], row["count"] if row["wrong"] else 0, row)
        self.assertEqual({row["set"] for row in rows}, {"paper", "paper-lattice", "hidden"})

    def test_MASK_7_masks_of_the_lattice_set_pass(self):
        out, path = self.folder / "lattice", self.folder / "lattice.jsonl"
        self.slip("split", "--model", self.folder / "model", "--rank", 3, "--set", "paper-lattice",
                  "--out", out)
        with David(out / "david", self.tls / "david", "--record", path) as david:
            for _ in range(3):
                self.slip("generate", "--artifact", out, "--engine", "hybrid", "--david",
                          david.endpoint, "--tls", self.tls / "charlie", "--ids", "1,5,9",
                          "--max-tokens", 4)
            self.assertEqual(david.stop()[0], 0)
        masks = out / "charlie/masks.safetensors"
        printed = conform("view", path, "--repeats", "--masks", masks, "--false-alarms", 1e-12)
        self.assertIn("2064 are needed", printed)
        for wrong in (out / "charlie/check.safetensors", out / "charlie/plan.json",
                      out / "charlie/nowhere"):
            conform("view", path, "--masks", wrong, status=2)

    def test_HIDE_1_what_david_sees_and_holds_of_the_hidden_split(self):
        out, audit, path = (self.folder / name for name in ("hidden", "audit", "hidden.jsonl"))
        self.slip("split", "--model", self.folder / "model", "--audit", audit, "--out", out)
        with David(out / "david", self.tls / "david", "--record", path) as david:
            self.slip("generate", "--artifact", out, "--engine", "hybrid", "--david", david.endpoint,
                      "--tls", self.tls / "charlie", "--ids", "1,5,9", "--max-tokens", 4)
            self.assertEqual(david.stop()[0], 0)
        printed = conform("view", path, "--masks", out / "charlie/masks.safetensors", "--false-alarms", 1e-12)
        self.assertIn("2320 are needed", printed)
        held = ["view", "--held", out / "david", "--false-alarms", 1e-12]
        owner = ["--audit", audit, "--check", out / "charlie/check.safetensors"]
        self.assertIn("those of all 9 groups", conform(*held, *owner))
        conform(*held)
        conform("view", "--held", self.artifact / "david", status=2)  # the paper's split
        self.finds_another_seed(out / "david/manifest.json", held, owner)

    def finds_another_seed(self, manifest, held, owner):
        """A U that is not the one of the split: A looks as it did, and the companions tell."""
        seed = json.loads(manifest.read_text())["seed"]
        manifest.chmod(0o600)
        manifest.write_text(manifest.read_text().replace(seed, seed[::-1]))
        conform(*held)
        self.assertIn("FLAGGED companions", conform(*held, *owner, status=1))

    def test_HIDE_1_a_matrix_without_noise_is_found_with_the_model_alone(self):
        sys.path.insert(0, str(CONFORMANCE))
        from slip_peer import held, synthetic_views
        own = synthetic_views.SMALL_HIDDEN_SPLIT
        random.seed(SEED)
        groups, models = synthetic_views.hidden_split(own, with_noise=False)
        for given, expected in ((models, {"noise"}), (None, set())):
            findings = held.findings(own, groups, 1e-6, given)
            self.assertEqual({finding.check for finding in findings if finding.flagged}, expected)

    @unittest.skipUnless(os.environ.get("SLIP_FULL"), "./test --full: secrets of 8 elements")
    def test_MASK_7_masks_without_noise_are_found_at_the_sizes_of_the_set(self):
        sys.path.insert(0, str(CONFORMANCE))
        from slip_peer import parameters, synthetic_views, view
        for make, flagged in ((synthetic_views.without_noise, True),
                              (synthetic_views.of_one_block, False)):
            columns = make(parameters.PAPER_LATTICE)
            finding = view.noise(columns, parameters.PAPER_LATTICE, synthetic_views.SEED, 1e-9)
            self.assertEqual(finding.flagged, flagged, finding)
            self.assertIsNotNone(finding.p)

    def test_MASK_7_what_the_check_of_noise_needs(self):
        """A label, the right seed, equations enough, and a group's columns in their order."""
        sys.path.insert(0, str(CONFORMANCE))
        from slip_peer import synthetic_views, view
        own, seed = synthetic_views.SMALL_LATTICE, synthetic_views.SEED
        columns = synthetic_views.without_noise(own)
        unlabelled = [dataclasses.replace(column, label=None) for column in columns]
        cases = ((columns, seed, True), (columns, None, None), (unlabelled, seed, None),
                 (columns[:-1], seed, None), (columns, bytes(32), False), (columns[::-1], seed, False))
        for given, own_seed, flagged in cases:
            finding = view.noise(given, own, own_seed, 1e-9)
            self.assertEqual(finding.flagged if finding.p is not None else None, flagged, finding)

    def test_the_distributions(self):
        """Against closed forms, tables, and products of known rank."""
        sys.path.insert(0, str(CONFORMANCE))
        from slip_peer import fields, parameters, view
        for x in (0.5, 3.0, 40.0):
            self.assertAlmostEqual(view.chi_square_tail(x, 2) / math.exp(-x / 2), 1, 9)
            self.assertAlmostEqual(view.chi_square_tail(x, 4) / math.exp(-x / 2) / (1 + x / 2), 1, 9)
        self.assertAlmostEqual(view.chi_square_tail(99.607, 60), 0.001, 6)
        self.assertAlmostEqual(view.normal_tail(1.959964), 0.05, 6)
        self.assertAlmostEqual(view.critical(0.05), 1.959964, 6)
        values = [1, 2, 3, 2**30 + 1]
        self.assertEqual(view.bit_counts(values, 31), [3, 2] + [0] * 28 + [1])
        for L in (2, 7, 64, 100):
            for bit in range((L - 1).bit_length()):
                self.assertEqual(view.share_of_bit(bit, L), sum(v >> bit & 1 for v in range(L)) / L)
        p, k = parameters.PRIMES[0], 3
        tall = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [5, 250, 7], [0, 0, 0], [9, 9, 9], [1, 2, 4]]
        wide = [[1, 7, 3, 0, 0, 250, 2, 2, 1], [0, 1, 4, 4, 6, 6, 3, 0, 9], [0, 0, 1, 8, 8, 1, 1, 5, 4]]
        product = [[sum(a * b for a, b in zip(row, column)) % p for column in zip(*wide)]
                   for row in tall]
        self.assertEqual([fields.rank_of(product, p), fields.rank_of(product[:2], p)], [k, 2])

    def test_linear_equations(self):
        """A solution and equations that follow, none, and unknowns that no equation has."""
        sys.path.insert(0, str(CONFORMANCE))
        from slip_peer import fields
        p, unknowns = 251, 40
        draw = random.Random(7)
        secret = [draw.randrange(p) for _ in range(unknowns)]
        rows = [[draw.randrange(p) for _ in secret] for _ in range(unknowns + 3)]
        equations = [row + [sum(map(int.__mul__, row, secret)) % p] for row in rows]
        self.assertEqual(fields.left_over(equations, p), 3)
        self.assertEqual(fields.left_over(equations[:unknowns], p), 0)
        self.assertEqual(fields.left_over(equations[:7], p), 0)
        self.assertEqual(fields.left_over([[0] * unknowns + [0], *equations[:4]], p), 1)
        self.assertIsNone(fields.left_over([[0] * unknowns + [1], *equations[:4]], p))
        for at in range(unknowns + 1):
            wrong = [list(equation) for equation in equations]
            wrong[5][at] = (wrong[5][at] + 1) % p
            self.assertIsNone(fields.left_over(wrong, p), at)

    def test_MASK_5_a_mask_is_flagged_when_it_comes_again_and_not_before(self):
        sys.path.insert(0, str(CONFORMANCE))
        from slip_peer import parameters, synthetic_views, view
        columns = synthetic_views.reused(parameters.PAPER)
        for count, verdict in ((59, 0), (60, 1)):
            path = self.folder / f"reuse-{count}.jsonl"
            recorder = view.Recorder(path, parameters.PAPER)
            for column in columns[:count]:
                recorder.write({"session": 0, "sequence": column.sequence, "group": 0,
                                "columns": [list(column.data)]})
            recorder.file.close()
            out = conform("view", path, status=verdict)
            self.assertEqual("FLAGGED reuse" in out, verdict == 1)

    def test_bad_files(self):
        path = self.folder / "there"
        path.write_text("")
        self.refused("david", "--artifact", self.artifact / "david", "--listen",
                     "127.0.0.1:0", "--tls", self.tls / "david", "--record", path,
                     says=[str(path)])
        head = '{"format": "slip-view", "version": 2, "set": "paper"}\n'
        line = '{"session": 0, "sequence": 0, "group": 0, "columns": [[%s]]}\n'
        path.write_text(head + line % "250, 240, 238, 232")
        conform("view", path)
        for text in ["", "{}", "[", head, head + "{", head + "{}", head + line % "",
                     head + line % "1, 2, 3", head + line % "251, 0, 0, 0",
                     head + line % "0, 241, 0, 0", head + line % "0, 0, 239, 0",
                     head + line % "0, 0, 0, 233", head + line % "0, 0, 0, -1",
                     head + line % "null", head.replace("paper", "P31"), head.replace("2", "1")]:
            path.write_text(text)
            conform("view", path, status=2)


if __name__ == "__main__":
    unittest.main()
