// The protocol as an engine. One message a group: quantise (ENC-1), mask and send (MASK-1),
// Charlie's low-rank part while David multiplies, receive, check and unmask (INTEG-3, MASK-4), add
// (LIN-2), dequantise (ENC-2). MODEL-1: every offloaded product goes this way, those of rank 0 too.
// LIN-4: every output equals UnsplitEngine's, bit for bit. MODEL-6: nothing here can reach W_D;
// only David and the session's offline work hold it.
#include <algorithm>
#include <chrono>

#include "optimized/engines/engines.hpp"
#include "optimized/engines/low_rank_factors.hpp"
#include "optimized/engines/quantised_tokens.hpp"
#include "optimized/engines/shapes.hpp"

namespace slip {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

std::size_t stacked_rank(const CharlieGroup& group) {
    std::size_t rank = 0;
    for (const CharlieMember& member : group.members) rank += member.rank;
    return rank;
}

}  // namespace

std::uint64_t charlie_multiplications_a_column(const CharlieGroup& group, Profile profile) {
    const std::uint64_t rows = group.stacked_rows();
    std::uint64_t count = kappa_of(profile) * (group.n + rows) + 2 * rows;
    for (const CharlieMember& member : group.members) {
        count += std::uint64_t{member.rank} * (group.n + member.shape.m);
    }
    return group.inputs() + group.positions() * count;
}

std::uint64_t david_multiplications_a_column(const CharlieGroup& group) {
    return std::uint64_t{group.n} * group.stacked_rows() * group.positions();
}

struct HybridEngine::State {
    State(const CharlieArtifact& artifact, CharlieSession& with_david)
        : charlie(artifact), session(with_david), factors(artifact.groups()) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    virtual ~State() = default;

    const CharlieArtifact& charlie;
    CharlieSession& session;
    const LowRankFactors factors;

    // Kept from message to message, so that decoding reserves no memory.
    QuantisedTokens tokens;
    SecretBuffer<std::int64_t> inner;     // B q: b rows, the members' ranks side by side; of a
                                          // convolution, b times its positions
    SecretBuffer<std::int64_t> integers;  // y_int of one token or position

    double apply_seconds = 0;
    double inner_seconds = 0;
    std::uint64_t charlie_multiplications = 0;
    std::uint64_t david_multiplications = 0;

    void exchange(GroupId id, MatrixView<const float> input,
                  std::span<const MatrixView<float>> outputs, std::size_t first_token);
    MatrixView<const std::int64_t> low_rank_inner(GroupId id);
    /// Receives y_D and adds the low-rank part; the outputs begin at row `first_token`.
    virtual void finish(GroupId id, MatrixView<const std::int64_t> z,
                        std::span<const MatrixView<float>> outputs, std::size_t first_token) = 0;
};

/// What depends on the profile: the products that come back.
template <class P>
struct HybridEngine::StateOf : State {
    using State::State;
    void finish(GroupId id, MatrixView<const std::int64_t> z,
                std::span<const MatrixView<float>> outputs, std::size_t first_token) override;

    SecretBuffer<typename P::Product> products;  // lift(y_D): b x M
};

HybridEngine::HybridEngine(const CharlieArtifact& charlie, CharlieSession& session) {
    require(charlie.profile() == session.profile(), "HybridEngine: a session of another profile");
    state_ = with_profile(charlie.profile(), [&](auto p) -> std::unique_ptr<State> {
        return std::make_unique<StateOf<decltype(p)>>(charlie, session);
    });
}

HybridEngine::~HybridEngine() = default;

