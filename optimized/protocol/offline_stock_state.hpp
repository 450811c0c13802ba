// The state of an OfflineStock. The session's thread works on it (offline_stock.cpp), and a thread
// per offline David (offline_peers.cpp).
#pragma once

#include <boost/circular_buffer.hpp>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "optimized/protocol/offline_stock.hpp"
#include "optimized/protocol/thread_clock.hpp"

namespace slip::protocol {

/// Columns to request.
struct OfflineTask {
    base::GroupId group = 0;
    std::size_t columns = 0;
};

/// One group's masks. The numbers of masks that are ready, requested, and spent but not requested
/// again add up to `depth`.
template <class P>
struct OfflineQueue {
    boost::circular_buffer<Mask<P>> ready;
    std::size_t depth = 0;            // a multiple of batch
    std::size_t batch = 0;            // columns of a REQUEST
    std::size_t columns_per_row = 1;  // of a step
    std::size_t spent = 0;            // and not requested again
    MaskMemory<P> spare;              // for the masks that are not ready
};

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
        boost::circular_buffer<OfflineTask> asked{request_window};  // unanswered, oldest first
        bool used_up = false;  // the key has too few blocks left
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
    Next next(Connection& connection, OfflineTask& task);
    bool accept(Connection& connection, MaskMemory<P>& memory, std::vector<Mask<P>>& masks);
    void put_into_stock(base::GroupId group, std::vector<Mask<P>>& masks, Connection& connection);
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
    void ask(base::GroupId group, std::size_t columns);
    void ask_alone(base::GroupId group, std::size_t columns);
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
    std::vector<OfflineQueue<P>> groups;
    boost::circular_buffer<OfflineTask> tasks;  // to be requested, oldest first
    std::size_t test_keys_used = 0;             // in bytes
    std::size_t peers_ready = 0;                // READYs received so far
    std::size_t peers_left = 0;                 // peers that have not been given up
    std::size_t running = 0;                    // threads
    std::string last_reason;                    // of the last loss
    std::exception_ptr failure;                 // ends the session although other D2s may be left
    bool stopped = false;
    SupplyStatistics statistics;
    std::optional<Life::AtReject> at_reject;
};

}  // namespace slip::protocol
