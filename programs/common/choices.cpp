#include "programs/common/choices.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "optimized/base/files.hpp"
#include "optimized/import/json.hpp"
#include "slip/error.hpp"

namespace slip::tool {
namespace {

constexpr std::size_t hellaswag_endings = 4;
constexpr std::size_t largest_choices = 100;

[[noreturn]] void refuse(const std::filesystem::path& path, std::size_t line,
                         const std::string& expected) {
    throw BadInput(path.string() + ": line " + std::to_string(line) + ": expected " + expected);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// The question whose context is lines[first].
Question hellaswag_question(const std::vector<std::string>& lines, std::size_t first,
                            const std::filesystem::path& path) {
    const std::size_t number = first + 1;  // lines count from 1
    if (first + 1 + hellaswag_endings >= lines.size()) {
        refuse(path, lines.size(), "six lines a question");
    }
    const std::string& label = lines[first + 1];
    if (label.size() != 1 || label[0] < '0' || label[0] > '3') {
        refuse(path, number + 1, "the number of the right ending, 0 to 3");
    }
    Question question{lines[first], {}, static_cast<std::size_t>(label[0] - '0')};
    for (std::size_t i = 0; i < hellaswag_endings; ++i) {
        if (lines[first + 2 + i].empty()) refuse(path, number + 2 + i, "an ending");
        question.endings.push_back(lines[first + 2 + i]);
    }
    return question;
}

Question arc_question(const std::string& line, std::size_t number,
                      const std::filesystem::path& path) {
    const std::string where = "line " + std::to_string(number);
    const nlohmann::json value = importing::parse_json(line, path.string() + ": " + where);
    importing::JsonObject object(value, path, where);
    Question question;
    question.context = object.text("query") + "\nAnswer:";
    for (const nlohmann::json& choice : object.array("choices")) {
        if (!choice.is_string() || choice.get<std::string>().empty()) {
            object.refuse("choices", "texts that are not empty");
        }
        question.endings.push_back(choice.get<std::string>());
    }
    if (question.endings.size() < 2 || question.endings.size() > largest_choices) {
        object.refuse("choices", "2 to 100 texts");
    }
    question.answer = object.integer("gold", 0, question.endings.size() - 1);
    return question;
}

}  // namespace

std::vector<Question> read_questions(const std::filesystem::path& path) {
    const std::vector<std::string> lines = lines_of(base::read_file(path));
    std::vector<Question> questions;
    if (!lines.empty() && lines.front().starts_with("{")) {
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (!lines[i].empty()) questions.push_back(arc_question(lines[i], i + 1, path));
        }
    } else {
        for (std::size_t first = 0; first < lines.size(); first += 2 + hellaswag_endings) {
            questions.push_back(hellaswag_question(lines, first, path));
        }
    }
    if (questions.empty()) throw BadInput(path.string() + ": holds no question");
    return questions;
}

}  // namespace slip::tool
