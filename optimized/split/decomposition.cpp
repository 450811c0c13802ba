#include "optimized/split/decomposition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "optimized/base/error.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/kernels/contracts.hpp"

namespace slip::splitting {
namespace {

namespace parameters = base::parameters;
using base::MatrixView;

/// Wide enough for any sum of W_int (ENC-5).
__extension__ using Int128 = __int128;

constexpr double shift_factor = std::int64_t{1} << parameters::residual_shift;  // 2^t
using base::parameters::largest_factor;
using base::parameters::largest_weight;
constexpr double largest_a = std::int64_t{largest_factor} << parameters::largest_row_exponent;

// --- rounding ------------------------------------------------------------------------------------

double largest_magnitude(std::span<const double> values) {
    double largest = 0;
    for (const double value : values) largest = std::max(largest, std::abs(value));
    return largest;
}

/// B and beta from V: DECO-3.
std::vector<double> round_right_factor(const Components& part, IntegerMatrix& out) {
    std::vector<double> beta(out.rank);
    for (std::size_t c = 0; c < out.rank; ++c) {
        const std::span<const double> v(part.v.data() + c * out.n, out.n);
        beta[c] = static_cast<float>(largest_magnitude(v) / largest_factor);
        for (const double element : v) {
            out.b.push_back(static_cast<std::int16_t>(round_half_even(element / beta[c])));
        }
    }
    return beta;
}

/// sum_j |w[j]|.
double norm(std::span<const float> row) {
    double sum = 0;
    for (const float element : row) sum += std::abs(double{element});
    return sum;
}

/// Rounds a matrix row by row: DECO-3, DECO-4. Rows are independent of each other.
class Rows {
public:
    Rows(MatrixView<const float> w, const Components& part, std::vector<double> beta,
         double weight_norm, IntegerMatrix& out)
        : w_(w), part_(part), beta_(std::move(beta)), weight_norm_(weight_norm), out_(out) {
        for (std::size_t c = 0; c < part.sigma.size(); ++c) {
            supports_.push_back(support_of({part.v.data() + c * w.cols(), w.cols()}));
        }
    }

    void round(std::size_t first, std::size_t count) const {
        std::vector<double> residual(w_.cols());
        std::vector<double> factor(part_.sigma.size());
        for (std::size_t i = first; i < first + count; ++i) {
            const double row_norm = norm(w_.row(i));
            if (row_norm == 0) {
                // Then R_i = 0 and u_c[i] = 0 exactly; what the decomposition has there is
                // rounding.
                std::fill(residual.begin(), residual.end(), 0.0);
                std::fill(factor.begin(), factor.end(), 0.0);
            } else {
                subtract_part(i, residual);
                scale_part(i, factor);
            }
            round_row(i, factor, residual, row_norm);
        }
    }

private:
    /// Where v_c is not 0: one entry, for a column.
    struct Support {
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    static Support support_of(std::span<const double> v) {
        const auto nonzero = [](double x) { return x != 0; };
        const auto first = std::find_if(v.begin(), v.end(), nonzero);
        const auto last = std::find_if(v.rbegin(), v.rend(), nonzero).base();
        if (first == v.end()) return {};
        return {static_cast<std::size_t>(first - v.begin()),
                static_cast<std::size_t>(last - v.begin())};
    }

    /// R[i] = W[i] - U_k[i] S_k V_k^T.
    void subtract_part(std::size_t i, std::span<double> residual) const {
        const auto row = w_.row(i);
        std::copy(row.begin(), row.end(), residual.begin());
        const std::size_t k = part_.sigma.size();
        for (std::size_t c = 0; c < k; ++c) {
            const double us = part_.u[i * k + c] * part_.sigma[c];
            if (us == 0) continue;
            const double* v = part_.v.data() + c * residual.size();
            for (std::size_t j = supports_[c].begin; j < supports_[c].end; ++j) {
                residual[j] -= us * v[j];
            }
        }
    }
    /// u_c[i] s_c beta_c.
    void scale_part(std::size_t i, std::span<double> factor) const {
        const std::size_t k = factor.size();
        for (std::size_t c = 0; c < k; ++c) {
            factor[c] = part_.u[i * k + c] * part_.sigma[c] * beta_[c];
        }
    }
    /// Row i of A and of W_D and its scale.
    void round_row(std::size_t i, std::span<const double> factor, std::span<const double> residual,
                   double row_norm) const {
        const float delta = row_scale(largest_of_residual(residual, weight_norm_),
                                      largest_magnitude(factor), row_norm);
        out_.row_scale[i] = delta;
        out_.exponent[i] = round_factor(factor, delta, out_.a.data() + i * factor.size());
        const double step = delta * shift_factor;
        for (std::size_t j = 0; j < residual.size(); ++j) {
            const double rounded = round_half_even(residual[j] / step);
            out_.residual[i * residual.size() + j] = static_cast<std::int8_t>(
                std::clamp<double>(rounded, -largest_weight, largest_weight));
        }
    }

    /// A row of A: 12 bits, and returned, the least exponent that leaves no more.
    static std::int8_t round_factor(std::span<const double> factor, double delta,
                                    std::int16_t* row) {
        const double largest = largest_magnitude(factor);
        std::int8_t exponent = 0;
        double unit = delta;  // delta 2^e, exactly
        while (round_half_even(largest / unit) > largest_factor) {
            unit *= 2;
            ++exponent;
        }
        for (std::size_t c = 0; c < factor.size(); ++c) {
            row[c] = static_cast<std::int16_t>(round_half_even(factor[c] / unit));
        }
        return exponent;
    }

