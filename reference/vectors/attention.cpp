#include "reference/attention.hpp"

#include <tuple>

#include "reference/linear.hpp"
#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

constexpr unsigned softmax_bits = 8;

/// A layer with small random weights.
AttentionLayer any_layer(Numbers& numbers, std::size_t d, std::size_t d_h, std::size_t heads,
                         std::size_t k) {
    const auto weight = [&](std::size_t m) {
        return IntegerModel{numbers.left_factor(m, k, 6), numbers.right_factor(k, d),
                            numbers.matrix(m, d, -127, 127), std::vector<float>(m, 1.0F)};
    };
    AttentionLayer layer{weight(heads * d_h), weight(heads * d_h), {}};
    for (std::size_t h = 0; h < heads; ++h) layer.v.push_back(weight(d_h));
    return layer;
}

/// Rows of non-negative integers that sum to 2^f, zero behind the token itself: P of one head.
Matrix any_weights(Numbers& numbers, std::size_t tokens) {
    Matrix P(tokens, tokens);
    for (std::size_t i = 0; i < tokens; ++i) {
        Integer rest = Integer(1) << softmax_bits;
        for (std::size_t j = 0; j < i; ++j) {
            P(i, j) = numbers.between(0, rest);
            rest -= P(i, j);
        }
        P(i, i) = rest;
    }
    return P;
}

/// The given P of each head in turn, in place of a softmax.
MidtermSoftmax given(const std::vector<Matrix>& P) {
    return [P, head = std::size_t{0}](const Matrix&, const Matrix&) mutable {
        return P[head++ % P.size()];
    };
}

Json json_of(const IntegerModel& weight) {
    return object({{"A", json(weight.A)}, {"B", json(weight.B)}, {"W_D", json(weight.W_D)}});
}

template <class T, class Function>
Json list_of(const std::vector<T>& parts, Function function) {
    std::vector<Json> entries;
    for (const T& part : parts) entries.push_back(function(part));
    return list(entries);
}

Json json_of(const AttentionLayer& layer) {
    return object({{"q", json_of(layer.q)},
                   {"k", json_of(layer.k)},
                   {"v", list_of(layer.v, [](const IntegerModel& v) { return json_of(v); })}});
}

Json columns_of(const ParameterSet& set, const std::vector<Matrix>& parts) {
    return list_of(parts, [&](const Matrix& part) { return residue_columns(set, part); });
}

Json rows_of(const std::vector<Matrix>& parts) {
    return list_of(parts, [](const Matrix& part) { return json(part); });
}

Json streams(const ParameterSet& set, const Key& key, std::uint64_t first, std::size_t tokens,
             std::size_t d) {
    std::vector<Json> masks;
    for (std::size_t t = 0; t < tokens; ++t) {
        masks.push_back(
            column(set, uniform_residues(set.planes, key, Purpose::mask, first + t, d)));
    }
    return list(masks);
}

/// The masks as prepare_attention draws them: q, k, v of head 1, v of head 2, ...
Json masks_of(const ParameterSet& set, const Key& key, std::size_t heads, std::size_t tokens,
              std::size_t d) {
    std::vector<Json> v;
    for (std::size_t h = 0; h < heads; ++h)
        v.push_back(streams(set, key, (2 + h) * tokens, tokens, d));
    return object({{"q", streams(set, key, 0, tokens, d)},
                   {"k", streams(set, key, tokens, tokens, d)},
                   {"v", list(v)}});
}

