// Cancellations ahead of use: c = W_D r mod L, in batches, in the background (MASK-3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "optimized/base/stock_level.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/masks/keystream.hpp"
#include "optimized/masks/mask_supply.hpp"

namespace slip::masks {

/// Keeps masks ready for every group. Mask indices rise by one per mask made (MASK-5), whatever the
/// group. A mask that was handed out never comes back.
class CancellationStock final : public MaskSupply {
public:
    /// Both references outlive the stock. 1 <= planes <= base::parameters::primes.size(). Groups
    /// for which serves() is false get no masks.
    CancellationStock(const kernels::OffloadedWeights& weights, std::size_t planes, Keystream& keys,
                      const StockOptions& options,
                      const std::function<bool(base::GroupId)>& serves = nullptr);
    /// Stops the background thread and wipes what is left.
    ~CancellationStock() override;

    /// In rising order of index. Makes what is missing at once, on the calling thread.
    void take(base::GroupId group, std::size_t count, std::vector<Mask>& out) override;
    void recycle(base::GroupId group, Mask::Spent&& spent) override;
    /// For callers that want every mask made before they start, and for benchmarks.
    void wait_until_ready(std::size_t count) override;
    std::uint64_t multiplications_per_mask(base::GroupId,
                                           const base::ProductShape& shape) const override {
        return shape.multiplications();  // MASK-3
    }
    void destroy() noexcept override;
    base::StockLevel stock() const override;
    SupplyStatistics statistics() const override;

private:
    struct Shared;                    // by the two threads
    std::unique_ptr<Shared> shared_;  // left behind in a forked child, where it cannot be destroyed
};

}  // namespace slip::masks
