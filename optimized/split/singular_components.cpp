#include "optimized/split/singular_components.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>

#include "optimized/base/error.hpp"
#include "optimized/base/parallel.hpp"

namespace slip::splitting {
namespace {

using base::MatrixView;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using FloatRows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::size_t size(Index i) { return static_cast<std::size_t>(i); }

/// Calls work(first, count) for panels of rows or columns. Panels have a fixed extent, and each
/// makes a part of the result that no other touches, so the bits do not depend on the threads.
template <class Work>
void for_each_panel(std::size_t threads, Index extent, Index panel, const Work& work) {
    base::parallel_for(threads, size((extent + panel - 1) / panel), [&](std::size_t i) {
        const Index first = static_cast<Index>(i) * panel;
        work(first, std::min(panel, extent - first));
    });
}

/// W in its file's precision and products with it in binary64, a panel at a time.
class Operator {
public:
    Operator(MatrixView<const float> w, std::size_t threads)
        : w_(w.data(), static_cast<Index>(w.rows()), static_cast<Index>(w.cols())),
          threads_(threads) {}

    Index rows() const { return w_.rows(); }
    Index cols() const { return w_.cols(); }
    std::size_t threads() const { return threads_; }

    /// W X.
    MatrixXd times(const MatrixXd& x) const {
        MatrixXd product(rows(), x.cols());
        for_each_panel(threads_, rows(), panel, [&](Index first, Index count) {
            const MatrixXd part = w_.middleRows(first, count).cast<double>();
            product.middleRows(first, count).noalias() = part * x;
        });
        return product;
    }
    /// W^T X, added up over the rows in a fixed order.
    MatrixXd transposed_times(const MatrixXd& x) const {
        MatrixXd product = MatrixXd::Zero(cols(), x.cols());
        for_each_panel(threads_, cols(), panel, [&](Index first, Index count) {
            for (Index row = 0; row < rows(); row += depth) {
                const Index some = std::min(depth, rows() - row);
                const MatrixXd part = w_.block(row, first, some, count).cast<double>();
                product.middleRows(first, count).noalias() +=
                    part.transpose() * x.middleRows(row, some);
            }
        });
        return product;
    }

private:
    static constexpr Index panel = 128;
    static constexpr Index depth = 1024;
    Eigen::Map<const FloatRows> w_;
    std::size_t threads_;
};

// --- the k largest, iteratively ------------------------------------------------------------------

/// An orthonormal basis that grows block by block.
class Basis {
public:
    explicit Basis(std::size_t threads) : threads_(threads) {}

    /// Appends an orthonormal basis of what `block` adds to the space. If that is less than it has
    /// columns, it is filled up with other directions, which do no harm. Projecting twice is enough
    /// for orthogonality to working precision, except that what fills up may need it more often.
    /// Returns false if it does not get there.
    bool append(MatrixXd block) {
        constexpr int most_passes = 8;
        constexpr double orthogonal = 1e-13;
        for (int pass = 0; pass < most_passes; ++pass) {
            const double overlap = project_out(block);
            const Eigen::HouseholderQR<MatrixXd> qr(block);
            block = qr.householderQ() * MatrixXd::Identity(block.rows(), block.cols());
            if (pass == 0 || overlap > orthogonal) continue;
            blocks_.push_back(std::move(block));
            return true;
        }
        return false;
    }
    const MatrixXd& last() const { return blocks_.back(); }

