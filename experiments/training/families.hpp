// The three families behind Model.
#pragma once

#include "model.hpp"

namespace training {

/// Dropout of this probability.
torch::Tensor drop(const torch::Tensor& x, double dropout);

class Llama : public Model {
public:
    explicit Llama(const ModelConfig& config);

private:
    [[nodiscard]] torch::Tensor embed(const torch::Tensor& ids) const override;
    [[nodiscard]] torch::Tensor block(int64_t index, const torch::Tensor& x,
                                      double dropout) const override;
    [[nodiscard]] torch::Tensor last_norm(const torch::Tensor& x) const override;
    [[nodiscard]] std::string head_module() const override;
};

class Gpt2 : public Model {
public:
    explicit Gpt2(const ModelConfig& config);

private:
    [[nodiscard]] torch::Tensor embed(const torch::Tensor& ids) const override;
    [[nodiscard]] torch::Tensor block(int64_t index, const torch::Tensor& x,
                                      double dropout) const override;
    [[nodiscard]] torch::Tensor last_norm(const torch::Tensor& x) const override;
    [[nodiscard]] std::string head_module() const override;
    [[nodiscard]] bool stored_transposed(const std::string& name) const override;
};

class Phi : public Model {
public:
    explicit Phi(const ModelConfig& config);

private:
    [[nodiscard]] torch::Tensor embed(const torch::Tensor& ids) const override;
    [[nodiscard]] torch::Tensor block(int64_t index, const torch::Tensor& x,
                                      double dropout) const override;
    [[nodiscard]] torch::Tensor last_norm(const torch::Tensor& x) const override;
    [[nodiscard]] std::string head_module() const override;
};

}  // namespace training
