"""slip chat at a terminal and through a pipe; how slip generate chooses tokens and stops."""
# test: once

import fcntl
import json
import math
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
import unittest

from slip_system import BUILD, LIMIT_S, TINYSTORIES, SystemTest

MODEL = ("--model", TINYSTORIES, "--engine", "float")
PROMPT = ("--prompt", "Once upon a time", "--max-tokens", "40")


class Choices(SystemTest):
    def generated(self, *flags):
        return json.loads(self.slip("generate", *MODEL, *PROMPT, "--json", *flags).stdout)

    def test_MODEL_17_flags_reach_the_choice(self):
        greedy = self.generated()
        warm = self.generated("--temperature", "1", "--seed", "3")
        self.assertNotEqual(warm["ids"], greedy["ids"])
        for narrow in (("--top-k", "1"), ("--top-p", "0.000001"), ("--min-p", "1")):
            self.assertEqual(self.generated("--temperature", "1", "--seed", "3", *narrow)["ids"],
                             greedy["ids"], narrow)
        self.assertLess(len(set(greedy["ids"])), len(greedy["ids"]))
        for penalty in ("--presence-penalty", "--frequency-penalty", "--repetition-penalty"):
            distinct = self.generated(penalty, "100")["ids"]
            self.assertEqual(len(set(distinct)), len(distinct), penalty)

    def test_MODEL_17_wrong_values_name_the_flag(self):
        for flag, value in (("--top-p", "0"), ("--top-p", "1.1"), ("--min-p", "2"), ("--top-k", "0"),
                            ("--repetition-penalty", "0")):
            self.refused("generate", *MODEL, *PROMPT, "--temperature", "1", flag, value, says=[flag])
        for flag in ("--top-p", "--top-k", "--min-p"):
            self.refused("generate", *MODEL, *PROMPT, flag, "1", says=[flag, "--temperature"])
        self.refused("generate", *MODEL, *PROMPT, "--log-probabilities", "1", says=["--json"])
        self.refused("generate", *MODEL, *PROMPT, "--stop", "", says=["not empty"])

    def test_MODEL_21_guesses_change_no_token_and_no_logit(self):
        found = []
        for guesses in ("0", "1", "15"):
            logits = self.folder / f"logits-{guesses}"
            out = self.slip("generate", *MODEL, "--prompt", "Tom ran. Tom ran. Tom ran. Tom ran.",
                            "--max-tokens", "60", "--temperature", "0.3", "--seed", "5", "--json",
                            "--guesses", guesses, "--logits", logits).stdout
            found.append((json.loads(out)["ids"], logits.read_bytes()))
        self.assertEqual(found, found[:1] * 3)
        self.refused("generate", *MODEL, *PROMPT, "--guesses", "16", says=["--guesses"])

    def test_MODEL_17_a_stop_ends_the_text_before_it(self):
        whole = self.generated()["text"]
        stop = whole[20:27]
        before = whole[:whole.index(stop)]
        stopped = self.generated("--stop", "nowhere", "--stop", stop)
        self.assertEqual(stopped["text"], before)
        self.assertLess(len(stopped["ids"]), 40)
        shown = self.slip("generate", *MODEL, *PROMPT, "--stop", stop).stdout
        self.assertEqual(shown, before + "\n")

    def test_MODEL_17_log_probabilities_are_those_of_the_logits(self):
        logits = self.folder / "logits"
        out = self.generated("--log-probabilities", "3", "--logits", logits)
        rows = struct.iter_unpack("<2048f", logits.read_bytes())
        for choice, chosen, row in zip(out["choices"], out["ids"], rows, strict=True):
            total = math.log(sum(math.exp(value) for value in row))
            self.assertEqual(choice["id"], chosen)
            self.assertAlmostEqual(choice["log_probability"], row[chosen] - total, places=9)
            best = sorted(range(len(row)), key=lambda index: (-row[index], index))[:3]
            self.assertEqual([entry["id"] for entry in choice["likeliest"]], best)
        self.assertNotIn("choices", self.generated())


