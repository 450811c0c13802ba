"""The program tasks: what it prints for models whose answers are known."""
# test: once, studies

import json
import os
import unittest

from slip_system import ROOT, SHARED, STORIES260K, STORIES_TEXT, TINYSTORIES, SystemTest, run

SORTER = SHARED / "data/models/gpt-nano-sort"
CNN = SHARED / "data/cnn"
IMAGES = ("--images", CNN / "mnist-1000-images.idx3-ubyte",
          "--labels", CNN / "mnist-1000-labels.idx1-ubyte")
STORY = ("{0} was a little {1}. {0} loved to run in the park. One day, {0} saw a big dog. "
         "{0} went home to his mom and told her about the {1}.\n\n")
STORIES = "".join(STORY.format(name, thing) for name, thing in [
    ("Tom", "boy"), ("Ben", "cat"), ("Max", "bird"), ("Sam", "bear"), ("Tim", "fish")])


class Tasks:
    def measure(self, task, model, *arguments):
        result = run("tasks", "--task", task, "--model", model, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        self.assertEqual(found["experiment"], "tasks")
        self.assertEqual(found["settings"]["task"], task)
        accuracy, (low, high) = found["result"]["accuracy"], found["result"]["interval"]
        self.assertEqual(accuracy, found["result"]["correct"] / found["result"]["items"])
        self.assertTrue(0 <= low <= accuracy <= high <= 1, found)
        return found

    def stories(self):
        path = self.folder / "stories.txt"
        path.write_text(STORIES)
        return path


class TasksOfTheBundledModel(Tasks, SystemTest):
    def test_MODEL_12_a_cloze_of_stories(self):
        found = self.measure("cloze", TINYSTORIES, "--text", self.stories(), "--items", 5)
        self.assertEqual(found["result"]["items"], 5)
        self.assertEqual(found["result"]["chance"], 0.25)
        # Each ending names the hero of its story and what he is.
        self.assertGreaterEqual(found["result"]["correct"], 4)

    def test_LIN_4_the_protocol_answers_as_the_integer_model(self):
        arguments = ("--text", self.stories(), "--items", 5, "--rank", 16)
        unsplit = self.measure("cloze", TINYSTORIES, "--engine", "unsplit", *arguments)
        hybrid = self.measure("cloze", TINYSTORIES, "--engine", "hybrid", *arguments)
        self.assertEqual(unsplit["result"], hybrid["result"])
        self.assertEqual(hybrid["settings"]["rank"], 16)
        self.assertEqual(hybrid["settings"]["strategy"], "lsc")

    def test_MODEL_12_a_question_of_a_file_is_right_or_wrong(self):
        questions = self.folder / "questions.jsonl"
        context = "Question: What do you drink? "
        for gold, correct in [(0, 1), (1, 0)]:
            questions.write_text(json.dumps({"query": context, "gold": gold, "choices": [
                "He drinks water.", "xq zv"]}) + "\n")
            found = self.measure("arc-easy", TINYSTORIES, "--questions", questions)
            self.assertEqual(found["result"]["correct"], correct)
            self.assertEqual(found["result"]["chance"], 0.5)

    def test_CONV_4_bad_input_is_named(self):
        stories = ("--text", self.stories())
        for arguments, says in [
                ((), "--task"),
                (("--task", "chess", "--model", TINYSTORIES), "--task 'chess'"),
                (("--task", "cloze", "--model", TINYSTORIES), "--text"),
                (("--task", "cloze", "--model", TINYSTORIES, *stories),
                 "stories.txt: the text has 5 stories"),
                (("--task", "cloze", "--model", TINYSTORIES, *stories, "--engine", "share"), "--rank"),
                (("--task", "cloze", "--model", TINYSTORIES, *stories, "--rank", "2"), "--rank"),
                (("--task", "cloze", "--model", TINYSTORIES, *stories, "--engine", "magic",
                  "--rank", "2"), "--engine 'magic'"),
                (("--task", "sorting", "--model", TINYSTORIES), "3 tokens"),
                (("--task", "mnist", "--model", "/absent", *IMAGES), "/absent")]:
            result = run("tasks", *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertEqual(result.stdout, "")
            self.assertIn(says, result.stderr)


class SortingIds(SystemTest):
    def examples(self, count, seed):
        out = self.folder / "ids"
        result = run("sorting_ids", "--examples", count, "--seed", seed, "--out", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        ids = [int(word) for word in out.read_text().split()]
        return [(tuple(ids[at:at + 6]), ids[at + 6:at + 12]) for at in range(0, len(ids), 12)]

    def test_examples_are_inputs_and_their_letters_in_order(self):
        everything = self.examples(729, 1)
        self.assertEqual(len({letters for letters, _ in everything}), 729)
        for letters, after in everything:
            self.assertEqual(after, sorted(letters))
        self.assertEqual(self.examples(30, 1), self.examples(30, 1))
        self.assertNotEqual(self.examples(30, 1), self.examples(30, 2))

    def test_bad_input_is_named(self):
        out = self.folder / "none"
        for arguments, says in [(("--examples", 0, "--out", out), "--examples '0': expected a whole number"),
                                (("--examples", 730, "--out", out), "expected a whole number, 1 to 729"),
                                (("--examples", 3), "--out is missing"),
                                (("--out", out), "--examples is missing")]:
            result = run("sorting_ids", *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(says, result.stderr)
        self.assertFalse(out.exists())


@unittest.skipUnless(SORTER.is_dir(), "the shared data are not there")
class TasksOfSharedModels(Tasks, SystemTest):
    def test_sorting_needs_the_whole_model(self):
        whole = self.measure("sorting", SORTER)["result"]
        self.assertEqual((whole["correct"], whole["items"]), (729, 729))
        hybrid = self.measure("sorting", SORTER, "--engine", "hybrid", "--rank", 4)["result"]
        self.assertEqual(hybrid["correct"], 729)
        share = self.measure("sorting", SORTER, "--engine", "share", "--rank", 4)["result"]
        self.assertLess(share["interval"][1], 0.5)

    def test_CNN_6_images_need_the_whole_network(self):
        model = CNN / "mnist.onnx"
        found = self.measure("mnist", model, *IMAGES, "--items", 300)
        said = self.slip("eval", "--model", model, "--engine", "float", *IMAGES, "--limit", 300,
                         "--json").stdout
        self.assertEqual(found["result"]["correct"], json.loads(said)["correct"])
        self.assertGreater(found["result"]["accuracy"], 0.95)
        share = self.measure("mnist", model, *IMAGES, "--items", 300, "--engine", "share",
                             "--rank", 2)["result"]
        self.assertLess(share["interval"][1], found["result"]["interval"][0])

    def assert_same(self, found, expected):
        """Singular vectors have other last bits on other machines, which may tip an item in a hundred."""
        self.assertEqual(found["items"], expected["items"])
        self.assertAlmostEqual(found["accuracy"], expected["accuracy"], delta=0.01)

    def test_committed_results_are_what_the_programs_find(self):
        for name in ["tasks-sorting-gpt-nano-sort-share-k4", "tasks-mnist-share-k1"]:
            committed = json.loads((ROOT / f"experiments/results/{name}.json").read_text())
            arguments = [word.replace("{shared}", str(SHARED)) for word in committed["command"]]
            result = run(*arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assert_same(json.loads(result.stdout)["result"], committed["result"])

    def test_CNN_5_a_committed_point_of_the_split_of_convolutions(self):
        name = "convolution-split-mnist.json"
        committed = json.loads((ROOT / "experiments/results" / name).read_text())["result"]["points"]
        result = run("convolution-split", "--model", CNN / "mnist.onnx", *IMAGES, "--matrix", "kernel",
                     "--share", "0.125")
        self.assertEqual(result.returncode, 0, result.stderr)
        points = json.loads(result.stdout)["result"]["points"]
        self.assertEqual([point["layers"] for point in points], ["all", "convolutions"])
        for point in points:
            (expected,) = [other for other in committed
                           if all(other[key] == point[key] for key in ("matrix", "layers", "share"))]
            self.assertEqual(point["charlie_multiplications"], expected["charlie_multiplications"])
            self.assert_same(point, expected)

    def test_MODEL_12_the_answers_are_those_of_slip_eval(self):
        questions = SHARED / "data/eval/hellaswag-500.txt"
        found = self.measure("hellaswag", STORIES260K, "--questions", questions, "--items", 20)
        said = json.loads(self.slip("eval", "--model", STORIES260K, "--engine", "float",
                                    "--choices", questions, "--limit", 20, "--json").stdout)
        self.assertEqual(found["result"]["accuracy"], said["accuracy_norm"])
        self.assertEqual(found["result"]["by_sum"]["accuracy"], said["accuracy"])

    @unittest.skipUnless("SLIP_FULL" in os.environ, "half a minute: SLIP_FULL=1")
    def test_the_cloze_of_the_validation_stories_is_above_chance(self):
        found = self.measure("cloze", STORIES260K, "--text", STORIES_TEXT, "--items", 300)
        self.assertGreater(found["result"]["interval"][0], found["result"]["chance"])


if __name__ == "__main__":
    unittest.main()
