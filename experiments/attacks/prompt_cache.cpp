// Prompts that are kept for later ones (SERVE-4) tell what was asked before: a prompt whose
// beginning is kept costs David fewer columns and gives its first token sooner. A client tries one
// next token of another client's prompt after the other. Where tenants share one limit of memory,
// a client's own prompts that vanish tell him how much others have asked.
#include <algorithm>
#include <future>
#include <map>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/victim.hpp"
#include "optimized/graph/kv_cache.hpp"
#include "slip/charlie.hpp"
#include "slip/scheduler.hpp"

namespace slip::attacks {
namespace {

using Ids = std::vector<TokenId>;

/// What a client learns of his own request: `slip serve` gives him the receipt (SERVE-7).
struct Seen {
    Receipt receipt;
    double seconds = 0;  // to the end of the one token that was asked for
};

/// A model that is served; one request after the other.
class Service {
public:
    Service(const Victim& victim, const SchedulerOptions& options)
        : scheduler_(open_charlie_in_process<LanguageModel>(victim.artifact()), options) {}

    Seen ask(const std::string& tenant, const Ids& prompt) {
        GenerationRequest request;
        request.prompt = prompt;
        request.sampling.max_tokens = 1;
        request.tenant = tenant;
        std::promise<Receipt> receipt;
        const Clock::time_point start = Clock::now();
        scheduler_.submit(request, {}, [&](const GenerationEnd& end) {
            if (end.error) {
                receipt.set_exception(end.error);
            } else {
                receipt.set_value(end.receipt);
            }
        });
        Seen seen{receipt.get_future().get()};
        seen.seconds = std::chrono::duration<double>(Clock::now() - start).count();
        return seen;
    }

private:
    Scheduler scheduler_;
};

Ids concatenated(Ids ids, const Ids& more) {
    ids.insert(ids.end(), more.begin(), more.end());
    return ids;
}

// ---- the prompt of another client, token by token

constexpr std::size_t public_tokens = 24;  // a beginning that the attacker knows
constexpr std::size_t secret_tokens = 4;   // each of them one of the candidates: digits, say
constexpr std::size_t candidates = 10;
constexpr TokenId end_of_probe = 99;  // none of them, so that no probe begins with another
constexpr std::size_t long_prompt = 100;

TokenId candidate(std::size_t number) { return static_cast<TokenId>(100 + number); }

/// The candidate with the least cost; one of them at random if several have it.
TokenId cheapest(const std::map<TokenId, std::uint64_t>& costs, std::mt19937_64& random) {
    std::uint64_t least = costs.begin()->second;
    for (const auto& [token, cost] : costs) least = std::min(least, cost);
    Ids found;
    for (const auto& [token, cost] : costs) {
        if (cost == least) found.push_back(token);
    }
    return found[random() % found.size()];
}

/// How many tokens he gets wrong who asks for every candidate after what is known. He is told the
/// right one after each guess, so that no error is counted twice.
std::size_t wrong_tokens(Service& service, const std::string& attacker, const Ids& asked,
                         std::mt19937_64& random) {
    std::size_t wrong = 0;
    Ids known(asked.begin(), asked.begin() + public_tokens);
    while (known.size() < asked.size()) {
        std::map<TokenId, std::uint64_t> bytes;
        for (std::size_t c = 0; c < candidates; ++c) {
            const Ids probe = concatenated(known, {candidate(c), end_of_probe});
            bytes[candidate(c)] = service.ask(attacker, probe).receipt.bytes_up;
        }
        const TokenId right = asked[known.size()];
        wrong += cheapest(bytes, random) != right;
        known.push_back(right);
    }
    return wrong;
}

/// Whether he is wrong who takes for asked that one of two long prompts whose answer comes sooner.
bool wrong_by_time(Service& service, const std::string& attacker, const base::ModelConfig& config,
                   std::mt19937_64& random) {
    const Ids asked = random_prompt(config, long_prompt, random);
    const Ids other = random_prompt(config, long_prompt, random);
    service.ask("victim", asked);
    const bool asked_first = random() % 2 == 0;
    const double first = service.ask(attacker, asked_first ? asked : other).seconds;
    const double second = service.ask(attacker, asked_first ? other : asked).seconds;
    return (first < second) != asked_first;
}

Outcome guess_prompts(const Victim& victim, const Setting& setting, const std::string& attacker) {
    std::mt19937_64 random(setting.seed);
    SchedulerOptions options;
    options.kept_prompt_tenants = 2;
    Service service(victim, options);
    const std::size_t prompts = setting.full ? 200 : 2;
    std::size_t tokens_wrong = 0, times_wrong = 0;
    for (std::size_t i = 0; i < prompts; ++i) {
        Ids asked = random_prompt(victim.config(), public_tokens, random);
        while (asked.size() < public_tokens + secret_tokens) {
            asked.push_back(candidate(random() % candidates));
        }
        service.ask("victim", asked);
        tokens_wrong += wrong_tokens(service, attacker, asked, random);
        times_wrong += wrong_by_time(service, attacker, victim.config(), random);
    }
    const std::size_t tokens = prompts * secret_tokens;
    return {static_cast<double>(tokens_wrong) / static_cast<double>(tokens), 0.1,
            tokens * candidates,
            "ten candidates for each token, told by the columns that David receives; which of two "
            "prompts of " +
                std::to_string(long_prompt) + " tokens was asked, by the time of the answer: " +
                std::to_string(times_wrong) + " of " + std::to_string(prompts) + " wrong"};
}

// ---- how much others have asked, from prompts of one's own that are kept no longer

/// Units of a share. A unit is the positions by which caches grow at once.
constexpr std::size_t room = 6;

std::size_t unit_of(const Victim& victim) {
    graph::KvCache cache(victim.config());
    cache.reserve(1);
    return cache.bytes();
}

/// The attacker's own prompts, which fill his share.
Ids own_prompt(std::size_t i) { return {static_cast<TokenId>(200 + i), 50}; }

/// How many of his prompts have gone, the oldest first.
std::size_t count_gone(Service& service, const std::string& attacker) {
    for (std::size_t kept = 0; kept < room; ++kept) {
        const Seen seen = service.ask(attacker, own_prompt(room - 1 - kept));
        if (seen.receipt.cached_tokens == 0) return room - kept;
    }
    return 0;
}

Outcome count_evictions(const Victim& victim, const Setting& setting, const std::string& attacker) {
    std::mt19937_64 random(setting.seed);
    SchedulerOptions options;
    options.kept_prompt_tenants = 2;
    options.kept_prompt_bytes = options.kept_prompt_tenants * room * unit_of(victim);
    Service service(victim, options);
    const std::size_t rounds = setting.full ? 100 : 4;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < rounds; ++i) {
        for (std::size_t own = 0; own < room; ++own) service.ask(attacker, own_prompt(own));
        const std::size_t units = random() % 4;
        if (units > 0) {
            const std::size_t most = units * graph::KvCache::positions_at_once;
            service.ask("victim", random_prompt(victim.config(), most - random() % 100, random));
        }
        wrong += count_gone(service, attacker) != units;
    }
    return {static_cast<double>(wrong) / static_cast<double>(rounds), 0.1, 2 * rounds * room,
            "whether another tenant has asked, and the length of his prompt in units of " +
                std::to_string(graph::KvCache::positions_at_once) + " tokens"};
}

}  // namespace

/// All requests are of one tenant.
Outcome prompt_cache_twin(const Setting& setting) {
    return guess_prompts(victim_of(setting), setting, "victim");
}
Outcome prompt_cache_product(const Setting& setting) {
    return guess_prompts(victim_of(setting), setting, "attacker");
}
Outcome prompt_cache_hidden(const Setting& setting) {
    return guess_prompts(hidden_victim_of(setting), setting, "attacker");
}
Outcome cache_evictions_twin(const Setting& setting) {
    return count_evictions(victim_of(setting), setting, "victim");
}
Outcome cache_evictions_product(const Setting& setting) {
    return count_evictions(victim_of(setting), setting, "attacker");
}
Outcome cache_evictions_hidden(const Setting& setting) {
    return count_evictions(hidden_victim_of(setting), setting, "attacker");
}

}  // namespace slip::attacks
