#include "slip/split.hpp"

#include <string>

#include "optimized/api/examine.hpp"
#include "optimized/api/model_files.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/plan.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/split/split_checkpoint.hpp"

namespace slip {

Plan uniform_plan(const std::filesystem::path& model, std::size_t rank,
                  std::optional<std::size_t> first_and_last) {
    return artifact::uniform_plan(api::groups_in(importing::Checkpoint(model)), rank,
                                  first_and_last);
}

namespace {

/// Without a plan the paper's split would leave David every matrix whole.
void require_plan_of_papers_split(const SplitOptions& options) {
    if (options.set.empty() || !options.plan.empty()) return;
    if (artifact::layout::require_set(options.set).hides_weights) return;
    throw BadInput("set " + options.set +
                   ": expected a plan that says what Charlie keeps (uniform_plan() makes one)");
}

}  // namespace

std::vector<std::string> split_checkpoint(const std::filesystem::path& model,
                                          const SplitOptions& options) {
    require_plan_of_papers_split(options);
    importing::Checkpoint checkpoint(model, options.attention);
    if (artifact::names_parts_of_c_attn(options.plan)) checkpoint.separate_query_key_value();
    const auto groups = api::groups_in(checkpoint);
    api::require_model_of_config(checkpoint, groups);
    SplitOptions chosen = options;
    chosen.threads = base::threads_or_all(options.threads);
    return splitting::split_checkpoint(checkpoint, groups, chosen);
}

}  // namespace slip
