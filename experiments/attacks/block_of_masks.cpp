// What a block of lattice masks comes to where its noise is left out, or stays in what is served,
// and where two groups have one secret (MASK-7). `ell` exact equations give S by linear algebra.
#include <cmath>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/lattice_messages.hpp"
#include "experiments/attacks/linear_algebra.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/split_matrix.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/split/hidden_matrix.hpp"

namespace slip::attacks {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXi;

MatrixXi drawn_noise(const MatrixXi& q, std::mt19937_64& random) {
    const auto drawn = small_integers(static_cast<std::size_t>(q.size()), random);
    return Eigen::Map<const MatrixXi>(drawn.data(), q.rows(), q.cols());
}

/// Columns of n entries that give `ell` equations.
Index columns_for_secret(Index n) {
    return (static_cast<Index>(hidden_set().public_rows()) + n - 1) / n;
}

Index others(const Setting& setting) { return setting.full ? 64 : 8; }

/// The attacker knows the activations of the first tokens of a prompt, and nothing of the others.
Outcome known_prefix(const Setting& setting, bool noise) {
    std::mt19937_64 random(setting.seed + 1);
    const auto seed = drawn_bytes<masks::PublicMatrix::Seed>(random);
    const Index first = columns_for_secret(192), count = first + others(setting);
    const MatrixXi q = scaled_inputs(setting, 0, static_cast<std::size_t>(count));
    const PublicRows T(seed, static_cast<std::size_t>(q.rows()));
    const auto sent = noise ? sent_by_product(seed, {&q, 1})[0]
                            : sent_by_twin(T, q, small_integers(hidden_set().public_rows(), random),
                                           MatrixXi::Zero(q.rows(), q.cols()), 0);
    const MatrixXi read = read_block(T, sent, q.leftCols(first));
    return {share_that_differs(read.cast<double>(), q.rightCols(count - first).cast<double>()), 0,
            static_cast<std::uint64_t>(count),
            std::to_string(first) + " known columns of " + std::to_string(q.rows()) +
                " entries; the others of the block are read"};
}

/// `x` as a format with `bits` bits of precision has it.
double rounded_to(double x, int bits) {
    int exponent = 0;
    const double fraction = std::frexp(x, &exponent);
    return std::ldexp(std::round(std::ldexp(fraction, bits)), exponent - bits);
}

/// What an attacker who knows the head takes for the inputs that have these logits: the nearest
/// integers to the least-squares solution. A float's error is in proportion to it, so each logit
/// has the weight that its size leaves it.
MatrixXi inputs_of(const MatrixXd& head, const MatrixXd& logits) {
    MatrixXi found(head.cols(), logits.cols());
    for (Index c = 0; c < logits.cols(); ++c) {
        const Eigen::VectorXd weights = logits.col(c).cwiseAbs().cwiseMax(1).cwiseInverse();
        const Eigen::VectorXd weighted = weights.cwiseProduct(logits.col(c));
        const MatrixXd rows = weights.asDiagonal() * head;
        const Eigen::VectorXd x =
            solve_symmetric(rows.transpose() * rows, rows.transpose() * weighted);
        found.col(c) = x.array().round().matrix().cast<int>();
    }
    return found;
}

/// A public head, whose logits are served in floats; the first columns of a block are the
/// attacker's own prompts, the others those of other users, whose logits he does not see.
Outcome public_head(const Setting& setting, bool noise_stays) {
    const Victim& victim = victim_of(setting);
    std::mt19937_64 random(setting.seed + 2);
    const auto seed = drawn_bytes<masks::PublicMatrix::Seed>(random);
    const RowMajor W = weights_of(setting, "model.embed_tokens").cast<float>();
    splitting::HiddenModel model{
        .n = static_cast<std::size_t>(W.cols()), .entries = {}, .row_scale = {}};
    model.append(view_of(W));
    const MatrixXd head = Eigen::Map<const Eigen::Matrix<std::int16_t, -1, -1, Eigen::RowMajor>>(
                              model.entries.data(), W.rows(), W.cols())
                              .cast<double>();
    const auto group = static_cast<base::GroupId>(victim.weights().size() - 1);
    const Index first = columns_for_secret(W.cols()), count = first + others(setting);
    const MatrixXi q = scaled_inputs(setting, group, static_cast<std::size_t>(count));
    const PublicRows T(seed, model.n);
    const MatrixXi e = drawn_noise(q, random);
    const auto sent =
        noise_stays ? sent_by_twin(T, q, small_integers(hidden_set().public_rows(), random), e, 1)
                    : sent_by_product(seed, {&q, 1})[0];
    const MatrixXi masked = noise_stays ? MatrixXi(q + e) : q;  // what the product is of

    Outcome outcome{0, 0, static_cast<std::uint64_t>(count), {}};
    MatrixXi own, read;
    for (const auto& [name, bits] : {std::pair{"float32", 24}, {"float16", 11}, {"bfloat16", 8}}) {
        const MatrixXd logits =
            (head * masked.leftCols(first).cast<double>()).unaryExpr([bits = bits](double x) {
                return rounded_to(x, bits);
            });
        MatrixXi found = inputs_of(head, logits);
        if (own.size() == 0 || own != found) {  // formats seldom differ in what they tell
            own = std::move(found);
            read = read_block(T, sent, own);
        }
        const double wrong =
            share_that_differs(read.cast<double>(), masked.rightCols(count - first).cast<double>());
        outcome.error = std::max(outcome.error, wrong);
        outcome.note += (outcome.note.empty() ? "" : "; ") + std::string(name) + " logits leave " +
                        figure(wrong) + " wrong";
    }
    return outcome;
}

/// The difference of what two groups were sent in one column, if both messages have one T S: the
/// small integer that is left for one of the noise's differences, -2 .. 2. `unknown` if there is
/// none.
int difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b,
               std::size_t n, std::size_t j) {
    const std::uint64_t tau = base::tau_at(hidden_set(), n);
    const int most = 2 * base::hidden_width(n).norm;
    for (const int noise : {0, 1, -1, 2, -2}) {
        const auto residue = [&](std::size_t p) {
            const auto of_tau = static_cast<std::int64_t>(tau % base::parameters::primes[p]);
            return residue_of(a[p * n + j] - b[p * n + j] - of_tau * noise, p);
        };
        const int found = joined(residue(0), residue(1));
        if (std::abs(found) <= most && residue_of(found, 2) == residue(2) &&
            residue_of(found, 3) == residue(3)) {
            return found;
        }
    }
    return unknown;
}

