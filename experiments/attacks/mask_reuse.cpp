// One mask for all columns of a group: differences of messages are differences of activations, and
// one known activation gives all others. The known one is that of BOS, with which every prompt
// begins and whose activations are the same in all of them.
#include <map>

#include "experiments/attacks/measure.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/weakened_engine.hpp"

namespace slip::attacks {
namespace {

using Eigen::MatrixXd;

/// Differences mod L: what David gets from the columns of one group, without any knowledge.
MatrixXd differences(const MatrixXd& residues) {
    MatrixXd found = residues.colwise() - residues.col(0);
    return found.unaryExpr(
        [](double x) { return static_cast<double>(lift(embed(static_cast<std::int64_t>(x)))); });
}

/// The attack on a view, and its comparison with the activations of a run without masks.
Outcome read_differences(const Victim& victim, const View& view, const std::vector<TokenId>& ids) {
    WeakenedEngine plain(victim, {.mask = no_mask});
    victim.logits(plain, ids);
    double wrong = 0;
    double wrong_differences = 0;
    double entries = 0;
    const auto groups = static_cast<base::GroupId>(victim.weights().size() - 1);  // without lm_head
    for (base::GroupId group = 0; group < groups; ++group) {
        const MatrixXd q = columns_seen(plain.view(), group);
        const MatrixXd found = differences(columns_seen(view, group));
        const auto later = q.cols() - 1;
        const MatrixXd right = q.rightCols(later).colwise() - q.col(0);
        const MatrixXd read = found.rightCols(later).colwise() + q.col(0);
        const auto size = static_cast<double>(right.size());
        entries += size;
        wrong_differences += size * share_that_differs(found.rightCols(later), right);
        wrong += size * share_that_differs(read, q.rightCols(later));
    }
    return {wrong / entries, 0, ids.size(),
            "differences alone, without the known prefix: " + figure(wrong_differences / entries) +
                " of their entries wrong"};
}

std::vector<TokenId> secret_prompt(const Victim& victim, const Setting& setting) {
    std::mt19937_64 random(setting.seed);
    std::vector<TokenId> ids = random_prompt(victim.config(), setting.full ? 255 : 23, random);
    ids.insert(ids.begin(), 1);  // BOS
    return ids;
}

}  // namespace

Outcome reused_mask_twin(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    std::mt19937_64 random(setting.seed + 1);
    std::map<base::GroupId, std::vector<std::uint32_t>> masks;
    WeakenedEngine reusing(victim,
                           {.mask = [&](base::GroupId group, std::span<std::uint32_t> mask) {
                               auto& own = masks[group];
                               if (own.empty()) own = uniform_residues(mask.size(), random);
                               std::copy(own.begin(), own.end(), mask.begin());
                           }});
    const std::vector<TokenId> ids = secret_prompt(victim, setting);
    victim.logits(reusing, ids);
    return read_differences(victim, reusing.view(), ids);
}

Outcome reused_mask_product(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    const std::vector<TokenId> ids = secret_prompt(victim, setting);
    ProductSession session(victim);
    session.logits(ids);
    return read_differences(victim, session.view(), ids);
}

}  // namespace slip::attacks
