#include "optimized/graph/guesses.hpp"

#include <algorithm>

namespace slip::graph {

/// Places are ends: a place p has text_[p - 1] before it and is followed by text_[p].
void Guesses::append(std::span<const TokenId> ids) {
    if (count_ == 0) return;
    for (const TokenId id : ids) {
        text_.push_back(id);
        earlier_.resize(text_.size() + 1);
        if (text_.size() < shortest_match) continue;
        Key key;
        std::copy_n(text_.end() - shortest_match, shortest_match, key.begin());
        std::size_t& latest = latest_[key];
        earlier_.back() = latest;
        latest = text_.size();
    }
}

/// The tokens before `place` that are those at the end of the text.
std::size_t Guesses::match_length(std::size_t place) const {
    const std::size_t most = std::min(place, longest_match);
    std::size_t length = 0;
    while (length < most && text_[place - 1 - length] == text_[text_.size() - 1 - length]) ++length;
    return length;
}

std::span<const TokenId> Guesses::propose(std::size_t room) {
    proposed_.clear();
    if (text_.empty()) return {};
    std::size_t best = 0;
    std::size_t length = needed_ - 1;
    std::size_t place = earlier_.back();
    for (std::size_t i = 0; i < places && place != 0; ++i, place = earlier_[place]) {
        const std::size_t found = match_length(place);
        if (found > length) {
            best = place;
            length = found;
        }
    }
    if (best == 0) return {};
    // What follows the place runs into the guesses themselves where the text repeats a short piece.
    for (std::size_t i = 0; i < std::min(count_, room); ++i) {
        const std::size_t from = best + i;
        proposed_.push_back(from < text_.size() ? text_[from] : proposed_[from - text_.size()]);
    }
    return proposed_;
}

void Guesses::judge(std::size_t right) {
    if (proposed_.empty()) return;
    needed_ =
        right > 0 ? std::max(needed_ / 2, shortest_match) : std::min(2 * needed_, longest_match);
}

}  // namespace slip::graph
