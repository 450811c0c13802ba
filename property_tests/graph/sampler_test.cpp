// MODEL-17: how tokens are chosen, against the definition.
#include "optimized/graph/sampler.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "property_tests/generators/refusal.hpp"
#include "property_tests/generators/values.hpp"

namespace slip::testing {
namespace {

using graph::Sampler;
using Ids = std::vector<TokenId>;

/// Small whole numbers, so that equals occur.
std::vector<float> drawn_logits() {
    const auto count = *any_size(1, 12).as("vocabulary");
    std::vector<float> logits;
    for (std::size_t i = 0; i < count; ++i) {
        logits.push_back(static_cast<float>(*rc::gen::inRange(-4, 5).as("logit")));
    }
    return logits;
}

/// The probabilities of MODEL-17, by its sentences.
/// `top_p` at which a set of weights has just the share is a matter of rounding.
std::vector<double> defined_shares(const std::vector<float>& logits, const SamplingOptions& options,
                                   bool* near_a_border = nullptr) {
    std::vector<double> shares;
    for (const float logit : logits) shares.push_back(std::exp(logit / options.temperature));
    std::vector<std::size_t> order(shares.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return shares[a] > shares[b]; });
    std::set<std::size_t> kept;
    double total = 0;
    for (const std::size_t id : order) {
        if (options.top_k > 0 && kept.size() == options.top_k) break;
        kept.insert(id);
        total += shares[id];
    }
    double sum = 0;
    std::vector<double> result(shares.size());
    for (const std::size_t id : order) {
        if (kept.count(id) == 0) continue;
        const double missing = options.top_p * total - sum;
        const bool enough = options.top_p < 1 && missing <= 0;
        if (near_a_border && options.top_p < 1 && std::abs(missing) < 1e-5 * total) {
            *near_a_border = true;
        }
        sum += shares[id];
        if (!enough && shares[id] >= options.min_p * shares[order[0]]) result[id] = shares[id];
    }
    double remaining = 0;
    for (const double share : result) remaining += share;
    for (double& share : result) share /= remaining;
    return result;
}

RC_GTEST_PROP(Sampler, MODEL_17_a_seed_gives_the_defined_choice, ()) {
    const std::vector<float> logits = drawn_logits();
    SamplingOptions options;
    options.temperature = 0.25 * static_cast<double>(*rc::gen::inRange(1, 9).as("quarters"));
    options.top_k = *any_size(0, 12).as("top_k");
    options.top_p = 0.1 * static_cast<double>(*rc::gen::inRange(1, 11).as("tenths"));
    options.min_p = 0.1 * static_cast<double>(*rc::gen::inRange(0, 11).as("tenths of min_p"));
    options.seed = *rc::gen::arbitrary<std::uint64_t>().as("seed");
    bool near_a_border = false;
    const std::vector<double> shares = defined_shares(logits, options, &near_a_border);
    const double uniform =
        std::ldexp(static_cast<double>(std::mt19937_64(options.seed)() >> 11), -53);
    double sum = 0;
    std::size_t expected = 0;
    for (std::size_t id = 0; id < shares.size(); ++id) {
        if (sum <= uniform && shares[id] > 0) expected = id;
        sum += shares[id];
        near_a_border = near_a_border || std::abs(sum - uniform) < 1e-5;
    }
    RC_PRE(!near_a_border);
    Sampler sampler(options, Ids{});
    RC_ASSERT(sampler.next(logits) == static_cast<TokenId>(expected));
}

/// What may not be chosen has no share, at any temperature, whatever its logit.
RC_GTEST_PROP(Sampler, MODEL_17_only_what_is_allowed_is_chosen, ()) {
    const std::vector<float> logits = drawn_logits();
    SamplingOptions options;
    options.temperature = *rc::gen::element(0.0, 0.5, 100.0).as("temperature");
    options.top_k = *any_size(0, 3).as("top_k");
    options.seed = *rc::gen::arbitrary<std::uint64_t>().as("seed");
    const auto allowed = *rc::gen::inRange<std::uint64_t>(1, std::uint64_t{1} << logits.size());
    std::vector<float> remaining;
    std::vector<std::size_t> ids;
    for (std::size_t id = 0; id < logits.size(); ++id) {
        if ((allowed >> id & 1U) == 0) continue;
        remaining.push_back(logits[id]);
        ids.push_back(id);
    }
    const auto chosen = Sampler(options, Ids{}).next(logits, std::span(&allowed, 1));
    RC_ASSERT((allowed >> chosen & 1U) == 1U);
    const auto expected = Sampler(options, Ids{}).next(remaining);
    RC_ASSERT(static_cast<std::size_t>(chosen) == ids[static_cast<std::size_t>(expected)]);
}

RC_GTEST_PROP(Sampler, MODEL_17_a_bias_is_added_to_the_logits, ()) {
    std::vector<float> logits = drawn_logits();
    SamplingOptions options;
    options.temperature = *rc::gen::element(0.0, 0.5).as("temperature");
    options.seed = *rc::gen::arbitrary<std::uint64_t>().as("seed");
    options.presence_penalty = 1;
    SamplingOptions biased = options;
    std::vector<float> sums = logits;
    for (std::size_t id = 0; id < logits.size(); id += 2) {
        const int bias = *rc::gen::inRange(-3, 4).as("bias");
        biased.logit_bias.emplace_back(static_cast<TokenId>(id), bias);
        sums[id] += static_cast<float>(bias);
    }
    Sampler with(biased, Ids{});
    Sampler without(options, Ids{});
    for (int step = 0; step < 4; ++step) RC_ASSERT(with.next(logits) == without.next(sums));
}

/// Two of eight equals stay, with half of the sum each.
TEST(Sampler, MODEL_17_top_p_is_a_share_of_what_top_k_has_left) {
    SamplingOptions options;
    options.temperature = 1;
    options.top_k = 2;
    options.top_p = 0.6;
    std::set<TokenId> seen;
    for (options.seed = 0; options.seed < 40; ++options.seed) {
        seen.insert(Sampler(options, Ids{}).next(std::vector<float>(8, 0.0F)));
    }
    EXPECT_EQ(seen, (std::set<TokenId>{0, 1}));
}

RC_GTEST_PROP(Sampler, MODEL_17_penalties_change_the_logits_of_what_was_said, ()) {
    const std::vector<float> logits = drawn_logits();
    SamplingOptions options;
    // Powers of two, so that nothing is rounded.
    options.repetition_penalty = 0.25 * (1 << *rc::gen::inRange(0, 5).as("doublings of 1/4"));
    options.presence_penalty = *rc::gen::inRange(-2, 3).as("presence");
    options.frequency_penalty = *rc::gen::inRange(-2, 3).as("frequency");
    const auto size = static_cast<TokenId>(logits.size());
    const auto prompt = *rc::gen::container<Ids>(rc::gen::inRange<TokenId>(0, size)).as("prompt");
    Sampler sampler(options, prompt);
    std::set<TokenId> seen(prompt.begin(), prompt.end());
    std::map<TokenId, int> counts;
    for (int step = 0; step < 6; ++step) {
        TokenId best = 0;
        double largest = -1e9;
        for (TokenId id = 0; id < size; ++id) {
            double logit = logits[static_cast<std::size_t>(id)];
            if (seen.count(id) != 0) {
                logit = logit > 0 ? logit / options.repetition_penalty
                                  : logit * options.repetition_penalty;
            }
            if (counts[id] > 0) {
                logit -= options.presence_penalty + options.frequency_penalty * counts[id];
            }
            if (static_cast<float>(logit) > static_cast<float>(largest)) {
                largest = logit;
                best = id;
            }
        }
        RC_ASSERT(sampler.next(logits) == best);
        seen.insert(best);
        ++counts[best];
    }
}

TEST(Sampler, MODEL_17_frequencies_are_the_probabilities) {
    const std::vector<float> logits{0.0F, 1.0F, 2.0F, -1.0F};
    SamplingOptions options;
    options.temperature = 1;
    options.top_k = 3;
    options.seed = 7;
    const std::vector<double> shares = defined_shares(logits, options);
    Sampler sampler(options, Ids{});
    std::vector<int> counts(logits.size());
    constexpr int draws = 20000;
    for (int i = 0; i < draws; ++i) ++counts[static_cast<std::size_t>(sampler.next(logits))];
    for (std::size_t id = 0; id < logits.size(); ++id) {
        EXPECT_NEAR(counts[id] / static_cast<double>(draws), shares[id], 0.02) << id;
    }
    EXPECT_EQ(counts[3], 0);
}

TEST(Sampler, MODEL_17_log_probabilities) {
    const std::vector<double> values =
        graph::log_probabilities(std::vector<float>{1000.0F, 1000.0F, -1000.0F});
    EXPECT_NEAR(values[0], -std::log(2.0), 1e-12);
    EXPECT_NEAR(values[1], -std::log(2.0), 1e-12);
    EXPECT_NEAR(values[2], -2000 - std::log(2.0), 1e-9);
}

TEST(Sampler, MODEL_17_options_out_of_range_are_refused_by_name) {
    const auto with = [](auto member, double value) {
        SamplingOptions options;
        options.*member = value;
        return refusal([&] { graph::require_sampling_options(options); });
    };
    using O = SamplingOptions;
    const auto says = [](const std::string& message, const char* what) {
        return message.find(what) != std::string::npos;
    };
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double value : {-0.1, infinity, std::nan("")}) {
        EXPECT_TRUE(says(with(&O::temperature, value), "temperature"));
        EXPECT_TRUE(says(with(&O::top_p, value), "top_p"));
        EXPECT_TRUE(says(with(&O::min_p, value), "min_p"));
        EXPECT_TRUE(says(with(&O::repetition_penalty, value), "repetition"));
    }
    EXPECT_TRUE(says(with(&O::top_p, 0), "top_p"));
    EXPECT_TRUE(says(with(&O::top_p, 1.5), "top_p"));
    EXPECT_TRUE(says(with(&O::min_p, 1.5), "min_p"));
    EXPECT_TRUE(says(with(&O::repetition_penalty, 0), "repetition"));
    EXPECT_TRUE(says(with(&O::presence_penalty, infinity), "presence"));
    EXPECT_TRUE(says(with(&O::frequency_penalty, -infinity), "frequency"));
    EXPECT_EQ(with(&O::presence_penalty, -2), "accepted");
}

TEST(Sampler, MODEL_21_more_than_15_guesses_are_refused) {
    SamplingOptions options;
    options.guesses = 15;
    EXPECT_NO_THROW(graph::require_sampling_options(options));
    options.guesses = 16;
    EXPECT_NE(refusal([&] { graph::require_sampling_options(options); }).find("guesses"),
              std::string::npos);
}

}  // namespace
}  // namespace slip::testing
