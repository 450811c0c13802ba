// SERVE-1: what a generation gives in a batch, bit for bit what it gives alone.
// test: threads
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "property_tests/serving/served_model.hpp"

namespace slip::testing {
namespace {

using Reason = GenerationEnd::Reason;

// ---------------------------------------------------------------------------------------------
// Requests that arrive at any time.
// ---------------------------------------------------------------------------------------------

std::size_t between(std::size_t least, std::size_t most, const char* name) {
    return *rc::gen::inRange<std::size_t>(least, most + 1).as(name);
}

SamplingOptions drawn_sampling() {
    SamplingOptions sampling;
    sampling.max_tokens = between(0, 6, "max_tokens");
    sampling.temperature = *rc::gen::element(0.0, 0.7, 1.5).as("temperature");
    sampling.seed = *rc::gen::inRange<std::uint64_t>(0, 5).as("seed");
    sampling.top_k = between(0, 4, "top_k");
    sampling.top_p = *rc::gen::element(1.0, 0.8).as("top_p");
    sampling.min_p = *rc::gen::element(0.0, 0.1).as("min_p");
    sampling.repetition_penalty = *rc::gen::element(1.0, 1.3).as("repetition_penalty");
    sampling.presence_penalty = *rc::gen::element(0.0, 0.5).as("presence_penalty");
    sampling.frequency_penalty = *rc::gen::element(0.0, 0.2).as("frequency_penalty");
    return sampling;
}

/// Only texts that repeat themselves are guessed from (MODEL-21).
void repeat(std::vector<TokenId>& ids, std::size_t period) {
    for (std::size_t i = period; i < ids.size(); ++i) ids[i] = ids[i - period];
}

struct Arrival {
    GenerationRequest request;
    std::size_t after;  // this many tokens of all generations
};

std::vector<Arrival> drawn_arrivals(std::size_t vocabulary) {
    const auto id = rc::gen::inRange<TokenId>(0, static_cast<TokenId>(vocabulary));
    // Several from the first case on: one alone shows little.
    const auto count = rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(1, 5));
    std::vector<Arrival> arrivals(*rc::Gen<std::size_t>(count).as("generations"));
    for (Arrival& arrival : arrivals) {
        const std::size_t tokens = between(1, 10, "tokens of a prompt");
        arrival.request.prompt = *rc::gen::container<std::vector<TokenId>>(tokens, id).as("prompt");
        repeat(arrival.request.prompt, between(1, 10, "tokens before a prompt repeats itself"));
        arrival.request.sampling = drawn_sampling();
        arrival.request.tenant = *rc::gen::element("", "a", "b").as("tenant");
        arrival.after = between(0, 12, "arrives after so many tokens");
    }
    return arrivals;
}

SchedulerOptions drawn_options() {
    SchedulerOptions options;
    options.live = between(1, 5, "live");
    options.prompt_tokens_per_step = between(1, 9, "prompt_tokens_per_step");
    options.guesses = *rc::gen::element<std::size_t>(0, 1, 4, 15).as("guesses");
    options.guess_columns = between(0, 24, "guess_columns");
    options.kept_prompt_bytes = between(0, 1, "prompts are kept") << 22;
    options.kept_prompt_tenants = between(1, 2, "tenants with a share");
    return options;
}

/// Runs all of them; each is submitted by the scheduler's thread once `after` tokens have come.
std::deque<Outcome> outcomes_of(Scheduler& scheduler, const std::vector<Arrival>& arrivals) {
    std::deque<Outcome> outcomes(arrivals.size());
    std::vector<bool> submitted(arrivals.size());
    std::size_t tokens = 0;
    std::size_t running = 0;
    std::size_t ended = 0;
    std::promise<void> all_ended;
    std::mutex mutex;  // of submit_due, which this thread calls first
    std::function<void()> submit_due = [&] {
        for (std::size_t i = 0; i < arrivals.size(); ++i) {
            // When nothing runs, the next one has waited long enough.
            if (submitted[i] || (arrivals[i].after > tokens && running > 0)) continue;
            submitted[i] = true;
            ++running;
            scheduler.submit(
                arrivals[i].request,
                [&, take = outcomes[i].on_token()](TokenId id, auto logits) {
                    const std::lock_guard lock(mutex);
                    ++tokens;
                    submit_due();
                    return take(id, logits);
                },
                [&, i](const GenerationEnd& end) {
                    const std::lock_guard lock(mutex);
                    outcomes[i].ends.push_back(end);
                    --running;
                    submit_due();
                    if (++ended == arrivals.size()) all_ended.set_value();
                });
        }
    };
    {
        const std::lock_guard lock(mutex);
        submit_due();
    }
    all_ended.get_future().wait();
    scheduler.drain();
    return outcomes;
}

void expect_like_alone(LanguageModel& oracle, const std::vector<Arrival>& arrivals,
                       const std::deque<Outcome>& outcomes) {
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
        const Outcome expected = alone(oracle, arrivals[i].request);
        RC_ASSERT(outcomes[i].same_tokens(expected));
        RC_ASSERT(outcomes[i].ended_by(expected.ends.front().reason));
    }
}

