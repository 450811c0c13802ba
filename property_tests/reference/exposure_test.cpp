// What David's half exposes, measured on the weights of the bundled model: rows E-9 and E-31 to
// E-33 of spec/errata.md. The figures in the text are those that these tests compute.
// test: alone, calculates
// links: slip_import slip_reference
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "optimized/import/safetensors.hpp"
#include "property_tests/reference/fixed_matrices.hpp"
#include "reference/decomposition.hpp"
#include "reference/factorizations.hpp"
#include "reference/insecure/exposed_span.hpp"

namespace slip::reference {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

const importing::SafetensorsFile& bundled_model() {
    static const importing::SafetensorsFile file(SLIP_SOURCE_DIR
                                                 "/models/tinystories-llama/model.safetensors");
    return file;
}

MatrixXd weights(const std::string& tensor) {
    const importing::Tensor& found = bundled_model().tensor(tensor);
    const std::vector<float> values = importing::to_floats(found);
    const auto rows = static_cast<Index>(found.shape.at(0));
    using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::Map<const RowMajor> map(values.data(), rows,
                                         static_cast<Index>(found.shape.at(1)));
    return map.cast<double>();
}

/// The matrices of these layers in all six blocks.
std::vector<std::string> in_all_blocks(const std::vector<std::string>& layers) {
    std::vector<std::string> names;
    for (int block = 0; block < 6; ++block) {
        for (const std::string& layer : layers) {
            names.push_back("model.layers." + std::to_string(block) + "." + layer + ".weight");
        }
    }
    return names;
}

const std::vector<std::string> tall = {"mlp.gate_proj", "mlp.up_proj"};            // 512 x 192
const std::vector<std::string> square = {"self_attn.q_proj", "self_attn.o_proj"};  // 192 x 192
const std::vector<std::string> wide = {"self_attn.k_proj", "self_attn.v_proj",     // 96 x 192
                                       "mlp.down_proj"};                           // 192 x 512

SingularComponents largest_components(const MatrixXd& W, Index k) {
    const MatrixXd V = right_singular_vectors(W).leftCols(k);
    const MatrixXd scaled = W * V;
    return {scaled.colwise().normalized(), scaled.colwise().norm().transpose(), V};
}

MatrixXd real(const Matrix& X) {
    MatrixXd out(static_cast<Index>(X.rows()), static_cast<Index>(X.cols()));
    for (Index i = 0; i < out.rows(); ++i) {
        for (Index j = 0; j < out.cols(); ++j) {
            out(i, j) =
                X(static_cast<std::size_t>(i), static_cast<std::size_t>(j)).convert_to<double>();
        }
    }
    return out;
}

/// delta_i 2^t, the steps of W_D.
VectorXd steps(const IntegerModel& model) {
    VectorXd out(static_cast<Index>(model.row_scale.size()));
    for (Index i = 0; i < out.size(); ++i) {
        out(i) = static_cast<double>(model.row_scale[static_cast<std::size_t>(i)]) * 65536;
    }
    return out;
}

double relative_error(const MatrixXd& found, const MatrixXd& right) {
    return (found - right).norm() / right.norm();
}

/// The least, the greatest and the mean of some measurements.
struct Range {
    double least = 0;
    double greatest = 0;
    double mean = 0;
};

Range range_of(const std::vector<double>& values) {
    const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    return {*least, *greatest, sum / static_cast<double>(values.size())};
}

// ---- E-9

/// The mean squared cosine between the hidden span of the shorter side and its estimate from W_D,
/// for every matrix of every block.
std::vector<double> cosines(Index k) {
    std::vector<double> found;
    for (const auto& layers : {tall, square, wide}) {
        for (const std::string& name : in_all_blocks(layers)) {
            const MatrixXd W = weights(name);
            const SingularComponents top = largest_components(W, k);
            const MatrixXd W_D = real(encode(W, top).W_D);
            const bool rows_are_longer = W.rows() >= W.cols();
            const MatrixXd span =
                insecure::hidden_right_span(rows_are_longer ? W_D : W_D.transpose(), k);
            const MatrixXd& hidden = rows_are_longer ? top.V : top.U;
            found.push_back((span.transpose() * hidden).squaredNorm() / static_cast<double>(k));
        }
    }
    return found;
}

TEST(Errata, E_9_the_span_of_four_survives_eight_bits_in_the_bundled_model) {
    const Range found = range_of(cosines(4));
    EXPECT_NEAR(found.least, 0.64, 0.005);
    EXPECT_NEAR(found.mean, 0.95, 0.005);
    EXPECT_GT(found.greatest, 0.9999);
}

TEST(Errata, E_9_the_span_of_sixteen_survives_eight_bits_in_the_bundled_model) {
    const Range found = range_of(cosines(16));
    EXPECT_NEAR(found.least, 0.87, 0.005);
    EXPECT_NEAR(found.mean, 0.97, 0.005);
    EXPECT_GT(found.greatest, 0.9999);
}

// ---- E-31

MatrixXd nearest_ternary(const MatrixXd& X) {
    return X.unaryExpr([](double x) { return std::clamp(std::nearbyint(x), -1.0, 1.0); });
}

double share_that_agrees(const MatrixXd& found, const MatrixXd& right) {
    const auto count = (found.array() == right.array()).count();
    return static_cast<double>(count) / static_cast<double>(right.size());
}

/// The shares of entries that the attack finds, and that rounding W_D at the true levels gives, of
/// a W put on a ternary grid, the row's level being its mean magnitude, and split at k = 4.
struct Recovered {
    std::vector<double> attack;
    std::vector<double> rounding;
};

Recovered recovered_entries(const std::vector<std::string>& layers) {
    Recovered shares;
    for (const std::string& name : in_all_blocks(layers)) {
        const MatrixXd W = weights(name);
        const VectorXd levels = W.cwiseAbs().rowwise().mean();
        const MatrixXd T = nearest_ternary(levels.cwiseInverse().asDiagonal() * W);
        const MatrixXd on_grid = levels.asDiagonal() * T;
        const IntegerModel model = encode(on_grid, largest_components(on_grid, 4));
        const MatrixXd W_D = real(model.W_D);
        const VectorXd step_in_levels = steps(model).cwiseQuotient(levels);
        shares.attack.push_back(share_that_agrees(insecure::recover_ternary(W_D, 4), T));
        shares.rounding.push_back(
            share_that_agrees(nearest_ternary(step_in_levels.asDiagonal() * W_D), T));
    }
    return shares;
}

TEST(Errata, E_31_ternary_weights_follow_from_davids_half) {
    const Recovered found = recovered_entries(tall);
    EXPECT_GT(range_of(found.attack).least, 0.998) << "of all entries, in the worst of 12 matrices";
    EXPECT_GT(range_of(found.attack).mean, 0.9995);
    EXPECT_NEAR(range_of(found.rounding).least, 0.90, 0.01);
    EXPECT_NEAR(range_of(found.rounding).greatest, 0.97, 0.01) << "what rounding alone reaches";
}

TEST(Errata, E_31_most_entries_of_ternary_square_matrices_too) {
    const Recovered found = recovered_entries(square);
    EXPECT_NEAR(range_of(found.attack).least, 0.87, 0.01);
    EXPECT_NEAR(range_of(found.attack).mean, 0.96, 0.01);
    EXPECT_NEAR(range_of(found.attack).greatest, 1.00, 0.01);
    EXPECT_NEAR(range_of(found.rounding).least, 0.79, 0.01);
    EXPECT_NEAR(range_of(found.rounding).greatest, 0.91, 0.01);
}

// ---- E-32

/// The first 512 rows of the head, which this model ties to its embedding.
MatrixXd head() { return weights("model.embed_tokens.weight").topRows(512); }

TEST(Errata, E_32_logits_of_a_head_that_is_not_split_give_hidden_states_and_row_scales) {
    const MatrixXd W = head();
    const IntegerModel model = encode(W, largest_components(W, 0));
    const MatrixXd W_D = real(model.W_D);
    const MatrixXd hidden_states = random_real(192, 4, 1);
    const MatrixXd logits = steps(model).asDiagonal() * W_D * hidden_states;

    const VectorXd scales = insecure::row_scales_from_logits(W_D, logits);
    const double sign = scales(0) > 0 ? 1 : -1;
    EXPECT_LT(relative_error(sign * scales, steps(model).normalized()), 1e-9);
    const MatrixXd unscaled = (sign * scales).cwiseInverse().asDiagonal() * logits;
    const MatrixXd found = least_squares(W_D, unscaled) / steps(model).norm();
    EXPECT_LT(relative_error(found, hidden_states), 1e-9) << "four outputs, 192 coordinates each";
}

TEST(Errata, E_32_splitting_the_head_does_not_stop_it) {
    const MatrixXd W = head();
    const Index k = 16;
    const IntegerModel model = encode(W, largest_components(W, k));
    const MatrixXd R = steps(model).asDiagonal() * real(model.W_D);
    const MatrixXd B = real(model.B);
    const MatrixXd whole = R + steps(model).asDiagonal() * real(model.A) / 65536 * B;
    const MatrixXd hidden_states = random_real(192, 200, 2);

    const MatrixXd known = insecure::inputs_without_hidden_part(R, whole * hidden_states, k);
    EXPECT_LT((B * known).norm() / B.norm(), 1e-8) << "the row space of Charlie's B, exactly";
    const MatrixXd found = least_squares(R * known, whole * hidden_states);
    EXPECT_EQ(found.rows(), 176) << "of 192 coordinates";
    EXPECT_LT(relative_error(found, known.transpose() * hidden_states), 0.03);
}

// ---- E-33

TEST(Errata, E_33_who_knows_the_span_needs_few_outputs) {
    for (const std::string& name : in_all_blocks(tall)) {
        const MatrixXd W = weights(name);
        const Index k = 4;
        const SingularComponents top = largest_components(W, k);
        const IntegerModel model = encode(W, top);
        const MatrixXd W_D = real(model.W_D);
        const MatrixXd R = steps(model).asDiagonal() * W_D;
        const MatrixXd inputs = random_real(192, 8, 3);
        const MatrixXd outputs = W * inputs;
        const MatrixXd hidden = top.U * top.s.asDiagonal() * top.V.transpose();

        const MatrixXd in_span =
            insecure::fit_in_span(R, insecure::hidden_right_span(W_D, k), inputs, outputs);
        const MatrixXd anywhere =
            insecure::fit_in_span(R, MatrixXd::Identity(192, 192), inputs, outputs);
        EXPECT_LT(relative_error(anywhere * inputs, outputs), 1e-9) << "and yet it fits";
        EXPECT_LT((in_span - W).norm() / hidden.norm(), 0.04) << name;
        EXPECT_GT((anywhere - W).norm() / hidden.norm(), 0.97) << name;
    }
}

}  // namespace
}  // namespace slip::reference
