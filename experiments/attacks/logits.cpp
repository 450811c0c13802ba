// Full logits and David's half of the head (E-32). Logits are diag(delta) W_int h, so their column
// space is that of the head; W_D then gives the row scales, the inputs that Charlie's part maps to
// zero, and the coordinates of every final hidden state along them.
#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/linear_algebra.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/split_matrix.hpp"
#include "experiments/attacks/weakened_engine.hpp"

namespace slip::attacks {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// An orthonormal basis of the space of the `rank` largest components of the columns.
MatrixXd column_space(const MatrixXd& columns, Index rank) {
    const MatrixXd inputs = smallest_inputs(columns, columns.cols()).rightCols(rank);
    return orthonormal_basis(columns * inputs);
}

/// The n - k directions that W_D maps to the largest products: those that Charlie's part, by the
/// decomposition, maps to nearly nothing.
MatrixXd directions_left(const MatrixXd& W_D, Index k) {
    return smallest_inputs(W_D, W_D.cols()).rightCols(W_D.cols() - k);
}

/// delta up to one factor: diag(delta) W_D v lies in the column space C of the logits for all v in
/// V. The sum of squared distances is delta^T N delta with N = (I - C C^T) o (W_D V)(W_D V)^T, and
/// inverse iteration finds the least.
VectorXd row_scales(const MatrixXd& W_D, const MatrixXd& V, const MatrixXd& C) {
    const MatrixXd products = W_D * V;
    MatrixXd N = -(C * C.transpose());
    N.diagonal().array() += 1;
    N = N.cwiseProduct(products * products.transpose());
    N.diagonal().array() += 1e-13 * N.diagonal().mean();
    const VectorXd delta = least_direction(N);
    return delta(0) < 0 ? VectorXd(-delta) : delta;
}

/// The inputs v for which R v lies in the column space C: those that Charlie's part maps to zero.
MatrixXd exact_directions(const MatrixXd& R, const MatrixXd& C, Index k) {
    const MatrixXd outside = R - C * (C.transpose() * R);
    return smallest_inputs(outside, R.cols() - k);
}

struct Outputs {
    MatrixXd logits;  // vocabulary x N, what the attacker is given
    MatrixXd hidden;  // n x N, what he looks for
};

Outputs asked_for(const Victim& victim, const Setting& setting) {
    std::mt19937_64 random(setting.seed);
    std::vector<std::vector<TokenId>> prompts(setting.full ? 800 : 300);
    for (auto& prompt : prompts) prompt = random_prompt(victim.config(), 2, random);
    ProductSession session(victim);
    const auto logits = victim.logits(session.engine(), prompts);
    Outputs outputs;
    outputs.logits.resize(static_cast<Index>(victim.config().vocab_size),
                          static_cast<Index>(prompts.size()));
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        outputs.logits.col(static_cast<Index>(i)) =
            Eigen::Map<const Eigen::VectorXf>(logits[i].data(), outputs.logits.rows())
                .cast<double>();
    }
    WeakenedEngine plain(victim, {});
    victim.logits(plain, prompts);
    outputs.hidden = columns_seen(plain.view(), victim.find("lm_head", std::nullopt).group);
    return outputs;
}

/// No split changes them, so both columns of the attack ask once.
const Outputs& outputs_of(const Victim& victim, const Setting& setting) {
    static const Outputs outputs = asked_for(victim, setting);
    return outputs;
}

/// `W_D`: what the attacker takes for David's part of the head.
Outcome from_logits(const Setting& setting, const MatrixXd& W_D) {
    const Victim& victim = victim_of(setting);
    const auto head = victim.find("lm_head", std::nullopt);
    const auto& member = victim.charlie().groups()[head.group].members[head.member];
    const auto k = static_cast<Index>(member.rank);
    const Outputs& outputs = outputs_of(victim, setting);

    const MatrixXd C = column_space(outputs.logits, W_D.cols());
    MatrixXd V = directions_left(W_D, k);
    VectorXd delta;
    for (int pass = 0; pass < (setting.full ? 6 : 3); ++pass) {
        delta = row_scales(W_D, V, C);
        V = exact_directions(delta.asDiagonal() * W_D, C, k);
    }
    const MatrixXd R = delta.asDiagonal() * W_D;
    const MatrixXd found = least_squares(R * V, outputs.logits);
    const MatrixXd right = V.transpose() * outputs.hidden;

    VectorXd true_scales(delta.size());
    for (Index i = 0; i < delta.size(); ++i) {
        true_scales(i) = static_cast<double>(member.row_scale[static_cast<std::size_t>(i)]);
    }
    const MatrixXd charlies = victim.charlies_part(head);
    const MatrixXd W = victim.davids_part(head) + charlies;
    return {distance_up_to_factor(found, right, right), 0.05,
            static_cast<std::uint64_t>(outputs.logits.cols()),
            std::to_string(V.cols()) + " of " + std::to_string(W.cols()) +
                " hidden coordinates; row scales to " +
                figure(distance_up_to_factor(delta, true_scales, true_scales)) +
                "; the head times them to " + figure(distance_up_to_factor(R * V, W * V, W * V))};
}

Victim::Place head_of(const Victim& victim) { return victim.find("lm_head", std::nullopt); }

}  // namespace

Outcome logits_product(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    return from_logits(setting, victim.residual(head_of(victim)));
}
Outcome logits_hidden(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    const auto head = head_of(victim);
    const MatrixXd W = victim.davids_part(head) + victim.charlies_part(head);
    // Its entries have 48 bits: divided, so that sums of squares are of the usual size.
    const SplitMatrix split = hidden_split(W, 0);
    return from_logits(setting, split.W_D / split.W_D.cwiseAbs().maxCoeff() * 127);
}

}  // namespace slip::attacks
