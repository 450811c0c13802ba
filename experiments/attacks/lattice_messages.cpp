#include "experiments/attacks/lattice_messages.hpp"

#include <algorithm>
#include <cmath>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/ring_solver.hpp"
#include "experiments/attacks/weakened_engine.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/masks/lattice_stock.hpp"
#include "optimized/split/hint.hpp"

namespace slip::attacks {

using base::parameters::primes;
using Eigen::Index;
using Eigen::MatrixXi;

const ParameterSet& hidden_set() {
    static const ParameterSet& set = *base::parameters::set_named("hidden");
    return set;
}

std::vector<int> small_integers(std::size_t count, std::mt19937_64& random) {
    std::vector<int> drawn(count);
    for (int& x : drawn) {
        const std::uint64_t bits = random();
        x = static_cast<int>(bits & 1) - static_cast<int>(bits >> 1 & 1);
    }
    return drawn;
}

int residue_of(std::int64_t x, std::size_t p) {
    const int prime = primes[p];
    const int rest = static_cast<int>(x % prime);
    return rest < 0 ? rest + prime : rest;
}

int joined(int residue, int residue_2) {
    constexpr int p = primes[0], p_2 = primes[1];
    int x = residue;
    while (x % p_2 != residue_2) x += p;
    return x > p * p_2 / 2 ? x - p * p_2 : x;
}

PublicRows::PublicRows(const masks::PublicMatrix::Seed& seed, std::size_t width)
    : width_(width), ell_(hidden_set().public_rows()) {
    masks::PublicMatrix T(hidden_set(), seed, width);
    residues_.resize(width * T.row_bytes());
    for (std::size_t j = 0; j < width; ++j) {
        T.expand_planes(j, std::span(residues_).subspan(j * T.row_bytes(), T.row_bytes()));
    }
}

std::span<const std::uint8_t> PublicRows::row(std::size_t j, std::size_t p) const {
    return std::span(residues_).subspan((j * hidden_set().planes + p) * ell_, ell_);
}

struct Process::State {
    State(const masks::PublicMatrix::Seed& seed, std::span<const std::size_t> widths)
        : hint(splitting::hint_row_bytes(hidden_set())),
          stock(hidden_set(), seed, groups(widths), options()) {}

    std::vector<masks::LatticeGroup> groups(std::span<const std::size_t> widths) const {
        std::vector<masks::LatticeGroup> all;
        for (const std::size_t n : widths) {
            all.push_back({.shape = {.rows = 1, .n = n}, .hint = hint, .require_hint = {}});
        }
        return all;
    }
    static masks::LatticeOptions options() {
        masks::LatticeOptions options;
        options.ahead = false;
        return options;
    }

    // Masks alone are looked at, so each group's matrix, and its hint, is of one row of zeros.
    const std::vector<std::uint8_t> hint;
    masks::LatticeStock stock;
};

Process::Process(const masks::PublicMatrix::Seed& seed, std::span<const std::size_t> widths)
    : state_(std::make_unique<State>(seed, widths)) {}
Process::~Process() = default;

MaskedColumns Process::send(const MatrixXi& inputs, base::GroupId group) {
    std::vector<masks::Mask> masks;
    state_->stock.take(group, static_cast<std::size_t>(inputs.cols()), masks);
    MaskedColumns sent;
    for (masks::Mask& mask : masks) {
        const auto spent = std::move(mask).spend();
        const Eigen::Matrix<std::int16_t, Eigen::Dynamic, 1> column =
            inputs.col(static_cast<Index>(sent.size())).cast<std::int16_t>();
        sent.emplace_back(spent.mask.size());
        kernels::active().mask(column.data(), spent.mask.data(),
                               static_cast<std::size_t>(inputs.rows()), hidden_set().planes,
                               sent.back().data());
    }
    return sent;
}

std::vector<MaskedColumns> sent_by_product(const masks::PublicMatrix::Seed& seed,
                                           std::span<const MatrixXi> inputs) {
    std::vector<std::size_t> widths;
    for (const MatrixXi& q : inputs) widths.push_back(static_cast<std::size_t>(q.rows()));
    Process process(seed, widths);
    std::vector<MaskedColumns> sent;
    for (const MatrixXi& q : inputs) {
        sent.push_back(process.send(q, static_cast<base::GroupId>(sent.size())));
    }
    return sent;
}

MaskedColumns sent_by_twin(const PublicRows& T, const MatrixXi& q, std::span<const int> S,
                           const MatrixXi& noise, std::uint64_t factor) {
    const std::size_t n = T.width(), h = hidden_set().planes;
    MaskedColumns sent(static_cast<std::size_t>(q.cols()), std::vector<std::uint8_t>(h * n));
    for (std::size_t c = 0; c < sent.size(); ++c) {
        for (std::size_t p = 0; p < h; ++p) {
            const auto of_factor = static_cast<std::int64_t>(factor % primes[p]);
            for (std::size_t j = 0; j < n; ++j) {
                const auto row = static_cast<Index>(j), column = static_cast<Index>(c);
                const std::int64_t x = q(row, column) + ring_product(T.row(j, p), S, c) +
                                       of_factor * noise(row, column);
                sent[c][p * n + j] = static_cast<std::uint8_t>(residue_of(x, p));
            }
        }
    }
    return sent;
}

MatrixXi read_block(const PublicRows& T, const MaskedColumns& sent, const MatrixXi& known) {
    const std::size_t n = T.width(), first = static_cast<std::size_t>(known.cols());
    std::optional<std::vector<int>> S;
    for (std::size_t p = 0; !S && p < 2; ++p) {
        RingEquations equations(hidden_set().lattice->rank, primes[p]);
        for (std::size_t c = 0; c < first; ++c) {
            for (std::size_t j = 0; j < n; ++j) {
                equations.add(
                    T.row(j, p), c,
                    sent[c][p * n + j] - known(static_cast<Index>(j), static_cast<Index>(c)));
            }
        }
        if (!equations.complete()) throw std::logic_error("read_block: too few known columns");
        S = equations.solve();
    }
    MatrixXi read =
        MatrixXi::Constant(known.rows(), static_cast<Index>(sent.size() - first), unknown);
    if (!S) return read;
    for (std::size_t c = first; c < sent.size(); ++c) {
        for (std::size_t j = 0; j < n; ++j) {
            const auto residue = [&](std::size_t p) {
                return residue_of(sent[c][p * n + j] - ring_product(T.row(j, p), *S, c), p);
            };
            read(static_cast<Index>(j), static_cast<Index>(c - first)) =
                joined(residue(0), residue(1));
        }
    }
    return read;
}

MatrixXi scaled_inputs(const Setting& setting, base::GroupId group, std::size_t count) {
    const Victim& victim = victim_of(setting);
    std::mt19937_64 random(setting.seed);
    WeakenedEngine plain(victim, {.mask = no_mask});
    if (group + 1 == victim.weights().size()) {  // the head, which gets one column per prompt
        std::vector<std::vector<TokenId>> prompts(count);
        for (auto& prompt : prompts) prompt = random_prompt(victim.config(), 2, random);
        victim.logits(plain, prompts);
    } else {
        victim.logits(plain, random_prompt(victim.config(), count, random));
    }
    Eigen::MatrixXd inputs = columns_seen(plain.view(), group);
    const double norm = base::hidden_width(static_cast<std::size_t>(inputs.rows())).norm;
    for (Index c = 0; c < inputs.cols(); ++c) {
        // Truncation makes no column longer.
        inputs.col(c) *= norm / inputs.col(c).norm();
    }
    return inputs.cast<int>();
}

}  // namespace slip::attacks
