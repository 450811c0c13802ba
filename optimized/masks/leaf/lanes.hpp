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

/// Where two stored integers lie: the first has `length` bytes, the second as many from byte
/// `second` on, together `bytes`.
struct Pair {
    std::size_t second, length, bytes;
};
constexpr Pair pair_of_residues(std::size_t planes) { return {planes, planes, 2 * planes}; }
/// Two integers of 44 bits each, which share the byte in the middle.
inline constexpr Pair rounded_pair{5, 6, rounded_pair_bytes};

/// For instructions that put bytes in order: of 16, the pair at the beginning, or at the end, as
/// two words. Index 0x80 is a zero.
using ByteOrder = std::array<std::uint8_t, 16>;
constexpr ByteOrder two_integers(const Pair& pair, bool at_the_beginning) {
    ByteOrder order{};
    for (std::size_t i = 0; i < 16; ++i) {
        const std::size_t byte =
            i / 8 * pair.second + i % 8 + (at_the_beginning ? 0 : 16 - pair.bytes);
        order[i] = static_cast<std::uint8_t>(i % 8 < pair.length ? byte : 0x80);
    }
    return order;
}
constexpr std::array<ByteOrder, 3> orders_of_pairs(bool at_the_beginning) {
    return {two_integers(pair_of_residues(5), at_the_beginning),
            two_integers(rounded_pair, at_the_beginning),
            two_integers(pair_of_residues(6), at_the_beginning)};
}
inline constexpr std::array<ByteOrder, 3> byte_orders[2] = {orders_of_pairs(false),
                                                            orders_of_pairs(true)};
template <bool at_the_beginning>
[[gnu::always_inline]] inline const std::uint8_t* byte_order(const Pair& pair) {
    return byte_orders[at_the_beginning][pair.bytes - 2 * least_planes].data();
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

    /// A pair of integers, at `byte` of each lane's row. `ahead` tells whether there are, in the
    /// row, 16 bytes from there on; otherwise there are in front of their end.
    template <bool ahead>
    [[gnu::always_inline]] static void load(const std::uint8_t* const* rows, std::size_t byte,
                                            const Pair& pair, Words& first, Words& second) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            first[lane] = integer(rows[lane] + byte, pair.length);
            second[lane] = integer(rows[lane] + byte + pair.second, pair.length);
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

    /// 4 <= length <= 6 bytes, the last two of them once more: nothing behind them is read.
    [[gnu::always_inline]] static std::uint64_t integer(const std::uint8_t* bytes,
                                                        std::size_t length) {
        std::uint32_t low;
        std::uint16_t high;
        std::memcpy(&low, bytes, 4);
        std::memcpy(&high, bytes + length - 2, 2);
        return low | std::uint64_t{high} << (8 * length - 16);
    }
};

}  // namespace slip::masks
