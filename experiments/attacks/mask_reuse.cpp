// One mask for all columns of a group: differences of messages are differences of activations, and
// one known activation gives all others. The known one is that of BOS, with which every prompt
// begins and whose activations are the same in all of them.
#include <map>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/weakened_engine.hpp"

namespace slip::attacks {
namespace {

using Eigen::MatrixXd;

std::vector<TokenId> secret_prompt(const Victim& victim, const Setting& setting) {
    std::mt19937_64 random(setting.seed);
    std::vector<TokenId> ids = random_prompt(victim.config(), setting.full ? 255 : 23, random);
    ids.insert(ids.begin(), 1);  // BOS
    return ids;
}

/// Differences mod L: what David gets from the columns of one group, without any knowledge.
MatrixXd differences(const MatrixXd& residues, std::size_t h) {
    MatrixXd found = residues.colwise() - residues.col(0);
    return found.unaryExpr([h](double x) {
        return static_cast<double>(lift(embed(static_cast<std::int64_t>(x), h), h));
    });
}

/// A prompt by `engine`, the attack on what David sees of it in `view`, and its comparison with the
/// activations.
Outcome read_differences(const Victim& victim, const Setting& setting, base::Engine& engine,
                         const View& view) {
    const std::vector<TokenId> ids = secret_prompt(victim, setting);
    TrueInputs inputs(victim, engine);
    victim.logits(inputs, ids);
    double wrong = 0;
    double wrong_differences = 0;
    double entries = 0;
    const auto groups = static_cast<base::GroupId>(victim.weights().size() - 1);  // without lm_head
    for (base::GroupId group = 0; group < groups; ++group) {
        const MatrixXd q = columns_seen(inputs.view(), group);
        const MatrixXd found = differences(columns_seen(view, group), victim.planes());
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

Outcome read_session(const Victim& victim, const Setting& setting) {
    ProductSession session(victim);
    return read_differences(victim, setting, session.engine(), session.view());
}

}  // namespace

Outcome reused_mask_twin(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    std::mt19937_64 random(setting.seed + 1);
    std::map<base::GroupId, std::vector<std::uint64_t>> masks;
    WeakenedEngine reusing(victim,
                           {.mask = [&](base::GroupId group, std::span<std::uint64_t> mask) {
                               auto& own = masks[group];
                               if (own.empty()) own = uniform_residues(mask.size(), random);
                               std::copy(own.begin(), own.end(), mask.begin());
                           }});
    return read_differences(victim, setting, reusing, reusing.view());
}

Outcome reused_mask_product(const Setting& setting) {
    return read_session(victim_of(setting), setting);
}
Outcome reused_mask_hidden(const Setting& setting) {
    return read_session(hidden_victim_of(setting), setting);
}

}  // namespace slip::attacks
