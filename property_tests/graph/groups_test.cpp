// Which matrices share a message: the groups of every family, in both orders of attention.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "optimized/graph/transformer.hpp"

namespace slip::testing {
namespace {

using namespace base;
using namespace graph;

/// Its width, then its matrices' names and rows.
std::string describe(const GroupShape& group) {
    std::string text = std::to_string(group.n) + ":";
    for (const MemberShape& member : group.members) {
        text += " " + member.tensor + " " + std::to_string(member.m);
    }
    return text;
}

/// Two blocks of width 80, two heads per key and value.
ModelConfig two_blocks() {
    ModelConfig config;
    config.hidden_size = 80;
    config.intermediate_size = 320;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 4;
    config.num_key_value_heads = 2;
    config.head_dim = 20;
    config.vocab_size = 256;
    return config;
}

TEST(Model, MODEL_2_groups_share_an_input) {
    ModelConfig config;
    config.hidden_size = 64;
    config.intermediate_size = 172;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 8;
    config.num_key_value_heads = 4;
    config.head_dim = 8;
    config.vocab_size = 512;
    config.tie_word_embeddings = true;
    std::vector<std::string> found;
    for (const GroupShape& group : groups_of(config)) found.push_back(describe(group));

    std::vector<std::string> expected;
    for (const std::string block : {"model.layers.0.", "model.layers.1."}) {
        expected.push_back("64: " + block + "self_attn.q_proj 64 " + block +
                           "self_attn.k_proj 32 " + block + "self_attn.v_proj 32");
        expected.push_back("64: " + block + "self_attn.o_proj 64");
        expected.push_back("64: " + block + "mlp.gate_proj 172 " + block + "mlp.up_proj 172");
        expected.push_back("172: " + block + "mlp.down_proj 64");
    }
    expected.push_back("64: model.embed_tokens 512");
    EXPECT_EQ(found, expected);

    config.tie_word_embeddings = false;
    EXPECT_EQ(describe(groups_of(config).back()), "64: lm_head 512");
    EXPECT_EQ(groups_of(config).back().members[0].layer_type, "lm_head");
    EXPECT_FALSE(groups_of(config).back().members[0].block.has_value());
}

/// The names that plans use, group by group.
std::vector<std::vector<std::string>> layer_types(const std::vector<GroupShape>& groups) {
    std::vector<std::vector<std::string>> types;
    for (const GroupShape& group : groups) {
        auto& members = types.emplace_back();
        for (const MemberShape& member : group.members) members.push_back(member.layer_type);
    }
    return types;
}

TEST(Model, MODEL_8_groups_of_GPT_2) {
    ModelConfig config;
    config.family = Family::gpt2;
    config.hidden_size = 48;
    config.intermediate_size = 192;
    config.num_hidden_layers = 1;
    config.vocab_size = 3;
    const auto groups = groups_of(config);
    ASSERT_EQ(groups.size(), 5U);
    EXPECT_EQ(describe(groups[0]), "48: transformer.h.0.attn.c_attn 144");
    EXPECT_EQ(describe(groups[1]), "48: transformer.h.0.attn.c_proj 48");
    EXPECT_EQ(describe(groups[2]), "48: transformer.h.0.mlp.c_fc 192");
    EXPECT_EQ(describe(groups[3]), "192: transformer.h.0.mlp.c_proj 48");
    EXPECT_EQ(describe(groups[4]), "48: lm_head 3");
    const std::vector<std::vector<std::string>> types{
        {"c_attn"}, {"attn.c_proj"}, {"c_fc"}, {"mlp.c_proj"}, {"lm_head"}};
    EXPECT_EQ(layer_types(groups), types);
    EXPECT_EQ(groups[3].members[0].block, 0U);

    config.tie_word_embeddings = true;
    EXPECT_EQ(describe(groups_of(config).back()), "48: transformer.wte 3");
    EXPECT_EQ(layer_types(groups_of(config)), types);
}

TEST(Model, MODEL_9_groups_of_Phi_2) {
    ModelConfig config = two_blocks();
    config.family = Family::phi;
    const auto groups = groups_of(config);
    ASSERT_EQ(groups.size(), 7U);
    const std::string block = "model.layers.1.";
    EXPECT_EQ(describe(groups[3]), "80: " + block + "self_attn.q_proj 80 " + block +
                                       "self_attn.k_proj 40 " + block + "self_attn.v_proj 40 " +
                                       block + "mlp.fc1 320");
    EXPECT_EQ(describe(groups[4]), "80: " + block + "self_attn.dense 80");
    EXPECT_EQ(describe(groups[5]), "320: " + block + "mlp.fc2 80");
    EXPECT_EQ(describe(groups[6]), "80: lm_head 256");
    const std::vector<std::vector<std::string>> types{
        {"q_proj", "k_proj", "v_proj", "fc1"}, {"dense"}, {"fc2"}, {"lm_head"}};
    EXPECT_EQ(layer_types({groups.begin() + 3, groups.end()}), types);
}

TEST(Model, ATTN_8_groups_of_the_papers_order) {
    ModelConfig config = two_blocks();
    config.attention = Attention::paper;
    using Types = std::vector<std::vector<std::string>>;
    const auto one_block = [&](Family family) {
        config.family = family;
        const auto groups = groups_of(config);
        return layer_types(
            {groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(groups.size() / 2)});
    };
    EXPECT_EQ(one_block(Family::llama), (Types{{"q_proj"},
                                               {"k_proj"},
                                               {"v_proj"},
                                               {"v_proj"},
                                               {"o_proj"},
                                               {"gate_proj", "up_proj"},
                                               {"down_proj"}}));
    const auto groups = groups_of(config);
    for (const std::size_t head : {0U, 1U}) {  // the rows of a head
        const MemberShape& member = groups[2 + head].members[0];
        EXPECT_EQ(member.m, 20U);
        EXPECT_EQ(member.first_row, 20 * head);
        EXPECT_EQ(member.tensor_rows, 40U);
    }
    EXPECT_EQ(one_block(Family::phi),
              (Types{{"q_proj"}, {"k_proj"}, {"v_proj"}, {"v_proj"}, {"dense"}, {"fc1"}, {"fc2"}}));
    config.num_attention_heads = config.num_key_value_heads = 4;
    EXPECT_EQ(one_block(Family::gpt2), (Types{{"c_attn"},
                                              {"c_attn"},
                                              {"c_attn"},
                                              {"c_attn"},
                                              {"c_attn"},
                                              {"c_attn"},
                                              {"attn.c_proj"},
                                              {"c_fc"},
                                              {"mlp.c_proj"}}));
    EXPECT_EQ(groups_of(config)[5].members[0].first_row, 160U + 3 * 20);
    EXPECT_EQ(groups_of(config)[5].members[0].tensor_rows, 240U);
}

}  // namespace
}  // namespace slip::testing
