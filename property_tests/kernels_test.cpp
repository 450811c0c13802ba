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
#include "optimized/kernels/mersenne61.hpp"
#include "optimized/kernels/registry.hpp"
#include "property_tests/kernel_agreement.hpp"
#include "property_tests/kernel_fixture.hpp"
#include "property_tests/packed_factors.hpp"
#include "reference/linear.hpp"
#include "reference/ring.hpp"

namespace slip::kernel_tests {
namespace {

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

template <class P>
class CheckKernels : public ::testing::Test {};
TYPED_TEST_SUITE(CheckKernels, Profiles, ProfileName);

TYPED_TEST(CheckKernels, INTEG_3_dot_equals_the_reference) {
    EXPECT_TRUE(rc::check([](std::uint64_t seed) {
        const auto n = *rc::gen::inRange<std::size_t>(0, 300);
        std::mt19937_64 random(seed);
        const auto a = residues<TypeParam>(*rc::gen::elementOf(all_fills), n, random);
        const auto b = residues<TypeParam>(*rc::gen::elementOf(all_fills), n, random);
        for_each_backend([&](const Backend& backend) {
            RC_ASSERT(dot_agrees<TypeParam>(backend.of<TypeParam>().dot, a, b));
        });
    }));
}

TYPED_TEST(CheckKernels, INTEG_3_dot_of_the_largest_residues_and_a_mutant) {
    using Residue = typename TypeParam::Residue;
    for (const std::size_t n : Sizes{1, 15, 16, 17, 32767, 32768, 32769, 100'000}) {
        const std::vector<Residue> largest(n, TypeParam::p - 1);
        for_each_backend([&](const Backend& backend) {
            EXPECT_TRUE(dot_agrees<TypeParam>(backend.of<TypeParam>().dot, largest, largest));
        });
    }
    const Dot<TypeParam> wraps = [](const Residue* a, const Residue* b, std::size_t n) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += std::uint64_t{a[i]} * b[i];
        return static_cast<Residue>(sum % TypeParam::p);
    };
    const std::vector<Residue> largest(100, TypeParam::p - 1);
    EXPECT_FALSE(dot_agrees<TypeParam>(wraps, largest, largest));
}

// --- Charlie's low-rank part ---------------------------------------------------------------------

void expect_low_rank_inner(const Backend& backend, std::size_t k, std::size_t n,
                           const std::vector<std::int16_t>& b, const std::vector<std::int16_t>& q) {
    EXPECT_EQ(to_vector(low_rank_inner(backend, b, k, q.data(), n)),
              to_matrix(b, k, n) * to_vector(q))
        << k << " x " << n;
}

TEST(LowRank, DECO_7_inner_product_on_every_tail_and_extreme) {
    std::mt19937_64 random(7);
    for (const Fill kind : all_fills) {
        for (const std::size_t n :
             Sizes{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 70, 511, 512, 513, 1025}) {
            for (const std::size_t k : Sizes{0, 1, 3, 8, 9}) {
                const auto b = activations(kind, k * n, random);
                const auto q = activations(kind, n, random);
                const auto ones = activations(Fill::largest, n, random);
                for_each_backend([&](const Backend& backend) {
                    expect_low_rank_inner(backend, k, n, b, q);
                    expect_low_rank_inner(backend, k, n, b, ones);
                });
            }
        }
    }
}

/// Rows around what the 32-bit sums of every backend hold.
TEST(LowRank, DECO_7_inner_product_of_long_rows) {
    std::mt19937_64 random(8);
    for (const Fill kind : {Fill::largest, Fill::smallest, Fill::extremes}) {
        for (const std::size_t n : Sizes{4095, 4096, 4097, 8191, 8192, 8193, 20'000}) {
            const auto b = activations(kind, 5 * n, random);
            const auto q = activations(kind, n, random);
            for_each_backend(
                [&](const Backend& backend) { expect_low_rank_inner(backend, 5, n, b, q); });
        }
    }
}

template <class P>
class LowRankOuter : public ::testing::Test {};
TYPED_TEST_SUITE(LowRankOuter, Profiles, ProfileName);

/// Any A, z and y_D at all: sums wrap as the reference's do.
TYPED_TEST(LowRankOuter, DECO_7_LIN_2_output_equals_the_reference_mod_2_to_64) {
    EXPECT_TRUE(rc::check([](std::uint64_t seed) {
        using Product = typename TypeParam::Product;
        const auto m = *rc::gen::inRange<std::size_t>(0, 20);
        const auto k = *rc::gen::inRange<std::size_t>(0, 20);
        const auto n = *rc::gen::inRange<std::size_t>(1, 40);
        std::mt19937_64 random(seed);
        constexpr std::int32_t largest = std::numeric_limits<std::int32_t>::max();
        const auto a = fill<std::int32_t>(*rc::gen::elementOf(all_fills), m * k, -largest, largest,
                                          {-largest, largest, 0, 1, -1}, random);
        const auto b = activations(*rc::gen::elementOf(all_fills), k * n, random);
        const auto q = activations(*rc::gen::elementOf(all_fills), n, random);
        constexpr Product centre = (TypeParam::p - 1) / 2;
        const auto y_david = fill<Product>(*rc::gen::elementOf(all_fills), m, -centre, centre,
                                           {-centre, centre}, random);
        const reference::Vector expected = reference::charlies_output_64(
            to_matrix(a, m, k), to_matrix(b, k, n), to_vector(q), to_vector(y_david));
        for_each_backend([&](const Backend& backend) {
            const auto z = low_rank_inner(backend, b, k, q.data(), n);
            std::vector<std::int64_t> y(m + 1, 0x5a5a);
            backend.of<TypeParam>().low_rank_outer(a.data(), m, k, z.data(), y_david.data(),
                                                   y.data());
            RC_ASSERT(y.back() == 0x5a5a);
            y.pop_back();
            RC_ASSERT(to_vector(y) == expected);
        });
    }));
}

/// As the wide kernel of the portable backend, which the test above holds to the reference.
template <class P>
void expect_narrow_agrees(const std::vector<std::int32_t>& a, std::size_t m, std::size_t k,
                          unsigned limbs, const std::vector<std::int64_t>& z,
                          const std::vector<typename P::Product>& y_david) {
    std::vector<std::int64_t> expected(m);
    const Backend& portable = *kernels::available().front();
    portable.of<P>().low_rank_outer(a.data(), m, k, z.data(), y_david.data(), expected.data());
    for_each_backend([&](const Backend& backend) {
        std::vector<std::int64_t> y(m + 1, 0x5a5a);
        low_rank_outer_narrow<P>(backend, a, m, k, limbs, z, y_david, y.data());
        EXPECT_EQ(y.back(), 0x5a5a);
        y.pop_back();
        EXPECT_EQ(y, expected) << backend.name << ' ' << m << " x " << k << ", " << limbs;
    });
}

/// Every k and tail; rows and z as large as the limbs hold, and limbs that are all extreme.
TYPED_TEST(LowRankOuter, DECO_7_LIN_2_narrow_factors_give_the_same) {
    using Product = typename TypeParam::Product;
    std::mt19937_64 random(9);
    constexpr Product centre = (TypeParam::p - 1) / 2;
    for (const std::size_t k : Sizes{0, 1, 2, 3, 7, 8, 15, 16, 17, 64, 300, 1024}) {
        for (const std::int32_t largest : {1, 100, 255, 4095, 32767}) {
            const auto bound = static_cast<std::uint64_t>(largest);
            if (!kernels::is_narrow(k, bound, k * bound)) continue;
            for (const std::size_t m : Sizes{0, 1, 15, 16, 17, 63, 64, 65, 130}) {
                for (const Fill kind : all_fills) {
                    const auto a = fill<std::int32_t>(kind, m * k, -largest, largest,
                                                      {-largest, largest, 0}, random);
                    const auto y_david =
                        fill<Product>(kind, m, -centre, centre, {-centre, centre}, random);
                    for (const unsigned limbs : {3U, 4U}) {
                        const std::int64_t most = std::int64_t{1} << (limbs == 3 ? 40 : 54);
                        // Every limb but the uppermost is -2^13.
                        const std::int64_t low = limbs == 3 ? -0x8002000 : -0x200'0800'2000;
                        const auto z = fill<std::int64_t>(
                            kind, k, -most, most,
                            {-most, most, low, 0x1fff, 0x2000, -0x2000, -0x2001, 64}, random);
                        expect_narrow_agrees<TypeParam>(a, m, k, limbs, z, y_david);
                    }
                }
            }
        }
    }
}

/// Which factors are narrow: those whose rows' sums with a limb fit 32 bits, none beyond 16 bits.
TEST(LowRank, DECO_7_which_factors_are_narrow) {
    EXPECT_TRUE(kernels::is_narrow(0, 0, 0));
    EXPECT_TRUE(kernels::is_narrow(8, 32767, 8 * 32767));
    EXPECT_TRUE(kernels::is_narrow(1024, 32767, (1 << 18) - 1));
    EXPECT_FALSE(kernels::is_narrow(1024, 32767, 1 << 18));
    EXPECT_FALSE(kernels::is_narrow(1025, 1, 1025));
    EXPECT_FALSE(kernels::is_narrow(1, 32768, 32768));
    EXPECT_EQ(kernels::limbs_of(0), 3U);
    EXPECT_EQ(kernels::limbs_of(std::uint64_t{1} << 40), 3U);
    EXPECT_EQ(kernels::limbs_of((std::uint64_t{1} << 40) + 1), 4U);
}

/// z itself may be anything: the contract is arithmetic mod 2^64.
TEST(LowRank, DECO_7_outer_product_wraps) {
    constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    const std::vector<std::int32_t> a = {3, -2, std::numeric_limits<std::int32_t>::max(), 1};
    const std::vector<std::int64_t> z = {largest, -largest};
    const std::vector<std::int32_t> y_david = {1 << 29, -(1 << 29)};
    const Integer modulus = Integer(1) << 64;
    for_each_backend([&](const Backend& backend) {
        std::vector<std::int64_t> y(2);
        backend.p31.low_rank_outer(a.data(), 2, 2, z.data(), y_david.data(), y.data());
        for (std::size_t i = 0; i < 2; ++i) {
            const Integer exact = (Integer(y_david[i]) << 20) + Integer(a[2 * i]) * z[0] +
                                  Integer(a[2 * i + 1]) * z[1];
            EXPECT_EQ((exact - y[i]) % modulus, 0);
        }
    });
}

// --- between floats and integers; against the reference in encoding_test.cpp
// ----------------------

/// Ties, the largest quotients, subnormal and huge scales: every bit as the portable backend's,
/// which encoding_test.cpp holds to the reference.
RC_GTEST_PROP(Scales, ENC_1_ENC_2_equal_on_every_backend, (std::uint64_t seed)) {
    const auto n = *rc::gen::inRange<std::size_t>(0, 70);
    const auto qa_max = *rc::gen::element(127, 128, 1000, 32766, 32767);
    std::mt19937_64 random(seed);
    const float magnitude = std::ldexp(1.0f, static_cast<int>(random() % 250) - 125);
    std::vector<float> x(n), row_scale(n);
    std::vector<std::int64_t> integers(n);
    for (std::size_t j = 0; j < n; ++j) {
        const auto half_steps = static_cast<int>(random() % 65535) - 32767;
        x[j] = magnitude * (random() % 2 == 0 ? 0.5f * static_cast<float>(half_steps)
                                              : std::ldexp(static_cast<float>(half_steps), -9));
        row_scale[j] = std::ldexp(1.0f + static_cast<float>(random() % 1000) / 7, -20);
        integers[j] = static_cast<std::int64_t>(random()) >> random() % 64;
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

/// active() chooses once a process, so each choice is made in a process of its own.
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
            std::vector<std::byte> input(8, static_cast<std::byte>(29 * i + 6));
            input[6] = static_cast<std::byte>(i);  // the chapter
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
                     b.p31.packed4_bytes = b.p31.packed_bytes;
                     b.p31.pack4 = b.p31.pack;
                     b.p31.gemm4 = [](const std::int8_t*, std::size_t m, std::size_t,
                                      const std::uint32_t*, std::size_t columns,
                                      std::uint32_t* y) { std::fill_n(y, m * columns, 1U); };
                 }),
                 "gemm4");
    EXPECT_STREQ(found_as([](Backend& b) {
                     b.p61.low_rank_outer_narrow = [](const std::int16_t*, std::size_t m,
                                                      std::size_t, unsigned, const std::int64_t*,
                                                      const std::int64_t*,
                                                      std::int64_t* y) { std::fill_n(y, m, 0); };
                 }),
                 "low_rank_outer_narrow");
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
