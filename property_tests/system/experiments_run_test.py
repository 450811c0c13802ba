"""experiments/run: it resumes, redoes what is out of date, leaves no half result, and refuses wrong lists."""
# test: once

import fnmatch
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import unittest
from unittest import mock

from slip_system import ROOT, SystemTest

sys.path.insert(0, str(ROOT / "experiments"))

from figures.catalogue import FIGURES  # noqa: E402
from figures.collection import Collection  # noqa: E402
from figures.restoration import STRATEGIES  # noqa: E402
from harness import execution, results  # noqa: E402
from harness.execution import Execution  # noqa: E402
from harness.lists import BadList, Run, data_of, part_of, read_lists  # noqa: E402
from harness.programs import Programs  # noqa: E402
from harness.results import BadResult, parse_output, write_atomically  # noqa: E402

# A program under measurement: notes that it was called, then does what its words say.
PROGRAM = f"#!{sys.executable}\n" + """\
import json, os, pathlib, sys, time
words = sys.argv[1:]
name = words.pop(0)
with open(os.path.join(os.path.dirname(__file__), "calls"), "a") as calls:
    calls.write(name + "\\n")
while words:
    word = words.pop(0)
    if word == "fail":
        sys.exit("it went wrong")
    if word == "half":
        print('{"experiment": "x", "mod', flush=True)
        sys.exit(0)
    if word == "hang":
        print('{"experiment": "x", "mod', flush=True)
        pathlib.Path(words.pop(0)).write_text(str(os.getpid()))
        time.sleep(600)
    if word == "leave":
        pathlib.Path(words.pop(0)).write_text(name)
    if word == "find":
        pathlib.Path(words.pop(0)).read_text()
print(json.dumps({"experiment": "x", "model": {"name": "m"}, "settings": {"name": name}, "result": {"y": 1}}))
"""


def entry(name, *words, **more):
    """A [[run]] of a list; the values of `more` are as TOML writes them."""
    fields = {"name": json.dumps(name), "seconds": "0.1",
              "command": json.dumps(["program", name, *words])} | more
    return "[[run]]\n" + "".join(f"{key} = {value}\n" for key, value in fields.items())


