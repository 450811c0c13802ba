"""The checks of source files turn red when their rule is broken, and are green on a tree that keeps it."""
# test: unsanitized

import json
import shutil
import subprocess
import sys
import unittest

from check_case import ROOT, CheckCase
from checks import (accuracy, attacks, formatting, layers, leaves, mutants, namespaces, presets, scripts,
                    system_tests, words)


class Words(CheckCase):
    def test_another_word_in_a_text_or_a_comment(self):
        for name, text in [("spec/ring.md", "# Ring\n\nThe pad.\n"),
                           ("docs/tour.md", "# Tour\n\nThe *pads*.\n"),
                           ("optimized/base/a.hpp", "#pragma once\n\n/// The Pad.\n"),
                           ("optimized/base/b.cpp", "int x = '\"';\n\n/* The pad */\n"),
                           ("proofs/coq/A.v", "Lemma x : y.\n\n(* The pad. *)\n"),
                           ("tools/a.py", "def add():\n    pass\n    # The pad.\n"),
                           ("tools/b.py", "def add():\n    \"\"\"Adds\n    the pad.\"\"\"\n")]:
            self.write(name, text)
            self.assertEqual(words.check(self.root),
                             [f"{name}:3: 'pad': expected 'mask' (spec/conventions.md)"])
            (self.root / name).unlink()

    def test_another_word_that_is_broken_over_two_lines(self):
        self.write("optimized/base/a.hpp", "#pragma once\n// The blinding\n// factor.\n")
        self.assertEqual(words.check(self.root),
                         ["optimized/base/a.hpp:2: 'blinding factor': expected 'mask' (spec/conventions.md)"])

    def test_what_is_code_or_quoted_or_part_of_a_word(self):
        self.write("docs/tour.md", "# Tour\n\n`pad`, \"the pad\", [masks](pad.md), padding, pad-lock.\n\n"
                   "```\npad\n```\n")
        self.write("optimized/base/a.hpp", 'int mask(int folder);  // "a pad"\n'
                   'const char* text = "// a pad", *raw = R"(/* a pad */)";\n')
        self.write("tools/a.py", "mask = '# a pad'  # `pad`\n")
        self.assertEqual(words.check(self.root), [])

    def test_another_word_within_a_name(self):
        for name, text, found in [
                ("optimized/base/a.hpp", "#pragma once\n\nclass PadStock;\n", "PadStock: 'pad'"),
                ("optimized/base/a.cpp", "\n\nint blinding_factor_of();\n",
                 "blinding_factor_of: 'blinding factor'"),
                ("tools/a.py", "def add():\n    pass\nlast_pads = 0\n", "last_pads: 'pad'")]:
            self.write(name, text)
            self.assertEqual(words.check(self.root),
                             [f"{name}:3: {found}: expected 'mask' (spec/conventions.md)"])
            (self.root / name).unlink()
        self.write("optimized/base/a.hpp", "#pragma once\nint padding(), paddle, notepad;\n")
        self.assertEqual(words.check(self.root), [])

    def test_other_works_have_their_own_words(self):
        self.write("spec/related-work.md", "# R\n\nThe pad of others.\n")
        self.assertEqual(words.check(self.root), [])

    def test_a_table_that_says_nothing_or_two_things(self):
        path = self.root / words.TABLE
        table = path.read_text()
        for before, after, problem in [
                ("## Words", "## Names", "expected a table below '## Words'"),
                ("| mask |", "| apron |", "the words are not in alphabetical order"),
                ("pad, blinding factor", "pad, directory", "'directory' is not used for folder and for mask"),
                ("pad, blinding factor", "folder", "'folder' is a word, and is not used for mask"),
                ("| what is added |", "", "'| mask  pad, blinding factor |': expected '| word |")]:
            path.write_text(table.replace(before, after))
            self.assert_red(words, problem)


