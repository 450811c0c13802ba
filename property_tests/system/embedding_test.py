"""SLIP as a library outside the tree: installed, found by CMake, and used by the example."""

import os
import re
import shutil
import subprocess
import unittest

from slip_system import BUILD, LIMIT_S, ROOT, TINYSTORIES, SystemTest


def setting(name):
    """A variable of the build's CMake cache."""
    line = re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    return line[1] if line else ""


class Embedding(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.prefix = cls.folder / "prefix"
        cls.command("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", "library")

    @classmethod
    def command(cls, *arguments):
        """Runs a command that must succeed; returns its output. No include path leads back here."""
        environment = {name: value for name, value in os.environ.items() if "PATH" not in name}
        result = subprocess.run(list(map(str, arguments)), capture_output=True, text=True,
                                timeout=LIMIT_S, cwd=cls.folder,
                                env=environment | {"PATH": os.environ["PATH"]})
        assert result.returncode == 0, f"{arguments}:\n{result.stdout}{result.stderr}"
        return result.stdout

    def test_every_public_header_compiles_alone_and_without_the_tree(self):
        headers = sorted((self.prefix / "include/slip").glob("*.h*"))
        self.assertEqual([header.name for header in headers],
                         sorted(path.name for path in (ROOT / "include/slip").glob("*.h*")))
        for header in headers:
            self.compile_alone(header.name, "c++", "c++20")
            if header.suffix == ".h":
                self.compile_alone(header.name, "c", "c99")

    def compile_alone(self, header, language, standard):
        source = self.folder / "alone"
        # C wants a declaration, which macros are not.
        source.write_text(f"#include <slip/{header}>\n" * 2 + "typedef int declaration;\n")
        self.command(setting("CMAKE_CXX_COMPILER"), "-x", language, f"-std={standard}", "-Wall",
                     "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I",
                     self.prefix / "include", source)

    def test_the_package_says_nothing_of_the_tree_or_of_its_warnings(self):
        package = list((self.prefix / "lib").rglob("slip*.cmake"))
        self.assertGreaterEqual(len(package), 4)
        for path in package:
            for word in [str(ROOT), str(BUILD), "-Werror", "-Wconversion"]:
                self.assertNotIn(word, path.read_text(), path)

    def test_LIN_4_the_example_generates_what_the_program_generates(self):
        source, build = self.folder / "embed", self.folder / "embed-build"
        shutil.copytree(ROOT / "examples/embed", source)
        self.command("cmake", "-G", "Ninja", "-S", source, "-B", build,
                     f"-DCMAKE_PREFIX_PATH={self.prefix}",
                     f"-DCMAKE_CXX_COMPILER={setting('CMAKE_CXX_COMPILER')}")
        self.command("cmake", "--build", build)
        prompt, tokens = "Once upon a time", 12
        lines = self.command(build / "embed", TINYSTORIES, 16, prompt, tokens).splitlines()

        artifact = self.folder / "artifact"
        self.slip("split", "--model", TINYSTORIES, "--rank", "16", "--out", artifact)
        program, _ = self.generate("program", "--artifact", artifact, "--engine", "hybrid",
                                   "--prompt", prompt, "--max-tokens", tokens)

        self.assertEqual(lines[0].split(), ["ids", *map(str, program["ids"])])
        self.assertEqual("\n".join(lines[1:-2]), "text " + program["text"])
        self.assertEqual(lines[-2], f"rounds {program['rounds']}, replies checked "
                                    f"{program['checks']}, bytes up {program['bytes_up']}, "
                                    f"bytes down {program['bytes_down']}")
        self.assertEqual(lines[-1], "equal to the unsplit model")


if __name__ == "__main__":
    unittest.main()
