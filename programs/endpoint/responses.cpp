#include "programs/endpoint/responses.hpp"

#include <nlohmann/json.hpp>

#include "programs/endpoint/random_id.hpp"

namespace slip::endpoint {
namespace {

using Json = nlohmann::ordered_json;

/// The owner's names need not be UTF-8.
std::string dumped(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json part_of(const std::string& text) {
    return {{"type", "output_text"},
            {"text", text},
            {"annotations", Json::array()},
            {"logprobs", Json::array()}};
}

Json item_of(const std::string& id, const char* status, const Json& content) {
    return {{"type", "message"},
            {"id", id},
            {"status", status},
            {"role", "assistant"},
            {"content", content}};
}

Json usage_of_response(const Receipt& receipt) {
    return {{"input_tokens", receipt.prompt_tokens},
            {"input_tokens_details", {{"cached_tokens", receipt.cached_tokens}}},
            {"output_tokens", receipt.generated_tokens},
            {"output_tokens_details", {{"reasoning_tokens", 0}}},
            {"total_tokens", receipt.prompt_tokens + receipt.generated_tokens}};
}

/// An answer that is under way; what is set later has its place.
Json base_of(const AnswerHead& head, const GenerationOrder& order) {
    const ResponseOrder& asked = *order.response;
    const auto or_null = [](bool there, const Json& value) { return there ? value : Json(); };
    return {
        {"id", head.id},
        {"object", "response"},
        {"created_at", head.created},
        {"status", "in_progress"},
        {"background", false},
        {"error", nullptr},
        {"incomplete_details", nullptr},
        {"instructions", or_null(!asked.instructions.empty(), asked.instructions)},
        {"max_output_tokens", or_null(order.max_tokens.has_value(), order.max_tokens.value_or(0))},
        {"model", head.model},
        {"output", Json::array()},
        {"parallel_tool_calls", true},
        {"previous_response_id", nullptr},
        {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
        {"store", false},
        {"temperature", order.sampling.temperature},
        {"text", {{"format", Json::parse(asked.format)}}},
        {"tool_choice", "auto"},
        {"tools", Json::array()},
        {"top_p", order.sampling.top_p},
        {"truncation", "disabled"},
        {"usage", nullptr},
        {"metadata", Json::object()}};
}

std::string numbered(const char* type, const Json& fields, std::size_t& number) {
    Json json = {{"type", type}, {"sequence_number", number++}};
    json.update(fields);
    return std::string("event: ") + type + "\ndata: " + dumped(json) + "\n\n";
}

Json placed(const std::string& item_id, const Json& fields) {
    Json json = {{"item_id", item_id}, {"output_index", 0}, {"content_index", 0}};
    json.update(fields);
    return json;
}

}  // namespace

ResponseWriter::ResponseWriter(const AnswerHead& head, const GenerationOrder& order)
    : base_(dumped(base_of(head, order))), message_id_(random_id("msg_")) {}

std::string ResponseWriter::whole(const std::string& finish_reason, const AnswerEnd& end) const {
    Json answer = Json::parse(base_);
    const bool cut = finish_reason == "length";
    const char* const status = cut ? "incomplete" : "completed";
    answer["status"] = status;
    if (cut) answer["incomplete_details"] = {{"reason", "max_output_tokens"}};
    answer["output"].push_back(item_of(message_id_, status, Json::array({part_of(text_)})));
    answer["usage"] = usage_of_response(end.receipt);
    if (end.facts) answer["slip"] = Json::parse(receipt_body(*end.facts, end.receipt));
    return dumped(answer);
}

std::string ResponseWriter::first() {
    const Json response = {{"response", Json::parse(base_)}};
    const Json item = item_of(message_id_, "in_progress", Json::array());
    std::string events = numbered("response.created", response, number_);
    events += numbered("response.in_progress", response, number_);
    events +=
        numbered("response.output_item.added", {{"output_index", 0}, {"item", item}}, number_);
    return events + numbered("response.content_part.added",
                             placed(message_id_, {{"part", part_of("")}}), number_);
}

std::string ResponseWriter::more(const std::string& text) {
    add(text);
    return numbered("response.output_text.delta",
                    placed(message_id_, {{"delta", text}, {"logprobs", Json::array()}}), number_);
}

std::string ResponseWriter::last(const std::string& finish_reason, const AnswerEnd& end) {
    const Json answer = Json::parse(whole(finish_reason, end));
    const Json text = {{"text", text_}, {"logprobs", Json::array()}};
    const Json item = {{"output_index", 0}, {"item", answer.at("output").at(0)}};
    const bool cut = finish_reason == "length";
    std::string events = numbered("response.output_text.done", placed(message_id_, text), number_);
    events += numbered("response.content_part.done",
                       placed(message_id_, {{"part", part_of(text_)}}), number_);
    events += numbered("response.output_item.done", item, number_);
    return events + numbered(cut ? "response.incomplete" : "response.completed",
                             {{"response", answer}}, number_);
}

std::string ResponseWriter::failed(const ApiError& error) {
    const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
    return numbered("error",
                    {{"code", or_null(error.code)},
                     {"message", error.message},
                     {"param", or_null(error.param)}},
                    number_);
}

}  // namespace slip::endpoint
