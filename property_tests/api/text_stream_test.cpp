// MODEL-15: what stands before a prompt, and text in whole characters.
#include "slip/text_stream.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "optimized/import/bpe_files.hpp"
#include "optimized/import/utf8.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "slip/error.hpp"
#include "slip/model.hpp"

namespace slip::testing {
namespace {

using nlohmann::json;
using Ids = std::vector<TokenId>;

/// A tokenizer with a token for each character of GPT-2's alphabet, which are the 256 bytes, and
/// "<s>", which stands before texts if `begins`.
json bytes_tokenizer(bool begins) {
    json vocabulary = json::object();
    for (unsigned point = 1; point < 0x144; ++point) {
        std::string character;
        if (point < 0x80) {
            character.push_back(static_cast<char>(point));
        } else {
            character.push_back(static_cast<char>(0xc0 | point >> 6));
            character.push_back(static_cast<char>(0x80 | (point & 0x3f)));
        }
        if (importing::bytes_of_bpe_token(character)) vocabulary[character] = vocabulary.size();
    }
    json file = {
        {"version", "1.0"},
        {"pre_tokenizer",
         {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
        {"added_tokens",
         json::array({{{"id", vocabulary.size()}, {"content", "<s>"}, {"special", true}}})},
        {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", json::array()}}}};
    if (begins) {
        file["post_processor"] = {
            {"type", "TemplateProcessing"},
            {"single", json::array({{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
                                    {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}})},
            {"special_tokens",
             {{"<s>", {{"id", "<s>"}, {"ids", json::array({vocabulary.size()})}}}}}};
        file["post_processor"]["special_tokens"]["<s>"]["tokens"] = json::array({"<s>"});
    }
    return file;
}

/// The bundled model with this tokenizer.json, or with its own if that is null.
LanguageModel model_with(const json& tokenizer) {
    const std::filesystem::path bundled =
        std::filesystem::path(SLIP_SOURCE_DIR) / "models/tinystories-llama";
    const TemporaryFolder folder;
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.model"}) {
        std::filesystem::create_symlink(bundled / name, folder / name);
    }
    if (!tokenizer.is_null()) std::ofstream(folder / "tokenizer.json") << tokenizer.dump();
    return open_checkpoint<LanguageModel>(folder.path());
}

TEST(Prompt, MODEL_11_the_tokenizer_says_what_stands_before_it) {
    const LanguageModel begins = model_with(bytes_tokenizer(true));
    EXPECT_EQ(begins.encode("a").size(), 1U);
    EXPECT_EQ(begins.encode_prompt("a"), (Ids{256, begins.encode("a").front()}));
    EXPECT_EQ(begins.encode_prompt(""), Ids{256});
    // The family's BOS, 1, has no say where there is a tokenizer.json; but something must begin.
    const LanguageModel plain = model_with(bytes_tokenizer(false));
    EXPECT_EQ(plain.encode_prompt("a"), plain.encode("a"));
    EXPECT_EQ(plain.encode_prompt(""), Ids{1});
    const LanguageModel own = model_with(nullptr);
    EXPECT_EQ(own.encode_prompt("a").front(), 1);
    EXPECT_EQ(own.encode_prompt("a").size(), own.encode("a").size() + 1);
}

RC_GTEST_PROP(TextStream, MODEL_15_every_part_is_whole_and_all_of_them_are_the_text,
              (const std::string& bytes)) {
    static const LanguageModel model = model_with(bytes_tokenizer(false));
    const auto points = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff ")));
    const std::string text = bytes + "\u00e9\U0001f600" + points;
    TextStream stream(model, model.encode("prompt \u00e9"));
    std::string shown;
    for (const TokenId id : model.encode(text)) {
        const std::string part = stream.push(id);
        RC_ASSERT(importing::utf8_prefix(part) == part.size());
        shown += part;
    }
    shown += stream.finish();
    RC_ASSERT(shown == importing::utf8_repaired(text));
}

TEST(Token, MODEL_15_tokens_by_themselves_make_up_the_text) {
    const std::string text = " caf\u00e9 \U0001f600 in a town.\n";
    for (const json& tokenizer : {bytes_tokenizer(true), json()}) {
        const LanguageModel model = model_with(tokenizer);
        std::string joined;
        for (const TokenId id : model.encode("Once" + text)) joined += model.token(id).text;
        EXPECT_EQ(joined, (tokenizer.is_null() ? " Once" : "Once") + text);
        const Token begin = model.token(model.encode_prompt("").front());
        EXPECT_TRUE(begin.special);
        EXPECT_EQ(begin.text, "<s>");
        EXPECT_THROW(model.token(-1), BadInput);
        EXPECT_THROW(model.token(static_cast<TokenId>(model.vocabulary_size())), BadInput);
    }
    // The model has more ids than this tokenizer.
    const Token unknown = model_with(bytes_tokenizer(true)).token(2000);
    EXPECT_TRUE(unknown.special && unknown.text.empty());
}

TEST(TextStream, MODEL_15_a_character_comes_with_its_last_byte) {
    const LanguageModel model = model_with(bytes_tokenizer(false));
    TextStream stream(model, {});
    std::vector<std::string> parts;
    for (const TokenId id : model.encode("a\U0001f600\xe2\x82z\xc3"))
        parts.push_back(stream.push(id));
    EXPECT_EQ(parts,
              (std::vector<std::string>{"a", "", "", "", "\U0001f600", "", "", "\ufffdz", ""}));
    EXPECT_EQ(stream.finish(), "\ufffd");
    EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, MODEL_15_SentencePiece_keeps_its_spaces_however_long_the_text) {
    const LanguageModel model = model_with(nullptr);
    std::string text = "Once upon a time";
    for (int i = 0; i < 40; ++i) text += " there was a caf\u00e9 \U0001f600 in a town.";
    const Ids ids = model.encode_prompt(text);
    const std::span<const TokenId> prompt = std::span(ids).first(4);
    TextStream stream(model, prompt);
    std::string shown = model.decode(prompt);
    for (std::size_t i = 4; i < ids.size(); ++i) shown += stream.push(ids[i]);
    EXPECT_EQ(shown + stream.finish(), text);
}

}  // namespace
}  // namespace slip::testing
