// Tokens that stand in texts as they are (MODEL-11).
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/base/model_shape.hpp"

namespace slip::importing {

struct AddedToken {
    std::string text;  // not empty
    TokenId id = 0;
    bool special = false;       // ends, begins and roles: does not come from text by itself
    bool strips_left = false;   // the white space before it belongs to it
    bool strips_right = false;  // the white space after it
    bool normalized = false;    // it is looked for in the text as the normalizer leaves it
};

/// Finds added tokens from left to right; of those that begin at one place the longest.
class AddedTokens {
public:
    AddedTokens() = default;
    explicit AddedTokens(const std::vector<AddedToken>& tokens);

    /// Calls `plain` for what lies between added tokens, `added` for their ids, in order. Special
    /// tokens are found if `with_special`.
    void divide(std::string_view text, bool with_special,
                const std::function<void(std::string_view)>& plain,
                const std::function<void(TokenId)>& added) const;

private:
    const AddedToken* token_at(std::string_view text, bool with_special) const;

    std::array<std::vector<AddedToken>, 256> tokens_;  // first byte -> longest first
};

}  // namespace slip::importing