RC_GTEST_PROP(Scheduler, SERVE_1_each_generation_is_what_it_is_alone, ()) {
    const Served& served = small_served();
    static LanguageModel oracle = served.unsplit();
    const auto arrivals = drawn_arrivals(served.vocabulary);
    Scheduler scheduler(served.unsplit(), drawn_options());
    expect_like_alone(oracle, arrivals, outcomes_of(scheduler, arrivals));
    const SchedulerStatistics statistics = scheduler.statistics();
    RC_ASSERT(statistics.generations == arrivals.size());
    RC_ASSERT(statistics.live == 0U && statistics.waiting == 0U);
}

RC_GTEST_PROP(Scheduler, SERVE_1_LIN_4_so_it_is_over_the_protocol, ()) {
    const Served& served = small_served();
    static LanguageModel oracle = served.unsplit();
    const auto arrivals = drawn_arrivals(served.vocabulary);
    Scheduler scheduler(served.in_process(), drawn_options());
    const auto outcomes = outcomes_of(scheduler, arrivals);
    expect_like_alone(oracle, arrivals, outcomes);
    Receipt sum;
    for (const Outcome& outcome : outcomes) {
        const Receipt& receipt = outcome.receipt();
        RC_ASSERT(receipt.checks == receipt.rounds);
        sum.add(receipt);
    }
    const RunStatistics run = scheduler.statistics().run;
    RC_ASSERT(sum.bytes_up == run.bytes_up);
    RC_ASSERT(sum.bytes_down == run.bytes_down);
    RC_ASSERT(sum.charlie_multiplications == run.charlie_multiplications);
    RC_ASSERT(sum.david_multiplications == run.david_multiplications);
}

/// Three prompts at once, two tokens of prompts in a step.
void expect_like_alone_at_once(const std::function<LanguageModel()>& open_oracle,
                               LanguageModel served, const std::vector<std::size_t>& lengths,
                               std::size_t max_tokens, std::size_t prompt_tokens_per_step) {
    LanguageModel oracle = open_oracle();
    std::vector<Arrival> arrivals;
    for (const std::size_t length : lengths) {
        std::vector<TokenId> prompt = random_ids(length, length, oracle.vocabulary_size());
        repeat(prompt, length % 2 == 0 ? 3 : length);
        arrivals.push_back({request_of(prompt, max_tokens, "tenant"), 2 * arrivals.size()});
        arrivals.back().request.sampling.temperature = 0.8;
    }
    SchedulerOptions options;
    options.guesses = 3;
    options.prompt_tokens_per_step = prompt_tokens_per_step;
    Scheduler scheduler(std::move(served), options);
    const auto outcomes = outcomes_of(scheduler, arrivals);
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
        EXPECT_TRUE(outcomes[i].same_tokens(alone(oracle, arrivals[i].request))) << i;
    }
}

TEST(Scheduler, SERVE_1_ATTN_1_in_every_family_and_order_of_attention) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        for (const Attention attention : {Attention::fused, Attention::paper}) {
            const Served served(random_model(seed), attention);
            expect_like_alone_at_once([&] { return served.unsplit(); }, served.in_process(),
                                      {5, 3, 9}, 6, 2);
        }
    }
}

