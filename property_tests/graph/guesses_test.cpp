// Guesses (MODEL-21): which tokens are proposed, how many columns the messages have, and that no
// bit of an answer depends on it.
#include "optimized/graph/guesses.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "optimized/engines/engines.hpp"
#include "optimized/graph/decoder.hpp"
#include "optimized/graph/generate.hpp"
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

// ---------------------------------------------------------------------------------------------
// What is proposed.
// ---------------------------------------------------------------------------------------------

/// The clause, word by word, by looking at the whole text each time.
struct WrittenRule {
    std::size_t count;
    Ids text;
    std::size_t needed = 4;

    /// Tokens that the text before `place` and the whole text end with, 32 at most.
    std::size_t agreement(std::size_t place) const {
        std::size_t length = 0;
        while (length < 32 && length < place &&
               text[place - 1 - length] == text[text.size() - 1 - length]) {
            ++length;
        }
        return length;
    }
    Ids propose(std::size_t room) const {
        std::size_t best = 0;
        std::size_t looked_at = 0;
        for (std::size_t place = text.size(); place-- > 4;) {
            if (agreement(place) < 4 || ++looked_at > 16) continue;
            if (agreement(place) < needed) continue;
            if (best == 0 || agreement(place) > agreement(best)) best = place;
        }
        if (best == 0) return {};
        Ids all = text;
        for (std::size_t i = 0; i < std::min(count, room); ++i) {
            const TokenId next = all[best + i];
            all.push_back(next);
        }
        return {all.begin() + static_cast<std::ptrdiff_t>(text.size()), all.end()};
    }
    void judge(std::size_t right) {
        needed = right > 0 ? std::max<std::size_t>(needed / 2, 4)
                           : std::min<std::size_t>(2 * needed, 32);
    }
};

/// Few different tokens, so that a text repeats itself; sometimes a piece of it word by word.
Ids drawn_text(std::size_t most) {
    const auto length = *any_size(0, most).as("tokens");
    const auto alphabet = *rc::gen::inRange<TokenId>(1, 5).as("different tokens");
    Ids text = *rc::gen::container<Ids>(length, rc::gen::inRange<TokenId>(0, alphabet)).as("text");
    const auto copied = *any_size(0, text.size()).as("tokens that come once more");
    text.insert(text.end(), text.begin(), text.begin() + static_cast<std::ptrdiff_t>(copied));
    return text;
}

std::size_t drawn_count(std::size_t least) {
    return *rc::gen::resize(rc::kNominalSize, any_size(least, 15)).as("guesses");
}

RC_GTEST_PROP(Guesses, MODEL_21_what_is_proposed_is_what_the_clause_says, ()) {
    const std::size_t count = drawn_count(1);
    Guesses guesses(count);
    WrittenRule rule{count, {}};
    const Ids text = drawn_text(120);
    for (std::size_t at = 0; at < text.size();) {
        const auto room = *rc::gen::inRange<std::size_t>(0, 20).as("room");
        const auto proposed = guesses.propose(room);
        const Ids expected = rule.propose(room);
        RC_ASSERT(Ids(proposed.begin(), proposed.end()) == expected);
        if (!expected.empty()) {
            const auto right = *rc::gen::inRange<std::size_t>(0, expected.size() + 1).as("right");
            guesses.judge(right);
            rule.judge(right);
        } else {
            guesses.judge(0);  // changes nothing
        }
        const std::size_t next =
            std::min(text.size() - at, *rc::gen::inRange<std::size_t>(1, 4).as("new tokens"));
        guesses.append(std::span(text).subspan(at, next));
        rule.text.insert(rule.text.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                         text.begin() + static_cast<std::ptrdiff_t>(at + next));
        at += next;
    }
}

TEST(Guesses, MODEL_21_examples) {
    const auto proposed = [](const Ids& text, std::size_t count) {
        Guesses guesses(count);
        guesses.append(text);
        const auto ids = guesses.propose(15);
        return Ids(ids.begin(), ids.end());
    };
    EXPECT_EQ(proposed({1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4}, 3), (Ids{5, 6, 7}));
    EXPECT_EQ(proposed({1, 2, 3, 4, 5, 6, 7, 2, 3, 4}, 3), Ids{}) << "three tokens are too few";
    EXPECT_EQ(proposed({1, 2, 3, 4, 8, 1, 2, 3, 4, 5, 1, 2, 3, 4}, 2), (Ids{5, 1})) << "the latest";
    EXPECT_EQ(proposed({0, 1, 2, 3, 4, 8, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4}, 2), (Ids{8, 1}))
        << "the longest";
    EXPECT_EQ(proposed({1, 2, 1, 2, 1, 2}, 5), (Ids{1, 2, 1, 2, 1})) << "it runs into the guesses";
    EXPECT_EQ(proposed({1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4}, 0), Ids{});
    for (const std::size_t between : {15U, 16U}) {
        Ids text{9, 1, 2, 3, 4, 7};
        for (std::size_t i = 0; i < between; ++i) {
            for (const TokenId id : {0, 1, 2, 3, 4, 8}) text.push_back(id);
        }
        for (const TokenId id : {9, 1, 2, 3, 4}) text.push_back(id);
        EXPECT_EQ(proposed(text, 1), Ids{between == 15 ? 7 : 8}) << "16 places are looked at";
    }
}

