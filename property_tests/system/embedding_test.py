"""SLIP as a library outside the tree: what it exports, and the example that uses it, installed and as
part of another project."""
# test: once

import json
import os
import re
import shutil
import subprocess
import unittest

from slip_system import BUILD, ROOT, Outside, setting


# The library's templates, each as one kind.
OPENS = """#include <slip/slip.hpp>
using namespace slip;
void open_all(const std::filesystem::path& path, std::unique_ptr<Transport> david, Connect connect) {
    open_checkpoint(path);
    open_unsplit<LanguageModel>(path);
    open_charlie(path, std::move(david));
    open_charlie<ImageClassifier>(path, connect);
    open_charlie_in_process<LanguageModel>(path);
}
"""


class Embedding(Outside):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.prefix = cls.folder / "prefix"
        cls.command("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", "library")

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

    def test_compilers_agree_on_the_names_of_the_library(self):
        source, program = self.folder / "names.cpp", self.folder / "names.o"
        source.write_text(OPENS)
        library = self.command("nm", "--defined-only", "-j", self.prefix / "lib/libslip.a")
        compilers = [name for name in ("g++", "clang++-19") if shutil.which(name)]
        for compiler in compilers:
            self.command(compiler, "-std=c++20", "-I", self.prefix / "include", "-c", source, "-o",
                         program)
            names = re.findall(r"_ZN4slip\w+", self.command("nm", "--undefined-only", program))
            self.assertGreaterEqual(len(names), 6)
            self.assertEqual({*names} - {*library.split()}, set(), compiler)

    def test_the_package_says_nothing_of_the_tree_or_of_its_warnings(self):
        package = list((self.prefix / "lib").rglob("slip*.cmake"))
        self.assertGreaterEqual(len(package), 4)
        for path in package:
            for word in [str(ROOT), str(BUILD), "-Werror", "-Wconversion"]:
                self.assertNotIn(word, path.read_text(), path)

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_a_program_in_c_is_built_by_pkg_config(self):
        folder = self.prefix / "lib/pkgconfig"
        source, program = self.folder / "version.c", self.folder / "version"
        source.write_text("#include <slip/slip.h>\n#include <string.h>\n"
                          "int main(void) { return strcmp(slip_library_version(), SLIP_VERSION); }\n")
        flags = self.command("pkg-config", f"--with-path={folder}", "--cflags", "--libs", "slip").split()
        self.command(setting("CMAKE_CXX_COMPILER"), "-x", "c", "-std=c99", source, *flags, "-o", program,
                     f"-Wl,-rpath,{self.prefix}/lib")
        self.command(program)

    def test_LIN_4_the_example_generates_what_the_program_generates(self):
        prompt, tokens = "Once upon a time", 12
        artifact = self.folder / "artifact"
        model = ROOT / "models/tinystories-phi"  # the example splits it as well, twice
        self.slip("split", "--model", model, "--out", artifact)
        program, _ = self.generate("program", "--artifact", artifact, "--engine", "hybrid",
                                   "--prompt", prompt, "--max-tokens", tokens)
        source = self.folder / "embed"
        shutil.copytree(ROOT / "examples/embed", source)
        for shared in ("OFF", "ON"):
            build = self.folder / f"embed-build-{shared}"
            self.configure(source, build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                           f"-DBUILD_SHARED_LIBS={shared}")
            self.command("cmake", "--build", build)
            self.assert_links(build / "embed", shared == "ON")
            lines = self.command(build / "embed", model, prompt, tokens).splitlines()
            self.assertEqual(lines[0].split(), ["ids", *map(str, program["ids"])])
            self.assertEqual("\n".join(lines[1:-2]), "text " + program["text"])
            self.assertEqual(lines[-2], f"rounds {program['rounds']}, replies checked "
                                        f"{program['checks']}, bytes up {program['bytes_up']}, "
                                        f"bytes down {program['bytes_down']}")
            self.assertEqual(lines[-1], "equal to the unsplit model")


PROJECT = """cmake_minimum_required(VERSION 3.25)
project(around LANGUAGES CXX)
include(FetchContent)
FetchContent_Declare(slip SOURCE_DIR {root})
FetchContent_MakeAvailable(slip)
add_subdirectory({root}/examples/embed embed)
"""


