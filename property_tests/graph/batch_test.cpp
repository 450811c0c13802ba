// MODEL-3: batches that hold rows of several sequences. What a sequence's logits are alone is
// compared with an oracle in model_test.cpp; here they are compared, bit for bit, with what they
// are in a batch.
#include "optimized/graph/batch.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "optimized/engines/engines.hpp"
#include "optimized/graph/generate.hpp"
#include "optimized/graph/transformer.hpp"
#include "property_tests/generators/profiles.hpp"
#include "property_tests/generators/synthetic_model.hpp"

namespace slip::testing {
namespace {

using namespace base;
using namespace engines;
using namespace graph;
using Ids = std::vector<TokenId>;
using Bits = std::vector<std::uint32_t>;
using DrawModel = SyntheticModel (*)(const Draws&);

constexpr std::array<DrawModel, 3> families{draw_llama, draw_gpt2, draw_phi};

// ---------------------------------------------------------------------------------------------
// Models, texts and batches that RapidCheck draws, so that it can shrink them.
// ---------------------------------------------------------------------------------------------

std::size_t between(std::size_t least, std::size_t most, const char* name) {
    return *rc::gen::inRange<std::size_t>(least, most + 1).as(name);
}

/// Dimensions one by one; weights are taken in turn from a pool whose size divides no dimension.
Draws drawn() {
    const auto weight = rc::gen::map(rc::gen::inRange(0, 1025), [](int code) {
        return static_cast<float>(code % 2 == 0 ? code : -code) / 512.0F;  // 0 is the simplest
    });
    const auto pool = *rc::gen::container<std::vector<float>>(61, weight).as("weights");
    return {
        [](std::size_t least, std::size_t most) { return between(least, most, "a dimension"); },
        [pool, next = std::make_shared<std::size_t>(0)] { return pool[(*next)++ % pool.size()]; }};
}

std::vector<Ids> drawn_texts(const ModelConfig& config) {
    const auto id = rc::gen::inRange<TokenId>(0, static_cast<TokenId>(config.vocab_size));
    std::vector<Ids> texts(between(1, 4, "sequences"));
    for (Ids& text : texts) {
        text = *rc::gen::container<Ids>(between(1, 10, "tokens of a sequence"), id).as("ids");
    }
    return texts;
}

/// The next `count` tokens of a text in a batch.
struct Take {
    std::size_t sequence;
    std::size_t count;
    Logits logits;
};

Take drawn_take(std::size_t sequence, std::size_t least, std::size_t left) {
    const std::size_t count = between(least, left, "tokens in this batch");
    const std::size_t logits = between(0, 2, "their logits: none, last_position, every_position");
    return {sequence, count, static_cast<Logits>(logits)};
}

/// A model, and sequences that are under way in it.
class Run {
public:
    Run(const SyntheticModel& model, std::vector<Ids> texts)
        : model_(model),
          graph_(make_graph(model_.config, model_.lookup())),
          engine_(groups_of(model_.config), model_.lookup()),
          texts_(std::move(texts)),
          caches_(texts_.size(), KvCache(model_.config)) {
        for (const Ids& text : texts_) {
            alone_.push_back(bits_of(logits_in_calls(*graph_, engine_, text, text.size())));
        }
    }

    FloatEngine& engine() { return engine_; }
    std::size_t left(std::size_t i) const { return texts_[i].size() - caches_[i].length(); }
    std::vector<std::size_t> lengths() const {
        std::vector<std::size_t> lengths;
        for (const KvCache& cache : caches_) lengths.push_back(cache.length());
        return lengths;
    }

    /// Some sequences in some order, none if all are at their end. A sequence may wait.
    std::vector<Take> draw_batch() const {
        std::vector<Take> takes;
        for (std::size_t i = 0; i < texts_.size(); ++i) {
            if (left(i) == 0) continue;
            const Take take = drawn_take(i, 0, left(i));
            if (take.count == 0) continue;
            const std::size_t at = between(0, takes.size(), "its place in the batch");
            takes.insert(takes.begin() + static_cast<std::ptrdiff_t>(at), take);
        }
        for (std::size_t i = 0; takes.empty() && i < texts_.size(); ++i) {
            if (left(i) > 0) takes.push_back(drawn_take(i, 1, left(i)));
        }
        return takes;
    }

