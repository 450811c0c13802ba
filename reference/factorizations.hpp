// Eigen's factorizations of real matrices. Their templates are long: they are compiled once, in
// factorizations.cpp, for whoever includes this header in place of Eigen's.
#pragma once

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>

extern template class Eigen::BDCSVD<Eigen::MatrixXd>;
extern template class Eigen::HouseholderQR<Eigen::MatrixXd>;
extern template class Eigen::JacobiSVD<Eigen::MatrixXd>;
extern template class Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>;
