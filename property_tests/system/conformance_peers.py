"""What the tests of conformance share: the programs of conformance/, and a deployment to run them
against."""

import os
import shlex
import subprocess
import sys
import tempfile

from slip_system import BUILD, LIMIT_S, ROOT, David, run, write_checkpoint

CONFORMANCE = ROOT / "conformance"
SEED = 1
# Of what the peers import: they start by the hundred, and to compile it takes most of a start.
BYTECODE = tempfile.TemporaryDirectory(prefix="slip-bytecode-")


def python_peer(folder, *before):
    """The words that run slip_peer from `folder` and nothing else: no site packages, no variables.
    `before` are statements that run first."""
    program = ["import runpy, sys", f"sys.path.insert(0, {str(folder)!r})", *before,
               "sys.argv[0] = 'slip_peer'", "runpy.run_module('slip_peer', run_name='__main__')"]
    return [sys.executable, "-I", "-S", "-X", f"pycache_prefix={BYTECODE.name}", "-c", "; ".join(program)]


def conform(*arguments, folder=CONFORMANCE, status=0, before=()):
    """Runs slip_peer in an empty environment, after `before`; returns its stdout."""
    result = subprocess.run([*python_peer(folder, *before), *map(str, arguments)], capture_output=True,
                            text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL, cwd=folder,
                            env={"PATH": os.defpath})
    if result.returncode != status:
        raise AssertionError(f"slip_peer {arguments}: {result.returncode}\n{result.stdout[-4000:]}"
                             f"{result.stderr[-4000:]}")
    return result.stdout


class PythonPeer(David):
    """The David of slip_peer, for one session or more."""

    def __init__(self, artifact, tls, *extra, sessions=1, before=()):
        super().__init__(artifact, tls, "--sessions", sessions, *extra)
        self.program = python_peer(CONFORMANCE, *before)


class Deployed:
    """Keys, and the small model split."""

    SET = "paper"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tls = cls.folder / "tls"
        run("slip", "keys", "--out", cls.tls)
        write_checkpoint(cls.folder / "model")
        cls.artifact = cls.folder / "artifact"
        run("slip", "split", "--model", cls.folder / "model", "--rank", 3, "--set", cls.SET, "--out",
            cls.artifact)

    def probe_david(self, david, *extra, **options):
        """slip_peer plays Charlie."""
        return conform("peer", "--as", "charlie", "--connect", david.endpoint, "--tls",
                       self.tls / "charlie", "--other-tls", self.tls / "david", "--artifact",
                       self.artifact / "david", *extra, **options)

    def probe_charlie(self, command, *extra, **options):
        """slip_peer plays David; `command` begins a Charlie."""
        return conform("peer", "--as", "david", "--implementation", command, "--tls",
                       self.tls / "david", "--other-tls", self.tls / "charlie", "--artifact",
                       self.artifact / "david", *extra, **options)

    def product_charlie(self):
        return f"{BUILD / 'slip'} generate --artifact {self.artifact} --engine hybrid " \
               f"--david {{endpoint}} --tls {self.tls / 'charlie'} --ids 1,5,9 --max-tokens 3 --json"

    def python_charlie(self, *before):
        words = [*python_peer(CONFORMANCE, *before), "charlie", "--artifact",
                 str(self.artifact), "--connect", "{endpoint}", "--tls",
                 str(self.tls / "charlie"), "--ids", "1,5,9", "--max-tokens", "3"]
        return shlex.join(words)
