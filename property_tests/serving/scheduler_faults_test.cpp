// SERVE-2 and SERVE-3: a David who is lost, one who lies, and none at all.
// test: threads
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "property_tests/generators/deadline.hpp"
#include "property_tests/generators/sanitizers.hpp"
#include "property_tests/serving/faulty_david.hpp"
#include "property_tests/serving/served_model.hpp"

namespace slip::testing {
namespace {

using Reason = GenerationEnd::Reason;
using Then = Behaviour::Then;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

const Served& served() { return small_served(); }

LanguageModel& oracle() {
    static LanguageModel model = served().unsplit();
    return model;
}

LanguageModel open_over(const Connect& connect) {
    return open_charlie<LanguageModel>(served().artifact, connect);
}

/// Requests of two lengths; the first one's prompt takes one step, the second's two.
std::vector<GenerationRequest> requests() {
    static const std::vector all{full_request(oracle(), 1, 2, 3), full_request(oracle(), 2, 6, 3)};
    return all;
}

SchedulerOptions in_steps_of_four() {
    SchedulerOptions options;
    options.prompt_tokens_per_step = 4;
    return options;
}

/// Messages of a step in which logits are wanted: one per group.
std::uint64_t groups() {
    LanguageModel model = served().in_process();
    model.forward(std::vector<TokenId>{1});
    return model.statistics().rounds;
}

/// Submits all of them at once, in the scheduler's thread at the token of another generation.
void submit_together(Scheduler& scheduler, const std::vector<GenerationRequest>& all,
                     std::deque<Outcome>& outcomes, Outcome& first) {
    std::promise<void> submitted;
    const auto submit_all = [&](TokenId, auto) {
        for (const GenerationRequest& request : all) {
            submit(scheduler, request, outcomes.emplace_back());
        }
        submitted.set_value();
        return true;
    };
    static const auto one_token = full_request(oracle(), 7, 1, 1);
    scheduler.submit(one_token, submit_all, first.on_end());
    submitted.get_future().wait();
}

void expect_like_alone(const std::vector<GenerationRequest>& all,
                       const std::deque<Outcome>& outcomes) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_TRUE(outcomes[i].same_tokens(alone(oracle(), all[i])));
        EXPECT_TRUE(outcomes[i].ended_by(Reason::length));
    }
}

template <class Expected>
std::string what_failed(const Outcome& outcome) {
    if (!outcome.ended_by(Reason::failed)) return "it did not fail";
    try {
        std::rethrow_exception(outcome.ends.front().error);
    } catch (const Expected& error) {
        return error.what();
    } catch (...) {
        return "it failed with another error";
    }
}

// ---------------------------------------------------------------------------------------------
// A David who is lost.
// ---------------------------------------------------------------------------------------------

TEST(SchedulerFaults, SERVE_2_a_david_lost_at_any_message_changes_no_token) {
    const auto all = requests();
    const std::uint64_t step = groups();
    // The first token's step, then four: prompts, a prompt's end and a token, two tokens, one.
    // Under ThreadSanitizer, where a session takes seconds, every seventh message.
    const std::size_t stride = under_thread_sanitizer() ? 7 : 1;
    for (std::size_t honest = 0; honest < 5 * step; honest += stride) {
        Davids davids(served());
        std::deque<Outcome> outcomes;
        Outcome first;
        Scheduler scheduler(open_over(davids.in_turn({{honest}, {}})), in_steps_of_four());
        submit_together(scheduler, all, outcomes, first);
        scheduler.drain();
        expect_like_alone(all, outcomes);
        const SchedulerStatistics statistics = scheduler.statistics();
        EXPECT_EQ(statistics.sessions, 2U) << honest;
        EXPECT_EQ(statistics.rejects, 0U);
        EXPECT_TRUE(statistics.serving);
        EXPECT_TRUE(davids.no_message_twice()) << "the step is repeated with fresh masks";
        std::uint64_t repeated = first.receipt().repeated_steps;
        std::uint64_t up = first.receipt().bytes_up;
        for (const Outcome& outcome : outcomes) {
            repeated += outcome.receipt().repeated_steps;
            up += outcome.receipt().bytes_up;
        }
        EXPECT_GE(repeated, 1U);
        EXPECT_LE(repeated, 2U);
        EXPECT_LT(up, statistics.run.bytes_up) << "but for the message that had no reply";
    }
}

