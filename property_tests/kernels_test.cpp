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
#include "optimized/kernels/registry.hpp"
#include "reference/linear.hpp"
#include "reference/masking.hpp"
#include "reference/randomness.hpp"
#include "reference/ring.hpp"

namespace {

using slip::kernels::Backend;
using slip::kernels::P31;
namespace reference = slip::reference;
using reference::Integer;

const reference::Ring& ring() {
    static const reference::Ring value{Integer(P31::p)};
    return value;
}

// --- inputs --------------------------------------------------------------------------------------

/// What a matrix or a vector is filled with.
enum class Fill { zeros, one_hot, smallest, largest, extremes, random };
const std::vector<Fill> all_fills = {Fill::zeros,   Fill::one_hot,  Fill::smallest,
                                     Fill::largest, Fill::extremes, Fill::random};

using Sizes = std::initializer_list<std::size_t>;

/// `count` numbers in least .. most; `edges` are the values that Fill::extremes draws from.
template <class T>
std::vector<T> fill(Fill kind, std::size_t count, T least, T most, const std::vector<T>& edges,
                    std::mt19937_64& random) {
    std::uniform_int_distribution<std::int64_t> any(least, most);
    std::vector<T> values(count, T{0});
    if (kind == Fill::one_hot && count > 0) values[random() % count] = most;
    for (T& value : values) {
        if (kind == Fill::smallest) value = least;
        if (kind == Fill::largest) value = most;
        if (kind == Fill::extremes) value = edges[random() % edges.size()];
        if (kind == Fill::random) value = static_cast<T>(any(random));
    }
    return values;
}

std::vector<std::int8_t> weights(Fill kind, std::size_t count, std::mt19937_64& random) {
    return fill<std::int8_t>(kind, count, -127, 127, {-127, 127, -1, 0, 1}, random);
}

/// The edges include the residues whose 16-bit limbs are as large as they get.
std::vector<std::uint32_t> residues(Fill kind, std::size_t count, std::mt19937_64& random) {
    return fill<std::uint32_t>(kind, count, 0, P31::p - 1,
                               {0, 1, P31::p - 1, (P31::p - 1) / 2, (P31::p + 1) / 2, 32767, 32768,
                                P31::p - 32768, (1u << 30) - 32768, P31::p - (1u << 30) + 1},
                               random);
}

std::vector<std::int16_t> activations(Fill kind, std::size_t count, std::mt19937_64& random) {
    return fill<std::int16_t>(kind, count, -32767, 32767, {-32767, 32767, -128, 127, 128, 0},
                              random);
}

template <class T>
reference::Matrix to_matrix(const std::vector<T>& values, std::size_t rows, std::size_t cols) {
    reference::Matrix result(rows, cols);
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < cols; ++j) result(i, j) = values[i * cols + j];
    }
    return result;
}

template <class T>
reference::Vector to_vector(const std::vector<T>& values) {
    return {values.begin(), values.end()};
}

// --- each kernel against its oracle; parameters are functions, so that mutants can be tried ------

using Gemm = decltype(slip::kernels::ResidueKernels<P31>::gemm);
using Unmask = decltype(slip::kernels::ResidueKernels<P31>::unmask);
using MaskFunction = decltype(slip::kernels::ResidueKernels<P31>::mask);
using Dot = decltype(slip::kernels::ResidueKernels<P31>::dot);

bool gemm_agrees(Gemm gemm, std::size_t m, std::size_t n, std::size_t b,
                 const std::vector<std::int8_t>& w, const std::vector<std::uint32_t>& x) {
    constexpr std::uint32_t untouched = 0xfeedbeef;
    std::vector<std::uint32_t> y(b * m + 1, untouched);
    gemm(w.data(), m, n, x.data(), b, y.data());
    // A message carries b columns, one after the other (CONV-1).
    const reference::Matrix columns = to_matrix(x, b, n).transpose();
    const reference::Matrix expected =
        reference::davids_product(ring(), to_matrix(w, m, n), columns);
    bool same = y.back() == untouched;
    for (std::size_t c = 0; c < b; ++c) {
        for (std::size_t i = 0; i < m; ++i) same = same && expected(i, c) == y[c * m + i];
    }
    return same;
}

