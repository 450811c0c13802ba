// Orders in OpenAI's JSON, keys, and what is shown of a service. What is refused over the network
// is in system/serve_test.py.
// test: alone
// links: slip_endpoint
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <thread>

#include "programs/endpoint/api_keys.hpp"
#include "programs/endpoint/client_seeds.hpp"
#include "programs/endpoint/counts.hpp"
#include "programs/endpoint/parsing/request.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "slip/error.hpp"

namespace slip::endpoint {
namespace {

using slip::testing::TemporaryFolder;

template <class Action>
std::string refused_field(const Action& action) {
    try {
        action();
    } catch (const ApiError& error) {
        EXPECT_EQ(error.status, 400U);
        EXPECT_EQ(error.type, "invalid_request_error");
        return error.param;
    }
    return "nothing is refused";
}

TEST(ApiRequest, SERVE_5_defaults_are_those_of_openai) {
    const GenerationOrder order = parse_completion(R"({"model": "m", "prompt": "p"})");
    EXPECT_EQ(order.model, "m");
    EXPECT_EQ(order.prompts, std::vector<Prompt>{"p"});
    EXPECT_EQ(order.choices, 1U);
    EXPECT_FALSE(order.echo);
    EXPECT_EQ(order.max_tokens, 16U);
    EXPECT_EQ(order.sampling.temperature, 1);
    EXPECT_EQ(order.sampling.top_p, 1);
    EXPECT_FALSE(order.stream);
    EXPECT_FALSE(order.log_probabilities);
    const GenerationOrder chat =
        parse_chat(R"({"model": "m", "messages": [{"role": "user", "content": "x"}]})");
    EXPECT_FALSE(chat.max_tokens);
    EXPECT_EQ(chat.messages.at(0).text, "x");
    EXPECT_NE(parse_completion(R"({"model": "m", "prompt": "p"})").sampling.seed,
              order.sampling.seed);
}

TEST(ApiRequest, SERVE_5_every_field_is_read) {
    const GenerationOrder order = parse_completion(
        R"({"model": "m", "prompt": [3, 4], "max_tokens": 5, "temperature": 0.5, "top_p": 0.25,
            "top_k": 6, "min_p": 0.125, "seed": -1, "presence_penalty": -1.5,
            "frequency_penalty": 1.5, "repetition_penalty": 2, "stop": ["a", "b"], "stream": true,
            "stream_options": {"include_usage": true}, "logprobs": 3, "n": 2, "best_of": 2,
            "echo": true, "logit_bias": {"7": -1.5}})");
    EXPECT_EQ(order.prompts, (std::vector<Prompt>{std::vector<TokenId>{3, 4}}));
    EXPECT_EQ(order.choices, 2U);
    EXPECT_TRUE(order.echo);
    EXPECT_EQ(order.sampling.logit_bias, (std::vector<std::pair<TokenId, double>>{{7, -1.5}}));
    EXPECT_EQ(order.max_tokens, 5U);
    EXPECT_EQ(order.sampling.temperature, 0.5);
    EXPECT_EQ(order.sampling.top_p, 0.25);
    EXPECT_EQ(order.sampling.top_k, 6U);
    EXPECT_EQ(order.sampling.min_p, 0.125);
    EXPECT_EQ(order.sampling.seed, ~std::uint64_t{0});
    EXPECT_EQ(order.sampling.presence_penalty, -1.5);
    EXPECT_EQ(order.sampling.frequency_penalty, 1.5);
    EXPECT_EQ(order.sampling.repetition_penalty, 2);
    EXPECT_EQ(order.stops, (std::vector<std::string>{"a", "b"}));
    EXPECT_TRUE(order.stream && order.include_usage);
    EXPECT_EQ(order.log_probabilities, 3U);
}

TEST(ApiRequest, SERVE_5_no_token_at_all_is_for_an_echo_alone) {
    const auto completion = [](const std::string& echo) {
        return parse_completion(R"({"model": "m", "prompt": "p", "max_tokens": 0, "echo": )" +
                                echo + "}");
    };
    EXPECT_EQ(completion("true").max_tokens, 0U);
    EXPECT_EQ(refused_field([&] { completion("false"); }), "max_tokens");
    for (const std::string name : {"max_tokens", "max_completion_tokens"}) {
        EXPECT_EQ(
            refused_field([&] {
                parse_chat(R"({"model": "m", "messages": [{"role": "user", "content": "x"}], ")" +
                           name + R"(": 0})");
            }),
            name);
    }
}

