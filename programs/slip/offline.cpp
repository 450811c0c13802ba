#include "optimized/protocol/offline_david.hpp"

#include "optimized/api/access.hpp"
#include "optimized/kernels/registry.hpp"
#include "programs/slip/command.hpp"
#include "programs/slip/serving.hpp"
#include "slip/david.hpp"

namespace slip::tool {

int offline(const Arguments& arguments) {
    Options options(
        "offline --artifact OUT/david --listen HOST:PORT --tls TLS/offline",
        "Computes cancellations for Charlie (his --offline) until SIGTERM, SIGINT or SIGHUP. "
        "Prints "
        "\"listening on\nHOST:PORT\" when it is ready; port 0 takes a free one. The views of this "
        "process and of David together reveal\nCharlie's activations: the two need owners who "
        "never "
        "share them.");
    add_serving_flags(
        options, "TLS/offline",
        "change one residue of each connection's first answer, to show that Charlie notices");
    if (!options.parse(arguments)) return 0;

    parse_endpoint(options.required("listen"), "--listen");
    options.required("tls");
    const OfflineDavid david(options.required("artifact"), serving_options(options));
    const auto tamper = misbehaviour(options, david.profile());
    kernels::active();  // a wrong SLIP_KERNELS is refused before anyone connects

    const sigset_t signals = block_stop_signals();
    const protocol::DavidModel& model = Access::model_of_sessions(david);
    serve_until_signal(options, "offline", signals, ServerRole::offline, [&](Transport& charlie) {
        NotedRefusal noted(charlie);
        protocol::serve(*protocol::make_offline_session(model, tamper), noted);
        noted.require_not_refused();
    });
    return 0;
}

}  // namespace slip::tool