/// Prompts that are shorter and longer than the original context of 16, and that grow past it; and
/// windows of 8 positions, whose keys are dropped 128 positions at a time.
TEST(Scheduler, SERVE_1_MODEL_14_MODEL_16_with_longrope_and_with_windows) {
    for (const std::string name : {"phi3-longrope", "mistral-window", "gemma3"}) {
        const auto folder = std::filesystem::path(SLIP_SHARED_DIR) / "data/models" / name;
        if (!std::filesystem::exists(folder)) GTEST_SKIP() << "absent: " << folder;
        const auto open = [&] { return open_checkpoint<LanguageModel>(folder); };
        expect_like_alone_at_once(open, open(), {10, 14, 20, 40}, 12, 3);
        expect_like_alone_at_once(open, open(), {200, 290, 5}, 9, 70);
    }
}

// ---------------------------------------------------------------------------------------------
// What a step holds.
// ---------------------------------------------------------------------------------------------

TEST(Scheduler, SERVE_1_one_message_per_group_for_all_generations) {
    const Served& served = small_served();
    LanguageModel oracle = served.unsplit();
    Scheduler scheduler(served.in_process());
    std::vector<GenerationRequest> requests;
    for (std::size_t i = 0; i < 4; ++i) {
        requests.push_back(full_request(oracle, 10 + i, 3 + i, 5, i < 2 ? 0.0 : 1.5));
    }
    std::deque<Outcome> outcomes(4);
    // The first one's token submits the others, so that they begin together.
    const auto first = full_request(oracle, 1, 2, 1);
    std::uint64_t groups = 0;
    std::promise<void> submitted;
    const auto submit_all = [&](TokenId, auto) {
        groups = scheduler.statistics().run.rounds;
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            submit(scheduler, requests[i], outcomes[i]);
        }
        submitted.set_value();
        return true;
    };
    scheduler.submit(first, submit_all, {});
    submitted.get_future().wait();
    scheduler.drain();
    ASSERT_GT(groups, 0U);
    EXPECT_EQ(scheduler.statistics().run.rounds, groups + 5 * groups);
    for (std::size_t i = 0; i < 4; ++i) {
        const Outcome& outcome = outcomes[i];
        EXPECT_TRUE(outcome.ended_by(Reason::length));
        EXPECT_TRUE(outcome.same_tokens(alone(oracle, requests[i])));
        EXPECT_EQ(outcome.receipt().rounds, 5 * groups);
        EXPECT_EQ(outcome.receipt().generated_tokens, 5U);
    }
    EXPECT_EQ(outcomes[1].receipt().prompt_tokens, 4U);
    EXPECT_EQ(scheduler.statistics().prompt_tokens, 2U + 3 + 4 + 5 + 6);
    EXPECT_EQ(scheduler.statistics().generated_tokens, 1U + 4 * 5);
    EXPECT_EQ(scheduler.statistics().sessions, 1U);
}

/// A text that soon repeats itself.
GenerationRequest repetitive(LanguageModel& oracle) {
    for (std::uint64_t seed = 0;; ++seed) {
        const auto request = full_request(oracle, seed, 3, 60);
        const std::vector<TokenId> ids = alone(oracle, request).ids;
        const auto second_half = ids.begin() + 30;
        if (std::equal(second_half, ids.end() - 6, second_half + 6)) return request;
    }
}

TEST(Scheduler, SERVE_1_MODEL_21_guesses_save_messages_and_change_no_token) {
    LanguageModel oracle = small_served().unsplit();
    const auto request = repetitive(oracle);
    const Outcome expected = alone(oracle, request);
    std::vector<std::uint64_t> rounds;
    for (const std::size_t guesses : {std::size_t{0}, std::size_t{5}}) {
        SchedulerOptions options;
        options.guesses = guesses;
        Scheduler scheduler(small_served().in_process(), options);
        std::deque<Outcome> outcomes(2);
        for (Outcome& outcome : outcomes) submit(scheduler, request, outcome);
        scheduler.drain();
        for (const Outcome& outcome : outcomes) EXPECT_TRUE(outcome.same_tokens(expected));
        rounds.push_back(outcomes[0].receipt().rounds);
    }
    EXPECT_LT(rounds[1], rounds[0] * 2 / 3) << rounds[0];
}

