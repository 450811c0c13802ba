// MODEL-15: text in whole characters.
#include "slip/text_stream.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/import/utf8.hpp"

namespace slip {
namespace {

/// Tokens that are decoded together with a new one: a character has 4 bytes at most, and
/// SentencePiece removes a space at the beginning.
constexpr std::size_t context = 8;
/// A new window costs one more text, of `context` tokens.
constexpr std::size_t longest_window = 16;
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

/// Bytes at the end of `text` that are the beginning of one of the stops.
std::size_t longest_beginning(std::string_view text, const std::vector<std::string>& stops) {
    std::size_t longest = 0;
    for (const std::string& stop : stops) {
        const std::size_t most = std::min(text.size(), stop.size() - 1);
        for (std::size_t size = most; size > longest; --size) {
            if (text.ends_with(stop.substr(0, size))) longest = size;
        }
    }
    return longest;
}

}  // namespace

TextStream::TextStream(const LanguageModel& model, std::span<const TokenId> prompt,
                       std::vector<std::string> stops)
    : model_(&model), stops_(std::move(stops)) {
    for (const std::string& stop : stops_) {
        if (!stop.empty() && importing::utf8_prefix(stop) == stop.size()) continue;
        throw BadInput("a text that ends a generation must be UTF-8 and not empty");
    }
    const auto latest = prompt.last(std::min(prompt.size(), context));
    ids_.assign(latest.begin(), latest.end());
    shown_ = model.decode(ids_).size();
}

std::string TextStream::push(TokenId id) {
    ids_.push_back(id);
    held_ += take(false);
    return up_to_stop(false);
}

std::string TextStream::finish() {
    held_ += take(true);
    return up_to_stop(true);
}

/// Takes from what is held back: up to a stop, or to what may be the beginning of one.
std::string TextStream::up_to_stop(bool all) {
    if (stopped_) return {};
    std::size_t end = held_.size();
    for (const std::string& stop : stops_) {
        const std::size_t found = held_.find(stop);
        if (found != std::string::npos) stopped_ = true;
        end = std::min(end, found);
    }
    if (!stopped_ && !all) end -= longest_beginning(held_, stops_);
    std::string taken = held_.substr(0, end);
    held_.erase(0, end);
    return taken;
}

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
