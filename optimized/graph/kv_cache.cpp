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

/// Of a block, for a sequence of so many positions.
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
        const std::size_t window = config.window(block);
        blocks_.push_back({{keys_, window, 0, {}}, {values_, window, 0, {}}});
    }
}

void KvCache::truncate(std::size_t length) {
    base::require(length <= length_, "KvCache::truncate: fewer positions are filled");
    length_ = length;
    if (ids_.size() > length) ids_.resize(length);
    if (length == 0) outdated_ = false;
    for (Block& block : blocks_) {
        for (Rows* const rows : {&block.keys, &block.values}) {
            if (length == 0) rows->first_part = 0;
            if (rows->first_part * positions_at_once > first_seen(length, rows->window)) {
                outdated_ = true;
            }
        }
    }
}

void KvCache::reserve(std::size_t positions) {
    for (Block& block : blocks_) {
        for (Rows* const rows : {&block.keys, &block.values}) {
            rows->reserve(parts_of_block(rows->window, positions));
        }
    }
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
    std::size_t elements = 0;
    for (const Block& block : blocks_) {
        for (const Rows* rows : {&block.keys, &block.values}) {
            for (const std::vector<float>& part : rows->parts) elements += part.capacity();
        }
    }
    return elements * sizeof(float);
}

bool KvCache::fits(const ModelConfig& config) const {
    return keys_ == keys_of(config) && values_ == values_of(config) &&
           blocks_.size() == config.num_hidden_layers && windows_ == config.windows;
}

void KvCache::write(std::size_t block, MatrixView<const float> keys,
                    MatrixView<const float> values) {
    blocks_[block].keys.write(length_, keys);
    blocks_[block].values.write(length_, values);
}

void KvCache::Rows::reserve(std::size_t needed) {
    parts.reserve(needed);
    while (parts.size() < needed) parts.emplace_back(shape.elements_of_part());
}

/// The parts that neither the token at `position` nor a later one sees come to the end, to be
/// written again. A step that fails leaves `position` where it was, and what it sees.
void KvCache::Rows::drop_unseen(std::size_t position) {
    const std::size_t seen = first_seen(position, window) / positions_at_once;
    base::require(seen >= first_part, "KvCache::write: the positions before are not kept");
    const std::size_t dropped = std::min(seen - first_part, parts.size());
    std::rotate(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(dropped), parts.end());
    first_part = seen;
}

void KvCache::Rows::write(std::size_t first, MatrixView<const float> rows) {
    const auto [heads, width] = shape;
    base::require(rows.cols() == heads * width, "KvCache::write: rows of another width");
    drop_unseen(first);
    reserve(parts_for(first + rows.rows()) - first_part);
    for (std::size_t r = 0; r < rows.rows(); ++r) {
        std::vector<float>& part = parts[(first + r) / positions_at_once - first_part];
        const std::size_t slot = (first + r) % positions_at_once;
        for (std::size_t head = 0; head < heads; ++head) {
            std::copy_n(rows.row(r).data() + head * width, width,
                        part.data() + (head * positions_at_once + slot) * width);
        }
    }
}

}  // namespace slip::graph
