#!/usr/bin/env python3
"""Conformance: the vectors are what the reference makes, the second implementation agrees with
them, ours answers them, the peers understand each other, every mutant is killed, and a copy of
conformance/ in an empty folder is enough for all of it."""
# test: once

import filecmp
import hashlib
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import unittest
import xml.etree.ElementTree
from pathlib import Path

import cnn_test
from conformance_peers import BYTECODE, CONFORMANCE, SEED, Deployed, PythonPeer, conform, python_peer
from slip_system import BUILD, LIMIT_S, ROOT, David, SystemTest, run

# Half as many weights as tinystories-llama, which are multiplied one by one.
TRAINED = ROOT / "models/tinystories-llama-12"


class Vectors(SystemTest):
    def test_the_reference_makes_the_committed_files(self):
        made = self.folder / "vectors"
        subprocess.run([str(BUILD / "make_vectors"), str(SEED), str(made)], check=True,
                       timeout=LIMIT_S, stdout=subprocess.DEVNULL)
        committed = files_in(CONFORMANCE / "vectors")
        self.assertEqual(files_in(made), committed)
        _, different, errors = filecmp.cmpfiles(made, CONFORMANCE / "vectors", committed, False)
        self.assertEqual(different + errors, [])
        self.assertLess(sum((made / name).stat().st_size for name in committed), 3_000_000)

    def test_MODEL_7_the_examples_are_the_artifact_that_is_shipped(self):
        text = (ROOT / "spec/model.md").read_text()
        for name in ("charlie/plan.json", "david/manifest.json"):
            example = (CONFORMANCE / "vectors/artifact" / name).read_text()
            self.assertIn(f"```json\n{example}```\n", text, name)

    def test_files_follow_the_schema_and_a_changed_one_does_not(self):
        self.assertEqual(conform("schemas"), "")
        copy = self.folder / "copy"
        shutil.copytree(CONFORMANCE, copy)
        path = copy / "vectors/masking.json"
        for other in set(path.parent.glob("*.json")) - {path}:
            other.unlink()
        for old, new, says in [('"tcId"', '"tcid"', "unknown field 'tcid'"),
                               ('"level": "MUST"', '"level": "MAY"', "none of ['MUST', 'SHOULD']"),
                               ('"q":', '"quantised":', "unknown field 'quantised'"),
                               ('"operation": "mask"', '"operation": "hide"', "none of")]:
            path.write_text((CONFORMANCE / "vectors/masking.json").read_text().replace(old, new, 1))
            self.assertIn(says, conform("schemas", folder=copy, status=1))


def files_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*")
                  if path.is_file())


class Product(SystemTest):
    """optimized/ under the vectors; its list of known failures is empty."""

    def test_the_product_conforms_on_the_portable_kernels_and_on_its_best(self):
        """On the portable ones the cases of products; with SLIP_FULL set all."""
        some = [] if "SLIP_FULL" in os.environ else ["--only", "LIN-"]
        for program, only in (("env SLIP_KERNELS=portable ", some), ("", [])):
            with self.subTest(program):
                report = self.folder / "report.json"
                self.slip("conform", "vectors", "--implementation",
                          f"{program}{BUILD / 'conformance_answers'}", *only, "--json", report,
                          "--junit", self.folder / "report.xml")
                found = json.loads(report.read_text())
                self.assertTrue(found["conformant"])
                self.assertLessEqual({"david", "charlie", "owner", "lattice", "hidden"},
                                     set(found["features"]))


class Mutants(SystemTest):
    """Wrong implementations; a vector set that lets one pass has a hole."""

    CLASSES = {"arithmetic", "signs", "planes", "endianness", "masks", "integrity", "ordering",
               "session", "wire", "files"}

    def test_each_is_killed_by_a_case_of_its_clause(self):
        path = self.folder / "mutants.json"
        conform("mutants", "--json", path)
        mutants = json.loads(path.read_text())["mutants"]
        classes = [mutant["class"] for mutant in mutants]
        self.assertEqual(set(classes), self.CLASSES)
        for name in self.CLASSES:
            self.assertGreaterEqual(classes.count(name), 2, name)
        self.assertTrue(all(mutant["killed"] for mutant in mutants))


