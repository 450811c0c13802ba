#include "optimized/graph/attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "optimized/base/error.hpp"
#include "optimized/graph/gates.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::graph {
namespace {

constexpr std::size_t at_once = KvCache::positions_at_once;

const kernels::FloatKernels& floats() { return kernels::active().floats; }

}  // namespace

ScoreRule scores_of_width(double width) {
    return {.scale = static_cast<float>(1.0 / std::sqrt(width))};
}

std::size_t SharedAttention::first_seen(std::size_t token) const {
    const std::size_t positions = position + token + 1;
    return rule.window == 0 || positions <= rule.window ? 0 : positions - rule.window;
}

/// Where the part of the cache begins that has the first position that any token sees.
std::size_t SharedAttention::first_part() const { return first_seen(0) / at_once * at_once; }

void SharedAttention::run(float* scores, std::size_t context) const {
    base::require(queries.size() <= attention_rows && queries.size() == outputs.size() &&
                      heads > 0 && queries.size() % heads == 0,
                  "SharedAttention: as many queries as outputs, the heads of every token");
    std::array<float*, attention_rows> rows{};
    for (std::size_t i = 0; i < queries.size(); ++i) rows[i] = scores + i * context;
    score(std::span(rows).first(queries.size()));
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const std::size_t token = i / heads;
        const std::size_t first = first_seen(token);
        const std::size_t seen = position + token + 1 - first;
        if (rule.cap > 0) soft_cap({rows[i] + first, seen}, rule.cap);
        floats().softmax(rows[i] + first, seen);
    }
    const std::array<const float*, attention_rows> weights = [&] {
        std::array<const float*, attention_rows> result{};
        std::copy(rows.begin(), rows.end(), result.begin());
        return result;
    }();
    mix(std::span(weights).first(queries.size()));
}

/// q K^T, scaled, of all queries, over the positions that any token sees. Softmax leaves out what a
/// token does not see.
void SharedAttention::score(std::span<float* const> scores) const {
    const std::size_t positions = position + queries.size() / heads;
    std::array<float*, attention_rows> out{};
    for (std::size_t first = first_part(); first < positions; first += at_once) {
        for (std::size_t i = 0; i < scores.size(); ++i) out[i] = scores[i] + first;
        const float* const next = first + at_once < positions
                                      ? cache.keys(block, key_head, first + at_once)
                                      : cache.values(block, value_head, first_part());
        floats().scores(queries.data(), queries.size(), cache.keys(block, key_head, first),
                        head_dim, std::min(at_once, positions - first), head_dim, rule.scale,
                        out.data(), next);
    }
}

/// The positions that all tokens see, for all of them at once; before and after, token by token,
/// the others. Each output adds its positions in their order, whatever tokens are together.
void SharedAttention::mix(std::span<const float* const> weights) const {
    for (float* const output : outputs) std::fill_n(output, value_width, 0.0F);
    const std::size_t tokens = queries.size() / heads;
    const std::size_t end = position + 1;
    const std::size_t first = std::min(first_seen(tokens - 1), end);
    for (std::size_t token = 0; token < tokens; ++token) {
        mix_positions(weights, token * heads, heads, first_seen(token), first);
    }
    mix_positions(weights, 0, queries.size(), first, end);
    for (std::size_t token = 1; token < tokens; ++token) {
        mix_positions(weights, token * heads, heads, std::max(end, first_seen(token)), end + token);
    }
}

/// Adds positions first to end - 1 to the outputs of some queries.
void SharedAttention::mix_positions(std::span<const float* const> weights, std::size_t first_query,
                                    std::size_t queries_at_once, std::size_t first,
                                    std::size_t end) const {
    std::array<const float*, attention_rows> from{};
    while (first < end) {
        const std::size_t part = first / at_once * at_once;
        const std::size_t count = std::min(part + at_once, end) - first;
        for (std::size_t i = 0; i < queries_at_once; ++i)
            from[i] = weights[first_query + i] + first;
        const float* const next = part + at_once < end
                                      ? cache.values(block, value_head, part + at_once)
                                      : keys_of_next_head();
        floats().mix(from.data(), queries_at_once,
                     cache.values(block, value_head, part) + (first - part) * value_width,
                     value_width, count, value_width, outputs.data() + first_query, next);
        first += count;
    }
}

/// What is attended to after this key head, or null behind the last one.
const float* SharedAttention::keys_of_next_head() const {
    return key_head + 1 < cache.key_heads() ? cache.keys(block, key_head + 1, first_part())
                                            : nullptr;
}

}  // namespace slip::graph
