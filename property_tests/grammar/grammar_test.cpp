// SERVE-16: grammars against a recogniser that is independent of stacks and states.
#include "slip/grammar.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "optimized/grammar/program.hpp"
#include "optimized/grammar/vocabulary.hpp"
#include "optimized/import/utf8.hpp"
#include "property_tests/generators/refusal.hpp"
#include "slip/error.hpp"

namespace slip::testing {
namespace {

using grammar::Expression;
using grammar::Matcher;
using grammar::Rules;
using Ends = std::set<std::size_t>;

// --- The oracle: to which ends an expression takes a text, by the definition ---------------------

Ends ends_of(const Rules& rules, const Expression& expression, const std::string& text,
             std::size_t begin);

Ends ends_of_all(const Rules& rules, const std::vector<Expression>& parts, const std::string& text,
                 std::size_t begin) {
    Ends ends{begin};
    for (const Expression& part : parts) {
        Ends next;
        for (const std::size_t end : ends) next.merge(ends_of(rules, part, text, end));
        ends = next;
    }
    return ends;
}

Ends ends_of_repeat(const Rules& rules, const Expression& repeat, const std::string& text,
                    std::size_t begin) {
    Ends result;
    Ends ends{begin};
    // After so many more repeats than there are characters nothing new comes.
    const std::size_t most = std::min(repeat.most, repeat.least + text.size() + 1);
    for (std::size_t count = 0; count <= most; ++count) {
        if (count >= repeat.least) result.insert(ends.begin(), ends.end());
        if (count == most) break;  // what stands in no repeat may be left-recursive
        Ends next;
        for (const std::size_t end : ends) next.merge(ends_of(rules, repeat.parts[0], text, end));
        ends = next;
    }
    return result;
}

Ends ends_of(const Rules& rules, const Expression& expression, const std::string& text,
             std::size_t begin) {
    using Kind = Expression::Kind;
    switch (expression.kind) {
        case Kind::bytes:
            if (text.compare(begin, expression.text.size(), expression.text) != 0) return {};
            return {begin + expression.text.size()};
        case Kind::characters:
            for (const auto& [from, to] : expression.ranges) {
                if (begin == text.size()) break;
                const auto letter = static_cast<char32_t>(text[begin]);
                if (letter >= from && letter <= to) return {begin + 1};
            }
            return {};
        case Kind::token:  // is no text
            return {};
        case Kind::rule:
            return ends_of(rules, rules.at(expression.text), text, begin);
        case Kind::sequence:
            return ends_of_all(rules, expression.parts, text, begin);
        case Kind::choice: {
            Ends ends;
            for (const Expression& part : expression.parts)
                ends.merge(ends_of(rules, part, text, begin));
            return ends;
        }
        case Kind::repeat:
            return ends_of_repeat(rules, expression, text, begin);
    }
    return {};
}

bool derives(const Rules& rules, const std::string& text) {
    return ends_of(rules, rules.at("root"), text, 0).contains(text.size());
}

// --- What is drawn -------------------------------------------------------------------------------

constexpr std::size_t rule_count = 4;
const char* const rule_names[rule_count] = {"root", "x", "y", "z"};

/// Uses rules from `first_rule` on, and only finite repeats if `finite`.
Expression drawn(int depth, std::size_t first_rule, bool finite) {
    const int kind = *rc::gen::inRange(0, depth == 0 ? 3 : 6).as("kind");
    const auto parts = [&] {
        std::vector<Expression> list;
        const auto count = *rc::gen::inRange(1, 4).as("parts");
        for (int i = 0; i < count; ++i) list.push_back(drawn(depth - 1, first_rule, finite));
        return list;
    };
    if (kind == 1) return {Expression::Kind::characters, {}, {{'a', *rc::gen::element('a', 'b')}}};
    if (kind == 2 && first_rule < rule_count)
        return grammar::rule(rule_names[*rc::gen::inRange(first_rule, rule_count)]);
    if (kind == 3) return grammar::sequence(parts());
    if (kind == 4) return grammar::choice(parts());
    if (kind == 5) {
        const auto least = *rc::gen::inRange<std::size_t>(0, 3).as("least");
        const bool limited = finite || *rc::gen::arbitrary<bool>().as("limited");
        const auto more = *rc::gen::inRange<std::size_t>(0, 3).as("more");
        return grammar::repeat(drawn(depth - 1, first_rule, finite), least,
                               limited ? least + more : Expression::unlimited);
    }
    return grammar::bytes(*rc::gen::element("a", "b", "ab", "ba", "c", "").as("bytes"));
}

Rules drawn_rules(bool finite) {
    Rules rules;
    for (std::size_t i = 0; i < rule_count; ++i)
        rules[rule_names[i]] = drawn(finite ? 2 : 3, finite ? i + 1 : 0, finite);
    return rules;
}

std::vector<std::string> texts_up_to(std::size_t length) {
    std::vector<std::string> texts{""};
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (texts[i].size() == length) break;
        for (const char letter : {'a', 'b', 'c'}) texts.push_back(texts[i] + letter);
    }
    return texts;
}

std::shared_ptr<const grammar::Program> compiled(const Rules& rules) {
    return std::make_shared<const grammar::Program>(grammar::compile(rules));
}

Matcher::State after(Matcher& matcher, Matcher::State state, const std::string& text) {
    for (const char byte : text) state = matcher.after(state, static_cast<std::uint8_t>(byte));
    return state;
}

/// The shortest text that leads from a state to one where the text may end.
std::string rest_of(Matcher& matcher, Matcher::State begin) {
    std::vector<std::pair<Matcher::State, std::string>> reached{{begin, ""}};
    std::set<Matcher::State> seen{begin};
    for (std::size_t i = 0; i < reached.size(); ++i) {
        const auto [state, text] = reached[i];
        if (matcher.accepts(state)) return text;
        for (const char letter : {'a', 'b', 'c'}) {
            const auto next = matcher.after(state, static_cast<std::uint8_t>(letter));
            if (next != Matcher::nothing && seen.insert(next).second)
                reached.emplace_back(next, text + letter);
        }
    }
    return "no text ends";
}

RC_GTEST_PROP(Grammar, SERVE_16_it_accepts_what_its_rules_derive, ()) {
    const Rules rules = drawn_rules(false);
    std::shared_ptr<const grammar::Program> program;
    try {
        program = compiled(rules);
    } catch (const BadInput&) {
        RC_DISCARD("left-recursive, or never ends");
    }
    Matcher matcher(program);
    for (const std::string& text : texts_up_to(5)) {
        const bool accepted = matcher.accepts(after(matcher, matcher.begin(), text));
        RC_ASSERT(accepted == derives(rules, text));
    }
}

RC_GTEST_PROP(Grammar, SERVE_16_a_token_is_allowed_if_a_text_goes_on_with_it, ()) {
    const Rules rules = drawn_rules(true);
    const auto program = compiled(rules);
    std::set<std::string> language;
    for (const std::string& text : texts_up_to(7)) {
        if (derives(rules, text)) language.insert(text);
    }
    const auto begins_one = [&](const std::string& text) {
        const auto found = language.lower_bound(text);
        return found != language.end() && found->starts_with(text);
    };
    const grammar::Vocabulary vocabulary({"a", "", "ab", "b", "c", "abc", "bb", "a", "abca", "ba"});
    Matcher matcher(program);
    for (const std::string& text : texts_up_to(2)) {
        const auto words =
            vocabulary.allowed(matcher, after(matcher, matcher.begin(), text), false);
        for (TokenId id = 0; id < 10; ++id) {
            const std::string& token = vocabulary.bytes(id);
            const bool is_allowed = (words.at(0) >> id & 1U) != 0;
            if (is_allowed) {
                RC_ASSERT(!token.empty());
                const auto state = after(matcher, matcher.begin(), text + token);
                RC_ASSERT(derives(rules, text + token + rest_of(matcher, state)));
            } else {  // of texts that were tried
                RC_ASSERT(token.empty() || !begins_one(text + token));
            }
        }
    }
}

TEST(Grammar, SERVE_16_a_constraint_ends_where_the_text_may_end) {
    const auto program = compiled(grammar::parse_gbnf("root ::= \"a\" \"b\"? | \"c\""));
    const auto vocabulary = std::make_shared<const grammar::Vocabulary>(
        std::vector<std::string>{"a", "b", "c", " a", "", "ab"});
    grammar::Constraint constraint(program, vocabulary, {4}, false);
    EXPECT_EQ(constraint.allowed()[0], 0b100101U);
    constraint.take(0);
    EXPECT_FALSE(constraint.complete());
    EXPECT_EQ(constraint.allowed()[0], 0b010010U);
    constraint.take(1);
    EXPECT_TRUE(constraint.complete());
    EXPECT_EQ(constraint.allowed()[0], 0b010000U);
    // Where the text begins, the space of the first token is no part of it.
    grammar::Constraint first(program, vocabulary, {4}, true);
    EXPECT_EQ(first.allowed()[0], 0b101101U);
    first.take(3);
    EXPECT_EQ(first.allowed()[0], 0b010010U);
    // No token goes on.
    const auto other = std::make_shared<const grammar::Vocabulary>(std::vector<std::string>{"d"});
    EXPECT_THROW(grammar::Constraint(program, other, {}, false).allowed(), GrammarError);
}

TEST(Grammar, SERVE_16_states_are_forgotten_and_nothing_else) {
    const auto program = compiled(grammar::parse_gbnf("root ::= \"(\" root \")\" root | \"\""));
    Matcher matcher(program);
    auto state = matcher.begin();
    constexpr int depth = 30000;
    int forgotten = 0;
    const auto take = [&](std::uint8_t byte) {
        state = matcher.after(state, byte);
        ASSERT_NE(state, Matcher::nothing);
        if (!matcher.keeps_many()) return;
        state = matcher.forget_but(state);
        ++forgotten;
    };
    for (int i = 0; i < depth / 2; ++i) take('(');
    for (int i = 0; i < depth / 2; ++i) take(')');
    EXPECT_TRUE(matcher.accepts(state));
    EXPECT_EQ(matcher.after(state, ')'), Matcher::nothing);
    EXPECT_GT(forgotten, 0);
}

TEST(Grammar, SERVE_16_the_notation_of_llama_cpp) {
    const auto accepts = [](const char* text, const std::string& word) {
        return Grammar::from_gbnf(text).accepts(word);
    };
    const char* const numbers =
        "# a comment\nroot ::= sum\nsum ::= term (\n  [-+*] term # more\n)*\n"
        "term ::= [0-9]{1,3} | \"x\"\n       | \"(\" sum \")\"\n";
    EXPECT_TRUE(accepts(numbers, "12+x*(3-4)"));
    EXPECT_FALSE(accepts(numbers, "1234"));
    EXPECT_FALSE(accepts(numbers, "(1+2"));
    const char* const letters = "root ::= [^a-c\\x00-\\x1f] \"\\u00e9\\t\\\"\" .?";
    EXPECT_TRUE(accepts(letters, "d\u00e9\t\"\U0001f600"));
    EXPECT_FALSE(accepts(letters, "b\u00e9\t\""));
    EXPECT_FALSE(accepts(letters, "d\u00e9\t\"\xf0\x9f"));
    EXPECT_FALSE(accepts(letters, "d\u00e9\t\"\xed\xa0\x80")) << "a surrogate is no character";
}

/// Every character is taken by the class that holds it alone and by no other.
TEST(Grammar, SERVE_16_characters_are_their_bytes_in_utf_8) {
    for (const auto& [from, to, text, inside] :
         std::vector<std::tuple<char32_t, char32_t, std::string, bool>>{
             {0x7f, 0x800, "\u007f", true},
             {0x7f, 0x800, "\u0080", true},
             {0x7f, 0x800, "\u0800", true},
             {0x7f, 0x800, "\u0801", false},
             {0x7f, 0x800, "~", false},
             {0x3a9, 0x10ffff, "\u03a8", false},
             {0x3a9, 0x10ffff, "\U0010ffff", true},
             {0x3a9, 0x10ffff, "\uffff", true},
             {0x2345, 0x12345, "\u2344", false},
             {0x2345, 0x12345, "\U00012346", false},
             {0x2345, 0x12345, "\U00012345", true},
             {0x2345, 0x12345, "\ud7ff", true}}) {
        Matcher matcher(
            compiled({{"root", Expression{Expression::Kind::characters, {}, {{from, to}}}}}));
        EXPECT_EQ(matcher.accepts(after(matcher, matcher.begin(), text)), inside) << text;
    }
}

TEST(Grammar, SERVE_16_what_is_refused_says_why) {
    const auto refused = [](const std::string& text) {
        return refusal([&] { Grammar::from_gbnf(text); });
    };
    for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
             {"", "no rule root"},
             {"x ::= \"a\"", "no rule root"},
             {"root ::= x", "no rule x"},
             {"root = \"a\"", "line 1, column 6: expected ::="},
             {"root ::= \"a\"\nroot ::= \"b\"", "stands twice"},
             {"root ::= \"a", "expected \""},
             {"root ::= [a", "expected ]"},
             {"root ::= []", "at least one character"},
             {"root ::= [b-a]", "ascending"},
             {"root ::= (\"a\"", "expected )"},
             {"root ::= \"a\"{2,1}", "no fewer"},
             {"root ::= \"a\"{99999}", "32768"},
             {"root ::= \"\\q\"", "unknown escape"},
             {"root ::= \"\\ud800\"", "character of Unicode"},
             {"root ::= \"\xff\"", "not UTF-8"},
             {"root ::= root \"a\" | \"a\"", "left-recursive"},
             {"root ::= x root | \"a\"\nx ::= \"b\"?", "left-recursive"},
             {"root ::= x\nx ::= y \"b\" | \"a\"\ny ::= x | \"c\"", "left-recursive"},
             {"root ::= \"a\" root", "never ends"},
             {"root ::= \"a\" | x\nx ::= \"b\" x", "rule x of the grammar never ends"},
             {"root ::= (\"ab\"{32000}){32000}", "too large"},
             {"root ::= ((\"\"{32000}){32000}){32000}", "too large"},
             {"root ::= " + std::string(100, '('), "at most 64 groups"},
             {std::string(70000, '#'), "65536"}}) {
        EXPECT_NE(refused(text).find(says), std::string::npos)
            << text.substr(0, 60) << refused(text);
    }
}

