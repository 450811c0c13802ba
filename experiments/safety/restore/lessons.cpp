#include "experiments/safety/restore/lessons.hpp"

#include "experiments/training/optimise.hpp"
#include "experiments/training/text.hpp"

#include <torch/utils.h>

#include <random>
#include <stdexcept>

namespace safety {

using torch::Tensor;

Lessons Lessons::from_text(const std::vector<int64_t>& ids, int64_t length, Begin begin) {
    const auto windows = static_cast<int64_t>(ids.size()) / length;
    if (windows == 0) throw std::runtime_error("the public text is shorter than one window");
    const Tensor text =
        torch::tensor(ids, torch::kLong).slice(0, 0, windows * length).view({windows, length});
    const Tensor before_last = text.slice(1, 0, -1);
    if (begin == Begin::nothing) return {before_last, text.slice(1, 1)};
    const Tensor bos = torch::full({windows, 1}, training::kBos, torch::kLong);
    return {torch::cat({bos, before_last}, 1), text};
}

Lessons Lessons::answered_by(const training::Model& model, int64_t queries, Answer answer) const {
    if (queries > inputs.size(0)) {
        throw std::runtime_error("the public text has " + std::to_string(inputs.size(0)) +
                                 " windows, which is fewer than the queries");
    }
    torch::NoGradGuard no_grad;
    std::vector<Tensor> labels;
    for (int64_t row = 0; row < queries; ++row) {
        const Tensor logits = model.forward(inputs.slice(0, row, row + 1));
        labels.push_back(answer == Answer::distribution ? logits.softmax(-1) : logits.argmax(-1));
    }
    return {inputs.slice(0, 0, queries), torch::cat(labels, 0)};
}

Lessons Lessons::batch(int64_t rows, uint64_t seed, int64_t step) const {
    std::seed_seq mixed{seed, static_cast<uint64_t>(step)};
    std::mt19937_64 random(mixed);
    std::uniform_int_distribution<int64_t> window(0, inputs.size(0) - 1);
    std::vector<int64_t> chosen;
    for (int64_t row = 0; row < rows; ++row) chosen.push_back(window(random));
    const Tensor index = torch::tensor(chosen, torch::kLong);
    return {inputs.index_select(0, index), targets.index_select(0, index)};
}

Tensor Lessons::loss(const Tensor& logits) const {
    if (targets.dim() == 2) return training::cross_entropy(logits, targets);
    return -(targets * logits.log_softmax(-1)).sum(-1).mean();
}

}  // namespace safety