class Alone(Deployed, SystemTest):
    """A copy of conformance/ in an empty folder; the product is the foreign implementation."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.copy = cls.folder / "alone/conformance"
        shutil.copytree(CONFORMANCE, cls.copy)

    def test_the_first_steps_of_the_README(self):
        """Its shell blocks, word for word, in the empty folder: first every vector, then an answerer."""
        text = (self.copy / "README.md").read_text()
        steps = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
        out = subprocess.run(["sh", "-e", "-c", steps], cwd=self.copy.parent, text=True, check=True,
                             env={"PATH": os.defpath, "PYTHONPYCACHEPREFIX": BYTECODE.name},
                             capture_output=True, timeout=LIMIT_S).stdout
        said = re.search(r"It prints `(.*?)`", text).group(1)
        self.assertIn(f"\n{said}\nconformant, as far as cases RING-5/19* can tell\n", out)
        count, others = re.match(r"slip_peer .*: (\d+) pass, (.*)\nconformant\n", out).groups()
        self.assertEqual(others, "0 fail, 0 unimplemented, 0 not claimed")
        self.assertIn(f"| {count} cases in ", text)

    def test_the_vectors_over_pipes(self):
        answerer = shlex.join([*python_peer(self.copy), "answer"])
        some = [] if "SLIP_FULL" in os.environ else ["--only", "MASK-"]
        out = conform("vectors", "--implementation", answerer, *some, folder=self.copy)
        self.assertIn(" 0 fail, 0 unimplemented, 0 not claimed\nconformant", out)

    def test_a_foreign_david_and_what_is_reported(self):
        paths = [self.folder / name for name in ("david.xml", "david.json")]
        with David(self.artifact / "david", self.tls / "david") as david:
            out = self.probe_david(david, "--junit", paths[0], "--json", paths[1], folder=self.copy)
        self.assert_reported(out, *paths, f"David at {david.endpoint}", ["david", "paper"])

    def test_a_foreign_charlie_and_what_is_reported(self):
        paths = [self.folder / name for name in ("charlie.xml", "charlie.json")]
        out = self.probe_charlie(self.product_charlie(), "--junit", paths[0], "--json", paths[1],
                                 folder=self.copy)
        self.assert_reported(out, *paths, "Charlie", ["charlie", "paper"])

    def assert_reported(self, out, junit, report, name, features):
        """The terminal, the JUnit XML and the JSON tell of the same conformant run."""
        sys.path.insert(0, str(CONFORMANCE))
        from slip_peer import schema
        rules = json.loads((CONFORMANCE / "schemas/report.schema.json").read_text())
        found = json.loads(report.read_text())
        self.assertEqual(schema.violations(found, rules), [])
        self.assertEqual([found["implementation"], found["features"], found["conformant"]],
                         [name, features, True])
        count = len(found["results"])
        self.assertIn(f"{count} pass, 0 fail, 0 unimplemented, 0 not claimed\nconformant\n", out)
        row = f"tests a foreign {features[0].capitalize()} over TLS: {count} cases"
        self.assertIn(row, (self.copy / "README.md").read_text())
        suite = xml.etree.ElementTree.parse(junit).getroot()
        self.assertEqual([suite.get("tests"), suite.get("failures"), len(suite)],
                         [str(count), "0", count])

    def test_exit_statuses_and_the_list_of_known_failures(self):
        known, junit = self.folder / "known", self.folder / "status.xml"
        for setting, status, says, failing in [
                ("RIGHT = True", 0, "conformant", None),
                ("UNIMPLEMENTED = True", 1, "UNIMPLEMENTED MASK-3/1 ", None),
                ("WRONG = True", 1, "FAIL MASK-3/1 ", None),
                ("WRONG = True", 3, "FAIL, known MASK-3/1 ", "MASK-3/"),
                ("UNIMPLEMENTED = True", 3, "UNIMPLEMENTED, known MASK-3/1 ", "MASK-3/"),
                ("WRONG = True", 1, "FAIL MASK-3/2 ", "MASK-3/1"),
                ("RIGHT = True", 1, "MASK-3/1 is on the list of known failures and does not fail",
                 "MASK-3/")]:
            script = self.folder / "answer.py"
            script.write_text(ANSWERER.format(path=str(self.copy), setting=setting))
            out = conform("vectors", "--only", "MASK-3/", "--implementation",
                          f"{sys.executable} -I -B {script}", "--junit", junit,
                          *listed(known, failing), folder=self.copy, status=status)
            self.assertIn(says, out)
            verdict = "conformant" if setting == "RIGHT = True" else "NOT conformant: MASK-3"
            self.assertEqual(out.splitlines()[-1], f"{verdict}, as far as cases MASK-3/* can tell")
            failures = xml.etree.ElementTree.parse(junit).getroot().get("failures")
            self.assertEqual(failures == "0", setting == "RIGHT = True")
        conform("vectors", "--only", "NONE-", folder=self.copy, status=2)
        conform("peer", "--as", "charlie", "--tls", self.tls / "charlie", "--artifact",
                self.artifact / "david", folder=self.copy, status=2)
        for program in ("true", "echo x", "cat"):
            conform("vectors", "--implementation", program, folder=self.copy, status=2)
        # One that ends after its first answer fails every case, and the run goes on.
        once = """sh -c 'read line; echo "{\\"name\\": \\"x\\", \\"features\\": [\\"david\\"]}"'"""
        out = conform("vectors", "--implementation", once, "--only", "CONV-", folder=self.copy,
                      status=1)
        self.assertIn("no answer: the program ended", out)


class Peers(Deployed, SystemTest):
    """Over TLS: each implementation against the other, and both against one that misbehaves."""

    def both_ways(self, artifact, *prompt, audit=()):
        """The product unsplit, its Charlie with our second David, and our second Charlie with its
        David agree on ids and text. `audit` are words that show the integer model."""
        unsplit = json.loads(self.slip("generate", "--artifact", artifact, *audit, "--engine", "unsplit",
                                       *prompt, "--json").stdout)
        with PythonPeer(artifact / "david", self.tls / "david") as david:
            ours = json.loads(self.slip(
                "generate", "--artifact", artifact, "--engine", "hybrid", "--david",
                david.endpoint, "--tls", self.tls / "charlie", *prompt, "--json").stdout)
        with David(artifact / "david", self.tls / "david") as david:
            theirs = json.loads(conform(
                "charlie", "--artifact", artifact, "--connect", david.endpoint, "--tls",
                self.tls / "charlie", "--ids", ",".join(map(str, unsplit["prompt_ids"])),
                "--max-tokens", prompt[-1]))
        self.assertEqual([ours["ids"], ours["text"]], [unsplit["ids"], unsplit["text"]])
        self.assertEqual([theirs["ids"], theirs["text"]], [unsplit["ids"], unsplit["text"]])
        return unsplit

    def test_LIN_4_both_ways_with_a_small_model(self):
        self.both_ways(self.artifact, "--ids", "1,5,9", "--max-tokens", 12)

    def test_MASK_7_both_ways_with_lattice_masks(self):
        artifact = self.folder / "lattice"
        self.slip("split", "--model", self.folder / "model", "--rank", 3, "--set", "paper-lattice",
                  "--out", artifact)
        self.both_ways(artifact, "--ids", "1,5,9", "--max-tokens", 4)
        self.refuses_other_hints(artifact)

    def test_HIDE_1_both_ways_with_the_hidden_split(self):
        artifact, audit = self.folder / "hidden", self.folder / "audit"
        self.slip("split", "--model", self.folder / "model", "--audit", audit, "--out", artifact)
        self.both_ways(artifact, "--ids", "1,5,9", "--max-tokens", 2, audit=["--audit", audit])
        self.refuses_other_hints(artifact, [("check", "key.0", 1)])
        self.finds_wrong_peers(artifact)

    def finds_wrong_peers(self, artifact):
        """The product's Charlie refuses a wrong residue of U, and our second one who does not check the
        last plane does not. `./test --full` runs every case, and a David who stacks U above A."""
        self.artifact = artifact
        everyday = "SLIP_FULL" not in os.environ
        only = ["--only", "INTEG-6/charlie-first-of-u"] if everyday else []
        out = self.probe_charlie(self.product_charlie(), *only)
        self.assertIn(" 0 fail, 0 unimplemented", out)
        case = "INTEG-6/charlie-u-plane-5"
        out = self.probe_charlie(self.python_charlie(*mutated("plane 5 is not checked")), "--only", case,
                                 status=1)
        self.assertIn(f"FAIL {case}", out)
        if everyday:
            return
        with David(artifact / "david", self.tls / "david") as david:
            self.assertIn(" 0 fail, 0 unimplemented", self.probe_david(david))
        with PythonPeer(artifact / "david", self.tls / "david", sessions=9,
                        before=mutated("David multiplies by U first")) as david:
            out = self.probe_david(david, "--only", "LIN-1/david-products", status=1)
        self.assertIn("FAIL LIN-1/david-products", out)

    def test_HIDE_1_what_the_second_david_refuses(self):
        """Another seed than 64 digits, a wide group, an entry of A beyond half of its prime."""
        artifact = self.folder / "one"
        self.slip("split", "--model", self.folder / "model", "--out", artifact)
        sys.path.insert(0, str(CONFORMANCE))
        from slip_peer import artifact as artifacts, errors
        folder = artifact / "david"
        self.assertEqual(artifacts.David(folder).weights[0].outputs, 32 + 2304)
        manifest, path = (folder / "manifest.json").read_text(), folder / "david.safetensors"
        whole = bytearray(path.read_bytes())
        document, size = json.loads(manifest), int.from_bytes(whole[:8], "little")
        first, last = json.loads(whole[8:8 + size])["group.0"]["data_offsets"]
        plane, cols = (last - first) // 6, document["groups"][0]["cols"]
        for number, p in enumerate((251, 241, 239, 233, 229, 227)):
            for entry, refused in ((p // 2, False), (-(p // 2), False), (p // 2 + 1, True),
                                   (-(p // 2) - 1, True)):
                changed = bytearray(whole)
                struct.pack_into("<b", changed, 8 + size + first + number * plane, entry)
                self.rewrite(path, changed)
                self.rewrite(folder / "manifest.json", json.dumps(
                    document | {"sha256": hashlib.sha256(changed).hexdigest()}).encode())
                with self.subTest(p=p, entry=entry):
                    self.assertEqual(refuses(artifacts.David, folder, errors), refused)
        self.rewrite(path, whole)
        for name, value in (("seed", document["seed"][:-1]), ("seed", None), ("seed", 7),
                            ("groups", [{"rows": 32, "cols": cols + 1}, *document["groups"][1:]]),
                            ("groups", [{"rows": 32, "cols": 6145}, *document["groups"][1:]])):
            changed = {key: entry for key, entry in (document | {name: value}).items() if entry is not None}
            self.rewrite(folder / "manifest.json", json.dumps(changed).encode())
            with self.subTest(name, value=value):
                self.assertTrue(refuses(artifacts.David, folder, errors))

    def rewrite(self, path, data):
        path.chmod(0o600)
        path.write_bytes(data)

    def refuses_other_hints(self, artifact, tensors=(("masks", "group.0", 2), ("masks", "seed", 2),
                                                     ("check", "hint.0", 2), ("check", "product.0", 1))):
        """A byte of a hint, of the seed of T, of a digest and of z W_D, with SHA256SUMS that fits."""
        folder = artifact / "charlie"
        for name, tensor, status in tensors:
            path = folder / f"{name}.safetensors"
            whole, sums = path.read_bytes(), (folder / "SHA256SUMS").read_text()
            size = int.from_bytes(whole[:8], "little")
            first, _ = json.loads(whole[8:8 + size])[tensor]["data_offsets"]
            changed = bytearray(whole)
            changed[8 + size + first] ^= 1
            path.write_bytes(changed)
            (folder / "SHA256SUMS").write_text(sums.replace(hashlib.sha256(whole).hexdigest(),
                                                            hashlib.sha256(changed).hexdigest()))
            with David(artifact / "david", self.tls / "david") as david:
                with self.subTest(tensor):
                    conform("charlie", "--artifact", artifact, "--connect", david.endpoint, "--tls",
                            self.tls / "charlie", "--ids", "1,5", "--max-tokens", 1, status=status)
            path.write_bytes(whole)
            (folder / "SHA256SUMS").write_text(sums)

    def test_LIN_4_both_ways_with_a_trained_model(self):
        artifact = self.folder / "trained"
        self.slip("split", "--model", TRAINED, "--rank", 3, "--set", "paper", "--out", artifact)
        result = self.both_ways(artifact, "--prompt", "Once upon a time", "--max-tokens", 6)
        self.assertGreater(len(result["text"]), 8)

    def test_the_paper_order_of_attention(self):
        """To David it is another schedule of the same groups; the second Charlie says no."""
        artifact = self.folder / "paper"
        self.slip("split", "--model", self.folder / "model", "--rank", 3, "--set", "paper",
                  "--attention", "paper", "--out", artifact)
        ids = ["--ids", "1,5,9", "--max-tokens", 4, "--json"]
        with PythonPeer(artifact / "david", self.tls / "david") as david:
            ours = self.slip("generate", "--artifact", artifact, "--engine", "hybrid", "--david",
                             david.endpoint, "--tls", self.tls / "charlie", *ids).stdout
        unsplit = self.slip("generate", "--artifact", artifact, "--engine", "unsplit", *ids).stdout
        self.assertEqual(json.loads(ours)["ids"], json.loads(unsplit)["ids"])
        conform("charlie", "--artifact", artifact, "--connect", "127.0.0.1:1", "--tls",
                self.tls / "charlie", "--ids", "1", "--max-tokens", 1, status=2)

    def test_groups_of_another_kind_are_refused(self):
        folder = self.folder / "kind"
        shutil.copytree(self.artifact / "david", folder)
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["groups"][0]["kind"] = "another"
        (folder / "manifest.json").chmod(0o600)
        (folder / "manifest.json").write_text(json.dumps(manifest))
        conform("david", "--artifact", folder, "--listen", "127.0.0.1:0", "--tls",
                self.tls / "david", status=2)

    def with_entry(self, kind, value):
        """The small model's artifact, with the first entry of the first tensor of a kind changed."""
        folder = self.folder / "factors"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.artifact, folder)
        path = folder / "charlie/charlie.safetensors"
        data = bytearray(path.read_bytes())
        header = 8 + int.from_bytes(data[:8], "little")
        tensors = json.loads(data[8:header])
        name = min(name for name, tensor in tensors.items()
                   if name.endswith(f".{kind}") and 0 not in tensor["shape"])
        format = {"A": "<h", "A_exponent": "<b", "B": "<h"}[kind]
        struct.pack_into(format, data, header + tensors[name]["data_offsets"][0], value)
        digests = folder / "charlie/SHA256SUMS"
        listed = digests.read_text().replace(hashlib.sha256(path.read_bytes()).hexdigest(),
                                             hashlib.sha256(data).hexdigest())
        for changed, content in ((path, data), (digests, listed.encode())):
            changed.chmod(0o600)
            changed.write_bytes(content)
        return folder, name

    def test_PARAM_2_the_second_charlie_refuses_factors_of_more_bits(self):
        sys.path.insert(0, str(CONFORMANCE))
        from slip_peer import artifact, errors
        for kind, value in (("A", 2047), ("A", -2047), ("B", 2047), ("B", -2047)):
            artifact.Charlie(self.with_entry(kind, value)[0])
        for kind, value in (("A", 2048), ("A", -2048), ("A", -2**15), ("A_exponent", 21),
                            ("A_exponent", -1), ("B", 2048), ("B", -2048)):
            folder, name = self.with_entry(kind, value)
            with self.assertRaisesRegex(errors.BadInput, f"{name}: .*PARAM-2"):
                artifact.Charlie(folder)

    def test_the_second_pair_conforms(self):
        with PythonPeer(self.artifact / "david", self.tls / "david", sessions=1000) as david:
            out = self.probe_david(david)
        self.assertIn(" 0 fail, 0 unimplemented", out)
        out = self.probe_charlie(self.python_charlie())
        self.assertIn(" 0 fail, 0 unimplemented", out)

    def test_SESS_9_the_second_davids_refusal_arrives(self):
        """He has read four bytes when he refuses; a reset by the rest would discard his answer."""
        sys.path.insert(0, str(CONFORMANCE))
        from slip_peer import tls
        with PythonPeer(self.artifact / "david", self.tls / "david") as david:
            channel = tls.connect(david.endpoint, self.tls / "charlie")
            channel.send(b"\x55" * 2**24)
            self.assertEqual(channel.receive(2).hex(), "020000000704")
            channel.close()

    def test_a_dishonest_david_is_seen(self):
        with David(self.artifact / "david", self.tls / "david", "--misbehave",
                   "flip") as david:
            out = self.probe_david(david, "--only", "LIN-1/", status=1)
        self.assertIn("FAIL LIN-1/david-products", out)

    def test_wrong_davids_are_seen(self):
        for mutant, case in [("the sequence is not compared", "SESS-3/david-repeated"),
                             ("the version is not compared", "SESS-2/david-version"),
                             ("the digest is not compared", "SESS-2/david-digest"),
                             ("residues are reduced in place of being refused",
                              "WIRE-8/david-not-below-prime-3"),
                             ("the planes are in the reverse order", "LIN-1/david-products"),
                             ("the magic is not compared", "WIRE-2/david-magic"),
                             ("columns of a reply are reversed", "LIN-1/david-products")]:
            with PythonPeer(self.artifact / "david", self.tls / "david", sessions=9,
                            before=mutated(mutant)) as david:
                out = self.probe_david(david, "--only", case, status=1)
            self.assertIn(f"FAIL {case}", out)

    def test_wrong_charlies_are_seen(self):
        for mutant, case in [("every reply is accepted", "INTEG-6/charlie-one-coordinate"),
                             ("columns are checked in sum", "INTEG-6/charlie-swap"),
                             ("plane 2 is not checked", "INTEG-6/charlie-plane-2"),
                             ("the first column alone is checked",
                              "INTEG-6/charlie-last-coordinate"),
                             ("a reject sends no ABORT", "INTEG-6/charlie-one-coordinate"),
                             ("the echo is not compared", "SESS-3/charlie-sequence"),
                             ("residues are reduced in place of being refused",
                              "WIRE-8/charlie-not-below-prime-3"),
                             ("honest replies are rejected", "SESS-1/charlie-good-session"),
                             ("every column has mask 0", "MASK-5/charlie-one-time")]:
            out = self.probe_charlie(self.python_charlie(*mutated(mutant)), "--only", case, status=1)
            self.assertIn(f"FAIL {case}", out)


