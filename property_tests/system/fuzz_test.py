"""property_tests/fuzz/run reports what the fuzz targets find, and what could not run."""
# test: once

import pathlib
import subprocess
import sys
import unittest

from slip_system import ROOT, SystemTest

RUN = ROOT / "property_tests/fuzz/run"
TARGET = "json_fuzz"


class FuzzRunner(SystemTest):
    def fuzz(self, script, *arguments):
        """Runs the runner on one target that is a shell script; (status, output, summary)."""
        target = self.folder / TARGET
        target.unlink(missing_ok=True)
        if script is not None:
            target.write_text(f"#!/bin/sh\n[ $1 = --seeds ] && exit 0\n{script}\n")
            target.chmod(0o700)
        junit = self.folder / "fuzz.xml"
        run = subprocess.run([RUN, "--build", self.folder, "--junit", junit, *arguments, TARGET],
                             capture_output=True, text=True)
        summary = subprocess.run([sys.executable, "-B", ROOT / "tools/test_summary.py", junit],
                                 capture_output=True, text=True)
        return run.returncode, run.stdout, summary.stdout.splitlines()[-1]

    def test_a_target_that_finds_nothing_passes(self):
        status, output, summary = self.fuzz("echo stat::number_of_executed_units: 7 >&2")
        self.assertEqual((status, summary), (0, "1 passed, 0 failed, 0 skipped"))
        self.assertIn("7 executions", output)

    def test_a_target_that_breaks_fails_and_says_what_it_printed(self):
        status, output, summary = self.fuzz("printf 'broken: \\001 <everything>' >&2; exit 77")
        self.assertEqual((status, summary), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertIn("<everything>", output)

    def test_a_target_that_is_not_built_is_skipped(self):
        status, output, summary = self.fuzz(None)
        self.assertEqual((status, summary), (0, "0 passed, 0 failed, 1 skipped"))
        self.assertIn("not built", output)

    def test_the_limits_reach_the_target(self):
        _, output, _ = self.fuzz("echo $* >&2; exit 1", "--seconds", "3", "--executions", "9")
        for limit in ["-max_total_time=3", "-runs=9", "-rss_limit_mb=512",
                      str(pathlib.Path("property_tests/fuzz/corpus") / TARGET)]:
            self.assertIn(limit, output)


if __name__ == "__main__":
    unittest.main()
