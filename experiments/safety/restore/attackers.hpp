// The attackers: which numbers each of them trains, in one form for all families and strategies.
#pragma once

#include "experiments/safety/restore/share_folder.hpp"
#include "experiments/training/model.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace safety {

/// One matrix as an attacker sees it: W = gain * (base + the product of the factors). What requires
/// a gradient is trained.
struct Patch {
    torch::Tensor base;                  // m x n
    std::vector<torch::Tensor> factors;  // their product is m x n; none: W is the base
    torch::Tensor gain = {};             // m x 1, or undefined: 1

    [[nodiscard]] torch::Tensor value() const;
    [[nodiscard]] std::vector<torch::Tensor> trained() const;
};

/// Every entry: m n numbers.
Patch train_all(const torch::Tensor& base);
/// LoRA: k (m + n) numbers. The first factor begins at zero, so that W begins as the base.
Patch train_low_rank(const torch::Tensor& base, int64_t k);
/// What the null spaces of W_D leave open (DEF-8): W_C = U_perp M V_perp^T, k (|m - n| + k)
/// numbers.
Patch train_core(const torch::Tensor& base, int64_t k);
/// The columns of which W_D has none: k m numbers.
Patch train_zero_columns(const torch::Tensor& base);

/// The last m - r columns of U and the last n - r rows of V^T in the singular value decomposition
/// of an m x n matrix: where its rank is r, its null spaces. float32, computed in float64.
std::pair<torch::Tensor, torch::Tensor> null_spaces(const torch::Tensor& matrix, int64_t r);

/// `random-start` knows no residual: every matrix at random, every entry trained. `full` trains
/// every entry of the split matrices, `lora` k (m + n) numbers of each, `core` the numbers that the
/// strategy leaves open in each. Whoever lacks embeddings, norms and row scales trains those too.
enum class Attacker { random_start, lora, full, core };
/// Throws std::invalid_argument for another name.
Attacker attacker_named(const std::string& name);
const char* name_of(Attacker attacker);

/// A model under attack: each forward() of `model()` after apply() uses the values of the patches.
class Attack {
public:
    /// Takes the share that was loaded from a folder with this description. Random numbers come
    /// from libtorch's generator.
    Attack(std::unique_ptr<training::Model> share, const ShareDescription& description,
           Attacker attacker);

    /// Puts the patches' values into the model.
    void apply();
    [[nodiscard]] const training::Model& model() const { return *model_; }
    [[nodiscard]] const std::vector<torch::Tensor>& trained() const { return trained_; }
    [[nodiscard]] int64_t parameters_trained() const;

private:
    void patch(const std::string& name, const torch::Tensor& tensor,
               const ShareDescription& description, Attacker attacker,
               const training::Model& random);

    std::unique_ptr<training::Model> model_;
    std::vector<std::pair<std::string, Patch>> patches_;
    std::vector<torch::Tensor> trained_;
};

}  // namespace safety
