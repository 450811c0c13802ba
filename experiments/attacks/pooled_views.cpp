// David and the offline David pool what they saw: the key and the indices give every mask, and the
// messages minus the masks are the activations. Assumption 8 of the threat model excludes this, and
// nothing else does.
#include "experiments/attacks/measure.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/second_david.hpp"
#include "experiments/attacks/weakened_engine.hpp"
#include "optimized/protocol/mask_stream.hpp"

namespace slip::attacks {
namespace {

using Eigen::MatrixXd;
using Residues = std::vector<std::uint32_t>;

/// Every mask of one group that the offline David could compute.
std::vector<Residues> masks_of(const SecondDavid& second, base::GroupId group, std::size_t n) {
    protocol::KeyStream keys(second.key(), base::parameters::blocks_per_key);
    std::vector<Residues> masks;
    for (const protocol::wire::ColumnsHeader& request : second.requests()) {
        if (request.group != group) continue;
        for (std::uint32_t j = 0; j < request.columns; ++j) {
            masks.emplace_back(n);
            keys.draw<P31>(protocol::StreamTag::mask, request.sequence + j, masks.back());
        }
    }
    return masks;
}

/// x~ - r for the mask with which all entries are small, as activations are and wrong guesses are
/// not; zeros if no mask fits.
Eigen::VectorXd unmasked(const Eigen::VectorXd& masked, const std::vector<Residues>& masks) {
    for (const Residues& mask : masks) {
        Eigen::VectorXd q(masked.size());
        for (Eigen::Index j = 0; j < q.size(); ++j) {
            const std::int64_t x = static_cast<std::int64_t>(masked(j));
            q(j) = static_cast<double>(lift(embed(x - mask[static_cast<std::size_t>(j)])));
            if (std::abs(q(j)) > 32767) break;
            if (j + 1 == q.size()) return q;
        }
    }
    return Eigen::VectorXd::Zero(masked.size());
}

}  // namespace

Outcome pooled_views_product(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    std::mt19937_64 random(setting.seed);
    const std::vector<TokenId> ids = random_prompt(victim.config(), setting.full ? 128 : 6, random);
    SecondDavid second(victim);
    View view;
    {
        ProductSession session(victim, {}, second.options());
        session.logits(ids);
        view = session.view();
    }
    WeakenedEngine plain(victim, {.mask = no_mask});
    victim.logits(plain, ids);
    double wrong = 0;
    double entries = 0;
    for (base::GroupId group = 0; group < victim.weights().size(); ++group) {
        const MatrixXd q = columns_seen(plain.view(), group);
        MatrixXd found = columns_seen(view, group);
        const auto masks = masks_of(second, group, victim.weights()[group].cols());
        for (Eigen::Index c = 0; c < found.cols(); ++c)
            found.col(c) = unmasked(found.col(c), masks);
        wrong += static_cast<double>(q.size()) * share_that_differs(found, q);
        entries += static_cast<double>(q.size());
    }
    return {wrong / entries, 0, ids.size(), "as assumption 8 says"};
}

}  // namespace slip::attacks
