#include "programs/slip/support/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace slip::tool {
namespace {

/// Insertions, deletions, replacements and exchanges of neighbours that lead from one to the other.
std::size_t distance(const std::string& from, const std::string& to) {
    std::vector<std::vector<std::size_t>> edits(from.size() + 1,
                                                std::vector<std::size_t>(to.size() + 1));
    for (std::size_t i = 0; i <= from.size(); ++i) edits[i][0] = i;
    for (std::size_t j = 0; j <= to.size(); ++j) edits[0][j] = j;
    for (std::size_t i = 1; i <= from.size(); ++i) {
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const std::size_t replaced = edits[i - 1][j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
            edits[i][j] = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1, replaced});
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
                edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
            }
        }
    }
    return edits[from.size()][to.size()];
}

}  // namespace

std::string did_you_mean(const std::string& name, std::span<const std::string> known,
                         const std::string& before) {
    constexpr std::size_t longest = 64;  // what is longer is no name, and would cost its square
    if (name.empty() || name.size() > longest) return "";
    const auto say = [&](const std::string& meant) {
        return "; did you mean " + before + meant + "?";
    };
    const auto begins = [&](const std::string& each) { return each.starts_with(name); };
    if (std::ranges::count_if(known, begins) == 1) return say(*std::ranges::find_if(known, begins));
    const auto away = [&](const std::string& each) { return distance(name, each); };
    const auto nearest = std::ranges::min_element(known, {}, away);
    if (nearest == known.end() || 3 * away(*nearest) > std::max<std::size_t>(name.size(), 3)) {
        return "";
    }
    return say(*nearest);
}

}  // namespace slip::tool
