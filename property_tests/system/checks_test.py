"""The checks of texts, versions and tables turn red when their rule is broken, and are green on a tree
that keeps it."""
# test: unsanitized

import pathlib
import tempfile
import unittest

from check_case import ROOT, CheckCase, version_header
from checks import clauses, constants, errata, excerpts, faults, index, links, numbers, release, version
from places import places


class Version(CheckCase):
    def test_the_project_the_text_and_the_numbers_agree(self):
        for header in [version_header("1.2.4", 1, 2, 3), version_header("1.2.3", 1, 2, 4)]:
            self.write("include/slip/version.h", header)
            self.assert_red(version, "include/slip/version.h", "1.2.3", "1.2.4")
        self.write("include/slip/version.h", version_header("1.2.3", 1, 2, 3))
        self.write("CMakeLists.txt", "project(slip VERSION 2.0.0 LANGUAGES CXX)\n")
        self.assert_red(version, "CMakeLists.txt says 2.0.0")

    def test_a_version_that_is_not_there(self):
        self.write("CMakeLists.txt", "project(slip LANGUAGES CXX)\n")
        self.assert_red(version, "CMakeLists.txt: expected one match")
        self.write("include/slip/version.h", version_header("1.2.3", 1, 2))
        self.assert_red(version, "SLIP_VERSION_PATCH")


