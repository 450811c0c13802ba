"""Splitting that is interrupted, and models as large as a user's: generated, split, served.

The whole size runs under SLIP_FULL=1 only: minutes, 5 GB of disk."""
# test: once

import hashlib
import json
import os
import re
import resource
import signal
import stat
import struct
import subprocess
import time
import unittest

from slip_system import BUILD, David, SystemTest, run


def digests(folder):
    """SHA-256 of every file under a folder, by name."""
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file()}


def same_for_all(artifact):
    """digests() but for the secret of the check and the matrix T of lattice masks, which every split draws
    anew, and their digests."""
    return {name: digest for name, digest in digests(artifact).items()
            if name not in ("charlie/check.safetensors", "charlie/masks.safetensors", "charlie/SHA256SUMS")}


def seed_of(check):
    """The 32 bytes of the tensor "seed" in check.safetensors."""
    data = check.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    begin, end = json.loads(data[8:8 + size])["seed"]["data_offsets"]
    return data[8 + size + begin:8 + size + end]


class InterruptedSplit(SystemTest):
    """DECO-11: what a killed split leaves, and that the same command finishes it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.folder / "model"
        made = run("slip-synthetic", "--shape", "small", "--blocks", "8", "--out", cls.model)
        assert made.returncode == 0, made.stderr
        split = run("slip", "split", "--model", cls.model, "--out", cls.folder / "whole", "--rank", "6",
                    "--threads", "1")
        assert split.returncode == 0, split.stderr
        cls.expected = same_for_all(cls.folder / "whole")

    def arguments(self, name, *more):
        return ["split", "--model", self.model, "--out", self.folder / name, "--rank", "6", *more]

    def partial(self, name):
        return self.folder / f".{name}.slip-partial"

    def groups_finished(self, name):
        try:
            lines = (self.partial(name) / "groups.txt").read_bytes()
        except FileNotFoundError:
            return 0
        return lines.count(b"\n")  # behind an activation norm and a digest

    def kill_after(self, name, groups, *more):
        """Kills the split as soon as so many groups are finished; returns how many were."""
        process = subprocess.Popen([str(BUILD / "slip"), *map(str, self.arguments(name, *more))],
                                   stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while self.groups_finished(name) < groups and process.poll() is None:
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
        self.assertEqual(process.wait(), -signal.SIGKILL, "the split was too fast to be killed")
        return self.groups_finished(name)

    def assert_secret(self, name):
        """Nothing that a reader would take for an artifact; the partial folder is its owner's."""
        self.assertFalse((self.folder / name).exists())
        self.assertEqual(stat.S_IMODE(self.partial(name).stat().st_mode), 0o700)
        charlie = self.partial(name) / "out/charlie"
        self.assertEqual(stat.S_IMODE(charlie.stat().st_mode), 0o700)
        for file in [*charlie.iterdir(), self.partial(name) / "state.json"]:
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600, file)

    def test_DECO_11_a_killed_split_goes_on_to_the_same_bytes(self):
        seeds = {seed_of(self.folder / "whole/charlie/check.safetensors")}
        for groups in [1, 11, 24]:
            name = f"killed{groups}"
            finished = self.kill_after(name, groups)
            self.assert_secret(name)
            seed = seed_of(self.partial(name) / "out/charlie/check.safetensors")
            for engine in ["unsplit", "hybrid"]:
                self.refused("forward", "--artifact", self.partial(name) / "out", "--engine",
                             engine, "--ids", "1")
            said = self.slip(*self.arguments(name)).stderr
            self.assertIn("going on after ", said)
            self.assertGreaterEqual(finished, groups)
            self.assertEqual(same_for_all(self.folder / name), self.expected)
            self.assertEqual(seed_of(self.folder / name / "charlie/check.safetensors"), seed)
            self.slip("check", self.folder / name)  # what was made before and after is of one seed
            self.assertFalse(self.partial(name).exists())
            seeds.add(seed)
        self.assertEqual(len(seeds), 4)  # INTEG-1: a seed for each split

    def begun(self, name, part):
        return subprocess.Popen([str(BUILD / "slip"), *map(str, self.arguments(name, "--part", part))],
                                stderr=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def test_DECO_11_parts_that_run_together_make_the_same_artifact(self):
        parts = {part: self.begun("parts", part) for part in ("3/3", "1/3", "2/3")}
        for part, process in parts.items():
            said, _ = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 0, part)
            self.assertIn(f"finished part {part[0]} of 3", said)
        self.assert_secret("parts")
        whole = self.groups_finished("parts")
        said = self.slip(*self.arguments("parts")).stderr
        self.assertIn("going on after 57 of 57 matrices", said)
        self.assertEqual(whole, 33)
        self.assertEqual(same_for_all(self.folder / "parts"), self.expected)
        self.slip("check", self.folder / "parts")
        self.assertFalse(self.partial("parts").exists())

    def test_DECO_11_a_killed_part_goes_on_and_what_no_part_has_made_is_made_in_the_end(self):
        self.kill_after("some", 5, "--part", "1/3")
        self.refused(*self.arguments("some", "--part", "1/4"), says=["in 3 parts, not in 4"])
        self.slip(*self.arguments("some", "--part", "1/3"))
        finished = self.groups_finished("some")
        self.assertTrue(5 < finished < 33, finished)
        said = self.slip(*self.arguments("some")).stderr
        self.assertRegex(said, r"going on after \d+ of 57 matrices")
        self.assertEqual(re.findall(r"note: part (\d) of 3 was not finished", said), ["2", "3"])
        self.assertEqual(same_for_all(self.folder / "some"), self.expected)
        self.slip("check", self.folder / "some")

    def test_DECO_11_one_process_at_a_time_makes_a_part_and_none_completes_a_split_beside_it(self):
        part = self.begun("twice", "1/2")
        while self.groups_finished("twice") < 1 and part.poll() is None:
            time.sleep(0.0005)
        part.send_signal(signal.SIGSTOP)
        try:
            self.assertIsNone(part.poll(), "the split was too fast to be stopped")
            for more in (["--part", "1/2"], []):
                self.refused(*self.arguments("twice", *more), says=["another process is at work"])
            self.slip(*self.arguments("twice", "--part", "2/2"))
        finally:
            part.send_signal(signal.SIGCONT)
        part.communicate(timeout=300)
        self.slip(*self.arguments("twice"))
        self.assertEqual(same_for_all(self.folder / "twice"), self.expected)

    def test_DECO_11_parts_that_are_none(self):
        for text in ("0/3", "4/3", "1", "1/", "/3", "1/3x", "-1/3", "a/b"):
            self.refused(*self.arguments("none", "--part", text), says=["--part", "I/N"])
        self.refused(*self.arguments("none", "--part", "1/1000"), says=["part 1 of 1000"])
        self.assertFalse(self.partial("none").exists())

    @unittest.skipUnless("SLIP_FULL" in os.environ, "killed every nine groups")
    def test_DECO_11_killed_again_and_again(self):
        groups = 0
        while groups < 20:
            groups = self.kill_after("again", groups + 9)
        self.slip(*self.arguments("again"))
        self.assertEqual(same_for_all(self.folder / "again"), self.expected)
        self.slip("check", self.folder / "again")

    def test_DECO_10_the_seed_survives(self):
        random = ["--strategy", "random"]
        finished = self.kill_after("seeded", 5, *random)
        state = json.loads((self.partial("seeded") / "state.json").read_text())
        self.assertGreaterEqual(finished, 5)
        self.slip(*self.arguments("seeded", *random))
        description = json.loads((self.folder / "seeded/charlie/plan.json").read_text())
        self.assertEqual(description["seed"], state["choices"]["seed"])
        self.slip(*self.arguments("repeated", *random, "--seed", description["seed"]))
        self.assertEqual(same_for_all(self.folder / "repeated"), same_for_all(self.folder / "seeded"))

    def test_DECO_11_another_command_is_refused(self):
        self.kill_after("mine", 5)
        kept = digests(self.partial("mine"))
        for more in [["--rank", "7"], ["--rank", "6", "--strategy", "norm"]]:
            self.refused("split", "--model", self.model, "--out", self.folder / "mine", *more,
                         says=["unfinished split of another", str(self.partial("mine"))])
        self.assertEqual(digests(self.partial("mine")), kept)
        weights = self.model / "model.safetensors"
        original = weights.read_bytes()
        self.addCleanup(weights.write_bytes, original)
        weights.write_bytes(original[:-1] + bytes([original[-1] ^ 1]))
        self.refused(*self.arguments("mine"), says=["unfinished split of another"])

    def test_DECO_11_two_at_once(self):
        process = subprocess.Popen([str(BUILD / "slip"), *map(str, self.arguments("both"))],
                                   stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while self.groups_finished("both") < 1 and process.poll() is None:
            time.sleep(0.0005)
        process.send_signal(signal.SIGSTOP)
        self.refused(*self.arguments("both"), says=["another process"])
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(), 0)

    def test_the_number_of_threads_changes_no_byte(self):
        """`whole` is made by one."""
        self.slip(*self.arguments("three", "--threads", "3"))
        self.assertEqual(same_for_all(self.folder / "three"), self.expected)