    /// basis^T X.
    MatrixXd coordinates(const MatrixXd& x) const {
        MatrixXd result(dimension(), x.cols());
        base::parallel_for(threads_, blocks_.size(), [&](std::size_t i) {
            const Index width = blocks_[i].cols();
            result.middleRows(static_cast<Index>(i) * width, width).noalias() =
                blocks_[i].transpose() * x;
        });
        return result;
    }
    /// basis X.
    MatrixXd combine(const MatrixXd& x) const {
        MatrixXd result = MatrixXd::Zero(last().rows(), x.cols());
        add_combination(x, 1, result);
        return result;
    }
    Index dimension() const {
        return blocks_.empty() ? 0 : static_cast<Index>(blocks_.size()) * last().cols();
    }

private:
    /// Returns the largest coordinate that was taken out.
    double project_out(MatrixXd& block) const {
        if (blocks_.empty()) return 0;
        const MatrixXd overlap = coordinates(block);
        add_combination(overlap, -1, block);
        return overlap.cwiseAbs().maxCoeff();
    }
    void add_combination(const MatrixXd& x, double sign, MatrixXd& result) const {
        for_each_panel(threads_, result.rows(), 1024, [&](Index first, Index count) {
            for (std::size_t i = 0; i < blocks_.size(); ++i) {
                const Index width = blocks_[i].cols();
                result.middleRows(first, count).noalias() +=
                    sign * blocks_[i].middleRows(first, count) *
                    x.middleRows(static_cast<Index>(i) * width, width);
            }
        });
    }

    std::size_t threads_;
    std::vector<MatrixXd> blocks_;  // of equal width
};

/// The same start vectors in every split: splitmix64, as numbers from -1 to 1.
MatrixXd start_vectors(Index rows, Index cols) {
    MatrixXd vectors(rows, cols);
    std::uint64_t state = 0;
    for (double& entry : vectors.reshaped()) {
        std::uint64_t bits = state += 0x9E3779B97F4A7C15U;
        bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
        entry = static_cast<double>((bits ^ (bits >> 31)) >> 11) * 0x1p-52 - 1;
    }
    return vectors;
}

/// Block Lanczos bidiagonalisation with full reorthogonalisation. After j steps `right` spans the
/// Krylov space of W^T W and the start vectors, `left` spans W right, and W right = left projected,
/// so the singular components of the small matrix are W's on that space (Rayleigh-Ritz).
class BlockLanczos {
public:
    BlockLanczos(const Operator& w, Index block)
        : w_(w), left_(w.threads()), right_(w.threads()), next_(start_vectors(w.cols(), block)) {}

