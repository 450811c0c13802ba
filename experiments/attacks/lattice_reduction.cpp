// Lattice reduction on what David sees, in dimensions where it succeeds: the product's messages and
// matrices with all of a secret told but `ell` coordinates of 2304 (small_lwe.hpp).
//
//     samples    b = P s + e mod q,    s and e ternary, m samples in dimension ell
//     primal     {(x, y): x = P y mod q} is near (b, 0), and the difference is (e, -s)
//     dual       {(x, y): x P = y mod q}: for a short one x b = x e + y s is small
#include <NTL/LLL.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <numbers>
#include <optional>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/small_lwe.hpp"

namespace slip::attacks {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Target = SmallLwe::Target;

constexpr double lwe_variance = 0.5;  // of an entry of s and e

/// BKZ with blocks of this size, pruned where it would take long otherwise; LLL for 2.
void reduce(NTL::mat_ZZ& basis, long block) {
    if (block == 2) {
        NTL::G_LLL_FP(basis, 0.99);
    } else {
        NTL::G_BKZ_FP(basis, 0.99, block, block < 30 ? 0 : 12);
    }
}

/// A basis of the dual lattice with y times `weight`: rows (x, weight y).
NTL::mat_ZZ dual_basis(const SmallLwe& problem, long weight) {
    const long m = problem.samples(), ell = problem.dimension();
    NTL::mat_ZZ basis;
    basis.SetDims(m + ell, m + ell);
    for (long j = 0; j < m; ++j) {
        basis[j][j] = 1;
        const auto& row = problem.P[static_cast<std::size_t>(j)];
        for (long c = 0; c < ell; ++c) {
            basis[j][m + c] = weight * row[static_cast<std::size_t>(c)];
        }
    }
    for (long c = 0; c < ell; ++c) basis[m + c][m + c] = weight * SmallLwe::q;
    return basis;
}

/// A basis of the primal lattice with the first m samples: rows (x, y).
NTL::mat_ZZ primal_basis(const SmallLwe& problem, long m) {
    const long ell = problem.dimension();
    NTL::mat_ZZ basis;
    basis.SetDims(m + ell, m + ell);
    for (long j = 0; j < m; ++j) {
        basis[j][j] = SmallLwe::q;
        const auto& row = problem.P[static_cast<std::size_t>(j)];
        for (long c = 0; c < ell; ++c) basis[m + c][j] = row[static_cast<std::size_t>(c)];
    }
    for (long c = 0; c < ell; ++c) basis[m + c][m + c] = 1;
    return basis;
}

// ---- two worlds --------------------------------------------------------------------------------

/// Tells LWE from uniform residues by the reduced dual basis: the sum of cos(2 pi x b / q) over its
/// vectors, each weighted by what is expected of it.
class DualDistinguisher {
public:
    /// `exact`: the samples have no noise, so x may be long.
    DualDistinguisher(const SmallLwe& problem, long block, bool exact) {
        const long m = problem.samples();
        const long weight = exact ? 16 : 1;
        NTL::mat_ZZ basis = dual_basis(problem, weight);
        reduce(basis, block);
        for (long k = 0; k < basis.NumRows(); ++k) {
            const NTL::vec_ZZ& row = basis[k];
            std::vector<long>& x = vectors_.emplace_back();
            double squares = 0;
            for (long j = 0; j < row.length(); ++j) {
                const long entry = NTL::to_long(row[j]);
                if (j < m) x.push_back(entry % SmallLwe::q);
                if (j >= m || !exact) squares += std::pow(entry / (j < m ? 1 : weight), 2);
            }
            expected_.push_back(std::exp(-2 * std::pow(std::numbers::pi / SmallLwe::q, 2) *
                                         squares * lwe_variance));
        }
    }

    bool takes_for_lwe(const Target& target) const {
        double sum = 0, sum_if_lwe = 0;
        for (std::size_t k = 0; k < vectors_.size(); ++k) {
            long product = 0;
            for (std::size_t j = 0; j < target.b.size(); ++j) {
                product += vectors_[k][j] * target.b[j];
            }
            const double angle =
                2 * std::numbers::pi * static_cast<double>(product % SmallLwe::q) / SmallLwe::q;
            sum += expected_[k] * std::cos(angle);
            sum_if_lwe += expected_[k] * expected_[k];
        }
        return sum > sum_if_lwe / 2;
    }

private:
    std::vector<std::vector<long>> vectors_;
    std::vector<double> expected_;
};

/// How many of `all` targets were taken for LWE, with the Wilson interval of 95 %.
struct Share {
    std::size_t taken = 0, all = 0;

