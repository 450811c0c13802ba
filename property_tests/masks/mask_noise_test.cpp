// The noise of lattice masks, added and vanishing, on every backend.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "optimized/masks/noise.hpp"
#include "property_tests/masks/ring_fixture.hpp"
#include "reference/randomness.hpp"

namespace slip::mask_tests {
namespace {

/// The first `count` small integers of a stream, by the reference.
Integers small_integers(const Bytes& stream, std::size_t count) {
    reference::FixedBytes source(stream);
    Integers integers;
    for (const auto& e : reference::small_integers(source, 2, count)) {
        integers.push_back(static_cast<std::int64_t>(e));
    }
    return integers;
}

/// MASK-7: what add_noise() makes of a column.
Bytes noisy(const Bytes& column, std::size_t planes, const Bytes& stream) {
    const std::size_t n = column.size() / planes;
    const Integers e = small_integers(stream, n);
    Bytes sums;
    for (std::size_t p = 0; p < planes; ++p) {
        for (std::size_t j = 0; j < n; ++j) {
            sums.push_back(residue_of(column[p * n + j] + tau * e[j], p));
        }
    }
    return sums;
}

/// Every byte twice, so that each of its integers meets every residue in turn.
TEST(MaskNoise, MASK_7_RAND_9_every_byte_and_every_residue) {
    constexpr std::size_t n = 512;
    Bytes stream;
    for (unsigned byte = 0; byte < 256; ++byte) stream.push_back(static_cast<std::uint8_t>(byte));
    for (unsigned residue = 0; residue < 251; ++residue) {
        Bytes column;
        for (std::size_t p = 0; p < 6; ++p) {
            column.insert(column.end(), n, static_cast<std::uint8_t>(residue % primes[p]));
        }
        const Bytes expected = noisy(column, 6, stream);
        for_each_backend([&](const Backend& backend) {
            Bytes sums = column;
            masks::add_noise(stream, 6, sums, backend);
            EXPECT_EQ(sums, expected) << residue;
        });
    }
}

/// Ends within a vector, and of half a byte.
RC_GTEST_PROP(MaskNoise, MASK_7_RAND_9_columns_of_any_size, ()) {
    const auto planes = *rc::gen::inRange<std::size_t>(1, 7).as("planes");
    const auto n = *rc::gen::inRange<std::size_t>(0, 200).as("n");
    const Bytes stream = *generators::any_list<std::uint8_t>(masks::noise_bytes(n), 0, 255);
    Bytes column;
    for (std::size_t p = 0; p < planes; ++p) {
        const auto plane =
            *generators::any_list<std::uint8_t>(n, 0, static_cast<std::uint8_t>(primes[p] - 1));
        column.insert(column.end(), plane.begin(), plane.end());
    }
    const Bytes expected = noisy(column, planes, stream);
    for_each_backend([&](const Backend& backend) {
        Bytes sums = column;
        masks::add_noise(stream, planes, sums, backend);
        RC_ASSERT(sums == expected);
    });
}

TEST(MaskNoise, MASK_7_sizes_that_do_not_fit_are_refused) {
    Bytes column(15, 0);
    const Bytes stream(2, 0);
    masks::add_noise(stream, 5, column);
    EXPECT_THROW(masks::add_noise(stream, 4, column), InternalError);
    EXPECT_THROW(masks::add_noise(stream, 0, column), InternalError);
    EXPECT_THROW(masks::add_noise(stream, 3, column), InternalError) << "five residues, two bytes";
    EXPECT_THROW(masks::add_noise(Bytes(3, 0), 5, column), InternalError);
    Bytes wide(7, 0);
    EXPECT_THROW(masks::add_noise(Bytes(1, 0), 7, wide), InternalError);
}

TEST(MaskNoise, MASK_8_residues_modulo_tau_and_their_edges) {
    constexpr std::int64_t half = tau / 2, most = std::numeric_limits<std::int64_t>::max();
    const Integers y = {0,        1,         -1,           half - 1,       half,
                        -half,    -half - 1, tau,          3 * tau + half, -5 * tau - half,
                        tau - 1,  -tau + 1,  most,         most - half,    -most - 1,
                        12 - tau, 77,        7 * tau - 77, 385700385296,   -385700385296};
    const reference::Ring modulo_tau{reference::Integer(tau)};
    Integers reduced = y;
    masks::reduce_modulo_tau(reduced);
    for (std::size_t i = 0; i < y.size(); ++i) {
        EXPECT_EQ(reduced[i], modulo_tau.lift(modulo_tau.embed(reference::Integer(y[i])))) << y[i];
    }
    EXPECT_EQ(reduced[4], -half) << "of two representatives the negative one";
}

}  // namespace
}  // namespace slip::mask_tests
