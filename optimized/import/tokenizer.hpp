// Text to token ids and back, whatever the tokenizer (MODEL-11).
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/base/model_shape.hpp"

namespace slip::importing {

class Tokenizer {
public:
    virtual ~Tokenizer() = default;
    /// Without BOS and EOS.
    virtual std::vector<TokenId> encode(std::string_view text) const = 0;
    /// Throws BadInput, naming the id, for one outside 0 .. vocab_size() - 1.
    virtual std::string decode(std::span<const TokenId> ids) const = 0;
    virtual std::size_t vocab_size() const = 0;
};

/// The tokenizer's files that a checkpoint's or an artifact's directory has: tokenizer.model, or
/// else vocab.json, merges.txt and added_tokens.json.
std::vector<std::filesystem::path> tokenizer_files(const std::filesystem::path& directory);

/// The tokenizer of a directory, or null if it has none of these files: then its model takes and
/// gives token ids only. Throws BadInput, naming the file.
std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& directory);

}  // namespace slip::importing
