// What a Scheduler's thread does: admits generations, runs steps, and opens sessions that were
// lost.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "optimized/api/access.hpp"
#include "optimized/graph/batch.hpp"
#include "optimized/serving/call_times.hpp"
#include "optimized/serving/constraints.hpp"
#include "optimized/serving/generation.hpp"
#include "optimized/serving/kept_prompts.hpp"
#include "optimized/serving/queue.hpp"
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
    void cancel(Scheduler::Id generation) { queue_.cancel(generation); }
    void drain() { queue_.drain(); }
    SchedulerStatistics statistics() const { return queue_.statistics(); }

    /// Runs generations until stop(), in the calling thread, and then cancels those that are left.
    void run();
    void stop() { queue_.stop(); }

private:
    using Reason = GenerationEnd::Reason;

    bool wait_for_work();
    void watch_session();
    void publish();

    // Generations.
    void end_cancelled();
    void admit();
    void begin(const std::shared_ptr<Generation>& generation);
    void borrow_beginning(Generation& generation);
    Beginning known_beginning(const Generation& generation);
    void end(Generation& generation, Reason reason, std::exception_ptr error = {});
    void end(const Generations& generations, Reason reason, const std::exception_ptr& error = {});
    void note_of_small_shares() const;
    void keep(Generation& generation);

    // Steps.
    void step();
    bool compute(const std::vector<BatchPart>& parts, std::vector<float>& logits);
    void count(const std::vector<BatchPart>& parts);
    void give_tokens(const std::vector<BatchPart>& parts, const std::vector<float>& logits);
    void give_guessed(Generation& generation, std::span<const float> rows);
    void show_prompt(Generation& generation, std::size_t place, std::span<const float> logits);
    bool choose(Generation& generation, std::span<const float> logits, TokenId& id);
    void count_token(Generation& generation, TokenId id);
    void give_token(Generation& generation, std::span<const float> logits);

    // Sessions.
    bool have_session();
    void lost(const std::string& what);
    void lost_to_a_wrong_reply(const std::vector<BatchPart>& parts, const std::exception& error);
    void damaged(const std::exception& error);
    void fail(const std::vector<BatchPart>& parts, const std::exception& error);
    void try_to_open();
    void open_with_a_trusted_david();
    void give_up_if_too_late(const std::string& what);
    void give_up(const std::exception_ptr& why);
    void note(const std::string& text) const;

    Access::LanguageState& model_;
    const SchedulerOptions options_;
    Queue queue_;
    Constraints constraints_;

    // The scheduler's thread alone uses what follows.
    Sessions sessions_;
    SharedCosts costs_;
    graph::Workspace workspace_;
    KeptPrompts kept_;
    bool noted_tenants_ = false;  // there are more than shares
    Generations live_;
    CallTimes calls_;
    std::string loss_;           // why there is no session
    std::exception_ptr damage_;  // why there is never another one
    bool failed_step_ = false;   // the last step failed by Charlie's own doing
};

}  // namespace slip::serving