TEST(Guesses, MODEL_21_after_a_wrong_guess_twice_as_many_tokens_have_to_agree) {
    Guesses guesses(2);
    guesses.append(Ids{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4});
    EXPECT_EQ(guesses.propose(2).size(), 2U);
    guesses.judge(0);
    for (const TokenId next : {5, 6, 7}) {
        EXPECT_EQ(guesses.propose(2).size(), 0U);
        guesses.append(std::span(&next, 1));
    }
    EXPECT_EQ(guesses.propose(2).size(), 0U) << "seven";
    guesses.append(Ids{8});
    EXPECT_EQ(guesses.propose(2).size(), 2U) << "eight";
    guesses.judge(1);
    guesses.append(Ids{0, 1, 2, 3, 4});
    EXPECT_EQ(guesses.propose(2).size(), 2U) << "four again";
}

// ---------------------------------------------------------------------------------------------
// How many messages there are, and with how many columns.
// ---------------------------------------------------------------------------------------------

/// A model of which nothing is left but its head.
struct HeadAlone {
    explicit HeadAlone(std::size_t positions) {
        config.hidden_size = config.head_dim = config.rotary_dim = 2;
        config.num_attention_heads = config.num_key_value_heads = 1;
        config.vocab_size = 16;
        config.max_position_embeddings = positions;
        graph.emplace(
            config, [](std::string_view, std::size_t n) { return std::vector(n, 1.0F); },
            RowLookup{});
    }
    ModelConfig config;
    std::optional<Decoder> graph;
};

/// The text to come is known: the logits of row r are those of the token that comes r places after
/// the last one taken. Rows behind a wrong guess are such logits too, and must not be used. All
/// other products are 0.
class ScriptEngine : public base::Engine {
public:
    explicit ScriptEngine(Ids script, GroupId head = 0) : script_(std::move(script)), head_(head) {}
    void apply(GroupId group, MatrixView<const float> input,
               std::span<const MatrixView<float>> outputs) override {
        if (group == 0) columns.push_back(input.rows());
        for (const MatrixView<float>& output : outputs) std::ranges::fill(output.elements(), 0.0F);
        for (std::size_t r = 0; group == head_ && r < input.rows(); ++r) {
            if (taken + r == script_.size()) break;
            outputs[0].row(r)[static_cast<std::size_t>(script_[taken + r])] = 1;
        }
    }
    std::size_t taken = 0;
    std::vector<std::size_t> columns;  // of each message for the first group

private:
    Ids script_;
    GroupId head_;
};

std::vector<std::size_t> columns_of(const Ids& prompt, const Ids& script, std::size_t guesses) {
    const HeadAlone model(prompt.size() + script.size());
    ScriptEngine engine(script);
    SamplingOptions options;
    options.max_tokens = script.size();
    options.guesses = guesses;
    const auto count = [&](TokenId, auto) { return ++engine.taken > 0; };
    EXPECT_EQ(generate(*model.graph, engine, prompt, options, count), script);
    return engine.columns;
}

