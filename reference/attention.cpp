#include "reference/attention.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/encoding.hpp"
#include "reference/error.hpp"
#include "reference/linear.hpp"

namespace slip::reference {

namespace {

/// `function` of the parts of each weight, in the order q, k, v of each head.
template <class Function, class T>
auto map_weights(const PerWeight<T>& parts, Function function) {
    PerWeight<decltype(function(parts.q))> result{function(parts.q), function(parts.k), {}};
    for (const T& v : parts.v) result.v.push_back(function(v));
    return result;
}

/// Rows first, ..., first + count - 1.
Matrix rows_of(const Matrix& X, std::size_t first, std::size_t count) {
    Matrix part(count, X.cols());
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < X.cols(); ++j) part(i, j) = X(first + i, j);
    }
    return part;
}

/// a^C + 2^t a^D.
Matrix joined(const Matrix& charlies, const Matrix& davids) {
    return charlies + (Integer(1) << fraction_bits) * davids;
}

/// W_C a = A (B a).
Matrix charlies_part(const Factors& weight, const Matrix& a) { return weight.A * (weight.B * a); }

/// P(Q_h, K_h) of every head h: Q and K have H blocks of d_h rows.
std::vector<Matrix> softmax_of_heads(const MidtermSoftmax& softmax, const Matrix& Q,
                                     const Matrix& K, std::size_t heads) {
    const std::size_t d_h = Q.rows() / heads;
    std::vector<Matrix> P;
    for (std::size_t h = 0; h < heads; ++h) {
        P.push_back(softmax(rows_of(Q, h * d_h, d_h), rows_of(K, h * d_h, d_h)));
    }
    return P;
}

std::string shape(const Matrix& X) {
    return std::to_string(X.rows()) + " x " + std::to_string(X.cols());
}

}  // namespace

MidtermSoftmax fixed_point_softmax(double score_scale, unsigned f, Visibility visibility) {
    require(f <= 30, "a softmax weight has at most 30 bits");
    require(std::isfinite(score_scale), "the scale of the scores is finite");
    return [=](const Matrix& Q, const Matrix& K) {  // ATTN-2
        const Matrix scores = Q.transpose() * K;
        const double factor = score_scale / std::sqrt(static_cast<double>(Q.rows()));
        Matrix P(scores.rows(), scores.cols());
        for (std::size_t i = 0; i < scores.rows(); ++i) {
            const std::size_t seen = visibility == Visibility::causal ? i + 1 : scores.cols();
            std::vector<double> row;
            for (std::size_t j = 0; j < seen; ++j) {
                row.push_back(factor * scores(i, j).convert_to<double>());
            }
            const double largest = *std::max_element(row.begin(), row.end());
            double sum = 0;
            for (double& score : row) sum += score = std::exp(score - largest);
            for (std::size_t j = 0; j < seen; ++j) {
                P(i, j) = round_half_even(std::ldexp(row[j] / sum, static_cast<int>(f)));
            }
        }
        return P;
    };
}

SplitAttention split(const AttentionLayer& layer, const Integer& L) {  // DECO-1, ENC-3
    require(!layer.v.empty(), "an attention layer has at least one head");
    const std::size_t rows = layer.v.size() * layer.v.front().W_D.rows();
    const std::size_t d = layer.q.W_D.cols();
    require(layer.q.W_D.rows() == rows && layer.k.W_D.rows() == rows && layer.k.W_D.cols() == d,
            "W_q and W_k are (H d_h) x d");
    for (const IntegerModel& v : layer.v) {
        require(v.W_D.rows() * layer.v.size() == rows && v.W_D.cols() == d, "W_v is d_h x d");
    }
    const auto norm = [&](const IntegerModel& weight) {
        require_valid(weight);
        const std::int32_t B_q = activation_norm({weight.W_D}, L);
        require(B_q >= 1, "the modulus holds the products of David");
        return B_q;
    };
    const auto factors = [](const IntegerModel& weight) { return Factors{weight.A, weight.B}; };
    const auto davids = [](const IntegerModel& weight) { return weight.W_D; };
    return {{map_weights(layer, factors), map_weights(layer, norm)}, map_weights(layer, davids)};
}

AttentionSecrets prepare_attention(const ParameterSet& set, const Key& key, const Key& seed,
                                   const DavidsAttention& weights,
                                   std::size_t tokens) {  // ATTN-3
    MaskSequence sequence(set.planes, key);
    const auto masks = [&](const Matrix& W_D) {
        std::vector<OneTimeMask> drawn;
        for (std::size_t j = 0; j < tokens; ++j) drawn.push_back(sequence.draw(W_D));
        return drawn;
    };
    const auto check = [&](const Matrix& W_D) {
        return draw_check_secret(set.planes, seed, W_D, set.combinations);
    };
    return {map_weights(weights, masks), map_weights(weights, check)};
}

