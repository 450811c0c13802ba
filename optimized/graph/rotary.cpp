#include "optimized/graph/rotary.hpp"

#include <cmath>

#include "optimized/graph/operations.hpp"

namespace slip::graph {

RotaryEmbedding::RotaryEmbedding(const base::ModelConfig& config)
    : head_dim_(config.head_dim), rotary_dim_(config.rotary_dim) {
    base::require(rotary_dim_ % 2 == 0 && rotary_dim_ > 0 && rotary_dim_ <= head_dim_,
                  "RotaryEmbedding: rotary_dim must be even and within a head");
    const std::size_t half = rotary_dim_ / 2;
    cosines_.resize(config.max_position_embeddings * half);
    sines_.resize(config.max_position_embeddings * half);
    for (std::size_t j = 0; j < half; ++j) {
        const double exponent = -2.0 * static_cast<double>(j) / static_cast<double>(rotary_dim_);
        const double frequency = std::pow(config.rope_theta, exponent);
        for (std::size_t position = 0; position < config.max_position_embeddings; ++position) {
            const double angle = static_cast<double>(position) * frequency;
            cosines_[position * half + j] = static_cast<float>(std::cos(angle));
            sines_[position * half + j] = static_cast<float>(std::sin(angle));
        }
    }
}

void RotaryEmbedding::turn(base::MatrixView<float> heads,
                           std::span<const std::size_t> positions) const {
    base::require(positions.size() == heads.rows(),
                  "RotaryEmbedding::turn: one position for every row");
    const std::size_t half = rotary_dim_ / 2;
    for (std::size_t t = 0; t < heads.rows(); ++t) {
        const std::span cosines = std::span(cosines_).subspan(positions[t] * half, half);
        const std::span sines = std::span(sines_).subspan(positions[t] * half, half);
        for (std::size_t at = 0; at < heads.cols(); at += head_dim_) {
            rotate(heads.row(t).subspan(at, rotary_dim_), cosines, sines);
        }
    }
}

}  // namespace slip::graph
