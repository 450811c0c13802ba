// Byte-pair encoding with all that stands around it in a tokenizer's files (MODEL-11).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "optimized/import/added_tokens.hpp"
#include "optimized/import/bpe_merges.hpp"
#include "optimized/import/normalizer.hpp"
#include "optimized/import/pretokenizer.hpp"
#include "optimized/import/tokenizer.hpp"

namespace slip::importing {

/// Writes spaces as another character and puts one before a text that does not begin with one.
struct Metaspace {
    enum class Prepend { never, first, always };
    std::string replacement;
    Prepend prepend = Prepend::always;  // first: only where the whole text begins
};

/// The token of a byte that has none.
inline constexpr TokenId no_token = -1;

/// What a tokenizer is made of. Every id is an index of `texts`.
struct BpeParts {
    std::vector<std::string> texts;  // id -> the bytes that it decodes to; special tokens: none
    std::vector<BpeMerge> merges;    // none twice
    std::vector<AddedToken> added;
    Normalizer normalizer;
    std::optional<Metaspace> metaspace;
    PreTokenizer pretokenizer{std::vector<Split>()};
    /// Whether a piece is at first one token per byte; otherwise one per character, those of its
    /// bytes if the character has none.
    bool byte_level = true;
    std::vector<TokenId> byte_tokens;  // byte -> token, or no_token
    /// The pieces that have a token: characters and, for `whole_pieces`, all.
    std::unordered_map<std::string, TokenId> pieces;
    bool whole_pieces = false;        // a piece that has a token is not merged (`ignore_merges`)
    std::optional<TokenId> unknown;   // for what has no token otherwise
    bool fuses_unknown = false;       // one for neighbours
    bool strips_first_space = false;  // when decoding
    /// What stands before a text, if the files say so.
    std::optional<std::vector<TokenId>> before_texts;
};

class Bpe : public Tokenizer {
public:
    explicit Bpe(BpeParts parts);

    /// Throws BadInput if a byte or character of the text has no token. A piece of b bytes takes
    /// O(b log b).
    std::vector<TokenId> encode(std::string_view text) const override;
    std::vector<TokenId> encode_with_special(std::string_view text) const override;
    std::string decode(std::span<const TokenId> ids) const override;
    TokenText token(TokenId id) const override;
    std::size_t vocab_size() const override { return parts_.texts.size(); }
    std::optional<Marker> marker(std::string_view text) const override;
    std::optional<std::vector<TokenId>> before_texts() const override {
        return parts_.before_texts;
    }

private:
    using Ids = std::vector<TokenId>;
    const std::string& text_of(TokenId id) const;
    Ids encode_all(std::string_view text, bool with_special) const;
    void encode_section(std::string_view text, bool first, bool with_special, Ids& ids) const;
    void encode_normalized(std::string_view text, bool first, Ids& ids) const;
    void encode_piece(std::string_view piece, Ids& ids) const;
    void append_bytes(std::string_view bytes, Ids& ids) const;
    void append_characters(std::string_view piece, Ids& ids) const;

    BpeParts parts_;
    BpeMerges merges_;
    AddedTokens added_;             // found before the text is normalised
    AddedTokens normalized_added_;  // found afterwards
};

}  // namespace slip::importing
