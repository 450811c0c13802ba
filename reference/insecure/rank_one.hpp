// INSECURE, for demonstration only: a square matrix of which one singular component is hidden, and
// its recovery by a search over one number (the paper's remark after `more_then_one_ev`).
#pragma once

#include <Eigen/Core>
#include <functional>

namespace slip::reference::insecure {

/// How far a model with this weight is from what David has seen of the true one: a risk, a
/// perplexity, a distance of outputs. 0 for the true weight.
using Loss = std::function<double(const Eigen::MatrixXd& W)>;

/// E-10, DEF-4. W = R + x u v^T for the residual R = W - s_1 u_1 v_1^T of a square W of full rank:
/// u and v span the null spaces of R^T and R, so that x = +-s_1 is the one unknown. Tries x on a
/// grid over [-largest, largest] and narrows the best interval down.
///
/// Errors: R is not square, or has no rows.
Eigen::MatrixXd recover_rank_one(const Eigen::MatrixXd& R, double largest, const Loss& loss);

}  // namespace slip::reference::insecure
