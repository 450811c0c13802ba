#include "optimized/split/coarse_grid.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "optimized/base/error.hpp"

namespace slip::splitting {

double distinct_share(base::MatrixView<const float> w) {
    std::size_t distinct = 0;
    std::size_t nonzero = 0;
    std::vector<float> window;
    for (std::size_t i = 0; i < w.rows(); ++i) {
        const std::span<const float> row = w.row(i);
        for (std::size_t first = 0; first < row.size(); first += grid_window) {
            const auto entries = row.subspan(first, std::min(grid_window, row.size() - first));
            window.assign(entries.begin(), entries.end());
            std::erase(window, 0.0F);
            nonzero += window.size();
            std::sort(window.begin(), window.end());
            distinct += static_cast<std::size_t>(std::unique(window.begin(), window.end()) -
                                                 window.begin());
        }
    }
    return nonzero == 0 ? 1 : static_cast<double>(distinct) / static_cast<double>(nonzero);
}

void require_fine_grid(base::MatrixView<const float> w, const std::string& name) {  // DECO-13
    const double share = distinct_share(w);
    if (share >= least_distinct_share) return;
    throw BadInput(name + ": its weights lie on a coarse grid: of " + std::to_string(grid_window) +
                   " neighbours only " + std::to_string(std::lround(100 * share)) +
                   " % differ, and David's half would determine the hidden part; split the model "
                   "from which it was quantised, or accept this with --accept-grid "
                   "(SplitOptions::accept_grid)");
}

}  // namespace slip::splitting
