// Text to token ids and back, whatever the tokenizer (MODEL-11).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/base/model_shape.hpp"

namespace slip::importing {

/// A token that stands for itself, such as the end of a turn, and whether the white space beside it
/// belongs to it.
struct Marker {
    TokenId id = 0;
    bool strips_left = false;
    bool strips_right = false;
};

/// A token by itself.
struct TokenText {
    /// The bytes that it adds to a text that has begun, perhaps a part of a character. Of a special
    /// token, which adds none, how it is written.
    std::string text;
    bool special = false;
};

class Tokenizer {
public:
    virtual ~Tokenizer() = default;
    /// Without BOS and EOS. Special tokens do not come from the text: what is written like one is
    /// text.
    virtual std::vector<TokenId> encode(std::string_view text) const = 0;
    /// The same, but what is written like a special token is that token.
    virtual std::vector<TokenId> encode_with_special(std::string_view text) const {
        return encode(text);
    }
    /// The special or added token that is written so, if there is one.
    virtual std::optional<Marker> marker(std::string_view text) const = 0;
    /// The tokens that stand before a text, if the tokenizer's files say so; otherwise the model's
    /// family decides.
    virtual std::optional<std::vector<TokenId>> before_texts() const { return std::nullopt; }
    /// Special tokens decode to nothing. Throws BadInput, naming the id, for one outside 0 ..
    /// vocab_size() - 1.
    virtual std::string decode(std::span<const TokenId> ids) const = 0;
    /// Throws as decode().
    virtual TokenText token(TokenId id) const = 0;
    virtual std::size_t vocab_size() const = 0;
};

/// The tokenizer's files that a checkpoint's or an artifact's folder has: tokenizer.json, or
/// else tokenizer.model, or else vocab.json, merges.txt and added_tokens.json.
std::vector<std::filesystem::path> tokenizer_files(const std::filesystem::path& folder);

/// The tokenizer of a folder or a GGUF file, or null if it has none: then its model takes and
/// gives token ids only. Throws BadInput, naming the file.
std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& model);

/// A file that a folder needs to have the same tokenizer.
struct TokenizerFile {
    std::string name;
    std::string text;
};

/// The contents of the tokenizer's files of a folder, and of those with its chat template
/// (MODEL-18); of a GGUF file as tokenizer.json and chat_template.jinja. Throws
/// BadInput, naming the file.
std::vector<TokenizerFile> read_tokenizer_files(const std::filesystem::path& model);

}  // namespace slip::importing
