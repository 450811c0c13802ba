// The integer model of the reference: the exact identity, the singular components, and the rules
// of rounding, against formulas written out here with machine numbers.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>

#include "property_tests/reference/drawn_values.hpp"
#include "reference/decomposition.hpp"
#include "reference/encoding.hpp"
#include "reference/factorizations.hpp"
#include "reference/linear.hpp"
#include "reference/parameters.hpp"

namespace slip::reference {
namespace {

using Eigen::Index;

std::size_t size(Index n) { return static_cast<std::size_t>(n); }

/// A random matrix with entries in [-1, 1] and, if `decay`, rows that shrink as in trained layers.
Eigen::MatrixXd any_weights(Index m, Index n, bool decay) {
    Eigen::MatrixXd W(m, n);
    for (Index i = 0; i < m; ++i) {
        for (Index j = 0; j < n; ++j) {
            const double entry = *rc::gen::inRange(-1000000, 1000001) / 1e6;
            W(i, j) = decay ? entry / static_cast<double>(1 + i * j) : entry;
        }
    }
    return W;
}

Eigen::MatrixXd any_weights() {
    const auto m = *rc::gen::inRange<Index>(2, 9);
    const auto n = *rc::gen::inRange<Index>(2, 9);
    return any_weights(m, n, *rc::gen::arbitrary<bool>());
}

/// The rank over the field of 2^56 - 5 elements: at most the rank over Z.
std::size_t rank(Matrix X) {
    const Integer p = (Integer(1) << 56) - 5;
    const Ring ring(p);
    X = ring.embed(X);
    std::size_t rank = 0;
    for (std::size_t c = 0; c < X.cols() && rank < X.rows(); ++c) {
        std::size_t pivot = rank;
        while (pivot < X.rows() && X(pivot, c) == 0) ++pivot;
        if (pivot == X.rows()) continue;
        for (std::size_t j = 0; j < X.cols(); ++j) std::swap(X(rank, j), X(pivot, j));
        const Integer inverse = powm(X(rank, c), Integer(p - 2), p);
        for (std::size_t i = rank + 1; i < X.rows(); ++i) {
            const Integer factor = ring.multiply(X(i, c), inverse);
            for (std::size_t j = 0; j < X.cols(); ++j) {
                X(i, j) = ring.subtract(X(i, j), ring.multiply(factor, X(rank, j)));
            }
        }
        ++rank;
    }
    return rank;
}

RC_GTEST_PROP(Decomposition, DECO_1_the_identity_is_exact_and_the_rank_at_most_k, ()) {
    const Eigen::MatrixXd W = any_weights();
    const int k = *rc::gen::inRange(0, 7);
    const IntegerModel model = decompose(W, k);
    const Matrix W_int = integer_weights(model);
    for (std::size_t i = 0; i < W_int.rows(); ++i) {
        for (std::size_t j = 0; j < W_int.cols(); ++j) {
            Integer entry = model.W_D(i, j) * 65536;
            for (std::size_t c = 0; c < model.rank(); ++c) entry += model.A(i, c) * model.B(c, j);
            RC_ASSERT(W_int(i, j) == entry);
        }
    }
    RC_ASSERT(rank(charlies_weights(model)) <= model.rank());
    RC_ASSERT(model.rank() <= size(k));
}

TEST(Decomposition, DECO_1_rounding_first_and_splitting_afterwards_loses_the_rank) {
    // The mutant: W_q = {{9, 4}, {4, 5}} split at k = 1, David's part rounded to integers.
    const Matrix W_q{{9, 4}, {4, 5}};
    const Matrix rounded_residual{{1, -1}, {-1, 2}};
    EXPECT_EQ(rank(W_q - rounded_residual), 2U);
    const IntegerModel model = decompose(Eigen::MatrixXd{{9.0, 4.0}, {4.0, 5.0}}, 1);
    EXPECT_EQ(rank(charlies_weights(model)), 1U);
}

/// || W - U_k S_k V_k^T ||^2 (Frobenius).
double squared_residual(const Eigen::MatrixXd& W, const SingularComponents& top) {
    return (W - top.U * top.s.asDiagonal() * top.V.transpose()).squaredNorm();
}

RC_GTEST_PROP(Decomposition, DECO_2_the_components_are_the_largest, ()) {
    const Eigen::MatrixXd W = any_weights();
    const int k = *rc::gen::inRange(0, 7);
    const SingularComponents top = top_components(W, k);
    const Eigen::VectorXd all = singular_values(W);
    const Index kept = top.s.size();
    RC_ASSERT(kept == retained_rank(size(W.rows()), size(W.cols()), k));
    // Eckart and Young: no matrix of rank k leaves less than the sum of the other s_j^2.
    const double best = all.tail(all.size() - kept).squaredNorm();
    RC_ASSERT(std::abs(squared_residual(W, top) - best) <= 1e-9);
    RC_ASSERT((top.U.transpose() * top.U - Eigen::MatrixXd::Identity(kept, kept)).norm() <= 1e-9);
    RC_ASSERT((top.V.transpose() * top.V - Eigen::MatrixXd::Identity(kept, kept)).norm() <= 1e-9);
}

TEST(Decomposition, DECO_2_other_components_leave_more) {
    const Eigen::MatrixXd W = Eigen::Vector3d(3, 2, 1).asDiagonal();
    EXPECT_NEAR(squared_residual(W, top_components(W, 1)), 5.0, 1e-12);
    SingularComponents second = top_components(W, 2);  // the mutant keeps the second component
    second = {second.U.rightCols(1), second.s.tail(1), second.V.rightCols(1)};
    EXPECT_NEAR(squared_residual(W, second), 10.0, 1e-12);
}

TEST(Decomposition, DECO_2_a_large_k_is_cut_and_zero_is_allowed) {
    EXPECT_EQ(retained_rank(5, 3, 2), 2);
    EXPECT_EQ(retained_rank(5, 3, 3), 2);
    EXPECT_EQ(retained_rank(3, 5, 100), 2);
    EXPECT_EQ(retained_rank(1, 9, 1), 0);
    EXPECT_THROW(retained_rank(3, 3, -1), PreconditionError);
    EXPECT_THROW(retained_rank(0, 3, 1), PreconditionError);

    const Eigen::MatrixXd W = Eigen::MatrixXd::Ones(3, 2);
    const IntegerModel model = decompose(W, 0);
    EXPECT_EQ(model.rank(), 0U);
    EXPECT_EQ(model.A.rows(), 3U);
    EXPECT_EQ(model.B.cols(), 2U);
    EXPECT_EQ(integer_weights(model), Integer(65536) * model.W_D);
    EXPECT_EQ(decompose(W, 9).rank(), 1U);
}

TEST(Decomposition, DECO_5_what_is_not_finite_is_refused) {
    for (double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        EXPECT_THROW(decompose(Eigen::MatrixXd{{1.0, bad}, {0.0, 1.0}}, 1), PreconditionError);
        EXPECT_THROW(decompose(Eigen::MatrixXd{{1.0, bad}, {0.0, 1.0}}, 0), PreconditionError);
    }
}

/// DECO-3 for one row of W with machine numbers only, for a row whose scale needs no floor.
void check_row(const Eigen::MatrixXd& W, const SingularComponents& top, const IntegerModel& model,
               Index i) {
    std::vector<double> R;
    double largest = 0;
    for (Index j = 0; j < W.cols(); ++j) {
        double r = W(i, j);
        for (Index c = 0; c < top.s.size(); ++c) r -= top.U(i, c) * top.s(c) * top.V(j, c);
        R.push_back(r);
        largest = std::fmax(largest, std::fabs(r));
    }
    const float delta = static_cast<float>(largest / 127 / 65536);
    RC_ASSERT(model.row_scale[size(i)] == delta);
    for (Index j = 0; j < W.cols(); ++j) {
        const double w = std::nearbyint(R[size(j)] / (static_cast<double>(delta) * 65536));
        RC_ASSERT(model.W_D(size(i), size(j)) == static_cast<int>(w));
    }
    std::vector<double> factors;
    double largest_factor = 0;
    for (Index c = 0; c < top.s.size(); ++c) {
        double largest_v = 0;
        for (Index j = 0; j < W.cols(); ++j)
            largest_v = std::fmax(largest_v, std::fabs(top.V(j, c)));
        const double beta = static_cast<double>(static_cast<float>(largest_v / 2047));
        for (Index j = 0; j < W.cols(); ++j) {
            RC_ASSERT(model.B(size(c), size(j)) ==
                      static_cast<int>(std::nearbyint(top.V(j, c) / beta)));
        }
        factors.push_back(top.U(i, c) * top.s(c) * beta);
        largest_factor = std::fmax(largest_factor, std::fabs(factors.back()));
    }
    auto unit = static_cast<double>(delta);
    std::int64_t power = 1;  // 2^e_i
    for (; std::nearbyint(largest_factor / unit) > 2047; unit *= 2) power *= 2;
    for (std::size_t c = 0; c < factors.size(); ++c) {
        const auto a = static_cast<std::int64_t>(std::nearbyint(factors[c] / unit));
        RC_ASSERT(model.A(size(i), c) == power * a);
    }
}

RC_GTEST_PROP(Encoding, DECO_3_agrees_with_machine_numbers, ()) {
    const Eigen::MatrixXd W = any_weights(5, 6, false);
    const int k = *rc::gen::inRange(0, 4);
    const SingularComponents top = top_components(W, k);
    const IntegerModel model = encode(W, top);
    for (Index i = 0; i < W.rows(); ++i) check_row(W, top, model, i);
}

RC_GTEST_PROP(Encoding, DECO_3_the_model_is_close_to_the_weights, ()) {
    const Eigen::MatrixXd W = any_weights(6, 7, *rc::gen::arbitrary<bool>());
    const IntegerModel model = decompose(W, *rc::gen::inRange(0, 5));
    const SingularComponents top = top_components(W, static_cast<int>(model.rank()));
    const Matrix W_int = integer_weights(model);
    for (Index i = 0; i < W.rows(); ++i) {
        const auto delta = static_cast<double>(model.row_scale[size(i)]);
        // Half a step of W_D, and for each component half a unit of A times B and the reverse.
        double tolerance = 0.5 * delta * 65536;
        const double unit = std::ldexp(delta, static_cast<int>(row_exponent(model.A, size(i))));
        for (Index c = 0; c < top.s.size(); ++c) {
            tolerance += unit * 0.5 * 2047.5;
            tolerance += 0.5 * std::fabs(top.U(i, c) * top.s(c)) / 2047 * (1 + 1e-6);
        }
        for (Index j = 0; j < W.cols(); ++j) {
            const auto approximation = delta * W_int(size(i), size(j)).convert_to<double>();
            RC_ASSERT(std::fabs(approximation - W(i, j)) <= tolerance * (1 + 1e-6));
        }
    }
}

TEST(Encoding, DECO_3_an_exponent_is_the_least_that_leaves_12_bits) {
    const float delta = 0x1p-30F;
    const auto exponent_of = [&](double quotient) {
        return factor_exponent(quotient * static_cast<double>(delta), delta);
    };
    EXPECT_EQ(exponent_of(0), 0U);
    EXPECT_EQ(exponent_of(2047.25), 0U);
    EXPECT_EQ(exponent_of(2047.5), 1U) << "it rounds to 2048";
    EXPECT_EQ(exponent_of(4094.5), 1U);
    EXPECT_EQ(exponent_of(4095), 2U) << "4095 / 2 rounds to 2048";
    EXPECT_EQ(exponent_of(2146435072.0), 20U);
}

/// One component that grows from row to row, in front of a residual that does not.
Eigen::MatrixXd with_growing_rows(Eigen::MatrixXd residual) {
    for (int i = 0; i < residual.rows(); ++i) {
        for (int j = 0; j < residual.cols(); ++j) residual(i, j) += std::ldexp(j + 1, 3 * i);
    }
    return residual;
}

TEST(Encoding, DECO_3_a_row_of_large_factors_has_a_large_exponent) {
    Eigen::MatrixXd R(8, 6);
    for (int i = 0; i < 8; ++i) {
        for (int j = 0; j < 6; ++j) R(i, j) = 20 * std::sin(7 * i + 3 * j + i * j);
    }
    const Matrix A = decompose(with_growing_rows(R), 1).A;
    EXPECT_LE(row_exponent(A, 0), 1U);
    EXPECT_GE(row_exponent(A, 7), 10U);
}

RC_GTEST_PROP(Encoding, DECO_3_a_reader_finds_the_exponent_of_each_row, ()) {
    const Eigen::MatrixXd W = with_growing_rows(any_weights(8, 6, false));
    const SingularComponents top = top_components(W, 2);
    const IntegerModel model = encode(W, top);
    for (Index i = 0; i < 8; ++i) {
        double largest_factor = 0;
        for (Index c = 0; c < 2; ++c) {
            const auto beta = static_cast<double>(component_scale(top.V.col(c)));
            largest_factor = std::fmax(largest_factor, std::fabs(top.U(i, c) * top.s(c) * beta));
        }
        RC_ASSERT(row_exponent(model.A, size(i)) ==
                  factor_exponent(largest_factor, model.row_scale[size(i)]));
    }
}

TEST(Encoding, DECO_4_a_zero_row_gets_scale_one) {
    const Eigen::MatrixXd W{{1.0, 2.0}, {0.0, 0.0}};
    const IntegerModel model = encode(
        W, {Eigen::MatrixXd{{1.0}, {0.0}}, Eigen::VectorXd{{1.5}}, Eigen::MatrixXd{{0.6}, {0.8}}});
    EXPECT_EQ(model.row_scale[1], 1.0F);
    EXPECT_EQ(model.A(1, 0), 0);
    EXPECT_EQ(model.W_D(1, 0), 0);
    EXPECT_EQ(model.W_D(1, 1), 0);
    EXPECT_EQ(row_scale(0, 0, 0), 1.0F);
}

TEST(Encoding, DECO_4_a_scale_is_at_least_the_smallest_normal_float) {
    EXPECT_EQ(row_scale(1e-40, 0, 0), FLT_MIN);
    EXPECT_EQ(row_scale(0, 1e-40, 0), FLT_MIN);
    EXPECT_EQ(row_scale(127, 0, 0), 0x1p-16F);
    EXPECT_THROW(row_scale(1e300, 0, 0), PreconditionError);
}

TEST(Encoding, DECO_4_ENC_5_without_a_residual_products_still_fit_64_bits) {
    // W of rank one: the residual is zero up to rounding, and a floor decides the scale. The mutant
    // without the floor on the row's norm gives A its whole width, and ENC-5 refuses the layer.
    const Eigen::MatrixXd W =
        Eigen::Vector3d(1, 2, 3) * Eigen::RowVectorXd::Constant(256, -5.0).eval();
    const IntegerModel model = decompose(W, 1);
    EXPECT_TRUE(fits_64_bits({integer_weights(model)}, 32767));
    // u s v_j = -15 with |v_j| = 1/16, so |u s| = 240.
    const double factor = 240.0 * double{component_scale(Eigen::VectorXd::Constant(256, 0.0625))};
    const double mutant = factor / static_cast<double>(row_scale(0, factor, 0));
    EXPECT_FALSE(fits_64_bits({Matrix{{round_half_even(mutant) * 2047 * 256}}}, 32767));
}

TEST(Encoding, DECO_4_the_floor_is_rounded_up) {
    int rounded_down = 0;
    for (double factor = 1.0; factor < 2.0; factor += 0.001) {
        const double floor = factor / 2146435072.0;
        const float delta = row_scale(0, factor, 0);
        ASSERT_GE(static_cast<double>(delta), floor);
        ASSERT_EQ(factor_exponent(factor, delta), 20U);
        ASSERT_EQ(factor_exponent(factor, delta * 0.999F), 21U) << "a smaller floor would not do";
        if (static_cast<double>(static_cast<float>(floor)) < floor) ++rounded_down;  // the mutant
    }
    EXPECT_GT(rounded_down, 0) << "the nearest float is below the floor";
}

TEST(Plans, DECO_6_a_layer_that_is_not_named_has_rank_zero) {
    const std::vector<LayerName> layers = {{0, "q"}, {0, "v"}, {1, "q"}, {std::nullopt, "lm_head"}};
    const Plan plan = {{0, "q", 8}, {std::nullopt, "lm_head", 3}};
    EXPECT_NO_THROW(require_valid(plan, layers));
    EXPECT_EQ(planned_rank(plan, {0, "q"}), 8);
    EXPECT_EQ(planned_rank(plan, {1, "q"}), 0);
    EXPECT_EQ(planned_rank(plan, {std::nullopt, "lm_head"}), 3);
    EXPECT_THROW(require_valid({{2, "q", 1}}, layers), PreconditionError) << "no such block";
    EXPECT_THROW(require_valid({{0, "lm_head", 1}}, layers), PreconditionError);
    EXPECT_THROW(require_valid({{0, "q", 1}, {0, "q", 1}}, layers), PreconditionError) << "twice";
    EXPECT_THROW(require_valid({{0, "q", -1}}, layers), PreconditionError);
}

/// 2^t y_D + A (B q) in machine words, which wrap.
std::int64_t machine_output(const IntegerModel& model, std::size_t i, const Vector& q,
                            const Integer& y_D) {
    const auto word = [](const Integer& v) {
        return static_cast<std::uint64_t>(v.convert_to<std::int64_t>());
    };
    std::uint64_t y = word(y_D) << 16;
    for (std::size_t c = 0; c < model.rank(); ++c) {
        std::uint64_t z = 0;
        for (std::size_t j = 0; j < q.size(); ++j) z += word(model.B(c, j)) * word(q[j]);
        y += word(model.A(i, c)) * z;
    }
    return static_cast<std::int64_t>(y);
}

RC_GTEST_PROP(LowRankProducts, DECO_7_64_bits_suffice_when_the_output_fits, ()) {
    const std::size_t k = *rc::gen::inRange<std::size_t>(0, 4);
    const IntegerModel model{
        any_left_factor(3, k), any_matrix(k, 4, 2047), any_matrix(3, 4, 127), {1.0F, 1.0F, 1.0F}};
    const Vector q = any_matrix(4, 1, 32767).column(0);
    const Vector y_D = model.W_D * q;
    const Vector over_Z = charlies_output(model.A, model.B, q, y_D);
    RC_ASSERT(over_Z == unsplit_output(model, q));
    const Vector in_64_bits = charlies_output_64(model.A, model.B, q, y_D);
    for (std::size_t i = 0; i < 3; ++i) {
        RC_ASSERT(in_64_bits[i] == machine_output(model, i, q, y_D[i]));
        const bool fits = abs(over_Z[i]) <= (Integer(1) << 63) - 1;
        RC_ASSERT(!fits || in_64_bits[i] == over_Z[i]);
    }
}

TEST(LowRankProducts, DECO_7_the_parts_may_exceed_64_bits_where_the_sum_does_not) {
    // One entry, W_int = W_C - 127 * 2^16, with W_C a sum of 66 products A(0, c) B(c, 0) so large
    // that 32767 W_int just fits int64 and 32767 W_C does not.
    const Integer largest = (Integer(1) << 63) - 1;
    Matrix A(1, 66), B(66, 1);
    for (std::size_t c = 0; c < 66; ++c) {
        A(0, c) = 2146435072;  // 2047 * 2^20
        B(c, 0) = 2047;
    }
    const Integer rest = largest / 32767 + 127 * 65536 - Integer(64) * A(0, 0) * 2047;
    A(0, 65) = 1 << 20;
    B(64, 0) = (rest >> 20) / 2047;
    B(65, 0) = (rest >> 20) % 2047;
    const IntegerModel model{A, B, Matrix{{-127}}, {1.0F}};
    require_valid(model);
    const Integer W_C = charlies_weights(model)(0, 0);
    const Integer W_int = integer_weights(model)(0, 0);
    ASSERT_TRUE(fits_64_bits({integer_weights(model)}, 32767));
    ASSERT_GT(W_C * 32767, largest) << "A (B q) alone does not fit";
    EXPECT_EQ(charlies_output_64(A, B, {32767}, {-127 * 32767}), Vector({W_int * 32767}));

    // Without David's part, W_int = W_C is beyond the bound of ENC-5, and the words are wrong.
    EXPECT_FALSE(fits_64_bits({charlies_weights(model)}, 32767));
    EXPECT_NE(charlies_output_64(A, B, {32767}, {0}), Vector({W_C * 32767}));
}

}  // namespace
}  // namespace slip::reference
