// Masks whose cancellations come from offline Davids (D2), each checked before it is of any use.
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
    /// Makes a connection to one offline David, each time that it is called. The stock's end waits
    /// for a call, and interrupts its transport.
    using Connect = std::function<std::unique_ptr<Transport>()>;
    /// None: Charlie computes cancellations himself.
    std::vector<Connect> peers;
    /// Columns that a row of a step becomes in each group; empty: one in all.
    std::vector<std::size_t> columns_per_row;
    /// OFF-14: a step that waits, waits a multiple of this.
    std::chrono::milliseconds interval{100};
    /// SESS-8: no step waits longer; the session ends instead.
    std::chrono::milliseconds patience = TimeLimits{}.patience;
    /// OFF-11: when a D2 who was lost is called again, and when he is given up.
    RecallOptions recall;
    /// RAND-5, of every connection.
    std::uint64_t blocks_per_key = base::parameters::blocks_per_key;
    /// Tests only: keys of 32 bytes each, of the connections in the order in which they are made,
    /// before the operating system is asked for the next.
    std::vector<std::uint8_t> test_keys;
    /// Tests only: is given, before the first connection, what makes the stock ask for so many
    /// columns of a group, and for nothing else until it is called again; with 0 for nothing at
    /// all.
    using Ask = std::function<void(base::GroupId group, std::size_t columns)>;
    std::function<void(const Ask&)> test_requests;
};

/// OFF-9: Charlie's multiplications for the check of one cancellation.
template <class P>
std::uint64_t check_multiplications(const base::ProductShape& shape) {
    return shape.positions() * kappa<P> * (shape.n + shape.rows);
}

/// OFF-14: pauses until `holds`, and returns how often. A pause ends a whole number of intervals
/// after the first began, whatever happens meanwhile.
template <class Holds, class Pause>
std::uint64_t wait_whole_intervals(const Holds& holds, const Pause& pause) {
    std::uint64_t intervals = 0;
    for (; !holds(); ++intervals) pause();
    return intervals;
}

/// What a stock serves: one session, in one life. All but the values outlive the stock.
template <class P>
struct OfflineContext {
    const std::vector<base::ProductShape>& shapes;
    const std::vector<IntegrityCheck<P>>& checks;  // one per group
    Life& life;
    const KeyStream& session_keys;  // which know whether this process was forked
    Digest digest;
    std::string david;       // Transport::peer_name() of the other David
    RejectLimiter* limiter;  // INTEG-7; null for no limit
};

/// A bounded stock per group. A thread per D2 asks, receives and checks.
///
/// OFF-14. What is asked for follows from what was spent, never from what or when a D2 answers: it
/// starts full, and when a batch of a group was spent, a batch is asked for, in that order. A step
/// begins only when the stock holds all its masks, and a step that must wait, waits a multiple of a
/// fixed interval. So what David sees of a D2's choices is no more than by how many intervals a
/// step was late.
///
/// OFF-11. A D2 who is lost is called again or given up; what was not answered is asked for anew,
/// under a new key. A rejected cancellation ends the life: nothing is taken, and nothing is
/// unmasked, any more.
template <class P>
class OfflineStock final : public MaskSupply<P> {
public:
    /// Returns once one D2 has said READY. Throws ProtocolError, with what the last one of them
    /// said, if none does, and BadInput if a first connection leads to the other David or throws
    /// that.
    OfflineStock(const OfflineContext<P>& context, const PoolOptions& pool,
                 const OfflineOptions& options);
    ~OfflineStock() override;

    /// Throws InternalError unless begin_step() has seen to it that there are so many.
    void take(base::GroupId group, std::size_t count, std::vector<Mask<P>>& out) override;
    void recycle(base::GroupId group, typename Mask<P>::Spent&& spent) override;
    void wait_until_ready(std::size_t count) override;
    std::size_t largest_step() const override;
    /// Throws ProtocolError if the stock does not suffice, and no D2 is left or none of them has
    /// filled it in time (OfflineOptions::patience).
    void begin_step(std::size_t rows) override;
    std::uint64_t multiplications_per_mask(const base::ProductShape& shape) const override {
        return check_multiplications<P>(shape);
    }
    void destroy() noexcept override;
    SupplyStatistics statistics() const override;

private:
    static CancellationBatch<P> open(Checked<P, Cancellations<P>>&& checked, const Life& life,
                                     MaskMemory<P>& memory, std::vector<Mask<P>>& masks);

    struct Shared;                    // by the session's thread and those of the peers
    std::unique_ptr<Shared> shared_;  // left behind in a forked child
};

extern template class OfflineStock<P31>;
extern template class OfflineStock<P61>;

}  // namespace slip::protocol
