// Where a session's masks come from. Charlie makes them himself: lattice_supply.hpp, or
// of uniform masks cancellation.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "optimized/base/product_shape.hpp"
#include "optimized/base/stock_level.hpp"
#include "optimized/masks/mask.hpp"
#include "slip/trace.hpp"

namespace slip::masks {

struct StockOptions {
    /// Masks per group that are kept ready in the background; 0 makes every mask on demand.
    std::size_t depth = 64;
    /// Columns that are multiplied at a time.
    std::size_t batch = 16;
    /// Bytes of masks with cancellations that a group keeps ready, and that are made at a time.
    /// Where columns are long, they allow fewer masks than the numbers above, but always one.
    std::size_t bytes_per_group = std::size_t{1} << 26;
    Trace* trace = nullptr;  // outlives the supply; null: nothing is recorded
};

/// What has become of masks, and the processor time that they took with their cancellations, of all
/// threads that made them.
struct SupplyStatistics {
    std::uint64_t made = 0;        // those that were not kept included
    std::uint64_t used = 0;        // handed out
    std::uint64_t waited_for = 0;  // of these, not ready when take() was called
    double seconds = 0;
    double late_seconds = 0;  // of these, of masks that a message made for itself
    double wait_seconds = 0;  // wall time until messages had masks that were not ready

    void add(const SupplyStatistics& other) {
        made += other.made;
        used += other.used;
        waited_for += other.waited_for;
        seconds += other.seconds;
        late_seconds += other.late_seconds;
        wait_seconds += other.wait_seconds;
    }
    /// What has been added since `before`.
    SupplyStatistics since(const SupplyStatistics& before) const {
        return {made - before.made,
                used - before.used,
                waited_for - before.waited_for,
                seconds - before.seconds,
                late_seconds - before.late_seconds,
                wait_seconds - before.wait_seconds};
    }
};

/// Masks with cancellations, each handed out once and for one column (MASK-5). One thread uses it.
class MaskSupply {
public:
    MaskSupply() = default;
    MaskSupply(const MaskSupply&) = delete;
    MaskSupply& operator=(const MaskSupply&) = delete;
    virtual ~MaskSupply() = default;

    /// `count` masks for the columns of one message.
    virtual void take(base::GroupId group, std::size_t count, std::vector<Mask>& out) = 0;

    /// Takes the memory of a spent mask of `group`, so that in the long run masks reserve none. It
    /// is overwritten: memory comes back, a mask never does (MASK-5, MASK-6).
    virtual void recycle(base::GroupId group, Mask::Spent&& spent) = 0;

    /// Blocks until at least `count` masks per group are ready (at most what the options allow).
    virtual void wait_until_ready(std::size_t count) = 0;

    /// Charlie's multiplications for one mask of `group`, of this shape, with its cancellation.
    virtual std::uint64_t multiplications_per_mask(base::GroupId group,
                                                   const base::ProductShape& shape) const = 0;

    /// Wipes every mask and stops; every later take() throws InternalError.
    virtual void destroy() noexcept = 0;

    /// What is ready now.
    virtual base::StockLevel stock() const = 0;
    virtual SupplyStatistics statistics() const = 0;
};

/// Memory of spent masks of one group, zero: a Spent is as large as every other of its group.
using MaskMemory = std::vector<Mask::Spent>;

/// The last of `memory`, or new memory, which a forked child sees as zeros (MASK-9).
inline Mask::Spent memory_for_one(MaskMemory& memory, const base::ProductShape& shape,
                                  std::size_t planes) {
    using Residues = Mask::Residues;
    if (memory.empty()) {
        constexpr auto children = base::Children::forget;
        return {0, Residues(planes * shape.inputs(), children),
                Residues(planes * shape.outputs(), children)};
    }
    auto last = std::move(memory.back());
    memory.pop_back();
    return last;
}

/// Moves memory for up to `count` masks from `spare` to `out`, which is emptied before.
inline void lend_memory(MaskMemory& spare, std::size_t count, MaskMemory& out) {
    out.clear();
    for (; count > 0 && !spare.empty(); --count) {
        out.push_back(std::move(spare.back()));
        spare.pop_back();
    }
}

/// `count` masks for columns of a group, or as many as the options leave memory for, at least 1.
inline std::size_t at_most(std::size_t count, const base::ProductShape& shape, std::size_t planes,
                           const StockOptions& options) {
    const std::size_t bytes = planes * (shape.inputs() + shape.outputs());
    return std::min(count, std::max<std::size_t>(options.bytes_per_group / bytes, 1));
}

/// Turns uniform masks with their cancellations, side by side, into as many Masks, appended to
/// `out`, in `memory` as far as it goes. The originals are wiped: the copies are the only ones
/// (MASK-6).
inline void append_masks(std::uint64_t first_index, const base::ProductShape& shape,
                         std::size_t planes, std::span<std::uint8_t> masks,
                         std::span<std::uint8_t> cancellations, MaskMemory& memory,
                         std::vector<Mask>& out) {
    const std::size_t inputs = planes * shape.inputs();
    const std::size_t outputs = planes * shape.outputs();
    for (std::size_t c = 0; c < masks.size() / inputs; ++c) {
        auto own = memory_for_one(memory, shape, planes);
        std::copy_n(masks.data() + c * inputs, inputs, own.mask.data());
        std::copy_n(cancellations.data() + c * outputs, outputs, own.cancellation.data());
        out.emplace_back(first_index + c, std::move(own.mask), std::move(own.cancellation));
    }
    base::wipe(masks.data(), masks.size_bytes());
    base::wipe(cancellations.data(), cancellations.size_bytes());
}

}  // namespace slip::masks
