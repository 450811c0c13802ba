// MODEL-4, HIDE-8: the integer model of a hidden split without a protocol.
#include <utility>

#include "optimized/engines/engines.hpp"
#include "optimized/engines/quantised_columns.hpp"
#include "optimized/engines/shapes.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::engines {
namespace {

using artifact::CharlieGroup;
using base::MatrixView;

/// W'[row] q: by Cauchy-Schwarz every partial sum is below 2^23 in magnitude.
std::int64_t row_times_vector(std::span<const std::int16_t> w, std::span<const std::int16_t> q) {
    std::int32_t sum = 0;
    for (std::size_t j = 0; j < w.size(); ++j) sum += std::int32_t{w[j]} * q[j];
    return sum;
}

}  // namespace

HiddenModelEngine::HiddenModelEngine(const artifact::CharlieArtifact& charlie,
                                     const artifact::AuditArtifact& audit)
    : groups_(charlie.groups()), first_parts_(first_parts_of(groups_)), audit_(audit) {}

void HiddenModelEngine::apply(base::GroupId group, MatrixView<const float> input,
                              std::span<const MatrixView<float>> outputs) {
    base::require(group + 1 < first_parts_.size(), "HiddenModelEngine::apply: no such group");
    const CharlieGroup& own = groups_[first_parts_[group]];
    require_group_shapes(
        inputs_of(own), own.members.size(), [&](std::size_t i) { return own.members[i].shape.m; },
        input, outputs);
    for (base::GroupId part = first_parts_[group]; part < first_parts_[group + 1]; ++part) {
        apply_part(part, input, outputs);
    }
}

void HiddenModelEngine::apply_part(base::GroupId part, MatrixView<const float> input,
                                   std::span<const MatrixView<float>> outputs) {
    const CharlieGroup& own = groups_[part];
    const MatrixView<const std::int16_t> w = audit_.model(part);
    QuantisedColumns quantised;
    quantised.assign(own, input);
    std::vector<std::int64_t> y;
    std::vector<float> values;
    for (std::size_t c = 0; c < input.rows(); ++c) {
        std::size_t row = 0;
        for (std::size_t i = 0; i < own.members.size(); ++i) {
            const artifact::CharlieMember& member = own.members[i];
            y.resize(member.shape.m);
            values.resize(member.shape.m);
            for (std::int64_t& product : y) {
                product = row_times_vector(w.row(row++), quantised.values().row(c));
            }
            kernels::active().dequantise(y.data(), member.row_scale.data(), quantised.scale(c),
                                         y.size(), values.data());
            const auto output = outputs[i].row(c);
            for (std::size_t j = 0; j < values.size(); ++j) {
                output[j] = own.first_column == 0 ? values[j] : output[j] + values[j];
            }
        }
    }
}

}  // namespace slip::engines
