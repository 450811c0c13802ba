"""A model in shards, a David for each (MODEL-22): over TLS, in shared memory, and one written in Python."""
# test: once

import contextlib
import json
import shutil
import signal
import unittest

from conformance_peers import PythonPeer
from serve_client import PROMPT, Served, ServeTest, read_stream
from slip_system import LIMIT_S, TINYSTORIES, David, LocalDavid, SystemTest, run, write_checkpoint


class Shards(SystemTest):
    """A small model of two blocks and a head, a shard each."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tls, cls.model = cls.folder / "tls", write_checkpoint(cls.folder / "model")
        cls.tail = ["--ids", "1,5,9", "--max-tokens", "8"]
        for command in [["keys", "--out", cls.tls],
                        ["split", "--model", cls.model, "--shards", 3, "--audit", cls.folder / "audit",
                         "--out", cls.folder / "hidden"],
                        ["split", "--model", cls.model, "--shards", 3, "--rank", 3, "--set", "paper",
                         "--out", cls.folder / "paper"]]:
            result = run("slip", *command)
            assert result.returncode == 0, result.stderr

    def expected(self, artifact):
        audit = ["--audit", self.folder / "audit"] if artifact.name == "hidden" else []
        return self.generate("unsplit", "--artifact", artifact, "--engine", "unsplit", *audit, *self.tail)

    def flags(self, davids):
        named = [word for one in davids for word in ("--david", one.endpoint)]
        return ["--tls", self.tls / "charlie", *named]

    def generated(self, artifact, davids):
        """Through Davids, one per shard, who are listening."""
        return self.generate("hybrid", "--artifact", artifact, "--engine", "hybrid", *self.flags(davids),
                             *self.tail)

    def over_tls(self, artifact, *extra):
        return [David(artifact / f"david-{i}", self.tls / "david", *extra) for i in range(3)]

    def test_LIN_4_MODEL_22_three_davids_give_the_unsplit_model(self):
        for name in ("hidden", "paper"):
            artifact = self.folder / name
            davids = self.over_tls(artifact)
            davids[1] = LocalDavid(artifact / "david-1", self.folder / "david")
            with contextlib.ExitStack() as stack:
                expected, bits = self.expected(artifact)
                out, logits = self.generated(artifact, [stack.enter_context(one) for one in davids])
            self.assertEqual((out["ids"], logits), (expected["ids"], bits))
            self.assertEqual(out["checks"], out["rounds"])

    def test_MODEL_22_a_david_of_another_hand_serves_a_shard(self):
        artifact = self.folder / "paper"
        davids = self.over_tls(artifact)
        davids[2] = PythonPeer(artifact / "david-2", self.tls / "david")
        with contextlib.ExitStack() as stack:
            out, logits = self.generated(artifact, [stack.enter_context(one) for one in davids])
        expected, bits = self.expected(artifact)
        self.assertEqual((out["ids"], logits), (expected["ids"], bits))

    def test_MODEL_22_in_one_process(self):
        expected, bits = self.expected(self.folder / "hidden")
        out, logits = self.generate("hybrid", "--artifact", self.folder / "hidden", *self.tail)
        self.assertEqual((out["ids"], logits), (expected["ids"], bits))

    def test_MODEL_22_davids_who_do_not_fit_are_refused(self):
        artifact = self.folder / "hidden"
        ask = ["generate", "--artifact", artifact, *self.tail]
        with contextlib.ExitStack() as stack:
            davids = [stack.enter_context(one) for one in self.over_tls(artifact)]
            self.refused(*ask, *self.flags(davids[:2]), says=["--david was given 2 times",
                                                              f"each of the 3 shards of {artifact}"])
            swapped = [davids[0], davids[2], davids[1]]
            self.slip(*ask, *self.flags(swapped), status=1,
                      says=[f"David at {davids[2].endpoint} refuses the session: he holds another weight"])
        self.refused("split", "--model", self.model, "--shards", 4, "--out", self.folder / "none",
                     says=["a model of 3 blocks, its head counted as one, cannot be divided into 4 shards"])
        self.assertFalse((self.folder / "none").exists())

    def test_MODEL_22_INTEG_7_who_sends_a_wrong_reply_is_named(self):
        artifact = self.folder / "hidden"
        davids = self.over_tls(artifact)
        davids[1] = David(artifact / "david-1", self.tls / "david", "--misbehave", "flip")
        with contextlib.ExitStack() as stack:
            davids = [stack.enter_context(one) for one in davids]
            result = self.slip("generate", "--artifact", artifact, *self.flags(davids), *self.tail, status=1,
                               says=[f"the reply of {davids[1].endpoint} fails the integrity check"])
            self.assertEqual(result.stdout, "")

    def test_MODEL_22_check_and_inspect_see_all_shards(self):
        artifact = self.folder / "hidden"
        said = self.slip("check", artifact).stdout
        for name in ("david-0", "david-1", "david-2"):
            self.assertIn(f"{name}/david.safetensors", said)
        self.slip("inspect", "--artifact", self.folder / "paper")
        damaged = self.folder / "damaged"
        shutil.copytree(artifact, damaged)
        shutil.copytree(artifact / "david-0", damaged / "david-1", dirs_exist_ok=True)
        self.slip("check", damaged, status=2)


class ServedShards(ServeTest):
    def test_MODEL_22_SERVE_13_another_david_of_the_shard_goes_on(self):
        artifact = self.folder / "sharded"
        self.slip("split", "--model", TINYSTORIES, "--rank", 16, "--shards", 2, "--out", artifact)
        plain = ["generate", "--artifact", artifact, "--engine", "unsplit", "--prompt", PROMPT,
                 "--max-tokens", 250, "--json"]
        expected = json.loads(self.slip(*plain).stdout)["text"]
        with contextlib.ExitStack() as stack:
            davids = [stack.enter_context(David(artifact / f"david-{i % 2}", self.tls / "david"))
                      for i in range(4)]
            served = stack.enter_context(Served(
                "--artifact", artifact, "--model-name", "tiny", "--tls", self.tls / "charlie", "--reopen",
                LIMIT_S, *(word for one in davids for word in ("--david", one.endpoint))))
            with self.begun(served, max_tokens=250) as answer:
                davids[1].stop(signal.SIGKILL)
                self.assertEqual(read_stream("text", answer.result()[2])["text"], expected)
            self.assertGreaterEqual(served.metric("sessions_total"), 2)
            self.assertEqual(json.loads(served.get("/health")[2]), {"status": "ok"})


if __name__ == "__main__":
    unittest.main()
