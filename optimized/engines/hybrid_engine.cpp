#include "optimized/engines/hybrid_engine.hpp"

#include <algorithm>

#include "optimized/artifact/layout.hpp"
#include "optimized/engines/shapes.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/secrets/weight_secrets.hpp"

namespace slip::engines {
namespace {

using artifact::CharlieGroup;
using artifact::CharlieMember;
using base::GroupId;
using base::MatrixView;
using base::ProductShape;
using Clock = Trace::Clock;
using Track = Trace::Track;

std::size_t stacked_rank(const CharlieGroup& group) {
    std::size_t rank = 0;
    for (const CharlieMember& member : group.members) rank += member.rank;
    return rank;
}

/// MODEL-22.
std::vector<protocol::ShardPeer> davids_of(
    const artifact::CharlieArtifact& charlie,
    const std::vector<std::unique_ptr<Transport>>& transports) {
    base::require(transports.size() == charlie.shards().size(),
                  "HybridEngine: expected a connection per shard");
    std::vector<protocol::ShardPeer> davids;
    GroupId first = 0;
    for (std::size_t i = 0; i < transports.size(); ++i) {
        davids.push_back({*transports[i], charlie.shards()[i].digest, first});
        first += static_cast<GroupId>(charlie.shards()[i].groups);
    }
    return davids;
}

}  // namespace

std::uint64_t charlie_multiplications_per_column(const CharlieGroup& group,
                                                 const base::parameters::ParameterSet& set) {
    const ProductShape shape = group.product();
    const std::uint64_t checked = shape.n + shape.rows + set.public_rows();
    std::uint64_t count = base::parameters::kappa * checked + 2 * shape.rows;
    for (const CharlieMember& member : group.members) {
        count += std::uint64_t{member.rank} * (group.n + member.shape.m);
    }
    if (artifact::layout::has_lattice_masks(set, group)) count += shape.n + shape.rows;  // MASK-10
    if (set.hides_weights) count += secrets::WeightSecrets::multiplications(set, shape.rows);
    return shape.inputs() + shape.positions() * count;
}

HybridEngine::HybridEngine(const artifact::CharlieArtifact& charlie,
                           const kernels::OffloadedWeights& weights,
                           const protocol::IntegrityCheck& check, Transport& transport,
                           const protocol::SessionOptions& options)
    : HybridEngine(charlie, weights, check,
                   std::vector<protocol::ShardPeer>{{transport, charlie.david_digest()}}, options) {
}

HybridEngine::HybridEngine(const artifact::CharlieArtifact& charlie,
                           const kernels::OffloadedWeights& weights,
                           const protocol::IntegrityCheck& check,
                           const std::vector<std::unique_ptr<Transport>>& transports,
                           const protocol::SessionOptions& options)
    : HybridEngine(charlie, weights, check, davids_of(charlie, transports), options) {}

HybridEngine::HybridEngine(const artifact::CharlieArtifact& charlie,
                           const kernels::OffloadedWeights& weights,
                           const protocol::IntegrityCheck& check,
                           const std::vector<protocol::ShardPeer>& davids,
                           const protocol::SessionOptions& options)
    : set_(charlie.set()),
      groups_(charlie.groups()),
      first_parts_(first_parts_of(charlie.groups())),
      session_(weights, check, charlie.set(), davids, options),
      factors_(set_.hides_weights ? std::vector<CharlieGroup>{} : charlie.groups()),
      trace_(options.trace) {}

void HybridEngine::apply(GroupId group, MatrixView<const float> input,
                         std::span<const MatrixView<float>> outputs) {
    base::require(group + 1 < first_parts_.size(), "HybridEngine::apply: no such group");
    const CharlieGroup& own = groups_[first_parts_[group]];
    require_group_shapes(
        inputs_of(own), own.members.size(), [&](std::size_t i) { return own.product(i).outputs(); },
        input, outputs);
    const base::WorkClock::Run working(session_.clock());
    if (trace_ && applied_at_) {
        trace_->add({Track::charlie, "graph", *applied_at_, Clock::now(), group, input.rows()});
    }
    for (GroupId part = first_parts_[group]; part < first_parts_[group + 1]; ++part) {
        // MODEL-3: a batch that outgrows one message is cut into several.
        const std::size_t largest = session_.max_columns_of(part);
        for (std::size_t first = 0; first < input.rows(); first += largest) {
            const std::size_t count = std::min(largest, input.rows() - first);
            exchange(part, input.rows_from(first, count), outputs, first);
        }
    }
    if (trace_) applied_at_ = Clock::now();
}

std::size_t HybridEngine::max_columns_of(GroupId group) const {
    std::size_t most = session_.max_columns_of(first_parts_.at(group));
    for (GroupId part = first_parts_[group]; part < first_parts_[group + 1]; ++part) {
        most = std::min(most, session_.max_columns_of(part));
    }
    return most;
}

base::TraceSpan HybridEngine::span(const char* what, GroupId id, std::size_t columns) const {
    return {trace_.get(), Track::charlie, what, id, columns};
}

/// One message and its reply; the outputs begin at row `first_column`.
void HybridEngine::exchange(GroupId id, MatrixView<const float> input,
                            std::span<const MatrixView<float>> outputs, std::size_t first_column) {
    const CharlieGroup& group = groups_[id];
    {
        const auto quantising = span("quantise", id, input.rows());
        quantised_.assign(group, input);
    }
    session_.send(id, quantised_.values());
    const auto z = low_rank_inner(id);
    receive_and_scale(id, z, outputs, first_column);
    charlie_multiplications_ += input.rows() * charlie_multiplications_per_column(group, set_);
    ProductShape davids_product = group.product();
    davids_product.rows += set_.public_rows();
    david_multiplications_ += input.rows() * davids_product.multiplications();
}

/// z = B q for every column and member, while David works (DECO-7); for every patch of an image
/// (CNN-5).
MatrixView<const std::int64_t> HybridEngine::low_rank_inner(GroupId id) {
    const CharlieGroup& group = groups_[id];
    const ProductShape shape = group.product();
    const auto q = quantised_.values();
    const auto multiplying = span("low-rank part", id, q.rows());
    const auto z = room_in(inner_, q.rows() * shape.positions(), stacked_rank(group));
    if (set_.hides_weights) return z;  // nothing of W' is kept apart
    std::int64_t* target = z.data();
    base::for_each_multiplied(shape, q.elements(), [&](auto columns, std::size_t /*first*/) {
        for (std::size_t at = 0; at < columns.size(); at += shape.n) {
            for (std::size_t i = 0; i < group.members.size(); ++i) {
                factors_.inner(id, i, columns.data() + at, target);
                target += group.members[i].rank;
            }
        }
    });
    return z;
}

/// LIN-2 and ENC-2: receives y_D and adds the low-rank part, y_int = 2^t y_D + A z, or receives
/// W' q, to which nothing is added; then the row's and the column's scale. A position of a
/// convolution is a column like another, and has the scale of its image.
void HybridEngine::receive_and_scale(GroupId id, MatrixView<const std::int64_t> z,
                                     std::span<const MatrixView<float>> outputs,
                                     std::size_t first_column) {
    const CharlieGroup& group = groups_[id];
    const ProductShape shape = group.product();
    const std::size_t positions = shape.positions();
    const auto y_david = room_in(products_, z.rows(), shape.rows);
    session_.receive({y_david.data(), z.rows() / positions, shape.outputs()});
    const auto adding = span("add and scale", id, z.rows() / positions);
    const auto y = room_in(integers_, 1, shape.rows).elements();
    for (std::size_t c = 0; c < z.rows(); ++c) {
        std::size_t row = 0;
        std::size_t component = 0;
        for (std::size_t i = 0; i < group.members.size(); ++i) {
            const CharlieMember& member = group.members[i];
            const std::size_t m = member.shape.m;
            const std::int64_t* product = y_david.row(c).data() + row;  // W' q, if hidden
            if (!set_.hides_weights) {
                factors_.outer(id, i, z.row(c).data() + component, product, y.data() + row);
                product = y.data() + row;
            }
            write(id, i, product, c / positions,
                  outputs[i].data() + (first_column * positions + c) * m);
            row += m;
            component += member.rank;
        }
    }
}

/// ENC-2 for a member and a column; a part after the first adds to the output (HIDE-7).
void HybridEngine::write(GroupId id, std::size_t member, const std::int64_t* y, std::size_t column,
                         float* output) {
    const CharlieMember& own = groups_[id].members[member];
    const bool adds = groups_[id].first_column > 0;
    float* const target = adds ? room_in(part_, 1, own.shape.m).data() : output;
    kernels::active().dequantise(y, own.row_scale.data(), quantised_.scale(column), own.shape.m,
                                 target);
    if (adds) kernels::active().floats.add(target, own.shape.m, output);
}

RunStatistics HybridEngine::statistics() const {
    RunStatistics statistics = session_.statistics();
    statistics.charlie_multiplications = charlie_multiplications_;
    statistics.david_multiplications = david_multiplications_;
    return statistics;
}

}  // namespace slip::engines
