// How blocks of lattice masks are made (MASK-7, RAND-9). Private to this room.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "optimized/base/worker_team.hpp"
#include "optimized/masks/keystream.hpp"
#include "optimized/masks/lattice_stock.hpp"
#include "optimized/masks/products.hpp"

namespace slip::masks {

/// Throws InternalError for a set without lattice masks.
const base::parameters::LatticeParameters& lattice_of(const base::parameters::ParameterSet& set);

/// The key of the process and the next block's number. A number is issued before its block is made,
/// so that no failure can issue it again. Thread-safe.
class BlockSource {
public:
    BlockSource(const base::parameters::ParameterSet& set, const Keystream::Options& keys);

    const Keystream& keys() const { return keys_; }

    std::uint64_t next_block();
    /// S of a block.
    BlockSecret secret(std::uint64_t block);
    void draw(Purpose purpose, std::uint64_t index, std::span<std::uint8_t> bytes);

private:
    const std::size_t elements_;
    const unsigned eta_;
    std::mutex mutex_;
    Keystream keys_;
    std::uint64_t next_block_ = 0;
};

/// A block under way: memory for the masks that are kept, of the lowest indices, and one column for
/// all that are not.
struct NewBlock {
    using Columns = std::array<std::span<std::uint8_t>, degree>;

    NewBlock(std::uint64_t block, std::vector<Mask::Spent> memory, BlockSecret&& s,
             const base::ProductShape& shape, std::size_t planes)
        : number(block), kept(std::move(memory)), secret(std::move(s)) {
        if (kept.size() < degree) {
            unused = base::SecretBuffer<std::uint8_t>(planes *
                                                      std::max(shape.inputs(), shape.outputs()));
        }
        for (std::size_t i = 0; i < degree; ++i) {
            const bool stays = i < kept.size();
            mask_columns[i] =
                stays ? kept[i].mask.span() : unused.span().first(planes * shape.inputs());
            cancellation_columns[i] =
                stays ? kept[i].cancellation.span() : unused.span().first(planes * shape.outputs());
        }
    }
    std::uint64_t number;
    std::vector<Mask::Spent> kept;
    base::SecretBuffer<std::uint8_t> unused;
    BlockSecret secret;
    Columns mask_columns;
    Columns cancellation_columns;
};

/// Makes blocks, with as many threads as its team has. One caller at a time.
class BlockMaker {
public:
    BlockMaker(const base::parameters::ParameterSet& set, std::size_t threads);

    /// MASK-7: the masks of blocks of one width, n. `public_rows` are those of T, which all of the
    /// blocks share.
    void make_masks(std::span<const std::uint8_t> public_rows, std::size_t n, BlockSource& source,
                    std::span<NewBlock> blocks);
    /// MASK-7: their cancellations, for blocks of one group.
    void make_cancellations(const LatticeGroup& group, std::span<NewBlock> blocks);

    /// Processor time of the calling thread so far, and of the team's other threads in what this
    /// maker has made: the difference of two calls by one thread is what was spent between them.
    double seconds() const;

private:
    using Multiply = std::function<void(RingProducts&, const StoredRows&, std::span<const Block>)>;
    /// Calls work(t) for each thread's share t of the rows.
    void run(const std::function<void(std::size_t t)>& work);
    void multiply(std::span<const std::uint8_t> rows, std::size_t total, std::span<NewBlock> blocks,
                  NewBlock::Columns NewBlock::*columns, const Multiply& product);
    void multiply_sealed(const LatticeGroup& group, std::span<NewBlock> blocks,
                         const Multiply& product);
    void add_noise(std::size_t n, BlockSource& source, NewBlock& block) const;

    const base::parameters::ParameterSet& set_;
    base::WorkerTeam team_;
    std::vector<RingProducts> products_;
    std::vector<double> helpers_seconds_;  // by share of the rows
};

}  // namespace slip::masks
