"""Cancellations between implementations: the product's Charlie with the second implementation's
offline David, the second Charlie with the product's, over TLS."""

import json
import unittest

import cnn_test
from conformance_peers import PROFILES, Deployed, PythonPeer, conform
from slip_system import David, OfflineDavid, SystemTest, run

UNCHECKED = "from slip_peer import mutants, offline; offline.Connection.put = mutants.put_unchecked"
PADDED = "from slip_peer import convolution; old = convolution.Shape.window; " \
         "convolution.Shape.window = lambda *at: (index or 0 for index in old(*at))"
ZEROS = "from slip_peer import linear; linear.cancellation = lambda W_D, r, L: [0] * len(W_D)"


class PythonOffline(PythonPeer):
    """The offline David of slip_peer."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.arguments[0] = "offline"


class OfflinePeers(Deployed, SystemTest):
    """Language models. Where the product is Charlie he has his half alone."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for profile in PROFILES:
            (cls.folder / f"{profile}-half").mkdir()
            (cls.folder / f"{profile}-half/charlie").symlink_to(cls.folder / profile / "charlie")

    def david(self, profile):
        return David(self.artifact(profile) / "david", self.tls / "david")

    def offline(self, profile, *extra):
        return OfflineDavid(self.artifact(profile) / "david", self.tls / "offline", *extra)

    def python_offline(self, profile, **options):
        return PythonOffline(self.artifact(profile) / "david", self.tls / "offline", **options)

    def unsplit(self, profile):
        return json.loads(self.slip("generate", "--artifact", self.artifact(profile), "--engine",
                                    "unsplit", "--ids", "1,5,9", "--max-tokens", 8,
                                    "--json").stdout)["ids"]

    def product(self, profile, david, offline, **expected):
        """The product's Charlie, with check vectors prepared and without W_D."""
        state, half = self.folder / self.id(), self.folder / f"{profile}-half"
        self.slip("check-vectors", "--artifact", half, "--state", state, "--count", 1, "--weights",
                  self.artifact(profile) / "david/david.safetensors")
        return self.slip("generate", "--artifact", half, "--engine", "hybrid", "--david",
                         david.endpoint, "--offline", offline.endpoint, "--tls",
                         self.tls / "charlie", "--state", state, "--ids", "1,5,9", "--max-tokens",
                         8, "--json", **expected)

    def python(self, profile, david, *offline, **options):
        flags = [word for endpoint in offline for word in ("--offline", endpoint)]
        return conform("charlie", "--artifact", self.artifact(profile), "--connect", david.endpoint,
                       *flags, "--tls", self.tls / "charlie", "--ids", "1,5,9", "--max-tokens", 8,
                       **options)

    def test_OFF_4_the_products_charlie_and_the_second_offline_david(self):
        for profile in PROFILES:
            with self.david(profile) as david, self.python_offline(profile) as offline:
                found = json.loads(self.product(profile, david, offline).stdout)
            self.assertEqual(found["ids"], self.unsplit(profile))
            self.assertGreater(found["offline_columns"], 0)
            self.assertEqual([found["offline_lost"], found["setup_multiplications"]], [0, 0])

    def test_OFF_9_the_second_charlie_and_the_products_offline_david(self):
        for profile in PROFILES:
            with self.david(profile) as david, self.offline(profile) as offline:
                found = json.loads(self.python(profile, david, offline.endpoint))
                self.assertEqual(found["ids"], self.unsplit(profile))
                self.assertEqual(offline.stop(), (0, ""))

    def test_OFF_9_wrong_cancellations_of_the_second_are_rejected_by_the_product(self):
        with self.david("P31") as david, self.python_offline("P31", before=[ZEROS]) as wrong:
            result = self.product("P31", david, wrong, status=1, says=["rejected", wrong.endpoint])
        self.assertEqual(result.stdout, "")

    def test_OFF_9_wrong_cancellations_of_the_product_are_rejected_by_the_second(self):
        with self.david("P31") as david, self.offline("P31", "--misbehave", "flip") as wrong:
            self.assertEqual(self.python("P31", david, wrong.endpoint, status=1), "")

    def test_OFF_9_a_second_charlie_who_does_not_check_computes_something_else(self):
        with self.david("P31") as david, self.python_offline("P31", before=[ZEROS]) as wrong:
            found = json.loads(self.python("P31", david, wrong.endpoint, before=[UNCHECKED]))
        self.assertNotEqual(found["ids"], self.unsplit("P31"))

    def product_stock(self, profile):
        return f"{self.product_charlie(profile)} --offline {{offline}}"

    def python_stock(self, profile, *before):
        """The second Charlie calls nobody twice, so he has the offline David twice."""
        command = self.python_charlie(profile, *before)
        return f"{command} --offline {{offline}} --offline {{offline}}"

    def test_OFF_11_the_products_charlie_and_every_misbehaving_offline_david(self):
        for profile, cases in [("P31", ""), ("P61", "OFF-9/")]:
            self.assertIn(" 0 fail, 0 unimplemented", self.probe_offline(
                self.product_stock(profile), profile, "--only", cases))

    def test_OFF_11_the_second_charlie_and_every_misbehaving_offline_david(self):
        self.assertIn(" 0 fail, 0 unimplemented",
                      self.probe_offline(self.python_stock("P31"), "P31"))

    def test_OFF_11_wrong_charlies_are_seen(self):
        """One does not check; one takes an answer for whatever he asked for; one gives up with the
        first connection; one has a single key."""
        blind = "from slip_peer import offline; " \
                "offline.Connection.require_echo = lambda *_: None"
        single = "from slip_peer import stock; stock.os = type('', (), {" \
                 "'urandom': staticmethod(lambda n: bytes(range(n)))})"
        for wrong, case in [(UNCHECKED, "OFF-9/charlie-one-residue"), (blind, "OFF-11/charlie-index"),
                            (single, "OFF-8/charlie-keys")]:
            out = self.probe_offline(self.python_stock("P31", wrong), "P31", "--only", case, status=1)
            self.assertIn(f"FAIL {case}", out)
        alone = f"{self.python_charlie('P31')} --offline {{offline}}"
        out = self.probe_offline(alone, "P31", "--only", "OFF-11/charlie-end", status=1)
        self.assertIn("FAIL OFF-11/charlie-end", out)

    def test_SESS_7_roles_are_not_exchanged(self):
        """Either program refuses a David in the place of the offline David."""
        with self.david("P31") as david, self.david("P31") as other:
            self.python("P31", david, other.endpoint, status=1)
        with self.david("P31") as david, \
                PythonPeer(self.artifact("P31") / "david", self.tls / "david") as other:
            self.product("P31", david, other, status=1, says=[other.endpoint])

    def test_SESS_2_another_split_is_refused(self):
        with self.david("P31") as david, self.python_offline("P61") as other:
            self.product("P31", david, other, status=1, says=["another profile"])
        with self.david("P31") as david, self.offline("P61") as other:
            self.python("P31", david, other.endpoint, status=1)

    def test_OFF_11_the_second_charlie_replaces_a_lost_d2(self):
        with self.david("P31") as david, self.offline("P31") as here:
            with self.offline("P31") as gone:
                pass
            found = json.loads(self.python("P31", david, gone.endpoint, here.endpoint))
            self.assertEqual(found["ids"], self.unsplit("P31"))
            self.python("P31", david, gone.endpoint, status=1)


