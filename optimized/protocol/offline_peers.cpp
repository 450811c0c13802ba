// The threads of an OfflineStock, one per offline David: they request masks and check the answers.
#include <algorithm>

#include "optimized/base/error.hpp"
#include "optimized/protocol/offline_stock_state.hpp"

namespace slip::protocol {

using base::GroupId;
using base::require;

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
        OfflineTask task;
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
auto OfflineStock<P>::Shared::next(Connection& connection, OfflineTask& task) -> Next {
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
    const OfflineTask task = connection.asked.front();
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
    for (OfflineQueue<P>& queue : groups) queue.ready.clear();
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

template struct OfflineStock<P31>::Shared;
template struct OfflineStock<P61>::Shared;

}  // namespace slip::protocol
