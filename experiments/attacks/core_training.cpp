// Span-aware restoration of one MLP block: from inputs and outputs of the block, through SwiGLU,
// the attacker trains no more than what the exposed spans leave open of gate_proj, up_proj and
// down_proj, k (|m - n| + k) numbers each (E-33). The control trains every entry from the same
// outputs by the same steps. experiments/safety does this with whole models.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/linear_algebra.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/split_matrix.hpp"
#include "experiments/attacks/weakened_engine.hpp"

namespace slip::attacks {
namespace {

using Eigen::ArrayXXf;
using Eigen::Index;
using Eigen::MatrixXf;

constexpr std::size_t k = 4;
constexpr Index examples = 96;  // 18,432 outputs for 3,888 numbers of the core

/// A matrix that is trained from David's part of it: R + U M V^T, or R + M where all entries are.
class Trained {
public:
    Trained(const SplitMatrix& split, bool whole) : whole_(whole) {
        const Eigen::MatrixXd R = split.davids_part();
        R_ = W_ = R.cast<float>();
        if (whole) {
            M_ = MatrixXf::Zero(R.rows(), R.cols());
        } else {
            const Index visible = std::min(R.rows(), R.cols()) - static_cast<Index>(k);
            U_ = smallest_inputs(R.transpose(), R.rows() - visible).cast<float>();
            V_ = smallest_inputs(R, R.cols() - visible).cast<float>();
            M_ = MatrixXf::Zero(U_.cols(), V_.cols());
        }
        mean_ = square_ = MatrixXf::Zero(M_.rows(), M_.cols());
    }

    const MatrixXf& W() const { return W_; }
    Index numbers() const { return M_.size(); }
    /// One step of Adam along the gradient D X^T of W.
    void step(const MatrixXf& D, const MatrixXf& X, float rate, int number) {
        const MatrixXf gradient = of_core(D, X);
        mean_ = 0.9F * mean_ + 0.1F * gradient;
        square_ = 0.99F * square_ + 0.01F * gradient.cwiseAbs2();
        const float of_mean = 1 - std::pow(0.9F, static_cast<float>(number));
        const float of_square = 1 - std::pow(0.99F, static_cast<float>(number));
        M_.array() -=
            rate * (mean_.array() / of_mean) / ((square_.array() / of_square).sqrt() + 1e-12F);
        if (whole_) {
            W_ = R_ + M_;
        } else {
            W_ = R_ + U_ * M_ * V_.transpose();
        }
    }

private:
    MatrixXf of_core(const MatrixXf& D, const MatrixXf& X) const {
        if (whole_) return D * X.transpose();
        if (U_.cols() < V_.cols()) return (U_.transpose() * D * X.transpose()) * V_;
        return U_.transpose() * (D * (X.transpose() * V_));
    }

    bool whole_;
    MatrixXf R_, W_, U_, V_, M_, mean_, square_;
};

ArrayXXf sigmoid(const ArrayXXf& x) { return 1 / (1 + (-x).exp()); }

MatrixXf block(const MatrixXf& gate, const MatrixXf& up, const MatrixXf& down, const MatrixXf& X) {
    const ArrayXXf g = (gate * X).array();
    return down * (g * sigmoid(g) * (up * X).array()).matrix();
}

struct Splits {
    SplitMatrix gate, up, down;
};

struct Result {
    double error = 0;  // of outputs for fresh inputs, over that of David's share or of zeros
    Index numbers = 0;
};

/// Columns of X and of X_fresh are inputs of the block.
Result train(const Splits& splits, const MatrixXf& X, const MatrixXf& X_fresh, bool whole,
             int steps, float rate) {
    const auto right = [&](const MatrixXf& inputs) {
        return block(splits.gate.W.cast<float>(), splits.up.W.cast<float>(),
                     splits.down.W.cast<float>(), inputs);
    };
    Trained gate(splits.gate, whole), up(splits.up, whole), down(splits.down, whole);
    const auto distance = [&] {
        return (block(gate.W(), up.W(), down.W(), X_fresh) - right(X_fresh)).norm();
    };
    const double untrained = std::min(distance(), right(X_fresh).norm());
    const MatrixXf Y = right(X);
    for (int number = 1; number <= steps; ++number) {
        const ArrayXXf g = (gate.W() * X).array(), p = (up.W() * X).array(), s = sigmoid(g);
        const MatrixXf hidden = (g * s * p).matrix();
        const MatrixXf E = down.W() * hidden - Y;
        const ArrayXXf d = (down.W().transpose() * E).array();
        const float now = rate * static_cast<float>(steps + 1 - number) / static_cast<float>(steps);
        down.step(E, hidden, now, number);
        gate.step((d * p * s * (1 + g * (1 - s))).matrix(), X, now, number);
        up.step((d * g * s).matrix(), X, now, number);
    }
    return {distance() / untrained, gate.numbers() + up.numbers() + down.numbers()};
}

/// Inputs of a block's MLP: one column for each one-token prompt, of which the seed shifts the ids.
MatrixXf inputs_of(const Victim& victim, std::size_t block, std::uint64_t seed) {
    WeakenedEngine naive(victim, {});
    const auto first = static_cast<TokenId>(100 + (seed - 1) % 7);
    std::vector<std::vector<TokenId>> prompts;
    for (Index i = 0; i < 2 * examples; ++i) {
        prompts.push_back({first + static_cast<TokenId>(7 * i)});
    }
    victim.logits(naive, prompts);
    return columns_seen(naive.view(), victim.find("gate_proj", block).group).cast<float>();
}

struct Results {
    Result core, control;
};

/// The core attacker and the control at the best of its rates.
Results attack(const Setting& setting, Splitter splitter, std::size_t block,
               std::initializer_list<float> rates) {
    const std::string mlp = "model.layers." + std::to_string(block) + ".mlp.";
    const auto split = [&](const char* layer) {
        return splitter(weights_of(setting, mlp + layer), k);
    };
    const Splits splits{split("gate_proj"), split("up_proj"), split("down_proj")};
    const MatrixXf all = inputs_of(victim_of(setting), block, setting.seed);
    const MatrixXf X = all.leftCols(examples), X_fresh = all.rightCols(examples);
    const int steps = setting.full ? 2000 : 200;
    Results results{train(splits, X, X_fresh, false, steps, 0.03F), {INFINITY}};
    for (const float rate : rates) {
        const Result control = train(splits, X, X_fresh, true, steps, rate);
        if (control.error < results.control.error) results.control = control;
    }
    return results;
}

Outcome core_training(const Setting& setting, Splitter split) {
    const Results first = setting.full ? attack(setting, split, 0, {0.001F, 0.0003F, 0.003F})
                                       : attack(setting, split, 0, {0.001F});
    std::string note =
        "an MLP block, row scales told, " + std::to_string(setting.full ? 2000 : 200) +
        " steps for " + std::to_string(first.core.numbers) +
        " numbers; the control, who trains all " + std::to_string(first.control.numbers) +
        " entries, reaches " + figure(first.control.error);
    for (const std::size_t block : {3U, 5U}) {
        if (!setting.full) break;
        const Results other = attack(setting, split, block, {0.001F});
        note += "; block " + std::to_string(block) + ": " + figure(other.core.error) +
                ", the control " + figure(other.control.error);
    }
    return {first.core.error, 0.5, static_cast<std::uint64_t>(examples), note};
}

}  // namespace

Outcome core_training_product(const Setting& setting) {
    return core_training(setting, paper_split);
}
Outcome core_training_hidden(const Setting& setting) {
    return core_training(setting, hidden_split);
}

}  // namespace slip::attacks
