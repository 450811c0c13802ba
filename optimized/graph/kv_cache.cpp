#include "optimized/graph/kv_cache.hpp"

#include <algorithm>

namespace slip::graph {

using base::MatrixView;
using base::ModelConfig;

namespace {

std::size_t parts_for(std::size_t positions) {
    constexpr std::size_t at_once = KvCache::positions_at_once;
    return (positions + at_once - 1) / at_once;
}

/// The first position that a token at `position` sees.
std::size_t first_seen(std::size_t position, std::size_t window) {
    return window == 0 || position < window ? 0 : position + 1 - window;
}

/// Parts of a block, for a sequence of `positions` positions.
std::size_t parts_of_block(std::size_t window, std::size_t positions) {
    const std::size_t all = parts_for(positions);
    return window == 0 ? all : std::min(all, parts_for(window + KvCache::tokens_at_once) + 1);
}

}  // namespace

KvCache::Shape KvCache::keys_of(const ModelConfig& config) {
    return {config.num_key_value_heads, config.head_dim};
}

KvCache::Shape KvCache::values_of(const ModelConfig& config) {
    return config.attention == Attention::fused ? keys_of(config) : Shape{1, config.hidden_size};
}

KvCache::KvCache(const ModelConfig& config)
    : remembers_(longrope(config) || !config.windows.empty()),
      keys_(keys_of(config)),
      values_(values_of(config)),
      windows_(config.windows) {
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        blocks_.push_back({config.window(block), 0, {}});
    }
}

void KvCache::truncate(std::size_t length) {
    base::require(length <= length_, "KvCache::truncate: fewer positions are filled");
    length_ = length;
    if (ids_.size() > length) ids_.resize(length);
    if (length == 0) outdated_ = false;
    for (Block& block : blocks_) {
        if (length == 0) block.first_part = 0;
        if (block.first_part * positions_at_once > first_seen(length, block.window)) {
            outdated_ = true;
        }
    }
}

bool KvCache::keeps(std::size_t length) const {
    base::require(length <= length_, "KvCache::keeps: fewer positions are filled");
    const auto has = [&](const Block& block) {
        return block.first_part * positions_at_once <= first_seen(length, block.window);
    };
    return !outdated_ && std::all_of(blocks_.begin(), blocks_.end(), has);
}

void KvCache::begin_like(const KvCache& other, std::size_t length) {
    base::require(length_ == 0 && keys_ == other.keys_ && values_ == other.values_ &&
                      windows_ == other.windows_ && blocks_.size() == other.blocks_.size() &&
                      other.keeps(length),
                  "KvCache::begin_like: the positions are not kept, or are of another model");
    begin_keys_for(other.longer_);
    const auto copied = [&](std::size_t block) {
        return parts_for(length) - other.blocks_[block].first_part;
    };
    reserve_parts([&](const Block& block) {
        return copied(static_cast<std::size_t>(&block - blocks_.data()));
    });
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
        const std::size_t first = blocks_[block].first_part = other.blocks_[block].first_part;
        for (std::size_t i = 0; i < copied(block); ++i) {
            const std::size_t position = (first + i) * positions_at_once;
            std::copy_n(other.part(block, position), elements_of_part(), part(block, position));
        }
    }
    length_ = length;
    ids_.assign(other.ids_.begin(), other.ids_.begin() + static_cast<std::ptrdiff_t>(
                                                             std::min(length, other.ids_.size())));
}

KvCache::Slab::Slab(const Slab& other) : buffer_(other.buffer_.size()) {
    std::copy_n(other.buffer_.data(), buffer_.size(), buffer_.data());
}

/// Gives every block as many parts as `parts_of` says, from one slab.
template <class PartsOf>
void KvCache::reserve_parts(const PartsOf& parts_of) {
    std::size_t missing = 0;
    for (const Block& block : blocks_) {
        missing += std::max(parts_of(block), block.parts.size()) - block.parts.size();
    }
    if (missing == 0) return;
    slabs_.emplace_back(missing * elements_of_part());
    std::size_t offset = 0;
    for (Block& block : blocks_) {
        block.parts.reserve(parts_of(block));
        while (block.parts.size() < parts_of(block)) {
            block.parts.push_back({slabs_.size() - 1, offset});
            offset += elements_of_part();
        }
    }
}

void KvCache::reserve(std::size_t positions) {
    reserve_parts([&](const Block& block) { return parts_of_block(block.window, positions); });
}

std::size_t KvCache::bytes_for(const ModelConfig& config, std::size_t positions) {
    const std::size_t of_part =
        keys_of(config).elements_of_part() + values_of(config).elements_of_part();
    std::size_t parts = 0;
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        parts += parts_of_block(config.window(block), positions);
    }
    return parts * of_part * sizeof(float);
}

std::size_t KvCache::bytes() const {
    std::size_t bytes = 0;
    for (const Slab& slab : slabs_) bytes += slab.bytes();
    return bytes;
}

bool KvCache::fits(const ModelConfig& config) const {
    return keys_ == keys_of(config) && values_ == values_of(config) &&
           blocks_.size() == config.num_hidden_layers && windows_ == config.windows;
}

void KvCache::write(std::size_t block, MatrixView<const float> keys,
                    MatrixView<const float> values) {
    base::require(block < blocks_.size() && keys.rows() == values.rows() &&
                      keys.cols() == keys_.heads * keys_.width &&
                      values.cols() == values_.heads * values_.width,
                  "KvCache::write: rows of another width, or a block too many");
    const std::size_t end = length_ + keys.rows();
    reserve(end);
    drop_unseen(blocks_[block]);
    reserve_parts([&](const Block& one) {  // more than tokens_at_once, behind a window
        return &one == &blocks_[block] ? parts_for(end) - one.first_part : 0;
    });
    for (std::size_t r = 0; r < keys.rows();) {
        const std::size_t slot = (length_ + r) % positions_at_once;
        const std::size_t count = std::min(positions_at_once - slot, keys.rows() - r);
        float* const to = part(block, length_ + r);
        write_rows(keys_, slot, keys.rows_from(r, count), to);
        write_rows(values_, slot, values.rows_from(r, count), to + keys_.elements_of_part());
        r += count;
    }
}

/// The parts that neither the next token nor a later one sees come to the end, to be written again.
/// A step that fails leaves the length as it was, and what the next token sees.
void KvCache::drop_unseen(Block& block) const {
    const std::size_t seen = first_seen(length_, block.window) / positions_at_once;
    base::require(seen >= block.first_part, "KvCache::write: the positions before are not kept");
    auto& parts = block.parts;
    const std::size_t dropped = std::min(seen - block.first_part, parts.size());
    std::rotate(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(dropped), parts.end());
    block.first_part = seen;
}

/// Rows of positions, one after the other, into one part of the sequence.
void KvCache::write_rows(Shape shape, std::size_t slot, MatrixView<const float> rows, float* part) {
    for (std::size_t r = 0; r < rows.rows(); ++r) {
        for (std::size_t head = 0; head < shape.heads; ++head) {
            std::copy_n(rows.row(r).data() + head * shape.width, shape.width,
                        part + (head * positions_at_once + slot + r) * shape.width);
        }
    }
}

}  // namespace slip::graph
