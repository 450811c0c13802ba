#include "optimized/api/runtime.hpp"

#include <algorithm>
#include <atomic>

#include "optimized/api/retry_while_busy.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/engines/engines.hpp"
#include "optimized/engines/hybrid_engine.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/masks/mask_supply.hpp"
#include "optimized/protocol/david.hpp"

namespace slip::api {
namespace {

using base::Engine;

class FloatRuntime : public Runtime {
public:
    explicit FloatRuntime(const CheckpointFiles& files)
        : engine_(groups_in(files.checkpoint()), files.parameters()) {
        // The engine counts elements; a matrix that is turned has as many.
        for (const base::GroupShape& group : groups_in(files.checkpoint())) {
            for (const base::MemberShape& member : group.members) {
                files.checkpoint().require_matrix(member, group.n);
            }
        }
    }
    base::Engine& engine() override { return engine_; }

private:
    engines::FloatEngine engine_;
};

template <class OwnEngine>
class UnsplitRuntime : public Runtime {
public:
    template <class... Parts>
    explicit UnsplitRuntime(const Parts&... parts) : engine_(parts...) {}
    base::Engine& engine() override { return engine_; }

private:
    OwnEngine engine_;
};

/// A David inside Charlie's process.
struct LocalDavid {
    explicit LocalDavid(const artifact::DavidArtifact& artifact)
        : model{artifact.weights(), artifact.set(), artifact.digest()}, session(model) {}
    protocol::DavidModel model;
    protocol::DavidSession session;
};

class HybridRuntime : public Runtime {
public:
    /// With the Davids to whom `transports` lead, one per shard.
    HybridRuntime(const SplitFiles& files, std::vector<std::unique_ptr<Transport>> transports,
                  const CharlieOptions& options)
        : weights_(files.weights_of_uniform_masks()), transports_(std::move(transports)) {
        engine_ = std::make_unique<engines::HybridEngine>(files.charlie(), weights_,
                                                          files.integrity_check(), transports_,
                                                          session_options(files, options));
        files.charlie().parameters().forget_pages();  // the factors were copied; the rest is little
    }
    /// With a David of its own, who has all shards.
    HybridRuntime(const SplitFiles& files, const CharlieOptions& options)
        : weights_(files.weights_of_uniform_masks()),
          local_david_(std::make_unique<LocalDavid>(files.david())) {
        protocol::SessionOptions session = session_options(files, options);
        session.wrong_peers = nullptr;  // there is no peer
        transports_.push_back(
            std::make_unique<protocol::InProcessTransport>(local_david_->session));
        engine_ = std::make_unique<engines::HybridEngine>(
            files.charlie(), weights_, files.integrity_check(), *transports_.front(), session);
        files.charlie().parameters().forget_pages();
    }
    base::Engine& engine() override { return *engine_; }
    void wait_for_masks(std::size_t masks_per_group) override {
        engine_->wait_until_ready(masks_per_group);
    }
    RunStatistics statistics() const override;
    bool has_session() const override { return true; }
    bool session_ended() const override {
        return std::ranges::any_of(transports_, [](const auto& link) { return link->ended(); });
    }
    base::StockLevel stock() const override { return engine_->stock(); }
    std::size_t columns_per_message(base::GroupId group) const override {
        return engine_->max_columns_of(group);
    }

private:
    static protocol::SessionOptions session_options(const SplitFiles& files,
                                                    const CharlieOptions& options) {
        protocol::SessionOptions session;
        session.stock.depth = options.masks_ready > 0 ? options.masks_ready : default_masks_ready;
        session.trace = options.trace;
        session.shared = files.shared_secrets(options.mask_memory, options.trace);
        return session;
    }

