// The products with packed weights and the inner products of the check on every backend, against
// plain sums.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/huge_buffer.hpp"
#include "optimized/base/worker_team.hpp"
#include "optimized/kernels/combinations.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/kernels/registry.hpp"
#include "property_tests/generators/sanitizers.hpp"
#include "property_tests/kernels/kernel_fixture.hpp"
#include "property_tests/kernels/left_on_the_stack.hpp"

namespace slip::testing {
namespace {

using namespace base;
using parameters::kappa;
using Weights = std::vector<std::int8_t>;

/// LIN-1 as RING-5 and CONV-1 have it.
Bytes product(std::size_t m, std::size_t n, std::size_t b, std::size_t planes, const Weights& w,
              const Bytes& x) {
    Bytes y;
    for (std::size_t v = 0; v < b * planes; ++v) {
        for (std::size_t i = 0; i < m; ++i) {
            std::int64_t sum = 0;
            for (std::size_t j = 0; j < n; ++j) sum += w[i * n + j] * x[v * n + j];
            y.push_back(residue_of(sum, v % planes));
        }
    }
    return y;
}

/// The inner products of INTEG-3 for combinations of `most` entries, of which n count.
Bytes combined(std::size_t most, std::size_t n, std::size_t b, std::size_t planes, const Bytes& w,
               const Bytes& x) {
    Bytes out;
    for (std::size_t v = 0; v < b * planes; ++v) {
        for (std::size_t a = 0; a < kappa; ++a) {
            std::int64_t sum = 0;
            const std::uint8_t* const row = w.data() + (a * planes + v % planes) * most;
            for (std::size_t i = 0; i < n; ++i) sum += row[i] * x[v * n + i];
            out.push_back(residue_of(sum, v % planes));
        }
    }
    return out;
}

void expect_product(std::size_t m, std::size_t n, std::size_t b, std::size_t planes,
                    const Weights& w, const Bytes& x) {
    const Bytes expected = product(m, n, b, planes, w, x);
    for_each_backend([&](const Backend& backend) {
        EXPECT_EQ(Packed(backend, w, m, n).multiply(x, b, planes), expected)
            << m << " x " << n << ", b = " << b << ", planes = " << planes;
    });
}

void expect_combined(std::size_t most, std::size_t n, std::size_t b, std::size_t planes,
                     const Bytes& w, const Bytes& v) {
    const Bytes expected = combined(most, n, b, planes, w, v);
    for_each_backend([&](const Backend& backend) {
        EXPECT_EQ(PackedRows(backend, w, most, planes).combine(v, n, b), expected)
            << n << " of " << most << ", b = " << b << ", planes = " << planes;
    });
}

// --- products with W -----------------------------------------------------------------------------

/// What lets threads share the rows of W: pack() may be cut between every 64 of them.
TEST(Products, LIN_1_packed_rows_stand_behind_packed_rows) {
    std::mt19937_64 random(4);
    for_each_backend([&](const Backend& backend) {
        for (const std::size_t n : {1U, 5U, 64U, 4100U}) {
            for (const std::size_t m : {65U, 128U, 201U}) {
                const auto w = weights(Fill::random, m * n, random);
                HugeBuffer whole(backend.packed_bytes(m, n));
                backend.pack(w.data(), m, n, whole.as<kernels::PackedWeights>());
                for (std::size_t first = 64; first < m; first += kernels::rows_apart) {
                    const std::size_t at = backend.packed_bytes(first, n);
                    HugeBuffer parts(at + backend.packed_bytes(m - first, n));
                    auto* const packed = parts.as<kernels::PackedWeights>();
                    backend.pack(w.data(), first, n, packed);
                    backend.pack(w.data() + first * n, m - first, n, packed + at);
                    const auto a = whole.span(), b = parts.span();
                    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()))
                        << backend.name << ' ' << m << " x " << n;
                }
            }
        }
    });
}

