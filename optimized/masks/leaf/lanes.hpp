// What the transform needs of a processor, in plain vectors that the compiler knows: a leaf derives
// its lanes from this and replaces what it has instructions for. `Leaf` tells the leaves' copies
// apart for the linker: each is compiled for the instructions of its own processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "optimized/masks/contracts.hpp"

namespace slip::masks {

/// For instructions that put bytes in order: of 16, the two integers of `planes` bytes at the
/// beginning, or at the end, as two words. Index 0x80 is a zero.
using ByteOrder = std::array<std::uint8_t, 16>;
constexpr ByteOrder two_integers(std::size_t planes, bool at_the_beginning) {
    ByteOrder order{};
    for (std::size_t i = 0; i < 16; ++i) {
        const std::size_t byte = i / 8 * planes + i % 8 + (at_the_beginning ? 0 : 16 - 2 * planes);
        order[i] = static_cast<std::uint8_t>(i % 8 < planes ? byte : 0x80);
    }
    return order;
}
inline constexpr ByteOrder byte_orders[2][most_planes - least_planes + 1] = {
    {two_integers(5, false), two_integers(6, false)},
    {two_integers(5, true), two_integers(6, true)}};
template <bool at_the_beginning>
[[gnu::always_inline]] inline const std::uint8_t* byte_order(std::size_t planes) {
    return byte_orders[at_the_beginning][planes - least_planes].data();
}

/// Vectors of a leaf: doubles and words, a number in each lane, and as many bytes. The bytes come
/// from half as many of a stream. (g++ 12 loses the attribute of a type that depends on a number.)
template <std::size_t lanes>
struct Vectors;
template <>
struct Vectors<2> {
    using Doubles [[gnu::vector_size(16)]] = double;
    using Words [[gnu::vector_size(16)]] = std::uint64_t;
    using Bytes [[gnu::vector_size(16)]] = std::uint8_t;
    using Signed [[gnu::vector_size(16)]] = std::int8_t;
    using Widened [[gnu::vector_size(16)]] = std::uint16_t;
    using Stream [[gnu::vector_size(8)]] = std::uint8_t;
};
template <>
struct Vectors<4> {
    using Doubles [[gnu::vector_size(32)]] = double;
    using Words [[gnu::vector_size(32)]] = std::uint64_t;
    using Bytes [[gnu::vector_size(32)]] = std::uint8_t;
    using Signed [[gnu::vector_size(32)]] = std::int8_t;
    using Widened [[gnu::vector_size(32)]] = std::uint16_t;
    using Stream [[gnu::vector_size(16)]] = std::uint8_t;
};
template <>
struct Vectors<8> {
    using Doubles [[gnu::vector_size(64)]] = double;
    using Words [[gnu::vector_size(64)]] = std::uint64_t;
    using Bytes [[gnu::vector_size(64)]] = std::uint8_t;
    using Signed [[gnu::vector_size(64)]] = std::int8_t;
    using Widened [[gnu::vector_size(64)]] = std::uint16_t;
    using Stream [[gnu::vector_size(32)]] = std::uint8_t;
};

template <class Leaf, std::size_t lanes>
struct PlainLanes {
    static constexpr std::size_t width = lanes;
    using Doubles = typename Vectors<lanes>::Doubles;
    using Words = typename Vectors<lanes>::Words;

    [[gnu::always_inline]] static Doubles all(double x) { return x - Doubles{}; }
    /// a + b c and a - b c, rounded once or twice.
    [[gnu::always_inline]] static Doubles plus_product(Doubles a, Doubles b, Doubles c) {
        return a + b * c;
    }
    [[gnu::always_inline]] static Doubles minus_product(Doubles a, Doubles b, Doubles c) {
        return a - b * c;
    }

    /// x. g++ 12 would load an operand from memory for each instruction that uses it.
    [[gnu::always_inline]] static Doubles in_register(Doubles x) { return x; }

    /// Two neighbouring integers of `planes` bytes, at `byte` of each lane's row. `ahead` tells
    /// whether there are, in the row, 16 bytes from there on; otherwise there are in front of their
    /// end.
    template <bool ahead>
    [[gnu::always_inline]] static void load(const std::uint8_t* const* rows, std::size_t byte,
                                            std::size_t planes, Words& first, Words& second) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            first[lane] = integer(rows[lane] + byte, planes);
            second[lane] = integer(rows[lane] + byte + planes, planes);
        }
    }

    /// Stores integers of magnitudes below 2^15.
    [[gnu::always_inline]] static void store(std::int16_t* out, Doubles x) {
        for (std::size_t lane = 0; lane < width; ++lane) {
            out[lane] = static_cast<std::int16_t>(static_cast<std::int32_t>(x[lane]));
        }
    }

private:
    friend Leaf;
    PlainLanes() = default;

    /// 4 <= planes <= 6 bytes, the last two of them once more: nothing behind them is read.
    [[gnu::always_inline]] static std::uint64_t integer(const std::uint8_t* bytes,
                                                        std::size_t planes) {
        std::uint32_t low;
        std::uint16_t high;
        std::memcpy(&low, bytes, 4);
        std::memcpy(&high, bytes + planes - 2, 2);
        return low | std::uint64_t{high} << (8 * planes - 16);
    }
};

}  // namespace slip::masks
