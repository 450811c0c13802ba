// Lattice masks ahead of use: blocks for all sessions of a process. Clauses MASK-7 and MASK-9.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "optimized/base/parameters.hpp"
#include "optimized/base/product_shape.hpp"
#include "optimized/base/stock_level.hpp"
#include "optimized/masks/keystream.hpp"
#include "optimized/masks/mask_supply.hpp"
#include "optimized/masks/public_matrix.hpp"
#include "slip/trace.hpp"

namespace slip::masks {

/// A group whose masks are lattice masks, or, where `hint` is empty, uniform ones.
struct LatticeGroup {
    base::ProductShape shape;  // of M rows, also where David's product has ell more (HIDE-1)
    /// tau^-1 H mod L: shape.rows rows of d N residues, as MODEL-7 stores them. It outlives its
    /// users. Where it is sealed (MODEL-20), ciphertext of the same size.
    std::span<const std::uint8_t> hint;
    /// Throws BadInput, naming rows, unless the hint is what was split. It reads all of it, and is
    /// called when a product is wrong (MASK-10). May be empty.
    std::function<void()> require_hint;
    /// Where the hint is sealed, otherwise empty: decrypts a chunk of `chunk_rows` rows, the last
    /// one perhaps of fewer, into memory of its size. What it throws reaches whoever needs the
    /// masks. Called from several threads.
    std::function<void(std::size_t chunk, std::span<std::uint8_t> rows)> open_hint = {};
    std::size_t chunk_rows = 0;
};

struct LatticeOptions {
    /// Bytes of masks and cancellations that are kept ready; 0: room for 1.2 blocks per group. With
    /// room for 1.125 blocks per group or more, blocks are made in pairs, which costs less per
    /// mask. A message that needs more gets it for as long as it is under way.
    std::size_t memory = 0;
    /// Threads that make a block which somebody waits for, and the first block of each group.
    std::size_t threads = 1;
    /// Whether a thread makes masks ahead of use.
    bool ahead = true;
    Keystream::Options keys;
    std::shared_ptr<Trace> trace = {};  // none: nothing is recorded
};

/// Blocks of lattice masks, made in the background and handed out mask by mask. A block belongs to
/// one group; its number rises by one per block, whatever the group, and a mask that was handed out
/// never comes back (MASK-5). Thread-safe: the sessions of a process share it.
class LatticeStock {
public:
    using Seed = PublicMatrix::Seed;

    /// Expands T of every width that the groups have. Throws InternalError unless the set has
    /// lattice masks and every hint has its size, BadInput if `memory` is below least_memory().
    LatticeStock(const base::parameters::ParameterSet& set, const Seed& seed,
                 std::vector<LatticeGroup> groups, const LatticeOptions& options);
    /// Stops the background thread and wipes what is left.
    ~LatticeStock();

    /// The least `memory`: half a block of every group, and one of the largest.
    static std::size_t least_memory(const base::parameters::ParameterSet& set,
                                    std::span<const LatticeGroup> groups);

    /// Multiplications for one mask of this shape with its cancellation, of a block that is made by
    /// itself (MODEL-6). Blocks that share the transforms of T take fewer.
    static std::uint64_t multiplications_per_mask(const base::parameters::ParameterSet& set,
                                                  const base::ProductShape& shape);
    const base::parameters::ParameterSet& set() const;
    /// As it was given.
    const base::ProductShape& shape(base::GroupId group) const;

    /// Whether a group has lattice masks.
    bool serves(base::GroupId group) const;

    /// Appends `count` masks for the columns of one message, in rising order of index. What is not
    /// ready is made at once, on the calling thread and its helpers. Throws InternalError in a
    /// forked child (RAND-6). If it throws, `out` is as it was (SESS-13).
    void take(base::GroupId group, std::size_t count, std::vector<Mask>& out);
    /// As MaskSupply::recycle(). If it throws, `spent` still counts.
    void recycle(base::GroupId group, Mask::Spent&& spent);
    /// SESS-13: stops counting `bytes` of masks that were handed out and will not be recycled.
    void forget(std::size_t bytes);
    /// Of a mask of this group with its cancellation, as memory() counts them.
    std::size_t bytes_per_mask(base::GroupId group) const;
    /// Blocks until every group has `count` masks ready, or as many as there is memory for. Where
    /// no thread makes masks ahead of use, the calling one does. Throws what has ended the thread.
    void wait_until_ready(std::size_t count);

    /// LatticeGroup::require_hint of a group with lattice masks; does nothing where that is empty.
    void require_hint(base::GroupId group) const;

    base::StockLevel stock() const;
    SupplyStatistics statistics() const;
    /// Bytes of all masks that exist: ready, handed out, and their spare memory.
    std::size_t memory() const;

private:
    struct State;
    std::unique_ptr<State> state_;  // left behind in a forked child, where it cannot be destroyed
};

}  // namespace slip::masks
