#include "experiments/attacks/small_lwe.hpp"

#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "experiments/attacks/lattice_messages.hpp"
#include "experiments/attacks/split_matrix.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/masks/lattice_stock.hpp"
#include "optimized/masks/noise.hpp"
#include "optimized/secrets/weight_secrets.hpp"
#include "optimized/split/hidden_matrix.hpp"
#include "optimized/split/hint.hpp"

namespace slip::attacks {
namespace {

using masks::degree;
using Seed = masks::PublicMatrix::Seed;
/// Row j of T, or column j of U, modulo the first prime: d N residues.
using PublicRow = std::vector<std::uint8_t>;

std::size_t elements() { return hidden_set().lattice->rank; }

/// 1 / x modulo the first prime.
long inverse(std::uint64_t x) {
    const long factor = static_cast<long>(x % SmallLwe::q);
    long y = 1;
    while (factor * y % SmallLwe::q != 1) ++y;
    return y;
}

/// Tells secrets of R^d but for `ell` coordinates: number c multiplies coefficient floor(c / d) of
/// element c mod d of a public row.
class Telling {
public:
    Telling(std::size_t ell, std::vector<PublicRow> publics, std::uint64_t noise_factor)
        : ell_(ell), publics_(std::move(publics)), to_noise_(inverse(noise_factor)) {
        for (const PublicRow& row : publics_) {
            auto& own = problem_.P.emplace_back();
            for (std::size_t c = 0; c < ell_; ++c) {
                own.push_back(row[c % elements() * degree + c / elements()] * to_noise_ %
                              SmallLwe::q);
            }
        }
    }

    /// Whether coefficient i of products depends on coordinates that no other has for its own.
    bool uses(std::size_t i) const { return (i + 1) % ((ell_ + elements() - 1) / elements()) == 0; }

    /// values[j]: coefficient i of the product of public row j and the secret, with noise.
    void add(std::vector<int> secret, std::size_t i, std::span<const int> values) {
        SmallLwe::Target& target = problem_.targets.emplace_back();
        for (std::size_t c = 0; c < ell_; ++c) {
            int& coordinate = secret[c % elements() * degree + i - c / elements()];
            target.s.push_back(std::exchange(coordinate, 0));
        }
        for (std::size_t j = 0; j < publics_.size(); ++j) {
            const std::span<const std::uint8_t> row(publics_[j]);
            const long left = residue_of(values[j] - ring_product(row, secret, i), 0);
            target.b.push_back(left * to_noise_ % SmallLwe::q);
        }
    }

