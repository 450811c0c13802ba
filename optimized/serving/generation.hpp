// One generation of a Scheduler, from its submission to its end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "optimized/grammar/vocabulary.hpp"
#include "optimized/graph/guesses.hpp"
#include "optimized/graph/kv_cache.hpp"
#include "optimized/graph/sampler.hpp"
#include "slip/scheduler.hpp"

namespace slip::serving {

struct Generation {
    Generation(Scheduler::Id number, Submission asked)
        : id(number),
          submission(std::move(asked)),
          request(submission.request),
          tokens(request.prompt) {
        receipt.prompt_tokens = tokens.size();
    }

    const Scheduler::Id id;
    const Submission submission;
    const GenerationRequest& request;
    const std::chrono::steady_clock::time_point submitted_at = std::chrono::steady_clock::now();
    std::atomic<bool> cancelled = false;  // set by any thread

    // The scheduler's thread alone reads and writes what follows.
    std::vector<TokenId> tokens;          // the prompt and what was generated
    std::optional<graph::KvCache> cache;  // of the first tokens, once it is live
    std::optional<graph::Sampler> sampler;
    std::optional<grammar::Constraint> constraint;  // by the grammar, if there is one
    graph::Guesses guesses{0};
    /// In a step with guesses: the last token and what is guessed to follow it, and of how many
    /// positions the keys are those of `tokens`. Empty in every other step.
    std::vector<TokenId> guessed;
    std::size_t known_positions = 0;
    Receipt receipt;
    std::optional<double> waited_seconds;  // from its submission until it was live
    bool ended = false;

    /// The tokens that are not computed yet: of the prompt, or the one that was generated last.
    std::span<const TokenId> pending() const { return std::span(tokens).subspan(cache->length()); }
    double seconds_since_submission() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - submitted_at)
            .count();
    }
    bool shows_prompt() const { return submission.on_prompt != nullptr; }
    bool has_prompt_left() const { return cache->length() < request.prompt.size(); }
};

}  // namespace slip::serving
