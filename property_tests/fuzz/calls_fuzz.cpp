// Answers with calls, as CallReader reads them: of any text it shows no byte twice; of an answer of
// the grammar that constrains it (SERVE-17), and of the beginning of one, it finds what was
// written, however the answer is cut. The first byte of an input says which syntax, whether the
// token of calls comes first, and into which pieces the rest, the answer, is cut.
#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "optimized/grammar/grammar.hpp"
#include "optimized/grammar/matcher.hpp"
#include "property_tests/fuzz/fuzz.hpp"
#include "slip/tools.hpp"

namespace slip::fuzz::calls_fuzz {
namespace {

using Begin = CallSyntax::Begin;
using Kind = CallReader::Part::Kind;
using Parts = std::vector<CallReader::Part>;

constexpr TokenId mark = 300;
constexpr unsigned token_bit = 4;  // of the first byte; below it the syntax, above it the pieces

/// A syntax, and the grammar of answers that may call any function.
struct Family {
    CallSyntax syntax;
    std::shared_ptr<const grammar::Program> answers;

    explicit Family(const CallSyntax& own)
        : syntax(own),
          answers(Grammar::of_answers(syntax, {}, Calling::free, true).state()->program) {}
};

/// Qwen's, Llama's and Mistral's.
const std::array<Family, 3>& families() {
    static const std::array<Family, 3> all{
        Family({Begin::text, 0, "<tool_call>\n", "arguments", "\n</tool_call>\n<tool_call>\n",
                "\n</tool_call>"}),
        Family({Begin::brace, 0, "", "parameters", "", ""}),
        Family({Begin::token, mark, "[", "arguments", ", ", "]", 9})};
    return all;
}

struct Reading {
    Parts parts;  // neighbours of one kind joined
    bool complete = false;
    bool operator==(const Reading& other) const {
        const auto same = [](const auto& a, const auto& b) {
            return a.kind == b.kind && a.text == b.text;
        };
        return complete == other.complete && std::ranges::equal(parts, other.parts, same);
    }
};

/// `piece`: bytes at a time; 0: all at once.
Reading read(const CallSyntax& syntax, bool token, std::string_view answer, std::size_t piece) {
    CallReader reader(syntax);
    Reading reading;
    const auto add = [&](const Parts& parts) {
        for (const CallReader::Part& part : parts) {
            expect(!part.text.empty(), "an empty part");
            const bool joins = !reading.parts.empty() && reading.parts.back().kind == part.kind;
            if (joins) {
                expect(part.kind != Kind::call, "a call without arguments before the next");
                reading.parts.back().text += part.text;
            } else {
                reading.parts.push_back(part);
            }
        }
    };
    if (token) reader.on_token(mark);
    if (piece == 0) piece = answer.size();
    for (std::size_t at = 0; at < answer.size(); at += piece)
        add(reader.push(answer.substr(at, piece)));
    add(reader.finish());
    reading.complete = reader.complete();
    return reading;
}

bool is_name(std::string_view text) {
    return text.size() <= 64 && std::ranges::all_of(text, [](char letter) {
               return letter == '_' || letter == '-' || (letter >= '0' && letter <= '9') ||
                      (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z');
           });
}

/// Text, then calls, each a name and its arguments, which the last may be without.
void check_order(const Parts& parts, bool complete) {
    const std::size_t first = !parts.empty() && parts[0].kind == Kind::text ? 1 : 0;
    for (std::size_t i = first; i < parts.size(); ++i) {
        const bool is_call = (i - first) % 2 == 0;
        expect(parts[i].kind == (is_call ? Kind::call : Kind::arguments), "parts out of order");
        if (is_call) expect(is_name(parts[i].text), "a name that is none");
        const bool cut = !complete && i + 1 == parts.size();
        if (is_call || cut) continue;
        expect(parts[i].text.starts_with('{') && nlohmann::json::accept(parts[i].text),
               "arguments that are no object");
    }
    const bool ends_with_arguments = !parts.empty() && parts.back().kind == Kind::arguments;
    expect(!complete || ends_with_arguments, "a complete call without arguments");
}

/// Takes what `text` begins with, which must be `expected` or, of a text that ends before it, its
/// beginning.
void take(std::string_view& text, std::string_view expected, const char* what) {
    const std::size_t size = std::min(text.size(), expected.size());
    expect(text.substr(0, size) == expected.substr(0, size), what);
    text.remove_prefix(size);
}

/// Calls are not shown as text.
void check_text(const CallSyntax& syntax, bool token, const Parts& parts, std::string_view answer) {
    if (parts.empty() || parts.front().kind != Kind::text) return;
    expect(!token, "text behind the token of calls");
    expect(syntax.begin != Begin::brace || !answer.starts_with('{'), "a call is shown as text");
    const bool marked = parts.front().text.find("<tool_call>") != std::string::npos;
    expect(syntax.begin != Begin::text || !marked, "the mark of a call is shown as text");
}

/// What was read, written again, is the answer, of which the end may be held back.
void check_content(const CallSyntax& syntax, const Reading& reading, std::string_view answer) {
    std::string_view rest = answer;
    bool called = false;
    for (const CallReader::Part& part : reading.parts) {
        if (part.kind == Kind::call) {
            const bool apart = rest.starts_with('\n') || rest.starts_with(' ');
            if (!called && apart && syntax.begin != Begin::brace) rest.remove_prefix(1);
            take(rest, called ? '}' + syntax.between : syntax.opening, "what comes before a call");
            take(rest, R"({"name": ")", "the head of a call");
            called = true;
        }
        expect(rest.starts_with(part.text), "a part that the answer has not at its place");
        rest.remove_prefix(part.text.size());
        if (part.kind == Kind::call) {
            take(rest, "\", \"" + syntax.arguments + "\": ", "what comes before arguments");
        }
    }
    if (called) {
        const bool goes_on = !syntax.between.empty() && rest.starts_with('}' + syntax.between);
        const bool closed = !goes_on && rest.starts_with('}' + syntax.closing);
        expect(closed == reading.complete, "a call is complete before it is closed, or is not");
        take(rest, '}' + (closed ? syntax.closing : syntax.between), "what ends a call");
    } else if (!rest.empty() && syntax.begin == Begin::text) {
        if (rest.starts_with('\n')) rest.remove_prefix(1);
        expect(rest.starts_with("<tool_call>"), "text is held back");
    } else if (syntax.begin == Begin::brace) {
        expect(rest.empty() || answer.starts_with('{'), "text is held back");
    }
}

/// As the grammar sees an answer.
enum class Standing { wrong, beginning, whole };

Standing standing_of(const Family& family, bool token, std::string_view answer) {
    grammar::Matcher matcher(family.answers);
    auto state = matcher.begin();
    if (token) state = matcher.after_token(state, mark);
    for (const char byte : answer) state = matcher.after(state, static_cast<std::uint8_t>(byte));
    if (matcher.accepts(state)) return Standing::whole;
    return matcher.goes_on(state) ? Standing::beginning : Standing::wrong;
}

}  // namespace

const std::size_t allowance = std::size_t{1} << 16;

std::vector<Bytes> seeds() {
    const auto seed = [](unsigned first, std::string_view answer) {
        return bytes_of(static_cast<char>(first) + std::string(answer));
    };
    const std::string call = R"({"name": "f", "arguments": {"a": ["}\"", {"b": 1}]}})";
    const std::string qwen = "<tool_call>\n" + call + "\n</tool_call>";
    return {seed(0, "Hello <b>"),
            seed(8, "Hello\n" + qwen),
            seed(24, qwen + '\n' + qwen),
            seed(1, "Hello {"),
            seed(9, R"({"name": "get-it_9", "parameters": {}})"),
            seed(2, "[" + call),
            seed(14, " [" + call + ", " + call + "]")};
}

bool check(std::span<const std::byte> input) {
    if (input.empty()) return false;
    const auto first = std::to_integer<unsigned>(input.front());
    const std::string_view answer = text_of(input.subspan(1));
    const Family& family = families()[first % token_bit % families().size()];
    const bool token = family.syntax.begin == Begin::token && (first & token_bit) != 0;
    const Reading cut = read(family.syntax, token, answer, first / (2 * token_bit));
    std::size_t shown = 0;
    for (const CallReader::Part& part : cut.parts) shown += part.text.size();
    expect(shown <= answer.size(), "more is shown than has come");
    const Standing standing = standing_of(family, token, answer);
    if (standing == Standing::wrong) return false;
    expect(cut == read(family.syntax, token, answer, 0), "the cuts change what is read");
    check_order(cut.parts, cut.complete);
    check_text(family.syntax, token, cut.parts, answer);
    check_content(family.syntax, cut, answer);
    const bool called = !cut.parts.empty() && cut.parts.back().kind != Kind::text;
    if (standing == Standing::whole) expect(cut.complete == called, "a whole answer's call is cut");
    return true;
}

const Target target{"calls_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::calls_fuzz