    const kernels::OffloadedWeights weights_;
    std::unique_ptr<LocalDavid> local_david_;  // null if David is elsewhere
    std::vector<std::unique_ptr<Transport>> transports_;
    std::unique_ptr<engines::HybridEngine> engine_;
};

RunStatistics HybridRuntime::statistics() const {
    RunStatistics run = engine_->statistics();
    if (local_david_) run.david_seconds = local_david_->session.seconds();
    return run;
}

/// A number that nothing would read is not ignored but refused.
void require_masks_of(const SplitFiles& files, const CharlieOptions& options) {
    if (options.masks_ready > most_masks_ready) {
        throw BadInput("masks_ready is " + std::to_string(options.masks_ready) +
                       ": expected 1 to " + std::to_string(most_masks_ready) +
                       " masks per group, or 0 for " + std::to_string(default_masks_ready));
    }
    const std::string charlie = files.charlie().folder().string();
    if (options.masks_ready > 0 && !files.has_uniform_masks()) {
        throw BadInput(charlie +
                       ": has only lattice masks: expected no number of masks that are kept ready "
                       "(masks_ready, --masks) but the memory for them (mask_memory, "
                       "--mask-memory), or neither");
    }
    if (options.mask_memory > 0 && !files.has_lattice_masks()) {
        throw BadInput(charlie +
                       ": has only uniform masks: expected no memory for lattice masks "
                       "(mask_memory, --mask-memory) but a number of masks that are kept ready "
                       "(masks_ready, --masks), or neither");
    }
}

/// THREAT-3, once in a process.
void tell_of_swap(const CharlieOptions& options) {
    static std::atomic<bool> told = false;
    if (!options.note || !base::secrets_may_be_swapped() || told.exchange(true)) return;
    options.note(
        "the limit of locked memory (RLIMIT_MEMLOCK) is too low for all keys, masks and the "
        "check's secret; some of them may be written to swap");
}

}  // namespace

std::unique_ptr<Runtime> make_float_runtime(const CheckpointFiles& files) {
    return std::make_unique<FloatRuntime>(files);
}

std::unique_ptr<Runtime> make_unsplit_runtime(const SplitFiles& files,
                                              const std::filesystem::path& audit) {
    const std::string charlie = files.charlie().folder().string();
    if (!files.charlie().set().hides_weights) {
        if (!audit.empty()) {
            throw BadInput(charlie + ": both halves make up the integer model: expected no audit");
        }
        return std::make_unique<UnsplitRuntime<engines::UnsplitEngine>>(files.charlie(),
                                                                        files.david());
    }
    if (audit.empty()) {
        throw BadInput(charlie +
                       ": the hidden split does not show the integer model: expected the folder "
                       "that 'slip split --audit' made (open_unsplit(), --audit)");
    }
    return std::make_unique<UnsplitRuntime<engines::HiddenModelEngine>>(files.charlie(),
                                                                        files.audit(audit));
}

std::unique_ptr<Runtime> make_hybrid_runtime(const SplitFiles& files,
                                             const std::vector<Connect>& connects,
                                             const CharlieOptions& options) {
    require_masks_of(files, options);
    if (connects.size() != files.charlie().shards().size()) {
        throw BadInput(files.charlie().folder().string() + ": was split for " +
                       std::to_string(files.charlie().shards().size()) +
                       " Davids: expected a connection to each, not " +
                       std::to_string(connects.size()));
    }
    auto runtime = retry_while_busy(options.busy_limit, options.on_busy, [&] {
        std::vector<std::unique_ptr<Transport>> transports;
        for (const Connect& connect : connects) {
            base::require(connect != nullptr, "open_charlie: no connection was given");
            transports.push_back(connect());
            base::require(transports.back() != nullptr, "open_charlie: no transport was given");
        }
        return std::make_unique<HybridRuntime>(files, std::move(transports), options);
    });
    tell_of_swap(options);
    return runtime;
}

std::unique_ptr<Runtime> make_hybrid_runtime(const SplitFiles& files,
                                             const CharlieOptions& options) {
    require_masks_of(files, options);
    auto runtime = std::make_unique<HybridRuntime>(files, options);
    tell_of_swap(options);
    return runtime;
}

}  // namespace slip::api
