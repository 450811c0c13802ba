#include "programs/slip/support/david_serving.hpp"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "optimized/base/parameters.hpp"
#include "programs/slip/support/tls_flags.hpp"
#include "slip/error.hpp"
#include "slip/shared_memory.hpp"

namespace slip::tool {
namespace {

namespace wire = protocol::wire;

void flip(const wire::ColumnsHeader& header, std::span<std::uint8_t> residues) {
    if (header.sequence != 0) return;
    residues[0] = static_cast<std::uint8_t>((residues[0] + 1) % base::parameters::primes[0]);
}

std::optional<std::uint32_t> peer_user(const Options& options) {
    if (!options.has("peer-user")) return std::nullopt;
    const std::string user = options.required("peer-user");
    if (user.empty() || user.find_first_not_of("0123456789") != std::string::npos) {
        if (const passwd* const found = ::getpwnam(user.c_str())) return found->pw_uid;
        throw BadInput("--peer-user '" + user + "': there is no such user");
    }
    return options.number("peer-user", 0, std::numeric_limits<std::uint32_t>::max() - 1);
}

bool is_refusal(std::span<const std::byte> frame) {
    return frame.size() > wire::length_bytes &&
           frame[wire::length_bytes] == static_cast<std::byte>(wire::FrameType::refuse);
}

/// The fields of what a server reports: peer=ADDRESS reason="TEXT".
EventLog::Fields fields_of(const std::string& line) {
    const std::string peer = "peer=", reason = " reason=\"";
    const std::size_t end = line.find(reason);
    if (!line.starts_with(peer) || end == std::string::npos) return {{"reason", line}};
    const std::size_t begin = end + reason.size();
    return {{"peer", line.substr(peer.size(), end - peer.size())},
            {"reason", line.substr(begin, line.size() - begin - 1)}};
}

/// Whether a load balancer's probe has caused this: a connection from `host` that went in the TLS
/// handshake, or showed no certificate.
bool is_probe(const EventLog::Fields& fields, const std::string& host) {
    constexpr std::array ends{"the peer ended the connection", "Connection reset by peer",
                              "peer did not return a certificate"};
    const auto text = [](const EventLog::Value& value) { return std::get<std::string>(value); };
    if (fields.size() != 2 || !text(fields[0].second).starts_with(host + ":")) return false;
    const std::string reason = text(fields[1].second);
    return std::any_of(ends.begin(), ends.end(), [&](const char* end) {
        return reason == "the TLS handshake failed: " + std::string(end);
    });
}

}  // namespace

void add_serving_flags(Options& options) {
    options.add("artifact", "OUT/david", "David's half; a folder with Charlie's is refused");
    options.add("listen", address_form,
                "where the trusted machine (Charlie) connects (default 127.0.0.1:7401, which this "
                "machine alone reaches); shm:NAME: a socket of this name, for processes of this "
                "machine, and shared memory without TLS; nobody else may write in its folder");
    options.add("tls", "TLS/david",
                "with HOST:PORT: certificates of this machine, the untrusted one (David)");
    options.add("peer-user", "USER",
                "with shm:NAME: the user who may connect, by name or number, besides root and "
                "whoever runs this");
    options.group("Limits and speed");
    options.add("max-sessions", "N", "sessions at one time (default 16)");
    options.add(
        "threads", "N",
        "threads that share a product (default: all processors); of several sessions they help "
        "one at a time");
    options.add_switch("gpu",
                       "multiply on the first NVIDIA GPU, of compute capability 8.0 or later");
    add_time_limits(options);
    add_log_flags(options);
    options.add("probes-from", "ADDRESS",
                "with HOST:PORT: no line for a connection from this address, a load balancer's, "
                "that ends in "
                "its TLS handshake without a certificate");
    options.group("Audits and demonstrations");
    options.add("misbehave", "flip",
                "change one residue of each session's first reply, to show that Charlie notices");
}

Address where_to_listen(const Options& options) {
    Address address = parse_address(options.text_or("listen", "127.0.0.1:7401"), "--listen");
    if (address.in_memory()) {
        options.forbid("tls", "with --listen shm:NAME");
        options.forbid("probes-from", "with --listen shm:NAME");
        peer_user(options);  // a wrong one is refused before anything is loaded
        return address;
    }
    options.forbid("peer-user", "without --listen shm:NAME");
    options.required("tls");
    return address;
}

DavidOptions serving_options(const Options& options) {
    return {options.number_or("threads", 0, 1, 1024),
            options.number_or("max-sessions", 16, 1, 1024), time_limits(options),
            options.has("gpu")};
}

protocol::DavidSession::Tamper misbehaviour(const Options& options) {
    if (!options.has("misbehave")) return {};
    if (options.required("misbehave") != "flip") {
        throw BadInput("--misbehave '" + options.required("misbehave") + "': expected flip");
    }
    return flip;
}

void NotedRefusal::send(std::span<const std::byte> bytes) {
    connection_.send(bytes);
    if (is_refusal(bytes)) refused_ = wire::decode_refuse(bytes.subspan(wire::length_bytes));
}

void NotedRefusal::require_not_refused() const {
    if (refused_) throw ProtocolError("refused: " + std::string(wire::describe(*refused_)));
}

namespace {

/// Until one of `signals` comes. Logs `about` with `address`, and prints that.
template <class Server>
void run(Server& server, const std::string& address, const sigset_t& signals,
         std::function<void()> reload, EventLog::Fields about, EventLog& log) {
    const StopOnSignal stop_on_signal(signals, {[&] { server.stop(); }, {}, std::move(reload)});
    about.emplace_back("listening", address);
    log.add(about);
    std::cout << "listening on " << address << std::endl;
    server.run();
}

void reload(TlsServer& server, EventLog& log) {
    try {
        server.reload();
        log.add({{"note", "the certificates were read again"}});
    } catch (const BadInput& error) {
        log.add({{"note", "the certificates stay as they were: " + std::string(error.what())}});
    }
}

}  // namespace

void serve_until_signal(const Options& options, const sigset_t& signals, EventLog::Fields about,
                        TlsServer::Serve serve,
                        const std::function<void(std::function<void()> stop)>& on_server) {
    const Address address = where_to_listen(options);
    EventLog log("david", log_format(options));
    const std::string prober = options.text_or("probes-from", "");
    const auto report = [&](const std::string& line) {
        const EventLog::Fields fields = fields_of(line);
        if (prober.empty() || !is_probe(fields, prober)) log.add_limited(fields);
    };
    if (address.in_memory()) {
        SharedMemoryServer server(address.socket, peer_user(options), serving_options(options),
                                  std::move(serve), report);
        on_server([&] { server.stop(); });
        const auto no_certificates = [] {};
        return run(server, describe(address), signals, no_certificates, std::move(about), log);
    }
    TlsServer server(address.endpoint, options.required("tls"), serving_options(options),
                     std::move(serve), report);
    on_server([&] { server.stop(); });
    const Endpoint bound{address.endpoint.host, std::to_string(server.port())};
    const auto certificates = [&] { reload(server, log); };
    run(server, slip::describe(bound), signals, certificates, std::move(about), log);
}

}  // namespace slip::tool