class Strategies(SystemTest):
    """DECO-8: each strategy splits, runs and is inspected."""

    def test_DECO_8_hybrid_is_unsplit(self):
        model = self.folder / "model"
        run("slip-synthetic", "--shape", "small", "--dtype", "f16", "--out", model)
        for strategy in ["lsc", "rcs", "norm", "random", "fms"]:
            artifact = self.folder / strategy
            self.slip("split", "--model", model, "--out", artifact, "--rank", "5", "--strategy",
                      strategy)
            tail = ["--artifact", artifact, "--ids", "1,2,3", "--max-tokens", "4"]
            unsplit, logits = self.generate(strategy, "--engine", "unsplit", *tail)
            hybrid, same = self.generate(strategy, "--engine", "hybrid", *tail)
            self.assertEqual(hybrid["ids"], unsplit["ids"])
            self.assertEqual(same, logits)
            report = json.loads(self.slip("inspect", "--artifact", artifact, "--json").stdout)
            self.assertEqual(report["strategy"], strategy)
            unknowns = {"lsc": 25, "rcs": 25, "norm": 5 * 96, "random": 5 * 96, "fms": 96 * 96}
            self.assertEqual(report["layers"][0]["unknowns_left"], unknowns[strategy])
            self.assertNotIn(strategy, (artifact / "david/manifest.json").read_text())

    def test_bad_flags(self):
        out = ["split", "--model", self.folder, "--out", self.folder / "out", "--rank", "1"]
        self.refused(*out, "--strategy", "best", says=["lsc, rcs, norm, random, fms"])
        self.refused(*out, "--seed", "0" * 64, says=["--seed"])
        self.refused(*out, "--strategy", "rcs", "--seed", "12", says=["64"])


@unittest.skipUnless("SLIP_FULL" in os.environ, "SLIP_FULL=1 splits a model of 1.1 billion weights")
class WholeSize(SystemTest):
    def test_tinyllama_within_8_GiB(self):
        model, artifact, tls = (self.folder / name for name in ["model", "out", "tls"])
        self.assertEqual(run("slip-synthetic", "--shape", "tinyllama", "--out", model).returncode, 0)
        types = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
        plan = [[block, name, 16] for block in range(22) for name in types]
        (self.folder / "plan.json").write_text(json.dumps([*plan, [None, "lm_head", 16]]))
        self.slip("split", "--model", model, "--out", artifact, "--plan",
                  self.folder / "plan.json")
        self.slip("keys", "--out", tls)
        with David(artifact / "david", tls / "david") as david:
            hybrid, _ = self.generate("hybrid", "--artifact", artifact, "--engine", "hybrid",
                                      "--david", david.endpoint, "--tls", tls / "charlie",
                                      "--ids", "1,2,3", "--max-tokens", "4")
        self.assertEqual(hybrid["checks"], hybrid["rounds"])
        # KiB, the largest of all the processes that have ended.
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 8 << 20)


if __name__ == "__main__":
    unittest.main()
