// MODEL-11: byte-level BPE.
#include "optimized/import/byte_level_bpe.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "optimized/base/error.hpp"

namespace slip::importing {

ByteLevelBpe::ByteLevelBpe(BpeFiles files)
    : texts_(std::move(files.texts)),
      byte_tokens_(std::move(files.byte_tokens)),
      merges_(std::move(files.merges)) {
    for (const auto& [id, text] : files.added) {
        const auto index = static_cast<std::size_t>(id);
        if (index == texts_.size()) texts_.push_back(text);
        added_[static_cast<unsigned char>(text[0])].push_back({text, id});
    }
    for (auto& tokens : added_) {
        std::sort(tokens.begin(), tokens.end(), [](const AddedToken& a, const AddedToken& b) {
            return a.text.size() > b.text.size();
        });
    }
}

const BpeMerge* ByteLevelBpe::merge_of(TokenId left, TokenId right) const {
    const std::pair wanted(left, right);
    const auto found = std::lower_bound(merges_.begin(), merges_.end(), wanted,
                                        [](const BpeMerge& merge, const auto& pair) {
                                            return std::pair(merge.left, merge.right) < pair;
                                        });
    const bool there = found != merges_.end() && std::pair(found->left, found->right) == wanted;
    return there ? &*found : nullptr;
}

/// The longest added token at the start of `text`, or null.
const ByteLevelBpe::AddedToken* ByteLevelBpe::added_token_at(std::string_view text) const {
    for (const AddedToken& token : added_[static_cast<unsigned char>(text[0])]) {
        if (text.starts_with(token.text)) return &token;
    }
    return nullptr;
}

/// The tokens of one piece, at first one a byte. Of all neighbours that a merge fits, those with
/// the lowest rank, the leftmost of equals, become one token, until no merge fits.
class ByteLevelBpe::Word {
public:
    Word(const ByteLevelBpe& tokenizer, std::string_view bytes)
        : tokenizer_(tokenizer), ids_(bytes.size()), next_(bytes.size()), previous_(bytes.size()) {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            ids_[i] = tokenizer.byte_tokens_[static_cast<unsigned char>(bytes[i])];
            next_[i] = i + 1;
            previous_[i] = i - 1;  // of the first: not used
        }
        for (std::size_t i = 0; i + 1 < bytes.size(); ++i) propose(i);
    }

    void append_to(std::vector<TokenId>& ids) {
        while (!candidates_.empty()) {
            const Candidate best = candidates_.top();
            candidates_.pop();
            if (is_current(best)) merge(best);
        }
        for (std::size_t i = 0; i < ids_.size(); i = next_[i]) ids.push_back(ids_[i]);
    }

private:
    /// A merge of the token at `at` with the next one, when these were left and right.
    struct Candidate {
        std::uint32_t rank;
        std::size_t at;
        const BpeMerge* merge;
        bool operator>(const Candidate& other) const {
            return std::tie(rank, at) > std::tie(other.rank, other.at);
        }
    };

    void propose(std::size_t at) {
        if (next_[at] >= ids_.size()) return;
        const BpeMerge* merge = tokenizer_.merge_of(ids_[at], ids_[next_[at]]);
        if (merge != nullptr) candidates_.push({merge->rank, at, merge});
    }

    /// Earlier merges may have used one of the two tokens up.
    bool is_current(const Candidate& candidate) const {
        const std::size_t at = candidate.at;
        return ids_[at] == candidate.merge->left && next_[at] < ids_.size() &&
               ids_[next_[at]] == candidate.merge->right;
    }

    void merge(const Candidate& candidate) {
        const std::size_t at = candidate.at;
        const std::size_t gone = next_[at];
        ids_[at] = candidate.merge->merged;
        ids_[gone] = -1;
        next_[at] = next_[gone];
        if (next_[at] < ids_.size()) previous_[next_[at]] = at;
        propose(at);
        if (at > 0) propose(previous_[at]);
    }

    const ByteLevelBpe& tokenizer_;
    std::vector<TokenId> ids_;  // -1 where a token was merged into an earlier one
    std::vector<std::size_t> next_;
    std::vector<std::size_t> previous_;
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates_;
};

void ByteLevelBpe::encode_plain(std::string_view text, std::vector<TokenId>& ids) const {
    pretokenizer_.divide(text, [&](std::string_view piece) { Word(*this, piece).append_to(ids); });
}

std::vector<TokenId> ByteLevelBpe::encode(std::string_view text) const {
    std::vector<TokenId> ids;
    std::size_t plain = 0;  // where the text without added tokens begins
    for (std::size_t at = 0; at < text.size();) {
        const AddedToken* added = added_token_at(text.substr(at));
        if (added == nullptr) {
            ++at;
            continue;
        }
        encode_plain(text.substr(plain, at - plain), ids);
        ids.push_back(added->id);
        at += added->text.size();
        plain = at;
    }
    encode_plain(text.substr(plain), ids);
    return ids;
}

std::string ByteLevelBpe::decode(std::span<const TokenId> ids) const {
    std::string text;
    for (const TokenId id : ids) {
        if (id < 0 || static_cast<std::size_t>(id) >= texts_.size()) {
            throw BadInput("token id " + std::to_string(id) +
                           " is outside the tokenizer's vocabulary: expected 0 to " +
                           std::to_string(texts_.size() - 1));
        }
        text += texts_[static_cast<std::size_t>(id)];
    }
    return text;
}

}  // namespace slip::importing