class Clauses(CheckCase):
    def test_a_declared_proof_is_there_and_no_text_takes_its_place(self):
        self.write("spec/ring.md",
                   "# Ring\n\n### DEMO-1\n\n**Addition.** MUST; reference, test, proof\n\n7 (= 2^3 - 1)\n")
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

    def test_room_that_implements_a_clause_and_is_not_declared(self):
        for name, line in [("optimized/base/a.hpp", "/// DEMO-1. The sum.\nint add(int a, int b);\n"),
                           ("optimized/kernels/b.cpp", "int add(int a, int b) {  // DEMO-1\n"),
                           ("programs/slip/add.cpp", "// DEMO-1: the sum\n")]:
            self.write(name, line)
            self.assert_red(clauses, f"DEMO-1 does not declare 'optimized', but {name} implements it")
            self.write(name, "// The sum of DEMO-1, or what DEMO-1 calls so.\n")
            self.assertEqual(clauses.check(self.root), [])
        self.write("proofs/asm/check.py", 'def add():\n    """DEMO-1: all sums."""\n')
        self.assert_red(clauses, "DEMO-1 does not declare 'proof'")

    def test_every_clause_of_a_list_is_implemented(self):
        self.write("spec/field.md", "### DEMO-2\n\n**Product.** MUST; reference, test\n")
        self.write("property_tests/ring_test.cpp", "// DEMO_1 DEMO_2\n")
        self.write("reference/ring.hpp", "// DEMO-1, DEMO-2. Both.\n")
        self.assertEqual(clauses.check(self.root), [])
        self.write("proofs/coq/Claims.v", "(* DEMO-1, DEMO-2. Both, proved. *)\n")
        self.assert_red(clauses, "DEMO-1 does not declare 'proof'", "DEMO-2 does not declare 'proof'")

    def test_longer_number_is_another_clause(self):
        self.write("reference/ring.hpp", "// DEMO-11\n")
        self.assert_red(clauses, "DEMO-11 is no clause", "DEMO-1 declares 'reference'")

    def test_a_comment_that_looks_for_a_clause_in_another_chapter(self):
        self.write("spec/field.md", "### DEMO-2\n\n**Product.** MUST; reference, test\n")
        self.write("property_tests/ring_test.cpp", "// DEMO_1 DEMO_2\n")
        for text in ["// Sums: spec/ring.md, DEMO-1. spec/field.md, DEMO-2.\n",
                     "// Both: spec/ring.md, spec/field.md.\n/// DEMO-1, DEMO-2.\n",
                     "// Both, DEMO-1 and DEMO-2.\n#include <a>\n// spec/none.md\n"]:
            self.write("reference/ring.hpp", text)
            self.assertEqual(clauses.check(self.root), [])
        for text in ["// Sums: spec/ring.md, DEMO-1 and DEMO-2.\n",
                     "// DEMO-1\n\n// spec/ring.md,\n// DEMO-2.\n"]:
            self.write("reference/ring.hpp", text)
            self.assert_red(clauses, "ring.hpp: looks for DEMO-2 in spec/ring.md; it is in spec/field.md")
        for text in ["// Sums: spec/field.md.\n// DEMO-1\n",
                     "/* Sums:\n   spec/field.md. */\n// DEMO-1\n"]:
            self.write("reference/ring.hpp", text)
            self.write("reference/field.hpp", "// DEMO-2\n")
            self.assert_red(clauses, "ring.hpp: begins with spec/field.md, and names no clause of it")

    def test_must_without_a_test(self):
        self.write("spec/ring.md", "### DEMO-1\n\n**Addition.** MUST; reference\n")
        self.assert_red(clauses, "DEMO-1 is a MUST and declares no test")

    def test_clause_defined_twice(self):
        self.write("spec/again.md", "### DEMO-1\n\n**Addition.** MUST; reference, test\n")
        self.assert_red(clauses, "DEMO-1 is also in")

    def test_an_example_in_a_fence_is_no_clause(self):
        self.write("spec/again.md", "```\n### DEMO-1\n\n**Addition.** MUST; test\n```\n")
        self.assertEqual(clauses.check(self.root), [])

    def test_malformed_header(self):
        for text in ["### DEMO-2 must be tested\n", "### DEMO-2 [MUST; reference, test] Product\n",
                     "### DEMO-2\n", "### DEMO-2\n\nA product.\n",
                     "### DEMO-2\n**Product.** MUST; test\n", "### DEMO-2\n\n**Product.** MUST\n"]:
            self.write("spec/again.md", text)
            self.assert_red(clauses, "spec/again.md:1: expected '### ID-N'")

    def test_withdrawn_id(self):
        gone = min(clauses.WITHDRAWN)
        own = f"{gone.split('-')[0]}-1"
        text = f"### {own}\n\n**Sum.** MUST; test\n\n{gone} is withdrawn.\n"
        self.write("spec/again.md", text)
        self.write("property_tests/again_test.cpp", f"// {own}\n")
        self.assertEqual(clauses.check(self.root), [])
        self.write("reference/ring.hpp", f"// DEMO-1, {gone}\n")
        self.assert_red(clauses, f"reference/ring.hpp: {gone} is no clause")
        self.write("reference/ring.hpp", "// DEMO-1\n")
        self.write("spec/again.md", text.replace(own, gone))
        self.assert_red(clauses, f"{gone} is withdrawn; expected a new id")
        self.write("spec/again.md", "### OFF-17\n\n**Sum.** MUST; test\n")
        self.assert_red(clauses, "OFF-17 is withdrawn; expected a new id")

    def test_unknown_room(self):
        self.write("spec/ring.md", "### DEMO-1\n\n**Addition.** MUST; reference, test, attic\n")
        self.assert_red(clauses, "unknown room 'attic'")

    def test_spec_refers_to_a_clause_that_is_not_there(self):
        self.write("spec/again.md", "As DEMO-7 says.\n")
        self.assert_red(clauses, "refers to DEMO-7")


