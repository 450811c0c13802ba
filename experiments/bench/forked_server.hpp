// Davids and other servers in processes of their own, over loopback TLS.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>

#include "optimized/protocol/david.hpp"
#include "property_tests/generators/temporary_directory.hpp"
#include "slip/tls.hpp"

namespace slip::bench {

/// Sends these bytes to the parent; to be called once.
using Tell = std::function<void(std::span<const std::byte>)>;
/// Forks a process that runs `work` and ends after it, or when this process ends. Returns once the
/// child has sent `told.size()` bytes. Throws InternalError if it ends without sending them.
pid_t fork_to_tell(std::span<std::byte> told, const std::function<void(const Tell&)>& work);

/// A child of this process that serves connections. Requires: this process has one thread when the
/// object is made.
class ForkedServer {
public:
    /// Forks a process that is bound to `processor`, calls `make`, and serves connections with the
    /// result, under a certificate of `role`. Returns once it listens.
    ForkedServer(ServerRole role, std::size_t processor,
                 const std::function<TlsServer::Serve()>& make);
    ForkedServer(const ForkedServer&) = delete;
    ForkedServer& operator=(const ForkedServer&) = delete;
    /// Ends the child.
    ~ForkedServer();

    /// May be called any number of times, from any thread, and in children of this process.
    std::unique_ptr<Transport> connect(const TimeLimits& limits = {}) const;
    /// Processor time that the child has spent so far.
    double seconds() const;

private:
    testing::TemporaryDirectory certificates_;
    ServerRole role_;
    pid_t child_ = -1;
    unsigned short port_ = 0;
};

/// D1 and D2 of `model`, which outlives them.
std::unique_ptr<ForkedServer> fork_david(const protocol::DavidModel& model, std::size_t processor);
std::unique_ptr<ForkedServer> fork_offline_david(const protocol::DavidModel& model,
                                                 std::size_t processor);

/// Calls `measure` in a child of this process and returns its result. Throws InternalError if it
/// throws. Requires: this process has one thread.
template <class Measure>
auto in_child(const Measure& measure) {
    decltype(measure()) result{};
    static_assert(std::is_trivially_copyable_v<decltype(result)>);
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(&result, 1));
    const pid_t child = fork_to_tell(bytes, [&](const Tell& tell) {
        result = measure();
        tell(bytes);
    });
    ::waitpid(child, nullptr, 0);
    return result;
}

}  // namespace slip::bench
