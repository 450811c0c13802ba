// MODEL-15: tokenizer.json.
#include "optimized/import/tokenizer_json.hpp"

#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "optimized/base/files.hpp"
#include "optimized/import/utf8.hpp"
#include "property_tests/generators/refusal.hpp"
#include "property_tests/import/published_cases.hpp"
#include "property_tests/import/texts.hpp"

namespace slip::testing {
namespace {

using namespace importing;
using base::read_file;
using nlohmann::json;
using Ids = std::vector<TokenId>;

std::filesystem::path shared(const std::string& name) {
    return std::filesystem::path(SLIP_SHARED_DIR) / "data" / name;
}

Bpe open(const json& file) { return Bpe(parse_tokenizer_json(file.dump(), "tokenizer.json")); }

std::string refusal_of(const json& file) {
    return refusal([&] { open(file); });
}

/// Letters and "_" for a space, each a token, in this order; nothing but the merges that are asked
/// for.
json characters(const std::string& letters, const std::vector<std::string>& merges) {
    json vocabulary = json::object();
    for (const char letter : letters) vocabulary[std::string(1, letter)] = vocabulary.size();
    for (std::string merge : merges) {
        std::erase(merge, ' ');
        if (!vocabulary.contains(merge)) vocabulary[merge] = vocabulary.size();
    }
    return {{"version", "1.0"},
            {"added_tokens", json::array()},
            {"normalizer", nullptr},
            {"pre_tokenizer", nullptr},
            {"post_processor", nullptr},
            {"decoder", nullptr},
            {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}}};
}

json added(const std::string& text, TokenId id) {
    return {{"id", id},        {"content", text},     {"single_word", false}, {"lstrip", false},
            {"rstrip", false}, {"normalized", false}, {"special", false}};
}

// --- real files ----------------------------------------------------------------------------------

void expect_pairs(const Tokenizer& tokenizer, const std::filesystem::path& folder) {
    for (const json& pair : json::parse(read_file(folder / "pairs.json"))) {
        const auto text = pair.at("text").get<std::string>();
        EXPECT_EQ(tokenizer.encode_with_special(text), pair.at("ids").get<Ids>()) << text;
    }
}

TEST(TokenizerJson, MODEL_15_published_pairs_of_Qwen_2_5) {
    const auto folder = shared("tokenizers/qwen2.5");
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the tokenizer of Qwen2.5 is not here";
    const auto tokenizer = open_tokenizer(folder);
    EXPECT_EQ(tokenizer->vocab_size(), 151665U);
    expect_pairs(*tokenizer, folder);
    EXPECT_EQ(tokenizer->before_texts(), Ids{});
    const Ids end{151645};
    EXPECT_EQ(tokenizer->encode_with_special("<|im_end|>"), end);
    EXPECT_EQ(tokenizer->marker("<|im_end|>").value().id, 151645);
    EXPECT_FALSE(tokenizer->marker("<|im_middle|>").has_value());
    EXPECT_EQ(tokenizer->encode("<tool_call>"), Ids{151657}) << "added, and not special";
    EXPECT_EQ(tokenizer->decode(end), "");
    EXPECT_EQ(tokenizer->decode(tokenizer->encode("a<|im_end|>")), "a<|im_end|>");
    EXPECT_GT(tokenizer->encode("<|im_end|>").size(), 1U) << "text does not end a turn";
    EXPECT_EQ(tokenizer->encode("e\u0301"), tokenizer->encode("\u00e9")) << "NFC";
    for (const std::string text : {"", "a", "\u6f22\u5b57 \U0001f600\n\n x", "\xff\xfe \xe2\x82"}) {
        EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
    }
}

TEST(TokenizerJson, MODEL_15_published_pairs_of_Llama_3) {
    const auto folder = shared("tokenizers/llama3");
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the tokenizer of Llama 3 is not here";
    const auto tokenizer = open_tokenizer(folder);
    EXPECT_EQ(tokenizer->vocab_size(), 128256U);
    expect_pairs(*tokenizer, folder);
    EXPECT_EQ(expect_cases(*tokenizer, folder), 46U);
    EXPECT_EQ(tokenizer->before_texts(), Ids{128000});
}

/// GPT-2's two files in one, as its own tokenizer.json has them.
TEST(TokenizerJson, MODEL_15_published_pairs_of_GPT_2) {
    const auto folder = shared("tokenizers/gpt2");
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the tokenizer of GPT-2 is not here";
    json file = characters("", {});
    file["pre_tokenizer"] = {
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
    file["decoder"] = file["pre_tokenizer"];
    file["model"]["vocab"] = json::parse(read_file(folder / "vocab.json"));
    std::istringstream lines(read_file(folder / "merges.txt"));
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("#version")) file["model"]["merges"].push_back(line);
    }
    EXPECT_EQ(expect_cases(open(file), folder), 46U);
}

