#include "tools/slip/model.hpp"

#include <algorithm>
#include <filesystem>

#include "optimized/engines/engines.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/net/tls.hpp"
#include "optimized/protocol/david.hpp"
#include "optimized/split/artifact.hpp"
#include "tools/slip/tls_flags.hpp"

namespace slip::tool {
namespace {

/// Charlie's parameters as the graph asks for them.
ParameterLookup lookup_in(const SafetensorsFile& file) {
    return [&file](std::string_view name, std::size_t elements) {
        std::vector<float> values = to_floats(file.tensor(name));
        if (values.size() == elements) return values;
        throw BadInput(file.path().string() + ": tensor " + std::string(name) + " has " +
                       std::to_string(values.size()) + " elements, but config.json implies " +
                       std::to_string(elements));
    };
}

ParameterLookup lookup_in(const Checkpoint& checkpoint) {
    return [&checkpoint](std::string_view name, std::size_t elements) {
        return checkpoint.floats(name, elements);
    };
}

/// Throws BadInput unless the artifact holds the groups that its config.json implies.
void require_groups_of_graph(const CharlieArtifact& charlie, const std::string& artifact) {
    const std::vector<GroupShape> expected = groups_of(charlie.config());
    const auto same = [](const CharlieMember& a, const MemberShape& b) {
        return a.shape.name() == b.name() && a.shape.m == b.m;
    };
    bool equal = charlie.groups().size() == expected.size();
    for (std::size_t g = 0; equal && g < expected.size(); ++g) {
        const CharlieGroup& group = charlie.groups()[g];
        equal = group.n == expected[g].n &&
                std::equal(group.members.begin(), group.members.end(), expected[g].members.begin(),
                           expected[g].members.end(), same);
    }
    if (!equal) throw BadInput(artifact + "/charlie: the matrices are not those of config.json");
}

class FloatModel : public Model {
public:
    explicit FloatModel(const std::filesystem::path& directory)
        : checkpoint_(directory),
          graph_(make_graph(checkpoint_.config(), lookup_in(checkpoint_))),
          engine_(groups_of(checkpoint_.config()), lookup_in(checkpoint_)) {
        engine_name_ = "float";
        // The engine counts elements; a matrix that is turned has as many.
        for (const GroupShape& group : groups_of(checkpoint_.config())) {
            for (const MemberShape& member : group.members) {
                checkpoint_.require_matrix(member, group.n);
            }
        }
        tokenizer_ = open_tokenizer(directory);
    }
    const LanguageModel& graph() const override { return *graph_; }
    Engine& engine() override { return engine_; }

private:
    Checkpoint checkpoint_;
    std::unique_ptr<LanguageModel> graph_;
    FloatEngine engine_;
};

/// Both halves of one split, and Charlie's graph over them.
class SplitModel : public Model {
public:
    explicit SplitModel(const std::string& artifact)
        : charlie_(artifact),
          david_(std::filesystem::path(artifact) / "david"),
          graph_(make_graph(charlie_.config(), lookup_in(charlie_.parameters()))) {
        require_groups_of_graph(charlie_, artifact);
        require_same_split(charlie_, david_);
        tokenizer_ = open_tokenizer(charlie_.directory());
    }
    const LanguageModel& graph() const override { return *graph_; }

protected:
    CharlieArtifact charlie_;
    DavidArtifact david_;
    std::unique_ptr<LanguageModel> graph_;
};

class UnsplitModel : public SplitModel {
public:
    explicit UnsplitModel(const std::string& artifact)
        : SplitModel(artifact), engine_(charlie_, david_) {
        engine_name_ = "unsplit";
    }
    Engine& engine() override { return engine_; }

private:
    UnsplitEngine engine_;
};

/// Where Charlie's David is: remote over TLS, or in this process if there is no endpoint.
struct DavidLocation {
    std::string name;  // as the user wrote it
    std::optional<Endpoint> endpoint;
    TlsOptions tls;
};

class HybridModel : public SplitModel {
public:
    HybridModel(const std::string& artifact, const DavidLocation& david, std::size_t masks_ready)
        : SplitModel(artifact), weights_(david_.weights()) {
        engine_name_ = "hybrid";
        if (david.endpoint) {
            transport_ = connect_tls(*david.endpoint, david.tls);
        } else {
            local_model_ = {weights_, david_.digest(), david_.profile()};
            local_david_ = std::make_unique<DavidSession>(local_model_);
            transport_ = std::make_unique<InProcessTransport>(*local_david_);
        }
        CharlieSession::Options options;
        options.profile = charlie_.profile();
        options.pool.depth = std::max(options.pool.depth, masks_ready);
        options.peer = david.name;  // INTEG-7
        session_ = std::make_unique<CharlieSession>(weights_, charlie_.david_digest(), *transport_,
                                                    options);
        engine_ = std::make_unique<HybridEngine>(charlie_, *session_);
    }
    Engine& engine() override { return *engine_; }
    void wait_until_ready(std::size_t masks_a_group) override {
        session_->wait_until_ready(masks_a_group);
    }
    RunStatistics statistics() const override;

private:
    OffloadedWeights weights_;
    DavidModel local_model_;
    std::unique_ptr<DavidSession> local_david_;  // null if David is remote
    std::unique_ptr<Transport> transport_;
    std::unique_ptr<CharlieSession> session_;
    std::unique_ptr<HybridEngine> engine_;
};

RunStatistics HybridModel::statistics() const {
    const SessionStatistics session = session_->statistics();
    RunStatistics run;
    run.rounds = session.rounds;
    run.bytes_up = session.bytes_up;
    run.bytes_down = session.bytes_down;
    run.checks = session.checks;
    run.charlie_seconds = engine_->charlie_seconds();
    run.david_seconds = session.waiting_seconds;
    if (local_david_) {  // he multiplies inside Charlie's send
        run.david_seconds = local_david_->seconds();
        run.charlie_seconds -= local_david_->seconds();
    }
    run.offline_seconds = session.offline_seconds;
    run.setup_seconds = session.setup_seconds;
    run.charlie_multiplications = engine_->charlie_multiplications();
    run.david_multiplications = engine_->david_multiplications();
    const std::size_t kappa = kappa_of(session_->profile());
    for (const auto& w : weights_) run.setup_multiplications += kappa * w.size();
    return run;
}

/// Flags that mean something beside --david only.
constexpr const char* remote_flags[] = {"tls", "timeout", "patience"};

DavidLocation david_of(const Options& options) {
    if (!options.has("david")) {
        for (const char* name : remote_flags) options.forbid(name, "without --david");
        return {};
    }
    if (!options.has("tls")) throw BadInput("--david needs --tls, the folder TLS/charlie");
    const std::string name = options.required("david");
    return {name, parse_endpoint(name, "--david"), tls_options(options, Role::charlie)};
}

}  // namespace

const Tokenizer& Model::tokenizer_for(const char* flag) const {
    if (tokenizer_) return *tokenizer_;
    throw BadInput(std::string(flag) +
                   " needs a tokenizer, and the model has neither tokenizer.model nor vocab.json "
                   "with merges.txt (tokenizer.json is not read)");
}

TokenId before_texts(const ModelConfig& config) {
    if (config.bos_token_id) return *config.bos_token_id;
    if (config.eos_token_id) return *config.eos_token_id;
    throw BadInput(
        "config.json names neither bos_token_id nor eos_token_id: nothing can stand "
        "before a text's first token");
}

void add_model_flags(Options& options) {
    options.add("model", "DIR", "Hugging Face checkpoint, for --engine float");
    options.add("artifact", "OUT", "what 'slip split' wrote, for --engine unsplit and hybrid");
    options.add("engine", "NAME",
                "float: the checkpoint in float32; unsplit: the integer model without a protocol; "
                "hybrid: the protocol");
    options.add("david", "HOST:PORT", "with hybrid: the remote David (default: in this process)");
    options.add("tls", "TLS/charlie", "with --david: Charlie's certificates");
    add_time_limits(options);
}

std::unique_ptr<Model> open_model(const Options& options, std::size_t masks_ready) {
    const std::string engine = options.required("engine");
    const std::string reason = "with --engine " + engine;
    if (engine != "hybrid") {
        options.forbid("david", reason);
        for (const char* name : remote_flags) options.forbid(name, reason);
    }
    if (engine == "float") {
        options.forbid("artifact", reason);
        return std::make_unique<FloatModel>(options.required("model"));
    }
    if (engine != "unsplit" && engine != "hybrid") {
        throw BadInput("--engine '" + engine + "': expected float, unsplit or hybrid");
    }
    options.forbid("model", reason);
    const std::string artifact = options.required("artifact");
    if (engine == "unsplit") return std::make_unique<UnsplitModel>(artifact);
    return std::make_unique<HybridModel>(artifact, david_of(options), masks_ready);
}

}  // namespace slip::tool
