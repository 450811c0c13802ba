#include "optimized/masks/small_matrix.hpp"

#include "optimized/base/error.hpp"
#include "optimized/masks/block_secret.hpp"
#include "optimized/masks/stack.hpp"

namespace slip::masks {

using base::require;

SmallMatrix::SmallMatrix(std::span<const std::int8_t> small, std::size_t elements,
                         const Backend& backend)
    : backend_(&backend), rows_(0), elements_(elements) {
    require(1 <= elements && elements <= most_elements && !small.empty() &&
                small.size() % (elements * degree) == 0,
            "SmallMatrix: whole rows of 1 to 16 elements");
    require(all_small(small, 1), "SmallMatrix: coefficients of magnitude 1 at most");
    rows_ = small.size() / (elements * degree);
    matrix_ = base::SecretBuffer<double>(backend.small_matrix_doubles(rows_, elements));
    Workspace own = workspace();
    backend.transform_small_matrix(roots(), small.data(), rows_, elements, own.data(),
                                   matrix_.data());
    wipe_used_stack();
}

void SmallMatrix::multiply(std::span<const std::int64_t> y, std::size_t planes,
                           Workspace& workspace, std::span<std::uint8_t> out) const {
    require(1 <= planes && planes <= most_planes && out.size() % planes == 0 &&
                out.size() / planes <= rows_ * degree,
            "SmallMatrix: the size of the product");
    require(y.size() == elements_ * degree, "SmallMatrix: the column");
    require(workspace.size() == backend_->workspace_bytes(elements_, 1),
            "SmallMatrix: another matrix's workspace");
    backend_->multiply_small_matrix(roots(), matrix_.data(), elements_, y.data(),
                                    out.size() / planes, planes, workspace.data(), out.data());
    wipe_used_stack();
}

}  // namespace slip::masks
