#include "experiments/attacks/victim.hpp"

#include <algorithm>
#include <deque>

#include "optimized/artifact/plan.hpp"
#include "optimized/engines/quantised_columns.hpp"
#include "optimized/graph/kv_cache.hpp"
#include "optimized/protocol/frames.hpp"
#include "slip/split.hpp"

namespace slip::attacks {

namespace wire = protocol::wire;

namespace {

constexpr std::size_t usual_rank = 8;

/// The residue that is 1 in plane p and 0 in the others.
std::uint64_t crt_weight(std::size_t p, std::size_t h) {
    const std::uint64_t prime = base::parameters::primes[p];
    const std::uint64_t others = base::parameters::modulus(h) / prime;
    std::uint64_t weight = others;
    while (weight % prime != 1) weight += others;
    return weight;
}

std::filesystem::path split_into(const std::filesystem::path& folder,
                                 const std::filesystem::path& model, const Plan& plan,
                                 const std::string& set) {
    SplitOptions options;
    options.plan = plan;
    options.out = folder / "split";
    options.set = set;
    split_checkpoint(model, options);
    return options.out;
}

Plan usual_plan(const std::filesystem::path& model) {
    Plan plan = uniform_plan(model, usual_rank);
    plan.push_back({std::nullopt, "lm_head", usual_rank});
    return plan;
}

}  // namespace

Victim::Victim(const std::filesystem::path& model, const Plan& plan, const std::string& set)
    : files_(split_into(folder_.path(), model, plan, set)),
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

std::vector<float> Victim::logits(base::Engine& engine, const std::vector<TokenId>& ids) const {
    graph::KvCache cache(config());
    graph::Workspace workspace;
    std::vector<float> logits;
    graph_->forward(engine, workspace, graph::BatchEntry{cache, ids, graph::Logits::last_position},
                    logits);
    return logits;
}

std::vector<std::vector<float>> Victim::logits(
    base::Engine& engine, std::span<const std::vector<TokenId>> prompts) const {
    constexpr std::size_t at_once = 50;
    graph::Workspace workspace;
    std::vector<float> logits;
    std::vector<std::vector<float>> all;
    while (all.size() < prompts.size()) {
        const auto chunk =
            prompts.subspan(all.size(), std::min(at_once, prompts.size() - all.size()));
        std::deque<graph::KvCache> caches;
        std::vector<graph::BatchEntry> batch;
        for (const std::vector<TokenId>& ids : chunk) {
            batch.push_back({caches.emplace_back(config()), ids, graph::Logits::last_position});
        }
        graph_->forward(engine, workspace, batch, logits);
        const auto of_prompt = static_cast<std::ptrdiff_t>(logits.size() / chunk.size());
        for (auto from = logits.begin(); from != logits.end(); from += of_prompt) {
            all.emplace_back(from, from + of_prompt);
        }
    }
    return all;
}

void TrueInputs::apply(base::GroupId group, base::MatrixView<const float> input,
                       std::span<const base::MatrixView<float>> outputs) {
    engines::QuantisedColumns columns;
    columns.assign(victim_.charlie().groups()[group], input);
    Message message{group, input.rows(), {}, std::vector<float>(input.rows(), 1)};
    message.planes = victim_.planes();
    for (const std::int16_t q : columns.values().elements()) {
        message.residues.push_back(embed(q, message.planes));
    }
    view_.push_back(std::move(message));
    inner_.apply(group, input, outputs);
}

const Victim& victim_of(const Setting& setting) {
    static const Victim victim(setting.model, usual_plan(setting.model));
    return victim;
}

const Victim& hidden_victim_of(const Setting& setting) {
    static const Victim victim(setting.model, {}, "hidden");
    return victim;
}

namespace {

/// `tamper` as a DavidSession has it: its errors are added mod L to the residues of a reply.
protocol::DavidSession::Tamper forgery(Tamper tamper, std::size_t h) {
    if (!tamper) return {};
    return [tamper = std::move(tamper), h](const wire::ColumnsHeader& header,
                                           std::span<std::uint8_t> answer) {
        std::vector<std::int64_t> error(answer.size() / h, 0);
        tamper(header.group, error);
        const std::size_t rows = error.size() / header.columns;
        for (std::size_t at = 0; at < answer.size(); ++at) {
            const std::size_t line = at / rows, column = line / h;
            const std::int64_t prime = base::parameters::primes[line % h];
            const std::int64_t sum = answer[at] + error[column * rows + at % rows] % prime + prime;
            answer[at] = static_cast<std::uint8_t>(sum % prime);
        }
    };
}

}  // namespace

/// David at the other end: what Charlie sends is recorded before David handles it.
class ProductSession::Wire : public protocol::InProcessTransport {
public:
    Wire(protocol::DavidSession& david, const protocol::DavidModel& model, View& view)
        : InProcessTransport(david),
          weights_(model.weights),
          planes_(model.set.planes),
          view_(view) {}

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
        message.planes = planes_;
        const auto bytes = wire::decode_residues(payload, header, planes_, rows);
        for (std::size_t c = 0; c < header.columns; ++c) {
            const auto column =
                residues_of(bytes.subspan(c * planes_ * rows, planes_ * rows), planes_);
            message.residues.insert(message.residues.end(), column.begin(), column.end());
        }
        view_.push_back(std::move(message));
    }

    const kernels::OffloadedWeights& weights_;
    const std::size_t planes_;
    View& view_;
};

ProductSession::ProductSession(const Victim& victim, Tamper tamper,
                               protocol::WrongPeers* wrong_peers)
    : victim_(victim),
      model_{victim.weights(), victim.david().set(), victim.david().digest()},
      david_(model_, forgery(std::move(tamper), model_.set.planes)),
      wire_(std::make_unique<Wire>(david_, model_, view_)) {
    protocol::SessionOptions options;
    options.stock.depth = 0;
    options.wrong_peers = wrong_peers;
    options.shared = victim.shared_secrets();
    engine_ = std::make_unique<engines::HybridEngine>(victim.charlie(), victim.weights(),
                                                      victim.integrity_check(), *wire_, options);
}

ProductSession::~ProductSession() = default;

std::vector<float> ProductSession::logits(const std::vector<TokenId>& ids) {
    return victim_.logits(*engine_, ids);
}

std::int64_t lift(std::uint64_t residue, std::size_t h) {
    const auto value = static_cast<std::int64_t>(residue);
    const auto L = static_cast<std::int64_t>(base::parameters::modulus(h));
    return value > L / 2 ? value - L : value;
}

std::uint64_t embed(std::int64_t value, std::size_t h) {
    const auto L = static_cast<std::int64_t>(base::parameters::modulus(h));
    return static_cast<std::uint64_t>(((value % L) + L) % L);
}

std::vector<std::uint64_t> residues_of(std::span<const std::uint8_t> column, std::size_t h) {
    const std::size_t n = column.size() / h;
    const std::uint64_t L = base::parameters::modulus(h);
    std::vector<std::uint64_t> residues(n, 0);
    for (std::size_t p = 0; p < h; ++p) {
        const std::uint64_t weight = crt_weight(p, h);
        for (std::size_t j = 0; j < n; ++j) {
            residues[j] += column[p * n + j] * weight;  // the sum stays below 2^58
        }
    }
    for (std::uint64_t& residue : residues) residue %= L;
    return residues;
}

std::vector<std::uint64_t> uniform_residues(std::size_t count, std::mt19937_64& random) {
    std::uniform_int_distribution<std::uint64_t> any(0, modulus - 1);
    std::vector<std::uint64_t> residues(count);
    for (std::uint64_t& residue : residues) residue = any(random);
    return residues;
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