class OfflineNetworks(Deployed, SystemTest):
    """CNN_4: masks are images, and their cancellations are convolutions."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        network = cnn_test.write_network(cls.folder / "net.onnx")
        cls.images = cnn_test.write_images(cls.folder, 9, 9, 8)
        cls.network = cls.folder / "cnn"
        run("slip", "split", "--model", network, "--rank", 2, "--out", cls.network)

    def measure(self, *engine, **expected):
        return self.slip("eval", "--artifact", self.network, "--engine", *engine, *self.images,
                         "--json", "--logits", **expected)

    def hybrid(self, david, offline):
        return ["hybrid", "--david", david.endpoint, "--offline", offline.endpoint, "--tls",
                self.tls / "charlie"]

    def test_CNN_4_OFF_4_both_ways(self):
        unsplit = json.loads(self.measure("unsplit").stdout)
        half = self.network / "david"
        with David(half, self.tls / "david") as david, \
                PythonOffline(half, self.tls / "offline") as offline:
            self.assertEqual(json.loads(self.measure(*self.hybrid(david, offline)).stdout), unsplit)
        with David(half, self.tls / "david") as david, \
                OfflineDavid(half, self.tls / "offline") as offline:
            found = json.loads(conform("charlie", "--artifact", self.network, "--connect",
                                       david.endpoint, "--offline", offline.endpoint, "--tls",
                                       self.tls / "charlie", "--images", self.images[1]))
        self.assertEqual([found["classes"], found["logits"]],
                         [unsplit["classes"], unsplit["logits"]])

    def test_CNN_4_padding_that_is_masked_is_rejected(self):
        half = self.network / "david"
        with David(half, self.tls / "david") as david, \
                PythonOffline(half, self.tls / "offline", before=[PADDED]) as wrong:
            self.measure(*self.hybrid(david, wrong), status=1, says=["rejected"])


if __name__ == "__main__":
    unittest.main()
