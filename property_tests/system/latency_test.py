"""`slip latency`: the paper's tables, as printed and as its formulas give them."""
# test: once, studies

import json
import unittest

from slip_system import SystemTest


class Latency(SystemTest):
    def cells(self, *flags):
        table = json.loads(self.slip("latency", "--json", *flags).stdout)
        return table, {cell["name"]: cell for cell in table["performance"]}

    def test_LAT_7_the_papers_total_stands_beside_the_corrected_ones(self):
        text = self.slip("latency").stdout
        totals = [line for line in text.splitlines() if "Total latency" in line]
        self.assertEqual(len(totals), 3)
        for line, corrected in zip(totals, ["3142.98", "8042.98", "25282.05"]):
            self.assertIn("222.31", line)
            self.assertIn(corrected, line)
        self.assertIn("one layer and one token", totals[0])
        self.assertIn("18,481,152", text)

    def test_LAT_7_the_configuration_and_the_device_that_the_paper_names_have_columns(self):
        lines = self.slip("latency").stdout.splitlines()
        efficiency = next(line for line in lines if line.split()[:1] == ["Efficiency"])
        self.assertEqual(efficiency.split()[1:5], ["1.50", "1.54", "3.83", "1.54"])
        edge = next(line for line in lines if "Compute edge latency" in line)
        self.assertEqual(edge.split()[3:7], ["150.34", "150.34", "150.34", "2548.08"])
        _, cells = self.cells()
        self.assertAlmostEqual(cells["Efficiency"]["readings"]["k = 200"], 3.8257, places=4)

    def test_LAT_7_every_cell_that_differs_says_why(self):
        table, cells = self.cells()
        self.assertEqual(cells["Input transfer"]["corrected"], 18481152)
        for cell in table["performance"]:
            self.assertEqual(cell["agrees"], cell["why"] == "", cell)
        self.assertEqual(len(table["offload_percent"]), 6)
        self.assertEqual(len(table["phases_of_a_layer"]), 9)

    def test_LAT_6_parameters_come_from_the_command_line(self):
        _, paper = self.cells()
        _, twice = self.cells("--delay-ms", "70", "--bandwidth-mb", "12.5")
        name = "Transfer latency, a delay a message"
        self.assertAlmostEqual(twice[name]["corrected"], 2 * paper[name]["corrected"], places=6)
        _, half = self.cells("--edge-tflops", "8")
        name = "Compute edge latency"
        self.assertAlmostEqual(half[name]["corrected"], paper[name]["corrected"] / 2, places=9)

    def test_CONV_4_wrong_parameters_are_named(self):
        for flags in (["--layers", "0"], ["--layers", "1.5"], ["--utilization", "0"],
                      ["--delay-ms", "-1"], ["--rank", "x"], ["--oops", "1"],
                      ["--layers", "3", "--decomposed", "4"]):
            self.refused("latency", *flags, says=[flags[-2]])


if __name__ == "__main__":
    unittest.main()
