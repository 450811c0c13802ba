// The noise of a lattice mask, and how it vanishes (MASK-7, MASK-8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "optimized/masks/registry.hpp"

namespace slip::masks {

/// The bytes of a stream that `count` small integers take (RAND-9, eta = 2).
constexpr std::size_t noise_bytes(std::size_t count) { return (count + 1) / 2; }

/// MASK-7: adds tau e_j to residue j of a column, modulo each plane's prime, in place; e are the
/// small integers of `stream`, two per byte, that of the lower four bits first (RAND-9). Requires a
/// column of `planes` planes, canonical, and noise_bytes() of its residues in `stream`, or throws
/// InternalError. The result is canonical.
void add_noise(std::span<const std::uint8_t> stream, std::size_t planes,
               std::span<std::uint8_t> column, const Backend& backend = active());

/// MASK-8: every Y becomes its residue modulo tau in -tau/2 .. tau/2 - 1, in place.
void reduce_modulo_tau(std::span<std::int64_t> products);

}  // namespace slip::masks