class Index(CheckCase):
    def test_clause_that_the_table_leaves_out(self):
        self.write("spec/field.md", "### DEMO-2\n\n**Product.** MUST; test\n")
        self.assert_red(index, "DEMO-2", "spec/field.md")

    def test_range_holds_what_is_between(self):
        self.write("spec/field.md", "### DEMO-2\n\n**Product.** MUST; test\n\n"
                   "### DEMO-3\n\n**Inverse.** MUST; test\n")
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
        self.write("spec/ring.md", "`n` (= 3)\n")
        self.assert_red(numbers, "follows no number")

    def test_wrong_equations_wherever_they_stand(self):
        for line in ["1048576 = 2^19", "n <= 1048576 = 2^19      of a matrix", "`2^20` = `1,048,577`",
                     "| 7 | (2 + 3) 2 = 11 |", "so floor(7 / 2) = 4.", "2^46 * 32767 < 2^60",
                     "determinant 8*3 - 5*5 = 1, so", "round(2.5) = 3     round(1.5) = 2",
                     "k = 2 * 3 = 7", "32 >= 2^6", "1.5 - -1 = 3"]:
            self.write("spec/ring.md", line + "\n")
            self.assertEqual(len(numbers.check(self.root)), 1, line)
        self.write("spec/ring.md", "")
        self.write("README.md", "5 > 6\n")
        self.assert_red(numbers, "README.md:1")

    def test_what_is_no_equation_between_numbers(self):
        for line in ["n = 3", "2 k = 3", "x + 1 = 3", "f(2) = 3", "2 = k", "3 = 2 k / n", "e_2 = 3",
                     "y >> 31 <= 4", "-127 <= w <= -128", "1 = 2^e_i", "a[1] = 2", "P31 = 1",
                     "2.5.0 = 1", "5 = 5", "1 -> 2", "2 p + 1 = 3"]:
            self.write("spec/ring.md", line + "\n")
            self.assertEqual(numbers.check(self.root), [], line)


class Constants(CheckCase):
    def table(self, *places):
        self.write("tools/constants.txt", "limit\n" + "".join(f"    {p}\n" for p in places))

    def test_a_value_that_differs(self):
        self.write("optimized/base/parameters.hpp", "constexpr int limit = 31;\n")
        self.assert_red(constants, "31 in optimized/base/parameters.hpp; 32 in spec/parameters.md")

    def test_spellings_of_a_value(self):
        text = "spec/parameters.md: | limit | {} |"
        for code in ["limit = 32", "limit = 0x20", "limit = std::size_t{1} << 5", "limit = 32'000 / 1000",
                     "limit = 2**5", "limit = 0x1p5f", "limit{32000}", "limit = 1e-3 * 32000.0F"]:
            self.write("optimized/base/parameters.hpp", code + ";\n")
            self.table(text, "optimized/base/parameters.hpp: " +
                       ("limit{{/ 1000}};" if "{320" in code else "limit = {};"))
            self.assertEqual(constants.check(self.root), [], code)

    def test_a_place_that_is_not_there(self):
        code, text = "optimized/base/parameters.hpp: limit = {};", "spec/parameters.md: | limit | {} |"
        for place, says in [("DEMO-1: at most {}", "does not say"), ("DEMO-9: {}", "no clause and no file"),
                            ("spec/no.md: {}", "no clause and no file"), ("DEMO-1 {}", "expected 'PLACE"),
                            ("DEMO-1: none", "expected 'PLACE")]:
            self.table(code, text, place)
            self.assert_red(constants, says)
        self.write("optimized/base/parameters.hpp", "constexpr int limit = other;\n")
        self.table(code, text)
        self.assert_red(constants, "cannot compute")

    def test_a_constant_without_text_or_code_and_a_row_without_a_constant(self):
        self.table("spec/parameters.md: | limit | {} |")
        self.assert_red(constants, "needs a place in the text and one in the code")
        self.write("tools/constants.txt", "")
        self.assert_red(constants, "'limit' is tied to no code",
                        "'inline constexpr std::size_t limit = 1U << 5;' is tied to no text")

    def test_a_constant_that_stands_twice_or_elsewhere_in_the_product(self):
        text, again = "spec/parameters.md: | limit | {} |", "optimized/kernels/limit.hpp: limit = {};"
        self.write("optimized/kernels/limit.hpp", "constexpr int limit = 32;\n")
        self.table(text, again, "optimized/base/parameters.hpp: limit = {};")
        self.assert_red(constants, "stands in optimized/base/parameters.hpp and optimized/kernels")
        self.table(text, again)
        self.assert_red(constants, "'limit' is tied to no code")


