#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "optimized/api/access.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/protocol/david.hpp"
#include "programs/slip/command.hpp"
#include "programs/slip/support/david_serving.hpp"
#include "programs/slip/support/event_log.hpp"
#include "programs/slip/support/view_recording.hpp"
#include "slip/david.hpp"
#include "slip/error.hpp"

namespace slip::tool {
namespace {

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
        protocol::DavidSession session(model_, tamper_);
        if (recording_) {
            serve_recorded(session, noted);
        } else {
            protocol::serve(session, noted);
        }
        noted.require_not_refused();
    }
    const protocol::DavidModel& model() const { return model_; }
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

/// What he is and what he serves, for the log. The digest is that of Charlie's receipts.
EventLog::Fields about(const Options& options, const DavidOptions& serving,
                       const protocol::DavidModel& model) {
    const std::size_t threads = base::threads_or_all(serving.threads);
    return {{"role", "untrusted (David)"},
            {"ready", options.required("artifact")},
            {"digest", artifact::to_hex(model.digest)},
            {"set", std::string(model.set.name)},
            {"kernels", serving.gpu ? "gpu" : kernels::active().name},
            {"threads", std::uint64_t{threads}}};
}

}  // namespace

int david(const Arguments& arguments) {
    Options options(
        "david --artifact OUT/david (--tls TLS/david [--listen HOST:PORT] | --listen shm:NAME)",
        "Runs on the untrusted machine (David): multiplies by his half of a model, "
        "which hides the weights from him, until SIGTERM or SIGINT. Prints \"listening on "
        "HOST:PORT\" or \"listening on shm:NAME\" when it is ready; port 0 takes a free one. "
        "SIGHUP: the certificates of --tls are read again, or, if stderr is a terminal, as "
        "SIGTERM; under nohup nothing.");
    options.example("slip david --artifact split/david --tls tls/david --listen 0.0.0.0:7401");
    add_serving_flags(options);
    options.add("record", "FILE",
                "for an audit: keep every masked residue that arrives, for `slip conform view`");
    if (!options.parse(arguments)) return 0;

    where_to_listen(options);
    const DavidOptions serving = serving_options(options);
    const David david(options.required("artifact"), serving);
    const protocol::DavidSession::Tamper tamper = misbehaviour(options);
    kernels::active();  // a wrong SLIP_KERNELS is refused before anyone connects

    const sigset_t signals = block_stop_signals();
    Service service(david, tamper, options);
    serve_until_signal(
        options, signals, about(options, serving, service.model()),
        [&](Transport& charlie) { service.serve(charlie); },
        [&](std::function<void()> stop) { service.on_failure(std::move(stop)); });
    service.finish();
    return 0;
}

}  // namespace slip::tool
