// Every backend against the reference: residue arithmetic, the integrity check's dot products, the
// low-rank part, the scales, the choice of a backend. kernel_products_test.cpp has the products
// with W, kernel_masks_test.cpp the masks.
#include "optimized/kernels/contracts.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/kernels/mersenne31.hpp"
#include "optimized/kernels/registry.hpp"
#include "property_tests/generators/packed_factors.hpp"
#include "property_tests/kernels/kernel_agreement.hpp"
#include "property_tests/kernels/kernel_fixture.hpp"
#include "reference/linear.hpp"
#include "reference/ring.hpp"

namespace slip::kernel_tests {
namespace {

using base::SecretBuffer;

// --- arithmetic modulo p -------------------------------------------------------------------------

TEST(Mersenne31, RING_1_canonical_of_a_sum_or_a_difference) {
    for (const std::uint32_t x :
         {0u, 1u, P31::p - 1, P31::p, P31::p + 1, 2 * P31::p - 2, 2 * P31::p - 1}) {
        EXPECT_EQ(ring<P31>().embed(Integer(x)), kernels::canonical_p31(x)) << x;
    }
}

TEST(Mersenne31, RING_2_embed_at_the_ends_of_its_range) {
    const std::int64_t end = std::int64_t{P31::p} << 31;
    for (const std::int64_t v :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, -std::int64_t{P31::p}, end, -end,
          end - 1, 1 - end, (std::int64_t{1} << 61), -(std::int64_t{1} << 61)}) {
        EXPECT_EQ(ring<P31>().embed(Integer(v)), kernels::embed_p31(v)) << v;
    }
}

TEST(Mersenne31, RING_3_lift_at_the_centre_and_the_ends) {
    for (const std::uint32_t r : {0u, 1u, (P31::p - 1) / 2, (P31::p + 1) / 2, P31::p - 1}) {
        EXPECT_EQ(ring<P31>().lift(Integer(r)), kernels::lift_p31(r)) << r;
    }
}

TEST(Mersenne31, RING_4_reduction_around_every_power_of_two_and_multiple_of_p) {
    for (unsigned bit = 0; bit < 64; ++bit) {
        for (std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
            for (const std::uint64_t x : {(std::uint64_t{1} << bit) + offset,
                                          (std::uint64_t{P31::p} << (bit % 33)) + offset}) {
                EXPECT_EQ(reference::mersenne_remainder(Integer(x), 31), kernels::reduce_p31(x))
                    << x;
            }
        }
    }
}

RC_GTEST_PROP(Mersenne31, RING_4_reduction_of_any_64_bits, (std::uint64_t x)) {
    RC_ASSERT(reference::mersenne_remainder(Integer(x), 31) == kernels::reduce_p31(x));
}

// --- the integrity check's products --------------------------------------------------------------

template <class P>
using Dot = decltype(kernels::ResidueKernels<P>::dot);

template <class P>
bool dot_agrees(Dot<P> dot, const std::vector<typename P::Residue>& a,
                const std::vector<typename P::Residue>& b) {
    Integer sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += Integer(a[i]) * b[i];
    return ring<P>().embed(sum) == dot(a.data(), b.data(), a.size());
}

PROFILE_PROP(CheckKernels, INTEG_3_dot_equals_the_reference) {
    const auto n = *any_size(0, 299).as("n");
    const auto a = *any_residues<P>(n).as("a");
    const auto b = *any_residues<P>(n).as("b");
    for_each_backend(
        [&](const Backend& backend) { RC_ASSERT(dot_agrees<P>(backend.of<P>().dot, a, b)); });
}

PROFILE_TEST(CheckKernels, INTEG_3_dot_of_the_largest_residues_and_a_mutant) {
    using Residue = typename P::Residue;
    for (const std::size_t n : Sizes{1, 15, 16, 17, 32767, 32768, 32769, 100'000}) {
        const std::vector<Residue> largest(n, P::p - 1);
        for_each_backend([&](const Backend& backend) {
            EXPECT_TRUE(dot_agrees<P>(backend.of<P>().dot, largest, largest));
        });
    }
    const Dot<P> wraps = [](const Residue* a, const Residue* b, std::size_t n) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += std::uint64_t{a[i]} * b[i];
        return static_cast<Residue>(sum % P::p);
    };
    const std::vector<Residue> largest(100, P::p - 1);
    EXPECT_FALSE(dot_agrees<P>(wraps, largest, largest));
}

// --- Charlie's low-rank part ---------------------------------------------------------------------

/// PARAM-2: the exponent is the least that serves, and none serves beyond 2047 2^20.
TEST(LowRank, PARAM_2_row_exponent_at_every_power_of_two) {
    EXPECT_EQ(kernels::row_exponent(0), 0U);
    for (unsigned e = 0; e <= 20; ++e) {
        const std::uint64_t most = std::uint64_t{2047} << e;
        EXPECT_EQ(kernels::row_exponent(most), e);
        EXPECT_EQ(kernels::row_exponent(most + 1), e + 1);
    }
    EXPECT_EQ(kernels::row_exponent(std::uint64_t{1} << 31), 21U);
    EXPECT_EQ(kernels::row_exponent(~std::uint64_t{0}), 21U);
}

TEST(LowRank, DECO_7_how_many_limbs_z_takes) {
    EXPECT_EQ(kernels::limbs_of(0), 3U);
    EXPECT_EQ(kernels::limbs_of(std::uint64_t{1} << 40), 3U);
    EXPECT_EQ(kernels::limbs_of((std::uint64_t{1} << 40) + 1), 4U);
}

/// Room behind the packed factors stays as it was.
TEST(LowRank, DECO_7_LIN_2_packed_factors_take_the_bytes_that_they_say) {
    std::mt19937_64 random(6);
    for_each_backend([&](const Backend& backend) {
        for (const std::size_t m : Sizes{0, 1, 9, 65}) {
            for (const std::size_t k : Sizes{0, 1, 8, 129}) {
                const auto b = right_factor(Fill::largest, k * m, random);
                const auto a = left_factor(Fill::largest, Exponents::twenty, m, k, random);
                SecretBuffer<kernels::PackedRight> right(backend.right_bytes(k, m) +
                                                         1);  // aligned to 64
                SecretBuffer<kernels::PackedLeft> left(backend.left_bytes(m, k) + 1);
                right[right.size() - 1] = kernels::PackedRight{0x5a};
                left[left.size() - 1] = kernels::PackedLeft{0x5a};
                backend.pack_right(b.data(), k, m, right.data());
                backend.pack_left(a.data(), m, k, left.data());
                EXPECT_EQ(right[right.size() - 1], kernels::PackedRight{0x5a}) << backend.name;
                EXPECT_EQ(left[left.size() - 1], kernels::PackedLeft{0x5a}) << backend.name;
            }
        }
    });
}

/// q and z aligned to their elements, no more; the numbers beside z stay as they were.
std::vector<std::int64_t> unaligned_inner(const Backend& backend,
                                          const std::vector<std::int16_t>& b, std::size_t k,
                                          const std::vector<std::int16_t>& q) {
    SecretBuffer<kernels::PackedRight> right(backend.right_bytes(k, q.size()));
    backend.pack_right(b.data(), k, q.size(), right.data());
    std::vector<std::int16_t> moved(q.size() + 1);
    std::copy(q.begin(), q.end(), moved.begin() + 1);
    std::vector<std::int64_t> z(k + 2, 0x5a5a);
    backend.low_rank_inner(right.data(), k, q.size(), moved.data() + 1, z.data() + 1);
    EXPECT_EQ(z.front(), 0x5a5a);
    EXPECT_EQ(z.back(), 0x5a5a);
    return {z.begin() + 1, z.end() - 1};
}

void expect_low_rank_inner(std::size_t k, std::size_t n, const std::vector<std::int16_t>& b,
                           const std::vector<std::int16_t>& q) {
    const reference::Vector expected = to_matrix(b, k, n) * to_vector(q);
    for_each_backend([&](const Backend& backend) {
        EXPECT_EQ(to_vector(unaligned_inner(backend, b, k, q)), expected) << k << " x " << n;
    });
}

TEST(LowRank, DECO_7_inner_product_on_every_tail_and_extreme) {
    std::mt19937_64 random(7);
    for (const Fill kind : all_fills) {
        for (const std::size_t n :
             Sizes{0,  1,  2,  3,   7,   8,   9,   15,  16,  17,  31,  32,
                   33, 63, 70, 127, 128, 129, 255, 256, 257, 511, 513, 1025}) {
            for (const std::size_t k : Sizes{0, 1, 3, 8, 9}) {
                const auto b = right_factor(kind, k * n, random);
                expect_low_rank_inner(k, n, b, activations(kind, n, random));
                expect_low_rank_inner(k, n, b, activations(Fill::largest, n, random));
            }
        }
    }
}

/// Rows around what the 32-bit sums of every backend hold.
TEST(LowRank, DECO_7_inner_product_of_long_rows) {
    std::mt19937_64 random(8);
    for (const Fill kind : {Fill::largest, Fill::smallest, Fill::extremes}) {
        for (const std::size_t n : Sizes{4095, 4096, 4097, 8191, 8192, 8193, 20'000}) {
            const auto b = right_factor(kind, 5 * n, random);
            expect_low_rank_inner(5, n, b, activations(kind, n, random));
        }
    }
}

/// PARAM-3: rows of 2^20, every product the largest.
TEST(LowRank, DECO_7_inner_product_of_the_longest_rows) {
    constexpr std::size_t k = 9, n = std::size_t{1} << 20;
    const std::vector<std::int16_t> q(n, 32767);
    for (const std::int16_t entry : {std::int16_t{2047}, std::int16_t{-2047}}) {
        const std::vector<std::int16_t> b(k * n, entry);
        const std::int64_t sum = std::int64_t{entry} * 32767 * std::int64_t{n};
        for_each_backend([&](const Backend& backend) {
            EXPECT_EQ(unaligned_inner(backend, b, k, q), std::vector<std::int64_t>(k, sum));
        });
    }
}

/// z, y_D and y aligned to their elements, no more; the numbers beside y stay as they were.
template <class P>
std::vector<std::int64_t> unaligned_outer(const Backend& backend,
                                          const std::vector<std::int32_t>& a, unsigned limbs,
                                          const std::vector<std::int64_t>& z,
                                          const std::vector<typename P::Product>& y_david) {
    const std::size_t m = y_david.size(), k = z.size();
    SecretBuffer<kernels::PackedLeft> left(backend.left_bytes(m, k));
    backend.pack_left(a.data(), m, k, left.data());
    std::vector<std::int64_t> moved_z(k + 1), y(m + 2, 0x5a5a);
    std::vector<typename P::Product> moved_y_david(m + 1);
    std::copy(z.begin(), z.end(), moved_z.begin() + 1);
    std::copy(y_david.begin(), y_david.end(), moved_y_david.begin() + 1);
    backend.of<P>().low_rank_outer(left.data(), m, k, limbs, moved_z.data() + 1,
                                   moved_y_david.data() + 1, y.data() + 1);
    EXPECT_EQ(y.front(), 0x5a5a);
    EXPECT_EQ(y.back(), 0x5a5a);
    return {y.begin() + 1, y.end() - 1};
}

template <class P>
std::vector<typename P::Product> products(Fill kind, std::size_t m, std::mt19937_64& random) {
    constexpr typename P::Product centre = (P::p - 1) / 2;
    return fill<typename P::Product>(kind, m, -centre, centre, {-centre, centre}, random);
}

/// A z for any z: the reference's B q with z for B and 1 for q.
template <class P>
void expect_low_rank_outer(const std::vector<std::int32_t>& a, const std::vector<std::int64_t>& z,
                           const std::vector<typename P::Product>& y_david) {
    const std::size_t m = y_david.size(), k = z.size();
    const reference::Vector expected = reference::charlies_output_64(
        to_matrix(a, m, k), to_matrix(z, k, 1), {Integer(1)}, to_vector(y_david));
    for (unsigned limbs = limbs_of(z); limbs <= kernels::most_limbs; ++limbs) {
        for_each_backend([&](const Backend& backend) {
            EXPECT_EQ(to_vector(unaligned_outer<P>(backend, a, limbs, z, y_david)), expected)
                << m << " x " << k << ", " << limbs << " limbs";
        });
    }
}

/// Any A and B: sums wrap as the reference's do.
PROFILE_PROP(LowRankOuter, DECO_7_LIN_2_output_equals_the_reference_mod_2_to_64) {
    const auto m = *any_size(0, 19).as("m");
    const auto k = *any_size(0, 299).as("k");
    const auto n = *any_size(1, 39).as("n");
    const auto a = drawn_left_factor(m, k);
    const auto b = *any_right_factor(k * n).as("B");
    const auto q = *any_activations(n).as("q");
    constexpr auto centre = static_cast<typename P::Product>((P::p - 1) / 2);
    const auto y_david = *any_list<typename P::Product>(m, -centre, centre).as("y_D");
    const reference::Vector expected = reference::charlies_output_64(
        to_matrix(a, m, k), to_matrix(b, k, n), to_vector(q), to_vector(y_david));
    for_each_backend([&](const Backend& backend) {
        const auto z = unaligned_inner(backend, b, k, q);
        RC_ASSERT(to_vector(unaligned_outer<P>(backend, a, limbs_of(z), z, y_david)) == expected);
    });
}

/// Every z the same, so that the sums of a limb are as large as they get: at the bounds of 3 and of
/// 4 limbs, at DECO-7's, and where every limb but the uppermost is -2^13 or 2^13 - 1.
template <class P>
void expect_extremes(const std::vector<std::int32_t>& a, std::size_t k, std::mt19937_64& random) {
    constexpr std::int64_t one = 1, two_low_limbs = (one << 13) + (one << 27),
                           three_low_limbs = two_low_limbs + (one << 41);
    for (const std::int64_t magnitude :
         {one, one << 13, two_low_limbs, three_low_limbs, (one << 27) - 1, (one << 41) - 1,
          one << 40, (one << 40) + 1, one << 46, one << 53}) {
        for (const std::int64_t sign : {1, -1}) {
            expect_low_rank_outer<P>(a, std::vector<std::int64_t>(k, sign * magnitude),
                                     products<P>(Fill::extremes, a.size() / k, random));
        }
    }
}

PROFILE_TEST(LowRankOuter, DECO_7_LIN_2_extremes_on_either_side_of_a_pass_of_columns) {
    constexpr std::size_t m = 65;
    std::mt19937_64 random(9);
    for (const std::size_t k : Sizes{1, 127, 128, 129, 300}) {
        for (const Exponents exponents : all_exponents) {
            for (const Fill kind : {Fill::largest, Fill::smallest}) {
                expect_extremes<P>(left_factor(kind, exponents, m, k, random), k, random);
            }
        }
        // 2048 = 2^1 1024: with the exponent 0 it would fit 16 bits, its sums not 32.
        for (const std::int32_t entry : {2048, -2048}) {
            expect_extremes<P>(std::vector<std::int32_t>(m * k, entry), k, random);
        }
    }
}

/// Every tail of rows and columns. As the portable backend, which the tests above hold to the
/// reference: it has no limbs and no passes.
PROFILE_TEST(LowRankOuter, DECO_7_LIN_2_every_tail_equals_the_portable_backends) {
    std::mt19937_64 random(10);
    const Backend& portable = *kernels::available().front();
    const auto compare = [&](std::size_t m, std::size_t k, Exponents exponents, Fill kind) {
        const auto a = left_factor(kind, exponents, m, k, random);
        const auto y_david = products<P>(kind, m, random);
        for (const unsigned limbs : {3U, 4U}) {
            const std::int64_t most = std::int64_t{1} << (limbs == 3 ? 40 : 53);
            const auto z = fill<std::int64_t>(
                kind, k, -most, most, {-most, most, 0x1fff, 0x2000, -0x2000, -0x2001, 64}, random);
            const auto expected = unaligned_outer<P>(portable, a, limbs, z, y_david);
            for_each_backend([&](const Backend& backend) {
                EXPECT_EQ(unaligned_outer<P>(backend, a, limbs, z, y_david), expected)
                    << m << " x " << k << ", " << limbs << " limbs";
            });
        }
    };
    for (const std::size_t k : Sizes{0, 1, 2, 3, 7, 8, 15, 16, 17, 64, 127, 128, 129, 257, 300}) {
        for (const std::size_t m : Sizes{0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 130}) {
            for (const Exponents exponents : all_exponents) {
                for (const Fill kind : {Fill::one_hot, Fill::extremes, Fill::random}) {
                    compare(m, k, exponents, kind);
                }
            }
        }
    }
}

// --- between floats and integers; against the reference in encoding_test.cpp
// ----------------------

/// Ties, the largest quotients, subnormal and huge scales: every bit as the portable backend's,
/// which encoding_test.cpp holds to the reference.
RC_GTEST_PROP(Scales, ENC_1_ENC_2_equal_on_every_backend, ()) {
    const auto n = *any_size(0, 69).as("n");
    const auto qa_max = *rc::gen::element(127, 128, 1000, 32766, 32767).as("qa_max");
    const float magnitude = std::ldexp(1.0f, *rc::gen::inRange(-125, 125).as("exponent"));
    const auto half_steps = *any_list<std::int16_t>(n, -32767, 32767).as("half steps");
    const auto finer = *any_list<std::uint8_t>(n, 0, 1).as("finer");
    const auto sevenths = *any_list<std::uint16_t>(n, 0, 999).as("row scale in sevenths");
    const auto wide = *any_list<std::int64_t>(n, INT64_MIN, INT64_MAX).as("integers");
    const auto shifts = *any_list<std::uint8_t>(n, 0, 63).as("shifts");
    std::vector<float> x(n), row_scale(n);
    std::vector<std::int64_t> integers(n);
    for (std::size_t j = 0; j < n; ++j) {
        x[j] = magnitude * std::ldexp(static_cast<float>(half_steps[j]), finer[j] == 0 ? -1 : -9);
        row_scale[j] = std::ldexp(1.0f + static_cast<float>(sevenths[j]) / 7, -20);
        integers[j] = wide[j] >> shifts[j];
    }
    const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
    const Backend& portable = *kernels::available().front();
    std::vector<std::int16_t> q(n);
    const float scale = portable.quantise(x.data(), n, qa_max, q.data());
    std::vector<float> out(n);
    portable.dequantise(integers.data(), row_scale.data(), magnitude, n, out.data());
    for_each_backend([&](const Backend& backend) {
        std::vector<std::int16_t> other(n + 1, 0x5a5a);
        RC_ASSERT(bits(backend.quantise(x.data(), n, qa_max, other.data())) == bits(scale));
        RC_ASSERT(other.back() == 0x5a5a);
        other.pop_back();
        RC_ASSERT(scale < 0 || other == q);  // unspecified where ENC-1 refuses
        std::vector<float> floats(n + 1, 5.0f);
        backend.dequantise(integers.data(), row_scale.data(), magnitude, n, floats.data());
        RC_ASSERT(floats.back() == 5.0f);
        for (std::size_t i = 0; i < n; ++i) RC_ASSERT(bits(floats[i]) == bits(out[i]));
    });
}

TEST(Scales, ENC_1_a_nan_or_an_infinity_anywhere_is_refused) {
    for (std::size_t n = 1; n < 40; ++n) {
        for (const float bad :
             {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
              std::numeric_limits<float>::quiet_NaN()}) {
            std::vector<float> x(n, 1.0f);
            x[n / 2] = bad;
            std::vector<std::int16_t> q(n);
            for_each_backend([&](const Backend& backend) {
                EXPECT_LT(backend.quantise(x.data(), n, 127, q.data()), 0.0f) << n;
            });
        }
    }
}

// --- choice of backend ---------------------------------------------------------------------------

TEST(Registry, names_are_distinct_and_the_portable_backend_is_there) {
    std::vector<std::string> names;
    for_each_backend([&](const Backend& backend) { names.emplace_back(backend.name); });
    EXPECT_EQ(names.front(), "portable");
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

/// active() chooses once per process, so each choice is made in a process of its own.
TEST(Registry, the_environment_names_a_backend_and_a_wrong_name_is_refused) {
    const auto exit_status_with = [](const char* name) {
        const pid_t child = fork();
        if (child == 0) {
            setenv("SLIP_KERNELS", name, 1);
            try {
                _exit(kernels::active().name == std::string(name) ? 0 : 1);
            } catch (const BadInput& error) {
                _exit(std::string(error.what()).find("portable") == std::string::npos ? 3 : 2);
            }
        }
        int status = 0;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    };
    for_each_backend([&](const Backend& backend) { EXPECT_EQ(exit_status_with(backend.name), 0); });
    EXPECT_EQ(exit_status_with("abacus"), 2);
}

/// What the fuzz target and neon/check.cpp rely on: a kernel that errs is found and named.
TEST(Agreement, a_backend_with_one_wrong_kernel_is_told_apart) {
    const Backend& portable = *kernels::available().front();
    const auto found_as = [&](auto change) {
        Backend mutant = portable;
        change(mutant);
        for (unsigned i = 0; i < 256; ++i) {
            std::vector<std::byte> input(7, static_cast<std::byte>(29 * i + 6));
            input[5] = static_cast<std::byte>(i);  // the chapter
            if (const char* kernel = disagreement(portable, mutant, input)) return kernel;
        }
        return "nothing";
    };
    EXPECT_STREQ(found_as([](Backend&) {}), "nothing");
    EXPECT_STREQ(found_as([](Backend& b) {
                     b.p31.dot = [](const std::uint32_t* x, const std::uint32_t* y, std::size_t n) {
                         return kernels::available().front()->p31.dot(x, y, n / 2);
                     };
                 }),
                 "dot");
    EXPECT_STREQ(found_as([](Backend& b) {
                     b.p31.low_rank_outer = [](const kernels::PackedLeft*, std::size_t m,
                                               std::size_t, unsigned, const std::int64_t*,
                                               const std::int32_t*,
                                               std::int64_t* y) { std::fill_n(y, m, 0); };
                 }),
                 "low_rank_outer");
    EXPECT_STREQ(found_as([](Backend& b) {
                     b.quantise = [](const float*, std::size_t, std::int32_t, std::int16_t*) {
                         return -1.0F;
                     };
                 }),
                 "quantise");
    EXPECT_STREQ(found_as([](Backend& b) {
                     b.p31.sample = [](const std::uint32_t*, std::size_t, std::uint32_t*) {
                         return std::size_t{0};
                     };
                 }),
                 "sample");
}

}  // namespace
}  // namespace slip::kernel_tests
