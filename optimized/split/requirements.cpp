#include "optimized/split/requirements.hpp"

#include <filesystem>
#include <string>

#include "optimized/artifact/layout.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"

namespace slip::splitting {

namespace layout = artifact::layout;
namespace parameters = base::parameters;
using base::GroupShape;
using importing::Checkpoint;

void require_limits(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups) {
    const std::string model = checkpoint.folder().string() + ": ";
    if (groups.size() > parameters::largest_group_count) {
        throw BadInput(model + "has " + std::to_string(groups.size()) +
                       " groups of matrices: expected at most " +
                       std::to_string(parameters::largest_group_count));
    }
    for (const GroupShape& group : groups) {
        if (group.n > parameters::largest_extent ||
            group.product().rows > parameters::largest_extent) {
            throw BadInput(model + group.members.front().tensor +
                           ": its group has more than 2^20 rows or columns");
        }
        if (group.convolution && !base::within_limits(*group.convolution)) {
            throw BadInput(model + group.members.front().tensor +
                           ": its image, patches or output have more than 2^20 entries");
        }
    }
}

void require_accepted_grid(const Checkpoint& checkpoint, const SplitOptions& options) {
    if (checkpoint.quantised_tensor().empty() || options.accept_grid) return;
    throw BadInput(checkpoint.folder().string() + ": tensor " + checkpoint.quantised_tensor() +
                   ": its weights lie on a grid of 8 bits (Q8_0), and nobody has measured what "
                   "David's half then shows: expected F32, F16 or BF16, or --accept-grid "
                   "(SplitOptions::accept_grid)");
}

void require_hideable(const Checkpoint& checkpoint, const SplitOptions& options) {
    const std::string set = "set " + options.set + ": ";
    if (checkpoint.network() != nullptr) {
        throw BadInput(checkpoint.folder().string() + ": " + set +
                       "a convolution cannot be hidden: expected a language model, a plan or a "
                       "rank, or another set (" +
                       layout::names_of_sets() + ")");
    }
    if (!options.plan.empty() || options.strategy != Strategy::lsc || options.seed ||
        options.accept_grid) {
        throw BadInput(set +
                       "all of a matrix is hidden, and nothing of it is kept apart: expected no "
                       "rank, plan or strategy, no seed of one and no accepted grid, or another "
                       "set (" +
                       layout::names_of_sets() + ")");
    }
}

void require_audit(const SplitOptions& options) {
    if (options.audit.empty()) return;
    if (!layout::require_set(options.set).hides_weights) {
        throw BadInput("set " + options.set +
                       ": both halves make up the integer model: expected no audit");
    }
    if (std::filesystem::exists(std::filesystem::symlink_status(options.audit))) {
        throw BadInput(options.audit.string() + ": exists already");
    }
}

}  // namespace slip::splitting
