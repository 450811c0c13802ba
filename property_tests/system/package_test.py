"""What the Debian packages have beside the program: manual pages, completion, services; and, in
./test --full, the packages themselves, built twice."""
# test: once

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from slip_system import BUILD, BUILD_LIMIT_S, LIMIT_S, ROOT, SystemTest

FULL = "SLIP_FULL" in os.environ


def output(*command, cwd=None, env=None, limit=LIMIT_S):
    """stdout and stderr of a command that must succeed."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd, timeout=limit,
                          env=os.environ | (env or {}))
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout + done.stderr


class Manual(SystemTest):
    def commands(self):
        """But for those that study the tree."""
        installed = self.slip("--help").stdout.partition("\nStudy:")[0]
        return re.findall(r"^  ([a-z]+) {2,}\S", installed, re.MULTILINE)

    def test_every_command_has_a_page_with_all_its_options(self):
        pages = self.folder / "man"
        output(ROOT / "tools/package/manpages", BUILD / "slip", pages, env={"SOURCE_DATE_EPOCH": "86400"})
        self.assertEqual({page.name for page in pages.iterdir()},
                         {"slip.1", *(f"slip-{command}.1" for command in self.commands())})
        for command in self.commands():
            text = (pages / f"slip-{command}.1").read_text()
            self.assertIn('"1970-01-02"', text.splitlines()[0])
            flags = re.findall(r"^  (--[a-z-]+)", self.slip("help", command).stdout, re.MULTILINE)
            self.assertEqual(re.findall(r"^\.B (\S+)", text.replace("\\-", "-"), re.MULTILINE)[1:], flags)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_groff_has_nothing_to_say(self):
        pages = self.folder / "read"
        output(ROOT / "tools/package/manpages", BUILD / "slip", pages)
        for page in pages.iterdir():
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", "-rLL=100n", page],
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)


class Completion(SystemTest):
    def completions(self, *words):
        """What bash offers where the last word ends."""
        script = f"source {ROOT}/tools/package/completions/slip; COMP_WORDS=(\"$@\"); " \
            "COMP_CWORD=$(($# - 1)); _slip; printf '%s\\n' \"${COMPREPLY[@]}\""
        return output("bash", "-c", script, "bash", *words, cwd=self.folder).split()

    def test_commands_flags_and_files(self):
        slip = BUILD / "slip"
        self.assertEqual(self.completions(slip, "da"), ["david"])
        self.assertEqual(self.completions(slip, "help", "spl"), ["split"])
        self.assertEqual(self.completions(slip, "david", "--art"), ["--artifact"])
        self.assertEqual(self.completions(slip, "keys", "--plan"), [])
        (self.folder / "a model").mkdir()
        self.assertEqual(self.completions(slip, "split", "--model", "a"), ["a", "model"])


class Services(SystemTest):
    """The units of the packages."""

    def units(self):
        for name in ("david", "serve"):
            unit = self.folder / f"slip-{name}.service"
            unit.write_text((ROOT / f"debian/slip.slip-{name}.service").read_text()
                            .replace("/usr/bin/slip", str(BUILD / "slip")))
            yield name, unit

    def test_their_settings_are_options_of_the_commands(self):
        for name, unit in self.units():
            known = re.findall(r"^  --([a-z-]+)", self.slip("help", name).stdout, re.MULTILINE)
            settings = (ROOT / f"deploy/systemd/{name}.conf").read_text()
            for option in re.findall(r"^(?:# )?([a-z-]+) = ", settings, re.MULTILINE):
                self.assertIn(option, known)
            for option in re.findall(r" --([a-z-]+)", re.search("^ExecStart=.*", unit.read_text(), re.M)[0]):
                self.assertIn(option, known)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_understands_them_and_finds_little_exposed(self):
        for name, unit in self.units():
            said = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True,
                                  text=True)
            self.assertEqual([line for line in said.stderr.splitlines() if unit.name in line], [])
            rated = output("systemd-analyze", "security", "--offline=true", "--no-pager", unit)
            score = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", rated)[1])
            self.assertLess(score, 1.5, name)


@unittest.skipUnless(FULL, "packages are built by ./test --full")
@unittest.skipUnless(shutil.which("dpkg-buildpackage") and shutil.which("lintian"),
                     "dpkg-dev, debhelper or lintian is not installed")
class Packages(SystemTest):
    NAMES = {"slip", "libslip0.2", "libslip-dev", "python3-slip", "slip-doc"}

    def build(self, name):
        """{file: SHA-256} of the packages of a tree in a folder of this name."""
        folder = self.folder / name
        tree = folder / "slip"
        tree.mkdir(parents=True)
        files = output("git", "ls-files", "-co", "--exclude-standard", "-z", cwd=ROOT).split("\0")
        for file in filter(None, files):
            (tree / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, tree / file)
        output("dpkg-buildpackage", "-us", "-uc", "-b", cwd=tree, limit=BUILD_LIMIT_S)
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.deb")}

    def test_two_builds_are_equal_and_lintian_finds_nothing(self):
        first, second = self.build("one"), self.build("another-longer-folder")
        self.assertEqual({name.split("_")[0] for name in first}, self.NAMES)
        self.assertEqual(first, second)
        (changes,) = (self.folder / "one").glob("*.changes")
        self.assertEqual(output("lintian", "--allow-root", "--fail-on", "error,warning", changes), "")
        program = self.folder / "program"
        (package,) = (self.folder / "one").glob("slip_*.deb")
        output("dpkg-deb", "--extract", package, program)
        self.assertEqual(output(program / "usr/bin/slip", "--version"), self.slip("--version").stdout)
        model = program / "usr/share/slip/models/tinystories-llama"
        said = output(program / "usr/bin/slip", "generate", "--model", model, "--prompt", "Once",
                      "--max-tokens", 3)
        self.assertIn("3 tokens", said)
        self.assertTrue(pathlib.Path(program / "usr/share/man/man1/slip-serve.1.gz").exists())


if __name__ == "__main__":
    unittest.main()
