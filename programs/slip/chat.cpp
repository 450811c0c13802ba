// slip chat: a conversation, line by line.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iomanip>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "programs/slip/command.hpp"
#include "programs/slip/support/interrupts.hpp"
#include "programs/slip/support/line_editor.hpp"
#include "programs/slip/support/model.hpp"
#include "programs/slip/support/nearest.hpp"
#include "programs/slip/support/options.hpp"
#include "programs/slip/support/printable.hpp"
#include "programs/slip/support/sampling.hpp"
#include "slip/chat.hpp"
#include "slip/error.hpp"
#include "slip/sequence.hpp"
#include "slip/text_stream.hpp"

namespace slip::tool {
namespace {

/// A line of its own, of the program's and not of the model's.
void say(const std::string& text) { std::cerr << '(' << text << ')' << std::endl; }

class Conversation {
public:
    Conversation(LanguageModel& model, ChatFormat format, SamplingOptions sampling,
                 const std::string& system)
        : model_(model),
          sequence_(model),
          format_(std::move(format)),
          sampling_(std::move(sampling)) {
        if (!system.empty()) begin_.push_back({ChatMessage::Role::system, system});
        reset();
    }

    void reset() {
        messages_ = begin_;
        told_ = false;
    }

    /// Prints the answer as it comes. What was said is kept, also of an answer that was stopped.
    void answer(const std::string& text) {
        messages_.push_back({ChatMessage::Role::user, text});
        const std::vector<TokenId> prompt = prompt_that_fits();
        if (prompt.size() > model_.max_positions()) {
            messages_.pop_back();
            say("This message does not fit the model's context of " +
                std::to_string(model_.max_positions()) + " tokens.");
            return;
        }
        SamplingOptions sampling = sampling_;
        const std::size_t room = model_.max_positions() - prompt.size() + 1;
        sampling.max_tokens = std::min(sampling.max_tokens, room);
        TextStream stream(model_, prompt);
        std::string said;
        const auto show = [&](const std::string& part) {
            said += part;
            std::cout << part << std::flush;
        };
        sequence_.generate(prompt, sampling, [&](TokenId id, std::span<const float>) {
            if (interrupted() || format_.ends_answer(id)) return false;
            show(stream.push(id));
            return true;
        });
        show(stream.finish());
        std::cout << (interrupted() ? " (stopped)" : "") << std::endl;
        messages_.push_back({ChatMessage::Role::assistant, said});
    }

private:
    /// The conversation, without its oldest turns where it leaves no room for an answer. What the
    /// system was told, and the last message, stay.
    std::vector<TokenId> prompt_that_fits() {
        const std::size_t context = model_.max_positions();
        const std::size_t answer = std::min(sampling_.max_tokens, context / 4);
        std::vector<TokenId> prompt = format_.encode(messages_);
        while (prompt.size() + answer > context && messages_.size() > begin_.size() + 1) {
            const auto oldest = messages_.begin() + static_cast<std::ptrdiff_t>(begin_.size());
            messages_.erase(oldest, oldest + 2);
            prompt = format_.encode(messages_);
            if (std::exchange(told_, true)) continue;
            say("The model's context of " + std::to_string(context) +
                " tokens is full: from now on the oldest turns are forgotten.");
        }
        return prompt;
    }

