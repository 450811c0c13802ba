"""The figures and the page: what is measured is drawn, what is not is named, and the same results give the
same bytes."""
# test: once

import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from slip_system import BUILD, ROOT, SystemTest

sys.path[:0] = [str(ROOT / "experiments"), str(ROOT / "tools")]

from checks import figures as figures_check  # noqa: E402
from figures import chart, statistics  # noqa: E402
from figures.catalogue import figures_of  # noqa: E402
from figures.chart import Axis, Panel, Point, Series  # noqa: E402
from figures.collection import Collection  # noqa: E402
from figures.figure import number  # noqa: E402
from figures.findings import findings_of  # noqa: E402
from figures.page import page  # noqa: E402

MACHINE = {"processor": "an <odd> processor", "cores": 2}


class Measured:
    """A folder of lists and results that a test fills."""

    def __init__(self, root):
        self.root, self.entries = root, {}
        (root / "results").mkdir(parents=True)
        (root / "runs").mkdir()

    def add(self, name, experiment, result, settings=None, needs=(), model="m", seed=None, run=True,
            words=()):
        """A listed run, and its result unless `run` is false."""
        self.entries[name] = (f'[[run]]\nname = "{name}"\ncommand = {json.dumps(["program", name, *words])}\n'
                              f"seconds = 1\nneeds = {json.dumps(list(needs))}\n")
        (self.root / "runs/list.toml").write_text("".join(self.entries.values()))
        if run:
            found = {"experiment": experiment, "model": {"name": model}, "settings": settings or {},
                     "seed": seed, "result": result, "command": ["program", name, *words],
                     "needs": {need: ["program", need] for need in needs}, "duration_s": 1.5,
                     "processor_s": 1.25, "machine": MACHINE, "threads": 1}
            (self.root / f"results/{name}.json").write_text(json.dumps(found))

    def add_attack(self, strategy, attacker, seed, restored, labels="public", rank=4, epsilon=0.1, plan="",
                   found=None, name="restoration", tokens=1000, public_tokens=50000):
        share = f"share-{strategy}-{plan or rank}-{seed}"
        self.add(share, "share", {} if epsilon is None else {"epsilon_online": epsilon},
                 {"plan": plan} if plan else {"rank": str(rank)}, seed=seed)
        settings = {"strategy": strategy, "rank": rank, "known": "embeddings-and-norms", "labels": labels,
                    "attacker": attacker, "public_tokens": public_tokens}
        result = {"perplexity": {"original": 4.0, "share": 1000.0, "restored": restored},
                  "parameters_trained": 8320, "tokens": tokens}
        result |= {} if found is None else {"spans_found": found}
        name = f"{name}-{strategy}-{plan or rank}-{attacker}-{labels}-{tokens}-{seed}"
        self.add(name, "restoration", result, settings, [share], seed=seed)

    def collection(self):
        return Collection(self.root / "runs", self.root / "results")

    def figures(self):
        return {figure.name: figure for figure in figures_of(self.collection())}


def decay_result(values):
    return {"layer_types": [{"name": "q", "m": 4, "n": 4, "mean": values, "least": values, "most": values}]}


def costs_points(costs):
    """A run of `costs` by rank."""
    return [{"rank": rank, "tokens": 1, "epsilon_online": online, "attention_share": 0.0,
             "epsilon_online_with_attention": 0.2, "epsilon_total": 3.0}
            for rank, online in costs]


