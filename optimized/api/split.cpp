#include "slip/split.hpp"

#include "optimized/api/model_files.hpp"
#include "optimized/artifact/plan.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/split/split_checkpoint.hpp"

namespace slip {

Plan uniform_plan(const std::filesystem::path& model, std::size_t rank,
                  std::optional<std::size_t> first_and_last) {
    return uniform_plan(groups_in(Checkpoint(model)), rank, first_and_last);
}

std::vector<std::string> split_checkpoint(const std::filesystem::path& model,
                                          const SplitOptions& options) {
    const Checkpoint checkpoint(model, options.attention);
    return split_checkpoint(checkpoint, groups_in(checkpoint), options);
}

}  // namespace slip
