// The figure "Double Step Secure Inference Protocol For Attention Head" (the paper's
// `fig:attention`), step by step in its order and with its names, and the one-round order beside
// it. Tokens are columns: a is d x n, where the appendix has X = a^T.
//
//     Charlie                                              David
//     Inner Masking
//                       -- a~q, a~k -->
//                                                          David's Local Compute
//                       <-- a~q^D, a~k^D --
//     Inner Unmasking
//     Compute Midterm Softmax Output
//     Outer Masking
//                       -- a~s -->
//                                                          David's Local Compute
//                       <-- a~^D --
//     Outer Unmasking
//     Compute Attention Head Output
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reference/integer_model.hpp"
#include "reference/integrity.hpp"
#include "reference/masking.hpp"
#include "reference/parameters.hpp"

namespace slip::reference {

/// Something for each weight of an attention layer: W_q and W_k, with the rows of all heads one
/// below the other, and W_v of each head. One head is the figure.
template <class T>
struct PerWeight {
    T q;
    T k;
    std::vector<T> v;  ///< a head each
};

/// An attention layer: W_q and W_k are (H d_h) x d, each W_v is d_h x d, for H heads.
using AttentionLayer = PerWeight<IntegerModel>;

/// ATTN-2. The midterm softmax of one head: P(Q, K), an n x n matrix of integers, where
/// S = 2^-f P is softmax(Q^T K / sqrt(d_h)) rounded to f bits. Row i holds the weights of token i.
/// Everything that is not linear happens in here, in floats.
using MidtermSoftmax = std::function<Matrix(const Matrix& Q, const Matrix& K)>;

/// ATTN-4. Which tokens a token attends to.
enum class Visibility { all, causal };

/// ATTN-2. P(i, j) = round(2^f softmax_j(score_scale Q_i . K_j / sqrt(d_h))) in binary64, with
/// d_h = rows of Q, and P(i, j) = 0 for j > i if causal. `score_scale` carries the scales of the
/// quantised Q and K. Error: f > 30, a score_scale that is not finite.
MidtermSoftmax fixed_point_softmax(double score_scale, unsigned f, Visibility visibility);

/// W_C = A B of one weight.
struct Factors {
    Matrix A;  ///< m x k
    Matrix B;  ///< k x n
};

/// Theta_C of the layer: no W_D in it.
struct CharliesAttention {
    PerWeight<Factors> weights;
    PerWeight<std::int32_t> norms;  ///< B_q of each weight
};

/// Theta_D of the layer.
using DavidsAttention = PerWeight<Matrix>;

struct SplitAttention {
    CharliesAttention charlie;
    DavidsAttention david;
};

/// DECO-1, ENC-3. Splits a layer. Errors: shapes that do not fit, no head, a modulus L that holds
/// no product.
SplitAttention split(const AttentionLayer& layer, const Integer& L);

/// ATTN-3. What Charlie prepares for one run over n tokens: for each weight one mask per token,
/// with its cancellation; and the secret of the check.
struct AttentionSecrets {
    PerWeight<std::vector<OneTimeMask>> masks;
    PerWeight<CheckSecret> checks;
};

/// ATTN-3. Draws masks in the order q, k, v of head 1, v of head 2, ... from the session's key, and
/// the checks of all weights from one seed.
AttentionSecrets prepare_attention(const ParameterSet& set, const Key& key, const Key& seed,
                                   const DavidsAttention& weights, std::size_t tokens);

/// "a~_{i-1}": two masked copies of the input, d x n each.
struct InnerMessage {
    Matrix a_q;
    Matrix a_k;

    friend bool operator==(const InnerMessage&, const InnerMessage&) = default;
};

/// David's products with them, (H d_h) x n each.
using InnerReply = InnerMessage;

/// "a~_s": a masked d x n matrix a head. The reply has a d_h x n matrix a head.
using OuterMessage = std::vector<Matrix>;
using OuterReply = std::vector<Matrix>;

/// Charlie, online. He holds his factors, his secrets and what he received, and no W_D.
///
/// The steps of the figure are called once each, in its order. Errors: PreconditionError for
/// another order, for shapes, and for an input of a greater norm than B_q; IntegrityError for a
/// reply that is wrong, after which the secrets are gone (INTEG-6).
class AttentionCharlie {
public:
    AttentionCharlie(ParameterSet set, CharliesAttention part, AttentionSecrets secrets,
                     MidtermSoftmax softmax);

    /// ATTN-1. Inner Masking, for a in Z^(d x n):
    ///     a~q = a + r^q mod L,   a~k = a + r^k mod L,   a_q^C = W_q^C a,   a_k^C = W_k^C a
    InnerMessage inner_masking(const Matrix& a);

    /// ATTN-1. Inner Unmasking, after the check of both replies:
    ///     a_q^D = lift(a~q^D - c_q) = W_q^D a,   a_k^D = lift(a~k^D - c_k) = W_k^D a
    void inner_unmasking(const InnerReply& reply);

