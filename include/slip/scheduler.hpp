// Many generations at once through one model: continuous batching.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "slip/export.hpp"
#include "slip/grammar.hpp"
#include "slip/language_model.hpp"
#include "slip/run_statistics.hpp"
#include "slip/sampling.hpp"
#include "slip/types.hpp"

namespace SLIP_API slip {

/// What a Scheduler is asked for.
struct GenerationRequest {
    std::vector<TokenId> prompt;  ///< as LanguageModel::generate() takes it
    SamplingOptions sampling;     ///< of this generation alone
    /// Whose prompts this one may share keys and values with: those of requests that name the same
    /// tenant, because the time to the first token tells what is kept. Empty: nobody's.
    std::string tenant;
    /// The new text is one of these, unless it is cut off by max_tokens or its reader (SERVE-16);
    /// none: any. The model has a tokenizer. A text after which nothing can follow ends as by EOS.
    std::optional<Grammar> grammar = {};
    /// With a grammar: tokens besides EOS that may come where the text may end.
    std::vector<TokenId> ends = {};
};

/// What a generation took part in: `rounds` are the messages that held columns of it. A message to
/// David holds columns of several generations; its bytes and multiplications are shared by columns.
struct Receipt : OnlineCosts {
    std::uint64_t prompt_tokens = 0;     ///< tokens of the prompt
    std::uint64_t cached_tokens = 0;     ///< tokens of the prompt that were not computed again
    std::uint64_t generated_tokens = 0;  ///< tokens given to `on_token`
    std::uint64_t repeated_steps = 0;    ///< steps repeated after a David was lost

