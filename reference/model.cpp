#include "reference/model.hpp"

#include <utility>

#include "reference/encoding.hpp"
#include "reference/error.hpp"
#include "reference/linear.hpp"

namespace slip::reference {

namespace {

std::vector<Matrix> davids_members(const Layer& layer) {
    std::vector<Matrix> members;
    for (const IntegerModel& member : layer.members) members.push_back(member.W_D);
    return members;
}

std::vector<QuantisedToken> quantise_all(const std::vector<Activation>& tokens, std::int32_t B_q) {
    std::vector<QuantisedToken> quantised;
    for (const Activation& token : tokens) quantised.push_back(quantise(token, B_q));
    return quantised;
}

/// The quantised tokens as the columns of an n x b matrix. Error: tokens of unequal length.
Matrix columns_of(const std::vector<QuantisedToken>& tokens) {
    require(!tokens.empty(), "a forward pass has at least one token");
    std::vector<Vector> columns;
    for (const QuantisedToken& token : tokens) columns.push_back(token.q);
    return Matrix::from_columns(columns.front().size(), columns);
}

/// Entries first, ..., first + count - 1.
Vector slice(const Vector& v, std::size_t first, std::size_t count) {
    Vector part;
    for (std::size_t i = first; i < first + count; ++i) part.push_back(v[i]);
    return part;
}

void append(Vector& all, const Vector& more) { all.insert(all.end(), more.begin(), more.end()); }

/// The nonlinearity of each layer of a sequential model, or of Charlie's part of one.
template <class Layers>
std::vector<Nonlinearity> nonlinearities(const Layers& layers) {
    std::vector<Nonlinearity> all;
    for (const auto& layer : layers) all.push_back(layer.nonlinearity);
    return all;
}

}  // namespace

Nonlinearity elementwise(std::function<float(float)> sigma) {
    return [sigma = std::move(sigma)](const std::vector<Activation>& outputs) {
        Activation next;
        for (const Activation& output : outputs) {
            for (float y : output) next.push_back(sigma(y));
        }
        return next;
    };
}

std::int32_t activation_norm(const Layer& layer, const ParameterSet& set) {
    return activation_norm(davids_members(layer), set.ring().modulus());
}

SplitModel split(const Model& model, const ParameterSet& set) {
    SplitModel parts;
    for (const Layer& layer : model) {
        const std::int32_t B_q = activation_norm(layer, set);
        std::vector<Matrix> whole;
        CharliesLayer charlies{{}, B_q, layer.nonlinearity};
        for (const IntegerModel& member : layer.members) {
            require_valid(member);
            whole.push_back(integer_weights(member));
            charlies.members.push_back({member.A, member.B, member.row_scale});
        }
        require_useful_norm(B_q);
        require(fits_modulus(davids_members(layer), B_q, set.ring().modulus()),
                "the modulus holds every output of David");
        require(fits_64_bits(whole, B_q), "every output of the integer model fits int64");
        parts.charlie.push_back(std::move(charlies));
        parts.david.push_back(stack(davids_members(layer)));
    }
    return parts;
}

Graph sequential(std::vector<Nonlinearity> nonlinearities) {
    return [nonlinearities = std::move(nonlinearities)](const ApplyGroup& apply,
                                                        std::vector<Activation> tokens) {
        for (std::uint32_t layer = 0; layer < nonlinearities.size(); ++layer) {
            const GroupOutputs outputs = apply(layer, tokens);
            for (std::size_t t = 0; t < tokens.size(); ++t) {
                tokens[t] = nonlinearities[layer](outputs[t]);
            }
        }
        return tokens;
    };
}

ForwardResult unsplit_forward(const Model& model, const ParameterSet& set, const Graph& graph,
                              const std::vector<Activation>& tokens) {
    IntegerTrace trace;
    const ApplyGroup apply = [&](std::uint32_t group, const std::vector<Activation>& inputs) {
        const Layer& layer = model.at(group);
        GroupOutputs outputs;
        trace.q.emplace_back();
        trace.y.emplace_back();
        for (const auto& [q, scale] : quantise_all(inputs, activation_norm(layer, set))) {
            Vector all;
            outputs.emplace_back();
            for (const IntegerModel& member : layer.members) {
                const Vector y = unsplit_output(member, q);
                outputs.back().push_back(dequantise(y, member.row_scale, scale));
                append(all, y);
            }
            trace.q.back().push_back(q);
            trace.y.back().push_back(all);
        }
        return outputs;
    };
    std::vector<Activation> output = graph(apply, tokens);
    return {std::move(output), std::move(trace)};
}

ForwardResult unsplit_forward(const Model& model, const ParameterSet& set,
                              const std::vector<Activation>& tokens) {
    return unsplit_forward(model, set, sequential(nonlinearities(model)), tokens);
}

std::vector<PlannedMessage> schedule_of(const SplitModel& model, std::size_t tokens) {
    std::vector<PlannedMessage> schedule;
    for (std::uint32_t layer = 0; layer < model.david.size(); ++layer) {
        schedule.push_back({layer, tokens});
    }
    return schedule;
}

Charlie::Charlie(std::vector<CharliesLayer> layers, CharlieSession session)
    : layers_(std::move(layers)), session_(std::move(session)) {}

GroupOutputs Charlie::apply(std::uint32_t group, const std::vector<Activation>& tokens,
                            IntegerTrace& trace) {  // MODEL-1, LIN-4
    const CharliesLayer& layer = layers_.at(group);
    const auto quantised = quantise_all(tokens, layer.activation_norm);
    const Matrix y_D = session_.apply(group, columns_of(quantised));  // W_D q, by David
    GroupOutputs outputs;
    trace.q.emplace_back();
    trace.y.emplace_back();
    for (std::size_t t = 0; t < quantised.size(); ++t) {
        const auto& [q, scale] = quantised[t];
        Vector all;
        outputs.emplace_back();
        for (const auto& [A, B, row_scale] : layer.members) {
            const Vector davids = slice(y_D.column(t), all.size(), A.rows());
            const Vector y = charlies_output(A, B, q, davids);  // 2^t W_D q + A (B q) = W_int q
            outputs.back().push_back(dequantise(y, row_scale, scale));
            append(all, y);
        }
        trace.q.back().push_back(q);
        trace.y.back().push_back(all);
    }
    return outputs;
}

ForwardResult Charlie::forward(const Graph& graph, const std::vector<Activation>& tokens) {
    IntegerTrace trace;
    const ApplyGroup by_protocol = [&](std::uint32_t group, const std::vector<Activation>& inputs) {
        return apply(group, inputs, trace);
    };
    std::vector<Activation> output = graph(by_protocol, tokens);
    return {std::move(output), std::move(trace)};
}

ForwardResult Charlie::forward(const std::vector<Activation>& tokens) {
    return forward(sequential(nonlinearities(layers_)), tokens);
}

}  // namespace slip::reference
