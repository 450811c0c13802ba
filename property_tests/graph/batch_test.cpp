// MODEL-3: batches that hold rows of several sequences. What a sequence's logits are alone is
// compared with an oracle in model_test.cpp; here they are compared, bit for bit, with what they
// are in a batch.
#include "optimized/graph/batch.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "optimized/engines/engines.hpp"
#include "optimized/graph/transformer.hpp"
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
using DrawModel = SyntheticModel (*)(const Draws&);

constexpr std::array<DrawModel, 3> families{draw_llama, draw_gpt2, draw_phi};

// ---------------------------------------------------------------------------------------------
// Models, texts and batches that RapidCheck draws, so that it can shrink them.
// ---------------------------------------------------------------------------------------------

/// Dimensions one by one; weights are taken in turn from a stock whose size divides no dimension.
Draws drawn() {
    const auto weight = rc::gen::map(rc::gen::inRange(0, 1025), [](int code) {
        return static_cast<float>(code % 2 == 0 ? code : -code) / 512.0F;  // 0 is the simplest
    });
    const auto pool = *rc::gen::container<std::vector<float>>(61, weight).as("weights");
    return {
        [](std::size_t least, std::size_t most) {
            return *any_size(least, most).as("a dimension");
        },
        [pool, next = std::make_shared<std::size_t>(0)] { return pool[(*next)++ % pool.size()]; }};
}

std::vector<Ids> drawn_texts(const ModelConfig& config) {
    const auto id = rc::gen::inRange<TokenId>(0, static_cast<TokenId>(config.vocab_size));
    std::vector<Ids> texts(*any_size(1, 4).as("sequences"));
    for (Ids& text : texts) {
        text = *rc::gen::container<Ids>(*any_size(1, 10).as("tokens of a sequence"), id).as("ids");
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
    const std::size_t count = *any_size(least, left).as("tokens in this batch");
    const std::size_t logits =
        *any_size(0, 2).as("their logits: none, last_position, every_position");
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
            const std::size_t at = *any_size(0, takes.size()).as("its place in the batch");
            takes.insert(takes.begin() + static_cast<std::ptrdiff_t>(at), take);
        }
        for (std::size_t i = 0; takes.empty() && i < texts_.size(); ++i) {
            if (left(i) > 0) takes.push_back(drawn_take(i, 1, left(i)));
        }
        return takes;
    }

    Bits forward(const std::vector<Take>& takes, base::Engine& engine) {
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
    const bool paper = *any_size(0, 1).as("attention in the paper's order") == 1;
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
TEST(Batch, MODEL_3_sequences_share_one_message_per_group) {
    for (const auto draw : families) {
        for (const Attention order : {Attention::fused, Attention::paper}) {
            SyntheticModel model = draw(draws_from(21));
            model.config.attention = order;
            const SplitLlama split(model, plan_for_all(model.config, 2));
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

RC_GTEST_PROP(Batch, MODEL_3_a_pass_that_throws_leaves_every_sequence_as_it_was, ()) {
    Run run = drawn_run(families[*any_size(0, 2).as("family: LLaMA, GPT-2, Phi-2")]);
    for (auto takes = run.draw_batch(); !takes.empty(); takes = run.draw_batch()) {
        const auto before = run.lengths();
        const Bits expected = run.expected(takes);
        FailingEngine failing(run.engine(), *any_size(0, 12).as("the product that fails"));
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

}  // namespace
}  // namespace slip::testing
