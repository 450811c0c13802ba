// MODEL-11: byte-pair encoding of texts.
#include "optimized/import/bpe.hpp"

#include <algorithm>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/import/utf8.hpp"

namespace slip::importing {
namespace {

/// The added tokens that are found before or after normalisation; the latter are normalised too.
std::vector<AddedToken> found(const BpeParts& parts, bool after) {
    std::vector<AddedToken> tokens;
    for (AddedToken token : parts.added) {
        const bool later = token.normalized && !parts.normalizer.empty();
        if (later != after) continue;
        if (later) token.text = parts.normalizer.apply(token.text);
        if (!token.text.empty()) tokens.push_back(std::move(token));
    }
    return tokens;
}

/// The text as the metaspace step leaves it.
std::string with_metaspace(const Metaspace& step, std::string_view text, bool first) {
    std::string result;
    for (const char letter : text) {
        if (letter == ' ') {
            result += step.replacement;
        } else {
            result.push_back(letter);
        }
    }
    const bool wanted = step.prepend == Metaspace::Prepend::always ||
                        (step.prepend == Metaspace::Prepend::first && first);
    if (wanted && !result.starts_with(step.replacement)) result.insert(0, step.replacement);
    return result;
}

}  // namespace

Bpe::Bpe(BpeParts parts)
    : parts_(std::move(parts)),
      merges_(std::move(parts_.merges)),
      added_(found(parts_, false)),
      normalized_added_(found(parts_, true)) {
    base::require(parts_.byte_tokens.size() == 256, "Bpe: a token, or none, for each byte");
}

std::vector<TokenId> Bpe::encode(std::string_view text) const { return encode_all(text, false); }

std::vector<TokenId> Bpe::encode_with_special(std::string_view text) const {
    return encode_all(text, true);
}

std::vector<TokenId> Bpe::encode_all(std::string_view text, bool with_special) const {
    Ids ids;
    added_.divide(
        text, with_special,
        [&](std::string_view section) {
            encode_section(section, section.data() == text.data(), with_special, ids);
        },
        [&](TokenId id) { ids.push_back(id); });
    return ids;
}

/// `first`: the text begins with this section.
void Bpe::encode_section(std::string_view text, bool first, bool with_special, Ids& ids) const {
    const std::string normal = parts_.normalizer.apply(text);
    const std::string_view view = normal;
    normalized_added_.divide(
        view, with_special,
        [&](std::string_view section) {
            encode_normalized(section, first && section.data() == view.data(), ids);
        },
        [&](TokenId id) { ids.push_back(id); });
}

void Bpe::encode_normalized(std::string_view text, bool first, Ids& ids) const {
    const std::string spaced =
        parts_.metaspace ? with_metaspace(*parts_.metaspace, text, first) : std::string();
    parts_.pretokenizer.divide(parts_.metaspace ? std::string_view(spaced) : text,
                               [&](std::string_view piece) { encode_piece(piece, ids); });
}

void Bpe::encode_piece(std::string_view piece, Ids& ids) const {
    if (parts_.whole_pieces) {
        const auto whole = parts_.pieces.find(std::string(piece));
        if (whole != parts_.pieces.end()) return ids.push_back(whole->second);
    }
    Ids tokens;
    if (parts_.byte_level) {
        append_bytes(piece, tokens);
    } else {
        append_characters(piece, tokens);
    }
    merges_.apply(tokens);
    ids.insert(ids.end(), tokens.begin(), tokens.end());
}

/// The bytes' tokens. Where one is missing, all of them are unknown together.
void Bpe::append_bytes(std::string_view bytes, Ids& ids) const {
    const auto token_of = [&](char byte) {
        return parts_.byte_tokens[static_cast<unsigned char>(byte)];
    };
    const auto missing = std::find_if(bytes.begin(), bytes.end(),
                                      [&](char byte) { return token_of(byte) == no_token; });
    if (missing == bytes.end() || parts_.byte_level) {
        for (const char byte : bytes) {
            if (token_of(byte) == no_token && !parts_.unknown) {
                throw BadInput("the tokenizer has no token for the byte " +
                               std::to_string(static_cast<unsigned char>(byte)) + " of the text");
            }
            ids.push_back(token_of(byte) == no_token ? *parts_.unknown : token_of(byte));
        }
    } else if (!parts_.unknown) {
        throw BadInput("the tokenizer has no token for the character \"" + std::string(bytes) +
                       "\" of the text");
    } else if (!parts_.fuses_unknown || ids.empty() || ids.back() != *parts_.unknown) {
        ids.push_back(*parts_.unknown);
    }
}

void Bpe::append_characters(std::string_view piece, Ids& ids) const {
    while (!piece.empty()) {
        const std::size_t length = std::max<std::size_t>(utf8_character(piece), 1);
        const std::string character(piece.substr(0, length));
        const auto known = parts_.pieces.find(character);
        if (known != parts_.pieces.end()) {
            ids.push_back(known->second);
        } else {
            append_bytes(character, ids);
        }
        piece.remove_prefix(length);
    }
}

const std::string& Bpe::text_of(TokenId id) const {
    if (id < 0 || static_cast<std::size_t>(id) >= vocab_size()) {
        throw BadInput("token id " + std::to_string(id) +
                       " is outside the tokenizer's vocabulary: expected 0 to " +
                       std::to_string(vocab_size() - 1));
    }
    return parts_.texts[static_cast<std::size_t>(id)];
}

TokenText Bpe::token(TokenId id) const {
    const std::string& text = text_of(id);
    if (!text.empty()) return {text, false};
    const auto added = std::find_if(parts_.added.begin(), parts_.added.end(),
                                    [&](const AddedToken& each) { return each.id == id; });
    return {added == parts_.added.end() ? std::string() : added->text, true};
}

std::string Bpe::decode(std::span<const TokenId> ids) const {
    std::string text;
    for (const TokenId id : ids) text += text_of(id);
    if (parts_.strips_first_space && text.starts_with(' ')) text.erase(0, 1);
    return text;
}

std::optional<Marker> Bpe::marker(std::string_view text) const {
    for (const AddedToken& token : parts_.added) {
        if (token.text == text) return Marker{token.id, token.strips_left, token.strips_right};
    }
    return std::nullopt;
}

}  // namespace slip::importing
