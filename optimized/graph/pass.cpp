#include "optimized/graph/pass.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <span>

#include "optimized/graph/operations.hpp"

namespace slip::graph {
namespace {

using base::GroupId;
using base::MatrixView;

/// Multiplications for which waking other threads is worth their time: about 70 microseconds.
constexpr std::size_t worth_threads = 1 << 21;

/// `rows` of `width` elements in `storage`, which grows if need be, to no more than that, and never
/// shrinks.
MatrixView<float> room_in(std::vector<float>& storage, std::size_t rows, std::size_t width) {
    if (storage.size() < rows * width) {
        std::vector<float>().swap(storage);  // so that old and new are not held together
        storage.resize(rows * width);
    }
    return {storage.data(), rows, width};
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

Pass::Pass(const base::ModelConfig& config, base::Engine& engine, Workspace& workspace,
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
    turns = room(workspace.turns_, config.rotary_dim);
    window_turns = room(workspace.window_turns_, config.window_rope ? config.rotary_dim : 0);
}

/// Gives every token its row: its id and its position; and cuts the rows of every sequence into
/// blocks that go through attention together.
void Pass::place_rows() {
    std::size_t rows = 0;
    std::size_t blocks = 0;
    const std::size_t together = tokens_at_once();
    for (const BatchEntry& entry : batch_) {
        rows += entry.ids.size();
        blocks += (entry.ids.size() + together - 1) / together;
    }
    workspace_.ids_.clear();
    workspace_.ids_.reserve(rows);
    workspace_.positions_.clear();
    workspace_.positions_.reserve(rows);
    workspace_.longer_.clear();
    workspace_.row_blocks_.clear();
    workspace_.row_blocks_.reserve(blocks);
    for (const BatchEntry& entry : batch_) {
        for (std::size_t t = 0; t < entry.ids.size(); ++t) {
            const std::size_t position = entry.cache.length() + t;
            if (t % together == 0) {
                const std::size_t count = std::min(together, entry.ids.size() - t);
                workspace_.row_blocks_.push_back({&entry.cache, ids().size(), count, position});
            }
            workspace_.ids_.push_back(entry.ids[t]);
            workspace_.positions_.push_back(position);
            if (longrope(config_)) workspace_.longer_.push_back(entry.cache.longer());
        }
    }
}

/// Query heads that share a key head.
std::size_t Pass::sharing() const {
    return config_.num_attention_heads / config_.num_key_value_heads;
}

/// How many tokens of one sequence attention takes at once.
std::size_t Pass::tokens_at_once() const {
    return std::max<std::size_t>(1, attention_rows / sharing());
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
    for (const BatchEntry& entry : batch_) {
        entry.cache.extend(entry.ids.size());
        entry.cache.remember(entry.ids);
    }
}

ScoreRule Pass::score_rule(std::size_t block) const {
    ScoreRule rule =
        scores_of_width(config_.query_scalar.value_or(static_cast<double>(config_.head_dim)));
    rule.window = config_.window(block);
    rule.cap = static_cast<float>(config_.score_cap.value_or(0));
    return rule;
}

void Pass::attend(std::size_t block) {
    write_to_caches(block, value);
    const std::size_t d = config_.head_dim;
    attend_heads(
        block, {0, config_.num_key_value_heads}, d,
        [&](std::size_t row, std::size_t head) { return mixed.row(row).data() + head * d; });
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

/// Multiplications of a head's attention, scores and mixtures of `width` elements.
std::size_t Pass::multiplications_per_head(std::size_t width) const {
    std::size_t pairs = 0;  // of a token and a position
    for (const RowBlock& rows : workspace_.row_blocks_) {
        pairs += rows.count * (rows.position + rows.count);
    }
    return pairs * (config_.head_dim + width);
}

/// Attention of the query heads of some key heads, for every row. output(row, head) is where a
/// head's mixture of values, or of inputs, goes: `width` elements. Threads share what is worth it,
/// each with scores of its own; no result depends on who computed it.
template <class Output>
void Pass::attend_heads(std::size_t block, KeyHeads key_heads, std::size_t width,
                        const Output& output) {
    const std::size_t threads = workspace_.threads_;
    // Room for the longest sequence, so that no position of a decode reserves memory.
    const auto scores =
        room_in(workspace_.scores_, threads * attention_rows, config_.max_position_embeddings);
    const std::size_t parts = (sharing() + attention_rows - 1) / attention_rows;  // of a key head
    const std::size_t blocks = workspace_.row_blocks_.size();
    std::atomic<std::size_t> next = 0;
    const auto work = [&](std::size_t thread) {
        // One key head after the other, so that its keys and values stay in the cache.
        for (std::size_t i = next++; i < key_heads.count * parts * blocks; i = next++) {
            const std::size_t part = i / blocks;
            attend_rows(block, workspace_.row_blocks_[i % blocks], key_heads.first + part / parts,
                        part % parts * attention_rows, width, output,
                        scores.rows_from(thread * attention_rows, attention_rows));
        }
    };
    const std::size_t heads = key_heads.count * sharing();
    if (threads == 1 || heads * multiplications_per_head(width) < worth_threads) {
        work(0);
    } else {
        workspace_.team_->run(threads, work);
    }
}

/// Attends with at most attention_rows query heads of one key head, from `first` on.
template <class Output>
void Pass::attend_rows(std::size_t block, const RowBlock& rows, std::size_t key_head,
                       std::size_t first, std::size_t width, const Output& output,
                       MatrixView<float> scores) const {
    const std::size_t heads = std::min(attention_rows, sharing() - first);
    const std::size_t count = rows.count * heads;
    std::array<const float*, attention_rows> queries{};
    std::array<float*, attention_rows> outputs{};
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t row = rows.first + i / heads;
        const std::size_t head = key_head * sharing() + first + i % heads;
        queries[i] = query.row(row).data() + head * config_.head_dim;
        outputs[i] = output(row, head);
    }
    const bool mixes_values = config_.attention == Attention::fused;
    const SharedAttention attention{.cache = *rows.cache,
                                    .block = block,
                                    .key_head = key_head,
                                    .value_head = mixes_values ? key_head : 0,
                                    .position = rows.position,
                                    .heads = heads,
                                    .head_dim = config_.head_dim,
                                    .value_width = width,
                                    .queries = std::span(queries).first(count),
                                    .outputs = std::span(outputs).first(count),
                                    .rule = score_rule(block)};
    attention.run(scores.data(), scores.cols());
}

void Pass::attend_in_two_rounds(std::size_t block, GroupId first_value,
                                std::span<const float> value_bias) {
    write_to_caches(block, normed);
    const std::size_t d = config_.head_dim;
    // The heads that share a value matrix go to it in one message, one column per head and token.
    const std::size_t columns = query.rows() * sharing();
    const auto mixtures = room_in(workspace_.mixtures_, columns, config_.hidden_size);
    const auto outputs = room_in(workspace_.head_outputs_, columns, d);
    for (std::size_t shared = 0; shared < config_.num_key_value_heads; ++shared) {
        attend_heads(block, {shared, 1}, config_.hidden_size,
                     [&](std::size_t row, std::size_t head) {
                         return mixtures.row(row * sharing() + head % sharing()).data();
                     });
        apply(first_value + static_cast<GroupId>(shared), mixtures, {outputs});
        if (!value_bias.empty()) add_bias(value_bias.subspan(shared * d, d), outputs);
        for (std::size_t column = 0; column < columns; ++column) {
            const std::size_t head = shared * sharing() + column % sharing();
            std::copy_n(outputs.row(column).data(), d,
                        mixed.row(column / sharing()).data() + head * d);
        }
    }
}

}  // namespace slip::graph
