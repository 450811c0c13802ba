// Pairs and their lives in the reference: order of verdicts, how often a wrong message passes,
// states, the fixed rule of the stock, and what each view and both views together say.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

#include "property_tests/reference/offline_scene.hpp"
#include "reference/insecure/pooled_views.hpp"

namespace slip::reference {
namespace {

const OfflineScene scene;

/// A message of one column to group 0 and its right answer.
const Matrix x{{6}, {2147483645}, {7}};
const Matrix right{{31}, {2147482504}};
const Matrix wrong{{32}, {2147482504}};

TEST(Verdicts, OFF_10_after_a_reject_nothing_is_accepted) {
    Pair pair = scene.pair();
    Life life(pair);
    EXPECT_TRUE(life.accepts(0, x, right));
    EXPECT_FALSE(life.accepts(0, x, wrong));
    EXPECT_TRUE(life.over() && pair.wiped());
    EXPECT_FALSE(life.accepts(0, x, right)) << "right, and too late";
    EXPECT_FALSE(life.accepts(1, Matrix{{1}, {0}}, Matrix{{5}})) << "of another group";
}

TEST(Verdicts, OFF_10_verdicts_come_in_the_order_of_their_tickets) {
    Pair pair = scene.pair();
    Life life(pair);
    const Life::Ticket first = life.draw_ticket(), second = life.draw_ticket();
    EXPECT_THROW(life.verdict(second, 0, x, right), PreconditionError) << "the first is pending";
    EXPECT_TRUE(life.verdict(first, 0, x, right));
    EXPECT_THROW(life.verdict(first, 0, x, right), PreconditionError) << "given already";
    EXPECT_TRUE(life.verdict(second, 0, x, right));
    EXPECT_THROW(life.verdict(second + 1, 0, x, right), PreconditionError) << "never drawn";
}

/// Over all rho in F_5^2, how often some of two wrong messages with these errors is accepted.
struct Counts {
    int ordered = 0, unordered = 0, all = 0;
};

Counts count_accepting(const Vector& e_1, const Vector& e_2) {
    const Integer L = 5;
    Counts counts;
    for (int a = 0; a < 5; ++a) {
        for (int b = 0; b < 5; ++b) {
            // W_D = 0, so s = 0, and an answer is its error.
            const IntegrityKey secret{Matrix{{a}, {b}}, Matrix(2, 1)};
            const auto passes = [&](const Vector& e) {
                return accepts(L, secret, Matrix(2, 1), Matrix::from_columns(2, {e}));
            };
            Pair pair(L, {{0, secret}});
            Life life(pair);
            const Life::Ticket first = life.draw_ticket(), second = life.draw_ticket();
            const bool one = life.verdict(first, 0, Matrix(2, 1), Matrix::from_columns(2, {e_1}));
            const bool two = life.verdict(second, 0, Matrix(2, 1), Matrix::from_columns(2, {e_2}));
            counts.ordered += one || two ? 1 : 0;
            counts.unordered += passes(e_1) || passes(e_2) ? 1 : 0;
            ++counts.all;
        }
    }
    return counts;
}

TEST(Verdicts, OFF_15_two_wrong_messages_in_flight_at_L_5) {
    std::set<int> ordered, unordered;
    for (int code_1 = 1; code_1 < 25; ++code_1) {
        for (int code_2 = 1; code_2 < 25; ++code_2) {
            const Counts counts =
                count_accepting({code_1 / 5, code_1 % 5}, {code_2 / 5, code_2 % 5});
            ASSERT_EQ(counts.all, 25);
            ordered.insert(counts.ordered);
            unordered.insert(counts.unordered);
        }
    }
    EXPECT_EQ(ordered, std::set<int>{5}) << "0.20, whatever the two errors are";
    EXPECT_EQ(unordered, (std::set<int>{5, 9})) << "0.36 = 9 / 25 for independent errors";
}

TEST(Pairs, OFF_13_a_pair_is_free_taken_free_or_deleted) {
    Pair pair = scene.pair();
    EXPECT_EQ(pair.state(), Pair::State::free);
    {
        Life life(pair);
        EXPECT_EQ(pair.state(), Pair::State::taken);
        EXPECT_THROW(Life second(pair), PreconditionError) << "one life at a time";
        EXPECT_TRUE(life.accepts(0, x, right));
        life.stock(0, OneTimeMask(0, {1, 2, 3}, {4, 5}));
        life.give_back();
        EXPECT_EQ(life.stocked(0), 0U) << "a stock belongs to a life";
        EXPECT_THROW(life.stock(0, OneTimeMask(1, {1, 2, 3}, {4, 5})), PreconditionError);
        EXPECT_FALSE(life.accepts(0, x, right)) << "returned";
    }
    EXPECT_EQ(pair.state(), Pair::State::free);
    Life life(pair);
    EXPECT_TRUE(life.accepts(0, x, right));
    EXPECT_FALSE(life.accepts(0, x, wrong));
    life.give_back();
    EXPECT_EQ(pair.state(), Pair::State::deleted);
    EXPECT_TRUE(pair.wiped());
    EXPECT_THROW(Life third(pair), PreconditionError);
}

TEST(Pairs, OFF_13_a_verdict_that_was_begun_and_not_given_deletes_the_pair) {
    Pair pair = scene.pair();
    Life life(pair);
    EXPECT_TRUE(life.accepts(0, x, right));
    life.draw_ticket();
    life.give_back();
    EXPECT_EQ(pair.state(), Pair::State::deleted);
}

TEST(Pairs, OFF_13_a_pair_that_is_found_taken_is_deleted) {
    Pair pair = scene.pair();
    pair.start_up();
    EXPECT_EQ(pair.state(), Pair::State::free);
    { const Life crashed(pair); }
    pair.start_up();
    EXPECT_EQ(pair.state(), Pair::State::deleted);
    EXPECT_TRUE(pair.wiped());
}

TEST(Pairs, OFF_13_the_number_of_returns_is_limited) {
    Pair pair = scene.pair();
    for (std::uint32_t life = 0; life < largest_returns; ++life) Life(pair).give_back();
    EXPECT_EQ(pair.state(), Pair::State::free);
    Life(pair).give_back();
    EXPECT_EQ(pair.state(), Pair::State::deleted);
}

// --- OFF-12: views
// ---------------------------------------------------------------------------------

/// Both views of one session with these activations, each a column of group 0.
struct Views {
    std::vector<Bytes> davids, offline;
};

Views views_of(const OfflineScene& setting, const std::vector<Matrix>& activations) {
    OfflineParties parties(setting);
    parties.fill({{0, activations.size()}});
    DavidSession david = setting.david();
    InProcessChannel channel(david);
    CharlieSession charlie(setting.shapes(), setting.digest, parties.life, channel);
    charlie.hello();
    for (const Matrix& q : activations) charlie.apply(0, q);
    charlie.close();
    parties.connection.close();
    return {david.transcript().received, parties.offline_david.received()};
}

const std::vector<Matrix> prompt = {Matrix{{5}, {-1}, {0}}, Matrix{{-127}, {100}, {3}}};
const std::vector<Matrix> other_prompt = {Matrix{{0}, {0}, {0}}, Matrix{{1}, {2}, {-3}}};

TEST(Views, OFF_12_the_offline_Davids_view_does_not_depend_on_the_activations) {
    const Views one = views_of(scene, prompt), two = views_of(scene, other_prompt);
    EXPECT_EQ(one.offline, two.offline);
    EXPECT_NE(one.davids, two.davids);
}

TEST(Views, OFF_12_davids_view_takes_every_value_equally_often_over_all_keys) {
    // At L = 3 the masks of a message of two residues are all of F_3^2 once each; so is x~.
    const Ring ring{Integer(3)};
    for (const Vector& q : {Vector{0, 0}, Vector{1, -1}}) {
        std::set<Vector> seen;
        for (int a = 0; a < 3; ++a) {
            for (int b = 0; b < 3; ++b) seen.insert(mask(ring, q, {a, b}));
        }
        EXPECT_EQ(seen.size(), 9U);
    }
}

TEST(Views, OFF_12_pooled_views_give_the_activations) {
    const Views views = views_of(scene, prompt);
    const auto found =
        insecure::pooled_activations(scene.shapes(), views.davids, views.offline, 127);
    EXPECT_EQ(found, (std::vector<insecure::Unmasked>{{0, {5, -1, 0}}, {0, {-127, 100, 3}}}));

    OfflineScene elsewhere = scene;
    elsewhere.connection_key = {11};
    const Views unrelated = views_of(elsewhere, prompt);
    EXPECT_TRUE(
        insecure::pooled_activations(scene.shapes(), views.davids, unrelated.offline, 127).empty())
        << "views of two different connections";
}

// --- OFF-14: the fixed rule
// ------------------------------------------------------------------------

/// A Charlie who keeps two columns of each group in stock and does these steps. D2 answers each
/// REQUEST after `delays` (in turn); the result is what each David can see.
struct Visible {
    std::vector<Bytes> to_offline;
    std::vector<std::uint64_t> starts;  ///< when each step begins
};

/// With `interval` 1 Charlie begins as soon as D2 lets him.
Visible run(const std::vector<std::uint64_t>& delays, std::uint64_t interval) {
    OfflineParties parties(scene);
    parties.connection.open();
    Refill refill({{0, 2}, {1, 1}});
    std::uint64_t clock = 0, requests = 0;
    std::map<std::uint32_t, std::deque<std::uint64_t>> arrivals;
    const auto ask = [&] {
        while (const auto request = refill.next()) {
            parties.connection.request(request->group, request->columns);
            const std::uint64_t arrival = clock + delays[requests++ % delays.size()];
            for (std::size_t t = 0; t < request->columns; ++t) {
                arrivals[request->group].push_back(arrival);
            }
            parties.connection.receive(parties.life);
        }
    };
    Visible result;
    for (const PlannedMessage& step : std::vector<PlannedMessage>{{0, 2}, {1, 1}, {0, 1}, {0, 2}}) {
        ask();
        auto& stock = arrivals[step.group];
        const std::vector<std::uint64_t> needed(
            stock.begin(), stock.begin() + static_cast<std::ptrdiff_t>(step.columns));
        stock.erase(stock.begin(), stock.begin() + static_cast<std::ptrdiff_t>(step.columns));
        clock += interval * intervals_before(clock, needed, interval);
        result.starts.push_back(clock);
        refill.spend(step);
    }
    result.to_offline = parties.offline_david.received();
    return result;
}

TEST(FixedRule, OFF_14_what_is_asked_for_depends_on_the_schedule_only) {
    const Visible quick = run({1}, 100), slow = run({350, 20, 99, 7}, 100);
    EXPECT_EQ(quick.to_offline, slow.to_offline);
    EXPECT_EQ(quick.starts, (std::vector<std::uint64_t>{100, 100, 200, 300}));
}

TEST(FixedRule, OFF_14_a_wait_shows_whole_intervals_and_no_more) {
    const Visible one = run({301, 5, 102}, 100), two = run({399, 99, 199}, 100);
    EXPECT_EQ(one.starts, two.starts) << "98 ms of difference, and David sees none";
    EXPECT_NE(run({301, 5, 102}, 1).starts, run({399, 99, 199}, 1).starts)
        << "the mutant: a step begins when D2 chooses";
}

TEST(FixedRule, OFF_14_the_number_of_intervals) {
    EXPECT_EQ(intervals_before(1000, {}, 100), 0U);
    EXPECT_EQ(intervals_before(1000, {999, 1000}, 100), 0U) << "it is there in time";
    EXPECT_EQ(intervals_before(1000, {1001}, 100), 1U);
    EXPECT_EQ(intervals_before(1000, {1100, 3}, 100), 1U);
    EXPECT_EQ(intervals_before(1000, {1101}, 100), 2U);
    EXPECT_THROW(intervals_before(0, {}, 0), PreconditionError);
}

}  // namespace
}  // namespace slip::reference
