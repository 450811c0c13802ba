// The products with packed weights on every backend: against the reference where that is quick
// enough, and against the portable backend on large shapes.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "optimized/base/huge_buffer.hpp"
#include "optimized/base/worker_team.hpp"
#include "optimized/kernels/leaf/limbs.hpp"
#include "optimized/kernels/weight_matrix.hpp"
#include "property_tests/kernels/kernel_fixture.hpp"
#include "property_tests/kernels/left_on_the_stack.hpp"

namespace slip::kernel_tests {
namespace {

using namespace base;

/// LIN-1 in the reference, one column after another (CONV-1).
template <class P>
std::vector<typename P::Residue> reference_product(std::size_t m, std::size_t n, std::size_t b,
                                                   const std::vector<std::int8_t>& w,
                                                   const std::vector<typename P::Residue>& x) {
    const reference::Matrix y =
        reference::davids_product(ring<P>(), to_matrix(w, m, n), to_matrix(x, b, n).transpose());
    std::vector<typename P::Residue> columns;
    for (std::size_t c = 0; c < b; ++c) {
        for (std::size_t i = 0; i < m; ++i) {
            columns.push_back(static_cast<typename P::Residue>(y(i, c)));
        }
    }
    return columns;
}

/// s^T = rho^T W (INTEG-2) in the reference.
template <class P>
reference::Vector reference_check_vector(std::size_t m, std::size_t n,
                                         const std::vector<std::int8_t>& w,
                                         const std::vector<typename P::Residue>& rho) {
    return ring<P>().multiply(to_matrix(w, m, n).transpose(), to_vector(rho));
}

template <class P>
void expect_product(std::size_t m, std::size_t n, std::size_t b, const std::vector<std::int8_t>& w,
                    const std::vector<typename P::Residue>& x) {
    const auto expected = reference_product<P>(m, n, b, w, x);
    for_each_backend([&](const Backend& backend) {
        EXPECT_EQ(Packed<P>(backend, w, m, n).multiply(x, b), expected)
            << m << " x " << n << ", b = " << b;
    });
}

template <class P>
void expect_check_vector(std::size_t m, std::size_t n, const std::vector<std::int8_t>& w,
                         const std::vector<typename P::Residue>& rho) {
    const auto expected = reference_check_vector<P>(m, n, w, rho);
    for_each_backend([&](const Backend& backend) {
        EXPECT_EQ(to_vector(Packed<P>(backend, w, m, n).check_vector(rho)), expected)
            << m << " x " << n;
    });
}

/// What lets threads share the rows of W: pack() may be cut between every 64 of them.
PROFILE_TEST(Products, LIN_1_packed_rows_stand_behind_packed_rows) {
    std::mt19937_64 random(4);
    for_each_backend([&](const Backend& backend) {
        const auto& kernels = backend.of<P>();
        for (const std::size_t n : {1U, 5U, 64U, 4100U}) {
            for (const std::size_t m : {65U, 128U, 201U}) {
                const auto w =
                    fill<std::int8_t>(Fill::random, m * n, -127, 127, {-127, 127}, random);
                HugeBuffer whole(kernels.packed_bytes(m, n));
                kernels.pack(w.data(), m, n, whole.as<kernels::PackedWeights>());
                for (std::size_t first = 64; first < m; first += kernels::rows_apart) {
                    const std::size_t at = kernels.packed_bytes(first, n);
                    HugeBuffer parts(at + kernels.packed_bytes(m - first, n));
                    auto* const packed = parts.as<kernels::PackedWeights>();
                    kernels.pack(w.data(), first, n, packed);
                    kernels.pack(w.data() + first * n, m - first, n, packed + at);
                    const auto a = whole.span(), b = parts.span();
                    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()))
                        << backend.name << ' ' << m << " x " << n;
                }
            }
        }
    });
}

PROFILE_PROP(Products, LIN_1_CONV_1_INTEG_2_equal_the_reference_on_any_shape) {
    const auto m = *any_size(0, 69).as("m");
    const auto n = *any_size(0, 70).as("n");
    const auto b = *any_size(0, 3).as("b");
    const auto w = *any_weights(m * n).as("W");
    const auto x = *any_residues<P>(b * n).as("x");
    const auto rho = *any_residues<P>(m).as("rho");
    const auto y = reference_product<P>(m, n, b, w, x);
    const auto s = reference_check_vector<P>(m, n, w, rho);
    for_each_backend([&](const Backend& backend) {
        const Packed<P> packed(backend, w, m, n);
        RC_ASSERT(packed.multiply(x, b) == y);
        RC_ASSERT(to_vector(packed.check_vector(rho)) == s);
    });
}

