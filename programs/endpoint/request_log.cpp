#include "programs/endpoint/request_log.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace slip::endpoint {

const char* name_of(GenerationEnd::Reason reason) {
    constexpr std::array names{"end_of_text", "length", "stopped", "cancelled", "failed"};
    return names[static_cast<std::size_t>(reason)];
}

void RequestLine::add(const GenerationEnd& end, std::optional<double> first_token_seconds) {
    if (!generated) generated.emplace();
    generated->prompt_tokens += end.receipt.prompt_tokens;
    generated->cached_tokens += end.receipt.cached_tokens;
    generated->generated_tokens += end.receipt.generated_tokens;
    generated->waited_seconds = std::max(generated->waited_seconds, end.waited_seconds);
    auto& first = generated->first_token_seconds;
    if (first_token_seconds)
        first = std::min(first.value_or(*first_token_seconds), *first_token_seconds);
    generated->end = name_of(end.reason);
}

ToldReply::ToldReply(std::shared_ptr<Reply> reply, RequestLine line, TellRequest tell)
    : reply_(std::move(reply)), line_(std::move(line)), tell_(std::move(tell)) {}

ToldReply::~ToldReply() {
    if (!tell_) return;
    if (line_.status == 0) line_.status = RequestLine::client_gone;
    line_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    try {
        tell_(line_);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no memory for a line
    }
}

void ToldReply::send(HttpResponse response) {
    line_.status = response.status;
    line_.whole = true;
    reply_->send(std::move(response));
}

void ToldReply::begin(const HttpResponse& head) {
    line_.status = head.status;
    reply_->begin(head);
}

void ToldReply::finish() {
    line_.whole = true;
    reply_->finish();
}

}  // namespace slip::endpoint
