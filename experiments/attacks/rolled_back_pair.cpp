// A pair of check vectors that comes back after a reject is a second try at one rho. The store
// deletes a pair at the first reject; a copy from a backup is what assumption 9 excludes.
#include <filesystem>

#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/small_field.hpp"
#include "experiments/attacks/victim.hpp"
#include "optimized/protocol/pair_store.hpp"

namespace slip::attacks {
namespace {

namespace fs = std::filesystem;

protocol::PairSubject subject_of(const Victim& victim) {
    protocol::PairSubject subject{Profile::p31, victim.david().digest(), {}};
    for (const kernels::GroupWeights& group : victim.weights()) {
        subject.groups.push_back(group.shape());
    }
    return subject;
}

/// One wrong reply that is judged with the pair in the store. False if the store has none.
bool try_once(const fs::path& folder, const protocol::PairSubject& subject) {
    const auto taken = protocol::PairStore(folder, subject).take();
    if (!taken) return false;
    protocol::Life::Verdict verdict(taken->life());
    verdict.release(1, {"David"});
    return true;
}

/// The pairs that David got to try, of so many tries in a row.
std::uint64_t tries_with_one_pair(const Victim& victim, int attempts, bool restored) {
    const testing::TemporaryDirectory folder;
    const fs::path state = folder / "state", backup = folder / "backup";
    for (const fs::path& made : {state, backup}) {
        fs::create_directory(made);
        fs::permissions(made, fs::perms::owner_all);
    }
    const protocol::PairSubject subject = subject_of(victim);
    protocol::PairStore(state, subject).put(protocol::Pair::draw(subject, victim.weights()));
    fs::copy(state, backup, fs::copy_options::recursive);
    std::uint64_t tries = 0;
    for (int attempt = 0; attempt < attempts; ++attempt) {
        tries += try_once(state, subject);
        if (restored) {
            fs::copy(backup, state, fs::copy_options::recursive | fs::copy_options::skip_existing);
        }
    }
    return tries;
}

}  // namespace

Outcome rolled_back_pair_twin(const Setting& setting) {
    std::mt19937_64 random(setting.seed);
    constexpr std::uint64_t L = 251;
    const std::uint64_t lives = setting.full ? 10000 : 500;
    std::uint64_t unforged = 0, tries = 0;
    for (std::uint64_t i = 0; i < lives; ++i) {
        const SmallCheck pair(L, 2, random);  // restored after every reject
        std::uint64_t x = 0;
        while (x < L && pair.difference({x, 1}) != 0) ++x;
        unforged += x == L;
        tries += x + 1;
    }
    return {static_cast<double>(unforged) / static_cast<double>(lives), 0.5, tries, "L = 251"};
}

Outcome rolled_back_pair_product(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    constexpr int attempts = 5;
    const std::uint64_t without = tries_with_one_pair(victim, attempts, false);
    const std::uint64_t with = tries_with_one_pair(victim, attempts, true);
    return {without == 1 ? 1.0 : 0.0, 0.5, attempts,
            "verdicts of one pair in 5 attempts: " + std::to_string(without) +
                "; with the file restored from a backup, which assumption 9 excludes: " +
                std::to_string(with)};
}

}  // namespace slip::attacks
