// Charlie's memory set back to a snapshot that has blocks of lattice masks: what was sent before
// and what is sent again have equal masks, noise included, and differ by the activations alone.
// David knows one of the two prompts; it may be his own.
#include <array>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/lattice_messages.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/weakened_engine.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/masks/lattice_stock.hpp"
#include "optimized/split/hint.hpp"

namespace slip::attacks {
namespace {

using Eigen::MatrixXi;

constexpr base::GroupId group = 0;
using Key = std::array<std::uint8_t, 32>;

/// The activations of a prompt that the first group gets, n x tokens.
MatrixXi activations(const Victim& victim, const std::vector<TokenId>& ids) {
    WeakenedEngine plain(victim, {.mask = no_mask});
    victim.logits(plain, ids);
    return columns_seen(plain.view(), group).cast<int>();
}

/// What David sees: the prompt's columns under the first masks of a process with this key, each
/// column plane after plane.
std::vector<std::vector<std::uint8_t>> sent(masks::LatticeStock& stock, const MatrixXi& q) {
    const auto n = static_cast<std::size_t>(q.rows());
    std::vector<masks::Mask> masks;
    stock.take(group, static_cast<std::size_t>(q.cols()), masks);
    std::vector<std::vector<std::uint8_t>> columns;
    for (masks::Mask& mask : masks) {
        const auto spent = std::move(mask).spend();
        std::vector<std::int16_t> column(n);
        for (std::size_t j = 0; j < n; ++j) {
            column[j] = static_cast<std::int16_t>(
                q(static_cast<Eigen::Index>(j), static_cast<Eigen::Index>(columns.size())));
        }
        columns.emplace_back(paper_set.planes * n);
        kernels::active().mask(column.data(), spent.mask.data(), n, paper_set.planes,
                               columns.back().data());
    }
    return columns;
}

/// The difference of two activations from the residues of their masked columns mod the first two
/// primes, whose product is more than twice its greatest magnitude.
int difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b,
               std::size_t j) {
    constexpr int p = base::parameters::primes[0], p_2 = base::parameters::primes[1];
    static_assert(p * p_2 > 4 * int{paper_set.lattice->activation_norm});
    const std::size_t n = a.size() / paper_set.planes;
    int x = (a[j] - b[j] + p) % p;
    const int wanted = (a[n + j] - b[n + j] + p_2) % p_2;
    while (x % p_2 != wanted) x += p;
    return x > p * p_2 / 2 ? x - p * p_2 : x;
}

/// `restored`: whether the second prompt is served from the memory that served the first.
Outcome read_second_prompt(const Setting& setting, bool restored) {
    const Victim& victim = victim_of(setting);
    std::mt19937_64 random(setting.seed);
    const std::size_t tokens = setting.full ? 255 : 24;
    const MatrixXi known = activations(victim, random_prompt(victim.config(), tokens, random));
    const MatrixXi secret = activations(victim, random_prompt(victim.config(), tokens, random));

    const kernels::GroupWeights& W_D = victim.weights()[group];
    masks::LatticeStock::Seed seed{};
    std::vector<std::uint8_t> hint(W_D.rows() * splitting::hint_row_bytes(paper_set));
    splitting::compute_hint({paper_set, seed, W_D.cols()}, W_D, 1, hint);
    Key key = drawn_bytes<Key>(random);
    const auto process = [&] {
        masks::LatticeOptions options;
        options.ahead = false;
        options.keys.given_keys = key;
        return masks::LatticeStock(paper_set, seed, {{W_D.shape(), hint, {}}}, options);
    };
    auto before = process();
    const auto first = sent(before, known);
    if (!restored) key = drawn_bytes<Key>(random);
    auto after = process();
    const auto second = sent(after, secret);

    MatrixXi read(secret.rows(), secret.cols());
    for (Eigen::Index c = 0; c < read.cols(); ++c) {
        const auto column = static_cast<std::size_t>(c);
        for (Eigen::Index j = 0; j < read.rows(); ++j) {
            read(j, c) = known(j, c) +
                         difference(second[column], first[column], static_cast<std::size_t>(j));
        }
    }
    return {share_that_differs(read.cast<double>(), secret.cast<double>()), 0, 2 * tokens};
}

}  // namespace

Outcome snapshot_twin(const Setting& setting) { return read_second_prompt(setting, true); }
Outcome snapshot_product(const Setting& setting) { return read_second_prompt(setting, false); }

}  // namespace slip::attacks
