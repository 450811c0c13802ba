// Forged replies where the check is weaker than a uniform rho over a prime field, thrown away at
// the first reject: a composite modulus, and retries with one rho.
#include "experiments/attacks/product_check.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/small_field.hpp"

namespace slip::attacks {
namespace {

using protocol::KeyStream;

/// amount times a unit vector.
std::vector<std::uint64_t> one_entry(std::size_t rows, std::uint64_t amount) {
    std::vector<std::uint64_t> error(rows, 0);
    error.front() = amount;
    return error;
}

}  // namespace

// ---- a composite modulus: an error of L / p in one entry passes one time in p

Outcome composite_modulus_twin(const Setting& setting) {
    std::mt19937_64 random(setting.seed);
    constexpr std::uint64_t L = 65536;
    const std::uint64_t tries = setting.full ? 1000000 : 20000;
    std::uint64_t rejected = 0;
    for (std::uint64_t i = 0; i < tries; ++i) {
        rejected += SmallCheck(L, 4, random).difference(one_entry(4, L / 2)) != 0;
    }
    return rejected_share(rejected, tries, 0.75, "L = 65536");
}

Outcome composite_modulus_product(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    std::mt19937_64 random(setting.seed);
    const std::uint64_t tries = setting.full ? 20000 : 1000;
    std::uint64_t rejected = 0;
    for (std::uint64_t i = 0; i < tries; ++i) {
        const ProductCheck check(victim, KeyStream(), random);
        rejected += !check.accepts(one_entry(check.rows(), P31::p / 2));
    }
    return rejected_share(rejected, tries, 0.75, "L = 2^31 - 1");
}

// ---- retries with one rho: of the errors (1, x) exactly one passes

Outcome retries_twin(const Setting& setting) {
    std::mt19937_64 random(setting.seed);
    constexpr std::uint64_t L = 251;
    const std::uint64_t sessions = setting.full ? 10000 : 500;
    std::uint64_t unforged = 0;
    std::uint64_t tries = 0;
    std::uint64_t accepted_with_fresh_rho = 0;
    for (std::uint64_t i = 0; i < sessions; ++i) {
        const SmallCheck kept(L, 2, random);
        std::uint64_t x = 0;
        while (x < L && kept.difference({x, 1}) != 0) ++x;
        unforged += x == L;
        tries += x + 1;
        bool accepted = false;
        for (std::uint64_t fresh = 0; fresh < L / 10; ++fresh) {
            accepted = accepted || SmallCheck(L, 2, random).difference({fresh, 1}) == 0;
        }
        accepted_with_fresh_rho += accepted;
    }
    const double share =
        static_cast<double>(accepted_with_fresh_rho) / static_cast<double>(sessions);
    return {static_cast<double>(unforged) / static_cast<double>(sessions), 0.5, tries,
            "L = 251; of sessions that draw rho afresh after a reject, 25 tries forge " +
                std::to_string(share).substr(0, 6) + " (bound 25/251 = 0.0996)"};
}

Outcome retries_product(const Setting& setting) {
    const Victim& victim = victim_of(setting);
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
    // A second verdict would be the twin's search, only longer.
    return {verdicts == 1 ? 1.0 : 0.0, 0.5, verdicts,
            "one verdict, then the session is dead and the process opens no other with him"};
}

}  // namespace slip::attacks
