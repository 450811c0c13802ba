#include "optimized/graph/generate.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "optimized/base/parallel.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::graph {
namespace {

constexpr std::size_t sampled_at_once = 512;  // weights that are summed together

const kernels::FloatKernels& floats() { return kernels::active().floats; }

/// The lowest id among the largest logits.
TokenId greedy(std::span<const float> logits) {
    return static_cast<TokenId>(floats().arg_max(logits.data(), logits.size()));
}

/// Draws from softmax(logits / temperature). The same on every platform: mt19937_64 is specified
/// bit by bit, its first 53 bits make the uniform number, not std::uniform_real_distribution, and
/// the exponential is the kernels'.
TokenId sample(std::span<const float> logits, double temperature, std::mt19937_64& bits,
               std::vector<float>& weights) {
    const TokenId likeliest = greedy(logits);
    const float largest = logits[static_cast<std::size_t>(likeliest)];
    // Beyond these, no weights change: a quotient of floats overflows or is next to nothing.
    const auto divisor = static_cast<float>(std::clamp(temperature, 1e-30, 1e30));
    weights.resize(logits.size());
    std::vector<double> sums;
    double total = 0;
    for (std::size_t first = 0; first < logits.size(); first += sampled_at_once) {
        const std::size_t count = std::min(sampled_at_once, logits.size() - first);
        sums.push_back(floats().sampling_weights(logits.data() + first, count, largest, divisor,
                                                 weights.data() + first));
        total += sums.back();
    }
    double left = std::ldexp(static_cast<double>(bits() >> 11), -53) * total;
    std::size_t part = 0;  // the one that the number points into
    while (part < sums.size() && !(left < sums[part])) left -= sums[part++];
    for (std::size_t i = part * sampled_at_once; i < weights.size(); ++i) {
        left -= weights[i];
        if (left < 0) return static_cast<TokenId>(i);
    }
    return likeliest;  // rounding used up more than the whole, or a logit is NaN
}

/// The positions that prompt and new tokens take; BadInput if the model has fewer.
std::size_t positions_for(const Transformer& model, std::span<const TokenId> prompt,
                          const SamplingOptions& options) {
    if (prompt.empty()) throw BadInput("the prompt is empty: expected at least one token id");
    if (!(options.temperature >= 0) || std::isinf(options.temperature)) {
        throw BadInput("the temperature must be a finite number that is not negative");
    }
    // The last new token is never an input, so it needs no position.
    const std::size_t further = std::max<std::size_t>(options.max_tokens, 1) - 1;
    const std::size_t limit = model.config().max_position_embeddings;
    if (prompt.size() > limit || further > limit - prompt.size()) {
        throw BadInput("a prompt of " + std::to_string(prompt.size()) + " tokens and " +
                       std::to_string(options.max_tokens) +
                       " new ones do not fit the model's max_position_embeddings " +
                       std::to_string(limit));
    }
    return prompt.size() + further;
}

}  // namespace

std::vector<TokenId> generate(const Transformer& model, Engine& engine,
                              std::span<const TokenId> prompt, const SamplingOptions& options,
                              const LanguageModel::OnToken& on_token) {
    const std::size_t positions = positions_for(model, prompt, options);
    KvCache cache(model.config());
    cache.reserve(positions);
    Workspace workspace(base::available_threads());
    std::mt19937_64 bits(options.seed);
    std::vector<float> logits;
    std::vector<float> weights;
    std::vector<TokenId> generated;
    while (generated.size() < options.max_tokens) {
        const std::span<const TokenId> input =
            generated.empty() ? prompt : std::span<const TokenId>(&generated.back(), 1);
        model.forward(engine, workspace, {cache, input, Logits::last_position}, logits);
        const TokenId id = options.temperature == 0
                               ? greedy(logits)
                               : sample(logits, options.temperature, bits, weights);
        if (model.config().ends_text(id)) break;
        generated.push_back(id);
        if (on_token && !on_token(id, logits)) break;
    }
    return generated;
}

}  // namespace slip::graph
