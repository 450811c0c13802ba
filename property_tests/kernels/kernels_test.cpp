// Residue arithmetic, the low-rank part on every backend, and the choice of a backend.
// kernel_products_test.cpp has the products with W and the check's, kernel_masks_test.cpp the
// masks, encoding_test.cpp the scales, floats_test.cpp Charlie's float code.
#include "optimized/kernels/contracts.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/kernels/leaf/plane_pairs.hpp"
#include "optimized/kernels/registry.hpp"
#include "property_tests/generators/packed_factors.hpp"
#include "property_tests/kernels/kernel_agreement.hpp"
#include "property_tests/kernels/kernel_fixture.hpp"

namespace slip::testing {
namespace {

using base::SecretBuffer;

// --- arithmetic modulo the primes ----------------------------------------------------------------

TEST(Residues, RING_1_RING_3_canonical_and_lift_of_every_residue) {
    for (const kernels::Modulus& m : kernels::moduli) {
        for (std::uint32_t x = 0; x < 2 * m.prime; ++x) {
            EXPECT_EQ(kernels::canonical(x, m.prime), x % m.prime);
        }
        for (std::uint32_t r = 0; r < m.prime; ++r) {
            const auto centred = static_cast<std::int32_t>(r <= m.prime / 2 ? r : r - m.prime);
            EXPECT_EQ(kernels::lift(r, m.prime), centred);
        }
    }
}

TEST(Residues, RING_5_short_reduction_of_every_number) {
    for (const kernels::Modulus& m : kernels::moduli) {
        for (std::uint32_t v = 0; v <= 65536 + 1024; ++v) {
            ASSERT_EQ(kernels::reduce_short(v, m), v % m.prime) << v;
        }
    }
}

TEST(Residues, RING_2_reduction_around_powers_of_two_and_multiples_of_the_prime) {
    constexpr std::int64_t end = std::int64_t{1} << 46;
    for (std::size_t p = 0; p < primes.size(); ++p) {
        for (unsigned bit = 0; bit < 46; ++bit) {
            for (const std::int64_t offset : {-1, 0, 1}) {
                const std::int64_t power = (std::int64_t{1} << bit) + offset;
                const std::int64_t multiple = power / primes[p] * primes[p] + offset;
                for (const std::int64_t v : {power, -power, multiple, -multiple}) {
                    EXPECT_EQ(kernels::reduce(v, kernels::moduli[p]), residue_of(v, p)) << v;
                }
            }
        }
        for (const std::int64_t v : {end - 1, 1 - end}) {
            EXPECT_EQ(kernels::reduce(v, kernels::moduli[p]), residue_of(v, p)) << v;
        }
    }
}

RC_GTEST_PROP(Residues, RING_2_reduction_of_any_number, (std::int64_t any)) {
    for (std::size_t p = 0; p < primes.size(); ++p) {
        const std::int64_t v = any >> 18;  // 46 bits
        RC_ASSERT(kernels::reduce(v, kernels::moduli[p]) == residue_of(v, p));
    }
}

/// inv_p = (L / p_p)^-1 mod p_p, as the set `paper` has them.
TEST(Residues, RING_5_the_constants_of_the_set_paper) {
    const kernels::Recombination& paper = kernels::recombinations[4];
    EXPECT_EQ(paper.modulus, 3368562317);
    const std::array<std::uint32_t, 4> inverses = {71, 119, 78, 209};
    for (std::size_t p = 0; p < 4; ++p) {
        EXPECT_EQ(paper.inverse[p], inverses[p]);
        EXPECT_EQ(paper.weight[p] * primes[p], paper.modulus);
    }
}

/// Every two residues give a number that has both, no larger than half of the product.
TEST(Residues, RING_5_pairs_of_planes) {
    for (std::size_t q = 0; q < kernels::plane_pairs.size(); ++q) {
        const int half = primes[2 * q] * primes[2 * q + 1] / 2;
        for (unsigned first = 0; first < primes[2 * q]; ++first) {
            for (unsigned second = 0; second < primes[2 * q + 1]; ++second) {
                const int joined = kernels::join(static_cast<std::uint8_t>(first),
                                                 static_cast<std::uint8_t>(second), q);
                ASSERT_EQ(residue_of(joined, 2 * q), first);
                ASSERT_EQ(residue_of(joined, 2 * q + 1), second);
                ASSERT_LE(std::abs(joined), half);
            }
        }
    }
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

/// DECO-7.
std::vector<std::int64_t> inner_product(std::size_t k, const std::vector<std::int16_t>& b,
                                        const std::vector<std::int16_t>& q) {
    std::vector<std::int64_t> z(k);
    for (std::size_t i = 0; i < b.size(); ++i) {
        z[i / q.size()] += std::int64_t{b[i]} * q[i % q.size()];
    }
    return z;
}

void expect_low_rank_inner(std::size_t k, std::size_t n, const std::vector<std::int16_t>& b,
                           const std::vector<std::int16_t>& q) {
    const auto expected = inner_product(k, b, q);
    for_each_backend([&](const Backend& backend) {
        EXPECT_EQ(unaligned_inner(backend, b, k, q), expected) << k << " x " << n;
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
std::vector<std::int64_t> unaligned_outer(const Backend& backend,
                                          const std::vector<std::int32_t>& a, unsigned limbs,
                                          const std::vector<std::int64_t>& z,
                                          const std::vector<std::int64_t>& y_david) {
    const std::size_t m = y_david.size(), k = z.size();
    SecretBuffer<kernels::PackedLeft> left(backend.left_bytes(m, k));
    backend.pack_left(a.data(), m, k, left.data());
    std::vector<std::int64_t> moved_z(k + 1), y(m + 2, 0x5a5a), moved_y_david(m + 1);
    std::copy(z.begin(), z.end(), moved_z.begin() + 1);
    std::copy(y_david.begin(), y_david.end(), moved_y_david.begin() + 1);
    backend.low_rank_outer(left.data(), m, k, limbs, moved_z.data() + 1, moved_y_david.data() + 1,
                           y.data() + 1);
    EXPECT_EQ(y.front(), 0x5a5a);
    EXPECT_EQ(y.back(), 0x5a5a);
    return {y.begin() + 1, y.end() - 1};
}

/// The ends of what a lift modulo seven primes gives.
constexpr auto centre = static_cast<std::int64_t>((base::parameters::modulus(7) - 1) / 2);
std::vector<std::int64_t> products(Fill kind, std::size_t m, std::mt19937_64& random) {
    return fill<std::int64_t>(kind, m, -centre, centre, {-centre, centre}, random);
}

/// LIN-2, DECO-7: sums mod 2^64.
std::vector<std::int64_t> outer_product(const std::vector<std::int32_t>& a,
                                        const std::vector<std::int64_t>& z,
                                        const std::vector<std::int64_t>& y_david) {
    std::vector<std::int64_t> y;
    for (std::size_t i = 0; i < y_david.size(); ++i) {
        std::uint64_t sum = static_cast<std::uint64_t>(y_david[i]) << 16;
        for (std::size_t c = 0; c < z.size(); ++c) {
            sum += static_cast<std::uint64_t>(std::int64_t{a[i * z.size() + c]}) *
                   static_cast<std::uint64_t>(z[c]);
        }
        y.push_back(static_cast<std::int64_t>(sum));
    }
    return y;
}

void expect_low_rank_outer(const std::vector<std::int32_t>& a, const std::vector<std::int64_t>& z,
                           const std::vector<std::int64_t>& y_david) {
    const auto expected = outer_product(a, z, y_david);
    for (unsigned limbs = limbs_of(z); limbs <= kernels::most_limbs; ++limbs) {
        for_each_backend([&](const Backend& backend) {
            EXPECT_EQ(unaligned_outer(backend, a, limbs, z, y_david), expected)
                << y_david.size() << " x " << z.size() << ", " << limbs << " limbs";
        });
    }
}

/// Any A and B: sums may wrap.
RC_GTEST_PROP(LowRankOuter, DECO_7_LIN_2_output_of_any_factors_mod_2_to_64, ()) {
    const auto m = *any_size(0, 19).as("m");
    const auto k = *any_size(0, 299).as("k");
    const auto n = *any_size(1, 39).as("n");
    const auto a = drawn_left_factor(m, k);
    const auto b = *any_right_factor(k * n).as("B");
    const auto q = *any_activations(n).as("q");
    const auto y_david = *any_list<std::int64_t>(m, -centre, centre).as("y_D");
    const auto expected = outer_product(a, inner_product(k, b, q), y_david);
    for_each_backend([&](const Backend& backend) {
        const auto z = unaligned_inner(backend, b, k, q);
        RC_ASSERT(unaligned_outer(backend, a, limbs_of(z), z, y_david) == expected);
    });
}

/// Every z the same, so that the sums of a limb are as large as they get: at the bounds of 3 and of
/// 4 limbs, at DECO-7's, and where every limb but the uppermost is -2^13 or 2^13 - 1.
void expect_extremes(const std::vector<std::int32_t>& a, std::size_t k, std::mt19937_64& random) {
    constexpr std::int64_t one = 1, two_low_limbs = (one << 13) + (one << 27),
                           three_low_limbs = two_low_limbs + (one << 41);
    for (const std::int64_t magnitude :
         {one, one << 13, two_low_limbs, three_low_limbs, (one << 27) - 1, (one << 41) - 1,
          one << 40, (one << 40) + 1, one << 46, one << 53}) {
        for (const std::int64_t sign : {1, -1}) {
            expect_low_rank_outer(a, std::vector<std::int64_t>(k, sign * magnitude),
                                  products(Fill::extremes, a.size() / k, random));
        }
    }
}

TEST(LowRankOuter, DECO_7_LIN_2_extremes_on_either_side_of_a_pass_of_columns) {
    constexpr std::size_t m = 65;
    std::mt19937_64 random(9);
    for (const std::size_t k : Sizes{1, 127, 128, 129, 300}) {
        for (const Exponents exponents : all_exponents) {
            for (const Fill kind : {Fill::largest, Fill::smallest}) {
                expect_extremes(left_factor(kind, exponents, m, k, random), k, random);
            }
        }
        // 2048 = 2^1 1024: with the exponent 0 it would fit 16 bits, its sums not 32.
        for (const std::int32_t entry : {2048, -2048}) {
            expect_extremes(std::vector<std::int32_t>(m * k, entry), k, random);
        }
    }
}

TEST(LowRankOuter, DECO_7_LIN_2_every_tail_of_rows_and_columns) {
    std::mt19937_64 random(10);
    const auto compare = [&](std::size_t m, std::size_t k, Exponents exponents, Fill kind) {
        const auto a = left_factor(kind, exponents, m, k, random);
        for (const unsigned limbs : {3U, 4U}) {
            const std::int64_t most = std::int64_t{1} << (limbs == 3 ? 40 : 53);
            const auto z = fill<std::int64_t>(
                kind, k, -most, most, {-most, most, 0x1fff, 0x2000, -0x2000, -0x2001, 64}, random);
            expect_low_rank_outer(a, z, products(kind, m, random));
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

// --- choice of backend ---------------------------------------------------------------------------

TEST(Registry, names_are_distinct_and_the_portable_backend_is_there) {
    std::vector<std::string> names;
    for_each_backend([&](const Backend& backend) { names.emplace_back(backend.name); });
    EXPECT_EQ(names.front(), "portable");
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

/// Ends the process with 0 if `name` is what active() gives, else with 1; with 2 if it is refused
/// by a sentence that names a backend.
[[noreturn]] void exit_as_chosen(const char* name) {
    ::setenv("SLIP_KERNELS", name, 1);
    try {
        std::_Exit(kernels::active().name == std::string(name) ? 0 : 1);
    } catch (const BadInput& error) {
        std::_Exit(std::string(error.what()).find("portable") == std::string::npos ? 3 : 2);
    }
}

/// active() chooses once per process, so each choice is made in a process of its own, from its
/// start.
TEST(Registry, the_environment_names_a_backend_and_a_wrong_name_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for_each_backend([&](const Backend& backend) {
        EXPECT_EXIT(exit_as_chosen(backend.name), ::testing::ExitedWithCode(0), "");
    });
    EXPECT_EXIT(exit_as_chosen("abacus"), ::testing::ExitedWithCode(2), "");
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
                     b.combine = [](const kernels::PackedCombinations* packed, std::size_t n,
                                    std::size_t planes, const std::uint8_t* v, std::size_t columns,
                                    std::uint8_t* out) {
                         kernels::available().front()->combine(packed, n / 2, planes, v, columns,
                                                               out);
                     };
                 }),
                 "combine");
    EXPECT_STREQ(found_as([](Backend& b) {
                     b.below = [](const std::uint8_t*, std::size_t, std::uint8_t) { return true; };
                 }),
                 "below");
    EXPECT_STREQ(found_as([](Backend& b) {
                     b.low_rank_outer = [](const kernels::PackedLeft*, std::size_t m, std::size_t,
                                           unsigned, const std::int64_t*, const std::int64_t*,
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
                     b.sample = [](const std::uint8_t*, std::size_t, std::uint8_t, std::uint8_t*) {
                         return std::size_t{0};
                     };
                 }),
                 "sample");
}

}  // namespace
}  // namespace slip::testing
