"""Charlie and David as two processes over TLS: honest, dishonest, and wrongly set up."""

import json
import signal
import socket
import unittest

from slip_system import David, SystemTest, run, write_checkpoint


class TwoProcesses(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = write_checkpoint(cls.folder / "model")
        cls.artifact = cls.folder / "artifact"
        cls.tls = cls.folder / "tls"
        split = ["split", "--model", cls.model]
        for command in [[*split, "--rank", "3", "--out", cls.artifact],
                        [*split, "--rank", "4", "--out", cls.folder / "b"],
                        ["keys", "--out", cls.tls], ["keys", "--out", cls.folder / "tls2"]]:
            result = run("slip", *command)
            assert result.returncode == 0, result.stderr
        cls.tail = ["--ids", "1,5,9", "--max-tokens", "12"]

    def david(self, *extra):
        return David(self.artifact / "david", self.tls / "david", *extra)

    def hybrid(self, david, tls="tls/charlie"):
        return ["--artifact", self.artifact, "--engine", "hybrid", "--david", david.endpoint,
                "--tls", self.folder / tls]

    def test_LIN_4_hybrid_equals_unsplit_and_sessions_follow_each_other(self):
        unsplit, unsplit_logits = self.generate("unsplit", "--artifact", self.artifact,
                                                "--engine", "unsplit", *self.tail)
        with self.david() as david:
            for name in ["first", "second"]:
                hybrid, logits = self.generate(name, *self.hybrid(david), *self.tail)
                self.assertEqual(hybrid["ids"], unsplit["ids"])
                self.assertEqual(logits, unsplit_logits)
                self.assertEqual(hybrid["checks"], hybrid["rounds"])
            status, log = david.stop()
            self.assertEqual((status, log.count("\n")), (0, 1), log)  # at start-up, and of no peer

    def test_THREAT_3_an_honest_run_prints_its_result_and_nothing_else(self):
        with self.david() as david:
            result = self.slip("generate", *self.hybrid(david), *self.tail, "--json")
            self.assertEqual(result.stderr, "")
            self.assertEqual(result.stdout.count("\n"), 1)
            david.process.send_signal(signal.SIGTERM)
            out, log = david.process.communicate()
            self.assertEqual((out, log.count("\n")), ("", 1), log)

    def test_the_log_begins_with_what_is_served(self):
        digest = json.loads((self.artifact / "david/manifest.json").read_text())["sha256"]
        flags = ["--threads", "2", "--log-format"]
        with self.david(*flags, "json") as david:
            (line,) = map(json.loads, david.stop()[1].splitlines())
        kernels = json.loads(self.slip("generate", "--artifact", self.artifact, "--engine", "unsplit",
                                       *self.tail, "--json").stdout)["kernels"]
        self.assertRegex(line.pop("time"), r"\d{4}-")
        self.assertEqual(line, {"program": "slip david", "role": "untrusted (David)", "digest": digest,
                                "ready": str(self.artifact / "david"), "set": "paper-lattice",
                                "kernels": kernels, "threads": 2, "listening": david.endpoint})
        with self.david(*flags, "text") as david:
            self.assertRegex(david.stop()[1],
                             rf' role="untrusted \(David\)" ready=\S+ digest={digest} set=\S+ '
                             rf"kernels={kernels} threads=2 listening={david.endpoint}\n$")
        self.refused("david", "--artifact", self.artifact / "david", "--tls", self.tls / "david",
                     "--log-format", "xml", says=["--log-format 'xml'"])

    def test_SIGINT_stops_david_too(self):
        with self.david() as david:
            self.assertEqual(david.stop(signal.SIGINT)[0], 0)

    def test_INTEG_6_a_dishonest_david_is_rejected(self):
        with self.david("--misbehave", "flip") as david:
            logits = self.folder / "rejected.logits"
            result = self.slip("generate", *self.hybrid(david), *self.tail, "--logits", logits,
                               "--json", status=1, says=["rejected", "integrity"])
            self.assertEqual(result.stdout, "")  # INTEG-5
            self.assertFalse(logits.exists())
        self.refused("david", "--artifact", self.artifact / "david", "--tls", self.tls / "david",
                     "--listen", "127.0.0.1:0", "--misbehave", "politely", says=["--misbehave"])

    def test_SESS_2_another_artifact_is_refused(self):
        with David(self.folder / "b/david", self.tls / "david") as david:
            self.slip("generate", *self.hybrid(david), *self.tail, status=1, says=["refuses"])

    def test_SESS_7_certificates_of_another_deployment_or_role_are_refused(self):
        with self.david() as david:
            self.slip("generate", *self.hybrid(david, "tls2/charlie"), *self.tail, status=1,
                      says=["the session with David failed"])
            # His own folder does not make anybody Charlie.
            self.refused("generate", *self.hybrid(david, "tls/david"), *self.tail,
                         says=["role charlie"])
            # He still serves those who belong to him.
            self.generate("after", *self.hybrid(david), *self.tail)

    def test_MODEL_7_david_refuses_folders_that_hold_charlies_half(self):
        for artifact in [self.artifact, self.artifact / "charlie"]:
            self.refused("david", "--artifact", artifact, "--tls", self.tls / "david", "--listen",
                         "127.0.0.1:0", says=[str(artifact)])

    def test_david_refuses_what_he_cannot_use(self):
        david = ["david", "--artifact", self.artifact / "david", "--tls"]
        self.refused(*david, self.folder / "none", "--listen", "127.0.0.1:0", says=["none"])
        self.refused(*david, self.tls / "david", "--listen", "127.0.0.1:0", "--max-sessions", "0",
                     says=["--max-sessions"])
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.refused(*david, self.tls / "david", "--listen", f"127.0.0.1:{port}",
                         says=[str(port)])

    def test_a_david_who_is_not_there(self):
        with socket.create_server(("127.0.0.1", 0)) as gone:
            endpoint = f"127.0.0.1:{gone.getsockname()[1]}"
        self.slip("generate", "--artifact", self.artifact, "--engine", "hybrid", "--david",
                  endpoint, "--tls", self.tls / "charlie", *self.tail, status=1, says=[endpoint])

    def test_flags_that_belong_together(self):
        base = ["generate", "--artifact", self.artifact, "--engine", "hybrid", *self.tail]
        self.refused(*base, "--david", "127.0.0.1:1", says=["--tls"])
        self.refused(*base, "--tls", self.tls / "charlie", says=["--tls", "--david"])
        self.refused(*base, "--david", "nowhere", "--tls", self.tls / "charlie", says=["--david"])

    def test_bench_round(self):
        with self.david() as david:
            result = run("slip-bench", "round", "--artifact", self.artifact, "--david",
                         david.endpoint, "--tls", self.tls / "charlie", "--repetitions", "20",
                         "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            report = json.loads(result.stdout)
            shapes = {(shape["rows"], shape["n"]) for shape in report["shapes"]}
            self.assertEqual(shapes, {(32, 16), (16, 16), (48, 16), (16, 24)})
            self.assertGreater(report["round_us"], 0)


if __name__ == "__main__":
    unittest.main()
