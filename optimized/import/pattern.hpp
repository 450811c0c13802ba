// Regular expressions of tokenizers: matched by PCRE2, written for Oniguruma (MODEL-15).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace slip::importing {

class Pattern {
public:
    /// `expression` may use what means the same in Oniguruma and in PCRE2: literals, classes of
    /// characters and ranges, `\p` and `\P` with a general category, `\s \S \d \D \r \n \t`,
    /// repetitions, alternatives, groups, lookahead and lookbehind. Throws BadInput, naming what
    /// it does not know, for anything else and for an expression that matches an empty text.
    explicit Pattern(std::string_view expression);
    Pattern(Pattern&&) noexcept;
    Pattern& operator=(Pattern&&) noexcept;
    ~Pattern();

    /// Calls `take(begin, end)` for the matches in `text` from left to right; none overlaps another
    /// and none is empty. Requires that `text` is UTF-8. Throws BadInput if the search takes more
    /// steps than the text justifies.
    void find_all(std::string_view text,
                  const std::function<void(std::size_t, std::size_t)>& take) const;

private:
    struct Code;
    std::unique_ptr<Code> code_;
};

/// The expression that matches `text` and nothing else.
std::string literal_expression(std::string_view text);

}  // namespace slip::importing
