// MODEL-11: tokenizers.
#include "optimized/import/tokenizer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/import/pretokenizer.hpp"
#include "optimized/import/sentencepiece.hpp"
#include "optimized/import/utf8.hpp"
#include "property_tests/generators/refusal.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "property_tests/generators/values.hpp"
#include "property_tests/import/published_cases.hpp"
#include "property_tests/import/texts.hpp"

namespace slip::testing {
namespace {

using namespace importing;
using base::read_file;
using nlohmann::json;
using Ids = std::vector<TokenId>;

/// A folder of the shared data, or an empty path.
std::filesystem::path shared(const char* name) {
    const std::filesystem::path path = std::filesystem::path(SLIP_SHARED_DIR) / "data" / name;
    return std::filesystem::exists(path) ? path : std::filesystem::path();
}

// --- UTF-8 ---------------------------------------------------------------------------------------

std::string utf8(char32_t point) {
    std::string text;
    const auto add = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
    if (point < 0x80) {
        add(point);
    } else if (point < 0x800) {
        add(0xc0 | point >> 6);
        add(0x80 | (point & 63));
    } else if (point < 0x10000) {
        add(0xe0 | point >> 12);
        add(0x80 | (point >> 6 & 63));
        add(0x80 | (point & 63));
    } else {
        add(0xf0 | point >> 18);
        add(0x80 | (point >> 12 & 63));
        add(0x80 | (point >> 6 & 63));
        add(0x80 | (point & 63));
    }
    return text;
}

bool is_surrogate(char32_t point) { return point >= 0xd800 && point < 0xe000; }

TEST(Utf8, MODEL_11_every_character_is_recognised_and_none_of_its_parts) {
    for (char32_t point = 0; point <= 0x10ffff; ++point) {
        const std::string text = utf8(point);
        ASSERT_EQ(utf8_character(text), is_surrogate(point) ? 0 : text.size());
        ASSERT_EQ(utf8_character(text.substr(0, text.size() - 1)), 0U);
        if (text.size() > 1) {
            ASSERT_EQ(utf8_character(text.substr(1)), 0U);
        }
    }
    // Overlong forms, code points that do not exist, bytes that never occur.
    for (const char* text :
         {"\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
          "\xf5\x80\x80\x80", "\xff", "\x80", "\xc3(", "\xe1\x80(", "\xf1\x80\x80("}) {
        EXPECT_EQ(utf8_character(text), 0U);
    }
    EXPECT_EQ(utf8_prefix(""), 0U);
    EXPECT_EQ(utf8_prefix("a\xc3\xa9\xff"), 3U);
    EXPECT_EQ(utf8_prefix("ab\xe2\x82"), 2U);
}

// --- pieces --------------------------------------------------------------------------------------

std::vector<std::string> pieces(std::string_view text) {
    static const PreTokenizer pretokenizer;
    std::vector<std::string> found;
    pretokenizer.divide(text, [&](std::string_view piece) { found.emplace_back(piece); });
    return found;
}

/// GPT-2's expression for ASCII, alternative after alternative.
std::vector<std::string> ascii_pieces(const std::string& text) {
    const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
    const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    const auto space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    const auto other = [&](char c) { return !letter(c) && !digit(c) && !space(c); };
    const auto run = [&](std::size_t at, const auto& kind) {
        std::size_t end = at;
        while (end < text.size() && kind(text[end])) ++end;
        return end;
    };
    const auto piece_end = [&](std::size_t at) {
        for (const std::string contraction : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
            if (text.compare(at, contraction.size(), contraction) == 0) {
                return at + contraction.size();
            }
        }
        const std::size_t word = text[at] == ' ' ? at + 1 : at;
        for (const std::size_t end : {run(word, letter), run(word, digit), run(word, other)}) {
            if (end > word) return end;
        }
        const std::size_t end = run(at, space);
        return end < text.size() && end - at > 1 ? end - 1 : end;
    };
    std::vector<std::string> found;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = piece_end(at);
        found.push_back(text.substr(at, end - at));
        at = end;
    }
    return found;
}

RC_GTEST_PROP(PreTokenizer, MODEL_11_ascii_is_divided_as_GPT_2_does, ()) {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string("  \t\n'''sdtmrvel aZ09.!?-\x1c\x7f")));
    RC_ASSERT(pieces(text) == ascii_pieces(text));
}

