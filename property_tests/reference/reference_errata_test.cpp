// Rows of spec/errata.md about decomposition, attention, latency and what is learned: what the
// paper's text gives, and what is right, side by side. Test E_n_... belongs to row E-n.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "property_tests/reference/fixed_matrices.hpp"
#include "reference/attention.hpp"
#include "reference/convolution.hpp"
#include "reference/decomposition.hpp"
#include "reference/definitions.hpp"
#include "reference/factorizations.hpp"
#include "reference/insecure/composite_modulus.hpp"
#include "reference/insecure/few_noise_vectors.hpp"
#include "reference/insecure/rank_one.hpp"
#include "reference/insecure/unchecked.hpp"
#include "reference/integrity.hpp"
#include "reference/latency.hpp"
#include "reference/linear.hpp"
#include "reference/masking.hpp"
#include "reference/model.hpp"

namespace slip::reference {
namespace {

// ---- E-8

TEST(Errata, E_8_rounding_first_leaves_a_part_of_full_rank) {
    const Integer p = (Integer(1) << 56) - 5;
    const MatrixXd W = 40 * random_real(24, 24, 8) * random_real(24, 24, 9);
    const Matrix W_q = rounded(W);
    const SingularComponents top = top_components(W, 3);
    const MatrixXd residual = W - top.U * top.s.asDiagonal() * top.V.transpose();
    EXPECT_GE(insecure::rank_over_field(W_q - rounded(residual), p), 23U) << "rounded, then split";
    EXPECT_EQ(insecure::rank_over_field(charlies_weights(decompose(W, 3)), p), 3U);
}

// ---- E-9

/// Orthonormal bases of what is orthogonal to the columns and to the rows of R, which has rank
/// `rank`.
std::pair<MatrixXd, MatrixXd> complements(const MatrixXd& R, Index rank) {
    const Svd parts = full_svd(R);
    return {parts.U.rightCols(R.rows() - rank), parts.V.rightCols(R.cols() - rank)};
}

TEST(Errata, E_9_the_hidden_part_lies_in_known_bases) {
    for (const auto& [m, n, k] : {std::tuple<Index, Index, int>{9, 6, 2}, {6, 9, 2}, {8, 8, 3}}) {
        const MatrixXd W = random_real(m, n, 10);
        const SingularComponents top = top_components(W, k);
        const MatrixXd hidden = top.U * top.s.asDiagonal() * top.V.transpose();
        const auto [U, V] = complements(W - hidden, std::min(m, n) - k);
        const MatrixXd X = U.transpose() * hidden * V;
        EXPECT_LT((U * X * V.transpose() - hidden).norm(), 1e-9);
        EXPECT_EQ(Integer(X.size()), remaining_unknowns(m, n, k));
    }
    EXPECT_EQ(remaining_unknowns(4096, 4096, 50), 2500);
    EXPECT_EQ(papers_degrees_of_freedom(4096, 50), 4047) << "the paper's corollary";
}

TEST(Errata, E_9_rounding_to_eight_bits_does_not_hide_the_span) {
    // Singular values that decay, as those of trained layers do.
    MatrixXd W = random_real(32, 32, 11);
    const Svd parts = svd(W);
    Eigen::VectorXd s(32);
    for (Index c = 0; c < 32; ++c) s(c) = 10.0 / static_cast<double>(1 + c) + 1;
    W = parts.U * s.asDiagonal() * parts.V.transpose();
    const IntegerModel model = decompose(W, 4);
    MatrixXd R(32, 32);
    for (Index i = 0; i < 32; ++i) {
        for (Index j = 0; j < 32; ++j) {
            R(i, j) = model.W_D(static_cast<std::size_t>(i), static_cast<std::size_t>(j))
                          .convert_to<double>() *
                      static_cast<double>(model.row_scale[static_cast<std::size_t>(i)]);
        }
    }
    const MatrixXd span = complements(R, 28).second;
    const double cosine = (span.transpose() * parts.V.leftCols(4)).squaredNorm() / 4;
    EXPECT_GT(cosine, 0.9) << "mean squared cosine of the hidden span and its estimate";
}

// ---- E-10

TEST(Errata, E_10_one_hidden_component_is_found_by_search) {
    const MatrixXd W = random_real(12, 12, 12);
    const SingularComponents top = top_components(W, 1);
    const MatrixXd R = W - top.s(0) * top.U * top.V.transpose();
    const MatrixXd inputs = random_real(12, 20, 13);
    const MatrixXd seen = (W * inputs).cwiseMax(0.0);  // black box: relu(W a) of some a
    const insecure::Loss loss = [&](const MatrixXd& guess) {
        return ((guess * inputs).cwiseMax(0.0) - seen).norm();
    };
    const MatrixXd found = insecure::recover_rank_one(R, 100, loss);
    EXPECT_LT((found - W).norm() / W.norm(), 1e-6);
    EXPECT_GT((R - W).norm() / W.norm(), 0.3) << "returning Theta_D, the paper's best attacker";
}

TEST(Errata, E_10_the_trace_is_not_the_sum_of_the_singular_values) {
    const MatrixXd W{{0.0, 2.0}, {1.0, 0.0}};
    const Eigen::VectorXd s = svd(W).sigma;
    EXPECT_EQ(W.trace(), 0);
    EXPECT_NEAR(s.sum(), 3, 1e-12);
    EXPECT_NE(W.trace() - s(1), s(0)) << "the remark: lambda_1 = trace - (lambda_2 + ...)";
    // And the attacker has the residual, whose own singular values are the other ones.
    const MatrixXd R{{0.0, 0.0}, {1.0, 0.0}};
    EXPECT_NEAR(svd(R).sigma.sum() - s(1), 0, 1e-12);
}

// ---- E-11

const Matrix figure_a{{1, 2}, {3, 4}, {5, 6}};  // d = 3, two tokens
const Matrix figure_W{{1, -2, 3}, {0, 5, -1}};  // d_h = 2
const Matrix figure_P{{1, 3}, {2, 2}};          // softmax weights in quarters

TEST(Errata, E_11_the_softmax_alone_does_not_fit_W_v) {
    EXPECT_THROW(figure_W * figure_P, PreconditionError) << "the figure: W_v a_s, a_s = softmax";
    const Matrix a_s = figure_a * figure_P.transpose();
    EXPECT_EQ(figure_W * a_s, (figure_W * figure_a) * figure_P.transpose()) << "a_s = a S^T";
}

TEST(Errata, E_11_the_last_step_takes_a_s_and_no_sigma) {
    const Matrix a_s = figure_a * figure_P.transpose();
    const Matrix attention = (figure_W * figure_a) * figure_P.transpose();
    EXPECT_NE(figure_W * figure_a, attention) << "the figure: W_v a_(i-1)";
    Matrix negative = figure_W;
    negative(0, 0) = -100;
    const Matrix right = negative * a_s;
    Matrix with_sigma = right;  // relu
    for (std::size_t j = 0; j < 2; ++j) with_sigma(0, j) = std::max(right(0, j), Integer(0));
    EXPECT_NE(with_sigma, right) << "the figure: sigma(..)";
}

TEST(Errata, E_11_the_scale_is_the_head_dimension_not_the_tokens) {
    const Matrix Q{{3}, {0}, {0}, {0}};                          // d_h = 4, one token
    const Matrix K{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, 0}};  // three tokens
    const Matrix P = fixed_point_softmax(1.0, 20, Visibility::all)(Q, K);
    const auto first_weight = [](double divisor) {
        return std::exp(3 / std::sqrt(divisor)) / (std::exp(3 / std::sqrt(divisor)) + 2);
    };
    EXPECT_EQ(P(0, 0), std::lround(1048576 * first_weight(4))) << "sqrt(d_h)";
    EXPECT_NE(P(0, 0), std::lround(1048576 * first_weight(3))) << "the figure: sqrt(|a|)";
}

TEST(Errata, E_11_two_masked_vectors_are_sent) {
    const IntegerModel weight{Matrix(1, 0), Matrix(0, 1), Matrix{{1}}, {1.0F}};
    const SplitAttention parts = split(AttentionLayer{weight, weight, {weight}}, 101);
    const ParameterSet field{"one prime", 9, Planes({101}), 1};
    AttentionCharlie charlie(field, parts.charlie,
                             prepare_attention(field, Key{1}, Key{4}, parts.david, 1),
                             fixed_point_softmax(1.0, 0, Visibility::all));
    const InnerMessage sent = charlie.inner_masking(Matrix{{7}});
    EXPECT_NE(sent.a_q, sent.a_k) << "one label in the figure, two masks";
    // With one reply to one of them, the cancellation of the other mask does not fit.
    AttentionDavid david(101, parts.david);
    const InnerReply reply = david.local_compute(sent);
    EXPECT_THROW(charlie.inner_unmasking({reply.a_q, reply.a_q}), IntegrityError);
}

// ---- E-14, E-15, E-16

TEST(Errata, E_14_the_printed_latency_is_one_layer_and_one_token) {
    const LatencyParameters p;
    EXPECT_NEAR(1000 * one_token_round(p).convert_to<double>(), 71.31, 0.005) << "the paper";
    EXPECT_EQ(transferred_elements(p), 18481152) << "the paper: 1.848 M";
    const Integer N = transferred_elements(p);
    EXPECT_NEAR(transfer_time(N, 1, p).convert_to<double>(), 2.992, 0.0005);
    EXPECT_NEAR(transfer_time(N, messages(p), p).convert_to<double>(), 7.892, 0.0005);
    EXPECT_NEAR(protocol_cost(p).transfer.convert_to<double>(), 25.1, 0.05);
}

TEST(Errata, E_15_the_offload_column_counts_half_of_a_component) {
    const std::vector<WeightShape> square = {{2560, 2560, 1}};
    for (const Offload& row : papers_offload_table()) {
        const Rational by_rank = 100 - offload_by_rank(row, 2560, 32);
        EXPECT_EQ(100 - offload_by_work(row, square, 32), 2 * by_rank);
    }
    const Offload fourth = papers_offload_table()[3];
    EXPECT_EQ(fourth.paper, Rational(975, 10));
    EXPECT_NEAR(offload_by_work(fourth, phi_2_block(), 32).convert_to<double>(), 96.3, 0.05);
}

TEST(Errata, E_16_attention_is_not_in_the_formula) {
    const auto block = llama_2_7b_block();
    EXPECT_NEAR(attention_share(4096, 4096, block).convert_to<double>(), 0.166, 0.0005);
    EXPECT_EQ(attention_share(8192, 4096, block), 2 * attention_share(4096, 4096, block))
        << "it grows with the sequence, and the paper's formula does not";
}

// ---- E-17

TEST(Errata, E_17_usefulness_depends_on_the_zero_of_the_loss) {
    EXPECT_EQ(usefulness(2.0, 8.0), 0.25);
    EXPECT_NE(usefulness(2.0 + 1, 8.0 + 1), usefulness(2.0, 8.0)) << "the loss plus a constant";
    EXPECT_LT(usefulness(2.0, 80.0), usefulness(2.0, 8.0)) << "a worse attacker: lower is safer";
    EXPECT_THROW(usefulness(0, 1), PreconditionError);
}

TEST(Errata, E_17_an_attacker_who_returns_theta_d_is_not_the_best) {
    const MatrixXd W = random_real(10, 10, 16);
    const SingularComponents top = top_components(W, 1);
    const MatrixXd R = W - top.s(0) * top.U * top.V.transpose();
    const insecure::Loss risk = [&](const MatrixXd& guess) { return 1 + (guess - W).norm(); };
    const double naive = usefulness(risk(W), risk(R));
    const double adaptive = usefulness(risk(W), risk(insecure::recover_rank_one(R, 50, risk)));
    EXPECT_GT(adaptive, naive);
    EXPECT_GT(adaptive, 0.999);
}

// ---- E-18

TEST(Errata, E_18_the_useless_part_is_davids) {
    MatrixXd W = random_real(20, 20, 17);
    W += 20 * random_real(20, 1, 18) * random_real(1, 20, 19);  // one large component
    const SingularComponents top = top_components(W, 2);
    const MatrixXd charlies = top.U * top.s.asDiagonal() * top.V.transpose();
    const MatrixXd davids = W - charlies;
    EXPECT_LT((W - charlies).norm() / W.norm(), 0.2);
    EXPECT_GT((W - davids).norm() / W.norm(), 0.9) << "the paper: Charlie's portion";
}

// ---- E-19

TEST(Errata, E_19_the_matrices_alone_do_not_determine_the_output) {
    const auto model_of = [](float scale, float bias) {
        const IntegerModel weight{Matrix{{1}}, Matrix{{1}}, Matrix{{100}}, {scale}};
        return Model{{{weight}, elementwise([bias](float y) { return y + bias; })}};
    };
    const auto output = [&](float scale, float bias) {
        return unsplit_forward(model_of(scale, bias), paper(), {{1.0F}}).output;
    };
    EXPECT_EQ(split(model_of(1, 0), paper()).david, split(model_of(2, 300), paper()).david);
    EXPECT_NE(output(1, 0), output(2, 0)) << "same W^C and W^D, another scale";
    EXPECT_NE(output(1, 0), output(1, 300)) << "another bias";
}

// ---- E-20

TEST(Errata, E_20_the_dense_matrix_as_written_is_not_the_convolution) {
    // X is 2 x 3, one channel, one filter; the kernel is 2 x 2.
    const ConvolutionShape shape{2, 3, 1, 2, 2, 1};
    const Matrix kernel{{1, 2, 3, 4}};
    const Vector x = {1, 2, 3, 4, 5, 6};
    Matrix literal(shape.outputs(), shape.inputs());  // W_(n, index(i, j, c)) = K_(u, v, c, n)
    for (std::size_t i = 0; i < shape.H_o(); ++i) {
        for (std::size_t j = 0; j < shape.W_o(); ++j) {
            for (std::size_t uv = 0; uv < 4; ++uv) {
                literal(0, shape.input_index(i, j, 0)) = kernel(0, uv);
            }
        }
    }
    EXPECT_EQ(literal, (Matrix{{4, 4, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}}));
    EXPECT_NE(literal * x, convolve(shape, kernel, x));
    EXPECT_EQ(dense_matrix(shape, kernel) * x, convolve(shape, kernel, x));
    EXPECT_NE(shape.kH * shape.kW, shape.inputs()) << "the length of vec(K_(:,:,c,n)) and of a row";
}

// ---- E-21

TEST(Errata, E_21_the_sum_of_components_ends_at_the_rank) {
    EXPECT_EQ(svd(random_real(3, 5, 20)).sigma.size(), 3) << "the paper: a sum to n = 5";
    EXPECT_EQ(retained_rank(3, 5, 4), 2);
    // The values that the paper names, for a weight of Phi-2.
    for (const auto& [k, unknowns] : {std::pair<int, int>{10, 100}, {50, 2500}, {200, 40000}}) {
        EXPECT_EQ(retained_rank(2560, 2560, k), k);
        EXPECT_EQ(remaining_unknowns(2560, 2560, k), unknowns);
    }
}

// ---- E-23

TEST(Errata, E_23_charlie_does_more_than_david_in_the_order_of_the_figure) {
    Integer linear = 0;
    for (const auto& [m, n, count] : llama_2_7b_block()) linear += m * n * count;
    const AttentionCost figure = figure_cost(4096, 4096, 128, 32);
    const double share = Rational(figure.charlies_weighted, linear).convert_to<double>();
    EXPECT_NEAR(share, 2.65, 0.005);
    EXPECT_NEAR(
        Rational(figure.charlies_weighted + figure.charlies_scores, linear).convert_to<double>(),
        2.74, 0.005);
    EXPECT_EQ(figure.elements_sent, 139264);
    EXPECT_EQ(one_round_cost(4096, 4096, 128, 32).elements_sent, 4096);
    EXPECT_EQ(figure_cost(1544, 4096, 128, 32).charlies_weighted, linear) << "break-even";
}

// ---- E-24

/// || W - U diag(s) V^T ||^2 (Frobenius), for two of four kept.
double what_is_left(Strategy strategy, const Eigen::MatrixXd& W) {
    FixedBytes bytes({1, 1});  // DECO-9: of 0 1 2 3 the second, then of 0 2 3 the second
    const SingularComponents part = kept_part(strategy, W, 2, bytes);
    return (W - part.U * part.s.asDiagonal() * part.V.transpose()).squaredNorm();
}

TEST(Errata, E_24_columns_leave_more_than_components_of_the_same_number) {
    // Singular values 8, 4, 2, 1 behind two orthogonal matrices without a zero.
    const Eigen::MatrixXd H{{1, 1, 1, 1}, {1, -1, 1, -1}, {1, 1, -1, -1}, {1, -1, -1, 1}};
    const Eigen::MatrixXd Q =
        Eigen::MatrixXd::Constant(4, 4, -0.5) + Eigen::MatrixXd::Identity(4, 4);
    const Eigen::MatrixXd W = H / 2 * Eigen::Vector4d(8, 4, 2, 1).asDiagonal() * Q;
    EXPECT_NEAR(what_is_left(Strategy::lsc, W), 4 + 1, 1e-9);
    EXPECT_NEAR(what_is_left(Strategy::rcs, W), 64 + 1, 1e-9);
    EXPECT_NEAR(what_is_left(Strategy::fms, W), 0, 1e-9);
    // Every column has half of every component in it, so columns leave half of all.
    EXPECT_NEAR(what_is_left(Strategy::norm, W), (64 + 16 + 4 + 1) / 2.0, 1e-9);
    EXPECT_NEAR(what_is_left(Strategy::random, W), (64 + 16 + 4 + 1) / 2.0, 1e-9);
}

// ---- E-25, E-26, E-27

double efficiency(const LatencyParameters& p) {
    return Rational(flops_cloud(p), flops_full(p)).convert_to<double>();
}

TEST(Errata, E_25_the_efficiency_is_that_of_another_configuration) {
    const std::vector<Offload> table = papers_offload_table();
    LatencyParameters p;
    EXPECT_EQ(table.at(3).k, 200) << "configuration 4, which the appendix names";
    EXPECT_EQ(table.at(4).k, p.k) << "configuration 5, whose k the appendix has";
    EXPECT_EQ(table.at(3).blocks * 7, p.l_d);
    EXPECT_NEAR(efficiency(p), 0.0154, 0.00005);
    p.k = table.at(3).k;
    EXPECT_NEAR(efficiency(p), 0.0383, 0.00005);
    EXPECT_GT(table.at(4).paper, Rational(975, 10)) << "offloads of 92 to 97.5 are called safe";
}

TEST(Errata, E_26_the_edge_device_is_seventeen_times_slower) {
    LatencyParameters p;
    const Rational papers = 1000 * compute_time(flops_edge(p), p.edge_rate, p);
    EXPECT_NEAR(papers.convert_to<double>(), 150.34, 0.005);
    p.edge_rate = Rational(472'000'000'000, 2);
    const Rational makers = 1000 * compute_time(flops_edge(p), p.edge_rate, p);
    EXPECT_NEAR(makers.convert_to<double>(), 2548, 0.5);
    EXPECT_NEAR(Rational(makers / papers).convert_to<double>(), 16.9, 0.05);
}

TEST(Errata, E_27_the_layers_hold_three_fifths_of_the_model) {
    const LatencyParameters p;
    Integer block = 0;
    Integer layers = 0;
    for (const auto& [m, n, count] : llama_2_7b_block()) {
        block += m * n * count;
        layers += count;
    }
    EXPECT_EQ(32 * layers, p.l);
    EXPECT_EQ(p.l * p.m * p.n, 3758096384) << "the paper's 224 matrices";
    EXPECT_EQ(32 * block, 6476005376) << "the blocks of Llama-2-7B";
    EXPECT_NEAR(Rational(p.l * p.m * p.n, 32 * block).convert_to<double>(), 0.58, 0.005);
}

// ---- E-28

TEST(Errata, E_28_with_tokens_as_columns_the_scores_are_Q_transposed_K) {
    const Matrix Q = figure_W * figure_a;  // d_h = 2 by two tokens
    const Matrix K = Matrix{{2, 1, 0}, {1, 0, -1}} * figure_a;
    const Matrix rows_of_tokens = Q.transpose();  // X W_q, the definition above the figure
    const Matrix scores = rows_of_tokens * K;     // (X W_q) (X W_k)^T
    EXPECT_EQ(Q.transpose() * K, scores);
    EXPECT_NE(Q * K.transpose(), scores) << "the figure, two tokens by chance of the size of d_h";
    const Matrix three{{1, 2, 0}, {3, 4, 1}, {5, 6, -2}};
    EXPECT_EQ(((figure_W * three) * (figure_W * three).transpose()).rows(), 2U)
        << "the figure: d_h x d_h for three tokens";
    EXPECT_EQ(((figure_W * three).transpose() * (figure_W * three)).rows(), 3U);
}

// ---- E-29

TEST(Errata, E_29_the_table_lists_six_configurations) {
    const std::vector<Offload> table = papers_offload_table();
    EXPECT_EQ(table.size(), 6U) << "the text: five, and a baseline";
    const auto called_safe = std::count_if(table.begin(), table.end(), [](const Offload& row) {
        return row.paper >= 92 && row.paper <= Rational(975, 10);
    });
    EXPECT_EQ(called_safe, 3);
    EXPECT_LT(table.at(0).paper, 92) << "offloads less than those, and is not called safe";
}

// ---- E-30

TEST(Errata, E_30_labels_of_others_do_not_measure_what_queries_give) {
    const MatrixXd W = random_real(12, 12, 21);
    const SingularComponents top = top_components(W, 1);
    const MatrixXd R = W - top.s(0) * top.U * top.V.transpose();
    const MatrixXd inputs = random_real(12, 20, 22);
    const auto attack = [&](const MatrixXd& labels) {
        const insecure::Loss loss = [&](const MatrixXd& guess) {
            return ((guess * inputs).cwiseMax(0.0) - labels).norm();
        };
        return (insecure::recover_rank_one(R, 100, loss) - W).norm() / W.norm();
    };
    const MatrixXd public_labels = (random_real(12, 12, 23) * inputs).cwiseMax(0.0);
    EXPECT_GT(attack(public_labels), 0.3) << "the paper's game: answers of others";
    EXPECT_LT(attack((W * inputs).cwiseMax(0.0)), 1e-6) << "Definition 4: answers of the model";
}

}  // namespace
}  // namespace slip::reference