    /// ATTN-2. Compute Midterm Softmax Output:
    ///     Q = a_q^C + 2^t a_q^D,   K = a_k^C + 2^t a_k^D,   a_s = a P(Q, K)^T    for each head
    void compute_midterm_softmax_output();

    /// ATTN-1. Outer Masking:  a~s = a_s + r^v mod L,   a^C = W_v^C a_s    for each head
    OuterMessage outer_masking();

    /// ATTN-1. Outer Unmasking, after the check:  a^D = lift(a~^D - c_v) = W_v^D a_s
    void outer_unmasking(const OuterReply& reply);

    /// ATTN-1. Compute Attention Head Output:  a^C + 2^t a^D = W_v a_s, the heads one below the
    /// other, (H d_h) x n, in units of 2^-f.
    Matrix compute_attention_head_output();

    /// Whether the secrets are gone.
    bool wiped() const { return !secrets_.has_value(); }

private:
    enum class Step { inner_mask, inner_unmask, midterm, outer_mask, outer_unmask, output, done };

    void advance(Step expected);
    Matrix mask_columns(std::vector<OneTimeMask>& masks, std::int32_t B_q, const Matrix& a);
    void require_accepted(const std::vector<CheckSecret>& secrets, const std::vector<Matrix>& sent,
                          const std::vector<Matrix>& received);
    Matrix unmask_columns(std::vector<OneTimeMask>& masks, const Matrix& reply);

    ParameterSet set_;
    CharliesAttention part_;
    std::optional<AttentionSecrets> secrets_;
    MidtermSoftmax softmax_;
    Step next_ = Step::inner_mask;

    // What the steps leave for later ones, with the figure's names.
    Matrix a_, a_q_C_, a_k_C_, a_q_D_, a_k_D_;
    InnerMessage inner_sent_;
    std::vector<Matrix> a_s_, a_C_, a_D_;
    OuterMessage outer_sent_;
};

/// David. He holds his weights, and keeps what reaches him: his view.
class AttentionDavid {
public:
    AttentionDavid(Integer L, DavidsAttention weights);

    /// ATTN-1. David's Local Compute, the first:  W_q^D a~q mod L  and  W_k^D a~k mod L.
    InnerReply local_compute(const InnerMessage& message);

    /// ATTN-1. David's Local Compute, the second:  W_v^D a~s mod L  for each head.
    OuterReply local_compute(const OuterMessage& message);

    /// Every masked matrix that he received, in order.
    const std::vector<Matrix>& view() const { return view_; }

private:
    Ring ring_;
    DavidsAttention weights_;
    std::vector<Matrix> view_;
};

/// A run as the figure shows it: steps in the columns of the parties, messages between them.
class FigureTranscript {
public:
    void charlie(const std::string& step) { lines_.push_back(step); }
    void to_david(const std::string& message);
    void david(const std::string& step);
    void to_charlie(const std::string& message);

    /// The lines, one below the other.
    std::string print() const;

private:
    std::vector<std::string> lines_;
};

/// ATTN-1. The figure: both parties go through its steps. Returns the output of the layer.
Matrix run_figure(AttentionCharlie& charlie, AttentionDavid& david, const Matrix& a,
                  FigureTranscript& transcript);

/// ATTN-2. The same without a protocol, on the whole weights: W_v (a P(Q, K)^T) for each head.
Matrix plain_attention(const AttentionLayer& layer, const MidtermSoftmax& softmax, const Matrix& a);

/// ATTN-5. The usual order, in which one exchange gives Q, K and V: (W_v a) P(Q, K)^T.
/// `products` is [W_q; W_k; W_v of each head] a, stacked as LIN-3 does, with H heads of d_h rows.
///
/// ATTN-6: equal to the figure's order, as nothing is rounded between the two products.
/// Error: not 3 H d_h rows.
Matrix one_round_attention(const Matrix& products, std::size_t heads,
                           const MidtermSoftmax& softmax);

/// ATTN-5. The weights of a layer as one group, in the stacking order of one_round_attention.
std::vector<IntegerModel> one_round_group(const AttentionLayer& layer);

/// ATTN-7. What one token costs in one layer, at a sequence of n tokens all of which it sees.
struct AttentionCost {
    Integer elements_sent;      ///< residues that Charlie sends to reach the output of the heads
    Integer charlies_scores;    ///< products of Q^T K, all heads
    Integer charlies_weighted;  ///< products of a_s = a P^T, or of V P^T, all heads
};

/// ATTN-7. The figure: (2 + H) d residues, n H d_h products for the scores, n H d for a_s.
AttentionCost figure_cost(std::size_t n, std::size_t d, std::size_t d_h, std::size_t heads);

/// ATTN-7. One round: d residues, n H d_h products for the scores, n H d_h for V P^T.
AttentionCost one_round_cost(std::size_t n, std::size_t d, std::size_t d_h, std::size_t heads);

}  // namespace slip::reference
