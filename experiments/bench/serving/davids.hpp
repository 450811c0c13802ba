// Davids in processes of their own, over loopback TLS and in shared memory.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "experiments/measure/temporary_folder.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/protocol/david.hpp"
#include "slip/tls.hpp"

namespace slip::bench {

/// A child of this process that serves connections as David. Requires: this process has one thread
/// when the object is made.
class ForkedServer {
public:
    /// Forks a process that is bound to `processor`, calls `make`, and serves connections with the
    /// result. Returns once it listens.
    ForkedServer(std::size_t processor, const std::function<TlsServer::Serve()>& make);
    ForkedServer(const ForkedServer&) = delete;
    ForkedServer& operator=(const ForkedServer&) = delete;
    /// Ends the child.
    ~ForkedServer();

    /// Over TLS. May be called any number of times, from any thread, and in children of this
    /// process.
    std::unique_ptr<Transport> connect(const TimeLimits& limits = {}) const;
    /// The same in shared memory.
    std::unique_ptr<Transport> connect_in_memory(const TimeLimits& limits = {}) const;

private:
    std::filesystem::path socket() const { return certificates_.path() / "david"; }

    measure::TemporaryFolder certificates_;
    pid_t child_ = -1;
    unsigned short port_ = 0;
};

/// David with `model`, which outlives him.
std::unique_ptr<ForkedServer> fork_david(const protocol::DavidModel& model, std::size_t processor);

/// Bytes of a group's messages, frames included.
struct MessageBytes {
    std::size_t up = 0;    // APPLY
    std::size_t down = 0;  // REPLY
};

/// For messages of `columns` columns, one per group.
std::vector<MessageBytes> message_bytes(const kernels::OffloadedWeights& weights,
                                        std::size_t planes, std::size_t columns);

/// A David without arithmetic: takes as many bytes as an APPLY of every group in turn, and sends as
/// many as its REPLY. `groups` outlives the server.
TlsServer::Serve answer_bytes(const std::vector<MessageBytes>& groups);

}  // namespace slip::bench
