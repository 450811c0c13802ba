// Generation, on a model of which every logit is known: a table of bigrams.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "optimized/graph/decoder.hpp"
#include "optimized/graph/generate.hpp"
#include "property_tests/generators/values.hpp"

namespace slip::graph {
namespace {

using Table = std::vector<std::vector<float>>;  // previous token, next token: a logit

/// No blocks, and an embedding that is the identity, so that the head's input shows the last token.
base::ModelConfig config_for(std::size_t vocabulary) {
    base::ModelConfig config;
    config.hidden_size = vocabulary;
    config.num_attention_heads = 1;
    config.num_key_value_heads = 1;
    config.head_dim = 2;
    config.rotary_dim = 2;
    config.vocab_size = vocabulary;
    config.max_position_embeddings = 10;
    config.norm_eps = 1e-5F;
    config.bos_token_id = 1;
    config.eos_token_id = 2;
    return config;
}

Decoder graph_for(std::size_t vocabulary) {
    const auto find = [&](std::string_view name, std::size_t elements) {
        std::vector<float> values(elements, 1.0F);
        if (name == "model.norm.weight") return values;
        for (std::size_t i = 0; i < elements; ++i) {
            values[i] = i / vocabulary == i % vocabulary ? 1.0F : 0.0F;
        }
        return values;
    };
    return Decoder(config_for(vocabulary), find, {});
}

class BigramEngine : public base::Engine {
public:
    explicit BigramEngine(Table table) : table_(std::move(table)) {}
    void apply(base::GroupId, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override {
        for (std::size_t t = 0; t < input.rows(); ++t) {
            const auto row = input.row(t);
            const auto last = std::max_element(row.begin(), row.end()) - row.begin();
            const auto& logits = table_[static_cast<std::size_t>(last)];
            std::copy(logits.begin(), logits.end(), outputs[0].row(t).begin());
        }
        ++calls;
        columns += input.rows();
    }
    std::size_t calls = 0;
    std::size_t columns = 0;

private:
    Table table_;
};

/// The cycle 1 -> 3 -> 4 -> 0 -> 2 (EOS); token 5 likes 3 and 4 equally.
Table cycle() {
    Table table(6, std::vector<float>(6, 0.0F));
    table[1][3] = table[3][4] = table[4][0] = table[0][2] = 1.0F;
    table[5][4] = table[5][3] = 1.0F;
    return table;
}

const std::vector<TokenId> bos{1};

TEST(Generate, MODEL_2_greedy_takes_the_largest_logit_and_stops_at_EOS) {
    const Decoder graph = graph_for(6);
    BigramEngine engine(cycle());
    std::vector<TokenId> seen;
    std::vector<float> chosen_logits;
    SamplingOptions options;
    options.max_tokens = 8;
    const auto ids = generate(graph, engine, bos, options, [&](TokenId id, auto logits) {
        seen.push_back(id);
        chosen_logits.push_back(logits[static_cast<std::size_t>(id)]);
        return true;
    });
    EXPECT_EQ(ids, (std::vector<TokenId>{3, 4, 0}));
    EXPECT_EQ(seen, ids);
    EXPECT_EQ(chosen_logits, std::vector<float>(3, 1.0F));
    EXPECT_EQ(engine.calls, 4U);

    options.max_tokens = 2;
    EXPECT_EQ(generate(graph, engine, bos, options, {}), (std::vector<TokenId>{3, 4}));
    EXPECT_EQ(engine.calls, 6U);  // nothing is computed for a token that nobody wants
    options.max_tokens = 0;
    EXPECT_EQ(generate(graph, engine, bos, options, {}), std::vector<TokenId>{});
    EXPECT_EQ(engine.calls, 6U);

    const std::vector<TokenId> tie{5};
    options.max_tokens = 1;
    EXPECT_EQ(generate(graph, engine, tie, options, {}), std::vector<TokenId>{3});
}

TEST(Generate, who_sees_the_tokens_may_stop_and_then_nothing_more_is_computed) {
    const Decoder graph = graph_for(6);
    BigramEngine engine(cycle());
    SamplingOptions options;
    options.max_tokens = 8;
    const auto until_4 = [](TokenId id, auto) { return id != 4; };
    EXPECT_EQ(generate(graph, engine, bos, options, until_4), (std::vector<TokenId>{3, 4}));
    EXPECT_EQ(engine.calls, 2U);
}

/// Logits with many ties, for a vocabulary of at least the ids of config_for().
std::vector<float> drawn_logits() {
    const auto vocabulary = *testing::any_size(3, 12).as("vocabulary");
    const auto quarters = *testing::any_list<std::int16_t>(vocabulary, -80, 80, {-80, -1, 1, 80})
                               .as("logits in quarters");
    std::vector<float> logits;
    for (const std::int16_t quarter : quarters) logits.push_back(static_cast<float>(quarter) / 4);
    return logits;
}

/// The token that follows BOS where these are the logits; EOS if it ends there.
TokenId next_token(const std::vector<float>& logits, const SamplingOptions& options) {
    const Decoder graph = graph_for(logits.size());
    BigramEngine engine(Table(logits.size(), logits));
    const auto ids = generate(graph, engine, bos, options, {});
    return ids.empty() ? *graph.config().eos_token_id : ids[0];
}

RC_GTEST_PROP(Generate, MODEL_2_greedy_takes_the_lowest_id_among_the_largest_logits, ()) {
    const std::vector<float> logits = drawn_logits();
    SamplingOptions options;
    options.max_tokens = 1;
    const auto chosen = static_cast<std::size_t>(next_token(logits, options));
    RC_ASSERT(chosen < logits.size());
    for (std::size_t id = 0; id < logits.size(); ++id) {
        RC_ASSERT(logits[id] < logits[chosen] || (id >= chosen && logits[id] == logits[chosen]));
    }
}

/// The first 53 bits of the seed's stream say where in softmax(logits / temperature), laid out in
/// the order of ids, the token lies; roundings move the borders. A weight has the exponential's
/// error, 2^-22, and that of a quotient of at most 87, two roundings of 87 2^-24; a border is a
/// quotient of two sums of such weights.
RC_GTEST_PROP(Generate, MODEL_5_a_sample_is_where_the_bits_of_the_seed_point, ()) {
    std::vector<float> logits = drawn_logits();
    SamplingOptions options;
    options.max_tokens = 1;
    options.temperature = *rc::gen::element(0.01, 0.25, 1.0, 2.0).as("temperature");
    for (float& logit : logits) logit *= static_cast<float>(options.temperature);
    options.seed = *rc::gen::arbitrary<std::uint64_t>().as("seed");
    const auto chosen = static_cast<std::size_t>(next_token(logits, options));
    RC_ASSERT(chosen < logits.size());
    std::vector<double> ends(1, 0.0);
    for (const float logit : logits) {
        ends.push_back(ends.back() + std::exp(double{logit} / options.temperature));
    }
    const double place =
        std::ldexp(static_cast<double>(std::mt19937_64(options.seed)() >> 11), -53);
    constexpr double border = 2 * (2 * 87 * 0x1p-24 + 0x1p-22 + 0x1p-22);  // and of the sums
    RC_ASSERT(ends[chosen] / ends.back() <= place + border);
    RC_ASSERT(place <= ends[chosen + 1] / ends.back() + border);
}

/// Weights are summed in parts: each token of a large vocabulary has its share, and an unlikely one
/// of -infinity none, wherever it stands.
TEST(Generate, MODEL_5_a_sample_from_a_large_vocabulary) {
    constexpr std::size_t vocabulary = 1300;
    std::vector<float> logits(vocabulary, -std::numeric_limits<float>::infinity());
    const std::vector<std::size_t> possible{1, 511, 512, 700, 1023, 1024, 1299};
    for (const std::size_t id : possible) logits[id] = 0.5F;
    const Decoder graph = graph_for(vocabulary);
    BigramEngine engine(Table(vocabulary, logits));
    SamplingOptions options;
    options.max_tokens = 1;
    options.temperature = 0.7;
    std::vector<bool> seen(vocabulary);
    for (options.seed = 0; options.seed < 60; ++options.seed) {
        const auto ids = generate(graph, engine, bos, options, {});
        ASSERT_EQ(ids.size(), 1U);
        const double place =
            std::ldexp(static_cast<double>(std::mt19937_64(options.seed)() >> 11), -53);
        EXPECT_EQ(static_cast<std::size_t>(ids[0]), possible[static_cast<std::size_t>(place * 7)]);
        seen[static_cast<std::size_t>(ids[0])] = true;
    }
    for (const std::size_t id : possible) EXPECT_TRUE(seen[id]) << id;
}

TEST(Generate, MODEL_5_extreme_temperatures) {
    const std::vector<float> logits{-1.0F, 3.0F, -2.0F, 3.5F};
    const auto drawn_at = [&](double temperature, std::uint64_t seed) {
        SamplingOptions options;
        options.max_tokens = 1;
        options.temperature = temperature;
        options.seed = seed;
        return next_token(logits, options);
    };
    std::vector<int> counts(logits.size());
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        EXPECT_EQ(drawn_at(std::numeric_limits<double>::denorm_min(), seed), 3);
        ++counts[static_cast<std::size_t>(drawn_at(1e300, seed))];
    }
    for (const int count : counts) EXPECT_GT(count, 0);
}

TEST(Generate, MODEL_3_the_prompt_goes_through_the_engine_as_one_batch) {
    const Decoder graph = graph_for(6);
    BigramEngine engine(cycle());
    const std::vector<TokenId> prompt{1, 5, 5, 3};
    SamplingOptions options;
    options.max_tokens = 1;
    EXPECT_EQ(generate(graph, engine, prompt, options, {}), std::vector<TokenId>{4});
    EXPECT_EQ(engine.calls, 1U);
    EXPECT_EQ(engine.columns, 1U);  // the head sees the last position only
}

TEST(Generate, MODEL_2_refuses_what_cannot_be_generated) {
    const Decoder graph = graph_for(6);
    BigramEngine engine(cycle());
    SamplingOptions options;
    options.max_tokens = 10;
    const auto run = [&](const std::vector<TokenId>& prompt) {
        return generate(graph, engine, prompt, options, {});
    };
    EXPECT_NO_THROW(run({1}));  // 10 positions: the last new token needs none
    EXPECT_THROW(run({1, 1}), BadInput);
    EXPECT_THROW(run({}), BadInput);
    EXPECT_THROW(run({6}), BadInput);
    options.max_tokens = std::numeric_limits<std::size_t>::max();
    EXPECT_THROW(run({1, 1}), BadInput) << "the sum of both exceeds every integer";
    options.max_tokens = 1;
    options.temperature = -1;
    EXPECT_THROW(run({1}), BadInput);
    options.temperature = NAN;
    EXPECT_THROW(run({1}), BadInput);
}

TEST(Generate, MODEL_5_sampling_is_a_function_of_the_seed_and_follows_the_softmax) {
    Table table(6, std::vector<float>{0.0F, 1.0F, -30.0F, 2.0F, -1.0F, 0.5F});
    const Decoder graph = graph_for(6);
    BigramEngine engine(table);
    SamplingOptions options;
    options.max_tokens = 1;
    options.temperature = 2.0;
    constexpr int draws = 20000;
    std::vector<double> counts(6, 0.0);
    for (int seed = 0; seed < draws; ++seed) {
        options.seed = static_cast<std::uint64_t>(seed);
        const auto ids = generate(graph, engine, bos, options, {});
        if (seed < 100) {
            EXPECT_EQ(ids, generate(graph, engine, bos, options, {}));
        }
        counts[ids.empty() ? 2U : static_cast<std::size_t>(ids[0])] += 1;
    }
    double total = 0;
    for (const float logit : table[0]) total += std::exp(double{logit} / 2.0);
    double chi_square = 0;
    for (std::size_t i = 0; i < 6; ++i) {
        if (i == 2) continue;  // expected less than once
        const double expected = draws * std::exp(double{table[0][i]} / 2.0) / total;
        chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    EXPECT_LT(chi_square, 28.0);  // 4 degrees of freedom: exceeded once in 80,000 honest runs
    EXPECT_LE(counts[2], 2);
}

}  // namespace
}  // namespace slip::graph
