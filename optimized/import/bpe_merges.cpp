// MODEL-11: byte-pair encoding.
#include "optimized/import/bpe_merges.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "optimized/base/error.hpp"

namespace slip::importing {
namespace {

std::pair<TokenId, TokenId> pair_of(const BpeMerge& merge) { return {merge.left, merge.right}; }

}  // namespace

const BpeMerge* sort_merges(std::vector<BpeMerge>& merges) {
    std::sort(merges.begin(), merges.end(),
              [](const BpeMerge& a, const BpeMerge& b) { return pair_of(a) < pair_of(b); });
    const auto twice = std::adjacent_find(
        merges.begin(), merges.end(),
        [](const BpeMerge& a, const BpeMerge& b) { return pair_of(a) == pair_of(b); });
    if (twice == merges.end()) return nullptr;
    return twice->rank > (twice + 1)->rank ? &*twice : &*(twice + 1);
}

BpeMerges::BpeMerges(std::vector<BpeMerge> merges) : merges_(std::move(merges)) {
    base::require(sort_merges(merges_) == nullptr, "BpeMerges: a merge stands twice");
}

const BpeMerge* BpeMerges::merge_of(TokenId left, TokenId right) const {
    const std::pair wanted(left, right);
    const auto found = std::lower_bound(
        merges_.begin(), merges_.end(), wanted,
        [](const BpeMerge& merge, const auto& pair) { return pair_of(merge) < pair; });
    return found != merges_.end() && pair_of(*found) == wanted ? &*found : nullptr;
}

/// The tokens of one piece while they are merged.
class BpeMerges::Word {
public:
    Word(const BpeMerges& merges, std::vector<TokenId>& tokens)
        : merges_(merges), ids_(tokens), next_(tokens.size()), previous_(tokens.size()) {
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            next_[i] = i + 1;
            previous_[i] = i - 1;  // of the first: not used
        }
        for (std::size_t i = 0; i + 1 < tokens.size(); ++i) propose(i);
    }

    void merge_all() {
        while (!candidates_.empty()) {
            const Candidate best = candidates_.top();
            candidates_.pop();
            if (is_current(best)) merge(best);
        }
        std::erase(ids_, used_up);
    }

private:
    /// What stands where a token was merged into an earlier one.
    static constexpr TokenId used_up = -1;

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
        const BpeMerge* merge = merges_.merge_of(ids_[at], ids_[next_[at]]);
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
        ids_[gone] = used_up;
        next_[at] = next_[gone];
        if (next_[at] < ids_.size()) previous_[next_[at]] = at;
        propose(at);
        if (at > 0) propose(previous_[at]);
    }

    const BpeMerges& merges_;
    std::vector<TokenId>& ids_;
    std::vector<std::size_t> next_;
    std::vector<std::size_t> previous_;
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates_;
};

void BpeMerges::apply(std::vector<TokenId>& tokens) const {
    if (tokens.size() > 1) Word(*this, tokens).merge_all();
}

}  // namespace slip::importing
