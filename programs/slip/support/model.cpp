#include "programs/slip/support/model.hpp"

#include <chrono>
#include <iostream>
#include <memory>
#include <utility>

#include "programs/slip/support/printable.hpp"
#include "programs/slip/support/tls_flags.hpp"
#include "slip/charlie.hpp"
#include "slip/error.hpp"

namespace slip::tool {
namespace {

/// Flags that mean something beside --david only.
constexpr const char* remote_flags[] = {"tls", "timeout", "patience"};

/// `davids`: one per shard, of whom one is busy.
void tell_busy(const std::vector<Address>& davids, const TimeLimits& limits) {
    std::cerr << "slip: note: David at ";
    const char* before = "";
    for (const Address& david : davids) {
        std::cerr << std::exchange(before, " or ") << printable(describe(david));
    }
    std::cerr << " is busy; asking him again for up to "
              << std::chrono::duration<double>(limits.timeout).count() << " s (--timeout)\n";
}

/// What applies with a remote David and with one in this process.
CharlieOptions charlie_options(const Options& options, std::size_t masks_ready,
                               std::shared_ptr<Trace> trace) {
    CharlieOptions charlie;
    constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
    charlie.mask_memory = options.number_or("mask-memory", 0, 1, std::uint64_t{1} << 24) * mebibyte;
    charlie.masks_ready = masks_ready;
    charlie.trace = std::move(trace);
    charlie.seal = options.file_or_none("seal");
    charlie.note = [](const std::string& text) {
        std::cerr << "slip: warning: " << printable(text) << std::endl;
    };
    return charlie;
}

template <class Kind>
Kind open_hybrid(const Options& options, std::size_t masks_ready,
                 std::shared_ptr<ShardDavids> davids, std::shared_ptr<Trace> trace) {
    const std::string artifact = options.required("artifact");
    CharlieOptions charlie = charlie_options(options, masks_ready, std::move(trace));
    if (!options.has("david")) {
        for (const char* name : remote_flags) options.forbid(name, "without --david");
        return open_charlie_in_process<Kind>(artifact, charlie);
    }
    if (!davids) {
        const TimeLimits limits = time_limits(options);
        davids = std::make_shared<ShardDavids>(options, limits);
        charlie.busy_limit = limits.timeout;
        charlie.on_busy = [davids, limits] { tell_busy(davids->current(), limits); };
    }
    return open_charlie<Kind>(artifact, davids->connects(), charlie);
}

}  // namespace

void add_model_flags(Options& options) {
    options.group("Model");
    options.add("artifact", "OUT", "what 'slip split' wrote");
    options.add(
        "model", "DIR",
        "instead: a Hugging Face folder, a GGUF file or an ONNX file, which is run without a "
        "split");
    options.add(
        "engine", "NAME",
        "hybrid (the default with --artifact): the protocol; unsplit: the artifact's integer "
        "model in one place; float (the default with --model): the checkpoint in float32");
    options.add("audit", "DIR",
                "with --engine unsplit and a hidden split: the folder that 'slip split --audit' "
                "made, which holds the integer model");
    options.add("seal", "KEYFILE",
                "with hybrid: the key that 'slip split --seal' sealed the artifact's hints with");
    options.add("mask-memory", "MIB",
                "with hybrid: memory for lattice masks, made ahead of use; all sets but paper have "
                "them (default: six fifths of a block of 256 per group)");
    options.group("The untrusted machine (David)");
    options.add_list("david", address_form,
                     "where 'slip david' listens: over TLS, or on this machine beside a socket of "
                     "this name, in shared memory (default: David is played in this process, which "
                     "protects nothing); while he is busy, "
                     "he is asked again until --timeout has passed; given several times, the next "
                     "one is asked when one cannot be reached, is busy, or has sent a wrong reply; "
                     "of a split in N shards, the first N have one each, and so have the next N");
    options.add("tls", "TLS/charlie",
                "with --david HOST:PORT: certificates of this machine, the trusted one (Charlie)");
    add_time_limits(options);
}

std::string engine_of(const Options& options) {
    const bool checkpoint = options.has("model") && !options.has("artifact");
    return options.text_or("engine", checkpoint ? "float" : "hybrid");
}

template <class Kind>
Kind open_model(const Options& options, std::size_t masks_ready,
                std::shared_ptr<ShardDavids> davids, std::shared_ptr<Trace> trace) {
    const std::string engine = engine_of(options);
    const std::string reason = "with --engine " + engine;
    if (engine != "hybrid") {
        options.forbid("david", reason);
        for (const char* name : remote_flags) options.forbid(name, reason);
        options.forbid("mask-memory", reason);
        options.forbid("seal", reason);
    }
    if (engine == "float") {
        options.forbid("artifact", reason);
        options.forbid("audit", reason);
        return open_checkpoint<Kind>(options.required("model"));
    }
    if (engine != "unsplit" && engine != "hybrid") {
        throw BadInput("--engine '" + engine + "': expected float, unsplit or hybrid");
    }
    options.forbid("model", reason);
    if (!options.has("artifact")) {
        throw BadInput("--artifact is missing, or --model for --engine float; see --help");
    }
    if (engine == "unsplit") {
        return open_unsplit<Kind>(options.required("artifact"), options.text_or("audit", ""));
    }
    options.forbid("audit", reason);
    return open_hybrid<Kind>(options, masks_ready, std::move(davids), std::move(trace));
}

template LanguageModel open_model<LanguageModel>(const Options&, std::size_t,
                                                 std::shared_ptr<ShardDavids>,
                                                 std::shared_ptr<Trace>);
template ImageClassifier open_model<ImageClassifier>(const Options&, std::size_t,
                                                     std::shared_ptr<ShardDavids>,
                                                     std::shared_ptr<Trace>);

void require_tokenizer(const LanguageModel& model, const char* flag) {
    if (model.has_tokenizer()) return;
    throw BadInput(std::string(flag) +
                   " needs a tokenizer, and the model has none: neither tokenizer.json nor "
                   "tokenizer.model nor vocab.json with merges.txt");
}

}  // namespace slip::tool
