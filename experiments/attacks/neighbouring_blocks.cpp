// The matrix of the same type in a neighbouring block, which David holds whole if the plan leaves
// that block out, as a guess of what is hidden: its part between the exposed spans.
#include <algorithm>
#include <initializer_list>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/linear_algebra.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/split_matrix.hpp"

namespace slip::attacks {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

constexpr std::size_t k = 8;

std::string name_of(int block, const char* layer) {
    return "model.layers." + std::to_string(block) + "." + layer;
}

/// The distance of the best guess to Charlie's part over its norm, guesses being the same matrix of
/// `others`. The attacker is given the row scales and the best factor of each guess, so he is
/// stronger than he could be.
double guess(const Setting& setting, Splitter splitter, int block, const char* layer,
             std::initializer_list<int> others) {
    const SplitMatrix split = splitter(weights_of(setting, name_of(block, layer)), k);
    const MatrixXd R = split.davids_part();
    const MatrixXd hidden = split.W - R;
    const Index visible = std::min(R.rows(), R.cols()) - static_cast<Index>(k);
    const MatrixXd U = smallest_inputs(R.transpose(), R.rows() - visible);
    const MatrixXd V = smallest_inputs(R, R.cols() - visible);
    double best = 1;
    for (const int other : others) {
        const MatrixXd W = weights_of(setting, name_of(other, layer));
        const MatrixXd found = U * (U.transpose() * W * V) * V.transpose();
        best = std::min(best, distance_up_to_factor(found, hidden, hidden));
    }
    return best;
}

Outcome neighbouring_blocks(const Setting& setting, Splitter split) {
    static constexpr const char* layers[] = {
        "self_attn.q_proj", "self_attn.v_proj", "self_attn.k_proj", "self_attn.o_proj",
        "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj"};
    const int last_block = setting.full ? 4 : 1;
    const int types = setting.full ? 7 : 2;
    double sum = 0, best = 1;
    std::string best_name;
    for (int block = 1; block <= last_block; ++block) {
        for (int type = 0; type < types; ++type) {
            const double error = guess(setting, split, block, layers[type], {block - 1, block + 1});
            sum += error;
            if (error < best) best_name = name_of(block, layers[type]);
            best = std::min(best, error);
        }
    }
    const int matrices = last_block * types;
    return {sum / matrices, 0.5, static_cast<std::uint64_t>(matrices),
            "k = " + std::to_string(k) + "; nearest: " + best_name + ", " + figure(best) +
                "; the matrix itself as the guess would give " +
                figure(guess(setting, split, 1, layers[0], {1}))};
}

}  // namespace

Outcome neighbouring_blocks_product(const Setting& setting) {
    return neighbouring_blocks(setting, paper_split);
}
Outcome neighbouring_blocks_hidden(const Setting& setting) {
    return neighbouring_blocks(setting, hidden_split);
}

}  // namespace slip::attacks