RC_GTEST_PROP(Products, LIN_1_CONV_1_RING_5_any_shape, ()) {
    const auto m = *any_size(0, 69).as("m");
    const auto n = *any_size(0, 70).as("n");
    const auto b = *any_size(0, 3).as("b");
    const auto planes = *any_size(1, most_planes).as("planes");
    const auto w = *any_weights(m * n).as("W");
    const Bytes x = drawn_residues(b, n, planes, "x");
    const Bytes y = product(m, n, b, planes, w, x);
    for_each_backend([&](const Backend& backend) {
        RC_ASSERT(Packed(backend, w, m, n).multiply(x, b, planes) == y);
    });
}

TEST(Products, LIN_1_every_tail_of_rows_columns_width_and_planes) {
    std::mt19937_64 random(1);
    for (std::size_t n = 0; n <= 70; ++n) {
        const std::size_t m = 1 + n % 7, planes = 1 + n % most_planes;
        for (std::size_t b = 1; b <= 3; ++b) {
            expect_product(m, n, b, planes, weights(Fill::random, m * n, random),
                           residues(Fill::random, b, n, planes, random));
        }
    }
    for (std::size_t m = 1; m <= 130; ++m) {
        const std::size_t planes = 1 + m % most_planes;
        expect_product(m, 5, 2, planes, weights(Fill::random, m * 5, random),
                       residues(Fill::random, 2, 5, planes, random));
    }
}

/// Around what 32-bit sums hold in every backend, and their blocks: residues and weights as large
/// as they get, in magnitude and as centred, and all of one sign.
TEST(Products, LIN_1_longest_sums) {
    for (const std::size_t n : Sizes{511, 512, 513, 1025, 2049, 4097, 8193, 32769, 65537, 68001}) {
        for (const std::int8_t weight : {std::int8_t{127}, std::int8_t{-127}}) {
            const Weights w(2 * n, weight);
            for (const unsigned kind : {0U, 1U, 2U}) {
                Bytes x;
                for (std::size_t p = 0; p < most_planes; ++p) {
                    const unsigned prime = primes[p];
                    const unsigned value[] = {prime - 1, prime / 2, prime / 2 + 1};
                    x.insert(x.end(), n, static_cast<std::uint8_t>(value[kind]));
                }
                expect_product(2, n, 1, most_planes, w, x);
                x.resize(4 * n);
                expect_product(2, n, 2, 2, w, x);
            }
        }
    }
}

/// A pair of planes that is as large as it gets as one number: 30245 and -30245.
TEST(Products, LIN_1_longest_sums_of_joined_planes) {
    for (const std::size_t n : Sizes{511, 512, 513, 1024}) {
        for (const std::int64_t joined : {30245, -30245, 27843, -27843, 25991, -25991}) {
            Bytes x;
            for (std::size_t p = 0; p < most_planes; ++p) {
                x.insert(x.end(), n, residue_of(joined, p));
            }
            for (const std::int8_t weight : {std::int8_t{127}, std::int8_t{-127}}) {
                expect_product(1, n, 1, most_planes, Weights(n, weight), x);
            }
        }
    }
}

/// Around every block of every backend.
TEST(Products, LIN_1_large_shapes) {
    std::mt19937_64 random(2);
    for (const Fill kind : {Fill::random, Fill::largest, Fill::smallest, Fill::extremes}) {
        for (const auto& [m, n, b, planes] : {std::array<std::size_t, 4>{33, 2049, 3, 4},
                                              {65, 4097, 2, 4},
                                              {5, 2047, 35, 4},
                                              {4, 8195, 9, 7},
                                              {3, 4097, 18, 5},
                                              {2, 32770, 1, 4},
                                              {3, 66001, 1, 6},
                                              {2, 70001, 2, 3},
                                              {20001, 3, 1, 4}}) {
            expect_product(m, n, b, planes, weights(kind, m * n, random),
                           residues(kind, b, n, planes, random));
        }
    }
}

