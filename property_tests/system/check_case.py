"""A small tree that keeps every rule of tools/check, for the tests that break one."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from checks import (clauses, constants, errata, excerpts, faults, index, layers, leaves, links,  # noqa: E402
                    mutants, namespaces, numbers, release, scripts, version, words)


def version_header(text, *parts):
    numbers_of = zip(version.PARTS, parts)
    return (f'#define SLIP_VERSION "{text}"\n' +
            "".join(f"#define SLIP_VERSION_{name} {number}\n" for name, number in numbers_of))


class CheckCase(unittest.TestCase):
    """A small tree that keeps every rule; each test breaks one."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.write("tools/layers.txt",
                   "include/slip ->\nreference ->\noptimized/base ->\noptimized/kernels -> optimized/base\n"
                   "property_tests -> reference optimized/base\nforbid reference: thread\n"
                   "forbid optimized except optimized/kernels/leaf: immintrin.h\n")
        self.write("spec/ring.md",
                   "# Ring\n\n### DEMO-1\n\n**Addition.** MUST; reference, test\n\n7 (= 2^3 - 1)\n")
        self.write("reference/ring.hpp", "// DEMO-1\n")
        self.write("property_tests/ring_test.cpp",
                   '#include "optimized/base/a.hpp"\n#include "reference/ring.hpp"\n// DEMO_1\n')
        self.write("optimized/base/a.hpp", "#pragma once\n")
        self.write("optimized/kernels/b.cpp", '#include "optimized/base/a.hpp"\n')
        self.write(leaves.LIST, "    SLIP_KERNEL(scales, scale)\n    SLIP_KERNEL(sums, sum)\n")
        for leaf in ("x", "y"):
            self.write(f"{leaves.LEAVES}/{leaf}/sums.cpp", "long sum(int a) {\n}\n")
            self.write(f"{leaves.LEAVES}/{leaf}/scales.cpp", "[[gnu::noinline]] void scale() {\n}\n")
        self.write("spec/threat-model.md", "# T\n\n## Faults\n\n| fault | test |\n|---|---|\n"
                   "| David sulks | `net_test.Server.x` `faults_test.A.test_y` |\n\n## More\n")
        self.write("spec/serving.md", "# S\n\n## Faults\n\n| fault | test |\n|---|---|\n"
                   "| one of many sulks | `net_test.Server.x` |\n")
        self.write("property_tests/net_test.cpp", "TEST(Server, x) {}\n")
        self.write("property_tests/system/faults_test.py",
                   "from slip_system import SystemTest\n\n\nclass A(SystemTest):\n"
                   "    def test_y(self):\n        pass\n")
        self.write(f"{mutants.FOLDER}/base.toml",
                   "[[mutant]]\nname = 'A adds'\nfile = 'optimized/base/a.hpp'\n"
                   "before = 'once'\nafter = ''\nprogram = 'net_test'\ntest = 'Server.x'\n")
        self.write("spec/index.md", "# Index\n\n## From the paper to the clauses\n\n"
                   "| paper | subject | clauses |\n|---|---|---|\n| `sec` | rings | DEMO-1 |\n")
        self.write("spec/errata.md", "# Errata\n\n## E-1 Sign\n\n**Test.** `E_1_signs_differ`.\n")
        self.write("property_tests/errata_test.cpp", "TEST(Errata, E_1_signs_differ) {}\n")
        self.write("README.md", "See [ring](spec/ring.md#ring).\n")
        self.write("spec/parameters.md",
                   "# P\n\n## Fixed numbers\n\n| name | value |\n|---|---|\n| limit | 32 |\n")
        self.write("optimized/base/parameters.hpp", "inline constexpr std::size_t limit =\n    1U << 5;\n")
        self.write("CHANGELOG.md", "# C\n\n## Unreleased\n\n## 1.2.3 (2031-02-28)\n\n## 1.1.9 (2031-02-01)\n")
        self.write("tools/constants.txt", "limit\n    spec/parameters.md: | limit | {} |\n"
                   "    optimized/base/parameters.hpp: limit = {};\n")

        self.write("spec/conventions.md",
                   "# C\n\n## Words\n\n| word | what it is | not used for it |\n|---|---|---|\n"
                   "| folder | what holds files | directory, directories |\n"
                   "| mask | what is added | pad, blinding factor |\n\n## Symbols\n")
        self.write("CMakeLists.txt", "project(slip VERSION 1.2.3 LANGUAGES CXX)\n"
                   "slip_room(slip_base FOLDER optimized/base)\n"
                   "slip_room(slip_kernels PLAIN\n"
                   "          FOLDER optimized/kernels ALONE \"/(a|b)[.]cpp\" DEPENDS slip_base)\n")
        self.write("include/slip/version.h", version_header("1.2.3", 1, 2, 3))

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def assert_red(self, check, *fragments):
        problems = "\n".join(check.check(self.root))
        for fragment in fragments:
            self.assertIn(fragment, problems)

    def test_a_tree_that_keeps_the_rules_is_green(self):
        for check in (layers, namespaces, leaves, clauses, index, numbers, constants, links, excerpts,
                      faults, errata, mutants, release, scripts, version, words):
            self.assertEqual(check.check(self.root), [], check.__name__)