TEST(PreTokenizer, MODEL_11_categories_are_those_of_unicode) {
    using Pieces = std::vector<std::string>;
    EXPECT_EQ(pieces("don't stop  now"), (Pieces{"don", "'t", " stop", " ", " now"}));
    EXPECT_EQ(pieces("DON'T"), (Pieces{"DON", "'", "T"}));
    EXPECT_EQ(pieces(" \u0434\u0430\u00bd\u0663!"), (Pieces{" \u0434\u0430", "\u00bd\u0663", "!"}));
    EXPECT_EQ(pieces("e\u0301"), (Pieces{"e", "\u0301"}));  // a mark is no letter
    EXPECT_EQ(pieces("\u3053\u6f22\U00020000"), (Pieces{"\u3053\u6f22\U00020000"}));
    // White space of every kind, and two characters that look like it but are not.
    EXPECT_EQ(pieces("a\u3000\u2028\u0085b"), (Pieces{"a", "\u3000\u2028", "\u0085", "b"}));
    EXPECT_EQ(pieces("a\u00a0b"), (Pieces{"a", "\u00a0", "b"}));
    EXPECT_EQ(pieces("\u180e\u200b"), (Pieces{"\u180e\u200b"}));
    EXPECT_EQ(pieces("  "), (Pieces{"  "}));
    EXPECT_EQ(pieces(""), Pieces{});
    // Bytes that are not UTF-8 stand between pieces.
    EXPECT_EQ(pieces("ab\xff\xc3 cd"), (Pieces{"ab", "\xff\xc3", " cd"}));
    EXPECT_EQ(pieces("\xe2\x82"), (Pieces{"\xe2\x82"}));
}

// --- byte-level BPE ------------------------------------------------------------------------------

/// GPT-2's way to write bytes, from its description: shown if they can be shown, else shifted.
std::string written(const std::string& bytes) {
    static const std::vector<std::string> table = [] {
        std::vector<std::string> letters(256);
        char32_t next = 256;
        for (char32_t byte = 0; byte < 256; ++byte) {
            const bool shown = (byte >= U'!' && byte <= U'~') || (byte >= 0xa1 && byte <= 0xac) ||
                               (byte >= 0xae && byte <= 0xff);
            letters[byte] = utf8(shown ? byte : next++);
        }
        return letters;
    }();
    std::string text;
    for (const char byte : bytes) text += table[static_cast<unsigned char>(byte)];
    return text;
}

/// A tokenizer's files: one token a byte, in a shuffled order, and the merges asked for.
struct Files {
    json vocabulary;
    std::vector<std::pair<std::string, std::string>> merges;  // bytes
    json added;
    std::string first_lines = "#version: 0.2\n";

    /// The ids of the bytes are shuffled.
    explicit Files(std::uint64_t seed = 0) {
        std::mt19937_64 bits(seed);
        std::string bytes(256, '\0');
        for (std::size_t byte = 0; byte < 256; ++byte) bytes[byte] = static_cast<char>(byte);
        std::shuffle(bytes.begin(), bytes.end(), bits);
        for (const char byte : bytes) add(std::string(1, byte));
    }
    void add(const std::string& bytes) {
        const std::size_t next = vocabulary.size();
        if (!vocabulary.contains(written(bytes))) vocabulary[written(bytes)] = next;
    }
    void merge(const std::string& left, const std::string& right) {
        add(left + right);
        merges.emplace_back(left, right);
    }
    TokenId id(const std::string& bytes) const {
        return vocabulary.at(written(bytes)).get<TokenId>();
    }
    void write(const std::filesystem::path& folder) const {
        std::ofstream(folder / "vocab.json") << vocabulary.dump();
        std::ofstream lines(folder / "merges.txt");
        lines << first_lines;
        for (const auto& [left, right] : merges) {
            lines << written(left) << ' ' << written(right) << '\n';
        }
        if (!added.is_null()) std::ofstream(folder / "added_tokens.json") << added.dump();
    }
};

std::unique_ptr<Tokenizer> open(const Files& files) {
    const TemporaryFolder folder;
    files.write(folder.path());
    return open_tokenizer(folder.path());
}

