// How frames travel. The protocol sees a reliable, ordered stream of bytes and nothing else, so it
// runs unchanged over TLS, over a pipe and inside one process.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "slip/export.hpp"

namespace SLIP_API slip {

/// One end of a connection, used by one thread at a time. Derive from it to carry a session over
/// what this library does not know.
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

    /// INTEG-7: the name under which this end reaches its peer, e.g. "host:port". After a wrong
    /// reply the process opens no further session over a transport with the same name. It must not
    /// come from the peer, who would change it, nor change from one connection to the next. All
    /// transports of a process that do not override this share one name.
    virtual std::string peer_name() const { return unnamed; }
    /// The name of transports that do not override peer_name().
    static constexpr const char* unnamed = "a peer without a name";

    /// Makes a call that waits, and every later one, fail; from any thread. A transport that does
    /// not override this ends its waits by its own time limits only.
    virtual void interrupt() noexcept {}

    /// Whether the peer has ended the connection, asked while nothing is due from him. Never waits;
    /// false where that cannot be seen.
    virtual bool ended() noexcept { return false; }
};

/// SESS-8: nobody waits without end.
struct TimeLimits {
    /// The limit of connecting, a handshake, one send, and a frame that has begun; a second more
    /// for each MiB. Over TLS also until the peer's machine, as opposed to the peer, acknowledges
    /// what it gets.
    std::chrono::milliseconds timeout{30000};
    /// How long the peer may be silent between two frames: David computes, Charlie's user thinks.
    std::chrono::milliseconds patience{600000};
    /// Over TLS and in shared memory: how long a wait for the peer spins, yielding to other
    /// threads, before it sleeps. A thread that spins sees the answer sooner than one that has to
    /// be woken, so 0 saves processor time and costs speed.
    std::chrono::microseconds awake{2000};
    /// A descriptor, such as an eventfd, that outlives the connection: once it is readable, every
    /// wait fails. -1: there is none.
    int stop = -1;
};

/// A transport that reads from `input` and writes to `output`: the ends of two pipes, or one
/// connected stream socket given twice. It owns both descriptors, closes them at its end, and sets
/// O_NONBLOCK on them. The end of the stream is a ProtocolError and raises no SIGPIPE. Who can read
/// the stream sees what David sees; who can write to it can end the session. Throws BadInput if a
/// descriptor is not open. All such transports share one peer name: after a wrong reply over one,
/// this process opens no further session over any of them (INTEG-7).
[[nodiscard]] std::unique_ptr<Transport> open_pipe(int input, int output,
                                                   const TimeLimits& limits = {});

/// SESS-11: Charlie's end of a connection through shared memory with the process at the other end
/// of `socket`, a connected Unix socket of the kind SOCK_STREAM, which the transport owns. He makes
/// the memory and sends it over the socket, which afterwards tells when the peer is gone. Throws
/// ProtocolError if the system has no memory or the peer is gone. All such transports share one
/// peer name, as those of open_pipe().
[[nodiscard]] std::unique_ptr<Transport> offer_shared_memory(int socket,
                                                             const TimeLimits& limits = {});
/// David's end. Waits for the memory until limits.timeout has passed; throws ProtocolError if it
/// does not come or is not what offer_shared_memory() makes.
[[nodiscard]] std::unique_ptr<Transport> accept_shared_memory(int socket,
                                                              const TimeLimits& limits = {});

/// The two ends of one connection, for two threads, or for two processes after a fork: then each
/// process destroys the end that it does not use. Throws ProtocolError if the system has no more
/// descriptors.
[[nodiscard]] std::pair<std::unique_ptr<Transport>, std::unique_ptr<Transport>> make_transport_pair(
    const TimeLimits& limits = {});

}  // namespace slip