/// The outcome of a request whose reader stops at the first token but `usual`.
Outcome outcome_while(Scheduler& scheduler, const GenerationRequest& request, TokenId usual) {
    Outcome outcome;
    std::promise<void> ended;
    scheduler.submit(
        request,
        [&, take = outcome.on_token()](TokenId id, auto logits) {
            return take(id, logits) && id == usual;
        },
        [&](const GenerationEnd&) { ended.set_value(); });
    ended.get_future().wait();
    return outcome;
}

/// The text repeats one token until another comes, which was guessed wrongly and ends it.
TEST(Scheduler, SERVE_1_SERVE_4_MODEL_21_wrong_guesses_leave_nothing_behind) {
    LanguageModel oracle = small_served().unsplit();
    SchedulerOptions options;
    options.guesses = 5;
    Scheduler scheduler(small_served().unsplit(), options);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const TokenId usual = random_ids(seed, 1, oracle.vocabulary_size()).front();
        auto request = request_of(std::vector<TokenId>(8, usual), 100, "tenant");
        request.sampling.temperature = 1;
        request.sampling.seed = seed;
        request.sampling.logit_bias = {{usual, 3.0}};
        Outcome expected = alone(oracle, request);
        const auto other = std::find_if(expected.ids.begin(), expected.ids.end(),
                                        [&](TokenId id) { return id != usual; });
        const auto before = static_cast<std::size_t>(other - expected.ids.begin());
        const std::size_t until = std::min(before + 1, expected.ids.size());
        expected.ids.resize(until);
        expected.logits.resize(until);
        EXPECT_TRUE(outcome_while(scheduler, request, usual).same_tokens(expected)) << seed;
        // What was kept of it begins the next prompt.
        request.prompt.insert(request.prompt.end(), expected.ids.begin(), expected.ids.end());
        request.prompt.push_back(usual);
        request.sampling.max_tokens = 20;
        Outcome next;
        submit(scheduler, request, next);
        while (scheduler.statistics().generations < 2 * (seed + 1)) std::this_thread::yield();
        EXPECT_TRUE(next.same_tokens(alone(oracle, request))) << seed;
    }
    EXPECT_GT(scheduler.statistics().cached_tokens, 100U);
}

TEST(Scheduler, SERVE_1_a_long_prompt_does_not_stop_the_others) {
    LanguageModel oracle = small_served().unsplit();
    SchedulerOptions options;
    options.prompt_tokens_per_step = 4;
    Scheduler scheduler(small_served().unsplit(), options);
    const auto talker = full_request(oracle, 1, 2, 40);
    const auto reader = full_request(oracle, 2, 40, 2);
    std::size_t before = 0;  // tokens of the talker before the reader's first
    std::size_t read = 0;
    std::promise<void> submitted;
    const auto listen = [&](TokenId, auto) { return ++read > 0; };
    const auto talk = [&, spoken = 0](TokenId, auto) mutable {
        if (++spoken == 1) {
            scheduler.submit(reader, listen, {});
            submitted.set_value();
        }
        before += read == 0 ? 1 : 0;
        return true;
    };
    scheduler.submit(talker, talk, {});
    submitted.get_future().wait();
    scheduler.drain();
    EXPECT_EQ(read, 2U);
    EXPECT_GE(before, 10U) << "40 tokens, 4 in each step";
    EXPECT_LE(before, 11U);
}

TEST(Scheduler, SERVE_1_no_more_generations_are_live_than_the_options_say) {
    LanguageModel oracle = small_served().unsplit();
    SchedulerOptions options;
    options.live = 2;
    options.waiting = 3;
    Scheduler scheduler(small_served().unsplit(), options);
    std::deque<Outcome> outcomes(5);
    std::size_t most = 0;
    std::promise<void> submitted;
    const auto request = full_request(oracle, 1, 2, 6);
    const auto fill = [&, tokens = 0](TokenId, auto) mutable {
        if (++tokens == 1) {
            for (std::size_t i = 0; i < 4; ++i) submit(scheduler, request, outcomes[i]);
            EXPECT_THROW(submit(scheduler, request, outcomes[4]), Overloaded);
            submitted.set_value();
        }
        most = std::max(most, scheduler.statistics().live);
        return true;
    };
    scheduler.submit(request, fill, {});
    submitted.get_future().wait();
    scheduler.drain();
    EXPECT_EQ(most, 2U);
    EXPECT_TRUE(outcomes[4].ids.empty() && outcomes[4].ends.empty()) << "it was refused";
    for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(outcomes[i].ended_by(Reason::length));
}