TEST(ApiRequest, SERVE_5_prompts_are_texts_or_ids_one_or_several) {
    const auto prompts = [](const std::string& json) {
        return parse_completion(R"({"model": "m", "prompt": )" + json + "}").prompts;
    };
    EXPECT_EQ(prompts(R"(["a", [1, 2], ""])"),
              (std::vector<Prompt>{"a", std::vector<TokenId>{1, 2}, ""}));
    EXPECT_EQ(prompts("[1, 2]"), (std::vector<Prompt>{std::vector<TokenId>{1, 2}}));
    for (const char* wrong :
         {"[]", "[[]]", "[1, \"a\"]", "[\"a\", 1]", "[[[1]]]", "[1, [2]]", "{}"}) {
        EXPECT_EQ(refused_field([&] { prompts(wrong); }), "prompt") << wrong;
    }
    const auto with_choices = [](std::size_t count, std::size_t n) {
        std::string list;
        for (std::size_t i = 0; i < count; ++i) list += i == 0 ? "\"a\"" : ", \"a\"";
        return parse_completion(R"({"model": "m", "n": )" + std::to_string(n) + R"(, "prompt": [)" +
                                list + "]}");
    };
    EXPECT_EQ(with_choices(64, 2).prompts.size(), 64U);
    EXPECT_EQ(refused_field([&] { with_choices(65, 2); }), "prompt");
}

TEST(ClientSeeds, SERVE_10_the_same_for_the_same_order_alone) {
    const ClientSeeds seeds;
    const std::vector<TokenId> prompt{3, 4};
    SamplingOptions options;
    options.temperature = 1;
    options.seed = 7;
    const std::uint64_t seed = seeds.seed_for(options, prompt);
    EXPECT_NE(seed, options.seed);
    EXPECT_EQ(seeds.seed_for(options, prompt), seed);
    EXPECT_NE(ClientSeeds().seed_for(options, prompt), seed);
    EXPECT_NE(seeds.seed_for(options, std::vector<TokenId>{3}), seed);
    EXPECT_NE(seeds.seed_for(options, std::vector<TokenId>{4, 3}), seed);
    SamplingOptions longer = options;
    longer.max_tokens = 9;  // a longer answer begins as the shorter one
    EXPECT_EQ(seeds.seed_for(longer, prompt), seed);

    std::vector<SamplingOptions> others(11, options);
    others[0].seed = 8;
    others[1].temperature = 2;
    others[2].top_k = 1;
    others[3].top_p = 0.5;
    others[4].min_p = 0.5;
    others[5].repetition_penalty = 2;
    others[6].presence_penalty = 1;
    others[7].frequency_penalty = 1;
    others[8].logit_bias = {{1, 1.0}};
    others[9].logit_bias = {{2, 1.0}};
    others[10].logit_bias = {{1, 2.0}};
    std::set<std::uint64_t> found{seed};
    for (const SamplingOptions& other : others) found.insert(seeds.seed_for(other, prompt));
    for (const char* texts : {"gbnf root ::= x", "gbnf root ::= y"}) {
        found.insert(seeds.seed_for(options, prompt, texts));
    }
    EXPECT_EQ(found.size(), others.size() + 3);
}