    Share(const DualDistinguisher& distinguisher, const std::vector<Target>& targets)
        : all(targets.size()) {
        for (const Target& target : targets) taken += distinguisher.takes_for_lwe(target);
    }
    double value() const { return static_cast<double>(taken) / static_cast<double>(all); }
    std::string text() const {
        constexpr double z = 1.96;
        const auto n = static_cast<double>(all);
        const double centre = value() + z * z / (2 * n), scale = 1 + z * z / n;
        const double half = z * std::sqrt(value() * (1 - value()) / n + z * z / (4 * n * n));
        return figure(100 * value()) + " % (" + figure(100 * std::max(0.0, centre - half) / scale) +
               " to " + figure(100 * (centre + half) / scale) + ")";
    }
};

/// What a distinguisher is tried with. It tells LWE of dimension `near`, and not of `far`.
struct WorldSize {
    std::size_t near, far, samples, targets;
    long block;
};

WorldSize world_size(const Setting& setting) {
    return setting.full ? WorldSize{60, 90, 128, 1000, 16} : WorldSize{42, 64, 80, 100, 2};
}

constexpr double told_apart = 0.3;  // of the errors; a guess makes 0.5

/// The product's samples against textbook LWE, and, where they should be hard, against uniform.
Outcome told_from_textbook(const Setting& setting) {
    const WorldSize size = world_size(setting);
    std::mt19937_64 random(setting.seed + 6);
    Outcome outcome{0.5, told_apart, 4 * size.targets,
                    std::to_string(size.targets) + " targets each"};
    for (const std::size_t ell : {size.near, size.far}) {
        for (const auto& [name, problem] :
             {std::pair{"messages", lwe_of_messages(ell, size.samples, size.targets, random)},
              std::pair{"rows of A", lwe_of_rows(ell, size.samples, size.targets, random)}}) {
            const DualDistinguisher distinguisher(problem, size.block, false);
            const Share product(distinguisher, problem.targets),
                textbook(distinguisher, textbook_targets(problem, size.targets, random)),
                uniform(distinguisher, uniform_targets(problem, size.targets, random));
            double told = std::abs(product.value() - textbook.value());
            if (ell == size.far) told = std::max(told, product.value() - uniform.value());
            outcome.error = std::min(outcome.error, (1 - told) / 2);
            outcome.note += "; ell = " + std::to_string(ell) + ", taken for LWE: " + name + " " +
                            product.text() + ", textbook " + textbook.text() + ", uniform " +
                            uniform.text();
        }
    }
    return outcome;
}

/// INSECURE. A matrix hidden twice under one V and one E with two U, against HIDE-3: the difference
/// is V^T (U - U'), of which U - U' is uniform.
Outcome two_splits_told_from_uniform(const Setting& setting) {
    const WorldSize size = world_size(setting);
    std::mt19937_64 random(setting.seed + 7);
    const SmallLwe problem = lwe_of_messages(size.far, size.samples, 0, random);
    const DualDistinguisher distinguisher(problem, size.block, true);
    const Share exact(distinguisher, textbook_targets(problem, size.targets, random, true)),
        uniform(distinguisher, uniform_targets(problem, size.targets, random));
    return {(1 - exact.value() + uniform.value()) / 2, told_apart, size.targets,
            "ell = " + std::to_string(size.far) + ", taken for LWE: differences " + exact.text() +
                ", uniform " + uniform.text()};
}

// ---- one secret --------------------------------------------------------------------------------

/// Logarithm of the root Hermite factor of BKZ. From 50 on by Chen's formula, as in
/// experiments/hardness; below, what the public lattice estimator has measured, interpolated.
double log_root_hermite(long block) {
    constexpr std::array<std::pair<double, double>, 9> measured{{{2, 1.02190},
                                                                 {5, 1.01862},
                                                                 {10, 1.01616},
                                                                 {15, 1.01485},
                                                                 {20, 1.01420},
                                                                 {25, 1.01342},
                                                                 {28, 1.01331},
                                                                 {40, 1.01295},
                                                                 {50, 1.01206}}};
    const auto beta = static_cast<double>(block);
    if (block >= 50) {
        return (std::log(std::numbers::pi * beta) / beta +
                std::log(beta / (2 * std::numbers::pi * std::numbers::e))) /
               (2 * (beta - 1));
    }
    std::size_t k = 1;
    while (measured[k].first < beta) ++k;
    const auto& [low, at_low] = measured[k - 1];
    const auto& [high, at_high] = measured[k];
    return std::log(at_low + (at_high - at_low) * (beta - low) / (high - low));
}

/// The 2016 condition with the geometric series: the least block size, and the m that suits it.
struct Estimate {
    long block, samples;
};

Estimate estimate(std::size_t ell) {
    const double log_sigma = std::log(lwe_variance) / 2, log_q = std::log(SmallLwe::q);
    for (long block = 2;; ++block) {
        const auto beta = static_cast<double>(block), n = static_cast<double>(ell);
        const auto slack = [&](double m) {
            const double d = m + n + 1;
            return (2 * beta - d - 1) * log_root_hermite(block) + (m * log_q + log_sigma) / d -
                   log_sigma - std::log(beta) / 2;
        };
        double best = 1;
        for (double m = 2; m <= 4 * n; ++m) best = slack(m) > slack(best) ? m : best;
        if (slack(best) >= 0) return {block, static_cast<long>(best)};
    }
}

/// Rows of Kannan's embedding: the primal lattice, and (b, 0, 1).
NTL::mat_ZZ embedded(const NTL::mat_ZZ& primal, const Target& target, long m) {
    const long d = primal.NumRows();
    NTL::mat_ZZ basis;
    basis.SetDims(d + 1, d + 1);
    for (long i = 0; i < d; ++i) {
        for (long j = 0; j < d; ++j) basis[i][j] = primal[i][j];
    }
    for (long j = 0; j < m; ++j) basis[d][j] = target.b[static_cast<std::size_t>(j)];
    basis[d][d] = 1;
    return basis;
}

/// Whether a row is (e, -s, 1) or its negative.
bool has_secret(const NTL::mat_ZZ& basis, const Target& target, long m) {
    for (long k = 0; k < basis.NumRows(); ++k) {
        const NTL::ZZ& sign = basis[k][basis.NumCols() - 1];
        bool same = NTL::abs(sign) == 1;
        for (std::size_t c = 0; same && c < target.s.size(); ++c) {
            same = basis[k][m + static_cast<long>(c)] == -sign * target.s[c];
        }
        if (same) return true;
    }
    return false;
}

/// The block size that finds the secret, of 2, 4, 6, ..., each basis being reduced further; nothing
/// up to `most`.
std::optional<long> needed_block(NTL::mat_ZZ basis, const Target& target, long m, long most) {
    for (long block = 2; block <= most; block += 2) {
        reduce(basis, block);
        if (has_secret(basis, target, m)) return block;
    }
    return std::nullopt;
}

/// Blocks above `most`, which may take hours, are not tried; and blocks up to `most_beyond` do not
/// reach `beyond`.
struct CurveSize {
    std::vector<std::size_t> ells;
    std::size_t trials;
    long most;
    std::size_t beyond;
    long most_beyond;
};

CurveSize curve_size(const Setting& setting) {
    return setting.full ? CurveSize{{50, 60, 70, 80, 90}, 4, 18, 130, 16}
                        : CurveSize{{40, 65}, 2, 6, 90, 2};
}

/// The share of secrets that blocks as large as estimated, and at most `most`, do not find.
Outcome find_secrets(const Setting& setting, const std::vector<std::size_t>& ells,
                     std::size_t trials, long most) {
    std::mt19937_64 random(setting.seed + 8);
    // The estimate is of the block size that finds one secret of two.
    Outcome outcome{0, 0.5, trials * ells.size(), "block sizes"};
    for (const std::size_t ell : ells) {
        const auto [estimated, m] = estimate(ell);
        const long even = estimated + estimated % 2;
        outcome.note += "; ell = " + std::to_string(ell) + ": estimated " +
                        std::to_string(estimated) + ", needed";
        for (std::size_t trial = 0; trial < trials; ++trial) {
            const SmallLwe problem = lwe_of_messages(ell, static_cast<std::size_t>(m), 1, random);
            const Target& target = problem.targets[0];
            const auto needed =
                needed_block(embedded(primal_basis(problem, m), target, m), target, m, most);
            outcome.note +=
                needed ? ' ' + std::to_string(*needed) : " more than " + std::to_string(most);
            outcome.error += !needed || *needed > even;
        }
    }
    outcome.error /= static_cast<double>(outcome.queries);
    return outcome;
}

// ---- many secrets ------------------------------------------------------------------------------

/// Babai's algorithm on a basis, whose vectors and Gram-Schmidt vectors it keeps in columns.
class NearestPlane {
public:
    explicit NearestPlane(const NTL::mat_ZZ& rows) : basis_(rows.NumCols(), rows.NumRows()) {
        for (Index i = 0; i < basis_.cols(); ++i) {
            for (Index j = 0; j < basis_.rows(); ++j) basis_(j, i) = NTL::to_double(rows[i][j]);
        }
        orthogonal_ = basis_;
        for (Index i = 0; i < basis_.cols(); ++i) {
            for (Index k = 0; k < i; ++k) {
                orthogonal_.col(i) -= along(k, orthogonal_.col(i)) * orthogonal_.col(k);
            }
        }
    }

