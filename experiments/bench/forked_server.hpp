// Davids, and whoever else listens, in processes of their own, over loopback TLS.
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

/// Tells the parent these bytes, once.
using Tell = std::function<void(std::span<const std::byte>)>;
/// Forks a process that does `work` and ends after it, or when this process ends. Returns when as
/// many bytes as `told` has were told. Throws InternalError if none were.
pid_t fork_to_tell(std::span<std::byte> told, const std::function<void(const Tell&)>& work);

/// A child of this process that serves connections. To be made while this process has one thread.
class ForkedServer {
public:
    /// Forks a process, bound to `processor`, that serves with what `make`, called there, returns,
    /// and shows a certificate of `role`. Returns when it listens.
    ForkedServer(ServerRole role, std::size_t processor,
                 const std::function<TlsServer::Serve()>& make);
    ForkedServer(const ForkedServer&) = delete;
    ForkedServer& operator=(const ForkedServer&) = delete;
    /// Ends the child.
    ~ForkedServer();

    /// Any number of times, from any thread, and from processes that this one forks.
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

/// What `measure` returns, called in a child of this process. Throws InternalError if it throws.
/// While this process has one thread.
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
