// SERVE-17: functions and calls in OpenAI's JSON. What is refused over the network, and what models
// answer, is in system/serve_tools_test.py.
// test: alone
// links: slip_endpoint
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "programs/endpoint/answers.hpp"
#include "programs/endpoint/parsing/request.hpp"
#include "programs/endpoint/parsing/tools.hpp"

namespace slip::endpoint {
namespace {

using nlohmann::json;

/// An order with these fields, and what it is refused for.
GenerationOrder parsed(const std::string& fields) {
    return parse_chat(R"({"model": "m", "messages": [{"role": "user", "content": "x"}], )" +
                      fields + "}");
}

std::string refused_field(const std::string& fields) {
    try {
        parsed(fields);
    } catch (const ApiError& error) {
        EXPECT_EQ(error.status, 400U);
        return error.param;
    }
    return "nothing is refused";
}

/// The list of one function with these fields.
std::string tool(const std::string& fields) {
    return R"("tools": [{"type": "function", "function": {)" + fields + "}}]";
}

const std::string plain = tool(R"("name": "f")");

TEST(ApiTools, SERVE_17_a_tool_is_shown_as_its_client_wrote_it) {
    const GenerationOrder order = parsed(
        R"("tools": [{"function": {"strict": true, "parameters": {"type": "object", "properties":)"
        R"({"b": {"type": "integer"}, "a": {"const": 1}}}, "name": "f", "description": null},)"
        R"("type": "function"}])");
    ASSERT_TRUE(order.calls);
    const CallOrder& calls = *order.calls;
    ASSERT_EQ(calls.tools.size(), 1U);
    EXPECT_EQ(calls.tools[0].name, "f");
    EXPECT_EQ(calls.tools[0].definition,
              R"({"function":{"parameters":{"type":"object","properties":{"b":{"type":"integer"},)"
              R"("a":{"const":1}}},"name":"f"},"type":"function"})");
    EXPECT_EQ(calls.tools[0].parameters,
              R"({"type":"object","properties":{"b":{"type":"integer"},"a":{"const":1}}})");
    EXPECT_TRUE(calls.strict && calls.several && calls.calling == Calling::free);
    EXPECT_FALSE(parsed(R"("tools": [])").calls);
    EXPECT_FALSE(parsed(R"("tools": null, "tool_choice": "none")").calls);
}

TEST(ApiTools, SERVE_17_schemas_are_enforced_where_they_are_understood_or_have_to_be) {
    const auto schema = [](const std::string& text, const std::string& more = "") {
        return parsed(tool(R"("name": "f", "parameters": )" + text) + more)
            .calls->tools[0]
            .parameters;
    };
    const std::string other = R"({"type": "object", "properties": {"a": {"minimum": 1}}})";
    EXPECT_EQ(schema(other), std::nullopt);
    EXPECT_EQ(schema("{}"), std::nullopt);
    EXPECT_EQ(parsed(plain).calls->tools[0].parameters,
              R"({"type":"object","additionalProperties":false})");
    const std::string field = "tools[0].function.parameters";
    EXPECT_EQ(refused_field(tool(R"("name": "f", "strict": true, "parameters": )" + other)), field);
    for (const char* choice :
         {R"("required")", R"({"type": "function", "function": {"name": "f"}})"}) {
        EXPECT_EQ(refused_field(tool(R"("name": "f", "parameters": )" + other) +
                                ", \"tool_choice\": " + choice),
                  field);
    }
    for (const char* wrong : {R"({"type": "string"})", R"({"properties": {}})", R"([])", R"("x")",
                              R"({"type": ["object"]})"}) {
        EXPECT_EQ(refused_field(tool(std::string(R"("name": "f", "parameters": )") + wrong)), field)
            << wrong;
    }
}

TEST(ApiTools, SERVE_17_schemas_are_bounded_together) {
    const auto described = [](std::size_t bytes) {
        return R"({"type": "function", "function": {"name": "f)" + std::to_string(bytes) +
               R"(", "parameters": {"type": "object", "title": ")" + std::string(bytes, 'x') +
               "\"}}}";
    };
    const std::size_t outside = std::string(R"({"type":"object","title":""})").size();
    const auto two = [&](std::size_t bytes) {
        return "\"tools\": [" + described(30000) + ", " + described(bytes) + "]";
    };
    const std::size_t most = 65536 - 30000 - 2 * outside;
    EXPECT_EQ(parsed(two(most)).calls->tools.size(), 2U);
    EXPECT_EQ(refused_field(two(most + 1)), "tools");
}

TEST(ApiTools, SERVE_17_choices) {
    const auto choice = [](const std::string& text) {
        return *parsed(plain + ", \"parallel_tool_calls\": false, \"tool_choice\": " + text).calls;
    };
    EXPECT_EQ(choice("null").calling, Calling::free);
    EXPECT_EQ(choice(R"("auto")").calling, Calling::free);
    EXPECT_EQ(choice(R"("none")").calling, Calling::never);
    EXPECT_EQ(choice(R"("required")").calling, Calling::forced);
    const CallOrder named = choice(R"({"type": "function", "function": {"name": "f"}})");
    EXPECT_EQ(named.calling, Calling::forced);
    EXPECT_EQ(named.only, "f");
    EXPECT_FALSE(named.several);
}

TEST(ApiTools, SERVE_17_messages_have_calls_and_results) {
    const GenerationOrder order = parse_chat(
        R"({"model": "m", "messages": [{"role": "user", "content": "x"}, {"role": "assistant",)"
        R"("content": null, "tool_calls": [{"id": "c-1", "type": "function", "function":)"
        R"({"name": "f", "arguments": "{\"a\": 1}"}}]}, {"role": "tool", "tool_call_id": "c-1",)"
        R"("content": [{"type": "text", "text": "y"}]}]})");
    ASSERT_EQ(order.messages.size(), 3U);
    const ChatMessage& said = order.messages[1];
    EXPECT_EQ(said.text, "");
    ASSERT_EQ(said.calls.size(), 1U);
    EXPECT_EQ(said.calls[0].id, "c-1");
    EXPECT_EQ(said.calls[0].name, "f");
    EXPECT_EQ(said.calls[0].arguments, R"({"a": 1})");
    EXPECT_EQ(order.messages[2].role, ChatMessage::Role::tool);
    EXPECT_EQ(order.messages[2].call_id, "c-1");
    EXPECT_EQ(order.messages[2].text, "y");
}

