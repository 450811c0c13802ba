// Forged replies where the check is weaker than a uniform rho over a prime field, kept secret and
// thrown away at the first reject: a composite modulus, retries with one rho, verdicts that are
// released in any order.
#include "experiments/attacks/product_check.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/small_field.hpp"

namespace slip::attacks {
namespace {

using protocol::IntegrityCheck;
using protocol::KeyStream;
using protocol::Life;

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
    ProductSession session(victim, [&](base::GroupId, std::span<std::int64_t> error) {
        error[0] = static_cast<std::int64_t>(verdicts);
        error[1] = 1;
        ++verdicts;
    });
    for (int attempt = 0; attempt < 251; ++attempt) {
        try {
            session.logits({1});
        } catch (const IntegrityError&) {
        } catch (const Error&) {  // the session is dead: nothing is sent any more
        }
    }
    // A second verdict with the same rho would be the twin's search, only longer.
    return {verdicts == 1 ? 1.0 : 0.0, 0.5, verdicts, "one verdict, then the session is dead"};
}

// ---- two wrong replies in flight at L = 5, all rho: 9 of 25 pass without an order, 5 with one

namespace {

/// The share of rho in Z_5^2 for which one of two wrong replies, e_1 and e_2, passes.
template <class Passes>
Outcome over_all_rho(const Passes& passes) {
    int rejected = 0;
    for (std::uint64_t rho_1 = 0; rho_1 < 5; ++rho_1) {
        for (std::uint64_t rho_2 = 0; rho_2 < 5; ++rho_2) rejected += !passes(rho_1, rho_2);
    }
    return {rejected / 25.0, 1 - 1.0 / 5 - 0.01, 25, "L = 5, exhaustive"};
}

}  // namespace

Outcome verdict_order_twin(const Setting&) {
    return over_all_rho(
        [](std::uint64_t rho_1, std::uint64_t rho_2) { return rho_1 == 0 || rho_2 == 0; });
}

Outcome verdict_order_product(const Setting&) {
    return over_all_rho([](std::uint64_t rho_1, std::uint64_t rho_2) {
        Life life;
        const protocol::Answerer david{IntegrityCheck<P31>::david};
        Life::Verdict first(life);
        Life::Verdict second(life);
        const bool first_passes = first.release(rho_1, david);
        return second.release(rho_2, david) || first_passes;
    });
}

}  // namespace slip::attacks
