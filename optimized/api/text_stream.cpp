// MODEL-15: text in whole characters.
#include "slip/text_stream.hpp"

#include <algorithm>
#include <string_view>

#include "optimized/import/utf8.hpp"

namespace slip {
namespace {

/// Tokens that are decoded together with a new one: a character has 4 bytes at most, and
/// SentencePiece removes a space at the beginning.
constexpr std::size_t context = 8;
constexpr std::size_t longest_window = 64;
/// What SentencePiece gives for bytes that are no character yet.
constexpr std::string_view replacement = "\xef\xbf\xbd";

/// Bytes that no further token changes.
std::size_t settled(std::string_view text) {
    std::size_t end = importing::utf8_without_cut(text);
    for (int bytes = 0; bytes < 3 && text.substr(0, end).ends_with(replacement); ++bytes) {
        end -= replacement.size();
    }
    return end;
}

}  // namespace

TextStream::TextStream(const LanguageModel& model, std::span<const TokenId> prompt)
    : model_(&model) {
    const auto latest = prompt.last(std::min(prompt.size(), context));
    ids_.assign(latest.begin(), latest.end());
    shown_ = model.decode(ids_).size();
}

std::string TextStream::push(TokenId id) {
    ids_.push_back(id);
    return take(false);
}

std::string TextStream::finish() { return take(true); }

std::string TextStream::take(bool all) {
    const std::string text = model_->decode(ids_);
    const std::string_view fresh = std::string_view(text).substr(std::min(shown_, text.size()));
    const std::size_t end = all ? fresh.size() : settled(fresh);
    std::string taken = importing::utf8_repaired(fresh.substr(0, end));
    shown_ += end;
    if (end == fresh.size() && ids_.size() >= longest_window) {
        ids_.erase(ids_.begin(), ids_.end() - static_cast<std::ptrdiff_t>(context));
        shown_ = model_->decode(ids_).size();
    }
    return taken;
}

}  // namespace slip
