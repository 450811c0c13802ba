#include "experiments/attacks/victim.hpp"

#include <cmath>

#include "optimized/artifact/plan.hpp"
#include "optimized/graph/kv_cache.hpp"
#include "optimized/protocol/frames.hpp"
#include "slip/split.hpp"

namespace slip::attacks {

namespace wire = protocol::wire;

namespace {

constexpr std::size_t usual_rank = 8;

std::filesystem::path split_into(const std::filesystem::path& folder,
                                 const std::filesystem::path& model, const Plan& plan) {
    SplitOptions options;
    options.plan = plan;
    options.out = folder / "split";
    split_checkpoint(model, options);
    return options.out;
}

Plan usual_plan(const std::filesystem::path& model) {
    Plan plan = uniform_plan(model, usual_rank);
    plan.push_back({std::nullopt, "lm_head", usual_rank});
    return plan;
}

}  // namespace

Victim::Victim(const std::filesystem::path& model, const Plan& plan)
    : files_(split_into(folder_.path(), model, plan)),
      david_(&files_.david()),
      weights_(david_->weights()),
      graph_(graph::make_graph(files_.config(), files_.parameters(), files_.rows())) {}

Victim::Place Victim::find(const std::string& layer_type, std::optional<std::size_t> block) const {
    const auto& groups = charlie().groups();
    for (std::size_t g = 0; g < groups.size(); ++g) {
        std::size_t first_row = 0;
        for (std::size_t i = 0; i < groups[g].members.size(); ++i) {
            const base::MemberShape& shape = groups[g].members[i].shape;
            if (shape.layer_type == layer_type && shape.block == block) {
                return {static_cast<base::GroupId>(g), i, first_row};
            }
            first_row += shape.m;
        }
    }
    throw BadInput("the model has no matrix " + layer_type + ": expected one of the LLaMA family");
}

Eigen::MatrixXd Victim::residual(const Place& place) const {
    const artifact::CharlieGroup& group = charlie().groups()[place.group];
    const auto m = static_cast<Eigen::Index>(group.members[place.member].shape.m);
    Eigen::MatrixXd W_D(m, static_cast<Eigen::Index>(group.n));
    for (Eigen::Index i = 0; i < m; ++i) {
        const auto row = weights_[place.group].row(place.first_row + static_cast<std::size_t>(i));
        for (std::size_t j = 0; j < group.n; ++j) W_D(i, static_cast<Eigen::Index>(j)) = row[j];
    }
    return W_D;
}

Eigen::MatrixXd Victim::davids_part(const Place& place) const {
    const auto& scale = charlie().groups()[place.group].members[place.member].row_scale;
    Eigen::MatrixXd R = residual(place);
    for (Eigen::Index i = 0; i < R.rows(); ++i) {
        R.row(i) *= 65536.0 * static_cast<double>(scale[static_cast<std::size_t>(i)]);
    }
    return R;
}

Eigen::MatrixXd Victim::charlies_part(const Place& place) const {
    const artifact::CharlieGroup& group = charlie().groups()[place.group];
    const artifact::CharlieMember& member = group.members[place.member];
    const auto m = static_cast<Eigen::Index>(member.shape.m);
    const auto n = static_cast<Eigen::Index>(group.n);
    const auto k = static_cast<Eigen::Index>(member.rank);
    Eigen::MatrixXd A(m, k);
    Eigen::MatrixXd B(k, n);
    for (Eigen::Index c = 0; c < k; ++c) {
        const auto component = static_cast<std::size_t>(c);
        for (Eigen::Index i = 0; i < m; ++i) {
            const auto row = static_cast<std::size_t>(i);
            A(i, c) = static_cast<double>(member.row_scale[row]) * member.a(row, component);
        }
        for (Eigen::Index j = 0; j < n; ++j) {
            B(c, j) = member.b.row(component)[static_cast<std::size_t>(j)];
        }
    }
    return A * B;
}

std::vector<float> Victim::logits(graph::Engine& engine, const std::vector<TokenId>& ids) const {
    graph::KvCache cache(config());
    graph::Workspace workspace;
    std::vector<float> logits;
    graph_->forward(engine, workspace, graph::BatchEntry{cache, ids, graph::Logits::last_position},
                    logits);
    return logits;
}

const Victim& victim_of(const Setting& setting) {
    static const Victim victim(setting.model, usual_plan(setting.model));
    return victim;
}

namespace {

/// `tamper` as a DavidSession has it: its errors are added mod p to the residues of a reply.
protocol::DavidSession::Tamper forgery(Tamper tamper) {
    if (!tamper) return {};
    return [tamper = std::move(tamper)](const wire::ColumnsHeader& header,
                                        std::span<std::uint64_t> answer) {
        std::vector<std::int64_t> error(answer.size(), 0);
        tamper(header.group, error);
        for (std::size_t i = 0; i < answer.size(); ++i) {
            answer[i] = (answer[i] + embed(error[i])) % P31::p;
        }
    };
}

}  // namespace

/// David at the other end: what Charlie sends is recorded before David handles it.
class ProductSession::Wire : public protocol::InProcessTransport {
public:
    Wire(protocol::DavidSession& david, const kernels::OffloadedWeights& weights, View& view)
        : InProcessTransport(david), weights_(weights), view_(view) {}