TEST(ApiTools, SERVE_17_the_shape_of_answers) {
    const AnswerHead head{true, true, "chatcmpl-1", 1, "m"};
    AnswerPart part{0, "", std::nullopt, {{0, {"call_1", "f", "{}"}}, {1, {"call_2", "g", "[]"}}}};
    const json whole =
        json::parse(whole_answer(head, std::vector<WholeChoice>{{part, "tool_calls"}}, {}));
    const json& choice = whole["choices"][0];
    EXPECT_EQ(choice["finish_reason"], "tool_calls");
    EXPECT_EQ(choice["message"].dump(),
              R"({"content":null,"refusal":null,"role":"assistant","tool_calls":[{"function":)"
              R"({"arguments":"{}","name":"f"},"id":"call_1","type":"function"},{"function":)"
              R"({"arguments":"[]","name":"g"},"id":"call_2","type":"function"}]})");
    part.text = "Hm.";
    part.calls = {{0, {"call_1", "f", ""}}, {0, {"", "", "{}"}}};
    std::string events = text_event(head, part, false);
    std::vector<std::string> deltas;
    for (std::size_t end = 0; (end = events.find("\n\n")) != std::string::npos;) {
        deltas.push_back(json::parse(events.substr(6, end - 6))["choices"][0]["delta"].dump());
        events.erase(0, end + 2);
    }
    EXPECT_EQ(deltas, (std::vector<std::string>{
                          R"({"content":"Hm."})",
                          R"({"tool_calls":[{"function":{"arguments":"","name":"f"},"id":"call_1",)"
                          R"("index":0,"type":"function"}]})",
                          R"({"tool_calls":[{"function":{"arguments":"{}"},"index":0}]})"}));
    EXPECT_NE(first_event(head, 0, false).find(R"("content":null)"), std::string::npos);
}

}  // namespace
}  // namespace slip::endpoint