void add_figure(Document& document, const ParameterSet& set, const AttentionLayer& layer,
                const Matrix& a, const std::vector<Matrix>& P) {
    const Integer L = set.ring().modulus();
    const Key key = document.numbers().key(), seed = document.numbers().key();
    const SplitAttention parts = split(layer, L);
    AttentionCharlie charlie(set, parts.charlie,
                             prepare_attention(set, key, seed, parts.david, a.cols()), given(P));
    AttentionDavid david(L, parts.david);
    const InnerMessage inner = charlie.inner_masking(a);
    const InnerReply inner_reply = david.local_compute(inner);
    charlie.inner_unmasking(inner_reply);
    charlie.compute_midterm_softmax_output();
    const OuterMessage outer = charlie.outer_masking();
    const OuterReply outer_reply = david.local_compute(outer);
    charlie.outer_unmasking(outer_reply);
    const Matrix output = charlie.compute_attention_head_output();
    document.add(
        {.clause = "ATTN-1",
         .requirement = "the steps of the figure MUST give these messages and W_v (a P^T)",
         .comment =
             std::to_string(layer.v.size()) + " heads, " + std::to_string(a.cols()) + " tokens",
         .flags = {"ORDER", "MASK_REUSE"},
         .input = {{"weights", json_of(layer)},
                   {"a", columns(a)},
                   {"masks", masks_of(set, key, layer.v.size(), a.cols(), a.rows())},
                   {"P", rows_of(P)}},
         .output = {{"inner_message", object({{"q", residue_columns(set, inner.a_q)},
                                              {"k", residue_columns(set, inner.a_k)}})},
                    {"inner_reply", object({{"q", residue_columns(set, inner_reply.a_q)},
                                            {"k", residue_columns(set, inner_reply.a_k)}})},
                    {"outer_message", columns_of(set, outer)},
                    {"outer_reply", columns_of(set, outer_reply)},
                    {"output", columns(output)}}});
}

void add_one_round(Document& document, const ParameterSet& set, const AttentionLayer& layer,
                   const Matrix& a, const std::vector<Matrix>& P) {
    const Ring& ring = set.ring();
    const Key key = document.numbers().key();
    std::vector<Matrix> weights;
    for (const IntegerModel& member : one_round_group(layer)) {
        weights.push_back(member.W_D);
    }
    const Matrix W_D = stack(weights);
    std::vector<Vector> x;
    for (std::size_t t = 0; t < a.cols(); ++t) {
        x.push_back(ring.add(ring.embed(a.column(t)),
                             uniform_residues(set.planes, key, Purpose::mask, t, a.rows())));
    }
    const Matrix message = Matrix::from_columns(a.rows(), x);
    std::vector<Matrix> outputs;
    for (const IntegerModel& member : one_round_group(layer)) {
        outputs.push_back(integer_weights(member) * a);
    }
    document.add({.clause = "ATTN-5",
                  .requirement = "one message under one mask a token MUST give Q, K and V, and "
                                 "V P^T for each head",
                  .comment = "the layer of the case of the figure, in one round",
                  .flags = {"ORDER"},
                  .input = {{"weights", json_of(layer)},
                            {"a", columns(a)},
                            {"masks", streams(set, key, 0, a.cols(), a.rows())},
                            {"P", rows_of(P)}},
                  .output = {{"message", residue_columns(set, message)},
                             {"reply", residue_columns(set, davids_product(ring, W_D, message))},
                             {"output", columns(one_round_attention(stack(outputs), layer.v.size(),
                                                                    given(P)))}}});
}

}  // namespace

void attention(Document& document) {
    Numbers& numbers = document.numbers();
    for (const auto& [heads, tokens, k] :
         std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>{
             {1, 1, 0}, {1, 3, 1}, {2, 4, 2}}) {
        const AttentionLayer layer = any_layer(numbers, 6, 2, heads, k);
        const Matrix a = numbers.matrix(6, tokens, -50, 50);
        std::vector<Matrix> P;
        for (std::size_t h = 0; h < heads; ++h) P.push_back(any_weights(numbers, tokens));
        document.begin_group("attention_figure", {"attention"}, paper());
        add_figure(document, paper(), layer, a, P);
        document.begin_group("attention_one_round", {"attention"}, paper());
        add_one_round(document, paper(), layer, a, P);
    }
}

}  // namespace slip::reference::vectors
