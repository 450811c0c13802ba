#include "optimized/graph/kv_cache.hpp"

#include <algorithm>

namespace slip::graph {
namespace {

using base::MatrixView;
using base::ModelConfig;

std::size_t value_width_of(const ModelConfig& config) {
    return config.attention == Attention::fused ? config.key_value_width() : config.hidden_size;
}

}  // namespace

KvCache::KvCache(const ModelConfig& config)
    : key_width_(config.key_value_width()),
      value_width_(value_width_of(config)),
      blocks_(config.num_hidden_layers, Block{{key_width_, {}}, {value_width_, {}}}) {}

void KvCache::reserve(std::size_t positions) {
    for (Block& block : blocks_) {
        block.keys.elements.reserve(positions * key_width_);
        block.values.elements.reserve(positions * value_width_);
    }
}

bool KvCache::fits(const ModelConfig& config) const {
    return key_width_ == config.key_value_width() && value_width_ == value_width_of(config) &&
           blocks_.size() == config.num_hidden_layers;
}

void KvCache::write(std::size_t block, MatrixView<const float> keys,
                    MatrixView<const float> values) {
    blocks_[block].keys.write(length_, keys);
    blocks_[block].values.write(length_, values);
}

MatrixView<const float> KvCache::keys(std::size_t block, std::size_t positions) const {
    return blocks_[block].keys.first(positions);
}

MatrixView<const float> KvCache::values(std::size_t block, std::size_t positions) const {
    return blocks_[block].values.first(positions);
}

void KvCache::Rows::write(std::size_t first, MatrixView<const float> rows) {
    base::require(rows.cols() == width, "KvCache::write: rows of another width");
    const std::size_t end = (first + rows.rows()) * width;
    if (elements.size() < end) elements.resize(end);
    std::copy_n(rows.data(), rows.size(), elements.data() + first * width);
}

MatrixView<const float> KvCache::Rows::first(std::size_t rows) const {
    return {elements.data(), rows, width};
}

}  // namespace slip::graph
