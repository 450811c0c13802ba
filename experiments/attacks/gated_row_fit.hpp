// A row of gate_proj and one of up_proj from inputs and outputs of SwiGLU.
#pragma once

#include <Eigen/Core>

#include "experiments/attacks/linear_algebra.hpp"

namespace slip::attacks {

/// Levenberg-Marquardt for silu(gate x) (up x) = y with gate = B_gate theta, up = B_up theta'.
class GatedRowFit {
public:
    GatedRowFit(const Eigen::MatrixXd& gate_basis, const Eigen::MatrixXd& up_basis,
                const Eigen::MatrixXd& X, const Eigen::VectorXd& outputs)
        : gate_basis_(gate_basis),
          up_basis_(up_basis),
          gate_inputs_(gate_basis.transpose() * X),
          up_inputs_(up_basis.transpose() * X),
          outputs_(outputs) {}

    struct Row {
        Eigen::VectorXd gate, up;
    };
    /// Both rows, for parameters that have been fitted.
    Row row(const Eigen::VectorXd& theta) const {
        return {gate_basis_ * theta.head(gate_basis_.cols()),
                up_basis_ * theta.tail(up_basis_.cols())};
    }

    double loss(const Eigen::VectorXd& theta) const { return error_of(theta).squaredNorm(); }

    Eigen::VectorXd fit(Eigen::VectorXd theta, int steps) const {
        double damping = 1e-3;
        double least = loss(theta);
        for (int step = 0; step < steps && damping < 1e8; ++step) {
            const Eigen::VectorXd next = stepped(theta, damping);
            const double reached = loss(next);
            damping *= reached < least ? 0.125 : 8;
            if (reached >= least) continue;
            theta = next;
            least = reached;
        }
        return theta;
    }

private:
    static Eigen::VectorXd sigmoid(const Eigen::VectorXd& z) {
        return (1 + (-z.array()).exp()).inverse();
    }
    Eigen::VectorXd gate_of(const Eigen::VectorXd& theta) const {
        return gate_inputs_.transpose() * theta.head(gate_inputs_.rows());
    }
    Eigen::VectorXd up_of(const Eigen::VectorXd& theta) const {
        return up_inputs_.transpose() * theta.tail(up_inputs_.rows());
    }
    Eigen::VectorXd error_of(const Eigen::VectorXd& theta) const {
        const Eigen::VectorXd z = gate_of(theta);
        return z.cwiseProduct(sigmoid(z)).cwiseProduct(up_of(theta)) - outputs_;
    }
    Eigen::VectorXd stepped(const Eigen::VectorXd& theta, double damping) const {
        const Eigen::VectorXd z = gate_of(theta), u = up_of(theta), s = sigmoid(z);
        const Eigen::VectorXd slope = s.array() * (1 + z.array() * (1 - s.array()));
        Eigen::MatrixXd J(theta.size(), outputs_.size());
        J.topRows(gate_inputs_.rows()) = gate_inputs_ * slope.cwiseProduct(u).asDiagonal();
        J.bottomRows(up_inputs_.rows()) = up_inputs_ * z.cwiseProduct(s).asDiagonal();
        Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(theta.size(), theta.size());
        normal.selfadjointView<Eigen::Lower>().rankUpdate(J);
        normal.diagonal() *= 1 + damping;
        normal.diagonal().array() += 1e-12 * normal.diagonal().mean();
        return theta - solve_symmetric(normal, J * error_of(theta));
    }

    Eigen::MatrixXd gate_basis_, up_basis_, gate_inputs_, up_inputs_;
    Eigen::VectorXd outputs_;
};

}  // namespace slip::attacks
