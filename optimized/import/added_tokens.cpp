// MODEL-11: added tokens.
#include "optimized/import/added_tokens.hpp"

#include <algorithm>

#include "optimized/base/error.hpp"
#include "optimized/import/utf8.hpp"

namespace slip::importing {

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens) {
    for (const AddedToken& token : tokens) {
        base::require(!token.text.empty(), "AddedTokens: a token is empty");
        tokens_[static_cast<unsigned char>(token.text[0])].push_back(token);
    }
    for (auto& list : tokens_) {
        std::stable_sort(list.begin(), list.end(), [](const AddedToken& a, const AddedToken& b) {
            return a.text.size() > b.text.size();
        });
    }
}

/// The longest token at the start of `text`, or null.
const AddedToken* AddedTokens::token_at(std::string_view text, bool with_special) const {
    for (const AddedToken& token : tokens_[static_cast<unsigned char>(text[0])]) {
        if ((with_special || !token.special) && text.starts_with(token.text)) return &token;
    }
    return nullptr;
}

void AddedTokens::divide(std::string_view text, bool with_special,
                         const std::function<void(std::string_view)>& plain,
                         const std::function<void(TokenId)>& added) const {
    std::size_t begin = 0;  // of the text without added tokens
    for (std::size_t at = 0; at < text.size();) {
        const AddedToken* token = token_at(text.substr(at), with_special);
        if (token == nullptr) {
            ++at;
            continue;
        }
        std::string_view before = text.substr(begin, at - begin);
        if (token->strips_left) before.remove_suffix(trailing_white_space(before));
        if (!before.empty()) plain(before);
        added(token->id);
        at += token->text.size();
        if (token->strips_right) at += leading_white_space(text.substr(at));
        begin = at;
    }
    if (begin < text.size()) plain(text.substr(begin));
}

}  // namespace slip::importing
