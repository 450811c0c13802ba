// Without masks David sees the input of every layer, and in the next message its output: the
// paper's section on why naive hybrid inference leaks. Both attackers read one-token prompts, for
// which attention passes the value vector on as it is.
#include "experiments/attacks/runs.hpp"

#include <cmath>
#include <functional>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/gated_row_fit.hpp"
#include "experiments/attacks/weakened_engine.hpp"

namespace slip::attacks {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

std::size_t queries_of(const Setting& setting) { return setting.full ? 1500 : 600; }

/// One inference for each token of the vocabulary up to `count`.
void query(const Victim& victim, base::Engine& engine, std::size_t count) {
    std::vector<std::vector<TokenId>> prompts;
    for (std::size_t id = 3; id < 3 + count; ++id) prompts.push_back({static_cast<TokenId>(id)});
    victim.logits(engine, prompts);
}

// Both attackers read the same messages, which are sent once per process.

const View& naive_view(const Setting& setting) {
    static const View view = [&] {
        const Victim& victim = victim_of(setting);
        WeakenedEngine naive(victim,
                             {.activation_norm = base::parameters::largest_activation_norm});
        query(victim, naive, queries_of(setting));
        return naive.view();
    }();
    return view;
}

View product_view(const Victim& victim, std::size_t count) {
    ProductSession session(victim);
    query(victim, session.engine(), count);
    return session.view();
}
const View& paper_view(const Setting& setting) {
    static const View view = product_view(victim_of(setting), queries_of(setting));
    return view;
}
const View& hidden_view(const Setting& setting) {
    static const View view = product_view(hidden_victim_of(setting), queries_of(setting));
    return view;
}
using Observe = const View& (*)(const Setting&);

// ---- a linear layer: v_proj, whose output is the input of o_proj

/// The rows of the attention output in which each value head occurs first.
MatrixXd values_in(const MatrixXd& mixed, const base::ModelConfig& config) {
    const auto width = static_cast<Index>(config.head_dim);
    const auto heads = static_cast<Index>(config.num_key_value_heads);
    const auto shared = static_cast<Index>(config.num_attention_heads) / heads;
    MatrixXd values(heads * width, mixed.cols());
    for (Index h = 0; h < heads; ++h) {
        values.middleRows(h * width, width) = mixed.middleRows(h * shared * width, width);
    }
    return values;
}

Outcome solve_linear(const Setting& setting, Observe observe) {
    const Victim& victim = victim_of(setting);
    const View& view = observe(setting);
    const auto v_proj = victim.find("v_proj", 0);
    const MatrixXd X = columns_seen(view, v_proj.group);
    const MatrixXd Y =
        values_in(columns_seen(view, victim.find("o_proj", 0).group), victim.config());
    const MatrixXd found = least_squares(X.transpose(), Y.transpose()).transpose();
    const MatrixXd W_C = victim.charlies_part(v_proj);
    const MatrixXd W = victim.davids_part(v_proj) + W_C;
    return {distance_up_to_factor(found, W, W_C), 0.01, queries_of(setting)};
}

// ---- a layer with a nonlinearity: silu(gate x) (up x), the input of down_proj

/// Row i of a matrix is W_D[i] times an unknown step, plus a combination of the hidden directions,
/// of which W_D gives an estimate: the columns of the result.
MatrixXd row_basis(const MatrixXd& W_D, Index i, std::size_t rank) {
    const auto k = static_cast<Index>(rank);
    MatrixXd basis(W_D.cols(), k + 1);
    basis.col(0) = W_D.row(i).transpose().normalized();
    basis.rightCols(k) = smallest_inputs(W_D, k);
    return basis;
}

/// First in the exposed span, from many starts, then among all rows.
GatedRowFit::Row fit_row(const MatrixXd& gate_basis, const MatrixXd& up_basis, const MatrixXd& X,
                         const VectorXd& outputs, std::mt19937_64& random) {
    const GatedRowFit in_span(gate_basis, up_basis, X, outputs);
    std::normal_distribution<double> normal;
    VectorXd best;
    double least = INFINITY;
    for (int start = 0; start < 40; ++start) {
        const VectorXd guess = VectorXd::NullaryExpr(gate_basis.cols() + up_basis.cols(),
                                                     [&] { return normal(random); });
        const VectorXd theta = in_span.fit(guess, 60);
        const double reached = in_span.loss(theta);
        if (reached >= least) continue;
        least = reached;
        best = theta;
    }
    const GatedRowFit::Row row = in_span.row(best);
    const MatrixXd everywhere = MatrixXd::Identity(X.rows(), X.rows());
    const GatedRowFit whole(everywhere, everywhere, X, outputs);
    VectorXd theta(2 * X.rows());
    theta << row.gate, row.up;
    return whole.row(whole.fit(theta, 12));
}

Outcome solve_gated(const Setting& setting, Observe observe) {
    const Victim& victim = victim_of(setting);
    const View& view = observe(setting);
    const auto gate = victim.find("gate_proj", 0), up = victim.find("up_proj", 0);
    const MatrixXd X = columns_seen(view, gate.group);
    const MatrixXd Y = columns_seen(view, victim.find("down_proj", 0).group);
    const MatrixXd D_gate = victim.residual(gate), D_up = victim.residual(up);
    const MatrixXd C_gate = victim.charlies_part(gate), C_up = victim.charlies_part(up);
    const MatrixXd W_gate = victim.davids_part(gate) + C_gate;
    const MatrixXd W_up = victim.davids_part(up) + C_up;
    const std::size_t k = victim.charlie().groups()[gate.group].members[gate.member].rank;
    std::mt19937_64 random(setting.seed);
    const Index rows = setting.full ? 16 : 2;
    double error = 0;
    for (Index i = 0; i < rows; ++i) {
        const VectorXd outputs = Y.row(i).transpose();
        const auto row =
            fit_row(row_basis(D_gate, i, k), row_basis(D_up, i, k), X, outputs, random);
        const double of_gate = (row.gate.transpose() - W_gate.row(i)).norm() / C_gate.row(i).norm();
        const double of_up = (row.up.transpose() - W_up.row(i)).norm() / C_up.row(i).norm();
        error += (of_gate + of_up) / static_cast<double>(2 * rows);
    }
    return {error, 0.05, queries_of(setting)};
}

}  // namespace

Outcome unmasked_linear_twin(const Setting& setting) { return solve_linear(setting, naive_view); }
Outcome unmasked_linear_product(const Setting& setting) {
    return solve_linear(setting, paper_view);
}
Outcome unmasked_linear_hidden(const Setting& setting) {
    return solve_linear(setting, hidden_view);
}
Outcome unmasked_gated_twin(const Setting& setting) { return solve_gated(setting, naive_view); }
Outcome unmasked_gated_product(const Setting& setting) { return solve_gated(setting, paper_view); }
Outcome unmasked_gated_hidden(const Setting& setting) { return solve_gated(setting, hidden_view); }

}  // namespace slip::attacks
