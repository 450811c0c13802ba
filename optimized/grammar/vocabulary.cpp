// SERVE-16: masks of tokens.
#include "optimized/grammar/vocabulary.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "slip/grammar.hpp"

namespace slip::grammar {
namespace {

constexpr std::size_t most_masks = 32;  // of states that may come again

std::size_t common_bytes(const std::string& a, const std::string& b) {
    const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return static_cast<std::size_t>(differ.first - a.begin());
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::string> bytes) : bytes_(std::move(bytes)) {
    order_.resize(bytes_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::erase_if(order_, [&](TokenId id) { return this->bytes(id).empty(); });
    std::stable_sort(order_.begin(), order_.end(),
                     [&](TokenId a, TokenId b) { return this->bytes(a) < this->bytes(b); });
    std::vector<std::uint32_t> branch;  // the nodes of the token before, by depth
    std::string before;
    const auto close = [&](std::size_t depth) {
        for (; branch.size() > depth; branch.pop_back())
            nodes_[branch.back()].end = static_cast<std::uint32_t>(nodes_.size());
    };
    for (std::uint32_t place = 0; place < order_.size(); ++place) {
        const std::string& text = this->bytes(order_[place]);
        close(common_bytes(before, text));
        while (branch.size() < text.size()) {
            const auto byte = static_cast<std::uint8_t>(text[branch.size()]);
            branch.push_back(static_cast<std::uint32_t>(nodes_.size()));
            nodes_.push_back({byte, static_cast<std::uint32_t>(branch.size()), 0, place, place});
        }
        nodes_[branch.back()].last = place + 1;
        deepest_ = std::max(deepest_, text.size());
        before = text;
    }
    close(0);
}

std::vector<std::uint64_t> Vocabulary::allowed(Matcher& matcher, Matcher::State state,
                                               bool without_space) const {
    std::vector<std::uint64_t> words((bytes_.size() + 63) / 64);
    std::vector<Matcher::State> states(deepest_ + 1, state);  // [d]: after d bytes of a branch
    for (std::size_t at = 0; at < nodes_.size();) {
        const Node& node = nodes_[at];
        const bool skipped = without_space && node.depth == 1 && node.byte == ' ';
        const Matcher::State before = states[node.depth - 1];
        const Matcher::State next = skipped ? before : matcher.after(before, node.byte);
        if (next == Matcher::nothing) {
            at = node.end;
            continue;
        }
        states[node.depth] = next;
        for (std::uint32_t i = node.first; i < node.last && !skipped; ++i) {
            const auto id = static_cast<std::size_t>(order_[i]);
            words[id / 64] |= std::uint64_t{1} << (id % 64);
        }
        ++at;
    }
    return words;
}

Constraint::Constraint(std::shared_ptr<const Program> program,
                       std::shared_ptr<const Vocabulary> vocabulary, std::vector<TokenId> ends,
                       bool without_space)
    : matcher_(std::move(program)),
      vocabulary_(std::move(vocabulary)),
      ends_(std::move(ends)),
      without_space_(without_space),
      state_(matcher_.begin()) {}

bool Constraint::complete() const { return matcher_.accepts(state_) && !matcher_.goes_on(state_); }

std::span<const std::uint64_t> Constraint::allowed() {
    const auto known = masks_.find(state_);
    if (known != masks_.end() && !without_space_) return known->second;
    if (masks_.size() == most_masks) masks_.clear();
    auto words = vocabulary_->allowed(matcher_, state_, without_space_);
    for (const TokenId id : matcher_.tokens(state_)) {
        words[static_cast<std::size_t>(id) / 64] |= std::uint64_t{1} << (id % 64);
    }
    for (const TokenId id : ends_) {
        const std::uint64_t bit = std::uint64_t{1} << (id % 64);
        words[static_cast<std::size_t>(id) / 64] &= ~bit;
        if (matcher_.accepts(state_)) words[static_cast<std::size_t>(id) / 64] |= bit;
    }
    if (std::all_of(words.begin(), words.end(), [](auto word) { return word == 0; })) {
        throw GrammarError("no token of the model continues the text as the grammar wants it");
    }
    return masks_[state_] = std::move(words);
}

void Constraint::take(TokenId id) {
    std::string_view bytes = vocabulary_->bytes(id);
    if (bytes.empty()) {  // a special token
        state_ = matcher_.after_token(state_, id);
        return;
    }
    if (std::exchange(without_space_, false)) {
        masks_.clear();
        if (bytes.starts_with(' ')) bytes.remove_prefix(1);
    }
    for (const char byte : bytes) state_ = matcher_.after(state_, static_cast<std::uint8_t>(byte));
    if (!matcher_.keeps_many()) return;
    masks_.clear();
    state_ = matcher_.forget_but(state_);
}

}  // namespace slip::grammar