class Chat(SystemTest):
    FLAGS = ("--chat-format", "llama2", "--temperature", "0", "--max-tokens", "12")

    def chat(self, lines, *flags):
        result = subprocess.run([BUILD / "slip", "chat", *MODEL, *self.FLAGS, *flags], text=True,
                                input="".join(line + "\n" for line in lines), capture_output=True,
                                timeout=LIMIT_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def said(self, lines, *flags):
        """The answers to lines that come through a pipe."""
        return self.chat(lines, *flags).stdout.splitlines()

    def test_MODEL_18_a_conversation_remembers_until_it_is_reset(self):
        first = self.said(["Hello"])
        again = self.said(["Hello", "/reset", "Hello", "/exit", "Hello"])
        self.assertEqual(again, first * 2)
        remembered = self.said(["Hello", "Hello"])
        self.assertEqual(remembered[:len(first)], first)
        self.assertNotEqual(remembered[len(first):], first)
        self.assertNotEqual(self.said(["Hello"], "--system", "A cat ran."), first)

    def test_MODEL_18_the_format_must_be_shown_or_named(self):
        self.refused("chat", *MODEL, says=["chat_template", "--chat-format", "chatml", "phi3"])
        self.refused("chat", *MODEL, "--chat-format", "alpaca", says=["alpaca", "chatml"])
        self.refused("chat", *MODEL, "--chat-format", "gemma", says=["<end_of_turn>"])

    def test_MODEL_18_an_artifact_keeps_the_template(self):
        model = self.folder / "model"
        shutil.copytree(TINYSTORIES, model)
        (model / "tokenizer_config.json").write_text(
            json.dumps({"chat_template": "{{ '[INST] <<SYS>>' }}"}))
        out = self.folder / "split"
        self.slip("split", "--model", model, "--rank", "4", "--out", out)
        result = subprocess.run([BUILD / "slip", "chat", "--artifact", out, "--engine", "hybrid",
                                 "--max-tokens", "4"], input="Hi\n", capture_output=True, text=True,
                                timeout=LIMIT_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotEqual(result.stdout, "")

    def test_what_begins_with_a_slash_is_never_sent(self):
        first = self.said(["Hello"])
        for line in ["/rest", "/", "/usr/bin", "/exit now"]:
            result = self.chat(["Hello", line, "/reset", "Hello"])
            self.assertEqual(result.stdout.splitlines(), first * 2)
            self.assertIn(f"There is no command '{line}'", result.stderr)
        self.assertIn("did you mean /reset?", self.chat(["/rest"]).stderr)
        self.assertNotEqual(self.said([" /reset"]), [])
        shown = self.said(["/help"])
        self.assertTrue(any("/reset" in line for line in shown), shown)

    def test_a_full_context_forgets_the_oldest_turns_and_says_so_once(self):
        model = self.folder / "short"
        shutil.copytree(TINYSTORIES, model)
        config = json.loads((model / "config.json").read_text())
        config["max_position_embeddings"] = 96
        (model / "config.json").write_text(json.dumps(config))
        flags = ["chat", "--model", model, *self.FLAGS]

        def chat(*lines):
            result = subprocess.run([BUILD / "slip", *map(str, flags)], capture_output=True, text=True,
                                    input="".join(f"{line}\n" for line in lines), timeout=LIMIT_S)
            self.assertEqual(result.returncode, 0, result.stderr)
            return result
        names = ("Tom", "Lily", "Ben", "Max", "Sue")
        full = chat(*(f"Tell me about {name} and the {name} tree." for name in names))
        self.assertEqual(full.stderr.count("oldest turns are forgotten"), 1, full.stderr)
        long = chat("once upon a time " * 40, "Hello")
        self.assertIn("does not fit the model's context of 96 tokens", long.stderr)
        hello = chat("Hello")
        self.assertEqual((long.stdout, hello.stderr), (hello.stdout, ""))


class AtATerminal(SystemTest):
    """A terminal of xterm's kind that a test types at."""

    def begin(self, *flags, model=TINYSTORIES):
        self.terminal, program_side = pty.openpty()
        self.addCleanup(os.close, self.terminal)
        command = [BUILD / "slip", "chat", "--model", model, "--chat-format", "llama2", *flags]
        self.program = subprocess.Popen(command,
                                        stdin=program_side, stdout=program_side, stderr=program_side,
                                        start_new_session=True, env=os.environ | {"TERM": "xterm"},
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.addCleanup(self.program.wait)
        self.addCleanup(self.program.kill)
        os.close(program_side)
        self.unread = ""

    def until(self, text, seconds=60):
        """Reads up to this text; returns what came before it."""
        end = time.monotonic() + seconds
        while text not in self.unread and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.unread += os.read(self.terminal, 4096).decode(errors="replace")
        self.assertIn(text, self.unread)
        before, self.unread = self.unread.split(text, 1)
        return before

    def prompt(self):
        """Reads up to the prompt; returns what came before it, when keys go to the editor."""
        before = self.until("> ")
        while termios.tcgetattr(self.terminal)[3] & termios.ICANON:
            self.assertIsNone(self.program.poll())
            time.sleep(0.01)
        return before

    def interrupt(self):
        """What the terminal does at Ctrl-C, but that it would also throw away what it has not shown yet."""
        os.killpg(self.program.pid, signal.SIGINT)

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    def leave(self):
        self.type("/exit\n")
        self.assertEqual(self.program.wait(30), 0)

    def test_a_newcomer_is_greeted(self):
        self.begin()
        greeting = self.prompt()
        for text in ["trusted one (Charlie)", "chat format llama2", "engine float", "/help"]:
            self.assertIn(text, greeting)
        self.type("/hlep\n")
        self.until("did you mean /help?")
        self.prompt()
        self.type("/help\n")
        self.until("/reset")
        self.prompt()  # before it, Ctrl-D would be the terminal's, and be lost
        self.type("\x04")  # Ctrl-D
        self.assertEqual(self.program.wait(30), 0)

    def test_interrupts_stop_the_answer_and_not_the_program(self):
        long = self.folder / "long"  # of an answer that repeats itself for more than a minute
        shutil.copytree(TINYSTORIES, long)
        self.addCleanup(shutil.rmtree, long)
        config = json.loads((long / "config.json").read_text()) | {"max_position_embeddings": 32768}
        (long / "config.json").write_text(json.dumps(config))
        self.begin("--max-tokens", "30000", "--temperature", "0", model=long)
        self.prompt()
        self.type("Tell me a story\n")
        self.until("story\r\n")
        self.until(" ")
        self.interrupt()
        self.until("(stopped)")
        self.prompt()
        self.type("half a line")
        self.until("half a line")
        self.interrupt()
        self.prompt()
        self.leave()

    def test_lines_are_edited_and_remembered_in_memory_alone(self):
        """A line is a command that does not exist, so that what was typed is shown as the program read it."""
        self.begin()
        self.prompt()
        self.type("/bxar\x1b[D\x1b[D\x7fl\u00e9\n")  # left twice, backspace, two letters
        self.until("no command '/bl\u00e9ar'")
        self.prompt()
        self.type("\x1b[A\x7f\n")  # the line before, without its end
        self.until("no command '/bl\u00e9a'")
        self.prompt()
        self.leave()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_history_that_was_asked_for_is_private(self):
        file = self.folder / "history"
        self.addCleanup(file.unlink)
        for number, keys in enumerate(["/one\n", "\x1b[A\x1b[A\n"]):  # then the line before /exit
            self.begin("--history", str(file))
            self.prompt()
            self.type(keys)
            self.until("no command '/one'")
            self.prompt()
            self.leave()
            self.assertEqual(file.stat().st_mode & 0o777, 0o600)
            self.assertEqual(sorted(file.read_text().splitlines()), sorted(["/exit", "/one"] * (number + 1)))
        self.refused("chat", *MODEL, "--history", file,
                     says=["--history has no meaning where no terminal is"])


if __name__ == "__main__":
    unittest.main()