TEST(SchedulerFaults, SERVE_2_so_do_several_losses_in_one_step) {
    const auto all = requests();
    Davids davids(served());
    std::deque<Outcome> outcomes;
    Outcome first;
    std::atomic<int> notes = 0;
    SchedulerOptions options = in_steps_of_four();
    options.note = [&](const std::string&) { ++notes; };
    Scheduler scheduler(open_over(davids.in_turn({{groups()}, {1}, {0}, {}})), options);
    submit_together(scheduler, all, outcomes, first);
    scheduler.drain();
    expect_like_alone(all, outcomes);
    EXPECT_EQ(scheduler.statistics().sessions, 4U);
    EXPECT_EQ(notes, 6) << "each loss and each new session";
    EXPECT_EQ(outcomes[0].receipt().repeated_steps, 3U);
}

/// Connections that fail while `reachable` is false.
struct Reachable {
    Davids davids{served()};
    std::atomic<bool> reachable = true;
    std::atomic<int> calls = 0;

    Connect connect(std::size_t honest_replies) {
        return [this, honest_replies]() -> std::unique_ptr<Transport> {
            ++calls;
            if (!reachable) throw ProtocolError("nobody is there");
            return davids.connect(calls == 1 ? Behaviour{honest_replies} : Behaviour{});
        };
    }
};

TEST(SchedulerFaults, SERVE_2_without_any_david_all_end_and_the_next_one_calls_again) {
    const auto all = requests();
    Reachable david;
    SchedulerOptions options = in_steps_of_four();
    options.live = 1;  // the others wait
    options.reopen_limit = milliseconds(400);
    std::deque<Outcome> outcomes;
    Outcome first;
    Scheduler scheduler(open_over(david.connect(groups() + 2)), options);
    david.reachable = false;
    const auto start = Clock::now();
    submit_together(scheduler, all, outcomes, first);
    for (const Outcome& outcome : outcomes) {
        while (scheduler.statistics().generations < 3) {
            std::this_thread::sleep_for(milliseconds(5));
        }
        EXPECT_NE(what_failed<ProtocolError>(outcome).find("nobody is there"), std::string::npos)
            << what_failed<ProtocolError>(outcome);
        EXPECT_TRUE(outcome.ids.empty());
    }
    EXPECT_GE(Clock::now() - start, options.reopen_limit);
    EXPECT_GE(david.calls, 3) << "he is called again in this time";
    EXPECT_FALSE(scheduler.statistics().serving);
    EXPECT_EQ(scheduler.statistics().sessions, 1U);

    david.reachable = true;
    std::deque<Outcome> later(2);
    submit(scheduler, all[0], later[0]);
    submit(scheduler, all[1], later[1]);
    scheduler.drain();
    expect_like_alone(all, later);
    EXPECT_TRUE(scheduler.statistics().serving);
}

TEST(SchedulerFaults, SERVE_2_a_session_comes_back_while_nothing_runs) {
    const Deadline deadline;
    Reachable david;
    SchedulerOptions options;
    options.reopen_limit = milliseconds(0);  // a generation does not wait
    Outcome outcome;
    Scheduler scheduler(open_over(david.connect(1)), options);
    david.reachable = false;
    submit(scheduler, requests()[0], outcome);
    while (scheduler.statistics().generations < 1) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_NE(what_failed<ProtocolError>(outcome).find("he has left"), std::string::npos);
    EXPECT_FALSE(scheduler.statistics().serving);
    david.reachable = true;
    while (!scheduler.statistics().serving) std::this_thread::sleep_for(milliseconds(5));
}

