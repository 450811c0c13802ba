// Stored rows as doubles, and products as residues.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "optimized/masks/contracts.hpp"
#include "optimized/masks/leaf/lanes.hpp"

namespace slip::masks {

/// What becomes of a stored integer: its low 24 bits, the bits above, the representative of least
/// magnitude modulo L of five planes, or what is 2^43 less.
enum class Part { low, high, centred, rounded };
inline constexpr unsigned low_bits = 24;

/// README.md: with `elements` elements of magnitudes up to `largest`, and those of a secret up to
/// `secret`, no coefficient of a product is off by more before it is rounded.
constexpr double error_of(double largest, std::size_t elements, int secret = largest_secret) {
    const double factor = elements <= 8 ? 70.0 : elements <= 9 ? 71.5 : 81.4;
    return factor * 0x1p-53 * largest * secret * static_cast<double>(degree * elements);
}
constexpr double largest_stored(std::size_t planes) {
    return static_cast<double>(base::parameters::modulus(planes) - 1);
}
static_assert(error_of(1U << low_bits, most_elements) < 0.5);
static_assert(error_of(largest_stored(most_planes) / (1U << low_bits), most_elements) < 0.5);
static_assert(error_of(largest_stored(least_planes) / 2, most_elements_centred) + 0.5 <
              largest_error + 1);
static_assert(error_of(static_cast<double>(most_rounded), most_elements_rounded, 1) + 0.5 <
              largest_rounded_error + 1);

/// Doubles of 2^52 .. 2^53 - 1 are integers: their lower bits say which.
inline constexpr double two_to_52 = 0x1p52, two_to_43 = 0x1p43;
inline constexpr std::uint64_t bits_of_two_to_52 = 0x433ULL << 52;

template <class L, Part part>
[[gnu::always_inline]] inline typename L::Doubles value(typename L::Words stored) {
    using Doubles = typename L::Doubles;
    using Words = typename L::Words;
    if constexpr (part == Part::low) stored &= (std::uint64_t{1} << low_bits) - 1;
    if constexpr (part == Part::high) stored >>= low_bits;
    constexpr double offset = part == Part::rounded ? two_to_52 + two_to_43 : two_to_52;
    Doubles x = reinterpret_cast<Doubles>(stored | bits_of_two_to_52) - offset;
    if constexpr (part == Part::centred) {
        constexpr auto modulus = static_cast<double>(base::parameters::modulus(least_planes));
        const Words above = reinterpret_cast<Words>(x > (modulus - 1) / 2);
        x -= reinterpret_cast<Doubles>(above & reinterpret_cast<Words>(L::all(modulus)));
    }
    return x;
}

/// An element of each lane's row, of residues: of its complex coefficient j, words 2 j and 2 j + 1.
template <class L>
[[gnu::always_inline]] inline void load_residues(const std::uint8_t* const* rows,
                                                 std::size_t planes, typename L::Words* words) {
    const Pair pair = pair_of_residues(planes);
    for (std::size_t j = 0; j < points; j += 2) {
        L::template load<true>(rows, j * planes, pair, words[2 * j], words[2 * j + 2]);
        L::template load<false>(rows, (j + points) * planes, pair, words[2 * j + 1],
                                words[2 * j + 3]);
    }
}

/// The same of rounded integers.
template <class L>
[[gnu::always_inline]] inline void load_rounded(const std::uint8_t* const* rows,
                                                typename L::Words* words) {
    constexpr std::uint64_t bits = (std::uint64_t{1} << 44) - 1;
    const auto load_pair = [&]<bool ahead>(std::size_t j) {
        typename L::Words first, second;
        L::template load<ahead>(rows, j * rounded_pair_bytes, rounded_pair, first, second);
        words[2 * j] = first & bits;
        words[2 * j + 1] = second >> 4;
    };
    for (std::size_t j = 0; j < points - 1; ++j) load_pair.template operator()<true>(j);
    load_pair.template operator()<false>(points - 1);
}

/// Planes are reduced in pairs: a residue modulo both primes fits 16 bits.
inline constexpr std::size_t plane_pairs = most_planes / 2;
struct PlanePair {
    double modulus, reciprocal;
    double weight_of_high;  // 2^24 modulo it, centred
};
constexpr PlanePair pair_of(std::size_t q) {
    const auto modulus = static_cast<std::int64_t>(base::parameters::primes[2 * q]) *
                         base::parameters::primes[2 * q + 1];
    std::int64_t weight = (std::int64_t{1} << low_bits) % modulus;
    if (weight > modulus / 2) weight -= modulus;
    return {static_cast<double>(modulus), 1.0 / static_cast<double>(modulus),
            static_cast<double>(weight)};
}
inline constexpr std::array<PlanePair, plane_pairs> pairs{pair_of(0), pair_of(1), pair_of(2)};

/// 3 * 2^51: a double that is added to it is rounded to an integer, magnitudes below 2^51.
inline constexpr double three_to_51 = 0x1.8p52;

/// The nearest integer, for magnitudes below 2^51.
template <class L>
[[gnu::always_inline]] inline typename L::Doubles nearest(typename L::Doubles x) {
    return x + three_to_51 - three_to_51;
}

/// A number congruent to x, an integer of magnitude below 2^52, modulo a pair of primes: at most
/// half of their product and 1 in magnitude, as the rounded quotient is off by less than 1/2 +
/// 2^-15.
template <class L>
[[gnu::always_inline]] inline typename L::Doubles reduce(typename L::Doubles x, std::size_t q) {
    const typename L::Doubles bias = L::all(three_to_51);
    const typename L::Doubles quotient =
        L::plus_product(bias, x, L::all(pairs[q].reciprocal)) - bias;
    return L::minus_product(x, quotient, L::all(pairs[q].modulus));
}

/// The last step, in 16 bits: u factor mod prime, as u factor - floor(u quotient / 2^16) prime with
/// quotient = floor(2^16 factor / prime). It is right modulo 2^16, and below 2 prime, as what the
/// floors take away is below 1 + u / 2^16.
struct ShortProduct {
    std::uint16_t prime, factor, quotient;
    std::uint16_t offset;  // the least multiple of prime that makes a reduced number positive
};
[[gnu::always_inline]] constexpr ShortProduct short_product(std::size_t plane,
                                                            std::uint32_t factor) {
    constexpr std::uint32_t largest = 251 * 241 / 2 + 1;
    const std::uint32_t prime = base::parameters::primes[plane];
    return {static_cast<std::uint16_t>(prime), static_cast<std::uint16_t>(factor),
            static_cast<std::uint16_t>((factor << 16) / prime),
            static_cast<std::uint16_t>((largest + prime - 1) / prime * prime)};
}
[[gnu::always_inline]] constexpr std::uint8_t multiply_short(std::int16_t reduced,
                                                             const ShortProduct& by) {
    const auto u = static_cast<std::uint16_t>(reduced + by.offset);
    const auto quotient = static_cast<std::uint16_t>(std::uint32_t{u} * by.quotient >> 16);
    const auto below_2_primes = static_cast<std::uint16_t>(u * by.factor - quotient * by.prime);
    // What has wrapped is the larger one: no branch, as vectors have a minimum.
    const auto less = static_cast<std::uint16_t>(below_2_primes - by.prime);
    return static_cast<std::uint8_t>(std::min(below_2_primes, less));
}

}  // namespace slip::masks
