// The KV cache: what sequences take, keys that have to be computed again, and sequences that are
// kept for another generation. That a cache holds what its sequence needs is compared in
// batch_test.cpp.
#include "optimized/graph/kv_cache.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "optimized/engines/engines.hpp"
#include "optimized/graph/generate.hpp"
#include "optimized/graph/transformer.hpp"
#include "property_tests/generators/sanitizers.hpp"
#include "property_tests/generators/synthetic_model.hpp"
#include "property_tests/generators/values.hpp"
#include "property_tests/graph/failing_engine.hpp"

namespace slip::testing {
namespace {

using namespace base;
using namespace engines;
using namespace graph;
using Ids = std::vector<TokenId>;
using Bits = std::vector<std::uint32_t>;

TEST(KvCache, MODEL_6_a_cache_takes_what_was_predicted) {
    for (const auto draw : {draw_llama, draw_gpt2, draw_phi}) {
        for (const Attention order : {Attention::fused, Attention::paper}) {
            SyntheticModel model = draw(draws_from(32));
            ModelConfig& c = model.config;
            c.attention = order;
            const std::size_t value_width =
                order == Attention::paper ? c.hidden_size : c.key_value_width();
            for (const std::size_t positions : {0U, 1U, 128U, 129U, 8192U}) {
                KvCache cache(c);
                cache.reserve(positions);
                const std::size_t parts = positions / 128 + (positions % 128 > 0 ? 1 : 0);
                EXPECT_EQ(cache.bytes(), KvCache::bytes_for(c, positions));
                EXPECT_EQ(cache.bytes(), parts * 128 * c.num_hidden_layers *
                                             (c.key_value_width() + value_width) * sizeof(float));
            }
        }
    }
}

TEST(KvCache, MODEL_16_windows_bound_a_cache) {
    SyntheticModel model = draw_llama(draws_from(32));
    ModelConfig& c = model.config;
    c.num_hidden_layers = 3;
    c.windows = {7, 0, 300};
    // Parts of 128: all of a sequence, or W + 512 positions and one more.
    const std::map<std::size_t, std::size_t> parts{
        {1, 3}, {128, 3}, {640, 15}, {768, 6 + 6 + 6}, {1024, 6 + 8 + 8}, {8192, 6 + 64 + 8}};
    for (const auto& [positions, expected] : parts) {
        KvCache cache(c);
        cache.reserve(positions);
        EXPECT_EQ(cache.bytes(), KvCache::bytes_for(c, positions));
        EXPECT_EQ(cache.bytes(), expected * 128 * 2 * c.key_value_width() * sizeof(float))
            << positions;
    }
}

/// A model whose keys may have to be computed again, and the logits of a text's last token.
struct Recomputed {
    explicit Recomputed(const std::function<void(ModelConfig&)>& change) {
        model.config.max_position_embeddings = 1000;
        change(model.config);
        graph = make_graph(model.config, model.lookup());
    }
    Bits append(KvCache& cache, const Ids& text, std::size_t end, base::Engine& with) {
        std::vector<float> logits;
        const auto ids = std::span(text).subspan(cache.length(), end - cache.length());
        graph->forward(with, workspace, {cache, ids, Logits::last_position}, logits);
        return bits_of(logits);
    }
    Bits at_once(const Ids& text, std::size_t end) {
        KvCache cache(model.config);
        return append(cache, text, end, engine);
    }