class Namespaces(CheckCase):
    def test_a_file_that_opens_the_namespace_of_another_room(self):
        self.write("optimized/import/a.hpp",
                   "namespace slip::artifact {\nclass A {};\n}  // namespace slip::artifact\n")
        self.assert_red(namespaces, "optimized/import/a.hpp", "expected slip::importing")

    def test_a_name_of_a_room_in_the_namespace_of_the_public_api(self):
        self.write("include/slip/b.hpp", "class Public;\nvoid open(Public& b);\n")
        self.write("optimized/base/b.cpp",
                   "namespace slip {\nnamespace {\nint helper() { return 1; }\n}  // namespace\n\n"
                   "void open(Public&) {}\nPublic::~Public() = default;\n}  // namespace slip\n")
        self.assertEqual(namespaces.check(self.root), [])
        for definition, name in (("int helper() { return 1; }", "helper"), ("struct State {", "State"),
                                 ("template <class T>\nstd::vector<T> all(int n) {", "all")):
            self.write("optimized/base/b.cpp", f"namespace slip {{\n{definition}\n}}  // namespace slip\n")
            self.assert_red(namespaces, f"slip::{name} is not declared in include/slip",
                            f"expected slip::base::{name}")


class Layers(CheckCase):
    def test_include_from_a_room_that_is_not_allowed(self):
        self.write("optimized/base/a.hpp", '#include "optimized/kernels/b.hpp"\n')
        self.assert_red(layers, "optimized/base/a.hpp", "optimized/kernels/b.hpp")

    def test_reference_never_includes_optimized(self):
        self.write("reference/ring.hpp", '#include "optimized/base/a.hpp"\n')
        self.assert_red(layers, "reference/ring.hpp")

    def test_an_include_of_the_house_in_angle_brackets(self):
        self.write("reference/ring.hpp", "#include <optimized/base/a.hpp>\n")
        self.assert_red(layers, 'reference/ring.hpp: includes "optimized/base/a.hpp"')
        self.write("reference/ring.hpp", "#include <slip/slip.hpp>\n")
        self.write("include/slip/slip.hpp", "#pragma once\n")
        self.assert_red(layers, 'reference/ring.hpp: includes "include/slip/slip.hpp"')

    def test_forbidden_system_header(self):
        self.write("reference/ring.hpp", "#include <thread>\n")
        self.assert_red(layers, "<thread>")

    def test_intrinsics_outside_the_leaves(self):
        self.write("optimized/kernels/b.cpp", "#include <immintrin.h>\n")
        self.assert_red(layers, "<immintrin.h>")
        self.write("optimized/kernels/b.cpp", '#include "optimized/base/a.hpp"\n')
        self.write("optimized/kernels/leaf/c.cpp", "#include <immintrin.h>\n")
        self.assertEqual(layers.check(self.root), [])

    def test_file_in_no_room(self):
        self.write("attic/a.cpp", "")
        self.assert_red(layers, "attic/a.cpp")

    def test_a_file_that_is_a_room_of_its_own(self):
        table = (self.root / "tools/layers.txt").read_text()
        self.write("tools/layers.txt", table + "optimized/kernels/c.cpp -> reference\n")
        self.write("optimized/kernels/c.cpp", '#include "reference/ring.hpp"\n')
        self.assertEqual(layers.check(self.root), [])
        self.write("optimized/kernels/d.cpp", '#include "reference/ring.hpp"\n')
        self.assert_red(layers, 'optimized/kernels/d.cpp: includes "reference/ring.hpp"')
        self.write("optimized/kernels/c.cpp",
                   '#include "reference/ring.hpp"\n#include "optimized/base/a.hpp"\n')
        self.assert_red(layers, 'optimized/kernels/c.cpp: includes "optimized/base/a.hpp"')

    def test_a_line_of_the_table_that_goes_on(self):
        table = (self.root / "tools/layers.txt").read_text()
        self.write("tools/layers.txt", table.replace("-> reference optimized/base",
                                                     "-> reference\n                  optimized/base"))
        self.assertEqual(layers.check(self.root), [])
        self.write("tools/layers.txt", table.replace("-> reference optimized/base", "-> reference"))
        self.assert_red(layers, 'property_tests/ring_test.cpp: includes "optimized/base/a.hpp"')

    def test_a_name_of_a_room_that_may_not_be_included(self):
        self.write("optimized/kernels/b.cpp",
                   '#include "optimized/base/a.hpp"\n// masks::c\nslip::base::a b(kernels::masks::c);\n')
        self.write("optimized/masks/c.hpp", "#pragma once\n")
        table = (self.root / "tools/layers.txt").read_text()
        self.write("tools/layers.txt", table + "optimized/masks ->\n")
        self.assertEqual(layers.check(self.root), [])
        self.write("optimized/kernels/b.cpp", '#include "optimized/base/a.hpp"\nmasks::c b;\n')
        self.assert_red(layers, "optimized/kernels/b.cpp: names masks::, and optimized/kernels may not "
                                "include from optimized/masks")

    def test_what_is_private_to_another_room(self):
        self.write("optimized/base/a.hpp", "// Of pages,\n// in short. Private to this room.\n")
        self.write("optimized/base/c.cpp", '#include "optimized/base/a.hpp"\n')
        self.assert_red(layers, 'b.cpp: includes "optimized/base/a.hpp", which is private to '
                                "optimized/base")
        self.write("optimized/kernels/b.cpp", "")
        self.assertNotIn("private", " ".join(layers.check(self.root)))

    def test_an_arrow_that_nothing_needs(self):
        self.write("optimized/kernels/b.cpp", "")
        self.assert_red(layers, "tools/layers.txt: nothing in optimized/kernels includes from optimized/base")

    def test_a_link_that_no_arrow_allows(self):
        text = (self.root / "CMakeLists.txt").read_text()
        self.write("CMakeLists.txt", text.replace("optimized/base)", "optimized/base DEPENDS slip_kernels)"))
        self.assert_red(layers, "CMakeLists.txt: optimized/base links optimized/kernels")


