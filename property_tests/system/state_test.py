"""What Charlie keeps from process to process: prepared check vectors, and the count of rejects."""

import json
import re
import subprocess
import unittest

from slip_system import BUILD, LIMIT_S, Deployment


class State(Deployment):
    """One deployment; each test has a state folder of its own."""

    def setUp(self):
        self.state = self.folder / self.id().rsplit(".", 1)[1]

    def prepare(self, *extra, **named):
        return self.slip("check-vectors", "--artifact", self.artifact, "--state", self.state,
                         "--count", *(extra or ["1"]), **named)

    def kept(self):
        """{'free': [...], 'taken': [...], 'rejects': ...}: the names without their digits."""
        (folder,) = self.state.iterdir()
        return sorted(re.sub("^[0-9a-f]{32}", "", file.name) for file in folder.iterdir())

    def generate_with_state(self, endpoint, **named):
        return self.slip(*self.charlie_command(endpoint, "--state", self.state), **named)

    def test_INTEG_2_a_prepared_session_computes_no_check_vector(self):
        self.prepare("2")
        self.assertEqual(self.kept(), ["-0.free", "-0.free", "rejects"])
        with self.david() as david:
            for life in [1, 2, 3]:
                out = json.loads(self.generate_with_state(david.endpoint).stdout)
                self.assertEqual(out["ids"], self.honest_ids)
                self.assertEqual(out["setup_multiplications"], 0)
                self.assertEqual(len(self.kept()), 3, life)
        in_process = [*self.charlie_command("x")[:5], *self.tail, "--state", self.state]
        self.assertEqual(json.loads(self.slip(*in_process).stdout)["setup_multiplications"], 0)

    def test_INTEG_2_without_a_free_pair_charlie_makes_one(self):
        with self.david() as david:
            out = json.loads(self.generate_with_state(david.endpoint).stdout)
        self.assertEqual(out["ids"], self.honest_ids)
        self.assertGreater(out["setup_multiplications"], 0)
        self.assertEqual(self.kept(), ["rejects"])

    def test_INTEG_7_OFF_13_a_reject_deletes_the_pair_and_outlives_the_process(self):
        self.prepare()
        with self.david("--misbehave", "flip") as david:
            self.generate_with_state(david.endpoint, status=1, says=["rejected"])
        self.assertEqual(self.kept(), ["rejects"])
        (folder,) = self.state.iterdir()
        rejects = folder / "rejects"
        self.assertIn("count 00000000000000000001\n", rejects.read_text())
        rejects.unlink()  # what is missing was never few: 64 seconds, whoever David is
        with self.david() as david:
            self.generate_with_state(david.endpoint, status=1, says=["no new session for"])
        self.assertIn("count 00000000000000000007\n", rejects.read_text())

    def test_INTEG_7_a_state_that_cannot_be_written_is_waited_for_and_told(self):
        file = self.folder / "a file"
        file.write_text("")
        with self.david() as david:
            command = self.charlie_command(david.endpoint, "--state", file / "state")
            with subprocess.Popen([str(BUILD / "slip"), *map(str, command)], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                said = ""
                while "waiting for" not in said:
                    line = process.stderr.readline()
                    self.assertNotEqual(line, "", said)
                    said += line
                process.kill()
                process.communicate(timeout=LIMIT_S)
        self.assertIn("a file/state", said)

    def test_INTEG_2_pairs_are_made_from_a_stream_of_davids_file(self):
        alone = self.folder / "charlie alone"
        alone.mkdir()
        (alone / "charlie").symlink_to(self.artifact / "charlie")
        command = [str(BUILD / "slip"), "check-vectors", "--artifact", str(alone), "--state",
                   str(self.state), "--count", "2", "--weights", "-"]
        weights = (self.artifact / "david/david.safetensors").read_bytes()
        wrong = bytearray(weights)
        wrong[-1] ^= 1
        for data, said in [(wrong, "nothing of it is used"), (weights + b"x", "nothing of it"),
                           (weights[:-1], "ends before its last tensor"), (b"", "ends before")]:
            result = subprocess.run(command, input=bytes(data), capture_output=True,
                                    timeout=LIMIT_S)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(said, result.stderr.decode())
            self.assertEqual(self.kept(), ["rejects"])
        result = subprocess.run(command, input=weights, capture_output=True, timeout=LIMIT_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.kept(), ["-0.free", "-0.free", "rejects"])
        with self.david() as david:
            out = json.loads(self.generate_with_state(david.endpoint).stdout)
        self.assertEqual((out["ids"], out["setup_multiplications"]), (self.honest_ids, 0))

    def test_INTEG_2_split_prepares_pairs_and_bad_flags_are_refused(self):
        out = self.folder / "prepared"
        self.slip("split", "--model", self.folder / "model", "--rank", "3", "--out", out,
                  "--check-vectors", "2", "--state", self.state, says=["check vectors for 2"])
        self.assertEqual(self.kept(), ["-0.free", "-0.free", "rejects"])
        for bad in ["0", "x", "1025"]:
            self.refused("check-vectors", "--artifact", out, "--state", self.state, "--count", bad,
                         says=["--count"])
        self.refused("check-vectors", "--artifact", out, "--count", "1", "--state", "",
                     says=["--state"])
        self.refused("generate", "--artifact", out, "--engine", "unsplit", "--state", self.state,
                     "--ids", "1", "--max-tokens", "1", says=["--state"])

    def test_the_state_folder_is_where_the_environment_says(self):
        nobody = {"SLIP_STATE": "", "XDG_STATE_HOME": "", "HOME": ""}
        self.slip("check-vectors", "--artifact", self.artifact, "--count", "1", env=nobody,
                  status=2, says=["SLIP_STATE"])
        for name, below in [("SLIP_STATE", ""), ("XDG_STATE_HOME", "slip"),
                            ("HOME", ".local/state/slip")]:
            root = self.folder / name
            self.slip("check-vectors", "--artifact", self.artifact, "--count", "1",
                      env=nobody | {name: str(root)})
            (folder,) = (root / below).iterdir()
            self.assertEqual(len(list(folder.iterdir())), 2)


if __name__ == "__main__":
    unittest.main()
