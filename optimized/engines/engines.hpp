// The three engines behind the seam (MODEL-4).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "optimized/graph/engine.hpp"
#include "optimized/protocol/charlie.hpp"
#include "optimized/split/artifact.hpp"

namespace slip {

/// The checkpoint in float32, as the baseline for accuracy. Products in a fixed order (MODEL-5).
class FloatEngine : public Engine {
public:
    /// `weights(name, elements)` gives the float values of the tensor `name` (with ".weight").
    FloatEngine(std::vector<GroupShape> groups,
                const std::function<std::vector<float>(std::string_view, std::size_t)>& weights);
    void apply(GroupId group, MatrixView<const float> input,
               std::span<const MatrixView<float>> outputs) override;

private:
    std::vector<GroupShape> groups_;
    std::vector<std::vector<std::vector<float>>> weights_;  // group, member, m x n
};

/// The integer model without a protocol: W_int whole. An oracle, never a speed baseline.
class UnsplitEngine : public Engine {
public:
    /// Throws BadInput unless both halves come from one split. Both outlive the engine.
    UnsplitEngine(const CharlieArtifact& charlie, const DavidArtifact& david);
    /// The same of a model that was never written: a group's qa_max satisfies ENC-4 and ENC-5, and
    /// `stacked` has its W_D. What the groups' row scales lie in outlives the engine.
    UnsplitEngine(std::vector<CharlieGroup> groups, const OffloadedWeights& stacked);
    void apply(GroupId group, MatrixView<const float> input,
               std::span<const MatrixView<float>> outputs) override;

private:
    std::vector<CharlieGroup> groups_;
    std::vector<std::vector<std::vector<std::int64_t>>> weights_;  // group, member, m x n
};

/// Online multiplications for one column of a message to `group`. Charlie: n to quantise, kappa (n
/// + M) to check, k (n + m) a member for A (B q), 2 M for the row and token scales; masking only
/// adds and the factor 2^t only shifts. David: n M. Of a convolution, all but the quantisation is
/// multiplied by its positions.
std::uint64_t charlie_multiplications_a_column(const CharlieGroup& group, Profile profile);
std::uint64_t david_multiplications_a_column(const CharlieGroup& group);

/// The protocol: quantise, mask, David, check, unmask, low rank, dequantise (LIN-2, LIN-4).
class HybridEngine : public Engine {
public:
    /// Both outlive the engine and are of one profile. Multiplies Charlie's low-rank part while
    /// David works. Reserves no memory for a message once a larger one was sent (MODEL-6).
    HybridEngine(const CharlieArtifact& charlie, CharlieSession& session);
    ~HybridEngine() override;
    void apply(GroupId group, MatrixView<const float> input,
               std::span<const MatrixView<float>> outputs) override;

    /// Online seconds of Charlie's own arithmetic: everything in apply() but waiting for David and
    /// making masks that were not ready. A David in this process multiplies inside apply(), so his
    /// seconds count here.
    double charlie_seconds() const;
    /// Online multiplications so far, counted by the formulas above.
    std::uint64_t charlie_multiplications() const;
    std::uint64_t david_multiplications() const;

private:
    struct State;
    template <class P>
    struct StateOf;
    std::unique_ptr<State> state_;
};

}  // namespace slip
