// MODEL-17: penalties, the tokens that remain, and the choice among them.
#include "optimized/graph/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::graph {
namespace {

constexpr std::size_t summed_at_once = 512;  // weights that are summed together
constexpr std::size_t most_guesses = 15;     // that one message verifies (MODEL-21)

const kernels::FloatKernels& floats() { return kernels::active().floats; }

/// The lowest id among the largest logits.
TokenId greedy(std::span<const float> logits) {
    return static_cast<TokenId>(floats().arg_max(logits.data(), logits.size()));
}

void require_in(double value, bool inside, const char* what) {
    if (!inside || !std::isfinite(value)) throw BadInput(std::string("the ") + what);
}

bool is_allowed(std::span<const std::uint64_t> allowed, std::size_t id) {
    return (allowed[id / 64] >> (id % 64) & 1U) != 0;
}

bool changes_logits(const SamplingOptions& options) {
    return !options.logit_bias.empty() || options.repetition_penalty != 1 ||
           options.presence_penalty != 0 || options.frequency_penalty != 0;
}

bool leaves_out(const SamplingOptions& options) {
    return options.top_k > 0 || options.top_p < 1 || options.min_p > 0;
}

/// The ids with weights, the largest first, and among equals the lowest id.
std::vector<std::size_t> by_weight(const std::vector<float>& weights) {
    std::vector<std::size_t> ids(weights.size());
    std::iota(ids.begin(), ids.end(), 0);
    std::stable_sort(ids.begin(), ids.end(),
                     [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
    return ids;
}

}  // namespace

void require_sampling_options(const SamplingOptions& options) {
    require_in(options.temperature, options.temperature >= 0,
               "temperature must be a finite number that is not negative");
    require_in(options.top_p, options.top_p > 0 && options.top_p <= 1,
               "top_p must be above 0 and at most 1");
    require_in(options.min_p, options.min_p >= 0 && options.min_p <= 1,
               "min_p must be from 0 to 1");
    require_in(options.repetition_penalty, options.repetition_penalty > 0,
               "repetition penalty must be a finite number above 0");
    require_in(options.presence_penalty, true, "presence penalty must be a finite number");
    require_in(options.frequency_penalty, true, "frequency penalty must be a finite number");
    require_in(0, options.guesses <= most_guesses, "guesses must be from 0 to 15");
    for (const auto& [id, bias] : options.logit_bias) {
        require_in(bias, std::abs(bias) <= 1e6, "logit bias must be from -1e6 to 1e6");
    }
}

std::vector<double> log_probabilities(std::span<const float> logits) {
    const double largest = *std::max_element(logits.begin(), logits.end());
    double total = 0;
    for (const float logit : logits) total += std::exp(static_cast<double>(logit) - largest);
    const double log_total = largest + std::log(total);
    std::vector<double> values;
    values.reserve(logits.size());
    for (const float logit : logits) values.push_back(static_cast<double>(logit) - log_total);
    return values;
}

Sampler::Sampler(const SamplingOptions& options, std::span<const TokenId> prompt)
    : options_(options), bits_(options.seed) {
    const std::set<TokenId> seen(prompt.begin(), prompt.end());
    seen_.assign(seen.begin(), seen.end());
}

TokenId Sampler::next(std::span<const float> logits, std::span<const std::uint64_t> allowed) {
    generated_.resize(logits.size());
    std::vector<float> changed;
    if (changes_logits(options_) || !allowed.empty()) {
        changed.assign(logits.begin(), logits.end());
        penalise(changed);
        for (std::size_t id = 0; id < changed.size() && !allowed.empty(); ++id) {
            if (!is_allowed(allowed, id)) changed[id] = -std::numeric_limits<float>::infinity();
        }
        logits = changed;
    }
    const TokenId id = options_.temperature == 0 ? greedy(logits) : draw(logits, allowed);
    if (generated_[static_cast<std::size_t>(id)]++ == 0 &&
        std::find(seen_.begin(), seen_.end(), id) == seen_.end()) {
        seen_.push_back(id);
    }
    return id;
}

void Sampler::penalise(std::vector<float>& logits) const {
    for (const auto& [id, bias] : options_.logit_bias) {
        if (id < 0 || static_cast<std::size_t>(id) >= logits.size()) continue;
        logits[static_cast<std::size_t>(id)] += static_cast<float>(bias);
    }
    for (const TokenId id : seen_) {
        if (id < 0 || static_cast<std::size_t>(id) >= logits.size()) continue;
        float& logit = logits[static_cast<std::size_t>(id)];
        const auto penalty = static_cast<float>(options_.repetition_penalty);
        logit = logit > 0 ? logit / penalty : logit * penalty;
        const std::size_t count = generated_[static_cast<std::size_t>(id)];
        if (count == 0) continue;
        logit -= static_cast<float>(options_.presence_penalty +
                                    options_.frequency_penalty * static_cast<double>(count));
    }
}

/// Sets the weights that the temperature gives, 0 for those that fall out, and their sums.
void Sampler::weigh(std::span<const float> logits, std::span<const std::uint64_t> allowed) {
    const float largest = logits[static_cast<std::size_t>(greedy(logits))];
    // Beyond these, no weights change: a quotient of floats overflows or is next to nothing.
    const auto divisor = static_cast<float>(std::clamp(options_.temperature, 1e-30, 1e30));
    weights_.resize(logits.size());
    sums_.clear();
    for (std::size_t first = 0; first < logits.size(); first += summed_at_once) {
        const std::size_t count = std::min(summed_at_once, logits.size() - first);
        sums_.push_back(floats().sampling_weights(logits.data() + first, count, largest, divisor,
                                                  weights_.data() + first));
    }
    if (!leaves_out(options_) && allowed.empty()) return;
    // The kernel's exponential of minus infinity is small and not 0.
    for (std::size_t id = 0; id < weights_.size() && !allowed.empty(); ++id) {
        if (!is_allowed(allowed, id)) weights_[id] = 0;
    }
    if (options_.top_k > 0 && options_.top_k < logits.size()) keep_largest(options_.top_k);
    if (options_.top_p < 1) keep_share(options_.top_p);
    if (options_.min_p > 0) {  // the largest weight is exp(0)
        for (float& weight : weights_) {
            if (weight < options_.min_p) weight = 0;
        }
    }
    for (std::size_t part = 0; part < sums_.size(); ++part) {
        const std::size_t first = part * summed_at_once;
        const std::size_t end = std::min(first + summed_at_once, weights_.size());
        sums_[part] = std::accumulate(weights_.begin() + static_cast<std::ptrdiff_t>(first),
                                      weights_.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
    }
}

void Sampler::keep_largest(std::size_t count) {
    const std::vector<std::size_t> ids = by_weight(weights_);
    for (std::size_t i = count; i < ids.size(); ++i) weights_[ids[i]] = 0;
}

/// Keeps the fewest of the largest weights that make up this share.
void Sampler::keep_share(double share) {
    const double total = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    double kept = 0;
    for (const std::size_t id : by_weight(weights_)) {
        if (kept >= share * total) {
            weights_[id] = 0;
        } else {
            kept += weights_[id];
        }
    }
}

/// The same on every platform: mt19937_64 is specified bit by bit, its first 53 bits make the
/// uniform number, not std::uniform_real_distribution, and the exponential is the kernels'.
TokenId Sampler::draw(std::span<const float> logits, std::span<const std::uint64_t> allowed) {
    weigh(logits, allowed);
    const double total = std::accumulate(sums_.begin(), sums_.end(), 0.0);
    double left = std::ldexp(static_cast<double>(bits_() >> 11), -53) * total;
    std::size_t part = 0;  // the one that the number points into
    while (part < sums_.size() && !(left < sums_[part])) left -= sums_[part++];
    for (std::size_t i = part * summed_at_once; i < weights_.size(); ++i) {
        left -= weights_[i];
        if (left < 0) return static_cast<TokenId>(i);
    }
    return greedy(logits);  // rounding used up more than the whole, or a logit is NaN
}

}  // namespace slip::graph