@unittest.skipIf(setting("SLIP_SANITIZE"), "the release build does this")
class Subproject(Outside):
    """FetchContent of a folder that is there is add_subdirectory."""

    def test_another_project_builds_the_library_alone(self):
        """Whole with SLIP_FULL set, otherwise one room: the release build compiles the same files."""
        source, build = self.folder / "around", self.folder / "around-build"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(PROJECT.format(root=ROOT))
        for shared in ("OFF", "ON"):
            self.configure(source, build, f"-DBUILD_SHARED_LIBS={shared}", "-DCMAKE_BUILD_TYPE=Debug",
                           "-DSLIP_UNITY=ON")
            if "SLIP_FULL" in os.environ:
                self.command("cmake", "--build", build, "--target", "embed")
                self.assert_links(build / "embed/embed", shared == "ON")
                self.assert_explains_itself(build / "embed/embed")
            elif shared == "ON":
                self.command("cmake", "--build", build, "--target", "slip_base")
        targets = self.command("cmake", "--build", build, "--target", "help")
        for name in ("slip-bench", "slip_reference", "session_test", "install"):
            self.assertNotIn(f"{name}: phony", targets)
        commands = self.command("ninja", "-C", build, "-t", "commands", "embed")
        self.assertNotIn("-Werror", commands)

    def assert_explains_itself(self, program):
        usage = subprocess.run([program], capture_output=True, text=True)
        self.assertEqual((usage.returncode, usage.stderr),
                         (2, "embed: usage: embed MODEL PROMPT TOKENS\n"))


@unittest.skipIf(setting("SLIP_SANITIZE"), "sanitized libraries do not ship")
class Shipped(Outside):
    def test_the_shared_library_exports_the_public_names_alone(self):
        self.command(ROOT / "tools/package/exports", BUILD / "libslip.so")
        planted = self.folder / "planted.cpp"
        planted.write_text('namespace [[gnu::visibility("default")]] slip { void planted() {} }\n')
        library = self.folder / "libslip.so"
        self.command(setting("CMAKE_CXX_COMPILER"), "-shared", "-fPIC", planted, "-o", library,
                     "-Wl,--whole-archive", BUILD / "libslip.a", "-Wl,--no-whole-archive",
                     f"-Wl,--version-script={ROOT / 'tools/package/slip.map'}")
        refused = subprocess.run([ROOT / "tools/package/exports", library], capture_output=True, text=True)
        self.assertEqual((refused.returncode, refused.stdout),
                         (1, "libslip.so exports slip::planted(), which exports.txt does not list\n"))

    def hardening(self, folder, *names):
        """(status, lines) of the check of a build folder."""
        result = subprocess.run([ROOT / "tools/package/hardening", folder, *names], capture_output=True,
                                text=True)
        return result.returncode, result.stdout.splitlines()

    def test_what_ships_is_hardened(self):
        self.assertEqual(self.hardening(BUILD), (0, []))

    def test_a_program_without_hardening_is_refused(self):
        source = self.folder / "main.cpp"
        source.write_text("#include <cstdio>\n#include <cstring>\nint main(int argc, char** argv) {\n"
                          "    char name[8];\n    std::strcpy(name, argv[argc - 1]);\n"
                          "    return std::printf(name);\n}\n")
        (self.folder / "compile_commands.json").write_text("[]")
        hard = ["-O2", "-pie", "-fPIE", "-fstack-protector-strong", "-U_FORTIFY_SOURCE",
                "-D_FORTIFY_SOURCE=3", "-Wl,-z,relro,-z,now"]
        for soft, lacks in [([], []), (["-no-pie", "-fno-PIE"], ["ET_DYN"]),
                            (["-Wl,-z,norelro"], ["GNU_RELRO"]), (["-Wl,-z,lazy"], ["BIND_NOW"]),
                            (["-Wl,-z,execstack"], ["GNU_STACK"]),
                            (["-fno-stack-protector"], ["__stack_chk_fail"]),
                            (["-U_FORTIFY_SOURCE"], ["_FORTIFY_SOURCE"])]:
            self.command(setting("CMAKE_CXX_COMPILER"), "-w", source, "-o", self.folder / "program",
                         *hard, *soft)
            status, lines = self.hardening(self.folder, "program")
            self.assertEqual((status, len(lines)), (len(lacks), len(lacks)), lines)
            for word, line in zip(lacks, lines):
                self.assertIn(word, line)

    def test_a_file_that_is_compiled_without_hardening_is_refused(self):
        shutil.copy(BUILD / "slip", self.folder)
        for name, flags, says in [
                ("optimized/net/pipe.cpp", "", ["without -fstack-protector-strong",
                                                "without -D_FORTIFY_SOURCE=3"]),
                ("optimized/net/pipe.cpp", "-fstack-protector-strong -fno-stack-protector "
                 "-D_FORTIFY_SOURCE=3", ["without -fstack-protector-strong"]),
                ("optimized/kernels/leaf/portable/linear_gemm.cpp", "-fstack-protector-strong",
                 ["with -fstack-protector-strong and exempt"])]:
            (self.folder / "compile_commands.json").write_text(json.dumps(
                [{"file": str(ROOT / name), "command": f"c++ {flags} -c {name}"}]))
            status, lines = self.hardening(self.folder, "slip")
            self.assertEqual((status, len(lines)), (1, len(says)), lines)
            for words, line in zip(says, lines):
                self.assertIn(f"{name} is compiled {words}", line)


if __name__ == "__main__":
    unittest.main()
