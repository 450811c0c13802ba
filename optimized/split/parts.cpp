#include "optimized/split/parts.hpp"

#include "optimized/base/error.hpp"

namespace slip::splitting {

using base::GroupShape;

std::size_t weights_in(const GroupShape& group) { return group.product().rows * group.n; }

GroupRange range_of(const std::vector<GroupShape>& groups, const std::optional<SplitPart>& part) {
    if (!part) return {0, groups.size()};
    std::size_t all = 0;
    for (const GroupShape& group : groups) all += weights_in(group);
    const auto end_of = [&](std::size_t number) {
        std::size_t g = 0, before = 0;
        while (g < groups.size() &&
               (2 * before + weights_in(groups[g])) * part->count < 2 * all * number) {
            before += weights_in(groups[g]);
            ++g;
        }
        return g;
    };
    return {end_of(part->number - 1), end_of(part->number)};
}

void require_part(const std::vector<GroupShape>& groups, const std::optional<SplitPart>& part) {
    if (!part || (part->number >= 1 && part->number <= part->count && part->count <= groups.size()))
        return;
    throw BadInput("part " + std::to_string(part->number) + " of " + std::to_string(part->count) +
                   ": expected a number from 1 to the number of parts, and at most as many parts "
                   "as the model has groups of matrices, " +
                   std::to_string(groups.size()) + " (SplitOptions::part)");
}

std::vector<std::string> unfinished_parts(const std::vector<GroupShape>& groups,
                                          const PartialSplit& partial) {
    std::vector<std::string> found;
    const std::size_t count = partial.parts();
    for (std::size_t number = 1; count > 1 && number <= count; ++number) {
        const GroupRange range = range_of(groups, SplitPart{number, count});
        std::size_t matrices = 0, missing = 0;
        for (std::size_t g = range.first; g < range.end; ++g) {
            matrices += groups[g].members.size();
            if (!partial.finished()[g]) missing += groups[g].members.size();
        }
        if (missing == 0) continue;
        found.push_back("part " + std::to_string(number) + " of " + std::to_string(count) +
                        " was not finished; " + std::to_string(missing) + " of its " +
                        std::to_string(matrices) + " matrices were made now");
    }
    return found;
}

}  // namespace slip::splitting
