// MODEL-15: the regular expressions of tokenizers. The Unicode categories are PCRE2's.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "optimized/import/pattern.hpp"

#include <pcre2.h>

#include <algorithm>
#include <array>
#include <memory>

#include "optimized/base/error.hpp"
#include "optimized/import/utf8.hpp"

namespace slip::importing {
namespace {

using base::require;

/// Alternatives that PCRE2 may try in one search: steps_at_least, and steps_per_byte for each byte
/// of the text. GPT-2's, Llama 3's and Qwen's expressions try at most about two per byte.
constexpr std::size_t steps_at_least = 10'000;
constexpr std::size_t steps_per_byte = 32;
/// Memory for alternatives that are still open, in KiB.
constexpr std::uint32_t largest_heap = 8192;
constexpr std::size_t longest_expression = 4096;

constexpr std::array<std::string_view, 38> general_categories = {
    "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl",
    "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk",
    "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Cn", "Co", "Cs", "L&"};

/// Writes an expression of Oniguruma as one of PCRE2 that matches the same texts, or throws.
class Translation {
public:
    explicit Translation(std::string_view expression) : rest_(expression) {
        while (!rest_.empty()) step();
        if (in_class_) refuse("an unclosed [");
    }
    const std::string& text() const { return text_; }

private:
    [[noreturn]] static void refuse(const std::string& what) {
        throw BadInput("the expression has " + what + ", which is not supported");
    }

    void copy(std::size_t bytes) {
        text_ += rest_.substr(0, bytes);
        rest_.remove_prefix(bytes);
    }

    void step() {
        switch (rest_.front()) {
            case '\\':
                return escape();
            case '[':
                return open_class();
            case ']':
                in_class_ = false;
                return copy(1);
            case '(':
                return in_class_ ? copy(1) : open_group();
            case '^':
            case '$':
                // Oniguruma's stand at the ends of lines, PCRE2's at those of the text.
                if (!in_class_) refuse("the anchor " + std::string(1, rest_.front()));
                return copy(1);
            case '&':
                if (in_class_ && rest_.starts_with("&&")) refuse("an intersection of classes");
                return copy(1);
            case '{':
                // Oniguruma's {,n} counts from 0; to PCRE2 these are four characters.
                if (rest_.starts_with("{,")) refuse("a repetition without a least number");
                return copy(1);
            case '}':
                if (rest_.starts_with("}+")) refuse("a + after a counted repetition");
                return copy(1);
            default:
                return character();
        }
    }

    void character() {
        const std::size_t length = utf8_character(rest_);
        if (length == 0) refuse("bytes that are not UTF-8");
        if (rest_.front() == '\0') refuse("the character U+0000");
        copy(length);
    }

    void open_class() {
        if (in_class_) refuse("a class of characters in another");
        in_class_ = true;
        copy(1);
        if (rest_.starts_with("^")) copy(1);
        if (rest_.starts_with("]")) refuse("an empty class of characters");
    }

    void open_group() {
        for (const std::string_view opening :
             {"(?:", "(?i:", "(?>", "(?=", "(?!", "(?<=", "(?<!"}) {
            if (rest_.starts_with(opening)) return copy(opening.size());
        }
        if (rest_.starts_with("(?") || rest_.starts_with("(*")) {
            refuse("the group " + std::string(rest_.substr(0, 3)));
        }
        copy(1);
    }

    void escape() {
        if (rest_.size() < 2) refuse("a \\ at its end");
        const char kind = rest_[1];
        if (kind == 'p' || kind == 'P') return property();
        if (kind == 's' || kind == 'S') {
            // Unicode's White_Space; PCRE2's own \s has one character more.
            text_ += kind == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
            return rest_.remove_prefix(2);
        }
        const bool punctuation = (kind >= '!' && kind <= '/') || (kind >= ':' && kind <= '@') ||
                                 (kind >= '[' && kind <= '`') || (kind >= '{' && kind <= '~');
        if (!punctuation && std::string_view("dDrnt ").find(kind) == std::string_view::npos) {
            refuse("\\" + std::string(1, kind));
        }
        copy(2);
    }