TEST(Products, LIN_1_needs_no_alignment_of_columns) {
    constexpr std::size_t m = 5, n = 37, b = 3, planes = 4;
    std::mt19937_64 random(3);
    for (std::size_t shift = 0; shift < 17; ++shift) {
        const auto w = weights(Fill::random, m * n + shift, random);
        const Bytes x = residues(Fill::random, b, n, planes, random);
        Bytes moved(shift);
        moved.insert(moved.end(), x.begin(), x.end());
        const Weights w_part(w.begin() + static_cast<std::ptrdiff_t>(shift), w.end());
        const Bytes expected = product(m, n, b, planes, w_part, x);
        for_each_backend([&](const Backend& backend) {
            const Packed packed(backend, w_part, m, n);
            Bytes y(b * planes * m + shift);
            backend.gemm(packed.data(), m, n, moved.data() + shift, b, planes, y.data() + shift);
            EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                                   y.begin() + static_cast<std::ptrdiff_t>(shift)));
            SecretBuffer<kernels::PackedWeights> shifted(backend.packed_bytes(m, n));
            backend.pack(w.data() + shift, m, n, shifted.data());
            EXPECT_TRUE(std::equal(shifted.span().begin(), shifted.span().end(), packed.data()));
        });
    }
}

/// A WeightMatrix multiplies one column and several, alone or with a team that takes rows in
/// several parts.
TEST(Products, LIN_1_a_matrix_multiplies_alone_or_with_a_team) {
    constexpr std::size_t n = 37, planes = 5;
    std::mt19937_64 random(6);
    WorkerTeam team(2);
    for (const std::size_t m : Sizes{1, 201, 8300}) {
        const auto w = weights(Fill::random, m * n, random);
        const kernels::WeightMatrix matrix(w.data(), m, n);
        EXPECT_EQ(matrix.packed().size(), kernels::active().packed_bytes(m, n));
        for (const std::size_t b : Sizes{0, 1, 3}) {
            const Bytes x = residues(Fill::random, b, n, planes, random);
            const Bytes expected = product(m, n, b, planes, w, x);
            for (WorkerTeam* const with : {static_cast<WorkerTeam*>(nullptr), &team}) {
                Bytes y(b * planes * m);
                matrix.multiply(x, y, planes, with);
                EXPECT_EQ(y, expected) << m << ", b = " << b;
            }
        }
    }
}

TEST(Products, LIN_1_a_matrix_refuses_other_sizes) {
    const Weights w(6);
    const kernels::WeightMatrix matrix(w.data(), 2, 3);
    Bytes y(8);
    EXPECT_THROW(matrix.multiply(Bytes(13), y, 4), InternalError);
    EXPECT_THROW(matrix.multiply(Bytes(24), y, 4), InternalError);
    EXPECT_THROW(matrix.multiply(Bytes(12), y, 0), InternalError);
    EXPECT_THROW(matrix.multiply(Bytes(24), y, 8), InternalError);
    EXPECT_NO_THROW(matrix.multiply(Bytes(12), y, 4));
}

/// CNN-4 in every plane: each output is the sum under its window.
TEST(Products, CNN_4_a_convolution_in_every_plane) {
    const Convolution shape{
        .H = 5, .W = 4, .C = 3, .kH = 3, .kW = 2, .N = 6, .stride = 2, .padding = 1};
    constexpr std::size_t planes = 3, b = 2;
    std::mt19937_64 random(7);
    const auto w = weights(Fill::random, shape.N * shape.patch(), random);
    const Bytes x = residues(Fill::random, b, shape.inputs(), planes, random);
    Bytes expected;
    for (std::size_t v = 0; v < b * planes; ++v) {
        for (std::size_t at = 0; at < shape.positions(); ++at) {
            for (std::size_t i = 0; i < shape.N; ++i) {
                std::int64_t sum = 0;
                for (std::size_t e = 0; e < shape.patch(); ++e) {
                    const std::size_t row = at / shape.W_o() * 2 + e / (shape.kW * shape.C) - 1;
                    const std::size_t column = at % shape.W_o() * 2 + e / shape.C % shape.kW - 1;
                    if (row >= shape.H || column >= shape.W) continue;
                    sum += w[i * shape.patch() + e] *
                           x[v * shape.inputs() + (row * shape.W + column) * shape.C + e % shape.C];
                }
                expected.push_back(residue_of(sum, v % planes));
            }
        }
    }
    const kernels::GroupWeights weights({w.data(), shape.N, shape.patch()}, shape);
    Bytes y(expected.size());
    weights.apply(x, y, planes);
    EXPECT_EQ(y, expected);
    EXPECT_THROW(weights.apply(x, y, 4), InternalError);
}

