"""SLIP_DAVID_ONLY: `slip david` alone, built without what only Charlie needs."""
# test: unsanitized

import os
import re
import subprocess
import unittest

from slip_system import BUILD, BUILD_LIMIT_S, LIMIT_S, ROOT, Deployment, Outside, setting

# What a machine that only multiplies does without: names in the CMake cache, headers, libraries.
FOUND = ["Eigen3_DIR", "SENTENCEPIECE_LIBRARY", "PCRE2_LIBRARY", "UTF8PROC_LIBRARY", "EDIT_LIBRARY"]
HEADERS = ["Eigen/", "sentencepiece_processor.h", "pcre2.h", "utf8proc.h", "histedit.h"]
LIBRARIES = ["sentencepiece", "pcre2-8", "utf8proc", "edit"]
NEEDED = {"ssl", "crypto", "boost_program_options", "stdc++", "gcc_s", "m", "c"}


def found(build):
    """Those of FOUND that a build folder's cache names."""
    cache = (build / "CMakeCache.txt").read_text()
    return [name for name in FOUND if re.search(rf"^{name}:", cache, re.MULTILINE)]


class DavidOnly(Outside, Deployment):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.build = cls.folder / "build"
        hidden = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("Eigen3", "GTest", "rapidcheck")]
        cls.command("cmake", "-G", "Ninja", "-S", ROOT, "-B", cls.build, "-DSLIP_DAVID_ONLY=ON",
                    "-DSLIP_UNITY=ON", "-DCMAKE_BUILD_TYPE=Release", *hidden,
                    f"-DCMAKE_CXX_COMPILER={setting('CMAKE_CXX_COMPILER')}")

    def libraries(self, program):
        needed = self.command("readelf", "--dynamic", program)
        return re.findall(r"\(NEEDED\).*\[lib([^\]]+?)[.]so[.0-9]*\]", needed)

    def headers(self, build):
        """Those of HEADERS that some file of a build included."""
        included = self.command("ninja", "-C", build, "-t", "deps")
        return [name for name in HEADERS if re.search(rf"/{re.escape(name)}", included)]

    def test_what_only_Charlie_needs_is_not_looked_for(self):
        self.assertEqual(found(self.build), [])
        self.assertEqual(found(BUILD), FOUND)  # those of the whole program, in the same way
        for build, whole in ((self.build, False), (BUILD, True)):
            targets = self.command("ninja", "-C", build, "-t", "targets", "all")
            self.assertRegex(targets, r"\nslip_commands: ")
            for name in ("slip_split", "slip_graph", "slip_library", "slip_endpoint"):
                self.assertEqual(f"\n{name}: " in targets, whole, name)

    def test_it_goes_with_nothing_that_measures_or_tests(self):
        for option in ("SLIP_EXPERIMENTS", "SLIP_TESTS", "SLIP_FUZZ"):
            refused = subprocess.run(["cmake", "-S", ROOT, "-B", self.folder / option, "-DSLIP_DAVID_ONLY=ON",
                                      f"-D{option}=ON"], capture_output=True, text=True,
                                     timeout=BUILD_LIMIT_S)
            self.assertEqual(refused.returncode, 1, option)
            self.assertRegex(refused.stderr, "SLIP_DAVID_ONLY is|SLIP_TESTS needs")

    @unittest.skipUnless("SLIP_FULL" in os.environ, "three minutes of a processor")
    def test_LIN_4_a_Charlie_of_the_whole_program_generates_with_it(self):
        self.command("cmake", "--build", self.build, "--target", "slip")
        self.assertEqual(self.headers(self.build), [])
        self.assertEqual(self.headers(BUILD), HEADERS)
        program = self.build / "slip"
        self.assertEqual({*self.libraries(program)} - NEEDED, set())
        self.assertEqual({*LIBRARIES} - {*self.libraries(BUILD / "slip")}, set())

        listed = self.command(program, "--help")
        self.assertRegex(listed, r"\n  david ")
        self.assertNotRegex(listed, r"\n  (keys|split|generate|serve|bench) ")
        about = ["help", "david"]
        self.assertEqual(self.command(program, *about), self.command(BUILD / "slip", *about))
        refused = subprocess.run([program, "generate"], capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("there is no command 'generate'", refused.stderr)

        for listen in (["127.0.0.1:0", "--tls", self.tls / "david"], [f"shm:{self.folder}/socket"]):
            david = self.david()
            david.program, david.arguments = [str(program)], ["david", "--artifact", self.artifact / "david",
                                                              "--listen", *listen]
            with david:
                self.assert_served(david.endpoint)
                self.assertEqual(david.stop()[0], 0)


if __name__ == "__main__":
    unittest.main()
