// One request for text, from the scheduler to the client.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "programs/endpoint/answers.hpp"
#include "programs/endpoint/choice.hpp"
#include "programs/endpoint/parsing/http.hpp"
#include "programs/endpoint/parsing/request.hpp"
#include "programs/endpoint/request_log.hpp"
#include "programs/endpoint/responses.hpp"
#include "slip/chat.hpp"
#include "slip/scheduler.hpp"

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

/// SERVE-5: turns the tokens of one request's generations into an answer. The scheduler's callbacks
/// keep it alive.
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

    /// `prompts`: what the order's prompts or messages are in ids.
    Generation(const Shared& shared, AnswerHead head, const GenerationOrder& order,
               std::vector<std::vector<TokenId>> prompts, std::shared_ptr<ToldReply> reply);

    /// Submits the choices, as many of each prompt as were ordered, one prompt after the other.
    /// Throws as Scheduler::submit(); then nothing has been answered.
    void start(std::vector<GenerationRequest> requests);

private:
    using Clock = std::chrono::steady_clock;
    /// The times of one choice.
    struct Times {
        std::optional<Clock::time_point> last_token;
        std::optional<double> first_token_seconds;
    };

    Submission submission(GenerationRequest request, std::size_t index);
    void note_token(std::size_t index);
    bool on_token(std::size_t index, TokenId id, std::span<const float> logits);
    void on_end(std::size_t index, const GenerationEnd& end);
    void show(std::optional<AnswerPart> part);
    void show_response(const std::string& text);
    void finish_stream(std::size_t index, const AnswerEnd& end);
    void fail(const ApiError& error);
    void send_events(std::size_t index, std::string events);
    void send(HttpResponse response);
    void client_gone();
    void cancel();

    const Shared& shared_;
    const AnswerHead head_;
    const bool stream_;
    const bool include_usage_;
    const Choice::Shown shown_;
    const char* const grammar_field_;
    const std::size_t per_prompt_;
    const std::shared_ptr<ToldReply> reply_;
    const Clock::time_point began_ = Clock::now();
    const std::vector<std::vector<TokenId>> prompts_;
    std::atomic<bool> gone_ = false;  // the client, or what he waited for: nothing more is written
    std::mutex mutex_;
    std::vector<Scheduler::Id> ids_;

    // The scheduler's thread alone uses what follows, by the index of the choice.
    std::vector<Choice> texts_;
    std::vector<WholeChoice> whole_;          // if it is not streamed, their parts
    std::vector<bool> begun_;                 // the first event has been sent
    std::optional<ResponseWriter> response_;  // of /v1/responses
    bool answering_ = false;                  // the head of a stream has been sent
    std::size_t unended_;
    Receipt receipt_;  // of all
    std::vector<Times> times_;
};

/// Why a generation has failed, for its client: without names of machines. `grammar_field`: what of
/// its request a grammar came from.
ApiError error_of(const GenerationEnd& end, const char* grammar_field);

}  // namespace slip::endpoint
