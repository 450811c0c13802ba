// Lines that a user types at a terminal: edited, and with those before at hand (libedit).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace slip::tool {

/// One at a time in a process; standard input and output are a terminal. Ctrl-C is caught.
class LineEditor {
public:
    /// `history`: a file of lines that were typed before, which is written again at the end; empty:
    /// what is typed stays in memory, for it is as private as a prompt. Throws BadInput if it
    /// cannot be read.
    explicit LineEditor(std::filesystem::path history);
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;
    ~LineEditor();

    /// The next line, without its end; nothing at the end of the input. Ctrl-C empties the line.
    std::optional<std::string> next();
    /// Writes the file of the history, mode 0600, if there is one.
    void keep_history() const;

private:
    struct Libedit;

    void read_history();
    void remember(const std::string& line);

    const std::filesystem::path file_;
    std::unique_ptr<Libedit> libedit_;
};

}  // namespace slip::tool
