"""The command line itself: help, version, exit statuses, and messages that name what is wrong."""
# test: once

import itertools
import json
import re
import subprocess
import unittest
import xml.etree.ElementTree

from slip_system import BUILD, LIMIT_S, ROOT, TINYSTORIES, SystemTest, run, write_checkpoint

COMMANDS = ["check", "plan", "split", "keys", "inspect", "david", "generate", "chat", "serve",
            "forward", "eval"]


def listed(overview):
    """The commands that `slip --help` lists."""
    return re.findall(r"^ +(\w[\w-]*)", overview, re.MULTILINE)


class Help(SystemTest):
    def test_every_command_explains_itself(self):
        for command in COMMANDS:
            text = self.slip(command, "--help").stdout
            self.assertTrue(text.startswith(f"usage: slip {command} "), text)
            self.assertRegex(text, rf"\nExample:\n  slip {command} ")
            self.assertEqual(self.slip("help", command).stdout, text)
            self.assertLessEqual(max(map(len, text.splitlines())), 101)
        self.assertIn("misbehave", self.slip("david", "--help").stdout)

    def test_every_command_that_is_listed_can_be_run(self):
        commands = listed(self.slip("--help").stdout)
        self.assertEqual(commands[:len(COMMANDS)], COMMANDS)
        for command in commands:
            self.assertIn("usage: slip", self.slip(command, "--help").stdout, command)

    def test_help_is_a_command_too(self):
        self.assertEqual(self.slip("help").stdout, self.slip("--help").stdout)
        self.slip("help", "splitt", status=2, says=["'splitt'; did you mean split?"])
        self.slip("help", "split", "keys", status=2, says=["one command"])

    def test_flags_stand_in_groups_and_a_newcomer_learns_whom_to_trust(self):
        text = self.slip("generate", "--help").stdout
        headings = re.findall(r"^([^ \n].*):$", text, re.MULTILINE)
        self.assertEqual(headings, ["Model", "The untrusted machine (David)", "Prompt", "Answer", "Output",
                                    "Help", "Example"])
        wrote = self.slip("keys", "--out", self.folder / "tls").stdout
        self.assertIn("tls/charlie (for the trusted one, Charlie) and", wrote)
        self.assertIn("tls/david (for the untrusted one, David)", wrote)
        overview = self.slip("--help").stdout
        for text, says in [(overview, "Charlie, the trusted machine"), (overview, "David, the untrusted one"),
                           (self.slip("david", "--help").stdout, "untrusted machine (David)"),
                           (self.slip("keys", "--help").stdout,
                            "TLS/charlie to the trusted machine (Charlie), "
                            "TLS/david to the untrusted one (David)"),
                           *((self.slip(command, "--help").stdout, says) for command in ("inspect", "plan")
                             for says in ("untrusted machine (David)", "trusted one (Charlie")),
                           (self.slip("split", "--help").stdout, "trusted machine (Charlie)"),
                           (self.slip("serve", "--help").stdout, "trusted machine (Charlie)")]:
            self.assertIn(says, " ".join(text.split()))

    def test_an_installed_program_lists_what_is_installed(self):
        subprocess.run(["cmake", "--install", BUILD, "--prefix", self.folder, "--component",
                        "program"], check=True, capture_output=True, timeout=LIMIT_S)
        bin_folder = self.folder / "bin"
        self.assertEqual([path.name for path in bin_folder.iterdir()], ["slip"])
        self.assertEqual(listed(run(bin_folder / "slip", "--help").stdout), COMMANDS)

        absent = run(bin_folder / "slip", "bench", "--help")
        self.assertEqual((absent.returncode, absent.stdout), (2, ""))
        self.assertIn("slip-bench is not installed", absent.stderr)

        bench = bin_folder / "slip-bench"
        bench.write_text("#!/bin/sh\necho \"usage: $1\"\n")
        self.assertEqual(listed(run(bin_folder / "slip", "--help").stdout), COMMANDS)
        bench.chmod(0o755)
        self.assertEqual(listed(run(bin_folder / "slip", "--help").stdout), [*COMMANDS, "bench"])
        self.assertEqual(run(bin_folder / "slip", "bench", "--help").stdout, "usage: --help\n")

    def test_version_names_the_protocol_and_the_artifact(self):
        text = self.slip("--version").stdout
        header = (ROOT / "include/slip/version.h").read_text()
        version = re.search(r'#define SLIP_VERSION "(.*)"', header)[1]
        self.assertTrue(text.startswith(f"slip {version} (protocol "), text)
        self.assertRegex(text, r"^slip \d+\.\d+\.\d+ \(protocol 2, artifact 3\)\n$")

    def test_the_bench_explains_itself(self):
        result = run("slip-bench", "--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("\nround --artifact OUT --david", result.stdout)
        beside = self.slip("bench", "--help")
        self.assertEqual(beside.stdout, result.stdout)


class Prompts(SystemTest):
    """A prompt that the list of processes does not show."""

    command = ["generate", "--model", TINYSTORIES, "--engine", "float", "--max-tokens", "5"]

    def test_a_file_and_standard_input(self):
        prompt = "Once upon a time\nthere was"
        expected = self.slip(*self.command, "--prompt", prompt, "--json").stdout
        file = self.folder / "prompt.txt"
        for text in [prompt, prompt + "\n"]:
            file.write_text(text)
            got = self.slip(*self.command, "--prompt-file", file, "--json").stdout
            self.assertEqual(json.loads(got)["ids"], json.loads(expected)["ids"])
            piped = subprocess.run([BUILD / "slip", *map(str, self.command), "--prompt-file", "-",
                                    "--json"], input=text, capture_output=True, text=True,
                                   timeout=LIMIT_S)
            self.assertEqual(json.loads(piped.stdout)["ids"], json.loads(expected)["ids"])

    def test_what_is_refused(self):
        missing = self.folder / "missing"
        self.refused(*self.command, says=["--prompt-file"])
        self.refused(*self.command, "--prompt-file", missing, says=[str(missing)])
        self.refused(*self.command, "--prompt-file", "-", "--ids", "1", says=["--ids"])
        self.refused(*self.command, "--prompt-file", "-", "--prompt", "x", says=["--prompt-file"])


class WrongFlags(SystemTest):
    def test_CONV_4_a_command_that_does_not_exist(self):
        for name, meant in [("splitt", "split"), ("geneate", "generate"), ("sreve", "serve"),
                            ("gen", "generate"), ("hepl", "help")]:
            self.refused(name, says=[f"'{name}'; did you mean {meant}?", "slip --help"])
        for name in ["x", "ch", "translate", "y" * 10000]:  # 'ch' may be check or chat
            self.assertNotIn("did you mean", self.refused(name).stderr)
        self.assertEqual(run("slip").returncode, 2)
        self.assertEqual(run("slip", "--model", "x").returncode, 2)

    def test_CONV_4_choices_that_do_not_exist(self):
        split = ["split", "--model", "m", "--out", "o", "--rank", "1"]
        self.refused(*split, "--attention", "both", says=["--attention", "fused or paper"])
        self.refused(*split, "--strategy", "best", says=["--strategy", "lsc, rcs"])

    def test_CONV_4_flags_are_named(self):
        generate = ["generate", "--model", "m", "--engine", "float"]
        self.refused("split", says=["--model"])
        self.refused("split", "--model", "m", says=["--out"])
        self.refused("keys", says=["--out"])
        self.refused("keys", "--oops", "x", says=["there is no flag --oops; see"])
        self.refused("keys", "--ot", "x", says=["there is no flag --ot; did you mean --out?"])
        self.refused("generate", "--max-token=5", says=["--max-token; did you mean --max-tokens?"])
        self.refused("chat", "--temprature", "1", says=["did you mean --temperature?"])
        self.refused("keys", "--out", says=["--out"])
        self.refused("keys", "tls", says=["only flags"])
        self.refused("keys", "--out", "a", "--out", "b", says=["--out"])
        self.refused(*generate, "--max-tokens", "5", says=["--prompt", "--ids"])
        self.refused(*generate, "--max-tokens", "0", "--ids", "1", says=["--max-tokens '0'"])
        self.refused(*generate, "--max-tokens", "-1", "--ids", "1", says=["--max-tokens '-1'"])
        self.refused(*generate, "--max-tokens", "5x", "--ids", "1", says=["--max-tokens '5x'"])
        self.refused("forward", "--model", "m", "--engine", "float", "--ids", "1,,2",
                     says=["--ids '1,,2'"])
        self.refused("david", "--artifact", "a", "--tls", "t", "--listen", "nowhere",
                     says=["--listen"])

    def test_CONV_4_flags_that_do_not_fit_together(self):
        tail = ["--ids", "1", "--max-tokens", "1"]
        self.refused("generate", "--engine", "fast", *tail, says=["--engine 'fast'"])
        self.refused("generate", *tail, says=["--artifact is missing, or --model"])
        self.refused("generate", "--engine", "float", "--artifact", "a", *tail, says=["--artifact"])
        self.refused("generate", "--engine", "float", *tail, says=["--model"])
        self.refused("generate", "--engine", "hybrid", "--model", "m", *tail, says=["--model"])
        self.refused("generate", "--engine", "unsplit", *tail, says=["--artifact"])
        self.refused("generate", "--engine", "unsplit", "--artifact", "a", "--david", "h:1", *tail,
                     says=["--david"])
        for limit in ["--timeout", "--patience"]:
            hybrid = ["generate", "--engine", "hybrid", "--artifact", "a", *tail]
            self.refused(*hybrid, limit, "1", says=[limit, "--david"])
            for value in ["0", "-1", "1e9", "soon"]:
                self.refused(*hybrid, "--david", "h:1", "--tls", "t", limit, value,
                             says=[f"{limit} '{value}'"])
        self.refused("generate", "--engine", "unsplit", "--artifact", "a", "--ready", "5", *tail,
                     says=["--ready"])
        self.refused("generate", "--engine", "float", "--model", "m", "--prompt", "x", *tail,
                     says=["--ids", "--prompt"])
        self.refused("generate", "--engine", "float", "--model", "m", "--seed", "1", *tail,
                     says=["--seed", "--temperature"])
        self.refused("split", "--model", "m", "--out", "o", "--plan", "p", "--rank", "1",
                     says=["--rank", "--plan"])
        self.refused("split", "--model", "m", "--out", "o", "--plan", "p", "--blocks", "1",
                     says=["--blocks", "--plan"])
        for number in ["0", "65537"]:
            self.refused("serve", "--artifact", "a", "--listen", "127.0.0.1:0", "--masks", number,
                         says=[f"--masks '{number}': expected a whole number, from 1 to 65536"])
        self.refused("split", "--model", "m", "--out", "o", "--blocks", "1",
                     says=["--blocks", "--set hidden"])
        for command in [["split", "--out", "o", "--model"], ["check"]]:
            self.refused(*command, "m", "--rank", "0", says=["--rank '0': expected a whole number, from 1"])
        self.refused("split", "--model", "m", "--out", "o", "--rank", "x", says=["--rank 'x'"])

    def test_CONV_4_kernels_that_do_not_exist(self):
        model = write_checkpoint(self.folder / "model")
        result = self.slip("split", "--model", model, "--rank", "1", "--out", self.folder / "out")
        self.assertEqual(result.returncode, 0)
        self.slip("forward", "--artifact", self.folder / "out", "--engine", "unsplit", "--ids", "1",
                  status=2, says=["portable"], env={"SLIP_KERNELS": "abacus"})


class SmallModel(SystemTest):
    """A checkpoint of random weights: every command end to end, without data from elsewhere."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = write_checkpoint(cls.folder / "model")
        cls.artifact = cls.folder / "artifact"
        assert run("slip", "split", "--model", cls.model, "--rank", "3",
                   "--out", cls.artifact).returncode == 0
        cls.hybrid = ["--artifact", cls.artifact, "--engine", "hybrid"]
        cls.unsplit = ["--artifact", cls.artifact, "--engine", "unsplit"]
        cls.float = ["--model", cls.model, "--engine", "float"]

    def test_LIN_4_hybrid_in_process_equals_unsplit(self):
        tail = ["--ids", "1,5,9", "--max-tokens", "20"]
        hybrid, hybrid_logits = self.generate("hybrid", *self.hybrid, *tail)
        unsplit, unsplit_logits = self.generate("unsplit", *self.unsplit, *tail)
        self.assertEqual(hybrid["ids"], unsplit["ids"])
        self.assertEqual(hybrid_logits, unsplit_logits)
        self.assertEqual(len(hybrid_logits), 4 * 32 * len(hybrid["ids"]))

    def test_generate_json_has_its_keys(self):
        keys = ["ids", "prompt_ids", "text", "engine", "tokens_per_second", "rounds", "bytes_up",
                "bytes_down", "checks", "charlie_seconds", "david_seconds", "round_seconds",
                "offline_seconds", "charlie_multiplications", "david_multiplications",
                "offline_multiplications", "masks_made", "masks_used", "masks_waited_for",
                "mask_wait_seconds", "kernels"]
        tail = ["--ids", "1,5", "--max-tokens", "3", "--json", "--ready", "4"]
        hybrid = json.loads(self.slip("generate", *self.hybrid, *tail).stdout)
        self.assertEqual(list(hybrid), keys)
        self.assertEqual(hybrid["engine"], "hybrid")
        self.assertEqual(hybrid["prompt_ids"], [1, 5])
        groups = 2 * 4 + 1
        self.assertEqual(hybrid["rounds"], 3 * groups)
        self.assertEqual(hybrid["checks"], hybrid["rounds"])
        for key in keys[4:-3]:
            self.assertGreater(hybrid[key], 0, key)
        self.assertEqual(hybrid["masks_used"], 4 * groups - 1)  # 2 columns, the head of one; then 1 and 1
        self.assertLessEqual(hybrid["masks_used"], hybrid["masks_made"])
        self.assertLessEqual(hybrid["masks_waited_for"], hybrid["masks_used"])
        self.assertEqual(hybrid["mask_wait_seconds"] > 0, hybrid["masks_waited_for"] > 0)
        unsplit = json.loads(self.slip("generate", *self.unsplit, *tail[:-2]).stdout)
        self.assertEqual(list(unsplit), keys)
        for key in keys[5:-1]:
            self.assertEqual(unsplit[key], 0, key)

    def test_the_engine_and_the_end_of_the_text_need_no_flag(self):
        def ids(*flags):
            return json.loads(self.slip("generate", *flags, "--ids", "1,5,9", "--json").stdout)
        in_float = ids("--model", self.model)
        self.assertEqual(in_float["engine"], "float")
        self.assertEqual(in_float["ids"], ids(*self.float, "--max-tokens", "30")["ids"])
        self.assertEqual(len(in_float["ids"]), 30)  # the context has 32 positions, and the last id takes none
        hybrid = ids("--artifact", self.artifact)
        self.assertEqual(hybrid["engine"], "hybrid")
        self.assertEqual(hybrid["ids"], ids(*self.unsplit)["ids"])
        self.refused("generate", *self.float, "--ids", ",".join(["1"] * 33), says=["max_position_embeddings"])

    def test_options_come_from_flags_then_the_environment_then_a_file(self):
        config = self.folder / "slip.conf"

        def ids(*flags, text="", **variables):
            config.write_text(text)
            out = self.slip("generate", "--config", config, *flags, env=variables).stdout
            return json.loads(out)["ids"]
        lines = f"# a model\nmodel = {self.model}\nids = 1,5,9\njson = true\nmax-tokens = 3\n"
        self.assertEqual(len(ids(text=lines)), 3)
        self.assertEqual(len(ids(text=lines, SLIP_MAX_TOKENS="4")), 4)
        self.assertEqual(len(ids("--max-tokens", "5", text=lines, SLIP_MAX_TOKENS="4")), 5)
        self.assertEqual(len(ids(SLIP_MODEL=str(self.model), SLIP_IDS="1", SLIP_JSON="true",
                                 SLIP_MAX_TOKENS="2", SLIP_KERNELS="portable")), 2)
        shown = self.slip("generate", "--config", config, env={"SLIP_JSON": "false"} | {
            "SLIP_MODEL": str(self.model), "SLIP_IDS": "1", "SLIP_MAX_TOKENS": "2"}).stdout
        self.assertNotIn("{", shown)

    def test_what_a_file_or_the_environment_says_wrongly_is_refused(self):
        config = self.folder / "slip.conf"
        generate = ["generate", *self.float, "--ids", "1"]
        for line, says in [
                (b"max-token = 3", "there is no option max-token; did you mean max-tokens?"),
                (b"--max-tokens = 3", "there is no option --max-tokens; did you mean max-tokens?"),
                (b"json = yes", "json 'yes': expected true or false"),
                (b"json = false\njson = true", None), (b"= 3", "'= 3': expected NAME = VALUE"),
                (b"max-tokens", "'max-tokens': expected NAME = VALUE"), (b"max-tokens # = 3", "'max-tokens'"),
                (b"[generate]", "'[generate]': expected NAME = VALUE"),
                (b"prompt = caf\xe9", "is not UTF-8"), (b"prompt = a\0b", "holds a NUL"),
                (b"config = other", "config has no meaning in a file"),
                (b"help = true", "help has no meaning in a file"),
                (b"max-tokens = many", "--max-tokens 'many': expected a whole number"),
                (b"temperature = hot", "--temperature 'hot': expected a number"),
                (b"tls = x", "--tls has no meaning with --engine float"),
                (b"top-p = 2", "--top-p has no meaning without"),
                (b"david = nowhere", "--david has no meaning")]:
            for before in (b"", b"# a comment\n\n  engine = float  # in one place\n"):
                config.write_bytes(before + line + b"\n")
                first = before.count(b"\n") + 1
                last = first + line.count(b"\n")
                with self.subTest(line):
                    self.refused(*generate, "--config", config, says=[
                        f"error: {config}:{last}: " + (says or f"json stands in {config}:{first} already")])
        config.write_bytes(b"\xef\xbb\xbfjson = true\n")
        self.refused(*generate, "--config", config, says=[f"{config}:1: begins with a byte order mark"])
        config.write_text("david = 127.0.0.1:1\ndavid = nowhere\n")
        self.refused("generate", "--artifact", self.artifact, "--ids", "1", "--tls", "t", "--config", config,
                     says=[f"{config}:2: --david: \"nowhere\""])
        config.write_text("log-format = xml\nlisten = 192.0.2.1:1\n")
        serve = ["serve", *self.float, "--config", config]
        self.refused(*serve, says=[f"{config}:1: --log-format 'xml'"])
        self.refused(*serve, "--log-format", "text", says=[f"{config}:2: --listen 192.0.2.1:1"])
        self.refused("generate", "--config", self.folder / "absent", says=["absent"])
        self.refused("generate", "--config", "", says=["--config"])
        # An empty variable is a value that does not do, and not an absent one: keys would be left out.
        self.slip(*generate, status=2, env={"SLIP_MAX_TOKENS": ""}, says=["SLIP_MAX_TOKENS: --max-tokens ''"])
        self.slip("serve", *self.float, "--listen", "127.0.0.1:0", status=2, env={"SLIP_API_KEYS": ""})

    def test_variables_that_are_nearly_an_options_are_told_of(self):
        generate = ["generate", *self.float, "--ids", "1", "--json"]
        for name, meant in [("SLIP_MAX_TOKEN", "SLIP_MAX_TOKENS"), ("SLIP_TEMPRATURE", "SLIP_TEMPERATURE"),
                            ("SLIP_KERNEL", "SLIP_KERNELS"), ("SLIP_CORE_FILE", "SLIP_CORE_FILES")]:
            said = self.slip(*generate, env={name: "1"}).stderr
            self.assertEqual(said, f"slip generate: warning: {name} has no effect; did you mean {meant}?\n")
        # In a server's log they are lines of it.
        said = self.slip("serve", *self.float, "--log-format", "json", "--listen", "192.0.2.1:1", status=2,
                         env={"SLIP_LIVES": "1"}).stderr
        self.assertEqual({key: json.loads(said.splitlines()[0])[key] for key in ("program", "level", "note")},
                         {"program": "slip serve", "level": "warning",
                          "note": "SLIP_LIVES has no effect; did you mean SLIP_LIVE?"})

    def test_variables_that_are_known_elsewhere_are_not_told_of(self):
        """Those of other commands, and all that anything in the repository reads."""
        options = {command: set(re.findall(r"^ +--([a-z-]+)", self.slip(command, "--help").stdout,
                                           re.MULTILINE)) for command in COMMANDS}
        folders = ("optimized", "programs", "property_tests", "experiments", "proofs", "tools")
        files = [path for folder in folders for path in (ROOT / folder).rglob("*")
                 if path.is_file() and path.suffix in (".cpp", ".py", ".sh", "")]
        text = "".join(path.read_text(errors="replace") for path in [ROOT / "run", ROOT / "test", *files])
        read = set(re.findall(r"""(?:getenv\(|environ[.a-z]*[\[(]|\$\{?)"?'?(SLIP_[A-Z_]+)""", text))
        self.assertLessEqual({"SLIP_KERNELS", "SLIP_CORE_FILES", "SLIP_BUILD", "SLIP_SHARED_DIR"}, read)
        every = read | {"SLIP_" + name.upper().replace("-", "_") for name in set().union(*options.values())}
        for command in COMMANDS:
            own = {"SLIP_" + name.upper().replace("-", "_") for name in options[command]}
            said = self.slip(command, status=2, env={name: "1" for name in every - own}).stderr
            self.assertRegex(said, r"missing|SLIP_KERNELS")  # it has come that far
            self.assertNotIn("has no effect", said)

    def test_sampling_repeats_under_a_seed(self):
        tail = ["--ids", "1", "--max-tokens", "25", "--temperature", "1.5", "--json"]

        def ids(seed):
            out = self.slip("generate", *self.float, *tail, "--seed", seed).stdout
            return json.loads(out)["ids"]
        self.assertEqual(ids("7"), ids("7"))
        self.assertNotEqual(ids("7"), ids("8"))

    def test_forward_agrees_across_engines(self):
        def logits(*engine):
            out = self.slip("forward", *engine, "--ids", "1,2,3", "--json").stdout
            return json.loads(out)["logits"]
        unsplit, in_float = logits(*self.unsplit), logits(*self.float)
        self.assertEqual(logits(*self.hybrid), unsplit)
        self.assertEqual([len(row) for row in unsplit], [32] * 3)
        largest = max(abs(a - b) for row_a, row_b in zip(unsplit, in_float)
                      for a, b in zip(row_a, row_b))
        self.assertLess(largest, 0.5)

    def test_ids_outside_the_model_are_refused(self):
        self.refused("forward", *self.float, "--ids", "32", says=["token id 32", "31"])
        self.refused("generate", *self.float, "--ids", "1", "--max-tokens", "33",
                     says=["max_position_embeddings"])

    def test_text_needs_a_tokenizer(self):
        self.refused("generate", *self.float, "--prompt", "x", "--max-tokens", "1",
                     says=["--prompt", "tokenizer"])
        (self.folder / "text").write_text("x")
        self.refused("eval", *self.float, "--text", self.folder / "text", says=["tokenizer"])
        self.refused("eval", *self.float, "--text", self.folder / "none", says=["none"])

    def test_logits_replace_an_older_file_and_never_a_folder(self):
        tail = ["--ids", "1", "--max-tokens", "1", "--logits"]
        for _ in range(2):
            self.slip("generate", *self.float, *tail, self.folder / "again")
        self.assertEqual((self.folder / "again").stat().st_mode & 0o777, 0o600)
        self.refused("generate", *self.float, *tail, self.folder, says=[str(self.folder)])

    def test_THREAT_2_the_answer_in_a_file(self):
        """Byte for byte what standard output would have had, for its owner alone, and nowhere else."""
        file = self.folder / "answer"
        file.write_text("older")
        file.chmod(0o644)
        command = ["generate", *self.float, "--ids", "1", "--max-tokens", "3"]
        for form in [[], ["--json"]]:
            printed = self.slip(*command, *form).stdout
            self.assertEqual(self.slip(*command, *form, "--output", file).stdout, "")
            written = file.read_text()
            if form:
                printed, written = json.loads(printed)["ids"], json.loads(written)["ids"]
            self.assertEqual(written, printed)
            self.assertEqual(file.stat().st_mode & 0o777, 0o600)

    def test_files_that_cannot_be_written_are_refused_before_the_model_is_read(self):
        for name, (file, says) in itertools.product(
                ["output", "logits", "trace"],
                [(self.folder, str(self.folder)), (self.folder / "none/file", "none/file"), ("", "--")]):
            self.refused("generate", "--artifact", self.folder / "no-model", "--ids", "1", f"--{name}", file,
                         says=[says])

    def test_inspect(self):
        report = json.loads(self.slip("inspect", "--artifact", self.artifact, "--json").stdout)
        self.assertEqual(len(report["layers"]), 2 * 7 + 1)
        layer = report["layers"][0]
        self.assertEqual(
            [layer[key] for key in ["tensor", "block", "layer_type", "m", "n", "rank"]],
            ["model.layers.0.self_attn.q_proj", 0, "q_proj", 16, 16, 3])
        self.assertEqual(layer["unknowns_left"], 9)
        self.assertEqual(report["set"], "paper-lattice")
        self.assertGreaterEqual(layer["activation_norm"], 1024)
        self.assertGreaterEqual(layer["modulus_margin_bits"], 0)
        self.assertAlmostEqual(layer["charlie_share"], 3 * 32 / (3 * 32 + 256))
        keys = report["layers"][1]
        self.assertEqual(keys["unknowns_left"], 3 * (8 + 3))
        warnings = " ".join(report["warnings"])
        for text in ["1 of 15 matrices have rank 0", "tied", "full logits", "null space"]:
            self.assertIn(text, warnings)
        self.assertEqual(report["max_positions"], 32)
        self.assertEqual(report["kv_cache_bytes"], 2 * 128 * (8 + 8) * 4)  # 128 positions at once
        scores = report["workspace_threads"] * 16 * 32
        activations = 32 * (3 * 16 + 2 * 16 + 2 * 8 + 2 * 24 + 4)
        row_blocks = 32 // (16 // 2)  # two heads share a key head
        self.assertEqual(report["workspace_bytes"],
                         (scores + activations) * 4 + 32 * (4 + 8) + row_blocks * 32)
        self.assertEqual([layer["layer_type"] for layer in report["layers"] if layer["head"]],
                         ["lm_head"])
        self.assertEqual([layer["tied"] for layer in report["layers"]], [False] * 14 + [True])
        self.assertEqual({layer["grid_share"] for layer in report["layers"]}, {None})
        table = self.slip("inspect", "--artifact", self.artifact).stdout
        self.assertRegex(table, r"model\.embed_tokens .* -  head, whole, tied to the embedding\n")
        self.assertIn("model.layers.1.mlp.down_proj", table)
        self.assertIn("warning: LSC leaves the null space", table)
        self.assertIn("KV cache of a sequence of 32 positions: 0.0 MB; its activations", table)

    def test_bench_decode(self):
        result = run("slip-bench", "decode", "--artifact", self.artifact, "--model", self.model,
                     "--tokens", "8", "--repetitions", "5", "--json", "--plot", self.folder / "p.svg")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        figures = {figure["name"]: figure["value"] for figure in report["figures"]}
        for name in ["unprotected_read", "decode_in_process", "decode_tls", "decode_shm", "tls_round_us"]:
            self.assertGreater(figures[name], 0, name)
        picture = xml.etree.ElementTree.parse(self.folder / "p.svg").getroot()
        texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
        self.assertTrue({"decode_tls", "decode, hybrid over TLS"} <= set(texts), texts)
        for key in ["hybrid_tokens_per_second", "int8_tokens_per_second", "ratio",
                    "offline_seconds_per_token"]:
            self.assertGreater(report[key], 0, key)
        self.assertEqual(run("slip-bench", "decode").returncode, 2)
        self.assertEqual(run("slip-bench", "report").returncode, 2)


if __name__ == "__main__":
    unittest.main()
