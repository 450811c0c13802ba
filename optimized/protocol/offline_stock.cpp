#include "optimized/protocol/offline_stock.hpp"

#include <algorithm>
#include <boost/circular_buffer.hpp>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/protocol/thread_clock.hpp"

namespace slip::protocol {

using base::GroupId;
using base::require;

namespace {

/// How long the end of a session waits for outstanding answers, so that connections end with CLOSE.
constexpr std::chrono::seconds patience_at_the_end{1};

constexpr const char* destroyed = "the masks of this session are destroyed";

/// Columns to request.
struct Task {
    GroupId group = 0;
    std::size_t columns = 0;
};

/// One group's masks. The numbers of masks that are ready, requested, and spent but not requested
/// again add up to `depth`.
template <class P>
struct Queue {
    boost::circular_buffer<Mask<P>> ready;
    std::size_t depth = 0;            // a multiple of batch
    std::size_t batch = 0;            // columns of a REQUEST
    std::size_t columns_per_row = 1;  // of a step
    std::size_t spent = 0;            // and not requested again
    MaskMemory<P> spare;              // for the masks that are not ready
};

}  // namespace

template <class P>
struct OfflineStock<P>::Shared {
    struct Peer {
        Peer(OfflineOptions::Connect c, const RecallOptions& r)
            : connect(std::move(c)), recall(r) {}
        OfflineOptions::Connect connect;
        Transport* transport = nullptr;  // while there is a connection
        bool found = false;              // has sent READY at least once
        Recall recall;
        std::thread thread;
    };
    /// The state of one connection.
    struct Connection {
        OfflineLink<P>& link;
        const std::string& name;
        Peer& peer;
        boost::circular_buffer<Task> asked{request_window};  // unanswered, oldest first
        bool used_up = false;                                // the key has too few blocks left
        double counted_seconds = thread_seconds();
        std::uint64_t counted_up = 0;
        std::uint64_t counted_down = 0;
    };
    enum class Next { ask, receive, skip, renew, stop };

    Shared(const OfflineContext<P>& c, const PoolOptions& pool, const OfflineOptions& o);

    // The peers' threads.
    void work(Peer& peer) noexcept;
    bool serve(Peer& peer);
    bool exchange(Connection& connection);
    Next next(Connection& connection, Task& task);
    bool accept(Connection& connection, MaskMemory<P>& memory, std::vector<Mask<P>>& masks);
    void put_into_stock(GroupId group, std::vector<Mask<P>>& masks, Connection& connection);
    void abandon(Connection& connection);
    void abort(OfflineLink<P>& link);
    void discard();
    std::span<const std::uint8_t> next_test_key();
    void require_not_david(const std::string& name) const;
    bool lost(Peer& peer, const std::string& why);
    void give_up(const Peer& peer, const BadInput& why);

    // The session's thread.
    void start();
    void stop() noexcept;
    void ask(GroupId group, std::size_t columns);
    void ask_alone(GroupId group, std::size_t columns);
    template <class Wanted>
    bool holds(const Wanted& wanted) const;
    template <class Wanted>
    void await(const Wanted& wanted);
    void require_supplied() const;
    std::string last_loss() const;

    const OfflineContext<P> context;
    const OfflineOptions options;
    std::size_t largest_batch = 0;
    std::vector<Peer> peers;

