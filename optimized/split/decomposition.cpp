#include "optimized/split/decomposition.hpp"

#include <Spectra/contrib/PartialSVDSolver.h>
#include <Eigen/Dense>
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>

#include "optimized/base/error.hpp"
#include "optimized/kernels/contracts.hpp"

namespace slip {
namespace {

/// Wide enough for any sum of W_int (ENC-5).
__extension__ using Int128 = __int128;

constexpr double shift_factor = std::int64_t{1} << residual_shift;  // 2^t
constexpr std::int32_t largest_residual = 127;                      // PARAM-2
constexpr std::int32_t largest_b = 32767;
constexpr std::int32_t largest_a = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t smallest_qa_max = 127;

/// To the nearest integer, ties to even (CONV-3): the rounding mode that every program starts with.
double round_half_even(double x) { return std::nearbyint(x); }

// --- the k largest singular components -----------------------------------------------------------

SingularComponents copy_components(const Eigen::MatrixXd& u, const Eigen::VectorXd& sigma,
                                   const Eigen::MatrixXd& v, Eigen::Index k) {
    SingularComponents top;
    for (Eigen::Index i = 0; i < u.rows(); ++i) {
        for (Eigen::Index c = 0; c < k; ++c) top.u.push_back(u(i, c));
    }
    for (Eigen::Index c = 0; c < k; ++c) {
        top.sigma.push_back(sigma(c));
        for (Eigen::Index j = 0; j < v.rows(); ++j) top.v.push_back(v(j, c));
    }
    return top;
}

bool finite(const SingularComponents& top) {
    const auto all = [](const std::vector<double>& values) {
        return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
    };
    return all(top.u) && all(top.sigma) && all(top.v);
}

/// Lanczos iteration on W^T W or W W^T. Nothing if it does not converge, or if a component is so
/// small beside the largest that squaring W has cost it its digits.
std::optional<SingularComponents> iterate(const Eigen::MatrixXd& w, Eigen::Index k) {
    constexpr double smallest_ratio = 1e-6;
    const Eigen::Index subspace =
        std::min(std::max(2 * k + 1, Eigen::Index{20}), std::min(w.rows(), w.cols()));
    try {
        Spectra::PartialSVDSolver<Eigen::MatrixXd> solver(w, k, subspace);
        if (solver.compute() < k) return std::nullopt;
        const Eigen::VectorXd sigma = solver.singular_values();
        if (!(sigma(k - 1) > smallest_ratio * sigma(0))) return std::nullopt;
        SingularComponents top = copy_components(solver.matrix_U(k), sigma, solver.matrix_V(k), k);
        if (!finite(top)) return std::nullopt;
        return top;
    } catch (const std::exception&) {  // Spectra's way to say that an inner step failed
        return std::nullopt;
    }
}

template <class Solver>
std::optional<SingularComponents> solve_with(const Eigen::MatrixXd& w, Eigen::Index k) {
    const Solver svd(w, Eigen::ComputeThinU | Eigen::ComputeThinV);
    if (svd.info() != Eigen::Success) return std::nullopt;
    SingularComponents top = copy_components(svd.matrixU(), svd.singularValues(), svd.matrixV(), k);
    if (!finite(top)) return std::nullopt;
    return top;
}

SingularComponents decompose_completely(const Eigen::MatrixXd& w, Eigen::Index k) {
    if (auto top = solve_with<Eigen::BDCSVD<Eigen::MatrixXd>>(w, k)) return *std::move(top);
    // Divide and conquer gives NaN for some degenerate matrices, such as constant ones.
    if (auto top = solve_with<Eigen::JacobiSVD<Eigen::MatrixXd>>(w, k)) return *std::move(top);
    throw BadInput("the singular value decomposition failed");
}

// --- rounding ------------------------------------------------------------------------------------

double largest_magnitude(std::span<const double> values) {
    double largest = 0;
    for (const double value : values) largest = std::max(largest, std::abs(value));
    return largest;
}

/// DECO-3, DECO-4: delta_i from max_j |R[i][j]|, max_c |u_c[i] s_c beta_c| and sum_j |W[i][j]|.
///
/// The second floor keeps products within 64 bits (ENC-5) however small the residual is, as it is
/// when few components are left out: ||W_int[i]||_1 is ||W[i]||_1 / delta_i <= 2^46 but for
/// roundings, and 2^46 * 32767 < 2^61. It costs no accuracy: a step of W_D, 2^t delta_i, is then
/// 2^-26 of the row's norm.
float row_scale(double largest_of_residual, double largest_of_factor, double row_norm) {
    const double step = largest_of_residual / largest_residual;
    const double floor = std::max(largest_of_factor / largest_a, row_norm * 0x1p-46);
    if (step == 0 && floor == 0) return 1.0f;
    float delta = static_cast<float>(std::max(step / shift_factor, floor));
    delta = std::max(delta, FLT_MIN);
    // Rounding to nearest may have gone below the floor, and A would not fit.
    if (delta < floor) delta = std::nextafter(delta, std::numeric_limits<float>::infinity());
    return delta;
}

/// B and beta from V: DECO-3.
std::vector<double> round_right_factor(const SingularComponents& top, IntegerMatrix& out) {
    std::vector<double> beta(out.rank);
    for (std::size_t c = 0; c < out.rank; ++c) {
        const std::span<const double> v(top.v.data() + c * out.n, out.n);
        beta[c] = static_cast<float>(largest_magnitude(v) / largest_b);
        for (const double element : v) {
            out.b.push_back(static_cast<std::int16_t>(round_half_even(element / beta[c])));
        }
    }
    return beta;
}

/// Row i of R = W - U_k S_k V_k^T.
void residual_row(std::span<const float> w, const SingularComponents& top, std::size_t i,
                  std::span<double> residual) {
    std::copy(w.begin(), w.end(), residual.begin());
    const std::size_t k = top.sigma.size();
    const std::size_t n = w.size();
    for (std::size_t c = 0; c < k; ++c) {
        const double us = top.u[i * k + c] * top.sigma[c];
        const double* v = top.v.data() + c * n;
        for (std::size_t j = 0; j < n; ++j) residual[j] -= us * v[j];
    }
}

/// sum_j |w[j]|.
double norm(std::span<const float> row) {
    double sum = 0;
    for (const float element : row) sum += std::abs(double{element});
    return sum;
}

/// Appends row i of A and of W_D and its scale: DECO-3, DECO-4. `factor` is u_c[i] s_c beta_c,
/// `row_norm` is ||W[i]||_1.
void round_row(std::span<const double> factor, std::span<const double> residual, double row_norm,
               IntegerMatrix& out) {
    const float delta = row_scale(largest_magnitude(residual), largest_magnitude(factor), row_norm);
    out.row_scale.push_back(delta);
    for (const double element : factor) {
        out.a.push_back(static_cast<std::int32_t>(round_half_even(element / delta)));
    }
    const double step = delta * shift_factor;
    for (const double element : residual) {
        const double rounded = round_half_even(element / step);
        out.residual.push_back(static_cast<std::int8_t>(
            std::clamp<double>(rounded, -largest_residual, largest_residual)));
    }
}

/// max_i ||W_int[i]||_1.
Int128 largest_integer_row_norm(const IntegerMatrix& matrix) {
    Int128 largest = 0;
    std::vector<Int128> row(matrix.n);
    for (std::size_t i = 0; i < matrix.m; ++i) {
        for (std::size_t j = 0; j < matrix.n; ++j) {
            row[j] = Int128{matrix.residual[i * matrix.n + j]} << residual_shift;
        }
        for (std::size_t c = 0; c < matrix.rank; ++c) {
            const Int128 a = matrix.a[i * matrix.rank + c];
            for (std::size_t j = 0; j < matrix.n; ++j) row[j] += a * matrix.b[c * matrix.n + j];
        }
        Int128 norm = 0;
        for (const Int128 element : row) norm += element < 0 ? -element : element;
        largest = std::max(largest, norm);
    }
    return largest;
}

}  // namespace

SingularComponents top_singular_components(MatrixView<const float> w, std::size_t k) {
    using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const std::size_t shorter = std::min(w.rows(), w.cols());
    require(k <= shorter, "top_singular_components: k is above min(m, n)");
    if (k == 0) return {};
    const auto rows = static_cast<Eigen::Index>(w.rows());
    const auto cols = static_cast<Eigen::Index>(w.cols());
    const Eigen::MatrixXd matrix = Eigen::Map<const RowMajor>(w.data(), rows, cols).cast<double>();
    const auto components = static_cast<Eigen::Index>(k);
    // Below this size a complete decomposition takes a fraction of a second.
    constexpr std::size_t small = 256;
    if (shorter > small && k <= shorter / 8) {
        if (auto top = iterate(matrix, components)) return *std::move(top);
    }
    return decompose_completely(matrix, components);
}

/// The components, with `name` in front of what an error says.
static SingularComponents named_components(MatrixView<const float> w, std::size_t k,
                                           const std::string& name) {
    try {
        return top_singular_components(w, k);
    } catch (const BadInput& error) {
        throw BadInput(name + ": " + error.what());
    }
}

IntegerMatrix decompose(MatrixView<const float> w, std::size_t k, const std::string& name) {
    require(w.rows() > 0 && w.cols() > 0, "decompose: the matrix is empty");
    require(k < std::min(w.rows(), w.cols()), "decompose: the rank is above min(m, n) - 1");
    for (const float element : w.elements()) {
        if (!std::isfinite(element)) {  // DECO-5
            throw BadInput(name + ": the matrix contains a NaN or an infinity");
        }
    }
    IntegerMatrix out;
    out.m = w.rows();
    out.n = w.cols();
    out.rank = k;
    const SingularComponents top = named_components(w, k, name);
    const std::vector<double> beta = round_right_factor(top, out);
    std::vector<double> residual(out.n);
    std::vector<double> factor(k);
    for (std::size_t i = 0; i < out.m; ++i) {
        const double row_norm = norm(w.row(i));
        if (row_norm == 0) {
            // Then R_i = 0 and u_c[i] = 0 exactly; what the decomposition has there is rounding.
            std::fill(residual.begin(), residual.end(), 0.0);
            std::fill(factor.begin(), factor.end(), 0.0);
        } else {
            residual_row(w.row(i), top, i, residual);
            for (std::size_t c = 0; c < k; ++c)
                factor[c] = top.u[i * k + c] * top.sigma[c] * beta[c];
        }
        round_row(factor, residual, row_norm, out);
    }
    if (!fits_64_bits(out, smallest_qa_max)) {
        throw BadInput(name + ": products of the integer model do not fit 64 bits at rank " +
                       std::to_string(k) + "; choose another rank for this matrix");
    }
    return out;
}

std::uint64_t largest_row_norm(const IntegerMatrix& matrix) {
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < matrix.m; ++i) {
        std::uint64_t norm = 0;
        for (std::size_t j = 0; j < matrix.n; ++j) {
            const std::int32_t weight = matrix.residual[i * matrix.n + j];
            norm += static_cast<std::uint64_t>(weight < 0 ? -weight : weight);
        }
        largest = std::max(largest, norm);
    }
    return largest;
}

