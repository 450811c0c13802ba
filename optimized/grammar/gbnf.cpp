// SERVE-16: llama.cpp's notation for grammars.
#include <algorithm>
#include <optional>

#include "optimized/grammar/rules.hpp"
#include "slip/error.hpp"

namespace slip::grammar {
namespace {

constexpr std::size_t deepest = 64;             // groups inside one another
constexpr std::size_t most_repeats = 1U << 15;  // in x{m,n}
constexpr char32_t last_character = 0x10ffff;

using Ranges = std::vector<std::pair<char32_t, char32_t>>;

/// Sorted, with neighbours and overlapping ones joined.
Ranges joined(Ranges ranges) {
    std::sort(ranges.begin(), ranges.end());
    Ranges result;
    for (const auto& [from, to] : ranges) {
        if (!result.empty() && from <= result.back().second + 1) {
            result.back().second = std::max(result.back().second, to);
        } else {
            result.emplace_back(from, to);
        }
    }
    return result;
}

/// All other characters. `ranges` are joined.
Ranges complement(const Ranges& ranges) {
    Ranges result;
    char32_t next = 0;
    for (const auto& [from, to] : ranges) {
        if (from > next) result.emplace_back(next, from - 1);
        next = to + 1;
    }
    if (next <= last_character) result.emplace_back(next, last_character);
    return result;
}

bool is_name(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '-' || letter == '_';
}

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Rules rules() {
        Rules rules;
        skip(true);
        while (at_ < text_.size()) {
            const std::string name = take_name();
            skip(false);
            if (!take("::=")) refuse("expected ::=");
            skip(true);
            if (!rules.emplace(name, choice_of_sequences(0)).second) {
                refuse("rule " + name + " stands twice");
            }
            skip(true);
        }
        return rules;
    }

private:
    Expression choice_of_sequences(std::size_t depth) {
        std::vector<Expression> parts;
        do {
            skip(true);
            parts.push_back(one_sequence(depth));
            const std::size_t before = at_;
            skip(true);
            if (peek() != '|') at_ = before;
        } while (take("|"));
        return parts.size() == 1 ? std::move(parts.front()) : choice(std::move(parts));
    }

    Expression one_sequence(std::size_t depth) {
        std::vector<Expression> parts;
        while (true) {
            skip(depth > 0);
            auto part = one_part(depth);
            if (!part) return sequence(std::move(parts));
            parts.push_back(repeated(std::move(*part)));
        }
    }

    std::optional<Expression> one_part(std::size_t depth) {
        const char first = peek();
        if (first == '"') return literal();
        if (first == '[') return character_class();
        if (first == '.') {
            ++at_;
            return Expression{Expression::Kind::characters, {}, {{0, last_character}}};
        }
        if (first == '(') {
            if (depth == deepest) refuse("expected at most 64 groups inside one another");
            ++at_;
            Expression group = choice_of_sequences(depth + 1);
            skip(true);
            if (!take(")")) refuse("expected )");
            return group;
        }
        if (is_name(first)) return rule(take_name());
        return std::nullopt;
    }

    Expression repeated(Expression part) {
        if (take("*")) return repeat(std::move(part), 0);
        if (take("+")) return repeat(std::move(part), 1);
        if (take("?")) return repeat(std::move(part), 0, 1);
        if (!take("{")) return part;
        const std::size_t least = number();
        std::size_t most = least;
        if (take(",")) most = peek() == '}' ? Expression::unlimited : number();
        if (!take("}")) refuse("expected }");
        if (most < least) refuse("expected no fewer repeats at most than at least");
        return repeat(std::move(part), least, most);
    }

    std::size_t number() {
        std::size_t value = 0;
        if (peek() < '0' || peek() > '9') refuse("expected a number");
        while (peek() >= '0' && peek() <= '9') {
            value = value * 10 + static_cast<std::size_t>(peek() - '0');
            if (value > most_repeats) refuse("expected at most 32768 repeats");
            ++at_;
        }
        return value;
    }