AttentionCharlie::AttentionCharlie(ParameterSet set, CharliesAttention part,
                                   AttentionSecrets secrets, MidtermSoftmax softmax)
    : set_(std::move(set)),
      part_(std::move(part)),
      secrets_(std::move(secrets)),
      softmax_(std::move(softmax)) {
    const std::size_t heads = part_.weights.v.size();
    require(heads >= 1 && secrets_->masks.v.size() == heads && secrets_->checks.v.size() == heads,
            "the secrets are those of this layer");
}

void AttentionCharlie::advance(Step expected) {
    require(next_ == expected, "the steps of the figure are taken once each, in its order");
    require(secrets_.has_value(), "the run was given up");
    next_ = static_cast<Step>(static_cast<int>(expected) + 1);
}

InnerMessage AttentionCharlie::inner_masking(const Matrix& a) {  // ATTN-1
    advance(Step::inner_mask);
    a_ = a;
    inner_sent_.a_q = mask_columns(secrets_->masks.q, part_.norms.q, a);
    inner_sent_.a_k = mask_columns(secrets_->masks.k, part_.norms.k, a);
    a_q_C_ = charlies_part(part_.weights.q, a);
    a_k_C_ = charlies_part(part_.weights.k, a);
    return inner_sent_;
}

void AttentionCharlie::inner_unmasking(const InnerReply& reply) {  // ATTN-1
    advance(Step::inner_unmask);
    require_accepted({secrets_->checks.q, secrets_->checks.k}, {inner_sent_.a_q, inner_sent_.a_k},
                     {reply.a_q, reply.a_k});
    a_q_D_ = unmask_columns(secrets_->masks.q, reply.a_q);
    a_k_D_ = unmask_columns(secrets_->masks.k, reply.a_k);
}

void AttentionCharlie::compute_midterm_softmax_output() {  // ATTN-2
    advance(Step::midterm);
    const Matrix Q = joined(a_q_C_, a_q_D_);
    const Matrix K = joined(a_k_C_, a_k_D_);
    for (const Matrix& P : softmax_of_heads(softmax_, Q, K, part_.weights.v.size())) {
        a_s_.push_back(a_ * P.transpose());
    }
}

OuterMessage AttentionCharlie::outer_masking() {  // ATTN-1
    advance(Step::outer_mask);
    for (std::size_t h = 0; h < a_s_.size(); ++h) {
        outer_sent_.push_back(mask_columns(secrets_->masks.v[h], part_.norms.v[h], a_s_[h]));
        a_C_.push_back(charlies_part(part_.weights.v[h], a_s_[h]));
    }
    return outer_sent_;
}

void AttentionCharlie::outer_unmasking(const OuterReply& reply) {  // ATTN-1
    advance(Step::outer_unmask);
    require(reply.size() == outer_sent_.size(), "David answers for every head");
    require_accepted(secrets_->checks.v, outer_sent_, reply);
    for (std::size_t h = 0; h < reply.size(); ++h) {
        a_D_.push_back(unmask_columns(secrets_->masks.v[h], reply[h]));
    }
}

Matrix AttentionCharlie::compute_attention_head_output() {  // ATTN-1
    advance(Step::output);
    std::vector<Matrix> heads;
    for (std::size_t h = 0; h < a_D_.size(); ++h) heads.push_back(joined(a_C_[h], a_D_[h]));
    return stack(heads);
}

Matrix AttentionCharlie::mask_columns(std::vector<OneTimeMask>& masks, std::int32_t B_q,
                                      const Matrix& a) {  // MASK-1, ATTN-3
    require(masks.size() == a.cols(), "there is a mask for each token");
    std::vector<Vector> columns;
    for (std::size_t j = 0; j < a.cols(); ++j) {
        const Vector q = a.column(j);
        Integer square = 0;
        for (const Integer& entry : q) square += entry * entry;
        require(square <= Integer(B_q) * B_q, "the 2-norm of an input is at most B_q");
        columns.push_back(masks[j].mask(set_.ring(), q));
    }
    return Matrix::from_columns(a.rows(), columns);
}

/// INTEG-3, INTEG-5, INTEG-6. One verdict on all replies of a step, before anything is unmasked.
void AttentionCharlie::require_accepted(const std::vector<CheckSecret>& secrets,
                                        const std::vector<Matrix>& sent,
                                        const std::vector<Matrix>& received) {
    bool accepted = true;
    for (std::size_t i = 0; i < secrets.size(); ++i) {
        const bool right = accepts(set_.planes, secrets[i], sent[i], received[i]);
        accepted = accepted && right;
    }
    if (accepted) return;
    secrets_.reset();
    throw IntegrityError("a reply did not pass the integrity check");
}

Matrix AttentionCharlie::unmask_columns(std::vector<OneTimeMask>& masks,
                                        const Matrix& reply) {  // MASK-4
    std::vector<Vector> columns;
    for (std::size_t j = 0; j < reply.cols(); ++j) {
        columns.push_back(masks[j].unmask(set_.ring(), reply.column(j)));
    }
    return Matrix::from_columns(reply.rows(), columns);
}