class NumbersOfThisTree(CheckCase):
    """One number at a time is changed in a copy of this repository's text and constants."""

    # file, what it says, what it says instead, what a check answers
    CHANGES = [
        ("spec/randomness.md", "4294967296 (= 2^32)", "281474976710656 (= 2^48)", "AES blocks of a key"),
        ("spec/randomness.md", "for `N = 2^32`", "for `N = 2^48`", "AES blocks of a key"),
        ("spec/transport.md", "| timeout | 30 s |", "| timeout | 20 s |", "timeout, in seconds"),
        ("spec/transport.md", "| patience | 600 s |", "| patience | 60 s |", "patience, in seconds"),
        ("spec/parameters.md", "1048576 = 2^20", "1048576 = 2^19", "says 1048576 = 524288"),
        ("spec/parameters.md", "| least activation norm `B_q` | 1024 (= 2^10",
         "| least activation norm `B_q` | 512 (= 2^9", "least activation norm"),
        ("spec/model.md", "8 (M + n)       for", "4 (M + n)       for", "kappa"),
        ("spec/wire.md", "`0x05` = ABORT", "`0x08` = ABORT", "type of ABORT"),
        ("docs/claims.md", "at most `233^-8`", "at most `233^-7`", "kappa"),
        (constants.HOME, "blocks_per_key = std::uint64_t{1} << 32", "blocks_per_key = std::uint64_t{1} << 48",
         "AES blocks of a key"),
        (constants.HOME, "kappa = 8", "kappa = 7", "kappa"),
        (constants.HOME, "primes{251, 241", "primes{251, 239", "is tied to no text"),
        (constants.HOME, "residual_shift = 16", "residual_shift = 20", "shift t"),
        (constants.HOME, "largest_extent = std::size_t{1} << 20", "largest_extent = std::size_t{1} << 24",
         "rows or columns of a matrix"),
        (constants.HOME, "largest_group_count =", "most_groups =", "is tied to no text"),
        ("include/slip/transport.hpp", "timeout{30000}", "timeout{20000}", "timeout, in seconds"),
        (constants.HOME, "0x1p-100F", "0x1p-90F", "zero token"),
        (constants.HOME, "largest_factor = 2047", "largest_factor = 4095", "greatest factor"),
        ("reference/parameters.hpp", "largest_columns = 4096", "largest_columns = 4095", "columns of a"),
        ("conformance/slip_peer/parameters.py", "NORM_MIN = 1024", "NORM_MIN = 1025",
         "least activation norm"),
    ]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        places = [place.where for places in constants.read_table(ROOT, []).values() for place in places]
        spec = [path.relative_to(ROOT) for path in (ROOT / "spec").glob("*.md")]
        for name in {constants.TABLE, "README.md", *places, *spec}:
            if (ROOT / name).is_file():
                self.write(name, (ROOT / name).read_text())

    def problems(self):
        return "\n".join(numbers.check(self.root) + constants.check(self.root))

    def test_a_tree_that_keeps_the_rules_is_green(self):
        self.assertEqual(self.problems(), "")

    def test_each_change_is_refused(self):
        for name, before, after, says in self.CHANGES:
            text = (ROOT / name).read_text()
            self.assertIn(before, text)
            self.write(name, text.replace(before, after))
            self.assertIn(says, self.problems(), f"{name}: {after}")
            self.write(name, text)


class Links(CheckCase):
    def test_missing_file(self):
        self.write("README.md", "[x](spec/none.md)\n")
        self.assert_red(links, "spec/none.md")

    def test_missing_heading(self):
        self.write("README.md", "[x](spec/ring.md#none)\n")
        self.assert_red(links, "no such heading")

    def test_missing_name(self):
        self.write("optimized/base/a.hpp", "class Mask { struct In {}; void take(); };\nvoid give();\n"
                   "void Stock::open() {}\n")
        self.write("README.md", "[`Mask::take()`](optimized/base/a.hpp) [taken](optimized/base/a.hpp) "
                   "[`give()`](optimized/base/a.hpp) [`Stock::open()`](optimized/base/a.hpp)\n")
        self.assertEqual(links.check(self.root), [])
        for name in ("Mask::give()", "Mas", "Mask::ta", "Mask::open()", "give::take"):
            self.write("README.md", f"[`{name}`](optimized/base/a.hpp)\n")
            self.assert_red(links, "README.md: link from", "which has no such name")


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


