#include "experiments/convolution/residuals.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "optimized/api/access.hpp"
#include "optimized/base/error.hpp"
#include "optimized/engines/engines.hpp"
#include "optimized/graph/cnn.hpp"
#include "reference/convolution.hpp"

namespace slip::convolution {
namespace {

using base::GroupShape;

/// CNN-2, by the reference; row-major.
std::vector<float> dense_matrix(const base::Convolution& c, const std::vector<float>& kernel) {
    const auto rows = static_cast<Eigen::Index>(c.N);
    const auto columns = static_cast<Eigen::Index>(c.patch());
    using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::Map<const RowMajor> kernel_matrix(kernel.data(), rows, columns);
    const reference::ConvolutionShape shape{c.H, c.W, c.C, c.kH, c.kW, c.N, c.stride, c.padding};
    const Eigen::MatrixXd real = kernel_matrix.cast<double>();
    const RowMajor dense = reference::dense_matrix(shape, real).cast<float>();
    return {dense.data(), dense.data() + dense.size()};
}

/// The group of the dense matrix: a linear layer from the image to all outputs.
GroupShape dense_group(const GroupShape& group) {
    GroupShape dense = group;
    dense.n = group.convolution->inputs();
    dense.members.front().m = group.convolution->outputs();
    dense.members.front().tensor_rows = dense.members.front().m;
    dense.convolution = std::nullopt;
    return dense;
}

Matrix matrix_of(const importing::Checkpoint& checkpoint, const GroupShape& group, Form form) {
    Matrix matrix{
        group, group.product().positions(), checkpoint.matrix(group.members.front(), group.n), {}};
    if (form == Form::dense && group.convolution) {
        matrix = {dense_group(group), 1, dense_matrix(*group.convolution, matrix.w), {}};
    }
    matrix.components = splitting::top_singular_components(
        {matrix.w.data(), matrix.m(), matrix.n()}, std::min(matrix.m(), matrix.n()));
    return matrix;
}

/// W - sum_{c < rank} sigma_c u_c v_c^T
std::vector<float> residual(const Matrix& matrix, std::size_t rank) {
    const splitting::Components& top = matrix.components;
    const std::size_t n = matrix.n();
    std::vector<double> row(n);
    std::vector<float> left(matrix.w.size());
    for (std::size_t i = 0; i < matrix.m(); ++i) {
        std::copy_n(matrix.w.begin() + static_cast<std::ptrdiff_t>(i * n), n, row.begin());
        for (std::size_t c = 0; c < rank; ++c) {
            const double factor = top.u[i * matrix.full_rank() + c] * top.sigma[c];
            const double* v = top.v.data() + c * n;
            for (std::size_t j = 0; j < n; ++j) row[j] -= factor * v[j];
        }
        std::transform(row.begin(), row.end(), left.begin() + static_cast<std::ptrdiff_t>(i * n),
                       [](double x) { return static_cast<float>(x); });
    }
    return left;
}

class FloatRuntime : public api::Runtime {
public:
    explicit FloatRuntime(engines::FloatEngine engine) : engine_(std::move(engine)) {}
    base::Engine& engine() override { return engine_; }

private:
    engines::FloatEngine engine_;
};

}  // namespace

Layers::Layers(const importing::Checkpoint& checkpoint, Form form) {
    base::require(checkpoint.network() != nullptr, "Layers: expected a convolutional network");
    for (const GroupShape& group : graph::cnn_groups(*checkpoint.network())) {
        matrices_.push_back(matrix_of(checkpoint, group, form));
        is_convolution_.push_back(group.convolution.has_value());
    }
}

std::vector<std::size_t> Layers::ranks(double share, bool convolutions_only) const {
    std::vector<std::size_t> ranks;
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
        const double wanted = share * static_cast<double>(matrices_[i].full_rank());
        const bool split = is_convolution_[i] || !convolutions_only;
        ranks.push_back(split ? static_cast<std::size_t>(std::lround(wanted)) : 0);
    }
    return ranks;
}

std::uint64_t Layers::charlie_multiplications(const std::vector<std::size_t>& ranks) const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
        const Matrix& matrix = matrices_[i];
        count += std::uint64_t{ranks[i]} * (matrix.m() + matrix.n()) * matrix.positions;
    }
    return count;
}

ImageClassifier Layers::without(const std::vector<std::size_t>& ranks,
                                const std::filesystem::path& model) const {
    std::map<std::string, std::vector<float>, std::less<>> weights;
    std::vector<GroupShape> groups;
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
        groups.push_back(matrices_[i].group);
        weights[matrices_[i].group.members.front().tensor + ".weight"] =
            residual(matrices_[i], ranks[i]);
    }
    return Access::image_classifier(std::make_unique<api::CheckpointFiles>(model), [&] {
        return std::make_unique<FloatRuntime>(engines::FloatEngine(
            groups,
            [&](std::string_view name, std::size_t) { return weights.find(name)->second; }));
    });
}

}  // namespace slip::convolution
