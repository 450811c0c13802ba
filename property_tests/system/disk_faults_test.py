"""What `slip` does when the disk is full or it is killed while it writes. spec/threat-model.md
lists every fault with its test."""

import os
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import unittest

from fake_peers import READY, FakeDavid, connect, frame, hello_of, receive_frame
from slip_system import BUILD, LIMIT_S, David, SystemTest, write_checkpoint


class LimitedDavid(David):
    """His files have at most `size` bytes."""

    def __init__(self, size, *arguments):
        super().__init__(*arguments)
        self.program = ["prlimit", f"--fsize={size}", *self.program]


class DiskFails(SystemTest):
    """A disk that is full, as a limit on the size of files shows it to a process."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = write_checkpoint(cls.folder / "model")

    def limited(self, size, *arguments):
        """Runs `slip` with files of at most `size` bytes."""
        return subprocess.run(
            [str(BUILD / "slip"), *map(str, arguments)], capture_output=True, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))

    def test_split_leaves_nothing_wherever_the_disk_is_full(self):
        out = self.folder / "out"
        command = ["split", "--model", self.model, "--rank", "3", "--out", out]
        whole = self.slip(*command)
        self.assertEqual(whole.returncode, 0)
        sizes = sorted(file.stat().st_size for file in out.glob("*/*"))
        shutil.rmtree(out)
        for size in [0, 1, 100, *[size - 1 for size in sizes]]:
            result = self.limited(size, *command)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("cannot be written", result.stderr)
            self.assertEqual(sorted(os.listdir(self.folder)), ["model"])
        self.assertEqual(self.limited(sizes[-1], *command).returncode, 0)
        shutil.rmtree(out)

    def test_keys_answers_and_logits_leave_nothing(self):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            result = self.limited(100, "keys", "--out", f"{folder}/tls")
            self.assertEqual(result.returncode, 2, result.stderr)
            result = self.limited(300, "generate", "--model", self.model, "--engine", "float",
                                  "--ids", "1", "--max-tokens", "5", "--logits", f"{folder}/logits")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("logits: cannot be written", result.stderr)
            result = self.limited(5, "generate", "--model", self.model, "--engine", "float", "--ids", "1",
                                  "--max-tokens", "5", "--output", f"{folder}/answer")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("answer: cannot be written", result.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_a_run_that_fails_leaves_the_older_answer(self):
        answer = self.folder / "older.answer"
        answer.write_text("of an earlier run")
        self.addCleanup(answer.unlink)
        command = ["generate", "--model", self.model, "--engine", "float", "--ids", "1", "--output", answer,
                   "--max-tokens"]
        self.assertEqual(self.limited(5, *command, 5).returncode, 2)
        for form in [[], ["--json"]]:
            self.refused(*command, 33, *form, says=["max_position_embeddings"])
        self.assertEqual(answer.read_text(), "of an earlier run")
        self.assertEqual(sorted(os.listdir(self.folder)), ["model", "older.answer"])

    def test_logits_of_a_run_that_fails_leave_the_older_file(self):
        logits = self.folder / "older.logits"
        logits.write_bytes(b"of an earlier run")
        self.addCleanup(logits.unlink)
        command = ["generate", "--model", self.model, "--engine", "float", "--ids", "1", "--logits",
                   logits, "--max-tokens"]
        self.slip(*command, 31)  # the model has 32 positions
        whole = logits.read_bytes()
        self.assertEqual(len(whole), 31 * 32 * 4)
        self.assertEqual(stat.S_IMODE(logits.stat().st_mode), 0o600)
        self.assertEqual(self.limited(300, *command, 5).returncode, 2)
        self.assertEqual(logits.read_bytes(), whole)
        self.refused(*command[:-2], logits, "--ids", "99", says=["--ids"])
        self.assertEqual(logits.read_bytes(), whole)
        self.assertEqual(sorted(os.listdir(self.folder)), ["model", "older.logits"])

    def test_a_recording_that_fails_stops_david(self):
        """What David no longer records, he no longer serves."""
        out, tls, record = (self.folder / name for name in ["recorded", "tls", "record.jsonl"])
        for name in [out, tls]:
            self.addCleanup(shutil.rmtree, name)
        self.slip("split", "--model", self.model, "--rank", "3", "--out", out)
        self.slip("keys", "--out", tls)
        david = LimitedDavid(2000, out / "david", tls / "david", "--record", record)
        with david:
            self.slip("generate", "--artifact", out, "--engine", "hybrid", "--david",
                      david.endpoint, "--tls", tls / "charlie", "--ids", "1,5,9", "--max-tokens",
                      "8", status=1)
            error = david.process.communicate(timeout=LIMIT_S)[1]
            self.assertEqual(david.process.returncode, 2, error)
        self.assertIn("record.jsonl: cannot be written", error)
        self.assertEqual([name for name in os.listdir(self.folder) if "record.jsonl" in name], [])

    def test_what_is_killed_leaves_nothing(self):
        """Neither David's recording nor Charlie's answer and logits, when they stop in the middle."""
        out, tls = self.folder / "killed-out", self.folder / "killed-tls"
        paper = ["--set", "paper"]  # that of fake_peers
        for name, command in [(out, ["split", "--model", self.model, "--rank", "3", *paper]),
                              (tls, ["keys"])]:
            self.addCleanup(shutil.rmtree, name)
            self.slip(*command, "--out", name)
        reached = threading.Event()

        def never_answers(charlie):
            receive_frame(charlie)
            charlie.sendall(frame(READY))
            receive_frame(charlie)
            reached.set()
            receive_frame(charlie)
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]:
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                reached.clear()
                with FakeDavid(tls / "david", never_answers) as fake:
                    command = ["generate", "--artifact", out, "--engine", "hybrid", "--david",
                               fake.endpoint, "--tls", tls / "charlie", "--ids", "1", "--max-tokens",
                               "2", "--logits", f"{folder}/logits", "--output",
                               f"{folder}/answer"]
                    charlie = subprocess.Popen([str(BUILD / "slip"), *map(str, command)])
                    self.assertTrue(reached.wait(LIMIT_S))
                    charlie.send_signal(number)
                    self.assertEqual(charlie.wait(LIMIT_S), -number)
                self.assertEqual(os.listdir(folder), [])
                with David(out / "david", tls / "david", "--record", f"{folder}/record") as david:
                    connection = connect(david.endpoint, tls)
                    connection.sendall(hello_of(out))
                    self.assertEqual(receive_frame(connection), frame(READY))
                    connection.close()
                    david.process.send_signal(number)
                    status = david.process.wait(LIMIT_S)
                if number == signal.SIGKILL:
                    self.assertEqual((status, os.listdir(folder)), (-number, []))
                else:  # in order: what was recorded is kept
                    self.assertEqual((status, os.listdir(folder)), (0, ["record"]))

    def test_a_full_disk_while_renewing_leaves_the_older_certificates(self):
        tls = self.folder / "renewed"
        self.slip("keys", "--out", tls)
        self.addCleanup(shutil.rmtree, tls)
        before = {path: path.read_bytes() for path in tls.glob("*/*")}
        for size in [0, 500]:
            self.assertEqual(self.limited(size, "keys", "--renew", tls).returncode, 2)
            self.assertEqual({path: path.read_bytes() for path in tls.rglob("*.*")}, before)

    def test_a_full_disk_under_standard_output_is_a_failure(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run(
                [str(BUILD / "slip"), "forward", "--model", str(self.model), "--engine", "float",
                 "--ids", "1", "--json"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("standard output cannot be written", result.stderr)

    def test_a_split_that_is_killed_leaves_no_artifact(self):
        folder = self.folder / "folder"
        folder.mkdir()
        self.addCleanup(shutil.rmtree, folder)
        out = folder / "killed"
        process = subprocess.Popen(
            [str(BUILD / "slip"), "split", "--model", str(self.model), "--rank", "3", "--out",
             str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not list(folder.iterdir()):
            pass  # until it has begun to write
        process.kill()
        process.wait()
        if out.exists():  # it was faster than the signal
            self.slip("inspect", "--artifact", out)


if __name__ == "__main__":
    unittest.main()