class Presets(CheckCase):
    def test_a_filter_with_a_class_that_cmake_does_not_know(self):
        for name, red in [(r"^(proofs|system\.[a-z_]*checks_test)", False), (r"system\.\w*checks", True)]:
            self.write("CMakePresets.json", json.dumps(
                {"testPresets": [{"name": "asan", "filter": {"exclude": {"name": name}}}]}))
            if red:
                self.assert_red(presets, "test preset asan", r"\w is no class")
            else:
                self.assertEqual(presets.check(self.root), [])


class TestsOfPrograms(CheckCase):
    CMAKE = r'''file(STRINGS ${script} classes REGEX "^class [A-Z]+\\(([A-Z]+, )*(SystemTest|BASE)\\)")'''

    def test_a_class_that_nobody_starts(self):
        self.write(f"{system_tests.FOLDER}/CMakeLists.txt", self.CMAKE)
        test = "    def test_y(self):\n        pass\n"
        added = f"class A(M, BASE):\n{test}\n\nclass HELPER:\n    pass\n"
        for text, red in [(added, None), (f"class B(Other):\n{test}", "B"),
                          (added + "class C(A):\n    X = 1\n", "C"), (f"class D(BASE, M):\n{test}", "D")]:
            self.write(f"{system_tests.FOLDER}/x_test.py", text)
            if red:
                self.assert_red(system_tests, "x_test.py", f"does not add the tests of {red}")
            else:
                self.assertEqual(system_tests.check(self.root), [])
        self.write(f"{system_tests.FOLDER}/CMakeLists.txt", "file(GLOB scripts *_test.py)")
        self.assert_red(system_tests, "CMakeLists.txt", "expected file(STRINGS")


class AttackResults(CheckCase):
    """The committed results, the threat model's table and docs/claims.md."""

    def copy(self):
        for path in (attacks.RESULTS, attacks.TABLE, attacks.CLAIMS):
            self.write(path, (ROOT / path).read_text())

    def change(self, path, old, new):
        self.copy()
        text = (ROOT / path).read_text()
        self.assertIn(old, text)
        self.write(path, text.replace(old, new, 1))

    def test_they_agree(self):
        self.copy()
        self.assertEqual(attacks.check(self.root), [])

    def test_a_figure_of_the_claims_that_was_not_measured(self):
        for old, new in (("184 of the 192", "185 of the 192"), ("but for 5 %", "but for 4 %"),
                         ("64 % of those of 4", "66 % of those of 4"), ("gives 99.8 %", "gives 99.9 %")):
            self.change(attacks.CLAIMS, old, new)
            self.assert_red(attacks, "docs/claims.md: does not say what")

    def test_an_attack_that_no_row_names_and_one_that_does_not_succeed(self):
        self.change(attacks.TABLE, "[mask-reuse]", "[the same mask]")
        self.assert_red(attacks, "no row of the table of attacks names mask-reuse")
        results = json.loads((ROOT / attacks.RESULTS).read_text())
        results[0]["paper"]["succeeded"] = False
        self.write(attacks.RESULTS, json.dumps(results))
        self.assert_red(attacks, "come first")
        self.assert_red(attacks, "logits does not succeed")


