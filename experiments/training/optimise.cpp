#include "optimise.hpp"

#include <torch/nn/utils/clip_grad.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

namespace training {

using torch::Tensor;

torch::optim::AdamW make_optimizer(const std::vector<Tensor>& tensors, double weight_decay) {
    std::vector<Tensor> matrices, vectors;
    for (const Tensor& tensor : tensors) (tensor.dim() > 1 ? matrices : vectors).push_back(tensor);
    const auto group = [](const std::vector<Tensor>& members, double decay) {
        auto options = torch::optim::AdamWOptions().betas({0.9, 0.98}).weight_decay(decay);
        return torch::optim::OptimizerParamGroup(
            members, std::make_unique<torch::optim::AdamWOptions>(options));
    };
    return torch::optim::AdamW({group(matrices, weight_decay), group(vectors, 0.0)});
}

double learning_rate(int64_t step, int64_t steps, int64_t warmup, double peak) {
    if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
    const double progress = static_cast<double>(step - warmup) /
                            static_cast<double>(std::max<int64_t>(1, steps - warmup));
    return peak * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets) {
    return torch::cross_entropy_loss(logits.flatten(0, 1), targets.reshape({-1}));
}

double learn(torch::optim::Optimizer& optimizer, double rate, const std::function<Tensor()>& loss) {
    std::vector<Tensor> tensors;
    for (auto& group : optimizer.param_groups()) {
        group.options().set_lr(rate);
        tensors.insert(tensors.end(), group.params().begin(), group.params().end());
    }
    optimizer.zero_grad();
    const Tensor value = loss();
    value.backward();
    torch::nn::utils::clip_grad_norm_(tensors, 1.0);
    optimizer.step();
    return value.item<double>();
}

}  // namespace training
