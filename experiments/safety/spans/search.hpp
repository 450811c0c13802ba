// Attackers who look for hidden spans: what a change of the model that lowers his loss shows of
// them, in the singular basis of W_D (E-33).
#pragma once

#include "experiments/safety/restore/attackers.hpp"
#include "experiments/safety/restore/lessons.hpp"

#include <functional>
#include <map>
#include <string>

namespace safety {

/// A change per tensor, of the tensor's shape.
using Changes = std::map<std::string, torch::Tensor>;

/// The k left and the k right singular directions of W_D, m x n, in which the change has the most
/// energy.
Spans spans_of(const torch::Tensor& base, const torch::Tensor& change, int64_t k);
/// The 4 k pairs of singular directions of W_D, fewer if it has fewer, in which the change has the
/// most energy on both sides together: a random core in the hidden spans keeps its pairs.
Spans pairs_of(const torch::Tensor& base, const torch::Tensor& change, int64_t k);
/// What `choose` finds in every matrix that Charlie keeps a part of.
SpansByTensor directions_of(
    const training::Model& share, const ShareDescription& description, const Changes& changes,
    const std::function<Spans(const torch::Tensor&, const torch::Tensor&, int64_t)>& choose);

/// The gradient of the loss over `rows` windows at the share, for every entry of W_D.
Changes gradient_at(std::unique_ptr<training::Model> share, const ShareDescription& description,
                    const Lessons& lessons, int64_t rows);
/// How far `train` moves every entry of W_D.
Changes movement_of(std::unique_ptr<training::Model> share, const ShareDescription& description,
                    const std::function<void(Attack&)>& train);
/// Those of Charlie's part, from the model itself: for an attacker who is told.
SpansByTensor hidden_spans(const training::Model& share, const ShareDescription& description,
                           const training::Model& model);

/// The mean part of the hidden left and right spans that lies in the found ones: 1 if they are the
/// same; k / m and k / n on average if they are random.
double part_found(const SpansByTensor& found, const SpansByTensor& hidden);

}  // namespace safety