// --- SentencePiece's BPE, written as tokenizer.json ----------------------------------------------

/// The file that Hugging Face's converter writes for a SentencePiece model of the LLaMA-2 family:
/// every pair of pieces whose concatenation is a piece is a merge, the best score first.
json converted(const std::string& model) {
    sentencepiece::SentencePieceProcessor pieces;
    if (!pieces.LoadFromSerializedProto(model).ok()) throw BadInput("no SentencePiece model");
    json vocabulary = json::object();
    for (int id = 0; id < pieces.GetPieceSize(); ++id) vocabulary[pieces.IdToPiece(id)] = id;
    std::vector<std::pair<float, json>> merges;
    for (int id = 0; id < pieces.GetPieceSize(); ++id) {
        const std::string piece = pieces.IdToPiece(id);
        if (pieces.IsControl(id) || pieces.IsByte(id) || pieces.IsUnknown(id)) continue;
        for (std::size_t at = 1; at < piece.size(); ++at) {
            const std::string left = piece.substr(0, at);
            const std::string right = piece.substr(at);
            if (utf8_prefix(left) != at) continue;
            if (!vocabulary.contains(left) || !vocabulary.contains(right)) continue;
            merges.emplace_back(pieces.GetScore(id), json::array({left, right}));
        }
    }
    std::stable_sort(merges.begin(), merges.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    json list = json::array();
    for (const auto& [score, merge] : merges) list.push_back(merge);
    json file = characters("", {});
    json begin = added("<s>", 1);
    begin["special"] = true;
    file["added_tokens"] = json::array({begin});
    const json to_mark = {
        {"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
    const json to_space = {
        {"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}};
    file["normalizer"] = {{"type", "Sequence"},
                          {"normalizers", {{{"type", "Prepend"}, {"prepend", "\u2581"}}, to_mark}}};
    file["decoder"] = {{"type", "Sequence"},
                       {"decoders",
                        {to_space,
                         {{"type", "ByteFallback"}},
                         {{"type", "Fuse"}},
                         {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
    file["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single",
         {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
          {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
        {"pair", json::array()},
        {"special_tokens",
         {{"<s>", {{"id", "<s>"}, {"ids", json::array({1})}, {"tokens", json::array({"<s>"})}}}}}};
    file["model"] = {{"type", "BPE"},
                     {"dropout", nullptr},
                     {"unk_token", "<unk>"},
                     {"fuse_unk", true},
                     {"byte_fallback", true},
                     {"vocab", vocabulary},
                     {"merges", list},
                     {"ignore_merges", false},
                     {"continuing_subword_prefix", nullptr},
                     {"end_of_word_suffix", nullptr}};
    return file;
}

TEST(TokenizerJson, MODEL_15_SentencePiece_in_either_file_gives_the_same_ids) {
    const std::filesystem::path folder =
        std::filesystem::path(SLIP_SOURCE_DIR) / "models/tinystories-llama";
    const auto original = open_tokenizer(folder);
    const json file = converted(read_file(folder / "tokenizer.model"));
    const Bpe tokenizer = open(file);
    EXPECT_EQ(tokenizer.vocab_size(), original->vocab_size());
    EXPECT_EQ(tokenizer.before_texts(), Ids{1});
    json metaspace = file;
    metaspace["normalizer"] = nullptr;
    metaspace["pre_tokenizer"] = {{"type", "Metaspace"},
                                  {"replacement", "\u2581"},
                                  {"prepend_scheme", "first"},
                                  {"split", false}};
    metaspace["decoder"] = {{"type", "Sequence"},
                            {"decoders",
                             {{{"type", "ByteFallback"}},
                              {{"type", "Metaspace"},
                               {"replacement", "\u2581"},
                               {"prepend_scheme", "first"},
                               {"split", false}}}}};
    const Bpe with_metaspace = open(metaspace);
    const std::string chapter =
        read_file(std::filesystem::path(SLIP_SOURCE_DIR) / "spec/threat-model.md");
    std::vector<std::string> texts{"Once upon a time, there was a little girl named Lily.", "a", "",
                                   "Tom  said \u00e9\u6f22 \U0001f600!\n\nHe ran.", "12 345"};
    std::istringstream lines(chapter);
    for (std::string line; std::getline(lines, line);) {
        // SentencePiece's own normalisation removes spaces that Hugging Face's keeps.
        if (!line.empty() && !contains(line, "  ") && line.front() != ' ' && line.back() != ' ') {
            texts.push_back(line);
        }
    }
    std::size_t compared = 0;
    for (const std::string& text : texts) {
        const bool spaces = contains(text, "  ") || contains(text, "\n");
        if (!spaces) {
            EXPECT_EQ(tokenizer.encode(text), original->encode(text)) << text;
            ++compared;
        }
        EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
        EXPECT_EQ(with_metaspace.encode(text), tokenizer.encode(text)) << text;
        EXPECT_EQ(with_metaspace.decode(tokenizer.encode(text)), text);
    }
    EXPECT_GT(compared, 60U);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("\xff")), "\xff") << "bytes without a character";
    // "first": no mark after a special token, where the normalizer puts one.
    const Ids after = with_metaspace.encode_with_special("<s>a");
    EXPECT_EQ(after, (Ids{1, file["model"]["vocab"]["a"].get<TokenId>()}));
    EXPECT_EQ(tokenizer.encode_with_special("<s>a").front(), 1);
    EXPECT_NE(tokenizer.encode_with_special("<s>a"), after);
}

// --- options -------------------------------------------------------------------------------------

TEST(TokenizerJson, MODEL_15_ignored_merges_take_whole_pieces) {
    json file = characters("abc", {"a b", "b c"});
    file["model"]["vocab"]["abc"] = 5;
    EXPECT_EQ(open(file).encode("abc"), (Ids{3, 2})) << "\"ab\", \"c\"";
    file["model"]["ignore_merges"] = true;
    EXPECT_EQ(open(file).encode("abc"), Ids{5});
    EXPECT_EQ(open(file).encode("abca"), (Ids{3, 2, 0})) << "only a whole piece";
}

TEST(TokenizerJson, MODEL_15_unknown_characters) {
    json file = characters("ab?", {});
    EXPECT_TRUE(contains(refusal([&] { open(file).encode("abc"); }), "character \"c\""));
    file["model"]["unk_token"] = "?";
    EXPECT_EQ(open(file).encode("accb"), (Ids{0, 2, 2, 1}));
    file["model"]["fuse_unk"] = true;
    EXPECT_EQ(open(file).encode("accb"), (Ids{0, 2, 1}));
    file["model"]["byte_fallback"] = true;
    EXPECT_EQ(open(file).encode("a\u00e9"), (Ids{0, 2})) << "no byte has a token";
    file["model"]["vocab"]["<0xC3>"] = 3;
    EXPECT_EQ(open(file).encode("a\u00e9"), (Ids{0, 2})) << "one byte lacks one";
    file["model"]["vocab"]["<0xA9>"] = 4;
    EXPECT_EQ(open(file).encode("a\u00e9"), (Ids{0, 3, 4}));
    EXPECT_EQ(open(file).decode(Ids{0, 3, 4}), "a\u00e9");
}

TEST(TokenizerJson, MODEL_15_added_tokens_take_the_white_space_beside_them) {
    json file = characters("ab _", {});
    json token = added("<x>", 4);
    token["rstrip"] = true;
    file["added_tokens"] = json::array({token});
    EXPECT_EQ(open(file).encode("a <x> \u3000b"), (Ids{0, 2, 4, 1}));
    token["lstrip"] = true;
    file["added_tokens"] = json::array({token});
    EXPECT_EQ(open(file).encode("a <x> b<x>"), (Ids{0, 4, 1, 4}));
    token["special"] = true;
    file["added_tokens"] = json::array({token});
    EXPECT_EQ(open(file).encode_with_special("a <x> b"), (Ids{0, 4, 1}));
    EXPECT_TRUE(contains(refusal([&] { open(file).encode("<x>"); }), "\"<\""));

    // One that is looked for after normalisation is normalised itself.
    file = characters("ab_", {});
    file["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "_"}};
    token = added("a b", 3);
    file["added_tokens"] = json::array({token});
    EXPECT_EQ(open(file).encode("a b_a_b"), (Ids{3, 2, 0, 2, 1}));
    token["normalized"] = true;
    file["added_tokens"] = json::array({token});
    EXPECT_EQ(open(file).encode("a b_a_b"), (Ids{3, 2, 3}));
}

json split(const json& pattern, const std::string& behaviour, bool invert = false) {
    return {{"type", "Split"}, {"pattern", pattern}, {"behavior", behaviour}, {"invert", invert}};
}

/// The pieces of a text: "x y" are one token if they are in one piece.
std::string pieces(const json& pretokenizer, const std::string& text) {
    std::string letters = "abc _12-";
    json file = characters(letters, {});
    for (const char left : letters) {  // all pairs merge: a piece of two characters is one token
        for (const char right : letters) {
            const std::string both{left, right};
            file["model"]["vocab"][both] = file["model"]["vocab"].size();
            file["model"]["merges"].push_back(
                json::array({std::string(1, left), std::string(1, right)}));
        }
    }
    file["pre_tokenizer"] = pretokenizer;
    std::map<TokenId, std::string> names;
    for (const auto& [token, id] : file["model"]["vocab"].items()) names[id] = token;
    std::string shown;
    for (const TokenId id : open(file).encode(text)) shown += names.at(id) + "|";
    return shown;
}

TEST(TokenizerJson, MODEL_15_each_behaviour_of_a_split) {
    const json space = {{"String", " "}};
    EXPECT_EQ(pieces(nullptr, "a b"), "a |b|");
    EXPECT_EQ(pieces(split(space, "Isolated"), "a b"), "a| |b|");
    EXPECT_EQ(pieces(split(space, "Removed"), "a b"), "a|b|");
    EXPECT_EQ(pieces(split(space, "Removed", true), "ab b"), " |");
    EXPECT_EQ(pieces(split(space, "MergedWithPrevious"), "ab  b"), "ab| | |b|")
        << "three characters of one piece: the first two merge";
    EXPECT_EQ(pieces(split(space, "MergedWithPrevious"), "a  b"), "a | |b|");
    EXPECT_EQ(pieces(split(space, "MergedWithNext"), "a  b"), "a| | b|");
    EXPECT_EQ(pieces(split({{"Regex", "[0-9]|a"}}, "Isolated"), "bba12b"), "bb|a|1|2|b|");
    EXPECT_EQ(pieces({{"type", "Digits"}, {"individual_digits", true}}, "ab12"), "ab|1|2|");
    EXPECT_EQ(pieces({{"type", "Digits"}, {"individual_digits", false}}, "ab12a"), "ab|12|a|");
    const json both = {
        {"type", "Sequence"},
        {"pretokenizers",
         {{{"type", "Digits"}, {"individual_digits", true}}, split(space, "MergedWithNext")}}};
    EXPECT_EQ(pieces(both, "ab 12 c"), "ab| |1|2| c|");
    const json metaspace = {
        {"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "always"}};
    EXPECT_EQ(pieces(metaspace, "a bc"), "_a|_|bc|");
}

TEST(TokenizerJson, MODEL_15_expressions_mean_what_they_mean_to_Oniguruma) {
    const auto refused = [](const std::string& expression) {
        json file = characters("a", {});
        file["pre_tokenizer"] = split({{"Regex", expression}}, "Isolated");
        return refusal_of(file);
    };
    for (const char* expression :
         {"\\w+",        "\\h",    "\\bx",   "^a",          "a$",     "\\p{Han}",
          "\\p{greek}+", "[a&&b]", "[a[b]]", "[[:alpha:]]", "(?m:a)", "(?<n>a)",
          "(*UCP)a",     "\\1",    "a{2}+",  "a{,2}",       "[a",     "a)",
          "\\",          "\\pL",   "a*",     "a|",          "(?=a)"}) {
        EXPECT_TRUE(contains(refused(expression), "\"pattern\"")) << expression;
    }
    for (const char* expression : {"(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
                                   "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|"
                                   "\\s+(?!\\S)|\\s+",
                                   "[\\p{Lu}\\p{M}]*[^\\p{Ll}]+", "[\u4e00-\u9fa5\u3040-\u309f]+",
                                   "\\p{^L}\\P{N}", "[!-/:-@]", "a++", "(?>a|b)+"}) {
        EXPECT_EQ(refused(expression), "accepted") << expression;
    }
    // U+180E is no white space, U+0085 is.
    json file = characters("a", {"a a"});
    file["model"]["vocab"]["\u180e"] = 2;
    file["model"]["vocab"]["\u0085"] = 3;
    file["pre_tokenizer"] = split({{"Regex", "\\s"}}, "Removed");
    EXPECT_EQ(open(file).encode("a\u180ea\u0085a"), (Ids{0, 2, 0, 0}));
}

TEST(TokenizerJson, MODEL_15_an_expression_that_takes_too_long_is_refused) {
    json file = characters("ab", {});
    file["pre_tokenizer"] = split({{"Regex", "(?:a+)+b"}}, "Isolated");
    const Bpe tokenizer = open(file);
    EXPECT_EQ(tokenizer.encode("aab").size(), 3U);
    EXPECT_TRUE(
        contains(refusal([&] { tokenizer.encode(std::string(64, 'a') + "cb"); }), "too long"));
}

// --- refusals ------------------------------------------------------------------------------------

TEST(TokenizerJson, MODEL_15_what_would_change_the_ids_is_refused_by_name) {
    const json honest = characters("ab", {"a b"});
    EXPECT_EQ(refusal_of(honest), "accepted");
    const auto with = [&](const std::string& place, const json& value) {
        json file = honest;
        file[json::json_pointer(place)] = value;
        return refusal_of(file);
    };
    const auto names = [&](const std::string& message, const std::string& name) {
        return contains(message, "tokenizer.json") && contains(message, name);
    };
    EXPECT_TRUE(names(with("/version", "2.0"), "version"));
    EXPECT_TRUE(names(with("/further", 1), "further"));
    EXPECT_TRUE(names(with("/model/type", "Unigram"), "BPE"));
    EXPECT_TRUE(names(with("/model/dropout", 0.1), "dropout"));
    EXPECT_TRUE(names(with("/model/continuing_subword_prefix", "##"), "continuing_subword_prefix"));
    EXPECT_TRUE(names(with("/model/end_of_word_suffix", "</w>"), "end_of_word_suffix"));
    EXPECT_TRUE(names(with("/model/unk_token", "?"), "unk_token"));
    EXPECT_EQ(with("/model/unk_token", ""), "accepted");
    EXPECT_TRUE(names(with("/model/cache", 1), "cache"));
    EXPECT_TRUE(names(with("/model/vocab", json::array()), "vocab"));
    EXPECT_TRUE(names(with("/model/vocab/c", 0), "twice"));
    EXPECT_TRUE(names(with("/model/vocab/c", -1), "\"c\""));
    EXPECT_TRUE(names(with("/model/vocab/c", 1 << 20), "\"c\""));
    EXPECT_TRUE(names(with("/model/merges/1", "a c"), "merges[1]"));
    EXPECT_TRUE(names(with("/model/merges/1", "a"), "merges[1]"));
    EXPECT_TRUE(names(with("/model/merges/1", json::array({"a"})), "merges[1]"));
    EXPECT_TRUE(names(with("/model/merges/1", "a b"), "merge 1"));
    EXPECT_TRUE(names(with("/normalizer", {{"type", "Lowercase"}}), "normalizer"));
    EXPECT_TRUE(names(with("/normalizer", {{"type", "NFC"}, {"strict", true}}), "strict"));
    EXPECT_TRUE(names(
        with("/normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", "a"}}}, {"content", ""}}),
        "pattern"));
    EXPECT_TRUE(names(with("/pre_tokenizer", {{"type", "Whitespace"}}), "pre_tokenizer"));
    EXPECT_TRUE(names(with("/pre_tokenizer", {{"type", "ByteLevel"}}), "add_prefix_space"));
    EXPECT_TRUE(names(with("/pre_tokenizer", split({{"String", "a"}}, "Contiguous")), "behavior"));
    EXPECT_TRUE(
        names(with("/pre_tokenizer", split({{"String", "a"}}, "MergedWithNext", true)), "invert"));
    EXPECT_TRUE(names(with("/post_processor", {{"type", "BertProcessing"}}), "post_processor"));
    EXPECT_TRUE(names(with("/decoder", {{"type", "WordPiece"}}), "decoder"));
    EXPECT_TRUE(names(with("/decoder", {{"type", "ByteLevel"}}), "decoder"));
    json token = added("<x>", 3);
    EXPECT_EQ(with("/added_tokens", json::array({token})), "accepted");
    token["id"] = 5;
    EXPECT_EQ(with("/added_tokens", json::array({token})), "accepted") << "an id may stay free";
    for (const json& id : {json(0), json(-1), json("3"), json(1 << 20), json(nullptr)}) {
        token["id"] = id;
        EXPECT_TRUE(names(with("/added_tokens", json::array({token})), "added_tokens[0]")) << id;
    }
    token = added("a", 1);
    EXPECT_TRUE(names(with("/added_tokens", json::array({token})), "added_tokens[0]"));
    token = added("<x>", 3);
    token["single_word"] = true;
    EXPECT_TRUE(names(with("/added_tokens", json::array({token})), "single_word"));
}

TEST(TokenizerJson, MODEL_15_templates_say_what_stands_before_a_text) {
    json file = characters("ab", {});
    const json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    const json token = {{"SpecialToken", {{"id", "a"}, {"type_id", 0}}}};
    const auto with = [&](const json& single, const json& ids) {
        file["post_processor"] = {
            {"type", "Sequence"},
            {"processors",
             {{{"type", "ByteLevel"}, {"trim_offsets", false}},
              {{"type", "TemplateProcessing"},
               {"single", single},
               {"pair", json::array()},
               {"special_tokens",
                {{"a", {{"id", "a"}, {"ids", ids}, {"tokens", json::array({"a"})}}}}}}}}};
    };
    with(json::array({token, text}), json::array({1, 0}));
    EXPECT_EQ(open(file).before_texts(), (Ids{1, 0}));
    with(json::array({text}), json::array({1}));
    EXPECT_EQ(open(file).before_texts(), Ids{});
    with(json::array({text, token}), json::array({1}));
    EXPECT_TRUE(contains(refusal_of(file), "no token after the text"));
    with(json::array({token}), json::array({1}));
    EXPECT_TRUE(contains(refusal_of(file), "single"));
    with(json::array({token, text}), json::array({2}));
    EXPECT_TRUE(contains(refusal_of(file), "ids"));
}

}  // namespace
}  // namespace slip::testing
