// A connection of two processes of one machine through shared memory: spec/transport.md, SESS-11.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string>

#include "optimized/net/deadline.hpp"
#include "optimized/net/shared_ring.hpp"
#include "slip/transport.hpp"

namespace slip::net {

/// A descriptor that is closed at the end.
class OwnDescriptor {
public:
    explicit OwnDescriptor(int number = -1) : number_(number) {}
    OwnDescriptor(OwnDescriptor&& other) noexcept;
    OwnDescriptor& operator=(OwnDescriptor&& other) noexcept;
    ~OwnDescriptor();
    int number() const { return number_; }

private:
    int number_;
};

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

    SharedMemoryConnection(Side side, OwnDescriptor socket, SharedRegion region,
                           const TimeLimits& limits);

    void send(std::span<const std::byte> bytes) override;
    void receive(std::span<std::byte> bytes) override;
    void await_frame() override;
    void interrupt() noexcept override;
    bool ended() noexcept override { return peer_ended(socket_.number()); }

private:
    void wait(Ring& ring, Clock::time_point deadline, const char* while_doing);

    const OwnDescriptor socket_;
    const SharedRegion region_;
    const TimeLimits limits_;
    Ring out_;
    Ring in_;
    std::atomic<bool> interrupted_ = false;
};

/// The first bytes on the socket, with the memory beside them.
void send_region(const OwnDescriptor& socket, const SharedRegion& region);
/// Waits for them. Throws ProtocolError if something else comes, or nothing before the deadline or
/// before `stop` (TimeLimits) is readable.
SharedRegion receive_region(const OwnDescriptor& socket, Clock::time_point deadline, int stop);

}  // namespace slip::net
