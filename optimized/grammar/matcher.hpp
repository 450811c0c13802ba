// Which texts a grammar still allows, byte by byte.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "optimized/grammar/program.hpp"

namespace slip::grammar {

/// Follows all derivations of a text at once. What a text leads to is a state: the places in the
/// program where a byte or a special token may come, each with its stack of calls. States and
/// stacks are kept, each once, so that a text that comes back to a state costs one look-up per
/// byte.
class Matcher {
public:
    using State = std::uint32_t;
    static constexpr State nothing = 0;  ///< no text goes on from here

    explicit Matcher(std::shared_ptr<const Program> program);

    /// The state of the empty text.
    State begin() const { return begin_; }
    /// Throws BadInput if the grammar is so ambiguous that there are too many derivations.
    State after(State state, std::uint8_t byte);
    /// The same for a special token, which no byte stands for.
    State after_token(State state, TokenId id);
    /// The special tokens that may come.
    std::vector<TokenId> tokens(State state) const;
    /// Whether the text may end here.
    bool accepts(State state) const { return states_[state].accepts; }
    /// Whether a byte or a special token may come.
    bool goes_on(State state) const { return !states_[state].places.empty(); }

    /// Whether the states that are kept make forget_but() due.
    bool keeps_many() const;
    /// Forgets all states but this one, begin() too. Returns its new number.
    State forget_but(State state);

private:
    /// A node that takes a byte or a token, and the stack below.
    struct Place {
        std::uint32_t node, stack;
        auto operator<=>(const Place&) const = default;
    };
    struct Known {
        std::vector<Place> places;  // ascending
        bool accepts = false;
        auto operator<=>(const Known&) const = default;
    };
    /// Where a call returns to.
    struct Frame {
        std::uint32_t node, below;
        auto operator<=>(const Frame&) const = default;
    };

    void follow(Place place, Known& state);
    Place entered(const Node& call, std::uint32_t stack);
    std::uint32_t pushed(Frame frame);
    State numbered(Known state);
    void start();

    std::shared_ptr<const Program> program_;
    std::vector<Known> states_;
    std::map<Known, State> numbers_;
    std::unordered_map<std::uint64_t, State> transitions_;  // state and byte -> state
    std::vector<Frame> frames_;                             // 0: none
    std::map<Frame, std::uint32_t> frame_numbers_;
    std::size_t kept_ = 0;  // places in all states
    State begin_ = 0;
};

}  // namespace slip::grammar
