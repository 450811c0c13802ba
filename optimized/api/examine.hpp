// Everything that is wrong with a model's files, before hours of work, by the same readers that the
// work itself uses: MODEL-7, MODEL-10.
#pragma once

#include <filesystem>
#include <vector>

#include "optimized/base/finding.hpp"
#include "optimized/base/model_shape.hpp"
#include "optimized/import/checkpoint.hpp"

namespace slip::api {

/// The tokenizer, and the tensors of an open checkpoint that are not offloaded: each must be there,
/// of its size, finite (DECO-5), and no other tensor beside them.
void examine_parameters(const importing::Checkpoint& checkpoint,
                        const std::vector<base::GroupShape>& groups, base::Findings& findings);

/// Throws BadInput for the first error that examine_parameters() finds: hours of work are spent on
/// a model only if it is the one that config.json describes, whole, and if its tokenizer can be
/// read.
void require_model_of_config(const importing::Checkpoint& checkpoint,
                             const std::vector<base::GroupShape>& groups);

/// The matrices that are offloaded: their shapes, and every entry (DECO-5).
void examine_matrices(const importing::Checkpoint& checkpoint,
                      const std::vector<base::GroupShape>& groups, base::Findings& findings);

/// OUT, with both halves of a split: each half, whether they belong together, the check's secret
/// with them, and who may read or change them (THREAT-2). `seal` is the file of the key that hints
/// are sealed with (MODEL-20), or empty; then sealed hints are not opened.
void examine_artifact(const std::filesystem::path& out, base::Findings& findings,
                      const std::filesystem::path& seal = {});
/// OUT/charlie alone.
void examine_charlies_half(const std::filesystem::path& folder, base::Findings& findings,
                           const std::filesystem::path& seal = {});
/// OUT/david alone.
void examine_davids_half(const std::filesystem::path& folder, base::Findings& findings);

}  // namespace slip::api