bool mask_agrees(MaskFunction mask, const std::vector<std::int16_t>& q,
                 const std::vector<std::uint32_t>& r) {
    std::vector<std::uint32_t> masked(q.size());
    mask(q.data(), r.data(), q.size(), masked.data());
    return to_vector(masked) == reference::mask(ring(), to_vector(q), to_vector(r));
}

bool unmask_agrees(Unmask unmask, const std::vector<std::uint32_t>& y,
                   const std::vector<std::uint32_t>& cancellation) {
    std::vector<std::int32_t> out(y.size());
    unmask(y.data(), cancellation.data(), y.size(), out.data());
    return to_vector(out) == reference::unmask(ring(), to_vector(y), to_vector(cancellation));
}

bool dot_agrees(Dot dot, const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
    Integer sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += Integer(a[i]) * b[i];
    return ring().embed(sum) == dot(a.data(), b.data(), a.size());
}

/// Runs `body` for every backend that this machine has.
template <class Body>
void for_each_backend(const Body& body) {
    for (const Backend* backend : slip::kernels::available()) {
        SCOPED_TRACE(backend->name);
        body(*backend);
    }
}

// --- arithmetic modulo p -------------------------------------------------------------------------

TEST(Mersenne31, RING_1_canonical_of_a_sum_or_a_difference) {
    for (const std::uint32_t x :
         {0u, 1u, P31::p - 1, P31::p, P31::p + 1, 2 * P31::p - 2, 2 * P31::p - 1}) {
        EXPECT_EQ(ring().embed(Integer(x)), slip::kernels::canonical_p31(x)) << x;
    }
}

TEST(Mersenne31, RING_2_embed_at_the_ends_of_its_range) {
    const std::int64_t end = std::int64_t{P31::p} << 31;
    for (const std::int64_t v :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, -std::int64_t{P31::p}, end, -end,
          end - 1, 1 - end, (std::int64_t{1} << 61), -(std::int64_t{1} << 61)}) {
        EXPECT_EQ(ring().embed(Integer(v)), slip::kernels::embed_p31(v)) << v;
    }
}

TEST(Mersenne31, RING_3_lift_at_the_centre_and_the_ends) {
    for (const std::uint32_t r : {0u, 1u, (P31::p - 1) / 2, (P31::p + 1) / 2, P31::p - 1}) {
        EXPECT_EQ(ring().lift(Integer(r)), slip::kernels::lift_p31(r)) << r;
    }
}

TEST(Mersenne31, RING_4_reduction_around_every_power_of_two_and_multiple_of_p) {
    for (unsigned bit = 0; bit < 64; ++bit) {
        for (std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
            for (const std::uint64_t x : {(std::uint64_t{1} << bit) + offset,
                                          (std::uint64_t{P31::p} << (bit % 33)) + offset}) {
                EXPECT_EQ(reference::mersenne_remainder(Integer(x), 31),
                          slip::kernels::reduce_p31(x))
                    << x;
            }
        }
    }
}

RC_GTEST_PROP(Mersenne31, RING_4_reduction_of_any_64_bits, (std::uint64_t x)) {
    RC_ASSERT(reference::mersenne_remainder(Integer(x), 31) == slip::kernels::reduce_p31(x));
}

// --- products ------------------------------------------------------------------------------------

RC_GTEST_PROP(Gemm, LIN_1_CONV_1_equals_the_reference_on_any_shape, (std::uint64_t seed)) {
    const auto m = *rc::gen::inRange<std::size_t>(0, 10);
    const auto n = *rc::gen::inRange<std::size_t>(0, 71);
    const auto b = *rc::gen::inRange<std::size_t>(0, 6);
    std::mt19937_64 random(seed);
    const auto w = weights(*rc::gen::elementOf(all_fills), m * n, random);
    const auto x = residues(*rc::gen::elementOf(all_fills), b * n, random);
    for_each_backend(
        [&](const Backend& backend) { RC_ASSERT(gemm_agrees(backend.p31.gemm, m, n, b, w, x)); });
}

