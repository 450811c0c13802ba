#include "experiments/bench/cost.hpp"

#include "optimized/base/error.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/protocol/offline_stock.hpp"

namespace slip::bench {
namespace {

constexpr std::size_t rank_of_7b = 16;

std::uint64_t checks_of(const base::ProductShape& shape, Profile profile) {
    return protocol::with_profile(
        profile, [&]<class P>(P) { return protocol::check_multiplications<P>(shape); });
}

}  // namespace

base::ModelConfig config_of(const synthetic::Shape& shape) {
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
    ScheduleShape shape{charlie.profile(), charlie.groups(), {}};
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

ScheduleShape schedule_of(const base::ModelConfig& config, std::size_t rank) {
    const std::vector<base::GroupShape> groups = graph::groups_of(config);
    std::vector<std::vector<std::size_t>> ranks;
    for (const base::GroupShape& group : groups) ranks.emplace_back(group.members.size(), rank);
    return schedule_of(groups, ranks);
}

Multiplications of_rows(const ScheduleShape& shape, std::size_t block_rows, std::size_t head_rows) {
    Multiplications sum;
    for (std::size_t g = 0; g < shape.groups.size(); ++g) {
        const artifact::CharlieGroup& group = shape.groups[g];
        const bool is_head = g + 1 == shape.groups.size();
        const std::uint64_t columns =
            std::uint64_t{is_head ? head_rows : block_rows} * shape.columns_per_token[g];
        sum.online += columns * engines::charlie_multiplications_per_column(group, shape.profile);
        sum.checks += columns * checks_of(group.product(), shape.profile);
        sum.linear += columns * group.product().multiplications();
    }
    return sum;
}

Multiplications of_token(const ScheduleShape& shape) { return of_rows(shape, 1, 1); }

std::uint64_t of_pair(const ScheduleShape& shape) {
    std::uint64_t count = 0;
    for (const artifact::CharlieGroup& group : shape.groups) {
        const base::ProductShape product = group.product();
        count += protocol::kappa_of(shape.profile) * product.rows * product.n;
    }
    return count;
}

Multiplications counted_per_token(const engines::HybridStatistics& before,
                                  const engines::HybridStatistics& after,
                                  const ScheduleShape& shape, std::size_t tokens) {
    const Multiplications run{
        after.charlie_multiplications - before.charlie_multiplications,
        after.session.supply.multiplications - before.session.supply.multiplications,
        after.david_multiplications - before.david_multiplications};
    const Multiplications token = of_token(shape);
    base::require(
        run == Multiplications{tokens * token.online, tokens * token.checks, tokens * token.linear},
        "the multiplications of a run are not those of its schedule");
    return {run.online / tokens, run.checks / tokens, run.linear / tokens};
}

double epsilon(const Multiplications& token, std::uint64_t pair, std::size_t tokens_per_pair) {
    const auto charlie = static_cast<double>(token.online + token.checks);
    return (charlie + static_cast<double>(pair) / static_cast<double>(tokens_per_pair)) /
           static_cast<double>(token.linear);
}

void report_epsilon(const ScheduleShape& shape, const Multiplications& token, Report& report) {
    report.figures.push_back({"epsilon_total", epsilon(token)});
    report.figures.push_back(
        {"epsilon_total_own_pair", epsilon(token, of_pair(shape), tokens_of_own_pair)});
    const base::ModelConfig llama2_7b = config_of(synthetic::shapes.at("llama2-7b"));
    report.figures.push_back(
        {"epsilon_total_7b", epsilon(of_token(schedule_of(llama2_7b, rank_of_7b)))});
}

}  // namespace slip::bench
