// Generations through a scheduler, and how fast they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "experiments/bench/medians.hpp"
#include "experiments/bench/whole_model.hpp"
#include "slip/scheduler.hpp"

namespace slip::bench {

/// Generations that run at the same time.
constexpr std::size_t together = 8;

/// Prompts of one token, so that the step that computes them is like every other; but for the time
/// to the first token.
struct ServeLengths {
    explicit ServeLengths(const WholeModel& whole);
    /// Masks per group that the stock has at least before anything is timed.
    std::size_t masks() const;

    std::size_t tokens;  // of each generation
    std::size_t prompt;  // whose first token is waited for
};

/// The ids of a prompt that no other prompt begins like.
std::vector<TokenId> prompt_of(const WholeModel& whole, std::size_t tokens);

/// When the tokens of several generations come. Any thread may call token().
class TokenMeter {
public:
    explicit TokenMeter(std::size_t generations) : came_(generations) {}
    /// A token of one generation, 0 .. generations - 1, has come.
    void token(std::size_t generation);
    /// Seconds per token of all generations together, while all of them run: streams do not begin
    /// at the same step. If they never all run at once, each counts for its own duration. Throws
    /// InternalError unless every generation has given `expected` tokens, at least two.
    double seconds_per_token(std::size_t expected) const;

private:
    mutable std::mutex mutex_;
    std::vector<std::vector<Clock::time_point>> came_;
};

/// One engine behind a scheduler. Every function returns when the engine is at rest, and throws
/// what a generation failed with, and InternalError if one has not given all its tokens.
class ServeContestant {
public:
    /// Neither the model nor the engine is used by others meanwhile; both outlive the object.
    ServeContestant(const WholeModel& whole, base::Engine& engine, const ServeLengths& lengths);

    /// Seconds per token of generations that begin together.
    double decode(std::size_t generations);
    /// Seconds from the submission of a prompt to its first token.
    double first_token();

    Scheduler& scheduler() { return scheduler_; }
    /// Returns once the scheduler has ended as many further generations, which others submitted.
    void settle(std::size_t generations);

private:
    Scheduler::OnEnd on_end();

    const WholeModel& whole_;
    const ServeLengths lengths_;
    std::mutex mutex_;
    std::exception_ptr failure_;  // mutex_ guards it
    std::uint64_t expected_ = 0;
    Scheduler scheduler_;  // uses the others
};

}  // namespace slip::bench
