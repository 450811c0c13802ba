// David: multiplies masked columns by W_D and knows nothing else. spec/session.md, spec/linear.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "optimized/base/worker_team.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/protocol/profile.hpp"
#include "slip/transport.hpp"

namespace slip::protocol {

/// What David holds: shared by all his sessions, never copied (SESS-6).
struct DavidModel {
    kernels::OffloadedWeights weights;
    Digest digest{};
    base::WorkerTeam* team = nullptr;  // shares the products of all sessions; outlives them
};

/// One session: frames in, frames out. Not thread-safe; one per connection.
class DavidSession {
public:
    /// Sees every reply's residues, as 64-bit numbers, just before they are encoded. Absent in
    /// honest service; the demonstration of a dishonest David and the tests put their faults here.
    using Tamper = std::function<void(const wire::ColumnsHeader&, std::span<std::uint64_t>)>;

    DavidSession(const DavidSession&) = delete;
    DavidSession& operator=(const DavidSession&) = delete;
    virtual ~DavidSession() = default;

    /// The largest payload (bytes after the length field) that the session's state allows (WIRE-9).
    virtual std::size_t max_payload() const = 0;

    /// Handles one payload (a frame without its length field) and returns the whole frame to send
    /// back, valid until the next call; empty after CLOSE and ABORT. Never throws for what a peer
    /// sends: a bad frame gives REFUSE and ends the session (SESS-1, SESS-4). Throws ProtocolError
    /// if the session has ended.
    virtual std::span<const std::byte> handle(std::span<const std::byte> payload) = 0;

    /// Overwrites the last answer; called once it has been sent (SESS-6).
    virtual void forget() noexcept = 0;

    virtual bool finished() const = 0;
    /// Seconds spent in products so far.
    virtual double seconds() const = 0;

protected:
    DavidSession() = default;
};

/// A session on `model`, which outlives it. Lays the weights out for the products unless an earlier
/// session has.
std::unique_ptr<DavidSession> make_david_session(const DavidModel& model,
                                                 DavidSession::Tamper tamper = {});

/// Serves one session over a transport until it ends. Returns normally after CLOSE, ABORT or a
/// REFUSE that was sent; throws ProtocolError if the connection breaks.
void serve(DavidSession& session, Transport& transport);

/// David inside Charlie's process: what is sent is handled at once, what he answers is received.
class InProcessTransport : public Transport {
public:
    explicit InProcessTransport(DavidSession& session) : session_(session) {}
    void send(std::span<const std::byte> bytes) override;
    void receive(std::span<std::byte> bytes) override;

private:
    std::size_t handle_frames(std::span<const std::byte> bytes);

    DavidSession& session_;
    std::vector<std::byte> pending_;    // sent, not yet a whole frame
    std::span<const std::byte> reply_;  // answered, not yet received
};

}  // namespace slip::protocol