TEST(SchedulerFaults, SERVE_2_a_connection_that_was_given_once_is_not_made_again) {
    Davids davids(served());
    Scheduler scheduler(
        open_charlie<LanguageModel>(served().artifact, davids.connect({groups() + 1})));
    std::deque<Outcome> outcomes;
    Outcome first;
    submit_together(scheduler, requests(), outcomes, first);
    submit(scheduler, requests()[0], outcomes.emplace_back());
    scheduler.drain();
    for (const Outcome& outcome : outcomes) {
        EXPECT_NE(what_failed<ProtocolError>(outcome).find("he has left"), std::string::npos);
    }
}

TEST(SchedulerFaults, a_generation_is_cancelled_while_there_is_no_david) {
    const Deadline deadline;
    Reachable david;
    Outcome outcome;
    Scheduler scheduler(open_over(david.connect(0)));
    david.reachable = false;
    const auto id = submit(scheduler, requests()[0], outcome);
    while (david.calls < 3) std::this_thread::sleep_for(milliseconds(1));
    scheduler.cancel(id);
    while (scheduler.statistics().generations < 1) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_TRUE(outcome.ended_by(Reason::cancelled));
}

/// While a David is called who does not answer, and one who does waits for the next step.
TEST(SchedulerFaults, SERVE_9_a_scheduler_that_is_stopped_ends_all_at_once) {
    const Deadline deadline;
    Reachable david;
    std::deque<Outcome> outcomes(3);
    SchedulerOptions options;
    options.live = 1;
    options.reopen_limit = std::chrono::hours(1000);
    Scheduler scheduler(open_over(david.connect(0)), options);
    david.reachable = false;
    for (Outcome& outcome : outcomes) submit(scheduler, requests()[0], outcome);
    while (david.calls < 3) std::this_thread::sleep_for(milliseconds(1));
    scheduler.stop();
    scheduler.drain();
    for (const Outcome& outcome : outcomes) EXPECT_TRUE(outcome.ended_by(Reason::cancelled));
    Outcome late;
    EXPECT_THROW(submit(scheduler, requests()[0], late), Overloaded);
}

/// Two steps that fail by Charlie's own doing are too many, unless one between them succeeds.
TEST(SchedulerFaults, SERVE_14_errors_of_charlies_own_end_all_for_good) {
    const auto broken = [](std::size_t honest) { return Behaviour{honest, Then::damages_charlie}; };
    for (const bool in_a_row : {true, false}) {
        const Deadline deadline;
        Davids davids(served());
        const std::size_t honest = in_a_row ? 0 : groups();
        SchedulerOptions options;
        options.live = 1;
        std::deque<Outcome> outcomes(3);
        Scheduler scheduler(open_over(davids.in_turn({broken(0), broken(honest), {}})), options);
        for (Outcome& outcome : outcomes) submit(scheduler, requests()[0], outcome);
        scheduler.drain();
        for (const std::size_t i : {0U, 1U}) {
            EXPECT_NE(what_failed<InternalError>(outcomes[i]).find("own check"), std::string::npos);
        }
        EXPECT_EQ(outcomes[2].ended_by(in_a_row ? Reason::failed : Reason::length), true);
        EXPECT_EQ(scheduler.statistics().damaged, in_a_row);
        EXPECT_EQ(scheduler.statistics().serving, !in_a_row);
        EXPECT_EQ(scheduler.statistics().sessions, in_a_row ? 2U : 3U);
    }
}

// ---------------------------------------------------------------------------------------------
// A David who lies.
// ---------------------------------------------------------------------------------------------