    /// Returns false if orthogonality was lost.
    bool step() {
        if (!right_.append(std::move(next_))) return false;
        const MatrixXd image = w_.times(right_.last());
        if (!left_.append(image)) return false;
        const MatrixXd column = left_.coordinates(image);
        const Index old = projected_.cols();
        projected_.conservativeResizeLike(MatrixXd::Zero(column.rows(), old + column.cols()));
        projected_.rightCols(column.cols()) = column;
        next_ = w_.transposed_times(left_.last());
        return true;
    }
    Index dimension() const { return projected_.cols(); }
    const MatrixXd& projected() const { return projected_; }
    MatrixXd left_vectors(const MatrixXd& x) const { return left_.combine(x); }
    MatrixXd right_vectors(const MatrixXd& x) const { return right_.combine(x); }

private:
    const Operator& w_;
    Basis left_;          // m x d
    Basis right_;         // n x d
    MatrixXd projected_;  // d x d
    MatrixXd next_;       // n x block
};

/// Squared singular values, the largest first, from X^T X, or from its entries on and below the
/// diagonal.
VectorXd squares_of(const MatrixXd& gram_matrix) {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(gram_matrix, Eigen::EigenvaluesOnly);
    return solver.eigenvalues().reverse();
}

// --- all of them ---------------------------------------------------------------------------------

/// A matrix's whole decomposition: matrix = images right^T, where the columns of `images` are
/// orthogonal, fall in length, and have the lengths sigma.
struct CompleteDecomposition {
    MatrixXd images;  // rows x cols
    VectorXd sigma;   // cols
    MatrixXd right;   // cols x cols, orthogonal
};

/// X^T X. Only entries on and below the diagonal are right.
MatrixXd gram(const MatrixXd& x, std::size_t threads) {
    MatrixXd product(x.cols(), x.cols());
    for_each_panel(threads, x.cols(), 64, [&](Index first, Index count) {
        const Index below = x.cols() - first;
        product.block(first, first, below, count).noalias() =
            x.rightCols(below).transpose() * x.middleCols(first, count);
    });
    return product;
}

/// One sweep of one-sided Jacobi rotations: makes columns of `images` orthogonal, in pairs. Returns
/// false if all were so already. The cosines that it leaves, 1e-10, change singular values by their
/// squares, far below the rounding of binary64.
bool rotate(CompleteDecomposition& d, std::size_t threads) {
    constexpr double negligible = 1e-10;
    const MatrixXd products = gram(d.images, threads);
    const VectorXd lengths = products.diagonal().cwiseSqrt();
    bool rotated = false;
    for (Index p = 0; p < products.cols(); ++p) {
        for (Index q = p + 1; q < products.cols(); ++q) {
            if (std::abs(products(q, p)) <= negligible * lengths(p) * lengths(q)) continue;
            Eigen::JacobiRotation<double> rotation;
            rotation.makeJacobi(d.images.col(p).squaredNorm(), d.images.col(p).dot(d.images.col(q)),
                                d.images.col(q).squaredNorm());
            d.images.applyOnTheRight(p, q, rotation);
            d.right.applyOnTheRight(p, q, rotation);
            rotated = true;
        }
    }
    return rotated;
}

/// Sorts by falling length, and clears what is rounding alone.
void sort_by_length(CompleteDecomposition& d) {
    const VectorXd lengths = d.images.colwise().norm();
    std::vector<Index> order(size(lengths.size()));
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return lengths(a) > lengths(b); });
    d.images = MatrixXd(d.images(Eigen::all, order));
    d.right = MatrixXd(d.right(Eigen::all, order));
    d.sigma = lengths(order);
    const double rounding =
        std::numeric_limits<double>::epsilon() * static_cast<double>(d.sigma.size()) * d.sigma(0);
    for (Index c = 0; c < d.sigma.size(); ++c) {
        if (d.sigma(c) > rounding) continue;
        d.sigma(c) = 0;
        d.images.col(c).setZero();
    }
}

/// For rows >= cols. The eigenvectors of the Gram matrix are right but for components that are
/// small beside the largest, since squaring has cost those their digits; rotations give them back.
CompleteDecomposition decompose_completely(const MatrixXd& matrix, std::size_t threads) {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(gram(matrix, threads));
    CompleteDecomposition d;
    d.right = solver.eigenvectors().rowwise().reverse();
    d.images.resize(matrix.rows(), matrix.cols());
    for_each_panel(threads, matrix.rows(), 128, [&](Index first, Index count) {
        d.images.middleRows(first, count).noalias() = matrix.middleRows(first, count) * d.right;
    });
    constexpr int most_sweeps = 30;
    for (int sweep = 0; sweep < most_sweeps && rotate(d, threads); ++sweep) {
    }
    sort_by_length(d);
    return d;
}

/// The images at length 1. Columns of length 0, which come last, become any vectors that are
/// orthogonal to the others.
MatrixXd normalised_images(const CompleteDecomposition& d) {
    MatrixXd vectors = d.images;
    Index nonzero = 0;
    for (; nonzero < d.sigma.size() && d.sigma(nonzero) > 0; ++nonzero) {
        vectors.col(nonzero) /= d.sigma(nonzero);
    }
    const Index rest = d.sigma.size() - nonzero;
    if (rest > 0) {
        const Eigen::HouseholderQR<MatrixXd> qr(vectors);
        const MatrixXd basis =
            qr.householderQ() * MatrixXd::Identity(vectors.rows(), vectors.cols());
        vectors.rightCols(rest) = basis.rightCols(rest);
    }
    return vectors;
}

