// A guess of Charlie's part from a prior on weights, the kind of attack that LoRO makes against
// earlier schemes. A row of W is r + y V^T, where r is David's and the span V is exposed. Of all y
// the attacker takes the likeliest if entries have a density exp(-|w|^p), which is the one with the
// least sum of |w|^p. He learns p from a matrix that he has whole: he splits it himself and keeps
// what would have come nearest. For p = 2, normal entries, the likeliest y is 0: no guess.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/linear_algebra.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/split_matrix.hpp"

namespace slip::attacks {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::size_t k = 4;
/// Each is reached from the one before it: the nearer two exponents, the fewer steps.
constexpr std::array rising{3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0};
constexpr std::array falling{1.7, 1.4, 1.2, 1.0};

/// sum |r + V y|^p, and one step towards its least: Newton's for p > 2, of reweighted least squares
/// otherwise. The sum is convex.
class RowFit {
public:
    RowFit(const MatrixXd& V, VectorXd r) : V_(V), r_(std::move(r)), y_(VectorXd::Zero(V.cols())) {
        r_ /= r_.cwiseAbs().maxCoeff();
    }

    void improve(double p) {
        double now = loss(y_, p);
        for (int step = 0; step < 12; ++step) {
            const VectorXd w = r_ + V_ * y_;
            const ArrayXd weights = w.array().abs().max(1e-4).pow(p - 2);
            const MatrixXd N = V_.transpose() * weights.matrix().asDiagonal() * V_;
            const VectorXd b = V_.transpose() * (weights * w.array()).matrix();
            const VectorXd direction = solve_symmetric(N, b) / std::max(p - 1, 1.0);
            double length = 1;
            while (length > 1e-4 && loss(y_ - length * direction, p) >= now) length /= 2;
            if (length <= 1e-4) return;
            y_ -= length * direction;
            now = loss(y_, p);
        }
    }
    /// In the units of r as it was given, of which `unit` is the largest entry.
    VectorXd solution(double unit) const { return unit * y_; }

private:
    double loss(const VectorXd& y, double p) const {
        return (r_ + V_ * y).array().abs().pow(p).sum();
    }

    const MatrixXd& V_;
    VectorXd r_, y_;
};

/// W, or its transpose if that is longer than wide, as its split leaves it to David, who is told
/// the row scales.
struct Exposed {
    Exposed(const MatrixXd& W, Splitter splitter) {
        const SplitMatrix split = splitter(W, k);
        R = split.davids_part();
        hidden = W - R;
        if (W.rows() < W.cols()) {
            R = MatrixXd(R.transpose());
            hidden = MatrixXd(hidden.transpose());
        }
        const auto rank = static_cast<Index>(k);
        V = smallest_inputs(R, rank);
        U = smallest_inputs(R.transpose(), R.rows() - R.cols() + rank);
    }

    /// The guesses for the exponents, one after the other.
    template <std::size_t count>
    std::vector<MatrixXd> guesses(const std::array<double, count>& exponents) const {
        std::vector<MatrixXd> Y(count, MatrixXd(R.rows(), V.cols()));
        for (Index i = 0; i < R.rows(); ++i) {
            RowFit fit(V, R.row(i).transpose());
            for (std::size_t e = 0; e < count; ++e) {
                fit.improve(exponents[e]);
                Y[e].row(i) = fit.solution(R.row(i).cwiseAbs().maxCoeff()).transpose();
            }
        }
        for (MatrixXd& guess : Y) guess = U * (U.transpose() * guess) * V.transpose();
        return Y;
    }
    /// The distance of each guess to Charlie's part over its norm, first for rising exponents. The
    /// attacker is told the best factor: he is stronger than he could be.
    std::vector<double> errors() const {
        std::vector<double> errors;
        for (const auto& guess : guesses(rising)) errors.push_back(error(guess));
        for (const auto& guess : guesses(falling)) errors.push_back(error(guess));
        return errors;
    }
    double error(const MatrixXd& guess) const {
        return distance_up_to_factor(guess, hidden, hidden);
    }

    MatrixXd R, hidden, U, V;
};

double exponent(std::size_t number) {
    return number < rising.size() ? rising[number] : falling[number - rising.size()];
}

/// What is attacked, and what the attacker learns the exponent from.
using Pair = std::pair<MatrixXd, MatrixXd>;

Outcome guess(const std::vector<Pair>& pairs, Splitter split) {
    double sum = 0, nearest = 1, best = 0;
    double least_exponent = rising.back(), largest_exponent = 0;
    for (const auto& [attacked, whole] : pairs) {
        const std::vector<double> lesson = Exposed(whole, split).errors();
        const auto chosen = static_cast<std::size_t>(
            std::min_element(lesson.begin(), lesson.end()) - lesson.begin());
        const std::vector<double> errors = Exposed(attacked, split).errors();
        sum += errors[chosen];
        nearest = std::min(nearest, errors[chosen]);
        best += *std::min_element(errors.begin(), errors.end());
        least_exponent = std::min(least_exponent, exponent(chosen));
        largest_exponent = std::max(largest_exponent, exponent(chosen));
    }
    const auto count = static_cast<double>(pairs.size());
    return {sum / count, 0.5, pairs.size(),
            "k = 4, row scales told; exponents of " + figure(least_exponent) + " to " +
                figure(largest_exponent) + " were learnt; nearest " + figure(nearest) +
                "; with the best exponent of each matrix " + figure(best / count)};
}

/// Trained weights; the exponent is learnt from the same matrix of the next block.
Outcome weight_prior(const Setting& setting, Splitter split) {
    static constexpr const char* layers[] = {
        "mlp.gate_proj",    "mlp.down_proj",    "mlp.up_proj",     "self_attn.q_proj",
        "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"};
    std::vector<Pair> pairs;
    for (int block = 0; block < (setting.full ? 5 : 1); ++block) {
        for (int type = 0; type < (setting.full ? 7 : 1); ++type) {
            const auto weights = [&](int number) {
                return weights_of(setting,
                                  "model.layers." + std::to_string(number) + "." + layers[type]);
            };
            pairs.emplace_back(weights(block), weights(block + 1));
        }
    }
    return guess(pairs, split);
}

}  // namespace

/// Weights as they are drawn before training: uniform, with a bound that the prior knows.
Outcome weight_prior_twin(const Setting& setting) {
    std::mt19937_64 random(setting.seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    const auto draw = [&] {
        return MatrixXd::NullaryExpr(512, 192, [&] { return uniform(random); });
    };
    std::vector<Pair> pairs;
    for (int i = 0; i < (setting.full ? 6 : 1); ++i) pairs.emplace_back(draw(), draw());
    return guess(pairs, paper_split);
}

Outcome weight_prior_product(const Setting& setting) { return weight_prior(setting, paper_split); }
Outcome weight_prior_hidden(const Setting& setting) { return weight_prior(setting, hidden_split); }

}  // namespace slip::attacks