std::string refusal_of(const Files& files) {
    return refusal([&] { open(files); });
}

/// Byte-pair encoding as it is described: look for the best pair, merge it, start again.
std::vector<std::string> described_bpe(const Files& files, const std::string& word) {
    std::vector<std::string> tokens;
    for (const char byte : word) tokens.emplace_back(1, byte);
    while (true) {
        std::size_t best_rank = files.merges.size();
        std::size_t best = 0;
        for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
            const auto found = std::find(files.merges.begin(), files.merges.end(),
                                         std::pair(tokens[i], tokens[i + 1]));
            const auto rank = static_cast<std::size_t>(found - files.merges.begin());
            if (rank < best_rank) {
                best_rank = rank;
                best = i;
            }
        }
        if (best_rank == files.merges.size()) return tokens;
        tokens[best] += tokens[best + 1];
        tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
}

/// Merges of letters, each of tokens that are there already, in any order of ranks, drawn within a
/// property.
Files drawn_files() {
    Files files(*rc::gen::arbitrary<std::uint64_t>().as("seed of the ids of bytes"));
    std::vector<std::string> tokens{"a", "b", "c"};
    const auto count = *any_size(0, 11).as("merges");
    for (std::size_t i = 0; i < count; ++i) {
        const auto pair =
            *rc::gen::pair(rc::gen::elementOf(tokens), rc::gen::elementOf(tokens)).as("merge");
        if (std::count(files.merges.begin(), files.merges.end(), pair) != 0) continue;
        const auto rank = *any_size(0, files.merges.size()).as("rank");
        files.merge(pair.first, pair.second);
        tokens.push_back(pair.first + pair.second);
        std::rotate(files.merges.begin() + static_cast<std::ptrdiff_t>(rank),
                    files.merges.end() - 1, files.merges.end());
    }
    return files;
}

RC_GTEST_PROP(ByteLevelBpe, MODEL_11_merges_the_best_pair_until_there_is_none, ()) {
    const Files files = drawn_files();
    const auto word = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("aabbc")));
    Ids expected;
    for (const std::string& token : described_bpe(files, word)) expected.push_back(files.id(token));
    RC_ASSERT(open(files)->encode(word) == expected);
}

RC_GTEST_PROP(ByteLevelBpe, MODEL_11_decoding_undoes_encoding_for_any_bytes,
              (const std::string& bytes)) {
    const auto tokenizer = open(drawn_files());
    RC_ASSERT(tokenizer->decode(tokenizer->encode(bytes)) == bytes);
    const auto points = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::oneOf(
        rc::gen::inRange<std::uint32_t>(0, 0x300), rc::gen::inRange<std::uint32_t>(0, 0x110000)));
    std::string text;
    for (const std::uint32_t point : points) text += utf8(point);
    RC_ASSERT(tokenizer->decode(tokenizer->encode(text)) == text);
}

TEST(ByteLevelBpe, MODEL_11_every_id_decodes_and_no_other_one) {
    Files files;
    files.merge("a", "b");
    const auto tokenizer = open(files);
    ASSERT_EQ(tokenizer->vocab_size(), 257U);
    std::size_t bytes = 0;
    for (TokenId id = 0; id < 257; ++id) bytes += tokenizer->decode(Ids{id}).size();
    EXPECT_EQ(bytes, 258U);
    for (const TokenId id : {-1, 257, 1 << 30}) {
        EXPECT_TRUE(contains(refusal([&] { tokenizer->decode(Ids{id}); }), std::to_string(id)));
    }
}

TEST(ByteLevelBpe, MODEL_11_long_words_are_no_attack) {
    Files files;
    for (std::string token = "a"; token.size() < 4096; token += token) files.merge(token, token);
    const auto tokenizer = open(files);
    const std::string word(std::size_t{1} << 20, 'a');
    const auto start = std::chrono::steady_clock::now();
    const Ids ids = tokenizer->encode(word);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(ids, Ids(word.size() / 4096, files.id(std::string(4096, 'a'))));
    EXPECT_EQ(tokenizer->decode(ids), word);
    EXPECT_LT(elapsed.count(), 60.0);  // about a second; a quadratic loop takes hours
    const std::string spaces(std::size_t{1} << 20, ' ');
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(spaces)), spaces);
}

