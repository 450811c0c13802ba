// How the next token is chosen from logits (MODEL-17).
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "slip/sampling.hpp"

namespace slip::graph {

/// Throws BadInput, naming the option and what was expected, for one out of its range.
void require_sampling_options(const SamplingOptions& options);

/// The natural logarithms of softmax(logits).
std::vector<double> log_probabilities(std::span<const float> logits);

/// Chooses the tokens of one generation. The same on every platform for a seed.
class Sampler {
public:
    /// Requires options that require_sampling_options() accepts. `prompt` is what the generation
    /// continues: the repetition penalty counts its tokens too.
    Sampler(const SamplingOptions& options, std::span<const TokenId> prompt);

    /// The next token, which counts as generated from now on. `allowed`: bit `id % 64` of word
    /// `id / 64` says whether a token may be chosen, and at least one may; empty: all may.
    TokenId next(std::span<const float> logits, std::span<const std::uint64_t> allowed = {});

private:
    void penalise(std::vector<float>& logits) const;
    void weigh(std::span<const float> logits, std::span<const std::uint64_t> allowed);
    void keep_largest(std::size_t count);
    void keep_share(double share);
    TokenId draw(std::span<const float> logits, std::span<const std::uint64_t> allowed);

    const SamplingOptions options_;
    std::mt19937_64 bits_;
    std::vector<TokenId> seen_;           // of prompt and generation, without order, each once
    std::vector<std::size_t> generated_;  // id -> how often
    std::vector<float> weights_;          // id -> its share of the choice, not normalised
    std::vector<double> sums_;            // of the weights, 512 at a time
};

}  // namespace slip::graph
