// The protocol as an engine. Its users see engines.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "optimized/engines/engines.hpp"
#include "optimized/engines/low_rank_factors.hpp"
#include "optimized/engines/quantised_columns.hpp"
#include "optimized/protocol/charlie.hpp"

namespace slip::engines {

/// One message per group: quantise (ENC-1), mask and send (MASK-1), Charlie's low-rank part while
/// David multiplies, receive, check and unmask (INTEG-3, MASK-4), add (LIN-2), dequantise (ENC-2).
/// MODEL-1: every offloaded product goes this way, those of rank 0 too. LIN-4: every output equals
/// UnsplitEngine's, bit for bit. MODEL-6: nothing here can reach W_D; only David and the session's
/// offline work hold it. Reserves no memory for a message once a larger one was sent.
template <class P>
class HybridEngineOf final : public HybridEngine {
public:
    /// As make_hybrid_engine().
    HybridEngineOf(const artifact::CharlieArtifact& charlie,
                   const kernels::OffloadedWeights& weights, Transport& transport,
                   const protocol::SessionOptions& options);

    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override;
    void wait_until_ready(std::size_t masks_per_group) override;
    std::size_t max_columns_of(base::GroupId group) const override;
    bool alive() const override { return session_.alive(); }
    protocol::StockLevel stock() const override { return session_.stock(); }
    HybridStatistics statistics() const override;

    protocol::CharlieSession<P>& session() { return session_; }

private:
    void exchange(base::GroupId id, base::MatrixView<const float> input,
                  std::span<const base::MatrixView<float>> outputs, std::size_t first_column);
    base::MatrixView<const std::int64_t> low_rank_inner(base::GroupId id);
    void finish(base::GroupId id, base::MatrixView<const std::int64_t> z,
                std::span<const base::MatrixView<float>> outputs, std::size_t first_column);

    const std::vector<artifact::CharlieGroup>& groups_;
    protocol::CharlieSession<P> session_;
    const LowRankFactors factors_;

    // Kept from message to message, so that decoding reserves no memory.
    QuantisedColumns quantised_;
    base::SecretBuffer<std::int64_t> inner_;  // B q: b rows, the members' ranks side by side; of
                                              // a convolution, b times its positions
    base::SecretBuffer<typename P::Product> products_;  // lift(y_D): b x M
    base::SecretBuffer<std::int64_t> integers_;         // y_int of one column or position

    double apply_seconds_ = 0;
    double inner_seconds_ = 0;
    std::uint64_t charlie_multiplications_ = 0;
    std::uint64_t david_multiplications_ = 0;
};

extern template class HybridEngineOf<kernels::P31>;

}  // namespace slip::engines
