// One direction of a connection through shared memory: spec/transport.md, SESS-11.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "optimized/net/deadline.hpp"

namespace slip::net {

/// What the two ends of a ring tell each other, in the shared memory itself, so that the peer may
/// write whatever he likes into it at any time. Positions count bytes, modulo 2^32.
struct RingPositions {
    alignas(64) std::atomic<std::uint32_t> written;
    alignas(64) std::atomic<std::uint32_t> read;
    /// Not 0: the end sleeps until the other one moves its position.
    alignas(64) std::atomic<std::uint32_t> reader_sleeps;
    alignas(64) std::atomic<std::uint32_t> writer_sleeps;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(RingPositions) == 256);

/// A ring as one of its ends sees it. The end that writes keeps its own position to itself and only
/// tells it; it reads the other's once per step and refuses one that cannot be. Bytes are copied
/// once, into memory of the reader's own, before anything looks at them.
class Ring {
public:
    enum class End { writer, reader };

    /// `data` has a power of two of bytes, at most 2^31. Both outlive it.
    Ring(End end, RingPositions& positions, std::span<std::byte> data)
        : end_(end), positions_(positions), data_(data) {}

    /// Bytes that can be written, or read, now. Throws ProtocolError if the peer's position
    /// went back, or past this end's.
    std::size_t available();
    /// Writes as much as available() says, at most all; returns how much.
    std::size_t write(std::span<const std::byte> bytes);
    /// Likewise.
    std::size_t read(std::span<std::byte> bytes);

    /// Sleeps until the peer has moved, somebody calls wake(), or so long. It may return early.
    void sleep(std::chrono::milliseconds limit);
    /// Wakes who sleeps at this end, from any thread.
    void wake() noexcept;

private:
    std::atomic<std::uint32_t>& own_position() const {
        return end_ == End::writer ? positions_.written : positions_.read;
    }
    std::atomic<std::uint32_t>& peer_position() const {
        return end_ == End::writer ? positions_.read : positions_.written;
    }
    void advance(std::size_t bytes);

    const End end_;
    RingPositions& positions_;
    const std::span<std::byte> data_;
    std::uint32_t own_ = 0;   // position, never read back
    std::uint32_t peer_ = 0;  // the last one that was accepted
};

}  // namespace slip::net
