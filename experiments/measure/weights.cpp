#include "experiments/measure/weights.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace slip::measure {
namespace {

/// The finaliser of splitmix64.
std::uint64_t mix(std::uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
    return bits ^ (bits >> 31);
}

/// Row number of the right vectors of the spikes, beyond the rows of every matrix.
constexpr std::uint64_t right_vectors = std::uint64_t{1} << 40;

}  // namespace

Numbers::Numbers(std::uint64_t seed, std::uint64_t tensor, std::uint64_t row)
    : state_(mix(mix(mix(seed + 1) + tensor) + row)) {}

std::uint64_t Numbers::next() { return mix(state_ += 0x9E3779B97F4A7C15U); }

float Numbers::normal() {
    const std::uint64_t bits = next();
    const auto sum = static_cast<std::int32_t>((bits & 0xFFFF) + (bits >> 16 & 0xFFFF) +
                                               (bits >> 32 & 0xFFFF) + (bits >> 48));
    constexpr float deviation = 37837.23F;  // 65536 sqrt(4 / 12)
    return static_cast<float>(sum - 2 * 65535) / deviation;
}

SpikedMatrix::SpikedMatrix(std::uint64_t seed, std::uint64_t tensor, std::size_t m, std::size_t n)
    : seed_(seed), tensor_(tensor) {
    const auto rows = static_cast<float>(m);
    const auto cols = static_cast<float>(n);
    // The bulk's largest singular value is sqrt(m) + sqrt(n), a spike's is size sqrt(m n).
    const float edge = (std::sqrt(rows) + std::sqrt(cols)) / std::sqrt(rows * cols);
    float squares = 1;
    for (std::size_t c = 0; c < spikes; ++c) {
        sizes_.push_back(10 * edge * std::pow(1 + static_cast<float>(c), -0.75F));
        squares += sizes_.back() * sizes_.back();
        Numbers numbers(seed, tensor, right_vectors + c);
        for (std::size_t j = 0; j < n; ++j) right_.push_back(numbers.normal());
    }
    scale_ = 1 / std::sqrt(cols * squares);
}

void SpikedMatrix::row(std::size_t i, std::span<float> out) const {
    Numbers numbers(seed_, tensor_, i);
    std::fill(out.begin(), out.end(), 0.0F);
    for (std::size_t c = 0; c < spikes; ++c) {
        const float left = sizes_[c] * numbers.normal();
        const float* right = right_.data() + c * out.size();
        for (std::size_t j = 0; j < out.size(); ++j) out[j] += left * right[j];
    }
    for (float& entry : out) entry = scale_ * (entry + numbers.normal());
}

std::uint16_t bfloat16(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t odd = bits >> 16 & 1;
    return static_cast<std::uint16_t>((bits + 0x7FFF + odd) >> 16);
}

std::uint16_t half(float x) {
    const auto sign = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16 & 0x8000);
    const float magnitude = std::abs(x);
    // Below 2^-14 halves are multiples of 2^-24.
    if (magnitude < 0x1p-14F) {
        return static_cast<std::uint16_t>(sign |
                                          static_cast<int>(std::nearbyint(magnitude * 0x1p24F)));
    }
    const auto bits = std::bit_cast<std::uint32_t>(magnitude);
    const std::uint32_t odd = bits >> 13 & 1;
    // From a bias of 127 to one of 15.
    return static_cast<std::uint16_t>(sign | (((bits + 0xFFF + odd) >> 13) - (112U << 10)));
}

}  // namespace slip::measure