// --- inner products of the check -----------------------------------------------------------------

RC_GTEST_PROP(Combinations, INTEG_3_any_shape, ()) {
    const auto most = *any_size(0, 200).as("entries");
    const auto n = *any_size(0, most).as("n");
    const auto b = *any_size(0, 3).as("b");
    const auto planes = *any_size(1, most_planes).as("planes");
    const Bytes w = drawn_residues(kappa, most, planes, "w");
    const Bytes v = drawn_residues(b, n, planes, "v");
    const Bytes expected = combined(most, n, b, planes, w, v);
    for_each_backend([&](const Backend& backend) {
        RC_ASSERT(PackedRows(backend, w, most, planes).combine(v, n, b) == expected);
    });
}

TEST(Combinations, INTEG_3_every_tail) {
    std::mt19937_64 random(8);
    for (std::size_t n = 0; n <= 200; ++n) {
        const std::size_t planes = 1 + n % most_planes, most = n + n % 3 * 40;
        expect_combined(most, n, 2, planes, residues(Fill::random, kappa, most, planes, random),
                        residues(Fill::random, 2, n, planes, random));
    }
}

/// Sums as large as they get, of either sign, around what 32 bits hold, and far beyond in every
/// lane.
TEST(Combinations, INTEG_3_longest_sums) {
    for (const std::size_t n : Sizes{65535, 65536, 65537, 140'000, 1'200'000}) {
        const std::size_t planes = n > 1'000'000 ? 1 : most_planes;
        for (const bool is_positive : {true, false}) {
            Bytes w, v;
            for (std::size_t row = 0; row < kappa * planes; ++row) {
                const int half = primes[row % planes] / 2;
                w.insert(w.end(), n, static_cast<std::uint8_t>(is_positive ? half : half + 1));
            }
            for (std::size_t p = 0; p < planes; ++p) {
                v.insert(v.end(), n, static_cast<std::uint8_t>(primes[p] - 1));
            }
            expect_combined(n, n, 1, planes, w, v);
            for (std::size_t p = 0; p < planes; ++p) {
                std::fill_n(v.begin() + static_cast<std::ptrdiff_t>(p * n), n, primes[p] / 2);
            }
            expect_combined(n, n, 1, planes, w, v);
        }
    }
}

TEST(Combinations, INTEG_3_the_object_combines_and_refuses_other_sizes) {
    constexpr std::size_t most = 100, n = 77, b = 3, planes = 4;
    std::mt19937_64 random(9);
    Bytes w = residues(Fill::random, kappa, most, planes, random);
    const Bytes v = residues(Fill::random, b, n, planes, random);
    const Bytes expected = combined(most, n, b, planes, w, v);
    const kernels::Combinations combinations(w, most, planes);
    EXPECT_EQ(combinations.n(), most);
    EXPECT_EQ(combinations.planes(), planes);
    Bytes out(b * planes * kappa);
    combinations.combine(v, b, out);
    EXPECT_EQ(out, expected);
    EXPECT_NO_THROW(combinations.combine({}, 0, {}));
    Bytes small(out.size() - 1);
    EXPECT_THROW(combinations.combine(v, b, small), InternalError);
    EXPECT_THROW(combinations.combine(Bytes(v.size() - 1), b, out), InternalError);
    EXPECT_THROW(combinations.combine(Bytes(b * planes * (most + 1)), b, out), InternalError);
    EXPECT_THROW(kernels::Combinations().combine({}, 1, {}), InternalError);
    EXPECT_THROW(kernels::Combinations(w, most + 1, planes), InternalError);
    EXPECT_THROW(kernels::Combinations(w, most, 0), InternalError);
    w[most] = 241;  // of combination 0, plane 1
    EXPECT_THROW(kernels::Combinations(w, most, planes), InternalError);
    w[most] = 240;
    EXPECT_NO_THROW(kernels::Combinations(w, most, planes));
}

// --- what is left, and mutants -------------------------------------------------------------------

/// A column may be a mask (MASK-3). Rows of ones show its joined planes, or a plane, in sums of 32
/// and of 64 bits.
TEST(Products, MASK_6_a_product_leaves_no_sum_on_the_stack) {
    if (sanitized()) GTEST_SKIP() << "a sanitizer's build has other stacks";
    constexpr std::int64_t secret = 12345;
    const Bytes column{residue_of(secret, 0), residue_of(secret, 1)};
    for_each_backend([&](const Backend& backend) {
        const Packed packed(backend, Weights(16, 1), 16, 1);
        Bytes y(32);
        const auto stack = left_on_the_stack(
            [&] { backend.gemm(packed.data(), 16, 1, column.data(), 1, 2, y.data()); });
        EXPECT_EQ(y, product(16, 1, 1, 2, Weights(16, 1), column));
        for (const std::int64_t sum : {secret, std::int64_t{column[0]}, std::int64_t{column[1]}}) {
            EXPECT_FALSE(hold(stack, std::vector<std::int32_t>(4, static_cast<int>(sum)))) << sum;
            EXPECT_FALSE(hold(stack, std::vector<std::int64_t>(4, sum))) << sum;
        }
    });
    EXPECT_TRUE(hold(left_on_the_stack([] { leave_on_the_stack(77777); }),
                     std::vector<std::int32_t>(4, 77777)))
        << "it would have been seen";
}

/// Combinations of ones and a column of equal residues show in the sums of every lane, of a block
/// or of all, and behind a tail.
TEST(Combinations, MASK_6_a_combination_leaves_no_sum_on_the_stack) {
    if (sanitized()) GTEST_SKIP() << "a sanitizer's build has other stacks";
    constexpr std::size_t n = 77;
    constexpr std::uint8_t residue = 101;
    const Bytes ones(kappa * n, 1), column(n, residue);
    for_each_backend([&](const Backend& backend) {
        const PackedRows packed(backend, ones, n, 1);
        Bytes out;
        const auto stack = left_on_the_stack([&] { out = packed.combine(column, n, 1); });
        EXPECT_EQ(out, combined(n, n, 1, 1, ones, column));
        for (const int products : {2, 4, 8, 16, 64, static_cast<int>(n)}) {
            const int sum = products * residue;
            EXPECT_FALSE(hold(stack, std::vector<std::int32_t>(4, sum))) << products;
            EXPECT_FALSE(hold(stack, std::vector<std::int64_t>(4, sum))) << products;
        }
        EXPECT_FALSE(hold(stack, Bytes(8, residue)));
        EXPECT_FALSE(hold(stack, std::vector<std::int16_t>(8, residue)));
    });
}

/// The oracle tells a product that is not canonical, or of other columns or planes, from the right
/// one.
TEST(Products, LIN_1_mutants_are_found) {
    constexpr std::size_t m = 3, n = 9, b = 2, planes = 2;
    std::mt19937_64 random(4);
    const Bytes x = residues(Fill::random, b, n, planes, random);
    const auto w = weights(Fill::random, m * n, random);
    const Bytes expected = product(m, n, b, planes, w, x);
    EXPECT_NE(Bytes(b * planes * m, 251), product(m, n, b, planes, Weights(m * n), x));
    Bytes planes_last(expected.size());
    for (std::size_t v = 0; v < b * planes; ++v) {
        for (std::size_t i = 0; i < m; ++i) {
            planes_last[(v / planes * m + i) * planes + v % planes] = expected[v * m + i];
        }
    }
    EXPECT_NE(planes_last, expected);
}

}  // namespace
}  // namespace slip::testing
