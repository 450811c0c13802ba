// The KV cache: what a model keeps of the tokens of one sequence.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "optimized/base/model_shape.hpp"

namespace slip::graph {

/// Whether keys depend on the length of the sequence: MODEL-14.
inline bool longrope(const base::ModelConfig& config) {
    return config.rope.scaling.kind == base::RopeScaling::Kind::longrope;
}

/// Keys and values of one sequence, block by block, and nothing else: weights belong to the model,
/// activations to the Workspace of whoever runs batches. In the paper's order of attention the
/// inputs X of the blocks take the place of the values (ATTN-1).
class KvCache {
public:
    /// Positions whose rows lie together, and are reserved together.
    static constexpr std::size_t positions_at_once = 128;

    explicit KvCache(const base::ModelConfig& config);
    /// Positions that are filled.
    std::size_t length() const { return length_; }
    /// Forgets all positions but the first `length`, which are filled.
    void truncate(std::size_t length) {
        base::require(length <= length_, "KvCache::truncate: fewer positions are filled");
        length_ = length;
        if (ids_.size() > length) ids_.resize(length);
    }
    /// Reserves memory for so many positions; up to there the sequence then grows without
    /// reserving any, and behind it by positions_at_once, without copying what is there. A position
    /// takes num_hidden_layers * (key width + value width) floats, where both widths are
    /// num_key_value_heads * head_dim, but a value is hidden_size wide in the paper's order.
    void reserve(std::size_t positions);
    /// What reserve(positions) takes: whole parts of positions_at_once.
    static std::size_t bytes_for(const base::ModelConfig& config, std::size_t positions);
    /// What is reserved.
    std::size_t bytes() const;
    /// Whether the cache has room for sequences of a model with these dimensions.
    bool fits(const base::ModelConfig& config) const;

    /// Writes one row a position, after the last filled one. What is written is part of the
    /// sequence when every block has it and extend() says so; until then it can be written again.
    void write(std::size_t block, base::MatrixView<const float> keys,
               base::MatrixView<const float> values);
    /// The keys of one head from position `first` on, a multiple of positions_at_once: so many rows
    /// of head_dim, without gaps, of which those count that were written.
    const float* keys(std::size_t block, std::size_t head, std::size_t first) const {
        return blocks_[block].keys.rows(head, first);
    }
    /// The same for values; in the paper's order there is one head, hidden_size wide.
    const float* values(std::size_t block, std::size_t head, std::size_t first) const {
        return blocks_[block].values.rows(head, first);
    }
    /// So many positions more are filled.
    void extend(std::size_t positions) { length_ += positions; }

    // MODEL-14: with longrope, keys depend on whether the whole sequence is longer than the
    // original context. When that changes they are computed again, from the tokens.

    /// The tokens of the positions that extend() has just filled.
    void remember(std::span<const TokenId> ids) { ids_.insert(ids_.end(), ids.begin(), ids.end()); }
    const std::vector<TokenId>& ids() const { return ids_; }
    /// Whether the keys are those of a sequence longer than the original context.
    bool longer() const { return longer_; }
    /// Whether the keys that are filled are those of such a sequence, or of one that is not.
    bool has_keys_for(bool longer) const {
        return length_ == 0 || (longer_ == longer && !outdated_);
    }
    /// Empties the cache for keys of the other kind.
    void begin_keys_for(bool longer) {
        truncate(0);
        longer_ = longer;
        outdated_ = false;
    }
    /// The sequence is `ids` again, but its keys have to be computed before they are used.
    void restore_without_keys(std::vector<TokenId> ids) {
        length_ = ids.size();
        ids_ = std::move(ids);
        outdated_ = true;
    }

private:
    /// What a row, of one position, consists of.
    struct Shape {
        std::size_t heads;
        std::size_t width;
        std::size_t elements_of_part() const { return heads * positions_at_once * width; }
        bool operator==(const Shape&) const = default;
    };
    /// One block's rows, [positions / positions_at_once][head][positions_at_once][width]: what one
    /// head's attention reads lies together. Never shrinks.
    struct Rows {
        Shape shape;
        std::vector<std::vector<float>> parts;

        void reserve(std::size_t positions);
        void write(std::size_t first, base::MatrixView<const float> rows);
        const float* rows(std::size_t head, std::size_t first) const {
            return parts[first / positions_at_once].data() + head * positions_at_once * shape.width;
        }
    };
    struct Block {
        Rows keys;
        Rows values;
    };
    static Shape keys_of(const base::ModelConfig& config);
    static Shape values_of(const base::ModelConfig& config);

    std::size_t length_ = 0;
    std::vector<TokenId> ids_;  // with longrope; else empty
    bool longer_ = false;
    bool outdated_ = false;
    Shape keys_;
    Shape values_;
    std::vector<Block> blocks_;
};

}  // namespace slip::graph