    LanguageModel& model_;
    Sequence sequence_;  // what was said before is not computed again
    ChatFormat format_;
    SamplingOptions sampling_;
    std::vector<ChatMessage> begin_;
    std::vector<ChatMessage> messages_;
    bool told_ = false;  // that turns are forgotten
};

struct ChatCommand {
    const char* name;
    const char* summary;
};

constexpr std::array chat_commands{
    ChatCommand{"/help", "shows this"},
    ChatCommand{"/reset", "forgets what was said"},
    ChatCommand{"/exit", "ends, as Ctrl-D does"},
};

void print_commands() {
    for (const auto& [name, summary] : chat_commands) {
        std::cout << "  " << std::left << std::setw(8) << name << summary << '\n';
    }
    std::cout << "Ctrl-C stops an answer. A message that begins with / needs a blank before it."
              << std::endl;
}

/// Does what a line that begins with / says. False: it ends the conversation.
bool obey(const std::string& line, Conversation& conversation) {
    if (line == "/exit") return false;
    if (line == "/reset") {
        conversation.reset();
    } else if (line == "/help") {
        print_commands();
    } else {
        std::vector<std::string> names;
        names.reserve(chat_commands.size());
        for (const ChatCommand& command : chat_commands) names.emplace_back(command.name);
        say("There is no command '" + printable(line) + "'" + did_you_mean(line, names) +
            "; /help lists them. Nothing was sent.");
    }
    return true;
}

/// Whose machines the words pass through.
void greet(const Options& options, const LanguageModel& model, const ChatFormat& format) {
    const std::string engine = engine_of(options);
    std::cout << "slip chat: " << options.required(engine == "float" ? "model" : "artifact")
              << ", context " << model.max_positions() << " tokens, chat format " << format.name()
              << ", engine " << engine << ".\nThis machine is the trusted one (Charlie)";
    const char* before = "; untrusted (David): ";
    for (const std::string& david : options.all("david")) {
        std::cout << std::exchange(before, ", ") << printable(david);
    }
    std::cout << ".\nType a message; /help shows what else there is." << std::endl;
}

std::string format_names() {
    std::string names;
    for (const std::string& name : ChatFormat::names()) names += (names.empty() ? "" : ", ") + name;
    return names;
}

SamplingOptions sampling_of(const Options& options) {
    SamplingOptions sampling;
    sampling.max_tokens = options.number_or("max-tokens", most_tokens, 1, 1U << 24);
    sampling.temperature = options.real_or("temperature", 0.7);
    sampling.seed = options.number_or("seed", 0, 0);
    set_choice(options, sampling);
    return sampling;
}

void declare_chat(Options& options) {
    add_model_flags(options);
    options.group("Conversation");
    options.add(
        "chat-format", "NAME",
        "how the model reads conversations (default: what the template in its files shows)");
    options.add("system", "TEXT", "what the model is told before the conversation");
    options.add("max-tokens", "N",
                "of an answer (default: to its end, and at the latest after 4096 or where the "
                "model's context is full)");
    options.add("temperature", "T", "default 0.7; 0: always the likeliest token");
    options.add(
        "history", "FILE",
        "keep the lines that are typed at a terminal for the next time, mode 0600 (default: "
        "in memory only)");
    options.add("seed", "S", "of the random choices (default 0)");
    add_choice_flags(options);
}

/// Until /exit or the end of what `next` gives.
template <class Next>
void converse(Conversation& conversation, const Next& next) {
    while (const std::optional<std::string> line = next()) {
        if (line->empty()) continue;
        if (line->front() != '/') {
            conversation.answer(*line);
        } else if (!obey(*line, conversation)) {
            break;
        }
    }
}

std::optional<std::string> next_line_of_pipe() {
    std::string line;
    if (std::getline(std::cin, line)) return line;
    return std::nullopt;
}

}  // namespace

int chat(const Arguments& arguments) {
    std::string usage = "chat ";
    usage += model_usage;
    Options options(
        usage,
        "Runs on the trusted machine (Charlie). Answers each line of standard input, with all that "
        "was said before in mind; when the context is full, the oldest turns are forgotten. At a "
        "terminal lines can be edited, and the arrows bring back those before. /reset forgets "
        "all, /exit or the end of the input ends, /help shows more; Ctrl-C stops an answer. Chat "
        "formats: " +
            format_names() + ".");
    options.example(
        "slip chat --artifact split --david 127.0.0.1:7401 --tls tls/charlie --chat-format llama2");
    declare_chat(options);
    if (!options.parse(arguments)) return 0;
    const SamplingOptions sampling = sampling_of(options);
    const std::string history = options.file_or_none("history");
    const bool terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
    if (!terminal) options.forbid("history", "where no terminal is");
    auto model = open_model<LanguageModel>(options);
    require_tokenizer(model, "chat");
    const ChatFormat format(model, options.text_or("chat-format", ""));
    Conversation conversation(model, format, sampling, options.text_or("system", ""));
    if (!terminal) {
        converse(conversation, next_line_of_pipe);
        return 0;
    }
    LineEditor editor(history);
    greet(options, model, format);
    converse(conversation, [&] { return editor.next(); });
    editor.keep_history();
    return 0;
}

}  // namespace slip::tool