TEST(ByteLevelBpe, MODEL_11_added_tokens_stand_as_they_are_the_longest_first) {
    Files files;
    files.merge("a", "b");
    const TokenId first = 257;
    files.added = {{"  ", first}, {"   ", first + 1}, {"<end>", first + 2}};
    const auto tokenizer = open(files);
    ASSERT_EQ(tokenizer->vocab_size(), 260U);
    EXPECT_EQ(tokenizer->encode("ab     ab<end><end"),
              (Ids{files.id("ab"), first + 1, first, files.id("ab"), first + 2, files.id("<"),
                   files.id("e"), files.id("n"), files.id("d")}));
    EXPECT_EQ(tokenizer->decode(Ids{first, first + 2}), "  <end>");

    files.added = {{"ab", files.id("ab")}, {"<end>", first}};
    EXPECT_EQ(open(files)->vocab_size(), 258U) << "a known token with its own id adds nothing";
    for (const json& added : {json{{"  ", first + 1}}, json{{"  ", 0}}, json{{"  ", -1}},
                              json{{"  ", "257"}}, json{{"  ", first}, {"   ", first}},
                              json{{"", first}}, json(7), json{{"  ", std::uint64_t{1} << 40}}}) {
        files.added = added;
        EXPECT_TRUE(contains(refusal_of(files), "added_tokens.json")) << added;
    }
}

TEST(ByteLevelBpe, MODEL_11_malformed_vocabularies_are_refused) {
    const Files honest;
    const auto with = [&](const std::string& token, const json& id) {
        Files files = honest;
        files.vocabulary[token] = id;
        return refusal_of(files);
    };
    EXPECT_EQ(refusal_of(honest), "accepted");
    EXPECT_EQ(with("ab", 256), "accepted");
    for (const json& id : {json(257), json(-1), json(0), json("256"), json(256.0), json(nullptr),
                           json(std::uint64_t{1} << 33)}) {
        EXPECT_TRUE(contains(with("ab", id), "vocab.json")) << id;
    }
    EXPECT_TRUE(contains(with("", 256), "empty"));
    EXPECT_TRUE(contains(with("a b", 256), "alphabet"));     // a space is written otherwise
    EXPECT_TRUE(contains(with("\u0144", 256), "alphabet"));  // one after the last letter
    EXPECT_TRUE(contains(with("\u00ad", 256), "alphabet"));
    EXPECT_TRUE(contains(with("\u20ac", 256), "alphabet"));

    Files files = honest;
    files.vocabulary.erase(written("\n"));
    files.vocabulary["ab"] = honest.id("\n");
    EXPECT_TRUE(contains(refusal_of(files), "byte 10"));
    files.vocabulary = json::array();
    EXPECT_TRUE(contains(refusal_of(files), "vocab.json"));

    const TemporaryFolder folder;
    honest.write(folder.path());
    for (const char* text : {"{", "{\"a\": 0, \"a\": 1}", "{\"\xff\": 0}", ""}) {
        std::ofstream(folder / "vocab.json") << text;
        EXPECT_TRUE(contains(refusal([&] { open_tokenizer(folder.path()); }), "vocab.json"));
    }
}

TEST(ByteLevelBpe, MODEL_11_malformed_merges_are_refused) {
    Files files;
    files.add("ab");
    files.add("aba");
    const auto with = [&](const std::string& lines) {
        files.first_lines = lines;
        return refusal_of(files);
    };
    EXPECT_EQ(with(""), "accepted");
    EXPECT_EQ(with("#version: 0.2\na b\nab a\n"), "accepted");
    EXPECT_EQ(with("a b\nab a"), "accepted");
    EXPECT_TRUE(contains(with("a b\nab\n"), "merges.txt: line 2"));
    EXPECT_TRUE(contains(with("#version: 0.2\na b a\n"), "merges.txt: line 2"));
    EXPECT_TRUE(contains(with("a b\n\nab a\n"), "merges.txt: line 2"));
    EXPECT_TRUE(contains(with("a b\nb a\n"), "merges.txt: line 2"));    // "ba" is no token
    EXPECT_TRUE(contains(with("a b\nab zz\n"), "merges.txt: line 2"));  // nor is "zz"
    EXPECT_TRUE(contains(with("a \n"), "merges.txt: line 1"));
    EXPECT_TRUE(contains(with("a b\r\n"), "merges.txt: line 1"));
    EXPECT_TRUE(contains(with("a \xff\n"), "merges.txt: line 1"));
    EXPECT_TRUE(contains(with("a b\nab a\na b\n"), "merges.txt"));
}

