#include "optimized/graph/rotary.hpp"

#include <cmath>

#include "optimized/graph/operations.hpp"

namespace slip::graph {
namespace {

using base::RopeScaling;
using Kind = RopeScaling::Kind;

constexpr double two_pi = 6.283185307179586;

/// MODEL-14, "llama3": long wavelengths are divided, short ones kept, and those between are mixed.
double llama3_frequency(double frequency, const RopeScaling& scaling) {
    const double wavelength = two_pi / frequency;
    const auto original = static_cast<double>(scaling.original_positions);
    const double low = scaling.low_frequency_factor;
    const double high = scaling.high_frequency_factor;
    if (wavelength < original / high) return frequency;
    if (wavelength > original / low) return frequency / scaling.factor;
    const double kept = (original / wavelength - low) / (high - low);
    return (1 - kept) * frequency / scaling.factor + kept * frequency;
}

double scaled(double frequency, const RopeScaling& scaling) {
    switch (scaling.kind) {
        case Kind::none:
        case Kind::longrope:  // each frequency has a factor of its own
            return frequency;
        case Kind::linear:
            return frequency / scaling.factor;
        case Kind::llama3:
            return llama3_frequency(frequency, scaling);
    }
    throw InternalError("RotaryEmbedding: unknown kind of scaling");
}

std::vector<double> divided(std::vector<double> frequencies, const std::vector<double>& factors) {
    base::require(factors.size() == frequencies.size(),
                  "RotaryEmbedding: longrope has a factor for each frequency");
    for (std::size_t j = 0; j < frequencies.size(); ++j) frequencies[j] /= factors[j];
    return frequencies;
}

}  // namespace

RotaryEmbedding::RotaryEmbedding(const base::Rope& rope, std::size_t head_dim,
                                 std::size_t rotary_dim)
    : head_dim_(head_dim),
      rotary_dim_(rotary_dim),
      magnitude_(rope.scaling.kind == Kind::longrope ? rope.scaling.attention_factor : 1.0) {
    base::require(rotary_dim_ % 2 == 0 && rotary_dim_ > 0 && rotary_dim_ <= head_dim_,
                  "RotaryEmbedding: rotary_dim must be even and within a head");
    for (std::size_t j = 0; j < rotary_dim_ / 2; ++j) {
        const double exponent = -2.0 * static_cast<double>(j) / static_cast<double>(rotary_dim_);
        frequencies_.push_back(scaled(std::pow(rope.theta, exponent), rope.scaling));
    }
    if (rope.scaling.kind == Kind::longrope) {
        long_frequencies_ = divided(frequencies_, rope.scaling.long_factors);
        frequencies_ = divided(std::move(frequencies_), rope.scaling.short_factors);
    }
}

void RotaryEmbedding::write_turns(std::span<const std::size_t> positions,
                                  const std::vector<bool>& longer,
                                  base::MatrixView<float> turns) const {
    base::require(positions.size() == turns.rows() && turns.cols() == rotary_dim_ &&
                      (long_frequencies_.empty() || longer.size() == positions.size()),
                  "RotaryEmbedding::write_turns: one position for every row");
    const std::size_t half = rotary_dim_ / 2;
    for (std::size_t t = 0; t < turns.rows(); ++t) {
        const auto& frequencies =
            !long_frequencies_.empty() && longer[t] ? long_frequencies_ : frequencies_;
        float* const row = turns.row(t).data();
        for (std::size_t j = 0; j < half; ++j) {
            const double angle = static_cast<double>(positions[t]) * frequencies[j];
            row[j] = static_cast<float>(magnitude_ * std::cos(angle));
            row[half + j] = static_cast<float>(magnitude_ * std::sin(angle));
        }
    }
}

void RotaryEmbedding::turn(base::MatrixView<float> heads,
                           base::MatrixView<const float> turns) const {
    base::require(turns.rows() == heads.rows() && turns.cols() == rotary_dim_,
                  "RotaryEmbedding::turn: one rotation for every row");
    const std::size_t half = rotary_dim_ / 2;
    for (std::size_t t = 0; t < heads.rows(); ++t) {
        const std::span<const float> cosines_and_sines = turns.row(t);
        for (std::size_t at = 0; at < heads.cols(); at += head_dim_) {
            rotate(heads.row(t).subspan(at, rotary_dim_), cosines_and_sines.first(half),
                   cosines_and_sines.subspan(half));
        }
    }
}

}  // namespace slip::graph
