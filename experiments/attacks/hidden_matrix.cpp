#include "experiments/attacks/hidden_matrix.hpp"

namespace slip::attacks {
namespace {

using base::parameters::primes;

/// The integer of least magnitude with these residues (RING-2), prime after prime.
std::int64_t lifted(const HiddenMatrix& hidden, std::size_t i, std::size_t j) {
    std::int64_t x = 0, product = 1;
    for (std::size_t p = 0; p < hidden_set().planes; ++p) {
        const std::int64_t prime = primes[p];
        while ((hidden.davids_row(i, p)[j] - x) % prime != 0) x += product;
        product *= prime;
    }
    return x > product / 2 ? x - product : x;
}

}  // namespace

SplitMatrix hidden_split(const Eigen::MatrixXd& W, std::size_t) {
    std::mt19937_64 random(std::random_device{}());
    const HiddenMatrix hidden(W.cast<float>(), random);
    SplitMatrix split{W, Eigen::MatrixXd(W.rows(), W.cols()), Eigen::VectorXd(W.rows())};
    for (Eigen::Index i = 0; i < W.rows(); ++i) {
        for (Eigen::Index j = 0; j < W.cols(); ++j) {
            split.W_D(i, j) = static_cast<double>(
                lifted(hidden, static_cast<std::size_t>(i), static_cast<std::size_t>(j)));
        }
        split.steps(i) = W.row(i).norm() / split.W_D.row(i).norm();
    }
    return split;
}

}  // namespace slip::attacks
