#!/usr/bin/env python3
"""Conformance: the vectors are what the reference makes, the second implementation agrees with
them, ours answers them, the peers understand each other, and every mutant is killed."""

import filecmp
import json
import shutil
import subprocess
import sys
import unittest

from slip_system import (BUILD, LIMIT_S, ROOT, TINYSTORIES, David, SystemTest, run,
                         write_checkpoint)

CONFORMANCE = ROOT / "conformance"
SEED = 1


def conform(*arguments, folder=CONFORMANCE, status=0):
    """Runs slip_peer as someone does who has nothing but the folder; returns its stdout."""
    program = "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); " \
              "runpy.run_module('slip_peer', run_name='__main__', alter_sys=True)"
    result = subprocess.run([sys.executable, "-I", "-B", "-c", program, str(folder),
                             *map(str, arguments)], capture_output=True, text=True,
                            timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    if result.returncode != status:
        raise AssertionError(f"slip_peer {arguments}: {result.returncode}\n{result.stdout[-4000:]}"
                             f"{result.stderr[-4000:]}")
    return result.stdout


class Vectors(SystemTest):
    def test_the_reference_makes_the_committed_files(self):
        made = self.folder / "vectors"
        subprocess.run([str(BUILD / "make_vectors"), str(SEED), str(made)], check=True,
                       timeout=LIMIT_S, stdout=subprocess.DEVNULL)
        committed = sorted(path.name for path in (CONFORMANCE / "vectors").iterdir())
        self.assertEqual(sorted(path.name for path in made.iterdir()), committed)
        _, different, errors = filecmp.cmpfiles(made, CONFORMANCE / "vectors", committed, False)
        self.assertEqual(different + errors, [])
        self.assertLess(sum(path.stat().st_size for path in made.iterdir()), 3_000_000)

    def test_files_follow_the_schema_and_a_changed_one_does_not(self):
        self.assertEqual(conform("schemas"), "")
        copy = self.folder / "copy"
        shutil.copytree(CONFORMANCE, copy)
        path = copy / "vectors/masking.json"
        for old, new, says in [('"tcId"', '"tcid"', "unknown field 'tcid'"),
                               ('"level": "MUST"', '"level": "MAY"', "none of ['MUST', 'SHOULD']"),
                               ('"q":', '"quantised":', "unknown field 'quantised'"),
                               ('"operation": "mask"', '"operation": "hide"', "none of")]:
            path.write_text((CONFORMANCE / "vectors/masking.json").read_text().replace(old, new, 1))
            self.assertIn(says, conform("schemas", folder=copy, status=1))

    def test_a_copy_of_the_folder_is_enough(self):
        copy = self.folder / "alone"
        shutil.copytree(CONFORMANCE, copy)
        answerer = f"{sys.executable} -I -B -c \"import runpy, sys; sys.argv[1:] = ['answer']; " \
                   f"sys.path.insert(0, '{copy}'); runpy.run_module('slip_peer', " \
                   "run_name='__main__', alter_sys=True)\""
        out = conform("vectors", "--implementation", answerer, folder=copy)
        self.assertTrue(out.endswith("\nconformant\n"), out)
        self.assertIn(" 0 fail, 0 unimplemented, 0 not claimed", out)


class Product(SystemTest):
    """optimized/ under the vectors; its list of known failures is empty."""

    def test_the_product_conforms_on_the_portable_kernels_and_on_its_best(self):
        for kernels in ("portable", None):
            with self.subTest(kernels=kernels):
                report = self.folder / "report.json"
                program = f"env SLIP_KERNELS={kernels} " if kernels else ""
                self.slip("conform", "vectors", "--implementation",
                          f"{program}{BUILD / 'conformance_answers'}", "--json", report,
                          "--junit", self.folder / "report.xml")
                found = json.loads(report.read_text())
                self.assertTrue(found["conformant"])
                self.assertLessEqual({"david", "charlie"}, set(found["features"]))

    def test_a_skipped_must_and_a_failing_one_are_not_conformant(self):
        known = self.folder / "known"
        for program, says, failing in [
                ("UNIMPLEMENTED = True", "UNIMPLEMENTED MASK-3/1 ", None),
                ("WRONG = True", "FAIL MASK-3/1 ", None),
                ("WRONG = True", "FAIL, known MASK-3/1 ", "MASK-3/"),
                ("RIGHT = True", "MASK-3/1 is on the list of known failures and does not fail",
                 "MASK-3/")]:
            script = self.folder / "answer.py"
            script.write_text(ANSWERER.format(path=str(CONFORMANCE), setting=program))
            out = conform("vectors", "--only", "MASK-3/", "--implementation",
                          f"{sys.executable} -I -B {script}", *listed(known, failing),
                          status=3 if "known MASK" in says else 1)
            self.assertIn(says, out)


class Mutants(SystemTest):
    """Wrong implementations; a vector set that lets one pass has a hole."""

    CLASSES = {"arithmetic", "signs", "endianness", "masks", "integrity", "ordering", "session",
               "wire"}

    def test_each_is_killed_by_its_case(self):
        path = self.folder / "mutants.json"
        conform("mutants", "--json", path)
        mutants = json.loads(path.read_text())["mutants"]
        classes = [mutant["class"] for mutant in mutants]
        self.assertEqual(set(classes), self.CLASSES)
        for name in self.CLASSES:
            self.assertGreaterEqual(classes.count(name), 2, name)
        self.assertTrue(all(mutant["killed"] for mutant in mutants))


class PythonPeer(David):
    """The David of slip_peer, for one session."""

    program = [str(BUILD / "slip-conform")]

    def __init__(self, artifact, tls, *extra):
        super().__init__(artifact, tls, "--sessions", 1, *extra)


class Peers(SystemTest):
    """Over TLS: each implementation against the other, and both against one that misbehaves."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tls = cls.folder / "tls"
        write_checkpoint(cls.folder / "model")
        for model, out in [(cls.folder / "model", "small"), (TINYSTORIES, "trained")]:
            run("slip", "split", "--model", model, "--rank", 3, "--out", cls.folder / out)
        run("slip", "keys", "--out", cls.tls)

    def both_ways(self, artifact, *prompt):
        """The ids and the text of: the product unsplit, its Charlie with our second David, and
        our second Charlie with its David."""
        unsplit = json.loads(self.slip("generate", "--artifact", artifact, "--engine", "unsplit",
                                       *prompt, "--json").stdout)
        with PythonPeer(artifact / "david", self.tls / "david") as david:
            ours = json.loads(self.slip(
                "generate", "--artifact", artifact, "--engine", "hybrid", "--david",
                david.endpoint, "--tls", self.tls / "charlie", *prompt, "--json").stdout)
        with David(artifact / "david", self.tls / "david") as david:
            theirs = json.loads(conform(
                "charlie", "--artifact", artifact, "--connect", david.endpoint, "--tls",
                self.tls / "charlie", "--ids", ",".join(map(str, unsplit["prompt_ids"])),
                "--max-tokens", prompt[-1]))
        self.assertEqual([ours["ids"], ours["text"]], [unsplit["ids"], unsplit["text"]])
        self.assertEqual([theirs["ids"], theirs["text"]], [unsplit["ids"], unsplit["text"]])
        return unsplit

    def test_LIN_4_both_ways_with_a_small_model(self):
        self.both_ways(self.folder / "small", "--ids", "1,5,9", "--max-tokens", 12)

    def test_LIN_4_both_ways_with_a_trained_model(self):
        result = self.both_ways(self.folder / "trained", "--prompt", "Once upon a time",
                                "--max-tokens", 8)
        self.assertGreater(len(result["text"]), 8)

    def test_the_product_conforms_as_david(self):
        artifact = self.folder / "small"
        with David(artifact / "david", self.tls / "david") as david:
            out = self.slip("conform", "peer", "--as", "charlie", "--connect", david.endpoint,
                            "--tls", self.tls / "charlie", "--other-tls", self.tls / "david",
                            "--artifact", artifact / "david").stdout
        self.assertIn(" 0 fail, 0 unimplemented", out)

    def test_the_product_conforms_as_charlie(self):
        artifact = self.folder / "small"
        command = f"{BUILD / 'slip'} generate --artifact {artifact} --engine hybrid --david " \
                  f"{{endpoint}} --tls {self.tls / 'charlie'} --ids 1,5,9 --max-tokens 3 --json"
        out = self.slip("conform", "peer", "--as", "david", "--implementation", command, "--tls",
                        self.tls / "david", "--other-tls", self.tls / "charlie", "--artifact",
                        artifact / "david").stdout
        self.assertIn(" 0 fail, 0 unimplemented", out)

    def test_a_dishonest_david_is_seen(self):
        artifact = self.folder / "small"
        with David(artifact / "david", self.tls / "david", "--misbehave", "flip") as david:
            out = self.slip("conform", "peer", "--as", "charlie", "--connect", david.endpoint,
                            "--tls", self.tls / "charlie", "--other-tls", self.tls / "david",
                            "--artifact", artifact / "david", "--only", "LIN-1/", status=1).stdout
        self.assertIn("FAIL LIN-1/david-products", out)


ANSWERER = """
import json, sys
sys.path.insert(0, {path!r})
from slip_peer import operations
UNIMPLEMENTED = WRONG = RIGHT = False
{setting}
for line in sys.stdin:
    request = json.loads(line)
    if request["request"] == "hello":
        answer = dict(name="test", features=["charlie", "p61"])
    else:
        answer = operations.answer(request["operation"], request["profile"], request["input"])
        answer["id"] = request["id"]
        if UNIMPLEMENTED:
            answer = dict(id=request["id"], result="unimplemented")
        elif WRONG:
            answer["output"]["c"][0] += 1
    print(json.dumps(answer), flush=True)
"""


def listed(path, prefix):
    """--known-failing with every id of a clause, or nothing."""
    if prefix is None:
        return []
    sys.path.insert(0, str(CONFORMANCE))
    from slip_peer import vectors
    ids = [case.id for case in vectors.read_all() if case.id.startswith(prefix)]
    path.write_text("# all of them\n" + "\n".join(ids) + "\n")
    return ["--known-failing", path]


if __name__ == "__main__":
    unittest.main()