TEST(Grammar, SERVE_16_ambiguity_is_bounded) {
    // After n letters there are 2^n stacks.
    const Grammar doubling =
        Grammar::from_gbnf("root ::= \"a\" root \"x\" | \"a\" root \"y\" | \"b\"");
    EXPECT_TRUE(doubling.accepts("aaabxyx"));
    EXPECT_NE(refusal([&] { doubling.accepts(std::string(40, 'a')); }).find("too ambiguous"),
              std::string::npos);
    // Many derivations that come to the same place are one.
    EXPECT_TRUE(Grammar::from_gbnf("root ::= ((\"a\"*)*)* | (\"a\" | \"a\"){0,90}")
                    .accepts(std::string(5000, 'a')));
}

TEST(Grammar, SERVE_16_json_objects) {
    const Grammar objects = Grammar::json_objects();
    for (const char* text :
         {"{}", "{ }", R"({"a":1})", R"({"a": [1, -2.5e3, true, null], "b": {"c": "\u00e9\n"}})",
          "{\"caf\u00e9\":\"\"}"}) {
        EXPECT_TRUE(objects.accepts(text)) << text;
        EXPECT_FALSE(nlohmann::json::parse(text).is_discarded());
    }
    for (const char* text :
         {"", "[]", "1", "{", R"({"a"})", R"({"a":1,})", R"({"a":01})", "{'a':1}",
          R"({"a":"\ud800"})", "{\"a\":\"\n\"}", R"({"a":1}x)", R"({"a":.5})"}) {
        EXPECT_FALSE(objects.accepts(text)) << text;
    }
}

