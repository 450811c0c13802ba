#include "likelihood.hpp"

#include "text.hpp"

#include <torch/utils.h>

#include <algorithm>

namespace training {

double total_nll(const Model& model, const std::vector<int64_t>& ids, int64_t window,
                 int64_t stride) {
    torch::InferenceMode inference;
    const auto count = static_cast<int64_t>(ids.size());
    double total = 0;
    int64_t scored = 0;
    for (int64_t begin = 0; scored < count; begin += stride) {
        const int64_t end = std::min(begin + window, count);
        std::vector<int64_t> row{kBos};
        row.insert(row.end(), ids.begin() + begin, ids.begin() + end);
        const torch::Tensor tokens = torch::tensor(row, torch::kLong);
        const torch::Tensor logits =
            model.forward(tokens.slice(0, 0, end - begin).unsqueeze(0)).squeeze(0);
        const int64_t fresh =
            scored - begin;  // the window's tokens before this one were scored already
        total += torch::nll_loss(torch::log_softmax(logits.slice(0, fresh), -1),
                                 tokens.slice(0, 1 + fresh), {}, torch::Reduction::Sum)
                     .item<double>();
        scored = end;
    }
    return total;
}

}  // namespace training
