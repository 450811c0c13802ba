"""slip serve: OpenAI's interface of responses (SERVE-18)."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from serve_client import CHAT, ServeTest, check_receipt, order, read_error
from slip_system import LIMIT_S, ROOT

ASKED = "Tell me one."
INSTRUCTIONS = CHAT[0]["content"]
KEYS = {"id", "object", "created_at", "status", "background", "error", "incomplete_details", "instructions",
        "max_output_tokens", "model", "output", "parallel_tool_calls", "previous_response_id", "reasoning",
        "store", "temperature", "text", "tool_choice", "tools", "top_p", "truncation", "usage", "metadata",
        "slip"}
EVENTS = ["response.created", "response.in_progress", "response.output_item.added",
          "response.content_part.added", "response.output_text.delta", "response.output_text.done",
          "response.content_part.done", "response.output_item.done", "response.incomplete"]


def asking(**fields):
    """The same as the order of a conversation that other tests give."""
    return {"model": "tiny", "temperature": 0, "max_output_tokens": 8, "instructions": INSTRUCTIONS,
            "input": ASKED} | fields


def part(text, kind="input_text"):
    return {"type": kind, "text": text}


def read_events(body):
    """(type, fields) of each event, whose two names and number are right."""
    text = body.decode()
    assert text.endswith("\n\n")
    events = []
    for number, event in enumerate(text[:-2].split("\n\n")):
        kind, data = re.fullmatch("event: ([a-z_.]+)\ndata: (.*)", event).groups()
        fields = json.loads(data)
        assert (fields.pop("type"), fields.pop("sequence_number")) == (kind, number), event
        events.append((kind, fields))
    return events


def bad_orders():
    """(name of the field that the error names, fields)."""
    for field, values in {
            "model": [None, 1], "input": [None, 1, [], {}, CHAT[::-1]],
            "input[0]": [[1]], "input[0].role": [[{"content": "x"}], [{"role": "tool", "content": "x"}]],
            "input[0].type": [[{"type": "function_call_output", "call_id": "a", "output": "x"}],
                              [{"type": "item_reference", "id": "a"}]],
            "input[0].content": [[{"role": "user"}], [{"role": "user", "content": 1}]],
            "input[0].content[0].type": [[{"role": "user", "content": [{"type": "input_image"}]}],
                                         [{"role": "user", "content": [part("x", "output_text")]}],
                                         [{"role": "assistant", "content": [part("x")]}]],
            "input[0].more": [[{"role": "user", "content": "x", "more": 1}]],
            "instructions": [1, []], "max_output_tokens": [0, "8", 1.5], "temperature": [3], "top_p": [0],
            "stream": [1], "stream_options.include_usage": [{"include_usage": True}],
            "store": [True], "previous_response_id": ["resp_1"], "conversation": ["c"], "background": [True],
            "include": [["message.output_text.logprobs"]], "top_logprobs": [3],
            "tools": [[{"type": "web_search"}]], "tool_choice": ["required"], "max_tool_calls": [1],
            "truncation": ["auto"], "reasoning": [{"effort": "low"}], "prompt": [{"id": "p"}], "text": [1],
            "text.format.type": [{"format": {"type": "xml"}}], "text.more": [{"more": 1}],
            "text.format.schema": [{"format": {"type": "json_schema", "name": "x"}},
                                   {"format": {"type": "json_schema", "name": "x",
                                               "schema": {"pattern": "x"}}}],
            "text.verbosity": [{"verbosity": "low"}], "user": [1], "metadata": [1], "messages": [CHAT],
            "max_tokens": [8], "n": [1], "unknown": [1]}.items():
        for value in values:
            yield field, asking(**{re.split(r"[.\[]", field)[0]: value})


class ServeResponses(ServeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.served = cls.start("--plain-seeds", "--allow-grammars")

    def whole(self, **fields):
        status, _, body = self.served.post("/v1/responses", asking(**fields))
        self.assertEqual(status, 200, body)
        answer = json.loads(body)
        self.assertEqual((set(answer), answer["object"], answer["error"]), (KEYS, "response", None))
        self.assertRegex(answer["id"], "^resp_[0-9a-f]{24}$")
        check_receipt(answer["slip"])
        return answer

    def text(self, answer):
        (item,) = answer["output"]
        self.assertRegex(item["id"], "^msg_[0-9a-f]{24}$")
        self.assertEqual((item["type"], item["role"], item["status"]),
                         ("message", "assistant", answer["status"]))
        (content,) = item["content"]
        self.assertEqual((content["type"], content["annotations"]), ("output_text", []))
        return content["text"]

    def test_SERVE_18_the_text_is_that_of_a_conversation(self):
        chat = json.loads(self.served.post("chat", order("chat"))[2])
        expected = chat["choices"][0]["message"]["content"]
        answer = self.whole()
        self.assertEqual((self.text(answer), answer["status"]), (expected, "incomplete"))
        self.assertEqual(answer["incomplete_details"], {"reason": "max_output_tokens"})
        self.assertEqual((answer["instructions"], answer["store"], answer["previous_response_id"]),
                         (INSTRUCTIONS, False, None))
        usage = answer["usage"]
        self.assertEqual((usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]),
                         tuple(chat["usage"][f"{kind}_tokens"] for kind in ("prompt", "completion", "total")))
        for fields in (dict(instructions=None, input=CHAT), dict(input=[CHAT[1] | {"type": "message"}]),
                       dict(input=[{"role": "user", "content": [part("Tell "), part("me one.")]}])):
            self.assertEqual(self.text(self.whole(**fields)), expected, fields)
        both = self.whole(instructions="You tell",
                          input=[{"role": "developer", "content": "stories."}, CHAT[1]])
        messages = [CHAT[0] | {"content": "You tell\n\nstories."}, CHAT[1]]
        chat = json.loads(self.served.post("chat", order("chat", messages=messages))[2])
        self.assertEqual(self.text(both), chat["choices"][0]["message"]["content"])
        self.assertEqual(both["usage"]["input_tokens"], chat["usage"]["prompt_tokens"])

    def test_SERVE_18_a_conversation_goes_on_with_what_was_answered(self):
        answer = self.whole()
        again = {"role": "user", "content": "Another."}
        said = self.text(self.whole(input=[CHAT[1], *answer["output"], again]))
        messages = [*CHAT, {"role": "assistant", "content": self.text(answer)}, again]
        chat = json.loads(self.served.post("chat", order("chat", messages=messages))[2])
        self.assertEqual(said, chat["choices"][0]["message"]["content"])

    def test_SERVE_18_a_stream_has_the_events_of_the_whole_answer(self):
        status, head, body = self.served.post("/v1/responses", asking(stream=True))
        self.assertEqual((status, head["Content-Type"]), (200, "text/event-stream; charset=utf-8"))
        events = read_events(body)
        kinds = [kind for kind, _ in events]
        self.assertEqual([kind for i, kind in enumerate(kinds) if i == 0 or kinds[i - 1] != kind], EVENTS)
        whole = self.whole()
        last = events[-1][1]["response"]
        self.assertEqual(self.text(last), self.text(whole))
        text = "".join(fields["delta"] for kind, fields in events if kind == "response.output_text.delta")
        self.assertEqual(text, self.text(whole))
        same = KEYS - {"id", "created_at", "output", "slip", "usage"}
        self.assertEqual({key: last[key] for key in same}, {key: whole[key] for key in same})
        self.assertEqual(last["usage"]["output_tokens"], 8)
        first = events[0][1]["response"]
        self.assertEqual((first["status"], first["output"], first["usage"], first["id"]),
                         ("in_progress", [], None, last["id"]))
        items = {fields["item_id"] for _, fields in events if "item_id" in fields}
        self.assertEqual(items, {last["output"][0]["id"]})

    def test_SERVE_18_answers_in_json(self):
        schema = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}
        kind = {"type": "json_schema", "name": "x", "schema": schema, "strict": True}
        answer = self.whole(text={"format": kind}, max_output_tokens=100)
        self.assertEqual((answer["status"], answer["incomplete_details"]), ("completed", None))
        self.assertIn(json.loads(self.text(answer))["a"], (1, 2))
        self.assertEqual(answer["text"], {"format": kind})
        self.assertTrue(self.text(self.whole(text={"format": {"type": "json_object"}})).startswith("{"))

    def test_SERVE_18_bad_orders_are_refused_with_the_field(self):
        for field, body in bad_orders():
            with self.subTest(field=field, body=str(body)[:200]):
                error = read_error(self.served.post("/v1/responses", body), 400)
                self.assertEqual((error["param"], error["type"]), (field, "invalid_request_error"), error)
        self.whole(store=False, background=False, tools=[], tool_choice="auto", include=[], reasoning={},
                   truncation="disabled", parallel_tool_calls=True, metadata={"a": "b"}, text={})
        read_error(self.served.get("/v1/responses"), 405)

    @unittest.skipUnless("SLIP_OPENAI_NODE" in os.environ,
                         "SLIP_OPENAI_NODE names no folder with npm's package openai")
    def test_openais_client_for_javascript_reads_them(self):
        script = pathlib.Path(os.environ["SLIP_OPENAI_NODE"]) / "openai_responses.mjs"
        shutil.copy(ROOT / "property_tests/system/openai_responses.mjs", script)
        said = subprocess.run(["node", script, f"http://{self.served.endpoint}/v1"], text=True,
                              capture_output=True, timeout=LIMIT_S)
        self.assertEqual(said.returncode, 0, said.stderr)
        out = json.loads(said.stdout)
        self.assertEqual((out["whole"], out["streamed"], out["status"]),
                         (self.text(self.whole()), out["whole"], "incomplete"))
        self.assertEqual(out["refused"], {"status": 400, "param": "store"})


if __name__ == "__main__":
    unittest.main()