/// One tenant takes his share of the places to wait, and the other still finds his.
TEST(Scheduler, SERVE_8_a_tenant_has_a_share_of_those_who_wait) {
    LanguageModel oracle = small_served().unsplit();
    SchedulerOptions options;
    options.live = 2;
    options.waiting = 5;
    options.waiting_per_tenant = 2;
    Scheduler scheduler(small_served().unsplit(), options);
    std::deque<Outcome> outcomes(6);
    Outcome refused;
    std::promise<void> submitted;
    const auto request = [&](const char* tenant) {
        auto one = full_request(oracle, 1, 2, 3);
        one.tenant = tenant;
        return one;
    };
    const auto fill = [&, tokens = 0](TokenId, auto) mutable {
        if (++tokens > 1) return true;
        for (std::size_t i = 0; i < 3; ++i) submit(scheduler, request("one"), outcomes[i]);
        EXPECT_THROW(submit(scheduler, request("one"), refused), Overloaded) << "the first is live";
        for (std::size_t i = 3; i < 5; ++i) {
            EXPECT_NO_THROW(submit(scheduler, request("other"), outcomes[i]));
        }
        EXPECT_THROW(submit(scheduler, request("other"), refused), Overloaded);
        EXPECT_NO_THROW(submit(scheduler, request("third"), outcomes[5]));
        EXPECT_THROW(submit(scheduler, request("third"), refused), Overloaded) << "all wait";
        submitted.set_value();
        return true;
    };
    scheduler.submit(request("one"), fill, {});
    submitted.get_future().wait();
    scheduler.drain();
    for (const Outcome& outcome : outcomes) EXPECT_TRUE(outcome.ended_by(Reason::length));
    EXPECT_TRUE(refused.ends.empty());
}

// ---------------------------------------------------------------------------------------------
// Ends.
// ---------------------------------------------------------------------------------------------

TEST(Scheduler, a_generation_ends_as_its_callbacks_say_and_the_others_go_on) {
    LanguageModel oracle = small_served().unsplit();
    const auto request = full_request(oracle, 1, 3, 9);
    const Outcome expected = alone(oracle, request);
    Scheduler scheduler(small_served().unsplit());
    std::deque<Outcome> outcomes(4);
    struct Enough : std::exception {};
    const auto until = [&](std::size_t i, const std::function<bool()>& then) {
        return [&outcomes, i, then](TokenId id, std::span<const float> logits) {
            outcomes[i].on_token()(id, logits);
            return outcomes[i].ids.size() < 3 || then();
        };
    };
    Scheduler::Id third = 0;
    const auto cancel = [&] {
        scheduler.cancel(third);
        return true;
    };
    scheduler.submit(request, until(0, [] { return false; }), outcomes[0].on_end());
    scheduler.submit(request, until(1, []() -> bool { throw Enough(); }), outcomes[1].on_end());
    submit(scheduler, request, outcomes[3]);
    // Submitted by the scheduler's thread, so that `third` is known before its first token.
    std::promise<void> submitted;
    const auto submit_third = [&](TokenId, auto) {
        third = scheduler.submit(request, until(2, cancel), outcomes[2].on_end());
        submitted.set_value();
        return true;
    };
    scheduler.submit(full_request(oracle, 2, 3, 1), submit_third,
                     [](const GenerationEnd&) { throw Enough(); });
    submitted.get_future().wait();
    scheduler.drain();
    EXPECT_TRUE(outcomes[0].ended_by(Reason::stopped));
    EXPECT_TRUE(outcomes[1].ended_by(Reason::failed));
    EXPECT_THROW(std::rethrow_exception(outcomes[1].ends.at(0).error), Enough);
    EXPECT_TRUE(outcomes[2].ended_by(Reason::cancelled));
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(outcomes[i].ids,
                  std::vector<TokenId>(expected.ids.begin(), expected.ids.begin() + 3));
        EXPECT_EQ(outcomes[i].receipt().generated_tokens, 3U);
    }
    EXPECT_TRUE(outcomes[3].same_tokens(expected));
    EXPECT_TRUE(outcomes[3].ended_by(Reason::length));
    scheduler.cancel(third);
    scheduler.cancel(12345);
}

