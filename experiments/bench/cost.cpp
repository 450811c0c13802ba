#include "experiments/bench/cost.hpp"

#include "experiments/synthetic/shapes.hpp"
#include "optimized/base/error.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/protocol/offline_stock.hpp"

namespace slip::bench {
namespace {

constexpr std::size_t rank_of_7b = 16;

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

std::uint64_t checks_of(const base::ProductShape& shape, Profile profile) {
    return protocol::with_profile(
        profile, [&]<class P>(P) { return protocol::check_multiplications<P>(shape); });
}

}  // namespace

ScheduleShape schedule_of(const artifact::CharlieArtifact& charlie) {
    ScheduleShape shape{charlie.profile(), charlie.groups(), {}};
    for (const base::GroupShape& group : graph::groups_of(charlie.config())) {
        shape.columns_per_token.push_back(group.columns_per_token);
    }
    return shape;
}

ScheduleShape schedule_of(const base::ModelConfig& config, std::size_t rank) {
    ScheduleShape shape;
    for (const base::GroupShape& group : graph::groups_of(config)) {
        artifact::CharlieGroup& own = shape.groups.emplace_back();
        own.n = group.n;
        for (const base::MemberShape& member : group.members) {
            own.members.push_back(
                {.shape = member, .rank = rank, .a = {}, .b = {}, .row_scale = {}});
        }
        shape.columns_per_token.push_back(group.columns_per_token);
    }
    return shape;
}

Multiplications of_token(const ScheduleShape& shape) {
    Multiplications token;
    for (std::size_t g = 0; g < shape.groups.size(); ++g) {
        const artifact::CharlieGroup& group = shape.groups[g];
        const std::size_t columns = shape.columns_per_token[g];
        token.online += columns * engines::charlie_multiplications_per_column(group, shape.profile);
        token.checks += columns * checks_of(group.product(), shape.profile);
        token.linear += columns * group.product().multiplications();
    }
    return token;
}

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
