#include "experiments/bench/forked_david.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "experiments/bench/machine.hpp"
#include "optimized/base/error.hpp"
#include "slip/tls.hpp"

namespace slip::bench {
namespace {

using base::require;

/// A folder of its own, with a deployment's certificates, for as long as this lives.
class Certificates {
public:
    Certificates() {
        std::string pattern = (std::filesystem::temp_directory_path() / "slip-XXXXXX").string();
        require(::mkdtemp(pattern.data()) != nullptr, "no folder for certificates can be made");
        folder_ = pattern;
        make_keys(folder_ / "tls");
    }
    Certificates(const Certificates&) = delete;
    Certificates& operator=(const Certificates&) = delete;
    ~Certificates() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    std::filesystem::path of(const char* party) const { return folder_ / "tls" / party; }

private:
    std::filesystem::path folder_;
};

/// The child: says its port and serves until it is killed, or its parent ends in any way.
[[noreturn]] void serve_forever(const protocol::DavidModel& model, const Certificates& certificates,
                                std::size_t processor, ::pid_t parent, int port_pipe) {
    try {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        bind_to_processor(processor);
        TlsServer server(
            {"127.0.0.1", "0"}, certificates.of("david"), {},
            [&](Transport& transport) {
                const auto session = protocol::make_david_session(model);
                protocol::serve(*session, transport);
            },
            [](const std::string& line) { std::cerr << "slip-bench: David: " + line + "\n"; });
        const unsigned short port = server.port();
        if (::write(port_pipe, &port, sizeof port) == sizeof port) server.run();
    } catch (const std::exception& error) {
        std::cerr << std::string("slip-bench: David: ") + error.what() + "\n";
    }
    ::_exit(1);
}

}  // namespace

ForkedDavid::ForkedDavid(const protocol::DavidModel& model, std::size_t processor) {
    const Certificates certificates;
    std::array<int, 2> port_pipe{};
    require(::pipe(port_pipe.data()) == 0, "no pipe can be made");
    const ::pid_t parent = ::getpid();
    child_ = ::fork();
    require(child_ >= 0, "no process can be made");
    if (child_ == 0) serve_forever(model, certificates, processor, parent, port_pipe[1]);
    ::close(port_pipe[1]);
    unsigned short port = 0;
    const bool known = ::read(port_pipe[0], &port, sizeof port) == sizeof port;
    ::close(port_pipe[0]);
    require(known, "David's process has ended");
    connection_ = connect_tls({"127.0.0.1", std::to_string(port)}, certificates.of("charlie"));
}

ForkedDavid::~ForkedDavid() {
    connection_.reset();
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
}

}  // namespace slip::bench
