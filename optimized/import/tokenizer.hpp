// SentencePiece through its own library.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/base/model_shape.hpp"

namespace slip {

class Tokenizer {
public:
    /// Throws BadInput, naming the file.
    explicit Tokenizer(const std::filesystem::path& sentencepiece_model);
    Tokenizer(Tokenizer&&) noexcept;
    Tokenizer& operator=(Tokenizer&&) noexcept;
    ~Tokenizer();

    /// Without BOS and EOS.
    std::vector<TokenId> encode(std::string_view text) const;
    std::string decode(std::span<const TokenId> ids) const;
    std::size_t vocab_size() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace slip