TEST(Guesses, MODEL_21_a_text_that_quotes_its_prompt_takes_fewer_messages) {
    const Ids prompt{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const Ids quoted{2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    using Columns = std::vector<std::size_t>;
    EXPECT_EQ(columns_of(prompt, quoted, 0), Columns(10, 1));
    // 2, 3, 4 and 5 by themselves; then 6, 7 and 8 are guessed and 9 follows. Before 11, which is
    // the last and never an input, there is room for one more guess at most.
    EXPECT_EQ(columns_of(prompt, quoted, 3), (Columns{1, 1, 1, 1, 4, 2}));
    EXPECT_EQ(columns_of(prompt, quoted, 2), (Columns{1, 1, 1, 1, 3, 3}));
    EXPECT_EQ(columns_of(prompt, quoted, 15), (Columns{1, 1, 1, 1, 6}));
    EXPECT_EQ(columns_of(prompt, Ids{2, 3, 4, 5, 6, 0, 1}, 3), (Columns{1, 1, 1, 1, 3, 1}))
        << "the token in the place of a wrong guess is right";
}

/// The messages as the clause says, the text being known.
RC_GTEST_PROP(Guesses, MODEL_21_messages_have_as_many_columns_as_the_clause_says, ()) {
    const std::size_t count = drawn_count(0);
    Ids prompt = drawn_text(40);
    prompt.push_back(0);
    const Ids script = drawn_text(60);
    WrittenRule rule{count, prompt};
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < script.size();) {
        const Ids proposed = i == 0 ? Ids{} : rule.propose(script.size() - i - 1);
        expected.push_back(1 + proposed.size());
        std::size_t right = 0;
        while (right < proposed.size() && proposed[right] == script[i + right]) ++right;
        if (!proposed.empty()) rule.judge(right);
        for (std::size_t r = 0; r <= right; ++r) rule.text.push_back(script[i++]);
    }
    RC_ASSERT(columns_of(prompt, script, count) == expected);
    RC_CLASSIFY(expected.size() < script.size(), "a guess was right");
}

TEST(Guesses, MODEL_21_MODEL_3_a_kept_sequence_has_what_was_chosen_and_no_wrong_guess) {
    SyntheticModel model = random_llama(1);
    model.config.max_position_embeddings = 40;
    model.config.eos_token_id.reset();
    const auto graph = make_graph(model.config, model.lookup());
    const auto head = static_cast<GroupId>(groups_of(model.config).size() - 1);
    const Ids script{1, 2, 3, 4, 3, 2, 0, 2, 3, 4, 1};  // after 1 2 3 4 a 0 is guessed
    ScriptEngine engine(script, head);
    KeptSequence sequence(model.config);
    SamplingOptions options;
    options.guesses = 3;
    options.max_tokens = script.size();
    const auto count = [&](TokenId, auto) { return ++engine.taken > 0; };
    Ids text{1, 2, 3, 4, 0, 4};
    ASSERT_EQ(generate(*graph, engine, sequence, text, options, count), script);
    EXPECT_EQ(engine.columns, (std::vector<std::size_t>{6, 1, 1, 1, 4, 1, 1, 1, 1, 1, 1}));
    text.insert(text.end(), script.begin(), script.end());
    text.push_back(0);
    ScriptEngine again(Ids{0}, head);
    options.max_tokens = 1;
    EXPECT_EQ(generate(*graph, again, sequence, text, options, {}), Ids{0});
    EXPECT_EQ(again.columns, std::vector<std::size_t>{2}) << "the last one chosen, and one more";
}

// ---------------------------------------------------------------------------------------------
// No bit of an answer depends on guesses.
// ---------------------------------------------------------------------------------------------

/// What the first group multiplies: the tokens of each step.
class StepsEngine : public base::Engine {
public:
    explicit StepsEngine(base::Engine& inner) : inner_(inner) {}
    void apply(GroupId group, MatrixView<const float> input,
               std::span<const MatrixView<float>> outputs) override {
        if (group == 0) tokens.push_back(input.rows());
        inner_.apply(group, input, outputs);
    }
    std::vector<std::size_t> tokens;

private:
    base::Engine& inner_;
};

struct Enough : std::exception {};

/// Who sees the tokens, and when he has seen enough.
struct Reader {
    std::size_t enough;  // tokens
    bool throws;
    Ids ids = {};
    Bits logits = {};

    slip::OnToken on_token() {
        return [this](TokenId id, std::span<const float> row) {
            ids.push_back(id);
            for (const float logit : row) logits.push_back(std::bit_cast<std::uint32_t>(logit));
            if (ids.size() >= enough && throws) throw Enough();
            return ids.size() < enough;
        };
    }
    bool saw_the_same(const Reader& other) const {
        return ids == other.ids && logits == other.logits;
    }
};

void have_original_context(ModelConfig& config, std::size_t positions) {
    RopeScaling& scaling = config.rope.scaling;
    scaling.kind = RopeScaling::Kind::longrope;
    scaling.original_positions = positions;
    scaling.short_factors.assign(config.rotary_dim / 2, 1.5);
    scaling.long_factors.assign(config.rotary_dim / 2, 4.0);
    scaling.attention_factor = 1.25;
}

enum class Kind { llama, gpt2, phi, windows, longrope };

/// Dimensions and weights of three families, one with windows, and one with longrope.
SyntheticModel repeating_model() {
    const auto kind = *rc::gen::map(rc::gen::element(0, 1, 2, 3, 4), [](int k) {
                           return static_cast<Kind>(k);
                       }).as("kind");
    const auto seed = *rc::gen::inRange<std::uint64_t>(0, 50).as("seed of the model");
    SyntheticModel model = kind == Kind::gpt2  ? random_gpt2(seed)
                           : kind == Kind::phi ? random_phi(seed)
                                               : random_llama(seed);
    ModelConfig& config = model.config;
    if (kind != Kind::gpt2) config.max_position_embeddings = 600;  // GPT-2 has a tensor of them
    config.eos_token_id = *rc::gen::element<TokenId>(-1, 3).as("EOS");
    if (kind == Kind::windows) config.windows.assign(config.num_hidden_layers, 5);
    if (kind == Kind::longrope) {
        have_original_context(config, *rc::gen::inRange<std::size_t>(4, 50).as("original context"));
    }
    return model;
}

SamplingOptions drawn_options(std::size_t most_tokens) {
    SamplingOptions options;
    options.max_tokens =
        *rc::gen::resize(rc::kNominalSize, any_size(0, most_tokens)).as("max_tokens");
    options.temperature = *rc::gen::element(0.0, 0.1, 1.0).as("temperature");
    options.seed = *rc::gen::inRange<std::uint64_t>(0, 9).as("seed");
    options.top_k = *rc::gen::element(0U, 2U).as("top_k");
    options.top_p = *rc::gen::element(1.0, 0.7).as("top_p");
    options.repetition_penalty = *rc::gen::element(1.0, 0.5, 1.2).as("repetition_penalty");
    options.presence_penalty = *rc::gen::element(0.0, -0.5, 0.5).as("presence_penalty");
    options.frequency_penalty = *rc::gen::element(0.0, -0.1, 0.1).as("frequency_penalty");
    if (*rc::gen::arbitrary<bool>().as("with a bias")) options.logit_bias = {{1, 2.5}};
    return options;
}

/// Three generations of one kept sequence. The first try of each may break off: the engine fails,
/// or the reader stops or throws in the middle of a step.
RC_GTEST_PROP(Guesses, MODEL_21_MODEL_3_no_bit_of_an_answer_depends_on_guesses, ()) {
    const SyntheticModel model = repeating_model();
    const auto graph = make_graph(model.config, model.lookup());
    FloatEngine engine(groups_of(model.config), model.lookup());
    KeptSequence sequence(model.config);
    Ids prompt{1, 2, 1, 2, 1};
    std::size_t guessed = 0;
    for (int turn = 0; turn < 3; ++turn) {
        SamplingOptions options =
            drawn_options(model.config.max_position_embeddings == 600 ? 60 : 24 - prompt.size());
        Reader plain{*any_size(1, 70).as("the reader has enough"),
                     *rc::gen::arbitrary<bool>().as("he throws"),
                     {},
                     {}};
        Reader first = plain;
        Reader second = plain;
        const auto run = [&](base::Engine& with, KeptSequence& kept, Reader& reader) {
            try {
                generate(*graph, with, kept, prompt, options, reader.on_token());
            } catch (const Enough&) {
            } catch (const ProtocolError&) {
            }
        };
        KeptSequence fresh(model.config);
        run(engine, fresh, plain);
        options.guesses = drawn_count(0);
        FailingEngine failing(engine, *any_size(0, 200).as("the product that fails"));
        run(failing, sequence, first);
        StepsEngine steps(engine);
        run(steps, sequence, second);
        RC_ASSERT(second.saw_the_same(plain));
        guessed += static_cast<std::size_t>(std::any_of(steps.tokens.begin(), steps.tokens.end(),
                                                        [](std::size_t n) { return n > 1; }));
        prompt.insert(prompt.end(), plain.ids.begin(), plain.ids.end());
        const auto kept = *any_size(1, prompt.size()).as("tokens of the next prompt");
        prompt.resize(std::min<std::size_t>(kept, 20));
    }
    RC_CLASSIFY(guessed > 0, "with a message of several columns");
}

/// With longrope, guesses never make a sequence a longer one before its time: its keys are computed
/// again once, as without guesses.
TEST(Guesses, MODEL_21_MODEL_14_guesses_stay_within_the_original_context) {
    SyntheticModel model = random_llama(4);
    ModelConfig& config = model.config;
    config.max_position_embeddings = 100;
    have_original_context(config, 33);
    const auto graph = make_graph(config, model.lookup());
    FloatEngine engine(groups_of(config), model.lookup());
    SamplingOptions options;
    options.max_tokens = 60;
    options.logit_bias = {{1, 1e6}};  // always this token
    for (options.guesses = 0; options.guesses <= 15; ++options.guesses) {
        StepsEngine steps(engine);
        EXPECT_EQ(generate(*graph, steps, Ids(20, 1), options, {}), Ids(60, 1));
        const auto again = [&](std::size_t tokens) { return tokens > 16; };
        EXPECT_EQ(std::count_if(steps.tokens.begin(), steps.tokens.end(), again), 2)
            << "the prompt, and all that stood when the context was full";
        EXPECT_EQ(std::count(steps.tokens.begin(), steps.tokens.end(), 33U), 1);
    }
}

}  // namespace
}  // namespace slip::testing
