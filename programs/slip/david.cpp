#include <pthread.h>
#include <signal.h>

#include <exception>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "optimized/api/access.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/protocol/david.hpp"
#include "optimized/protocol/frames.hpp"
#include "programs/slip/command.hpp"
#include "programs/slip/david_log.hpp"
#include "programs/slip/options.hpp"
#include "programs/slip/tls_flags.hpp"
#include "programs/slip/view_recording.hpp"
#include "slip/david.hpp"
#include "slip/error.hpp"
#include "slip/tls.hpp"

namespace slip::tool {
namespace {

namespace wire = protocol::wire;

/// Blocks SIGTERM, SIGINT and SIGHUP in this thread and in every thread it starts from now on. A
/// SIGHUP that is ignored, as under nohup, stays ignored.
sigset_t block_stop_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    struct sigaction at_hangup {};
    sigaction(SIGHUP, nullptr, &at_hangup);
    if (at_hangup.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);
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
void flip(const wire::ColumnsHeader& header, std::span<std::uint64_t> residues) {
    if (header.sequence == 0) residues[0] = (residues[0] + 1) % P::p;
}

protocol::DavidSession::Tamper misbehaviour(const Options& options, Profile profile) {
    if (!options.has("misbehave")) return {};
    if (options.required("misbehave") != "flip") {
        throw BadInput("--misbehave '" + options.required("misbehave") + "': expected flip");
    }
    return profile == Profile::p61 ? flip<kernels::P61> : flip<kernels::P31>;
}

/// A session that David refuses has ended badly, although its connection has not.
class NotedRefusal : public Transport {
public:
    explicit NotedRefusal(Transport& connection) : connection_(connection) {}

    void send(std::span<const std::byte> bytes) override {
        connection_.send(bytes);
        if (is_refusal(bytes)) refused_ = wire::decode_refuse(bytes.subspan(wire::length_bytes));
    }
    void receive(std::span<std::byte> bytes) override { connection_.receive(bytes); }
    void await_frame() override { connection_.await_frame(); }

    /// Throws ProtocolError with the reason if the session was refused.
    void require_not_refused() const {
        if (refused_) throw ProtocolError("refused: " + std::string(wire::describe(*refused_)));
    }

private:
    static bool is_refusal(std::span<const std::byte> frame) {
        return frame.size() > wire::length_bytes &&
               wire::frame_type(frame.subspan(wire::length_bytes)) == wire::FrameType::refuse;
    }

    Transport& connection_;
    std::optional<wire::Refusal> refused_;
};

/// Serves sessions, and records them if the user asks for it.
class Service {
public:
    Service(const David& david, protocol::DavidSession::Tamper tamper, const Options& options)
        : model_(Access::model_of_sessions(david)), tamper_(std::move(tamper)) {
        if (options.has("record")) recording_.emplace(options.required("record"), model_);
    }

    /// `stop` is called when something cannot be recorded: what goes on would be missing.
    void on_failure(std::function<void()> stop) { stop_ = std::move(stop); }

    void serve(Transport& charlie) {
        NotedRefusal noted(charlie);
        const auto session = protocol::make_david_session(model_, tamper_);
        if (recording_) {
            serve_recorded(*session, noted);
        } else {
            protocol::serve(*session, noted);
        }
        noted.require_not_refused();
    }
    /// Keeps the recording. Throws BadInput if it is not whole.
    void finish() {
        const std::lock_guard lock(mutex_);
        if (failure_) std::rethrow_exception(failure_);
        if (recording_) recording_->finish();
    }

private:
    void serve_recorded(protocol::DavidSession& session, Transport& charlie) {
        RecordedTransport recorded(charlie, *recording_);
        try {
            protocol::serve(session, recorded);
        } catch (const BadInput&) {  // not the peer's doing
            {
                const std::lock_guard lock(mutex_);
                if (!failure_) failure_ = std::current_exception();
            }
            stop_();
            throw;
        }
    }

    const protocol::DavidModel& model_;
    const protocol::DavidSession::Tamper tamper_;
    std::optional<ViewRecording> recording_;
    std::function<void()> stop_;
    std::mutex mutex_;
    std::exception_ptr failure_;
};

}  // namespace

int david(const Arguments& arguments) {
    Options options("david --artifact OUT/david --listen HOST:PORT --tls TLS/david",
                    "Serves David's half until SIGTERM, SIGINT or SIGHUP. Prints \"listening on "
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
    signal(SIGPIPE, SIG_IGN);  // of a log whose reader is gone
    Service service(david, tamper, options);
    DavidLog log;
    TlsServer server(
        endpoint, certificates, serving, [&](Transport& charlie) { service.serve(charlie); },
        [&](const std::string& line) { log.tell(line); });
    service.on_failure([&] { server.stop(); });
    const StopOnSignal stop_on_signal(signals, [&] { server.stop(); });
    std::cout << "listening on " << describe({endpoint.host, std::to_string(server.port())})
              << std::endl;
    server.run();
    service.finish();
    return 0;
}

}  // namespace slip::tool
