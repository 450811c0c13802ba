// A connection of two processes of one machine through shared memory: spec/transport.md, SESS-11.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "optimized/net/awake.hpp"
#include "optimized/net/deadline.hpp"
#include "optimized/net/own_descriptor.hpp"
#include "optimized/net/shared_ring.hpp"
#include "slip/transport.hpp"

namespace slip::net {

/// The memory of a connection: the positions of two rings, then their data. Its size is sealed, so
/// that no peer takes a page away under who reads it.
class SharedRegion {
public:
    static constexpr std::size_t ring_bytes = std::size_t{1} << 20;  // in each direction
    static constexpr std::size_t head_bytes = 4096;
    static constexpr std::size_t bytes = head_bytes + 2 * ring_bytes;

    /// New memory. Throws ProtocolError if the system has none.
    SharedRegion();
    /// What the peer has sent. Throws ProtocolError unless it has this size and is sealed so.
    explicit SharedRegion(OwnDescriptor memory);
    SharedRegion(SharedRegion&& other) noexcept;
    SharedRegion& operator=(SharedRegion&&) = delete;
    ~SharedRegion();

    const OwnDescriptor& memory() const { return memory_; }
    /// One end of a direction: 0 is from Charlie to David, 1 from David to Charlie.
    Ring ring(Ring::End end, std::size_t direction) const;

private:
    void map();

    OwnDescriptor memory_;
    std::byte* start_ = nullptr;
};

/// A blocking transport. One thread uses it; interrupt() may come from another. The socket beside
/// the memory carries nothing after the beginning: it tells when the peer's process is gone.
class SharedMemoryConnection : public Transport {
public:
    enum class Side { charlie, david };

    /// `name`: peer_name().
    SharedMemoryConnection(Side side, OwnDescriptor socket, SharedRegion region,
                           const TimeLimits& limits, std::string name = Transport::unnamed);

    void send(std::span<const std::byte> bytes) override;
    void receive(std::span<std::byte> bytes) override;
    void await_frame() override;
    std::string peer_name() const override { return name_; }
    void interrupt() noexcept override;

    /// Reads what the peer still sends until he ends the connection, for a second at most, so that
    /// he comes to read what was sent last (SESS-9).
    void finish() noexcept;
    bool ended() noexcept override { return peer_ended(socket_.number()); }

private:
    void wait(Ring& ring, Clock::time_point deadline, const char* while_doing);

    const OwnDescriptor socket_;
    const SharedRegion region_;
    const TimeLimits limits_;
    Awake awake_;
    const std::string name_;
    Ring out_;
    Ring in_;
    std::atomic<bool> interrupted_ = false;
};

/// The first bytes on the socket, with the memory beside them.
void send_region(const OwnDescriptor& socket, const SharedRegion& region);
/// Waits for them, and calls `heard` when something has come. Throws ProtocolError if something
/// else comes, or nothing before the deadline or before `stop` (TimeLimits) is readable.
SharedRegion receive_region(const OwnDescriptor& socket, Clock::time_point deadline, int stop,
                            const std::function<void()>& heard = {});

/// SESS-12: the same bytes as an answer, once the memory is mapped, and their receipt.
void confirm_region(const OwnDescriptor& socket);
void await_confirmation(const OwnDescriptor& socket, Clock::time_point deadline, int stop);

}  // namespace slip::net
