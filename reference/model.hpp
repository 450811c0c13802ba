// The full model protocol Pi (the paper's Section `subsec:full-model-inference-protocol`), beside
// the plain computation that it must equal.
//
// A layer is a group: matrices that share one input. In a perceptron it has one nonlinear function
// of all their outputs; other models have a graph (reference/networks.hpp). A layer of rank k >= 1
// is sensitive; one with k = 0 is David's alone.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "reference/integer_model.hpp"
#include "reference/session.hpp"

namespace slip::reference {

/// The activations of one token.
using Activation = std::vector<float>;

/// What a layer does with the outputs of its members to make the input of the next layer:
/// biases, nonlinearities, products of outputs. Charlie computes it.
using Nonlinearity = std::function<Activation(const std::vector<Activation>& outputs)>;

/// The outputs, one member after the other, with sigma applied to each entry.
Nonlinearity elementwise(std::function<float(float)> sigma);

struct Layer {
    std::vector<IntegerModel> members;
    Nonlinearity nonlinearity = nullptr;  ///< of a sequential model; a graph has its own
};

using Model = std::vector<Layer>;

/// outputs[t][member]: what a group makes of token t.
using GroupOutputs = std::vector<std::vector<Activation>>;

/// MODEL-4. How a graph has a group applied to tokens: by the protocol, or by the whole W_int.
using ApplyGroup =
    std::function<GroupOutputs(std::uint32_t group, const std::vector<Activation>& tokens)>;

/// MODEL-4. A model graph: everything of a model that is not a group, written once. It applies the
/// groups of its model in order, once each.
using Graph = std::function<std::vector<Activation>(const ApplyGroup& apply,
                                                    const std::vector<Activation>& tokens)>;

/// The graph of a model whose layers follow each other, token by token.
Graph sequential(std::vector<Nonlinearity> nonlinearities);

/// Theta_C of one layer. There is no W_D in it (MODEL-6).
struct CharliesLayer {
    struct Member {
        Matrix A, B;
        std::vector<float> row_scale;
    };
    std::vector<Member> members;
    std::int32_t activation_norm;  ///< B_q
    Nonlinearity nonlinearity;
};

/// DEF-1. A model decomposition, (Theta_C, Theta_D).
struct SplitModel {
    std::vector<CharliesLayer> charlie;  ///< a layer each
    std::vector<Matrix> david;           ///< the stacked W_D of each layer; group = layer number
};

/// ENC-3. B_q of a layer.
std::int32_t activation_norm(const Layer& layer, const ParameterSet& set);

/// Splits a model. Error: a layer that the set cannot carry exactly (refused here, so that
/// nothing can overflow later).
SplitModel split(const Model& model, const ParameterSet& set);

/// The integers inside one forward pass, for comparison: per layer and token, the quantised input
/// q and the outputs y_int of all members, one after the other.
struct IntegerTrace {
    std::vector<std::vector<Vector>> q;
    std::vector<std::vector<Vector>> y;

    friend bool operator==(const IntegerTrace&, const IntegerTrace&) = default;
};

struct ForwardResult {
    std::vector<Activation> output;  ///< one token each
    IntegerTrace trace;
};

/// The plain computation on the whole W_int: no protocol, no second party.
ForwardResult unsplit_forward(const Model& model, const ParameterSet& set,
                              const std::vector<Activation>& tokens);

/// The same for a graph.
ForwardResult unsplit_forward(const Model& model, const ParameterSet& set, const Graph& graph,
                              const std::vector<Activation>& tokens);

/// The messages of one forward pass of `tokens` tokens: one per layer, one column per token.
std::vector<PlannedMessage> schedule_of(const SplitModel& model, std::size_t tokens);

/// Charlie, online. His constructor takes Theta_C and prepared secrets, and no W_D: he could not
/// read it if he wanted to (MODEL-6).
class Charlie {
public:
    Charlie(std::vector<CharliesLayer> layers, CharlieSession session);

    /// SESS-1. Opens the session.
    void connect() { session_.hello(); }

    /// MODEL-1, DEF-2. The protocol Pi: layer by layer, every product masked. Errors: those of
    /// CharlieSession::apply, and activations that are not finite.
    ForwardResult forward(const std::vector<Activation>& tokens);

    /// MODEL-1, DEF-2. The same for a graph.
    ForwardResult forward(const Graph& graph, const std::vector<Activation>& tokens);

    void close() { session_.close(); }

    const CharlieSession& session() const { return session_; }

private:
    GroupOutputs apply(std::uint32_t group, const std::vector<Activation>& tokens,
                       IntegerTrace& trace);

    std::vector<CharliesLayer> layers_;
    CharlieSession session_;
};

/// David: his weights and his side of the session, and nothing else.
class David {
public:
    David(const ParameterSet& set, const Digest& digest, std::vector<Matrix> weights)
        : session_(set, digest, std::move(weights)) {}

    DavidSession& session() { return session_; }
    const Transcript& view() const { return session_.transcript(); }

private:
    DavidSession session_;
};

}  // namespace slip::reference
