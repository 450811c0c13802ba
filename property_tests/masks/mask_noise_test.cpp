// The noise of lattice masks, added and vanishing, on every backend.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "optimized/masks/noise.hpp"
#include "property_tests/masks/ring_fixture.hpp"
#include "reference/randomness.hpp"

namespace slip::testing {
namespace {

/// The first `count` small integers of a stream, by the reference.
Integers small_integers(const Bytes& stream, unsigned eta, std::size_t count) {
    reference::FixedBytes source(stream);
    Integers integers;
    for (const auto& e : reference::small_integers(source, eta, count)) {
        integers.push_back(static_cast<std::int64_t>(e));
    }
    return integers;
}

/// MASK-7: what add_noise() makes of a column.
Bytes noisy(const Bytes& column, std::size_t planes, const Bytes& stream, unsigned eta,
            std::int64_t any_tau) {
    const std::size_t n = column.size() / planes;
    const Integers e = small_integers(stream, eta, n);
    Bytes sums;
    for (std::size_t p = 0; p < planes; ++p) {
        for (std::size_t j = 0; j < n; ++j) {
            sums.push_back(residue_of(column[p * n + j] + any_tau % primes[p] * e[j], p));
        }
    }
    return sums;
}

/// Every byte twice, so that each of its integers meets every residue in turn.
TEST(MaskNoise, MASK_7_RAND_9_every_byte_and_every_residue) {
    constexpr std::size_t n = 512;
    constexpr masks::Tau residues = masks::residues_of(tau);
    Bytes stream;
    for (unsigned byte = 0; byte < 256; ++byte) stream.push_back(static_cast<std::uint8_t>(byte));
    for (unsigned residue = 0; residue < 251; ++residue) {
        Bytes column;
        for (std::size_t p = 0; p < 6; ++p) {
            column.insert(column.end(), n, static_cast<std::uint8_t>(residue % primes[p]));
        }
        const Bytes expected = noisy(column, 6, stream, 2, tau);
        for_each_backend([&](const Backend& backend) {
            Bytes sums = column;
            masks::add_noise(stream, residues, 6, sums, backend);
            EXPECT_EQ(sums, expected) << residue;
        });
    }
}

/// Ends within a vector, and of half a byte, of both kinds of small integers and any tau.
RC_GTEST_PROP(MaskNoise, MASK_7_RAND_9_columns_of_any_size, ()) {
    const auto eta = *rc::gen::inRange(1U, 3U).as("eta");
    const auto any_tau = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 47).as("tau");
    const auto planes = *rc::gen::inRange<std::size_t>(1, 7).as("planes");
    const auto n = *rc::gen::inRange<std::size_t>(0, 200).as("n");
    const Bytes stream = *any_list<std::uint8_t>(masks::noise_bytes(n, eta), 0, 255);
    Bytes column;
    for (std::size_t p = 0; p < planes; ++p) {
        const auto plane = *any_list<std::uint8_t>(n, 0, static_cast<std::uint8_t>(primes[p] - 1));
        column.insert(column.end(), plane.begin(), plane.end());
    }
    const Bytes expected = noisy(column, planes, stream, eta, any_tau);
    Bytes wide = stream;
    if (eta == 1) {
        wide.assign(masks::noise_bytes(n, 2), 0xff);
        masks::widen(stream, wide);
    }
    for_each_backend([&](const Backend& backend) {
        Bytes sums = column;
        masks::add_noise(wide, masks::residues_of(static_cast<std::uint64_t>(any_tau)), planes,
                         sums, backend);
        RC_ASSERT(sums == expected);
    });
    Small small(n);
    masks::decode_small(stream, eta, small);
    RC_ASSERT(Integers(small.begin(), small.end()) == small_integers(stream, eta, n));
}

TEST(MaskNoise, MASK_7_sizes_that_do_not_fit_are_refused) {
    Bytes column(15, 0);
    const auto add = [](const Bytes& stream, std::size_t planes, Bytes& sums) {
        masks::add_noise(stream, masks::residues_of(tau), planes, sums);
    };
    const Bytes stream(2, 0);
    add(stream, 5, column);
    EXPECT_THROW(add(stream, 4, column), InternalError);
    EXPECT_THROW(add(stream, 0, column), InternalError);
    EXPECT_THROW(add(stream, 3, column), InternalError) << "five residues, two bytes";
    EXPECT_THROW(add(Bytes(3, 0), 5, column), InternalError);
    Bytes one(7, 0);
    EXPECT_THROW(add(Bytes(1, 0), 7, one), InternalError);
    Bytes wide(3, 0);
    masks::widen(stream, wide);
    EXPECT_THROW(masks::widen(Bytes(1, 0), wide), InternalError);
    EXPECT_THROW(masks::widen(Bytes(3, 0), wide), InternalError);
    Small small(5);
    EXPECT_THROW(masks::decode_small(stream, 2, small), InternalError);
}

TEST(MaskNoise, MASK_8_residues_modulo_tau_and_their_edges) {
    constexpr std::int64_t half = tau / 2, most = std::numeric_limits<std::int64_t>::max();
    const Integers y = {0,        1,         -1,           half - 1,       half,
                        -half,    -half - 1, tau,          3 * tau + half, -5 * tau - half,
                        tau - 1,  -tau + 1,  most,         most - half,    -most - 1,
                        12 - tau, 77,        7 * tau - 77, 385700385296,   -385700385296};
    const reference::Ring modulo_tau{reference::Integer(tau)};
    Integers reduced = y;
    masks::reduce_modulo_tau(reduced, 24);
    for (std::size_t i = 0; i < y.size(); ++i) {
        EXPECT_EQ(reduced[i], modulo_tau.lift(modulo_tau.embed(reference::Integer(y[i])))) << y[i];
    }
    EXPECT_EQ(reduced[4], -half) << "of two representatives the negative one";
}

}  // namespace
}  // namespace slip::testing
