// SERVE-12, what the operator reads of every request: who asked, how it ended and what it took. No
// prompt, no answer and no key (THREAT-3).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "programs/endpoint/parsing/http.hpp"
#include "slip/scheduler.hpp"

namespace slip::endpoint {

/// Sums over the generations of one request.
struct GeneratedTotals {
    std::uint64_t prompt_tokens = 0;
    std::uint64_t cached_tokens = 0;
    std::uint64_t generated_tokens = 0;
    double waited_seconds = 0;                  ///< the longest wait for a place
    std::optional<double> first_token_seconds;  ///< until the first of all; none came: none
    std::string end;                            ///< of the last one to end
};

/// What became of one request.
struct RequestLine {
    /// In the place of a status where the client went before his answer began, as nginx has it.
    static constexpr unsigned client_gone = 499;

    std::string method;   ///< empty if the request could not be read
    std::string path;     ///< likewise
    std::string peer;     ///< the client's address and port
    std::string name;     ///< whose key it was; empty without keys
    unsigned status = 0;  ///< of the answer
    bool whole = false;   ///< whether all of the answer was written
    double seconds = 0;   ///< from the end of the request to that of the answer

    std::optional<GeneratedTotals> generated;  ///< none: it asked for no text, or was refused

    /// Adds one generation's.
    void add(const GenerationEnd& end, std::optional<double> first_token_seconds);
};

/// Receives a line when its answer has ended, from any thread.
using TellRequest = std::function<void(const RequestLine&)>;

/// "end_of_text", "length", "stopped", "cancelled" or "failed".
const char* name_of(GenerationEnd::Reason reason);

/// Passes an answer on, and tells of it when it is destroyed.
class ToldReply : public Reply {
public:
    /// Nothing is told where `tell` is empty.
    ToldReply(std::shared_ptr<Reply> reply, RequestLine line, TellRequest tell);
    ToldReply(const ToldReply&) = delete;
    ToldReply& operator=(const ToldReply&) = delete;
    ~ToldReply() override;

    /// For who computes the answer, until that has ended.
    RequestLine& line() { return line_; }

    void send(HttpResponse response) override;
    void begin(const HttpResponse& head) override;
    bool write(std::string_view part) override { return reply_->write(part); }
    void finish() override;
    void on_gone(std::function<void()> gone) override { reply_->on_gone(std::move(gone)); }

private:
    const std::shared_ptr<Reply> reply_;
    RequestLine line_;
    const TellRequest tell_;
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace slip::endpoint
