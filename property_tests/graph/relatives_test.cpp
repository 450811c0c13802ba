// LLaMA's relatives against golden logits of an independent implementation in binary64
// (MODEL-4, MODEL-13, MODEL-14): every prompt of every family.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "optimized/base/files.hpp"
#include "optimized/engines/engines.hpp"
#include "optimized/import/checkpoint.hpp"
#include "property_tests/generators/synthetic_model.hpp"

namespace slip::testing {
namespace {

using namespace engines;
using namespace graph;
using nlohmann::json;

/// A prompt, and the logits of each of its tokens.
struct Golden {
    std::vector<TokenId> ids;
    std::vector<std::vector<double>> logits;
};

/// A family's checkpoint in the shared data, or a skipped test.
class Relatives : public ::testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        folder_ = std::filesystem::path(SLIP_SHARED_DIR) / "data/models" / GetParam();
        if (!std::filesystem::exists(folder_)) {
            GTEST_SKIP() << "the published model is absent: " << folder_;
        }
        const json file = json::parse(base::read_file(folder_ / "golden_logits.json"));
        goldens_.push_back({file["ids"], file["logits"]});
        for (const json& other : file["more"]) {
            goldens_.push_back({other["ids"], other["logits"]});
        }
    }
    base::ModelConfig config_of(const char* name) const {
        return importing::parse_config(base::read_file(folder_ / name), folder_ / name);
    }

    std::filesystem::path folder_;
    std::vector<Golden> goldens_;
};

/// The checkpoint in float, with its matrices for either order of attention.
struct InFloat {
    InFloat(const std::filesystem::path& folder, Attention attention)
        : checkpoint(folder, attention),
          graph(make_graph(checkpoint.config(), lookup())),
          engine(groups_of(checkpoint.config()), lookup()) {}
    ParameterLookup lookup() const {
        return [this](std::string_view name, std::size_t elements) {
            return checkpoint.floats(name, elements);
        };
    }

    importing::Checkpoint checkpoint;
    std::unique_ptr<Transformer> graph;
    FloatEngine engine;
};

double largest_logit(const Golden& golden) {
    double largest = 0;
    for (const auto& row : golden.logits) {
        for (const double logit : row) largest = std::max(largest, std::abs(logit));
    }
    return largest;
}

void expect_logits(const std::vector<float>& logits, const Golden& golden) {
    const std::size_t width = golden.logits.front().size();
    ASSERT_EQ(logits.size(), golden.logits.size() * width);
    double worst = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const double wrong = double{logits[i]} - golden.logits[i / width][i % width];
        worst = std::max(worst, std::abs(wrong));
    }
    EXPECT_LE(worst, 1e-4 * largest_logit(golden))
        << "a prompt of " << golden.ids.size() << " tokens";
}

TEST_P(Relatives, MODEL_4_MODEL_13_float_logits_are_the_golden_ones_in_both_orders_of_attention) {
    for (const Attention order : {Attention::fused, Attention::paper}) {
        InFloat model(folder_, order);
        for (const Golden& golden : goldens_) {
            expect_logits(
                logits_in_calls(*model.graph, model.engine, golden.ids, golden.ids.size()), golden);
        }
    }
}

/// With longrope too, the last token has the logits of a prompt of this length.
TEST_P(Relatives, MODEL_3_MODEL_14_a_sequence_in_parts_ends_like_the_prompt_at_once) {
    InFloat model(folder_, Attention::fused);
    const std::size_t width = model.checkpoint.config().vocab_size;
    for (const Golden& golden : goldens_) {
        const auto whole =
            logits_in_calls(*model.graph, model.engine, golden.ids, golden.ids.size());
        for (const std::size_t tokens_per_call : {1U, 3U}) {
            auto parts = logits_in_calls(*model.graph, model.engine, golden.ids, tokens_per_call);
            EXPECT_EQ(bits_of({parts.end() - static_cast<std::ptrdiff_t>(width), parts.end()}),
                      bits_of({whole.end() - static_cast<std::ptrdiff_t>(width), whole.end()}));
            if (!longrope(model.checkpoint.config())) {
                EXPECT_EQ(bits_of(parts), bits_of(whole));
            }
        }
    }
}

TEST_P(Relatives, MODEL_10_configurations_of_transformers_4_and_5_mean_the_same) {
    EXPECT_EQ(config_of("config.json"), config_of("config.v5.json"));
}

TEST_P(Relatives, LIN_4_MODEL_4_hybrid_equals_unsplit_in_both_orders_of_attention) {
    for (const Attention order : {Attention::fused, Attention::paper}) {
        const Plan plan = plan_for_all(config_of("config.json"), 3);
        const SplitLlama split(folder_, order, plan);
        HybridRun hybrid(split);
        UnsplitEngine unsplit(split.charlie, split.david);
        for (const Golden& golden : goldens_) {
            EXPECT_EQ(bits_of(logits_in_calls(split.graph, hybrid.engine, golden.ids, 7)),
                      bits_of(logits_in_calls(split.graph, unsplit, golden.ids, 7)));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Models, Relatives,
                         ::testing::Values("llama3", "smollm2", "mistral-window", "mistral-nemo",
                                           "qwen2", "qwen3", "phi3", "phi3-longrope", "phi4-mini",
                                           "gemma2", "gemma3"),
                         [](const auto& model) {
                             std::string name = model.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

}  // namespace
}  // namespace slip::testing