class Accuracy(CheckCase):
    test_a_tree_that_keeps_the_rules_is_green = None

    def test_a_figure_that_was_not_measured(self):
        for path in (accuracy.CHAPTER, accuracy.RESULTS):
            self.write(path, (ROOT / path).read_text())
        self.assertEqual(accuracy.check(self.root), [])
        results = json.loads((ROOT / accuracy.RESULTS).read_text())
        results[0]["activations"]["2048"]["mean"] += 0.001
        self.write(accuracy.RESULTS, json.dumps(results))
        self.assert_red(accuracy, results[0]["model"])


class Scripts(CheckCase):
    def test_python_with_an_unused_import(self):
        for name, first_line in [("tools/a.py", ""), ("tools/a", "#!/usr/bin/env python3\n")]:
            self.write(name, first_line + "import os\n")
            self.assert_red(scripts, f"{name}:{2 if first_line else 1}:1: F401")

    def test_shell_with_a_variable_that_is_not_quoted(self):
        for name, first_line in [("tools/b.sh", "# shellcheck shell=bash\n"), ("tools/b", "#!/bin/sh\n")]:
            self.write(name, first_line + "rm $1\n")
            self.assert_red(scripts, f"{name}:2:4: note: Double quote")


class Tidy(CheckCase):
    test_a_tree_that_keeps_the_rules_is_green = None
    NINJA = ("rule cc\n  command = c++ -I .. -MD -MF $out.d -c $in -o $out\n  deps = gcc\n"
             "  depfile = $out.d\n"
             "build c.o: cc ../optimized/base/c.cpp\nbuild d.o: cc ../optimized/base/d.cpp\n")
    DEFECT = "inline double half(int n) { return n / 2; }\n"

    def run_in(self, folder, *command):
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)

    def commit(self):
        self.run_in(self.root, "git", "add", ".")
        self.run_in(self.root, "git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a")

    def tidy(self, *arguments):
        """(status, files that were read, output)."""
        result = subprocess.run([self.root / "tools/tidy", self.root / "build", *arguments],
                                capture_output=True, text=True)
        return result.returncode, int(result.stdout.split()[1]), result.stdout

    def setUp(self):
        super().setUp()
        for tool in ("tidy", "compiled.py"):
            shutil.copy(ROOT / "tools" / tool, self.root / "tools")
        shutil.copy(ROOT / ".clang-tidy", self.root)
        self.write("optimized/base/c.hpp", "#pragma once\n")
        self.write("optimized/base/c.cpp", '#include "optimized/base/c.hpp"\n')
        self.write("optimized/base/d.cpp", "int d();\n")
        self.write(".gitignore", "build\n")
        self.write("build/build.ninja", self.NINJA)
        self.write("build/compile_commands.json", json.dumps(
            [{"directory": str(self.root / "build"), "file": str(self.root / f"optimized/base/{name}.cpp"),
              "command": f"c++ -I .. -c ../optimized/base/{name}.cpp -o {name}.o"}
             for name in ("c", "d")]))
        self.run_in(self.root, "git", "init", "-q", "-b", "main")
        self.commit()
        self.write("README.md", "More.\n")
        self.commit()
        self.run_in(self.root / "build", "ninja")

    def skipped(self, **environment):
        """What is said of a run that is skipped."""
        report = self.root / "tidy.xml"
        command = [sys.executable, self.root / "tools/tidy", self.root / "build", "--junit", report]
        result = subprocess.run(command, capture_output=True, text=True, **environment)
        self.assertEqual(result.returncode, 77)
        self.assertIn("<skipped/>", report.read_text())
        return result.stdout

    def test_where_it_is_not_installed_it_says_that_it_is_skipped(self):
        self.assertEqual(self.skipped(env={"PATH": ""}), "skipped: clang-tidy-19 is not installed\n")

    @unittest.skipUnless(shutil.which("clang-tidy-19"), "clang-tidy-19 is not installed")
    def test_without_history_it_says_that_it_is_skipped(self):
        shutil.rmtree(self.root / ".git")
        self.assertEqual(self.skipped(),
                         "skipped: git does not say what has changed; --all reads every file\n")

    @unittest.skipUnless(shutil.which("clang-tidy-19"), "clang-tidy-19 is not installed")
    def test_what_changed_is_read_and_a_defect_is_refused(self):
        self.assertEqual(self.tidy()[:2], (0, 0))
        self.assertEqual(self.tidy("--all")[:2], (0, 2))
        self.write("optimized/base/c.hpp", "#pragma once\n" + self.DEFECT)
        status, number, text = self.tidy()
        self.assertEqual((status, number), (1, 1), text)
        self.assertIn("bugprone-integer-division", text)
        self.run_in(self.root, "git", "switch", "-qc", "branch")
        self.commit()
        self.write("optimized/base/d.cpp", self.DEFECT)
        self.assertEqual(self.tidy()[:2], (1, 2))

    @unittest.skipUnless(shutil.which("clang-tidy-19"), "clang-tidy-19 is not installed")
    def test_files_that_are_compiled_together_are_read_one_by_one(self):
        together = self.root / "build/Unity/unity_0_cxx.cxx"
        self.write("build/Unity/unity_0_cxx.cxx", "".join(
            f'#include "{self.root}/optimized/base/{name}.cpp"\n' for name in ("c", "d")))
        self.write("build/build.ninja", self.NINJA.split("build c.o")[0] + f"build c.o: cc {together}\n")
        self.write("build/compile_commands.json", json.dumps(
            [{"directory": str(self.root / "build"), "file": str(together),
              "command": f"c++ -I .. -c {together} -o c.o"}]))
        self.run_in(self.root / "build", "ninja")
        self.assertEqual(self.tidy("--all")[:2], (0, 2))
        self.write("optimized/base/d.cpp", self.DEFECT)
        status, number, text = self.tidy()
        self.assertEqual((status, number), (1, 1), text)
        self.assertIn("d.cpp", text)


