#include "optimized/grammar/grammar.hpp"

#include <utility>

#include "optimized/grammar/matcher.hpp"
#include "optimized/import/utf8.hpp"
#include "slip/error.hpp"

namespace slip {

std::shared_ptr<const Grammar::State> grammar::state_of(std::string source, const Rules& rules) {
    return std::make_shared<const Grammar::State>(
        Grammar::State{std::move(source), std::make_shared<const Program>(compile(rules))});
}

namespace {

using grammar::state_of;

constexpr std::size_t largest_source = std::size_t{1} << 16;

void require_size(std::string_view text) {
    if (text.size() > largest_source) throw BadInput("the grammar has more than 65536 bytes");
    if (importing::utf8_prefix(text) != text.size()) throw BadInput("the grammar is not UTF-8");
}

}  // namespace

Grammar::Grammar(std::shared_ptr<const State> state) : state_(std::move(state)) {}
Grammar::Grammar(const Grammar&) = default;
Grammar& Grammar::operator=(const Grammar&) = default;
Grammar::Grammar(Grammar&&) noexcept = default;
Grammar& Grammar::operator=(Grammar&&) noexcept = default;
Grammar::~Grammar() = default;

Grammar Grammar::from_gbnf(std::string_view text) {
    require_size(text);
    return Grammar(state_of("gbnf " + std::string(text), grammar::parse_gbnf(text)));
}

Grammar Grammar::from_json_schema(std::string_view schema) {
    require_size(schema);
    return Grammar(state_of("schema " + std::string(schema), grammar::rules_of_schema(schema)));
}

Grammar Grammar::json_objects() {
    grammar::Rules rules = grammar::json_rules();
    rules["root"] = grammar::rule("json-object");
    static const auto state = state_of("json objects", rules);
    return Grammar(state);
}

const std::string& Grammar::source() const { return state_->source; }

bool Grammar::accepts(std::string_view text) const {
    grammar::Matcher matcher(state_->program);
    auto state = matcher.begin();
    for (const char byte : text) {
        state = matcher.after(state, static_cast<std::uint8_t>(byte));
        if (matcher.keeps_many()) state = matcher.forget_but(state);
    }
    return matcher.accepts(state);
}

}  // namespace slip
