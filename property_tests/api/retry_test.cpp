// Asking a busy David again: when, how often, and when not.
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "optimized/api/retry_while_busy.hpp"
#include "property_tests/generators/synthetic_model.hpp"
#include "property_tests/generators/temporary_directory.hpp"
#include "slip/slip.hpp"

namespace slip::api {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// A clock that only sleeping moves.
struct Simulated {
    RetryClock clock() {
        return {[this] { return RetryClock::Clock::time_point(time); },
                [this](milliseconds wait) {
                    waits.push_back(wait);
                    time += wait;
                },
                [this] { return chance; }};
    }
    milliseconds time{0};
    std::vector<milliseconds> waits;
    double chance = 1;
    int attempts = 0;
    int told = 0;

    /// Asks a David who refuses for `reason` the first `refusals` times.
    int ask(milliseconds limit, int refusals, Refusal reason = Refusal::busy) {
        return retry_while_busy(
            limit, [this] { ++told; },
            [&] {
                if (++attempts <= refusals) throw Refused(reason, "no");
                return 7;
            },
            clock());
    }
};

TEST(RetryWhileBusy, who_is_served_at_once_does_not_wait) {
    Simulated world;
    EXPECT_EQ(world.ask(30s, 0), 7);
    EXPECT_EQ(world.waits, std::vector<milliseconds>{});
    EXPECT_EQ(world.told, 0);
}

TEST(RetryWhileBusy, waits_double_to_eight_seconds_and_it_is_told_once) {
    Simulated world;
    EXPECT_EQ(world.ask(1h, 8), 7);
    EXPECT_EQ(world.waits, (std::vector<milliseconds>{250ms, 500ms, 1s, 2s, 4s, 8s, 8s, 8s}));
    EXPECT_EQ(world.told, 1);
    Simulated lucky;
    lucky.chance = 0;
    EXPECT_EQ(lucky.ask(1h, 3), 7);
    EXPECT_EQ(lucky.waits, (std::vector<milliseconds>{125ms, 250ms, 500ms}));
}

TEST(RetryWhileBusy, chance_decides_half_of_a_wait) {
    const RetryClock real;
    double least = 1;
    double most = 0;
    for (int i = 0; i < 1000; ++i) {
        const double chance = real.chance();
        least = std::min(least, chance);
        most = std::max(most, chance);
    }
    EXPECT_TRUE(0 <= least && least < 0.1 && 0.9 < most && most <= 1) << least << ", " << most;
}

TEST(RetryWhileBusy, the_last_attempt_is_at_the_limit) {
    Simulated world;
    EXPECT_THROW(world.ask(1000ms, 1 << 20), Refused);
    EXPECT_EQ(world.waits, (std::vector<milliseconds>{250ms, 500ms, 250ms}));
    EXPECT_EQ(world.attempts, 4);
    Simulated once;
    EXPECT_THROW(once.ask(0ms, 1), Refused);
    EXPECT_EQ(once.attempts, 1);
    EXPECT_EQ(once.told, 0);
}

TEST(RetryWhileBusy, other_refusals_and_errors_are_final) {
    for (const Refusal reason :
         {Refusal::version, Refusal::profile, Refusal::digest, Refusal::malformed,
          Refusal::out_of_order, Refusal::unknown_group}) {
        Simulated world;
        EXPECT_THROW(world.ask(1h, 1, reason), Refused);
        EXPECT_EQ(world.attempts, 1);
    }
    int attempts = 0;
    const auto attempt = [&]() -> int {
        ++attempts;
        throw ProtocolError("he is gone");
    };
    EXPECT_THROW(retry_while_busy(1h, nullptr, attempt, Simulated().clock()), ProtocolError);
    EXPECT_EQ(attempts, 1);
}

TEST(RetryWhileBusy, who_is_told_may_end_it) {
    const auto stop = [] { throw std::string("enough"); };
    const auto attempt = []() -> int { throw Refused(Refusal::busy, "no"); };
    EXPECT_THROW(retry_while_busy(1h, stop, attempt, Simulated().clock()), std::string);
}

/// A David who has no place.
class BusyDavid : public Transport {
public:
    void send(std::span<const std::byte>) override {}
    void receive(std::span<std::byte> bytes) override {
        std::copy_n(refuse_.begin(), bytes.size(), bytes.begin());
        refuse_.erase(refuse_.begin(), refuse_.begin() + static_cast<std::ptrdiff_t>(bytes.size()));
    }

private:
    std::deque<std::byte> refuse_{std::byte{2}, std::byte{0}, std::byte{0},
                                  std::byte{0}, std::byte{7}, std::byte{7}};
};

/// A split model with one pair in its state.
struct Prepared {
    Prepared() {
        testing::write_checkpoint(testing::random_llama(5), folder / "model");
        SplitOptions options;
        options.plan = uniform_plan(folder / "model", 2);
        options.out = artifact;
        split_checkpoint(folder / "model", options);
        prepare_check_vectors(artifact, {.state = state, .weights = nullptr, .progress = {}});
    }
    /// The rest of the pair's name after its ID: how often it has come back, and its state.
    std::string pair() const {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(state)) {
            const std::string name = entry.path().filename();
            if (const auto dash = name.find('-'); dash == 32) return name.substr(dash + 1);
        }
        return "no pair";
    }
    testing::TemporaryDirectory folder;
    std::filesystem::path artifact = folder / "artifact";
    std::filesystem::path state = folder / "state";
};

/// Taking and returning a pair are two flushes each.
TEST(RetryWhileBusy, OFF_13_one_pair_is_taken_for_all_attempts) {
    const Prepared prepared;
    EXPECT_EQ(prepared.pair(), "0.free");
    std::vector<std::string> found;
    CharlieOptions options;
    options.state = prepared.state;
    options.busy_limit = 1h;
    const auto connect = [&]() -> std::unique_ptr<Transport> {
        found.push_back(prepared.pair());
        if (found.size() == 3) throw ProtocolError("he is gone");
        return std::make_unique<BusyDavid>();
    };
    EXPECT_THROW(open_charlie<LanguageModel>(prepared.artifact, connect, options), ProtocolError);
    EXPECT_EQ(found, std::vector<std::string>(3, "0.taken"));
    EXPECT_EQ(prepared.pair(), "1.free");
}

}  // namespace
}  // namespace slip::api