class Places(CheckCase):
    def test_a_clause_is_followed_through_the_rooms(self):
        self.write("reference/ring.hpp", "/// DEMO-1. The sum.\nint add(int a, int b);\n")
        self.write("property_tests/ring_test.cpp", "TEST(Ring, DEMO_1_adds) {}\n")
        found = places(self.root, clauses.read_clauses(self.root, []))["DEMO-1"]
        self.assertEqual(found["reference"], [("reference/ring.hpp", 1, "add")])
        self.assertEqual(found["test"], [("property_tests/ring_test.cpp", 1, "Ring.DEMO_1_adds")])


class Faults(CheckCase):
    def test_a_test_that_does_not_exist(self):
        self.write("property_tests/net_test.cpp", "TEST(Server, y) {}\n")
        self.assert_red(faults, "'David sulks' names net_test.Server.x, which does not exist")

    def test_a_row_without_a_test(self):
        self.write("spec/threat-model.md", "## Faults\n\n| fault | test |\n|---|---|\n"
                   "| David sulks | `by hand` |\n")
        self.assert_red(faults, "'David sulks' names no test",
                        "no table of faults names faults_test.A.test_y")

    def test_every_file_of_faults_counts(self):
        self.write("property_tests/system/disk_faults_test.py",
                   "class B(SystemTest):\n    def test_z(self):\n        pass\n")
        self.assert_red(faults, "no table of faults names disk_faults_test.B.test_z: expected a row under "
                                "'Faults' of spec/threat-model.md or spec/serving.md")

    def test_a_table_that_is_gone(self):
        for chapter in ("spec/threat-model.md", "spec/serving.md"):
            kept = (self.root / chapter).read_text()
            self.write(chapter, "# Threats\n")
            self.assert_red(faults, f"{chapter}: has no section 'Faults'")
            self.write(chapter, kept)


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


class Release(CheckCase):
    def changelog(self, *headings):
        self.write("CHANGELOG.md", "".join(f"## {heading}\n\n* Text.\n" for heading in headings))

    def test_nothing_is_released_yet(self):
        self.changelog("Unreleased")
        self.assertEqual(release.check(self.root), [])

    def test_the_newest_section_is_not_the_version(self):
        self.changelog("1.3.0 (2031-03-01)", "1.2.3 (2031-02-28)")
        self.assert_red(release, "the newest release is 1.3.0, CMakeLists.txt says 1.2.3")
        self.write("CMakeLists.txt", "project(slip VERSION 1.3.0 LANGUAGES CXX)\n")
        self.assertEqual(release.check(self.root), [])
        self.changelog("Unreleased", "1.2.3 (2031-02-28)")
        self.assert_red(release, "the newest release is 1.2.3, CMakeLists.txt says 1.3.0")

    def test_sections_that_are_out_of_order_or_not_dated(self):
        self.changelog("1.2.3 (2031-02-28)", "1.10.0 (2031-02-01)")
        self.assert_red(release, "1.2.3 (2031-02-28) stands before 1.10.0 (2031-02-01)")
        self.changelog("1.2.3 (2031-02-28)", "1.1.0 (2031-03-01)")
        self.assert_red(release, "expected the newest first")
        self.changelog("1.2.3 (2031-02-28)", "Unreleased")
        self.assert_red(release, "section 'Unreleased', expected")
        self.changelog("1.2.3")
        self.assert_red(release, "section '1.2.3', expected 'X.Y.Z (YYYY-MM-DD)'")
        self.changelog("1.2.3 (2031-02-30)")
        self.assert_red(release, "2031-02-30 is no date")
        self.write("CMakeLists.txt", "project(slip)\n")
        self.assert_red(release, "expected project(slip VERSION X.Y.Z")


if __name__ == "__main__":
    unittest.main()