    /// Counts all of `others`.
    void add(const Receipt& others) {
        OnlineCosts::add(others);
        prompt_tokens += others.prompt_tokens;
        cached_tokens += others.cached_tokens;
        generated_tokens += others.generated_tokens;
        repeated_steps += others.repeated_steps;
    }
};

/// How a generation ended.
struct GenerationEnd {
    /// Why it ended.
    enum class Reason {
        end_of_text,  ///< the model chose EOS, or its grammar allows nothing more
        length,       ///< max_tokens
        stopped,      ///< `on_token` returned false
        cancelled,    ///< by cancel(), or the scheduler was destroyed
        failed,       ///< see `error`
    };
    Reason reason = Reason::failed;  ///< why it ended
    /// Null unless it failed: IntegrityError if a reply to a message that held its columns was
    /// wrong, ProtocolError if no David could be had (Distrusted if none is left who has not sent a
    /// wrong reply), InternalError or BadInput if Charlie's own files or memory are damaged
    /// (MASK-10), what `on_token` threw, or GrammarError for a grammar that is too ambiguous or
    /// that no token of the model goes on with.
    std::exception_ptr error;
    Receipt receipt;            ///< of what was computed until then
    double waited_seconds = 0;  ///< before it became live; if it never did, all of its time
};

/// One generation, and who is told of it.
struct Submission {
    GenerationRequest request;  ///< what is generated
    OnToken on_token;           ///< sees each new token
    /// Called once, after the last token.
    std::function<void(const GenerationEnd&)> on_end;
    /// Sees, for each token of the prompt but the first, its place in the prompt and the logits
    /// that it could have been chosen from. With it, the prompt is computed also where
    /// SamplingOptions::max_tokens is 0, and nothing that was kept is used. Over HTTP only `echo`
    /// asks for this, and only with it may `max_tokens` be 0 (SERVE-5): any other answer would be
    /// empty.
    std::function<void(std::size_t place, std::span<const float> logits)> on_prompt = {};
    /// EOS too is given to `on_token`, whose answer to it changes nothing.
    bool shows_end = false;
};

/// How many generations run, and what they may take.
struct SchedulerOptions {
    std::size_t live = 64;      ///< generations in one message; others wait, in order
    std::size_t waiting = 256;  ///< generations that are not live yet; submit() refuses more
    /// Waiting generations of one tenant; submit() refuses more.
    std::size_t waiting_per_tenant = std::numeric_limits<std::size_t>::max();
    /// Tokens of prompts in one step, beside one token of each generation that has its first: a
    /// long prompt is cut, so that it does not stop the others.
    std::size_t prompt_tokens_per_step = 128;
    /// Tokens that each generation guesses from its own text and that the same message verifies, 0
    /// to 15 (MODEL-21). They change no token and no logit, only how many messages there are, with
    /// how many columns; and these tell David where texts repeat themselves.
    std::size_t guesses = 0;
    /// Columns of a step's generations that have their first token, up to which they guess: guesses
    /// fill what live generations leave.
    std::size_t guess_columns = 16;
    /// Bytes of keys and values that are kept for prompts with the same beginning; 0: none.
    std::size_t kept_prompt_bytes = std::size_t{256} << 20;
    /// Tenants among whom kept_prompt_bytes are divided: each has a share of the same size, so that
    /// none sees by what is dropped how much others have asked. Nothing is kept of tenants who come
    /// when all shares are taken.
    std::size_t kept_prompt_tenants = 1;
    /// How long a lost David is called again, with fresh masks, before the generations end. They
    /// end at once where Connect leads to none but Davids who have sent a wrong reply (INTEG-7).
    std::chrono::milliseconds reopen_limit{30000};
    /// Receives messages for the user that are no errors, in the scheduler's thread.
    std::function<void(const std::string&)> note = {};
};

/// What a scheduler has done so far and does now.
struct SchedulerStatistics {
    bool serving = false;  ///< a session is open, or the model needs none
    /// Charlie's own files or memory are damaged, or there is a defect: no generation can be
    /// computed any more, and those that come end at once.
    bool damaged = false;
    std::size_t live = 0;                ///< generations in the next step
    std::size_t waiting = 0;             ///< generations that are not live yet
    std::uint64_t generations = 0;       ///< generations that have ended
    std::uint64_t prompt_tokens = 0;     ///< tokens of prompts that were computed
    std::uint64_t cached_tokens = 0;     ///< tokens of prompts that were not computed again
    std::uint64_t generated_tokens = 0;  ///< tokens that were generated
    std::uint64_t sessions = 0;          ///< sessions that were opened, the first among them
    std::uint64_t rejects = 0;           ///< wrong replies
    std::size_t stock_tokens = 0;        ///< tokens for which every group has masks in stock
    /// stock_tokens when the stock is full; 0: there is no stock. What is left of a batch stays
    /// spent, so a stock at rest may lack a little.
    std::size_t full_stock_tokens = 0;
    RunStatistics run;  ///< of all sessions together
};

/// Runs generations of one model together: in every step, all live ones' tokens go through the
/// model as one batch, so that David reads his weights once for all. What a generation gives is,
/// bit for bit, what LanguageModel::generate() gives for it alone (MODEL-3). It computes in a
/// thread of its own; every function can be called from any thread.
class Scheduler {
public:
    /// Takes the model, which no one else runs from now on.
    explicit Scheduler(LanguageModel model, const SchedulerOptions& options = {});
    /// Cancels what is live or waiting and ends the session in order.
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;             ///< it has a thread
    Scheduler& operator=(const Scheduler&) = delete;  ///< it has a thread

    /// For what is const: token ids and texts.
    const LanguageModel& model() const;

    /// Names a generation; no two of a scheduler have the same.
    using Id = std::uint64_t;
    /// Called once for each generation, after its last token.
    using OnEnd = decltype(Submission::on_end);
    /// Begins a generation. `on_token` and `on_end` are called in the scheduler's thread and must
    /// not wait; other generations wait for them. Throws BadInput for what
    /// LanguageModel::generate() would refuse, and Overloaded if too many wait already or drain()
    /// was called; then neither is called.
    Id submit(GenerationRequest request, OnToken on_token, OnEnd on_end);
    /// The same for several, of which all begin or none.
    std::vector<Id> submit(std::vector<Submission> submissions);
    /// Ends a generation before its next token. Nothing happens if it has ended already.
    void cancel(Id generation);
    /// Takes no further generations; returns when all have ended.
    void drain();
    /// Takes no further generations and cancels those that there are, after the step that is under
    /// way: whoever does not want to wait for it interrupts its transport.
    void stop();

    /// What was done until now.
    [[nodiscard]] SchedulerStatistics statistics() const;

private:
    struct SLIP_HIDDEN State;
    std::unique_ptr<State> state_;
};

}  // namespace slip
