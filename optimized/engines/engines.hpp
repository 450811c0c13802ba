// The engines without a protocol, behind the seam of MODEL-4. The one with it: hybrid_engine.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/base/engine.hpp"
#include "optimized/kernels/group_weights.hpp"

namespace slip::engines {

/// The checkpoint in float32, as the baseline for accuracy. Products in a fixed order (MODEL-5).
class FloatEngine : public base::Engine {
public:
    /// `weights(name, elements)` gives the float values of the tensor `name` (with ".weight").
    FloatEngine(std::vector<base::GroupShape> groups,
                const std::function<std::vector<float>(std::string_view, std::size_t)>& weights);
    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override;

private:
    std::vector<base::GroupShape> groups_;
    std::vector<std::vector<std::vector<float>>> weights_;  // group, member, m x n
};

/// The integer model without a protocol: W_int whole. An oracle, never a speed baseline.
class UnsplitEngine : public base::Engine {
public:
    /// Throws BadInput unless both halves come from one split. Both outlive the engine.
    UnsplitEngine(const artifact::CharlieArtifact& charlie, const artifact::DavidArtifact& david);
    /// The same of a model that was never written: a group's activation norm satisfies ENC-4 and
    /// ENC-5, and `stacked` has its W_D. What the groups' row scales lie in outlives the engine.
    UnsplitEngine(std::vector<artifact::CharlieGroup> groups,
                  const kernels::OffloadedWeights& stacked);
    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override;

private:
    std::vector<artifact::CharlieGroup> groups_;
    std::vector<std::vector<std::vector<std::int64_t>>> weights_;  // group, member, m x n
};

/// HIDE-8: the integer model of a hidden split without a protocol, W' whole.
class HiddenModelEngine : public base::Engine {
public:
    /// Both outlive the engine.
    HiddenModelEngine(const artifact::CharlieArtifact& charlie,
                      const artifact::AuditArtifact& audit);
    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override;

private:
    void apply_part(base::GroupId part, base::MatrixView<const float> input,
                    std::span<const base::MatrixView<float>> outputs);

    const std::vector<artifact::CharlieGroup>& groups_;
    const std::vector<base::GroupId> first_parts_;  // of the graph's groups, and the end
    const artifact::AuditArtifact& audit_;
};

}  // namespace slip::engines
