#include "experiments/bench/serving/davids.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "experiments/bench/machine.hpp"
#include "optimized/base/error.hpp"
#include "optimized/protocol/frames.hpp"
#include "slip/shared_memory.hpp"

namespace slip::bench {
namespace {

using base::require;

/// Sends these bytes to the parent; to be called once.
using Tell = std::function<void(std::span<const std::byte>)>;

/// In the child.
[[noreturn]] void work_and_end(const std::function<void(const Tell&)>& work, ::pid_t parent,
                               int pipe) {
    try {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        work([&](std::span<const std::byte> bytes) {
            require(
                ::write(pipe, bytes.data(), bytes.size()) == static_cast<::ssize_t>(bytes.size()),
                "the pipe to the parent is gone");
        });
        ::_exit(0);
    } catch (const std::exception& error) {
        std::cerr << std::string("slip-bench: ") + error.what() + "\n";
    }
    ::_exit(1);
}

/// Forks a process that runs `work` and ends after it, or when this process ends. Returns once the
/// child has sent `told.size()` bytes. Throws InternalError if it ends without sending them.
::pid_t fork_to_tell(std::span<std::byte> told, const std::function<void(const Tell&)>& work) {
    std::array<int, 2> ends{};
    require(::pipe(ends.data()) == 0, "no pipe can be made");
    const ::pid_t parent = ::getpid();
    const ::pid_t child = ::fork();
    require(child >= 0, "no process can be made");
    if (child == 0) work_and_end(work, parent, ends[1]);
    ::close(ends[1]);
    const ::ssize_t size = ::read(ends[0], told.data(), told.size());
    ::close(ends[0]);
    if (size == static_cast<::ssize_t>(told.size())) return child;
    ::waitpid(child, nullptr, 0);
    throw InternalError("a process has ended before it was ready");
}

}  // namespace

ForkedServer::ForkedServer(std::size_t processor, const std::function<TlsServer::Serve()>& make) {
    make_keys(certificates_.path() / "tls");
    const auto port = std::as_writable_bytes(std::span(&port_, 1));
    child_ = fork_to_tell(port, [&](const Tell& tell) {
        bind_to_processor(processor);
        const auto report = [](const std::string& line) {
            std::cerr << "slip-bench: served: " + line + "\n";
        };
        const TlsServer::Serve serve = make();
        TlsServer over_tls({"127.0.0.1", "0"}, certificates_.path() / "tls/david", {}, serve,
                           report);
        SharedMemoryServer in_memory(socket(), std::nullopt, {}, serve, report);
        std::thread beside([&] { in_memory.run(); });
        port_ = over_tls.port();
        tell(port);
        over_tls.run();
        in_memory.stop();
        beside.join();
    });
}

ForkedServer::~ForkedServer() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
}

std::unique_ptr<Transport> ForkedServer::connect(const TimeLimits& limits) const {
    return connect_tls({"127.0.0.1", std::to_string(port_)}, certificates_.path() / "tls/charlie",
                       limits);
}

std::unique_ptr<Transport> ForkedServer::connect_in_memory(const TimeLimits& limits) const {
    return connect_shared_memory(socket(), limits);
}

std::unique_ptr<ForkedServer> fork_david(const protocol::DavidModel& model, std::size_t processor) {
    return std::make_unique<ForkedServer>(processor, [&] {
        return [&](Transport& charlie) {
            protocol::DavidSession session(model);
            protocol::serve(session, charlie);
        };
    });
}

std::vector<MessageBytes> message_bytes(const kernels::OffloadedWeights& weights,
                                        std::size_t planes, std::size_t columns) {
    const auto frame = [&](std::size_t elements) {
        return protocol::wire::columns_frame_bytes(columns * planes * elements);
    };
    std::vector<MessageBytes> groups;
    for (const kernels::GroupWeights& group : weights) {
        groups.push_back({frame(group.shape().inputs()), frame(group.shape().outputs())});
    }
    return groups;
}

TlsServer::Serve answer_bytes(const std::vector<MessageBytes>& groups) {
    return [&groups](Transport& charlie) {
        std::vector<std::byte> frame;
        try {
            for (std::size_t g = 0;; g = (g + 1) % groups.size()) {
                frame.resize(groups[g].up);
                charlie.await_frame();
                charlie.receive(frame);
                frame.resize(groups[g].down);
                charlie.send(frame);
            }
        } catch (const ProtocolError&) {  // Charlie has gone
        }
    };
}

}  // namespace slip::bench