class Networks(Deployed, SystemTest):
    """Peers over TLS on a convolutional network, whose messages are whole images."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.network = cnn_test.write_network(cls.folder / "net.onnx")
        for name in ("many", "few", "small"):
            (cls.folder / name).mkdir()
        cls.images = cnn_test.write_images(cls.folder / "many", 150, 9, 8)  # in several messages
        cls.few = cnn_test.write_images(cls.folder / "few", 5, 9, 8)
        cls.artifact = cls.folder / "cnn"
        run("slip", "split", "--model", cls.network, "--rank", 2, "--set", cls.SET, "--out",
            cls.artifact)

    def measure(self, *engine):
        return json.loads(self.slip("eval", "--artifact", self.artifact, "--engine", *engine,
                                    *self.images, "--json", "--logits").stdout)

    def python_words(self, endpoint):
        return ["charlie", "--artifact", self.artifact, "--connect", endpoint, "--tls",
                self.tls / "charlie", "--images", self.images[1]]

    def test_CNN_6_LIN_4_both_ways(self):
        """Every bit of the logits: the product unsplit, its Charlie with our second David, our
        second Charlie with its David."""
        unsplit = self.measure("unsplit")
        with PythonPeer(self.artifact / "david", self.tls / "david") as david:
            hybrid = self.measure("hybrid", "--david", david.endpoint, "--tls", self.tls / "charlie")
        self.assertEqual(hybrid, unsplit)
        with David(self.artifact / "david", self.tls / "david") as david:
            found = json.loads(conform(*self.python_words(david.endpoint), "--limit", 5))
        self.assertEqual([found["classes"], found["logits"]],
                         [unsplit["classes"][:5], unsplit["logits"][:5]])

    def test_MODEL_7_the_shipped_artifact_runs_both_ways(self):
        artifact = self.folder / "shipped"
        shutil.copytree(CONFORMANCE / "vectors/artifact", artifact)
        (artifact / "charlie").chmod(0o700)  # a repository does not keep modes
        images = cnn_test.write_images(self.folder / "small", 3, 4, 3)
        measure = ["eval", "--artifact", artifact, *images, "--json", "--logits", "--engine"]
        unsplit = json.loads(self.slip(*measure, "unsplit").stdout)
        with PythonPeer(artifact / "david", self.tls / "david") as david:
            hybrid = self.slip(*measure, "hybrid", "--david", david.endpoint, "--tls",
                               self.tls / "charlie").stdout
        self.assertEqual(json.loads(hybrid), unsplit)
        with David(artifact / "david", self.tls / "david") as david:
            found = json.loads(conform("charlie", "--artifact", artifact, "--connect",
                                       david.endpoint, "--tls", self.tls / "charlie", "--images",
                                       images[1]))
        self.assertEqual([found["classes"], found["logits"]],
                         [unsplit["classes"], unsplit["logits"]])

    def probe_classifier(self, images, *extra, **options):
        command = map(str, [BUILD / "slip", "eval", "--artifact", self.artifact, "--engine", "hybrid",
                            "--david", "{endpoint}", "--tls", self.tls / "charlie", *images])
        return self.probe_charlie(shlex.join(command), *extra, **options)

    def test_CNN_4_either_side_conforms(self):
        """An earlier message's reply can be sent again if there are many images."""
        replay = "INTEG-6/charlie-replay"
        with David(self.artifact / "david", self.tls / "david") as david:
            out = self.probe_david(david)
        self.assertIn(" 0 fail, 0 unimplemented", out)
        out = self.probe_classifier(self.few, status=1)
        self.assertRegex(out, f"^UNIMPLEMENTED {replay} ")
        self.assertIn(" 0 fail, 1 unimplemented", out)
        out = self.probe_classifier(self.images, "--only", replay)
        self.assertIn(" 1 pass, 0 fail, 0 unimplemented", out)
        with PythonPeer(self.artifact / "david", self.tls / "david", sessions=1000) as david:
            self.assertIn(" 0 fail, 0 unimplemented", self.probe_david(david))

    def test_CNN_4_wrong_peers_are_seen(self):
        """Padding that is masked is not zero; a check that forgets the last positions."""
        wrong = "from slip_peer import convolution; old = convolution.Shape.window; " \
                "convolution.Shape.window = lambda *at: (index or 0 for index in old(*at))"
        with PythonPeer(self.artifact / "david", self.tls / "david", sessions=9,
                        before=[wrong]) as david:
            out = self.probe_david(david, "--only", "LIN-1/", status=1)
        self.assertIn("FAIL LIN-1/david-products", out)
        wrong = "from slip_peer import convolution; old = convolution.Kernel.checked; " \
                "convolution.Kernel.checked = lambda *c: [columns[:-1] for columns in old(*c)]"
        command = [*python_peer(CONFORMANCE, wrong), *self.python_words("{endpoint}")]
        out = self.probe_charlie(shlex.join(map(str, [*command, "--limit", 2])), "--only",
                                 "INTEG-6/charlie-last-coordinate", status=1)
        self.assertIn("FAIL INTEG-6/charlie-last-coordinate", out)

    def test_CNN_6_shapes_that_do_not_fit_are_refused(self):
        for number, changes in enumerate([{"padding": 3}, {"stride": 0}, {"kernel_width": 2},
                                          {"height": 2**21}, {"width": "8"}, {"dilation": 1}]):
            folder = self.folder / f"lying-{number}"
            shutil.copytree(self.artifact / "david", folder)
            manifest = json.loads((folder / "manifest.json").read_text())
            manifest["groups"][0]["convolution"] |= changes
            (folder / "manifest.json").chmod(0o600)
            (folder / "manifest.json").write_text(json.dumps(manifest))
            conform("david", "--artifact", folder, "--listen", "127.0.0.1:0", "--tls",
                    self.tls / "david", status=2)

    def test_CNN_6_a_configuration_of_other_types(self):
        sys.path.insert(0, str(CONFORMANCE))
        from slip_peer import artifact, errors
        size = {"height": 2, "width": 2, "channels": 1}
        for wrong in ({}, {"input": size}, {"input": 3, "layers": []},
                      {"input": size | {"height": "2"}, "layers": []}, {"input": size, "layers": 3},
                      {"input": size, "layers": [3]}, {"input": size, "layers": [{"type": 3}]},
                      {"input": size, "layers": [{"type": []}]}):
            with self.assertRaises(errors.BadInput, msg=str(wrong)):
                artifact.require_layers(Path("plan.json"), wrong, [])
        artifact.require_layers(Path("plan.json"), {"input": size, "layers": [{"type": "relu"}]}, [])

    def test_what_a_model_needs(self):
        missing = self.python_words("127.0.0.1:1")[:-2]
        conform(*missing, status=2)
        conform(*missing, "--images", self.images[3], status=2)
        conform(*missing, "--ids", "1,2", "--max-tokens", 1, status=2)


