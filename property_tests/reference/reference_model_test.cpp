// One layer and the full-model protocol of the reference, against the plain computation.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "property_tests/reference/drawn_values.hpp"
#include "property_tests/reference/other_set.hpp"
#include "reference/decomposition.hpp"
#include "reference/encoding.hpp"
#include "reference/linear.hpp"
#include "reference/masking.hpp"
#include "reference/model.hpp"

namespace slip::reference {
namespace {

TEST(LinearLayers, LIN_1_david_multiplies_each_column_mod_L) {
    const Ring ring(7);
    const Matrix W{{1, -2}, {-3, 0}, {3, 3}};
    EXPECT_EQ(davids_product(ring, W, Matrix{{6, 0}, {1, 5}}), (Matrix{{4, 4}, {3, 0}, {0, 1}}));
    EXPECT_THROW(davids_product(ring, W, Matrix{{7}, {0}}), PreconditionError);
    EXPECT_THROW(davids_product(ring, W, Matrix{{1}}), PreconditionError);
}

TEST(LinearLayers, LIN_2_charlie_adds_the_low_rank_product) {
    const IntegerModel model{Matrix{{3}, {-1}}, Matrix{{2, 5}}, Matrix{{1, 0}, {4, -6}}, {1, 1}};
    const Vector q = {10, -1};
    const Vector y_D = model.W_D * q;
    EXPECT_EQ(charlies_output(model.A, model.B, q, y_D),
              Vector({10 * 65536 + 45, 46 * 65536 - 15}));
    EXPECT_EQ(unsplit_output(model, q), charlies_output(model.A, model.B, q, y_D));
    EXPECT_THROW(charlies_output(model.A, model.B, q, {1}), PreconditionError);
}

RC_GTEST_PROP(LinearLayers, LIN_2_the_sum_is_the_product_of_the_integer_model, ()) {
    const std::size_t k = *rc::gen::inRange<std::size_t>(0, 4);
    const IntegerModel model{
        any_left_factor(3, k), any_matrix(k, 5, 2047), any_matrix(3, 5, 127), {1.0F, 1.0F, 1.0F}};
    const Vector q = any_matrix(5, 1, 32767).column(0);
    RC_ASSERT(charlies_output(model.A, model.B, q, model.W_D * q) == integer_weights(model) * q);
}

TEST(LinearLayers, LIN_3_members_are_stacked_in_order) {
    EXPECT_EQ(stack({Matrix{{1, 2}}, Matrix{{3, 4}, {5, 6}}}), (Matrix{{1, 2}, {3, 4}, {5, 6}}));
    EXPECT_THROW(stack({}), PreconditionError);
    EXPECT_THROW(stack({Matrix{{1, 2}}, Matrix{{3}}}), PreconditionError);
}

/// A random integer model of shape m x n and rank k, by decomposing a random real matrix. (From a
/// seed, so that no matrix has rank k or less: its residual would be zero.)
IntegerModel any_model(Eigen::Index m, Eigen::Index n, int k) {
    std::mt19937 generator(*rc::gen::arbitrary<std::uint32_t>());
    Eigen::MatrixXd W(m, n);
    for (double& entry : W.reshaped())
        entry = static_cast<double>(generator()) / 4294967296.0 - 0.5;
    return decompose(W, k);
}

float relu(float y) { return std::fmax(y, 0.0F); }

/// SiLU(gate) up, the product of the two members of a group.
Activation gated(const std::vector<Activation>& outputs) {
    Activation next;
    for (std::size_t i = 0; i < outputs[0].size(); ++i) {
        next.push_back(outputs[0][i] / (1.0F + std::exp(-outputs[0][i])) * outputs[1][i]);
    }
    return next;
}

Activation first_output(const std::vector<Activation>& outputs) { return outputs[0]; }

/// A perceptron of three layers: a sensitive one, a group of two members of which one is not
/// sensitive, and one that is David's alone.
Model any_perceptron() {
    return {
        {{any_model(6, 4, 2)}, elementwise(relu)},
        {{any_model(5, 6, 1), any_model(5, 6, 0)}, gated},
        {{any_model(3, 5, 0)}, first_output},
    };
}

const Digest digest = {7};

/// Both parties, joined by a channel.
struct ModelParties {
    David david;
    InProcessChannel channel;
    Charlie charlie;

