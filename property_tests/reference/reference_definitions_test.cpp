// The paper's definitions on models of the reference: what each says, and what it does not.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "property_tests/reference/drawn_values.hpp"
#include "property_tests/reference/fixed_matrices.hpp"
#include "reference/decomposition.hpp"
#include "reference/definitions.hpp"
#include "reference/factorizations.hpp"
#include "reference/insecure/naive.hpp"
#include "reference/insecure/rank_one.hpp"
#include "reference/linear.hpp"
#include "reference/masking.hpp"
#include "reference/model.hpp"

namespace slip::reference {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

/// Two layers, the first sensitive, the second David's alone.
Model any_model() {
    const auto seed = *rc::gen::arbitrary<std::uint32_t>();
    const auto relu = [](float y) { return std::fmax(y, 0.0F); };
    return {{{decompose(random_real(5, 4, seed), 2)}, elementwise(relu)},
            {{decompose(random_real(3, 5, seed + 1), 0)}, elementwise(relu)}};
}

RC_GTEST_PROP(Definitions, DEF_1_both_parts_together_are_the_model, ()) {
    const Model model = any_model();
    const SplitModel parts = split(model, paper());
    for (std::size_t layer = 0; layer < model.size(); ++layer) {
        const IntegerModel& whole = model[layer].members[0];
        const auto& [A, B, row_scale] = parts.charlie[layer].members[0];
        RC_ASSERT((Integer(1) << fraction_bits) * parts.david[layer] + A * B ==
                  integer_weights(whole));
        RC_ASSERT(row_scale == whole.row_scale);
    }
    RC_ASSERT(parts.charlie[1].members[0].A.cols() == 0U);  // not named by the plan: k = 0
}

RC_GTEST_PROP(Definitions, DEF_2_the_protocol_computes_the_model, ()) {
    const Model model = any_model();
    const SplitModel parts = split(model, paper());
    const std::vector<Activation> x = {{0.5F, -1.0F, 2.0F, 0.25F}};
    David david(paper(), Digest{}, parts.david);
    InProcessChannel channel(david.session());
    Charlie charlie(
        parts.charlie,
        CharlieSession(
            shapes_of(paper(), parts.david), Digest{}, prepare_checks(paper(), Key{4}, parts.david),
            prepare_masks(paper(), Key{1}, parts.david, schedule_of(parts, 1)), channel));
    charlie.connect();
    RC_ASSERT(charlie.forward(x).output == unsplit_forward(model, paper(), x).output);
}

TEST(Definitions, DEF_3_usefulness_is_a_ratio_of_risks) {
    EXPECT_EQ(usefulness(3.0, 12.0), 0.25);
    EXPECT_EQ(usefulness(3.0, 3.0), 1.0) << "an attacker who has the model";
    EXPECT_THROW(usefulness(1.0, -1.0), PreconditionError);
}

TEST(Definitions, DEF_4_one_hidden_component_is_not_safe) {
    const MatrixXd W = random_real(12, 12, 1);
    const SingularComponents top = top_components(W, 1);
    const MatrixXd R = W - top.s(0) * top.U * top.V.transpose();
    const MatrixXd inputs = random_real(12, 2, 2);
    const MatrixXd outputs = W * inputs;
    const auto loss = [&](const MatrixXd& guess) { return (guess * inputs - outputs).norm(); };
    const MatrixXd with_residual = insecure::recover_rank_one(R, 100, loss);
    EXPECT_LT((with_residual - W).norm() / W.norm(), 1e-6);

    // From the two outputs alone: another matrix, far away, explains them as well.
    const MatrixXd U = full_svd(inputs).U;
    const MatrixXd other = W + W.norm() * U.rightCols(1).replicate(1, 12).transpose();
    EXPECT_LT(loss(other), 1e-9);
    EXPECT_GT((other - W).norm() / W.norm(), 1);
}

/// How often each view (x~_1, x~_2) of David occurs over all masks mod 5, in a run of two layers
/// with weights W_D + w_C each, the first of which feeds the second. n = m = 1.
std::map<Vector, int> views(int w_C, int input) {
    const Ring ring(5);
    const Matrix W_D{{1}};
    std::map<Vector, int> count;
    for (int r_1 = 0; r_1 < 5; ++r_1) {
        for (int r_2 = 0; r_2 < 5; ++r_2) {
            const Vector first = mask(ring, {input}, {r_1});
            const Vector reply = ring.multiply(W_D, first);
            const Integer davids = unmask(ring, reply, cancellation(ring, W_D, {r_1}))[0];
            const Vector second = mask(ring, {davids + w_C * input}, {r_2});
            ++count[{first[0], second[0]}];
        }
    }
    return count;
}

TEST(Definitions, DEF_5_the_view_does_not_depend_on_charlies_part) {
    const auto view = views(0, 1);
    EXPECT_EQ(view.size(), 25U);
    for (int w_C : {0, 1, -7, 100}) {
        for (int input : {-2, 0, 1}) EXPECT_EQ(views(w_C, input), view);
    }
}

TEST(Definitions, DEF_6_efficiency_with_and_without_the_work_ahead_of_use) {
    const MatrixWork work{11008, 4096, 50, 8};
    EXPECT_EQ(work.online(), 58 * (11008 + 4096));
    EXPECT_EQ(epsilon_online(work), Rational(58 * 15104, 11008 * 4096));
    EXPECT_LT(epsilon_online(work), Rational(2, 100)) << "2%-efficient, online";
    EXPECT_EQ(epsilon_total(work), epsilon_online(work) + 1);
}

RC_GTEST_PROP(Definitions, DEF_6_in_all_charlie_does_more_than_the_full_model, ()) {
    const MatrixWork work{*rc::gen::inRange(1, 5000), *rc::gen::inRange(1, 5000),
                          *rc::gen::inRange(0, 100), *rc::gen::inRange(1, 9)};
    RC_ASSERT(epsilon_total(work) > 1);
}

RC_GTEST_PROP(Definitions, DEF_7_naive_inference_gives_the_hidden_part_away, ()) {
    const Matrix W_C = any_matrix(3, 3, 100);
    const Matrix W_D = any_matrix(3, 3, 100);
    const std::vector<Vector> inputs = {{1, 0, 2}, {0, 3, 1}, {5, 1, 0}};  // independent
    const Ring ring(paper().ring().modulus());
    std::vector<insecure::Observation> seen;
    std::vector<insecure::Observation> masked;
    for (std::size_t i = 0; i < 3; ++i) {
        RC_ASSERT(insecure::recover_charlies_weights(seen, W_D) == std::nullopt);
        seen.push_back(insecure::naive_inference(W_C, W_D, inputs[i]));
        const Vector r = uniform_residues(ring, Key{1}, Purpose::mask, i, 3);
        masked.push_back({mask(ring, inputs[i], r), seen.back().b});
    }
    RC_ASSERT(insecure::recover_charlies_weights(seen, W_D) == W_C);
    RC_ASSERT(insecure::recover_charlies_weights(masked, W_D) != W_C);
}

TEST(Definitions, DEF_8_the_count_of_unknowns) {
    EXPECT_EQ(remaining_unknowns(4096, 4096, 1), 1);
    EXPECT_EQ(remaining_unknowns(4096, 4096, 50), 2500);
    EXPECT_EQ(remaining_unknowns(11008, 4096, 1), 6913);
    EXPECT_EQ(remaining_unknowns(4096, 11008, 50), 50 * (6912 + 50));
    EXPECT_EQ(remaining_unknowns(7, 7, 0), 0);
    EXPECT_THROW(remaining_unknowns(3, 5, 4), PreconditionError);
}

TEST(Definitions, DEF_8_the_hidden_vector_of_one_component_is_exposed) {
    const MatrixXd W = random_real(7, 7, 3);
    const SingularComponents top = top_components(W, 1);
    const MatrixXd R = W - top.s(0) * top.U * top.V.transpose();
    const double cosine = (svd(R).U.rightCols(1).transpose() * top.U)(0);
    EXPECT_NEAR(std::abs(cosine), 1, 1e-9) << "the lemma: by orthogonality";
}

}  // namespace
}  // namespace slip::reference
