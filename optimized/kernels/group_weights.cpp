#include "optimized/kernels/group_weights.hpp"

#include <algorithm>

#include "optimized/base/error.hpp"
#include "optimized/base/secret_buffer.hpp"

namespace slip::kernels {

using base::require;
using base::WorkerTeam;

GroupWeights::GroupWeights(base::MatrixView<const std::int8_t> w,
                           const base::Convolution& convolution)
    : WeightMatrix(w), shape_{w.rows(), w.cols(), convolution} {
    require(base::within_limits(convolution), "GroupWeights: the sizes of a convolution");
    require(w.rows() == convolution.N && w.cols() == convolution.patch(),
            "GroupWeights: a kernel matrix is N x (kH kW C)");
}

GroupWeights::GroupWeights(PlanarMatrix hidden, PlanarMatrix public_rows)
    : shape_{hidden.rows() + public_rows.rows(), hidden.cols()},
      hidden_(std::move(hidden)),
      public_rows_(std::move(public_rows)) {
    require(hidden_.planes() > 0 && hidden_.planes() == public_rows_.planes() &&
                hidden_.cols() == public_rows_.cols(),
            "GroupWeights: A and U do not fit");
}

void GroupWeights::multiply_on(std::unique_ptr<const DeviceMatrix> device) {
    if (hidden_.planes() == 0) return WeightMatrix::multiply_on(std::move(device));
    device_ = std::move(device);
}

void GroupWeights::prepare() const {
    if (hidden_.planes() == 0) return WeightMatrix::prepare();
    if (device_ != nullptr) return;
    hidden_.prepare();
    public_rows_.prepare();
}

void GroupWeights::apply(std::span<const std::uint8_t> columns, std::span<std::uint8_t> out,
                         std::size_t planes, WorkerTeam* team) const {
    const std::size_t inputs = planes * shape_.inputs();
    require(inputs > 0 && columns.size() % inputs == 0, "GroupWeights::apply: whole columns");
    require(out.size() == columns.size() / inputs * planes * shape_.outputs(),
            "GroupWeights::apply: the result");
    if (hidden_.planes() > 0) {
        require(planes == hidden_.planes(), "GroupWeights::apply: another set's planes");
        if (device_ == nullptr) return multiply_stacked(hidden_, public_rows_, columns, out, team);
        if (!columns.empty()) device_->multiply(columns, out, planes, team);
        return;
    }
    if (!shape_.convolution) return multiply(columns, out, planes, team);
    const std::size_t positions = shape_.positions();
    base::for_each_multiplied(shape_, columns, planes, [&](auto patches, std::size_t first) {
        const std::size_t count = patches.size() / (planes * cols());
        // Of a mask they are cancellations, as secret as it is.
        base::SecretBuffer<std::uint8_t> products(count * planes * rows());
        multiply(patches, products.span(), planes, team);
        for (std::size_t i = 0; i < count * planes; ++i) {
            const std::size_t at = first + i / planes;
            const std::size_t image = at / positions * planes + i % planes;
            std::copy_n(products.data() + i * rows(), rows(),
                        out.data() + (image * positions + at % positions) * rows());
        }
    });
}

}  // namespace slip::kernels
