// How frames travel. The protocol sees a reliable, ordered stream of bytes and nothing else, so it
// runs unchanged over TLS, over a pipe and inside one process.
#pragma once

#include <cstddef>
#include <span>

namespace slip {

class Transport {
public:
    virtual ~Transport() = default;

    /// Sends all of `bytes`. Throws ProtocolError if the peer is gone.
    virtual void send(std::span<const std::byte> bytes) = 0;

    /// Fills all of `bytes`. Throws ProtocolError if the stream ends or times out before that.
    virtual void receive(std::span<std::byte> bytes) = 0;

    /// Called before a frame is received: the peer may be silent for as long as it computes, which
    /// is longer than it may pause in the middle of a frame. Waits for the first byte, or does
    /// nothing where there are no timeouts. Throws as receive() does.
    virtual void await_frame() {}
};

}  // namespace slip
