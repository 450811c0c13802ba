#include "optimized/masks/lattice_blocks.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <thread>

#include "optimized/base/error.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/base/thread_clock.hpp"
#include "optimized/masks/noise.hpp"

namespace slip::masks {

using base::require;
using base::parameters::ParameterSet;
using Bytes = base::SecretBuffer<std::uint8_t>;

namespace {

/// Where the products of blocks go.
std::vector<Block> columns_of(std::span<NewBlock> blocks, NewBlock::Columns NewBlock::*columns) {
    std::vector<Block> own;
    own.reserve(blocks.size());
    for (NewBlock& block : blocks) own.push_back({&block.secret, block.*columns});
    return own;
}

}  // namespace

const base::parameters::LatticeParameters& lattice_of(const ParameterSet& set) {
    require(set.lattice.has_value(), "LatticeStock: the set has no lattice masks");
    return *set.lattice;
}

BlockSource::BlockSource(const ParameterSet& set, const Keystream::Options& keys)
    : elements_(lattice_of(set).rank), eta_(lattice_of(set).eta), keys_(keys) {}

std::uint64_t BlockSource::next_block() {
    const std::lock_guard lock(mutex_);
    return next_block_++;
}

BlockSecret BlockSource::secret(std::uint64_t block) {
    Bytes bytes(noise_bytes(elements_ * degree, eta_));
    base::SecretBuffer<std::int8_t> small(elements_ * degree);
    draw(Purpose::block_secret, block, bytes.span());
    decode_small(bytes.span(), eta_, small.span());
    return BlockSecret(small.span(), static_cast<int>(eta_));
}

void BlockSource::draw(Purpose purpose, std::uint64_t index, std::span<std::uint8_t> bytes) {
    const std::lock_guard lock(mutex_);
    keys_.draw_bytes(purpose, index, bytes);
}

BlockMaker::BlockMaker(const ParameterSet& set, std::size_t threads)
    : set_(set), team_(threads), helpers_seconds_(threads) {
    for (std::size_t t = 0; t < threads; ++t) {
        products_.emplace_back(set.planes, lattice_of(set).rank, most_blocks);
    }
}

void BlockMaker::make_masks(std::span<const std::uint8_t> public_rows, std::size_t n,
                            BlockSource& source, std::span<NewBlock> blocks) {
    multiply(public_rows, n, blocks, &NewBlock::mask_columns,
             [](RingProducts& products, const StoredRows& rows, std::span<const Block> own) {
                 products.exact(rows, own);
             });
    for (NewBlock& block : blocks) add_noise(n, source, block);
}

void BlockMaker::make_cancellations(const LatticeGroup& group, std::span<NewBlock> blocks) {
    const Tau tau = residues_of(base::tau_at(set_, group.shape.n));
    const Multiply product = [&](RingProducts& products, const StoredRows& rows,
                                 std::span<const Block> own) {
        if (set_.hides_weights) {
            products.rounded(rows, tau, own);
        } else {
            products.approximate(rows, tau, own);
        }
    };
    if (group.open_hint) return multiply_sealed(group, blocks, product);
    multiply(group.hint, group.shape.outputs(), blocks, &NewBlock::cancellation_columns, product);
}

double BlockMaker::seconds() const {
    return std::accumulate(helpers_seconds_.begin(), helpers_seconds_.end(),
                           base::thread_seconds());
}

/// The caller's own shares are in its thread's time already.
void BlockMaker::run(const std::function<void(std::size_t t)>& work) {
    const auto caller = std::this_thread::get_id();
    team_.run(products_.size(), [&](std::size_t t) {
        const double start = base::thread_seconds();
        work(t);
        if (std::this_thread::get_id() != caller) {
            helpers_seconds_[t] += base::thread_seconds() - start;
        }
    });
}

/// Each thread has a range of the rows.
void BlockMaker::multiply(std::span<const std::uint8_t> rows, std::size_t total,
                          std::span<NewBlock> blocks, NewBlock::Columns NewBlock::*columns,
                          const Multiply& product) {
    const std::vector<Block> own = columns_of(blocks, columns);
    const std::size_t bytes = rows.size() / std::max<std::size_t>(total, 1);  // of a row
    const std::size_t threads = products_.size();
    run([&](std::size_t t) {
        const std::size_t first = total * t / threads, end = total * (t + 1) / threads;
        product(products_[t], {rows.subspan(first * bytes, (end - first) * bytes), first, total},
                own);
    });
}

/// Each thread has a range of the chunks, and one of them open at a time. Work for a team does not
/// throw: what stops a thread is kept for the caller.
void BlockMaker::multiply_sealed(const LatticeGroup& group, std::span<NewBlock> blocks,
                                 const Multiply& product) {
    const std::vector<Block> own = columns_of(blocks, &NewBlock::cancellation_columns);
    const std::size_t total = group.shape.outputs(), bytes = group.hint.size() / total;
    const std::size_t chunks = (total + group.chunk_rows - 1) / group.chunk_rows;
    const std::size_t threads = products_.size();
    std::vector<std::exception_ptr> failures(threads);
    run([&](std::size_t t) {
        try {
            Bytes opened(std::min(group.chunk_rows, total) * bytes);
            for (std::size_t c = chunks * t / threads; c < chunks * (t + 1) / threads; ++c) {
                const std::size_t first = c * group.chunk_rows;
                const std::size_t count = std::min(group.chunk_rows, total - first);
                const std::span<std::uint8_t> rows = opened.span().first(count * bytes);
                group.open_hint(c, rows);
                product(products_[t], {rows, first, total}, own);
            }
        } catch (...) {
            failures[t] = std::current_exception();
        }
    });
    for (const std::exception_ptr& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
}

/// To the masks that are kept: no other is ever seen.
void BlockMaker::add_noise(std::size_t n, BlockSource& source, NewBlock& block) const {
    const unsigned eta = lattice_of(set_).eta;
    const Tau tau = residues_of(base::tau_at(set_, n));
    Bytes stream(noise_bytes(n, eta));
    Bytes wide(noise_bytes(n, 2));
    for (std::size_t i = 0; i < block.kept.size(); ++i) {
        block.kept[i].index = degree * block.number + i;
        source.draw(Purpose::noise, block.kept[i].index, stream.span());
        if (eta == 1) widen(stream.span(), wide.span());
        masks::add_noise(eta == 1 ? wide.span() : stream.span(), tau, set_.planes,
                         block.mask_columns[i]);
    }
}

}  // namespace slip::masks
