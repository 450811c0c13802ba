// The kernels modulo 2^61 - 1.
#include <algorithm>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/portable/portable.hpp"
#include "optimized/kernels/mersenne61.hpp"

namespace slip::kernels::portable {
namespace {

/// A sum of fewer than 2^24 products of a weight and a lifted residue, below 2^91, as a residue: a
/// multiple of p, p 2^60 > 2^91, makes it non-negative.
std::uint64_t embed_sum(Int128 sum) {
    constexpr UInt128 offset = UInt128{P61::p} << 60;
    return reduce_p61_wide(static_cast<UInt128>(sum) + offset);
}

}  // namespace

void gemm_p61(const std::int8_t* w, std::size_t m, std::size_t n, const std::uint64_t* x,
              std::size_t b, std::uint64_t* y) {
    for (std::size_t c = 0; c < b; ++c) {
        for (std::size_t i = 0; i < m; ++i) {
            Int128 sum = 0;
            for (std::size_t j = 0; j < n; ++j) {
                sum += Int128{w[i * n + j]} * lift_p61(x[c * n + j]);
            }
            y[c * m + i] = embed_sum(sum);
        }
    }
}

// RAND-2: e = 61, so a word is eight bytes and its highest three bits are dropped.
std::size_t sample_p61(const std::uint64_t* words, std::size_t count, std::uint64_t* out) {
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t v = words[i] & P61::p;
        out[accepted] = v;  // accepted <= i: in place, the words not yet read stay as they are
        accepted += v < P61::p ? 1 : 0;
    }
    return accepted;
}

void mask_p61(const std::int16_t* q, const std::uint64_t* mask, std::size_t n,
              std::uint64_t* masked) {
    for (std::size_t j = 0; j < n; ++j) masked[j] = canonical_p61(embed_p61(q[j]) + mask[j]);
}

// MASK-4. y + (p - c) lies in 1 .. 2 p - 1.
void unmask_p61(const std::uint64_t* y, const std::uint64_t* cancellation, std::size_t m,
                std::int64_t* out) {
    for (std::size_t i = 0; i < m; ++i) {
        out[i] = lift_p61(canonical_p61(y[i] + (P61::p - cancellation[i])));
    }
}

// A product of two residues is below 2^122 and 2^61 = 1 mod p: its halves of 61 bits are summed
// together, 2^33 terms below 2^62.
std::uint64_t dot_p61(const std::uint64_t* a, const std::uint64_t* b, std::size_t n) {
    UInt128 sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const UInt128 product = UInt128{a[i]} * b[i];
        sum += (product & P61::p) + (product >> 61);
    }
    return reduce_p61_wide(sum);
}

void check_vector_p61(const std::int8_t* w, std::size_t m, std::size_t n, const std::uint64_t* rho,
                      std::uint64_t* s) {
    constexpr std::size_t block = 512;  // columns whose sums lie on the stack at a time
    Int128 sums[block];
    for (std::size_t first = 0; first < n; first += block) {
        const std::size_t width = std::min(block, n - first);
        std::fill_n(sums, width, 0);
        for (std::size_t i = 0; i < m; ++i) {
            const Int128 factor = lift_p61(rho[i]);
            for (std::size_t j = 0; j < width; ++j) sums[j] += factor * w[i * n + first + j];
        }
        for (std::size_t j = 0; j < width; ++j) s[first + j] = embed_sum(sums[j]);
    }
    wipe(sums, sizeof sums);
}

}  // namespace slip::kernels::portable
