"""deploy/prometheus: the real promtool reads it, the server has every metric that it names, and each alert
comes when it should and not before (SERVE-9)."""
# test: once

import json
import re
import shutil
import subprocess
import unittest

from serve_client import ServeTest
from slip_system import LIMIT_S, ROOT

DEPLOY = ROOT / "deploy/prometheus"
# alert: {series: its values, one per minute, when all goes wrong from the 20th minute on}
WRONG = {
    "SlipWrongReply": {"slip_rejects_total": "0+0x19 1+0x40"},
    "SlipDown": {"up": "1+0x19 0+0x40"},
    "SlipNoDavid": {"slip_serving": "1+0x19 0+0x40"},
    "SlipDefects": {"slip_defects_total": "0+0x19 3+0x40"},
    "SlipSessionsLost": {"slip_sessions_total": "1+0x19 2+1x40"},
    "SlipMasksLate": {"slip_masks_used_total": "0+100x60", "slip_masks_waited_for_total": "0+1x19 20+30x40"},
    "SlipQueue": {"slip_waiting_generations": "10+0x19 80+0x40"},
}


@unittest.skipUnless(shutil.which("promtool"), "prometheus is not installed")
class Alerts(ServeTest):
    def promtool(self, *arguments):
        done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True,
                              timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_SERVE_9_the_server_has_what_the_alerts_look_at(self):
        self.promtool("check", "config", DEPLOY / "prometheus.yml")
        rules = (DEPLOY / "alerts.yml").read_text()
        self.assertEqual(set(re.findall(r"alert: (\w+)", rules)), set(WRONG))
        with self.unsplit() as served:
            told = set(re.findall(r"^(slip_\w+) ", served.get("/metrics")[2].decode(), re.MULTILINE))
        named = set(re.findall(r"\bslip_[a-z_]+", rules))
        self.assertGreaterEqual(len(named), 7)
        self.assertEqual(named - told, set())

    def test_each_alert_comes_when_it_should(self):
        for alert, series in WRONG.items():
            labels = '{job="slip", instance="charlie"}'
            fires = f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) or vector(0)'
            tests = self.folder / f"{alert}.json"  # which YAML is, too
            tests.write_text(json.dumps({
                "rule_files": [str(DEPLOY / "alerts.yml")], "evaluation_interval": "1m",
                "tests": [{"interval": "1m",
                           "input_series": [{"series": name + labels, "values": values}
                                            for name, values in series.items()],
                           "promql_expr_test": [
                               {"expr": fires, "eval_time": when,
                                "exp_samples": [{"labels": "{}", "value": value}]}
                               for when, value in (("19m", 0), ("34m", 1))]}]}))
            self.promtool("test", "rules", tests)


if __name__ == "__main__":
    unittest.main()
