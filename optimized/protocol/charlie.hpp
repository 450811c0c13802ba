// Charlie's side of a session: mask, send, receive, check, unmask. spec/session.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/stock_level.hpp"
#include "optimized/base/thread_clock.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/masks/keystream.hpp"
#include "optimized/masks/mask_supply.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/protocol/integrity.hpp"
#include "optimized/protocol/shared_secrets.hpp"
#include "optimized/protocol/wrong_peers.hpp"
#include "slip/run_statistics.hpp"
#include "slip/trace.hpp"
#include "slip/transport.hpp"

namespace slip::protocol {

struct SessionOptions {
    masks::StockOptions stock;
    masks::Keystream::Options keys;
    /// What sessions of the loaded model share, which outlives them; nothing where all masks are
    /// uniform.
    SharedSecrets shared;
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

    /// Receives the reply to the last send(), checks it (INTEG-3), and only then unmasks (INTEG-5):
    /// `products` (b x outputs) gets y_D (MASK-4, MASK-8) or, of the hidden split, W' q (HIDE-5).
    /// Throws IntegrityError, which names the peer, on a reject, after the secrets are wiped and
    /// ABORT is sent (INTEG-6).
    void receive(base::MatrixView<std::int64_t> products);

    /// Columns that fit one message to `group`: PARAM-3.
    std::size_t max_columns_of(base::GroupId group) const;

    /// Ends the session in order: CLOSE. Called by the destructor if the session is alive and no
    /// reply is outstanding.
    void close();

    /// See MaskSupply::wait_until_ready().
    void wait_until_ready(std::size_t masks_per_group);

    bool alive() const;
    /// See MaskSupply::stock().
    base::StockLevel stock() const;
    /// What the session has done so far; charlie_seconds are those of clock(). Its user counts
    /// Charlie's and David's online multiplications, and David his seconds: they are 0 here.
    RunStatistics statistics() const;
    /// Of Charlie's online work, for whoever calls send() and receive(). It is paused while they
    /// wait for masks, and in the transports, where a David in this process multiplies.
    base::WorkClock& clock();
    const base::WorkClock& clock() const;

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace slip::protocol
