#include "optimized/graph/pass.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "optimized/graph/operations.hpp"

namespace slip {
namespace {

/// `rows` of `width` elements of a workspace vector, which grows if need be and never shrinks.
MatrixView<float> rows_of(std::vector<float>& storage, std::size_t rows, std::size_t width) {
    if (storage.size() < rows * width) storage.resize(rows * width);
    return {storage.data(), rows, width};
}

}  // namespace

KvCache::KvCache(const ModelConfig& config)
    : width_(config.key_value_width()),
      keys_(config.num_hidden_layers),
      values_(config.num_hidden_layers) {}

bool KvCache::fits(const ModelConfig& config) const {
    return width_ == config.key_value_width() && keys_.size() == config.num_hidden_layers;
}

Pass::Pass(const ModelConfig& config, Engine& engine, KvCache& cache, std::size_t tokens)
    : stream(rows_of(cache.work_.stream, tokens, config.hidden_size)),
      normed(rows_of(cache.work_.normed, tokens, config.hidden_size)),
      branch(rows_of(cache.work_.branch, tokens, config.hidden_size)),
      query(rows_of(cache.work_.query, tokens, config.query_width())),
      key(rows_of(cache.work_.key, tokens, config.key_value_width())),
      value(rows_of(cache.work_.value, tokens, config.key_value_width())),
      mixed(rows_of(cache.work_.mixed, tokens, config.query_width())),
      inner(rows_of(cache.work_.inner, tokens, config.intermediate_size)),
      config_(config),
      engine_(engine),
      cache_(cache),
      tokens_(tokens) {}

void Pass::apply(GroupId group, MatrixView<const float> input,
                 std::initializer_list<MatrixView<float>> outputs) {
    engine_.apply(group, input, std::span(outputs.begin(), outputs.size()));
}

MatrixView<float> Pass::scratch(std::size_t width) {
    return rows_of(cache_.work_.scratch, tokens_, width);
}

void Pass::attend(std::size_t block) {
    store_keys_and_values(block);
    for (std::size_t t = 0; t < tokens_; ++t) attend_one(block, t);
}

void Pass::store_keys_and_values(std::size_t block) {
    const std::size_t positions = first_position() + tokens_;
    const auto keys = rows_of(cache_.keys_[block], positions, cache_.width_);
    const auto values = rows_of(cache_.values_[block], positions, cache_.width_);
    std::copy_n(key.data(), key.size(), keys.row(first_position()).data());
    std::copy_n(value.data(), value.size(), values.row(first_position()).data());
}

void Pass::attend_one(std::size_t block, std::size_t token) {
    const std::size_t d = config_.head_dim;
    const std::size_t positions = first_position() + token + 1;
    const std::size_t sharing = config_.num_attention_heads / config_.num_key_value_heads;
    const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(d)));
    const MatrixView<const float> keys(cache_.keys_[block].data(), positions, cache_.width_);
    const MatrixView<const float> values(cache_.values_[block].data(), positions, cache_.width_);
    const std::span scores = rows_of(cache_.work_.scores, 1, positions).elements();

    for (std::size_t head = 0; head < config_.num_attention_heads; ++head) {
        const std::span head_query = query.row(token).subspan(head * d, d);
        const std::size_t at = head / sharing * d;
        for (std::size_t p = 0; p < positions; ++p) {
            scores[p] = dot(head_query, keys.row(p).subspan(at, d)) * scale;
        }
        softmax(scores);
        const std::span out = mixed.row(token).subspan(head * d, d);
        std::fill(out.begin(), out.end(), 0.0F);
        for (std::size_t p = 0; p < positions; ++p) {
            add_scaled(out, scores[p], values.row(p).subspan(at, d));
        }
    }
}

}  // namespace slip
