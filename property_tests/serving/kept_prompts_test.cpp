// SERVE-4: prompts that begin alike, of one tenant.
#include "optimized/serving/kept_prompts.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <future>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "property_tests/serving/served_model.hpp"

namespace slip::testing {
namespace {

using graph::KvCache;
using serving::KeptPrompts;
using Ids = std::vector<TokenId>;
using Reason = GenerationEnd::Reason;

// ---------------------------------------------------------------------------------------------
// What is kept, and what is found.
// ---------------------------------------------------------------------------------------------

base::ModelConfig config_with_window(std::size_t window) {
    base::ModelConfig config;
    config.num_hidden_layers = 1;
    config.num_key_value_heads = 1;
    config.head_dim = 2;
    if (window > 0) config.windows = {window};
    return config;
}

/// A cache of `positions` positions, whose keys and values are 2 p and 2 p + 1 at position p.
KvCache filled(std::size_t positions, std::size_t window = 0) {
    KvCache cache(config_with_window(window));
    for (std::size_t p = 0; p < positions; ++p) {
        const std::vector<float> row{static_cast<float>(2 * p), static_cast<float>(2 * p + 1)};
        cache.write(0, {row.data(), 1, 2}, {row.data(), 1, 2});
        cache.extend(1);
    }
    return cache;
}

constexpr std::size_t part = 128 * (2 + 2) * sizeof(float);  // of filled(128)

Ids counting(TokenId first, std::size_t count) {
    Ids ids(count);
    std::iota(ids.begin(), ids.end(), first);
    return ids;
}

Ids joined(Ids a, const Ids& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

TEST(KeptPrompts, SERVE_4_the_longest_common_beginning_but_for_the_last_token) {
    KeptPrompts kept(100 * part, 1);
    kept.keep("a", counting(0, 10), filled(10));
    kept.keep("a", joined(counting(0, 4), counting(50, 20)), filled(24));
    const auto found = [&](const Ids& prompt) { return kept.find("a", prompt, false).length; };
    EXPECT_EQ(found(counting(0, 8)), 7U) << "the last one's logits are wanted";
    EXPECT_EQ(found(counting(0, 30)), 10U);
    EXPECT_EQ(found(joined(counting(0, 4), {50, 51, 7})), 6U);
    EXPECT_EQ(found({0}), 0U);
    EXPECT_EQ(found({9, 8}), 0U);
    EXPECT_EQ(kept.find("a", counting(0, 8), true).length, 0U) << "MODEL-14: other keys";
}

TEST(KeptPrompts, SERVE_4_nothing_is_shared_between_tenants_nor_by_nobody) {
    KeptPrompts kept(100 * part, 2);
    kept.keep("a", counting(0, 10), filled(10));
    kept.keep("", counting(0, 10), filled(10));
    EXPECT_EQ(kept.find("b", counting(0, 8), false).length, 0U);
    EXPECT_EQ(kept.find("", counting(0, 8), false).length, 0U);
    EXPECT_EQ(kept.bytes(), part);
}

TEST(KeptPrompts, SERVE_4_the_least_recently_used_goes_first) {
    KeptPrompts kept(2 * part, 1);
    const auto found = [&](TokenId first) {
        return kept.find("a", counting(first, 20), false).length;
    };
    kept.keep("a", counting(0, 10), filled(10));
    kept.keep("a", counting(100, 10), filled(10));
    EXPECT_EQ(found(0), 10U);
    kept.keep("a", counting(200, 10), filled(10));
    EXPECT_EQ(found(100), 0U);
    EXPECT_EQ(found(0), 10U);
    EXPECT_EQ(found(200), 10U);
    EXPECT_EQ(kept.bytes(), 2 * part);
    kept.keep("a", counting(300, 300), filled(300));
    EXPECT_EQ(kept.bytes(), 2 * part) << "what does not fit is not kept";
    KeptPrompts none(0, 1);
    none.keep("a", counting(0, 10), filled(10));
    EXPECT_EQ(none.bytes(), 0U);
}

/// What is kept of one tenant is what would be kept if nobody else had asked.
RC_GTEST_PROP(KeptPrompts, SERVE_4_what_others_ask_changes_nothing_of_a_tenant, ()) {
    constexpr std::size_t tenants = 3;
    const auto share = *rc::gen::inRange<std::size_t>(1, 5).as("parts of a share");
    const auto asked = *rc::gen::container<std::vector<std::pair<std::size_t, std::size_t>>>(
                            rc::gen::pair(rc::gen::inRange<std::size_t>(0, tenants + 1),
                                          rc::gen::inRange<std::size_t>(1, 6)))
                            .as("who keeps a prompt, and its parts");
    KeptPrompts kept(tenants * share * part, tenants);
    KeptPrompts alone(share * part, 1);  // tenant 0
    // The first tenants have a share.
    for (std::size_t tenant = 0; tenant < tenants; ++tenant) {
        kept.keep(std::to_string(tenant + 1), counting(5000, 1), filled(1));
    }
    alone.keep("1", counting(5000, 1), filled(1));
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto [tenant, parts] = asked[i];
        const auto first = static_cast<TokenId>(10000 * (i + 1));
        const std::string name = std::to_string(tenant + 1);
        kept.keep(name, counting(first, 128 * parts), filled(128 * parts));
        if (tenant == 0) alone.keep(name, counting(first, 128 * parts), filled(128 * parts));
        for (std::size_t j = 0; j <= i; ++j) {
            const Ids prompt = counting(static_cast<TokenId>(10000 * (j + 1)), 2000);
            RC_ASSERT(kept.find("1", prompt, false).length ==
                      alone.find("1", prompt, false).length);
            RC_ASSERT(kept.find(std::to_string(tenants + 1), prompt, false).length == 0U);
        }
        RC_ASSERT(kept.bytes() <= tenants * share * part);
    }
}

TEST(KeptPrompts, SERVE_4_what_is_continued_is_kept_once) {
    KeptPrompts kept(100 * part, 2);
    kept.keep("a", counting(0, 10), filled(10));
    kept.keep("b", counting(0, 10), filled(10));
    kept.keep("a", counting(0, 20), filled(20));
    EXPECT_EQ(kept.bytes(), 2 * part);
    EXPECT_EQ(kept.find("a", counting(0, 30), false).length, 20U);
    EXPECT_EQ(kept.find("b", counting(0, 30), false).length, 10U);
}

/// A window of 8 has dropped the first 128 of 300 positions.
TEST(KeptPrompts, SERVE_4_MODEL_16_what_windows_have_dropped_is_not_found) {
    KeptPrompts kept(100 * part, 1);
    kept.keep("a", counting(0, 300), filled(300, 8));
    EXPECT_EQ(kept.find("a", joined(counting(0, 100), {7, 7}), false).length, 0U);
    EXPECT_EQ(kept.find("a", joined(counting(0, 299), {7, 7}), false).length, 299U);
    EXPECT_EQ(kept.find("a", counting(0, 400), false).length, 300U);
}

RC_GTEST_PROP(KeptPrompts, SERVE_4_a_copy_begins_like_the_original, ()) {
    const auto window = *rc::gen::element<std::size_t>(0, 3, 130).as("window");
    const auto positions = *rc::gen::inRange<std::size_t>(1, 420).as("positions");
    const auto length = *rc::gen::inRange<std::size_t>(1, positions + 1).as("length");
    KvCache original = filled(positions, window);
    RC_PRE(original.keeps(length));
    KvCache copy(config_with_window(window));
    copy.begin_like(original, length);
    RC_ASSERT(copy.length() == length);
    original = KvCache(config_with_window(window));  // the copy has memory of its own
    const std::size_t first = window == 0 || length < window ? 0 : length + 1 - window;
    for (std::size_t p = first; p < length; ++p) {
        const std::size_t start = p / KvCache::positions_at_once * KvCache::positions_at_once;
        const float* key = copy.keys(0, 0, start) + 2 * (p - start);
        const float* value = copy.values(0, 0, start) + 2 * (p - start);
        RC_ASSERT(key[0] == static_cast<float>(2 * p) && key[1] == static_cast<float>(2 * p + 1));
        RC_ASSERT(value[1] == static_cast<float>(2 * p + 1));
    }
    const std::vector<float> row{-1, -2};
    copy.write(0, {row.data(), 1, 2}, {row.data(), 1, 2});
    copy.extend(1);
    const std::size_t start = length / KvCache::positions_at_once * KvCache::positions_at_once;
    RC_ASSERT(copy.keys(0, 0, start)[2 * (length - start)] == -1.0F);
}

// ---------------------------------------------------------------------------------------------
// By a scheduler.
// ---------------------------------------------------------------------------------------------

/// Runs one generation after the other.
class OneByOne {
public:
    explicit OneByOne(LanguageModel model, const SchedulerOptions& options = {})
        : scheduler(std::move(model), options) {}
    Outcome run(const GenerationRequest& request) {
        Outcome outcome;
        std::promise<void> ended;
        scheduler.submit(request, outcome.on_token(), [&](const GenerationEnd& end) {
            outcome.ends.push_back(end);
            ended.set_value();
        });
        ended.get_future().wait();
        return outcome;
    }

