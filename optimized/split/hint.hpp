// The hints of lattice masks, H = W_D T or (W' + tau E) T, which the owner computes once (MASK-7,
// HIDE-4, MODEL-7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/kernels/planar_matrix.hpp"
#include "optimized/masks/public_matrix.hpp"

namespace slip::splitting {

/// tau^-1 T mod L of one width, as columns that a product takes: entry (j, l N + a) is coefficient
/// a of tau^-1 T[j][l].
class PublicColumns {
public:
    /// Requires: a set with lattice masks.
    PublicColumns(const base::parameters::ParameterSet& set, const masks::PublicMatrix::Seed& seed,
                  std::size_t width);

    const base::parameters::ParameterSet& set() const { return set_; }
    std::size_t width() const { return width_; }
    std::size_t count() const { return count_; }  // d N
    /// Columns first, ..., first + count - 1, as WeightMatrix::multiply() takes them. Of a set
    /// without the hidden split.
    std::span<const std::uint8_t> columns(std::size_t first, std::size_t count) const {
        return std::span(residues_).subspan(first * set_.planes * width_,
                                            count * set_.planes * width_);
    }
    /// Their plane p, as WeightMatrix::multiply_plane() takes it. Of a set with the hidden split.
    std::span<const std::uint8_t> plane(std::size_t p, std::size_t first, std::size_t count) const {
        return std::span(residues_).subspan((p * count_ + first) * width_, count * width_);
    }

private:
    /// Where plane p of column t begins: planes of a column, or columns of a plane, lie together.
    std::size_t place(std::size_t t, std::size_t p) const {
        return (set_.hides_weights ? p * count_ + t : t * set_.planes + p) * width_;
    }

    const base::parameters::ParameterSet& set_;
    std::size_t width_;
    std::size_t count_;
    std::vector<std::uint8_t> residues_;
};

/// Bytes of a row of a hint.
std::size_t hint_row_bytes(const base::parameters::ParameterSet& set);

/// MODEL-7: rows of tau^-1 H mod L, those of the given rows of W_D: d N residues each,
/// little-endian integers of as many bytes as the set has planes. `hint` has room for them.
void compute_hint(const PublicColumns& columns, base::MatrixView<const std::int8_t> rows,
                  std::size_t threads, std::span<std::uint8_t> hint);

/// HIDE-4, MODEL-7: rows of tau^-1 H over 16, rounded, of rows of W' + tau E. `hint` has room for
/// hint_row_bytes() of each.
void compute_rounded_hint(const PublicColumns& columns, const kernels::PlanarMatrix& rows,
                          std::size_t threads, std::span<std::uint8_t> hint);

}  // namespace slip::splitting
