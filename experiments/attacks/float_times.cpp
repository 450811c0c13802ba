// What the time of Charlie's float code tells David: two prompts of one length, which he knows, are
// to be told apart by the times from his replies to Charlie's next messages. No rule makes float
// code constant in time (spec/threat-model.md, "Constant time"). The twin's takes longer where
// activations are large, which shows what the measurement would find.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/victim.hpp"

namespace slip::attacks {
namespace {

using Gaps = std::vector<double>;  // seconds before each message of an inference but the first

/// A slow function of each activation that is not small, before each layer.
class BranchingEngine : public base::Engine {
public:
    explicit BranchingEngine(base::Engine& inner) : inner_(inner) {}
    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override {
        for (std::size_t i = 0; i < input.rows(); ++i) {
            for (const float x : input.row(i)) {
                if (std::abs(x) > 0.1F) sum_ = sum_ + std::lgamma(std::abs(x));
            }
        }
        inner_.apply(group, input, outputs);
    }

private:
    base::Engine& inner_;
    volatile float sum_ = 0;
};

/// Attention to equal tokens is even, so its output is an average; to different ones it is not.
std::array<std::vector<TokenId>, 2> prompts(const Victim& victim, std::size_t length,
                                            std::mt19937_64& random) {
    const std::vector<TokenId> different = random_prompt(victim.config(), length, random);
    return {different, std::vector<TokenId>(length, different.front())};
}

/// Inferences of both prompts, `count` of each; which comes first is random in every pair.
std::array<std::vector<Gaps>, 2> observe(const Victim& victim, const Setting& setting,
                                         std::size_t count, bool branching) {
    std::mt19937_64 random(setting.seed);
    const auto texts = prompts(victim, setting.full ? 32 : 16, random);
    std::array<std::vector<Gaps>, 2> seen;
    std::optional<ProductSession> session;  // ends from time to time, and its view with it
    for (std::size_t pair = 0; pair < count; ++pair) {
        if (pair % 20 == 0) {
            session.emplace(victim);
            victim.logits(session->engine(), texts[0]);  // slower than all later ones
        }
        BranchingEngine twin(session->engine());
        base::Engine& engine = branching ? static_cast<base::Engine&>(twin) : session->engine();
        const std::size_t first = random() % 2;
        for (const std::size_t text : {first, 1 - first}) {
            const std::size_t before = session->view().size();
            victim.logits(engine, texts[text]);
            Gaps& gaps = seen[text].emplace_back();
            for (std::size_t m = before + 1; m < session->view().size(); ++m) {
                gaps.push_back(gap_before(session->view(), m));
            }
        }
    }
    return seen;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// The gap before message `m` of some inferences.
std::vector<double> gaps_at(std::size_t m, std::span<const Gaps> inferences) {
    std::vector<double> found;
    for (const Gaps& gaps : inferences) found.push_back(gaps[m]);
    return found;
}

/// What an attacker learns from inferences of prompts that he chose: the median of each gap for
/// either prompt, and its usual distance from the median, which a pause of the machine does not
/// move.
class Template {
public:
    Template(std::span<const Gaps> first, std::span<const Gaps> second) {
        for (std::size_t m = 0; m < first.front().size(); ++m) {
            const std::array values{gaps_at(m, first), gaps_at(m, second)};
            Gap gap{{median(values[0]), median(values[1])}, 0};
            std::vector<double> distances;
            for (std::size_t text = 0; text < 2; ++text) {
                for (const double x : values[text])
                    distances.push_back(std::abs(x - gap.usual[text]));
            }
            gap.spread = median(distances) + 1e-9;
            gaps_.push_back(gap);
        }
    }

    /// Which prompt's medians are nearer. A single gap decides by no more than a few spreads.
    std::size_t guess(const Gaps& gaps) const {
        double nearer_to_second = 0;
        for (std::size_t m = 0; m < gaps_.size(); ++m) {
            const auto distance = [&](std::size_t text) {
                return std::min(std::abs(gaps[m] - gaps_[m].usual[text]) / gaps_[m].spread, 5.0);
            };
            nearer_to_second += distance(0) - distance(1);
        }
        return nearer_to_second > 0 ? 1 : 0;
    }

    /// The gap whose medians differ by most spreads.
    std::string clearest() const {
        const auto worst = std::max_element(gaps_.begin(), gaps_.end(), [](auto& a, auto& b) {
            return a.difference() / a.spread < b.difference() / b.spread;
        });
        return "the medians of the gap that tells most differ by " +
               figure(1e6 * worst->difference()) + " of " + figure(1e6 * worst->usual[0]) +
               " us, " + figure(worst->difference() / worst->spread) + " times its spread";
    }

private:
    struct Gap {
        std::array<double, 2> usual;
        double spread;
        double difference() const { return std::abs(usual[0] - usual[1]); }
    };
    std::vector<Gap> gaps_;
};

/// Half of the inferences teach, the other half are told apart.
Outcome tell_apart(const Victim& victim, const Setting& setting, bool branching = false) {
    const std::size_t half = setting.full ? 200 : 6;
    const auto seen = observe(victim, setting, 2 * half, branching);
    const auto lessons = [&](std::size_t text) {
        return std::span<const Gaps>(seen[text]).first(half);
    };
    const Template learned(lessons(0), lessons(1));
    double wrong = 0;
    for (std::size_t text = 0; text < 2; ++text) {
        for (std::size_t i = half; i < seen[text].size(); ++i) {
            wrong += learned.guess(seen[text][i]) != text;
        }
    }
    return {wrong / static_cast<double>(2 * half), 0.25, 4 * half,
            "one token repeated against different ones; " + learned.clearest()};
}

}  // namespace

Outcome float_times_twin(const Setting& setting) {
    return tell_apart(victim_of(setting), setting, true);
}
Outcome float_times_product(const Setting& setting) {
    return tell_apart(victim_of(setting), setting);
}
Outcome float_times_hidden(const Setting& setting) {
    return tell_apart(hidden_victim_of(setting), setting);
}

}  // namespace slip::attacks
