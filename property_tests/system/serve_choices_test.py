"""slip serve: several choices and prompts, echo, log-probabilities, EleutherAI's harness, grammars and logit
biases (SERVE-5, SERVE-10, SERVE-16)."""

import json
import math
import operator
import unittest

from serve_client import CHAT, PROMPT, Served, ServeTest, events_of, order, read_error

PROMPTS = ["Once upon a time", "The dog", "One day, a little girl"]


class ServeChoices(ServeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.served = cls.start("--plain-seeds", "--allow-all-logprobs", "--allow-grammars", "--guesses", "7")

    def choices(self, kind="text", **fields):
        status, _, body = self.served.post(kind, order(kind, **fields))
        self.assertEqual(status, 200, body)
        answer = json.loads(body)
        self.assertEqual([each["index"] for each in answer["choices"]],
                         list(range(len(answer["choices"]))))
        return answer["choices"], answer["usage"]

    def test_SERVE_5_choices_are_what_requests_with_consecutive_seeds_get(self):
        fields = dict(temperature=1.5, max_tokens=12)
        single = [self.choices(prompt=prompt, seed=seed, **fields)
                  for prompt in PROMPTS[:2] for seed in (7, 8)]
        whole, usage = self.choices(prompt=PROMPTS[:2], seed=7, n=2, best_of=2, **fields)
        self.assertEqual([each["text"] for each in whole], [each[0]["text"] for each, _ in single])
        self.assertEqual(len({each["text"] for each in whole}), 4)
        self.assertEqual(usage["completion_tokens"],
                         sum(each["completion_tokens"] for _, each in single))
        self.assertEqual(usage["prompt_tokens"], sum(each["prompt_tokens"] for _, each in single[::2]))
        body = self.served.post("text", order(prompt=PROMPTS[:2], seed=7, n=2, stream=True, **fields))[2]
        events = events_of(body)
        self.assertEqual(events[-1], "[DONE]")
        texts, ends = [""] * 4, [0] * 4
        for choice in (each for event in events[:-1] for each in json.loads(event)["choices"]):
            self.assertEqual(ends[choice["index"]], 0)
            texts[choice["index"]] += choice["text"]
            ends[choice["index"]] += choice["finish_reason"] is not None
        self.assertEqual((texts, ends), ([each["text"] for each in whole], [1] * 4))
        chat, _ = self.choices("chat", n=3, seed=7, **fields)
        self.assertEqual(chat[2]["message"], self.choices("chat", seed=9, **fields)[0][0]["message"])

    def test_SERVE_5_two_messages_of_the_user_in_a_row(self):
        user = [{"role": "user", "content": text} for text in ("Tell me", "one.")]
        joined = [{"role": "user", "content": "Tell me\n\none."}]
        twice, _ = self.choices("chat", messages=CHAT[:1] + user)
        self.assertEqual(twice, self.choices("chat", messages=CHAT[:1] + joined)[0])

    def test_SERVE_5_harmless_fields_change_nothing(self):
        fields = dict(metadata={"a": "b"}, user="x", store=True, service_tier="flex",
                      safety_identifier="y", prompt_cache_key="z")
        for kind in ("text", "chat"):
            self.assertEqual(self.choices(kind, **fields)[0], self.choices(kind)[0])

    def test_SERVE_5_log_probabilities_have_places_in_the_text(self):
        prompt = "Once there was a caf\u00e9 \U0001f600 and"
        for fields in (dict(echo=True), {}, dict(echo=True, max_tokens=0)):
            (choice,), _ = self.choices(prompt=prompt, logprobs=2, **fields)
            shown = choice["logprobs"]
            text = choice["text"] if fields else prompt + choice["text"]
            lists = [shown[name] for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset")]
            self.assertEqual(len({len(each) for each in lists}), 1)
            told = b""
            for token, value, top, offset in zip(*lists, strict=True):
                if token == "<s>":
                    self.assertEqual((value, top, offset), (None, None, 0))
                elif token.startswith("bytes:"):
                    told += bytes.fromhex(token.removeprefix("bytes:").replace("\\x", ""))
                else:
                    self.assertTrue(text[offset:].startswith(token), (token, offset))
                    told += token.encode()
                if value is not None:
                    self.assertIn(len(top), (1, 2))
                    self.assertLessEqual(value, max(top.values()))
            self.assertEqual(told.decode(), text if fields else choice["text"])
            self.assertEqual("bytes:\\xf0" in shown["tokens"], bool(fields))

    def test_SERVE_5_bytes_of_a_conversations_tokens(self):
        (choice,), _ = self.choices("chat", logprobs=True, top_logprobs=20)
        content = choice["logprobs"]["content"]
        told = b"".join(bytes(each["bytes"]) for each in content)
        self.assertEqual(told.decode().lstrip(), choice["message"]["content"].lstrip())
        for each in content:
            for entry in [each, *each["top_logprobs"]]:
                if entry["bytes"] is None:
                    self.assertIn(entry["token"], ("<s>", "</s>", "<pad>"))
                elif "\\x" not in entry["token"]:
                    self.assertEqual(bytes(entry["bytes"]).decode(), entry["token"])

    def log_probabilities(self, ids):
        """By slip forward: of each token but the first, and of the likeliest in its place."""
        rows = json.loads(self.slip("forward", "--artifact", self.artifact, "--engine", "unsplit", "--ids",
                                    ",".join(map(str, ids)), "--json").stdout)["logits"]
        result = []
        for row, token in zip(rows, ids[1:]):
            most = max(row)
            total = most + math.log(sum(math.exp(logit - most) for logit in row))
            result.append((row[token] - total, most - total))
        return result

    def test_SERVE_5_requests_of_EleutherAIs_harness(self):
        """The requests of lm_eval's model local-completions, with tokens: log-likelihoods of the endings of
        a question, four to a batch, as it reads them from the answer."""
        context = self.alone("Tom had a ball. He wanted to", 1)["prompt_ids"]
        pairs = [(context, self.alone(text, 1)["prompt_ids"][1:])
                 for text in ("play with it.", "eat the moon.", "sleep", "be")]
        body = {"model": "tiny", "prompt": [whole + ending for whole, ending in pairs], "temperature": 0,
                "max_tokens": 1, "logprobs": 1, "seed": 1234, "echo": True}
        status, _, answer = self.served.post("text", body)
        self.assertEqual(status, 200, answer)
        answers = sorted(json.loads(answer)["choices"], key=operator.itemgetter("index"))
        for (whole, ending), choice in zip(pairs, answers, strict=True):
            values = choice["logprobs"]["token_logprobs"][len(whole):-1]
            tops = choice["logprobs"]["top_logprobs"][len(whole):-1]
            expected = self.log_probabilities(whole + ending)[len(whole) - 1:]
            self.assertEqual(len(values), len(ending))
            self.assertAlmostEqual(sum(values), sum(value for value, _ in expected), places=4)
            greedy = all(value == max(top.values()) for value, top in zip(values, tops, strict=True))
            self.assertEqual(greedy, all(value == most for value, most in expected))
        until = {"model": "tiny", "prompt": [PROMPT], "max_tokens": 24, "temperature": 0,
                 "stop": [".", "\n"], "seed": 1234}
        (choice,) = json.loads(self.served.post("text", until)[2])["choices"]
        self.assertEqual(choice["text"], self.alone(PROMPT, 24)["text"].split(".")[0])

    def test_SERVE_5_an_end_of_text_has_its_log_probability(self):
        end = 2  # </s>
        (choice,), usage = self.choices(logprobs=0, max_tokens=1, logit_bias={str(end): 100})
        self.assertEqual(choice["logprobs"]["tokens"], ["</s>"])
        self.assertEqual((choice["text"], choice["finish_reason"]), ("", "stop"))
        self.assertEqual(usage["completion_tokens"], 0)

    def test_SERVE_16_every_answer_is_a_text_of_the_grammar(self):
        for seed in range(6):
            fields = dict(temperature=1.5, seed=seed, max_tokens=200)
            (choice,), _ = self.choices(grammar='root ::= ("yes" | "no" | "caf\\u00e9") [0-9]{2}', **fields)
            self.assertRegex(choice["text"], r"^(yes|no|caf\u00e9)[0-9][0-9]$")
            self.assertEqual(choice["finish_reason"], "stop")
            short = fields | {"max_tokens": 60}
            (choice,), _ = self.choices("chat", response_format={"type": "json_object"}, **short)
            text = choice["message"]["content"]
            if choice["finish_reason"] == "stop":
                self.assertIsInstance(json.loads(text), dict)
            else:
                self.assertTrue(text.startswith("{"))
            schema = {"type": "object", "additionalProperties": False, "required": ["z", "a"], "properties": {
                "z": {"enum": ["red", "green"]}, "a": {"type": "integer"},
                "list": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3}}}
            wanted = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}
            (choice,), _ = self.choices("chat", response_format=wanted, **fields)
            value = json.loads(choice["message"]["content"])
            self.assertEqual(choice["finish_reason"], "stop")
            self.assertIn(value["z"], ("red", "green"))
            self.assertIs(type(value["a"]), int)
            self.assertLessEqual(set(value), {"z", "a", "list"})
            self.assertEqual(list(value)[:2], ["z", "a"])  # in the order of the schema
            self.assertTrue(0 < len(value.get("list", [True])) < 4)
        # Where nothing can follow, it ends at once; where the prompt has no text, no space comes first.
        (choice,), usage = self.choices(grammar='root ::= ""')
        self.assertEqual((choice["text"], usage["completion_tokens"]), ("", 0))
        (choice,), _ = self.choices(prompt="", grammar='root ::= " a" | "b"')
        self.assertIn(choice["text"], (" a", "b"))

    def test_SERVE_16_grammars_that_cannot_be_used_are_refused_with_the_field(self):
        deep = {"anyOf": [{"$ref": "#"}]}
        for field, fields in [("grammar", {"grammar": "root ::= root"}), ("grammar", {"grammar": 1}),
                              ("response_format.type", {"response_format": {"type": "xml"}}),
                              ("response_format", {"response_format": 1}),
                              ("response_format", {"grammar": 'root ::= "a"',
                                                   "response_format": {"type": "json_object"}}),
                              ("response_format.json_schema", {"response_format": {"type": "json_schema"}}),
                              ("response_format.json_schema.schema", {"response_format": {
                                  "type": "json_schema", "json_schema": {"name": "x", "schema": deep}}}),
                              ("response_format.json_schema.x", {"response_format": {
                                  "type": "json_schema", "json_schema": {"x": 1, "schema": {}}}})]:
            with self.subTest(fields):
                self.assertEqual(read_error(self.served.post("chat", order("chat", **fields)), 400)["param"],
                                 field)
        ambiguous = 'root ::= "a" root "x" | "a" root "y" | "a"{24} "b"'
        for stream in (False, True):
            answer = self.served.post("text", order(grammar=ambiguous, max_tokens=100, stream=stream))
            if stream:
                self.assertIn("too ambiguous", json.loads(events_of(answer[2])[-1])["error"]["message"])
            else:
                self.assertIn("too ambiguous", read_error(answer, 400)["message"])

    def test_SERVE_10_a_bias_makes_a_token_come_or_not(self):
        first = self.alone(PROMPT, 1)["ids"][0]
        (choice,), _ = self.choices(max_tokens=1, logit_bias={str(first): -100}, logprobs=20)
        shown = choice["logprobs"]
        self.assertEqual(shown["token_logprobs"][0], sorted(shown["top_logprobs"][0].values())[-2])
        for bias in ({"-1": 1}, {"x": 1}, {"2048": 1}, {"1": 101}, {"1": "1"}, [1]):
            error = read_error(self.served.post("text", order(logit_bias=bias)), 400)
            self.assertTrue(error["param"].startswith("logit_bias"), error)

    def test_SERVE_10_what_the_owner_does_not_allow(self):
        fields = [("logit_bias", {"logit_bias": {"1": 1}}), ("grammar", {"grammar": 'root ::= "a" | "b"'}),
                  ("response_format", {"response_format": {"type": "json_schema", "json_schema": {
                      "name": "x", "schema": {"enum": ["a", "b"]}}}})]
        with self.unsplit("--allow-logprobs") as served:
            for name, field in fields:
                self.assertEqual(read_error(served.post("text", order(**field)), 400)["param"], name)
            status, _, body = served.post("text", order(response_format={"type": "json_object"}))
            self.assertEqual(status, 200, body)
            # Of a prompt's tokens, no more than of chosen ones.
            ids = self.alone(PROMPT, 1)["prompt_ids"]
            body = served.post("text", order(prompt=[*ids, *range(300, 320)], echo=True, logprobs=20))[2]
            shown = json.loads(body)["choices"][0]["logprobs"]
            for value, top in zip(shown["token_logprobs"][1:], shown["top_logprobs"][1:], strict=True):
                self.assertTrue(value == -9999.0 or value >= min(top.values()))
            self.assertIn(-9999.0, shown["token_logprobs"])

    def test_SERVE_4_without_keys_all_clients_are_one_tenant(self):
        for flags, cached in (((), True), (("--prompt-cache", "0"), False)):
            with self.unsplit(*flags) as served:
                for _ in range(2):
                    answer = json.loads(served.post("text", order(prompt=PROMPT * 4))[2])
                    served.wait_for(lambda: served.metric("live_generations") == 0)
                details = answer["usage"]["prompt_tokens_details"]
                self.assertEqual(details["cached_tokens"] > 0, cached)

    def test_SERVE_5_SERVE_16_the_same_over_the_protocol(self):
        """In one process: prompts whose logits are all wanted, and masked choices."""
        asked = [order(prompt=PROMPTS, echo=True, logprobs=3, max_tokens=4),
                 order(grammar='root ::= [a-z ]{20} "."', max_tokens=40)]
        answers = []
        for flags in (["--engine", "unsplit"], ["--engine", "hybrid"]):
            with Served("--artifact", self.artifact, "--model-name", "tiny", "--allow-all-logprobs",
                        "--allow-grammars", *flags) as served:
                answers.append([json.loads(served.post("text", each)[2])["choices"] for each in asked])
        self.assertEqual(*answers)
        self.assertRegex(answers[0][1][0]["text"], r"^[a-z ]{20}\.$")


if __name__ == "__main__":
    unittest.main()
