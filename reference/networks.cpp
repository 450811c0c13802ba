#include "reference/networks.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/decomposition.hpp"
#include "reference/error.hpp"

namespace slip::reference {

namespace {

using Tokens = std::vector<Activation>;

/// x / sqrt(mean x^2 + 10^-5), each token.
Tokens normalised(Tokens tokens) {
    for (Activation& token : tokens) {
        float sum = 0;
        for (float x : token) sum += x * x;
        const float scale = 1.0F / std::sqrt(sum / static_cast<float>(token.size()) + 1e-5F);
        for (float& x : token) x *= scale;
    }
    return tokens;
}

/// Output `member` of each token.
Tokens member_of(const GroupOutputs& outputs, std::size_t member) {
    Tokens tokens;
    for (const auto& members : outputs) tokens.push_back(members[member]);
    return tokens;
}

Tokens sum(Tokens left, const Tokens& right) {
    for (std::size_t t = 0; t < left.size(); ++t) {
        for (std::size_t i = 0; i < left[t].size(); ++i) left[t][i] += right[t][i];
    }
    return left;
}

/// ATTN-4. Row t of S for one head: the weights of tokens 0, ..., t for token t.
std::vector<float> causal_weights(const Tokens& Q, const Tokens& K, std::size_t t, std::size_t head,
                                  std::size_t d_h) {
    std::vector<float> row;
    for (std::size_t j = 0; j <= t; ++j) {
        float score = 0;
        for (std::size_t i = head * d_h; i < (head + 1) * d_h; ++i) score += Q[t][i] * K[j][i];
        row.push_back(score / std::sqrt(static_cast<float>(d_h)));
    }
    const float largest = *std::max_element(row.begin(), row.end());
    float total = 0;
    for (float& score : row) total += score = std::exp(score - largest);
    for (float& score : row) score /= total;
    return row;
}

/// values S^T for one head: for each token the weighted sum of the tokens that it sees.
Tokens weighted(const Tokens& values, const Tokens& Q, const Tokens& K, std::size_t head,
                std::size_t d_h) {
    Tokens result;
    for (std::size_t t = 0; t < values.size(); ++t) {
        const std::vector<float> row = causal_weights(Q, K, t, head, d_h);
        Activation token(values[t].size(), 0.0F);
        for (std::size_t j = 0; j < row.size(); ++j) {
            for (std::size_t i = 0; i < token.size(); ++i) token[i] += row[j] * values[j][i];
        }
        result.push_back(token);
    }
    return result;
}

/// The outputs of the heads, one below the other.
Tokens concatenated(const std::vector<Tokens>& heads) {
    Tokens tokens(heads.front().size());
    for (const Tokens& head : heads) {
        for (std::size_t t = 0; t < tokens.size(); ++t) {
            tokens[t].insert(tokens[t].end(), head[t].begin(), head[t].end());
        }
    }
    return tokens;
}

/// silu(gate) * up.
Tokens gated(const GroupOutputs& outputs) {
    Tokens tokens = member_of(outputs, 0);
    for (std::size_t t = 0; t < tokens.size(); ++t) {
        for (std::size_t i = 0; i < tokens[t].size(); ++i) {
            float& gate = tokens[t][i];
            gate = gate / (1.0F + std::exp(-gate)) * outputs[t][1][i];
        }
    }
    return tokens;
}

/// What follows the heads: groups first, ..., first + 3 are o | gate, up | down | head.
Tokens after_attention(const ApplyGroup& apply, std::uint32_t first, Tokens h,
                       const Tokens& heads) {
    h = sum(std::move(h), member_of(apply(first, heads), 0));
    const Tokens hidden = gated(apply(first + 1, normalised(h)));
    h = sum(std::move(h), member_of(apply(first + 2, hidden), 0));
    return member_of(apply(first + 3, normalised(h)), 0);
}

/// The layers of the groups o | gate, up | down | head.
void append_rest(Model& model, const TransformerWeights& weights) {
    model.push_back({{weights.output}});
    model.push_back({{weights.gate, weights.up}});
    model.push_back({{weights.down}});
    model.push_back({{weights.head}});
}

}  // namespace

Model convolutional_network(const std::vector<ConvolutionLayer>& layers,
                            const Nonlinearity& sigma) {  // CNN-2
    Model model;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const auto& [shape, kernel, k] = layers[i];
        require(i == 0 || layers[i - 1].shape.outputs() == shape.inputs(),
                "a layer takes the outputs of the one before");
        model.push_back({{decompose(dense_matrix(shape, kernel), k)}, sigma});
    }
    return model;
}

Network one_round_transformer(const TransformerWeights& weights) {  // ATTN-5
    const std::size_t heads = weights.attention.v.size();
    const std::size_t d_h = weights.attention.v.front().W_D.rows();
    Network network;
    network.model.push_back({one_round_group(weights.attention)});
    append_rest(network.model, weights);
    network.graph = [heads, d_h](const ApplyGroup& apply, const Tokens& h) {
        const GroupOutputs products = apply(0, normalised(h));
        const Tokens Q = member_of(products, 0);
        const Tokens K = member_of(products, 1);
        std::vector<Tokens> outputs;
        for (std::size_t head = 0; head < heads; ++head) {
            outputs.push_back(weighted(member_of(products, 2 + head), Q, K, head, d_h));
        }
        return after_attention(apply, 1, h, concatenated(outputs));
    };
    return network;
}

Network figure_transformer(const TransformerWeights& weights) {  // ATTN-1, ATTN-4
    const std::size_t heads = weights.attention.v.size();
    const std::size_t d_h = weights.attention.v.front().W_D.rows();
    Network network;
    for (const IntegerModel& weight : one_round_group(weights.attention)) {
        network.model.push_back({{weight}});
    }
    append_rest(network.model, weights);
    network.graph = [heads, d_h](const ApplyGroup& apply, const Tokens& h) {
        const Tokens a = normalised(h);
        const Tokens Q = member_of(apply(0, a), 0);
        const Tokens K = member_of(apply(1, a), 0);
        std::uint32_t group = 2;
        std::vector<Tokens> outputs;
        for (std::size_t head = 0; head < heads; ++head) {
            const Tokens a_s = weighted(a, Q, K, head, d_h);
            outputs.push_back(member_of(apply(group++, a_s), 0));
        }
        return after_attention(apply, group, h, concatenated(outputs));
    };
    return network;
}

}  // namespace slip::reference
