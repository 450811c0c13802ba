"""slip serve under load: many clients at once, over TLS, whose masks are made meanwhile. No answer may
be lost, wrong or another client's (SERVE-1, SERVE-5, SERVE-9)."""
# test: once

import concurrent.futures
import contextlib
import json
import os
import random
import re
import time
import unittest

from serve_client import PATHS, Served, ServeTest, order, read_stream, read_whole
from slip_system import LIMIT_S, David

# (clients, seconds)
LOAD = (64, 60) if "SLIP_FULL" in os.environ else (8, 2)
MASKS, BATCH = 128, 16  # per group; how many are made at a time, by default
PROMPTS = ["Once upon a time", "The dog", "One day, a little girl", "Tom and Mia went", "A big red ball",
           "There was a cat who"]


class Client:
    """Asks one thing after the other on one connection, and now and then goes in the middle of an answer."""

    def __init__(self, served, table, seed):
        self.served, self.table, self.draw = served, table, random.Random(seed)
        self.answered = self.left = 0

    def ask_until(self, end):
        with contextlib.closing(self.served.connect()) as connection:
            while time.monotonic() < end:
                if self.draw.random() < 0.1:
                    self.ask_and_go()
                else:
                    self.ask(connection)
        return self

    def ask(self, connection):
        fields, expected = self.draw.choice(self.table)
        stream = self.draw.random() < 0.5
        self.send(connection, stream=stream, **fields)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise AssertionError(f"{fields}: lost, with status {answer.status}: {body}")
        text = (read_stream if stream else read_whole)("text", body)["text"]
        if text != expected:
            raise AssertionError(f"{fields}: {text!r} in place of {expected!r}")
        self.answered += 1

    def ask_and_go(self):
        fields, _ = self.draw.choice(self.table)
        with contextlib.closing(self.served.connect()) as connection:
            self.send(connection, stream=True, **fields)
            if self.draw.random() < 0.5:
                connection.getresponse().read(200)
        self.left += 1

    @staticmethod
    def send(connection, **fields):
        connection.request("POST", PATHS["text"], json.dumps(order(**fields)),
                           {"Content-Type": "application/json"})


class ServeTable:
    """With uniform masks."""

    SET = "paper"

    def table(self):
        """Orders, and the text of the unsplit model for each. No two texts are equal."""
        table = []
        for number, prompt in enumerate(PROMPTS):
            tokens = 10 + 4 * number
            heat = 0.8 if number % 2 else 0
            drawn = ["--temperature", heat, "--seed", number] if heat else []
            alone = self.alone(prompt, tokens, *drawn)
            table.append(({"prompt": prompt, "max_tokens": tokens, "temperature": heat, "seed": number},
                          alone["text"]))
        self.assertEqual(len({text for _, text in table}), len(table))
        return table


