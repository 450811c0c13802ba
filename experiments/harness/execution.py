"""Runs what is missing: several runs at once, each after those that it needs."""

import collections
import ctypes
import fcntl
import os
import pathlib
import signal
import subprocess
import time

from harness.lists import PLACE, data_of
from harness.programs import NoProgram
from harness.results import BadResult, identity, is_current, parse_output, write_atomically

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
GPU = pathlib.Path("/dev/nvidia0")
# A run that takes this many times as long as was measured, and at least LEAST_LIMIT_S, hangs; on a
# machine that others use, twenty times as long was seen.
LIMIT_FACTOR, LEAST_LIMIT_S = 100, 3600
POLL_S = 0.05
# `seconds` are measured on one core, and several runs share a machine.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# OpenBLAS multiplies with SSE3, three times slower, on a processor newer than itself, unless it is told the
# name of an older one with the same instructions.
BLAS_CORES = {"avx512vl": "SkylakeX", "avx2": "Haswell"}


def processor(key):
    """What /proc/cpuinfo says of the first core, or nothing."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), "")


def environment():
    """Of a run; what the user has set of BLAS holds."""
    flags = processor("flags").split()
    cores = [core for flag, core in BLAS_CORES.items() if flag in flags]
    named = {"OPENBLAS_CORETYPE": cores[0]} if cores else {}
    return named | os.environ | ENVIRONMENT


def machine():
    """The processor's name and how many cores there are."""
    return {"processor": processor("model name") or "unknown", "cores": os.cpu_count()}


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """One run under way. Its output goes to files, which nobody takes for a result."""

    def __init__(self, run, command, folder, cwd, lock):
        self.run, self.lock, self.hung = run, lock, False
        self.output, self.log = folder / f"{run.name}.out", folder / f"{run.name}.log"
        self.started = time.monotonic()
        with self.output.open("w") as output, self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=log, cwd=cwd,
                env=environment(), start_new_session=True, preexec_fn=die_with_parent)

    def seconds(self):
        return time.monotonic() - self.started

    def wait(self, options=0):
        """True once it has ended; then its processor time is known."""
        pid, status, usage = os.wait4(self.process.pid, options)
        if pid == 0:
            return False
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.processor_seconds = usage.ru_utime + usage.ru_stime
        return True

    def ended(self):
        """True once it has ended by itself, or was stopped because it hangs."""
        if self.wait(os.WNOHANG):
            return True
        if self.seconds() > max(LEAST_LIMIT_S, LIMIT_FACTOR * self.run.seconds):
            self.stop()
            self.hung = True
            return True
        return False

    def stop(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.wait()

    def result(self):
        """What the program printed. Throws BadResult, with the end of its messages."""
        if self.hung:
            raise BadResult(f"stopped after {self.seconds():.0f} s; {self.run.seconds:g} s are listed")
        status = self.process.returncode
        if status != 0:
            last = self.log.read_text(errors="replace").strip().splitlines()[-3:]
            how = f"signal {-status}" if status < 0 else f"status {status}"
            raise BadResult(": ".join([f"ended with {how}", *last]))
        return parse_output(self.output.read_text(errors="replace"))


class Execution:
    """`results` and `work` are folders, `say` takes a line for the user. The files that a run leaves
    in `work` are there if work/made/NAME.json is current. What reads {shared} is skipped where there is no
    such folder, and what needs a GPU where there is none."""

    def __init__(self, runs, programs, places, results, jobs, say):
        self.runs, self.programs, self.places = runs, programs, places
        self.results, self.work, self.jobs, self.say = results, places["work"], jobs, say
        self.waiting, self.running = collections.OrderedDict(), {}
        self.failed, self.finished, self.skipped = {}, [], []
        self.measured = self.expected = 0.0

    def result_path(self, run):
        return self.results / f"{run.name}.json"

    def stamp_path(self, run):
        return self.work / "made" / f"{run.name}.json"

    def has_result(self, run):
        return is_current(self.result_path(run), run, self.runs)

    def has_files(self, run):
        return is_current(self.stamp_path(run), run, self.runs)

    def ask_for(self, selected):
        """What is missing of `selected` is to be run, with what it needs and is not in `work`."""
        wanted = set()

        def require_files(name):
            if name not in wanted and not self.has_files(self.runs[name]):
                wanted.add(name)
                for need in self.runs[name].needs:
                    require_files(need)

        for run in selected:
            if not self.has_result(run):
                wanted.add(run.name)
                for need in run.needs:
                    require_files(need)
        self.waiting = collections.OrderedDict(
            (name, run) for name, run in self.runs.items() if name in wanted)
        if not self.places["shared"].is_dir():
            self.skip(lambda run: data_of(run, self.runs))
        if not GPU.exists():
            self.skip(lambda run: run.gpu and "an NVIDIA GPU")

    def skip(self, lacks):
        """What needs something that is not here; `lacks` names it."""
        for run in list(self.waiting.values()):
            what = lacks(run)
            if what:
                del self.waiting[run.name]
                self.skipped.append(run.name)
                self.say(f"skipped {run.name}: {what} is not here")

    def command_of(self, run):
        places = self.places
        words = [PLACE.sub(lambda match: str(places[match[1]]), word) for word in run.command]
        return [self.programs.path(words[0]), *words[1:]]

    def take_lock(self, run):
        """A file that only one process holds, or None: another runner is at this run."""
        path = self.work / "made" / f"{run.name}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return None
        return lock

    def fail(self, run, why):
        self.failed[run.name] = why
        self.say(f"FAILED  {run.name}: {why}")

    def is_ready(self, run):
        return not any(need in self.waiting or need in self.running for need in run.needs)

    def begin(self, run):
        """Starts a run whose needs are there; False if another runner is at it."""
        broken = [need for need in run.needs if need in self.failed]
        if broken:
            self.fail(run, f"not run, because it needs {broken[0]}")
            return True
        lock = self.take_lock(run)
        if lock is None:
            return False
        if self.has_result(run) and self.has_files(run):  # another runner has made it
            lock.close()
            return True
        try:
            command = self.command_of(run)
            folder = self.work / "output"
            folder.mkdir(parents=True, exist_ok=True)
            self.running[run.name] = Process(run, command, folder, self.places["root"], lock)
        except (NoProgram, OSError) as error:
            lock.close()
            self.fail(run, str(error))
        return True

    def start_what_is_ready(self):
        for run in [run for run in self.waiting.values() if self.is_ready(run)]:
            if len(self.running) >= self.jobs:
                return
            if self.begin(run):
                del self.waiting[run.name]

    def finish(self, process):
        run, seconds = process.run, process.seconds()
        try:
            found = process.result()
        except BadResult as error:
            self.fail(run, f"{error} (see {process.log})")
            return
        who = identity(run, self.runs)
        if not self.has_result(run):  # it may have run for its files alone
            write_atomically(self.result_path(run), found | who | {
                "duration_s": round(seconds, 2),
                "processor_s": round(process.processor_seconds, 2),
                "machine": machine(), "threads": 1})
        write_atomically(self.stamp_path(run), who)
        process.output.unlink()
        self.finished.append(run.name)
        self.measured += seconds
        self.expected += run.seconds
        self.say(f"done    {run.name}: {seconds:.1f} s ({run.seconds:g} s expected); "
                 f"{self.remaining()}")

    def remaining(self):
        """In words; as long as expected, times how much longer the finished runs took."""
        left = sum(run.seconds for run in self.waiting.values())
        left += sum(max(0.0, process.run.seconds - process.seconds())
                    for process in self.running.values())
        count = len(self.waiting) + len(self.running)
        if self.expected > 0:
            left *= self.measured / self.expected
        return f"{count} left, about {left / self.jobs / 60:.1f} min"

    def collect(self):
        for name, process in list(self.running.items()):
            if process.ended():
                del self.running[name]
                try:
                    self.finish(process)
                finally:
                    process.lock.close()

    def execute(self):
        """Until nothing is left; True if every run has succeeded."""
        self.say(f"{self.remaining()} on {self.jobs} core{'s' if self.jobs > 1 else ''}")
        try:
            while self.waiting or self.running:
                self.start_what_is_ready()
                self.collect()
                time.sleep(POLL_S)
        finally:
            for process in self.running.values():
                process.stop()
        return not self.failed
