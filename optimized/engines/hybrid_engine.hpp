// The protocol as an engine (MODEL-4).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/base/engine.hpp"
#include "optimized/base/stock_level.hpp"
#include "optimized/base/trace_span.hpp"
#include "optimized/engines/low_rank_factors.hpp"
#include "optimized/engines/quantised_columns.hpp"
#include "optimized/protocol/charlie.hpp"
#include "slip/run_statistics.hpp"
#include "slip/transport.hpp"

namespace slip::engines {

/// Charlie's online multiplications for one column of a message to `group`: n to quantise, kappa (n
/// + M) to check, k (n + m) per member for A (B q), 2 M for the row and column scales, and n + M to
/// check products where masks are lattice masks; of a hidden matrix kappa ell more to check, and
/// WeightSecrets::multiplications(). A product mod L counts once, whatever its planes.
/// Masking only adds and the factor 2^t only shifts. Of a convolution, all but the quantisation is
/// multiplied by its positions. David's are his product's own: ProductShape::multiplications().
std::uint64_t charlie_multiplications_per_column(const artifact::CharlieGroup& group,
                                                 const base::parameters::ParameterSet& set);

/// One message per group: quantise (ENC-1), mask and send (MASK-1), receive, check and unmask
/// (INTEG-3; MASK-4, MASK-8, HIDE-5), dequantise (ENC-2). With the paper's split Charlie's low-rank
/// part is computed while David multiplies, and added before it is dequantised (LIN-2); with the
/// hidden split, what is unmasked is the whole product. MODEL-1: every offloaded product goes this
/// way, those of rank 0 too. LIN-4: every output equals that of the integer model's own engine,
/// UnsplitEngine or HiddenModelEngine, bit for bit. MODEL-6: nothing here can reach the matrices
/// that David multiplies by; only he and, of uniform masks, the session's work ahead of use hold
/// them. Reserves no memory for a message once a larger one was sent. A wide matrix of the hidden
/// split has a message for each of its parts, whose outputs are added (HIDE-7).
class HybridEngine : public base::Engine {
public:
    /// Opens a session with the David to whom `transport` leads, and ends it in order. `weights`
    /// are as CharlieSession's, and `check` is of charlie.check_secret(). All but the options
    /// outlive the engine. Throws what CharlieSession's constructor throws.
    HybridEngine(const artifact::CharlieArtifact& charlie, const kernels::OffloadedWeights& weights,
                 const protocol::IntegrityCheck& check, Transport& transport,
                 const protocol::SessionOptions& options);
    /// With the Davids of all shards, to whom `transports` lead in their order (MODEL-22).
    HybridEngine(const artifact::CharlieArtifact& charlie, const kernels::OffloadedWeights& weights,
                 const protocol::IntegrityCheck& check,
                 const std::vector<std::unique_ptr<Transport>>& transports,
                 const protocol::SessionOptions& options);

    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override;
    /// Blocks until this many masks per group are ready, at most as many as are kept.
    void wait_until_ready(std::size_t masks_per_group) {
        session_.wait_until_ready(masks_per_group);
    }
    /// Rows of a batch that go to `group` in one message; a larger one is cut into several.
    std::size_t max_columns_of(base::GroupId group) const;
    /// False once anything has failed (SESS-4).
    bool alive() const { return session_.alive(); }
    /// Masks that are ready.
    base::StockLevel stock() const { return session_.stock(); }
    /// What has been done so far, of MODEL-6. charlie_seconds: processor time of the calling thread
    /// in apply(), but for taking masks, where those that are not ready are made or waited for, and
    /// for what the transports do, where a David in this process multiplies. david_seconds is 0: he
    /// counts himself. Multiplications are counted by the formulas above.
    RunStatistics statistics() const;

    protocol::CharlieSession& session() { return session_; }

private:
    HybridEngine(const artifact::CharlieArtifact& charlie, const kernels::OffloadedWeights& weights,
                 const protocol::IntegrityCheck& check,
                 const std::vector<protocol::ShardPeer>& davids,
                 const protocol::SessionOptions& options);
    base::TraceSpan span(const char* what, base::GroupId id, std::size_t columns) const;
    void exchange(base::GroupId id, base::MatrixView<const float> input,
                  std::span<const base::MatrixView<float>> outputs, std::size_t first_column);
    void write(base::GroupId id, std::size_t member, const std::int64_t* y, std::size_t column,
               float* output);
    base::MatrixView<const std::int64_t> low_rank_inner(base::GroupId id);
    void receive_and_scale(base::GroupId id, base::MatrixView<const std::int64_t> z,
                           std::span<const base::MatrixView<float>> outputs,
                           std::size_t first_column);

    const base::parameters::ParameterSet& set_;
    const std::vector<artifact::CharlieGroup>& groups_;  // of the session
    const std::vector<base::GroupId> first_parts_;       // of the graph's groups, and the end
    protocol::CharlieSession session_;
    const LowRankFactors factors_;

    // Kept from message to message, so that decoding reserves no memory.
    QuantisedColumns quantised_;
    base::SecretBuffer<std::int64_t> inner_;     // B q: b rows, the members' ranks side by side; of
                                                 // a convolution, b times its positions; of the
                                                 // hidden split, rows of no entries
    base::SecretBuffer<std::int64_t> products_;  // y_D, or W' q: b x M
    base::SecretBuffer<std::int64_t> integers_;  // y_int of one column or position, by LIN-2
    base::SecretBuffer<float> part_;             // what a part adds to an output

    const std::shared_ptr<Trace> trace_;
    std::optional<Trace::Clock::time_point> applied_at_;  // the end of the last apply()
    std::uint64_t charlie_multiplications_ = 0;
    std::uint64_t david_multiplications_ = 0;
};

}  // namespace slip::engines