TEST(ApiRequest, SERVE_5_the_field_that_is_wrong_is_named) {
    const auto chat = [](const std::string& messages) {
        return refused_field(
            [&] { parse_chat(R"({"model": "m", "messages": )" + messages + "}"); });
    };
    EXPECT_EQ(chat(R"([{"role": "user", "content": [{"type": "text", "text": "a"},
                       {"type": "image_url", "image_url": {}}]}])"),
              "messages[0].content[1].type");
    EXPECT_EQ(chat(R"([{"role": "function", "content": "a"}])"), "messages[0].role");
    EXPECT_EQ(chat(R"([{"role": "user", "content": "a"}], "functions": [{}])"), "functions");
    EXPECT_EQ(chat(R"([{"role": "user", "content": "a"}], "unheard_of": 1)"), "unheard_of");
    EXPECT_EQ(refused_field([] { parse_completion("{}"); }), "model");
    EXPECT_EQ(refused_field([] { parse_completion("[]"); }), "");
}

/// A file that only its owner may use.
std::filesystem::path key_file(const TemporaryFolder& folder, const std::string& text) {
    const auto path = folder / "keys";
    std::ofstream(path) << text;
    std::filesystem::permissions(path, std::filesystem::perms{0600});
    return path;
}

TEST(ApiKeys, SERVE_6_keys_have_names) {
    const TemporaryFolder folder;
    const ApiKeys keys(key_file(
        folder, "# two\nanna 0123456789abcdef\n\n0123456789abcdeg\nanna 2123456789abcdef"));
    EXPECT_EQ(keys.name_of("0123456789abcdef"), "anna");
    EXPECT_EQ(keys.name_of("0123456789abcdeg"), "line 4");
    EXPECT_EQ(keys.name_of("2123456789abcdef"), "anna");
    for (const char* other : {"", "anna", "0123456789abcde", "0123456789abcdef "}) {
        EXPECT_FALSE(keys.name_of(other)) << other;
    }
    EXPECT_THROW(ApiKeys(folder / "none"), BadInput);
}

TEST(ApiKeys, SERVE_6_presented_keys) {
    EXPECT_EQ(presented_key("Bearer abc", false), "abc");
    EXPECT_EQ(presented_key("bEARER abc", false), "abc");
    EXPECT_EQ(presented_key("Basic eDphYmM=", true), "abc");  // x:abc
    EXPECT_EQ(presented_key("Basic eDphYmM=", false), "");
    for (const char* wrong :
         {"", "Bearer", "abc", "Bearerabc", "Basic ", "Basic !!!!", "Basic eA=="}) {
        EXPECT_EQ(presented_key(wrong, true), "") << wrong;
    }
}

TEST(Counts, tokens_per_second_are_of_whole_seconds) {
    Counts counts;
    EXPECT_EQ(counts.tokens_per_second(), 0);
    for (int i = 0; i < 100; ++i) counts.on_token(i == 0, 0.002);
    EXPECT_EQ(counts.tokens_per_second(), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    const double speed = counts.tokens_per_second();
    EXPECT_TRUE(speed > 0 && speed <= 100) << speed;
    const Recent recent = counts.recent();
    EXPECT_EQ(std::accumulate(recent.tokens.begin(), recent.tokens.end(), 0.0), 100);
}

TEST(Durations, SERVE_12_each_counts_at_the_first_limit_that_it_does_not_exceed) {
    Durations durations;
    for (const double seconds : {0.0, 0.0001, 0.00011, 1.0, 250.0, 251.0}) durations.add(seconds);
    const auto at = [&](double limit) {
        const auto* const found =
            std::find(Durations::limits.begin(), Durations::limits.end(), limit);
        return durations.counts[static_cast<std::size_t>(found - Durations::limits.begin())];
    };
    EXPECT_EQ(at(0.0001), 2U);
    EXPECT_EQ(at(0.00025), 1U);
    EXPECT_EQ(at(1.0), 1U);
    EXPECT_EQ(at(250.0), 1U);
    EXPECT_EQ(durations.counts.back(), 1U);
    EXPECT_DOUBLE_EQ(durations.seconds, 502.00021);
    Durations both = durations;
    both.add(durations);
    EXPECT_EQ(both.counts.front(), 4U);
    EXPECT_DOUBLE_EQ(both.seconds, 2 * durations.seconds);
}

}  // namespace
}  // namespace slip::endpoint
