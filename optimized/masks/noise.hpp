// The noise of a lattice mask, and how it vanishes (MASK-7, MASK-8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "optimized/masks/products.hpp"
#include "optimized/masks/registry.hpp"

namespace slip::masks {

/// The bytes of a stream that `count` small integers take (RAND-9), eta 1 or 2.
constexpr std::size_t noise_bytes(std::size_t count, unsigned eta) {
    return eta == 1 ? (count + 3) / 4 : (count + 1) / 2;
}

/// RAND-9, without a branch: the small integers of a stream of noise_bytes(small.size(), eta).
void decode_small(std::span<const std::uint8_t> stream, unsigned eta, std::span<std::int8_t> small);

/// The stream of eta = 2 with the same small integers as a stream of eta = 1: the other two bits of
/// each are zero. Requires noise_bytes() of one number of them in each, or throws InternalError.
void widen(std::span<const std::uint8_t> stream, std::span<std::uint8_t> wide);

/// MASK-7: adds tau e_j to residue j of a column, modulo each plane's prime, in place; e are the
/// small integers of `stream` (RAND-9, eta = 2). Requires a column of `planes` planes, canonical,
/// and noise_bytes() of its residues in `stream`, or throws InternalError. The result is canonical.
void add_noise(std::span<const std::uint8_t> stream, const Tau& tau, std::size_t planes,
               std::span<std::uint8_t> column, const Backend& backend = active());

/// MASK-8, where tau = 2^tau_bits: every Y becomes its residue modulo tau in -tau/2 .. tau/2 - 1,
/// in place.
void reduce_modulo_tau(std::span<std::int64_t> products, unsigned tau_bits);

}  // namespace slip::masks
