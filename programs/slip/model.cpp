#include "programs/slip/model.hpp"

#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>
#include <vector>

#include "optimized/api/examine.hpp"
#include "optimized/api/offline_peer.hpp"
#include "optimized/net/slow_peer.hpp"
#include "programs/slip/printable.hpp"
#include "programs/slip/state_flag.hpp"
#include "programs/slip/tls_flags.hpp"
#include "slip/charlie.hpp"
#include "slip/error.hpp"
#include "slip/tls.hpp"

namespace slip::tool {
namespace {

/// Flags that mean something beside --david only.
constexpr const char* remote_flags[] = {"tls", "timeout", "patience", "offline"};

/// THREAT-2: Charlie's half is its owner's. A copy may have lost that, and still works.
void warn_of_readers(const std::filesystem::path& artifact) {
    const std::filesystem::path folder = artifact / "charlie";
    if (!api::others_may_read(folder)) return;
    std::cerr << "slip: warning: other users may read " << printable(folder.string())
              << ", which holds secrets: chmod -R go= on it\n";
}

/// Charlie's user learns what is being waited for when a wait has lasted so long.
constexpr std::chrono::seconds hint_after{30};

void hint(const Endpoint& david) {
    std::ostringstream line;  // one write: another thread may be writing too
    line << "slip: note: David at " << printable(describe(david)) << " has not answered for "
         << hint_after.count() << " s; waiting on, within --timeout and --patience\n";
    std::cerr << line.str() << std::flush;
}

void tell_busy(const Endpoint& david, const TimeLimits& limits) {
    std::cerr << "slip: note: David at " << printable(describe(david))
              << " is busy; asking him again for up to "
              << std::chrono::duration<double>(limits.timeout).count() << " s (--timeout)\n";
}

/// --offline, each time that it stands.
std::vector<Connect> offline_davids(const Options& options, const Endpoint& david) {
    std::vector<Connect> peers;
    for (const std::string& text : options.all("offline")) {
        peers.push_back(api::connect_offline(text, "--offline", &david, options.required("tls"),
                                             time_limits(options)));
    }
    return peers;
}

template <class Kind>
Kind open_hybrid(const Options& options, std::size_t masks_ready) {
    const std::string artifact = options.required("artifact");
    CharlieOptions charlie;
    charlie.masks_ready = masks_ready;
    charlie.note = [](const std::string& text) {
        std::cerr << "slip: warning: " << printable(text) << std::endl;
    };
    // A David in this process is no peer whose rejects are to be counted.
    if (options.has("david") || options.has("state")) charlie.state = state_folder(options);
    if (!options.has("david")) {
        for (const char* name : remote_flags) options.forbid(name, "without --david");
        return open_charlie_in_process<Kind>(artifact, charlie);
    }
    if (!options.has("tls")) throw BadInput("--david needs --tls, the folder TLS/charlie");
    const std::string david = options.required("david");
    const Endpoint endpoint = parse_endpoint(david, "--david");
    const std::string certificates = options.required("tls");
    const TimeLimits limits = time_limits(options);
    const auto slow = std::make_shared<net::SlowPeer>(hint_after, [endpoint] { hint(endpoint); });
    const Connect connect = [&]() -> std::unique_ptr<Transport> {
        return std::make_unique<net::WatchedTransport>(
            slow->during([&] { return connect_tls(endpoint, certificates, limits); }), slow);
    };
    charlie.busy_limit = limits.timeout;
    charlie.on_busy = [&] { tell_busy(endpoint, limits); };
    charlie.offline = offline_davids(options, endpoint);
    charlie.offline_patience = limits.patience;
    return open_charlie<Kind>(artifact, connect, charlie);
}

}  // namespace

void add_model_flags(Options& options) {
    options.add("model", "DIR", "Hugging Face checkpoint or an ONNX file, for --engine float");
    options.add("artifact", "OUT", "what 'slip split' wrote, for --engine unsplit and hybrid");
    options.add("engine", "NAME",
                "float: the checkpoint in float32; unsplit: the integer model without a protocol; "
                "hybrid: the protocol");
    options.add("david", "HOST:PORT",
                "with hybrid: the remote David (default: in this process); while he is busy, he is "
                "asked again until --timeout has passed");
    options.add("tls", "TLS/charlie", "with --david: Charlie's certificates");
    options.add_list("offline", "HOST:PORT",
                     "with --david: an offline David ('slip offline'), who computes the "
                     "cancellations; may be given several times (default: this process computes "
                     "them)");
    add_time_limits(options);
    add_state_flag(options);
}

template <class Kind>
Kind open_model(const Options& options, std::size_t masks_ready) {
    const std::string engine = options.required("engine");
    const std::string reason = "with --engine " + engine;
    if (engine != "hybrid") {
        options.forbid("david", reason);
        options.forbid("state", reason);
        for (const char* name : remote_flags) options.forbid(name, reason);
    }
    if (engine == "float") {
        options.forbid("artifact", reason);
        return open_checkpoint<Kind>(options.required("model"));
    }
    if (engine != "unsplit" && engine != "hybrid") {
        throw BadInput("--engine '" + engine + "': expected float, unsplit or hybrid");
    }
    options.forbid("model", reason);
    warn_of_readers(options.required("artifact"));
    if (engine == "unsplit") return open_unsplit<Kind>(options.required("artifact"));
    return open_hybrid<Kind>(options, masks_ready);
}

template LanguageModel open_model<LanguageModel>(const Options&, std::size_t);
template ImageClassifier open_model<ImageClassifier>(const Options&, std::size_t);

void require_tokenizer(const LanguageModel& model, const char* flag) {
    if (model.has_tokenizer()) return;
    throw BadInput(std::string(flag) +
                   " needs a tokenizer, and the model has none: neither tokenizer.json nor "
                   "tokenizer.model nor vocab.json with merges.txt");
}

}  // namespace slip::tool
