#include "experiments/measure/counts.hpp"

#include <set>
#include <utility>

#include "optimized/artifact/layout.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/engines/hybrid_engine.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/masks/lattice_stock.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/split/hint.hpp"
#include "optimized/split/shards.hpp"

namespace slip::measure {

base::ModelConfig config_of(const Shape& shape) {
    base::ModelConfig config;
    config.hidden_size = shape.hidden;
    config.intermediate_size = shape.intermediate;
    config.num_hidden_layers = shape.blocks;
    config.num_attention_heads = shape.heads;
    config.num_key_value_heads = shape.key_value_heads;
    config.head_dim = shape.head_width();
    config.vocab_size = shape.vocabulary;
    return config;
}

ScheduleShape schedule_of(const artifact::CharlieArtifact& charlie) {
    ScheduleShape shape{charlie.groups(), {}, &charlie.set()};
    for (const base::GroupShape& group : graph::groups_of(charlie.config())) {
        shape.columns_per_token.push_back(group.columns_per_token);
    }
    return shape;
}

ScheduleShape schedule_of(const std::vector<base::GroupShape>& groups,
                          const std::vector<std::vector<std::size_t>>& ranks) {
    ScheduleShape shape;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        artifact::CharlieGroup& own = shape.groups.emplace_back();
        own.n = groups[g].n;
        for (std::size_t i = 0; i < groups[g].members.size(); ++i) {
            own.members.push_back({.shape = groups[g].members[i],
                                   .rank = ranks[g][i],
                                   .a = {},
                                   .b = {},
                                   .row_scale = {}});
        }
        shape.columns_per_token.push_back(groups[g].columns_per_token);
    }
    return shape;
}

ScheduleShape schedule_of(const base::ModelConfig& config, std::size_t rank, std::string_view set) {
    const base::parameters::ParameterSet& own = *base::parameters::set_named(set);
    const std::vector<base::GroupShape> groups = base::parts_of(own, graph::groups_of(config));
    std::vector<std::vector<std::size_t>> ranks;
    for (const base::GroupShape& group : groups) {
        ranks.emplace_back(group.members.size(), own.hides_weights ? 0 : rank);
    }
    ScheduleShape shape = schedule_of(groups, ranks);
    shape.set = &own;
    return shape;
}

namespace {

std::uint64_t multiplications_per_mask(const ScheduleShape& shape,
                                       const artifact::CharlieGroup& group) {
    if (!artifact::layout::has_lattice_masks(*shape.set, group)) {
        return group.product().multiplications();
    }
    return masks::LatticeStock::multiplications_per_mask(*shape.set, group.product());
}

/// MODEL-5, for a token after `context` others of a model with RMS norms, rotations and SwiGLU. A
/// division counts as a multiplication.
std::uint64_t float_multiplications(const base::ModelConfig& config, std::size_t context) {
    constexpr std::uint64_t exponential = 11;
    const std::uint64_t positions = context + 1, heads = config.num_attention_heads;
    const std::uint64_t norm = 3 * config.hidden_size;  // squares, the factor, the weights
    const std::uint64_t rotated = 2 * config.head_dim * (heads + config.num_key_value_heads);
    // Scores and their scale, softmax, and the sum of the values.
    const std::uint64_t attention = heads * positions * (2 * config.head_dim + 2 + exponential);
    const std::uint64_t activation = config.intermediate_size * (exponential + 2);
    return config.num_hidden_layers * (2 * norm + rotated + attention + activation) + norm;
}

}  // namespace

Multiplications of_rows(const ScheduleShape& shape, std::size_t block_rows, std::size_t head_rows) {
    Multiplications sum;
    for (std::size_t g = 0; g < shape.groups.size(); ++g) {
        const artifact::CharlieGroup& group = shape.groups[g];
        const bool is_head = g + 1 == shape.groups.size();
        const std::uint64_t columns =
            std::uint64_t{is_head ? head_rows : block_rows} * shape.columns_per_token[g];
        sum.online += columns * engines::charlie_multiplications_per_column(group, *shape.set);
        sum.offline += columns * multiplications_per_mask(shape, group);
        sum.linear += columns * group.product().multiplications();
    }
    return sum;
}

Multiplications of_token(const ScheduleShape& shape) { return of_rows(shape, 1, 1); }

TokenCost cost_of_token(const base::ModelConfig& config, std::size_t rank, std::string_view set,
                        std::size_t context) {
    const ScheduleShape shape = schedule_of(config, rank, set);
    const std::size_t planes = shape.set->planes;
    TokenCost cost;
    for (std::size_t g = 0; g < shape.groups.size(); ++g) {
        base::ProductShape davids = shape.groups[g].product();
        davids.rows += shape.set->public_rows();
        const std::size_t columns = shape.columns_per_token[g];
        const std::uint64_t matrix = std::uint64_t{davids.rows} * davids.n;
        cost.rounds += 1;
        cost.bytes_up += protocol::wire::columns_frame_bytes(planes * columns * davids.n);
        cost.bytes_down += protocol::wire::columns_frame_bytes(planes * columns * davids.rows);
        // A hidden matrix is residues, of as many planes as the message; another one is bytes.
        cost.davids_bytes += shape.set->hides_weights ? planes * matrix : matrix;
        cost.davids_products += planes * columns * matrix;
        cost.hints += splitting::hint_row_bytes(*shape.set) * shape.groups[g].product().rows;
    }
    cost.multiplications = of_token(shape);
    cost.floats = float_multiplications(config, context);
    return cost;
}

std::vector<ShardCost> cost_of_shards(const base::ModelConfig& config, std::string_view set,
                                      std::size_t shards) {
    const ScheduleShape shape = schedule_of(config, 0, set);
    const std::size_t planes = shape.set->planes, ell = shape.set->public_rows();
    const std::size_t bytes = shape.set->hides_weights ? planes : 1;  // of an entry that is held
    std::vector<base::GroupShape> groups;
    for (const artifact::CharlieGroup& group : shape.groups) groups.push_back(group.shape());
    std::vector<ShardCost> costs;
    std::size_t g = 0;
    for (const std::size_t count : splitting::groups_of_shards(groups, *shape.set, shards)) {
        ShardCost& cost = costs.emplace_back();
        cost.groups = count;
        std::set<std::size_t> widths;
        for (const std::size_t end = g + count; g < end; ++g) {
            const base::ProductShape product = groups[g].product();
            cost.held += bytes * product.rows * product.n;
            if (widths.insert(product.n).second) cost.held += bytes * ell * product.n;
            cost.rounds += 1;
            cost.bytes_up += protocol::wire::columns_frame_bytes(planes * product.n);
            cost.bytes_down += protocol::wire::columns_frame_bytes(planes * (product.rows + ell));
        }
    }
    return costs;
}

double epsilon_online(const Multiplications& count) {
    return static_cast<double>(count.online) / static_cast<double>(count.linear);
}

double epsilon_total(const Multiplications& count) {
    return static_cast<double>(count.online + count.offline) / static_cast<double>(count.linear);
}

double charlie_total(const ScheduleShape& shape, const base::ModelConfig& config,
                     std::size_t context) {
    const Multiplications token = of_token(shape);
    return static_cast<double>(token.online + token.offline +
                               float_multiplications(config, context)) /
           static_cast<double>(token.linear);
}

std::uint64_t attention_of(const base::ModelConfig& config, const Session& session) {
    const std::uint64_t positions = session.positions();
    const std::uint64_t attended = positions * (positions + 1) / 2;  // 1 + 2 + ... + positions
    return config.num_hidden_layers * 2 * attended * config.query_width();
}

}  // namespace slip::measure
