#include "optimized/api/opened_model.hpp"

#include <algorithm>

#include "optimized/artifact/artifact.hpp"
#include "optimized/engines/engines.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/protocol/david.hpp"

namespace slip {
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
void require_groups_of_graph(const CharlieArtifact& charlie) {
    const std::vector<GroupShape> expected = groups_in(charlie);
    const auto same = [](const CharlieMember& a, const MemberShape& b) {
        return a.shape.name() == b.name() && a.shape.m == b.m;
    };
    bool equal = charlie.groups().size() == expected.size();
    for (std::size_t g = 0; equal && g < expected.size(); ++g) {
        const CharlieGroup& group = charlie.groups()[g];
        equal = group.n == expected[g].n && group.convolution == expected[g].convolution &&
                std::equal(group.members.begin(), group.members.end(), expected[g].members.begin(),
                           expected[g].members.end(), same);
    }
    if (!equal) {
        throw BadInput(charlie.directory().string() +
                       ": the matrices are not those of config.json");
    }
}

class FloatModel : public OpenedModel {
public:
    explicit FloatModel(const std::filesystem::path& directory)
        : checkpoint_(directory), engine_(groups_in(checkpoint_), lookup_in(checkpoint_)) {
        make_graph_of(checkpoint_, lookup_in(checkpoint_));
        engine_name_ = "float";
        // The engine counts elements; a matrix that is turned has as many.
        for (const GroupShape& group : groups_in(checkpoint_)) {
            for (const MemberShape& member : group.members) {
                checkpoint_.require_matrix(member, group.n);
            }
        }
        tokenizer_ = open_tokenizer(directory);
    }
    Engine& engine() override { return engine_; }

private:
    Checkpoint checkpoint_;
    FloatEngine engine_;
};

/// Both halves of one split, and Charlie's graph over them.
class SplitModel : public OpenedModel {
public:
    explicit SplitModel(const std::filesystem::path& artifact)
        : charlie_(artifact), david_(artifact / "david") {
        make_graph_of(charlie_, lookup_in(charlie_.parameters()));
        require_groups_of_graph(charlie_);
        require_same_split(charlie_, david_);
        tokenizer_ = open_tokenizer(charlie_.directory());
    }

protected:
    CharlieArtifact charlie_;
    DavidArtifact david_;
};

class UnsplitModel : public SplitModel {
public:
    explicit UnsplitModel(const std::filesystem::path& artifact)
        : SplitModel(artifact), engine_(charlie_, david_) {
        engine_name_ = "unsplit";
    }
    Engine& engine() override { return engine_; }

private:
    UnsplitEngine engine_;
};

class HybridModel : public SplitModel {
public:
    HybridModel(const std::filesystem::path& artifact, const Connect& connect,
                const CharlieOptions& options)
        : SplitModel(artifact), weights_(david_.weights()) {
        engine_name_ = "hybrid";
        SessionOptions of_session;
        if (connect) {
            transport_ = connect();
        } else {
            of_session.limiter = nullptr;  // there is no peer
            local_model_ = {weights_, david_.digest(), david_.profile()};
            local_david_ = make_david_session(local_model_);
            transport_ = std::make_unique<InProcessTransport>(*local_david_);
        }
        of_session.pool.depth = std::max(of_session.pool.depth, options.masks_ready);
        engine_ = make_hybrid_engine(charlie_, weights_, *transport_, of_session);
    }
    Engine& engine() override { return *engine_; }
    void wait_until_ready(std::size_t masks_per_group) override {
        engine_->wait_until_ready(masks_per_group);
    }
    RunStatistics statistics() const override;

private:
    OffloadedWeights weights_;
    DavidModel local_model_;
    std::unique_ptr<DavidSession> local_david_;  // null if David is elsewhere
    std::unique_ptr<Transport> transport_;
    std::unique_ptr<HybridEngine> engine_;
};

RunStatistics HybridModel::statistics() const {
    const HybridStatistics hybrid = engine_->statistics();
    const SessionStatistics& session = hybrid.session;
    RunStatistics run;
    run.rounds = session.rounds;
    run.bytes_up = session.bytes_up;
    run.bytes_down = session.bytes_down;
    run.checks = session.checks;
    run.charlie_seconds = hybrid.charlie_seconds;
    run.david_seconds = session.waiting_seconds;
    if (local_david_) {  // he multiplies inside Charlie's send
        run.david_seconds = local_david_->seconds();
        run.charlie_seconds -= local_david_->seconds();
    }
    run.offline_seconds = session.offline_seconds;
    run.setup_seconds = session.setup_seconds;
    run.charlie_multiplications = hybrid.charlie_multiplications;
    run.david_multiplications = hybrid.david_multiplications;
    const std::size_t kappa = kappa_of(charlie_.profile());
    for (const auto& w : weights_) run.setup_multiplications += kappa * w.size();
    return run;
}

}  // namespace

const Transformer& OpenedModel::graph() const {
    if (graph_) return *graph_;
    throw BadInput("the model is a convolutional network, which takes images and no tokens");
}

const Cnn& OpenedModel::network() const {
    if (network_) return *network_;
    throw BadInput("the model is a language model, which takes tokens and no images");
}

const Tokenizer& OpenedModel::tokenizer_for(const std::string& what) const {
    if (tokenizer_) return *tokenizer_;
    throw BadInput(what +
                   " needs a tokenizer, and the model has neither tokenizer.model nor vocab.json "
                   "with merges.txt (tokenizer.json is not read)");
}

std::vector<TokenId> OpenedModel::encode_prompt(std::string_view text,
                                                const std::string& what) const {
    const ModelConfig& config = graph().config();
    std::vector<TokenId> ids = tokenizer_for(what).encode(text);
    // Where a family does not put BOS before texts, it is still the only way to begin with nothing.
    if (config.bos_token_id && (config.starts_with_bos() || ids.empty())) {
        ids.insert(ids.begin(), *config.bos_token_id);
    }
    return ids;
}

std::string continuation(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                         std::span<const TokenId> ids) {
    std::vector<TokenId> all(prompt.begin(), prompt.end());
    all.insert(all.end(), ids.begin(), ids.end());
    const std::string text = tokenizer.decode(all);
    return text.substr(std::min(text.size(), tokenizer.decode(prompt).size()));
}

std::unique_ptr<OpenedModel> open_float_model(const std::filesystem::path& checkpoint) {
    return std::make_unique<FloatModel>(checkpoint);
}

std::unique_ptr<OpenedModel> open_unsplit_model(const std::filesystem::path& artifact) {
    return std::make_unique<UnsplitModel>(artifact);
}

std::unique_ptr<OpenedModel> open_hybrid_model(const std::filesystem::path& artifact,
                                               const Connect& connect,
                                               const CharlieOptions& options) {
    return std::make_unique<HybridModel>(artifact, connect, options);
}

}  // namespace slip
