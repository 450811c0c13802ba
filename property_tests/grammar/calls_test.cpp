// SERVE-17: answers that call functions, as a grammar allows them and as a reader understands them.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "optimized/grammar/grammar.hpp"
#include "optimized/grammar/matcher.hpp"
#include "optimized/grammar/vocabulary.hpp"
#include "property_tests/generators/refusal.hpp"
#include "slip/tools.hpp"

namespace slip::testing {
namespace {

using nlohmann::json;
using Begin = CallSyntax::Begin;
using Part = CallReader::Part;

constexpr TokenId mark = 300;
const CallSyntax qwen{
    Begin::text,     0, "<tool_call>\n", "arguments", "\n</tool_call>\n<tool_call>\n",
    "\n</tool_call>"};
const CallSyntax llama{Begin::brace, 0, "", "parameters", "", ""};
const CallSyntax mistral{Begin::token, mark, "[", "arguments", ", ", "]", 9};
const std::vector<CallSyntax> syntaxes{qwen, llama, mistral};

const Tool weather{"get_weather", "",
                   R"({"type":"object","properties":{"city":{"type":"string"},"days":)"
                   R"({"enum":[1,2]}},"required":["city"]})"};
const Tool now{"now", "", R"({"type":"object","additionalProperties":false})"};
const std::vector<Tool> tools{weather, now};

/// Whether an answer, before which `token` comes if there is one, is one of the grammar.
bool accepts(const Grammar& grammar, const std::string& text, bool token = false) {
    grammar::Matcher matcher(grammar.state()->program);
    auto state = token ? matcher.after_token(matcher.begin(), mark) : matcher.begin();
    for (const char byte : text) state = matcher.after(state, static_cast<std::uint8_t>(byte));
    return matcher.accepts(state);
}

std::string call(const CallSyntax& syntax, const std::string& name, const std::string& arguments) {
    return R"({"name": ")" + name + "\", \"" + syntax.arguments + "\": " + arguments + "}";
}

std::string calls(const CallSyntax& syntax, const std::vector<std::string>& list) {
    std::string text = syntax.opening;
    for (std::size_t i = 0; i < list.size(); ++i) text += (i == 0 ? "" : syntax.between) + list[i];
    return text + syntax.closing;
}

TEST(Calls, SERVE_17_a_forced_call_fits_its_function) {
    for (const CallSyntax& syntax : syntaxes) {
        const bool token = syntax.begin == Begin::token;
        const Grammar forced = Grammar::of_answers(syntax, tools, Calling::forced, true);
        const auto is_taken = [&](const std::string& name, const std::string& arguments) {
            return accepts(forced, calls(syntax, {call(syntax, name, arguments)}), token);
        };
        EXPECT_TRUE(is_taken("get_weather", R"({"city": "Bonn", "days": 2})"));
        EXPECT_TRUE(is_taken("get_weather", R"({"city": "{\"}"})"));
        EXPECT_TRUE(is_taken("now", "{}"));
        EXPECT_FALSE(is_taken("get_weather", "{}")) << "a property is required";
        EXPECT_FALSE(is_taken("get_weather", R"({"city": "Bonn", "days": 3})"));
        EXPECT_FALSE(is_taken("get_weather", R"({"city": 1})"));
        EXPECT_FALSE(is_taken("now", R"({"a": 1})"));
        EXPECT_FALSE(is_taken("other", "{}"));
        EXPECT_FALSE(accepts(forced, "Hello")) << "text";
        EXPECT_FALSE(accepts(forced, "", token)) << "no call";
        EXPECT_FALSE(accepts(forced, calls(syntax, {}), token)) << "an empty list";
        const auto twice = calls(syntax, {call(syntax, "now", "{}"), call(syntax, "now", "{}")});
        EXPECT_EQ(accepts(forced, twice, token), !syntax.between.empty());
        const Grammar once = Grammar::of_answers(syntax, tools, Calling::forced, false);
        EXPECT_FALSE(accepts(once, twice, token));
    }
    const std::string listed = calls(mistral, {call(mistral, "now", "{}")});
    const Grammar forced = Grammar::of_answers(mistral, tools, Calling::forced, true);
    EXPECT_TRUE(accepts(forced, " " + listed, true)) << "as SentencePiece begins texts";
    EXPECT_FALSE(accepts(forced, listed)) << "without its token";
}

TEST(Calls, SERVE_17_text_is_free_and_what_begins_a_call_has_to_fit) {
    const std::string good = call(qwen, "now", "{}");
    const Grammar free = Grammar::of_answers(qwen, tools, Calling::free, true);
    for (const char* text : {"", "Hello <b>", "<<tool_call", "<tool_call", "<tool <tool_call",
                             "\xc3\xbc {\"name\": 1}", "</tool_call>"}) {
        EXPECT_TRUE(accepts(free, text)) << text;
        EXPECT_TRUE(accepts(free, text + calls(qwen, {good}))) << text;
        EXPECT_TRUE(accepts(free, text + calls(qwen, {good, good}))) << text;
        EXPECT_FALSE(accepts(free, text + calls(qwen, {good}) + "x")) << text;
        EXPECT_FALSE(accepts(free, std::string(text) + "<tool_call>")) << text;
        EXPECT_FALSE(accepts(free, text + calls(qwen, {call(qwen, "other", "{}")}))) << text;
    }
    const Grammar brace = Grammar::of_answers(llama, tools, Calling::free, true);
    EXPECT_TRUE(accepts(brace, call(llama, "now", "{}")));
    for (const char* text : {"", " \n", "Hello {", " x{}"})
        EXPECT_TRUE(accepts(brace, text)) << text;
    for (const char* text : {"{", "{}", " {\"name\": \"now\"}", "{\"name\": \"no\"}"})
        EXPECT_FALSE(accepts(brace, text)) << text;
    const Grammar token = Grammar::of_answers(mistral, tools, Calling::free, true);
    EXPECT_TRUE(accepts(token, "[{ anything"));
    EXPECT_TRUE(accepts(token, calls(mistral, {call(mistral, "now", "{}")}), true));
    EXPECT_FALSE(accepts(token, "anything", true));
}

TEST(Calls, SERVE_17_without_functions_of_the_clients_any_may_be_called) {
    const Grammar any = Grammar::of_answers(qwen, {}, Calling::free, true);
    EXPECT_TRUE(accepts(any, calls(qwen, {call(qwen, "a-B_9", R"({"x": [1]})")})));
    EXPECT_FALSE(accepts(any, calls(qwen, {call(qwen, "a b", "{}")})));
    EXPECT_FALSE(accepts(any, calls(qwen, {call(qwen, std::string(65, 'a'), "{}")})));
    EXPECT_FALSE(accepts(any, calls(qwen, {call(qwen, "a", "[]")})));
}

TEST(Calls, SERVE_17_an_answer_that_may_not_call_reads_as_none) {
    for (const CallSyntax& syntax : syntaxes) {
        const Grammar never = Grammar::of_answers(syntax, tools, Calling::never, true);
        EXPECT_TRUE(accepts(never, "Hello"));
        EXPECT_FALSE(accepts(never, "", true)) << "the token of a call";
        EXPECT_EQ(accepts(never, calls(syntax, {call(syntax, "now", "{}")})),
                  syntax.begin == Begin::token);
    }
}

TEST(Calls, SERVE_17_a_token_comes_where_the_grammar_has_it) {
    const Grammar forced = Grammar::of_answers(mistral, tools, Calling::forced, true);
    std::vector<std::string> bytes(mark + 1);
    for (std::size_t i = 1; i < 256; ++i) bytes[i] = std::string(1, static_cast<char>(i));
    grammar::Constraint constraint(forced.state()->program,
                                   std::make_shared<const grammar::Vocabulary>(bytes), {0}, false);
    const auto allowed = [&] {
        std::vector<TokenId> ids;
        const auto words = constraint.allowed();
        for (TokenId id = 0; id <= mark; ++id) {
            if ((words[static_cast<std::size_t>(id) / 64] >> (id % 64) & 1U) != 0)
                ids.push_back(id);
        }
        return ids;
    };
    EXPECT_EQ(allowed(), std::vector<TokenId>{mark});
    constraint.take(mark);
    EXPECT_EQ(allowed(), (std::vector<TokenId>{' ', '['}));
}

TEST(Calls, SERVE_17_sources_tell_grammars_apart) {
    std::set<std::string> sources;
    for (const Calling calling : {Calling::never, Calling::free, Calling::forced}) {
        for (const bool several : {false, true}) {
            sources.insert(Grammar::of_answers(qwen, tools, calling, several).source());
            sources.insert(Grammar::of_answers(qwen, {}, calling, several).source());
        }
    }
    sources.insert(Grammar::of_answers(llama, tools, Calling::free, true).source());
    EXPECT_EQ(sources.size(), 13U);
}

/// What a reader finds, with neighbours of one kind joined.
std::vector<Part> read(const CallSyntax& syntax, const std::string& text, bool token,
                       const std::vector<std::size_t>& cuts, bool& complete) {
    CallReader reader(syntax);
    std::vector<Part> found;
    const auto add = [&](const std::vector<Part>& parts) {
        for (const Part& part : parts) {
            RC_ASSERT(!part.text.empty());
            if (!found.empty() && found.back().kind == part.kind && part.kind != Part::Kind::call) {
                found.back().text += part.text;
            } else {
                found.push_back(part);
            }
        }
    };
    if (token) reader.on_token(mark);
    std::size_t at = 0;
    for (const std::size_t cut : cuts) {
        const std::size_t size = std::min(cut, text.size() - at);
        add(reader.push(text.substr(at, size)));
        at += size;
    }
    add(reader.push(text.substr(at)));
    add(reader.finish());
    complete = reader.complete();
    return found;
}

std::string drawn_arguments() {
    json object = json::object();
    const auto count = *rc::gen::inRange(0, 3).as("arguments");
    for (int i = 0; i < count; ++i) {
        const std::string value =
            *rc::gen::container<std::string>(rc::gen::elementOf(std::string("{}[]\"\\<>, :a\n")));
        object["a" + std::to_string(i)] = json::array({value, json{{"x", value}}, i});
    }
    return object.dump();
}

RC_GTEST_PROP(Calls, SERVE_17_a_reader_finds_what_was_written, ()) {
    const CallSyntax syntax = *rc::gen::elementOf(syntaxes);
    const int most = syntax.between.empty() ? 2 : 4;
    const auto count = *rc::gen::inRange(0, most).as("calls");
    std::string text;
    if (count == 0 || syntax.begin == Begin::text) {
        text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("<tool_cl>\n x{")));
        if (syntax.begin == Begin::brace) text.insert(0, "x");
        RC_PRE(text.find("<tool_call>") == std::string::npos);
    }
    std::vector<Part> expected;
    std::vector<std::string> list;
    if (!text.empty()) expected.push_back({Part::Kind::text, text});
    for (int i = 0; i < count; ++i) {
        const std::string name = "f" + std::to_string(i);
        const std::string arguments = drawn_arguments();
        list.push_back(call(syntax, name, arguments));
        expected.push_back({Part::Kind::call, name});
        expected.push_back({Part::Kind::arguments, arguments});
    }
    const bool token = count > 0 && syntax.begin == Begin::token;
    std::string answer = text;
    // The end of the line before a call is no part of the text.
    if (count > 0) answer += (text.empty() ? "" : "\n") + calls(syntax, list);
    const Grammar grammar = Grammar::of_answers(syntax, {}, Calling::free, true);
    RC_ASSERT(accepts(grammar, answer, token));
    const auto cuts = *rc::gen::container<std::vector<std::size_t>>(
        rc::gen::inRange<std::size_t>(0, answer.size() + 1));
    bool complete = false;
    const auto found = read(syntax, answer, token, cuts, complete);
    RC_ASSERT(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        RC_ASSERT(found[i].kind == expected[i].kind);
        RC_ASSERT(found[i].text == expected[i].text);
    }
    RC_ASSERT(complete == (count > 0));
    // Of an answer that was cut off, whatever was told stands, and the last call is not complete.
    if (count == 0 || list.size() > 1) return;
    const auto length = *rc::gen::inRange<std::size_t>(0, answer.size()).as("length");
    const auto less = read(syntax, answer.substr(0, length), token, {}, complete);
    RC_ASSERT(!complete);
    // Less than the mark that begins a call is text.
    const std::size_t end_of_mark = syntax.opening.find('>') + 1;
    if (syntax.begin == Begin::text && text.empty() && length > 0 && length < end_of_mark) {
        RC_ASSERT(less.size() == 1U);
        RC_ASSERT(less.front().kind == Part::Kind::text);
        RC_ASSERT(less.front().text == answer.substr(0, length));
        return;
    }
    RC_ASSERT(less.size() <= expected.size());
    for (std::size_t i = 0; i < less.size(); ++i) {
        RC_ASSERT(less[i].kind == expected[i].kind);
        RC_ASSERT(less[i].kind == Part::Kind::text || expected[i].text.starts_with(less[i].text));
    }
}

}  // namespace
}  // namespace slip::testing
