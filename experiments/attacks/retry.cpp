// A connection that is lost before the reply comes. Masks of the message that was sent are spent
// (MASK-5): what Charlie sends next, to this David or to another, has fresh ones. Were they given
// back, the next message would have the same masks, and David, who breaks the connection after a
// prompt that he knows, would read the next prompt from the difference.
#include <map>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/weakened_engine.hpp"

namespace slip::attacks {
namespace {

using Eigen::MatrixXd;

/// Breaks the connection instead of replying to a message to `group`.
Tamper cut_at(base::GroupId group) {
    return [group](base::GroupId asked, std::span<std::int64_t>) {
        if (asked == group) throw ProtocolError("the connection is lost");
    };
}

/// What David sees of a prompt at one group, and the activations there.
struct SeenAndTrue {
    MatrixXd seen, activations;
};

/// A prompt by `engine`, to its end or to where the connection is lost.
SeenAndTrue asked(const Victim& victim, const std::vector<TokenId>& ids, base::Engine& engine,
                  const View& view, base::GroupId group) {
    TrueInputs inputs(victim, engine);
    try {
        victim.logits(inputs, ids);
    } catch (const ProtocolError&) {
    }
    return {columns_seen(view, group), columns_seen(inputs.view(), group)};
}

/// Sends a prompt, `tamper` being David's part in it.
using Ask =
    std::function<SeenAndTrue(const std::vector<TokenId>& ids, base::GroupId group, Tamper tamper)>;

/// A known prompt up to the lost connection, then the secret one, for each group up to the head.
Outcome read_next_prompt(const Victim& victim, const Setting& setting, const Ask& ask) {
    std::mt19937_64 random(setting.seed);
    const std::size_t tokens = setting.full ? 255 : 24;
    const auto known = random_prompt(victim.config(), tokens, random);
    const auto secret = random_prompt(victim.config(), tokens, random);
    const auto groups = setting.full ? victim.weights().size() - 1 : 4;  // or the first block's
    double wrong = 0, entries = 0;
    for (base::GroupId group = 0; group < groups; ++group) {
        const SeenAndTrue lost = ask(known, group, cut_at(group));
        const SeenAndTrue next = ask(secret, group, {});
        const MatrixXd difference = (next.seen - lost.seen).unaryExpr([&](double x) {
            const std::size_t h = victim.planes();
            return static_cast<double>(lift(embed(static_cast<std::int64_t>(x), h), h));
        });
        const auto size = static_cast<double>(difference.size());
        wrong += size * share_that_differs(lost.activations + difference, next.activations);
        entries += size;
    }
    return {wrong / entries, 0, 2 * groups,
            "prompts of " + std::to_string(tokens) + " tokens, the connection lost at each of " +
                std::to_string(groups) + " groups in turn"};
}

/// Sessions of one process, which take their masks from one stock. With a process each, different
/// keys alone would make masks differ.
Outcome in_sessions(const Victim& victim, const Setting& setting) {
    return read_next_prompt(victim, setting,
                            [&](const auto& ids, base::GroupId group, Tamper tamper) {
                                ProductSession session(victim, std::move(tamper));
                                return asked(victim, ids, session.engine(), session.view(), group);
                            });
}

/// Uniform masks, group by group. Those of a message that nobody answered are given back.
class ReturnedMasks {
public:
    explicit ReturnedMasks(std::uint64_t seed) : random_(seed) {}

    void begin_session() {
        for (auto& [group, masks] : given_) masks.next = masks.answered;
    }
    void take(base::GroupId group, std::span<std::uint64_t> mask) {
        Masks& masks = given_[group];
        if (masks.next == masks.drawn.size()) {
            masks.drawn.push_back(uniform_residues(mask.size(), random_));
        }
        std::copy_n(masks.drawn[masks.next++].begin(), mask.size(), mask.begin());
    }
    void answered(base::GroupId group) { given_[group].answered = given_[group].next; }

private:
    struct Masks {
        std::vector<std::vector<std::uint64_t>> drawn;
        std::size_t next = 0, answered = 0;
    };
    std::mt19937_64 random_;
    std::map<base::GroupId, Masks> given_;
};

}  // namespace

Outcome retry_twin(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    ReturnedMasks masks(setting.seed + 1);
    return read_next_prompt(victim, setting, [&](const auto& ids, base::GroupId group, Tamper cut) {
        masks.begin_session();
        Weakened rules;
        rules.mask = [&](base::GroupId to, std::span<std::uint64_t> mask) { masks.take(to, mask); };
        rules.tamper = [&](base::GroupId to, std::span<std::int64_t> error) {
            if (cut) cut(to, error);
            masks.answered(to);
        };
        WeakenedEngine engine(victim, rules);
        return asked(victim, ids, engine, engine.view(), group);
    });
}

Outcome retry_product(const Setting& setting) { return in_sessions(victim_of(setting), setting); }
Outcome retry_hidden(const Setting& setting) {
    return in_sessions(hidden_victim_of(setting), setting);
}

}  // namespace slip::attacks
