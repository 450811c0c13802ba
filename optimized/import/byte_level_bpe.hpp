// Byte-level byte-pair encoding, the tokenizer of GPT-2 and Phi-2 (MODEL-11).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "optimized/import/pretokenizer.hpp"
#include "optimized/import/tokenizer.hpp"

namespace slip {

class ByteLevelBpe : public Tokenizer {
public:
    /// vocab.json, merges.txt and, unless the path is empty, added_tokens.json. Throws BadInput,
    /// naming the file and the token or line: ids that are doubled or leave gaps, a byte without a
    /// token, merges that are doubled or of tokens that the vocabulary does not have.
    ByteLevelBpe(const std::filesystem::path& vocabulary, const std::filesystem::path& merges,
                 const std::filesystem::path& added_tokens);

    /// Total on bytes: decode(encode(text)) == text. A text of b bytes takes O(b log b).
    std::vector<TokenId> encode(std::string_view text) const override;
    /// The tokens' bytes, which need not be UTF-8.
    std::string decode(std::span<const TokenId> ids) const override;
    std::size_t vocab_size() const override { return texts_.size(); }

private:
    /// Two neighbours and what replaces them; the lower rank goes first.
    struct Merge {
        TokenId left;
        TokenId right;
        std::uint32_t rank;
        TokenId merged;
    };
    struct AddedToken {
        std::string text;
        TokenId id;
    };
    class Word;

    std::map<std::string, TokenId> read_vocabulary(const std::filesystem::path& path);
    void read_merges(const std::filesystem::path& path,
                     const std::map<std::string, TokenId>& vocabulary);
    void read_added_tokens(const std::filesystem::path& path);
    void find_byte_tokens(const std::filesystem::path& path);
    const Merge* merge_of(TokenId left, TokenId right) const;
    const AddedToken* added_token_at(std::string_view text) const;
    void encode_plain(std::string_view text, std::vector<TokenId>& ids) const;

    PreTokenizer pretokenizer_;
    std::vector<std::string> texts_;      // id -> its bytes
    std::vector<TokenId> byte_tokens_;    // byte -> the token of that byte alone
    std::vector<Merge> merges_;           // in the order of (left, right)
    std::vector<AddedToken> added_[256];  // first byte -> longest first
};

}  // namespace slip
