"""Cancellations from offline Davids: three processes over TLS, honest and not."""

import json
import shutil
import unittest

from slip_system import Deployment, OfflineDavid, run


class Offline(Deployment):
    def offline(self, *extra):
        return OfflineDavid(self.artifact / "david", self.tls / "offline", *extra)

    def charlie(self, david, *offline, status=0, says=(), artifact=None):
        flags = [word for peer in offline for word in ("--offline", peer)]
        command = self.charlie_command(david, *flags)
        if artifact:
            command[command.index("--artifact") + 1] = artifact
        return self.slip(*command, status=status, says=says)

    def test_LIN_4_three_processes_give_what_the_unsplit_model_gives(self):
        tail = self.tail[:-1]
        unsplit, expected = self.generate("unsplit", "--artifact", self.artifact, "--engine",
                                          "unsplit", *tail)
        with self.david() as david, self.offline() as one, self.offline() as two:
            for offline in [[one], [one, two]]:
                flags = [word for peer in offline for word in ("--offline", peer.endpoint)]
                hybrid, logits = self.generate(
                    "hybrid", "--artifact", self.artifact, "--engine", "hybrid", "--david",
                    david.endpoint, "--tls", self.tls / "charlie", *flags, *tail)
                self.assertEqual(hybrid["ids"], unsplit["ids"])
                self.assertEqual(logits, expected)
                self.assertEqual(hybrid["checks"], hybrid["rounds"])
                self.assertGreater(hybrid["offline_columns"], hybrid["rounds"])
                self.assertGreater(hybrid["offline_bytes_down"], 0)
                self.assertEqual(hybrid["offline_lost"], 0)
            for process in [one, two, david]:
                self.assertEqual(process.stop()[0], 0)

    def test_INTEG_6_a_dishonest_offline_david_is_named_and_rejected(self):
        with self.david() as david, self.offline("--misbehave", "flip") as wrong:
            result = self.charlie(david.endpoint, wrong.endpoint, status=1,
                                  says=["rejected", "offline David", wrong.endpoint])
            self.assertEqual(result.stdout, "")
            self.assert_served(david.endpoint)

    def test_an_offline_david_who_is_david_is_refused(self):
        with self.david() as david, self.david() as other, self.offline() as offline:
            self.charlie(david.endpoint, david.endpoint, status=2, says=["--offline", "is David"])
            self.charlie(david.endpoint, offline.endpoint, david.endpoint, status=2,
                         says=["is David"])
            self.charlie(david.endpoint, other.endpoint, status=1, says=[other.endpoint])
            self.charlie(offline.endpoint, other.endpoint, status=1, says=[offline.endpoint])

    def test_SESS_2_a_d2_with_another_split_is_refused(self):
        other = self.folder / "other"
        self.slip("split", "--model", self.folder / "model", "--rank", "2", "--out", other)
        with self.david() as david, OfflineDavid(other / "david", self.tls / "offline") as stranger:
            self.charlie(david.endpoint, stranger.endpoint, status=1, says=["another weight file"])
            self.assertIn("slip offline: time=", stranger.stop()[1])

    def test_SESS_8_a_lost_d2_is_replaced_and_a_busy_one_is_skipped(self):
        with self.david() as david, self.offline() as here:
            with self.offline() as gone:
                endpoint = gone.endpoint
            out = self.charlie(david.endpoint, endpoint, here.endpoint).stdout
            self.assertEqual(json.loads(out)["ids"], self.honest_ids)
            self.charlie(david.endpoint, endpoint, status=1, says=["no offline David is left"])
            self.assert_served(david.endpoint)

    def test_MODEL_7_what_is_missing_is_named(self):
        alone = self.folder / "alone"
        shutil.copytree(self.artifact / "charlie", alone / "charlie")
        with self.david() as david, self.offline() as offline:
            self.charlie(david.endpoint, offline.endpoint, artifact=alone, status=2,
                         says=[str(alone / "david"), "is missing", "check vectors"])

    def test_flags_that_do_not_fit(self):
        self.refused("generate", "--artifact", self.artifact, "--engine", "hybrid", "--offline",
                     "localhost:1", *self.tail, says=["--offline has no meaning without --david"])
        self.refused("generate", "--artifact", self.artifact, "--engine", "unsplit", "--offline",
                     "localhost:1", *self.tail, says=["--offline has no meaning"])
        self.refused("offline", "--artifact", self.artifact, "--listen", "localhost:0", "--tls",
                     self.tls / "offline", says=["Charlie"])
        self.refused("offline", "--artifact", self.artifact / "david", "--listen", "localhost:0",
                     "--tls", self.tls / "david", says=["role offline"])
        self.assertIn("never share them", run("slip", "offline", "--help").stdout)

    def test_THREAT_2_the_offline_folder_is_private(self):
        self.assertEqual((self.tls / "offline").stat().st_mode & 0o777, 0o700)
        self.assertEqual((self.tls / "offline/key.pem").stat().st_mode & 0o777, 0o600)


if __name__ == "__main__":
    unittest.main()
