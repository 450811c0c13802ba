// The decoding of products of the hidden split (HIDE-5), in doubles that hold integers exactly.
#pragma once

#include "optimized/masks/leaf/lanes.hpp"
#include "optimized/masks/leaf/rows.hpp"

namespace slip::masks {

/// The representative from `least` on of an integer that is less than `modulus` away from one.
template <class L>
[[gnu::always_inline]] inline typename L::Doubles within(typename L::Doubles x, double least,
                                                         double modulus) {
    using Doubles = typename L::Doubles;
    using Words = typename L::Words;
    const Words all = reinterpret_cast<Words>(L::all(modulus));
    x -= reinterpret_cast<Doubles>(reinterpret_cast<Words>(x > least + modulus - 1) & all);
    return x + reinterpret_cast<Doubles>(reinterpret_cast<Words>(x < least) & all);
}

/// u y mod L, centred. The quotient is below 2^17 in magnitude, and off by less than 1/2 + 2^-30.
/// y = high 2^24 + low, and L likewise: products with the halves are below 2^42, and so exact.
template <class L>
[[gnu::always_inline]] inline typename L::Doubles lift(typename L::Doubles y, double u) {
    using Doubles = typename L::Doubles;
    constexpr std::uint64_t modulus = base::parameters::modulus(most_planes);
    constexpr std::uint64_t two_to_24 = std::uint64_t{1} << low_bits;
    constexpr double unit = two_to_24, whole = modulus;
    constexpr std::uint64_t high_part = modulus / two_to_24, half = modulus / 2;
    constexpr double modulus_high = high_part, modulus_low = modulus % two_to_24;
    const Doubles high = nearest<L>(y * (1 / unit)), low = y - high * unit;
    const Doubles quotient = nearest<L>(y * u * (1 / whole));
    const Doubles x =
        (high * u - quotient * modulus_high) * unit + (low * u - quotient * modulus_low);
    return within<L>(x, -static_cast<double>(half), whole);
}

/// Z is an integer below 2^32 in magnitude, and its doubles are off by less than 2^-20.
template <class L>
[[gnu::always_inline]] inline typename L::Doubles decode(const Decoding& by,
                                                         typename L::Doubles y) {
    using Doubles = typename L::Doubles;
    const Doubles z =
        nearest<L>(lift<L>(y, by.u[0]) * by.of_lift[0] - lift<L>(y, by.u[1]) * by.of_lift[1]);
    return within<L>(z - nearest<L>(z * by.reciprocal) * by.s, by.least, by.s);
}

/// Of at most `width` integers. Those of magnitudes below 2^51 become doubles, and doubles
/// integers, with those that are 3 * 2^51 more.
template <class L>
[[gnu::always_inline]] inline void decode_some(const Decoding& by, std::size_t count,
                                               std::int64_t* y) {
    constexpr std::uint64_t bits_of_three_to_51 = 0x4338ULL << 48;
    typename L::Words words{};
    std::memcpy(&words, y, count * sizeof *y);
    const typename L::Doubles product =
        reinterpret_cast<typename L::Doubles>(words + bits_of_three_to_51) - three_to_51;
    words = reinterpret_cast<typename L::Words>(decode<L>(by, product) + three_to_51) -
            bits_of_three_to_51;
    std::memcpy(y, &words, count * sizeof *y);
}

template <class L>
void decode_all(const Decoding& by, std::size_t count, std::int64_t* y) {
    std::size_t i = 0;
    for (; i + L::width <= count; i += L::width) decode_some<L>(by, L::width, y + i);
    if (i < count) decode_some<L>(by, count - i, y + i);
}

}  // namespace slip::masks
