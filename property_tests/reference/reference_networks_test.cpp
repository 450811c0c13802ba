// The protocol of the reference over a convolutional network and a small transformer, with
// sensitive layers and layers of rank 0, against the plain computation.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>

#include "property_tests/reference/drawn_values.hpp"
#include "reference/decomposition.hpp"
#include "reference/linear.hpp"
#include "reference/networks.hpp"

namespace slip::reference {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

MatrixXd any_real_weights(Index m, Index n) {
    std::mt19937 generator(*rc::gen::arbitrary<std::uint32_t>());
    MatrixXd W(m, n);
    for (double& entry : W.reshaped()) {
        entry = static_cast<double>(generator()) / 2147483648.0 - 1.0;
    }
    return W;
}

const Digest model_digest = {7};

/// What Charlie gets from the protocol, and what David saw: one message per group.
struct Hybrid {
    ForwardResult result;
    std::vector<Matrix> view;
};

Hybrid by_protocol(const Model& model, const Graph& graph, const std::vector<Activation>& tokens) {
    const SplitModel parts = split(model, paper());
    David david(paper(), model_digest, parts.david);
    InProcessChannel channel(david.session());
    const auto schedule = schedule_of(parts, tokens.size());
    Charlie charlie(parts.charlie,
                    CharlieSession(shapes_of(paper(), parts.david), model_digest,
                                   prepare_checks(paper(), Key{4}, parts.david),
                                   prepare_masks(paper(), Key{3}, parts.david, schedule), channel));
    charlie.connect();
    ForwardResult result = charlie.forward(graph, tokens);
    return {std::move(result), david.view().masked_inputs(david.session().shapes())};
}

/// Every message masks the quantised input of its group, under masks that were not used before.
void require_masked(const Hybrid& hybrid) {
    const ParameterSet set = paper();
    std::uint64_t index = 0;
    RC_ASSERT(hybrid.view.size() == hybrid.result.trace.q.size());
    for (std::size_t group = 0; group < hybrid.view.size(); ++group) {
        for (const Vector& q : hybrid.result.trace.q[group]) {
            const std::size_t t =
                static_cast<std::size_t>(&q - hybrid.result.trace.q[group].data());
            const Vector r = uniform_residues(set.planes, Key{3}, Purpose::mask, index++, q.size());
            RC_ASSERT(hybrid.view[group].column(t) == mask(set.ring(), q, r));
        }
    }
}

Activation relu_of_first(const std::vector<Activation>& outputs) {
    Activation next = outputs[0];
    for (float& y : next) y = std::fmax(y, 0.0F);
    return next;
}

/// Two convolutions, sensitive and not, and a fully connected layer as a third.
std::vector<ConvolutionLayer> any_convolutions() {
    const ConvolutionShape first{5, 5, 1, 3, 3, 2, 1, 1};
    const ConvolutionShape second{5, 5, 2, 2, 2, 3, 2, 0};
    const ConvolutionShape last{2, 2, 3, 2, 2, 4};
    return {{first, any_real_weights(2, 9), 3},
            {second, any_real_weights(3, 8), 0},
            {last, any_real_weights(4, 12), 1}};
}

RC_GTEST_PROP(Networks, MODEL_1_and_CNN_2_a_convolutional_network, ()) {
    const Model model = convolutional_network(any_convolutions(), relu_of_first);
    const Graph graph = sequential({relu_of_first, relu_of_first, relu_of_first});
    const auto image = any_tokens(1, 25);
    const Hybrid hybrid = by_protocol(model, graph, image);
    const ForwardResult plain = unsplit_forward(model, paper(), image);
    RC_ASSERT(hybrid.result.trace == plain.trace);
    RC_ASSERT(hybrid.result.output == plain.output);
    RC_ASSERT(plain.output[0].size() == 4U);
    require_masked(hybrid);
}

/// A real vector and how far the integer network's may be from it, entry by entry.
struct Approximated {
    Eigen::VectorXd value, error;
};

MatrixXd real(const Matrix& integers) {
    MatrixXd result(integers.rows(), integers.cols());
    for (std::size_t i = 0; i < integers.rows(); ++i) {
        for (std::size_t j = 0; j < integers.cols(); ++j) {
            result(static_cast<Index>(i), static_cast<Index>(j)) =
                integers(i, j).convert_to<double>();
        }
    }
    return result;
}

/// max(W x, 0) for a layer whose integer model has the weights V: its input is rounded to
/// multiples of its scale |x|_2 / target (ENC-1), and |V x' - W x| <= |V| |x' - x| + |V - W| |x|.
/// Binary32 adds little.
Approximated layer_output(const MatrixXd& W, const Layer& layer, const Approximated& x) {
    const IntegerModel& member = layer.members[0];
    const Eigen::Map<const Eigen::VectorXf> scale(member.row_scale.data(), W.rows());
    const MatrixXd V = scale.cast<double>().asDiagonal() * real(integer_weights(member));
    const double largest = (x.value.cwiseAbs() + x.error).maxCoeff();
    const double norm = (x.value.cwiseAbs() + x.error).norm();
    const double room = (std::sqrt(static_cast<double>(x.value.size())) + 1) / 2;
    const double half_step = 0.5 * norm / (activation_norm(layer, paper()) - room);
    const Eigen::VectorXd inputs = (x.error.array() + half_step + 1e-6 * largest).matrix();
    return {(W * x.value).cwiseMax(0.0),
            V.cwiseAbs() * inputs + (V - W).cwiseAbs() * x.value.cwiseAbs()};
}

RC_GTEST_PROP(Networks, CNN_2_the_integer_network_is_close_to_the_real_one, ()) {
    const auto layers = any_convolutions();
    const Model model = convolutional_network(layers, relu_of_first);
    const auto image = any_tokens(1, 25);
    const Eigen::Map<const Eigen::VectorXf> pixels(image[0].data(), 25);
    Approximated x{pixels.cast<double>(), Eigen::VectorXd::Zero(25)};
    for (std::size_t i = 0; i < layers.size(); ++i) {
        x = layer_output(dense_matrix(layers[i].shape, layers[i].kernel), model[i], x);
    }
    const auto output = unsplit_forward(model, paper(), image).output[0];
    for (Index i = 0; i < x.value.size(); ++i) {
        const double found = output[static_cast<std::size_t>(i)];
        RC_ASSERT(std::abs(found - x.value(i)) <= x.error(i) + 1e-6);
    }
}

TEST(Networks, CNN_2_layers_must_fit) {
    const ConvolutionShape shape{3, 3, 1, 2, 2, 1};
    const MatrixXd kernel = MatrixXd::Ones(1, 4);
    EXPECT_THROW(convolutional_network({{shape, kernel, 0}, {shape, kernel, 0}}, relu_of_first),
                 PreconditionError);
}

/// One block with two heads on d = 4: query and gate sensitive, the rest David's alone.
TransformerWeights any_transformer() {
    const auto weight = [](Index m, Index n, int k) {
        return decompose(any_real_weights(m, n), k);
    };
    return {{weight(4, 4, 1), weight(4, 4, 0), {weight(2, 4, 0), weight(2, 4, 1)}},
            weight(4, 4, 0),
            weight(6, 4, 2),
            weight(6, 4, 0),
            weight(4, 6, 0),
            weight(5, 4, 0)};
}

RC_GTEST_PROP(Networks, MODEL_1_and_ATTN_5_a_transformer_in_one_round, ()) {
    const Network network = one_round_transformer(any_transformer());
    const auto tokens = any_tokens(*rc::gen::inRange<std::size_t>(1, 4), 4);
    const Hybrid hybrid = by_protocol(network.model, network.graph, tokens);
    const ForwardResult plain = unsplit_forward(network.model, paper(), network.graph, tokens);
    RC_ASSERT(hybrid.result.trace == plain.trace);
    RC_ASSERT(hybrid.result.output == plain.output);
    RC_ASSERT(hybrid.view.size() == 5U);
    require_masked(hybrid);
}

RC_GTEST_PROP(Networks, MODEL_1_and_ATTN_4_a_transformer_in_the_order_of_the_figure, ()) {
    const Network network = figure_transformer(any_transformer());
    const auto tokens = any_tokens(*rc::gen::inRange<std::size_t>(1, 4), 4);
    const Hybrid hybrid = by_protocol(network.model, network.graph, tokens);
    const ForwardResult plain = unsplit_forward(network.model, paper(), network.graph, tokens);
    RC_ASSERT(hybrid.result.trace == plain.trace);
    RC_ASSERT(hybrid.result.output == plain.output);
    RC_ASSERT(hybrid.view.size() == 8U);  // q, k, v of two heads, o, gate and up, down, head
    require_masked(hybrid);
    // The inner masking sends one activation twice, under two masks.
    RC_ASSERT(hybrid.result.trace.q[0].size() == tokens.size());
    RC_ASSERT(hybrid.view[0] != hybrid.view[1]);
}

RC_GTEST_PROP(Networks, ATTN_6_both_orders_give_nearly_the_same_floats, ()) {
    // a_s is quantised in the figure's order and not in the other, so the bits differ.
    const TransformerWeights weights = any_transformer();
    const auto tokens = any_tokens(2, 4);
    const Network one_round = one_round_transformer(weights);
    const Network figure = figure_transformer(weights);
    const auto first = unsplit_forward(one_round.model, paper(), one_round.graph, tokens).output;
    const auto second = unsplit_forward(figure.model, paper(), figure.graph, tokens).output;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
        for (std::size_t i = 0; i < first[t].size(); ++i) {
            RC_ASSERT(std::abs(first[t][i] - second[t][i]) <= 0.01F);
        }
    }
}

