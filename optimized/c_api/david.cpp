// David, and the server of his sessions.
#include <memory>
#include <string>
#include <utility>

#include "optimized/c_api/handles.hpp"
#include "optimized/c_api/options.hpp"
#include "slip/slip.h"

namespace slip::c_api {
namespace {

struct HeldServer {
    HeldServer(const std::shared_ptr<HeldDavid>& held, const Endpoint& endpoint,
               const std::string& certificates, TlsServer::Report report)
        : server(
              endpoint, certificates, held->options,
              [held](Transport& charlie) { held->david.serve(charlie); }, std::move(report)) {}
    TlsServer server;
    std::atomic_flag begun;
};

using Servers = Handles<slip_server, HeldServer>;

}  // namespace
}  // namespace slip::c_api

using namespace slip::c_api;

extern "C" {

slip_status slip_open_david(const char* artifact, const slip_david_options* options,
                            slip_david** david) {
    return guarded([&] {
        const slip::DavidOptions serving = david_of(options);
        given(david, "david");
        slip::David opened(&given(artifact, "artifact"), serving);
        *david = Davids::all().add(std::make_shared<HeldDavid>(std::move(opened), serving));
    });
}

slip_status slip_free_david(slip_david* david) {
    return guarded([&] { Davids::all().remove(david); });
}

slip_status slip_serve_fd(slip_david* david, int input, int output) {
    std::shared_ptr<HeldDavid> held;
    const slip_status found = guarded([&] { held = Davids::all().find(david); });
    return guarded([&] {
        const auto limits = held ? held->options.limits : slip::TimeLimits{};
        const auto charlie = slip::open_pipe(input, output, limits);  // closes them in every case
        if (!held) throw StatusError(found, last_error());
        held->david.serve(*charlie);
    });
}

slip_status slip_open_server(slip_david* david, const char* endpoint, const char* certificates,
                             slip_report report, void* context, slip_server** server) {
    return guarded([&] {
        const auto held = Davids::all().find(david);
        const auto address = slip::parse_endpoint(&given(endpoint, "endpoint"), "endpoint");
        given(server, "server");
        *server = Servers::all().add(
            std::make_shared<HeldServer>(held, address, &given(certificates, "certificates"),
                                         [report, context](const std::string& line) {
                                             if (report != nullptr) report(context, line.c_str());
                                         }));
    });
}

slip_status slip_server_port(const slip_server* server, uint16_t* port) {
    return guarded([&] { given(port, "port") = Servers::all().find(server)->server.port(); });
}

slip_status slip_run_server(slip_server* server) {
    return guarded([&] {
        const auto held = Servers::all().find(server);
        if (held->begun.test_and_set()) throw StatusError(SLIP_BUSY, "the server was run before");
        held->server.run();
    });
}

slip_status slip_reload_server(slip_server* server) {
    return guarded([&] { Servers::all().find(server)->server.reload(); });
}

slip_status slip_stop_server(slip_server* server) {
    return guarded([&] { Servers::all().find(server)->server.stop(); });
}

slip_status slip_free_server(slip_server* server) {
    return guarded([&] { Servers::all().remove(server)->server.stop(); });
}

}  // extern "C"
