// Byte-level byte-pair encoding, the tokenizer of GPT-2 and Phi-2 (MODEL-11).
#pragma once

#include <string>
#include <vector>

#include "optimized/import/bpe_files.hpp"
#include "optimized/import/pretokenizer.hpp"
#include "optimized/import/tokenizer.hpp"

namespace slip::importing {

class ByteLevelBpe : public Tokenizer {
public:
    /// What read_bpe_files() gives.
    explicit ByteLevelBpe(BpeFiles files);

    /// Total on bytes: decode(encode(text)) == text. A text of b bytes takes O(b log b).
    std::vector<TokenId> encode(std::string_view text) const override;
    /// The tokens' bytes, which need not be UTF-8.
    std::string decode(std::span<const TokenId> ids) const override;
    std::size_t vocab_size() const override { return texts_.size(); }

private:
    struct AddedToken {
        std::string text;
        TokenId id;
    };
    class Word;

    const BpeMerge* merge_of(TokenId left, TokenId right) const;
    const AddedToken* added_token_at(std::string_view text) const;
    void encode_plain(std::string_view text, std::vector<TokenId>& ids) const;

    PreTokenizer pretokenizer_;
    std::vector<std::string> texts_;      // id -> its bytes
    std::vector<TokenId> byte_tokens_;    // byte -> the token of that byte alone
    std::vector<BpeMerge> merges_;        // in the order of (left, right)
    std::vector<AddedToken> added_[256];  // first byte -> longest first
};

}  // namespace slip::importing
