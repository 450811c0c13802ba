// SentencePiece through its own library.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/import/tokenizer.hpp"

namespace slip::importing {

class SentencePiece : public Tokenizer {
public:
    /// Throws BadInput, naming the file.
    explicit SentencePiece(const std::filesystem::path& model);
    ~SentencePiece() override;

    std::vector<TokenId> encode(std::string_view text) const override;
    std::string decode(std::span<const TokenId> ids) const override;
    TokenText token(TokenId id) const override;
    std::size_t vocab_size() const override;
    std::optional<Marker> marker(std::string_view text) const override;

private:
    void require_known(TokenId id) const;

    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace slip::importing
