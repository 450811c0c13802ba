// Context-free grammars as trees, before they are compiled.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "slip/types.hpp"

namespace slip::grammar {

struct Expression {
    enum class Kind { bytes, characters, token, rule, sequence, choice, repeat };
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    Kind kind = Kind::sequence;
    std::string text = {};  // bytes, or the name of a rule
    /// Of `characters`, the ranges: from and to, in ascending order and apart.
    std::vector<std::pair<char32_t, char32_t>> ranges = {};
    std::vector<Expression> parts = {};  // of sequence and choice; one of repeat
    std::size_t least = 0;               // of repeat
    std::size_t most = unlimited;
    TokenId id = 0;  // of token: a special one, which no byte stands for
};

inline Expression bytes(std::string text) { return {Expression::Kind::bytes, std::move(text)}; }
inline Expression token(TokenId id) {
    Expression one{Expression::Kind::token};
    one.id = id;
    return one;
}
inline Expression rule(std::string name) { return {Expression::Kind::rule, std::move(name)}; }
inline Expression sequence(std::vector<Expression> parts) {
    return {Expression::Kind::sequence, {}, {}, std::move(parts)};
}
inline Expression choice(std::vector<Expression> parts) {
    return {Expression::Kind::choice, {}, {}, std::move(parts)};
}
inline Expression repeat(Expression part, std::size_t least,
                         std::size_t most = Expression::unlimited) {
    return {Expression::Kind::repeat, {}, {}, {std::move(part)}, least, most};
}

/// By name; the texts are those of "root".
using Rules = std::map<std::string, Expression>;

/// Reads llama.cpp's notation. Throws BadInput, naming line and column.
Rules parse_gbnf(std::string_view text);
/// As Grammar::from_json_schema(); the texts are those of `name`, with which the names of all rules
/// begin that the schema brings.
Rules rules_of_schema(std::string_view schema, const std::string& name = "root");
/// What every grammar of JSON has: json-value, json-object, json-string, ...
Rules json_rules();

}  // namespace slip::grammar
