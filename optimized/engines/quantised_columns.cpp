#include "optimized/engines/quantised_columns.hpp"

#include "optimized/kernels/registry.hpp"
#include "slip/error.hpp"

namespace slip::engines {

void QuantisedColumns::assign(const artifact::CharlieGroup& group,
                              base::MatrixView<const float> input) {
    const auto values = room_in(values_, input.rows(), group.product().inputs());
    const auto scales = room_in(scales_, 1, input.rows()).elements();
    for (std::size_t c = 0; c < input.rows(); ++c) {
        scales[c] =
            kernels::active().quantise(input.row(c).data() + group.first_column, values.cols(),
                                       group.activation_norm, values.row(c).data());
        if (!(scales[c] > 0)) {
            throw BadInput("activation is not finite: an input of " +
                           group.members.front().shape.tensor);
        }
    }
    quantised_ = values;
}

}  // namespace slip::engines
