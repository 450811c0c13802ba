#include "optimized/protocol/lattice_blocks.hpp"

#include "optimized/base/error.hpp"
#include "optimized/masks/noise.hpp"

namespace slip::protocol {

using base::require;
using base::parameters::ParameterSet;
using masks::degree;
using Bytes = base::SecretBuffer<std::uint8_t>;

namespace {

/// RAND-9 with eta = 2, without a branch.
void decode_small(std::span<const std::uint8_t> bytes, std::span<std::int8_t> small) {
    for (std::size_t i = 0; i < small.size(); ++i) {
        const unsigned v = static_cast<unsigned>(bytes[i / 2]) >> (i % 2 * 4);
        const unsigned positive = (v & 1) + (v >> 1 & 1);
        const unsigned negative = (v >> 2 & 1) + (v >> 3 & 1);
        small[i] =
            static_cast<std::int8_t>(static_cast<int>(positive) - static_cast<int>(negative));
    }
}

}  // namespace

const base::parameters::LatticeParameters& lattice_of(const ParameterSet& set) {
    require(set.lattice.has_value(), "LatticeStock: the set has no lattice masks");
    return *set.lattice;
}

BlockSource::BlockSource(const ParameterSet& set, const KeyStream::Options& keys)
    : elements_(lattice_of(set).rank), keys_(keys) {
    require(lattice_of(set).eta == 2, "LatticeStock: secrets of two and two bits");
}

std::uint64_t BlockSource::next_block() {
    const std::lock_guard lock(mutex_);
    return next_block_++;
}

masks::BlockSecret BlockSource::secret(std::uint64_t block) {
    Bytes bytes(elements_ * degree / 2);
    base::SecretBuffer<std::int8_t> small(elements_ * degree);
    draw(Purpose::block_secret, block, bytes.span());
    decode_small(bytes.span(), small.span());
    return masks::BlockSecret(small.span());
}

void BlockSource::draw(Purpose purpose, std::uint64_t index, std::span<std::uint8_t> bytes) {
    const std::lock_guard lock(mutex_);
    keys_.draw_bytes(purpose, index, bytes);
}

BlockMaker::BlockMaker(const ParameterSet& set, std::size_t threads) : set_(set), team_(threads) {
    for (std::size_t t = 0; t < threads; ++t) {
        products_.emplace_back(set.planes, lattice_of(set).rank, masks::most_blocks);
    }
}

void BlockMaker::make_masks(std::span<const std::uint8_t> public_rows, std::size_t n,
                            BlockSource& source, std::span<NewBlock> blocks) {
    multiply(public_rows, n, blocks, &NewBlock::mask_columns, &masks::RingProducts::exact);
    for (NewBlock& block : blocks) add_noise(n, source, block);
}

void BlockMaker::make_cancellations(const LatticeGroup& group, std::span<NewBlock> blocks) {
    multiply(group.hint, group.shape.outputs(), blocks, &NewBlock::cancellation_columns,
             &masks::RingProducts::approximate);
}

/// Each thread has a range of the rows.
void BlockMaker::multiply(std::span<const std::uint8_t> rows, std::size_t total,
                          std::span<NewBlock> blocks, NewBlock::Columns NewBlock::*columns,
                          Multiply product) {
    std::vector<masks::Block> own;
    own.reserve(blocks.size());
    for (NewBlock& block : blocks) own.push_back({&block.secret, block.*columns});
    const std::size_t bytes = lattice_of(set_).rank * degree * set_.planes;  // of a row
    const std::size_t threads = products_.size();
    team_.run(threads, [&](std::size_t t) {
        const std::size_t first = total * t / threads, end = total * (t + 1) / threads;
        (products_[t].*product)({rows.subspan(first * bytes, (end - first) * bytes), first, total},
                                own);
    });
}

/// To the masks that are kept: no other is ever seen.
void BlockMaker::add_noise(std::size_t n, BlockSource& source, NewBlock& block) const {
    Bytes stream(masks::noise_bytes(n));
    for (std::size_t i = 0; i < block.kept.size(); ++i) {
        block.kept[i].index = degree * block.number + i;
        source.draw(Purpose::noise, block.kept[i].index, stream.span());
        masks::add_noise(stream.span(), set_.planes, block.mask_columns[i]);
    }
}

}  // namespace slip::protocol
