// slip chat: a conversation, line by line.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "programs/slip/command.hpp"
#include "programs/slip/model.hpp"
#include "programs/slip/options.hpp"
#include "programs/slip/sampling.hpp"
#include "slip/chat.hpp"
#include "slip/error.hpp"
#include "slip/sequence.hpp"
#include "slip/text_stream.hpp"

namespace slip::tool {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
/// A pipe that a signal writes to, so that whoever waits for a line learns of it.
std::array<int, 2> wake{-1, -1};

extern "C" void note_interrupt(int) {
    const int number = errno;
    interrupted = true;
    [[maybe_unused]] const ssize_t written = ::write(wake[1], "", 1);  // a full pipe wakes as well
    errno = number;
}

/// At a terminal, Ctrl-C stops an answer, or what is being typed, and not the program.
void catch_interrupts() {
    if (::pipe2(wake.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw BadInput("there is no pipe left");
    struct sigaction action {};
    action.sa_handler = note_interrupt;
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, nullptr);
}

/// Waits until a line, or the end of the input, can be read; false: until Ctrl-C.
bool wait_for_line() {
    std::array<pollfd, 2> sources{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{wake[0], POLLIN, 0}};
    while (::poll(sources.data(), sources.size(), -1) < 0 && errno == EINTR) {
    }
    return sources[1].revents == 0;
}

void forget_interrupts() {
    std::array<char, 64> bytes;
    while (::read(wake[0], bytes.data(), bytes.size()) > 0) {
    }
    interrupted = false;
}

/// The next line of standard input; nothing at its end.
std::optional<std::string> read_line(bool terminal) {
    while (terminal) {
        forget_interrupts();
        std::cout << "> " << std::flush;
        if (wait_for_line()) break;
        std::cout << std::endl;
    }
    std::string line;
    if (std::getline(std::cin, line)) return line;
    return std::nullopt;
}

class Conversation {
public:
    Conversation(LanguageModel& model, ChatFormat format, SamplingOptions sampling,
                 const std::string& system)
        : model_(model), sequence_(model), format_(std::move(format)), sampling_(sampling) {
        if (!system.empty()) begin_.push_back({ChatMessage::Role::system, system});
        reset();
    }

    void reset() { messages_ = begin_; }

    /// Prints the answer as it comes. What was said is kept, also of an answer that was stopped.
    void answer(const std::string& text) {
        messages_.push_back({ChatMessage::Role::user, text});
        const std::vector<TokenId> prompt = format_.encode(messages_);
        if (prompt.size() >= model_.max_positions()) {
            messages_.pop_back();
            std::cout << "(The conversation no longer fits the model's " << model_.max_positions()
                      << " positions: /reset begins a new one.)" << std::endl;
            return;
        }
        SamplingOptions sampling = sampling_;
        const std::size_t room = model_.max_positions() - prompt.size();
        sampling.max_tokens = std::min(sampling.max_tokens, room);
        TextStream stream(model_, prompt);
        std::string said;
        const auto show = [&](const std::string& part) {
            said += part;
            std::cout << part << std::flush;
        };
        sequence_.generate(prompt, sampling, [&](TokenId id, std::span<const float>) {
            if (interrupted || format_.ends_answer(id)) return false;
            show(stream.push(id));
            return true;
        });
        show(stream.finish());
        std::cout << (interrupted ? " (stopped)" : "") << std::endl;
        messages_.push_back({ChatMessage::Role::assistant, said});
    }

private:
    LanguageModel& model_;
    Sequence sequence_;  // what was said before is not computed again
    ChatFormat format_;
    SamplingOptions sampling_;
    std::vector<ChatMessage> begin_;
    std::vector<ChatMessage> messages_;
};

std::string format_names() {
    std::string names;
    for (const std::string& name : ChatFormat::names()) names += (names.empty() ? "" : ", ") + name;
    return names;
}

SamplingOptions sampling_of(const Options& options) {
    SamplingOptions sampling;
    sampling.max_tokens = options.number_or("max-tokens", 1024, 1, 1U << 24);
    sampling.temperature = options.real_or("temperature", 0.7);
    sampling.seed = options.number_or("seed", 0, 0);
    set_choice(options, sampling);
    return sampling;
}

void declare(Options& options) {
    add_model_flags(options);
    options.group("Conversation");
    options.add(
        "chat-format", "NAME",
        "how the model reads conversations (default: what the template in its files shows)");
    options.add("system", "TEXT", "what the model is told before the conversation");
    options.add("max-tokens", "N", "of an answer (default 1024)");
    options.add("temperature", "T", "default 0.7; 0: always the likeliest token");
    options.add("seed", "S", "of the random choices (default 0)");
    add_choice_flags(options);
}

}  // namespace

int chat(const Arguments& arguments) {
    std::string description =
        "Runs on the trusted machine (Charlie). Answers each line of standard input, with all that "
        "was said before in mind. /reset "
        "forgets "
        "it, /exit or the end of the input ends; Ctrl-C stops an answer. Chat formats: ";
    description += format_names();
    std::string usage = "chat ";
    usage += model_usage;
    Options options(usage, description);
    options.example(
        "slip chat --artifact split --david 127.0.0.1:7401 --tls tls/charlie --chat-format llama2");
    declare(options);
    if (!options.parse(arguments)) return 0;
    const SamplingOptions sampling = sampling_of(options);
    auto model = open_model<LanguageModel>(options);
    require_tokenizer(model, "chat");
    Conversation conversation(model, ChatFormat(model, options.text_or("chat-format", "")),
                              sampling, options.text_or("system", ""));
    const bool terminal = isatty(STDIN_FILENO) != 0;
    if (terminal) catch_interrupts();
    while (const std::optional<std::string> line = read_line(terminal)) {
        if (line->empty()) continue;
        if (*line == "/exit") break;
        if (*line == "/reset") {
            conversation.reset();
        } else {
            conversation.answer(*line);
        }
    }
    return 0;
}

}  // namespace slip::tool
