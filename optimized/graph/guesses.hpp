// What a text may go on with, looked up in the text itself (MODEL-21).
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "slip/types.hpp"

namespace slip::graph {

/// Guesses the next tokens of one text. A guess is right or wrong, and never changes what the text
/// becomes.
class Guesses {
public:
    /// Tokens that a place must share with the end of the text to be looked at.
    static constexpr std::size_t shortest_match = 4;
    /// Tokens that are compared at a place, at most.
    static constexpr std::size_t longest_match = 32;
    /// Places that are looked at, the latest first.
    static constexpr std::size_t places = 16;

    /// Proposes `count` tokens at a time; 0: never any.
    explicit Guesses(std::size_t count) : count_(count) {}
    std::size_t count() const { return count_; }

    /// The text goes on.
    void append(std::span<const TokenId> ids);
    /// `count` tokens that followed where the text had stood as it does now, fewer if there is room
    /// for `room` only; none where it has not. Valid until the next call.
    std::span<const TokenId> propose(std::size_t room);
    /// Says how many of the proposed tokens were right.
    void judge(std::size_t right);

private:
    using Key = std::array<TokenId, shortest_match>;

    std::size_t match_length(std::size_t place) const;

    std::size_t count_;
    std::vector<TokenId> text_;
    std::map<Key, std::size_t> latest_;  // tokens -> where they ended last
    std::vector<std::size_t> earlier_;   // of each end, where the same tokens ended before; or 0
    std::size_t needed_ = shortest_match;
    std::vector<TokenId> proposed_;
};

}  // namespace slip::graph
