// Charlie's side of a session: mask, send, receive, check, unmask. spec/session.md, spec/linear.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "optimized/protocol/charlie_columns.hpp"
#include "optimized/protocol/wrong_peers.hpp"
#include "slip/durations.hpp"
#include "slip/trace.hpp"
#include "slip/transport.hpp"

namespace slip::protocol {

/// What a session has done so far; counts, never contents.
struct SessionStatistics {
    std::uint64_t rounds = 0;
    std::uint64_t columns = 0;
    std::uint64_t bytes_up = 0;
    std::uint64_t bytes_down = 0;
    std::uint64_t checks = 0;  // messages accepted by INTEG-3
    /// From the last byte sent to the last byte received; the sum is what Charlie waited.
    Durations round_times;
    double offline_seconds = 0;    // processor time of all threads, for masks with cancellations
    double late_seconds = 0;       // of these, spent in send() because no mask was ready
    double mask_wait_seconds = 0;  // wall time that send() took to get masks that were not ready
    std::uint64_t offline_multiplications = 0;  // for the masks that were used
    std::uint64_t masks_made = 0;
    std::uint64_t masks_used = 0;
    std::uint64_t masks_waited_for = 0;  // of these, not ready when send() was called
};

struct SessionOptions {
    PoolOptions pool;
    KeyStream::Options keys;
    /// The lattice masks of the loaded model, which outlive the session; none where all masks are
    /// uniform.
    LatticeMasks lattice;
    /// INTEG-7, by the transport's name of the peer. Null for a David who is part of the caller and
    /// no peer.
    WrongPeers* wrong_peers = &WrongPeers::of_process();
    std::shared_ptr<Trace> trace = {};  // none: nothing is recorded
};

/// A David of a model in shards (MODEL-22): he has the groups from `first` on, up to the next
/// one's, and a file of this digest.
struct ShardPeer {
    Transport& transport;
    Digest digest;
    base::GroupId first = 0;
};

/// A session with David in a set of parameters, which Charlie dictates (SESS-2), or with the Davids
/// of all shards, of whom each has a connection of his own. Not thread-safe. After any exception
/// the session is dead with all of them, and its secrets are wiped (SESS-4).
class CharlieSession {
public:
    /// Draws the session's key and opens the session with HELLO; multiplies nothing. Throws
    /// ProtocolError if David refuses or is not who answers, and Distrusted if
    /// `transport.peer_name()` has sent a wrong reply (INTEG-7). `weights` are what the
    /// cancellations of uniform masks are computed from, and may be empty where no group has them.
    /// `check` is of the same groups and of set.planes planes. `weights`, `check`, `transport` and
    /// `options.wrong_peers` outlive the session.
    CharlieSession(const kernels::OffloadedWeights& weights, const IntegrityCheck& check,
                   const base::parameters::ParameterSet& set, const Digest& digest,
                   Transport& transport, const SessionOptions& options)
        : CharlieSession(weights, check, set, {{transport, digest}}, options) {}
    /// With one David per shard, in the order of their groups.
    CharlieSession(const kernels::OffloadedWeights& weights, const IntegrityCheck& check,
                   const base::parameters::ParameterSet& set, const std::vector<ShardPeer>& davids,
                   const SessionOptions& options);
    CharlieSession(const CharlieSession&) = delete;
    CharlieSession& operator=(const CharlieSession&) = delete;
    ~CharlieSession();

    /// MASK-1: masks the b quantised columns of `activations` (b x inputs), each with a mask of its
    /// own, and sends them. Requires |q| <= 32767 and 1 <= b <= max_columns_of(group).
    void send(base::GroupId group, base::MatrixView<const std::int16_t> activations);

    /// Receives the reply to the last send(), checks it (INTEG-3), and only then unmasks (INTEG-5,
    /// MASK-4): `products` (b x outputs) gets lift(y_D). Throws IntegrityError, which names the
    /// peer, on a reject, after the secrets are wiped and ABORT is sent (INTEG-6).
    void receive(base::MatrixView<std::int64_t> products);

    /// Columns that fit one message to `group`: PARAM-3.
    std::size_t max_columns_of(base::GroupId group) const;

    /// Ends the session in order: CLOSE. Called by the destructor if the session is alive and no
    /// reply is outstanding.
    void close();

    /// See MaskSupply::wait_until_ready().
    void wait_until_ready(std::size_t masks_per_group);

    bool alive() const { return alive_; }
    /// See MaskSupply::stock().
    StockLevel stock() const { return columns_.stock(); }
    SessionStatistics statistics() const;
    /// Of Charlie's online work, for whoever calls send() and receive(): it stands while they wait
    /// for masks, and in what the transports do, where a David in this process multiplies.
    WorkClock& clock() { return columns_.clock(); }
    const WorkClock& clock() const { return columns_.clock(); }

private:
    using Clock = Trace::Clock;

    /// A David and where the session stands with him.
    struct Peer {
        Transport& transport;
        std::string name;
        base::GroupId first;              // of the model's groups
        std::uint64_t next_sequence = 0;  // SESS-3
        bool in_step = false;  // Charlie may send: no call of the transport has failed, and he has
                               // not refused
    };

    void open(Peer& peer, const wire::Hello& hello);
    std::string who(const Peer& peer) const;
    Peer& peer_of(base::GroupId group);
    void send_columns(base::GroupId group, base::MatrixView<const std::int16_t> activations);
    void require_sendable(base::GroupId group,
                          base::MatrixView<const std::int16_t> activations) const;
    void receive_products(base::MatrixView<std::int64_t> products);
    void require_no_refusal(Peer& peer, std::span<const std::byte> payload);
    [[noreturn]] void reject(const Peer& peer);
    void transmit(Peer& peer, std::span<const std::byte> frame);
    std::span<const std::byte> receive_payload(Peer& peer, std::size_t max_length);
    std::span<const std::byte> await_payload(Peer& peer, const Sent& sent, std::size_t max_length);

    void wipe_secrets() noexcept;
    void give_up() noexcept;
    template <class Step>
    void run(const Step& step);

    WrongPeers* const wrong_peers_;  // null where there is no peer
    const std::size_t shards_;
    std::vector<Peer> peers_;  // in the order of their groups
    const std::shared_ptr<Trace> trace_;
    SessionStatistics statistics_;

    KeyStream keys_;
    CharlieColumns columns_;  // after the keys, which its pool's thread uses

    bool alive_ = false;  // READY has come from all, and nothing has ended the session since
    std::optional<Sent> outstanding_;  // the APPLY that waits for its REPLY
    Clock::time_point sent_at_;
    GrowingBuffer<std::byte> payload_;
};

}  // namespace slip::protocol
