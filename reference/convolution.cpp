#include "reference/convolution.hpp"

#include "reference/error.hpp"

namespace slip::reference {

namespace {

std::size_t size(Eigen::Index i) { return static_cast<std::size_t>(i); }
Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

void require_kernel(const ConvolutionShape& shape, std::size_t rows, std::size_t cols) {
    require_valid(shape);
    require(rows == shape.N && cols == shape.patch(), "a kernel matrix is N x (kH kW C)");
}

/// Calls use(i, j, u, v, row, column) for every output position (i, j) and every (u, v) of its
/// window that lies on an input position (row, column), and not on the padding.
template <class Use>
void for_each_tap(const ConvolutionShape& shape, Use use) {
    for (std::size_t i = 0; i < shape.H_o(); ++i) {
        for (std::size_t j = 0; j < shape.W_o(); ++j) {
            for (std::size_t u = 0; u < shape.kH; ++u) {
                for (std::size_t v = 0; v < shape.kW; ++v) {
                    const std::size_t row = i * shape.stride + u - shape.padding;
                    const std::size_t column = j * shape.stride + v - shape.padding;
                    // On the upper and left padding the differences wrap to huge numbers.
                    if (row < shape.H && column < shape.W) use(i, j, u, v, row, column);
                }
            }
        }
    }
}

/// Calls use(i, j, n, column) for every entry (i, j) of the dense matrix that is the entry
/// (n, column) of the kernel matrix.
template <class Use>
void for_each_entry(const ConvolutionShape& shape, Use use) {
    for_each_tap(shape, [&](auto i, auto j, auto u, auto v, auto row, auto column) {
        for (std::size_t c = 0; c < shape.C; ++c) {
            for (std::size_t n = 0; n < shape.N; ++n) {
                use(shape.output_index(i, j, n), shape.input_index(row, column, c), n,
                    shape.patch_index(u, v, c));
            }
        }
    });
}

}  // namespace

void require_valid(const ConvolutionShape& shape) {
    require(shape.H >= 1 && shape.W >= 1 && shape.C >= 1 && shape.kH >= 1 && shape.kW >= 1 &&
                shape.N >= 1 && shape.stride >= 1,
            "no size of a convolution is zero");
    require(shape.kH <= shape.H + 2 * shape.padding && shape.kW <= shape.W + 2 * shape.padding,
            "the window of a convolution lies inside the padded input");
}

Vector convolve(const ConvolutionShape& shape, const Matrix& kernel, const Vector& x) {  // CNN-1
    require_kernel(shape, kernel.rows(), kernel.cols());
    require(x.size() == shape.inputs(), "an image has H W C entries");
    Vector o(shape.outputs(), Integer(0));
    for_each_entry(shape,
                   [&](auto i, auto j, auto n, auto column) { o[i] += x[j] * kernel(n, column); });
    return o;
}

Matrix dense_matrix(const ConvolutionShape& shape, const Matrix& kernel) {  // CNN-2
    require_kernel(shape, kernel.rows(), kernel.cols());
    Matrix W(shape.outputs(), shape.inputs());
    for_each_entry(shape,
                   [&](auto i, auto j, auto n, auto column) { W(i, j) = kernel(n, column); });
    return W;
}

Eigen::MatrixXd dense_matrix(const ConvolutionShape& shape,
                             const Eigen::MatrixXd& kernel) {  // CNN-2
    require_kernel(shape, size(kernel.rows()), size(kernel.cols()));
    Eigen::MatrixXd W = Eigen::MatrixXd::Zero(index(shape.outputs()), index(shape.inputs()));
    for_each_entry(shape, [&](auto i, auto j, auto n, auto column) {
        W(index(i), index(j)) = kernel(index(n), index(column));
    });
    return W;
}

Matrix patches(const ConvolutionShape& shape, const Vector& x) {  // CNN-3
    require_valid(shape);
    require(x.size() == shape.inputs(), "an image has H W C entries");
    Matrix columns(shape.patch(), shape.H_o() * shape.W_o());
    for_each_tap(shape, [&](auto i, auto j, auto u, auto v, auto row, auto column) {
        for (std::size_t c = 0; c < shape.C; ++c) {
            columns(shape.patch_index(u, v, c), i * shape.W_o() + j) =
                x[shape.input_index(row, column, c)];
        }
    });
    return columns;
}

Vector from_patches(const ConvolutionShape& shape, const Matrix& by_position) {  // CNN-3
    require_valid(shape);
    require(by_position.rows() == shape.N && by_position.cols() == shape.H_o() * shape.W_o(),
            "there is a row for each filter and a column for each position");
    Vector o;
    for (std::size_t position = 0; position < by_position.cols(); ++position) {
        for (std::size_t n = 0; n < shape.N; ++n) o.push_back(by_position(n, position));
    }
    return o;
}

Vector davids_convolution(const Ring& ring, const ConvolutionShape& shape, const Matrix& kernel,
                          const Vector& x_masked) {  // CNN-4
    ring.require_elements(x_masked);
    return ring.embed(convolve(shape, ring.embed(kernel), x_masked));
}

Vector charlies_convolution(const ConvolutionShape& shape, const Matrix& A, const Matrix& B,
                            const Vector& q) {  // CNN-5
    return from_patches(shape, A * (B * patches(shape, q)));
}

}  // namespace slip::reference