PROFILE_TEST(Products, LIN_1_every_tail_of_rows_columns_and_width) {
    std::mt19937_64 random(1);
    for (std::size_t n = 0; n <= 70; ++n) {
        const std::size_t m = 1 + n % 7;
        for (std::size_t b = 1; b <= 3; ++b) {
            expect_product<P>(m, n, b, weights(Fill::random, m * n, random),
                              residues<P>(Fill::random, b * n, random));
        }
    }
    for (std::size_t m = 1; m <= 130; ++m) {
        expect_product<P>(m, 5, 2, weights(Fill::random, m * 5, random),
                          residues<P>(Fill::random, 2 * 5, random));
    }
}

PROFILE_TEST(Products, INTEG_2_check_vector_on_every_tail) {
    std::mt19937_64 random(5);
    for (std::size_t m = 0; m <= 70; ++m) {
        for (const std::size_t n : Sizes{0, 1, 2, 7, 17}) {
            expect_check_vector<P>(m, n, weights(Fill::random, m * n, random),
                                   residues<P>(Fill::random, m, random));
        }
    }
    for (const std::size_t n : Sizes{127, 128, 129, 511, 512, 513}) {
        expect_check_vector<P>(6, n, weights(Fill::random, 6 * n, random),
                               residues<P>(Fill::random, 6, random));
    }
}

/// Lengths around what a 32-bit sum of 16-bit limbs holds, with limbs, bytes and weights as large
/// as they get and all of one sign: nothing may overflow.
PROFILE_TEST(Products, LIN_1_INTEG_2_longest_sums_of_the_largest_limbs) {
    std::mt19937_64 random(2);
    for (const std::size_t n : Sizes{511, 512, 513, 1024, 1025}) {
        for (const auto residue : edges<P>()) {
            for (const std::int8_t weight : {std::int8_t{127}, std::int8_t{-127}}) {
                const std::vector<std::int8_t> w(n, weight);
                const std::vector<typename P::Residue> x(n, residue);
                expect_product<P>(1, n, 1, w, x);
                expect_check_vector<P>(n, 1, w, x);
            }
        }
    }
}

// --- against the portable backend, which the tests above hold to the reference -------------------

template <class P>
void expect_as_portable(Fill kind, std::size_t m, std::size_t n, std::size_t b) {
    std::mt19937_64 random(m + n + b);
    const auto w = weights(kind, m * n, random);
    const auto x = residues<P>(kind, b * n, random);
    const auto rho = residues<P>(kind, m, random);
    const Packed<P> portable(*kernels::available().front(), w, m, n);
    const auto y = portable.multiply(x, b);
    const auto s = portable.check_vector(rho);
    for_each_backend([&](const Backend& backend) {
        const Packed<P> packed(backend, w, m, n);
        EXPECT_EQ(packed.multiply(x, b), y) << m << " x " << n << ", b = " << b;
        EXPECT_EQ(packed.check_vector(rho), s) << m << " x " << n;
    });
}

