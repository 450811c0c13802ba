// Conversations with models that were trained for them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "slip/export.hpp"
#include "slip/language_model.hpp"
#include "slip/tools.hpp"
#include "slip/types.hpp"

namespace SLIP_API slip {

/// One message of a conversation.
struct ChatMessage {
    /// Whose words they are. A system message instructs the assistant; a tool's is the result of a
    /// call.
    enum class Role { system, user, assistant, tool };
    Role role = Role::user;            ///< whose message it is
    std::string text;                  ///< special tokens in it are not interpreted
    std::vector<ToolCall> calls = {};  ///< of an assistant, behind the text
    std::string call_id = {};          ///< of a tool: the call whose result the text is
};

/// The way in which a model was taught to read conversations (MODEL-18).
class ChatFormat {
public:
    /// `name` is one of names(), or empty for the format that the template of the model's files
    /// shows. The model outlives this. Throws BadInput if the name is unknown, if the files have no
    /// template or one of no known format, and if the tokenizer lacks a token of the format.
    explicit ChatFormat(const LanguageModel& model, const std::string& name = {});

    /// "chatml", "gemma", "llama2", "llama3", "mistral", "phi3".
    [[nodiscard]] static std::vector<std::string> names();
    /// One of names().
    const std::string& name() const { return name_; }

    /// The ids of a conversation, up to where the assistant's next answer begins. Throws BadInput
    /// unless a system message, if there is one, comes first, and then messages of user and
    /// assistant, the user's first and last. Where the format has them take turns, neighbours of
    /// one of them are joined.
    ///
    /// Where call_syntax() says how the model writes calls, a conversation may have them and offer
    /// `tools` (SERVE-17); otherwise that is BadInput. Behind an assistant's calls come their
    /// results, one for each, and then others' messages or the end. Throws BadInput for arguments
    /// that are no JSON.
    [[nodiscard]] std::vector<TokenId> encode(std::span<const ChatMessage> messages,
                                              std::span<const Tool> tools = {}) const;
    /// How the model writes calls, if the template of its files has them.
    const std::optional<CallSyntax>& call_syntax() const { return syntax_; }
    /// The token that ends an answer.
    TokenId end_of_answer() const { return end_; }
    /// Whether a generated token ends the answer.
    bool ends_answer(TokenId id) const { return id == end_; }

private:
    struct SLIP_HIDDEN Style;
    const LanguageModel* model_;
    std::string name_;
    std::shared_ptr<const Style> style_;  // of tools; null: the template has none
    std::optional<CallSyntax> syntax_;
    TokenId end_ = 0;
};

}  // namespace slip
