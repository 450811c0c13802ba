// What every engine checks of a call before it multiplies.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/matrix_view.hpp"

namespace slip::engines {

/// HIDE-7: the number of the first part of each group of the graph, and that of groups at the end.
inline std::vector<base::GroupId> first_parts_of(
    const std::vector<artifact::CharlieGroup>& groups) {
    std::vector<base::GroupId> firsts;
    for (base::GroupId g = 0; g < groups.size(); ++g) {
        if (groups[g].first_column == 0) firsts.push_back(g);
    }
    firsts.push_back(static_cast<base::GroupId>(groups.size()));
    return firsts;
}

/// What a column of the input of a group, or of a part's whole group, has.
inline std::size_t inputs_of(const artifact::CharlieGroup& group) {
    return group.convolution ? group.product().inputs() : group.columns();
}

/// Throws InternalError unless `input` is b x n and `outputs` are as many as the group's members
/// with b rows each and, for member i, m_of(i) columns.
template <class RowsOfMember>
void require_group_shapes(std::size_t n, std::size_t members, const RowsOfMember& m_of,
                          base::MatrixView<const float> input,
                          std::span<const base::MatrixView<float>> outputs) {
    base::require(input.cols() == n, "Engine::apply: the input has another width than the group");
    base::require(outputs.size() == members,
                  "Engine::apply: expected one output per member of the group");
    for (std::size_t i = 0; i < members; ++i) {
        base::require(outputs[i].rows() == input.rows() && outputs[i].cols() == m_of(i),
                      "Engine::apply: an output has another shape than its member");
    }
}

}  // namespace slip::engines