TEST(Scheduler, one_that_waits_is_cancelled_too) {
    LanguageModel oracle = small_served().unsplit();
    const auto request = full_request(oracle, 1, 3, 9);
    std::deque<Outcome> outcomes(2);
    SchedulerOptions options;
    options.live = 1;
    Scheduler scheduler(small_served().unsplit(), options);
    std::promise<void> submitted;
    const auto cancel_next = [&, tokens = 0](TokenId, auto) mutable {
        if (++tokens == 1) {
            const auto waiting = submit(scheduler, request, outcomes[0]);
            submit(scheduler, request, outcomes[1]);
            scheduler.cancel(waiting);
            submitted.set_value();
        }
        EXPECT_EQ(outcomes[0].ends.size(), tokens == 1 ? 0U : 1U) << "it ends before the next step";
        return true;
    };
    scheduler.submit(request, cancel_next, {});
    submitted.get_future().wait();
    scheduler.drain();
    EXPECT_TRUE(outcomes[0].ended_by(Reason::cancelled));
    EXPECT_TRUE(outcomes[0].ids.empty());
    EXPECT_TRUE(outcomes[1].ended_by(Reason::length));
}

TEST(Scheduler, the_destructor_ends_what_would_go_on_for_long) {
    LanguageModel oracle = small_served().unsplit();
    const auto request = full_request(oracle, 1, 2, 150);
    Outcome outcome;
    std::promise<void> begun;
    {
        Scheduler scheduler(small_served().unsplit());
        scheduler.submit(
            request,
            [&, first = true](TokenId id, auto logits) mutable {
                if (first) begun.set_value();
                first = false;
                std::this_thread::sleep_for(std::chrono::milliseconds(20));  // 3 s in all
                return outcome.on_token()(id, logits);
            },
            outcome.on_end());
        begun.get_future().wait();
    }
    EXPECT_TRUE(outcome.ended_by(Reason::cancelled));
    EXPECT_LT(outcome.ids.size(), 150U);
}

TEST(Scheduler, bad_input_is_refused_at_once_and_nothing_is_called) {
    Scheduler scheduler(small_served().unsplit());
    const auto never = [](TokenId, auto) -> bool { throw std::logic_error("called"); };
    const auto never_ends = [](const GenerationEnd&) { ADD_FAILURE() << "called"; };
    const auto vocabulary = static_cast<TokenId>(small_served().vocabulary);
    std::vector<GenerationRequest> bad{request_of({}, 1), request_of({vocabulary}, 1),
                                       request_of({-1}, 0), request_of({1}, 161),
                                       request_of(std::vector<TokenId>(161, 1), 0)};
    bad.push_back(request_of({1}, 1));
    bad.back().sampling.top_p = 0;
    bad.push_back(request_of({1}, 1));
    bad.back().sampling.guesses = 1;
    for (const auto& request : bad) {
        EXPECT_THROW(scheduler.submit(request, never, never_ends), BadInput);
    }
    EXPECT_EQ(scheduler.statistics().generations, 0U);
    EXPECT_THROW(Scheduler(small_served().unsplit(), {.live = 0}), BadInput);
    EXPECT_THROW(Scheduler(small_served().unsplit(), {.kept_prompt_tenants = 0}), BadInput);
    SchedulerOptions options;
    options.prompt_tokens_per_step = 0;
    EXPECT_THROW(Scheduler(small_served().unsplit(), options), BadInput);
}