/// Around every block of every backend, and rows and columns beyond 65,793, the most that 32 bits
/// hold of products of a byte and a weight.
PROFILE_TEST(Products, LIN_1_INTEG_2_large_shapes_agree_on_every_backend) {
    for (const Fill kind : {Fill::random, Fill::largest, Fill::smallest, Fill::extremes}) {
        expect_as_portable<P>(kind, 33, 2049, 3);
        expect_as_portable<P>(kind, 65, 4097, 2);
        expect_as_portable<P>(kind, 5, 2047, 35);
        expect_as_portable<P>(kind, 4, 8195, 18);
        expect_as_portable<P>(kind, 2, 32769, 1);
        expect_as_portable<P>(kind, 3, 70'001, 1);
        expect_as_portable<P>(kind, 70'001, 3, 1);
    }
}

PROFILE_TEST(Products, LIN_1_needs_no_alignment_of_columns_beyond_the_type) {
    constexpr std::size_t m = 5, n = 37, b = 3;
    std::mt19937_64 random(3);
    for (std::size_t shift = 0; shift < 17; ++shift) {
        const auto w = weights(Fill::random, m * n + shift, random);
        const auto x = residues<P>(Fill::random, b * n + shift, random);
        const auto offset = static_cast<std::ptrdiff_t>(shift);
        const std::vector<std::int8_t> w_part(w.begin() + offset, w.end());
        const std::vector<typename P::Residue> x_part(x.begin() + offset, x.end());
        for_each_backend([&](const Backend& backend) {
            const Packed<P> packed(backend, w_part, m, n);
            std::vector<typename P::Residue> y(b * m + shift);
            backend.of<P>().gemm(packed.data(), m, n, x.data() + shift, b, y.data() + shift);
            y.erase(y.begin(), y.begin() + offset);
            EXPECT_EQ(y, packed.multiply(x_part, b));
            SecretBuffer<kernels::PackedWeights> shifted(backend.of<P>().packed_bytes(m, n));
            backend.of<P>().pack(w.data() + shift, m, n, shifted.data());
            EXPECT_TRUE(std::equal(shifted.span().begin(), shifted.span().end(), packed.data()));
        });
    }
}

/// A WeightMatrix multiplies and checks as the reference does, alone or with a team.
PROFILE_TEST(Products, LIN_1_INTEG_2_a_matrix_multiplies_alone_or_with_a_team) {
    constexpr std::size_t m = 201, n = 37;
    std::mt19937_64 random(6);
    WorkerTeam team(2);
    const auto w = weights(Fill::random, m * n, random);
    const kernels::WeightMatrix matrix(w.data(), m, n);
    EXPECT_EQ(matrix.packed<P>().size(), kernels::active().template of<P>().packed_bytes(m, n));
    const auto x = residues<P>(Fill::random, n, random);
    const auto expected = reference_product<P>(m, n, 1, w, x);
    for (WorkerTeam* const with : {static_cast<WorkerTeam*>(nullptr), &team}) {
        std::vector<typename P::Residue> y(m);
        matrix.multiply<P>(std::span(x), std::span(y), with);
        EXPECT_EQ(y, expected);
    }
    const auto rho = residues<P>(Fill::random, m, random);
    std::vector<typename P::Residue> s(n);
    matrix.check_vector<P>(std::span(rho), std::span(s));
    EXPECT_EQ(to_vector(s), reference_check_vector<P>(m, n, w, rho));
}

// --- what is left, and mutants -------------------------------------------------------------------

/// A column may be a mask (MASK-3). Rows of ones show its limbs in 32-bit and 64-bit sums.
PROFILE_TEST(Products, MASK_6_a_product_leaves_no_sum_of_limbs_on_the_stack) {
    if (SLIP_STACK_AS_SHIPPED == 0) GTEST_SKIP() << "a sanitizer's build has other stacks";
    const typename P::Residue x = P::p / 7 * 3;
    const std::vector<typename P::Residue> column{x};
    for_each_backend([&](const Backend& backend) {
        const Packed<P> packed(backend, std::vector<std::int8_t>(16, 1), 16, 1);
        std::vector<typename P::Residue> y(16);
        const auto stack = left_on_the_stack(
            [&] { backend.of<P>().gemm(packed.data(), 16, 1, column.data(), 1, y.data()); });
        EXPECT_EQ(y, std::vector<typename P::Residue>(16, x));
        for (const std::int16_t limb : kernels::split<P>(x).limb) {
            EXPECT_FALSE(hold(stack, std::vector<std::int32_t>(4, limb))) << limb;
            EXPECT_FALSE(hold(stack, std::vector<std::int64_t>(4, limb))) << limb;
        }
    });
    EXPECT_TRUE(hold(left_on_the_stack([] { leave_on_the_stack(77777); }),
                     std::vector<std::int32_t>(4, 77777)))
        << "it would have been seen";
}

/// The oracle tells a product that is not canonical, or of other columns, from the right one.
PROFILE_TEST(Products, LIN_1_mutants_are_found) {
    constexpr std::size_t m = 3, n = 9, b = 2;
    std::mt19937_64 random(4);
    const auto x = residues<P>(Fill::random, b * n, random);
    const auto zeros = weights(Fill::zeros, m * n, random);
    const auto w = weights(Fill::random, m * n, random);
    const auto expected = reference_product<P>(m, n, b, w, x);
    const std::vector<typename P::Residue> not_canonical(m * b, P::p);
    EXPECT_NE(not_canonical, reference_product<P>(m, n, b, zeros, x));
    auto interleaved = expected;
    for (std::size_t c = 0; c < b; ++c) {
        for (std::size_t i = 0; i < m; ++i) interleaved[i * b + c] = expected[c * m + i];
    }
    EXPECT_NE(interleaved, expected);
}

}  // namespace
}  // namespace slip::kernel_tests
