#include "experiments/safety/spans/search.hpp"

#include <algorithm>

namespace safety {

using torch::Tensor;
using training::Model;

namespace {

/// The columns of `directions` with the most energy.
Tensor strongest(const Tensor& directions, const Tensor& energy, int64_t k) {
    const Tensor chosen = std::get<1>(energy.topk(k));
    return directions.index_select(1, chosen).to(torch::kFloat).contiguous();
}

/// The spans of the k strongest components.
Spans leading_spans(const Tensor& matrix, int64_t k) {
    const auto [u, s, vt] = torch::linalg_svd(matrix.to(torch::kDouble), /*full_matrices=*/false);
    return {u.slice(1, 0, k).to(torch::kFloat), vt.slice(0, 0, k).t().to(torch::kFloat)};
}

/// The part of `whole`'s span that lies in `found`'s; both have orthonormal columns.
double overlap(const Tensor& found, const Tensor& whole) {
    return found.t().mm(whole).square().sum().item<double>() / static_cast<double>(whole.size(1));
}

/// What an attacker who trains every entry has changed, or would.
Changes changes_of(const Attack& attack, const std::function<Tensor(const Tensor&)>& change) {
    Changes changes;
    for (const auto& [name, patch] : attack.patches()) {
        if (!patch.factors.empty()) changes[name] = change(patch.factors.front());
    }
    return changes;
}

}  // namespace

Spans spans_of(const Tensor& base, const Tensor& change, int64_t k) {
    const auto [u, s, vt] = torch::linalg_svd(base.to(torch::kDouble), /*full_matrices=*/true);
    const Tensor d = change.to(torch::kDouble);
    const Tensor v = vt.t();
    return {strongest(u, u.t().mm(d).square().sum(1), k), strongest(v, d.mm(v).square().sum(0), k)};
}

Spans pairs_of(const Tensor& base, const Tensor& change, int64_t k) {
    const auto [u, s, vt] = torch::linalg_svd(base.to(torch::kDouble), /*full_matrices=*/false);
    const Tensor d = change.to(torch::kDouble);
    const Tensor v = vt.t();
    const Tensor left = u.t().mm(d).square().sum(1);
    const Tensor right = d.mm(v).square().sum(0);
    const Tensor energy = left / left.sum() + right / right.sum();
    const int64_t count = std::min(4 * k, energy.size(0));
    return {strongest(u, energy, count), strongest(v, energy, count)};
}

SpansByTensor directions_of(
    const Model& share, const ShareDescription& description, const Changes& changes,
    const std::function<Spans(const Tensor&, const Tensor&, int64_t)>& choose) {
    SpansByTensor spans;
    for (const auto& [name, change] : changes) {
        const int64_t rank = description.rank_of(name);
        if (rank > 0) spans[name] = choose(share.parameter(name).detach(), change, rank);
    }
    return spans;
}

Changes gradient_at(std::unique_ptr<Model> share, const ShareDescription& description,
                    const Lessons& lessons, int64_t rows) {
    Attack attack(std::move(share), description, Attacker::full);
    const Lessons batch = lessons.batch(rows, /*seed=*/0, /*step=*/0);
    attack.apply();
    batch.loss(attack.model().forward(batch.inputs)).backward();
    return changes_of(attack, [](const Tensor& trained) { return trained.grad(); });
}

Changes movement_of(std::unique_ptr<Model> share, const ShareDescription& description,
                    const std::function<void(Attack&)>& train) {
    Attack attack(std::move(share), description, Attacker::full);
    train(attack);
    return changes_of(attack, [](const Tensor& trained) { return trained.detach(); });
}

SpansByTensor hidden_spans(const Model& share, const ShareDescription& description,
                           const Model& model) {
    SpansByTensor spans;
    for (const auto& [name, rank] : description.ranks) {
        if (rank == 0) continue;
        const Tensor part = model.parameter(name).detach() - share.parameter(name).detach();
        spans[name] = leading_spans(part, rank);
    }
    return spans;
}

double part_found(const SpansByTensor& found, const SpansByTensor& hidden) {
    double sum = 0;
    for (const auto& [name, spans] : found) {
        const Spans& whole = hidden.at(name);
        sum += overlap(spans.left, whole.left) + overlap(spans.right, whole.right);
    }
    return found.empty() ? 0.0 : sum / (2.0 * static_cast<double>(found.size()));
}

}  // namespace safety
