#include "reference/model.hpp"

#include <cmath>
#include <utility>

#include "reference/encoding.hpp"
#include "reference/integer_model.hpp"
#include "reference/vectors/document.hpp"
#include "reference/vectors/lattice_masks.hpp"
#include "reference/vectors/recorder.hpp"

namespace slip::reference::vectors {

namespace {

IntegerModel any_member(Numbers& numbers, std::size_t m, std::size_t n, std::size_t k) {
    IntegerModel member{numbers.left_factor(m, k, 7),
                        numbers.right_factor(k, n),
                        numbers.matrix(m, n, -127, 127),
                        {}};
    for (std::size_t i = 0; i < m; ++i) {
        member.row_scale.push_back(std::fabs(numbers.activation()) * 0x1p-26F + 0x1p-28F);
    }
    return member;
}

/// The groups of one block of the LLaMA family and the head: d = 6, d_ff = 8, 10 tokens.
Model any_model(Numbers& numbers) {
    const auto member = [&](std::size_t m, std::size_t n, std::size_t k) {
        return any_member(numbers, m, n, k);
    };
    return {{{member(6, 6, 2), member(6, 6, 1), member(6, 6, 0)}},
            {{member(6, 6, 1)}},
            {{member(8, 6, 2), member(8, 6, 0)}},
            {{member(6, 8, 3)}},
            {{member(10, 6, 0)}}};
}

/// What enters the groups and what leaves them.
struct Trace {
    struct Call {
        std::uint32_t group;
        std::vector<Activation> inputs;
        GroupOutputs outputs;
    };
    std::vector<Call> calls;
};

Activation sum(Activation left, const Activation& right) {
    for (std::size_t i = 0; i < left.size(); ++i) left[i] += right[i];
    return left;
}

/// x / (1 + |x|): a nonlinear function that every machine rounds alike.
float squashed(float x) { return x / (1.0F + std::fabs(x)); }

/// A graph with the groups of a block. Its nonlinear functions stand for softmax and SiLU; they
/// are not normative, which is why the inputs of every group are written down.
Graph any_graph(Trace& trace) {
    return [&trace](const ApplyGroup& by_protocol, std::vector<Activation> h) {
        const auto apply = [&](std::uint32_t group, const std::vector<Activation>& inputs) {
            trace.calls.push_back({group, inputs, by_protocol(group, inputs)});
            return trace.calls.back().outputs;
        };
        const GroupOutputs qkv = apply(0, h);
        std::vector<Activation> mixed;
        for (const auto& token : qkv) {
            Activation a = token[2];
            for (std::size_t i = 0; i < a.size(); ++i) a[i] += squashed(token[0][i] * token[1][i]);
            mixed.push_back(a);
        }
        const GroupOutputs o = apply(1, mixed);
        for (std::size_t t = 0; t < h.size(); ++t) h[t] = sum(h[t], o[t][0]);
        const GroupOutputs gate_up = apply(2, h);
        std::vector<Activation> inner;
        for (const auto& token : gate_up) {
            Activation a = token[1];
            for (std::size_t i = 0; i < a.size(); ++i) a[i] *= squashed(token[0][i]);
            inner.push_back(a);
        }
        const GroupOutputs down = apply(3, inner);
        for (std::size_t t = 0; t < h.size(); ++t) h[t] = sum(h[t], down[t][0]);
        std::vector<Activation> logits;
        for (const auto& token : apply(4, h)) logits.push_back(token[0]);
        return logits;
    };
}

Json json_of(const SplitModel& parts, const std::vector<CheckSecret>& checks) {
    std::vector<Json> groups;
    for (std::size_t g = 0; g < parts.david.size(); ++g) {
        std::vector<Json> members;
        for (const auto& member : parts.charlie[g].members) {
            members.push_back(object({{"A", json(member.A)},
                                      {"B", json(member.B)},
                                      {"row_scale", bits(member.row_scale)}}));
        }
        groups.push_back(
            object({{"W_D", json(parts.david[g])},
                    {"s", combinations(checks[g], &IntegrityKey::s)},
                    {"activation_norm", json(Integer(parts.charlie[g].activation_norm))},
                    {"members", list(members)}}));
    }
    return list(groups);
}

Json messages_of(const Trace& trace) {
    std::vector<Json> messages;
    Integer index = 0;
    for (const Trace::Call& call : trace.calls) {
        std::vector<Json> tokens;
        Vector indices;
        for (const Activation& token : call.inputs) {
            tokens.push_back(bits(token));
            indices.push_back(index++);
        }
        messages.push_back(object({{"group", json(Integer(call.group))},
                                   {"mask_indices", json(indices)},
                                   {"x", list(tokens)}}));
    }
    return list(messages);
}

/// The outputs of all members, one after the other, for each message and token.
Json outputs_of(const Trace& trace) {
    std::vector<Json> messages;
    for (const Trace::Call& call : trace.calls) {
        std::vector<Json> tokens;
        for (const auto& members : call.outputs) {
            std::vector<float> all;
            for (const Activation& member : members) {
                all.insert(all.end(), member.begin(), member.end());
            }
            tokens.push_back(bits(all));
        }
        messages.push_back(list(tokens));
    }
    return list(messages);
}

Json integers_of(const std::vector<std::vector<Vector>>& trace) {
    std::vector<Json> messages;
    for (const auto& tokens : trace) {
        std::vector<Json> entries;
        for (const Vector& token : tokens) entries.push_back(json(token));
        messages.push_back(list(entries));
    }
    return list(messages);
}

/// What a transcript is made of.
struct Setting {
    Model model;
    ParameterSet set;
    std::size_t tokens;
    Graph (*graph)(Trace&);
    std::string groups;  ///< how many, in words
};

/// One group of two members, one of rank 1 and one of rank 0.
Model one_group(Numbers& numbers) {
    return {{{any_member(numbers, 3, 6, 1), any_member(numbers, 2, 6, 0)}}};
}

/// A graph of this group alone: its outputs are those of the model.
Graph graph_of_one_group(Trace& trace) {
    return [&trace](const ApplyGroup& by_protocol, const std::vector<Activation>& h) {
        trace.calls.push_back({0, h, by_protocol(0, h)});
        std::vector<Activation> outputs;
        for (const auto& token : trace.calls.back().outputs) outputs.push_back(token[0]);
        return outputs;
    };
}

/// ENC-3. The parts, with the activation norm of lattice masks.
SplitModel parts_of(const Setting& setting) {
    SplitModel parts = split(setting.model, setting.set);
    if (!setting.set.lattice) return parts;
    for (CharliesLayer& layer : parts.charlie) {
        layer.activation_norm = setting.set.lattice->B_q.convert_to<std::int32_t>();
    }
    return parts;
}

/// Whether these are the products of the undivided integer matrices, on what entered the groups.
bool is_that_of_the_whole_model(const Setting& setting, const IntegerTrace& trace) {
    for (std::size_t g = 0; g < setting.model.size(); ++g) {
        for (std::size_t t = 0; t < setting.tokens; ++t) {
            Vector y;
            for (const IntegerModel& member : setting.model[g].members) {
                for (const Integer& row : integer_weights(member) * trace.q[g][t]) {
                    y.push_back(row);
                }
            }
            if (y != trace.y[g][t]) return false;
        }
    }
    return true;
}

void add_transcript(Document& document, const Setting& setting) {
    const auto& [model, set, tokens, graph, number_of_groups] = setting;
    Numbers& numbers = document.numbers();
    const SplitModel parts = parts_of(setting);
    const Key key = numbers.key(), seed = numbers.key();
    const std::vector<CheckSecret> checks = prepare_checks(set, seed, parts.david);
    Digest digest{};
    for (std::uint8_t& byte : digest) byte = numbers.bytes(1).front();
    Fields input{{"key", hex(key)},
                 {"seed", hex(seed)},
                 {"digest", hex(digest)},
                 {"groups", json_of(parts, checks)}};
    const std::vector<PlannedMessage> schedule = schedule_of(parts, tokens);
    Masks masks;
    if (set.lattice) {
        const Key public_seed = numbers.key();
        masks = prepare_lattice_masks(set, key, public_seed, parts.david, schedule);
        input.push_back({"public_seed", hex(public_seed)});
    } else {
        masks = prepare_masks(set, key, parts.david, schedule);
    }
    DavidSession david(set, digest, parts.david);
    Recorder recorder(david);
    Charlie charlie(parts.charlie, CharlieSession(shapes_of(set, parts.david), digest, checks,
                                                  std::move(masks), recorder));
    std::vector<Activation> inputs;
    for (std::size_t t = 0; t < tokens; ++t) inputs.push_back(numbers.activations(6));
    if (tokens > 1) inputs[1] = Activation(6, 0.0F);  // the zero token is sent like any other
    Trace trace;
    charlie.connect();
    const ForwardResult result = charlie.forward(graph(trace), inputs);
    charlie.close();
    require(is_that_of_the_whole_model(setting, result.trace),
            "the transcript computes the undivided model");
    input.push_back({"messages", messages_of(trace)});
    input.push_back({"answers", frames_of(recorder.answers)});
    document.add({.clause = "MODEL-1",
                  .requirement = "every frame and every output of the model MUST be these",
                  .comment = std::to_string(tokens) + " tokens through " + number_of_groups,
                  .flags = {"ORDER"},
                  .input = input,
                  .output = {{"sent", frames_of(recorder.sent)}, {"y", outputs_of(trace)}},
                  .intermediate = {{"q", integers_of(result.trace.q)},
                                   {"y_int", integers_of(result.trace.y)}}});
}

}  // namespace

void model(Document& document) {
    document.begin_group("model_transcript", {"charlie"}, paper());
    for (std::size_t tokens : {1U, 3U}) {
        add_transcript(document,
                       {any_model(document.numbers()), paper(), tokens, any_graph, "five groups"});
    }
    document.begin_group("model_transcript", {"charlie"}, paper_lattice());
    add_transcript(document, {one_group(document.numbers()), paper_lattice(), 2, graph_of_one_group,
                              "one group"});
}

}  // namespace slip::reference::vectors