    Scheduler scheduler;
};

TEST(KeptPromptsOfScheduler, SERVE_4_a_prompt_that_is_known_costs_no_rounds_and_changes_no_bit) {
    LanguageModel oracle = small_served().unsplit();
    OneByOne one(small_served().in_process());
    auto request = full_request(oracle, 1, 30, 5);
    request.tenant = "a";
    const Outcome first = one.run(request);
    const Outcome again = one.run(request);
    EXPECT_EQ(first.receipt().cached_tokens, 0U);
    EXPECT_EQ(again.receipt().cached_tokens, 29U);
    EXPECT_EQ(again.receipt().prompt_tokens, 30U);
    EXPECT_LT(again.receipt().bytes_up * 3, first.receipt().bytes_up);

    // What was generated is known too: a conversation goes on.
    GenerationRequest next = request;
    next.prompt = joined(joined(request.prompt, first.ids), {1, 2});
    const Outcome continued = one.run(next);
    EXPECT_EQ(continued.receipt().cached_tokens, 34U) << "the fifth was never computed";
    for (const std::string other : {"b", ""}) {
        request.tenant = other;
        EXPECT_EQ(one.run(request).receipt().cached_tokens, 0U) << other;
    }
    EXPECT_EQ(one.run(request).receipt().cached_tokens, 0U) << "nobody's are not kept";
    EXPECT_TRUE(first.same_tokens(alone(oracle, request)));
    EXPECT_TRUE(again.same_tokens(first));
    EXPECT_TRUE(continued.same_tokens(alone(oracle, next)));
    EXPECT_EQ(one.scheduler.statistics().cached_tokens, 29U + 34);
}

TEST(KeptPromptsOfScheduler, SERVE_4_what_another_generation_of_the_tenant_has_computed) {
    LanguageModel oracle = small_served().unsplit();
    Scheduler scheduler(small_served().unsplit());
    auto request = full_request(oracle, 1, 30, 5);
    request.tenant = "a";
    Outcome same;
    Outcome other;
    std::promise<void> submitted;
    const auto submit_more = [&, tokens = 0](TokenId, auto) mutable {
        if (++tokens == 1) {
            submit(scheduler, request, same);
            request.tenant = "b";
            submit(scheduler, request, other);
            submitted.set_value();
        }
        return true;
    };
    scheduler.submit(request, submit_more, {});
    submitted.get_future().wait();
    scheduler.drain();
    EXPECT_EQ(same.receipt().cached_tokens, 29U);
    EXPECT_EQ(other.receipt().cached_tokens, 0U);
    EXPECT_TRUE(same.same_tokens(alone(oracle, request)));
    EXPECT_TRUE(other.same_tokens(same));
}

TEST(KeptPromptsOfScheduler, SERVE_4_none_are_kept_where_the_owner_keeps_none) {
    LanguageModel oracle = small_served().unsplit();
    SchedulerOptions options;
    options.kept_prompt_bytes = 0;
    OneByOne one(small_served().unsplit(), options);
    auto request = full_request(oracle, 1, 30, 5);
    request.tenant = "a";
    one.run(request);
    EXPECT_EQ(one.run(request).receipt().cached_tokens, 0U);
}

TEST(KeptPromptsOfScheduler, SERVE_4_the_owner_is_told_of_whom_nothing_is_kept) {
    LanguageModel oracle = small_served().unsplit();
    auto request = full_request(oracle, 1, 30, 5);
    std::vector<std::string> notes;
    SchedulerOptions options;
    options.note = [&](const std::string& note) { notes.push_back(note); };
    {
        OneByOne one(small_served().unsplit(), options);  // with one share
        const auto cached = [&](const std::string& tenant) {
            request.tenant = tenant;
            return one.run(request).receipt().cached_tokens;
        };
        EXPECT_EQ(cached(""), 0U);
        EXPECT_EQ(cached("a"), 0U);
        EXPECT_EQ(cached("b"), 0U);
        EXPECT_EQ(cached("b"), 0U);
        EXPECT_EQ(cached("a"), 29U);
    }
    const std::vector<std::string> once{"a tenant's prompts are not kept: others have all shares"};
    EXPECT_EQ(notes, once);
    notes.clear();
    options.kept_prompt_tenants = options.kept_prompt_bytes / 100;
    {
        OneByOne one(small_served().unsplit(), options);
        one.run(request);
        EXPECT_EQ(one.run(request).receipt().cached_tokens, 0U);
    }
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_TRUE(notes.front().starts_with("no prompt is kept: each of ")) << notes.front();
}

/// Prompts that share beginnings with longer and shorter ones before them.
TEST(KeptPromptsOfScheduler, SERVE_4_MODEL_14_MODEL_16_with_longrope_and_with_windows) {
    for (const std::string name : {"phi3-longrope", "mistral-window", "gemma3"}) {
        const auto folder = std::filesystem::path(SLIP_SHARED_DIR) / "data/models" / name;
        if (!std::filesystem::exists(folder)) GTEST_SKIP() << "absent: " << folder;
        LanguageModel oracle = open_checkpoint<LanguageModel>(folder);
        OneByOne one(open_checkpoint<LanguageModel>(folder));
        const Ids text = random_ids(1, 330, oracle.vocabulary_size());
        std::uint64_t cached = 0;
        for (const std::size_t length : {12U, 30U, 14U, 300U, 310U, 100U, 20U, 308U}) {
            Ids prompt(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length));
            prompt.push_back(static_cast<TokenId>(length % 7));
            const auto request = request_of(prompt, 4, "a");
            const Outcome outcome = one.run(request);
            EXPECT_TRUE(outcome.same_tokens(alone(oracle, request))) << name << ", " << length;
            cached += outcome.receipt().cached_tokens;
        }
        EXPECT_GE(cached, 300U) << name;
    }
}

}  // namespace
}  // namespace slip::testing
