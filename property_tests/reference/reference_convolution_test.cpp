// Convolutions of the reference: by the formula, as a dense matrix, by patches, and masked.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <Eigen/LU>

#include "property_tests/reference/drawn_values.hpp"
#include "reference/convolution.hpp"
#include "reference/decomposition.hpp"
#include "reference/integrity.hpp"
#include "reference/linear.hpp"
#include "reference/masking.hpp"
#include "reference/parameters.hpp"

namespace slip::reference {
namespace {

Vector any_image(const ConvolutionShape& shape) {
    return any_matrix(shape.inputs(), 1, 100).column(0);
}

ConvolutionShape any_shape() {
    ConvolutionShape shape{};
    shape.kH = *rc::gen::inRange<std::size_t>(1, 4);
    shape.kW = *rc::gen::inRange<std::size_t>(1, 4);
    shape.H = shape.kH + *rc::gen::inRange<std::size_t>(0, 4);
    shape.W = shape.kW + *rc::gen::inRange<std::size_t>(0, 4);
    shape.C = *rc::gen::inRange<std::size_t>(1, 3);
    shape.N = *rc::gen::inRange<std::size_t>(1, 4);
    shape.stride = *rc::gen::inRange<std::size_t>(1, 3);
    shape.padding = *rc::gen::inRange<std::size_t>(0, 3);
    return shape;
}

Matrix any_kernel(const ConvolutionShape& shape) { return any_matrix(shape.N, shape.patch(), 127); }

RC_GTEST_PROP(Convolutions, CNN_1_the_formula_of_the_appendix, ()) {
    ConvolutionShape shape = any_shape();
    shape.stride = 1;
    shape.padding = 0;
    const Matrix kernel = any_kernel(shape);
    const Vector x = any_image(shape);
    const Vector o = convolve(shape, kernel, x);
    // With the indices of the appendix, which start at 1.
    const std::size_t i = *rc::gen::inRange<std::size_t>(1, shape.H_o() + 1);
    const std::size_t j = *rc::gen::inRange<std::size_t>(1, shape.W_o() + 1);
    const std::size_t n = *rc::gen::inRange<std::size_t>(1, shape.N + 1);
    Integer sum = 0;
    for (std::size_t c = 1; c <= shape.C; ++c) {
        for (std::size_t u = 1; u <= shape.kH; ++u) {
            for (std::size_t v = 1; v <= shape.kW; ++v) {
                sum += x[shape.input_index(i + u - 1 - 1, j + v - 1 - 1, c - 1)] *
                       kernel(n - 1, shape.patch_index(u - 1, v - 1, c - 1));
            }
        }
    }
    RC_ASSERT(o[shape.output_index(i - 1, j - 1, n - 1)] == sum);
}

TEST(Convolutions, CNN_1_stride_and_padding) {
    const Matrix kernel{{1, 10, 100, 1000}};
    const Vector x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    EXPECT_EQ(convolve({3, 3, 1, 2, 2, 1}, kernel, x), Vector({5421, 6532, 8754, 9865}));
    EXPECT_EQ(convolve({3, 3, 1, 2, 2, 1, 2, 1}, kernel, x), Vector({1000, 3200, 7040, 9865}));
    EXPECT_THROW(convolve({3, 3, 1, 4, 2, 1}, Matrix(1, 8), x), PreconditionError);
    EXPECT_THROW(convolve({3, 3, 1, 2, 2, 1, 0}, kernel, x), PreconditionError);
    EXPECT_THROW(convolve({3, 3, 1, 2, 2, 1}, kernel, {1}), PreconditionError);
    EXPECT_THROW(convolve({3, 3, 1, 2, 2, 2}, kernel, x), PreconditionError);
}

RC_GTEST_PROP(Convolutions, CNN_2_the_dense_matrix_is_the_convolution, ()) {
    const ConvolutionShape shape = any_shape();
    const Matrix kernel = any_kernel(shape);
    const Vector x = any_image(shape);
    const Matrix W = dense_matrix(shape, kernel);
    RC_ASSERT(W.rows() == shape.outputs() && W.cols() == shape.inputs());
    RC_ASSERT(W * x == convolve(shape, kernel, x));
}

TEST(Convolutions, CNN_2_a_dense_matrix_written_out) {
    // X is 2 x 3, one channel; the kernel is 2 x 2.
    EXPECT_EQ(dense_matrix({2, 3, 1, 2, 2, 1}, Matrix{{1, 2, 3, 4}}),
              (Matrix{{1, 2, 0, 3, 4, 0}, {0, 1, 2, 0, 3, 4}}));
}

RC_GTEST_PROP(Convolutions, CNN_3_the_kernel_matrix_times_the_patches_is_the_convolution, ()) {
    const ConvolutionShape shape = any_shape();
    const Matrix kernel = any_kernel(shape);
    const Vector x = any_image(shape);
    RC_ASSERT(from_patches(shape, kernel * patches(shape, x)) == convolve(shape, kernel, x));
}

RC_GTEST_PROP(Convolutions, CNN_4_david_convolves_the_masked_image, ()) {
    const ConvolutionShape shape = any_shape();
    const Matrix kernel = any_kernel(shape);
    const Vector q = any_image(shape);
    const ParameterSet set = paper();
    const Ring& ring = set.ring();
    const Key key = {*rc::gen::arbitrary<std::uint8_t>()};
    const Vector r = uniform_residues(set.planes, key, Purpose::mask, 0, shape.inputs());

    const Vector x_masked = mask(ring, q, r);
    const Vector y_masked = davids_convolution(ring, shape, kernel, x_masked);
    RC_ASSERT(y_masked == ring.multiply(dense_matrix(shape, kernel), x_masked));
    const Vector c = davids_convolution(ring, shape, kernel, r);
    RC_ASSERT(unmask(ring, y_masked, c) == convolve(shape, kernel, q));
}

RC_GTEST_PROP(Convolutions, CNN_4_the_check_takes_the_patches_of_the_masked_image_as_columns, ()) {
    const ConvolutionShape shape = any_shape();
    const Matrix kernel = any_kernel(shape);
    const ParameterSet set = paper();
    const Ring& ring = set.ring();
    const Key key = {*rc::gen::arbitrary<std::uint8_t>()};
    const Vector x_masked =
        mask(ring, any_image(shape),
             uniform_residues(set.planes, key, Purpose::mask, 0, shape.inputs()));
    const Matrix columns = patches(shape, x_masked);
    const CheckSecret secret = draw_check_secret(set.planes, Key{4}, kernel, set.combinations);
    Matrix reply = davids_product(ring, kernel, columns);
    RC_ASSERT(accepts(set.planes, secret, columns, reply));
    RC_ASSERT(from_patches(shape, reply) == davids_convolution(ring, shape, kernel, x_masked));
    const std::size_t position = *rc::gen::inRange<std::size_t>(0, reply.cols());
    reply(0, position) = ring.add(reply(0, position), 1);
    RC_ASSERT(!accepts(set.planes, secret, columns, reply));
}

/// The kernel as a real matrix, for the decomposition.
Eigen::MatrixXd to_real(const Matrix& X) {
    Eigen::MatrixXd real(static_cast<Eigen::Index>(X.rows()), static_cast<Eigen::Index>(X.cols()));
    for (std::size_t i = 0; i < X.rows(); ++i) {
        for (std::size_t j = 0; j < X.cols(); ++j) {
            real(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
                X(i, j).convert_to<double>();
        }
    }
    return real;
}

RC_GTEST_PROP(Convolutions, CNN_5_a_split_kernel_is_a_split_of_the_dense_matrix, ()) {
    const ConvolutionShape shape = any_shape();
    const Vector q = any_image(shape);
    const IntegerModel kernel = decompose(to_real(any_kernel(shape)), *rc::gen::inRange<int>(0, 3));
    const Integer unit = Integer(1) << fraction_bits;
    const Matrix whole = dense_matrix(shape, integer_weights(kernel));
    RC_ASSERT(whole == unit * dense_matrix(shape, kernel.W_D) +
                           dense_matrix(shape, charlies_weights(kernel)));
    RC_ASSERT(charlies_convolution(shape, kernel.A, kernel.B, q) ==
              convolve(shape, charlies_weights(kernel), q));
}

TEST(Convolutions, CNN_5_the_parts_of_rank_k_differ) {
    // A kernel matrix of one row has rank 1; its dense matrix has four independent rows, and its
    // best approximation of rank 1 is not the dense matrix of any kernel.
    const ConvolutionShape shape{3, 3, 1, 2, 2, 1};
    const Eigen::MatrixXd dense = to_real(dense_matrix(shape, Matrix{{1, 2, 3, 4}}));
    EXPECT_EQ(dense.fullPivLu().rank(), 4);
    const SingularComponents top = top_components(dense, 1);
    const Eigen::MatrixXd W_C = top.U * top.s.asDiagonal() * top.V.transpose();
    EXPECT_GT(std::abs(W_C(0, 2)), 0.1) << "the dense matrix of a kernel has a zero here";
}

RC_GTEST_PROP(Convolutions, CNN_5_both_splits_have_the_same_bound_without_padding, ()) {
    ConvolutionShape shape = any_shape();
    shape.padding = 0;
    const Matrix kernel = any_kernel(shape);
    RC_ASSERT(largest_row_norm(dense_matrix(shape, kernel)) == largest_row_norm(kernel));
}

TEST(Convolutions, CNN_5_the_size_of_a_dense_matrix) {
    const ConvolutionShape shape{56, 56, 64, 3, 3, 64};
    EXPECT_EQ(Integer(shape.outputs()) * shape.inputs(), Integer(37'456'183'296));
    EXPECT_EQ(shape.N * shape.patch(), 36'864U);
}

}  // namespace
}  // namespace slip::reference
