// Masks, unmasking and the sampler: one pass over the residues, without a branch on any of them.
#include "optimized/kernels/leaf/portable/portable.hpp"
#include "optimized/kernels/mersenne31.hpp"
#include "optimized/kernels/mersenne61.hpp"

namespace slip::kernels::portable {

// RAND-2: e = 31, so a word is four bytes and its highest bit is dropped; only v = p is rejected.
std::size_t sample_p31(const std::uint32_t* words, std::size_t count, std::uint32_t* out) {
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t v = words[i] & P31::p;
        out[accepted] = v;  // accepted <= i: in place, the words not yet read stay as they are
        accepted += v < P31::p ? 1 : 0;
    }
    return accepted;
}

// MASK-1. embed(q) = q + (p if q < 0), RING-2; the sum of two residues is at most 2 p - 2.
void mask_p31(const std::int16_t* q, const std::uint32_t* mask, std::size_t n,
              std::uint32_t* masked) {
    for (std::size_t j = 0; j < n; ++j) {
        const std::int32_t value = q[j];
        const std::uint32_t negative = static_cast<std::uint32_t>(value) >> 31;
        const std::uint32_t embedded = static_cast<std::uint32_t>(value) + negative * P31::p;
        masked[j] = canonical_p31(embedded + mask[j]);
    }
}

// MASK-4. y + (p - c) lies in 1 .. 2 p - 1.
void unmask_p31(const std::uint32_t* y, const std::uint32_t* cancellation, std::size_t m,
                std::int32_t* out) {
    for (std::size_t i = 0; i < m; ++i) {
        out[i] = lift_p31(canonical_p31(y[i] + (P31::p - cancellation[i])));
    }
}

// RAND-2: e = 61, so a word is eight bytes and its highest three bits are dropped.
std::size_t sample_p61(const std::uint64_t* words, std::size_t count, std::uint64_t* out) {
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t v = words[i] & P61::p;
        out[accepted] = v;
        accepted += v < P61::p ? 1 : 0;
    }
    return accepted;
}

void mask_p61(const std::int16_t* q, const std::uint64_t* mask, std::size_t n,
              std::uint64_t* masked) {
    for (std::size_t j = 0; j < n; ++j) masked[j] = canonical_p61(embed_p61(q[j]) + mask[j]);
}

void unmask_p61(const std::uint64_t* y, const std::uint64_t* cancellation, std::size_t m,
                std::int64_t* out) {
    for (std::size_t i = 0; i < m; ++i) {
        out[i] = lift_p61(canonical_p61(y[i] + (P61::p - cancellation[i])));
    }
}

}  // namespace slip::kernels::portable
