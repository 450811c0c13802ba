// Attention in blocks of rows and positions against its definition in binary64, within a bound on
// what rounding can do.
// test: threads
#include "optimized/graph/attention.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "optimized/graph/pass.hpp"
#include "property_tests/generators/values.hpp"

namespace slip::testing {
namespace {

using namespace graph;
using Doubles = std::vector<double>;

struct Layer {
    base::ModelConfig config;
    std::size_t key_head;
    std::size_t position;  // of the first token
    std::size_t tokens;
    std::size_t heads;
    std::vector<float> queries;       // token by token, head by head
    std::vector<float> keys, values;  // one row per position, all heads

    std::size_t positions() const { return position + tokens; }
    const float* row(const std::vector<float>& of, std::size_t p) const {
        return of.data() + (p * config.num_key_value_heads + key_head) * config.head_dim;
    }
};

/// Multiples of 2^-10 in -4 .. 4.
std::vector<float> drawn_numbers(std::size_t count, const char* name) {
    const auto drawn = *any_list<std::int16_t>(count, -4096, 4096).as(name);
    std::vector<float> numbers;
    for (const std::int16_t number : drawn)
        numbers.push_back(std::ldexp(static_cast<float>(number), -10));
    return numbers;
}

Layer drawn_layer() {
    Layer layer;
    base::ModelConfig& config = layer.config;
    config.num_hidden_layers = 2;
    config.num_key_value_heads = *any_size(1, 3).as("key heads");
    config.head_dim = *any_size(1, 40).as("head_dim");
    layer.key_head = *rc::gen::inRange<std::size_t>(0, config.num_key_value_heads).as("key head");
    layer.heads = *any_size(1, 16).as("heads");
    layer.tokens = *any_size(1, attention_rows / layer.heads).as("tokens");
    // As often behind several parts of the cache as within the first.
    layer.position = *rc::gen::resize(rc::kNominalSize, any_size(0, 400)).as("position");
    layer.queries = drawn_numbers(layer.tokens * layer.heads * config.head_dim, "queries");
    layer.keys = drawn_numbers(layer.positions() * config.key_value_width(), "keys");
    layer.values = drawn_numbers(layer.keys.size(), "values");
    return layer;
}

/// What the product computes: positions before the tokens' are in the cache already.
std::vector<float> computed(const Layer& layer) {
    const std::size_t d = layer.config.head_dim;
    KvCache cache(layer.config);
    const std::size_t width = layer.config.key_value_width();
    const auto rows_from = [&](const std::vector<float>& rows, std::size_t first,
                               std::size_t count) {
        return base::MatrixView<const float>(rows.data() + first * width, count, width);
    };
    cache.write(1, rows_from(layer.keys, 0, layer.position),
                rows_from(layer.values, 0, layer.position));
    cache.extend(layer.position);
    cache.write(1, rows_from(layer.keys, layer.position, layer.tokens),
                rows_from(layer.values, layer.position, layer.tokens));

    std::vector<float> mixed(layer.queries.size(), NAN);
    std::vector<const float*> queries;
    std::vector<float*> outputs;
    for (std::size_t at = 0; at < layer.queries.size(); at += d) {
        queries.push_back(layer.queries.data() + at);
        outputs.push_back(mixed.data() + at);
    }
    const std::size_t context = layer.positions() + 3;
    std::vector<float> scores(queries.size() * context, NAN);
    const SharedAttention attention{
        cache, 1, layer.key_head, layer.key_head, layer.position, layer.heads,
        d,     d, queries,        outputs};
    attention.run(scores.data(), context);
    return mixed;
}

/// The definition for one query, and how far rounding can lead from it.
struct Exact {
    Doubles mixed;
    Doubles bound;
};

/// With u = 2^-24: a sum of n terms in 8 lanes passes each term through at most n / 8 + 5
/// roundings, so a score is wrong by at most (d / 8 + 7) u sum |q k| / sqrt(d); subtracting the
/// largest adds u times their difference. Let D be twice the largest of these. An exponential is
/// then wrong by a factor within exp(D) (1 + 2^-22), and a weight, a quotient of it and of a sum of
/// such, by one within exp(2 D) (1 + 2^-22)^2 (1 + u)^(n / 8 + 8). The mixture adds n roundings.
/// Exponentials below exp(-87) are raised to it: n exp(-87) in all.
Exact exact(const Layer& layer, const float* query, std::size_t positions) {
    const std::size_t d = layer.config.head_dim;
    const double u = std::ldexp(1.0, -24);
    const double root = std::sqrt(static_cast<double>(d));
    const auto n = static_cast<double>(positions);
    Doubles scores(positions);
    double largest_product = 0;
    for (std::size_t p = 0; p < positions; ++p) {
        double product = 0;
        for (std::size_t j = 0; j < d; ++j) {
            const double term = double{query[j]} * double{layer.row(layer.keys, p)[j]};
            scores[p] += term / root;
            product += std::abs(term) / root;
        }
        largest_product = std::max(largest_product, product);
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    const double wrong =
        2 * u * largest_product * (static_cast<double>(d) / 8 + 7) + 2 * u * 2 * largest_product;
    const double factor = std::exp(2 * wrong) * std::pow(1 + std::ldexp(1.0, -22), 2) *
                          std::pow(1 + u, n / 8 + 8 + n + 1);
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - largest);
    Exact result{Doubles(d), Doubles(d)};
    for (std::size_t j = 0; j < d; ++j) {
        double magnitude = 0;
        for (std::size_t p = 0; p < positions; ++p) {
            const double value = double{layer.row(layer.values, p)[j]};
            result.mixed[j] += scores[p] / sum * value;
            magnitude += (scores[p] / sum + n * std::exp(-87)) * std::abs(value);
        }
        result.bound[j] = (factor - 1) * magnitude + n * std::exp(-87);
    }
    return result;
}

RC_GTEST_PROP(Attention, MODEL_5_blocks_are_within_the_bound_of_the_definition, ()) {
    const Layer layer = drawn_layer();
    const std::size_t d = layer.config.head_dim;
    const std::vector<float> mixed = computed(layer);
    for (std::size_t query = 0; query < layer.tokens * layer.heads; ++query) {
        const std::size_t positions = layer.position + query / layer.heads + 1;
        const Exact expected = exact(layer, layer.queries.data() + query * d, positions);
        for (std::size_t j = 0; j < d; ++j) {
            const double found = double{mixed[query * d + j]};
            RC_ASSERT(std::abs(found - expected.mixed[j]) <= expected.bound[j]);
        }
    }
}

/// Tokens one by one, and heads one by one, give the bits that they give together.
RC_GTEST_PROP(Attention, MODEL_3_MODEL_5_blocks_do_not_change_bits, ()) {
    const Layer layer = drawn_layer();
    const std::size_t d = layer.config.head_dim;
    const std::vector<float> together = computed(layer);
    for (std::size_t query = 0; query < layer.tokens * layer.heads; ++query) {
        Layer alone = layer;
        alone.tokens = 1;
        alone.heads = 1;
        alone.position += query / layer.heads;
        alone.queries.assign(layer.queries.data() + query * d,
                             layer.queries.data() + (query + 1) * d);
        const std::vector<float> mixed = computed(alone);
        RC_ASSERT(std::equal(mixed.begin(), mixed.end(), together.data() + query * d));
    }
}

/// Attention multiplies by no weights.
struct NoEngine : base::Engine {
    void apply(base::GroupId, base::MatrixView<const float>,
               std::span<const base::MatrixView<float>>) override {
        FAIL() << "attention has asked for a product";
    }
};

/// Two sequences of 150 tokens, in a layer large enough that threads share it.
std::vector<float> attended(std::size_t threads) {
    base::ModelConfig config;
    config.num_hidden_layers = 1;
    config.num_attention_heads = 36;
    config.num_key_value_heads = 2;
    config.head_dim = 24;
    config.hidden_size = config.query_width();
    config.intermediate_size = 1;
    config.max_position_embeddings = 200;
    std::vector<KvCache> caches(2, KvCache(config));
    const std::vector<TokenId> ids(150, 1);
    const std::vector<BatchEntry> batch{{caches[0], ids, Logits::none},
                                        {caches[1], ids, Logits::none}};
    NoEngine engine;
    Workspace workspace(threads);
    Pass pass(config, engine, workspace, batch);
    std::mt19937_64 bits(7);
    std::normal_distribution<float> normal;
    for (const auto& rows : {pass.query, pass.key, pass.value}) {
        for (float& number : rows.elements()) number = normal(bits);
    }
    pass.attend(0);
    return {pass.mixed.elements().begin(), pass.mixed.elements().end()};
}

TEST(Attention, MODEL_5_threads_do_not_change_bits) {
    const std::vector<float> alone = attended(1);
    EXPECT_EQ(attended(2), alone);
    EXPECT_EQ(attended(5), alone);
}

}  // namespace
}  // namespace slip::testing
