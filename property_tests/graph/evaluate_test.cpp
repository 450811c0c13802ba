// MODEL-12: perplexity and multiple choice, against the definition on a forward in binary64.
#include "optimized/graph/evaluate.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "optimized/engines/engines.hpp"
#include "property_tests/generators/synthetic_model.hpp"
#include "property_tests/graph/model_oracle.hpp"

namespace slip::testing {
namespace {

using namespace graph;
using Ids = std::vector<TokenId>;

/// -log p(target | context), the context read from its first token on.
double surprise(const SyntheticModel& model, const Ids& context, TokenId target) {
    const oracle::Doubles logits = oracle::logits(model, context).back();
    double total = 0;
    for (const double logit : logits) total += std::exp(logit);
    return std::log(total) - logits[static_cast<std::size_t>(target)];
}

/// The text's windows as MODEL-12 defines them: what token i is predicted from.
Ids context_of(std::size_t i, const Ids& ids, TokenId before, Windows windows) {
    std::size_t end = std::min(windows.length, ids.size());  // of the window that scores token i
    while (end <= i) end = std::min(end + windows.stride, ids.size());
    const std::size_t first = end - std::min(end, windows.length);  // the token after the first
    Ids context{first == 0 ? before : ids[first - 1]};
    context.insert(context.end(), ids.begin() + static_cast<std::ptrdiff_t>(first),
                   ids.begin() + static_cast<std::ptrdiff_t>(i));
    return context;
}

struct Fixture {
    explicit Fixture(std::uint64_t seed)
        : model(random_model(seed)),
          graph(make_graph(model.config, model.lookup())),
          engine(groups_of(model.config), model.lookup()) {}
    SyntheticModel model;
    std::unique_ptr<Transformer> graph;
    engines::FloatEngine engine;
};

RC_GTEST_PROP(Evaluate, MODEL_12_perplexity_adds_up_what_every_window_says, (std::uint64_t seed)) {
    Fixture fixture(seed);
    std::mt19937_64 bits(seed);
    Windows windows;
    windows.length = 1 + bits() % fixture.model.config.max_position_embeddings;
    windows.stride = 1 + bits() % windows.length;
    const std::size_t vocabulary = fixture.model.config.vocab_size;
    const Ids ids = random_ids(seed, 1 + bits() % 30, vocabulary);
    const auto before = static_cast<TokenId>(bits() % vocabulary);
    std::uint64_t last_progress = 0;

    const PerplexityResult result =
        graph::perplexity(*fixture.graph, fixture.engine, ids, before, windows,
                          [&](std::uint64_t done) { last_progress = done; });

    double expected = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        expected += surprise(fixture.model, context_of(i, ids, before, windows), ids[i]);
    }
    RC_ASSERT(result.tokens == ids.size());
    RC_ASSERT(last_progress == ids.size());
    RC_ASSERT(std::abs(result.nll - expected) < 1e-3 * (1 + expected));
    RC_ASSERT(result.perplexity() == std::exp(result.nll / static_cast<double>(ids.size())));
}

/// Bit for bit, so that several processes may share a text.
RC_GTEST_PROP(Evaluate, MODEL_12_ranges_of_windows_add_up_to_the_whole_text, (std::uint64_t seed)) {
    Fixture fixture(seed);
    std::mt19937_64 bits(seed);
    Windows windows;
    windows.length = 1 + bits() % fixture.model.config.max_position_embeddings;
    windows.stride = 1 + bits() % windows.length;
    const Ids ids = random_ids(seed, 1 + bits() % 30, fixture.model.config.vocab_size);
    const std::size_t count = window_count(ids.size(), windows);
    const std::size_t cut = bits() % (count + 1);

    double nll = 0;
    std::size_t last_progress = 0;
    for (const WindowRange range : {WindowRange{0, cut}, WindowRange{cut, count}}) {
        for (const double loss :
             graph::window_losses(*fixture.graph, fixture.engine, ids, 0, windows, range,
                                  [&](std::size_t done) { last_progress = done; })) {
            nll += loss;
        }
    }

    RC_ASSERT(nll == graph::perplexity(*fixture.graph, fixture.engine, ids, 0, windows, {}).nll);
    RC_ASSERT(last_progress == (cut < count ? count - cut : cut));
    RC_ASSERT(count == 1 || windows.length + (count - 2) * windows.stride < ids.size());
    RC_ASSERT(windows.length + (count - 1) * windows.stride >= ids.size());
}

/// A text of several batches: what is scored in a later one is predicted by the logits before it.
TEST(Evaluate, MODEL_12_a_text_of_several_batches_is_scored_to_its_end) {
    SyntheticModel model = random_llama(2);
    model.config.max_position_embeddings = 150;
    const auto graph = make_graph(model.config, model.lookup());
    engines::FloatEngine engine(groups_of(model.config), model.lookup());
    const Ids tokens = random_ids(2, 151, model.config.vocab_size);
    const std::vector<oracle::Doubles> logits =
        oracle::logits(model, Ids(tokens.begin(), tokens.end() - 1));
    double expected = 0;
    for (std::size_t t = 0; t + 1 < tokens.size(); ++t) {
        double total = 0;
        for (const double logit : logits[t]) total += std::exp(logit);
        expected += std::log(total) - logits[t][static_cast<std::size_t>(tokens[t + 1])];
    }

    const PerplexityResult result =
        graph::perplexity(*graph, engine, std::span(tokens).subspan(1), tokens[0], {150, 150}, {});

    EXPECT_EQ(result.tokens, 150U);
    EXPECT_NEAR(result.nll, expected, 1e-3 * expected);
}

TEST(Evaluate, MODEL_12_windows_overlap_as_the_stride_says) {
    const Ids ids{10, 11, 12, 13, 14, 15, 16};
    // Disjoint: the second window begins after the first; the last is as long as the others.
    EXPECT_EQ(context_of(2, ids, 9, {3, 3}), (Ids{9, 10, 11}));
    EXPECT_EQ(context_of(3, ids, 9, {3, 3}), (Ids{12}));
    EXPECT_EQ(context_of(5, ids, 9, {3, 3}), (Ids{12, 13, 14}));
    EXPECT_EQ(context_of(6, ids, 9, {3, 3}), (Ids{13, 14, 15}));
    // Every token but the first ones with as much context as there is room for.
    EXPECT_EQ(context_of(4, ids, 9, {3, 1}), (Ids{11, 12, 13}));
}

RC_GTEST_PROP(Evaluate, MODEL_12_log_likelihoods_of_continuations, (std::uint64_t seed)) {
    Fixture fixture(seed);
    std::mt19937_64 bits(seed);
    const std::size_t vocabulary = fixture.model.config.vocab_size;
    const std::size_t room = fixture.model.config.max_position_embeddings;
    const Ids shared = random_ids(seed, 1 + bits() % (room + 6), vocabulary);
    std::vector<Continuation> continuations(1 + bits() % 4);
    for (Continuation& each : continuations) {
        const Ids own = random_ids(bits(), 1 + bits() % 8, vocabulary);
        each.tokens = shared;
        each.tokens.insert(each.tokens.end(), own.begin(), own.end());
        // Some score only a part of their own tokens, some a part of what all share.
        each.scored = 1 + bits() % std::min(each.tokens.size() - 1, room);
    }

    const auto found = graph::log_likelihoods(*fixture.graph, fixture.engine, continuations);

    RC_ASSERT(found.size() == continuations.size());
    for (std::size_t c = 0; c < found.size(); ++c) {
        Ids tokens = continuations[c].tokens;
        if (tokens.size() > room + 1) {
            tokens.erase(tokens.begin(), tokens.end() - static_cast<std::ptrdiff_t>(room + 1));
        }
        double expected = 0;
        for (std::size_t i = tokens.size() - continuations[c].scored; i < tokens.size(); ++i) {
            const Ids context(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(i));
            expected -= surprise(fixture.model, context, tokens[i]);
        }
        RC_ASSERT(std::abs(found[c] - expected) < 1e-3 * (1 + std::abs(expected)));
    }
}

TEST(Evaluate, MODEL_12_what_cannot_be_scored_is_refused) {
    Fixture fixture(1);
    const std::size_t room = fixture.model.config.max_position_embeddings;
    const auto score = [&](std::size_t tokens, std::size_t scored) {
        return graph::log_likelihoods(*fixture.graph, fixture.engine, {{Ids(tokens, 0), scored}});
    };
    EXPECT_NO_THROW(score(room + 1, room));
    EXPECT_THROW(score(room + 2, room + 1), BadInput);
    EXPECT_THROW(score(2, 2), InternalError);
    EXPECT_THROW(score(2, 0), InternalError);
    for (const Windows windows : {Windows{0, 0}, Windows{2, 0}, Windows{2, 3}, Windows{99, 1}}) {
        EXPECT_THROW(graph::perplexity(*fixture.graph, fixture.engine, Ids{0}, 0, windows, {}),
                     InternalError);
    }
    for (const Windows windows : {Windows{0, 0}, Windows{2, 0}, Windows{2, 3}}) {
        EXPECT_THROW(window_count(5, windows), BadInput);
    }
}

/// The last token of a text is scored and never read.
TEST(Evaluate, MODEL_12_a_token_outside_the_vocabulary_is_not_scored) {
    Fixture fixture(1);
    const auto vocabulary = static_cast<TokenId>(fixture.model.config.vocab_size);
    const auto perplexity = [&](const Ids& ids) {
        return graph::perplexity(*fixture.graph, fixture.engine, ids, 0, {2, 2}, {});
    };
    EXPECT_NO_THROW(perplexity({0, vocabulary - 1}));
    for (const TokenId wrong : {vocabulary, -1}) {
        EXPECT_THROW(perplexity({0, wrong}), BadInput);
        EXPECT_THROW(perplexity({wrong}), BadInput);
        EXPECT_THROW(
            graph::log_likelihoods(*fixture.graph, fixture.engine, {{Ids{0, 0, wrong}, 1}}),
            BadInput);
    }
}

}  // namespace
}  // namespace slip::testing
