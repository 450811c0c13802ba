"""The reference of the public API is made from its comments without a warning, and only then."""
# test: once

import os
import shutil
import subprocess
import unittest

from slip_system import ROOT, SystemTest


@unittest.skipUnless(shutil.which("doxygen"), "doxygen is not installed")
class Reference(SystemTest):
    def setUp(self):
        self.tree = self.folder / self._testMethodName
        for part in ["include/slip", "tools/reference"]:
            shutil.copytree(ROOT / part, self.tree / part)

    def make(self):
        (self.tree / "out").mkdir()
        return subprocess.run(["doxygen", "tools/reference/Doxyfile"], cwd=self.tree, text=True,
                              env=os.environ | {"SLIP_REFERENCE_OUT": "out"}, capture_output=True)

    def change(self, header, old, new):
        path = self.tree / "include/slip" / header
        self.assertIn(old, path.read_text())
        path.write_text(path.read_text().replace(old, new, 1))

    def test_there_is_no_warning(self):
        result = self.make()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        page = (self.tree / "out/html/classslip_1_1LanguageModel.html").read_text()
        self.assertIn("so that no space is lost", page)
        names = (self.tree / "out/html/globals_func.html").read_text()
        self.assertIn("slip_open_charlie_tls", names)

    def test_a_name_without_a_comment_is_refused(self):
        self.change("tls.hpp", '    /// The port in use (for "HOST:0").\n', "")
        result = self.make()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("port() const", result.stderr)

    def test_a_reference_to_nothing_is_refused(self):
        self.change("sampling.hpp", "/// How the next", "/// @ref no_such_name How the next")
        result = self.make()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("no_such_name", result.stderr)


if __name__ == "__main__":
    unittest.main()
