// The noise of a mask (MASK-7): tau times small integers, in bytes.
#pragma once

#include <algorithm>

#include "optimized/masks/contracts.hpp"
#include "optimized/masks/leaf/lanes.hpp"

namespace slip::masks {

template <class L>
struct Noise {
    using Vectors = masks::Vectors<L::width>;
    using Residues = typename Vectors::Bytes;
    static constexpr std::size_t count = sizeof(Residues);

    /// RAND-9: where an integer is -2, -1, 1, 2.
    Residues is_minus_2, is_minus_1, is_1, is_2;

    /// A byte has two integers, the lower four bits the first one: the sum of two bits less that of
    /// the two above them.
    [[gnu::always_inline]] static Noise of(typename Vectors::Stream bytes) {
        using Widened = typename Vectors::Widened;
        const Widened widened = __builtin_convertvector(bytes, Widened);
        const Residues bits = reinterpret_cast<Residues>((widened | widened << 4) & 0x0f0f);
        const Residues sums = (bits & 5) + ((bits >> 1) & 5);
        const auto e = reinterpret_cast<typename Vectors::Signed>((sums & 3) - (sums >> 2));
        return {reinterpret_cast<Residues>(e == -2), reinterpret_cast<Residues>(e == -1),
                reinterpret_cast<Residues>(e == 1), reinterpret_cast<Residues>(e == 2)};
    }

    /// (x + tau e) mod prime, tau a residue: x less the prime's complement of (tau e mod prime),
    /// from 1 to prime.
    [[gnu::always_inline]] Residues add_to(Residues x, std::size_t plane, std::uint8_t tau) const {
        const std::uint8_t prime = base::parameters::primes[plane];
        const std::uint8_t once = tau;
        const auto twice = static_cast<std::uint8_t>(2U * tau % prime);
        const auto flip = [&](std::uint8_t subtrahend) {
            return static_cast<std::uint8_t>(subtrahend ^ prime);
        };
        const Residues subtrahend = (is_minus_2 & flip(twice)) ^ (is_minus_1 & flip(once)) ^
                                    (is_1 & flip(static_cast<std::uint8_t>(prime - once))) ^
                                    (is_2 & flip(static_cast<std::uint8_t>(prime - twice))) ^ prime;
        return x - subtrahend + (reinterpret_cast<Residues>(x < subtrahend) & prime);
    }
};

/// Adds to `count` residues of each plane the integers of so many bytes of the stream.
template <class L>
[[gnu::always_inline]] inline void add_noise_to_run(const std::uint8_t* stream,
                                                    std::size_t stream_bytes, std::size_t n,
                                                    std::size_t planes, const std::uint8_t* tau,
                                                    std::uint8_t* run, std::size_t count) {
    typename Noise<L>::Vectors::Stream bytes{};
    std::memcpy(&bytes, stream, stream_bytes);
    const Noise<L> noise = Noise<L>::of(bytes);
    for (std::size_t p = 0; p < planes; ++p) {
        typename Noise<L>::Residues x{};
        std::memcpy(&x, run + p * n, count);
        x = noise.add_to(x, p, tau[p]);
        std::memcpy(run + p * n, &x, count);
    }
}

template <class L>
void add_noise_to_column(const std::uint8_t* bytes, std::size_t n, std::size_t planes,
                         const std::uint8_t* tau, std::uint8_t* column) {
    constexpr std::size_t whole = Noise<L>::count;
    std::size_t j = 0;
    for (; j + whole <= n; j += whole) {
        add_noise_to_run<L>(bytes + j / 2, whole / 2, n, planes, tau, column + j, whole);
    }
    if (j < n) {
        add_noise_to_run<L>(bytes + j / 2, (n + 1) / 2 - j / 2, n, planes, tau, column + j, n - j);
    }
}

}  // namespace slip::masks
