// David: multiplies masked columns by the matrices that he holds, W_D or, of the hidden split,
// W_t = [A ; U], and knows nothing else. spec/session.md; spec/linear.md, LIN-1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "optimized/base/growing_buffer.hpp"
#include "optimized/base/worker_team.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/protocol/frames.hpp"
#include "slip/transport.hpp"

namespace slip::protocol {

/// What David holds: shared by all his sessions, never copied (SESS-6).
struct DavidModel {
    kernels::OffloadedWeights weights;
    base::parameters::ParameterSet set{};
    Digest digest{};
    base::WorkerTeam* team = nullptr;  // shares the products of all sessions; outlives them
};

/// One session: frames in, frames out. Not thread-safe; one per connection.
class DavidSession {
public:
    /// Sees every reply's residues before they are sent. Absent in honest service; the
    /// demonstration of a dishonest David and the tests put their faults here.
    using Tamper = std::function<void(const wire::ColumnsHeader&, std::span<std::uint8_t>)>;

    /// `model` outlives the session. Lays the weights out for the products unless an earlier
    /// session has.
    explicit DavidSession(const DavidModel& model, Tamper tamper = {});
    DavidSession(const DavidSession&) = delete;
    DavidSession& operator=(const DavidSession&) = delete;
    /// Whatever has ended the session: what was not sent is forgotten too (SESS-6).
    ~DavidSession() { forget(); }

    /// The largest payload (bytes after the length field) that the session's state allows (WIRE-9).
    std::size_t max_payload() const;

    /// Handles one payload (a frame without its length field) and returns the whole frame to send
    /// back, valid until the next call; empty after CLOSE and ABORT. Never throws for what a peer
    /// sends: a bad frame gives REFUSE and ends the session (SESS-1, SESS-4). Throws ProtocolError
    /// if the session has ended, and what David himself fails with, which ends it (SESS-13).
    std::span<const std::byte> handle(std::span<const std::byte> payload);

    /// Overwrites the last answer; called once it has been sent (SESS-6).
    void forget() noexcept;

    bool finished() const { return finished_; }
    /// Seconds spent in products so far.
    double seconds() const { return seconds_; }

private:
    void answer(std::span<const std::byte> payload);
    void answer_hello(const wire::Hello& hello);
    void answer_apply(std::span<const std::byte> payload);
    void answer_products(const wire::ColumnsHeader& header, std::span<const std::uint8_t> columns);
    void answer_with(std::span<const std::byte> frame);
    void refuse(wire::Refusal reason);
    void require_canonical(wire::FrameType type, std::span<const std::byte> payload);

    const DavidModel& model_;
    const Tamper tamper_;
    std::size_t max_apply_ = 0;  // the largest payload of an APPLY
    bool serving_ = false;       // HELLO has come
    bool finished_ = false;
    std::uint64_t next_sequence_ = 0;
    base::GrowingBuffer<std::byte>
        answer_;          // as large as the largest so far, zero between messages
    double seconds_ = 0;  // spent in products
};

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
