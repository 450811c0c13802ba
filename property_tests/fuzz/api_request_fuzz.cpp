// Orders of clients, in OpenAI's JSON.
#include "programs/endpoint/parsing/request.hpp"
#include "programs/endpoint/parsing/responses.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz::api_request_fuzz {
namespace {

using endpoint::ApiError;
using endpoint::GenerationOrder;

void check_order(const GenerationOrder& order, std::size_t size) {
    const SamplingOptions& sampling = order.sampling;
    expect(sampling.temperature >= 0 && sampling.temperature <= 2,
           "a temperature out of its range");
    expect(sampling.top_p > 0 && sampling.top_p <= 1, "a top_p out of its range");
    expect(sampling.min_p >= 0 && sampling.min_p <= 1, "a min_p out of its range");
    expect(sampling.repetition_penalty > 0, "a repetition penalty out of its range");
    expect(order.stops.size() <= 4, "too many stops");
    expect(order.choices >= 1 && order.prompts.size() * order.choices <= endpoint::most_choices,
           "too many choices");
    for (const std::string& stop : order.stops) expect(!stop.empty(), "an empty stop");
    std::size_t held = order.model.size();
    for (const ChatMessage& message : order.messages) {
        held += message.text.size() + message.call_id.size();
        expect(message.calls.empty() || message.role == ChatMessage::Role::assistant,
               "calls of somebody else than the assistant");
        for (const ToolCall& call : message.calls) held += call.id.size() + call.arguments.size();
    }
    if (order.calls) {
        expect(!order.calls->tools.empty(), "calls of no function");
        for (const Tool& tool : order.calls->tools) {
            expect(!tool.name.empty() && tool.name.size() <= 64, "a name that is none");
        }
    }
    expect(held <= size, "an order holds more than its request");
}

}  // namespace

const std::size_t allowance = std::size_t{1} << 16;

std::vector<Bytes> seeds() {
    return {
        bytes_of(R"({"model":"m","prompt":"p","stop":["a"],"seed":-1})"),
        bytes_of(R"({"model":"m","prompt":["a",[1]],"n":2,"echo":true,"logit_bias":{"1":2}})"),
        bytes_of(
            R"({"model":"m","prompt":"p","grammar":"root ::= [^a-z]{2} x?\nx ::= \"y\" x | \"z\""})"),
        bytes_of(
            R"({"model":"m","messages":[{"role":"user","content":"x"}],"response_format":)"
            R"({"type":"json_schema","json_schema":{"schema":{"properties":{"a":)"
            R"({"type":"string","maxLength":3},"b":{"anyOf":[{"enum":[1]},{"$ref":"#"}]}}}}}})"),
        bytes_of(
            R"({"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant",)"
            R"("tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},)"
            R"({"role":"tool","tool_call_id":"c","content":"y"}],"tool_choice":"required","tools":)"
            R"([{"type":"function","function":{"name":"f","strict":true,"parameters":)"
            R"({"type":"object","properties":{"a":{"type":"integer"}}}}}]})"),
        bytes_of(
            R"({"model":"m","instructions":"x","input":[{"type":"message","role":"assistant",)"
            R"("content":[{"type":"output_text","text":"y","annotations":[]}]}],"text":{"format":)"
            R"({"type":"json_schema","name":"z","schema":{"enum":[1]}}},"max_output_tokens":1})"),
        bytes_of(R"({"model":"m","prompt":[1,2],"stream":true,"stream_options":{}})"),
        bytes_of(R"({"model":"m","messages":[{"role":"user","content":"x"}],"top_k":1})"),
        bytes_of(R"({"model":"m","messages":[{"role":"system","content":[{"type":"text",)"
                 R"("text":"x"}]},{"role":"user","content":"y"}],"logprobs":true})")};
}

bool check(std::span<const std::byte> input) {
    const std::string_view text = text_of(input);
    bool accepted = accepts<ApiError>([&] {
        const GenerationOrder order = endpoint::parse_completion(text);
        expect(order.messages.empty(), "a completion has messages");
        check_order(order, text.size());
    });
    accepted = accepts<ApiError>([&] {
                   const GenerationOrder order = endpoint::parse_chat(text);
                   expect(!order.messages.empty(), "a conversation has no message");
                   check_order(order, text.size());
               }) ||
               accepted;
    accepted = accepts<ApiError>([&] {
                   const GenerationOrder order = endpoint::parse_response(text);
                   expect(order.response && order.choices == 1, "a response has several choices");
                   check_order(order, text.size());
               }) ||
               accepted;
    return accepted;
}

const Target target{"api_request_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::api_request_fuzz
