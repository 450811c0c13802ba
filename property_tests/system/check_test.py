"""`slip check`: it finds what is wrong, all of it, and nothing where nothing is; `slip keys --renew`."""

import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import struct
import subprocess
import tempfile
import unittest

from slip_system import TINYSTORIES, David, Deployment, SystemTest, run, write_checkpoint


class Checked:
    """Runs `slip check` on a copy of what is right."""

    def check(self, *paths, status=0):
        """The JSON's part for each path."""
        result = self.slip("check", *paths, "--json", status=status)
        report = json.loads(result.stdout)
        self.assertEqual(report["ok"], status == 0)
        self.assertEqual(result.stderr == "", status == 0, result.stderr)
        return report["paths"]

    def errors(self, path):
        """Of one path, whose status must be 2."""
        (report,) = self.check(path, status=2)
        return [finding["text"] for finding in report["findings"] if finding["level"] == "error"]

    def assert_found(self, path, *expected):
        """Each error holds the string of its place, and there are no others."""
        errors = self.errors(path)
        self.assertEqual(len(errors), len(expected), errors)
        for error, text in zip(errors, expected):
            self.assertIn(text, error)

    def copy(self, source, name):
        copied = self.folder / name
        shutil.copytree(source, copied)
        self.addCleanup(shutil.rmtree, copied)
        return copied


