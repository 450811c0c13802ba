// An attacker's own copy of the model, of which he knows all but what the plan protects.
#pragma once

#include <vector>

#include "experiments/attacks/victim.hpp"

namespace slip::attacks {

/// Products of the matrices without masks and without rounding of activations. What is not replaced
/// is David's part, which is the whole matrix where the plan protects nothing.
class OwnCopy : public base::Engine {
public:
    explicit OwnCopy(const Victim& victim) {
        const auto& groups = victim.charlie().groups();
        for (std::size_t g = 0; g < groups.size(); ++g) {
            matrices_.emplace_back();
            std::size_t first_row = 0;
            for (std::size_t i = 0; i < groups[g].members.size(); ++i) {
                const Victim::Place place{static_cast<base::GroupId>(g), i, first_row};
                matrices_.back().push_back(victim.davids_part(place).cast<float>());
                first_row += groups[g].members[i].shape.m;
            }
        }
    }

    void replace(const Victim::Place& place, const Eigen::MatrixXd& W) {
        matrices_[place.group][place.member] = W.cast<float>();
    }

    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override {
        const auto columns = static_cast<Eigen::Index>(input.rows());
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            const Eigen::MatrixXf& W = matrices_[group][i];
            const Eigen::Map<const Eigen::MatrixXf> X(input.data(), W.cols(), columns);
            Eigen::Map<Eigen::MatrixXf>(outputs[i].data(), W.rows(), columns).noalias() = W * X;
        }
    }

private:
    std::vector<std::vector<Eigen::MatrixXf>> matrices_;  // by group and member
};

}  // namespace slip::attacks
