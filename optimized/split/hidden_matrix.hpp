// Hiding a matrix (HIDE-1 to HIDE-4, HIDE-8): the owner's work, some rows at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "optimized/base/model_shape.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/planar_matrix.hpp"
#include "optimized/masks/contracts.hpp"
#include "optimized/masks/public_matrix.hpp"
#include "optimized/split/hint.hpp"

namespace slip::splitting {

/// HIDE-8: the integer model of a group, the rows of its members stacked.
struct HiddenModel {
    std::size_t n = 0;
    std::vector<std::int16_t> entries;  // W', row-major
    std::vector<float> row_scale;

    std::size_t rows() const { return row_scale.size(); }
    base::MatrixView<const std::int16_t> view() const { return {entries.data(), rows(), n}; }
    /// Quantises rows of n elements, which are finite, and appends them.
    void append(base::MatrixView<const float> weights);
};

/// HIDE-3: the key of V and E.
base::SecretBuffer<std::uint8_t> hiding_key(const base::parameters::ParameterSet& set,
                                            std::span<const std::uint8_t> secret,
                                            const masks::PublicMatrix::Seed& seed,
                                            std::uint32_t group, const HiddenModel& model);

/// U and tau^-1 T of one width, as the rows of hidden matrices meet them.
class PublicOfWidth {
public:
    /// Requires: a set with the hidden split.
    PublicOfWidth(const base::parameters::ParameterSet& set, const masks::PublicMatrix::Seed& seed,
                  std::size_t width);

    const base::parameters::ParameterSet& set() const { return columns_.set(); }
    std::size_t width() const { return columns_.width(); }
    const PublicColumns& columns() const { return columns_; }  // of tau^-1 T
    /// Column j of U: ell representatives of least magnitude.
    std::span<const std::int64_t> column(std::size_t j) const {
        return std::span(u_).subspan(j * ell_, ell_);
    }
    /// U modulo the prime of plane p, least magnitudes: ell x width.
    base::MatrixView<const std::int8_t> plane(std::size_t p) const {
        return {planes_.data() + p * ell_ * width(), ell_, width()};
    }

private:
    PublicColumns columns_;
    std::size_t ell_;
    std::vector<std::int64_t> u_;      // U^T: width x ell
    std::vector<std::int8_t> planes_;  // planes x ell x width
};

/// Rows that are hidden at a time: whole rows of V.
inline constexpr std::size_t hidden_rows_at_once = 4 * masks::degree;

/// Some rows of a hidden matrix as the files have them.
struct HiddenRows {
    std::size_t first = 0, count = 0;
    std::vector<std::int8_t> davids;  // A: planes x count x n, least magnitudes modulo each prime
    base::SecretBuffer<std::uint8_t> hint;  // MODEL-7
};

/// What a matrix has as a whole.
struct HiddenCompanions {
    base::SecretBuffer<std::uint8_t> check;     // w W_t (INTEG-2): kappa x planes x n
    base::SecretBuffer<std::uint64_t> product;  // z W' (MASK-10): n
};

/// Hides a matrix under the key of hiding_key(). Calls use(rows) for some rows after the other, so
/// that memory is bounded.
HiddenCompanions hide(const PublicOfWidth& common, const HiddenModel& model,
                      std::span<const std::uint8_t> key, std::span<const std::uint8_t> check_seed,
                      std::size_t threads, const std::function<void(const HiddenRows&)>& use);

/// Bytes that hiding a group takes at most, about: its integer model with a matrix in float32, the
/// public matrices of its width, and the rows that are hidden at a time.
std::size_t memory_to_hide(const base::parameters::ParameterSet& set,
                           const base::GroupShape& group);

/// Products of bytes per second that hints are computed with on this machine: measured, for some
/// tenths of a second.
double measured_products_per_second(const base::parameters::ParameterSet& set, std::size_t threads);

/// The same w W_t of a matrix that is hidden already: `davids` are the planes of A.
base::SecretBuffer<std::uint8_t> hidden_companion(const PublicOfWidth& common,
                                                  const kernels::PlanarMatrix& davids,
                                                  std::span<const std::uint8_t> check_seed);

}  // namespace slip::splitting
