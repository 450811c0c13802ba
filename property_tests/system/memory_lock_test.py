"""Charlie where the system does not let him lock memory."""

import ctypes
import json
import resource
import subprocess
import unittest

from slip_system import BUILD, LIMIT_S, Deployment, setting

PR_CAPBSET_DROP = 24
CAP_IPC_LOCK = 14  # who has it may lock memory beyond every limit


def without_locked_memory():
    """In the child, before the program: its limit is 0, and it does not get the capability."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))


@unittest.skipIf(setting("SLIP_SANITIZE"), "AddressSanitizer makes nothing of mlock()")
class MemoryLock(Deployment):
    def test_THREAT_3_without_locked_memory_charlie_works_and_says_so(self):
        said = "may be written to swap"
        with self.david() as david:
            command = [str(BUILD / "slip"), *map(str, self.charlie_command(david.endpoint))]
            limited = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S,
                                     preexec_fn=without_locked_memory)
        self.assertEqual(limited.returncode, 0, limited.stderr)
        self.assertEqual(json.loads(limited.stdout)["ids"], self.honest_ids)
        self.assertEqual(limited.stderr.count(said), 1, limited.stderr)

    def test_THREAT_3_with_enough_of_it_nothing_is_said(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        if hard != resource.RLIM_INFINITY and hard < 8 << 20:
            self.skipTest(f"{hard} bytes are too few for a small model here")
        with self.david() as david:
            result = self.slip(*self.charlie_command(david.endpoint))
        self.assertNotIn("swap", result.stderr)


if __name__ == "__main__":
    unittest.main()
