#include "experiments/costs/session.hpp"

namespace slip::costs {
namespace {

double ratio(std::uint64_t part, std::uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double Cost::online() const { return ratio(products.online, products.linear); }

double Cost::total_with_second_david() const {
    return ratio(products.online + products.checks, products.linear);
}

double Cost::total_with_second_david_own_pair() const {
    return ratio(products.online + products.checks + pair, products.linear);
}

double Cost::total_alone() const {
    // MASK-3: a cancellation is a product with W_D, as many multiplications as David's own.
    return ratio(products.online + products.linear + pair, products.linear);
}

double Cost::attention_share() const { return ratio(attention, products.linear); }

double Cost::total_with_attention() const {
    return ratio(products.online + products.checks + attention, products.linear + attention);
}

std::uint64_t attention_of(const base::ModelConfig& config, const Session& session) {
    const std::uint64_t positions = session.positions();
    const std::uint64_t attended = positions * (positions + 1) / 2;  // 1 + 2 + ... + positions
    return session.batch * config.num_hidden_layers * 2 * attended * config.query_width();
}

Cost cost_of(const bench::ScheduleShape& shape, const base::ModelConfig& config,
             const Session& session) {
    Cost cost;
    cost.products =
        bench::of_rows(shape, session.batch * session.positions(), session.batch * session.tokens);
    cost.pair = bench::of_pair(shape);
    cost.attention = attention_of(config, session);
    return cost;
}

}  // namespace slip::costs