    ModelParties(const SplitModel& parts, const ParameterSet& set, const Key& key,
                 const std::vector<PlannedMessage>& schedule,
                 InProcessChannel::Tamper tamper = nullptr)
        : david(set, digest, parts.david),
          channel(david.session(), std::move(tamper)),
          charlie(parts.charlie,
                  CharlieSession(shapes_of(set, parts.david), digest,
                                 prepare_checks(set, Key{4}, parts.david),
                                 prepare_masks(set, key, parts.david, schedule), channel)) {
        charlie.connect();
    }
};

RC_GTEST_PROP(Models, LIN_4_and_MODEL_1_the_protocol_equals_the_plain_computation, ()) {
    const ParameterSet set = *rc::gen::element(paper(), other_set());
    const Model model = any_perceptron();
    const SplitModel parts = split(model, set);
    const auto tokens = any_tokens(*rc::gen::inRange<std::size_t>(1, 4), 4);
    ModelParties parties(parts, set, any_key(), schedule_of(parts, tokens.size()));

    const ForwardResult hybrid = parties.charlie.forward(tokens);
    const ForwardResult plain = unsplit_forward(model, set, tokens);
    RC_ASSERT(hybrid.trace == plain.trace);
    RC_ASSERT(hybrid.output == plain.output);
}

RC_GTEST_PROP(Models, MODEL_1_every_product_is_masked_sensitive_or_not, ()) {
    const Model model = any_perceptron();
    const SplitModel parts = split(model, paper());
    const auto tokens = any_tokens(2, 4);
    const Key key = any_key();
    ModelParties parties(parts, paper(), key, schedule_of(parts, tokens.size()));
    const ForwardResult hybrid = parties.charlie.forward(tokens);

    const auto seen = parties.david.view().masked_inputs(parties.david.session().shapes());
    const Planes planes = paper().planes;
    RC_ASSERT(seen.size() == 3U);  // one message a layer: two members share one
    std::uint64_t index = 0;
    for (std::size_t layer = 0; layer < seen.size(); ++layer) {
        for (std::size_t t = 0; t < tokens.size(); ++t, ++index) {
            const Vector& q = hybrid.trace.q[layer][t];
            const Vector r = uniform_residues(planes, key, Purpose::mask, index, q.size());
            RC_ASSERT(seen[layer].column(t) == mask(planes.ring(), q, r));
            RC_ASSERT(seen[layer].column(t) != planes.ring().embed(q));
        }
    }
}

RC_GTEST_PROP(Models, MODEL_1_the_masks_do_not_change_the_output, ()) {
    const SplitModel parts = split(any_perceptron(), paper());
    const auto tokens = any_tokens(1, 4);
    std::set<std::vector<Activation>> outputs;
    std::set<std::vector<Bytes>> views;
    for (const Key& key : {Key{1}, Key{2}, Key{3}}) {
        ModelParties parties(parts, paper(), key, schedule_of(parts, 1));
        outputs.insert(parties.charlie.forward(tokens).output);
        views.insert(parties.david.view().received);
    }
    RC_ASSERT(outputs.size() == 1U);
    RC_ASSERT(views.size() == 3U);
}

TEST(Models, MODEL_6_charlie_online_has_no_W_D) {
    // Charlie is built from factors, scales and secrets alone, and the product comes from David:
    // a David with other weights changes the result, or is found out by the check.
    const Matrix W_D{{100, -3}, {7, 127}};
    const CharliesLayer layer{
        {{Matrix{{5}, {6}}, Matrix{{1, -1}}, {1.0F, 1.0F}}}, 1000, elementwise(relu)};
    const Shapes shapes = shapes_of(paper(), {W_D});
    const std::vector<Activation> tokens = {{1000.0F, -500.0F}};
    const IntegerModel whole{Matrix{{5}, {6}}, Matrix{{1, -1}}, W_D, {1.0F, 1.0F}};

    David honest(paper(), digest, {W_D});
    InProcessChannel to_honest(honest.session());
    Charlie charlie({layer},
                    CharlieSession(shapes, digest, prepare_checks(paper(), Key{4}, {W_D}),
                                   prepare_masks(paper(), Key{1}, {W_D}, {{0, 1}}), to_honest));
    charlie.connect();
    const IntegerTrace trace = charlie.forward(tokens).trace;
    EXPECT_EQ(trace.y[0][0], integer_weights(whole) * trace.q[0][0]);

    David other(paper(), digest, {Matrix{{100, -3}, {7, 126}}});
    InProcessChannel to_other(other.session());
    Charlie deceived({layer},
                     CharlieSession(shapes, digest, prepare_checks(paper(), Key{4}, {W_D}),
                                    prepare_masks(paper(), Key{1}, {W_D}, {{0, 1}}), to_other));
    deceived.connect();
    EXPECT_THROW(deceived.forward(tokens), IntegrityError);
    EXPECT_TRUE(deceived.session().wiped());
}

RC_GTEST_PROP(Models, INTEG_6_a_wrong_reply_in_any_layer_ends_the_inference, ()) {
    const SplitModel parts = split(any_perceptron(), paper());
    const int wrong_layer = *rc::gen::inRange(0, 3);
    int answers = -1;  // READY is answer 0
    ModelParties parties(parts, paper(), any_key(), schedule_of(parts, 1), [&](Bytes answer) {
        if (answers++ == wrong_layer) answer[21] = answer[21] == 0 ? 1 : 0;  // plane 0 of y~_0
        return answer;
    });
    RC_ASSERT_THROWS_AS(parties.charlie.forward(any_tokens(1, 4)), IntegrityError);
    RC_ASSERT(parties.charlie.session().wiped());
    RC_ASSERT(parties.david.session().dead());
}

TEST(Models, ENC_3_and_ENC_5_a_layer_that_does_not_fit_is_refused_when_splitting) {
    const ParameterSet small{"two primes", 9, Planes({251, 241}), 8};  // (L - 1) / 2 = 30245
    const auto layer_of = [](int weight) {
        return Layer{{{Matrix(1, 0), Matrix(0, 1), Matrix{{weight}}, {1.0F}}}, first_output};
    };
    EXPECT_NO_THROW(split({layer_of(29)}, small)) << "floor(30245 / 29) = 1042";
    EXPECT_THROW(split({layer_of(30)}, small), PreconditionError) << "floor(30245 / 30) = 1008";
    EXPECT_NO_THROW(split({layer_of(30)}, paper()));

    Matrix A(1, 65), B(65, 1);
    for (std::size_t c = 0; c < 65; ++c) {
        A(0, c) = 2146435072;  // 2047 * 2^20
        B(c, 0) = 2047;
    }
    const Layer too_large{{{A, B, Matrix{{1}}, {1.0F}}}, first_output};
    EXPECT_THROW(split({too_large}, paper()), PreconditionError) << "32767 W_int exceeds 2^63 - 1";
}

TEST(Models, ENC_1_an_activation_that_is_not_finite_is_not_sent) {
    const Model model = {{{{Matrix(1, 0), Matrix(0, 1), Matrix{{3}}, {1.0F}}}, first_output}};
    const SplitModel parts = split(model, paper());
    ModelParties parties(parts, paper(), Key{1}, schedule_of(parts, 1));
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT_THROW(parties.charlie.forward({{infinity}}), PreconditionError);
    EXPECT_EQ(parties.david.view().received.size(), 1U) << "HELLO only";
}

}  // namespace
}  // namespace slip::reference