def change_byte(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


class CheckOddFiles(Checked, SystemTest):
    """What a folder of files from elsewhere can hold in the place of files."""

    def test_fifos_and_devices_are_refused_and_not_waited_for(self):
        model = write_checkpoint(self.folder / "model")
        out, tls = self.folder / "out", self.folder / "tls"
        self.slip("split", "--model", model, "--rank", "3", "--out", out)
        self.slip("keys", "--out", tls)
        files = [*model.iterdir(), *(out / "charlie").iterdir(), *(out / "david").iterdir(),
                 *(tls / "charlie").iterdir(), *(tls / "david").iterdir()]
        self.assertGreater(len(files), 12)
        roots = [model, out, tls]
        for path in files:
            (root,) = [each for each in roots if each in path.parents]
            for odd in [os.mkfifo, lambda at: at.symlink_to("/dev/zero"), lambda at: at.mkdir()]:
                kept = path.with_name("kept")
                path.rename(kept)
                odd(path)
                errors = " ".join(self.errors(root))
                self.assertRegex(errors, f"{path}: (is not a regular file|other users may use this)")
                path.rmdir() if path.is_dir() else path.unlink()
                kept.rename(path)
        self.check(*roots)

    def test_paths_that_are_no_files(self):
        for name, odd in [("f.gguf", os.mkfifo), ("z.onnx", lambda at: at.symlink_to("/dev/zero"))]:
            path = self.folder / name
            odd(path)
            self.assert_found(path, "is not a regular file")
        for path in ["/dev/zero", "/dev", self.folder / "absent"]:
            self.assert_found(path, "expected a checkpoint")

    def test_sizes_are_looked_at_first(self):
        model = self.folder / "large"
        shutil.copytree(TINYSTORIES, model)
        os.truncate(model / "tokenizer.model", 1 << 35)  # has no blocks on the disk
        self.assert_found(model, "tokenizer.model: is longer than")
        os.truncate(model / "config.json", 1 << 40)
        self.assert_found(model, "config.json: is longer than")


class CheckCheckpoint(Checked, SystemTest):
    def test_one_that_is_right_and_what_its_split_takes(self):
        model = write_checkpoint(self.folder / "right")
        out = self.folder / "right-out"
        (report,) = self.check(model)
        self.assertEqual((report["kind"], report["ok"]), ("checkpoint", True))
        for flags in [["--rank", "3"], ["--rank", "2", "--blocks", "1"], []]:
            split = json.loads(self.slip("check", model, *flags, "--json").stdout)["paths"][0]["split"]
            self.slip("split", "--model", model, *flags, "--out", out)
            self.assertEqual(split["charlie_bytes"], (out / "charlie/charlie.safetensors").stat().st_size)
            self.assertEqual(split["check_bytes"], (out / "charlie/check.safetensors").stat().st_size)
            self.assertEqual(split["masks_bytes"], (out / "charlie/masks.safetensors").stat().st_size)
            self.assertEqual(split["david_bytes"], (out / "david/david.safetensors").stat().st_size)
            self.assertEqual(split["largest_matrix_bytes"], 4 * 32 * 16)
            shutil.rmtree(out)
        self.assertGreater(split["seconds"], 0)
        self.assertGreater(split["memory_bytes"], 0)

    def test_every_fault_is_listed(self):
        model = write_checkpoint(self.folder / "faulty", poison="model.norm.weight")
        path = model / "model.safetensors"
        data = path.read_bytes()
        (size,) = struct.unpack_from("<Q", data)
        header = json.loads(data[8:8 + size])
        q = header["model.layers.0.self_attn.q_proj.weight"]
        q["shape"] = [8, 32]
        header["stranger"] = header.pop("model.layers.1.mlp.up_proj.weight")
        text = json.dumps(header).encode()
        body = bytearray(data[8 + size:])
        begin = header["model.layers.1.mlp.gate_proj.weight"]["data_offsets"][0]
        body[begin:begin + 4] = struct.pack("<f", float("inf"))
        path.write_bytes(struct.pack("<Q", len(text)) + text + body)
        (model / "tokenizer.model").write_bytes(b"no tokenizer")
        self.assert_found(model, "model.norm.weight contains a NaN", "no tensor stranger",
                          "tokenizer.model", "q_proj.weight must be 16 x 16",
                          "no tensor model.layers.1.mlp.up_proj.weight", "gate_proj.weight contains")

    def test_what_cannot_be_opened(self):
        model = write_checkpoint(self.folder / "config", {"model_type": "unheard-of"})
        self.assert_found(model, "model_type")
        (model / "config.json").unlink()
        self.assert_found(model, "config.json: cannot be opened")

    def test_a_plan_that_does_not_fit(self):
        model = write_checkpoint(self.folder / "planned")
        plan = self.folder / "plan.json"
        plan.write_text('[[7, "q_proj", 3]]')
        result = self.slip("check", model, "--plan", plan, status=2)
        self.assertIn("error", result.stdout)
        self.assertIn("q_proj", result.stdout)
        self.refused("check", model, "--plan", plan, "--rank", "3", says=["--rank"])
        self.refused("check", model, "--blocks", "3", says=["--blocks has no meaning without --rank"])

    def test_the_bundled_model(self):
        (report,) = self.check(TINYSTORIES)
        self.assertTrue(any("tokenizer of" in finding["text"] for finding in report["findings"]))


class CheckArtifact(Checked, SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        model = write_checkpoint(cls.folder / "model")
        for rank, name in [("3", "out"), ("4", "other")]:
            result = run("slip", "split", "--model", model, "--rank", rank, "--set", "paper", "--out",
                         cls.folder / name)
            assert result.returncode == 0, result.stderr

    def test_what_is_right(self):
        out = self.folder / "out"
        reports = self.check(out, out / "charlie", out / "david", f"{out}/charlie/")
        self.assertEqual([report["kind"] for report in reports],
                         ["artifact", "Charlie's half of an artifact", "David's half of an artifact",
                          "Charlie's half of an artifact"])
        for report in reports:
            self.assertEqual({finding["level"] for finding in report["findings"]}, {"note"})

    def test_every_fault_is_listed(self):
        out = self.copy(self.folder / "out", "faulty")
        change_byte(out / "david/david.safetensors", -1)
        change_byte(out / "charlie/config.json", -2)
        (out / "charlie").chmod(0o755)
        (out / "charlie/charlie.safetensors").chmod(0o644)
        (out / "david/manifest.json").chmod(0o666)
        (report,) = self.check(out, status=2)
        found = [(finding["level"], finding["text"]) for finding in report["findings"]]
        for level, text in [("error", "charlie: other users may read it"), ("error", "config.json"),
                            ("warning", "manifest.json: other users may change it"),
                            ("error", "david.safetensors: does not have the SHA-256")]:
            self.assertTrue(any(level == a and text in b for a, b in found), (text, found))
        self.assertEqual(sum(level == "error" for level, _ in found), 4, found)

    def test_INTEG_2_the_check_of_another_split(self):
        """All digests are right, so that Charlie loads it; then an honest David is rejected."""
        mixed = self.copy(self.folder / "out", "mixed-check")
        charlie = mixed / "charlie"
        shutil.copy(self.folder / "other/charlie/check.safetensors", charlie)
        name, sums = "check.safetensors", charlie / "SHA256SUMS"
        digest = hashlib.sha256((charlie / name).read_bytes()).hexdigest()
        sums.write_text(re.sub(f"[0-9a-f]{{64}}(?=  {name})", digest, sums.read_text()))
        self.assertIn(f"{digest}  {name}\n", sums.read_text())
        errors = self.errors(mixed)
        self.assertEqual(len(errors), 8)  # the head, group 8, is whole in both
        for group, error in enumerate(errors):
            self.assertIn(f"check.safetensors: tensor group.{group}: is not what its seed and", error)
        result = self.slip("forward", "--artifact", mixed, "--engine", "hybrid", "--ids", "1", status=1,
                           says=["fails the integrity check"])
        self.assertEqual(result.stdout, "")

    def test_halves_of_two_splits(self):
        mixed = self.copy(self.folder / "out", "mixed")
        shutil.rmtree(mixed / "david")
        shutil.copytree(self.folder / "other/david", mixed / "david")
        self.assert_found(mixed, "different splits")

    def test_a_half_that_is_missing(self):
        half = self.copy(self.folder / "out", "half")
        shutil.rmtree(half / "david")
        self.assert_found(half, "david.safetensors: cannot be opened")
        (half / "charlie").rename(half / "renamed")
        self.assert_found(half / "renamed", "must be in a folder of the name charlie")

    def test_a_table_for_people(self):
        out = self.folder / "out"
        result = self.slip("check", out, self.folder, status=2,
                           says=["slip check: error: 1 of 2 paths are not in order"])
        self.assertIn(f"{out}: artifact: in order\n  note ", result.stdout)
        self.assertIn(f"{self.folder}: unknown: not in order\n  error ", result.stdout)

    def test_words(self):
        self.refused("check", says=["PATH is missing"])
        self.refused("inspect", self.folder, says=["expected only flags"])
        self.slip("check", self.folder / "none", status=2)


class Keys(Checked):
    """A TLS folder, and OpenSSL's own opinion of it."""

    def openssl(self, *arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)

    def issue(self, tls, role, days):
        """A certificate of `role` that ends so many days from now, for the key that is there."""
        usage = {"charlie": "clientAuth", "david": "serverAuth"}[role]
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days, hours=1)
        begin = end - datetime.timedelta(days=800)
        with tempfile.TemporaryDirectory(dir=self.folder) as work:
            files = {"index": "", "config": f"[ca]\ndefault_ca=d\n[d]\ndatabase={work}/index\n"
                     f"new_certs_dir={work}\nrand_serial=yes\ndefault_md=sha256\npolicy=p\n"
                     "[p]\ncommonName=supplied\n", "extensions": f"subjectAltName=DNS:{role}\n"
                     f"extendedKeyUsage={usage}\nbasicConstraints=critical,CA:FALSE\n"}
            for name, text in files.items():
                pathlib.Path(work, name).write_text(text)
            self.openssl("req", "-new", "-key", tls / role / "key.pem", "-subj", f"/CN={role}",
                         "-out", f"{work}/request")
            self.openssl("ca", "-config", f"{work}/config", "-batch", "-notext", "-in",
                         f"{work}/request", "-cert", tls / "ca/cert.pem", "-keyfile",
                         tls / "ca/key.pem", "-extfile", f"{work}/extensions", "-out",
                         tls / role / "cert.pem", "-startdate", f"{begin:%Y%m%d%H%M%SZ}",
                         "-enddate", f"{end:%Y%m%d%H%M%SZ}")


class CheckKeys(Keys, Deployment):
    def test_what_is_right(self):
        for path in [self.tls, self.tls / "ca", self.tls / "charlie", self.tls / "david"]:
            (report,) = self.check(path)
            self.assertEqual(report["kind"], "TLS folder")
            self.assertEqual({finding["level"] for finding in report["findings"]}, {"note"})
        renamed = self.copy(self.tls, "renamed") / "his"
        (renamed.parent / "david").rename(renamed)
        self.check(renamed)

    def test_every_fault_is_listed(self):
        tls = self.copy(self.tls, "faulty")
        (tls / "ca/key.pem").chmod(0o640)
        os.chown(tls / "ca/key.pem", 0, 0)
        (tls / "charlie/key.pem").chmod(0o644)
        shutil.copy(tls / "charlie/cert.pem", tls / "david/cert.pem")
        (tls / "charlie/ca.pem").write_text("no certificate")
        self.assert_found(tls, "charlie/ca.pem: is not a certificate", "charlie/key.pem: other users",
                          "david/cert.pem: is not a certificate of role david",
                          "david/key.pem: is not the private key of cert.pem")

    def test_what_is_missing(self):
        tls = self.copy(self.tls, "missing")
        shutil.rmtree(tls / "ca")  # kept elsewhere, as it should be
        (report,) = self.check(tls)
        self.assertIn("ca: is not here", report["findings"][0]["text"])
        (tls / "david/key.pem").unlink()
        self.assert_found(tls, "david/key.pem: cannot be opened")

    def test_certificates_of_another_authority(self):
        tls = self.copy(self.tls, "foreign")
        self.slip("keys", "--out", self.folder / "second")
        shutil.copy(self.folder / "second/ca/cert.pem", tls / "charlie/ca.pem")
        self.assert_found(tls, "charlie/cert.pem: was not issued by ca.pem")
        shutil.rmtree(tls / "charlie")
        shutil.copytree(self.folder / "second/charlie", tls / "charlie")
        self.assert_found(tls, "charlie/ca.pem: is not the authority of this deployment")

    def test_SESS_10_validities(self):
        tls = self.copy(self.tls, "validities")
        for days, level, text in [(31, "note", "valid until"), (29, "warning", "expires in 29 days"),
                                  (-1, "error", "expired on")]:
            self.issue(tls, "david", days)
            (report,) = self.check(tls, status=2 if level == "error" else 0)
            found = [finding for finding in report["findings"]
                     if "david/cert.pem" in finding["text"]]
            self.assertEqual([finding["level"] for finding in found], [level], found)
            self.assertIn(text, found[0]["text"])


class RenewKeys(Keys, Deployment):
    def contents(self, tls):
        return {path.relative_to(tls): path.read_bytes() for path in tls.glob("*/*")}

    def test_the_same_keys_have_new_certificates_that_work_with_the_old(self):
        tls = self.copy(self.tls, "old")
        self.issue(tls, "charlie", -1)
        before = self.contents(tls)
        with David(self.artifact / "david", tls / "david") as david:
            command = self.charlie_command(david.endpoint)
            command[command.index(self.tls / "charlie")] = tls / "charlie"
            self.slip(*command, status=1)  # expired
            self.slip("keys", "--renew", tls)
            self.assertEqual(json.loads(self.slip(*command).stdout)["ids"], self.honest_ids)
        after = self.contents(tls)
        self.assertEqual(before.keys(), after.keys())
        changed = {str(name) for name in before if before[name] != after[name]}
        self.assertEqual(changed, {"charlie/cert.pem", "david/cert.pem"})
        for role in ["charlie", "david"]:
            certificate = tls / role / "cert.pem"
            self.assertEqual(stat.S_IMODE(certificate.stat().st_mode), 0o644)
            self.openssl("verify", "-CAfile", tls / "ca/cert.pem", certificate)
        self.slip("check", tls)

    def test_what_is_no_folder_of_keys_is_refused_and_stays(self):
        def drop(*names):
            return lambda tls: [(tls / name).unlink() for name in names]

        def exchange(tls):
            (tls / "david/cert.pem").write_bytes((tls / "charlie/cert.pem").read_bytes())

        for number, (break_it, named) in enumerate([
                (drop("ca/key.pem"), "ca/key.pem"), (drop("david/cert.pem"), "david/cert.pem"),
                (drop("charlie/key.pem"), "charlie/key.pem"), (exchange, "david/"),
                (lambda tls: (tls / "ca/key.pem").chmod(0o604), "other users"),
                (lambda tls: (tls / "charlie/ca.pem").write_bytes(b""), "charlie/ca.pem")]):
            tls = self.copy(self.tls, f"broken{number}")
            break_it(tls)
            before = self.contents(tls)
            self.refused("keys", "--renew", tls, says=[named])
            self.assertEqual(self.contents(tls), before)
        self.refused("keys", "--renew", self.artifact, says=["ca/cert.pem"])
        self.refused("keys", "--renew", self.tls / "charlie", says=["ca/cert.pem"])
        self.refused("keys", "--renew", self.tls, "--out", self.folder / "x", says=["--out"])
        self.refused("keys", says=["--out or --renew"])


if __name__ == "__main__":
    unittest.main()
