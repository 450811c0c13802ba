// Wrong replies that know nothing of w: with one combination modulo a small prime L they pass as
// often as INTEG-4 says, 1 / L; with the product's none of any number that can be tried.
#include <algorithm>
#include <cmath>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/product_check.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/small_field.hpp"

namespace slip::attacks {
namespace {

/// Uniform over the nonzero errors in `rows` rows mod L.
std::vector<std::uint64_t> random_error(std::uint64_t L, std::size_t rows,
                                        std::mt19937_64& random) {
    std::uniform_int_distribution<std::uint64_t> residue(0, L - 1);
    std::vector<std::uint64_t> error(rows, 0);
    while (std::all_of(error.begin(), error.end(), [](std::uint64_t x) { return x == 0; })) {
        for (std::uint64_t& entry : error) entry = residue(random);
    }
    return error;
}

std::uint64_t accepted_of(std::uint64_t tries, std::uint64_t L, std::mt19937_64& random) {
    std::uint64_t accepted = 0;
    for (std::uint64_t i = 0; i < tries; ++i) {
        const auto error = random_error(L, 4, random);
        accepted += SmallCheck(L, 4, random).accepts(error);
    }
    return accepted;
}

Outcome tried_on(const ProductCheck& check, const Setting& setting) {
    std::mt19937_64 random(setting.seed);
    const std::uint64_t tries = setting.full ? 20000 : 500;
    std::uint64_t rejected = 0;
    for (std::uint64_t i = 0; i < tries; ++i) {
        rejected += !check.accepts(random_error(check.modulus_of_set(), check.rows(), random));
    }
    return rejected_share(
        rejected, tries, 0.85,
        "L = " + std::to_string(check.modulus_of_set()) + ", eight combinations per prime");
}

}  // namespace

Outcome wrong_replies_twin(const Setting& setting) {
    std::mt19937_64 random(setting.seed);
    const std::uint64_t tries = setting.full ? 10'000'000 : 100'000;
    const std::uint64_t at_5 = accepted_of(tries, 5, random);
    const std::uint64_t at_251 = accepted_of(tries, 251, random);
    const auto number = static_cast<double>(tries);
    const double deviations =
        (static_cast<double>(at_251) - number / 251) / std::sqrt(number / 251 * (1 - 1.0 / 251));
    return rejected_share(tries - at_5, tries, 0.85,
                          "L = 5; at L = 251 " + std::to_string(at_251) + " are accepted, " +
                              figure(deviations) + " standard deviations from the bound");
}

Outcome wrong_replies_product(const Setting& setting) {
    return tried_on(ProductCheck(victim_of(setting), setting.seed), setting);
}

Outcome wrong_replies_hidden(const Setting& setting) {
    return tried_on(ProductCheck(hidden_o_proj(setting), setting.seed), setting);
}

/// Errors that combinations of the other rows cannot see.
Outcome wrong_rows_twin(const Setting& setting) {
    std::mt19937_64 random(setting.seed);
    constexpr std::size_t checked = 4;
    const std::uint64_t tries = setting.full ? 1'000'000 : 100'000;
    std::uint64_t rejected = 0;
    for (std::uint64_t i = 0; i < tries; ++i) {
        std::vector<std::uint64_t> error(checked + 1, 0);
        error[checked] = 1 + random() % 250;
        rejected += !SmallCheck(251, checked, random, 8).accepts(error);
    }
    return rejected_share(rejected, tries, 0.5,
                          "a check of the rows of A that leaves out one of U's");
}

/// One wrong row at a time, among those of A and those of U, in one plane.
Outcome wrong_rows_hidden(const Setting& setting) {
    const ProductCheck check(hidden_o_proj(setting), setting.seed);
    const std::uint64_t step = setting.full ? 1 : 16;
    std::uint64_t rejected = 0, tries = 0;
    std::vector<std::uint64_t> error(check.rows(), 0);
    for (std::size_t i = 0; i < error.size(); i += step) {
        const std::uint64_t prime = base::parameters::primes[i % check.planes_of_set()];
        error[i] = check.modulus_of_set() / prime;
        rejected += !check.accepts(error);
        error[i] = 0;
        ++tries;
    }
    return rejected_share(rejected, tries, 0.5,
                          "each row of A and of U, " + std::to_string(check.rows()) + " in all");
}

}  // namespace slip::attacks
