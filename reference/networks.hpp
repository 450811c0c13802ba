// The protocol Pi over a convolutional network and a small transformer, as models and graphs of
// reference/model.hpp. (A perceptron needs no more than its layers.)
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "reference/attention.hpp"
#include "reference/convolution.hpp"
#include "reference/model.hpp"

namespace slip::reference {

/// A convolution with a real kernel matrix, of which Charlie keeps rank k.
struct ConvolutionLayer {
    ConvolutionShape shape;
    Eigen::MatrixXd kernel;  ///< N x (kH kW C)
    int k;                   ///< 0: not sensitive
};

/// CNN-2, MODEL-1. A sequential model: each convolution as its dense matrix, decomposed, with
/// sigma applied to every output. An image is one token, vec(X).
/// Error: a layer does not take the outputs of the one before.
Model convolutional_network(const std::vector<ConvolutionLayer>& layers, const Nonlinearity& sigma);

/// The weights of a transformer of one block.
struct TransformerWeights {
    AttentionLayer attention;  ///< W_q, W_k: (H d_h) x d, W_v: d_h x d a head
    IntegerModel output;       ///< W_o: d x (H d_h)
    IntegerModel gate, up;     ///< d_ff x d
    IntegerModel down;         ///< d x d_ff
    IntegerModel head;         ///< vocabulary x d
};

/// A model and the graph that uses it.
struct Network {
    Model model;
    Graph graph;
};

/// ATTN-5, MODEL-1. One round for attention. The groups are q, k, v of each head | o | gate, up |
/// down | head. With a = RMSNorm(h) for each token, and a causal softmax:
///
///     h += W_o [S_1 V_1; ...; S_H V_H],   S_i = softmax(Q_i^T K_i / sqrt(d_h)),   V_i = W_v,i a
///     h += W_down (silu(W_gate a') * W_up a'),   a' = RMSNorm(h)
///     logits = W_head RMSNorm(h)
Network one_round_transformer(const TransformerWeights& weights);

/// ATTN-1, ATTN-4, MODEL-1. The same in the order of the figure: the groups are q | k | v of head
/// 1 | v of head 2 | ... | o | gate, up | down | head, and W_v,i is applied to a S_i^T.
Network figure_transformer(const TransformerWeights& weights);

}  // namespace slip::reference
