// INSECURE, for demonstration only: what David's matrix gives away through the spans of what was
// removed from it (DEF-8), alone or together with outputs.
#pragma once

#include <Eigen/Core>

namespace slip::reference::insecure {

/// E-9. An orthonormal basis (n x k) of the estimated span of the k removed right singular vectors:
/// the right singular vectors of W_D (m x n, m >= n) with the k smallest singular values. Row
/// scales do not move it. Errors: m < n, or k outside 1 .. n.
Eigen::MatrixXd hidden_right_span(const Eigen::MatrixXd& W_D, Eigen::Index k);

/// E-31. For W = diag(g) T with T ternary and g > 0 unknown: T (entries -1, 0, 1), from W_D and k
/// alone. Row i of W is, in steps of row i, W_D(i, .) + y V^T with V = hidden_right_span and k
/// unknown numbers y. Alternates between the nearest ternary row and the nearest y for levels from
/// 20 to 200 steps, and keeps the level that fits best. Errors: as hidden_right_span.
Eigen::MatrixXd recover_ternary(const Eigen::MatrixXd& W_D, Eigen::Index k);

/// E-32. For logits = diag(delta) W_D H (m x N) of a matrix that David holds whole (m x n, full
/// rank): delta, up to one common factor, with |delta| = 1. H is then the solution of a linear
/// system. With P^T W_D = 0, each column z of the logits gives the equations
/// P^T diag(z) (1 / delta) = 0. Errors: N (m - n) < m - 1 equations, fewer than are needed.
Eigen::VectorXd row_scales_from_logits(const Eigen::MatrixXd& W_D, const Eigen::MatrixXd& logits);

/// E-32. For logits = W H (m x N) of W = R + A B with R known and B (k x n) unknown: an orthonormal
/// basis (n x (n - k)) of the inputs v with B v = 0, for which W v = R v. The columns of W span
/// those of the logits, so R v lies in that span exactly if A B v does, which is B v = 0 where A
/// has full rank outside it. Errors: k outside 1 .. n - 1, N < n.
Eigen::MatrixXd inputs_without_hidden_part(const Eigen::MatrixXd& R, const Eigen::MatrixXd& logits,
                                           Eigen::Index k);

/// E-33. R + Y V^T for the Y (m x k) that fits outputs = W inputs (n x N) best: k unknowns for each
/// row. Error: shapes that do not fit.
Eigen::MatrixXd fit_in_span(const Eigen::MatrixXd& R, const Eigen::MatrixXd& V,
                            const Eigen::MatrixXd& inputs, const Eigen::MatrixXd& outputs);

}  // namespace slip::reference::insecure