TEST(Grammar, SERVE_16_schemas) {
    const auto accepts = [](const char* schema, const char* text) {
        return Grammar::from_json_schema(schema).accepts(text);
    };
    const char* const person =
        R"({"type": "object", "title": "a person", "additionalProperties": false,
        "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 3},
                       "age": {"type": ["integer", "null"]}, "kind": {"enum": ["a\"b", 7]},
                       "next": {"$ref": "#"}, "tags": {"type": "array", "items": {"type": "boolean"},
                       "minItems": 1, "maxItems": 2}}, "required": ["kind", "name"]})";
    for (const char* text :
         {R"({"name":"abc","kind":7})", R"({"name": "\u00e9", "age": null, "kind": "a\"b"})",
          R"({"name":"a","kind":7,"next":{"name":"b","kind":7},"tags":[true, false]})"}) {
        EXPECT_TRUE(accepts(person, text)) << text;
    }
    for (const char* text :
         {"{}", R"({"name":"","kind":7})", R"({"name":"abcd","kind":7})", R"({"name":"a"})",
          R"({"kind":7,"name":"a"})", R"({"name":"a","kind":8})",
          R"({"name":"a","age":1.5,"kind":7})", R"({"name":"a","kind":7,"tags":[]})",
          R"({"name":"a","kind":7,"tags":[true,true,true]})", R"({"name":"a","kind":7,"more":1})",
          R"({"name":"a","kind":7,})", R"({,"name":"a","kind":7})"}) {
        EXPECT_FALSE(accepts(person, text)) << text;
    }
    const char* const optional =
        R"({"properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {}}})";
    for (const char* text : {"{}", R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})",
                             R"({"a":1,"c":[{}]})", R"({"b":2, "c":"x"})"}) {
        EXPECT_TRUE(accepts(optional, text)) << text;
    }
    for (const char* text :
         {R"({"b":2,"a":1})", R"({"a":1,"a":1})", R"({,"b":2})", R"({"a":1,})"}) {
        EXPECT_FALSE(accepts(optional, text)) << text;
    }
    const char* const named = R"({"additionalProperties": {"anyOf": [{"type": "number"}, {"$ref":
        "#/$defs/x~1y"}]}, "type": "object", "$defs": {"x/y": {"type": "null"}}})";
    EXPECT_TRUE(accepts(named, R"({"a": 1.5, "b": null})"));
    EXPECT_FALSE(accepts(named, R"({"a": true})"));
    EXPECT_TRUE(accepts(R"({"type":"array","maxItems":0})", "[]"));
    EXPECT_FALSE(accepts(R"({"type":"array","maxItems":0})", "[1]"));
    EXPECT_TRUE(accepts("true", R"([{"a":[]}])"));
}

