"""tools/coverage counts what llvm-cov reports, and says which tests failed and what is not installed.
CMake and LLVM's tools are scripts here."""
# test: once

import json
import os
import subprocess
import sys
import unittest

from slip_system import ROOT, SystemTest

# file: lines, those that ran, branches, those that were taken
FILES = {"optimized/masks/keystream.cpp": (100, 50, 20, 5),
         "optimized/masks/public_matrix.cpp": (100, 100, 0, 0),
         "programs/endpoint/choice.cpp": (10, 0, 4, 0)}
# name, file, line, how often it was entered
FUNCTIONS = [("_Z3onev", "optimized/masks/keystream.cpp", 7, 0),
             ("_Z3onev", "optimized/masks/keystream.cpp", 7, 3),
             ("_Z3twov", "optimized/masks/keystream.cpp", 9, 0),
             ("_Z5otherv", "optimized/net/tls.cpp", 1, 0)]


def report():
    """What llvm-cov prints."""
    files = [{"filename": str(ROOT / name),
              "summary": {"lines": {"count": lines, "covered": covered},
                          "branches": {"count": branches, "covered": taken}}}
             for name, (lines, covered, branches, taken) in FILES.items()]
    functions = [{"name": name, "count": count, "filenames": [str(ROOT / file)],
                  "regions": [[line, 1, line, 2]]} for name, file, line, count in FUNCTIONS]
    return json.dumps({"data": [{"files": files, "functions": functions}]})


class Coverage(SystemTest):
    def setUp(self):
        self.bin = self.folder / "bin"
        self.build = self.folder / "build"
        for folder in (self.bin, self.build / "property_tests"):
            folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "report.json").write_text(report())
        for name in ("cmake", "clang++-19", "llvm-profdata-19"):
            self.script(self.bin / name, "exit 0")
        self.script(self.bin / "llvm-cov-19", f"cat {self.folder}/report.json")
        lines = "a_test a_tests\nb_test b_tests\nc_test a_tests\n"
        (self.build / "property_tests/programs.txt").write_text(lines)
        for name in ("a_tests", "b_tests"):
            (self.folder / f"{name}.ran").unlink(missing_ok=True)
            self.script(self.build / name, f"echo $LLVM_PROFILE_FILE >> {self.folder}/{name}.ran")

    def script(self, path, text):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)

    def coverage(self, *arguments, path=None):
        command = [sys.executable, "-B", ROOT / "tools/coverage", "--build", self.build, *arguments]
        return subprocess.run(command, capture_output=True, text=True,
                              env=os.environ | {"PATH": path or f"{self.bin}:{os.environ['PATH']}"})

    def test_rooms_and_the_least_covered_files(self):
        result = self.coverage("--least", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        for row in ["| optimized/masks | 200 | 75.0 % | 20 | 25.0 % |",
                    "| programs/endpoint | 10 | 0.0 % | 4 | 0.0 % |", "| all | 210 | 71.4 % | 24 | 20.8 % |",
                    "0.0 %  programs/endpoint/choice.cpp (10 lines)"]:
            self.assertIn(row, result.stdout)
        self.assertNotIn("public_matrix.cpp", result.stdout)
        absent = len(list((ROOT / "optimized/masks").rglob("*.cpp"))) - 2
        self.assertIn(f"optimized/masks: {absent} files that no unit test links", result.stdout)
        for name in ("a_tests", "b_tests"):
            files = (self.folder / f"{name}.ran").read_text().splitlines()
            self.assertEqual(files, [str(self.build / f"profiles/{name}-%m.profraw")], "it runs once")

    def test_functions_that_no_test_enters(self):
        result = self.coverage("--functions", "optimized/masks")
        self.assertEqual(result.stdout, "optimized/masks/keystream.cpp:9: two()\n")

    def test_a_test_that_fails_is_named(self):
        self.script(self.build / "b_tests", "echo expected: 7; exit 1")
        result = self.coverage()
        self.assertEqual(result.returncode, 1)
        self.assertIn("| all | 210 |", result.stdout)
        self.assertIn("expected: 7", result.stderr)
        self.assertIn("failed: b_tests", result.stderr)

    def test_what_is_not_installed_is_said(self):
        (self.bin / "llvm-cov-19").unlink()
        result = self.coverage(path=str(self.bin))
        self.assertEqual(result.returncode, 77)
        self.assertIn("llvm-cov-19: not installed", result.stderr)


if __name__ == "__main__":
    unittest.main()