/// Two are live and one waits when the first of these Davids lies. There is no time limit: without
/// a David the generations would wait for ever.
struct OneWaits {
    explicit OneWaits(std::vector<Behaviour> behaviours) {
        SchedulerOptions options = in_steps_of_four();
        options.live = 2;
        options.reopen_limit = std::chrono::hours(1000);
        all.push_back(all[0]);
        Scheduler scheduler(open_over(davids.in_turn(std::move(behaviours))), options);
        submit_together(scheduler, all, outcomes, first);
        scheduler.drain();
        statistics = scheduler.statistics();
    }

    const Deadline deadline{};
    Davids davids{served()};
    std::vector<GenerationRequest> all = requests();
    std::deque<Outcome> outcomes;
    Outcome first;
    SchedulerStatistics statistics;
};

Behaviour liar(std::size_t honest_replies, const std::string& name) {
    return {honest_replies, Then::lies, name};
}
Behaviour honest(const std::string& name) { return {Behaviour::always, {}, name}; }

void expect_as_alone(const GenerationRequest& request, const Outcome& outcome) {
    EXPECT_TRUE(outcome.same_tokens(alone(oracle(), request)));
    EXPECT_TRUE(outcome.ended_by(Reason::length));
}

TEST(SchedulerFaults, SERVE_3_a_wrong_reply_ends_those_whose_columns_it_answers) {
    const OneWaits run({liar(groups() + 1, "SERVE-3 a liar"), honest("SERVE-3 another")});
    for (const std::size_t i : {0U, 1U}) {
        EXPECT_NE(what_failed<IntegrityError>(run.outcomes[i]).find("integrity"),
                  std::string::npos);
        EXPECT_TRUE(run.outcomes[i].ids.empty());
        EXPECT_LT(run.outcomes[i].receipt().checks, groups());
    }
    expect_as_alone(run.all[2], run.outcomes[2]);
    EXPECT_EQ(run.statistics.rejects, 1U);
    EXPECT_EQ(run.statistics.sessions, 2U);
    EXPECT_TRUE(run.davids.no_message_twice());
}

/// The reply about the head: of the two prompts in this step only the first has come to its end.
TEST(SchedulerFaults, SERVE_3_and_no_others_of_the_same_step) {
    const OneWaits run(
        {liar(2 * groups() - 1, "SERVE-3 a liar at the head"), honest("SERVE-3 another")});
    EXPECT_NE(what_failed<IntegrityError>(run.outcomes[0]).find("integrity"), std::string::npos);
    expect_as_alone(run.all[1], run.outcomes[1]);
    expect_as_alone(run.all[2], run.outcomes[2]);
    EXPECT_GE(run.outcomes[1].receipt().repeated_steps, 1U);
}

void expect_wrong_reply(const Outcome& outcome, const std::string& name) {
    EXPECT_NE(what_failed<IntegrityError>(outcome).find(name), std::string::npos)
        << what_failed<IntegrityError>(outcome);
}

void expect_nobody_left(const Outcome& outcome, const std::string& name) {
    const std::string said = what_failed<Distrusted>(outcome);
    EXPECT_EQ(said.find(name + " sent a wrong reply"), 0U) << said;
    EXPECT_TRUE(outcome.ids.empty());
}

/// A call that leads back to the liar, who would be honest now, sends nothing to him.
TEST(SchedulerFaults, SERVE_3_INTEG_7_others_go_on_with_another_david) {
    const std::string wrong = "SERVE-3 a liar who is called again", other = "SERVE-3 one more";
    const OneWaits run({liar(groups() + 1, wrong), honest(wrong), honest(other)});
    for (const std::size_t i : {0U, 1U}) expect_wrong_reply(run.outcomes[i], wrong);
    expect_as_alone(run.all[2], run.outcomes[2]);
    EXPECT_EQ(run.davids.frames_to(wrong), 1 + groups() + 2 + 1) << "HELLO, APPLYs, ABORT";
    EXPECT_GT(run.davids.frames_to(other), groups());
    EXPECT_EQ(run.statistics.rejects, 1U);
    EXPECT_EQ(run.statistics.sessions, 2U);
    EXPECT_TRUE(run.statistics.serving);
}