class Figures(SystemTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.measured = Measured(pathlib.Path(folder.name) / "experiments")

    def test_intervals_are_those_of_a_hand(self):
        middle, low, high = statistics.interval([1.0, 2.0, 6.0])
        # s^2 = (4 + 1 + 9) / 2 = 7; t(2) = 4.3027
        self.assertAlmostEqual(middle, 3.0)
        self.assertAlmostEqual(high - middle, 4.3027 * math.sqrt(7 / 3), 3)
        self.assertAlmostEqual(middle - low, high - middle)
        self.assertEqual(statistics.interval([5.0]), (5.0, None, None))

    def test_quantiles_leave_a_fortieth_above(self):
        for freedom, quantile in enumerate(statistics.QUANTILES, 1):
            constant = math.gamma((freedom + 1) / 2) / math.sqrt(freedom * math.pi) / math.gamma(freedom / 2)
            steps = 4000  # Simpson's rule from 0 to the quantile
            width = quantile / steps
            inside = sum((1 if i in (0, steps) else 4 if i % 2 else 2)
                         * (1 + (i * width) ** 2 / freedom) ** (-(freedom + 1) / 2) for i in range(steps + 1))
            self.assertAlmostEqual(0.5 - constant * inside * width / 3, 0.025, 5, freedom)

    def test_what_is_not_measured_is_named_and_not_drawn(self):
        self.measured.add("decay-a", "decay", decay_result([1.0, 0.5, 0.25, 0.1]))
        self.measured.add("decay-b", "decay", decay_result([1.0]), run=False)
        figure = self.measured.figures()["decay"]
        self.assertEqual((len(figure.panels), figure.missing), (1, ("decay-b",)))
        self.assertIn("decay-b", figure.note())
        path = self.measured.root / "results/decay-a.json"
        path.write_text(path.read_text().replace('"program", "decay-a"', '"program", "other"'))
        figure = self.measured.figures()["decay"]
        self.assertEqual((figure.panels, figure.missing), ((), ("decay-a", "decay-b")))

    def test_attackers_are_gathered_over_seeds(self):
        for seed, restored in [(1, 5.0), (2, 6.0), (3, 7.0)]:
            self.measured.add_attack("lsc", "core", seed, restored)
            self.measured.add_attack("lsc", "lora", seed, 13.0)
            self.measured.add_attack("rcs", "core", seed, 2.0 * restored)
            self.measured.add_attack("lsc", "core", seed, 1.5 * restored, rank=8, epsilon=0.2)
            self.measured.add_attack("lsc", "core", seed, restored, labels="queries-64")
            self.measured.add_attack("lsc", "random-start", seed, 18.0, labels="queries-64")
            self.measured.add_attack("lsc", "core", seed, 4.5, labels="logits-64")
            self.measured.add_attack("lsc", "core", seed, 50.0, name="data-500", public_tokens=500)
            self.measured.add_attack("rcs", "random-start", seed, 17.0)
        figures = self.measured.figures()
        (panel,) = figures["strategies"].panels
        self.assertEqual(panel.x.names, ("LSC", "RCS"))
        series = {each.label: each.points for each in panel.series}
        self.assertEqual(list(series), ["David's share", "LoRA", "core"])
        self.assertEqual([(point.x, point.y) for point in series["core"]], [(0, 6.0), (1, 12.0)])
        self.assertAlmostEqual(series["core"][0].high - 6.0, 4.3027 / math.sqrt(3), 3)
        self.assertEqual(panel.references, (("the model itself", 4.0), ("random start", 17.0)))
        (panel,) = figures["plans"].panels
        core = next(each for each in panel.series if each.label == "core")
        self.assertEqual([(round(point.x, 6), point.y) for point in core.points], [(80.0, 9.0), (90.0, 6.0)])
        (panel,) = figures["queries"].panels
        self.assertEqual([(each.label, each.points[0].x) for each in panel.series],
                         [("queries alone", 64), ("share, core", 64), ("share, core, logits", 64)])
        panel = figures["data"].panels[0]
        (core,) = (each for each in panel.series if each.label == "core")
        self.assertEqual([(point.x, point.y) for point in core.points], [(500, 50.0), (50000, 6.0)])
        rows = figures["strategies"].rows
        self.assertIn("1, 2, 3", {row[-1] for row in rows})

    def test_replacements_of_the_span_are_compared_with_lsc(self):
        for strategy, restored in [("lsc", 5.0), ("rcs", 8.0), ("random-core", 9.0)]:
            self.measured.add_attack(strategy, "core", 1, restored)
        figures = self.measured.figures()
        self.assertEqual(figures["strategies"].panels[0].x.names, ("LSC", "RCS"))
        self.assertEqual(figures["spans"].panels[0].x.names, ("LSC", "random-core"))

    def test_who_searches_for_a_span_is_drawn_and_who_is_told_is_no_attacker(self):
        self.measured.add_attack("lsc", "core", 1, 5.0)
        self.measured.add_attack("tilted", "full", 1, 13.0)   # of whom the findings say nothing
        self.measured.add_attack("random-core", "lora", 1, 14.0)
        self.measured.add_attack("random-core", "core-movement", 1, 12.0, found=0.25)
        self.measured.add_attack("random-core", "core-told", 1, 6.0, found=1.0)
        figures = self.measured.figures()
        (panel,) = figures["spans"].panels
        self.assertEqual([each.label for each in panel.series],
                         ["David's share", "LoRA", "full fine-tuning", "core", "core, by movement",
                          "core, told"])
        self.assertEqual({row[-1] for row in figures["spans"].rows}, {"", "0.25", "1"})
        (text,) = [each for each in findings_of(self.measured.collection()) if "Hiding" in each]
        self.assertIn("random-core on m, k = 4, leaves the best attacker at 12 (core, by movement) where LSC "
                      "leaves him at 5, and the searches find at most 0.25 of the spans", text)
        self.assertNotIn("tilted", text)

    def test_the_hidden_half_is_compared_with_uniform_residues_seed_by_seed(self):
        for seed, start in [(1, 20.0), (2, 21.0), (3, 22.0)]:
            self.measured.add_attack("hidden", "random-start", seed, start, epsilon=None)
            self.measured.add_attack("hidden", "full", seed, start + 1.0 + seed, epsilon=None)
            self.measured.add_attack("uniform", "full", seed, start + 2.0, epsilon=None)
            self.measured.add_attack("hidden-small", "full", seed, start - 0.5, epsilon=None)
            self.measured.add_attack("uniform-small", "full", seed, start - 0.75, epsilon=None)
            self.measured.add_attack("hidden", "core", seed, start, labels="queries-64", epsilon=None)
            self.measured.add_attack("lsc", "full", seed, 9.0)
        figures = self.measured.figures()
        panel, answers = figures["hidden"].panels
        self.assertEqual([each.title for each in (panel, answers)],
                         ["m, public text, 1,000 tokens", "m, queries-64, 1,000 tokens"])
        self.assertEqual(panel.x.names, ("full fine-tuning",))
        middles = [point.y for each in panel.series for point in each.points]
        self.assertEqual(middles, [24.0, 20.5, 23.0, 20.25])
        self.assertEqual(panel.references, (("the model itself", 4.0), ("random start", 21.0)))
        # 0, 1 and 2 more than uniform residues: s = 1, t(2) / sqrt(3) = 2.484.
        told, small = [row for row in figures["hidden"].rows if row[3] == "full fine-tuning"]
        self.assertEqual(told[6:], ("1 (-1.484 to 3.484)", "3 (0.5158 to 5.484)", "1, 2, 3"))
        self.assertEqual(small[6:], ("0.25 (0.25 to 0.25)", "-0.5 (-0.5 to -0.5)", "1, 2, 3"))
        for other in ("spans", "queries", "strategies", "plans"):
            self.assertFalse(other in figures and figures[other].panels, other)
        (text,) = [each for each in findings_of(self.measured.collection()) if "hidden split" in each]
        self.assertIn("on m by public text 1 (full fine-tuning, -1.5 to 3.5) and 0.25 (full "
                      "fine-tuning, small rows, 0.25 to 0.25)", text)

    def test_the_hidden_split_stands_among_the_plans_at_its_own_cost(self):
        for attacker in ("core", "lora", "full"):
            self.measured.add_attack("lsc", attacker, 1, 6.0)
            self.measured.add_attack("hidden", attacker, 1, 21.0, rank=16, epsilon=None)
        self.measured.add_attack("hidden-small", "full", 1, 20.0, rank=16, epsilon=None)
        self.measured.add("costs-m-rank", "costs", {"points": costs_points([(4, 0.25), (16, 0.5)])})
        (hidden,) = costs_points([(None, 30.0)])
        del hidden["rank"]
        self.measured.add("costs-m-hidden", "costs", {"points": [hidden | {"set": "hidden"}]})
        figure = self.measured.figures()["tradeoff"]
        self.assertEqual({series.label: series.points for series in figure.panels[0].series},
                         {"a plan, its best attacker": (Point(0.25, 1.5),),
                          "the hidden split, its best attacker": (Point(30.0, 5.0),)})
        self.assertIn(("m", "hidden", "1", "30"), [row[:4] for row in self.measured.figures()["costs"].rows])

    def test_fms_stands_beside_lsc_though_a_plan_names_its_matrices(self):
        for strategy in ("lsc", "rcs"):
            self.measured.add_attack(strategy, "core", 1, 5.0)
        self.measured.add_attack("fms", "core", 1, 8.0, rank=64, plan="whole")
        (panel,) = self.measured.figures()["strategies"].panels
        self.assertEqual(panel.x.names, ("LSC", "RCS", "FMS"))

    def test_planned_ranks_are_compared_at_equal_offload(self):
        for attacker, planned, uniform in [("core", 9.0, 6.0), ("lora", 12.0, 13.0)]:
            self.measured.add_attack("lsc", attacker, 1, planned, rank=40, plan="wise", epsilon=0.101)
            self.measured.add_attack("lsc", attacker, 1, uniform, rank=8, epsilon=0.2)
            self.measured.add_attack("lsc", attacker, 1, uniform)
        figures = self.measured.figures()
        (panel,) = figures["planned"].panels
        self.assertEqual(panel.x.names, ("k = 4 everywhere", "planned ranks"))
        core = next(each for each in panel.series if each.label == "core")
        self.assertEqual([(point.x, point.y) for point in core.points], [(0, 6.0), (1, 9.0)])
        (panel,) = figures["plans"].panels
        self.assertEqual([len(each.points) for each in panel.series], [2, 2, 2])
        (text,) = [each for each in findings_of(self.measured.collection()) if "Planned" in each]
        self.assertIn("protects more than k = 4 everywhere at equal offload: the best attacker reaches 9 "
                      "(core) against 6 (core)", text)
        for plan in ({"rank": 40, "plan": "wise", "epsilon": 0.101}, {}):
            self.measured.add_attack("lsc", "full", 1, 5.5, **plan)
        (text,) = [each for each in findings_of(self.measured.collection()) if "Planned" in each]
        self.assertIn("does not protect more than k = 4 everywhere", text)

    def test_who_reads_more_is_not_compared_with_who_reads_less(self):
        for strategy in ("lsc", "rcs"):
            self.measured.add_attack(strategy, "core", 1, 8.0)
        self.measured.add_attack("lsc", "core", 1, 5.0, tokens=4000)
        (panel,) = self.measured.figures()["strategies"].panels
        self.assertEqual(panel.title, "m, 1,000 tokens, k = 4")
        self.assertEqual([point.y for point in panel.series[1].points], [8.0, 8.0])

    def test_other_learning_rates_and_later_rounds_are_not_drawn(self):
        for strategy in ("lsc", "rcs"):
            self.measured.add_attack(strategy, "core", 1, 5.0)
            self.measured.add_attack(strategy, "core", 9, 50.0, name="tuning")
            self.measured.add_attack(strategy, "core", 8, 2.0, name="again")
        (panel,) = self.measured.figures()["strategies"].panels
        self.assertEqual([point.y for point in panel.series[1].points], [5.0, 5.0])

    def test_a_plan_is_worth_what_its_best_attacker_leaves(self):
        for seed in (1, 2):
            self.measured.add_attack("lsc", "core", seed, 6.0)
            self.measured.add_attack("lsc", "lora", seed, 13.0)
            self.measured.add_attack("lsc", "full", seed, 15.0)
            self.measured.add_attack("lsc", "random-start", seed, 20.0)
            self.measured.add_attack("lsc", "core", seed, 9.0, rank=16)  # alone, and so not the best
            for attacker in ("core", "lora", "full"):
                self.measured.add_attack("lsc", attacker, seed, 9.0, rank=8)
        self.measured.add("costs-m-rank", "costs", {"points": costs_points([(4, 0.25), (16, 0.5)])})
        figure = self.measured.figures()["tradeoff"]
        (panel,) = figure.panels
        self.assertEqual(panel.series[0].points, (Point(0.25, 1.5),))
        self.assertEqual(panel.references[1], ("random start", 5.0))
        self.assertEqual(figure.missing, ("the cost of m, LSC, k = 8",))

    def test_planned_ranks_stand_among_the_plans_at_their_own_cost(self):
        for attacker in ("core", "lora", "full"):
            self.measured.add_attack("lsc", attacker, 1, 6.0)
            self.measured.add_attack("lsc", attacker, 1, 10.0, rank=40, plan="wise")
            self.measured.add_attack("lsc", attacker, 1, 11.0, rank=40, plan="dear")
        self.measured.add("costs-m-rank", "costs", {"points": costs_points([(4, 0.25), (40, 0.75)])})
        (planned,) = costs_points([(None, 0.5)])
        del planned["rank"]
        self.measured.add("costs-m-wise", "costs", {"points": [planned]},
                          words=("--plan", "{root}/wise.json"))
        figure = self.measured.figures()["tradeoff"]
        self.assertEqual({series.label: series.points for series in figure.panels[0].series},
                         {"a plan, its best attacker": (Point(0.25, 1.5),),
                          "planned ranks": (Point(0.5, 2.5),)})
        self.assertEqual(figure.missing, ("the cost of m, LSC, planned ranks up to 40",))

    def test_accuracy_has_wilsons_interval_or_the_spread_of_draws(self):
        def add(name, engine, accuracy, draw):
            self.measured.add(name, "tasks", {"items": 10, "accuracy": accuracy, "chance": 0.25,
                                              "interval": [accuracy - 0.1, accuracy + 0.2]},
                              {"task": "cloze", "engine": engine, "draw": draw})

        add("tasks-a", "float", 0.5, 1)
        for draw, accuracy in enumerate([0.2, 0.3, 0.4]):
            add(f"tasks-b{draw}", "hybrid", accuracy, draw)
        (panel,) = self.measured.figures()["tasks"].panels
        one, several, chance = (each.points[0] for each in panel.series)
        self.assertEqual([(round(each.y, 6), len(series.points)) for each, series
                          in zip((one, several, chance), panel.series)], [(50, 1), (30, 1), (25, 1)])
        self.assertEqual((round(one.low, 6), round(one.high, 6)), (40, 70))
        self.assertAlmostEqual(several.high - several.y, 4.3027 * 10 / math.sqrt(3), 2)

    def test_findings_say_what_the_results_say(self):
        self.assertEqual(findings_of(self.measured_with("bypass-a", [9.0, 2.0, 5.0])), [
            "The paper's order of blocks by perplexity, first, last, middle, holds for m (9 without the "
            "first block, 5 without the last, 2 on average without one between, 1.5 whole)."])
        (broken,) = findings_of(self.measured_with("bypass-a", [9.0, 6.0, 5.0]))
        self.assertIn("does not hold for m", broken)
        for seed in (1, 2):
            self.measured.add_attack("lsc", "core", seed, 6.0)
            self.measured.add_attack("lsc", "lora", seed, 13.0)
            self.measured.add_attack("lsc", "full", seed, 14.0)
            self.measured.add_attack("rcs", "core", seed, 9.0)
            self.measured.add_attack("rcs", "lora", seed, 8.0)
            self.measured.add_attack("lsc", "random-start", seed, 20.0)
        text = " ".join(findings_of(self.measured.collection()))
        for part in ("better than LoRA on 1 of 1 plans", "LoRA reaches 13, the core 6, and the model has 4",
                     "on m LSC is the safest against LoRA and RCS against the best attacker (8)"):
            self.assertIn(part, text)
        self.assertNotIn("safe and efficient", text)
        self.measured.add("costs-m-rank", "costs", {"points": costs_points([(4, 0.25), (16, 0.5)])})
        text = " ".join(findings_of(self.measured.collection()))
        self.assertIn("None of 1 plans is both safe and efficient: the nearest, m with LSC, k = 4, costs "
                      "ε_online = 0.25 and leaves its best attacker at 1.5 times", text)
        for seed in (1, 2):
            for attacker in ("core", "lora", "full"):
                self.measured.add_attack("lsc", attacker, seed, 19.0, rank=16)
        text = " ".join(findings_of(self.measured.collection()))
        self.assertIn("1 of 2 plans leave the best attacker", text)
        self.assertIn("the cheapest is m with LSC, k = 16, at ε_online = 0.5", text)
        # The same plan after longer attacks is one plan, and what they restore counts.
        for seed in (1, 2):
            for attacker, restored in (("core", 6.0), ("lora", 19.0), ("full", 19.0), ("random-start", 18.0)):
                self.measured.add_attack("lsc", attacker, seed, restored, rank=16, tokens=9000)
        self.assertIn("None of 2 plans is both safe", " ".join(findings_of(self.measured.collection())))

    def measured_with(self, name, perplexities):
        positions = [{"center": i, "perplexity": value} for i, value in enumerate(perplexities)]
        self.measured.add(name, "bypass", {"baseline": 1.5, "windows": [
            {"blocks": 1, "positions": positions}]})
        return self.measured.collection()

    def test_the_same_results_give_the_same_bytes(self):
        panel = Panel("a < b", Axis("x", log=True), Axis("y", log=True),
                      (Series("s & t", (Point(1, 3.0, -1.0, 9.0), Point(10, 2000.0))),), (("level", 5.0),))
        text = chart.standalone([panel, panel])
        self.assertEqual(text, chart.standalone([panel, panel]))
        root = xml.etree.ElementTree.fromstring(text)
        space = "{http://www.w3.org/2000/svg}"
        words = [element.text for element in root.iter(f"{space}text")]
        for word in ("a < b", "s & t", "level", "x", "y", "1", "10", "1,000"):
            self.assertIn(word, words)
        marks = [element for element in root.iter(f"{space}path") if "mark" in element.get("class")]
        bars = [element for element in root.iter(f"{space}path") if "bar" in element.get("class")]
        self.assertEqual(len(bars), 2)
        self.assertEqual(len(marks), 2 * 3)  # two points and a key of the legend, in each panel
        numbers = [float(value) for element in root.iter() for key in ("d", "x", "y") if element.get(key)
                   for value in re.findall(r"-?\d+(?:\.\d+)?", element.get(key))]
        self.assertTrue(all(abs(value) < 2000 for value in numbers))

    def test_ticks_lie_within_the_axis(self):
        for low, high, log in [(0, 1, False), (3, 3.1, False), (4, 6, True), (3, 3e10, True),
                               (0.05, 2, True)]:
            scale = chart.Scale(Axis("", log=log), [low, high], 0, 100, ())
            places = [scale(value) for value, _ in scale.ticks()]
            self.assertTrue(2 <= len(places) <= 8, (low, high, scale.ticks()))
            self.assertTrue(all(-0.1 <= place <= 100.1 for place in places))
            self.assertEqual(len({label for _, label in scale.ticks()}), len(places))

    def test_numbers_in_tables(self):
        for value, text in [(0.0, "0"), (1234567, "1,234,567"), (0.0456789, "0.04568"), (1234.56, "1,235"),
                            (2.4352768e10, "2.435e+10"), (5.0, "5")]:
            self.assertEqual(number(value), text)

    def test_the_page_escapes_and_needs_nothing_else(self):
        self.measured.add("decay-a", "decay", decay_result([1.0, 0.5, 0.25, 0.1]), model="<b>")
        out = self.measured.root / "page.html"
        command = [sys.executable, ROOT / "experiments/report", "--runs", self.measured.root / "runs",
                   "--results", self.measured.root / "results", "--out", out]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        text = out.read_text()
        self.assertIn("an &lt;odd&gt; processor", text)
        self.assertNotIn("<b>,", text)
        self.assertIn("&lt;b&gt;", text)
        for wrong in ("<script", "http://", "https://", "src=", "@import"):
            self.assertNotIn(wrong, text)
        result = subprocess.run([*command[:-1], "/proc/none/x"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("slip report: error: /proc/none/x: ", result.stderr)

    def test_the_page_of_quick_runs_says_what_it_skips(self):
        for name in ("decay-a", "decay-b"):
            self.measured.add(name, "decay", decay_result([1.0, 0.5]), run=False)
        path = self.measured.root / "runs/list.toml"
        path.write_text(path.read_text().replace('"program", "decay-b"', '"program", "{shared}/b"'))
        for shared, note in [
                (self.measured.root / "none", "Not measured, and so not drawn: decay-a. Skipped, because "
                 "they need data that is not in the repository: decay-b."),
                (self.measured.root, "Not measured, and so not drawn: decay-a, decay-b.")]:
            collection = Collection(self.measured.root / "runs", self.measured.root / "results", True, shared)
            text = page(figures_of(collection), collection)
            self.assertIn(note, text)
            self.assertIn("These are quick runs", text)
        own = self.measured.collection()
        self.assertNotIn("quick runs", page(figures_of(own), own))

    def test_the_page_lists_attacks_and_those_that_succeed_first(self):
        self.measured.add_attack("lsc", "core", 1, 5.5)
        outcome = {"error": 0.25, "threshold": 0.5, "queries": 1200, "seconds": 1.0}
        fails = {**outcome, "error": 0.75, "succeeded": False}
        attacks = self.measured.root / "attacks.json"
        attacks.write_text(json.dumps([
            {"name": name, "rule": "MASK-1", "measure": "a distance", "twin": twin, "paper": paper,
             "hidden": hidden}
            for name, twin, paper, hidden in [
                ("stopped", outcome | {"succeeded": True}, fails, None),
                ("hidden", outcome | {"succeeded": True}, None, fails),
                ("unstopped", None, outcome | {"succeeded": True, "note": "k < 8"}, fails)]]))
        out = self.measured.root / "page.html"
        command = [sys.executable, ROOT / "experiments/report", "--runs", self.measured.root / "runs",
                   "--results", self.measured.root / "results", "--out", out, "--attacks"]
        subprocess.run([*command, attacks], check=True, stdout=subprocess.DEVNULL)
        table = out.read_text().split('<section id="attacks">')[1].split("</section>")[0]
        rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", table)[1:]]
        self.assertEqual([row[0].split(":")[0].split(",")[0] for row in rows],
                         ["unstopped", "core on m", "stopped", "hidden"])
        self.assertEqual(rows[0][2:], ["", "succeeds: error 0.25, threshold 0.5, 1,200 queries; k &lt; 8",
                                       "fails: error 0.75, threshold 0.5, 1,200 queries"])
        self.assertTrue(rows[1][3].startswith("5.5, where David"), rows[1])
        self.assertEqual([cell.split(":")[0] for cell in rows[2][2:]], ["succeeds", "fails", ""])
        self.assertEqual([cell.split(":")[0] for cell in rows[3][2:]], ["succeeds", "", "fails"])
        subprocess.run([*command, attacks.with_stem("none")], check=True, stdout=subprocess.DEVNULL)
        self.assertIn("core on m", out.read_text())

    def test_slip_report_is_this_script(self):
        out = self.measured.root / "page.html"
        self.measured.add("decay-a", "decay", decay_result([1.0, 0.5, 0.25, 0.1]))
        self.slip("report", "--runs", self.measured.root / "runs", "--results",
                  self.measured.root / "results", "--out", out)
        self.assertIn("What SLIP protects", out.read_text())
        alone = self.folder / "slip"
        shutil.copy(BUILD / "slip", alone)
        result = subprocess.run([alone, "report"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("slip-report is not installed", result.stderr)

    def test_the_check_refuses_figures_of_other_results(self):
        self.measured.add("decay-a", "decay", decay_result([1.0, 0.5, 0.25, 0.1]))
        root = self.measured.root.parent
        self.assertIn("decay.svg: is not what the results give", figures_check.check(root)[0])
        subprocess.run([sys.executable, ROOT / "experiments/report", "--svg", "--runs",
                        self.measured.root / "runs", "--results", self.measured.root / "results"], check=True)
        self.assertEqual(figures_check.check(root), [])
        path = self.measured.root / "results/decay-a.json"
        path.write_text(path.read_text().replace("0.25", "0.35"))
        self.assertEqual(len(figures_check.check(root)), 1)
        path.rename(path.with_stem("stranger"))
        self.assertIn("stranger.json: belongs to no run", figures_check.check(root)[0])
        (self.measured.root / "runs/list.toml").write_text("[[run]]\n")
        self.assertIn("list.toml: run", figures_check.check(root)[0])


if __name__ == "__main__":
    unittest.main()
