// The division of a text into the pieces inside which tokens are merged (MODEL-11).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "optimized/import/pattern.hpp"

namespace slip::importing {

/// What becomes of a match of a pattern, and of what lies between two matches.
enum class SplitBehaviour {
    isolated,              // each is a piece
    removed,               // what lies between is a piece; matches go
    kept,                  // matches are pieces; what lies between goes
    merged_with_previous,  // a match ends the piece before it
    merged_with_next,      // a match begins the piece after it
};

struct Split {
    Pattern pattern;
    SplitBehaviour behaviour = SplitBehaviour::isolated;
};

/// GPT-2's expression.
extern const char* const gpt2_expression;

class PreTokenizer {
public:
    using Take = std::function<void(std::string_view)>;

    /// Each split divides the pieces of the one before it; without one the text is one piece.
    explicit PreTokenizer(std::vector<Split> splits) : splits_(std::move(splits)) {}
    /// GPT-2's.
    PreTokenizer();

    /// Calls `take` with the pieces of `text` in order; none is empty. If there are splits, a
    /// longest run of bytes that are not UTF-8 forms a piece of its own.
    void divide(std::string_view text, const Take& take) const;

private:
    void divide_from(std::size_t split, std::string_view text, const Take& take) const;

    std::vector<Split> splits_;
};

}  // namespace slip::importing