    void property() {
        const std::size_t end = rest_.find('}');
        if (rest_.size() < 3 || rest_[2] != '{' || end == std::string_view::npos) {
            refuse("a \\p without a name in braces");
        }
        std::string_view name = rest_.substr(3, end - 3);
        if (name.starts_with('^')) name.remove_prefix(1);
        if (std::find(general_categories.begin(), general_categories.end(), name) ==
            general_categories.end()) {
            refuse("the property " + std::string(name));
        }
        copy(end + 1);
    }

    std::string_view rest_;
    std::string text_;
    bool in_class_ = false;
};

PCRE2_SPTR8 data_of(std::string_view text) { return reinterpret_cast<PCRE2_SPTR8>(text.data()); }

template <class Object, void (*release)(Object*)>
struct Release {
    void operator()(Object* object) const { release(object); }
};
template <class Object, void (*release)(Object*)>
using Owned = std::unique_ptr<Object, Release<Object, release>>;

}  // namespace

std::string literal_expression(std::string_view text) {
    std::string expression;
    for (const char letter : text) {
        if (std::string_view("\\^$.[|()?*+{}-&]").find(letter) != std::string_view::npos) {
            expression.push_back('\\');
        }
        expression.push_back(letter);
    }
    return expression;
}

struct Pattern::Code {
    Owned<pcre2_code_8, pcre2_code_free_8> compiled;
};

Pattern::Pattern(std::string_view expression) : code_(std::make_unique<Code>()) {
    if (expression.size() > longest_expression) {
        throw BadInput("the expression is longer than 4096 bytes");
    }
    const std::string text = Translation(expression).text();
    int error = 0;
    std::size_t offset = 0;
    code_->compiled.reset(pcre2_compile_8(data_of(text), text.size(), PCRE2_UTF | PCRE2_UCP, &error,
                                          &offset, nullptr));
    if (code_->compiled == nullptr) {
        std::array<PCRE2_UCHAR8, 128> message{};
        pcre2_get_error_message_8(error, message.data(), message.size());
        throw BadInput("the expression is none: " +
                       std::string(reinterpret_cast<const char*>(message.data())));
    }
    std::uint32_t matches_empty = 0;
    pcre2_pattern_info_8(code_->compiled.get(), PCRE2_INFO_MATCHEMPTY, &matches_empty);
    if (matches_empty != 0) throw BadInput("the expression may match an empty text");
}

Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

void Pattern::find_all(std::string_view text,
                       const std::function<void(std::size_t, std::size_t)>& take) const {
    const Owned<pcre2_match_data_8, pcre2_match_data_free_8> match(
        pcre2_match_data_create_8(1, nullptr));
    const Owned<pcre2_match_context_8, pcre2_match_context_free_8> limits(
        pcre2_match_context_create_8(nullptr));
    require(match != nullptr && limits != nullptr, "Pattern: no memory for a match");
    const std::size_t steps = steps_at_least + steps_per_byte * text.size();
    pcre2_set_match_limit_8(limits.get(),
                            static_cast<std::uint32_t>(std::min<std::size_t>(steps, 0xffffffff)));
    pcre2_set_heap_limit_8(limits.get(), largest_heap);
    for (std::size_t at = 0; at < text.size();) {
        // The text is UTF-8: PCRE2 need not look at all of it again for every match.
        const int found = pcre2_match_8(code_->compiled.get(), data_of(text), text.size(), at,
                                        PCRE2_NO_UTF_CHECK, match.get(), limits.get());
        if (found == PCRE2_ERROR_NOMATCH) return;
        if (found < 0) throw BadInput("the tokenizer's expression takes too long for this text");
        const std::size_t* ends = pcre2_get_ovector_pointer_8(match.get());
        // \K is refused, so only a lookbehind could make a match end before it begins.
        require(at <= ends[0] && ends[0] < ends[1], "Pattern: a match is empty");
        take(ends[0], ends[1]);
        at = ends[1];
    }
}

}  // namespace slip::importing
