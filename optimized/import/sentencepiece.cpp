#include "optimized/import/sentencepiece.hpp"

#include <sentencepiece_processor.h>

#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"

namespace slip::importing {

struct SentencePiece::State {
    sentencepiece::SentencePieceProcessor processor;
};

namespace {

void require_ok(const sentencepiece::util::Status& status, const char* doing) {
    if (!status.ok()) throw BadInput(std::string(doing) + ": " + status.message());
}

constexpr std::string_view written_space = "\u2581";

std::string with_spaces(std::string_view piece) {
    std::string text;
    while (!piece.empty()) {
        const bool space = piece.starts_with(written_space);
        text.push_back(space ? ' ' : piece.front());
        piece.remove_prefix(space ? written_space.size() : 1);
    }
    return text;
}

/// The byte of a piece such as <0x0A>.
char byte_of_piece(std::string_view piece) {
    return static_cast<char>(std::stoi(std::string(piece.substr(3, 2)), nullptr, 16));
}

}  // namespace

SentencePiece::SentencePiece(const std::filesystem::path& path)
    : state_(std::make_unique<State>()) {
    const std::string model = base::read_file(path);
    if (!state_->processor.LoadFromSerializedProto(model).ok()) {
        throw BadInput(path.string() + ": is not a SentencePiece model");
    }
}

SentencePiece::~SentencePiece() = default;

std::vector<TokenId> SentencePiece::encode(std::string_view text) const {
    std::vector<TokenId> ids;
    require_ok(state_->processor.Encode({text.data(), text.size()}, &ids),
               "the text cannot be tokenised");
    return ids;
}

void SentencePiece::require_known(TokenId id) const {
    if (id >= 0 && std::cmp_less(id, vocab_size())) return;
    throw BadInput("token id " + std::to_string(id) +
                   " lies outside the tokenizer's vocabulary of " + std::to_string(vocab_size()));
}

TokenText SentencePiece::token(TokenId id) const {
    require_known(id);
    const auto& processor = state_->processor;
    const std::string& piece = processor.IdToPiece(id);
    if (processor.IsControl(id)) return {piece, true};
    if (processor.IsByte(id)) return {std::string(1, byte_of_piece(piece)), false};
    if (processor.IsUnknown(id)) return {decode(std::span(&id, 1)), false};
    return {with_spaces(piece), false};
}

std::string SentencePiece::decode(std::span<const TokenId> ids) const {
    for (const TokenId id : ids) require_known(id);
    std::string text;
    require_ok(state_->processor.Decode(std::vector<int>(ids.begin(), ids.end()), &text),
               "the token ids cannot be decoded");
    return text;
}

std::size_t SentencePiece::vocab_size() const {
    return static_cast<std::size_t>(state_->processor.GetPieceSize());
}

/// A control symbol of the model, such as <s>.
std::optional<Marker> SentencePiece::marker(std::string_view text) const {
    const TokenId id = state_->processor.PieceToId({text.data(), text.size()});
    if (!state_->processor.IsControl(id)) return std::nullopt;
    return Marker{id};
}

}  // namespace slip::importing
