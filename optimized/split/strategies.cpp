#include "optimized/split/strategies.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "optimized/base/error.hpp"

namespace slip {
namespace {

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

using KeptPart = Components (*)(MatrixView<const float> w, std::size_t k, const ByteSource& random,
                                std::size_t threads);

Components largest_components(MatrixView<const float> w, std::size_t k, const ByteSource& /*none*/,
                              std::size_t threads) {
    return top_singular_components(w, k, threads);
}

Components random_components(MatrixView<const float> w, std::size_t k, const ByteSource& random,
                             std::size_t threads) {
    return singular_components(w, choose(k, std::min(w.rows(), w.cols()), random), threads);
}

Components largest_columns(MatrixView<const float> w, std::size_t k, const ByteSource& /*none*/,
                           std::size_t /*none*/) {
    return columns_of(w, columns_of_largest_norm(w, k));
}

Components random_columns(MatrixView<const float> w, std::size_t k, const ByteSource& random,
                          std::size_t /*none*/) {
    return columns_of(w, choose(k, w.cols(), random));
}

/// Along the shorter side, so that there are min(m, n) terms.
Components whole_matrix(MatrixView<const float> w, std::size_t k, const ByteSource& /*none*/,
                        std::size_t /*none*/) {
    if (k == 0) return {};
    if (w.rows() < w.cols()) return rows_of(w);
    std::vector<std::size_t> all(w.cols());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return columns_of(w, all);
}

struct Description {
    Strategy strategy;
    const char* name;
    bool uses_randomness;
    KeptPart kept_part;
    const char* leak;
};

constexpr std::array descriptions = {
    Description{Strategy::lsc, "lsc", false, largest_components,
                "LSC leaves the null space of W_D visible: it shows the spaces that W_C lives in, "
                "and only k (|m - n| + k) unknowns of W_C are left"},
    Description{Strategy::rcs, "rcs", true, random_components,
                "RCS leaves the null space of W_D visible, so only k (|m - n| + k) unknowns of W_C "
                "are left, and the gaps in W_D's spectrum tell their sizes; the largest components "
                "are likely David's"},
    Description{Strategy::norm, "norm", false, largest_columns,
                "Norm CS leaves zero columns in W_D: David sees which inputs' weights are hidden; "
                "all their k m entries are unknown, and all other columns are his"},
    Description{
        Strategy::random, "random", true, random_columns,
        "Random CS leaves zero columns in W_D: David sees which inputs' weights are hidden; "
        "all their k m entries are unknown, and all other columns are his"},
    Description{Strategy::fms, "fms", false, whole_matrix,
                "FMS keeps whole matrices: David sees which ones, as zeros, and holds every other "
                "matrix whole; a kept matrix costs Charlie more than the unsplit one"},
};

const Description& describe(Strategy strategy) {
    return descriptions[static_cast<std::size_t>(strategy)];
}

}  // namespace

const char* name_of(Strategy strategy) { return describe(strategy).name; }

std::optional<Strategy> strategy_named(std::string_view name) {
    for (const Description& description : descriptions) {
        if (description.name == name) return description.strategy;
    }
    return std::nullopt;
}

bool uses_randomness(Strategy strategy) { return describe(strategy).uses_randomness; }

const char* leak_of(Strategy strategy) { return describe(strategy).leak; }

std::size_t largest_rank(Strategy strategy, std::size_t m, std::size_t n) {
    return std::min(m, n) - (strategy == Strategy::fms ? 0 : 1);
}

std::size_t kept_terms(Strategy strategy, std::size_t k, std::size_t m, std::size_t n) {
    return strategy == Strategy::fms && k > 0 ? std::min(m, n) : k;
}

std::size_t unknowns_left(Strategy strategy, std::size_t rank, std::size_t m, std::size_t n) {
    switch (strategy) {
        case Strategy::lsc:
        case Strategy::rcs:
            return rank * ((m > n ? m - n : n - m) + rank);
        case Strategy::norm:
        case Strategy::random:
            return rank * m;
        case Strategy::fms:
            return rank > 0 ? m * n : 0;
    }
    throw InternalError("unknowns_left: no such strategy");
}

Components kept_part(Strategy strategy, MatrixView<const float> w, std::size_t k,
                     const ByteSource& random, std::size_t threads) {
    require(k <= largest_rank(strategy, w.rows(), w.cols()),
            "kept_part: the rank is above what the strategy has");
    return describe(strategy).kept_part(w, k, random, threads);
}

}  // namespace slip