TEST(ByteLevelBpe, MODEL_11_published_pairs_of_GPT_2) {
    const auto folder = shared("tokenizers/gpt2");
    if (folder.empty()) GTEST_SKIP() << "the shared tokenizer of GPT-2 is not here";
    const auto tokenizer = open_tokenizer(folder);
    EXPECT_EQ(tokenizer->vocab_size(), 50257U);
    EXPECT_EQ(expect_cases(*tokenizer, folder), 46U);
}

// --- which tokenizer -----------------------------------------------------------------------------

TEST(Tokenizer, MODEL_11_the_folder_says_which) {
    const TemporaryFolder folder;
    EXPECT_EQ(open_tokenizer(folder.path()), nullptr);
    EXPECT_TRUE(tokenizer_files(folder.path()).empty());

    Files files;
    files.added = json{{"  ", 256}};
    files.write(folder.path());
    const std::vector<std::filesystem::path> names{folder / "vocab.json", folder / "merges.txt",
                                                   folder / "added_tokens.json"};
    EXPECT_EQ(tokenizer_files(folder.path()), names);
    EXPECT_EQ(open_tokenizer(folder.path())->vocab_size(), 257U);
    const auto opening = [&] { open_tokenizer(folder.path()); };
    std::filesystem::remove(folder / "merges.txt");
    EXPECT_TRUE(contains(refusal(opening), "merges.txt"));
    std::filesystem::remove(folder / "vocab.json");
    EXPECT_TRUE(contains(refusal(opening), "vocab.json"));

    std::ofstream(folder / "vocab.json") << "{}";
    base::write_file(folder / "tokenizer.model", "no protocol buffer", 0600);
    EXPECT_EQ(tokenizer_files(folder.path()).size(), 1U);
    ::testing::internal::CaptureStderr();
    EXPECT_TRUE(contains(refusal(opening), "tokenizer.model"));
    EXPECT_TRUE(contains(refusal([&] { SentencePiece{folder / "missing"}; }), "missing"));
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "the library must stay silent";
    std::ofstream(folder / "tokenizer.json") << "{}";
    EXPECT_EQ(tokenizer_files(folder.path()),
              std::vector<std::filesystem::path>{folder / "tokenizer.json"});
    EXPECT_TRUE(contains(refusal(opening), "tokenizer.json"));
}

// --- SentencePiece -------------------------------------------------------------------------------

TEST(SentencePiece, MODEL_11_published_text_of_a_real_model) {
    const auto stories = shared("models/stories260K");
    if (stories.empty()) GTEST_SKIP() << "the shared model stories260K is not here";
    const auto tokenizer = open_tokenizer(stories);
    EXPECT_EQ(tokenizer->vocab_size(), 512U);
    const std::string text = read_file(stories / "greedy_200.txt");
    const json recorded = json::parse(read_file(stories / "greedy_ids.json"));
    const std::string decoded = tokenizer->decode(recorded.at("greedy_ids").get<Ids>());
    EXPECT_EQ(text.substr(0, 100), decoded.substr(0, 100));
    EXPECT_EQ(tokenizer->encode(tokenizer->decode(tokenizer->encode(decoded))),
              tokenizer->encode(decoded));
    EXPECT_EQ(tokenizer->decode(tokenizer->encode("Once upon a time")), "Once upon a time");
    EXPECT_TRUE(tokenizer->encode("").empty());
    EXPECT_EQ(tokenizer->decode({}), "");
    for (const TokenId id : {-1, 512, 1 << 30}) {
        EXPECT_TRUE(contains(refusal([&] { tokenizer->decode(Ids{id}); }), std::to_string(id)));
    }
}

}  // namespace
}  // namespace slip::testing
