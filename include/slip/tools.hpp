// Functions that a model may call in its answers (SERVE-17).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "slip/export.hpp"
#include "slip/types.hpp"

namespace SLIP_API slip {

/// A function that a conversation offers to the model.
struct Tool {
    std::string name;  ///< of 1 to 64 letters, digits, '_' and '-'
    /// What the model reads of it, as its author wrote it: an object in JSON with "type", which is
    /// "function", and "function", an object with "name", "description" and "parameters".
    std::string definition;
    /// The JSON schema that arguments of a constrained call fit; none: any object.
    std::optional<std::string> parameters;
};

/// A call that an assistant has made.
struct ToolCall {
    std::string id;         ///< by which the result names it
    std::string name;       ///< of the function
    std::string arguments;  ///< an object in JSON
};

/// How a model writes calls:
/// `opening {"name": "NAME", "ARGUMENTS": {...}} between {"name": ... }} closing`.
struct CallSyntax {
    /// Where calls may begin, and with what.
    enum class Begin {
        token,  ///< with a special token, instead of text
        text,   ///< behind any text, with `opening`
        brace,  ///< instead of text; text does not begin with a brace
    };
    Begin begin = Begin::text;  ///< where calls may begin
    TokenId token = 0;          ///< that begins them, if one does
    std::string opening;        ///< before the first call, behind the token
    std::string arguments;      ///< the name under which the arguments stand
    std::string between;        ///< between two calls; empty: an answer has one at most
    std::string closing;        ///< behind the last call
    std::size_t id_length = 0;  ///< of the ids of calls; 0: any
};

/// Whether an answer may call, or has to.
enum class Calling {
    never,   ///< no text of an answer reads as a call
    free,    ///< text, calls, or both
    forced,  ///< calls alone
};

/// Tells text and calls of an answer apart, while it comes. The answer is one of
/// Grammar::of_answers(), or the beginning of one.
class CallReader {
public:
    /// Something that an answer has.
    struct Part {
        /// The kinds of parts.
        enum class Kind {
            text,       ///< some text
            call,       ///< the name of the next call
            arguments,  ///< some of the arguments of the latest call
        };
        Kind kind = Kind::text;  ///< what it is
        std::string text;        ///< not empty
    };

    /// For one answer.
    explicit CallReader(CallSyntax syntax) : syntax_(std::move(syntax)) {}

    /// Takes a special token.
    void on_token(TokenId id);
    /// Takes more text, and returns what is certain now. What may be the beginning of a call is
    /// held back.
    std::vector<Part> push(std::string_view text);
    /// What was held back and is text.
    std::vector<Part> finish();
    /// Whether the answer has called, and its last call is complete.
    bool complete() const { return state_ == State::behind && !open_; }

private:
    enum class State { begin, text, opening, head, arguments, behind };
    bool step(std::vector<Part>& parts);
    bool step_text(std::vector<Part>& parts);
    bool step_head(std::vector<Part>& parts);
    bool step_arguments(std::vector<Part>& parts);
    bool step_behind();
    void show(std::vector<Part>& parts, Part::Kind kind, std::size_t bytes);

    CallSyntax syntax_;
    State state_ = State::begin;
    std::string held_;        // not read yet
    bool open_ = true;        // the call, or what closes it
    std::size_t depth_ = 0;   // of the arguments' objects and lists
    bool in_string_ = false;  // of the arguments
    bool escaped_ = false;    // the next character of it
};

}  // namespace slip
