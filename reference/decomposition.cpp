#include "reference/decomposition.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <numeric>

#include "reference/encoding.hpp"
#include "reference/error.hpp"
#include "reference/factorizations.hpp"
#include "reference/parameters.hpp"
#include "reference/ring.hpp"

namespace slip::reference {

namespace {

using Eigen::Index;

/// 2^t.
constexpr double fraction_unit = 1 << fraction_bits;

std::size_t natural(Index n) { return static_cast<std::size_t>(n); }

/// R = W - U diag(s) V^T.
Eigen::MatrixXd residual(const Eigen::MatrixXd& W, const SingularComponents& top) {
    Eigen::MatrixXd R = W;
    for (Index c = 0; c < top.s.size(); ++c) {
        for (Index i = 0; i < W.rows(); ++i) {
            for (Index j = 0; j < W.cols(); ++j) R(i, j) -= top.U(i, c) * top.s(c) * top.V(j, c);
        }
    }
    return R;
}

/// The left factor before rounding: F(i, c) = u_c[i] s_c beta_c, m x k.
Eigen::MatrixXd left_factor(const SingularComponents& top) {
    Eigen::MatrixXd F = top.U;
    for (Index c = 0; c < F.cols(); ++c) {
        const auto beta = static_cast<double>(component_scale(top.V.col(c)));
        for (Index i = 0; i < F.rows(); ++i) F(i, c) = top.U(i, c) * top.s(c) * beta;
    }
    return F;
}

/// B(c, j) = round(v_c[j] / beta_c), k x n.
Matrix right_factor(const SingularComponents& top) {
    Matrix B(natural(top.V.cols()), natural(top.V.rows()));
    for (Index c = 0; c < top.V.cols(); ++c) {
        const auto beta = static_cast<double>(component_scale(top.V.col(c)));
        for (Index j = 0; j < top.V.rows(); ++j) {
            B(natural(c), natural(j)) = round_half_even(top.V(j, c) / beta);
        }
    }
    return B;
}

double largest_magnitude(const Eigen::MatrixXd& X, Index row) {
    double largest = 0;
    for (Index j = 0; j < X.cols(); ++j) largest = std::max(largest, std::abs(X(row, j)));
    return largest;
}

/// The singular components with these numbers, counted from 0 by falling singular value.
SingularComponents components(const Eigen::MatrixXd& W, const std::vector<std::size_t>& numbers) {
    const auto [U, sigma, V] = svd(W);
    return {U(Eigen::all, numbers), sigma(numbers), V(Eigen::all, numbers)};
}

/// sum_c (W e_j) e_j^T over the chosen columns j: what is left of W is 0 there.
SingularComponents columns(const Eigen::MatrixXd& W, const std::vector<std::size_t>& numbers) {
    const auto k = static_cast<Index>(numbers.size());
    const Eigen::MatrixXd unit = Eigen::MatrixXd::Identity(W.cols(), W.cols());
    return {W(Eigen::all, numbers), Eigen::VectorXd::Ones(k), unit(Eigen::all, numbers)};
}

/// sum_i s_i e_i v_i^T over all rows, s_i = max_j |W(i, j)| and v_i = W(i, .) / s_i; e_0 for v_i if
/// the row is 0.
SingularComponents all_rows(const Eigen::MatrixXd& W) {
    SingularComponents part{Eigen::MatrixXd::Identity(W.rows(), W.rows()),
                            W.cwiseAbs().rowwise().maxCoeff(), W.transpose()};
    for (Index i = 0; i < W.rows(); ++i) {
        if (part.s(i) == 0) {
            part.V.col(i) = Eigen::VectorXd::Unit(W.cols(), 0);
        } else {
            part.V.col(i) /= part.s(i);
        }
    }
    return part;
}

/// The k columns with the largest sum of squares; of equal ones the first.
std::vector<std::size_t> columns_of_largest_norm(const Eigen::MatrixXd& W, std::size_t k) {
    std::vector<double> squares(natural(W.cols()), 0.0);
    for (Index j = 0; j < W.cols(); ++j) {
        for (Index i = 0; i < W.rows(); ++i) squares[natural(j)] += W(i, j) * W(i, j);
    }
    std::vector<std::size_t> chosen;
    while (chosen.size() < k) {
        const auto best = std::max_element(squares.begin(), squares.end());
        chosen.push_back(static_cast<std::size_t>(best - squares.begin()));
        *best = -1;
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

std::vector<std::size_t> all_numbers(Index n) {
    std::vector<std::size_t> numbers(natural(n));
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    return numbers;
}

}  // namespace

int retained_rank(std::size_t m, std::size_t n, int k) {  // DECO-2
    require(k >= 0, "a rank is not negative");
    require(m >= 1 && n >= 1, "a weight matrix has at least one row and one column");
    const std::size_t largest = std::min(m, n) - 1;
    return static_cast<int>(std::min(static_cast<std::size_t>(k), largest));
}

SingularComponents top_components(const Eigen::MatrixXd& W, int k) {  // DECO-2
    require(W.allFinite(), "every weight is finite");
    const Index rank = retained_rank(natural(W.rows()), natural(W.cols()), k);
    if (rank == 0) return {{W.rows(), 0}, Eigen::VectorXd(0), {W.cols(), 0}};
    const auto [U, sigma, V] = svd(W);
    return {U.leftCols(rank), sigma.head(rank), V.leftCols(rank)};
}

std::vector<std::size_t> choose(std::size_t k, std::size_t n, ByteSource& bytes) {  // DECO-9
    require(k <= n, "no more numbers are chosen than there are");
    std::vector<std::size_t> numbers = all_numbers(static_cast<Index>(n));
    for (std::size_t c = 0; c < k; ++c) {
        std::size_t t = 0;
        if (n - c > 1) {
            const Sampler sampler(Ring(Integer(n - c)));
            t = sampler.draw(bytes, 1).residues[0].convert_to<std::size_t>();
        }
        std::swap(numbers[c], numbers[c + t]);
    }
    numbers.resize(k);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

SingularComponents kept_part(Strategy strategy, const Eigen::MatrixXd& W, int k,
                             ByteSource& bytes) {  // DECO-8
    require(W.allFinite(), "every weight is finite");
    const int cut = retained_rank(natural(W.rows()), natural(W.cols()), k);
    const auto rank = static_cast<std::size_t>(cut);
    switch (strategy) {
        case Strategy::lsc:
            return top_components(W, cut);
        case Strategy::rcs:
            return components(W, choose(rank, natural(std::min(W.rows(), W.cols())), bytes));
        case Strategy::norm:
            return columns(W, columns_of_largest_norm(W, rank));
        case Strategy::random:
            return columns(W, choose(rank, natural(W.cols()), bytes));
        case Strategy::fms:
            if (k == 0) return columns(W, {});
            return W.rows() < W.cols() ? all_rows(W) : columns(W, all_numbers(W.cols()));
    }
    throw PreconditionError("a strategy is one of five");
}

float component_scale(const Eigen::VectorXd& v_c) {  // DECO-3
    return static_cast<float>(v_c.cwiseAbs().maxCoeff() / largest_right_factor);
}

float row_scale(double largest_residual, double largest_factor,
                double row_norm) {  // DECO-3, DECO-4
    const double step = largest_residual / largest_weight;
    const double floor = std::max(largest_factor / static_cast<double>(largest_left_factor),
                                  std::ldexp(row_norm, -46));
    if (step == 0 && floor == 0) return 1.0F;

    auto delta = static_cast<float>(std::max(step / fraction_unit, floor));
    delta = std::max(delta, FLT_MIN);
    const bool below_floor = static_cast<double>(delta) < floor;
    if (below_floor) delta = std::nextafter(delta, std::numeric_limits<float>::infinity());
    require(std::isfinite(delta), "a row scale fits binary32");
    return delta;
}

unsigned factor_exponent(double largest_factor, float delta) {  // DECO-3
    auto unit = static_cast<double>(delta);
    unsigned exponent = 0;
    while (round_half_even(largest_factor / unit) > largest_significand) {
        unit *= 2;
        ++exponent;
    }
    return exponent;
}

double largest_residual(const Eigen::VectorXd& R_i, std::optional<double> weight_norm) {  // DECO-3
    const double largest = R_i.cwiseAbs().maxCoeff();
    if (!weight_norm) return largest;
    const double room = *weight_norm - (std::sqrt(static_cast<double>(R_i.size())) + 1) / 2;
    require(room > 0, "B_w leaves room for the rounding of a row");
    double squares = 0;
    for (const double R_ij : R_i) squares += R_ij * R_ij;
    return std::max(largest, largest_weight * std::sqrt(squares) / room);
}

IntegerModel encode(const Eigen::MatrixXd& W, const SingularComponents& top,
                    std::optional<double> weight_norm) {  // DECO-3
    const Eigen::MatrixXd R = residual(W, top);
    const Eigen::MatrixXd F = left_factor(top);
    IntegerModel model{Matrix(natural(F.rows()), natural(F.cols())),
                       right_factor(top),
                       Matrix(natural(W.rows()), natural(W.cols())),
                       {}};
    for (Index i = 0; i < W.rows(); ++i) {
        if (W.row(i).isZero(0)) {  // DECO-4: rows of A and W_D stay 0
            model.row_scale.push_back(1.0F);
            continue;
        }
        double row_norm = 0;
        for (Index j = 0; j < W.cols(); ++j) row_norm += std::abs(W(i, j));
        const double largest_factor = largest_magnitude(F, i);
        const float delta =
            row_scale(largest_residual(R.row(i), weight_norm), largest_factor, row_norm);
        const auto scale = static_cast<double>(delta);
        model.row_scale.push_back(delta);
        const unsigned exponent = factor_exponent(largest_factor, delta);
        const double unit = std::ldexp(scale, static_cast<int>(exponent));
        for (Index c = 0; c < F.cols(); ++c) {
            model.A(natural(i), natural(c)) = round_half_even(F(i, c) / unit) << exponent;
        }
        for (Index j = 0; j < W.cols(); ++j) {
            const Integer nearest = round_half_even(R(i, j) / (scale * fraction_unit));
            model.W_D(natural(i), natural(j)) =
                std::clamp(nearest, Integer(-largest_weight), Integer(largest_weight));
        }
    }
    require_valid(model);
    return model;
}

IntegerModel decompose(const Eigen::MatrixXd& W, int k, std::optional<double> weight_norm) {
    return encode(W, top_components(W, k), weight_norm);
}

void require_valid(const Plan& plan, const std::vector<LayerName>& layers) {  // DECO-6
    std::vector<LayerName> named;
    for (const Triplet& triplet : plan) {
        const LayerName name(triplet.block, triplet.layer_type);
        require(std::count(layers.begin(), layers.end(), name) == 1,
                "a plan names only layers that exist");
        require(std::count(named.begin(), named.end(), name) == 0,
                "a plan names a layer at most once");
        require(triplet.K >= 0, "a rank is not negative");
        named.push_back(name);
    }
}

int planned_rank(const Plan& plan, const LayerName& layer) {  // DECO-6
    for (const Triplet& triplet : plan) {
        if (LayerName(triplet.block, triplet.layer_type) == layer) return triplet.K;
    }
    return 0;
}

}  // namespace slip::reference
