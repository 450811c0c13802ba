// SHAKE-128 of as many inputs as a vector has words (FIPS 202).
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "optimized/masks/contracts.hpp"
#include "optimized/masks/leaf/lanes.hpp"

namespace slip::masks {

/// FIPS 202, 3.2.5: bit 2^j - 1 of the constant of a round is bit j + 7 round of a register that a
/// shift feeds back.
constexpr std::array<std::uint64_t, 24> keccak_constants() {
    std::array<std::uint64_t, 24> constants{};
    unsigned shifted = 1;
    for (std::uint64_t& constant : constants) {
        for (unsigned j = 0; j < 7; ++j) {
            constant |= std::uint64_t{shifted & 1} << ((1U << j) - 1);
            shifted = (shifted << 1) ^ ((shifted >> 7) * 0x171);
        }
    }
    return constants;
}

/// FIPS 202, 3.2.2 and 3.2.3: the places of the state in the order in which each takes what the one
/// before it had, from (1, 0) on, and by how much that is rotated.
struct KeccakStep {
    std::size_t place;
    unsigned rotation;
};
constexpr std::array<KeccakStep, 24> keccak_steps() {
    std::array<KeccakStep, 24> steps{};
    std::size_t x = 1, y = 0;
    for (unsigned t = 0; t < 24; ++t) {
        const std::size_t next = (2 * x + 3 * y) % 5;
        x = y;
        y = next;
        steps[t] = {x + 5 * y, (t + 1) * (t + 2) / 2 % 64};
    }
    return steps;
}

template <class L>
struct Keccak {
    using Words = typename L::Words;
    static constexpr auto constants = keccak_constants();
    static constexpr auto steps = keccak_steps();

    /// Keccak-f[1600] of a state in each lane.
    [[gnu::noinline]] static void permute(Words* state) {
        Words a[25];
        std::copy_n(state, 25, a);
        for (const std::uint64_t constant : constants) {
            mix_columns(a);
            move(a);
            mix_rows(a);
            a[0] ^= constant;
        }
        std::copy_n(a, 25, state);
    }

private:
    [[gnu::always_inline]] static Words rotated(Words x, unsigned by) {
        return x << by | x >> (64 - by);
    }
    /// Theta.
    [[gnu::always_inline]] static void mix_columns(Words* a) {
        Words sums[5];
#pragma GCC unroll 5
        for (std::size_t x = 0; x < 5; ++x) {
            sums[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        }
#pragma GCC unroll 5
        for (std::size_t x = 0; x < 5; ++x) {
            const Words by = sums[(x + 4) % 5] ^ rotated(sums[(x + 1) % 5], 1);
#pragma GCC unroll 5
            for (std::size_t y = 0; y < 25; y += 5) a[x + y] ^= by;
        }
    }
    /// Rho and pi.
    [[gnu::always_inline]] static void move(Words* a) {
        Words moved = a[1];
#pragma GCC unroll 24
        for (std::size_t t = 0; t < 24; ++t) {
            const Words next = a[steps[t].place];
            a[steps[t].place] = rotated(moved, steps[t].rotation);
            moved = next;
        }
    }
    /// Chi.
    [[gnu::always_inline]] static void mix_rows(Words* a) {
#pragma GCC unroll 5
        for (std::size_t y = 0; y < 25; y += 5) {
            Words row[5];
#pragma GCC unroll 5
            for (std::size_t x = 0; x < 5; ++x) row[x] = a[y + x];
#pragma GCC unroll 5
            for (std::size_t x = 0; x < 5; ++x) {
                a[y + x] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]);
            }
        }
    }
};

/// The words of an input that a permutation takes or gives, of each lane.
inline constexpr std::size_t rate_words = shake128_rate / sizeof(std::uint64_t);
template <class L>
using Rate = std::uint64_t[L::width][rate_words];

/// The state before the first permutation, of inputs of `length` < shake128_rate bytes.
template <class L>
[[gnu::noinline]] void absorb(const std::uint8_t* inputs, std::size_t length,
                              typename L::Words* state) {
    Rate<L> rows{};  // of a lane each
    for (std::size_t lane = 0; lane < L::width; ++lane) {
        auto* const bytes = reinterpret_cast<std::uint8_t*>(rows[lane]);
        std::copy_n(inputs + lane * length, length, bytes);
        bytes[length] ^= 0x1f;
        bytes[shake128_rate - 1] ^= 0x80;
    }
    std::fill_n(state, 25, typename L::Words{});
    for (std::size_t lane = 0; lane < L::width; ++lane) {
        for (std::size_t i = 0; i < rate_words; ++i) state[i][lane] = rows[lane][i];
    }
}

/// The bytes that a permutation gives, those of a lane `stride` bytes behind those of the one
/// before.
template <class L>
[[gnu::noinline]] void squeeze(const typename L::Words* state, std::size_t stride,
                               std::uint8_t* out) {
    Rate<L> rows;
    for (std::size_t lane = 0; lane < L::width; ++lane) {
        for (std::size_t i = 0; i < rate_words; ++i) rows[lane][i] = state[i][lane];
        std::memcpy(out + lane * stride, rows[lane], shake128_rate);
    }
}

template <class L>
void shake128_of_each(const std::uint8_t* inputs, std::size_t length, std::size_t permutations,
                      std::uint8_t* out) {
    typename L::Words state[25];
    absorb<L>(inputs, length, state);
    for (std::size_t k = 0; k < permutations; ++k) {
        Keccak<L>::permute(state);
        squeeze<L>(state, permutations * shake128_rate, out + k * shake128_rate);
    }
}

}  // namespace slip::masks