/// The chosen columns of U and V, in the layout of Components.
Components collect(const MatrixXd& u, const VectorXd& sigma, const MatrixXd& v,
                   const std::vector<std::size_t>& numbers) {
    Components chosen;
    for (Index i = 0; i < u.rows(); ++i) {
        for (const std::size_t c : numbers) chosen.u.push_back(u(i, static_cast<Index>(c)));
    }
    for (const std::size_t c : numbers) {
        const auto number = static_cast<Index>(c);
        chosen.sigma.push_back(sigma(number));
        for (Index j = 0; j < v.rows(); ++j) chosen.v.push_back(v(j, number));
    }
    return chosen;
}

bool is_wide(MatrixView<const float> w) { return w.cols() > w.rows(); }

/// W, or W^T if W has more columns than rows.
MatrixXd tall(MatrixView<const float> w) {
    const Eigen::Map<const FloatRows> map(w.data(), static_cast<Index>(w.rows()),
                                          static_cast<Index>(w.cols()));
    return is_wide(w) ? MatrixXd(map.transpose().cast<double>()) : map.cast<double>();
}

std::vector<std::size_t> first_numbers(std::size_t k) {
    std::vector<std::size_t> numbers(k);
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    return numbers;
}

/// Nothing if the space grew to half of all before it settled: a complete decomposition is cheaper.
std::optional<Components> iterate(const Operator& w, std::size_t k) {
    constexpr Index oversampling = 8;
    const auto wanted = static_cast<Index>(k);
    const Index block = wanted + oversampling;
    const Index largest = std::min(w.rows(), w.cols()) / 2;
    BlockLanczos lanczos(w, block);
    double before = -1;  // sum of the k largest squares one step ago
    while (lanczos.dimension() + block <= largest && lanczos.step()) {
        // The squares rise to the true ones from below (Cauchy interlacing), so what a step adds
        // shows what is missing. Differences below the rounding of the largest mean nothing.
        const MatrixXd& projected = lanczos.projected();
        const VectorXd squares = squares_of(projected.transpose() * projected);
        const double sum = squares.head(wanted).sum();
        const double rounding = std::numeric_limits<double>::epsilon() * sum;
        const double added = sum - before;
        if (before >= 0 && added <= std::max(iteration_tolerance * squares(wanted), rounding)) {
            const CompleteDecomposition small =
                decompose_completely(lanczos.projected(), w.threads());
            const MatrixXd u = lanczos.left_vectors(normalised_images(small).leftCols(wanted));
            const MatrixXd v = lanczos.right_vectors(small.right.leftCols(wanted));
            return collect(u, small.sigma, v, first_numbers(k));
        }
        before = sum;
    }
    return std::nullopt;
}

}  // namespace

Components singular_components(MatrixView<const float> w, const std::vector<std::size_t>& numbers,
                               std::size_t threads) {
    for (const std::size_t number : numbers) {
        base::require(number < std::min(w.rows(), w.cols()),
                      "singular_components: no such component");
    }
    if (numbers.empty()) return {};
    const CompleteDecomposition d = decompose_completely(tall(w), threads);
    const MatrixXd images = normalised_images(d);
    return is_wide(w) ? collect(d.right, d.sigma, images, numbers)
                      : collect(images, d.sigma, d.right, numbers);
}

Components top_singular_components(MatrixView<const float> w, std::size_t k, std::size_t threads) {
    const std::size_t shorter = std::min(w.rows(), w.cols());
    base::require(k <= shorter, "top_singular_components: k is above min(m, n)");
    if (k == 0) return {};
    // Below this size a complete decomposition takes a fraction of a second.
    constexpr std::size_t small = 256;
    if (shorter > small && k <= shorter / 8) {
        if (auto top = iterate(Operator(w, threads), k)) return *std::move(top);
    }
    return singular_components(w, first_numbers(k), threads);
}

std::vector<double> squared_singular_values(MatrixView<const float> w, std::size_t threads) {
    if (w.size() == 0) return {};
    // Rounding makes eigenvalues that are 0 negative.
    const VectorXd squares = squares_of(gram(tall(w), threads)).cwiseMax(0);
    return {squares.begin(), squares.end()};
}

}  // namespace slip::splitting
