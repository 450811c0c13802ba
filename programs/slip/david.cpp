#include <pthread.h>
#include <signal.h>

#include <functional>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include "optimized/api/access.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/protocol/david.hpp"
#include "programs/slip/command.hpp"
#include "programs/slip/options.hpp"
#include "programs/slip/tls_flags.hpp"
#include "programs/slip/view_recording.hpp"
#include "slip/david.hpp"
#include "slip/error.hpp"
#include "slip/tls.hpp"

namespace slip::tool {
namespace {

/// Blocks SIGTERM and SIGINT in this thread and in every thread it starts from now on.
sigset_t block_stop_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    return signals;
}

/// Calls `stop` when one of the blocked `signals` arrives, or at the latest when it is destroyed.
class StopOnSignal {
public:
    StopOnSignal(const sigset_t& signals, std::function<void()> stop)
        : watcher_([signals, stop = std::move(stop)] {
              int signal = 0;
              sigwait(&signals, &signal);
              stop();
          }) {}
    StopOnSignal(const StopOnSignal&) = delete;
    StopOnSignal& operator=(const StopOnSignal&) = delete;
    ~StopOnSignal() {
        // Ends the wait if nothing else has: blocked in every thread, it is taken by sigwait.
        // NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread)
        pthread_kill(watcher_.native_handle(), SIGTERM);
        watcher_.join();
    }

private:
    std::thread watcher_;
};

/// The demonstration of a dishonest David: one residue of the session's first reply rises by one.
template <class P>
void flip(const protocol::wire::ColumnsHeader& header, std::span<std::uint64_t> residues) {
    if (header.sequence == 0) residues[0] = (residues[0] + 1) % P::p;
}

protocol::DavidSession::Tamper misbehaviour(const Options& options, Profile profile) {
    if (!options.has("misbehave")) return {};
    if (options.required("misbehave") != "flip") {
        throw BadInput("--misbehave '" + options.required("misbehave") + "': expected flip");
    }
    return profile == Profile::p61 ? flip<kernels::P61> : flip<kernels::P31>;
}

}  // namespace

int david(const Arguments& arguments) {
    Options options("david --artifact OUT/david --listen HOST:PORT --tls TLS/david",
                    "Serves David's half until SIGTERM or SIGINT. Prints \"listening on "
                    "HOST:PORT\" when it is\nready; port 0 takes a free one.");
    options.add("artifact", "OUT/david", "David's half; a folder with Charlie's is refused");
    options.add("listen", "HOST:PORT", "where Charlie connects");
    options.add("tls", "TLS/david", "David's certificates");
    options.add("max-sessions", "N", "sessions at one time (default 16)");
    options.add(
        "threads", "N",
        "threads that share a product (default: all processors); of several sessions they help "
        "one at a time");
    add_time_limits(options);
    options.add("misbehave", "flip",
                "change one residue of each session's first reply, to show that Charlie notices");
    options.add("record", "FILE",
                "for an audit: keep every masked residue that arrives, for `slip conform view`");
    if (!options.parse(arguments)) return 0;

    const Endpoint endpoint = parse_endpoint(options.required("listen"), "--listen");
    const std::string certificates = options.required("tls");
    const DavidOptions serving{options.number_or("threads", 0, 1, 1024),
                               options.number_or("max-sessions", 16, 1, 1024),
                               time_limits(options)};
    const David david(options.required("artifact"), serving);
    const protocol::DavidSession::Tamper tamper = misbehaviour(options, david.profile());
    kernels::active();  // a wrong SLIP_KERNELS is refused before anyone connects

    const sigset_t signals = block_stop_signals();
    std::unique_ptr<ViewRecording> recording;
    if (options.has("record")) {
        recording = std::make_unique<ViewRecording>(options.required("record"),
                                                    Access::model_of_sessions(david));
    }
    TlsServer server(
        endpoint, certificates, serving,
        [&](Transport& charlie) {
            if (!tamper && !recording) return david.serve(charlie);
            const auto session =
                protocol::make_david_session(Access::model_of_sessions(david), tamper);
            if (!recording) return protocol::serve(*session, charlie);
            RecordedTransport recorded(charlie, *recording);
            protocol::serve(*session, recorded);
        },
        [](const std::string& line) { std::cerr << "slip david: " + line + "\n"
                                                << std::flush; });
    const StopOnSignal stop_on_signal(signals, [&] { server.stop(); });
    std::cout << "listening on " << describe({endpoint.host, std::to_string(server.port())})
              << std::endl;
    server.run();
    if (recording) recording->finish();
    return 0;
}

}  // namespace slip::tool
