// The attention protocol of the reference, step by step, against plain attention; both orders of
// the two products; what David sees, by exhaustion.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>

#include "property_tests/reference/drawn_values.hpp"
#include "reference/attention.hpp"
#include "reference/linear.hpp"
#include "reference/session.hpp"

namespace slip::reference {
namespace {

IntegerModel any_weight(std::size_t m, std::size_t n) {
    const std::size_t k = *rc::gen::inRange<std::size_t>(0, 3);
    return {any_left_factor(m, k), any_matrix(k, n, 2047), any_matrix(m, n, 127),
            std::vector<float>(m, 1.0F)};
}

AttentionLayer any_layer(std::size_t heads, std::size_t d_h, std::size_t d) {
    AttentionLayer layer{any_weight(heads * d_h, d), any_weight(heads * d_h, d), {}};
    for (std::size_t h = 0; h < heads; ++h) layer.v.push_back(any_weight(d_h, d));
    return layer;
}

/// A softmax on the scale of the integers that any_layer gives, with 6 bits.
MidtermSoftmax any_softmax(Visibility visibility) {
    return fixed_point_softmax(std::ldexp(1.0, -92), 6, visibility);
}

const ParameterSet set = paper();
const Integer L = set.ring().modulus();

/// Both parties with the secrets of one run.
struct Parties {
    AttentionCharlie charlie;
    AttentionDavid david;