void HybridEngine::apply(GroupId group, MatrixView<const float> input,
                         std::span<const MatrixView<float>> outputs) {
    require(group < state_->charlie.groups().size(), "HybridEngine::apply: no such group");
    const CharlieGroup& shape = state_->charlie.groups()[group];
    require_group_shapes(
        shape.inputs(), shape.members.size(), [&](std::size_t i) { return shape.outputs(i); },
        input, outputs);
    const auto start = Clock::now();
    // MODEL-3: a column a token; a batch that outgrows one message is cut into several.
    const std::size_t largest = state_->session.max_columns_of(group);
    for (std::size_t first = 0; first < input.rows(); first += largest) {
        const std::size_t count = std::min(largest, input.rows() - first);
        state_->exchange(group, input.rows_from(first, count), outputs, first);
    }
    state_->apply_seconds += seconds_since(start);
}

/// One message and its reply.
void HybridEngine::State::exchange(GroupId id, MatrixView<const float> input,
                                   std::span<const MatrixView<float>> outputs,
                                   std::size_t first_token) {
    const CharlieGroup& group = charlie.groups()[id];
    tokens.assign(group, input);
    session.send(id, tokens.values());
    const auto z = low_rank_inner(id);
    finish(id, z, outputs, first_token);
    charlie_multiplications +=
        input.rows() * charlie_multiplications_a_column(group, charlie.profile());
    david_multiplications += input.rows() * david_multiplications_a_column(group);
}

/// z = B q for every token and member, while David works (DECO-7); for every patch of an image
/// (CNN-5).
MatrixView<const std::int64_t> HybridEngine::State::low_rank_inner(GroupId id) {
    const CharlieGroup& group = charlie.groups()[id];
    const auto start = Clock::now();
    const auto q = tokens.values();
    const auto z = room_in(inner, q.rows() * group.positions(), stacked_rank(group));
    std::int64_t* target = z.data();
    for_each_multiplied(group.convolution, q.elements(), [&](auto columns, std::size_t /*first*/) {
        for (std::size_t at = 0; at < columns.size(); at += group.n) {
            for (std::size_t i = 0; i < group.members.size(); ++i) {
                factors.inner(id, i, columns.data() + at, target);
                target += group.members[i].rank;
            }
        }
    });
    inner_seconds += seconds_since(start);
    return z;
}

/// LIN-2 and ENC-2: y_int = 2^t y_D + A z, then the row's and the token's scale. A position of a
/// convolution is a column like another, and has the scale of its image.
template <class P>
void HybridEngine::StateOf<P>::finish(GroupId id, MatrixView<const std::int64_t> z,
                                      std::span<const MatrixView<float>> outputs,
                                      std::size_t first_token) {
    const CharlieGroup& group = charlie.groups()[id];
    const std::size_t rows = group.stacked_rows();
    const std::size_t positions = group.positions();
    const auto y_david = room_in(products, z.rows(), rows);
    session.receive({y_david.data(), z.rows() / positions, rows * positions});
    const auto y = room_in(integers, 1, rows).elements();
    for (std::size_t c = 0; c < z.rows(); ++c) {
        std::size_t row = 0;
        std::size_t component = 0;
        for (std::size_t i = 0; i < group.members.size(); ++i) {
            const CharlieMember& member = group.members[i];
            const std::size_t m = member.shape.m;
            factors.outer<P>(id, i, z.row(c).data() + component, y_david.row(c).data() + row,
                             y.data() + row);
            kernels::active().dequantise(y.data() + row, member.row_scale.data(),
                                         tokens.scale(c / positions), m,
                                         outputs[i].data() + (first_token * positions + c) * m);
            row += m;
            component += member.rank;
        }
    }
}

double HybridEngine::charlie_seconds() const {
    // The session waits from the last byte sent to the last byte received; in that time Charlie
    // multiplies by B. Masks that are made late are offline work all the same (MODEL-6).
    const SessionStatistics session = state_->session.statistics();
    const double idle = std::max(0.0, session.waiting_seconds - state_->inner_seconds);
    return state_->apply_seconds - idle - session.late_seconds;
}

std::uint64_t HybridEngine::charlie_multiplications() const {
    return state_->charlie_multiplications;
}

std::uint64_t HybridEngine::david_multiplications() const { return state_->david_multiplications; }

}  // namespace slip
