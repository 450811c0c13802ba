// Byte-level BPE: the texts that a small tokenizer is given.
#include <algorithm>
#include <array>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/import/byte_level_bpe.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz::bpe_text_fuzz {
namespace {

using namespace importing;

/// All bytes, merges of letters, digits, spaces and the two bytes of U+00E9, and three added
/// tokens.
const ByteLevelBpe& tokenizer() {
    static const ByteLevelBpe made = [] {
        BpeFiles files;
        for (int byte = 0; byte < 256; ++byte) {
            files.texts.emplace_back(1, static_cast<char>(byte));
            files.byte_tokens.push_back(byte);
        }
        const auto merge = [&](TokenId left, TokenId right) {
            const auto merged = static_cast<TokenId>(files.texts.size());
            files.texts.push_back(files.texts[static_cast<std::size_t>(left)] +
                                  files.texts[static_cast<std::size_t>(right)]);
            files.merges.push_back(
                {left, right, static_cast<std::uint32_t>(files.merges.size()), merged});
            return merged;
        };
        const TokenId ab = merge('a', 'b');
        const TokenId abab = merge(ab, ab);
        merge(abab, ab);
        merge('b', 'a');
        merge(' ', ab);
        merge(merge('1', '1'), '2');
        merge(merge(' ', ' '), '\n');
        merge(0xc3, 0xa9);
        std::sort(files.merges.begin(), files.merges.end(),
                  [](const BpeMerge& x, const BpeMerge& y) {
                      return std::pair(x.left, x.right) < std::pair(y.left, y.right);
                  });
        auto id = static_cast<TokenId>(files.texts.size());
        for (const char* added : {"<|end|>", "<|", "   "}) files.added.emplace(id++, added);
        return ByteLevelBpe(std::move(files));
    }();
    return made;
}

}  // namespace

const std::size_t allowance = std::size_t{1} << 16;

std::vector<Bytes> seeds() {
    std::vector<Bytes> texts;
    for (const char* text : {"", "text \xff\xfe", "ababab ab ba  112\n\u00e9'll",
                             "a<|end|><|b   \t", "\u00a0\u3000x\U0001f600 \xf0\x9f\x98"}) {
        texts.push_back(bytes_of(text));
    }
    return texts;
}

bool check(std::span<const std::byte> input) {
    const std::string_view text = text_of(input);
    const std::vector<TokenId> ids = tokenizer().encode(text);
    expect(ids.size() <= text.size(), "more tokens than bytes");
    for (const TokenId id : ids) {
        expect(id >= 0 && static_cast<std::size_t>(id) < tokenizer().vocab_size(),
               "a token is outside the vocabulary");
    }
    expect(tokenizer().decode(ids) == text, "a text that was encoded and decoded is another");
    const std::array<TokenId, 1> outside{static_cast<TokenId>(tokenizer().vocab_size())};
    expect(!accepts<BadInput>([&] { tokenizer().decode(outside); }), "an unknown token is decoded");
    return true;
}

const Target target{"bpe_text_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::bpe_text_fuzz
