"""deploy/slurm on a real Slurm of one node, which the test starts in a folder of its own: job arrays split,
evaluate, attack and measure in parts, and the job after each array has the result of one process. In
./test --full."""
# test: once

import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from slip_system import BUILD, LIMIT_S, ROOT, STORIES_TEXT, TINYSTORIES, SystemTest
from large_test import same_for_all

SBIN = os.environ["PATH"] + ":/usr/sbin"
SLURM = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol")
# Of the user who runs the test, with three processors wherever it is. A task that goes back to the queue may
# start again after `cred_expire` seconds.
CONFIGURATION = """
ClusterName=slip
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,sched_min_interval=0,batch_sched_delay=0
KillWait=2
MinJobAge=3600
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=3 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in listeners]


def groups_finished(partial):
    try:
        return (partial / "groups.txt").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


class Cluster:
    """munged, slurmctld and slurmd as this user, of this machine as the only node."""

    def __init__(self):
        self.stack = contextlib.ExitStack()
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="slip-slurm-"))
        self.folder = pathlib.Path(folder)
        self.environment = os.environ | {"PATH": SBIN, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def start(self):
        for name, mode in (("", 0o711), ("munge", 0o711), ("state", 0o700), ("spool", 0o755)):
            (self.folder / name).mkdir(exist_ok=True)
            (self.folder / name).chmod(mode)
        munge = self.folder / "munge"
        (munge / "key").write_bytes(os.urandom(128))
        (munge / "key").chmod(0o600)
        self.daemon("munged", "--foreground", f"--key-file={munge}/key", f"--socket={munge}/socket",
                    f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        self.wait_for(lambda: (munge / "socket").exists())
        controller, daemon = free_ports(2)
        host = socket.gethostname().split(".")[0]
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, user=subprocess.check_output(["id", "-un"], text=True).strip(), folder=self.folder,
            controller=controller, daemon=daemon))
        self.daemon("slurmctld", "-D", "-i")
        self.daemon("slurmd", "-D", "-N", host)
        self.wait_for(lambda: "idle" in self.said("sinfo", "--noheader", "--format=%T"))
        return self

    def daemon(self, *command):
        log = self.stack.enter_context((self.folder / f"{command[0]}.out").open("w"))
        process = subprocess.Popen(command, stdout=log, stderr=log, env=self.environment)
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)

    def stop(self):
        self.said("scancel", "--user", str(os.getuid()), "--signal=KILL")
        self.stack.close()

    def wait_for(self, condition, limit=120):
        deadline = time.monotonic() + limit
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError("\n".join(
                    f"{path.name}: {path.read_text(errors='replace')[-2000:]}"
                    for path in sorted(self.folder.glob("*.out"))))
            time.sleep(0.1)

    def said(self, *command, cwd=None):
        """What a command of Slurm prints; empty if it fails."""
        return subprocess.run(list(map(str, command)), env=self.environment, cwd=cwd, text=True,
                              capture_output=True, timeout=LIMIT_S).stdout

    def state(self, job):
        """Of a job, or of all tasks of an array: the set of their states."""
        return set(re.findall(r"JobState=(\w+)", self.said("scontrol", "show", "job", job)))


@unittest.skipUnless("SLIP_FULL" in os.environ, "a cluster is started in ./test --full")
@unittest.skipUnless(all(shutil.which(program, path=SBIN) for program in SLURM), "Slurm is not installed")
class Slurm(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def submit(self, parts, *command):
        """(array's number, number of the job after it)."""
        said = self.cluster.said(ROOT / "deploy/slurm/array", parts, "--cpus-per-task=1", "--", *command,
                                 cwd=self.folder)
        found = re.fullmatch(r"parts: job (\d+), merged by job (\d+)\n", said)
        self.assertIsNotNone(found, said)
        return found.groups()

    def output(self, job):
        path = self.folder / f"slurm-{job}.out"
        return path.read_text(errors="replace") if path.is_file() else ""

    def ended(self, job):
        """Waits for a job; returns (its state, what it has printed)."""
        self.cluster.wait_for(lambda: not self.cluster.state(job) & {"PENDING", "RUNNING", "COMPLETING"},
                              LIMIT_S)
        return self.cluster.state(job), self.output(job)

    def merged(self, array, job):
        """What the job after an array has printed, if all has gone well."""
        state, said = self.ended(job)
        tasks = "".join(path.read_text() for path in sorted(self.folder.glob(f"slurm-{array}_*.out")))
        self.assertEqual(state, {"COMPLETED"}, tasks + said)
        return said

    def test_DECO_11_a_split_of_which_slurm_kills_a_task_and_runs_it_again(self):
        out, partial = self.folder / "split", self.folder / ".split.slip-partial"
        array, job = self.submit(3, BUILD / "slip", "split", "--model", TINYSTORIES, "--threads", "1",
                                 "--out", out, "--audit", self.folder / "audit")
        self.cluster.wait_for(lambda: groups_finished(partial) > 0)
        self.cluster.said("scontrol", "requeue", f"{array}_2")
        self.merged(array, job)
        shown = self.cluster.said("scontrol", "show", "job", f"{array}_2")
        self.assertIn("Restarts=1", shown)
        self.assertIn("finished part 2 of 3", self.output(f"{array}_2"))
        self.assertFalse(partial.exists())
        self.slip("check", out)
        tail = ["--prompt", "Once upon a time", "--max-tokens", "8"]
        hybrid, logits = self.generate("hybrid", "--artifact", out, *tail)
        unsplit, expected = self.generate("unsplit", "--artifact", out, "--engine", "unsplit", "--audit",
                                          self.folder / "audit", *tail)
        self.assertEqual((hybrid["ids"], logits), (unsplit["ids"], expected))

    def test_DECO_11_the_papers_split_has_the_bytes_of_one_process(self):
        command = ["split", "--model", TINYSTORIES, "--rank", "4"]
        array, job = self.submit(2, BUILD / "slip", *command, "--out", self.folder / "paper")
        self.assertIn("wrote ", self.merged(array, job))
        self.slip(*command, "--out", self.folder / "paper-whole")
        self.assertEqual(same_for_all(self.folder / "paper"), same_for_all(self.folder / "paper-whole"))

    def test_MODEL_12_a_perplexity(self):
        text = self.folder / "text"
        source = STORIES_TEXT if STORIES_TEXT.is_file() else TINYSTORIES / "README.md"
        text.write_text(source.read_text()[:4000])
        command = ["eval", "--model", TINYSTORIES, "--text", text, "--window", "100", "--stride", "50",
                   "--json"]
        array, job = self.submit(3, BUILD / "slip", *command, "--results", self.folder / "perplexity")
        self.assertEqual(self.merged(array, job), self.slip(*command).stdout)

    def test_attacks(self):
        command = ["attack", "retries", "--json"]
        array, job = self.submit(3, BUILD / "slip", *command, "--results", self.folder / "attacks")
        merged, whole = json.loads(self.merged(array, job)), json.loads(self.slip(*command).stdout)
        for attack in (*merged, *whole):  # keys and masks are fresh, and so are times
            for column in ("twin", "paper", "hidden"):
                self.assertGreaterEqual(attack[column].pop("seconds"), 0)
                attack[column].pop("error")
                attack[column].pop("note", None)
        self.assertEqual(merged, whole)

    def test_experiments(self):
        runs, programs = self.folder / "runs", self.folder / "programs"
        runs.mkdir()
        programs.mkdir()
        program = programs / "program"
        program.write_text("#!/bin/sh\necho '{\"experiment\": \"x\", \"model\": {}, \"settings\": {}, "
                           "\"result\": {\"y\": '$1'}}'\n")
        program.chmod(0o755)
        (runs / "list.toml").write_text("".join(
            f'[[run]]\nname = "r{i}"\ncommand = ["program", "{i}"]\nseconds = 1\n' for i in range(5)))
        array, job = self.submit(2, ROOT / "experiments/run", "--jobs", "1", "--runs", runs,
                                 "--programs", programs, "--results", self.folder / "results",
                                 "--work", self.folder / "work")
        self.assertIn("0 runs done, 0 failed", self.merged(array, job))
        found = {path.stem: json.loads(path.read_text())["result"]["y"]
                 for path in (self.folder / "results").iterdir()}
        self.assertEqual(found, {f"r{i}": i for i in range(5)})

    def test_nothing_is_merged_after_a_part_that_fails(self):
        array, job = self.submit(2, BUILD / "slip", "eval", "--model", self.folder / "none", "--text",
                                 ROOT / "README.md", "--results", self.folder / "nothing")
        self.assertEqual(self.ended(job)[0], {"CANCELLED"})
        self.assertEqual(self.cluster.state(array), {"FAILED"})
        self.assertIn("slip eval: error: ", self.output(f"{array}_1"))


if __name__ == "__main__":
    unittest.main()
