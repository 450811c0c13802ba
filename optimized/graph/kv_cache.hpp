// The KV cache: what a model keeps of the tokens of one sequence.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "optimized/base/huge_buffer.hpp"
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
    /// Tokens of one sequence that go through a model together, at most, where it is divided.
    static constexpr std::size_t tokens_at_once = 512;

    explicit KvCache(const base::ModelConfig& config);
    /// Positions that are filled.
    std::size_t length() const { return length_; }
    /// Forgets all positions but the first `length`, which are filled.
    void truncate(std::size_t length);
    /// Whether the first `length` positions, which are filled, are all that the token after them
    /// needs: not where windows have dropped some, nor where keys are to be computed again.
    bool keeps(std::size_t length) const;
    /// Makes an empty cache one of the first `length` positions of `other`, which keeps them and is
    /// of the same model; no more than these are copied.
    void begin_like(const KvCache& other, std::size_t length);
    /// Reserves memory for `positions` positions; up to there the sequence then grows without
    /// reserving any, and behind it by positions_at_once, without copying what is there. A position
    /// takes num_hidden_layers * (key width + value width) floats, where both widths are
    /// num_key_value_heads * head_dim, but a value is hidden_size wide in the paper's order. A
    /// block with a window W keeps no more than W + tokens_at_once positions, in whole parts and
    /// one more.
    void reserve(std::size_t positions);
    /// What reserve(positions) takes: whole parts of positions_at_once. What is rounded up to whole
    /// pages, huge ones where the system has them, comes on top: less than 2 MiB per reservation.
    static std::size_t bytes_for(const base::ModelConfig& config, std::size_t positions);
    /// What is reserved, without the rounding.
    std::size_t bytes() const;
    /// Whether the cache has room for sequences of a model with these dimensions.
    bool fits(const base::ModelConfig& config) const;
    std::size_t key_heads() const { return keys_.heads; }

    /// Writes one row a position, after the last filled one. What is written is part of the
    /// sequence when every block has it and extend() says so; until then it can be written again.
    void write(std::size_t block, base::MatrixView<const float> keys,
               base::MatrixView<const float> values);
    /// The keys of one head from position `first` on, a multiple of positions_at_once: as many rows
    /// of head_dim, without gaps, of which those count that were written. In a block with a window,
    /// one of these positions is seen by the token after the last filled one, or by a later one.
    const float* keys(std::size_t block, std::size_t head, std::size_t first) const {
        return part(block, first) + head * positions_at_once * keys_.width;
    }
    /// The same for values; in the paper's order there is one head, hidden_size wide.
    const float* values(std::size_t block, std::size_t head, std::size_t first) const {
        return part(block, first) + keys_.elements_of_part() +
               head * positions_at_once * values_.width;
    }
    /// So many positions more are filled.
    void extend(std::size_t positions) { length_ += positions; }

    // MODEL-14: with longrope, keys depend on whether the whole sequence is longer than the
    // original context. When that changes they are computed again, from the tokens; so they are
    // when a sequence is cut back behind what its windows have kept (MODEL-16).

    /// The tokens of the positions that extend() has just filled; kept where they may be needed.
    void remember(std::span<const TokenId> ids) {
        if (remembers_) ids_.insert(ids_.end(), ids.begin(), ids.end());
    }
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
    /// What one call has reserved.
    class Slab {
    public:
        explicit Slab(std::size_t elements) : buffer_(elements * sizeof(float)) {}
        Slab(const Slab& other);
        Slab(Slab&&) = default;
        Slab& operator=(Slab&&) = default;
        Slab& operator=(const Slab&) = delete;
        ~Slab() = default;

        std::size_t bytes() const { return buffer_.size(); }
        float* data() { return reinterpret_cast<float*>(buffer_.data()); }
        const float* data() const { return reinterpret_cast<const float*>(buffer_.data()); }

    private:
        base::HugeBuffer buffer_;
    };
    /// Keys and values of positions_at_once positions in one block: the keys, then the values, both
    /// [head][positions_at_once][width], so that what one head's attention reads lies together. A
    /// place and not an address, so that a copy of the cache has parts of its own.
    struct Part {
        std::size_t slab;
        std::size_t offset;  // elements
    };
    /// Parts that no later token sees are used again. Never shrinks.
    struct Block {
        std::size_t window;          // 0: none
        std::size_t first_part = 0;  // that is kept
        std::vector<Part> parts;
    };
    std::size_t elements_of_part() const {
        return keys_.elements_of_part() + values_.elements_of_part();
    }
    /// The part of the block that has `position`.
    const float* part(std::size_t block, std::size_t position) const {
        const Block& kept = blocks_[block];
        const Part& found = kept.parts[position / positions_at_once - kept.first_part];
        return slabs_[found.slab].data() + found.offset;
    }
    float* part(std::size_t block, std::size_t position) {
        return const_cast<float*>(std::as_const(*this).part(block, position));
    }
    template <class PartsOf>
    void reserve_parts(const PartsOf& parts_of);
    void drop_unseen(Block& block) const;
    static void write_rows(Shape shape, std::size_t slot, base::MatrixView<const float> rows,
                           float* part);
    static Shape keys_of(const base::ModelConfig& config);
    static Shape values_of(const base::ModelConfig& config);

    std::size_t length_ = 0;
    bool remembers_;            // whether keys may have to be computed again
    std::vector<TokenId> ids_;  // if so; else empty
    bool longer_ = false;
    bool outdated_ = false;
    Shape keys_;
    Shape values_;
    std::vector<std::size_t> windows_;
    std::vector<Block> blocks_;
    std::vector<Slab> slabs_;
};

}  // namespace slip::graph
