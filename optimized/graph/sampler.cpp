// MODEL-17: penalties, the tokens that remain, and the choice among them.
#include "optimized/graph/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>

#include "optimized/base/error.hpp"

namespace slip::graph {
namespace {

/// The lowest id among the largest logits.
TokenId greedy(std::span<const float> logits) {
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

void require_in(double value, bool inside, const char* what) {
    if (!inside || !std::isfinite(value)) throw BadInput(std::string("the ") + what);
}

bool changes_logits(const SamplingOptions& options) {
    return options.repetition_penalty != 1 || options.presence_penalty != 0 ||
           options.frequency_penalty != 0;
}

/// The ids with weights, the largest first, and among equals the lowest id.
std::vector<std::size_t> by_weight(const std::vector<double>& weights) {
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

TokenId Sampler::next(std::span<const float> logits) {
    generated_.resize(logits.size());
    std::vector<float> penalised;
    if (changes_logits(options_)) {
        penalised.assign(logits.begin(), logits.end());
        penalise(penalised);
        logits = penalised;
    }
    const TokenId id = options_.temperature == 0 ? greedy(logits) : draw(logits);
    if (generated_[static_cast<std::size_t>(id)]++ == 0 &&
        std::find(seen_.begin(), seen_.end(), id) == seen_.end()) {
        seen_.push_back(id);
    }
    return id;
}

void Sampler::penalise(std::vector<float>& logits) const {
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

/// Sets the weights that the temperature gives, and those that fall out to 0.
void Sampler::weigh(std::span<const float> logits) {
    const double largest = *std::max_element(logits.begin(), logits.end());
    weights_.resize(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
        weights_[i] = std::exp((static_cast<double>(logits[i]) - largest) / options_.temperature);
    }
    if (options_.top_k > 0 && options_.top_k < logits.size()) keep_largest(options_.top_k);
    if (options_.top_p < 1) keep_share(options_.top_p);
    if (options_.min_p > 0) {  // the largest weight is exp(0)
        for (double& weight : weights_) {
            if (weight < options_.min_p) weight = 0;
        }
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

/// mt19937_64 is specified bit by bit, and its first 53 bits make the uniform number, not
/// std::uniform_real_distribution.
TokenId Sampler::draw(std::span<const float> logits) {
    weigh(logits);
    double total = 0;
    for (const double weight : weights_) total += weight;
    double left = std::ldexp(static_cast<double>(bits_() >> 11), -53) * total;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
        left -= weights_[i];
        if (left < 0) return static_cast<TokenId>(i);
    }
    return greedy(logits);  // rounding used up more than the whole
}

}  // namespace slip::graph
