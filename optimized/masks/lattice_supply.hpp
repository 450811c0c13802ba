// A session's share of the masks of its process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/masks/cancellation.hpp"
#include "optimized/masks/contracts.hpp"
#include "optimized/masks/lattice_stock.hpp"
#include "optimized/masks/mask_supply.hpp"

namespace slip::masks {

/// Lattice masks from the stock that sessions share, and uniform ones, for convolutions, from a
/// stock of the session's own.
class LatticeSupply final : public MaskSupply {
public:
    /// The stock outlives the supply; `uniform` is null where every group has lattice masks.
    LatticeSupply(LatticeStock& stock, std::unique_ptr<CancellationStock> uniform)
        : stock_(stock), uniform_(std::move(uniform)), before_(stock.statistics()) {}

    void take(base::GroupId group, std::size_t count, std::vector<Mask>& out) override {
        base::require(!destroyed_, "the masks of this session are destroyed");
        if (!stock_.serves(group)) return uniform_->take(group, count, out);
        out.clear();
        stock_.take(group, count, out);
        held_bytes_ += count * stock_.bytes_per_mask(group);
    }
    void recycle(base::GroupId group, Mask::Spent&& spent) override {
        if (!stock_.serves(group)) return uniform_->recycle(group, std::move(spent));
        stock_.recycle(group, std::move(spent));
        held_bytes_ -= stock_.bytes_per_mask(group);
    }
    void wait_until_ready(std::size_t count) override {
        stock_.wait_until_ready(count);
        if (uniform_) uniform_->wait_until_ready(count);
    }
    std::uint64_t multiplications_per_mask(base::GroupId group,
                                           const base::ProductShape& shape) const override {
        return stock_.serves(group)
                   ? LatticeStock::multiplications_per_mask(stock_.set(), stock_.shape(group))
                   : shape.multiplications();
    }
    /// Ends this session's part; the stock is that of others as well, and their memory is not to
    /// shrink by the masks that ended with this one (SESS-13).
    void destroy() noexcept override {
        destroyed_ = true;
        stock_.forget(std::exchange(held_bytes_, 0));
        if (uniform_) uniform_->destroy();
    }
    base::StockLevel stock() const override {
        const base::StockLevel lattice = stock_.stock();
        if (!uniform_) return lattice;
        const base::StockLevel own = uniform_->stock();
        return {std::min(lattice.ready, own.ready), std::min(lattice.full, own.full)};
    }
    /// Counts of all sessions since this one began, which are this one's if it is alone.
    SupplyStatistics statistics() const override {
        SupplyStatistics sum = stock_.statistics().since(before_);
        if (uniform_) sum.add(uniform_->statistics());
        return sum;
    }

private:
    LatticeStock& stock_;
    std::unique_ptr<CancellationStock> uniform_;
    SupplyStatistics before_;
    std::size_t held_bytes_ = 0;  // of masks that the session has, of the stock's
    bool destroyed_ = false;
};

}  // namespace slip::masks
