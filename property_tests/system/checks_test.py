"""The repository's checks turn red when their rule is broken, and are green on a tree that keeps it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from checks import clauses, errata, excerpts, faults, formatting, index, layers, links, numbers  # noqa: E402


class CheckCase(unittest.TestCase):
    """A small tree that keeps every rule; each test breaks one."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.write("tools/layers.txt",
                   "reference ->\noptimized/base ->\noptimized/kernels -> optimized/base\n"
                   "property_tests -> reference optimized\nforbid reference: thread\n"
                   "forbid optimized except optimized/kernels/leaf: immintrin.h\n")
        self.write("spec/ring.md",
                   "# Ring\n\n### DEMO-1 [MUST; reference, test] Addition\n\n7 (= 2^3 - 1)\n")
        self.write("reference/ring.hpp", "// DEMO-1\n")
        self.write("property_tests/ring_test.cpp", "// DEMO_1\n")
        self.write("optimized/base/a.hpp", "#pragma once\n")
        self.write("optimized/kernels/b.cpp", '#include "optimized/base/a.hpp"\n')
        self.write("spec/threat-model.md", "# T\n\n## Faults\n\n| fault | test |\n|---|---|\n"
                   "| David sulks | `net_test.Server.x` `faults_test.A.test_y` |\n\n## More\n")
        self.write("property_tests/net_test.cpp", "TEST(Server, x) {}\n")
        self.write("property_tests/system/faults_test.py",
                   "class A(SystemTest):\n    def test_y(self):\n        pass\n")
        self.write("spec/index.md", "# Index\n\n## From the paper to the clauses\n\n"
                   "| paper | subject | clauses |\n|---|---|---|\n| `sec` | rings | DEMO-1 |\n")
        self.write("spec/errata.md", "# Errata\n\n## E-1 Sign\n\n**Test.** `E_1_signs_differ`.\n")
        self.write("property_tests/errata_test.cpp", "TEST(Errata, E_1_signs_differ) {}\n")
        self.write("README.md", "See [ring](spec/ring.md#ring).\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def assert_red(self, check, *fragments):
        problems = "\n".join(check.check(self.root))
        for fragment in fragments:
            self.assertIn(fragment, problems)

    def test_a_tree_that_keeps_the_rules_is_green(self):
        for check in (layers, clauses, index, numbers, links, excerpts, faults, errata):
            self.assertEqual(check.check(self.root), [], check.__name__)


class Layers(CheckCase):
    def test_include_from_a_room_that_is_not_allowed(self):
        self.write("optimized/base/a.hpp", '#include "optimized/kernels/b.hpp"\n')
        self.assert_red(layers, "optimized/base/a.hpp", "optimized/kernels/b.hpp")

    def test_reference_never_includes_optimized(self):
        self.write("reference/ring.hpp", '#include "optimized/base/a.hpp"\n')
        self.assert_red(layers, "reference/ring.hpp")

    def test_forbidden_system_header(self):
        self.write("reference/ring.hpp", "#include <thread>\n")
        self.assert_red(layers, "<thread>")

    def test_intrinsics_outside_the_leaves(self):
        self.write("optimized/kernels/b.cpp", "#include <immintrin.h>\n")
        self.assert_red(layers, "<immintrin.h>")
        self.write("optimized/kernels/b.cpp", "")
        self.write("optimized/kernels/leaf/c.cpp", "#include <immintrin.h>\n")
        self.assertEqual(layers.check(self.root), [])

    def test_file_in_no_room(self):
        self.write("attic/a.cpp", "")
        self.assert_red(layers, "attic/a.cpp")


class Clauses(CheckCase):
    def test_a_declared_proof_is_there_and_no_text_takes_its_place(self):
        self.write("spec/ring.md",
                   "# Ring\n\n### DEMO-1 [MUST; reference, test, proof] Addition\n\n7 (= 2^3 - 1)\n")
        self.write("proofs/SOUNDNESS.md", "DEMO-1 is proved.\n")
        self.assert_red(clauses, "DEMO-1 declares 'proof'")
        self.write("proofs/coq/Claims.v", "(* DEMO-1. *)\n")
        self.assertEqual(clauses.check(self.root), [])

    def test_unknown_id(self):
        self.write("reference/ring.hpp", "// DEMO-1 DEMO-9\n")
        self.assert_red(clauses, "DEMO-9 is no clause")

    def test_declared_room_without_the_id(self):
        self.write("reference/ring.hpp", "// nothing\n")
        self.assert_red(clauses, "DEMO-1 declares 'reference'")

    def test_longer_number_is_another_clause(self):
        self.write("reference/ring.hpp", "// DEMO-11\n")
        self.assert_red(clauses, "DEMO-11 is no clause", "DEMO-1 declares 'reference'")

    def test_must_without_a_test(self):
        self.write("spec/ring.md", "### DEMO-1 [MUST; reference] Addition\n")
        self.assert_red(clauses, "DEMO-1 is a MUST and declares no test")

    def test_clause_defined_twice(self):
        self.write("spec/again.md", "### DEMO-1 [MUST; reference, test] Addition\n")
        self.assert_red(clauses, "DEMO-1 is also in")

    def test_malformed_header(self):
        self.write("spec/again.md", "### DEMO-2 must be tested\n")
        self.assert_red(clauses, "spec/again.md:1")

    def test_unknown_room(self):
        self.write("spec/ring.md", "### DEMO-1 [MUST; reference, test, attic] Addition\n")
        self.assert_red(clauses, "unknown room 'attic'")

    def test_spec_refers_to_a_clause_that_is_not_there(self):
        self.write("spec/again.md", "As DEMO-7 says.\n")
        self.assert_red(clauses, "refers to DEMO-7")


class Index(CheckCase):
    def test_clause_that_the_table_leaves_out(self):
        self.write("spec/field.md", "### DEMO-2 [MUST; test] Product\n")
        self.assert_red(index, "DEMO-2", "spec/field.md")

    def test_range_holds_what_is_between(self):
        self.write("spec/field.md", "### DEMO-2 [MUST; test] Product\n\n"
                   "### DEMO-3 [MUST; test] Inverse\n")
        path = self.root / "spec/index.md"
        path.write_text(path.read_text().replace("DEMO-1", "DEMO-1 to DEMO-3"))
        self.assertEqual(index.check(self.root), [])

    def test_clause_that_does_not_exist(self):
        path = self.root / "spec/index.md"
        path.write_text(path.read_text().replace("DEMO-1", "DEMO-1 to DEMO-2"))
        self.assert_red(index, "DEMO-2", "no clause")

    def test_table_that_is_gone(self):
        self.write("spec/index.md", "# Index\n")
        self.assert_red(index, "From the paper to the clauses")


class Numbers(CheckCase):
    def test_wrong_number(self):
        self.write("spec/ring.md", "2147483648 (= 2^31 - 1)\n")
        self.assert_red(numbers, "says 2147483648", "2147483647")

    def test_formula_that_cannot_be_computed(self):
        self.write("spec/ring.md", "8 (= 2^^3)\n")
        self.assert_red(numbers, "cannot compute")


class Links(CheckCase):
    def test_missing_file(self):
        self.write("README.md", "[x](spec/none.md)\n")
        self.assert_red(links, "spec/none.md")

    def test_missing_heading(self):
        self.write("README.md", "[x](spec/ring.md#none)\n")
        self.assert_red(links, "no such heading")


class Excerpts(CheckCase):
    CODE = """// DEMO-1
struct Ring {
    int twice(int a) const { return 2 * a; }
};
int add(int a, int b);
int add(int a, int b) {
    return a + b;
}
int add(int a) {
    return a;
}
"""

    def quote(self, symbol, code):
        self.write("reference/ring.hpp", self.CODE)
        self.write("spec/again.md", f"<!-- excerpt: reference/ring.hpp {symbol} -->\n"
                                    f"```cpp\n{code}\n```\n<!-- end of excerpt -->\n")

    def test_excerpts_that_agree(self):
        for symbol, code in [("add@1", "int add(int a, int b) {\n    return a + b;\n}"),
                             ("add@2", "int add(int a) {\n    return a;\n}"),
                             ("twice", "int twice(int a) const { return 2 * a; }")]:
            self.quote(symbol, code)
            self.assertEqual(excerpts.check(self.root), [], symbol)

    def test_code_that_has_changed(self):
        self.quote("add@2", "int add(int a) {\n    return -a;\n}")
        self.assert_red(excerpts, "spec/again.md", "differs from the code")

    def test_definition_that_is_not_there_or_not_alone(self):
        self.quote("subtract", "")
        self.assert_red(excerpts, "0 definitions of 'subtract'")
        self.quote("add", "")
        self.assert_red(excerpts, "2 definitions of 'add'")
        self.write("spec/again.md",
                   "<!-- excerpt: reference/no.hpp x -->\n<!-- end of excerpt -->\n")
        self.assert_red(excerpts, "reference/no.hpp does not exist")

    def test_mark_without_its_end(self):
        self.write("spec/again.md", "<!-- excerpt: reference/ring.hpp add -->\n")
        self.assert_red(excerpts, "not in pairs")


class Trace(CheckCase):
    def test_a_clause_is_followed_through_the_rooms(self):
        self.write("reference/ring.hpp", "/// DEMO-1. The sum.\nint add(int a, int b);\n")
        self.write("property_tests/ring_test.cpp", "TEST(Ring, DEMO_1_adds) {}\n")
        subprocess.run([sys.executable, str(ROOT / "tools/trace"), "--root", str(self.root)],
                       check=True, capture_output=True)
        text = (self.root / "build/TRACE.md").read_text()
        self.assertIn("## DEMO-1 [MUST] spec/ring.md", text)
        self.assertIn("* reference\n    * `reference/ring.hpp` `add`", text)
        self.assertIn("* test\n    * `property_tests/ring_test.cpp` `Ring.DEMO_1_adds`", text)


class Faults(CheckCase):
    def test_a_test_that_does_not_exist(self):
        self.write("property_tests/net_test.cpp", "TEST(Server, y) {}\n")
        self.assert_red(faults, "'David sulks' names net_test.Server.x, which does not exist")

    def test_a_row_without_a_test(self):
        self.write("spec/threat-model.md", "## Faults\n\n| fault | test |\n|---|---|\n"
                   "| David sulks | `by hand` |\n")
        self.assert_red(faults, "'David sulks' names no test", "no fault names faults_test.A.test_y")

    def test_a_table_that_is_gone(self):
        self.write("spec/threat-model.md", "# Threats\n")
        self.assert_red(faults, "no section 'Faults'")


class Errata(CheckCase):
    def add_row(self, text):
        path = self.root / "spec/errata.md"
        path.write_text(path.read_text() + "\n" + text)

    def test_a_row_without_a_test(self):
        self.add_row("## E-2 Modulus\n\nAs `E_1_signs_differ` shows.\n")
        self.assert_red(errata, "E-2 names no test")

    def test_a_test_that_does_not_exist(self):
        self.add_row("## E-2 Modulus\n\n**Test.** `E_2_composite`.\n")
        self.assert_red(errata, "E_2_composite, which does not exist")

    def test_a_test_that_no_row_names(self):
        self.write("property_tests/errata_test.cpp",
                   "TEST(Errata, E_1_signs_differ) {}\nTEST(Errata, E_7_index) {}\n")
        self.assert_red(errata, "E_7_index")

    def test_a_chapter_that_is_gone(self):
        (self.root / "spec/errata.md").unlink()
        self.assert_red(errata, "spec/errata.md")


class Formatting(CheckCase):
    def test_trailing_blanks_and_missing_newline(self):
        self.write("README.md", "a \n")
        self.write("spec/ring.md", "a")
        self.assert_red(formatting, "README.md:1: trailing blanks", "spec/ring.md: does not end")

    def test_source_that_clang_format_would_change(self):
        subprocess.run(["clang-format", "--version"], check=True, capture_output=True)
        self.write(".clang-format", (ROOT / ".clang-format").read_text())
        self.write("optimized/base/a.hpp", "int   a ;\n")
        self.assert_red(formatting, "optimized/base/a.hpp")


if __name__ == "__main__":
    unittest.main()
