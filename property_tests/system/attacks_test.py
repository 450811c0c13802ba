"""`slip attack`: every rule has an attack that succeeds where the rule is off and fails against the
product; attacks on the paper's split that nothing stops succeed, and are expected to."""
# test: once

import json
import math
import os
import re
import unittest

from slip_system import SystemTest, run

# What succeeds against the paper's split: spec/threat-model.md, "Attacks".
SUCCEEDS = {"logits", "tied-head", "layer-oracle", "rank-one", "two-artifacts",
            "core-from-logits", "core-training", "tuned-versions", "public-base", "spans-8-bits", "schedule"}
# Decided by the times of computations, so no test asserts the verdict.
TIMED = {"float-times", "secret-times"}
# No rule is known that would stop these, and they fail.
MEASURED = {"grid-fp8", "grid-8-bits", "grid-q8-0", "grid-bf16", "neighbouring-blocks"}

# What succeeds against the hidden split: nothing hides when David is asked, and how much.
SUCCEEDS_AGAINST_HIDDEN = {"schedule"}


class Attacks(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sizes = ["--full"] if "SLIP_FULL" in os.environ else []
        names = os.environ.get("SLIP_ATTACKS", "all").split(",")
        results = [run("slip", "attack", name, "--json", *sizes) for name in names]
        for result in results:
            assert result.returncode == 0, result.stderr
        cls.attacks = [attack for result in results for attack in json.loads(result.stdout)]

    def test_each_attack_succeeds_where_its_rule_is_off(self):
        for attack in self.attacks:
            with self.subTest(attack["name"]):
                if attack["twin"] is None:
                    self.assertIn(attack["name"], SUCCEEDS | MEASURED, "no rule stops it")
                elif attack["name"] not in TIMED:
                    self.assertTrue(attack["twin"]["succeeded"], attack["twin"])

    def test_what_succeeds_against_the_papers_split_is_what_the_threat_model_names(self):
        tried = {attack["name"] for attack in self.attacks if attack["paper"]} - TIMED
        found = {attack["name"] for attack in self.attacks
                 if attack["paper"] and attack["paper"]["succeeded"]} - TIMED
        self.assertEqual(found, SUCCEEDS & tried, self.attacks)

    def test_nothing_but_leakage_succeeds_against_the_hidden_split(self):
        for attack in self.attacks:
            self.assertIsNotNone(attack["hidden"], f"{attack['name']} has not been tried")
            if attack["name"] not in TIMED:
                self.assertEqual(attack["hidden"]["succeeded"], attack["name"] in SUCCEEDS_AGAINST_HIDDEN,
                                 attack)

    def test_INTEG_4_wrong_replies_pass_as_often_as_the_bound_says(self):
        for attack in self.attacks:
            if attack["name"] != "wrong-replies":
                continue
            twin = attack["twin"]  # L = 5: 4/5 are rejected
            self.assertLess(abs(twin["error"] - 0.8), 5 * math.sqrt(0.16 / twin["queries"]), twin)
            deviations = re.search(r"are accepted, (\S+) standard deviations", twin["note"])[1]
            self.assertLess(abs(float(deviations)), 5, twin)
            self.assertEqual(attack["paper"]["error"], 1)

    def test_the_products_columns_run_the_sets_that_it_offers(self):
        moduli = {"paper": 771400770593, "hidden": 175107974924611}  # paper-lattice's and hidden's
        for attack in self.attacks:
            if attack["name"] in ("wrong-replies", "composite-modulus"):
                for column, L in moduli.items():
                    self.assertIn(f"L = {L},", attack[column]["note"], attack["name"])

    def test_E_33_the_controls_fail_where_the_core_attackers_succeed(self):
        for attack in self.attacks:
            if attack["name"] in ("core-training", "core-from-logits"):
                paper = attack["paper"]
                control = float(re.search(r"the control, [^;]* reaches ([0-9.]+)", paper["note"])[1])
                self.assertLess(paper["error"], paper["threshold"])
                self.assertGreater(control, paper["threshold"], paper)

    def test_what_succeeds_comes_first(self):
        order = [attack["paper"]["succeeded"] for attack in self.attacks
                 if attack["paper"] and attack["name"] not in TIMED]
        self.assertEqual(order, sorted(order, reverse=True))

    def test_every_outcome_is_complete(self):
        for attack in self.attacks:
            self.assertTrue(attack["rule"] and attack["measure"], attack)
            for outcome in filter(None, (attack[column] for column in ("twin", "paper", "hidden"))):
                self.assertEqual(outcome["succeeded"], outcome["error"] <= outcome["threshold"])
                self.assertTrue(math.isfinite(outcome["error"]) and outcome["seconds"] >= 0)
                self.assertGreater(outcome["queries"], 0, attack)


class AttackCommand(SystemTest):
    def test_one_attack_as_a_table(self):
        text = self.slip("attack", "composite-modulus").stdout
        self.assertRegex(text, r"composite-modulus \(INTEG-3\)")
        self.assertRegex(text, r"twin +succeeds +error 0\.[45]\d+ ")
        self.assertRegex(text, r"paper +fails +error 1 ")
        self.assertRegex(text, r"hidden +fails +error 1 ")
        self.assertRegex(self.slip("attack", "wrap").stdout, r"paper +its rules are others")

    def test_one_column_alone(self):
        [attack] = json.loads(self.slip("attack", "wrap", "--column", "hidden", "--json").stdout)
        self.assertFalse(attack["hidden"]["succeeded"])
        self.assertFalse({"twin", "paper"} & set(attack))

    def test_CONV_4_bad_input_is_named(self):
        for arguments, said in ((["no-such"], "'no-such'"), ([], "name"),
                                (["retries", "--column", "third"], "'third'"),
                                (["retries", "--seed", "x"], "seed"),
                                (["retries", "--model", self.folder], str(self.folder))):
            result = run("slip", "attack", *arguments)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertEqual(result.stdout, "")
            self.assertIn(said, result.stderr)

    def test_help_names_every_attack(self):
        text = self.slip("attack", "--help").stdout
        for name in SUCCEEDS | {"retries", "mask-reuse"}:
            self.assertIn(f"  {name} ", text)


if __name__ == "__main__":
    unittest.main()
