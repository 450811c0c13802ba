// The files of a byte-level BPE tokenizer, and the tokenizer that they make. An input is four parts
// with zero bytes between them: vocab.json, merges.txt, added_tokens.json, and a text, which may
// hold zero bytes itself. The vocabulary need not have a token for every byte: those that it lacks
// are added, because a text of all 256 would leave no room for anything else.
#include <algorithm>
#include <array>

#include "optimized/base/error.hpp"
#include "optimized/import/byte_level_bpe.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz::bpe_files_fuzz {
namespace {

using namespace importing;

std::array<std::string_view, 4> parts_of(std::string_view input) {
    std::array<std::string_view, 4> parts;
    for (std::size_t i = 0; i < 3; ++i) {
        parts[i] = input.substr(0, input.find('\0'));
        input.remove_prefix(std::min(input.size(), parts[i].size() + 1));
    }
    parts[3] = input;
    return parts;
}

/// Gives every byte that has no token one at the end.
void complete(BpeVocabulary& vocabulary) {
    std::array<bool, 256> present{};
    for (const std::string& text : vocabulary.texts) {
        if (text.size() == 1) present[static_cast<unsigned char>(text[0])] = true;
    }
    vocabulary.texts.reserve(vocabulary.texts.size() + present.size());
    for (std::size_t byte = 0; byte < present.size(); ++byte) {
        if (!present[byte]) vocabulary.texts.emplace_back(1, static_cast<char>(byte));
    }
}

void check_vocabulary(const BpeVocabulary& vocabulary) {
    expect(vocabulary.ids.size() == vocabulary.texts.size(), "an id has no token");
    for (const auto& [token, id] : vocabulary.ids) {
        const std::string& text = vocabulary.texts.at(static_cast<std::size_t>(id));
        expect(!text.empty() && text.size() <= token.size(), "a token's bytes");
    }
}

void check_merges(const BpeFiles& files) {
    for (const BpeMerge& merge : files.merges) {
        const auto text = [&](TokenId id) { return files.texts.at(static_cast<std::size_t>(id)); };
        expect(text(merge.left) + text(merge.right) == text(merge.merged),
               "a merge gives other bytes than its two tokens have");
    }
}

/// What the parts of an input say. Throws BadInput.
BpeFiles files_of(const std::array<std::string_view, 4>& parts) {
    BpeFiles files;
    BpeVocabulary vocabulary = parse_bpe_vocabulary(parts[0], "vocab.json");
    check_vocabulary(vocabulary);
    files.merges = parse_bpe_merges(parts[1], "merges.txt", vocabulary);
    complete(vocabulary);
    files.byte_tokens = bpe_byte_tokens(vocabulary, "vocab.json");
    if (!parts[2].empty()) {
        files.added = parse_bpe_added_tokens(parts[2], "added_tokens.json", vocabulary.texts);
    }
    files.texts = std::move(vocabulary.texts);
    check_merges(files);
    return files;
}

Bytes input_of(const std::string& vocabulary, const std::string& merges, const std::string& added,
               const std::string& text) {
    const std::string zero(1, '\0');
    return bytes_of(vocabulary + zero + merges + zero + added + zero + text);
}

}  // namespace

/// 256 bytes and what is made of them.
const std::size_t allowance = std::size_t{1} << 16;

std::vector<Bytes> seeds() {
    return {input_of("{}", "", "", "text \xff\xfe"),
            input_of(R"({"a":0,"b":1,"c":2,"ab":3,"abc":4})", "#version: 0.2\na b\nab c\n", "",
                     "abcab abc  a'll"),
            input_of("{\"\u0120\":0,\"b\":1,\"\u0120\u0120\":2}", "\u0120 \u0120",
                     R"({"<|endoftext|>": 257, "b": 1})", "ab<|endoftext|>ab\n\n 12")};
}

bool check(std::span<const std::byte> input) {
    const auto parts = parts_of(text_of(input));
    BpeFiles files;
    if (!accepts<BadInput>([&] { files = files_of(parts); })) return false;
    const ByteLevelBpe tokenizer(std::move(files));
    const std::vector<TokenId> ids = tokenizer.encode(parts[3]);
    expect(ids.size() <= parts[3].size(), "more tokens than bytes");
    expect(tokenizer.decode(ids) == parts[3], "a text that was encoded and decoded is another");
    return true;
}

const Target target{"bpe_files_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::bpe_files_fuzz
