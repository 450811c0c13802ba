// k = 1 on a square matrix (E-10): one number is hidden, and whoever sees outputs of the model
// finds it by a search. The attacker has the rest of the model, as one whose plan protects one
// matrix.
#include <cmath>

#include "experiments/attacks/linear_algebra.hpp"
#include "experiments/attacks/measure.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/weakened_engine.hpp"

namespace slip::attacks {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// The model with another matrix in the place of one.
class Replaced : public graph::Engine {
public:
    Replaced(const Victim& victim, base::GroupId group, const MatrixXd& W)
        : rest_(victim, {.mask = no_mask}), group_(group), W_(W) {}

    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override {
        if (group != group_) return rest_.apply(group, input, outputs);
        for (std::size_t c = 0; c < input.rows(); ++c) {
            const Eigen::Map<const Eigen::VectorXf> x(input.row(c).data(), W_.cols());
            Eigen::Map<Eigen::VectorXf>(outputs[0].row(c).data(), W_.rows()) =
                (W_ * x.cast<double>()).cast<float>();
        }
    }

private:
    WeakenedEngine rest_;
    base::GroupId group_;
    const MatrixXd& W_;
};

/// The last component of R: the one whose products are smallest.
MatrixXd missing_component(const MatrixXd& R) {
    return smallest_inputs(R.transpose(), 1) * smallest_inputs(R, 1).transpose();
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - double{b[i]}, 2);
    return sum;
}

}  // namespace

Outcome rank_one_product(const Setting& setting) {
    const Victim victim(setting.model, Plan{{0, "o_proj", 1}});
    const auto place = victim.find("o_proj", 0);
    const MatrixXd R = victim.davids_part(place);
    const MatrixXd component = missing_component(R);
    std::mt19937_64 random(setting.seed);
    std::vector<std::vector<TokenId>> prompts;
    std::vector<std::vector<float>> outputs;
    ProductSession session(victim);
    for (int i = 0; i < 2; ++i) {
        prompts.push_back(random_prompt(victim.config(), 4, random));
        outputs.push_back(session.logits(prompts.back()));
    }
    const auto loss = [&](double x) {
        const MatrixXd W = R + x * component;
        double sum = 0;
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            Replaced engine(victim, place.group, W);
            sum += distance(victim.logits(engine, prompts[i]), outputs[i]);
        }
        return sum;
    };
    double centre = 0;
    double radius = R.norm();
    for (int pass = 0; pass < 4; ++pass) {
        const double from = centre - radius, step = radius / 8;
        double best = INFINITY;
        for (int i = 0; i <= 16; ++i) {
            const double reached = loss(from + i * step);
            if (reached < best) {
                best = reached;
                centre = from + i * step;
            }
        }
        radius = step;
    }
    const MatrixXd hidden = victim.charlies_part(place);
    const MatrixXd found = centre * component;
    return {(found - hidden).norm() / hidden.norm(), 0.5, prompts.size(),
            "o_proj of block 0 alone at k = 1; singular value to " +
                figure(std::abs(std::abs(centre) - hidden.norm()) / hidden.norm())};
}

}  // namespace slip::attacks
