// Charlie's side of a session: mask, send, receive, check, unmask. spec/session.md, spec/linear.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "optimized/base/matrix_view.hpp"
#include "optimized/protocol/cancellation.hpp"
#include "optimized/protocol/profile.hpp"
#include "optimized/protocol/reconnect_limiter.hpp"
#include "slip/transport.hpp"

namespace slip {

/// What a session has done so far; counts, never contents.
struct SessionStatistics {
    std::uint64_t rounds = 0;
    std::uint64_t columns = 0;
    std::uint64_t bytes_up = 0;
    std::uint64_t bytes_down = 0;
    std::uint64_t checks = 0;    // messages accepted by INTEG-3
    double waiting_seconds = 0;  // from the last byte sent to the last byte received
    double setup_seconds = 0;    // rho and s, before the first message
    double offline_seconds = 0;  // masks and cancellations
    double late_seconds = 0;     // of these, spent in send() because no mask was ready
};

/// A session with David. Not thread-safe. After any exception the session is dead and its secrets
/// are wiped (SESS-4).
class CharlieSession {
public:
    struct Options {
        Profile profile = Profile::p31;  // Charlie dictates it (SESS-2)
        PoolOptions pool;
        KeyStream::Options keys;
        /// INTEG-7, by the transport's name of the peer. Null: no limit, for a David who is part of
        /// the caller and no peer.
        ReconnectLimiter* limiter = &ReconnectLimiter::of_process();
    };

    /// Draws the session's key, precomputes rho and s for every group, and opens the session with
    /// HELLO. Throws ProtocolError if David refuses or is not who answers, or if a session with
    /// `transport.peer_name()` ended in a reject too short a time ago (INTEG-7). `weights`,
    /// `transport` and `options.limiter` outlive the session.
    CharlieSession(const OffloadedWeights& weights, const Digest& digest, Transport& transport,
                   const Options& options);
    CharlieSession(const CharlieSession&) = delete;
    CharlieSession& operator=(const CharlieSession&) = delete;
    ~CharlieSession();

    /// MASK-1: masks the b quantised tokens of `activations` (b x n), one mask a column, and sends
    /// them. Requires |q| <= 32767 and 1 <= b <= max_columns_of(group).
    void send(std::uint32_t group, MatrixView<const std::int16_t> activations);

    /// Receives the reply to the last send(), checks it (INTEG-3), and only then unmasks (INTEG-5,
    /// MASK-4): `products` (b x M) gets lift(y_D). Throws IntegrityError on a reject, after the
    /// secrets are wiped and ABORT is sent (INTEG-6). The products' type is the profile's; the
    /// other one is an InternalError.
    void receive(MatrixView<P31::Product> products);
    void receive(MatrixView<P61::Product> products);

    /// Columns that fit one message to `group`: PARAM-3.
    std::size_t max_columns_of(std::uint32_t group) const;

    /// Ends the session in order: CLOSE. Called by the destructor if the session is alive and no
    /// reply is outstanding.
    void close();

    /// See CancellationPool::wait_until_ready().
    void wait_until_ready(std::size_t masks_a_group);

    Profile profile() const;
    bool alive() const;
    SessionStatistics statistics() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace slip