    SyntheticModel model = random_llama(1);
    std::unique_ptr<Transformer> graph;
    FloatEngine engine{groups_of(model.config), model.lookup()};
    Workspace workspace;
};

void have_windows(ModelConfig& c) { c.windows.assign(c.num_hidden_layers, 100); }

void have_longrope(ModelConfig& c) {
    base::RopeScaling& scaling = c.rope.scaling;
    scaling.kind = base::RopeScaling::Kind::longrope;
    scaling.original_positions = 9;
    scaling.short_factors.assign(c.rotary_dim / 2, 1.5);
    scaling.long_factors.assign(c.rotary_dim / 2, 4.0);
    scaling.attention_factor = 1.25;
}

TEST(KvCache, MODEL_16_a_sequence_that_is_cut_back_behind_its_windows_is_computed_again) {
    Recomputed test(have_windows);
    const Ids text = random_ids(5, 900, test.model.config.vocab_size);
    // As far back as the cache keeps, and farther.
    for (const std::size_t length : {899U, 850U, 600U, 300U, 1U, 0U}) {
        KvCache cache(test.model.config);
        test.append(cache, text, 900, test.engine);
        cache.truncate(length);
        EXPECT_EQ(test.append(cache, text, length + 3 > 900 ? 900 : length + 3, test.engine),
                  test.at_once(text, std::min<std::size_t>(length + 3, 900)))
            << length;
    }
}

/// Nothing is dropped before a batch that a token after its first one sees: so a batch of which one
/// token counts, and 15 guesses do not, costs no keys.
TEST(KvCache, MODEL_21_MODEL_16_windows_keep_what_is_seen_once_guesses_are_forgotten) {
    SyntheticModel model = random_llama(3);
    ModelConfig& config = model.config;
    config.num_hidden_layers = 4;
    config.windows = {1, 100, 128, 0};
    KvCache cache(config);
    const std::vector<float> rows(16 * config.key_value_width());
    const MatrixView<const float> view(rows.data(), 16, config.key_value_width());
    for (std::size_t length = 0; length < 1500; length = cache.length()) {
        for (std::size_t block = 0; block < 4; ++block) cache.write(block, view, view);
        cache.extend(16);
        cache.truncate(length + 1);
        ASSERT_TRUE(cache.keeps(length + 1)) << length;
        ASSERT_TRUE(cache.has_keys_for(false)) << length;
    }
}

TEST(KvCache, MODEL_14_longrope_computes_keys_again_when_a_sequence_crosses_the_original_context) {
    Recomputed test(have_longrope);
    const Ids text = random_ids(5, 20, test.model.config.vocab_size);
    KvCache cache(test.model.config);
    for (const std::size_t length : {3U, 9U, 10U, 20U}) {
        EXPECT_EQ(test.append(cache, text, length, test.engine), test.at_once(text, length));
    }
    cache.truncate(5);  // and back
    EXPECT_EQ(test.append(cache, text, 7, test.engine), test.at_once(text, 7));
}

TEST(KvCache, MODEL_14_a_failure_while_keys_are_computed_again_loses_no_token) {
    Recomputed test(have_longrope);
    const Ids text = random_ids(5, 10, test.model.config.vocab_size);
    const Bits expected = test.at_once(text, 10);
    std::size_t failures = 0;
    for (bool failed = true; failed; ++failures) {
        KvCache cache(test.model.config);
        test.append(cache, text, 9, test.engine);
        FailingEngine failing(test.engine, failures);
        failed = false;
        try {
            EXPECT_EQ(test.append(cache, text, 10, failing), expected);
        } catch (const ProtocolError&) {
            failed = true;
            EXPECT_EQ(cache.length(), 9U);
            EXPECT_EQ(test.append(cache, text, 10, test.engine), expected);
        }
    }
    // The products of nine tokens without their head, and those of the tenth.
    EXPECT_EQ(failures, 2 * groups_of(test.model.config).size());
}

/// Counts the tokens that go through the first block.
class CountingEngine : public base::Engine {
public:
    explicit CountingEngine(base::Engine& inner) : inner_(inner) {}
    void apply(GroupId group, MatrixView<const float> input,
               std::span<const MatrixView<float>> outputs) override {
        if (group == 0) tokens_ += input.rows();
        inner_.apply(group, input, outputs);
    }
    std::size_t tokens() const { return tokens_; }

private:
    base::Engine& inner_;
    std::size_t tokens_ = 0;
};

/// The ids of a generation, and after them the bits of the logits that each was chosen from.
Bits generation(const Transformer& graph, base::Engine& engine, KeptSequence* sequence,
                const Ids& prompt, std::size_t tokens) {
    SamplingOptions options;
    options.max_tokens = tokens;
    std::vector<float> all;
    const auto see = [&](TokenId, std::span<const float> logits) {
        all.insert(all.end(), logits.begin(), logits.end());
        return true;
    };
    const Ids ids = sequence != nullptr ? generate(graph, engine, *sequence, prompt, options, see)
                                        : generate(graph, engine, prompt, options, see);
    Bits result(ids.begin(), ids.end());
    const Bits logits = bits_of(all);
    result.insert(result.end(), logits.begin(), logits.end());
    return result;
}

/// Generations that begin with a part of the one before, some of which break off: in a model
/// without windows, in one whose windows drop what was long ago, and with longrope.
RC_GTEST_PROP(KvCache, MODEL_3_MODEL_14_MODEL_16_a_kept_sequence_changes_no_bit, ()) {
    const std::size_t kind = *any_size(0, 2).as("nothing, windows, longrope");
    Recomputed test([&](ModelConfig& config) {
        if (kind == 1) have_windows(config);
        if (kind == 2) have_longrope(config);
    });
    const Transformer& graph = *test.graph;
    KeptSequence sequence(test.model.config);
    const auto id = rc::gen::inRange<TokenId>(0, 5);
    Ids before = random_ids(1, kind == 1 ? 300 : 6, test.model.config.vocab_size);
    for (int turn = 0; turn < 3; ++turn) {
        Ids prompt(before.begin(),
                   before.end() - static_cast<std::ptrdiff_t>(
                                      *any_size(0, before.size()).as("tokens cut off")));
        for (const TokenId added :
             *rc::gen::container<Ids>(*any_size(1, 4).as("added"), id).as("added ids")) {
            prompt.push_back(added);
        }
        const std::size_t tokens = *any_size(0, 5).as("new tokens");
        FailingEngine failing(test.engine, *any_size(0, 60).as("the product that fails"));
        try {
            generation(graph, failing, &sequence, prompt, tokens);
        } catch (const ProtocolError&) {
        }
        const Bits found = generation(graph, test.engine, &sequence, prompt, tokens);
        RC_ASSERT(found == generation(graph, test.engine, nullptr, prompt, tokens));
        before = prompt;
        for (std::size_t i = 0; i < tokens; ++i) before.push_back(static_cast<TokenId>(found[i]));
    }
}

TEST(KvCache, MODEL_3_a_kept_sequence_computes_what_a_prompt_adds) {
    Recomputed test([](ModelConfig&) {});
    KeptSequence sequence(test.model.config);
    const auto computed = [&](const Ids& prompt, std::size_t tokens) {
        CountingEngine counting(test.engine);
        generation(*test.graph, counting, &sequence, prompt, tokens);
        return counting.tokens();
    };
    const Ids text = random_ids(2, 20, test.model.config.vocab_size);
    EXPECT_EQ(computed(text, 1), 20U);
    EXPECT_EQ(computed(text, 1), 1U) << "the last token's logits are wanted";
    EXPECT_EQ(computed({text.begin(), text.begin() + 8}, 1), 1U);
    EXPECT_EQ(computed(text, 1), 12U) << "what was cut off is gone";
    Ids longer = text;
    longer.push_back(0);
    EXPECT_EQ(computed(longer, 3), 1U + 2U);
    longer.front() = longer.front() == 0 ? 1 : 0;
    EXPECT_EQ(computed(longer, 1), 21U) << "another beginning";
    EXPECT_THROW(computed({}, 1), BadInput);
    EXPECT_EQ(computed(longer, 1), 1U) << "what is refused changes nothing";
}

/// Bytes of this process that are in memory and of no file, as the system counts them.
std::size_t resident_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        std::size_t kibibytes = 0;
        if (word == "RssAnon:" && status >> kibibytes) return kibibytes * 1024;
    }
    throw std::runtime_error("/proc/self/status has no RssAnon");
}

