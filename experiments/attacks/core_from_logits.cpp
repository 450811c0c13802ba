// What LSC leaves open of a square matrix (E-33), from logits of the whole model: the attacker has
// the rest of the model and David's part with its row scales, asks for logits, and fits the core in
// the exposed spans by Levenberg-Marquardt with differences of his own copy. At k = 1 one number is
// hidden (E-10). The control fits as many numbers in random spans.
#include <cmath>
#include <map>
#include <string>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/linear_algebra.hpp"
#include "experiments/attacks/own_copy.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/split_matrix.hpp"

namespace slip::attacks {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Bases in which the hidden part is sought as U M V^T.
struct Spans {
    MatrixXd U, V;

    MatrixXd part(const VectorXd& numbers) const {
        return U * numbers.reshaped(U.cols(), V.cols()) * V.transpose();
    }
};

Spans exposed_spans(const MatrixXd& R, Index width) {
    return {smallest_inputs(R.transpose(), width), smallest_inputs(R, width)};
}

Spans random_spans(Index n, Index width, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    const auto draw = [&] {
        return orthonormal_basis(MatrixXd::NullaryExpr(n, width, [&] { return normal(random); }));
    };
    return {draw(), draw()};
}

/// Logits that the attacker has asked for.
struct Answers {
    std::vector<std::vector<TokenId>> prompts;
    VectorXd logits;
};

/// One logit of eight, which are still more than the model has coordinates.
VectorXd some_of(const std::vector<std::vector<float>>& logits) {
    std::vector<double> chosen;
    for (const auto& of_prompt : logits) {
        for (std::size_t i = 0; i < of_prompt.size(); i += 8) chosen.push_back(of_prompt[i]);
    }
    return Eigen::Map<VectorXd>(chosen.data(), static_cast<Index>(chosen.size()));
}

/// Levenberg-Marquardt for the numbers of the core, from David's part alone.
class Fit {
public:
    /// R: David's part of the matrix at `place`.
    Fit(const Victim& victim, const Victim::Place& place, MatrixXd R, Spans spans,
        const Answers& answers)
        : victim_(victim),
          place_(place),
          spans_(std::move(spans)),
          answers_(answers),
          copy_(victim),
          R_(std::move(R)),
          numbers_(VectorXd::Zero(spans_.U.cols() * spans_.V.cols())),
          reached_(outputs(numbers_)) {}

    void run(int iterations) {
        double damping = 1e-2;
        for (int i = 0; i < iterations; ++i) {
            const MatrixXd J = differences();
            const MatrixXd normal = J.transpose() * J;
            const VectorXd gradient = J.transpose() * (answers_.logits - reached_);
            bool better = false;
            for (int attempt = 0; attempt < 6 && !better; ++attempt) {
                MatrixXd damped = normal;
                damped.diagonal() *= 1 + damping;
                damped.diagonal().array() += 1e-9 * normal.diagonal().mean();
                better = moved_to(numbers_ + solve_symmetric(damped, gradient));
                damping *= better ? 0.1 : 10;
            }
            if (!better) return;
        }
    }

    MatrixXd found() const { return spans_.part(numbers_); }
    /// The matrix in these spans that is nearest to Charlie's part.
    MatrixXd nearest(const MatrixXd& hidden) const {
        return spans_.U * (spans_.U.transpose() * hidden * spans_.V) * spans_.V.transpose();
    }

private:
    bool moved_to(const VectorXd& numbers) {
        const VectorXd there = outputs(numbers);
        if ((answers_.logits - there).norm() >= (answers_.logits - reached_).norm()) return false;
        numbers_ = numbers;
        reached_ = there;
        return true;
    }

    VectorXd outputs(const VectorXd& numbers) {
        copy_.replace(place_, R_ + spans_.part(numbers));
        return some_of(victim_.logits(copy_, answers_.prompts));
    }

    /// Differences of the outputs by each number, in steps that are large enough for floats and
    /// small against a singular value.
    MatrixXd differences() {
        const double step = 0.02 * R_.norm() / std::sqrt(static_cast<double>(R_.rows()));
        MatrixXd J(reached_.size(), numbers_.size());
        for (Index j = 0; j < numbers_.size(); ++j) {
            VectorXd moved = numbers_;
            moved(j) += step;
            J.col(j) = (outputs(moved) - reached_) / step;
        }
        return J;
    }

