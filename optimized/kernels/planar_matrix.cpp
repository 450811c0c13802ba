#include "optimized/kernels/planar_matrix.hpp"

#include <algorithm>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/secret_buffer.hpp"

namespace slip::kernels {

using base::require;

PlanarMatrix::PlanarMatrix(std::vector<WeightMatrix> planes) : planes_(std::move(planes)) {
    require(std::ranges::all_of(planes_,
                                [&](const WeightMatrix& plane) {
                                    return plane.rows() == rows() && plane.cols() == cols();
                                }),
            "PlanarMatrix: planes of different shapes");
}

void PlanarMatrix::prepare() const {
    for (const WeightMatrix& plane : planes_) plane.prepare();
}

void multiply_stacked(const PlanarMatrix& upper, const PlanarMatrix& lower,
                      std::span<const std::uint8_t> columns, std::span<std::uint8_t> products,
                      base::WorkerTeam* team) {
    const std::size_t planes = upper.planes(), n = upper.cols();
    const std::size_t above = upper.rows(), rows = above + lower.rows();
    require(planes > 0 && lower.planes() == planes && lower.cols() == n,
            "multiply_stacked: matrices that do not fit");
    const std::size_t count = columns.size() / (planes * n);
    require(columns.size() == count * planes * n && products.size() == count * planes * rows,
            "multiply_stacked: whole columns");
    // A plane of all columns side by side; the columns may be masks, which leave no trace (MASK-6).
    base::SecretBuffer<std::uint8_t> x(count * n), y(count * rows);
    for (std::size_t p = 0; p < planes; ++p) {
        for (std::size_t c = 0; c < count; ++c) {
            std::copy_n(columns.data() + (c * planes + p) * n, n, x.data() + c * n);
        }
        const auto y_upper = y.span().first(count * above),
                   y_lower = y.span().subspan(count * above);
        upper.plane(p).multiply_plane(x.span(), y_upper, p, team);
        lower.plane(p).multiply_plane(x.span(), y_lower, p, team);
        for (std::size_t c = 0; c < count; ++c) {
            std::uint8_t* const out = products.data() + (c * planes + p) * rows;
            std::copy_n(y_upper.data() + c * above, above, out);
            std::copy_n(y_lower.data() + c * (rows - above), rows - above, out + above);
        }
    }
}

}  // namespace slip::kernels
