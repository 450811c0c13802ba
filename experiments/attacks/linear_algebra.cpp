#include "experiments/attacks/linear_algebra.hpp"

#include <Eigen/Dense>

namespace slip::attacks {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd least_squares(const MatrixXd& A, const MatrixXd& B) {
    return A.colPivHouseholderQr().solve(B);
}

MatrixXd smallest_inputs(const MatrixXd& W, Index k) {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> gram(W.transpose() * W);
    return gram.eigenvectors().leftCols(k);
}

MatrixXd orthonormal_basis(const MatrixXd& columns) {
    const Eigen::HouseholderQR<MatrixXd> qr(columns);
    return qr.householderQ() * MatrixXd::Identity(columns.rows(), columns.cols());
}

VectorXd least_direction(const MatrixXd& N) {
    const Eigen::LLT<MatrixXd> solver(N);
    VectorXd direction = VectorXd::Ones(N.rows());
    for (int step = 0; step < 6; ++step) direction = solver.solve(direction).normalized();
    return direction;
}

VectorXd solve_symmetric(const MatrixXd& N, const VectorXd& b) {
    return N.selfadjointView<Eigen::Lower>().ldlt().solve(b);
}

}  // namespace slip::attacks