TEST(Scheduler, after_a_drain_nothing_is_taken_and_a_callback_cannot_drain) {
    LanguageModel oracle = small_served().unsplit();
    Scheduler scheduler(small_served().unsplit());
    Outcome outcome;
    const auto try_to_drain = [&](TokenId, auto) {
        EXPECT_THROW(scheduler.drain(), InternalError);
        return true;
    };
    scheduler.submit(full_request(oracle, 1, 2, 1), try_to_drain, outcome.on_end());
    scheduler.drain();
    EXPECT_EQ(outcome.ends.size(), 1U);
    EXPECT_THROW(submit(scheduler, request_of({1}, 1), outcome), Overloaded);
    EXPECT_TRUE(scheduler.statistics().serving) << "an unsplit model needs no session";
    EXPECT_EQ(scheduler.statistics().sessions, 0U);
    EXPECT_EQ(scheduler.model().vocabulary_size(), small_served().vocabulary);
}

// ---------------------------------------------------------------------------------------------
// Logits of prompts, and several generations at once.
// ---------------------------------------------------------------------------------------------

RC_GTEST_PROP(Scheduler, SERVE_1_the_logits_of_a_prompt_are_those_of_forward, ()) {
    const Served& served = small_served();
    static LanguageModel oracle = served.unsplit();
    Scheduler scheduler(served.unsplit(), drawn_options());
    std::deque<Outcome> outcomes;
    std::deque<std::vector<std::vector<std::uint32_t>>> rows;
    std::vector<Submission> submissions;
    for (const Arrival& arrival : drawn_arrivals(served.vocabulary)) {
        auto& own = rows.emplace_back();
        Outcome& outcome = outcomes.emplace_back();
        submissions.push_back({arrival.request, outcome.on_token(), outcome.on_end(),
                               [&own](std::size_t place, std::span<const float> logits) {
                                   own.resize(place);
                                   own.back() = bits_of({logits.begin(), logits.end()});
                               }});
    }
    const auto asked = submissions;
    try {
        scheduler.submit(std::move(submissions));
    } catch (const Overloaded&) {
        RC_DISCARD("more than may wait");
    }
    scheduler.drain();
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto& prompt = asked[i].request.prompt;
        RC_ASSERT(rows[i].size() == prompt.size() - 1);
        const std::vector<float> logits = oracle.forward(prompt);
        for (std::size_t row = 0; row < rows[i].size(); ++row) {
            const auto begin =
                logits.begin() + static_cast<std::ptrdiff_t>(row * served.vocabulary);
            const auto end = begin + static_cast<std::ptrdiff_t>(served.vocabulary);
            RC_ASSERT(rows[i][row] == bits_of({begin, end}));
        }
        RC_ASSERT(outcomes[i].same_tokens(alone(oracle, asked[i].request)));
        RC_ASSERT(outcomes[i].receipt().cached_tokens == 0U);
    }
}

TEST(Scheduler, SERVE_1_several_generations_begin_or_none) {
    SchedulerOptions options;
    options.live = 1;
    options.waiting = 2;
    Scheduler scheduler(small_served().unsplit(), options);
    std::deque<Outcome> outcomes(4);
    const auto submissions = [&](std::size_t count) {
        std::vector<Submission> list;
        for (std::size_t i = 0; i < count; ++i) {
            list.push_back({request_of({1, 2}, 2), outcomes[i].on_token(), outcomes[i].on_end()});
        }
        return list;
    };
    EXPECT_THROW(scheduler.submit(submissions(4)), Overloaded);
    auto one_wrong = submissions(3);
    one_wrong.back().request.prompt = {-1};
    EXPECT_THROW(scheduler.submit(std::move(one_wrong)), BadInput);
    auto biased = submissions(1);
    biased.back().request.sampling.logit_bias = {{1 << 20, 1.0}};
    EXPECT_THROW(scheduler.submit(std::move(biased)), BadInput);
    auto constrained = submissions(1);  // the model has no tokenizer
    constrained.back().request.grammar = Grammar::json_objects();
    EXPECT_THROW(scheduler.submit(std::move(constrained)), BadInput);
    EXPECT_EQ(scheduler.submit(submissions(3)).size(), 3U);
    scheduler.drain();
    EXPECT_TRUE(outcomes[3].ends.empty());
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(outcomes[i].ends.size(), 1U);
}

}  // namespace
}  // namespace slip::testing
