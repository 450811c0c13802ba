// The public matrix T of lattice masks (MASK-7, RAND-8).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "optimized/base/parameters.hpp"

namespace slip::masks {

/// T for matrices of `width` columns, row by row from a seed. Its time depends on what it expands,
/// which is public. An object is for one thread at a time.
class PublicMatrix {
public:
    using Seed = std::array<std::uint8_t, base::parameters::public_seed_bytes>;

    /// Requires: a set with lattice masks, width <= 2^32 - 1, or throws InternalError, as it does
    /// where OpenSSL has no SHAKE-128.
    PublicMatrix(const base::parameters::ParameterSet& set, const Seed& seed, std::size_t width);
    PublicMatrix(PublicMatrix&&) noexcept;
    PublicMatrix& operator=(PublicMatrix&&) noexcept;
    ~PublicMatrix();

    /// d N residues of as many bytes as the set has planes.
    std::size_t row_bytes() const;

    /// MASK-7: stores rows first, first + 1, ..., as many as `rows` takes: residue l N + a of row j
    /// is coefficient a of T[j][l], an integer in 0 .. L-1, little-endian. Throws InternalError
    /// unless they are whole rows of the `width` ones there are.
    void expand(std::size_t first, std::span<std::uint8_t> rows);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace slip::masks
