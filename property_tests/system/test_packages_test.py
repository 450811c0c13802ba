"""./test installs what it runs and no more: a folder's unit tests need no prover, browser or emulator.
dpkg-query and cmake are scripts here: everything is installed, and nothing builds."""
# test: once

import os
import shutil
import subprocess
import unittest

from slip_system import ROOT, SystemTest

UNIT = {"g++", "cmake", "libgtest-dev", "librapidcheck-dev"}
QUICK = {"clang-format", "flake8", "shellcheck", "g++-aarch64-linux-gnu", "qemu-user"}
SYSTEM = {"coq", "python3-z3", "chromium", "haproxy", "valgrind", "curl"}
EVERYDAY = {"clang-19", "clang-tidy-19"}
FULL = {"prometheus", "slurm-wlm"}


class Packages(SystemTest):
    def setUp(self):
        self.copy, self.bin = self.folder / "copy", self.folder / "bin"
        for file in ("test", "tools/setup.sh"):
            (self.copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, self.copy / file)
        for file in ("base/a_test.cpp", "system/a_test.py"):
            (self.copy / "property_tests" / file).parent.mkdir(parents=True, exist_ok=True)
            (self.copy / "property_tests" / file).touch()
        self.bin.mkdir(exist_ok=True)
        for name, text in [("dpkg-query", f'for last; do :; done; echo "$last" >> {self.folder}/asked\n'
                                          "printf installed"), ("cmake", "exit 1")]:
            (self.bin / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.bin / name).chmod(0o700)

    def asked_for(self, *arguments):
        """The packages of this file that `./test ARGUMENTS` wants."""
        asked = self.folder / "asked"
        asked.unlink(missing_ok=True)
        subprocess.run([self.copy / "test", *arguments], capture_output=True, timeout=60,
                       env=os.environ | {"PATH": f"{self.bin}:/usr/bin:/bin"})
        return set(asked.read_text().split()) & (UNIT | QUICK | SYSTEM | EVERYDAY | FULL)

    def test_each_way_to_start_it_wants_what_it_runs(self):
        for arguments, expected in [
                (["--quick", "base"], UNIT),
                (["--quick"], UNIT | QUICK),
                (["--quick", "system/a"], UNIT | QUICK | SYSTEM),
                (["--quick", "base", "system/a"], UNIT | QUICK | SYSTEM),
                ([], UNIT | QUICK | SYSTEM | EVERYDAY),
                (["--full"], UNIT | QUICK | SYSTEM | EVERYDAY | FULL)]:
            with self.subTest(arguments):
                self.assertEqual(self.asked_for(*arguments), expected)


if __name__ == "__main__":
    unittest.main()
