// Forged replies where the check is weaker than eight combinations per prime: one combination
// modulo a composite number, and one that is kept while errors are tried.
#include "experiments/attacks/product_check.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/small_field.hpp"

namespace slip::attacks {
namespace {

/// amount times a unit vector.
std::vector<std::uint64_t> one_entry(std::size_t rows, std::uint64_t amount) {
    std::vector<std::uint64_t> error(rows, 0);
    error.front() = amount;
    return error;
}

/// The share of `sessions` whose kept combinations accept one of the errors (x, 1), x < L.
double share_forged(std::uint64_t sessions, std::uint64_t L, std::size_t combinations,
                    std::mt19937_64& random) {
    std::uint64_t forged = 0;
    for (std::uint64_t i = 0; i < sessions; ++i) {
        const SmallCheck kept(L, 2, random, combinations);
        std::uint64_t x = 0;
        while (x < L && !kept.accepts({x, 1})) ++x;
        forged += x < L;
    }
    return static_cast<double>(forged) / static_cast<double>(sessions);
}

}  // namespace

// ---- a composite modulus: an error of L / p in one entry passes one time in p

Outcome composite_modulus_twin(const Setting& setting) {
    std::mt19937_64 random(setting.seed);
    constexpr std::uint64_t L = 65536;
    const std::uint64_t tries = setting.full ? 1000000 : 20000;
    std::uint64_t rejected = 0;
    for (std::uint64_t i = 0; i < tries; ++i) {
        rejected += !SmallCheck(L, 4, random).accepts(one_entry(4, L / 2));
    }
    return rejected_share(rejected, tries, 0.75, "L = 65536, one combination modulo L");
}

namespace {

/// Errors that are 0 modulo every prime but one, and there anything: where the check is weakest.
Outcome one_prime_wrong(const ProductCheck& check) {
    std::uint64_t rejected = 0;
    std::uint64_t tries = 0;
    for (std::size_t p = 0; p < check.planes_of_set(); ++p) {
        const std::uint64_t prime = base::parameters::primes[p];
        for (std::uint64_t amount = 1; amount < prime; ++amount, ++tries) {
            rejected +=
                !check.accepts(one_entry(check.rows(), amount * (check.modulus_of_set() / prime)));
        }
    }
    return rejected_share(
        rejected, tries, 0.75,
        "L = " + std::to_string(check.modulus_of_set()) + ", eight combinations per prime");
}

}  // namespace

Outcome composite_modulus_product(const Setting& setting) {
    return one_prime_wrong(ProductCheck(victim_of(setting), setting.seed));
}

Outcome composite_modulus_hidden(const Setting& setting) {
    return one_prime_wrong(ProductCheck(hidden_o_proj(setting), setting.seed));
}

// ---- one combination that is kept: of the errors (x, 1) exactly one passes

Outcome retries_twin(const Setting& setting) {
    std::mt19937_64 random(setting.seed);
    constexpr std::uint64_t L = 251;
    const std::uint64_t sessions = setting.full ? 10000 : 500;
    const double forged = share_forged(sessions, L, 1, random);
    const double with_two = share_forged(sessions, L, 2, random);
    return {1 - forged, 0.5, sessions * L,
            "L = 251, at most 251 tries; with two combinations they forge " +
                std::to_string(with_two).substr(0, 6) + " (bound 251/251^2 = 0.0040)"};
}

namespace {

/// A process that was wrong once is not gone back to; one that is restarted each time has the same
/// eight combinations per prime.
Outcome retried(const Victim& victim, const ProductCheck& check, const Setting& setting) {
    std::uint64_t verdicts = 0;
    const Tamper tamper = [&](base::GroupId, std::span<std::int64_t> error) {
        error[0] = static_cast<std::int64_t>(verdicts);
        error[1] = 1;
        ++verdicts;
    };
    protocol::WrongPeers wrong_peers;
    for (int attempt = 0; attempt < 251; ++attempt) {
        try {
            ProductSession session(victim, tamper, &wrong_peers);
            try {
                session.logits({1});
            } catch (const IntegrityError&) {
            }
            session.logits({1});
        } catch (const Error&) {  // the session is dead, or he is not gone back to
        }
    }
    const std::uint64_t tries = setting.full ? 1000000 : 20000;
    std::uint64_t accepted = 0;
    std::vector<std::uint64_t> error = one_entry(check.rows(), 0);
    error[1] = 1;
    for (std::uint64_t x = 0; x < tries; ++x) {
        error[0] = x;
        accepted += check.accepts(error);
    }
    // A second verdict would be the twin's search, only longer.
    return {verdicts == 1 && accepted == 0 ? 1.0 : 0.0, 0.5, verdicts + tries,
            "one verdict, then the session is dead and the process opens no other with him; of the "
            "errors of restarted processes " +
                std::to_string(accepted) + " are accepted"};
}

}  // namespace

Outcome retries_product(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    return retried(victim, ProductCheck(victim, setting.seed), setting);
}
Outcome retries_hidden(const Setting& setting) {
    return retried(hidden_victim_of(setting), ProductCheck(hidden_o_proj(setting), setting.seed),
                   setting);
}

}  // namespace slip::attacks
