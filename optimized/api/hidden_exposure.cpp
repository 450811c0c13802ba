#include <algorithm>
#include <cstdint>
#include <string>

#include "optimized/api/exposure.hpp"
#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/engines/hybrid_engine.hpp"

namespace slip::api {
namespace {

using artifact::CharlieGroup;

GroupExposure exposure_of(const CharlieGroup& group, const base::parameters::ParameterSet& set) {
    GroupExposure exposure;
    for (const artifact::CharlieMember& member : group.members) {
        exposure.tensors.push_back(member.shape.tensor);
    }
    exposure.shape = group.product();
    exposure.first_column = group.first_column;
    exposure.norm = group.activation_norm;
    const std::uint64_t rows = exposure.shape.rows, weights = rows * group.n;
    exposure.davids_bytes = set.planes * weights;
    exposure.hint_bytes = 1;
    for (const std::size_t extent : artifact::layout::hint_shape(set, rows)) {
        exposure.hint_bytes *= extent;
    }
    const auto ell = static_cast<double>(set.public_rows());
    exposure.davids_factor =
        static_cast<double>(set.planes) * (1 + ell / static_cast<double>(rows));
    exposure.pays = rows >= set.public_rows();
    return exposure;
}

}  // namespace

HiddenExposure hidden_exposure_of(const SplitFiles& files) {
    const artifact::CharlieArtifact& charlie = files.charlie();
    const base::parameters::ParameterSet& set = charlie.set();
    HiddenExposure exposure;
    exposure.set = set.name;
    exposure.attention = charlie.config().attention;
    for (std::size_t g = 0; g < charlie.groups().size(); ++g) {
        const CharlieGroup& group = charlie.groups()[g];
        exposure.groups.push_back(exposure_of(group, set));
        exposure.costs.add(
            {.charlie_multiplications = engines::charlie_multiplications_per_column(group, set),
             .david_multiplications = charlie.davids_product(g).multiplications()});
    }
    const auto small =
        std::ranges::count_if(exposure.groups, [](const auto& group) { return !group.pays; });
    if (small > 0) {
        exposure.warnings.push_back(
            std::to_string(small) + " of " + std::to_string(exposure.groups.size()) +
            " groups have fewer than the " + std::to_string(set.public_rows()) +
            " rows that hiding adds: there it costs more than it offloads");
    }
    exposure.warnings.emplace_back(
        "logits, shapes and the schedule of messages tell of the model whatever David holds: show "
        "users text");
    return exposure;
}

}  // namespace slip::api
