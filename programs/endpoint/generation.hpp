// One request for text, from the scheduler to the client.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "programs/endpoint/answers.hpp"
#include "programs/endpoint/parsing/http.hpp"
#include "programs/endpoint/parsing/request.hpp"
#include "programs/endpoint/request_log.hpp"
#include "slip/chat.hpp"
#include "slip/scheduler.hpp"
#include "slip/text_stream.hpp"

namespace slip::endpoint {

/// Told of every token, end and answer.
class GenerationObserver {
public:
    virtual ~GenerationObserver() = default;
    /// `seconds`: since the token before it; since the request, if it is the first.
    virtual void on_token(bool first, double seconds) = 0;
    /// An answer of this status, or the head of one, is sent.
    virtual void on_answer(unsigned status) = 0;
    /// `seconds`: since the request.
    virtual void on_end(const GenerationEnd& end, double seconds) = 0;
};

/// SERVE-5: turns the tokens of one generation into an answer. The scheduler's callbacks keep it
/// alive.
class Generation : public std::enable_shared_from_this<Generation> {
public:
    /// What all generations of a service share; it outlives them.
    struct Shared {
        Scheduler* scheduler = nullptr;
        const ChatFormat* chat = nullptr;   ///< null: the model has none
        std::optional<ReceiptFacts> facts;  ///< none: no receipts
        HttpFields fields;                  ///< of every answer
        GenerationObserver* observer = nullptr;
        bool unlikely_log_probabilities = false;  ///< SERVE-10
    };

    /// `prompt`: what the order's prompt or messages are in ids.
    Generation(const Shared& shared, AnswerHead head, const GenerationOrder& order,
               std::span<const TokenId> prompt, std::shared_ptr<ToldReply> reply);

    /// Submits it. Throws as Scheduler::submit(); then nothing has been answered.
    void start(GenerationRequest request);

private:
    using Clock = std::chrono::steady_clock;

    void note_token();
    bool on_token(TokenId id, std::span<const float> logits);
    void on_end(const GenerationEnd& end);
    void show(const std::string& text);
    void fail(const ApiError& error);
    void send_events(const std::string& events);
    void send(HttpResponse response);
    void client_gone();

    const Shared& shared_;
    const AnswerHead head_;
    const bool stream_;
    const bool include_usage_;
    const std::optional<std::size_t> likeliest_;
    const std::shared_ptr<ToldReply> reply_;
    const Clock::time_point began_ = Clock::now();
    Clock::time_point last_token_ = began_;
    std::optional<double> first_token_seconds_;
    TextStream text_;
    std::string answer_;                               // if it is not streamed
    std::optional<std::vector<TokenChoice>> choices_;  // that were not sent yet
    bool begun_ = false;                               // the head has been sent
    std::atomic<bool> gone_ = false;
    std::mutex mutex_;
    std::optional<Scheduler::Id> id_;
};

/// Why a generation has failed, for its client: without names of machines.
ApiError error_of(const GenerationEnd& end);

}  // namespace slip::endpoint
