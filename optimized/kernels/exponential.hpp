// MODEL-5: the exponential of the float kernels, one sequence of operations for vectors of every
// width. Always inlined, as in leaf/residues.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slip::kernels {

/// Vectors of `width` numbers of 32 bits; one number is a scalar.
template <std::size_t width>
struct Lanes {
    using Floats [[gnu::vector_size(width * sizeof(float))]] = float;
    using Integers [[gnu::vector_size(width * sizeof(float))]] = std::int32_t;
    using Words [[gnu::vector_size(width * sizeof(float))]] = std::uint32_t;
};
template <>
struct Lanes<1> {
    using Floats = float;
    using Integers = std::int32_t;
    using Words = std::uint32_t;
};

/// The nearest number in [-87, 87], or the NaN. On the bits, which are ordered as the magnitudes
/// are, so that a NaN takes no branch.
template <std::size_t width>
[[gnu::always_inline]] inline typename Lanes<width>::Floats clamp_to_87(
    typename Lanes<width>::Floats x) {
    using Floats = typename Lanes<width>::Floats;
    using Integers = typename Lanes<width>::Integers;
    const Integers limit = Integers{} + __builtin_bit_cast(std::int32_t, 87.0F);
    const Integers infinity = Integers{} + 0x7f800000;
    const Integers bits = __builtin_bit_cast(Integers, x);
    const Integers magnitude = bits & 0x7fffffff;
    const Integers clamped = (bits ^ magnitude) | (magnitude < limit ? magnitude : limit);
    return __builtin_bit_cast(Floats, magnitude > infinity ? bits : clamped);
}

/// exp(x) within 2^-22 of the true value, relatively, for x in [-87, 87]; outside, the value at the
/// nearer end. A NaN stays a NaN.
///
/// exp(x) = 2^e exp(r) with e = round(x / ln 2) and |r| <= ln 2 / 2 < 0.3466. The Taylor polynomial
/// of degree 7 leaves less than 0.3466^8 / 8! * 1.5 < 2^-26 of exp(r).
template <std::size_t width>
[[gnu::always_inline]] inline typename Lanes<width>::Floats exponential(
    typename Lanes<width>::Floats x) {
    using Floats = typename Lanes<width>::Floats;
    using Words = typename Lanes<width>::Words;
    constexpr float one_and_a_half = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
    constexpr float inverse_ln2 = 1.44269504F;
    constexpr float ln2_high = 0.693359375F;  // 9 bits long: e * ln2_high is exact
    constexpr float ln2_low = -2.12194440e-4F;

    const Floats clamped = clamp_to_87<width>(x);
    const Floats rounded = clamped * inverse_ln2 + one_and_a_half;
    const Floats e = rounded - one_and_a_half;
    const Floats r = (clamped - e * ln2_high) - e * ln2_low;

    Floats series = Floats{} + 1.0F / 5040;
    series = series * r + 1.0F / 720;
    series = series * r + 1.0F / 120;
    series = series * r + 1.0F / 24;
    series = series * r + 1.0F / 6;
    series = series * r + 0.5F;
    series = series * r + 1.0F;
    series = series * r + 1.0F;
    // The last bits of `rounded` are e; moved to the exponent's place they make 2^e.
    const Words scale = (__builtin_bit_cast(Words, rounded) << 23) + (std::uint32_t{127} << 23);
    return series * __builtin_bit_cast(Floats, scale);
}
/// One number in a vector of four, so that no branch depends on it.
template <>
[[gnu::always_inline]] inline float exponential<1>(float x) {
    return exponential<4>(Lanes<4>::Floats{x})[0];
}

}  // namespace slip::kernels
