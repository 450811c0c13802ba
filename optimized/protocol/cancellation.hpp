// Cancellations ahead of use: c = W_D r mod L, in batches, in the background (MASK-3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "optimized/kernels/group_weights.hpp"
#include "optimized/protocol/mask_stream.hpp"

namespace slip::protocol {

struct PoolOptions {
    /// Masks per group that the background thread keeps ready; 0 makes every mask on demand.
    std::size_t depth = 64;
    /// Columns per batch of the background GEMM.
    std::size_t batch = 16;
    /// Bytes of masks with cancellations that a group keeps ready, and that are made at a time.
    /// Where columns are long, they allow fewer masks than the numbers above, but always one.
    std::size_t bytes_per_group = std::size_t{1} << 26;
};

/// Keeps masks ready for every group. Mask indices rise by one per mask made (MASK-5), whatever the
/// group. A mask that was handed out never comes back.
template <class P>
class CancellationPool {
public:
    CancellationPool(const kernels::OffloadedWeights& weights, KeyStream& keys,
                     const PoolOptions& options);
    CancellationPool(const CancellationPool&) = delete;
    CancellationPool& operator=(const CancellationPool&) = delete;
    /// Stops the background thread and wipes what is left.
    ~CancellationPool();

    /// `count` masks for the columns of one message, in rising order of index. Makes what is
    /// missing at once, on the calling thread.
    void take(base::GroupId group, std::size_t count, std::vector<Mask<P>>& out);

    /// Takes the memory of a spent mask of `group`, so that in the long run masks reserve none. It
    /// is overwritten here: memory comes back, a mask never does (MASK-5, MASK-6).
    void recycle(base::GroupId group, typename Mask<P>::Spent&& spent);

    /// Blocks until at least `count` masks per group are ready (at most what the options allow);
    /// for callers that want all offline work done before they start, and for benchmarks.
    void wait_until_ready(std::size_t count);

    /// Wipes every mask and stops; every later take() throws InternalError.
    void destroy() noexcept;

    /// Seconds of processor time spent making masks and cancellations so far, both threads.
    double offline_seconds() const;
    /// Those of them that take() spent because no mask was ready.
    double late_seconds() const;

private:
    struct Shared;                    // by the two threads
    std::unique_ptr<Shared> shared_;  // left behind in a forked child, where it cannot be destroyed
};

extern template class CancellationPool<P31>;
extern template class CancellationPool<P61>;

}  // namespace slip::protocol