    Bits forward(const std::vector<Take>& takes, Engine& engine) {
        std::vector<BatchEntry> batch;
        for (const Take& take : takes) {
            KvCache& cache = caches_[take.sequence];
            const std::span<const TokenId> text = texts_[take.sequence];
            batch.push_back({cache, text.subspan(cache.length(), take.count), take.logits});
        }
        graph_->forward(engine, workspace_, batch, logits_);
        return bits_of(logits_);
    }

    /// The logits that `takes` ask for, of sequences that are alone.
    Bits expected(const std::vector<Take>& takes) const {
        const std::size_t width = model_.config.vocab_size;
        Bits all;
        for (const auto& [sequence, count, logits] : takes) {
            const std::size_t end = caches_[sequence].length() + count;
            const std::size_t wanted = logits == Logits::none            ? 0
                                       : logits == Logits::last_position ? 1
                                                                         : count;
            const auto row = [&](std::size_t t) {
                return alone_[sequence].begin() + static_cast<std::ptrdiff_t>(t * width);
            };
            all.insert(all.end(), row(end - wanted), row(end));
        }
        return all;
    }

private:
    SyntheticModel model_;
    std::unique_ptr<Transformer> graph_;
    FloatEngine engine_;
    std::vector<Ids> texts_;
    std::vector<KvCache> caches_;
    std::vector<Bits> alone_;  // logits of every position
    Workspace workspace_;
    std::vector<float> logits_;
};

Run drawn_run(DrawModel draw) {
    SyntheticModel model = draw(drawn());
    const bool paper = between(0, 1, "attention in the paper's order") == 1;
    model.config.attention = paper ? Attention::paper : Attention::fused;
    auto texts = drawn_texts(model.config);
    return {model, std::move(texts)};
}

// ---------------------------------------------------------------------------------------------
// Logits.
// ---------------------------------------------------------------------------------------------

/// However the sequences are cut and whatever else is in their batches.
void sequences_are_as_if_alone(DrawModel draw) {
    Run run = drawn_run(draw);
    for (auto takes = run.draw_batch(); !takes.empty(); takes = run.draw_batch()) {
        const Bits expected = run.expected(takes);
        RC_ASSERT(run.forward(takes, run.engine()) == expected);
    }
}

RC_GTEST_PROP(Batch, MODEL_3_MODEL_2_a_sequence_in_a_batch_is_as_if_alone, ()) {
    sequences_are_as_if_alone(draw_llama);
}

RC_GTEST_PROP(Batch, MODEL_3_MODEL_8_a_sequence_in_a_batch_is_as_if_alone, ()) {
    sequences_are_as_if_alone(draw_gpt2);
}

RC_GTEST_PROP(Batch, MODEL_3_MODEL_9_a_sequence_in_a_batch_is_as_if_alone, ()) {
    sequences_are_as_if_alone(draw_phi);
}

/// The comparison would notice a wrong position and a wrong sequence: with such weights the logits
/// of one token differ.
TEST(Batch, MODEL_3_logits_depend_on_position_and_sequence) {
    for (const auto draw : families) {
        const SyntheticModel model = draw(draws_from(3));
        const auto graph = make_graph(model.config, model.lookup());
        FloatEngine engine(groups_of(model.config), model.lookup());
        const std::size_t width = model.config.vocab_size;
        const auto logits = bits_of(logits_in_calls(*graph, engine, {1, 1, 2, 1}, 4));
        const auto row = [&](std::size_t t) {
            return Bits(logits.begin() + static_cast<std::ptrdiff_t>(t * width),
                        logits.begin() + static_cast<std::ptrdiff_t>((t + 1) * width));
        };
        EXPECT_NE(row(0), row(1));
        EXPECT_NE(row(1), row(3));
    }
}

using Columns = std::map<GroupId, std::size_t>;

Columns columns_of_groups(const RecordingTransport& transport) {
    Columns columns;
    for (const protocol::wire::ColumnsHeader& header : applies_in(transport)) {
        EXPECT_TRUE(columns.emplace(header.group, header.columns).second) << "a second message";
    }
    return columns;
}

Columns columns_for(const ModelConfig& config, std::size_t rows, std::size_t wanted_rows) {
    const auto groups = groups_of(config);
    const GroupId head = static_cast<GroupId>(groups.size() - 1);
    Columns columns{{head, wanted_rows}};
    for (GroupId group = 0; group < head; ++group) {
        columns[group] = rows * groups[group].columns_per_token;
    }
    return columns;
}

/// The protocol: one message per group whatever the number of sequences, one column per row; the
/// head sees only the rows whose logits are wanted.
PROFILE_TEST(Batch, MODEL_3_sequences_share_one_message_per_group) {
    for (const auto draw : families) {
        for (const Attention order : {Attention::fused, Attention::paper}) {
            SyntheticModel model = draw(draws_from(21));
            model.config.attention = order;
            const SplitLlama split(model, plan_for_all(model.config, 2), protocol::profile_of<P>);
            HybridRun hybrid(split);
            UnsplitEngine unsplit(split.charlie, split.david);
            const std::vector<Ids> texts{{0, 1, 2}, {3}, {2, 4}};
            std::vector<KvCache> caches(3, KvCache(model.config));
            const std::vector<BatchEntry> batch{{caches[0], texts[0], Logits::every_position},
                                                {caches[1], texts[1], Logits::last_position},
                                                {caches[2], texts[2], Logits::none}};
            Workspace workspace;
            std::vector<float> found;

            split.graph.forward(hybrid.engine, workspace, batch, found);

            auto expected = bits_of(logits_in_calls(split.graph, unsplit, texts[0], 1));
            const auto second = bits_of(logits_in_calls(split.graph, unsplit, texts[1], 1));
            expected.insert(expected.end(), second.begin(), second.end());
            EXPECT_EQ(bits_of(found), expected);
            EXPECT_EQ(columns_of_groups(hybrid.transport), columns_for(model.config, 6, 4));
        }
    }
}

TEST(Batch, MODEL_3_a_batch_of_which_no_logits_are_wanted_sends_nothing_to_the_head) {
    const SyntheticModel model = random_llama(4);
    const SplitLlama split(model, plan_for_all(model.config, 2));
    HybridRun hybrid(split);
    KvCache cache(model.config);
    Workspace workspace;
    std::vector<float> logits{1.0F};
    const Ids ids{1, 2};
    split.graph.forward(hybrid.engine, workspace, {cache, ids, Logits::none}, logits);
    EXPECT_TRUE(logits.empty());
    EXPECT_EQ(cache.length(), 2U);
    EXPECT_EQ(applies_in(hybrid.transport).size(), groups_of(model.config).size() - 1);
}

// ---------------------------------------------------------------------------------------------
// Errors.
// ---------------------------------------------------------------------------------------------

/// Another engine, whose call number `fails_at` throws.
class FailingEngine : public Engine {
public:
    FailingEngine(Engine& inner, std::size_t fails_at) : inner_(inner), fails_at_(fails_at) {}
    void apply(GroupId group, MatrixView<const float> input,
               std::span<const MatrixView<float>> outputs) override {
        if (calls_++ == fails_at_) throw ProtocolError("the connection failed");
        inner_.apply(group, input, outputs);
    }
    std::size_t calls() const { return calls_; }

private:
    Engine& inner_;
    std::size_t fails_at_;
    std::size_t calls_ = 0;
};

/// Counts the rows of all steps.
class CountingEngine : public Engine {
public:
    explicit CountingEngine(Engine& inner) : inner_(inner) {}
    void begin_step(std::size_t rows) override { rows_ += rows; }
    void apply(GroupId group, MatrixView<const float> input,
               std::span<const MatrixView<float>> outputs) override {
        inner_.apply(group, input, outputs);
    }
    std::size_t rows() const { return rows_; }

private:
    Engine& inner_;
    std::size_t rows_ = 0;
};

RC_GTEST_PROP(Batch, MODEL_3_a_pass_that_throws_leaves_every_sequence_as_it_was, ()) {
    Run run = drawn_run(families[between(0, 2, "family: LLaMA, GPT-2, Phi-2")]);
    for (auto takes = run.draw_batch(); !takes.empty(); takes = run.draw_batch()) {
        const auto before = run.lengths();
        const Bits expected = run.expected(takes);
        FailingEngine failing(run.engine(), between(0, 12, "the product that fails"));
        try {
            RC_ASSERT(run.forward(takes, failing) == expected);  // it asked for fewer products
        } catch (const ProtocolError&) {
            RC_ASSERT(run.lengths() == before);
            RC_ASSERT(run.forward(takes, run.engine()) == expected);
        }
    }
}

/// A model with an engine that counts, and the ways to misuse it.
struct Refusals {
    Refusals() : counted(engine, std::numeric_limits<std::size_t>::max()) {}

