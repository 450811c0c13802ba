// The attackers: which numbers each of them trains, in one form for all families and strategies.
#pragma once

#include "experiments/safety/restore/share_folder.hpp"
#include "experiments/training/model.hpp"

#include <map>
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

/// Orthonormal columns: of the left span m x k, of the right one n x k.
struct Spans {
    torch::Tensor left;
    torch::Tensor right;
};
using SpansByTensor = std::map<std::string, Spans>;

/// Every entry: m n numbers.
Patch train_all(const torch::Tensor& base);
/// LoRA: k (m + n) numbers. The first factor begins at zero, so that W begins as the base.
Patch train_low_rank(const torch::Tensor& base, int64_t k);
/// What the null spaces of W_D leave open (DEF-8): W_C = U_perp M V_perp^T, k (|m - n| + k)
/// numbers.
Patch train_core(const torch::Tensor& base, int64_t k);
/// A core within given spans: W_C = U M V^T, k^2 numbers.
Patch train_core_within(const torch::Tensor& base, const Spans& spans);
/// The columns of which W_D has none: k m numbers.
Patch train_zero_columns(const torch::Tensor& base);

/// The last m - r columns of U and the last n - r rows of V^T in the singular value decomposition
/// of an m x n matrix: where its rank is r, its null spaces. float32, computed in float64.
std::pair<torch::Tensor, torch::Tensor> null_spaces(const torch::Tensor& matrix, int64_t r);

/// `random-start` knows no residual: every matrix at random, every entry trained. `full` trains
/// every entry of the split matrices, `lora` k (m + n) numbers of each, `core` the numbers that the
/// strategy leaves open in each. The others train a core within spans that they have searched for:
/// `core_gradient` in the first gradient at the share, `core_movement` in what a first fine-tuning
/// of every entry has moved, `core_movement_wide` in the 4 k singular pairs that it moved most;
/// `core_told` has been told them. Whoever lacks embeddings, norms and row scales trains those too.
enum class Attacker {
    random_start,
    lora,
    full,
    core,
    core_gradient,
    core_movement,
    core_movement_wide,
    core_told
};
/// Throws std::invalid_argument for another name.
Attacker attacker_named(const std::string& name);
const char* name_of(Attacker attacker);
/// Whether the attacker trains within spans that are given to Attack.
bool needs_spans(Attacker attacker);

/// A model under attack: each forward() of `model()` after apply() uses the values of the patches.
class Attack {
public:
    /// Takes the share that was loaded from a folder with this description. Random numbers come
    /// from libtorch's generator. `spans`: of every matrix of which Charlie keeps a part, for an
    /// attacker who needs them.
    Attack(std::unique_ptr<training::Model> share, const ShareDescription& description,
           Attacker attacker, SpansByTensor spans = {});

    /// Puts the patches' values into the model.
    void apply();
    [[nodiscard]] const training::Model& model() const { return *model_; }
    [[nodiscard]] const std::vector<torch::Tensor>& trained() const { return trained_; }
    /// Patches of the offloaded matrices, by tensor.
    [[nodiscard]] const std::vector<std::pair<std::string, Patch>>& patches() const {
        return patches_;
    }
    [[nodiscard]] int64_t parameters_trained() const;

private:
    void patch(const std::string& name, const torch::Tensor& tensor,
               const ShareDescription& description, Attacker attacker,
               const training::Model& random);
    Patch patch_of(const std::string& name, const torch::Tensor& base,
                   const ShareDescription& description, Attacker attacker) const;

    SpansByTensor spans_;
    std::unique_ptr<training::Model> model_;
    std::vector<std::pair<std::string, Patch>> patches_;
    std::vector<torch::Tensor> trained_;
};

}  // namespace safety
