// Unix sockets by their names, and who is behind them: spec/transport.md, SESS-12.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "optimized/net/deadline.hpp"
#include "optimized/net/own_descriptor.hpp"

namespace slip::net {

/// Whom the system names as the peer of a connected Unix socket.
struct PeerProcess {
    pid_t process = -1;
    uid_t user = static_cast<uid_t>(-1);
};
PeerProcess peer_process(const OwnDescriptor& socket);

/// A socket that listens under a name until it is destroyed.
class NamedListener {
public:
    /// `others`: whether other users than this process's may open it, by the file's mode. Throws
    /// BadInput as SharedMemoryServer does.
    NamedListener(const std::filesystem::path& name, bool others);
    NamedListener(const NamedListener&) = delete;
    NamedListener& operator=(const NamedListener&) = delete;
    ~NamedListener();

    const OwnDescriptor& socket() const { return socket_; }

private:
    void bind();

    const std::filesystem::path name_;
    OwnDescriptor socket_;
    dev_t device_ = 0;  // of the file, which somebody may have replaced meanwhile
    ino_t file_ = 0;
};

/// A connection to who listens at `name`. Throws BadInput for a name that the system does not take,
/// and ProtocolError if nobody listens, if that takes until the deadline or `stop` (TimeLimits), or
/// unless whoever listens is the one user who may write in the folder.
OwnDescriptor connect_to(const std::filesystem::path& name, Clock::time_point deadline, int stop);

}  // namespace slip::net