std::uint64_t largest_product(Profile profile) {
    return ((profile == Profile::p61 ? kernels::P61::p : kernels::P31::p) - 1) / 2;
}

// ENC-4: with this qa_max, 2 qa_max max_i ||W_D[i]||_1 + 1 <= 2 (p - 1) / 2 + 1 = p = L.
std::int32_t largest_activation(Profile profile, std::uint64_t largest_row_norm) {
    constexpr std::uint64_t widest = 32767;
    if (largest_row_norm == 0) return widest;
    return static_cast<std::int32_t>(std::min(widest, largest_product(profile) / largest_row_norm));
}

bool fits_64_bits(const IntegerMatrix& matrix, std::int32_t qa_max) {
    return largest_integer_row_norm(matrix) * qa_max <= std::numeric_limits<std::int64_t>::max();
}

std::vector<std::int64_t> integer_weights(MatrixView<const std::int8_t> residual,
                                          MatrixView<const std::int32_t> a,
                                          MatrixView<const std::int16_t> b) {
    const std::size_t m = residual.rows();
    const std::size_t n = residual.cols();
    require(a.rows() == m && b.cols() == n && a.cols() == b.rows(),
            "integer_weights: the shapes do not match");
    std::vector<std::int64_t> weights(m * n);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            Int128 sum = Int128{residual.row(i)[j]} << residual_shift;  // DECO-1
            for (std::size_t c = 0; c < a.cols(); ++c) sum += Int128{a.row(i)[c]} * b.row(c)[j];
            weights[i * n + j] = static_cast<std::int64_t>(sum);
        }
    }
    return weights;
}

}  // namespace slip
