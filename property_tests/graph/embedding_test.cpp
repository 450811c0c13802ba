// The token embedding: kept in memory, or read row by row.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/graph/embedding.hpp"
#include "property_tests/generators/synthetic_model.hpp"

namespace slip::testing {
namespace {

using base::MatrixView;
using graph::Embedding;

constexpr std::size_t rows = 5, width = 3;

std::vector<float> table() {
    std::vector<float> values(rows * width);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 0.5F;
    return values;
}

std::vector<float> looked_up(const Embedding& embedding, const std::vector<TokenId>& ids) {
    std::vector<float> found(ids.size() * width, -1);
    embedding.look_up(ids, MatrixView<float>(found.data(), ids.size(), width));
    return found;
}

TEST(Embedding, MODEL_2_rows_read_one_by_one_equal_the_rows_of_the_table) {
    const auto whole = [](std::string_view, std::size_t elements) {
        EXPECT_EQ(elements, rows * width);
        return table();
    };
    std::vector<std::size_t> asked;
    const auto one = [&](std::string_view name, std::size_t all, std::size_t row,
                         std::span<float> values) {
        EXPECT_EQ(name, "embed.weight");
        EXPECT_EQ(all, rows);
        asked.push_back(row);
        std::copy_n(table().begin() + static_cast<std::ptrdiff_t>(row * width), values.size(),
                    values.begin());
    };
    const Embedding kept("embed.weight", rows, width, whole, {});
    const Embedding found("embed.weight", rows, width, whole, one);
    asked.clear();
    const std::vector<TokenId> ids{4, 0, 4, 2};
    EXPECT_EQ(looked_up(found, ids), looked_up(kept, ids));
    EXPECT_EQ(asked, (std::vector<std::size_t>{4, 0, 4, 2}));
    EXPECT_EQ(looked_up(kept, {1}), (std::vector<float>{3.5F, 4.5F, 5.5F}));
}

/// Whichever row it is.
TEST(Embedding, MODEL_7_a_bad_row_is_refused_when_the_model_is_opened) {
    for (std::size_t bad = 0; bad < rows; ++bad) {
        const auto one = [&](std::string_view, std::size_t, std::size_t row, std::span<float>) {
            if (row == bad) throw BadInput("not finite");
        };
        EXPECT_THROW(Embedding("embed.weight", rows, width, {}, one), BadInput) << bad;
    }
}

TEST(Embedding, MODEL_7_rows_of_another_width_are_refused_when_the_model_is_opened) {
    const auto refuse = [](std::string_view, std::size_t, std::size_t, std::span<float>) {
        throw BadInput("another width");
    };
    EXPECT_THROW(Embedding("embed.weight", rows, width, {}, refuse), BadInput);
}

/// Whole graphs, one of each family.
TEST(Embedding, MODEL_2_MODEL_8_MODEL_9_logits_are_the_same) {
    for (const std::uint64_t seed : {0U, 1U, 2U}) {  // one family each
        const SyntheticModel model = random_model(seed);
        const auto one = [&](std::string_view name, std::size_t, std::size_t row,
                             std::span<float> values) {
            const std::vector<float>& all = model.tensors.find(name)->second;
            std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(row * values.size()),
                        values.size(), values.begin());
        };
        engines::FloatEngine engine(graph::groups_of(model.config), model.lookup());
        const auto ids = random_ids(seed, 5, model.config.vocab_size);
        const auto kept = graph::make_graph(model.config, model.lookup());
        const auto found = graph::make_graph(model.config, model.lookup(), one);
        EXPECT_EQ(logits_in_calls(*found, engine, ids, 5), logits_in_calls(*kept, engine, ids, 5));
    }
}

}  // namespace
}  // namespace slip::testing