TEST(Gemm, LIN_1_every_tail_of_rows_columns_and_width) {
    std::mt19937_64 random(1);
    for (std::size_t n = 0; n <= 70; ++n) {
        const std::size_t m = 1 + n % 7;
        for (std::size_t b = 1; b <= 3; ++b) {
            const auto w = weights(Fill::random, m * n, random);
            const auto x = residues(Fill::random, b * n, random);
            for_each_backend([&](const Backend& backend) {
                EXPECT_TRUE(gemm_agrees(backend.p31.gemm, m, n, b, w, x))
                    << m << " x " << n << ", b = " << b;
            });
        }
    }
}

/// Widths around what a 32-bit sum holds and around what lies on the stack, with limbs and weights
/// as large as they get and all of one sign: nothing may overflow.
TEST(Gemm, LIN_1_longest_sums_of_the_largest_limbs) {
    constexpr std::uint32_t low_limb_smallest = P31::p - 32768;       // lift -2^15
    constexpr std::uint32_t both_limbs_extreme = (1u << 30) - 32768;  // 2^14 2^16 - 2^15
    std::mt19937_64 random(2);
    for (const std::size_t n : Sizes{511, 512, 513, 1024, 1025, 8191, 8192, 8193}) {
        for (const std::uint32_t residue :
             {low_limb_smallest, both_limbs_extreme, P31::p - both_limbs_extreme, P31::p - 1}) {
            for (const std::int8_t weight : {std::int8_t{127}, std::int8_t{-127}}) {
                const std::vector<std::int8_t> w(n, weight);
                const std::vector<std::uint32_t> x(n, residue);
                for_each_backend([&](const Backend& backend) {
                    EXPECT_TRUE(gemm_agrees(backend.p31.gemm, 1, n, 1, w, x))
                        << n << " " << residue;
                });
            }
        }
        const auto w = weights(Fill::extremes, 5 * n, random);
        const auto x = residues(Fill::extremes, 3 * n, random);
        for_each_backend([&](const Backend& backend) {
            EXPECT_TRUE(gemm_agrees(backend.p31.gemm, 5, n, 3, w, x)) << n;
        });
    }
}

TEST(Gemm, LIN_1_needs_no_alignment_beyond_the_types) {
    std::mt19937_64 random(3);
    constexpr std::size_t m = 5, n = 37, b = 3;
    for (std::size_t shift = 0; shift < 17; ++shift) {
        const auto w = weights(Fill::random, m * n + shift, random);
        const auto x = residues(Fill::random, b * n + shift, random);
        const std::vector<std::int8_t> w_part(w.begin() + static_cast<std::ptrdiff_t>(shift),
                                              w.end());
        const std::vector<std::uint32_t> x_part(x.begin() + static_cast<std::ptrdiff_t>(shift),
                                                x.end());
        for_each_backend([&](const Backend& backend) {
            std::vector<std::uint32_t> shifted(b * m + shift), aligned(b * m);
            backend.p31.gemm(w.data() + shift, m, n, x.data() + shift, b, shifted.data() + shift);
            backend.p31.gemm(w_part.data(), m, n, x_part.data(), b, aligned.data());
            shifted.erase(shifted.begin(), shifted.begin() + static_cast<std::ptrdiff_t>(shift));
            EXPECT_EQ(shifted, aligned);
            EXPECT_TRUE(gemm_agrees(backend.p31.gemm, m, n, b, w_part, x_part));
        });
    }
}

