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

}  // namespace

KvCache::Shape KvCache::keys_of(const ModelConfig& config) {
    return {config.num_key_value_heads, config.head_dim};
}

KvCache::Shape KvCache::values_of(const ModelConfig& config) {
    return config.attention == Attention::fused ? keys_of(config) : Shape{1, config.hidden_size};
}

KvCache::KvCache(const ModelConfig& config)
    : keys_(keys_of(config)),
      values_(values_of(config)),
      blocks_(config.num_hidden_layers, Block{{keys_, {}}, {values_, {}}}) {}

void KvCache::reserve(std::size_t positions) {
    for (Block& block : blocks_) {
        block.keys.reserve(positions);
        block.values.reserve(positions);
    }
}

std::size_t KvCache::bytes_for(const ModelConfig& config, std::size_t positions) {
    const std::size_t of_part =
        keys_of(config).elements_of_part() + values_of(config).elements_of_part();
    return config.num_hidden_layers * parts_for(positions) * of_part * sizeof(float);
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
           blocks_.size() == config.num_hidden_layers;
}

void KvCache::write(std::size_t block, MatrixView<const float> keys,
                    MatrixView<const float> values) {
    blocks_[block].keys.write(length_, keys);
    blocks_[block].values.write(length_, values);
}

void KvCache::Rows::reserve(std::size_t positions) {
    const std::size_t needed = parts_for(positions);
    parts.reserve(needed);
    while (parts.size() < needed) parts.emplace_back(shape.elements_of_part());
}

void KvCache::Rows::write(std::size_t first, MatrixView<const float> rows) {
    const auto [heads, width] = shape;
    base::require(rows.cols() == heads * width, "KvCache::write: rows of another width");
    reserve(first + rows.rows());
    for (std::size_t r = 0; r < rows.rows(); ++r) {
        std::vector<float>& part = parts[(first + r) / positions_at_once];
        const std::size_t slot = (first + r) % positions_at_once;
        for (std::size_t head = 0; head < heads; ++head) {
            std::copy_n(rows.row(r).data() + head * width, width,
                        part.data() + (head * positions_at_once + slot) * width);
        }
    }
}

}  // namespace slip::graph