/// Two groups get one column each per token; the attacker knows those of the first.
Outcome two_groups(const Setting& setting, bool one_secret) {
    std::mt19937_64 random(setting.seed + 3);
    const auto seed = drawn_bytes<masks::PublicMatrix::Seed>(random);
    const auto count = static_cast<std::size_t>(others(setting));
    const base::GroupId second = 2;  // gate and up: as wide as q, k and v
    const MatrixXi q = scaled_inputs(setting, 0, count),
                   q_2 = scaled_inputs(setting, second, count);
    MaskedColumns sent, sent_2;
    if (one_secret) {
        const PublicRows T(seed, static_cast<std::size_t>(q.rows()));
        const auto S = small_integers(hidden_set().public_rows(), random);
        const std::uint64_t tau = base::tau_at(hidden_set(), T.width());
        sent = sent_by_twin(T, q, S, drawn_noise(q, random), tau);
        sent_2 = sent_by_twin(T, q_2, S, drawn_noise(q, random), tau);
    } else {
        const std::array inputs{q, q_2};
        auto both = sent_by_product(seed, inputs);
        sent = std::move(both[0]);
        sent_2 = std::move(both[1]);
    }
    MatrixXi read(q.rows(), q.cols());
    for (Index c = 0; c < read.cols(); ++c) {
        const auto column = static_cast<std::size_t>(c);
        for (Index j = 0; j < read.rows(); ++j) {
            read(j, c) = q(j, c) + difference(sent_2[column], sent[column],
                                              static_cast<std::size_t>(q.rows()),
                                              static_cast<std::size_t>(j));
        }
    }
    return {share_that_differs(read.cast<double>(), q_2.cast<double>()), 0, 2 * count};
}

}  // namespace

Outcome no_noise_twin(const Setting& setting) { return known_prefix(setting, false); }
Outcome no_noise_hidden(const Setting& setting) { return known_prefix(setting, true); }
Outcome logits_to_mask_twin(const Setting& setting) { return public_head(setting, true); }
Outcome logits_to_mask_hidden(const Setting& setting) { return public_head(setting, false); }
Outcome cross_group_twin(const Setting& setting) { return two_groups(setting, true); }
Outcome cross_group_hidden(const Setting& setting) { return two_groups(setting, false); }

}  // namespace slip::attacks