    /// Rows of a matrix, or messages, that have `targets` targets, in whole blocks.
    std::size_t rows_for(std::size_t targets) const {
        std::size_t per_block = 0;
        for (std::size_t i = 0; i < degree; ++i) per_block += uses(i);
        return (targets + per_block - 1) / per_block * degree;
    }
    std::size_t count() const { return problem_.targets.size(); }
    SmallLwe problem() && { return std::move(problem_); }

private:
    std::size_t ell_;
    std::vector<PublicRow> publics_;
    long to_noise_;
    SmallLwe problem_;
};

std::vector<PublicRow> rows_of_T(const Seed& seed, std::size_t n) {
    const PublicRows T(seed, n);
    std::vector<PublicRow> rows;
    for (std::size_t j = 0; j < n; ++j) rows.emplace_back(T.row(j, 0).begin(), T.row(j, 0).end());
    return rows;
}

std::vector<PublicRow> columns_of_U(const Seed& seed, std::size_t n) {
    const std::vector<std::int8_t> U = masks::public_rows_by_plane(hidden_set(), seed, n);
    std::vector<PublicRow> columns(n);
    for (std::size_t at = 0; at < hidden_set().public_rows() * n; ++at) {
        columns[at % n].push_back(static_cast<std::uint8_t>(residue_of(U[at], 0)));
    }
    return columns;
}

/// W' of random weights.
splitting::HiddenModel drawn_model(std::size_t rows, std::size_t n, std::mt19937_64& random) {
    std::normal_distribution<float> normal;
    const RowMajor W =
        RowMajor::NullaryExpr(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(n),
                              [&] { return normal(random); });
    splitting::HiddenModel model{.n = n, .entries = {}, .row_scale = {}};
    model.append(view_of(W));
    return model;
}

/// S of a block under the key of a process (MASK-7).
std::vector<int> secret_of_block(std::span<const std::uint8_t> key, std::uint64_t block) {
    const unsigned eta = hidden_set().lattice->eta;
    std::vector<std::int8_t> S(hidden_set().public_rows());
    std::vector<std::uint8_t> stream(masks::noise_bytes(S.size(), eta));
    masks::Keystream({.given_keys = key}).draw_bytes(masks::Purpose::block_secret, block, stream);
    masks::decode_small(stream, eta, S);
    return {S.begin(), S.end()};
}

}  // namespace

SmallLwe lwe_of_messages(std::size_t ell, std::size_t samples, std::size_t targets,
                         std::mt19937_64& random) {
    const auto seed = drawn_bytes<Seed>(random);
    const auto key = drawn_bytes<std::array<std::uint8_t, 32>>(random);
    // A message is q and a mask; q is known, so it may as well be 0.
    const std::vector<std::uint8_t> hint(splitting::hint_row_bytes(hidden_set()));
    masks::LatticeOptions options;
    options.ahead = false;
    options.keys.given_keys = key;
    masks::LatticeStock stock(
        hidden_set(), seed,
        {{.shape = {.rows = 1, .n = samples}, .hint = hint, .require_hint = {}}}, options);
    Telling telling(ell, rows_of_T(seed, samples), base::tau_at(hidden_set(), samples));
    while (telling.count() < targets) {
        std::vector<masks::Mask> masks;
        stock.take(0, degree, masks);
        for (masks::Mask& mask : masks) {
            const auto spent = std::move(mask).spend();
            const std::size_t i = spent.index % degree;
            if (!telling.uses(i) || telling.count() == targets) continue;
            const std::vector<int> message(
                spent.mask.data(), spent.mask.data() + static_cast<std::ptrdiff_t>(samples));
            telling.add(secret_of_block(key, spent.index / degree), i, message);
        }
    }
    return std::move(telling).problem();
}

SmallLwe lwe_of_rows(std::size_t ell, std::size_t samples, std::size_t targets,
                     std::mt19937_64& random) {
    const auto seed = drawn_bytes<Seed>(random);
    const auto secret = drawn_bytes<std::array<std::uint8_t, 32>>(random);
    Telling telling(ell, columns_of_U(seed, samples), base::tau_at(hidden_set(), samples));
    const splitting::HiddenModel model = drawn_model(telling.rows_for(targets), samples, random);
    const auto key = splitting::hiding_key(hidden_set(), secret, seed, 0, model);
    const auto V = secrets::WeightStreams(hidden_set(), key.span()).weight_secret(model.rows());
    const auto use = [&](const splitting::HiddenRows& hidden) {
        for (std::size_t row = 0; row < hidden.count; ++row) {
            const std::size_t i = hidden.first + row, in_block = i % degree;
            if (!telling.uses(in_block) || telling.count() == targets) continue;
            std::vector<int> values;
            for (std::size_t j = 0; j < samples; ++j) {
                values.push_back(hidden.davids[row * samples + j] - model.view().row(i)[j]);
            }
            const auto own = V.span().subspan(i / degree * hidden_set().public_rows(),
                                              hidden_set().public_rows());
            telling.add({own.begin(), own.end()}, in_block, values);
        }
    };
    splitting::hide({hidden_set(), seed, samples}, model, key.span(), secret, 1, use);
    return std::move(telling).problem();
}

std::vector<SmallLwe::Target> textbook_targets(const SmallLwe& problem, std::size_t count,
                                               std::mt19937_64& random, bool exact) {
    std::vector<SmallLwe::Target> targets(count);
    for (auto& [s, b] : targets) {
        s = small_integers(static_cast<std::size_t>(problem.dimension()), random);
        std::vector<int> e = small_integers(problem.P.size(), random);
        if (exact) e.assign(e.size(), 0);
        for (std::size_t j = 0; j < problem.P.size(); ++j) {
            b.push_back(residue_of(
                std::inner_product(s.begin(), s.end(), problem.P[j].begin(), std::int64_t{e[j]}),
                0));
        }
    }
    return targets;
}

std::vector<SmallLwe::Target> uniform_targets(const SmallLwe& problem, std::size_t count,
                                              std::mt19937_64& random) {
    std::uniform_int_distribution<long> residue(0, SmallLwe::q - 1);
    std::vector<SmallLwe::Target> targets(count);
    for (SmallLwe::Target& target : targets) {
        for (std::size_t j = 0; j < problem.P.size(); ++j) target.b.push_back(residue(random));
    }
    return targets;
}

}  // namespace slip::attacks
