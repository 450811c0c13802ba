"""Charlie and David as two processes in shared memory: who finds whom, what is refused, and what each does
when the other fails (SESS-11, SESS-12)."""

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import unittest

from fake_peers import LIMITS_S
from slip_system import BUILD, LIMIT_S, Deployment, LocalDavid


class SharedMemory(Deployment):
    """What `slip` takes and refuses."""

    def setUp(self):
        self.name = self.folder / "david.socket"

    def local(self, *extra):
        return LocalDavid(self.artifact / "david", self.name, *extra)

    def test_SESS_12_sessions_follow_each_other_and_the_socket_is_removed(self):
        with self.local() as david:
            self.assertEqual(david.endpoint, f"shm:{self.name}")
            self.assertEqual(stat.S_IMODE(os.stat(self.name).st_mode), 0o600)
            for _ in range(2):
                self.assert_served(david.endpoint)
            status, log = david.stop()
            self.assertEqual((status, log.count("\n")), (0, 1), log)  # at start-up, and of no peer
        self.assertFalse(self.name.exists())

    def test_two_charlies_at_once(self):
        with self.local() as david:
            both = [subprocess.Popen([BUILD / "slip", *self.charlie_command(david.endpoint)],
                                     stdout=subprocess.PIPE, text=True) for _ in range(2)]
            for process in both:
                out, _ = process.communicate(timeout=LIMIT_S)
                self.assertEqual(json.loads(out)["ids"], self.honest_ids)

    def test_every_command_that_calls_david_takes_it(self):
        with self.local() as david:
            logits = [json.loads(self.slip("forward", "--artifact", self.artifact, *flags, "--ids", "1,5,9",
                                           "--json").stdout)["logits"]
                      for flags in (["--david", david.endpoint], ["--engine", "unsplit"])]
            self.assertEqual(*logits)

    def test_SESS_12_a_socket_of_a_killed_david_is_replaced_and_of_a_live_one_is_not(self):
        with self.local() as david:
            david.stop(signal.SIGKILL)
        self.assertTrue(self.name.is_socket())
        with self.local() as david:
            self.refused("david", "--artifact", self.artifact / "david", "--listen", david.endpoint,
                         says=["another process listens there"])
            self.assert_served(david.endpoint)

    def test_SESS_12_what_does_not_fit_together_is_refused(self):
        artifact, here = ["--artifact", self.artifact / "david"], ["--listen", f"shm:{self.name}"]
        for flags, says in [([*here, "--tls", self.tls / "david"], "--tls"),
                            (["--listen", "shm:"], "--listen"),
                            (["--listen", f"shm:/{'x' * 107}"], "of 1 to 107 bytes"),
                            ([*here, "--peer-user", "no such user"], "--peer-user"),
                            ([*here, "--peer-user", "4294967295"], "--peer-user"),
                            (["--tls", self.tls / "david", "--peer-user", "0"], "--peer-user")]:
            self.refused("david", *artifact, *flags, says=[says])
        charlie = ["generate", "--artifact", self.artifact, *self.tail]
        local = ["--david", f"shm:{self.name}"]
        for flags, says in [([*local, "--tls", self.tls / "charlie"], "--tls"),
                            ([*local, "--david", "127.0.0.1:1"], "--tls"),
                            (["--david", f"shm:/{'x' * 107}"], "of 1 to 107 bytes")]:
            self.refused(*charlie, *flags, says=[says])
        open_to_all = self.folder / "open"
        open_to_all.mkdir()
        open_to_all.chmod(0o777)
        self.refused("david", *artifact, "--listen", f"shm:{open_to_all / 'david'}",
                     says=["other users may write in its folder"])
        self.assertEqual(list(open_to_all.iterdir()), [])

    def test_nobody_listens(self):
        self.slip(*self.charlie_command(f"shm:{self.name}"), status=1,
                  says=[f"shm:{self.name}: No such file or directory"])

    def test_INTEG_6_a_dishonest_david_is_rejected_under_his_name(self):
        with self.local("--misbehave", "flip") as david:
            self.slip(*self.charlie_command(david.endpoint), status=1, says=["rejected", david.endpoint])


class SharedMemoryFaults(Deployment):
    """A peer fails within a session."""

    def local(self, *extra):
        return LocalDavid(self.artifact / "david", self.folder / "david.socket", *extra)

    def begun(self, david, *extra):
        """A Charlie who has shown some tokens of a long answer."""
        command = self.charlie_command(david.endpoint, *extra)
        command.remove("--json")
        command[command.index("8")] = "29"
        process = subprocess.Popen([BUILD / "slip", *map(str, command)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        process.stdout.read(1)
        return process

    def test_david_is_killed_within_an_answer(self):
        for _ in range(8):  # until it is within one
            with self.local() as david, self.begun(david) as process:
                david.process.kill()
                _, error = process.communicate(timeout=LIMIT_S)
            if process.returncode != 0:
                break
        self.assertEqual(process.returncode, 1)
        self.assertIn("the peer ended the connection", error)

    def test_SESS_8_david_hangs(self):
        """Before a session, when he does not take the memory, and within one."""
        with self.local() as david:
            david.hang()
            self.slip(*self.charlie_command(david.endpoint, "--timeout", LIMITS_S[0]), status=1,
                      says=["the shared memory was not taken: the peer did not act in time"])
            david.process.send_signal(signal.SIGCONT)
            self.assert_served(david.endpoint)
            for _ in range(8):
                with self.begun(david, "--patience", LIMITS_S[0]) as process:
                    david.hang()
                    _, error = process.communicate(timeout=LIMIT_S)
                    david.process.send_signal(signal.SIGCONT)
                if process.returncode != 0:
                    break
            self.assertIn("the peer did not act in time", error)
            self.assert_served(david.endpoint)

    def test_charlie_is_killed(self):
        with self.local("--max-sessions", "2") as david:
            for _ in range(3):
                with self.begun(david) as process:
                    process.kill()
            self.assert_served(david.endpoint)

    def test_a_signal_to_stop_ends_sessions(self):
        with self.local() as david, socket.socket(socket.AF_UNIX) as silent:
            silent.connect(str(self.folder / "david.socket"))
            self.assertEqual(david.stop()[0], 0)
            with contextlib.suppress(ConnectionResetError):  # where he was not accepted before
                self.assertEqual(silent.recv(1), b"")


if __name__ == "__main__":
    unittest.main()
