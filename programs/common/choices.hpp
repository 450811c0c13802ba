// Files of multiple-choice questions (MODEL-12).
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace slip::tool {

struct Question {
    std::string context;
    std::vector<std::string> endings;  // at least two, none empty
    std::size_t answer = 0;
};

/// Reads questions in one of two forms. HellaSwag: six lines a question, which are the context, the
/// number of the right ending from 0, and four endings. ARC: one JSON object per line, with
/// "query", "choices" and "gold"; the context is the query and "\nAnswer:". Throws BadInput, naming
/// the file and the line.
std::vector<Question> read_questions(const std::filesystem::path& path);

}  // namespace slip::tool