    Index dimension() const { return basis_.cols(); }

    /// `point` less a vector of the lattice near it.
    VectorXd remainder(VectorXd point) const {
        for (Index i = dimension() - 1; i >= 0; --i) {
            point -= std::round(along(i, point)) * basis_.col(i);
        }
        return point;
    }

private:
    /// The length of x along Gram-Schmidt vector i, in multiples of it.
    double along(Index i, const VectorXd& x) const {
        return orthogonal_.col(i).dot(x) / orthogonal_.col(i).squaredNorm();
    }

    MatrixXd basis_, orthogonal_;
};

struct ManySize {
    std::size_t ell, beyond, samples, secrets;
    long block;
};

ManySize many_size(const Setting& setting) {
    return setting.full ? ManySize{50, 90, 128, 1000, 16} : ManySize{36, 72, 80, 50, 2};
}

/// One reduction of the public lattice, and then Babai's algorithm for every secret.
Outcome find_many(const Setting& setting, std::size_t ell) {
    const ManySize size = many_size(setting);
    std::mt19937_64 random(setting.seed + 9);
    const SmallLwe problem = lwe_of_messages(ell, size.samples, size.secrets, random);
    const auto seconds_since = [](std::clock_t start) {  // of this process
        return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    };

    const std::clock_t start = std::clock();
    NTL::mat_ZZ basis = primal_basis(problem, problem.samples());
    reduce(basis, size.block);
    const NearestPlane reduced(basis);
    const double first = seconds_since(start);

    std::size_t found = 0;
    const std::clock_t after = std::clock();
    for (const Target& target : problem.targets) {
        VectorXd point = VectorXd::Zero(reduced.dimension());
        for (std::size_t j = 0; j < target.b.size(); ++j) {
            point(static_cast<Index>(j)) = static_cast<double>(target.b[j]);
        }
        const VectorXd rest = reduced.remainder(point);  // (e, -s)
        bool same = true;
        for (std::size_t c = 0; c < ell; ++c) {
            same = same &&
                   std::lround(rest(problem.samples() + static_cast<Index>(c))) == -target.s[c];
        }
        found += same;
    }
    const auto count = static_cast<double>(size.secrets);
    const double further = seconds_since(after) / count;
    return {1 - static_cast<double>(found) / count, 0.25, size.secrets,
            std::to_string(found) + " of " + std::to_string(size.secrets) +
                " found; ell = " + std::to_string(ell) + ", dimension " +
                std::to_string(reduced.dimension()) + ", blocks of " + std::to_string(size.block) +
                "; the reduction takes " + figure(first) + " s and each secret then " +
                figure(1000 * further) + " ms, a factor of " + figure(first / further)};
}

}  // namespace

Outcome two_worlds_twin(const Setting& setting) { return two_splits_told_from_uniform(setting); }
Outcome two_worlds_hidden(const Setting& setting) { return told_from_textbook(setting); }
Outcome small_lattice_twin(const Setting& setting) {
    const CurveSize size = curve_size(setting);
    return find_secrets(setting, size.ells, size.trials, size.most);
}
Outcome small_lattice_hidden(const Setting& setting) {
    const CurveSize size = curve_size(setting);
    return find_secrets(setting, {size.beyond}, 1, size.most_beyond);
}
Outcome many_secrets_twin(const Setting& setting) {
    return find_many(setting, many_size(setting).ell);
}
Outcome many_secrets_hidden(const Setting& setting) {
    return find_many(setting, many_size(setting).beyond);
}

}  // namespace slip::attacks
