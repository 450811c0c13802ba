#include "optimized/protocol/offline_stock.hpp"

#include <algorithm>
#include <limits>

#include "optimized/base/error.hpp"
#include "optimized/protocol/offline_stock_state.hpp"

namespace slip::protocol {

using base::GroupId;
using base::require;

namespace {

/// How long the end of a session waits for outstanding answers, so that connections end with CLOSE.
constexpr std::chrono::seconds patience_at_the_end{1};

constexpr const char* destroyed = "the masks of this session are destroyed";

}  // namespace

template <class P>
OfflineStock<P>::Shared::Shared(const OfflineContext<P>& c, const PoolOptions& pool,
                                const OfflineOptions& o)
    : context(c), options(o), groups(c.shapes.size()) {
    require(pool.batch >= 1, "OfflineStock: a batch has at least one column");
    require(o.columns_per_row.empty() || o.columns_per_row.size() == groups.size(),
            "OfflineStock: columns_per_row has one number per group");
    std::size_t capacity = 0;
    for (GroupId g = 0; g < groups.size(); ++g) {
        OfflineQueue<P>& queue = groups[g];
        const base::ProductShape& shape = c.shapes[g];
        if (!o.columns_per_row.empty()) queue.columns_per_row = o.columns_per_row[g];
        const std::size_t depth =
            std::max({at_most<P>(pool.depth, shape, pool), queue.columns_per_row, std::size_t{1}});
        queue.batch =
            std::min({at_most<P>(pool.batch, shape, pool), columns_that_fit<P>(shape), depth});
        queue.depth = (depth + queue.batch - 1) / queue.batch * queue.batch;
        queue.ready.set_capacity(queue.depth);
        queue.spare.reserve(queue.depth + 1);
        largest_batch = std::max(largest_batch, queue.batch);
        capacity += queue.depth;
        complete_memory<P>(shape, queue.depth + 1, queue.spare);
    }
    tasks.set_capacity(capacity);
    for (bool more = true; more;) {  // one batch of every group in turn, until all are full
        more = false;
        for (GroupId g = 0; g < groups.size(); ++g) {
            if (groups[g].spent == groups[g].depth) continue;
            groups[g].spent += groups[g].batch;
            tasks.push_back({g, groups[g].batch});
            more = true;
        }
    }
    for (OfflineQueue<P>& queue : groups) queue.spent = 0;
    for (const OfflineOptions::Connect& connect : o.peers) peers.emplace_back(connect, o.recall);
    peers_left = peers.size();
    at_reject.emplace(c.life, [this] { discard(); });
    if (!o.test_requests) return;
    tasks.clear();
    o.test_requests([this](GroupId group, std::size_t columns) { ask_alone(group, columns); });
}

template <class P>
void OfflineStock<P>::Shared::start() {
    std::unique_lock lock(mutex);
    for (Peer& peer : peers) {
        peer.thread = std::thread([this, &peer] { work(peer); });
        ++running;
    }
    peer_ready.wait(lock,
                    [&] { return peers_ready > 0 || peers_left == 0 || failure || running == 0; });
    if (peers_ready == 0) require_supplied();  // the first step reports a reject during start()
}

template <class P>
void OfflineStock<P>::Shared::stop() noexcept {
    at_reject.reset();
    {
        std::unique_lock lock(mutex);
        stopped = true;
        work_wanted.notify_all();
        peer_ready.wait_for(lock, patience_at_the_end, [&] { return running == 0; });
        for (const Peer& peer : peers) {
            if (peer.transport != nullptr) peer.transport->interrupt();
        }
    }
    for (Peer& peer : peers) {
        if (peer.thread.joinable()) peer.thread.join();
    }
    groups.clear();  // MASK-6: masks wipe themselves
}

/// Under the lock.
template <class P>
void OfflineStock<P>::Shared::require_supplied() const {
    require(!stopped, destroyed);
    if (failure) std::rethrow_exception(failure);
    if (context.life.over()) throw ProtocolError("the life of the masks is over");
    if (peers_left == 0) {
        throw ProtocolError("no offline David is left to compute cancellations: " + last_reason);
    }
}

/// Under the lock.
template <class P>
std::string OfflineStock<P>::Shared::last_loss() const {
    return last_reason.empty() ? "" : "; one was lost: " + last_reason;
}

/// Under the lock.
template <class P>
void OfflineStock<P>::Shared::ask(GroupId group, std::size_t columns) {
    groups[group].spent -= columns;
    tasks.push_back({group, columns});
    work_wanted.notify_all();
}

/// Tests only: replaces the rule of OFF-14.
template <class P>
void OfflineStock<P>::Shared::ask_alone(GroupId group, std::size_t columns) {
    const std::lock_guard lock(mutex);
    tasks.clear();
    if (columns > 0) tasks.push_back({group, columns});
    work_wanted.notify_all();
}

/// Whether every group has wanted(group) masks.
template <class P>
template <class Wanted>
bool OfflineStock<P>::Shared::holds(const Wanted& wanted) const {
    for (const OfflineQueue<P>& queue : groups) {
        if (queue.ready.size() < wanted(queue)) return false;
    }
    return true;
}

/// Waits a multiple of the interval until every group has wanted(group) masks (OFF-14). If a group
/// could not reach that number otherwise, its spent masks are requested before they make up a
/// batch: this too depends only on which masks were spent.
template <class P>
template <class Wanted>
void OfflineStock<P>::Shared::await(const Wanted& wanted) {
    std::unique_lock lock(mutex);
    require(!stopped, destroyed);
    if (failure) std::rethrow_exception(failure);
    for (GroupId g = 0; g < groups.size(); ++g) {
        const OfflineQueue<P>& queue = groups[g];
        if (queue.spent > 0 && queue.depth - queue.spent < wanted(queue)) ask(g, queue.spent);
    }
    const auto ready = std::chrono::steady_clock::now();
    auto until = ready;
    bool noted = !options.note;
    const auto pause = [&] {
        require_supplied();
        until += options.interval;
        if (until - ready > options.patience) {
            throw ProtocolError("the masks of a step did not come in time from an offline David" +
                                last_loss());
        }
        std::string note;
        if (!noted && until - ready > options.note_after) {
            note = "waiting for masks from an offline David" + last_loss();
        }
        lock.unlock();
        if (!note.empty()) options.note(note);
        noted = noted || !note.empty();
        std::this_thread::sleep_until(until);
        lock.lock();
        statistics.waiting_seconds += std::chrono::duration<double>(options.interval).count();
    };
    if (holds(wanted)) return;
    ++statistics.waits;
    wait_whole_intervals([&] { return holds(wanted); }, pause);
}

template <class P>
OfflineStock<P>::OfflineStock(const OfflineContext<P>& context, const PoolOptions& pool,
                              const OfflineOptions& options)
    : shared_(std::make_unique<Shared>(context, pool, options)) {
    try {
        shared_->start();
    } catch (...) {
        shared_->stop();
        throw;
    }
}

/// In a forked child the threads do not exist and a lock may stay held, as in CancellationPool.
template <class P>
OfflineStock<P>::~OfflineStock() {
    destroy();
    if (shared_->context.session_keys.forked()) static_cast<void>(shared_.release());
}

/// Turns checked cancellations into masks (OFF-9), in the memory that received them. `emptied` gets
/// the vector back.
template <class P>
void OfflineStock<P>::open(Checked<P, Cancellations<P>>&& checked, const Life& life,
                           std::vector<Mask<P>>& masks, MaskMemory<P>& emptied) {
    Cancellations<P> accepted = std::move(checked).spend(life);
    std::uint64_t index = accepted.header_.sequence;
    for (auto& column : accepted.columns_) {
        masks.emplace_back(index++, std::move(column.mask), std::move(column.cancellation));
    }
    emptied = std::move(accepted.columns_);
    emptied.clear();
}

template <class P>
void OfflineStock<P>::take(GroupId group, std::size_t count, std::vector<Mask<P>>& out) {
    shared_->context.session_keys.require_usable();  // RAND-6, before the lock
    const std::lock_guard lock(shared_->mutex);
    require(!shared_->stopped, destroyed);
    require(group < shared_->groups.size(), "OfflineStock::take: unknown group");
    OfflineQueue<P>& queue = shared_->groups[group];
    require(queue.ready.size() >= count, "OfflineStock::take: a step that was not begun");
    out.clear();
    for (std::size_t i = 0; i < count; ++i) {
        out.push_back(std::move(queue.ready.front()));
        queue.ready.pop_front();
    }
    queue.spent += count;
    while (queue.spent >= queue.batch) shared_->ask(group, queue.batch);
}

template <class P>
void OfflineStock<P>::recycle(GroupId group, typename Mask<P>::Spent&& spent) {
    if (shared_->context.session_keys.forked()) return;  // the lock may be held for ever
    spent.mask.clear();
    spent.cancellation.clear();
    const std::lock_guard lock(shared_->mutex);
    if (shared_->stopped) return;
    OfflineQueue<P>& queue = shared_->groups[group];
    if (queue.ready.size() + queue.spare.size() > queue.depth) return;
    queue.spare.push_back(std::move(spent));
}

template <class P>
void OfflineStock<P>::wait_until_ready(std::size_t count) {
    shared_->context.session_keys.require_usable();
    shared_->await([&](const OfflineQueue<P>& queue) { return std::min(count, queue.depth); });
}

template <class P>
std::size_t OfflineStock<P>::largest_step() const {
    std::size_t rows = std::numeric_limits<std::size_t>::max();
    for (const OfflineQueue<P>& queue : shared_->groups) {
        rows = std::min(rows, queue.depth / queue.columns_per_row);
    }
    return rows;
}

template <class P>
void OfflineStock<P>::begin_step(std::size_t rows) {
    shared_->context.session_keys.require_usable();
    require(rows <= largest_step(), "OfflineStock::begin_step: more rows than the stock may hold");
    shared_->await([&](const OfflineQueue<P>& queue) { return rows * queue.columns_per_row; });
}

template <class P>
void OfflineStock<P>::destroy() noexcept {
    if (shared_->context.session_keys.forked()) return;
    shared_->stop();
}

template <class P>
StockLevel OfflineStock<P>::stock() const {
    if (shared_->context.session_keys.forked()) return {};
    const std::lock_guard lock(shared_->mutex);
    return level_of(
        shared_->groups,
        [](const OfflineQueue<P>& q) { return q.ready.size() / q.columns_per_row; },
        [](const OfflineQueue<P>& q) { return q.depth / q.columns_per_row; });
}

template <class P>
SupplyStatistics OfflineStock<P>::statistics() const {
    if (shared_->context.session_keys.forked()) return {};
    const std::lock_guard lock(shared_->mutex);
    return shared_->statistics;
}

template class OfflineStock<P31>;
template class OfflineStock<P61>;

}  // namespace slip::protocol
