#include "optimized/graph/pass.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "optimized/graph/operations.hpp"

namespace slip::graph {
namespace {

using base::GroupId;
using base::MatrixView;

/// `rows` of `width` elements in `storage`, which grows if need be, to no more than that, and never
/// shrinks.
MatrixView<float> room_in(std::vector<float>& storage, std::size_t rows, std::size_t width) {
    if (storage.size() < rows * width) {
        std::vector<float>().swap(storage);  // so that old and new are not held together
        storage.resize(rows * width);
    }
    return {storage.data(), rows, width};
}

/// out = sum_p scores[p] V[p], of the rows' elements from `first` on.
void mix_values(std::span<const float> scores, MatrixView<const float> values, std::size_t first,
                std::span<float> out) {
    std::fill(out.begin(), out.end(), 0.0F);
    for (std::size_t p = 0; p < scores.size(); ++p) {
        add_scaled(out, scores[p], values.row(p).subspan(first, out.size()));
    }
}

}  // namespace

void append_two_round_groups(const base::ModelConfig& config, std::size_t block,
                             const AttentionTensors& tensors,
                             std::vector<base::GroupShape>& groups) {
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
        groups.back().columns_per_token = config.num_attention_heads / config.num_key_value_heads;
    }
}

Pass::Pass(const base::ModelConfig& config, Engine& engine, Workspace& workspace,
           std::span<const BatchEntry> batch)
    : config_(config), engine_(engine), workspace_(workspace), batch_(batch) {
    place_rows();
    const auto room = [&](std::vector<float>& storage, std::size_t width) {
        return room_in(storage, ids().size(), width);
    };
    stream = room(workspace.stream_, config.hidden_size);
    normed = room(workspace.normed_, config.hidden_size);
    branch = room(workspace.branch_, config.hidden_size);
    query = room(workspace.query_, config.query_width());
    key = room(workspace.key_, config.key_value_width());
    value = room(workspace.value_, config.key_value_width());
    mixed = room(workspace.mixed_, config.query_width());
    inner = room(workspace.inner_, config.intermediate_size);
}

/// Gives every token its row: its id, its position and its sequence's cache.
void Pass::place_rows() {
    std::size_t rows = 0;
    for (const BatchEntry& entry : batch_) rows += entry.ids.size();
    workspace_.ids_.clear();
    workspace_.ids_.reserve(rows);
    workspace_.positions_.clear();
    workspace_.positions_.reserve(rows);
    workspace_.caches_.clear();
    workspace_.caches_.reserve(rows);
    for (const BatchEntry& entry : batch_) {
        for (std::size_t t = 0; t < entry.ids.size(); ++t) {
            workspace_.ids_.push_back(entry.ids[t]);
            workspace_.positions_.push_back(entry.cache.length() + t);
            workspace_.caches_.push_back(&entry.cache);
        }
    }
}

void Pass::apply(GroupId group, MatrixView<const float> input,
                 std::initializer_list<MatrixView<float>> outputs) {
    engine_.apply(group, input, std::span(outputs.begin(), outputs.size()));
}

MatrixView<float> Pass::scratch(std::size_t width) {
    return room_in(workspace_.scratch_, ids().size(), width);
}

MatrixView<float> Pass::gather_wanted_rows() {
    std::size_t end = 0;  // of the entry's rows
    std::size_t wanted = 0;
    for (const BatchEntry& entry : batch_) {
        end += entry.ids.size();
        for (std::size_t row = end - entry.logits_rows(); row < end; ++row, ++wanted) {
            const std::span from = stream.row(row);
            if (row != wanted) std::copy(from.begin(), from.end(), stream.row(wanted).begin());
        }
    }
    return stream.rows_from(0, wanted);
}

void Pass::commit() {
    for (const BatchEntry& entry : batch_) entry.cache.extend(entry.ids.size());
}

void Pass::attend(std::size_t block) {
    write_to_caches(block, value);
    for (std::size_t row = 0; row < query.rows(); ++row) attend_one(block, row);
}

/// Writes every sequence's rows of `key` and `values` to its cache.
void Pass::write_to_caches(std::size_t block, MatrixView<const float> values) {
    std::size_t first = 0;
    for (const BatchEntry& entry : batch_) {
        const std::size_t count = entry.ids.size();
        entry.cache.write(block, key.rows_from(first, count), values.rows_from(first, count));
        first += count;
    }
}

/// softmax(q K^T / sqrt(head_dim)) of one head of one row, over the positions up to its own.
std::span<const float> Pass::scores_of(std::size_t block, std::size_t row, std::size_t head) {
    const std::size_t d = config_.head_dim;
    const std::size_t positions = workspace_.positions_[row] + 1;
    const std::size_t sharing = config_.num_attention_heads / config_.num_key_value_heads;
    const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(d)));
    const MatrixView<const float> keys = workspace_.caches_[row]->keys(block, positions);
    // Room for the longest sequence, so that no position of a decode reserves memory.
    const std::span scores =
        room_in(workspace_.scores_, 1, config_.max_position_embeddings).row(0).first(positions);
    const std::span head_query = query.row(row).subspan(head * d, d);
    for (std::size_t p = 0; p < positions; ++p) {
        scores[p] = dot(head_query, keys.row(p).subspan(head / sharing * d, d)) * scale;
    }
    softmax(scores);
    return scores;
}

/// What the scores of a row mix: the cached values, or inputs, of the same positions.
MatrixView<const float> Pass::values_of(std::size_t block, std::size_t row) const {
    return workspace_.caches_[row]->values(block, workspace_.positions_[row] + 1);
}

void Pass::attend_one(std::size_t block, std::size_t row) {
    const std::size_t d = config_.head_dim;
    const std::size_t sharing = config_.num_attention_heads / config_.num_key_value_heads;
    for (std::size_t head = 0; head < config_.num_attention_heads; ++head) {
        mix_values(scores_of(block, row, head), values_of(block, row), head / sharing * d,
                   mixed.row(row).subspan(head * d, d));
    }
}

void Pass::attend_in_two_rounds(std::size_t block, GroupId first_value,
                                std::span<const float> value_bias) {
    write_to_caches(block, normed);
    const std::size_t d = config_.head_dim;
    const std::size_t sharing = config_.num_attention_heads / config_.num_key_value_heads;
    // The heads that share a value matrix go to it in one message, one column per head and token.
    const std::size_t columns = query.rows() * sharing;
    const auto mixtures = room_in(workspace_.mixtures_, columns, config_.hidden_size);
    const auto outputs = room_in(workspace_.head_outputs_, columns, d);
    for (std::size_t shared = 0; shared < config_.num_key_value_heads; ++shared) {
        for (std::size_t column = 0; column < columns; ++column) {
            const std::size_t row = column / sharing;
            const std::size_t head = shared * sharing + column % sharing;
            mix_values(scores_of(block, row, head), values_of(block, row), 0, mixtures.row(column));
        }
        apply(first_value + static_cast<GroupId>(shared), mixtures, {outputs});
        if (!value_bias.empty()) add_bias(value_bias.subspan(shared * d, d), outputs);
        for (std::size_t column = 0; column < columns; ++column) {
            const std::size_t head = shared * sharing + column % sharing;
            std::copy_n(outputs.row(column).data(), d,
                        mixed.row(column / sharing).data() + head * d);
        }
    }
}

}  // namespace slip::graph
