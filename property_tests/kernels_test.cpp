// Every backend against the reference: residue arithmetic, products, masks, the integrity check's
// products and the low-rank part. The quantisers' tests are in encoding_test.cpp.
#include "optimized/kernels/contracts.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/kernels/mersenne31.hpp"
#include "optimized/kernels/mersenne61.hpp"
#include "optimized/kernels/registry.hpp"
#include "property_tests/kernel_fixture.hpp"
#include "reference/linear.hpp"
#include "reference/masking.hpp"
#include "reference/randomness.hpp"
#include "reference/ring.hpp"

namespace slip::kernel_tests {
namespace {

// --- each kernel against its oracle; parameters are functions, so that mutants can be tried ------

using Unmask = decltype(kernels::ResidueKernels<P31>::unmask);
using MaskFunction = decltype(kernels::ResidueKernels<P31>::mask);
using Dot = decltype(kernels::ResidueKernels<P31>::dot);

bool mask_agrees(MaskFunction mask, const std::vector<std::int16_t>& q,
                 const std::vector<std::uint32_t>& r) {
    std::vector<std::uint32_t> masked(q.size());
    mask(q.data(), r.data(), q.size(), masked.data());
    return to_vector(masked) == reference::mask(ring<P31>(), to_vector(q), to_vector(r));
}

bool unmask_agrees(Unmask unmask, const std::vector<std::uint32_t>& y,
                   const std::vector<std::uint32_t>& cancellation) {
    std::vector<std::int32_t> out(y.size());
    unmask(y.data(), cancellation.data(), y.size(), out.data());
    return to_vector(out) == reference::unmask(ring<P31>(), to_vector(y), to_vector(cancellation));
}

bool dot_agrees(Dot dot, const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
    Integer sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += Integer(a[i]) * b[i];
    return ring<P31>().embed(sum) == dot(a.data(), b.data(), a.size());
}

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

// --- masks ---------------------------------------------------------------------------------------

/// The words that the reference's sampler accepts among `words`, in order.
reference::Vector accepted_by_reference(const std::vector<std::uint32_t>& words) {
    reference::Vector accepted;
    for (const std::uint32_t word : words) {
        reference::Bytes bytes;
        for (unsigned shift = 0; shift < 32; shift += 8) {
            bytes.push_back(static_cast<std::uint8_t>(word >> shift));
        }
        // A second word that is accepted for certain lets the sampler get past a rejected one.
        bytes.insert(bytes.end(), 4, 0);
        reference::FixedBytes source(bytes);
        const reference::Sample sample = reference::Sampler(ring<P31>()).draw(source, 1);
        if (sample.rejected.empty()) accepted.push_back(sample.residues.front());
    }
    return accepted;
}

RC_GTEST_PROP(Sampler, RAND_2_accepts_what_the_reference_accepts, (std::uint64_t seed)) {
    const auto count = *rc::gen::inRange<std::size_t>(0, 70);
    std::mt19937_64 random(seed);
    const std::uint32_t edges[] = {0, P31::p, 0xffffffff, P31::p - 1, 0x80000000, 0xfffffffe};
    std::vector<std::uint32_t> words(count);
    for (std::uint32_t& word : words) {
        word = random() % 2 == 0 ? edges[random() % 6] : static_cast<std::uint32_t>(random());
    }
    const reference::Vector expected = accepted_by_reference(words);
    for_each_backend([&](const Backend& backend) {
        std::vector<std::uint32_t> out(count);
        out.resize(backend.p31.sample(words.data(), count, out.data()));
        RC_ASSERT(to_vector(out) == expected);
        std::vector<std::uint32_t> in_place = words;
        in_place.resize(backend.p31.sample(in_place.data(), count, in_place.data()));
        RC_ASSERT(in_place == out);
    });
}

RC_GTEST_PROP(MaskKernel, MASK_1_equals_the_reference, (std::uint64_t seed)) {
    const auto n = *rc::gen::inRange<std::size_t>(0, 71);
    std::mt19937_64 random(seed);
    const auto q = activations(*rc::gen::elementOf(all_fills), n, random);
    const auto r = residues<P31>(*rc::gen::elementOf(all_fills), n, random);
    for_each_backend(
        [&](const Backend& backend) { RC_ASSERT(mask_agrees(backend.p31.mask, q, r)); });
}

RC_GTEST_PROP(MaskKernel, MASK_4_unmasking_equals_the_reference, (std::uint64_t seed)) {
    const auto m = *rc::gen::inRange<std::size_t>(0, 71);
    std::mt19937_64 random(seed);
    const auto y = residues<P31>(*rc::gen::elementOf(all_fills), m, random);
    const auto cancellation = residues<P31>(*rc::gen::elementOf(all_fills), m, random);
    for_each_backend([&](const Backend& backend) {
        RC_ASSERT(unmask_agrees(backend.p31.unmask, y, cancellation));
    });
}

TEST(MaskKernel, MASK_1_MASK_4_mutants_are_found) {
    const MaskFunction not_embedded = [](const std::int16_t* q, const std::uint32_t* mask,
                                         std::size_t n, std::uint32_t* masked) {
        for (std::size_t j = 0; j < n; ++j) masked[j] = static_cast<std::uint32_t>(q[j]) + mask[j];
    };
    const Unmask not_centred = [](const std::uint32_t* y, const std::uint32_t* cancellation,
                                  std::size_t m, std::int32_t* out) {
        for (std::size_t i = 0; i < m; ++i) {
            out[i] = static_cast<std::int32_t>((y[i] + P31::p - cancellation[i]) % P31::p);
        }
    };
    const std::vector<std::int16_t> q = {-5};
    const std::vector<std::uint32_t> r = {3};
    EXPECT_FALSE(mask_agrees(not_embedded, q, r));
    EXPECT_FALSE(unmask_agrees(not_centred, {1}, {2}));
}

// --- the integrity check's products --------------------------------------------------------------

RC_GTEST_PROP(CheckKernels, INTEG_3_dot_equals_the_reference, (std::uint64_t seed)) {
    const auto n = *rc::gen::inRange<std::size_t>(0, 300);
    std::mt19937_64 random(seed);
    const auto a = residues<P31>(*rc::gen::elementOf(all_fills), n, random);
    const auto b = residues<P31>(*rc::gen::elementOf(all_fills), n, random);
    for_each_backend([&](const Backend& backend) { RC_ASSERT(dot_agrees(backend.p31.dot, a, b)); });
}

TEST(CheckKernels, INTEG_3_dot_of_the_largest_residues_and_a_mutant) {
    const std::vector<std::uint32_t> largest(100'000, P31::p - 1);
    for_each_backend([&](const Backend& backend) {
        EXPECT_TRUE(dot_agrees(backend.p31.dot, largest, largest));
    });
    const Dot wraps = [](const std::uint32_t* a, const std::uint32_t* b, std::size_t n) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += std::uint64_t{a[i]} * b[i];
        return kernels::reduce_p31(sum);
    };
    EXPECT_FALSE(dot_agrees(wraps, largest, largest));
}

// --- Charlie's low-rank part ---------------------------------------------------------------------

void expect_low_rank_inner(const Backend& backend, std::size_t k, std::size_t n,
                           const std::vector<std::int16_t>& b, const std::vector<std::int16_t>& q) {
    std::vector<std::int64_t> z(k, -1);
    backend.low_rank_inner(b.data(), k, n, q.data(), z.data());
    EXPECT_EQ(to_vector(z), to_matrix(b, k, n) * to_vector(q)) << k << " x " << n;
}

TEST(LowRank, DECO_7_inner_product_on_every_tail_and_extreme) {
    std::mt19937_64 random(7);
    for (const Fill kind : all_fills) {
        for (const std::size_t n :
             Sizes{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 70, 511, 512, 513, 1025}) {
            for (const std::size_t k : Sizes{0, 1, 3}) {
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

/// Any A, z and y_D at all: sums wrap as the reference's do.
RC_GTEST_PROP(LowRank, DECO_7_LIN_2_output_equals_the_reference_mod_2_to_64, (std::uint64_t seed)) {
    const auto m = *rc::gen::inRange<std::size_t>(0, 20);
    const auto k = *rc::gen::inRange<std::size_t>(0, 20);
    const auto n = *rc::gen::inRange<std::size_t>(1, 40);
    std::mt19937_64 random(seed);
    constexpr std::int32_t largest = std::numeric_limits<std::int32_t>::max();
    const auto a = fill<std::int32_t>(*rc::gen::elementOf(all_fills), m * k, -largest, largest,
                                      {-largest, largest, 0, 1, -1}, random);
    const auto b = activations(*rc::gen::elementOf(all_fills), k * n, random);
    const auto q = activations(*rc::gen::elementOf(all_fills), n, random);
    constexpr std::int32_t centre = (P31::p - 1) / 2;
    const auto y_david = fill<std::int32_t>(*rc::gen::elementOf(all_fills), m, -centre, centre,
                                            {-centre, centre}, random);
    const reference::Vector expected = reference::charlies_output_64(
        to_matrix(a, m, k), to_matrix(b, k, n), to_vector(q), to_vector(y_david));
    for_each_backend([&](const Backend& backend) {
        std::vector<std::int64_t> z(k);
        std::vector<std::int64_t> y(m);
        backend.low_rank_inner(b.data(), k, n, q.data(), z.data());
        backend.p31.low_rank_outer(a.data(), m, k, z.data(), y_david.data(), y.data());
        RC_ASSERT(to_vector(y) == expected);
    });
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
    EXPECT_EQ(exit_status_with("portable"), 0);
    EXPECT_EQ(exit_status_with("abacus"), 2);
}

}  // namespace
}  // namespace slip::kernel_tests
