// The three engines behind the seam (MODEL-4).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/graph/engine.hpp"
#include "optimized/protocol/charlie.hpp"

namespace slip::engines {

/// The checkpoint in float32, as the baseline for accuracy. Products in a fixed order (MODEL-5).
class FloatEngine : public graph::Engine {
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
class UnsplitEngine : public graph::Engine {
public:
    /// Throws BadInput unless both halves come from one split. Both outlive the engine.
    UnsplitEngine(const artifact::CharlieArtifact& charlie, const artifact::DavidArtifact& david);
    /// The same of a model that was never written: a group's qa_max satisfies ENC-4 and ENC-5, and
    /// `stacked` has its W_D. What the groups' row scales lie in outlives the engine.
    UnsplitEngine(std::vector<artifact::CharlieGroup> groups,
                  const kernels::OffloadedWeights& stacked);
    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override;

private:
    std::vector<artifact::CharlieGroup> groups_;
    std::vector<std::vector<std::vector<std::int64_t>>> weights_;  // group, member, m x n
};

/// Charlie's online multiplications for one column of a message to `group`: n to quantise, kappa (n
/// + M) to check, k (n + m) per member for A (B q), 2 M for the row and column scales. Masking only
/// adds and the factor 2^t only shifts. Of a convolution, all but the quantisation is multiplied by
/// its positions. David's are the product's own: ProductShape::multiplications().
std::uint64_t charlie_multiplications_per_column(const artifact::CharlieGroup& group);

/// What an engine of the protocol has done so far.
struct HybridStatistics {
    protocol::SessionStatistics session;
    /// Online seconds of Charlie's own arithmetic: everything in apply() but waiting for David and
    /// making masks that were not ready. A David in this process multiplies inside apply(), so his
    /// seconds count here.
    double charlie_seconds = 0;
    /// Online multiplications, counted by the formulas above.
    std::uint64_t charlie_multiplications = 0;
    std::uint64_t david_multiplications = 0;
};

/// The protocol: quantise, mask, David, check, unmask, low rank, dequantise (LIN-2, LIN-4).
class HybridEngine : public graph::Engine {
public:
    /// Blocks until so many masks per group are ready, at most as many as are kept.
    virtual void wait_until_ready(std::size_t masks_per_group) = 0;
    /// Rows of a batch that go to `group` in one message; a larger one is cut into several.
    virtual std::size_t max_columns_of(base::GroupId group) const = 0;
    /// False once anything has failed (SESS-4).
    virtual bool alive() const = 0;
    /// Masks that are ready.
    virtual protocol::StockLevel stock() const = 0;
    virtual HybridStatistics statistics() const = 0;
};

/// Opens a session with the David to whom `transport` leads, and an engine over it, which ends it
/// in order. `weights` are what Charlie's offline work multiplies by. All but the options outlive
/// the engine. Throws what CharlieSession's constructor throws.
std::unique_ptr<HybridEngine> make_hybrid_engine(const artifact::CharlieArtifact& charlie,
                                                 const kernels::OffloadedWeights& weights,
                                                 Transport& transport,
                                                 const protocol::SessionOptions& options);

}  // namespace slip::engines
