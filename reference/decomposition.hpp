// Model decomposition via SVD (the paper's Section `sec:SVD`), and the plan that says where.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reference/integer_model.hpp"
#include "reference/randomness.hpp"

namespace slip::reference {

/// W_C = U diag(s) V^T: the k largest singular components of W (m x n), largest first.
struct SingularComponents {
    Eigen::MatrixXd U;  ///< m x k, orthonormal columns u_c
    Eigen::VectorXd s;  ///< k, s_0 >= s_1 >= ... >= 0
    Eigen::MatrixXd V;  ///< n x k, orthonormal columns v_c
};

/// DECO-2. The rank that is really kept for an m x n matrix: min(k, min(m, n) - 1). A caller who
/// asked for more can see it from the result. Error: k < 0 or an empty matrix.
int retained_rank(std::size_t m, std::size_t n, int k);

/// DECO-2. The top-k part of W = U S V^T, with k cut to retained_rank; k = 0 gives no components.
/// Errors: k < 0, an empty W, an entry that is NaN or infinite.
SingularComponents top_components(const Eigen::MatrixXd& W, int k);

/// DECO-9. k of the numbers 0, ..., n - 1, sorted; under uniform bytes each set is equally likely.
/// Starting from p = (0, ..., n - 1), entry c = 0, ..., k - 1 changes places with entry c + t,
/// where t is uniform on 0, ..., n - c - 1 (RAND-2 with L = n - c; L = 1 draws nothing); the first
/// k entries are chosen. Error: k > n.
std::vector<std::size_t> choose(std::size_t k, std::size_t n, ByteSource& bytes);

/// What Charlie keeps of a matrix (the paper's alternatives, `table:alternatives`).
enum class Strategy {
    lsc,     ///< the k largest singular components
    rcs,     ///< k singular components at random
    norm,    ///< the k columns of largest norm
    random,  ///< k columns at random
    fms,     ///< the whole matrix, if k >= 1
};

/// DECO-8. W_C = U diag(s) V^T by strategy, for k as retained_rank gives it. The terms need not be
/// singular components: the columns of V are unit vectors for columns of W. `bytes` is read by the
/// strategies that choose at random, and by no other. Errors: as top_components.
SingularComponents kept_part(Strategy strategy, const Eigen::MatrixXd& W, int k, ByteSource& bytes);

/// DECO-3. beta_c = float32(max_j |v_c[j]| / 2047), the scale of component c.
float component_scale(const Eigen::VectorXd& v_c);

/// DECO-3. What the step of a row of W_D is 127th part of: max_j |R(i, j)|, or with `weight_norm`,
/// B_w of lattice masks, 127 ||R_i|| / (B_w - (sqrt(n) + 1) / 2) if that is more: rounding adds at
/// most sqrt(n) / 2 to the 2-norm of a row. Error: B_w leaves no room for it.
double largest_residual(const Eigen::VectorXd& R_i, std::optional<double> weight_norm);

/// DECO-3, DECO-4. delta_i, the float scale of a row of the integer model:
///
///     d_i     = largest_residual / 127                 the row's step of W_D
///     f_i     = max(largest_factor / (2047 * 2^20),    the floors, so that A fits its width
///                   row_norm / 2^46)                   and products fit 64 bits (ENC-5)
///     delta_i = float32(max(d_i / 2^t, f_i)), at least FLT_MIN, and the next float if below f_i
///
/// and delta_i = 1 for a zero row, d_i = f_i = 0. Error: a scale beyond binary32.
///
/// @param largest_residual as that function says; max_j |R(i, j)| with uniform masks
/// @param largest_factor   max_c |u_c[i] s_c beta_c|, 0 if k = 0
/// @param row_norm         sum_j |W(i, j)|, added up in the order of j
float row_scale(double largest_residual, double largest_factor, double row_norm);

/// DECO-3. e_i, the exponent of a row of A: the least e >= 0 with
/// round(largest_factor / (delta_i 2^e)) <= 2047. It is at most 20 if delta_i is row_scale's.
unsigned factor_exponent(double largest_factor, float delta);

/// DECO-3, DECO-4. The integer model of W for given components of W (from any SVD):
///
///     B(c, j)   = round(v_c[j] / beta_c)
///     R         = W - U diag(s) V^T
///     A(i, c)   = 2^e_i round(u_c[i] s_c beta_c / (delta_i 2^e_i))
///     W_D(i, j) = clamp(round(R(i, j) / (delta_i 2^t)), -127, 127)
///
/// in binary64. Then diag(delta) (2^t W_D + A B) is close to W: each entry is off by half a step
/// of W_D, delta_i 2^(t-1), and by what rounding the factors adds.
///
/// With `weight_norm`, B_w of lattice masks (PARAM-5), no row of W_D has a larger 2-norm.
IntegerModel encode(const Eigen::MatrixXd& W, const SingularComponents& top,
                    std::optional<double> weight_norm = std::nullopt);

/// DECO-1, DECO-2, DECO-3. encode(W, top_components(W, k), weight_norm).
IntegerModel decompose(const Eigen::MatrixXd& W, int k,
                       std::optional<double> weight_norm = std::nullopt);

/// A triplet [block, layer_type, K] of a plan (the paper's Section `Model Decomposition Strategy`).
/// No block: a layer outside the blocks, such as lm_head.
struct Triplet {
    std::optional<int> block;
    std::string layer_type;
    int K;
};

using Plan = std::vector<Triplet>;

/// A place in a model that has a weight matrix.
using LayerName = std::pair<std::optional<int>, std::string>;

/// DECO-6. Error: the plan names a place that is not among `layers`, names one twice, or K < 0.
void require_valid(const Plan& plan, const std::vector<LayerName>& layers);

/// DECO-6. K of the triplet that names `layer`, and 0 if none does.
int planned_rank(const Plan& plan, const LayerName& layer);

}  // namespace slip::reference
