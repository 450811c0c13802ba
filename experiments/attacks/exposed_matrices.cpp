// What W_D gives away of a matrix by itself, with a layer oracle, with a second split, or with a
// public base: attacks that no rule of the protocol stops (E-9, E-33).
#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/linear_algebra.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/split_matrix.hpp"
#include "optimized/split/singular_components.hpp"

namespace slip::attacks {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr const char* tall = "model.layers.0.mlp.gate_proj";

MatrixXd random_matrix(Index rows, Index cols, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    return MatrixXd::NullaryExpr(rows, cols, [&] { return normal(random); });
}

/// 1 minus the mean squared cosine between the hidden span of the shorter side and the estimate.
double span_error(const MatrixXd& W, std::size_t k, Splitter split) {
    const bool rows_are_longer = W.rows() >= W.cols();
    const MatrixXd W_D = split(W, k).W_D;
    const auto rank = static_cast<Index>(k);
    const MatrixXd estimate = smallest_inputs(rows_are_longer ? W_D : W_D.transpose(), rank);
    const RowMajor weights = W.cast<float>();
    const auto top = splitting::top_singular_components(view_of(weights), k);
    using RowMajorDouble = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const MatrixXd hidden =
        rows_are_longer
            ? MatrixXd(Eigen::Map<const RowMajorDouble>(top.v.data(), rank, W.cols()).transpose())
            : MatrixXd(Eigen::Map<const RowMajorDouble>(top.u.data(), W.rows(), rank));
    return 1 - (estimate.transpose() * hidden).squaredNorm() / static_cast<double>(rank);
}

Outcome spans(const Setting& setting, Splitter split) {
    constexpr std::size_t k = 4;
    double sum = 0, worst = 0;
    std::uint64_t matrices = 0;
    for (int block = 0; block < (setting.full ? 6 : 1); ++block) {
        for (const char* layer :
             {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
              "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
            const std::string name = "model.layers." + std::to_string(block) + "." + layer;
            const double error = span_error(weights_of(setting, name), k, split);
            sum += error;
            worst = std::max(worst, error);
            ++matrices;
        }
    }
    return {sum / static_cast<double>(matrices), 0.2, matrices,
            "k = 4, worst of " + std::to_string(matrices) + " matrices: " + figure(worst)};
}

// ---- a layer oracle: row i of W is s W_D[i] + y V^T with k + 1 unknowns, so k + 1 inputs suffice

Outcome layer_oracle(const Setting& setting, Splitter splitter) {
    const Index k = 4;
    const SplitMatrix split = splitter(weights_of(setting, tall), static_cast<std::size_t>(k));
    std::mt19937_64 random(setting.seed);
    const MatrixXd inputs = random_matrix(split.W.cols(), k + 4, random);
    const MatrixXd outputs = split.W * inputs;

    const MatrixXd V = smallest_inputs(split.W_D, k);
    MatrixXd found(split.W.rows(), split.W.cols());
    MatrixXd equations(inputs.cols(), k + 1);
    equations.rightCols(k) = inputs.transpose() * V;
    for (Index i = 0; i < found.rows(); ++i) {
        equations.col(0) = (split.W_D.row(i) * inputs).transpose();
        const VectorXd solution = least_squares(equations, outputs.row(i).transpose());
        found.row(i) = solution(0) * split.W_D.row(i) + (V * solution.tail(k)).transpose();
    }
    return {(found - split.W).norm() / split.hidden_norm(), 0.1,
            static_cast<std::uint64_t>(inputs.cols()), "k = 4 of 192; row scales are found too"};
}

// ---- two splits with random components, of one matrix or of two fine-tunes of it: what one hides
// the other shows

constexpr Index hidden_components = 16;

SplitMatrix split_at_random(const MatrixXd& W, std::size_t rank) {
    std::random_device random;
    SelectionSeed seed;
    for (auto& byte : seed) byte = static_cast<std::uint8_t>(random());
    return split_matrix(
        W, rank, {.strategy = Strategy::rcs, .random = splitting::selection_stream(seed, 0)});
}

/// The distance to the first matrix, over the norm of Charlie's part of it, of its W_D with the
/// second's rows in the hidden span; row scales are left aside.
double error_from_two(const SplitMatrix& first, const SplitMatrix& second) {
    const Index k = hidden_components;
    const MatrixXd V_1 = smallest_inputs(first.W_D, k), V_2 = smallest_inputs(second.W_D, k);
    const auto outside = [&](const MatrixXd& W_D) {
        return MatrixXd(W_D - W_D * V_1 * V_1.transpose() - W_D * V_2 * V_2.transpose());
    };
    const MatrixXd common_1 = outside(first.W_D), common_2 = outside(second.W_D);
    MatrixXd found = first.W_D;
    for (Index i = 0; i < found.rows(); ++i) {
        const double ratio = common_1.row(i).dot(common_2.row(i)) / common_2.row(i).squaredNorm();
        found.row(i) += ratio * second.W_D.row(i) * V_1 * V_1.transpose();
    }
    found = first.steps.asDiagonal() * found;  // measured in the units of W
    return (found - first.W).norm() / first.hidden_norm();
}

/// W and an adapter of rank 16 with a tenth of its norm.
MatrixXd simulated_tune(const MatrixXd& W, std::mt19937_64& random) {
    const MatrixXd adapter =
        random_matrix(W.rows(), 16, random) * random_matrix(16, W.cols(), random);
    return W + 0.1 * W.norm() / adapter.norm() * adapter;
}

/// Random components differ from pair to pair, hidden splits hardly.
std::uint64_t pairs_of(const Setting& setting, Splitter split) {
    return setting.full ? 50 : split == hidden_split ? 3 : 10;
}

Outcome two_artifacts(const Setting& setting, Splitter split) {
    const MatrixXd W = weights_of(setting, tall);
    const std::uint64_t pairs = pairs_of(setting, split);
    double sum = 0, best = 1, worst = 0;
    for (std::uint64_t pair = 0; pair < pairs; ++pair) {
        const double error =
            error_from_two(split(W, hidden_components), split(W, hidden_components));
        sum += error;
        best = std::min(best, error);
        worst = std::max(worst, error);
    }
    return {sum / static_cast<double>(pairs), 0.5, 2 * pairs,
            "k = 16 of 192, drawn twice; row scales left aside; of " + std::to_string(pairs) +
                " pairs of splits " + figure(best) + " to " + figure(worst) +
                ": what both hide is missing"};
}

/// `other`: a split to compare with.
Outcome tuned_versions(const Setting& setting, Splitter split, Splitter other,
                       const std::string& note) {
    const MatrixXd base = weights_of(setting, tall);
    std::mt19937_64 random(setting.seed);
    const std::uint64_t pairs = pairs_of(setting, split);
    double sum = 0, of_other = 0;
    for (std::uint64_t pair = 0; pair < pairs; ++pair) {
        const MatrixXd first = simulated_tune(base, random), second = simulated_tune(base, random);
        const auto error = [&](Splitter of) {
            return error_from_two(of(first, hidden_components), of(second, hidden_components));
        };
        sum += error(split);
        of_other += error(other);
    }
    const auto count = static_cast<double>(pairs);
    return {sum / count, 0.5, 2 * pairs,
            "pairs of simulated fine-tunes of one base, k = 16 of 192; " + note +
                figure(of_other / count)};
}

// ---- a public base: the rows of W_D give the difference, the base gives the hidden part

Outcome public_base(const Setting& setting, Splitter splitter) {
    const Index k = 4;
    const MatrixXd base = weights_of(setting, tall);
    std::mt19937_64 random(setting.seed);
    const MatrixXd tuned = simulated_tune(base, random);
    const SplitMatrix split = splitter(tuned, static_cast<std::size_t>(k));
    const MatrixXd V = smallest_inputs(split.W_D, k);
    const MatrixXd base_outside = base - base * V * V.transpose();
    MatrixXd found(base.rows(), base.cols());
    for (Index i = 0; i < base.rows(); ++i) {
        const double step =
            base_outside.row(i).dot(split.W_D.row(i)) / split.W_D.row(i).squaredNorm();
        found.row(i) = step * split.W_D.row(i) + base.row(i) * V * V.transpose();
    }
    return {(found - tuned).norm() / (tuned - base).norm(), 0.5, 1,
            "a simulated fine-tune: rank 16, a tenth of the norm; 1 is the base itself"};
}

// ---- a tied head: David's part of lm_head is the embedding

Outcome tied_head(const Setting& setting, Splitter split) {
    const MatrixXd embedding = weights_of(setting, "model.embed_tokens");
    const SplitMatrix head = split(embedding, 0);
    double error = 0;
    for (Index i = 0; i < embedding.rows(); ++i) {
        error += distance_up_to_factor(head.W_D.row(i), embedding.row(i), embedding.row(i));
    }
    return {error / static_cast<double>(embedding.rows()), 0.05, 1,
            "rank 0, as plans have it that do not name lm_head"};
}

}  // namespace

Outcome spans_product(const Setting& setting) { return spans(setting, paper_split); }
Outcome spans_hidden(const Setting& setting) { return spans(setting, hidden_split); }
Outcome layer_oracle_product(const Setting& setting) { return layer_oracle(setting, paper_split); }
Outcome layer_oracle_hidden(const Setting& setting) { return layer_oracle(setting, hidden_split); }
Outcome two_artifacts_product(const Setting& setting) {
    return two_artifacts(setting, split_at_random);
}
Outcome two_artifacts_hidden(const Setting& setting) {
    return two_artifacts(setting, hidden_split);
}
Outcome tuned_versions_product(const Setting& setting) {
    return tuned_versions(setting, split_at_random, paper_split, "RCS; LSC of both: ");
}
Outcome tuned_versions_hidden(const Setting& setting) {
    return tuned_versions(setting, hidden_split, split_at_random, "RCS of both: ");
}
Outcome public_base_product(const Setting& setting) { return public_base(setting, paper_split); }
Outcome public_base_hidden(const Setting& setting) { return public_base(setting, hidden_split); }
Outcome tied_head_product(const Setting& setting) { return tied_head(setting, paper_split); }
Outcome tied_head_hidden(const Setting& setting) { return tied_head(setting, hidden_split); }

}  // namespace slip::attacks