    const Victim& victim_;
    Victim::Place place_;
    Spans spans_;
    const Answers& answers_;
    OwnCopy copy_;
    MatrixXd R_;
    VectorXd numbers_, reached_;
};

/// The model with o_proj of the first block alone split, at rank k: once per process and k.
const Victim& victim_at(const Setting& setting, std::size_t k) {
    static std::map<std::size_t, Victim> victims;
    return victims.try_emplace(k, setting.model, Plan{{0, "o_proj", k}}).first->second;
}

/// Its o_proj, and the logits of random prompts.
class Target {
public:
    /// `hidden`: David has it as the hidden split leaves it to him.
    Target(const Setting& setting, std::size_t k, int prompts, bool hidden)
        : victim_(victim_at(setting, k)),
          place_(victim_.find("o_proj", 0)),
          random_(setting.seed),
          R_(victim_.davids_part(place_)),
          hidden_(victim_.charlies_part(place_)) {
        if (hidden) {
            const MatrixXd W = R_ + hidden_;
            R_ = hidden_split(W, k).davids_part();
            hidden_ = W - R_;
        }
        ProductSession session(victim_);
        for (int i = 0; i < prompts; ++i) {
            answers_.prompts.push_back(random_prompt(victim_.config(), 2, random_));
        }
        answers_.logits = some_of(victim_.logits(session.engine(), answers_.prompts));
    }

    struct Errors {
        double found, nearest;
    };
    /// Distances to Charlie's part over its norm: of what is found in spans of this width, and of
    /// the nearest that they hold.
    Errors attacked(Index width, bool control = false) {
        Fit fit(victim_, place_, R_,
                control ? random_spans(R_.rows(), width, random_) : exposed_spans(R_, width),
                answers_);
        fit.run(5);
        return {(fit.found() - hidden_).norm() / hidden_.norm(),
                (fit.nearest(hidden_) - hidden_).norm() / hidden_.norm()};
    }

private:
    const Victim& victim_;
    Victim::Place place_;
    std::mt19937_64 random_;
    MatrixXd R_, hidden_;  // David's part and Charlie's
    Answers answers_;
};

std::string described(const Target::Errors& errors) {
    return figure(errors.found) + " where they hold " + figure(errors.nearest);
}

Outcome core_from_logits(const Setting& setting, bool hidden) {
    const int prompts = setting.full ? 32 : 8;
    Target target(setting, 4, prompts, hidden);
    const Target::Errors errors = target.attacked(4);
    std::string note = "o_proj of block 0 alone at k = 4; in the spans " + described(errors) +
                       "; the control, in random spans, reaches " +
                       figure(target.attacked(4, true).found);
    if (setting.full) note += "; in spans of twice the width " + described(target.attacked(8));
    for (const Index k : {2, 8, 16}) {
        if (!setting.full || hidden) break;
        Target other(setting, static_cast<std::size_t>(k), k < 8 ? 32 : 48, false);
        note += "; k = " + std::to_string(k) + ": " + described(other.attacked(k));
        if (k < 16) note += ", and of twice the width " + described(other.attacked(2 * k));
    }
    return {errors.found, 0.5, static_cast<std::uint64_t>(prompts), note};
}

Outcome rank_one(const Setting& setting, bool hidden) {
    Target target(setting, 1, 2, hidden);
    const Target::Errors errors = target.attacked(1);
    return {errors.found, 0.5, 2,
            "o_proj of block 0 alone at k = 1; in the spans " + described(errors)};
}

}  // namespace

Outcome core_from_logits_product(const Setting& setting) {
    return core_from_logits(setting, false);
}
Outcome core_from_logits_hidden(const Setting& setting) { return core_from_logits(setting, true); }
Outcome rank_one_product(const Setting& setting) { return rank_one(setting, false); }
Outcome rank_one_hidden(const Setting& setting) { return rank_one(setting, true); }

}  // namespace slip::attacks
