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

namespace {

/// A plane of several columns, taken from between the others and put back there.
void multiply_plane_of_many(const WeightMatrix& upper, const WeightMatrix& lower,
                            std::size_t planes, std::size_t p,
                            std::span<const std::uint8_t> columns, std::span<std::uint8_t> products,
                            std::span<std::uint8_t> x, std::span<std::uint8_t> y,
                            base::WorkerTeam* team) {
    const std::size_t n = upper.cols(), above = upper.rows(), below = lower.rows();
    const std::size_t count = x.size() / n;
    for (std::size_t c = 0; c < count; ++c) {
        std::copy_n(columns.data() + (c * planes + p) * n, n, x.data() + c * n);
    }
    const auto y_upper = y.first(count * above), y_lower = y.subspan(count * above);
    upper.multiply_plane(x, y_upper, p, team);
    lower.multiply_plane(x, y_lower, p, team);
    for (std::size_t c = 0; c < count; ++c) {
        std::uint8_t* const out = products.data() + (c * planes + p) * (above + below);
        std::copy_n(y_upper.data() + c * above, above, out);
        std::copy_n(y_lower.data() + c * below, below, out + above);
    }
}

}  // namespace

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
    if (count == 1) {  // its planes and the parts of the product lie together already
        for (std::size_t p = 0; p < planes; ++p) {
            const auto x = columns.subspan(p * n, n);
            const auto y = products.subspan(p * rows, rows);
            upper.plane(p).multiply_plane(x, y.first(above), p, team);
            lower.plane(p).multiply_plane(x, y.subspan(above), p, team);
        }
        return;
    }
    std::vector<std::uint8_t> x(count * n), y(count * rows);
    for (std::size_t p = 0; p < planes; ++p) {
        multiply_plane_of_many(upper.plane(p), lower.plane(p), planes, p, columns, products, x, y,
                               team);
    }
    base::wipe(x.data(), x.size());  // of masks, if the columns are any (MASK-6)
    base::wipe(y.data(), y.size());
}

}  // namespace slip::kernels
