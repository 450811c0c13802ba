#include "programs/slip/support/line_editor.hpp"

#include <histedit.h>
#include <locale.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cwchar>
#include <iostream>
#include <span>
#include <sstream>
#include <utility>

#include "optimized/base/files.hpp"
#include "programs/slip/support/interrupts.hpp"
#include "slip/error.hpp"

namespace slip::tool {
namespace {

constexpr int most_lines = 1000;
constexpr std::size_t longest_file = std::size_t{1} << 24;

char* prompt(EditLine*) {
    static std::array<char, 3> text{'>', ' ', '\0'};
    return text.data();
}

/// One byte of standard input; 0: the end, -1: Ctrl-C or an error.
int read_byte(char& byte) {
    ssize_t got = -1;
    do {
        if (!wait_for_input()) return -1;
        got = ::read(STDIN_FILENO, &byte, 1);
    } while (got < 0 && errno == EINTR);
    return static_cast<int>(got);
}

/// What libedit calls for a character. Its own would not return at Ctrl-C.
int read_character(EditLine*, wchar_t* character) {
    std::mbstate_t state{};
    char byte = 0;
    while (true) {
        const int got = read_byte(byte);
        if (got != 1) return got;
        const std::size_t read = std::mbrtowc(character, &byte, 1, &state);
        if (read == 0 || read == 1) return 1;
        if (read == static_cast<std::size_t>(-1)) state = {};  // no UTF-8: dropped
    }
}

/// Characters are UTF-8 in this thread, as in all that SLIP reads and writes.
class InUtf8 {
public:
    InUtf8() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
        if (locale_ == nullptr) throw BadInput("this system has no locale C.UTF-8");
        before_ = uselocale(locale_);
    }
    InUtf8(const InUtf8&) = delete;
    InUtf8& operator=(const InUtf8&) = delete;
    ~InUtf8() {
        uselocale(before_);
        freelocale(locale_);
    }

private:
    locale_t locale_;
    locale_t before_ = nullptr;
};

}  // namespace

/// What the C library is asked for, and what it gives back.
struct LineEditor::Libedit {
    Libedit() : edit(el_init("slip", stdin, stdout, stderr)), lines(history_init()) {
        if (edit == nullptr || lines == nullptr) throw BadInput("the terminal cannot be used");
        HistEvent event;
        history(lines, &event, H_SETSIZE, most_lines);
        history(lines, &event, H_SETUNIQUE, 1);
        el_set(edit, EL_PROMPT, prompt);
        el_set(edit, EL_EDITOR, "emacs");
        el_set(edit, EL_SIGNAL, 0);
        el_set(edit, EL_GETCFN, read_character);
        el_set(edit, EL_HIST, history, lines);
    }
    Libedit(const Libedit&) = delete;
    Libedit& operator=(const Libedit&) = delete;
    ~Libedit() {
        if (lines != nullptr) history_end(lines);
        if (edit != nullptr) el_end(edit);
    }

    InUtf8 in_utf8;
    EditLine* edit;
    History* lines;
};

LineEditor::LineEditor(std::filesystem::path history) : file_(std::move(history)) {
    catch_interrupts();
    libedit_ = std::make_unique<Libedit>();
    read_history();
}

LineEditor::~LineEditor() = default;

void LineEditor::read_history() {
    if (file_.empty() || !std::filesystem::exists(file_)) return;
    std::istringstream lines(base::read_file(file_, longest_file));
    for (std::string line; std::getline(lines, line);) remember(line);
}

void LineEditor::remember(const std::string& line) {
    HistEvent event;
    if (!line.empty()) history(libedit_->lines, &event, H_ENTER, line.c_str());
}

std::optional<std::string> LineEditor::next() {
    while (true) {
        forget_interrupts();
        el_resize(libedit_->edit);
        int count = 0;
        const char* typed = el_gets(libedit_->edit, &count);
        if (typed == nullptr || count <= 0) {
            std::cout << std::endl;
            if (interrupted()) continue;
            return std::nullopt;
        }
        std::string line(typed);
        while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
        remember(line);
        return line;
    }
}

void LineEditor::keep_history() const {
    if (file_.empty()) return;
    std::string text;
    HistEvent event;
    for (int more = history(libedit_->lines, &event, H_LAST); more >= 0;
         more = history(libedit_->lines, &event, H_PREV)) {
        text.append(event.str).append("\n");
    }
    base::StagedFile file(file_, base::StagedFile::Existing::replace);
    file.append(std::as_bytes(std::span(text)));
    file.commit();
}

}  // namespace slip::tool