/// Nothing of what is left can be had, so nothing waits for it.
TEST(SchedulerFaults, SERVE_3_INTEG_7_without_another_david_all_end_with_a_clean_error) {
    const std::string wrong = "SERVE-3 the only one";
    const OneWaits run({liar(groups() + 1, wrong), honest(wrong)});
    EXPECT_TRUE(run.first.ended_by(Reason::length)) << "it was answered before";
    for (const std::size_t i : {0U, 1U}) {
        expect_wrong_reply(run.outcomes[i], wrong);
        EXPECT_TRUE(run.outcomes[i].ids.empty()) << "nothing wrong is shown";
    }
    expect_nobody_left(run.outcomes[2], wrong);
    EXPECT_EQ(run.davids.frames_to(wrong), 1 + groups() + 2 + 1);
    EXPECT_FALSE(run.statistics.serving);
    EXPECT_EQ(run.statistics.rejects, 1U);
    EXPECT_EQ(run.statistics.sessions, 1U);
}

/// The second one lies at once, to the generation that had waited.
TEST(SchedulerFaults, SERVE_3_INTEG_7_one_liar_after_the_other) {
    const std::string one = "SERVE-3 a first liar", other = "SERVE-3 a second liar";
    Davids davids(served());
    int calls = 0;
    const Connect in_turn = [&] {
        return davids.connect(++calls % 2 == 1 ? liar(0, one) : liar(0, other));
    };
    const Deadline deadline;
    SchedulerOptions options;
    options.live = 1;
    options.reopen_limit = std::chrono::hours(1000);
    std::deque<Outcome> outcomes(4);
    Scheduler scheduler(open_over(in_turn), options);
    for (Outcome& outcome : outcomes) submit(scheduler, requests()[0], outcome);
    scheduler.drain();
    expect_wrong_reply(outcomes[0], one);
    expect_wrong_reply(outcomes[1], other);
    for (const std::size_t i : {2U, 3U}) {
        EXPECT_NE(what_failed<Distrusted>(outcomes[i]).find("sent a wrong reply"),
                  std::string::npos);
    }
    EXPECT_EQ(scheduler.statistics().rejects, 2U);
    EXPECT_FALSE(scheduler.statistics().serving);
}

/// Later generations end as soon as they come; once Connect leads to somebody else, they are
/// served.
TEST(SchedulerFaults, SERVE_3_INTEG_7_another_david_who_comes_later_is_used) {
    const std::string wrong = "SERVE-3 the only one for a while";
    Davids davids(served());
    std::atomic<int> calls = 0;
    std::atomic<bool> there_is_another = false;
    const Connect connect = [&] {
        if (++calls == 1) return davids.connect(liar(0, wrong));
        return davids.connect(honest(there_is_another ? "SERVE-3 a late one" : wrong));
    };
    const Deadline deadline;
    SchedulerOptions options;
    options.reopen_limit = std::chrono::hours(1000);
    std::deque<Outcome> outcomes(3);
    Scheduler scheduler(open_over(connect), options);
    const auto run = [&](Outcome& outcome, std::uint64_t ended) {
        submit(scheduler, requests()[0], outcome);
        while (scheduler.statistics().generations < ended) {
            std::this_thread::sleep_for(milliseconds(1));
        }
    };
    run(outcomes[0], 1);
    expect_wrong_reply(outcomes[0], wrong);
    run(outcomes[1], 2);
    expect_nobody_left(outcomes[1], wrong);
    there_is_another = true;
    while (!scheduler.statistics().serving) std::this_thread::sleep_for(milliseconds(5));
    run(outcomes[2], 3);
    expect_as_alone(requests()[0], outcomes[2]);
    EXPECT_EQ(davids.frames_to(wrong), 3U) << "HELLO, APPLY, ABORT";
}

}  // namespace
}  // namespace slip::testing
