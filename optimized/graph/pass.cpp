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

/// What lies in the cache for a position of a block: keys, and values or inputs.
std::size_t value_width_of(const ModelConfig& config) {
    return config.attention == Attention::fused ? config.key_value_width() : config.hidden_size;
}

}  // namespace

void append_two_round_groups(const ModelConfig& config, std::size_t block,
                             const AttentionTensors& tensors, std::vector<GroupShape>& groups) {
    const auto append = [&](const std::string& tensor, const std::string& type, std::size_t m,
                            std::size_t first_row, std::size_t tensor_rows) {
        groups.push_back({config.hidden_size, {{tensor, type, block, m, first_row, tensor_rows}}});
    };
    const std::size_t query = config.query_width();
    const std::size_t key = config.key_value_width();
    const auto rows = [&](std::size_t own) {
        return tensors.tensor_rows == 0 ? own : tensors.tensor_rows;
    };
    append(tensors.query, tensors.query_type, query, tensors.query_row, rows(query));
    append(tensors.key, tensors.key_type, key, tensors.key_row, rows(key));
    for (std::size_t head = 0; head < config.num_key_value_heads; ++head) {
        append(tensors.value, tensors.value_type, config.head_dim,
               tensors.value_row + head * config.head_dim, rows(key));
        groups.back().columns_a_token = config.num_attention_heads / config.num_key_value_heads;
    }
}

KvCache::KvCache(const ModelConfig& config)
    : key_width_(config.key_value_width()),
      value_width_(value_width_of(config)),
      keys_(config.num_hidden_layers),
      values_(config.num_hidden_layers) {}

bool KvCache::fits(const ModelConfig& config) const {
    return key_width_ == config.key_value_width() && value_width_ == value_width_of(config) &&
           keys_.size() == config.num_hidden_layers;
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
    store(block, value);
    for (std::size_t t = 0; t < tokens_; ++t) attend_one(block, t);
}

/// Appends `key` and `values` at the pass's positions.
void Pass::store(std::size_t block, MatrixView<const float> values) {
    const std::size_t positions = first_position() + tokens_;
    const auto keys = rows_of(cache_.keys_[block], positions, cache_.key_width_);
    const auto cached = rows_of(cache_.values_[block], positions, cache_.value_width_);
    std::copy_n(key.data(), key.size(), keys.row(first_position()).data());
    std::copy_n(values.data(), values.size(), cached.row(first_position()).data());
}

/// softmax(q K^T / sqrt(head_dim)) of one head of one token, over the positions up to its own.
std::span<const float> Pass::scores_of(std::size_t block, std::size_t token, std::size_t head) {
    const std::size_t d = config_.head_dim;
    const std::size_t positions = first_position() + token + 1;
    const std::size_t sharing = config_.num_attention_heads / config_.num_key_value_heads;
    const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(d)));
    const MatrixView<const float> keys(cache_.keys_[block].data(), positions, cache_.key_width_);
    const std::span scores = rows_of(cache_.work_.scores, 1, positions).elements();
    const std::span head_query = query.row(token).subspan(head * d, d);
    for (std::size_t p = 0; p < positions; ++p) {
        scores[p] = dot(head_query, keys.row(p).subspan(head / sharing * d, d)) * scale;
    }
    softmax(scores);
    return scores;
}

/// out = sum_p scores[p] V[p], of the cached rows' elements from `first` on.
void Pass::mix_values(std::span<const float> scores, std::size_t block, std::size_t first,
                      std::span<float> out) const {
    const MatrixView<const float> values(cache_.values_[block].data(), scores.size(),
                                         cache_.value_width_);
    std::fill(out.begin(), out.end(), 0.0F);
    for (std::size_t p = 0; p < scores.size(); ++p) {
        add_scaled(out, scores[p], values.row(p).subspan(first, out.size()));
    }
}

void Pass::attend_one(std::size_t block, std::size_t token) {
    const std::size_t d = config_.head_dim;
    const std::size_t sharing = config_.num_attention_heads / config_.num_key_value_heads;
    for (std::size_t head = 0; head < config_.num_attention_heads; ++head) {
        mix_values(scores_of(block, token, head), block, head / sharing * d,
                   mixed.row(token).subspan(head * d, d));
    }
}

void Pass::attend_in_two_rounds(std::size_t block, GroupId first_value,
                                std::span<const float> value_bias) {
    store(block, normed);
    const std::size_t d = config_.head_dim;
    const std::size_t sharing = config_.num_attention_heads / config_.num_key_value_heads;
    // The heads that share a value matrix go to it in one message, a column a head and token.
    const auto mixtures = rows_of(cache_.work_.mixtures, tokens_ * sharing, config_.hidden_size);
    const auto outputs = rows_of(cache_.work_.head_outputs, tokens_ * sharing, d);
    for (std::size_t shared = 0; shared < config_.num_key_value_heads; ++shared) {
        for (std::size_t row = 0; row < mixtures.rows(); ++row) {
            const std::size_t head = shared * sharing + row % sharing;
            mix_values(scores_of(block, row / sharing, head), block, 0, mixtures.row(row));
        }
        apply(first_value + static_cast<GroupId>(shared), mixtures, {outputs});
        if (!value_bias.empty()) add_bias(value_bias.subspan(shared * d, d), outputs);
        for (std::size_t row = 0; row < outputs.rows(); ++row) {
            const std::size_t head = shared * sharing + row % sharing;
            std::copy_n(outputs.row(row).data(), d, mixed.row(row / sharing).data() + head * d);
        }
    }
}

}  // namespace slip
