// The public matrices: T of lattice masks (MASK-7) and U of the hidden split (HIDE-3), by RAND-8.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "optimized/base/parameters.hpp"
#include "optimized/masks/registry.hpp"

namespace slip::masks {

/// T or U for matrices of `width` columns, row by row from a seed. Its time depends on what it
/// expands, which is public. An object is for one thread at a time.
class PublicMatrix {
public:
    using Seed = std::array<std::uint8_t, base::parameters::public_seed_bytes>;
    enum class Kind : std::uint8_t {
        masks = base::parameters::public_masks_purpose,     // T: width rows of d N residues
        weights = base::parameters::public_weights_purpose  // U: d N rows of width residues
    };

    /// Requires: a set with lattice masks, width <= 2^32 - 1, or throws InternalError.
    PublicMatrix(const base::parameters::ParameterSet& set, const Seed& seed, std::size_t width,
                 Kind kind = Kind::masks, const Backend& backend = active());
    PublicMatrix(PublicMatrix&&) noexcept;
    PublicMatrix& operator=(PublicMatrix&&) noexcept;
    ~PublicMatrix();

    std::size_t rows() const;
    /// Residues of as many bytes as the set has planes.
    std::size_t row_bytes() const;

    /// Stores rows first, first + 1, ..., as many as `rows` takes, of integers in 0 .. L-1,
    /// little-endian. Residue l N + a of row j of T is coefficient a of T[j][l]. Throws
    /// InternalError unless they are whole rows of those there are.
    void expand(std::size_t first, std::span<std::uint8_t> rows);

    /// Row `index` as residues: plane p of entry i is byte p * (row_bytes() / planes) + i. Throws
    /// InternalError unless there is such a row and `residues` is row_bytes() long.
    void expand_planes(std::size_t index, std::span<std::uint8_t> residues);

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// HIDE-1: U of a width, for each plane the representatives of least magnitude modulo its prime:
/// planes x d N x width. Requires: a set with the hidden split.
std::vector<std::int8_t> public_rows_by_plane(const base::parameters::ParameterSet& set,
                                              const PublicMatrix::Seed& seed, std::size_t width);

}  // namespace slip::masks
