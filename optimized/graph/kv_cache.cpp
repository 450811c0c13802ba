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
    : keys_(keys_of(config)), values_(values_of(config)), blocks_(config.num_hidden_layers) {}

KvCache::Slab::Slab(const Slab& other)
    : first_part_(other.first_part_), buffer_(other.buffer_.size()) {
    std::copy_n(other.buffer_.data(), buffer_.size(), buffer_.data());
}

void KvCache::reserve(std::size_t positions) {
    const std::size_t first = slab_of_part_.size();
    const std::size_t needed = parts_for(positions);
    if (needed <= first) return;
    slab_of_part_.reserve(needed);
    slabs_.emplace_back(first, (needed - first) * blocks_ * elements_of_block());
    slab_of_part_.resize(needed, slabs_.size() - 1);
}

std::size_t KvCache::bytes_for(const ModelConfig& config, std::size_t positions) {
    const std::size_t of_part =
        keys_of(config).elements_of_part() + values_of(config).elements_of_part();
    return config.num_hidden_layers * parts_for(positions) * of_part * sizeof(float);
}

std::size_t KvCache::bytes() const {
    std::size_t bytes = 0;
    for (const Slab& slab : slabs_) bytes += slab.bytes();
    return bytes;
}

bool KvCache::fits(const ModelConfig& config) const {
    return keys_ == keys_of(config) && values_ == values_of(config) &&
           blocks_ == config.num_hidden_layers;
}

void KvCache::write(std::size_t block, MatrixView<const float> keys,
                    MatrixView<const float> values) {
    base::require(block < blocks_ && keys.rows() == values.rows() &&
                      keys.cols() == keys_.heads * keys_.width &&
                      values.cols() == values_.heads * values_.width,
                  "KvCache::write: rows of another width, or a block too many");
    reserve(length_ + keys.rows());
    for (std::size_t r = 0; r < keys.rows();) {
        const std::size_t slot = (length_ + r) % positions_at_once;
        const std::size_t count = std::min(positions_at_once - slot, keys.rows() - r);
        float* const to = part(block, length_ + r);
        write_rows(keys_, slot, keys.rows_from(r, count), to);
        write_rows(values_, slot, values.rows_from(r, count), to + keys_.elements_of_part());
        r += count;
    }
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
