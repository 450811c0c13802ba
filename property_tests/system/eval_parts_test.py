"""`slip eval --part I/N --results DIR`: parts together say what one process says, bit for bit, and a part
that is missing, damaged or of another evaluation is refused with its name."""
# test: once

import json
import os
import stat
import subprocess
import unittest

from cnn_test import write_images, write_network
from slip_system import TINYSTORIES, SystemTest

STORY = """Once upon a time, there was a little girl named Lily. She liked to play in the park with her dog.
One day, her dog found a big red ball. Lily was happy. She threw the ball and the dog ran after it. "Lily,
it is time to go home," said her mom. Lily gave her dog a hug and they went home together. The end.
"""
QUESTIONS = [("Lily saw a big red ball. She", 0, ["ran to it.", "ate the sky.", "of of.", "purple seven."]),
             ("The dog was sad because", 2, ["blue blue.", "the the.", "it was lost.", "car under."]),
             ("Tom and Mom went home. They were", 1, ["a of.", "very happy.", "was is.", "table run."])]


class PartsTest(SystemTest):
    def evaluation(self, name, *command):
        """(command of all parts, folder of their results) under this name."""
        results = self.folder / name
        return ["eval", *command, "--results", results], results

    def run_parts(self, command, count, order=None):
        for number in order or range(1, count + 1):
            said = self.slip(*command, "--part", f"{number}/{count}").stdout
            self.assertEqual(said, f"finished part {number} of {count}; when all are, run the same command "
                                   "without --part\n")

    def assert_same(self, name, count, *command, order=None):
        """As a table and as JSON."""
        parted, results = self.evaluation(name, *command)
        self.run_parts(parted, count, order)
        for json_too in ([], ["--json"]):
            self.assertEqual(self.slip(*parted, *json_too).stdout,
                             self.slip("eval", *command, *json_too).stdout)
        self.assertEqual(sorted(os.listdir(results)), sorted(f"part-{i}-of-{count}.json"
                                                             for i in range(1, count + 1)))
        for file in results.iterdir():
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600, file)


