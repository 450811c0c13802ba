// Shared memory between two processes of one machine, which find each other by the name of a
// socket: spec/transport.md, SESS-11 and SESS-12.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "slip/david.hpp"
#include "slip/export.hpp"
#include "slip/transport.hpp"

namespace SLIP_API slip {

/// Charlie's side: the David who listens at `socket`. The peer's name is "shm:" and the name as it
/// is given (INTEG-7). Throws BadInput for a name that is empty or longer than the system takes,
/// and ProtocolError, naming the socket, if nobody listens there, if he does not take the memory
/// before limits.timeout has passed, or if others could have put a socket of theirs in its place.
[[nodiscard]] std::unique_ptr<Transport> connect_shared_memory(const std::filesystem::path& socket,
                                                               const TimeLimits& limits = {});

/// David's side: a TlsServer (tls.hpp) for the processes of this machine. Who may connect is this
/// process's user, root, and `peer_user`. A failed session is reported and hurts no other.
class SharedMemoryServer {
public:
    /// Serves one session; what it throws ends the connection and is reported.
    using Serve = std::function<void(Transport&)>;
    /// Gets a line about what ended badly, peer=PROCESS reason="TEXT", one call at a time.
    using Report = std::function<void(const std::string& line)>;

    /// Makes the socket, in the place of one whose process is gone. Throws BadInput, naming it, for
    /// a name that is longer than the system takes, for a folder in which other users may write,
    /// and where another process listens or another kind of file is. Connections wait until run().
    /// Of `options`, max_sessions and limits hold for this server. `peer_user`: a number of the
    /// system's.
    SharedMemoryServer(const std::filesystem::path& socket, std::optional<std::uint32_t> peer_user,
                       const DavidOptions& options, Serve serve, Report report);
    SharedMemoryServer(const SharedMemoryServer&) = delete;
    SharedMemoryServer& operator=(const SharedMemoryServer&) = delete;
    /// Removes the socket.
    ~SharedMemoryServer();
    /// Serves until stop(), and until every session has ended.
    void run();
    /// From any thread or a signal handler's thread: ends every connection, and run().
    void stop();

private:
    struct SLIP_HIDDEN State;
    std::unique_ptr<State> state_;
};

}  // namespace slip
