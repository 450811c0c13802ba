// What the published chat templates write for the conversations of chat_tools_test.cpp: those of
// Qwen/Qwen2.5-7B-Instruct, Qwen/Qwen3-8B, meta-llama/Llama-3.2-3B-Instruct (and 3.1, whose
// template differs only in tools that are built in) and mistralai/Mistral-Nemo-Instruct-2407, run
// with Jinja 3.1.6 as transformers runs them: trim_blocks, lstrip_blocks, tojson as json.dumps with
// ensure_ascii false, no strftime_now.
#pragma once

namespace slip::testing::tool_prompts {

// clang-format off
inline constexpr const char* qwen2_talk =
    R"(<|im_start|>system
Be kind.

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "get_weather", "description": "Weather of a \"place\".", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}}
{"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
<|im_start|>user
Hi<|im_end|>
<|im_start|>assistant
Hello!<|im_end|>
<|im_start|>user
Weather?<|im_end|>
<|im_start|>assistant
One moment.
<tool_call>
{"name": "get_weather", "arguments": {"city": "Bonn", "days": 2}}
</tool_call>
<tool_call>
{"name": "now", "arguments": {}}
</tool_call><|im_end|>
<|im_start|>user
<tool_response>
{"sky": "blue"}
</tool_response>
<tool_response>
12:00
</tool_response><|im_end|>
<|im_start|>assistant
)";

inline constexpr const char* qwen2_question =
    R"(<|im_start|>system
You are Qwen, created by Alibaba Cloud. You are a helpful assistant.

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "get_weather", "description": "Weather of a \"place\".", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}}
{"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
<|im_start|>user
Weather?<|im_end|>
<|im_start|>assistant
)";

inline constexpr const char* qwen3_talk =
    R"(<|im_start|>system
Be kind.

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "get_weather", "description": "Weather of a \"place\".", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}}
{"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
<|im_start|>user
Hi<|im_end|>
<|im_start|>assistant
Hello!<|im_end|>
<|im_start|>user
Weather?<|im_end|>
<|im_start|>assistant
<think>
Hm.
</think>

One moment.
<tool_call>
{"name": "get_weather", "arguments": {"city": "Bonn", "days": 2}}
</tool_call>
<tool_call>
{"name": "now", "arguments": {}}
</tool_call><|im_end|>
<|im_start|>user
<tool_response>
{"sky": "blue"}
</tool_response>
<tool_response>
12:00
</tool_response><|im_end|>
<|im_start|>assistant
)";

inline constexpr const char* qwen3_one_call =
    R"(<|im_start|>system
Be kind.

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "get_weather", "description": "Weather of a \"place\".", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}}
{"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
<|im_start|>user
Hi<|im_end|>
<|im_start|>assistant
Hello!<|im_end|>
<|im_start|>user
Weather?<|im_end|>
<|im_start|>assistant
<think>
Hm.
</think>

<tool_call>
{"name": "get_weather", "arguments": {"city": "Bonn", "days": 2}}
</tool_call><|im_end|>
<|im_start|>user
<tool_response>
{"sky": "blue"}
</tool_response><|im_end|>
<|im_start|>assistant
)";

inline constexpr const char* qwen3_question =
    R"(<|im_start|>system
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
<|im_start|>user
Weather?<|im_end|>
<|im_start|>assistant
)";

inline constexpr const char* llama3_talk =
    R"(<|begin_of_text|><|start_header_id|>system<|end_header_id|>

Environment: ipython
Cutting Knowledge Date: December 2023
Today Date: 26 Jul 2024

Be kind.<|eot_id|><|start_header_id|>user<|end_header_id|>

Given the following functions, please respond with a JSON for a function call with its proper arguments that best answers the given prompt.

Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.Do not use variables.

{
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a \"place\".",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {
                    "type": "string"
                },
                "days": {
                    "type": "integer"
                }
            },
            "required": [
                "city"
            ]
        }
    }
}

{
    "type": "function",
    "function": {
        "name": "now",
        "parameters": {
            "type": "object",
            "properties": {}
        }
    }
}

Hi<|eot_id|><|start_header_id|>assistant<|end_header_id|>

Hello!<|eot_id|><|start_header_id|>user<|end_header_id|>

Weather?<|eot_id|><|start_header_id|>assistant<|end_header_id|>

{"name": "get_weather", "parameters": {"city": "Bonn", "days": 2}}<|eot_id|><|start_header_id|>ipython<|end_header_id|>

"{\"sky\": \"blue\"}"<|eot_id|><|start_header_id|>assistant<|end_header_id|>

)";

inline constexpr const char* llama3_question =
    R"(<|begin_of_text|><|start_header_id|>system<|end_header_id|>

Environment: ipython
Cutting Knowledge Date: December 2023
Today Date: 26 Jul 2024

<|eot_id|><|start_header_id|>user<|end_header_id|>

Given the following functions, please respond with a JSON for a function call with its proper arguments that best answers the given prompt.

Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.Do not use variables.

{
    "type": "function",
    "function": {
        "name": "now",
        "parameters": {
            "type": "object",
            "properties": {}
        }
    }
}

Weather?<|eot_id|><|start_header_id|>assistant<|end_header_id|>

)";

inline constexpr const char* mistral_talk =
    R"(<s>[INST]Hi[/INST]Hello!</s>[AVAILABLE_TOOLS][{"type": "function", "function": {"name": "get_weather", "description": "Weather of a "place".", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}}, {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}][/AVAILABLE_TOOLS][INST]Weather?[/INST][TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Bonn", "days": 2}, "id": "call00001"}, {"name": "now", "arguments": {}, "id": "call00002"}]</s>[TOOL_RESULTS]{"content": {"sky": "blue"}, "call_id": "call00001"}[/TOOL_RESULTS][TOOL_RESULTS]{"content": 12:00, "call_id": "call00002"}[/TOOL_RESULTS])";

inline constexpr const char* mistral_question =
    R"(<s>[AVAILABLE_TOOLS][{"type": "function", "function": {"name": "get_weather", "description": "Weather of a "place".", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}}, {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}][/AVAILABLE_TOOLS][INST]Be kind.

Weather?[/INST])";

// clang-format on

}  // namespace slip::testing::tool_prompts
