#include "experiments/costs/session.hpp"

namespace slip::costs {
namespace {

double ratio(std::uint64_t part, std::uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double Cost::attention_share() const { return ratio(attention, products.linear); }

double Cost::online_with_attention() const {
    return ratio(products.online + attention, products.linear + attention);
}

std::uint64_t attention_of(const base::ModelConfig& config, const Session& session) {
    const std::uint64_t positions = session.positions();
    const std::uint64_t attended = positions * (positions + 1) / 2;  // 1 + 2 + ... + positions
    return config.num_hidden_layers * 2 * attended * config.query_width();
}

Cost cost_of(const bench::ScheduleShape& shape, const base::ModelConfig& config,
             const Session& session) {
    Cost cost;
    cost.products = bench::of_rows(shape, session.positions(), session.tokens);
    cost.attention = attention_of(config, session);
    return cost;
}

}  // namespace slip::costs
