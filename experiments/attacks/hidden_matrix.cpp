#include "experiments/attacks/hidden_matrix.hpp"

namespace slip::attacks {
namespace {

/// Row i of A, residues mod L (RING-2).
std::vector<std::uint64_t> row_of(const HiddenMatrix& hidden, std::size_t i) {
    std::vector<std::uint8_t> by_plane;
    for (std::size_t p = 0; p < hidden_set().planes; ++p) {
        for (const std::int8_t entry : hidden.davids_row(i, p)) {
            by_plane.push_back(static_cast<std::uint8_t>(residue_of(entry, p)));
        }
    }
    return residues_of(by_plane, hidden_set().planes);
}

}  // namespace

SplitMatrix hidden_split(const Eigen::MatrixXd& W, std::size_t) {
    std::mt19937_64 random(std::random_device{}());
    const HiddenMatrix hidden(W.cast<float>(), random);
    SplitMatrix split{W, Eigen::MatrixXd(W.rows(), W.cols()), Eigen::VectorXd(W.rows())};
    for (Eigen::Index i = 0; i < W.rows(); ++i) {
        const auto row = row_of(hidden, static_cast<std::size_t>(i));
        for (Eigen::Index j = 0; j < W.cols(); ++j) {
            const std::uint64_t residue = row[static_cast<std::size_t>(j)];
            split.W_D(i, j) = static_cast<double>(lift(residue, hidden_set().planes));
        }
        split.steps(i) = W.row(i).norm() / split.W_D.row(i).norm();
    }
    return split;
}

}  // namespace slip::attacks
