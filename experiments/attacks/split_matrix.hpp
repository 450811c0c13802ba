// One matrix of the model, split by the product: what David gets of it, and what he does not.
#pragma once

#include <Eigen/Core>
#include <string>

#include "experiments/attacks/victim.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/split/decomposition.hpp"

namespace slip::attacks {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The matrix outlives the view.
inline base::MatrixView<const float> view_of(const RowMajor& W) {
    return {W.data(), static_cast<std::size_t>(W.rows()), static_cast<std::size_t>(W.cols())};
}

struct SplitMatrix {
    Eigen::MatrixXd W;      ///< the checkpoint's
    Eigen::MatrixXd W_D;    ///< David's, integers
    Eigen::VectorXd steps;  ///< delta 2^t, which he does not have

    /// What he would have with the row scales: the part that is not hidden.
    Eigen::MatrixXd davids_part() const { return steps.asDiagonal() * W_D; }
    double hidden_norm() const { return (W - davids_part()).norm(); }
};

/// A tensor of the setting's model, e.g. "model.layers.0.mlp.gate_proj".
inline Eigen::MatrixXd weights_of(const Setting& setting, const std::string& tensor) {
    const importing::Checkpoint checkpoint(setting.model);
    const auto found = checkpoint.tensors().find(tensor + ".weight");
    if (found == checkpoint.tensors().end() || found->second.shape.size() != 2) {
        throw BadInput(setting.model.string() + " has no matrix " + tensor);
    }
    const auto& shape = found->second.shape;
    const auto values = checkpoint.floats(tensor + ".weight", shape[0] * shape[1]);
    return Eigen::Map<const RowMajor>(values.data(), static_cast<Eigen::Index>(shape[0]),
                                      static_cast<Eigen::Index>(shape[1]))
        .cast<double>();
}

/// How a matrix is split, Charlie's part being of this rank.
using Splitter = SplitMatrix (*)(const Eigen::MatrixXd& W, std::size_t rank);

/// The hidden split, which has no rank: W_D is A, lifted. The attacker is told the norms of W's
/// rows, to which `steps` scale it.
SplitMatrix hidden_split(const Eigen::MatrixXd& W, std::size_t rank);

inline SplitMatrix split_matrix(const Eigen::MatrixXd& W, std::size_t rank,
                                splitting::Method method = {}) {
    method.weight_norm = paper_set.lattice->weight_norm;
    const RowMajor weights = W.cast<float>();
    const auto n = static_cast<std::size_t>(W.cols());
    const auto split = splitting::decompose(view_of(weights), rank, "the matrix", method);
    SplitMatrix result{W, Eigen::MatrixXd(W.rows(), W.cols()), Eigen::VectorXd(W.rows())};
    for (Eigen::Index i = 0; i < W.rows(); ++i) {
        const auto row = static_cast<std::size_t>(i);
        result.steps(i) = 65536.0 * static_cast<double>(split.row_scale[row]);
        for (Eigen::Index j = 0; j < W.cols(); ++j) {
            result.W_D(i, j) = split.residual[row * n + static_cast<std::size_t>(j)];
        }
    }
    return result;
}

inline SplitMatrix paper_split(const Eigen::MatrixXd& W, std::size_t rank) {
    return split_matrix(W, rank);
}

}  // namespace slip::attacks
