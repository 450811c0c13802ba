// A hidden matrix (HIDE-1) whose noise stays in what is served, or is left out: `d` products with
// known columns are `ell` exact equations for a row of V, and V takes U away.
#include <NTL/mat_lzz_p.h>

#include <algorithm>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/hidden_matrix.hpp"
#include "experiments/attacks/lattice_messages.hpp"
#include "experiments/attacks/ring_solver.hpp"
#include "experiments/attacks/runs.hpp"
#include "optimized/base/hidden_widths.hpp"

namespace slip::attacks {
namespace {

using base::parameters::primes;

template <class A, class B>
std::int64_t dot(std::span<const A> a, std::span<const B> b) {
    std::int64_t sum = 0;
    for (std::size_t j = 0; j < a.size(); ++j) sum += std::int64_t{a[j]} * b[j];
    return sum;
}

/// Row 0 of V from what a product of the first N rows leaves of V^T U q, for d columns q.
/// `noise`: whether David is given (W' + tau E) q, instead of W' q.
std::optional<std::vector<int>> secret_from_products(const HiddenMatrix& hidden, bool noise,
                                                     std::mt19937_64& random) {
    constexpr std::size_t p = 0;
    RingEquations equations(hidden_set().lattice->rank, primes[p]);
    std::uniform_int_distribution<int> entry(-100, 100);
    while (!equations.complete()) {
        std::vector<int> q(hidden.n());
        for (int& x : q) x = entry(random);
        const std::span<const int> column(q);
        std::vector<int> U_q;
        for (std::size_t l = 0; l < hidden_set().public_rows(); ++l) {
            U_q.push_back(residue_of(dot(hidden.public_row(l, p), column), p));
        }
        for (std::size_t i = 0; i < masks::degree; ++i) {
            std::int64_t product = dot(hidden.integer_row(i), column);
            if (noise) {
                product += hidden.tau() % primes[p] * dot(hidden.noise_row(i), column);
            }
            equations.add(std::span<const int>(U_q), i,
                          dot(hidden.davids_row(i, p), column) - product);
        }
    }
    return equations.solve();
}

/// An entry of W' from A - V^T U, whatever its noise was; `unknown` if nothing small explains it.
int entry_of(const HiddenMatrix& hidden, std::span<const int> residues) {
    const int most = base::hidden_width(hidden.n()).norm;
    for (const int noise : {0, 1, -1}) {
        const auto residue = [&](std::size_t p) {
            return residue_of(residues[p] - hidden.tau() % primes[p] * noise, p);
        };
        const int found = joined(residue(0), residue(1));
        const bool consistent = std::abs(found) <= most && residue_of(found, 2) == residue(2) &&
                                residue_of(found, 3) == residue(3);
        if (consistent) return found;
    }
    return unknown;
}

/// The share of the first N rows that is wrong.
double wrong_entries(const HiddenMatrix& hidden, std::span<const int> V) {
    double wrong = 0;
    for (std::size_t j = 0; j < hidden.n(); ++j) {
        std::vector<int> column(4 * hidden_set().public_rows());  // of U, plane after plane
        for (std::size_t at = 0; at < column.size(); ++at) {
            const std::size_t ell = hidden_set().public_rows();
            column[at] = hidden.public_row(at % ell, at / ell)[j];
        }
        for (std::size_t i = 0; i < masks::degree; ++i) {
            std::array<int, 4> residues{};
            for (std::size_t p = 0; p < residues.size(); ++p) {
                const auto of_plane = std::span<const int>(column).subspan(
                    p * hidden_set().public_rows(), hidden_set().public_rows());
                residues[p] =
                    residue_of(hidden.davids_row(i, p)[j] - ring_product(of_plane, V, i), p);
            }
            wrong += entry_of(hidden, residues) != hidden.integer_row(i)[j];
        }
    }
    return wrong / static_cast<double>(masks::degree * hidden.n());
}

Outcome few_columns(const Setting& setting, bool noise_stays) {
    std::mt19937_64 random(setting.seed + 4);
    const RowMajor W = weights_of(setting, "model.layers.0.mlp.gate_proj").cast<float>();
    const HiddenMatrix hidden(W.topRows(static_cast<Eigen::Index>(masks::degree)), random);
    const auto V = secret_from_products(hidden, noise_stays, random);
    const std::size_t columns = hidden_set().lattice->rank;
    return {V ? wrong_entries(hidden, *V) : 1, 0, columns,
            std::to_string(columns) + " products with known columns; " +
                std::to_string(masks::degree) + " rows of " + std::to_string(hidden.n()) +
                " entries"};
}

/// The rank modulo a prime of what is left of A if W' is taken away. Modulo a prime that is all of
/// V^T U + tau E. `noise`: whether E is there.
long rank_of_rest(const HiddenMatrix& hidden, bool noise) {
    constexpr std::size_t p = 0;
    NTL::zz_p::init(primes[p]);
    NTL::mat_zz_p rest;
    rest.SetDims(static_cast<long>(hidden.m()), static_cast<long>(hidden.n()));
    for (std::size_t i = 0; i < hidden.m(); ++i) {
        for (std::size_t j = 0; j < hidden.n(); ++j) {
            std::int64_t left = hidden.davids_row(i, p)[j] - hidden.integer_row(i)[j];
            if (!noise) left -= hidden.tau() % primes[p] * hidden.noise_row(i)[j];
            rest[static_cast<long>(i)][static_cast<long>(j)] = residue_of(left, p);
        }
    }
    return NTL::gauss(rest);
}

struct Ranks {
    long without_noise, with_noise;
};

/// rank_of_rest() of a matrix with more rows and columns than U has rows, which is hidden once.
const Ranks& ranks_of_rest(const Setting& setting, Eigen::Index size) {
    static const Ranks ranks = [&] {
        std::mt19937_64 random(setting.seed + 5);
        std::normal_distribution<float> normal;
        const RowMajor W = RowMajor::NullaryExpr(size, size, [&] { return normal(random); });
        const HiddenMatrix hidden(W, random);
        return Ranks{rank_of_rest(hidden, false), rank_of_rest(hidden, true)};
    }();
    return ranks;
}

Outcome rank_distinguisher(const Setting& setting, bool noise) {
    const auto size = static_cast<Eigen::Index>(hidden_set().public_rows() + masks::degree);
    const Ranks& ranks = ranks_of_rest(setting, size);
    const long rank = noise ? ranks.with_noise : ranks.without_noise;
    const auto full = static_cast<double>(size), ell = full - static_cast<double>(masks::degree);
    return {static_cast<double>(rank) / full, ell / full, 1,
            "rank " + std::to_string(rank) + " of " + std::to_string(size)};
}

}  // namespace

Outcome exact_products_twin(const Setting& setting) { return few_columns(setting, true); }
Outcome exact_products_hidden(const Setting& setting) { return few_columns(setting, false); }
Outcome rank_distinguisher_twin(const Setting& setting) {
    return rank_distinguisher(setting, false);
}
Outcome rank_distinguisher_hidden(const Setting& setting) {
    return rank_distinguisher(setting, true);
}

}  // namespace slip::attacks
