#include "slip/split.hpp"

#include <string>

#include "optimized/api/examine.hpp"
#include "optimized/api/model_files.hpp"
#include "optimized/artifact/plan.hpp"
#include "optimized/base/error.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/split/split_checkpoint.hpp"

namespace slip {
namespace {

using importing::Checkpoint;

/// MODEL-10: hours of work are spent on a model only if it is the one that config.json describes,
/// whole, and if its tokenizer can be read.
void require_model_of_config(const Checkpoint& checkpoint,
                             const std::vector<base::GroupShape>& groups) {
    base::Findings findings;
    api::examine_parameters(checkpoint, groups, findings);
    for (const base::Finding& finding : findings.all()) {
        if (finding.level == base::Finding::Level::error) throw BadInput(finding.text);
    }
}

}  // namespace

Plan uniform_plan(const std::filesystem::path& model, std::size_t rank,
                  std::optional<std::size_t> first_and_last) {
    return artifact::uniform_plan(api::groups_in(Checkpoint(model)), rank, first_and_last);
}

std::vector<std::string> split_checkpoint(const std::filesystem::path& model,
                                          const SplitOptions& options) {
    const Checkpoint checkpoint(model, options.attention);
    const auto groups = api::groups_in(checkpoint);
    require_model_of_config(checkpoint, groups);
    return splitting::split_checkpoint(checkpoint, groups, options);
}

}  // namespace slip