TEST(Grammar, SERVE_16_schemas_that_are_not_supported_are_refused_by_keyword) {
    for (const auto& [schema, says] : std::vector<std::pair<const char*, const char*>>{
             {"[]", "expected an object"},
             {"false", "expected an object"},
             {"{", "the schema"},
             {R"({"type": "text"})", "no type text"},
             {R"({"type": "string", "pattern": "a"})", "'pattern'"},
             {R"({"properties": {"a": {"type": "integer", "minimum": 1}}})",
              "#/properties/a: 'minimum'"},
             {R"({"oneOf": [{}]})", "'oneOf'"},
             {R"({"anyOf": [{}], "type": "object"})", "'type'"},
             {R"({"$ref": "http://a.example/"})", "within it"},
             {R"({"$ref": "#/$defs/a"})", "there is nothing"},
             {R"({"$ref": "#"})", "never ends"},
             {R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})",
              "never ends"},
             {R"({"enum": []})", "'enum'"},
             {R"({"enum": [1], "type": "string"})", "none of its values"},
             {R"({"properties": {}, "required": ["a"]})", "no property a"},
             {R"({"properties": {"a": {}}, "additionalProperties": true})", "expected false"},
             {R"({"type": "string", "minLength": 3, "maxLength": 2})", "below"},
             {R"({"type": "string", "maxLength": 30000})", "too large"},
             {R"({"type": "array", "minItems": -1})", "'minItems'"}}) {
        EXPECT_NE(refusal([&] { Grammar::from_json_schema(schema); }).find(says), std::string::npos)
            << schema << refusal([&] { Grammar::from_json_schema(schema); });
    }
}

}  // namespace
}  // namespace slip::testing