class ExperimentsRun(SystemTest):
    def setUp(self):
        self.home = self.folder / self.id().rsplit(".", 1)[1]
        for name in ("runs", "programs"):
            (self.home / name).mkdir(parents=True)
        program = self.home / "programs/program"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        # ctest names a folder of data that need not exist; the runner refuses one that a user names.
        environment = {key: value for key, value in os.environ.items() if key != "SLIP_SHARED_DIR"}
        patch = mock.patch.dict(os.environ, environment, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def write_list(self, *entries, name="list"):
        (self.home / f"runs/{name}.toml").write_text("\n".join(entries))

    def command(self, *extra, work="work"):
        return [str(ROOT / "experiments/run"), "--runs", str(self.home / "runs"),
                "--programs", str(self.home / "programs"), "--results", str(self.home / "results"),
                "--work", str(self.home / work), "--jobs", "2", *extra]

    def run_lists(self, *extra, status=0, work="work"):
        result = subprocess.run(self.command(*extra, work=work), capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def calls(self):
        """What the program was called for since the last time."""
        path = self.home / "programs/calls"
        found = path.read_text().split() if path.is_file() else []
        path.unlink(missing_ok=True)
        return sorted(found)

    def results(self):
        """Every file in the folder of results, by name; each must be whole."""
        return {path.name: json.loads(path.read_text()) for path in (self.home / "results").iterdir()}

    def test_a_result_says_how_it_came_about(self):
        self.write_list(entry("a", "leave", "{work}/a"), entry("b", "find", "{work}/a", needs='["a"]'))
        self.run_lists()
        found = self.results()
        self.assertEqual(set(found), {"a.json", "b.json"})
        of_b = found["b.json"]
        self.assertEqual(of_b["command"], ["program", "b", "find", "{work}/a"])
        self.assertEqual(of_b["needs"], {"a": ["program", "a", "leave", "{work}/a"]})
        self.assertEqual((of_b["result"], of_b["settings"], of_b["threads"]), ({"y": 1}, {"name": "b"}, 1))
        self.assertEqual(of_b["machine"]["cores"], os.cpu_count())
        self.assertGreater(of_b["duration_s"], of_b["processor_s"] / 2)
        self.assertGreater(of_b["processor_s"], 0)

    def test_what_is_killed_is_resumed(self):
        pid_file = self.home / "pid"
        self.write_list(entry("a"), entry("b", "hang", str(pid_file), needs='["a"]'),
                        entry("c", needs='["b"]'))
        runner = subprocess.Popen(self.command(), stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not (pid_file.is_file() and pid_file.read_text()) and time.monotonic() < deadline:
            time.sleep(0.02)
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        self.assertEqual(set(self.results()), {"a.json"})
        child = int(pid_file.read_text())
        while pathlib.Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertFalse(pathlib.Path(f"/proc/{child}").exists(), "the run outlives its runner")
        self.assertEqual(self.calls(), ["a", "b"])
        program = self.home / "programs/program"
        program.write_text(PROGRAM.replace("time.sleep(600)", "sys.exit(3)"))
        self.run_lists(status=1)
        self.assertEqual(self.calls(), ["b"])
        program.write_text(PROGRAM.replace('word == "hang"', "False").replace(
            "print('{", "0 and print('{"))
        self.run_lists()
        self.assertEqual(self.calls(), ["b", "c"])
        self.assertEqual(set(self.results()), {"a.json", "b.json", "c.json"})
        self.run_lists()
        self.assertEqual(self.calls(), [])

    def test_another_command_is_redone_with_all_that_needs_it(self):
        self.write_list(entry("a"), entry("b", needs='["a"]'), entry("c", needs='["b"]'), entry("d"))
        self.run_lists()
        self.calls()
        self.write_list(entry("a", "again"), entry("b", needs='["a"]'), entry("c", needs='["b"]'),
                        entry("d"))
        self.assertEqual(self.run_lists("--list").stdout.count("out of date"), 3)
        self.run_lists()
        self.assertEqual(self.calls(), ["a", "b", "c"])
        self.assertEqual(self.results()["a.json"]["command"], ["program", "a", "again"])

    def test_files_that_a_run_needs_are_made_again_but_their_result_stays(self):
        self.write_list(entry("a", "leave", "{work}/a"))
        self.run_lists()
        before = (self.home / "results/a.json").read_bytes()
        self.calls()
        self.write_list(entry("a", "leave", "{work}/a"), entry("b", "find", "{work}/a", needs='["a"]'))
        self.run_lists(work="elsewhere")
        self.assertEqual(self.calls(), ["a", "b"])
        self.assertEqual((self.home / "results/a.json").read_bytes(), before)

    def test_a_run_that_fails_stops_only_what_needs_it(self):
        self.write_list(entry("a", "fail"), entry("b", needs='["a"]'), entry("c"), entry("d", "half"),
                        '[[run]]\nname = "e"\nseconds = 1\ncommand = ["stranger"]\n')
        said = self.run_lists(status=1).stderr
        self.assertEqual(set(self.results()), {"c.json"})
        self.assertEqual(self.calls(), ["a", "c", "d"])
        for text in ("a: ended with status 1: it went wrong", "b: not run, because it needs a",
                     "d: expected one JSON object", "no program 'stranger'", "1 runs done, 4 failed"):
            self.assertIn(text, said)

    def test_parts_and_patterns(self):
        self.write_list(*(entry(f"r{i}", seconds=str(i + 1)) for i in range(7)))
        lists = [self.run_lists("--list", "--part", f"{i}/3").stdout for i in (1, 2, 3)]
        listed = [{line.split()[0] for line in text.splitlines() if re.match(r"r\d", line)} for text in lists]
        self.assertEqual(sorted(name for part in listed for name in part), [f"r{i}" for i in range(7)])
        self.run_lists("--only", "r[25]")
        self.assertEqual(self.calls(), ["r2", "r5"])
        self.assertIn("no run's name matches", self.run_lists("--only", "s*", status=2).stderr)
        for wrong in ("0/3", "4/3", "1", "x/y"):
            self.assertIn("expected I/N", self.run_lists("--part", wrong, status=2).stderr)

    def test_wrong_lists_are_refused(self):
        for said, *entries in [
                ("unknown key 'speed'", entry("a", speed="1")),
                ("'seconds' is missing", '[[run]]\nname = "a"\ncommand = ["program"]\n'),
                ("'seconds' must be a measured time", entry("a", seconds="0")),
                ("unknown key 'quick'", entry("a", quick="true")),
                ("'seconds' has the wrong type", entry("a", seconds="true")),
                ("'gpu' has the wrong type", entry("a", gpu="1")),
                ("'command' must be a list of words", entry("a", command='["program", 3]')),
                ("unknown place {home}", entry("a", "{home}/x")),
                ("a name has letters", entry("a/../b")),
                ("the name 'a' is taken", entry("a"), entry("a", "other")),
                ("run 'a' needs 'ghost', which does not exist", entry("a", needs='["ghost"]')),
                ("runs need each other", entry("a", needs='["b"]'), entry("b", needs='["a"]')),
                ("all runs take 600 minutes on 2 cores; at most 360", entry("a", seconds="72000")),
                ("list.toml: ", "[[run\n"),
                ("expected tables [[run]]", "[other]\n")]:
            with self.subTest(said):
                self.write_list(*entries)
                self.assertIn(said, self.run_lists(status=2).stderr)
                self.assertEqual(self.calls(), [])
        self.write_list(entry("a", seconds="6000"))
        self.assertIn("the quick runs take 50 minutes on 2 cores; at most 4",
                      self.run_lists("--quick", status=2).stderr)

    def test_a_folder_of_data_that_the_user_names_must_exist(self):
        self.write_list(entry("a", "find", "{shared}/x"))
        with mock.patch.dict(os.environ, {"SLIP_SHARED_DIR": str(self.home / "none")}):
            self.assertIn("SLIP_SHARED_DIR: expected a folder", self.run_lists(status=2).stderr)
        self.assertEqual(self.calls(), [])


class Harness(SystemTest):
    def test_parts_are_disjoint_and_cover(self):
        runs = [Run(f"r{i}", ("x",), 1.0 + i * i % 17) for i in range(40)]
        for count in (1, 2, 3, 7, 41):
            parts = [part_of(runs, index, count) for index in range(1, count + 1)]
            self.assertEqual(sorted(run.name for part in parts for run in part),
                             sorted(run.name for run in runs))
            loads = [sum(run.seconds for run in part) for part in parts]
            self.assertLessEqual(max(loads) - min(loads), 17)

    def test_a_file_is_written_whole_or_not_at_all(self):
        path = self.folder / "result.json"
        write_atomically(path, {"a": 1})
        with mock.patch.object(results.os, "fsync", side_effect=OSError("the disk is full")):
            with self.assertRaises(OSError):
                write_atomically(path, {"a": 2})
        self.assertEqual(json.loads(path.read_text()), {"a": 1})
        self.assertEqual([found.name for found in self.folder.iterdir()], ["result.json"])

    def test_what_is_no_result_is_refused(self):
        right = {"experiment": "x", "model": {}, "settings": {}, "result": {}}
        self.assertEqual(parse_output(json.dumps(right)), right)
        for wrong in ({key: value for key, value in right.items() if key != "model"},
                      right | {"duration_s": 1}, right | {"result": 3}, right | {"experiment": None},
                      right | {"result": {"y": float("nan")}}, [right]):
            with self.assertRaises(BadResult, msg=str(wrong)):
                parse_output(json.dumps(wrong))

    def skipping(self, shared, gpu):
        """(runs that are asked for, skipped runs, what is said) of four runs, where {shared} is `shared`
        and a GPU would be the file `gpu`."""
        runs = {run.name: run for run in [Run("a", ("x", "{shared}/y"), 1.0), Run("b", ("x",), 1.0, ("a",)),
                                          Run("c", ("x", "{work}/y"), 1.0), Run("d", ("x",), 1.0, gpu=True)]}
        said = []
        self.enterContext(mock.patch.object(execution, "GPU", gpu))
        asked = Execution(runs, None, {"root": ROOT, "shared": shared, "work": self.folder / "work"},
                          self.folder / "none", 1, said.append)
        asked.ask_for(runs.values())
        return list(asked.waiting), asked.skipped, said

    def test_runs_are_skipped_only_where_the_folder_of_data_is_absent(self):
        waiting, skipped, said = self.skipping(self.folder / "absent", self.folder)
        self.assertEqual((waiting, skipped), (["c", "d"], ["a", "b"]))
        self.assertEqual(said[0], "skipped a: {shared}/y is not here")
        # A file that is missing in a folder that is there is a failure of its run.
        self.assertEqual(self.skipping(self.folder, self.folder), (["a", "b", "c", "d"], [], []))

    def test_runs_that_need_a_gpu_are_skipped_where_there_is_none(self):
        self.assertEqual(self.skipping(self.folder, self.folder / "absent"),
                         (["a", "b", "c"], ["d"], ["skipped d: an NVIDIA GPU is not here"]))
        listed = read_lists(ROOT / "experiments/runs").values()
        self.assertEqual({run.origin for run in listed if run.gpu}, {"gpu.toml"})
        self.assertTrue(all(run.gpu for run in listed if run.origin == "gpu.toml"))

    def test_the_quick_runs_need_nothing_but_the_repository(self):
        runs = read_lists(ROOT / "experiments/runs/quick", quick=True)
        with_data = {name for name, run in runs.items() if data_of(run, runs)}
        self.assertEqual({name.split("-")[1] for name in with_data},
                         {"split", "mnist", "sorting", "hellaswag", "arc"})
        programs = tomllib.loads((ROOT / "experiments/programs.toml").read_text())["build"]
        known = {program for build in programs for program in build["programs"]}
        for run in runs.values():
            self.assertIn(run.command[0], known)
            for word in run.command:
                if word.startswith("{root}/"):
                    self.assertTrue(pathlib.Path(word.replace("{root}", str(ROOT))).exists(), word)

    def test_a_build_that_began_without_libtorch_is_configured_again(self):
        root = self.folder / "root"
        self.addCleanup(shutil.rmtree, root)
        programs = Programs(root, ROOT / "experiments/programs.toml")
        for build in programs.builds:
            cache = root / build["folder"] / "CMakeCache.txt"
            cache.parent.mkdir(parents=True)
            for value in ("", "SLIP_SAFETY:BOOL=OFF\n", "SLIP_SAFETY:BOOL=ON\n"):
                cache.write_text(f"# Cache\n{value}SLIP_TESTS:BOOL=OFF\n")
                again = "-DSLIP_SAFETY=ON" in build["configure"] and "=ON" not in value
                commands = programs.commands_to_build(build, {"slip"})
                self.assertEqual(commands[:-1], [build["configure"]] if again else [], value)

    def test_every_figure_has_quick_runs(self):
        collection = Collection(ROOT / "experiments/runs/quick", self.folder / "none", True)
        lacking = {figure.__name__ for figure in FIGURES if not figure(collection).missing}
        self.assertEqual(lacking, set())
        for pattern in ("restoration-*-random-start-*", "restoration-*-plan5-core-*", "queries-*",
                        "data-*", "spans-*-told-*", "tasks-cloze-*",
                        *(f"restoration-*-{strategy}-*" for strategy in STRATEGIES)):
            self.assertTrue(fnmatch.filter(collection.runs, pattern), pattern)

    def test_the_committed_lists_are_right(self):
        runs = read_lists(ROOT / "experiments/runs")
        self.assertGreater(len(runs), 0)
        with self.assertRaises(BadList):
            read_lists(self.folder)


if __name__ == "__main__":
    unittest.main()