    MatrixView<const float> w_;
    const Components& part_;
    std::vector<double> beta_;
    double weight_norm_;
    std::vector<Support> supports_;
    IntegerMatrix& out_;
};

/// max_i ||W_D[i]||_1.
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

/// A bound on max_i ||W_int[i]||_1, in m (n + k) steps: the triangle inequality on each row.
double bound_on_row_norm(const IntegerMatrix& matrix) {
    std::vector<double> b_norms(matrix.rank);
    for (std::size_t c = 0; c < matrix.rank; ++c) {
        for (std::size_t j = 0; j < matrix.n; ++j) {
            b_norms[c] += std::abs(static_cast<double>(matrix.b[c * matrix.n + j]));
        }
    }
    const artifact::LeftFactor a = matrix.left_factor();
    double largest = 0;
    for (std::size_t i = 0; i < matrix.m; ++i) {
        double bound = 0;
        for (std::size_t c = 0; c < matrix.rank; ++c) {
            bound += std::abs(static_cast<double>(a(i, c))) * b_norms[c];
        }
        largest = std::max(largest, bound);
    }
    return largest + shift_factor * static_cast<double>(largest_row_norm(matrix));
}

/// max_i ||W_int[i]||_1.
Int128 largest_integer_row_norm(const IntegerMatrix& matrix) {
    const artifact::LeftFactor left = matrix.left_factor();
    Int128 largest = 0;
    std::vector<Int128> row(matrix.n);
    for (std::size_t i = 0; i < matrix.m; ++i) {
        for (std::size_t j = 0; j < matrix.n; ++j) {
            row[j] = Int128{matrix.residual[i * matrix.n + j]} << parameters::residual_shift;
        }
        for (std::size_t c = 0; c < matrix.rank; ++c) {
            const Int128 a = left(i, c);
            for (std::size_t j = 0; j < matrix.n; ++j) row[j] += a * matrix.b[c * matrix.n + j];
        }
        Int128 norm = 0;
        for (const Int128 element : row) norm += element < 0 ? -element : element;
        largest = std::max(largest, norm);
    }
    return largest;
}

}  // namespace

double round_half_even(double x) { return std::nearbyint(x); }

double largest_of_residual(std::span<const double> residual, double weight_norm) {  // DECO-3
    double squares = 0;
    for (const double element : residual) squares += element * element;
    const double rounding = (std::sqrt(static_cast<double>(residual.size())) + 1) / 2;
    return std::max(largest_magnitude(residual),
                    largest_weight * std::sqrt(squares) / (weight_norm - rounding));
}

// The second floor keeps products within 64 bits (ENC-5) however small the residual is, as it is
// when few components are left out: ||W_int[i]||_1 is ||W[i]||_1 / delta_i <= 2^46 but for
// roundings, and 2^46 * 32767 < 2^61. It costs no accuracy: a step of W_D, 2^t delta_i, is then
// 2^-30 of the row's norm.
float row_scale(double largest_residual, double largest_factor_of_row,
                double row_norm) {  // DECO-3, DECO-4
    const double step = largest_residual / largest_weight;
    const double floor =
        std::max(largest_factor_of_row / largest_a, row_norm * parameters::row_norm_floor);
    if (step == 0 && floor == 0) return 1.0f;
    float delta = static_cast<float>(std::max(step / shift_factor, floor));
    delta = std::max(delta, parameters::smallest_row_scale);
    // Rounding to nearest may have gone below the floor, and A would not fit.
    if (delta < floor) delta = std::nextafter(delta, std::numeric_limits<float>::infinity());
    return delta;
}

IntegerMatrix encode(MatrixView<const float> w, const Components& part, const std::string& name,
                     std::size_t threads, double weight_norm) {
    const std::size_t m = w.rows();
    const std::size_t k = part.sigma.size();
    IntegerMatrix out{m, w.cols(), k, {}, {}, {}, {}, {}};
    out.residual.resize(w.size());
    out.a.resize(m * k);
    out.exponent.resize(m);
    out.row_scale.resize(m);
    const Rows rows(w, part, round_right_factor(part, out), weight_norm, out);
    constexpr std::size_t panel = 16;
    base::parallel_for(threads, (m + panel - 1) / panel, [&](std::size_t i) {
        rows.round(i * panel, std::min(panel, m - i * panel));
    });
    if (!fits_64_bits(out, parameters::smallest_activation_norm)) {
        throw BadInput(name + ": products of the integer model do not fit 64 bits at rank " +
                       std::to_string(k) + "; choose another rank for this matrix");
    }
    return out;
}

IntegerMatrix decompose(MatrixView<const float> w, std::size_t k, const std::string& name,
                        const Method& method, std::size_t threads) {
    base::require(w.rows() > 0 && w.cols() > 0, "decompose: the matrix is empty");
    for (const float element : w.elements()) {
        if (!std::isfinite(element)) {  // DECO-5
            throw BadInput(name + ": the matrix contains a NaN or an infinity");
        }
    }
    return encode(w, kept_part(method.strategy, w, k, method.random, threads), name, threads,
                  method.weight_norm);
}

bool fits_64_bits(const IntegerMatrix& matrix, std::int32_t activation_norm) {
    // The bound's own rounding is far below the factor of two that it leaves.
    if (bound_on_row_norm(matrix) * activation_norm <= 0x1p62) return true;
    return largest_integer_row_norm(matrix) * activation_norm <=
           std::numeric_limits<std::int64_t>::max();
}

}  // namespace slip::splitting
