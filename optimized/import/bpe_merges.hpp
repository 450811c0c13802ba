// Byte-pair encoding itself: which neighbours become one token, and in which order (MODEL-11).
#pragma once

#include <cstdint>
#include <vector>

#include "optimized/base/model_shape.hpp"

namespace slip::importing {

/// Two neighbours and what replaces them; the lower rank goes first.
struct BpeMerge {
    TokenId left;
    TokenId right;
    std::uint32_t rank;
    TokenId merged;
};

class BpeMerges {
public:
    /// In any order. Requires that no pair stands twice: sort_merges() tells.
    explicit BpeMerges(std::vector<BpeMerge> merges);

    /// Merges in place, in O(b log b) for b tokens: of all neighbours that have a merge, those with
    /// the lowest rank, the leftmost of equals, become one token, until no merge fits.
    void apply(std::vector<TokenId>& tokens) const;

private:
    class Word;
    const BpeMerge* merge_of(TokenId left, TokenId right) const;

    std::vector<BpeMerge> merges_;  // in the order of (left, right)
};

/// Sorts by (left, right), and returns a merge whose pair stands twice, the later one by rank, or
/// null.
const BpeMerge* sort_merges(std::vector<BpeMerge>& merges);

}  // namespace slip::importing
