"""What `slip` does when the disk is full or it is killed while it writes. spec/threat-model.md
lists every fault with its test."""

import os
import resource
import shutil
import subprocess
import tempfile
import unittest

from slip_system import BUILD, SystemTest, write_checkpoint


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

    def test_keys_and_logits_leave_nothing(self):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            result = self.limited(100, "keys", "--out", f"{folder}/tls")
            self.assertEqual(result.returncode, 2, result.stderr)
            result = self.limited(300, "generate", "--model", self.model, "--engine", "float",
                                  "--ids", "1", "--max-tokens", "5", "--logits", f"{folder}/logits")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("logits: cannot be written", result.stderr)
            self.assertEqual(os.listdir(folder), [])

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
