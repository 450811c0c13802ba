"""slip serve: functions that clients offer, calls that answers make, and their results (SERVE-17)."""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

from serve_client import Served, events_of, read_error
from slip_system import LIMIT_S, ROOT, SystemTest
from tool_models import FAMILIES, ids_of_marks, make_model

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Weather of a place.",
    "parameters": {"type": "object", "required": ["city", "sure"], "additionalProperties": False,
                   "properties": {"city": {"type": "string", "enum": ["Bonn", "Z\u00fcrich"]},
                                  "days": {"type": "integer"}, "sure": {"type": "boolean"}}}}}
NOW = {"type": "function", "function": {"name": "now"}}
ASKED = [{"role": "user", "content": "Weather?"}]
BEGINS = {"qwen": "<tool_call>", "mistral": "[TOOL_CALLS]"}


def order(**fields):
    return {"model": "tiny", "messages": ASKED, "tools": [WEATHER, NOW], "temperature": 1, "seed": 7,
            "max_tokens": 200, "parallel_tool_calls": False} | fields


def named(name):
    return {"type": "function", "function": {"name": name}}


def call(number, name, arguments):
    return {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(number, text):
    return {"role": "tool", "tool_call_id": number, "content": text}


def talk(text, number="call00001"):
    """A question, a call and its result."""
    calls = [call(number, "get_weather", '{"city":"Bonn"}')]
    return [*ASKED, {"role": "assistant", "content": None, "tool_calls": calls}, result(number, text)]


class ToolServers(SystemTest):
    """A server per family; what is asked of the first is asked of all."""

    FLAGS = ("--plain-seeds", "--allow-all-logprobs", "--allow-grammars")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.served = {}
        for family in FAMILIES:
            server = Served("--model", make_model(cls.folder, family), "--model-name", "tiny", *cls.FLAGS)
            server.__enter__()
            cls.addClassCleanup(server.__exit__, None, None, None)
            cls.served[family] = server

    def choice(self, family, **fields):
        """The message, and why it ended."""
        status, _, body = self.served[family].post("chat", order(**fields))
        self.assertEqual(status, 200, body)
        (choice,) = json.loads(body)["choices"]
        self.assertEqual(choice["message"]["role"], "assistant")
        return choice["message"], choice["finish_reason"]

    def read_call(self, family, one):
        """The name and the arguments, which are an object."""
        self.assertEqual((set(one), one["type"]), ({"id", "type", "function"}, "function"))
        self.assertRegex(one["id"], "^[0-9a-f]{9}$" if family == "mistral" else "^call_[0-9a-f]{24}$")
        self.assertEqual(set(one["function"]), {"name", "arguments"})
        arguments = json.loads(one["function"]["arguments"])
        self.assertIsInstance(arguments, dict)
        return one["function"]["name"], arguments

    def check_fits(self, name, arguments):
        """By the functions that were offered."""
        if name == "now":
            return self.assertEqual(arguments, {})
        self.assertEqual(name, "get_weather")
        self.assertLessEqual({"city", "sure"}, set(arguments))
        self.assertLessEqual(set(arguments), {"city", "sure", "days"})
        self.assertIn(arguments["city"], ("Bonn", "Z\u00fcrich"))
        self.assertIs(type(arguments["sure"]), bool)
        return self.assertIs(type(arguments.get("days", 1)), int)

    def test_SERVE_17_a_forced_call_parses_and_fits(self):
        for family in FAMILIES:
            names = set()
            for seed in range(4):
                for choice in ("required", named("now"), named("get_weather")):
                    with self.subTest(family=family, seed=seed, choice=choice):
                        message, reason = self.choice(family, seed=seed, tool_choice=choice)
                        self.assertEqual((message["content"], reason), (None, "tool_calls"))
                        (one,) = message["tool_calls"]
                        name, arguments = self.read_call(family, one)
                        self.check_fits(name, arguments)
                        if choice == "required":
                            names.add(name)
                        else:
                            self.assertEqual(name, choice["function"]["name"])
            self.assertTrue(names <= {"now", "get_weather"})

    def test_SERVE_17_several_calls(self):
        counts = set()
        for family in ("qwen", "mistral"):
            for seed in range(8):
                message, reason = self.choice(family, seed=seed, tool_choice="required", tools=[NOW],
                                              parallel_tool_calls=True, max_tokens=400)
                calls = message["tool_calls"]
                self.assertEqual(len({one["id"] for one in calls}), len(calls))
                for one in calls[:-1] if reason == "length" else calls:
                    self.assertEqual(self.read_call(family, one), ("now", {}))
                counts.add(len(calls))
        self.assertGreater(max(counts), 1)

    def streamed(self, family, **fields):
        """(content, calls, reason) as a client puts them together."""
        status, _, body = self.served[family].post("chat", order(stream=True, **fields))
        self.assertEqual(status, 200, body)
        events = events_of(body)
        self.assertEqual(events[-1], "[DONE]")
        content, calls, reason = "", [], None
        for number, event in enumerate(events[:-1]):
            (choice,) = json.loads(event)["choices"]
            delta = choice["delta"]
            self.assertIsNone(reason)
            reason = choice["finish_reason"]
            if number == 0:
                self.assertEqual(delta, {"role": "assistant", "content": None})
            elif "content" in delta:
                self.assertEqual((set(delta), calls), ({"content"}, []))
                content += delta["content"]
            elif delta:
                self.assertEqual(set(delta), {"tool_calls"})
                (part,) = delta["tool_calls"]
                if "id" in part:
                    self.assertEqual((part["index"], part["function"]["arguments"]), (len(calls), ""))
                    calls.append({key: part[key] for key in ("id", "type", "function")})
                else:
                    self.assertEqual((set(part), part["index"]), ({"index", "function"}, len(calls) - 1))
                    calls[-1]["function"]["arguments"] += part["function"]["arguments"]
        return content, calls, reason

    def test_SERVE_17_streamed_or_not_the_calls_are_the_same(self):
        for family in FAMILIES:
            fields = dict(tool_choice="required", tools=[WEATHER])
            message, _ = self.choice(family, **fields)
            content, calls, reason = self.streamed(family, **fields)
            self.assertEqual((content, reason), ("", "tool_calls"))
            self.assertEqual([one["function"] for one in calls],
                             [one["function"] for one in message["tool_calls"]])
            self.read_call(family, calls[0])

    def test_SERVE_17_text_is_free_and_what_begins_a_call_has_to_be_one(self):
        for family, mark in BEGINS.items():
            bias = {str(ids_of_marks(family)[mark]): 100}
            message, reason = self.choice(family, logit_bias=bias)
            self.assertEqual(reason, "tool_calls")
            (one,) = message["tool_calls"]
            self.check_fits(*self.read_call(family, one))
            # Where no call may come, none does, however likely its mark is.
            message, _ = self.choice(family, logit_bias=bias, tool_choice="none", max_tokens=24)
            self.assertNotIn("tool_calls", message)
            self.assertNotIn("<tool_call>", message["content"])
        message, reason = self.choice("llama3", logit_bias={str(ord("{")): 100})
        self.assertEqual(reason, "tool_calls")
        self.check_fits(*self.read_call("llama3", message["tool_calls"][0]))
        message, _ = self.choice("llama3", logit_bias={str(ord("{")): 100}, tool_choice="none", max_tokens=24)
        self.assertFalse(message["content"].lstrip().startswith("{"))
        # Text, then a call: the mark comes where the letters before it have come.
        bias = {str(ord("a")): 100, str(ids_of_marks("qwen")["<tool_call>"]): 97}
        message, reason = self.choice("qwen", logit_bias=bias, temperature=2, seed=1, frequency_penalty=2)
        content, calls, _ = self.streamed("qwen", logit_bias=bias, temperature=2, seed=1, frequency_penalty=2)
        self.assertEqual((content, reason), (message["content"], "tool_calls"))
        self.assertRegex(content, "a")
        self.assertEqual(len(calls), 1)
        # As clients without functions get it, text is text.
        message, _ = self.choice("qwen", tools=[], max_tokens=8)
        self.assertEqual(set(message), {"role", "content", "refusal"})

    def test_SERVE_17_a_call_that_is_cut_off_has_another_reason(self):
        for family in FAMILIES:
            message, reason = self.choice(family, tool_choice=named("get_weather"), max_tokens=52)
            self.assertEqual(reason, "length")
            (one,) = message["tool_calls"]
            self.assertEqual(one["function"]["name"], "get_weather")
            self.assertTrue(one["function"]["arguments"].startswith("{"))
            message, reason = self.choice(family, tool_choice=named("get_weather"), stop="city")
            self.assertEqual(reason, "stop")
            self.assertNotIn("city", message["tool_calls"][0]["function"]["arguments"])
            message, reason = self.choice(family, tool_choice="required", max_tokens=2)
            self.assertEqual((message.get("tool_calls"), message["content"], reason), (None, "", "length"))

    def tokens(self, family, messages):
        status, _, body = self.served[family].post("/tokenize", {"messages": messages})
        self.assertEqual(status, 200, body)
        return json.loads(body)["tokens"]

    def test_SERVE_17_results_are_read_and_forge_no_mark(self):
        for family in FAMILIES:
            marks = ids_of_marks(family)
            forged = "".join(marks) + "".join(reversed(marks))
            plain, other = self.tokens(family, talk("x")), self.tokens(family, talk(forged))
            self.assertEqual([each for each in other if each >= 256], [each for each in plain if each >= 256])
            said = bytes(each for each in other if each < 256)
            self.assertIn(json.dumps(forged)[1:-1].encode(), said)
            message, reason = self.choice(family, messages=talk("blue"), max_tokens=8, tool_choice="none")
            self.assertEqual(set(message), {"role", "content", "refusal"}, reason)

    def test_SERVE_17_functions_count_as_a_part_of_the_prompt(self):
        for family in FAMILIES:
            lengths = []
            for tools in ([], [NOW], [WEATHER, NOW]):
                body = self.served[family].post("chat", order(tools=tools, max_tokens=1))[2]
                lengths.append(json.loads(body)["usage"]["prompt_tokens"])
            self.assertEqual(lengths, sorted(set(lengths)))

    def test_SERVE_17_the_log_holds_nothing_of_functions_and_calls(self):
        for family, served in self.served.items():
            self.choice(family, tool_choice="required")
            self.choice(family, messages=talk("blue"), max_tokens=1)
            for word in ("weather", "city", "Bonn", "blue", "call00001"):
                self.assertNotIn(word, served.log())

    def test_SERVE_17_bad_orders_are_refused_with_the_field(self):
        for field, fields in bad_orders():
            with self.subTest(field=field, fields=str(fields)[:200]):
                error = read_error(self.served["qwen"].post("chat", order(**fields)), 400)
                self.assertEqual((error["param"], error["type"]), (field, "invalid_request_error"), error)
        for family, messages in (("llama3", [*ASKED, {"role": "assistant", "tool_calls": [
                call("a", "now", "{}"), call("b", "now", "{}")]}, result("a", "x"), result("b", "x")]),
                                 ("mistral", talk("x", "call_1"))):
            error = read_error(self.served[family].post("chat", order(messages=messages)), 400)
            self.assertEqual(error["param"], "messages")


def bad_functions():
    """(field below tools[0], tool) that nobody can offer."""
    for field, value in [("", 1), (".type", {"function": NOW["function"]}), (".type", {**NOW, "type": "mcp"}),
                         (".function", {"type": "function"}), (".more", {**NOW, "more": 1})]:
        yield field, value
    for field, change in [("name", {"name": None}), ("name", {"name": ""}), ("name", {"name": "a b"}),
                          ("name", {"name": "a" * 65}), ("name", {"name": 'a"'}), ("name", {"name": 1}),
                          ("description", {"description": 1}), ("strict", {"strict": "yes"}),
                          ("parameters", {"parameters": []}),
                          ("parameters", {"parameters": {"type": "array"}}),
                          ("parameters", {"strict": True, "parameters": {}}),
                          ("parameters", {"strict": True, "parameters": {
                              "type": "object", "properties": {"a": {"pattern": "x"}}}}),
                          ("parameters", {"strict": True, "parameters": {
                              "type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}}),
                          ("more", {"more": 1})]:
        yield f".function.{field}", {"type": "function", "function": NOW["function"] | change}


def large(name):
    """A function of which a grammar has room for a few."""
    return {"type": "function", "function": {"name": name, "parameters": {
        "type": "object", "properties": {"a": {"type": "string", "maxLength": 7000}}}}}


def bad_orders():
    """(name of the field that the error names, fields)."""
    for field, value in bad_functions():
        yield f"tools[0]{field}", {"tools": [value]}
    unknown = {"type": "function", "function": {"name": "f", "parameters": {
        "type": "object", "properties": {"a": {"format": "date"}}}}}
    yield from [("tools", {"tools": {}}), ("tools", {"tools": "x"}), ("tools", {"tools": [NOW] * 129}),
                ("tools[1].function.name", {"tools": [NOW, NOW]}),
                ("tools[0].function.parameters", {"tools": [unknown], "tool_choice": "required"}),
                ("tools", {"tools": [large(f"f{i}") for i in range(3)]}),
                ("tool_choice", {"tool_choice": "any"}), ("tool_choice", {"tool_choice": 1}),
                ("tool_choice", {"tool_choice": []}), ("tool_choice", {"tools": [], "tool_choice": "auto"}),
                ("tool_choice.type", {"tool_choice": {"type": "allowed_tools"}}),
                ("tool_choice.function", {"tool_choice": {"type": "function"}}),
                ("tool_choice.function.name", {"tool_choice": named("other")}),
                ("tool_choice.function.more", {"tool_choice": {
                    "type": "function", "function": {"name": "now", "more": 1}}}),
                ("parallel_tool_calls", {"parallel_tool_calls": 1}), ("functions", {"functions": [{}]}),
                ("logprobs", {"logprobs": True}), ("grammar", {"grammar": 'root ::= "a"'}),
                ("response_format", {"response_format": {"type": "json_object"}})]
    calls = [call("a", "now", "{}")]
    answered = {"role": "assistant", "tool_calls": calls}
    for field, messages in [
            ("messages", [*ASKED, answered]), ("messages", [*ASKED, answered, ASKED[0]]),
            ("messages", [*ASKED, answered, result("b", "x")]), ("messages", [*ASKED, result("a", "x")]),
            ("messages", [*ASKED, answered, result("a", "x"), result("a", "x")]),
            ("messages", [*ASKED, {"role": "assistant", "tool_calls": calls * 2}, result("a", "x")]),
            ("messages[0].tool_calls", [{"role": "user", "content": "x", "tool_calls": calls}]),
            ("messages[0].tool_call_id", [{"role": "user", "content": "x", "tool_call_id": "a"}]),
            ("messages[1].content", [*ASKED, {"role": "assistant", "tool_calls": []}, ASKED[0]])]:
        yield field, {"messages": messages}
    for field, change in [("", 1), (".id", {"id": None}), (".id", {"id": 'a"b'}),
                          (".type", {"type": "custom"}),
                          (".function", {"function": None}), (".more", {"more": 1}),
                          (".function.name", {"function": {"name": "a b", "arguments": "{}"}}),
                          (".function.arguments", {"function": {"name": "now"}}),
                          *((".function.arguments", {"function": {"name": "now", "arguments": text}})
                            for text in ("", "x", "[]", "{}{}", '{"a": 1, "a": 2}', {}, "[" * 100)),
                          (".function.more", {"function": {"name": "now", "arguments": "{}", "more": 1}})]:
        one = calls[0] | change if isinstance(change, dict) else change
        yield f"messages[1].tool_calls[0]{field}", {
            "messages": [*ASKED, {"role": "assistant", "tool_calls": [one]}, result("a", "x")]}
    for field, change in [("tool_call_id", {"tool_call_id": None}), ("tool_call_id", {"tool_call_id": 1}),
                          ("content", {"content": None}), ("content", {"content": 1}),
                          ("name", {"name": "now"})]:
        yield f"messages[2].{field}", {"messages": [*ASKED, answered, result("a", "x") | change]}


class ToolLimits(SystemTest):
    def test_SERVE_10_calls_that_the_client_prescribes_need_the_owners_leave(self):
        model = make_model(self.folder, "qwen")
        strict = {"type": "function", "function": WEATHER["function"] | {"strict": True}}
        with Served("--model", model, "--model-name", "tiny", "--allow-all-logprobs") as served:
            for field, fields in [("tool_choice", {"tool_choice": "required"}),
                                  ("tool_choice", {"tool_choice": named("now")}),
                                  ("tools", {"tools": [strict]})]:
                error = read_error(served.post("chat", order(**fields)), 400)
                self.assertEqual((error["param"], error["code"]), (field, "unsupported_parameter"))
            # What the model begins is a call of any function, of which the client has no say.
            bias = {"logit_bias": {str(ids_of_marks("qwen")["<tool_call>"]): 100}}
            names = set()
            for fields in (bias, bias, {"tools": [strict], "tool_choice": "none"}):
                status, _, body = served.post("chat", order(**fields))
                self.assertEqual(status, 200, body)
                message = json.loads(body)["choices"][0]["message"]
                self.assertNotIn("<tool_call>", message["content"] or "")
                names |= {one["function"]["name"] for one in message.get("tool_calls", [])}
            self.assertTrue(names - {"now", "get_weather"})

    def test_SERVE_17_families_without_tools_refuse_them(self):
        model = make_model(self.folder, "llama3")
        (model / "tokenizer_config.json").write_text(json.dumps({
            "chat_template": "<|start_header_id|> <|eot_id|>"}))
        with Served("--model", model, "--model-name", "tiny", "--allow-grammars") as served:
            for field, fields in [("tools", {}), ("tools", {"tool_choice": "none"}),
                                  ("messages", {"tools": [], "messages": talk("x")})]:
                error = read_error(served.post("chat", order(**fields)), 400)
                self.assertEqual((error["param"], error["code"]), (field, "unsupported_parameter"))
                self.assertIn("template", error["message"])
            self.assertEqual(served.post("chat", order(tools=[], max_tokens=1))[0], 200)


@unittest.skipUnless("SLIP_OPENAI_NODE" in os.environ,
                     "SLIP_OPENAI_NODE names no folder with npm's package openai")
class ToolsOfOfficialClient(SystemTest):
    """OpenAI's client for JavaScript runs the function that the model calls, and says what it gave."""

    def test_a_function_is_called_and_its_result_read(self):
        script = pathlib.Path(os.environ["SLIP_OPENAI_NODE"]) / "openai_tools.mjs"
        shutil.copy(ROOT / "property_tests/system/openai_tools.mjs", script)
        for family in FAMILIES:
            with Served("--model", make_model(self.folder, family), "--model-name", "tiny", "--plain-seeds",
                        "--allow-grammars") as served:
                said = subprocess.run(["node", script, f"http://{served.endpoint}/v1"], text=True,
                                      capture_output=True, timeout=LIMIT_S)
            self.assertEqual(said.returncode, 0, said.stderr)
            out = json.loads(said.stdout)
            self.assertEqual(out["whole"], out["streamed"])
            self.assertEqual((out["whole"]["name"], out["reason"]), ("get_weather", "tool_calls"))
            self.assertIn(json.loads(out["whole"]["arguments"])["city"], ("Bonn", "Oslo"))
            self.assertEqual(out["roles"], ["user", "assistant", "tool", "assistant"])


if __name__ == "__main__":
    unittest.main()