    Parties(const AttentionLayer& layer, const MidtermSoftmax& softmax, const Key& key,
            std::size_t tokens)
        : charlie(set, split(layer, L).charlie,
                  prepare_attention(set, key, Key{4}, split(layer, L).david, tokens), softmax),
          david(L, split(layer, L).david) {}
};

RC_GTEST_PROP(Attention, ATTN_1_the_figure_equals_plain_attention_exactly, ()) {
    const std::size_t heads = *rc::gen::inRange<std::size_t>(1, 4);
    const std::size_t tokens = *rc::gen::inRange<std::size_t>(1, 4);
    const AttentionLayer layer = any_layer(heads, 2, 4);
    const MidtermSoftmax softmax =
        any_softmax(*rc::gen::element(Visibility::all, Visibility::causal));
    const Matrix a = any_matrix(4, tokens, 100);
    Parties parties(layer, softmax, any_key(), tokens);
    FigureTranscript transcript;
    RC_ASSERT(run_figure(parties.charlie, parties.david, a, transcript) ==
              plain_attention(layer, softmax, a));
}

/// One head of d_h = 2 on d = 3, with rank 1.
AttentionLayer small_layer() {
    const IntegerModel weight{
        Matrix{{5}, {-7}}, Matrix{{1, 2, -3}}, Matrix{{1, -2, 3}, {40, 0, -50}}, {1.0F, 1.0F}};
    return {weight, weight, {weight}};
}

TEST(Attention, ATTN_1_the_transcript_reads_like_the_figure) {
    Parties parties(small_layer(), fixed_point_softmax(1e-15, 4, Visibility::all), Key{1}, 2);
    FigureTranscript transcript;
    run_figure(parties.charlie, parties.david, Matrix{{1, 2}, {3, 4}, {5, 6}}, transcript);
    const std::string left(20, ' ');
    const std::string right(60, ' ');
    EXPECT_EQ(transcript.print(), "Charlie" + std::string(53, ' ') + "David\n" +        //
                                      "Inner Masking\n" +                               //
                                      left + "-- a~q (3 x 2), a~k (3 x 2) -->\n" +      //
                                      right + "David's Local Compute\n" +               //
                                      left + "<-- a~q^D (2 x 2), a~k^D (2 x 2) --\n" +  //
                                      "Inner Unmasking\n" +                             //
                                      "Compute Midterm Softmax Output\n" +              //
                                      "Outer Masking\n" +                               //
                                      left + "-- a~s (3 x 2) -->\n" +                   //
                                      right + "David's Local Compute\n" +               //
                                      left + "<-- a~^D (2 x 2) --\n" +                  //
                                      "Outer Unmasking\n" +                             //
                                      "Compute Attention Head Output\n");
}

TEST(Attention, ATTN_1_the_steps_have_one_order) {
    Parties parties(small_layer(), fixed_point_softmax(1e-15, 4, Visibility::all), Key{1}, 1);
    EXPECT_THROW(parties.charlie.outer_masking(), PreconditionError);
    const InnerMessage inner = parties.charlie.inner_masking(Matrix{{1}, {2}, {3}});
    EXPECT_THROW(parties.charlie.inner_masking(Matrix{{1}, {2}, {3}}), PreconditionError);
    EXPECT_THROW(parties.charlie.compute_midterm_softmax_output(), PreconditionError);
    parties.charlie.inner_unmasking(parties.david.local_compute(inner));
    EXPECT_THROW(parties.charlie.compute_attention_head_output(), PreconditionError);
}

RC_GTEST_PROP(Attention, ATTN_3_every_masked_copy_has_its_own_mask, ()) {
    const AttentionLayer layer = any_layer(2, 1, 3);
    const MidtermSoftmax softmax = any_softmax(Visibility::all);
    const Matrix a = any_matrix(3, 2, 100);
    const Key key = any_key();
    Parties parties(layer, softmax, key, 2);
    FigureTranscript transcript;
    run_figure(parties.charlie, parties.david, a, transcript);

    const Matrix Q = integer_weights(layer.q) * a;
    const Matrix K = integer_weights(layer.k) * a;
    std::vector<Matrix> clear = {a, a};
    for (std::size_t h = 0; h < 2; ++h) {
        const Matrix Q_h = Matrix::from_columns(1, {{Q(h, 0)}, {Q(h, 1)}});
        const Matrix K_h = Matrix::from_columns(1, {{K(h, 0)}, {K(h, 1)}});
        clear.push_back(a * softmax(Q_h, K_h).transpose());
    }
    const std::vector<Matrix>& seen = parties.david.view();
    RC_ASSERT(seen.size() == 4U);
    std::uint64_t index = 0;
    for (std::size_t i = 0; i < seen.size(); ++i) {
        for (std::size_t t = 0; t < 2; ++t, ++index) {
            const Vector r = uniform_residues(set.planes, key, Purpose::mask, index, 3);
            RC_ASSERT(seen[i].column(t) == mask(set.ring(), clear[i].column(t), r));
        }
    }
}

/// Secrets for one head on d = 1 and two tokens, with the masks given: r^q, r^k, r^v of token 1,
/// then of token 2.
AttentionSecrets tiny_secrets(const ParameterSet& field, const DavidsAttention& weights,
                              const Vector& r) {
    AttentionSecrets secrets = prepare_attention(field, Key{5}, Key{4}, weights, 0);
    for (std::size_t t = 0; t < 2; ++t) {
        const auto mask_of = [&](std::size_t i, const Matrix& W_D) {
            const Vector mask = {r[3 * t + i]};
            return OneTimeMask(3 * t + i, mask, cancellation(field.ring(), W_D, mask));
        };
        secrets.masks.q.push_back(mask_of(0, weights.q));
        secrets.masks.k.push_back(mask_of(1, weights.k));
        secrets.masks.v[0].push_back(mask_of(2, weights.v[0]));
    }
    return secrets;
}

/// The entries of the matrices, one after the other.
Vector flatten(const std::vector<Matrix>& matrices) {
    Vector entries;
    for (const Matrix& X : matrices) {
        for (std::size_t i = 0; i < X.rows(); ++i) {
            for (std::size_t j = 0; j < X.cols(); ++j) entries.push_back(X(i, j));
        }
    }
    return entries;
}

TEST(Attention, ATTN_3_the_three_messages_are_jointly_uniform) {
    // L = 3, one head, d = 1, two tokens: 3^6 = 729 masks give each of the 729 views once, for
    // every activation, although the third message depends on the replies to the first two.
    const ParameterSet field{"three", 9, Planes({3}), 1};
    const IntegerModel weight{Matrix(1, 0), Matrix(0, 1), Matrix{{1}}, {1.0F}};
    const SplitAttention parts = split(AttentionLayer{weight, weight, {weight}}, 3);
    const MidtermSoftmax adaptive = [](const Matrix& Q, const Matrix&) {
        return Q(0, 0) > 0 ? Matrix{{1, 0}, {0, 1}} : Matrix{{0, 1}, {1, 0}};
    };
    for (int activation = 0; activation < 9; ++activation) {
        const Matrix a{{activation % 3 - 1, activation / 3 - 1}};
        std::map<Vector, int> views;
        for (int masks = 0; masks < 729; ++masks) {
            Vector r;
            for (int rest = masks; r.size() < 6; rest /= 3) r.emplace_back(rest % 3);
            AttentionCharlie charlie(field, parts.charlie, tiny_secrets(field, parts.david, r),
                                     adaptive);
            AttentionDavid david(3, parts.david);
            FigureTranscript transcript;
            run_figure(charlie, david, a, transcript);
            ++views[flatten(david.view())];
        }
        EXPECT_EQ(views.size(), 729U);
    }
}

TEST(Attention, ATTN_3_a_wrong_reply_in_either_round_ends_the_run) {
    const Matrix a{{1}, {2}, {3}};
    const MidtermSoftmax softmax = fixed_point_softmax(1e-15, 4, Visibility::all);
    Parties first(small_layer(), softmax, Key{1}, 1);
    InnerReply inner = first.david.local_compute(first.charlie.inner_masking(a));
    inner.a_k(0, 0) = set.ring().add(inner.a_k(0, 0), 1);
    EXPECT_THROW(first.charlie.inner_unmasking(inner), IntegrityError);
    EXPECT_TRUE(first.charlie.wiped());
    EXPECT_THROW(first.charlie.compute_midterm_softmax_output(), PreconditionError);

    Parties second(small_layer(), softmax, Key{1}, 1);
    second.charlie.inner_unmasking(second.david.local_compute(second.charlie.inner_masking(a)));
    second.charlie.compute_midterm_softmax_output();
    OuterReply outer = second.david.local_compute(second.charlie.outer_masking());
    outer[0](1, 0) = set.ring().add(outer[0](1, 0), 1);
    EXPECT_THROW(second.charlie.outer_unmasking(outer), IntegrityError);
    EXPECT_TRUE(second.charlie.wiped());
}

TEST(Attention, ATTN_3_an_input_of_a_greater_norm_than_the_bound_is_not_sent) {
    Parties parties(small_layer(), fixed_point_softmax(1e-15, 4, Visibility::all), Key{1}, 1);
    EXPECT_THROW(parties.charlie.inner_masking(Matrix{{32768}, {0}, {0}}), PreconditionError);
}

TEST(Attention, ATTN_2_the_softmax_is_scaled_by_the_head_dimension) {
    // d_h = 4 and scores 0 and 4: weights 1 / (1 + e^2) and e^2 / (1 + e^2).
    const Matrix Q{{1}, {1}, {1}, {1}};
    const Matrix K{{0, 1}, {0, 1}, {0, 1}, {0, 1}};
    const Matrix P = fixed_point_softmax(1.0, 20, Visibility::all)(Q, K);
    EXPECT_EQ(P, (Matrix{{std::lround(1048576 / (1 + std::exp(2.0))),
                          std::lround(1048576 / (1 + std::exp(-2.0)))}}));
    EXPECT_THROW(fixed_point_softmax(std::nan(""), 20, Visibility::all), PreconditionError);
    EXPECT_THROW(fixed_point_softmax(1.0, 31, Visibility::all), PreconditionError);
}

RC_GTEST_PROP(Attention, ATTN_2_the_weights_of_a_token_sum_to_one, ()) {
    const std::size_t tokens = *rc::gen::inRange<std::size_t>(1, 5);
    const Matrix Q = any_matrix(2, tokens, 50);
    const Matrix P = fixed_point_softmax(0.1, 12, Visibility::all)(Q, any_matrix(2, tokens, 50));
    for (std::size_t i = 0; i < tokens; ++i) {
        Integer sum = 0;
        for (std::size_t j = 0; j < tokens; ++j) {
            RC_ASSERT(P(i, j) >= 0);
            sum += P(i, j);
        }
        RC_ASSERT(abs(sum - 4096) <= tokens);  // each entry is off by at most one half
    }
}

RC_GTEST_PROP(Attention, ATTN_4_heads_are_independent_and_stacked, ()) {
    const AttentionLayer layer = any_layer(2, 2, 3);
    const MidtermSoftmax softmax = any_softmax(Visibility::all);
    const Matrix a = any_matrix(3, 3, 100);
    const auto head_rows = [](const IntegerModel& weight, std::size_t first) {
        IntegerModel part{Matrix(2, weight.rank()), weight.B, Matrix(2, 3), {1.0F, 1.0F}};
        for (std::size_t i = 0; i < 2; ++i) {
            for (std::size_t c = 0; c < weight.rank(); ++c) part.A(i, c) = weight.A(first + i, c);
            for (std::size_t j = 0; j < 3; ++j) part.W_D(i, j) = weight.W_D(first + i, j);
        }
        return part;
    };
    std::vector<Matrix> alone;
    for (std::size_t h = 0; h < 2; ++h) {
        const AttentionLayer head{
            head_rows(layer.q, 2 * h), head_rows(layer.k, 2 * h), {layer.v[h]}};
        alone.push_back(plain_attention(head, softmax, a));
    }
    RC_ASSERT(plain_attention(layer, softmax, a) == stack(alone));
}

RC_GTEST_PROP(Attention, ATTN_4_a_token_does_not_see_later_ones, ()) {
    const AttentionLayer layer = any_layer(2, 2, 3);
    const MidtermSoftmax softmax = any_softmax(Visibility::causal);
    Matrix a = any_matrix(3, 3, 100);
    const Matrix before = plain_attention(layer, softmax, a);
    a(1, 2) += 1 + *rc::gen::inRange(0, 100);
    const Matrix after = plain_attention(layer, softmax, a);
    RC_ASSERT(before.column(0) == after.column(0));
    RC_ASSERT(before.column(1) == after.column(1));
    RC_ASSERT(fixed_point_softmax(1.0, 8, Visibility::causal)(a, a)(0, 1) == 0);
}

/// One exchange for the whole group of a layer, by the session of the protocol: W_int a for each
/// member, stacked.
Matrix one_round_products(const AttentionLayer& layer, const Key& key, const Matrix& a) {
    const std::vector<IntegerModel> members = one_round_group(layer);
    std::vector<Matrix> davids;
    for (const IntegerModel& member : members) davids.push_back(member.W_D);
    const std::vector<Matrix> weights = {stack(davids)};
    DavidSession david(paper(), Digest{}, weights);
    InProcessChannel channel(david);
    CharlieSession charlie(shapes_of(paper(), weights), Digest{},
                           prepare_checks(paper(), Key{4}, weights),
                           prepare_masks(paper(), key, weights, {{0, a.cols()}}), channel);
    charlie.hello();
    const Matrix y_D = charlie.apply(0, a);
    RC_ASSERT(david.transcript().masked_inputs(david.shapes()).size() == 1U);

    std::vector<Vector> columns;
    for (std::size_t t = 0; t < a.cols(); ++t) {
        const Vector all = y_D.column(t);
        Vector column;
        for (const IntegerModel& member : members) {
            const auto first = all.begin() + static_cast<std::ptrdiff_t>(column.size());
            const Vector own(first, first + static_cast<std::ptrdiff_t>(member.A.rows()));
            const Vector y = charlies_output(member.A, member.B, a.column(t), own);
            column.insert(column.end(), y.begin(), y.end());
        }
        columns.push_back(column);
    }
    return Matrix::from_columns(y_D.rows(), columns);
}

RC_GTEST_PROP(Attention, ATTN_5_and_ATTN_6_one_round_gives_the_integers_of_the_figure, ()) {
    const std::size_t heads = *rc::gen::inRange<std::size_t>(1, 3);
    const AttentionLayer layer = any_layer(heads, 2, 4);
    const MidtermSoftmax softmax =
        any_softmax(*rc::gen::element(Visibility::all, Visibility::causal));
    const Matrix a = any_matrix(4, 2, 100);
    Parties parties(layer, softmax, any_key(), 2);
    FigureTranscript transcript;
    const Matrix figure = run_figure(parties.charlie, parties.david, a, transcript);
    const Matrix products = one_round_products(layer, any_key(), a);
    RC_ASSERT(one_round_attention(products, heads, softmax) == figure);
}

using RationalMatrix = std::vector<std::vector<Rational>>;

RationalMatrix any_rationals(std::size_t m, std::size_t n) {
    RationalMatrix X(m, std::vector<Rational>(n));
    for (auto& row : X) {
        for (Rational& entry : row) {
            entry = Rational(*rc::gen::inRange(-99, 100), *rc::gen::inRange(1, 50));
        }
    }
    return X;
}

/// X Y, exactly.
RationalMatrix product(const RationalMatrix& X, const RationalMatrix& Y) {
    RationalMatrix P(X.size(), std::vector<Rational>(Y[0].size(), Rational(0)));
    for (std::size_t i = 0; i < X.size(); ++i) {
        for (std::size_t j = 0; j < Y[0].size(); ++j) {
            for (std::size_t l = 0; l < Y.size(); ++l) P[i][j] += X[i][l] * Y[l][j];
        }
    }
    return P;
}

RC_GTEST_PROP(Attention, ATTN_6_both_orders_are_equal_over_the_rationals, ()) {
    const RationalMatrix W_v = any_rationals(2, 4);
    const RationalMatrix a = any_rationals(4, 3);
    const RationalMatrix S_transposed = any_rationals(3, 3);
    RC_ASSERT(product(W_v, product(a, S_transposed)) == product(product(W_v, a), S_transposed));
}

RC_GTEST_PROP(Attention, ATTN_6_rounding_in_between_costs_at_most_half_a_row_norm, ()) {
    const RationalMatrix W_v = any_rationals(2, 4);
    RationalMatrix a_s = any_rationals(4, 1);
    const RationalMatrix exact = product(W_v, a_s);
    for (auto& row : a_s) {  // round half up
        const Rational shifted = row[0] + Rational(1, 2);
        Integer whole = numerator(shifted) / denominator(shifted);
        if (Rational(whole) > shifted) --whole;
        row[0] = whole;
    }
    const RationalMatrix rounded = product(W_v, a_s);
    for (std::size_t i = 0; i < 2; ++i) {
        Rational norm = 0;
        for (const Rational& entry : W_v[i]) norm += abs(entry);
        RC_ASSERT(abs(exact[i][0] - rounded[i][0]) <= norm / 2);
    }
}

TEST(Attention, ATTN_7_the_cost_of_both_orders) {
    // Llama-2-7B, 32 heads of 128 on d = 4096, at 4096 tokens.
    const AttentionCost figure = figure_cost(4096, 4096, 128, 32);
    EXPECT_EQ(figure.elements_sent, 139264);
    EXPECT_EQ(figure.charlies_scores, 16777216);
    EXPECT_EQ(figure.charlies_weighted, 536870912);
    const AttentionCost one_round = one_round_cost(4096, 4096, 128, 32);
    EXPECT_EQ(one_round.elements_sent, 4096);
    EXPECT_EQ(one_round.charlies_scores, 16777216);
    EXPECT_EQ(one_round.charlies_weighted, 16777216);
}

}  // namespace
}  // namespace slip::reference
