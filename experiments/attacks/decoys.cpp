// A split that hides the span of Charlie's part behind decoys: in place of the strongest components
// W_D has a random core in the same span (random-core of experiments/safety). One such W_D does not
// show where the core is. Splits of one W with fresh cores differ in the span alone, and in their
// average the decoys vanish: assumption 5, the owner splits once.
#include <initializer_list>
#include <string>

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

constexpr Index strongest = 4;

/// What David has of a matrix.
using DavidsPart = MatrixXd (*)(const MatrixXd& W);

/// In units of each row that he does not know.
MatrixXd part_under_paper(const MatrixXd& W) { return paper_split(W, 0).W_D; }
/// Scaled to the norms of W's rows, which he is told.
MatrixXd part_under_hidden(const MatrixXd& W) { return hidden_split(W, 0).davids_part(); }

MatrixXd random_rotation(std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    return orthonormal_basis(
        MatrixXd::NullaryExpr(strongest, strongest, [&] { return normal(random); }));
}

/// W (m >= n) with its k strongest components apart from the rest.
class Decoyed {
public:
    Decoyed(const MatrixXd& W, DavidsPart part) : part_(part) {
        using RowMajorDouble =
            Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        const RowMajor weights = W.cast<float>();
        const Index n = W.cols();
        const auto all =
            splitting::top_singular_components(view_of(weights), static_cast<std::size_t>(n));
        U_ = Eigen::Map<const RowMajorDouble>(all.u.data(), W.rows(), n).leftCols(strongest);
        V_ = Eigen::Map<const RowMajorDouble>(all.v.data(), n, n).topRows(strongest).transpose();
        sigma_ = Eigen::Map<const VectorXd>(all.sigma.data(), n);
        rest_ = W - U_ * sigma_.head(strongest).asDiagonal() * V_.transpose();
    }

    /// David's part with a fresh core, whose singular values are drawn from those of the other
    /// components.
    MatrixXd split(std::mt19937_64& random) const {
        const VectorXd strengths = VectorXd::NullaryExpr(strongest, [&] {
            const auto others = static_cast<std::uint64_t>(sigma_.size() - strongest);
            return sigma_(strongest + static_cast<Index>(random() % others));
        });
        const MatrixXd core =
            random_rotation(random) * strengths.asDiagonal() * random_rotation(random);
        return part_(rest_ + U_ * core * V_.transpose());
    }
    bool units_are_known() const { return part_ == part_under_hidden; }
    /// 1 minus the mean squared cosine between the hidden right span and the estimate.
    double error(const MatrixXd& estimate) const {
        return 1 - (estimate.transpose() * V_).squaredNorm() / static_cast<double>(strongest);
    }

private:
    DavidsPart part_;
    MatrixXd U_, V_, rest_;
    VectorXd sigma_;
};

/// Splits of one matrix. Where the units of rows are not known, which differ by the decoys, each
/// row is in those of the first one's.
struct Redraws {
    Redraws(const Decoyed& decoyed, Index count, std::mt19937_64& random) {
        for (Index i = 0; i < count; ++i) {
            MatrixXd W_D = decoyed.split(random);
            if (i > 0 && !decoyed.units_are_known()) {
                const VectorXd products = W_D.cwiseProduct(all.front()).rowwise().sum();
                W_D.array().colwise() *= products.array() / W_D.rowwise().squaredNorm().array();
            }
            all.push_back(W_D);
        }
    }

    MatrixXd average() const {
        MatrixXd sum = all.front();
        for (std::size_t i = 1; i < all.size(); ++i) sum += all[i];
        return sum / static_cast<double>(all.size());
    }
    /// The directions in which they differ most.
    MatrixXd span_of_differences() const {
        const MatrixXd mean = average();
        const Index m = mean.rows(), n = mean.cols();
        MatrixXd differences(m * static_cast<Index>(all.size()), n);
        for (std::size_t i = 0; i < all.size(); ++i) {
            differences.middleRows(m * static_cast<Index>(i), m) = all[i] - mean;
        }
        return smallest_inputs(differences, n).rightCols(strongest);
    }

    std::vector<MatrixXd> all;
};

std::vector<Decoyed> matrices_of(const Setting& setting, DavidsPart part) {
    std::vector<Decoyed> matrices;
    for (int block = 0; block < (setting.full ? 6 : 1); ++block) {
        matrices.emplace_back(
            weights_of(setting, "model.layers." + std::to_string(block) + ".mlp.gate_proj"), part);
    }
    return matrices;
}

/// The mean error of what smallest_inputs() finds in the average.
double error_of_average(const std::vector<Decoyed>& matrices, Index count,
                        std::mt19937_64& random) {
    double sum = 0;
    for (const Decoyed& one : matrices) {
        sum += one.error(smallest_inputs(Redraws(one, count, random).average(), strongest));
    }
    return sum / static_cast<double>(matrices.size());
}

/// Cores are drawn anew. A second split suffices for who compares; who averages needs more.
Outcome drawn_anew(const Setting& setting, DavidsPart part, std::initializer_list<Index> averaged) {
    std::mt19937_64 random(setting.seed);
    const std::vector<Decoyed> matrices = matrices_of(setting, part);
    double sum = 0;
    for (const Decoyed& one : matrices) {
        sum += one.error(Redraws(one, 2, random).span_of_differences());
    }
    std::string averages;
    for (const Index count : averaged) {
        averages += (averages.empty() ? "" : ", ") +
                    figure(error_of_average(matrices, count, random)) + " of " +
                    std::to_string(count);
    }
    return {sum / static_cast<double>(matrices.size()), 0.2, 2 * matrices.size(),
            "k = 4 of 192, by what two splits differ in; by the average of splits: " + averages};
}

}  // namespace

Outcome decoys_twin(const Setting& setting) {
    return drawn_anew(setting, part_under_paper, {4, 16, setting.full ? 256 : 64});
}

/// What assumption 5 leaves. `slip split` has no decoys: its spans are open (spans-8-bits).
Outcome decoys_product(const Setting& setting) {
    std::mt19937_64 random(setting.seed);
    const std::vector<Decoyed> matrices = matrices_of(setting, part_under_paper);
    return {error_of_average(matrices, 1, random), 0.2, matrices.size(),
            "one split with decoys, which the product does not have; chance is " +
                figure(1 - static_cast<double>(strongest) / 192)};
}

/// Cores drawn anew, and the matrix hidden each time.
Outcome decoys_hidden(const Setting& setting) {
    return drawn_anew(setting, part_under_hidden, {setting.full ? 16 : 4});
}

}  // namespace slip::attacks
