#include "optimized/import/tokenizer.hpp"

#include <sentencepiece_processor.h>

#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"

namespace slip {

struct Tokenizer::State {
    sentencepiece::SentencePieceProcessor processor;
};

namespace {

void require_ok(const sentencepiece::util::Status& status, const char* doing) {
    if (!status.ok()) throw BadInput(std::string(doing) + ": " + status.message());
}

}  // namespace

Tokenizer::Tokenizer(const std::filesystem::path& sentencepiece_model)
    : state_(std::make_unique<State>()) {
    const std::string model = read_file(sentencepiece_model);
    if (!state_->processor.LoadFromSerializedProto(model).ok()) {
        throw BadInput(sentencepiece_model.string() + ": is not a SentencePiece model");
    }
}

Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

std::vector<TokenId> Tokenizer::encode(std::string_view text) const {
    std::vector<TokenId> ids;
    require_ok(state_->processor.Encode({text.data(), text.size()}, &ids),
               "the text cannot be tokenised");
    return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
    for (const TokenId id : ids) {
        if (id < 0 || std::cmp_greater_equal(id, vocab_size())) {
            throw BadInput("token id " + std::to_string(id) +
                           " lies outside the tokenizer's vocabulary of " +
                           std::to_string(vocab_size()));
        }
    }
    std::string text;
    require_ok(state_->processor.Decode(std::vector<int>(ids.begin(), ids.end()), &text),
               "the token ids cannot be decoded");
    return text;
}

std::size_t Tokenizer::vocab_size() const {
    return static_cast<std::size_t>(state_->processor.GetPieceSize());
}

}  // namespace slip