    mutable std::mutex mutex;  // guards what follows, and the peers' transports
    std::condition_variable work_wanted;
    std::condition_variable peer_ready;
    std::vector<Queue<P>> groups;
    boost::circular_buffer<Task> tasks;  // to be requested, oldest first
    std::size_t test_keys_used = 0;      // in bytes
    std::size_t peers_ready = 0;         // READYs received so far
    std::size_t peers_left = 0;          // peers that have not been given up
    std::size_t running = 0;             // threads
    std::string last_reason;             // of the last loss
    std::exception_ptr failure;          // ends the session although other D2s may be left
    bool stopped = false;
    SupplyStatistics statistics;
    std::optional<Life::AtReject> at_reject;
};

template <class P>
OfflineStock<P>::Shared::Shared(const OfflineContext<P>& c, const PoolOptions& pool,
                                const OfflineOptions& o)
    : context(c), options(o), groups(c.shapes.size()) {
    require(pool.batch >= 1, "OfflineStock: a batch has at least one column");
    require(o.columns_per_row.empty() || o.columns_per_row.size() == groups.size(),
            "OfflineStock: columns_per_row has one number per group");
    std::size_t capacity = 0;
    for (GroupId g = 0; g < groups.size(); ++g) {
        Queue<P>& queue = groups[g];
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
    for (Queue<P>& queue : groups) queue.spent = 0;
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

/// A peer's thread: opens one connection after the other until the stock stops, the peer is given
/// up, or another connection would not help.
template <class P>
void OfflineStock<P>::Shared::work(Peer& peer) noexcept {
    for (bool again = true; again;) {
        try {
            again = serve(peer);
        } catch (const BadInput& error) {
            give_up(peer, error);
            again = false;
        } catch (const std::exception& error) {
            again = lost(peer, error.what());
        } catch (...) {  // of a user's Connect
            again = lost(peer, "what was thrown is no std::exception");
        }
    }
    const std::lock_guard lock(mutex);
    --running;
    peer_ready.notify_all();
}

/// One connection; returns whether to open another.
template <class P>
bool OfflineStock<P>::Shared::serve(Peer& peer) {
    const std::unique_ptr<Transport> transport = peer.connect();
    require(transport != nullptr, "OfflineStock: no transport was given");
    const std::string name = transport->peer_name();
    require_not_david(name);
    if (context.limiter != nullptr && !peer.found) {  // INTEG-7: reconnects stay in one life
        context.limiter->require_allowed(name);
    }
    /// While it lives, stop() reaches the connection.
    struct Reachable {
        Reachable(Shared& s, Peer& p, Transport& t) : shared(s), peer(p) { set(&t); }
        Reachable(const Reachable&) = delete;
        Reachable& operator=(const Reachable&) = delete;
        ~Reachable() { set(nullptr); }
        void set(Transport* transport) const {
            const std::lock_guard lock(shared.mutex);
            peer.transport = transport;
            if (transport != nullptr && shared.stopped) transport->interrupt();
        }
        Shared& shared;
        Peer& peer;
    } const reachable(*this, peer, *transport);
    OfflineLink<P> link(*transport, context.digest, context.shapes, largest_batch,
                        options.blocks_per_key, next_test_key());
    {
        const std::lock_guard lock(mutex);
        peer.found = true;
        peer.recall.ready();
        ++peers_ready;
    }
    peer_ready.notify_all();
    Connection connection{.link = link, .name = name, .peer = peer};
    try {
        return exchange(connection);
    } catch (...) {
        abandon(connection);
        if (context.life.rejected()) abort(link);
        throw;
    }
}

/// Waits until the steps before ABORT are done (OFF-11).
template <class P>
void OfflineStock<P>::Shared::abort(OfflineLink<P>& link) {
    context.life.rejected_by();
    link.end(true);
}

template <class P>
bool OfflineStock<P>::Shared::exchange(Connection& connection) {
    MaskMemory<P> memory;
    std::vector<Mask<P>> masks;
    memory.reserve(largest_batch);
    masks.reserve(largest_batch);
    for (;;) {
        Task task;
        switch (next(connection, task)) {
            case Next::ask:
                connection.link.request(task.group, task.columns);
                break;
            case Next::receive:
                if (!accept(connection, memory, masks)) return false;
                break;
            case Next::skip:
                connection.link.skip();
                connection.asked.pop_front();
                break;
            case Next::renew:
                connection.link.end(false);
                return true;
            case Next::stop:
                connection.link.end(context.life.rejected_by().has_value());
                return false;
        }
    }
}

/// The connection's next action. Waits only while there is nothing to request and no answer due.
template <class P>
auto OfflineStock<P>::Shared::next(Connection& connection, Task& task) -> Next {
    std::unique_lock lock(mutex);
    const auto chosen = [&]() -> std::optional<Next> {
        if (context.life.rejected()) return Next::stop;
        if (stopped || context.life.over()) {  // CLOSE comes after the outstanding answers
            return connection.asked.empty() ? Next::stop : Next::skip;
        }
        if (!tasks.empty() && !connection.asked.full() && !connection.used_up) {
            task = tasks.front();
            connection.used_up = !connection.link.has_blocks_for(task.group, task.columns);
            if (!connection.used_up) {
                tasks.pop_front();
                connection.asked.push_back(task);
                return Next::ask;
            }
        }
        if (!connection.asked.empty()) return Next::receive;
        if (connection.used_up) return Next::renew;
        return std::nullopt;
    };
    std::optional<Next> choice;
    work_wanted.wait(lock, [&] { return (choice = chosen()).has_value(); });
    return *choice;
}

/// Receives one answer and checks it as a whole before any of it is kept. Returns false if a reject
/// has ended the life, of this answer or of another.
template <class P>
bool OfflineStock<P>::Shared::accept(Connection& connection, MaskMemory<P>& memory,
                                     std::vector<Mask<P>>& masks) {
    const Task task = connection.asked.front();
    {
        const std::lock_guard lock(mutex);
        lend_memory<P>(groups[task.group].spare, task.columns, memory);
    }
    complete_memory<P>(context.shapes[task.group], task.columns, memory);
    Cancellations<P> answer = connection.link.receive(std::move(memory));
    std::optional<Checked<P, Cancellations<P>>> checked;
    if (!context.life.over()) {
        checked =
            context.checks[task.group].check(std::move(answer), {connection.name, context.limiter});
    }
    if (!checked && context.life.rejected()) {
        abort(connection.link);
        return false;
    }
    if (!checked) {  // the session has ended meanwhile
        connection.asked.pop_front();
        return true;
    }
    masks.clear();
    open(std::move(*checked), context.life, masks, memory);
    put_into_stock(task.group, masks, connection);
    return true;
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
void OfflineStock<P>::Shared::put_into_stock(GroupId group, std::vector<Mask<P>>& masks,
                                             Connection& connection) {
    const double now = thread_seconds();
    const std::lock_guard lock(mutex);
    connection.asked.pop_front();
    connection.peer.recall.answered();
    statistics.columns += masks.size();
    statistics.seconds += now - std::exchange(connection.counted_seconds, now);
    const std::uint64_t up = connection.link.bytes_up();
    const std::uint64_t down = connection.link.bytes_down();
    statistics.bytes_up += up - std::exchange(connection.counted_up, up);
    statistics.bytes_down += down - std::exchange(connection.counted_down, down);
    if (stopped || context.life.over()) return;
    for (Mask<P>& mask : masks) groups[group].ready.push_back(std::move(mask));
}

/// The connection is lost: its unanswered tasks go to the front of the queue. The next connection
/// requests other masks for them.
template <class P>
void OfflineStock<P>::Shared::abandon(Connection& connection) {
    const std::lock_guard lock(mutex);
    for (; !connection.asked.empty(); connection.asked.pop_back()) {
        tasks.push_front(connection.asked.back());
    }
    work_wanted.notify_all();
}

/// After a reject: destroys the stock (OFF-11).
template <class P>
void OfflineStock<P>::Shared::discard() {
    const std::lock_guard lock(mutex);
    tasks.clear();
    for (Queue<P>& queue : groups) queue.ready.clear();
    work_wanted.notify_all();
}

template <class P>
std::span<const std::uint8_t> OfflineStock<P>::Shared::next_test_key() {
    const std::lock_guard lock(mutex);
    const auto rest = std::span(options.test_keys).subspan(test_keys_used);
    const auto key =
        rest.first(std::min<std::size_t>(rest.size(), base::parameters::session_key_bytes));
    test_keys_used += key.size();
    return key;
}

/// OFF-1, as far as names can show.
template <class P>
void OfflineStock<P>::Shared::require_not_david(const std::string& name) const {
    if (name != context.david || name == Transport::unnamed) return;
    throw BadInput(name +
                   ": is David and the offline David at once, who would see masks and what they "
                   "mask: expected another endpoint");
}

/// Waits for the pause; returns whether to call the peer again. One that never sent READY is given
/// up.
template <class P>
bool OfflineStock<P>::Shared::lost(Peer& peer, const std::string& why) {
    std::unique_lock lock(mutex);
    const auto over = [&] { return stopped || context.life.over(); };
    if (over()) return false;
    ++statistics.lost;
    last_reason = why;
    const auto pause = peer.recall.lost(std::chrono::steady_clock::now());
    if (peer.found && pause) return !work_wanted.wait_for(lock, *pause, over);
    --peers_left;
    peer_ready.notify_all();
    return false;
}

/// No call of this peer will succeed. At his first connection that is an error of the one who opens
/// the session; later it is his loss.
template <class P>
void OfflineStock<P>::Shared::give_up(const Peer& peer, const BadInput& why) {
    const std::lock_guard lock(mutex);
    last_reason = why.what();
    if (peer.found) {
        ++statistics.lost;
    } else if (!failure) {
        failure = std::current_exception();
    }
    --peers_left;
    peer_ready.notify_all();
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
    for (const Queue<P>& queue : groups) {
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
        const Queue<P>& queue = groups[g];
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

template <class P>
void OfflineStock<P>::take(GroupId group, std::size_t count, std::vector<Mask<P>>& out) {
    shared_->context.session_keys.require_usable();  // RAND-6, before the lock
    const std::lock_guard lock(shared_->mutex);
    require(!shared_->stopped, destroyed);
    require(group < shared_->groups.size(), "OfflineStock::take: unknown group");
    Queue<P>& queue = shared_->groups[group];
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
    Queue<P>& queue = shared_->groups[group];
    if (queue.ready.size() + queue.spare.size() > queue.depth) return;
    queue.spare.push_back(std::move(spent));
}

template <class P>
void OfflineStock<P>::wait_until_ready(std::size_t count) {
    shared_->context.session_keys.require_usable();
    shared_->await([&](const Queue<P>& queue) { return std::min(count, queue.depth); });
}

template <class P>
std::size_t OfflineStock<P>::largest_step() const {
    std::size_t rows = std::numeric_limits<std::size_t>::max();
    for (const Queue<P>& queue : shared_->groups) {
        rows = std::min(rows, queue.depth / queue.columns_per_row);
    }
    return rows;
}

template <class P>
void OfflineStock<P>::begin_step(std::size_t rows) {
    shared_->context.session_keys.require_usable();
    require(rows <= largest_step(), "OfflineStock::begin_step: more rows than the stock may hold");
    shared_->await([&](const Queue<P>& queue) { return rows * queue.columns_per_row; });
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
        shared_->groups, [](const Queue<P>& q) { return q.ready.size() / q.columns_per_row; },
        [](const Queue<P>& q) { return q.depth / q.columns_per_row; });
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