AttentionDavid::AttentionDavid(Integer L, DavidsAttention weights)
    : ring_(std::move(L)), weights_(std::move(weights)) {}

InnerReply AttentionDavid::local_compute(const InnerMessage& message) {  // ATTN-1
    view_.insert(view_.end(), {message.a_q, message.a_k});
    return {davids_product(ring_, weights_.q, message.a_q),
            davids_product(ring_, weights_.k, message.a_k)};
}

OuterReply AttentionDavid::local_compute(const OuterMessage& message) {  // ATTN-1
    require(message.size() == weights_.v.size(), "Charlie asks for every head");
    OuterReply reply;
    for (std::size_t h = 0; h < message.size(); ++h) {
        view_.push_back(message[h]);
        reply.push_back(davids_product(ring_, weights_.v[h], message[h]));
    }
    return reply;
}

void FigureTranscript::to_david(const std::string& message) {
    lines_.push_back(std::string(20, ' ') + "-- " + message + " -->");
}

void FigureTranscript::david(const std::string& step) {
    lines_.push_back(std::string(60, ' ') + step);
}

void FigureTranscript::to_charlie(const std::string& message) {
    lines_.push_back(std::string(20, ' ') + "<-- " + message + " --");
}

std::string FigureTranscript::print() const {
    std::string text = "Charlie" + std::string(53, ' ') + "David\n";
    for (const std::string& line : lines_) text += line + "\n";
    return text;
}

Matrix run_figure(AttentionCharlie& charlie, AttentionDavid& david, const Matrix& a,
                  FigureTranscript& transcript) {  // ATTN-1
    const InnerMessage inner = charlie.inner_masking(a);
    transcript.charlie("Inner Masking");
    transcript.to_david("a~q (" + shape(inner.a_q) + "), a~k (" + shape(inner.a_k) + ")");

    const InnerReply inner_reply = david.local_compute(inner);
    transcript.david("David's Local Compute");
    transcript.to_charlie("a~q^D (" + shape(inner_reply.a_q) + "), a~k^D (" +
                          shape(inner_reply.a_k) + ")");

    charlie.inner_unmasking(inner_reply);
    transcript.charlie("Inner Unmasking");
    charlie.compute_midterm_softmax_output();
    transcript.charlie("Compute Midterm Softmax Output");

    const OuterMessage outer = charlie.outer_masking();
    transcript.charlie("Outer Masking");
    for (const Matrix& a_s : outer) transcript.to_david("a~s (" + shape(a_s) + ")");

    const OuterReply outer_reply = david.local_compute(outer);
    transcript.david("David's Local Compute");
    for (const Matrix& a_D : outer_reply) transcript.to_charlie("a~^D (" + shape(a_D) + ")");

    charlie.outer_unmasking(outer_reply);
    transcript.charlie("Outer Unmasking");
    transcript.charlie("Compute Attention Head Output");
    return charlie.compute_attention_head_output();
}

Matrix plain_attention(const AttentionLayer& layer, const MidtermSoftmax& softmax,
                       const Matrix& a) {  // ATTN-2
    const Matrix Q = integer_weights(layer.q) * a;
    const Matrix K = integer_weights(layer.k) * a;
    const std::vector<Matrix> P = softmax_of_heads(softmax, Q, K, layer.v.size());
    std::vector<Matrix> heads;
    for (std::size_t h = 0; h < layer.v.size(); ++h) {
        heads.push_back(integer_weights(layer.v[h]) * (a * P[h].transpose()));
    }
    return stack(heads);
}

Matrix one_round_attention(const Matrix& products, std::size_t heads,
                           const MidtermSoftmax& softmax) {  // ATTN-5
    require(heads >= 1 && products.rows() % (3 * heads) == 0, "Q, K and V have H d_h rows each");
    const std::size_t rows = products.rows() / 3;
    const std::size_t d_h = rows / heads;
    const std::vector<Matrix> P =
        softmax_of_heads(softmax, rows_of(products, 0, rows), rows_of(products, rows, rows), heads);
    std::vector<Matrix> outputs;
    for (std::size_t h = 0; h < heads; ++h) {
        const Matrix V = rows_of(products, 2 * rows + h * d_h, d_h);
        outputs.push_back(V * P[h].transpose());
    }
    return stack(outputs);
}

std::vector<IntegerModel> one_round_group(const AttentionLayer& layer) {  // ATTN-5
    std::vector<IntegerModel> members = {layer.q, layer.k};
    members.insert(members.end(), layer.v.begin(), layer.v.end());
    return members;
}

AttentionCost figure_cost(std::size_t n, std::size_t d, std::size_t d_h, std::size_t heads) {
    return {Integer(2 + heads) * d, Integer(n) * heads * d_h, Integer(n) * heads * d};  // ATTN-7
}

AttentionCost one_round_cost(std::size_t n, std::size_t d, std::size_t d_h, std::size_t heads) {
    return {d, Integer(n) * heads * d_h, Integer(n) * heads * d_h};  // ATTN-7
}

}  // namespace slip::reference
