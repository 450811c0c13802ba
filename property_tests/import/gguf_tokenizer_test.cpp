// MODEL-19: the tokenizers of GGUF files.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "optimized/base/files.hpp"
#include "optimized/import/tokenizer.hpp"
#include "property_tests/generators/gguf_writer.hpp"
#include "property_tests/generators/refusal.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "property_tests/import/texts.hpp"

namespace slip::testing {
namespace {

using namespace importing;
using Ids = std::vector<TokenId>;

std::unique_ptr<Tokenizer> tokenizer_of(const GgufWriter& file) {
    const TemporaryFolder folder;
    base::write_file(folder / "model.gguf", file.file(), 0600);
    return open_tokenizer(folder / "model.gguf");
}

/// SentencePiece's: <unk>, <s>, </s>, all bytes, pieces.
GgufWriter sentencepiece_file() {
    GgufWriter file;
    std::vector<std::string> tokens{"<unk>", "<s>", "</s>"};
    std::vector<std::int32_t> kinds{2, 3, 3};
    for (int byte = 0; byte < 256; ++byte) {
        char name[8];
        std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
        tokens.emplace_back(name);
        kinds.push_back(6);
    }
    for (const char* piece : {"\u2581", "a", "b", "ab", "\u2581a", "\u2581ab"}) {
        tokens.emplace_back(piece);
        kinds.push_back(1);
    }
    std::vector<float> scores(tokens.size(), 0.0F);
    scores[259 + 3] = -2;  // "ab"
    scores[259 + 4] = -1;  // "_a", the better one
    scores[259 + 5] = -3;
    file.add("tokenizer.ggml.model", std::string("llama"));
    file.add("tokenizer.ggml.tokens", tokens);
    file.add_array("tokenizer.ggml.token_type", GgufKind::i32, kinds);
    file.add_array("tokenizer.ggml.scores", GgufKind::f32, scores);
    file.add("tokenizer.ggml.bos_token_id", 1U);
    return file;
}

TEST(GgufTokenizers, MODEL_19_the_tokenizer_of_SentencePiece) {
    const auto tokenizer = tokenizer_of(sentencepiece_file());
    EXPECT_EQ(tokenizer->vocab_size(), 265U);
    EXPECT_EQ(tokenizer->encode("ab"), Ids{264});
    EXPECT_EQ(tokenizer->encode("aab"), (Ids{263, 262})) << "the best score first";
    EXPECT_EQ(tokenizer->encode("\u00e9"), (Ids{259, 3 + 0xc3, 3 + 0xa9}));
    EXPECT_EQ(tokenizer->decode(tokenizer->encode("ab \u00e9")), "ab \u00e9");
    EXPECT_EQ(tokenizer->before_texts(), Ids{1});
    GgufWriter file = sentencepiece_file();
    file.add("tokenizer.ggml.add_bos_token", false);
    file.add("tokenizer.ggml.add_space_prefix", false);
    EXPECT_EQ(tokenizer_of(file)->before_texts(), Ids{});
    EXPECT_EQ(tokenizer_of(file)->encode("ab"), Ids{262});
    EXPECT_EQ(tokenizer_of(GgufWriter()), nullptr);
}

TEST(GgufTokenizers, MODEL_19_wrong_tokenizers_are_refused_by_name) {
    const auto with = [](const std::string& key, const auto& value) {
        GgufWriter file = sentencepiece_file();
        std::erase_if(file.metadata, [&](const auto& entry) { return entry.first == key; });
        file.add(key, value);
        return refusal([&] { tokenizer_of(file); });
    };
    EXPECT_TRUE(
        contains(with("tokenizer.ggml.model", std::string("bert")), "tokenizer.ggml.model"));
    EXPECT_TRUE(
        contains(with("tokenizer.ggml.tokens", std::vector<std::string>{"a"}), "token_type"));
    EXPECT_TRUE(contains(with("tokenizer.ggml.scores", std::vector<std::string>{"a"}), "scores"));
    EXPECT_TRUE(contains(with("tokenizer.ggml.token_type", 1U), "token_type"));
    EXPECT_TRUE(contains(with("tokenizer.ggml.bos_token_id", 265U), "bos_token_id"));
    EXPECT_TRUE(contains(with("tokenizer.ggml.add_eos_token", true), "add_eos_token"));
    EXPECT_TRUE(contains(with("tokenizer.ggml.model", std::string("gpt2")), "tokenizer.ggml.pre"));
}

}  // namespace
}  // namespace slip::testing
