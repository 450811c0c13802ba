#include "optimized/engines/bypass_engine.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "optimized/engines/shapes.hpp"

namespace slip::engines {

using base::GroupShape;
using base::MatrixView;
using base::MemberShape;

void BypassEngine::apply(base::GroupId group, MatrixView<const float> input,
                         std::span<const MatrixView<float>> outputs) {
    base::require(group < groups_.size(), "BypassEngine::apply: no such group");
    const std::vector<MemberShape>& members = groups_[group].members;
    // The matrices of a group share an input, so they are of one block.
    if (!window_.contains(members.front().block)) return inner_.apply(group, input, outputs);
    const base::ProductShape shape = groups_[group].product();
    require_group_shapes(
        shape.inputs(), members.size(),
        [&](std::size_t i) { return shape.positions() * members[i].m; }, input, outputs);
    for (const MatrixView<float>& output : outputs) {
        std::fill_n(output.data(), output.size(), 0.0F);
    }
}

Parameters parameters_without_biases(Parameters parameters, const std::vector<GroupShape>& groups,
                                     BlockWindow window) {
    std::set<std::string, std::less<>> biases;
    for (const GroupShape& group : groups) {
        for (const MemberShape& member : group.members) {
            if (window.contains(member.block)) biases.insert(member.tensor + ".bias");
        }
    }
    return [parameters = std::move(parameters), biases = std::move(biases)](std::string_view name,
                                                                            std::size_t elements) {
        if (biases.find(name) != biases.end()) return std::vector<float>(elements, 0.0F);
        return parameters(name, elements);
    };
}

}  // namespace slip::engines