RC_GTEST_PROP(Networks, ATTN_4_logits_do_not_depend_on_later_tokens, ()) {
    const Network network = one_round_transformer(any_transformer());
    const auto tokens = any_tokens(3, 4);
    const auto all = unsplit_forward(network.model, paper(), network.graph, tokens).output;
    const auto two =
        unsplit_forward(network.model, paper(), network.graph, {tokens[0], tokens[1]}).output;
    RC_ASSERT(all[0] == two[0]);
    RC_ASSERT(all[1] == two[1]);
}

RC_GTEST_PROP(Networks, INTEG_6_a_wrong_reply_in_any_group_ends_the_inference, ()) {
    const Network network = figure_transformer(any_transformer());
    const SplitModel parts = split(network.model, paper());
    const int wrong_group = *rc::gen::inRange(0, 8);
    int answers = -1;  // READY is answer 0
    David david(paper(), model_digest, parts.david);
    InProcessChannel channel(david.session(), [&](Bytes answer) {
        if (answers++ == wrong_group) answer[21] = answer[21] == 0 ? 1 : 0;  // plane 0 of y~_0
        return answer;
    });
    Charlie charlie(parts.charlie, CharlieSession(shapes_of(paper(), parts.david), model_digest,
                                                  prepare_checks(paper(), Key{4}, parts.david),
                                                  prepare_masks(paper(), Key{3}, parts.david,
                                                                schedule_of(parts, 1)),
                                                  channel));
    charlie.connect();
    RC_ASSERT_THROWS_AS(charlie.forward(network.graph, any_tokens(1, 4)), IntegrityError);
    RC_ASSERT(charlie.session().wiped());
}

}  // namespace
}  // namespace slip::reference
