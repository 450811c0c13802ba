// What the text of a generation may be.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "slip/error.hpp"
#include "slip/export.hpp"

namespace SLIP_API slip {

/// A generation cannot go on as its grammar wants (SERVE-16): the grammar is too ambiguous, or no
/// token of the model continues the text.
class GrammarError : public BadInput {
public:
    using BadInput::BadInput;
};

struct CallSyntax;
struct Tool;
enum class Calling;

/// A set of texts (SERVE-16). Copies share what they have; any number of threads may use them.
class Grammar {
public:
    /// The texts that rule `root` of a grammar in llama.cpp's notation derives. Throws BadInput,
    /// saying where, if it is malformed, is left-recursive, has a rule that derives no text, or is
    /// too large.
    [[nodiscard]] static Grammar from_gbnf(std::string_view text);
    /// Texts in JSON that the schema, a JSON text, accepts; not every one: objects have their
    /// properties in its order, white space is little. Throws BadInput for a keyword that is not
    /// supported, naming it.
    [[nodiscard]] static Grammar from_json_schema(std::string_view schema);
    /// JSON objects.
    [[nodiscard]] static Grammar json_objects();
    /// Answers of a model that writes calls so, and may call `tools`, or any function if there are
    /// none (SERVE-17): once, or if `several` and its syntax has that, also several times in a row.
    /// Throws as from_json_schema().
    [[nodiscard]] static Grammar of_answers(const CallSyntax& syntax, std::span<const Tool> tools,
                                            Calling calling, bool several);

    Grammar(const Grammar&);                 ///< shares
    Grammar& operator=(const Grammar&);      ///< shares
    Grammar(Grammar&&) noexcept;             ///< leaves one that can only be assigned to
    Grammar& operator=(Grammar&&) noexcept;  ///< leaves one that can only be assigned to
    ~Grammar();

    /// What it was made from, preceded by its kind.
    const std::string& source() const;
    /// Whether `text` is one of the texts.
    [[nodiscard]] bool accepts(std::string_view text) const;

    struct SLIP_HIDDEN State;
    /// For who masks tokens.
    const std::shared_ptr<const State>& state() const { return state_; }

private:
    explicit Grammar(std::shared_ptr<const State> state);
    std::shared_ptr<const State> state_;
};

}  // namespace slip