    void forward(const std::vector<BatchEntry>& batch) {
        std::vector<float> logits;
        graph->forward(counted, workspace, batch, logits);
    }

    SyntheticModel model = random_llama(1);
    std::unique_ptr<Transformer> graph = make_graph(model.config, model.lookup());
    FloatEngine engine{groups_of(model.config), model.lookup()};
    FailingEngine counted;
    Workspace workspace;
    KvCache cache{model.config};
    KvCache other{model.config};
    const Ids good{1, 2};
};

TEST(Batch, MODEL_2_refuses_ids_outside_the_vocabulary_and_sequences_that_do_not_fit) {
    Refusals test;
    const std::size_t room = test.model.config.max_position_embeddings;
    const auto forward = [&](const Ids& ids) {
        const BatchEntry entry{test.other, ids, Logits::last_position};
        EXPECT_THROW(test.graph->check(entry), BadInput);
        test.forward({{test.cache, test.good, Logits::last_position}, entry});
    };
    EXPECT_THROW(forward({-1}), BadInput);
    EXPECT_THROW(forward({0, static_cast<TokenId>(test.model.config.vocab_size)}), BadInput);
    EXPECT_THROW(forward(Ids(room + 1, 0)), BadInput);
    EXPECT_EQ(test.cache.length(), 0U) << "the good one waits with the others";
    EXPECT_EQ(test.counted.calls(), 0U);

    const Ids all(room, 0);
    test.forward({{test.other, all, Logits::last_position}});
    EXPECT_THROW(forward({0}), BadInput);
    EXPECT_EQ(test.other.length(), room);
    test.other.truncate(room - 1);
    const Ids last{0};
    EXPECT_NO_THROW(test.forward({{test.other, last, Logits::last_position}}));
}

TEST(Batch, MODEL_3_refuses_what_is_not_a_batch) {
    Refusals test;
    const auto refused = [&](const std::vector<BatchEntry>& batch) {
        EXPECT_THROW(test.forward(batch), InternalError);
    };
    const BatchEntry good{test.cache, test.good, Logits::last_position};
    refused({});
    refused({{test.cache, {}, Logits::last_position}});
    refused({good, {test.other, {}, Logits::last_position}});
    const Ids next{3};
    refused({good, {test.cache, next, Logits::none}});
    refused({good, {test.other, next, Logits::none}, {test.cache, next, Logits::none}});
    ModelConfig deeper = test.model.config;
    deeper.num_hidden_layers += 1;
    KvCache stranger(deeper);
    refused({good, {stranger, test.good, Logits::last_position}});
    EXPECT_EQ(test.cache.length(), 0U);
    EXPECT_EQ(test.other.length(), 0U);
    EXPECT_EQ(test.counted.calls(), 0U);
}

// ---------------------------------------------------------------------------------------------
// Memory.
// ---------------------------------------------------------------------------------------------

/// What batch.hpp says that a batch of so many tokens in each of so many sequences takes.
std::size_t stated_bytes(const ModelConfig& c, std::size_t sequences, std::size_t length) {
    const std::size_t tokens = sequences * length;
    const bool paper = c.attention == Attention::paper;
    std::size_t floats = 3 * c.hidden_size + 2 * c.query_width() + 2 * c.key_value_width() +
                         c.intermediate_size + c.rotary_dim;
    if (c.family == Family::llama) floats += c.intermediate_size;
    if (c.family == Family::gpt2 && !paper) floats += 3 * c.hidden_size;
    if (paper) {
        floats += c.num_attention_heads / c.num_key_value_heads * (c.hidden_size + c.head_dim);
    }
    const std::size_t sharing = c.num_attention_heads / c.num_key_value_heads;
    const std::size_t together = std::max<std::size_t>(1, attention_rows / sharing);
    return (tokens * floats + attention_rows * c.max_position_embeddings) * sizeof(float) +
           tokens * (sizeof(TokenId) + sizeof(std::size_t)) +
           sequences * ((length + together - 1) / together) * sizeof(RowBlock);
}

TEST(Batch, MODEL_6_a_cache_takes_what_was_predicted) {
    for (const auto draw : families) {
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

TEST(Batch, MODEL_6_a_workspace_takes_what_its_largest_batch_takes) {
    for (const auto draw : families) {
        for (const Attention order : {Attention::fused, Attention::paper}) {
            SyntheticModel model = draw(draws_from(31));
            model.config.attention = order;
            const auto graph = make_graph(model.config, model.lookup());
            FloatEngine engine(groups_of(model.config), model.lookup());
            Workspace workspace;
            std::size_t largest = 0;
            for (const std::size_t tokens : {2U, 3U, 1U, 9U, 10U, 4U}) {
                const Ids ids(tokens, 1);
                std::vector<KvCache> caches(3, KvCache(model.config));
                std::vector<BatchEntry> batch;
                for (KvCache& cache : caches) batch.push_back({cache, ids, Logits::none});
                std::vector<float> logits;
                graph->forward(engine, workspace, batch, logits);
                largest = std::max(largest, tokens);
                EXPECT_EQ(workspace.bytes(), stated_bytes(model.config, 3, largest));
                EXPECT_EQ(Workspace::bytes_for(model.config, tokens, 1),
                          stated_bytes(model.config, 1, tokens));
            }
        }
    }
}

TEST(Batch, MODEL_16_windows_bound_a_cache) {
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
    Bits append(KvCache& cache, const Ids& text, std::size_t end, Engine& with) {
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

TEST(Batch, MODEL_16_a_sequence_that_is_cut_back_behind_its_windows_is_computed_again) {
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

TEST(Batch, MODEL_14_longrope_computes_keys_again_when_a_sequence_crosses_the_original_context) {
    Recomputed test(have_longrope);
    const Ids text = random_ids(5, 20, test.model.config.vocab_size);
    KvCache cache(test.model.config);
    for (const std::size_t length : {3U, 9U, 10U, 20U}) {
        EXPECT_EQ(test.append(cache, text, length, test.engine), test.at_once(text, length));
    }
    cache.truncate(5);  // and back
    EXPECT_EQ(test.append(cache, text, 7, test.engine), test.at_once(text, 7));
}

TEST(Batch, MODEL_14_a_failure_while_keys_are_computed_again_loses_no_token) {
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

/// The ids of a generation, and after them the bits of the logits that each was chosen from.
Bits generation(const Transformer& graph, Engine& engine, KeptSequence* sequence, const Ids& prompt,
                std::size_t tokens) {
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
RC_GTEST_PROP(Batch, MODEL_3_MODEL_14_MODEL_16_a_kept_sequence_changes_no_bit, ()) {
    const std::size_t kind = between(0, 2, "nothing, windows, longrope");
    Recomputed test([&](ModelConfig& config) {
        if (kind == 1) have_windows(config);
        if (kind == 2) have_longrope(config);
    });
    const Transformer& graph = *test.graph;
    KeptSequence sequence(test.model.config);
    const auto id = rc::gen::inRange<TokenId>(0, 5);
    Ids before = random_ids(1, kind == 1 ? 300 : 6, test.model.config.vocab_size);
    for (int turn = 0; turn < 3; ++turn) {
        Ids prompt(before.begin(), before.end() - static_cast<std::ptrdiff_t>(
                                                      between(0, before.size(), "tokens cut off")));
        for (const TokenId added :
             *rc::gen::container<Ids>(between(1, 4, "added"), id).as("added ids")) {
            prompt.push_back(added);
        }
        const std::size_t tokens = between(0, 5, "new tokens");
        FailingEngine failing(test.engine, between(0, 60, "the product that fails"));
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

TEST(Batch, MODEL_3_a_kept_sequence_computes_what_a_prompt_adds) {
    Recomputed test([](ModelConfig&) {});
    KeptSequence sequence(test.model.config);
    const auto computed = [&](const Ids& prompt, std::size_t tokens) {
        CountingEngine counting(test.engine);
        generation(*test.graph, counting, &sequence, prompt, tokens);
        return counting.rows();
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

/// The prompt leaves 40 positions to decode, within the last parts of the cache.
TEST(Batch, MODEL_6_a_sequence_of_8192_positions_takes_what_was_predicted) {
    constexpr std::size_t positions = 8192, decoded = 40, threads = 2;
    Draws draws = draws_from(33);
    draws.between = [](std::size_t least, std::size_t most) {
        return most == 3 ? least : most;  // no heads that share keys, nor many blocks
    };
    SyntheticModel model = draw_llama(draws);
    model.config.max_position_embeddings = positions;
    const auto graph = make_graph(model.config, model.lookup());
    FloatEngine engine(groups_of(model.config), model.lookup());
    KvCache cache(model.config);
    cache.reserve(positions);
    Workspace workspace(threads);
    const Ids ids(positions + 1, 1);
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
    for (const float logit : logits) EXPECT_TRUE(std::isfinite(logit));
    EXPECT_THROW(forward(1), BadInput);
}

}  // namespace
}  // namespace slip::testing
