// Products of stored rows of ring elements with the secrets of blocks: masks without their noise,
// and cancellations (MASK-7).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/masks/block_secret.hpp"
#include "optimized/masks/registry.hpp"

namespace slip::masks {

/// tau mod the prime of each plane.
using Tau = std::array<std::uint8_t, most_planes>;
constexpr Tau residues_of(std::uint64_t tau) {
    Tau residues{};
    for (std::size_t p = 0; p < most_planes; ++p) {
        residues[p] = static_cast<std::uint8_t>(tau % base::parameters::primes[p]);
    }
    return residues;
}

/// Bytes of a row of `elements` elements. `rounded`: of Coding::rounded.
constexpr std::size_t row_bytes(std::size_t planes, std::size_t elements, bool rounded) {
    return elements * (rounded ? points * rounded_pair_bytes : degree * planes);
}

/// Some of the rows of T, or of tau^-1 H mod L, whole.
struct StoredRows {
    std::span<const std::uint8_t> bytes;
    std::size_t first = 0;  // index of the first of them
    std::size_t total = 0;  // n of T, M of H: the residues of a column
};

/// A block that rows are multiplied with.
struct Block {
    const BlockSecret* secret = nullptr;
    /// Column i, of planes * total bytes, is what mask i of the block gets: `degree` columns.
    std::span<const std::span<std::uint8_t>> columns;
};

/// Multiplies. An object is for one thread at a time; what it has computed is wiped with it.
class RingProducts {
public:
    /// For rows of `elements` ring elements modulo L of `planes` planes, and up to `blocks` blocks
    /// per pass, which share the transforms of the rows. Requires: least_planes <= planes <=
    /// most_planes, 1 <= elements <= most_elements, 1 <= blocks <= most_blocks, or throws
    /// InternalError.
    RingProducts(std::size_t planes, std::size_t elements, std::size_t blocks,
                 const Backend& backend = active());

    /// For rows of residues, each j: residue j of column i of a block becomes coefficient i of the
    /// product of the row with the block's secret, sum_l T[j][l] S[l] mod L, in all planes. Exact,
    /// whatever the row. Nothing else of a column is written, so threads may share columns, with
    /// rows of their own. Throws InternalError where sizes do not fit.
    void exact(const StoredRows& rows, std::span<const Block> blocks);

    /// The same times tau: for rows of tau^-1 H a cancellation. With five planes and up to
    /// most_elements_centred elements it is off by tau times an integer of at most largest_error in
    /// magnitude, which MASK-8 allows (Delta = 64); otherwise it is exact.
    void approximate(const StoredRows& rows, const Tau& tau, std::span<const Block> blocks);

    /// The same times tau and 16, for rows that hold 1/16 of tau^-1 H, rounded: off by tau times an
    /// integer of at most 16 largest_rounded_error, beyond what was rounded (HIDE-4). Throws
    /// InternalError for more than most_elements_rounded elements, and secrets of magnitude 2.
    void rounded(const StoredRows& rows, const Tau& tau, std::span<const Block> blocks);

private:
    void multiply(const StoredRows& rows, std::span<const Block> blocks, Coding coding,
                  const Tau& factor);

    const Backend* backend_;
    std::size_t planes_, elements_, blocks_;
    base::SecretBuffer<std::byte> workspace_;
};

}  // namespace slip::masks