class ServeLoad(ServeTable, ServeTest):
    """Whose stock --masks bounds."""

    STOCK = ["--masks", MASKS]

    def test_SERVE_1_SERVE_5_no_answer_is_lost_wrong_or_anothers(self):
        clients, seconds = LOAD
        table = self.table()
        with David(self.artifact / "david", self.tls / "david") as david, \
                Served("--artifact", self.artifact, "--model-name", "tiny", "--tls", self.tls / "charlie",
                       "--david", david.endpoint, *self.STOCK, "--plain-seeds") as served, \
                concurrent.futures.ThreadPoolExecutor(clients) as pool:
            end = time.monotonic() + seconds
            done = list(pool.map(lambda seed: Client(served, table, seed).ask_until(end), range(clients)))
            self.assertTrue(all(client.answered > 0 for client in done))
            answered = sum(client.answered for client in done)
            served.wait_for(lambda: served.metric("live_generations") == 0)
            self.assertEqual([served.metric(name) for name in ("sessions_total", "rejects_total")], [1, 0])
            self.assertEqual(served.metric('generations_total{reason="failed"}'), 0)
            self.assert_stock(served)
        if "SLIP_FULL" in os.environ:
            print(f"{clients} clients, {seconds} s: {answered} answers, all right; "
                  f"{sum(client.left for client in done)} clients went in the middle")

    def assert_stock(self, served):
        """While nothing runs, the stock is filled, but for what is less than one batch; the metrics and the
        page show it."""
        full = served.metric("full_stock_tokens")
        self.assertEqual(full, MASKS)
        served.wait_for(lambda: full - BATCH < served.metric("stock_tokens") <= full)
        shown = re.search(r'<dd id="stock">(\d+) of (\d+)</dd>', served.get("/")[2].decode())
        self.assertEqual(int(shown[2]), full)
        self.assertTrue(full - BATCH < int(shown[1]) <= full, shown[0])

    def test_what_sizes_masks_that_the_model_does_not_have_is_refused(self):
        wrong, right = ["--mask-memory", "--masks"] if self.SET == "paper" else ["--masks", "--mask-memory"]
        # It listens before the model is open.
        self.slip("serve", "--artifact", self.artifact, "--listen", "127.0.0.1:0", wrong, 256, status=2,
                  says=["slip serve: error: ", "has only", wrong, right])
        self.slip("generate", "--artifact", self.artifact, "--ids", "1,5", "--max-tokens", 1, "--ready", 100)

    def test_without_masks_the_page_shows_no_stock(self):
        self.refused("serve", "--artifact", self.artifact, "--engine", "unsplit", "--listen", "127.0.0.1:0",
                     "--masks", 128, says=["--masks"])
        with self.unsplit() as served:
            self.assertEqual(served.metric("full_stock_tokens"), 0)
            self.assertNotIn('id="stock"', served.get("/")[2].decode())


class ServeLoadWithFaults(ServeTable, ServeTest):
    """Of three Davids one is killed and one is stopped while all clients ask."""

    def test_SERVE_13_no_answer_is_lost_while_davids_are(self):
        clients, seconds = LOAD if "SLIP_FULL" in os.environ else (16, 4)
        table = self.table()
        with contextlib.ExitStack() as stack:
            davids = [stack.enter_context(David(self.artifact / "david", self.tls / "david"))
                      for _ in range(3)]
            served = stack.enter_context(Served(
                "--artifact", self.artifact, "--model-name", "tiny", "--tls", self.tls / "charlie",
                "--plain-seeds", "--david-timeout", "3", "--reopen", LIMIT_S,
                *(word for david in davids for word in ("--david", david.endpoint))))
            pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(clients))
            end = time.monotonic() + seconds + 3
            asked = [pool.submit(Client(served, table, seed).ask_until, end) for seed in range(clients)]
            for sessions, hurt in [(1, davids[0].process.kill), (2, davids[1].hang)]:
                before = served.metric("generated_tokens_total")
                served.wait_for(lambda: served.metric("generated_tokens_total") > before + 20)
                self.assertEqual(served.metric("sessions_total"), sessions)
                hurt()
                served.wait_for(lambda: served.metric("sessions_total") > sessions)
            done = [each.result() for each in asked]
            self.assertEqual(served.metric('generations_total{reason="failed"}'), 0)
        self.assertTrue(all(client.answered > 0 for client in done))
        if "SLIP_FULL" in os.environ:
            print(f"{clients} clients, {seconds} s, a David killed and one stopped: "
                  f"{sum(client.answered for client in done)} answers, all right")


class ServeLoadOfLatticeMasks(ServeLoad, ServeTest):
    """Whose blocks all generations share."""

    SET = "paper-lattice"
    STOCK = ["--mask-memory", 256]

    def assert_stock(self, served):
        self.assertEqual(served.metric("full_stock_tokens"), 256)
        served.wait_for(lambda: 0 < served.metric("stock_tokens") <= 256)
        made, used, waited = (served.metric(f"masks_{what}_total") for what in ("made", "used", "waited_for"))
        self.assertEqual(made % 256, 0)
        self.assertTrue(waited <= used <= made and used > 0, (made, used, waited))
        self.assertGreater(served.metric("mask_seconds_total"), 0)


if __name__ == "__main__":
    unittest.main()