def refuses(read, folder, errors):
    """Whether it is BadInput to read a folder."""
    try:
        read(folder)
    except errors.BadInput:
        return True
    return False


def mutated(name):
    """Statements that replace a function of slip_peer as the mutant of this name does."""
    return ["from slip_peer import mutants",
            f"wrong = mutants.applied(next(m for m in mutants.MUTANTS if m.name == {name!r}))",
            "wrong.__enter__()"]


ANSWERER = """
import json, sys
sys.path.insert(0, {path!r})
from slip_peer import operations
UNIMPLEMENTED = WRONG = RIGHT = False
{setting}
for line in sys.stdin:
    request = json.loads(line)
    if request["request"] == "hello":
        answer = dict(name="test", features=["charlie"])
    else:
        answer = operations.answer(request["operation"], request["set"], request["input"])
        answer["id"] = request["id"]
        if UNIMPLEMENTED:
            answer = dict(id=request["id"], result="unimplemented")
        elif WRONG:
            answer["output"]["c"] = "ff" + answer["output"]["c"][2:]
    print(json.dumps(answer), flush=True)
"""


def listed(path, prefix):
    """--known-failing with every id of a clause, or nothing."""
    if prefix is None:
        return []
    sys.path.insert(0, str(CONFORMANCE))
    from slip_peer import vectors
    ids = [case.id for case in vectors.read_all() if case.id.startswith(prefix)]
    path.write_text("# all of them\n" + "\n".join(ids) + "\n")
    return ["--known-failing", path]


if __name__ == "__main__":
    unittest.main()
