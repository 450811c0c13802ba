// Random weights with the spectrum of trained ones: a few large singular values above a bulk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slip::measure {

/// Numbers that depend on a seed and on where they stand, and on nothing else.
class Numbers {
public:
    Numbers(std::uint64_t seed, std::uint64_t tensor, std::uint64_t row);
    /// Mean 0, variance 1, close to normal: the sum of four uniform numbers.
    float normal();

private:
    std::uint64_t next();
    std::uint64_t state_;
};

/// An m x n matrix: spikes that fall as (1 + c)^-0.75 from ten times the bulk's largest singular
/// value, and a bulk of independent entries. Entries have a variance of about 1 / n.
class SpikedMatrix {
public:
    SpikedMatrix(std::uint64_t seed, std::uint64_t tensor, std::size_t m, std::size_t n);
    void row(std::size_t i, std::span<float> out) const;

private:
    static constexpr std::size_t spikes = 24;
    std::uint64_t seed_;
    std::uint64_t tensor_;
    std::vector<float> sizes_;  // of the spikes
    std::vector<float> right_;  // spikes x n
    float scale_ = 0;
};

/// The nearest number of the type, ties to even. |x| <= 65504 for half().
std::uint16_t bfloat16(float x);
std::uint16_t half(float x);

}  // namespace slip::measure
