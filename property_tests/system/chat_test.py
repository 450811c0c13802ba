"""slip chat at a terminal and through a pipe; how slip generate chooses tokens and stops."""

import fcntl
import json
import math
import os
import pty
import select
import shutil
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

    def said(self, lines, *flags):
        """The answers to lines that come through a pipe."""
        result = subprocess.run([BUILD / "slip", "chat", *MODEL, *self.FLAGS, *flags], text=True,
                                input="".join(line + "\n" for line in lines), capture_output=True,
                                timeout=LIMIT_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.splitlines()

    def test_MODEL_18_a_conversation_remembers_until_it_is_reset(self):
        first = self.said(["Hello"])
        again = self.said(["Hello", "/reset", "Hello", "/exit", "Hello"])
        self.assertEqual(again, first * 2)
        remembered = self.said(["Hello", "Hello"])
        self.assertEqual(remembered[:len(first)], first)
        self.assertNotEqual(remembered[len(first):], first)
        self.assertNotEqual(self.said(["Hello"], "--system", "A cat ran."), first)

    def test_MODEL_18_the_format_must_be_shown_or_named(self):
        self.refused("chat", *MODEL, says=["chat_template"])
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

    def test_interrupts_stop_the_answer_and_not_the_program(self):
        terminal, program_side = pty.openpty()
        program = subprocess.Popen([BUILD / "slip", "chat", *MODEL, "--chat-format", "llama2",
                                    "--max-tokens", "400", "--temperature", "5"],
                                   stdin=program_side, stdout=program_side, stderr=program_side,
                                   start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        os.close(program_side)

        unread = ""

        def until(text, seconds=60):
            """Reads up to this text."""
            nonlocal unread
            end = time.monotonic() + seconds
            while text not in unread and time.monotonic() < end:
                if select.select([terminal], [], [], 0.1)[0]:
                    unread += os.read(terminal, 4096).decode(errors="replace")
            self.assertIn(text, unread)
            unread = unread.split(text, 1)[1]

        until("> ")
        os.write(terminal, b"Tell me a story\n")
        until("story\r\n")
        until(" ")
        os.write(terminal, b"\x03")
        until("(stopped)")
        until("> ")
        os.write(terminal, b"half a line")
        until("half a line")
        os.write(terminal, b"\x03")
        until("> ")
        os.write(terminal, b"/exit\n")
        self.assertEqual(program.wait(30), 0)
        os.close(terminal)


if __name__ == "__main__":
    unittest.main()
