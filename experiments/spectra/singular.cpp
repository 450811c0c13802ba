#include <Eigen/SVD>
#include <memory>

#include "experiments/spectra/commands.hpp"
#include "optimized/base/error.hpp"

namespace slip::spectra {
namespace {

using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using FloatRows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Rows matrix(const std::vector<float>& w, std::size_t m, std::size_t n) {
    base::require(w.size() == m * n, "spectra: not m x n values");
    return Eigen::Map<const FloatRows>(w.data(), static_cast<Eigen::Index>(m),
                                       static_cast<Eigen::Index>(n))
        .cast<double>();
}

}  // namespace

struct Remover::Decomposition {
    Rows w;
    Eigen::BDCSVD<Rows> svd;
};

Remover::Remover(const std::vector<float>& w, std::size_t m, std::size_t n)
    : decomposition_(std::make_unique<Decomposition>()) {
    decomposition_->w = matrix(w, m, n);
    decomposition_->svd.compute(decomposition_->w, Eigen::ComputeThinU | Eigen::ComputeThinV);
}

Remover::~Remover() = default;

std::vector<float> Remover::without(std::size_t k) const {
    const auto& [w, svd] = *decomposition_;
    const auto count = static_cast<Eigen::Index>(k);
    base::require(count <= svd.singularValues().size(), "spectra: more components than there are");
    const Rows left = w - svd.matrixU().leftCols(count) *
                              svd.singularValues().head(count).asDiagonal() *
                              svd.matrixV().leftCols(count).transpose();
    std::vector<float> values(static_cast<std::size_t>(left.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(left.data()[i]);
    }
    return values;
}

std::vector<double> singular_values(const std::vector<float>& w, std::size_t m, std::size_t n) {
    const Eigen::VectorXd values = Eigen::BDCSVD<Rows>(matrix(w, m, n)).singularValues();
    return {values.data(), values.data() + values.size()};
}

}  // namespace slip::spectra
