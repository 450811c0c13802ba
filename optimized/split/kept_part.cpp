#include "optimized/split/kept_part.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "optimized/artifact/strategy.hpp"
#include "optimized/base/error.hpp"

namespace slip::splitting {
namespace {

using base::MatrixView;

/// Columns of W: u_c = W e_j, sigma_c = 1, v_c = e_j. Then W - W_C is exactly 0 in these columns.
Components columns_of(MatrixView<const float> w, const std::vector<std::size_t>& columns) {
    const std::size_t k = columns.size();
    Components part{{}, std::vector<double>(k, 1.0), std::vector<double>(k * w.cols(), 0.0)};
    for (std::size_t i = 0; i < w.rows(); ++i) {
        for (const std::size_t column : columns) part.u.push_back(double{w.row(i)[column]});
    }
    for (std::size_t c = 0; c < k; ++c) part.v[c * w.cols() + columns[c]] = 1;
    return part;
}

/// All rows of W: u_c = e_c, sigma_c = max_j |W[c][j]|, v_c = W[c] / sigma_c, and e_0 for a row of
/// zeros.
Components rows_of(MatrixView<const float> w) {
    const std::size_t m = w.rows();
    Components part{std::vector<double>(m * m, 0.0), {}, {}};
    for (std::size_t c = 0; c < m; ++c) {
        part.u[c * m + c] = 1;
        double largest = 0;
        for (const float entry : w.row(c)) largest = std::max(largest, std::abs(double{entry}));
        part.sigma.push_back(largest);
        const std::size_t begin = part.v.size();
        for (const float entry : w.row(c)) {
            part.v.push_back(largest > 0 ? double{entry} / largest : 0.0);
        }
        if (largest == 0) part.v[begin] = 1;
    }
    return part;
}

std::vector<std::size_t> columns_of_largest_norm(MatrixView<const float> w, std::size_t k) {
    std::vector<double> squares(w.cols(), 0.0);
    for (std::size_t i = 0; i < w.rows(); ++i) {
        for (std::size_t j = 0; j < w.cols(); ++j) squares[j] += double{w.row(i)[j]} * w.row(i)[j];
    }
    std::vector<std::size_t> order(w.cols());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return squares[a] > squares[b]; });
    order.resize(k);
    std::sort(order.begin(), order.end());
    return order;
}

/// Along the shorter side, so that there are min(m, n) terms.
Components whole_matrix(MatrixView<const float> w, std::size_t k) {
    if (k == 0) return {};
    if (w.rows() < w.cols()) return rows_of(w);
    std::vector<std::size_t> all(w.cols());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return columns_of(w, all);
}

}  // namespace

Components kept_part(Strategy strategy, MatrixView<const float> w, std::size_t k,
                     const ByteSource& random, std::size_t threads) {
    base::require(k <= artifact::largest_rank(strategy, w.rows(), w.cols()),
                  "kept_part: the rank is above what the strategy has");
    switch (strategy) {
        case Strategy::lsc:
            return top_singular_components(w, k, threads);
        case Strategy::rcs:
            return singular_components(w, choose(k, std::min(w.rows(), w.cols()), random), threads);
        case Strategy::norm:
            return columns_of(w, columns_of_largest_norm(w, k));
        case Strategy::random:
            return columns_of(w, choose(k, w.cols(), random));
        case Strategy::fms:
            return whole_matrix(w, k);
    }
    throw InternalError("kept_part: no such strategy");
}

}  // namespace slip::splitting
