// What a Scheduler's thread does: admits generations, runs steps, and opens sessions that were
// lost.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "optimized/api/access.hpp"
#include "optimized/graph/batch.hpp"
#include "optimized/serving/generation.hpp"
#include "optimized/serving/kept_prompts.hpp"
#include "optimized/serving/sessions.hpp"
#include "optimized/serving/shared_costs.hpp"
#include "optimized/serving/step.hpp"
#include "slip/scheduler.hpp"

namespace slip::serving {

class Loop {
public:
    /// The model outlives the loop. Throws BadInput, naming the option, for one out of its range.
    Loop(Access::LanguageState& model, const SchedulerOptions& options);

    // For any thread; see Scheduler.
    std::vector<Scheduler::Id> submit(std::vector<Submission> submissions);
    void cancel(Scheduler::Id generation);
    void drain();
    SchedulerStatistics statistics() const;

    /// Runs generations until stop(), in the calling thread, and then cancels those that are left.
    void run();
    void stop();

private:
    using Clock = std::chrono::steady_clock;
    using Reason = GenerationEnd::Reason;
    using Generations = std::vector<std::shared_ptr<Generation>>;

    bool wait_for_work();
    void watch_session(std::unique_lock<std::mutex>& lock);
    void require_quotas(const std::vector<Submission>& submissions) const;
    Generations all() const;
    void publish();

    // Generations.
    void end_cancelled();
    void admit();
    void begin(const std::shared_ptr<Generation>& generation);
    void borrow_beginning(Generation& generation);
    void constrain(Generation& generation) const;
    void read_vocabulary();
    Beginning known_beginning(const Generation& generation);
    void end(Generation& generation, Reason reason, std::exception_ptr error = {});
    void end(const Generations& generations, Reason reason, const std::exception_ptr& error = {});
    void note_of_small_shares() const;
    void keep(Generation& generation);

    // Steps.
    void step();
    bool compute(const std::vector<Part>& parts, std::vector<float>& logits);
    void count(const std::vector<Part>& parts);
    void give_tokens(const std::vector<Part>& parts, const std::vector<float>& logits);
    void show_prompt(Generation& generation, std::size_t place, std::span<const float> logits);
    bool choose(Generation& generation, std::span<const float> logits, TokenId& id);
    void count_token(Generation& generation, TokenId id);
    void give_token(Generation& generation, std::span<const float> logits);

    // Sessions.
    bool have_session();
    void lost(const std::string& what);
    void lost_to_a_wrong_reply(const std::vector<Part>& parts, const std::exception& error);
    void damaged(const std::exception& error);
    void fail(const std::vector<Part>& parts, const std::exception& error);
    void try_to_open();
    void open_with_a_trusted_david();
    void call_again_later();
    void give_up_if_too_late(const std::string& what);
    void give_up(const std::exception_ptr& why);
    void note(const std::string& text) const;

    Access::LanguageState& model_;
    const SchedulerOptions options_;

    std::once_flag vocabulary_read_;
    std::shared_ptr<const grammar::Vocabulary> vocabulary_;  // with the first grammar
    bool strips_first_space_ = false;                        // its tokenizer does

    mutable std::mutex mutex_;  // guards the next eight
    std::condition_variable changed_;
    std::condition_variable ended_;
    std::deque<std::shared_ptr<Generation>> waiting_;
    std::map<Scheduler::Id, std::shared_ptr<Generation>> unended_;  // waiting and live
    Scheduler::Id next_id_ = 1;
    SchedulerStatistics statistics_;
    bool attention_ = false;  // a generation was submitted or cancelled
    bool draining_ = false;
    bool stopping_ = false;
    std::thread::id thread_;

    // The scheduler's thread alone uses what follows.
    Sessions sessions_;
    SharedCosts costs_;
    graph::Workspace workspace_;
    KeptPrompts kept_;
    bool noted_tenants_ = false;  // there are more than shares
    Generations live_;
    std::optional<Clock::time_point> without_session_;  // since when generations need one
    Clock::time_point call_at_{};                       // David, again
    std::chrono::milliseconds pause_{0};
    std::string loss_;           // why there is no session
    std::exception_ptr damage_;  // why there is never another one
    bool failed_step_ = false;   // the last step failed by Charlie's own doing
};

}  // namespace slip::serving