TEST(Gemm, LIN_1_mutants_are_found) {
    constexpr std::size_t m = 3, n = 9, b = 2;
    const auto product = [](const std::int8_t* w, std::size_t rows, std::size_t cols,
                            const std::uint32_t* x, std::size_t columns, std::uint32_t* y) {
        slip::kernels::available()[0]->p31.gemm(w, rows, cols, x, columns, y);
    };
    const Gemm not_canonical = [](const std::int8_t* w, std::size_t rows, std::size_t cols,
                                  const std::uint32_t* x, std::size_t columns, std::uint32_t* y) {
        slip::kernels::available()[0]->p31.gemm(w, rows, cols, x, columns, y);
        for (std::size_t i = 0; i < rows * columns; ++i) y[i] = y[i] == 0 ? P31::p : y[i];
    };
    const Gemm columns_interleaved = [](const std::int8_t* w, std::size_t rows, std::size_t cols,
                                        const std::uint32_t* x, std::size_t columns,
                                        std::uint32_t* y) {
        std::vector<std::uint32_t> right(rows * columns);
        slip::kernels::available()[0]->p31.gemm(w, rows, cols, x, columns, right.data());
        for (std::size_t c = 0; c < columns; ++c) {
            for (std::size_t i = 0; i < rows; ++i) y[i * columns + c] = right[c * rows + i];
        }
    };
    std::mt19937_64 random(4);
    const auto zeros = weights(Fill::zeros, m * n, random);
    const auto w = weights(Fill::random, m * n, random);
    const auto x = residues(Fill::random, b * n, random);
    EXPECT_TRUE(gemm_agrees(product, m, n, b, w, x));
    EXPECT_FALSE(gemm_agrees(not_canonical, m, n, b, zeros, x));
    EXPECT_FALSE(gemm_agrees(columns_interleaved, m, n, b, w, x));
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
        const reference::Sample sample = reference::Sampler(ring()).draw(source, 1);
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
    const auto r = residues(*rc::gen::elementOf(all_fills), n, random);
    for_each_backend(
        [&](const Backend& backend) { RC_ASSERT(mask_agrees(backend.p31.mask, q, r)); });
}

RC_GTEST_PROP(MaskKernel, MASK_4_unmasking_equals_the_reference, (std::uint64_t seed)) {
    const auto m = *rc::gen::inRange<std::size_t>(0, 71);
    std::mt19937_64 random(seed);
    const auto y = residues(*rc::gen::elementOf(all_fills), m, random);
    const auto cancellation = residues(*rc::gen::elementOf(all_fills), m, random);
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
    const auto a = residues(*rc::gen::elementOf(all_fills), n, random);
    const auto b = residues(*rc::gen::elementOf(all_fills), n, random);
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
        return slip::kernels::reduce_p31(sum);
    };
    EXPECT_FALSE(dot_agrees(wraps, largest, largest));
}

void expect_check_vector(const Backend& backend, std::size_t m, std::size_t n,
                         const std::vector<std::int8_t>& w, const std::vector<std::uint32_t>& rho) {
    std::vector<std::uint32_t> s(n);
    backend.p31.check_vector(w.data(), m, n, rho.data(), s.data());
    // s^T = rho^T W_D (INTEG-2).
    EXPECT_EQ(to_vector(s), ring().multiply(to_matrix(w, m, n).transpose(), to_vector(rho)))
        << m << " x " << n;
}

TEST(CheckKernels, INTEG_2_check_vector_on_every_tail) {
    std::mt19937_64 random(5);
    for (std::size_t m = 0; m <= 20; ++m) {
        for (const std::size_t n : Sizes{0, 1, 2, 7, 8, 15, 16, 17, 33, 70}) {
            const auto w = weights(Fill::random, m * n, random);
            const auto rho = residues(Fill::random, m, random);
            for_each_backend(
                [&](const Backend& backend) { expect_check_vector(backend, m, n, w, rho); });
        }
    }
}

/// Rows around what a 32-bit sum holds, columns around what lies on the stack.
TEST(CheckKernels, INTEG_2_check_vector_of_the_largest_limbs) {
    std::mt19937_64 random(6);
    for (const std::size_t m : Sizes{511, 512, 513, 1025}) {
        for (const Fill kind : {Fill::smallest, Fill::largest, Fill::extremes}) {
            const auto w = weights(kind, m * 3, random);
            const auto rho = residues(Fill::extremes, m, random);
            const std::vector<std::uint32_t> extreme(m, (1u << 30) - 32768);
            for_each_backend([&](const Backend& backend) {
                expect_check_vector(backend, m, 3, w, rho);
                expect_check_vector(backend, m, 3, w, extreme);
            });
        }
    }
    for (const std::size_t n : Sizes{1023, 1024, 1025}) {
        const auto w = weights(Fill::random, 6 * n, random);
        const auto rho = residues(Fill::random, 6, random);
        for_each_backend(
            [&](const Backend& backend) { expect_check_vector(backend, 6, n, w, rho); });
    }
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
                _exit(slip::kernels::active().name == std::string(name) ? 0 : 1);
            } catch (const slip::BadInput& error) {
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
