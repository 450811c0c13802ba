#include "experiments/measure/singular.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "optimized/base/error.hpp"

namespace slip::measure {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using FloatRows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

MatrixXd matrix(const std::vector<float>& w, std::size_t m, std::size_t n) {
    base::require(w.size() == m * n && m > 0 && n > 0, "spectra: not m x n values");
    return Eigen::Map<const FloatRows>(w.data(), static_cast<Index>(m), static_cast<Index>(n))
        .cast<double>();
}

/// The Gram matrix of the smaller side.
MatrixXd gram(const MatrixXd& w) {
    if (w.rows() < w.cols()) return w * w.transpose();
    return w.transpose() * w;
}

}  // namespace

struct Decomposition::Eigenvectors {
    MatrixXd w;
    Eigen::SelfAdjointEigenSolver<MatrixXd> of_gram;  // its eigenvalues rise
};

Decomposition::Decomposition(const std::vector<float>& w, std::size_t m, std::size_t n)
    : eigenvectors_(std::make_unique<Eigenvectors>()) {
    eigenvectors_->w = matrix(w, m, n);
    eigenvectors_->of_gram.compute(gram(eigenvectors_->w));
    base::require(eigenvectors_->of_gram.info() == Eigen::Success, "spectra: no convergence");
}

Decomposition::~Decomposition() = default;

std::vector<double> Decomposition::singular_values() const {
    const Eigen::VectorXd& squares = eigenvectors_->of_gram.eigenvalues();
    std::vector<double> values;
    for (Index i = squares.size(); i-- > 0;) {
        values.push_back(std::sqrt(std::max(0.0, squares[i])));
    }
    return values;
}

std::vector<float> Decomposition::without(std::size_t k) const {
    const MatrixXd& w = eigenvectors_->w;
    const auto count = static_cast<Index>(k);
    base::require(count <= std::min(w.rows(), w.cols()), "spectra: more than all components");
    const MatrixXd largest = eigenvectors_->of_gram.eigenvectors().rightCols(count);
    MatrixXd left = w;
    if (w.rows() < w.cols()) {
        left -= largest * (largest.transpose() * w);
    } else {
        left -= (w * largest) * largest.transpose();
    }
    const FloatRows rows = left.cast<float>();
    return {rows.data(), rows.data() + rows.size()};
}

}  // namespace slip::measure