class EvaluatedText(PartsTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = cls.folder / "text"
        cls.text.write_text(STORY)
        cls.windows = ["--model", TINYSTORIES, "--text", cls.text, "--window", "16", "--stride", "8"]

    def refused_after(self, name, change, says):
        """Two parts of three, then `change(command, results)`; the whole is refused."""
        command, results = self.evaluation(name, *self.windows)
        self.run_parts(command, 3)
        change(command, results)
        self.refused(*command, says=[str(results), *says])
        return command

    def test_MODEL_12_parts_say_what_one_process_says(self):
        self.assert_same("three", 3, *self.windows, order=(3, 1, 2))
        self.assert_same("one", 1, *self.windows, "--max-tokens", "40")

    def test_MODEL_12_parts_of_an_artifact(self):
        artifact, audit = self.folder / "artifact", self.folder / "audit"
        self.slip("split", "--model", TINYSTORIES, "--out", artifact, "--audit", audit)
        short = ["--artifact", artifact, "--text", self.text, "--window", "8", "--max-tokens", "24"]
        self.assert_same("hybrid", 2, *short)
        command, results = self.evaluation("hybrid", *short)
        self.refused(*command, "--engine", "unsplit", "--audit", audit,
                     says=[f"{results}/part-1-of-2.json", 'another engine: "hybrid", not "unsplit"'])

    def test_a_part_that_is_missing_is_named_and_made_again(self):
        command = self.refused_after("missing", lambda _, results: (results / "part-2-of-3.json").unlink(),
                                     ["part-2-of-3.json: is missing; run --part 2/3 again"])
        self.run_parts(command, 3, [2])
        self.assertEqual(self.slip(*command).stdout, self.slip("eval", *self.windows).stdout)
        none, results = self.evaluation("none", *self.windows)
        self.refused(*none, says=[f"{results}: holds no part's result"])

    def test_a_part_that_is_cut_off_or_changed_is_named_and_made_again(self):
        def cut(_, results):
            os.truncate(results / "part-1-of-3.json", 100)

        def change(_, results):
            file = results / "part-3-of-3.json"
            file.write_text(file.read_text().replace('"total":', '"total" :1'))

        def lie(_, results):
            file = results / "part-3-of-3.json"
            content = json.loads(file.read_text())
            content["values"][0] += 1
            file.write_text(json.dumps(content))

        for name, damage, part in (("cut", cut, 1), ("changed", change, 3), ("false", lie, 3)):
            command = self.refused_after(name, damage,
                                         [f"part-{part}-of-3.json", f"run --part {part}/3 again"])
            self.run_parts(command, 3, [part])
            self.slip(*command)

    def test_a_part_in_the_place_of_another_is_refused(self):
        def copy(_, results):
            (results / "part-2-of-3.json").write_bytes((results / "part-1-of-3.json").read_bytes())

        self.refused_after("twice", copy, ["part-2-of-3.json: holds the result of part 1 of 3"])

    def test_parts_of_another_number_are_refused(self):
        self.refused_after("four", lambda command, _: self.run_parts(command, 4, [4]),
                           ["part-4-of-4.json", "beside those of 3"])

    def test_a_part_of_another_evaluation_is_refused(self):
        other = self.folder / "other"
        other.write_text(STORY.replace("Lily", "Anna"))
        copied = self.folder / "model"
        subprocess.run(["cp", "-r", TINYSTORIES, copied], check=True)
        weights = bytearray((copied / "model.safetensors").read_bytes())
        weights[-1] ^= 1
        (copied / "model.safetensors").write_bytes(weights)
        command, results = self.evaluation("others", *self.windows)
        for what, changed in (("text", [*self.windows[:3], other, *self.windows[4:]]),
                              ("model", ["--model", copied, *self.windows[2:]]),
                              ("stride", [*self.windows[:-1], "4"]),
                              ("window", [*self.windows[:-3], "32", "--stride", "8"]),
                              ("max-tokens", [*self.windows, "--max-tokens", "99"])):
            with self.subTest(what):
                self.run_parts(command, 3)
                (results / "part-2-of-3.json").unlink()
                self.run_parts(["eval", *changed, "--results", results], 3, [2])
                self.refused(*command, says=[f"part-2-of-3.json: was measured with another {what}",
                                             "run --part 2/3 again"])
                self.run_parts(command, 3, [2])  # it takes the place of the other one
                self.slip(*command)
                for file in results.iterdir():
                    file.unlink()

    def test_a_finished_part_is_not_measured_again(self):
        command, results = self.evaluation("again", *self.windows)
        self.run_parts(command, 2)
        before = (results / "part-1-of-2.json").stat()
        self.assertIn("had finished part 1 of 2", self.slip(*command, "--part", "1/2").stdout)
        self.assertEqual((results / "part-1-of-2.json").stat().st_mtime_ns, before.st_mtime_ns)

    def test_what_is_no_part_is_refused(self):
        command, results = self.evaluation("wrong", *self.windows)
        for text in ("0/3", "4/3", "1", "1/", "/3", "1/3x", "-1/3", "a/b", "1/3/3"):
            self.refused(*command, "--part", text, says=["--part", "I/N"])
        self.refused(*command, "--part", "1/999", says=["--part 1/999: expected at most"])
        self.assertEqual(os.listdir(results), [])
        self.refused("eval", *self.windows, "--part", "1/2", says=["--part", "--results"])
        self.refused("eval", *self.windows, "--part", "1/2", "--results", self.text, says=[str(self.text)])


class EvaluatedItems(PartsTest):
    def test_MODEL_12_questions(self):
        file = self.folder / "questions"
        file.write_text("".join("\n".join([context, str(right), *endings]) + "\n"
                                for context, right, endings in QUESTIONS))
        asked = ["--model", TINYSTORIES, "--choices", file]
        self.assert_same("all", 2, *asked)
        self.assert_same("few", 2, *asked, "--limit", "2")
        command, _ = self.evaluation("few", *asked, "--limit", "3")
        self.refused(*command, says=["part-1-of-2.json: was measured with another limit: 2, not 3"])

    def test_CNN_6_images(self):
        network = write_network(self.folder / "network.onnx")
        shown = ["--model", network, *write_images(self.folder, 7, 9, 8)]
        self.assert_same("classes", 3, *shown)
        parted, _ = self.evaluation("logits", *shown, "--logits", "--json")
        self.run_parts(parted, 2)
        self.assertEqual(self.slip(*parted).stdout, self.slip("eval", *shown, "--logits", "--json").stdout)


if __name__ == "__main__":
    unittest.main()