    Expression literal() {
        std::string text;
        ++at_;
        while (peek() != '"') {
            if (at_ == text_.size()) refuse("expected \" behind the text");
            if (peek() == '\\') {
                append(text, escape());
            } else {
                text.push_back(text_[at_++]);
            }
        }
        ++at_;
        return bytes(std::move(text));
    }

    Expression character_class() {
        ++at_;
        const bool others = take("^");
        Ranges ranges;
        while (!take("]")) {
            if (at_ == text_.size()) refuse("expected ] behind the characters");
            const char32_t from = one_character();
            char32_t to = from;
            if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
                ++at_;
                to = one_character();
            }
            if (to < from) refuse("expected a range of characters in ascending order");
            ranges.emplace_back(from, to);
        }
        ranges = joined(std::move(ranges));
        if (others) ranges = complement(ranges);
        if (ranges.empty()) refuse("expected at least one character in []");
        return {Expression::Kind::characters, {}, std::move(ranges)};
    }

    char32_t one_character() {
        if (at_ == text_.size()) refuse("expected a character");
        if (peek() == '\\') return escape();
        const auto first = static_cast<unsigned char>(text_[at_++]);
        if (first < 0x80) return first;
        // The text is UTF-8 (parse_gbnf).
        const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
        char32_t point = first & (0x3fU >> more);
        for (int i = 0; i < more; ++i) {
            point = point << 6 | (static_cast<unsigned char>(text_[at_++]) & 0x3fU);
        }
        return point;
    }

    char32_t escape() {
        ++at_;
        const char kind = peek();
        ++at_;
        switch (kind) {
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case '\\':
            case '"':
            case '[':
            case ']':
            case '-':
            case '^':
                return static_cast<char32_t>(kind);
            case 'x':
                return hexadecimal(2);
            case 'u':
                return hexadecimal(4);
            case 'U':
                return hexadecimal(8);
            default:
                refuse("unknown escape");
        }
    }

    char32_t hexadecimal(int digits) {
        char32_t value = 0;
        for (int i = 0; i < digits; ++i) {
            constexpr std::string_view known = "0123456789abcdef";
            const char letter = static_cast<char>(peek() | 0x20);  // in lower case
            const std::size_t digit = known.find(letter);
            if (peek() == 0 || digit == std::string_view::npos) refuse("expected a hex digit");
            value = value << 4 | static_cast<char32_t>(digit);
            ++at_;
        }
        const bool surrogate = value >= 0xd800 && value < 0xe000;
        if (value > last_character || surrogate) refuse("expected a character of Unicode");
        return value;
    }

    static void append(std::string& text, char32_t point) {
        const auto add = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
        if (point < 0x80) return add(point);
        const int more = point >= 0x10000 ? 3 : point >= 0x800 ? 2 : 1;
        add((0xff00U >> (more + 1) & 0xffU) | point >> (6 * more));
        for (int i = more - 1; i >= 0; --i) add(0x80U | (point >> (6 * i) & 0x3fU));
    }

    std::string take_name() {
        const std::size_t begin = at_;
        while (is_name(peek())) ++at_;
        if (at_ == begin) refuse("expected the name of a rule");
        return std::string(text_.substr(begin, at_ - begin));
    }

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool take(std::string_view expected) {
        if (!text_.substr(std::min(at_, text_.size())).starts_with(expected)) return false;
        at_ += expected.size();
        return true;
    }
    /// White space and comments; of line ends only with `lines`.
    void skip(bool lines) {
        while (at_ < text_.size()) {
            if (peek() == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (peek() == ' ' || peek() == '\t' || peek() == '\r' ||
                       (lines && peek() == '\n')) {
                ++at_;
            } else {
                return;
            }
        }
    }

    [[noreturn]] void refuse(const std::string& what) const {
        const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
        const auto line = std::count(before.begin(), before.end(), '\n') + 1;
        const std::size_t end = before.rfind('\n');
        const std::size_t column =
            before.size() - (end == std::string_view::npos ? 0 : end + 1) + 1;
        throw BadInput("the grammar, line " + std::to_string(line) + ", column " +
                       std::to_string(column) + ": " + what);
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

Rules parse_gbnf(std::string_view text) { return Parser(text).rules(); }

}  // namespace slip::grammar