    void send(std::span<const std::byte> frame) override {
        const auto payload = frame.subspan(wire::length_bytes);
        const bool masked = wire::frame_type(payload) == wire::FrameType::apply;
        if (masked) record(payload);
        InProcessTransport::send(frame);
        if (masked) view_.back().answered = Clock::now();
    }

private:
    void record(std::span<const std::byte> payload) {
        const auto header = wire::decode_columns_header(wire::FrameType::apply, payload);
        const std::size_t rows = weights_[header.group].shape().inputs();
        Message message{header.group, header.columns, {}, std::vector<float>(header.columns, 1)};
        message.residues.resize(header.columns * rows);
        wire::decode_residues<P31>(payload, header, rows, message.residues);
        view_.push_back(std::move(message));
    }

    const kernels::OffloadedWeights& weights_;
    View& view_;
};

ProductSession::ProductSession(const Victim& victim, Tamper tamper,
                               protocol::WrongPeers* wrong_peers)
    : victim_(victim) {
    model_.weights = victim.weights();
    model_.digest = victim.david().digest();
    david_ = protocol::make_david_session(model_, forgery(std::move(tamper)));
    wire_ = std::make_unique<Wire>(*david_, model_.weights, view_);
    protocol::SessionOptions options;
    options.pool.depth = 0;
    options.wrong_peers = wrong_peers;
    engine_ = engines::make_hybrid_engine(victim.charlie(), victim.weights(), *wire_, options);
}

ProductSession::~ProductSession() = default;

std::vector<float> ProductSession::logits(const std::vector<TokenId>& ids) {
    return victim_.logits(*engine_, ids);
}

std::int64_t lift(std::uint64_t residue) {
    const auto value = static_cast<std::int64_t>(residue);
    return value > static_cast<std::int64_t>(P31::p / 2) ? value - std::int64_t{P31::p} : value;
}

std::uint32_t embed(std::int64_t value) {
    const std::int64_t p = P31::p;
    return static_cast<std::uint32_t>(((value % p) + p) % p);
}

std::vector<TokenId> random_prompt(const base::ModelConfig& config, std::size_t count,
                                   std::mt19937_64& random) {
    std::vector<TokenId> ids;
    while (ids.size() < count) {
        const auto id = static_cast<TokenId>(random() % config.vocab_size);
        if (id > 2) ids.push_back(id);  // 0 to 2 are <unk>, BOS and EOS
    }
    return ids;
}

}  // namespace slip::attacks
