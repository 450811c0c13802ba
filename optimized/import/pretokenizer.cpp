// The Unicode categories are PCRE2's.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "optimized/import/pretokenizer.hpp"

#include <pcre2.h>

#include <string>

#include "optimized/base/error.hpp"
#include "optimized/import/utf8.hpp"

namespace slip::importing {
namespace {

using base::require;

/// The characters with Unicode's property White_Space. PCRE2's own \s has one character more.
constexpr const char* white_space =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// Nothing follows the repetitions that are possessive here, so they match what the greedy ones do.
std::string gpt2_pattern() {
    const std::string space = white_space;
    return R"('(?:s|t|re|ve|m|ll|d)| ?\p{L}++| ?\p{N}++| ?[^\p{L}\p{N})" + space + "]++|[" + space +
           "]+(?![^" + space + "])|[" + space + "]++";
}

const PCRE2_UCHAR8* data_of(std::string_view text) {
    return reinterpret_cast<const PCRE2_UCHAR8*>(text.data());
}

}  // namespace

struct PreTokenizer::Pattern {
    pcre2_code_8* code = nullptr;
    Pattern() {
        const std::string text = gpt2_pattern();
        int error = 0;
        std::size_t offset = 0;
        code = pcre2_compile_8(data_of(text), text.size(), PCRE2_UTF | PCRE2_UCP, &error, &offset,
                               nullptr);
        require(code != nullptr, "PreTokenizer: PCRE2 does not take the pattern");
    }
    Pattern(const Pattern&) = delete;
    Pattern& operator=(const Pattern&) = delete;
    ~Pattern() { pcre2_code_free_8(code); }
};

PreTokenizer::PreTokenizer() : pattern_(std::make_unique<Pattern>()) {}
PreTokenizer::~PreTokenizer() = default;

void PreTokenizer::divide(std::string_view text,
                          const std::function<void(std::string_view)>& take) const {
    while (!text.empty()) {
        const std::size_t valid = utf8_prefix(text);
        divide_utf8(text.substr(0, valid), take);
        text.remove_prefix(valid);
        std::size_t invalid = 0;
        while (invalid < text.size() && utf8_character(text.substr(invalid)) == 0) ++invalid;
        if (invalid > 0) take(text.substr(0, invalid));
        text.remove_prefix(invalid);
    }
}

/// `text` is UTF-8, so PCRE2 need not check it again for every piece.
void PreTokenizer::divide_utf8(std::string_view text,
                               const std::function<void(std::string_view)>& take) const {
    const std::unique_ptr<pcre2_match_data_8, decltype(&pcre2_match_data_free_8)> match(
        pcre2_match_data_create_8(1, nullptr), &pcre2_match_data_free_8);
    require(match != nullptr, "PreTokenizer: no memory for a match");
    for (std::size_t at = 0; at < text.size();) {
        const int found = pcre2_match_8(pattern_->code, data_of(text), text.size(), at,
                                        PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK, match.get(), nullptr);
        require(found > 0, "PreTokenizer: every character belongs to a piece");
        const std::size_t end = pcre2_get_ovector_pointer_8(match.get())[1];
        take(text.substr(at, end - at));
        at = end;
    }
}

}  // namespace slip::importing