class Mutants(CheckCase):
    TABLE = f"{mutants.FOLDER}/base.toml"

    def change(self, old, new):
        path = self.root / self.TABLE
        self.write(self.TABLE, path.read_text().replace(old, new))

    def test_what_a_mutant_changes_occurs_exactly_once(self):
        for text, count in [("#pragma twice\n", 0), ("#pragma once  // once\n", 2)]:
            self.write("optimized/base/a.hpp", text)
            self.assert_red(mutants, "'A adds'", f"'before' occurs {count} times in optimized/base/a.hpp")
        (self.root / "optimized/base/a.hpp").unlink()
        self.assert_red(mutants, "'before' occurs 0 times in optimized/base/a.hpp")

    def test_the_table_of_another_room(self):
        for other in ("kernels", "optimized"):
            table = (self.root / self.TABLE).rename(self.root / mutants.FOLDER / f"{other}.toml")
            self.assert_red(mutants, f"{other}.toml: 'A adds': expected in base.toml")
            table.rename(self.root / self.TABLE)

    def test_a_tree_without_mutants(self):
        (self.root / self.TABLE).unlink()
        self.assert_red(mutants, "property_tests/mutants: has no mutant")

    def test_a_mutant_that_changes_nothing(self):
        self.change("after = ''", "after = 'once'")
        self.assert_red(mutants, "changes nothing")

    def test_the_test_that_refuses_it_exists(self):
        self.change("Server.x", "Server.y")
        self.assert_red(mutants, "net_test has no test Server.y")

    def test_a_key_that_is_missing_or_unknown(self):
        self.change("test =", "killer =")
        self.assert_red(mutants, "'A adds': expected after, before, file, name, program, test")

    def test_further_changes_of_a_mutant(self):
        self.write("optimized/base/e.hpp", "#pragma once\n")
        for also, said in (("file = 'optimized/base/e.hpp', before = 'twice', after = ''",
                            "'before' occurs 0 times in optimized/base/e.hpp"),
                           ("file = 'x', before = 'once'", "expected after, before, file in")):
            self.change("test =", f"also = [{{ {also} }}]\ntest =")
            self.assert_red(mutants, said)
            self.change(f"also = [{{ {also} }}]\n", "")
        self.change("test =", "also = [{ file = 'optimized/base/e.hpp', before = 'once', after = '' }]\n"
                    "test =")
        self.assertEqual(mutants.check(self.root), [])


class Leaves(CheckCase):
    def test_a_kernel_in_another_file_than_the_list_says(self):
        self.write(f"{leaves.LEAVES}/y/scales.cpp", "void scale() {\n}\nlong sum() {\n}\n")
        self.assert_red(leaves, "y/scales.cpp: defines sum", "in sums.cpp")

    def test_a_kernel_that_no_backend_defines(self):
        self.write(leaves.LIST, "    SLIP_KERNEL(sums, sum)\n    SLIP_KERNEL(sums, size)\n")
        self.assert_red(leaves, "no backend defines size")


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
