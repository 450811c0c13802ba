#include "experiments/safety/restore/attackers.hpp"

#include <array>
#include <cmath>
#include <stdexcept>

namespace safety {

using torch::Tensor;

namespace {

struct Named {
    Attacker attacker;
    const char* name;
};

constexpr std::array attackers = {Named{Attacker::random_start, "random-start"},
                                  Named{Attacker::lora, "lora"},
                                  Named{Attacker::full, "full"},
                                  Named{Attacker::core, "core"},
                                  Named{Attacker::core_gradient, "core-gradient"},
                                  Named{Attacker::core_movement, "core-movement"},
                                  Named{Attacker::core_movement_wide, "core-movement-wide"},
                                  Named{Attacker::core_told, "core-told"}};

/// A copy that is trained.
Tensor trainable(const Tensor& values) { return values.detach().clone().requires_grad_(true); }

bool is_zero(const Tensor& matrix) { return matrix.abs().max().item<float>() == 0.0F; }

Patch core_of(const Tensor& base, int64_t rank, const std::string& strategy) {
    if (strategy == "norm" || strategy == "random") return train_zero_columns(base);
    return strategy == "fms" ? train_all(base) : train_core(base, rank);
}

}  // namespace

Tensor Patch::value() const {
    Tensor sum = base;
    if (!factors.empty()) {
        Tensor product = factors.front();
        for (size_t i = 1; i < factors.size(); ++i) product = product.mm(factors[i]);
        sum = base + product;
    }
    return gain.defined() ? gain * sum : sum;
}

std::vector<Tensor> Patch::trained() const {
    std::vector<Tensor> tensors;
    for (const Tensor& factor : factors) {
        if (factor.requires_grad()) tensors.push_back(factor);
    }
    if (gain.defined()) tensors.push_back(gain);
    return tensors;
}

Patch train_all(const Tensor& base) { return {base, {trainable(torch::zeros_like(base))}}; }

Patch train_low_rank(const Tensor& base, int64_t k) {
    const int64_t m = base.size(0), n = base.size(1);
    return {base,
            {trainable(torch::zeros({m, k})),
             trainable(torch::randn({k, n}) / std::sqrt(static_cast<double>(n)))}};
}

std::pair<Tensor, Tensor> null_spaces(const Tensor& matrix, int64_t r) {
    const auto [u, s, vt] = torch::linalg_svd(matrix.to(torch::kDouble), /*full_matrices=*/true);
    return {u.slice(1, r).to(torch::kFloat).contiguous(),
            vt.slice(0, r).to(torch::kFloat).contiguous()};
}

Patch train_core(const Tensor& base, int64_t k) {
    const auto [left, right] = null_spaces(base, std::min(base.size(0), base.size(1)) - k);
    return {base, {left, trainable(torch::zeros({left.size(1), right.size(0)})), right}};
}

Patch train_core_within(const Tensor& base, const Spans& spans) {
    const int64_t k = spans.left.size(1);
    return {base, {spans.left, trainable(torch::zeros({k, k})), spans.right.t().contiguous()}};
}

Patch train_zero_columns(const Tensor& base) {
    const Tensor columns = (base.abs().amax(0) == 0).nonzero().squeeze(1);
    const Tensor chosen = torch::eye(base.size(1)).index_select(0, columns);
    return {base, {trainable(torch::zeros({base.size(0), columns.size(0)})), chosen}};
}

Attacker attacker_named(const std::string& name) {
    for (const Named& named : attackers) {
        if (name == named.name) return named.attacker;
    }
    std::string expected;
    for (const Named& named : attackers) {
        expected += (expected.empty() ? "" : ", ") + std::string(named.name);
    }
    throw std::invalid_argument("expected one of " + expected + ", got '" + name + "'");
}

const char* name_of(Attacker attacker) {
    for (const Named& named : attackers) {
        if (attacker == named.attacker) return named.name;
    }
    throw std::invalid_argument("no such attacker");
}

bool needs_spans(Attacker attacker) {
    return attacker == Attacker::core_gradient || attacker == Attacker::core_movement ||
           attacker == Attacker::core_movement_wide || attacker == Attacker::core_told;
}

Attack::Attack(std::unique_ptr<training::Model> share, const ShareDescription& description,
               Attacker attacker, SpansByTensor spans)
    : spans_(std::move(spans)), model_(std::move(share)) {
    const auto random = training::Model::create(model_->config());
    const training::NamedTensors parameters = model_->parameters();
    for (const auto& [name, tensor] : parameters) {
        patch(name, tensor.detach(), description, attacker, *random);
    }
    for (const auto& [name, patch] : patches_) {
        for (const Tensor& tensor : patch.trained()) trained_.push_back(tensor);
    }
}

void Attack::patch(const std::string& name, const Tensor& tensor,
                   const ShareDescription& description, Attacker attacker,
                   const training::Model& random) {
    const bool offloaded = description.ranks.count(name) != 0;
    if (is_given(description, model_->config(), name)) {
        model_->replace(name, tensor);
    } else if (!offloaded) {  // embeddings, norms and biases that nobody gave him
        model_->replace(name, trainable(tensor));
        trained_.push_back(model_->parameter(name));
    } else {
        const int64_t rank = description.rank_of(name);
        // Of a matrix that Charlie keeps whole the share has zeros: as good as no start.
        const bool afresh = attacker == Attacker::random_start || is_zero(tensor);
        const Tensor base = afresh ? random.parameter(name).detach() : tensor;
        Patch patch{base, {}};
        if (afresh || rank > 0) patch = patch_of(name, base, description, attacker);
        if (!description.known) patch.gain = torch::ones({base.size(0), 1}).requires_grad_(true);
        patches_.emplace_back(name, patch);
    }
}

Patch Attack::patch_of(const std::string& name, const Tensor& base,
                       const ShareDescription& description, Attacker attacker) const {
    const int64_t rank = description.rank_of(name);
    switch (attacker) {
        case Attacker::random_start:
        case Attacker::full:
            return train_all(base);
        case Attacker::lora:
            return train_low_rank(base, rank);
        case Attacker::core:
            return core_of(base, rank, description.strategy);
        case Attacker::core_gradient:
        case Attacker::core_movement:
        case Attacker::core_movement_wide:
        case Attacker::core_told:
            return train_core_within(base, spans_.at(name));
    }
    throw std::invalid_argument("no such attacker");
}

void Attack::apply() {
    for (const auto& [name, patch] : patches_) model_->replace(name, patch.value());
}

int64_t Attack::parameters_trained() const {
    int64_t count = 0;
    for (const Tensor& tensor : trained_) count += tensor.numel();
    return count;
}

}  // namespace safety
