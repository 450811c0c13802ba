// Masks whose cancellations offline Davids (D2) compute; Charlie checks each before he uses it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "optimized/base/parameters.hpp"
#include "optimized/protocol/integrity.hpp"
#include "optimized/protocol/mask_supply.hpp"
#include "optimized/protocol/offline_link.hpp"
#include "optimized/protocol/recall.hpp"
#include "optimized/protocol/reject_limiter.hpp"
#include "slip/transport.hpp"

namespace slip::protocol {

struct OfflineOptions {
    /// Each call makes a new connection to one offline David. The end of the stock waits for a
    /// call, and interrupts its transport.
    using Connect = std::function<std::unique_ptr<Transport>()>;
    /// Empty: Charlie computes cancellations himself.
    std::vector<Connect> peers;
    /// Columns per row of a step, for each group; empty: one for every group.
    std::vector<std::size_t> columns_per_row;
    /// OFF-14: a step waits for a multiple of this.
    std::chrono::milliseconds interval{100};
    /// SESS-8: no step waits longer; the session ends instead.
    std::chrono::milliseconds patience = TimeLimits{}.patience;
    /// Told, in the session's thread, when a step has waited for `note_after`; may be empty.
    std::function<void(const std::string&)> note;
    std::chrono::milliseconds note_after{30000};
    /// OFF-11: when a lost D2 is called again, and when he is given up.
    RecallOptions recall;
    /// RAND-5, for every connection.
    std::uint64_t blocks_per_key = base::parameters::blocks_per_key;
    /// Tests only: the keys of the first connections, 32 bytes each, in the order in which the
    /// connections are made. Later keys come from the operating system.
    std::vector<std::uint8_t> test_keys;
    /// Tests only: called before the first connection with a function that replaces the rule of
    /// OFF-14. Each call of that function makes the stock request `columns` columns of `group`, and
    /// no others until the next call; 0 columns request nothing.
    using Ask = std::function<void(base::GroupId group, std::size_t columns)>;
    std::function<void(const Ask&)> test_requests;
};

/// OFF-9: Charlie's multiplications for the check of one cancellation.
template <class P>
std::uint64_t check_multiplications(const base::ProductShape& shape) {
    return shape.positions() * kappa<P> * (shape.n + shape.rows);
}

/// OFF-14: calls `pause` until `holds` is true; returns the number of calls. A pause ends a whole
/// number of intervals after the first one began, even if `holds` becomes true earlier.
template <class Holds, class Pause>
std::uint64_t wait_whole_intervals(const Holds& holds, const Pause& pause) {
    std::uint64_t intervals = 0;
    for (; !holds(); ++intervals) pause();
    return intervals;
}

/// The session and the life that a stock serves. All referenced objects outlive the stock.
template <class P>
struct OfflineContext {
    const std::vector<base::ProductShape>& shapes;
    const std::vector<IntegrityCheck<P>>& checks;  // one per group
    Life& life;
    const KeyStream& session_keys;  // detects a fork of this process
    Digest digest;
    std::string david;       // Transport::peer_name() of D1
    RejectLimiter* limiter;  // INTEG-7; null for no limit
};

/// A bounded stock per group. Each D2 has a thread that sends REQUESTs, receives and checks.
///
/// OFF-14. Which masks are requested depends on which were spent, never on the content or the time
/// of a D2's answers: the stock is filled at first, and for each spent batch of a group a new batch
/// is requested, in the order in which the batches were spent. A step begins only when the stock
/// holds all its masks; if it has to wait, it waits a multiple of a fixed interval. So D1 learns of
/// a D2's timing only the number of intervals by which a step was delayed.
///
/// OFF-11. A connection to a lost D2 is opened again, up to OfflineOptions::attempts times; masks
/// that were requested but not received are requested again under a new key. A rejected
/// cancellation ends the life: after it no mask is taken and no product is unmasked.
template <class P>
class OfflineStock final : public MaskSupply<P> {
public:
    /// Returns once one D2 has sent READY. Throws ProtocolError with the last D2's error if none
    /// does, and BadInput if a first connection leads to D1 or throws BadInput.
    OfflineStock(const OfflineContext<P>& context, const PoolOptions& pool,
                 const OfflineOptions& options);
    ~OfflineStock() override;

    /// Requires `count` masks of `group` in stock, which begin_step() waits for. Throws
    /// InternalError otherwise.
    void take(base::GroupId group, std::size_t count, std::vector<Mask<P>>& out) override;
    void recycle(base::GroupId group, typename Mask<P>::Spent&& spent) override;
    void wait_until_ready(std::size_t count) override;
    std::size_t largest_step() const override;
    /// Waits until the stock holds the masks of a step of `rows` rows. Throws ProtocolError if it
    /// has too few and no D2 is left, or after OfflineOptions::patience.
    void begin_step(std::size_t rows) override;
    std::uint64_t multiplications_per_mask(const base::ProductShape& shape) const override {
        return check_multiplications<P>(shape);
    }
    void destroy() noexcept override;
    StockLevel stock() const override;
    SupplyStatistics statistics() const override;

private:
    static void open(Checked<P, Cancellations<P>>&& checked, const Life& life,
                     std::vector<Mask<P>>& masks, MaskMemory<P>& emptied);

    struct Shared;                    // state of the session's thread and the peers' threads
    std::unique_ptr<Shared> shared_;  // never destroyed in a forked child
};

extern template class OfflineStock<P31>;
extern template class OfflineStock<P61>;

}  // namespace slip::protocol
