// What every program that trains has in common: AdamW, a schedule, one step.
#pragma once

#include <torch/optim/adamw.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace training {

/// AdamW over all of `tensors`; weight decay on matrices only, since shrinking a norm's scale has
/// no use.
torch::optim::AdamW make_optimizer(const std::vector<torch::Tensor>& tensors, double weight_decay);

/// Linear warm-up, then half a cosine down to zero at the last step.
double learning_rate(int64_t step, int64_t steps, int64_t warmup, double peak);

/// Mean of -ln p(target) over logits [batch, length, vocabulary] and targets [batch, length].
torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets);

/// One optimiser step at this learning rate, the gradient's norm clipped at 1; returns the loss
/// before it.
double learn(torch::optim::Optimizer& optimizer, double rate,
             const std::function<torch::Tensor()>& loss);

}  // namespace training
