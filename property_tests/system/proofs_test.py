"""The gates of the proofs turn red. Mutants that need a prover are part of each gate itself; here are
those that are found without one."""
# test: once

import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROOFS = pathlib.Path(__file__).resolve().parents[2] / "proofs"


def load(path):
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("gate", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gate", loader))
    loader.exec_module(module)
    return module


class GateCase(unittest.TestCase):
    def run_(self, *command):
        return subprocess.run(list(map(str, command)), capture_output=True, text=True)


class Coq(GateCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = pathlib.Path(folder.name) / "coq"
        shutil.copytree(PROOFS / "coq", self.copy)
        self.gate = load(PROOFS / "coq/check")

    def edit(self, name, old, new):
        path = self.copy / name
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1))

    def assert_red(self, stage, check):
        with self.assertRaises(self.gate.Red) as red:
            check(self.copy)
        self.assertEqual(red.exception.stage, stage)

    def test_the_sources_are_green(self):
        self.gate.check_words(self.copy)
        self.gate.check_comments_and_witnesses(self.copy)

    def test_words_that_stand_in_for_a_proof(self):
        for new in ("Proof. Admitted.", "Axiom trusted : True.", "Unset Guard Checking."):
            with self.subTest(new):
                shutil.copy(PROOFS / "coq/Ring.v", self.copy)
                self.edit("Ring.v", "Section Theory.", f"{new}\nSection Theory.")
                self.assert_red("words", self.gate.check_words)

    def test_a_claim_without_a_clause_or_a_witness(self):
        self.edit("Witnesses.v", "Definition witness_executable_mask ", "Definition other ")
        self.assert_red("witnesses", self.gate.check_comments_and_witnesses)
        shutil.copy(PROOFS / "coq/Witnesses.v", self.copy)
        self.edit("Claims.v", "(* MASK-2. *)\nDefinition claim_executable_mask",
                  "(* Masks. *)\nDefinition claim_executable_mask")
        self.assert_red("clauses", self.gate.check_comments_and_witnesses)


class Oracle(GateCase):
    def test_what_was_compiled_of_other_sources_is_not_taken(self):
        oracle = load(PROOFS / "oracle/check")
        with tempfile.TemporaryDirectory() as folder:
            kept = pathlib.Path(folder)
            for name in oracle.FILES:
                shutil.copy(PROOFS / f"coq/{name}.v", kept)
                (kept / f"{name}.vo").touch()
            self.assertTrue(oracle.compiled(kept))
            for name in oracle.FILES:
                whole = (kept / f"{name}.v").read_text()
                (kept / f"{name}.v").write_text(whole.replace("+", "-", 1) + "\n")
                self.assertFalse(oracle.compiled(kept), name)
                (kept / f"{name}.v").write_text(whole)
                (kept / f"{name}.vo").unlink()
                self.assertFalse(oracle.compiled(kept), name)
                (kept / f"{name}.vo").touch()
            self.assertTrue(oracle.compiled(kept))


class Programs(GateCase):
    def test_an_oracle_without_vectors_is_no_proof(self):
        done = self.run_(PROOFS / "oracle/check", shutil.which("true"))
        if done.returncode == 77:
            self.skipTest(done.stdout.strip())
        self.assertEqual(done.returncode, 1)
        self.assertIn("0 vectors", done.stdout)

    def test_a_part_that_did_not_run_is_a_skip(self):
        # A Valgrind that finds the planted leak and nothing else; no clang.
        with tempfile.TemporaryDirectory() as folder:
            tool = pathlib.Path(folder) / "valgrind"
            tool.write_text('#!/bin/sh\nfor last; do :; done\n[ "$last" != leak ]\n')
            tool.chmod(0o755)
            for python in ("python3", "env", "sh"):
                (pathlib.Path(folder) / python).symlink_to(shutil.which(python))
            command = [PROOFS / "constant_time/check", shutil.which("true")]
            for backends, status in ([["portable"], 0], [["avx512"], 77], [[], 77], [["abacus"], 2]):
                done = subprocess.run([*command, *backends], env={"PATH": folder}, capture_output=True,
                                      text=True)
                self.assertEqual(done.returncode, status, done.stdout + done.stderr)

    def test_bad_usage(self):
        with tempfile.TemporaryDirectory() as folder:
            for command in (["run", folder], ["oracle/check"], ["constant_time/check", folder],
                            ["coq/check", "--all"]):
                done = self.run_(PROOFS / command[0], *command[1:])
                self.assertEqual(done.returncode, 2, command)
                self.assertTrue(done.stderr)


if __name__ == "__main__":
    unittest.main()