/// The prompt leaves 40 positions to decode, within the last parts of the cache.
TEST(KvCache, MODEL_6_a_sequence_of_8192_positions_takes_what_was_predicted) {
    constexpr std::size_t positions = 8192, decoded = 40, threads = 2;
    Draws draws = draws_from(33);
    draws.between = [](std::size_t least, std::size_t most) {
        return most == 3 ? least : most;  // no heads that share keys, nor many blocks
    };
    SyntheticModel model = draw_llama(draws);
    model.config.max_position_embeddings = positions;
    const auto graph = make_graph(model.config, model.lookup());
    FloatEngine engine(groups_of(model.config), model.lookup());
    const Ids ids(positions + 1, 1);
    const std::size_t before = resident_bytes();
    KvCache cache(model.config);
    cache.reserve(positions);
    Workspace workspace(threads);
    std::vector<float> logits;
    const auto forward = [&](std::size_t count) {
        graph->forward(
            engine, workspace,
            {cache, std::span(ids).subspan(cache.length(), count), Logits::last_position}, logits);
    };
    forward(positions - decoded);
    const std::size_t step = Transformer::tokens_of_a_prompt_at_once;
    const std::size_t workspace_bytes = Workspace::bytes_for(model.config, step, threads);
    EXPECT_EQ(workspace.bytes(), workspace_bytes);
    for (std::size_t t = 0; t < decoded; ++t) forward(1);
    EXPECT_EQ(cache.length(), positions);
    EXPECT_EQ(cache.bytes(), KvCache::bytes_for(model.config, positions));
    EXPECT_EQ(workspace.bytes(), workspace_bytes);
    if (!sanitized()) {
        // Pages, stacks of the threads, what the engine keeps; the cache is too small for huge
        // pages.
        constexpr std::size_t rounding = std::size_t{1} << 20;
        EXPECT_LE(resident_bytes(), before + cache.bytes() + workspace_bytes + rounding);
    }
    for (const float logit : logits) EXPECT_TRUE(std::isfinite(logit));
    EXPECT_THROW(forward(1), BadInput);
}

}  // namespace
}  // namespace slip::testing
