// SERVE-17: the answers of a model that may call functions.
#include <utility>

#include "optimized/grammar/grammar.hpp"
#include "optimized/grammar/rules.hpp"
#include "slip/tools.hpp"

namespace slip {
namespace {

using grammar::bytes;
using grammar::choice;
using grammar::Expression;
using grammar::repeat;
using grammar::rule;
using grammar::Rules;
using grammar::sequence;

constexpr char32_t last_character = 0x10ffff;
constexpr std::size_t longest_name = 64;

/// Every character but these, which are in ascending order.
Expression all_but(std::u32string_view characters) {
    Expression others{Expression::Kind::characters};
    char32_t next = 0;
    for (const char32_t one : characters) {
        if (one > next) others.ranges.emplace_back(next, one - 1);
        next = one + 1;
    }
    others.ranges.emplace_back(next, last_character);
    return others;
}

/// Any text in which `mark` does not stand, and, with `behind`, what follows the first that does.
/// `mark` begins with '<', which comes in it once, and its other characters are greater. Rule
/// mark-i: its first i characters have come.
void add_text_without(std::string_view mark, const Expression* behind, Rules& rules) {
    const auto name = [](std::size_t i) { return "mark-" + std::to_string(i); };
    for (std::size_t i = 0; i < mark.size(); ++i) {
        std::u32string apart(1, U'<');
        if (i > 0) apart += static_cast<char32_t>(mark[i]);
        std::vector<Expression> ways{sequence({}), sequence({all_but(apart), rule(name(0))})};
        if (i > 0) ways.push_back(sequence({bytes("<"), rule(name(1))}));
        const std::string one(1, mark[i]);
        if (i + 1 < mark.size()) {
            ways.push_back(sequence({bytes(one), rule(name(i + 1))}));
        } else if (behind != nullptr) {
            ways.push_back(sequence({bytes(one), *behind}));
        }
        rules[name(i)] = choice(std::move(ways));
    }
}

/// Any text that does not begin with a brace, be it behind white space.
Expression text_without_brace() {
    Expression space{Expression::Kind::characters};
    space.ranges = {{U'\t', U'\n'}, {U'\r', U'\r'}, {U' ', U' '}};
    return sequence(
        {repeat(space, 0), repeat(sequence({all_but(U"\t\n\r {"), repeat(all_but({}), 0)}), 0, 1)});
}

/// The call of one function.
Expression call_of(const CallSyntax& syntax, Expression name, const std::string& arguments) {
    return sequence({bytes(R"({"name": ")"), std::move(name),
                     bytes("\", \"" + syntax.arguments + "\": "), rule(arguments), bytes("}")});
}

/// The rule "call".
void add_call(const CallSyntax& syntax, std::span<const Tool> tools, Rules& rules) {
    std::vector<Expression> calls;
    for (const Tool& tool : tools) {
        std::string arguments = "json-object";
        if (tool.parameters) {
            arguments = "tool-" + std::to_string(calls.size());
            rules.merge(grammar::rules_of_schema(*tool.parameters, arguments));
        }
        calls.push_back(call_of(syntax, bytes(tool.name), arguments));
    }
    if (tools.empty()) {
        Expression letter{Expression::Kind::characters};
        letter.ranges = {{'-', '-'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
        calls.push_back(call_of(syntax, repeat(letter, 1, longest_name), "json-object"));
    }
    rules["call"] = choice(std::move(calls));
}

/// What a model may write instead of a call, or before one if its syntax has that.
void add_text(const CallSyntax& syntax, const Expression* calls, Rules& rules) {
    using Begin = CallSyntax::Begin;
    if (syntax.begin == Begin::text) {
        const std::string_view opening = syntax.opening;
        const std::size_t mark = opening.find('>') + 1;
        if (calls == nullptr) return add_text_without(opening.substr(0, mark), nullptr, rules);
        const Expression rest = sequence({bytes(std::string(opening.substr(mark))), *calls});
        return add_text_without(opening.substr(0, mark), &rest, rules);
    }
    const Expression text =
        syntax.begin == Begin::brace ? text_without_brace() : repeat(all_but({}), 0);
    rules["mark-0"] = text;
}

std::string described(const CallSyntax& syntax, std::span<const Tool> tools, Calling calling,
                      bool several) {
    std::string source = "calls " + std::to_string(static_cast<int>(calling)) +
                         (several ? " several " : " one ") + syntax.opening;
    for (const Tool& tool : tools) {
        source += '\n' + tool.name + ' ' + tool.parameters.value_or("any");
    }
    return source;
}

}  // namespace

Grammar Grammar::of_answers(const CallSyntax& syntax, std::span<const Tool> tools, Calling calling,
                            bool several) {
    using Begin = CallSyntax::Begin;
    Rules rules = grammar::json_rules();
    Expression calls = rule("call");
    if (several && !syntax.between.empty()) {
        calls = sequence({calls, repeat(sequence({bytes(syntax.between), rule("call")}), 0)});
    }
    calls = sequence({std::move(calls), bytes(syntax.closing)});
    add_call(syntax, tools, rules);
    add_text(syntax, calling == Calling::free ? &calls : nullptr, rules);
    Expression only_calls = sequence({bytes(syntax.opening), calls});
    if (syntax.begin == Begin::token) {
        // Tokenizers of SentencePiece begin a text with a space.
        only_calls = sequence({grammar::token(syntax.token), repeat(bytes(" "), 0, 1), only_calls});
    }
    if (calling == Calling::forced) {
        rules["root"] = only_calls;
    } else if (calling == Calling::free && syntax.begin != Begin::text) {
        rules["root"] = choice({rule("mark-0"), only_calls});
    } else {
        rules["root"] = rule("mark-0");
    }
    return Grammar(grammar::state_of(described(syntax, tools, calling, several), rules));
}

}  // namespace slip
